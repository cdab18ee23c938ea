"""Fitted machines against closed forms, other starts, and their own scatter over repeated noise."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.identify import IdentificationWarning, fit
from tests.helpers.findings import found_in, warns


def oscillator(mass: float = 2.0, k: float = 50.0, c: float = 0.4) -> da.EquationsOfMotion:
    m = da.Mechanism("oscillator", planar=True, gravity=(0, 0))
    slider = m.add_body("slider", mass=m.parameter("mass", mass))
    m.add_prismatic("X", m.ground.at(0, 0), slider.at(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="X", stiffness=m.parameter("k", k), damping=m.parameter("c", c))
    m.add_force("push", slider.at(0, 0), (1, 0), input="force")
    m.add_sensor("x", da.displacement("X"))
    return da.equations(m)


def free_decay(t: np.ndarray, mass: float, k: float, c: float, x0: float, v0: float) -> np.ndarray:
    """x(t) of m x″ + c x′ + k x = 0."""
    decay, omega = c / (2 * mass), np.sqrt(k / mass - (c / (2 * mass)) ** 2)
    return np.asarray(np.exp(-decay * t) * (x0 * np.cos(omega * t) + (v0 + decay * x0) / omega * np.sin(omega * t)))


def test_a_free_decay_in_closed_form_gives_stiffness_and_damping_back() -> None:
    t = np.arange(0.0, 6.0, 0.02)
    record = da.Record.from_channels(t, {"x": free_decay(t, 2.0, 50.0, 0.4, 0.3, -0.5)}, {"x": "m"})
    result = fit(oscillator(k=65.0, c=0.1), record, ["k", "c"], substeps=4)
    # Runge-Kutta 4 at ωh = 5 · 0.005: period off by (ωh)⁴/120 = 3e-9, decay by (ωh)⁶/144 per step
    assert result["k"] == pytest.approx(50.0, rel=1e-7)
    assert result["c"] == pytest.approx(0.4, rel=1e-6)
    assert result.start[0]["X"] == pytest.approx(0.3, abs=1e-7)


def test_deviations_of_a_free_decay_are_those_of_the_closed_form() -> None:
    """Information from the closed form's own derivatives, start state unknown too."""
    t, sigma = np.arange(0.0, 6.0, 0.02), 2e-3
    truth = np.array([50.0, 0.4, 0.3, -0.5])

    def x(values: np.ndarray) -> np.ndarray:
        return free_decay(t, 2.0, *values)

    columns = []
    for k in range(4):
        h = 1e-5 * abs(truth[k])
        step = h * np.eye(4)[k]
        columns.append((x(truth + step) - x(truth - step)) / (2 * h))
    J = np.array(columns).T
    expected = sigma * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))[:2]
    noise = np.random.default_rng(4).normal(size=len(t))
    record = da.Record.from_channels(t, {"x": x(truth) + sigma * noise})
    result = fit(oscillator(k=60.0, c=0.2), record, ["k", "c"], weights={"x": 1 / sigma})
    # the estimate stands some deviations (0.1 %, 1 %) away from the truth at which the closed form was differentiated
    np.testing.assert_allclose(result.deviations, expected, rtol=0.02)
    assert np.abs((result.values - truth[:2]) / result.deviations).max() < 3.5


def test_a_free_decay_knows_mass_stiffness_and_damping_only_by_their_ratios() -> None:
    t = np.arange(0.0, 4.0, 0.02)
    record = da.Record.from_channels(t, {"x": free_decay(t, 2.0, 50.0, 0.4, 0.3, 0.0)})
    with warns(IdentificationWarning, "undetermined-parameters") as caught:
        result = fit(oscillator(mass=1.5, k=45.0, c=0.3), record, ["mass", "k", "c"])
    (one,) = found_in(caught, "undetermined-parameters")
    assert one.where["parameters"] == ("mass", "k", "c")
    # equal relative changes leave the ratios: the largest difference that the judgement takes for equal
    assert np.ptp(one.evidence["direction"]) < 0.08
    assert result["k"] / result["mass"] == pytest.approx(25.0, rel=1e-4)
    assert result["c"] / result["mass"] == pytest.approx(0.2, rel=1e-3)


def test_a_measured_force_distinguishes_mass_stiffness_and_damping() -> None:
    truth = oscillator(2.0, 50.0, 0.4)
    t = np.arange(0.0, 6.0, 0.02)
    force = 3.0 * np.sin(4 * t) + 2.0 * np.sin(9 * t + 1)
    drive = da.Record.from_channels(t, {"force": force}, {"force": "N"})
    run = da.simulate(truth, t[-1], inputs=drive, every=0.02)
    noise = 1e-3 * np.random.default_rng(1).normal(size=len(run))
    record = da.Record.from_channels(run.time, {"force": run["force"], "x": run["x"] + noise}, {"force": "N", "x": "m"})
    result = fit(oscillator(1.4, 60.0, 0.0), record, ["mass", "k", "c"])
    assert result.undetermined == ()
    assert np.abs((result.values - [2.0, 50.0, 0.4]) / result.deviations).max() < 3.5
    assert result.deviations[0] < 0.01 * 2.0
    assert result.residuals().is_white()


