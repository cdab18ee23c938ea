"""Sampled loops around linear plants, against a loop over samples in plain Python."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert.equations import Channels
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.interfaces import Law
from dalembert.loop.noise import Noise, SensorFaults
from dalembert.loop.sampled import sample_graph, sampled_run
from tests.helpers.findings import raises
from tests.helpers.loops import gain_law, integral_law, luenberger, predictor_law

DT = 0.05
A = np.array([[0.0, 1.0], [-2.0, -0.3]])
B = np.array([[0.0], [1.5]])
C = np.array([[1.0, 0.0], [-2.0, -0.3]])  # position and acceleration
D = np.array([[0.0], [1.5]])
NAMES = {"states": ["x", "v"], "inputs": ["u"], "outputs": ["y", "a"]}
PLANT = da.StateSpace(A, B, C, D, units={"x": "m", "v": "m/s", "u": "N", "y": "m", "a": "m/s^2"}, **NAMES)
START = {"x": 1.0, "v": -0.5}
X0 = np.array([1.0, -0.5])
K = np.array([[1.2, 0.8]])


def held(step: float) -> tuple[Any, Any]:
    """Exact map over a step under held input, by another way than the library's."""
    E = expm(step * np.block([[A, B], [np.zeros((1, 3))]]))
    return E[:2, :2], E[:2, 2:]


F, G = held(DT)


def quantised(value: float, quantum: float) -> float:
    return float(quantum * np.floor(value / quantum + 0.5))


def run(law: Any = None, until: float = 40 * DT, plant: Any = PLANT, **options: Any) -> da.Record:
    return da.simulate(plant, until, start=options.pop("start", START), controller=law, **options)


def test_a_gain_on_the_state_is_the_power_of_the_closed_loop_matrix() -> None:
    record = run(gain_law(K, ["x", "v"], ["u"], DT))
    x = X0
    for k in range(41):
        assert record.time[k] == pytest.approx(k * DT, abs=1e-12)
        assert [record["x"][k], record["v"][k]] == pytest.approx(x, abs=1e-12)
        assert record["u"][k] == pytest.approx((-K @ x)[0], abs=1e-12)
        x = F @ x - G @ K @ x
    assert record.units["u"] == "N"
    assert record["a"] == pytest.approx(-2 * record["x"] - 0.3 * record["v"] + 1.5 * record["u"], abs=1e-12)


def test_a_discrete_plant_makes_the_same_run() -> None:
    law = gain_law(K, ["x", "v"], ["u"], DT)
    a, b = run(law), run(law, plant=PLANT.to_discrete(DT))
    assert np.abs(a.data - b.data).max() < 1e-12


@pytest.mark.spec("000-73")
def test_the_discrete_lqg_law_follows_its_block_matrix() -> None:
    """[z; ẑ]₊ = [[A, BF], [KC, A - KC + BF]] [z; ẑ] with F = -K and the predictor gain L, also with feedthrough."""
    L = np.array([[0.4, 0.05], [0.1, 0.2]])
    law = predictor_law(F, G, C, D, L, K, DT, [0.8, 0.0], (["u"], ["y", "a"]))
    record = run(law)
    block = np.block([[F, -G @ K], [L @ C, F - L @ C - G @ K]])
    both = np.concatenate((X0, [0.8, 0.0]))
    for k in range(41):
        assert [record["x"][k], record["v"][k]] == pytest.approx(both[:2], abs=1e-12)
        assert record["u"][k] == pytest.approx((-K @ both[2:])[0], abs=1e-12)
        both = block @ both
        assert [record["lqg.z1"][k], record["lqg.z2"][k]] == pytest.approx(both[2:], abs=1e-12)


def test_an_observer_stands_between_sensors_and_law() -> None:
    M = np.array([[0.3, 0.02], [0.2, 0.1]])
    observer_step = luenberger(F, G, C, D, M, DT, [0.0, 0.0], (["u"], ["y", "a"], ["x", "v"]))
    record = run(gain_law(K, ["x", "v"], ["u"], DT), observer=observer_step)
    x, estimate, u = X0, np.zeros(2), np.zeros(1)
    for k in range(41):
        if k:
            x, estimate = F @ x + G @ u, F @ estimate + G @ u
        y = C @ x + D @ u  # the last command acts while the sensors are read
        estimate = estimate + M @ (y - C @ estimate - D @ u)
        u = -K @ estimate
        assert [record["x"][k], record["v"][k]] == pytest.approx(x, abs=1e-12)
        assert [record["estimate.x"][k], record["estimate.v"][k]] == pytest.approx(estimate, abs=1e-12)
        assert [record["measured.y"][k], record["measured.a"][k]] == pytest.approx(y, abs=1e-12)
        assert record["u"][k] == pytest.approx(u[0], abs=1e-12)


