"""Cross-sections of beams: areas, second moments, torsion constants and shear factors.

Local axes of a beam: x along it, y the height direction of the section, z its width direction, origin at the centroid.

    I_z = ∫ y² dA   (bending in the x-y plane),   I_y = ∫ z² dA   (bending in the x-z plane),
    γ = χ F / (G A)   with χ = shear_y for a force along y, shear_z for one along z; 0 = rigid in shear.

Torsion constants: exact for circles, ellipses, the semicircle and the rectangle (series); Bredt for thin closed walls,
Σ b t³/3 for thin open ones (warping left out). Shear factors: `shear_factors`; where Cowper's table
gives no factor for a force across the web, the flanges carry it as rectangles, χ = χ_rectangle A / A_flanges.
Thin-walled factors take h and b between the middle lines of the walls, areas and second moments the full dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any

from dalembert.core.declare import above_and_below, checked
from dalembert.core.errors import DataError
from dalembert.structures.assembly import shear_factors as shear
from dalembert.structures.assembly.materials import is_number

# Added to the shape of a section that is turned by 90 degrees.
TURNED = " turned"

Poisson = Annotated[float, above_and_below(-1.0, 1.0), "Poisson's ratio"]


@dataclass(frozen=True)
class Section:
    """A cross-section by its properties; the class methods make the usual shapes.

    Parameters
    ----------
    area : float
        [m²]
    I_y, I_z : float
        ∫ z² dA and ∫ y² dA about the centroid [m⁴].
    J : float
        Torsion constant [m⁴]: torque = G J × twist per length.
    shear_y, shear_z : float
        χ for a shear force along y and z; 0 (default) is rigid in shear (Euler-Bernoulli).
    height, width : float, optional
        Extent along y and z [m], for stresses at the extreme fibres.
    fibres_y, fibres_z : (lowest, highest) coordinate from the centroid [m], optional
        ∓ height/2 and ∓ width/2 when left out.
    name : str
    shear_peak_y, shear_peak_z : float, optional
        Largest shear stress of a force along y and z over its mean V/A (1.5 for a rectangle), of a section by
        properties; without it shear stresses are estimated as χ V/A. The usual shapes have their own shear flow.
    shape, dimensions : str, mapping
        How it was made (``"rectangle"``, ``{"height": ..., "width": ...}``); empty for a section by properties.

    Examples
    --------
    >>> plank = Section.rectangle(height=0.03, width=0.02)
    >>> round(plank.I_z * 1e8, 3), round(plank.I_y * 1e8, 3), round(plank.shear_y, 6)
    (4.5, 2.0, 1.176923)
    """

    area: float
    I_y: float
    I_z: float
    J: float
    shear_y: float = 0.0
    shear_z: float = 0.0
    height: float | None = None
    width: float | None = None
    name: str = ""
    fibres_y: tuple[float, float] | None = None
    fibres_z: tuple[float, float] | None = None
    shape: str = ""
    dimensions: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    shear_peak_y: float | None = None
    shear_peak_z: float | None = None

    def __post_init__(self) -> None:
        problems = []
        optional = ("height", "width", "shear_peak_y", "shear_peak_z")
        for what in ("area", "I_y", "I_z", "J", "shear_y", "shear_z", *optional):
            value = getattr(self, what)
            if value is None and what in optional:
                continue
            if not is_number(value) or not math.isfinite(value):
                problems.append(f"{what} must be a finite number, got {value!r}")
            elif value < 0.0 or (value == 0.0 and what == "area"):
                problems.append(f"{what} must {'be positive' if what == 'area' else 'not be negative'}, got {value}")
        if problems:
            raise DataError("bad-section", f"section {self.name or self.shape or ''!r}: {'; '.join(problems)}.")
        for fibres, size in (("fibres_y", self.height), ("fibres_z", self.width)):
            if getattr(self, fibres) is None and size is not None:
                object.__setattr__(self, fibres, (-size / 2.0, size / 2.0))

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "dimensions": dict(self.dimensions)}

    def __setstate__(self, state: dict[str, object]) -> None:
        dimensions = state.pop("dimensions")
        assert isinstance(dimensions, dict)
        self.__dict__.update(state, dimensions=MappingProxyType(dimensions))

    def __hash__(self) -> int:
        return hash((self.area, self.I_y, self.I_z, self.J, self.shear_y, self.shear_z, self.shape, self.name))

    @property
    def I_p(self) -> float:
        """Polar second moment I_y + I_z [m⁴]: rotary inertia about the axis is ρ I_p per length."""
        return self.I_y + self.I_z

    # -- shapes -------------------------------------------------------------------------------------------------------
    @classmethod
    @checked
    def rectangle(cls, height: float, width: float, *, poisson: Poisson = 0.3) -> Section:
        """Solid rectangle."""
        d = _sizes("rectangle", height=height, width=width)
        chi = shear.rectangle(poisson)
        return _make_section(
            cls, "rectangle", d, poisson, area=height * width, I_z=width * height**3 / 12,
            I_y=height * width**3 / 12, J=rectangle_torsion(height, width), shear=(chi, chi),
            height=height, width=width,
        )  # fmt: skip

    @classmethod
    @checked
    def square(cls, side: float, *, poisson: Poisson = 0.3) -> Section:
        """Solid square."""
        return cls.rectangle(side, side, poisson=poisson)

    @classmethod
    @checked
    def circle(cls, diameter: float, *, poisson: Poisson = 0.3) -> Section:
        """Solid circle."""
        d = _sizes("circle", diameter=diameter)
        inertia, chi = math.pi * diameter**4 / 64, shear.circle(poisson)
        return _make_section(
            cls, "circle", d, poisson, area=math.pi * diameter**2 / 4, I_z=inertia, I_y=inertia, J=2 * inertia,
            shear=(chi, chi), height=diameter, width=diameter,
        )  # fmt: skip

    @classmethod
    @checked
    def tube(cls, outer: float, inner: float, *, poisson: Poisson = 0.3) -> Section:
        """Hollow circle of any wall; outer and inner diameter (inner 0 is the solid circle)."""
        d = _sizes("tube", may_be_zero=("inner",), outer=outer, inner=inner)
        if inner >= outer:
            raise DataError(
                "bad-section", f"a tube needs inner < outer diameter, got inner = {inner}, outer = {outer}."
            )
        inertia, chi = math.pi * (outer**4 - inner**4) / 64, shear.hollow_circle((inner / outer) ** 2, poisson)
        return _make_section(
            cls, "tube", d, poisson, area=math.pi * (outer**2 - inner**2) / 4, I_z=inertia, I_y=inertia,
            J=2 * inertia, shear=(chi, chi), height=outer, width=outer,
        )  # fmt: skip

    @classmethod
    @checked
    def thin_tube(cls, diameter: float, thickness: float, *, poisson: Poisson = 0.3) -> Section:
        """Thin-walled round tube by its mean diameter, to first order in the thickness."""
        d = _sizes("thin tube", diameter=diameter, thickness=thickness)
        inertia, chi = math.pi * diameter**3 * thickness / 8, shear.thin_tube(poisson)
        return _make_section(
            cls, "thin_tube", d, poisson, area=math.pi * diameter * thickness, I_z=inertia, I_y=inertia,
            J=2 * inertia, shear=(chi, chi), height=diameter + thickness, width=diameter + thickness,
        )  # fmt: skip

    @classmethod
    @checked
    def thin_square_tube(cls, side: float, thickness: float, *, poisson: Poisson = 0.3) -> Section:
        """Thin-walled square tube by its mean side, to first order in the thickness."""
        d = _sizes("thin square tube", side=side, thickness=thickness)
        inertia, chi = 2 * side**3 * thickness / 3, shear.thin_square_tube(poisson)
        return _make_section(
            cls, "thin_square_tube", d, poisson, area=4 * side * thickness, I_z=inertia, I_y=inertia,
            J=side**3 * thickness, shear=(chi, chi), height=side + thickness, width=side + thickness,
        )  # fmt: skip

    @classmethod
    @checked
    def ellipse(cls, height: float, width: float, *, poisson: Poisson = 0.3) -> Section:
        """Solid ellipse; full axes."""
        d = _sizes("ellipse", height=height, width=width)
        a, b = height / 2, width / 2
        return _make_section(
            cls, "ellipse", d, poisson, area=math.pi * a * b, I_z=math.pi * b * a**3 / 4,
            I_y=math.pi * a * b**3 / 4, J=math.pi * a**3 * b**3 / (a**2 + b**2),
            shear=(shear.ellipse((b / a) ** 2, poisson), shear.ellipse((a / b) ** 2, poisson)),
            height=height, width=width,
        )  # fmt: skip

    @classmethod
    @checked
    def semicircle(cls, diameter: float, *, poisson: Poisson = 0.3) -> Section:
        """Solid semicircle: flat side down along z, axis of symmetry along y.

        The shear centre lies off the centroid, so torsion and a force along z are coupled; that is left out.
        """
        d = _sizes("semicircle", diameter=diameter)
        r = diameter / 2
        centroid = 4 * r / (3 * math.pi)
        return _make_section(
            cls, "semicircle", d, poisson, area=math.pi * r**2 / 2, I_z=(math.pi / 8 - 8 / (9 * math.pi)) * r**4,
            I_y=math.pi * r**4 / 8, J=(math.pi / 2 - 4 / math.pi) * r**4,
            shear=(shear.semicircle(poisson), shear.semicircle_across(poisson)),
            height=r, width=diameter, fibres_y=(-centroid, r - centroid),
        )  # fmt: skip

    @classmethod
    @checked
    def box(
        cls, height: float, width: float, wall: float, flange: float | None = None, *, poisson: Poisson = 0.3
    ) -> Section:
        """Rectangular hollow section by its outer size; ``wall`` thickness of the two vertical walls (along y),
        ``flange`` of the two horizontal ones (the same when left out)."""
        t, f = wall, wall if flange is None else flange
        d = _sizes("box", height=height, width=width, wall=t, flange=f)
        if 2 * t >= width or 2 * f >= height:
            raise DataError(
                "bad-section", f"the walls of the box fill it: height {height}, width {width}, wall {t}, flange {f}."
            )
        hollow_h, hollow_w = height - 2 * f, width - 2 * t
        h, b = height - f, width - t
        return _make_section(
            cls, "box", d, poisson, area=height * width - hollow_h * hollow_w,
            I_z=(width * height**3 - hollow_w * hollow_h**3) / 12,
            I_y=(height * width**3 - hollow_h * hollow_w**3) / 12,
            J=2 * (h * b) ** 2 / (h / t + b / f),
            shear=(shear.box(b * f / (h * t), b / h, poisson), shear.box(h * t / (b * f), h / b, poisson)),
            height=height, width=width,
        )  # fmt: skip

    @classmethod
    @checked
    def square_tube(cls, side: float, wall: float, *, poisson: Poisson = 0.3) -> Section:
        """Square hollow section by its outer side."""
        return cls.box(side, side, wall, poisson=poisson)

    @classmethod
    @checked
    def i_section(cls, height: float, width: float, web: float, flange: float, *, poisson: Poisson = 0.3) -> Section:
        """I (wide-flange) section: overall height and flange width, thickness of web and flanges; web along y."""
        d = _sizes("I-section", height=height, width=width, web=web, flange=flange)
        if web >= width or 2 * flange >= height:
            raise DataError(
                "bad-section", f"web {web} must be below width {width}, and 2 × flange {flange} below height {height}."
            )
        clear, h = height - 2 * flange, height - flange
        area = 2 * width * flange + clear * web
        chi_y = shear.i_section(2 * width * flange / (h * web), width / h, poisson)
        return _make_section(
            cls, "i_section", d, poisson, area=area, I_z=(width * height**3 - (width - web) * clear**3) / 12,
            I_y=(2 * flange * width**3 + clear * web**3) / 12, J=(2 * width * flange**3 + h * web**3) / 3,
            shear=(chi_y, shear.rectangle(poisson) * area / (2 * width * flange)), height=height, width=width,
        )  # fmt: skip

    @classmethod
    @checked
    def t_section(cls, height: float, width: float, web: float, flange: float, *, poisson: Poisson = 0.3) -> Section:
        """T section: flange on top (largest y), web along y; overall height and flange width.

        The shear centre lies in the flange, so torsion and a force along z are coupled; that is left out.
        """
        d = _sizes("T-section", height=height, width=width, web=web, flange=flange)
        if web >= width or flange >= height:
            raise DataError(
                "bad-section", f"web {web} must be below width {width}, and flange {flange} below height {height}."
            )
        clear, h = height - flange, height - flange / 2
        area = width * flange + clear * web
        centroid = (width * flange * h + clear**2 * web / 2) / area  # above the foot of the web
        inertia = width * flange**3 / 12 + width * flange * (h - centroid) ** 2
        inertia += web * clear**3 / 12 + web * clear * (centroid - clear / 2) ** 2
        chi_y = shear.t_section(width * flange / (h * web), width / h, poisson)
        return _make_section(
            cls, "t_section", d, poisson, area=area, I_z=inertia, I_y=(flange * width**3 + clear * web**3) / 12,
            J=(width * flange**3 + h * web**3) / 3,
            shear=(chi_y, shear.rectangle(poisson) * area / (width * flange)),
            height=height, width=width, fibres_y=(-centroid, height - centroid),
        )  # fmt: skip

    @classmethod
    @checked
    def spar(cls, height: float, web: float, flange_area: float, *, poisson: Poisson = 0.3) -> Section:
        """Thin web along y between two concentrated flanges of ``flange_area`` each; rigid in shear along z."""
        d = _sizes("spar", may_be_zero=("flange_area",), height=height, web=web, flange_area=flange_area)
        return _make_section(
            cls, "spar", d, poisson, area=height * web + 2 * flange_area,
            I_z=web * height**3 / 12 + flange_area * height**2 / 2, I_y=height * web**3 / 12, J=height * web**3 / 3,
            shear=(shear.spar(2 * flange_area / (height * web), poisson), 0.0), height=height, width=web,
        )  # fmt: skip

    # -- changes by copy ----------------------------------------------------------------------------------------------
    @checked
    def with_poisson(self, poisson: Poisson) -> Section:
        """The same shape with the shear factors of another Poisson's ratio; a section by properties is unchanged."""
        if not self.shape:
            return self
        return replace(_make(self.shape, self.dimensions, poisson=poisson), name=self.name)

    def without_shear(self) -> Section:
        """The same section, rigid in shear."""
        return replace(self, shear_y=0.0, shear_z=0.0)

    def rotate(self) -> Section:
        """The section turned by 90 degrees about the beam axis: y and z exchanged."""
        return replace(
            self, I_y=self.I_z, I_z=self.I_y, shear_y=self.shear_z, shear_z=self.shear_y, height=self.width,
            width=self.height, fibres_y=self.fibres_z, fibres_z=self.fibres_y, shear_peak_y=self.shear_peak_z,
            shear_peak_z=self.shear_peak_y, **_rotate_shape(self.shape, self.dimensions),
        )  # fmt: skip

    def scale(self, factor: float) -> Section:
        """All lengths times ``factor``."""
        _sizes("scaled section", factor=factor)
        k = factor
        times = {name: value * (k**2 if name == "flange_area" else k) for name, value in self.dimensions.items()}
        return replace(
            self, area=self.area * k**2, I_y=self.I_y * k**4, I_z=self.I_z * k**4, J=self.J * k**4,
            height=None if self.height is None else self.height * k,
            width=None if self.width is None else self.width * k,
            fibres_y=_interpolate(self.fibres_y, self.fibres_y, k, 0.0),
            fibres_z=_interpolate(self.fibres_z, self.fibres_z, k, 0.0),
            dimensions=MappingProxyType(times),
        )  # fmt: skip

    def between(self, other: Section, t: float) -> Section:
        """The section at fraction ``t`` of a taper from this one (t = 0) to ``other`` (t = 1).

        Two sections of one shape: the dimensions vary linearly (so I_z of a rectangle is cubic in its height),
        and so do the shear factors. Otherwise every property varies linearly.
        """
        if not 0.0 <= t <= 1.0:
            raise DataError("out-of-range", f"a place along a taper is a fraction from 0 to 1, got {t}.")
        a, b = 1.0 - t, t
        chi = (a * self.shear_y + b * other.shear_y, a * self.shear_z + b * other.shear_z)
        if self.shape and self.shape == other.shape:
            sizes = {name: a * value + b * other.dimensions[name] for name, value in self.dimensions.items()}
            return replace(_make(self.shape, sizes), name=self.name, shear_y=chi[0], shear_z=chi[1])
        height, width = _blend(self.height, other.height, t), _blend(self.width, other.width, t)
        return Section(
            a * self.area + b * other.area, a * self.I_y + b * other.I_y, a * self.I_z + b * other.I_z,
            a * self.J + b * other.J, chi[0], chi[1], height, width, self.name,
            _interpolate(self.fibres_y, other.fibres_y, a, b), _interpolate(self.fibres_z, other.fibres_z, a, b),
            shear_peak_y=_blend(self.shear_peak_y, other.shear_peak_y, t),
            shear_peak_z=_blend(self.shear_peak_z, other.shear_peak_z, t),
        )  # fmt: skip

    def table(self) -> str:
        """The numbers with their units, one per line."""
        sizes = ", ".join(f"{name} {value:.6g} m" for name, value in self.dimensions.items())
        head = f"{self.name} {self.shape.replace('_', ' ') or 'section'}".strip() + (f" ({sizes})" if sizes else "")
        rows = [("area", self.area, "m²"), ("I_y", self.I_y, "m⁴"), ("I_z", self.I_z, "m⁴"), ("J", self.J, "m⁴"),
                ("shear_y", self.shear_y, ""), ("shear_z", self.shear_z, "")]  # fmt: skip
        return "\n".join([head, *(f"  {what:<8} {value:.6g}  {unit}".rstrip() for what, value, unit in rows)])


