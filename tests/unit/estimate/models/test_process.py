"""Filters on linearized machines count from the operating point the linear model was made at."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers.control_systems import lqg
from tests.helpers.findings import raises


@pytest.fixture(scope="module")
def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), bob.at(0, 1.0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


@pytest.fixture(scope="module")
def upright(pendulum: da.EquationsOfMotion) -> da.SecondOrder:
    return da.linearize(pendulum, at=da.assemble(pendulum, {"A.angle": np.pi}))


def kalman(linear: da.SecondOrder) -> da.estimate.Kalman:
    return da.estimate.Kalman(linear, dt=0.01, Q=1e-6, R=1e-6, P0=1e-3)


def law(linear: da.SecondOrder) -> da.control.StateFeedback:
    return da.control.lqr(linear, Q={"A.angle": 10.0}, R=0.1, dt=0.01)


def test_a_linear_filter_holds_a_machine_upright(pendulum: da.EquationsOfMotion, upright: da.SecondOrder) -> None:
    tilted = da.assemble(pendulum, {"A.angle": np.pi + 0.2})
    noise = da.Noise(sensors={"encoder": 1e-3}, seed=1)
    run = da.simulate(pendulum, 3.0, start=tilted, controller=law(upright), observer=kalman(upright), noise=noise)
    assert abs(run["A.angle"][-1] - np.pi) < 5e-3
    assert np.abs(run["estimate.A.angle"] - run["A.angle"])[100:].max() < 5e-3


def test_a_record_of_the_machine_is_read_as_it_is(pendulum: da.EquationsOfMotion, upright: da.SecondOrder) -> None:
    run = da.simulate(pendulum, 0.5, start=da.assemble(pendulum, {"A.angle": np.pi + 1e-4}), every=0.01)
    found = kalman(upright).run(run)
    assert found.record.names == ("A.angle", "A.rate")
    assert np.abs(found["A.angle"] - run["A.angle"])[10:].max() < 1e-5


def test_deviations_are_read_where_asked_for(pendulum: da.EquationsOfMotion, upright: da.SecondOrder) -> None:
    run = da.simulate(pendulum, 0.5, start=da.assemble(pendulum, {"A.angle": np.pi + 1e-4}), every=0.01)
    away = da.Record(run.time, np.column_stack([run["torque"], run["encoder"] - np.pi]), ["torque", "encoder"])
    filter_ = da.estimate.Kalman(upright, dt=0.01, Q=1e-6, R=1e-6, P0=1e-3, deviations=True)
    found, whole = filter_.run(away), kalman(upright).run(run)
    assert np.allclose(found["A.angle"] + np.pi, whole["A.angle"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, np.pi])
def test_the_same_filter_and_law_fit_the_linear_model(pendulum: da.EquationsOfMotion, angle: float) -> None:
    linear = da.linearize(pendulum, at=da.assemble(pendulum, {"A.angle": angle}))
    plant = linear.state_space().to_discrete(0.01)
    run = da.simulate(plant, 3.0, start=[0.2, 0.0], controller=law(linear), observer=kalman(linear))
    assert np.abs(run["A.angle"][-50:]).max() < 0.1 * 0.2  # undriven it would swing, or fall


def test_settled_filters_count_from_there_too(pendulum: da.EquationsOfMotion, upright: da.SecondOrder) -> None:
    """The steady form against the covariance form after it has settled."""
    run = da.simulate(pendulum, 0.5, start=da.assemble(pendulum, {"A.angle": np.pi + 1e-4}), every=0.01)
    steady = da.estimate.Kalman(upright, dt=0.01, Q=1e-6, R=1e-6, form="steady").run(run)
    other = da.estimate.Kalman(upright, dt=0.01, Q=1e-6, R=1e-6).run(run)
    assert np.abs(steady["A.rate"] - other["A.rate"])[40:].max() < 1e-6


def test_kalman_bucy_holds_a_machine_upright(pendulum: da.EquationsOfMotion, upright: da.SecondOrder) -> None:
    bucy = da.estimate.KalmanBucy(upright, Q=1e-3, R=1e-6)
    stiff = da.control.lqr(upright, Q={"A.angle": 10.0}, R=0.1)
    tilted = da.assemble(pendulum, {"A.angle": np.pi + 0.2})
    run = da.simulate(pendulum, 6.0, start=tilted, controller=stiff, observer=bucy)
    assert abs(run["A.angle"][-1] - np.pi) < 1e-3
    assert run["estimate.A.rate"][-1] == pytest.approx(run["A.rate"][-1], abs=1e-3)
    sampled = bucy.run(da.simulate(pendulum, 0.5, start=da.assemble(pendulum, {"A.angle": np.pi + 1e-4}), every=1e-3))
    assert abs(sampled["A.angle"][-1] - np.pi) < 1e-2
    plant = upright.state_space()
    assert abs(da.simulate(plant, 6.0, start=[0.2, 0.0], controller=stiff, observer=bucy)["A.angle"][-1]) < 1e-3


def test_an_unknown_input_is_found_about_an_operating_point() -> None:
    """Held out of its lowest place by 3 N m and pushed by 0.05 more."""
    m = da.Mechanism("pendulum", planar=True)
    m.add_revolute("A", m.ground.at(0, 0), m.add_body("bob", mass=1.0, inertia=0.1).at(0, 1.0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    m.add_sensor("tachometer", da.rate("A"))
    pendulum = da.equations(m)
    held = da.equilibrium(pendulum, inputs={"torque": 3.0})
    linear = da.linearize(pendulum, at=held, inputs={"torque": 3.0})
    run = da.simulate(pendulum, 1.0, start=held, inputs={"torque": 3.05}, every=0.01)
    filter_ = da.estimate.JointInputKalman(linear, unknown="torque", dt=0.01, Q=1e-10, R=1e-14, P0=1e-10)
    assert filter_.run(run)["torque"][2:] == pytest.approx(3.05, abs=2e-3)


@pytest.mark.parametrize("dt", [None, 0.01])
@pytest.mark.parametrize("follow", [{"integral": "encoder"}, {"tracking": "encoder"}])
def test_a_law_left_without_a_reference_stays_at_its_operating_point(
    pendulum: da.EquationsOfMotion, upright: da.SecondOrder, dt: float | None, follow: dict[str, str]
) -> None:
    weights = {"Q": {"A.angle": 10.0}, "R": 0.1, "dt": dt, **follow}
    gaussian = lqg(upright, Qn={"torque": 1.0}, Rn=1e-6, **weights)
    tilted = da.assemble(pendulum, {"A.angle": np.pi + 0.1})
    for controller in (da.control.lqr(upright, **weights), gaussian):
        run = da.simulate(pendulum, 15.0, start=tilted, controller=controller, progress=False)
        assert abs(run["A.angle"][-1] - np.pi) < 1e-2
        away = da.simulate(
            pendulum, 15.0, start=tilted, controller=controller, references={"encoder": np.pi + 0.1}, progress=False
        )
        assert abs(away["A.angle"][-1] - np.pi - 0.1) < 1e-2


def test_a_filter_and_its_discrete_model_have_one_sampling_interval() -> None:
    model = da.StateSpace(0.5, 1.0, 1.0, dt=0.01)
    da.estimate.Kalman(model, Q=1.0, R=1.0, dt=0.01 * (1.0 + 0.9e-9))
    with raises(DataError, "sample-time-mismatch"):
        da.estimate.Kalman(model, Q=1.0, R=1.0, dt=0.01 * (1.0 + 1.1e-9))
