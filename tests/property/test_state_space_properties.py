"""What must hold for any state-space system.

Domain: up to 6 states, 3 inputs and outputs; entries of size 1; stable ones at least 0.2 rad/s (or 0.1 in |z|) from
the border, so that gramians have condition numbers below 1e8.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dalembert.linear import StateSpace

seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3))
steps = st.sampled_from([None, 0.1])


def stable(seed: int, size: tuple[int, int, int], dt: float | None) -> StateSpace:
    rng = np.random.default_rng(seed)
    nx, nu, ny = size
    A = rng.normal(size=(nx, nx))
    if dt is None:
        A -= (np.linalg.eigvals(A).real.max() + 0.2) * np.eye(nx)
    else:
        A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    return StateSpace(A, rng.normal(size=(nx, nu)), rng.normal(size=(ny, nx)), rng.normal(size=(ny, nu)), dt)


def response(space: StateSpace, s: complex) -> np.ndarray:
    return space.C @ np.linalg.solve(s * np.eye(space.nx) - space.A, space.B) + space.D


@given(seeds, sizes)
@pytest.mark.spec("000-47")
def test_sampling_and_back_returns_the_system(seed, size):
    space = stable(seed, size, None)
    back = space.to_discrete(0.05).to_continuous()
    np.testing.assert_allclose(back.A, space.A, rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.B, space.B, rtol=0, atol=1e-10)


@given(seeds, sizes, steps)
@pytest.mark.spec("000-45")
def test_a_similarity_changes_no_response(seed, size, dt):
    space = stable(seed, size, dt)
    T = np.random.default_rng(seed + 1).normal(size=(space.nx, space.nx))
    assume(np.linalg.cond(T) < 1e4)
    other = space.similarity(T)
    np.testing.assert_allclose(response(other, 1 + 2j), response(space, 1 + 2j), rtol=1e-7, atol=1e-8)
    assert other.hinf_norm().gain == pytest.approx(space.hinf_norm().gain, rel=1e-8)


@given(seeds, sizes, steps)
def test_gramians_are_positive_and_give_the_same_h2_norm_from_either_side(seed, size, dt):
    space = stable(seed, size, dt)
    P, Q = space.controllability_gramian(), space.observability_gramian()
    assert np.linalg.eigvalsh(P)[0] >= -1e-14 * np.abs(P).max()
    one, other = np.trace(space.C @ P @ space.C.T), np.trace(space.B.T @ Q @ space.B)
    assert one == pytest.approx(other, rel=1e-9)
    direct = 0.0 if dt is None else np.linalg.norm(space.D)
    assert (space if dt else space.replace(D=0 * space.D)).h2_norm() == pytest.approx(
        math.hypot(math.sqrt(one), direct)
    )


@given(seeds, sizes, steps, st.integers(0, 5))
def test_a_truncation_keeps_its_bound(seed, size, dt, order):
    space = stable(seed, size, dt)
    sigma = space.hankel_values()
    kept = min(order, int(np.count_nonzero(sigma > 1e-10 * sigma[0])))
    result = space.balanced_truncation(kept)
    assert result.error.gain <= result.bound * (1 + 1e-8) + 1e-10 * sigma[0]


@given(seeds, sizes, steps)
def test_a_truncated_part_is_all_there_is_of_a_doubled_system(seed, size, dt):
    space = stable(seed, size, dt)
    doubled = space + space  # as many uncontrollable states as there were states
    assume(space.kalman().sizes[0] == space.nx)
    minimal = doubled.minimal()
    assert minimal.nx == space.nx
    np.testing.assert_allclose(response(minimal, 1 + 2j), 2 * response(space, 1 + 2j), rtol=1e-6, atol=1e-8)


@given(seeds, st.integers(1, 6), st.integers(1, 3), steps)
def test_zeros_of_an_invertible_system_are_the_poles_of_its_inverse(seed, nx, nu, dt):
    space = stable(seed, (nx, nu, nu), dt)
    assume(np.linalg.cond(space.D) < 100)
    inverse = np.linalg.eigvals(space.A - space.B @ np.linalg.solve(space.D, space.C))
    zeros = space.zeros().values
    assert len(zeros) == nx
    # Each is close to one of the other set; repeated ones are as sensitive as a root.
    gap = np.abs(zeros[:, None] - inverse[None, :])
    assert max(gap.min(axis=0).max(), gap.min(axis=1).max()) < 1e-6 * max(1.0, np.abs(inverse).max())


@given(seeds, sizes, steps)
def test_feedback_and_its_opposite_cancel(seed, size, dt):
    space = stable(seed, size, dt)
    back = StateSpace.gain(0.1 * np.random.default_rng(seed).normal(size=(space.nu, space.ny)))
    assume(abs(np.linalg.det(np.eye(space.nu) + back.D @ space.D)) > 0.1)
    closed = space.feedback(back).feedback(back, sign=1)
    np.testing.assert_allclose(closed.A, space.A, rtol=0, atol=1e-9)
    np.testing.assert_allclose(closed.D, space.D, rtol=0, atol=1e-9)
