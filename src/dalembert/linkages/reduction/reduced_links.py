"""A linkage in a dozen coordinates that stay valid while it moves: rigid coordinates, masters, interior modes.

    u = Y(q) [u_m; η] ,   Y(q) = [1, 0; B(q), Ψ(q)]

B follows the pose, interior modes turn with their links, and the equations are those of `motion` with this Y. K stays
block diagonal at every pose since K_ss B = -K_sm. Rates of Y are left out unless they are requested:

    u̇ = Y ẏ + Ẏ y ,   ü = Y ÿ + 2 Ẏ ẏ + Ÿ y      (Ÿ without the part of q̈)

Static shapes B(q) of the slaves of a linkage in the graph, with as much of the elimination in numbers as there is.

Slaves of one link alone, in the axes of the link, are eliminated once and for all:

    K̂ = K_bb - K_bl K_ll⁻¹ K_lb ,   u_l = -K_ll⁻¹ K_lb u_b

over its boundary b of masters and nodes shared with other links. At every pose the K̂ of all links, turned into the
world, leave a small system for the shared slaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import between, checked
from dalembert.core.errors import DataError, ModelError
from dalembert.core.results import column, result
from dalembert.equations import Channels, EquationsOfMotion, State, equations
from dalembert.linkages.equivalent_rigid_links import EquivalentRigidLinks, build_equations
from dalembert.linkages.motion import LinkagePose
from dalembert.linkages.reduction.interior_basis import InteriorBasis, PoseMatrices, match_modes

SX: Any = ca.SX


def static_shapes(pose: LinkagePose, matrices: PoseMatrices, G: Any) -> Any:
    """B (s, m) at the pose."""
    linkage = matrices.linkage
    if linkage.elastic.guides or linkage.dependent:
        G_link = pose.to_links(G)
        K = ca.sparsify(G_link.T @ pose.matrix("K") @ G_link)
        return -_solve(K[matrices.slaves, matrices.slaves], K[matrices.slaves, matrices.masters])
    place = {column: k for k, column in enumerate(linkage.free)}
    entries = [place.get(column, -1) for column in linkage.elastic.columns]
    K = SX(matrices.n, matrices.n)
    parts, first = [], 0
    for link, axes in zip(linkage.links, pose.axes, strict=True):
        own = entries[first : first + 3 * len(link.points)]
        first += len(own)
        inner = _inner(own, entries, set(matrices.masters))
        outer = [k for k in range(len(own)) if k not in inner]
        turn = _turning(own, matrices.n, axes)
        follow = np.zeros((len(inner), len(outer)))
        if inner:
            follow[:] = -np.linalg.solve(link.K[np.ix_(inner, inner)], link.K[np.ix_(inner, outer)])
            parts.append((inner, follow, turn, outer))
        condensed = link.K[np.ix_(outer, outer)] + link.K[np.ix_(outer, inner)] @ follow
        K += turn[outer, :].T @ ca.sparsify(SX(ca.DM(condensed))) @ turn[outer, :]
    within = {k for inner, _, turn, _ in parts for k in turn[inner, :].sparsity().get_col()}
    shared = [k for k in matrices.slaves if k not in within]
    U = SX(matrices.n, len(matrices.masters))
    for k, row in enumerate(matrices.masters):
        U[row, k] = 1.0
    if shared:
        U[shared, :] = -_solve(ca.sparsify(K[shared, shared]), K[shared, matrices.masters])
    B = SX(U)
    for inner, follow, turn, outer in parts:
        B += turn[inner, :].T @ (ca.DM(follow) @ (turn[outer, :] @ U))
    return B[matrices.slaves, :]


def _inner(own: list[int], entries: list[int], masters: set[int]) -> list[int]:
    """Displacements of a link that are slaves and its alone; translations of a node go together."""

    def alone(k: int) -> bool:
        return own[k] >= 0 and own[k] not in masters and entries.count(own[k]) == 1

    inner: list[int] = []
    for node in range(0, len(own), 3):
        inner += [node, node + 1] if alone(node) and alone(node + 1) else []
        inner += [node + 2] if alone(node + 2) else []
    return inner


def _turning(own: list[int], count: int, axes: tuple[Any, Any]) -> Any:
    """(3n, count) displacements of a link in its axes from the free ones."""
    c, s = axes
    turn = SX(len(own), count)
    for k, entry in enumerate(own):
        way = k % 3
        if entry < 0:
            continue
        if way == 2:
            turn[k, entry] = 1.0
        else:
            turn[k - way, entry], turn[k - way + 1, entry] = (c, -s) if way == 0 else (s, c)
    return turn


def _solve(K: Any, right: Any) -> Any:
    """K⁻¹ right by a sparse factor of a symmetric matrix, in the graph."""
    D, L, order = ca.ldl(K)
    return ca.ldl_solve(right, D, L, order)


Pose = Mapping[str, float] | State | None


@result
class ReductionAtPose:
    """Modes of the reduced linkage against those of the whole one at a pose.

    monitor : largest entry of \\|Ψᵀ M_ss Ψ - 1\\|, the distance of the turned modes from those of the pose. It does not
    see every error: compare frequencies over the poses of the task too.
    """

    numbers: Any = column("mode", show="d")
    frequencies: FloatArray = column("frequency", "rad/s")
    errors: FloatArray = column("error", "%")
    nco: FloatArray = column("NCO")
    monitor: float


@dataclass(frozen=True, eq=False)
class ReducedLinks:
    """Frozen; made by `reduce_links`. ``da.equations(reduced)`` gives its equations of motion.

    bases : interior modes at the reference poses.  active : the one that the equations use.  judged : numbers of modes
    of the whole linkage, rigid ones included, that `validity` compares.  blended : the bases are interpolated between
    their poses instead.  rates : whether rates of Y act.  grid, grid_errors, grid_basis : rigid coordinates of a
    search, errors [%] of the judged modes there, and the basis that has them.
    """

    erls: EquivalentRigidLinks
    masters: tuple[str, ...]
    bases: tuple[InteriorBasis, ...]
    judged: tuple[int, ...]
    active: int = 0
    blended: bool = False
    rates: bool = False
    grid: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    grid_errors: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    grid_basis: Any = None

    def __repr__(self) -> str:
        counts = f"{self.erls.linkage.nq} rigid, {len(self.masters)} masters, {len(self.bases[0].numbers)} modes"
        return f"ReducedLinks({self.erls.linkage.name!r}: {counts}, {len(self.bases)} reference poses)"

    @property
    def size(self) -> int:
        return self.erls.linkage.nq + len(self.masters) + len(self.bases[0].numbers)

    @cached_property
    def matrices(self) -> PoseMatrices:
        names = self.erls.linkage.names
        return PoseMatrices(self.erls.linkage, [names.index(name) for name in self.masters])

    def with_basis(self, number: int) -> ReducedLinks:
        """The same with another of its bases."""
        DataError.when(not 0 <= number < len(self.bases), "out-of-range", f"there are {len(self.bases)} bases.")
        return self._copy(active=number)

    def _copy(self, **changes: Any) -> ReducedLinks:
        copy = replace(self, **changes)
        copy.__dict__["matrices"] = self.matrices
        return copy

    # -- at a pose ----------------------------------------------------------------------------------------------------

    def basis_at(self, at: Pose = None) -> FloatArray:
        """Y (n, m + k) at a pose."""
        x = self.erls.rigid_state(at)
        _, K, angles = self.matrices.at(x)
        return self.matrices.expand(self.matrices.static(K), self._shapes(x, angles))

    def _shapes(self, x: FloatArray, angles: FloatArray) -> FloatArray:
        turned = [self.matrices.turn(basis.Phi, angles - basis.angles) for basis in self.bases]
        if not self.blended:
            return turned[self.active]
        weights = blend(x[: len(self.bases[0].q)], [basis.q for basis in self.bases])
        return np.asarray(sum(weight * Psi for weight, Psi in zip(weights, turned, strict=True)))

    def validity(self, at: Pose = None) -> ReductionAtPose:
        """Errors of frequencies and shapes of the judged modes at a pose, and the monitor of the turned modes."""
        return self.compare(self.erls.rigid_state(at))

    def compare(self, x: FloatArray, Psi: FloatArray | None = None) -> ReductionAtPose:
        """As `validity`, at rigid coordinates with their seeds.  Psi : other shapes of the slaves."""
        M, K, angles = self.matrices.at(x)
        n, nq = self.matrices.n, self.erls.linkage.nq
        Psi = self._shapes(x, angles) if Psi is None else Psi
        H = scipy.linalg.block_diag(self.matrices.expand(self.matrices.static(K), Psi), np.eye(nq))
        whole = scipy.linalg.block_diag(K, np.zeros((nq, nq)))
        squares, shapes = scipy.linalg.eigh(whole, M)
        reduced, small = scipy.linalg.eigh(H.T @ whole @ H, H.T @ M @ H)
        judged = [number - 1 for number in self.judged]
        nco = (shapes[:, judged].T @ M @ H @ small) ** 2
        partner = np.argmax(nco, axis=1)
        omega = np.sqrt(squares[judged])
        errors = 100.0 * np.abs(np.sqrt(np.maximum(reduced[partner], 0.0)) / omega - 1.0)
        s = np.ix_(self.matrices.slaves, self.matrices.slaves)
        product = Psi.T @ M[:n, :n][s] @ Psi
        monitor = float(np.abs(product - np.eye(len(product))).max(initial=0.0))
        return ReductionAtPose(np.array(self.judged), omega, errors, nco[np.arange(len(judged)), partner], monitor)

    # -- several reference poses --------------------------------------------------------------------------------------

    @checked
    def choose(
        self, at: Any, hysteresis: Annotated[float, between(0.0, 1.0), "share by which another pose is nearer"] = 0.2
    ) -> int:
        """The basis for a pose: the active one, unless another reference pose is nearer by the hysteresis.

        hysteresis : without it a motion along the border would change bases at every step.
        """
        q = self.erls.rigid_state(at)[: self.erls.linkage.nq]
        distances = np.array([np.linalg.norm(q - basis.q) for basis in self.bases])
        nearest = int(np.argmin(distances))
        return nearest if distances[nearest] < (1.0 - hysteresis) * distances[self.active] else self.active

    def transfer(self, state: State, to: int) -> State:
        """The state in another basis: same rigid coordinates and masters, modal coordinates by projection with M_ss.

        The state belongs to ``da.equations`` of this reduction, the result to those of ``with_basis(to)``.
        """
        target = self.with_basis(to)
        n, m = len(state.eqs.elastic), len(self.masters)
        x = state.q[n:]
        M, _, angles = self.matrices.at(x)
        s = np.ix_(self.matrices.slaves, self.matrices.slaves)
        mass = M[: self.matrices.n, : self.matrices.n][s]
        before, after = self._shapes(x, angles), target._shapes(x, angles)
        project = scipy.linalg.solve(after.T @ mass @ after, after.T @ mass @ before, assume_a="pos")
        q, v = state.q.copy(), state.v.copy()
        q[m:n], v[m:n] = project @ state.q[m:n], project @ state.v[m:n]
        return target.equations.state(q, v, state.z, state.t)

    def recomputed(self, at: Pose) -> ReducedLinks:
        """The active basis made anew at a pose, its modes matched by MAC to those before, not by their numbers."""
        basis = match_modes(self.matrices, self.erls.rigid_state(at), self.bases[self.active])
        return self._copy(bases=(basis,), active=0, blended=False)

    def interpolated(self) -> ReducedLinks:
        """All bases blended between their poses: modes matched to those of the first one, inverse squared distances."""
        ModelError.when(len(self.bases) < 2, "empty", "interpolation needs at least two reference poses.")
        first = self.bases[0]
        matched = tuple(match_modes(self.matrices, basis.x, first) for basis in self.bases[1:])
        return self._copy(bases=(first, *matched), blended=True)

    # -- equations ----------------------------------------------------------------------------------------------------

    @cached_property
    def equations(self) -> EquationsOfMotion:
        L = self.erls.linkage
        units = [L.elastic.units[L.free[k]] for k in self.matrices.masters]
        owners = [L.elastic.owners[L.free[k]] for k in self.matrices.masters]
        modes = [f"mode{k + 1}" for k in range(len(self.bases[0].numbers))]
        channels = Channels(
            (*self.masters, *modes), (*units, *("" for _ in modes)), (*owners, *(L.name for _ in modes))
        )
        return build_equations(self.erls, channels, self._basis, rates=self.rates)

    def _basis(self, pose: LinkagePose, G: Any, q: Any) -> Any:
        """Y in the graph."""
        matrices = self.matrices
        s, m = matrices.slaves, matrices.masters
        B = static_shapes(pose, matrices, G)
        angles = [pose.angles[link.name] for link in self.erls.linkage.links]
        if self.blended:
            weights = blend(q, [basis.q for basis in self.bases])
            Psi = sum(w * self._turn(basis, angles) for w, basis in zip(weights, self.bases, strict=True))
        else:
            Psi = self._turn(self.bases[self.active], angles)
        Y = SX(matrices.n, len(m) + len(self.bases[0].numbers))
        for k, row in enumerate(m):
            Y[row, k] = 1.0
        Y[s, : len(m)], Y[s, len(m) :] = B, Psi
        return Y

    def _turn(self, basis: InteriorBasis, angles: Sequence[Any]) -> Any:
        whole = SX(self.matrices.n, len(basis.numbers))
        whole[self.matrices.slaves, :] = ca.DM(basis.Phi)
        turned = SX(whole)
        for (x, y), owner in zip(self.matrices.pairs, self.matrices.owners, strict=True):
            angle = angles[owner] - float(basis.angles[owner])
            c, s = ca.cos(angle), ca.sin(angle)
            turned[x, :], turned[y, :] = c * whole[x, :] - s * whole[y, :], s * whole[x, :] + c * whole[y, :]
        return turned[self.matrices.slaves, :]


def blend(q: Any, references: Sequence[FloatArray]) -> list[Any]:
    """Weights of reference poses: products of the squared distances to all others, which are exact at each of them."""
    squares = [
        ca.sumsqr(q - ca.DM(reference)) if isinstance(q, SX) else np.sum((q - reference) ** 2)
        for reference in references
    ]
    weights = []
    for k in range(len(references)):
        product: Any = 1.0
        for j, square in enumerate(squares):
            product = product * square if j != k else product
        weights.append(product)
    total = sum(weights)
    return [weight / total for weight in weights]


@equations.register
def equations_of_reduced_links(reduced: ReducedLinks, **options: object) -> EquationsOfMotion:
    """Equations in rigid coordinates, masters and interior modes."""
    for name in options:
        raise ModelError("unknown-argument", f"equations of reduced links have no option {name!r}.")
    return reduced.equations
