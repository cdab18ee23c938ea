"""OKID: observer, system and gain Markov parameters from records (spec 000, 50-53; 3.2 item 9; T-12, T-14)."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import IdentificationWarning, ObserverMarkov, observer_gain_from_markov, okid, okid_era
from dalembert.identify.realization.arx_regression import factor_regressors
from dalembert.identify.realization.observer_gain import find_stable_gain
from dalembert.identify.realization.okid import system_markov
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises, warns
from tests.helpers.storey_frame import DT, FLOORS, played, pulse, sampled_frame, white

FRAME = sampled_frame()


def plain_okid(u: np.ndarray, y: np.ndarray, p: int) -> np.ndarray:
    """The spec's own steps: zeros before the record, one large least squares; (ny, nu + (nu + ny) p)."""
    v = np.hstack([u, y])
    V = np.zeros((len(u), u.shape[1] + v.shape[1] * p))
    V[:, : u.shape[1]] = u
    for i in range(1, p + 1):
        start = u.shape[1] + (i - 1) * v.shape[1]
        V[i:, start : start + v.shape[1]] = v[:-i]
    return np.linalg.lstsq(V, y, rcond=None)[0].T


@pytest.fixture(scope="module")
def exact() -> Record:
    return played(FRAME, white())


@pytest.mark.spec("000-52")
def test_streamed_parameters_are_those_of_one_large_least_squares() -> None:
    record = played(FRAME, white(300), noise=0.05)
    found = okid(record, "force", observer_order=7, start="rest")
    reference = plain_okid(record[["force"]], record[FLOORS], 7)
    stacked = np.hstack([found.D, *found.observer])
    np.testing.assert_allclose(stacked, reference, atol=1e-9 * np.abs(reference).max())


@pytest.mark.spec("000-50")
def test_the_observer_form_holds_sample_by_sample(exact: Record) -> None:
    """y(k) + Σ Ȳ²_j y(k-j) = D u(k) + Σ Ȳ¹_j u(k-j), with parameters of a known observer of order 2 (deadbeat)."""
    found = okid(exact, "force", observer_order=2)
    u, y = exact[["force"]], exact[FLOORS]
    left = y[2:] + y[1:-1] @ found.backward[0].T + y[:-2] @ found.backward[1].T
    right = u[2:] @ found.D.T + u[1:-1] @ found.forward[0].T + u[:-2] @ found.forward[1].T
    assert np.abs(left - right).max() < 1e-10 * np.abs(y).max()


@pytest.mark.spec("000-50")
def test_observer_markov_parameters_are_those_of_the_state_space_observer(exact: Record) -> None:
    """Ȳ_k = C Ā^{k-1} [B + G D, -G] with Ā = A + G C and G = -K, K the gain found with the model."""
    fit = okid_era(exact, "force", order=6, observer_order=2)
    found = okid(exact, "force", observer_order=2)
    A, B, C, D = fit.system.A, fit.system.B, fit.system.C, fit.system.D
    G = -fit.gain
    power = np.eye(6)
    for k in range(2):
        np.testing.assert_allclose(found.forward[k], C @ power @ (B + G @ D), atol=1e-9)
        np.testing.assert_allclose(found.backward[k], C @ power @ G, atol=1e-9)
        power = power @ (A + G @ C)


@pytest.mark.spec("000-52")
@pytest.mark.parametrize("p", [2, 3, 10])
def test_noise_free_data_give_exact_markov_parameters_for_any_long_enough_observer(exact: Record, p: int) -> None:
    found = okid(exact, "force", observer_order=p)
    np.testing.assert_allclose(found.system(100), FRAME.markov(100), atol=1e-10)


@pytest.mark.spec("000-51")
def test_the_recursion_gives_the_markov_parameters_of_machine_and_gain() -> None:
    """Against C A^{k-1} B and C A^{k-1} G of a known observer that is deadbeat after p steps."""
    rng = np.random.default_rng(3)
    A, B, C, D = rng.normal(size=(2, 2)), rng.normal(size=(2, 1)), rng.normal(size=(1, 2)), rng.normal(size=(1, 1))
    observability = np.vstack([C, C @ A])
    G = -A @ A @ np.linalg.solve(observability, [[0.0], [1.0]])  # Ackermann: (A + G C)² = 0
    Abar = A + G @ C
    forward = np.stack([C @ (B + G @ D), C @ Abar @ (B + G @ D)])
    backward = np.stack([C @ G, C @ Abar @ G])
    found = system_markov(D, forward, backward, 12)
    np.testing.assert_allclose(found[0], np.hstack([D, [[0.0]]]))
    for k in range(1, 12):
        power = np.linalg.matrix_power(A, k - 1)
        np.testing.assert_allclose(found[k], C @ power @ np.hstack([B, G]), rtol=1e-9, atol=1e-9)


