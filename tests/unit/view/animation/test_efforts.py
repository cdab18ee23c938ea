"""Forces and torques as arrows."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.record import Record
from dalembert.view.animation.machine_scene import machine_data


def driven_pendulum() -> Record:
    m = da.Mechanism("driven", planar=True)
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_torque("drag", rod, -0.5)
    return da.simulate(da.equations(m), until=0.5, inputs={"torque": 3.0})


def test_torques_on_joints_and_bodies_are_drawn_and_those_a_hinge_cannot_bear_are_not() -> None:
    found = {(one["name"], one["turns"]): one for one in machine_data(driven_pendulum(), 30, 1.0, [])["forces"]}
    assert set(found) == {("hinge", False), ("motor", True), ("drag", True)}
    motor = found["motor", True]["values"]
    assert motor == pytest.approx(np.tile([0.0, 0.0, 3.0], (len(motor), 1)))
    assert found["drag", True]["values"][0].tolist() == [0.0, 0.0, -0.5]
    assert found["hinge", False]["kind"] == "reaction"


def test_the_torque_of_a_driver_is_what_it_takes_to_hold_the_motion() -> None:
    m = da.Mechanism("held", planar=True, gravity=(0, -10))
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_driver("motor", "hinge.angle", lambda t: 0 * t)
    found = machine_data(da.simulate(da.equations(m), until=0.2), 30, 1.0, [])["forces"]
    (motor,) = [one for one in found if one["name"] == "motor"]
    assert motor["turns"]
    assert motor["values"][-1] == pytest.approx([0.0, 0.0, 2.0 * 10 * 0.5], rel=1e-6)  # m g l/2 against the weight
