"""The inverse of an information matrix at the edges of its thresholds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from dalembert.identify.likelihood.modal_likelihood import symmetric_inverse


def alike(pivot: float) -> np.ndarray:
    """Two parameters with a correlation whose Cholesky factor has this last pivot."""
    r = np.sqrt(1.0 - pivot**2)
    return np.array([[1.0, r], [r, 1.0]])


@pytest.mark.parametrize(("pivot", "direct"), [(3e-8, False), (3e-7, True)])
def test_a_pivot_above_1e_7_is_inverted_by_cholesky(pivot: float, direct: bool, monkeypatch) -> None:
    calls = []
    original = scipy.linalg.eigh
    monkeypatch.setattr(scipy.linalg, "eigh", lambda *parts: calls.append(1) or original(*parts))
    symmetric_inverse(alike(pivot))
    assert bool(calls) is not direct


@pytest.mark.parametrize(("share", "zero"), [(3e-15, True), (3e-14, False)])
def test_an_eigenvalue_of_1e_14_of_the_largest_is_zero(share: float, zero: bool, monkeypatch) -> None:
    # eigenvalues of a singular matrix replaced: its own are rounding
    vectors = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2.0)
    monkeypatch.setattr(scipy.linalg, "eigh", lambda matrix: (np.array([2.0 * share, 2.0]), vectors))
    found = symmetric_inverse(np.ones((2, 2)))
    assert (np.abs(found).max() < 1.0) == zero