@pytest.mark.spec("000-82")
@pytest.mark.parametrize(
    "actuator",
    [
        ActuatorLimits(limits=(-0.4, 0.6)),
        ActuatorLimits(resolution=0.05),
        ActuatorLimits(rate=2.0),
        ActuatorLimits(delay=DT),
        ActuatorLimits(delay=3 * DT),
        ActuatorLimits(delay=0.3 * DT),
        ActuatorLimits(delay=2.7 * DT),
        ActuatorLimits(limits=0.5, rate=3.0, resolution=0.01, delay=1.25 * DT),
    ],
    ids=["limits", "resolution", "rate", "one sample", "three", "fraction", "2.7 samples", "all"],
)
def test_a_command_passes_its_actuator(actuator: ActuatorLimits) -> None:
    record = run(gain_law(K, ["x", "v"], ["u"], DT), actuators={"u": actuator})
    whole = int(np.floor(actuator.delay / DT + 1e-9))
    rest = actuator.delay - whole * DT if actuator.delay - whole * DT > 1e-12 else 0.0
    sent = [0.0] * (whole + 3)  # newest first
    x = X0
    for k in range(41):
        assert [record["x"][k], record["v"][k]] == pytest.approx(x, abs=1e-12)
        u = float((-K @ x)[0])
        u = sent[0] + min(max(u - sent[0], -actuator.rate * DT), actuator.rate * DT)
        u = min(max(u, actuator.limits[0]), actuator.limits[1])
        u = quantised(u, actuator.resolution) if actuator.resolution else u
        sent = [u, *sent]
        assert record["command.u"][k] == pytest.approx(u, abs=1e-12)
        assert record["u"][k] == pytest.approx(sent[whole + (rest > 0)], abs=1e-12)
        if rest:
            first, last = held(rest), held(DT - rest)
            x = first[0] @ x + first[1][:, 0] * sent[whole + 1]
            x = last[0] @ x + last[1][:, 0] * sent[whole]
        else:
            x = F @ x + G[:, 0] * sent[whole]


@pytest.mark.spec("000-82")
@pytest.mark.parametrize(
    "sensor",
    [
        SensorFaults(deviation=0.1),
        SensorFaults(deviation=0.1, resolution=0.05, bias=0.02),
        SensorFaults(limits=(-0.2, 0.5)),
        SensorFaults(delay=2 * DT),
        SensorFaults(delay=0.4 * DT, deviation=0.01),
        SensorFaults(delay=1.4 * DT),
        SensorFaults(dt=3 * DT, deviation=0.1),
    ],
    ids=["noise", "quantised", "limits", "two samples", "fraction", "1.4 samples", "slow"],
)
def test_a_reading_passes_its_sensor(sensor: SensorFaults) -> None:
    noise = Noise(sensors={"y": sensor}, seed=5)
    record = run(gain_law([[1.1]], ["y"], ["u"], DT), noise=noise)
    errors = noise.draws("y", 41)
    x, u = X0, np.zeros(1)
    history: list[tuple[Any, Any]] = []  # (state, input) at every sample
    read = 0.0
    for k in range(41):
        past = k - sensor.delay / DT
        i = int(np.floor(past + 1e-9))
        if i < 0:
            value = X0[0]
        elif i == k:
            value = x[0]
        else:
            state, push = history[i]
            step = held((past - i) * DT)
            value = (step[0] @ state + step[1] @ push)[0]
        value += sensor.bias + errors[k] * (sensor.deviation > 0)
        value = min(max(value, sensor.limits[0]), sensor.limits[1])
        value = quantised(value, sensor.resolution) if sensor.resolution else value
        if sensor.dt is None or k % 3 == 0:
            read = value
        assert record["measured.y"][k] == pytest.approx(read, abs=1e-11)
        assert record["x"][k] == pytest.approx(x[0], abs=1e-11)
        u = np.array([-1.1 * read])
        history.append((x, u))
        x = F @ x + G @ u


