"""Whether inputs can keep virtual constraints along a run, and what it takes."""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.tables import aligned

SINGULAR = 1e-8  # grip below which the inputs cannot do what is asked
WEAK = 0.1  # of the best hold of the run: below it the same costs ten times the effort
FEEBLE = 0.01  # grip below which the inputs push almost across the constraints
STEEP, HALF = 100.0, 0.5  # peak of the effort over its median, while the hold is below this share of its best
DEPENDENT = 1e-13  # eigenvalue of Y or W, rows and columns of like size, below which directions are the same


def grips(J: FloatArray, W: FloatArray, Y: FloatArray) -> FloatArray:
    """(k, m) singular values of Y^(-1/2) J W^(-1/2), largest first: cosines, from 1 (straight) to 0 (none)."""
    left, right = _root(Y), _root(W)
    scaled = np.einsum("kij,kjl,kol->kio", left, J, right)
    sound = np.isfinite(scaled).all(axis=(1, 2))
    found = np.zeros(J.shape[:2])
    found[sound] = np.linalg.svd(scaled[sound], compute_uv=False)[:, : J.shape[1]]
    return np.minimum(found, 1.0)


def levers(J: FloatArray, W: FloatArray) -> FloatArray:
    """(k, m) singular values of J W^(-1/2), largest first: how much the constraints answer to inputs of like effect."""
    scaled = np.einsum("kjl,kol->kjo", J, _root(W))
    return np.asarray(np.linalg.svd(np.where(np.isfinite(scaled), scaled, 0.0), compute_uv=False)[:, : J.shape[1]])


def _root(matrices: FloatArray) -> FloatArray:
    """(k, n, n) X^(-1/2) of positive matrices; directions that are the same as others count for nothing."""
    size = np.sqrt(np.maximum(np.einsum("kii->ki", matrices), np.finfo(float).tiny))
    scaled = matrices / size[:, :, None] / size[:, None, :]
    scaled = np.where(np.isfinite(scaled), scaled, 0.0)
    values, vectors = np.linalg.eigh(scaled)
    usable = values > DEPENDENT
    inverse = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    # (D S D)⁻¹ = (S^(-1/2) D⁻¹)ᵀ (S^(-1/2) D⁻¹): any root will do, singular values do not care for rotations
    return np.asarray(np.einsum("ki,kji->kij", inverse, vectors) / size[:, None, :])


@frozen
class Realizability:
    """Whether inputs could keep virtual constraints along a run, and what it takes.

    Attributes
    ----------
    time : (N,) [s].
    grip : (N,) smallest cosine between wanted accelerations and those the inputs give: 1 where the inputs push
        straight along the constraints, 0 where they have no hold on them. 1 / grip is how many times the effort of a
        force along the constraints themselves is needed.
    levers : (N, m) singular values of the law's matrix, inputs in units of what they move.
    condition : (N,) of the law's matrix: largest lever of the run over the smallest at the time.
    sign : (N,) of the map's determinant, where it is square (else 1): it changes where the inputs push the other way.
    inputs : (N, n) what the law needs of ``actuated`` [``units``].
    effort : (N,) √(v̇ᵀ M v̇) of what these inputs change, so that forces and torques count alike.
    residual : (N, m), |A₁ v̇ - b₁| at every sample with the inputs of the run.
    """

    constraints: tuple[str, ...]
    actuated: tuple[str, ...]
    units: tuple[str, ...]
    time: FloatArray
    grip: FloatArray
    levers: FloatArray
    sign: FloatArray
    inputs: FloatArray
    effort: FloatArray
    residual: FloatArray

    @property
    def condition(self) -> FloatArray:
        """(N,) largest lever of the run over the smallest at the time, inf at a singular pose."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.levers.max() / self.levers[:, -1])

    @property
    def singular_at(self) -> float | None:
        """The first time at which the inputs cannot do what is asked, or began to push the other way; None: never."""
        bad = (self.grip < SINGULAR) | ~(self.condition < 1.0 / SINGULAR)
        bad[1:] |= self.sign[1:] * self.sign[:-1] < 0
        return float(self.time[np.argmax(bad)]) if bad.any() else None

    @property
    def peaks(self) -> FloatArray:
        """(n,) largest magnitude that is needed of every input."""
        return np.asarray(np.abs(self.inputs).max(axis=0))

    @property
    def out_of_proportion(self) -> str:
        """In words, why what is needed is out of proportion; empty where it is not."""
        k, usual = int(np.argmin(self.grip)), float(np.median(self.effort))
        if self.grip[k] < FEEBLE:
            return (
                f"at t = {self.time[k]:.4g} s the inputs push almost across the constraints (grip {self.grip[k]:.2g})"
            )
        lever = self.levers[:, -1] / self.levers[:, -1].max()
        k, peak = int(np.argmin(lever)), int(np.argmax(self.effort))
        if lever[k] < WEAK:
            return f"at t = {self.time[k]:.4g} s the inputs have {100 * lever[k]:.2g} % of the hold they had"
        if self.effort[peak] > STEEP * usual and lever[peak] < HALF:
            return (
                f"at t = {self.time[peak]:.4g} s {self.effort[peak] / max(usual, 1e-300):.3g} times the usual effort "
                f"is needed, with {100 * lever[peak]:.2g} % of the hold"
            )
        return ""

    def verdict(self) -> str:
        """One sentence."""
        where, strained = self.singular_at, self.out_of_proportion
        if where is not None:
            return f"singular from t = {where:.4g} s: {', '.join(self.actuated)} cannot do it there"
        if strained:
            return f"the inputs could do it, but out of proportion: {strained}"
        return "the inputs can do it everywhere"

    def table(self) -> str:
        """Residuals, peaks of the inputs, and the verdict."""
        rows = [[name, f"{self.residual[:, k].max():.3g}"] for k, name in enumerate(self.constraints)]
        needed = []
        for k, (name, unit) in enumerate(zip(self.actuated, self.units, strict=True)):
            size = np.abs(self.inputs[:, k])
            at = int(np.argmax(size))
            needed.append([name, f"{size[at]:.4g}", f"{np.median(size):.3g}", unit, f"{self.time[at]:.4g}"])
        worst = f"smallest grip {self.grip.min():.3g}, largest condition number {self.condition.max():.3g}"
        return "\n".join([
            aligned(["constraint", "largest residual"], rows),
            aligned(["input", "peak needed", "median", "unit", "at t [s]"], needed),
            f"{self.verdict()}; {worst}",
        ])  # fmt: skip

    def __repr__(self) -> str:
        return f"Realizability\n{self.table()}"
