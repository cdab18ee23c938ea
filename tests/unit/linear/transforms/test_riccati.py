"""Algebraic Riccati equations, their residuals, and the doubling behind them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg

from dalembert.core.errors import ConvergenceError, DataError
from dalembert.linear.transforms.riccati import care, dare
from dalembert.numerics import doubling, riccati
from tests.helpers.findings import assert_read_only, raises, warns


def machine(n: int, m: int = 2, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Unstable, with cross term: A, B, Q, R, S."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n + m, n + m))
    whole = whole @ whole.T / (n + m) + 0.1 * np.eye(n + m)
    A = rng.normal(size=(n, n)) / np.sqrt(n)
    return A, rng.normal(size=(n, m)), whole[:n, :n], whole[n:, n:], whole[:n, n:]


def chain(n: int) -> tuple[np.ndarray, ...]:
    """Masses and springs without damping, a force at both ends."""
    half = n // 2
    K = 1e3 * (2.0 * np.eye(half) - np.eye(half, k=1) - np.eye(half, k=-1))
    B = np.zeros((n, 2))
    B[half, 0] = B[-1, 1] = 1.0
    A = np.block([[np.zeros((half, half)), np.eye(half)], [-K, np.zeros((half, half))]])
    return A, B, np.eye(n), np.eye(2)


@pytest.mark.spec("000-66")
def test_the_double_integrator_has_its_closed_form():
    """Q = diag(q, 0), R = 1: K = (√q, √(2√q)) (Anderson and Moore 1990)."""
    found = care([[0, 1], [0, 0]], [0, 1], np.diag([16.0, 0.0]), 1.0)
    np.testing.assert_allclose(found.K, [[4.0, np.sqrt(8.0)]], rtol=1e-13)
    np.testing.assert_allclose(found.X, [[4.0 * np.sqrt(8.0), 4.0], [4.0, np.sqrt(8.0)]], rtol=1e-13)


@pytest.mark.spec("000-67")
def test_the_sampled_integrator_has_its_closed_form():
    """x⁺ = x + u, q = r = 1: X is the golden number."""
    found = dare(1.0, 1.0, 1.0, 1.0)
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    np.testing.assert_allclose(found.X, golden, rtol=1e-14)
    np.testing.assert_allclose(found.K, golden / (1.0 + golden), rtol=1e-14)


@pytest.mark.parametrize("solver", [care, dare])
@pytest.mark.parametrize("method", ["schur", "doubling"])
def test_both_methods_solve_with_cross_term_and_mass(solver, method):
    A, B, Q, R, S = machine(12)
    E = np.eye(12) + 0.2 * np.random.default_rng(1).normal(size=(12, 12))
    found = solver(A, B, Q, R, S, E, method=method)
    plain = solver(np.linalg.solve(E, A), np.linalg.solve(E, B), Q, R, S)
    assert found.residual < 1e-13
    np.testing.assert_allclose(found.K, plain.K, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(E.T @ found.X @ E, plain.X, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solver", [care, dare])
def test_large_systems_go_by_doubling_and_agree_with_scipy(solver):
    A, B, Q, R, S = machine(120, 12)
    found = solver(A, B, Q, R, S)
    other = solver(A, B, Q, R, S, method="schur")
    assert found.method.startswith("doubling")
    assert other.method.startswith("Schur")
    assert found.residual < 1e-12
    np.testing.assert_allclose(found.X, other.X, rtol=0, atol=1e-9 * np.abs(other.X).max())


def test_an_undamped_structure_is_solved_to_rounding_by_doubling():
    found = care(*chain(120))
    assert found.method.startswith("doubling")
    assert found.residual < 1e-14
    assert found.poles.values.real.max() < 0.0


def test_small_systems_go_by_scipy_and_are_refined():
    found = care(*chain(20))
    assert found.method.startswith("Schur")
    assert found.residual < 1e-14


def test_where_doubling_fails_the_schur_method_takes_over():
    """An unstable machine without weights: doubling finds X = 0, which stabilises nothing."""
    A, B, Q, _ = chain(120)
    found = care(A + 0.5 * np.eye(120), B, 0.0 * Q, np.eye(2))
    assert "Schur" in found.method
    assert "after doubling failed" in found.method
    assert found.poles.values.real.max() < 0.0
    with raises(ConvergenceError, "not-stabilizable"):
        care(A + 0.5 * np.eye(120), B, 0.0 * Q, np.eye(2), method="doubling")


def test_a_solution_that_no_method_finds_well_comes_with_a_warning():
    """57 unstable modes and 4 inputs: X reaches 3e13, doubling fails, and Schur's method leaves 1e-3 before Newton."""
    A, B, Q, R, S = machine(120, 4)
    with warns(UserWarning, "no-convergence"):
        found = care(A, B, Q, R, S)
    assert "after doubling failed" in found.method
    assert found.poles.values.real.max() < 0.0


def test_units_of_the_states_do_not_spoil_a_large_solution():
    A, B, Q, R = chain(120)
    units = 10.0 ** np.random.default_rng(0).uniform(-4, 4, 120)
    found = care(A * units / units[:, None], B / units[:, None], Q * units[:, None] * units, R)
    assert found.residual < 1e-13
    np.testing.assert_allclose(found.K / units, care(A, B, Q, R).K, rtol=0, atol=1e-8)


