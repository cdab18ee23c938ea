"""Functions of trees against Pinocchio: random trees with joints of every kind, and real robots from their URDF files.

Both compute in doubles with condition numbers below 1e4 (mass matrices of the robots), so that 1e-9 of the largest
number of a result leaves room for 1e3 roundings; differences found are 1e-16 to 1e-13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.equations import EquationsOfMotion, State
from dalembert.tree.evaluation import evaluate
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.pinocchio_models import (
    REFERENCES,
    ROBOTS,
    Twin,
    agree,
    full,
    pin,
    read_robot,
    robot_file,
    twin_of,
    twin_of_file,
)

KINDS = ("revolute", "prismatic", "cylindrical", "screw", "planar", "universal", "spherical", "fixed", "floating")
joints = st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=7).filter(
    lambda chosen: any(kind != "fixed" for kind, _ in chosen)
)


def columns(J: Any, rows: int) -> Any:
    """A copy of a matrix; Pinocchio gives one of one column as a vector."""
    return np.array(J).reshape(rows, -1)


def compare_dynamics(eqs: EquationsOfMotion, twin: Twin, state: State) -> None:
    rng = np.random.default_rng(5)
    model, data, q, v, T, T_rate = (
        twin.model,
        twin.data,
        twin.q(state),
        twin.v(state),
        twin.T(state),
        twin.T_rate(state),
    )
    a, effort = rng.normal(size=eqs.nv), rng.normal(size=eqs.nv)
    M = full(pin.crba(model, data, q))
    agree(da.tree.mass_matrix(eqs, state), T.T @ M @ T, "mass matrix")
    agree(da.tree.inverse_dynamics(eqs, state, a), T.T @ pin.rnea(model, data, q, v, twin.a(state, a)), "RNEA")
    h = T.T @ pin.rnea(model, data, q, v, twin.drift(state))
    agree(da.tree.inverse_dynamics(eqs, state), h, "h")
    agree(da.tree.gravity(eqs, state), T.T @ pin.computeGeneralizedGravity(model, data, q), "gravity")
    C = T.T @ pin.computeCoriolisMatrix(model, data, q, v) @ T + T.T @ M @ T_rate
    agree(da.tree.coriolis_matrix(eqs, state), C, "Coriolis matrix")
    if T.shape[0] == T.shape[1]:  # of the open tree, whatever rows gear its joints
        found = pin.aba(model, data, q, v, np.linalg.solve(T.T, effort))
        agree(T @ evaluate(eqs, state, "forward_dynamics", tau=effort)[0], found - twin.drift(state), "ABA")
    kinetic, potential = da.tree.energies(eqs, state)
    agree(kinetic, pin.computeKineticEnergy(model, data, q, v), "kinetic energy")
    other = random_state(eqs, 11)
    drop = potential - da.tree.energies(eqs, other)[1]  # bodies that are welded to the ground do not count in Pinocchio
    theirs = [pin.computePotentialEnergy(model, data, x) for x in (q, twin.q(other))]
    agree(drop, theirs[0] - theirs[1], "potential energy")


def compare_momentum(eqs: EquationsOfMotion, twin: Twin, state: State) -> None:
    model, data, q, v, T, T_rate = (
        twin.model,
        twin.data,
        twin.q(state),
        twin.v(state),
        twin.T(state),
        twin.T_rate(state),
    )
    agree(da.tree.total_mass(eqs), pin.computeTotalMass(model), "mass")
    A = columns(pin.computeCentroidalMap(model, data, q), 6)
    agree(da.tree.centroidal_momentum_matrix(eqs, state), A @ T, "centroidal momentum matrix")
    agree(da.tree.centroidal_momentum(eqs, state), A @ v, "centroidal momentum")
    agree(da.tree.center_of_mass(eqs, state), pin.centerOfMass(model, data, q, v), "centre of mass")
    speed = np.array(data.vcom[0])
    agree(da.tree.center_of_mass_jacobian(eqs, state) @ state.v, speed, "velocity of the centre of mass")
    agree(
        da.tree.center_of_mass_jacobian(eqs, state),
        columns(pin.jacobianCenterOfMass(model, data, q), 3) @ T,
        "its Jacobian",
    )
    pin.computeCentroidalMapTimeVariation(model, data, q, v)  # needs the velocity of the centre of mass from above
    rate = columns(data.dAg, 6)
    agree(da.tree.centroidal_momentum_matrix_rate(eqs, state), rate @ T + A @ T_rate, "rate of the momentum matrix")


def compare_kinematics(eqs: EquationsOfMotion, twin: Twin, state: State, bodies: list[str]) -> None:
    model, data, q, v, T, T_rate = (
        twin.model,
        twin.data,
        twin.q(state),
        twin.v(state),
        twin.T(state),
        twin.T_rate(state),
    )
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    pin.forwardKinematics(model, data, q, v)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    for body in bodies:
        frame = twin.frames[body]
        agree(da.tree.forward_kinematics(eqs, state, body), data.oMf[frame].homogeneous, body)
        for name, reference in REFERENCES.items():
            J = columns(pin.getFrameJacobian(model, data, frame, reference), 6)
            J_rate = columns(pin.getFrameJacobianTimeVariation(model, data, frame, reference), 6)
            agree(da.tree.jacobian(eqs, state, body, reference=name), J @ T, f"Jacobian of {body}, {name}")
            rate = da.tree.jacobian_rate(eqs, state, body, reference=name)
            agree(rate, J_rate @ T + J @ T_rate, f"rate of the Jacobian of {body}, {name}")
            agree(da.tree.twist(eqs, state, body, reference=name), J @ v, f"twist of {body}, {name}")


@pytest.mark.spec("002-B3")
@given(joints, st.integers(0, 2**16))
@settings(max_examples=max(5, settings().max_examples // 4))
def test_random_trees_have_the_functions_that_pinocchio_computes(chosen: list[tuple[str, bool]], seed: int) -> None:
    m = random_tree([kind for kind, _ in chosen], [flip for _, flip in chosen], seed)
    eqs = da.equations(m, coordinates="joint")
    twin, state = twin_of(m), random_state(eqs, seed)
    compare_dynamics(eqs, twin, state)
    compare_momentum(eqs, twin, state)
    compare_kinematics(eqs, twin, state, [m.bodies[-1].name])


@pytest.mark.spec("002-B3")
@pytest.mark.filterwarnings("ignore::dalembert.core.errors.ModelWarning")
@pytest.mark.parametrize(("file", "free"), ROBOTS)
def test_robots_have_the_functions_that_pinocchio_computes_from_the_same_file(file: str, free: bool) -> None:
    m = read_robot(file, free=free)
    eqs = da.equations(m, coordinates="joint")
    twin = twin_of_file(robot_file(file), m, eqs, free=free)
    for seed in range(3):
        state = random_state(eqs, seed)
        compare_dynamics(eqs, twin, state)
        compare_momentum(eqs, twin, state)
        compare_kinematics(eqs, twin, state, [body.name for body in m.bodies[-2:]])
