"""Edges of thresholds: eigenvalues on the imaginary axis, and rounds of the H-infinity norm."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError
from dalembert.linear import StateSpace
from dalembert.linear.transforms import norms
from tests.helpers.findings import raises


@pytest.mark.parametrize(("share", "found"), [(3e-6, 1), (3e-5, 0)])
def test_an_eigenvalue_nearer_to_the_axis_than_1e_5_is_a_crossing(share, found):
    # Without inputs the Hamiltonian matrix has the eigenvalues of A and -A.
    A = np.array([[-share, 1.0], [-1.0, -share]])
    crossings = norms._crossings(A, np.zeros((2, 1)), np.zeros((1, 2)), np.zeros((1, 1)), 1.0)
    assert len(crossings) == found


@pytest.mark.parametrize(("size", "found"), [(3e-13, True), (3e-12, False)])
def test_an_eigenvalue_below_1e_12_of_the_largest_may_be_at_zero(size, found):
    A = np.diag([-size, -1.0])
    crossings = norms._crossings(A, np.zeros((2, 1)), np.zeros((1, 2)), np.zeros((1, 1)), 1.0)
    assert bool(len(crossings)) == found


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
