"""Modes that are reached or not, on both sides of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control.judge import reach


@pytest.mark.parametrize(("apart", "modes"), [(0.3e-6, 0), (3e-6, 1)])
def test_equal_modes_are_distinguished_from_neighbours(apart: float, modes: int) -> None:
    """One input reaches one combination of two equal modes; of two different ones it reaches both, weakly.

    The strength of the weaker one is half of their distance: far above 1e-11, so that only equal ones could be missed.
    """
    speed = da.StateSpace(np.diag([-1.0, -1.0 - apart]), [1.0, 1.0])
    strengths = sorted(mode.strength for mode in da.control.controllability(speed).modes)
    assert (strengths[1] < 1e-3) is bool(modes)


@pytest.mark.parametrize(("states", "by_vectors"), [(60, False), (61, True)])
def test_modes_of_more_than_60_states_are_judged_by_left_eigenvectors(
    states: int, by_vectors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 judgements by singular values take 0.1 s, and grow with the fourth power of the states."""
    made: list[int] = []
    eig = reach.scipy.linalg.eig
    monkeypatch.setattr(reach.scipy.linalg, "eig", lambda *a, **k: made.append(1) or eig(*a, **k))
    A = -np.diag(np.arange(1.0, states + 1))
    found = reach._modes(A, np.ones((states, 1)), None, [f"x{k}" for k in range(states)], 0.0, every=True)
    assert bool(made) is by_vectors
    assert not any(mode.missed for mode in found)
