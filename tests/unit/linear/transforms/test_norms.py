"""Edges of thresholds: eigenvalues on the imaginary axis, and rounds of the H-infinity norm."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import ConvergenceError
from dalembert.linear import StateSpace
from dalembert.linear.transforms import norms
from tests.helpers.findings import raises


def test_the_norm_of_thirty_close_resonances_takes_few_rounds_and_a_rising_one_is_refused(monkeypatch):
    w = np.geomspace(1.0, 2.0, 30)
    blocks = [np.array([[-1e-3 * a, a], [-a, -1e-3 * a]]) for a in w]
    A = np.zeros((60, 60))
    for k, block in enumerate(blocks):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = block
    space = StateSpace(A, np.tile([[0.0], [1.0]], (30, 1)), np.tile([[1.0, 0.0]], (1, 30)))
    rounds = []
    first = norms._crossings
    monkeypatch.setattr(norms, "_crossings", lambda *parts: (rounds.append(1), first(*parts))[1])
    norms.hinf_norm(space)
    assert len(rounds) <= 10  # a fifth of the limit
    # Crossings wherever it looks, higher each time: no round ends the search.
    level = iter(10.0 ** np.arange(100))
    monkeypatch.setattr(norms, "_rise", lambda gain, at, best, omega: (next(level), 1.0))
    monkeypatch.setattr(norms, "_refine", lambda gain, best, omega, s: (best, omega))
    monkeypatch.setattr(norms, "_crossings", lambda *parts: np.array([1.0, 2.0]))
    rounds.clear()
    monkeypatch.setattr(norms, "_rise", lambda *parts: (rounds.append(1), (next(level), 1.0))[1])
    with raises(ConvergenceError, "no-convergence"):
        norms.hinf_norm(space)
    assert len(rounds) == 51  # the start and fifty rounds
