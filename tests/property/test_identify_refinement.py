"""Refinement on noise-free data of random stable systems: the poles come back.

Domain: pairs at angles of z from 0.5 to 2.9 rad, at least 0.3 rad apart, damping ratios 0.2 to 10 %, residues of like
size: the information matrix is then well conditioned, and poles return to 1e-8.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dalembert import identify
from dalembert.identify.model.identified import Identified
from dalembert.linear import StateSpace
from dalembert.linear.recursions import march
from dalembert.record import Record
from tests.helpers.checks import matched


@st.composite
def systems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs, nu, ny = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    angles = 0.2 + np.cumsum(rng.uniform(0.3, 0.9, pairs))
    damping = rng.uniform(0.002, 0.1, pairs)
    z = np.exp(angles * (-damping + 1j))
    A = np.zeros((2 * pairs, 2 * pairs))
    for i, pole in enumerate(z):
        A[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[pole.real, pole.imag], [-pole.imag, pole.real]]
    signs = lambda shape: rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)  # noqa: E731
    direct = draw(st.booleans())
    D = signs((ny, nu)) if direct else np.zeros((ny, nu))
    return StateSpace(A, signs((2 * pairs, nu)), signs((ny, 2 * pairs)), D, 0.1), rng


@given(systems())
def test_refinement_gives_the_poles_of_noise_free_data_back(drawn):
    system, rng = drawn
    u = rng.standard_normal((400, system.nu))
    x = march(system.A, (u @ system.B.T)[:-1], rng.standard_normal(system.nx))
    y = x @ system.C.T + u @ system.D.T
    record = Record(0.1 * np.arange(400), np.hstack([u, y]), [*system.inputs, *system.outputs])
    start = system.replace(A=0.998 * system.A, B=system.B + 0.01 * rng.standard_normal(system.B.shape))
    found = identify.refine(Identified(start, method="given"), record)
    got, true = (np.linalg.eigvals(s.A) for s in (found.system, system))
    assert np.abs(matched(got, true) - true).max() < 1e-8
    assert np.abs(found.system.markov(10) - system.markov(10)).max() < 1e-7
