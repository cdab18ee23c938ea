"""Markov parameters of random stable systems are recovered from noise-free records to 1e-10.

Domain: 1 to 8 states, 1 to 3 inputs, 1 to 4 outputs, poles within 0.75 of the origin (115 samples later less than
0.75^115 = 4e-15 is left; the exact case from rest: within 1), eigenvectors of condition below 100, white inputs whose
regression has a condition below 1e4.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dalembert import identify
from dalembert.linear import StateSpace
from dalembert.record import Record

MEMORY = 115
DT = 0.01


@st.composite
def systems(draw, radius=0.75, most_inputs=3):
    """A stable sampled system and a source of random numbers."""
    n, nu, ny = draw(st.integers(1, 8)), draw(st.integers(1, most_inputs)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = np.zeros((n, n))
    for k in range(0, n - 1, 2):
        r, angle = radius * np.sqrt(rng.random()), rng.uniform(0.05, 3.1)
        A[k : k + 2, k : k + 2] = r * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    if n % 2:
        A[-1, -1] = rng.uniform(-radius, radius)
    T = np.eye(n) + 0.5 * rng.normal(size=(n, n))
    assume(np.linalg.cond(T) < 100)
    A = T @ A @ np.linalg.inv(T)
    names = {"inputs": [f"u{i}" for i in range(nu)], "outputs": [f"y{i}" for i in range(ny)]}
    D = rng.normal(size=(ny, nu)) * draw(st.sampled_from([0.0, 1.0]))
    return StateSpace(A, rng.normal(size=(n, nu)), rng.normal(size=(ny, n)), D, DT, **names), rng


def run(system, u, start=None):
    x = np.zeros(system.nx) if start is None else start
    y = np.empty((len(u), system.ny))
    for k, uk in enumerate(u):
        y[k] = system.C @ x + system.D @ uk
        x = system.A @ x + system.B @ uk
    return Record(DT * np.arange(len(u)), np.hstack([u, y]), [*system.inputs, *system.outputs])


def recovered(found, system):
    truth = system.markov(len(found))
    return np.abs(found.values - truth).max() <= 1e-10 * max(1.0, np.abs(truth).max())


# more outputs than states, or equal rows of C, are dependent without noise: told, and no harm here
pytestmark = pytest.mark.filterwarnings("ignore:outputs .* are linearly dependent")


@pytest.mark.spec("000-49")
@given(systems())
def test_least_squares_recovers_the_parameters_from_a_record_that_starts_at_rest(case):
    system, rng = case
    record = run(system, rng.normal(size=(int(2.5 * MEMORY * system.nu), system.nu)))
    assert recovered(identify.markov(record, 40, system.inputs, memory=MEMORY), system)


@pytest.mark.spec("000-49")
@given(systems())
def test_least_squares_recovers_the_parameters_from_records_that_start_anywhere(case):
    system, rng = case
    length = MEMORY + int(1.5 * MEMORY * system.nu)
    records = [run(system, rng.normal(size=(length, system.nu)), start=rng.normal(size=system.nx)) for _ in range(2)]
    assert recovered(identify.markov(records, 40, system.inputs, memory=MEMORY, start="unknown"), system)


@pytest.mark.spec("000-49")
@given(systems(radius=1.0))
def test_blows_from_rest_recover_the_parameters_whatever_the_damping(case):
    system, rng = case
    records = []
    for i in range(system.nu):
        u = np.zeros((40, system.nu))
        u[:3] = 0.1 * rng.normal(size=(3, system.nu))
        u[0, i] = 3.0
        records.append(run(system, u))
    assert recovered(identify.markov(records, 40, system.inputs), system)


@pytest.mark.spec("000-49")
@given(systems())
def test_division_of_transforms_recovers_the_parameters_from_periodic_inputs(case):
    system, rng = case
    records = []
    for i in range(system.nu):
        # a strong input in turn and weaker others keep the inputs apart at every frequency
        u = rng.normal(size=(MEMORY, system.nu)) * np.where(np.arange(system.nu) == i, 1.0, 0.05)
        lines = np.fft.rfft(u, axis=0)
        u = np.fft.irfft(lines / np.maximum(np.abs(lines), 1e-9) * np.where(np.arange(system.nu) == i, 1.0, 0.1),
                         MEMORY, axis=0)  # fmt: skip
        records.append(run(system, np.tile(u, (3, 1))))
    found = identify.markov(records, 40, system.inputs, method="fft", period=MEMORY, skip=2)
    assert recovered(found, system)


@pytest.mark.spec("000-49")
@given(systems(most_inputs=1))
def test_transients_that_die_out_within_the_record_recover_the_parameters_by_fft(case):
    system, rng = case
    u = np.zeros((MEMORY + 50, 1))
    u[:3, 0] = 1.0, *(0.2 * rng.normal(size=2).clip(-1.5, 1.5))
    assert recovered(identify.markov(run(system, u), 40, system.inputs, method="fft"), system)
