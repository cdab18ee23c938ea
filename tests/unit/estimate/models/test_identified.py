"""Filters of identified models: levels of the channels, delays of the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import ExtendedKalman, Kalman, SigmaPointKalman, smooth
from dalembert.identify import Identified
from dalembert.linear import StateSpace
from dalembert.record import Record

DT = 0.1
LEVELS = {"force": 3.0, "x1": -2.0, "x2": 5.0}


def sway() -> StateSpace:
    """Two outputs whose names are also those of states."""
    model = StateSpace(
        [[0.0, 1.0], [-4.0, -0.4]], [0.0, 1.0], [[1.0, 0.0], [-4.0, -0.4]], [0.0, 1.0], states=["x1", "x2"],
        inputs="force", outputs=["x1", "x2"], units={"force": "N"},
    )  # fmt: skip
    return model.to_discrete(DT)


def moved(delay: int = 0, levels: Any = LEVELS, count: int = 200) -> Record:
    system, rng = sway(), np.random.default_rng(1)
    u = rng.standard_normal(count)
    late = u[np.clip(np.arange(count) - delay, 0, None)]
    x, y = np.zeros(2), []
    for k in range(count):
        y.append(system.C @ x + system.D[:, 0] * late[k] + 0.01 * rng.standard_normal(2))
        x = system.A @ x + system.B[:, 0] * late[k]
    data = np.column_stack([u, y]) + [levels.get(name, 0.0) for name in ("force", "x1", "x2")]
    return Record(DT * np.arange(count), data, ["force", "x1", "x2"], {"force": "N"})


GIVEN: dict[str, Any] = {"Q": 1e-6, "R": 1e-4, "P0": 1.0}


@pytest.mark.parametrize("kind", [Kalman, ExtendedKalman, SigmaPointKalman])
def test_levels_taken_off_when_identifying_are_taken_off_when_filtering(kind: Any) -> None:
    found = kind(Identified(sway(), method="given", offsets=LEVELS), **GIVEN).run(moved())
    plain = Kalman(sway(), **GIVEN).run(moved(levels={}))
    assert found.states == pytest.approx(plain.states, abs=1e-9)
    assert found.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-9)
    assert np.abs(found.innovations[20:].mean(axis=0)).max() < 3e-3  # no level is left: 0.01 over √180 samples


def test_a_filter_that_reads_some_of_the_channels_knows_their_levels() -> None:
    model = Identified(sway(), method="given", offsets=LEVELS)
    found = Kalman(model, outputs="x2", **GIVEN).run(moved())
    plain = Kalman(sway(), outputs="x2", **GIVEN).run(moved(levels={}))
    assert found.states == pytest.approx(plain.states, abs=1e-9)


def test_deviations_may_be_asked_for() -> None:
    model = Identified(sway(), method="given", offsets=LEVELS)
    found = Kalman(model, deviations=True, **GIVEN).run(moved(levels={}))
    assert found.states == pytest.approx(Kalman(sway(), **GIVEN).run(moved(levels={})).states, abs=1e-12)


@pytest.mark.parametrize("delay", [1, 3])
@pytest.mark.parametrize("form", ["covariance", "square-root", "steady"])
def test_an_input_that_acts_late_is_carried_along(delay: int, form: str) -> None:
    record = moved(delay)
    model = Identified(sway(), method="given", offsets=LEVELS, delays={"force": delay})
    given = GIVEN if form != "steady" else {"Q": 1e-6, "R": 1e-4}
    found = Kalman(model, form=form, **given).run(record)
    shifted = np.array(record.data)
    shifted[:, 0] = shifted[np.clip(np.arange(len(record)) - delay, 0, None), 0]
    late = Record(record.time, shifted, record.names, {"force": "N"})
    plain = Kalman(Identified(sway(), method="given", offsets=LEVELS), form=form, **given).run(late)
    assert found.states[:, :2] == pytest.approx(plain.states, abs=1e-9)
    assert found[f"force[{delay}]"] == pytest.approx(shifted[:, 0], abs=1e-12)
    assert found.deviation(f"force[{delay}]").max() < 1e-6  # √ of what rounding leaves of a zero variance
    assert found.record.units[f"force[{delay}]"] == "N"


def test_noise_and_starts_speak_of_the_states_that_do_not_hold_inputs() -> None:
    model = Identified(sway(), method="given", delays={"force": 2})
    record = moved(2, {})
    by_number, by_vector, by_name, whole = (
        Kalman(model, Q=Q, R=1e-4, P0=1.0).run(record).states
        for Q in (1e-6, [1e-6, 1e-6], {"x1": 1e-6, "x2": 1e-6}, [1e-6, 1e-6, 0.0, 0.0])
    )
    for other in (by_vector, by_name, whole):
        assert by_number.tolist() == other.tolist()
    begun = Kalman(model, start={"force[1]": 7.0}, **GIVEN).run(record)
    assert begun["force[1]"][0] == pytest.approx(7.0)


def test_a_delayed_input_the_filter_does_not_know_needs_no_states() -> None:
    model = Identified(sway(), method="given", delays={"force": 4})
    assert Kalman(model, inputs=[], **GIVEN).process.carried.names == ("x1", "x2")


def test_a_smoother_goes_back_over_delays() -> None:
    model = Identified(sway(), method="given", offsets=LEVELS, delays={"force": 1})
    filtered = Kalman(model, **GIVEN).run(moved(1))
    assert (smooth(filtered).deviation("x2")[50:150] < filtered.deviation("x2")[50:150]).all()


def test_what_was_identified_from_a_record_with_levels_filters_that_record() -> None:
    record = moved(count=1500)
    found = da.identify.moesp(record, inputs="force", outputs=["x1", "x2"], order=2, detrend="mean")
    assert found.offsets["x2"] == pytest.approx(5.0, abs=0.1)
    estimate = Kalman(found, Q=1e-8, R=1.2e-4, P0=1.0).run(record)
    tail = estimate.innovations[200:]
    assert np.abs(tail.mean(axis=0)).max() < 3e-3 and tail.std(axis=0) == pytest.approx([0.01, 0.01], rel=0.2)
