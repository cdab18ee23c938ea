"""Every joint kind: degrees of freedom, exact rows against finite differences, coordinates, placement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.checks import DIFFERENCE, free_body, freedoms, measure_error, random_state, row_error, rows

A_POINT, B_POINT = (0.1, -0.2, 0.3), (-0.3, 0.15, 0.2)
AXIS, SQUARE = (0.2, -0.4, 1.0), (1.0, 0.5, 0.0)


def two_bodies() -> tuple[Any, Any, Any]:
    m = da.Mechanism("pair")
    a = free_body(m, "a", position=(0, 0, 0))
    b = free_body(m, "b", position=(0.4, -0.35, 0.1), mass=0.7)
    return m, a, b


def two_discs() -> tuple[Any, Any, Any]:
    m = da.Mechanism("planar pair", planar=True)
    a = m.add_body("a", mass=1.0, inertia=0.2, position=(0, 0))
    b = m.add_body("b", mass=0.6, inertia=0.1, position=(0.8, 0.3))
    return m, a, b


def helix(s: Any) -> Any:
    return (0.5 * da.cos(s), 0.5 * da.sin(s), 0.1 * s)


def ellipse(s: Any) -> Any:
    return (1.0 * da.cos(s), 0.6 * da.sin(s))


SPATIAL: dict[str, tuple[int, Callable[[Any, Any, Any], Any]]] = {
    "fixed": (0, lambda m, a, b: m.add_fixed("J", a, b)),
    "revolute": (1, lambda m, a, b: m.add_revolute("J", a, b, axis=AXIS)),
    "revolute with two axes": (1, lambda m, a, b: m.add_revolute("J", a, b, axis=AXIS, axis_b=SQUARE)),
    "prismatic": (1, lambda m, a, b: m.add_prismatic("J", a, b, axis=AXIS)),
    "cylindrical": (2, lambda m, a, b: m.add_cylindrical("J", a, b, axis=AXIS)),
    "universal": (2, lambda m, a, b: m.add_universal("J", a, b, axis=AXIS, second_axis=SQUARE)),
    "spherical": (3, lambda m, a, b: m.add_spherical("J", a, b)),
    "planar": (3, lambda m, a, b: m.add_planar("J", a, b, axis=AXIS)),
    "screw": (1, lambda m, a, b: m.add_screw("J", a, b, lead=0.05, axis=AXIS)),
    "rod": (5, lambda m, a, b: m.add_massless_rod("J", a, b, length=0.9)),
    "point on line": (4, lambda m, a, b: m.add_point_on_line("J", a, b, axis=AXIS)),
    "point on plane": (5, lambda m, a, b: m.add_point_on_plane("J", a, b, axis=AXIS)),
    "point on curve": (4, lambda m, a, b: m.add_point_on_curve("J", a, b, curve=helix)),
    "wheel on plane": (3, lambda m, a, b: m.add_rolling_wheel("J", a, b, radius=0.3, axis=SQUARE, normal=AXIS)),
    "sphere on plane": (3, lambda m, a, b: m.add_rolling_sphere("J", a, b, radius=0.3, normal=AXIS)),
}
PLANAR: dict[str, tuple[int, Callable[[Any, Any, Any], Any]]] = {
    "fixed": (0, lambda m, a, b: m.add_fixed("J", a, b)),
    "revolute": (1, lambda m, a, b: m.add_revolute("J", a, b)),
    "prismatic": (1, lambda m, a, b: m.add_prismatic("J", a, b, axis=(1.0, 0.4))),
    "pin in slot": (2, lambda m, a, b: m.add_pin_in_slot("J", a, b, axis=(1.0, 0.4))),
    "rod": (2, lambda m, a, b: m.add_massless_rod("J", a, b, length=0.9)),
    "point on curve": (2, lambda m, a, b: m.add_point_on_curve("J", a, b, curve=ellipse)),
    "wheel on plane": (1, lambda m, a, b: m.add_rolling_wheel("J", a, b, radius=0.3)),
    "discs": (1, lambda m, a, b: m.add_rolling_discs("J", a, b, radius=0.5, second_radius=0.3)),
    "disc in ring": (1, lambda m, a, b: m.add_rolling_discs("J", a, b, radius=0.5, second_radius=0.3, inside=True)),
}


@pytest.mark.spec("000-31")
@pytest.mark.parametrize("kind", SPATIAL)
def test_spatial_joint_leaves_its_freedoms_and_has_exact_rows(kind: str) -> None:
    """Two free bodies: 6 freedoms of the pair as a whole and those of the joint; rows against differences."""
    m, a, b = two_bodies()
    count, add = SPATIAL[kind]
    add(m, a.at(A_POINT), b.at(B_POINT))
    eqs = da.equations(m)
    for seed in range(3):
        state = random_state(eqs, seed)
        assert freedoms(eqs, state) == 6 + count
        assert row_error(eqs, state) < DIFFERENCE
        assert measure_error(eqs, state) < DIFFERENCE


@pytest.mark.parametrize("kind", PLANAR)
def test_planar_joint_leaves_its_freedoms_and_has_exact_rows(kind: str) -> None:
    m, a, b = two_discs()
    count, add = PLANAR[kind]
    add(m, a.at(0.1, -0.2), b.at(-0.3, 0.15))
    eqs = da.equations(m)
    for seed in range(3):
        state = random_state(eqs, seed)
        assert freedoms(eqs, state) == 3 + count
        assert row_error(eqs, state) < DIFFERENCE
        assert measure_error(eqs, state) < DIFFERENCE


@pytest.mark.parametrize("kind", SPATIAL)
def test_joint_to_ground_touches_one_body_only(kind: str) -> None:
    m = da.Mechanism("one")
    b = free_body(m, "b", position=(0.4, -0.35, 0.1))
    count, add = SPATIAL[kind]
    add(m, m.ground.at(A_POINT), b.at(B_POINT))
    eqs = da.equations(m)
    state = random_state(eqs, 4)
    assert freedoms(eqs, state) == count
    assert row_error(eqs, state) < DIFFERENCE


def test_a_ring_may_be_the_first_or_the_second_of_two_rolling_discs() -> None:
    """Naming the bodies the other way round spans the same rows."""
    found = []
    for ring_first in (True, False):
        m, a, b = two_discs()
        if ring_first:
            m.add_rolling_discs("J", a, b, radius=0.5, second_radius=0.3, inside=True)
        else:
            m.add_rolling_discs("J", b, a, radius=0.3, second_radius=0.5, inside=True)
        eqs = da.equations(m)
        state = eqs.state([0.0, 0.0, 0.3, 0.2 * np.cos(0.4), 0.2 * np.sin(0.4), 0.1])
        assert np.abs(eqs.kernel("position")(state.q, eqs.p, 0.0)[0]).max() < 1e-12
        A, _ = rows(eqs, state.q, state.v, 0.0)
        assert row_error(eqs, state) < DIFFERENCE
        found.append(A)
    assert np.linalg.matrix_rank(np.vstack(found), tol=1e-9) == 2


# --- couplers, drivers, user constraints ---------------------------------------------------------------------------


def two_shafts(*, planar: bool) -> tuple[Any, Any, Any]:
    m = da.Mechanism("shafts", planar=planar, gravity=0)
    places = [(0.0, 0.0), (1.0, 0.0)] if planar else [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
    a = m.add_body("a", mass=1.0, inertia=0.3)
    b = m.add_body("b", mass=1.0, inertia=0.2)
    zero = (0.0,) * len(places[0])
    m.add_revolute("A", m.ground.at(places[0]), a.at(zero))
    m.add_revolute("B", m.ground.at(places[1]), b.at(zero))
    return m, a, b


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("ratio", [-2.0, 1.5, 1 / 3, np.sqrt(2)])
def test_gear_keeps_its_ratio_over_many_turns(planar: bool, ratio: float) -> None:
    """J_a θ̈ = τ with J = J_a + n² J_b (both shafts free); 0.5 J ω² grows with τ θ. Constant torque: θ = τ t²/(2 J)."""
    m, _, _ = two_shafts(planar=planar)
    m.add_gear("gear", "A", "B", ratio=ratio, offset=0.2)
    m.add_actuator("motor", joint="A", effort=1.0)
    eqs = da.equations(m)
    assert freedoms(eqs, da.assemble(eqs)) == 1
    assert row_error(eqs, random_state(eqs)) < DIFFERENCE
    run = da.simulate(eqs, 5.0, start=da.assemble(eqs, {"A": 0.0}), every=0.01)
    exact = run.time**2 / (2 * (0.3 + ratio**2 * 0.2))
    assert np.abs(run["A.angle"] - run["A.angle"][0] - exact).max() < 1e-8  # 10 times the tolerance of the run
    drift = run["B.angle"] - run["B.angle"][0] - ratio * (run["A.angle"] - run["A.angle"][0])
    assert np.abs(drift).max() < 1e-9
    assert abs(run["A.angle"][-1]) > 2 * np.pi
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_gear_offset_holds_in_the_assembled_pose() -> None:
    m, _, _ = two_shafts(planar=True)
    m.add_gear("gear", "A", "B", ratio=-2.0, offset=0.2)
    eqs = da.equations(m)
    state = da.assemble(eqs, {"A": 0.4}, velocity={"A": 3.0})
    assert state["B.angle"] == pytest.approx(-2 * 0.4 + 0.2, abs=1e-12)
    assert state["B.rate"] == pytest.approx(-6.0, abs=1e-12)


@pytest.mark.parametrize("planar", [True, False])
def test_rack_and_pinion_moves_the_rack_by_the_arc(planar: bool) -> None:
    """(J + m r²) θ̈ = τ; the rack moves r θ, over several turns of the pinion."""
    m = da.Mechanism("rack", planar=planar, gravity=0)
    pinion = m.add_body("pinion", mass=1.0, inertia=0.02)
    rack = m.add_body("rack", mass=2.0, inertia=0.1)
    zero = (0.0,) * (2 if planar else 3)
    m.add_revolute("P", m.ground.at(zero), pinion.at(zero))
    along = (1, 0) if planar else (1, 0, 0)
    m.add_prismatic("R", m.ground.at(zero), rack.at(zero), axis=along)
    m.add_rack_and_pinion("mesh", "P", "R", radius=0.1)
    m.add_actuator("motor", joint="P", effort=0.1)
    eqs = da.equations(m)
    assert row_error(eqs, random_state(eqs)) < DIFFERENCE
    run = da.simulate(eqs, 6.0, start=da.assemble(eqs, {"P": 0.0}), every=0.02)
    exact = 0.1 * run.time**2 / (2 * (0.02 + 2.0 * 0.1**2))
    assert np.abs(run["P.angle"] - exact).max() < 1e-7  # θ reaches 45 rad; the run holds 1e-9 relative
    assert np.abs(run["rack.x"] - 0.1 * exact).max() < 1e-8
    assert run["P.angle"][-1] > 6 * np.pi


@pytest.mark.spec("000-31")
def test_driver_prescribes_motion_and_does_its_work() -> None:
    """Shaft turned by θ = sin 2t: the driver's multiplier is J θ̈, its work the kinetic energy."""
    m = da.Mechanism("driven", gravity=0)
    shaft = m.add_body("shaft", mass=1.0, inertia=(0.3, 0.3, 0.2))
    m.add_revolute("A", m.ground.at(0, 0, 0), shaft.at(0, 0, 0), axis=(0, 0, 1))
    m.add_driver("drive", "A", lambda t: da.sin(2 * t))
    m.add_sensor("bearing", da.reaction("A"))
    eqs = da.equations(m)
    assert freedoms(eqs, da.assemble(eqs)) == 0
    assert row_error(eqs, random_state(eqs)) < DIFFERENCE
    run = da.simulate(eqs, 3.0, every=0.01)
    assert np.abs(run["A.angle"] - np.sin(2 * run.time)).max() < 1e-9
    assert np.abs(run["energy"] - 0.5 * 0.2 * (2 * np.cos(2 * run.time)) ** 2).max() < 1e-9
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_driver_turns_a_spatial_hinge_many_times() -> None:
    m = da.Mechanism("driven", gravity=0)
    shaft = m.add_body("shaft", mass=1.0, inertia=(0.3, 0.3, 0.2))
    m.add_revolute("A", m.ground.at(0, 0, 0), shaft.at(0, 0, 0), axis=(1, 2, 2))
    m.add_driver("drive", "A", lambda t: 7.0 * t)
    run = da.simulate(da.equations(m), 4.0, every=0.05)
    assert np.abs(run["A.angle"] - 7.0 * run.time).max() < 1e-9


