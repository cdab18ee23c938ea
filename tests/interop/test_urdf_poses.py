"""The pose of a robot as it is read: all joints of the file at zero, as `neutral` of Pinocchio.

Places are sums and products of some ten matrices of order one: 1e-9 leaves room for the closing of the joints.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.errors import ModelWarning
from tests.helpers.pinocchio_models import pin, robot_file
from tests.helpers.repetitions import few

AGREEMENT = 1e-9
LINK = """<link name="{name}"><inertial><origin xyz="{place}"/><mass value="1"/>
  <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>"""
JOINT = """<joint name="j{k}" type="{kind}"><origin xyz="{place}" rpy="{turn}"/><parent link="l{parent}"/>
  <child link="l{k}"/><axis xyz="{axis}"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>"""
kinds = st.lists(st.sampled_from(["revolute", "continuous", "prismatic", "fixed"]), min_size=1, max_size=4)


def random_urdf(kinds: list[str], seed: int) -> str:
    random = np.random.default_rng(seed)

    def three(size: float) -> str:
        return " ".join(f"{x:.6f}" for x in random.uniform(-size, size, 3))

    parts = [LINK.format(name=f"l{k}", place=three(0.2)) for k in range(len(kinds) + 1)]
    for k, kind in enumerate(kinds, 1):
        parts.append(JOINT.format(k=k, kind=kind, place=three(0.5), turn=three(3.1), axis=three(1.0),
                                  parent=random.integers(k)))  # fmt: skip
    return f'<robot name="tree">{"".join(parts)}</robot>'


def compare(m: da.Mechanism, path: Path, free: bool, coordinates: Any) -> None:
    """Joint values are zero, and every body is where Pinocchio has it."""
    state = da.assemble(da.equations(m, coordinates=coordinates))
    for name in (f"{joint.name}.{own.name}" for joint in m.joints for own in joint.coordinates):
        assert abs(float(state[name])) < AGREEMENT, name
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if free else pin.buildModelFromUrdf(str(path))
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    for body in m.bodies:
        pose = data.oMf[model.getFrameId(body.name)]
        centre = np.array(body.center or (0.0, 0.0, 0.0), dtype=float)
        ours = [float(state[f"{body.name}.{c}"]) for c in "xyz"]
        np.testing.assert_allclose(ours, pose.act(centre), atol=AGREEMENT, err_msg=body.name)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@settings(max_examples=4, deadline=None)
@given(kinds=kinds, seed=st.integers(0, 2**32 - 1))
def test_a_tree_with_turned_origins_is_read_at_zero(free: bool, coordinates: str, kinds: list[str], seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tree.urdf"
        path.write_text(random_urdf(kinds, seed))
        compare(da.read_urdf(path, base="free" if free else "fixed"), path, free, coordinates)


@pytest.mark.parametrize("coordinates", few(["joint", "absolute"]))
def test_a_quadruped_stands_in_the_zero_pose_of_its_file(coordinates: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        path = robot_file("hyq_description/robots/hyq_no_sensors.urdf")
        compare(da.read_urdf(path, base="free", pictures=False), path, True, coordinates)
