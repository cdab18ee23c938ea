"""Bodies, points and frames: numbers that are taken, and those that are refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import dalembert as da
from dalembert.model.bodies import axes_from, rotation_matrix


def test_inertia_may_be_a_number_principal_values_or_a_matrix() -> None:
    m = da.Mechanism("m")
    for k, inertia in enumerate((2.0, (2, 2, 2), 2 * np.eye(3), [[2, 0, 0], [0, 2, 0], [0, 0, 2]])):
        body = m.add_body(f"b{k}", mass=1.0, inertia=inertia)
        np.testing.assert_array_equal(np.array(body.inertia, dtype=float), 2 * np.eye(3))


def test_equality_in_the_triangle_is_legal() -> None:
    m = da.Mechanism("m")
    m.add_body("plate", mass=1.0, inertia=(1.0, 2.0, 3.0))
    m.validate()


def test_axes_of_a_frame_are_a_rotation_about_the_given_direction() -> None:
    for z in ((0, 0, 1), (1, 0, 0), (1, -2, 0.5), (0, 0, -3)):
        R = np.array(axes_from(z))
        np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-15)
        assert np.linalg.det(R) == pytest.approx(1.0)
        np.testing.assert_allclose(R[:, 2], np.array(z) / np.linalg.norm(z), rtol=0, atol=1e-15)


def test_a_rotation_may_be_a_quaternion_or_a_matrix() -> None:
    half = math.sqrt(0.5)
    expected = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    np.testing.assert_allclose(rotation_matrix((half, 0, 0, half), "r"), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(rotation_matrix((2, 0, 0, 2), "r"), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(rotation_matrix(np.array(expected, dtype=float), "r"), expected)


def inertia(*rows: Sequence[float]) -> None:
    m = da.Mechanism("m")
    m.add_body("b", mass=1.0, inertia=rows)
    m.validate()
