"""Factors as expressions, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.estimate.algebra.covariance_factors import (
    factor,
    half_product,
    rank_one,
    solve_left,
    solve_positive,
    solve_square,
    triangular,
)
from tests.helpers.native_code import assert_native_equals_interpreter, random_rows

KINDS = [ca.SX, ca.MX]
rng = np.random.default_rng(3)


def number(code: Callable[..., Any], kind: Any, *arrays: Any) -> Any:
    """Value of an expression of matrices, by way of symbols of this kind."""
    symbols = [kind.sym(f"a{k}", *np.atleast_2d(a).shape) for k, a in enumerate(arrays)]
    return np.array(ca.Function("f", symbols, [ca.densify(code(*symbols))])(*[np.atleast_2d(a) for a in arrays]))


def positive(n: int, condition: float = 1e3) -> Any:
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return q @ np.diag(np.geomspace(1.0, 1.0 / condition, n)) @ q.T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_a_factor_is_that_of_numpy(kind: Any, n: int) -> None:
    P = positive(n)
    assert np.abs(number(factor, kind, P) - np.linalg.cholesky(P)).max() < 1e-12


def test_a_factor_of_many_rows_goes_by_blocks() -> None:
    P = positive(3 * 24 + 5)
    assert np.abs(number(factor, ca.MX, P) - np.linalg.cholesky(P)).max() < 1e-11


def test_only_the_lower_triangle_is_read() -> None:
    P = positive(4)
    wrong_above = np.tril(P) + np.triu(np.full((4, 4), 99.0), 1)
    assert np.array_equal(number(factor, ca.SX, wrong_above), number(factor, ca.SX, P))


@pytest.mark.parametrize("kind", KINDS)
def test_a_semidefinite_matrix_has_a_factor_with_zero_columns(kind: Any) -> None:
    A = np.array([[1.0, 0.0], [2.0, 0.0], [0.5, 3.0], [1.5, -1.0]])
    P = A @ A.T  # rank two
    L = number(factor, kind, P)
    assert np.isfinite(L).all()
    assert np.abs(L @ L.T - P).max() < 1e-13 * np.abs(P).max()
    assert np.count_nonzero(np.diag(L)) == 2


def test_nothing_known_exactly_and_all_known_exactly_have_factors() -> None:
    assert not number(factor, ca.SX, np.zeros((3, 3))).any()


def test_an_indefinite_matrix_has_no_quiet_factor() -> None:
    assert np.isnan(number(factor, ca.SX, np.array([[1.0, 2.0], [2.0, 1.0]]))).any()
    assert np.isnan(number(factor, ca.MX, np.array([[-1.0, 0.0], [0.0, 1.0]]))).any()


@pytest.mark.parametrize("kind", KINDS)
def test_triangular_systems_are_solved(kind: Any) -> None:
    P, B = positive(5), rng.standard_normal((5, 3))
    L = np.linalg.cholesky(P)
    assert np.abs(number(solve_left, kind, L, B) - np.linalg.solve(L, B)).max() < 1e-11
    assert np.abs(number(solve_positive, kind, L, B) - np.linalg.solve(P, B)).max() < 1e-9  # condition 1e3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 3), (3, 3), (4, 9), (5, 2)])
def test_reflections_give_the_factor_of_the_square(kind: Any, shape: tuple[int, int]) -> None:
    A = rng.standard_normal(shape)
    L = number(triangular, kind, A)
    assert np.abs(L @ L.T - A @ A.T).max() < 1e-13 * np.abs(A @ A.T).max()
    assert np.array_equal(L, np.tril(L))
    assert (np.diag(L) >= 0).all()


def test_reflections_of_a_large_matrix_are_the_same_in_matrices() -> None:
    A = rng.standard_normal((24, 40))
    L = number(triangular, ca.MX, A)
    assert np.abs(L - number(triangular, ca.SX, A)).max() < 1e-12


def test_reflections_square_nothing() -> None:
    """A of condition 1e9 keeps its digits; its square, of condition 1e18, has none to give."""
    A = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
    L = number(triangular, ca.SX, A)
    assert abs(L[1, 1] / (1e-9 / np.sqrt(2)) - 1) < 1e-6  # |det A| = 1e-9 = L₁₁ L₂₂


def test_a_triangular_row_is_left_as_it_is() -> None:
    A = np.array([[2.0, 0.0, 0.0], [0.3, -0.7, 0.0], [1.0, 2.0, 3.0]])
    L = number(triangular, ca.SX, A)
    assert L[0, 0] == 2.0
    assert np.array_equal(np.abs(L[1]), np.abs(A[1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 4])
def test_rank_one_changes_go_forth_and_back(kind: Any, n: int) -> None:
    P, v = positive(n), rng.standard_normal((n, 1))
    L = np.linalg.cholesky(P)
    more = number(rank_one, kind, L, v)
    assert np.abs(more - np.linalg.cholesky(P + v @ v.T)).max() < 1e-12
    back = number(lambda L, v: rank_one(L, v, remove=True), kind, more, v)
    assert np.abs(back - L).max() < 1e-10  # the least eigenvalue is 1e-3 of what is taken off


def test_taking_off_too_much_is_not_quiet() -> None:
    taken = number(lambda L, v: rank_one(L, v, remove=True), ca.SX, np.eye(2), np.array([[0.0], [2.0]]))
    assert np.isnan(taken).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 3), (6, 71), (61, 9)])
def test_half_a_product_is_its_lower_triangle(kind: Any, shape: tuple[int, int]) -> None:
    A, D = rng.standard_normal(shape), np.diag(rng.standard_normal(shape[1]))
    product = number(half_product, kind, A @ D, A)
    assert np.abs(product - np.tril(A @ D @ A.T)).max() < 1e-12


def test_half_a_product_uses_structural_zeros() -> None:
    A = ca.SX.sym("A", ca.Sparsity.diag(5))
    assert half_product(A).nnz() == 15
    assert ca.Function("f", [A], [half_product(A)]).n_instructions() < 30


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 4, 20])
def test_a_square_system_is_solved_as_by_numpy(kind: Any, n: int) -> None:
    """Errors of x are about condition times n rounding errors; twenty unknowns stay in matrices."""
    q, r = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    A, B = q @ np.diag(np.geomspace(1.0, 1e-3, n)) @ r, rng.standard_normal((n, 3))
    expected = np.linalg.solve(A, B)
    np.testing.assert_allclose(
        number(solve_square, kind, A, B), expected, rtol=0, atol=1e3 * n * 2e-15 * np.abs(expected).max()
    )


def test_a_square_system_has_native_code() -> None:
    for n in (3, 20):
        A, B = ca.MX.sym("A", n, n), ca.MX.sym("B", n, 2)
        function = ca.Function("f", [ca.vec(A), ca.vec(B)], [solve_square(A, B)])
        assert_native_equals_interpreter(function, random_rows(function, 9))
