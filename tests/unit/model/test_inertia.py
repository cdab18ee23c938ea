"""Inertia of shapes and composites."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize(
    ("shape", "expected"),
    [  # per unit of mass, about x, y, z
        (da.rod(0.6), (0, 0.03, 0.03)),
        (da.rod(0.6, axis="z"), (0.03, 0.03, 0)),
        (da.box(1, 2, 3), (13 / 12, 10 / 12, 5 / 12)),
        (da.cylinder(0.2), (0.01, 0.01, 0.02)),
        (da.cylinder(0.2, 0.6, axis="x"), (0.02, 0.04, 0.04)),
        (da.sphere(0.5), (0.1, 0.1, 0.1)),
        (da.sphere(0.3, hollow=True), (0.06, 0.06, 0.06)),
    ],
)
def test_shapes_have_the_textbook_inertia(shape: Any, expected: tuple[float, ...]) -> None:
    np.testing.assert_allclose(np.array(shape.gyration), np.diag(expected), rtol=1e-15)


def test_two_half_boxes_make_the_whole_box() -> None:
    """Steiner's terms: a box of 2 kg cut in two along x."""
    halves = da.composite((da.box(0.5, 0.3, 0.2), 1.0, (-0.25, 0, 0)), (da.box(0.5, 0.3, 0.2), 1.0, (0.25, 0, 0)))
    whole = 2.0 * np.array(da.box(1.0, 0.3, 0.2).gyration)
    assert (halves.mass, halves.center) == (2.0, (0.0, 0.0, 0.0))
    np.testing.assert_allclose(np.array(halves.inertia), whole, rtol=1e-14, atol=1e-17)


def test_points_of_a_composite_are_measured_from_the_origin_of_its_parts() -> None:
    m = da.Mechanism("m", planar=True)
    body = m.add_body("b", inertia=da.composite((da.sphere(0.0), 1.0, (-1, 0)), (da.sphere(0.0), 3.0, (1, 0))))
    assert body.mass == 4.0
    assert body.inertia == 3.0
    assert body.at(0.5, 0).coordinates == (0.0, 0.0)
    assert body.at(1.5, 2.0).coordinates == (1.0, 2.0)
