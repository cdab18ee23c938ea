"""Verdicts on stability, also where eigenvalues are defective; kinds and definiteness."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.eigen.stability import judge
from tests.helpers.findings import raises

ASYMPTOTIC, BOUNDED, UNSTABLE = "asymptotically stable", "stable", "unstable"


def chain(n: int, k: float = 1.0, *, ends: bool = True) -> np.ndarray:
    K = k * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    if not ends:
        K[0, 0] = K[-1, -1] = k
    return K


SPIN = np.array([[0, 1.0], [-1, 0]])


def circulatory(alpha: float, eps: float) -> SecondOrder:
    """spec 003, C-20: x″ + [[1 - α, ε], [-ε, 1 + α]] x = 0."""
    return SecondOrder(np.eye(2), np.diag([1 - alpha, 1 + alpha]), H=eps * SPIN)


# --- verdicts ---------------------------------------------------------------------------------------------------------
@pytest.mark.spec("003-C15")
@pytest.mark.parametrize(
    ("system", "verdict", "motion"),
    [
        (SecondOrder(1.0, 1.0, C=0.2), ASYMPTOTIC, None),
        (SecondOrder(1.0, 1.0, C=3.0), ASYMPTOTIC, None),
        (SecondOrder(1.0, 1.0, C=2.0), ASYMPTOTIC, None),  # double and defective, but decaying
        (SecondOrder(1.0, 1.0), BOUNDED, "oscillation"),
        (SecondOrder(1.0, -1.0), UNSTABLE, "divergence"),
        (SecondOrder(1.0, 1.0, C=-0.2), UNSTABLE, "flutter (growing oscillation)"),
        (SecondOrder(1.0, 0.0), UNSTABLE, "growth like a power of time"),
        (SecondOrder(1.0, 0.0, C=1.0), BOUNDED, "rest"),
        (SecondOrder(np.eye(2), chain(2)), BOUNDED, "oscillation"),
        (SecondOrder(np.eye(2), np.eye(2)), BOUNDED, "oscillation"),  # double, semisimple
        (SecondOrder(np.eye(2), np.zeros((2, 2)), G=3 * SPIN), BOUNDED, "rest"),  # circles: no drift
        (SecondOrder(np.diag([1.0, 0]), [[5, -3], [-3, 3]], C=np.diag([0.1, 0.5])), ASYMPTOTIC, None),
    ],
    ids=str,
)
def test_small_systems_of_every_kind_are_judged(system, verdict, motion):
    found = system.stability()
    assert found.verdict == verdict
    if motion:
        assert found.guilty[0].motion == motion
        assert motion in found.table()
    else:
        assert found.guilty == ()
        assert found.margin > 0.0
    assert found.is_bounded == (verdict != UNSTABLE)
    assert found.is_asymptotic == (verdict == ASYMPTOTIC)
    assert system.state_space().stability().verdict == verdict


@pytest.mark.spec("003-C15", "003-C08")
@pytest.mark.parametrize("n", [2, 5, 20])
def test_free_chain_is_unstable_by_its_defective_double_zero(n):
    scale = 1e5  # stiff: the zeros are torn to √ε of the largest frequency
    found = SecondOrder(np.eye(n), scale * chain(n, ends=False)).stability()
    assert found.verdict == UNSTABLE
    worst = found.guilty[0]
    assert (worst.eigenvalue, worst.algebraic, worst.geometric) == (0.0, 2, 1)
    assert all(g.motion == "oscillation" for g in found.guilty[1:])
    held = SecondOrder(np.eye(n), scale * chain(n, ends=False), C=1e-3 * np.eye(n)).stability()
    assert held.verdict == BOUNDED
    assert (held.guilty[0].algebraic, held.guilty[0].geometric) == (1, 1)


@pytest.mark.spec("003-C15")
def test_free_rigid_body_in_space_has_six_double_zeros():
    found = SecondOrder(np.diag([2.0, 2, 2, 0.1, 0.2, 0.3]), np.zeros((6, 6))).stability()
    assert (found.guilty[0].algebraic, found.guilty[0].geometric) == (12, 6)
    assert found.verdict == UNSTABLE


@pytest.mark.spec("003-C20", "003-E2", "003-C15")
@pytest.mark.parametrize(
    ("alpha", "verdict"),
    [(-1.0, BOUNDED), (-0.5, BOUNDED), (-0.31, BOUNDED), (-0.3, UNSTABLE), (-0.29, UNSTABLE), (0.0, UNSTABLE),
     (0.3, UNSTABLE), (0.31, BOUNDED)],
)  # fmt: skip
def test_circulatory_coupling_flutters_between_its_boundaries(alpha, verdict):
    found = circulatory(alpha, 0.3).stability()
    assert found.verdict == verdict
    if abs(alpha) == 0.3:
        # On the boundary itself every σ is 0, and the motion grows linearly (trap 9).
        assert [(g.algebraic, g.geometric) for g in found.guilty] == [(2, 1), (2, 1)]
        np.testing.assert_allclose([g.eigenvalue for g in found.guilty], [-1j, 1j], rtol=0, atol=1e-12)
        assert {g.motion for g in found.guilty} == {"growth like a power of time"}
    elif verdict == UNSTABLE:
        assert found.guilty[0].motion.startswith("flutter")


@pytest.mark.parametrize("turns", range(5))
def test_the_flutter_boundary_is_seen_in_any_coordinates(turns):
    random = np.random.default_rng(turns)
    # Condition 4: a worse one would move the boundary itself by its rounding.
    U, V = (np.linalg.qr(random.normal(size=(2, 2)))[0] for _ in range(2))
    T = U @ np.diag([0.5, 2.0]) @ V
    plain = circulatory(-0.3, 0.3)
    turned = SecondOrder.from_full(T.T @ T, None, T.T @ plain.K_full @ T)
    assert turned.stability().verdict == UNSTABLE
    assert turned.stability().guilty[0].motion == "growth like a power of time"
    assert turned.state_space().stability().verdict == UNSTABLE
    just_stable = circulatory(-0.3001, 0.3)
    assert SecondOrder.from_full(T.T @ T, None, T.T @ just_stable.K_full @ T).stability().verdict == BOUNDED


@pytest.mark.spec("003-C19")
def test_gyroscopic_stabilisation_is_bounded_and_damping_destroys_it():
    # spec 003, R2
    for g, verdict in ((1.9, UNSTABLE), (2.0, UNSTABLE), (2.1, BOUNDED), (3.0, BOUNDED)):
        assert SecondOrder(np.eye(2), -np.eye(2), G=g * SPIN).stability().verdict == verdict, g
    damped = SecondOrder(np.eye(2), -np.eye(2), G=3 * SPIN, C=0.05 * np.eye(2))
    assert damped.stability().verdict == UNSTABLE


def test_state_matrices_with_long_chains_on_the_axis_are_unstable():
    for size in (2, 3, 4):
        found = StateSpace(np.eye(size, k=1)).stability()
        assert found.verdict == UNSTABLE
        assert (found.guilty[0].algebraic, found.guilty[0].geometric) == (size, 1)
        turned = np.linalg.qr(np.random.default_rng(size).normal(size=(size, size)))[0]
        assert StateSpace(turned @ np.eye(size, k=1) @ turned.T).stability().verdict == UNSTABLE
    assert StateSpace(np.zeros((3, 3))).stability().verdict == BOUNDED
    assert StateSpace(np.eye(3, k=1) - 1e-2 * np.eye(3)).stability().verdict == ASYMPTOTIC


@pytest.mark.parametrize(
    ("A", "verdict", "motion"),
    [
        (np.diag([0.5, -0.9]), ASYMPTOTIC, None),
        (np.diag([0.5, 1.0]), BOUNDED, "rest"),
        (np.diag([0.5, -1.0]), BOUNDED, "oscillation"),
        (np.diag([0.5, 1.01]), UNSTABLE, "divergence"),
        (np.diag([0.5, -1.01]), UNSTABLE, "flutter"),
        (np.array([[1, 0.1], [0, 1]]), UNSTABLE, "growth like a power"),
        (np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]), BOUNDED, "oscillation"),
    ],
)
def test_discrete_systems_are_judged_by_the_unit_circle(A, verdict, motion):
    found = StateSpace(A, dt=0.1).stability()
    assert found.verdict == verdict
    assert motion is None or found.guilty[0].motion.startswith(motion)


@pytest.mark.spec("003-C15")
@pytest.mark.parametrize("system", [circulatory(-0.3, 0.3), SecondOrder(np.eye(3), chain(3, ends=False))], ids=str)
def test_sampling_keeps_the_verdict(system):
    assert system.state_space().to_discrete(0.1).stability().verdict == system.stability().verdict == UNSTABLE


def test_wide_spectra_are_not_taken_for_rigid_bodies():
    # ω from 1e-3 to 1e6: ω² are 1e18 apart, more than doubles hold, but K > 0 says that nothing is free.
    found = SecondOrder(np.eye(3), np.diag([1e-6, 1.0, 1e12])).stability()
    assert found.verdict == BOUNDED
    assert len(found.guilty) == 6


def test_hysteretic_damping_is_judged_in_harmonic_motion():
    assert SecondOrder(np.eye(2), chain(2), K_loss=0.1 * chain(2)).stability().verdict == ASYMPTOTIC
    assert SecondOrder(np.eye(2), chain(2), K_loss=-0.1 * chain(2)).stability().verdict == UNSTABLE


def test_large_sparse_systems_are_judged_by_their_energy():
    n = 1500
    M, K = scipy.sparse.eye_array(n), scipy.sparse.csc_array(chain(n))
    assert SecondOrder(M, K).stability().verdict == BOUNDED
    assert SecondOrder(M, K, C=0.1 * M).stability().verdict == ASYMPTOTIC
    bent = SecondOrder(M, K - 1e-5 * M).stability()
    assert bent.verdict == UNSTABLE
    assert bent.guilty[0].motion == "divergence"
    free = SecondOrder(M, scipy.sparse.csc_array(chain(n, ends=False))).stability()
    assert (free.verdict, free.guilty[0].algebraic, free.guilty[0].geometric) == (UNSTABLE, 2, 1)
    C = scipy.sparse.csc_array(([0.1], ([3], [3])), shape=(n, n))
    braked = SecondOrder(M, scipy.sparse.csc_array(chain(n, ends=False)), C=C).stability()
    assert (braked.verdict, braked.guilty[0].motion) == (BOUNDED, "rest")
    with raises(DataError, "no-solution"):
        SecondOrder(M, K, C=-0.1 * M).stability()


def test_stability_prints_its_verdict_and_the_guilty():
    text = repr(SecondOrder(1.0, 0.0).stability())
    assert text.startswith("Stability: unstable")
    assert "algebraic" in text


# --- kinds ------------------------------------------------------------------------------------------------------------
@pytest.mark.spec("003-C03")
@pytest.mark.parametrize(
    ("parts", "kind", "flags"),
    [
        ({}, "conservative natural (MK)", {"natural", "conservative"}),
        ({"C": np.eye(2)}, "natural nonconservative (MCK)", {"natural", "damped"}),
        ({"G": SPIN}, "conservative gyroscopic (MGK)", {"gyroscopic", "conservative"}),
        ({"C": np.eye(2), "G": SPIN}, "general (MCGK)", {"damped", "gyroscopic"}),
        ({"H": SPIN}, "circulatory (MKH)", {"natural", "circulatory"}),
        ({"K_loss": 0.1 * np.eye(2)}, "natural nonconservative (MK, hysteretic)", {"natural", "hysteretic"}),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_kinds_of_systems_are_distinguished(parts, kind, flags, sparse):
    system = SecondOrder(np.eye(2), 3 * chain(2), **parts)
    found = (system.sparse() if sparse else system).classify()
    assert found.kind == kind
    names = ("natural", "gyroscopic", "circulatory", "damped", "hysteretic", "conservative")
    assert {name for name in names if getattr(found, name)} == flags
    assert kind in repr(found)


@pytest.mark.spec("003-C03", "003-C17")
@pytest.mark.parametrize(
    ("K", "text"),
    [
        (chain(3), "positive definite"),
        (chain(3, ends=False), "positive semidefinite"),
        (np.diag([1.0, 0, 2]), "positive semidefinite"),
        (np.diag([1.0, -1, 2]), "indefinite"),
        (np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 1]]), "indefinite"),
        (-chain(3), "negative definite"),
        (-chain(3, ends=False), "negative semidefinite"),
        (np.zeros((3, 3)), "zero"),
        (np.diag([1e12, 1.0, 1e-12]), "positive definite"),  # units far apart
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_definiteness_of_a_matrix_is_reported(K, text, sparse):
    system = SecondOrder(np.eye(3), K)
    found = (system.sparse() if sparse else system).classify().definiteness
    # An off-diagonal pivot hides the inertia of one sparse case.
    assert found["K"] == text or (sparse and K[0, 0] == 0.0 and found["K"] == "unknown")
    assert found["M"] == "positive definite"
    assert found["C"] == "zero"


@pytest.mark.parametrize(("factor", "kind"), [(0.8, "critically damped"), (1.2, "overdamped")])
def test_two_real_eigenvalues_nearer_than_a_double_one_is_found_are_critical(factor, kind):
    apart = factor * 1e-7  # s = -c/2 ± apart/2 of m = k = 1
    assert set(SecondOrder(1.0, 1.0, C=2.0 * np.sqrt(1.0 + 0.25 * apart**2)).classify().damping) == {kind}


@pytest.mark.spec("003-C17", "003-C01")
@pytest.mark.parametrize(
    ("c", "words", "values"),
    [
        (0.0, ["undamped"], [1j]),
        (1.4e-12, ["undamped"], [1j]),  # a ratio of 0.7e-12 is rounding of a companion form, 1.5e-12 is not
        (3e-12, ["underdamped"], [1j]),
        (0.2, ["underdamped"], [-0.1 + 0.994987j]),
        (2.0, ["critically damped"] * 2, [-1, -1]),
        (3.0, ["overdamped"] * 2, [-0.381966, -2.618034]),
        (-0.2, ["growing"], [0.1 + 0.994987j]),
    ],
)
def test_damping_of_one_degree_of_freedom_is_classified(c, words, values):
    # spec 003, R5: m = k = 1; six printed decimals.
    found = SecondOrder(1.0, 1.0, C=c).classify()
    assert list(found.damping) == words
    np.testing.assert_allclose(found.modes.eigenvalues, values, rtol=0, atol=7.1e-7)
    assert found.overdamped == ("overdamped" in words)


@pytest.mark.spec("003-C17")
def test_definite_matrices_allow_a_remark_on_stability():
    assert "asymptotically stable" in SecondOrder(np.eye(2), chain(2), C=np.eye(2)).classify().remark
    assert "no eigenvalue" in SecondOrder(np.eye(2), chain(2), C=np.diag([1.0, 0])).classify().remark
    assert SecondOrder(np.eye(2), chain(2), H=SPIN).classify().remark == ""
    free = SecondOrder(np.eye(3), chain(3, ends=False)).classify()
    assert free.damping == ("rigid body", "undamped", "undamped")


PAIR = np.array([[0.0, 2.0], [-2.0, 0.0]])


# Two equal oscillators in resonance, one driving the other: a pair on the border, twice, with one eigenvector.
DRIVEN = np.block([[PAIR, np.zeros((2, 2))], [np.eye(2), PAIR]])


@pytest.mark.spec("003-C15")
@pytest.mark.parametrize(
    ("A", "verdict", "motion"),
    [
        ([[-1.0]], "asymptotically stable", None),
        ([[0.0, 1.0], [-4.0, -0.4]], "asymptotically stable", None),
        ([[1.0]], "unstable", "divergence"),
        ([[0.0, 1.0], [-4.0, 0.4]], "unstable", "flutter"),
        (PAIR, "stable", "oscillation"),
        ([[0.0]], "stable", "rest"),
        (np.zeros((2, 2)), "stable", "rest"),
        (scipy.linalg.block_diag(PAIR, PAIR), "stable", "oscillation"),
        ([[0.0, 1.0], [0.0, 0.0]], "unstable", "power of time"),
        (DRIVEN, "unstable", "power of time"),
    ],
    ids=[
        "decay",
        "decaying",
        "divergence",
        "flutter",
        "harmonic",
        "rest",
        "two at rest",
        "two harmonic",
        "free",
        "driven",
    ],
)
def test_every_motion_has_its_verdict_in_continuous_and_in_sampled_time_and_in_any_states(A, verdict, motion):
    space = StateSpace(A)
    T = np.linalg.qr(np.random.default_rng(space.nx).normal(size=(space.nx, space.nx)))[0]
    for system in (space, space.similarity(T), space.to_discrete(0.1)):
        judged = system.stability()
        assert judged.verdict == verdict
        assert system.is_stable == (verdict == "asymptotically stable")
        assert (motion is None) == (not judged.guilty)
        if motion is not None:
            assert motion in judged.guilty[0].motion
        assert verdict in repr(judged)


@pytest.mark.spec("003-C15")
def test_the_verdict_of_a_state_space_is_that_of_its_second_order_system():
    systems = [
        SecondOrder(np.eye(2), np.diag([1.0, 4.0]), C=0.1 * np.eye(2)),
        SecondOrder(np.eye(2), np.diag([1.0, 4.0])),
        SecondOrder(np.eye(2), np.diag([0.0, 4.0])),
        SecondOrder(np.eye(2), -np.eye(2), G=[[0.0, 3.0], [-3.0, 0.0]]),
        SecondOrder(np.eye(2), -np.eye(2), G=[[0.0, 3.0], [-3.0, 0.0]], C=0.05 * np.eye(2)),
        SecondOrder(np.eye(2), np.diag([1.0, 4.0]), H=[[0.0, 2.0], [-2.0, 0.0]]),
    ]
    verdicts = [system.stability().verdict for system in systems]
    assert verdicts == ["asymptotically stable", "stable", "unstable", "stable", "unstable", "unstable"]
    assert [system.state_space().stability().verdict for system in systems] == verdicts


def test_damping_that_rounding_hides_counts_as_none():
    lightly = StateSpace([[0.0, 1.0], [-1.0, -2e-9]])
    assert lightly.is_stable
    assert lightly.stability().is_asymptotic
    assert not StateSpace([[0.0, 1.0], [-1.0, -2e-17]]).is_stable


def largest_cluster(order: int, radius: float) -> int:
    """Of the roots of sⁿ = rⁿ: how many count as one eigenvalue."""
    A = np.diag(np.ones(order - 1), 1)
    A[-1, 0] = radius**order
    return max(one.algebraic for one in judge(A).guilty)


def test_eigenvalues_within_a_hundred_times_their_bound_are_one() -> None:
    """s² = r² has |yᴴx| = 2 r: the disc of 100 ε √2 / (2 r) holds r up to 1.25e-7."""
    assert largest_cluster(2, 1.1e-7) == 2
    assert largest_cluster(2, 1.4e-7) == 1
