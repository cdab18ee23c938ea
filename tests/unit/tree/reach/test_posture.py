"""The descent in the null space of a task: its limits, just inside and just outside."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.tree.reach import posture


@pytest.mark.parametrize(("value", "free"), [(0.9e-6, 1), (1.1e-6, 0)])
def test_a_direction_is_free_below_a_millionth_of_the_task(value: float, free: int) -> None:
    assert posture._free_directions(np.diag([1.0, value])).shape[1] == free


def descend(predicted: float, gains: list[float], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Lengths of the steps tried; the objective, 0 at the start, falls by the gains."""
    tried: list[float] = []

    def move(search: Any, point: Any, goals: Any, change: Any) -> Any:
        tried.append(float(change[0]))
        return SimpleNamespace(q=-gains[len(tried) - 1])

    predictions = iter([predicted])
    monkeypatch.setattr(posture, "_step_beside", lambda *at: (np.ones(1), next(predictions, 0.0)))
    monkeypatch.setattr(posture, "_move_and_correct", move)
    objective: Any = SimpleNamespace(value=lambda q, t: q)
    search: Any = SimpleNamespace(t=0.0)
    start: Any = SimpleNamespace(q=0.0)
    posture.descend(search, start, [], objective)
    return tried


def test_a_descent_ends_below_a_predicted_decrease_of_1e_10(monkeypatch: pytest.MonkeyPatch) -> None:
    assert descend(0.9e-10, [], monkeypatch) == []
    assert descend(1.1e-10, [1.0], monkeypatch) == [1.0]


def test_a_step_must_reach_a_hundredth_of_the_predicted_decrease(monkeypatch: pytest.MonkeyPatch) -> None:
    assert descend(1.0, [0.011], monkeypatch) == [1.0]
    assert descend(1.0, [0.009, 0.009], monkeypatch) == [1.0, 0.5]


def test_a_step_is_halved_twelve_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert descend(1.0, [0.0] * 20, monkeypatch) == [0.5**k for k in range(12)]


def test_directions_that_the_objective_does_not_see_have_1e_9_of_its_second_derivatives() -> None:
    """None here, so that of one: a gradient of 1e-10 moves by 0.1."""
    search: Any = SimpleNamespace(t=0.0, bounds=lambda point: (np.zeros((0, 1)), np.zeros(0)))
    point: Any = SimpleNamespace(q=np.zeros(1), J=np.zeros((1, 1)), A=np.zeros((0, 1)))
    objective: Any = SimpleNamespace(model=lambda q, t: (np.array([1e-10]), np.zeros((1, 1))))
    assert posture._step_beside(search, point, objective)[0] == pytest.approx([-0.1])


def test_a_descent_has_sixty_steps_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(posture, "_step_beside", lambda *at: (np.ones(1), 1.0))
    monkeypatch.setattr(
        posture,
        "_move_and_correct",
        lambda search, point, goals, change: made.append(1) or SimpleNamespace(q=point.q - 1),
    )
    objective: Any = SimpleNamespace(value=lambda q, t: q)
    search: Any = SimpleNamespace(t=0.0)
    start: Any = SimpleNamespace(q=0.0)
    posture.descend(search, start, [], objective)
    assert len(made) == 60


def test_twelve_steps_lead_back_to_the_task() -> None:
    """Newton's method takes three to five from so near; each halving of the step begins nearer."""
    given: list[int] = []
    search: Any = SimpleNamespace(
        move=lambda q, change: q,
        search=lambda trial, goals, most: given.append(most) or trial,
        is_reached=lambda at: True,
    )
    point: Any = SimpleNamespace(q=0.0)
    posture._move_and_correct(search, point, [], np.ones(1))
    assert given == [12]