@pytest.mark.spec("000-82")
def test_process_noise_is_added_to_states_and_held_on_inputs() -> None:
    noise = Noise(process={"x": 0.01, "v": 0.03, "u": 0.2}, sensors={"y": 0.05}, seed=3)
    record = run(gain_law([[1.1]], ["y"], ["u"], DT), noise=noise)
    shakes = np.column_stack([noise.draws(name, 40) for name in ("x", "v")])
    jitter, errors = noise.draws("u", 41), noise.draws("y", 41)
    x = X0
    for k in range(41):
        if k:
            x = x + shakes[k - 1]
        u = -1.1 * (x[0] + errors[k])
        assert [record["x"][k], record["v"][k]] == pytest.approx(x, abs=1e-12)
        assert record["command.u"][k] == pytest.approx(u, abs=1e-12)
        assert record["u"][k] == pytest.approx(u + jitter[k], abs=1e-12)  # what the plant gets
        x = F @ x + G[:, 0] * (u + jitter[k])
    assert record.provenance["seed"] == 3


def noisy(seed: int | None) -> Any:
    return Noise(process={"x": 0.01, "u": 0.1}, sensors={"y": SensorFaults(deviation=0.1, resolution=0.01)}, seed=seed)


def test_a_seed_makes_the_same_record_whatever_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    law = gain_law([[1.1]], ["y"], ["u"], DT)
    a, other = run(law, 700 * DT, noise=noisy(1)), run(law, 700 * DT, noise=noisy(2))
    assert np.array_equal(a.data, run(law, 700 * DT, noise=noisy(1)).data)
    assert np.abs(a["y"] - other["y"]).max() > 0.1
    monkeypatch.setattr(sampled_run, "Chunks", partial(sample_graph.Chunks, largest_block=500))
    assert np.array_equal(a.data, run(law, 700 * DT, noise=noisy(1)).data)
    first = run(law, 10 * DT, noise=noisy(None))
    again = run(law, 10 * DT, noise=noisy(first.provenance["seed"]))
    assert np.array_equal(first.data, again.data)


def test_a_channel_keeps_its_noise_when_others_are_added() -> None:
    few, many = Noise(sensors={"y": 0.1}, seed=1), Noise(sensors={"a": 0.2, "y": 0.1}, process={"x": 1.0}, seed=1)
    assert np.array_equal(few.draws("y", 9), many.draws("y", 9))
    assert np.array_equal(few.draws("y", 9)[:4], few.draws("y", 4))


def test_noise_has_the_deviation_it_was_given() -> None:
    draws = Noise(sensors={"y": 0.1}, seed=0).draws("y", 40_000)
    assert draws.std() == pytest.approx(0.1, rel=3 / np.sqrt(2 * 40_000))  # three standard errors
    assert abs(draws.mean()) < 3 * 0.1 / np.sqrt(40_000)


def test_a_reference_is_followed_with_integral_action() -> None:
    law = integral_law(DT)
    record = run(law, 20.0, references={"y": lambda t: da.where(t < 10, 1.0, 2.0)}, start=None)
    assert record["reference.y"][-1] == 2.0
    x, m = np.zeros(2), 0.0
    for k in range(401):
        r = 1.0 if record.time[k] < 10 else 2.0
        u = 1.0 * (r - x[0]) + 0.2 * m
        assert record["y"][k] == pytest.approx(x[0], abs=1e-10)
        m += DT * (r - x[0])
        assert record["pi.integral"][k] == pytest.approx(m, abs=1e-10)
        x = F @ x + G[:, 0] * u
    assert record.units["pi.integral"] == "m s"


def test_a_law_may_act_more_seldom_than_the_observer() -> None:
    M = np.array([[0.3, 0.02], [0.2, 0.1]])
    observer_step = luenberger(F, G, C, D, M, DT, [0.0, 0.0], (["u"], ["y", "a"], ["x", "v"]))
    record = run(gain_law(K, ["x", "v"], ["u"], 3 * DT), observer=observer_step)
    x, estimate, u = X0, np.zeros(2), np.zeros(1)
    for k in range(41):
        if k:
            x, estimate = F @ x + G @ u, F @ estimate + G @ u
        estimate = estimate + M @ (C @ (x - estimate))
        if k % 3 == 0:
            u = -K @ estimate
        assert [record["x"][k], record["estimate.v"][k], record["u"][k]] == pytest.approx(
            [x[0], estimate[1], u[0]], abs=1e-12
        )


def test_an_observer_may_act_more_seldom_than_the_law() -> None:
    F2, G2 = held(2 * DT)
    M = np.array([[0.3, 0.02], [0.2, 0.1]])
    observer_step = luenberger(F2, G2, C, D, M, 2 * DT, [0.0, 0.0], (["u"], ["y", "a"], ["x", "v"]))
    record = run(gain_law(K, ["x", "v"], ["u"], DT), observer=observer_step)
    x, estimate, u, known = X0, np.zeros(2), np.zeros(1), np.zeros(1)
    for k in range(41):
        if k:
            x = F @ x + G @ u
        if k % 2 == 0:
            estimate = F2 @ estimate + G2 @ known if k else estimate
            estimate = estimate + M @ (C @ (x - estimate))
        u = -K @ estimate  # held while the estimate is
        known = u
        assert [record["x"][k], record["estimate.v"][k]] == pytest.approx([x[0], estimate[1]], abs=1e-12)


