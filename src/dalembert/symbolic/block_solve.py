"""Linear systems whose matrix is an expression: by its factors, or block by block of its pattern."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca

from dalembert.expressions import Expr

SX = ca.SX
LARGEST_INVERSE = 3  # a larger block is solved by elimination


def solve_mass(M: Expr, right: Expr) -> Any:
    """M⁻¹ right of a positive definite matrix, by its factors L D Lᵀ."""
    M = ca.sparsify(SX(M))
    if M.sparsity().is_diag():
        return solve_square(M, right)
    return ca.ldl_solve(ca.densify(right), *ca.ldl(M))


def solve_square(B: Expr, right: Expr) -> Any:
    """B⁻¹ right, block by block of B's pattern."""
    B = ca.sparsify(SX(B))
    if B.sparsity().is_diag() and B.nnz() == B.shape[0]:
        return right / ca.diag(B)
    _, order, starts = B.sparsity().scc()
    blocks = [sorted(order[a:b]) for a, b in pairwise(starts)]
    if any(B[rows, two].nnz() for i, rows in enumerate(blocks) for j, two in enumerate(blocks) if i != j):
        blocks = [list(range(B.shape[0]))]  # blocks that depend on each other
    result = SX.zeros(*right.shape)
    for index in blocks:
        block = ca.densify(B[index, index])
        if len(index) <= LARGEST_INVERSE:
            result[index, :] = ca.inv(block) @ right[index, :]
        else:
            result[index, :] = ca.solve(block, ca.densify(right[index, :]))
    return result
