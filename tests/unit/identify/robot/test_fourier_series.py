"""Fourier series within limits."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.robot.fourier_series import FourierBasis, JointRange, move, scale_exactly, smooth_scale

TIMES = np.linspace(0.0, 5.0, 200, endpoint=False)
BASIS = FourierBasis(5.0, 4, TIMES)
RANGES = [JointRange(-1.0, 2.0, 3.0, 10.0), JointRange(0.0, 0.1)]


def coefficients(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, BASIS.count))


def test_rates_are_derivatives_and_the_motion_rests_at_both_ends() -> None:
    fine = FourierBasis(5.0, 4, np.linspace(0.0, 5.0, 20_001))
    q, v, a = move(fine, coefficients(0), RANGES)
    dt = 5.0 / 20_000
    np.testing.assert_allclose((q[2:] - q[:-2]) / (2 * dt), v[1:-1], atol=1e-4)
    np.testing.assert_allclose((v[2:] - v[:-2]) / (2 * dt), a[1:-1], atol=1e-3)
    for one in (v, a):
        np.testing.assert_allclose(one[[0, -1]], 0.0, atol=1e-11)
    np.testing.assert_allclose(q[0], q[-1], atol=1e-12)


@pytest.mark.parametrize("fill", [False, True])
def test_scaled_series_keep_their_limits_between_samples_too(fill: bool) -> None:
    dense = FourierBasis(5.0, 4, np.linspace(0.0, 5.0, 20_001))
    for seed in range(5):
        q, v, a = move(dense, scale_exactly(BASIS, coefficients(seed), RANGES, fill=fill), RANGES)
        for j, own in enumerate(RANGES):
            assert q[:, j].min() >= own.lower and q[:, j].max() <= own.upper
            assert np.abs(v[:, j]).max() <= own.speed and np.abs(a[:, j]).max() <= own.acceleration
        if fill:
            shares = [np.abs(q[:, 1] - 0.05).max() / 0.05]
            assert shares[0] == pytest.approx(1.0, abs=0.01)


def test_smooth_maxima_are_not_below_the_true_ones_and_have_their_gradient() -> None:
    x = coefficients(3)[0]
    limits = RANGES[0].limits
    scale, gradient = smooth_scale(BASIS, x, limits)
    exact = min(1.0, *(limit / np.abs(B @ x).max() for B, limit in zip(BASIS.matrices, limits, strict=True)))
    assert 0.7 * exact < scale <= exact
    for k in range(BASIS.count):
        step = np.zeros_like(x)
        step[k] = 1e-6
        difference = (smooth_scale(BASIS, x + step, limits)[0] - smooth_scale(BASIS, x - step, limits)[0]) / 2e-6
        assert gradient[k] == pytest.approx(difference, abs=1e-7)
