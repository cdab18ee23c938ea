"""Exact Coulomb friction against closed forms: cone, stopping, decay of an oscillator, stick-slip on a belt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da

G = 9.81
SLOPE, MU = 0.3, 0.4  # tan 0.3 = 0.309: inside the cone
MASS, STIFFNESS = 2.0, 50.0
METHODS = [
    da.DormandPrince(), da.RK4(step=5e-3), da.Rosenbrock(), da.GeneralizedAlpha(step=5e-3),
    da.GeneralizedAlpha(step=5e-3, index=2), da.Sundials(), da.Sundials(solver="idas"),
]  # fmt: skip


def block(mu: Any, slope: float = SLOPE, **friction: Any) -> da.Mechanism:
    m = da.Mechanism("slope", planar=True)
    body = m.add_body("block", mass=MASS, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(np.cos(slope), np.sin(slope)))
    m.add_friction("dry", "rail", coulomb=mu, **friction)
    m.add_actuator("push", joint="rail", input="push")
    return m


@pytest.fixture(scope="module")
def slope() -> da.EquationsOfMotion:
    m = block(0.0)
    m.forces.clear()
    m.add_friction("dry", "rail", coulomb=m.parameter("mu", MU))
    m.add_actuator("push", joint="rail", input="push")
    return da.equations(m)


@pytest.fixture(scope="module")
def oscillator() -> da.EquationsOfMotion:
    m = block(MU, 0.0)
    m.add_spring("spring", joint="rail", stiffness=STIFFNESS)
    return da.equations(m)


def test_a_block_inside_the_cone_stays_for_a_hundred_seconds(slope: Any) -> None:
    run = da.simulate(slope, 100.0)
    assert np.abs(run["rail.displacement"]).max() < 1e-12
    assert run["dry.sliding"] == pytest.approx(0.0)
    assert run["dry.effort"] == pytest.approx(MASS * G * np.sin(SLOPE), rel=1e-12)


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_the_cone_is_where_the_block_begins_to_slide(slope: Any, share: float) -> None:
    mu = np.tan(SLOPE) / share
    run = da.simulate(slope.replace(mu=mu), 2.0)
    expected = -max(0.5 * G * (np.sin(SLOPE) - mu * np.cos(SLOPE)) * 2.0**2, 0.0)
    assert run["rail.displacement"][-1] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_sliding_block_stops_where_and_when_it_must_and_stays(slope: Any, method: Any) -> None:
    deceleration = G * (np.sin(SLOPE) + MU * np.cos(SLOPE))
    run = da.simulate(slope, 1.0, start=da.assemble(slope, velocity={"rail": 3.0}), method=method, every=0.05)
    loose = 20 * method.rtol if isinstance(method, da.Sundials) else 0.0  # tolerance of the run; others are exact here
    assert run["rail.displacement"][-1] == pytest.approx(9.0 / (2 * deceleration), abs=1e-13 + loose)
    first, last = run.statistics["friction"]
    assert (first["now"], last["now"]) == ("slides forward", "sticks")
    assert last["time"] == pytest.approx(3.0 / deceleration, abs=1e-11 + loose)  # ṡ = -1e-12 m/s counts as zero
    after = run.time > last["time"]
    assert np.ptp(run["rail.displacement"][after]) < 1e-13
    assert np.abs(run["energy.balance"]).max() < 1e-11 + 10 * loose  # friction's work is booked


@pytest.mark.parametrize("method", [None, da.Rosenbrock(rtol=1e-10, atol=1e-10)], ids=repr)
def test_an_oscillator_loses_four_dead_bands_per_cycle_and_stops_inside_one(oscillator: Any, method: Any) -> None:
    band, half = MU * MASS * G / STIFFNESS, np.pi / np.sqrt(STIFFNESS / MASS)
    run = da.simulate(oscillator, 10.0, start=da.assemble(oscillator, {"rail": 1.2}), method=method)
    place, count = 1.2, 0
    while abs(place) > band:
        place, count = -np.sign(place) * (abs(place) - 2 * band), count + 1
    changes = run.statistics["friction"]
    assert [c["time"] for c in changes] == pytest.approx(half * np.arange(count + 1), abs=1e-9)
    assert changes[-1]["now"] == "sticks"
    assert run["rail.displacement"][-1] == pytest.approx(place, abs=1e-9)
    lost = 0.5 * STIFFNESS * (1.2**2 - place**2)
    assert run["energy"][0] - run["energy"][-1] == pytest.approx(lost, abs=1e-7)
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_a_slow_load_is_seen_while_nothing_moves(oscillator: Any) -> None:
    """The step grows while a coordinate sticks; the event must still be found when the load reaches the limit."""
    run = da.simulate(oscillator, 60.0, inputs={"push": lambda t: 0.2 * t})
    assert [c["now"] for c in run.statistics["friction"]][:2] == ["sticks", "slides forward"]
    assert run.statistics["friction"][1]["time"] == pytest.approx(MU * MASS * G / 0.2, abs=1e-9)
    swinging = da.simulate(oscillator, 60.0, inputs={"push": lambda t: 7.8 * da.sin(3 * t)})  # limit 7.848 N
    assert np.abs(swinging["rail.displacement"]).max() < 1e-12


@pytest.mark.slow
def test_a_mass_on_a_belt_sticks_and_slips_with_the_period_of_the_closed_form() -> None:
    """Stick: (μₛ - μ) N / k to be gained twice at belt speed; slip: part of a harmonic motion about μ N / k."""
    speed, k, static, mu = 0.2, 40.0, 0.4, 0.2
    m = da.Mechanism("belt", planar=True)
    belt, body = m.add_body("belt", mass=1.0, inertia=0.1), m.add_body("block", mass=MASS, inertia=0.1)
    m.add_prismatic("track", m.ground.at(0, 0), belt.at(0, 0), axis=(1, 0))
    m.add_prismatic("rub", belt.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_driver("drive", "track", lambda t: speed * t)
    m.add_spring("spring", m.ground.at(-10, 0), body.at(0, 0), stiffness=k, free_length=10.0)
    m.add_friction("dry", "rub", coulomb=mu, static=static)
    eqs = da.equations(m)
    run = da.simulate(eqs, 6.0, start=da.assemble(eqs, velocity={"track": speed, "rub": 0.0}))
    load, omega = MASS * G, np.sqrt(k / MASS)
    gain = (static - mu) * load / k
    slip = 2 * (np.pi - np.arctan(omega * gain / speed)) / omega
    times = np.array([c["time"] for c in run.statistics["friction"]])
    assert times[1] == pytest.approx(static * load / k / speed, abs=1e-9)
    assert np.diff(times)[1:] == pytest.approx(np.resize([slip, 2 * gain / speed], len(times) - 2), abs=1e-8)
    assert len(times) > 6
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_a_hinge_with_a_radius_stops_at_the_exact_angle() -> None:
    """A balanced flywheel: torque μ r m g; ω²  I / (2 μ r m g) turned until it stands."""
    m = da.Mechanism("flywheel", planar=True)
    wheel = m.add_body("wheel", mass=MASS, inertia=0.05)
    m.add_revolute("hub", m.ground.at(0, 0), wheel.at(0, 0))
    m.add_friction("bearing", "hub", coulomb=0.1, radius=0.02)
    eqs = da.equations(m)
    run = da.simulate(eqs, 20.0, start=da.assemble(eqs, velocity={"hub": -10.0}))
    torque = 0.1 * 0.02 * MASS * G
    assert run["hub.angle"][-1] == pytest.approx(-(10.0**2) * 0.05 / (2 * torque), abs=1e-9)
    assert run.statistics["friction"][-1]["time"] == pytest.approx(10 * 0.05 / torque, abs=1e-9)
    assert run["hub.rate"][-1] == pytest.approx(0.0, abs=1e-15)
