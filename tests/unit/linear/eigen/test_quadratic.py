"""Linear systems against closed forms.

Tolerances: a symmetric or skew eigenproblem returns s² (or s) to a few n ε of its largest value, so 1e-13 for the
small systems here; the companion form adds the condition of its eigenvectors, 1e-11; a double (defective) eigenvalue
found by the companion form is good to √ε only.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder, StateSpace
from tests.helpers.checks import matched
from tests.helpers.findings import raises

SYMMETRIC = 1e-13
COMPANION = 1e-11


def chain(n: int, k: float = 1.0, *, ends: bool = True) -> np.ndarray:
    """Stiffness of n masses in a row; with ends held by a spring each, or free."""
    K = k * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    if not ends:
        K[0, 0] = K[-1, -1] = k
    return K


def residual(system: SecondOrder, modes: Modes) -> float:
    """Largest (s² M + s (C+G) + K+H) φ, relative to the norms of its terms (the backward error)."""
    worst = 0.0
    for s, phi in zip(modes.eigenvalues, modes.shapes.T, strict=True):
        terms = [s**2 * system.M, s * system.C_full, system.K_full]
        scale = sum(np.linalg.norm(term, 2) for term in terms) * np.linalg.norm(phi)
        worst = max(worst, np.linalg.norm(sum(terms) @ phi) / scale)
    return worst


# --- undamped ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C09", "003-C10")
def test_two_mass_chain_has_frequencies_root_k_over_m_and_root_three_k_over_m():
    m, k = 2.5, 400.0
    modes = SecondOrder(m * np.eye(2), chain(2, k)).modes()
    np.testing.assert_allclose(modes.frequencies, np.sqrt([k / m, 3 * k / m]), rtol=SYMMETRIC)
    np.testing.assert_allclose(modes.frequencies_hz, modes.frequencies / (2 * np.pi), rtol=1e-15)
    np.testing.assert_allclose(modes.shapes, np.array([[1, 1], [1, -1]]) / np.sqrt(2 * m), rtol=1e-13)
    assert modes.shapes.dtype == np.float64
    assert np.all(modes.damping_ratios == 0.0)
    assert np.all(modes.eigenvalues.real == 0.0)


def test_long_chain_has_the_sine_frequencies_and_mass_orthonormal_shapes():
    n, m, k = 40, 0.3, 50.0
    system = SecondOrder(m * np.eye(n), chain(n, k))
    modes = system.modes()
    expected = 2 * np.sqrt(k / m) * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    # ω² carries n ε of the largest ω²; the lowest ω² is 700 times smaller.
    np.testing.assert_allclose(modes.frequencies, expected, rtol=700 * n * 2.3e-16)
    np.testing.assert_allclose(modes.shapes.T @ system.M @ modes.shapes, np.eye(n), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        modes.shapes.T @ system.K @ modes.shapes, np.diag(expected**2), rtol=0, atol=1e-12 * 4 * k / m
    )


def test_free_free_chain_has_one_rigid_mode_at_exactly_zero():
    m, k = 2.0, 8.0
    modes = SecondOrder(m * np.eye(3), chain(3, k, ends=False)).modes()
    assert len(modes) == 3
    assert modes.eigenvalues[0] == 0.0
    assert modes.frequencies[0] == 0.0
    assert modes.damping_ratios[0] == 0.0
    np.testing.assert_allclose(modes.frequencies[1:], np.sqrt([k / m, 3 * k / m]), rtol=SYMMETRIC)
    np.testing.assert_allclose(modes.shapes[:, 0], np.ones(3) / np.sqrt(3 * m), rtol=1e-13)
    assert "rigid body" in modes.table()


def test_free_particle_in_space_has_three_rigid_modes():
    modes = SecondOrder(2.0 * np.eye(3), np.zeros((3, 3))).modes()
    assert np.all(modes.eigenvalues == 0.0)
    np.testing.assert_allclose(modes.shapes.T @ modes.shapes, np.eye(3) / 2.0, rtol=0, atol=1e-15)


def test_repeated_frequencies_of_a_pendulum_pair_get_mass_orthonormal_shapes():
    m, length, g = 0.7, 1.3, 9.81
    system = SecondOrder(
        m * length**2 * np.eye(2), m * g * length * np.eye(2), coordinates=["left.angle", "right.angle"]
    )
    modes = system.modes()
    np.testing.assert_allclose(modes.frequencies, np.sqrt(g / length) * np.ones(2), rtol=SYMMETRIC)
    np.testing.assert_allclose(modes.shapes.T @ system.M @ modes.shapes, np.eye(2), rtol=0, atol=1e-15)


def test_inverted_pendulum_gives_a_growing_and_a_decaying_real_eigenvalue():
    m, length, g = 1.0, 0.5, 9.81
    modes = SecondOrder(m * length**2, -m * g * length).modes()
    np.testing.assert_allclose(np.sort(modes.eigenvalues.real), np.sqrt(g / length) * np.array([-1, 1]), rtol=1e-14)
    assert np.all(modes.eigenvalues.imag == 0.0)
    assert sorted(modes.damping_ratios) == [-1.0, 1.0]
    assert "divergence (unstable)" in modes.table()


def test_mixed_units_do_not_turn_a_soft_small_part_into_a_rigid_mode():
    # 1e9 N/m on 1 kg beside 1e-7 N m/rad on 1e-11 kg m²: 1e16 apart in K, 300 apart in frequency.
    modes = SecondOrder(np.diag([1.0, 1e-11]), np.diag([1e9, 1e-7])).modes()
    np.testing.assert_allclose(modes.frequencies, [100.0, np.sqrt(1e9)], rtol=SYMMETRIC)


@pytest.mark.parametrize("factor", [1e6, 1e12, 1e16, 1e20])
def test_penalty_springs_do_not_turn_elastic_modes_into_rigid_ones(factor):
    # A chain held by a stiff spring in place of a support: the frequencies of the held chain, lower by 1/factor.
    n = 12
    K = chain(n + 1)
    K[0, 0] += factor
    modes = SecondOrder(np.eye(n + 1), K).modes()
    expected = 2 * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    # the inverse problem resolves 1/ω² to n ε of its largest; the spectrum of the chain is 270 wide
    np.testing.assert_allclose(modes.frequencies[:n], expected, rtol=max(1e-11, 2.0 / factor))
    np.testing.assert_allclose(modes.frequencies[n], np.sqrt(factor), rtol=1e-5)
    np.testing.assert_allclose(modes.shapes.T @ modes.shapes, np.eye(n + 1), rtol=0, atol=1e-12)


# --- damped -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zeta", [1e-6, 0.02, 0.5, 0.999, -0.1])
def test_damped_oscillator_returns_its_frequency_and_damping_ratio(zeta):
    m, omega = 3.0, 40.0
    modes = SecondOrder(m, m * omega**2, C=2 * zeta * omega * m).modes()
    assert len(modes) == 1
    np.testing.assert_allclose(modes.frequencies, omega, rtol=1e-14)
    np.testing.assert_allclose(modes.damping_ratios, zeta, rtol=1e-13)
    np.testing.assert_allclose(modes.damped_frequencies, omega * np.sqrt(1 - zeta**2), rtol=1e-12)
    assert ("growing oscillation (unstable)" in modes.table()) == (zeta < 0)


def test_critically_damped_oscillator_has_a_double_real_eigenvalue():
    m, omega = 3.0, 40.0
    modes = SecondOrder(m, m * omega**2, C=2 * omega * m).modes()
    np.testing.assert_allclose(modes.eigenvalues, [-omega, -omega], rtol=1e-14)
    assert np.all(modes.eigenvalues.imag == 0.0)
    assert modes.damping_ratios.tolist() == [1.0, 1.0]


def test_overdamped_oscillator_gives_two_real_eigenvalues_without_cancellation():
    # s² + (a + b) s + a b: the slow root is 1e-12 of the fast one, lost by the school formula.
    a, b = 1e-6, 1e6
    modes = SecondOrder(1.0, a * b, C=a + b).modes()
    np.testing.assert_allclose(modes.eigenvalues, [-a, -b], rtol=1e-14)
    assert modes.damping_ratios.tolist() == [1.0, 1.0]


def test_rayleigh_damping_keeps_the_undamped_shapes():
    M, K = np.diag([1.0, 2.0, 1.5]), chain(3, 30.0)
    alpha, beta = 0.3, 0.004
    undamped, modes = SecondOrder(M, K).modes(), SecondOrder(M, K, C=alpha * M + beta * K).modes()
    omega = undamped.frequencies
    np.testing.assert_allclose(modes.frequencies, omega, rtol=1e-13)
    np.testing.assert_allclose(modes.damping_ratios, alpha / (2 * omega) + beta * omega / 2, rtol=1e-12)
    np.testing.assert_allclose(modes.shapes, undamped.shapes, rtol=0, atol=1e-13)


def test_different_dampers_on_repeated_frequencies_are_distinguished():
    # Equal oscillators, axes turned by 30 degrees: only the damper decides the shapes.
    turn = np.array([[np.sqrt(3), -1], [1, np.sqrt(3)]]) / 2
    modes = SecondOrder(np.eye(2), 4 * np.eye(2), C=turn @ np.diag([0.4, 1.2]) @ turn.T).modes()
    np.testing.assert_allclose(np.sort(modes.damping_ratios), [0.1, 0.3], rtol=1e-13)
    weak = modes.shapes[:, np.argmin(modes.damping_ratios)]
    np.testing.assert_allclose(weak, turn[:, 0], rtol=1e-13)


def test_free_free_chain_with_internal_damping_keeps_its_rigid_mode_at_zero():
    # A damper beside one spring only: not classical, and the double zero is defective in first-order form.
    C = 0.1 * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0.0]])
    system = SecondOrder(np.eye(3), chain(3, ends=False), C=C)
    modes = system.modes()
    assert len(modes) == 3
    assert modes.eigenvalues[0] == 0.0
    np.testing.assert_allclose(modes.shapes[:, 0], np.ones(3) / np.sqrt(3), rtol=1e-13)
    assert np.all(modes.damping_ratios[1:] > 0.0)
    assert residual(system, modes) < COMPANION


def test_free_mass_on_a_viscous_film_has_a_zero_and_a_decay():
    m, c = 2.0, 3.0
    modes = SecondOrder(m, 0.0, C=c).modes()
    assert modes.eigenvalues[0] == 0.0
    np.testing.assert_allclose(modes.eigenvalues[1], -c / m, rtol=1e-15)


def test_free_chain_on_one_damper_to_ground_has_a_zero_and_a_decay():
    system = SecondOrder(np.eye(2), chain(2, ends=False), C=np.diag([0.5, 0.0]))
    modes = system.modes()
    # det = s (s³ + c s² + 2 s + c)
    roots = np.roots([1.0, 0.5, 2.0, 0.5])
    expected = sorted([0.0, *roots[roots.imag >= 0]], key=abs)
    assert modes.eigenvalues[0] == 0.0
    np.testing.assert_allclose(modes.eigenvalues, expected, rtol=0, atol=COMPANION)


def test_slow_decay_of_a_free_chain_does_not_drown_in_its_stiff_modes():
    # Springs 1e12 times stiffer than the damper needs: the rigid decay is c / (n m), corrections c²/k are below ε.
    n, c = 30, 1e-3
    C = np.zeros((n, n))
    C[0, 0] = c
    modes = SecondOrder(np.eye(n), chain(n, 1e9, ends=False), C=C).modes()
    assert modes.eigenvalues[0] == 0.0
    # eig of a matrix of norm 6e4 resolves 6e4 n ε = 4e-10 absolute at worst, 3e-5 being asked for.
    np.testing.assert_allclose(modes.eigenvalues[1], -c / n, rtol=0, atol=4e-10)


@pytest.mark.spec("003-C14")
def test_random_systems_of_every_kind_solve_their_own_eigenproblem():
    random = np.random.default_rng(7)
    for n in (1, 2, 5, 9):
        for _ in range(5):
            half = random.normal(size=(n, n))
            system = SecondOrder.from_full(half @ half.T + np.eye(n), random.normal(size=(n, n)), half + half.T)
            modes = system.modes()
            assert np.count_nonzero(modes.eigenvalues.imag) * 2 + np.sum(modes.eigenvalues.imag == 0) == 2 * n
            assert residual(system, modes) < 1e-13  # backward stable: some n ε
            weighted = np.einsum("ik,ij,jk->k", modes.shapes.conj(), system.M, modes.shapes)
            np.testing.assert_allclose(weighted, 1.0, rtol=1e-12)
            poles = np.linalg.eigvals(system.state_space().A)
            both = np.concatenate([modes.eigenvalues, modes.eigenvalues[modes.eigenvalues.imag > 0].conj()])
            np.testing.assert_allclose(matched(both, poles), poles, rtol=0, atol=2e-8)


# --- gyroscopic and circulatory ---------------------------------------------------------------------------------------


@pytest.mark.spec("003-C19")
def test_gyroscopic_rotor_whirls_backward_and_forward_on_circles():
    m, g, k = 2.0, 6.0, 50.0
    system = SecondOrder(m * np.eye(2), k * np.eye(2), G=g * np.array([[0, 1], [-1, 0]]))
    modes = system.modes()
    half, root = g / (2 * m), np.sqrt((g / (2 * m)) ** 2 + k / m)
    np.testing.assert_allclose(modes.frequencies, [root - half, root + half], rtol=SYMMETRIC)
    assert np.all(modes.eigenvalues.real == 0.0)
    assert np.all(modes.damping_ratios == 0.0)
    for shape in modes.shapes.T:
        np.testing.assert_allclose(np.abs(shape), 1 / np.sqrt(2 * m), rtol=1e-13)
        np.testing.assert_allclose(abs(shape[0] * np.conj(shape[1])).real, 1 / (2 * m), rtol=1e-13)
        assert abs((shape[0] * np.conj(shape[1])).real) < 1e-14
    assert residual(system, modes) < COMPANION


def test_free_gyroscope_keeps_its_rigid_directions_and_its_nutation():
    # x″ + g y′ = 0, y″ - g x′ = 0: s² (s² + g²) = 0.
    g = 3.0
    modes = SecondOrder(np.eye(2), np.zeros((2, 2)), G=[[0, g], [-g, 0]]).modes()
    np.testing.assert_allclose(modes.eigenvalues, [0, 0, 1j * g], rtol=SYMMETRIC)
    assert modes.eigenvalues[0] == modes.eigenvalues[1] == 0.0


def test_one_free_direction_beside_gyroscopic_coupling_is_a_rigid_mode():
    # Only y has a spring: s² (s² + g² + k) = 0.
    g, k = 3.0, 7.0
    modes = SecondOrder(np.eye(2), np.diag([0, k]), G=[[0, g], [-g, 0]]).modes()
    assert modes.eigenvalues[0] == 0.0
    np.testing.assert_allclose(modes.eigenvalues, [0, 1j * np.sqrt(g**2 + k)], rtol=SYMMETRIC)


def test_spin_stabilises_an_unstable_top_and_damping_destroys_that():
    k, g = -1.0, 3.0  # stable when g² > 4 |k|
    G = [[0, g], [-g, 0]]
    modes = SecondOrder(np.eye(2), k * np.eye(2), G=G).modes()
    np.testing.assert_allclose(modes.frequencies, [(g - np.sqrt(5)) / 2, (g + np.sqrt(5)) / 2], rtol=COMPANION)
    np.testing.assert_allclose(modes.damping_ratios, 0.0, rtol=0, atol=COMPANION)
    assert "unstable" not in modes.table()
    damped = SecondOrder(np.eye(2), k * np.eye(2), G=G, C=0.1 * np.eye(2)).modes()
    assert damped.damping_ratios.min() < 0.0
    assert "growing oscillation (unstable)" in damped.table()


def test_circulatory_force_makes_one_whirl_grow():
    # z = x + i y: z″ + (k ∓ i h) z = 0.
    k, h = 4.0, 0.5
    modes = SecondOrder(np.eye(2), k * np.eye(2), H=[[0, h], [-h, 0]]).modes()
    expected = np.sqrt(complex(-k, h))
    np.testing.assert_allclose(np.sort(modes.eigenvalues.real), [-expected.real, expected.real], rtol=COMPANION)
    np.testing.assert_allclose(modes.eigenvalues.imag, expected.imag, rtol=COMPANION)


# --- massless coordinates ---------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C18")
def test_mass_behind_spring_and_damper_in_series_has_one_state_less():
    # m x1″ + k (x1 - x2) = u, c x2′ + k (x2 - x1) = 0: s (m c s² + m k s + k c) = 0.
    m, k, c = 2.0, 18.0, 5.0
    system = SecondOrder(np.diag([m, 0]), chain(2, k, ends=False), C=np.diag([0, c]), B=[1, 0],
                         coordinates=["mass", "joint"], units={"mass": "m"})  # fmt: skip
    space = system.state_space()
    assert space.states == ("mass", "joint", "mass.rate")
    assert space.units["mass.rate"] == "m/s"
    expected = [0.0, *np.roots([m * c, m * k, k * c])]
    np.testing.assert_allclose(matched(np.linalg.eigvals(space.A), expected), expected, rtol=0, atol=COMPANION)
    modes = system.modes()
    assert modes.eigenvalues[0] == 0.0
    assert len(modes) == 2
    assert residual(system, modes) < COMPANION
    # Both forms of the spec, velocities first.
    star = np.array([[m, 0, 0], [0, 0, c], [0, 1, 0]])
    A = np.linalg.solve(star, -np.array([[0, k, -k], [0, -k, k], [-1, 0, 0]]))
    order = [1, 2, 0]
    np.testing.assert_allclose(space.A, A[np.ix_(order, order)], rtol=0, atol=1e-14)


def test_massless_point_between_two_springs_follows_statically():
    m, k1, k2 = 2.0, 30.0, 60.0
    K = np.array([[k1, -k1], [-k1, k1 + k2]])
    system = SecondOrder(np.diag([m, 0]), K, B=np.eye(2), coordinates=["mass", "joint"])
    series = k1 * k2 / (k1 + k2)
    modes = system.modes()
    np.testing.assert_allclose(modes.frequencies, np.sqrt(series / m), rtol=SYMMETRIC)
    np.testing.assert_allclose(modes.shapes[:, 0], [1 / np.sqrt(m), k1 / (k1 + k2) / np.sqrt(m)], rtol=1e-13)
    space = system.state_space()
    assert space.states == ("mass", "mass.rate")
    np.testing.assert_allclose(space.A, [[0, 1], [-series / m, 0]], rtol=1e-14)
    np.testing.assert_allclose(space.B, [[0, 0], [1 / m, k1 / (k1 + k2) / m]], rtol=1e-14)
    np.testing.assert_allclose(space.C, [[1, 0], [k1 / (k1 + k2), 0]], rtol=1e-14)
    np.testing.assert_allclose(space.D, [[0, 0], [0, 1 / (k1 + k2)]], rtol=1e-14)
    # Static gain of the reduced system is the flexibility of the full one.
    np.testing.assert_allclose(space.D - space.C @ np.linalg.solve(space.A, space.B), np.linalg.inv(K), rtol=1e-13)


def test_transfer_function_of_a_mixed_massless_system_is_that_of_the_full_matrices():
    K = chain(4, 5.0)
    M = np.diag([1.0, 0, 2.0, 0])
    C = np.zeros((4, 4))
    C[:2, :2] = [[0.4, -0.4], [-0.4, 0.7]]
    Y = np.array([[0.3, 1, 0.2, -1.0]])
    system = SecondOrder(M, K, C=C, B=np.eye(4), Y_position=Y, Y_velocity=[[1, 0.5, 2, 0]])
    space = system.state_space()
    assert space.nx == 5
    s = 0.3 + 1.7j
    full = (Y + s * np.array([[1, 0.5, 2, 0]])) @ np.linalg.inv(s**2 * M + s * C + K)
    reduced = space.C @ np.linalg.solve(s * np.eye(5) - space.A, space.B) + space.D
    np.testing.assert_allclose(reduced, full, rtol=COMPANION)


def test_velocity_of_a_static_coordinate_under_an_input_is_refused():
    system = SecondOrder(np.diag([1.0, 0]), chain(2), B=np.eye(2), Y_velocity=np.eye(2), outputs=["v1", "v2"])
    with raises(DataError, "not-proper", "'v2'"):
        system.state_space()


def test_motions_that_are_not_determined_name_their_coordinates():
    with raises(DataError, "singular-matrix"):
        SecondOrder(np.diag([1.0, 0]), np.diag([1.0, 0]), coordinates=["a", "b"]).modes()
    with raises(DataError, "no-mass"):
        SecondOrder(0.0, 1.0).modes()


# --- state space, split, names ----------------------------------------------------------------------------------------


@pytest.mark.spec("003-C06")
def test_state_space_puts_positions_first_and_rates_after_them():
    M, C, K = np.diag([2.0, 4.0]), np.array([[1, -1], [-1, 1.0]]), chain(2, 6.0)
    G = np.array([[0, 0.5], [-0.5, 0]])
    system = SecondOrder(M, K, C=C, G=G, B=[0, 1], Y_position=[[1, 0]], Y_velocity=[[0, 1]], D=[[3]],
                         coordinates=["a", "b"], inputs="push", outputs="meter")  # fmt: skip
    space = system.state_space()
    assert (space.states, space.inputs, space.outputs) == (("a", "b", "a.rate", "b.rate"), ("push",), ("meter",))
    inverse = np.diag([0.5, 0.25])
    expected = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -inverse @ (C + G)]])
    np.testing.assert_allclose(space.A, expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(space.B, [[0], [0], [0], [0.25]])
    np.testing.assert_allclose(space.C, [[1, 0, 0, 1]])
    np.testing.assert_allclose(space.D, [[3]])


@pytest.mark.spec("003-C02")
def test_from_full_splits_symmetric_and_skew_parts():
    random = np.random.default_rng(1)
    C, K = random.normal(size=(3, 3)), random.normal(size=(3, 3))
    system = SecondOrder.from_full(np.eye(3), C, K, coordinates=["a", "b", "c"])
    for part, sign in ((system.C, 1), (system.K, 1), (system.G, -1), (system.H, -1)):
        assert np.array_equal(part, sign * part.T)
    np.testing.assert_allclose(system.C_full, C, rtol=0, atol=1e-15)
    np.testing.assert_allclose(system.K_full, K, rtol=0, atol=1e-15)


def test_from_full_brings_an_unsymmetric_mass_matrix_to_the_identity():
    mix = np.array([[1.0, 0.3], [0.0, 2.0]])
    plain = SecondOrder(np.eye(2), chain(2), C=0.1 * np.eye(2), B=[1, 0])
    mixed = SecondOrder.from_full(mix, mix @ plain.C, mix @ plain.K, B=mix @ plain.B)
    np.testing.assert_allclose(mixed.state_space().A, plain.state_space().A, rtol=0, atol=1e-15)
    np.testing.assert_allclose(mixed.state_space().B, plain.state_space().B, rtol=0, atol=1e-15)
    with raises(DataError, "not-symmetric"):
        SecondOrder.from_full([[1, 1], [0, 0]], None, np.eye(2))


def test_defaults_number_the_names_and_read_every_coordinate():
    system = SecondOrder(np.eye(2), chain(2), B=np.eye(2))
    assert (system.coordinates, system.inputs, system.outputs) == (("x1", "x2"), ("u1", "u2"), ("x1", "x2"))
    assert (system.nq, system.nu, system.ny) == (2, 2, 2)
    assert SecondOrder(np.eye(2), chain(2), Y_velocity=[1, 0]).outputs == ("y1",)
    assert SecondOrder(1.0, 1.0, Y_position=np.zeros((0, 1))).ny == 0
    space = StateSpace(np.eye(2), [[1], [0]], [[1, 0]])
    assert (space.states, space.inputs, space.outputs) == (("x1", "x2"), ("u1",), ("y1",))
    assert space.D.shape == (1, 1)


def test_sampled_oscillator_and_integrator_match_their_closed_forms():
    omega, h = 7.0, 0.05
    space = SecondOrder(1.0, omega**2, B=[1.0]).state_space().to_discrete(h)
    c, s = np.cos(omega * h), np.sin(omega * h)
    np.testing.assert_allclose(space.A, [[c, s / omega], [-omega * s, c]], rtol=1e-13)
    np.testing.assert_allclose(space.B, [[(1 - c) / omega**2], [s / omega]], rtol=1e-12)
    assert space.dt == h
    np.testing.assert_allclose(SecondOrder(1.0, 0.0, B=[1.0]).state_space().to_discrete(h).B, [[h**2 / 2], [h]])
    with raises(DataError, "sample-time-mismatch"):
        space.to_discrete(h)


def test_mac_is_one_for_the_same_shape_and_zero_for_orthogonal_ones():
    modes = SecondOrder(np.eye(2), chain(2), coordinates=["a", "b"]).modes()
    np.testing.assert_allclose(modes.mac(), np.eye(2), rtol=0, atol=1e-15)
    turned = Modes(modes.eigenvalues, modes.shapes[:, ::-1] * (2 - 1j), ["a", "b"])
    np.testing.assert_allclose(modes.mac(turned), np.eye(2)[::-1], rtol=0, atol=1e-15)
    with raises(DataError, "wrong-shape"):
        modes.mac(Modes([1j], [[1], [1]], ["a", "c"]))
    with raises(DataError, "wrong-shape"):
        modes.mac(Modes([1j], [[1], [1]], ["b", "a"]))


# ---- edges of thresholds
