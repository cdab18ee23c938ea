"""The machine as its user describes it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises


@pytest.mark.parametrize(("mass", "inertia"), [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
def test_a_free_body_without_mass_or_inertia_is_refused(mass: float, inertia: float) -> None:
    m = da.Mechanism("lone", planar=True)
    m.add_body("dust", mass=mass, inertia=inertia)
    with raises(da.errors.ModelError, "massless-body", "'dust'"):
        da.equations(m)


def test_numbers_of_every_kind_are_taken() -> None:
    """Ints, NumPy numbers and arrays, lists and tuples mean the same machine."""
    results = []
    for number, pair in ((float, tuple), (np.float64, list), (np.int64, np.array), (int, tuple), (np.array, np.array)):
        m = da.Mechanism("arm", planar=True, gravity=pair([0, -10]))
        rod = m.add_body("rod", mass=number(2), inertia=number(1), position=pair([1, 0]))
        m.add_revolute("hinge", m.ground.at(pair([0, 0])), rod.at(number(-1), number(0)))
        m.add_spring("coil", joint=m.joints[0], stiffness=number(3))
        run = da.simulate(da.equations(m), number(1), method=da.RK4(1e-2), every=0.5)
        results.append(run["hinge.angle"])
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_zero_inertia_is_legal_where_a_joint_holds_it() -> None:
    m = da.Mechanism("m", planar=True)
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("pin", m.ground.at(0, 0), bob.at(0, 1.0))
    run = da.simulate(da.equations(m), 0.5, start=da.assemble(da.equations(m), {"pin": 0.1}), method=da.RK4(1e-3))
    assert np.isfinite(run.data).all()


def test_a_joint_at_a_place_of_the_drawing_equals_the_same_joint_by_points() -> None:
    by_place = da.Mechanism("m", planar=True)
    body = by_place.add_body("b", mass=1.0, inertia=1.0, position=(1.0, 2.0), angle=math.pi / 2)
    joint = by_place.add_revolute("A", by_place.ground, body, at=(1.0, 3.0))
    np.testing.assert_allclose(joint.b.coordinates, (1.0, 0.0), rtol=0, atol=1e-15)
    np.testing.assert_allclose(joint.a.coordinates, (1.0, 3.0), rtol=0, atol=1e-15)


def test_a_joint_stands_for_its_name() -> None:
    m = da.Mechanism("m", planar=True)
    first, second = (m.add_body(n, mass=1.0, inertia=1.0) for n in ("first", "second"))
    A = m.add_revolute("A", m.ground.at(0, 0), first.at(0, 0))
    B = m.add_revolute("B", m.ground.at(1, 0), second.at(0, 0))
    m.add_gear("teeth", A, B, ratio=-2.0)
    spring = m.add_spring("coil", joint=A, stiffness=1.0)
    m.add_damper("oil", joint=B, damping=1.0)
    m.add_stop("end", A, upper=1.0, stiffness=1.0)
    m.add_friction("rub", A, viscous=0.1)
    m.add_actuator("load", joint=B, effort=1.0)
    m.add_actuator("motor", A, input="u")
    m.add_driver("drive", B, lambda t: t)
    for k, measure in enumerate((da.angle(A), da.rate(A), da.reaction(B), da.spring_force(spring))):
        m.add_sensor(f"y{k}", measure)
    assert m.problems() == []
    assert m.inputs() == ["u"]


def test_an_input_may_drive_several_forces() -> None:
    m = da.Mechanism("m", planar=True)
    body = m.add_body("b", mass=1.0, inertia=1.0)
    m.add_force("push", body, (1, 0), input="u")
    m.add_torque("turn", body, 2.0, input="u")
    m.add_force("lift", body, (0, 1), input="w")
    assert m.inputs() == ["u", "w"]
    assert da.equations(m).inputs.names == ("u", "w")


def test_a_body_held_by_drivers_alone_is_not_disconnected() -> None:
    m = da.Mechanism("m", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=1.0)
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(0, 0.5))
    m.add_body("shaker", mass=1.0, inertia=1.0)
    for part in ("x", "y", "angle"):
        m.add_driver(f"move {part}", f"shaker.{part}", 0.0)
    assert m.problems() == []


def test_a_machine_tied_to_no_ground_may_fly() -> None:
    m = da.Mechanism("satellite")
    hub, panel = (m.add_body(n, mass=1.0, inertia=1.0) for n in ("hub", "panel"))
    m.add_revolute("hinge", hub.at(0.5, 0, 0), panel.at(-0.5, 0, 0))
    m.validate()


def test_energy_may_be_a_sensor_by_its_own_name() -> None:
    m = da.Mechanism("m", planar=True)
    m.add_body("b", mass=1.0, inertia=1.0)
    m.add_sensor("energy", da.energy())
    assert "energy" in da.simulate(da.equations(m), 0.1)


def test_a_planar_axis_may_depend_on_a_parameter() -> None:
    m = da.Mechanism("incline", planar=True, gravity=(0, -10))
    slope = m.parameter("slope", 0.0)
    block = m.add_body("block", mass=1.0, inertia=1.0)
    m.add_prismatic("plane", m.ground.at(0, 0), block.at(0, 0), axis=(da.cos(slope), da.sin(slope)))
    eqs = da.equations(m).replace(slope=-math.pi / 6)
    run = da.simulate(eqs, 1.0, method=da.RK4(1e-2))
    # constant acceleration g sin 30° is integrated exactly by Runge-Kutta 4: only rounding and projection remain
    assert run["plane.displacement"][-1] == pytest.approx(0.5 * 10 * 0.5, rel=1e-10)


def test_a_part_is_found_by_its_name():
    m = da.read_model("four-bar")
    assert m["crank"] is m.bodies[0]
    assert m["ground"] is m.ground
    assert m["encoder"] is m.sensors[0]
    with raises(da.errors.ModelError, "unknown-name", "'krank'", "'crank'"):
        m["krank"]


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_a_mechanism_named_by_blanks_is_refused(name: str) -> None:
    with raises(da.errors.ModelError, "bad-name", repr(name)):
        da.Mechanism(name)


def test_outer_blanks_are_no_part_of_a_name() -> None:
    assert da.Mechanism(" arm ").name == "arm"
