"""Eigenvalues tracked along a parameter: stability boundaries and critical speeds.

Along a parameter eigenvalues veer (coupling by springs), merge and turn to flutter
(circulatory coupling, at |α| = ε), or split with the spin speed (gyroscopic coupling, the Campbell diagram).
A critical speed of order k is a speed Ω with a natural frequency Im s(Ω) = k Ω, of a mode that an unbalance or another
force across the axis can excite: a frequency of torsion or of axial motion that meets the speed is a coincidence.

Whirl of a mode of a rotor: forward, backward, planar, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked, function
from dalembert.core.errors import DataError
from dalembert.core.progress import Progress, Setting
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.core.text import count_noun
from dalembert.linear.families.tracking import TrackedSpectra, jumps
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.record.checks import numbers

TURNS = {"x": "rx", "y": "ry", "z": "rz"}


def find_whirl(
    system: SecondOrder,
    shape: ComplexArray,
    axis: FloatArray,
    direction: float,
    energy: float = 1e-6,  # share of the kinetic energy across the axis of a mode that does not whirl: rounding, 1e-12
    planar: float = 1e-6,  # difference of forward and backward whirl, relative to their sum, of a planar motion
) -> str:
    """``"forward"``, ``"backward"``, ``"planar"``, or ``""`` for a mode (n,) without motion across the axis (3,).

    ``direction`` : sign of the speed about the axis. An unbalance is a force across the axis that turns with the rotor;
    motions along or about the axis do no work on it. With a = e₁ × e₂ the axis and u the complex displacement of a
    point, e₁ − i e₂ turns forward in time, e₁ + i e₂ backward.
    """
    across = _across(system, shape, axis)
    total = np.vdot(shape, system.M @ shape).real
    if np.vdot(across, system.M @ across).real <= energy * total:
        return ""
    points = _vectors(system, shape)
    e1 = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    e1 = e1 / np.linalg.norm(e1)
    u1, u2 = points @ e1, points @ np.cross(axis, e1)
    forward, backward = (float((np.abs(u1 + sign * 1j * u2) ** 2).sum()) for sign in (1, -1))
    if direction < 0:
        forward, backward = backward, forward
    if abs(forward - backward) <= planar * (forward + backward):
        return "planar"
    return "forward" if forward > backward else "backward"


def _places(system: SecondOrder) -> dict[str, dict[str, int]]:
    """Coordinates ``"p.y"`` by point and direction."""
    numbers: dict[str, dict[str, int]] = {}
    for i, name in enumerate(system.coordinates):
        point, _, way = name.rpartition(".")
        numbers.setdefault(point, {})[way] = i
    return numbers


def _vectors(system: SecondOrder, shape: ComplexArray) -> ComplexArray:
    """(np, 3) displacements of the points."""
    points = _places(system).values()
    return np.array([[shape[ways[way]] if way in ways else 0.0 for way in TURNS] for ways in points])


def _across(system: SecondOrder, shape: ComplexArray, axis: FloatArray) -> ComplexArray:
    """(n,) the shape without its motion along and about the axis."""
    across = shape.astype(np.complex128)
    for ways in _places(system).values():
        for names in (TURNS.keys(), TURNS.values()):
            cosines = [(ways[name], a) for name, a in zip(names, axis) if name in ways]
            along = sum(a * shape[i] for i, a in cosines)
            for i, a in cosines:
                across[i] -= a * along
    return across


SystemOfParameter = Annotated[
    Callable[[float], SecondOrder | StateSpace],
    function,
    "of one number; returns a system",
]


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


@result
class EigenvalueBranches:
    """Eigenvalues along a parameter, each column one followed branch; frozen. Made by :func:`track_eigenvalues`.

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

    def table(self) -> str:
        """Frequency of every branch [Hz] and stability along the parameter; then boundaries and critical speeds.

        At most 20 values and 8 branches.
        """
        shown = np.unique(np.linspace(0, len(self) - 1, min(len(self), 20)).round().astype(int))
        branches = min(8, self.eigenvalues.shape[1])
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
        for meeting in self.coincidences:
            what = f"{meeting.speed:.9g} {self.unit}".rstrip()
            lines.append(f"no critical speed, order {meeting.order:g}: torsion or axial motion meets it at {what}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        branches = count_noun(self.eigenvalues.shape[1], "branch").replace("branchs", "branches")
        return f"EigenvalueBranches: {len(self)} values of {self._label()}, {branches}\n{self.table()}"

    def _label(self) -> str:
        return f"{self.parameter}{f' [{self.unit}]' if self.unit else ''}"


@checked
def track_eigenvalues(
    build: SystemOfParameter,
    values: ArrayLike,
    *,
    parameter: str = "parameter",
    unit: str = "",
    orders: ArrayLike = (),
    count: int | None = None,
    progress: Setting = None,
) -> EigenvalueBranches:
    """Eigenvalues of a family of systems, tracked along its parameter.

    Parameters
    ----------
    build : function of one number that returns a SecondOrder or a StateSpace, with the same states throughout
        (called also between the values: where shapes change quickly, and to find crossings)
    values : (nv,) increasing
    parameter, unit : its name and unit
    orders : multiples k of the parameter (a speed in rad/s) whose meeting with natural frequencies is sought
    count : modes of each system; recommended for large sparse ones (default: their ``modes()``)
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done

    Returns
    -------
    EigenvalueBranches
        A boundary crossed twice between two neighbouring values is not detected: choose close values.

    Examples
    --------
    >>> def coupled(alpha):    # two oscillators with circulatory coupling 0.3: flutter for |alpha| < 0.3
    ...     return SecondOrder.from_full(np.eye(2), None, [[1 - alpha, 0.3], [-0.3, 1 + alpha]])
    >>> branches = track_eigenvalues(coupled, np.linspace(-0.95, 0.95, 20), parameter="alpha")
    >>> [(round(c.value, 9), c.becomes, c.motion) for c in branches.crossings]
    [(-0.3, 'unstable', 'flutter'), (0.3, 'stable', 'flutter')]
    """
    at = _check_values(values)
    multiples = numbers(orders, "orders").ravel().tolist()
    spectra = TrackedSpectra(build, parameter, count)
    with Progress(progress, f"eigenvalues over {parameter}") as bar:
        branches = spectra.follow(at, bar)
    grid = at.tolist()
    crossings = _boundaries(spectra, grid)
    critical = [
        meeting for order in multiples for a, b in pairwise(grid) for meeting in _critical(spectra, a, b, order)
    ]
    critical.sort(key=lambda meeting: (meeting[0].order, meeting[0].speed))
    stable = np.array([not (spectra.growth(float(value)) > 0.0).any() for value in at])
    return EigenvalueBranches(
        values=at, eigenvalues=_upper_half(branches), parameter=parameter, unit=unit, crossings=tuple(crossings),
        critical_speeds=tuple(speed for speed, counts in critical if counts),
        coincidences=tuple(speed for speed, counts in critical if not counts), stable=stable,
        provenance={**spectra.provenance, "method": "track_eigenvalues"},
    )  # fmt: skip


# ---- inside


def _boundaries(
    spectra: TrackedSpectra,
    values: list[float],
    precision: float = 2e-15,  # relative width of a crossing: doubles have no more
    together: float = 1e-3,  # of the step, of the changes of s and -s that are one crossing: the axis has a tolerance
    beyond: float = 1e-12,  # of the step, where the unstable side is looked at (100 precisions at least)
) -> list[AxisCrossing]:
    growing = [jump for a, b in pairwise(values) for jump in jumps(spectra.growth, a, b, precision)]
    if not growing:
        return []
    decaying = [jump for a, b in pairwise(values) for jump in jumps(spectra.decay, a, b, precision)]
    step = min(b - a for a, b in pairwise(values))
    crossings = []
    for value, change in growing:
        # the same eigenvalues at -τ: the nearest change of the other sign
        near = [(abs(x - value), x) for x, back in decaying if back == -change and abs(x - value) <= together * step]
        where = 0.5 * (value + min(near)[1]) if near else value
        beside = max(100.0 * precision * abs(value), beyond * step)
        crossings.append(_crossing(spectra, value, where, change, beside))
    return crossings


def _crossing(
    spectra: TrackedSpectra, edge: float, where: float, change: int, beside: float, oscillating: float = 1e-6
) -> AxisCrossing:
    """``oscillating`` : |Im s|, of the largest eigenvalue, of flutter; a double zero is computed to √ε = 1.5e-8."""
    s = spectra.quick(edge + np.sign(change) * beside)  # just on the unstable side
    excess = s.real - spectra.axis_tolerance(s)
    s = s[excess > 0.0] if (excess > 0.0).any() else s
    leaving = s[int(np.argmin(np.abs(s.real)))]
    flutter = abs(leaving.imag) > oscillating * np.abs(spectra.quick(edge)).max()
    there = spectra.quick(where)
    there = there[int(np.argmin(np.abs(there - leaving)))]
    eigenvalue = complex(0.0, abs(there.imag) if flutter else 0.0)
    return AxisCrossing(
        float(where), eigenvalue, "unstable" if change > 0 else "stable", "flutter" if flutter else "divergence"
    )


def _critical(
    spectra: TrackedSpectra, a: float, b: float, order: float, precision: float = 2e-15
) -> list[tuple[CriticalSpeed, bool]]:
    """Meetings between a and b, and whether each is a critical speed."""
    meetings = []
    for speed, _ in jumps(lambda value: spectra.excess(value, order), a, b, precision):
        s = spectra.quick(speed)
        met = s[int(np.argmin(np.abs(s.imag - order * abs(speed))))]
        motion, counts = _motion(spectra, speed, complex(met))
        meetings.append((CriticalSpeed(float(speed), order, complex(met), motion), counts))
    return meetings


def _motion(spectra: TrackedSpectra, speed: float, met: complex, distance: float = 1e-9) -> tuple[str, bool]:
    """Whirl of the modes of a rotor at an eigenvalue, and whether any of them whirls; all count elsewhere.

    ``distance`` of the mode from the eigenvalue, relative: far above its rounding, far below that of two modes.
    """
    axis = spectra.provenance.get("rotor")
    system = spectra.build(speed) if axis is not None else None
    if not isinstance(system, SecondOrder):
        return "", True
    modes = system.modes(spectra.count)
    shapes = modes.shapes.astype(np.complex128)
    near = np.flatnonzero(np.abs(modes.eigenvalues - met) <= distance * abs(met))
    motions = [find_whirl(system, shapes[:, k], np.array(axis), np.sign(speed)) for k in near]
    return next(((motion, True) for motion in motions if motion), ("", False))


def _upper_half(branches: ComplexArray) -> ComplexArray:
    """Without the branches that lie below the real axis throughout: their conjugates are there."""
    below = (branches.imag < 0.0).all(axis=0)
    return np.ascontiguousarray(branches[:, ~below])


def _check_values(values: ArrayLike) -> FloatArray:
    at = np.array(numbers(values, "values of the parameter"))
    if at.ndim != 1 or len(at) < 2 or not np.isfinite(at).all() or not (np.diff(at) > 0.0).all():
        raise DataError(
            "not-increasing",
            f"values of the parameter must be at least two, finite and increasing; got shape {at.shape}.",
        )
    return at
