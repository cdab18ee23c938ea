"""Sampled loops around machines, against one open-loop run per sample in plain Python."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.noise import Noise, SensorFaults
from dalembert.loop.sampled import sample_graph, sampled_run
from tests.helpers.engines import ENGINES, engine
from tests.helpers.loops import CART_GAINS, CART_READS, cart_pendulum, gain_law, luenberger, step_by_step

DT = 0.02
METHODS = [
    pytest.param(da.RK4(step=0.01), id="RK4"),
    pytest.param(da.DormandPrince(order=5, step=0.02), id="DormandPrince, fixed"),
    pytest.param(da.Rosenbrock(step=0.01), id="Rosenbrock"),
    pytest.param(da.GeneralizedAlpha(step=0.01, index=2), id="GeneralizedAlpha"),
]


@pytest.fixture(scope="module")
def cart() -> da.EquationsOfMotion:
    return cart_pendulum()


@pytest.fixture(scope="module")
def start(cart: da.EquationsOfMotion) -> State:
    return da.assemble(cart, {"hinge.angle": 0.1, "rail": -0.2})


LAW = gain_law(CART_GAINS, CART_READS, ["force"], DT)


def command(state: State) -> float:
    return float((-CART_GAINS @ [state[name] for name in CART_READS])[0])


def agree(record: da.Record, states: list[State], tolerance: float = 1e-10) -> None:
    for name in ("rail.displacement", "hinge.angle", "rail.speed", "hinge.rate"):
        assert record[name][: len(states)] == pytest.approx([s[name] for s in states], abs=tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_every_one_step_method_runs_between_samples(cart: Any, start: Any, method: Any) -> None:
    record = da.simulate(cart, 25 * DT, start=start, controller=LAW, method=method)
    plain = step_by_step(cart, start, DT, 25, lambda k, now: {"force": command(now)}, method)
    agree(record, plain)
    assert record["force"] == pytest.approx([command(s) for s in plain], abs=1e-9)
    assert record.statistics["samples"] == 26
    assert np.abs(record["residual.position"]).max() < 1e-9


def test_error_control_is_the_default_and_reaches_every_sample(cart: Any, start: Any) -> None:
    record = da.simulate(cart, 25 * DT, start=start, controller=LAW)
    fine = da.DormandPrince(rtol=1e-12, atol=1e-12)
    agree(record, step_by_step(cart, start, DT, 25, lambda k, now: {"force": command(now)}, fine), 1e-8)
    assert "order=5" in record.provenance["method"]
    assert record.statistics["rejected"] < 5


def test_intervals_that_need_many_attempts_are_finished(cart: Any, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tight = da.DormandPrince(order=5, rtol=1e-12, atol=1e-12)
    usual = da.simulate(cart, 25 * DT, start=start, controller=LAW, method=tight)
    monkeypatch.setattr(sampled_run, "ATTEMPTS", (1, 2, 24))
    delayed = {"force": ActuatorLimits(delay=0.3 * DT)}
    few = da.simulate(cart, 25 * DT, start=start, controller=LAW, method=tight)
    assert np.abs(few["hinge.angle"] - usual["hinge.angle"]).max() < 1e-9
    monkeypatch.setattr(sampled_run, "ATTEMPTS", (2, 2, 2))
    few = da.simulate(cart, 25 * DT, start=start, controller=LAW, method=tight, actuators=delayed)
    monkeypatch.setattr(sampled_run, "ATTEMPTS", (40,))
    many = da.simulate(cart, 25 * DT, start=start, controller=LAW, method=tight, actuators=delayed)
    assert np.abs(few["hinge.angle"] - many["hinge.angle"]).max() < 1e-9


def test_the_record_may_be_finer_than_the_loop(cart: Any, start: Any) -> None:
    method = da.RK4(step=0.005)
    coarse = da.simulate(cart, 0.5, start=start, controller=LAW, method=method)
    fine = da.simulate(cart, 0.5, start=start, controller=LAW, method=method, every=0.0025)
    assert len(fine) == 201
    assert np.abs(fine["hinge.angle"][::8] - coarse["hinge.angle"]).max() < 1e-14
    assert np.all(np.diff(fine["force"].reshape(-1)[:200].reshape(25, 8), axis=1) == 0)  # held between samples
    exact = da.simulate(cart, 0.5, start=start, controller=LAW, every=0.0025)
    assert np.abs(fine["hinge.angle"] - exact["hinge.angle"]).max() < 1e-7


def test_an_end_between_two_samples_is_reached(cart: Any, start: Any) -> None:
    record = da.simulate(cart, 0.25, start=start, controller=LAW, method=da.RK4(step=0.01))
    assert record.time[-1] == 0.25
    assert record.time[-2] == pytest.approx(0.24)
    plain = step_by_step(cart, start, DT, 12, lambda k, now: {"force": command(now)}, da.RK4(step=0.01))
    last = step_by_step(cart, plain[-1], 0.01, 1, lambda k, now: {"force": command(now)}, da.RK4(step=0.005))
    assert record["hinge.angle"][-1] == pytest.approx(last[-1]["hinge.angle"], abs=1e-10)


def test_disturbances_stay_functions_of_time(cart: Any, start: Any) -> None:
    def gust(t: Any) -> Any:
        return 0.3 * da.sin(9 * t)

    record = da.simulate(cart, 25 * DT, start=start, controller=LAW, method=da.RK4(step=DT), inputs={"gust": gust})
    plain = step_by_step(cart, start, DT, 25, lambda k, now: {"force": command(now), "gust": gust}, da.RK4(step=DT))
    agree(record, plain)
    assert record["gust"] == pytest.approx(0.3 * np.sin(9 * record.time), abs=1e-12)


@pytest.mark.spec("000-82")
def test_actuator_sensor_and_noise_act_on_a_machine(cart: Any, start: Any) -> None:
    actuator = ActuatorLimits(limits=3.0, resolution=0.05, delay=DT)
    noise = Noise(process={"force": 0.1}, sensors={"encoder": SensorFaults(deviation=0.01, resolution=0.002)}, seed=4)
    reads = ("rail.displacement", "encoder", "rail.speed", "hinge.rate")
    law = gain_law(CART_GAINS, reads, ["force"], DT)
    method = da.RK4(step=DT)
    record = da.simulate(
        cart, 25 * DT, start=start, controller=law, method=method, noise=noise, actuators={"force": actuator}
    )
    errors, jitter = noise.draws("encoder", 26), noise.draws("force", 26)
    sent = [0.0]

    def control(k: int, now: State) -> dict[str, float]:
        angle = 0.002 * np.floor((now["hinge.angle"] + errors[k]) / 0.002 + 0.5)
        read = [now["rail.displacement"], angle, now["rail.speed"], now["hinge.rate"]]
        u = min(max(float((-CART_GAINS @ read)[0]), -3.0), 3.0)
        sent.append(0.05 * np.floor(u / 0.05 + 0.5))
        return {"force": sent[-2] + jitter[k]}

    agree(record, step_by_step(cart, start, DT, 25, control, method))
    assert record["command.force"][:25] == pytest.approx(sent[1:], abs=1e-12)


def test_process_noise_keeps_the_joints_closed(cart: Any, start: Any) -> None:
    noise = Noise(process={"hinge.rate": 0.05, "rail.speed": 0.02, "hinge.angle": 0.01, "rod.vy": 0.1}, seed=4)
    record = da.simulate(cart, 1.0, start=start, controller=LAW, noise=noise)
    assert np.abs(record["residual.position"]).max() < 1e-9
    assert np.abs(record["residual.velocity"]).max() < 1e-9


def test_noise_on_independent_measures_is_what_was_drawn(cart: Any, start: Any) -> None:
    noise = Noise(process={"hinge.rate": 0.05, "rail.speed": 0.02, "hinge.angle": 0.01, "rail": 1e-3}, seed=4)
    method = da.RK4(step=DT)
    record = da.simulate(cart, 25 * DT, start=start, controller=LAW, noise=noise, method=method)
    draws = {name: noise.draws(name, 25) for name in noise.process}
    now = start
    for k in range(25):
        now = step_by_step(cart, now, DT, 1, lambda _, state: {"force": command(state)}, method)[-1]
        now = da.assemble(
            cart,
            {"hinge.angle": now["hinge.angle"] + draws["hinge.angle"][k], "rail": now["rail"] + draws["rail"][k]},
            velocity={
                "hinge.angle": now["hinge.rate"] + draws["hinge.rate"][k],
                "rail": now["rail.speed"] + draws["rail.speed"][k],
            },
            t=now.t,
        )
        for name in CART_READS:
            assert record[name][k + 1] == pytest.approx(now[name], abs=1e-8)


def test_a_machine_is_watched_and_driven_by_its_estimate(cart: Any, start: Any) -> None:
    lin = da.linearize(cart, at=da.assemble(cart, {"hinge.angle": 0.0})).state_space()
    model = da.StateSpace(lin.A, lin.B[:, :1], lin.C[:2], lin.D[:2, :1]).to_discrete(DT)
    M = np.array([[0.0, 0.5], [0.6, 0.0], [0.0, 4.0], [8.0, 0.0]])
    observer_step = luenberger(
        model.A, model.B, model.C, model.D, M, DT, [-0.2, 0.1, 0, 0], (["force"], ["encoder", "slide"], CART_READS)
    )
    method = da.RK4(step=DT)
    record = da.simulate(cart, 25 * DT, start=start, controller=LAW, observer=observer_step, method=method)
    estimate, u = np.array([-0.2, 0.1, 0, 0]), 0.0
    estimates = []

    def control(k: int, now: State) -> dict[str, float]:
        nonlocal estimate, u
        if k:
            estimate = model.A @ estimate + model.B[:, 0] * u
        y = np.array([now["hinge.angle"], now["rail.displacement"]])
        estimate = estimate + M @ (y - model.C @ estimate)
        u = float((-CART_GAINS @ estimate)[0])
        estimates.append(estimate)
        return {"force": u}

    agree(record, step_by_step(cart, start, DT, 25, control, method))
    for i, name in enumerate(CART_READS):
        assert record[f"estimate.{name}"][:25] == pytest.approx(np.array(estimates)[:, i], abs=1e-10)


def test_sensors_of_acceleration_are_read_while_the_last_command_acts(cart: Any, start: Any) -> None:
    law = gain_law([[0.3, 0.0, *CART_GAINS[0]]], ("shake.x", "shake.y", *CART_READS), ["force"], DT)
    method = da.RK4(step=DT)
    record = da.simulate(cart, 25 * DT, start=start, controller=law, method=method)
    u = 0.0

    def control(k: int, now: State) -> dict[str, float]:
        nonlocal u
        acceleration = da.forward_dynamics(cart, now, inputs={"force": u})["cart.vx"]
        u = command(now) - 0.3 * acceleration
        return {"force": u}

    agree(record, step_by_step(cart, start, DT, 25, control, method))


def test_native_and_interpreted_loops_have_the_same_bits(start: Any) -> None:
    noise = Noise(process={"force": 0.1}, sensors={"encoder": 0.01}, seed=4)
    records = []
    for name in ENGINES:
        machine = cart_pendulum()
        options: Any = {"start": machine.state(start.q, start.v), "controller": LAW, "noise": noise}
        with engine(name):
            records.append(da.simulate(machine, 1.0, method=da.RK4(step=DT), **options))
    assert np.array_equal(records[0].data, records[1].data)


# --- events and switching on ----------------------------------------------------------------------------------------


def test_events_are_located_between_samples(cart: Any, start: Any) -> None:
    upright = da.Event("upright", lambda s: s["hinge.angle"], direction=-1, action="note")
    method = da.RK4(step=0.005)
    record = da.simulate(cart, 2.0, start=start, controller=LAW, events=upright, method=method)
    same = da.simulate(cart, 2.0, start=start, controller=LAW, method=method)
    assert np.array_equal(record["hinge.angle"], same["hinge.angle"])  # to note it changes nothing
    (event, *_) = record.statistics["events"]
    stopped = da.simulate(
        cart, 2.0, start=start, controller=LAW, method=method,
        events=da.Event("upright", lambda s: s["hinge.angle"], direction=-1),
    )  # fmt: skip
    assert stopped.time[-1] == pytest.approx(event["time"], abs=1e-12)
    assert stopped["hinge.angle"][-1] == pytest.approx(0, abs=1e-10)
    assert "stopped by event 'upright'" in stopped.status
    k = int(np.searchsorted(same.time, event["time"])) - 1
    assert stopped["force"][-1] == same["force"][k]  # as held since the last sample


def test_a_switch_between_samples_changes_parameters_and_inputs(cart: Any, start: Any) -> None:
    drop = da.Event("drop", lambda s: s.t - 0.213, action=da.Switch(parameters={"load": 0.1}, inputs={"gust": 0.2}))
    method = da.RK4(step=DT)
    record = da.simulate(cart, 25 * DT, start=start, controller=LAW, events=drop, method=method)
    plain = step_by_step(cart, start, DT, 10, lambda k, now: {"force": command(now)}, method)
    held = {"force": command(plain[-1])}
    middle = step_by_step(cart, plain[-1], 0.013, 1, lambda k, now: held, method)[-1]
    light = cart.replace(load=0.1)
    middle = light.state(middle.q, middle.v, None, middle.t)
    middle = step_by_step(light, middle, 0.007, 1, lambda k, now: {**held, "gust": 0.2}, method)[-1]
    rest = step_by_step(light, middle, DT, 14, lambda k, now: {"force": command(now), "gust": 0.2}, method)
    agree(record, [*plain, *rest], 1e-9)
    assert record["gust"][-1] == 0.2 and record["gust"][0] == 0


def test_a_law_is_switched_on_at_a_zero_of_a_speed_after_a_time(cart: Any) -> None:
    """Trap T-23 of spec 000: where a law acts at acceleration level the speed must be zero when it starts."""
    hanging = da.assemble(cart, {"hinge.angle": 3.0})
    swing = da.Event("still", lambda s: s["hinge.rate"])
    method = da.RK4(step=0.005)
    record = da.simulate(
        cart, 6.0, start=hanging, controller=gain_law([[0.0, 1.0]], ["rail.displacement", "rail.speed"], ["force"], DT),
        switch_on=(3.0, swing), inputs={"force": lambda t: 0.01 * da.sin(3 * t)}, method=method,
    )  # fmt: skip
    (event,) = record.statistics["events"]
    assert event["name"] == "still" and event["time"] > 3.0
    free = da.simulate(cart, 6.0, start=hanging, inputs={"force": lambda t: 0.01 * da.sin(3 * t)}, method=method)
    rate = free["hinge.rate"]
    later = np.flatnonzero((free.time[1:] > 3.0) & (np.sign(rate[1:]) != np.sign(rate[:-1])))[0]
    assert free.time[later] <= event["time"] <= free.time[later + 1]
    before = record.time < event["time"]
    assert record["force"][before] == pytest.approx(0.01 * np.sin(3 * record.time[before]), abs=1e-12)
    first = int(np.searchsorted(record.time, event["time"]))
    assert record["force"][first] == pytest.approx(-record["rail.speed"][first], abs=1e-12)


def test_a_block_more_or_less_changes_nothing(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Noise(process={"force": 0.1, "hinge.rate": 0.01}, sensors={"encoder": 0.01}, seed=4)
    upright = da.Event("upright", lambda s: s["hinge.angle"], action=da.Switch(parameters={"load": 0.15}))
    records = []
    for numbers in (1_000_000, 500):
        monkeypatch.setattr(sampled_run, "Chunks", partial(sample_graph.Chunks, largest_block=numbers))
        machine = cart_pendulum()
        begin = machine.state(start.q, start.v)
        records.append(da.simulate(machine, 2.0, start=begin, controller=LAW, noise=noise, events=upright,
                                   method=da.RK4(step=DT)))  # fmt: skip
    assert np.array_equal(records[0].data, records[1].data)


def test_progress_and_keyboard_act_between_blocks(cart: Any, start: Any) -> None:
    seen: list[float] = []
    da.simulate(cart, 1.0, start=start, controller=LAW, progress=seen.append)
    assert seen[-1] == 1.0 and seen == sorted(seen)

    def interrupt(done: float) -> None:
        if done > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(da.errors.Interrupted) as caught:
        da.simulate(cart, 10.0, start=start, controller=LAW, progress=interrupt)
    assert 1 < len(caught.value.record) < 500
