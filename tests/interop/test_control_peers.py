"""Linear control against python-control, SciPy and SLICOT (through ctrlsys)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.signal

from dalembert.control import kalman_gain, lqr, margins, place
from dalembert.control.state_feedback.place import farthest
from dalembert.linear import StateSpace
from dalembert.linear.transforms.riccati import care, dare
from tests.helpers.checks import matched
from tests.helpers.control_systems import frame, lqg

control = pytest.importorskip("control")
TIGHT = {"rtol": 1e-8, "atol": 1e-10}


@pytest.fixture(params=[None, 0.05], ids=["continuous", "sampled"])
def system(request) -> StateSpace:
    found = frame().state_space()
    return found if request.param is None else found.to_discrete(request.param)


def weights(nu: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(6 + nu, 6 + nu))
    whole = whole @ whole.T + np.eye(6 + nu)
    return whole[:6, :6], whole[6:, 6:], whole[:6, 6:]


@pytest.mark.spec("000-66")
@pytest.mark.spec("000-67")
def test_gains_of_a_regulator_with_cross_term(system):
    Q, R, N = weights()
    peer = control.lqr if system.dt is None else control.dlqr
    K, X, poles = peer(system.to_control(), Q, R, N)
    found = lqr(system, Q=Q, R=R, N=N)
    np.testing.assert_allclose(found.K, K, **TIGHT)
    np.testing.assert_allclose(found.cost, X, **TIGHT)
    np.testing.assert_allclose(matched(found.poles, poles), poles, **TIGHT)


@pytest.mark.spec("000-71")
def test_gains_of_a_filter(system):
    """python-control's dlqe gives the predictor's gain."""
    Q, R, _ = weights()
    peer = control.lqe if system.dt is None else control.dlqe
    L, P, poles = peer(system.A, np.eye(6), system.C, Q, R)
    found = kalman_gain(system, Q=Q, R=R)
    np.testing.assert_allclose(found.L if system.dt is None else found.system.A @ found.M, L if system.dt is None
                               else _predictor(system, P, R), **TIGHT)  # fmt: skip
    np.testing.assert_allclose(found.covariance, P, **TIGHT)
    np.testing.assert_allclose(matched(found.poles, poles), poles, rtol=1e-7, atol=1e-9)


def _predictor(system: StateSpace, P: np.ndarray, R: np.ndarray) -> np.ndarray:
    return system.A @ P @ system.C.T @ np.linalg.inv(system.C @ P @ system.C.T + R)


@pytest.mark.spec("000-64")
@pytest.mark.parametrize("pair", [False, True])
def test_poles_placed_by_scipy_are_ours(system, pair):
    poles = np.array([-1, -2, -3, -4, -1 + 2j, -1 - 2j] if pair else [-1, -2, -3, -4, -5, -6])
    poles = poles if system.dt is None else np.exp(poles * system.dt)
    peer = scipy.signal.place_poles(system.A, system.B, poles).gain_matrix
    for method in ("robust", "null-space"):
        K = place(system, poles, method=method).K
        assert farthest(np.linalg.eigvals(system.A - system.B @ K).astype(complex), poles) < 1e-8
    np.testing.assert_allclose(place(system, poles).K, peer, rtol=1e-5, atol=1e-5)  # SciPy's own poles are 1e-7 off


@pytest.mark.spec("000-73")
def test_the_loop_of_an_lqg_is_that_of_joined_systems():
    design = lqg(frame(), Q=1.0, R=0.1, Qn=1e-2, Rn=1e-4, dt=0.05)
    plant, law = design.system.to_control(), design.controller().to_control()
    closed = control.feedback(plant, law, sign=1)
    np.testing.assert_allclose(
        np.sort(np.abs(closed.poles())), np.sort(np.abs(np.asarray(design.closed_loop().poles()))), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dt", [None, 0.1])
def test_margins_of_stable_loops(seed, dt):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4)) - 2.0 * np.eye(4)
    loop = StateSpace(A, rng.normal(size=(4, 1)), 3.0 * rng.normal(size=(1, 4)))
    loop = loop if dt is None else loop.to_discrete(dt)
    found = margins(loop)
    assert found.stable == loop.feedback().is_stable
    if not found.stable:
        return
    channel = found.channels[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it falls back to a grid
        gain, phase, distance, *_ = control.stability_margins(loop.to_control(), returnall=True)
    gain = gain[np.isfinite(gain)]
    above, below = gain[gain > 1.0], gain[gain < 1.0]
    if len(above):
        assert channel.gain[1] == pytest.approx(above.min(), rel=1e-6)
    if len(below):
        assert channel.gain[0] == pytest.approx(below.max(), rel=1e-6)
    if len(phase):
        assert channel.phase == pytest.approx(np.radians(np.abs(phase).min()), rel=1e-6)
    if len(distance):
        assert found.smallest_return_difference <= distance.min() * (1.0 + 1e-6)


@pytest.mark.parametrize("kind", ["C", "D"])
def test_riccati_equations_of_slicot(kind):
    ctrlsys = pytest.importorskip("ctrlsys")
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(8, 8)), rng.normal(size=(8, 3))
    found = (care if kind == "C" else dare)(A, B, np.eye(8), np.eye(3))
    a, g, q = (np.asfortranarray(part) for part in (A, B @ B.T, np.eye(8)))
    X, *_, info = ctrlsys.sb02md(kind, "I", "U", "G", "S", 8, a, g, q)
    assert info == 0
    np.testing.assert_allclose(found.X, X, rtol=1e-7, atol=1e-8 * np.abs(X).max())