def test_driver_of_a_body_coordinate_and_of_a_number() -> None:
    m = da.Mechanism("lift", planar=True)
    b = m.add_body("b", mass=2.0, inertia=0.1)
    m.add_driver("height", "b.y", lambda t: 0.5 * t**2)
    m.add_driver("place", "b.x", 0.3)
    eqs = da.equations(m)
    assert freedoms(eqs, da.assemble(eqs)) == 1
    run = da.simulate(eqs, 2.0)
    assert run["b.y"][-1] == pytest.approx(2.0, abs=1e-9)
    assert np.abs(run["b.x"] - 0.3).max() < 1e-12
    assert run["energy"][-1] == pytest.approx(2 * 9.81 * 2.0 + 0.5 * 2 * 2.0**2, abs=1e-8)
    assert np.abs(run["energy.balance"]).max() < 1e-8
    assert b.name == "b"


@pytest.mark.parametrize("level", ["position", "velocity", "acceleration"])
def test_user_constraint_at_each_level_is_a_pendulum(level: str) -> None:
    """x² + y² = 1 as φ, as its rate, and as its second derivative, all from consistent starts: the same motion."""

    def function(s: Any) -> Any:
        x, y = s["b.x"], s["b.y"]
        if level == "position":
            return x**2 + y**2 - 1
        vx, vy = s["b.vx"], s["b.vy"]
        if level == "velocity":
            return x * vx + y * vy
        return x * s.acceleration_of("b.vx") + y * s.acceleration_of("b.vy") + vx**2 + vy**2

    m = da.Mechanism("pendulum", planar=True)
    m.add_body("b", mass=1.0, inertia=0.1)
    m.add_constraint("wire", function, level=level)
    eqs = da.equations(m)
    start = da.assemble(eqs, {"b.x": -1.0, "b.y": 0.0})
    assert freedoms(eqs, start) == 2
    if level != "acceleration":
        assert row_error(eqs, random_state(eqs)) < DIFFERENCE
    run = da.simulate(eqs, 2.0, start=start, method=da.DormandPrince(rtol=1e-11, atol=1e-11), every=1.0)
    # peers.md P1; drift of the unprojected levels grows with t² times the local error
    assert run["b"][1] == pytest.approx([0.986291751132, -0.165010853126], abs=1e-8)


