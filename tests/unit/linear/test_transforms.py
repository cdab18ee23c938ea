"""State-space systems: poles, zeros, modes, gramians, norms, balanced truncation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.eigen.roots import Roots
from dalembert.linear.transforms import gramians
from tests.helpers.findings import raises

OSCILLATOR = StateSpace([[0, 1], [-4, -0.4]], [0, 1], [[1, 0]], states=["x", "v"], inputs="f", outputs="x1")

EPS = float(np.finfo(float).eps)


def random_stable(seed: int, nx: int = 7, nu: int = 2, ny: int = 3, dt: float | None = None) -> StateSpace:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(nx, nx))
    if dt is None:
        A -= (np.linalg.eigvals(A).real.max() + 0.3) * np.eye(nx)
    else:
        A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    return StateSpace(A, rng.normal(size=(nx, nu)), rng.normal(size=(ny, nx)), rng.normal(size=(ny, nu)), dt)


def gain_at(space: StateSpace, omega: float) -> float:
    s = 1j * omega if space.dt is None else np.exp(1j * omega * space.dt)
    return float(np.linalg.norm(space.C @ np.linalg.solve(s * np.eye(space.nx) - space.A, space.B) + space.D, 2))


# Poles and zeros


def test_poles_print_as_a_table_with_frequency_damping_and_time_constant():
    poles = StateSpace(scipy.linalg.block_diag([[0, 1], [-4, -0.4]], [[-10.0]])).poles()
    np.testing.assert_allclose(poles.frequencies, [2, 2, 10])
    np.testing.assert_allclose(poles.damping_ratios, [0.1, 0.1, 1])
    np.testing.assert_allclose(poles.time_constants, [5, 5, 0.1])
    lines = repr(poles).splitlines()
    assert lines[0] == "3 poles"
    assert lines[1].split() == ["pole", "frequency", "[rad/s]", "damping", "ratio", "time", "constant", "[s]"]
    assert lines[-1].split() == ["-10", "10", "1", "0.1"]
    assert poles[2] == pytest.approx(-10)


def test_repeated_integrators_have_poles_at_exactly_zero_in_any_states():
    A = scipy.linalg.block_diag(np.eye(3, k=1), [[0.0, 1.0], [0.0, 0.0]], [[-1.0, 2.0], [-2.0, -1.0]])
    T = np.linalg.qr(np.random.default_rng(7).normal(size=(7, 7)))[0]
    space = StateSpace(T @ A @ T.T)
    np.testing.assert_array_equal(space.poles().values[:5], 0.0)
    np.testing.assert_allclose(space.poles().values[5:], [-1 - 2j, -1 + 2j], rtol=0, atol=1e-12)
    sampled = space.to_discrete(0.1).poles()
    np.testing.assert_array_equal(sampled.values[:5], 1.0)
    assert not space.is_stable


def test_a_free_structure_sampled_quickly_keeps_its_free_motion():
    system = SecondOrder(np.eye(3), [[1e3, -1e3, 0], [-1e3, 2e3, -1e3], [0, -1e3, 1e3]])
    sampled = system.state_space().to_discrete(1e-5)
    np.testing.assert_array_equal(sampled.poles().values[:2], 1.0)
    modes = sampled.modes()
    np.testing.assert_allclose(modes.frequencies, system.modes().frequencies, rtol=1e-6)
    np.testing.assert_allclose(modes.shapes[:, 0], 1.0, rtol=0, atol=1e-6)


def test_poles_of_a_far_from_normal_matrix_are_not_taken_for_zero():
    A = -np.eye(60) + 2.0 * np.eye(60, k=1)  # singular to rounding, yet every pole is -1
    np.testing.assert_array_equal(StateSpace(A).poles().values, -1.0)


def test_a_sampled_pole_at_zero_dies_at_once():
    poles = StateSpace(np.diag([0.0, 0.5]), dt=0.1).poles()
    np.testing.assert_allclose(poles.damping_ratios, 1.0)
    assert sorted(poles.time_constants) == [0.0, pytest.approx(0.1 / math.log(2))]
    assert "sampled" in repr(poles)


def test_zeros_of_a_known_transfer_function():
    # (s + 1)(s - 3) / (s + 2)(s + 4)(s + 5)
    space = StateSpace([[0, 1, 0], [0, 0, 1], [-40, -38, -11]], [0, 0, 1], [[-3, -2, 1]])
    np.testing.assert_allclose(np.sort(space.zeros().values.real), [-1, 3], rtol=0, atol=1e-12)
    assert space.zeros().kind == "zero"
    assert repr(StateSpace([[-1.0]], 1.0, 1.0).zeros()) == "no zeros"


def test_zeros_block_a_direction_of_a_system_with_many_inputs_and_outputs():
    space = random_stable(8, 6, 2, 2)
    zeros = space.zeros()
    assert len(zeros) == 6
    for zero in zeros:
        pencil = np.block([[space.A - zero * np.eye(6), space.B], [space.C, space.D]])
        assert np.linalg.svd(pencil, compute_uv=False)[-1] < 1e-12


def test_a_generic_system_with_more_outputs_than_inputs_has_no_zeros_but_an_unseen_mode_is_one():
    space = random_stable(9, 5, 2, 3)
    assert len(space.zeros()) == 0
    hidden = StateSpace(
        scipy.linalg.block_diag(space.A, [[-7.0]]), np.vstack([space.B, [[1.0, 2.0]]]),
        np.hstack([space.C, np.zeros((3, 1))]), space.D,
    )  # fmt: skip
    np.testing.assert_allclose(hidden.zeros().values, [-7], rtol=0, atol=1e-12)


def test_zeros_do_not_depend_on_units():
    # Collocated force and position of a chain: zeros are the modes with that mass held.
    K = 1e7 * np.array([[2.0, -1, 0], [-1, 2, -1], [0, -1, 2]])
    system = SecondOrder(1e-3 * np.eye(3), K, B=[1.0, 0, 0], Y_position=[[1e3, 0, 0]])
    held = SecondOrder(1e-3 * np.eye(2), K[1:, 1:]).modes().frequencies
    zeros = system.state_space().zeros()
    assert len(zeros) == 4
    np.testing.assert_allclose(zeros.frequencies[::2], held, rtol=1e-10)


def test_a_system_whose_outputs_repeat_each_other_still_has_its_zeros():
    space = StateSpace(
        [[0, 1, 0], [0, 0, 1], [-40, -38, -11]], np.outer([0, 0, 1], [1, 2]), np.outer([1, 1], [-3, -2, 1])
    )
    np.testing.assert_allclose(np.sort(space.zeros().values.real), [-1, 3], rtol=0, atol=1e-12)


# Modes


@pytest.mark.spec("000-48", "003-C14")
def test_modes_of_a_state_space_are_those_of_the_second_order_system():
    system = SecondOrder(
        np.diag([2.0, 3.0]), [[50.0, -20.0], [-20.0, 45.0]], C=[[0.7, -0.3], [-0.3, 0.9]], coordinates=["a", "b"]
    )
    direct, space = system.modes(), system.state_space()
    for modes in (space.modes(), space.to_discrete(0.1).modes()):
        np.testing.assert_allclose(modes.eigenvalues, direct.eigenvalues, rtol=1e-12)
        np.testing.assert_allclose(modes.damping_ratios, direct.damping_ratios, rtol=1e-11)
        np.testing.assert_allclose(np.diag(modes.mac(direct)), 1.0, rtol=0, atol=1e-12)
        assert modes.coordinates == ("a", "b")


@pytest.mark.spec("003-C14")
def test_poles_of_a_gyroscopic_system_are_those_of_spec_003_r2():
    def poles(K, g, c=0.0):
        system = SecondOrder(np.eye(2), K, C=c * np.eye(2), G=[[0.0, g], [-g, 0.0]])
        return system.state_space().poles().values

    half = 0.5e-6
    for g, expected in ((1, [1.842403, 3.256617]), (5, [0.986024, 6.085044])):
        found = poles(np.diag([4.0, 9.0]), g)
        np.testing.assert_allclose(found[found.imag > 0].imag, expected, rtol=0, atol=half)
        np.testing.assert_allclose(found.real, 0.0, rtol=0, atol=1e-14)
    unstable = poles(-np.eye(2), 1.9)
    np.testing.assert_allclose(np.abs(unstable.real), 0.31225, rtol=0, atol=0.5e-5)
    np.testing.assert_allclose(np.abs(unstable.imag), 0.95, rtol=0, atol=1e-14)
    damped = poles(-np.eye(2), 3.0, c=0.05)
    worst = damped[np.argmax(damped.real)]
    assert worst.real == pytest.approx(0.008534, abs=half)
    assert abs(worst.imag) == pytest.approx(0.381743, abs=half)


@pytest.mark.spec("000-48")
def test_real_poles_have_rows_of_their_own_and_a_free_motion_one():
    overdamped = SecondOrder(np.eye(2), np.diag([0.0, 4.0]), C=np.diag([0.0, 5.0])).state_space()
    np.testing.assert_allclose(overdamped.modes().eigenvalues, [0, -1, -4], rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.abs(overdamped.modes().shapes), [[1, 0, 0], [0, 1, 1]], rtol=0, atol=1e-9)


def test_a_mode_that_no_output_sees_has_the_shape_zero():
    modes = StateSpace(np.diag([-1.0, -2.0]), C=[[1.0, 0.0]]).modes()
    np.testing.assert_array_equal(modes.shapes, [[1.0, 0.0]])


# Gramians


@pytest.mark.parametrize("dt", [None, 0.1])
def test_gramians_solve_their_equations_as_scipy_does(dt):
    space = random_stable(10, dt=dt)
    P, Q = space.controllability_gramian(), space.observability_gramian()
    if dt is None:
        P2 = scipy.linalg.solve_continuous_lyapunov(space.A, -space.B @ space.B.T)
        Q2 = scipy.linalg.solve_continuous_lyapunov(space.A.T, -space.C.T @ space.C)
    else:
        P2 = scipy.linalg.solve_discrete_lyapunov(space.A, space.B @ space.B.T)
        Q2 = scipy.linalg.solve_discrete_lyapunov(space.A.T, space.C.T @ space.C)
    np.testing.assert_allclose(P, P2, rtol=0, atol=1e-12 * np.abs(P2).max())
    np.testing.assert_allclose(Q, Q2, rtol=0, atol=1e-12 * np.abs(Q2).max())
    L_c, L_o = gramians.both_factors(space, "test")
    np.testing.assert_allclose(L_c @ L_c.T, P2, rtol=0, atol=1e-12 * np.abs(P2).max())
    np.testing.assert_allclose(L_o @ L_o.T, Q2, rtol=0, atol=1e-12 * np.abs(Q2).max())


def test_a_gramian_of_uncontrollable_states_stays_positive_semidefinite():
    space = StateSpace(np.diag([-1.0, -2.0, -3.0]), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(
        space.controllability_gramian(), np.diag([0.5, 0, 0]), rtol=0, atol=EPS
    )  # the square of a root: two roundings of 0.5


@pytest.mark.parametrize(
    "A",
    [[[0, 1], [-4, 0]], [[0, 1], [0, 0]], [[1.0]], np.diag([-1.0, 2.0])],
    ids=["undamped", "free", "grows", "mixed"],
)
def test_gramians_refuse_what_is_not_asymptotically_stable_and_name_the_poles(A):
    space = StateSpace(A, np.ones((len(A), 1)))
    assert not space.is_stable
    for ask in (space.controllability_gramian, space.observability_gramian, space.hankel_values, space.balanced_form):
        with raises(DataError, "unstable"):
            ask()


# Norms


def test_the_h2_norm_of_an_oscillator_is_its_closed_form():
    # x″ + 2ζω x′ + ω² x = f: ‖G‖² = 1/(4 ζ ω³)
    assert OSCILLATOR.h2_norm() == pytest.approx(math.sqrt(1 / (4 * 0.1 * 8)), rel=1e-14)
    assert OSCILLATOR.replace(D=1.0).h2_norm() == math.inf
    assert StateSpace([[1.0]], 1.0).h2_norm() == math.inf


def test_the_sampled_h2_norm_is_the_sum_of_squared_pulse_responses():
    space = random_stable(11, dt=0.1)
    assert space.h2_norm() == pytest.approx(math.sqrt(np.sum(space.markov(600) ** 2)), rel=1e-12)


# Rounding of the pole alone is ε/ζ of its damping, so 1e-9 can be had down to ζ of some 1e-6.
@pytest.mark.parametrize("damping", [0.3, 1e-2, 1e-4, 1e-6])
def test_the_h_infinity_norm_of_an_oscillator_is_its_closed_form(damping):
    # 1/(2 ζ √(1-ζ²)) at ω √(1-2ζ²), ω = 1
    peak = StateSpace([[0, 1], [-1, -2 * damping]], [0, 1], [[1, 0]]).hinf_norm()
    assert peak.gain == pytest.approx(1 / (2 * damping * math.sqrt(1 - damping**2)), rel=1e-9)
    assert peak.frequency == pytest.approx(math.sqrt(1 - 2 * damping**2), rel=1e-9)
    assert "rad/s" in repr(peak)
    assert float(peak) == peak.gain


def test_the_h_infinity_norm_finds_a_peak_at_zero_and_at_infinity():
    low = StateSpace([[-2.0]], 1.0, 1.0).hinf_norm()
    assert (low.gain, low.frequency) == (pytest.approx(0.5), 0.0)
    high = StateSpace([[-2.0]], 1.0, -1.0, 3.0).hinf_norm()
    assert (high.gain, high.frequency) == (pytest.approx(3.0), math.inf)
    sampled = StateSpace([[-0.5]], 1.0, 1.0, dt=0.1).hinf_norm()
    assert (sampled.gain, sampled.frequency) == (pytest.approx(2.0), pytest.approx(math.pi / 0.1))


@pytest.mark.parametrize("dt", [None, 0.2])
@pytest.mark.parametrize("seed", range(12, 18))
def test_no_frequency_of_a_dense_grid_exceeds_the_h_infinity_norm_and_one_reaches_it(seed, dt):
    space = random_stable(seed, dt=dt)
    peak = space.hinf_norm()
    grid = np.logspace(-3, 3, 600) if dt is None else np.linspace(0, math.pi / dt, 600)
    assert max(gain_at(space, w) for w in grid) <= peak.gain * (1 + 1e-9)
    if math.isfinite(peak.frequency):
        assert gain_at(space, peak.frequency) == pytest.approx(peak.gain, rel=1e-9)


def test_an_unstable_system_has_infinite_norms_and_a_zero_system_norm_zero():
    assert StateSpace([[0, 1], [-4, 0]], [0, 1], [[1, 0]]).hinf_norm().gain == math.inf
    assert StateSpace([[-1.0]], 0.0, 1.0).hinf_norm().gain == 0.0
    blind = StateSpace(np.diag([-1.0, -2.0]), [1.0, 0.0], [[0.0, 1.0]])
    assert blind.hinf_norm().gain == 0.0


def test_the_steady_gain_is_found_or_refused():
    np.testing.assert_allclose(OSCILLATOR.dc_gain(), 0.25)
    np.testing.assert_allclose(OSCILLATOR.to_discrete(0.3).dc_gain(), 0.25)
    with raises(DataError, "unstable"):
        StateSpace([[0, 1], [0, 0]], [0, 1]).dc_gain()


# Balanced truncation


@pytest.mark.parametrize("dt", [None, 0.1])
def test_balanced_states_have_equal_diagonal_gramians(dt):
    space = random_stable(20, dt=dt)
    other = space.balanced_form()
    sigma = np.diag(space.hankel_values())
    np.testing.assert_allclose(other.controllability_gramian(), sigma, rtol=0, atol=1e-11 * sigma[0, 0])
    np.testing.assert_allclose(other.observability_gramian(), sigma, rtol=0, atol=1e-11 * sigma[0, 0])
    np.testing.assert_allclose(other.markov(5), space.markov(5), rtol=0, atol=1e-9 * np.abs(space.markov(5)).max())


@pytest.mark.parametrize("dt", [None, 0.1])
@pytest.mark.parametrize("match_dc", [False, True])
@pytest.mark.parametrize("order", [0, 2, 4, 6])
def test_the_error_of_a_balanced_truncation_lies_between_its_bounds(order, match_dc, dt):
    space = random_stable(21, dt=dt)
    result = space.balanced_truncation(order, match_dc=match_dc)
    assert result.system.nx == order
    assert result.system.is_stable
    assert result.hankel_values[order] * (1 - 1e-9) <= result.error.gain <= result.bound * (1 + 1e-9)
    if match_dc:
        np.testing.assert_allclose(result.system.dc_gain(), space.dc_gain(), rtol=0, atol=1e-11)
    assert result.system.inputs == space.inputs
    assert "error bound" in repr(result)
    assert "H-infinity error" in repr(result)


def test_a_truncation_to_a_tolerance_is_the_smallest_that_meets_it():
    space = random_stable(22)
    sigma = space.hankel_values()
    result = space.balanced_truncation(tolerance=2.0 * sigma[4:].sum() * (1 + 1e-9))
    assert result.system.nx == 4
    assert space.balanced_truncation(tolerance=2.0 * sigma[4:].sum() * (1 - 1e-9)).system.nx == 5
    assert space.balanced_truncation(tolerance=0.0).system.nx == 7
    np.testing.assert_allclose(result.T_left @ result.T, np.eye(4), rtol=0, atol=1e-12)


def test_an_unstable_system_is_reduced_by_its_stable_part():
    stable = random_stable(24)
    full = stable + StateSpace([[0.5]], [[1.0, 0.0]], [[1.0], [0.0], [2.0]])
    part, rest = full.stable_split()
    assert (part.nx, rest.nx) == (7, 1)
    reduced = part.balanced_truncation(4)
    error = (full - (reduced.system + rest)).minimal(tolerance=1e-8)
    assert error.hinf_norm().gain <= reduced.bound * (1 + 1e-6)


def test_a_system_without_inputs_or_outputs_is_nothing_to_reduce():
    for space in (StateSpace(-np.eye(2)), StateSpace(-np.eye(2), np.ones((2, 1)), np.zeros((0, 2)))):
        result = space.balanced_truncation(0)
        assert (result.bound, result.error.gain) == (0.0, 0.0)
        assert "cut" in repr(result)
        assert space.minimal().nx == 0
        assert len(space.zeros()) == 0 if space.ny else 2


def test_light_damping_keeps_small_hankel_values_that_a_plain_cholesky_would_lose():
    # Modes far apart in gain: each pair of Hankel values is g/(4ζω²) to first order in ζ, down to 1e-12 of the largest.
    w, g, zeta = np.array([1.0, 10.0, 100.0, 1000.0]), np.array([1.0, 1e-2, 1e-3, 1e-6]), 1e-5
    space = SecondOrder(
        np.eye(4), np.diag(w**2), C=np.diag(2 * zeta * w), B=np.sqrt(g), Y_position=np.sqrt(g)
    ).state_space()
    expected = np.repeat(g / (4 * zeta * w**2), 2)
    np.testing.assert_allclose(space.hankel_values(), np.sort(expected)[::-1], rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "conflicting-arguments"),
        ({"order": 2, "tolerance": 1.0}, "conflicting-arguments"),
        ({"order": 9}, "not-a-count"),
        ({"order": True}, "not-a-count"),
        ({"tolerance": -1.0}, "negative"),
    ],
)
def test_a_truncation_says_what_it_needs(options, message):
    with raises(DataError, message):
        random_stable(23).balanced_truncation(**options)


def test_roots_are_arrays_where_numpy_wants_them():
    roots = Roots([-2.0, -1.0])
    np.testing.assert_array_equal(np.asarray(roots), [-1, -2])
    assert list(roots) == [-1, -2]
    np.testing.assert_array_equal(np.abs(roots), [1, 2])
