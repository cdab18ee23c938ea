"""Sparse elimination inside the graph, for the unsymmetric systems of implicit steps.

    K = | E  B |     E: coordinates, internal states, speeds;  lower right: multipliers
        | C  0 |

No pivoting by value. Pivots of the first block are masses plus h times damping plus h² times stiffness. A multiplier
becomes a pivot once the unknowns that its row or column names are eliminated: what is left of it is the counterpart of
A M⁻¹ Aᵀ and gets ε of its own diagonal, as in `constrained`, so that redundant rows and singular poses stay well posed.
Refinement against K itself takes the ε out again. So a chain of bodies is eliminated body by body, joint by joint, and
the work grows with its length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import casadi as ca

from dalembert.equations import EquationsOfMotion
from dalembert.solve.constrained.constraint_factor import EMPTY, EPSILON
from dalembert.solve.constrained.solve import TINY
from dalembert.solve.constrained.structure import massless_directions

SX = ca.SX
_Rule: TypeAlias = "Callable[[set[int], set[int]], int]"  # columns right of a pivot, rows below it
PLAIN_PIVOT = 0.1  # smallest number that is taken for a pivot without looking at the others


class Elimination:
    """L U of K with the first `leading` unknowns before the multipliers that they meet in.

    refinements : of every solution, against K.
    """

    def __init__(self, K: Any, leading: int, refinements: int = 0) -> None:
        K = ca.sparsify(K)
        self.K, self.refinements = K, refinements
        n = K.shape[0]
        rows: list[dict[int, Any]] = [{} for _ in range(n)]
        columns: list[set[int]] = [set() for _ in range(n)]
        sparsity = K.sparsity()
        for i, j, value in zip(sparsity.row(), sparsity.get_col(), K.nonzeros(), strict=True):
            rows[i][j] = value
            columns[j].add(i)
        for k in range(leading, n):
            rows[k].setdefault(k, SX(0))
            columns[k].add(k)
        self.n, self.leading = n, leading
        self.lower: list[tuple[int, list[tuple[int, Any]]]] = []
        self.upper: list[tuple[int, Any, list[tuple[int, Any]]]] = []
        self._eliminate(rows, columns)

    def _eliminate(self, rows: list[dict[int, Any]], columns: list[set[int]]) -> None:
        leading = self.leading
        floor = (
            EMPTY * _trace(rows, leading) + TINY
        )  # of a machine whose only row is empty, such as friction that slides
        diagonal = {k: rows[k][k] for k in range(leading, self.n)}  # without the changes by other multipliers
        for k in elimination_order(rows, leading):
            pivot = rows[k].pop(k)
            columns[k].discard(k)
            if k >= leading:
                pivot = pivot + EPSILON * diagonal[k] + floor
            inverse = 1 / pivot
            below = []
            for i in sorted(columns[k]):
                factor = rows[i].pop(k) * inverse
                below.append((i, factor))
                target = rows[i]
                for j, value in rows[k].items():
                    change = factor * value
                    if i == j and i >= leading > k:
                        diagonal[i] = diagonal[i] - change
                    if j in target:
                        target[j] = target[j] - change
                    else:
                        target[j] = -change
                        columns[j].add(i)
            for j in rows[k]:
                columns[j].discard(k)
            self.lower.append((k, below))
            self.upper.append((k, inverse, sorted(rows[k].items())))

    def values(self) -> Any:
        """Every number of the factors, and of K where solutions are refined, in one column."""
        entries: list[Any] = []
        for _, below in self.lower:
            entries += [value for _, value in below]
        for _, inverse, right in self.upper:
            entries += [inverse, *(value for _, value in right)]
        if self.refinements:
            entries += self.K.nonzeros()
        return ca.vertcat(*entries)

    def solver(self) -> ca.Function:
        """(values, right-hand side) -> x."""
        values = SX.sym("values", self.values().shape[0])
        numbers = iter(ca.vertsplit(values))
        lower = [(k, [(i, next(numbers)) for i, _ in below]) for k, below in self.lower]
        upper = [(k, next(numbers), [(j, next(numbers)) for j, _ in right]) for k, _, right in self.upper]
        right = SX.sym("right", self.n)
        x = _substitute(lower, upper, right)
        if self.refinements:
            K = SX(self.K.sparsity(), ca.vertcat(*numbers))
            for _ in range(self.refinements):
                x = x + _substitute(lower, upper, right - K @ x)
        return ca.Function("solve", [values, right], [ca.densify(x)])


class SymmetricElimination:
    """L D Lᵀ of | E  Aᵀ | with E symmetric: of the unknowns and of minus the multipliers, in the same order of pivots.
                 | A  -S |
    S is ε of the size of A diag(E)⁻¹ Aᵀ, which the iteration of a step takes out again.
    """

    def __init__(self, E: Any, A: Any) -> None:
        self.leading, self.n = E.shape[0], E.shape[0] + A.shape[0]
        size = ca.sum2(A * A @ ca.diag(1 / ca.diag(E)))
        K = ca.sparsify(ca.blockcat([[E, A.T], [A, -ca.diag(ca.densify(EPSILON * size + EMPTY * ca.sum1(size)))]]))
        rows: list[dict[int, Any]] = [{} for _ in range(self.n)]
        for i, j in zip(*K.sparsity().get_triplet(), strict=True):
            rows[i][j] = None
        self.order = elimination_order(rows, self.leading)
        self._D, self._LT, _ = ca.ldl(ca.triu2symm(ca.triu(K[self.order, self.order])), False)

    def values(self) -> Any:
        """Every number of the factors, in one column."""
        return ca.vertcat(self._D, *self._LT.nonzeros())

    def solver(self) -> ca.Function:
        """(values, right-hand side) -> x."""
        values, right = SX.sym("values", self.values().shape[0]), SX.sym("right", self.n)
        D, LT = values[: self.n], SX(self._LT.sparsity(), values[self.n :])
        found = ca.ldl_solve(right[self.order], D, LT, list(range(self.n)))
        places = [0] * self.n
        for place, k in enumerate(self.order):
            places[k] = place
        x = found[places]
        return ca.Function("solve", [values, right], [ca.densify(ca.vertcat(x[: self.leading], -x[self.leading :]))])


def joint_row_weight(eqs: EquationsOfMotion, M: Any, A: Any) -> Any:
    """Multiple W of the joint rows that makes the first block regular where M lacks rank: M + W A.

    The balance of forces plus W times the joint rows has the same solution. Only rows that move massless coordinates
    count, so that other bodies stay apart.
    """
    weight = SX(A.shape[1], A.shape[0])
    massless = massless_directions(eqs)
    if massless is None:
        return weight
    moved = {k for direction in massless.directions for k, _ in direction}
    rows = sorted({i for i, k in zip(*A.sparsity().get_triplet(), strict=True) if k in moved})
    for i in rows:
        weight[:, i] = ca.mmax(M) / (ca.sumsqr(A[i, :]) + TINY) * A[i, :].T
    return weight


def elimination_order(rows: list[dict[int, Any]], leading: int) -> list[int]:
    """Order of the pivots: of two rules for the next one, the order with less work.

    Of the pivots that are possible, the one that changes the fewest entries is next, which is better in loops, or the
    one that meets the fewest unknowns, which is better along chains.
    """
    rules: tuple[_Rule, ...] = (lambda right, below: len(right) * len(below), lambda right, below: len(right | below))
    return min((_order(rows, leading, rule) for rule in rules), key=lambda found: found[0])[1]


def _order(rows: list[dict[int, Any]], leading: int, rule: _Rule) -> tuple[int, list[int]]:
    """Changed entries, and the order of the pivots with the least value of the rule first."""
    right = [set(row) - {i} for i, row in enumerate(rows)]
    below: list[set[int]] = [set() for _ in rows]
    for i, entries in enumerate(right):
        for j in entries:
            below[j].add(i)
    waits = {k: {i for i in right[k] | below[k] if i < leading} for k in range(leading, len(rows))}
    possible = {*range(leading), *(k for k, others in waits.items() if not others)}
    order, work = [], 0
    while possible:
        k = min(possible, key=lambda i: (rule(right[i], below[i]), i))
        possible.remove(k)
        order.append(k)
        work += len(right[k]) * len(below[k])
        for i in below[k]:
            right[i].remove(k)
            right[i] |= right[k] - {i}
        for j in right[k]:
            below[j].remove(k)
            below[j] |= below[k] - {j}
        if k < leading:
            for m, others in waits.items():
                if k in others:
                    others.remove(k)
                    if not others:
                        possible.add(m)
    return work, order


def _trace(rows: list[dict[int, Any]], leading: int) -> Any:
    """Size of the counterpart of A M⁻¹ Aᵀ, from the diagonal of the first block; 0 counts for a diagonal of 0."""
    total = SX(0)
    for k in range(leading, len(rows)):
        for i, value in rows[k].items():
            if i < leading and k in rows[i] and i in rows[i]:
                mass = rows[i][i]
                total = total - value * rows[i][k] * mass / (mass * mass + TINY)
    return total


def _substitute(
    lower: list[tuple[int, list[tuple[int, Any]]]],
    upper: list[tuple[int, Any, list[tuple[int, Any]]]],
    right: object,
) -> Any:
    y = ca.vertsplit(right)
    for k, below in lower:
        for i, factor in below:
            y[i] = y[i] - factor * y[k]
    for k, inverse, entries in reversed(upper):
        total = y[k]
        for j, value in entries:
            total = total - value * y[j]
        y[k] = total * inverse
    return ca.vertcat(*y)


def solve_rows_of_joints(K: Any, right: Any) -> Any:
    """x with K x = right for rows of joints: entries that are plain numbers are pivots first, QR solves the rest.

    A joint gives the place of its body by the angles, with ones: what is left has one unknown per angle of a loop. (QR
    of the whole needs nine times the operations.)
    """
    n = K.shape[0]
    sparsity = ca.sparsify(K).sparsity()
    rows: list[dict[int, Any]] = [{} for _ in range(n)]
    for i, j in zip(sparsity.row(), sparsity.get_col(), strict=True):
        rows[i][j] = K[i, j]
    sides = [ca.densify(right[i, :]) for i in range(n)]
    rest, columns = set(range(n)), set(range(n))
    taken: list[tuple[int, int]] = []
    while True:
        count = {j: sum(j in rows[i] for i in rest) for j in columns}
        numbers = [
            ((len(rows[i]) - 1) * (count[j] - 1), i, j)
            for i in sorted(rest)
            for j, value in rows[i].items()
            if j in columns and value.is_constant() and abs(float(value)) >= PLAIN_PIVOT
        ]
        if not numbers:
            break
        _, i, j = min(numbers)
        rest.remove(i)
        columns.remove(j)
        taken.append((i, j))
        for k in sorted(rest):
            if j in rows[k]:
                factor = rows[k].pop(j) / rows[i][j]
                for m, value in rows[i].items():
                    if m != j:
                        rows[k][m] = rows[k][m] - factor * value if m in rows[k] else -factor * value
                sides[k] = sides[k] - factor * sides[i]
    x: list[Any] = [None] * n
    if rest:
        order, unknown = sorted(rest), sorted(columns)
        block = SX(len(order), len(unknown))
        for a, i in enumerate(order):
            for b, j in enumerate(unknown):
                if j in rows[i]:
                    block[a, b] = rows[i][j]
        found = ca.densify(ca.solve(block, ca.vertcat(*[sides[i] for i in order])))
        for b, j in enumerate(unknown):
            x[j] = found[b, :]
    for i, j in reversed(taken):
        x[j] = (sides[i] - sum((v * x[m] for m, v in rows[i].items() if m != j), SX.zeros(1, right.shape[1]))) / rows[
            i
        ][j]
    return ca.vertcat(*x)