def test_nonlinear_velocity_constraint_has_exact_rows_and_keeps_its_speed() -> None:
    """A skate of constant speed: vx² + vy² = 4, gravity along y; the multiplier acts along the velocity."""
    m = da.Mechanism("constant speed", planar=True)
    m.add_body("b", mass=1.5, inertia=0.1)
    m.add_constraint("speed", lambda s: s["b.vx"] ** 2 + s["b.vy"] ** 2 - 4.0, level="velocity")
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"b.x": 2.0, "b.y": 0.0})
    assert freedoms(eqs, start) == 2
    random = da.assemble(eqs, start=eqs.state(v=np.random.default_rng(1).normal(size=3)))
    assert row_error(eqs, random) < DIFFERENCE
    run = da.simulate(eqs, 1.0, start=start)
    # direction ψ below the horizontal: 2 ψ̇ = g cos ψ, whose solution is the Gudermannian of g t/2
    psi = np.arctan(np.sinh(9.81 * run.time / 2))
    assert np.abs(run["b.vx"] - 2 * np.cos(psi)).max() < 1e-8
    assert np.abs(run["b.vy"] + 2 * np.sin(psi)).max() < 1e-8
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_variable_carries_a_user_constraint() -> None:
    """A bead on y = x²/2 through the parameter s: the same motion as the constraint without it."""
    runs = []
    for with_variable in (True, False):
        m = da.Mechanism("bead", planar=True)
        m.add_body("b", mass=0.5, inertia=0.1)
        if with_variable:
            m.add_variable("s", 0.5)
            m.add_constraint("wire", lambda s: (s["b.x"] - s["s"], s["b.y"] - s["s"] ** 2 / 2))
        else:
            m.add_constraint("wire", lambda s: s["b.y"] - s["b.x"] ** 2 / 2)
        eqs = da.equations(m)
        start = da.assemble(eqs, {"b.x": 0.5})
        assert freedoms(eqs, start) == 2
        runs.append(da.simulate(eqs, 3.0, start=start))
    assert np.abs(runs[0]["b"] - runs[1]["b"]).max() < 1e-8
    assert np.abs(runs[0]["s"] - runs[0]["b.x"]).max() < 1e-12


