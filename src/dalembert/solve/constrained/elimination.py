"""Sparse elimination inside the graph, for the unsymmetric systems of implicit steps.

    K = | E  B |     E: coordinates, internal states, speeds;  lower right: multipliers
        | C  0 |

No pivoting: the first block is eliminated first, its pivots being masses plus h times damping plus h² times stiffness;
what is left for the multipliers is the counterpart of A M⁻¹ Aᵀ and gets ε of its own diagonal, as in `constrained`, so
that redundant rows and singular poses stay well posed. Refinement against K itself takes the ε out again.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.solve.constrained.constraint_factor import EMPTY, EPSILON

SX = ca.SX
PLAIN_PIVOT = 0.1  # smallest number that is taken for a pivot without looking at the others


class Elimination:
    """L U of K with the first `leading` unknowns before the rest."""

    def __init__(self, K: Any, leading: int) -> None:
        K = ca.sparsify(K)
        self.K = K
        n = K.shape[0]
        rows: list[dict[int, Any]] = [{} for _ in range(n)]
        columns: list[set[int]] = [set() for _ in range(n)]
        sparsity = K.sparsity()
        for i, j, value in zip(sparsity.row(), sparsity.get_col(), K.nonzeros(), strict=True):
            rows[i][j] = value
            columns[j].add(i)
        self.n = n
        self.order: list[int] = []
        self.lower: list[tuple[int, list[tuple[int, Any]]]] = []
        self.upper: list[tuple[int, Any, list[tuple[int, Any]]]] = []
        self._eliminate(rows, columns, set(range(leading)))
        rest = set(range(leading, n))
        if rest:
            diagonal = {k: rows[k].get(k, SX(0)) for k in rest}
            floor = EMPTY * sum(diagonal.values())
            for k in rest:
                rows[k][k] = diagonal[k] * (1 + EPSILON) + floor
                columns[k].add(k)
            self._eliminate(rows, columns, rest)

    def _eliminate(self, rows: list[dict[int, Any]], columns: list[set[int]], group: set[int]) -> None:
        """Pivots of one group, the one with the least work next."""
        while group:
            k = min(group, key=lambda i: ((len(rows[i]) - 1) * (len(columns[i]) - 1), i))
            group.remove(k)
            pivot = rows[k].pop(k)
            columns[k].discard(k)
            inverse = 1 / pivot
            below = []
            for i in sorted(columns[k]):
                factor = rows[i].pop(k) * inverse
                below.append((i, factor))
                target = rows[i]
                for j, value in rows[k].items():
                    change = factor * value
                    if j in target:
                        target[j] = target[j] - change
                    else:
                        target[j] = -change
                        columns[j].add(i)
            for j in rows[k]:
                columns[j].discard(k)
            self.order.append(k)
            self.lower.append((k, below))
            self.upper.append((k, inverse, sorted(rows[k].items())))

    def values(self) -> Any:
        """Every number of the factors, and of K, in one column."""
        entries: list[Any] = []
        for _, below in self.lower:
            entries += [value for _, value in below]
        for _, inverse, right in self.upper:
            entries += [inverse, *(value for _, value in right)]
        return ca.vertcat(*entries, *self.K.nonzeros())

    def solver(self, refinements: int) -> ca.Function:
        """(values, right-hand side) -> x."""
        values = SX.sym("values", self.values().shape[0])
        numbers = iter(ca.vertsplit(values))
        lower = [(k, [(i, next(numbers)) for i, _ in below]) for k, below in self.lower]
        upper = [(k, next(numbers), [(j, next(numbers)) for j, _ in right]) for k, _, right in self.upper]
        K = SX(self.K.sparsity(), ca.vertcat(*list(numbers)))
        right = SX.sym("right", self.n)
        x = _substitute(lower, upper, right, self.n)
        for _ in range(refinements):
            x = x + _substitute(lower, upper, right - K @ x, self.n)
        return ca.Function("solve", [values, right], [ca.densify(x)])


def _substitute(
    lower: list[tuple[int, list[tuple[int, Any]]]],
    upper: list[tuple[int, Any, list[tuple[int, Any]]]],
    right: object,
    n: int,
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
