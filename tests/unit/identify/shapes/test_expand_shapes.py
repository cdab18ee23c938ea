"""Shapes of a model's coordinates from sensors along links."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.linear import Modes
from tests.helpers.findings import raises

PLACES = np.linspace(0.0, 0.5, 7)


def measured(noise: float = 0.0) -> Modes:
    """A cubic and a quadratic with complex factors, at seven places."""
    shapes = np.column_stack([(1 + 0.2j) * (PLACES - 2 * PLACES**3), (0.5 - 1j) * PLACES**2])
    shapes = shapes + noise * np.random.default_rng(0).standard_normal(shapes.shape)
    return Modes([3.0j, 8.0j], shapes, [f"a{k}" for k in range(7)])


def link(displacements: dict[str, float], rotations: dict[str, float]) -> da.identify.MeasuredLink:
    return da.identify.MeasuredLink({f"a{k}": float(s) for k, s in enumerate(PLACES)}, displacements, rotations)


@pytest.mark.spec("004-C43")
def test_polynomials_of_the_degree_are_exact() -> None:
    s = 0.21
    expanded = da.identify.expand_shapes(measured(), [link({"B.y": s, "C.y": 0.6}, {"B.rz": s})])
    exact = [[(1 + 0.2j) * (s - 2 * s**3), (0.5 - 1j) * s**2], [(1 + 0.2j) * (0.6 - 2 * 0.6**3), (0.5 - 1j) * 0.36],
             [(1 + 0.2j) * (1 - 6 * s**2), (0.5 - 1j) * 2 * s]]  # fmt: skip
    assert expanded.coordinates == ("B.y", "C.y", "B.rz")
    np.testing.assert_allclose(expanded.shapes, exact, rtol=0, atol=1e-12)  # condition of the fit below 1e3


@pytest.mark.spec("004-C43")
def test_more_sensors_than_coefficients_smooth_noise() -> None:
    """At the sensors themselves four coefficients keep 4/7 of the variance of the noise."""
    points = {f"n{k}": float(s) for k, s in enumerate(PLACES)}
    noise = measured(1e-3).shapes - measured().shapes
    left = da.identify.expand_shapes(measured(1e-3), [link(points, {})]).shapes - measured().shapes
    assert np.linalg.norm(left) < 0.9 * np.linalg.norm(noise)
    through = da.identify.expand_shapes(measured(1e-3), [link(points, {})], degree=6).shapes
    np.testing.assert_allclose(through, measured(1e-3).shapes, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("links", "degree", "code"),
    [
        ([link({"B.y": 0.2}, {})], 7, "too-few-samples"),
        ([link({"B.y": 0.2}, {}), link({"B.y": 0.0}, {})], 3, "duplicate"),
        ([link({}, {})], 3, "empty"),
        ([{"a1": 0.0}], 3, "wrong-type"),
        ([da.identify.MeasuredLink({"b1": 0.0, "b2": 0.1}, {"B.y": 0.2})], 1, "unknown-name"),
    ],
)
def test_mistakes_have_their_codes(links: list[da.identify.MeasuredLink], degree: int, code: str) -> None:
    with raises(DataError, code):
        da.identify.expand_shapes(measured(), links, degree=degree)
