"""Upper bound of the structured singular value by scalings D and G (Fan, Tits and Doyle 1991).

With z = M w and w = Δ z, no Δ of the structure with ‖Δ‖ ≤ 1/β makes I - M Δ singular where

    F(D, G) = β² D_w - M* D_z M - j (G M - M* G*) ≻ 0 ,     D ≻ 0 ,  G = G* on real blocks, 0 on the others.

D is Hermitian for δ I and a multiple of the identity for a full block. For fixed D and G the least β² is the largest
eigenvalue of a pencil; it is minimised over both by the method of centres (Boyd and El Ghaoui 1993): Newton steps to
the minimum of -ln det F - ln det D at a level above the eigenvalue, which then falls. Every iterate is a bound.

A skewed bound fixes the size of the first blocks at 1 and bounds the gain of the last ones (Fan and Tits 1992):
β² stands on their rows only.

F depends on the frequency through M alone, so it stays definite between the imaginary eigenvalues, next to a
frequency, of a Hamiltonian matrix: these two ends bound the interval for which one pair D, G is valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import AnyArray, BoolArray, ComplexArray, FloatArray
from dalembert.linear.uncertain import UncertainBlock


class BlockStructure:
    """Places of the blocks of Δ, and a basis of their scalings.

    fixed : for a skewed bound, how many of the first blocks have the size 1.
    """

    def __init__(self, blocks: Sequence[UncertainBlock], fixed: int = 0) -> None:
        self.blocks = tuple(blocks)
        self.rows = np.cumsum([0, *(b.rows for b in blocks)])
        self.columns = np.cumsum([0, *(b.columns for b in blocks)])
        self.nw, self.nz = int(self.rows[-1]), int(self.columns[-1])
        self.scaled = np.ones(self.nw) if not fixed else (np.arange(self.nw) >= self.rows[fixed]).astype(float)
        D_w, D_z, G = [], [], []
        for k, block in enumerate(blocks):
            w, z = self.w(k), self.z(k)
            for E in _hermitian_basis(block.rows) if block.is_scalar else [np.eye(block.rows)]:
                D_w.append(np.zeros((self.nw, self.nw), complex))
                D_z.append(np.zeros((self.nz, self.nz), complex))
                D_w[-1][w, w] = E
                D_z[-1][z, z] = E if block.is_scalar else np.eye(block.columns)
            if block.kind == "real":
                for E in _hermitian_basis(block.rows):
                    G.append(np.zeros((self.nw, self.nz), complex))
                    G[-1][w, z] = E
        self.D_w, self.D_z = np.array(D_w), np.array(D_z)
        self.G = np.array(G).reshape(len(G), self.nw, self.nz)

    def w(self, k: int) -> slice:
        return slice(int(self.rows[k]), int(self.rows[k + 1]))

    def z(self, k: int) -> slice:
        return slice(int(self.columns[k]), int(self.columns[k + 1]))

    @property
    def is_real(self) -> bool:
        """Whether all blocks are real."""
        return all(block.kind == "real" for block in self.blocks)


@dataclass(frozen=True)
class Scalings:
    """D on rows and columns of Δ, G, and the bound β that they give at their frequency."""

    D_w: ComplexArray
    D_z: ComplexArray
    G: ComplexArray
    bound: float


def _hermitian_basis(n: int) -> list[ComplexArray]:
    basis = []
    for i in range(n):
        for j in range(i, n):
            E = np.zeros((n, n), complex)
            E[i, j] = E[j, i] = 1.0
            basis.append(E)
            if i != j:
                E = np.zeros((n, n), complex)
                E[i, j], E[j, i] = 1j, -1j
                basis.append(E)
    return basis


def bound_gain(
    M: ComplexArray,
    structure: BlockStructure,
    start: Scalings | None = None,
    *,
    target: float = 0.0,
    accuracy: float = 1e-4,
    contraction: float = 0.15,
    most_steps: int = 150,
) -> Scalings:
    """Scalings of nearly least bound at one frequency; M (nz, nw).

    start : scalings of a frequency nearby.  target : stop below this bound.
    contraction : share of the distance between level and eigenvalue that remains; 0.05 to 0.3 need the same time.
    """
    T_w, T_z, D0, g0 = _precondition(M, structure, start)
    Mt = T_z @ M @ np.linalg.inv(T_w)
    count = len(structure.D_w)
    identity = structure.D_w, structure.D_z
    S = structure.scaled
    MDM = np.einsum("ba,kbc,cd->kad", Mt.conj(), identity[1], Mt, optimize=True)
    GM = np.einsum("kab,bc->kac", structure.G, Mt)
    Gs = 1j * (GM - np.conj(np.swapaxes(GM, 1, 2)))
    scale = np.sqrt(S)
    weight_t = scale[:, None] * identity[0] * scale  # on rows whose size is bounded
    weight_1 = identity[0] - weight_t if (S < 1.0).any() else np.zeros_like(identity[0])
    x = np.concatenate([_coordinates(D0, identity[0]), g0])
    terms_0 = np.concatenate([weight_1 - MDM, -Gs])
    terms_t = np.concatenate([weight_t, np.zeros_like(Gs)])
    trace = np.concatenate([np.einsum("kaa->k", identity[0]).real, np.zeros(len(Gs))])

    def eigenvalue(x: FloatArray) -> float:
        left, right = -np.tensordot(x, terms_0, 1), np.tensordot(x, terms_t, 1)
        if (S == 1.0).all():
            return float(scipy.linalg.eigh(left, right, eigvals_only=True, check_finite=False)[-1])
        return _skewed_eigenvalue(left, right, S > 0.0)

    level = eigenvalue(x)
    if not math.isfinite(level) and (S < 1.0).any():
        return Scalings(
            T_w.conj().T @ T_w, T_z.conj().T @ T_z, np.zeros((structure.nw, structure.nz), complex), math.inf
        )
    size = max(float(np.linalg.norm(Mt, 2)) ** 2, 1e-300)
    floor = max(target**2, 1e-10 * size)
    best, best_x = level, x
    level = level + 0.1 * abs(level) + 1e-12 * size
    for _ in range(most_steps):
        x, settled = _center(x, terms_0 + level * terms_t, identity[0], trace, count)
        value = eigenvalue(x)
        if value < best:
            best, best_x = value, x
        if best <= floor or (settled and level - value <= accuracy * abs(value)):
            break
        if settled:
            level = (1.0 - contraction) * value + contraction * level
    D_w = T_w.conj().T @ np.tensordot(best_x[:count], identity[0], 1) @ T_w
    D_z = T_z.conj().T @ np.tensordot(best_x[:count], identity[1], 1) @ T_z
    G = T_w.conj().T @ np.tensordot(best_x[count:], structure.G, 1) @ T_z
    size_D = float(np.trace(D_w).real) / structure.nw if structure.nw else 1.0
    return Scalings(D_w / size_D, D_z / size_D, G / size_D, math.sqrt(max(best, 0.0)))


def _precondition(
    M: ComplexArray, structure: BlockStructure, start: Scalings | None, inner: float = 1e-6
) -> tuple[ComplexArray, ComplexArray, ComplexArray, FloatArray]:
    """T with T* T near the optimum, so that the search is near D = I; D and the coordinates of G to begin with.

    Where G replaces D of a real block, T has the size of G / β: the next optimum may have D again.
    inner : share of its block that is added to D, so that the search begins inside.
    """
    T_w, T_z = np.zeros((structure.nw,) * 2, complex), np.zeros((structure.nz,) * 2, complex)
    if start is not None:
        D = start.D_w.copy()
        for k, block in enumerate(structure.blocks):
            w, z = structure.w(k), structure.z(k)
            if block.is_scalar:
                D[w, w] += inner * float(np.trace(D[w, w]).real) / block.rows * np.eye(block.rows)
                size = D[w, w]
                if block.kind == "real" and start.bound > 0.0:
                    values, V = np.linalg.eigh(start.G[w, z])
                    size = size + (V * np.abs(values) / start.bound) @ V.conj().T
                T_w[w, w] = T_z[z, z] = np.linalg.cholesky(size).conj().T
            else:
                root = math.sqrt(float(D[w, w][0, 0].real))
                T_w[w, w], T_z[z, z] = root * np.eye(block.rows), root * np.eye(block.columns)
        inverse = np.linalg.inv(T_w)
        D = inverse.conj().T @ D @ inverse
        if not len(structure.G):
            return T_w, T_z, D, np.zeros(0)
        return T_w, T_z, D, _coordinates(inverse.conj().T @ start.G @ np.linalg.inv(T_z), structure.G)
    d = _balance(np.abs(M), structure)
    for k, block in enumerate(structure.blocks):
        w, z = structure.w(k), structure.z(k)
        T_w[w, w] = np.diag(d[w]) if block.is_scalar else d[w][0] * np.eye(block.rows)
        T_z[z, z] = np.diag(d[w]) if block.is_scalar else d[w][0] * np.eye(block.columns)
    return T_w, T_z, np.eye(structure.nw, dtype=complex), np.zeros(len(structure.G))


def _balance(size: FloatArray, structure: BlockStructure, rounds: int = 10) -> FloatArray:
    """Diagonal scalings d of the rows w that give rows and columns of d M d⁻¹ like norms (Osborne 1960)."""
    groups: list[tuple[slice, slice]] = []
    for k, block in enumerate(structure.blocks):
        if block.is_scalar:
            for i, j in zip(range(structure.nw)[structure.w(k)], range(structure.nz)[structure.z(k)], strict=True):
                groups.append((slice(i, i + 1), slice(j, j + 1)))
        else:
            groups.append((structure.w(k), structure.z(k)))
    n = len(groups)
    N = np.array([[np.linalg.norm(size[z, w]) for w, _ in groups] for _, z in groups]).reshape(n, n)
    np.fill_diagonal(N, 0.0)
    d = np.ones(n)
    for _ in range(rounds):
        for i in range(n):
            row, column = np.linalg.norm(d[i] * N[i] / d), np.linalg.norm(d * N[:, i] / d[i])
            if row > 0.0 and column > 0.0:
                d[i] *= math.sqrt(column / row)
    d = np.clip(d / np.exp(np.mean(np.log(d))), 1e-6, 1e6) if n else d
    scale = np.ones(structure.nw)
    for (w, _), value in zip(groups, d, strict=True):
        scale[w] = value
    return scale


def _coordinates(matrix: AnyArray, basis: AnyArray) -> FloatArray:
    """Coordinates of a matrix in an orthogonal basis."""
    sizes = np.einsum("kab,kab->k", basis, basis.conj()).real
    coordinates: FloatArray = np.einsum("ab,kab->k", matrix, basis.conj()).real / sizes
    return coordinates


def _skewed_eigenvalue(left: ComplexArray, right: ComplexArray, bounded: BoolArray) -> float:
    """Least t with t right - left ⪰ 0, where right is zero on the rows that are not bounded; ∞ where there is none."""
    a, b = np.flatnonzero(bounded), np.flatnonzero(~bounded)
    inner = -left[np.ix_(b, b)]
    try:
        half = np.linalg.cholesky(inner)
    except np.linalg.LinAlgError:
        return math.inf
    cross = np.linalg.solve(half, left[np.ix_(b, a)])
    return float(
        scipy.linalg.eigh(left[np.ix_(a, a)] + cross.conj().T @ cross, right[np.ix_(a, a)], eigvals_only=True)[-1]
    )


def _center(
    x: FloatArray,
    terms: AnyArray,
    basis: AnyArray,
    trace: FloatArray,
    count: int,
    most: int = 8,
    near: float = 0.25,
    shortest: float = 1e-6,
) -> tuple[FloatArray, bool]:
    """Newton steps to the minimum of -ln det F - ln det D with a constant trace of D; whether it settled.

    near : decrement from which steps are whole ones, and after which one more is enough (Nesterov and Nemirovskii).
    """

    def factors(x: FloatArray) -> tuple[Any, Any] | None:
        try:
            return np.linalg.cholesky(np.tensordot(x, terms, 1)), np.linalg.cholesky(np.tensordot(x[:count], basis, 1))
        except np.linalg.LinAlgError:
            return None

    both = factors(x)
    if both is None:
        return x, False
    for _ in range(most):
        gradient, hessian = np.zeros(len(x)), np.zeros((len(x),) * 2)
        for L, matrices, last in ((both[0], terms, len(x)), (both[1], basis, count)):
            inverse = scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)
            S = inverse @ matrices @ inverse.conj().T
            gradient[:last] -= np.einsum("kaa->k", S).real
            flat = S.reshape(last, -1)
            flat = np.hstack([flat.real, flat.imag])
            hessian[:last, :last] += flat @ flat.T
        bordered = np.block(
            [[hessian + 1e-12 * np.trace(hessian) / len(x) * np.eye(len(x)), trace[:, None]], [trace, 0.0]]
        )
        step = np.linalg.solve(bordered, np.append(-gradient, 0.0))[:-1]
        decrement = math.sqrt(max(float(-gradient @ step), 0.0))
        length = 1.0 / (1.0 + decrement) if decrement > near else 1.0
        both = factors(x + length * step)
        while both is None and length > shortest:
            length *= 0.5
            both = factors(x + length * step)
        if both is None:
            return x, False
        x = x + length * step
        if decrement <= near:
            return x, True
    return x, False


def valid_interval(
    system: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    scalings: Scalings,
    level: float,
    omega: float,
    scaled: FloatArray,
    axis: float = 1e-7,
    definite: float = 1e-9,
    rounding: float = 1e-13,
) -> tuple[float, float]:
    """Ends of the interval of frequencies around ω in which the scalings give a bound below the level.

    axis : real part, relative to its modulus, of an eigenvalue that counts as imaginary, unless F is definite there
    by more than ``definite`` of its size. A false one costs a frequency more.
    """
    A, B, C, D = system
    weight = np.sqrt(np.where(scaled > 0.0, level**2, 1.0))
    level_D = weight[:, None] * scalings.D_w * weight
    Dz, G = scalings.D_z, scalings.G
    Q = -C.T @ Dz @ C
    S = -C.T @ Dz @ D + 1j * C.T @ G.conj().T
    R = level_D - D.T @ Dz @ D - 1j * (G @ D - D.T @ G.conj().T)

    def is_definite(w: float) -> bool:
        M = response(system, w)
        F = level_D - M.conj().T @ Dz @ M - 1j * (G @ M - M.conj().T @ G.conj().T)
        values = np.linalg.eigvalsh(0.5 * (F + F.conj().T))
        return bool(values[0] > definite * abs(values[-1]))

    if not is_definite(omega):
        return omega, omega
    if not len(A):
        return 0.0, math.inf
    try:
        X: Any = np.linalg.solve(R, np.hstack([S.conj().T, B.T]))
    except np.linalg.LinAlgError:
        return omega, omega
    n = len(A)
    top = A - B @ X[:, :n]
    H = np.block([[top, -B @ X[:, n:]], [-(Q - S @ X[:, :n]), -top.conj().T]])
    values = scipy.linalg.eigvals(H, check_finite=False, overwrite_a=True)
    size = np.abs(values)
    near = values[np.abs(values.real) <= axis * size + rounding * size.max()]
    crossings = [w for w in near.imag if not (abs(w - omega) <= rounding * (1.0 + abs(omega)) or is_definite(abs(w)))]
    above, below = [w for w in crossings if w > omega], [w for w in crossings if w < omega]
    return max([0.0, *below]), min([math.inf, *above])


def response(system: tuple[FloatArray, FloatArray, FloatArray, FloatArray], omega: float) -> ComplexArray:
    """M(jω); at ∞ the direct term."""
    A, B, C, D = system
    if math.isinf(omega) or not len(A):
        return D.astype(complex)
    states: Any = np.linalg.solve(1j * omega * np.eye(len(A)) - A, B)
    return C @ states + D  # type: ignore[no-any-return]
