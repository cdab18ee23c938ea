"""State-space systems in awkward units (mm, MPa, ns): the numbers must not know in what they are written."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.linear import Roots, StateSpace
from dalembert.linear.eigen.roots import _deflate
from tests.helpers.checks import matched

OSCILLATOR = StateSpace([[0, 1], [-4, -0.2]], [0, 1], [[1, 0]])


def in_units(space: StateSpace, state: float, time: float = 1.0) -> StateSpace:
    """The speed in units of ``1/state``, the time in units of ``time``: the same transfer function of s·time."""
    scale = np.array([1.0, state])
    return StateSpace(scale[:, None] * space.A / scale / time, scale[:, None] * space.B / time, space.C / scale)


@pytest.mark.parametrize("state", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("time", [1e-9, 1.0, 1e9])
def test_norms_hankel_values_and_reductions_do_not_depend_on_the_units_of_states_and_time(state, time):
    space = in_units(OSCILLATOR, state, time)
    np.testing.assert_allclose(space.hankel_values(), OSCILLATOR.hankel_values(), rtol=1e-10)
    np.testing.assert_allclose(space.h2_norm() * np.sqrt(time), OSCILLATOR.h2_norm(), rtol=1e-10)
    np.testing.assert_allclose(space.hinf_norm().gain, OSCILLATOR.hinf_norm().gain, rtol=1e-10)
    np.testing.assert_allclose(space.hinf_norm().frequency * time, OSCILLATOR.hinf_norm().frequency, rtol=1e-6)
    np.testing.assert_allclose(space.balanced_truncation(2).system.dc_gain(), [[0.25]], rtol=1e-10)
    assert space.minimal().nx == 2


@pytest.mark.parametrize("state", [1e-12, 1e12])
def test_gramians_hold_in_any_units_continuous_and_sampled(state):
    for space, plain in ((in_units(OSCILLATOR, state), OSCILLATOR),
                         (in_units(OSCILLATOR, state).to_discrete(0.1), OSCILLATOR.to_discrete(0.1))):  # fmt: skip
        T = np.array([1.0, state])
        expected = T[:, None] * plain.controllability_gramian() * T
        # the cross term of an oscillator is exactly zero: compare in the size of the diagonal
        np.testing.assert_allclose(space.controllability_gramian() / np.outer(T, T), expected / np.outer(T, T),
                                   rtol=1e-9, atol=1e-12)  # fmt: skip


def test_modes_of_a_sampled_system_with_a_negative_real_pole_are_numbers():
    modes = StateSpace(-0.5, 1.0, 1.0, dt=0.1).modes()
    np.testing.assert_allclose(modes.eigenvalues, [(np.log(0.5) + 1j * np.pi) / 0.1])


@pytest.mark.parametrize("rate", [1e-9, 1e9])
def test_steps_of_very_slow_and_very_fast_oscillators_are_exact(rate):
    space = StateSpace([[0, 1], [-(rate**2), 0]], [0, 1], [[1, 0]])
    step = 0.3 / rate
    sampled = space.to_discrete(step)
    np.testing.assert_allclose(sampled.A[0], [np.cos(0.3), np.sin(0.3) / rate], rtol=1e-14)
    np.testing.assert_allclose(sampled.B[:, 0], [(1 - np.cos(0.3)) / rate**2, np.sin(0.3) / rate], rtol=1e-14)
    back = sampled.to_continuous()
    np.testing.assert_allclose(back.A[[0, 1], [1, 0]], [1.0, -(rate**2)], rtol=1e-12)
    times = step * np.arange(2000)
    moved = space.response({"u1": 1.0}, times=times)["y1"]
    np.testing.assert_allclose(moved * rate**2, 1 - np.cos(rate * times), rtol=0, atol=1e-11)


@pytest.mark.parametrize("rate", [1e-3, 1.0, 1e9])
def test_an_accelerometer_has_its_double_zero_exactly_at_rest(rate):
    space = StateSpace([[0, 1], [-(rate**2), -0.02 * rate]], [0, 1], [[-(rate**2), -0.02 * rate]], 1.0)
    assert space.zeros().values.tolist() == [0, 0]
    # with a zero-order hold (1 - 1/z) Z{cos} is left: zeros at z = 1 and cos
    sampled = StateSpace([[0, 1], [-(rate**2), 0]], [0, 1], [[-(rate**2), 0]], 1.0).to_discrete(0.3 / rate)
    zeros = matched(sampled.zeros(), [np.cos(0.3), 1.0])
    assert zeros[1] == 1.0
    np.testing.assert_allclose(zeros[0], np.cos(0.3), rtol=1e-13)


@pytest.mark.parametrize("rate", [1e-14, 1.0, 1e14])
def test_roots_are_listed_by_frequency_and_pairs_with_the_negative_half_first_in_any_units(rate):
    pair = np.array([-1.0 + 3.0j, -1.0 - 3.0j * (1.0 + 1e-15), -1.0 - 1e-15 + 2.0j, -1.0 - 2.0j, -0.5])
    assert (Roots(rate * pair).values.imag / rate).round(9).tolist() == [0, -2, 2, -3, 3]


# ---- edges of thresholds


@pytest.mark.parametrize(("pole", "zeros"), [(1e-3, 10), (1e-2, 0)])
def test_a_matrix_that_is_singular_to_rounding_has_zero_poles_only_where_its_eigenvalues_are_small(pole, zeros):
    # Ten equal poles in one chain: the least singular value is below pole¹⁰, the eigenvalues are exact, the norm is 3.
    A = pole * np.eye(10) + np.eye(10, k=1)
    assert (_deflate(A, 0.0)[3] > 0) == (zeros > 0)
