"""Properties of linear second-order systems (spec 003, section 4.13, P1 to P9).

Domain: up to 6 coordinates, M with condition below 1e3, entries of the other matrices below 5 in size.
Companion eigenvalues of such systems are good to 1e-9 unless nearly defective; sets are compared through their
characteristic polynomials' roots only where a property says so.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.responses.modal import modal


@st.composite
def matrices(draw, low=2, high=6):
    """Size, and a source of random matrices."""
    n = draw(st.integers(low, high))
    return n, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def positive(random, n: int, floor: float = 0.1) -> np.ndarray:
    half = random.uniform(-1, 1, size=(n, n))
    return half @ half.T + floor * np.eye(n)


def skew(random, n: int) -> np.ndarray:
    half = random.uniform(-1, 1, size=(n, n))
    return half - half.T


def residual(system: SecondOrder, s: complex, phi: np.ndarray) -> float:
    terms = [s**2 * system.M, s * system.C_full, system.K_full]
    size = sum(np.linalg.norm(term, 2) for term in terms) * np.linalg.norm(phi)
    return float(np.linalg.norm(sum(terms) @ phi) / size)


@pytest.mark.spec("003-C02")
@given(matrices(1))
def test_split_matrices_rejoin_and_are_symmetric_and_skew(case):  # P1
    n, random = case
    A2, A3 = random.uniform(-5, 5, size=(2, n, n))
    system = SecondOrder.from_full(positive(random, n), A2, A3)
    np.testing.assert_allclose(system.C_full, A2, rtol=0, atol=1e-14)
    np.testing.assert_allclose(system.K_full, A3, rtol=0, atol=1e-14)
    for part, sign in ((system.C, 1), (system.K, 1), (system.G, -1), (system.H, -1)):
        assert np.array_equal(part, sign * part.T)


@pytest.mark.spec("003-C06", "003-C08", "003-C14")
@given(matrices(1))
def test_poles_of_the_first_order_form_are_roots_of_the_quadratic_eigenproblem_in_pairs(case):  # P2, P3
    n, random = case
    system = SecondOrder.from_full(positive(random, n), *random.uniform(-5, 5, size=(2, n, n)))
    space = system.state_space()
    values, vectors = np.linalg.eig(space.A)
    for s, z in zip(values, vectors.T, strict=True):
        # The upper half of a state eigenvector is a shape.
        assert residual(system, s, z[:n]) < 1e-10
    ours = system.modes()
    assert max(residual(system, s, phi) for s, phi in zip(ours.eigenvalues, ours.shapes.T, strict=True)) < 1e-12
    oscillatory = ours.eigenvalues[ours.eigenvalues.imag > 0]
    assert 2 * len(oscillatory) + np.count_nonzero(ours.eigenvalues.imag == 0) == 2 * n
    # Σ s = -tr(M⁻¹(C+G)) and Π s = det M⁻¹(K+H), whatever the multiplicities.
    every = np.concatenate([ours.eigenvalues, oscillatory.conj()])
    trace = -np.trace(np.linalg.solve(system.M, system.C_full))
    np.testing.assert_allclose(every.sum(), trace, rtol=0, atol=1e-9 * np.abs(every).max() * n)
    det = np.linalg.det(np.linalg.solve(system.M, system.K_full))
    np.testing.assert_allclose(np.prod(every), det, rtol=1e-8, atol=1e-8)


@pytest.mark.spec("003-C09", "003-C10", "003-C11", "003-C12")
@given(matrices(1))
def test_undamped_modes_are_orthogonal_in_mass_and_stiffness(case):  # P4
    n, random = case
    system = SecondOrder(positive(random, n), positive(random, n))
    modes = system.modes()
    scale = modes.frequencies.max() ** 2
    np.testing.assert_allclose(modes.shapes.T @ system.M @ modes.shapes, np.eye(n), rtol=0, atol=1e-11)
    stiffness = modes.shapes.T @ system.K @ modes.shapes
    np.testing.assert_allclose(stiffness, np.diag(modes.frequencies**2), rtol=0, atol=1e-11 * scale)
    for how in ("largest", "unit", "mass"):
        sized = modes.normalise(how)
        ratio = sized.modal_stiffnesses / sized.modal_masses
        np.testing.assert_allclose(ratio, modes.frequencies**2, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.spec("003-C11", "003-C13")
@given(matrices())
def test_modal_coordinates_invert_the_shapes_or_project_in_the_mass(case):  # P5
    n, random = case
    system = SecondOrder(positive(random, n), positive(random, n))
    modes = system.modes()
    x = random.normal(size=n)
    np.testing.assert_allclose(modes.project(x), np.linalg.solve(modes.shapes, x), rtol=1e-8, atol=1e-9)
    few = modes.select(range(1, n))
    miss = x - few.shapes @ few.project(x)
    np.testing.assert_allclose(few.shapes.T @ system.M @ miss, 0.0, rtol=0, atol=1e-9)


@pytest.mark.spec("003-C17", "003-C15")
@given(matrices(1))
def test_positive_definite_matrices_decay_and_semidefinite_ones_never_grow(case):  # P6
    n, random = case
    M, C, K = (positive(random, n) for _ in range(3))
    sure = SecondOrder(M, K, C=C, G=skew(random, n))
    assert sure.modes().eigenvalues.real.max() < 0.0
    assert sure.stability().verdict == "asymptotically stable"
    half = random.uniform(-1, 1, size=(n, max(n - 1, 1)))
    semi = SecondOrder(M, K, C=half @ half.T, G=skew(random, n))
    assert semi.stability().is_bounded
    assert semi.modes().eigenvalues.real.max() <= 1e-11 * semi.modes().frequencies.max()


@pytest.mark.spec("003-C23", "000-19")
@given(matrices())
def test_proportional_damping_is_diagonal_in_modal_coordinates_and_skew_parts_stay_skew(case):  # P7
    n, random = case
    M, K = positive(random, n), positive(random, n)
    alpha, beta = random.uniform(0, 1, size=2)
    form = modal(SecondOrder(M, K, C=alpha * M + beta * K, G=skew(random, n), H=skew(random, n)))
    np.testing.assert_allclose(form.C, alpha * form.M + beta * form.K, rtol=0, atol=1e-9 * np.abs(form.K).max())
    assert np.array_equal(form.C, np.diag(np.diag(form.C)))
    for part in (form.G, form.H):
        assert np.array_equal(part, -part.T)


@pytest.mark.spec("003-C18")
@given(matrices(), st.integers(1, 3))
def test_both_massless_forms_agree_and_small_masses_converge_to_them(case, massless):  # P8
    n, random = case
    n2 = min(massless, n - 1)
    n1 = n - n2
    M = np.zeros((n, n))
    M[:n1, :n1] = positive(random, n1)
    C, K = random.uniform(-1, 1, size=(2, n, n))
    C[n1:, n1:] = positive(random, n2, floor=0.5)
    C[:n1, n1:], C[n1:, :n1] = 0.1 * C[:n1, n1:], 0.1 * C[n1:, :n1]
    space = SecondOrder.from_full(M, C, K).state_space()
    I, Z = np.eye(n1), np.zeros  # noqa: E741
    A1 = -np.block([[C[:n1, :n1], K[:n1]], [C[n1:, :n1], K[n1:]], [-I, Z((n1, n))]])
    M1 = np.block(
        [[M[:n1, :n1], Z((n1, n1)), C[:n1, n1:]], [Z((n2, 2 * n1)), C[n1:, n1:]], [Z((n1, n1)), I, Z((n1, n2))]]
    )
    A2, M2 = A1.copy(), M1.copy()
    A2[:n, :n1], M2[:n, n1 : 2 * n1] = 0.0, C[:, :n1]
    order = [*range(n1, 2 * n1 + n2), *range(n1)]
    for star, right in ((M1, A1), (M2, A2)):
        np.testing.assert_allclose(space.A, np.linalg.solve(star, right)[np.ix_(order, order)], rtol=1e-8, atol=1e-9)
    s = 0.4 + 0.9j
    exact = np.linalg.inv(s * np.eye(space.nx) - space.A)[:n1, :n1]
    errors = []
    for mass in (1e-4, 1e-5):
        M[n1:, n1:] = mass * np.eye(n2)
        near = SecondOrder.from_full(M, C, K).state_space()
        errors.append(np.abs(np.linalg.inv(s * np.eye(2 * n) - near.A)[:n1, :n1] - exact).max())
    assert errors[1] < 0.2 * errors[0] + 1e-9


@pytest.mark.spec("003-C19")
@given(matrices())
def test_gyroscopic_systems_with_positive_stiffness_have_imaginary_spectra(case):  # P9
    n, random = case
    system = SecondOrder(positive(random, n), positive(random, n), G=5 * skew(random, n))
    modes = system.modes()
    assert np.all(modes.eigenvalues.real == 0.0)
    assert len(modes) == n
    assert max(residual(system, s, phi) for s, phi in zip(modes.eigenvalues, modes.shapes.T, strict=True)) < 1e-10
    assert system.stability().verdict == "stable"


@given(matrices(2, 5))
def test_stability_does_not_depend_on_the_coordinates(case):
    n, random = case
    A = random.uniform(-1, 1, size=(n, n))
    T = np.linalg.qr(random.normal(size=(n, n)))[0] @ np.diag(random.uniform(0.5, 2, size=n))
    turned = np.linalg.solve(T, A @ T)
    assert StateSpace(A).stability().verdict == StateSpace(turned).stability().verdict


@given(matrices())
def test_effective_masses_of_all_modes_sum_to_the_mass_in_that_direction(case):
    n, random = case
    M = positive(random, n)
    modes = SecondOrder(M, positive(random, n)).modes()
    r = random.normal(size=n)
    np.testing.assert_allclose(modes.effective_masses(r).sum(), r @ M @ r, rtol=1e-9)
