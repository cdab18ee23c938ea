"""Factor of the mass matrix in the order of a tree, M = Lᵀ D L, without fill-in (Featherstone 2008, ch. 6).

Row k of L has entries at the speeds on the way from the root to k. From the leaves inwards

    H_i = M_i - Σ_k L_ki H_k ,    D_i = H_ii ,    L_i = H_i / D_i         over all speeds k beyond i,

where M_i, H_i are vectors over the way to i, which is the beginning of the way to k. M x = y is solved by

    x_i = y_i - Σ_k L_ki x_k   over k beyond i, inwards ,    x_k = x_k / D_k - Σ_i L_ki x_i   over i before k, outwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.tree.derivatives.columns import AT_ONCE, add_terms, align, zeros
from dalembert.mechanics.tree.derivatives.moving_links import MovingTree
from dalembert.mechanics.tree.derivatives.pair_products import multiply_run, pair


@dataclass(frozen=True)
class TreeFactor:
    """Rows of L and 1/D."""

    moving: MovingTree
    rows: Sequence[Expr]
    inverse: Sequence[Expr]

    def solve(self, sides: Expr, sign: int = 1) -> Expr:
        """M⁻¹, or -M⁻¹, times a matrix."""
        inverse = [sign * x for x in self.inverse]
        if not isinstance(sides, ca.MX):
            return ca.horzcat(*(ca.vertcat(*self._solve(ca.vertsplit(x), inverse)) for x in ca.horzsplit(sides)))
        count = max(sides.shape[1], AT_ONCE)  # a single column gets copies beside it, so that the same code serves all
        given = sides if sides.shape[1] == count else ca.horzcat(*[sides] * count)
        solve = self._solve_one.map("solve_all", "serial", count, [0, 1], [])
        return solve(ca.vertcat(*self.rows), ca.vertcat(*inverse), given)[:, : sides.shape[1]]

    @cached_property
    def _solve_one(self) -> ca.Function:
        rows = [ca.SX.sym(f"row{k}", x.sparsity()) for k, x in enumerate(self.rows)]
        side, inverse = (ca.SX.sym(name, len(rows)) for name in ("side", "inverse"))
        own = TreeFactor(self.moving, rows, ())
        found = own._solve(ca.vertsplit(side), ca.vertsplit(inverse))
        return ca.Function("solve", [ca.vertcat(*rows), inverse, side], [ca.vertcat(*found)])

    def _solve(self, given: Sequence[Expr], inverse: Sequence[Expr]) -> list[Expr]:
        moving, found = self.moving, list(given)
        depth = moving.depth
        for i in reversed(range(len(found))):
            terms = [self.rows[k][depth[i]] * found[k] for k in range(i + 1, moving.end[moving.link_of[i]])]
            found[i] = found[i] - add_terms(terms) if terms else found[i]
        for k, path in enumerate(moving.paths):
            found[k] = inverse[k] * found[k]
            terms = [self.rows[k][depth[i]] * found[i] for i in path[:-1]]
            found[k] = found[k] - add_terms(terms) if terms else found[k]
        return found


def factor_mass(
    moving: MovingTree, S: Sequence[Expr], momentum: Sequence[Expr], rotors: Expr | None = None
) -> TreeFactor:
    """From M_ij = S_i·momentum_j for j beyond i.  rotors : additional inertia of speeds, on the diagonal."""
    count = len(moving.speeds)
    depth, one, pairs = moving.depth, S[0], pair(momentum, S)
    held, rows, inverse = ([zeros(one, 0)] * count for _ in range(3))
    for i in reversed(range(count)):
        k = moving.link_of[i]
        runs = [*moving.runs[k], (moving.first_speed[k], i + 1)]
        size = align(one, 0, depth[i] + 1)[1]
        row = ca.vertcat(*(multiply_run(one, pairs, i, a, b) for a, b in runs), zeros(one, size - depth[i] - 1))
        if rotors is not None:
            row = row + ca.vertcat(zeros(one, depth[i]), rotors[i], zeros(one, size - depth[i] - 1))
        terms = [rows[j][depth[i]] * held[j][:size] for j in range(i + 1, moving.end[k])]
        held[i] = row = row - add_terms(terms) if terms else row
        inverse[i] = 1 / row[depth[i]]
        rows[i] = inverse[i] * row
    return TreeFactor(moving, rows, inverse)
