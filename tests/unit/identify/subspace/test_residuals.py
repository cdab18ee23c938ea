"""Thresholds of the examination of residuals, each just below and just above."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.records.data import Data
from dalembert.identify.subspace import residuals
from dalembert.identify.subspace.residuals import (
    find_few_data,
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
    assert find_unexplained_output(spoiled(part=0.15 + 0.03))
    assert not find_unexplained_output(spoiled(part=0.15 - 0.03))
    assert find_unexplained_output(spoiled(own=0.05 - 0.03))
    assert not find_unexplained_output(spoiled(own=0.05 + 0.03))


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
