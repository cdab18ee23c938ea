"""Stresses over a cross-section, at the points where they can be largest.

    σ = N/A − M_z y/I_z + M_y z/I_y,     σ_v = √(σ² + 3 (τ_V + τ_T)²)

τ_V is the shear flow of the section itself, V Q/(I t) (Jourawski), Q the first moment of the area beyond the cut:

    rectangle   3/2 V/A (1 − (2y/h)²)
    ellipses    4/3 V/A at the neutral axis, along the rim elsewhere; tubes times (R² + R r + r²)/(R² + r²)
    semicircle  V Q/(I b) with its own width b
    thin walls  along each wall from its free end or its axis of symmetry: I, T, box, spar; a force along z on an I or
                T goes through the flanges, on a spar through the web
    properties  ``shear_peak`` V/A where it is given, else χ V/A with the shear factor χ (at least 1): an estimate

τ_T is the largest of torsion in the wall (Bredt; T t/J in open walls) or of the section (Saint-Venant), exact along
the rim of ellipses. Both are added as if they had one direction: on the safe side. σ and τ_V belong to one point.
Without height and width there is no bending stress: NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.structures.assembly.sections import TURNED, Section

ROUND = ("circle", "tube", "thin_tube")
ELLIPTIC = (*ROUND, "ellipse")
# SectionPoints along a line of a section: even steps, ends and middle among them.
STEPS = np.linspace(-1.0, 1.0, 17)
RIM = np.linspace(0.0, 2 * np.pi, 72, endpoint=False)


class SectionPoints(NamedTuple):
    """Points of a section, (n,) or (k, n): y, z [m], shear stress of unit V_y and V_z, two components each, and of T.

    Components of ``along_y`` and ``along_z`` (2, n): both along a wall or rim, or along y and z.
    """

    y: FloatArray
    z: FloatArray
    along_y: FloatArray
    along_z: FloatArray
    torsion: FloatArray


def stresses(section: Section, forces: FloatArray) -> dict[str, FloatArray]:
    """Stresses [Pa] of forces (k, 6): axial, highest, lowest, shear, torsion, von_mises, (k,) each."""
    N, V_y, V_z, T, M_y, M_z = (column[:, None] for column in forces.T)
    at = _rim(section, forces) if section.shape in ELLIPTIC else points(section)
    with np.errstate(divide="ignore", invalid="ignore"):
        bent = np.where(M_y == 0, 0.0, M_y * at.z / section.I_y) - np.where(M_z == 0, 0.0, M_z * at.y / section.I_z)
        torsion = np.where(T == 0, 0.0, np.abs(T) * at.torsion)
    direct = N / section.area + bent
    shear = np.hypot(V_y * at.along_y[0] + V_z * at.along_z[0], V_y * at.along_y[1] + V_z * at.along_z[1])
    mises = np.sqrt(direct**2 + 3 * (shear + torsion) ** 2)
    return {
        "axial": forces[:, 0] / section.area, "highest": direct.max(axis=1), "lowest": direct.min(axis=1),
        "shear": shear.max(axis=1), "torsion": torsion.max(axis=1), "von_mises": mises.max(axis=1),
    }  # fmt: skip


def shear_rule(section: Section) -> str:
    """How the shear stress of a section follows from the shear forces, in a few words."""
    if section.shape:
        return f"V Q/(I t) of the {section.shape.replace('_', ' ')}"
    peaks = (section.shear_peak_y, section.shear_peak_z)
    rules = ["χ V/A (estimate)" if peak is None else f"{peak:g} V/A (given)" for peak in peaks]
    return rules[0] if rules[0] == rules[1] else f"along y {rules[0]}, along z {rules[1]}"


@lru_cache(maxsize=1024)
def points(section: Section) -> SectionPoints:
    """SectionPoints of a section that is no ellipse."""
    kind = section.shape.removesuffix(TURNED)
    if kind != section.shape:
        at = points(section.rotate())
        return SectionPoints(at.z, at.y, at.along_z[::-1], at.along_y[::-1], at.torsion)
    return SHAPES[kind](section) if kind else _by_properties(section)


def _by_properties(section: Section) -> SectionPoints:
    y, z = section.fibres_y or (np.nan, np.nan), section.fibres_z or (np.nan, np.nan)
    corners = np.array([(a, b) for a in y for b in z])
    peaks = [
        max(chi, 1.0) if peak is None else peak
        for chi, peak in ((section.shear_y, section.shear_peak_y), (section.shear_z, section.shear_peak_z))
    ]
    one, none = np.ones(4), np.zeros(4)
    along_y, along_z = np.stack([peaks[0] * one, none]), np.stack([none, peaks[1] * one])
    torsion = one / torsion_modulus(section)
    return SectionPoints(corners[:, 0], corners[:, 1], along_y / section.area, along_z / section.area, torsion)


def _rim(section: Section, forces: FloatArray) -> SectionPoints:
    """Even places on the rim y = a cos t, z = b sin t, with those of the largest bending and shear: (k, n)."""
    V_y, V_z, M_y, M_z = forces[:, [1, 2, 4, 5]].T
    a, b = (section.height or 0.0) / 2, (section.width or 0.0) / 2
    with np.errstate(invalid="ignore"):
        bent = np.arctan2(M_y * b / section.I_y, -M_z * a / section.I_z)
    sheared = np.arctan2(-V_y / a, V_z / b)
    t = np.concatenate([np.broadcast_to(RIM, (len(forces), len(RIM))),
                        np.stack([bent, bent + np.pi, sheared, sheared + np.pi], axis=1)], axis=1)  # fmt: skip
    tangent = np.hypot(a * np.sin(t), b * np.cos(t))
    d, area = section.dimensions, section.area
    R, r = {
        "tube": (d.get("outer", 1.0), d.get("inner", 0.0)),
        "thin_tube": (1.0, 1.0),
    }.get(section.shape, (1.0, 0.0))
    peak = 4 / 3 * (R**2 + R * r + r**2) / (R**2 + r**2) / area
    none = np.zeros_like(t)
    return SectionPoints(
        a * np.cos(t), b * np.sin(t), np.stack([-peak * np.sin(t) * tangent / a, none]),
        np.stack([peak * np.cos(t) * tangent / b, none]), np.hypot(np.cos(t) / a, np.sin(t) / b) * min(a, b)
        / torsion_modulus(section),
    )  # fmt: skip


def _rectangle(section: Section) -> SectionPoints:
    h, b = section.dimensions["height"], section.dimensions["width"]
    y, z = (grid.ravel() for grid in np.meshgrid(STEPS, STEPS, indexing="ij"))
    peak, none = 1.5 / section.area, np.zeros(y.size)
    along_y, along_z = np.stack([peak * (1 - y**2), none]), np.stack([none, peak * (1 - z**2)])
    return SectionPoints(y * h / 2, z * b / 2, along_y, along_z, np.full(y.size, 1 / torsion_modulus(section)))


def _semicircle(section: Section) -> SectionPoints:
    r = section.dimensions["diameter"] / 2
    centroid = 4 * r / (3 * np.pi)
    above, across = (grid.ravel() for grid in np.meshgrid(r * (STEPS + 1) / 2, STEPS, indexing="ij"))
    half = np.sqrt(r**2 - above**2)
    z = across * half
    segment = r**2 * np.arccos(above / r) - above * half  # area beyond the cut
    with np.errstate(invalid="ignore", divide="ignore"):
        flow = (2 / 3 * half**3 - centroid * segment) / (section.I_z * 2 * half)
    along_y = np.stack([np.where(half > 0.0, flow, 0.0), np.zeros(z.size)])
    along_z = np.stack([np.zeros(z.size), (r**2 - z**2) / (3 * section.I_y)])
    return SectionPoints(above - centroid, z, along_y, along_z, np.full(z.size, 1 / torsion_modulus(section)))


def _walls(walls: Sequence[tuple[FloatArray, ...]]) -> SectionPoints:
    """Of walls: y, z, flow of unit V_y and V_z along the wall [1/m], thickness, torsion [1/m³]."""
    columns = []
    for y, z, flow_y, flow_z, thick, torsion in walls:
        one = np.ones(np.broadcast(y, z).shape)
        columns.append(np.stack([y * one, z * one, flow_y / thick * one, flow_z / thick * one, torsion * one]))
    y, z, along_y, along_z, torsion = np.concatenate(columns, axis=1)
    none = np.zeros_like(y)
    return SectionPoints(y, z, np.stack([along_y, none]), np.stack([along_z, none]), torsion)


def _flange(section: Section, outer: float, middle: float, count: int) -> tuple[FloatArray, ...]:
    """One of ``count`` flanges across the web: flow from its tips; V_z as in a rectangle."""
    b, f, web = (section.dimensions[k] for k in ("width", "flange", "web"))
    z = np.concatenate([[0.0], *(side * np.linspace(web / 2, b / 2, 9) for side in (1, -1))])
    flow_y = np.sign(z) * middle * f * (b / 2 - np.abs(z)) / section.I_z
    flow_z = 1.5 / (count * b) * (1 - (2 * z / b) ** 2)
    return (np.full_like(z, outer), z, flow_y, flow_z, f * np.ones(1), f / section.J * np.ones(1))


def _i_section(section: Section) -> SectionPoints:
    h, b, t, f = (section.dimensions[k] for k in ("height", "width", "web", "flange"))
    y = STEPS * (h - 2 * f) / 2
    flow = (b * f * (h - f) / 2 + t * ((h / 2 - f) ** 2 - y**2) / 2) / section.I_z
    web = (y, np.zeros_like(y), flow, np.zeros_like(y), t * np.ones(1), t / section.J * np.ones(1))
    flanges = [_flange(section, side * h / 2, side * (h - f) / 2, 2) for side in (1, -1)]
    return _walls([web, *flanges])


def _t_section(section: Section) -> SectionPoints:
    h, t, f = (section.dimensions[k] for k in ("height", "web", "flange"))
    low, high = section.fibres_y or (0.0, 0.0)
    y = np.sort(np.append(low + (STEPS + 1) / 2 * (h - f), min(0.0, high - f)))
    flow = t * (low**2 - y**2) / 2 / section.I_z  # from the foot of the web; largest at the neutral axis
    foot = [(y, np.full_like(y, side * t / 2), flow, np.zeros_like(y), t * np.ones(1), t / section.J * np.ones(1))
            for side in (1, -1)]  # fmt: skip
    return _walls([*foot, _flange(section, high, high - f / 2, 1)])


def _box(section: Section) -> SectionPoints:
    d = section.dimensions
    if section.shape == "box":
        h, b, t, f = (d[k] for k in ("height", "width", "wall", "flange"))
        inner_h, inner_b, mid_h, mid_b = h - 2 * f, b - 2 * t, h - f, b - t
        outer_h, outer_b = h, b
    else:
        side, t = d["side"], d["thickness"]
        f, h, b, inner_h, inner_b, mid_h, mid_b = t, side, side, side, side, side, side
        outer_h, outer_b = side + t, side + t
    walls, enclosed = [], 2 * mid_h * mid_b
    for side in (1.0, -1.0):
        y, z = STEPS * inner_h / 2, STEPS * inner_b / 2
        web_y = (b / 2 * f * mid_h / 2 + t * ((inner_h / 2) ** 2 - y**2) / 2) / section.I_z
        web_z = y * t * mid_b / 2 / section.I_y
        top_y = z * f * mid_h / 2 / section.I_z
        top_z = (h / 2 * t * mid_b / 2 + f * ((inner_b / 2) ** 2 - z**2) / 2) / section.I_y
        # flow counted along +y and +z: that of the other force turns around at the axis of symmetry
        walls.append((y, np.full_like(y, side * outer_b / 2), web_y, -side * web_z, t * np.ones(1),
                      1 / (enclosed * t) * np.ones(1)))  # fmt: skip
        walls.append((np.full_like(z, side * outer_h / 2), z, -side * top_y, top_z, f * np.ones(1),
                      1 / (enclosed * f) * np.ones(1)))  # fmt: skip
    y, z = outer_h / 2 * np.array([1.0, 1.0, -1.0, -1.0]), outer_b / 2 * np.array([1.0, -1.0, 1.0, -1.0])
    flow_y, flow_z = b / 2 * f * mid_h / 2 / section.I_z, h / 2 * t * mid_b / 2 / section.I_y
    thin = min(t, f) * np.ones(1)
    walls.append((y, z, np.full(4, flow_y), -np.sign(y * z) * flow_z, thin, 1 / (enclosed * thin)))
    return _walls(walls)


def _spar(section: Section) -> SectionPoints:
    h, t, flange = (section.dimensions[k] for k in ("height", "web", "flange_area"))
    y = STEPS * h / 2
    flow = (flange * h / 2 + t * ((h / 2) ** 2 - y**2) / 2) / section.I_z
    across = np.full_like(y, 1.5 / section.dimensions["height"])
    sides = [(y, np.full_like(y, side * t / 2), flow, 0 * across, t * np.ones(1), t / section.J * np.ones(1))
             for side in (1, -1)]  # fmt: skip
    middle = (y, np.zeros_like(y), flow, across, t * np.ones(1), t / section.J * np.ones(1))
    return _walls([*sides, middle])


SHAPES: dict[str, Callable[[Section], SectionPoints]] = {
    "rectangle": _rectangle, "semicircle": _semicircle, "i_section": _i_section, "t_section": _t_section, "box": _box,
    "thin_square_tube": _box, "spar": _spar,
}  # fmt: skip


def torsion_modulus(section: Section) -> float:
    """W_T [m³]: largest shear stress = torque / W_T.

    Exact for circles, tubes, ellipses and rectangles (Saint-Venant's series), Bredt's formula for boxes, J / thickest
    wall for open sections; J / (smaller of height and width) for a section by properties, NaN without them.
    """
    if section.shape.endswith(TURNED):
        return torsion_modulus(section.rotate())
    d = section.dimensions
    if section.shape in ROUND:
        return section.J / (section.height or np.nan) * 2
    if section.shape == "ellipse":
        big, small = sorted((d["height"] / 2, d["width"] / 2), reverse=True)
        return float(np.pi * big * small**2 / 2)
    if section.shape == "rectangle":
        a, b = sorted((d["height"], d["width"]), reverse=True)
        n = np.arange(1, 40, 2)
        # τ = T b/J [1 − 8/π² Σ 1/(n² cosh(nπa/2b))], n odd, in the middle of the longer side
        sum_ = np.sum(1 / (n**2 * np.cosh(np.minimum(n * np.pi * a / (2 * b), 700.0))))
        return float(section.J / (b * (1 - 8 / np.pi**2 * sum_)))
    if section.shape in ("box", "thin_square_tube"):
        if section.shape == "thin_square_tube":
            return 2 * d["side"] ** 2 * d["thickness"]
        return 2 * (d["height"] - d["flange"]) * (d["width"] - d["wall"]) * min(d["wall"], d["flange"])
    walls = [value for key, value in d.items() if key in ("web", "flange", "thickness", "wall")]
    if walls:
        return section.J / max(walls)
    if section.height is None or section.width is None or not min(section.height, section.width):
        return float("nan")
    return section.J / min(section.height, section.width)
