"""Joints in motion, against closed forms: screw, Cardan joint, trammel, cam, rolling bodies.

Runs hold 1e-9 per step (the default tolerance): over a few hundred steps errors stay below 1e-8, which is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.checks import balance, free_body

RUN = 1e-8


def test_falling_nut_turns_with_its_lead_over_many_turns() -> None:
    """(m + J (2π/lead)²) z̈ = -m g; the angle is 2π z / lead."""
    m = da.Mechanism("nut")
    nut = m.add_body("nut", mass=2.0, inertia=(0.01, 0.01, 0.002))
    m.add_screw("S", m.ground.at(0, 0, 0), nut.at(0, 0, 0), lead=0.5, axis=(0, 0, 1))
    run = da.simulate(da.equations(m), 3.0, every=0.02)
    turn = 2 * np.pi / 0.5
    exact = -0.5 * 2.0 * 9.81 / (2.0 + 0.002 * turn**2) * run.time**2
    assert np.abs(run["nut.z"] - exact).max() < 10 * RUN  # z reaches 40 m: 1e-9 relative per step
    assert np.abs(run["S.angle"] - turn * exact).max() < 100 * RUN
    assert abs(run["S.angle"][-1]) > 50 * 2 * np.pi
    assert np.abs(run["S.displacement"] - run["nut.z"]).max() < 1e-12
    assert balance(run) < RUN


def test_cardan_joint_turns_the_second_shaft_at_the_known_ratio() -> None:
    """ω₂/ω₁ = cos β/(1 - sin²β sin²φ), with the fork of the first shaft square to the plane of the bend at φ = 0."""
    beta = 0.5
    out = np.array([np.cos(beta), np.sin(beta), 0.0])
    m = da.Mechanism("cardan", gravity=0)
    first = m.add_body("first", mass=1.0, inertia=0.1, position=(-0.5, 0, 0))
    half = beta / 2
    second = m.add_body(
        "second", mass=1.0, inertia=0.1, position=tuple(0.5 * out), rotation=(np.cos(half), 0, 0, np.sin(half))
    )
    m.add_revolute("in", m.ground, first, at=(-0.5, 0, 0), axis=(1, 0, 0), x=(0, 0, 1))
    m.add_universal("U", first, second, at=(0, 0, 0), axis=(0, 0, 1), second_axis=(-np.sin(beta), np.cos(beta), 0))
    m.add_cylindrical("out", m.ground, second, at=tuple(0.5 * out), axis=tuple(out))
    m.add_driver("drive", "in", lambda t: 2 * t)
    eqs = da.equations(m)
    run = da.simulate(eqs, 5.0, every=0.01)
    phi = 2 * run.time
    ratio = np.cos(beta) / (1 - np.sin(beta) ** 2 * np.sin(phi) ** 2)
    measured = run["out.rate"] / 2
    assert np.abs(measured - ratio).max() < RUN


def test_trammel_draws_an_ellipse() -> None:
    """Two pins in crossed slots, 1 m apart; a point 0.3 m beyond the first draws x²/1.3² + y²/0.3² = 1."""
    m = da.Mechanism("trammel", planar=True, gravity=0)
    bar = m.add_body("bar", mass=1.0, inertia=da.rod(1.0), position=(0.3, 0.4))
    m.add_pin_in_slot("X", m.ground.at(0, 0), bar.at(0.5, 0), axis=(1, 0))
    m.add_pin_in_slot("Y", m.ground.at(0, 0), bar.at(-0.5, 0), axis=(0, 1))
    m.add_sensor("pen", da.position(bar.at(0.8, 0)))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"bar.angle": 0.3}, velocity={"bar.angle": 3.0})
    run = da.simulate(eqs, 5.0, start=start, every=0.02)
    x, y = run["pen"].T
    assert np.abs((x / 1.3) ** 2 + (y / 0.3) ** 2 - 1).max() < 1e-10
    # centre of mass on a circle of 0.5 m: (m/4 + 1/12) ω² is constant, so the bar turns evenly
    assert np.abs(run["bar.angle"] - 0.3 - 3 * run.time).max() < RUN


@pytest.mark.parametrize("hub", [(0.0, 0.0), (0.07, -0.05)], ids=["at the centre of mass", "away from it"])
def test_cam_lifts_its_follower_by_the_curve(hub: tuple[float, float]) -> None:
    """Eccentric circle (e = 0.1, R = 0.4) under a follower on the axis: s = e cos θ + sqrt(R² - e² sin² θ)."""
    m = da.Mechanism("cam", planar=True)
    cam = m.add_body("cam", mass=1.0, inertia=0.05, position=(-hub[0], -hub[1]))
    rod = m.add_body("follower", mass=0.3, inertia=0.01, position=(0.0, 0.5))
    m.add_revolute("A", m.ground.at(0, 0), cam.at(*hub))
    m.add_prismatic("P", m.ground.at(0, 0), rod.at(0, 0), axis=(0, 1))

    def circle(s: Any) -> Any:
        return (0.4 * da.cos(s), 0.1 + 0.4 * da.sin(s))

    m.add_point_on_curve("contact", cam.at(*hub), rod.at(0, 0), curve=circle, start=np.pi / 2)
    m.add_driver("drive", "A", lambda t: 5 * t)
    run = da.simulate(da.equations(m), 4.0, every=0.01)
    theta = 5 * run.time
    exact = 0.1 * np.cos(theta) + np.sqrt(0.4**2 - (0.1 * np.sin(theta)) ** 2)
    assert np.abs(run["P.displacement"] - exact).max() < RUN
    assert run["contact.parameter"][-1] < -9  # goes round backwards in the cam's own axes
    # all motion is prescribed, so work is what the multipliers make it: 1e-8 N m (regularised solve) at 5 rad/s for 4 s
    assert balance(run) < 2e-7


def test_pin_on_a_curve_is_a_bead_on_a_wire() -> None:
    """A circle as a curve, with the parameter as coordinate: the pendulum of the reference problems (P1)."""
    m = da.Mechanism("bead")
    bead = free_body(m, "bead", mass=1.0)

    def circle(s: Any) -> Any:
        return (da.cos(s), 0 * s, da.sin(s))

    m.add_point_on_curve("wire", m.ground, bead.at(0, 0, 0), curve=circle, start=np.pi)
    eqs = da.equations(m)
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, {"wire.parameter": np.pi}))
    assert run["bead"][-1] == pytest.approx([0.986291751132, 0, -0.165010853126], abs=RUN)
    assert run["wire.force.x"][0] == pytest.approx(0.0, abs=1e-9)
    assert balance(run) < RUN


def test_rod_of_a_falling_dumbbell_carries_the_centrifugal_force() -> None:
    """Two free points 1 m apart turning at ω: the rod pulls each with m ω²/2, the middle falls freely."""
    m = da.Mechanism("dumbbell")
    a = free_body(m, "a", mass=1.0, position=(-0.5, 0, 0))
    b = free_body(m, "b", mass=1.0, position=(0.5, 0, 0))
    m.add_massless_rod("R", a.at(0, 0, 0), b.at(0, 0, 0), length=1.0)
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"a.y": -1.5, "b.y": 1.5})
    run = da.simulate(eqs, 2.0, start=start)
    assert np.abs((run["a.z"] + run["b.z"]) / 2 + 0.5 * 9.81 * run.time**2).max() < RUN
    pull = np.column_stack([run[f"R.force.{k}"] for k in "xyz"])
    assert np.abs(np.linalg.norm(pull, axis=1) - 0.5 * 9.0).max() < RUN
    assert np.abs(np.linalg.norm(run["b"] - run["a"], axis=1) - 1.0).max() < 1e-12


def test_planar_wheel_rolls_down_a_slope() -> None:
    """Solid disc on a slope of 20 degrees: a = (2/3) g sin 20°."""
    slope = np.radians(-20)
    m = da.Mechanism("wheel", planar=True)
    wheel = m.add_body("wheel", mass=3.0, inertia=da.cylinder(0.4), position=(0.0, 0.5))
    m.add_rolling_wheel("W", m.ground, wheel, radius=0.4, axis=(np.cos(slope), np.sin(slope)))
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0)
    way = np.hypot(run["wheel.x"] - run["wheel.x"][0], run["wheel.y"] - run["wheel.y"][0])
    assert np.abs(way - 0.5 * (2 / 3) * 9.81 * np.sin(-slope) * run.time**2).max() < RUN
    assert np.abs(run["wheel.angle"] - run["wheel.angle"][0] + way / 0.4).max() < RUN
    assert balance(run) < RUN


@pytest.mark.parametrize("inside", [False, True])
def test_disc_rolls_about_a_fixed_disc(inside: bool) -> None:
    """Rolling angle ω r = ±(R ± r) φ̇; small swing inside a ring: φ̈ = -(2/3) g/(R - r) sin φ."""
    R, r = 1.0, 0.25
    reach = R - r if inside else R + r
    m = da.Mechanism("discs", planar=True, gravity=None if inside else 0)
    ring = m.add_body("ring", mass=1.0, inertia=1.0, position=(0, 0))
    m.add_fixed("base", m.ground.at(0, 0), ring.at(0, 0))
    disc = m.add_body("disc", mass=2.0, inertia=da.cylinder(r), position=(0.1, -reach))
    m.add_rolling_discs("roll", ring, disc, radius=R, second_radius=r, inside=inside)
    eqs = da.equations(m)
    phi0 = 0.3
    wanted = {"disc.x": reach * np.sin(phi0), "disc.y": -reach * np.cos(phi0)}
    start = da.assemble(eqs, wanted, velocity={} if inside else {"disc.angle": 8.0})
    run = da.simulate(eqs, 3.0, start=start)
    phi = np.arctan2(run["disc.x"], -run["disc.y"])
    turned = run["disc.angle"] - run["disc.angle"][0]
    if inside:
        from scipy.integrate import solve_ivp

        w2 = 2 / 3 * 9.81 / reach
        swing = solve_ivp(
            lambda t, y: (y[1], -w2 * np.sin(y[0])), (0, 3), (phi0, 0), rtol=1e-11, atol=1e-12, t_eval=run.time
        )
        assert np.abs(phi - swing.y[0]).max() < 10 * RUN
        assert np.abs(turned * r + (phi - phi0) * reach).max() < RUN
    else:
        assert np.abs(run["disc.rate"] - 8.0).max() < RUN
        assert np.abs(np.unwrap(phi) - phi0 - 8.0 * r / reach * run.time).max() < RUN
    assert balance(run) < RUN


def test_gear_train_of_two_stages_reflects_inertias_by_the_squares_of_the_ratios() -> None:
    m = da.Mechanism("train", gravity=0)
    inertias = (0.5, 0.2, 0.1)
    for k, inertia in enumerate(inertias):
        shaft = m.add_body(f"shaft{k}", mass=1.0, inertia=inertia)
        m.add_revolute(f"B{k}", m.ground.at(k, 0, 0), shaft.at(0, 0, 0), axis=(0, 0, 1))
    m.add_gear("first", "B0", "B1", ratio=-3.0)
    m.add_gear("second", "B1", "B2", ratio=-2.0)
    m.add_actuator("motor", joint="B0", effort=2.0)
    run = da.simulate(da.equations(m), 3.0)
    exact = 0.5 * 2.0 / (0.5 + 9 * 0.2 + 36 * 0.1) * run.time**2
    assert np.abs(run["B0.angle"] - exact).max() < RUN
    assert np.abs(run["B2.angle"] - 6 * exact).max() < RUN
    assert balance(run) < RUN


# --- a slider on a turning arm: its displacement s along the arm has s̈ = e · r̈ + ω² s ---------------------------


def arm_with_slider() -> da.Mechanism:
    m = da.Mechanism("arm", planar=True, gravity=0)
    arm, block = m.add_body("arm", mass=1.0, inertia=0.1), m.add_body("block", mass=2.0, inertia=0.1, position=(0.3, 0))
    m.add_revolute("pivot", m.ground.at(0, 0), arm.at(0, 0))
    m.add_prismatic("rail", arm.at(0, 0), block.at(0, 0), axis=(1, 0))
    return m


@pytest.mark.parametrize("how", ["two drivers", "rail from pivot", "pivot from rail"])
def test_a_slider_on_a_turning_arm_moves_along_a_spiral(how: str) -> None:
    """s = 0.3 + θ/2 with θ = t + t²: ẍ of x = s cos θ by hand."""
    m = arm_with_slider()
    if how == "pivot from rail":
        m.add_gear("gear", "rail", "pivot", ratio=2.0, offset=-0.6)
    elif how == "rail from pivot":
        m.add_rack_and_pinion("gear", "pivot", "rail", radius=0.5, offset=0.3)
    if how != "rail from pivot":
        m.add_driver("push", "rail", lambda t: 0.3 + 0.5 * (t + t**2))
    if how != "pivot from rail":
        m.add_driver("turn", "pivot", lambda t: t + t**2)
    run = da.kinematics(da.equations(m), np.linspace(0, 1, 6))
    theta, rate = run.time + run.time**2, 1 + 2 * run.time
    s = 0.3 + theta / 2
    along, across = 1.0 - s * rate**2, s * 2.0 + rate**2  # s̈ - s θ̇², s θ̈ + 2 ṡ θ̇
    assert run["block.x"] == pytest.approx(s * np.cos(theta), abs=1e-12)
    assert run["block.ax"] == pytest.approx(along * np.cos(theta) - across * np.sin(theta), abs=1e-11)
    assert run["block.ay"] == pytest.approx(along * np.sin(theta) + across * np.cos(theta), abs=1e-11)


def test_a_rotor_geared_to_a_slider_on_a_turning_arm_adds_its_inertia() -> None:
    """(m + n² J) s̈ = m ω² s."""
    m = arm_with_slider()
    m.add_driver("turn", "pivot", lambda t: 3.0 * t)
    motor = da.DCMotor(torque_constant=0.05, resistance=0.4, gear_ratio=50.0, rotor_inertia=1e-3)
    m.add_actuator("motor", "rail", input="voltage", model=motor)
    eqs = da.equations(m)
    found = da.forward_dynamics(eqs, da.assemble(eqs, velocity={"rail": 0.0}))
    assert found["rail.speed"] == pytest.approx(2.0 * 3.0**2 * 0.3 / (2.0 + 50.0**2 * 1e-3), rel=1e-12)


def test_the_speed_along_a_turning_arm_is_a_state_and_an_output_of_the_linear_model() -> None:
    """About ω and s₀: δs̈ = (ω² - k/m) δs + 2 ω s₀ δω; the outputs are the states themselves."""
    m = arm_with_slider()
    m.add_spring("spring", joint="rail", stiffness=50.0, free=0.2)
    eqs = da.equations(m)
    steady = da.equilibrium(eqs, rates={"pivot": 3.0})
    model = da.linearize(eqs, steady, outputs=["rail.displacement", "rail.speed", "pivot.rate"]).state_space()
    assert model.states == ("pivot.angle", "rail.displacement", "pivot.angle.rate", "rail.displacement.rate")
    place = 50.0 * 0.2 / (50.0 - 2.0 * 3.0**2)
    assert model.A[3] == pytest.approx([0.0, 3.0**2 - 50.0 / 2.0, 2 * 3.0 * place, 0.0], abs=1e-9)
    assert pytest.approx(np.eye(4)[[1, 3, 2]], abs=1e-12) == model.C
