"""Edges of thresholds: points on the constraints, and how often they are looked for."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.errors import ModelError
from dalembert.symbolic.modular.points import ModularPoints, _OpenError
from tests.helpers.findings import raises


def close(residuals: list[float], q: float = 0.0) -> float:
    """Newton's method with these residuals, one after the other; each step is its residual."""
    left = iter(residuals)
    points: Any = SimpleNamespace(
        _residuals=[(lambda q: np.array([next(left)]), lambda q: np.eye(1))],
        motion=SimpleNamespace(invariants_of=lambda order: [SimpleNamespace(name="row")]),
    )
    return float(ModularPoints._close(points, 0, [], np.array([q]), [])[0])


@pytest.mark.parametrize(("residual", "steps"), [(0.9e-10, 0), (1.1e-10, 1)])
def test_a_point_is_on_the_constraints_to_1e_10_of_its_size(residual: float, steps: int) -> None:
    assert close([residual, 0.0]) == -residual * steps
    assert close([5.0 * residual, 0.0], 5.0) == pytest.approx(5.0 - 5.0 * residual * steps, rel=0.0, abs=1e-14)


@pytest.mark.parametrize(("steps", "found"), [(59, True), (60, False)])
def test_newtons_method_evaluates_sixty_residuals(steps: int, found: bool) -> None:
    with nullcontext() if found else pytest.raises(_OpenError):
        close([0.1] * steps + [0.0])


@pytest.mark.parametrize(("failures", "refused"), [(11, False), (12, True)])
def test_a_point_is_looked_for_from_twelve_starts(failures: int, refused: bool) -> None:
    left = iter(range(100))

    def point(*given: Any) -> str:
        if next(left) < failures:
            raise _OpenError(1.0, "row")
        return "point"

    points: Any = SimpleNamespace(count=1, _is_placed=False, _start=lambda *given: None, _point=point)
    points._contradiction = lambda worst: ModelError("no-solution", "none")
    with raises(ModelError, "no-solution") if refused else nullcontext():
        assert ModularPoints.__dict__["all"].func(points) == ["point"]
