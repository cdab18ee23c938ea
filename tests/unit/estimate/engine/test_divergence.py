"""Filters that cannot go on: sensors without noise, covariances that are none, lost motions; all are named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.estimate import ExtendedKalman, Kalman, SigmaPointKalman, Symmetric, UserModel
from dalembert.estimate.engine.divergence import DivergenceMonitor
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises

T = 0.1 * np.arange(300)
KINDS: dict[str, Any] = {
    "covariance": Kalman,
    "square-root": lambda *a, **k: Kalman(*a, form="square-root", **k),
    "steady": lambda *a, **k: Kalman(*a, form="steady", **k),
    "extended": ExtendedKalman,
    "sigma-point": SigmaPointKalman,
    "square-root sigma-point": lambda *a, **k: SigmaPointKalman(*a, square_root=True, **k),
    "points used again": lambda *a, **k: SigmaPointKalman(*a, redraw=False, points=Symmetric(1.0), **k),
}
FULL = [name for name in KINDS if name != "steady"]


def cart(C: Any = ((1, 0),), outputs: Any = ("seen",)) -> StateSpace:
    model = StateSpace([[0, 1], [0, 0]], [0, 1], C, states=["position", "speed"], inputs="push", outputs=outputs)
    return model.to_discrete(0.1)


def pushed() -> Record:
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(T))
    seen = T**2 / 2
    return Record.from_channels(T, {"push": 1.0, "seen": seen, "first": seen, "second": seen + noise})


def twice() -> StateSpace:
    return cart([[1, 0], [1, 0]], ["first", "second"])


@pytest.mark.spec("004-C9")
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "points used again"])
def test_a_sensor_without_noise_is_taken_as_exact(kind: str) -> None:
    found = KINDS[kind](cart(), Q=1e-4, R=0.0, **({} if kind == "steady" else {"P0": 1.0})).run(pushed())
    assert found["position"] == pytest.approx(T**2 / 2, rel=1e-12, abs=1e-12)
    assert np.abs(found.deviation("position")).max() < 1e-8
    assert np.isfinite(found.log_likelihood)


@pytest.mark.parametrize("kind", FULL)
def test_one_exact_sensor_beside_a_noisy_one_decides(kind: str) -> None:
    found = KINDS[kind](twice(), Q=1e-4, R={"first": 0.0, "second": 1e-4}, P0=1.0).run(pushed())
    assert found["position"] == pytest.approx(T**2 / 2, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", FULL)
def test_a_reading_the_filter_is_sure_of_before_it_comes_stops_the_run_by_name_and_time(kind: str) -> None:
    """Two exact readings determine the state of a cart: the third cannot be weighed."""
    with raises(ConvergenceError, "singular-innovation", "'seen'") as caught:
        KINDS[kind](cart(), Q=0.0, R=0.0, P0=1.0).run(pushed())
    assert caught.value.record is not None and 1 <= len(caught.value.record) <= 6
    assert np.isfinite(caught.value.record.data).all()


@pytest.mark.parametrize("kind", FULL)
@pytest.mark.parametrize("R", [0.0, [[1e-4, 1e-4], [1e-4, 1e-4]]])
def test_sensors_that_repeat_each_other_without_noise_of_their_own_are_named(kind: str, R: Any) -> None:
    with raises(ConvergenceError, "singular-innovation", "'first'", "'second'", "S"):
        KINDS[kind](twice(), Q=1e-4, R=R, P0=1.0).run(pushed())


def test_a_settled_filter_says_what_it_lacks() -> None:
    with raises(DataError, "no-steady-filter", "R"):
        Kalman(twice(), Q=1e-4, R=0.0, form="steady")
    fading = StateSpace([[0.5]], None, [[1.0]], dt=1.0)
    with raises(DataError, "no-steady-filter"):
        Kalman(fading, Q=0.0, R=0.0, form="steady")


def test_the_information_form_wants_noise_in_every_direction() -> None:
    with raises(DataError, "singular-matrix", "'first'", "'second'"):
        Kalman(twice(), Q=1e-4, R=[[1e-4, -1e-4], [-1e-4, 1e-4]], P0=1.0, form="information")


@pytest.mark.parametrize("kind", FULL)
@pytest.mark.parametrize("symbol", ["Q", "R"])
def test_a_function_that_gives_a_negative_variance_is_reported_at_once(kind: str, symbol: str) -> None:
    given = {"Q": 1e-4, "R": 1e-4, symbol: lambda s: 1e-4 * (10.0 - s["t"])}
    name = "'seen'" if symbol == "R" else "'position' and 'speed'"
    with raises(ConvergenceError, "not-positive-definite", f"function of {symbol}", name) as caught:
        KINDS[kind](cart(), P0=1.0, **given).run(pushed())
    # Q of the step that begins at 10 s is zero, that from 10.1 s on is none
    late = [10.1] if symbol == "R" else [10.1, 10.2]
    assert any(caught.value.where["time"] == pytest.approx(when) for when in late)


@pytest.mark.parametrize("kind", ["extended", "sigma-point", "square-root sigma-point"])
def test_a_model_that_runs_away_stops_the_run_and_keeps_the_record(kind: str) -> None:
    blast = UserModel(lambda x, u: [x[0] ** 3], lambda x: [x[0]], states=["size"], outputs=["seen"], start=[1.0])
    record = Record.from_channels(0.1 * np.arange(50), {"seen": 1.0})
    with raises(ConvergenceError, "diverged") as caught:
        KINDS[kind](blast, Q=1e-6, R=1e6, P0=0.1).run(record)
    assert 1 < len(caught.value.record) < 10
    assert ("square-root" in str(caught.value)) is (kind != "square-root sigma-point")


def test_a_short_record_that_contradicts_the_model_throughout_is_no_estimate() -> None:
    record = Record.from_channels(0.1 * np.arange(40), {"push": 1.0, "seen": 1e9 * (-1.0) ** np.arange(40)})
    with raises(ConvergenceError, "diverged") as caught:
        Kalman(cart(), Q=1e-6, R=1e-6, P0=1e-6).run(record)
    assert len(caught.value.record) == 40  # numbers all the same, to be looked at


def test_a_lost_motion_with_a_sensor_held_for_exact_says_so() -> None:
    record = Record.from_channels(0.1 * np.arange(200), {"push": 1.0, "seen": 1e9 * (-1.0) ** np.arange(200)})
    with raises(ConvergenceError, "diverged", "'seen'", "R"):
        Kalman(cart(), Q=1e-6, R=0.0, P0=1e-6).run(record)


def test_a_stepper_refuses_a_step_that_gives_nothing_finite_and_stays_where_it_was() -> None:
    blast = UserModel(lambda x, u: [x[0] ** 3], lambda x: [x[0]], states=["size"], outputs=["seen"], start=[1e60])
    stepper = ExtendedKalman(blast, Q=1e-6, R=1e6, P0=0.1, dt=0.1).stepper()
    before = stepper.step([np.nan])["size"]
    with raises(ConvergenceError, "diverged", "0.1"):
        stepper.step([1.0])
    assert stepper.x.tolist() == [before] and stepper.t == 0.0


def test_what_rounding_leaves_of_a_huge_prior_is_no_singular_sensor() -> None:
    """S grows to 1e14 times R: regular, and no reason to stop."""
    found = Kalman(cart(), Q=1e-6, R=1e-4, P0=1e10).run(pushed())
    assert found["speed"][-1] == pytest.approx(T[-1], abs=0.01)
    assert found.status == "complete"


def test_every_sample_but_the_last_may_be_missing() -> None:
    record = pushed()
    data = np.array(record.data)
    data[:-1, record.names.index("seen")] = np.nan
    for kind in FULL:
        found = KINDS[kind](cart(), Q=1e-6, R=1e-4, P0=1.0, start=[0.0, 0.0]).run(Record(T, data, record.names))
        assert found.measured.sum() == 1
        assert da.estimate.smooth(found).deviation("position")[0] < found.deviation("position")[0]


# ---- edges of thresholds


class Results:
    """A monitor of one state and one output, and blocks of its results."""

    def __init__(self) -> None:
        columns = SimpleNamespace(variance=slice(0, 1), nis=1, filter_state=slice(0, 0))
        native = SimpleNamespace(columns=columns, reported=SimpleNamespace(names=("a",)))
        noise = SimpleNamespace(R=SimpleNamespace(constant=lambda: None))
        self.monitor = DivergenceMonitor(SimpleNamespace(native=native, process=SimpleNamespace(ny=1), noise=noise))

    def find(self, variances, nis=0.0, end=False):
        variances = np.atleast_1d(variances)
        block = np.column_stack([variances, np.broadcast_to(nis, len(variances))])
        found = self.monitor.find(block, block, np.zeros(0), end)
        return None if found is None else found[1].code


@pytest.mark.parametrize(("nis", "code"), [(3e7, None), (3e8, "diverged")])
def test_innovations_of_ten_thousand_deviations_are_too_large(nis, code):
    assert Results().find(np.ones(100), nis) == code


@pytest.mark.parametrize(("samples", "code"), [(9, None), (10, "diverged")])
def test_a_short_record_needs_ten_samples_for_a_verdict(samples, code):
    assert Results().find(np.ones(samples), 1e9, end=True) == code
