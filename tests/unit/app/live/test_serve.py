"""Coordinates that keep their values while a slider moves another, at the edges of their thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from dalembert.app.live.serve import LiveMachine


def held(rows, measures) -> list[str]:
    """Beside the first of coordinates a, b with these gradients, in a machine with these rows."""
    kernels = {
        "rows": SimpleNamespace(sparse=lambda *parts: sp.csr_array(np.atleast_2d(rows))),
        "measures": SimpleNamespace(sparse=lambda *parts: sp.csr_array(np.array(measures))),
    }
    state = SimpleNamespace(q=None, v=None, z=None, t=0.0)
    eqs = SimpleNamespace(
        kernel=kernels.__getitem__, nu=0, p=None, holonomic_rows=[0], measures=SimpleNamespace(index={"a": 0, "b": 1})
    )
    return LiveMachine._independent(SimpleNamespace(eqs=eqs, state=state, _order=["a", "b"]), "a")


@pytest.mark.parametrize(("size", "free"), [(3e-10, True), (3e-9, False)])
def test_a_row_of_a_billionth_holds_nothing(size, free):
    assert bool(held([0.0, size], [[1.0, 0.0], [0.0, 1.0]])) == free


@pytest.mark.parametrize(("moved", "moves"), [(3e-7, False), (3e-6, True)])
def test_a_coordinate_that_keeps_a_millionth_of_its_gradient_does_not_move(moved, moves):
    assert bool(held([0.0, 0.0, 1.0], [[1.0, 0.0, 0.0], [0.0, moved, 1.0]])) == moves


@pytest.mark.parametrize(("angle", "apart"), [(0.03, False), (0.08, True)])
def test_coordinates_that_move_alike_to_a_twentieth_are_not_both_held(angle, apart):
    assert bool(held([0.0, 0.0], [[1.0, 0.0], [np.cos(angle), np.sin(angle)]])) == apart
