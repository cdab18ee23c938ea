"""Records as they come: short, uneven, with gaps, in other units; every kind of filter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.estimate import ExtendedKalman, Kalman, SigmaPointKalman, UserModel, smooth
from dalembert.estimate.engine.rows import intervals
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises, warns

DT = 0.1
UNITS = {"position": "m", "speed": "m/s", "push": "m/s²", "seen": "m", "heard": "m/s"}


def cart(**more: Any) -> StateSpace:
    return StateSpace(
        [[0, 1], [0, 0]], [0, 1], np.eye(2), states=["position", "speed"], inputs="push", outputs=["seen", "heard"],
        units=UNITS, **more,
    )  # fmt: skip


def own() -> UserModel:
    return UserModel(
        lambda x, u: [x[1], u[0]], lambda x: [x[0], x[1]], states={"position": "m", "speed": "m/s"},
        inputs={"push": "m/s²"}, outputs={"seen": "m", "heard": "m/s"},
    )  # fmt: skip


GIVEN: dict[str, Any] = {"Q": 1e-6, "R": 1e-4, "P0": 1.0, "dt": DT}
FILTERS: dict[str, Any] = {
    "covariance": lambda **k: Kalman(cart(), **{**GIVEN, **k}),
    "square-root": lambda **k: Kalman(cart(), form="square-root", **{**GIVEN, **k}),
    "information": lambda **k: Kalman(cart(), form="information", **{**GIVEN, **k}),
    "steady": lambda **k: Kalman(cart(), form="steady", **{**GIVEN, **k}),
    "extended": lambda **k: ExtendedKalman(own(), **{**GIVEN, **k}),
    "iterated": lambda **k: ExtendedKalman(own(), iterations=2, **{**GIVEN, **k}),
    "sigma-point": lambda **k: SigmaPointKalman(own(), **{**GIVEN, **k}),
    "square-root sigma-point": lambda **k: SigmaPointKalman(own(), square_root=True, **{**GIVEN, **k}),
}
each_filter = pytest.mark.parametrize("name", FILTERS)


def record(count: int = 60, time: Any = None, **more: Any) -> Record:
    t = DT * np.arange(count) if time is None else np.asarray(time, dtype=float)
    rng = np.random.default_rng(0)
    channels = {"push": 1.0, "seen": t**2 / 2 + 0.01 * rng.standard_normal(len(t)), "heard": t}
    return Record.from_channels(t, {**channels, **more})


@each_filter
def test_a_record_of_one_sample_corrects_the_start(name: str) -> None:
    found = FILTERS[name]().run(record(1))
    assert len(found) == 1 and np.isfinite(found.states).all() and "1 samples" in repr(found)
    assert smooth(found).states.tolist() == found.states.tolist()
    with raises(DataError, "too-few-samples"):
        found.consistency(settle=5.0)


@each_filter
def test_the_first_samples_may_be_missing(name: str) -> None:
    late = record(seen=np.where(np.arange(60) < 20, np.nan, record()["seen"]), heard=np.full(60, np.nan))
    found = FILTERS[name](start=[0.0, 0.0]).run(late)
    assert found.nis[:20].tolist() == [0.0] * 20 and found.measured[:20].sum() == 0
    assert found["position"][-1] == pytest.approx(late.time[-1] ** 2 / 2, abs=0.1)
    assert np.isfinite(found.log_likelihood) and np.isfinite(smooth(found).record.data).all()


@each_filter
def test_slow_sensors_leave_gaps_that_change_nothing_in_the_fast_ones(name: str) -> None:
    slow = np.where(np.arange(60) % 5 == 0, record()["heard"], np.nan)
    found = FILTERS[name]().run(record(heard=slow))
    assert found.measured.tolist() == [2 if k % 5 == 0 else 1 for k in range(60)]
    assert found["speed"][-1] == pytest.approx(5.9, abs=0.05)


@each_filter
def test_other_channels_of_a_record_do_not_matter(name: str) -> None:
    plain = FILTERS[name]().run(record())
    more = FILTERS[name]().run(record(more=np.nan, inside=np.inf))
    assert more.states.tolist() == plain.states.tolist()


@each_filter
def test_a_record_of_other_steps_is_refused_in_the_same_words(name: str) -> None:
    with raises(DataError, "sample-time-mismatch", "0.2", "0.1", "dt"):
        FILTERS[name]().run(record(time=2 * DT * np.arange(60)))


@each_filter
def test_channels_in_other_units_are_converted_and_of_other_quantities_refused(name: str) -> None:
    filter_, plain = FILTERS[name](), record()
    small = Record.from_channels(
        plain.time, {n: plain[n] * (1e3 if n == "seen" else 1) for n in plain.names}, {"seen": "mm"}
    )
    assert np.allclose(filter_.run(small).states, filter_.run(plain).states, rtol=1e-12, atol=1e-12)
    for channel, unit in (("seen", "kg"), ("push", "N"), ("seen", "counts")):
        other = Record(plain.time, plain.data, plain.names, {channel: unit})
        with pytest.raises(DataError) as caught:
            filter_.run(other)
        assert f"'{channel}'" in str(caught.value) and unit in str(caught.value)
    spelled = Record(plain.time, plain.data, plain.names, {"push": "m/s^2", "seen": "m", "heard": "m/s"})
    assert filter_.run(spelled).status == "complete"


@pytest.mark.parametrize("name", ["extended", "sigma-point"])
def test_uneven_steps_are_gone_but_a_constant_q_is_warned_of(name: str) -> None:
    time = np.cumsum(np.random.default_rng(3).uniform(0.02, 0.3, 60))
    with warns(UserWarning, "uneven-sampling", "Q"):
        FILTERS[name](dt=None).run(record(time=time))
    grown = FILTERS[name](dt=None, Q=lambda s: 1e-5 * s["dt"]).run(record(time=time, push=1.0))
    assert grown["speed"][-1] == pytest.approx(time[-1], abs=5 * grown.deviation("speed")[-1])


def test_uneven_steps_of_a_continuous_model_are_those_of_the_exact_transition() -> None:
    """P over uneven steps against A(Δ) P A(Δ)ᵀ + Q(Δ) in NumPy."""
    time = np.cumsum(np.random.default_rng(5).uniform(0.02, 0.3, 40))
    uneven = record(time=time)
    found = ExtendedKalman(own(), Q=lambda s: 1e-3 * s["dt"], R=1e-4, P0=1.0).run(uneven)
    x, P = np.zeros(2), np.eye(2)
    for k in range(40):
        if k:
            d = time[k] - time[k - 1]
            A = np.array([[1.0, d], [0.0, 1.0]])
            x, P = A @ x + np.array([d**2 / 2, d]), A @ P @ A.T + 1e-3 * d * np.eye(2)
        K = P @ np.linalg.inv(P + 1e-4 * np.eye(2))
        x, P = x + K @ (np.array([uneven["seen"][k], uneven["heard"][k]]) - x), P - K @ P
    assert found.states[-1] == pytest.approx(x, rel=1e-10)
    assert found.covariances()[-1] == pytest.approx(P, rel=1e-9)


def test_the_same_record_filters_alike_from_any_origin_of_time() -> None:
    plain, late = record(), record(time=1e5 + DT * np.arange(60), seen=record()["seen"], heard=record()["heard"])
    for name in FILTERS:
        here, there = (FILTERS[name](start=[0.0, 0.0]).run(r) for r in (plain, late))
        assert there.states == pytest.approx(here.states, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("share", [0.99, 1.01])
@pytest.mark.parametrize("what", ["jitter", "clock"])
def test_steps_are_those_of_a_model_up_to_the_jitter_and_the_error_of_a_clock(what: str, share: float) -> None:
    steps = np.full(500, DT)
    steps[[250] if what == "jitter" else slice(None)] *= 1 + share * {"jitter": 0.05, "clock": 1e-3}[what]
    record = Record.from_channels(np.cumsum(steps), {"seen": 0.0})
    filter_ = Kalman(cart(), dt=DT, Q=1e-4, R=1e-4, P0=1.0)
    if share < 1:
        assert np.ptp(intervals(filter_, record)[1:]) == 0
        return
    with pytest.raises(DataError) as caught:
        intervals(filter_, record)
    assert caught.value.code in ("uneven-sampling", "sample-time-mismatch")
