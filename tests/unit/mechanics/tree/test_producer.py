"""Everything that is a row in absolute coordinates is the same row between joint coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.joint_coordinates import joint_state
from tests.helpers.repetitions import few


def geared() -> da.Mechanism:
    """Mimic joint: the second hinge of an arm follows the first, q2 = -2 q1 + 0.3."""
    m = da.Mechanism("geared")
    bodies = [m.add_body(name, mass=1.0, inertia=da.rod(0.4)) for name in ("upper", "lower")]
    m.add_revolute("q1", m.ground.at(0, 0, 0), bodies[0].at(-0.2, 0, 0), axis=(0, 1, 0))
    m.add_revolute("q2", bodies[0].at(0.2, 0, 0), bodies[1].at(-0.2, 0, 0), axis=(0, 1, 0))
    m.add_gear("mimic", "q1", "q2", ratio=-2.0, offset=0.3)
    return m


def racked() -> da.Mechanism:
    m = da.Mechanism("racked", planar=True)
    wheel, rack = m.add_body("wheel", mass=1.0, inertia=0.1), m.add_body("rack", mass=2.0, inertia=0.1)
    m.add_revolute("pinion", m.ground.at(0, 0.2), wheel.at(0.05, 0))
    m.add_prismatic("slide", m.ground.at(0, 0), rack.at(0, 0))
    m.add_rack_and_pinion("teeth", "pinion", "slide", radius=0.2)
    return m


def rolling() -> da.Mechanism:
    """A wheel on a frame that nothing else holds: velocity rows."""
    m = da.Mechanism("rolling")
    base = m.add_body("base", mass=3.0, inertia=1.0, position=(0, 0, 0.3))
    wheel = m.add_body("wheel", mass=1.0, inertia=(0.02, 0.04, 0.02), position=(0.5, 0, 0.3))
    m.add_free("root", m.ground.at(0, 0, 0), base.at(0, 0, 0))
    m.add_revolute("axle", base, wheel, at=(0.5, 0, 0.3), axis=(0, 1, 0))
    m.add_rolling_wheel("contact", m.ground.at(0, 0, 0), wheel.at(0, 0, 0), radius=0.3, axis=(0, 1, 0))
    return m


def constrained() -> da.Mechanism:
    """Rows of a user at all levels, and drivers."""
    m = da.Mechanism("constrained", planar=True)
    bodies = [m.add_body(f"b{k}", mass=1.0, inertia=0.1) for k in range(4)]
    places: list[Any] = [m.ground.at(0, 0), *(b.at(0.2, 0) for b in bodies)]
    for k, body in enumerate(bodies):
        m.add_revolute(f"q{k}", places[k], body.at(-0.2, 0))
    m.add_constraint("held", lambda s: s["b1.y"] - 0.1 * da.sin(s["q0.angle"]))
    m.add_constraint("slow", lambda s: s["b2.vx"] + 0.3 * s["b2.vy"] - 0.1, level="velocity")
    m.add_driver("turn", "q3", lambda t: 0.2 * t)
    return m


@pytest.mark.parametrize(
    ("make", "start", "rows"),
    few(
        [
            (geared, {"position": {"q1": 0.4}, "velocity": {"q1": 2.0}}, {"mimic"}),
            (racked, {"position": {"pinion": 0.4}, "velocity": {"pinion": 2.0}}, {"teeth"}),
            (rolling, {"velocity": {"axle": 3.0, "base.wz": 0.5, "base.wx": 0.1}}, {"contact"}),
            (constrained, {"position": {"q0": 0.3, "q2": 0.5}, "velocity": {"q0": 0.2}}, {"held", "slow", "turn"}),
        ],
        2,
    ),
)
def test_rows_move_a_machine_alike_in_both_coordinates(make: Any, start: dict[str, Any], rows: set[str]) -> None:
    m = make()
    plain, joint = da.equations(m), da.equations(m, coordinates="joint")
    assert {row.owner for row in joint.rows} == rows
    first = da.assemble(plain, **start)
    second = joint_state(plain, first, joint)
    one, other = da.forward_dynamics(plain, first), da.forward_dynamics(joint, second)
    for name in (*plain.measures.names, *plain.reaction_channels.names):
        # wheels touch the plane within one part in 1e12; accelerations and reactions of up to a hundred
        assert abs(one[name] - other[name]) < 1e-9 * (1 + abs(one[name])), name
    runs = [da.simulate(eqs, 0.5, start=s, every=0.05) for eqs, s in ((plain, first), (joint, second))]
    for name in (*plain.measures.names, *(f"{row}.effort" for row in rows)):
        if name in runs[0].names:
            np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=0, atol=1e-6, err_msg=name)
