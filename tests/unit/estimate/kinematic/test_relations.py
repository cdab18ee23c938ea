"""Closing of poses at the edges of its thresholds."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.estimate.kinematic import relations
from tests.helpers.findings import raises


class Called(Exception):
    pass


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


@pytest.mark.parametrize(("gap", "is_open"), [(3e-11, False), (3e-10, True)])
def test_a_pose_open_by_1e_10_is_assembled_another_way(gap, is_open, monkeypatch):
    def assemble(*parts):
        raise Called

    monkeypatch.setattr(relations, "assemble", assemble)
    with pytest.raises(Called) if is_open else nullcontext():
        relations.MachineRelations.start(leading(gap), {"q": 1.0})


@pytest.mark.parametrize(("target", "steps"), [(1.0, 20), (1e4, 10_000)])
def test_a_pose_is_led_in_steps_of_a_twentieth_ten_thousand_at_most(target, steps):
    one = leading()
    relations.MachineRelations.start(one, {"q": target})
    assert one.led == steps


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


@pytest.mark.parametrize(("moved", "dead"), [(3e-7, True), (3e-6, False)])
def test_a_coordinate_that_moves_by_a_millionth_is_at_a_dead_point(moved, dead):
    with raises(ModelError, "dead-point") if dead else nullcontext():
        relations.MachineRelations._check_regular(posed(moved), np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(("joint", "advised"), [(3e-5, False), (3e-4, True)])
def test_another_coordinate_is_advised_where_it_is_a_hundred_times_better(joint, advised):
    with pytest.raises(ModelError) as caught:
        relations.MachineRelations._check_regular(posed(0.0, joint), np.zeros(1), np.zeros(1))
    assert ("joint.angle" in str(caught.value)) == advised
