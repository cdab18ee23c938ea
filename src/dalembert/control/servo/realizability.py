"""Realizability of virtual constraints along a run: singularity margin, input gains and required inputs."""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import BoolArray, FloatArray
from dalembert.core.results import result
from dalembert.core.rules import judge, rule
from dalembert.core.tables import align_columns


def compute_singularity_margins(J: FloatArray, W: FloatArray, Y: FloatArray) -> FloatArray:
    """(k, m) singular values of Y^(-1/2) J W^(-1/2), largest first: cosines, from 1 (parallel) to 0 (singular)."""
    left, right = _invert_root(Y), _invert_root(W)
    scaled = np.einsum("kij,kjl,kol->kio", left, J, right)
    finite = np.isfinite(scaled).all(axis=(1, 2))
    cosines = np.zeros(J.shape[:2])
    cosines[finite] = np.linalg.svd(scaled[finite], compute_uv=False)[:, : J.shape[1]]
    return np.minimum(cosines, 1.0)


def compute_input_gains(J: FloatArray, W: FloatArray) -> FloatArray:
    """(k, m) singular values of J W^(-1/2), largest first: acceleration of the constraints per unit of input."""
    scaled = np.einsum("kjl,kol->kjo", J, _invert_root(W))
    return np.asarray(np.linalg.svd(np.where(np.isfinite(scaled), scaled, 0.0), compute_uv=False)[:, : J.shape[1]])


def _invert_root(matrices: FloatArray, dependent: float = 1e-13) -> FloatArray:
    """(k, n, n) X^(-1/2) of positive matrices; linearly dependent directions contribute zero.

    dependent : their eigenvalue with a unit diagonal, 1000 roundings.
    """
    size = np.sqrt(np.maximum(np.einsum("kii->ki", matrices), np.finfo(float).tiny))
    scaled = matrices / size[:, :, None] / size[:, None, :]
    scaled = np.where(np.isfinite(scaled), scaled, 0.0)
    values, vectors = np.linalg.eigh(scaled)
    usable = values > dependent
    inverse = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    # (D S D)⁻¹ = (S^(-1/2) D⁻¹)ᵀ (S^(-1/2) D⁻¹): any root is valid, because rotations leave singular values unchanged
    return np.asarray(np.einsum("ki,kji->kij", inverse, vectors) / size[:, None, :])


@result
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
        bad = _is_singular(self.singularity_margin, self.condition)
        bad[1:] |= self.sign[1:] * self.sign[:-1] < 0
        return float(self.time[np.argmax(bad)]) if bad.any() else None

    @property
    def peaks(self) -> FloatArray:
        """(n,) largest required magnitude of every input."""
        return np.asarray(np.abs(self.inputs).max(axis=0))

    @property
    def out_of_proportion(self) -> str:
        """The reason why the required inputs are out of proportion; empty where they are not."""
        return next((finding.problem for finding in judge(PROPORTION, self)), "")

    def verdict(self) -> str:
        """One sentence."""
        time, strained = self.singular_at, self.out_of_proportion
        if time is not None:
            return f"singular from t = {time:.4g} s: {', '.join(self.actuated)} cannot keep the constraints there"
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


def _is_singular(margin: FloatArray, condition: FloatArray, limit: float = 1e-8) -> BoolArray:
    """Poses at which the inputs cannot keep the constraints: half of all digits are lost."""
    return (margin < limit) | ~(condition < 1.0 / limit)


def smallest_margin(run: Realizability) -> tuple[float, dict[str, float]]:
    k = int(np.argmin(run.singularity_margin))
    return float(run.singularity_margin[k]), {"time": float(run.time[k])}


def smallest_input_gain(run: Realizability) -> tuple[float, dict[str, float]]:
    """Of its largest value."""
    gain = run.input_gains[:, -1] / run.input_gains[:, -1].max()
    k = int(np.argmin(gain))
    return float(gain[k]), {"time": float(run.time[k])}


def strained_effort(run: Realizability, weak: float = 0.5) -> tuple[float, dict[str, float]]:
    """Peak of the effort over its median, where the input gain is ``weak``; else the motion needs the effort: 0."""
    peak = int(np.argmax(run.effort))
    gain = float(run.input_gains[peak, -1] / run.input_gains[:, -1].max())
    ratio = float(run.effort[peak] / max(float(np.median(run.effort)), 1e-300))
    return ratio if gain < weak else 0.0, {"time": float(run.time[peak]), "gain": gain}


PROPORTION = (
    # below it the effort is more than 100 times that of a force along the constraints
    rule("out-of-range", smallest_margin, below=0.01, edge=(0.0101, 0.0099), problem="at t = {time:.4g} s the inputs "
         "act almost perpendicular to the constraints (singularity margin {value:.2g})"),
    # below it the same acceleration needs ten times more
    rule("out-of-range", smallest_input_gain, below=0.1, edge=(0.101, 0.099),
         problem="at t = {time:.4g} s the input gain is {value:.2%} of its largest value"),
    rule("out-of-range", strained_effort, above=100.0, edge=(99.0, 101.0), problem="at t = {time:.4g} s {value:.3g} "
         "times the median effort is required, with {gain:.2%} of the largest input gain"),
)  # fmt: skip
