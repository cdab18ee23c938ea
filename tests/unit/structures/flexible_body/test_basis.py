"""When modes are dependent, equal, still or rigid: the numbers just inside and just outside."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures.flexible_body import basis
from tests.helpers.findings import raises


def point(stiffness: Any = None) -> Any:
    """One point that moves along x and y."""
    K = np.diag([1.0, 2.0]) if stiffness is None else stiffness
    return SimpleNamespace(
        name="body", points=("a",), directions=("x", "y"), positions=np.zeros((1, 2)), K=K,
        reduce=lambda matrix: matrix, rigid_motions=lambda: np.ones((2, 1)), rigid_names=("x",),
    )  # fmt: skip


def count_modes(shapes: list[list[float]]) -> int:
    body: Any = SimpleNamespace(structure=point(), M_full=np.eye(2))
    return len(basis.diagonalise(body, np.array(shapes)).squares)


@pytest.mark.parametrize(("value", "count"), [(0.9e-10, 1), (1.1e-10, 2)])
def test_modes_are_dependent_below_an_eigenvalue_of_1e_10(value: float, count: int) -> None:
    """Unit shapes at an angle θ have the eigenvalues 1 ± cos θ."""
    angle = np.sqrt(2.0 * value)
    assert count_modes([[1.0, np.cos(angle)], [0.0, np.sin(angle)]]) == count


@pytest.mark.parametrize(("size", "count"), [(0.9e-11, 1), (1.1e-11, 2)])
def test_a_shape_below_1e_11_of_the_largest_is_rounding(size: float, count: int) -> None:
    assert count_modes([[1.0, 0.0], [0.0, size]]) == count


@pytest.mark.parametrize(("apart", "groups"), [(0.9e-7, [slice(0, 2)]), (1.1e-7, [])])
def test_modes_within_1e_7_have_one_frequency(apart: float, groups: list[slice]) -> None:
    assert basis.equal_squares(np.array([1.0, 1.0 + apart])) == groups


@pytest.mark.parametrize(("motion", "still"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_mode_is_still_along_an_axis_below_a_billionth(motion: float, still: bool) -> None:
    assert bool(basis.quiet_axes(point(), np.array([[1.0], [motion]]))[1, 0] == 0.0) is still


@pytest.mark.parametrize(("force", "free"), [(1.8e-9, True), (2.2e-9, False)])
def test_a_rigid_motion_meets_a_billionth_of_the_force_at_most(force: float, free: bool) -> None:
    """Two springs of 1 N/m act against each other: terms of 2 N."""
    stiffness = np.array([[1.0, force - 1.0], [force - 1.0, 1.0]])
    with nullcontext() if free else raises(ModelError, "few-rigid-modes"):
        basis.make_body(point(stiffness), np.eye(2))


@pytest.mark.parametrize(("square", "refused"), [(-0.9e-9, False), (-1.1e-9, True)])
def test_a_negative_stiffness_below_a_billionth_is_rounding(square: float, refused: bool) -> None:
    with raises(ModelError, "negative-eigenvalue") if refused else nullcontext():
        basis._refuse_negative("body", np.array([square, 1.0]))
