"""Pictures of loops, margins, sweeps, observability, consistency and comparisons."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control.judge.margins import margins
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from dalembert.sweeps import Swept
from dalembert.view import plot
from tests.helpers.findings import raises


def loop(gain: float = 3.0) -> StateSpace:
    """gain / (s (s + 1) (s + 2)): gain margin 6 / gain at √2 rad/s."""
    return StateSpace([[0, 1, 0], [0, 0, 1], [0, -2, -3]], [0, 0, 1], [[gain, 0, 0]], inputs="u", outputs="y")


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


# ---- loops


def test_a_loop_is_drawn_with_its_margins_in_bode_and_nyquist() -> None:
    size, phase, curve = sorted(plot(loop(), view="loop").axes, key=lambda ax: ax.get_ylabel() != "|L| [dB]")
    if phase.get_xlabel().startswith("real"):
        phase, curve = curve, phase
    assert [text.get_text() for text in size.texts] == ["6.02 dB"]
    at = size.lines[-1].get_xdata()[0]
    assert at == pytest.approx(np.sqrt(2) / (2 * np.pi), rel=1e-9)
    angle = np.degrees(margins(loop()).channels[0].phase)
    assert [text.get_text() for text in phase.texts] == [f"{angle:.3g}°"]
    assert curve.get_aspect() == 1.0
    assert (curve.get_xlabel(), curve.get_ylabel()) == ("real part of L [-]", "imaginary part of L [-]")


def test_the_phase_of_an_integrator_begins_at_minus_ninety_degrees() -> None:
    phase = next(ax for ax in plot(loop(), view="loop").axes if ax.get_ylabel() == "phase of L [deg]")
    assert phase.lines[0].get_ydata()[0] == pytest.approx(-90.0, abs=5.0)


def test_a_loop_that_is_not_stable_says_so() -> None:
    assert plot(loop(12.0), view="loop").get_suptitle() == "loop at u: the closed loop is not stable"
    with raises(DataError, "unstable"):
        plot(margins(loop(12.0)))


def test_a_sampled_loop_ends_at_half_the_sample_rate() -> None:
    sampled = loop().to_discrete(0.1)
    phase = next(ax for ax in plot(sampled, view="loop").axes if ax.get_ylabel() == "phase of L [deg]")
    assert phase.get_xlim()[1] == pytest.approx(5.0, rel=1e-6)


def test_a_control_law_is_drawn_by_its_loop_or_its_poles() -> None:
    # undamped: the loop is infinite at 2 rad/s, which the grid steps aside from
    plant = da.SecondOrder(np.eye(1), [[4.0]], B=np.eye(1), coordinates=["x"], inputs=["f"])
    law = da.control.lqr(plant, Q=np.eye(2), R=np.eye(1))
    assert plot(law).get_suptitle().startswith("loop at f: gain")
    assert len(plot(law, view="poles").axes[0].lines) > 1
    assert [ax.get_xlabel() for ax in plot(margins(law)).axes] == [
        "gain that is borne [dB]",
        "phase that is borne [deg]",
    ]


def test_an_unknown_channel_of_a_loop_is_refused() -> None:
    with raises(DataError, "unknown-name", "'v'"):
        plot(loop(), view="loop", channel="v")


# ---- sweeps


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


def test_spreads_alone_are_told_in_numbers() -> None:
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


# ---- filters


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
