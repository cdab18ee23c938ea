"""The regressor of a tree against Pinocchio's, after a change of the frames that parameters refer to.

A regressor is sums of some ten products of numbers up to 1e3 (speeds of 1 rad/s, lengths of 1 m, gravity): rounding is
1e-12, and 1e-9 is the agreement asked of two programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.equations import EquationsOfMotion
from dalembert.identify.robot.physical_consistency import pseudo_inertia
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.pinocchio_models import Twin, pin, robot_file, twin_of, twin_of_file

KINDS = ("revolute", "prismatic", "cylindrical", "screw", "planar", "universal", "spherical", "fixed")
trees = st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=5).filter(
    lambda joints: any(kind != "fixed" for kind, _ in joints)
)


def moved_parameters(H: FloatArray) -> FloatArray:
    """(10, 10) from parameters in one frame to those in another; H is the pose of the first in the second."""
    order = np.array([1, 2, 3, 0])  # the mass last
    columns = []
    for unit in np.eye(10):
        P = H @ pseudo_inertia(unit)[np.ix_(order, order)] @ H.T
        S = P[:3, :3]
        J = np.trace(S) * np.eye(3) - S
        columns.append([P[3, 3], *P[:3, 3], J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])
    return np.array(columns).T


def agree(eqs: EquationsOfMotion, twin: Twin, seed: int) -> None:
    state = random_state(eqs, seed)
    a = np.random.default_rng(seed).normal(size=eqs.nv)
    ours = da.tree.regressor(eqs, state, a)
    theirs = np.array(
        pin.computeJointTorqueRegressor(twin.model, twin.data, twin.q(state), twin.v(state), twin.a(state, a))
    ).reshape(twin.model.nv, -1)
    assert eqs.tree is not None
    places = np.array(eqs.tree.function("link_frames")(eqs.p, 0.0)).reshape(-1, 3, 4)
    expected = np.zeros_like(ours)
    for k, (body, place) in enumerate(zip(eqs.tree.bodies, places, strict=True)):
        frame: Any = twin.model.frames[twin.frames[body]]
        joint = frame.parentJoint
        if joint == 0:  # fixed to the ground
            continue
        H = np.array(frame.placement.homogeneous) @ np.vstack([place, [0, 0, 0, 1]])
        block = theirs[:, 10 * (joint - 1) : 10 * joint] @ moved_parameters(H)
        expected[:, 10 * k : 10 * (k + 1)] = twin.T(state).T @ block
    assert np.abs(ours - expected).max() < 1e-9 * (1 + np.abs(expected).max())


@given(trees, st.booleans(), st.integers(0, 2**16))
@settings(max_examples=3)
def test_random_trees_have_the_regressor_of_pinocchio(
    joints: list[tuple[str, bool]], floating: bool, seed: int
) -> None:
    m = random_tree([kind for kind, _ in joints], [flip for _, flip in joints], seed)
    if floating:  # a free body that carries another
        base, arm = (m.add_body(name, mass=1.5, inertia=[0.5, 0.6, 0.7]) for name in ("base", "arm"))
        m.add_revolute("shoulder", base.at(0.1, 0.2, 0.3), arm.at(0.3, -0.1, 0.2), axis=(1, 2, 3))
    agree(da.equations(m, coordinates="joint"), twin_of(m), seed)


@pytest.mark.parametrize(
    ("file", "base"),
    [
        pytest.param("ur_description/urdf/ur5_robot.urdf", "fixed", marks=pytest.mark.slow),
        pytest.param("solo_description/robots/solo12.urdf", "free", marks=pytest.mark.slow),
        pytest.param("simple_humanoid_description/urdf/simple_humanoid.urdf", "free", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore::dalembert.core.errors.ModelWarning")
def test_robots_have_the_regressor_of_pinocchio(file: str, base: str) -> None:
    path = robot_file(file)
    m = da.read_urdf(path, base=base, folders=[robot_file(".").parent])
    eqs = da.equations(m, coordinates="joint")
    agree(eqs, twin_of_file(path, m, eqs, free=base == "free"), 3)
