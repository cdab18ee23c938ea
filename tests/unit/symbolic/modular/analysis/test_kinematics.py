"""Newton's method of kinematics at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError
from dalembert.symbolic.modular.analysis import kinematics
from tests.helpers.findings import raises


def solve(monkeypatch, residual):
    """One coordinate with one constraint of this residual; its rates are zero. Returns places of the iteration."""
    places = []

    def rows(model, order, point):
        if order:
            return np.zeros(1), np.eye(1)
        places.append(float(point[0][0]))
        return np.array([residual(point[0][0], len(places))]), np.eye(1)

    monkeypatch.setattr(kinematics, "_rows", rows)
    monkeypatch.setattr(kinematics, "_prescribed_rows", lambda *parts: (np.zeros(0), np.zeros((0, 1))))
    motion = SimpleNamespace(
        labels=lambda order: ("x",), point=lambda values, order, t: [np.zeros(1) for _ in range(3)],
        invariants=(SimpleNamespace(name="row", order=0),),
    )  # fmt: skip
    model = SimpleNamespace(motion=motion, root=SimpleNamespace(name="it"), state_values=lambda point: point)
    kinematics.solve_motion(model, {}, {})
    return places


def test_coordinates_move_by_half_a_unit_in_a_step(monkeypatch):
    places = solve(monkeypatch, lambda x, k: x - 3.2)
    assert np.diff(places).max() == pytest.approx(0.5)
    assert len(places) == 8  # a sixth of the limit


@pytest.mark.parametrize(("residual", "steps"), [(3e-13, 1), (3e-12, 2)])
def test_a_residual_below_1e_12_is_closed(residual, steps, monkeypatch):
    assert len(solve(monkeypatch, lambda x, k: residual if k == 1 else 0.0)) == steps


def test_a_motion_that_does_not_close_in_fifty_steps_is_refused(monkeypatch):
    count = []
    with raises(ConvergenceError, "no-convergence"):
        solve(monkeypatch, lambda x, k: count.append(k) or 1.0)
    assert len(count) == 50
