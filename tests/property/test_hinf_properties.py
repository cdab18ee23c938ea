"""Random plants, well and ill posed: every synthesis ends, and what it returns is verified by its loop."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dalembert.control import hinf
from dalembert.core.errors import DalembertError
from dalembert.linear import StateSpace


def random_plant(seed: int) -> StateSpace:
    """1 to 8 states, 1 to 2 of each channel; a third each regular, without weights, and with modes on the axis."""
    rng = np.random.default_rng(seed)
    n, nw, nu, nz, ny = rng.integers(1, 9), *(int(k) for k in rng.integers(1, 3, size=4))
    A = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-1, 1)
    B, C = rng.normal(size=(n, nw + nu)), rng.normal(size=(nz + ny, n))
    D = rng.normal(size=(nz + ny, nw + nu))
    D[nz:, nw:] *= rng.integers(0, 2)
    kind = seed % 3
    if kind:
        D[:nz, nw:] *= rng.integers(0, 2)
        D[nz:, :nw] *= rng.integers(0, 2)
        D[:nz, :nw] *= rng.integers(0, 2)
    if kind == 2:  # undamped or free modes, some of them out of reach
        k = max(1, n // 2)
        A[:k, k:] = A[k:, :k] = 0.0
        skew = rng.normal(size=(k, k))
        A[:k, :k] = skew - skew.T
        reach = rng.integers(0, 2, size=2)
        B[:k, nw:] *= reach[0]
        C[nz:, :k] *= reach[1]
        B[:k, :nw] *= rng.integers(0, 2)
        C[:nz, :k] *= rng.integers(0, 2)
    scale = 10.0 ** rng.uniform(-3, 3, size=4)
    B[:, :nw] *= scale[0]
    B[:, nw:] *= scale[1]
    C[:nz] *= scale[2]
    C[nz:] *= scale[3]
    names = [f"w{k}" for k in range(nw)] + [f"u{k}" for k in range(nu)]
    outputs = [f"z{k}" for k in range(nz)] + [f"y{k}" for k in range(ny)]
    plant = StateSpace(A, B, C, D, inputs=names, outputs=outputs)
    return plant.to_discrete(0.05) if seed % 5 == 4 else plant


def check(seed: int) -> str:
    """Ends in time; verified, or refused by a code."""
    plant = random_plant(seed)
    y, u = ([name for name in names if name[0] == letter]
            for names, letter in ((plant.outputs, "y"), (plant.inputs, "u")))  # fmt: skip
    start = time.process_time()
    try:
        design = hinf(plant, outputs=y, inputs=u)
    except DalembertError as error:
        assert error.code in ("not-reachable", "no-convergence", "no-solution"), (seed, error)
        return error.code
    finally:
        assert time.process_time() - start < 60.0, seed
    values = np.linalg.eigvals(design.closed_loop().A)
    stable = values.real.max() < 0.0 if plant.dt is None else np.abs(values).max() < 1.0
    assert stable and np.isfinite(design.achieved), seed
    rounding = 1e-12 * np.linalg.norm(plant.B) * np.linalg.norm(plant.C)
    assert design.grid_peak <= design.achieved * (1 + 1e-4) + rounding, seed
    low, high = design.bounds
    assert low <= design.achieved * (1 + 1e-4), (seed, low, design.achieved)
    if not design.regularized and design.back_off:
        assert design.achieved <= (1 + design.back_off) * high * (1 + 1e-5) + rounding, seed
    return "regular" if not design.regularized else "regularised"


def test_random_plants_end_and_are_verified():
    kinds = [check(seed) for seed in range(10)]
    assert {"regular", "regularised", "not-reachable"} <= set(kinds)


@pytest.mark.slow
def test_three_hundred_random_plants_end_and_are_verified():
    kinds = [check(seed) for seed in range(300)]
    assert kinds.count("no-convergence") <= 6
    assert kinds.count("regular") + kinds.count("regularised") > 200
