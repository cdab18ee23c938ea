"""Responses of linear systems against the reference numbers of spec 003, section 4.14 and spec 000, section 3.2.

Printed numbers are asked for to half a unit of their last digit.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

from dalembert.linear import SecondOrder, free_response, frequency_response, response
from dalembert.linear.responses.duhamel import duhamel
from dalembert.linear.responses.fourier import fourier_series, periodic_response
from dalembert.linear.responses.harmonic import harmonic_response
from tests.helpers.checks import matched


def chain5() -> SecondOrder:
    """Spec 003, E11: masses 1, 1, 1, 1, 1/2 in a row, springs of stiffness 1 (first one to ground); C = 0.02 K."""
    K = 2.0 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    K[-1, -1] = 1.0
    M = np.diag([1.0, 1.0, 1.0, 1.0, 0.5])
    return SecondOrder(M, K, C=0.02 * K, B=np.eye(5))


def cantilever(elements: int = 8) -> SecondOrder:
    """Spec 003, E10: clamped-free, EI = ρA = l = 1, elements of C-59 with Φ = 0, no rotary inertia; C = 0.001 K."""
    le = 1.0 / elements
    k = np.array([[12, 6 * le, -12, 6 * le], [6 * le, 4 * le**2, -6 * le, 2 * le**2],
                  [-12, -6 * le, 12, -6 * le], [6 * le, 2 * le**2, -6 * le, 4 * le**2]]) / le**3  # fmt: skip
    m = le / 420 * np.array([[156, 22 * le, 54, -13 * le], [22 * le, 4 * le**2, 13 * le, -3 * le**2],
                             [54, 13 * le, 156, -22 * le], [-13 * le, -3 * le**2, -22 * le, 4 * le**2]])  # fmt: skip
    size = 2 * (elements + 1)
    M, K = np.zeros((size, size)), np.zeros((size, size))
    for e in range(elements):
        at = slice(2 * e, 2 * e + 4)
        M[at, at] += m
        K[at, at] += k
    M, K = M[2:, 2:], K[2:, 2:]
    names = [f"p{i}.{part}" for i in range(1, elements + 1) for part in ("x", "ry")]
    return SecondOrder(M, K, C=0.001 * K, coordinates=names)


@pytest.mark.spec("003-C21", "003-C18")
def test_r1_frequency_response_with_a_massless_coordinate():
    system = SecondOrder(np.diag([1.0, 0.0]), [[5, -3], [-3, 3]], C=[[0.3, -0.2], [-0.2, 0.7]], B=np.eye(2))
    expected = np.array([0.770962 - 1.527212j, 0.574170 - 1.634560j])
    x = harmonic_response(system, 1.3, {"u1": 1.0, "u2": 0.5})
    np.testing.assert_allclose([x["x1"], x["x2"]], expected, rtol=0, atol=0.71e-6)  # half a unit in each part
    first = harmonic_response(system.state_space(), 1.3, {"u1": 1.0, "u2": 0.5})
    np.testing.assert_allclose(list(first.values()), list(x.values()), rtol=1e-12)


@pytest.mark.spec("003-C16")
def test_r7_free_response_of_the_damped_chain():
    system = chain5()
    run = free_response(system, {"x5": 1.0}, [10.0])
    np.testing.assert_allclose(run.data[0], [0.048320, 0.066102, -0.061201, -0.414438, -0.210372], rtol=0, atol=0.5e-6)
    eigenvalues = system.modes().eigenvalues
    expected = [-0.000979 + 0.312867j, -0.008244 + 0.907944j, -0.02 + 1.414072j, -0.031756 + 1.781730j,
                -0.039021 + 1.974991j]  # fmt: skip
    np.testing.assert_allclose(eigenvalues, expected, rtol=0, atol=0.71e-6)


@pytest.mark.spec("003-C22", "000-20")
def test_r8_duhamel_of_a_step():
    system = SecondOrder(1.0, 4.0, C=0.2, B=[1.0], coordinates="x", inputs="f")
    times = np.linspace(0.0, 3.0, 7)
    for run in (
        duhamel(system, {"f": 1.0}, times=times),
        response(system, {"f": 1.0}, times=times),
        duhamel(system, {"f": 1.0}, times=times, hold="zero"),
    ):
        assert run["x"][-1] == pytest.approx(0.0752229, abs=0.5e-7)


@pytest.mark.spec("003-C22", "000-21")
def test_r8_fourier_response_to_a_square_wave():
    system = SecondOrder(1.0, 4.0, C=0.2, B=[1.0], coordinates="x", inputs="f")
    steady = periodic_response(system, {"f": [1.0, -1.0]}, 2 * np.pi, harmonics=2001, hold="zero", samples=400)
    np.testing.assert_allclose(np.abs(steady["x"][[1, 3, 5]]), [0.423473, 0.084278, 0.012112], rtol=0, atol=0.5e-6)
    assert np.abs(steady["x"][[2, 4]]).max() < 1e-15
    assert steady.record.time[100] == pytest.approx(np.pi / 2)
    assert steady.record["x"][100] == pytest.approx(0.496941, abs=0.5e-6)  # the rest of the series is below 1e-9


@pytest.mark.spec("003-C22")
def test_the_periodic_response_is_the_one_motion_that_returns_after_a_period():
    system = chain5()
    T, count = 4.0, 200
    t = T / count * np.arange(count + 1)
    load = np.abs(np.arange(count) / count - 0.4)
    steady = periodic_response(system, {"u2": load}, T, harmonics=400, samples=count)
    closed = {"u2": np.append(load, load[0])}
    # z(T) = e^{AT} z(0) + what the load adds; equal to z(0) for one z(0)
    added = response(system, closed, times=t, hold="first", states=True).data[-1]
    start = np.linalg.solve(np.eye(10) - scipy.linalg.expm(T * system.state_space().A), added)
    run = response(system, closed, times=t, start=start, hold="first")
    # The harmonics left out: the load falls from 0.595 to 0.4 in the last of 200 steps, so that its slope changes by 10
    # and 9.5 1/s; the amplitudes are 2 · 19.5 / T / (1.57 n)², the response of 1 kg to them / (1.57 n)²: Σ over n > 400
    # is 1.6 / (3 · 400³) = 8.4e-9.
    np.testing.assert_allclose(run.data[:-1], steady.record.data, rtol=0, atol=8.4e-9)


@pytest.mark.spec("003-C21", "003-C59")
def test_r9_frequency_response_of_the_cantilever():
    fr = frequency_response(cantilever(), [0.0, 3.0, 10.0, 22.0, 40.0], inputs="p8.x", outputs="p8.x")
    expected = [0.333333, 1.199414 - 0.013150j, -0.033708 - 0.000211j, 0.047959 - 0.366406j, -0.003789 - 0.000210j]
    np.testing.assert_allclose(fr["p8.x"].real, np.real(expected), rtol=0, atol=0.5e-6)
    np.testing.assert_allclose(fr["p8.x"].imag, np.imag(expected), rtol=0, atol=0.5e-6)
    sparse = frequency_response(cantilever().sparse(), fr.frequencies, inputs="p8.x", outputs="p8.x")
    np.testing.assert_allclose(sparse.values, fr.values, rtol=1e-9)  # κ(K) is 1e6


@pytest.mark.spec("000-20", "000-47", "003-C22")
def test_duhamel_held_steps_and_an_ode_solver_agree_on_the_storey_frame_with_pendulum():
    """Spec 000, 3.2 item 7, on the rig of 3.1 (four coordinates; the pendulum as in the text of the lumped model)."""
    E, J = 207e9, 0.035 * 1e-3**3 / 12
    k1, k2, k3 = (24 * E * J / length**3 for length in (0.23, 0.28, 0.23))
    m1, m2, m3, m4, L4, g = 1.281, 0.814, 1.380, 0.083, 0.0825, 9.81
    M = np.diag([m1, m2, m3 + m4, m4 * L4**2 + 8.32e-4])
    M[2, 3] = M[3, 2] = m4 * L4
    K = np.diag([k1 + k2, k2 + k3, k3, m4 * g * L4])
    K[0, 1] = K[1, 0] = -k2
    K[1, 2] = K[2, 1] = -k3
    frequencies = SecondOrder(M, K).modes().frequencies_hz
    np.testing.assert_allclose(frequencies, [1.09961, 1.98459, 5.79019, 8.82485], rtol=0, atol=0.6e-5)  # spec 000, AT-1
    alpha, beta = 0.9751, 2.8815e-4  # the printed beta is negative; a positive one keeps every mode damped
    system = SecondOrder(M, K, C=alpha * M + beta * K, B=np.eye(4)[:, [0]], inputs="shaker",
                         coordinates=["x1", "x2", "x3", "phi"])  # fmt: skip
    t = np.linspace(0.0, 5.0, 501)
    u = np.random.default_rng(7).normal(size=501)
    start = {"x1": 0.01, "phi": 0.2, "x3.rate": -0.05}
    by_modes = duhamel(system, {"shaker": u}, times=t, start=start)
    by_steps = response(system, {"shaker": u}, times=t, start=start, hold="first")
    np.testing.assert_allclose(by_modes.data, by_steps.data, rtol=0, atol=1e-12)
    first = system.state_space()
    z = np.array([0.01, 0, 0, 0.2, 0, 0, -0.05, 0])
    for k in range(100):

        def rate(at, x, k=k):
            return first.A @ x + first.B[:, 0] * (u[k] + (u[k + 1] - u[k]) * (at - t[k]) / (t[k + 1] - t[k]))

        z = scipy.integrate.solve_ivp(rate, t[k : k + 2], z, rtol=1e-11, atol=1e-13, method="DOP853").y[:, -1]
    np.testing.assert_allclose(by_modes.data[100], z[:4], rtol=0, atol=1e-9)


@pytest.mark.spec("000-21")
def test_fourier_coefficients_of_a_sawtooth_and_a_rectified_sine():
    T = 3.0
    saw = fourier_series(lambda t: t / T, T, 20)
    n = np.arange(1, 21)
    np.testing.assert_allclose(saw.sines[1:], -1.0 / (np.pi * n), rtol=0, atol=1e-14)
    np.testing.assert_allclose(saw.cosines[1:], 0.0, rtol=0, atol=1e-14)
    assert saw.mean == pytest.approx(0.5, abs=1e-15)
    sine = fourier_series(lambda t: np.maximum(np.sin(2 * np.pi * t / T), 0.0), T, 20, breaks=[T / 2])
    assert sine.mean == pytest.approx(1 / np.pi, abs=1e-15)
    assert sine.sines[1] == pytest.approx(0.5, abs=1e-14)
    even = np.arange(2, 21, 2)
    np.testing.assert_allclose(sine.cosines[even], 2 / np.pi / (1.0 - even**2), rtol=0, atol=1e-14)


@pytest.mark.spec("000-21")
def test_few_modes_near_the_harmonics_carry_the_periodic_response():
    system = chain5().replace(C=0.002 * chain5().K)
    frequencies = system.modes().frequencies
    T = 2 * np.pi / frequencies[2]  # the fundamental of the load meets the third mode
    load = {"u1": lambda t: np.cos(2 * np.pi * t / T)}
    full = periodic_response(system, load, T, harmonics=3)
    one = periodic_response(system, load, T, harmonics=3, modes=1)
    assert one.kept == (2,)
    largest = np.abs(full.record.data).max()
    # the left-out modes keep φφᵀ (ω²/λ)/(λ-ω²) of theirs after the static correction; damping is 1e-3 of that
    modes, w2 = system.modes(), frequencies[2] ** 2
    left = [0, 1, 3, 4]
    factor = w2 / (frequencies[left] ** 2 * np.abs(frequencies[left] ** 2 - w2))
    bound = np.abs(modes.shapes[:, left]) @ (factor * np.abs(modes.shapes[0, left]))
    assert (np.abs(one.record.data - full.record.data).max(axis=0) <= 1.001 * bound).all()
    three = periodic_response(system, load, T, harmonics=3, modes=3)
    assert np.abs(three.record.data - full.record.data).max() < np.abs(one.record.data - full.record.data).max()
    every = periodic_response(system, load, T, harmonics=3, modes=5)
    np.testing.assert_allclose(every.record.data, full.record.data, rtol=0, atol=1e-11 * largest)


def oscillators(alpha: float, epsilon: float, sign: float) -> SecondOrder:
    """Spec 003, C-20: two equal masses, ω₀ = 1; sign +1 couples by a spring, -1 is circulatory."""
    return SecondOrder.from_full(np.eye(2), None, [[1 - alpha, epsilon], [sign * epsilon, 1 + alpha]])


@pytest.mark.spec("003-E2", "003-C20")
def test_e2_springs_push_the_frequencies_of_two_oscillators_apart():
    for epsilon, alpha, expected in (
        (0.1, 0.0, (0.94868, 1.04881)), (0.1, -0.4, (0.76661, 1.18841)), (0.3, 0.0, (0.83666, 1.14018)),
        (0.3, -0.4, (0.70711, 1.22474)), (0.5, 0.0, (0.70711, 1.22474)), (0.5, -0.8, (0.23791, 1.39406)),
    ):  # fmt: skip
        np.testing.assert_allclose(oscillators(alpha, epsilon, 1.0).modes().frequencies, expected, rtol=0, atol=0.5e-5)
    physical = SecondOrder(np.eye(2), [[1.5, -0.5], [-0.5, 3.5]])
    np.testing.assert_allclose(physical.modes().frequencies ** 2, [1.381966, 3.618034], rtol=0, atol=0.5e-6)


@pytest.mark.spec("003-E2", "003-C20")
def test_e2_circulatory_coupling_draws_them_together_into_flutter():
    for epsilon, alpha, expected in (
        (0.3, -1.0, (0.21462, 1.39783)), (0.3, -0.8, (0.50831, 1.31970)), (0.3, -0.5, (0.77460, 1.18322)),
    ):  # fmt: skip
        np.testing.assert_allclose(oscillators(alpha, epsilon, -1.0).modes().frequencies, expected, rtol=0, atol=0.5e-5)
    for epsilon, alpha, expected in (
        (0.3, -0.2, 0.11112 + 1.00615j), (0.3, 0.0, 0.14838 + 1.01095j), (0.5, 0.0, 0.24293 + 1.02909j),
        (0.5, -0.3, 0.19626 + 1.01908j), (0.1, 0.0, 0.04994 + 1.00125j),
    ):  # fmt: skip
        s = np.linalg.eigvals(oscillators(alpha, epsilon, -1.0).state_space().A)
        quadruple = np.array([expected, -expected, expected.conjugate(), -expected.conjugate()])
        np.testing.assert_allclose(matched(s, quadruple), quadruple, rtol=0, atol=0.71e-5)


@pytest.mark.spec("003-E2", "003-C16")
def test_e2_the_flutter_boundary_is_defective_and_grows_linearly():
    system = oscillators(-0.3, 0.3, -1.0)
    run = free_response(system, {"x1": 1.0}, [10.0, 100.0, 1000.0], states=True)
    assert run.provenance["method"] == "matrix exponential"
    norms = np.linalg.norm(run[["x1", "x2", "x1.rate", "x2.rate"]], axis=1)
    assert norms[0] == pytest.approx(2.4521, abs=0.5e-4)
    assert norms[1] == pytest.approx(21.146, abs=0.5e-3)
    assert norms[2] == pytest.approx(212.23, abs=0.5e-2)
