"""Simulated sensors: steps, noise, ranges, slower readings."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.kalman_models import pushed


@pytest.mark.spec("004-C10")
def test_resolutions_and_deviations_are_those_of_the_source():
    from dalembert.estimate import Accelerometer, Encoder, ForceSensor

    for ppr, rad in ((2000, 3.14e-3), (1000, 6.28e-3), (4096, 1.53e-3)):
        assert Encoder(ppr).resolution == pytest.approx(rad, abs=0.5e-5)
    for sensitivity, metres in ((10e-3, 0.0305), (6e-3, 0.0509), (101.9e-3, 0.0030), (6.81e-3, 0.0448)):
        assert Accelerometer(sensitivity, bits=16, range=20.0).resolution == pytest.approx(metres, abs=0.5e-4)
    assert Accelerometer(1.0).resolution == pytest.approx(3.052e-4, abs=0.5e-7)
    tonne = 9.80665e3
    for scale, percent, sigma, last in (
        (80.0, 0.35, 0.28, 1e-9), (500 * tonne, 0.25, 12.26e3, 5.0), (15.0, 0.2, 0.03, 1e-9), (60.0, 0.2, 0.12, 1e-9),
        (2.0, 0.2, 0.004, 1e-9),
    ):  # fmt: skip
        assert ForceSensor(scale, percent=percent).sigma == pytest.approx(sigma, abs=last)


@pytest.mark.spec("004-C10")
def test_readings_are_noise_then_steps_within_the_range():
    sensor = da.estimate.Accelerometer(1.0, bits=4, range=16.0, noise=0.3)
    shown = sensor.reading(np.linspace(-20, 20, 401), np.random.default_rng(0).standard_normal(401))
    assert np.unique(np.abs(shown)).max() == 8.0 and np.all(shown == np.round(shown))
    assert da.estimate.Quantiser(step=0.1).sigma == pytest.approx(0.1 / math.sqrt(12))
    assert da.estimate.Quantiser(step=0.1).reading(np.array([0.04, 0.06, -0.04, -0.06])) == pytest.approx(
        [0.0, 0.1, 0.0, -0.1]
    )  # to the nearest step
    error = da.estimate.Encoder(360, noise=0.0).reading(x := np.random.default_rng(1).uniform(0, 6, 20000)) - x
    assert error.std() == pytest.approx(da.estimate.Encoder(360, noise=0.0).sigma, rel=0.02)


@pytest.mark.spec("004-C10")
def test_a_sensor_is_an_expression_too():
    sensor = da.estimate.ForceSensor(2.0, percent=0.2, bits=24)
    x, n = ca.SX.sym("x"), ca.SX.sym("n")
    function = ca.Function("sensor", [x, n], [sensor.reading(x, n)])
    for value, noise in ((0.123456789, 1.3), (5.0, 0.0), (-0.7, -2.0)):
        assert float(function(value, noise)) == sensor.reading(value, noise)


@pytest.mark.spec("004-C10")
def test_measuring_a_record_repeats_and_slower_sensors_leave_gaps():
    t = 0.01 * np.arange(1001)
    truth = Record.from_channels(t, {"angle": np.sin(t), "force": np.cos(t)}, {"angle": "rad", "force": "N"})
    sensors = {"angle": da.estimate.Encoder(2000, dt=0.05), "force": 0.5}
    seen = da.estimate.measure(truth, sensors, seed=3)
    assert da.estimate.measure(truth, sensors, seed=3)["force"].tolist() == seen["force"].tolist()
    assert np.isfinite(seen["angle"]).sum() == 201 and np.isfinite(seen["angle"][::5]).all()
    assert (seen["force"] - truth["force"]).std() == pytest.approx(0.5, rel=0.1)
    assert seen.units == truth.units
    alone = da.estimate.measure(truth, {"force": 0.5}, seed=3)
    assert alone["force"].tolist() == seen["force"].tolist()  # another sensor changes no draw
    late = da.estimate.measure(truth, {"angle": da.estimate.Quantiser(delay=0.02)}, seed=3)
    assert late["angle"][10:] == pytest.approx(truth["angle"][8:-2])


def test_sensors_refuse_nonsense():
    with raises(DataError, "not-positive"):
        da.estimate.Encoder(0)
    with raises(DataError, "not-positive"):
        da.estimate.Accelerometer(-1.0)
    with raises(DataError, "not-positive"):
        da.estimate.ForceSensor(1.0, percent=0.0)
    with pytest.raises(DataError):
        da.estimate.Quantiser(noise=-1.0)
    with raises(DataError, "unknown-name", "'push'"):
        da.estimate.measure(pushed(), {"pusch": 0.1}, seed=1)
    other = type("Other", (), {"deviation": 0.1})()
    with raises(DataError, "wrong-type", "'push'", "da.estimate"):
        da.estimate.measure(pushed(), {"push": other}, seed=1)


@pytest.mark.spec("004-C10")
def test_a_filter_with_the_sensors_own_variance_is_consistent():
    t = 0.01 * np.arange(3000)
    truth = Record.from_channels(t, {"push": np.sin(3 * t), "seen": (3 * t - np.sin(3 * t)) / 9})
    sensor = da.estimate.Encoder(1000)
    estimate = da.estimate.Kalman(
        StateSpace([[0, 1], [0, 0]], [0, 1], [1, 0], inputs="push", outputs="seen"), dt=0.01, Q=[0.0, 1e-7],
        R={"seen": sensor.variance}, P0=1.0,
    ).run(da.estimate.measure(truth, {"seen": sensor}, seed=5))  # fmt: skip
    # steps add r²/12 to the noise of r²: 8 % more than said
    assert estimate.consistency(settle=2.0).nis_mean == pytest.approx(1 + 1 / 12, abs=0.1)
