"""Modes of a flexible body: its possible deformations, and the connection of its frame to it.

Deformations T (N, r) of a structure with free coordinates x, u = L x:

    clamped          vibration modes with some nodes held
    free             vibration modes of the body that flies, without its rigid motions
    craig-bampton    static shapes of interface nodes (each coordinate moved by one unit, the others held) and vibration
                     modes with all interface nodes held (Hurty 1965, Craig and Bampton 1968)
    static           shapes under unit forces and moments at nodes, in addition to any of these

The motion of the frame must not be among the deformations. With the rigid motions R, B u the motion of the node that
the frame is attached to, B R = 1 for rotations about that node:

    attached     Φ = T − R B T                    no mode moves or turns the node
    mean axis    Φ = T − R (RᵀMR)⁻¹ RᵀM T         no mode has momentum or angular momentum

Last, K V = M V Ω of the small matrices ΦᵀKΦ and ΦᵀMΦ gives modes Φ V of unit mass and diagonal stiffness. Modes of the
same frequency (a round shaft bends alike in all planes) are turned so that each moves along as few axes as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.numerics import ties
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor
from dalembert.structures.assembly.structure import Structure
from dalembert.structures.reduction.kept_modes import KeptModes, ModesKept, choose_modes
from dalembert.structures.reduction.partition import rest
from dalembert.structures.solid.stresses import SolidGroup


@dataclass(frozen=True)
class ElasticModel:
    """A free structure: M, K on its free coordinates and the rigid motions R (N, 6) of all coordinates."""

    structure: Structure
    M: sp.csc_array
    K: sp.csc_array
    M_full: sp.csc_array
    R: FloatArray

    @property
    def held(self) -> bool:
        """Whether supports hold some coordinates in all modes."""
        return bool(self.structure.held.any())


def make_body(structure: Structure, M_full: sp.csc_array, resisted: float = 1e-9) -> ElasticModel:
    """The body of a structure; its stiffness must not resist rigid motions.

    resisted : force relative to the sum of its absolute terms; rounding of K R is about 1e-15.
    """
    R = structure.rigid_motions()
    force, terms = structure.K @ R, abs(structure.K) @ np.abs(R)
    share = np.abs(force).max(axis=0) / np.maximum(terms.max(axis=0), 1e-300)
    stopped = [name for name, size in zip(structure.rigid_names, share) if size > resisted]
    if stopped:
        count = len(structure.rigid_names)
        raise ModelError(
            "few-rigid-modes",
            f"flexible body {structure.name!r} has {count - len(stopped)} rigid motions free of force instead "
            f"of {count}: its stiffness resists {', '.join(stopped)} (force {max(share):.1e} of its terms).",
            Advice("Remove springs to the ground, or correct the stiffness matrix."),
            where={"body": structure.name},
            evidence={"free": count - len(stopped), "due": count, "resisted": share.tolist()},
        )
    return ElasticModel(structure, structure.reduce(M_full), structure.reduce(structure.K), M_full, R)


@dataclass(frozen=True)
class Statics:
    """Static solutions of a body that is held somewhere, from factors that exist already.

    held : free coordinates that are fixed (k,), ascending.  inner : those whose stiffness is factored.
    T : (n, m) static shapes of the others, the masters, which move.  With x = T y + x_inner,

        K_ii x_inner = f_i,       TᵀKT y = Tᵀ f      since TᵀK x_inner = 0.
    """

    held: IntArray
    inner: IntArray
    factor: StiffnessFactor
    T: FloatArray
    condensed: FloatArray

    def solve(self, load: FloatArray) -> FloatArray:
        """(n, k) displacements of the free coordinates under loads (n, k)."""
        x = np.zeros(load.shape)
        x[self.inner] = self.factor.solve(load[self.inner])
        if self.T.shape[1]:
            x += self.T @ np.linalg.solve(self.condensed, self.T.T @ load)
        return x


def hold_statics(body: ElasticModel, held: IntArray) -> Statics:
    """Static solutions with free coordinates ``held`` fixed."""
    n = len(body.structure.free)
    inner = rest(n, held)
    return Statics(np.sort(held), inner, factor_inner(body, inner), np.zeros((n, 0)), np.zeros((0, 0)))


def clamped_modes(
    body: ElasticModel, held: IntArray, modes: ModesKept, up_to: float | None
) -> tuple[FloatArray, Statics | None]:
    """(N, k) vibration modes with free coordinates ``held`` fixed, without rigid motions that these leave."""
    left = _motions_left(body, held).shape[1]
    if not left:
        return fixed_interface_modes(body, held, np.zeros(0, dtype=np.intp), modes, up_to)
    inner = rest(len(body.structure.free), held)
    return _elastic_modes(body, inner, left, modes, up_to), None


def fixed_interface_modes(
    body: ElasticModel, held: IntArray, masters: IntArray, modes: ModesKept, up_to: float | None
) -> tuple[FloatArray, Statics]:
    """(N, m + k) static shapes of the m masters, then vibration modes with masters and held coordinates fixed."""
    n = len(body.structure.free)
    inner = rest(n, np.concatenate([held, masters]))
    M, K = (matrix[:, inner][inner] for matrix in (body.M, body.K))
    factor = factor_inner(body, inner, K)
    T = np.zeros((n, len(masters)))
    if len(masters):
        T[masters, np.arange(len(masters))] = 1.0
        T[inner] = -factor.solve(body.K[:, masters][inner].toarray())
    found = choose_modes(M, K, modes, up_to, 1.0, factor)
    shapes = np.zeros((n, len(found.at)))
    shapes[inner] = found.shapes[:, found.at]
    loose = _loose(body, held, masters)
    fixed = np.sort(np.concatenate([held, np.delete(masters, loose)]))
    free = T[:, loose]
    statics = Statics(fixed, inner, factor, free, free.T @ (body.K @ free))
    return body.structure.expand(np.hstack([T, shapes])), statics


def _loose(body: ElasticModel, held: IntArray, masters: IntArray) -> IntArray:
    """Masters that need not be fixed, by index: all but one for each rigid motion that ``held`` leaves free."""
    left = _motions_left(body, held)
    if not left.shape[1]:
        return np.arange(len(masters))
    seen = body.R[body.structure.free_index[masters]] @ left
    order = scipy.linalg.qr((seen / np.abs(seen).max(axis=0)).T, mode="r", pivoting=True)[1]
    return np.sort(order[left.shape[1] :]).astype(np.intp)


def free_modes(body: ElasticModel, modes: ModesKept, up_to: float | None) -> FloatArray:
    """(N, k) elastic modes of the free body; numbers count from the first elastic one."""
    return _elastic_modes(body, np.arange(len(body.structure.free)), body.R.shape[1], modes, up_to)


def _elastic_modes(
    body: ElasticModel, inner: IntArray, rigid: int, modes: ModesKept, up_to: float | None
) -> FloatArray:
    """Modes of the free coordinates ``inner`` beyond the ``rigid`` ones without stiffness."""
    asked: ModesKept = None
    if isinstance(modes, int | np.integer):
        asked = int(modes) + rigid
    elif modes is not None:
        asked = [*range(1, rigid + 1), *(int(number) + rigid for number in modes)]
    found = choose_modes(body.M[:, inner][inner], body.K[:, inner][inner], asked, up_to, 1.0)
    zero = int((found.squares == 0.0).sum())
    if zero != rigid:
        raise ModelError(
            "few-rigid-modes" if zero < rigid else "not-held",
            f"flexible body {body.structure.name!r} has {zero} rigid modes instead of {rigid}"
            + ("." if zero < rigid else ": parts of it move without deformation."),
            where={"body": body.structure.name},
            evidence={"found": zero, "due": rigid},
        )
    kept = KeptModes(found.squares, found.shapes, [number for number in found.numbers if number > rigid])
    shapes = np.zeros((len(body.structure.free), len(kept.at)))
    shapes[inner] = kept.shapes[:, kept.at]
    return body.structure.expand(shapes)


def _motions_left(body: ElasticModel, held: IntArray, zero: float = 1e-9) -> FloatArray:
    """(r, k) combinations of the rigid motions that supports and held coordinates leave free.

    zero : singular value over the largest; positions are rounded to 1e-16.
    """
    s = body.structure
    rows = np.vstack([body.R[s.held], body.R[s.free_index[held]]])
    if not len(rows):
        return np.eye(body.R.shape[1])
    size = float(np.abs(s.positions).max()) or 1.0
    scale = np.array([1.0 / size if name[0] == "r" else 1.0 for name in s.rigid_names])
    _, values, vectors = np.linalg.svd(np.linalg.qr(rows * scale, mode="r"))
    rank = int((values > zero * values.max(initial=1.0)).sum())
    return np.asarray(scale[:, None] * vectors[rank:].T)


def static_shapes(body: ElasticModel, statics: Statics, forces: FloatArray, *, relief: bool) -> FloatArray:
    """(N, k) shapes under forces (N, k) of a body that is held somewhere.

    relief : the loads are balanced by the inertia of the accelerated body, so that the held coordinates carry nothing.
    """
    if relief:
        momenta = body.M_full @ body.R
        forces = forces - momenta @ np.linalg.solve(body.R.T @ momenta, body.R.T @ forces)
    return body.structure.expand(statics.solve(body.structure.T.T @ forces))


def determinate_hold(body: ElasticModel) -> IntArray:
    """Free coordinates that hold a body which flies without constraint, six in space: by QR with pivoting of R."""
    free = body.R[body.structure.free_index]
    order = scipy.linalg.qr((free / np.abs(free).max(axis=0)).T, mode="r", pivoting=True)[1]
    return np.asarray(order[: body.R.shape[1]], dtype=np.intp)


def wave_speed(body: ElasticModel) -> float | None:
    """√(E/ρ) [m/s] from the energy uᵀKu of a uniform expansion u = p without rotations.

    Beams have E A per length in it, solids 3 E/(1 − 2ν) per volume: 7.5 E with ν = 0.3.
    """
    s = body.structure
    u = np.zeros((len(s.points), len(s.directions)))
    for k, way in enumerate(s.directions):
        if way[0] != "r":
            u[:, k] = s.positions[:, "xyz".index(way)]
    mass, solid = s.mass(), any(isinstance(group, SolidGroup) for group in s.groups)
    energy = float(u.ravel() @ (s.K @ u.ravel())) / (7.5 if solid or len(s.directions) == 3 else 1.0)
    return float(np.sqrt(energy / mass)) if energy > 0.0 and mass > 0.0 else None


def lowest_of_shapes(body: ElasticModel, shapes: FloatArray) -> tuple[FloatArray | None, bool]:
    """Lowest frequency [Hz] of the model near the lowest of shapes of a user, and whether the body flies.

    φ: the combination of lowest frequency. Its quotient φᵀMφ / φᵀM K⁻¹Mφ is between the frequency of the model and that
    of φ (Schwarz's quotient); coordinates that no shape moves are held.
    """
    s = body.structure
    size = np.abs(shapes).max(axis=1)[s.free_index]
    held = np.flatnonzero(_is_still(size, size.max(initial=0.0)))
    free = bool(_motions_left(body, held).shape[1])
    moved = remove_momentum(body, shapes) if free else shapes
    M, K = project(body, moved)
    phi = moved @ scipy.linalg.eigh(K, M)[1][:, :1]
    statics = hold_statics(body, determinate_hold(body) if free else held)
    answer = static_shapes(body, statics, body.M_full @ phi, relief=free)
    answer = remove_momentum(body, answer) if free else answer
    square = (phi.T @ (body.M_full @ phi)).item() / (phi.T @ (body.M_full @ answer)).item()
    return np.sqrt([max(square, 0.0)]) / (2 * np.pi), free


def attach_frame(body: ElasticModel, shapes: FloatArray, rows: sp.csr_array) -> FloatArray:
    """Shapes without the motion of the node with rows B (6, N): Φ − R (B R)⁻¹ B Φ."""
    at_node = rows @ body.R
    move = np.linalg.lstsq(at_node, rows @ shapes, rcond=None)[0]
    return np.asarray(shapes - body.R @ move)


def has_mean_axis(body: ElasticModel, zero: float = 1e-9) -> bool:
    """Whether all rigid motions have inertia: points on a line have none about it, but for rounding (1e-15)."""
    inertia = body.R.T @ (body.M_full @ body.R)
    size = np.sqrt(np.diagonal(inertia))
    return bool(size.all() and np.linalg.eigvalsh(inertia / np.outer(size, size))[0] > zero)


def remove_momentum(body: ElasticModel, shapes: FloatArray) -> FloatArray:
    """Shapes without momentum and angular momentum."""
    momenta = body.M_full @ body.R
    return np.asarray(shapes - body.R @ np.linalg.solve(body.R.T @ momenta, momenta.T @ shapes))


@dataclass(frozen=True)
class Diagonal:
    """Modes (N, m) of unit mass, with their ω² (m,)."""

    shapes: FloatArray
    squares: FloatArray


def diagonalise(
    body: ElasticModel, shapes: FloatArray, *, keep_all: bool = False, nothing: float = 1e-11, dependent: float = 1e-10
) -> Diagonal:
    """Orthogonal modes in the space of shapes (N, r); dependent ones are left out, or refused with ``keep_all``.

    nothing : mass of a shape over the largest (roots); a rigid shape minus its rigid motion is rounding.
    dependent : eigenvalue of the modal mass, modes of unit mass; below it, rounding (1e-16) of the shapes is amplified
    to 1e-6 of the independent part.
    """
    shapes = quiet_axes(body.structure, shapes)
    M, _ = project(body, shapes)
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    there = size > nothing * float(size.max(initial=0.0))
    if keep_all and not there.all():
        refuse_dependent(body.structure.name, int(np.argmin(size)), 0.0)
    scale = np.where(there, 1.0 / np.where(there, size, 1.0), 0.0)
    values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    independent = values > dependent
    if keep_all and not independent.all():
        refuse_dependent(body.structure.name, int(np.abs(vectors[:, 0]).argmax()), float(values[0]))
    modes, squares = shapes @ (scale[:, None] * vectors[:, independent]), np.zeros(0)
    for _ in range(2):  # the second time with modes that are orthogonal up to rounding errors of the first
        M, K = project(body, modes)
        squares, turned = scipy.linalg.eigh(K, M)
        modes = modes @ turned
    _refuse_negative(body.structure.name, squares)
    modes = quiet_axes(body.structure, _separate_axes(body, modes, squares))
    return Diagonal(modes * _signs(body.structure, modes), squares)


def _refuse_negative(name: str, squares: FloatArray, negative: float = 1e-9) -> None:
    """negative : ω² over the largest; rounding of K (1e-15) over the softness of a mode is less."""
    if len(squares) and squares[0] < -negative * abs(squares[-1]):
        raise ModelError(
            "negative-eigenvalue",
            f"flexible body {name!r}: the stiffness of mode 1 is negative, ω² = {squares[0]:.4g} rad²/s².",
            Advice("Check the sign and the symmetry of the stiffness matrix."),
            where={"body": name, "mode": 1},
            evidence={"square": float(squares[0])},
        )


def refuse_rigid(body: ElasticModel, shapes: FloatArray, equal: float = 1e-9) -> None:
    """Refuse modes that can move the body without deformation: the frame moves already.

    equal : 1 - cos of the angle to a rigid motion; rounding leaves about 1e-15.
    """
    momenta = body.M_full @ body.R
    to_unit = _to_unit_mass(body, body.R.T @ momenta, "rigid motions")
    modal = _to_unit_mass(body, project(body, shapes)[0], "modes")
    # cosines of the angles between the rigid motions and the modes, in the metric of the mass
    cosines = np.linalg.svd(to_unit @ (momenta.T @ shapes) @ modal.T, compute_uv=False)
    rigid = int((cosines > 1.0 - equal).sum())
    if rigid:
        name = body.structure.name
        raise ModelError(
            "rigid-mode",
            f"flexible body {name!r}: {rigid} combinations of its {shapes.shape[1]} modes move it without deformation; "
            "its frame makes these motions already.",
            Advice("Attach the frame to a node or to the mean axis with {}.", Argument("reference")),
            where={"body": name},
            evidence={"rigid": rigid, "modes": shapes.shape[1]},
        )


def _to_unit_mass(body: ElasticModel, mass: FloatArray, motions: str) -> FloatArray:
    """L⁻¹ with L Lᵀ = mass."""
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(mass)))
    except np.linalg.LinAlgError:
        name = body.structure.name
        problem = f"flexible body {name!r}: its mass matrix gives its {motions} a mass that is not positive."
        raise ModelError("not-positive-definite", problem, where={"body": name}) from None


def project(body: ElasticModel, shapes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ΦᵀMΦ and ΦᵀKΦ, symmetric."""
    M, K = shapes.T @ (body.M_full @ shapes), shapes.T @ (body.structure.K @ shapes)
    return 0.5 * (M + M.T), 0.5 * (K + K.T)


def refuse_dependent(name: str, mode: int, value: float) -> None:
    """Refuse modes that are combinations of each other."""
    raise ModelError(
        "rank-deficient",
        f"flexible body {name!r}: its modes are not independent, mode {mode + 1} is a combination of others or moves "
        f"no mass (smallest eigenvalue of the scaled modal mass {value:.1e}).",
        Advice("Leave this mode out with {}.", Argument("modes")),
        where={"body": name, "mode": mode + 1},
        evidence={"eigenvalue": value},
    )


def _is_still(size: Any, largest: Any, error: float = 1e-9) -> Any:
    """Whether a motion is none beside the largest: eigensolvers leave 1e-10 to 1e-12 of other modes."""
    return size <= error * largest


def quiet_axes(structure: Structure, shapes: FloatArray) -> FloatArray:
    """Shapes with exact zeros along directions in which a mode moves only by errors of the eigensolver."""
    size = float(np.ptp(structure.positions, axis=0).max()) or 1.0
    scale = np.array([size if way[0] == "r" else 1.0 for way in structure.directions])
    each = shapes.reshape(len(structure.points), len(structure.directions), -1)
    largest = np.abs(each).max(axis=0) * scale[:, None]
    still = _is_still(largest, largest.max(axis=0))
    return np.asarray(np.where(still[None], 0.0, each).reshape(shapes.shape))


def _signs(structure: Structure, shapes: FloatArray) -> FloatArray:
    """(m,) that make the largest displacement of every mode positive, the largest rotation where nothing moves."""
    moving = np.tile([way[0] != "r" for way in structure.directions], len(structure.points))
    motions = np.where(moving[:, None], shapes, 0.0)
    motions = np.where(motions.any(axis=0), motions, shapes)
    return np.where(motions[ties.first_largest(motions), np.arange(motions.shape[1])] < 0.0, -1.0, 1.0)


def _separate_axes(body: ElasticModel, shapes: FloatArray, squares: FloatArray) -> FloatArray:
    """Modes of equal frequency turned so that their motions along x, y, z are separate where possible."""
    shapes = shapes.copy()
    weights = np.array([{"x": 3.0, "y": 2.0, "z": 1.0}.get(way, 0.0) for way in body.structure.directions])
    along = np.tile(weights, len(body.structure.points))[:, None]
    for cluster in equal_squares(squares):
        modes = shapes[:, cluster]
        _, turn = np.linalg.eigh(-(modes.T @ (along * modes)))
        shapes[:, cluster] = modes @ turn
    return shapes


def equal_squares(squares: FloatArray, equal: float = 1e-7) -> list[slice]:
    """Groups of two and more neighbouring modes of the same frequency.

    equal : relative difference of ω²; above the error of eigensolvers of large meshes (1e-9).
    """
    clusters, first = [], 0
    for k in range(1, len(squares) + 1):
        if k == len(squares) or squares[k] - squares[k - 1] > equal * abs(squares[k]):
            if k - first > 1:
                clusters.append(slice(first, k))
            first = k
    return clusters


def free_places(structure: Structure, names: Sequence[str]) -> IntArray:
    """Places of all free coordinates of points among the free coordinates."""
    at = {name: i for i, name in enumerate(structure.free)}
    wanted = [f"{structure.points[structure.point(name)]}.{way}" for name in names for way in structure.directions]
    return np.array([at[name] for name in wanted if name in at], dtype=np.intp)


def factor_inner(body: ElasticModel, inner: IntArray, K: sp.csc_array | None = None) -> StiffnessFactor:
    """Factors of the stiffness of some free coordinates, the others held."""
    names = [body.structure.free[i] for i in inner]
    advice = Advice("Hold more of it, or join its parts.")
    what = f"the stiffness of flexible body {body.structure.name!r} with its interface nodes held"
    return factors.factor_regular(body.K[:, inner][inner] if K is None else K, names, what, advice)
