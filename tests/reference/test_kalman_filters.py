"""Linear filters against closed forms, exact arithmetic and statistics."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.core.errors import ConvergenceError
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.checks import matched
from tests.helpers.findings import raises, warns
from tests.helpers.linear_gaussian import random_problem


def exact_correction(H: np.ndarray, R: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of x ~ (0, I) after y = H x + v, in rational arithmetic: (I + Hᵀ R⁻¹ H)⁻¹ Hᵀ R⁻¹ y."""
    n, m = H.shape[1], len(H)
    h = [[Fraction(float(v)) for v in row] for row in H]
    w = [1 / Fraction(float(v)) for v in np.diag(R)]
    Y = [[sum(h[r][i] * w[r] * h[r][j] for r in range(m)) + (i == j) for j in range(n)] for i in range(n)]
    b = [sum(h[r][i] * w[r] * Fraction(float(y[r])) for r in range(m)) for i in range(n)]
    rows = [[*Y[i], *[Fraction(int(i == j)) for j in range(n)], b[i]] for i in range(n)]
    for k in range(n):
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [a - rows[i][k] * c for a, c in zip(rows[i], rows[k], strict=True)]
    P = np.array([[float(rows[i][n + j]) for j in range(n)] for i in range(n)])
    return np.array([float(rows[i][-1]) for i in range(n)]), P


