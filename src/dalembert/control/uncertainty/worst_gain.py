"""Largest gain of an uncertain system over its whole family, and the member that has it.

Upper bound: the skewed structured singular value, in which the uncertainty has its size 1 and the block of the gain
grows (`structured_bound`), proved at all frequencies as in `mu`. Lower bound: with real parameters the H-infinity norm
is maximised over the box, by its slope

    dσ = Re u* M₂₁ (I - Δ M₁₁)⁻¹ dΔ (I - M₁₁ Δ)⁻¹ M₁₂ v

at the peak with its singular vectors u, v, from the corners; full blocks are aligned at the highest frequencies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import scipy.optimize

from dalembert.control.uncertainty import structured_perturbation as lower_bound
from dalembert.control.uncertainty.mu import (
    Accuracy,
    Cover,
    UncertainSystem,
    axis_maps,
    closed_blocks,
    frequency_grid,
    realize,
    require_stable,
)
from dalembert.control.uncertainty.structured_bound import BlockStructure, Scalings, bound_gain, response
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked, names
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.linear.transforms.norms import bilinear
from dalembert.linear.uncertain import Uncertain

Entered = Annotated[Any, names("input", "inputs", least=1), "inputs of the gain"]
Read = Annotated[Any, names("output", "outputs", least=1), "outputs of the gain"]


@result
class WorstGain:
    """Bounds of the largest gain over a family.

    Attributes
    ----------
    upper : float
        No member has a larger gain; infinite where a member may be unstable.
    gain, frequency : float
        Of the worst member found, [rad/s].
    perturbation, worst : mapping
        Δ of it, and the values of its parameters.
    nominal : float
        Gain without uncertainty.
    """

    upper: float
    gain: float
    frequency: float
    nominal: float
    perturbation: Mapping[str, Any]
    worst: Mapping[str, float]
    proved: bool

    def table(self) -> str:
        """Bounds, and the worst machine."""
        rows = [
            ("no gain above", f"{self.upper:.5g}", "" if self.proved else "on the grid only"),
            ("worst found", f"{self.gain:.5g}", f"at {self.frequency:.5g} rad/s"),
            ("nominal", f"{self.nominal:.5g}", ""),
            *((name, f"{value:.6g}", "of the worst machine") for name, value in self.worst.items()),
        ]
        return align_columns([], rows, left=(0, 2))

    def __repr__(self) -> str:
        return f"WorstGain\n{self.table()}"


@checked
def worst_gain(
    uncertain: UncertainSystem, inputs: Entered = None, outputs: Read = None, *, accuracy: Accuracy = 5e-3
) -> WorstGain:
    """Largest gain from inputs to outputs over all members of a family.

    Parameters
    ----------
    uncertain : closed loop, stable without its uncertainty.
    inputs, outputs : names of the channel; all where left out.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder, fit_uncertain
    >>> u = fit_uncertain(lambda p: SecondOrder(1.0, 4.0, C=p["c"], B=[1.0]), {"c": (0.1, 0.3)})
    >>> judged = worst_gain(u)
    >>> round(judged.worst["c"], 9), round(judged.gain, 3)
    (0.1, 5.002)
    """
    system, blocks = closed_blocks(uncertain, inputs, outputs)
    require_stable(system, "the loop without its uncertainty")
    matrices = bilinear(system) if system.dt is not None else (system.A, system.B, system.C, system.D)
    _, from_axis = axis_maps(uncertain.dt)
    cover = _GainCover(matrices, BlockStructure(blocks, fixed=len(blocks) - 1), accuracy)
    channel = uncertain.select(inputs=inputs, outputs=outputs)
    gain, frequency, perturbation = _search(channel)
    for w in frequency_grid(matrices[0]) if math.isfinite(gain) else ():
        if not math.isfinite(cover.at(float(w)).bound):
            break
    proved = math.isfinite(gain) and math.isfinite(cover.level)
    if proved:
        cover.sharpen()
        proved = cover.prove()
    full = [block for block in uncertain.blocks if block.kind != "real"]
    if full and math.isfinite(cover.frequency) and proved:
        aligned = _aligned_gain(matrices, BlockStructure(blocks), cover.frequency, gain, cover.level)
        if aligned is not None:
            gain, deltas = aligned
            frequency = from_axis(cover.frequency)
            perturbation = {
                b.name: float(d[0, 0].real) if b.kind == "real" else realize(d, cover.frequency, uncertain.dt)
                for b, d in zip(blocks[:-1], deltas, strict=False)
            }
    worst = {b.name: b.parameter(perturbation[b.name]) for b in uncertain.blocks if b.kind == "real"}
    nominal = float(channel.at_delta({}).hinf_norm())
    upper = max(cover.level, gain)
    return WorstGain(upper, gain, frequency, nominal, perturbation, worst, proved)


class _GainCover(Cover):
    """Cover of a skewed bound: scalings of the uncertainty alone come first."""

    def first(self, M: ComplexArray) -> Scalings | None:
        structure = self.structure
        stability = BlockStructure(structure.blocks[:-1])
        inner = M[: stability.nz, : stability.nw]
        scalings = bound_gain(inner, stability, target=0.9)
        if scalings.bound >= 1.0:
            return None
        for size in 10.0 ** np.arange(0.0, 13.0, 2.0):
            D_w, D_z = np.eye(structure.nw, dtype=complex), np.eye(structure.nz, dtype=complex)
            G = np.zeros((structure.nw, structure.nz), complex)
            D_w[: stability.nw, : stability.nw] = size * scalings.D_w
            D_z[: stability.nz, : stability.nz] = size * scalings.D_z
            G[: stability.nw, : stability.nz] = size * scalings.G
            tried = bound_gain(M, structure, Scalings(D_w, D_z, G, 0.0), most_steps=0)
            if math.isfinite(tried.bound):
                return tried
        return None


def _search(channel: Uncertain, corners: int = 7) -> tuple[float, float, dict[str, Any]]:
    """Largest H-infinity norm found over real parameters; corners : parameters of which all corners are tried."""
    real = [block for block in channel.blocks if block.kind == "real"]
    n = len(real)
    random = np.random.default_rng(0)
    starts = [np.zeros(n)]
    starts += [np.array(c) for c in itertools.product((-1.0, 1.0), repeat=n)] if n <= corners else list(
        np.sign(random.normal(size=(2**corners, n))))  # fmt: skip

    def peak(delta: FloatArray) -> tuple[float, float]:
        norm = channel.at_delta({b.name: d for b, d in zip(real, delta, strict=True)}).hinf_norm()
        return norm.gain, norm.frequency

    def descend(delta: FloatArray) -> tuple[float, FloatArray]:
        gain, w = peak(delta)
        if not math.isfinite(gain):
            return -1e12, np.zeros(n)
        return -gain, -_slope(channel, {b.name: d for b, d in zip(real, delta, strict=True)}, w)

    ranked = sorted(((peak(start)[0], k) for k, start in enumerate(starts)), key=lambda each: -each[0])
    best, where = ranked[0][0], starts[ranked[0][1]]
    for _, k in ranked[:3] if n and math.isfinite(best) else []:
        climbed = scipy.optimize.minimize(
            descend, starts[k] * 0.99, jac=True, bounds=[(-1.0, 1.0)] * n, method="L-BFGS-B", options={"maxiter": 30}
        )
        if -climbed.fun > best:
            best, where = float(-climbed.fun), climbed.x
    values = {b.name: float(d) for b, d in zip(real, where, strict=True)}
    gain, frequency = peak(where)
    return gain, frequency, {b.name: values.get(b.name, 0.0) for b in channel.blocks}


def _slope(channel: Uncertain, deltas: Mapping[str, float], w: float) -> FloatArray:
    """Slope of the largest gain at a frequency over the real parameters."""
    s, r, q = channel.system, channel.rows, channel.columns
    if math.isinf(w) or not s.nx:
        M = s.D.astype(complex)
    else:
        point = 1j * w if s.dt is None else np.exp(1j * w * s.dt)
        M = s.C @ np.linalg.solve(point * np.eye(s.nx) - s.A, s.B) + s.D
    structure = BlockStructure(channel.blocks)
    Delta = lower_bound.expand(structure, [np.array([[deltas.get(b.name, 0.0)]], complex) if b.is_scalar else np.zeros(
        (b.rows, b.columns), complex) for b in channel.blocks])  # fmt: skip
    right = np.linalg.solve(np.eye(q) - M[:q, :r] @ Delta, M[:q, r:])
    left = np.linalg.solve((np.eye(r) - Delta @ M[:q, :r]).T, M[q:, :r].T).T
    F = M[q:, r:] + M[q:, :r] @ Delta @ right
    U, _, Vh = np.linalg.svd(F)
    a, b = U[:, 0].conj() @ left, right @ Vh[0].conj()
    slopes = [
        (a[structure.w(k)] @ b[structure.z(k)]).real for k, each in enumerate(channel.blocks) if each.kind == "real"
    ]
    return np.array(slopes)


def _aligned_gain(
    matrices: lower_bound.System, structure: BlockStructure, w: float, low: float, high: float, steps: int = 16
) -> tuple[float, lower_bound.Deltas] | None:
    """Largest gain at a frequency for which a perturbation of size 1 is found, between two bounds."""
    M = response(matrices, w)
    best = None
    for _ in range(steps):
        gain = 0.5 * (low + high)
        scaled = M.copy()
        scaled[structure.z(len(structure.blocks) - 1)] /= gain
        reached = lower_bound.align(scaled, structure, lower_bound.first_guesses(structure))
        if reached is not None and reached[0] >= 1.0:
            low, best = gain, (gain, reached[1])
        else:
            high = gain
    return best
