"""Structures that turn: in a frame that turns with them, or a round rotor seen from the ground.

In the turning frame (constant Ω about an axis), with the matrices of the parts T₁ and T₀ of the kinetic energy,

    M ẍ + (C + G) ẋ + (K + K_g - M_g) x = 0 :

G Coriolis and gyroscopic, M_g softening by the spin, K_g stiffening by the tension of the centrifugal load
(K u = f, linear). Beams are integrated slice by slice with their own shape functions (slices of no extent where
rotary inertia is left out), lumps as rigid bodies (`slices`), solids from their mass matrix.

Seen from the ground a rotor that is round about its axis has only the gyroscopic matrix of its discs and slices,
G = -(JΩ)×, and whirls at ω_ground = ω_frame ± Ω.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.analysis import prestress
from dalembert.structures.analysis import spinning_slices as slices
from dalembert.structures.analysis.prestress import finite
from dalembert.structures.assembly.structure import DIRECTIONS, Structure, needs_structure, place
from dalembert.structures.beams import elements
from dalembert.structures.beams import initial_forces as initial
from dalembert.structures.beams.beam_group import BeamGroup
from dalembert.structures.beams.point_masses import lumps_of

# Elements handled at once: some hundred MB at most for the matrices of their slices.
CHUNK = 10_000
# Difference of the two transverse inertias, relative, up to which a body counts as round about its axis.
ROUND = 1e-9


@dataclass(frozen=True)
class Spin:
    """G, K = -M_g (N, N) and the centrifugal load f (N,) of a turning structure."""

    G: sp.csc_array
    K: sp.csc_array
    f: FloatArray
    # per group of beams: f (ne, 12), load along the axis at both ends (ne, 2) [N/m], mean couple (ne, 3) [N m/m]
    element_loads: Mapping[int, tuple[FloatArray, FloatArray, FloatArray]]


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
    >>> from dalembert.structures import Frame, Section, assemble
    >>> f = Frame("blade")
    >>> f.add_points(["hub", "tip"], [[0, 0, 0], [1, 0, 0]])
    >>> f.add_beam("blade", "hub", "tip", section=Section.rectangle(0.004, 0.03), material="steel", elements=10)
    >>> f.add_support("hub", "fixed")
    >>> [round(float(spin(assemble(f), "z", w).modes(1).frequencies_hz[0]), 3) for w in (0.0, 60.0)]
    [3.342, 10.691]
    """
    needs_structure("spin", structure)
    spin = spin_of(structure, _vector(axis, speed), place(centre, "centre"))
    K = structure.K + spin.K
    if stiffening and speed != 0:
        K = K + stiffening_of(structure, spin)
    system = structure.system(**options)
    turned = prestress.with_stiffness(structure, K, "turning")
    changes: dict[str, Any] = {"K": turned.reduced(turned.K)}
    if coriolis:
        changes["G"] = _skew(structure.T.T @ spin.G @ structure.T)
    return system.replace(**changes, provenance={**system.provenance, "axis": str(axis), "speed": float(speed)})


def centrifugal_load(
    structure: Structure, axis: str | Sequence[float], speed: float, *, centre: Sequence[float] = (0.0, 0.0, 0.0)
) -> FloatArray:
    """(N,) forces on the points of a structure that turns; a load for :func:`solve_static`."""
    needs_structure("centrifugal_load", structure)
    return spin_of(structure, _vector(axis, speed), place(centre, "centre")).f


def spin_rotor(structure: Structure, axis: str | Sequence[float], speed: float, **options: Any) -> SecondOrder:
    """A spinning rotor on bearings at rest, seen from the ground: the structure's system with its gyroscopic matrix.

    Every lump and every beam turns about ``axis``; all must be round about it (beams along it with I_y = I_z).

    Parameters
    ----------
    axis : ``"x"``, ``"y"``, ``"z"`` or a vector.  speed : [rad/s].
    **options : as for :meth:`Structure.system`.
    """
    needs_structure("spin_rotor", structure)
    missing = [way for way in ("rx", "ry", "rz") if way not in structure.directions]
    if missing and any(isinstance(group, BeamGroup) for group in structure.groups):
        raise DataError(
            f"a rotor whirls in space; structure {structure.name!r} has no rotations {', '.join(missing)}. Make its "
            "frame without planar=True."
        )
    spin = _vector(axis, speed)
    unit = spin / speed if speed else np.zeros(3)
    G = sp.csc_array(structure.K.shape)
    for group in structure.groups:
        if not isinstance(group, BeamGroup):
            raise DataError(f"structure {structure.name!r} is no frame: only frames of beams and lumps turn as rotors.")
        local = np.zeros((len(group.points), 12, 12))
        for part in _parts(group):
            turned = group.R[part.which] @ unit
            J = part.inertia[..., None] * np.eye(3)
            _refuse_odd(J, turned[:, None, :], f"a beam of structure {structure.name!r}")
            G3 = slices.gyroscopic(J.reshape(-1, 3, 3), np.repeat(turned * speed, J.shape[1], axis=0))
            N = part.shapes[:, :, 3:]
            local[part.which] += np.einsum("egri,egrs,egsj->eij", N, G3.reshape(*J.shape[:2], 3, 3), N, optimize=True)
        G = G + _assembled(group, local)
    lumps = lumps_of(structure)
    if len(lumps.points):
        _refuse_odd(lumps.inertia, unit[None], f"a mass of structure {structure.name!r}")
        G3 = np.zeros((len(lumps.points), 6, 6))
        G3[:, 3:, 3:] = slices.gyroscopic(lumps.inertia, np.tile(spin, (len(lumps.points), 1)))
        G = G + _on_points(structure, lumps.points, G3)
    system = structure.system(**options)
    return system.replace(
        G=_skew(structure.T.T @ G @ structure.T),
        provenance={**system.provenance, "speed": float(speed), "rotor": tuple(_vector(axis, 1.0).tolist())},
    )


