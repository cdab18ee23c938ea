"""Pictures of estimates: bands of three deviations, errors, innovations, and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers.findings import raises


@pytest.fixture(scope="module")
def estimate() -> da.estimate.Estimate:
    cart = da.StateSpace([[0, 1], [0, 0]], [0, 1], [1, 0], states=["place", "speed"], inputs="push", outputs="seen")
    t = 0.1 * np.arange(60)
    noisy = t**2 / 2 + 0.01 * np.random.default_rng(0).standard_normal(60)
    record = da.Record(t, np.column_stack([np.ones(60), noisy]), ["push", "seen"])
    return da.estimate.Kalman(cart, dt=0.1, Q={"speed": 1e-4}, R=1e-4, P0=1.0).run(record)


def truth(estimate: da.estimate.Estimate) -> da.Record:
    t = estimate.time
    return da.Record(t, np.column_stack([t**2 / 2, t]), ["place", "speed"])


def test_every_state_gets_axes_with_its_band(estimate: da.estimate.Estimate) -> None:
    figure = da.plot(estimate, truth=truth(estimate))
    assert [ax.get_ylabel() for ax in figure.axes] == ["place", "speed"]
    for ax, name in zip(figure.axes, ("place", "speed"), strict=True):
        band = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert band.max() == pytest.approx((estimate[name] + 3 * estimate.deviation(name)).max())
        assert np.array_equal(ax.lines[0].get_ydata(), estimate[name])
        assert np.allclose(ax.lines[1].get_ydata(), truth(estimate)[name])


def test_errors_are_drawn_against_the_truth(estimate: da.estimate.Estimate) -> None:
    figure = da.plot(estimate, "speed", view="error", truth=truth(estimate))
    assert np.allclose(figure.axes[0].lines[0].get_ydata(), estimate["speed"] - estimate.time)


def test_innovations_are_drawn_per_output(estimate: da.estimate.Estimate) -> None:
    figure = da.plot(estimate, view="innovations")
    assert [ax.get_ylabel() for ax in figure.axes] == ["seen"]
    assert np.array_equal(figure.axes[0].lines[0].get_ydata(), estimate.innovations[:, 0])


def test_mistakes_are_reported(estimate: da.estimate.Estimate) -> None:
    with raises(DataError, "missing-argument"):
        da.plot(estimate, view="error")
    with raises(DataError, "unknown-name", "'speed'"):
        da.plot(estimate, "sped")
    with raises(DataError, "unknown-name"):
        da.plot(estimate, view="errors")
    with raises(DataError, "missing-channel", "'speed'"):
        da.plot(estimate, "speed", view="error", truth=da.Record([0.0, 1.0], [[0.0], [1.0]], ["place"]))
