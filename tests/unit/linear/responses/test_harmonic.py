"""Frequency responses: two formulations, closed forms, names, and what is refused.

Tolerances: an LU of an n x n matrix of condition κ solves to a few κ ε; the matrices here have κ below 1e3 away from
resonance, so 1e-12 is asked unless a line says why not.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder, StateSpace
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.linear.responses.harmonic import frequency_response, harmonic_response
from dalembert.linear.responses.superposition import frequency_grid, modal_frequency_response
from tests.helpers.findings import assert_read_only, raises

LU = 1e-12


def stiffness(n: int) -> np.ndarray:
    K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    K[-1, -1] = 1.0
    return K


def chain(n: int, c: float = 0.02, **more) -> SecondOrder:
    """Masses in a row, held at the left end, damping proportional to stiffness."""
    return SecondOrder(np.eye(n), stiffness(n), C=c * stiffness(n), **more)


def some(modes: Modes, keep) -> Modes:
    return Modes(modes.eigenvalues[keep], modes.shapes[:, keep], modes.coordinates)


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C21")
def test_one_mass_has_the_textbook_receptance_mobility_and_accelerance():
    m, c, k = 2.0, 0.3, 50.0
    w = np.linspace(0.0, 20.0, 41)
    system = SecondOrder(m, k, C=c, coordinates="x")
    expected = 1.0 / (k - m * w**2 + 1j * c * w)
    for kind, factor in (("receptance", 1.0), ("mobility", 1j * w), ("accelerance", -(w**2))):
        fr = frequency_response(system, w, kind=kind)
        np.testing.assert_allclose(fr["x", "x"], factor * expected, rtol=1e-14)
        assert fr.kind == kind


@pytest.mark.spec("003-C21")
def test_state_space_and_second_order_agree_with_every_matrix_present():
    rng = np.random.default_rng(3)
    n = 5
    skew = rng.normal(size=(n, n))
    system = SecondOrder(
        np.diag(rng.uniform(1, 2, n)), 5 * stiffness(n), C=0.1 * stiffness(n), G=skew - skew.T,
        H=0.1 * (skew.T - skew), B=rng.normal(size=(n, 2)), Y_position=rng.normal(size=(3, n)),
        Y_velocity=rng.normal(size=(3, n)), Y_acceleration=rng.normal(size=(3, n)), D=rng.normal(size=(3, 2)),
    )  # fmt: skip
    w = np.linspace(0.0, 8.0, 33)
    direct = frequency_response(system, w, kind="output")
    first = frequency_response(system.state_space(), w)
    assert direct.inputs == first.inputs and direct.outputs == first.outputs
    np.testing.assert_allclose(direct.values, first.values, rtol=0, atol=1e-11 * np.abs(direct.values).max())


def test_many_frequencies_go_through_the_schur_form_and_change_nothing():
    rng = np.random.default_rng(5)
    n = 40
    turn = rng.normal(size=(n, n))
    mass = np.diag(rng.uniform(1, 3, n)) + 0.1 * np.ones((n, n))
    loss = 0.02 * stiffness(n)
    system = SecondOrder(mass, stiffness(n), C=0.05 * np.eye(n), G=0.1 * (turn - turn.T), K_loss=loss)
    w = np.linspace(0.01, 3.0, 300)
    quick = frequency_response(system, w, inputs=["x1", "x7"], outputs=["x40", "x2"])
    for k in (0, 13, 150, 299):  # one at a time: plain LU
        slow = frequency_response(system, w[k], inputs=["x1", "x7"], outputs=["x40", "x2"])
        np.testing.assert_allclose(quick.values[k], slow.values[0], rtol=0, atol=1e-10 * np.abs(slow.values).max())


def test_many_frequencies_of_a_large_state_space_go_through_the_schur_form_and_change_nothing():
    system = chain(20, B=np.eye(20)[:, :1]).state_space()
    w = np.linspace(0.0, 3.0, 250)
    quick = frequency_response(system, w)
    slow = np.array([frequency_response(system, x).values[0] for x in w[::25]])
    np.testing.assert_allclose(quick.values[::25], slow, rtol=0, atol=1e-11 * np.abs(slow).max())


@pytest.mark.spec("003-C66")
def test_hysteretic_damping_gives_the_same_loss_at_every_frequency():
    k, loss = 40.0, 0.05
    w = np.array([0.5, 3.0, 6.0])
    fr = frequency_response(SecondOrder(1.0, k, K_loss=loss * k), w)
    np.testing.assert_allclose(fr.values.ravel(), 1.0 / (k * (1 + 1j * loss) - w**2), rtol=1e-14)
    back = frequency_response(SecondOrder(1.0, k, K_loss=loss * k), -w)
    np.testing.assert_array_equal(back.values, fr.values.conj())


def test_sparse_and_dense_systems_answer_alike_and_only_the_asked_entries_are_made():
    n = 400
    w = np.array([0.0, 0.3, 1.1])
    names = [f"p{i}.x" for i in range(n)]
    loss = 0.01 * stiffness(n)
    more = {"K_loss": loss, "coordinates": names, "Y_acceleration": np.eye(n)[[5]], "outputs": ["acc"]}
    dense = chain(n, B=np.eye(n)[:, [3]], inputs="push", **more)
    sparse = dense.replace(M=scipy.sparse.csc_array(dense.M))
    for kind, outputs in (("receptance", ["p399.x", "p2.x"]), ("output", None)):
        left = frequency_response(dense, w, kind=kind, outputs=outputs)
        right = frequency_response(sparse, w, kind=kind, outputs=outputs)
        # κ of this chain is 4 n²/π² ≈ 6e4
        np.testing.assert_allclose(right.values, left.values, rtol=1e-10)
        assert right.values.shape == (3, 2 if kind == "receptance" else 1, 1)


def test_a_long_sparse_response_reports_how_far_it_is():
    shares = []
    frequency_response(chain(5).sparse(), [0.1, 0.2], progress=shares.append)
    assert shares == [0.5, 1.0]


def test_an_undamped_sparse_system_stays_real_until_the_end():
    n = 50
    system = SecondOrder(scipy.sparse.eye_array(n, format="csc"), scipy.sparse.csc_array(stiffness(n)))
    fr = frequency_response(system, [0.5], inputs="x1", outputs="x50")
    expected = np.linalg.solve(stiffness(n) - 0.25 * np.eye(n), np.eye(n)[:, 0])[-1]
    assert fr.values.item() == pytest.approx(expected, rel=1e-10)


def test_a_massless_coordinate_follows_in_the_response():
    # spring k1 to the mass, spring k2 from the mass to a massless point that is pushed
    system = SecondOrder(np.diag([2.0, 0.0]), [[8.0, -3.0], [-3.0, 3.0]], coordinates=["mass", "point"])
    fr = frequency_response(system, [1.0], inputs="point")
    mass = 1.0 / (5.0 - 2.0)
    np.testing.assert_allclose(fr.values[0, :, 0], [mass, mass + 1.0 / 3.0], rtol=1e-14)


def test_a_discrete_system_is_evaluated_on_the_unit_circle():
    a, b, dt = 0.9, 0.5, 0.1
    w = np.array([0.0, 5.0, np.pi / dt])
    fr = frequency_response(StateSpace(a, b, dt=dt), w)
    np.testing.assert_allclose(fr.values.ravel(), b / (np.exp(1j * w * dt) - a), rtol=1e-14)


def test_harmonic_response_sums_the_inputs_with_their_phases():
    system = chain(3, B=np.eye(3)[:, :2], inputs=["a", "b"])
    fr = frequency_response(system, [0.7])
    y = harmonic_response(system, 0.7, {"b": 2.0 - 1.0j, "a": 1j})
    expected = fr["x3", "a"][0] * 1j + fr["x3", "b"][0] * (2.0 - 1.0j)
    assert y["x3"] == pytest.approx(expected, rel=LU)


# --- resonance --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C21")
def test_an_undamped_natural_frequency_is_reported_as_a_resonance_in_both_units():
    with raises(DataError, "resonance", "0.318309886"):
        frequency_response(SecondOrder(1.0, 4.0), [1.0, 2.0, 3.0])


@pytest.mark.spec("003-C21")
@pytest.mark.parametrize("n", [3, 40])
def test_a_computed_natural_frequency_counts_as_resonance_though_rounding_keeps_it_finite(n):
    system = chain(n, c=0.0)
    for w in system.modes().frequencies:
        with raises(DataError, "resonance"):
            frequency_response(system, [w])
        with raises(DataError, "resonance"):
            frequency_response(system.state_space(), [w])
        # a part in a million aside is a large but honest number
        assert np.isfinite(frequency_response(system, [w * (1 + 1e-6)]).values).all()


def test_a_resonance_is_reported_even_where_the_asked_input_does_not_excite_it():
    # both masses pushed alike never excite the mode in which they move against each other, ω = √3
    pair = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], B=[1.0, 1.0])
    with raises(DataError, "resonance"):
        frequency_response(pair, [np.sqrt(3.0)])


def test_a_sparse_resonance_is_reported_too():
    system = chain(30, c=0.0).sparse()
    w = chain(30, c=0.0).modes().frequencies[4]
    with raises(DataError, "resonance"):
        frequency_response(system, [w], inputs="x1", outputs="x2")


def test_a_resonance_on_a_long_grid_is_reported_by_the_schur_path():
    system = chain(30, c=0.0)
    w = np.sort(np.append(np.linspace(0.01, 3.0, 400), system.modes().frequencies[7]))
    with raises(DataError, "resonance"):
        frequency_response(system, w, inputs="x1", outputs="x2")


def test_a_free_body_has_no_static_response():
    free = SecondOrder(np.eye(2), [[1, -1], [-1, 1]])
    with raises(DataError, "resonance"):
        frequency_response(free, [0.0])
    assert np.isfinite(frequency_response(free, [0.1]).values).all()


# --- superposition ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C13", "000-21")
@pytest.mark.parametrize("correction", [True, False])
def test_all_modes_together_give_the_direct_response(correction):
    system = chain(6)
    w = np.linspace(0.0, 3.0, 20)
    every = modal_frequency_response(system, system.modes(), w, static_correction=correction)
    np.testing.assert_allclose(every.values, frequency_response(system, w).values, rtol=1e-10, atol=1e-12)


def test_complex_modes_of_a_gyroscopic_damped_system_span_it_as_well():
    G = np.zeros((4, 4))
    G[0, 1], G[1, 0] = 0.7, -0.7
    system = SecondOrder(np.eye(4), stiffness(4), C=np.diag([0.3, 0, 0, 0.1]), G=G)
    w = np.linspace(0.0, 3.0, 20)
    every = modal_frequency_response(system, system.modes(), w)
    np.testing.assert_allclose(every.values, frequency_response(system, w).values, rtol=1e-9, atol=1e-11)


@pytest.mark.spec("000-21")
def test_static_correction_makes_a_truncated_response_exact_at_zero_and_better_below_the_kept_modes():
    system = chain(12, c=0.0)
    low = some(system.modes(), slice(0, 4))
    top = low.frequencies[-1]
    w = np.linspace(0.0, 0.6 * top, 50)
    exact = frequency_response(system, w, inputs="x9", outputs=["x9"]).values
    errors = {}
    for correction in (True, False):
        near = modal_frequency_response(system, low, w, inputs="x9", outputs=["x9"], static_correction=correction)
        errors[correction] = np.abs(near.values - exact).ravel()
    assert errors[True][0] < 1e-12 * abs(exact[0, 0, 0])
    assert errors[False][0] > 1e-3 * abs(exact[0, 0, 0])
    # at a driving point Σ φ²/(λ-ω²) over the modes left out becomes Σ φ² (ω²/λ)/(λ-ω²), every term of one sign
    fifth = system.modes().frequencies[4]
    assert (errors[True][1:] <= 1.0001 * (w[1:] / fifth) ** 2 * errors[False][1:]).all()


def test_the_error_of_a_corrected_superposition_falls_with_every_mode():
    system = chain(12)
    modes = system.modes()
    w = np.linspace(0.0, 0.5, 30)
    exact = frequency_response(system, w, inputs="x5", outputs="x8").values
    worst = [
        np.abs(modal_frequency_response(system, some(modes, slice(0, k)), w, inputs="x5", outputs="x8").values - exact)
        .max()
        for k in range(3, 13, 3)
    ]  # fmt: skip
    assert worst[0] > worst[1] > worst[2] > worst[3]
    assert worst[3] < 1e-12 * np.abs(exact).max() * 100


@pytest.mark.parametrize("sparse", [False, True])
def test_static_correction_of_a_free_structure_goes_around_its_rigid_body_modes(sparse):
    n = 9
    K = stiffness(n)
    K[0, 0] = 1.0
    system = SecondOrder(np.diag(np.linspace(1, 2, n)), K)
    low = some(system.modes(), slice(0, 4))
    assert low.eigenvalues[0] == 0.0
    w = np.array([0.02, 0.1])
    exact = frequency_response(system, w, inputs="x2", outputs="x2").values
    asked = system.sparse() if sparse else system
    near = {
        correction: np.abs(
            modal_frequency_response(asked, low, w, inputs="x2", outputs="x2", static_correction=correction).values
            - exact
        ).max(axis=(1, 2))
        for correction in (True, False)
    }
    fifth = system.modes().frequencies[4]
    assert (near[True] <= 1.0001 * (w / fifth) ** 2 * near[False]).all()


def test_static_correction_without_the_rigid_body_modes_is_refused():
    free = SecondOrder(np.eye(2), [[1, -1], [-1, 1]])
    with raises(DataError, "resonance"):
        modal_frequency_response(free, some(free.modes(), slice(1, 2)), [0.5])


def test_modes_of_another_system_are_refused():
    with raises(DataError, "wrong-owner"):
        modal_frequency_response(chain(3), chain(4).modes(), [0.5])


# --- the noun ---------------------------------------------------------------------------------------------------------


def pair() -> FrequencyResponse:
    system = SecondOrder(
        np.eye(2), [[2, -1], [-1, 2]], C=0.1 * np.eye(2), B=[[1.0, 0.0], [0.0, 2.0]], coordinates=["left", "right"],
        inputs=["push", "pull"], units={"left": "m", "right": "m", "push": "N", "pull": "N m"},
    )  # fmt: skip
    return frequency_response(system, np.linspace(0.0, 3.0, 301))


def test_entries_are_picked_by_output_and_input_name():
    fr = pair()
    np.testing.assert_array_equal(fr["right", "push"], fr.values[:, 1, 0])
    assert fr.select("right", ["pull"]).values.shape == (301, 1, 1)
    np.testing.assert_array_equal(fr.select("right", "pull")["right"], fr["right", "pull"])


def test_units_say_output_per_input():
    fr = pair()
    assert fr.unit("left", "push") == "m/N"
    assert fr.unit("left", "pull") == "m/(N m)"
    system = SecondOrder(1.0, 2.0, C=0.1, coordinates="x", units={"x": "m"})
    assert frequency_response(system, [1.0], kind="accelerance").unit("x", "x") == "m/s²"


def test_unknown_names_are_answered_with_the_nearest_one():
    fr = pair()
    with raises(DataError, "unknown-name", "'left'"):
        fr["lefd", "push"]
    with raises(DataError, "unknown-name", "'push'"):
        fr["left", "pussh"]
    with raises(DataError, "missing-argument"):
        fr["left"]
    with raises(DataError, "unknown-name", "'top'"):
        frequency_response(chain(2), [1.0], outputs="top")
    with raises(DataError, "unknown-name", "'top'"):
        frequency_response(chain(2), [1.0], inputs="top")
    with raises(DataError, "unknown-name", "'mobility'"):
        frequency_response(chain(2), [1.0], kind="mobilty")


def test_peaks_stand_at_the_resonances():
    peaks = pair().peaks("left", "push")
    np.testing.assert_allclose([peak.frequency for peak in peaks], [1.0, np.sqrt(3.0)], rtol=0, atol=0.01)
    assert peaks[0].frequency_hz == pytest.approx(peaks[0].frequency / (2 * np.pi))
    assert len(pair().peaks("left", "push", prominence=0.5)) == 2


def test_phase_is_principal_and_decibels_never_reach_minus_infinity():
    fr = FrequencyResponse(np.arange(5.0), np.exp(-2j * np.arange(5)))
    np.testing.assert_allclose(np.unwrap(fr.phase("y1")), -2.0 * np.arange(5), rtol=0, atol=1e-14)
    assert np.isfinite(FrequencyResponse([1.0], [0.0]).decibels("y1")).all()


def test_a_frequency_response_is_frozen_and_prints_itself():
    fr = pair()
    with pytest.raises(AttributeError):
        fr.kind = "mobility"
    assert_read_only(fr.values)
    text = repr(fr)
    assert "FrequencyResponse (receptance): 301 frequencies" in text
    assert "left per push" in text and "magnitude [m/N]" in text


@pytest.mark.parametrize(
    ("frequencies", "words"),
    [
        ([], "wrong-shape"),
        ([np.nan], "not-finite"),
        (["a"], "not-a-number"),
        ([[1.0]], "wrong-shape"),
        ([1j], "not-a-number"),
    ],
)
def test_frequencies_that_are_none_are_refused(frequencies, words):
    with raises(DataError, words):
        frequency_response(chain(2), frequencies)


def test_a_discrete_system_refuses_frequencies_above_nyquist():
    with raises(DataError, "out-of-range"):
        frequency_response(StateSpace(0.9, 1.0, dt=0.1), [32.0])


def test_a_large_system_asks_for_names_instead_of_a_million_entries():
    with raises(DataError, "missing-argument"):
        frequency_response(chain(200), [1.0])


# --- grid -------------------------------------------------------------------------------------------------------------


def test_the_grid_catches_a_sharp_peak_to_a_percent():
    zeta, w0 = 1e-4, 3.0
    system = SecondOrder(1.0, w0**2, C=2 * zeta * w0)
    grid = frequency_grid(system, 0.1, 100.0, 100)
    assert np.all(np.diff(grid) > 0) and grid[0] == 0.1 and grid[-1] == pytest.approx(100.0, rel=1e-15)
    top = frequency_response(system, grid).magnitude("x1").max()
    assert top == pytest.approx(1.0 / (2 * zeta * w0**2), rel=0.01)


def test_the_grid_steps_around_undamped_resonances():
    system = chain(5, c=0.0)
    frequency_response(system, frequency_grid(system, 0.01, 3.0))


def test_outputs_of_its_own_are_what_a_system_answers_for_by_default():
    system = SecondOrder(
        np.eye(2), [[2, -1], [-1, 2]], C=0.1 * np.eye(2), B=[1, 0], Y_velocity=[[0, 1]], coordinates=["a", "b"],
        inputs="push", outputs="speed",
    )  # fmt: skip
    meant = system.frequency_response([0.5, 2.0])
    assert (meant.kind, meant.outputs) == ("output", ("speed",))
    mobility = system.frequency_response([0.5, 2.0], kind="mobility")["b", "push"]
    np.testing.assert_allclose(meant["speed", "push"], mobility, rtol=1e-14)
    assert system.frequency_response([0.5], outputs="b").kind == "receptance"


def test_a_step_between_equal_magnitudes_is_no_peak_of_any_height():
    fr = FrequencyResponse([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 2.0, 3.0, 9.0, 1.0], ["force"], ["tip"])
    assert [peak.frequency for peak in fr.peaks("tip", prominence=0.1)] == [5.0]


@pytest.mark.parametrize(("excess", "refused"), [(0.5e-12, False), (2e-12, True)])
def test_the_nyquist_frequency_itself_is_allowed(excess: float, refused: bool) -> None:
    system, w = StateSpace(0.5, 1.0, 1.0, dt=0.1), np.pi / 0.1 * (1.0 + excess)
    if refused:
        with raises(DataError, "out-of-range"):
            frequency_response(system, [w])
    else:
        frequency_response(system, [w])


@pytest.mark.parametrize(("ratio", "kept"), [(0.5e-9, False), (2e-9, True)])
def test_a_grid_leaves_the_frequency_of_an_undamped_mode_out(ratio: float, kept: bool) -> None:
    """Around ω = 2: points from a tenth to thirty times the width of a damping ratio of 1e-4, the smallest resolved."""
    grid = frequency_grid(SecondOrder(1.0, 4.0, C=4.0 * ratio), 1.0, 10.0, 2)
    away = np.abs(grid[1:-1] / 2.0 - 1.0)
    assert away.max() == pytest.approx(30e-4, rel=1e-6)
    assert np.sort(away[away > 1e-8])[0] == pytest.approx(0.1e-4, rel=1e-6)
    assert bool((away < 1e-8).any()) is kept
