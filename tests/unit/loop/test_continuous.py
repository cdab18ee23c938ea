"""Continuous laws and observers inside the equations of motion."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert.equations import Channels, State
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.continuous import close_loop
from dalembert.loop.interfaces import Law, ObserverStep
from dalembert.loop.noise import Noise
from tests.helpers.checks import matched
from tests.helpers.findings import raises
from tests.helpers.loops import CART_GAINS, CART_READS, cart_pendulum, channels, gain_law

SX = ca.SX
TIGHT = da.DormandPrince(rtol=1e-11, atol=1e-11)
MASS, STIFFNESS, DAMPING = 2.0, 8.0, 0.4
A = np.array([[0.0, 1.0], [-STIFFNESS / MASS, -DAMPING / MASS]])
B = np.array([[0.0], [1 / MASS]])
GAIN = np.array([[3.0, 2.5]])
READS = ["rail.displacement", "rail.speed"]


@pytest.fixture(scope="module")
def mass() -> da.EquationsOfMotion:
    """A mass on a spring and a damper."""
    m = da.Mechanism("mass", planar=True)
    body = m.add_body("block", mass=MASS, inertia=1.0)
    m.add_prismatic("rail", m.ground, body, at=(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="rail", stiffness=STIFFNESS, damping=DAMPING)
    m.add_force("push", body.at(0, 0), (1, 0), input="push")
    m.add_sensor("place", da.displacement("rail"))
    m.add_sensor("jolt", da.joint_acceleration("rail"))
    return da.equations(m)


@pytest.fixture(scope="module")
def start(mass: da.EquationsOfMotion) -> State:
    return da.assemble(mass, {"rail": 0.3}, velocity={"rail": -0.2})


@pytest.fixture(scope="module")
def cart() -> da.EquationsOfMotion:
    return cart_pendulum()


def kalman_bucy(C: Any, L: Any, start: tuple[float, ...] = (0.0, 0.0)) -> ObserverStep:
    """x̂' = A x̂ + B u + L (y - C x̂)."""
    m, u, y, p, t = SX.sym("m", 2), SX.sym("u"), SX.sym("y", len(C)), SX.sym("p", 0), SX.sym("t")
    rate = A @ m + B @ u + L @ (y - C @ m)
    return ObserverStep(
        "bucy", ("place",), ("push",), channels(READS), ca.Function("bucy", [m, u, y, p, t], [rate, m]), None,
        channels(["x", "v"]), start,
    )  # fmt: skip


def test_a_closed_loop_is_equations_again(mass: Any, start: Any) -> None:
    loop = close_loop(mass, gain_law(GAIN, READS, ["push"]))
    assert loop.inputs.names == () and "push" in loop.outputs.names
    run = da.simulate(mass, 3.0, start=start, controller=gain_law(GAIN, READS, ["push"]), every=0.5, method=TIGHT)
    x0 = np.array([0.3, -0.2])
    exact = np.array([expm((A - B @ GAIN) * t) @ x0 for t in run.time])
    assert run["rail.displacement"] == pytest.approx(exact[:, 0], abs=1e-10)
    assert run["push"] == pytest.approx((-exact @ GAIN.T)[:, 0], abs=1e-9)
    lin = da.linearize(loop)
    poles = np.linalg.eigvals(A - B @ GAIN)
    assert matched(np.linalg.eigvals(lin.state_space().A), poles) == pytest.approx(poles, abs=1e-10)
    assert np.abs(run["energy.balance"]).max() < 1e-9


@pytest.mark.spec("000-72", "000-74")
def test_continuous_lqg_has_the_spectrum_of_its_two_halves(mass: Any) -> None:
    """[z; ẑ]' = [[A, BF], [KC, A - KC + BF]] [z; ẑ]; its spectrum is that of A + BF and of A - KC."""
    C, L = np.array([[1.0, 0.0]]), np.array([[4.0], [5.0]])
    loop = close_loop(mass, gain_law(GAIN, READS, ["push"]), kalman_bucy(C, L))
    model = da.linearize(loop)
    poles = np.linalg.eigvals(model.A)
    halves = np.concatenate((np.linalg.eigvals(A - B @ GAIN), np.linalg.eigvals(A - L @ C)))
    assert matched(poles, halves) == pytest.approx(halves, abs=1e-9)
    block = np.block([[A, -B @ GAIN], [L @ C, A - L @ C - B @ GAIN]])
    assert np.abs(model.A - block).max() < 1e-9


@pytest.mark.spec("000-72")
def test_a_continuous_observer_runs_in_simulate(mass: Any, start: Any) -> None:
    C, L = np.array([[1.0, 0.0]]), np.array([[4.0], [5.0]])
    run = da.simulate(
        mass, 2.0, start=start, controller=gain_law(GAIN, READS, ["push"]), observer=kalman_bucy(C, L, (0.1, 0.0)),
        every=0.5, method=TIGHT,
    )  # fmt: skip
    block = np.block([[A, -B @ GAIN], [L @ C, A - L @ C - B @ GAIN]])
    exact = np.array([expm(block * t) @ [0.3, -0.2, 0.1, 0.0] for t in run.time])
    assert run["rail.speed"] == pytest.approx(exact[:, 1], abs=1e-9)
    assert run["estimate.rail.displacement"] == pytest.approx(exact[:, 2], abs=1e-9)
    assert run["bucy.v"] == pytest.approx(exact[:, 3], abs=1e-9)


