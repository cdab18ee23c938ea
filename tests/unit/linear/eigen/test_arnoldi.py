"""Damped modes of large systems: when a matrix is proportional to mass and stiffness."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from dalembert.linear.eigen.arnoldi import rayleigh_fit


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
