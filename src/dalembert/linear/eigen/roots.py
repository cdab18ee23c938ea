"""Poles, zeros and modes of a state-space system.

poles   det(A - λ I) = 0
zeros   rank [[A - λ I, B], [C, D]] below its normal rank: the invariant zeros, which for a minimal system are
        the transmission zeros. The pencil is first reduced to one with D square and invertible (Emami-Naeini and
        Van Dooren 1982), so infinite zeros and surplus inputs or outputs never enter the eigenproblem.
modes   λ = -ξω ± iω√(1-ξ²), ω = |λ|, shapes C Ψ at the outputs; sampled systems through λ = ln(z)/dt

A pole at 0 of several integrators is defective and rounding alone would split it to ±ε^(1/k): null spaces are
deflated one Jordan level after the other, and those poles are exactly 0 (exactly z = 1 where sampled).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.tables import align_columns
from dalembert.core.text import complex_text, count_noun
from dalembert.linear.modes import Modes
from dalembert.numerics import ties
from dalembert.numerics.balancing import balance_matrix, balance_system

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace

EPS = float(np.finfo(np.float64).eps)


@frozen(init=False)
class Roots:
    """Poles or zeros, ascending in frequency; an array where NumPy wants one.

    Parameters
    ----------
    values : (k,) complex
        λ [rad/s], or z of a sampled system.
    dt : float, optional
        Sample time [s].
    kind : "pole" or "zero"
    """

    values: ComplexArray
    dt: float | None
    kind: str
    provenance: Mapping[str, Any]

    def __init__(
        self, values: object, dt: float | None = None, kind: str = "pole", provenance: Mapping[str, Any] | None = None
    ) -> None:
        roots = np.array(values, dtype=np.complex128)
        s = continuous(roots, dt)
        # rounding must not decide the order within a pair
        largest = float(np.abs(s[np.isfinite(s)]).max(initial=0.0))
        order = np.lexsort((ties.ranks(s.imag, largest), ties.ranks(s.real, largest), ties.ranks(np.abs(s))))
        assign(self, values=roots[order], dt=dt, kind=kind, provenance=provenance or {})

    @property
    def continuous(self) -> ComplexArray:
        """λ [rad/s]; of a sampled system ln(z)/dt on the principal branch."""
        return continuous(self.values, self.dt)

    @property
    def frequencies(self) -> FloatArray:
        """\\|λ\\| [rad/s]."""
        return np.abs(self.continuous)

    @property
    def damping_ratios(self) -> FloatArray:
        """ξ = -Re λ / \\|λ\\|; 0 for λ = 0 and 1 for z = 0."""
        s = self.continuous
        size = np.abs(s)
        ordinary = (size > 0.0) & np.isfinite(size)
        xi = np.divide(-s.real, size, out=np.zeros(len(s)), where=ordinary)
        xi[np.isinf(size)] = 1.0
        return xi + 0.0

    @property
    def time_constants(self) -> FloatArray:
        """-1 / Re λ [s]: time to fall to 1/e; negative where it grows, infinite where it stays."""
        rate = -self.continuous.real
        result: FloatArray = np.divide(1.0, rate, out=np.full(len(rate), np.inf), where=rate != 0.0)
        return result

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[complex]:
        return iter(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype) if copy is not False else np.asarray(self.values, dtype=dtype)

    def table(self) -> str:
        """Root, frequency, damping ratio and time constant, one line each.

        Examples
        --------
        >>> print(Roots([-1 + 2j, -1 - 2j, -4]).table())
         pole  frequency [rad/s]  damping ratio  time constant [s]
        -1-2i             2.2361        0.44721                  1
        -1+2i             2.2361        0.44721                  1
           -4                  4              1               0.25
        """
        head = (self.kind, "frequency [rad/s]", "damping ratio", "time constant [s]")
        columns = (self.frequencies, self.damping_ratios, self.time_constants)
        rows = [(complex_text(root), *(f"{column[i]:.5g}" for column in columns)) for i, root in enumerate(self.values)]
        return align_columns(head, rows)

    def __repr__(self) -> str:
        time = "" if self.dt is None else f"; sampled, dt = {self.dt:g} s"
        return f"{count_noun(len(self), self.kind)}{time}" + (f"\n{self.table()}" if len(self) else "")


def is_defective(vectors: ComplexArray, condition: float = 1e7) -> bool:
    """Whether eigenvectors, columns of length 1, are dependent: half of the digits are lost.

    A defective pair gives 1/√ε = 7e7.
    """
    return bool(len(vectors)) and not np.linalg.cond(vectors) < condition


def eigenvalues(A: FloatArray) -> ComplexArray:
    """Of a real matrix, always complex in type."""
    return np.linalg.eigvals(A).astype(np.complex128)


def complex_schur(A: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """T upper triangular and U unitary, A = U T Uᴴ; by the real form, which costs half of the direct way."""
    T, U = scipy.linalg.rsf2csf(*scipy.linalg.schur(A))
    return T, U


def solve(A: FloatArray, B: FloatArray) -> FloatArray:
    """A⁻¹ B."""
    return np.linalg.solve(A, B).astype(np.float64)


def continuous(values: ComplexArray, dt: float | None) -> ComplexArray:
    """ln(z)/dt on the principal branch; -∞ for z = 0."""
    if dt is None:
        return values
    result = np.full(len(values), complex(-np.inf, 0.0))
    alive = values != 0.0
    result[alive] = np.log(values[alive].astype(np.complex128)) / dt  # of negative reals too
    return result


def poles(system: StateSpace) -> Roots:
    """See :meth:`StateSpace.poles`."""
    values, _, null = find_eigenpairs(system, vectors=False)
    return Roots(np.concatenate([np.full(null, rest_point(system)), values]), system.dt, "pole", system.provenance)


def rest_point(system: StateSpace) -> float:
    """The pole of an integrator: 0, or z = 1."""
    return 0.0 if system.dt is None else 1.0


def null_levels(A: FloatArray, size: float) -> tuple[FloatArray, FloatArray, int]:
    """Orthogonal V (n, n) with Vᵀ A V = [[R, 0], [S, N]], R (without an eigenvalue 0), dimension k of the null space.

    N is strictly lower triangular, in blocks; the last k columns of V span the null space of A.
    ``size`` is that of the numbers A was computed from, which determines its rounding.
    """
    V, R, first = np.eye(len(A)), A, 0
    floor = 10.0 * len(A) * EPS * size
    while len(R):
        _, singular, Vt = np.linalg.svd(R)
        null = int(np.count_nonzero(singular <= floor))
        if null == 0:
            break
        first = first or null
        V[:, : len(R)] = V[:, : len(R)] @ Vt.T
        turned = Vt @ R @ Vt.T  # the last `null` columns are zero
        R = turned[: len(R) - null, : len(R) - null]
    return V, R, first


# Poles that deflation calls zero must be small in the plain eigenvalues too, 1e-3: far from normal matrices can be
# singular to rounding while no eigenvalue is small.
def _deflate(A: FloatArray, shift: float, share: float = 1e-3) -> tuple[ComplexArray, FloatArray, int, int]:
    """Eigenvalues other than ``shift``; V and k of :func:`null_levels` of A - shift I; its multiplicity."""
    shifted = A - shift * np.eye(len(A))
    every = eigenvalues(A)
    plain = np.sort(np.abs(every - shift))
    size = float(np.linalg.norm(A))  # for a short sample time A - I is small, but its rounding is not
    small = max(share * float(np.linalg.norm(shifted)), share**2 * size)
    if len(A) and plain[0] <= small:
        V, R, first = null_levels(shifted, size)
        count = len(A) - len(R)
        if count and plain[count - 1] <= small:
            return eigenvalues(R) + shift, V, first, count
    return every, np.eye(len(A)), 0, 0


def integrators_last(A: FloatArray, shift: float) -> tuple[FloatArray, int]:
    """Orthogonal V (n, n) with Vᵀ A V = [[R, X], [0, N]], and the size of R: all eigenvalues ``shift`` are in N."""
    _, V, _, count = _deflate(A.T, shift)
    return V, len(A) - count


def find_eigenpairs(system: StateSpace, *, vectors: bool) -> tuple[ComplexArray, ComplexArray, int]:
    """Poles other than 0 (z = 1), all of their vectors and then those of the null space, multiplicity of the latter.

    Vectors (nx, number of poles other than 0 + dimension of the null space), in the states of the system.
    """
    shift = rest_point(system)
    A, scale = balance_matrix(system.A)
    values, V, first, count = _deflate(A, shift)
    if not vectors:
        return values, np.zeros((system.nx, 0), dtype=np.complex128), count
    every, psi = np.linalg.eig(A)
    # Where zeros were deflated the plain eigenvalues are matched to the exact ones, smallest distance first.
    chosen = np.argsort(np.abs(every - shift), kind="stable")[count:]
    values, psi = (every[chosen], psi[:, chosen]) if count == 0 else _match(values, every[chosen], psi[:, chosen])
    return values, scale[:, None] * np.hstack([psi, V[:, system.nx - first :]]), count


def _match(exact: ComplexArray, plain: ComplexArray, psi: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.abs(exact[:, None] - plain[None, :]))
    return exact[rows], psi[:, columns]


def modes(system: StateSpace) -> Modes:
    """See :meth:`StateSpace.modes`."""
    values, psi, _ = find_eigenpairs(system, vectors=True)
    listed = values.imag >= 0.0
    null = psi.shape[1] - len(values)
    s = np.concatenate([np.zeros(null, dtype=np.complex128), continuous(values[listed], system.dt)])
    shapes: ComplexArray = system.C.astype(np.complex128) @ np.hstack(
        [psi[:, len(values) :], psi[:, : len(values)][:, listed]]
    )
    alive = np.isfinite(s)  # z = 0 dies within one step: no mode
    s, shapes = s[alive], shapes[:, alive]
    order = ties.by_modulus(s)
    return Modes(s[order], _largest_one(shapes[:, order]), system.outputs, provenance=system.provenance)


def _largest_one(shapes: ComplexArray) -> FloatArray | ComplexArray:
    """Columns with their largest component 1; a mode that no output shows stays 0."""
    pivot = shapes[ties.first_largest(shapes), np.arange(shapes.shape[1])] if len(shapes) else np.ones(shapes.shape[1])
    scaled = np.divide(shapes, pivot, out=np.zeros_like(shapes), where=pivot != 0.0)
    return scaled if scaled.imag.any() else np.ascontiguousarray(scaled.real)


def zeros(system: StateSpace) -> Roots:
    """See :meth:`StateSpace.zeros`."""
    A, B, C, _ = balance_system(system.A, system.B, system.C)
    # Units of time, inputs and outputs in which A, B, C are of size 1, so that one tolerance fits all.
    rate, b, c = (float(np.linalg.norm(matrix)) or 1.0 for matrix in (A, B, C))
    A, B, C, D = A / rate, B / b, C / c, system.D * rate / (b * c)
    floor = 10.0 * (system.nx + max(system.nu, system.ny)) * EPS
    A, B, C, D = _full_row_rank(A, B, C, D, floor)
    A, C, B, D = (matrix.T for matrix in _full_row_rank(A.T, C.T, B.T, D.T, floor))
    n, m = B.shape
    if n == 0:
        return Roots([], system.dt, "zero", system.provenance)
    # D is square and invertible now. On the null space of [C, D] the pencil is A_f - λ E_f, with E_f invertible.
    W = scipy.linalg.qr(np.hstack([C, D]).T)[0][:, m:] if m else np.eye(n)
    F, E = np.hstack([A, B]) @ W, W[:n]
    integrator = rest_point(system)
    values, count = _pencil_values(F - integrator / rate * E, E)
    values = integrator + rate * values[np.isfinite(values)]
    return Roots(np.concatenate([np.full(count, integrator), values]), system.dt, "zero", system.provenance)


def _pencil_values(F: FloatArray, E: FloatArray, share: float = 1e-3) -> tuple[ComplexArray, int]:
    """λ of F - λ E (of size 1, E invertible), those at 0 counted separately.

    Every accelerometer adds a double 0, which rounding would split as it does a double pole: null spaces of F are
    deflated one Jordan level after the other, as in :func:`null_levels`; ``share`` as in :func:`_deflate`.
    """
    every = scipy.linalg.eigvals(F, E)
    rest_F, rest_E, count = F, E, 0
    floor = 10.0 * len(F) * EPS  # not of F, which may be rounding alone
    while len(rest_F):
        _, singular, Vt = np.linalg.svd(rest_F)
        null = int(np.count_nonzero(singular <= floor))
        if null == 0:
            break
        keep = len(rest_F) - null
        Q = scipy.linalg.qr(rest_E @ Vt[keep:].T)[0][:, null:]
        rest_F, rest_E, count = Q.T @ rest_F @ Vt[:keep].T, Q.T @ rest_E @ Vt[:keep].T, count + null
    if not count or np.sort(np.abs(every))[count - 1] > share:
        return every, 0
    return (scipy.linalg.eigvals(rest_F, rest_E) if len(rest_F) else every[:0]), count


def _full_row_rank(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, floor: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Outputs without a direct term of the input fix states instead, until D has full row rank."""
    size_D = max(1.0, float(np.linalg.norm(D)))
    while len(C):
        U, singular, _ = np.linalg.svd(D, full_matrices=True) if D.shape[1] else (np.eye(len(D)), np.zeros(0), None)
        rank = int(np.count_nonzero(singular > floor * size_D))
        if rank == len(D):
            break
        C, D = U.T @ C, (U.T @ D)[:rank]
        pinning, C = C[rank:], C[:rank]
        if not len(A):
            break
        _, singular, Vt = np.linalg.svd(pinning)
        pinned = int(np.count_nonzero(singular > floor))
        if pinned == 0:
            break
        V = np.vstack([Vt[pinned:], Vt[:pinned]]).T  # free states first, pinned ones last
        n = len(A) - pinned
        A, B, C = V.T @ A @ V, V.T @ B, C @ V
        A, B, C, D = A[:n, :n], B[:n], np.vstack([C[:, :n], A[n:, :n]]), np.vstack([D, B[n:]])
    return A, B, C, D
