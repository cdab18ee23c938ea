"""The balance of efforts along a motion: drawn friction and motors, closed chains, inputs that do not serve."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DataError, ModelError
from dalembert.identify.robot.measured_motion import read_channels, read_motions
from dalembert.identify.robot.torque_balance import TorqueBalance
from dalembert.tree.regressor import read_joint_columns
from tests.helpers.robots import TERMS, fourier_motion, measured_record, planar_arm

LIBRARY = Path(da.__file__).parent / "library"
T = np.arange(0.0, 2.0, 0.01)


def balance_of(m: da.Mechanism, record: da.Record, inputs: object = None) -> TorqueBalance:
    eqs = da.equations(m, coordinates="joint")
    channels = read_channels(eqs, (record,), None, inputs, efforts=True)  # type: ignore[arg-type]
    return TorqueBalance(eqs, channels, read_joint_columns(eqs, ("viscous", "coulomb"), True, None))


def arm_record() -> da.Record:
    eqs = da.equations(planar_arm(), coordinates="joint")
    return measured_record(eqs, fourier_motion(eqs, T), T)


def test_the_drawing_explains_its_own_torques() -> None:
    m, record = planar_arm(), arm_record()
    own = balance_of(m, record)
    motions, _ = read_motions(own.eqs, record, own.channels, cutoff_hz=None, decimate=None)
    for _, block in own.blocks(motions[0]):
        np.testing.assert_allclose(block.target, 0.0, atol=1e-10)
        np.testing.assert_allclose(block.gain, 1.0)
    assert own.names == ("uA", "uB") and own.drawn_values().tolist() == [0.0] * 6


def test_drawn_friction_and_motors_have_their_values() -> None:
    m = planar_arm()
    m.add_friction("fA", "A", viscous=0.7, effort=1.5)
    m.add_damper("dB", joint="B", damping=0.2)
    m.add_rotor("rB", "B", inertia=1e-4, ratio=50)
    found = dict(
        zip([f"{j}.{t}" for j in "AB" for t in TERMS], balance_of(m, arm_record()).drawn_values(), strict=True)
    )
    # the smooth law of 1e-3 rad/s is within 1e-10 of its limit at 100 rad/s
    assert found == pytest.approx(
        {"A.viscous": 0.7, "A.coulomb": 1.5, "A.rotor": 0.0, "B.viscous": 0.2, "B.coulomb": 0.0, "B.rotor": 0.25},
        abs=1e-8,
    )


def test_an_effort_per_input_is_a_gain() -> None:
    m = planar_arm()
    m.forces[0] = type(m.forces[0])("motorA", "A", input="uA", effort=20.0)
    record = arm_record()
    own = balance_of(m, record)
    motions, _ = read_motions(own.eqs, record, own.channels, cutoff_hz=None, decimate=None)
    _, block = next(own.blocks(motions[0]))
    np.testing.assert_allclose(block.gain[:, 0], 20.0)
    np.testing.assert_allclose(block.effort[:, 0], 20.0 * motions[0].u[:, 0])


def test_joints_without_an_input_have_no_effort_and_those_left_out_no_row() -> None:
    m = planar_arm(3)
    del m.forces[2]
    eqs = da.equations(m, coordinates="joint")
    record = measured_record(eqs, fourier_motion(eqs, T), T)  # of A and B; C swings freely
    assert [row.label for row in balance_of(m, record).rows] == ["A", "B", "C"]
    assert [row.label for row in balance_of(m, record, ["uA"]).rows] == ["A", "C"]


def test_a_closed_chain_is_balanced_along_its_driven_joint() -> None:
    m = da.read_model(LIBRARY / "four-bar.toml")
    eqs = da.equations(m, coordinates="joint")
    (driven,) = eqs.inputs.names
    run = da.simulate(eqs, 1.0, inputs={driven: lambda t: 0.2 * da.sin(3 * t)}, every=0.01)
    own = balance_of(m, run)
    assert len(own.rows) == 1
    motions, _ = read_motions(own.eqs, run, own.channels, cutoff_hz=None, decimate=None)
    for _, block in own.blocks(motions[0]):
        # joints are closed and accelerations solved to some 1e-10
        np.testing.assert_allclose(block.target, 0.0, atol=1e-7)


def test_inputs_that_act_on_no_joint_alone_are_refused() -> None:
    m = planar_arm()
    rod = m["rod2"]
    m.add_force("push", rod.at(0.25, 0), (1, 0), input="uB")
    with pytest.raises(ModelError) as caught:
        balance_of(m, arm_record())
    assert caught.value.code == "not-supported" and caught.value.where["input"] == "uB"


def test_friction_that_depends_on_reactions_is_refused() -> None:
    m = planar_arm()
    m.add_friction("fA", "A", coulomb=0.1, radius=0.02)
    with pytest.raises(ModelError) as caught:
        balance_of(m, arm_record())
    assert caught.value.code == "not-supported"


def test_an_effort_given_twice_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        balance_of(planar_arm(), arm_record(), {"uA": "uA", "A": "uB"})
    assert caught.value.code == "conflicting-arguments"
