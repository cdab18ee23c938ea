"""The Kalman-Bucy filter over records and inside a simulation."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.kalman_models import block_on_a_spring, cart, pushed


@pytest.mark.spec("000-70")
def test_kalman_bucy_over_fine_samples_is_the_discrete_filter():
    bucy = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=1e-4, P0=1.0)
    record = pushed(4000, dt=1e-3, noise=0.1)
    ours, discrete = bucy.run(record), bucy.discrete(1e-3).run(record)
    # with sensors linear between samples, half of the weight of the last one, K dt, is still to come
    half = 0.5e-3 * bucy.steady.M[:, 0] * ours.innovations
    gap = np.abs(ours.states + half - discrete.states)[1000:]
    assert np.all(gap < 0.1 * np.abs(half).max(axis=0))
    assert ours.covariances()[-1] == pytest.approx(discrete.covariances()[-1], rel=0.02)


@pytest.mark.spec("000-70")
def test_the_steady_kalman_bucy_filter_is_the_other_begun_settled():
    record = pushed(200, dt=0.01)
    plain = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=1e-4).run(record)
    steady = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=1e-4, form="steady").run(record)
    assert steady.states == pytest.approx(plain.states, rel=1e-10, abs=1e-12)


@pytest.mark.spec("000-70")
@pytest.mark.parametrize("form", ["covariance", "steady"])
def test_the_continuous_watcher_is_the_differential_equation(form):
    bucy = da.estimate.KalmanBucy(cart(), Q={"speed": 0.5}, R=0.1, P0=np.diag([2.0, 3.0]), form=form)
    observer_step = bucy.observer_step()
    assert observer_step.dt is None and observer_step.reads == ("seen",) and observer_step.known == ("push",)
    rate, estimate = observer_step.function([0.1, 0.2, *observer_step.start[2:]], [1.5], [0.4], [], 0.0)
    P = bucy.steady.P if form == "steady" else np.diag([2.0, 3.0])
    A, C = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 0.0]])
    expected = A @ [0.1, 0.2] + [0.0, 1.5] + P @ C.T[:, 0] / 0.1 * (0.4 - 0.1)
    assert rate.full().ravel()[:2] == pytest.approx(expected)
    assert estimate.full().ravel() == pytest.approx([0.1, 0.2, *np.sqrt(np.diag(P))])
    if form == "covariance":
        Pdot = A @ P + P @ A.T - P @ C.T @ C @ P / 0.1 + np.diag([0.0, 0.5])
        assert rate.full().ravel()[2:] == pytest.approx([Pdot[0, 0], Pdot[1, 0], Pdot[1, 1]])


def test_kalman_bucy_says_what_it_does_not_take():
    with raises(DataError, "not-supported"):
        da.estimate.KalmanBucy(cart(0.1), Q=1.0, R=1.0)
    with raises(DataError, "not-positive-definite", "R"):
        da.estimate.KalmanBucy(cart(), Q=1.0, R=0.0)
    with raises(ModelError, "wrong-type"):
        da.estimate.KalmanBucy("cart", Q=1.0, R=1.0)
    blind = StateSpace([[0.0, 0.0], [0.0, -1.0]], None, [[0.0, 1.0]], states=["drift", "seen"])
    with raises(DataError, "no-steady-filter"):
        da.estimate.KalmanBucy(blind, Q=1.0, R=1.0).steady
    still = StateSpace([[0.0]], None, [[1.0]], states=["bias"])
    with raises(DataError, "no-steady-filter"):
        da.estimate.KalmanBucy(still, Q=0.0, R=1.0).steady
    bucy = da.estimate.KalmanBucy(cart(), Q=1.0, R=1.0, P0=1.0)
    record = pushed(20)
    data = np.array(record.data)
    data[3, record.names.index("seen")] = np.nan
    with raises(DataError, "gap-in-record", "filter.discrete", "dt"):
        bucy.run(Record(record.time, data, record.names))
    with raises(ModelError, "not-supported"):
        da.estimate.smooth(bucy.run(record))
    with raises(DataError, "not-increasing"):
        bucy.covariances([0.0, 0.0])


def test_a_continuous_filter_goes_along_with_the_machine():
    eqs, model = block_on_a_spring()
    start = da.assemble(eqs, {"rail": 0.3}, velocity={"rail": -0.2})
    for form in ("covariance", "steady"):
        bucy = da.estimate.KalmanBucy(model, Q={"rail.speed": 1e-2}, R=1e-4, P0=1.0, form=form)
        run = da.simulate(eqs, 8.0, start=start, inputs={"push": lambda t: da.sin(t)}, observer=bucy)
        gap = np.abs(run["estimate.rail.speed"] - run["rail.speed"])
        slowest = bucy.steady.poles.real.max()
        assert gap[0] == pytest.approx(0.2)
        assert gap[-1] < 10 * 0.2 * np.exp(slowest * 8.0) + 1e-5  # and the tolerance of the simulation
