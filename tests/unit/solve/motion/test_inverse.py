"""Inverse dynamics: the inputs that make a motion, with as many, fewer or more inputs than degrees of freedom."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.motion.inverse import _ForceBalance, lexicographic
from dalembert.solve.position.prescribed_motion import MotionWarning, differentiate
from tests.helpers.findings import raises, warns

G, LENGTH, MASS = 9.81, 1.0, 1.0


def pendulum(**actuator) -> da.Mechanism:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=MASS, inertia=da.rod(LENGTH), position=(0.5, 0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", "hinge", input="torque", **actuator)
    return m


def spatial_pendulum() -> da.Mechanism:
    m = da.Mechanism("pendulum")
    rod = m.add_body("rod", mass=MASS, inertia=da.box(LENGTH, 0.1, 0.1), position=(0.5, 0, 0))
    m.add_revolute("hinge", m.ground, rod, at=(0, 0, 0), axis=(0, 1, 0))
    m.add_actuator("motor", "hinge", input="torque")
    return m


def swing(t):
    return 0.4 * da.sin(3 * t)


def exact_torque(t):
    """(m l²/3) θ'' + m g l/2 cos θ."""
    th = 0.4 * np.sin(3 * t)
    return MASS * LENGTH**2 / 3 * (-9 * th) + MASS * G * LENGTH / 2 * np.cos(th)


TIMES = np.linspace(0, 2, 201)


def arm(inputs: tuple[str, ...]) -> da.Mechanism:
    """Two links; which of the joints has a motor is asked for."""
    m = da.Mechanism("arm", planar=True)
    one = m.add_body("one", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0))
    two = m.add_body("two", mass=2.0, inertia=da.rod(1.0), position=(1, 0.5), angle=np.pi / 2)
    m.add_revolute("shoulder", m.ground.at(0, 0), one.at(-0.5, 0))
    m.add_revolute("elbow", one.at(0.5, 0), two.at(-0.5, 0))
    m.add_sensor("hand", da.position(two.at(0.5, 0)))
    for joint in inputs:
        m.add_actuator(f"{joint} motor", joint, input=f"{joint} torque")
    return m


ARM_MOTION = {"shoulder": lambda t: 0.3 * da.sin(2 * t), "elbow": lambda t: 1.5 + 0.2 * da.cos(3 * t)}


@pytest.mark.spec("002-G4")
def test_torque_of_a_pendulum_is_that_of_the_closed_form():
    run = da.inverse_dynamics(da.equations(pendulum()), {"hinge": swing}, times=TIMES)
    assert run["torque"] == pytest.approx(exact_torque(TIMES), abs=1e-12)
    assert run.statistics["determination"] == "determined"
    assert np.abs(run["energy.balance"]).max() < 1e-6


def test_reactions_carry_weight_and_inertia():
    run = da.inverse_dynamics(da.equations(pendulum()), {"hinge": swing}, times=TIMES)
    assert run["hinge.force.x"] == pytest.approx(MASS * run["rod.ax"], abs=1e-11)
    assert run["hinge.force.y"] == pytest.approx(MASS * (run["rod.ay"] + G), abs=1e-11)


def test_samples_are_differentiated_by_splines():
    eqs = da.equations(pendulum())
    record = da.Record.from_channels(TIMES, {"hinge.angle": 0.4 * np.sin(3 * TIMES)})
    run = da.inverse_dynamics(eqs, record)
    assert run.provenance["motion"] == "rates and accelerations differentiated by splines of degree 5"
    # error of the second derivative ~ 0.4 · 3⁶ h⁴ / 100 inside, a few hundred times that at the ends
    h = TIMES[1]
    assert np.abs(run["torque"] - exact_torque(TIMES))[6:-6].max() < 0.4 * 3**6 * h**4
    assert np.abs(run["torque"] - exact_torque(TIMES)).max() < 300 * 0.4 * 3**6 * h**4
    rates = da.Record.from_channels(
        TIMES, {"hinge.angle": 0.4 * np.sin(3 * TIMES), "hinge.rate": 1.2 * np.cos(3 * TIMES)}
    )
    assert da.inverse_dynamics(eqs, rates).provenance["motion"] == "accelerations differentiated by splines of degree 5"


def test_given_accelerations_are_taken_as_they_are():
    eqs = da.equations(pendulum())
    first = da.inverse_dynamics(eqs, {"hinge": swing}, times=TIMES[::20])
    again = da.inverse_dynamics(eqs, first.select("hinge.angle", "hinge.rate", "hinge.acceleration"))
    assert again.provenance["motion"] == "rates and accelerations given"
    assert again["torque"] == pytest.approx(first["torque"], abs=1e-12)


def test_a_simulated_run_gives_its_inputs_back():
    eqs = da.equations(arm(("shoulder", "elbow")))
    start = da.assemble(eqs, {"shoulder": -1.0, "elbow": 0.5})
    inputs = {"shoulder torque": lambda t: 8 * da.sin(3 * t), "elbow torque": lambda t: 2 * da.cos(2 * t)}
    run = da.simulate(eqs, 1.0, start=start, inputs=inputs, every=2e-3)
    back = da.inverse_dynamics(eqs, da.Record(run.time, run[[*eqs.coordinates.names, *eqs.speeds.names]],
                                              [*eqs.coordinates.names, *eqs.speeds.names]))  # fmt: skip
    assert "accelerations differentiated by splines" in back.provenance["motion"]
    for name in inputs:  # speeds change within 0.1 s; a spline of degree five: (2e-3 / 0.1)⁵ of 10 N m, ends worse
        assert np.abs(back[name] - run[name])[8:-8].max() < 1e-6
        assert np.abs(back[name] - run[name]).max() < 1e-3


@pytest.mark.parametrize("planar", [True, False])
def test_a_run_sampled_coarsely_gives_its_inputs_back(planar):
    """A free pendulum, 0.2 s apart: the run brings its accelerations, so rounding is left of the torque."""
    eqs = da.equations(pendulum() if planar else spatial_pendulum())
    run = da.simulate(eqs, 4.0, every=0.2)
    back = da.inverse_dynamics(eqs, run)
    assert back.provenance["motion"] == "speeds and accelerations given"
    assert np.abs(back["torque"]).max() < 1e-13 and back.statistics["estimated error"] == {}
    along = da.inverse_dynamics(eqs, run.select("hinge.angle", "hinge.rate", "hinge.acceleration"))
    assert np.abs(along["torque"]).max() < 1e-12


@pytest.mark.parametrize("channels", [("hinge.angle",), ("hinge.angle", "hinge.rate"), ("rod.x", "rod.y", "rod.angle")])
def test_a_motion_sampled_too_coarsely_is_warned_of_with_the_size_of_the_error(channels):
    """Torque is zero in truth, so what is found is the error; its estimate is of that size, and falls with it."""
    eqs = da.equations(pendulum())
    coarse, fine = (da.simulate(eqs, 4.0, every=h).select(*channels) for h in (0.2, 0.02))
    with warns(MotionWarning, "coarse-sampling", "'torque'"):
        found = da.inverse_dynamics(eqs, coarse)
    error, estimate = np.abs(found["torque"]).max(), found.statistics["estimated error"]["torque"]
    assert error > 1 and error / 10 < estimate < 10 * error
    found = da.inverse_dynamics(eqs, fine)  # no warning
    error, estimate = np.abs(found["torque"]).max(), found.statistics["estimated error"]["torque"]
    assert error < 1e-2 and error / 10 < estimate < 10 * error


def test_the_estimated_error_of_a_damper_is_that_of_the_rates():
    """F = c ẋ + m ẍ with hardly any mass: the error of the differentiated rates is all there is."""
    m = da.Mechanism("damper", planar=True, gravity=0)
    body = m.add_body("body", mass=1e-6, inertia=1e-6)
    m.add_prismatic("slide", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_damper("oil", joint="slide", damping=50.0)
    m.add_actuator("motor", "slide", input="force")
    eqs = da.equations(m)
    for step in (0.1, 0.05):
        t = np.arange(0.0, 4.0, step)
        found = da.inverse_dynamics(eqs, da.Record.from_channels(t, {"slide.displacement": 0.2 * np.sin(3 * t)}))
        error = np.abs(found["force"] - 50.0 * 0.6 * np.cos(3 * t)).max()
        assert error / 10 < found.statistics["estimated error"]["force"] < 10 * error


def test_recorded_rates_that_contradict_the_coordinates_are_warned_of():
    eqs = da.equations(pendulum())
    swing = 0.4 * np.sin(3 * TIMES)
    in_degrees = da.Record.from_channels(
        TIMES, {"hinge.angle": swing, "hinge.rate": np.degrees(1.2 * np.cos(3 * TIMES))}
    )
    with warns(MotionWarning, "not-the-rate", "'hinge.rate'", "'hinge.angle'"):
        da.inverse_dynamics(eqs, in_degrees)


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("channels", [("hinge",), ()], ids=["joint", "whole poses"])
def test_recorded_accelerations_that_contradict_the_rates_are_warned_of(planar, channels):
    eqs = da.equations(pendulum() if planar else spatial_pendulum())
    run = da.simulate(eqs, 1.0, every=0.01)
    turning = "rod.acceleration" if planar else "rod.alphay"
    factor = [1.3 if name in ("hinge.acceleration", turning) else 1.0 for name in run.names]
    other = da.Record(run.time, run.data * factor, run.names)
    wrong = "hinge.acceleration" if channels else turning
    with warns(MotionWarning, "not-the-rate", repr(wrong)) as found:
        da.inverse_dynamics(eqs, other.select(*channels) if channels else other)
    assert len(found) == 1


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("channels", [("hinge",), ()], ids=["joint", "whole poses"])
def test_a_resampled_run_reports_the_error_of_its_inputs(planar, channels):
    """Interpolated accelerations are not those of interpolated angles; torque is zero in truth."""
    eqs = da.equations(pendulum() if planar else spatial_pendulum())
    run = da.simulate(eqs, 4.0, every=0.05)
    for every, kind, exact in ((0.0125, "linear", False), (0.1, "linear", True), (0.0125, "cubic", False)):
        other = run.resample(every=every, kind=kind)
        if kind == "linear" and not (exact or channels):
            with raises(da.errors.DataError, "inconsistent-motion"):
                da.inverse_dynamics(eqs, other)
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = da.inverse_dynamics(eqs, other.select(*channels) if channels else other)
        error, estimate = np.abs(found["torque"]).max(), found.statistics["estimated error"].get("torque", 0.0)
        assert (error < 1e-11 and not estimate) if exact else error < estimate < 20 * error  # on the safe side
        assert bool(caught) == (kind == "linear" and not exact)


def test_kinematics_of_a_coarse_record_is_warned_of():
    eqs = da.equations(pendulum())
    coarse = da.simulate(eqs, 4.0, every=0.2).select("hinge.angle")
    with warns(MotionWarning, "coarse-sampling"):
        run = da.kinematics(eqs, motion=coarse)
    assert run.statistics["estimated error"] > 0.1


def test_friction_that_holds_leaves_the_inputs_open_and_is_warned_of():
    """Pushed by 10 sin(2 t) N against 0.4 * 2 kg * g: while the block rests, no motion determines the push."""
    m = da.Mechanism("block", planar=True)
    block = m.add_body("block", mass=2.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), block.at(0, 0), axis=(1, 0))
    m.add_friction("dry", "rail", coulomb=0.4)
    m.add_actuator("push", "rail", input="force")
    eqs = da.equations(m)
    run = da.simulate(eqs, 4.0, inputs={"force": lambda t: 10 * da.sin(2 * t)}, every=0.02)
    with warns(MotionWarning, "resting-friction", "0.01 m", "201", "'dry'", "7.8 N"):
        back = da.inverse_dynamics(eqs, run)
    error = np.abs(back["force"] - run["force"])
    sliding = np.abs(run["rail.speed"]) > 1e-2
    assert error.max() < 0.4 * 2 * G + 1e-9 and error.max() > 7
    assert error[sliding].max() < (1 - 1 / np.sqrt(1 + 0.01)) * 0.4 * 2 * G + 1e-9  # of the law at 10 times its speed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        da.inverse_dynamics(eqs, {"rail": lambda t: 0.5 * t}, times=[0.0, 1.0])


@pytest.mark.spec("002-G4")
def test_the_end_effector_may_be_prescribed():
    eqs = da.equations(arm(("shoulder", "elbow")))
    joints = da.inverse_dynamics(eqs, ARM_MOTION, times=TIMES)
    hand = da.inverse_dynamics(eqs, joints.select("hand.x", "hand.y"))
    for name in ("shoulder torque", "elbow torque"):
        assert hand[name][8:-8] == pytest.approx(joints[name][8:-8], abs=1e-4)  # splines: 3⁶ h⁴ times lever arms


@pytest.mark.spec("002-G4")
def test_too_few_inputs_leave_a_residual_and_say_so():
    full = da.inverse_dynamics(da.equations(arm(("shoulder", "elbow"))), ARM_MOTION, times=TIMES)
    lack = da.inverse_dynamics(da.equations(arm(("shoulder",))), ARM_MOTION, times=TIMES)
    assert lack.statistics["determination"] == "under-actuated: least squares"
    assert (lack.statistics["rank"], lack.statistics["degrees of freedom"]) == (1, 2)
    assert lack.statistics["largest residual"] == lack["residual.force"].max() > 0.1
    # the motion that one motor makes alone leaves none
    eqs = da.equations(arm(("shoulder",)))
    run = da.simulate(eqs, 0.5, start=da.assemble(eqs, {"shoulder": -1.0}), inputs={"shoulder torque": 5.0}, every=1e-3)
    alone = da.inverse_dynamics(eqs, run)
    assert alone["residual.force"][8:-8].max() < 1e-5
    assert alone["shoulder torque"][8:-8] == pytest.approx(5.0, abs=1e-5)
    assert full["residual.force"].max() < 1e-11


@pytest.mark.spec("002-G4")
def test_more_inputs_than_freedoms_share_the_load_with_least_norm():
    m = pendulum()
    m.add_actuator("helper", "hinge", input="help", effort=2.0)
    eqs = da.equations(m)
    run = da.inverse_dynamics(eqs, {"hinge": swing}, times=TIMES)
    need = exact_torque(TIMES)
    # u + 2 w = need with least u² + w²
    assert run["torque"] == pytest.approx(need / 5, abs=1e-12)
    assert run["help"] == pytest.approx(2 * need / 5, abs=1e-12)
    assert run.statistics["determination"] == "redundant: minimum norm"
    heavy = da.inverse_dynamics(eqs, {"hinge": swing}, times=TIMES, weights={"help": 4.0})
    # least u² + 4 w²: u = need / 2, w = need / 4
    assert heavy["torque"] == pytest.approx(need / 2, abs=1e-12)
    assert heavy["help"] == pytest.approx(need / 4, abs=1e-12)
    only = da.inverse_dynamics(eqs, {"hinge": swing}, times=TIMES, inputs=["help"])
    assert only["help"] == pytest.approx(need / 2, abs=1e-12) and np.all(only["torque"] == 0)


def test_a_driver_carries_its_effort_unless_inputs_are_asked_for():
    m = pendulum()
    m.add_driver("drive", "hinge", swing)
    eqs = da.equations(m)
    driven = da.inverse_dynamics(eqs, None, times=TIMES)
    assert driven["drive.effort"] == pytest.approx(exact_torque(TIMES), abs=1e-11)
    assert np.abs(driven["torque"]).max() < 1e-12
    asked = da.inverse_dynamics(eqs, None, times=TIMES, inputs=["torque"])
    assert asked["torque"] == pytest.approx(exact_torque(TIMES), abs=1e-11)
    assert np.abs(asked["drive.effort"]).max() < 1e-12


def test_redundant_joints_get_reactions_of_least_norm_and_the_same_torque():
    m = pendulum()
    m.add_revolute("twin", m.ground.at(0, 0), m.bodies[0].at(-0.5, 0))
    run = da.inverse_dynamics(da.equations(m), {"hinge": swing}, times=TIMES)
    assert run["torque"] == pytest.approx(exact_torque(TIMES), abs=1e-11)
    assert run["hinge.force.y"] == pytest.approx(run["twin.force.y"], abs=1e-11)  # they share alike


@pytest.mark.spec("002-G5")
def test_friction_in_a_hinge_is_paid_for():
    m = pendulum()
    m.add_friction("bearing", "hinge", coulomb=0.2, radius=0.05, viscous=0.1, speed=1e-9)
    run = da.inverse_dynamics(da.equations(m), {"hinge": swing}, times=TIMES)
    load = np.hypot(run["hinge.force.x"], run["hinge.force.y"])
    sign = run["hinge.rate"] / np.sqrt(run["hinge.rate"] ** 2 + 1e-18)
    need = exact_torque(TIMES) + 0.1 * run["hinge.rate"] + 0.2 * 0.05 * load * sign
    assert run["torque"] == pytest.approx(need, abs=1e-10)


def test_friction_in_a_joint_with_an_undecided_reaction_is_refused():
    m = pendulum()
    m.add_revolute("twin", m.ground.at(0, 0), m.bodies[0].at(-0.5, 0))
    m.add_friction("bearing", "hinge", coulomb=0.2, radius=0.05)
    with raises(da.errors.ModelError, "not-unique", "'hinge'"):
        da.inverse_dynamics(da.equations(m), {"hinge": swing}, times=TIMES)


@pytest.mark.parametrize("inductance", [0.0, 0.02])
def test_voltage_of_a_motor_follows_from_the_motion(inductance):
    motor = da.DCMotor(torque_constant=0.5, resistance=2.0, inductance=inductance, gear_ratio=3.0)
    run = da.inverse_dynamics(da.equations(pendulum(model=motor)), {"hinge": swing}, times=TIMES)
    current = exact_torque(TIMES) / 1.5
    th, w = 0.4 * np.sin(3 * TIMES), 1.2 * np.cos(3 * TIMES)
    slope = (MASS / 3 * -9 * w - MASS * G / 2 * np.sin(th) * w) / 1.5
    voltage = inductance * slope + 2.0 * current + 0.5 * 3 * w
    assert run["torque"] == pytest.approx(voltage, abs=1e-12 if inductance == 0 else 1e-7)
    if inductance:
        assert run["motor.current"] == pytest.approx(current, abs=1e-12)


def test_input_of_a_lagging_actuator_follows_from_the_motion():
    lag = da.FirstOrderLag(time_constant=0.1, gain=2.0)
    eqs = da.equations(pendulum(model=lag))
    start = da.assemble(eqs, {"hinge": -1.0})
    run = da.simulate(eqs, 1.0, start=start, inputs={"torque": lambda t: 3 * da.sin(4 * t)}, every=2e-3)
    back = da.inverse_dynamics(eqs, run)
    assert back["motor.effort"][8:-8] == pytest.approx(run["motor.effort"][8:-8], abs=1e-6)
    assert back["torque"][12:-12] == pytest.approx(run["torque"][12:-12], abs=1e-4)  # two splines, one upon the other


def test_spatial_arms_have_inverse_dynamics_too():
    m = da.Mechanism("arm")
    one = m.add_body("one", mass=2.0, inertia=(0.02, 0.1, 0.12), position=(0.5, 0, 0))
    two = m.add_body("two", mass=1.0, inertia=(0.01, 0.05, 0.06), position=(1.4, 0, 0))
    m.add_revolute("base", m.ground, one, at=(0, 0, 0), axis=(0, 0, 1))
    m.add_revolute("wrist", one, two, at=(1, 0, 0), axis=(0, 1, 0))
    m.add_actuator("m1", "base", input="u1")
    m.add_actuator("m2", "wrist", input="u2")
    eqs = da.equations(m)
    inputs = {"u1": lambda t: da.sin(3 * t), "u2": lambda t: -4 + da.cos(2 * t)}
    run = da.simulate(eqs, 0.5, start=da.assemble(eqs), inputs=inputs, every=1e-3)
    for motion in (run, run.select("base.angle", "wrist.angle")):
        back = da.inverse_dynamics(eqs, motion)
        for name in inputs:
            assert back[name][12:-12] == pytest.approx(run[name][12:-12], abs=1e-5)


def test_a_rolling_disc_needs_torque_for_turning_and_for_moving_on():
    m = da.Mechanism("disc", planar=True)
    disc = m.add_body("disc", mass=2.0, inertia=0.5, position=(0, 1))
    m.add_constraint("no slip", lambda s: [s["disc.vx"] + s["disc.rate"], s["disc.vy"]], level="velocity")
    m.add_torque("motor", disc, 1.0, input="torque")
    run = da.inverse_dynamics(da.equations(m), {"disc.angle": lambda t: da.sin(2 * t)}, times=TIMES)
    assert run["torque"] == pytest.approx((0.5 + 2.0) * -4 * np.sin(2 * TIMES), abs=1e-11)


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ({"inputs": ["torqe"]}, ("unknown-name", "'torqe'", "'torque'")),
        ({"weights": {"x": 1.0}}, ("unknown-name", "'x'")),
        ({"weights": {"torque": -1.0}}, ("not-positive", "'torque'", "-1.0")),
        ({"times": None}, ("missing-argument",)),
    ],
)
def test_mistakes_are_named(options, finding):
    with raises(da.errors.DalembertError, *finding):
        da.inverse_dynamics(da.equations(pendulum()), {"hinge": swing}, **{"times": TIMES, **options})


def test_a_motor_left_out_of_the_inputs_is_refused():
    motor = da.DCMotor(torque_constant=0.5, resistance=2.0, inductance=0.1)
    with raises(da.errors.ModelError, "not-supported", "'motor.current'", "'motor'"):
        da.inverse_dynamics(da.equations(pendulum(model=motor)), {"hinge": swing}, times=TIMES, inputs=[])


def test_a_motor_needs_enough_samples():
    motor = da.DCMotor(torque_constant=0.5, resistance=2.0, inductance=0.1)
    with raises(da.errors.DataError, "too-few-samples", "'motor'"):
        da.inverse_dynamics(da.equations(pendulum(model=motor)), {"hinge": swing}, times=[0.0, 1.0])


def test_poses_that_do_not_fit_the_joints_are_refused():
    eqs = da.equations(pendulum())
    run = da.inverse_dynamics(eqs, {"hinge": swing}, times=TIMES)
    broken = da.Record.from_channels(
        TIMES, {"rod.x": run["rod.x"] + 0.1, "rod.y": run["rod.y"], "rod.angle": run["rod.angle"]}
    )
    with raises(da.errors.DataError, "inconsistent-motion"):
        da.inverse_dynamics(eqs, broken)


def test_poses_alone_are_enough():
    eqs = da.equations(pendulum())
    run = da.inverse_dynamics(eqs, {"hinge": swing}, times=TIMES)
    back = da.inverse_dynamics(eqs, run.select("rod.x", "rod.y", "rod.angle"))
    assert back["torque"][8:-8] == pytest.approx(run["torque"][8:-8], abs=1e-4)


def test_the_lexicographic_solve_is_least_squares_then_minimum_norm():
    random = np.random.default_rng(3)
    W, L = random.normal(size=(4, 6, 3)), random.normal(size=(4, 6, 2))
    W[:, :, 2] = W[:, :, 0] + W[:, :, 1]  # not unique
    right = random.normal(size=(4, 6))  # not reachable
    x, lam, freedom, rank = lexicographic(W, L, right, np.ones(3))
    assert (freedom, rank) == (4, 2)
    for k in range(4):
        both = np.hstack((W[k], L[k]))
        best = np.linalg.lstsq(both, right[k], rcond=1e-10)[0]
        reached = W[k] @ x[k] + L[k] @ lam[k]
        assert reached == pytest.approx(both @ best, abs=1e-12)
        null = np.array([1.0, 1.0, -1.0])  # W null = 0: the part of x along it must be nothing
        assert abs(null @ x[k]) < 1e-12


def test_the_error_of_a_second_derivative_is_estimated_at_every_sample():
    """Of sin t, away from the ends: its largest value, at even and at odd samples, within a factor of four."""
    times = np.arange(0, 8, 0.1)
    found, error = differentiate(times, np.sin(times), 2)
    true = np.abs(found + np.sin(times))[20:-20].max()
    for first in (20, 21):
        assert 0.5 * true < np.abs(error[first:-20:2]).max() < 4 * true


def test_one_singular_pose_among_regular_ones_is_noticed() -> None:
    W = np.tile(np.eye(2), (5, 1, 1))
    W[3, 1, 1] = 0.0
    assert lexicographic(W, np.zeros((5, 2, 0)), np.ones((5, 2)), np.ones(2))[3] == 1


def behind(rate: Any) -> tuple[Any, int]:
    """The input of one actuator whose internal state has this rate and slope; number of iterations."""
    calls: list[int] = []

    def many(*at: Any) -> Any:
        calls.append(1)
        return tuple(np.full((8, 1), x) for x in rate(float(at[3][0, 0])))

    eqs = SimpleNamespace(
        nz=1, p=None, cache=lambda key, make: SimpleNamespace(many=many), inputs=SimpleNamespace(names=("voltage",))
    )
    state: Any = SimpleNamespace(eqs=eqs, behind=[0])
    times = np.arange(8.0)
    u = np.zeros((8, 1))
    poses: Any = SimpleNamespace(t=times, q=None, v=None)
    _ForceBalance._inputs_behind(state, poses, 3.0 * times[:, None], u, np.zeros((8, 0)))
    return float(u[0, 0]), len(calls)
