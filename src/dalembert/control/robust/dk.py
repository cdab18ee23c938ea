"""Controllers of least structured singular value by D-K iteration (Doyle 1985; Packard, Doyle and Balas 1993).

    K   an H-infinity controller of D P D⁻¹
    D   scalings of the loop with K, frequency by frequency, as stable minimum-phase systems of low order

in turns. Real blocks count by one factor more, |Γ| = μ / σ(D M D⁻¹), of the outputs (Tøffner-Clausen, Andersen,
Stoustrup and Niemann 1995): the controller is not asked to hold for complex values of real parameters. The problem is
not convex and D is approximated, so a step may be worse than the one before. Every controller is judged by μ of its own
loop; the best is kept, a worse step is repeated half way and
with D of higher order, and the search ends when none helps. The
controller is then reduced by balanced truncation while μ stays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from dalembert.control.robust.generalized_plant import (
    Actuated,
    Disturbances,
    Measured,
    Performance,
    choose_channels,
)
from dalembert.control.robust.hinf import hinf
from dalembert.control.robust.synthesis import Synthesis
from dalembert.control.uncertainty.fit_magnitude import fit_magnitude
from dalembert.control.uncertainty.mu import (
    UNCERTAIN,
    Cover,
    StructuredGain,
    closed_blocks,
    frequency_grid,
    mu,
)
from dalembert.control.uncertainty.structured_bound import BlockStructure, Scalings, response
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import at_least, checked, count, not_negative
from dalembert.core.errors import ConvergenceError, DalembertError
from dalembert.core.progress import Progress, Setting
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.linear import StateSpace, append, connect
from dalembert.linear.uncertain import Uncertain
from dalembert.numerics.balancing import balance_system

UncertainPlant = Annotated[Uncertain, UNCERTAIN, "plant with its uncertainty and weights"]
Rounds = Annotated[int, count(1, 50), "most controllers that are tried"]
ScalingOrder = Annotated[int, count(0, 8), "highest order of a scaling"]
Excess = Annotated[float, not_negative, "relative increase of μ that the reduction may cost"]
Curve = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
BackOff = Annotated[float, at_least(0.0), "excess over the smallest norm of every H-infinity step"]


@dataclass(frozen=True)
class DKStep:
    """One controller of the iteration: bound of its H-infinity problem, verified μ, orders."""

    gamma: float
    peak: float
    order: int
    scaling_order: int
    accepted: bool


@result
class RobustSynthesis:
    """A controller of small μ, and how it was found.

    Attributes
    ----------
    controller : StateSpace
    synthesis : Synthesis
        The same as a law, around the nominal plant; fits ``da.simulate``.
    judged : StructuredGain
        μ of its loop, with the performance as a block.
    steps : tuple of DKStep
    full_order : int
        Before the reduction.
    """

    controller: StateSpace
    synthesis: Synthesis
    judged: StructuredGain
    steps: tuple[DKStep, ...]
    full_order: int

    def table(self) -> str:
        """One line per step."""
        head = ("step", "gamma", "μ", "order", "order of D", "")
        lines = [
            (
                str(k + 1),
                f"{s.gamma:.4f}",
                f"{s.peak:.4f}",
                str(s.order),
                str(s.scaling_order),
                "" if s.accepted else "rejected",
            )
            for k, s in enumerate(self.steps)
        ]
        end = f"μ at most {self.judged.peak:.4f} with order {self.controller.nx} (of {self.full_order})"
        return f"{align_columns(head, lines)}\n{end}"

    def __repr__(self) -> str:
        return f"RobustSynthesis\n{self.table()}"


@checked
def dk(
    uncertain: UncertainPlant,
    *,
    outputs: Measured,
    inputs: Actuated,
    disturbances: Disturbances | None = None,
    performance: Performance | None = None,
    order: ScalingOrder = 4,
    rounds: Rounds = 16,
    back_off: BackOff = 1e-3,
    excess: Excess = 3e-3,
    progress: Setting = None,
) -> RobustSynthesis:
    """A controller that keeps its performance for all members of a family, as far as D-K iteration gets.

    Parameters
    ----------
    uncertain : plant and weights, scaled so that the gain from disturbances to performance is to stay below 1.
    outputs, inputs : names of what the controller reads and drives.
    disturbances, performance : names of w and z; all others where left out.
    order, rounds : the iteration ends earlier where five steps in a row do not improve μ by a thousandth.
    progress : None, True, False or a function of the fraction of the rounds.

    Returns
    -------
    RobustSynthesis
        ``judged.is_robust`` where the performance holds for all members.
    """
    channels = choose_channels(uncertain, disturbances, performance, outputs, inputs)
    w, z, read, driven = channels.disturbances, channels.performance, channels.outputs, channels.inputs
    plant = uncertain.select(inputs=(*w, *driven), outputs=(*z, *read))
    design = _Iteration(plant, w, z, read, driven, back_off)
    with Progress(progress, "D-K iteration") as bar:
        design.run(order, rounds, bar)
        controller, judged = design.reduce(excess)
        bar.update(1.0)
    synthesis = Synthesis(
        controller, plant.nominal, w, z, method="D-K", bounds=(0.0, math.inf), back_off=back_off, regularized=()
    )
    return RobustSynthesis(controller, synthesis, judged, tuple(design.steps), design.best.nx)


class _Iteration:
    """Steps of the iteration, and the best controller so far."""

    def __init__(
        self,
        plant: Uncertain,
        w: Sequence[str],
        z: Sequence[str],
        read: Sequence[str],
        driven: Sequence[str],
        back_off: float,
    ) -> None:
        self.plant, self.w, self.z, self.read, self.driven = plant, tuple(w), tuple(z), tuple(read), tuple(driven)
        self.back_off = back_off
        self.steps: list[DKStep] = []
        self.best, self.peak = StateSpace.gain(np.zeros((len(driven), len(read)))), math.inf
        self.real = any(block.kind == "real" for block in plant.blocks)
        self.blocks = closed_blocks(plant, self.w, self.z)[1]

    def run(self, order: int, rounds: int, bar: Progress, gain: float = 1e-3) -> None:
        """Steps until five in a row do not improve: after a failure half way, then with scalings of higher order.

        gain : least relative decrease of μ that counts as an improvement.
        """
        scalings = [(StateSpace.gain([[1.0]]),) * 2] * len(self.blocks)
        used, base, failures = 0, 0, 0
        behind, curve_behind = scalings, None
        for number in range(rounds):
            bar.update(number / (rounds + 1))
            try:
                design = hinf(self._scaled(scalings), outputs=self.read, inputs=self.driven, back_off=self.back_off)
                gamma, controller = design.bounds[1], design.controller
                curve = self.judge(controller)
            except ConvergenceError:
                if not self.steps:
                    raise
                gamma, curve, controller = math.inf, None, self.best
            peak = math.inf if curve is None else float(curve[3].max())
            better = peak < self.peak * (1.0 - gain)
            self.steps.append(DKStep(gamma, peak, controller.nx, used, peak < self.peak))
            if peak < self.peak:
                self.best, self.peak, behind, curve_behind, base = controller, peak, scalings, curve, used
            failures = 0 if better else failures + 1
            if failures > 4 or curve_behind is None:
                break
            used = min(max(base, 3) + failures // 2, order)
            scalings = self._fit(curve_behind, behind, used, share=1.0 if failures % 2 == 0 else 0.5)

    def judge(self, controller: StateSpace) -> Curve | None:
        """Frequencies, d of every block (n, blocks), bound with complex blocks, μ; None where the loop is unstable."""
        closed = self.closed(controller)
        if not closed.system.is_stable:
            return None
        system, blocks = closed_blocks(closed, self.w, self.z)
        matrices = (system.A, system.B, system.C, system.D)
        larger = [replace(b, kind="complex") if b.kind == "real" else b for b in blocks]
        grid = frequency_grid(system.A, 60, 1.0)
        grid = grid[(grid > 0.0) & np.isfinite(grid)]
        cover = Cover(matrices, BlockStructure(larger), 1e-3)
        for f in grid:
            cover.at(float(f))
        cover.sharpen()
        shown = np.array(sorted(cover.curve))
        d = np.array([_sizes(cover.curve[f], cover.structure) for f in shown])
        bound = np.array([cover.curve[f].bound for f in shown])
        values = bound
        if self.real:
            mixed = Cover(matrices, BlockStructure(blocks), 1e-3)
            values = np.minimum(bound, [mixed.at(float(f)).bound for f in shown])
        return shown, d / d[:, -1:], bound, values

    def closed(self, controller: StateSpace) -> Uncertain:
        joined: Uncertain = connect([self.plant, controller], inputs=self.w, outputs=self.z)
        return joined

    def _fit(
        self,
        curve: Curve,
        behind: Sequence[tuple[StateSpace, StateSpace]],
        order: int,
        share: float,
        constant: float = 1e-9,
    ) -> list[tuple[StateSpace, StateSpace]]:
        """D on the columns and on the rows of every block, with real blocks the former times Γ.

        share : of the way, in decibels, from the scalings behind the loop to those of its μ.
        """
        frequencies, d, bound, values = curve
        weights = np.maximum(values / values.max(), 0.05) ** 2
        factor = np.maximum(values / np.maximum(bound, 1e-12), 0.02) if self.real else np.ones(len(bound))
        pairs = []
        for k, (D_z, D_w) in enumerate(behind):
            wanted = [np.sqrt(d[:, k]) * factor, np.sqrt(d[:, k])]
            fitted: list[StateSpace] = []
            for size, system in zip(wanted, (D_z, D_w), strict=True):
                before = [abs(response((system.A, system.B, system.C, system.D), f)[0, 0]) for f in frequencies]
                size = size**share * np.array(before) ** (1.0 - share)
                flat = float(size.max()) < (1.0 + constant) * float(size.min())
                chosen = 0 if flat else order
                if fitted and not self.real:
                    fitted.append(fitted[0])
                else:
                    fitted.append(fit_magnitude(frequencies, size, chosen, weights=weights, least=1e-6)[0])
            pairs.append((fitted[0], fitted[1]))
        return pairs

    def _scaled(self, scalings: Sequence[tuple[StateSpace, StateSpace]]) -> StateSpace:
        """D P D⁻¹ with all channels of blocks as disturbances and performance."""
        left, right = [], []
        for block, (D_z, D_w) in zip(self.blocks, scalings, strict=True):
            left += [D_z] * block.columns
            right += [_inverse(D_w)] * block.rows
        s = self.plant.system
        before = append([*right, StateSpace.gain(np.eye(len(self.driven)))])
        after = append([*left, StateSpace.gain(np.eye(len(self.read)))])
        return (after * (s * before)).replace(inputs=s.inputs, outputs=s.outputs, units={})

    def reduce(self, excess: float) -> tuple[StateSpace, StructuredGain]:
        """The controller of least order whose μ stays, and its verdict."""
        DalembertError.when(not math.isfinite(self.peak), "no-solution", "no controller of the iteration was stable.")
        limit = self.peak * (1.0 + excess)
        best, slow = self.best, _slow_part(self.best)
        fast = best if slow is None else slow[0]
        A, B, C, _ = balance_system(fast.A, fast.B, fast.C)
        fast = fast.replace(A=A, B=B, C=C)
        low, high = 0, fast.nx
        while high - low > 1:
            middle = (low + high) // 2
            try:
                smaller = fast.balanced_truncation(middle).system
            except ConvergenceError:  # poles too near to the axis for its Gramians: the controller stays as it is
                break
            smaller = smaller if slow is None else smaller + slow[1]
            curve = self.judge(smaller)
            if curve is not None and float(curve[3].max()) <= limit:
                high, best = middle, smaller
            else:
                low = middle
        return best, mu(self.closed(best), inputs=self.w, outputs=self.z)


def _slow_part(controller: StateSpace, gap: float = 1e3) -> tuple[StateSpace, StateSpace] | None:
    """Fast and slow part of a controller, whose sum it is, where a pole is near or beyond the axis; else None.

    gap : ratio of the sizes of poles beside which integrators and unstable poles are not reduced.
    """
    real = np.sort(np.abs(np.linalg.eigvals(controller.A)))
    below = [float(r) for r, next_ in itertools.pairwise(real) if next_ > gap * r]
    shift = math.sqrt(max(below) * real[np.searchsorted(real, max(below), "right")]) if below else 0.0
    if not shift and controller.is_stable:
        return None
    moved = controller.replace(A=controller.A + shift * np.eye(controller.nx))
    fast, slow = (part.replace(A=part.A - shift * np.eye(part.nx)) for part in moved.stable_split())
    return fast, slow


def _sizes(scalings: Scalings, structure: BlockStructure) -> FloatArray:
    """One number for D of every block."""
    return np.array([
        float(np.trace(scalings.D_w[structure.w(k), structure.w(k)]).real) / block.rows
        for k, block in enumerate(structure.blocks)
    ])  # fmt: skip


def _inverse(system: StateSpace) -> StateSpace:
    """W⁻¹ of an invertible system with a direct term."""
    D = np.linalg.inv(system.D)
    return system.replace(A=system.A - system.B @ D @ system.C, B=system.B @ D, C=-D @ system.C, D=D)
