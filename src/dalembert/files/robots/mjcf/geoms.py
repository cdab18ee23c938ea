"""Geoms of MJCF: their frames, sizes, masses and pictures.

Masses are those of uniform solids of the given density; a capsule is a cylinder of length l between two half spheres:

    I_z = m_c r²/2 + 2 m_s r²/5 ,     I_x = m_c (3 r² + l²)/12 + m_s (2 r²/5 + 3 r l/8 + l²/4) .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.files.robots import shapes
from dalembert.files.robots.mjcf.assets import MeshAssets, convex_hull
from dalembert.files.robots.mjcf.document import MjcfReader
from dalembert.files.robots.mjcf.frames import POSE, axes_along, read_origin
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model.bodies import CollisionShape

FITTED = "fitted"  # a primitive that MuJoCo fits to a mesh
NO_VOLUME = 1e-12  # of the 3/2 power of the area: a flat mesh, by rounding
DENSITY = 1000.0  # [kg/m³], of MuJoCo
SIZES = {
    "sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3, "mesh": 0, "plane": 0, "hfield": 0, "sdf": 0,
}  # fmt: skip
COLLIDING = ("sphere", "capsule", "cylinder", "box", "plane")  # shapes of contacts with the ground
ALONG = ("capsule", "cylinder", "ellipsoid", "box")  # may be given by two ends
GREY = 0x808080  # colour of geoms without one, which a material replaces
SHOWN = 2  # largest group that MuJoCo shows; collision shapes have higher ones
ATTRIBUTES = (
    "name", "class", "type", "size", "fromto", "mass", "density", "group", "mesh", "contype", "conaffinity", "condim",
    "priority", "material", "rgba", "friction", "solmix", "solref", "solimp", "margin", "gap", "hfield", "fitscale",
    "shellinertia", "user", "fluidshape", "fluidcoef", *POSE,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class SolidMass:
    """Mass [kg], centre [m] and inertia about it [kg m²], in one frame."""

    mass: float
    center: FloatArray
    inertia: FloatArray

    def place_at(self, origin: Origin) -> SolidMass:
        """In the parent of a frame."""
        turned = origin.axes @ self.inertia @ origin.axes.T
        return SolidMass(self.mass, origin.place + origin.axes @ self.center, turned)


def add_masses(parts: list[SolidMass]) -> SolidMass:
    mass = sum(solid.mass for solid in parts)
    if not mass > 0:
        return SolidMass(0.0, np.zeros(3), np.zeros((3, 3)))
    center = np.sum([solid.mass * solid.center for solid in parts], axis=0) / mass
    inertia = np.zeros((3, 3))
    for solid in parts:
        d = solid.center - center
        inertia += solid.inertia + solid.mass * (float(d @ d) * np.eye(3) - np.outer(d, d))
    return SolidMass(mass, center, inertia)


def mesh_mass(triangles: FloatArray, mode: str) -> SolidMass | None:
    """Volume and moments of a mesh; area and moments where its inertia is that of a shell.

    A solid is a sum of tetrahedra between its triangles and a point inside. MuJoCo's default ("legacy") takes all their
    volumes as positive, from the mean of the faces, and again from the centre of mass.
    """
    a, b, c = np.moveaxis(triangles, 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    if not area.sum() > 0:
        return None
    mean = area @ (a + b + c) / 3 / area.sum()
    if mode == "shell":
        weight, center, total = area, mean, float(area.sum())
    else:
        weight = _tetrahedra(triangles - mean, mode)
        if not weight.sum() > NO_VOLUME * area.sum() ** 1.5:
            return None
        center = mean + weight @ (a + b + c - 3 * mean) / 4 / weight.sum()
        weight = _tetrahedra(triangles - center, mode)
        total = float(weight.sum())
    d = triangles - center
    both = np.einsum("nki,nkj->nij", d, d) + np.einsum("ni,nj->nij", d.sum(axis=1), d.sum(axis=1))
    moments = np.einsum("n,nij->ij", weight, both) / (12 if mode == "shell" else 20)
    return SolidMass(total, center, np.trace(moments) * np.eye(3) - moments)


def _tetrahedra(triangles: FloatArray, mode: str) -> FloatArray:
    volumes = np.linalg.det(triangles) / 6
    return np.abs(volumes) if mode == "legacy" else np.asarray(volumes)


@dataclass(frozen=True, eq=False)
class Geom:
    """One geom in the frame of its body; `size` as MuJoCo has it: radii and half lengths."""

    node: XmlNode
    kind: str
    size: FloatArray
    origin: Origin
    group: float
    collides: bool
    load: Callable[[], FloatArray | None] = lambda: None  # triangles of a mesh, read when they are needed
    mode: str = "legacy"  # of the inertia of a mesh

    def solid(self, reader: MjcfReader) -> SolidMass:
        """Mass in the frame of the body."""
        unit = self._of_density(reader)
        mass = reader.number(self.node, "mass", -1.0)
        if mass < 0:
            if "mass" in self.node.attributes:
                reader.problem(self.node, "negative", f"mass of <geom> is negative ({mass:g} kg).")
            mass = reader.not_negative(self.node, "density", "<geom>") if "density" in self.node.attributes else DENSITY
            mass = mass * unit.mass
        if reader.flag(self.node, "shellinertia", False):
            reader.note(self.node, "shellinertia of <geom>")
        factor = mass / unit.mass if unit.mass > 0 else 0.0
        return SolidMass(mass, unit.center, factor * unit.inertia).place_at(self.origin)

    def _of_density(self, reader: MjcfReader) -> SolidMass:
        """Volume and its moments, in the geom's own frame."""
        vertices = self.load() if self.kind == "mesh" else None
        if vertices is not None:
            if self.mode == "convex":
                vertices = convex_hull(reader, self.node, np.unique(vertices.reshape(-1, 3), axis=0))
            mass = None if vertices is None else mesh_mass(vertices, self.mode)
            if mass is not None:
                return mass
            problem = "the mesh gives no mass: it encloses no volume. Give the body an <inertial>."
            reader.problem(self.node, "no-volume", problem)
        if self.kind == FITTED:
            problem = "a geom that is fitted to a mesh is not read; give the body an <inertial>."
            reader.problem(self.node, "not-supported", problem)
        s = self.size
        if self.kind == "sphere":
            volume = 4 / 3 * np.pi * s[0] ** 3
            squares = np.full(3, s[0] ** 2 / 5)
        elif self.kind == "ellipsoid":
            volume, squares = 4 / 3 * np.pi * np.prod(s), s**2 / 5
        elif self.kind == "box":
            volume, squares = 8 * np.prod(s), s**2 / 3
        elif self.kind == "cylinder":
            volume = 2 * np.pi * s[0] ** 2 * s[1]
            squares = np.array([s[0] ** 2 / 4, s[0] ** 2 / 4, s[1] ** 2 / 3])
        elif self.kind == "capsule":
            r, length = s[0], 2 * s[1]
            rod, ball = np.pi * r**2 * length, 4 / 3 * np.pi * r**3
            across = rod * (3 * r**2 + length**2) / 12 + ball * (2 * r**2 / 5 + 3 * r * length / 8 + length**2 / 4)
            along = rod * r**2 / 2 + ball * 2 * r**2 / 5
            return SolidMass(rod + ball, np.zeros(3), np.diag([across, across, along]))
        else:
            return SolidMass(0.0, np.zeros(3), np.zeros((3, 3)))
        inertia = volume * (squares.sum() - squares)
        return SolidMass(float(volume), np.zeros(3), np.diag(inertia))

    def shape(self) -> CollisionShape:
        """For contacts with the ground: radii and whole lengths."""
        size = (
            2 * self.size if self.kind == "box" else self.size[:1] if self.kind == "sphere" else self.size * [1, 2, 0]
        )
        axes: Any = tuple(map(tuple, self.origin.axes.tolist()))
        return CollisionShape(self.kind, tuple(size.tolist()), tuple(self.origin.place.tolist()), axes)

    def color(self, reader: MjcfReader) -> tuple[int | None, float]:
        """Colour 0xRRGGBB and opacity: its own, else that of its material."""
        colour, opacity = reader.color(self.node)
        if colour in (None, GREY):
            return reader.materials.get(self.node.attributes.get("material", ""), colour), opacity
        return colour, opacity

    def triangles(self) -> FloatArray | None:
        """Its surface in the frame of the body."""
        s = self.size
        geom = {
            "sphere": lambda: shapes.sphere(s[0]), "ellipsoid": lambda: shapes.ellipsoid(s),
            "box": lambda: shapes.box(2 * s), "cylinder": lambda: shapes.cylinder(s[0], 2 * s[1]),
            "capsule": lambda: shapes.capsule(s[0], 2 * s[1]), "mesh": self.load,
        }.get(self.kind, lambda: None)()  # fmt: skip
        return None if geom is None else np.asarray(geom @ self.origin.axes.T + self.origin.place)


