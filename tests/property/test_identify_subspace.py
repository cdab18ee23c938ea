"""Noise-free records of random stable systems give their poles back to 1e-8 (domain: Hankel condition below 1e6).

The first-order error of a pole is the rounding of the data times the condition of the Hankel matrix times that of the
pole: 2e-16 · 1e6 · (1 / separation of the poles, at most 50) = 1e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from dalembert.identify import cva, moesp, n4sid, ssi_cov, ssi_data
from dalembert.linear import StateSpace
from dalembert.linear.recursions import march
from dalembert.record import Record

SEPARATION = 0.02


def worst_pole(found: Any, true: Any) -> float:
    """Largest distance of matched poles."""
    apart = np.abs(np.linalg.eigvals(found)[:, None] - np.linalg.eigvals(true)[None, :])
    return float(apart[linear_sum_assignment(apart)].max())


@st.composite
def systems(draw: st.DrawFn, driven: bool = True) -> tuple[StateSpace, np.random.Generator]:
    """Stable, sampled, 1 to 3 pairs and 0 or 1 real pole, in states turned and stretched at random."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs, real = draw(st.integers(1, 3)), draw(st.integers(0, 1))
    nu, ny = (draw(st.integers(1, 2)) if driven else 0), draw(st.integers(1, 3))
    angles, moduli = rng.uniform(0.1, 2.9, pairs), rng.uniform(0.8, 0.999, pairs)
    z = moduli * np.exp(1j * angles)
    poles = np.concatenate([z, z.conj(), rng.uniform(-0.5, 0.95, real)])
    apart = np.abs(poles[:, None] - poles[None, :]) + np.eye(len(poles))
    assume(apart.min() > SEPARATION)
    blocks = [np.array([[p.real, p.imag], [-p.imag, p.real]]) for p in z] + [
        np.array([[p.real]]) for p in poles[2 * pairs :]
    ]
    n = len(poles)
    assume(ny <= n)  # more outputs than states are dependent, which is warned of
    T = np.linalg.qr(rng.normal(size=(n, n)))[0] @ np.diag(rng.uniform(0.3, 3.0, n))
    A = T @ scipy.linalg.block_diag(*blocks) @ np.linalg.inv(T)
    B, C, D = rng.normal(size=(n, nu)), rng.normal(size=(ny, n)), rng.normal(size=(ny, nu))
    return StateSpace(A, B, C, D, dt=0.1), rng


def hankel_condition(A: Any, B: Any, C: Any) -> float:
    n = len(A)
    powers = [np.linalg.matrix_power(A, k) for k in range(n)]
    wide = np.vstack([C @ P for P in powers]) @ np.hstack([P @ B for P in powers])
    s = np.linalg.svd(wide, compute_uv=False)
    return float(s[0] / max(s[n - 1], 1e-300)) if len(s) >= n else np.inf


@pytest.mark.spec("000-61")
@pytest.mark.parametrize("method", [moesp, n4sid, cva])
@given(drawn=systems())
def test_noise_free_poles_and_pulse_responses_come_back_from_driven_records(method: Any, drawn: Any) -> None:
    system, rng = drawn
    assume(hankel_condition(system.A, system.B, system.C) < 1e6)
    u = rng.normal(size=(600, system.nu))
    x = march(system.A, (u @ system.B.T)[:-1], rng.normal(size=system.nx))
    data = np.hstack([u, x @ system.C.T + u @ system.D.T])
    record = Record(0.1 * np.arange(600), data, [*system.inputs, *system.outputs])
    found = method(record, system.inputs, system.outputs, order=system.nx)
    assert worst_pole(found.system.A, system.A) < 1e-8
    true = system.markov(20)
    assert np.abs(found.system.markov(20) - true).max() < 1e-8 * np.abs(true).max()


@pytest.mark.parametrize("method", [moesp, cva])
@given(drawn=systems())
def test_the_order_of_noise_free_data_is_seen(method: Any, drawn: Any) -> None:
    system, rng = drawn
    assume(hankel_condition(system.A, system.B, system.C) < 1e4)
    u = rng.normal(size=(400, system.nu))
    x = march(system.A, (u @ system.B.T)[:-1], np.zeros(system.nx))
    data = np.hstack([u, x @ system.C.T + u @ system.D.T])
    record = Record(0.1 * np.arange(400), data, [*system.inputs, *system.outputs])
    assert method(record, system.inputs, system.outputs).order == system.nx


@pytest.mark.parametrize("method", [ssi_data, ssi_cov])
@given(drawn=systems(driven=False))
def test_noise_free_decays_give_their_poles_back(method: Any, drawn: Any) -> None:
    # What is decomposed is the future, the decay from sample `rows` on: a mode that has died by then is not in it.
    # Covariances multiply its condition by that of the past.
    system, rng = drawn
    rows, start = system.nx + 2, rng.normal(size=(system.nx, 1))
    future = hankel_condition(system.A, np.linalg.matrix_power(system.A, rows) @ start, system.C)
    past = hankel_condition(system.A, start, system.C) if method is ssi_cov else 1.0
    assume(future * past < 1e6)
    x = march(system.A, np.zeros((199, system.nx)), start[:, 0])
    record = Record(0.1 * np.arange(200), x @ system.C.T, list(system.outputs))
    found = method(record, order=system.nx, rows=rows)
    assert worst_pole(found.system.A, system.A) < 1e-8


@given(drawn=systems())
def test_repeated_tests_are_joined_without_mixing_their_transients(drawn: Any) -> None:
    system, rng = drawn
    assume(hankel_condition(system.A, system.B, system.C) < 1e6)
    records = []
    for length in (150, 230, 180):
        u = rng.normal(size=(length, system.nu))
        x = march(system.A, (u @ system.B.T)[:-1], 5.0 * rng.normal(size=system.nx))
        data = np.hstack([u, x @ system.C.T + u @ system.D.T])
        records.append(Record(0.1 * np.arange(length), data, [*system.inputs, *system.outputs]))
    found = moesp(records, system.inputs, system.outputs, order=system.nx)
    assert worst_pole(found.system.A, system.A) < 1e-8
    assert found.fit(records).percent.min() > 100.0 - 1e-6
