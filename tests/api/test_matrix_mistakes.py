"""Mistakes of a user with matrices: each is answered by a DataError that says what was expected."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Record, linear
from dalembert.core.errors import DataError
from dalembert.linear import FourierSeries, FrequencyResponse, SecondOrder, StateSpace, Validity
from tests.helpers.findings import raises

CHAIN = SecondOrder(np.diag([2.0, 1.0]), [[300, -100], [-100, 100]], C=np.diag([1.0, 2.0]), B=[1, 0],
                    coordinates=["base", "tip"], inputs="force", units={"force": "N", "tip": "m"})  # fmt: skip
SPACE = CHAIN.state_space()
TIMES = np.linspace(0.0, 1.0, 11)
RESPONSE = CHAIN.frequency_response([1.0, 2.0])
FORCED = {"times": TIMES}

MISTAKES = {
    # state space
    "prewarp as text": (lambda: SPACE.to_discrete(0.1, "tustin", prewarp="5"), "not-a-number", "prewarp"),
    "tolerance as text": (lambda: SPACE.balanced_truncation(tolerance="1"), "not-a-number", "tolerance"),
    "negative Kalman tolerance": (lambda: SPACE.kalman(tolerance=-1.0), "negative", "tolerance"),
    "Kalman tolerance as text": (lambda: SPACE.minimal(tolerance="a"), "not-a-number", "tolerance"),
    "outputs by number": (lambda: SPACE.select(outputs=0), "bad-name", "outputs"),
    "an option that is none": (lambda: SPACE.replace(E=1.0), "unknown-name", "'E'"),
    "series with nothing": (lambda: SPACE.series(None), "wrong-type", "NoneType"),
    "series with a SecondOrder": (lambda: SPACE.series(CHAIN), "wrong-type", "SecondOrder", "state_space()"),
    "parallel with a SecondOrder": (lambda: SPACE.parallel(CHAIN), "wrong-type", "SecondOrder", "state_space()"),
    "feedback of a number": (lambda: SPACE.feedback(5.0), "wrong-type", "float", "StateSpace.gain"),
    "feedback into other units": (
        lambda: SPACE.select(outputs="tip").feedback(StateSpace.gain(1.0).replace(inputs="mm", units={"mm": "mm"})),
        "unit-mismatch",
        "m and mm",
    ),
    "connect of one system": (lambda: linear.connect(SPACE), "wrong-type", "StateSpace"),
    "connect of nothing": (lambda: linear.connect(None), "wrong-type", "NoneType"),
    "append of one system": (lambda: linear.append(SPACE), "wrong-type", "StateSpace"),
    "connect with inputs by number": (lambda: linear.connect([SPACE], inputs=0), "bad-name", "inputs"),
    "symmetric form of a StateSpace": (lambda: linear.symmetric_form(SPACE), "wrong-type", "StateSpace"),
    "sample time as text": (lambda: StateSpace(-1.0, dt="0.1"), "not-a-number", "dt"),
    # frequency
    "frequency response to an input by number": (
        lambda: CHAIN.frequency_response([1.0], inputs=0),
        "bad-name",
        "inputs",
    ),
    "amplitude as text": (lambda: linear.harmonic_response(CHAIN, 1.0, {"force": "a"}), "not-finite", "'force'"),
    "amplitude not a number": (
        lambda: linear.harmonic_response(CHAIN, 1.0, {"force": np.nan}),
        "not-finite",
        "'force'",
    ),
    "response picked by number": (lambda: RESPONSE[0], "bad-name", "fr[output, input]"),
    "response picked by three names": (lambda: RESPONSE["tip", "force", "x"], "bad-name", "fr[output, input]"),
    "selected by number": (lambda: RESPONSE.select(outputs=0), "bad-name", "outputs"),
    "values as text": (lambda: FrequencyResponse([1.0], ["a"]), "not-a-number", "values"),
    "grid from text": (lambda: linear.frequency_grid(CHAIN, "a", 10.0), "not-a-number", "low"),
    "grid of half a point": (lambda: linear.frequency_grid(CHAIN, 1.0, 10.0, points=2.5), "not-a-count", "points"),
    "grid with points taken away": (
        lambda: linear.frequency_grid(CHAIN, 1.0, 10.0, per_mode=-1),
        "not-a-count",
        "per_mode",
    ),
    "grid of a StateSpace": (lambda: linear.frequency_grid(SPACE, 1.0, 10.0), "wrong-type", "StateSpace"),
    "superposition on a StateSpace": (
        lambda: linear.modal_frequency_response(SPACE, CHAIN.modes(), [1.0]),
        "wrong-type",
        "StateSpace",
    ),
    # time
    "input function that returns text": (
        lambda: CHAIN.response({"force": lambda t: "a"}, **FORCED),
        "not-a-number",
        "'force'",
    ),
    "input function that is complex": (
        lambda: CHAIN.response({"force": lambda t: np.exp(1j * t)}, **FORCED),
        "not-a-number",
        "'force'",
    ),
    "start as text": (lambda: CHAIN.response(None, start={"tip": "a"}, **FORCED), "not-a-number", "'tip'"),
    "start that is missing": (lambda: CHAIN.response(None, start={"tip": None}, **FORCED), "not-a-number", "'tip'"),
    "start as an array": (lambda: CHAIN.response(None, start={"tip": [1, 2]}, **FORCED), "not-a-number", "'tip'"),
    "record in other units": (
        lambda: CHAIN.response(Record(TIMES, np.ones((11, 1)), ["force"], {"force": "kN"})),
        "unit-mismatch",
        "'force'",
        "kN",
        "in N",
    ),
    "record of an input in other units": (
        lambda: CHAIN.response({"force": Record(TIMES, np.ones((11, 1)), ["force"], {"force": "kN"})}),
        "unit-mismatch",
        "'force'",
        "kN",
        "in N",
    ),
    "initial time as text": (lambda: CHAIN.free_response({"tip": 1.0}, TIMES, at="0"), "not-a-number", "at"),
    "initial time that is none": (lambda: CHAIN.free_response({"tip": 1.0}, TIMES, at=np.nan), "not-finite", "at"),
    "unknown hold": (lambda: CHAIN.response({}, hold="second", **FORCED), "unknown-choice", "'zero'", "hold"),
    "impulse before the blow": (lambda: SPACE.impulse_response([-1.0, 0.0]), "out-of-range", "t = 0"),
    "modes of a StateSpace": (lambda: SPACE.response({}, modes=2, **FORCED), "not-supported", "SecondOrder"),
    "band the wrong way": (lambda: CHAIN.modes(band=(2.0, 1.0)), "out-of-range", "band", "low < high"),
    "band and place": (lambda: CHAIN.modes(near=1.0, band=(1.0, 2.0)), "conflicting-arguments", "near"),
    "form 3": (lambda: linear.symmetric_form(CHAIN, 3), "unknown-choice", "form"),
    "too many powers": (lambda: linear.controllability_matrix(SPACE, 100_001), "out-of-range", "blocks"),
    "receptance of a StateSpace": (
        lambda: SPACE.frequency_response([1.0], kind="mobility"),
        "unknown-choice",
        "output",
    ),
    "empty band of a grid": (lambda: linear.frequency_grid(CHAIN, 0.0, 1.0), "out-of-range", "low < high"),
    "step of no system": (lambda: linear.step_response(3, TIMES), "wrong-type", "int"),
    "impulse on no system": (lambda: linear.impulse_response("a", TIMES), "wrong-type", "str"),
    "modes as text": (lambda: CHAIN.response({"force": 1.0}, modes="all", **FORCED), "not-a-count", "modes"),
    "modes as a list": (lambda: CHAIN.response({"force": 1.0}, modes=[1], **FORCED), "not-a-count", "modes"),
    # periodic
    "signal that returns text": (lambda: linear.fourier_series(lambda t: "a", 1.0, 2), "not-a-number", "signal"),
    "breaks as text": (lambda: linear.fourier_series(lambda t: t, 1.0, 2, breaks="a"), "not-a-number", "breaks"),
    "a break not in a list": (
        lambda: linear.fourier_series(lambda t: t, 1.0, 2, breaks="0.5"),
        "not-a-number",
        "breaks",
    ),
    "amplitudes as text": (lambda: FourierSeries(1.0, "a"), "not-a-number", "amplitudes"),
    "harmonics as text": (
        lambda: linear.periodic_response(CHAIN, {"force": 1.0}, 1.0, harmonics="3"),
        "not-a-count",
        "harmonics",
    ),
    "half a harmonic": (
        lambda: linear.periodic_response(CHAIN, {"force": 1.0}, 1.0, harmonics=2.5),
        "not-a-count",
        "harmonics",
    ),
    "periodic load as text": (lambda: linear.periodic_response(CHAIN, {"force": "a"}, 1.0), "not-a-number", "'force'"),
    "periodic load that is no number": (
        lambda: linear.periodic_response(CHAIN, {"force": np.nan}, 1.0),
        "not-finite",
        "'force'",
    ),
    "periodic load that is complex": (
        lambda: linear.periodic_response(CHAIN, {"force": 1j}, 1.0),
        "not-a-number",
        "'force'",
    ),
    "periodic load on no system": (
        lambda: linear.periodic_response(3, {"force": 1.0}, 1.0),
        "wrong-type",
        "system",
    ),
    "no samples of a period": (
        lambda: linear.periodic_response(CHAIN, {"force": 1.0}, 1.0, samples=0),
        "not-a-count",
        "samples",
    ),
    # validity
    "coefficient as text": (lambda: Validity(["x"], {"a": {"x": "q"}}, linear={"a": 1.0}), "not-a-number", "'x'"),
    "limits as text": (lambda: Validity(["x"], {"a": [1.0]}, linear={"a": "ab"}), "wrong-type", "'ab'"),
    "limit as a list": (
        lambda: Validity(["x"], {"a": [1.0]}, linear={"a": [[1.0], 2.0]}),
        "wrong-type",
        "[[1.0], 2.0]",
    ),
    # sweeps
    "sweep over text": (lambda: linear.track_eigenvalues(lambda k: CHAIN, "abc"), "not-a-number", "values"),
    "sweep of a system": (lambda: linear.track_eigenvalues(CHAIN, [1.0, 2.0]), "wrong-type", "build"),
    "orders as text": (lambda: linear.campbell(lambda k: CHAIN, [1.0, 2.0], orders="a"), "not-a-number", "orders"),
    "root locus of a matrix": (lambda: linear.root_locus(np.eye(2), [0.0, 1.0]), "wrong-type", "system"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_was_expected(mistake):
    call, code, *shown = MISTAKES[mistake]
    with raises(DataError, code, *shown):
        call()


def test_one_break_and_one_order_need_no_list():
    def ramp(t):
        return np.where(t < 0.3, t, 0.0)

    one, listed = (linear.fourier_series(ramp, 1.0, 4, breaks=breaks) for breaks in (0.3, [0.3]))
    np.testing.assert_array_equal(one.amplitudes, listed.amplitudes)

    def rotor(speed):
        return SecondOrder(np.eye(2), np.diag([4.0, 9.0]), G=[[0, speed], [-speed, 0]])

    one, listed = (linear.campbell(rotor, [0.0, 1.0, 4.0], orders=orders) for orders in (1, [1.0]))
    assert one.critical_speeds == listed.critical_speeds


def test_a_number_scales_a_system():
    for scaled in (2.0 * SPACE, SPACE * 2, np.float64(2.0) * SPACE, SPACE * np.int64(2)):
        np.testing.assert_array_equal(scaled.C, 2.0 * SPACE.C)
        np.testing.assert_array_equal(scaled.A, SPACE.A)
        assert scaled.outputs == SPACE.outputs
    with pytest.raises(TypeError):
        SPACE * "2"


def test_systems_to_append_may_come_from_a_generator():
    assert linear.append(system for system in (SPACE, SPACE)).nx == 8


def test_an_input_named_like_a_coordinate_does_not_take_its_unit():
    tip = SecondOrder(1.0, 4.0, C=0.1, B=[1.0], coordinates="tip.y", inputs="tip.y", units={"tip.y": "m"})
    assert tip.frequency_response([1.0]).unit("tip.y") == "m"
    assert tip.state_space().frequency_response([1.0]).unit("tip.y") == "m"
    force = Record(TIMES, np.ones((11, 1)), ["tip.y"], {"tip.y": "N"})
    assert len(tip.response(force)) == len(linear.duhamel(tip, force)) == 11


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SecondOrder(1.0, 1.0, coordinates=3), "bad-name"),
        (lambda: SecondOrder(1.0, 1.0, units=["m"]), "wrong-type"),
        (lambda: SecondOrder(1.0, 1.0, units="m"), "wrong-type"),
        (lambda: SecondOrder([["1"]], 1.0), "not-a-number"),
        (lambda: SecondOrder([[None]], 1.0), "not-a-number"),
        (lambda: SecondOrder(1.0, 1.0).modes("all"), "not-a-count"),
        (lambda: SecondOrder(1.0, 1.0).modes([1]), "not-a-count"),
        (lambda: SecondOrder(1.0, 1.0).modes(near="low"), "not-a-number"),
    ],
)
def test_wrong_names_units_and_counts_are_answered(make, says):
    with raises(DataError, says):
        make()
