"""Kinematics-based observers of machines of the library: which way loops are closed, dead points, names, instants."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.estimate import ExtendedKalman, model_kinematics, process, smooth
from tests.helpers.findings import raises
from tests.helpers.kinematic_machines import observer, slider_crank, two_link

DT = 1e-3


@cache
def four_bar() -> tuple[da.EquationsOfMotion, State, da.Record]:
    """The crank-rocker of the library, closed the open way, which is not how it is drawn."""
    m = da.read_model("four-bar")
    rocker = next(body for body in m.bodies if body.name == "rocker")
    m.add_sensor("acc", da.accelerometer(rocker.at(0.25, 0)))
    m.add_sensor("gyro", da.rate("D"))
    eqs = da.equations(m)
    at = da.assemble(eqs, **m.start)
    return eqs, at, da.simulate(eqs, 0.3, start=at, every=DT)


def of_four_bar(start, **options):
    eqs = four_bar()[0]
    return model_kinematics(
        eqs, **{"independent": "A.angle", "inputs": "acc.y", "outputs": "encoder", **options}, start=start
    )


SWITCHING = da.estimate.Switching(0.05)  # det S² over its largest: the rocker turns back there


# --- ways of closing a loop -----------------------------------------------------------------------------------------


@pytest.mark.spec("004-C12")
def test_a_state_of_the_machine_says_how_its_loops_are_closed() -> None:
    """As drawn the four-bar is crossed; the state is open. z, ż and the whole pose come from it."""
    _, at, _ = four_bar()
    model = of_four_bar(at)
    x = dict(zip(model.carried.names, model.state(), strict=True))
    assert x["A.angle"] == pytest.approx(at["A.angle"]) and x["A.rate"] == pytest.approx(10.0)
    for name in ("rocker.angle", "coupler.angle", "coupler.y"):
        assert x[f"pose.{name}"] == pytest.approx(at[name], abs=1e-12)
    drawn = of_four_bar({"A.angle": at["A.angle"]})
    assert dict(zip(drawn.carried.names, drawn.state(), strict=True))["pose.rocker.angle"] < 0.0


@pytest.mark.spec("004-C12")
def test_a_filter_may_be_started_by_a_state_too() -> None:
    _, at, _ = four_bar()
    options = {"R": 1e-6, "input_noise": 1e-3, "Q": 1e-8, "P0": [1e-6, 1.0, 100.0]}
    one = ExtendedKalman(of_four_bar(at), **options)
    other = ExtendedKalman(of_four_bar(None), start=at, **options)
    np.testing.assert_allclose(other.start, one.start, rtol=0, atol=1e-12)


@pytest.mark.spec("004-C12")
@pytest.mark.parametrize(("order", "reads"), [("acceleration", "acc.y"), ("velocity", "gyro")])
def test_on_its_own_branch_the_rocker_is_found_from_the_crank(order: str, reads: str) -> None:
    """Noisy sensors: the rocker's angle to 0.6 of the encoder's noise of 1e-3 rad."""
    _, at, run = four_bar()
    model = of_four_bar(at, order=order, inputs=reads, switching=SWITCHING)
    random = np.random.default_rng(0)
    noise = {reads: 0.05 if order == "acceleration" else 0.01, "encoder": 1e-3}
    data = np.column_stack([run[name] + size * random.standard_normal(len(run)) for name, size in noise.items()])
    P0 = [1e-6, 1.0, 100.0][: 3 if order == "acceleration" else 2]
    ekf = ExtendedKalman(model, R=1e-6, input_noise=noise[reads] ** 2, Q=model.noise(1e3, outside=1e-4), P0=P0)
    found = ekf.run(da.Record(run.time, data, list(noise)))
    error = np.sqrt(np.mean((found["D.angle"] - run["D.angle"])[100:] ** 2))
    assert error < 0.6e-3
    assert found["residual.position"].max() < 1e-9


def test_a_start_that_is_no_start_is_refused_in_words() -> None:
    _, at, _ = four_bar()
    other = da.assemble(da.equations(slider_crank()))
    for start, why in (
        ({"rocker.angle": 1.2}, ("unknown-name",)),
        ([1.0], ("wrong-type",)),
        (other, ("wrong-owner", "'slider-crank'")),
    ):
        with raises(da.errors.ModelError, *why):
            of_four_bar(start)
    with raises(da.errors.ModelError, "wrong-type"):
        model_kinematics(
            lambda s: {"h": da.sin(s["q"])}, independent="q", inputs="h.acceleration", outputs="q", start=at
        )


# --- dead points of the coordinates -----------------------------------------------------------------------------------


@pytest.mark.spec("004-C15")
@pytest.mark.parametrize("start", [None, {"guide.displacement": 0.21}])
def test_a_coordinate_at_its_dead_point_is_refused_and_another_named(start) -> None:
    """Crank and rod stretched: the slider's place does not determine the crank's angle."""
    eqs = da.equations(da.read_model("slider-crank"))
    options = {"independent": "guide.displacement", "inputs": "A.acceleration", "outputs": "stroke"}
    with raises(da.errors.ModelError, "dead-point", "A.angle", "start"):
        model_kinematics(eqs, start=start, **options)
    away = model_kinematics(eqs, start=da.assemble(eqs, {"A.angle": 0.5}), **options)
    assert np.isfinite(away.relation().S).all()


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"independent": "A.angel"}, ("unknown-name", "'A.angel'", "'A.angle'")),
        ({"independent": "A.rate"}, ("unknown-name",)),
        ({"independent": ["A.angle", "A.angle"]}, ("duplicate", "'A.angle'")),
        ({"independent": None}, ("bad-name",)),
        ({"inputs": 3}, ("bad-name",)),
        ({"inputs": []}, ("unobservable",)),
        ({"inputs": "torque"}, ("needs-forces", "'torque'")),
        ({"outputs": "bearing.torque.z"}, ("unobservable", "'slider-crank'")),
    ],
)
def test_names_that_do_not_fit_are_reported_as_the_reader_gave_them(options: dict, why: str) -> None:
    """The reaction torque of a hinge in its plane is zero, so it is no position to be measured."""
    eqs = da.equations(da.read_model("slider-crank"))
    with raises(da.errors.ModelError, *why):
        model_kinematics(
            eqs, **{"independent": "A.angle", "inputs": "guide.acceleration", "outputs": "A.angle", **options}
        )


# --- inputs of the same instant ---------------------------------------------------------------------------------------


@cache
def arm() -> tuple[da.EquationsOfMotion, da.Record]:
    m = two_link(gravity=(0, -9.81))
    m.add_sensor("encoder 1", da.angle("A"))
    m.add_sensor("encoder 2", da.angle("B"))
    eqs = da.equations(m)
    return eqs, da.simulate(eqs, 0.2, every=2 * DT)


def arm_filter(use_current: bool) -> ExtendedKalman:
    model = model_kinematics(
        arm()[0], independent=["A.angle", "B.angle"], inputs=["acc1.y", "acc2.y"],
        outputs=["encoder 1", "encoder 2"], use_current=use_current, method="heun" if use_current else "euler",
    )  # fmt: skip
    return ExtendedKalman(model, dt=2 * DT, R=1e-6, input_noise=1e-4, P0=[1e-6] * 4 + [1.0] * 2)


@pytest.mark.spec("004-C16")
@pytest.mark.parametrize("use_current", [False, True])
def test_record_and_single_samples_give_the_same_estimate(use_current: bool) -> None:
    """With use_current the step to a sample takes the inputs of that sample, which a stepper gets with it."""
    _, run = arm()
    ekf = arm_filter(use_current)
    found, stepper = ekf.run(run), ekf.stepper()
    names = ekf.process.inputs.names, ekf.process.outputs.names
    for k in range(len(run)):
        step = stepper.step(*([run[name][k] for name in group] for group in reversed(names)))
        assert step["B.acceleration"] == pytest.approx(found["B.acceleration"][k], abs=1e-12)
    settled = slice(20, None)
    error = np.abs(found["B.acceleration"] - kinematic_truth(run))[settled].max()
    lag = np.abs(np.diff(kinematic_truth(run)))[settled].max()
    assert error < 0.25 * lag if use_current else error > 0.9 * lag  # the rest: the start knew no acceleration


def kinematic_truth(run: da.Record) -> np.ndarray:
    """Acceleration of joint B by the closed form of C21 from readings without noise, gravity taken out."""
    L, d1, d2, g = 0.4, 0.3, 0.25, 9.81
    a1 = run["acc1.y"] - g * np.cos(run["A.angle"])
    a2 = run["acc2.y"] - g * np.cos(run["A.angle"] + run["B.angle"])
    turn = run["B.angle"]
    return -a1 * (L * np.cos(turn) + d2) / (d1 * d2) + (a2 - L * np.sin(turn) * run["A.rate"] ** 2) / d2


def test_a_smoother_knows_the_instant_of_the_inputs() -> None:
    """Smoothing with exact sensors must not move the acceleration by the lag it has not got."""
    _, run = arm()
    found = arm_filter(True).run(run)
    back = smooth(found)
    lag = np.abs(np.diff(found["B.acceleration"])).max()
    assert np.abs(back["B.acceleration"] - found["B.acceleration"])[20:].max() < 0.2 * lag


@pytest.mark.parametrize("use_current", [False, True])
def test_a_kinematic_filter_goes_into_a_simulation_as_it_is(use_current: bool) -> None:
    eqs, run = arm()
    ekf = arm_filter(use_current)
    inside = da.simulate(eqs, 0.2, observer=ekf, every=2 * DT)
    assert inside["estimate.B.rate"] == pytest.approx(ekf.run(run)["B.rate"], abs=1e-7)


# --- breakdown --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C18")
def test_a_breakdown_at_a_singular_pose_names_the_pose_and_the_cure() -> None:
    eqs = da.equations(slider_crank())
    model = observer(eqs)
    (said,) = model.advise(model.state({"A.angle": 1.55, "A.rate": 12.0}))
    assert "A.angle = 1.55" in said.text() and "switching=da.estimate.Switching(...)" in said.text()
    assert model.advise(model.state({"A.angle": 0.3})) == ()
    wide = observer(eqs, switching=da.estimate.Switching(0.01))
    (said,) = wide.advise(wide.state({"A.angle": 1.55}))
    assert "a wider switching=" in said.text()


def test_the_process_of_a_kinematic_model_says_that_it_reads_sensors() -> None:
    eqs = da.equations(slider_crank())
    p = process(observer(eqs, use_current=True))
    assert p.sensed and p.current
    assert not process(observer(eqs)).current