def nearly_alike(delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Two sensors of noise δ whose coefficients differ by δ (example of Dyer and McReynolds): cond(H Hᵀ + R) ∝ δ⁻²."""
    return np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + delta]]), delta**2 * np.eye(2)


def corrected(form: str, delta: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    H, R = nearly_alike(delta)
    y = np.array([1.0, 1.0 + 0.7 * delta])
    system = StateSpace(np.eye(3), None, H, dt=1.0)
    with warns(UserWarning, "hidden-mode"):  # two sensors cannot show three constants
        kalman = da.estimate.Kalman(system, Q=0.0, R=R, P0=1.0, form=form)
    record = Record([0.0], [y], ["y1", "y2"])
    estimate = kalman.run(record)
    return estimate.states[0], estimate.covariances()[0], estimate.deviations.data[0]


@pytest.mark.spec("004-C4")
@pytest.mark.parametrize("form", ["square-root", "information"])
def test_forms_by_reflections_keep_nine_digits_at_a_condition_number_of_1e12(form):
    H, R = nearly_alike(1e-6)
    assert np.linalg.cond(H @ H.T + R) > 1e12
    mean, P = exact_correction(H, R, np.array([1.0, 1.0 + 0.7e-6]))
    x, found, _ = corrected(form, 1e-6)
    # errors of a backward stable factor: cond^½ ε = 1e6 · 2e-16
    assert np.abs(found - P).max() < 1e-9 * np.abs(P).max()
    assert np.abs(x - mean).max() < 1e-9


@pytest.mark.spec("004-C4")
def test_the_covariance_form_loses_a_thousand_times_more_there():
    H, R = nearly_alike(1e-6)
    mean, P = exact_correction(H, R, np.array([1.0, 1.0 + 0.7e-6]))
    x, found, _ = corrected("covariance", 1e-6)
    assert np.abs(x - mean).max() > 1e-6  # cond ε = 1e12 · 2e-16 and more
    assert np.abs(found - P).max() > 1e-9 * np.abs(P).max()


@pytest.mark.spec("004-C4")
@pytest.mark.parametrize("form", ["square-root", "information"])
def test_where_rounding_swallows_a_sensor_only_the_forms_by_reflections_know_what_it_says(form):
    H, R = nearly_alike(1e-9)  # δ² is below the rounding of H Hᵀ: the plain form sees one sensor twice
    mean, P = exact_correction(H, R, np.array([1.0, 1.0 + 0.7e-9]))
    x, found, _ = corrected(form, 1e-9)
    assert np.abs(found - P).max() < 1e-6 * np.abs(P).max()
    assert np.abs(x - mean).max() < 1e-6
    with raises(ConvergenceError, "singular-innovation", "'y1'", "'y2'"):
        corrected("covariance", 1e-9)


def test_a_start_of_which_nothing_is_known_costs_the_information_form_no_digits():
    # a line through 4 points, prior variance 1e12 times that of a sample (and more): ordinary least squares
    t = np.arange(4.0)
    y = np.array([1.0, 2.5, 3.0, 5.5])
    system = StateSpace([[1.0, 1.0], [0.0, 1.0]], None, [[1.0, 0.0]], dt=1.0)
    line = np.polynomial.polynomial.polyfit(t, y, 1)
    record = Record(t, y[:, None], ["y1"])
    kalman = da.estimate.Kalman(system, Q=0.0, R=1e-6, P0=1e12, form="information")
    x = kalman.run(record).states[-1]
    assert x == pytest.approx([line[0] + 3 * line[1], line[1]], rel=1e-12)


@pytest.mark.spec("000-71")
def test_a_random_walk_seen_with_noise_of_its_own_size_settles_to_the_golden_ratio():
    walk = StateSpace([[1.0]], None, [[1.0]], dt=1.0)
    steady = da.estimate.Kalman(walk, Q=1.0, R=1.0, form="steady").steady
    golden = (1 + np.sqrt(5)) / 2  # P = P - P²/(P+1) + 1
    assert steady.P_before[0, 0] == pytest.approx(golden, rel=1e-14)
    assert steady.M[0, 0] == pytest.approx(1 / golden, rel=1e-14)


@pytest.mark.spec("000-71")
@pytest.mark.parametrize("seed", range(3))
def test_the_steady_filter_is_the_limit_of_the_others(seed):
    problem = random_problem(seed, 4, 2)
    record = problem.simulate(np.random.default_rng(seed), 400)
    steady = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, form="steady")
    assert steady.steady.residual < 1e-12
    assert pytest.approx(problem.system.A @ steady.steady.M, rel=1e-12) == steady.steady.L
    predictor = problem.system.A - steady.steady.L @ problem.system.C
    assert np.sort(np.abs(np.linalg.eigvals(predictor))) == pytest.approx(
        np.sort(np.abs(steady.steady.poles)), rel=1e-7
    )
    start = steady.steady.P_before
    for form in ("covariance", "square-root", "information"):
        from_limit = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, P0=start, form=form).run(record)
        assert np.abs(from_limit.states - steady.run(record).states).max() < 1e-10 * np.abs(record.data).max()
        elsewhere = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, P0=problem.P0, form=form).run(record)
        assert elsewhere.covariances()[-1] == pytest.approx(steady.steady.P, rel=1e-9, abs=1e-11)


@pytest.mark.spec("000-71")
def test_the_predictor_gain_predicts_what_the_filter_predicts():
    problem = random_problem(5, 3, 2)
    s = problem.system
    record = problem.simulate(np.random.default_rng(5), 50)
    kalman = da.estimate.Kalman(s, Q=problem.Q, R=problem.R, form="steady", start=problem.x0)
    L = kalman.steady.L
    states = kalman.run(record).states
    u, y, z = record[list(s.inputs)], record[list(s.outputs)], np.array(problem.x0)
    for k in range(len(record)):  # ẑ(k+1) = A ẑ + B u + L (y - C ẑ - D u), spec 000, item 71
        z = s.A @ z + s.B @ u[k] + L @ (y[k] - s.C @ z - s.D @ u[k])
        assert z == pytest.approx(s.A @ states[k] + s.B @ u[k], rel=1e-11, abs=1e-11)
    poles = np.linalg.eigvals(s.A - L @ s.C)
    assert matched(kalman.steady.poles, poles) == pytest.approx(poles)


@pytest.mark.spec("004-C11")
def test_errors_of_200_runs_are_as_large_as_the_filter_says():
    problem = random_problem(11, 4, 2)
    kalman = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0)
    rng = np.random.default_rng(2024)
    values, nis = [], []
    for _ in range(200):
        record = problem.simulate(rng, 40)
        estimate = kalman.run(record)
        values.append(da.estimate.nees(estimate, record))
        nis.append(estimate.nis)
    mean, (low, high) = da.estimate.mean_nees(values, 4)
    inside = (mean > low) & (mean < high)
    # 40 samples, correlated; with 95 % inside on average, fewer than 34 has a probability below 1e-3 if independent
    assert inside.sum() >= 34
    low, high = da.estimate.chi_square_band(2, 200 * 40, level=0.99)
    assert low < np.mean(nis) < high  # innovations are independent in time too


# --- Kalman-Bucy ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-70")
def test_kalman_bucy_of_a_double_integrator_has_the_gain_of_the_books():
    # acceleration noise q, position noise r: K = [√2 (q/r)^¼, (q/r)^½]
    q, r = 3.0, 0.2
    cart = StateSpace([[0.0, 1.0], [0.0, 0.0]], None, [[1.0, 0.0]])
    steady = da.estimate.KalmanBucy(cart, Q=np.diag([0.0, q]), R=r).steady
    assert steady.M[:, 0] == pytest.approx([np.sqrt(2) * (q / r) ** 0.25, np.sqrt(q / r)], rel=1e-12)


@pytest.mark.spec("000-70")
def test_the_variance_of_a_scalar_kalman_bucy_filter_is_a_hyperbolic_tangent():
    # ẋ = w, y = x + v: Ṗ = q - P²/r, P(0) = 0: P = √(q r) tanh(t √(q/r))
    q, r = 4.0, 0.25
    t = np.linspace(0.0, 2.0, 9)
    P = da.estimate.KalmanBucy(StateSpace([[0.0]], None, [[1.0]]), Q=q, R=r, P0=0.0).covariances(t)
    assert P[:, 0, 0] == pytest.approx(np.sqrt(q * r) * np.tanh(t * np.sqrt(q / r)), rel=1e-13, abs=1e-15)


def continuous_problem(seed: int) -> tuple[StateSpace, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, 3)) - 1.5 * np.eye(3)
    system = StateSpace(A, rng.standard_normal((3, 1)), rng.standard_normal((2, 3)), rng.standard_normal((2, 1)))
    q, r = rng.standard_normal((3, 3)), rng.standard_normal((2, 2))
    return system, q @ q.T, r @ r.T + 0.1 * np.eye(2), np.eye(3)


@pytest.mark.spec("000-70")
def test_kalman_bucy_over_a_record_is_its_differential_equation():
    system, Q, R, P0 = continuous_problem(3)
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, 11)
    record = Record(t, rng.standard_normal((11, 3)), ["u1", "y1", "y2"])
    u, y = record[["u1"]], record[["y1", "y2"]]
    estimate = da.estimate.KalmanBucy(system, Q=Q, R=R, P0=P0, start=[1.0, 0.0, -1.0]).run(record)
    CR = np.linalg.solve(R, system.C).T
    seen = y - u @ system.D.T  # linear between samples; what the outputs read of held inputs jumps

    def rate(s: float, z: np.ndarray, k: int) -> np.ndarray:
        x, P = z[:3], z[3:].reshape(3, 3)
        now = seen[k] + (seen[k + 1] - seen[k]) * s / 0.1
        dx = system.A @ x + system.B @ u[k] + P @ CR @ (now - system.C @ x)
        return np.concatenate([dx, (system.A @ P + P @ system.A.T - P @ CR @ system.C @ P + Q).ravel()])

    z = np.concatenate([[1.0, 0.0, -1.0], P0.ravel()])
    for k in range(10):
        z = scipy.integrate.solve_ivp(rate, (0, 0.1), z, args=(k,), rtol=1e-11, atol=1e-12, method="DOP853").y[:, -1]
        assert estimate.states[k + 1] == pytest.approx(z[:3], rel=1e-9, abs=1e-9)
        assert estimate.covariances()[k + 1] == pytest.approx(z[3:].reshape(3, 3), rel=1e-9, abs=1e-9)


@pytest.mark.spec("000-70")
def test_an_accelerometer_that_jumps_with_held_inputs_does_not_mislead_kalman_bucy():
    # an exact model from an exact start: what is left is y - D u not being linear between samples, 25² Δt²/12 of 0.1 m
    plant = StateSpace([[0, 1], [-25, -0.2]], [0, 1], [[-25, -0.2]], [[1.0]], inputs="push", outputs="a")
    sampled, push = plant.to_discrete(1e-3), np.random.default_rng(0).standard_normal(400)
    x, rows = np.array([0.1, 0.0]), []
    for u in push:
        rows.append([u, *(sampled.C @ x + sampled.D @ [u]), *x])
        x = sampled.A @ x + sampled.B @ [u]
    data = np.array(rows)
    record = Record(1e-3 * np.arange(400), data[:, :2], ["push", "a"])
    found = da.estimate.KalmanBucy(plant, Q=1e-2, R=1e-4, P0=1e-2, start=[0.1, 0.0]).run(record)
    assert np.abs(found.states - data[:, 2:]).max() < 5e-6  # 0.02 where the jumps are interpolated


@pytest.mark.spec("000-70")
def test_kalman_bucy_is_the_limit_of_the_discrete_filter():
    system, Q, R, _ = continuous_problem(3)
    bucy = da.estimate.KalmanBucy(system, Q=Q, R=R)
    steps = np.array([1e-2, 1e-3, 1e-4])
    gaps = [np.abs(bucy.discrete(dt).steady.M / dt - bucy.steady.M).max() for dt in steps]
    # first order in dt: every tenth of the step a tenth of the gap
    assert gaps[1] / gaps[0] == pytest.approx(0.1, rel=0.05)
    assert gaps[2] / gaps[1] == pytest.approx(0.1, rel=0.05)
    extrapolated = [bucy.discrete(dt).steady.P for dt in (2e-4, 1e-4)]
    assert 2 * extrapolated[1] - extrapolated[0] == pytest.approx(bucy.steady.P, rel=1e-5, abs=1e-6)


@pytest.mark.spec("000-70")
def test_the_covariance_settles_to_the_algebraic_riccati_equation():
    system, Q, R, P0 = continuous_problem(7)
    bucy = da.estimate.KalmanBucy(system, Q=Q, R=R, P0=P0)
    P = scipy.linalg.solve_continuous_are(system.A.T, system.C.T, Q, R)
    assert pytest.approx(P, rel=1e-10, abs=1e-12) == bucy.steady.P
    assert bucy.covariances([0.0, 100.0])[-1] == pytest.approx(P, rel=1e-10, abs=1e-12)


@pytest.mark.spec("000-70")
def test_rates_of_1e7_per_second_are_no_trouble_over_steps_of_1e_minus_4():
    # spec 000, T-20: R = 1e-6, C entries of 1e3, P(0) = 1e-6: explicit RK4 at this step overflows at once
    system = StateSpace([[0.0, 1.0], [-1e3, -0.1]], None, [[1e3, 0.0], [0.0, 1e3]])
    bucy = da.estimate.KalmanBucy(system, Q=1e-6, R=1e-6, P0=1e-6)
    P = bucy.covariances(np.arange(0.0, 0.02, 1e-4))
    assert np.isfinite(P).all() and np.linalg.eigvalsh(P).min() > 0
    assert P[-1] == pytest.approx(bucy.steady.P, rel=1e-6)
