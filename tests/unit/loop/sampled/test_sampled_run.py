"""Sampled loops at their edges: short, late, without a law, everything at once."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert.equations import Channels, State
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.interfaces import Law
from dalembert.loop.noise import Noise, SensorFaults
from tests.helpers.loops import CART_GAINS, CART_READS, cart_pendulum, gain_law, luenberger, step_by_step

DT = 0.02
LAW = gain_law(CART_GAINS, CART_READS, ["force"], DT)
METHOD = da.RK4(step=DT)


@pytest.fixture(scope="module")
def cart() -> da.EquationsOfMotion:
    return cart_pendulum()


def command(state: State) -> float:
    return float((-CART_GAINS @ [state[name] for name in CART_READS])[0])


def test_a_run_shorter_than_an_interval_has_its_one_sample(cart: Any) -> None:
    start = da.assemble(cart, {"hinge.angle": 0.1})
    run = da.simulate(cart, 0.01, start=start, controller=LAW, method=METHOD)
    assert run.time.tolist() == [0.0, 0.01]
    (end,) = step_by_step(cart, start, 0.01, 1, lambda k, now: {"force": command(now)}, METHOD)[1:]
    assert run["hinge.angle"][-1] == pytest.approx(end["hinge.angle"], abs=1e-10)


def test_a_loop_may_start_at_any_time(cart: Any) -> None:
    start = da.assemble(cart, {"hinge.angle": 0.1}, t=2.0)
    gust: Any = {"gust": lambda t: 0.1 * da.sin(t)}
    run = da.simulate(cart, 2.5, start=start, controller=LAW, inputs=gust, method=METHOD, switch_on=2.1)
    plain = step_by_step(cart, start, DT, 25, lambda k, now: gust | {"force": command(now) if k >= 5 else 0.0}, METHOD)
    assert run["hinge.angle"] == pytest.approx([s["hinge.angle"] for s in plain], abs=1e-10)
    assert run.time[0] == 2.0


def test_noise_alone_shakes_a_machine(cart: Any) -> None:
    noise = Noise(process={"gust": 0.1}, every=0.05, seed=1)
    start = da.assemble(cart, {"hinge.angle": 3.0})
    run = da.simulate(cart, 0.5, start=start, noise=noise, method=da.RK4(step=0.05))
    draws = noise.draws("gust", 11)
    plain = step_by_step(cart, start, 0.05, 10, lambda k, now: {"gust": draws[k]}, da.RK4(step=0.05))
    assert run["hinge.angle"] == pytest.approx([s["hinge.angle"] for s in plain], abs=1e-10)
    assert run["gust"] == pytest.approx(draws, abs=1e-15)


def test_an_observer_alone_watches() -> None:
    plant = da.StateSpace([[0, 1], [-1, 0]], states=["x", "v"])
    F = expm(0.1 * plant.A)
    gain = np.array([[0.5], [0.2]])
    observer = luenberger(F, np.zeros((2, 0)), np.eye(2)[:1], np.zeros((1, 0)), gain, 0.1, (0, 0),
                          ([], ["x"], ["x", "v"]))  # fmt: skip
    run = da.simulate(plant, 10.0, start=[1.0, 0.0], observer=observer)
    error = np.hypot(run["estimate.x"] - run["x"], run["estimate.v"] - run["v"])
    matrix = (np.eye(2) - np.array([[0.5, 0.0], [0.2, 0.0]])) @ F
    assert error[-1] < 1e-2 * error[0]
    first = np.array([0.5, 0.2]) - [1.0, 0.0]
    assert error == pytest.approx([np.linalg.norm(np.linalg.matrix_power(matrix, k) @ first) for k in range(101)])


def test_a_second_order_plant_is_taken_as_its_state_space() -> None:
    system = da.SecondOrder(1.0, 4.0, B=[1.0], coordinates="x", inputs="u")
    law = gain_law([[1.0, 0.5]], ["x", "x.rate"], ["u"], 0.1)
    a = da.simulate(system, 1.0, start={"x": 1.0}, controller=law)
    b = da.simulate(system.state_space(), 1.0, start={"x": 1.0}, controller=law)
    assert np.array_equal(a.data, b.data)


def test_a_law_may_read_its_own_input() -> None:
    """u(k) = u(k-1) - x: the input of the last interval, as it acted (here: with limits)."""
    y, m, r, p, t = ca.SX.sym("y", 2), ca.SX.sym("m", 0), ca.SX.sym("r", 0), ca.SX.sym("p", 0), ca.SX.sym("t")
    law = Law("sum", ("x", "u"), ("u",), ca.Function("sum", [y, m, r, p, t], [y[1] - y[0], m]), 0.1)
    plant = da.StateSpace(0.0, 1.0, states=["x"], inputs=["u"])
    run = da.simulate(plant, 2.0, start=[1.0], controller=law, actuators={"u": ActuatorLimits(limits=1.5)})
    x, u = 1.0, 0.0
    for k in range(21):
        u = min(max(u - x, -1.5), 1.5)
        assert [run["x"][k], run["u"][k]] == pytest.approx([x, u], abs=1e-12)
        x += 0.1 * u


def test_everything_at_once_keeps_the_machine_whole(cart: Any) -> None:
    noise = Noise(
        process={"gust": 0.05, "hinge.rate": 1e-3},
        sensors={"hinge.angle": SensorFaults(deviation=0.01, delay=0.6 * DT, resolution=1e-3)}, seed=2,
    )  # fmt: skip
    events = [
        da.Event("high", lambda s: s["hinge.angle"] - 3.0, action="note"),
        da.Event("kick", lambda s: s.t - 1.511, action=da.Switch(velocity={"rail": 0.5})),
    ]
    run = da.simulate(
        cart, 3.0, start=da.assemble(cart, {"hinge.angle": 3.0}), controller=LAW, noise=noise, events=events,
        actuators={"force": ActuatorLimits(limits=2, delay=1.3 * DT, rate=20)}, every=0.005,
        switch_on=(1.0, da.Event("rest", lambda s: s["hinge.rate"])),
    )  # fmt: skip
    names = [event["name"] for event in run.statistics["events"]]
    assert names.count("rest") == 1 and names.count("kick") == 1
    on = next(event["time"] for event in run.statistics["events"] if event["name"] == "rest")
    first = np.flatnonzero(run["force"])[0]
    # the next sample after the crossing, then the delay
    assert run.time[first] == pytest.approx(np.ceil(on / DT) * DT + 1.3 * DT, abs=0.005 + 1e-9)
    assert run["residual.position"].max() < 1e-9 and run["residual.velocity"].max() < 1e-8
    k = int(np.searchsorted(run.time, 1.511))
    assert run["rail.speed"][k] - run["rail.speed"][k - 1] == pytest.approx(0.5 - run["rail.speed"][k - 1], abs=0.05)
    balance = np.diff(run["energy.balance"])
    assert np.isfinite(balance).all()


@pytest.mark.parametrize("seed", range(8))
def test_random_loops_agree_with_a_plain_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    delay, lag = random.uniform(0.0, 0.35, size=2).round(3)
    every, quantum = int(random.integers(1, 4)), (0.0, 0.01)[seed % 2]
    dt, n = 0.1, 3
    A = random.normal(size=(n, n)) - 2.5 * np.eye(n)
    B, K, x = random.normal(size=(n, 1)), 0.3 * random.normal(size=(1, n)), random.normal(size=n)
    plant = da.StateSpace(A, B, states=["a", "b", "c"], inputs=["u"])
    noise = Noise(process={"b": 0.01}, sensors={"a": SensorFaults(deviation=0.01, delay=lag)}, seed=seed)
    law = gain_law(K, ["a", "b", "c"], ["u"], every * dt)
    faster = gain_law(np.zeros((0, 0)), [], [], dt, name="clock")  # sets the interval of the loop
    actuators = {"u": ActuatorLimits(delay=delay, resolution=quantum, limits=2.0)}
    run = da.simulate(plant, 2.0, start=x, controller=[law, faster], noise=noise, actuators=actuators)
    fine = 0.001  # every time of the loop is a multiple of it
    step = expm(fine * np.block([[A, B], [np.zeros((1, n + 1))]]))
    shakes, errors = noise.draws("b", 20), noise.draws("a", 21)
    past, sent = [x[0]], []
    u = 0.0
    for i in range(2001):
        if i % 100 == 0:
            k = i // 100
            if k:
                x = x + np.array([0.0, shakes[k - 1], 0.0])
                past[-1] = x[0]
            back = i - round(lag / fine)
            read = [(past[back] if back >= 0 else past[0]) + errors[k], x[1], x[2]]
            if k % every == 0:
                u = min(max(float((-K @ read)[0]), -2.0), 2.0)
                u = quantum * np.floor(u / quantum + 0.5) if quantum else u
            sent.append(u)
            assert run.data[k, :3] == pytest.approx(x, abs=1e-9)
            assert run["measured.a"][k] == pytest.approx(read[0], abs=1e-9)
        late = i - round(delay / fine)
        acting = sent[late // 100] if late >= 0 else 0.0
        x = (step @ np.append(x, acting))[:n]
        past.append(x[0])


def test_names_of_rates_may_be_those_of_a_linear_model(cart: Any) -> None:
    reads = ("rail.displacement", "hinge.angle", "rail.displacement.rate", "hinge.angle.rate")
    start = da.assemble(cart, {"hinge.angle": 0.1})
    for dt in (DT, None):
        a = da.simulate(cart, 0.4, start=start, controller=gain_law(CART_GAINS, reads, ["force"], dt), every=0.1)
        b = da.simulate(cart, 0.4, start=start, controller=gain_law(CART_GAINS, CART_READS, ["force"], dt), every=0.1)
        assert np.array_equal(a["hinge.angle"], b["hinge.angle"])


def test_units_of_every_channel_are_kept(cart: Any) -> None:
    memory = Channels(["charge"], ["C"])
    y, m, r, p, t = ca.SX.sym("y"), ca.SX.sym("m"), ca.SX.sym("r"), ca.SX.sym("p", 0), ca.SX.sym("t")
    law = Law("coil", ("encoder",), ("force",), ca.Function("coil", [y, m, r, p, t], [r - y, m + y]), DT, memory,
              (0.0,), Channels(["encoder"], ["rad"]))  # fmt: skip
    run = da.simulate(cart, 0.1, controller=law, references={"encoder": 0.1})
    assert run.units["measured.encoder"] == run.units["reference.encoder"] == "rad"
    assert run.units["command.force"] == run.units["force"] == "N"
    assert run.units["coil.charge"] == "C"
    assert run.provenance["controller"] == "coil"
