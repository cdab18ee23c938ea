"""Inertia geared to a joint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from tests.helpers.repetitions import few


def double_pendulum() -> da.Mechanism:
    m = da.Mechanism("arm", planar=True)
    upper, lower = (m.add_body(name, mass=1.0, inertia=da.rod(1.0)) for name in ("upper", "lower"))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("B", upper.at(0.5, 0), lower.at(-0.5, 0))
    m.add_actuator("motor", joint="B", input="torque")
    m.add_rotor("rotor", joint="B", inertia=2e-4, ratio=50)
    return m


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_the_torque_grows_by_its_inertia_times_the_square_of_the_ratio(coordinates: str) -> None:
    m = double_pendulum()
    motion = {"A": lambda t: 0.3 * t, "B": lambda t: t * t}
    with_rotor = da.inverse_dynamics(da.equations(m, coordinates=coordinates), motion, times=[0.0, 0.5])
    del m.forces[-1]
    without = da.inverse_dynamics(da.equations(m, coordinates=coordinates), motion, times=[0.0, 0.5])
    # of an acceleration of 2 rad/s²: 2e-4 · 50² · 2
    assert with_rotor["torque"] - without["torque"] == pytest.approx(1.0, abs=1e-10)


def test_it_goes_through_a_model_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    da.write_model(double_pendulum(), path)
    assert da.read_model(path).forces[-1] == double_pendulum().forces[-1]


def geared_chain(count: int) -> da.Mechanism:
    m, below = da.Mechanism("chain"), None
    for k in range(count):
        link = m.add_body(f"link{k}", mass=1.0 + 0.1 * k, inertia=(0.02, 0.03, 0.04))
        near = m.ground.at(0, 0, 0) if below is None else below.at(0.2, 0, 0)
        m.add_revolute(f"J{k}", near, link.at(-0.2, 0, 0.01), axis=(k % 2, 1, 0.3))
        if k % 3 != 1:
            m.add_rotor(f"R{k}", joint=f"J{k}", inertia=1e-4, ratio=30.0 + k)
        below = link
    m.add_sensor("carried", da.reaction(f"J{count // 2}"))
    return m


@pytest.mark.parametrize("count", few([3, 11]))
def test_in_joint_coordinates_a_rotor_is_inertia_of_its_joint(count: int) -> None:
    """No row, no coordinate of its own; accelerations, reactions, energy and the rotor's angle as with both."""
    m = geared_chain(count)
    plain, joint = da.equations(m), da.equations(m, coordinates="joint")
    assert (joint.nv, len(joint.rows)) == (count, 0)
    angles = {f"J{k}": 0.3 * (-1) ** k for k in range(count)}
    rates = {f"J{k}": 0.5 + 0.1 * k for k in range(count)}
    states = [da.assemble(eqs, angles, velocity=rates) for eqs in (plain, joint)]
    assert states[1]["R0.angle"] == pytest.approx(states[0]["R0.angle"], abs=1e-9)
    runs = [da.simulate(state.eqs, 0.01, start=state, every=0.01) for state in states]
    for name in [*(f"J{k}.rate" for k in range(count)), "energy.kinetic", "carried.force.x", "carried.torque.z"]:
        assert runs[1][name] == pytest.approx(runs[0][name], rel=1e-8, abs=1e-8), name
    M = da.tree.mass_matrix(joint, states[1])
    without = da.equations(replace_rotors(m), coordinates="joint")
    added = M - da.tree.mass_matrix(without, without.state(states[1].q, states[1].v))
    assert added[joint.speeds.index["J0.rate"], joint.speeds.index["J0.rate"]] == pytest.approx(0.09, rel=1e-12)
    tau = np.arange(1.0, count + 1)
    a = da.tree.forward_dynamics(joint, states[1], tau)
    assert da.tree.inverse_dynamics(joint, states[1], a) == pytest.approx(tau, abs=1e-9)


def replace_rotors(m: da.Mechanism) -> da.Mechanism:
    m.forces = [force for force in m.forces if force.kind != "rotor"]
    return m


@pytest.mark.parametrize("count", few([4, 11]))  # straight code, and vectors
def test_derivatives_of_both_dynamics_know_rotors(count: int) -> None:
    """M of the inverse, its inverse of the forward; by position as central differences, whose error is near 1e-8."""
    eqs = da.equations(geared_chain(count), coordinates="joint")
    q, v, a, tau = np.random.default_rng(0).normal(size=(4, count))
    state, step = eqs.state(q, v), 1e-6
    M = da.tree.mass_matrix(eqs, state)
    assert da.tree.inverse_dynamics_derivatives(eqs, state, a)[2] == pytest.approx(M, abs=1e-12)
    found = da.tree.forward_dynamics_derivatives(eqs, state, tau)
    assert found[2] @ M == pytest.approx(np.eye(count), abs=1e-10)
    sides = [da.tree.forward_dynamics(eqs, (q + sign * step * np.eye(count), v), tau) for sign in (1, -1)]
    assert found[0] == pytest.approx((sides[0] - sides[1]).T / (2 * step), abs=1e-7 * np.abs(found[0]).max())
