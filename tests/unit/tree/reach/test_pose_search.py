"""The search for a pose: its limits, just inside and just outside."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.tree.reach import inverse_kinematics, pose_search
from dalembert.tree.reach.pose_search import PoseSearch


def state(**parts: Any) -> Any:
    return SimpleNamespace(**{"tolerance": 1e-10, "settled": 1e-12, "t": 0.0, **parts})


@pytest.mark.parametrize(
    ("gap", "reduction", "ends"),
    [
        (0.9e-12, 0.5, True),  # a hundredth of the tolerance
        (1.1e-12, 0.5, False),
        (1.0, 0.9e-12, True),  # a minimum that is no solution
        (1.0, 1.1e-12, False),
    ],
)
def test_a_search_ends_below_its_tolerance_or_at_a_minimum(gap: float, reduction: float, ends: bool) -> None:
    before: Any = SimpleNamespace(value=1.0)
    after: Any = SimpleNamespace(value=1.0 - reduction, gap=gap)
    step: Any = None
    assert PoseSearch.is_settled(state(), before, after, step) is ends


@pytest.mark.parametrize(("predicted", "rounding"), [(0.9e-15, True), (1.1e-15, False)])
def test_a_predicted_reduction_of_1e_15_is_rounding(predicted: float, rounding: bool) -> None:
    point: Any = SimpleNamespace(value=1.0, gap=1.0)
    step: Any = SimpleNamespace(predicted=predicted)
    assert PoseSearch.is_rounding(state(), point, None, step) is rounding


@pytest.mark.parametrize(("value", "free"), [(0.9e-10, 1), (1.1e-10, 0)])
def test_a_loop_leaves_a_direction_free_below_1e_10(value: float, free: int) -> None:
    assert pose_search._null_space(np.diag([1.0, value])).shape[1] == free


def test_a_search_has_100_steps_with_dampings_from_1e_13_to_1e8(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is a thousandth; a smallest reduction of 1e-12 ends it, of a thousandth for one start among several."""
    given: list[Any] = []
    monkeypatch.setattr(
        pose_search, "minimise", lambda *at: given.append((at[2:], at[0].settled)) or SimpleNamespace(point=None)
    )
    point: Any = SimpleNamespace(q=None, gap=1.0)
    one = state(at=lambda q: point)
    PoseSearch.search(one, point, [])
    ((damping, most), settled) = given[0]
    assert (damping.first, damping.least, damping.most, most, settled) == (1e-3, 1e-13, 1e8, 100, 1e-12)


def test_a_step_changes_a_coordinate_by_0_7_at_most() -> None:
    one = state(bounds=lambda point: (np.zeros((0, 1)), np.zeros(0)))
    for gap, change in ((0.69, -0.69), (0.71, -0.7)):
        point: Any = SimpleNamespace(A=np.zeros((0, 1)), J=np.eye(1), r=np.array([gap]))
        assert float(PoseSearch.step(one, point, 0.0).change[0]) == pytest.approx(change)


def test_coordinates_that_follow_keep_1e_11_from_their_limits() -> None:
    ranges = SimpleNamespace(low=np.array([0.0]), high=np.array([np.inf]))
    point: Any = SimpleNamespace(c=np.array([1e-11 + 1e-12]), C=np.eye(1))
    _, room = PoseSearch.bounds(state(follows=np.array([True]), ranges=ranges), point)
    assert room == pytest.approx([1e-12], rel=1e-3)


@pytest.mark.parametrize(("gap", "steps"), [(0.9e-12, 0), (1.1e-12, 12)])
def test_loops_are_closed_to_1e_12_in_12_steps_or_not_at_all(
    gap: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    rows = SimpleNamespace(sparse=lambda *at: np.eye(1))
    kernels: dict[str, Any] = {
        "position": lambda *at: (np.array([gap]),),
        "rows": rows,
        "kinematics": lambda *at: [1.0],
    }
    monkeypatch.setattr(pose_search, "least_change", lambda *at: made.append(1) or np.zeros(1))
    monkeypatch.setattr(pose_search, "normalised_numbers", lambda eqs, q: q)
    eqs = SimpleNamespace(nq=1, nv=1, nz=0, nu=0, p=None, holonomic_rows=[0], kernel=kernels.__getitem__)
    one = state(eqs=eqs, _at_limits=lambda q: [], within=lambda q: q, follows=np.array([False]))
    assert (PoseSearch._close(one, np.zeros(1)) is None) is bool(steps)
    assert len(made) == steps


def nearest(values: list[float], monkeypatch: pytest.MonkeyPatch) -> tuple[int, float]:
    """Starts that a target out of reach is worth, and the share that ends each of them."""
    given: list[float] = []
    left = iter(values)

    def search(first: Any, goals: Any, *, settled: float) -> Any:
        given.append(settled)
        return SimpleNamespace(value=next(left))

    monkeypatch.setattr(inverse_kinematics, "first_poses", lambda *at: iter(values))
    one: Any = SimpleNamespace(search=search, is_reached=lambda point: False)
    begin: Any = None
    inverse_kinematics.nearest_pose(one, begin, [], 0, 0)
    return len(given), given[0]


def test_thirty_starts_that_end_within_a_hundredth_of_each_other_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert nearest([1.0] * 100, monkeypatch) == (30, 1e-3)
    assert nearest([1.0, *[1.009] * 99], monkeypatch)[0] == 30
    assert nearest([1.0, *[1.011] * 99], monkeypatch)[0] == 100
