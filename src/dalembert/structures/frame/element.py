"""The elements of a frame: one interface for all kinds, and the registry of kinds.

A kind of element is a class. Its objects describe elements as their user gave them; the frame asks
them through the methods below. An own kind is a dataclass with ``name`` and ``points`` and the mechanics of *one*
element in global axes:

    @dataclass(frozen=True)
    class Cable(FrameElement):
        name: str
        points: tuple[str, str]
        stiffness_per_length: float

        def stiffness_matrix(self, places): ...

    FRAME_ELEMENTS.register("cable", Cable)
    frame.add_element("cable", "guy", ("top", "anchor"), 2e5)        # or frame.add_cable("guy", ...)

The module that registers it is imported by the user, or named by an entry point of the group
``dalembert.frame_elements``. Kinds with many equal elements (beams) override the class method `assemble` instead and
work on arrays.

Places are the positions (n, 3) of the n points [m]; vectors (6 n,) and matrices (6 n, 6 n) go over x y z rx ry rz of
the first point, then of the next. Planar frames use x, y and rz of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import BoolArray, FloatArray, IntArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Finding
from dalembert.core.registry import Registry
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly import rotating_bodies
from dalembert.structures.assembly.element_assembly import Blocks
from dalembert.structures.assembly.element_group import ElementGroup, SpinMatrices, scatter

if TYPE_CHECKING:
    from dalembert.structures.frame.frame import Frame
    from dalembert.structures.frame.numbering import Numbering

Forces = Mapping[str, float]


@dataclass(frozen=True)
class RigidSlices:
    """Mass of an element as k rigid bodies, for a spin.

    shapes : (k, 6, 6 n) motion of each from the coordinates of the points.  mass : (k,) [kg].
    inertia : (k, 3, 3) about their centres [kg m²].  places : (k, 3) of their centres [m].
    """

    shapes: FloatArray
    mass: FloatArray
    inertia: FloatArray
    places: FloatArray


class FrameElement:
    """An element, or a set of equal elements, of a frame."""

    kind: ClassVar[str] = "element"  # word for messages
    carries: ClassVar[bool] = True  # False: it has neither stiffness nor mass, as a rigid link
    takes_loads: ClassVar[bool] = False  # whether loads per length, loads at a place and strains can act on it
    bends: ClassVar[bool] = False  # whether an initial curvature has an effect
    rotates: ClassVar[bool] = True  # whether it resists rotations of its points, or gives them inertia
    loss_factor: Any = 0.0
    name: str
    points: Sequence[str]

    # -- description -------------------------------------------------------------------------------------------------

    def own_names(self) -> Sequence[str]:
        """Names of the elements it describes."""
        return (self.name,)

    @property
    def attached(self) -> Iterable[str]:
        """Names of all points it is attached to."""
        return self.points

    @property
    def rotated(self) -> Iterable[str]:
        """Names of the points on which a moment has an effect because of it."""
        return self.attached if self.rotates else ()

    def references(self) -> Iterable[tuple[str, Iterable[str]]]:
        """Points by the element they belong to, for messages about unknown points."""
        return ((f"{self.kind} {self.name!r}", self.attached),)

    def find_problems(self, frame: Frame) -> list[Finding]:
        """Problems of the element that do not depend on its place."""
        return []

    def find_geometry_problems(
        self, frame: Frame, positions: FloatArray, index: Mapping[str, int], size: float
    ) -> list[Finding]:
        """What is wrong with its place; ``size`` [m] is that of the frame."""
        return []

    @classmethod
    def find_common_problems(cls, elements: Sequence[Any], frame: Frame) -> list[Finding]:
        """Contradictions between the elements of this kind."""
        return []

    def inner_points(self) -> list[str]:
        """Names of points that it adds to the frame, between its ends."""
        return []

    def place_inner(self, index: Mapping[str, int], positions: FloatArray) -> bool:
        """Put its inner points into ``positions`` once its ends have a place; whether some were put."""
        return False

    # -- mechanics of one element, in global axes ----------------------------------------------------------------------

    def stiffness_matrix(self, places: FloatArray) -> FloatArray:
        """(6 n, 6 n) stiffness, symmetric [N/m, N, N m]."""
        return np.zeros((6 * len(places),) * 2)

    def mass_matrix(self, places: FloatArray) -> FloatArray:
        """(6 n, 6 n) mass, symmetric [kg, kg m, kg m²]."""
        return np.zeros((6 * len(places),) * 2)

    def damping_matrix(self, places: FloatArray) -> FloatArray:
        """(6 n, 6 n) viscous damping, symmetric [N s/m, N s, N m s]."""
        return np.zeros((6 * len(places),) * 2)

    def internal_forces(self, places: FloatArray, u: FloatArray) -> Forces:
        """Internal forces by name (N for the tension) that displacements u (6 n,) cause."""
        return {}

    def geometric_stiffness(self, places: FloatArray, forces: Forces) -> FloatArray:
        """(6 n, 6 n) stiffness that internal forces add."""
        return np.zeros((6 * len(places),) * 2)

    def stress(self, forces: Forces) -> float:
        """Largest von Mises stress of internal forces [Pa]; NaN where it is not known."""
        return float("nan")

    def slices(self, places: FloatArray) -> RigidSlices | None:
        """Its mass as rigid bodies; None without mass, or where a spin is not supported."""
        return None

    def curve(self, places: FloatArray, u: FloatArray) -> FloatArray:
        """(k, 3) points of the line that draws it, displaced by u (6 n,)."""
        moved: FloatArray = places + u.reshape(-1, 6)[:, :3]
        return moved

    @classmethod
    def family(cls) -> type[FrameElement]:
        """The class whose `assemble` takes elements of this class, with its own."""
        return cls

    @classmethod
    def assemble(cls, elements: Sequence[Any], model: FrameModel) -> None:
        """Add the elements of this family to the model of a frame."""
        for count in sorted({len(element.points) for element in elements}):
            some = [element for element in elements if len(element.points) == count]
            index = model.numbering.index
            points = np.array([[index[name] for name in element.points] for element in some])
            group = SingleElements(tuple(some), points, model.numbering.positions, model.keep)
            for symbol in ("K", "M", "C"):
                model.blocks[symbol].append(assembly.blocks(points, group.matrices(symbol)))
            loss = np.array([float(element.loss_factor) for element in some])
            if loss.any():
                model.blocks["K_loss"].append(assembly.blocks(points, loss[:, None, None] * group.matrices("K")))
            for element, own in zip(some, points):
                model.touched[own] |= np.array([True] * 3 + [element.rotates] * 3)
            model.groups.append(group)


FRAME_ELEMENTS: Registry[type[FrameElement]] = Registry(
    "frame element", package="dalembert.structures.frame.elements", group="dalembert.frame_elements"
)


@dataclass
class FrameModel:
    """The model of a frame while its elements are assembled.

    keep : which of the six directions the points have.  blocks : by matrix (M, K, C, K_loss).
    touched : (np, 6) directions of points in which something holds them or gives them mass.
    dependent : (N,) coordinates that follow others by ``links``.  released : points with a released end of a beam.
    """

    frame: Frame
    numbering: Numbering
    keep: tuple[int, ...]
    blocks: dict[str, list[Blocks]]
    touched: BoolArray
    dependent: BoolArray
    links: sp.csc_array | None
    groups: list[ElementGroup]
    released: IntArray

    def keep_directions(self, blocks: FloatArray) -> FloatArray:
        """(m, d, d) of (m, 6, 6): the directions the points have."""
        entries: FloatArray = blocks[:, self.keep][:, :, self.keep]
        return entries


@dataclass(frozen=True, eq=False)
class SingleElements(ElementGroup):
    """Elements that give their mechanics one by one; a state is one mapping of internal forces per element."""

    elements: tuple[FrameElement, ...]
    points: IntArray
    positions: FloatArray
    keep: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(element.name for element in self.elements)

    def matrices(self, symbol: str) -> FloatArray:
        """(ne, n d, n d) stiffness (K), mass (M) or damping (C) in the directions the points have."""
        method = {"K": "stiffness_matrix", "M": "mass_matrix", "C": "damping_matrix"}[symbol]
        return self._keep_directions([getattr(e, method)(self._at(k)) for k, e in enumerate(self.elements)])

    def own_stiffness(self) -> sp.csc_array:
        return self._scatter(self.matrices("K"))

    def own_mass(self) -> sp.csc_array | None:
        return self._scatter(self.matrices("M"))

    def state(
        self, u: FloatArray, factors: Mapping[str, float], acceleration: FloatArray | None = None, before: Any = None
    ) -> States:
        full = self._full(u)
        found = tuple(dict(e.internal_forces(self._at(k), full[k])) for k, e in enumerate(self.elements))
        return States(found, before)

    def tension_state(self, tension: Mapping[str, float]) -> States:
        return States(tuple({"N": tension[e.name]} if e.name in tension else {} for e in self.elements))

    def add_states(self, before: States | None, more: States) -> States:
        return more if before is None else States(tuple(_sum(a, b) for a, b in zip(before.forces, more.forces)))

    def geometric_stiffness(self, state: States) -> sp.csc_array:
        each = [e.geometric_stiffness(self._at(k), state.forces[k]) for k, e in enumerate(self.elements)]
        return self._scatter(self._keep_directions(each))

    def forces_of(self, name: str, state: States, *, total: bool) -> Forces:
        return state.of(self.names.index(name), total)

    def stresses_of(self, state: States, stations: int, *, total: bool) -> dict[str, float]:
        return {e.name: e.stress(state.of(k, total)) for k, e in enumerate(self.elements)}

    def spin(self, positions: FloatArray, spin: FloatArray, centre: FloatArray) -> SpinMatrices:
        n = 6 * self.points.shape[1]
        G, K, f = (np.zeros((len(self.elements), *shape)) for shape in ((n, n), (n, n), (n,)))
        for e, some in self.mass_slices():
            k = len(some.mass)
            each = rotating_bodies.spin_matrices(
                some.mass, np.zeros((k, 3)), some.inertia, some.places - centre, np.tile(spin, (k, 1))
            )
            for total, blocks in ((G, each[0]), (K, each[1])):
                total[e] = np.einsum("kri,krs,ksj->ij", some.shapes, blocks, some.shapes)
            f[e] = np.einsum("kr,kri->i", each[2], some.shapes)
        load = np.zeros(len(self.positions) * len(self.keep))
        places = assembly.coordinates(self.points, len(self.keep))
        np.add.at(load, places, f.reshape(len(f), -1, 6)[:, :, self.keep].reshape(len(f), -1))
        return SpinMatrices(
            self._scatter(self._keep_directions(list(G))), self._scatter(self._keep_directions(list(K))), load
        )

    def gyroscopic(self, axis: FloatArray, speed: float) -> sp.csc_array:
        G = np.zeros((len(self.elements), *(6 * self.points.shape[1],) * 2))
        for e, some in self.mass_slices():
            rotating_bodies.refuse_not_round(some.inertia, axis[None], f"element {self.elements[e].name!r}")
            blocks = rotating_bodies.gyroscopic(some.inertia, np.tile(axis * speed, (len(some.mass), 1)))
            G[e] = np.einsum("kri,krs,ksj->ij", some.shapes[:, 3:], blocks, some.shapes[:, 3:])
        return self._scatter(self._keep_directions(list(G)))

    def joined_pairs(self) -> IntArray:
        return self.points if self.points.shape[1] == 2 else self.points[:0, :2]

    def curves(self, positions: FloatArray, u: FloatArray) -> list[FloatArray]:
        full = self._full(u)
        return [e.curve(self._at(k), full[k]) for k, e in enumerate(self.elements)]

    def mass_slices(self) -> Iterable[tuple[int, RigidSlices]]:
        """Elements with mass, by number, as rigid bodies."""
        for k, element in enumerate(self.elements):
            some = element.slices(self._at(k))
            if some is not None:
                yield k, some
            elif np.any(element.mass_matrix(self._at(k))):
                problem = f"{element.kind} {element.name!r} has mass, but no slices for a spin."
                raise DataError("not-supported", problem, where={"element": element.name})

    def _at(self, k: int) -> FloatArray:
        at: FloatArray = self.positions[self.points[k]]
        return at

    def _full(self, u: FloatArray) -> FloatArray:
        """(ne, 6 n) displacements of the points of each element from u (N,)."""
        full = np.zeros((*self.points.shape, 6))
        full[:, :, self.keep] = u.reshape(len(self.positions), len(self.keep))[self.points]
        return full.reshape(len(self.points), -1)

    def _keep_directions(self, matrices: Sequence[FloatArray]) -> FloatArray:
        n = self.points.shape[1]
        columns = [6 * point + way for point in range(n) for way in self.keep]
        array = np.array(matrices, dtype=np.float64).reshape(-1, 6 * n, 6 * n)
        entries: FloatArray = array[:, columns][:, :, columns]
        return entries

    def _scatter(self, matrices: FloatArray) -> sp.csc_array:
        return scatter(
            assembly.coordinates(self.points, len(self.keep)), matrices, len(self.positions) * len(self.keep)
        )


@dataclass(frozen=True)
class States:
    """Internal forces of every element, and those of the prestress before them."""

    forces: tuple[Forces, ...]
    before: States | None = None

    def of(self, number: int, total: bool) -> Forces:
        """Forces of one element, with the prestress if ``total``."""
        own = self.forces[number]
        return own if not total or self.before is None else _sum(self.before.forces[number], own)


def _sum(one: Forces, other: Forces) -> Forces:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in (*one, *(k for k in other if k not in one))}
