"""A goal of another package: written here, used by `da.control.structured`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import dalembert as da
from dalembert.control.structured.goal import GOALS, DesignGoal


class GainGoal(DesignGoal):
    """The direct part of the controller is at most a number."""

    kind: ClassVar[str] = "gain"
    needs_stability: ClassVar[bool] = False

    def __init__(self, most: float) -> None:
        self.most = most

    @property
    def limit(self) -> float:
        return self.most

    def prepare(self, family):
        return self.most / np.outer(family.inputs, 1.0 / family.outputs)

    def evaluate(self, prepared, loops, penalty):
        nu, ny = prepared.shape
        direct = loops.K[:, :nu, :ny]
        value, slope = penalty(np.abs(direct) / prepared)
        loops.gradient[:, :nu, :ny] += slope * np.sign(direct) / prepared
        return value

    def measure(self, model, controller):
        return float(np.abs(controller.D).max())


@pytest.fixture
def registered():
    GOALS.register("gain", GainGoal)
    yield GOALS["gain"]
    GOALS.unregister("gain")


def test_a_goal_of_another_package_takes_part(registered) -> None:
    plant = da.StateSpace([[0, 1], [-1, 0]], [0, 1], inputs="force", states=["x", "v"])
    hard = [da.control.DampingGoal(0.3), registered(0.8)]
    design = da.control.structured(plant, da.control.StaticGain(), hard=hard)
    assert [goal.holds for goal in design.goals] == [True, True]
    assert design.goals[1].goal == "gain <= 0.8"
