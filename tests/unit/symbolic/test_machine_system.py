"""Machines as systems in symbols: every formalism in its domain gives the accelerations of `da.forward_dynamics`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.from_mechanism import from_mechanism
from dalembert.symbolic.machine_system import system_of_mechanism
from tests.helpers.findings import raises

# regularized rows of the forward dynamics, and masses over a range of 1e4, leave six digits of sixteen
CLOSE = 1e-9
ROTATIONS = ("yaw", "pitch", "roll", "e0", "e1", "e2", "e3")


def turned(state: Any, body: str) -> dict[str, tuple[float, float]]:
    """Yaw, pitch and roll of a body, and their rates, from its Euler parameters and its angular velocity."""
    eqs = state.eqs
    k, j = eqs.coordinates.index[f"{body}.e0"], eqs.speeds.index[f"{body}.wx"]
    w, x, y, z = state.q[k : k + 4]
    pitch = np.arcsin(-2 * (x * z - w * y))
    yaw = np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
    roll = np.arctan2(2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
    omega = np.array(
        [
            [-np.sin(pitch), 0, 1],
            [np.cos(pitch) * np.sin(roll), np.cos(roll), 0],
            [np.cos(pitch) * np.cos(roll), -np.sin(roll), 0],
        ]
    )
    rates = np.linalg.solve(omega, state.v[j : j + 3])
    return dict(zip(("yaw", "pitch", "roll"), zip((yaw, pitch, roll), rates)))


def start_of(system: Any, state: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Coordinates and rates of the system at a state of the machine."""
    eqs = state.eqs
    qdot = eqs.kernel("kinematics")(state.q, eqs.p, state.t)[0] @ state.v
    q, v = {}, {}
    for name in system.coordinate_names:
        owner, _, last = name.rpartition(".")
        if name in eqs.coordinates.index:
            q[name], v[name] = (float(x[eqs.coordinates.index[name]]) for x in (state.q, qdot))
        elif last in ROTATIONS:
            q[name], v[name] = turned(state, owner)[last]
        else:
            q[name], v[name] = state[name], state[eqs.measure_rates.names[eqs.measures.index[name]]]
    return q, v


CASES = [
    ("double-pendulum", "lagrange", "joint"),
    ("double-pendulum", "hamilton", "joint"),
    ("cart-pendulum", "newton_euler", "joint"),
    ("cart-pendulum", "kane", "absolute"),
    ("four-bar", "kane", "joint"),
    ("four-bar", "maggi", "joint"),
    ("four-bar", "lagrange_multipliers", "absolute"),
    ("quarter-car", "udwadia_kalaba", "joint"),
    ("excavator", "kane", "joint"),
    ("whitworth", "gauss", "joint"),
    ("scara", "gibbs_appell", "joint"),
    ("scara", "virtual_work", "absolute"),
    ("rolling-disc", "kane", "joint"),
    ("rolling-disc", "boltzmann_hamel", "joint"),
    ("rolling-disc", "lagrange_multipliers", "absolute"),
    ("bicycle", "lagrange_multipliers", "joint"),
    ("top", "kane", "absolute"),
    ("elastic-slider-crank", "lagrange_multipliers", "joint"),
]


@pytest.mark.parametrize(("machine", "formalism", "coordinates"), CASES)
def test_a_formalism_gives_the_accelerations_of_the_machine(machine: str, formalism: str, coordinates: str) -> None:
    m = da.read_model(machine)
    eqs = da.equations(m)
    state = da.assemble(eqs, **m.start)
    inputs = {name: 0.3 * (k + 1) for k, name in enumerate(eqs.inputs.names)}
    known = da.forward_dynamics(eqs, state, inputs=inputs)
    d = from_mechanism(m, formalism, coordinates=coordinates)
    found = d.solve(*start_of(d.system, state), inputs=inputs, t=state.t)
    compared = 0
    for name, value in zip(d.system.coordinate_names, found.acceleration):
        if name.rpartition(".")[2] not in ROTATIONS:
            assert value == pytest.approx(known[name], rel=CLOSE, abs=CLOSE * np.abs(known.acceleration).max())
            compared += 1
    assert compared


def test_joints_of_a_tree_leave_no_rows_and_loops_leave_those_of_one_joint() -> None:
    assert system_of_mechanism(da.read_model("six-joint-arm")).constraints == []
    loop = system_of_mechanism(da.read_model("four-bar"))
    assert loop.coordinate_names == ["A.angle", "B.angle", "C.angle"]
    assert {row.name for row in loop.constraints} == {"D"}


def test_a_free_body_has_three_angles_and_an_absolute_one_euler_parameters() -> None:
    m = da.read_model("rolling-disc")
    assert system_of_mechanism(m).coordinate_names[3:] == ["disc.yaw", "disc.pitch", "disc.roll"]
    assert system_of_mechanism(m, "absolute").coordinate_names[3:] == [f"disc.e{k}" for k in range(4)]


def test_internal_states_and_friction_on_reactions_are_refused_by_name() -> None:
    with raises(da.errors.ModelError, "not-supported", "left.motor.current"):
        system_of_mechanism(da.read_model("five-bar"))
    m = da.Mechanism("braked", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("pivot", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_friction("brake", joint="pivot", coulomb=0.2, radius=0.01, speed=0.01)
    with raises(da.errors.ModelError, "not-supported", "braked"):
        system_of_mechanism(m)


def test_a_derivation_of_a_machine_simulates_like_the_machine() -> None:
    m = da.read_model("double-pendulum")
    eqs = da.equations(m)
    derived = da.equations(from_mechanism(m, "lagrange"))
    start = da.assemble(eqs, **m.start)
    names = derived.coordinates.names
    other = derived.state([start[name] for name in names], [start[name.replace("angle", "rate")] for name in names])
    tight = da.DormandPrince(rtol=1e-10, atol=1e-10)
    one = da.simulate(eqs, 1.0, start=start, method=tight)
    two = da.simulate(derived, 1.0, start=other, method=tight)
    for name in names:  # ten times the tolerance of both runs, over a second of a motion that is not chaotic yet
        assert two[name][-1] == pytest.approx(one[name][-1], abs=1e-8)