# --- coordinates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "planar", "screw", "universal"])
def test_coordinates_are_zero_where_the_drawing_shows_the_joint(kind: str) -> None:
    """`at=` with bodies drawn turned against each other: the drawing is the zero of every coordinate."""
    m = da.Mechanism("drawn")
    a = free_body(m, "a", position=(0.1, 0.2, 0.3), rotation=(0.9, 0.1, -0.3, 0.2))
    b = free_body(m, "b", position=(-0.5, 0.4, 0.1), rotation=(0.2, 0.7, 0.5, -0.1))
    m.add_fixed("base", m.ground, a, at=(0, 0, 0))
    place: dict[str, Any] = {"at": (0.3, 0.2, 0.1), "axis": (0.0, 0.6, 0.8)}
    if kind == "screw":
        place["lead"] = 0.02
    if kind == "universal":
        place["second_axis"] = (1.0, 0.8, -0.6)
    joint = getattr(m, f"add_{kind}")("J", a, b, **place)
    eqs = da.equations(m)
    state = da.assemble(eqs)
    drawn = eqs.state()
    assert np.abs(eqs.kernel("position")(drawn.q, eqs.p, 0.0)[0]).max() < 1e-12
    for coordinate, _, _ in joint.coordinates:
        assert state[f"J.{coordinate}"] == pytest.approx(0.0, abs=1e-12)


