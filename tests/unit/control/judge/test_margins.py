"""Margins of loops against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert.control import lqr, margins, sensitivity
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace, append
from tests.helpers.control_systems import cart, frame, lqg
from tests.helpers.findings import raises


def third_order(k: float = 1.0) -> StateSpace:
    """k / (s (s + 1) (s + 2))."""
    return StateSpace([[0, 1, 0], [0, 0, 1], [0, -2, -3]], [0, 0, 1], [[k, 0, 0]])


def test_gain_and_phase_margins_of_a_third_order_loop():
    """Phase -180° at √2 rad/s with |L| = k/6; |L| = 1 where ω² (ω² + 1) (ω² + 4) = k²."""
    found = margins(third_order(2.0)).channels[0]
    assert found.gain == (0.0, pytest.approx(3.0, rel=1e-12))
    assert found.gain_frequencies[1] == pytest.approx(math.sqrt(2.0), rel=1e-12)
    squares = np.roots([1.0, 5.0, 4.0, -4.0])
    w = math.sqrt(squares[(np.abs(squares.imag) < 1e-12) & (squares.real > 0)].real[0])
    assert found.crossovers == (pytest.approx(w, rel=1e-12),)
    phase = math.pi / 2 - math.atan(w) - math.atan(w / 2)
    assert found.phase == pytest.approx(phase, rel=1e-10)
    assert found.delay == pytest.approx(phase / w, rel=1e-10)


def test_peaks_and_disk_are_those_of_a_fine_grid():
    loop = third_order(2.0)
    w = np.logspace(-3, 3, 200001)
    L = 2.0 / (1j * w * (1j * w + 1) * (1j * w + 2))
    S = 1 / (1 + L)
    found = margins(loop)
    channel = found.channels[0]
    assert channel.sensitivity.gain == pytest.approx(np.abs(S).max(), rel=1e-8)
    assert channel.complementary.gain == pytest.approx(np.abs(L * S).max(), rel=1e-8)
    assert channel.disk == pytest.approx(1.0 / np.abs(S - 0.5).max(), rel=1e-8)
    assert found.smallest_return_difference == pytest.approx(np.abs(1 + L).min(), rel=1e-8)
    low, high = channel.disk_gain
    assert low * high == pytest.approx(1.0)
    assert high <= channel.gain[1]
    alpha = channel.disk
    assert channel.disk_phase == pytest.approx(np.angle((2 + 1j * alpha) / (2 - 1j * alpha)))  # δ = iα: only a phase
    assert channel.disk_phase <= channel.phase


def test_margins_are_where_the_loop_becomes_unstable():
    loop = third_order(2.0)
    channel = margins(loop).channels[0]
    limit = channel.gain[1]
    assert (0.999 * limit * loop).feedback().is_stable
    assert not (1.001 * limit * loop).feedback().is_stable


def test_an_unstable_plant_has_a_least_gain():
    """k / (s - 1): stable for k > 1."""
    found = margins(StateSpace(1.0, 1.0, 4.0)).channels[0]
    assert found.gain == (pytest.approx(0.25), math.inf)


def test_a_sampled_loop_has_margins_in_seconds():
    """k / (z - 1) at dt: stable for 0 < k < 2; |z - 1| = k at ω = 2 asin(k/2)/dt."""
    dt, k = 0.1, 0.5
    found = margins(StateSpace(1.0, 1.0, k, dt=dt)).channels[0]
    assert found.gain == (0.0, pytest.approx(4.0, rel=1e-12))
    assert found.gain_frequencies[1] == pytest.approx(math.pi / dt)
    w = 2.0 * math.asin(k / 2.0) / dt
    assert found.crossovers == (pytest.approx(w, rel=1e-10),)
    lag = math.pi - (math.pi / 2 + w * dt / 2)
    assert found.phase == pytest.approx(lag, rel=1e-10)
    assert found.delay == pytest.approx(lag / w, rel=1e-10)


@pytest.mark.spec("000-66")
def test_a_regulator_has_the_margins_kalman_promised():
    """|1 + L| ≥ 1: gain from 1/2 to ∞, phase 60°, for one input and any weights."""
    for Q in (1.0, {"position": 100.0}, {"position": 1.0, "speed": 0.01}):
        found = margins(lqr(cart(), Q=Q, R=0.3)).channels[0]
        assert found.sensitivity.gain <= 1.0 + 1e-9
        assert found.gain[0] <= 0.5
        assert math.isinf(found.gain[1])
        assert found.phase >= math.radians(60.0) - 1e-9


def test_channels_are_judged_with_the_others_closed():
    pair = append([third_order(2.0), StateSpace(-1.0, 1.0, 3.0)])
    found = margins(pair)
    alone = margins(third_order(2.0)).channels[0]
    assert found.channels[0].gain[1] == pytest.approx(alone.gain[1], rel=1e-10)
    assert found.channels[0].name == "u1"
    assert found["u1#2"].stable
    assert found.disk <= min(channel.disk for channel in found.channels) + 1e-12
    assert "all at once" in found.table()
    with raises(DataError, "unknown-name", "'u9'"):
        found["u9"]


def test_every_channel_at_once_bears_less_than_one():
    """A rotating satellite (Doyle): alone both channels look perfect, together they bear little."""
    A = np.array([[0.0, 10.0], [-10.0, 0.0]])
    C = np.array([[1.0, 10.0], [-10.0, 1.0]])
    found = margins(StateSpace(A, np.eye(2), C))
    assert found.stable
    for channel in found.channels:
        assert channel.gain[0] < 1e-9
        assert math.isinf(channel.gain[1])
        assert math.degrees(channel.phase) > 89.0
    assert found.disk < 0.11
    assert found.sensitivity.gain > 10.0


def test_an_unstable_loop_has_no_margins():
    found = margins(third_order(10.0))
    assert not found.stable
    assert found.disk == 0.0
    assert found.channels[0].phase == 0.0
    assert "not stable" in found.table()


@pytest.mark.parametrize("form", ["predictor", "current"])
@pytest.mark.parametrize("at", ["inputs", "outputs"])
def test_an_output_feedback_is_opened_where_asked(form, at):
    """The loop closed again has the poles of the closed loop, with sensors that see the input at once too."""
    design = lqg(frame(), Q=1.0, R=0.1, Qn=1e-2, Rn=1e-4, dt=0.05, form=form)
    loop = design.loop(at)
    poles = np.asarray(loop.feedback().poles())
    wanted = np.asarray(design.poles)
    order = np.argsort(-np.abs(poles), kind="stable")
    from dalembert.control.state_feedback.place import farthest

    assert farthest(poles[order][: len(wanted)], wanted) < 1e-6
    assert margins(loop).stable


def test_known_inputs_do_not_enter_the_loop():
    design = lqg(frame(), Q=1.0, R=0.1, Qn=1e-2, Rn=1e-4, dt=0.05, inputs="pull", known="push")
    assert margins(design).channels[0].name == "pull"


def test_mistakes_are_reported():
    with raises(DataError, "wrong-shape"):
        margins(frame().state_space().select(inputs="push"))
    with raises(DataError, "wrong-shape"):
        sensitivity(frame().state_space().select(inputs="push"))
    with raises(DataError, "wrong-type"):
        margins(3.0)
    with raises(DataError, "singular-matrix", "I"):
        margins(StateSpace(-1.0, 1.0, 1.0, -1.0))


@pytest.mark.parametrize(("distance", "refused"), [(1e-11, False), (1e-13, True)])
def test_a_sampled_loop_with_a_pole_at_minus_one_is_refused(distance: float, refused: bool):
    loop = StateSpace(np.diag([0.0, -1.0 + distance]), np.eye(2), np.zeros((2, 2)), dt=0.1)
    if refused:
        with raises(DataError, "no-solution"):
            margins(loop)
    else:
        assert margins(loop).stable


def test_the_response_at_half_the_sampling_rate_is_finite():
    """k / (z - 1) at z = -1 is -k/2: the gain margin is 2/k there."""
    assert margins(StateSpace(1.0, 1.0, 0.5, dt=0.1)).channels[0].gain[1] == pytest.approx(4.0, rel=1e-12)
