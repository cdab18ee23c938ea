"""Equations with constraints eliminated, and nonlinear equations in modal coordinates of a linear model.

Tolerance ROUNDING: accelerations of two formulations agree to rounding times the condition of the rows. Runs: RK4 at
h = 2 ms of motions at ω = 7 rad/s errs by about (ω h)⁴ ω t / 120 = 5e-9 in 2 s; RUN leaves a factor 20.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.linear.second_order import OperatingPoint
from tests.helpers.crank_rocker import four_bar
from tests.helpers.findings import raises

METHOD, RUN = da.RK4(2e-3), 1e-7
ROUNDING = 1e-10


def crank_rocker():
    m = da.Mechanism("crank-rocker", planar=True)
    crank = m.add_body("crank", mass=0.2, inertia=da.rod(0.2))
    coupler = m.add_body("coupler", mass=0.6, inertia=da.rod(0.6))
    rocker = m.add_body("rocker", mass=0.5, inertia=da.rod(0.5))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.25, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-0.25, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("load", da.reaction("D"))
    return m


def same_motion(eqs, reduced, full_state):
    """Accelerations of both formulations at one state, by name."""
    speeds = {name: full_state[name] for name in reduced.speeds.names}
    places = {name: full_state[name] for name in reduced.measures.names if name in reduced.coordinates.index}
    state = da.assemble(reduced, places, velocity=speeds)
    one, other = (da.forward_dynamics(e, s) for e, s in ((eqs, full_state), (reduced, state)))
    checked = list(eqs.measure_rates.names)
    size = max(1.0, max(abs(one[name]) for name in checked))
    for name in checked:
        assert other[name] == pytest.approx(one[name], abs=ROUNDING * size), name


@pytest.mark.spec("003-C40")
def test_a_crank_eliminated_to_one_coordinate_turns_as_the_whole_machine_and_carries_its_reactions():
    eqs = da.equations(crank_rocker())
    start = da.assemble(eqs, {"A.angle": 0.5}, velocity={"A.angle": 30.0}, guess={"B.angle": 0.5})
    reduced = da.equations(eqs, coordinates="A.angle", at=start)
    assert reduced.speeds.names == ("A.rate",) and not reduced.rows
    begin = da.assemble(reduced, velocity={"A.angle": 30.0})
    given = {"inputs": {"torque": lambda t: 0.1 * da.sin(9 * t)}, "method": da.RK4(1e-3), "every": 0.05}
    one, other = (da.simulate(e, 0.6, start=s, **given) for e, s in ((eqs, start), (reduced, begin)))
    assert one["A.angle"][-1] > 4 * np.pi  # two turns: the pose carried along, not reached from the first
    for name in ("A.angle", "D.angle", "coupler.x", "coupler.vy", "energy", "load.force.x", "load.force.y"):
        # Runge-Kutta 4 at 1 ms of a rate of 30 to 50 rad/s: some (0.05)^5 a step, 600 steps
        assert other[name] == pytest.approx(one[name], abs=3e-6 * (1 + np.abs(one[name]).max())), name
    assert not any(name.endswith(".seed") for name in other.names)


@pytest.mark.spec("003-C40")
def test_a_moving_driver_internal_states_and_space_are_eliminated_as_well():
    m = da.Mechanism("arm", gravity=(0, 0, -9.81))
    post = m.add_body("post", mass=2.0, inertia=(0.2, 0.3, 0.4), position=(0, 0, 0.5))
    arm = m.add_body("arm", mass=1.0, inertia=(0.02, 0.1, 0.1), position=(0.4, 0, 1.0))
    tip = m.add_body("tip", mass=0.5, inertia=(0.01, 0.05, 0.05), position=(1.0, 0, 1.0))
    m.add_revolute("yaw", m.ground, post, at=(0, 0, 0), axis=(0, 0, 1))
    m.add_revolute("lift", post, arm, at=(0, 0, 1.0), axis=(0, 1, 0))
    m.add_universal("wrist", arm, tip, at=(0.8, 0, 1.0), axis=(0, 1, 0), second_axis=(0, 0, 1))
    m.add_driver("turntable", "yaw", lambda t: 0.3 + 0.5 * t + da.sin(2 * t))
    motor = da.DCMotor(torque_constant=0.05, resistance=0.4, inductance=1e-3, gear_ratio=30.0, rotor_inertia=1e-5)
    m.add_actuator("motor", "lift", input="voltage", model=motor)
    eqs = da.equations(m)
    state = da.assemble(eqs, {"lift.angle": 0.4, "wrist.angle1": 0.3, "wrist.angle2": -0.2}, t=0.7,
                        velocity={"lift.angle": 1.1, "wrist.angle1": -0.7, "wrist.angle2": 0.4})  # fmt: skip
    reduced = da.equations(eqs, at=da.assemble(eqs, {"lift.angle": 0.2}, t=0.7), path=4)
    assert len(reduced.speeds) == 3 and reduced.internal.names == eqs.internal.names
    begin = da.assemble(reduced, {n: state[n] for n in ("lift.angle", "wrist.angle1", "wrist.angle2")}, t=0.7,
                        velocity={n: state[n] for n in ("lift.rate", "wrist.rate1", "wrist.rate2")},
                        internal={"motor.current": 3.0})  # fmt: skip
    full = eqs.state(state.q, state.v, [3.0], 0.7)
    one, other = (da.forward_dynamics(e, s, inputs={"voltage": 2.0}) for e, s in ((eqs, full), (reduced, begin)))
    for name in (*eqs.measure_rates.names, *reduced.speeds.names):
        assert other[name] == pytest.approx(one[name], abs=1e-9 * np.abs(one.acceleration).max()), name
    assert other.zdot == pytest.approx(one.zdot, rel=1e-12)
    assert begin["tip.x"] == pytest.approx(state["tip.x"], abs=1e-11)


@pytest.mark.spec("003-C40")
def test_coordinates_that_a_driver_moves_are_followed():
    """A rod on a driven cart, in the place of the rod: ẋ = (∂x/∂θ) w + the speed of the cart."""
    m = da.Mechanism("cart", planar=True)
    cart, rod = m.add_body("cart", mass=2.0, inertia=1.0), m.add_body("rod", mass=0.6, inertia=da.rod(0.8))
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("hinge", cart.at(0, 0), rod.at(-0.4, 0))
    m.add_driver("drive", "rail", lambda t: 0.3 * da.sin(4 * t))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"hinge.angle": -1.0}, velocity={"hinge.angle": 0.7})
    reduced = da.equations(eqs, coordinates="rod.x", at=start)
    assert reduced.speeds.names == ("rod.vx",)
    same_motion(eqs, reduced, start)
    begin = da.assemble(reduced, {"rod.x": start["rod.x"]}, velocity={"rod.vx": start["rod.vx"]})
    one, other = (da.simulate(e, 0.2, start=s, method=METHOD, every=0.05) for e, s in ((eqs, start), (reduced, begin)))
    for name in ("rod.x", "hinge.angle", "hinge.rate"):
        assert other[name] == pytest.approx(one[name], abs=RUN), name


@pytest.mark.spec("003-C40")
def test_joint_coordinates_of_a_reduced_machine_have_their_accelerations():
    """A slotted lever on a crank: the way along the lever has centrifugal terms besides those of the loop."""
    m = da.Mechanism("quick return", planar=True)
    crank = m.add_body("crank", mass=0.4, inertia=da.rod(0.2))
    block, lever = m.add_body("block", mass=0.1, inertia=1e-4), m.add_body("lever", mass=0.9, inertia=da.rod(0.8))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), block.at(0, 0))
    m.add_revolute("O", m.ground.at(-0.3, 0), lever.at(-0.4, 0))
    m.add_prismatic("slot", lever.at(0, 0), block.at(0, 0))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"A.angle": 0.8}, velocity={"A.angle": 6.0}, guess={"O.angle": 0.3})
    reduced = da.equations(eqs, coordinates="A.angle", at=state)
    same_motion(eqs, reduced, state)

    # s² = r² + d² + 2 r d cos a of the crank r, the base d and the crank angle a, differentiated twice
    r, d, a, w = 0.2, 0.3, 0.8, 6.0
    found = da.forward_dynamics(reduced, da.assemble(reduced, {"A.angle": a}, velocity={"A.angle": w}))
    s = np.sqrt(r**2 + d**2 + 2 * r * d * np.cos(a))
    rate = -r * d * np.sin(a) * w / s
    expected = (-r * d * (np.cos(a) * w**2 + np.sin(a) * found["A.angle"]) - rate**2) / s
    assert found["slot.displacement"] == pytest.approx(expected, rel=1e-10)


def test_a_driven_loop_is_followed_over_many_turns():
    """The seed of the pose moves with the loop: one left behind would not lead to the pose any more."""
    m = four_bar(lambda t: 5 * t)
    bob = m.add_body("bob", mass=0.1, inertia=0.01, position=(1, 0.5))
    m.add_revolute("hinge", m["coupler"].at(0, 0), bob.at(0, 0.5))
    eqs = da.equations(m)
    full, reduced = (
        da.simulate(e, 3.0, start=da.assemble(e, velocity={"hinge": 0.0}), every=0.5) for e in (eqs, da.equations(eqs))
    )
    assert reduced["hinge.angle"] == pytest.approx(full["hinge.angle"], abs=1e-6)  # 1e-9 per step


@pytest.mark.spec("003-C40")
@pytest.mark.parametrize("slip", [0.0, 0.7])
def test_rolling_leaves_fewer_speeds_than_coordinates(slip):
    """Also where the edge slips by a given speed: a part of the rates that no independent speed has."""
    m = da.Mechanism("skate", planar=True, gravity=0)
    skate = m.add_body("skate", mass=2.0, inertia=0.5)
    m.add_constraint(
        "edge",
        lambda s: (
            -da.sin(s["skate.angle"]) * s["skate.vx"]
            + da.cos(s["skate.angle"]) * s["skate.vy"]
            - slip * da.cos(3 * s.t)
        ),
        level="velocity",
    )
    m.add_force("push", skate.at(0, 0.3), (1.0, 0.5))
    eqs = da.equations(m)
    reduced = da.equations(eqs)
    assert len(reduced.speeds) == 2
    state = da.assemble(eqs, {"skate.x": 0.1, "skate.y": 0.2, "skate.angle": 0.4}, velocity={"skate.angle": 1.5,
                        "skate.vx": 2.0 * np.cos(0.4)})  # fmt: skip
    same_motion(eqs, reduced, state)
    places = {name: state[name] for name in ("skate.x", "skate.y", "skate.angle")}
    begin = da.assemble(reduced, places, velocity={name: state[name] for name in reduced.speeds.names})
    one, other = (da.simulate(e, 0.3, start=s, method=METHOD, every=0.1) for e, s in ((eqs, state), (reduced, begin)))
    for name in places:
        assert other[name] == pytest.approx(one[name], abs=RUN), name


def test_what_cannot_be_eliminated_is_refused_with_the_reason():
    m = crank_rocker()
    eqs = da.equations(m)
    lin = da.linearize(eqs)
    with raises(da.errors.ModelError, "missing-argument", "da.linearize"):
        da.equations(eqs, modes=1)
    with raises(da.errors.ModelError, "wrong-type", "about"):
        da.equations(eqs, about=da.SecondOrder([[1.0]], [[1.0]]))
    assert (lin.about, lin.replace(provenance={}).about) == ("equilibrium", "equilibrium")
    with raises(da.errors.ModelError, "not-at-rest"):  # the words of its origin do not count
        da.equations(eqs, about=lin.replace(about=OperatingPoint.STEADY_MOTION))
    with raises(da.errors.ModelError, "wrong-owner"):
        da.equations(eqs, about=lin, at=da.assemble(eqs, {"A.angle": 0.5}))
    with raises(da.errors.DataError, "not-a-count"):
        da.equations(eqs, path=0)
    m.add_friction("rub", "A", coulomb=0.2, radius=0.01)
    with raises(da.errors.ModelError, "not-supported"):
        da.equations(da.equations(m))
    hovering = da.Mechanism("hovering", gravity=0)
    hovering.add_body("box", mass=2.0, inertia=(0.1, 0.2, 0.3))
    with raises(da.errors.ModelError, "dependent-coordinates"):
        da.equations(da.equations(hovering))
    jerk = da.Mechanism("jerk", planar=True)
    jerk.add_body("b", mass=1.0, inertia=1.0)
    jerk.add_constraint("push", lambda s: s.acceleration_of("b.vx") - s["b.y"], level="acceleration")
    with raises(da.errors.ModelError, "wrong-level"):
        da.equations(da.equations(jerk))


# -- M x″ + (C+G) x′ + (K+H) x + f₂(x, x′) = f ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hardening():
    """Two carts on springs, the second one cubic, the first with a quadratic damper: f₂ in closed form."""
    m = da.Mechanism("carts", planar=True, gravity=0)
    carts = [m.add_body(f"cart{k}", mass=1.0 + k, inertia=1.0) for k in range(2)]
    for k, cart in enumerate(carts):
        m.add_prismatic(f"P{k}", m.ground.at(0, 0), cart.at(0, 0))
        m.add_actuator(f"F{k}", joint=f"P{k}", input=f"f{k}")
    m.add_spring("wall", joint="P0", stiffness=30.0, damping=0.4)
    m.add_spring("cubic", joint="P1", law=lambda x, v: 20 * x + 500 * x**3)
    m.add_spring("drag", joint="P0", law=lambda x, v: 2 * v * da.math.sqrt(v * v + 1e-300))
    m.add_spring("between", carts[0].at(0, 0), carts[1].at(0, 0), stiffness=1e-9)  # no effect, a straight spring
    eqs = da.equations(m)
    return eqs, da.linearize(eqs, coordinates=["P0.displacement", "P1.displacement"])


@pytest.mark.spec("003-C24")
def test_what_a_linear_model_leaves_out_is_the_nonlinear_part_of_the_springs(hardening):
    eqs, lin = hardening
    model = da.equations(eqs, about=lin)
    state = da.assemble(model, {"P0": 0.1, "P1": 0.2}, velocity={"P0": 0.3, "P1": -0.5})
    (f2,) = model.kernel("remainder")(state.q, state.v, [1.5, -2.0], model.p, 0.0)
    assert f2 == pytest.approx([2 * 0.3**2, 500 * 0.2**3], abs=1e-7)  # the straight spring's 1e-9 N/m
    left = da.forward_dynamics(model, state, inputs={"f0": 1.5, "f1": -2.0}).acceleration
    x, v = np.array([0.1, 0.2]), np.array([0.3, -0.5])
    assert lin.M @ left + lin.C_full @ v + lin.K_full @ x + f2 == pytest.approx(lin.B @ [1.5, -2.0], abs=1e-10)


@pytest.mark.spec("003-C24")
def test_modal_equations_hold_the_projected_nonlinear_force(hardening):
    eqs, lin = hardening
    full, modal = da.equations(eqs, about=lin), da.equations(eqs, about=lin, modes=2)
    Phi = lin.replace(C=None).modes().shapes
    eta, rate = np.array([0.15, -0.08]), np.array([0.2, 0.6])
    x, v = Phi @ eta, Phi @ rate
    there = da.assemble(modal, {"mode1": eta[0], "mode2": eta[1]}, velocity={"mode1": rate[0], "mode2": rate[1]})
    here = da.assemble(full, {"P0": x[0], "P1": x[1]}, velocity={"P0": v[0], "P1": v[1]})
    (projected,) = modal.kernel("remainder")(there.q, there.v, [0.0, 0.0], modal.p, 0.0)
    (f2,) = full.kernel("remainder")(here.q, here.v, [0.0, 0.0], full.p, 0.0)
    assert projected == pytest.approx(Phi.T @ f2, abs=1e-10)
    assert there["P1.displacement"] == pytest.approx(x[1], abs=1e-12)
    again = da.linearize(modal, coordinates=["mode1", "mode2"])
    expected = lin.modal()
    np.testing.assert_allclose(again.K, expected.K, rtol=0, atol=1e-8)
    np.testing.assert_allclose(again.B, expected.B, rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def pendulum():
    m = da.Mechanism("double pendulum", planar=True)
    first, second = m.add_body("first", mass=1.0, inertia=da.rod(1.0)), m.add_body("second", mass=0.7, inertia=0.05)
    m.add_revolute("A", m.ground.at(0, 0), first.at(0, 0.5))
    m.add_revolute("B", first.at(0, -0.5), second.at(0, 0.4))
    eqs = da.equations(m)
    return eqs, da.linearize(eqs)


@pytest.mark.spec("003-C24", "003-C27")
def test_all_modes_give_the_motion_in_the_large_and_one_mode_keeps_its_energy(pendulum):
    eqs, lin = pendulum
    x = np.array([0.9, 0.6])
    eta = lin.modes().project(x)
    modal, one = da.equations(eqs, about=lin, modes=2), da.equations(eqs, about=lin, modes=lin.modes(1))
    whole = da.simulate(eqs, 2.0, start=da.assemble(eqs, {"A": x[0], "B": x[1]}), method=METHOD, every=0.5)
    start = da.assemble(modal, {"mode1": eta[0], "mode2": eta[1]})
    run = da.simulate(modal, 2.0, start=start, method=METHOD, every=0.5)
    for name in ("A.angle", "B.angle", "B.rate", "second.x"):
        assert run[name] == pytest.approx(whole[name], abs=RUN), name
    alone = da.simulate(one, 2.0, start=da.assemble(one, {"mode1": eta[0]}), method=METHOD, every=0.05)
    # mass that depends on the pose: the projected equations keep the energy, a constant mass would not
    assert np.ptp(alone["energy"]) < RUN * np.ptp(alone["energy.kinetic"])
    ratio = np.real(lin.modes().shapes[1, 0] / lin.modes().shapes[0, 0])
    assert alone["B.angle"] == pytest.approx(ratio * alone["A.angle"], abs=1e-11)


@pytest.mark.spec("003-C24")
def test_the_remainder_of_a_pendulum_is_of_third_order_and_couples_its_modes(pendulum):
    """An odd force: halving the deviation divides f₂ by 8, up to terms of fifth order, (0.02)² of it."""
    eqs, lin = pendulum
    modal = da.equations(eqs, about=lin, modes=2)

    def remainder(size):
        state = da.assemble(modal, {"mode1": size})
        return modal.kernel("remainder")(state.q, state.v, np.zeros(0), modal.p, 0.0)[0]

    assert remainder(0.02) / remainder(0.01) == pytest.approx([8.0, 8.0], rel=2e-3)
    assert abs(remainder(0.02)[1]) > 0.05 * abs(remainder(0.02)[0])


@pytest.mark.spec("003-C24")
def test_about_an_equilibrium_held_by_an_input_the_remainder_counts_from_that_input():
    """A rod held at a by its motor, I θ̈ + m g l sin θ = u: f₂ = m g l (sin θ - sin a - (θ - a) cos a), zero at a."""
    m = da.Mechanism("held", planar=True)
    rod = m.add_body("rod", mass=1.5, inertia=da.rod(0.8))
    m.add_revolute("J", m.ground.at(0, 0), rod.at(0, 0.4))
    m.add_actuator("motor", joint="J", input="torque")
    eqs = da.equations(m)
    a, weight = 0.6, 1.5 * 9.81 * 0.4
    u0 = weight * np.sin(a)
    lin = da.linearize(eqs, da.assemble(eqs, {"J.angle": a}), inputs={"torque": u0}, coordinates=["J.angle"])
    model = da.equations(eqs, about=lin)
    for angle, torque in ((a, u0), (1.1, u0), (1.1, -2.0)):
        state = da.assemble(model, {"J.angle": angle}, velocity={"J.angle": 0.4})
        (f2,) = model.kernel("remainder")(state.q, state.v, [torque], model.p, 0.0)
        expected = weight * (np.sin(angle) - np.sin(a) - (angle - a) * np.cos(a))
        assert f2 == pytest.approx([expected], abs=1e-9)  # weight times the tolerance of the pose


# -- flexible bodies as they are made without a request: mean axis, geometric stiffness --------------------------------
@pytest.fixture(scope="module")
def elastic_loop():
    """A slider-crank whose rod bends, with a motor and gravity."""
    frame = da.structures.Frame("rod", planar=True)
    frame.add_points(["a", "b"], [[0.0, 0.0], [0.5, 0.0]])
    frame.add_beam("rod", "a", "b", section=da.structures.Section.square(0.008), material="steel", elements=8)
    data = da.structures.flexible_body(frame, modes=2)
    assert data.reference == "mean axis" and data.stiffening is not None
    m = da.Mechanism("elastic slider-crank", planar=True)
    crank = m.add_body("crank", mass=0.3, inertia=da.rod(0.15), position=(0, 0.075))
    rod = m.add_flexible_body("rod", data, position=(0, 0.15))
    slider = m.add_body("slider", mass=0.4, inertia=1e-3, position=(0.48, 0))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.075, 0))
    m.add_revolute("B", crank.at(0.075, 0), rod.at("a"))
    m.add_revolute("C", rod.at("b"), slider.at(0, 0))
    m.add_prismatic("D", m.ground.at(0, 0), slider.at(0, 0))
    m.add_spring("spring", joint="D", stiffness=500.0, free=0.4, damping=1.0)
    m.add_actuator("motor", joint="A", input="torque")
    eqs = da.equations(m)
    return eqs, ["A.angle", *eqs.elastic]


def test_named_coordinates_of_a_flexible_machine_have_its_motion(elastic_loop):
    eqs, names = elastic_loop
    place = {"A.angle": 1.0, names[1]: 2e-4, names[2]: -1e-4}
    state = da.assemble(eqs, place, velocity={"A.angle": 3.0, names[1]: 0.01})
    same_motion(eqs, da.equations(eqs, coordinates=names, at=state), state)


@pytest.mark.parametrize(
    "first", ["A.angle", *(pytest.param(name, marks=pytest.mark.slow) for name in ("D.displacement", "rod.angle"))]
)
def test_linear_models_of_a_flexible_machine_are_the_same_in_named_coordinates(elastic_loop, first):
    """Also after elimination; frequencies of 4 to 1e4 Hz, the highest of which are rounded to 1e-10 of their square."""
    eqs, names = elastic_loop
    rest = da.equilibrium(eqs)
    plain = da.linearize(eqs, at=rest).modes().frequencies
    named = da.linearize(eqs, at=rest, coordinates=[first, *names[1:]])
    assert named.coordinates == (first, *names[1:])
    np.testing.assert_allclose(named.modes().frequencies, plain, rtol=1e-8)
    small = da.equations(eqs, coordinates=[first, *names[1:]], at=rest)
    np.testing.assert_allclose(da.linearize(small, at=da.equilibrium(small)).modes().frequencies, plain, rtol=1e-8)
