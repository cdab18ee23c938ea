"""Designs of sweeps: points and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.sweeps.designs import Grid
from tests.helpers.findings import raises


def test_a_grid_visits_every_combination_the_last_axis_fastest() -> None:
    design = da.sweeps.Grid({"a": [1, 2], "b": [10, 20, 30]})
    assert design.points.tolist() == [[1, 10], [1, 20], [1, 30], [2, 10], [2, 20], [2, 30]]


def test_a_latin_hypercube_has_one_point_in_every_slice() -> None:
    design = da.sweeps.LatinHypercube({"a": (0.0, 8.0), "b": (-1.0, 1.0)}, samples=8, seed=4)
    for column, (low, high) in zip(design.points.T, ((0.0, 8.0), (-1.0, 1.0)), strict=True):
        assert sorted(np.floor((column - low) / (high - low) * 8).astype(int)) == list(range(8))
    assert np.array_equal(design.points, da.sweeps.LatinHypercube({"a": (0.0, 8.0), "b": (-1.0, 1.0)}, 8, 4).points)


def test_sobol_fills_evenly_and_a_normal_axis_has_its_moments() -> None:
    design = da.sweeps.Sobol({"a": (0.0, 1.0), "b": da.sweeps.Normal(3.0, 0.5)}, samples=1024, seed=1)
    assert np.histogram(design.points[:, 0], 16, (0, 1))[0].tolist() == [64] * 16
    assert design.points[:, 1].mean() == pytest.approx(3.0, abs=0.01)
    assert design.points[:, 1].std() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("make", "finding"),
    [
        (lambda: da.sweeps.Grid({}), ("wrong-type",)),
        (lambda: da.sweeps.Grid({"a": []}), ("not-finite", "'a'")),
        (lambda: da.sweeps.Grid({"a": ["x"]}), ("not-a-number", "'a'", "'x'")),
        (
            lambda: da.sweeps.Grid({str(k): range(100) for k in range(5)}),
            ("too-large", "10000000000", "da.sweeps.LatinHypercube"),
        ),
        (lambda: da.sweeps.Points({"a": [1, 2], "b": [1]}), ("wrong-shape", "'b'")),
        (lambda: da.sweeps.LatinHypercube({"a": (2.0, 1.0)}, 4), ("out-of-range", "'a'")),
        (lambda: da.sweeps.LatinHypercube({"a": 3.0}, 4), ("wrong-type", "(low, high)")),
        (lambda: da.sweeps.Sobol({"a": (0, 1)}, 0), ("not-a-count", "samples")),
        (lambda: da.sweeps.Sobol({"a": (0, 1)}, 4, -1), ("not-a-count", "seed")),
        (lambda: da.sweeps.Normal(0.0, -1.0), ("out-of-range", "-1.0")),
    ],
)
def test_designs_that_make_no_sense_are_refused(make: object, finding: tuple[str, ...]) -> None:
    with raises(DataError, *finding):
        make()


def test_a_grid_of_more_than_ten_million_points_is_refused():
    with raises(DataError, "too-large"):
        Grid({name: np.arange(217.0) for name in "abc"})
    assert len(Grid({"a": np.arange(2e6), "b": [0.0, 1.0]})) == 4_000_000
