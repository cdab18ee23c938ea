"""Spinning structures: in a frame that turns with them, or a round rotor seen from the ground.

In the turning frame (constant Ω about an axis), with the matrices of the parts T₁ and T₀ of the kinetic energy,

    M ẍ + (C + G) ẋ + (K + K_g - M_g) x = 0 :

G Coriolis and gyroscopic, M_g softening by the spin, K_g stiffening by the tension of the centrifugal load
(K u = f, linear). Beams are integrated slice by slice with their own shape functions (slices of no extent where
rotary inertia is left out), point masses as rigid bodies (`rotating_bodies`), solids from their mass matrix.

Seen from the ground a rotor that is round about its axis has only the gyroscopic matrix of its discs and slices,
G = -(JΩ)×, and whirls at ω_ground = ω_frame ± Ω.

Point masses are the rest of M without the elements. A rigid body at a point has the block
[[m, -m c×], [m c×, J - m (c×)²]]: m, the offset c of its centre and its inertia J about it follow from the block, also
from the part of it that a planar point has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.analysis import prestress
from dalembert.structures.assembly import rotating_bodies as bodies
from dalembert.structures.assembly.element_group import on_points
from dalembert.structures.assembly.structure import Structure, needs_structure, place


@dataclass(frozen=True)
class PointMasses:
    """points (k,), mass (k,), offset (k, 3) and inertia (k, 3, 3) about the centre of each mass.

    ``shared`` is None, or the (np, np) mass matrix of one direction where masses join points (solids).
    """

    points: IntArray
    mass: FloatArray
    offset: FloatArray
    inertia: FloatArray
    shared: sp.csc_array | None = None


@dataclass(frozen=True)
class SpinEffects:
    """G, K = -M_g (N, N) and the centrifugal load f (N,) of a spinning structure; `loads` of each group by number."""

    G: sp.csc_array
    K: sp.csc_array
    f: FloatArray
    loads: Mapping[int, Any]


def spin(
    structure: Structure,
    axis: str | Sequence[float],
    speed: float,
    *,
    centre: Sequence[float] = (0.0, 0.0, 0.0),
    stiffening: bool = True,
    coriolis: bool = True,
    **options: Any,
) -> SecondOrder:
    """A structure that turns at constant speed, in the frame that turns with it.

    Parameters
    ----------
    structure : supported in the turning frame.
    axis : ``"x"``, ``"y"``, ``"z"`` or a vector.  speed : [rad/s].  centre : a point of the axis [m].
    stiffening : False leaves out K_g (the tension of the centrifugal load).
    coriolis : False leaves out G, as classical tables of blade frequencies do.
    **options : inputs, outputs, damping, base: as for :meth:`Structure.system`.

    Examples
    --------
    >>> from dalembert.structures import Frame, Section, assemble_structure
    >>> f = Frame("blade")
    >>> f.add_points(["hub", "tip"], [[0, 0, 0], [1, 0, 0]])
    >>> f.add_beam("blade", "hub", "tip", section=Section.rectangle(0.004, 0.03), material="steel", elements=10)
    >>> f.add_support("hub", "fixed")
    >>> [round(float(spin(assemble_structure(f), "z", w).modes(1).frequencies_hz[0]), 3) for w in (0.0, 60.0)]
    [3.342, 10.691]
    """
    needs_structure("spin", structure)
    spun = find_spin(structure, _vector(axis, speed), place(centre, "centre"))
    K = structure.K + spun.K
    if stiffening and speed != 0:
        K = K + stiffness_under_spin(structure, spun)
    system = structure.system(**options)
    turned = prestress.with_stiffness(structure, K, "turning")
    changes: dict[str, Any] = {"K": turned.reduce(turned.K)}
    if coriolis:
        changes["G"] = _skew(structure.T.T @ spun.G @ structure.T)
    return system.replace(**changes, provenance={**system.provenance, "axis": str(axis), "speed": float(speed)})


def centrifugal_load(
    structure: Structure, axis: str | Sequence[float], speed: float, *, centre: Sequence[float] = (0.0, 0.0, 0.0)
) -> FloatArray:
    """(N,) forces on the points of a structure that turns; a load for :func:`solve_static`."""
    needs_structure("centrifugal_load", structure)
    return find_spin(structure, _vector(axis, speed), place(centre, "centre")).f


def spin_rotor(structure: Structure, axis: str | Sequence[float], speed: float, **options: Any) -> SecondOrder:
    """A spinning rotor on bearings at rest, seen from the ground: the structure's system with its gyroscopic matrix.

    Every mass and every beam turns about ``axis``; all must be round about it (beams along it with I_y = I_z).

    Parameters
    ----------
    axis : ``"x"``, ``"y"``, ``"z"`` or a vector.  speed : [rad/s].
    **options : as for :meth:`Structure.system`.
    """
    needs_structure("spin_rotor", structure)
    missing = [way for way in ("rx", "ry", "rz") if way not in structure.directions]
    rotation = _vector(axis, speed)
    unit = rotation / speed if speed else np.zeros(3)
    G = sp.csc_array(structure.K.shape)
    if missing and "rz" in structure.directions and structure.groups:
        raise DataError(
            "missing-rotations",
            f"a rotor whirls in space; structure {structure.name!r} has no rotations {', '.join(missing)}.",
            Advice("Make its frame with {}.", Argument("planar", False)),
            where={"structure": structure.name},
        )
    for group in structure.groups:
        G = G + group.gyroscopic(unit, speed)
    masses = find_point_masses(structure)
    if len(masses.points):
        bodies.refuse_not_round(masses.inertia, unit[None], f"a mass of structure {structure.name!r}")
        G3 = np.zeros((len(masses.points), 6, 6))
        G3[:, 3:, 3:] = bodies.gyroscopic(masses.inertia, np.tile(rotation, (len(masses.points), 1)))
        G = G + _on_points(structure, masses.points, G3)
    system = structure.system(**options)
    return system.replace(
        G=_skew(structure.T.T @ G @ structure.T),
        provenance={**system.provenance, "speed": float(speed), "rotor": tuple(_vector(axis, 1.0).tolist())},
    )


def find_spin(structure: Structure, rotation: FloatArray, centre: FloatArray) -> SpinEffects:
    """Everything that a rotation (3,) [rad/s] adds, on all coordinates."""
    N, d = len(structure.coordinates), len(structure.directions)
    G, K, f = sp.csc_array((N, N)), sp.csc_array((N, N)), np.zeros(N)
    loads: dict[int, Any] = {}
    for number, group in enumerate(structure.groups):
        effects = group.spin(structure.positions, rotation, centre)
        if effects is not None:
            G, K, f = G + effects.G, K + effects.K, f + effects.f
            loads[number] = effects.loads
    masses = find_point_masses(structure)
    if masses.shared is not None:
        G_s, K_s, f_s = _spin_shared_masses(structure, masses.shared, rotation, centre)
        return SpinEffects(sp.csc_array(G + G_s), sp.csc_array(K + K_s), f + f_s, loads)
    if len(masses.points):
        places = structure.positions[masses.points] + masses.offset - centre
        G6, K6, f6 = bodies.spin_matrices(
            masses.mass, masses.offset, masses.inertia, places, np.tile(rotation, (len(places), 1))
        )
        G, K = G + _on_points(structure, masses.points, G6), K + _on_points(structure, masses.points, K6)
        np.add.at(f.reshape(-1, d), masses.points, f6[:, structure.keep])
    return SpinEffects(sp.csc_array(G), sp.csc_array(K), f, loads)


def stiffness_under_spin(structure: Structure, spun: SpinEffects) -> sp.csc_array:
    """Geometric stiffness of the centrifugal load."""
    prestress.refuse_bare(structure)
    solution = prestress.solve(structure, spun.f)
    total = prestress.link_stiffness(structure, solution.u, spun.f)
    for number, group in enumerate(structure.groups):
        total = total + group.geometric_stiffness(group.spin_state(solution.u, spun.loads.get(number)))
    return total


def _spin_shared_masses(
    structure: Structure, mass: sp.csc_array, spin: FloatArray, centre: FloatArray
) -> tuple[sp.csc_array, sp.csc_array, FloatArray]:
    """G, K, f of points whose masses are shared by the same functions in each direction (solids)."""
    W = bodies.cross_matrix(spin)
    ways = structure.keep
    full = np.zeros((2, 6, 6))
    full[0, :3, :3], full[1, :3, :3] = 2 * W, W @ W
    G, K = (sp.csc_array(sp.kron(mass, block[np.ix_(ways, ways)])) for block in full)
    load = np.zeros((len(structure.points), 6))
    load[:, :3] = -(mass @ ((structure.positions - centre) @ (W @ W)))  # W² is symmetric
    return G, K, load[:, ways].ravel()


def _on_points(structure: Structure, points: Any, blocks: FloatArray) -> sp.csc_array:
    return on_points(len(structure.points), structure.keep, points, blocks)


def _skew(matrix: Any) -> sp.csc_array:
    return sp.csc_array(0.5 * (matrix - matrix.T))


def _vector(axis: str | Sequence[float], speed: float) -> FloatArray:
    if isinstance(axis, str):
        if axis not in ("x", "y", "z"):
            raise DataError("unknown-choice", f"the axis must be 'x', 'y', 'z' or a vector, got {axis!r}.")
        unit = np.eye(3)["xyz".index(axis)]
    else:
        unit = place(axis, "an axis other than 'x', 'y' or 'z'")
        if not unit.any():
            raise DataError("wrong-shape", f"the axis {axis!r} has no length.")
        unit = unit / np.linalg.norm(unit)
    turned: FloatArray = unit * real_number("the speed [rad/s]", speed)
    return turned


def find_point_masses(structure: Structure) -> PointMasses:
    """The point masses of a structure; refuses masses that differ by direction."""
    d = len(structure.directions)
    rest = _rest(structure)
    at = rest.tocoo()
    row, column = at.coords[0] // d, at.coords[1] // d
    empty = PointMasses(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    if not at.nnz:
        return empty
    if (row != column).any():
        return PointMasses(empty.points, empty.mass, empty.offset, empty.inertia, _read_shared_mass(structure, rest))
    points = np.unique(row)
    blocks = np.zeros((len(points), 6, 6))
    keep = np.array(structure.keep)
    place = np.searchsorted(points, row)
    blocks[place, keep[at.coords[0] % d], keep[at.coords[1] % d]] = at.data
    return _bodies(structure, points, blocks, keep)


def _rest(structure: Structure, rounding: float = 1e-11) -> sp.csc_array:
    """M without the elements; exactly zero where rounding is left: about 1e4 additions of 1e-15."""
    M = structure.M
    for group in structure.groups:
        mass = group.own_mass()
        if mass is not None:
            M = M - mass
    at = sp.csc_array(M).tocoo()
    size = np.sqrt(np.abs(structure.M.diagonal()))
    i, j = at.coords
    there = np.abs(at.data) > rounding * size[i] * size[j]
    return sp.csc_array((at.data[there], (i[there], j[there])), shape=M.shape)


def _differs(difference: Any, mass: Any, uneven: float = 1e-9) -> Any:
    """Whether masses differ by direction: far above rounding, far below any difference that is meant."""
    return difference > uneven * mass


def _bodies(structure: Structure, points: Any, blocks: FloatArray, keep: Any) -> PointMasses:
    moving = [way for way in keep if way < 3]
    each = blocks[:, moving, moving]
    mass = each.mean(axis=1)
    uneven = np.flatnonzero(_differs(np.abs(each - mass[:, None]).max(axis=1), np.abs(mass)))
    if len(uneven):
        point = structure.points[points[uneven[0]]]
        raise DataError(
            "uneven-mass",
            f"the mass at point {point!r} of structure {structure.name!r} differs by direction; in a spinning "
            "structure masses must be the same in all directions.",
            where={"point": point, "structure": structure.name},
        )
    offset = np.zeros((len(points), 3))
    for way, sign, i, j in ((0, 1, 1, 5), (1, -1, 0, 5), (0, -1, 2, 4), (2, 1, 0, 4), (1, 1, 2, 3), (2, -1, 1, 3)):
        # m u̇ₓ takes m (θ̇ × c)ₓ, and so on: blocks[way of c, ...] from translation i and rotation j
        arm = sign * blocks[:, i, j] / np.where(mass == 0, 1.0, mass)
        offset[:, way] = np.where(arm != 0, arm, offset[:, way])
    c = bodies.cross_matrix(offset)
    inertia = blocks[:, 3:, 3:] + mass[:, None, None] * (c @ c)
    turning = np.array([way - 3 for way in keep if way > 2], dtype=np.int64)
    about = np.zeros((3, 3), bool)
    about[np.ix_(turning, turning)] = True
    return PointMasses(points, mass, offset, np.where(about, inertia, 0.0))


def _read_shared_mass(structure: Structure, rest: sp.csc_array) -> sp.csc_array:
    """Mass matrix of one direction; all three are the same, and rotations have none."""
    d = len(structure.directions)
    at = rest.tocoo()
    here, there = (coordinates % d for coordinates in at.coords)
    moving = [k for k, way in enumerate(structure.directions) if way in "xyz"]
    each = [sp.csc_array(rest[k::d, k::d]) for k in moving]
    size = abs(rest).max()
    mixed = np.abs(at.data[(here != there) | ~np.isin(here, moving)])
    if any(_differs(gap, size) for gap in (mixed.max(initial=0.0), *(abs(m - each[0]).max() for m in each[1:]))):
        raise DataError(
            "not-supported",
            f"structure {structure.name!r} has masses that join points, beside those of its elements, and differ by "
            "direction or act on rotations: the forces of a spin on them are not known.",
            Advice("Frames and solids can spin."),
            where={"structure": structure.name},
        )
    return each[0]
