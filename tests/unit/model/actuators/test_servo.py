"""Servos, tendons and thrusters: as data, in model files and over a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.actuators.servo import Servo
from tests.helpers.findings import raises


def machine() -> da.Mechanism:
    m = da.Mechanism("arm")
    upper = m.add_body("upper", mass=1.0, inertia=0.1, position=(0.0, 0.0, -0.5))
    fore = m.add_body("fore", mass=0.5, inertia=0.05, position=(0.0, 0.0, -1.5))
    m.add_revolute("A", m.ground.at(0, 0, 0), upper.at(0, 0, 0.5), axis=(0, 1, 0))
    m.add_revolute("B", upper.at(0, 0, -0.5), fore.at(0, 0, 0.5), axis=(0, 1, 0))
    servo = Servo(20.0, stiffness=20.0, damping=1.0, lower=-3.0, upper=2.0, input_lower=-1.0, input_upper=0.5,
                     reference="position")  # fmt: skip
    m.add_actuator("servo", joint="A", input="set", model=servo)
    m.add_tendon("cable", {"A": 0.5, "B": -0.2}, stiffness=3.0, damping=0.1, lower=-0.1, upper=0.1, input="pull")
    m.add_thruster("jet", fore.frame(0, 0, -0.5, axis=(0, 1, 0)), input="thrust", force=(0.3, 0.1, 0), torque=(0, 0, 1))
    return m


def test_they_go_through_a_model_file(tmp_path: Path) -> None:
    m = machine()
    da.write_model(m, tmp_path / "arm.toml")
    again = da.read_model(tmp_path / "arm.toml")
    ours, theirs = (da.equations(one, coordinates="joint") for one in (m, again))
    u = {"set": 0.4, "pull": 2.0, "thrust": -1.0}
    one, two = (da.forward_dynamics(eqs, eqs.state([0.3, -0.2], [0.5, 1.0]), inputs=u).acceleration
                for eqs in (ours, theirs))  # fmt: skip
    np.testing.assert_allclose(one, two, rtol=1e-12)
    assert ours.inputs.units == theirs.inputs.units == ("rad", "N", "N")
    assert again.limits()["set"].range == (-1.0, 0.5)


def test_coordinates_of_bodies_and_joints_give_one_motion_and_its_energy_balances() -> None:
    runs = []
    for coordinates in ("joint", "absolute"):
        eqs = da.equations(machine(), coordinates=coordinates)
        start = da.assemble(eqs, {"A.angle": 0.6, "B.angle": -0.4})
        runs.append(da.simulate(eqs, 1.0, start=start, inputs={"set": 0.5, "pull": 0.5, "thrust": 0.4}, every=0.1))
    np.testing.assert_allclose(runs[0]["A.angle"], runs[1]["A.angle"], atol=1e-6)  # rtol of the integrator
    assert np.abs(runs[0]["energy.balance"]).max() < 1e-6 * np.ptp(runs[0]["energy.potential"])


def test_limits_that_cross_are_refused() -> None:
    with raises(ModelError, "conflicting-arguments"):
        machine().add_actuator("two", joint="B", input="v", model=Servo(lower=1.0, upper=-1.0))


@pytest.mark.parametrize("given", [{}, "A.angle", {"A": "much"}])
def test_a_tendon_needs_numbers_by_coordinate(given: object) -> None:
    with pytest.raises(ModelError):
        machine().add_tendon("other", given)
