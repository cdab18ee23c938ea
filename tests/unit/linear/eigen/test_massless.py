"""Singular mass matrices: every kind against the transfer function of the full matrices.

Tolerance: both sides solve systems of condition below 1e3, so 1e-11 leaves room for it.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from tests.helpers.findings import raises

ROUNDING = 1e-11
POINTS = (0.3 + 1.7j, -0.2 + 0.4j, 2.1j)


def transfer(system: SecondOrder, s: complex) -> np.ndarray:
    read = system.Y_position + s * system.Y_velocity + s**2 * system.Y_acceleration
    return read @ np.linalg.solve(s**2 * system.M + s * system.C_full + system.K_full, system.B) + system.D


def assert_same_transfer(system: SecondOrder) -> None:
    space = system.state_space()
    for s in POINTS:
        first = space.C @ np.linalg.solve(s * np.eye(space.nx) - space.A, space.B) + space.D
        np.testing.assert_allclose(first, transfer(system, s), rtol=ROUNDING, atol=ROUNDING)


def chain(n: int, k: float = 1.0) -> np.ndarray:
    return k * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))


@pytest.mark.spec("000-44")
def test_accelerations_are_read_through_the_equation_of_motion():
    C, K, B = np.array([[0.3, -0.1], [-0.1, 0.2]]), chain(2, 4.0), np.array([[1.0], [0.5]])
    M = np.array([[2.0, 0.1], [0.1, 1.0]])
    Yd, Yv, Ya = np.array([[1.0, 0], [0, 0]]), np.array([[0, 0.5], [0, 1]]), np.array([[0, 2.0], [1, 0]])
    system = SecondOrder(M, K, C=C, B=B, Y_position=Yd, Y_velocity=Yv, Y_acceleration=Ya, D=[[0.1], [0]])
    space = system.state_space()
    inverse = np.linalg.inv(M)
    # spec 000, item 44: C = [C_d - C_a M⁻¹K, C_v - C_a M⁻¹C], D = C_a M⁻¹ B
    np.testing.assert_allclose(space.C, np.hstack([Yd - Ya @ inverse @ K, Yv - Ya @ inverse @ C]), rtol=1e-13)
    np.testing.assert_allclose(space.D, [[0.1], [0]] + Ya @ inverse @ B, rtol=1e-13)
    assert_same_transfer(system)


@pytest.mark.spec("003-C18")
def test_both_forms_of_the_source_give_our_state_matrix_also_for_unsymmetric_matrices():
    random = np.random.default_rng(3)
    n1, n2 = 3, 2
    half = random.normal(size=(n1, n1))
    M11 = half @ half.T + np.eye(n1)
    C, K = random.normal(size=(5, 5)), random.normal(size=(5, 5))
    C[n1:, n1:] += 3 * np.eye(n2)
    M = np.zeros((5, 5))
    M[:n1, :n1] = M11
    space = SecondOrder.from_full(M, C, K, B=np.eye(5)).state_space()
    (C11, C12), (C21, C22) = (np.split(rows, [n1], axis=1) for rows in np.split(C, [n1]))
    O12, I, O = np.zeros((n1, n1)), np.eye(n1), np.zeros  # noqa: E741
    A_star = -np.block([[C11, K[:n1, :n1], K[:n1, n1:]], [C21, K[n1:, :n1], K[n1:, n1:]], [-I, O12, O((n1, n2))]])
    first = np.block([[M11, O12, C12], [O((n2, n1)), O((n2, n1)), C22], [O12, I, O((n1, n2))]])
    second = np.block([[M11, C11, C12], [O((n2, n1)), C21, C22], [O12, I, O((n1, n2))]])
    A_star_2 = A_star.copy()
    A_star_2[: n1 + n2, :n1] = 0.0
    B_star = np.vstack([np.eye(5), np.zeros((n1, 5))])
    ours = [*range(n1, n1 + n1 + n2), *range(n1)]  # the source has velocities first
    for star, right in ((first, A_star), (second, A_star_2)):
        np.testing.assert_allclose(space.A, np.linalg.solve(star, right)[np.ix_(ours, ours)], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(space.B, np.linalg.solve(star, B_star)[ours], rtol=1e-11, atol=1e-12)


@pytest.mark.spec("003-C18")
@pytest.mark.parametrize(
    ("C", "expected"),
    [
        (np.diag([0.1, 0.5]), [-0.311200 + 1.447030j, -5.477600]),
        (np.array([[0.3, -0.2], [-0.2, 0.7]]), [-0.304187 + 1.447048j, -3.920197]),
    ],
)
def test_reference_system_with_one_massless_coordinate(C, expected):
    # spec 003, R1; six printed decimals of both parts: √2 · 5e-7.
    system = SecondOrder(np.diag([1.0, 0.0]), [[5, -3], [-3, 3]], C=C)
    np.testing.assert_allclose(system.modes().eigenvalues, expected, rtol=0, atol=7.1e-7)
    poles = np.linalg.eigvals(system.state_space().A)
    np.testing.assert_allclose(
        poles[poles.imag >= 0][np.argsort(abs(poles[poles.imag >= 0]))], expected, rtol=0, atol=7.1e-7
    )


@pytest.mark.spec("003-C18")
def test_response_of_the_reference_system_at_one_frequency():
    C = np.array([[0.3, -0.2], [-0.2, 0.7]])
    space = SecondOrder(np.diag([1.0, 0.0]), [[5, -3], [-3, 3]], C=C, B=[1, 0.5]).state_space()
    x = space.C @ np.linalg.solve(1.3j * np.eye(3) - space.A, space.B) + space.D
    np.testing.assert_allclose(
        x[:, 0], [0.770962 - 1.527212j, 0.574170 - 1.634560j], rtol=0, atol=7.1e-7
    )  # both parts ±5e-7


@pytest.mark.spec("003-C18")
def test_damping_of_the_massless_part_that_is_singular_is_turned_into_damped_and_static_directions():
    # Only b + c is damped: b - c is static. 1 massive (2 states), 1 damped, 1 algebraic.
    damped = np.array([[0, 0, 0], [0, 1, 1], [0, 1, 1.0]])
    system = SecondOrder(np.diag([1.0, 0, 0]), chain(3, 3.0), C=damped, B=np.eye(3), coordinates=["a", "b", "c"])
    assert system.state_space().nx == 3
    assert_same_transfer(system)
    modes = system.modes()
    poles = np.linalg.eigvals(system.state_space().A)
    np.testing.assert_allclose(modes.eigenvalues, sorted(poles[poles.imag >= 0], key=abs), rtol=ROUNDING)


@pytest.mark.spec("003-C18")
def test_mass_matrix_that_is_singular_without_a_zero_row_is_reduced():
    # Only x1 + x2 has mass: the two springs hang in parallel on it, 2 y″ = -y.
    system = SecondOrder(np.ones((2, 2)), np.eye(2), B=np.eye(2), coordinates=["a", "b"], units={"a": "m", "b": "m"})
    modes = system.modes()
    np.testing.assert_allclose(modes.frequencies, [np.sqrt(0.5)], rtol=1e-13)
    np.testing.assert_allclose(modes.shapes, [[0.5], [0.5]], rtol=1e-13)
    space = system.state_space()
    assert space.nx == 2
    assert space.states[0].endswith(".part")
    assert space.units[space.states[1]] == "m/s"
    assert_same_transfer(system)


@pytest.mark.spec("003-C18")
def test_gyroscopic_force_of_a_massless_coordinate_adds_inertia():
    # m x1″ + g x2′ + k1 x1 = u1 and -g x1′ + k2 x2 = u2: (m + g²/k2) x1″ + k1 x1 = u1 - g u2′/k2
    m, g, k1, k2 = 2.0, 3.0, 5.0, 4.0
    system = SecondOrder(np.diag([m, 0]), np.diag([k1, k2]), G=[[0, g], [-g, 0]], B=np.eye(2))
    np.testing.assert_allclose(system.modes().frequencies, [np.sqrt(k1 / (m + g**2 / k2))], rtol=1e-13)
    assert_same_transfer(system)


@pytest.mark.spec("003-C18")
def test_random_semidefinite_systems_of_every_rank_keep_their_transfer_function():
    random = np.random.default_rng(11)
    seen = set()
    for _ in range(40):
        n = int(random.integers(2, 6))
        mass, damping = (int(random.integers(0, n + 1)) for _ in range(2))
        if mass + damping == 0:
            continue
        left, right = random.normal(size=(n, mass)), random.normal(size=(n, damping))
        K = chain(n, 2.0) + 0.3 * np.eye(n)
        system = SecondOrder(left @ left.T, K, C=right @ right.T, B=np.eye(n))
        assert system.state_space().nx == 2 * mass + min(damping, n - mass)
        assert_same_transfer(system)
        seen.add((n, mass, damping))
    assert len(seen) > 20


def test_a_purely_damped_system_has_one_state_per_coordinate():
    system = SecondOrder(np.zeros((2, 2)), chain(2, 3.0), C=np.diag([1.0, 2.0]), B=np.eye(2))
    assert system.state_space().states == ("x1", "x2")
    assert_same_transfer(system)
    np.testing.assert_allclose(np.sort(system.modes().eigenvalues.real), np.sort(np.linalg.eigvals(
        -np.diag([1.0, 0.5]) @ chain(2, 3.0))), rtol=1e-12)  # fmt: skip


def test_a_fictitious_small_mass_converges_to_the_massless_system():
    C, K = np.array([[0.3, -0.2], [-0.2, 0.7]]), np.array([[5.0, -3], [-3, 3]])
    exact = SecondOrder(np.diag([1.0, 0.0]), K, C=C).modes().eigenvalues
    errors = []
    for mass in (1e-3, 1e-4, 1e-5):
        near = SecondOrder(np.diag([1.0, mass]), K, C=C).modes().eigenvalues
        errors.append(np.abs(near[:2] - exact).max())
        assert near[-1].real < -0.6 / mass  # the spurious fast one, -c/m
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("matrix", ["Y_velocity", "Y_acceleration"])
def test_an_output_that_needs_the_derivative_of_an_input_is_refused_by_name(matrix):
    system = SecondOrder(np.diag([1.0, 0]), chain(2), B=np.eye(2), outputs=["v1", "v2"], **{matrix: np.eye(2)})
    with raises(DataError, "not-proper", "'v2'"):
        system.state_space()
    damped = SecondOrder(np.diag([1.0, 0]), chain(2), C=np.eye(2), B=[[0], [1]], Y_acceleration=[[0, 1]])
    with raises(DataError, "not-proper", "'y1'"):
        damped.state_space()
    assert_same_transfer(damped.replace(B=[[1.0], [0.0]]))


def test_massless_directions_without_any_hold_are_refused():
    with raises(DataError, "singular-matrix"):
        SecondOrder(np.ones((2, 2)), np.ones((2, 2)), coordinates=["a", "b"]).state_space()
    with raises(DataError, "no-mass"):
        SecondOrder(np.zeros((2, 2)), np.eye(2)).state_space()


def test_hysteretic_damping_has_no_state_space_and_a_large_sparse_system_gets_the_advice_to_reduce():
    with raises(DataError, "not-supported"):
        SecondOrder(1.0, 1.0, K_loss=0.1).state_space()
    import scipy.sparse

    large = scipy.sparse.eye_array(6000)
    with raises(DataError, "too-large"):
        SecondOrder(large, large).state_space()


# ---- the edge of the threshold
