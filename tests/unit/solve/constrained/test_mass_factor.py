"""Factors of a mass matrix: those of trees fill nothing in."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dalembert.solve.constrained.mass_factor import MassFactor, factor_block

# a tree of links: each with the number of its speeds, and the link that carries it among those before it
trees = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 100)), min_size=2, max_size=12)


def mass_matrix(tree: list[tuple[int, int]]) -> np.ndarray:
    """Regular, with entries where one link carries the other."""
    sizes = [size for size, _ in tree]
    first = np.cumsum([0, *sizes])
    carriers = [set[int]() for _ in tree]
    for k, (_, number) in enumerate(tree[1:], start=1):
        carriers[k] = {number % k} | carriers[number % k]
    M = np.zeros((first[-1], first[-1]))
    for k, own in enumerate(carriers):
        for i in (k, *own):
            M[first[i] : first[i + 1], first[k] : first[k + 1]] = 0.1
    M = np.maximum(M, M.T)
    return np.asarray(M + np.diag(1.0 + M.sum(axis=1)))


@given(trees)
def test_the_factor_of_a_tree_fills_nothing_in(tree: list[tuple[int, int]]) -> None:
    M = ca.sparsify(ca.DM(mass_matrix(tree)))
    _, LT, _ = factor_block(ca.SX(M))
    assert LT.nnz() == (M.nnz() - M.shape[0]) // 2


@given(trees, st.integers(0, 2**16))
def test_products_with_the_inverse_are_those_of_numpy(tree: list[tuple[int, int]], seed: int) -> None:
    M = mass_matrix(tree)
    rng = np.random.default_rng(seed)
    X, x = rng.normal(size=(3, len(M))), rng.normal(size=len(M))
    X[rng.random(X.shape) < 0.5] = 0.0
    factor = MassFactor(ca.SX(ca.sparsify(ca.DM(M))))
    # condition numbers below 10: a few roundings of entries of size one
    solved = np.array(ca.DM(factor.solve(ca.SX(ca.DM(x))))).ravel()
    np.testing.assert_allclose(solved, np.linalg.solve(M, x), rtol=0, atol=1e-13)
    product = np.array(ca.DM(factor.congruence(ca.SX(ca.sparsify(ca.DM(X))))))
    np.testing.assert_allclose(product, X @ np.linalg.solve(M, X.T), rtol=0, atol=1e-13)
