"""Pictures of loops and margins."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.control.judge.margins import margins
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from dalembert.view import plot
from dalembert.view.plots.linear.loops import _continuous, _factor, _grid
from tests.helpers.findings import raises


def loop(gain: float = 3.0) -> StateSpace:
    """gain / (s (s + 1) (s + 2)): gain margin 6 / gain at √2 rad/s."""
    return StateSpace([[0, 1, 0], [0, 0, 1], [0, -2, -3]], [0, 0, 1], [[gain, 0, 0]], inputs="u", outputs="y")


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


# ---- edges of thresholds


def grid(*poles: complex, dt: float | None = None) -> np.ndarray:
    loop = SimpleNamespace(
        poles=lambda: SimpleNamespace(values=np.array(poles, complex)),
        zeros=lambda: SimpleNamespace(values=np.zeros(0, complex)), dt=dt,
    )  # fmt: skip
    return _grid(loop, SimpleNamespace(crossovers=(), gain_frequencies=(), disk_frequency=np.inf))


@pytest.mark.parametrize(("pole", "first"), [(3e-10, 0.05), (3e-9, 0.05 * 3e-9)])
def test_a_pole_with_a_period_of_centuries_is_at_zero(pole, first):
    assert grid(-1.0, -pole)[0] == pytest.approx(first)


def test_an_undamped_pole_has_points_as_one_with_a_thousandth_of_damping_and_none_on_it():
    away = np.sort(np.abs(grid(1j, -1j) - 1.0))
    assert away[0] == pytest.approx(12.0 / 80.0 * 1e-3, rel=0.5)


def test_a_sampled_loop_is_drawn_over_three_decades_at_least():
    assert grid(0.5, dt=1.0)[0] == pytest.approx(1e-3 * np.pi, rel=1e-6)


@pytest.mark.parametrize(("size", "value"), [(3e-13, 1e-12), (3e-12, 3e-12)])
def test_a_sampled_pole_at_the_origin_has_the_logarithm_of_1e_12(size, value):
    assert _continuous(np.array([size], complex), 1.0)[0] == pytest.approx(np.log(value))


@pytest.mark.parametrize(
    ("value", "words"), [(900.0, "900"), (1100.0, "over 1000"), (2e-3, "0.002"), (5e-4, "less than 0.001")]
)
def test_factors_are_written_up_to_a_thousand(value, words):
    assert _factor(value) == words


@pytest.mark.parametrize(("away", "drawn"), [(0.9e-7, False), (1.1e-7, True)])
def test_no_point_is_drawn_within_1e_7_of_an_undamped_pole(away, drawn):
    # the first point beside the second pole, at 12/80 of a thousandth of it, lies this far from the first
    other = (1.0 + away) / (1.0 + 12.0 / 80.0 * 1e-3)
    w = grid(1j, -1j, 1j * other, -1j * other)
    assert bool((np.abs(w - 1.0) < 1e-6).any()) == drawn
