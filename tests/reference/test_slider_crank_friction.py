"""Spatial slider-crank with Coulomb friction in its guide, inverse dynamics (spec 002-T16)."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

L1, L2, GAMMA, MU = 0.5, np.sqrt(2), np.sqrt(2) / 2, 0.5
CHI0 = 0.693338  # crank angle at t = 0; the drawing, closed by assembly
JUST = 1e-7  # s, to look at both sides of a reversal


def slider(t):
    return -(1 - GAMMA) * L2 * (1 + 8 * da.sin(2 * np.pi * t) ** 2) / 10


def slider_crank() -> da.Mechanism:
    m = da.Mechanism("spatial slider-crank", gravity=0)
    c, s = np.cos(CHI0), np.sin(CHI0)
    pin, end = np.array([0, -L1 * c, -L1 * s]), np.array([L2 + float(slider(0.0)), -L1, 0])
    along = (end - pin) / np.linalg.norm(end - pin)
    side = np.cross([0, 0, 1], along) / np.linalg.norm(np.cross([0, 0, 1], along))
    turn = np.column_stack((along, side, np.cross(along, side)))
    # only the crank's inertia about its axis and the rod's transverse inertia are given; nothing else matters
    crank = m.add_body(
        "crank", mass=0.0, inertia=(0.2, 0.1, 0.1), position=(0, 0, 0), rotation=[[1, 0, 0], [0, c, -s], [0, s, c]]
    )
    rod = m.add_body("rod", mass=0.5, inertia=(0.0, 0.1, 0.1), position=pin + GAMMA * L2 * along, rotation=turn)
    block = m.add_body("slider", mass=2.0, inertia=0.0, position=end)
    m.add_revolute("K", m.ground.at(0, 0, 0), crank.at(0, 0, 0), axis=(1, 0, 0))
    m.add_spherical("B", crank.at(0, -L1, 0), rod.at(-GAMMA * L2, 0, 0))
    m.add_spherical("C", rod.at((1 - GAMMA) * L2, 0, 0), block.at(0, 0, 0))
    m.add_prismatic("guide", m.ground.at(L2, -L1, 0), block.at(0, 0, 0), axis=(1, 0, 0))
    m.add_constraint("no spin", lambda state: state["rod.wx"], level="velocity")
    # fast beside 1e-9 m/s except within 1e-9 s of a reversal: sign(ṡ) to 1e-12 and better at every time tested
    m.add_friction("dry", "guide", coulomb=MU, speed=1e-12)
    m.add_actuator("motor", "K", input="u1")
    return m


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(slider_crank())


# t: torque, normal forces y and z of the guide, computed independently with sign() friction and rounded to 1e-5
VALUES = {
    0.05: (27.44449, -5.80370, 17.38870),
    0.10: (6.93901, -8.00520, 12.92572),
    0.20: (-24.31863, 24.93702, -12.14816),
    0.30: (-32.43321, 63.34938, -28.37733),
    0.45: (25.09193, -3.44144, 12.68357),
}


@pytest.mark.spec("002-T16", "002-G5")
def test_torque_and_normal_forces_at_five_times(eqs):
    run = da.inverse_dynamics(eqs, {"guide": slider}, times=[0.0, *VALUES])
    for k, expected in enumerate(VALUES.values(), 1):
        found = [run[name][k] for name in ("u1", "guide.force.y", "guide.force.z")]
        assert found == pytest.approx(expected, abs=5.1e-6)  # half a unit of the last digit
    assert run["residual.force"].max() < 1e-11


@pytest.mark.spec("002-T16", "002-G5")
def test_the_torque_jumps_when_the_slider_reverses(eqs):
    times = [0.01, 0.25 - JUST, 0.25 + JUST, 0.5 - JUST, 0.5 + JUST]
    run = da.inverse_dynamics(eqs, {"guide": slider}, times=times)
    # rounded to 1e-3; within 1e-7 s of the jump the curves move by less than 1e-4
    assert run["u1"][1:] == pytest.approx([-49.285, -58.418, 56.693, 57.811], abs=6e-4)
    assert run["guide.force.y"][1:3] == pytest.approx([33.685, 93.788], abs=6e-4)
    assert run["guide.force.z"][1:3] == pytest.approx([-15.482, -33.749], abs=6e-4)


@pytest.mark.spec("002-T16")
def test_the_crank_turns_as_computed(eqs):
    run = da.kinematics(eqs, np.linspace(0, 0.5, 501), motion={"guide": slider})
    t, chi, w = run.time, run["K.angle"], run["K.rate"]
    assert (chi.min(), chi.max()) == pytest.approx((0.693338, 2.551489), abs=5e-7)
    assert (w.max(), w.min()) == pytest.approx((10.15158, -10.15158), abs=1e-5)
    assert (t[w.argmax()], t[w.argmin()]) == pytest.approx((0.111, 0.389), abs=1e-3)
    assert run["residual.velocity"].max() < 1e-12


@pytest.mark.spec("002-T16")
def test_power_of_torque_and_friction_changes_the_kinetic_energy(eqs):
    times = np.linspace(0.01, 0.24, 461)
    run = da.inverse_dynamics(eqs, {"guide": slider}, times=times)
    friction = -MU * np.sign(run["guide.speed"]) * np.hypot(run["guide.force.y"], run["guide.force.z"])
    power = run["u1"] * run["K.rate"] + friction * run["guide.speed"]
    v = np.stack([run[f"{b}.{n}"] for b, n in (("rod", "vx"), ("rod", "vy"), ("rod", "vz"), ("slider", "vx"))])
    a = np.stack([run[f"{b}.{n}"] for b, n in (("rod", "ax"), ("rod", "ay"), ("rod", "az"), ("slider", "ax"))])
    change = np.array([0.5, 0.5, 0.5, 2.0]) @ (v * a) + 0.2 * run["K.rate"] * run["K.acceleration"]
    change += 0.1 * (run["rod.wy"] * run["rod.alphay"] + run["rod.wz"] * run["rod.alphaz"])
    assert power == pytest.approx(change, abs=1e-8)
    assert np.abs(run["energy.balance"]).max() < 1e-6 * run["energy"].max()  # work by a spline of the power


def test_without_the_spin_row_the_idle_spin_of_the_rod_is_held_and_named(eqs):
    m = slider_crank()
    m.constraints.clear()
    times = [0.0, *VALUES]
    run = da.inverse_dynamics(da.equations(m), {"guide": slider}, times=times)
    (spin,) = run.statistics["idle"]
    assert str(spin).startswith("rod")
    held = da.inverse_dynamics(eqs, {"guide": slider}, times=times)
    for name in ("u1", "guide.force.y", "guide.force.z"):
        assert run[name] == pytest.approx(held[name], abs=1e-9 * 100)  # the largest is some 60 N
