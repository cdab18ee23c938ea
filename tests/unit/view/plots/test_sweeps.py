"""Pictures of sweeps: results over axes, and their spread."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import DataError
from dalembert.sweeps import Swept
from dalembert.view import plot
from tests.helpers.findings import raises


def swept(axes: int = 2) -> Swept:
    points = np.random.default_rng(1).normal(size=(60, axes))
    results = {"sum": points.sum(axis=1), "path": np.zeros((60, 5))}
    return Swept(tuple("abc"[:axes]), points, results, ("done",) * 60, {}, 1)


def test_every_result_is_drawn_over_every_axis_with_its_spread() -> None:
    figure = plot(swept())
    assert [ax.get_xlabel() for ax in figure.axes] == ["a", "b", "points"]
    assert figure.axes[0].get_ylabel() == "sum"
    assert sum(bar.get_width() for bar in figure.axes[-1].patches) == 60


def test_a_sweep_over_one_axis_is_a_curve() -> None:
    (ax,) = plot(swept(1)).axes
    assert np.all(np.diff(ax.lines[0].get_xdata()) > 0)


def test_spreads_alone_are_reported_in_numbers() -> None:
    (ax,) = plot(swept(), view="histogram").axes
    assert "5–95 %" in ax.get_title(loc="left")


def test_results_that_are_not_one_number_are_refused_by_name() -> None:
    with raises(DataError, "wrong-shape", "'path'"):
        plot(swept(), "path")
    with raises(DataError, "unknown-name", "'sun'"):
        plot(swept(), "sun")


def test_points_that_failed_are_counted_and_left_out() -> None:
    values = np.ones(30)
    values[3] = np.nan
    found = Swept(("a",), np.arange(30.0)[:, None], {"y": values}, ("done",) * 30, {3: "broke"}, 0)
    assert plot(found).get_suptitle() == "30 points, 1 failed"
    plot(found, view="histogram")
