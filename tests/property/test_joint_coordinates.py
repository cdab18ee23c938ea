"""Random trees in joint coordinates against the same trees in absolute coordinates: two independent formulations.

Trees of four joints of every kind differed by at most 1e-13 at states like these, mostly by the constrained solve in
absolute coordinates; 1e-9 is the agreement asked of two formulations.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from tests.helpers.joint_coordinates import absolute_state, random_state, random_tree

KINDS = ("revolute", "prismatic", "cylindrical", "screw", "planar", "universal", "spherical", "fixed")
trees = st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=5).filter(
    lambda joints: any(kind != "fixed" for kind, _ in joints)
)


@pytest.mark.spec("002-B3")
@given(trees, st.integers(0, 2**16))
@settings(max_examples=12)
def test_trees_move_alike_in_joint_and_in_absolute_coordinates(joints: list[tuple[str, bool]], seed: int) -> None:
    m = random_tree([kind for kind, _ in joints], [flip for _, flip in joints], seed)
    by_joints, plain = da.equations(m, coordinates="joint"), da.equations(m)
    state = random_state(by_joints, seed)
    same = absolute_state(by_joints, state, plain)
    closed = np.concatenate(
        (plain.kernel("position")(same.q, plain.p, 0.0)[0], plain.kernel("rates")(same.q, same.v, plain.p, 0.0)[0])
    )
    assert np.abs(closed).max() < 1e-12  # poses of the bodies close every joint
    one, other = da.forward_dynamics(by_joints, state), da.forward_dynamics(plain, same)
    names = plain.measures.names
    accelerations = np.array([[one[n], other[n]] for n in names])
    assert np.abs(np.diff(accelerations)).max() < 1e-9 * (1 + np.abs(accelerations).max())
    reactions = np.array([[one[n], other[n]] for n in plain.reaction_channels.names])
    assert np.abs(np.diff(reactions)).max() < 1e-9 * (1 + np.abs(reactions).max())
    energies = [
        np.ravel(eqs.kernel("energy")(s.q, s.v, s.z, eqs.p, 0.0)) for eqs, s in ((by_joints, state), (plain, same))
    ]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-12, atol=1e-12)
