"""Modes of sparse systems, found by shift-invert Lanczos and Arnoldi, against the dense solvers and closed forms.

Tolerance: shift-invert returns θ = 1/(μ - σ) to some ε times the condition of the wanted modes, here 1e-10 with room.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.linear.eigen import undamped_modes as lanczos
from dalembert.numerics.sparse.sparse_factor import Factor
from tests.helpers.findings import raises

CLOSE = 1e-9
N = 310
L = 120  # where a dense solution of each kind is the judge


def chain(n: int = N, k: float = 1.0, *, ends: bool = True) -> scipy.sparse.csc_array:
    main = 2.0 * np.ones(n)
    if not ends:
        main[[0, -1]] = 1.0
    return k * scipy.sparse.diags_array([-np.ones(n - 1), main, -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsc()


def sine_frequencies(count: int, n: int = N) -> np.ndarray:
    return 2 * np.sin(np.arange(1, count + 1) * np.pi / (2 * (n + 1)))


def masses(n: int = N) -> scipy.sparse.csc_array:
    return scipy.sparse.diags_array(1.0 + 0.3 * np.cos(np.arange(n))).tocsc()


def skew(n: int = N, g: float = 0.02) -> scipy.sparse.csc_array:
    return g * scipy.sparse.diags_array([np.ones(n - 1), -np.ones(n - 1)], offsets=[1, -1]).tocsc()


def assert_same_modes(system: SecondOrder, count: int, rtol: float = CLOSE, **which: object) -> None:
    found, expected = system.modes(count, **which), system.dense().modes(count, **which)
    size = np.abs(expected.eigenvalues).max()
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=rtol, atol=rtol * size)
    np.testing.assert_allclose(np.diag(found.mac(expected)), 1.0, rtol=0, atol=1e-6)


@pytest.mark.spec("003-C09", "000-18")
def test_long_chain_has_the_sine_frequencies_and_mass_orthonormal_shapes():
    modes = SecondOrder(scipy.sparse.eye_array(N), chain()).modes(12)
    np.testing.assert_allclose(modes.frequencies, sine_frequencies(12), rtol=CLOSE)
    np.testing.assert_allclose(modes.shapes.T @ modes.shapes, np.eye(12), rtol=0, atol=1e-12)
    assert modes.shapes.dtype == np.float64
    assert np.all(modes.eigenvalues.real == 0.0)
    assert len(SecondOrder(scipy.sparse.eye_array(N), chain()).modes()) == 20


def test_near_a_frequency_and_in_a_band_are_found_inside_the_spectrum():
    system = SecondOrder(scipy.sparse.eye_array(N), chain())
    every = sine_frequencies(N)
    modes = system.modes(5, near=1.2)
    nearest = np.sort(every[np.argsort(np.abs(every**2 - 1.44))[:5]])
    np.testing.assert_allclose(modes.frequencies, nearest, rtol=CLOSE)
    band = (every[99], every[120])  # both ends are frequencies themselves
    np.testing.assert_allclose(system.modes(band=band).frequencies, every[99:121], rtol=CLOSE)
    np.testing.assert_allclose(system.modes(band=(0, every[7])).frequencies, every[:8], rtol=CLOSE)
    assert len(system.modes(band=(every[5] * 1.001, every[6] * 0.999))) == 0
    exactly = system.modes(1, near=every[150])
    np.testing.assert_allclose(exactly.frequencies, every[150], rtol=CLOSE)


def test_rigid_bodies_are_exactly_zero_whatever_the_stiffness():
    # Three free chains: three zeros; the first elastic frequency is 2 sin(π/2n).
    free = scipy.sparse.block_diag([chain(200, k, ends=False) for k in (1.0, 1.0, 1.0)], format="csc")
    for scale in (1e-6, 1.0, 1e12):
        modes = SecondOrder(scipy.sparse.eye_array(600), scale * free).modes(9)
        assert np.count_nonzero(modes.eigenvalues == 0.0) == 3
        expected = 2 * np.sqrt(scale) * np.sin(np.repeat([1, 2], 3) * np.pi / 400)
        np.testing.assert_allclose(modes.frequencies[3:], expected, rtol=1e-8)


def test_every_copy_of_a_repeated_frequency_is_found():
    K = scipy.sparse.block_diag([chain(100)] * 6, format="csc")
    modes = SecondOrder(scipy.sparse.eye_array(600), K).modes(18)
    np.testing.assert_allclose(modes.frequencies, np.repeat(sine_frequencies(3, 100), 6), rtol=CLOSE)
    np.testing.assert_allclose(modes.shapes.T @ modes.shapes, np.eye(18), rtol=0, atol=1e-11)


def test_a_mode_that_was_passed_over_is_seen_and_added():
    K, M = chain(), scipy.sparse.eye_array(N, format="csc")
    full = lanczos.nearest(M, K, 6)
    gap = [0, 1, 3, 4, 5]
    holed = lanczos.Undamped(full.mu[gap], full.shapes[:, gap], full.factor, full.shift)
    extra = lanczos._find_missed_mode(holed, M)
    assert extra is not None
    joined = lanczos._join(holed, extra, M, 6)
    np.testing.assert_allclose(joined.mu, full.mu, rtol=CLOSE)
    assert lanczos._find_missed_mode(full, M) is None


@pytest.mark.spec("003-C18")
def test_massless_coordinates_follow_statically_in_sparse_systems_too():
    # Every second mass is gone: springs in series, half the stiffness.
    mass = np.ones(601)
    mass[::2] = 0.0
    modes = SecondOrder(scipy.sparse.diags_array(mass), chain(601)).modes(5)
    np.testing.assert_allclose(modes.frequencies, sine_frequencies(5, 300) / np.sqrt(2), rtol=CLOSE)
    shapes = modes.shapes
    np.testing.assert_allclose(shapes[2:-1:2], 0.5 * (shapes[1:-2:2] + shapes[3::2]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(modes.modal_masses, 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    "parts",
    [
        {"C": 0.01 * masses(L) + 0.02 * chain(L)},
        {"C": scipy.sparse.diags_array(np.linspace(0, 0.05, L))},
        {"C": scipy.sparse.diags_array(np.linspace(0, 0.05, L)), "G": skew(L)},
        {"G": skew(L)},
        {"H": skew(L, g=1e-6), "C": 0.01 * masses(L)},
        {"K_loss": 0.05 * chain(L)},
        {"K_loss": scipy.sparse.diags_array(np.linspace(0, 1e-4, L))},
        {"K_loss": 0.05 * chain(L), "C": 0.001 * masses(L)},
        {"K_loss": scipy.sparse.diags_array(np.linspace(0, 1e-4, L)), "C": 0.001 * masses(L), "G": skew(L)},
    ],
    ids=["rayleigh", "damped", "damped gyroscopic", "gyroscopic", "circulatory", "loss factor", "uneven loss",
         "loss and damping", "uneven loss, damping, spin"],
)  # fmt: skip
@pytest.mark.parametrize("which", [{}, {"near": 0.1}])
def test_sparse_and_dense_systems_of_every_kind_have_the_same_modes(parts, which, monkeypatch):
    monkeypatch.setattr("dalembert.linear.second_order._is_small", lambda n, count: n <= 50)
    # The companion form of either size resolves s to √-free 1e-9 of the largest wanted one.
    assert_same_modes(SecondOrder(masses(L), chain(L), **parts), 8, rtol=1e-8, **which)


def test_free_damped_chain_keeps_its_zero_and_its_decay():
    C = scipy.sparse.lil_array((N, N))
    C[0, 0] = 0.01
    system = SecondOrder(masses(), chain(ends=False), C=C.tocsc())
    modes, dense = system.modes(6), system.dense().modes(6)
    assert modes.eigenvalues[0] == 0.0
    np.testing.assert_allclose(modes.eigenvalues, dense.eigenvalues, rtol=0, atol=1e-8)
    inner = SecondOrder(masses(), chain(ends=False), C=0.1 * chain(ends=False) @ chain(ends=False))
    modes, dense = inner.modes(6), inner.dense().modes(6)
    assert modes.eigenvalues[0] == 0.0
    np.testing.assert_allclose(modes.eigenvalues, dense.eigenvalues, rtol=0, atol=1e-8)


def test_damping_that_the_modes_uncouple_keeps_real_shapes():
    K = chain()
    modes = SecondOrder(scipy.sparse.eye_array(N), K, C=0.01 * K @ K + 0.02 * K).modes(6)
    omega = sine_frequencies(6)
    assert modes.shapes.dtype == np.float64
    np.testing.assert_allclose(modes.damping_ratios, (0.01 * omega**4 + 0.02 * omega**2) / (2 * omega), rtol=1e-7)


@pytest.mark.spec("003-C66")
def test_a_loss_factor_turns_every_eigenvalue_by_half_its_angle():
    eta = 0.3
    for K in (chain(), chain().toarray()):
        modes = SecondOrder(scipy.sparse.eye_array(N) if scipy.sparse.issparse(K) else np.eye(N), K,
                            K_loss=eta * K).modes(5)  # fmt: skip
        np.testing.assert_allclose(modes.eigenvalues, 1j * sine_frequencies(5) * np.sqrt(1 + 1j * eta), rtol=CLOSE)
        assert modes.shapes.dtype == np.float64


def test_unstable_stiffness_gives_a_growing_and_a_decaying_row():
    K = (chain() - 2e-4 * scipy.sparse.eye_array(N)).tocsc()
    assert Factor(K).negative == 1
    modes = SecondOrder(scipy.sparse.eye_array(N), K).modes(4)
    rate = np.sqrt(2e-4 - sine_frequencies(1)[0] ** 2)
    np.testing.assert_allclose(modes.eigenvalues[modes.eigenvalues.imag == 0.0].real, [rate, -rate], rtol=1e-8)


def test_inertia_counts_the_frequencies_below_a_shift():
    every = sine_frequencies(N)
    for k in (0, 1, 37, 309):
        assert Factor(chain() - (every[k] * 1.0001) ** 2 * scipy.sparse.eye_array(N)).negative == k + 1


def test_systems_without_an_answer_say_so():
    empty = scipy.sparse.csc_array((N, N))
    lame = chain().tolil()
    lame[:, 7] = lame[7] = 0.0
    mass = np.ones(N)
    mass[7] = 0.0
    with raises(DataError, "singular-matrix"):
        SecondOrder(scipy.sparse.diags_array(mass), lame.tocsc()).modes(3)
    mass[7] = -1.0
    with raises(DataError, "negative"):
        SecondOrder(scipy.sparse.diags_array(mass), chain()).modes(3)
    assert np.all(SecondOrder(scipy.sparse.eye_array(N), empty).modes(3).eigenvalues == 0.0)


def test_dense_modes_are_picked_by_count_frequency_and_band():
    system = SecondOrder(np.eye(40), chain(40).toarray())
    every = sine_frequencies(40, 40)
    np.testing.assert_allclose(system.modes(3).frequencies, every[:3])
    np.testing.assert_allclose(system.modes(3, near=every[10]).frequencies, every[9:12])
    np.testing.assert_allclose(system.modes(band=(every[4], every[9])).frequencies, every[4:10])
    np.testing.assert_allclose(system.modes(2, band=(every[4], every[9])).frequencies, every[4:6])


def solid(m: int, *, free: bool) -> tuple[scipy.sparse.csc_array, scipy.sparse.csc_array]:
    """Laplacian of a cube of m³ points by trilinear elements, and its mass; free or held on all sides."""
    K1 = (chain(m, ends=not free)).tocsc()
    M1 = scipy.sparse.diags_array([np.ones(m - 1) / 6, np.full(m, 4 / 6), np.ones(m - 1) / 6], offsets=[-1, 0, 1])
    if free:
        M1 = M1.tolil()
        M1[0, 0] = M1[m - 1, m - 1] = 2 / 6
    K, M = scipy.sparse.csc_array((m**3, m**3)), scipy.sparse.kron(scipy.sparse.kron(M1, M1), M1).tocsc()
    for place in range(3):
        a, b, c = (K1 if i == place else M1 for i in range(3))
        K = K + scipy.sparse.kron(scipy.sparse.kron(a, b), c)
    return scipy.sparse.csc_array(K), scipy.sparse.csc_array(M)


@pytest.mark.parametrize("free", [False, True])
def test_wide_matrices_give_the_frequencies_of_the_separated_problem(free, monkeypatch):
    # Product shapes: μ is a sum of three one-dimensional ones. Limits lowered, so that dense fronts do the work.
    monkeypatch.setattr(lanczos, "_maker", partial(lanczos._maker, wide=50, large=500))
    m = 9
    K, M = solid(m, free=free)
    line = solid_line(m, free=free)
    expected = np.sort((line[:, None, None] + line[:, None] + line).ravel())[:14]
    modes = SecondOrder(M, K).modes(14)
    np.testing.assert_allclose(modes.frequencies**2, np.maximum(expected, 0.0), rtol=CLOSE, atol=1e-12)
    assert np.count_nonzero(modes.eigenvalues == 0.0) == int(free)
    bent = SecondOrder(M, K - 1.1 * expected[1] * M).modes(3)  # indefinite: the other factor takes over
    assert np.any(bent.eigenvalues.real > 0.0)


def solid_line(m: int, *, free: bool) -> np.ndarray:
    K1 = chain(m, ends=not free).toarray()
    M1 = np.diag(np.full(m, 4 / 6)) + np.diag(np.ones(m - 1) / 6, 1) + np.diag(np.ones(m - 1) / 6, -1)
    if free:
        M1[0, 0] = M1[-1, -1] = 2 / 6
    values = scipy.linalg.eigvalsh(K1, M1)
    return np.where(np.abs(values) < 1e-12, 0.0, values)


def beam(elements: int) -> tuple[scipy.sparse.csc_array, scipy.sparse.csc_array]:
    """Clamped-free Euler-Bernoulli beam, EI = ρA = l = 1, consistent mass."""
    h = 1.0 / elements
    k = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                  [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]) / h**3  # fmt: skip
    m = np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
                  [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]]) * h / 420  # fmt: skip
    places = 2 * np.arange(elements)[:, None] + np.arange(4)
    rows, columns = np.repeat(places, 4, axis=1).ravel(), np.tile(places, 4).ravel()
    K, M = (
        scipy.sparse.coo_array((np.tile(part.ravel(), elements), (rows, columns))).tocsc()[2:, 2:] for part in (k, m)
    )
    return K, M


@pytest.mark.parametrize("elements", [500, 6000])
def test_slender_meshes_keep_their_lowest_modes(elements):
    # 6000 elements: φᵀKφ of the first mode is 74 times its own rounding, as close as a rigid body; but no gap follows.
    K, M = beam(elements)
    modes = SecondOrder(M, K).modes(4)
    # Rounding moves μ by 1/74 where it is coherent, by 1e-4 as a random sum over thousands of elements.
    rtol = 1e-6 if elements == 500 else 1e-3
    np.testing.assert_allclose(modes.frequencies, [3.516015, 22.034492, 61.697214, 120.901916], rtol=rtol)


def test_a_band_of_more_than_two_thousand_modes_is_refused() -> None:
    ones = scipy.sparse.eye_array(2001).tocsc()
    with raises(DataError, "too-large", "2001"):
        lanczos.in_band(ones, ones, 0.5, 1.5)


# --- limits -----------------------------------------------------------------------------------------------------------


def diagonal(*values: float) -> scipy.sparse.csc_array:
    return scipy.sparse.diags_array(np.array(values)).tocsc()


class Counted:
    """The inverse of a diagonal matrix, which counts its solutions."""

    def __init__(self, *mu: float) -> None:
        self.inverse, self.calls = 1.0 / np.array(mu), 0

    def solve(self, x: np.ndarray) -> np.ndarray:
        self.calls += 1
        return (self.inverse * x.T).T


def test_a_mode_hidden_among_close_ones_is_found_in_20_steps() -> None:
    """Frequencies squared of 1, 1.01, 1.02 ...: the last but one of the twenty kept is missed."""
    n = 600
    mu = 1.0 + 0.01 * np.arange(n)
    kept = [k for k in range(20) if k != 18]
    factor = Counted(*mu)
    modes = lanczos.Undamped(mu[kept], np.eye(n)[:, kept], factor, 0.0)  # type: ignore[arg-type]
    assert lanczos._find_missed_mode(modes, scipy.sparse.eye_array(n)) is not None
    assert factor.calls == 21
