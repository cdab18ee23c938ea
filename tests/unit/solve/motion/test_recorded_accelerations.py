"""Forward dynamics along a record."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from tests.helpers.findings import raises


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "six-joint-arm"])
def test_accelerations_are_those_of_the_run(name: str) -> None:
    eqs = da.equations(da.read_model(name))
    run = da.simulate(eqs, 0.2, method=da.RK4(step=2e-3), every=0.02)
    found = da.forward_dynamics(eqs, run)
    np.testing.assert_array_equal(found.time, run.time)
    for channel in found.names:
        largest = 1 + np.abs(found[channel]).max()
        np.testing.assert_allclose(found[channel], run[channel], rtol=0, atol=1e-9 * largest)


def test_inputs_of_the_record_act_unless_others_are_given() -> None:
    m = da.Mechanism("block", planar=True, gravity=0)
    block = m.add_body("block", mass=2.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), block.at(0, 0), axis=(1, 0))
    m.add_actuator("motor", joint="rail", input="force")
    eqs = da.equations(m)
    run = da.simulate(eqs, 1.0, inputs={"force": lambda t: 4 * t}, every=0.25)
    assert da.forward_dynamics(eqs, run)["block.ax"] == pytest.approx(2 * run.time)
    assert da.forward_dynamics(eqs, run, inputs={"force": 6.0})["block.ax"] == pytest.approx(np.full(5, 3.0))


def test_a_record_without_all_states_is_refused_with_the_channel_that_is_missing() -> None:
    eqs = da.equations(da.read_model("four-bar"))
    run = da.simulate(eqs, 0.1, every=0.05)
    part = da.Record(run.time, run[["crank.x"]], ["crank.x"])
    with raises(DataError, "missing-channel"):
        da.forward_dynamics(eqs, part)


def test_stick_and_slip_depends_on_the_past() -> None:
    m = da.Mechanism("block", planar=True)
    block = m.add_body("block", mass=2.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), block.at(0, 0), axis=(1, 0))
    m.add_friction("dry", "rail", coulomb=0.3)
    eqs = da.equations(m)
    with raises(ModelError, "not-supported"):
        da.forward_dynamics(eqs, da.simulate(eqs, 0.1, every=0.05))
