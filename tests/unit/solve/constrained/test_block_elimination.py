"""Elimination of block-diagonal systems with joint rows, against dense solutions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.solve.constrained.block_elimination import BlockElimination
from dalembert.solve.constrained.elimination import SymmetricElimination


def chain_system(blocks: int, size: int, rows: int, seed: int = 0):
    """A chain: positive blocks, and `rows` rows between every two neighbours."""
    rng = np.random.default_rng(seed)
    E = np.zeros((blocks * size, blocks * size))
    A = np.zeros((rows * (blocks - 1), blocks * size))
    for k in range(blocks):
        own = rng.normal(size=(size, size))
        part = slice(k * size, (k + 1) * size)
        E[part, part] = own @ own.T + size * np.eye(size)
    for k in range(blocks - 1):
        A[rows * k : rows * (k + 1), size * k : size * (k + 2)] = rng.normal(size=(rows, 2 * size))
    return E, A, rng.normal(size=len(E) + len(A))


def solve(E, A, right):
    E, A = ca.sparsify(ca.DM(E)), ca.sparsify(ca.DM(A))
    found = BlockElimination(E.sparsity(), A.sparsity())
    factors = found.factor(ca.vertcat(*E.nonzeros()), ca.vertcat(*A.nonzeros(), ca.DM(0, 1)))
    return found, np.array(found.solve(factors, right)).ravel()


@pytest.mark.parametrize(("blocks", "size", "rows"), [(6, 5, 2), (2, 7, 3), (4, 1, 1)])
def test_the_solution_is_that_of_the_whole_system(blocks, size, rows):
    """ε of the rows is 1e-8 of their size or less, and the condition of these systems below 1e3: 1e-5 of the result."""
    E, A, right = chain_system(blocks, size, rows)
    found, x = solve(E, A, right)
    # unknowns (x, λ) with E x - Aᵀ λ = r, A x = s
    whole = np.block([[E, -A.T], [A, np.zeros((len(A), len(A)))]])
    assert x == pytest.approx(np.linalg.solve(whole, right), abs=1e-5)
    assert sum(len(group.blocks) for group in found._groups) == blocks
    assert len(found._groups) <= 3  # the first, the last, and all between


def test_it_is_the_elimination_in_the_best_order():
    """The same regularisation: rounding apart."""
    E, A, right = chain_system(5, 6, 3)
    _, x = solve(E, A, right)
    e, a = ca.SX.sym("E", ca.sparsify(ca.DM(E)).sparsity()), ca.SX.sym("A", ca.sparsify(ca.DM(A)).sparsity())
    other = SymmetricElimination(e, a)
    values = ca.Function("values", [e, a], [other.values()])(ca.sparsify(ca.DM(E)), ca.sparsify(ca.DM(A)))
    assert x == pytest.approx(np.array(other.solver()(values, right)).ravel(), abs=1e-11)


def test_redundant_rows_stay_regular():
    E, A, right = chain_system(3, 5, 2)
    A = np.vstack([A, A[:1]])
    right = np.append(right, right[len(E)])  # consistent
    _, x = solve(E, A, right)
    assert np.isfinite(x).all()
    assert A @ x[: len(E)] == pytest.approx(right[len(E) :], abs=1e-5)


def test_blocks_without_rows_are_solved_alone():
    E, _, right = chain_system(3, 4, 1)
    _, x = solve(E, np.zeros((0, len(E))), right[: len(E)])
    assert x == pytest.approx(np.linalg.solve(E, right[: len(E)]), rel=1e-10)
