"""The finite-element model every producer (frame, solid) makes and every consumer takes.

    u = T x + u₀,      TᵀMT ẍ + TᵀCT ẋ + TᵀKT x = Tᵀ (f − K u₀)

u: all coordinates, x: the free ones, u₀: prescribed displacements of supports.
Supports are deleted rows, rigid links are eliminated exactly; nothing is a penalty.
Base motion a(t) with coordinates relative to the base: f = −M r a, r the rigid motion.
Inputs and outputs on coordinates i:  B = [T_iᵀ, −Tᵀ M r],   y = T_i x,  T_i ẋ,  T_i ẍ  or  T_i ẍ + r_i a.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dalembert.core.arrays import BoolArray, FloatArray, IntArray, assign, frozen, plain_state
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly.element_group import ElementGroup
from dalembert.structures.assembly.structure_channels import (
    Channels,
    build_input_matrix,
    build_output_matrices,
    find_units,
    name_channels,
)

if TYPE_CHECKING:
    from dalembert.linear.modes import Modes
    from dalembert.structures.assembly.damping import Damping
    from dalembert.structures.beams.beam_group import Connectivity

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@frozen(init=False)
class Structure:
    """A finite-element model with its supports: sparse matrices with names; frozen.

    Made by :func:`assemble_structure` from a `Frame` or a `Solid`, or from matrices directly.

    Parameters
    ----------
    name : shown in messages.
    points : names of the points.  positions : (np, 3) [m].
    directions : of every point, out of ``x y z rx ry rz``; coordinate ``"A.x"`` of point ``"A"`` and so on.
    M, K, C, K_loss : (N, N) symmetric, N = np · len(directions)
        Mass, stiffness, viscous damping and the imaginary part of the stiffness (hysteretic damping).
    held : (N,) bool, coordinates held by supports.  prescribed : (N,) their displacements [m, rad].
    links : (N, N), optional
        All coordinates from the independent ones, ``u = links w``: identity rows for independent coordinates,
        the rows of dependent ones name the coordinates they follow (rigid links); zero columns for dependent ones.
    inactive : (N,) bool, optional
        Coordinates that no element touches (rotations of a point of bars): neither free nor held.
    loads : named load cases, each (N,) [N, N m].
    groups : tuple of element groups, for stresses and geometric stiffness.
    damping : `Rayleigh` or `ModalDamping`, added by :meth:`system`.

    Attributes
    ----------
    T : (N, n), all coordinates from the free ones.  free : names of the n free coordinates.
    T_held : (N, nh), all coordinates from the held ones, in their order.
    initial : states of the prestress by group, made by :func:`prestress`; empty without prestress.

    Examples
    --------
    >>> spring = Structure("spring", ["A", "B"], [[0, 0, 0], [1, 0, 0]], ["x"],
    ...                    M=np.diag([0.0, 2.0]), K=[[8, -8], [-8, 8]], held=[True, False])
    >>> spring.modes().frequencies.round(6).tolist()
    [2.0]
    """

    name: str
    points: tuple[str, ...]
    positions: FloatArray
    directions: tuple[str, ...]
    coordinates: tuple[str, ...]
    M: sp.csc_array
    K: sp.csc_array
    C: sp.csc_array
    K_loss: sp.csc_array
    T: sp.csc_array
    T_held: sp.csc_array
    free: tuple[str, ...]
    free_index: IntArray
    held: BoolArray
    inactive: BoolArray
    prescribed: FloatArray
    loads: Mapping[str, FloatArray]
    groups: tuple[ElementGroup, ...]
    initial: tuple[Any, ...]
    damping: Damping | None
    units: Mapping[str, str]
    provenance: Mapping[str, Any]
    has_links: bool

    def __init__(
        self,
        name: str,
        points: Iterable[str],
        positions: ArrayLike,
        directions: Sequence[str],
        M: Any,
        K: Any,
        *,
        C: Any = None,
        K_loss: Any = None,
        held: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        links: Any = None,
        inactive: ArrayLike | None = None,
        loads: Mapping[str, ArrayLike] | None = None,
        groups: Sequence[ElementGroup] = (),
        damping: Damping | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        points_, ways = tuple(points), tuple(directions)
        wrong = [way for way in ways if way not in DIRECTIONS]
        if wrong or not ways or len(set(ways)) != len(ways):
            raise DataError(
                "unknown-choice",
                f"directions of structure {name!r} must be different ones of {DIRECTIONS}, got {ways}.",
            )
        if not points_ or len(set(points_)) != len(points_):
            raise DataError(
                "taken-name", f"structure {name!r} needs points with different names, got {len(points_)} points."
            )
        names = tuple([f"{point}.{way}" for point in points_ for way in ways])
        N = len(names)
        where = np.array(positions, dtype=np.float64)
        if where.shape != (len(points_), 3):
            raise DataError(
                "wrong-shape",
                f"positions of structure {name!r} have shape {where.shape}, expected ({len(points_)}, 3).",
            )
        held_ = _mask("held", held, N)
        inactive_ = _mask("inactive", inactive, N) & ~held_
        shift = np.zeros(N) if prescribed is None else np.array(prescribed, dtype=np.float64)
        if shift.shape != (N,) or not np.all(np.isfinite(shift)):
            raise DataError(
                "wrong-shape", f"prescribed of structure {name!r} must be {N} finite numbers, one per coordinate."
            )
        maps = sp.eye_array(N, format="csc") if links is None else _csc("links", links, N)
        independent = np.ones(N, bool) if links is None else maps.diagonal() != 0
        free = np.flatnonzero(independent & ~held_ & ~inactive_)
        fixed = np.flatnonzero(independent & held_)
        if links is not None:
            slaves = np.flatnonzero(~independent & held_)
            if len(slaves):
                raise DataError(
                    "conflicting-links",
                    f"{names[slaves[0]]} of structure {name!r} follows a rigid link and cannot be held too.",
                )
        T_held = _freeze(maps[:, fixed])
        cases = {case: np.array(load, dtype=np.float64) for case, load in (loads or {}).items()}
        for case, load in cases.items():
            if load.shape != (N,) or not np.all(np.isfinite(load)):
                raise DataError("wrong-shape", f"load case {case!r} of structure {name!r} must be {N} finite numbers.")
            load.setflags(write=False)
        unit = {way: "rad" if way[0] == "r" else "m" for way in ways}
        assign(
            self, name=name, points=points_, positions=where, directions=ways, coordinates=names,
            M=_csc("M", M, N), K=_csc("K", K, N), C=_csc("C", C, N), K_loss=_csc("K_loss", K_loss, N),
            T=_freeze(maps[:, free]), T_held=T_held, free=tuple([names[i] for i in free]), free_index=free,
            held=held_, inactive=inactive_, prescribed=T_held @ shift[fixed], loads=cases, groups=tuple(groups),
            initial=(),
            damping=damping, units={way: unit[way] for way in ways}, provenance=provenance or {},
            has_links=links is not None,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        # cached factors and indices are computed again after unpickling
        return {name: value for name, value in plain_state(self).items() if not name.startswith("_")}

    # -- names -------------------------------------------------------------------------------------------------------

    def index(self, coordinate: str) -> int:
        """Place of ``"A.x"`` among :attr:`coordinates`; an error names the nearest known one."""
        point, _, way = coordinate.rpartition(".") if isinstance(coordinate, str) else ("", "", "")
        if way in self.directions:
            place = self._point_index.get(point)
            if place is not None:
                return place * len(self.directions) + self.directions.index(way)
        raise DataError(
            "unknown-name", unknown_name("coordinate", coordinate, self.coordinates, f"structure {self.name!r}")
        )

    def point(self, name: str) -> int:
        """Place of a point among :attr:`points`."""
        place = self._point_index.get(name)
        if place is None:
            raise DataError("unknown-name", unknown_name("point", name, self.points, f"structure {self.name!r}"))
        return place

    @cached_property
    def _point_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.points)}

    @property
    def keep(self) -> list[int]:
        """Which of the six directions the points have, by number."""
        return [DIRECTIONS.index(way) for way in self.directions]

    def connectivity(self, beam: str) -> Connectivity:
        """Boolean maps from the free coordinates to one beam or bar and its elements."""
        from dalembert.structures.beams.beam_group import connectivity

        return connectivity(self, beam)

    # -- algebra -----------------------------------------------------------------------------------------------------

    def reduce(self, matrix: sp.csc_array) -> sp.csc_array:
        """``Tᵀ A T`` of a symmetric (N, N) matrix, on the free coordinates."""
        if not self.has_links:
            return _freeze(matrix[:, self.free_index][self.free_index, :])
        product = sp.csc_array(self.T.T @ matrix @ self.T)
        return _freeze((product + product.T) * 0.5)  # the product is symmetric to rounding only

    def expand(self, free: ArrayLike, *, prescribed: bool = False) -> FloatArray:
        """All coordinates (N,) or (N, k) from the free ones (n,) or (n, k); ``prescribed=True`` adds u₀."""
        given = np.asarray(free)
        if given.ndim not in (1, 2) or len(given) != len(self.free):
            raise DataError(
                "wrong-shape",
                f"structure {self.name!r} has {len(self.free)} free coordinates, got shape {given.shape}.",
            )
        full: FloatArray = self.T @ given
        if not prescribed:
            return full
        return full + (self.prescribed if full.ndim == 1 else self.prescribed[:, None])

    def rigid_motions(self, about: ArrayLike = (0.0, 0.0, 0.0)) -> FloatArray:
        """(N, m) displacements of the unit rigid-body motions, in the order of x y z rx ry rz.

        Rotations about ``about`` [m]. A planar structure (x, y, rz) has 3, one without turning points still has
        the rotations that its translations allow.
        """
        return rigid_motions(self.positions - place(about, "a place"), self.directions)

    @property
    def rigid_names(self) -> tuple[str, ...]:
        """Directions of the columns of :meth:`rigid_motions`."""
        return rigid_directions(self.directions)

    def mass(self) -> float:
        """Total mass [kg]: the mean over the translations (they differ for direction-dependent point masses)."""
        R = self.rigid_motions()
        moving = [k for k, way in enumerate(self.rigid_names) if way[0] != "r"]
        return float(np.mean([R[:, k] @ (self.M @ R[:, k]) for k in moving])) if moving else 0.0

    def inertia(self, about: ArrayLike = (0.0, 0.0, 0.0)) -> FloatArray:
        """Rigid-body mass matrix ``RᵀMR`` about a point, in the order of :attr:`rigid_names`."""
        R = self.rigid_motions(about)
        matrix: FloatArray = R.T @ (self.M @ R)
        return matrix

    def centre(self) -> FloatArray:
        """Centre of mass (3,) [m], from the static moments in ``RᵀMR``; 0 where no motion determines it."""
        matrix, names, total = self.inertia(), self.rigid_names, self.mass()
        if total <= 0:
            raise DataError("no-mass", f"structure {self.name!r} has no mass, so it has no centre of mass.")
        # a rotation about z moves the mass centre by −y along x and by +x along y, and so on
        moments = (("x", "rz", 1, -1), ("y", "rz", 0, 1), ("z", "rx", 1, 1), ("y", "rx", 2, -1), ("x", "ry", 2, 1),
                   ("z", "ry", 0, -1))  # fmt: skip
        centre = np.zeros(3)
        for along, about, axis, sign in moments:
            if along in names and about in names:
                centre[axis] = sign * matrix[names.index(along), names.index(about)] / total
        return centre

    # -- the linear world --------------------------------------------------------------------------------------------

    def system(
        self,
        *,
        inputs: Channels | None = None,
        outputs: Channels | None = None,
        damping: Damping | None = None,
        base: str | Iterable[str] | None = None,
    ) -> SecondOrder:
        """Second-order system on the free coordinates, with sparse matrices.

        Parameters
        ----------
        inputs : coordinate names: forces [N] and torques [N m] there, called ``"tip.y.force"``, ``"tip.rz.torque"``;
            or a mapping ``{"hammer": "tip.y"}`` of names of your own.
        outputs : coordinate names, alone for the displacement or followed by ``.velocity``, ``.acceleration`` or
            (with ``base``) ``.absolute_acceleration``; or a mapping as above. The free coordinates when left out.
        damping : instead of the damping of the description.
        base : direction(s) of a base excitation: input ``"base.x"`` is the acceleration of the base [m/s²] and all
            displacements are relative to it. Rotations (``"rz"``) turn about the origin.
        """
        from dalembert.structures.assembly.damping import damping_matrix

        if not self.free:
            raise ModelError("empty", f"structure {self.name!r} has no free coordinate: every point is held.")
        M, K = self.reduce(self.M), self.reduce(self.K)
        C = damping_matrix(damping if damping is not None else self.damping, M, K, self.reduce(self.C))
        forces, read = (
            name_channels(inputs, "inputs", self.name),
            name_channels(outputs, "outputs", self.name),
        )
        if base is not None and not np.iterable(base):
            raise DataError(
                "wrong-type", f"base must be directions, got {base!r}.", Advice("Give {}.", Argument("base", "x y"))
            )
        ways = base.split() if isinstance(base, str) else list(base or ())
        B, input_names = build_input_matrix(self, forces, ways)
        optional: dict[str, Any] = {}
        if self.K_loss.nnz:
            optional["K_loss"] = self.reduce(self.K_loss)
        if outputs is not None:
            optional.update(build_output_matrices(self, read, input_names, ways))
        return SecondOrder(
            M, K, C=C, B=B, coordinates=self.free, inputs=input_names,
            units=find_units(self, forces, read, ways),
            provenance={"source": f"structure {self.name!r}", **self.provenance}, **optional,
        )  # fmt: skip

    def modes(self, count: int = 20, **options: Any) -> Modes:
        """The lowest ``count`` modes on the free coordinates: ``system().modes(count)``."""
        most = min(count, len(self.free)) if isinstance(count, (int, np.integer)) else count
        return self.system().modes(most, **options)

    def base_motion(self, way: str) -> FloatArray:
        """(N,) displacement of every coordinate when the base moves by one unit in ``way``."""
        if way not in self.rigid_names:
            raise DataError(
                "unknown-name", unknown_name("direction", way, self.rigid_names, f"structure {self.name!r}")
            )
        column: FloatArray = self.rigid_motions()[:, self.rigid_names.index(way)]
        return column

    def __repr__(self) -> str:
        cases = ", ".join(self.loads) or "none"
        stiffness = self.provenance.get("stiffness", "K")
        return (
            f"Structure({self.name!r}: {len(self.points)} points, {len(self.coordinates)} coordinates, "
            f"{len(self.free)} free, {int(self.held.sum())} held; {self.K.nnz} non-zero in {stiffness}; loads: {cases})"
        )


@singledispatch
def assemble_structure(description: Any, **options: Any) -> Structure:
    """The checked, numbered and assembled model of a description: a `Frame` or a `Solid`."""
    raise ModelError("wrong-type", f"a structure is made of a Frame or a Solid, got {type(description).__name__}.")


def needs_structure(function: str, given: Any) -> None:
    """Refuse anything but a `Structure`, and advise how to make one of a description."""
    if not isinstance(given, Structure):
        kind = type(given).__name__
        advice = [Advice("Use {}.", Call("da.structures.assemble_structure"))] if kind in ("Frame", "Solid") else []
        raise ModelError("wrong-type", f"{function} needs a Structure, got {kind}.", *advice)


def place(given: ArrayLike, what: str) -> FloatArray:
    """(3,) finite numbers."""
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise DataError("wrong-shape", f"{what} must be three finite numbers, got {given!r}.")
    return array


def rigid_directions(directions: Sequence[str]) -> tuple[str, ...]:
    """Rigid motions that points with these directions can make."""
    translations = {way for way in directions if way in "xyz"}
    turns = {"rx": {"y", "z"}, "ry": {"z", "x"}, "rz": {"x", "y"}}
    rotations = {way for way, moved in turns.items() if way in directions or moved <= translations}
    return tuple(way for way in DIRECTIONS if way in translations | rotations)


def rigid_motions(positions: FloatArray, directions: Sequence[str]) -> FloatArray:
    """(N, m) displacements of unit translations and of unit rotations about the origin: u = e × p."""
    ways = rigid_directions(directions)
    columns = np.zeros((len(positions), len(directions), len(ways)))
    for k, motion in enumerate(ways):
        axis = np.zeros(3)
        axis["xyz".index(motion[-1])] = 1.0
        turned = np.cross(axis, positions) if motion[0] == "r" else np.broadcast_to(axis, positions.shape)
        for d, way in enumerate(directions):
            if way[0] == "r":
                columns[:, d, k] = 1.0 if way == motion else 0.0
            else:
                columns[:, d, k] = turned[:, "xyz".index(way)]
    return columns.reshape(len(positions) * len(directions), len(ways))


def _mask(symbol: str, value: ArrayLike | None, size: int) -> BoolArray:
    mask = np.zeros(size, bool) if value is None else np.array(value, dtype=bool)
    if mask.shape != (size,):
        raise DataError("wrong-shape", f"{symbol} has shape {mask.shape}, expected ({size},): one per coordinate.")
    return mask


def _csc(symbol: str, value: Any, size: int) -> sp.csc_array:
    if value is None:
        return _freeze(sp.csc_array((size, size)))
    if not sp.issparse(value):
        value = np.asarray(value, dtype=np.float64)
    if value.shape != (size, size):
        raise DataError(
            "wrong-shape", f"{symbol} has shape {value.shape}, expected ({size}, {size}): one row per coordinate."
        )
    return _freeze(sp.csc_array(value, dtype=np.float64))


def _freeze(matrix: Any) -> sp.csc_array:
    """Canonical csc with read-only numbers."""
    result = sp.csc_array(matrix)
    result.sum_duplicates()
    result.sort_indices()
    result.data.setflags(write=False)
    return result
