"""Damped modes of large systems: when a matrix is proportional to mass and stiffness."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from dalembert.linear.eigen.arnoldi import _at_rest, rayleigh_fit


@pytest.mark.parametrize(("factor", "fits"), [(0.9, True), (1.2, False)])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_matrix_is_rayleigh_damping_up_to_a_relative_misfit(factor: float, fits: bool, sparse: bool) -> None:
    n = 6
    M, K = np.diag(np.arange(1.0, n + 1)), 1e6 * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    C = 0.3 * M + 1e-4 * K
    C[0, 5] = C[5, 0] = factor * 1e-11 * np.abs(C).max()  # where neither M nor K has an entry, so none of it is fitted
    found = rayleigh_fit(*(scipy.sparse.csc_array(one) if sparse else one for one in (C, M, K)))
    assert (found is not None) is fits
    assert found is None or found == pytest.approx((0.3, 1e-4), rel=1e-6)


@pytest.mark.parametrize(("rest", "free"), [(7e-13, 1), (3e-12, 0)])
def test_a_rigid_body_feels_a_circulatory_force_from_rounding_on(rest: float, free: int) -> None:
    """The force on (1, 1) is `rest`; 1e-12 times √2 of the largest entry counts as rounding."""
    H = scipy.sparse.csc_array(np.array([[1.0, -1.0 + rest], [0.0, 0.0]]))
    system = SimpleNamespace(H=H, K_loss=scipy.sparse.csc_array((2, 2)))
    assert _at_rest(system, np.ones((2, 1))).shape[1] == free
