"""Edges of thresholds: equal places of a reference cell."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.shapes import _same_places


@pytest.mark.parametrize(("distance", "other"), [(0.9e-12, False), (1.1e-12, True)])
def test_places_of_a_reference_cell_are_equal_to_1e_12(distance: float, other: bool) -> None:
    reference = np.asarray(SOLID_ELEMENTS["tet4"].reference, dtype=float)
    with pytest.raises(AssertionError) if other else nullcontext():
        _same_places(reference + np.array([distance, 0.0, 0.0]), reference)