def test_a_sampled_law_reads_a_continuous_observer(mass: Any, start: Any) -> None:
    C, L, dt = np.array([[1.0, 0.0]]), np.array([[4.0], [5.0]]), 0.1
    run = da.simulate(
        mass, 2.0, start=start, controller=gain_law(GAIN, READS, ["push"], dt), observer=kalman_bucy(C, L),
        method=TIGHT,
    )  # fmt: skip
    free = np.block([[A, np.zeros((2, 2)), B], [L @ C, A - L @ C, B], [np.zeros((1, 5))]])
    step = expm(free * dt)
    x = np.array([0.3, -0.2, 0.0, 0.0, 0.0])
    for k in range(21):
        x[4] = -(GAIN @ x[2:4])[0]
        assert run["rail.displacement"][k] == pytest.approx(x[0], abs=1e-9)
        assert run["push"][k] == pytest.approx(x[4], abs=1e-9)
        x = step @ x


def test_memory_and_references_of_a_law_become_states_and_inputs(mass: Any) -> None:
    y, m, r, p, t = SX.sym("y", 2), SX.sym("m"), SX.sym("r"), SX.sym("p", 2), SX.sym("t")
    law = Law(
        "pid", ("place", "rail.speed"), ("push",),
        ca.Function("pid", [y, m, r, p, t], [p[0] * (r - y[0]) + p[1] * m - 3 * y[1], r - y[0]]),
        state=Channels(["integral"], ["m s"]), start=(0.0,), references=Channels(["place"], ["m"]),
        parameters=(6.0, 10.0),
    )  # fmt: skip
    run = da.simulate(mass, 20.0, controller=law, references={"place": 0.5})
    assert run["place"][-1] == pytest.approx(0.5, abs=1e-4)
    assert run["pid.integral"][-1] == pytest.approx(0.5 * STIFFNESS / 10.0, abs=1e-3)  # holds the spring
    assert run.units["pid.integral"] == "m s"
    assert np.all(run["reference.place"] == 0.5)
    moving = da.simulate(mass, 2.0, controller=law, references={"place": lambda t: 0.1 * t}, every=0.1)
    time = np.linspace(0, 2, 21)
    record = da.Record.from_channels(time, {"place": 0.1 * time})
    same = da.simulate(mass, 2.0, controller=law, references={"place": record}, every=0.1)
    assert np.abs(moving["place"] - same["place"]).max() < 1e-8
    rest = da.equilibrium(close_loop(mass, law), inputs={"reference.place": 0.5})
    assert rest["rail.displacement"] == pytest.approx(0.5, abs=1e-9)
    assert rest["pid.integral"] == pytest.approx(0.5 * STIFFNESS / 10.0, abs=1e-9)


@pytest.mark.spec("000-72")
def test_a_linear_plant_takes_continuous_laws_and_events() -> None:
    plant = da.StateSpace(A, B, [[1.0, 0.0]], states=READS, inputs=["push"], outputs=["place"])
    C, L = np.array([[1.0, 0.0]]), np.array([[4.0], [5.0]])
    law, start = gain_law(GAIN, READS, ["push"]), {"rail.displacement": 0.3, "rail.speed": -0.2}
    run = da.simulate(plant, 2.0, start=start, controller=law, observer=kalman_bucy(C, L), every=0.5, method=TIGHT)
    block = np.block([[A, -B @ GAIN], [L @ C, A - L @ C - B @ GAIN]])
    exact = np.array([expm(block * t) @ [0.3, -0.2, 0.0, 0.0] for t in run.time])
    assert run["place"] == pytest.approx(exact[:, 0], abs=1e-9)
    sampled = gain_law(GAIN, READS, ["push"], 0.1)
    crossing = da.Event("zero", lambda s: s["rail.displacement"])
    stopped = da.simulate(plant, 9.0, start=start, controller=sampled, events=crossing, method=TIGHT)
    whole = da.simulate(plant, 9.0, start=start, controller=sampled)
    assert stopped["rail.displacement"][-1] == pytest.approx(0, abs=1e-10)
    assert stopped["push"][:-1] == pytest.approx(whole["push"][: len(stopped) - 1], abs=1e-9)


# --- algebraic loops ------------------------------------------------------------------------------------------------


def test_a_loop_through_an_accelerometer_is_solved_exactly(mass: Any, start: Any) -> None:
    """u = -g a with m a = -k x - d v + u: an added mass g."""
    run = da.simulate(mass, 3.0, start=start, controller=gain_law([[1.5]], ["jolt"], ["push"]), every=0.5, method=TIGHT)
    heavy = MASS + 1.5
    matrix = np.array([[0.0, 1.0], [-STIFFNESS / heavy, -DAMPING / heavy]])
    exact = np.array([expm(matrix * t) @ [0.3, -0.2] for t in run.time])
    assert run["rail.displacement"] == pytest.approx(exact[:, 0], abs=1e-9)
    assert run["push"] == pytest.approx(-1.5 * run["jolt"], abs=1e-12)


