"""Machines as systems in symbols: every formalism in its domain gives the accelerations of `da.forward_dynamics`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS
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
    rates = np.linalg.solve(yaw_pitch_roll_rates(pitch, roll), state.v[j : j + 3])
    return dict(zip(("yaw", "pitch", "roll"), zip((yaw, pitch, roll), rates)))


def yaw_pitch_roll_rates(pitch: float, roll: float) -> np.ndarray:
    """ω in body axes per rates of yaw, pitch and roll."""
    return np.array(
        [
            [-np.sin(pitch), 0, 1],
            [np.cos(pitch) * np.sin(roll), np.cos(roll), 0],
            [np.cos(pitch) * np.cos(roll), -np.sin(roll), 0],
        ]
    )


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


def hung_body(kind: str, *, backwards: bool) -> da.Mechanism:
    """A body on a turned stand, by one joint, given from either side."""
    m = da.Mechanism(kind)
    stand = m.add_body("stand", mass=2.0, inertia=(0.2, 0.3, 0.4), rotation=da.rotation(vector=(0.2, 0.0, 0.1)))
    plate = m.add_body("plate", mass=1.0, inertia=(0.1, 0.2, 0.25), rotation=da.rotation(vector=(0.2, 0.1, 0.3)))
    m.add_revolute("base", m.ground.at(0, 0, 0), stand.at(0.1, 0, -0.3), axis=(0, 1, 1))
    options: dict[str, Any] = {"screw": {"lead": 0.4}, "universal": {"second_axis": (0, 1, 0)}}.get(kind, {})
    sides = (stand.at(0.2, 0.1, 0.3), plate.at(0, -0.2, 0.1))
    m.add_joint(kind, "J", *(sides[::-1] if backwards else sides), **options)
    return m


KINDS = [name for name, own in JOINT_EQUATIONS.items() if own.motion is not None]


@pytest.mark.parametrize(
    ("kind", "backwards"), [("cylindrical", False), ("free", False), *((one, True) for one in KINDS)]
)
def test_every_kind_with_a_motion_carries_a_body_without_rows(kind: str, backwards: bool) -> None:
    """Accelerations of all coordinates but angles of balls are those of the machine in joint coordinates."""
    m = hung_body(kind, backwards=backwards)
    eqs = da.equations(m, coordinates="joint")
    d = from_mechanism(m, "lagrange")
    assert d.system.constraints == [] and "base.angle" in d.system.coordinate_names
    ball = JOINT_EQUATIONS[kind].motion.ball
    shared = [name for name in d.system.coordinate_names if name in eqs.coordinates.index]
    turned = [name for name in d.system.coordinate_names if name not in shared]
    assert [name.rpartition(".")[2] for name in turned] == (["yaw", "pitch", "roll"] if ball else [])
    angles = dict(zip(turned, (0.3, -0.4, 0.5), strict=False))
    q = {name: 0.2 + 0.1 * k for k, name in enumerate(shared)} | angles
    v = {name: 0.7 - 0.3 * k for k, name in enumerate(q)}
    state_q, state_v = dict(q), {name: v[name] for name in shared}
    rates = {c.name: c.rate for joint in m.joints for c in joint.coordinates}
    state_v = {f"{name.rpartition('.')[0]}.{rates[name.rpartition('.')[2]]}": x for name, x in state_v.items()}
    if turned:
        R = da.rotation(tait_bryan=tuple(angles.values())[::-1])
        state_q |= dict(zip((f"J.e{k}" for k in range(4)), R.quaternion, strict=True))
        _, pitch, roll = angles.values()
        omega = yaw_pitch_roll_rates(pitch, roll) @ [v[name] for name in turned]
        state_v |= dict(zip(("J.wx", "J.wy", "J.wz"), omega, strict=True))
    state = eqs.state([state_q[n] for n in eqs.coordinates.names], [state_v[n] for n in eqs.speeds.names])
    known, found = da.forward_dynamics(eqs, state), d.solve(q, v)
    for name, value in zip(d.system.coordinate_names, found.acceleration, strict=True):
        if name in shared:
            assert value == pytest.approx(known[name], rel=CLOSE, abs=CLOSE * np.abs(known.acceleration).max())


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
