"""Closing of poses at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

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
