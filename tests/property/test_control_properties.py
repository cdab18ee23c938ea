"""What must hold for any linear design.

Domain: up to 6 states, 3 inputs and outputs; entries of size 1, so that every mode is reached and seen (a draw with a
strength below 1e-4 is left out: there gains grow beyond 1e4 and digits are lost to them).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dalembert.control import controllability, kalman_gain, lqr, margins, observability, place
from dalembert.control.state_feedback.place import farthest
from dalembert.linear import StateSpace
from dalembert.linear.transforms.riccati import care, dare
from tests.helpers.control_systems import lqg

seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3))
steps = st.sampled_from([None, 0.1])


def system(seed: int, size: tuple[int, int, int], dt: float | None) -> StateSpace:
    """Stable or not; a sampled one with poles up to 1.2."""
    rng = np.random.default_rng(seed)
    nx, nu, ny = size
    A = rng.normal(size=(nx, nx))
    if dt is not None:
        A *= 1.2 / max(1.0, np.abs(np.linalg.eigvals(A)).max())
    found = StateSpace(A, rng.normal(size=(nx, nu)), rng.normal(size=(ny, nx)), 0.1 * rng.normal(size=(ny, nu)), dt)
    assume(controllability(found).modes[0].strength > 1e-4)
    assume(observability(found).modes[0].strength > 1e-4)
    return found


@given(seeds, sizes, steps)
@pytest.mark.spec("000-66")
@pytest.mark.spec("000-67")
def test_a_regulator_stabilises_and_its_cost_is_that_of_the_motion(seed, size, dt):
    """x₀ᵀ X x₀ is the cost of the closed loop: X solves the Lyapunov equation of A - B K with Q + Kᵀ R K."""
    found = system(seed, size, dt)
    design = lqr(found, Q=1.0, R=0.5)
    closed = found.A - found.B @ design.K
    right = np.eye(found.nx) + 0.5 * design.K.T @ design.K
    X = design.cost
    if dt is None:
        rest = closed.T @ X + X @ closed + right
        assert np.linalg.eigvals(closed).real.max() < 0.0
    else:
        rest = closed.T @ X @ closed - X + right
        assert np.abs(np.linalg.eigvals(closed)).max() < 1.0
    assert np.linalg.norm(rest) < 1e-9 * (np.linalg.norm(X) * (1.0 + np.linalg.norm(closed)) ** 2)
    assert np.linalg.eigvalsh(X).min() > 0.0


@given(seeds, sizes, steps)
@pytest.mark.spec("000-65")
@pytest.mark.spec("000-67")
def test_a_long_horizon_tends_to_the_infinite_one(seed, size, dt):
    """Until the slowest pole of the closed loop has decayed to 1e-6 twice over."""
    found = system(seed, size, dt)
    steady = lqr(found, Q=1.0)
    slowest = -steady.poles.continuous.real.max()
    assume(slowest > 0.05)
    T = 14.0 / slowest
    if dt is not None:
        T = dt * math.ceil(T / dt)
    design = lqr(found, Q=1.0, horizon=T)
    np.testing.assert_allclose(design.K, steady.K, rtol=0, atol=1e-6 * (1.0 + np.abs(steady.K).max()))


@given(seeds, sizes)
@pytest.mark.spec("000-65")
def test_the_cost_to_go_grows_with_the_horizon(seed, size):
    found = system(seed, size, None)
    costs = [lqr(found, Q=1.0, horizon=T).cost for T in (0.5, 1.0, 2.0)]
    for less, more in ((costs[0], costs[1]), (costs[1], costs[2])):
        assert np.linalg.eigvalsh(more - less).min() > -1e-9 * np.abs(more).max()


@given(seeds, st.tuples(st.integers(1, 6), st.integers(1, 3), st.just(1)), st.floats(0.01, 100.0))
@pytest.mark.spec("000-66")
def test_the_return_difference_of_a_regulator_is_never_small(seed, size, weight):
    """(I + L)ᴴ R (I + L) ≥ R (Kalman): with R = ρ I the sensitivity never exceeds 1."""
    found = system(seed, size, None)
    design = lqr(found, Q=weight, R=1.0)
    report = margins(design)
    assert report.stable
    assert report.sensitivity.gain < 1.0 + 1e-7
    for channel in report.channels:
        assert channel.gain[0] <= 0.5 + 1e-7
        assert math.isinf(channel.gain[1])
        assert channel.phase >= math.radians(60.0) - 1e-6


@given(seeds, st.tuples(st.integers(1, 6), st.just(1), st.just(1)), st.floats(0.1, 10.0))
@pytest.mark.spec("000-67")
def test_a_sampled_regulator_keeps_what_its_cost_leaves_of_the_margins(seed, size, R):
    """|1 + L|² ≥ R / (R + Bᵀ X B) on the unit circle: the sampled counterpart of Kalman's inequality."""
    found = system(seed, size, 0.1)
    design = lqr(found, Q=1.0, R=R)
    floor = math.sqrt(R / (R + float(found.B[:, 0] @ design.cost @ found.B[:, 0])))
    assert margins(design).smallest_return_difference >= floor * (1.0 - 1e-7)


