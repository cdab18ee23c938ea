"""Edges of thresholds: eigenvalues that are one, counts between neighbours, poles of joints."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError
from dalembert.structures.continuous import beam_modes, wittrick_williams
from dalembert.structures.continuous.wittrick_williams import HeldBeam
from tests.helpers.findings import raises

PINNED = HeldBeam(0.0, 0.0, (np.inf, np.inf), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))  # b = n π


@pytest.mark.parametrize(("apart", "checked"), [(3e-7, False), (3e-6, True)])
def test_the_count_between_neighbours_is_checked_from_a_millionth_on(apart, checked):
    wrong = 0.9 * np.pi * np.array([1.0, 1.0 + apart])  # below the first eigenvalue
    with raises(ConvergenceError, "no-convergence") if checked else nullcontext():
        wittrick_williams._check(wrong, 0, PINNED)


def test_a_count_on_a_pole_of_a_joint_is_taken_a_trillionth_beside_it(monkeypatch):
    tried = []

    def count(lam, n, held):
        tried.append(lam[0])
        if len(tried) == 1:
            raise np.linalg.LinAlgError
        return np.ones(1, dtype=int)

    monkeypatch.setattr(wittrick_williams, "_count", count)
    wittrick_williams.count_below(np.array([4.0]), PINNED)
    assert tried[1] / tried[0] - 1.0 == pytest.approx(1e-12, rel=1e-2)


@pytest.mark.parametrize(("apart", "together"), [(3e-10, 2), (3e-9, 1)])
def test_modes_within_a_billionth_are_made_orthogonal_together(apart, together, monkeypatch):
    sizes = []

    def amplitudes(lam, count, held):
        sizes.append(count)
        return np.zeros((4, count))

    class Wave:
        lam = 1.0

    monkeypatch.setattr(beam_modes.spectrum, "amplitudes", amplitudes)
    monkeypatch.setattr(beam_modes, "_orthogonal", lambda wave, chosen, held: chosen)
    beam_modes._amplitudes(np.array([1.0, 1.0 + apart]), (Wave, Wave), PINNED)
    assert sizes[0] == together
