"""Elimination of a large machine body by body, with one function for all bodies of the same pattern.

    | E   Aᵀ | | x |   | r |     E block-diagonal (a block per body), A: rows of joints, S: ε of the size of
    | A   -S | | μ | = | s |     A diag(E)⁻¹ Aᵀ, as in `SymmetricElimination`

    E_b = L D Lᵀ ,  Y = L⁻¹ A_bᵀ ,  H = S + Σ Yᵀ D⁻¹ Y ,  H μ = Σ Yᵀ D⁻¹ z - s with z = L⁻¹ r_b ,
    x_b = L⁻ᵀ D⁻¹ (z - Y μ)

The code of a body is compiled once for any number of bodies; only the sparse factor of H couples them. Flat code
with the best order of all pivots together has fewer operations, but many times the length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.solve.constrained.constraint_factor import EMPTY, EPSILON
from dalembert.solve.constrained.mass_factor import diagonal_blocks, forward_solve

SX, MX = ca.SX, ca.MX


@dataclass(frozen=True)
class _Block:
    """Columns of a block, rows of A that meet them, and the places of its numbers among those of E and A."""

    columns: list[int]
    rows: list[int]
    E: list[int]
    A: list[int]


class _Group:
    """Blocks of one pattern, and their functions.

    factor : (numbers of E_b, of A_b) -> numbers of the factors; Yᵀ D⁻¹ Y; parts of the size of the rows.
    forward : (factors, r_b) -> z, Yᵀ D⁻¹ z.  back : (factors, z, μ of its rows) -> x_b.
    """

    def __init__(self, E: Any, A: Any, blocks: list[_Block]) -> None:
        self.blocks = blocks
        n, m = E.shape[0], A.shape[0]
        full, rows = SX.sym("E", E), SX.sym("A", A)
        D, LT, order = ca.ldl(ca.triu2symm(ca.triu(full)))
        Y = ca.sparsify(forward_solve(LT, ca.densify(rows.T)[order, :]))
        weighed = ca.diag(1 / D) @ Y
        S = Y.T @ weighed if m else SX(0, 0)
        size = ca.sum2(rows * rows @ ca.diag(1 / ca.diag(full)))
        numbers = [1 / D, _column(LT), _column(Y)]
        upper = ca.vertcat(*(S[i, j] for j in range(m) for i in range(j + 1)), SX(0, 1))
        self.factor = ca.Function(
            "factor_block",
            [_column(full), _column(rows)],
            [ca.densify(x) for x in (ca.vertcat(*numbers), upper, size)],
            {"cse": True},
        )
        values = SX.sym("factors", self.factor.size1_out(0))
        inverse, lt, y = ca.vertsplit(values, [0, n, n + LT.nnz(), values.shape[0]])
        L, Ys = SX(LT.sparsity(), lt), SX(Y.sparsity(), y)
        right, mu, z = SX.sym("right", n), SX.sym("mu", m), SX.sym("z", n)
        found = forward_solve(L, right[order])
        self.forward = ca.Function("forward", [values, right], [found, ca.densify(Ys.T @ (inverse * found))])
        x = inverse * (z - ca.densify(Ys @ mu)) if m else inverse * z
        x = _backward(L, x)
        places = [order.index(k) for k in range(n)]
        self.back = ca.Function("back", [values, z, mu], [ca.densify(x[places])])


def _column(x: Any) -> Any:
    return ca.vertcat(*x.nonzeros(), SX(0, 1))


def _backward(LT: Any, right: Any) -> Any:
    """L⁻ᵀ right."""
    rows = [right[k] for k in range(right.shape[0])]
    pattern = LT.sparsity()
    for k in reversed(range(len(rows))):
        for i in _column_rows(pattern, k):
            rows[i] = rows[i] - LT[i, k] * rows[k]
    return ca.vertcat(*rows)


def _column_rows(pattern: Any, k: int) -> list[int]:
    starts, rows = pattern.colind(), pattern.row()
    return list(rows[starts[k] : starts[k + 1]])


class BlockElimination:
    """Functions for all systems with these patterns of E and A.

    factor : (numbers of E, numbers of A) -> numbers of the factors.
    solve : (factors, right-hand side of (x, λ = -μ)) -> solution, as `SymmetricElimination.solver`.
    """

    def __init__(self, E: Any, A: Any) -> None:
        self.leading, self.rows = E.size1(), A.size1()
        self._groups = _group(E, A)
        self._H = self._pattern()
        self.factor = self._factor(E, A)
        self.solve = self._solve()

    def _pattern(self) -> Any:
        """Places in H of all results of the groups, one after the other: the upper triangle."""
        i: list[int] = []
        j: list[int] = []
        for group in self._groups:
            for block in group.blocks:
                r = block.rows
                i += [min(r[a], r[b]) for b in range(len(r)) for a in range(b + 1)]
                j += [max(r[a], r[b]) for b in range(len(r)) for a in range(b + 1)]
        return i, j

    def _joints(self) -> tuple[Any, ca.Function]:
        """(upper triangles of all blocks, sizes of all rows) -> numbers of the factor of H; its pattern and order."""
        i, j = self._H
        rows = [k for group in self._groups for block in group.blocks for k in block.rows]
        parts, sizes = SX.sym("S", len(i)), SX.sym("size", len(rows))
        entries: dict[tuple[int, int], Any] = {(k, k): SX(0) for k in range(self.rows)}
        for a, b, value in zip(i, j, ca.vertsplit(parts), strict=True):
            entries[a, b] = entries[a, b] + value if (a, b) in entries else value
        size = [SX(0)] * self.rows
        for k, value in zip(rows, ca.vertsplit(sizes), strict=True):
            size[k] = size[k] + value
        floor = EMPTY * sum(size, SX(0))
        for k in range(self.rows):
            entries[k, k] = entries[k, k] + EPSILON * size[k] + floor
        at = list(entries)
        upper = SX.triplet([a for a, _ in at], [b for _, b in at], ca.vertcat(*entries.values()), self.rows, self.rows)
        D, LT, order = ca.ldl(ca.triu2symm(upper))
        return (LT.sparsity(), order), ca.Function("joints", [parts, sizes], [ca.vertcat(D, *LT.nonzeros())])

    def _factor(self, E: Any, A: Any) -> ca.Function:
        e, a = MX.sym("E", E.nnz()), MX.sym("A", A.nnz())
        numbers: list[Any] = []
        uppers: list[Any] = []
        sizes: list[Any] = []
        for group in self._groups:
            found = _map(group.factor, len(group.blocks), [
                _gather(e, [k for block in group.blocks for k in block.E]),
                _gather(a, [k for block in group.blocks for k in block.A]),
            ])  # fmt: skip
            for target, value in zip((numbers, uppers, sizes), found, strict=True):
                target.append(value)
        joints = []
        if self.rows:
            self._order, function = self._joints()
            joints = [function(ca.vertcat(*uppers), ca.vertcat(*sizes))]
        return ca.Function("factor_blocks", [e, a], [ca.vertcat(*numbers, *joints)])

    def _solve(self) -> ca.Function:
        factors, right = MX.sym("factors", self.factor.size1_out(0)), MX.sym("right", self.leading + self.rows)
        starts = [0]
        for group in self._groups:
            starts.append(starts[-1] + len(group.blocks) * group.factor.size1_out(0))
        *parts, joints = ca.vertsplit(factors, [*starts, factors.shape[0]])
        z, products = [], []
        for group, own in zip(self._groups, parts, strict=True):
            columns = [k for block in group.blocks for k in block.columns]
            found, product = _map(group.forward, len(group.blocks), [own, _gather(right, columns)])
            z.append(found)
            products.append(product)
        mu = MX(0, 1)
        if self.rows:
            mu = self._multipliers()(joints, ca.vertcat(*products), right[self.leading :])
        x = []
        for group, own, found in zip(self._groups, parts, z, strict=True):
            rows = [k for block in group.blocks for k in block.rows]
            x += _map(group.back, len(group.blocks), [own, found, _gather(mu, rows)])
        columns = [k for group in self._groups for block in group.blocks for k in block.columns]
        places = [0] * len(columns)
        for place, k in enumerate(columns):
            places[k] = place
        return ca.Function("solve", [factors, right], [ca.vertcat(ca.vertcat(*x)[places], -mu)])

    def _multipliers(self) -> ca.Function:
        pattern, order = self._order
        rows = [k for group in self._groups for block in group.blocks for k in block.rows]
        numbers = SX.sym("joints", self.rows + pattern.nnz())
        products, right = SX.sym("products", len(rows)), SX.sym("right", self.rows)
        sums = [-x for x in ca.vertsplit(right)]
        for k, value in zip(rows, ca.vertsplit(products), strict=True):
            sums[k] = sums[k] + value
        LT = SX(pattern, numbers[self.rows :])
        mu = ca.ldl_solve(ca.vertcat(*sums), numbers[: self.rows], LT, order)
        return ca.Function("multipliers", [numbers, products, right], [ca.densify(mu)])


def _gather(x: Any, places: list[int]) -> Any:
    return x[places] if places else MX(0, 1)


def _map(function: ca.Function, count: int, columns: list[Any]) -> list[Any]:
    """Results of a function for the parts of some columns, each in one column."""
    if count == 1:
        return [ca.vec(x) for x in function.call(columns)]
    matrices = [ca.reshape(x, x.shape[0] // count, count) for x in columns]
    return [ca.vec(x) for x in function.map(count).call(matrices)]


def _group(E: Any, A: Any) -> list[_Group]:
    places = {}
    for name, pattern in (("E", E), ("A", A)):
        rows, columns = pattern.get_triplet()
        places[name] = {(i, j): k for k, (i, j) in enumerate(zip(rows, columns, strict=True))}
    met: dict[int, list[int]] = {}
    for i, j in places["A"]:
        met.setdefault(j, []).append(i)
    found: dict[tuple[bytes, bytes], tuple[Any, Any, list[_Block]]] = {}
    for columns in diagonal_blocks(E):
        rows = sorted({i for j in columns for i in met.get(j, ())})
        own, joint = E.sub(columns, columns)[0], A.sub(rows, columns)[0]
        block = _Block(
            columns, rows,
            [places["E"][columns[i], columns[j]] for i, j in zip(*own.get_triplet(), strict=True)],
            [places["A"][rows[i], columns[j]] for i, j in zip(*joint.get_triplet(), strict=True)],
        )  # fmt: skip
        key = (own.serialize(), joint.serialize())
        found.setdefault(key, (own, joint, []))[2].append(block)
    return [_Group(*parts) for parts in found.values()]
