"""Springs: each kind has its own name for where it is without load; and what is printed of a machine is short."""

from __future__ import annotations

import pytest

import dalembert as da
from tests.helpers.findings import raises


def machine() -> tuple[da.Mechanism, da.model.bodies.Body]:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=0.2, inertia=da.rod(0.2))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.1, 0))
    return m, rod


@pytest.mark.parametrize("value", [0.0, 0.3, -0.3, "x"])
def test_a_joint_spring_with_a_free_length_is_refused(value: object) -> None:
    m, _ = machine()
    with raises(da.errors.ModelError, "ineffective-argument", "spring 'k'", "free="):
        m.add_spring("k", joint="A", stiffness=1.0, free_length=value)
    assert m.forces == []


@pytest.mark.parametrize("value", [0.0, 0.3, "x"])
def test_a_spring_between_points_with_free_is_refused(value: object) -> None:
    m, rod = machine()
    with raises(da.errors.ModelError, "ineffective-argument", "spring 'k'", "free_length="):
        m.add_spring("k", m.ground.at(1, 0), rod.at(0, 0), stiffness=1.0, free=value)
    assert m.forces == []


def test_left_out_both_are_zero() -> None:
    m, rod = machine()
    assert m.add_spring("a", m.ground.at(1, 0), rod.at(0, 0), stiffness=1.0).free_length == 0.0
    assert m.add_spring("b", joint="A", stiffness=1.0).free == 0.0


def test_parts_of_a_machine_are_printed_in_short() -> None:
    m, rod = machine()
    assert repr(rod) == "Body('rod', 0.2 kg)"
    assert repr(m.ground) == "Body('ground')"
    assert repr(rod.at(-0.1, 0)) == "Point('rod', (-0.1, 0))"
    assert repr(rod.frame(0.1, 0, angle=0.5)) == "BodyFrame('rod', (0.1, 0), angle=0.5)"
    assert repr(m.joints[0]) == "Joint('A', revolute, ground–rod)"
    space = da.Mechanism("arm")
    length = space.parameter("length", 0.4)
    link = space.add_body("link", mass=2 * length, inertia=1.0)
    assert repr(link.frame(length / 2, 0, 0, axis=(0, 1, 0), x=(1, 0, 0))) == (
        "BodyFrame('link', ((length / 2), 0, 0), axis=(0, 1, 0), x=(1, 0, 0))"
    )
    assert repr(link) == "Body('link', (2 * length) kg)"


def test_the_channels_of_equations_are_printed_with_their_units() -> None:
    m, _ = machine()
    eqs = da.equations(m)
    assert repr(eqs.speeds) == "Channels(3: rod.vx [m/s], rod.vy [m/s], rod.rate [rad/s])"
    many = type(eqs.speeds)([f"c{k}" for k in range(40)], [""] * 40)
    assert repr(many).endswith("c10, c11, ...)")
    assert repr(many).startswith("Channels(40: c0, c1,")
