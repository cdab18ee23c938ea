"""Damped modes of large systems: when a matrix is proportional to mass and stiffness."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from dalembert.linear.eigen import arnoldi
from dalembert.linear.eigen.arnoldi import _at_rest, rayleigh_fit
from dalembert.linear.eigen.undamped_modes import Undamped


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


@pytest.mark.parametrize(("coupling", "uncoupled"), [(0.9e-8, True), (1.1e-8, False)])
def test_modes_uncouple_damping_to_1e_8(coupling: float, uncoupled: bool) -> None:
    """The first coordinate is the mode; what the damping moves of the second is the coupling."""
    C = scipy.sparse.csc_array([[1.0, coupling], [coupling, 2.0]])
    system = SimpleNamespace(M=scipy.sparse.eye_array(2).tocsc(), K=scipy.sparse.diags_array([1.0, 3.0]).tocsc())
    found = Undamped(np.ones(1), np.array([[1.0], [0.0]]), SimpleNamespace(solve=lambda x: x), 0.0)
    assert (arnoldi._modal(C, system, found) is not None) is uncoupled


@pytest.mark.parametrize(("beyond", "critical"), [(0.9e-13, True), (1.2e-13, False)])
def test_a_discriminant_of_1e_13_is_a_double_root(beyond: float, critical: bool) -> None:
    """s² + 2 s + 1 - δ; δ is a multiple of ε/2 here to 0.1 %."""
    one = scipy.sparse.eye_array(1).tocsc()
    none = 0.0 * one
    system = SimpleNamespace(M=one, K=(1.0 - beyond) * one, C=2.0 * one, K_loss=none)
    found = Undamped(np.array([1.0 - beyond]), np.ones((1, 1)), None, 0.0)
    rows = arnoldi._uncouple(system, found)
    assert rows is not None and (rows[0][0] == rows[0][1]) is np.bool_(critical)


@pytest.mark.parametrize(("part", "real"), [(0.9e-9, True), (1.1e-9, False)])
def test_an_imaginary_part_of_1e_9_is_an_error_of_the_search(
    part: float, real: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = scipy.sparse.eye_array(4).tocsc()
    system = SimpleNamespace(M=one, C=one, C_full=one, K_full=one, K_loss=0.0 * one, H=0.0 * one)
    pair = np.array([-1.0 + 1j * part, -1.0 - 1j * part])
    monkeypatch.setattr(arnoldi, "_arnoldi", lambda *at: (pair, np.ones((4, 2), complex)))
    values, _ = arnoldi._companion(system, Undamped(np.ones(1), np.ones((4, 1)), None, 0.0), 1, 0.0)
    assert (values.imag == 0.0).all() == real
