"""Rounding of a reduced model: when it warns, when it refuses, and which masters it names."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelWarning
from dalembert.structures.reduction.partition import judge_rounding
from tests.helpers.findings import raises, warns

EPS = 2.0**-52


def judge(error: float, shapes: Any = None) -> None:
    """Two masters of unit mass; ½ ε (1 + s) / s is the error of the lower ω², s."""
    square = 0.5 * EPS / error
    split: Any = SimpleNamespace(names=("tip.x", "root.y"))
    shapes = np.eye(2) if shapes is None else shapes
    judge_rounding(split, "guyan", np.eye(2), np.diag([square, 1.0]), np.array([square, 1.0]), shapes)


def test_rounding_warns_above_a_millionth_and_refuses_above_a_hundredth() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge(0.9e-6)
    with warns(ModelWarning, "ill-conditioned"):
        judge(1.1e-6)
    with warns(ModelWarning, "ill-conditioned"):
        judge(0.9e-2)
    with raises(DataError, "ill-conditioned"):
        judge(1.1e-2)


@pytest.mark.parametrize(("part", "named"), [(0.09, False), (0.11, True)])
def test_masters_with_a_tenth_of_the_largest_part_are_named(part: float, named: bool) -> None:
    """The motion that the shapes show least is (1, part)."""
    turn = np.array([[-part, 1.0], [1.0, part]]) / np.hypot(1.0, part)
    with warns(ModelWarning, "ill-conditioned", "tip.x") as found, nullcontext():
        judge(1e-4, turn @ np.diag([1.0, 0.5]))
    assert ("root.y" in str(found[0].message)) is named
