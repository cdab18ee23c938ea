"""Edges of thresholds: planes of a mesh, and flat cells."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.structures.solid.meshes import Mesh
from tests.helpers.findings import raises

pytest.importorskip("skfem")


def tetrahedron(height: float, base: float = 0.0) -> Mesh:
    points = np.array([[0.0, 0.0, base], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, height]])
    return Mesh(points, np.array([[0, 1, 2, 3]]), "tet4")


@pytest.mark.parametrize(("offset", "count"), [(3e-7, 3), (3e-6, 2)])
def test_a_condition_is_met_within_a_millionth_of_the_largest_side(offset, count):
    assert len(tetrahedron(1.0, offset).select("z=0")) == count


@pytest.mark.parametrize(("height", "refused"), [(3e-13, True), (3e-12, False)])
def test_a_cell_with_1e_12_of_the_volume_of_its_cube_is_flat(height, refused):
    with raises(DataError, "bad-mesh") if refused else nullcontext():
        tetrahedron(height)