def test_revolute_angle_is_positive_about_its_axis() -> None:
    m = da.Mechanism("hinge")
    b = free_body(m, "b")
    m.add_revolute("J", m.ground.at(0, 0, 0), b.at(0, 0, 0), axis=(0, 1, 0))
    state = da.assemble(da.equations(m), {"J": 0.3}, velocity={"J": 2.0})
    assert state["b.e2"] == pytest.approx(np.sin(0.15), abs=1e-12)
    assert state["b.wy"] == pytest.approx(2.0, abs=1e-12)


def test_prismatic_displacement_is_the_way_of_the_second_body_along_the_axis() -> None:
    m = da.Mechanism("slide")
    b = free_body(m, "b")
    m.add_prismatic("J", m.ground.at(0.1, 0, 0), b.at(0, 0.2, 0), axis=(0, 0, 1))
    state = da.assemble(da.equations(m), {"J": 0.3}, velocity={"J": 2.0})
    assert [state[f"b.{k}"] for k in "xyz"] == pytest.approx([0.1, -0.2, 0.3], abs=1e-12)
    assert state["b.vz"] == pytest.approx(2.0, abs=1e-12)


def test_cylindrical_and_planar_coordinates_have_their_signs() -> None:
    m = da.Mechanism("pair")
    b, c = free_body(m, "b"), free_body(m, "c")
    m.add_cylindrical("C", m.ground.at(0, 0, 0), b.at(0, 0, 0), axis=(1, 0, 0))
    places = [body.frame(0, 0, 0, axis=(0, 0, 1), x=(1, 0, 0)) for body in (m.ground, c)]
    m.add_planar("P", *places)
    wanted = {"C.displacement": 0.2, "C.angle": -0.5, "P.x": 0.3, "P.y": -0.4, "P.angle": 0.7}
    state = da.assemble(da.equations(m), wanted)
    assert state["b.x"] == pytest.approx(0.2, abs=1e-12)
    assert state["b.e1"] == pytest.approx(np.sin(-0.25), abs=1e-12)
    assert [state["c.x"], state["c.y"], state["c.z"]] == pytest.approx([0.3, -0.4, 0.0], abs=1e-12)
    assert state["c.e3"] == pytest.approx(np.sin(0.35), abs=1e-12)


def test_universal_angles_turn_about_the_first_and_then_the_second_axis() -> None:
    """R = Rz(α) Rx(β) for axes z on the first body and x on the second."""
    m = da.Mechanism("cardan")
    b = free_body(m, "b")
    m.add_universal("U", m.ground.at(0, 0, 0), b.at(0, 0, 0), axis=(0, 0, 1), second_axis=(1, 0, 0))
    state = da.assemble(da.equations(m), {"U.angle1": 0.4, "U.angle2": -0.3})
    p = np.array([state[f"b.e{k}"] for k in range(4)])
    z, x = (np.cos(0.2), 0, 0, np.sin(0.2)), (np.cos(-0.15), np.sin(-0.15), 0, 0)
    from dalembert.mechanics.rotations import multiply

    exact = np.array(multiply(z, x)).ravel()
    assert p == pytest.approx(exact * np.sign(p[0] * exact[0]), abs=1e-12)