def read_geom(reader: MjcfReader, node: XmlNode, outer: Origin, meshes: MeshAssets) -> Geom | None:
    """A geom with the attributes of its class; `outer` are the frames between it and its body."""
    reader.check_names(node, (), ATTRIBUTES, others=("plugin",))
    kind = reader.word(node, "type", tuple(SIZES), "mesh" if "mesh" in node.attributes and "type" not in node.attributes
                       else "sphere")  # fmt: skip
    group = reader.number(node, "group", 0.0)
    collides = reader.number(node, "contype", 1.0) > 0 or reader.number(node, "conaffinity", 1.0) > 0
    origin, size = read_origin(reader, node), np.zeros(3)
    if kind in ("hfield", "sdf"):
        reader.note(node, f"<geom> of type {kind}", quiet=True)
        return None
    if kind != "mesh" and "mesh" in node.attributes:
        return Geom(node, FITTED, size, outer @ origin, group, collides)
    count = SIZES[kind]
    if "fromto" in node.attributes:
        if kind not in ALONG:
            reader.problem(node, "conflicting-arguments", f"a geom of type {kind} has no fromto.")
            return None
        ends = reader.numbers(node, "fromto", 6)
        way, radius = ends[3:] - ends[:3], _sizes(reader, node, kind, 1)
        half = float(np.linalg.norm(way)) / 2
        if not half > 0:
            reader.problem(node, "zero-length", "fromto of <geom> has no length.")
            return None
        reader.check_length(node, float(np.abs(ends).max()))
        size = np.array([radius[0], half, 0.0] if count == 2 else [radius[0], radius[0], half])
        origin = Origin((ends[:3] + ends[3:]) / 2, axes_along(-way))
    elif count:
        size = np.concatenate([_sizes(reader, node, kind, count), np.zeros(3)])[:3]
    load = (lambda: meshes.triangles(reader, node)) if kind == "mesh" else (lambda: None)
    mode = meshes.inertia(node) if kind == "mesh" else "legacy"
    return Geom(node, kind, size, outer @ origin, group, collides, load, mode)


def _sizes(reader: MjcfReader, node: XmlNode, kind: str, count: int) -> FloatArray:
    size = reader.values(node, "size")
    if size is None or len(size) < count or not (size[:count] > 0).all():
        if size is not None:
            problem = (
                f"a geom of type {kind} needs {count} positive numbers in size, got {node.attributes.get('size')!r}."
            )
            reader.problem(node, "not-positive", problem)
        return np.ones(count)
    reader.check_length(node, float(size[:count].max()))
    return size[:count]
