"""Closing of poses at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.estimate.kinematic import relations


def leading(gap: float = 0.0) -> SimpleNamespace:
    """Relations of one coordinate whose pose is led without effort."""
    one = SimpleNamespace(
        eqs=SimpleNamespace(p=None, nq=1, measures=SimpleNamespace(index={})), begin=np.zeros(1), led=0,
        coordinates=SimpleNamespace(names=("q",)), _stack=lambda *parts: (None, np.zeros(1)),
        _check_regular=lambda *parts: None,
    )  # fmt: skip

    def lead(q, *rest):
        one.led += 1
        return q, np.array([gap])

    one._lead = lead
    return one


def test_each_pose_of_a_record_is_closed_twice():
    one = leading()
    relations.MachineRelations.follow(one, np.zeros((3, 1)), np.zeros(3))
    assert one.led == 6


def posed(moved: float, joint: float = 0.0) -> SimpleNamespace:
    """Two speeds, one row that holds the second; the coordinate and a joint move by these shares of their gradients."""
    J = np.array([[0.0, 1.0], [moved, 1.0]])
    measures = SimpleNamespace(names=("joint.angle",))
    eqs = SimpleNamespace(
        rows=(0,), nv=2, p=None, name="it", measures=measures, recorded_measures=(0,),
        kernel=lambda name: lambda *parts: (None, None, np.array([[joint, 1.0]])),
    )  # fmt: skip
    return SimpleNamespace(eqs=eqs, _stack=lambda *parts: (J, None), coordinates=SimpleNamespace(names=("q",)))


@pytest.mark.parametrize(("joint", "advised"), [(3e-5, False), (3e-4, True)])
def test_another_coordinate_is_advised_where_it_is_a_hundred_times_better(joint, advised):
    with pytest.raises(ModelError) as caught:
        relations.MachineRelations._check_regular(posed(0.0, joint), np.zeros(1), np.zeros(1))
    assert ("joint.angle" in str(caught.value)) == advised
