"""State-space systems in awkward units (mm, MPa, ns): the numbers must not know in what they are written."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.linear import StateSpace

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
