"""Thresholds of the examination of residuals, each just below and just above."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.records.data import Data
from dalembert.identify.subspace import residuals
from dalembert.identify.subspace.residuals import (
    PARTS,
    THRESHOLDS,
    examine_residuals,
    find_disturbed_stretch,
    find_few_data,
    find_late_input,
    find_undriven_motion,
    find_unexplained_output,
)
from dalembert.identify.subspace.synchrony import FARTHEST, ShiftedOutputs
from dalembert.linear import StateSpace

RNG = np.random.default_rng(0)
N = 1600
U = RNG.standard_normal((N, 1))
NOISE = RNG.standard_normal((N, 2))


def outputs_with(
    rest: np.ndarray | None = None, shares: tuple[float, float] = (0.01, 0.01), pole: complex = 0.0,
    driven: float = 0.0, free: float = 0.0,
) -> ShiftedOutputs:  # fmt: skip
    """Two outputs, their residuals and shares without shift, and the power of one mode in the first."""
    rest = NOISE if rest is None else rest
    whole = np.repeat(rest[:, None, :], 2 * FARTHEST + 1, axis=1)
    ratios = np.ones((2 * FARTHEST + 1, 2))
    power = np.zeros((2, 1, 2))
    power[:, 0, 0] = driven, free
    return ShiftedOutputs(
        ("a1", "a2"), ratios, np.broadcast_to(shares, ratios.shape), whole, U, NOISE, np.array([pole]), *power
    )


def data(samples: int = N, y: np.ndarray | None = None) -> Data:
    y = NOISE[:samples] if y is None else y
    return Data((U[:samples],), (y,), 0.01, ("force",), ("a1", "a2"))


def codes(findings) -> list[str]:
    return [finding.code for finding in findings]


def system(z: complex, order: int = 2) -> StateSpace:
    A = np.array([[z.real, z.imag], [-z.imag, z.real]])
    return StateSpace(A, [1.0, 0.0], np.eye(2), np.zeros((2, 1)), dt=0.01, inputs="force", outputs=["a1", "a2"])


def tone(periods: float) -> complex:
    return complex(np.exp(2j * np.pi * periods / N))


def spoiled(part: float = 0.5, own: float = 0.0, share: float = 0.3, other: float = 0.01) -> ShiftedOutputs:
    """Of the residual of a2 the inputs explain ``part``, of that of a1 ``own``."""
    driven = np.column_stack([np.sqrt(own) * U[:, 0], np.sqrt(part) * U[:, 0]])
    noise = NOISE - U @ (U.T @ NOISE) / float(U[:, 0] @ U[:, 0])
    noise = noise / noise.std(axis=0) * U.std()
    return outputs_with(np.sqrt([1.0 - own, 1.0 - part]) * noise + driven, (share, other))


def test_an_output_takes_states_where_inputs_explain_the_other_residual_but_not_its_own() -> None:
    """Chance explains some 2 % more or less of a residual of 1600 samples by 31 past inputs."""
    assert find_unexplained_output(spoiled(part=THRESHOLDS.explained + 0.03))
    assert not find_unexplained_output(spoiled(part=THRESHOLDS.explained - 0.03))
    assert find_unexplained_output(spoiled(own=THRESHOLDS.unexplained - 0.03))
    assert not find_unexplained_output(spoiled(own=THRESHOLDS.unexplained + 0.03))


def stretch(ratio: float, share: float) -> ShiftedOutputs:
    rest = np.ones((N, 2)) * np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
    rest[: N // PARTS, 0] *= np.sqrt(ratio)
    return outputs_with(rest, (share, 0.0))


def no_model(data: Data, order: int) -> StateSpace:
    raise np.linalg.LinAlgError


def test_an_input_is_delayed_and_an_output_advanced_in_records_that_are_long_enough() -> None:
    given = data()
    short = given.replace(u=(*given.u, given.u[0][:50]), y=(*given.y, given.y[0][:50]))
    late, early = residuals._delay_input(short, 0, 30), residuals._advance_output(short, 1, 30)
    assert late.lengths == early.lengths == (N - 30,)
    assert np.array_equal(late.u[0][:, 0], U[:-30, 0]) and np.array_equal(late.y[0], NOISE[30:])
    assert np.array_equal(early.y[0], np.column_stack([NOISE[:-30, 0], NOISE[30:, 1]]))
    assert np.array_equal(early.u[0], U[:-30])


@pytest.mark.parametrize(
    ("mode", "found"),
    [
        ({"pole": tone(100.0), "driven": 0.05, "free": 0.495}, False),
        ({"pole": tone(100.0), "driven": 0.05, "free": 0.505}, True),  # ten times the power from the inputs
        ({"pole": tone(100.0), "free": 0.0297}, False),
        ({"pole": tone(100.0), "free": 0.0303}, True),  # 3 % of the output
        ({"pole": tone(19.8), "free": 0.5}, False),
        ({"pole": tone(20.2), "free": 0.5}, True),  # 20 periods
    ],
)
def test_an_undriven_mode_has_ten_times_the_driven_power_3_per_cent_and_20_periods(mode: dict, found: bool) -> None:
    assert codes(find_undriven_motion(outputs_with(**mode), data())) == ["undriven-motion"] * found


@pytest.mark.parametrize(
    ("shares", "parts", "sure", "found"),
    [
        ((0.0297, 0.001), (0.0, 0.5), 100.0, False),
        ((0.0303, 0.001), (0.0, 0.5), 100.0, True),  # 3 % of its power
        ((0.3, 0.101), (0.0, 0.5), 100.0, False),
        ((0.3, 0.099), (0.0, 0.5), 100.0, True),  # three times that of the other
        ((0.3, 0.01), (0.0, 0.149), 100.0, False),
        ((0.3, 0.01), (0.0, 0.151), 100.0, True),  # inputs explain 15 % of the residual of the other
        ((0.3, 0.01), (0.051, 0.5), 100.0, False),
        ((0.3, 0.01), (0.049, 0.5), 100.0, True),  # and less than 5 % of its own
        ((0.3, 0.01), (0.0, 0.5), 19.8, False),
        ((0.3, 0.01), (0.0, 0.5), 20.2, True),  # with 20 standard deviations
    ],
)
def test_an_output_that_takes_states_leaves_3_per_cent_and_three_times_the_other(
    shares: tuple[float, float], parts: tuple[float, float], sure: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residuals, "_driven_parts", lambda rest, u: (np.array(parts), np.array([0.0, sure])))
    assert codes(find_unexplained_output(outputs_with(shares=shares))) == ["unexplained-output"] * found


@pytest.mark.parametrize(
    ("ratio", "share", "level", "driven", "found"),
    [
        (4.45, 0.5, 1.0, 0.0, False),
        (4.55, 0.5, 1.0, 0.0, True),  # 4.5 times the median of the parts
        (50.0, 0.099, 1.0, 0.0, False),
        (50.0, 0.101, 1.0, 0.0, True),  # a tenth of the output
        (50.0, 0.5, 2.02, 0.0, False),
        (50.0, 0.5, 1.98, 0.0, True),  # inputs of one level, up to a factor of two
        (50.0, 0.5, 1.0, 0.051, False),
        (50.0, 0.5, 1.0, 0.049, True),  # inputs explain less than 5 %
    ],
)
def test_a_disturbed_stretch_has_four_and_a_half_times_the_residual_of_the_others(
    ratio: float, share: float, level: float, driven: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shifted = stretch(ratio, share)
    u = np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
    u[: N // PARTS] *= level
    object.__setattr__(shifted, "u", u)
    monkeypatch.setattr(residuals, "_driven_parts", lambda rest, u: (np.array([driven, 0.0]), np.zeros(2)))
    assert codes(find_disturbed_stretch(shifted)) == ["disturbed-stretch"] * found


@pytest.mark.parametrize(
    ("correlation", "share", "found"),
    [(0.198, 0.5, False), (0.202, 0.5, True), (0.5, 0.0297, False), (0.5, 0.0303, True)],
)
def test_a_residual_of_3_per_cent_follows_a_later_input_from_a_correlation_of_a_fifth_on(
    correlation: float, share: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    r = np.zeros((513, 2))
    r[256 - 40, 0] = correlation
    monkeypatch.setattr(residuals, "_correlate", lambda y, u, lags: r)
    monkeypatch.setattr(residuals, "_find_onset", lambda r, count: 0)
    findings = find_late_input(outputs_with(shares=(share, 0.0)), data(), 2, no_model)
    assert codes(findings) == ["not-synchronous"] * found


@pytest.mark.parametrize(("share", "found"), [(0.99e-6, False), (1.01e-6, True)])
def test_a_late_response_is_looked_for_from_a_residual_of_a_millionth_on(
    share: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residuals, "_find_onset", lambda r, count: 40)
    monkeypatch.setattr(residuals, "_improves", lambda *given: True)
    findings = find_late_input(outputs_with(shares=(share, 0.0)), data(), 2, no_model)
    assert codes(findings) == ["not-synchronous"] * found


@pytest.mark.parametrize(
    ("first", "largest", "onset"),
    [(0.1113, 0.2, 50), (0.1137, 0.2, 40), (0.495, 1.0, 0), (0.505, 1.0, 40)],
)
def test_a_response_begins_above_four_and_a_half_deviations_at_half_of_its_largest(
    first: float, largest: float, onset: int
) -> None:
    """Of 1600 samples a correlation has a standard deviation of 1/40: 4.5 of them are 0.1125."""
    r = np.zeros(200)
    r[40], r[50] = first, largest
    assert residuals._find_onset(r, 1600) == onset


@pytest.mark.parametrize(("after", "better"), [(0.198, True), (0.202, False)])
def test_a_delay_counts_where_its_removal_halves_the_residual(
    after: float, better: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residuals, "shift_with_other_model", lambda *given: outputs_with(shares=(after, 0.0)))
    assert residuals._improves(data(), 0, 2, no_model, 0.4) is better


@pytest.mark.parametrize(("share", "code"), [(0.545, []), (0.555, ["poor-simulation"])])
def test_a_simulation_is_poor_that_leaves_55_per_cent(
    share: float, code: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residuals, "shift_outputs", lambda data, system: None)
    assert codes(examine_residuals(data(), system(0.5 + 0.5j), no_model, unexplained=share)) == code


@pytest.mark.parametrize(("samples", "few"), [(19, True), (20, False)])
def test_five_numbers_for_each_unknown_are_enough(samples: int, few: bool) -> None:
    """Order 2, one input, two outputs: 8 unknowns; two numbers per sample."""
    found = find_few_data(data(samples), system(0.1 + 0.5j), outputs_with(shares=(0.1, 0.0)))
    assert ("few-samples" in codes(found)) is few


@pytest.mark.parametrize(
    ("periods", "zeta", "share", "few"),
    [
        (5.9, 0.02, 0.1, True), (6.1, 0.02, 0.1, False),  # six periods
        (3.0, 0.198, 0.1, True), (3.0, 0.202, 0.1, False),  # of a mode with less than a fifth of critical damping
        (3.0, 0.02, 1.01e-6, True), (3.0, 0.02, 0.99e-6, False),  # with noise above a millionth of the power
    ],
)  # fmt: skip
def test_fewer_than_six_periods_of_a_mode_are_few(periods: float, zeta: float, share: float, few: bool) -> None:
    omega = 2.0 * np.pi * periods / N
    z = complex(np.exp(omega * (-zeta + 1j * np.sqrt(1.0 - zeta**2))))
    assert ("few-periods" in codes(find_few_data(data(), system(z), outputs_with(shares=(share, 0.0))))) is few