def rectangle_torsion(height: float, width: float) -> float:
    """Torsion constant of a solid rectangle, a b³ (1/3 - (64/π⁵)(b/a) Σ tanh(nπa/2b)/n⁵), n odd, b the short side [m⁴].

    Examples
    --------
    >>> round(rectangle_torsion(1.0, 1.0), 7)
    0.140577
    """
    a, b = max(height, width), min(height, width)
    total = sum(math.tanh(n * math.pi * a / (2 * b)) / n**5 for n in range(401, 0, -2))  # the tail is below 1e-13
    return a * b**3 * (1 / 3 - 64 / math.pi**5 * b / a * total)


def _sizes(shape: str, *, may_be_zero: tuple[str, ...] = (), **sizes: float) -> dict[str, float]:
    """The dimensions, every one a positive finite number; all problems in one message."""
    problems = []
    for name, value in sizes.items():
        number = is_number(value) and math.isfinite(value)
        if not number or value < 0.0 or (value == 0.0 and name not in may_be_zero):
            problems.append(f"{name} must be a positive number, got {value!r}")
    if problems:
        raise DataError("bad-section", f"{shape}: {'; '.join(problems)}.")
    return {name: float(value) for name, value in sizes.items()}


def _make_section(
    cls: type[Section],
    shape: str,
    dimensions: dict[str, float],
    poisson: float,
    *,
    area: float,
    I_z: float,
    I_y: float,
    J: float,
    shear: tuple[float, float],
    height: float,
    width: float,
    fibres_y: tuple[float, float] | None = None,
) -> Section:
    if not -1.0 < poisson <= 0.5:
        raise DataError(
            "out-of-range", f"{shape.replace('_', ' ')}: poisson must be above -1 and at most 0.5, got {poisson}."
        )
    return cls(
        area=area, I_y=I_y, I_z=I_z, J=J, shear_y=shear[0], shear_z=shear[1], height=height, width=width,
        fibres_y=fibres_y, shape=shape, dimensions=MappingProxyType(dimensions),
    )  # fmt: skip


