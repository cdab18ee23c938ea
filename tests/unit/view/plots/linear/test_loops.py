"""Pictures of loops and margins."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control.judge.margins import margins
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from dalembert.view import plot
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
