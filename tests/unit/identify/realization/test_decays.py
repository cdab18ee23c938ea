"""Modes from outputs alone: free decays, NExT correlations, ERA and Ibrahim's method."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import (
    IdentificationWarning,
    correlation_decays,
    decay_era,
    free_decays,
    ibrahim,
    next_era,
)
from dalembert.identify.realization.ibrahim import double_least_squares
from dalembert.identify.realization.next_era import correlate
from dalembert.linear import SecondOrder, StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises, warns

OUTPUTS = ["a1", "a2", "a3"]


@pytest.fixture(scope="module")
def tower() -> SecondOrder:
    """Three equal storeys, damping ratios of some percent."""
    K = 400.0 * np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    return SecondOrder(np.eye(3), K, C=0.2 * np.eye(3) + 5e-4 * K, B=np.eye(3), Y_velocity=np.eye(3), outputs=OUTPUTS)


def decay(system: SecondOrder, start: np.ndarray, count: int = 300, dt: float = 0.05) -> Record:
    space = system.state_space().to_discrete(dt)
    states = [start]
    for _ in range(count - 1):
        states.append(space.A @ states[-1])
    return Record(dt * np.arange(count), np.array(states) @ space.C.T, OUTPUTS)


def shaken(system: SecondOrder, count: int, noise: float, seed: int = 0, dt: float = 0.05) -> Record:
    """White forces on all masses that nobody measures, and sensor noise relative to the rms."""
    rng = np.random.default_rng(seed)
    space = system.state_space().to_discrete(dt)
    u = rng.standard_normal((count, 3))
    x, y = np.zeros(6), np.empty((count, 3))
    for k in range(count):
        y[k] = space.C @ x
        x = space.A @ x + space.B @ u[k]
    y += noise * y.std(axis=0) * rng.standard_normal(y.shape)
    return Record(dt * np.arange(count), y, OUTPUTS)


@pytest.mark.parametrize("method", [decay_era, ibrahim])
def test_a_free_decay_gives_the_modes_exactly(tower: SecondOrder, method) -> None:
    record = decay(tower, np.array([1.0, 0.0, -0.5, 2.0, 1.0, 0.3]))
    found, true = method(record), tower.state_space().modes()
    assert found.order == 6
    np.testing.assert_allclose(found.frequencies_hz, true.frequencies_hz, rtol=1e-9)
    np.testing.assert_allclose(found.damping_ratios, true.damping_ratios, rtol=1e-8)
    mac = found.modes().mac(true)
    np.testing.assert_allclose(np.diag(mac), 1.0, atol=1e-8)
    assert found.system.nu == 0
    assert "free decays" in found.method


@pytest.mark.parametrize("method", [decay_era, ibrahim])
def test_several_decays_and_a_single_sensor_do_as_well(tower: SecondOrder, method) -> None:
    rng = np.random.default_rng(0)
    records = [decay(tower, rng.normal(size=6), 300 + 10 * i) for i in range(2)]
    found = method(free_decays(records, "a3", start=0.5), order=6)
    np.testing.assert_allclose(found.frequencies_hz, tower.modes().frequencies_hz, rtol=1e-8)
    assert found.outputs == ("a3",)


def test_the_double_least_squares_halves_the_damping_bias_of_a_single_one(tower: SecondOrder) -> None:
    """White noise on stacked samples shrinks one estimate of A and stretches the other."""
    rng = np.random.default_rng(1)
    A = StateSpace([[0.9, 0.4], [-0.4, 0.9]], dt=1.0).A * 0.99
    x = np.empty((2, 400))
    x[:, 0] = 1.0, 0.0
    for k in range(399):
        x[:, k + 1] = A @ x[:, k]
    noisy = x + 0.05 * rng.standard_normal(x.shape)
    now, later = noisy[:, :-1], noisy[:, 1:]
    single = later @ now.T @ np.linalg.inv(now @ now.T)
    both = double_least_squares(now, later)
    true = np.abs(np.linalg.eigvals(A))[0]
    off = [abs(np.abs(np.linalg.eigvals(each))[0] - true) for each in (single, both)]
    assert off[1] < 0.5 * off[0]


def test_correlations_are_sums_over_blocks_of_all_records() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((n, 3)) for n in (40_000, 100)]
    found = correlate(parts, [0, 2], 20)
    for lag in (0, 1, 20):
        total = sum(y[lag:].T @ y[: len(y) - lag][:, [0, 2]] for y in parts)
        np.testing.assert_allclose(found[lag], total / sum(len(y) - lag for y in parts), atol=1e-13)


def test_correlations_of_a_shaken_machine_are_its_free_decay(tower: SecondOrder) -> None:
    """R(τ) = C A^{τ-1} G with G from the state covariance, so every column obeys the machine's own recursion."""
    space = tower.state_space().to_discrete(0.05)
    P = space.controllability_gramian()
    G = space.A @ P @ space.C.T
    decays = correlation_decays(shaken(tower, 200_000, 0.0), lags=40)
    theory = np.array([space.C @ np.linalg.matrix_power(space.A, k) @ G for k in range(40)])
    # a correlation over T s of a motion with time constant 1/ζω scatters by some √(1/ζωT)
    assert np.abs(decays.values - theory).max() < 0.05 * np.abs(theory).max()


def test_ambient_records_give_frequencies_damping_and_shapes(tower: SecondOrder) -> None:
    """100 000 samples, 10 % sensor noise. The scatter of damping is √(1/(2 ζ ω T)) relative or less: some 3 %."""
    record = shaken(tower, 100_000, 0.1)
    true = tower.state_space().modes()
    decays = correlation_decays(record, lags=150)
    for found in (next_era(record, order=6, lags=150), decay_era(decays, order=6), ibrahim(decays, order=6)):
        np.testing.assert_allclose(found.frequencies_hz, true.frequencies_hz, rtol=0.005)
        np.testing.assert_allclose(found.damping_ratios, true.damping_ratios, rtol=0.10)
        assert np.diag(found.modes().mac(true)).min() > 0.99
        assert found.method.startswith("NExT")


def test_sensor_noise_does_not_enter_because_lag_zero_is_left_out(tower: SecondOrder) -> None:
    quiet, noisy = (correlation_decays(shaken(tower, 50_000, noise), lags=20).values for noise in (0.0, 0.5))
    assert np.abs(noisy - quiet).max() < 0.05 * np.abs(quiet).max()


def test_references_choose_the_columns(tower: SecondOrder) -> None:
    decays = correlation_decays(shaken(tower, 5000, 0.0), OUTPUTS, references="a3", lags=50)
    assert decays.values.shape == (50, 3, 1)
    assert decays.columns == ("a3",)
    assert decays.record().names[0] == "a1, a3"
    assert "correlations" in repr(decays)


def test_an_unclear_order_is_warned_of() -> None:
    k = np.arange(60.0)
    noise = Record(k, 0.97 ** k[:, None] * np.random.default_rng(0).standard_normal((60, 1)), ["y"])
    for method in (decay_era, ibrahim, lambda record: next_era(record, lags=20)):
        with warns(IdentificationWarning, "unclear-order") as caught:
            found = method(noise)
        assert "unclear-order" in [finding.code for finding in found.findings]
        assert {one.filename for one in caught} == {__file__}  # the line of the caller


def test_an_order_above_the_size_of_the_hankel_matrix_is_refused(tower: SecondOrder) -> None:
    record = decay(tower, np.ones(6), 20)
    with raises(DataError, "order-too-high", "order 4", "5"):
        decay_era(record, order=5, rows=4, columns=4)
