"""The factor of constraint rows: one elimination at one pose, for accelerations and for projections.

    H = A M⁻¹ Aᵀ ,   D = diag H ,   S = (H + ε D)⁻¹ by sparse LDL ,   H⁻¹ r = Σ_j (ε S D)^j S r ,  j = 0 … k

(The same as scaling the rows so that diag H = 1 and adding ε 1; an LDL without pivoting does not care for scale. The
sum is iterative refinement against H: the residual r - H x₀ is ε D x₀, so no product with H is needed.)
The regularisation keeps redundant rows and singular poses well posed, with multipliers of minimum norm; the refinements
remove its error wherever H is not singular: a singular value σ of the scaled H is missed by (ε/(σ+ε))^(k+1).
Rows that are independent at any pose (joints of a branch without loops) get no ε and come first: H = L D Lᵀ is
then exact for them, and a refinement touches the triangular factor of the other rows only.

Where M is singular, J Eᵀ in the directions E that lack mass makes it regular, and μ = J Eᵀ v̇ takes the added force out
again: (M + E J Eᵀ) v̇ = f + Aᵀ λ + E μ, whatever J is. With M̂ = M + E J Eᵀ the multipliers follow from

    | A M̂⁻¹ Aᵀ      A M̂⁻¹ E         | |λ|   | b - A M̂⁻¹ f |
    | Eᵀ M̂⁻¹ Aᵀ    -(J⁻¹ - Eᵀ M̂⁻¹ E) | |μ| = |  - Eᵀ M̂⁻¹ f |

which is quasi-definite (J⁻¹ - Eᵀ M̂⁻¹ E ≥ 0, and 0 where M E = 0): any order of elimination has its LDL (Vanderbei 1995)
in which μ follows the rows that hold its direction.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.solve.constrained.mass_factor import MassFactor

SX = ca.SX
EPSILON = 1e-8
EMPTY = 1e-16  # share of the trace of H that an all-zero row gets, to stay factorable
NO_ROW = 1e-100  # the same where every row is zero: all joints with exact friction slide
REFINEMENTS = 3


@dataclass(frozen=True)
class Massless:
    """Directions of the speeds without mass: (column, value) pairs of unit vectors, one list each.

    inertia : J of each.  exact : whether M E = 0 there at every pose; else J⁻¹ - Eᵀ M̂⁻¹ E is evaluated.
    """

    directions: tuple[tuple[tuple[int, float], ...], ...]
    inertia: tuple[float, ...]
    exact: tuple[bool, ...]

    def matrix(self, size: int) -> Any:
        """E, sparse (nv, k)."""
        entries = [(row, k, value) for k, one in enumerate(self.directions) for row, value in one]
        rows, columns, values = (list(x) for x in zip(*entries, strict=True))
        return ca.DM.triplet(rows, columns, ca.DM(values), size, len(self.directions))


class ConstraintFactor:
    """One factorization of rows A at one pose.

    massless : the directions in which M has no mass.  sure : rows that are independent at every pose.
    groups : rows with one size D, the sum of theirs. A row of a loop that is cut may vanish at a dead point, where its
        own size would hide that the pose is singular.
    """

    def __init__(
        self, M: Any, A: Any, *, massless: Massless | None = None, sure: Sequence[int] = (),
        groups: Sequence[Sequence[int]] = (),
    ) -> None:  # fmt: skip
        self.A, self.nv, self.rows = A, M.shape[0], A.shape[0]
        if self.rows == 0 and massless is not None:
            raise ModelError("massless-body", "a body has no mass (or inertia) and no joint holds it.")
        self._all = A
        lacking = 0
        if massless is not None:
            E = SX(massless.matrix(self.nv))
            lacking = E.shape[1]
            J = ca.DM(massless.inertia)
            M = M + E @ ca.diag(J) @ E.T
            self._all = ca.vertcat(A, E.T)
        self._mass = MassFactor(M)
        if self.rows == 0:
            return
        K = self._mass.congruence(self._all)
        diagonal = ca.densify(ca.diag(K))[: self.rows]
        for group in groups:
            diagonal[list(group)] = ca.sum1(diagonal[list(group)])
        if lacking:
            K = K - self._keep_massless_exact(K, massless, J)
        pattern = ca.sparsify(K).sparsity()
        order, leading = elimination_order(pattern, self.rows, sure)
        self._order, self._leading = order, leading
        size = len(order)
        shift = ca.vertcat(EPSILON * diagonal + EMPTY * ca.sum1(diagonal) + NO_ROW, SX(size - self.rows, 1))
        self._shift = shift[order[leading:]] if leading < size else SX(0, 1)
        K = ca.triu2symm(ca.triu(ca.sparsify(K)[order, order]))
        K = K + ca.diag(ca.sparsify(ca.vertcat(SX(leading, 1), self._shift)))
        self._D, self._LT, _ = ca.ldl(K, False)

    def numbers(self) -> Any:
        """All that the factor consists of, as one column."""
        return ca.vertcat(*(ca.vec(part.nz[:]) for part in self._parts()))

    def with_numbers(self, numbers: Any) -> ConstraintFactor:
        """The same factor made of such a column."""
        other = copy.copy(self)
        parts, first = [], 0
        for part in self._parts():
            parts.append(SX(part.sparsity(), numbers[first : first + part.nnz()]))
            first += part.nnz()
        other._all, other._D, other._LT, other._shift = parts[:4]
        other._mass = self._mass.with_parts(parts[4:])
        other.A = other._all[: self.rows, :]
        return other

    def _parts(self) -> tuple[Any, ...]:
        return self._all, self._D, self._LT, self._shift, *self._mass.parts()

    def _keep_massless_exact(self, K: Any, massless: Massless | None, J: Any) -> Any:
        """The lower right block of the matrix is EᵀM̂⁻¹E - J⁻¹: zero in directions without any mass."""
        assert massless is not None
        first, size = self.rows, self.rows + len(massless.directions)
        block = K[first:, first:]
        exact = [k for k, flag in enumerate(massless.exact) if flag]
        taken = SX(size, size)
        taken[first:, first:] = ca.diag(SX(1 / J))
        for k in exact:
            for j in range(block.shape[0]):
                taken[first + k, first + j] = block[k, j]
                taken[first + j, first + k] = block[j, k]
        return taken

    def _solve(self, right: Any, refinements: int) -> Any:
        """(λ, μ) of a right-hand side, in the order of rows and directions."""
        D, LT, n = self._D, self._LT, self._leading
        y = ca.densify(right)[self._order]
        size = y.shape[0]
        trailing = list(range(size - n))
        if n == 0:
            x = self._refine(y, D, LT, trailing, refinements)
        elif n == size:
            x = ca.ldl_solve(y, D, LT, trailing or list(range(size)))
        else:
            L = LT.T
            unit = SX.eye(n)
            first = ca.solve(L[:n, :n] + unit, y[:n])
            last = self._refine(y[n:] - L[n:, :n] @ first, D[n:], LT[n:, n:], trailing, refinements)
            x = ca.vertcat(ca.solve(LT[:n, :n] + unit, first / D[:n] - LT[:n, n:] @ last), last)
        back = [0] * size
        for place, k in enumerate(self._order):
            back[k] = place
        return x[back]

    def _refine(self, y: Any, D: Any, LT: Any, order: list[int], refinements: int) -> Any:
        x = term = ca.ldl_solve(y, D, LT, order)
        for _ in range(refinements):
            term = ca.ldl_solve(self._shift * term, D, LT, order)
            x = x + term
        return x

    def _response(self, multipliers: Any) -> Any:
        """Accelerations that (λ, μ) cause."""
        return self._mass.solve(self._all.T @ multipliers)

    def accelerations(self, f: Any, b: Any, refinements: int | None = None) -> tuple[Any, Any]:
        """(v̇, λ) with M v̇ = f + Aᵀ λ and A v̇ = b."""
        free = self._mass.solve(f)
        if self.rows == 0:
            return free, SX.zeros(0, 1)
        right = ca.vertcat(b, SX.zeros(self._all.shape[0] - self.rows)) - self._all @ free
        x = self._solve(right, REFINEMENTS if refinements is None else refinements)
        return free + self._response(x), x[: self.rows]

    def correction(self, residual: Any, refinements: int = 0) -> Any:
        """The smallest change of speeds (in the mass metric) with A δ = -residual."""
        if self.rows == 0:
            return SX.zeros(self.nv)
        right = ca.vertcat(residual, SX.zeros(self._all.shape[0] - self.rows))
        # the small pivots of μ lose digits that one refinement gives back
        return -self._response(self._solve(right, max(refinements, self._all.shape[0] > self.rows)))


def elimination_order(pattern: Any, rows: int, sure: Sequence[int] = ()) -> tuple[list[int], int]:
    """Order of least degree: sure rows first, then the others; a direction without mass after all rows that hold it.

    Returns the order and the number of sure rows in it.
    """
    size = pattern.size1()
    near: list[set[int]] = [set() for _ in range(size)]
    for i, j in zip(pattern.row(), pattern.get_col(), strict=True):
        if i != j:
            near[i].add(j)
            near[j].add(i)
    waiting = {k: {i for i in near[k] if i < rows} for k in range(rows, size)}  # μ -> rows to come before it
    certain = set(sure)
    order: list[int] = []
    done = [False] * size

    def run(group: set[int]) -> None:
        heap = [(len(near[k]), k) for k in group if not waiting.get(k)]
        heapq.heapify(heap)
        while heap:
            degree, k = heapq.heappop(heap)
            if done[k]:
                continue
            if degree != len(near[k]):
                heapq.heappush(heap, (len(near[k]), k))
                continue
            done[k] = True
            order.append(k)
            around = near[k]
            for i in around:
                own = near[i]
                own |= around
                own -= {i, k}
                if k < rows and i >= rows and k in waiting[i]:
                    waiting[i].discard(k)
                    if not waiting[i] and i in group:
                        heapq.heappush(heap, (len(own), i))
            for i in around:
                if i in group and not waiting.get(i):
                    heapq.heappush(heap, (len(near[i]), i))

    run(certain)
    leading = len(order)
    run(set(range(size)) - certain)
    return order, leading
