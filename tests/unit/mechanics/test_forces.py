"""Every force law against a closed form; action equals reaction; the energy balance closes.

Tolerances: runs hold 1e-9 per step, so smooth runs are asked for 1e-8. Where a law has a kink (contact, stops,
friction) the step that meets it is rejected until it is short enough, and the same tolerance holds unless said.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.expressions import table
from tests.helpers.checks import balance, free_body
from tests.helpers.findings import warns

RUN = 1e-8


def slider(*, mass: float = 2.0, gravity: Any = 0) -> tuple[Any, Any]:
    """A block on a line along x."""
    m = da.Mechanism("slider", planar=True, gravity=gravity)
    block = m.add_body("block", mass=mass, inertia=0.1)
    m.add_prismatic("P", m.ground.at(0, 0), block.at(0, 0), axis=(1, 0))
    return m, block


def wheel(*, inertia: float = 0.3, planar: bool = True) -> tuple[Any, Any]:
    m = da.Mechanism("wheel", planar=planar, gravity=0)
    disc = m.add_body("disc", mass=1.0, inertia=inertia)
    zero = (0, 0) if planar else (0, 0, 0)
    m.add_revolute("A", m.ground.at(zero), disc.at(zero))
    return m, disc


def two_free(planar: bool) -> tuple[Any, Any, Any, Any]:
    """Two free bodies with speeds; total momenta of a run follow from `momenta`."""
    m = da.Mechanism("free pair", planar=planar, gravity=0)
    if planar:
        a = m.add_body("a", mass=1.3, inertia=0.3, position=(0, 0))
        b = m.add_body("b", mass=0.7, inertia=0.2, position=(0.9, 0.2), angle=0.4)
    else:
        a = free_body(m, "a", position=(0, 0, 0))
        b = free_body(m, "b", mass=0.7, position=(0.9, 0.2, -0.1), rotation=(0.9, 0.2, -0.1, 0.1))
    return m, a, b, None


def momenta(run: da.Record, planar: bool) -> tuple[Any, Any]:
    """Linear and angular momentum (about the origin) of the pair, one row per sample."""
    if planar:
        p = 1.3 * np.column_stack((run["a.vx"], run["a.vy"])) + 0.7 * np.column_stack((run["b.vx"], run["b.vy"]))
        h = 0.3 * run["a.rate"] + 0.2 * run["b.rate"]
        for name, mass in (("a", 1.3), ("b", 0.7)):
            h = h + mass * (run[f"{name}.x"] * run[f"{name}.vy"] - run[f"{name}.y"] * run[f"{name}.vx"])
        return p, h
    from dalembert.mechanics.rotations import rotation

    inertia = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])
    p, h = 0.0, 0.0
    for name, mass in (("a", 1.3), ("b", 0.7)):
        r = np.column_stack([run[f"{name}.{k}"] for k in "xyz"])
        v = np.column_stack([run[f"{name}.v{k}"] for k in "xyz"])
        w = np.column_stack([run[f"{name}.w{k}"] for k in "xyz"])
        e = np.column_stack([run[f"{name}.e{k}"] for k in range(4)])
        spin = np.array([np.array(rotation(ek)) @ inertia @ wk for ek, wk in zip(e, w, strict=True)])
        p, h = p + mass * v, h + mass * np.cross(r, v) + spin
    return p, h


# --- springs and dampers -------------------------------------------------------------------------------------------


def test_spring_oscillates_about_its_free_length_with_preload() -> None:
    """m ẍ = -(preload + k (x - l₀)): ω = sqrt(k/m) about l₀ - preload/k."""
    m, block = slider()
    m.add_spring("spring", m.ground.at(0, 0), block.at(0, 0), stiffness=50.0, free_length=1.0, preload=5.0)
    m.add_sensor("tension", da.spring_force("spring"))
    eqs = da.equations(m)
    run = da.simulate(eqs, 4.0, start=da.assemble(eqs, {"P": 1.2}))
    exact = 0.9 + 0.3 * np.cos(5 * run.time)
    assert np.abs(run["P.displacement"] - exact).max() < RUN
    assert np.abs(run["tension"] - (5.0 + 50 * (exact - 1.0))).max() < 50 * RUN
    assert np.abs(run["energy"] - run["energy"][0]).max() < RUN


def test_spring_and_damper_give_the_damped_oscillation() -> None:
    m, block = slider(mass=1.0)
    m.add_spring("spring", m.ground.at(-5, 0), block.at(0, 0), stiffness=26.0, damping=1.0, free_length=5.0)
    m.add_damper("dashpot", joint="P", damping=1.0)
    eqs = da.equations(m)
    run = da.simulate(eqs, 4.0, start=da.assemble(eqs, {"P": 0.5}))
    t = run.time
    exact = 0.5 * np.exp(-t) * (np.cos(5 * t) + np.sin(5 * t) / 5)
    assert np.abs(run["P.displacement"] - exact).max() < RUN
    assert balance(run) < RUN


@pytest.mark.parametrize("planar", [True, False])
def test_rotational_spring_acts_about_the_hinge(planar: bool) -> None:
    m, _ = wheel(planar=planar)
    m.add_spring("torsion", joint="A", stiffness=7.5, free=0.2)
    m.add_sensor("torque", da.spring_force("torsion"))
    eqs = da.equations(m)
    run = da.simulate(eqs, 3.0, start=da.assemble(eqs, {"A": 1.0}))
    exact = 0.2 + 0.8 * np.cos(5 * run.time)
    assert np.abs(run["A.angle"] - exact).max() < RUN
    assert np.abs(run["torque"] - 7.5 * (exact - 0.2)).max() < 10 * RUN
    assert balance(run) < RUN


def test_nonlinear_law_is_the_duffing_oscillator() -> None:
    """ẍ = -x - x³ from x = 1: amplitude kept, first integral ½ẋ² + ½x² + ¼x⁴."""
    m, block = slider(mass=1.0)
    m.add_spring("law", joint="P", law=lambda x, v: x + x**3)
    eqs = da.equations(m)
    run = da.simulate(eqs, 10.0, start=da.assemble(eqs, {"P": 1.0}))
    x, v = run["P.displacement"], run["P.speed"]
    assert np.abs(v**2 / 2 + x**2 / 2 + x**4 / 4 - 0.75).max() < RUN
    assert balance(run) < RUN
    assert block.name == "block"


def test_law_may_use_the_speed_and_a_parameter() -> None:
    m, block = slider(mass=1.0)
    drag = m.parameter("drag", 0.5)
    m.add_spring("quadratic", m.ground.at(-9, 0), block.at(0, 0), law=lambda x, v: drag * v * da.math.sqrt(v * v))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"P": 0.0}, velocity={"P": 4.0})
    for value in (0.5, 0.9):
        run = da.simulate(eqs.replace(drag=value), 3.0, start=start)
        assert np.abs(run["P.speed"] - 4 / (1 + value * 4 * run.time)).max() < RUN


def test_table_is_linear_between_its_points_and_beyond_them() -> None:
    """Stiffness 10 below an extension of 0.1 and 100 above: frequency and amplitude follow from the energy."""
    m, _ = slider(mass=1.0)
    m.add_spring("table", joint="P", law=table([-1.0, 0.1, 1.0], [-10.0, 1.0, 91.0]))
    m.add_sensor("force", da.spring_force("table"))
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, {"P": 0.2}))
    x = run["P.displacement"]
    assert np.abs(run["force"] - np.where(x < 0.1, 10 * x, 1 + 100 * (x - 0.1))).max() < 1e-12
    # ½·10·0.1² + 0.1 + ½·100·0.1² = 0.65 J  =  ½·10·x²
    assert np.abs(x.min() + np.sqrt(0.65 / 5)) < 1e-4  # sampled every 2 ms at 3 rad/s
    assert balance(run) < RUN


def test_spring_whose_ends_meet_is_harmless() -> None:
    m, block = slider(mass=1.0)
    m.add_spring("spring", m.ground.at(0, 0), block.at(0, 0), stiffness=25.0)
    eqs = da.equations(m)
    start = da.assemble(eqs, {"P": 0.0}, velocity={"P": 1.0})
    run = da.simulate(eqs, 2.0, start=start)
    assert np.abs(run["P.displacement"] - np.sin(5 * run.time) / 5).max() < RUN


# --- action and reaction -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("kind", ["spring", "damper", "bushing", "law", "contact"])
def test_inner_forces_keep_momentum_and_angular_momentum(kind: str, planar: bool) -> None:
    m, a, b, _ = two_free(planar)
    pa, pb = ((0.1, -0.2), (-0.3, 0.15)) if planar else ((0.1, -0.2, 0.3), (-0.3, 0.15, 0.2))
    if kind == "spring":
        m.add_spring("F", a.at(pa), b.at(pb), stiffness=20.0, free_length=0.4, preload=1.0)
    elif kind == "damper":
        m.add_damper("F", a.at(pa), b.at(pb), damping=2.0)
    elif kind == "law":
        m.add_spring("F", a.at(pa), b.at(pb), law=lambda x, v: 3 * x**3 + v**3)
    elif kind == "contact":
        m.add_contact("F", a.at(pa), b.at(pb), radius=0.6, stiffness=30.0, damping=0.1, friction=0.3, speed=0.05)
    else:
        m.add_bushing(
            "F", a.at(pa), b.at(pb), stiffness=20.0, damping=1.0, rotational_stiffness=2.0, rotational_damping=0.3
        )
    eqs = da.equations(m)
    random = np.random.default_rng(3)
    start = eqs.state(v=0.5 * random.normal(size=eqs.nv))
    run = da.simulate(eqs, 3.0, start=start, every=0.05, method=da.DormandPrince(rtol=1e-11, atol=1e-11))
    for momentum in momenta(run, planar):
        assert np.abs(momentum - momentum[0]).max() < RUN
    assert np.ptp(run["a.vx"]) > 1e-3  # something did act
    assert balance(run) < RUN


@pytest.mark.parametrize("planar", [True, False])
def test_effort_along_a_joint_between_free_bodies_keeps_both_momenta(planar: bool) -> None:
    m, a, b, _ = two_free(planar)
    pa, pb = ((0.5, 0.1), (-0.5, 0.1)) if planar else ((0.5, 0.1, 0.0), (-0.5, 0.1, 0.2))
    m.add_revolute("J", a.at(pa), b.at(pb))
    m.add_actuator("motor", joint="J", effort=0.7)
    m.add_spring("torsion", joint="J", stiffness=3.0, damping=0.2)
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"a.x": 0.3, "J": 1.0})
    run = da.simulate(eqs, 2.0, start=start, every=0.05, method=da.DormandPrince(rtol=1e-11, atol=1e-11))
    for momentum in momenta(run, planar):
        assert np.abs(momentum - momentum[0]).max() < RUN
    assert balance(run) < RUN


def test_bushing_is_a_spring_in_every_direction() -> None:
    """One body on a bushing at its centre of mass: six uncoupled oscillators for small motion."""
    m = da.Mechanism("bushing", gravity=0)
    b = m.add_body("b", mass=2.0, inertia=(0.2, 0.3, 0.4))
    m.add_bushing("F", m.ground, b, stiffness=(2, 8, 18), rotational_stiffness=(0.2, 1.2, 3.6))
    eqs = da.equations(m)
    small = 1e-5
    run = da.simulate(eqs, 3.0, start=eqs.state(v=small * np.ones(6)), every=0.1)
    rates = {"x": 1.0, "y": 2.0, "z": 3.0}
    for k, w in rates.items():
        assert np.abs(run[f"b.{k}"] - small * np.sin(w * run.time) / w).max() < 1e-9
    for k, (e, w) in enumerate(zip(("e1", "e2", "e3"), (1.0, 2.0, 3.0), strict=True)):
        # products of two small angles are left out of the exact solution: 1e-10
        assert np.abs(run[f"b.{e}"] - 0.5 * small * np.sin(w * run.time) / w).max() < 1e-9, k


# --- forces and torques --------------------------------------------------------------------------------------------


def test_force_in_world_and_body_axes() -> None:
    for axes, expected in (("world", (1.0, 0.0)), ("body", (0.0, 1.0))):
        m = da.Mechanism("push", planar=True, gravity=0)
        b = m.add_body("b", mass=2.0, inertia=0.1, position=(0, 0), angle=np.pi / 2)
        m.add_force("F", b.at(0, 0), (2.0, 0.0), axes=axes)
        run = da.simulate(da.equations(m), 1.0)
        assert run["b"][-1] == pytest.approx(np.array(expected) / 2, abs=RUN)
        assert balance(run) < RUN


def test_force_off_the_centre_turns_the_body() -> None:
    m = da.Mechanism("push", gravity=0)
    b = m.add_body("b", mass=2.0, inertia=(1, 1, 0.5))
    m.add_force("F", b.at(0, 0.2, 0), (3.0, 0.0, 0.0), axes="body")
    run = da.simulate(da.equations(m), 0.5)
    assert np.abs(run["b.wz"] + 0.2 * 3.0 / 0.5 * run.time).max() < RUN
    assert balance(run) < RUN


def test_torque_in_world_and_body_axes_on_a_turned_body() -> None:
    turned = (np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0)  # 90 degrees about x: body z is world -y
    for axes, expected in (("world", (0, 0.25, 0)), ("body", (0, 0, 0.2))):
        m = da.Mechanism("turn", gravity=0)
        b = m.add_body("b", mass=1.0, inertia=(1.0, 4.0, 5.0), position=(0, 0, 0), rotation=turned)
        m.add_torque("T", b, (0, 0, 1.0), axes=axes)
        eqs = da.equations(m)
        run = da.simulate(eqs, 1e-3, method=da.RK4(1e-3))
        rate = [run[f"b.w{k}"][-1] / 1e-3 for k in "xyz"]
        assert rate == pytest.approx(expected, abs=1e-6)


def test_force_of_time_and_of_the_state() -> None:
    m, block = slider(mass=1.0)
    m.add_force("wave", block, lambda s: (da.cos(2 * s.t), 0.0))
    m.add_force("spring", block, lambda s: (-s["P"] * 9.0 - 0 * s["block.vx"], 0.0))
    eqs = da.equations(m)
    run = da.simulate(eqs, 3.0)
    exact = (np.cos(2 * run.time) - np.cos(3 * run.time)) / (9 - 4)
    assert np.abs(run["P.displacement"] - exact).max() < RUN
    assert balance(run) < RUN


def test_inputs_scale_forces_and_torques() -> None:
    m, block = slider(mass=1.0)
    m.add_force("push", block, (2.0, 0.0), input="u")
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, inputs={"u": lambda t: da.sin(t)})
    assert np.abs(run["P.speed"] - 2 * (1 - np.cos(run.time))).max() < RUN
    assert np.abs(run["u"] - np.sin(run.time)).max() < 1e-15
    record = da.Record.from_channels(np.linspace(0, 2, 41), {"u": np.linspace(0, 2, 41)})
    run = da.simulate(eqs, 2.0, inputs=record)
    assert np.abs(run["P.speed"] - run.time**2).max() < RUN


# --- friction, stops, contact --------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
def test_block_slides_down_an_incline_with_coulomb_friction(planar: bool) -> None:
    """a = g (sin α - μ cos α), once faster than the regularisation speed (1e-6 m/s, reached in 1e-6 s)."""
    alpha, mu = np.radians(35), 0.3
    m = da.Mechanism("incline", planar=planar)
    block = m.add_body("block", mass=2.0, inertia=0.1)
    if planar:
        m.add_prismatic("P", m.ground.at(0, 0), block.at(0, 0), axis=(np.cos(alpha), -np.sin(alpha)))
    else:
        m.add_prismatic("P", m.ground.at(0, 0, 0), block.at(0, 0, 0), axis=(np.cos(alpha), 0, -np.sin(alpha)))
    m.add_friction("F", "P", coulomb=mu, speed=1e-6)
    eqs = da.equations(m)
    start = da.assemble(eqs, {"P": 0.0}, velocity={"P": 0.1})
    run = da.simulate(eqs, 2.0, start=start)
    a = 9.81 * (np.sin(alpha) - mu * np.cos(alpha))
    # 1 - ṡ/sqrt(ṡ² + 1e-12) < 5e-11 for ṡ > 0.1
    assert np.abs(run["P.displacement"] - 0.1 * run.time - 0.5 * a * run.time**2).max() < RUN
    assert balance(run) < RUN


def test_hinge_with_coulomb_friction_spins_down_evenly() -> None:
    """Balanced disc of weight m g on a bearing of radius r: J ω̇ = -μ r m g; viscous part adds exp(-c t/J)."""
    m = da.Mechanism("bearing", planar=True)
    disc = m.add_body("disc", mass=5.0, inertia=0.2)
    m.add_revolute("A", m.ground.at(0, 0), disc.at(0, 0))
    m.add_friction("F", "A", coulomb=0.1, radius=0.02, speed=1e-5)
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, velocity={"A": 10.0}))
    assert np.abs(run["A.rate"] - 10 + 0.1 * 0.02 * 5.0 * 9.81 / 0.2 * run.time).max() < RUN
    assert balance(run) < RUN


def test_viscous_friction_decays_exponentially_and_preload_adds() -> None:
    m, _ = slider(mass=2.0)
    m.add_friction("viscous", "P", viscous=3.0)
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, velocity={"P": 4.0}))
    assert np.abs(run["P.speed"] - 4 * np.exp(-1.5 * run.time)).max() < RUN
    m, _ = slider(mass=2.0)
    m.add_friction("dry", "P", coulomb=0.5, preload=3.0, speed=1e-6)
    eqs = da.equations(m)
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, velocity={"P": 4.0}))
    assert np.abs(run["P.speed"] - 4 + 0.5 * 3.0 / 2.0 * run.time).max() < RUN


def test_stop_throws_the_block_back_with_its_energy() -> None:
    """Undamped stop: half a period of sqrt(k/m) in the stop, then the same speed backwards."""
    m, _ = slider(mass=1.0)
    m.add_stop("S", "P", lower=-0.5, upper=0.5, stiffness=1e4)
    eqs = da.equations(m)
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, {"P": 0.0}, velocity={"P": 1.0}), every=[0.2, 0.9, 1.0])
    after = 0.5 - (run.time[1:] - 0.5 - np.pi / 100)
    assert run["P.displacement"][1:] == pytest.approx(after, abs=1e-7)  # two kinks, each met within a step's tolerance
    assert run["P.speed"][1:] == pytest.approx(-1.0, abs=1e-7)
    assert balance(run) < 1e-7


def test_damped_stop_takes_energy_and_never_pulls() -> None:
    m, _ = slider(mass=1.0)
    m.add_stop("S", "P", lower=-0.5, stiffness=1e4, damping=50.0)
    eqs = da.equations(m)
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, {"P": 0.0}, velocity={"P": -1.0}))
    speed = run["P.speed"]
    assert 0 < speed[-1] < 0.9
    assert np.all(np.diff(speed) > -1e-12)  # the stop only ever pushes forwards
    assert balance(run) < 1e-7


def test_ball_bounces_to_its_height_without_damping_and_less_with_it() -> None:
    """Drop of 1 m; undamped contact returns the energy, and damping takes it (Hunt-Crossley)."""
    for damping in (0.0, 0.2):
        m = da.Mechanism("ball")
        ball = m.add_body("ball", mass=0.5, inertia=da.sphere(0.1), position=(0, 0, 1.1))
        m.add_contact("floor", m.ground, ball, radius=0.1, stiffness=1e5, damping=damping, exponent=1.5)
        run = da.simulate(da.equations(m), 3.0, every=1e-3)
        free = run["ball.z"] > 0.1
        assert balance(run) < 2e-9 * run.statistics["steps"]  # each misses a speed by rtol = 1e-9 at most
        top = run["energy"][free]
        if damping:
            assert top[-1] < 0.8 * top[0]
            assert np.all(np.diff(top) < 1e-9)
        else:
            assert np.abs(top / top[0] - 1).max() < 1e-7
        assert run["ball.z"].min() > 0.05


def test_sliding_sphere_begins_to_roll_at_five_sevenths_of_its_speed() -> None:
    """Contact with friction: at the end of sliding v = (5/7) v₀ and v = r ω, whatever μ."""
    m = da.Mechanism("billiard")
    ball = m.add_body("ball", mass=0.2, inertia=da.sphere(0.05), position=(0, 0, 0.05 - 0.2 * 9.81 / 1e4))
    m.add_contact("table", m.ground, ball, radius=0.05, stiffness=1e4, friction=0.2, speed=1e-4)
    eqs = da.equations(m)
    start, method = eqs.state(v=[2.0, 0, 0, 0, 0, 0]), da.DormandPrince(order=5)
    with warns(da.errors.SimulationWarning, "stiff-friction", "Rosenbrock"):  # 61 707 steps
        run = da.simulate(eqs, 1.0, start=start, method=method, every=0.01)
    # sliding ends at 2 v₀/(7 μ g) = 0.291 s; afterwards the slip decays at the rate of the regularisation
    assert run["ball.vx"][-1] == pytest.approx(10 / 7, abs=1e-6)
    assert run["ball.wy"][-1] * 0.05 == pytest.approx(10 / 7, abs=1e-4)
    early = run.time < 0.25
    assert np.abs(run["ball.vx"] - 2.0 + 0.2 * 9.81 * run.time)[early].max() < 1e-6
    assert balance(run) < 1e-7


def test_contact_normal_may_point_anywhere() -> None:
    m = da.Mechanism("wall", planar=True, gravity=0)
    ball = m.add_body("ball", mass=1.0, inertia=0.1, position=(0, 0))
    m.add_contact("wall", m.ground.at(1.0, 0), ball, normal=(-1, 0), radius=0.2, stiffness=1e4)
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, start=eqs.state(v=[1.0, 0.5, 0]))
    assert run["ball.vx"][-1] == pytest.approx(-1.0, abs=1e-7)
    assert run["ball.vy"][-1] == pytest.approx(0.5, abs=1e-9)


# --- actuators -----------------------------------------------------------------------------------------------------


def test_ideal_actuator_has_its_gain() -> None:
    m, _ = wheel()
    m.add_actuator("motor", "A", input="u", effort=2.0)
    run = da.simulate(da.equations(m), 1.0, inputs={"u": 0.6})
    assert np.abs(run["A.rate"] - 4.0 * run.time).max() < RUN


def test_lag_follows_its_input() -> None:
    m, _ = wheel(inertia=1.0)
    m.add_actuator("motor", "A", input="u", model=da.FirstOrderLag(time_constant=0.2, gain=3.0))
    run = da.simulate(da.equations(m), 1.0, inputs={"u": 1.0})
    t = run.time
    assert np.abs(run["motor.effort"] - 3 * (1 - np.exp(-t / 0.2))).max() < RUN
    assert np.abs(run["A.rate"] - 3 * (t - 0.2 * (1 - np.exp(-t / 0.2)))).max() < RUN
    assert balance(run) < RUN


@pytest.mark.parametrize("inductance", [0.0, 0.01])
def test_dc_motor_reaches_its_steady_speed_and_current(inductance: float) -> None:
    """k i = b n ω / n …: steady current i = b ω_m/k and speed ω_m = U k/(R b + k²) of the rotor, joint ω_m/n."""
    k, R, b, n = 0.1, 1.0, 1e-3, 5.0
    m, _ = wheel(inertia=0.02)
    model = da.DCMotor(k, R, inductance, gear_ratio=n, rotor_inertia=1e-4, rotor_damping=b)
    m.add_actuator("motor", "A", input="u", model=model)
    eqs = da.equations(m)
    run = da.simulate(eqs, 3.0, inputs={"u": 12.0})
    rotor = 12 * k / (R * b + k * k)
    assert run["A.rate"][-1] == pytest.approx(rotor / n, abs=1e-6)
    assert run["motor.rotor.rate"][-1] == pytest.approx(rotor, abs=1e-5)
    if inductance:
        assert run["motor.current"][-1] == pytest.approx(b * rotor / k, abs=1e-6)
    else:
        # reflected inertia J + n² J_r, damping n² (b + k²/R): one exponential
        J, d = 0.02 + n * n * 1e-4, n * n * (b + k * k / R)
        exact = rotor / n * (1 - np.exp(-d / J * run.time))
        assert np.abs(run["A.rate"] - exact).max() < RUN
    assert balance(run) < RUN


def test_dc_motor_with_inductance_follows_its_linear_equations() -> None:
    from scipy.linalg import expm

    k, R, L, J = 0.2, 2.0, 0.05, 0.3
    m, _ = wheel(inertia=J)
    m.add_actuator("motor", "A", input="u", model=da.DCMotor(k, R, L))
    run = da.simulate(da.equations(m), 2.0, inputs={"u": 5.0}, every=0.5)
    A = np.array([[-R / L, -k / L, 5.0 / L], [k / J, 0, 0], [0, 0, 0]])
    for t, i, w in zip(run.time, run["motor.current"], run["A.rate"], strict=True):
        assert (expm(A * t) @ [0, 0, 1])[:2] == pytest.approx([i, w], abs=RUN)


# --- parameters ----------------------------------------------------------------------------------------------------


def test_replacing_parameters_equals_building_anew() -> None:
    """Length, mass, stiffness, damping and a driver's amplitude as parameters."""

    def build(values: tuple[float, ...], *, symbolic: bool) -> Any:
        m = da.Mechanism("swing", planar=True)
        names = ("length", "mass", "stiffness", "damping", "amplitude")
        given = [m.parameter(n, v) if symbolic else v for n, v in zip(names, values, strict=True)]
        length, mass, stiffness, damping, amplitude = given
        cart = m.add_body("cart", mass=1.0, inertia=0.1)
        rod = m.add_body("rod", mass=mass, inertia=da.rod(length))
        m.add_prismatic("P", m.ground.at(0, 0), cart.at(0, 0), axis=(1, 0))
        m.add_revolute("A", cart.at(0, 0), rod.at(-length / 2, 0))
        m.add_spring(
            "K", m.ground.at(0, 1), rod.at(length / 2, 0), stiffness=stiffness, damping=damping, free_length=length
        )
        m.add_driver("shake", "P", lambda t: amplitude * da.sin(3 * t))
        m.add_sensor("push", da.expression(lambda s: amplitude * s["P.speed"]))
        return da.equations(m)

    nominal, other = (0.8, 1.0, 20.0, 0.5, 0.1), (1.1, 1.7, 35.0, 0.2, 0.3)
    eqs = build(nominal, symbolic=True)
    names = ("length", "mass", "stiffness", "damping", "amplitude")
    changed = eqs.replace(**dict(zip(names, other, strict=True)))
    assert changed.parameter_values == other
    for one, two in ((eqs, build(nominal, symbolic=False)), (changed, build(other, symbolic=False))):
        runs = [da.simulate(e, 1.0, start=da.assemble(e, {"A": -1.0}), every=0.1) for e in (one, two)]
        for name in ("rod.x", "A.angle", "P.force.y", "push", "energy"):
            assert np.abs(runs[0][name] - runs[1][name]).max() < RUN, name


