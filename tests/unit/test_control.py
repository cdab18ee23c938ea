"""tf, pid, bode, nyquist, step_info; margins of any law and of plants with hidden poles. Peer: python-control."""

from __future__ import annotations

import math

import control
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DalembertWarning
from tests.helpers.findings import raises, warns

# of frequency responses of small systems: some hundred units of rounding
ROUNDING = 1e-12


def same_response(ours: da.StateSpace, peer) -> None:
    for w in (0.03, 0.7, 5.0, 40.0):
        point = 1j * w if ours.dt is None else np.exp(1j * w * ours.dt)
        expected = complex(np.squeeze(peer(point)))
        got = ours.C @ np.linalg.solve(point * np.eye(ours.nx) - ours.A, ours.B) + ours.D
        assert abs(got[0, 0] - expected) <= ROUNDING * abs(expected)


@pytest.mark.parametrize(
    ("numerator", "denominator", "dt"),
    [
        ([2.0], [0.5, 1.0], None),
        ([1.0, 3.0, 2.0], [2.0, 1.0, 4.0], None),
        ([0.0, 1.0], [1.0, -0.5, 0.2], 0.1),
        ([3.0], [2.0], None),
    ],
)
def test_a_transfer_function_is_that_of_python_control(numerator, denominator, dt):
    same_response(da.control.tf(numerator, denominator, dt), control.tf(numerator, denominator, dt or 0))


def test_a_transfer_function_that_differentiates_its_input_is_refused():
    with raises(da.errors.DataError, "not-proper"):
        da.control.tf([1.0, 0.0, 0.0], [1.0, 1.0])
    with raises(da.errors.DataError, "zero"):
        da.control.tf([1.0], [0.0])


def test_a_pid_controller_has_the_response_of_its_terms():
    s = control.tf("s")
    same_response(da.control.pid(3.0, 2.0, 0.5, filter=0.02).controller(), 3 + 2 / s + 0.5 * s / (1 + 0.02 * s))
    z, h = control.tf([1.0, 0.0], [1.0], 0.01), 0.01
    sampled = 3 + 2 * h / (z - 1) + 0.5 * (z - 1) / ((0.02 + h) * z - 0.02)
    same_response(da.control.pid(3.0, 2.0, 0.5, filter=0.02, dt=h).controller(), sampled)
    with raises(da.errors.DataError, "missing-argument", "filter"):
        da.control.pid(0.0, kd=1.0)


def pendulum():
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="hinge", input="torque")
    return m, da.equations(m)


@pytest.mark.parametrize("dt", [None, 0.005])
def test_a_pid_controller_brings_a_machine_to_its_reference_without_offset(dt):
    _, eqs = pendulum()
    law = da.control.pid(60.0, 60.0, 12.0, reads="hinge.angle", drives="torque", dt=dt)
    start = da.assemble(eqs, {"hinge.angle": -math.pi / 2})
    run = da.simulate(eqs, 12.0, start=start, controller=law, references={"hinge.angle": -1.0})
    assert run["hinge.angle"][-1] == pytest.approx(-1.0, abs=1e-4)  # slowest pole of the loop: e^(-1.2 * 12)
    assert da.control.step_info(run, "hinge.angle", final=-1.0).overshoot < 40.0


def plain_pi(kp: float, ki: float):
    def law(s):
        error = s.reference("y1") - s["y1"]
        return kp * error + s["i"], {"i": ki * error}

    return da.control.custom_law("pi", law, "u1", memory={"i": 0.0})


def test_the_integral_of_a_pid_controller_stops_at_its_limit():
    plant = da.control.tf([1.0], [1.0, 0.0])  # a mass of which the speed is read
    limits = {"u1": da.ActuatorLimits(limits=(-0.2, 0.2))}
    overshoots = []
    for law in (plain_pi(1.0, 1.0), da.control.pid(1.0, 1.0), da.control.pid(1.0, 1.0, limits=0.2)):
        run = da.simulate(plant, 60.0, controller=law, references={"y1": 2.0}, actuators=limits)
        overshoots.append(da.control.step_info(run, "y1", final=2.0).overshoot)
    wound, stopped, bounded = overshoots
    assert stopped < 0.5 * wound
    assert bounded == pytest.approx(stopped, rel=1e-6)


def test_step_info_is_that_of_python_control_and_of_closed_forms():
    wn, zeta = 3.0, 0.4
    found = da.control.step_info(da.control.tf([wn**2], [1.0, 2 * zeta * wn, wn**2]))
    damped = wn * math.sqrt(1 - zeta**2)
    assert found.overshoot == pytest.approx(100 * math.exp(-math.pi * zeta / math.sqrt(1 - zeta**2)), rel=1e-5)
    assert found.peak_time == pytest.approx(math.pi / damped, rel=1e-6)
    # python-control takes samples without interpolation: as near as its grid
    grid = np.linspace(0, 6, 60001)
    peer = control.step_info(control.tf([wn**2], [1.0, 2 * zeta * wn, wn**2]), T=grid)
    assert found.rise_time == pytest.approx(peer["RiseTime"], abs=3e-4)
    assert found.settling_time == pytest.approx(peer["SettlingTime"], abs=3e-4)
    assert found.final == pytest.approx(1.0)
    assert "settling time" in repr(found)
    with raises(da.errors.DataError, "unstable"):
        da.control.step_info(da.control.tf([1.0], [1.0, 0.0]))