def test_planar_angles_count_turns_and_slots_have_signs() -> None:
    m = da.Mechanism("planar", planar=True)
    a = m.add_body("a", mass=1.0, inertia=0.1)
    b = m.add_body("b", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), a.at(0, 0))
    m.add_pin_in_slot("S", a.at(0, 0), b.at(0.1, 0), axis=(0, 1))
    state = da.assemble(da.equations(m), {"A": 7.0, "S": 0.25, "b.angle": 0.0})
    assert state["a.angle"] == pytest.approx(7.0, abs=1e-12)
    assert state["b.x"] + 0.1 == pytest.approx(-0.25 * np.sin(7.0), abs=1e-12)
    assert state["b.y"] == pytest.approx(0.25 * np.cos(7.0), abs=1e-12)


# --- placement -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
def test_placing_joints_at_the_drawing_equals_placing_them_by_points(planar: bool) -> None:
    """A drawn double pendulum, once by places in world axes and once by points of the bodies: the same motion."""
    runs = []
    for drawn in (True, False):
        m = da.Mechanism("double", planar=planar, gravity=(0, -9.81) if planar else (0, -9.81, 0))
        zero = () if planar else (0.0,)
        turn: dict[str, Any] = {"angle": 0.5} if planar else {"rotation": (np.cos(0.25), 0, 0, np.sin(0.25))}
        c, s = np.cos(0.5), np.sin(0.5)
        a = m.add_body("a", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0.0, *zero))
        b = m.add_body("b", mass=1.0, inertia=da.rod(1.0), position=(1 + 0.5 * c, 0.5 * s, *zero), **turn)
        if drawn:
            m.add_revolute("A", m.ground, a, at=(0.0, 0.0, *zero))
            m.add_revolute("B", a, b, at=(1.0, 0.0, *zero))
        else:
            m.add_revolute("A", m.ground.at(0.0, 0.0, *zero), a.at(-0.5, 0.0, *zero))
            m.add_revolute("B", a.at(0.5, 0.0, *zero), b.at(-0.5, 0.0, *zero))
        runs.append(da.simulate(da.equations(m), 1.0, every=0.1))
    assert np.abs(runs[0]["b.x"] - runs[1]["b.x"]).max() < 1e-8  # ten times the tolerance of a run
    # zero of the angle: where the drawing shows the joint, or where the axes of the two bodies agree
    assert np.abs(runs[0]["B.angle"] - runs[1]["B.angle"] + 0.5).max() < 1e-8


# --- stabilisation --------------------------------------------------------------------------------------------------


@pytest.mark.spec("002-G6")
def test_baumgarte_feedback_brings_an_open_joint_back_at_its_own_rate() -> None:
    """Critically damped gap: φ = φ₀ (1 + b t) exp(-b t) for b₁ = 1, b₂ = b, from φ₀ = 9e-7 at rest."""
    from dalembert.solve.constrained.solve import Baumgarte

    m = da.Mechanism("open", planar=True)
    b = m.add_body("b", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), b.at(-0.5, 0))
    eqs = da.equations(m)
    closed = da.assemble(eqs)
    opened = eqs.state(closed.q + np.array([9e-7, 0, 0]), closed.v)
    method = da.DormandPrince(rtol=1e-12, atol=1e-13, stabilise=Baumgarte(1.0, 10.0))
    run = da.simulate(eqs, 1.0, start=opened, method=method, every=0.1)
    gap = run["b.x"] - 0.5 * np.cos(run["b.angle"])
    assert gap == pytest.approx(9e-7 * (1 + 10 * run.time) * np.exp(-10 * run.time), abs=1e-10)


def test_the_torque_of_a_weld_on_a_turned_body_is_that_of_weight_and_load() -> None:
    """In world axes, at the weld: -r × m g of the arm r from the weld to the centre of mass, less a load torque."""
    m = da.Mechanism("bracket")
    turned = da.rotation(tait_bryan=(0.4, -0.7, 1.1))
    body = m.add_body("body", mass=2.0, inertia=(0.1, 0.2, 0.3), position=(0.3, -0.2, 0.5), rotation=turned.quaternion)
    m.add_fixed("weld", m.ground, body, at=(0, 0.1, 0.2))
    m.add_torque("load", body, (1.0, 2.0, -3.0))
    found = da.forward_dynamics(da.equations(m))
    expected = -np.cross((0.3, -0.3, 0.3), (0, 0, -2.0 * 9.81)) - (1.0, 2.0, -3.0)
    assert [found[f"weld.force.{axis}"] for axis in "xyz"] == pytest.approx([0, 0, 2.0 * 9.81], abs=1e-12)
    assert [found[f"weld.torque.{axis}"] for axis in "xyz"] == pytest.approx(expected, abs=1e-12)