@pytest.mark.parametrize("planar", [True, False])
def test_the_damping_of_a_bushing_does_not_feel_bodies_that_turn_together(planar):
    """Two bodies turned as one by a bushing between points far from both centres: nothing is dissipated."""
    size = 2 if planar else 3
    m = da.Mechanism("pair", planar=planar, gravity=0)
    places = [np.array([0.2, 0.1, 0.3][:size]), np.array([1.1, -0.4, 0.2][:size])]
    a, b = (m.add_body(n, mass=1.0, inertia=0.1 if planar else (0.1, 0.2, 0.3), position=tuple(x))
            for n, x in zip("ab", places, strict=True))  # fmt: skip
    middle = np.array([0.5, 0.9, -0.4][:size])
    m.add_bushing("mount", a.at(*(middle - places[0])), b.at(*(middle - places[1])), damping=5.0,
                  rotational_damping=2.0)  # fmt: skip
    eqs = da.equations(m)
    spin = np.array([0.0, 0.0, 1.7]) if planar else np.array([0.6, -1.1, 1.7])
    v = []
    for x in places:
        v += [*np.cross(spin, np.append(x, 0.0) if planar else x)[:size], *(spin[2:] if planar else spin)]
    state = eqs.state(eqs.placement.q, v)
    (power,) = np.ravel(eqs.kernel("power")(state.q, state.v, [], [], eqs.p, 0.0, [])[0])
    assert power == pytest.approx(0.0, abs=1e-12)
    apart = eqs.state(eqs.placement.q, np.array(v) * np.repeat([1.0, 0.0], eqs.nv // 2))
    (power,) = np.ravel(eqs.kernel("power")(apart.q, apart.v, [], [], eqs.p, 0.0, [])[0])
    arm = np.append(middle, 0.0) if planar else middle
    slip = np.cross(spin, arm)  # of the point of a at the bushing
    turning = spin[2:] @ spin[2:] if planar else spin @ spin
    assert power == pytest.approx(-5.0 * slip @ slip - 2.0 * turning, rel=1e-12)


def test_a_planar_bushing_is_at_rest_where_its_frames_are_aligned() -> None:
    """Frames turned by 0.5 and 0.2: no torque at an angle of 0.3 of the body, k_r times the rest elsewhere."""
    m = da.Mechanism("bushing", planar=True, gravity=0)
    b = m.add_body("b", mass=1.0, inertia=0.5, position=(0, 0), angle=0.3)
    m.add_bushing(
        "F", m.ground.frame(0, 0, angle=0.5), b.frame(0, 0, angle=0.2), stiffness=(1, 1), rotational_stiffness=4.0
    )
    eqs = da.equations(m)
    for angle in (0.3, 0.7):
        found = da.forward_dynamics(eqs, da.assemble(eqs, {"b.angle": angle}))
        assert found["b.rate"] == pytest.approx(-4.0 * (angle - 0.3) / 0.5, abs=1e-12)


def test_friction_of_a_contact_acts_along_the_plane_while_the_ball_comes_down() -> None:
    found = []
    for friction in (0.0, 0.5):
        m = da.Mechanism("impact", planar=True, gravity=0)
        ball = m.add_body("ball", mass=2.0, inertia=0.1, position=(0, 0.09))
        m.add_contact("floor", m.ground, ball, radius=0.1, stiffness=1e4, friction=friction, speed=1e-3)
        eqs = da.equations(m)
        found.append(da.forward_dynamics(eqs, eqs.state(v=[0.3, -0.4, 0.0])))
    smooth, rough = found
    assert rough["ball.vy"] == pytest.approx(smooth["ball.vy"], rel=1e-12)
    assert rough["ball.vx"] == pytest.approx(-0.5 * 100.0 / 2.0 * 0.3 / np.hypot(0.3, 1e-3), rel=1e-9)
