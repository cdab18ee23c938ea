"""Random stable systems, no noise: OKID, ERA and ERA/DC return them.

Domain: up to 6 states, 3 inputs and outputs, poles with 0.3 < |z| < 0.95, Hankel matrix of the true Markov parameters
with condition number (σ1/σn) below 1e6, white inputs. Poles to 1e-8, Markov parameters to 1e-10 of the largest.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dalembert.identify import decay_era, era, era_dc, ibrahim, okid, okid_era, physical
from dalembert.identify.realization.hankel import hankel
from dalembert.linear import SecondOrder, StateSpace
from dalembert.record import Record
from tests.helpers.storey_frame import played, relative

seeds = st.integers(0, 2**32 - 1)
# more outputs than states and inputs would be linearly dependent, which is warned of
sizes = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3)).filter(lambda s: s[2] <= s[0] + s[1])
ROWS, COLUMNS = 12, 20
HANKEL_CONDITION = 1e6


def stable(seed: int, size: tuple[int, int, int]) -> StateSpace:
    """Poles in conjugate pairs and one real if odd, well apart, in random states."""
    rng = np.random.default_rng(seed)
    nx, nu, ny = size
    blocks = np.zeros((nx, nx))
    for i in range(0, nx - 1, 2):
        r, angle = rng.uniform(0.3, 0.95), rng.uniform(0.2, 2.9)
        blocks[i : i + 2, i : i + 2] = r * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    if nx % 2:
        blocks[-1, -1] = rng.uniform(0.3, 0.95) * rng.choice([-1.0, 1.0])
    T = np.linalg.qr(rng.normal(size=(nx, nx)))[0]
    return StateSpace(
        T @ blocks @ T.T, rng.normal(size=(nx, nu)), rng.normal(size=(ny, nx)), rng.normal(size=(ny, nu)), dt=0.1
    )


def well_conditioned(system: StateSpace) -> bool:
    s = np.linalg.svd(hankel(system.markov(ROWS + COLUMNS + 1)[1:], ROWS, COLUMNS), compute_uv=False)
    return bool(s[0] < HANKEL_CONDITION * s[system.nx - 1])


def poles_off(found: StateSpace, true: StateSpace) -> float:
    """Largest distance from a true pole to the nearest found one, and back."""
    a, b = np.linalg.eigvals(found.A), np.linalg.eigvals(true.A)
    apart = np.abs(a[:, None] - b[None, :])
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def excitation(system: StateSpace, seed: int, samples: int = 400) -> np.ndarray:
    return np.random.default_rng(seed + 1).standard_normal((samples, system.nu))


@given(seeds, sizes)
@pytest.mark.spec("000-55")
def test_era_returns_the_poles(seed, size):
    system = stable(seed, size)
    assume(well_conditioned(system))
    fit = era(system.markov(ROWS + COLUMNS + 1), order=system.nx, rows=ROWS, columns=COLUMNS, dt=0.1)
    assert poles_off(fit.system, system) < 1e-8


@given(seeds, sizes)
@pytest.mark.spec("000-56")
def test_era_dc_returns_the_poles(seed, size):
    """Correlations square the condition number, so its root is the domain here."""
    system = stable(seed, size)
    s = np.linalg.svd(hankel(system.markov(ROWS + COLUMNS + 1)[1:], ROWS, COLUMNS), compute_uv=False)
    assume(s[0] < np.sqrt(HANKEL_CONDITION) * s[system.nx - 1])
    markov = system.markov(ROWS + COLUMNS + 9)
    fit = era_dc(markov, order=system.nx, rows=ROWS, columns=COLUMNS, gamma=1, delta=1, tau=4, dt=0.1)
    assert poles_off(fit.system, system) < 1e-8


@given(seeds, sizes)
@pytest.mark.spec("000-52")
def test_okid_returns_the_markov_parameters_whatever_the_order_of_the_observer(seed, size):
    system = stable(seed, size)
    assume(well_conditioned(system))
    record = played(system, excitation(system, seed), start=np.random.default_rng(seed).normal(size=system.nx))
    true = system.markov(30)
    for extra in (0, 3):
        found = okid(record, system.inputs, observer_order=-(-system.nx // system.ny) + extra + 1)
        assert np.abs(found.system(30) - true).max() < 1e-10 * max(1.0, np.abs(true).max())


@given(seeds, sizes)
@example(658, (5, 3, 1))  # a pole of 13 samples answers white inputs slowly: no drift
@pytest.mark.spec("000-52")
@pytest.mark.spec("000-55")
def test_okid_and_era_return_the_poles_with_everything_left_to_them_but_the_order(seed, size):
    system = stable(seed, size)
    assume(well_conditioned(system))
    record = played(system, excitation(system, seed))
    fit = okid_era(record, system.inputs, order=system.nx)
    assert poles_off(fit.system, system) < 1e-8


@given(seeds, sizes)
@pytest.mark.parametrize("method", [decay_era, ibrahim])
def test_free_decays_return_the_poles(method, seed, size):
    """As many tests as the system has inputs, each from an initial state of its own."""
    system = stable(seed, size)
    columns = np.random.default_rng(seed + 2).normal(size=(system.nx, system.nu))
    s = system.replace(B=columns)
    assume(well_conditioned(s))
    motion = s.markov(61)[1:]
    records = [Record(0.1 * np.arange(60), motion[:, :, j], system.outputs) for j in range(system.nu)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outputs that outnumber the states are dependent, and said to be
        found = method(records, order=system.nx)
    assert poles_off(found.system, system) < 1e-8


@given(seeds, st.integers(1, 3))
@pytest.mark.spec("000-60")
def test_random_mechanical_systems_come_back_from_their_records(seed, n):
    """Symmetric positive M, K and proportional C; accelerations of all coordinates, a force on the first."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, n, n))
    M, K = np.eye(n) + 0.3 * X @ X.T, 50.0 * (0.5 * np.eye(n) + Y @ Y.T)
    names = [f"a{i + 1}" for i in range(n)]
    true = SecondOrder(
        M, K, C=0.2 * M + 1e-3 * K, B=np.eye(n, 1), Y_acceleration=np.eye(n), inputs="force", outputs=names
    )
    fastest = true.modes().frequencies.max()
    system = true.state_space().to_discrete(1.0 / fastest)
    assume(well_conditioned(system))
    fit = okid_era(played(system, excitation(system, seed)), "force", order=2 * n)
    model = physical(fit, kind="acceleration", colocated=("a1", "force"))
    # rounding grows by the condition number 1e6 at most, twice (shapes, then the inverse of their products)
    assert relative(model.M, M) < 1e-6
    assert relative(model.K, K) < 1e-6