def test_a_loop_through_joints_is_solved_too(cart: Any) -> None:
    law = gain_law([[0.3, *CART_GAINS[0]]], ("shake.x", *CART_READS), ["force"])
    run = da.simulate(cart, 1.0, start=da.assemble(cart, {"hinge.angle": 0.1}), controller=law, every=0.1)
    asked = -0.3 * run["shake.x"] - sum(g * run[name] for g, name in zip(CART_GAINS[0], CART_READS, strict=True))
    assert run["force"] == pytest.approx(asked, abs=1e-11)


def test_a_loop_that_is_not_linear_is_refused_by_name(mass: Any) -> None:
    y, m, r, p, t = SX.sym("y"), SX.sym("m", 0), SX.sym("r", 0), SX.sym("p", 0), SX.sym("t")
    law = Law("bent", ("jolt",), ("push",), ca.Function("bent", [y, m, r, p, t], [-ca.tanh(y), m]))
    with raises(da.errors.ModelError, "algebraic-loop", "push", "jolt"):
        close_loop(mass, law)


def test_a_loop_that_cancels_itself_is_refused(mass: Any) -> None:
    with raises(da.errors.ModelError, "algebraic-loop"):
        close_loop(mass, gain_law([[-MASS]], ["jolt"], ["push"]))


# --- switching on, actuators, noise -----------------------------------------------------------------------------------


def test_a_continuous_law_is_switched_on_at_a_time(mass: Any, start: Any) -> None:
    law = gain_law(GAIN, READS, ["push"])
    run = da.simulate(
        mass, 2.0, start=start, controller=law, switch_on=0.73, inputs={"push": 1.0}, every=[0.0, 0.5, 2.0],
        method=TIGHT,
    )  # fmt: skip
    open_loop = expm(np.block([[A, B], [np.zeros((1, 3))]]) * 0.73) @ [0.3, -0.2, 1.0]
    exact = expm((A - B @ GAIN) * (2.0 - 0.73)) @ open_loop[:2]
    assert run["rail.displacement"][-1] == pytest.approx(exact[0], abs=1e-9)
    assert run["push"][:2].tolist() == [1.0, 1.0]
    assert run.statistics["events"][0]["time"] == pytest.approx(0.73, abs=1e-12)


def test_a_continuous_law_is_switched_on_at_a_zero_of_a_speed(mass: Any, start: Any) -> None:
    still = da.Event("still", lambda s: s["rail.speed"])
    run = da.simulate(
        mass, 6.0, start=start, controller=gain_law([[-STIFFNESS, -DAMPING]], READS, ["push"]), switch_on=(2.0, still),
        method=TIGHT, every=0.01,
    )  # fmt: skip
    (event,) = run.statistics["events"]
    after = run.time > event["time"]
    assert 2.0 < event["time"] < 4.0
    # the law takes spring and damper away: a mass at rest stays where it is (trap T-23)
    assert np.ptp(run["rail.displacement"][after]) < 1e-9


def test_limits_hold_in_a_continuous_loop(mass: Any, start: Any) -> None:
    law = gain_law(GAIN, READS, ["push"])
    run = da.simulate(mass, 2.0, start=start, controller=law, actuators={"push": ActuatorLimits(limits=0.2)})
    assert run["push"].min() >= -0.2 and run["push"].min() == pytest.approx(-0.2, abs=1e-12)
    with raises(da.errors.ModelError, "not-supported"):
        da.simulate(mass, 2.0, start=start, controller=law, actuators={"push": ActuatorLimits(delay=0.1)})


def test_process_noise_shakes_a_continuous_loop(mass: Any, start: Any) -> None:
    noise = Noise(process={"rail.speed": 0.1}, seed=2, every=0.1)
    law = gain_law(GAIN, READS, ["push"])
    run = da.simulate(mass, 2.0, start=start, controller=law, noise=noise, method=TIGHT)
    step, x = expm((A - B @ GAIN) * 0.1), np.array([0.3, -0.2])
    for k, w in enumerate(noise.draws("rail.speed", 20)):
        assert run["rail.displacement"][k] == pytest.approx(x[0], abs=1e-8)
        x = step @ x + [0.0, w]


@pytest.mark.parametrize("method", [da.RK4(1e-3), da.Rosenbrock(), da.GeneralizedAlpha(1e-3), da.Sundials()])
def test_every_method_takes_a_closed_loop(cart: Any, method: Any) -> None:
    options: Any = {"start": da.assemble(cart, {"hinge.angle": 0.1}), "every": 0.5}
    law = gain_law(CART_GAINS, CART_READS, ["force"])
    run = da.simulate(cart, 2.0, controller=law, method=method, **options)
    exact = da.simulate(cart, 2.0, controller=law, method=TIGHT, **options)
    assert np.abs(run["hinge.angle"] - exact["hinge.angle"]).max() < 1e-6
