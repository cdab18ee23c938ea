"""A solid as its user describes it: a mesh, its materials, supports, interface points and loads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.declare import text
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.model.bodies import vector
from dalembert.structures.assembly import materials
from dalembert.structures.assembly.damping import Damping
from dalembert.structures.assembly.structure import DIRECTIONS
from dalembert.structures.solid.elastic_laws import OrthotropicMaterial, SolidMaterial
from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.meshes import Mesh, Where

_WAY = re.compile(r"r?[xyz]")


@dataclass(frozen=True, eq=False)
class SolidSupport:
    """Points, or an interface, held along some of the directions x y z rx ry rz, displaced by ``values`` (6,)."""

    points: IntArray
    interface: str | None
    ways: tuple[int, ...]
    values: FloatArray


@dataclass(frozen=True, eq=False)
class Interface:
    """A point that moves and turns and represents a set of points: six coordinates, three in the plane."""

    name: str
    points: IntArray
    position: FloatArray
    rigid: bool


@dataclass(frozen=True, eq=False)
class Foundation:
    """Springs spread over faces, ``stiffness`` (3,) [N/m³]."""

    cells: IntArray
    faces: IntArray
    stiffness: FloatArray


@dataclass(frozen=True, eq=False)
class SurfaceLoad:
    """Pressure [Pa] against, or traction (3,) [Pa] on faces."""

    case: str
    cells: IntArray
    faces: IntArray
    pressure: float
    traction: FloatArray


@dataclass(frozen=True, eq=False)
class SolidPointLoad:
    """A force (3,) [N] and moment (3,) [N m] shared by points, or on an interface."""

    case: str
    points: IntArray
    interface: str | None
    force: FloatArray
    moment: FloatArray


class Solid:
    """An elastic body of solid or plane finite elements. Mutable; `da.structures.assemble_structure` makes the model.

    Parameters
    ----------
    name : shown in messages.
    mesh : :class:`Mesh`.
    material : a `Material`, an `OrthotropicMaterial`, the name of one of the library, or a mapping from cell sets of
        the mesh to those (then every cell must be in one of the sets).
    gravity : vector of the gravity field [m/s²]; None for 9.81 along −z (−y in the plane), 0 for none.
    incompatible : bending modes in linear cells. None: yes for ``hex8`` and ``quad4``, which would be far too stiff in
        bending without them. (Linear tetrahedra have no such cure: prefer ``tet10``.)
    quadrature : degree of integration of the stiffness instead of the usual one of the kind; 3 keeps hex20 from
        locking where the material is nearly incompressible (a warning names Poisson's ratios near 0.5).
    plane : of a mesh of plane cells (``quad4``, ``quad8``, ``tri6``): ``"strain"`` for a slice of a long part, held
        along z, ``"stress"`` for a sheet that is free along z. Points then move along x and y, interfaces also turn
        about z; vectors have two components, or three with z = 0.
    thickness : of plane cells [m].

    Points of the mesh are called ``"p0"``, ``"p1"``, ... by their number in the mesh.

    Examples
    --------
    >>> from dalembert.structures import Solid, box_mesh, solve_static, assemble_structure
    >>> bar = Solid("bar", box_mesh((1.0, 0.1, 0.1), (10, 2, 2)), "steel")
    >>> bar.add_support("x=0", "xyz")
    >>> bar.add_interface("tip", "x=1")
    >>> bar.add_force("pull", "tip", (1e6, 0, 0))
    >>> print(f"{solve_static(assemble_structure(bar), 'pull').displacement['tip.x']:.3e} m")
    4.687e-04 m
    """

    def __init__(
        self,
        name: str,
        mesh: Mesh,
        material: SolidMaterial | str | Mapping[str, SolidMaterial | str],
        *,
        gravity: Any = None,
        incompatible: bool | None = None,
        quadrature: int | None = None,
        plane: str | None = None,
        thickness: float | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError("bad-name", f"the name of a solid must be a non-empty text, got {name!r}.")
        if not isinstance(mesh, Mesh):
            raise ModelError(
                "wrong-type", f"solid {name!r} needs a Mesh (box_mesh, read_mesh), got {type(mesh).__name__}."
            )
        self.name, self.mesh = name, mesh
        self.materials, self.material_of_cell = _materials(name, mesh, material)
        self.plane, self.thickness = _plane(name, mesh, plane, thickness)
        self.gravity = (
            np.array([0.0, -9.81, 0.0] if self.plane else [0.0, 0.0, -9.81])
            if gravity is None
            else self._vector(gravity, f"gravity of solid {name!r}")
        )
        has_modes = SOLID_ELEMENTS[mesh.kind].incompatible
        if incompatible and not has_modes:
            raise ModelError(
                "not-supported", f"the mesh of solid {name!r} has {mesh.kind} cells, which have no incompatible modes."
            )
        self.incompatible = has_modes if incompatible is None else bool(incompatible)
        if quadrature is not None and (not isinstance(quadrature, int) or not 1 <= quadrature <= 12):
            raise ModelError(
                "out-of-range", f"quadrature of solid {name!r} must be a degree from 1 to 12, got {quadrature!r}."
            )
        self.quadrature = quadrature
        self.supports: list[SolidSupport] = []
        self.foundations: list[Foundation] = []
        self.interfaces: dict[str, Interface] = {}
        self.surface_loads: list[SurfaceLoad] = []
        self.point_loads: list[SolidPointLoad] = []
        self.damping: Damping | None = None

    @property
    def directions(self) -> tuple[str, ...]:
        """Of the points: translations, and with interfaces also rotations, which only these have."""
        if self.plane:
            return ("x", "y", "rz") if self.interfaces else ("x", "y")
        return DIRECTIONS if self.interfaces else DIRECTIONS[:3]

    # -- supports ----------------------------------------------------------------------------------------------------

    def add_support(self, where: Where, directions: str = "xyz", *, values: Any = 0.0) -> None:
        """Hold points or an interface.

        Parameters
        ----------
        where : points, see :meth:`Mesh.select`, or the name of an interface.
        directions : ``"xyz"``, ``"x z"``, for an interface also ``"xyz rx ry rz"``; ``"fixed"`` for all there are.
        values : displacement [m] (and rotation [rad]) along these directions, one for all or one each.
        """
        on_interface = isinstance(where, str) and where in self.interfaces
        known = [way for way in self.directions if on_interface or way[0] != "r"]
        asked = list(known) if directions == "fixed" else _WAY.findall(text("directions", directions))
        if not asked or "".join(asked) != re.sub(r"[\s,]", "", directions if directions != "fixed" else "".join(known)):
            raise ModelError(
                "unknown-choice",
                f"directions of a support of solid {self.name!r} are {' '.join(known)}; got {directions!r}.",
            )
        if any(way not in known for way in asked):
            raise ModelError(
                "not-supported",
                f"points of solid {self.name!r} move along {' '.join(known)}; got {directions!r}, and only interfaces "
                "turn.",
            )
        what = f"values of a support of solid {self.name!r}"
        shifts = [real_number(what, value, ModelError) for value in np.atleast_1d(np.asarray(values, dtype=object))]
        problem = f"{what} must be one number or {len(asked)}, got {values!r}."
        ModelError.when(len(shifts) not in (1, len(asked)), "wrong-shape", problem)
        given = np.broadcast_to(shifts, (len(asked),))
        shift = np.zeros(6)
        ways = tuple(DIRECTIONS.index(way) for way in asked)
        shift[list(ways)] = given
        points = np.zeros(0, dtype=np.intp) if on_interface else self.mesh.select(where)
        self.supports.append(SolidSupport(points, str(where) if on_interface else None, ways, shift))

    def add_foundation(self, where: Where, stiffness: Any) -> None:
        """Springs to the ground spread over faces: [N/m³] along x, y and z (three numbers, or one for all)."""
        cells, faces = self.mesh.faces_at(where)
        one = np.isscalar(stiffness)
        each = [real_number("stiffness", stiffness, ModelError)] * (2 if self.plane else 3) if one else stiffness
        k = self._vector(each, "stiffness [N/m³]")
        if np.any(k < 0.0):
            raise ModelError(
                "negative", f"a foundation of solid {self.name!r} must not have a negative stiffness, got {k.tolist()}."
            )
        self.foundations.append(Foundation(cells, faces, k))

    def add_interface(self, name: str, where: Where, *, position: Any = None, rigid: bool = True) -> None:
        """A point that moves and turns and represents a set of points, for joints and masters.

        Parameters
        ----------
        where : the points that it represents, see :meth:`Mesh.select`; a point can belong to one interface.
        position : [m]; the mean of the points when left out.
        rigid : True: the points follow it as one rigid body. False: it follows their mean translation and rotation
            and leaves them free to deform; a force on it is shared among them.
        """
        if not isinstance(name, str) or not name or "." in name:
            raise ModelError(
                "bad-name", f"the name of an interface must be a non-empty text without a dot, got {name!r}."
            )
        if name in self.interfaces or (name[0] == "p" and name[1:].isdigit()):
            raise ModelError("taken-name", f"the name {name!r} is taken in solid {self.name!r}.")
        points = self.mesh.select(where)
        place = self.mesh.points[points].mean(axis=0) if position is None else self._vector(position, "position [m]")
        self.interfaces[name] = Interface(name, points, place, bool(rigid))

    # -- loads -------------------------------------------------------------------------------------------------------

    def add_pressure(self, name: str, where: Where, pressure: float) -> None:
        """Pressure [Pa] against the faces of the surface at ``where``; positive pushes into the solid."""
        cells, faces = self.mesh.faces_at(where)
        value = real_number("pressure", pressure, ModelError)
        self.surface_loads.append(SurfaceLoad(self._case(name), cells, faces, value, np.zeros(3)))

    def add_traction(self, name: str, where: Where, traction: Any) -> None:
        """Force per area (3,) [Pa] on the faces of the surface at ``where``."""
        cells, faces = self.mesh.faces_at(where)
        pull = self._vector(traction, "traction [Pa]")
        self.surface_loads.append(SurfaceLoad(self._case(name), cells, faces, 0.0, pull))

    def add_force(self, name: str, where: Where, force: Any, *, moment: Any = None) -> None:
        """A force [N] on an interface (with a moment [N m] if wanted), or shared equally by the points at ``where``."""
        on_interface = isinstance(where, str) and where in self.interfaces
        if moment is not None and not on_interface:
            raise ModelError(
                "not-supported", f"a moment needs an interface of solid {self.name!r}; its points do not turn."
            )
        if self.plane and np.isscalar(moment):
            turn = np.array([0.0, 0.0, real_number("moment", moment, ModelError)])
        else:
            turn = np.zeros(3) if moment is None else _vector(moment, "moment [N m]")
        if self.plane and turn[:2].any():
            raise ModelError("not-planar", f"solid {self.name!r} is plane: a moment acts about z, got {moment!r}.")
        points = np.zeros(0, dtype=np.intp) if on_interface else self.mesh.select(where)
        interface = str(where) if on_interface else None
        push = self._vector(force, "force [N]")
        self.point_loads.append(SolidPointLoad(self._case(name), points, interface, push, turn))

    def set_damping(self, damping: Damping | None) -> None:
        """`Rayleigh` or `ModalDamping` of the whole solid."""
        self.damping = damping

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the load cases, gravity apart."""
        named = [load.case for load in self.surface_loads] + [load.case for load in self.point_loads]
        return tuple(dict.fromkeys(named))

    def _vector(self, value: Any, what: str) -> FloatArray:
        """Three numbers; in the plane two are enough, and the third is 0."""
        if self.plane and np.shape(value) == (2,):
            value = [*value, 0.0]
        vector = _vector(value, what)
        if self.plane and vector[2] != 0.0:
            raise ModelError("not-planar", f"solid {self.name!r} is plane: {what} has no z, got {value!r}.")
        return vector

    def _case(self, case: str) -> str:
        if not isinstance(case, str) or not case or case == "gravity":
            raise ModelError(
                "bad-name", f"a load case needs a name other than 'gravity' (made by the solid itself), got {case!r}."
            )
        return case

    def __repr__(self) -> str:
        return f"Solid({self.name!r}: {self.mesh!r}; {', '.join(m.name for m in self.materials)})"


def _plane(name: str, mesh: Mesh, plane: Any, thickness: Any) -> tuple[str | None, float]:
    """State of plane cells and their thickness; None and 1 for solid cells."""
    if SOLID_ELEMENTS[mesh.kind].dimension == 3:
        if plane is not None or thickness is not None:
            raise ModelError(
                "ineffective-argument", f"solid {name!r} has {mesh.kind} cells; plane and thickness are of plane cells."
            )
        return None, 1.0
    if plane not in ("strain", "stress"):
        raise ModelError(
            "unknown-choice", f'solid {name!r} has plane cells: plane must be "strain" or "stress", got {plane!r}.',
            Advice("Give {} for a slice of a long part.", Argument("plane", "strain")),
            Advice("Give {} for a thin sheet.", Argument("plane", "stress")),
        )  # fmt: skip
    if thickness is None:
        problem = f"solid {name!r} has plane cells without a thickness."
        raise ModelError("missing-argument", problem, Advice("Give {} [m].", Argument("thickness")))
    value = real_number("thickness", thickness, ModelError)
    if value <= 0.0:
        raise ModelError("not-positive", f"thickness of solid {name!r} must be above zero [m], got {thickness!r}.")
    return plane, value


def _materials(
    name: str, mesh: Mesh, given: SolidMaterial | str | Mapping[str, SolidMaterial | str]
) -> tuple[tuple[SolidMaterial, ...], IntArray]:
    """Materials and which of them every cell has."""
    if not isinstance(given, Mapping):
        return (_material(given),), np.zeros(len(mesh.cells), dtype=np.intp)
    number = np.full(len(mesh.cells), -1, dtype=np.intp)
    for k, key in enumerate(given):
        if key not in mesh.cell_sets:
            raise ModelError(
                "unknown-name", unknown_name("cell set", key, mesh.cell_sets, f"the mesh of solid {name!r}")
            )
        members = mesh.cell_sets[key]
        if np.any(number[members] >= 0):
            raise ModelError(
                "duplicate", f"cell {members[number[members] >= 0][0]} of solid {name!r} has two materials."
            )
        number[members] = k
    if np.any(number < 0):
        missing = np.flatnonzero(number < 0)
        raise ModelError(
            "no-material", f"{len(missing)} cells of solid {name!r} have no material, first cell {missing[0]}."
        )
    return tuple(_material(material) for material in given.values()), number


def _material(given: Any) -> SolidMaterial:
    return given if isinstance(given, OrthotropicMaterial) else materials.material(given)


def _vector(value: Any, what: str) -> FloatArray:
    if np.isscalar(value) and value == 0:
        return np.zeros(3)
    return np.array(vector(value, 3, what))