def spin_of(structure: Structure, spin: FloatArray, centre: FloatArray) -> Spin:
    """All that the spin adds, on all coordinates."""
    N, d = len(structure.coordinates), len(structure.directions)
    G, K, f = sp.csc_array((N, N)), sp.csc_array((N, N)), np.zeros(N)
    loads: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
    for number, group in enumerate(structure.groups):
        if isinstance(group, BeamGroup):
            G_e, K_e, f_e, axial, couple = _beams(group, structure.positions, spin, centre)
            G, K = G + _assembled(group, G_e), K + _assembled(group, K_e)
            f = f + group.scatter(f_e, group.transform())
            loads[number] = f_e, axial, couple
    lumps = lumps_of(structure)
    if lumps.shared is not None:
        G_s, K_s, f_s = _shared(structure, lumps.shared, spin, centre)
        return Spin(sp.csc_array(G + G_s), sp.csc_array(K + K_s), f + f_s, loads)
    if len(lumps.points):
        places = structure.positions[lumps.points] + lumps.offset - centre
        G6, K6, f6 = slices.spin_matrices(
            lumps.mass, lumps.offset, lumps.inertia, places, np.tile(spin, (len(places), 1))
        )
        G, K = G + _on_points(structure, lumps.points, G6), K + _on_points(structure, lumps.points, K6)
        np.add.at(f.reshape(-1, d), lumps.points, f6[:, _kept(structure)])
    return Spin(sp.csc_array(G), sp.csc_array(K), f, loads)


@dataclass(frozen=True)
class _Part:
    """Slices of some elements: which (ne,), place ξ (g,), shapes (ne, g, 6, 12), mass (ne, g), inertia (ne, g, 3)."""

    which: Any
    xi: FloatArray
    shapes: FloatArray
    mass: FloatArray
    inertia: FloatArray


