"""Doubts about an identified model at the edges of their thresholds: a finding just beyond each, none just below."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify import Fit, Identified
from dalembert.identify.auto import auto
from dalembert.identify.auto.validation import THRESHOLDS, find_doubts, find_duplicates, find_poor_fit
from dalembert.identify.physical import physical
from dalembert.identify.records.data import read_data
from dalembert.identify.spectral import markov
from dalembert.linear import SecondOrder, StateSpace
from dalembert.record import Record

DT = 0.01
BELOW_AND_ABOVE = pytest.mark.parametrize(("factor", "found"), [(0.99, False), (1.01, True)])


def model(*hertz: float, shapes: Any = None, ratio: float = 0.01, **more: Any) -> Identified:
    """Modes at these frequencies, sampled at 100 Hz."""
    blocks, rows = [], []
    for k, f in enumerate(hertz):
        pole = np.exp(2.0 * np.pi * f * (-ratio + 1j * np.sqrt(1.0 - ratio**2)) * DT)
        blocks.append([[pole.real, pole.imag], [-pole.imag, pole.real]])
        shape = np.ones(1) if shapes is None else np.asarray(shapes[k])
        rows.append(np.column_stack([shape, np.zeros(len(shape))]))
    A = np.zeros((2 * len(hertz), 2 * len(hertz)))
    for k, block in enumerate(blocks):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = block
    return Identified(StateSpace(A, C=np.hstack(rows), dt=DT), method="given", **more)


def fit(percent: float) -> Fit:
    return Fit(percent=np.array([percent]), rms=np.ones(1), outputs=("y1",), kind="simulation", units={})


def codes(given: Identified, fit_in: float = 90.0, fit_out: float = 90.0, duration: float = 1000.0) -> list[str]:
    drawn: Any = SimpleNamespace(modes=(), frequency_means=np.zeros(0))
    white: Any = SimpleNamespace(inputs=(), is_white=lambda: True)
    return [one.code for one in find_doubts(given, drawn, fit(fit_in), fit(fit_out), white, duration)]


@BELOW_AND_ABOVE
def test_a_mode_near_half_the_sample_rate(factor: float, found: bool) -> None:
    assert codes(model(factor * THRESHOLDS.near_nyquist * 0.5 / DT)) == (["near-nyquist"] if found else [])


@BELOW_AND_ABOVE
def test_samples_per_period(factor: float, found: bool) -> None:
    assert codes(model(1.0 / (factor * THRESHOLDS.oversampled * DT))) == (["oversampled"] if found else [])


@BELOW_AND_ABOVE
def test_periods_of_the_slowest_mode(factor: float, found: bool) -> None:
    duration = THRESHOLDS.few_periods / factor / 5.0
    assert codes(model(5.0), duration=duration) == (["few-periods"] if found else [])


@BELOW_AND_ABOVE
def test_the_deviation_of_a_damping_ratio(factor: float, found: bool) -> None:
    loose = model(5.0, frequency_deviations=[0.1], damping_deviations=[factor * THRESHOLDS.uncertain_damping * 0.01])
    assert codes(loose) == (["uncertain-damping"] if found else [])


@BELOW_AND_ABOVE
def test_the_fit_of_held_out_data(factor: float, found: bool) -> None:
    assert codes(model(5.0), fit_out=90.0 - factor * THRESHOLDS.worse) == (["overfit"] if found else [])


@BELOW_AND_ABOVE
def test_the_fit_of_training_data(factor: float, found: bool) -> None:
    assert bool(find_poor_fit(fit(THRESHOLDS.poor_fit / factor))) is found


@BELOW_AND_ABOVE
def test_two_modes_of_one_shape_and_nearly_one_frequency(factor: float, found: bool) -> None:
    shape = np.array([1.0, 2.0, -1.0])
    apart = 5.0 / (1.0 - THRESHOLDS.duplicate_frequency / factor)
    assert bool(find_duplicates(model(5.0, apart, shapes=[shape, shape]))) is found
    assert not find_duplicates(model(5.0, apart, shapes=[shape[:2], shape[:2]]))
    turned = np.arccos(np.sqrt(THRESHOLDS.duplicate_mac)) / factor
    both = [np.array([1.0, 0.0, 0.0]), np.array([np.cos(turned), np.sin(turned), 0.0])]
    assert bool(find_duplicates(model(5.0, 5.05, shapes=both))) is found


def test_a_growing_mode_has_negative_damping_and_an_unstable_model() -> None:
    assert codes(model(5.0, ratio=-0.01)) == ["unstable-model", "negative-damping"]


@pytest.mark.parametrize(("quiet", "found"), [(0.89, False), (0.91, True)])
def test_an_input_that_rests_most_of_the_time_is_a_series_of_impacts(quiet: float, found: bool) -> None:
    assert auto.THRESHOLDS.quiet_time == 0.9
    u = np.ones(1000)
    u[: int(1000 * quiet)] = 0.99 * auto.THRESHOLDS.quiet_level
    assert auto._is_impact(u) is found
    u[: int(1000 * quiet)] = 1.01 * auto.THRESHOLDS.quiet_level
    assert not auto._is_impact(u)


@BELOW_AND_ABOVE
def test_a_mean_far_beyond_its_error_is_an_offset(factor: float, found: bool) -> None:
    parts = np.tile([1.0, -1.0], auto.THRESHOLDS.parts // 2)
    error = parts.std(ddof=1) / np.sqrt(len(parts))
    y = np.repeat(parts, 50) + np.tile([0.1, -0.1], 250) + factor * auto.THRESHOLDS.offset * error
    data = read_data.quiet(Record(DT * np.arange(500), y[:, None], ["y"]))
    assert auto._find_offsets(data) == (["y"] if found else [])


@pytest.mark.parametrize(("factor", "kept"), [(0.9, ("a",)), (1.1, ("a", "b"))])
def test_a_copy_of_an_output_is_left_out(factor: float, kept: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    a, own = np.linalg.qr(rng.normal(size=(500, 2)) - 0.0)[0].T
    a, own = a - a.mean(), own - own.mean()
    own -= a * (a @ own) / (a @ a)
    b = a / np.linalg.norm(a) + factor * auto.THRESHOLDS.copy * own / np.linalg.norm(own)
    data = read_data.quiet(Record(DT * np.arange(500), np.column_stack([a, 3.0 * b]), ["a", "b"]))
    assert auto._leave_out_copies(data)[0] == kept


def test_records_too_short_to_hold_samples_out() -> None:
    shortest = auto.THRESHOLDS.fewest_to_split
    run = Record(DT * np.arange(shortest), np.arange(shortest)[:, None], ["y"])
    assert len(auto._split((run,), 0.25)[1]) == 1
    assert auto._split((run.between(0.0, DT * (shortest - 1.5)),), 0.25)[1] == ()


@pytest.mark.parametrize(("factor", "found"), [(0.99, True), (1.01, False)])
def test_modes_closer_than_their_bandwidth(factor: float, found: bool) -> None:
    first = -0.5 + 30.0j
    both = np.array([first, first + 1j * factor * physical.THRESHOLDS.close * 0.5])
    assert [one.code for one in physical._find_close_modes(both)] == (["close-modes"] if found else [])


@BELOW_AND_ABOVE
def test_damping_of_the_matrices_that_differs_from_that_of_the_modes(factor: float, found: bool) -> None:
    made = SecondOrder([[1.0]], [[100.0]], C=[[0.2]])  # ω = 10, ζ = 0.01
    ratio = 0.01 / (1.0 + factor * physical.THRESHOLDS.damping)
    lam = np.array([10.0 * (-ratio + 1j * np.sqrt(1.0 - ratio**2))])
    findings = physical._set_damping(made, lam, "identified")[2]
    assert [one.code for one in findings] == (["inconsistent-damping"] if found else [])


@BELOW_AND_ABOVE
def test_a_response_that_has_not_died_out(factor: float, found: bool) -> None:
    values = np.zeros((100, 1, 1))
    values[0], values[-10:] = 1.0, factor * markov.THRESHOLDS.tail
    assert [one.code for one in markov._find_tail(values, None)] == (["truncated-response"] if found else [])
    assert markov._find_tail(values, np.full((100, 1, 1), markov.THRESHOLDS.tail)) == []  # within three deviations


@BELOW_AND_ABOVE
def test_a_transient_that_has_not_died_out(factor: float, found: bool) -> None:
    y = np.zeros(200)
    y[0], y[1], y[-10:] = 1.0, -1.0, factor * markov.THRESHOLDS.died_out
    data = read_data.quiet(Record(DT * np.arange(200), np.column_stack([np.eye(200)[0], y]), ["u", "y"]), "u")
    assert [one.code for one in markov._find_cut_responses(data)] == (["truncated-response"] if found else [])
