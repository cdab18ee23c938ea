"""Edge of the threshold for interfaces whose points lie on a line."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures.solid.producer import _check
from tests.helpers.findings import raises


@pytest.mark.parametrize(("height", "refused"), [(3e-5, True), (1e-4, False)])
def test_an_averaging_interface_needs_points_off_a_line_as_nodes_do(height, refused):
    # three points in a row, the middle one lifted by h: the moments are 2 h²/3 and 2
    points = np.array([[-1.0, 0.0, 0.0], [0.0, height, 0.0], [1.0, 0.0, 0.0]])
    interface = SimpleNamespace(plane=None, name="i", points=np.arange(3), rigid=False)
    solid = SimpleNamespace(
        plane=None, name="it", mesh=SimpleNamespace(points=points), supports=(), interfaces={"i": interface}
    )
    with raises(ModelError, "conflicting-links") if refused else nullcontext():
        _check(solid)
