"""Pictures of observability, consistency and comparisons."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from dalembert.view import plot
from tests.helpers.findings import raises


@pytest.fixture(scope="module")
def estimate() -> da.estimate.Estimate:
    cart = StateSpace([[0, 1], [0, 0]], [0, 1], [1, 0], states=["place", "speed"], inputs="push", outputs="seen")
    t = 0.1 * np.arange(60)
    noisy = t**2 / 2 + 0.01 * np.random.default_rng(0).standard_normal(60)
    record = da.Record(t, np.column_stack([np.ones(60), noisy]), ["push", "seen"])
    return da.estimate.Kalman(cart, dt=0.1, Q={"speed": 1e-4}, R=1e-4, P0=1.0).run(record)


def truth() -> da.Record:
    t = 0.1 * np.arange(60)
    return da.Record(t, np.column_stack([t**2 / 2, t]), ["place", "speed"])


def test_what_is_not_seen_is_named_in_the_bars() -> None:
    A = [[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -4, 0]]
    two = StateSpace(A, [0, 1, 0, 1], [[1, 0, 0, 0]], states=["x", "vx", "y", "vy"], outputs=["seen"])
    bars, values = plot(da.estimate.local_observability(two, dt=0.1)).axes
    assert [label.get_text() for label in bars.get_yticklabels()][:2] == ["y", "vy"]
    assert [text.get_text() for text in bars.texts] == ["100 % unseen"] * 2
    assert values.get_ylabel() == "signal over noise [-]"


def test_innovations_are_judged_in_a_picture(estimate: da.estimate.Estimate) -> None:
    figure = plot(estimate.consistency())
    assert figure.axes[0].get_ylabel() == "autocorrelation [-]"
    assert figure.get_suptitle()


def test_truth_and_estimate_stand_beside_their_difference(estimate: da.estimate.Estimate) -> None:
    found = estimate.compare(truth(), settle=1.0)
    figure = plot(found, "speed")
    left, right = figure.axes
    assert np.allclose(left.lines[0].get_ydata(), truth()["speed"])
    assert np.array_equal(right.lines[1].get_ydata(), found.errors["speed"])
    assert f"rms {found.rms['speed']:.3g}" in right.get_title(loc="right")
    with raises(DataError, "unknown-name", "'speed'"):
        plot(found, "sped")
