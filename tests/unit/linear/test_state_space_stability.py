"""Stability of state-space systems: the table of spec 003, C-15, and defective poles on the border (trap 9)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.eigen.stability import stability

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
    verdicts = [stability(system).verdict for system in systems]
    assert verdicts == ["asymptotically stable", "stable", "unstable", "stable", "unstable", "unstable"]
    assert [system.state_space().stability().verdict for system in systems] == verdicts


def test_damping_that_rounding_hides_counts_as_none():
    lightly = StateSpace([[0.0, 1.0], [-1.0, -2e-9]])
    assert lightly.is_stable
    assert lightly.stability().is_asymptotic
    assert not StateSpace([[0.0, 1.0], [-1.0, -2e-17]]).is_stable
