"""Structured fits: unknown numbers in M, C, K from records."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg

from dalembert import identify
from dalembert.core.errors import DataError
from dalembert.identify import IdentificationWarning, StructuredModel, Unknown, refine_structured
from dalembert.identify.structured.model import BuiltModel, discretize
from dalembert.identify.structured.refine_structured import (
    _find_undetermined,
    _step,
)
from dalembert.identify.structured.structured_likelihood import StructuredLikelihood, StructuredPoint, Windows
from dalembert.linear import SecondOrder
from dalembert.record import Record
from tests.helpers.findings import found_in, raises, warns

DT = 0.05
WALL, BETWEEN = np.diag([1.0, 0.0]), np.array([[1.0, -1.0], [-1.0, 1.0]])
TRUE = {"k1": 120.0, "k2": 60.0, "c1": 0.4, "c2": 0.3}


def two_masses(**first: float) -> StructuredModel:
    """Known masses on unknown springs and dampers: wall - k1, c1 - m1 - k2, c2 - m2; force on m1, accelerations."""
    known = SecondOrder(
        np.diag([1.0, 2.0]), np.zeros((2, 2)), B=[1.0, 0.0], Y_acceleration=np.eye(2), inputs=["force"],
        outputs=["a1", "a2"],
    )  # fmt: skip
    value = TRUE | first
    return StructuredModel(known, [
        Unknown("k1", value["k1"], K=WALL), Unknown("k2", value["k2"], K=BETWEEN),
        Unknown("c1", value["c1"], C=WALL), Unknown("c2", value["c2"], C=BETWEEN),
    ])  # fmt: skip


def measured(system: SecondOrder, count: int = 1000, noise: float = 0.0, seed: int = 0, hold: str = "zero") -> Record:
    rng = np.random.default_rng(seed)
    t, force = DT * np.arange(count), rng.standard_normal(count)
    run = system.response(Record.from_channels(t, {"force": force}), hold=hold)
    y = run[list(system.outputs)]
    y = y + noise * y.std(axis=0) * rng.standard_normal(y.shape)
    return Record(t, np.column_stack([force, y]), ["force", *system.outputs])


# ---- the model


def test_the_model_is_affine_in_its_unknowns_and_named():
    system = two_masses().system({"k1": 100.0})
    assert system.K.tolist() == [[160.0, -60.0], [-60.0, 60.0]]
    with raises(DataError, "unknown-name", "'k1'"):
        two_masses().system({"k11": 1.0})


def test_derivatives_of_the_sampled_matrices_are_exact():
    known = SecondOrder(
        np.diag([1.0, 2.0]), np.zeros((2, 2)), B=np.zeros((2, 1)), Y_acceleration=np.eye(2), Y_position=np.eye(2)
    )
    model = StructuredModel(known, [
        Unknown("m", 1.5, M=np.diag([0.0, 1.0])), Unknown("k", 80.0, K=BETWEEN + WALL),
        Unknown("c", 0.5, C=WALL), Unknown("b", 2.0, B=[[1.0], [0.5]]),
    ])  # fmt: skip
    here = discretize(model.continuous(model.values), DT, "first")
    for i in range(4):
        h = np.zeros(4)
        h[i] = 1e-5 * model.values[i]
        ahead, behind = (discretize(model.continuous(model.values + s * h), DT, "first") for s in (1.0, -1.0))
        for name in ("phi", "gamma", "delta", "C", "D"):
            slope = (getattr(ahead, name) - getattr(behind, name)) / (2.0 * h[i])
            exact = getattr(here, "d" + name)[i]
            assert np.abs(slope - exact).max() < 1e-7 * max(1.0, np.abs(exact).max())


def test_the_sampled_model_is_that_of_the_linear_world():
    model = two_masses()
    here = discretize(model.continuous(model.values), DT, "zero")
    there = model.system().state_space().to_discrete(DT)
    assert np.allclose(here.phi, there.A, atol=1e-13) and np.allclose(here.gamma, there.B, atol=1e-13)
    assert np.allclose(here.C, there.C, atol=1e-10) and np.allclose(here.D, there.D, atol=1e-13)


def test_entries_of_matrices_become_unknowns_of_their_own():
    truth = two_masses().system()
    model = StructuredModel.entries(truth, ("K",))
    assert model.names == ("K[x1, x1]", "K[x1, x2]", "K[x2, x2]")
    assert np.allclose(model.system().K, truth.K) and np.allclose(model.system().C, truth.C)
    masked = StructuredModel.entries(truth, ("K",), masks={"K": np.eye(2, dtype=bool)})
    assert masked.names == ("K[x1, x1]", "K[x2, x2]") and np.allclose(masked.system().K, truth.K)


@pytest.mark.parametrize("estimate", [True, False])
def test_the_gradient_is_that_of_the_likelihood(estimate):
    model = two_masses()
    test = measured(model.system(), 400, 0.05)
    ascent = StructuredLikelihood((test.data[:, :1],), (test.data[:, 1:],), estimate=estimate)
    theta = model.values * [1.01, 0.99, 1.1, 0.9]

    def look(at):
        return ascent.evaluate(discretize(model.continuous(at), DT, "zero"), at)

    place = look(theta)
    for i in range(4):
        h = np.zeros(4)
        h[i] = 1e-5 * theta[i]
        slope = (look(theta - h).value - look(theta + h).value) / (2.0 * h[i])
        assert abs(slope - place.gradient[i]) < 1e-3 * np.sqrt(place.information[i, i])


def test_one_window_as_long_as_the_record_says_what_the_record_says():
    model = two_masses()
    test = measured(model.system(), 301, 0.05)
    u, y = test.data[:, :1], test.data[:, 1:]
    system = discretize(model.continuous(1.01 * model.values), DT, "zero")
    long = StructuredLikelihood((u[:300],), (y[:300],), estimate=True)
    a = long.evaluate(system, 1.01 * model.values)
    b = Windows(u[None], y[None, :300]).evaluate(system, 1.01 * model.values)
    assert a.value == pytest.approx(b.value, rel=1e-10)
    assert np.allclose(a.information, b.information, rtol=1e-8) and np.allclose(a.gradient, b.gradient, rtol=1e-6)


# ---- the fit


def test_noise_free_data_give_the_unknowns_back_from_a_start_far_off():
    fit = refine_structured(two_masses(k1=85.0, k2=80.0, c1=1.0, c2=0.1), None, measured(two_masses().system()))
    assert fit.converged
    assert np.allclose(list(fit.parameters.values()), list(TRUE.values()), rtol=1e-8)


def test_linear_inputs_between_samples_are_understood():
    test = measured(two_masses().system(), hold="first")
    fit = refine_structured(two_masses(k1=110.0), None, test, hold="first")
    assert np.allclose(list(fit.parameters.values()), list(TRUE.values()), rtol=1e-8)


def test_a_function_serves_as_well_as_matrices():
    test = measured(two_masses().system(), 500, 0.02)
    model = two_masses()
    exact = refine_structured(model, {"k1": 110.0}, test)
    built = refine_structured(lambda theta: model.system(theta), {**TRUE, "k1": 110.0}, test)
    for name in TRUE:
        assert abs(built.parameters[name] - exact.parameters[name]) < 1e-3 * exact.deviations[name]
        assert built.deviations[name] == pytest.approx(exact.deviations[name], rel=1e-3)


def test_differences_of_a_function_agree_with_exact_derivatives():
    model = two_masses()
    exact, built = model.continuous(model.values), BuiltModel(model.system, model.values, model.names)
    found = built.continuous(model.values)
    assert np.allclose(found.dA, exact.dA, atol=1e-8) and np.allclose(found.dC, exact.dC, atol=1e-8)


def test_deviations_hold_what_they_promise():
    model = two_masses()
    z = []
    for seed in range(16):
        fit = refine_structured(model, None, measured(model.system(), 400, 0.05, seed))
        z.append([(fit.parameters[name] - value) / fit.deviations[name] for name, value in TRUE.items()])
    # the rms of 16 normal numbers lies within 1 ± 4/sqrt(32)
    assert np.abs(np.sqrt(np.mean(np.square(z), axis=0)) - 1.0).max() < 4.0 / np.sqrt(32.0)


def test_several_records_with_starts_of_their_own_are_one_fit():
    truth = two_masses().system()
    runs = []
    for seed in range(3):
        test = measured(truth, 600, 0.02, seed)
        runs.append(Record(test.time[200:], test.data[200:], test.names))  # starts in motion
    one, all_ = refine_structured(two_masses(), None, runs[0]), refine_structured(two_masses(), None, runs)
    for name in TRUE:
        assert abs(all_.parameters[name] - TRUE[name]) < 5.0 * all_.deviations[name]
        assert all_.deviations[name] == pytest.approx(one.deviations[name] / np.sqrt(3.0), rel=0.35)


def test_the_fit_holds_a_sampled_model_with_deviations_of_its_modes():
    fit = refine_structured(two_masses(), None, measured(two_masses().system(), 600, 0.02))
    true = two_masses().system().modes()
    found = fit.identified
    assert np.abs((found.frequencies_hz - true.frequencies_hz) / found.frequency_deviations_hz).max() < 5.0
    # structure is knowledge: fewer unknowns, smaller deviations than the unstructured model
    plain = identify.refine(found.system, measured(two_masses().system(), 600, 0.02))
    assert np.all(found.frequency_deviations_hz < plain.frequency_deviations_hz)
    assert "k1" in fit.table() and "converged" in repr(fit)


# ---- what the data cannot tell


def test_free_decays_cannot_tell_the_scale_of_the_matrices():
    truth = SecondOrder(np.diag([1.0, 2.0]), [[180.0, -60.0], [-60.0, 60.0]], C=0.01 * np.array([[70, -30], [-30, 30]]))
    run = truth.free_response([0.01, 0.0, 0.0, 0.1], DT * np.arange(400))
    model = StructuredModel.entries(truth, ("M", "C", "K"))
    with warns(IdentificationWarning, "undetermined-parameters", "'M[x1, x1]'", "1 : 1 : 1"):
        fit = refine_structured(model, None, Record(run.time, run[list(truth.outputs)], truth.outputs))
    assert all(np.isinf(list(fit.deviations.values()))) and len(fit.undetermined) == 1


def test_springs_in_parallel_are_named_as_what_cannot_be_told_apart():
    known = two_masses().known
    model = StructuredModel(known, [
        Unknown("left", 70.0, K=WALL), Unknown("right", 50.0, K=WALL), Unknown("k2", 60.0, K=BETWEEN),
        Unknown("c1", 0.4, C=WALL), Unknown("c2", 0.3, C=BETWEEN),
    ])  # fmt: skip
    with warns(IdentificationWarning, "undetermined-parameters", "'left', 'right'", "ratio"):
        fit = refine_structured(model, None, measured(two_masses().system(), 500, 0.02))
    assert np.isinf(fit.deviations["left"]) and np.isinf(fit.deviations["right"])
    assert np.isfinite(fit.deviations["k2"])
    assert fit.parameters["left"] + fit.parameters["right"] == pytest.approx(120.0, rel=5e-3)


def test_an_unknown_that_moves_no_output_is_named():
    known = SecondOrder(
        np.eye(2), np.zeros((2, 2)), B=[1.0, 0.0], Y_position=[1.0, 0.0], inputs=["force"], outputs=["x1"]
    )
    model = StructuredModel(
        known, [Unknown("k1", 100.0, K=WALL), Unknown("c1", 0.5, C=WALL), Unknown("apart", 50.0, K=np.diag([0.0, 1.0]))]
    )
    with warns(IdentificationWarning, "undetermined-parameters") as caught:
        fit = refine_structured(model, None, measured(model.system(), 400, 0.02), start="zero")
    (one,) = found_in(caught, "undetermined-parameters")
    assert one.where["parameters"] == ("apart",)
    assert np.isinf(fit.deviations["apart"]) and np.isfinite(fit.deviations["k1"])


# ---- borders


def test_wrong_models_are_refused():
    known = two_masses().known
    with raises(DataError, "no-effect", "'k'", "K="):
        StructuredModel(known, [Unknown("k", 1.0)])
    with raises(DataError, "taken-name", "k"):
        StructuredModel(known, [Unknown("k", 1.0, K=WALL), Unknown("k", 1.0, C=WALL)])
    with raises(DataError, "wrong-shape", "K of unknown 'k'"):
        StructuredModel(known, [Unknown("k", 1.0, K=np.eye(3))])
    with raises(DataError, "empty"):
        StructuredModel(known, [])
    with raises(DataError, "not-symmetric", "mask of K"):
        StructuredModel.entries(two_masses().system(), ("K",), masks={"K": np.array([[1, 1], [0, 1]])})


def test_wrong_calls_are_refused():
    test = measured(two_masses().system(), 200)
    with raises(DataError, "unknown-choice", "hold"):
        refine_structured(two_masses(), None, test, hold="cubic")
    with raises(DataError, "missing-argument", "theta0"):
        refine_structured(lambda theta: two_masses().system(theta), None, test)
    with raises(DataError, "wrong-shape", "4 unknowns"):
        refine_structured(two_masses(), [1.0, 2.0], test)
    with raises(DataError, "wrong-type", "StructuredModel"):
        refine_structured("k", None, test)


def test_a_defective_system_is_no_obstacle():
    """A free mass has a double pole at zero without independent shapes."""
    known = SecondOrder([[0.0]], [[0.0]], B=[1.0], inputs=["force"], outputs=["x1"], Y_position=[1.0])
    model = StructuredModel(known, [Unknown("m", 2.5, M=[[1.0]])])
    truth = SecondOrder([[2.0]], [[0.0]], B=[1.0], inputs=["force"], outputs=["x1"], Y_position=[1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # a free mass wanders off: its record looks offset
        fit = refine_structured(model, None, measured(truth, 300))
    assert fit.parameters["m"] == pytest.approx(2.0, rel=1e-8)
    assert scipy.linalg.norm(fit.system.M - 2.0) < 1e-7


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_an_eigenvalue_of_the_information_counts_as_zero_below_its_threshold(factor: float) -> None:
    """Unit diagonal and correlation 1 - ε: eigenvalues 2 - ε and ε."""
    small = factor * 1e-11
    information = np.array([[1.0, 1.0 - small], [1.0 - small, 1.0]])
    nothing = np.zeros((1, 0))
    point = StructuredPoint(
        np.ones(2), nothing, 0.0, np.ones(1), information, np.array([1.0, -1.0]), np.zeros((1, 0, 2))
    )
    step = _step(point, 0.0).change
    assert (np.abs(step).max() > 1.0) == (factor > 1.0)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_an_unknown_belongs_to_an_undetermined_combination_above_a_share(factor: float) -> None:
    nothing = np.zeros((1, 0))
    point = StructuredPoint(np.ones(2), nothing, 0.0, np.ones(1), np.eye(2), np.zeros(2), np.zeros((1, 0, 2)))
    null = np.array([[1.0], [factor * 0.001]])
    findings, lost = _find_undetermined(point, null, np.ones(2), ["k", "c"])
    assert findings[0].where["parameters"] == (("k", "c") if factor > 1.0 else ("k",))
    assert lost.tolist() == [True, factor > 1.0]


def test_a_wrong_form_of_damping_is_warned_of_by_its_residuals() -> None:
    """A damper between the masses that the model does not have: 20 % of critical beside light damping."""
    truth = two_masses().system({"c1": 0.1, "c2": 8.0})
    test = measured(truth, count=4000, noise=0.01)
    known = SecondOrder(
        np.diag([1.0, 2.0]), np.zeros((2, 2)), B=[1.0, 0.0], Y_acceleration=np.eye(2), inputs=["force"],
        outputs=["a1", "a2"],
    )  # fmt: skip
    springs = [Unknown("k1", 120.0, K=WALL), Unknown("k2", 60.0, K=BETWEEN)]
    wrong = StructuredModel(known, [*springs, Unknown("alpha", 0.1, C=np.diag([1.0, 2.0]))])
    with warns(IdentificationWarning, "wrong-structure"):
        refine_structured(wrong, None, test)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IdentificationWarning)
        refine_structured(two_masses(c2=4.0), None, test)  # the right form says nothing


# ---- the numbers themselves
