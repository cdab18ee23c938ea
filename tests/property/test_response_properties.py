"""Properties of responses, over random systems (spec 003, P10 and C-07).

Domain: up to five coordinates, masses and stiffnesses within three decades of each other, some damping everywhere.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dalembert.linear import SecondOrder, free_response, frequency_response, response
from dalembert.linear.recursions import compute_exact_step, compute_exact_steps
from dalembert.linear.responses.duhamel import duhamel, kernels


@st.composite
def systems(draw, *, proportional: bool = False) -> SecondOrder:
    n = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-2, 2))

    def definite(size: float) -> np.ndarray:
        root = rng.normal(size=(n, n))
        return size * (root @ root.T + 0.3 * np.eye(n))

    M, K = definite(1.0), definite(scale)
    skew = rng.normal(size=(n, n))
    if proportional:
        return SecondOrder(M, K, C=0.1 * M + 0.02 * K, B=rng.normal(size=(n, 1)))
    return SecondOrder(
        M, K, C=definite(0.1 * np.sqrt(scale)), G=0.2 * (skew - skew.T), B=rng.normal(size=(n, 2)),
        Y_position=rng.normal(size=(2, n)), Y_velocity=rng.normal(size=(2, n)), Y_acceleration=rng.normal(size=(2, n)),
    )  # fmt: skip


@pytest.mark.spec("003-C21")
@given(systems(), st.floats(0.0, 30.0))
def test_state_space_and_second_order_have_one_frequency_response(system, w):
    one = frequency_response(system, [w], kind="output").values
    two = frequency_response(system.state_space(), [w]).values
    # condition of M, and of both dynamic matrices, up to 1e4
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-8 * max(np.abs(one).max(), 1e-3))


@given(systems(), st.floats(0.1, 30.0))
def test_negative_frequencies_give_the_conjugate_and_reciprocity_holds_without_gyroscopic_terms(system, w):
    both = frequency_response(system, [w, -w], kind="output").values
    np.testing.assert_allclose(both[0], both[1].conj(), rtol=1e-9, atol=1e-12 * np.abs(both).max())
    plain = SecondOrder(system.M, system.K, C=system.C)
    H = frequency_response(plain, [w]).values[0]
    np.testing.assert_allclose(H, H.T, rtol=0, atol=1e-10 * np.abs(H).max())


@pytest.mark.spec("003-C07")
@given(systems(), st.integers(0, 1000), st.sampled_from(["zero", "first"]))
def test_the_response_is_linear_in_inputs_and_start_together(system, seed, hold):
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.01, 0.2, 40))
    nx = 2 * system.nq
    u, v, x, z = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)), rng.normal(size=nx), rng.normal(size=nx)

    def run(inputs, start):
        return response(system, {"u1": inputs[:, 0], "u2": inputs[:, 1]}, times=t, start=start, hold=hold).data

    both, parts = run(u - 2.5 * v, x - 2.5 * z), (run(u, x), run(v, z))
    size = max(np.abs(parts[0]).max(), np.abs(parts[1]).max())
    np.testing.assert_allclose(both, parts[0] - 2.5 * parts[1], rtol=0, atol=1e-10 * size)


@pytest.mark.spec("003-C16")
@given(systems(), st.integers(0, 1000))
def test_free_motion_in_one_go_is_free_motion_in_two(system, seed):
    x = np.random.default_rng(seed).normal(size=2 * system.nq)
    states = list(system.state_space().states)
    once = free_response(system, x, [1.7], states=True)[states][0]
    half = free_response(system, x, [0.6], states=True)[states][0]
    twice = free_response(system, half, [1.7], at=0.6, states=True)[states][0]
    np.testing.assert_allclose(twice, once, rtol=0, atol=1e-9 * max(1.0, np.abs(once).max()))


@pytest.mark.spec("000-20")
@given(systems(proportional=True), st.integers(0, 1000), st.booleans())
def test_duhamel_and_the_matrix_exponential_agree(system, seed, uniform):
    rng = np.random.default_rng(seed)
    t = 0.05 * np.arange(30) if uniform else np.cumsum(rng.uniform(0.01, 0.3, 30))
    u = {"u1": rng.normal(size=30)}
    start = rng.normal(size=2 * system.nq)
    one = duhamel(system, u, times=t, start=start).data
    two = response(system, u, times=t, start=start, hold="first").data
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * np.abs(two).max())


@pytest.mark.spec("000-20")
@settings(max_examples=5 * settings().max_examples)  # cheap, and many branches
@example(1.0, 2.225073858507203e-309, 1.0)
@given(st.floats(-1.0, 50.0), st.floats(-4.0, 400.0), st.floats(1e-6, 5.0))
def test_oscillator_kernels_are_columns_of_a_matrix_exponential(a, w2, t):
    g, h, J1, J2 = (part[0] for part in kernels(np.array([a]), np.array([w2]), np.array([t])))
    phi, gamma, delta = compute_exact_step(np.array([[0.0, 1.0], [-w2, -2.0 * a]]), np.array([[0.0], [1.0]]), t)
    # the exponential is good to ε times its largest entry on the way there
    floor = 1e-12 * max(1.0, np.abs(phi).max()) * max(1.0, abs(w2), abs(a))
    np.testing.assert_allclose([g, h], phi[0], rtol=1e-11, atol=floor)
    np.testing.assert_allclose([J1, J2 / t], [gamma[0, 0], delta[0, 0]], rtol=1e-11, atol=floor)


@given(st.integers(1, 6), st.integers(0, 10000), st.floats(0.01, 20.0))
def test_many_exponentials_at_once_are_those_one_by_one(n, seed, longest):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, n)) - 2.0 * np.eye(n), rng.normal(size=(n, 2))
    steps = longest * rng.uniform(0.01, 1.0, 5)
    for k, parts in enumerate(zip(*compute_exact_steps(A, B, steps), strict=True)):
        for mine, theirs in zip(parts, compute_exact_step(A, B, steps[k]), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-11 * max(1.0, np.abs(theirs).max()))
