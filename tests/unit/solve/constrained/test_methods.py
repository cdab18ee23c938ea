"""Constrained dynamics on plain matrices: Udwadia-Kalaba, saddle system, null space, augmented Lagrangian.

Tolerance ROUNDING = 1e-12 on well-conditioned matrices of order one and size below ten: rounding is about
condition number (below 1e3 here) times 1e-16, times a few operations.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.constrained import matrices as mx
from dalembert.solve.constrained.matrices import is_singular, rank_of
from dalembert.solve.constrained.methods.augmented_lagrangian import augmented_lagrangian
from dalembert.solve.constrained.methods.kkt import kkt
from dalembert.solve.constrained.methods.null_space import null_space, project_accelerations
from dalembert.solve.constrained.methods.udwadia_kalaba import heavier, udwadia_kalaba, udwadia_phohomsiri
from tests.helpers.findings import raises

ROUNDING = 1e-12


def problem(seed=0, n=6, m=3, rank=None):
    """Random symmetric positive M (of the given rank), f, A, b."""
    random = np.random.default_rng(seed)
    G = random.normal(size=(n, n if rank is None else rank))
    M = G @ G.T + (0.5 * np.eye(n) if rank is None else 0.0)
    return M, random.normal(size=n), random.normal(size=(m, n)), random.normal(size=m)


def direct(M, f, A, b):
    """(v̇, λ) of the saddle system by one dense solve, written out here."""
    m = len(b)
    x = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((m, m))]]), np.concatenate((f, b)))
    return x[: len(f)], x[len(f) :]


# -- Udwadia-Kalaba ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-11", "000-12", "002-C5", "002-D5")
@pytest.mark.parametrize("seed", range(5))
def test_udwadia_kalaba_solves_the_saddle_system(seed):
    M, f, A, b = problem(seed)
    acceleration, lam = direct(M, f, A, b)
    uk = udwadia_kalaba(M, f, A, b)
    assert np.allclose(uk.acceleration, acceleration, rtol=0, atol=ROUNDING * np.abs(acceleration).max())
    assert np.allclose(uk.lam, lam, rtol=0, atol=ROUNDING * np.abs(lam).max())
    assert np.allclose(kkt(M, f, A, b)[0], acceleration, rtol=0, atol=ROUNDING * np.abs(acceleration).max())


@pytest.mark.spec("000-11")
def test_the_block_inverse_of_the_saddle_system_is_the_same_solution():
    M, f, A, b = problem()
    Mi = np.linalg.inv(M)
    B1, B2, H = -Mi @ A.T, A @ Mi, np.linalg.inv(A @ Mi @ A.T)
    acceleration, lam = kkt(M, f, A, b)
    assert np.allclose(acceleration, (Mi + B1 @ H @ B2) @ f - B1 @ H @ b, rtol=0, atol=1e-11)
    assert np.allclose(lam, -H @ B2 @ f + H @ b, rtol=0, atol=1e-11)


@pytest.mark.spec("000-12")
def test_udwadia_kalaba_returns_every_term_of_its_equations():
    M, f, A, b = problem()
    uk = udwadia_kalaba(M, f, A, b)
    H = np.linalg.inv(A @ np.linalg.inv(M) @ A.T)
    assert np.allclose(uk.free, np.linalg.solve(M, f), rtol=0, atol=1e-11)
    assert np.allclose(uk.violation, b - A @ uk.free, rtol=0, atol=1e-11)
    assert np.allclose(uk.lam, H @ uk.violation, rtol=0, atol=1e-11)
    assert np.allclose(uk.force, A.T @ uk.lam, rtol=0, atol=1e-11)
    assert np.allclose(uk.correction, np.linalg.solve(M, A.T) @ H @ uk.violation, rtol=0, atol=1e-11)
    assert np.allclose(uk.acceleration, uk.free + uk.correction, rtol=0, atol=1e-11)


@pytest.mark.spec("000-13", "002-D5", "003-C32")
def test_a_dependent_row_changes_no_acceleration():
    M, f, A, b = problem()
    weights = np.array([0.3, -2.0, 1.0])
    more, right = np.vstack((A, weights @ A)), np.append(b, weights @ b)
    once, twice = udwadia_kalaba(M, f, A, b), udwadia_kalaba(M, f, more, right)
    assert twice.rank == 3
    assert np.allclose(twice.acceleration, once.acceleration, rtol=0, atol=10 * ROUNDING)
    assert np.allclose(twice.force, once.force, rtol=0, atol=10 * ROUNDING)
    for method in (kkt, null_space, augmented_lagrangian):
        acceleration, lam = method(M, f, more, right)
        assert np.allclose(acceleration, once.acceleration, rtol=0, atol=1e-10)
        assert np.allclose(lam, twice.lam, rtol=0, atol=1e-9)  # all return the multipliers of minimum norm


@pytest.mark.spec("000-13")
def test_inconsistent_rows_leave_the_least_squares_residual():
    M, f, A, b = problem()
    more = np.vstack((A, A[0] + A[1]))
    right = np.append(b, b[0] + b[1] + 0.7)
    expected = -(np.eye(4) - more @ np.linalg.pinv(more)) @ right
    for acceleration in (
        udwadia_kalaba(M, f, more, right).acceleration,
        null_space(M, f, more, right)[0],
        udwadia_phohomsiri(M, f, more, right)[0],
    ):
        assert np.allclose(more @ acceleration - right, expected, rtol=0, atol=1e-11)


@pytest.mark.spec("000-13")
def test_the_rank_tolerance_is_relative():
    M, f, A, b = problem()
    nearly = np.vstack((A, A[0] + 1e-13))
    assert udwadia_kalaba(M, f, nearly, np.append(b, b[0])).rank == 3
    scaled = udwadia_kalaba(1e-9 * M, 1e-9 * f, 1e-7 * A, 1e-7 * b)
    assert scaled.rank == 3
    assert np.allclose(scaled.acceleration, udwadia_kalaba(M, f, A, b).acceleration, rtol=0, atol=1e-11)


@pytest.mark.spec("000-14", "002-D5", "002-G1")
@pytest.mark.parametrize("seed", range(5))
def test_a_singular_mass_matrix_gives_the_answer_of_the_saddle_system(seed):
    M, f, A, b = problem(seed, rank=4)
    acceleration, lam = direct(M, f, A, b)
    size = np.abs(acceleration).max()
    for alpha in (1.0, 0.1, 10.0):
        uk = udwadia_kalaba(M, f, A, b, alpha=alpha)
        assert np.allclose(uk.acceleration, acceleration, rtol=0, atol=1e-9 * size)  # condition numbers up to 1e5
        assert np.allclose(uk.lam, lam, rtol=0, atol=1e-9 * np.abs(lam).max())
    assert np.allclose(udwadia_phohomsiri(M, f, A, b)[0], acceleration, rtol=0, atol=1e-9 * size)
    assert np.allclose(project_accelerations(M, f, A, b), acceleration, rtol=0, atol=1e-9 * size)
    assert np.allclose(null_space(M, f, A, b)[0], acceleration, rtol=0, atol=1e-9 * size)
    assert np.allclose(augmented_lagrangian(M, f, A, b)[0], acceleration, rtol=0, atol=1e-8 * size)


@pytest.mark.spec("000-14")
def test_the_heavier_mass_matrix_is_the_one_of_the_source():
    M, f, A, b = problem(rank=4)
    heavy, force = heavier(M, f, A, b)
    assert np.allclose(heavy, M + np.linalg.pinv(A) @ A, rtol=0, atol=ROUNDING)
    assert np.allclose(force, f + np.linalg.pinv(A) @ b, rtol=0, atol=ROUNDING)
    assert np.linalg.matrix_rank(M) == 4 and np.linalg.matrix_rank(heavy) == 6


@pytest.mark.spec("000-15")
def test_motion_without_mass_is_refused_by_name():
    M = np.diag([1.0, 0.0, 2.0])
    with raises(da.errors.ModelError, "massless-body", "'slider.vy'"):
        mx.realizability(M, np.array([[1.0, 0.0, 1.0]]), ["slider.vx", "slider.vy", "slider.rate"])
    assert mx.realizability(M, np.array([[0.0, 1.0, 1.0]])) > 0.1


# -- complements and penalty ------------------------------------------------------------------------------------------


@pytest.mark.spec("002-A11")
@pytest.mark.parametrize("method", ["svd", "qr", "partition"])
def test_a_complement_spans_the_null_space(method):
    _, _, A, _ = problem()
    more = np.vstack((A, A[0] + A[1]))
    S = mx.complement(more, method)
    assert S.shape == (6, 3) and np.linalg.matrix_rank(S) == 3
    assert np.abs(more @ S).max() < ROUNDING


@pytest.mark.spec("002-A11")
def test_a_partition_has_the_chosen_speeds_as_parameters():
    _, _, A, _ = problem()
    S = mx.complement(A, "partition", independent=[0, 2, 5])
    assert np.array_equal(S[[0, 2, 5]], np.eye(3))
    assert np.allclose(S[[1, 3, 4]], -np.linalg.solve(A[:, [1, 3, 4]], A[:, [0, 2, 5]]), rtol=0, atol=ROUNDING)
    M, f, A, b = problem()
    assert np.allclose(null_space(M, f, A, b, method="partition")[0], direct(M, f, A, b)[0], rtol=0, atol=1e-10)


@pytest.mark.spec("002-A11")
def test_independent_speeds_switch_with_the_chart():
    # a point on the circle x² + y² = 1 has the row (x, y): near (1, 0) y is independent, near (0, 1) x is
    assert mx.independent_columns(np.array([[1.0, 0.01]]))[0] == [1]
    assert mx.independent_columns(np.array([[0.01, 1.0]]))[0] == [0]


@pytest.mark.spec("002-A7")
def test_dependent_rows_are_found_and_removed():
    _, _, A, _ = problem()
    more = np.vstack((A, 2 * A[1] - A[0]))
    kept, repeated = mx.independent_rows(more)
    assert len(kept) == 3 and len(repeated) == 1
    assert np.linalg.matrix_rank(more[kept]) == 3
    assert mx.independent_rows(np.zeros((0, 4))) == ([], [])


@pytest.mark.spec("002-C7")
def test_the_augmented_lagrangian_converges_for_any_sensible_penalty():
    M, f, A, b = problem()
    acceleration, lam = direct(M, f, A, b)
    for penalty in (1e2, 1e4, 1e9):
        found, multipliers = augmented_lagrangian(M, f, A, b, penalty=penalty)
        assert np.allclose(found, acceleration, rtol=0, atol=1e-9)
        assert np.allclose(multipliers, lam, rtol=0, atol=1e-8)


@pytest.mark.spec("002-C7")
def test_the_augmented_lagrangian_says_when_it_does_not_settle():
    M, f, A, b = problem()
    with raises(da.errors.ConvergenceError, "no-convergence"):
        augmented_lagrangian(M, f, A, b, penalty=1e-3, iterations=5)


@pytest.mark.parametrize(("factor", "singular"), [(0.9, True), (1.1, False)])
def test_a_mass_matrix_is_singular_below_an_eigenvalue_whatever_its_units(factor: float, singular: bool) -> None:
    # unit diagonal and correlation c: the smallest eigenvalue is 1 - c, known to 1e-16
    c = 1.0 - factor * 1e-12
    units = np.diag([1.0, 1e4])
    assert is_singular(units @ np.array([[1.0, c], [c, 1.0]]) @ units) is singular


@pytest.mark.parametrize(("factor", "rank"), [(0.9, 1), (1.1, 2)])
def test_a_singular_value_counts_relative_to_the_largest(factor: float, rank: int) -> None:
    assert rank_of(np.array([50.0, 50.0 * factor * 1e-10])) == rank


@pytest.mark.parametrize(("part", "named"), [(0.5e-6, False), (2e-6, True)])
def test_coordinates_without_mass_are_named_by_their_part(part: float, named: bool) -> None:
    """The massless direction is (1, part) with M = (part, -1)ᵀ (part, -1) and no rows."""
    row = np.array([part, -1.0])
    with raises(da.errors.ModelError, "massless-body") as caught:
        mx.realizability(np.outer(row, row), np.zeros((0, 2)), ["a", "b"])
    assert ("b" in str(caught.value).split("constraint: ")[1].split("(rank")[0]) is named