@pytest.mark.spec("000-53")
def test_the_gain_of_a_known_model_makes_the_noise_free_observer_deadbeat(exact: Record) -> None:
    """eig(A + G C) ~ 0: a nilpotent matrix of index 2 has eigenvalues of the size √ε."""
    found = okid(exact, "force", observer_order=2)
    K = observer_gain_from_markov(FRAME, found)
    closed = FRAME.A - K @ FRAME.C
    assert np.abs(closed @ closed).max() < 1e-10 * max(1.0, np.abs(closed).max() ** 2)
    assert np.abs(np.linalg.eigvals(closed)).max() < 1e-5


@pytest.mark.spec("000-53")
def test_with_long_data_the_gain_is_that_of_the_kalman_predictor() -> None:
    """G → -K; a scalar machine with process and sensor noise, whose Riccati equation is a quadratic."""
    a, q, r = 0.8, 1.0, 0.5
    # P = a² P - a² P²/(P + r) + q
    P = np.roots([1.0, r - a**2 * r - q, -q * r]).max()
    K = a * P / (P + r)
    rng = np.random.default_rng(0)
    N = 100_000
    u, w, v = rng.standard_normal((3, N))
    x = np.zeros(N)
    for k in range(N - 1):
        x[k + 1] = a * x[k] + u[k] + np.sqrt(q) * w[k]
    record = Record(np.arange(N), np.column_stack([u, x + np.sqrt(r) * v]), ["u", "y"])
    model = StateSpace([[a]], [1.0], [1.0], dt=1.0, inputs="u", outputs="y")
    found = observer_gain_from_markov(model, okid(record, "u", observer_order=12))
    # standard deviation of a parameter of this regression is about 1/√N = 0.003
    assert abs(found[0, 0] - K) < 0.015


def test_a_gain_of_an_unstable_observer_is_turned_into_the_stable_one_with_the_same_noise_spectrum() -> None:
    rng = np.random.default_rng(4)
    A, C = np.diag([0.9, 0.5, -0.3]), rng.normal(size=(2, 3))
    system = StateSpace(A, np.ones((3, 1)), C, dt=1.0)
    K, root = 3.0 * rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
    assert np.abs(np.linalg.eigvals(A - K @ C)).max() > 1.0
    markov = ObserverMarkov(np.zeros((2, 1)), np.zeros((1, 2, 1)), np.zeros((1, 2, 2)), residual=root @ root.T, dt=1.0)
    stable, innovation, note = find_stable_gain(system, markov, K)
    assert np.abs(np.linalg.eigvals(A - stable @ C)).max() < 1.0
    assert "same noise spectrum" in note
    for z in np.exp(1j * np.array([0.0, 0.7, 3.0])):
        spectra = []
        for gain, cov in ((K, root @ root.T), (stable, innovation)):
            H = np.eye(2) + C @ np.linalg.solve(z * np.eye(3) - A, gain)
            spectra.append(H @ cov @ H.conj().T)
        np.testing.assert_allclose(spectra[1], spectra[0], rtol=1e-8, atol=1e-8)


@pytest.mark.spec("000-52")
def test_repeated_tests_are_joined_without_mixing_their_transients(exact: Record) -> None:
    second = played(FRAME, white(200, seed=2), start=np.ones(6))
    joined = okid([exact, second], "force", observer_order=2)
    np.testing.assert_allclose(joined.system(50), FRAME.markov(50), atol=1e-10)
    glued = Record(DT * np.arange(len(exact) + 200), np.vstack([exact.data, second.data]), exact.names, exact.units)
    mixed = okid(glued, "force", observer_order=2)
    assert np.abs(mixed.system(50) - FRAME.markov(50)).max() > 1e-6


def test_a_start_from_rest_uses_a_blow_at_the_first_sample() -> None:
    record = played(FRAME, pulse(400))
    found = okid(record, "force", observer_order=2, start="rest")
    np.testing.assert_allclose(found.system(50), FRAME.markov(50), atol=1e-10)


def test_a_blow_within_the_samples_that_are_past_only_is_warned_of() -> None:
    record = played(FRAME, pulse(400))
    with warns(IdentificationWarning, "lost-input", "start='rest'", "force"):
        okid(record, "force", observer_order=2)


def test_a_start_that_is_not_at_rest_does_no_harm_when_unknown(exact: Record) -> None:
    record = played(FRAME, white(500), start=np.ones(6))
    found = okid(record, "force", observer_order=2)
    np.testing.assert_allclose(found.system(50), FRAME.markov(50), atol=1e-10)