def _parts(group: BeamGroup) -> Iterator[_Part]:
    """The slices of a group; Gauss points where the mass is consistent, both ends where it is lumped."""
    varying = np.zeros(len(group.points), bool)
    varying[group.tapered_index] = True
    ends = np.array([0.0, 1.0])
    for mask, (xi, weights) in (
        (~group.lumped & ~varying, elements.gauss(4)),
        (group.lumped, (ends, np.array([0.5, 0.5]))),
        (~group.lumped & varying, elements.gauss(12)),
    ):
        for which in np.array_split(np.flatnonzero(mask), max(1, -(-int(mask.sum()) // CHUNK))):
            if not len(which):
                continue
            some = group.pick(which)
            if some.tapered is not None and mask is not group.lumped:
                density = np.stack([some.tapered.at_gauss[name] for name in ("rhoA", "rhoI_p", "rhoI_y", "rhoI_z")], -1)
            else:
                b = some.numbers
                density = np.repeat(np.stack([b.rhoA, b.rhoI_p, b.rhoI_y, b.rhoI_z], -1)[:, None], len(xi), axis=1)
            # slices without rotary inertia of bending have no extent: I_p alone is the inertia of no body
            flat = some.lumped | some.is_bar | ~density[..., 2:].any(axis=(1, 2))
            density[flat, :, 1:] = 0.0
            amount = density * weights[:, None] * some.length[:, None, None]
            yield _Part(which, xi, some.shapes(xi), amount[..., 0], amount[..., 1:])


def _beams(
    group: BeamGroup, positions: FloatArray, spin: FloatArray, centre: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """G, K (ne, 12, 12), f (ne, 12) in local axes, load along the axis at both ends (ne, 2), mean couple (ne, 3)."""
    ne = len(group.points)
    G, K, f, couple = np.zeros((ne, 12, 12)), np.zeros((ne, 12, 12)), np.zeros((ne, 12)), np.zeros((ne, 3))
    start = np.einsum("eij,ej->ei", group.R, positions[group.points[:, 0]] - centre)
    if group.arms is not None:
        start = start + group.arms[:, 0]
    turned = group.R @ spin
    for part in _parts(group):
        e, g = len(part.which), len(part.xi)
        places = np.repeat(start[part.which, None], g, axis=1)
        places[..., 0] += part.xi * group.length[part.which, None]
        J = part.inertia.reshape(e * g, 3)[:, :, None] * np.eye(3)
        G6, K6, f6 = slices.spin_matrices(
            part.mass.ravel(), np.zeros((e * g, 3)), J, places.reshape(-1, 3), np.repeat(turned[part.which], g, axis=0)
        )
        N = part.shapes.reshape(e, g * 6, 12)
        for total, blocks in ((G, G6), (K, K6)):
            weighted = np.matmul(blocks.reshape(e, g, 6, 6), part.shapes).reshape(e, g * 6, 12)
            total[part.which] += np.matmul(N.transpose(0, 2, 1), weighted)
        f[part.which] += np.einsum("egr,egri->ei", f6.reshape(e, g, 6), part.shapes)
        couple[part.which] += f6.reshape(e, g, 6)[:, :, 3:].sum(axis=1) / group.length[part.which, None]
    pull = (turned**2).sum(1)[:, None] * np.eye(3)[0] - turned[:, :1] * turned  # row of -A = Ω² - ΩΩᵀ along the axis
    first = (pull * start).sum(1)
    axial = group.mass_per_length() * np.stack([first, first + pull[:, 0] * group.length], axis=1)
    return G, K, f, axial, couple


def stiffening_of(structure: Structure, spin: Spin) -> sp.csc_array:
    """Geometric stiffness of the centrifugal load."""
    solution = prestress.solved(structure, spin.f)
    total = prestress.link_stiffness(structure, solution.u, spin.f)
    for number, group in enumerate(prestress.known_groups(structure)):
        if isinstance(group, BeamGroup):
            f_e, axial, couple = spin.element_loads[number]
            forces = np.einsum("eij,ej->ei", group.stiffness(), group.ends(solution.u, f_e)) - f_e
            total = total + prestress.beam_stiffness(group, initial.from_ends(group, forces, axial, couple))
        else:
            total = total + group.geometric_stiffness(solution.u)
    return total


def _shared(
    structure: Structure, mass: sp.csc_array, spin: FloatArray, centre: FloatArray
) -> tuple[sp.csc_array, sp.csc_array, FloatArray]:
    """G, K, f of points whose masses are shared by the same functions in each direction (solids)."""
    W = slices.cross_matrix(spin)
    ways = [DIRECTIONS.index(way) for way in structure.directions]
    full = np.zeros((2, 6, 6))
    full[0, :3, :3], full[1, :3, :3] = 2 * W, W @ W
    G, K = (sp.csc_array(sp.kron(mass, block[np.ix_(ways, ways)])) for block in full)
    load = np.zeros((len(structure.points), 6))
    load[:, :3] = -(mass @ ((structure.positions - centre) @ (W @ W)))  # W² is symmetric
    return G, K, load[:, ways].ravel()


def _assembled(group: BeamGroup, matrices: FloatArray) -> sp.csc_array:
    """(N, N) sum of element matrices in local axes, symmetric or not."""
    T = group.transform()
    product = np.matmul(T.transpose(0, 2, 1), np.matmul(matrices, T))
    return prestress.scattered(group.coordinates(), product, group.count * len(group.keep))


def _on_points(structure: Structure, points: Any, blocks: FloatArray) -> sp.csc_array:
    return prestress.on_points(len(structure.points), _kept(structure), points, blocks)


def _kept(structure: Structure) -> list[int]:
    return [DIRECTIONS.index(way) for way in structure.directions]


def _skew(matrix: Any) -> sp.csc_array:
    return sp.csc_array(0.5 * (matrix - matrix.T))


def _refuse_odd(inertia: FloatArray, axis: FloatArray, what: str) -> None:
    """Refuse inertias (..., 3, 3) that are not round about ``axis`` (..., 3): from the ground they vary in time."""
    along = np.einsum("...ij,...j->...i", inertia, axis)
    polar = np.einsum("...i,...i->...", along, axis)
    across = 0.5 * (np.einsum("...ii->...", inertia) - polar)
    square = axis[..., :, None] * axis[..., None, :]
    expected = polar[..., None, None] * square + across[..., None, None] * (np.eye(3) - square)
    if axis.any() and np.abs(inertia - expected).max() > ROUND * np.abs(inertia).max():
        raise DataError(f"{what} is not round about the axis of the rotor; use spinning, in the turning frame.")


def _vector(axis: str | Sequence[float], speed: float) -> FloatArray:
    if isinstance(axis, str):
        if axis not in ("x", "y", "z"):
            raise DataError(f"the axis must be 'x', 'y', 'z' or a vector, got {axis!r}.")
        unit = np.eye(3)["xyz".index(axis)]
    else:
        try:
            unit = np.array(axis, dtype=np.float64)
        except (TypeError, ValueError):
            unit = np.zeros(0)
        if unit.shape != (3,) or not np.isfinite(unit).all() or not unit.any():
            raise DataError(f"the axis must be 'x', 'y', 'z' or a vector of three numbers, got {axis!r}.")
        unit = unit / np.linalg.norm(unit)
    turned: FloatArray = unit * finite(speed, "the speed [rad/s]")
    return turned
