"""The planar benchmark of observers on mechanisms: a four-bar with a model that is wrong in gravity and start angle.

Ground points (0, 0) and (10, 0), bars of 2, 8, 5 m with 2, 8, 5 kg, crank at π/3 at rest, samples every 5 ms for 10 s;
the filter's model has g + 1 m/s² and starts at π/3 + π/16; encoder 1°, gyroscope 9.839439e-4 rad/s, accelerations
5.637583e-2 m/s². What the wrong gravity does is an unknown torque on the crank, a random walk of 10 N m/√s; its true
value is Σ mᵢ ∂yᵢ/∂θ · 1 m/s² by virtual work, 9.9 N m rms. Errors leave out the first second.

Found here (rms; the sigma points give the same): encoder 0.26°, 7.9 N m; with the gyroscope 0.036°, 1.9 N m; with
accelerations too 0.026°, 0.6 N m. An encoder alone says little about a torque: it is the second difference of 1°.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

import dalembert as da
from benchmarks.four_bar_filter import NOISE, SLOW, four_bar, ideal_torque, noisy, observer, rms, start
from dalembert.estimate import Cubature, ExtendedKalman, SigmaPointKalman, SphericalSimplex
from tests.helpers.filter_machines import four_bar as with_accelerometer

GYROSCOPE = ["encoder", "gyroscope"]


@lru_cache(maxsize=1)
def truth() -> tuple[da.EquationsOfMotion, da.Record, np.ndarray]:
    eqs = four_bar()
    run = da.simulate(eqs, until=10.0, start=start(eqs), every=SLOW)
    return eqs, run, ideal_torque(eqs, run)


@lru_cache(maxsize=8)
def found(kind: type, *outputs: str, **options: object) -> tuple[float, float, da.estimate.Estimate]:
    _, run, torque = truth()
    estimate = observer(kind, list(outputs), SLOW, **options).run(noisy(run))
    record = estimate.record
    return rms(record["A.angle"] - run["A.angle"], SLOW), rms(record["torque"] - torque, SLOW), estimate


def test_the_torque_of_virtual_work_makes_up_for_the_wrong_gravity() -> None:
    eqs, run, torque = truth()
    wrong = four_bar(10.81)
    for k in (100, 900, 1500):
        q, v = ([run[name][k] for name in names] for names in (eqs.coordinates.names, eqs.speeds.names))
        accelerations = []
        for model, effort in ((eqs, 0.0), (wrong, torque[k])):
            state = da.assemble(model, start=model.state(q, v))
            moved = da.simulate(model, until=1e-6, start=state, every=1e-6, inputs={"torque": effort})
            accelerations.append(moved["acceleration.y"][0])
        assert accelerations[1] - accelerations[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("outputs", [("encoder",), tuple(GYROSCOPE), tuple(NOISE)], ids=len)
def test_the_position_is_known_better_than_the_encoder_reads(outputs) -> None:
    angle, torque, _ = found(ExtendedKalman, *outputs)
    assert angle < NOISE["encoder"] / 3
    assert torque < rms(truth()[2], SLOW)  # better than leaving it out


@pytest.mark.parametrize(
    "points",
    [
        SphericalSimplex(0.5),
        pytest.param(None, marks=pytest.mark.slow),
        pytest.param(Cubature(), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_sigma_points_do_as_well_in_independent_coordinates(points) -> None:
    options = {} if points is None else {"points": points}
    angle, torque, _ = found(SigmaPointKalman, *GYROSCOPE, **options)
    reference = found(ExtendedKalman, *GYROSCOPE)
    assert angle == pytest.approx(reference[0], rel=0.05)
    assert torque == pytest.approx(reference[1], rel=0.05)
    assert angle < math.radians(0.05)


def test_every_further_sensor_makes_the_force_better() -> None:
    errors = [found(ExtendedKalman, *outputs)[1] for outputs in (("encoder",), tuple(GYROSCOPE), tuple(NOISE))]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_the_filter_knows_how_good_it_is() -> None:
    _, run, _ = truth()
    estimate = found(ExtendedKalman, *GYROSCOPE)[2]
    settled = slice(round(1.0 / SLOW), None)
    # 2 numbers per sample, 1800 samples: mean of NIS within 4 standard errors of 2 if the walk were the truth
    assert np.mean(estimate.nis[settled]) == pytest.approx(2.0, abs=4 * math.sqrt(4.0 / 1800))
    deviation = estimate.deviation("A.angle")[settled]
    inside = np.abs((estimate.record["A.angle"] - run["A.angle"])[settled]) < 3 * deviation
    assert inside.mean() > 0.97


def test_a_strapped_down_accelerometer_gives_away_that_gravity_is_wrong() -> None:
    """It reads acceleration minus gravity, so the model's error is in the sensor too: 1 m/s², 18 times its noise."""
    eqs, model = with_accelerometer(), with_accelerometer(10.81)
    run = da.simulate(eqs, until=3.0, start=start(eqs), every=SLOW)
    estimate = ExtendedKalman(
        model, outputs=["encoder", "accelerometer"], coordinates="A.angle", at=start(model), dt=SLOW,
        Q={"A.angle": 1e-12, "A.rate": 1e-4}, R=[NOISE["encoder"] ** 2, *[NOISE["acceleration.x"] ** 2] * 2], P0=1e-2,
    ).run(run)  # fmt: skip
    assert np.mean(estimate.nis) > 20 * 3


def test_the_joints_stay_closed_all_the_way() -> None:
    eqs, _, _ = truth()
    record = found(ExtendedKalman, *GYROSCOPE)[2].record
    q, v = (np.array([record[name] for name in names]).T for names in (eqs.coordinates.names, eqs.speeds.names))
    assert np.abs(eqs.kernel("position").many(q, eqs.p, 0.0)[0])[1:].max() < 1e-9
    assert np.abs(eqs.kernel("rates").many(q, v, eqs.p, 0.0)[0])[1:].max() < 1e-8