@given(seeds, sizes, steps, st.floats(0.1, 2.0))
@pytest.mark.spec("000-66")
def test_every_pole_is_left_of_the_prescribed_degree(seed, size, dt, degree):
    found = system(seed, size, dt)
    assert lqr(found, Q=1.0, degree=degree).poles.continuous.real.max() < -degree


@given(seeds, sizes, steps)
@pytest.mark.spec("000-71")
def test_a_filter_is_the_regulator_of_the_transposed_system(seed, size, dt):
    found = system(seed, size, dt)
    dual = StateSpace(found.A.T, found.C.T, dt=dt)
    np.testing.assert_allclose(kalman_gain(found, Q=1.0, R=0.5).L, lqr(dual, Q=1.0, R=0.5).K.T, rtol=1e-8, atol=1e-8)


@given(seeds, sizes, steps)
@pytest.mark.spec("000-74")
def test_regulator_and_filter_do_not_move_each_others_poles(seed, size, dt):
    """Poles of a 2n system of entries up to the gains: known to some ε ‖A‖ times their condition."""
    found = system(seed, size, dt)
    design = lqg(found, Q=1.0, R=1.0, Qn=1.0, Rn=1.0)
    closed = design.closed_loop()
    values, vectors = np.linalg.eig(closed.A)
    assume(np.linalg.cond(vectors) < 1e5)
    assert farthest(values.astype(complex), np.asarray(design.poles)) < 1e-8 * (1.0 + np.linalg.norm(closed.A))


@given(seeds, st.tuples(st.integers(2, 6), st.integers(1, 3), st.just(1)), st.data())
@pytest.mark.spec("000-64")
def test_placed_poles_are_reached_by_every_method(seed, size, data):
    found = system(seed, size, None)
    n = found.nx
    pairs = data.draw(st.integers(0, n // 2))
    rng = np.random.default_rng(seed + 1)
    # apart from each other by at least 0.3, so that they are well conditioned
    grid = -0.5 - 0.5 * rng.permutation(2 * n)[:n]
    poles = [complex(grid[k], 0.5 + 0.5 * k) for k in range(pairs)]
    poles += [p.conjugate() for p in poles]
    poles += [complex(grid[pairs + k]) for k in range(n - 2 * pairs)]
    wanted = np.array(poles)
    for method in ("robust", "null-space"):
        K = place(found, wanted, method=method).K
        closed = found.A - found.B @ K
        values, vectors = np.linalg.eig(closed)
        size_ = np.linalg.norm(found.A) + np.linalg.norm(found.B) * np.linalg.norm(K)
        assert farthest(values.astype(complex), wanted) < 1e-12 * size_ * np.linalg.cond(vectors) + 1e-10


@given(seeds, sizes, steps)
def test_doubling_and_schur_find_the_same_solution(seed, size, dt):
    found = system(seed, size, dt)
    Q, R = np.eye(found.nx), np.eye(found.nu)
    solve = care if dt is None else dare
    first, second = (solve(found.A, found.B, Q, R, method=method) for method in ("doubling", "schur"))
    assert first.residual < 1e-12
    np.testing.assert_allclose(first.X, second.X, rtol=0, atol=1e-8 * np.abs(second.X).max())


@given(seeds, sizes, steps)
def test_a_change_of_states_changes_no_law(seed, size, dt):
    """u = -K x = -(K T) z with x = T z: the same inputs, whatever the states."""
    found = system(seed, size, dt)
    T = np.linalg.qr(np.random.default_rng(seed).normal(size=(found.nx, found.nx)))[0] * 3.0
    Q = np.eye(found.nx)
    first = lqr(found, Q=Q).K
    second = lqr(found.similarity(T), Q=T.T @ Q @ T).K
    np.testing.assert_allclose(second, first @ T, rtol=0, atol=1e-8 * np.abs(first @ T).max())
