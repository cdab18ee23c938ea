"""Uniform bars (axial), shafts (torsion) and strings (transverse) between two ends, exactly.

    m ü = k u″,   c = √(k/m):   bar k = EA, m = ρA;   shaft k = GJ, m = ρI_p;   string k = tension, m = ρA.

u = cos(κz - a), z from 0 to 1, κ = ω l/c, where the left end gives tan a = (K - κ²μ)/κ with its spring K (in k/l) and
mass μ (in m l); a = π/2 for a held end, 0 for a free one. The right end gives

    g(κ) = κ - a_left(κ) - a_right(κ) = nπ,   n = 0, 1, 2, ...

and g grows with κ, so every n has exactly one root and none can be missed; κ = 0 is the rigid-body mode of a body
whose ends are both without spring.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.linear import SecondOrder
from dalembert.record import Record
from dalembert.structures.assembly.materials import Material, is_number
from dalembert.structures.assembly.materials import material as known_material
from dalembert.structures.assembly.sections import Section
from dalembert.structures.continuous.continuous_modes import MOST, ContinuousModes, is_as_large
from dalembert.structures.continuous.end_conditions import End
from dalembert.structures.continuous.modal_system import modal_system

HELD = {"free": End(), "fixed": End(spring=math.inf, rotational_spring=math.inf)}
_OTHER_NAMES = {"clamped": "fixed", "held": "fixed"}


@dataclass(frozen=True)
class Line:
    """A line body without dimension and its units; (left, right) pairs of springs and masses, inf = held."""

    length: float
    stiffness: float
    mass_per_length: float
    spring: tuple[float, float]
    mass: tuple[float, float]

    def angle(self, side: int, kappa: FloatArray) -> FloatArray:
        """a(κ) of one end."""
        if math.isinf(self.spring[side]):
            return np.full_like(kappa, 0.5 * np.pi)
        return np.arctan2(self.spring[side] - kappa**2 * self.mass[side], kappa)

    def roots(self, count: int) -> FloatArray:
        """The ``count`` lowest κ, ascending."""
        n = np.arange(count)
        low = np.maximum((n - 1.0) * np.pi, 0.0)
        high = (n + 1.0) * np.pi
        if self.spring == (0.0, 0.0):
            high[0] = 0.0
        # g can be rounded on either side of nπ at the ends of the bracket only where a root sits there
        for _ in range(1100):
            middle = 0.5 * (low + high)
            if not ((low < middle) & (middle < high)).any():
                break
            below = middle - self.angle(0, middle) - self.angle(1, middle) < n * np.pi
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        kappa: FloatArray = 0.5 * (low + high)
        return kappa


@frozen(init=False)
class LineModes(ContinuousModes):
    """Natural modes of a bar, shaft or string; see :class:`ContinuousModes` for the attributes.

    Scaled so that the largest deflection is 1 and positive where it first occurs.
    """

    _line: Line
    _angles: FloatArray

    def __init__(self, line: Line, count: int, *, provenance: Mapping[str, Any] | None = None) -> None:
        kappa = line.roots(count)
        rigid = kappa == 0.0
        angle = np.where(rigid, 0.0, line.angle(0, kappa))
        phase = kappa - angle
        safe = np.where(rigid, 1.0, kappa)
        twice = np.where(rigid, 0.5, (np.sin(2.0 * phase) + np.sin(2.0 * angle)) / (4.0 * safe))
        u = np.array([np.cos(angle), np.cos(phase)])
        u[[math.isinf(k) for k in line.spring]] = 0.0  # not merely 6e-17
        springs = np.array([0.0 if math.isinf(k) else k for k in line.spring])
        moving = np.array([0.0 if math.isinf(k) else m for k, m in zip(line.spring, line.mass, strict=True)])
        mass = 0.5 + twice + moving @ u**2
        stiffness = kappa**2 * (0.5 - twice) + springs @ u**2
        mean = np.where(rigid, 1.0, (np.sin(phase) + np.sin(angle)) / safe) + moving @ u
        scale = 1.0 / _largest(angle, phase, u)
        whole, bend = line.mass_per_length * line.length, line.stiffness / line.length
        assign(
            self, length=line.length, wave_numbers=kappa,
            frequencies=kappa * math.sqrt(line.stiffness / line.mass_per_length) / line.length,
            modal_masses=whole * mass * scale**2, modal_stiffnesses=bend * stiffness * scale**2,
            participation=whole * mean * scale, moving_mass=whole * (1.0 + moving.sum()), normalisation="largest",
            provenance=provenance or {}, _scale=scale, _line=line, _angles=angle,
        )  # fmt: skip

    def slope(self, z: ArrayLike) -> FloatArray:
        """du/dz: strain of a bar, twist per length of a shaft, slope of a string."""
        return self._field(1, z, 1.0 / self.length)

    def force(self, z: ArrayLike) -> FloatArray:
        """k du/dz: axial force, torque, or transverse force, per unit modal coordinate."""
        return self._field(1, z, self._line.stiffness / self.length)

    def _peaks(self) -> FloatArray:
        phase = self.wave_numbers - self._angles
        return _largest(self._angles, phase, np.array([np.cos(self._angles), np.cos(phase)]))

    def _fields(self, z: FloatArray) -> FloatArray:
        phase = self.wave_numbers[:, None] * z - self._angles[:, None]
        return np.stack([np.cos(phase), -self.wave_numbers[:, None] * np.sin(phase)], axis=1)

    def _shortest(self) -> float:
        return float(self.wave_numbers[-1])

    def _mass_per_length(self) -> float:
        return self._line.mass_per_length

    def __repr__(self) -> str:
        return f"LineModes of a body of {self.length:g} m, normalised {self.normalisation!r}\n{self.table()}"


def _largest(angle: FloatArray, phase: FloatArray, ends: FloatArray, beyond: float = 1e-12) -> FloatArray:
    """Largest deflection with its sign where it first occurs: ±1 at a peak kz - a = nπ, else at an end.

    beyond : distance of a peak beyond an end, in half waves; rounding of a phase of up to 1000 half waves.
    """
    first = np.ceil(-angle / np.pi - beyond)
    peak = first * np.pi <= phase + beyond * np.pi
    at_end = np.where(is_as_large(np.abs(ends[0]), np.abs(ends[1])), ends[0], ends[1])
    return np.where(peak, np.where(first % 2 == 0, 1.0, -1.0), at_end)


@frozen(init=False)
class LineBody:
    """What bars, shafts and strings have in common; make one of those."""

    length: float
    stiffness: float
    mass_per_length: float
    left: End
    right: End
    provenance: Mapping[str, Any]
    _line: Line
    _units: tuple[str, str]

    def _set(
        self, kind: str, length: float, stiffness: float, mass: float, ends: tuple[Any, Any], turning: bool
    ) -> None:
        for what, value in (("length", length), ("stiffness", stiffness), ("mass per length", mass)):
            if not is_number(value) or not math.isfinite(value) or value <= 0.0:
                raise DataError("not-positive", f"{what} of a {kind} must be a positive number, got {value!r}.")
        both = (_end(ends[0], "left", kind, turning), _end(ends[1], "right", kind, turning))
        spring = [end.rotational_spring if turning else end.spring for end in both]
        load = [end.inertia if turning else end.mass for end in both]
        line = Line(
            float(length), float(stiffness), float(mass),
            (spring[0] * length / stiffness, spring[1] * length / stiffness),
            (load[0] / (mass * length), load[1] / (mass * length)),
        )  # fmt: skip
        assign(
            self, length=line.length, stiffness=line.stiffness, mass_per_length=line.mass_per_length, left=both[0],
            right=both[1], _line=line, _units=("rad", "N m") if turning else ("m", "N"),
            provenance={"body": kind, "left": both[0].text(), "right": both[1].text(), "length [m]": line.length},
        )  # fmt: skip

    @property
    def wave_speed(self) -> float:
        """√(k/m) [m/s]."""
        return math.sqrt(self.stiffness / self.mass_per_length)

    def frequencies(self, count: int = 5) -> FloatArray:
        """The ``count`` lowest natural frequencies [rad/s], a rigid-body mode (0) included."""
        return self._line.roots(whole_number("count", count, 1, MOST)) * self.wave_speed / self.length

    def modes(self, count: int = 5, *, normalised: str = "largest") -> LineModes:
        """The ``count`` lowest modes; scaled to ``"largest"`` deflection 1 or unit modal ``"mass"``."""
        count = whole_number("count", count, 1, MOST)
        return LineModes(self._line, count, provenance=self.provenance).normalise(normalised)

    def system(
        self, modes: int = 5, *, forces_at: Any = None, distributed: Any = None, base: bool = False,
        outputs_at: Any = None, quantity: str = "displacement", damping: float | Sequence[float] = 0.0,
    ) -> SecondOrder:  # fmt: skip
        """The body as a SecondOrder in mass-normalised modal coordinates; parameters as for ``Beam.system``.

        Quantities: displacement, velocity, acceleration, absolute acceleration, slope (strain, twist), force (torque).
        """
        return modal_system(
            self.modes(modes), forces_at=forces_at, distributed=distributed, base=base, outputs_at=outputs_at,
            quantity=quantity, damping=damping, units=self._units,
        )  # fmt: skip

    def response(
        self, inputs: Record | Mapping[str, Any], *, times: ArrayLike | None = None, modes: int = 20,
        hold: str = "first", **about: Any,
    ) -> Record:  # fmt: skip
        """Motion from rest by modal superposition, exact for inputs linear between samples; see ``Beam.response``."""
        return self.system(modes, **about).response(inputs, times=times, hold=hold)

    def __repr__(self) -> str:
        ends = f"left {self.provenance['left']}; right {self.provenance['right']}"
        return f"{self.provenance['body']} of {self.length:g} m; {ends}; wave speed {self.wave_speed:.6g} m/s"


def _end(value: Any, side: str, kind: str, turning: bool) -> End:
    if isinstance(value, End):
        other = (value.spring, value.mass) if turning else (value.rotational_spring, value.inertia)
        if not all(number == 0.0 or math.isinf(number) for number in other):
            have = "rotational_spring and inertia" if turning else "spring and mass"
            raise ModelError("not-supported", f"the {side} end of a {kind} can have {have} only, got {value}.")
        return value
    name = str(value).lower()
    name = _OTHER_NAMES.get(name, name)
    if name not in HELD:
        raise ModelError(
            "unknown-name",
            unknown_name("end", str(value), HELD, f"the {side} end of a {kind}"),
            Advice("Or use {}.", Call("da.structures.End")),
        )
    return HELD[name]


def _numbers(kind: str, section: Section | None, stuff: str | Material | None, given: dict[str, float | None]) -> None:
    both = section is not None and stuff is not None
    named = [name for name, value in given.items() if value is not None]
    if (both and named) or (not both and (section is not None or stuff is not None or len(named) < len(given))):
        raise ModelError(
            "conflicting-arguments",
            f"a {kind} is described by a section and a material, or by {' and '.join(given)}, not by a mix.",
        )


@frozen(init=False)
class Bar(LineBody):
    """A uniform straight bar that vibrates along its axis.

    Parameters
    ----------
    length : float [m]
    section, material : or instead
    EA, rhoA : float
        Axial stiffness [N] and mass per length [kg/m].
    left, right : "free", "fixed" or an End with ``spring`` and ``mass``

    Examples
    --------
    >>> Bar(1.0, EA=1.0, rhoA=1.0).frequencies(2).round(6).tolist()
    [1.570796, 4.712389]
    """

    def __init__(
        self, length: float, section: Section | None = None, material: str | Material | None = None, *,
        EA: float | None = None, rhoA: float | None = None, left: str | End = "fixed", right: str | End = "free",
    ) -> None:  # fmt: skip
        _numbers("bar", section, material, {"EA": EA, "rhoA": rhoA})
        if section is not None and material is not None:
            stuff = known_material(material)
            EA, rhoA = stuff.E * section.area, stuff.density * section.area
        assert EA is not None and rhoA is not None
        self._set("bar", length, EA, rhoA, (left, right), turning=False)


@frozen(init=False)
class Shaft(LineBody):
    """A uniform straight shaft that twists about its axis (St Venant torsion).

    Parameters
    ----------
    length : float [m]
    section, material : or instead
    GJ, rhoIp : float
        Torsional stiffness [N m²] and rotary inertia per length [kg m].
    left, right : "free", "fixed" or an End with ``rotational_spring`` and ``inertia``

    Examples
    --------
    >>> Shaft(1.0, GJ=1.0, rhoIp=1.0, left="free", right=End(inertia=1.0)).frequencies(2).round(6).tolist()
    [0.0, 2.028758]
    """

    def __init__(
        self, length: float, section: Section | None = None, material: str | Material | None = None, *,
        GJ: float | None = None, rhoIp: float | None = None, left: str | End = "fixed", right: str | End = "free",
    ) -> None:  # fmt: skip
        _numbers("shaft", section, material, {"GJ": GJ, "rhoIp": rhoIp})
        if section is not None and material is not None:
            stuff = known_material(material)
            GJ, rhoIp = stuff.G * section.J, stuff.density * section.I_p
        assert GJ is not None and rhoIp is not None
        self._set("shaft", length, GJ, rhoIp, (left, right), turning=True)


@frozen(init=False)
class String(LineBody):
    """A string under constant tension, or any other body with m ü = k u″.

    Examples
    --------
    >>> String(0.65, tension=73.0, rhoA=0.0004).frequencies(1).round(1).tolist()
    [2064.8]
    """

    def __init__(
        self, length: float, *, tension: float, rhoA: float, left: str | End = "fixed", right: str | End = "fixed"
    ) -> None:
        self._set("string", length, tension, rhoA, (left, right), turning=False)
