"""Diagrams on both sides of a point load."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.view.plots.structures.statics import _forces_along


def test_a_point_load_has_places_a_billionth_of_the_element_before_and_behind_it():
    group = SimpleNamespace(points=np.zeros((1, 2)), length=np.array([2.0]))
    loaded = SimpleNamespace(
        group=group, at_element=np.array([0]), at_place=np.array([0.9]), forces=lambda e, x: np.zeros((len(e), 6))
    )
    xi, _ = _forces_along(loaded)
    near = np.abs(xi[0] - 0.45) < 1e-3
    assert np.diff(xi[0, near]) == pytest.approx([2e-9], rel=1e-3)