@pytest.mark.spec("000-82")
def test_a_law_is_switched_on_at_a_time_and_an_input_given_until_then() -> None:
    law = gain_law(K, ["x", "v"], ["u"], DT)
    record = run(law, switch_on=1.0, inputs={"u": lambda t: da.sin(t)})
    x = X0
    for k in range(41):
        u = float((-K @ x)[0]) if k * DT >= 1.0 - 1e-9 else np.sin(k * DT)
        assert [record["x"][k], record["u"][k]] == pytest.approx([x[0], u], abs=1e-12)
        x = F @ x + G[:, 0] * u


def test_a_law_that_cannot_know_it_is_off_waits_at_its_start() -> None:
    record = run(integral_law(DT), 2.0, switch_on=1.0, references={"y": 1.0})
    assert np.all(record["pi.integral"][:20] == 0)
    assert record["pi.integral"][20] == pytest.approx(DT * (1.0 - record["y"][20]), abs=1e-14)


def test_a_predictor_watches_from_the_start_with_the_input_that_acts() -> None:
    """A law that reads its own input receives what acts: nothing, before it is switched on."""
    import casadi as ca

    L = np.array([[0.4], [0.1]])
    y, z, r, p, t = ca.SX.sym("y", 2), ca.SX.sym("z", 2), ca.SX.sym("r", 0), ca.SX.sym("p", 0), ca.SX.sym("t")
    after = F @ z + G * y[1] + L * (y[0] - z[0])
    law = Law(
        "lqg", ("y", "u"), ("u",), ca.Function("lqg", [y, z, r, p, t], [-K @ z, after]), DT,
        state=Channels(["x", "v"], ["m", "m/s"]), start=(0.0, 0.0), direct=False,
    )  # fmt: skip
    record = run(law, switch_on=1.0)
    x, estimate = X0, np.zeros(2)
    for k in range(41):
        u = float((-K @ estimate)[0]) if k >= 20 else 0.0
        assert [record["x"][k], record["u"][k]] == pytest.approx([x[0], u], abs=1e-12)
        estimate = F @ estimate + G[:, 0] * u + L[:, 0] * (x[0] - estimate[0])
        x = F @ x + G[:, 0] * u
        assert record["lqg.x"][k] == pytest.approx(estimate[0], abs=1e-12)


def test_between_samples_the_record_is_exact() -> None:
    times = np.array([0.0, 0.02, 0.05, 0.113, 0.2])
    record = run(gain_law(K, ["x", "v"], ["u"], DT), 0.2, every=times)
    x = X0
    x1 = F @ x - G @ K @ x
    step = held(0.013)
    x2 = F @ x1 - G @ K @ x1
    expected = step[0] @ x2 - step[1] @ K @ x2
    assert record["x"][3] == pytest.approx(expected[0], abs=1e-12)
    assert record["u"][3] == pytest.approx((-K @ x2)[0], abs=1e-12)


def test_two_laws_drive_two_inputs() -> None:
    plant = da.StateSpace(-np.eye(2), np.eye(2), states=["a", "b"], inputs=["ua", "ub"])
    laws = [gain_law([[2.0]], ["a"], ["ua"], 0.1, name="first"), gain_law([[3.0]], ["b"], ["ub"], 0.2, name="second")]
    record = run(laws, 1.0, plant=plant, start={"a": 1.0, "b": 1.0})
    e = np.exp(-0.1)
    assert record["a"][1] == pytest.approx(e - 2 * (1 - e), abs=1e-12)
    assert record["ub"][1] == record["ub"][0] == -3.0


def test_noise_alone_needs_no_law() -> None:
    noise = Noise(process={"x": 0.1}, seed=1, every=DT)
    record = run(None, noise=noise)
    x = X0
    for k, w in enumerate(noise.draws("x", 40)):
        assert record["x"][k] == pytest.approx(x[0], abs=1e-12)
        x = F @ x + [w, 0.0]


def test_a_diverging_loop_is_reported_and_its_record_kept() -> None:
    with raises(da.errors.ConvergenceError, "diverged") as caught:
        run(gain_law(-80 * K, ["x", "v"], ["u"], DT), 1000.0)
    record = caught.value.record
    assert record is not None and 5 < len(record) < 400
    assert np.isfinite(record.data).all()
    assert record.status.startswith("failed at t = ")