def test_the_reported_residual_is_that_of_the_equation():
    A, B, Q, R, S = machine(8)
    found = care(A, B, Q, R, S)
    X = found.X
    right = X @ B + S
    terms = (A.T @ X, X @ A, -right @ np.linalg.solve(R, right.T), Q)
    size = sum(np.linalg.norm(term) for term in terms)
    assert np.linalg.norm(sum(terms)) / size < 10 * max(found.residual, 1e-16)
    assert f"{found.residual:.1e}" in found.table()
    assert "RiccatiSolution" in repr(found)


def test_a_poor_solution_is_warned_of_and_a_useless_one_refused(monkeypatch):
    A, B, Q, R, S = machine(4)
    exact = care(A, B, Q, R, S).X
    problem = riccati.RiccatiProblem(None, A, B, Q, R, S, np.eye(4))
    with warns(UserWarning, "no-convergence"):
        found = riccati.finish(problem, exact + 1e-6 * np.eye(4), "hand")
    assert found.residual > 1e-8
    with raises(ConvergenceError, "no-convergence"):
        riccati.finish(problem, exact + 10.0 * np.eye(4), "hand")


def test_newton_repairs_a_rough_solution():
    A, B, Q, R, S = machine(6)
    problem = riccati.RiccatiProblem(None, A, B, Q, R, S, np.eye(6))
    exact = care(A, B, Q, R, S).X
    X, steps = riccati.refine(problem, exact * (1.0 + 1e-4))
    assert 1 <= steps <= 6
    np.testing.assert_allclose(X, exact, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("solver", [care, dare])
@pytest.mark.parametrize("n", [6, 110])
def test_a_mode_that_no_input_reaches_has_no_solution(solver, n):
    A, B, _, R, _ = machine(n)
    A = scipy.linalg.block_diag(A, [[1.01]])
    with raises(ConvergenceError, "not-stabilizable"):
        solver(A, np.vstack([B, np.zeros((1, 2))]), np.eye(n + 1), R)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"A": np.ones((2, 3))}, "wrong-shape"),
        ({"B": np.ones((3, 1))}, "wrong-shape"),
        ({"B": np.ones((2, 0))}, "empty"),
        ({"Q": np.eye(3)}, "wrong-shape"),
        ({"Q": [[1.0, 0.5], [0.0, 1.0]]}, "not-symmetric"),
        ({"R": np.eye(2)}, "wrong-shape"),
        ({"S": np.ones((2, 2))}, "wrong-shape"),
        ({"E": np.eye(3)}, "wrong-shape"),
        ({"A": [[0.0, np.nan], [0.0, 0.0]]}, "not-finite"),
        ({"method": "sign"}, "unknown-choice"),
    ],
)
def test_wrong_matrices_are_refused(change, words):
    given = {"A": [[0, 1], [0, 0]], "B": [0, 1], "Q": np.eye(2), "R": 1.0} | change
    with raises(DataError, words):
        care(**given)


def test_a_solution_is_frozen_and_pickles():
    found = care(1.0, 1.0, 1.0, 1.0)
    with pytest.raises(AttributeError):
        found.X = 0
    assert_read_only(found.X)
    assert pickle.loads(pickle.dumps(found)).residual == found.residual  # noqa: S301


# --- doubling ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-65")
def test_an_interval_solves_the_differential_equation():
    """Against SciPy's integrator at 1e-11."""
    from scipy.integrate import solve_ivp

    A, B, Q, R, _ = machine(4)
    G = B @ np.linalg.solve(R, B.T)
    end = np.diag([1.0, 0.0, 2.0, 0.5])

    def rate(t, x):
        X = x.reshape(4, 4)
        return (A.T @ X + X @ A - X @ G @ X + Q).ravel()

    other = solve_ivp(rate, (0.0, 0.7), end.ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(4, 4)
    np.testing.assert_allclose(doubling.back(doubling.interval(A, G, Q, 0.7), end), other, rtol=1e-9, atol=1e-9)


def test_a_stiff_interval_of_any_length_is_stable():
    """Rates from 1 to 1e6 over 100 s: the exponential of the Hamiltonian itself would overflow."""
    A = np.diag([-1.0, 1e6, -1e6])
    G, Q = np.ones((3, 3)), np.eye(3)
    X = doubling.back(doubling.interval(A, G, Q, 100.0), np.zeros((3, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(X, care(A, np.ones(3), Q, 1.0).X, rtol=1e-6, atol=1e-9)


def test_two_halves_are_the_whole():
    A, B, Q, R, _ = machine(5)
    G = B @ np.linalg.solve(R, B.T)
    whole, half = doubling.interval(A, G, Q, 0.8), doubling.double(*doubling.interval(A, G, Q, 0.4))
    for a, b in zip(whole, half, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_doubling_that_does_not_end_says_so():
    with raises(ConvergenceError, "no-convergence"):
        doubling.limit((np.eye(2), np.zeros((2, 2)), np.eye(2)))
