"""Realizability of virtual constraints along a run: singularity margin, input gains and required inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.tables import align_columns


@dataclass(frozen=True)
class SingularityThresholds:
    """Limits of the singularity margin (a cosine, 1 to 0), of the input gains and of the effort."""

    singular: float = 1e-8  # margin below which the inputs cannot keep the constraints: half of all digits are lost
    rounding: float = 1e-10  # margin of a single pose that is singular to rounding, whose inputs have no digit left
    never: float = 1e-7  # margin that at least one of eight random poses exceeds, unless no pose does
    along: float = 0.05  # margin at a singular pose above which the constraints are singular, not the inputs
    feeble: float = 0.01  # margin below which the effort is more than 100 times that of a force along the constraints
    weak: float = 0.1  # share of the largest input gain of the run: below it the same acceleration needs ten times more
    steep: float = 100.0  # peak of the effort over its median that is out of proportion,
    half: float = 0.5  # where the input gain is below this share of its largest value: else the motion needs the effort
    dependent: float = 1e-13  # eigenvalue of Y or W, scaled to unit diagonal, of dependent directions: 1000 roundings


THRESHOLDS = SingularityThresholds()


def compute_singularity_margins(J: FloatArray, W: FloatArray, Y: FloatArray) -> FloatArray:
    """(k, m) singular values of Y^(-1/2) J W^(-1/2), largest first: cosines, from 1 (parallel) to 0 (singular)."""
    left, right = _invert_root(Y), _invert_root(W)
    scaled = np.einsum("kij,kjl,kol->kio", left, J, right)
    sound = np.isfinite(scaled).all(axis=(1, 2))
    found = np.zeros(J.shape[:2])
    found[sound] = np.linalg.svd(scaled[sound], compute_uv=False)[:, : J.shape[1]]
    return np.minimum(found, 1.0)


def compute_input_gains(J: FloatArray, W: FloatArray) -> FloatArray:
    """(k, m) singular values of J W^(-1/2), largest first: acceleration of the constraints per unit of input."""
    scaled = np.einsum("kjl,kol->kjo", J, _invert_root(W))
    return np.asarray(np.linalg.svd(np.where(np.isfinite(scaled), scaled, 0.0), compute_uv=False)[:, : J.shape[1]])


def _invert_root(matrices: FloatArray) -> FloatArray:
    """(k, n, n) X^(-1/2) of positive matrices; linearly dependent directions contribute zero."""
    size = np.sqrt(np.maximum(np.einsum("kii->ki", matrices), np.finfo(float).tiny))
    scaled = matrices / size[:, :, None] / size[:, None, :]
    scaled = np.where(np.isfinite(scaled), scaled, 0.0)
    values, vectors = np.linalg.eigh(scaled)
    usable = values > THRESHOLDS.dependent
    inverse = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    # (D S D)⁻¹ = (S^(-1/2) D⁻¹)ᵀ (S^(-1/2) D⁻¹): any root is valid, because rotations leave singular values unchanged
    return np.asarray(np.einsum("ki,kji->kij", inverse, vectors) / size[:, None, :])


@frozen
class Realizability:
    """Realizability of virtual constraints along a run, and the inputs they require.

    Attributes
    ----------
    time : (N,) [s].
    singularity_margin : (N,) smallest cosine between the required accelerations and those the inputs cause: 1 where
        the inputs act along the constraints, 0 at a singular pose. The effort is 1 / margin times that of a force along
        the constraints.
    input_gains : (N, m) singular values of the law's matrix, inputs scaled by the inertia they move.
    condition : (N,) of the law's matrix: largest input gain of the run over the smallest at the time.
    sign : (N,) of the determinant of a square law's matrix (else 1): it changes where the inputs reverse their effect.
    inputs : (N, n) required values of ``actuated`` [``units``].
    effort : (N,) √(v̇ᵀ M v̇) of the accelerations these inputs cause; it compares forces and torques.
    residual : (N, m), |A₁ v̇ - b₁| at every sample with the inputs of the run.
    """

    constraints: tuple[str, ...]
    actuated: tuple[str, ...]
    units: tuple[str, ...]
    time: FloatArray
    singularity_margin: FloatArray
    input_gains: FloatArray
    sign: FloatArray
    inputs: FloatArray
    effort: FloatArray
    residual: FloatArray

    @property
    def condition(self) -> FloatArray:
        """(N,) largest input gain of the run over the smallest at the time, inf at a singular pose."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.input_gains.max() / self.input_gains[:, -1])

    @property
    def singular_at(self) -> float | None:
        """First time at which the inputs cannot keep the constraints or reverse their effect; None: never."""
        bad = (self.singularity_margin < THRESHOLDS.singular) | ~(self.condition < 1.0 / THRESHOLDS.singular)
        bad[1:] |= self.sign[1:] * self.sign[:-1] < 0
        return float(self.time[np.argmax(bad)]) if bad.any() else None

    @property
    def peaks(self) -> FloatArray:
        """(n,) largest required magnitude of every input."""
        return np.asarray(np.abs(self.inputs).max(axis=0))

    @property
    def out_of_proportion(self) -> str:
        """The reason why the required inputs are out of proportion; empty where they are not."""
        k, usual = int(np.argmin(self.singularity_margin)), float(np.median(self.effort))
        if self.singularity_margin[k] < THRESHOLDS.feeble:
            return (
                f"at t = {self.time[k]:.4g} s the inputs act almost perpendicular to the constraints "
                f"(singularity margin {self.singularity_margin[k]:.2g})"
            )
        gain = self.input_gains[:, -1] / self.input_gains[:, -1].max()
        k, peak = int(np.argmin(gain)), int(np.argmax(self.effort))
        if gain[k] < THRESHOLDS.weak:
            return f"at t = {self.time[k]:.4g} s the input gain is {100 * gain[k]:.2g} % of its largest value"
        if self.effort[peak] > THRESHOLDS.steep * usual and gain[peak] < THRESHOLDS.half:
            return (
                f"at t = {self.time[peak]:.4g} s {self.effort[peak] / max(usual, 1e-300):.3g} times the median effort "
                f"is required, with {100 * gain[peak]:.2g} % of the largest input gain"
            )
        return ""

    def verdict(self) -> str:
        """One sentence."""
        where, strained = self.singular_at, self.out_of_proportion
        if where is not None:
            return f"singular from t = {where:.4g} s: {', '.join(self.actuated)} cannot keep the constraints there"
        if strained:
            return f"the inputs can keep the constraints, but are out of proportion: {strained}"
        return "the inputs can keep the constraints everywhere"

    def table(self) -> str:
        """Residuals, peaks of the inputs, and the verdict."""
        rows = [[name, f"{self.residual[:, k].max():.3g}"] for k, name in enumerate(self.constraints)]
        needed = []
        for k, (name, unit) in enumerate(zip(self.actuated, self.units, strict=True)):
            size = np.abs(self.inputs[:, k])
            at = int(np.argmax(size))
            needed.append([name, f"{size[at]:.4g}", f"{np.median(size):.3g}", unit, f"{self.time[at]:.4g}"])
        margin, condition = self.singularity_margin.min(), self.condition.max()
        worst = f"smallest singularity margin {margin:.3g}, largest condition number {condition:.3g}"
        return "\n".join([
            align_columns(["constraint", "largest residual"], rows),
            align_columns(["input", "required peak", "median", "unit", "at t [s]"], needed),
            f"{self.verdict()}; {worst}",
        ])  # fmt: skip

    def __repr__(self) -> str:
        return f"Realizability\n{self.table()}"
