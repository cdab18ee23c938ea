"""Sweeps over a parameter: tracked eigenvalues, stability boundaries, critical speeds, root loci.

Along a parameter eigenvalues veer (coupling by springs), merge and turn to flutter
(circulatory coupling, at |α| = ε), or split with the spin speed (gyroscopic coupling, the Campbell diagram).
A critical speed of order k is a speed Ω with a natural frequency Im s(Ω) = k Ω, of a mode that an unbalance or another
force across the axis can excite: a frequency of torsion or of axial motion that meets the speed is a coincidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.progress import Progress, Setting
from dalembert.core.tables import align_columns
from dalembert.core.text import count_noun
from dalembert.linear.channels import place
from dalembert.linear.families.tracking import TrackedSpectra, jumps
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.record.checks import numbers

# Relative width at which a crossing is taken as found: doubles have no more.
PRECISION = 2e-15
TURNS = {"x": "rx", "y": "ry", "z": "rz"}
COLUMNS_SHOWN = 8
ROWS_SHOWN = 20


@dataclass(frozen=True)
class WhirlLimits:
    """How the mode that meets an order is found, and when it whirls."""

    # Relative distance of the eigenvalue of the mode from the one that meets the order: far above its rounding,
    # far below the distance of two modes.
    met: float = 1e-9
    # Share of the kinetic energy across the axis below which a mode does not whirl: rounding leaves 1e-12.
    across: float = 1e-6
    # Difference of forward and backward whirl, relative to their sum, below which a motion is planar: likewise.
    planar: float = 1e-6


WHIRL = WhirlLimits()


@dataclass(frozen=True)
class BoundaryLimits:
    """How a crossing of the stability boundary is paired and named."""

    # Distance, relative to the smallest step of the sweep, of the changes of s and -s that are one crossing: both are
    # found to rounding, and differ by the tolerance of the axis only.
    together: float = 1e-3
    # Distance beyond a crossing, relative to the step, where its unstable side is looked at (100 precisions at least).
    beside: float = 1e-12
    # |Im s| of the largest eigenvalue, above which the crossing is flutter: a double zero is computed to √ε = 1.5e-8.
    flutter: float = 1e-6


BOUNDARY = BoundaryLimits()


@dataclass(frozen=True)
class AxisCrossing:
    """An eigenvalue (or a pair) at the imaginary axis."""

    value: float
    """of the parameter"""
    eigenvalue: complex
    """[rad/s], Im ≥ 0"""
    becomes: str
    """"unstable" or "stable", towards larger values"""
    motion: str
    """"flutter" (oscillating) or "divergence" (not)"""


@dataclass(frozen=True)
class CriticalSpeed:
    """A speed at which a natural frequency meets a multiple of it."""

    speed: float
    """[rad/s]"""
    order: float
    eigenvalue: complex
    """[rad/s]"""
    whirl: str = ""
    """"forward", "backward" or "planar" where the system is a rotor (`da.structures.spin_rotor`); "" elsewhere
    and for motions along or about its axis"""


@frozen
class Sweep:
    """Eigenvalues along a parameter, each column one followed branch; frozen. Made by :func:`sweep`.

    ``values`` (nv,); ``eigenvalues`` (nv, nb) [rad/s], of a pair only the half with Im ≥ 0 where it stays a pair
    throughout; ``crossings``: stability boundaries; ``critical_speeds``; ``coincidences``: speeds where the frequency
    of a torsional or axial motion of a rotor meets an order, which unbalance does not excite; ``parameter``, ``unit``,
    ``provenance``.
    """

    parameter: str
    unit: str
    values: FloatArray
    eigenvalues: ComplexArray
    crossings: tuple[AxisCrossing, ...]
    critical_speeds: tuple[CriticalSpeed, ...]
    coincidences: tuple[CriticalSpeed, ...]
    stable: Any
    provenance: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def frequencies(self) -> FloatArray:
        """(nv, nb) frequencies of oscillation \\|Im s\\| [rad/s]; 0 where a branch does not oscillate."""
        return np.abs(self.eigenvalues.imag)

    @property
    def frequencies_hz(self) -> FloatArray:
        """(nv, nb) [Hz]."""
        return self.frequencies / (2.0 * np.pi)

    @property
    def growth_rates(self) -> FloatArray:
        """(nv, nb) Re s [1/s]; negative where a branch decays."""
        return np.array(self.eigenvalues.real)

    @property
    def damping_ratios(self) -> FloatArray:
        """(nv, nb) -Re s / \\|s\\|; 0 at s = 0."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros(size.shape), where=size > 0.0) + 0.0

    def table(self, *, most: int = ROWS_SHOWN) -> str:
        """Frequency of every branch [Hz] and stability along the parameter; then boundaries and critical speeds."""
        rows = range(len(self))
        shown = rows if len(self) <= most else np.unique(np.linspace(0, len(self) - 1, most).round().astype(int))
        branches = min(COLUMNS_SHOWN, self.eigenvalues.shape[1])
        head = [self._label(), *(f"f{b + 1} [Hz]" for b in range(branches)), "stable"]
        cells = [
            [f"{self.values[i]:.6g}", *(f"{x:.5g}" for x in self.frequencies_hz[i, :branches]),
             "yes" if self.stable[i] else "no"]
            for i in shown
        ]  # fmt: skip
        lines = [align_columns(head, cells)]
        sizes = ((len(cells), len(self), "values"), (branches, self.eigenvalues.shape[1], "branches"))
        cut = [f"{shown} of {count} {what}" for shown, count, what in sizes if shown < count]
        if cut:
            lines.append(f"({', '.join(cut)})")
        for crossing in self.crossings:
            hertz = crossing.eigenvalue.imag / (2.0 * np.pi)
            how = f"{crossing.motion}{f' at {hertz:.5g} Hz' if hertz else ''}"
            lines.append(f"{self.parameter} = {crossing.value:.9g}: becomes {crossing.becomes} ({how})")
        for critical in self.critical_speeds:
            what = f"{critical.speed:.9g} {self.unit}".rstrip()
            how = f" ({critical.whirl} whirl)" if critical.whirl else ""
            lines.append(f"critical speed, order {critical.order:g}: {what}{how}")
        for one in self.coincidences:
            what = f"{one.speed:.9g} {self.unit}".rstrip()
            lines.append(f"no critical speed, order {one.order:g}: torsion or axial motion meets it at {what}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        branches = count_noun(self.eigenvalues.shape[1], "branch").replace("branchs", "branches")
        return f"Sweep: {len(self)} values of {self._label()}, {branches}\n{self.table()}"

    def _label(self) -> str:
        return f"{self.parameter}{f' [{self.unit}]' if self.unit else ''}"


def sweep(
    build: Callable[[float], SecondOrder | StateSpace],
    values: ArrayLike,
    *,
    parameter: str = "parameter",
    unit: str = "",
    orders: ArrayLike = (),
    count: int | None = None,
    precision: float = PRECISION,
    progress: Setting = None,
) -> Sweep:
    """Eigenvalues of a family of systems, tracked along its parameter.

    Parameters
    ----------
    build : function of one number that returns a SecondOrder or a StateSpace, with the same states throughout
        (called also between the values: where shapes change quickly, and to find crossings)
    values : (nv,) increasing
    parameter, unit : its name and unit
    orders : multiples k of the parameter (a speed in rad/s) whose meeting with natural frequencies is sought
    count : modes of each system; recommended for large sparse ones (default: their ``modes()``)
    precision : relative, of crossings and critical speeds
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done

    Returns
    -------
    Sweep
        A boundary crossed twice between two neighbouring values is not detected: choose close values.

    Examples
    --------
    >>> def coupled(alpha):    # two oscillators with circulatory coupling 0.3: flutter for |alpha| < 0.3
    ...     return SecondOrder.from_full(np.eye(2), None, [[1 - alpha, 0.3], [-0.3, 1 + alpha]])
    >>> found = sweep(coupled, np.linspace(-0.95, 0.95, 20), parameter="alpha")
    >>> [(round(c.value, 9), c.becomes, c.motion) for c in found.crossings]
    [(-0.3, 'unstable', 'flutter'), (0.3, 'stable', 'flutter')]
    """
    at = _check_values(values)
    multiples = numbers(orders, "orders").ravel().tolist()
    if not callable(build):
        raise DataError(
            "wrong-type", f"build must be a function of one number that returns a system, got {type(build).__name__}."
        )
    spectra = TrackedSpectra(build, parameter, count)
    with Progress(progress, f"sweep of {parameter}") as bar:
        branches = spectra.follow(at, bar)
    grid = at.tolist()
    crossings = _boundaries(spectra, grid, precision)
    critical = [
        one for order in multiples for a, b in pairwise(grid) for one in _critical(spectra, a, b, order, precision)
    ]
    critical.sort(key=lambda one: (one[0].order, one[0].speed))
    stable = np.array([not (spectra.growth(float(value)) > 0.0).any() for value in at])
    return Sweep(
        values=at, eigenvalues=_upper_half(branches), parameter=parameter, unit=unit, crossings=tuple(crossings),
        critical_speeds=tuple(one for one, counts in critical if counts),
        coincidences=tuple(one for one, counts in critical if not counts), stable=stable,
        provenance={**spectra.provenance, "method": "sweep"},
    )  # fmt: skip


def campbell(
    build: Callable[[float], SecondOrder | StateSpace],
    speeds: ArrayLike,
    *,
    orders: ArrayLike = (1.0,),
    count: int | None = None,
) -> Sweep:
    """Natural frequencies over the spin speed [rad/s], with critical speeds of the given orders.

    Of systems of `da.structures.spin_rotor` only modes that whirl have critical speeds; where torsion or axial
    motion meets an order is listed in ``coincidences``. Of other systems every frequency counts. Backward whirl on
    bearings that are equally stiff both ways is not excited by unbalance (``CriticalSpeed.whirl``).

    Examples
    --------
    >>> def rotor(speed):
    ...     return SecondOrder(np.eye(2), np.diag([4.0, 9.0]), G=[[0, speed], [-speed, 0]])
    >>> round(campbell(rotor, np.linspace(0.0, 4.0, 9)).critical_speeds[0].speed, 9)    # √(36/13)
    1.664100589
    """
    return sweep(build, speeds, parameter="speed", unit="rad/s", orders=orders, count=count)


def root_locus(
    system: SecondOrder | StateSpace, gains: ArrayLike, *, input: str | None = None, output: str | None = None
) -> Sweep:
    """Closed-loop eigenvalues over the gain k of the feedback u = -k y from one output to one input.

    Examples
    --------
    >>> plant = StateSpace([[-1, 1, 0], [0, -2, 1], [0, 0, -3]], [0, 0, 1], [1, 0, 0])
    >>> locus = root_locus(plant, np.linspace(0.0, 100.0, 21))
    >>> round(locus.crossings[0].value, 9), round(locus.crossings[0].eigenvalue.imag ** 2, 9)
    (60.0, 11.0)
    """
    if not isinstance(system, (SecondOrder, StateSpace)):
        raise DataError("wrong-type", f"root_locus needs a SecondOrder or a StateSpace, got {type(system).__name__}.")
    first = system if isinstance(system, StateSpace) else system.state_space()
    j = place("input", input, first.inputs, "this system")
    i = place("output", output, first.outputs, "this system")
    b, c, d = first.B[:, [j]], first.C[[i]], float(first.D[i, j])

    def close_loop(gain: float) -> StateSpace:
        loop = 1.0 + gain * d
        if loop == 0.0:
            raise DataError(
                "algebraic-loop", f"the loop is not well posed at gain {gain:.6g}: the direct term makes 1 + k D zero."
            )
        return StateSpace(first.A - gain / loop * b @ c, dt=first.dt, states=first.states)

    return sweep(close_loop, gains, parameter="gain")


# ---- inside


def _boundaries(spectra: TrackedSpectra, values: list[float], precision: float) -> list[AxisCrossing]:
    growing = [one for a, b in pairwise(values) for one in jumps(spectra.growth, a, b, precision)]
    if not growing:
        return []
    decaying = [one for a, b in pairwise(values) for one in jumps(spectra.decay, a, b, precision)]
    step = min(b - a for a, b in pairwise(values))
    found = []
    for value, change in growing:
        # the same eigenvalues at -τ: the nearest change of the other sign
        near = [other for other, back in decaying if back == -change and abs(other - value) <= BOUNDARY.together * step]
        where = 0.5 * (value + min(near, key=lambda other, at=value: abs(other - at))) if near else value  # type: ignore[misc]
        beside = max(100.0 * precision * abs(value), BOUNDARY.beside * step)
        found.append(_crossing(spectra, value, where, change, beside))
    return found


def _crossing(spectra: TrackedSpectra, edge: float, where: float, change: int, beside: float) -> AxisCrossing:
    s = spectra.quick(edge + np.sign(change) * beside)  # just on the unstable side
    excess = s.real - spectra.axis_tolerance(s)
    s = s[excess > 0.0] if (excess > 0.0).any() else s
    leaving = s[int(np.argmin(np.abs(s.real)))]
    flutter = abs(leaving.imag) > BOUNDARY.flutter * np.abs(spectra.quick(edge)).max()
    there = spectra.quick(where)
    there = there[int(np.argmin(np.abs(there - leaving)))]
    eigenvalue = complex(0.0, abs(there.imag) if flutter else 0.0)
    return AxisCrossing(
        float(where), eigenvalue, "unstable" if change > 0 else "stable", "flutter" if flutter else "divergence"
    )


def _critical(
    spectra: TrackedSpectra, a: float, b: float, order: float, precision: float
) -> list[tuple[CriticalSpeed, bool]]:
    """Meetings between a and b, and whether each is a critical speed."""
    found = []
    for speed, _ in jumps(lambda value: spectra.excess(value, order), a, b, precision):
        s = spectra.quick(speed)
        met = s[int(np.argmin(np.abs(s.imag - order * abs(speed))))]
        motion, counts = _motion(spectra, speed, complex(met))
        found.append((CriticalSpeed(float(speed), order, complex(met), motion), counts))
    return found


def _motion(spectra: TrackedSpectra, speed: float, met: complex) -> tuple[str, bool]:
    """Whirl of the modes of a rotor at an eigenvalue, and whether any of them whirls; all count elsewhere."""
    axis = spectra.provenance.get("rotor")
    system = spectra.build(speed) if axis is not None else None
    if not isinstance(system, SecondOrder):
        return "", True
    modes = system.modes(spectra.count)
    shapes = modes.shapes.astype(np.complex128)
    near = np.flatnonzero(np.abs(modes.eigenvalues - met) <= WHIRL.met * abs(met))
    motions = [_whirl(system, shapes[:, k], np.array(axis), np.sign(speed)) for k in near]
    return next(((motion, True) for motion in motions if motion), ("", False))


def _upper_half(branches: ComplexArray) -> ComplexArray:
    """Without the branches that lie below the real axis throughout: their conjugates are there."""
    below = (branches.imag < 0.0).all(axis=0)
    return np.ascontiguousarray(branches[:, ~below])


def _check_values(values: ArrayLike) -> FloatArray:
    at = np.array(numbers(values, "values of a sweep"))
    if at.ndim != 1 or len(at) < 2 or not np.isfinite(at).all() or not (np.diff(at) > 0.0).all():
        raise DataError(
            "not-increasing", f"values of a sweep must be at least two, finite and increasing; got shape {at.shape}."
        )
    return at


def _whirl(system: SecondOrder, shape: ComplexArray, axis: FloatArray, direction: float) -> str:
    """``"forward"``, ``"backward"``, ``"planar"``, or ``""`` for a mode (n,) without motion across the axis (3,).

    ``direction`` : sign of the speed about the axis. An unbalance is a force across the axis that turns with the rotor;
    motions along or about the axis do no work on it. With a = e₁ × e₂ the axis and u the complex displacement of a
    point, e₁ − i e₂ turns forward in time, e₁ + i e₂ backward.
    """
    across = _across(system, shape, axis)
    total = np.vdot(shape, system.M @ shape).real
    if np.vdot(across, system.M @ across).real <= WHIRL.across * total:
        return ""
    points = _vectors(system, shape)
    e1 = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    e1 = e1 / np.linalg.norm(e1)
    one, two = points @ e1, points @ np.cross(axis, e1)
    forward, backward = (float((np.abs(one + sign * 1j * two) ** 2).sum()) for sign in (1, -1))
    if direction < 0:
        forward, backward = backward, forward
    if abs(forward - backward) <= WHIRL.planar * (forward + backward):
        return "planar"
    return "forward" if forward > backward else "backward"


def _places(system: SecondOrder) -> dict[str, dict[str, int]]:
    """Coordinates ``"p.y"`` by point and direction."""
    found: dict[str, dict[str, int]] = {}
    for i, name in enumerate(system.coordinates):
        point, _, way = name.rpartition(".")
        found.setdefault(point, {})[way] = i
    return found


def _vectors(system: SecondOrder, shape: ComplexArray) -> ComplexArray:
    """(np, 3) displacements of the points."""
    points = _places(system).values()
    return np.array([[shape[ways[way]] if way in ways else 0.0 for way in TURNS] for ways in points])


def _across(system: SecondOrder, shape: ComplexArray, axis: FloatArray) -> ComplexArray:
    """(n,) the shape without its motion along and about the axis."""
    across = shape.astype(np.complex128)
    for ways in _places(system).values():
        for names in (TURNS.keys(), TURNS.values()):
            have = [(ways[name], part) for name, part in zip(names, axis) if name in ways]
            along = sum(part * shape[i] for i, part in have)
            for i, part in have:
                across[i] -= part * along
    return across