def test_margins_of_a_custom_law_are_those_of_its_transfer_function():
    plant = da.control.tf([4.0], [1.0, 2.0, 1.0])
    law = plain_pi(0.8, 0.3)
    s = control.tf("s")
    gain, phase, _, at = control.margin((0.8 + 0.3 / s) * 4 / (s**2 + 2 * s + 1))
    found = da.control.margins(law, plant).channels[0]
    assert math.degrees(found.phase) == pytest.approx(phase, rel=1e-9)
    assert found.phase_frequency == pytest.approx(at, rel=1e-9)
    assert found.gain[1] == gain == math.inf
    pid = da.control.margins(da.control.pid(0.8, 0.3), plant).channels[0]
    assert pid.phase == pytest.approx(found.phase, rel=1e-12)


def test_a_nonlinear_law_is_linearized_where_its_plant_is():
    _, eqs = pendulum()
    rest = da.assemble(eqs, {"hinge.angle": -math.pi / 2})
    plant = da.linearize(eqs, rest)
    law = da.control.custom_law(
        "cubic", lambda s: -5.0 * (s["hinge.angle"] + math.pi / 2) ** 3 - 7.0 * da.math.sin(s["hinge.rate"]), "torque"
    )
    loop = da.control.open_loop(law, plant)
    J = 1.0 / 3.0
    s = control.tf("s")
    same_response(loop, 7.0 * s / (J * s**2 + 4.905))
    assert da.control.margins(law, plant).stable
    with raises(da.errors.DataError, "wrong-type", "da.linearize"):
        da.control.margins(law, eqs)
    with raises(da.errors.DataError, "wrong-type", "plant"):
        da.control.margins(law)


def test_a_sampled_law_reads_while_its_last_command_acts():
    """An accelerometer shows the command of the sample before: u(k) = -g (u(k-1) / m)."""
    plant = da.StateSpace([[0.0, 1.0], [0.0, 0.0]], [0.0, 0.5], [[0.0, 0.0]], [[0.5]], inputs="u", outputs="a")
    law = da.control.custom_law("a", lambda s: -1.2 * s["a"], "u", dt=0.1)
    z = control.tf([1.0, 0.0], [1.0], 0.1)
    same_response(da.control.open_loop(law, plant).minimal(), 0.6 / z)


def test_margins_of_a_speed_loop_leave_out_the_angle_and_say_so():
    """Motor and load on a flexible shaft; the PI controller reads the speed of the motor, the angle is in no loop."""
    J1, J2, k, c = 1.0, 2.0, 400.0, 1.0
    M, K, C = np.diag([J1, J2]), k * np.array([[1, -1], [-1, 1]]), c * np.array([[1, -1], [-1, 1]])
    plant = da.SecondOrder(M, K, C=C, B=[[1.0], [0.0]], coordinates=["motor", "load"], inputs="torque").state_space()
    speed = plant.replace(C=[[0.0, 0.0, 1.0, 0.0]], D=[[0.0]], outputs="speed")
    law = da.control.pid(20.0, 30.0, reads="speed", drives="torque")
    with warns(DalembertWarning, "not-minimal"):
        found = da.control.margins(law, speed)
    assert found.stable
    assert found.hidden == pytest.approx((0.0,), abs=1e-9)
    s = control.tf("s")
    shaft = c * s + k
    G = s * (J2 * s**2 + shaft) / ((J1 * s**2 + shaft) * (J2 * s**2 + shaft) - shaft * shaft)
    _, phase, _, _ = control.margin(control.minreal((20.0 + 30.0 / s) * G, 1e-6, verbose=False))
    assert math.degrees(found.channels[0].phase) == pytest.approx(phase, rel=1e-6)


def test_a_hidden_pole_that_grows_leaves_no_margins():
    loop = da.StateSpace([[-1.0, 0.0], [0.0, 0.5]], [1.0, 0.0], [[1.0, 0.0]])
    assert not da.control.margins(loop).stable


def test_bode_and_nyquist_draw_systems_designs_and_laws():
    plant = da.control.tf([4.0], [1.0, 2.0, 1.0])
    figure = da.control.bode(plant, frequency="rad/s")
    line = figure.axes[0].lines[0]
    w, level = np.array(line.get_xdata()), np.array(line.get_ydata())
    expected = 20 * np.log10(np.abs(4.0 / (1j * w + 1.0) ** 2))
    assert np.abs(level - expected).max() < 1e-9
    law = da.control.pid(0.8, 0.3)
    assert da.control.bode(law, plant=plant).axes[0].lines
    curve = da.control.nyquist(law, plant=plant)
    assert len(curve.axes) == 1
    found = da.control.margins(law, plant).channels[0]
    assert f"{math.degrees(found.phase):.3g}°" in curve.get_suptitle()


def test_a_zero_that_only_rounding_moves_from_the_origin_is_there():
    """Speed of one of two masses, with both torques as inputs: 4e-33 before, with a time constant of -2e32 s."""
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    plant = da.StateSpace(np.diag([0.0, -2.0, -3.0]), np.eye(3)[:, 1:], np.eye(3)[:, 1:].T)
    turned = plant.similarity(turn)
    assert turned.zeros().values.tolist() == [0.0]