def _blend(one: float | None, other: float | None, t: float) -> float | None:
    return None if one is None or other is None else (1.0 - t) * one + t * other


_Fibres = tuple[float, float] | None


def _interpolate(one: _Fibres, other: _Fibres, a: float, b: float) -> _Fibres:
    if one is None or other is None:
        return None
    return (a * one[0] + b * other[0], a * one[1] + b * other[1])


def _rotate_shape(shape: str, sizes: Mapping[str, float]) -> dict[str, Any]:
    """Shape and dimensions of a section turned by 90 degrees."""
    swapped = {"height": "width", "width": "height", **({"wall": "flange", "flange": "wall"} if shape == "box" else {})}
    if shape in ("rectangle", "ellipse", "box"):
        return {"dimensions": MappingProxyType({name: sizes[swapped[name]] for name in sizes})}
    if not shape or shape in ("circle", "tube", "thin_tube", "thin_square_tube"):
        return {}
    return {"shape": shape.removesuffix(TURNED) if shape.endswith(TURNED) else shape + TURNED}


def _make(shape: str, sizes: Mapping[str, float], **options: Any) -> Section:
    """A section by its shape and dimensions."""
    made = _MAKERS[shape.removesuffix(TURNED)](**sizes, **options)
    return made.rotate() if shape.endswith(TURNED) else made


_MAKERS: dict[str, Callable[..., Section]] = {
    "rectangle": Section.rectangle, "circle": Section.circle, "tube": Section.tube, "thin_tube": Section.thin_tube,
    "thin_square_tube": Section.thin_square_tube, "ellipse": Section.ellipse, "semicircle": Section.semicircle,
    "box": Section.box, "i_section": Section.i_section, "t_section": Section.t_section, "spar": Section.spar,
}  # fmt: skip
