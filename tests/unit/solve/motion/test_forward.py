"""Forward dynamics of machines: accelerations, reactions, friction, redundant joints, mistakes.

Machines here are small and of order one; where a closed form is compared, 1e-11 is rounding times their condition.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.motion.forward import METHODS, system_at
from dalembert.structures import BeamGauge, Frame, Section, flexible_body, material
from tests.helpers.findings import raises


def string_pendulum(angle, rate, mass=2.0, length=1.5):
    """A point mass on a massless string, hanging along -y; its angle from there."""
    m = da.Mechanism("string pendulum", planar=True)
    bob = m.add_body("bob", mass=mass, inertia=1.0)
    m.add_massless_rod("string", m.ground.at(0, 0), bob.at(0, 0), length=length)
    eqs = da.equations(m)
    q = [length * np.sin(angle), -length * np.cos(angle), 0.0]
    return eqs, eqs.state(q, [length * rate * np.cos(angle), length * rate * np.sin(angle), 0.0])


@pytest.mark.spec("000-12", "003-C32", "003-C33", "003-E3")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("angle, rate", [(1.0, 0.0), (0.3, 2.0), (-2.5, 1.0)])
def test_a_pendulum_in_cartesian_coordinates_has_its_acceleration_and_tension(method, angle, rate):
    mass, length, g = 2.0, 1.5, 9.81
    eqs, state = string_pendulum(angle, rate)
    sol = da.forward_dynamics(eqs, state, method=method)
    along = sol["bob.vx"] * np.cos(angle) + sol["bob.vy"] * np.sin(angle)
    assert along / length == pytest.approx(-g * np.sin(angle) / length, abs=1e-12)
    tension = mass * (g * np.cos(angle) + length * rate**2)
    assert sol.lam[0] == pytest.approx(-tension, abs=1e-11)  # the row's gradient points outwards: a pull is negative
    inwards = -np.array([np.sin(angle), -np.cos(angle)])
    assert np.allclose(sol.reactions["string"].force, tension * inwards, rtol=0, atol=1e-11)


def test_the_moment_of_a_turned_body_comes_in_world_axes():
    """A body welded at a point p of it, turned in space and twisted: r × m g + T at the weld, whatever its axes."""
    m = da.Mechanism("bracket", gravity=(0, 0, -9.81))
    turn = np.array([0.8, 0.2, -0.4, 0.4])
    body = m.add_body("b", mass=2.0, inertia=(0.1, 0.2, 0.3), position=(0.3, -0.2, 0.5), rotation=tuple(turn))
    m.add_fixed("weld", m.ground, body, at=(1.0, 0.4, -0.1))
    m.add_torque("T", body, (0.7, -0.2, 0.5))
    load = np.array([0.0, 0.0, -2.0 * 9.81])
    arm = np.array([0.3, -0.2, 0.5]) - np.array([1.0, 0.4, -0.1])
    found = da.forward_dynamics(da.equations(m)).reactions["weld"]
    assert np.allclose(found.force, -load, rtol=0, atol=1e-11)
    assert np.allclose(found.torque, -np.cross(arm, load) - (0.7, -0.2, 0.5), rtol=0, atol=1e-11)


def test_reactions_come_in_world_and_in_joint_axes():
    m = da.Mechanism("ramp", planar=True)
    box = m.add_body("box", mass=3.0, inertia=0.1, position=(0, 0), angle=0.5)
    m.add_prismatic("ramp", m.ground, box, at=(0, 0), axis=(np.cos(0.5), np.sin(0.5)))
    sol = da.forward_dynamics(da.equations(m))
    normal = 3.0 * 9.81 * np.cos(0.5)
    assert np.allclose(sol.reactions["ramp"].joint_force, [0.0, normal], rtol=0, atol=1e-11)
    assert np.allclose(sol.reactions["ramp"].force, normal * np.array([-np.sin(0.5), np.cos(0.5)]), rtol=0, atol=1e-11)
    assert sol["ramp.speed"] == pytest.approx(-9.81 * np.sin(0.5), abs=1e-12)
    assert sol["ramp.displacement"] == sol["ramp.speed"]
    assert sol["ramp.force.x"] == sol.reactions["ramp"].force[0]


def test_a_spatial_hinge_carries_the_weight_and_moment_of_a_cantilevered_body():
    m = da.Mechanism("door", gravity=(0, 0, -9.81))
    door = m.add_body("door", mass=4.0, inertia=da.box(0.8, 0.05, 2.0), position=(0.4, 0, 0))
    m.add_revolute("hinge", m.ground, door, at=(0, 0, 0), axis=(0, 0, 1))
    reaction = da.forward_dynamics(da.equations(m)).reactions["hinge"]
    assert np.allclose(reaction.force, [0, 0, 4.0 * 9.81], rtol=0, atol=1e-10)
    assert np.allclose(reaction.torque, [0, -0.4 * 4.0 * 9.81, 0], rtol=0, atol=1e-10)
    assert np.linalg.norm(reaction.joint_torque) == pytest.approx(np.linalg.norm(reaction.torque), abs=1e-10)
    assert reaction.unique


@pytest.mark.spec("000-15")
def test_a_body_without_inertia_that_nothing_holds_is_refused_by_name():
    m = da.Mechanism("loose", planar=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.0)
    m.add_massless_rod("string", m.ground.at(0, 0), bob.at(0, 0), length=1.0)
    eqs = da.equations(m)
    state = da.assemble(eqs, {"bob.x": 1.0})
    with raises(da.errors.ModelError, "massless-body", "bob.rate"):
        da.forward_dynamics(eqs, state)


@pytest.mark.spec("000-14")
@pytest.mark.parametrize("method", METHODS)
def test_a_massless_coupler_moves_with_what_it_joins(method):
    m = da.Mechanism("massless rod", planar=True)
    rod = m.add_body("rod", mass=0.0, inertia=0.0)
    bob = m.add_body("bob", mass=2.0, inertia=0.5)
    m.add_revolute("O", m.ground.at(0, 0), rod.at(0, 0))
    m.add_fixed("weld", rod.at(0.8, 0), bob.at(0, 0))
    eqs = da.equations(m)
    sol = da.forward_dynamics(eqs, da.assemble(eqs, {"O.angle": 0.4}), method=method)
    expected = -2.0 * 9.81 * 0.8 * np.cos(0.4) / (2.0 * 0.8**2 + 0.5)
    assert sol["O.rate"] == pytest.approx(expected, rel=1e-10)
    assert sol.residuals["motion"] < 1e-10 and sol.residuals["rows"] < 1e-10


def parallel_crank():
    """Two parallel cranks and a third: one row too many at every pose."""
    m = da.Mechanism("three cranks", planar=True)
    bar = m.add_body("bar", mass=1.0, inertia=0.2, position=(0.5, 0.3))
    for k, x in enumerate((0.0, 0.5, 1.0)):
        crank = m.add_body(f"crank{k}", mass=0.3, inertia=0.01, position=(x, 0.15), angle=np.pi / 2)
        m.add_revolute(f"O{k}", m.ground, crank, at=(x, 0))
        m.add_revolute(f"P{k}", crank, bar, at=(x, 0.3))
    return m, bar


@pytest.mark.spec("000-13", "003-C32")
def test_redundant_joints_are_flagged_and_methods_still_agree():
    m, bar = parallel_crank()
    m.add_force("push", bar.at(0.2, 0), (5.0, 0.0))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"O0.angle": 0.7}, velocity={"O0.angle": 2.0})
    sols = [da.forward_dynamics(eqs, state, method=method) for method in METHODS]
    assert sols[0].rank.redundant == 1 and sols[0].rank.dof == 1
    size = np.abs(sols[0].acceleration).max()
    for sol in sols[1:]:
        assert np.allclose(sol.acceleration, sols[0].acceleration, rtol=0, atol=1e-9 * size)
    assert not any(sols[0].unique.values())
    assert not sols[0].reactions["P1"].unique


@pytest.mark.spec("000-13")
def test_multipliers_differ_by_the_self_stress_of_redundant_joints():
    """λ = A A⁺ λ + (1 - A A⁺) h: all push alike, and those returned are the shortest."""
    m, bar = parallel_crank()
    m.add_force("push", bar.at(0.2, 0), (5.0, 0.0))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"O0.angle": 0.7}, velocity={"O0.angle": 2.0})
    sol = da.forward_dynamics(eqs, state)
    A, _ = eqs.kernel("rows")(state.q, state.v, state.z, [], eqs.p, 0.0)
    project = np.eye(len(A)) - A @ np.linalg.pinv(A)
    Z = sol.self_stress
    assert Z.shape == (len(A), 1) and pytest.approx(project, abs=1e-10) == Z @ Z.T
    size = np.abs(sol.force).max()
    assert A.T @ sol.lam == pytest.approx(sol.force, abs=1e-11 * size)
    assert A.T @ (sol.lam + Z @ [100.0]) == pytest.approx(sol.force, abs=1e-9 * size)
    assert np.abs(Z.T @ sol.lam).max() < 1e-10 * size


def test_a_joint_outside_the_redundant_loop_stays_unique():
    m, bar = parallel_crank()
    pendulum = m.add_body("pendulum", mass=0.5, inertia=0.01, position=(0.5, 0.1))
    m.add_revolute("pin", bar, pendulum, at=(0.5, 0.3))
    sol = da.forward_dynamics(da.equations(m))
    assert sol.reactions["pin"].unique and not sol.reactions["O0"].unique


def slider_with_friction(coulomb=0.3):
    m = da.Mechanism("slope", planar=True)
    box = m.add_body("box", mass=2.0, inertia=0.1, position=(0, 0), angle=0.6)
    m.add_prismatic("slope", m.ground, box, at=(0, 0), axis=(np.cos(0.6), np.sin(0.6)))
    m.add_friction("rub", "slope", coulomb=coulomb, speed=1e-6)
    m.add_force("press", box.at(0, 0), (0.0, -3.0))
    return m


@pytest.mark.parametrize("method", METHODS)
def test_coulomb_friction_uses_the_reaction_in_every_method(method):
    eqs = da.equations(slider_with_friction())
    sol = da.forward_dynamics(eqs, da.assemble(eqs, velocity={"slope": -1.0}), method=method)
    load = 2.0 * 9.81 + 3.0
    expected = (-load * np.sin(0.6) + 0.3 * load * np.cos(0.6)) / 2.0
    assert sol["slope.speed"] == pytest.approx(expected, abs=1e-9)  # regularisation: (1e-6)² relative
    assert sol.residuals["motion"] < 1e-12


@pytest.mark.parametrize("method", METHODS[:4])
def test_friction_that_changes_its_own_load_is_found(method):
    # a leaning rod on a sliding pin: friction changes the reaction that causes it
    m = da.Mechanism("leaning", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0), position=(0, 0))
    foot = m.add_body("foot", mass=0.2, inertia=0.01, position=(-0.3, -0.4))
    m.add_prismatic("floor", m.ground, foot, at=(-0.3, -0.4), axis=(1, 0))
    m.add_revolute("pin", foot, rod, at=(-0.3, -0.4))
    m.add_friction("rub", "floor", coulomb=0.4, speed=1e-6)
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"floor": 0.5, "pin": 1.0})
    sol = da.forward_dynamics(eqs, state, method=method)
    system = system_at(eqs, state)
    normal = abs(sol.reactions["floor"].joint_force[1])
    (ideal,) = eqs.kernel("forces")(state.q, state.v, state.z, system.u, eqs.p, 0.0, np.zeros(len(eqs.rows)))
    rub = np.zeros(eqs.nv)
    rub[eqs.speeds.index["foot.vx"]] = -0.4 * normal
    assert np.allclose(system.M @ sol.acceleration, ideal + rub + system.A.T @ sol.lam, rtol=0, atol=1e-8)
    assert np.allclose(system.A @ sol.acceleration, system.b, rtol=0, atol=1e-11)


def test_friction_on_an_undecided_reaction_is_refused():
    m, _ = parallel_crank()
    m.add_friction("rub", "P1", coulomb=0.2, radius=0.05)
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"O0": 1.0})
    with raises(da.errors.ModelError, "not-unique", "'P1'"):
        da.forward_dynamics(eqs, state)


def test_friction_is_allowed_where_the_part_it_uses_is_unique():
    # a planar four-bar modelled in space: forces across the hinges are unique, those along them are not
    m = da.Mechanism("four-bar in space", gravity=(0, -9.81, 0))
    places = {"crank": (0.0, 0.1), "coupler": (0.3, 0.3), "rocker": (0.65, 0.2)}
    for name, (x, y) in places.items():
        m.add_body(name, mass=0.5, inertia=da.box(0.2, 0.05, 0.05), position=(x, y, 0.0))
    crank, coupler, rocker = m.bodies
    pairs = [("A", m.ground, crank, (0, 0, 0)), ("B", crank, coupler, (0, 0.2, 0))]
    pairs += [("C", coupler, rocker, (0.6, 0.4, 0)), ("D", m.ground, rocker, (0.7, 0, 0))]
    for name, a, b, at in pairs:
        m.add_revolute(name, a, b, at=at, axis=(0, 0, 1))
    m.add_friction("rub", "A", coulomb=0.1, radius=0.01)
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"A.angle": 3.0})
    sols = [da.forward_dynamics(eqs, state, method=method) for method in METHODS[:4]]
    assert sols[0].rank.redundant == 3 and not sols[0].reactions["A"].unique
    for sol in sols[1:]:
        assert sol["A.rate"] == pytest.approx(sols[0]["A.rate"], rel=1e-9)


@pytest.mark.spec("000-09", "000-10", "003-C34")
@pytest.mark.parametrize("method", METHODS)
def test_a_knife_edge_turns_its_speed_and_pays_with_a_side_force(method):
    # skate: no speed across its blade; m v w is the side force, the speed along the blade is not changed by it
    m = da.Mechanism("skate", planar=True, gravity=0)
    m.add_body("skate", mass=2.0, inertia=0.5)
    m.add_constraint(
        "edge",
        lambda s: -da.sin(s["skate.angle"]) * s["skate.vx"] + da.cos(s["skate.angle"]) * s["skate.vy"],
        level="velocity",
    )
    eqs = da.equations(m)
    angle, speed, turn = 0.7, 3.0, 1.5
    state = eqs.state([0, 0, angle], [speed * np.cos(angle), speed * np.sin(angle), turn])
    sol = da.forward_dynamics(eqs, state, method=method)
    assert sol["skate.vx"] == pytest.approx(-speed * turn * np.sin(angle), abs=1e-12)
    assert sol["skate.vy"] == pytest.approx(speed * turn * np.cos(angle), abs=1e-12)
    assert sol.lam[0] == pytest.approx(2.0 * speed * turn, abs=1e-11)


@pytest.mark.spec("000-09", "000-10", "003-C32", "003-C34")
def test_holonomic_velocity_and_acceleration_rows_stand_side_by_side():
    m = da.Mechanism("mixed", planar=True, gravity=0)
    m.add_body("a", mass=1.0, inertia=1.0)
    m.add_body("b", mass=2.0, inertia=1.0)
    m.add_constraint("rail", lambda s: s["a.y"] - da.sin(s.t))
    m.add_constraint("speed", lambda s: s["b.vx"] ** 2 - 4.0 * s["a.vx"] - s.t**2, level="velocity")
    m.add_constraint("push", lambda s: s.acceleration_of("b.vy") - 3.0 * s["a.x"], level="acceleration")
    m.add_force("pull", m.bodies[0].at(0, 0), (2.0, 0.0))
    eqs = da.equations(m)
    assert [row.level for row in eqs.rows] == ["holonomic", "velocity", "acceleration"]
    t, vax, vbx = 0.5, 1.2, np.sqrt(4 * 1.2 + 0.25)
    state = eqs.state([0.3, np.sin(t), 0, 0, 0, 0], [vax, np.cos(t), 0, vbx, 0, 0], t=t)
    sol = da.forward_dynamics(eqs, state)
    # by hand: a.vx = (2 - 4 λ), b.vx = 2 vbx λ / 2, and 2 vbx v̇bx - 4 v̇ax = 2 t
    lam = (2 * t + 8.0) / (2 * vbx**2 + 16.0)
    assert sol.lam[1] == pytest.approx(lam, abs=1e-12)
    assert sol["a.vx"] == pytest.approx(2.0 - 4.0 * lam, abs=1e-12)
    assert sol["b.vx"] == pytest.approx(vbx * lam, abs=1e-12)
    assert sol["a.vy"] == pytest.approx(-np.sin(t), abs=1e-12)
    assert sol["b.vy"] == pytest.approx(0.9, abs=1e-12)
    assert sol.lam[2] == pytest.approx(1.8, abs=1e-12)


def test_a_driven_slide_on_a_turning_arm_has_the_acceleration_of_its_motion():
    m = da.Mechanism("sling", planar=True, gravity=0)
    arm, bead = m.add_body("arm", mass=1.0, inertia=0.5), m.add_body("bead", mass=0.4, inertia=0.01)
    m.add_revolute("O", m.ground.at(0, 0), arm.at(0, 0))
    m.add_prismatic("S", arm.at(0, 0), bead.at(0, 0))
    m.add_driver("pull", "S", lambda t: 0.3 + 0.1 * da.sin(4 * t))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"O": 0.4}, velocity={"O": 3.0}, t=0.2)
    sol = da.forward_dynamics(eqs, state)
    r, speed, acceleration = 0.3 + 0.1 * np.sin(0.8), 0.4 * np.cos(0.8), -1.6 * np.sin(0.8)
    assert sol["S.speed"] == pytest.approx(acceleration, abs=1e-11)
    # angular momentum (I + m r²) ω stays, and the driver pulls with m (r̈ - r ω²)
    assert (0.51 + 0.4 * r**2) * sol["O.rate"] == pytest.approx(-2 * 0.4 * r * speed * 3.0, abs=1e-11)
    assert sol["pull.effort"] == pytest.approx(0.4 * (acceleration - r * 9.0), abs=1e-11)


def test_coupled_slides_on_a_turning_arm_keep_their_ratio_in_acceleration_too():
    """Gear, rack and motor rotor: coordinates of slides on a turning arm have centripetal parts of their own."""
    m = da.Mechanism("governor", planar=True, gravity=0)
    arm = m.add_body("arm", mass=1.0, inertia=0.5, position=(0, 0))
    m.add_revolute("O", m.ground.at(0, 0), arm.at(0, 0))
    for k, angle in ((1, 0.0), (2, 2.0)):
        bead = m.add_body(f"bead{k}", mass=0.5 * k, inertia=0.01, position=(0, 0))
        m.add_prismatic(f"S{k}", arm, bead, at=(0, 0), axis=(np.cos(angle), np.sin(angle)))
    m.add_gear("gear", "S1", "S2", ratio=-2.5)
    motor = da.DCMotor(torque_constant=0.1, resistance=1.0, gear_ratio=7.0, rotor_inertia=0.02)
    m.add_actuator("motor", "S1", input="voltage", model=motor)
    eqs = da.equations(m)
    state = da.assemble(eqs, {"S1": 0.3, "O": 0.4}, velocity={"S1": 0.7, "O": 3.0})
    sol = da.forward_dynamics(eqs, state, inputs={"voltage": 2.0})
    assert abs(sol["S1.speed"]) > 0.1
    assert sol["S2.speed"] == pytest.approx(-2.5 * sol["S1.speed"], abs=1e-11)
    assert sol["motor.rotor.rate"] == pytest.approx(7.0 * sol["S1.speed"], abs=1e-10)
    # energy of one state: T' = power of what acts, with no constraint taking any
    (power,) = np.ravel(eqs.kernel("power")(state.q, state.v, state.z, [2.0], eqs.p, 0.0, sol.lam)[0])
    (M,) = eqs.kernel("inertia")(state.q, eqs.p, 0.0)
    assert state.v @ M @ sol.acceleration == pytest.approx(power, abs=1e-10)


# -- inputs and mistakes ----------------------------------------------------------------------------------------------


def test_inputs_enter_as_numbers_and_functions_of_time():
    m = da.Mechanism("cart", planar=True, gravity=0)
    cart = m.add_body("cart", mass=2.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_actuator("drive", joint="rail", input="force")
    eqs = da.equations(m)
    assert da.forward_dynamics(eqs, inputs={"force": 3.0})["rail.speed"] == pytest.approx(1.5, abs=1e-13)
    late = eqs.state(t=2.0)
    assert da.forward_dynamics(eqs, late, inputs={"force": lambda t: t})["rail.speed"] == pytest.approx(1.0, abs=1e-13)
    with raises(da.errors.ModelError, "unknown-name", "'force'"):
        da.forward_dynamics(eqs, inputs={"forse": 1.0})


def test_a_record_that_does_not_cover_the_time_is_refused():
    m = da.Mechanism("cart", planar=True, gravity=0)
    cart = m.add_body("cart", mass=2.0, inertia=1.0)
    m.add_force("push", cart.at(0, 0), (1.0, 0.0), input="force")
    eqs = da.equations(m)
    record = da.Record.from_channels(np.array([1.0, 2.0]), {"force": np.array([1.0, 3.0])})
    assert da.forward_dynamics(eqs, eqs.state(t=1.5), inputs=record)["cart.vx"] == pytest.approx(1.0, abs=1e-13)
    with raises(da.errors.DataError, "record-too-short", "2 s"):
        da.forward_dynamics(eqs, eqs.state(t=0.5), inputs=record)


def test_unknown_methods_and_names_are_refused_with_the_nearest_one():
    eqs, state = string_pendulum(0.1, 0.0)
    with raises(da.errors.ModelError, "unknown-choice", "'null_space'"):
        da.forward_dynamics(eqs, state, method="nullspace")
    sol = da.forward_dynamics(eqs, state)
    with raises(da.errors.DataError, "unknown-name", "'bob.vx'"):
        sol["bob.vxx"]
    assert "bob.vx" in repr(sol) and "string" in repr(sol)


def test_an_open_joint_is_refused():
    eqs, _ = string_pendulum(0.1, 0.0)
    with raises(da.errors.AssemblyError, "joint-open"):
        da.forward_dynamics(eqs, eqs.state([3.0, 0.0, 0.0]))


def test_a_machine_without_joints_falls_freely():
    m = da.Mechanism("stone")
    m.add_body("stone", mass=2.0, inertia=(1.0, 2.0, 2.5))
    eqs = da.equations(m)
    for method in METHODS:
        sol = da.forward_dynamics(eqs, eqs.state(v=[0, 0, 0, 1.0, 2.0, 3.0]), method=method)
        assert sol["stone.vz"] == pytest.approx(-9.81)
        assert sol["stone.wx"] == pytest.approx((2.0 - 2.5) * 2.0 * 3.0 / 1.0)
        assert sol.rank.dof == 6 and sol.reactions == {}


def test_the_gap_of_the_joints_has_the_unit_of_a_length() -> None:
    run = da.simulate(da.equations(da.read_model("pendulum")), until=0.1)
    assert (run.units["residual.position"], run.units["residual.velocity"]) == ("m", "m/s")


def test_sensors_of_a_beam_at_rest_show_its_deflection_strain_and_reaction() -> None:
    """A cantilever under its weight w per length: w L⁴/8EI, strain y w (L - x)²/2EI, force w L, torque w L²/2."""
    length, height, width, x = 0.5, 0.004, 0.03, 0.03
    frame = Frame("strip", planar=True)
    frame.add_points(["root", "tip"], [[0, 0], [length, 0]])
    section = Section.rectangle(height, width).without_shear()
    frame.add_beam("strip", "root", "tip", section=section, material="steel", elements=30)
    gauge = BeamGauge(x, y=height / 2, beam="strip")
    m = da.Mechanism("cantilever", planar=True)
    body = m.add_flexible_body("strip", flexible_body(frame, fixed="root", modes=8, gauges={"top": gauge}))
    m.add_fixed("clamp", m.ground.at(0, 0), body.at("root"))
    m.add_sensor("bending", da.deflection(body.at("tip")))
    m.add_sensor("strain", da.strain(body, "top"))
    m.add_sensor("load", da.reaction("clamp"))
    eqs = da.equations(m)
    rest = da.equilibrium(eqs)
    found = da.forward_dynamics(eqs, rest)
    stuff = material("steel")
    EI, w = stuff.E * section.I_z, 9.81 * stuff.density * section.area
    assert found["bending.y"] == pytest.approx(-w * length**4 / (8 * EI), rel=1e-4)  # eight modes: rest 2e-5
    assert found["strain"] == pytest.approx(height / 2 * w * (length - x) ** 2 / (2 * EI), rel=0.02)
    assert found["clamp.force.y"] == found["load.force.y"] == pytest.approx(w * length, rel=1e-9)
    assert found["clamp.torque.z"] == pytest.approx(w * length**2 / 2, rel=1e-3)
    assert len(found.outputs) == eqs.ny
    shown = found.table().splitlines()
    assert any(line.startswith("bending.y") and " m" in line for line in shown)
    assert any(line.startswith("clamp.force.y") and " N" in line for line in shown)
    with raises(da.errors.DataError, "unknown-name", "forward_dynamics"):
        rest["bending.y"]