def pendulum(length: float) -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.01)
    m.add_revolute("A", m.ground.at(0, 0), bob.at(0, m.parameter("length", length)))
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


@pytest.mark.parametrize("first", [1.3, pytest.param(0.7, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_many_periods_are_fitted_from_a_length_that_is_a_third_wrong_where_one_long_shot_fails(first: float) -> None:
    truth = pendulum(1.0)
    run = da.simulate(truth, 40.0, start=da.assemble(truth, {"A.angle": 1.2}), every=0.08)
    noise = 0.01 * np.random.default_rng(0).normal(size=len(run))
    record = da.Record.from_channels(run.time, {"encoder": run["encoder"] + noise}, {"encoder": "rad"})
    result = fit(pendulum(first), record, ["length"])
    assert abs(result["length"] - 1.0) < 4 * result.deviation("length")
    assert result.noise[0] == pytest.approx(0.01, rel=0.15)
    with warns(IdentificationWarning, "poor-fit", "'encoder'"):
        single = fit(pendulum(first), record, ["length"], shooting=1)
    assert abs(single["length"] - 1.0) > 50 * result.deviation(
        "length"
    )  # a wrong minimum: whole periods lost or gained
    assert single.fit["encoder"] < 50.0 < result.fit["encoder"]


def crank_rocker(mass: float, friction: float) -> da.EquationsOfMotion:
    """The crank-rocker of the project's benchmarks: 0.2, 0.6, 0.5 and 0.7 m."""
    m = da.Mechanism("crank-rocker", planar=True)
    coupler_mass = m.parameter("coupler.mass", mass)
    crank = m.add_body("crank", mass=0.2, inertia=0.2 * 0.2**2 / 12)
    coupler = m.add_body("coupler", mass=coupler_mass, inertia=coupler_mass * 0.6**2 / 12)
    rocker = m.add_body("rocker", mass=0.5, inertia=0.5 * 0.5**2 / 12)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.25, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-0.25, 0))
    m.add_friction("bearing", "D", viscous=m.parameter("friction", friction))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


@pytest.mark.slow
def test_a_crank_rocker_gives_coupler_mass_and_friction_from_a_noisy_encoder_and_the_torque() -> None:
    truth = crank_rocker(0.6, 0.2)
    t = np.arange(0.0, 1.5, 0.012)
    torque = 0.6 + 0.5 * np.sin(3 * t) + 0.3 * np.sin(7.7 * t)
    drive = da.Record.from_channels(t, {"torque": torque}, {"torque": "N m"})
    start = da.assemble(truth, {"A.angle": 1.0}, velocity={"A.angle": 6.0})
    run = da.simulate(truth, t[-1], start=start, inputs=drive, every=0.012)
    noise = 2e-3 * np.random.default_rng(3).normal(size=len(run))
    record = da.Record.from_channels(run.time, {"torque": run["torque"], "encoder": run["encoder"] + noise},
                                     {"torque": "N m", "encoder": "rad"})  # fmt: skip
    result = fit(crank_rocker(0.85, 0.05), record, ["coupler.mass", "friction"])
    assert result.status == "converged"
    assert np.abs((result.values - [0.6, 0.2]) / result.deviations).max() < 3.5
    assert result.deviations[0] < 0.02 * 0.6 and result.deviations[1] < 0.02 * 0.2
    assert result.noise[0] == pytest.approx(2e-3, rel=0.19)  # three times 1/√(2·125)
    assert result.residuals().is_white()


@pytest.mark.slow
def test_deviations_hold_the_scatter_of_repeated_noise() -> None:
    truth = pendulum(1.0)
    run = da.simulate(truth, 6.0, start=da.assemble(truth, {"A.angle": 1.0}), every=0.05)
    random = np.random.default_rng(7)
    found = []
    for _ in range(40):
        noisy = run["encoder"] + 0.02 * random.normal(size=len(run))
        result = fit(pendulum(1.1), da.Record.from_channels(run.time, {"encoder": noisy}), ["length"])
        found.append((result["length"], result.deviation("length")))
    values, deviations = np.array(found).T
    # a standard deviation from 40 draws is known to 1/√78 = 11 %: three of them
    assert np.std(values) == pytest.approx(float(np.mean(deviations)), rel=0.34)
    assert abs(np.mean(values) - 1.0) < 3 * np.mean(deviations) / np.sqrt(40)
