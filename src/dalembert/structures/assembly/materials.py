"""Isotropic elastic materials and a small library of round handbook values.

    G = E / (2 (1 + ν))   unless it is given (wood, composites along one direction).

The library values are round figures for a first model: E and density of a real alloy differ by a few per cent.
Loss factors in the library are zero, because a model with hysteretic damping has fewer uses
(frequency response and modes only); give one with ``dataclasses.replace(material("steel"), loss_factor=0.001)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Call


def is_number(value: object) -> bool:
    """Whether a value is a real number, of Python or NumPy, and no bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class Material:
    """What an elastic part is made of.

    Parameters
    ----------
    name : str
    E : float
        Young's modulus [Pa].
    density : float
        [kg/m³]; 0 for a part without mass.
    poisson : float
        Poisson's ratio, between -1 and 0.5.
    G : float, optional
        Shear modulus [Pa]; E / 2 / (1 + poisson) when left out.
    loss_factor : float
        Imaginary over real part of the stiffness (hysteretic damping).
    yield_stress : float, optional
        [Pa]

    Examples
    --------
    >>> Material("alloy", E=70e9, density=2700.0, poisson=0.25).G
    28000000000.0
    """

    name: str
    E: float
    density: float
    poisson: float = 0.3
    G: float = None  # type: ignore[assignment]  # filled in below: a Material always has a number here
    loss_factor: float = 0.0
    yield_stress: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DataError("bad-name", f"the name of a material must be a non-empty string, got {self.name!r}.")
        problems = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "name" or (value is None and field.name in ("G", "yield_stress")):
                continue
            if not is_number(value) or not math.isfinite(value):
                problems.append(f"{field.name} must be a finite number, got {value!r}")
        if not problems:
            problems = self._ranges()
        if problems:
            raise DataError("bad-material", f"material {self.name!r}: {'; '.join(problems)}.")
        given: float | None = self.G
        if given is None:
            object.__setattr__(self, "G", self.E / 2.0 / (1.0 + self.poisson))

    def _ranges(self) -> list[str]:
        problems = []
        if self.E <= 0.0:
            problems.append(f"E must be positive [Pa], got {self.E}")
        if self.density < 0.0:
            problems.append(f"density must not be negative [kg/m³], got {self.density}")
        if not -1.0 < self.poisson <= 0.5:
            problems.append(f"poisson must be above -1 and at most 0.5, got {self.poisson}")
        if self.G is not None and self.G <= 0.0:
            problems.append(f"G must be positive [Pa], got {self.G}")
        if self.loss_factor < 0.0:
            problems.append(f"loss_factor must not be negative, got {self.loss_factor}")
        if self.yield_stress is not None and self.yield_stress <= 0.0:
            problems.append(f"yield_stress must be positive [Pa], got {self.yield_stress}")
        return problems

    def table(self) -> str:
        """The numbers with their units, one per line.

        Examples
        --------
        >>> print(Material("alloy", E=70e9, density=2700.0, poisson=0.25).table())
        alloy
          E            7e+10  Pa
          G            2.8e+10  Pa
          poisson      0.25
          density      2700  kg/m³
        """
        rows = [("E", self.E, "Pa"), ("G", self.G, "Pa"), ("poisson", self.poisson, "")]
        rows.append(("density", self.density, "kg/m³"))
        if self.loss_factor:
            rows.append(("loss factor", self.loss_factor, ""))
        if self.yield_stress is not None:
            rows.append(("yield stress", self.yield_stress, "Pa"))
        return "\n".join([self.name, *(f"  {what:<12} {value:.6g}  {unit}".rstrip() for what, value, unit in rows)])


MATERIALS: dict[str, Material] = {
    entry.name: entry
    for entry in (
        Material("steel", 210e9, 7850.0, 0.30),
        Material("stainless steel", 193e9, 8000.0, 0.30),
        Material("aluminium", 70e9, 2700.0, 0.33),
        Material("titanium", 114e9, 4430.0, 0.34),
        Material("magnesium", 45e9, 1770.0, 0.35),
        Material("copper", 120e9, 8940.0, 0.34),
        Material("brass", 105e9, 8500.0, 0.34),
        Material("bronze", 110e9, 8800.0, 0.34),
        Material("cast iron", 110e9, 7200.0, 0.26),
        Material("tungsten", 400e9, 19300.0, 0.28),
        Material("concrete", 30e9, 2400.0, 0.20),
        Material("glass", 70e9, 2500.0, 0.22),
        Material("acrylic", 3.2e9, 1190.0, 0.37),
        Material("nylon", 2.7e9, 1140.0, 0.40),
        Material("ABS", 2.2e9, 1050.0, 0.37),
        Material("spruce", 11e9, 450.0, 0.37, G=0.69e9),  # along the grain; wood is not isotropic
    )
}
_OTHER_NAMES = {"aluminum": "aluminium", "plexiglass": "acrylic", "pmma": "acrylic", "iron": "cast iron"}


def material(name: str | Material) -> Material:
    """A material of the library by name, or the given one itself.

    Examples
    --------
    >>> material("steel").E
    210000000000.0
    """
    if isinstance(name, Material):
        return name
    if not isinstance(name, str):
        raise ModelError("wrong-type", f"a material is a Material or the name of one, got {type(name).__name__}.")
    by_lower = {key.lower(): key for key in MATERIALS}
    key = name.strip().lower().replace("_", " ")
    key = _OTHER_NAMES.get(key, key)
    if key not in by_lower:
        raise ModelError(
            "unknown-name",
            unknown_name("material", name, MATERIALS, "the library"),
            Advice("Or make one with {}.", Call("da.structures.Material")),
            where={"material": name},
        )
    return MATERIALS[by_lower[key]]
