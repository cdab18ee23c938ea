"""Uniform straight beams, exactly (spec 003, C-41 to C-49, C-51, C-52; spec 000, items 23 and 24).

As a continuum operator (C-41), D[u] = f with homogeneous conditions at the ends:

    Euler-Bernoulli:  ρA ü + EI u″″ = f,     M = EI u″,  F = -EI u‴,  φ = u′
    Timoshenko:       ρA ü = (GA/χ)(u″ - φ′) + f,     ρI φ̈ = (GA/χ)(u′ - φ) + EI φ″.

Separation of variables, u = q(z) sin ωt (C-44), leaves an eigenvalue problem in z; its roots β give
ω = (β/l)² √(EI/ρA). The source prints the sign of ω² wrong (trap 15) and takes the first instead of the second
derivative in the modal stiffness (trap 16).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DataError, ModelError, unknown_name
from dalembert.linear.checks import FloatArray, Frozen
from dalembert.structures import ends as end_names
from dalembert.structures import spectrum
from dalembert.structures.beam_modes import BeamModes, Numbers
from dalembert.structures.continuous import checked_count
from dalembert.structures.ends import End
from dalembert.structures.materials import Material
from dalembert.structures.materials import material as known_material
from dalembert.structures.sections import Section
from dalembert.structures.spectrum import Held

# Which of rotary inertia and shear a theory has (spec 003, C-51, P16).
THEORIES = {
    "euler-bernoulli": (False, False),
    "rayleigh": (True, False),
    "shear": (False, True),
    "timoshenko": (True, True),
}

# Motions of a section and the force that belongs to each (C-42, Table B.1), with this package's beam axis x.
BEHAVIOURS = (
    ("axial", ("x",), ("Fx",)),
    ("torsion", ("rx",), ("Mx",)),
    ("bending in x-y", ("y", "rz"), ("Fy", "Mz")),
    ("bending in x-z", ("z", "ry"), ("Fz", "My")),
)


class Beam(Frozen):
    """A uniform straight beam between two ends, bending in one plane; frozen.

    Parameters
    ----------
    length : float [m]
    section, material : Section and Material (or the name of one), or instead
    EI, rhoA : float
        Bending stiffness [N m²] and mass per length [kg/m].
    GA, rhoI : float, optional
        With ``EI, rhoA`` and a theory that needs them: shear stiffness GA/χ [N], rotary inertia ρI per length [kg m].
    left, right : "free", "clamped", "supported", "guided" or an End
    theory : "euler-bernoulli", "timoshenko", or one half of it: "rayleigh" (rotary inertia), "shear"
    direction : "y" or "z"
        Local axis along which a section deflects: "y" bends with I_z and shear_y, "z" with I_y and shear_z.

    Examples
    --------
    >>> beam = Beam(0.5, Section.rectangle(0.002, 0.03), "steel", left="clamped", right=End(mass=0.1))
    >>> beam.frequencies(2).round(2).tolist()
    [25.41, 204.25]
    """

    length: float
    EI: float
    rhoA: float
    GA: float
    rhoI: float
    left: End
    right: End
    theory: str
    direction: str
    section: Section | None
    material: Material | None
    provenance: Mapping[str, Any]
    _held: Held

    def __init__(
        self,
        length: float,
        section: Section | None = None,
        material: str | Material | None = None,
        *,
        EI: float | None = None,
        rhoA: float | None = None,
        GA: float | None = None,
        rhoI: float | None = None,
        left: str | End = "clamped",
        right: str | End = "free",
        theory: str = "euler-bernoulli",
        direction: str = "y",
    ) -> None:
        if theory not in THEORIES:
            raise ModelError(unknown_name("theory", theory, THEORIES, "a beam"))
        if direction not in ("y", "z"):
            raise ModelError(f"a beam deflects along its local 'y' or 'z', got {direction!r}.")
        rotary, shear = THEORIES[theory]
        stuff = None if material is None else known_material(material)
        given = {"EI": EI, "rhoA": rhoA, "GA": GA, "rhoI": rhoI}
        values = _stiffness(section, stuff, given, direction, rotary, shear)
        size = _positive("length", length)
        both = (end_names.end(left, "left"), end_names.end(right, "right"))
        held = _without_dimension(size, values, both, rotary, shear)
        self._freeze(
            length=size, EI=values["EI"], rhoA=values["rhoA"], GA=values["GA"] if shear else math.inf,
            rhoI=values["rhoI"] if rotary else 0.0, left=both[0], right=both[1], theory=theory, direction=direction,
            section=section, material=stuff, _held=held,
            provenance={"beam": theory, "left": both[0].text(), "right": both[1].text(), "length [m]": size},
        )  # fmt: skip

    @property
    def mass(self) -> float:
        """Mass of the beam itself, without what sits on its ends [kg]."""
        return self.rhoA * self.length

    @property
    def slenderness(self) -> float:
        """α = l √(A/I) = length over radius of gyration (C-52); inf where rotary inertia is unknown or left out."""
        if self.section is not None:
            inertia = self.section.I_z if self.direction == "y" else self.section.I_y
            return self.length * math.sqrt(self.section.area / inertia)
        return self.length * math.sqrt(self.rhoA / self.rhoI) if self.rhoI else math.inf

    def frequencies(self, count: int = 5) -> FloatArray:
        """The ``count`` lowest natural frequencies [rad/s], rigid-body modes (0) included."""
        b = spectrum.eigenvalues(checked_count(count), self._held)
        return b**2 * math.sqrt(self.EI / (self.rhoA * self.length**4))

    def modes(self, count: int = 5, *, normalised: str = "largest") -> BeamModes:
        """The ``count`` lowest modes; scaled to ``"largest"`` deflection 1 or unit modal ``"mass"``."""
        numbers = Numbers(self.length, self.EI, self.rhoA)
        modes = BeamModes(self._held, numbers, checked_count(count), provenance=self.provenance)
        return modes.normalised(normalised)

    def table(self) -> str:
        """The beam in a few lines."""
        lines = [
            f"{self.theory} beam of {self.length:g} m; left {self.left.text()}; right {self.right.text()}",
            f"  EI   {self.EI:.6g} N m²",
            f"  ρA   {self.rhoA:.6g} kg/m",
        ]
        if self.rhoI:
            lines.append(f"  ρI   {self.rhoI:.6g} kg m")
        if not math.isinf(self.GA):
            lines.append(f"  GA/χ {self.GA:.6g} N")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


def _positive(what: str, value: Any) -> float:
    number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0.0:
        raise DataError(f"{what} of a beam must be a positive number, got {value!r}.")
    return float(value)


def _stiffness(
    section: Section | None, stuff: Material | None, given: Mapping[str, float | None], direction: str, rotary: bool,
    shear: bool,
) -> dict[str, float]:  # fmt: skip
    """EI, rhoA, rhoI, GA/χ from a section and a material, or as given."""
    named = [name for name, value in given.items() if value is not None]
    if section is not None or stuff is not None:
        if section is None or stuff is None or named:
            raise ModelError(
                "a beam is described by a section and a material, or by EI and rhoA (with rhoI, GA), not by a mix; "
                f"got section {section!r}, material {stuff!r}, and {', '.join(named) or 'no numbers'}."
            )
        along_y = direction == "y"
        inertia, chi = (section.I_z, section.shear_y) if along_y else (section.I_y, section.shear_z)
        if stuff.density <= 0.0:
            raise DataError(f"material {stuff.name!r} has no density; a continuous beam needs mass.")
        return {
            "EI": _positive("E I", stuff.E * inertia), "rhoA": stuff.density * section.area,
            "rhoI": stuff.density * inertia, "GA": stuff.G * section.area / chi if chi else math.inf,
        }  # fmt: skip
    needed = ["EI", "rhoA"] + ["rhoI"] * rotary + ["GA"] * shear
    missing = [name for name in needed if given[name] is None]
    if missing:
        raise ModelError(f"this beam needs {', '.join(missing)}: give a section and a material, or these numbers.")
    values = {name: _positive(name, value) for name, value in given.items() if value is not None}
    return {"rhoI": 0.0, "GA": math.inf, **values}


def _without_dimension(
    length: float, values: Mapping[str, float], both: tuple[End, End], rotary: bool, shear: bool
) -> Held:
    EI, rhoA = values["EI"], values["rhoA"]
    left, right = both
    mass, bend = rhoA * length, EI / length**3
    return Held(
        r2=values["rhoI"] / (rhoA * length**2) if rotary else 0.0,
        s2=EI / (values["GA"] * length**2) if shear else 0.0,
        kt=(left.spring / bend, right.spring / bend),
        kr=(left.rotational_spring * length / EI, right.rotational_spring * length / EI),
        mu=(left.mass / mass, right.mass / mass),
        iota=(left.inertia / (mass * length**2), right.inertia / (mass * length**2)),
    )
