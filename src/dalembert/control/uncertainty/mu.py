"""Robust stability of an uncertain system: the structured singular value over all frequencies.

    μ(ω) = 1 / min { ‖Δ‖ : det(I - M(jω) Δ) = 0 }

The loop is stable for every Δ of the structure with ‖Δ‖ ≤ 1 if and only if the nominal one is and μ < 1 at all
frequencies, zero and infinity among them, where μ of real blocks may be larger than nearby (Packard and Pandey 1993).

Between grid points the upper bound is proved: scalings of one frequency are valid on an interval around it
(`structured_bound.valid_interval`), and frequencies are added until the intervals cover the axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from dalembert.control.uncertainty import structured_perturbation as lower_bound
from dalembert.control.uncertainty.structured_bound import (
    BlockStructure,
    Scalings,
    bound_gain,
    response,
    valid_interval,
)
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import ArgumentKind, Scope, above_and_below, checked, known_as, names
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.linear import StateSpace, append
from dalembert.linear.transforms.norms import bilinear
from dalembert.linear.uncertain import Uncertain, UncertainBlock, all_pass


def _read_uncertain(name: str, value: object, scope: Scope) -> Uncertain:
    if not isinstance(value, Uncertain):
        advice = Advice("Make one with {}.", Call("da.control.linearize_uncertain"), Call("da.linear.fit_uncertain"))
        raise DataError("wrong-type", f"{name} must be an Uncertain, got {type(value).__name__}.", advice)
    scope |= {"inputs": value.inputs, "outputs": value.outputs}
    return value


UNCERTAIN = ArgumentKind("an Uncertain", _read_uncertain, gives=("inputs", "outputs"))
UncertainSystem = Annotated[Uncertain, UNCERTAIN, "uncertain system, closed by its controller"]
GainInputs = Annotated[Any, names("input", "inputs", left_out="none"), "inputs of a gain that must stay below 1"]
GainOutputs = Annotated[Any, names("output", "outputs", left_out="none"), "outputs of this gain"]
Frequencies = Annotated[
    Any, known_as("frequencies", "frequencies from zero on"), "[rad/s]; around the poles where left out"
]
Accuracy = Annotated[float, above_and_below(0.0, 1.0), "relative distance of the proved bound from the computed one"]

PERFORMANCE = "performance"


@result
class StructuredGain:
    """Bounds of the structured singular value.

    Attributes
    ----------
    frequencies, upper, lower : (n,)
        [rad/s], and bounds of μ there; infinity may be among the frequencies.
    peak : float
        Upper bound over all frequencies, also between those listed, where ``proved``.
    attained : float
        1 / ‖Δ‖ of the smallest perturbation found; its frequency is ``frequency``.
    perturbation : mapping
        Δ that takes the system to the edge of stability: δ of a parameter, a StateSpace of a full block.
    worst : mapping
        Values of the parameters of that machine, for ``eqs.replace(**worst)``.
    proved : bool
        Whether the peak is proved between the frequencies too.
    """

    frequencies: FloatArray
    upper: FloatArray
    lower: FloatArray
    peak: float
    peak_frequency: float
    attained: float
    frequency: float
    perturbation: Mapping[str, Any]
    worst: Mapping[str, float]
    proved: bool
    scalings: tuple[Scalings, ...]

    @property
    def is_robust(self) -> bool:
        """Whether every system of the family is stable (with a performance block: and has the gain asked for)."""
        return self.proved and self.peak < 1.0

    @property
    def margin(self) -> float:
        """Factor by which the ranges of all blocks may grow: 1 / peak."""
        return 1.0 / self.peak if self.peak > 0.0 else math.inf

    def table(self) -> str:
        """Bounds, and the worst machine."""
        verdict = (
            "all systems are stable"
            if self.is_robust
            else "not every system is stable"
            if self.attained >= 1.0
            else "undecided"
        )
        rows = [
            (
                "upper bound",
                f"{self.peak:.5g}",
                f"at {self.peak_frequency:.5g} rad/s{'' if self.proved else ', on the grid only'}",
            ),
            ("attained", f"{self.attained:.5g}", f"at {self.frequency:.5g} rad/s"),
            ("ranges may grow by", f"{self.margin:.5g}", verdict),
            *((name, f"{value:.6g}", "at the edge of stability") for name, value in self.worst.items()),
        ]
        return align_columns([], rows, left=(0, 2))

    def __repr__(self) -> str:
        return f"StructuredGain\n{self.table()}"


@checked
def mu(
    uncertain: UncertainSystem,
    *,
    inputs: GainInputs = None,
    outputs: GainOutputs = None,
    frequencies: Frequencies = None,
    accuracy: Accuracy = 2e-3,
) -> StructuredGain:
    """Bounds of the structured singular value, and the worst machine.

    Parameters
    ----------
    uncertain : closed loop, stable without its uncertainty.
    inputs, outputs : names of channels whose gain must stay below 1 (robust performance); none where left out.
    frequencies : of the curves; the peaks are sought between them too.
    accuracy : the default needs some ten frequencies more than the grid has.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder, fit_uncertain
    >>> u = fit_uncertain(lambda p: SecondOrder(1.0, p["k"], C=0.1, B=[1.0]), {"k": (7.0, 13.0)})
    >>> judged = mu(u)
    >>> round(judged.peak, 2), abs(round(judged.worst["k"], 6)), judged.is_robust
    (0.3, 0.0, True)
    """
    system, blocks = closed_blocks(uncertain, inputs, outputs)
    require_stable(system, "the loop without its uncertainty")
    structure = BlockStructure(blocks)
    matrices = bilinear(system) if system.dt is not None else (system.A, system.B, system.C, system.D)
    grid = frequency_grid(matrices[0]) if frequencies is None else _read_grid(frequencies, uncertain.dt)
    to_axis, from_axis = axis_maps(uncertain.dt)
    grid = np.array([to_axis(w) for w in grid])
    curve: dict[float, Scalings] = {}
    cover = Cover(matrices, structure, accuracy)
    for w in grid:
        curve[float(w)] = cover.at(float(w))
    cover.sharpen()
    proved = cover.prove()
    peak, at_peak = cover.level, cover.frequency
    reached = {w: _lower(matrices, structure, w, curve[w].bound) for w in curve}
    attained, frequency, deltas = _peak_lower(matrices, structure, reached, peak, at_peak)
    worst: dict[str, float] = {}
    perturbation: dict[str, Any] = {}
    for k, block in enumerate(blocks):
        if deltas is not None and block.name != PERFORMANCE:
            if block.kind == "real":
                perturbation[block.name] = float(deltas[k][0, 0].real)
                worst[block.name] = block.parameter(perturbation[block.name])
            else:
                perturbation[block.name] = realize(deltas[k], frequency, uncertain.dt)
    shown = np.array(list(curve))
    return StructuredGain(
        np.array([from_axis(w) for w in shown]), np.array([s.bound for s in curve.values()]),
        np.array([0.0 if pair is None else pair[0] for pair in reached.values()]),
        max(peak, attained), from_axis(at_peak), attained, from_axis(frequency), perturbation, worst, proved,
        tuple(curve.values()),
    )  # fmt: skip


# -- the system --------------------------------------------------------------------------------------------------------


def closed_blocks(
    uncertain: Uncertain, into: Sequence[str], out: Sequence[str]
) -> tuple[StateSpace, list[UncertainBlock]]:
    """M and its blocks, with a full block for performance over named channels."""
    problem = "a gain needs inputs and outputs: give both, or none for the stability alone."
    where = {"argument": "outputs" if into else "inputs"}
    DataError.when(bool(into) != bool(out), "missing-argument", problem, where=where)
    blocks = list(uncertain.blocks)
    if into:
        blocks.append(UncertainBlock(PERFORMANCE, "full", len(into), len(out)))
    DataError.when(not blocks, "empty", "nothing is uncertain, and no channels are named.")
    system = uncertain.system.select(
        inputs=(*uncertain.system.inputs[: uncertain.rows], *into),
        outputs=(*uncertain.system.outputs[: uncertain.columns], *out),
    )
    return system, blocks


def require_stable(system: StateSpace, what: str) -> None:
    """Refuse a system that is not stable, naming its worst pole."""
    if system.nx and not system.is_stable:
        poles = system.poles().values
        worst = poles[int(np.argmax(poles.real if system.dt is None else np.abs(poles)))]
        raise DataError(
            "unstable",
            f"{what} is not stable: it has a pole at {worst:.5g}, so robustness has no meaning.",
            Advice("Join it with a controller first ({}).", Call("da.linear.connect")),
            evidence={"pole": complex(worst)},
        )


def axis_maps(dt: float | None) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """From a frequency to that on the imaginary axis, and back."""
    if dt is None:
        return float, float
    return (
        lambda w: math.tan(0.5 * min(w * dt, math.pi)) if w * dt < math.pi else math.inf,
        lambda w: 2.0 * math.atan(w) / dt,
    )


def frequency_grid(
    A: FloatArray, points: int = 50, decades: float = 2.0, light: float = 0.7, rounding: float = 1e-9
) -> FloatArray:
    """Zero, frequencies around the poles, infinity.

    decades : beyond the slowest and the fastest pole.  light : damping ratio below which a pole has frequencies of its
    own.  rounding : of a pole at zero.
    """
    poles = np.linalg.eigvals(A) if len(A) else np.zeros(0)
    sizes = np.abs(poles)
    sizes = sizes[sizes > rounding * sizes.max(initial=0.0)]
    if not len(sizes):
        return np.array([0.0, math.inf])
    spread = np.geomspace(sizes.min() / 10.0**decades, sizes.max() * 10.0**decades, points)
    resonant = poles[(poles.imag > 0.0) & (np.abs(poles.real) < light * np.abs(poles))]
    near = (resonant.imag[:, None] + resonant.real[:, None] * np.array([-2.0, -0.7, 0.0, 0.7, 2.0])).ravel()
    return np.unique(np.concatenate([[0.0], spread, near[near > 0.0], [math.inf]]))


def _read_grid(frequencies: Any, dt: float | None) -> FloatArray:
    try:
        grid = np.unique(np.atleast_1d(np.asarray(frequencies, dtype=float)))
    except (TypeError, ValueError):
        grid = np.zeros(0)
    wrong = not len(grid) or np.isnan(grid).any() or grid[0] < 0.0
    problem = "frequencies must be numbers [rad/s] from zero on, at least one."
    DataError.when(wrong, "out-of-range", problem, where={"argument": "frequencies"})
    return grid


# -- the upper bound over all frequencies ------------------------------------------------------------------------------


class Cover:
    """Scalings whose intervals cover the frequencies from zero to infinity."""

    def __init__(self, matrices: lower_bound.System, structure: BlockStructure, accuracy: float) -> None:
        self.matrices, self.structure, self.accuracy = matrices, structure, accuracy
        self.curve: dict[float, Scalings] = {}
        self.level, self.frequency = 0.0, 0.0

    def at(self, w: float, target: float = 0.0, jump: float = 1.2) -> Scalings:
        """Scalings at a frequency, from those of the nearest one; anew where the bound rises by more than ``jump``."""
        M = response(self.matrices, w)
        start = None
        if self.curve and math.isfinite(w):
            nearest = min(
                self.curve, key=lambda v: abs(math.log((v + 1e-12) / (w + 1e-12))) if math.isfinite(v) else 1e9
            )
            start = self.curve[nearest] if math.isfinite(self.curve[nearest].bound) else None
        start = self.first(M) if start is None else start
        floor = max(target, 1e-3 * self.level)
        scalings = bound_gain(M, self.structure, start, target=floor, accuracy=0.05 * self.accuracy)
        if start is not None and scalings.bound > max(jump * start.bound, 0.5 * self.level, target):
            other = bound_gain(M, self.structure, self.first(M), target=floor, accuracy=0.05 * self.accuracy)
            scalings = min(scalings, other, key=lambda s: s.bound)
        self.curve[w] = scalings
        if scalings.bound > self.level:
            self.level, self.frequency = scalings.bound, w
        return scalings

    def first(self, M: ComplexArray) -> Scalings | None:
        """Scalings to begin with where there are none nearby."""
        return None

    def sharpen(self, steps: int = 25, peaks: int = 4) -> None:
        """Golden sections around the highest points."""
        order = sorted(w for w in self.curve if math.isfinite(w))
        values = [self.curve[w].bound for w in order]
        inner = [i for i in range(1, len(order) - 1) if values[i] >= max(values[i - 1], values[i + 1])]
        for i in sorted(inner, key=lambda i: -values[i])[:peaks]:
            if values[i] >= 0.5 * self.level:
                climb(lambda w: self.at(w).bound, order[i - 1], order[i + 1], 0.1 * self.accuracy, steps)

    def prove(self, most: int = 400) -> bool:
        """Add frequencies until the intervals cover the axis; the level rises where one is above it.

        most : frequencies; a bound that does not settle between them is not proved.
        """
        while True:
            level = (1.0 + self.accuracy) * self.level if self.level > 0.0 else 1e-9
            intervals: list[tuple[float, float]] = []
            for w in sorted(self.curve, key=lambda w: self.curve[w].bound):
                if not any(low < w < high for low, high in intervals):
                    intervals.append(self._interval(w, level))
            before = self.level
            while self.level <= before:
                gaps = _gaps(intervals)
                if not gaps:
                    self.level = level
                    return True
                if len(self.curve) > most:
                    return False
                for low, high in gaps:
                    w = math.sqrt(low * high) if low > 0.0 and math.isfinite(high) else (
                        0.5 * high if math.isfinite(high) else 2.0 * low + 1.0)  # fmt: skip
                    self.at(w, target=0.5 * before)
                    intervals.append(self._interval(w, level))

    def _interval(self, w: float, level: float) -> tuple[float, float]:
        scalings = self.curve[w]
        if scalings.bound >= level:
            return w, w
        if math.isfinite(w):
            return valid_interval(self.matrices, scalings, level, w, self.structure.scaled)
        sizes = np.abs(np.linalg.eigvals(self.matrices[0])) if len(self.matrices[0]) else np.ones(1)
        far = 1e6 * float(sizes.max(initial=1.0))
        return valid_interval(self.matrices, scalings, level, far, self.structure.scaled)


def _gaps(intervals: Sequence[tuple[float, float]], join: float = 1e-9) -> list[tuple[float, float]]:
    """Frequencies that no interval has; ``join`` : relative width of a gap that is none."""
    gaps, end = [], 0.0
    for low, high in sorted(intervals):
        if low > end * (1.0 + join):
            gaps.append((end, low))
        end = max(end, high)
    if math.isfinite(end):
        gaps.append((end, math.inf))
    return gaps


# -- the lower bound ---------------------------------------------------------------------------------------------------


def _lower(
    matrices: lower_bound.System, structure: BlockStructure, w: float, upper: float, zero: float = 1e-9
) -> tuple[float, lower_bound.Deltas] | None:
    if upper <= zero:
        return None
    M = response(matrices, w)
    reached = lower_bound.align(M, structure, lower_bound.first_guesses(structure))
    if structure.is_real and not np.abs(M.imag).max(initial=0.0) > 0.0:
        static = static_bound(M.real, structure)
        reached = max((pair for pair in (reached, static) if pair is not None), key=lambda pair: pair[0], default=None)
    return reached


def static_bound(
    M: FloatArray, structure: BlockStructure, most: int = 10, rounding: float = 1e-9
) -> tuple[float, lower_bound.Deltas] | None:
    """Largest real eigenvalue of M Δ over the corners of the box: exact where no real block is repeated, because
    det(I - M Δ) is then linear in every parameter. most : parameters for which all corners are tried.
    rounding : imaginary part of a real eigenvalue, and distance of two that are equal."""
    n = len(structure.blocks)
    best = 0.0
    worst = None
    corners: Any = itertools.product((-1.0, 1.0), repeat=n) if n <= most else np.sign(
        np.random.default_rng(0).normal(size=(2**most, n)))  # fmt: skip
    for corner in corners:
        deltas = [np.array([[sign]], complex) for sign in corner]
        values = np.linalg.eigvals(M @ lower_bound.expand(structure, deltas).real)
        real = values.real[np.abs(values.imag) <= rounding * np.abs(values)]
        if len(real) and real.max() > best * (1.0 + rounding):
            best, worst = float(real.max()), [delta / real.max() for delta in deltas]
    return None if worst is None else (best, worst)


def _peak_lower(
    matrices: lower_bound.System,
    structure: BlockStructure,
    pairs: Mapping[float, tuple[float, lower_bound.Deltas] | None],
    peak: float,
    at_peak: float,
    same: float = 1e-9,
) -> tuple[float, float, lower_bound.Deltas | None]:
    """The smallest perturbation found at any frequency: 1 / ‖Δ‖, its frequency, Δ."""
    reached = [(pair[0], w, pair[1]) for w, pair in pairs.items() if pair is not None]
    best = max(reached, key=lambda each: each[0], default=(0.0, 0.0, None))
    if structure.is_real and len(matrices[0]):
        family = lower_bound.RealFamily(matrices, structure)
        starts = [
            np.array([delta[0, 0].real for delta in each[2]]) for each in sorted(reached, key=lambda e: -e[0])[:5]
        ]
        worst = family.worst(min(1e3, 20.0 / max(peak, 1e-3)), starts)
        if worst is not None and 1.0 / worst[0] >= best[0] * (1.0 - same):
            size, direction = worst
            poles = _poles(family, size * direction)
            axis = poles[int(np.argmax(poles.real))] if len(poles) else 0.0
            return 1.0 / size, float(abs(axis.imag)), [np.array([[size * d]], complex) for d in direction]
        return best

    def value(w: float) -> float:
        nonlocal best
        starts = ([best[2]] if best[2] is not None else []) + lower_bound.first_guesses(structure, 2)
        pair = lower_bound.align(response(matrices, w), structure, starts)
        if pair is not None and pair[0] > best[0]:
            best = pair[0], w, pair[1]
        return 0.0 if pair is None else pair[0]

    for center in (at_peak, best[1]):
        if 0.0 < center < math.inf:
            value(center)
            climb(value, 0.7 * center, 1.3 * center, 1e-6, 30)
    return best


def climb(
    value: Callable[[float], float], low: float, high: float, accuracy: float, steps: int, width: float = 1e-9
) -> None:
    """Golden sections towards a maximum, until the two values inside, or the ends, agree."""
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    value_a, value_b = value(a), value(b)
    for _ in range(steps):
        if abs(value_a - value_b) <= accuracy * max(value_a, value_b) or high - low < width * high:
            return
        if value_a > value_b:
            high, b, value_b = b, a, value_a
            a = high - ratio * (high - low)
            value_a = value(a)
        else:
            low, a, value_a = a, b, value_b
            b = low + ratio * (high - low)
            value_b = value(b)


def _poles(family: lower_bound.RealFamily, delta: FloatArray) -> Any:
    Delta = np.diag(delta[family.of])
    return np.linalg.eigvals(
        family.A + family.B @ Delta @ np.linalg.solve(np.eye(len(Delta)) - family.D @ Delta, family.C)
    )


def realize(delta: Any, w: float, dt: float | None = None) -> StateSpace:
    """A stable real system of constant gain with this value, of rank one, at a frequency: all-pass lags."""
    U, sigma, Vh = np.linalg.svd(np.atleast_2d(delta))
    left, right = U[:, 0] * sigma[0], Vh[0]
    out = [_turn(value, w, dt) for value in left]
    into = [_turn(value, w, dt) for value in right]
    columns = append(out)
    rows = append(into)
    spread = StateSpace.gain(np.ones((len(out), 1)))
    total = StateSpace.gain(np.ones((1, len(into))))
    return columns * (spread * (total * rows))


def _turn(value: complex, w: float, dt: float | None, rounding: float = 1e-12) -> StateSpace:
    """A lag ±|value| (a - s)/(a + s) with this value at jω; a number where it is real."""
    if abs(value.imag) <= rounding * abs(value) or w == 0.0 or math.isinf(w):
        return StateSpace.gain([[value.real]])
    sign = 1.0 if value.imag < 0.0 else -1.0  # (a - jω)/(a + jω) has phases from 0 to -π
    angle = np.angle(sign * value)
    corner = w / math.tan(-0.5 * angle)
    lag = all_pass(corner, np.array([[sign * abs(value)]]))
    if dt is None:
        return lag
    right = np.eye(1) - lag.A  # s = (z - 1)/(z + 1), the frequency of the transformed axis
    return StateSpace(
        np.linalg.solve(right, np.eye(1) + lag.A), math.sqrt(2.0) * np.linalg.solve(right, lag.B),
        math.sqrt(2.0) * lag.C @ np.linalg.inv(right), lag.D + lag.C @ np.linalg.solve(right, lag.B), dt,
    )  # fmt: skip
