"""Hidden modes and singular innovations, at the edges of their thresholds."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.estimate.algebra.steady_gain import _clusters, hidden_modes, steady_gain
from tests.helpers.findings import raises

STATES = ("a", "b")


@pytest.mark.parametrize(("reading", "hidden"), [(3e-10, 1), (3e-9, 0)])
def test_a_mode_that_a_sensor_shows_by_a_billionth_is_hidden(reading, hidden):
    A = np.array([[0.5, 0.0], [0.0, 1.0]])
    assert len(hidden_modes(A, np.array([[1.0, reading]]), STATES)) == hidden


@pytest.mark.parametrize(("decay", "hidden"), [(3e-10, 1), (3e-9, 0)])
@pytest.mark.parametrize("continuous", [False, True])
def test_a_mode_that_decays_by_a_billionth_does_not_decay(decay, hidden, continuous):
    slow = -decay if continuous else 1.0 - decay
    A = np.diag([-1.0 if continuous else 0.5, slow])
    assert len(hidden_modes(A, np.array([[1.0, 0.0]]), STATES, continuous=continuous)) == hidden


@pytest.mark.parametrize(("distance", "count"), [(6e-6, 1), (6e-5, 2)])
def test_eigenvalues_that_rounding_may_have_split_are_one(distance, count):
    assert len(_clusters([1.0, 1.0 + distance])) == count  # 1e-5 (1 + |λ|)


@pytest.mark.parametrize(("share", "named"), [(0.05, 1), (0.2, 2)])
def test_a_state_with_a_tenth_of_the_largest_share_of_a_mode_is_named(share, named):
    # the mode (1, share) of eigenvalue 1 of a symmetric matrix: nothing is measured of it
    v = np.array([1.0, share]) / np.hypot(1.0, share)
    w = np.array([-v[1], v[0]])
    A = np.outer(v, v) + 0.5 * np.outer(w, w)
    (text,) = hidden_modes(A, w[None], STATES)
    assert text.split("mostly ")[1].count(",") == named - 1


@pytest.mark.parametrize(("noise", "refused"), [(1e-14, True), (1e-13, False)])
def test_two_readings_of_one_state_need_noise_beyond_rounding(noise, refused):
    # both read the state; S is [[1 + r, 1], [1, 1 + r]] times about one: its least eigenvalue is r/(1 + r), and the
    # edge 128 ε = 2.8e-14
    R = noise * np.eye(2)
    with raises(DataError, None) if refused else nullcontext():
        steady_gain(np.array([[0.5]]), np.ones((2, 1)), np.eye(1), R, ("a",))
