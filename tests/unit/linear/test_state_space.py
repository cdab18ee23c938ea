"""State-space systems: sampling, changes of state, forms."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.linalg

from dalembert.core.errors import DataError
from dalembert.linear import (
    SecondOrder,
    StateSpace,
    connect,
    controllability_matrix,
    observability_matrix,
    symmetric_form,
)
from tests.helpers.findings import raises, warns

FRAME = {
    "M": np.diag([2.0, 3.0, 1.0]),
    "C": np.array([[0.7, -0.3, 0.0], [-0.3, 0.5, -0.2], [0.0, -0.2, 0.2]]),
    "K": np.array([[50.0, -20.0, 0.0], [-20.0, 45.0, -25.0], [0.0, -25.0, 25.0]]),
}
NAMES = {"coordinates": ["base", "middle", "top"], "inputs": ["push", "pull"]}
B2 = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -1.0]])


def frame(**more) -> SecondOrder:
    return SecondOrder(**FRAME, B=B2, units={"base": "m", "push": "N"}, provenance={"from": "test"}, **NAMES, **more)


def free_mass() -> StateSpace:
    return SecondOrder(2.0, 0.0, B=[1.0], coordinates="x", inputs="force").state_space()


# First-order form


@pytest.mark.spec("000-44")
def test_acceleration_outputs_of_a_second_order_system_take_the_matrices_of_the_spec():
    rng = np.random.default_rng(1)
    Cd, Cv, Ca = rng.normal(size=(3, 2, 3))
    space = frame(Y_position=Cd, Y_velocity=Cv, Y_acceleration=Ca).state_space()
    Mi, R, K = np.linalg.inv(FRAME["M"]), FRAME["C"], FRAME["K"]
    np.testing.assert_allclose(
        space.A, np.block([[np.zeros((3, 3)), np.eye(3)], [-Mi @ K, -Mi @ R]]), rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(space.B, np.vstack([np.zeros((3, 2)), Mi @ B2]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(space.C, np.hstack([Cd - Ca @ Mi @ K, Cv - Ca @ Mi @ R]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(space.D, Ca @ Mi @ B2, rtol=0, atol=1e-14)


@pytest.mark.spec("003-C05")
def test_first_order_equations_become_monic():
    A1, A2, F = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([[1.0, 0.0], [3.0, 5.0]]), np.array([[1.0], [2.0]])
    space = StateSpace.from_first_order(A1, A2, F, states=["a", "b"])
    np.testing.assert_allclose(A1 @ space.A + A2, 0.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(A1 @ space.B, F, rtol=0, atol=1e-15)
    assert space.states == ("a", "b")
    with raises(DataError, "singular-matrix"):
        StateSpace.from_first_order(np.diag([1.0, 0.0]), A2)


@pytest.mark.spec("003-C07")
def test_the_response_of_the_quadruple_is_the_free_one_plus_the_forced_one():
    space = frame().state_space().to_discrete(0.05)
    rng = np.random.default_rng(2)
    u, x = rng.normal(size=(40, 2)), rng.normal(size=6)
    start, total = x, []
    for sample in u:
        total.append(space.C @ x + space.D @ sample)
        x = space.A @ x + space.B @ sample
    free = [space.C @ np.linalg.matrix_power(space.A, k) @ start for k in range(40)]
    pulses = space.markov(40)
    forced = [sum(pulses[j] @ u[k - j] for j in range(k + 1)) for k in range(40)]
    np.testing.assert_allclose(total, np.add(free, forced), rtol=0, atol=1e-12)


# Sampling


@pytest.mark.spec("000-47")
def test_a_free_mass_is_sampled_and_comes_back_to_1e_10():
    space = free_mass()
    back = space.to_discrete(0.25).to_continuous()
    np.testing.assert_allclose(back.A, space.A, rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.B, space.B, rtol=0, atol=1e-10)
    assert (back.states, back.inputs, back.outputs, back.dt) == (space.states, space.inputs, space.outputs, None)


@pytest.mark.spec("000-47")
def test_sampling_sums_the_series_of_the_spec_and_comes_back():
    space, dt = frame().state_space(), 0.1
    sampled = space.to_discrete(dt)
    term, series = np.eye(6) * dt, np.zeros((6, 6))
    for k in range(1, 60):
        series += term
        term = term @ space.A * dt / (k + 1)
    np.testing.assert_allclose(sampled.B, series @ space.B, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        sampled.B, np.linalg.solve(space.A, (sampled.A - np.eye(6)) @ space.B), rtol=0, atol=1e-13
    )
    back = sampled.to_continuous()
    np.testing.assert_allclose(back.A, space.A, rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.B, space.B, rtol=0, atol=1e-10)
    assert back.units == space.units
    assert back.provenance["from"] == "test"


@pytest.mark.spec("000-47")
@pytest.mark.parametrize("pole", [-0.5, 0.0])
def test_a_pole_on_the_negative_real_axis_has_no_continuous_system(pole):
    with raises(DataError, "no-solution"):
        StateSpace(np.diag([0.5, pole]), dt=0.1).to_continuous()


@pytest.mark.spec("000-47", "000-48")
def test_an_oscillation_above_nyquist_comes_back_as_its_alias_with_a_warning():
    dt, omega = 0.1, 40.0  # Nyquist: 31.4 rad/s
    sampled = SecondOrder(1.0, omega**2, B=[1.0]).state_space().to_discrete(dt)
    with warns(UserWarning, "aliasing"):
        back = sampled.to_continuous()
    np.testing.assert_allclose(back.modes().frequencies, 2 * np.pi / dt - omega, rtol=1e-12)


@pytest.mark.parametrize(("factor", "doubtful"), [(0.9, True), (1.1, False)])
def test_a_pole_near_nyquist_is_warned_of(factor, doubtful):
    turn = (1.0 - factor * 0.01) * np.pi
    A = 0.9 * np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    with warns(UserWarning, "aliasing") if doubtful else nullcontext():
        StateSpace(A, dt=1.0).to_continuous()


@pytest.mark.parametrize(("factor", "singular"), [(0.9, True), (1.1, False)])
def test_a_pole_at_the_singularity_of_the_tustin_map_is_refused(factor, singular):
    distance = factor * 1e-13
    with raises(DataError, "no-solution") if singular else nullcontext():
        StateSpace([[1.0 - distance]], dt=None).to_discrete(2.0, "tustin")
    with raises(DataError, "no-solution") if singular else nullcontext():
        StateSpace([[-1.0 + distance]], dt=2.0).to_continuous("tustin")


def test_first_order_hold_is_exact_for_a_ramp():
    space = frame().state_space()
    dt, steps = 0.2, 30
    sampled = space.to_discrete(dt, "foh")
    slope = np.array([1.0, -2.0])
    # x of a ramp from rest: exp of the chain (x, u, slope).
    chain = np.zeros((10, 10))
    chain[:6, :6], chain[:6, 6:8], chain[6:8, 8:] = space.A, space.B, np.eye(2)
    state = np.concatenate([np.zeros(8), slope])
    exact = [space.C @ (scipy.linalg.expm(chain * k * dt) @ state)[:6] for k in range(steps)]
    xi, got = np.zeros(6), []
    for k in range(steps):
        u = slope * k * dt
        got.append(sampled.C @ xi + sampled.D @ u)
        xi = sampled.A @ xi + sampled.B @ u
    np.testing.assert_allclose(got, exact, rtol=0, atol=1e-13)


def test_tustin_keeps_the_response_at_the_prewarped_frequency():
    space, dt, omega = frame().state_space(), 0.2, 7.0
    sampled = space.to_discrete(dt, "tustin", prewarp=omega)
    there = space.C @ np.linalg.solve(1j * omega * np.eye(6) - space.A, space.B) + space.D
    z = np.exp(1j * omega * dt)
    np.testing.assert_allclose(sampled.C @ np.linalg.solve(z * np.eye(6) - sampled.A, sampled.B) + sampled.D, there,
                               rtol=0, atol=1e-14)  # fmt: skip


@pytest.mark.parametrize("prewarp", [None, 3.0])
def test_tustin_comes_back(prewarp):
    space = frame(Y_acceleration=np.eye(3)).state_space()
    back = space.to_discrete(0.1, "tustin", prewarp=prewarp).to_continuous("tustin", prewarp=prewarp)
    for symbol in "ABCD":
        np.testing.assert_allclose(getattr(back, symbol), getattr(space, symbol), rtol=0, atol=1e-11)


def test_tustin_takes_a_pole_of_any_speed():
    stiff = StateSpace(np.diag([-1e18, -1.0]), [1.0, 1.0]).to_discrete(0.1, "tustin")
    np.testing.assert_allclose(np.diag(stiff.A), [-1.0, 0.95 / 1.05])


def test_resampling_is_sampling_anew():
    space = frame().state_space()
    there, direct = space.to_discrete(0.1).resample(0.03), space.to_discrete(0.03)
    np.testing.assert_allclose(there.A, direct.A, rtol=0, atol=1e-12)
    np.testing.assert_allclose(there.B, direct.B, rtol=0, atol=1e-12)
    assert there.dt == 0.03


# Change of states


def markov_rounding(space: StateSpace, T: np.ndarray, count: int) -> np.ndarray:
    """(count, 1, 1) rounding of C A^(k-1) B after a change of states: k products of n terms, A known to n ε cond(T)."""
    A, B, C = (np.linalg.norm(X, 2) for X in (space.A, space.B, space.C))
    power = np.array([1.0, *(C * A**k * B for k in range(count - 1))])
    k = np.arange(1, count + 1)
    return (2 * space.nx * np.finfo(float).eps * np.linalg.cond(T) * k * power)[:, None, None]


def pole_rounding(space: StateSpace) -> float:
    """Bauer and Fike: κ(V) of the eigenvectors times the rounding of A, of a product and of the QR algorithm."""
    V = np.linalg.eig(space.A)[1]
    return float(np.linalg.cond(V) * 2 * space.nx * np.finfo(float).eps * np.linalg.norm(space.A, 2))


@pytest.mark.spec("000-45")
def test_a_similarity_keeps_poles_and_markov_parameters():
    space = frame(Y_acceleration=np.eye(3)).state_space()
    T = np.random.default_rng(3).normal(size=(6, 6))
    other = space.similarity(T, states=[f"s{i}" for i in range(6)])
    np.testing.assert_allclose(T @ other.A, space.A @ T, rtol=0, atol=1e-11)  # A_bar = T⁻¹ A T, not T A T⁻¹
    np.testing.assert_allclose(other.D, space.D)
    moved = np.abs(np.asarray(other.poles()) - np.asarray(space.poles()))
    assert moved.max() <= pole_rounding(other)
    expected = space.markov(8)
    assert (np.abs(other.markov(8) - expected) <= markov_rounding(other, T, 8)).all()
    assert other.states[0] == "s0"
    with raises(DataError, "singular-matrix", "T"):
        space.similarity(np.ones((6, 6)))


@pytest.mark.spec("000-46")
@pytest.mark.parametrize("form", [1, 2])
def test_symmetric_first_order_forms_give_the_state_space(form):
    system = frame()
    V, S, N = symmetric_form(system, form)
    np.testing.assert_array_equal(V, V.T)
    np.testing.assert_array_equal(S, S.T)
    space = system.state_space()
    np.testing.assert_allclose(np.linalg.solve(V, S), space.A, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.solve(V, N), space.B, rtol=0, atol=1e-13)


@pytest.mark.spec("000-46")
def test_symmetric_form_2_needs_stiffness_everywhere_and_form_1_does_not():
    chain = SecondOrder(np.eye(2), [[1.0, -1.0], [-1.0, 1.0]])
    V, S, _ = symmetric_form(chain, 1)
    np.testing.assert_allclose(np.linalg.solve(V, S), chain.state_space().A, rtol=0, atol=1e-15)
    with raises(DataError, "singular-matrix", "K"):
        symmetric_form(chain, 2)
    with raises(DataError, "not-symmetric", "G"):
        symmetric_form(SecondOrder(np.eye(2), np.eye(2), G=[[0, 1], [-1, 0]]))
    with raises(DataError, "unknown-choice"):
        symmetric_form(chain, 3)


@pytest.mark.spec("000-48", "003-C14")
def test_the_complex_modal_form_is_diagonal_with_rates_below_positions():
    space = frame().state_space()
    form = space.modal_form()
    W, below = form.vectors[:3], form.vectors[3:]
    np.testing.assert_allclose(below, W * form.eigenvalues, rtol=0, atol=1e-13)
    back = form.vectors @ np.diag(np.exp(0.7 * form.eigenvalues)) @ np.linalg.inv(form.vectors)
    np.testing.assert_allclose(back, scipy.linalg.expm(0.7 * space.A), rtol=0, atol=1e-13)
    np.testing.assert_allclose(form.vectors @ form.B, space.B, rtol=0, atol=1e-14)
    np.testing.assert_allclose(form.C, space.C @ form.vectors)
    assert "strongest input" in repr(form)


def test_the_real_modal_form_has_a_block_per_pair_and_real_poles_alone():
    A = scipy.linalg.block_diag([[0.0, 1.0], [-9.0, -0.6]], [[-2.0]])
    T = np.random.default_rng(4).normal(size=(3, 3))
    modal = StateSpace(T @ A @ np.linalg.inv(T), T @ [[1.0], [0.0], [1.0]]).modal()
    w = np.sqrt(9.0 - 0.09)
    np.testing.assert_allclose(modal.A, [[-2, 0, 0], [0, -0.3, w], [0, -w, -0.3]], rtol=0, atol=1e-12)
    assert modal.states == ("mode1", "mode2.re", "mode2.im")
    np.testing.assert_allclose(modal.C @ modal.A @ modal.B, T @ A @ [[1.0], [0.0], [1.0]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("A", [[[0, 1], [0, 0]], [[0, 1], [-1, -2]], [[0, 1], [-1e8, -2e4]]])
def test_a_defective_system_has_no_modal_form_but_a_schur_form(A):
    space = StateSpace(A, [0, 1], [[1, 0]])
    with raises(DataError, "not-diagonalizable"):
        space.modal()
    schur = space.schur_form()
    assert np.allclose(np.tril(schur.A, -2), 0.0)
    np.testing.assert_allclose(schur.markov(4), space.markov(4), rtol=1e-9, atol=1e-12)


def test_controllability_and_observability_matrices_stack_powers():
    space = free_mass()
    np.testing.assert_allclose(controllability_matrix(space), [[0.0, 0.5], [0.5, 0.0]])
    np.testing.assert_allclose(observability_matrix(space), np.eye(2))
    np.testing.assert_allclose(controllability_matrix(space, 3), [[0.0, 0.5, 0.0], [0.5, 0.0, 0.0]])
    assert observability_matrix(space, 1).shape == (1, 2)
    with raises(DataError, "not-a-count", "blocks"):
        controllability_matrix(space, 0)
    with raises(DataError, "wrong-type"):
        observability_matrix(SecondOrder(1.0, 1.0))


# Kalman decomposition


def test_the_kalman_decomposition_finds_what_was_hidden():
    rng = np.random.default_rng(5)
    poles = np.diag([-1.0, -2.0, -3.0, -4.0, -5.0, -6.0])
    # reached and seen: -1, -2; reached only: -3; seen only: -4, -5; neither: -6
    B = np.array([[1.0], [2.0], [1.0], [0.0], [0.0], [0.0]])
    C = np.array([[1.0, 1.0, 0.0, 1.0, 2.0, 0.0]])
    T = rng.normal(size=(6, 6))
    space = StateSpace(np.linalg.solve(T, poles @ T), np.linalg.solve(T, B), C @ T)
    form = space.kalman()
    assert form.sizes == (2, 1, 2, 1)
    assert not form.is_controllable
    assert not form.is_observable
    minimal = space.minimal()
    np.testing.assert_allclose(np.asarray(minimal.poles()), [-1, -2], rtol=0, atol=1e-10)
    assert (np.abs(minimal.markov(6) - space.markov(6)) <= markov_rounding(space, T, 6)).all()
    A, z = form.system.A, 1e-10
    np.testing.assert_allclose(A[3:, :3], 0.0, rtol=0, atol=z)  # the reached part acts on nothing outside
    np.testing.assert_allclose(A[:2, 2], 0.0, rtol=0, atol=z)  # what is not seen acts on nothing seen
    np.testing.assert_allclose(A[3:5, 5], 0.0, rtol=0, atol=z)
    np.testing.assert_allclose(form.system.C[:, [2, 5]], 0.0, rtol=0, atol=z)
    np.testing.assert_allclose(form.system.B[3:], 0.0, rtol=0, atol=z)
    assert "controllable only" in repr(form)


def test_a_system_that_nothing_reaches_is_minimal_without_states():
    space = StateSpace(-np.eye(2), np.zeros((2, 1)), np.ones((1, 2)), 3.0)
    minimal = space.minimal()
    assert minimal.nx == 0
    np.testing.assert_allclose(minimal.dc_gain(), 3.0)
    assert minimal.hinf_norm().gain == 3.0


def test_a_minimal_structure_stays_whole_whatever_its_units():
    system = SecondOrder(1e-3 * FRAME["M"], 1e6 * FRAME["K"], C=1e-2 * FRAME["C"], B=B2)
    assert system.state_space().kalman().sizes == (6, 0, 0, 0)


def test_stable_and_other_parts_add_up():
    A = scipy.linalg.block_diag([[0.0, 1.0], [-4.0, -0.2]], [[0.5]], [[0.0, 1.0], [0.0, 0.0]])
    T = np.linalg.qr(np.random.default_rng(6).normal(size=(5, 5)))[0]
    space = StateSpace(T.T @ A @ T, T[:, :1], T[:2], [[1.0], [2.0]])
    stable, rest = space.stable_split()
    assert (stable.nx, rest.nx) == (2, 3)
    assert stable.is_stable
    np.testing.assert_allclose((stable + rest).markov(6), space.markov(6), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dt", [None, 0.1])
def test_parts_of_a_coupled_system_add_up(dt):
    """A that is no block diagonal in any orthogonal basis: inputs and outputs of both parts take the coupling in."""
    A = np.triu(np.random.default_rng(8).normal(size=(4, 4)), 1) + np.diag([-1.0, -2.0, 0.4, 0.9] if dt is None else
                                                                          [0.3, -0.5, 1.2, 1.5])  # fmt: skip
    space = StateSpace(A, np.ones((4, 1)), np.ones((1, 4)), [[0.5]], dt)
    stable, rest = space.stable_split()
    assert (stable.nx, rest.nx) == (2, 2)
    np.testing.assert_allclose((stable + rest).markov(8), space.markov(8), rtol=1e-11)


# Copies


def test_replace_keeps_names_and_drops_units_of_names_that_are_gone():
    space = frame().state_space()
    other = space.replace(inputs=["a", "b"])
    assert other.units == {"base": "m", "base.rate": "m/s"}
    picked = space.select(inputs="pull", outputs=["top", "base"])
    assert (picked.inputs, picked.outputs) == (("pull",), ("top", "base"))
    np.testing.assert_array_equal(picked.C, space.C[[2, 0]])
    with raises(DataError, "unknown-name", "'top'"):
        space.select(outputs="topp")


@pytest.mark.parametrize(
    "act",
    [
        lambda s: s.to_discrete(0.1),
        lambda s: s.to_discrete(0.1, "foh"),
        lambda s: s.to_discrete(0.1, "tustin"),
        lambda s: s.to_discrete(0.1).to_continuous(),
        lambda s: s.to_discrete(0.1).resample(0.2),
        lambda s: s.similarity(2.0 * np.eye(6)),
        lambda s: s.modal(),
        lambda s: s.schur_form(),
        lambda s: s.balanced_form(),
        lambda s: s.minimal(),
        lambda s: s.kalman().system,
        lambda s: s.balanced_truncation(2).system,
        lambda s: s.balanced_truncation(2, match_dc=True).system,
        lambda s: s.stable_split()[0],
        lambda s: s.select(),
        lambda s: -s,
        lambda s: s + s,
        lambda s: s.feedback(StateSpace.gain(np.ones((2, 3)))),
        lambda s: s.series(StateSpace.gain(np.eye(3), outputs=s.outputs)),
        lambda s: connect([s]),
    ],
)
def test_names_units_and_provenance_travel_with_every_operation(act):
    space = frame().state_space()
    after = act(space)
    assert (after.inputs, after.outputs) == (space.inputs, space.outputs)
    assert after.units["push"] == "N"
    parts = after.provenance.get("parts", [after.provenance])
    assert parts[0]["from"] == "test"


def test_a_gain_has_no_states_and_survives_every_question():
    gain = StateSpace.gain([[2.0, 0.0], [0.0, 3.0]])
    assert (gain.nx, len(gain.poles()), len(gain.zeros()), len(gain.modes())) == (0, 0, 0, 0)
    assert gain.is_stable
    assert gain.hinf_norm().gain == pytest.approx(3.0, rel=1e-15)
    assert gain.minimal().nx == 0
    assert gain.to_discrete(0.1).to_continuous().nx == 0
    assert "no states" in repr(gain)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(gain)).D, gain.D)  # noqa: S301


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda s: s.to_discrete(0.1, "euler"), "unknown-name"),
        (lambda s: s.to_discrete(0.1, prewarp=3.0), "ineffective-argument"),
        (lambda s: s.to_discrete(0.1, "tustin", prewarp=40.0), "out-of-range"),
        (lambda s: s.to_continuous(), "sample-time-mismatch"),
        (lambda s: s.to_discrete(0.1).to_discrete(0.1), "sample-time-mismatch"),
        (lambda s: s.to_discrete(0.1).to_continuous("foh"), "unknown-name"),
        (lambda s: s.markov(0), "not-a-count"),
        (lambda s: s.similarity(np.eye(3)), "wrong-shape"),
        (lambda s: StateSpace([[2.0]]).to_discrete(1.0, "tustin"), "no-solution"),
        (lambda s: StateSpace([[-1.0]], dt=1.0).to_continuous("tustin"), "no-solution"),
    ],
)
def test_mistakes_are_reported(act, message):
    with raises(DataError, message):
        act(frame().state_space())
