"""Results of a sweep."""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers import sweep_trials as trials
from tests.helpers.findings import raises

LINE = da.sweeps.Grid({"x": [0.5, 1.0, 2.0]})


def test_results_must_keep_their_shape() -> None:
    with raises(DataError, "wrong-shape"):
        da.sweep(trials.changing, da.sweeps.Grid({"x": [2.0, 3.0]}), workers=0)


def test_a_sweep_becomes_a_dataset() -> None:
    pytest.importorskip("xarray")
    data = da.sweep(trials.square, LINE, workers=0).to_xarray()
    assert data["square"].dims == ("point",) and data["x"].values.tolist() == [0.5, 1.0, 2.0]
