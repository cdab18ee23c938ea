"""Output-only subspace identification: ambient and free motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from dalembert.core.errors import DataError
from dalembert.identify import read_data, ssi_cov, ssi_data
from dalembert.linear import StateSpace
from dalembert.linear.recursions import march
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.storey_frame import DT, FLOORS, sampled_frame, storey_frame

METHODS = [ssi_data, ssi_cov]


def damped_frame() -> StateSpace:
    """The frame with 2 % damping of its first and last mode."""
    plain = storey_frame()
    w = plain.modes().frequencies
    alpha, beta = np.linalg.solve([[0.5 / w[0], 0.5 * w[0]], [0.5 / w[2], 0.5 * w[2]]], [0.02, 0.02])
    return storey_frame(C=alpha * plain.M + beta * plain.K).state_space().to_discrete(DT)


def ambient(samples: int = 40_000, seed: int = 0) -> tuple[Record, Any]:
    """Accelerations under white forces on all floors, with sensor noise; and what the best predictor leaves."""
    frame, rng = damped_frame(), np.random.default_rng(seed)
    Q = np.diag(np.array([1.0, 2.0, 0.5, 1.0, 2.0, 0.5]) * 1e-3)
    w = rng.normal(size=(samples, 6)) * np.sqrt(np.diagonal(Q))
    clean = march(frame.A, w[:-1], np.zeros(6)) @ frame.C.T
    R = np.diag((0.05 * clean.std(axis=0)) ** 2)
    y = clean + rng.normal(size=clean.shape) * np.sqrt(np.diagonal(R))
    P = scipy.linalg.solve_discrete_are(frame.A.T, frame.C.T, Q, R)
    units = dict.fromkeys(FLOORS, "m/s²")
    return Record(DT * np.arange(samples), y, FLOORS, units), frame.C @ P @ frame.C.T + R


@pytest.mark.parametrize("method", METHODS)
def test_ambient_records_give_the_modes_within_their_bounds(method: Any) -> None:
    record, S = ambient()
    found = method(record, order=6)
    true = damped_frame().modes()
    # a pole r e^{iθ} of an autoregressive process has var r = var θ = (1 - r)/N, hence standard deviations
    # √(ζ f/(2 π T)) of f and √(ζ/(2 π f T)) of ζ over a time T; four of them, since subspace methods do not reach that
    T, f, zeta = 40_000 * DT, true.frequencies_hz, true.damping_ratios
    assert (np.abs(found.frequencies_hz - f) < 4 * np.sqrt(zeta * f / (2 * np.pi * T))).all()
    assert (np.abs(found.damping_ratios - zeta) < 4 * np.sqrt(zeta / (2 * np.pi * f * T))).all()
    assert np.diagonal(found.underdamped_modes().mac(true)) == pytest.approx(1.0, abs=5e-3)
    # the gain: predicts as well as the Kalman filter of the true system (log det: standard deviation √(6/N) = 0.012)
    left = found.residuals(record)
    assert abs(np.linalg.slogdet(left.covariance)[1] - np.linalg.slogdet(S)[1]) < 0.04
    assert np.abs(np.linalg.eigvals(found.system.A - found.gain @ found.system.C)).max() < 1.0


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_ambient_records_is_chosen_and_explained(method: Any) -> None:
    record, _ = ambient()
    found = method(record)
    assert found.order == 6
    assert any("information criterion for" in note for note in found.notes)
    assert found.inputs == ()
    assert found.system.units["a1"] == "m/s²"


@pytest.mark.parametrize("method", METHODS)
def test_repeated_decays_are_used_together(method: Any) -> None:
    frame, rng = sampled_frame(), np.random.default_rng(1)
    records = [
        Record(DT * np.arange(200), march(frame.A, np.zeros((199, 6)), rng.normal(size=6)) @ frame.C.T, FLOORS)
        for _ in range(4)
    ]
    found = method(records, FLOORS, order=6)
    assert found.frequencies_hz == pytest.approx(frame.modes().frequencies_hz, rel=1e-7)
    assert found.damping_ratios == pytest.approx(frame.modes().damping_ratios, abs=1e-7)
    assert found.gain is None
    assert found.fit(records).percent.min() > 99.999


def test_means_taken_off_are_put_back_on_what_is_simulated() -> None:
    record, _ = ambient(4000)
    lifted = Record(record.time, record.data + np.array([1.0, -2.0, 9.81]), FLOORS)
    found = ssi_data(read_data(lifted, detrend="mean"), order=6)
    assert found.offsets == pytest.approx(dict(zip(FLOORS, lifted.data.mean(axis=0))))
    level = ssi_data(read_data(record, detrend="mean"), order=6)
    assert found.fit(lifted, "prediction").percent == pytest.approx(level.fit(record, "prediction").percent)


def test_wrong_arguments_are_refused() -> None:
    record, _ = ambient(2000)
    with raises(DataError, "order-too-high", "rows="):
        ssi_data(record, order=6, rows=2)
    with raises(DataError, "unknown-name", "'a1'"):
        ssi_cov(record, ["a11", "a2"])
