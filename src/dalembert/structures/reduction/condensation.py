"""Condensation onto masters: static, Guyan, dynamic, IRS, SEREP.

Masters 1, slaves 2:

    static    q2 = -K22⁻¹ K21 q1 + K22⁻¹ f2,   Kc = K11 - K12 K22⁻¹ K21,   fc = f1 - K12 K22⁻¹ f2
              exact in statics with any load; exact in dynamics where the slaves have no mass and no damping
    Guyan     T = [I; -K22⁻¹ K21], every matrix Tᵀ X T; frequencies never below the exact ones
    dynamic   T = [I; -(K22 - ω² M22)⁻¹ (K21 - ω² M21)], exact at ω
    IRS       T ← T_guyan + S M T M_r⁻¹ K_r with S = diag(0, K22⁻¹), iterated: the inertia of the slaves taken as
              a static load (O'Callahan 1989; Friswell, Garvey, Penny 1995)
    SEREP     T = Φ Φ₁⁻¹, exact for as many modes as there are masters (O'Callahan, Avitabile, Riemer 1989)

IRS and SEREP are Ritz models too: frequencies are not below the exact ones (SEREP: equal), but for rounding. Matrices
on masters that move nearly alike cancel in the sums of their modes, whatever computed them: rounding of K and M to
double precision alone moves ω² of the mode x (xᵀMx = 1) by up to ε (‖K‖ + ω² ‖M‖) ‖x‖², here with masters scaled to
unit diagonal of M. Beyond ROUNDED that is warned of, beyond LOST refused. Products that cancel most are not formed:
SEREP is M = WᵀW, K = WᵀΩ²W with W = Φ₁⁻¹; IRS is K = K_guyan + Dᵀ K22 D, D the correction of the slaves.

Which one, or none? To know the lowest modes alone, ``system.modes(count)`` on the full sparse matrices (shift-invert
Lanczos) costs one factorization and is exact; a reduction costs the same factorization. Reduce where the small model
is used again: in time, in a control loop, as a part of other systems.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph

from dalembert.core.arrays import FloatArray, Matrix
from dalembert.core.errors import DataError, ModelWarning
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.text import listed
from dalembert.linear.eigen import massless
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import symmetric_factors as factors
from dalembert.structures.assembly.symmetric_factors import Factor
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.masters import Indices, block, checked_system, find, load_vector, rest
from dalembert.structures.reduction.reduction import Reduction

Names = str | Iterable[str]
# Relative error of a frequency, by rounding, from which a reduction warns: far above what eigensolvers of large meshes
# leave (1e-9), far below what an engineer measures; and from which its modes are lost.
ROUNDED, LOST = 1e-6, 1e-2
# Elastic energy of a master's motion over that of the highest kept mode, below which its motion is rounding: next to a
# clamp it is 4e-3 with 200 elements and falls with their number, of bending along the axis of a beam 1e-22.
AT_REST = 1e-12
HOLD = Advice("Make one of them a master for each such motion, or hold it by a spring.")


class Partition:
    """Masters and slaves of a system, and the factors of K22: made once, used by every method."""

    def __init__(self, system: SecondOrder, masters: Names, *, shift: float = 0.0) -> None:
        self.system = system = checked_system(system)
        self.first = find(system.coordinates, masters, "this system")
        if len(self.first) == 0:
            raise DataError("empty", "a reduction needs at least one master coordinate.")
        self.second = rest(system.nq, self.first)
        self.names = tuple(system.coordinates[i] for i in self.first)
        self.slaves = tuple(system.coordinates[i] for i in self.second)
        self.shift = shift

    def part(self, X: Matrix, rows: int, columns: int) -> Matrix:
        """X11, X12, X21 or X22."""
        at = {1: self.first, 2: self.second}
        return block(X, at[rows], at[columns])

    def factor(self) -> Factor:
        """Factors of K22 - shift M22; an error names the slaves that move freely with the masters held."""
        K = self.part(self.system.K, 2, 2)
        if self.shift == 0.0:
            return factors.regular(K, self.slaves, "the stiffness of the slaves with the masters held", HOLD)
        what = f"K22 - ω² M22 at ω = {np.sqrt(self.shift):.6g} rad/s"
        advice = Advice("The slaves resonate there with the masters held: condense at another frequency.")
        return factors.regular(K - self.shift * self.part(self.system.M, 2, 2), self.slaves, what, advice)

    def constraint_modes(self, factor: Factor) -> FloatArray:
        """-(K22 - shift M22)⁻¹ (K21 - shift M21), (s, m)."""
        right = self.part(self.system.K, 2, 1)
        if self.shift:
            right = right - self.shift * self.part(self.system.M, 2, 1)
        return -factor.solve(reduction.dense(right))

    def basis(self, B: FloatArray, Phi: FloatArray | None = None) -> FloatArray:
        """T (n, m + k) in the order of the full coordinates, from what the slaves do."""
        m, k = len(self.first), 0 if Phi is None else Phi.shape[1]
        T = np.zeros((self.system.nq, m + k))
        T[self.first, np.arange(m)] = 1.0
        T[self.second, :m] = B
        if Phi is not None:
            T[self.second, m:] = Phi
        return T


def guyan(system: SecondOrder, masters: Names) -> Reduction:
    """Slaves follow the masters statically (Guyan 1965).

    Parameters
    ----------
    system : SecondOrder, dense or sparse
    masters : coordinates, points or patterns; :func:`choose_masters` proposes some

    Examples
    --------
    >>> chain = SecondOrder(np.eye(3), [[2, -1, 0], [-1, 2, -1], [0, -1, 1]], coordinates=["a", "b", "c"])
    >>> guyan(chain, "c").system.K.round(6).tolist()
    [[0.333333]]
    """
    split = Partition(system, masters)
    T = split.basis(split.constraint_modes(split.factor()))
    return _reduced(split, T, "Guyan reduction")


def condense_static(system: SecondOrder, masters: Names, *, loads: Mapping[str, Any] | None = None) -> Reduction:
    """Static condensation, exact in statics whatever is loaded.

    The part of the inputs that acts on slaves is kept: as forces on the masters, as direct feedthrough to the
    outputs, and in ``Reduction.expand(x, inputs=u)``. Where the slaves have neither mass nor damping the result
    is exact in dynamics too and removes the singularity of M.

    Parameters
    ----------
    system : SecondOrder
        May have circulatory forces H, as long as the slaves have no mass or damping.
    masters : coordinates, points or patterns
    loads : mapping of a name to a load, optional
        (n,) vectors or mappings of coordinate names to forces; each becomes an input of the reduced system.

    Examples
    --------
    >>> chain = SecondOrder(np.eye(3), [[2, -1, 0], [-1, 2, -1], [0, -1, 1]], coordinates=["a", "b", "c"])
    >>> reduced = condense_static(chain, "c", loads={"push": {"b": 1.0}})
    >>> reduced.static({"push": 1.0}).round(6).tolist()
    [1.0, 2.0, 2.0]
    """
    split = Partition(system, masters)
    cases = {name: load_vector(system, load, name) for name, load in (loads or {}).items()}
    forces = np.column_stack([reduction.dense(system.B), *cases.values()])
    if reduction.nonzero(system.H):
        return _circulatory(split, cases, forces)
    factor = split.factor()
    T = split.basis(split.constraint_modes(factor))
    R = np.zeros((system.nq, forces.shape[1]))
    R[split.second] = factor.solve(forces[split.second])
    return _reduced(split, T, "static condensation", residual=R, loads=cases)


def _circulatory(split: Partition, cases: Mapping[str, FloatArray], forces: FloatArray) -> Reduction:
    """K + H is not symmetric: rows and columns are condensed each by their own solution."""
    system, second = split.system, split.second
    for symbol in ("M", "C", "G", "K_loss"):
        if any(reduction.nonzero(split.part(getattr(system, symbol), i, j)) for i, j in ((2, 1), (2, 2))):
            raise DataError(
                "circulatory-forces",
                f"with circulatory forces (H) the slaves must have no mass or damping; {symbol} is not zero on them.",
                Advice("Keep those coordinates as masters."),
                Advice("Or use {}, which projects H on the static shapes of K.", Call("da.structures.guyan")),
            )
    K = split.part(system.K_full, 2, 2)
    factor = factors.regular(K, split.slaves, "K + H of the slaves with the masters held", HOLD, symmetric=False)
    T = split.basis(-factor.solve(reduction.dense(split.part(system.K_full, 2, 1))))
    turned = factors.Factor(K.T.tocsc() if scipy.sparse.issparse(K) else K.T, symmetric=False)
    W = split.basis(-turned.solve(reduction.dense(split.part(system.K_full, 1, 2)).T))
    R = np.zeros((system.nq, forces.shape[1]))
    R[second] = factor.solve(forces[second])
    return _reduced(split, T, "static condensation", residual=R, loads=cases, left=W)


def find_substructures(system: SecondOrder, masters: Names) -> tuple[tuple[str, ...], ...]:
    """Groups of slaves that meet each other only through the masters, by the pattern of all matrices.

    Examples
    --------
    >>> chain = SecondOrder(np.eye(5), 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1))
    >>> find_substructures(chain, "x3")
    (('x1', 'x2'), ('x4', 'x5'))
    """
    split = Partition(system, masters)
    labels = _components(split)
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []
    return tuple(tuple(split.slaves[i] for i in group) for group in groups)


def _components(split: Partition) -> Indices:
    pattern: Any = scipy.sparse.csr_array((len(split.second), len(split.second)))
    for symbol in reduction.SQUARE:
        pattern = pattern + abs(scipy.sparse.csr_array(split.part(getattr(split.system, symbol), 2, 2)))
    _, labels = scipy.sparse.csgraph.connected_components(pattern, directed=False)
    return np.asarray(labels, dtype=np.intp)


def condense_substructures(
    system: SecondOrder,
    masters: Names,
    groups: Mapping[str, Names] | Sequence[Names] | None = None,
    *,
    loads: Mapping[str, Any] | None = None,
) -> Reduction:
    """Static substructuring: a frame of masters and parts that touch only it, one after the other.

        Kc = K00 - Σ K0i Kii⁻¹ Ki0,   fc = f0 - Σ K0i Kii⁻¹ f_i,   q_i = -Kii⁻¹ Ki0 q0 + Kii⁻¹ f_i

    The same result as :func:`condense_static` with one factorization per part instead of one for all.

    Parameters
    ----------
    system, masters, loads : as for :func:`condense_static`; without circulatory forces
    groups : coordinates, points or patterns of every part, optional
        Found by themselves (:func:`find_substructures`) when left out. Together with the masters they must cover the
        system, and no two may be coupled.
    """
    split = Partition(system, masters)
    cases = {name: load_vector(system, load, name) for name, load in (loads or {}).items()}
    forces = np.column_stack([reduction.dense(system.B), *cases.values()])
    if reduction.nonzero(system.H):
        raise DataError(
            "circulatory-forces",
            "static substructuring is for systems without circulatory forces (H).",
            Advice("Use {}.", Call("da.structures.condense_static")),
        )
    parts = _groups(split, groups)
    T, R = split.basis(np.zeros((len(split.second), len(split.first)))), np.zeros((system.nq, forces.shape[1]))
    for name, inside in parts.items():
        names = [system.coordinates[i] for i in inside]
        what = f"the stiffness of part {name!r} with the frame held"
        factor = factors.regular(block(system.K, inside, inside), names, what, HOLD)
        T[inside, : len(split.first)] = -factor.solve(reduction.dense(block(system.K, inside, split.first)))
        R[inside] = factor.solve(forces[inside])
    return _reduced(split, T, f"static substructuring of {len(parts)} parts", residual=R, loads=cases)


def _groups(split: Partition, groups: Mapping[str, Names] | Sequence[Names] | None) -> dict[str, Indices]:
    system = split.system
    if groups is None:
        labels = _components(split)
        return {str(k + 1): split.second[labels == k] for k in range(int(labels.max(initial=-1)) + 1)}
    named = groups if isinstance(groups, Mapping) else {str(k + 1): group for k, group in enumerate(groups)}
    parts = {name: find(system.coordinates, group, f"part {name!r}") for name, group in named.items()}
    owner = np.full(system.nq, -1)
    owner[split.first] = -2
    for k, (name, inside) in enumerate(parts.items()):
        taken = inside[owner[inside] != -1]
        if len(taken):
            other = "a master" if owner[taken[0]] == -2 else f"in part {list(parts)[owner[taken[0]]]!r} too"
            raise DataError("duplicate", f"{system.coordinates[taken[0]]!r} of part {name!r} is {other}.")
        owner[inside] = k
    if (owner == -1).any():
        left = [system.coordinates[i] for i in np.flatnonzero(owner == -1)]
        raise DataError("missing-coordinates", f"neither masters nor in any part: {listed(left, {})}.")
    entries = scipy.sparse.coo_array(system.K)  # coupling in M alone leaves statics exact
    i, j = entries.coords
    wrong = (owner[i] >= 0) & (owner[j] >= 0) & (owner[i] != owner[j]) & (entries.data != 0.0)
    if wrong.any():
        k = int(np.argmax(wrong))
        a, b = system.coordinates[i[k]], system.coordinates[j[k]]
        raise DataError(
            "coupled-parts",
            f"{a!r} and {b!r} are in different parts but coupled in K: only masters may lie between parts.",
            Advice("Make one of them a master."),
            where={"coordinates": (a, b)},
        )
    return parts


def condense_dynamic(system: SecondOrder, masters: Names, frequency: float) -> Reduction:
    """Slaves follow as they do in undamped harmonic motion at one frequency: exact there.

    Parameters
    ----------
    system : SecondOrder
    masters : coordinates, points or patterns
    frequency : ω ≥ 0 [rad/s]; 0 is :func:`guyan`
    """
    if not (np.isfinite(frequency) and frequency >= 0.0):
        raise DataError("negative", f"frequency must be a finite number of rad/s, not negative, got {frequency!r}.")
    split = Partition(system, masters, shift=float(frequency) ** 2)
    T = split.basis(split.constraint_modes(split.factor()))
    return _reduced(split, T, f"dynamic condensation at {frequency:.6g} rad/s")


def irs(system: SecondOrder, masters: Names, *, iterations: int = 1) -> Reduction:
    """Improved reduced system: Guyan's shapes corrected by the inertia of the slaves; iterated, it tends to SEREP.

    Warns where masters move so nearly alike that rounding changes frequencies by more than 1e-6.

    Parameters
    ----------
    system : SecondOrder
    masters : coordinates, points or patterns
    iterations : 1 is the improved reduced system, more of them the iterated one; 0 is Guyan
    """
    if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer) or iterations < 0:
        raise DataError("not-a-count", f"iterations must be a whole number, not negative, got {iterations!r}.")
    split = Partition(system, masters)
    factor = split.factor()
    guess = split.constraint_modes(factor)
    B = guess
    static = K = reduction.congruent(T := split.basis(guess), system.K, T, 1)
    for _ in range(iterations):
        T = split.basis(B)
        MT = np.asarray(system.M @ T)
        what, advice = "the reduced mass matrix", Advice("Choose masters that have mass.")
        M = T.T @ MT
        inertia = factors.regular(0.5 * (M + M.T), split.names, what, advice)
        load = MT[split.second] @ inertia.solve(K)
        correction = factor.solve(load)
        B, added = guess + correction, correction.T @ load
        K = static + 0.5 * (added + added.T)
    method = "improved reduced system" + (f", {iterations} iterations" if iterations > 1 else "")
    found = _reduced(split, split.basis(B), method, K=K)
    M = np.asarray(found.system.M)
    scale = np.sqrt(np.maximum(M.diagonal(), np.finfo(float).tiny))
    M, K = M / np.outer(scale, scale), K / np.outer(scale, scale)
    try:
        squares, shapes = scipy.linalg.eigh(K, M)
        squares[factors.resistance(K, shapes) <= factors.RESIDUAL_OF_RIGID] = 0.0
    except np.linalg.LinAlgError:  # not positive definite: more than lost
        squares, shapes = np.zeros(0), np.zeros((len(M), 0))
    _judge_rounding(split, "IRS", M, K, squares, shapes)
    return found


def serep(system: SecondOrder, masters: Names, *, modes: Sequence[int] | None = None) -> Reduction:
    """System equivalent reduction expansion: the undamped modes it keeps, as many as masters, are those of the system.

    Exact but for rounding, which grows with the square of the condition number of the mode shapes at the masters: a
    warning says when frequencies may be off by more than 1e-6, an error when by more than 1e-2. A few masters that lie
    close together are enough (the last four points of a cantilever of forty: condition 9e5, first frequency off by
    some 1e-4).

    Parameters
    ----------
    system : SecondOrder
    masters : coordinates, points or patterns; :func:`choose_masters` proposes some that move differently
    modes : numbers of the modes to keep, from 1, as many as masters, optional; the lowest when left out
    """
    split = Partition(system, masters)
    m = len(split.first)
    numbers = tuple(range(1, m + 1)) if modes is None else tuple(int(i) for i in modes)
    if len(set(numbers)) != m or min(numbers) < 1:
        raise DataError(
            "duplicate", f"SEREP keeps as many modes as masters: {m} different numbers from 1, got {numbers}."
        )
    squares, shapes = factors.lowest(system.M, system.K, max(numbers))
    if shapes.shape[1] < max(numbers):
        raise DataError(
            "too-few-modes", f"the system has {shapes.shape[1]} modes with mass, mode {max(numbers)} was asked for."
        )
    kept = np.array(numbers) - 1
    squares, Phi = squares[kept], shapes[:, kept]
    sizes = np.linalg.norm(Phi[split.first], axis=1)
    top = float(squares.max())
    weight = (system.K.diagonal() / top if top > 0.0 else system.M.diagonal())[split.first]
    still = [name for name, energy in zip(split.names, weight * sizes**2) if energy <= AT_REST]
    if still:
        raise DataError(
            "rank-deficient",
            f"SEREP: {listed(still, {})} do not move in the kept modes {', '.join(map(str, numbers))}.",
            Advice("Choose masters that move in them: {}.", Call("da.structures.choose_masters")),
            Advice("Or choose other modes: {}.", Argument("modes")),
        )
    at_masters = Phi[split.first] / sizes[:, None]
    if np.linalg.svd(at_masters, compute_uv=False)[-1] <= m * factors.EPS:
        _judge_rounding(split, "SEREP", np.zeros((m, m)), np.zeros((m, m)), squares[:0], at_masters)
    W = np.linalg.inv(at_masters)
    scale = np.linalg.norm(W, axis=0)
    scaled = W / scale
    M, K = scaled.T @ scaled, scaled.T @ (squares[:, None] * scaled)
    _judge_rounding(split, "SEREP", M, K, squares, at_masters * scale[:, None])
    back = np.outer(scale / sizes, scale / sizes)
    return _reduced(split, np.asarray(Phi @ (W / sizes)), "SEREP", M=M * back, K=0.5 * (K + K.T) * back)


def _judge_rounding(split: Partition, method: str, M: FloatArray, K: FloatArray, squares: FloatArray,
                    shapes: FloatArray) -> None:  # fmt: skip
    """Warn of frequencies that rounding of M and K (unit diagonal of M) changes, refuse where modes are lost.

    squares (k,) and shapes (r, k) at the scaled masters, xᵀMx = 1; none where M is not positive definite.
    """
    error = np.inf
    if len(squares):
        size = np.abs(squares) + np.where(np.abs(squares) > 0.0, 0.0, np.abs(squares).max(initial=0.0) or 1.0)
        change = np.linalg.norm(K, 2) + size * np.linalg.norm(M, 2)
        error = float((0.5 * factors.EPS * change * (shapes**2).sum(axis=0) / size).max())
    lost = error > LOST or not massless.is_positive(M)  # as modes() of the small model will judge
    if error <= ROUNDED and not lost:
        return
    U, values, _ = np.linalg.svd(shapes if shapes.size else np.eye(len(M)))
    alike = [name for name, part in zip(split.names, np.abs(U[:, -1]) > 0.1 * np.abs(U[:, -1]).max()) if part]
    condition = values[0] / values[-1] if values[-1] > 0.0 else np.inf
    words = (
        f"{method}: the masters do not distinguish the kept modes: {listed(alike, {})} move nearly alike in them "
        f"(condition number {condition:.1e}), and rounding "
    )
    advice = Advice(
        "Choose masters further apart, where these modes differ, with {}.",
        Call("da.structures.choose_masters"), Call("da.structures.truncate_modal"),
    )  # fmt: skip
    if lost:
        raise DataError("ill-conditioned", f"{words}leaves no exact digit of a frequency.", advice)
    problem = f"{words}may change a frequency by {error:.0e} of its value."
    warnings.warn(ModelWarning("ill-conditioned", problem, advice, evidence={"error": error}), stacklevel=3)


def _reduced(split: Partition, T: FloatArray, method: str, *, loads: Mapping[str, FloatArray] | None = None,
             residual: FloatArray | None = None, left: FloatArray | None = None,
             **matrices: Any) -> Reduction:  # fmt: skip
    full = split.system
    system = reduction.project(
        full, T, split.names, left=left, residual=residual, loads=loads, method=method, **matrices
    )
    return Reduction(system, T, method=method, masters=split.names, full=full, residual=residual)
