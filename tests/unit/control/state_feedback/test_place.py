"""Poles where they are wanted, and modes that cannot be moved or seen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from dalembert.control import controllability, observability, observer_gain, place
from dalembert.control.state_feedback.place import _small_gain, farthest, one_by_one
from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from tests.helpers.control_systems import LUMPED_POLES, cart, frame, lumped
from tests.helpers.findings import raises

METHODS = ("robust", "null-space")


@pytest.mark.spec("000-64")
@pytest.mark.parametrize("method", METHODS)
def test_the_poles_of_the_lumped_rig_go_where_the_spec_wants_them(method):
    """Spec 000, 3.2, test 10: to 1e-9, with a real gain."""
    design = place(lumped(), LUMPED_POLES, method=method)
    assert design.K.dtype == np.float64
    assert farthest(np.asarray(design.poles), LUMPED_POLES) / 55.0 < 1e-9


@pytest.mark.spec("000-64")
def test_the_null_space_gain_is_the_lower_block_by_the_inverse_of_the_upper():
    """By hand for one input: φ = null [A - λ I, B], F = Φ̿ Φ̄⁻¹ with u = +F x, so K = -F (trap T-28)."""
    A, b = np.array([[0.0, 1.0], [-2.0, 3.0]]), np.array([[0.0], [1.0]])
    columns = []
    for pole in (-1.0, -4.0):
        phi = np.linalg.svd(np.hstack([A - pole * np.eye(2), b]))[2][-1]
        columns.append(phi)
    whole = np.array(columns).T
    F = whole[2:] @ np.linalg.inv(whole[:2])
    design = place(StateSpace(A, b), [-1.0, -4.0], method="null-space")
    np.testing.assert_allclose(design.K, -F, rtol=1e-12)


@pytest.mark.spec("000-64")
def test_two_inputs_leave_freedom_that_is_used_for_well_separated_eigenvectors():
    system = frame().state_space()
    poles = [-1, -2, -3, -4, -1 + 2j, -1 - 2j]

    def condition(K):
        vectors = np.linalg.eig(system.A - system.B @ K)[1]
        return np.linalg.cond(vectors)

    best = condition(place(system, poles, method="null-space").K)
    robust = condition(place(system, poles, method="robust").K)
    hand = condition(one_by_one(system.A, system.B, np.array(poles, dtype=complex)))
    assert best <= 1.001 * robust
    assert best < 0.5 * hand


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [None, 0.05])
def test_poles_of_a_continuous_system_are_placed_at_the_samples_too(method, dt):
    poles = np.array([-1, -2, -3, -4, -1 + 2j, -1 - 2j])
    design = place(frame(), poles, dt=dt, method=method)
    assert farthest(design.poles.continuous, poles) < 1e-8


def test_poles_of_a_sampled_system_are_those_of_z():
    design = place(cart().to_discrete(0.1), [0.5, 0.4])
    assert farthest(np.asarray(design.poles), np.array([0.5, 0.4])) < 1e-12


@pytest.mark.parametrize("inputs", [1, 2])
def test_poles_may_be_repeated_as_often_as_wanted(inputs):
    """A defective pole of five is known to ε^(1/5) only: judged by the characteristic polynomial instead."""
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(5, 5)), rng.normal(size=(5, inputs))
    design = place(StateSpace(A, B), [-1.0] * 5)
    closed = A - B @ design.K
    residual = np.linalg.matrix_power(closed + np.eye(5), 5)
    assert np.linalg.norm(residual) < 1e-9 * np.linalg.norm(closed + np.eye(5)) ** 5


def test_deadbeat_takes_as_many_samples_as_states():
    design = place(cart().to_discrete(0.1), [0.0, 0.0])
    closed = design.system.A - design.system.B @ design.K
    assert np.abs(closed @ closed).max() < 1e-12


def test_all_real_poles_may_become_pairs_and_back():
    rng = np.random.default_rng(5)
    A = np.diag([1.0, 2.0, 3.0, 4.0])
    B = rng.normal(size=(4, 1))
    pairs = np.array([-1 + 1j, -1 - 1j, -2 + 3j, -2 - 3j])
    K = one_by_one(A, B, pairs)
    assert farthest(np.linalg.eigvals(A - B @ K).astype(complex), pairs) < 1e-9
    back = one_by_one(A - B @ K, B, np.diag(A).astype(complex))
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(A - B @ (K + back))), [1, 2, 3, 4], rtol=1e-7)


@pytest.mark.spec("000-63")
def test_integrals_have_poles_of_their_own():
    design = place(cart(), [-1, -2, -3], integral="position", tracking="position")
    assert design.integral == ("position",)
    assert abs(design.closed_loop().dc_gain()[0, 0]) < 1e-12
    assert farthest(np.asarray(design.poles), np.array([-1.0, -2.0, -3.0])) < 1e-10


@pytest.mark.parametrize(
    ("poles", "words"),
    [
        ([-1], "wrong-shape"),
        ([-1 + 1j, -1 + 1j], "not-conjugate"),
        ([-1, np.inf], "not-finite"),
        (["left", "far"], "not-a-number"),
    ],
)
def test_wrong_poles_are_refused(poles, words):
    with raises(DataError, words):
        place(cart(), poles)


def test_other_mistakes_are_reported():
    with raises(DataError, "unknown-choice", "method"):
        place(cart(), [-1, -2], method="ackermann")
    with raises(DataError, "out-of-range"):
        place(cart(), [-1 + 40j, -1 - 40j], dt=0.1)
    with raises(DataError, "not-reachable"):
        place(cart(), [-1, -1], method="null-space")


@pytest.mark.spec("000-63")
def test_a_mode_out_of_reach_cannot_be_moved_but_may_stay():
    A = scipy.linalg.block_diag([[0.0, 1.0], [0.0, 0.0]], [[-5.0]])
    system = StateSpace(A, [0, 1, 0], states=["position", "speed", "heat"], inputs="push")
    with raises(DataError, "not-reachable"):
        place(system, [-1, -2, -3])
    for method in METHODS:
        design = place(system, [-1, -2, -5], method=method)
        assert farthest(np.asarray(design.poles), np.array([-1.0, -2.0, -5.0])) < 1e-9


def test_free_masses_out_of_reach_stay_free():
    """Two integrators in a row that nothing drives: a defective mode of two states, one eigenvector."""
    A = scipy.linalg.block_diag([[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [-1.0, -1.0]])
    rng = np.random.default_rng(2)
    system = StateSpace(A, [0, 0, 0, 1]).similarity(rng.normal(size=(4, 4)))
    design = place(system, [0, 0, -2, -3])
    assert farthest(np.asarray(design.closed_loop().poles()), np.array([0.0, 0.0, -2.0, -3.0])) < 1e-6
    with raises(DataError, "not-reachable"):
        place(system, [0, -1, -2, -3])


# --- observers --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-68")
@pytest.mark.spec("000-69")
@pytest.mark.parametrize("method", METHODS)
def test_an_observer_of_the_lumped_rig_has_the_wanted_error(method):
    """Gᵀ from (Aᵀ, Cᵀ); A + G C with G = -L."""
    observer = observer_gain(lumped(), LUMPED_POLES, method=method)
    system = lumped().state_space()
    values = np.linalg.eigvals(system.A - observer.L @ system.C)
    assert farthest(values, LUMPED_POLES) / 55.0 < 1e-9


@pytest.mark.spec("000-69")
def test_an_observer_is_the_dual_of_a_feedback():
    system = frame().state_space()
    poles = [-1, -2, -3, -4, -5, -6]
    dual = StateSpace(system.A.T, system.C.T)
    for method in METHODS:
        np.testing.assert_allclose(
            observer_gain(system, poles, method=method).L, place(dual, poles, method=method).K.T, rtol=1e-9, atol=1e-9
        )


@pytest.mark.spec("000-68")
def test_the_error_of_an_observer_does_not_depend_on_the_inputs():
    """x̂′ = A x̂ + B u + L (y - C x̂ - D u): stepped together with the model, the error is e^{(A - LC) t} e₀."""
    observer = observer_gain(frame(), [-4, -5, -6, -7, -8, -9])
    system = frame().state_space()
    observer_step = observer.observer_step()
    x, xh, h = np.zeros(6), np.arange(1.0, 7.0), 2e-3
    start = x - xh

    def rates(t, x, xh):
        u = np.array([np.sin(5 * t), np.cos(3 * t)])
        y = system.C @ x + system.D @ u
        rate, estimate = observer_step.function(xh, u, y, [], t)
        np.testing.assert_array_equal(estimate.full().ravel(), xh)
        return system.A @ x + system.B @ u, rate.full().ravel()

    for k in range(250):
        t = k * h
        a1, b1 = rates(t, x, xh)
        a2, b2 = rates(t + h / 2, x + h / 2 * a1, xh + h / 2 * b1)
        a3, b3 = rates(t + h / 2, x + h / 2 * a2, xh + h / 2 * b2)
        a4, b4 = rates(t + h, x + h * a3, xh + h * b3)
        x, xh = x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), xh + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    exact = scipy.linalg.expm((system.A - observer.L @ system.C) * 0.5) @ start
    np.testing.assert_allclose(x - xh, exact, rtol=0, atol=1e-5 * np.linalg.norm(start))


@pytest.mark.parametrize("form", ["current", "predictor"])
def test_a_sampled_observer_follows_the_model_whatever_the_form(form):
    observer = observer_gain(frame(), [-4, -5, -6, -7, -8, -9], dt=0.1, form=form)
    system = observer.system
    w = observer.observer_step(0.1, start=np.ones(6))
    x, memory, before = np.zeros(6), np.array(w.start), np.zeros(2)
    for k in range(80):
        u = np.array([np.sin(k), np.cos(2.0 * k)])
        y = system.C @ x + system.D @ u
        after, estimate = w.function(memory, before, u, y, np.ones(2), [], 0.1 * k, 0.1 if k else 0.0)
        memory, before = after.full().ravel(), u
        last = x
        x = system.A @ x + system.B @ u
    np.testing.assert_allclose(estimate.full().ravel(), last, rtol=0, atol=1e-8)


def test_a_sample_that_is_not_measured_changes_nothing():
    observer = observer_gain(frame(), [-4, -5, -6, -7, -8, -9], dt=0.1)
    w = observer.observer_step()
    a = w.function(np.ones(6), np.zeros(2), np.zeros(2), [5.0, 7.0], [0, 0], [], 0.1, 0.1)[1]
    np.testing.assert_allclose(a.full().ravel(), observer.system.A @ np.ones(6), rtol=1e-13)


def test_an_observer_reports_its_mistakes():
    with raises(DataError, "not-reachable"):
        observer_gain(StateSpace([[0, 1], [0, 0]], [0, 1], [[0, 1]], outputs="speed"), [-1, -2])
    observer = observer_gain(frame(), [-4, -5, -6, -7, -8, -9], dt=0.1)
    with raises(DataError, "sample-time-mismatch", "0.1"):
        observer.observer_step(0.2)
    with raises(DataError, "unknown-name", "'q9'"):
        observer.observer_step(start={"q9": 1.0})
    with raises(DataError, "unknown-choice", "form"):
        observer_gain(frame(), [-4, -5, -6, -7, -8, -9], dt=0.1, form="late")
    with raises(DataError, "sample-time-mismatch"):
        observer_gain(frame(), [-4, -5, -6, -7, -8, -9]).observer_step(0.1)
    assert "LinearObserver" in repr(observer)


# --- what is reached, what is seen ------------------------------------------------------------------------------------


@pytest.mark.spec("000-63")
@pytest.mark.spec("000-68")
def test_reach_agrees_with_the_rank_of_the_controllability_matrix():
    rng = np.random.default_rng(0)
    for missing in (False, True):
        A = np.diag([-1.0, -2.0, -3.0, -4.0])
        B, C = rng.normal(size=(4, 1)), rng.normal(size=(1, 4))
        if missing:
            B[2], C[0, 1] = 0.0, 0.0
        T = rng.normal(size=(4, 4))
        system = StateSpace(A, B, C).similarity(T)
        Q = np.hstack([np.linalg.matrix_power(system.A, k) @ system.B for k in range(4)])
        P = np.vstack([system.C @ np.linalg.matrix_power(system.A, k) for k in range(4)])
        assert controllability(system).complete == (np.linalg.matrix_rank(Q) == 4)
        assert observability(system).complete == (np.linalg.matrix_rank(P) == 4)
        assert controllability(system).sufficient
        assert observability(system).sufficient


def test_the_report_names_the_weakest_mode_first():
    pair = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], B=[1, 1], inputs="push", Y_position=[[1, 0.0]], outputs="left")
    report = controllability(pair)
    assert not report.complete
    assert not report.sufficient
    assert report.modes[0].missed
    assert "0.2757 Hz" in report.table()
    assert "not reached by push" in repr(report)
    assert observability(pair).words() == "every mode is seen by left."


def test_units_do_not_decide_what_is_reached():
    scale = np.array([1e-6, 1e6])
    system = StateSpace(np.array([[0.0, 1.0], [-4.0, -0.1]]) * scale / scale[:, None], np.array([0.0, 1.0]) / scale)
    assert controllability(system).complete


def test_large_systems_are_judged_by_their_eigenvectors_alike():
    """70 states, among them a pair of equal oscillators that one force cannot distinguish."""
    rng = np.random.default_rng(0)
    n = 35
    K = np.diag(np.append(np.linspace(1.0, 20.0, n - 1) ** 2, 25.0**2))
    K[-2, -2] = 25.0**2
    force = rng.uniform(0.5, 1.0, n)
    for missing in ((), (3,)):
        force[list(missing)] = 0.0
        report = controllability(SecondOrder(np.eye(n), K, C=0.1 * np.eye(n), B=force, inputs="push"))
        missed = [mode for mode in report.modes if mode.missed]
        assert len(missed) == 1 + len(missing)
        assert any(mode.frequency == pytest.approx(25.0) for mode in missed)
        assert report.sufficient


@pytest.mark.parametrize(("apart", "refused"), [(0.5e-9, True), (2e-9, False)])
def test_poles_that_agree_in_nine_digits_are_one(apart, refused):
    """One input gives one eigenvector to a pole. ‖A‖ and the poles are 1, so distances are relative to 1."""
    system = StateSpace([[0, 1], [0, 0]], [0, 1])
    if refused:
        with raises(DataError, "not-reachable", "2 times"):
            place(system, [-1.0, -1.0 - apart], method="null-space")
    else:
        place(system, [-1.0, -1.0 - apart], method="null-space")


@pytest.mark.parametrize(("weaker", "directions"), [(7e-4, 1), (1.5e-3, 2)])
def test_a_much_weaker_input_direction_is_not_used_for_a_pair(weaker: float, directions: int) -> None:
    A, poles = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.array([-1.0 + 2.0j, -1.0 - 2.0j])
    gain = _small_gain(A, np.diag([1.0, weaker]), poles)
    assert np.linalg.matrix_rank(gain, tol=1e-9) == directions
    assert np.linalg.eigvals(A - np.diag([1.0, weaker]) @ gain) == pytest.approx(poles, abs=1e-9)
