"""Maximum-likelihood refinement: likelihood, gradient, information, and what refine does with them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dalembert import identify
from dalembert.core.errors import DataError
from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood import parametrisation, uncertainty
from dalembert.identify.likelihood import robust_deviations as robust
from dalembert.identify.likelihood.likelihood_search import LikelihoodSearch
from dalembert.identify.likelihood.prediction_errors import PredictionSearch, PredictorPoint
from dalembert.identify.model.identified import Identified
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.recursions import march
from dalembert.record import Record
from tests.helpers.checks import matched
from tests.helpers.findings import raises, warns

DT = 0.1


def system_with_everything() -> StateSpace:
    """Two pairs, a positive and a negative real pole; two inputs, three outputs, one input with feed-through."""
    rng = np.random.default_rng(5)
    poles = [0.95 * np.exp(0.4j), 0.9 * np.exp(1.5j)]
    A = np.zeros((6, 6))
    for i, z in enumerate(poles):
        A[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[z.real, z.imag], [-z.imag, z.real]]
    A[4, 4], A[5, 5] = 0.7, -0.5
    D = np.column_stack([rng.standard_normal(3), np.zeros(3)])
    return StateSpace(A, rng.standard_normal((6, 2)), rng.standard_normal((3, 6)), D, DT)


def outputs(system: StateSpace, u: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    x = march(system.A, (u @ system.B.T)[:-1], np.zeros(system.nx) if start is None else start)
    return x @ system.C.T + u @ system.D.T


def record(system: StateSpace, u: np.ndarray, y: np.ndarray) -> Record:
    assert system.dt is not None
    return Record(system.dt * np.arange(len(u)), np.hstack([u, y]), [*system.inputs, *system.outputs])


def two_tests(noise: float, seed: int = 0) -> tuple[StateSpace, tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(seed)
    system = system_with_everything()
    u = tuple(rng.standard_normal((count, 2)) for count in (300, 200))
    y = tuple(outputs(system, part, rng.standard_normal(6)) for part in u)
    return system, u, tuple(part + noise * rng.standard_normal(part.shape) for part in y)


def modal(system: StateSpace, segments: int) -> likelihood.ModalModel:
    return parametrisation.modal_model(
        system.A, system.B, system.C, system.D, np.any(system.D != 0.0, axis=0), segments
    )[0]


def rough(system: StateSpace, size: float = 0.01, seed: int = 3) -> StateSpace:
    rng = np.random.default_rng(seed)
    return system.replace(
        A=system.A * (1.0 - 0.2 * size), B=system.B + size * rng.standard_normal(system.B.shape),
        C=system.C + size * rng.standard_normal(system.C.shape),
    )  # fmt: skip


# ---- the parametrisation


def test_modal_parameters_and_back_keep_the_markov_parameters():
    system = system_with_everything()
    again = StateSpace(*parametrisation.state_space(modal(system, 1)), DT)
    assert np.abs(again.markov(30) - system.markov(30)).max() < 1e-12


def test_a_search_begins_with_the_model_that_was_given():
    rng = np.random.default_rng(3)
    system, K = system_with_everything(), 0.02 * rng.standard_normal((6, 3))
    _, u, y = two_tests(0.1)
    search = PredictionSearch(u, y, np.any(system.D != 0.0, axis=0), start=True)
    A, B, C, D, gain = search.matrices(search.begin(system.A, system.B, system.C, system.D, K))
    assert np.allclose(D, system.D)
    for k in range(4):
        there, here = np.linalg.matrix_power(A, k), np.linalg.matrix_power(system.A, k)
        assert np.allclose(C @ there @ np.hstack([B, gain]), system.C @ here @ np.hstack([system.B, K]), atol=1e-8)


def test_coinciding_poles_are_separated_with_a_note():
    model, changes = parametrisation.modal_model(
        np.eye(2, k=1), np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1)), np.array([False]), 1
    )
    assert len(changes) == 1 and "separated" in changes[0]
    assert np.isfinite(model.poles).all()


# ---- likelihood, gradient, information: against plain simulation and differences


@pytest.mark.parametrize("full", [False, True])
def test_the_gradient_is_that_of_the_likelihood(full):
    system, u, y = two_tests(0.1)
    search = LikelihoodSearch(u, y, full=full, start=True)
    point = search.evaluate_start(modal(rough(system), 2))
    free, S, gradient = search.find_derivatives(point)
    step, slope = 1e-6 / np.sqrt(np.diag(S)), []
    for i in range(len(gradient)):
        at = np.zeros(len(gradient))
        at[i] = step[i]
        ends = [search.evaluate(search.take_step(point, free, sign * at)).value for sign in (1.0, -1.0)]
        slope.append((ends[1] - ends[0]) / (2.0 * step[i]))
    scale = np.sqrt(np.diag(S))
    # differences of V (about 1e3) over 2e-6 deviations lose 1e-13·1e3/1e-6
    assert np.abs((np.array(slope) - gradient) / scale).max() < 1e-3


def test_the_residual_is_what_simulation_leaves():
    system, u, y = two_tests(0.1)
    search = LikelihoodSearch(u, y, full=True, start=True)
    point = search.evaluate_start(modal(rough(system), 2))
    A, B, C, D = parametrisation.state_space(point.model)
    found = StateSpace(A, B, C, D, DT)
    total = np.zeros((3, 3))
    for s, (us, ys) in enumerate(zip(u, y, strict=True)):
        z = point.model.weights[:, 2 + s]
        start = np.stack([z.real, -z.imag], axis=1).ravel()[point.model.linear_mask()]
        e = ys - outputs(found, us, start)
        total += e.T @ e
    assert np.abs(total - point.score.residual).max() < 1e-10 * np.abs(total).max()


def test_the_covariance_of_the_modes_is_that_of_the_whole_information_matrix():
    """Independent formulation: all of A, B, C, D, starts by differences of simulations, pseudo-inverse of JᵀR⁻¹J."""
    system, u, y = two_tests(0.1)
    R = np.array([[0.01, 0.002, 0.0], [0.002, 0.02, 0.003], [0.0, 0.003, 0.015]])
    search = LikelihoodSearch(u, y, full=True, start=True)
    point = search.evaluate_start(modal(system, 2))
    free = search.find_derivatives(point)[0]
    poles, found = uncertainty.modal_covariance(point, free, R, DT)
    model = point.model

    def simulated(p: np.ndarray) -> np.ndarray:
        J, W = len(model.poles), model.weights.size
        parts = np.split(p, np.cumsum([J, J, W, W, model.C.size, model.C.size]))
        moved = replace(
            model, poles=parts[0] + 1j * parts[1], weights=(parts[2] + 1j * parts[3]).reshape(model.weights.shape),
            C=(parts[4] + 1j * parts[5]).reshape(model.C.shape), D=np.column_stack([parts[6], np.zeros(3)]),
        )  # fmt: skip
        runs, lam = [], moved.multipliers()
        for s, us in enumerate(u):
            z, path = moved.weights[:, 2 + s], []
            for row in us:
                path.append((moved.C @ z).real + moved.D @ row)
                z = lam * z + moved.weights[:, :2] @ row
            runs.append(np.array(path))
        return np.vstack(runs)

    W, C = model.weights.ravel(), model.C.ravel()
    at = np.concatenate([model.poles.real, model.poles.imag, W.real, W.imag, C.real, C.imag, model.D[:, 0]])
    imaginary = np.concatenate([
        np.zeros(4, bool), model.real, np.zeros(W.size, bool), np.repeat(model.real, model.weights.shape[1]),
        np.zeros(C.size, bool), np.tile(model.real, 3), np.zeros(3, bool),
    ])  # fmt: skip
    used = np.flatnonzero(~imaginary)
    columns = []
    for i in used:
        h = np.zeros(len(at))
        h[i] = 1e-5
        columns.append((simulated(at + h) - simulated(at - h)) / 2e-5)
    J = np.array(columns)
    H = np.einsum("ita,ab,jtb->ij", J, np.linalg.inv(R), J, optimize=True)
    whole = np.linalg.pinv(H, rcond=1e-10, hermitian=True)
    waves = [int(np.argmin(np.abs(model.poles / DT - s))) for s in poles]
    rows = [list(used).index(k) for j in waves for k in (j, 4 + j)]
    slopes = uncertainty.modal_derivatives(poles) / DT
    expected = slopes @ whole[np.ix_(rows, rows)] @ slopes.T
    assert np.abs(found / expected - 1.0).max() < 1e-4


def prediction_point(seed: int = 2) -> tuple[PredictionSearch, PredictorPoint]:
    """Data of two records, and a model near the best one."""
    system, u, y = two_tests(0.1)
    K = 0.02 * np.random.default_rng(seed).standard_normal((6, 3))
    search = PredictionSearch(u, y, np.any(system.D != 0.0, axis=0), start=True)
    return search, search.begin(system.A, system.B, system.C, system.D, K)


def test_derivatives_of_the_likelihood_of_prediction_errors_are_exact():
    search, point = prediction_point()
    Q = search.directions(point)
    _, g = search.derivatives(point, Q)
    h = 1e-6
    for i in range(0, Q.shape[1], 7):
        step = h * Q[:, i].reshape(point.M.shape)
        ends = [search.evaluate(point.M + sign * step, point.starts).value for sign in (1.0, -1.0)]
        assert (ends[1] - ends[0]) / (2 * h) == pytest.approx(g[i], rel=1e-4, abs=1e-4 * np.abs(g).max())


def test_a_change_of_basis_moves_no_prediction_and_no_search_goes_along_it():
    search, point = prediction_point()
    n, rng = 6, np.random.default_rng(1)
    T = np.eye(n) + 1e-3 * rng.standard_normal((n, n))
    M, back = point.M.copy(), np.linalg.inv(T)
    M[:n] = T @ M[:n]
    M[:, :n] = M[:, :n] @ back
    assert search.evaluate(M, point.starts @ T.T).value == pytest.approx(point.value, rel=1e-12)
    Q = search.directions(point)
    assert np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < 1e-12
    assert np.abs(Q.T @ (M - point.M).ravel()).max() < 1e-2 * np.abs(M - point.M).max()  # second order in T


def test_the_standard_deviations_of_an_innovation_model_do_not_depend_on_its_basis():
    search, point = prediction_point()
    A, B, C, D, K = search.matrices(point)
    T = np.random.default_rng(5).standard_normal((6, 6))
    other = search.begin(T @ A @ np.linalg.inv(T), T @ B, C @ np.linalg.inv(T), D, T @ K)
    (poles, first), (again, second) = (search.modal_covariance(one, DT) for one in (point, other))
    assert np.allclose(poles, again, rtol=1e-8)
    assert np.allclose(np.diag(first), np.diag(second), rtol=1e-3)


def test_blocks_of_samples_add_up_to_the_same(monkeypatch):
    system, u, y = two_tests(0.1)
    model = modal(rough(system), 2)
    whole = likelihood.products_from_samples(model, u, y)
    monkeypatch.setattr(likelihood, "_multiply_samples", partial(likelihood._multiply_samples, block_size=1))
    monkeypatch.setattr(likelihood, "LEAST_LENGTH", 37)
    parts = likelihood.products_from_samples(model, u, y)
    for name in ("zz", "zu", "uu", "ze", "ue", "ee"):
        a, b = getattr(whole, name), getattr(parts, name)
        assert np.abs(a - b).max() < 1e-12 * np.abs(a).max()


# ---- refine


def test_noise_free_data_give_the_poles_back():
    system, u, y = two_tests(0.0)
    found = identify.refine(rough(system), [record(system, *part) for part in zip(u, y, strict=True)])
    true = np.linalg.eigvals(system.A)
    assert np.abs(matched(np.linalg.eigvals(found.system.A), true) - true).max() < 1e-10
    assert np.abs(found.system.markov(20) - system.markov(20)).max() < 1e-9


def test_a_column_of_d_that_is_zero_stays_zero():
    system, u, y = two_tests(0.05)
    found = identify.refine(rough(system), [record(system, *part) for part in zip(u, y, strict=True)])
    assert np.all(found.system.D[:, 1] == 0.0) and np.all(found.system.D[:, 0] != 0.0)


def test_the_result_is_never_less_likely_than_the_start_and_says_how_it_went():
    system, u, y = two_tests(0.1)
    found = identify.refine(rough(system), [record(system, *part) for part in zip(u, y, strict=True)])
    assert found.provenance["cost after"] <= found.provenance["cost before"]
    assert found.provenance["converged"] is True
    assert "converged" in found.notes[-1] and found.method.endswith("refined")
    again = identify.refine(found, [record(system, *part) for part in zip(u, y, strict=True)])
    assert again.method == found.method  # the word is not repeated
    assert again.provenance["iterations"] <= 2
    assert np.abs((again.frequencies_hz - found.frequencies_hz) / found.frequency_deviations_hz).max() < 0.01


def test_two_starts_end_at_one_summit():
    system, u, y = two_tests(0.1)
    records = [record(system, *part) for part in zip(u, y, strict=True)]
    ends = [identify.refine(rough(system, 0.02, seed), records) for seed in (1, 2)]
    assert np.abs((ends[0].damping_ratios - ends[1].damping_ratios) / ends[0].damping_deviations).max() < 0.01
    assert np.allclose(ends[0].innovation, ends[1].innovation, rtol=1e-6)


def test_an_unstable_start_ends_in_a_stable_model():
    rng = np.random.default_rng(0)
    system = StateSpace([[0.98, 0.15], [-0.15, 0.98]], [1.0, 0.0], [1.0, 0.0], dt=DT)
    u = rng.standard_normal((2000, 1))
    y = outputs(system, u) + 0.05 * rng.standard_normal((2000, 1))
    start = system.replace(A=system.A * 1.01)
    found = identify.refine(start, record(system, u, y))
    assert found.system.is_stable and "inside the unit circle" in found.notes[-2]
    assert abs(found.frequencies_hz[0] - system.modes().frequencies_hz[0]) < 4 * found.frequency_deviations_hz[0]


def test_free_decays_without_inputs_are_refined_too():
    rng = np.random.default_rng(0)
    system = StateSpace([[0.98, 0.15], [-0.15, 0.98]], C=[[1.0, 0.0], [0.3, 1.0]], dt=DT)
    runs = [outputs(system, np.zeros((300, 0)), start) for start in np.eye(2)]
    noisy = [record(system, np.zeros((300, 0)), y + 0.01 * rng.standard_normal(y.shape)) for y in runs]
    found = identify.refine(system.replace(A=system.A * 0.995), noisy)
    z = (found.damping_ratios - system.modes().damping_ratios) / found.damping_deviations
    assert abs(z[0]) < 4 and found.damping_deviations[0] < 0.01 * found.damping_ratios[0]


def test_a_start_known_to_be_zero_leaves_less_to_estimate():
    rng = np.random.default_rng(0)
    system = StateSpace([[0.98, 0.15], [-0.15, 0.98]], [1.0, 0.0], [1.0, 0.0], dt=DT)
    u = rng.standard_normal((300, 1))
    test = record(system, u, outputs(system, u) + 0.05 * rng.standard_normal((300, 1)))
    free, known = identify.refine(system, test), identify.refine(system, test, start="zero")
    assert known.damping_deviations[0] < free.damping_deviations[0]


def test_delays_and_offsets_of_the_start_are_kept():
    rng = np.random.default_rng(0)
    system = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.0], dt=DT, inputs="push", outputs="sway")
    u = rng.standard_normal((1003, 1))
    y = 7.0 + outputs(system, u)[:-3] + 0.01 * rng.standard_normal((1000, 1))
    start = Identified(rough(system), method="given", delays={"push": 3}, offsets={"sway": 7.0})
    found = identify.refine(start, record(system, u[3:], y))
    assert found.delays == {"push": 3} and found.offsets == {"sway": 7.0}
    assert np.abs(found.frequencies_hz / system.modes().frequencies_hz - 1.0).max() < 1e-3
    assert np.sqrt(found.innovation[0, 0]) < 0.02


def test_data_read_before_serve_as_well_as_records():
    system, u, y = two_tests(0.1)
    records = [record(system, *part) for part in zip(u, y, strict=True)]
    data = identify.read_data(records, system.inputs, system.outputs)
    start = Identified(rough(system), method="given")
    a, b = identify.refine(start, records), identify.refine(start, data)
    assert np.allclose(a.frequencies_hz, b.frequencies_hz, rtol=1e-12)


def test_a_model_without_oscillation_is_refined_and_has_no_deviations():
    rng = np.random.default_rng(0)
    system = StateSpace([[0.9]], [1.0], [1.0], dt=DT)
    u = rng.standard_normal((500, 1))
    found = identify.refine(system.replace(A=[[0.8]]), record(system, u, outputs(system, u)))
    assert abs(found.system.A[0, 0] - 0.9) < 1e-10 and found.frequency_deviations_hz is None


def test_noise_that_drives_the_system_is_told_by_the_innovation_model():
    rng = np.random.default_rng(0)
    system = StateSpace([[0.97, 0.2], [-0.2, 0.97]], [1.0, 0.0], [[1.0, 0.0], [0.5, 1.0]], dt=DT)
    K, R = np.array([[0.5, 0.1], [-0.2, 0.4]]), np.array([[0.04, 0.01], [0.01, 0.09]])
    e, u = rng.multivariate_normal(np.zeros(2), R, 4000), rng.standard_normal((4000, 1))
    x = march(system.A, (u @ system.B.T + e @ K.T)[:-1], np.zeros(2))
    y = x @ system.C.T + e
    found = identify.refine(rough(system), record(system, u, y), noise="innovations")
    assert np.abs(np.linalg.eigvals(found.system.A - found.gain @ found.system.C)).max() < 1.0
    # K is told in the coordinates of the found model: what it makes of the outputs is not a matter of coordinates
    pulse = lambda C, A, G: np.array([C @ np.linalg.matrix_power(A, i) @ G for i in range(5)])  # noqa: E731
    seen = pulse(found.system.C, found.system.A, found.gain)
    assert np.abs(seen - pulse(system.C, system.A, K)).max() < 0.1
    assert np.abs(found.innovation / R - 1.0).max() < 0.3
    assert np.abs((found.frequencies_hz - system.modes().frequencies_hz) / found.frequency_deviations_hz).max() < 4
    plain = identify.refine(rough(system), record(system, u, y))
    better = np.linalg.slogdet(found.innovation)[1] < np.linalg.slogdet(plain.innovation)[1]
    assert better


def test_regression_begins_nearer_to_the_maximum_than_a_rough_model_and_the_end_is_one():
    system, rng = system_with_everything(), np.random.default_rng(8)
    K, u, e = 0.1 * rng.standard_normal((6, 3)), rng.standard_normal((2000, 2)), 0.1 * rng.standard_normal((2000, 3))
    x = march(system.A, (u @ system.B.T + e @ K.T)[:-1], np.zeros(6))
    y = x @ system.C.T + u @ system.D.T + e
    search = PredictionSearch((u,), (y,), np.any(system.D != 0.0, axis=0), start=True)
    true, coarse = (search.begin(s.A, s.B, s.C, s.D, k) for s, k in ((system, K), (rough(system, 0.05), 0.0 * K)))
    regressed = search.regress(6, 12)
    assert regressed is not None and regressed.value < coarse.value
    first, second = search.maximise(true, 100), search.maximise(regressed, 100)
    assert first.converged and second.converged
    assert abs(first.point.value - second.point.value) < 1e-3  # of a log-likelihood
    assert search.regress(6, 300) is None  # more unknowns than data


def test_a_deadbeat_predictor_can_be_refined():
    rng = np.random.default_rng(0)
    system = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.0], dt=DT)
    # K that puts both poles of A - K C at zero
    seen = np.vstack([system.C, system.C @ system.A])
    K = np.linalg.matrix_power(system.A, 2) @ np.linalg.solve(seen, np.array([[0.0], [1.0]]))
    u = rng.standard_normal((1000, 1))
    test = record(system, u, outputs(system, u) + 0.05 * rng.standard_normal((1000, 1)))
    found = identify.refine(Identified(system, method="given", gain=K), test, noise="innovations")
    assert found.provenance["cost after"] < found.provenance["cost before"]
    plain = identify.refine(system, test)
    # the larger model class can only be more likely, here by about half of its ny·nx = 2 parameters more
    assert found.provenance["cost after"] < plain.provenance["cost after"] + 1e-6
    assert found.provenance["cost after"] > plain.provenance["cost after"] - 8.0


def test_data_of_another_sample_time_are_refused():
    system, u, y = two_tests(0.1)
    data = identify.read_data(record(system, u[0], y[0]), system.inputs, system.outputs).replace(dt=0.2)
    with raises(DataError, "sample-time-mismatch", "0.2 s"):
        identify.refine(Identified(system, method="given"), data)


def test_iterations_that_do_not_suffice_are_warned_of():
    system, u, y = two_tests(0.001)
    with warns(identify.IdentificationWarning, "no-convergence", "iterations="):
        identify.refine(rough(system, 0.05), record(system, u[0], y[0]), iterations=1)


# ---- bounds and deviations


def frame() -> StateSpace:
    return SecondOrder(np.eye(2), [[30.0, -10.0], [-10.0, 10.0]], C=0.05 * np.eye(2), B=[1.0, 0.0]).state_space()


def test_the_bound_scales_with_the_noise_and_with_the_number_of_tests():
    u = np.random.default_rng(0).standard_normal((500, 1))
    once = identify.cramer_rao(frame(), u, 0.01, dt=DT)
    loud, twice = identify.cramer_rao(frame(), u, 0.02, dt=DT), identify.cramer_rao(frame(), [u, u], 0.01, dt=DT)
    assert np.allclose(loud.damping_deviations, 2.0 * once.damping_deviations, rtol=1e-9)
    assert np.allclose(twice.covariance, 0.5 * once.covariance, rtol=1e-9)
    assert "Cramér-Rao" in repr(once)


def test_the_bound_takes_records_second_order_systems_and_covariances():
    u = np.random.default_rng(0).standard_normal((500, 1))
    second = SecondOrder(np.eye(2), [[30.0, -10.0], [-10.0, 10.0]], C=0.05 * np.eye(2), B=[1.0, 0.0])
    test = Record(DT * np.arange(500), u, second.inputs)
    a = identify.cramer_rao(second, test, 0.01)
    b = identify.cramer_rao(frame().to_discrete(DT), u, np.diag([1e-4, 1e-4]))
    assert np.allclose(a.frequency_deviations_hz, b.frequency_deviations_hz, rtol=1e-8)


@pytest.mark.parametrize("noise, code", [
    (0.0, "not-positive-definite"), ([0.1, 0.1, 0.1], "wrong-shape"),
    ([[1.0, 2.0], [2.0, 1.0]], "not-positive-definite"),
])  # fmt: skip
def test_the_bound_refuses_noise_that_is_none(noise, code):
    with raises(DataError, code):
        identify.cramer_rao(frame(), np.ones((100, 1)), noise, dt=DT)


def test_deviations_of_a_refined_model_are_those_of_the_bound():
    rng = np.random.default_rng(0)
    system = frame().to_discrete(DT)
    u = rng.standard_normal((3000, 1))
    y = outputs(system, u)
    test = record(system, u, y + 0.01 * rng.standard_normal(y.shape))
    found = identify.refine(system, test)
    bound = identify.cramer_rao(system, u, 0.01)
    assert np.abs(found.damping_deviations / bound.damping_deviations - 1.0).max() < 0.1
    again = identify.deviations(found, test)
    assert np.allclose(again.damping_deviations, found.damping_deviations, rtol=1e-3)


def pushed(seed: int, unseen: float, count: int = 4000) -> tuple[StateSpace, Record]:
    """A record of a frame that is also driven by forces nobody measured."""
    rng = np.random.default_rng(seed)
    system = frame().to_discrete(DT)
    u = rng.standard_normal((count, 1))
    x = march(system.A, (u @ system.B.T + unseen * rng.standard_normal((count, 4)))[:-1], np.zeros(4))
    y = x @ system.C.T + u @ system.D.T
    return system, record(system, u, y + 0.01 * rng.standard_normal(y.shape))


def test_unmeasured_forces_are_told_from_the_residuals_and_deviations_grow_accordingly():
    z = []
    for seed in range(10):
        system, test = pushed(seed, 0.001, 40_000)
        found = identify.refine(system, test)
        assert found.deviation_method == "residuals" and "far from white" in found.notes[-1]
        z.append((found.frequencies_hz - system.modes().frequencies_hz) / found.frequency_deviations_hz)
    # the rms of 20 unit normals, 1 ± 0.16; white-noise deviations would be several times too small
    assert np.abs(np.sqrt(np.mean(np.square(z))) - 1.0) < 4.0 * 0.16


def test_innovations_serve_where_forces_are_not_measured():
    z = []
    for seed in range(5):
        system, test = pushed(seed, 0.02)
        found = identify.refine(system, test, noise="innovations")
        z.append((found.frequencies_hz - system.modes().frequencies_hz) / found.frequency_deviations_hz)
        z.append((found.damping_ratios - system.modes().damping_ratios) / found.damping_deviations)
    # the rms of 20 unit normals, 1 ± 0.16
    assert np.abs(np.sqrt(np.mean(np.square(z))) - 1.0) < 4.0 * 0.16


def test_poles_driven_to_the_border_of_stability_are_warned_of():
    system, test = pushed(2, 0.02)
    with warns(identify.IdentificationWarning, "poles-at-stability-limit"):
        assert identify.refine(system, test).system.is_stable


def test_white_residuals_leave_the_deviations_to_the_information():
    for seed in range(5):
        system, test = pushed(seed, 0.0)
        assert identify.refine(system, test).deviation_method == "fisher"


@pytest.mark.parametrize("largest", [256, 13])
def test_what_batches_add_to_the_gradient_is_the_gradient(largest, monkeypatch):
    system, u, y = two_tests(0.1)
    search = LikelihoodSearch(u, y, full=False, start=True)
    point = search.evaluate_start(modal(rough(system), 2))
    free, _, gradient = search.find_derivatives(point)
    precision = np.diag(1.0 / np.diag(point.noise))
    monkeypatch.setattr(
        robust, "batch_products", partial(robust.batch_products, block_length=largest)
    )  # batches of several blocks
    rows = robust.batch_gradients(search, point, free, precision, 50 if largest > 50 else 40)
    assert len(rows) in (10, 13) and np.allclose(rows.sum(axis=0), gradient, atol=1e-8 * np.abs(rows).max())


def test_intervals_are_as_wide_as_their_level_says():
    rng = np.random.default_rng(0)
    system = frame().to_discrete(DT)
    u = rng.standard_normal((600, 1))
    y = outputs(system, u)
    found = identify.refine(system, record(system, u, y + 0.01 * rng.standard_normal(y.shape)))
    f, z = identify.intervals(found, 0.95)
    assert np.allclose(f[:, 1] - f[:, 0], 2 * 1.959964 * found.frequency_deviations_hz, rtol=1e-6)
    assert np.allclose(z.mean(axis=1), found.damping_ratios)
    with raises(DataError, "out-of-range", "level"):
        identify.intervals(found, 95)
    with raises(DataError, "missing-argument", "da.identify.refine"):
        identify.intervals(Identified(system, method="given"))


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_poles_are_separated_where_their_vectors_are_nearly_dependent(factor):
    """Poles a and a + δ of [[a, 1], [0, a + δ]]: the vectors have condition number 2/δ."""
    apart = 2.0 / (factor * 1e7)
    A = np.array([[0.5, 1.0], [0.0, 0.5 + apart]])
    changes = parametrisation.modal_model(A, np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1)), np.array([False]), 1)[
        1
    ]
    assert bool(changes) == (factor > 1.0)