def test_the_automatic_order_of_noise_free_data_is_the_shortest_and_says_so(exact: Record) -> None:
    found = okid(exact, "force")
    assert found.order == 2  # n / ny
    assert "no noise" in found.notes[0]


def test_the_automatic_order_grows_with_the_data_and_is_explained() -> None:
    orders = []
    for samples in (1000, 8000):
        found = okid(played(FRAME, white(samples), noise=0.05), "force")
        orders.append(found.order)
        assert "Akaike" in found.notes[0]
        assert found.criterion is not None
        assert 2 * (int(np.argmin(found.criterion)) + 1) == found.order
    assert orders[1] > orders[0] > 4


def test_residuals_are_the_innovation_of_the_noise() -> None:
    """Sensor noise of 5 % alone cannot be told before: what is left is 5 %, and a little for the finite observer."""
    found = okid(played(FRAME, white(20_000), noise=0.05), "force", observer_order=60)
    assert np.all(found.relative_residual > 0.049)
    assert np.all(found.relative_residual < 0.056)


def test_both_ways_to_the_triangular_factor_agree() -> None:
    rng = np.random.default_rng(0)
    u = [rng.standard_normal((n, 2)) for n in (300, 57)]
    y = [rng.standard_normal((n, 3)) for n in (300, 57)]
    for p, rest in ((1, False), (4, True), (4, False)):
        made = [factor_regressors(u, y, p, rest=rest, way=way) for way in ("Cholesky", "QR")]
        np.testing.assert_allclose(made[0].R.T @ made[0].R, made[1].R.T @ made[1].R, atol=1e-10)
        np.testing.assert_allclose(made[0].solve(p)[0], made[1].solve(p)[0], atol=1e-12)
        np.testing.assert_allclose(made[0].residual(p - 1), made[1].residual(p - 1), atol=1e-10)


def test_noise_free_data_take_the_rank_revealing_way(exact: Record) -> None:
    found = okid(exact, "force", observer_order=10)
    assert found.provenance["least squares"] == "QR"
    # 1 + 10 inputs, and the 6 states from which the past outputs follow
    assert found.rank == 11 + 6 < found.unknowns


def test_memory_does_not_grow_with_the_samples() -> None:
    rng = np.random.default_rng(0)
    peaks = []
    for N in (200_000, 600_000):
        u, y = [rng.standard_normal((N, 2))], [rng.standard_normal((N, 3))]
        tracemalloc.start()
        factor_regressors(u, y, 20)
        peaks.append(tracemalloc.get_traced_memory()[1] - N * 5 * 8)
        tracemalloc.stop()
    # besides one copy of the channels side by side
    assert peaks[1] < 1.2 * peaks[0] + 1e6


def test_without_feedthrough_D_is_zero() -> None:
    system = FRAME.replace(D=np.zeros((3, 1)))
    found = okid(played(system, white(500)), "force", observer_order=2, feedthrough=False)
    assert not found.D.any()
    np.testing.assert_allclose(found.system(50), system.markov(50), atol=1e-10)


def test_wrong_arguments_are_refused(exact: Record) -> None:
    with raises(DataError, "missing-argument", "OKID"):
        okid(exact)
    with raises(DataError, "order-too-high", "order 3", "observer_order=2"):
        okid(exact, "force", observer_order=1, order=6)
    with raises(DataError, "not-a-count", "observer_order"):
        okid(exact, "force", observer_order=0)
    with raises(DataError, "unknown-choice", "'unknown' or 'rest'", "'zero'"):
        okid(exact, "force", start="zero")
    with raises(DataError, "too-few-samples"):
        okid(exact, "force", observer_order=600)


def test_the_result_is_frozen_and_shows_itself(exact: Record) -> None:
    found = okid(exact, "force", observer_order=2)
    assert "ObserverMarkov: order 2" in repr(found)
    assert "a2" in found.table()
    with pytest.raises(AttributeError):
        found.dt = 1.0
    assert not found.forward.flags.writeable


def test_parameters_of_unlike_shape_are_refused() -> None:
    with raises(DataError, "wrong-shape"):
        ObserverMarkov(np.zeros((1, 1)), np.zeros((2, 1, 1)), np.zeros((3, 1, 1)), dt=1.0)


def test_the_triangular_solve_agrees_with_the_singular_values_at_its_threshold() -> None:
    """Regressors 1 to 1e-9 in size beside each other: both ways find the same coefficients."""
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal((400, 1)), rng.standard_normal((400, 1))
    factor = factor_regressors([u], [y], 3, way="QR")
    inverse = 1.0 / factor.solve(3)[2]
    by_triangle, by_singular_values = (factor.solve(3, rcond=share * inverse / 1000.0)[0] for share in (0.99, 1.01))
    np.testing.assert_allclose(by_triangle, by_singular_values, rtol=1e-10)
