"""Weighted least squares with estimated noise: honest deviations, directions without data, coloured residuals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from dalembert.core.arrays import FloatArray
from dalembert.identify.robot.weighted_least_squares import (
    Triangles,
    batch_covariance,
    estimate,
)

X = np.array([2.0, -1.0, 0.5])
NOISE = np.array([0.5, 0.02])
EVERY = np.ones((300, 2), dtype=bool)


def rows(seed: int, count: int = 300) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(count, 2, 3)) * [1.0, 2.0, 0.3]
    return W, W @ X + NOISE * rng.normal(size=(count, 2))


def test_estimates_lie_within_their_intervals_as_often_as_they_say() -> None:
    inside = total = 0
    for seed in range(200):
        W, y = rows(seed)
        found = estimate(Triangles.empty(2, 3).add(W, y, EVERY), y.std(axis=0))
        inside += int((np.abs(found.x - X) < 1.96 * found.deviations).sum())
        total += 3
    low, high = scipy.stats.binom.interval(0.999, total, 0.95)
    assert low <= inside <= high


def test_the_noise_of_each_joint_is_found() -> None:
    W, y = rows(1, 20_000)
    found = estimate(Triangles.empty(2, 3).add(W, y, np.ones((20_000, 2), dtype=bool)), y.std(axis=0))
    # a standard deviation from 20 000 samples is known to 1/√40 000 = 0.5 %; four times that
    np.testing.assert_allclose(found.noise, NOISE, rtol=0.02)


def test_blocks_of_samples_give_the_same_as_all_at_once() -> None:
    W, y = rows(2)
    whole = estimate(Triangles.empty(2, 3).add(W, y, EVERY), y.std(axis=0))
    data = Triangles.empty(2, 3)
    for k in range(0, 300, 70):
        data = data.add(W[k : k + 70], y[k : k + 70], EVERY[k : k + 70])
    parts = estimate(data, y.std(axis=0))
    np.testing.assert_allclose(parts.x, whole.x, rtol=1e-10)
    np.testing.assert_allclose(parts.deviations, whole.deviations, rtol=1e-9)


def test_a_direction_without_data_stays_at_zero_and_is_reported() -> None:
    W, _ = rows(3)
    W[..., 2] = 2.0 * W[..., 0]
    y = W @ X + NOISE * np.random.default_rng(0).normal(size=(300, 2))
    found = estimate(Triangles.empty(2, 3).add(W, y, EVERY), y.std(axis=0))
    assert np.isinf(found.deviations).tolist() == [True, False, True]
    assert len(found.directions) == 1 and np.isinf(found.condition)
    assert found.x[0] + 2 * found.x[2] == pytest.approx(3.0, abs=0.05)  # the combination that is seen
    assert abs(found.directions[0] @ (found.x * np.array([1.0, 1.0, 2.0]))) < 1e-9  # columns of length 1


def test_given_noise_is_taken_as_it_is() -> None:
    W, y = rows(4)
    data = Triangles.empty(2, 3).add(W, y, EVERY)
    one, other = (estimate(data, y.std(axis=0), factor * NOISE) for factor in (1.0, 3.0))
    np.testing.assert_allclose(other.deviations, 3.0 * one.deviations, rtol=1e-9)
    assert one.iterations == 0


def test_batches_give_the_deviations_of_coloured_residuals() -> None:
    # a constant column and residuals with the correlation 0.9 from sample to sample: the mean of N of them has the
    # variance σ²/N · (1 + 0.9) / (1 - 0.9), 19 times that of white ones
    ratios = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        e = np.zeros(4000)
        for k in range(1, 4000):
            e[k] = 0.9 * e[k - 1] + rng.normal()
        W = np.ones((4000, 1, 1))
        found = estimate(Triangles.empty(1, 1).add(W, e[:, None], np.ones((4000, 1), dtype=bool)), np.ones(1))
        left = (e - found.x[0]) / found.noise[0] ** 2
        gradients = left.reshape(40, -1).sum(axis=1)[:, None]
        ratios.append(batch_covariance(gradients, found)[0, 0] / found.covariance[0, 0])
    # of 40 batches a variance is known to √(2/39) = 23 %, of 30 records to 4 %; batches of 100 samples lack 10 %
    assert np.mean(ratios) == pytest.approx(19.0, rel=0.25)


def test_the_covariance_of_few_batches_has_no_bias() -> None:
    found = estimate(one_joint(1.0), np.ones(1), np.ones(1))  # four rows of a constant: the variance of x is 1/4
    # over all signs of four independent gradients of size 1 the mean is the variance 4 of their sum, times 1/4²
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=4)))
    made = [batch_covariance(row[:, None], found)[0, 0] for row in signs]
    assert np.mean(made) == pytest.approx(4.0 / 16.0, rel=1e-12)


# ---- edges of thresholds


def one_joint(size: float) -> Triangles:
    """A constant column, and four efforts of this size that it does not explain: σ = size √(4/3)."""
    y = size * np.array([[1.0], [-1.0], [1.0], [-1.0]])
    return Triangles.empty(1, 1).add(np.ones((4, 1, 1)), y, np.ones((4, 1), dtype=bool))
