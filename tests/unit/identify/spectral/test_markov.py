"""Markov parameters from records by least squares and by FFT, with their standard deviations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert import identify
from dalembert.core.errors import DataError
from dalembert.identify import IdentificationWarning
from dalembert.identify.records.data import read_data
from dalembert.identify.spectral import markov as markov_module
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import found_in, raises, warns

DT = 0.05
RNG = np.random.default_rng


def two_modes(nu=1, ny=2, radius=0.8):
    """Two oscillating pairs of poles and a direct feed-through."""
    rng = RNG(42)
    A = np.zeros((4, 4))
    for k, angle in enumerate((0.6, 1.7)):
        c, s = radius * np.cos(angle), radius * np.sin(angle)
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[c, s], [-s, c]]
    return StateSpace(
        A, rng.normal(size=(4, nu)), rng.normal(size=(ny, 4)), rng.normal(size=(ny, nu)), DT,
        inputs=[f"u{i + 1}" for i in range(nu)], outputs=[f"y{i + 1}" for i in range(ny)],
    )  # fmt: skip


def run(system, u, start=None, noise=0.0, seed=0, units=None):
    """Record of inputs and outputs, by the recursion itself."""
    x = np.zeros(system.nx) if start is None else np.asarray(start, dtype=float)
    y = np.empty((len(u), system.ny))
    for k, uk in enumerate(u):
        y[k] = system.C @ x + system.D @ uk
        x = system.A @ x + system.B @ uk
    y += noise * RNG(seed).normal(size=y.shape)
    return Record(DT * np.arange(len(u)), np.hstack([u, y]), [*system.inputs, *system.outputs], units)


def close(found, system, rtol=1e-10):
    truth = system.markov(len(found))
    np.testing.assert_allclose(found.values, truth, atol=rtol * np.abs(truth).max())


# ---- least squares


@pytest.mark.spec("000-49")
def test_any_input_gives_the_parameters_when_the_memory_covers_the_response():
    system = two_modes(2, 3)
    record = run(system, RNG(0).normal(size=(900, 2)))
    close(identify.markov(record, 30, ["u1", "u2"], memory=150), system)


@pytest.mark.spec("000-49")
def test_an_unknown_initial_state_spoils_nothing_when_its_samples_are_left_out():
    system = two_modes()
    record = run(system, RNG(1).normal(size=(800, 1)), start=[5.0, -3.0, 2.0, 9.0])
    close(identify.markov(record, 30, "u1", memory=150, start="unknown"), system)


def test_taking_an_unknown_initial_state_for_rest_is_wrong():
    system = two_modes()
    record = run(system, RNG(1).normal(size=(800, 1)), start=[5.0, -3.0, 2.0, 9.0])
    found = identify.markov(record, 30, "u1", memory=150)
    assert np.abs(found.values - system.markov(30)).max() > 1e-2


@pytest.mark.spec("000-49")
def test_from_rest_a_memory_as_long_as_the_record_is_exact_even_without_damping():
    system = two_modes(1, 2, radius=1.0)
    u = np.zeros((60, 1))
    u[:3, 0] = 2.0, 0.5, -0.3
    close(identify.markov(run(system, u), 60, "u1"), system)


def test_several_records_from_rest_are_joined_without_mixing_transients():
    system = two_modes(2, 2, radius=0.97)
    pulses = []
    for i in range(2):
        u = np.zeros((80, 2))
        u[0, i] = 1.0 + i
        u[1, 1 - i] = 0.2
        pulses.append(run(system, u))
    close(identify.markov(pulses, 80, ["u1", "u2"]), system)


def test_records_shorter_than_the_unknown_past_are_passed_over():
    system = two_modes()
    records = [run(system, RNG(k).normal(size=(n, 1))) for k, n in enumerate((40, 600))]
    both = identify.markov(records, 10, "u1", memory=120, start="unknown")
    np.testing.assert_allclose(both.values, identify.markov(records[1], 10, "u1", memory=120, start="unknown").values)


def test_pieces_of_a_long_record_give_what_one_regression_gives():
    system = two_modes()
    record = run(system, RNG(2).normal(size=(9000, 1)), noise=0.1)
    u, y = record["u1"], record[["y1", "y2"]]
    past = np.column_stack([np.concatenate([np.zeros(j), u[: 9000 - j]]) for j in range(40)])
    theta = np.linalg.lstsq(past, y, rcond=None)[0]
    found = identify.markov(record, 40, "u1")
    np.testing.assert_allclose(found.values[:, :, 0], theta, atol=1e-12 * np.abs(theta).max())


@pytest.mark.spec("000-49")
def test_parameters_do_not_depend_on_the_coordinates_of_the_state():
    system = two_modes()
    turned = system.similarity(RNG(3).normal(size=(4, 4)))
    np.testing.assert_allclose(identify.markov(turned, 20).values, identify.markov(system, 20).values, atol=1e-11)


@pytest.mark.spec("000-49")
def test_parameters_of_a_state_space_are_its_pulse_response():
    system = two_modes(2, 2)
    found = identify.markov(system, 12)
    for i in range(2):
        u = np.zeros((12, 2))
        u[0, i] = 1.0
        np.testing.assert_allclose(found.values[:, :, i], run(system, u).data[:, 2:], atol=1e-12)


def test_standard_deviations_are_those_seen_over_many_runs():
    system = two_modes(2, 1)
    clean = run(system, RNG(4).normal(size=(300, 2)) * [1.0, 3.0])
    found = []
    for seed in range(150):
        data = clean.data.copy()
        data[:, 2] += 0.5 * RNG(seed).normal(size=300)
        made = identify.markov(Record(clean.time, data, clean.names), 30, ["u1", "u2"], memory=60)
        found.append((made.values, made.deviations, made.noise[0]))
    values, predicted, noise = (np.array(part) for part in zip(*found))
    # 150 runs tell a standard deviation to 6 %, 60 of them together to about 1 %
    ratio = values.std(axis=0) / predicted.mean(axis=0)
    assert ratio.mean() == pytest.approx(1.0, abs=0.03)
    assert np.abs(ratio - 1.0).max() < 0.2
    assert noise.mean() == pytest.approx(0.5, rel=0.02)
    # unbiased: the mean of 150 lies within 4.5 of its own standard deviations
    assert (np.abs(values.mean(axis=0) - system.markov(30)) < 4.5 / np.sqrt(150) * predicted.mean(axis=0)).all()


def test_deviations_scale_with_the_unit_of_the_input():
    record = run(two_modes(), RNG(5).normal(size=(400, 1)), noise=0.1)
    scaled = Record(record.time, record.data * [1e-6, 1.0, 1.0], record.names)
    one, two = (identify.markov(r, 20, "u1", memory=60) for r in (record, scaled))
    np.testing.assert_allclose(two.values, 1e6 * one.values, rtol=1e-9)
    np.testing.assert_allclose(two.deviations, 1e6 * one.deviations, rtol=1e-9)


def test_an_input_that_excites_too_little_is_told():
    u = np.sin(0.7 * np.arange(400.0))[:, None]
    with warns(IdentificationWarning, "weak-excitation") as caught:
        found = identify.markov(run(two_modes(), u), 20, "u1", memory=40, start="unknown")
    assert found.rank == 2 and found.unknowns == 40
    assert [one.evidence for one in found_in(caught, "weak-excitation")] == [{"rank": 2, "unknowns": 40}]


def test_a_response_that_outlives_the_memory_is_told():
    system = two_modes(radius=0.995)
    with warns(IdentificationWarning, "truncated-response", "50 samples"):
        identify.markov(run(system, RNG(6).normal(size=(2000, 1))), 50, "u1")


# ---- FFT


@pytest.mark.spec("000-49")
@pytest.mark.parametrize("period", [128, 125])
def test_the_steady_response_to_a_periodic_input_gives_the_parameters(period):
    system = two_modes()
    record = run(system, np.tile(RNG(8).normal(size=(period, 1)), (4, 1)))
    close(identify.markov(record, 40, "u1", method="fft", period=period, skip=2), system)


def test_a_response_longer_than_the_period_wraps_round():
    system = two_modes(radius=0.95)
    record = run(system, np.tile(RNG(9).normal(size=(32, 1)), (30, 1)))
    found = identify.markov(record, 32, "u1", method="fft", period=32, skip=29)
    wrapped = system.markov(32 * 40).reshape(40, 32, 2, 1).sum(axis=0)
    np.testing.assert_allclose(found.values, wrapped, atol=1e-10 * np.abs(wrapped).max())


@pytest.mark.spec("000-49")
def test_two_periodic_inputs_need_two_records_and_then_are_exact():
    system = two_modes(2, 2)
    records = [run(system, np.tile(RNG(10 + k).normal(size=(128, 2)), (3, 1))) for k in range(2)]
    with warns(IdentificationWarning, "weak-excitation"):
        identify.markov(records[0], 30, ["u1", "u2"], method="fft", period=128)
    with raises(DataError, "too-few-samples", "2 inputs", "2 records"):
        identify.markov(records[0], 30, ["u1", "u2"], method="fft", period=128, skip=2)
    close(identify.markov(records, 30, ["u1", "u2"], method="fft", period=128, skip=2), system)


@pytest.mark.spec("000-49")
def test_transients_that_die_out_give_the_parameters():
    system = two_modes(1, 2)
    records = []
    for seed in range(2):
        u = np.zeros((300, 1))
        u[:20] = RNG(seed).normal(size=(20, 1))
        records.append(run(system, u))
    close(identify.markov(records, 50, "u1", method="fft"), system, rtol=1e-8)


def test_a_transient_cut_short_is_told():
    system = two_modes(radius=0.99)
    u = np.zeros((100, 1))
    u[0] = 1.0
    with warns(IdentificationWarning, "truncated-response", "'y1'"):
        identify.markov(run(system, u), 50, "u1", method="fft")


def test_standard_deviations_by_fft_are_those_seen_over_many_runs():
    system = two_modes(1, 1)
    u = np.tile(RNG(11).normal(size=(64, 1)), (9, 1))
    clean = run(system, u)
    found = []
    for seed in range(300):
        data = clean.data.copy()
        data[:, 1] += 0.3 * RNG(seed).normal(size=len(u))
        made = identify.markov(Record(clean.time, data, clean.names), 30, "u1", method="fft", period=64)
        found.append((made.values, made.deviations, made.noise[0]))
    values, predicted, noise = (np.array(part) for part in zip(*found))
    # the parameters share their errors, so 300 runs tell the mean ratio to about 4 %
    assert (values.std(axis=0) / predicted.mean(axis=0)).mean() == pytest.approx(1.0, abs=0.06)
    assert noise.mean() == pytest.approx(0.3, rel=0.02)


def test_one_period_tells_nothing_of_the_noise():
    found = identify.markov(run(two_modes(), RNG(0).normal(size=(128, 1))), 10, "u1", method="fft", period=128)
    assert found.deviations is None
    with raises(DataError, "unknown-noise"):
        found.deviation("y1")


def test_a_wrong_period_is_refused():
    record = run(two_modes(), np.tile(RNG(12).normal(size=(128, 1)), (4, 1)))
    with raises(DataError, "not-periodic", "100 samples"):
        identify.markov(record, 30, "u1", method="fft", period=100)


def test_both_methods_agree():
    system = two_modes()
    record = run(system, np.tile(RNG(13).normal(size=(256, 1)), (3, 1)))
    by_fft = identify.markov(record, 40, "u1", method="fft", period=256)
    by_squares = identify.markov(record, 40, "u1", memory=200, start="unknown")
    np.testing.assert_allclose(by_fft.values, by_squares.values, atol=1e-10 * np.abs(by_fft.values).max())


# ---- the result


def test_pulse_responses_are_a_record_with_names_and_units():
    record = run(two_modes(2), RNG(0).normal(size=(900, 2)), noise=0.01, units=["N", "N m", "m", "m"])
    found = identify.markov(record, 25, ["u1", "u2"], memory=100)
    responses = found.record()
    assert responses.names == ("y1 per u1", "y1 per u2", "y2 per u1", "y2 per u2")
    assert responses.units["y2 per u1"] == "m/N" and responses.units["y2 per u2"] == "m/(N m)"
    np.testing.assert_array_equal(responses["y2 per u1"], found["y2", "u1"])
    np.testing.assert_allclose(responses.time, DT * np.arange(25))
    assert "±" in repr(found) and "200 unknowns per output" in repr(found)


def test_parameters_are_picked_by_name():
    found = identify.markov(two_modes(2), 5)
    np.testing.assert_array_equal(found["y2", "u1"], found.values[:, 1, 0])
    with raises(DataError, "missing-argument", "u1"):
        found["y1"]
    with raises(DataError, "unknown-name", "'z'"):
        found["z", "u1"]


def test_the_result_is_frozen():
    found = identify.markov(two_modes(), 5)
    with pytest.raises(AttributeError):
        found.rank = 3
    assert not found.values.flags.writeable


@pytest.mark.parametrize(
    "wrong",
    [{"count": 0}, {"count": 2.5}, {"memory": 3}, {"method": "ls"}, {"start": "rest"}, {"method": "fft", "period": 1}],
)
def test_senseless_settings_are_refused(wrong):
    settings = {"count": 5, **wrong}
    with pytest.raises(DataError):
        identify.markov(run(two_modes(), RNG(0).normal(size=(200, 1))), inputs="u1", **settings)


# ---- thresholds


BELOW_AND_ABOVE = pytest.mark.parametrize(("factor", "found"), [(0.99, False), (1.01, True)])


@BELOW_AND_ABOVE
def test_a_response_that_has_not_died_out(factor: float, found: bool) -> None:
    values = np.zeros((100, 1, 1))
    values[0], values[-10:] = 1.0, factor * 0.01
    assert [one.code for one in markov_module._find_tail(values, None)] == (["truncated-response"] if found else [])
    within = np.full((100, 1, 1), 0.01)  # three deviations
    assert markov_module._find_tail(values, within) == []


@BELOW_AND_ABOVE
def test_a_transient_that_has_not_died_out(factor: float, found: bool) -> None:
    y = np.zeros(200)
    y[0], y[1], y[-10:] = 1.0, -1.0, factor * 0.05
    data = read_data.quiet(Record(DT * np.arange(200), np.column_stack([np.eye(200)[0], y]), ["u", "y"]), "u")
    assert [one.code for one in markov_module._find_cut_responses(data)] == (["truncated-response"] if found else [])


@BELOW_AND_ABOVE
def test_an_input_that_does_not_repeat_is_not_periodic(factor: float, found: bool) -> None:
    """Levels 1 and r of two periods: the change r - 1 over the root mean square √((1 + r²)/2) is the limit."""
    half = 1.0 - 0.5 * (factor * 0.5) ** 2
    level = (1.0 + np.sqrt(1.0 - half**2)) / half
    u = np.repeat([1.0, level], 10)[:, None]
    data = identify.Data((u,), (u,), DT, ("u",), ("y",))
    if found:
        with raises(DataError, "not-periodic"):
            markov_module._refuse_other_periods(data, 10)
    else:
        markov_module._refuse_other_periods(data, 10)


REFUSED: dict[str, tuple[Any, ...]] = {
    "a continuous system has no pulses of one sample":
        (lambda: identify.markov(StateSpace([[-1.0]], [[1.0]], [[1.0]]), 5), "wrong-type", "to_discrete"),
    "a period longer than the record": (
        lambda: identify.markov(run(two_modes(), RNG(0).normal(size=(128, 1))), 10, "u1", method="fft", period=500),
        "too-few-samples", "500 samples"),
    "more parameters than a period holds": (
        lambda: identify.markov(run(two_modes(), RNG(0).normal(size=(64, 1))), 65, "u1", method="fft", period=64),
        "out-of-range", "65", "64"),
    "an input is needed":
        (lambda: identify.markov(run(two_modes(), RNG(0).normal(size=(200, 1))), 5), "missing-argument"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_refused(case: str) -> None:
    call, code, *shown = REFUSED[case]
    with raises(DataError, code, *shown):
        call()
