"""What must hold for any H-infinity synthesis: it ends, and what it returns is confirmed by the loop.

Domain: up to 8 states, 3 disturbances and outputs to keep small, 2 commands and 2 readings; entries of size 1, or, ill
posed: no weight of the commands, no noise of the readings, no direct term at all, poles from 1e-3 to 1e3 rad/s of both
signs, poles on the imaginary axis, unstable plants with direct terms of 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control import hinf
from dalembert.core.errors import ConvergenceError
from dalembert.linear import StateSpace

KINDS = ("regular", "no weight", "no noise", "no direct term", "wide spread", "on the axis", "nearly singular")


def plant(seed: int) -> StateSpace:
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    n, (nw, nz), (nu, ny) = int(rng.integers(1, 9)), rng.integers(1, 4, 2), rng.integers(1, 3, 2)
    A, B, C = rng.normal(size=(n, n)), rng.normal(size=(n, nw + nu)), rng.normal(size=(nz + ny, n))
    D = rng.normal(size=(nz + ny, nw + nu))
    if kind == "no weight":
        D[:nz, nw:] = 0.0
    if kind == "no noise":
        D[nz:, :nw] = 0.0
    if kind == "no direct term":
        D[:] = 0.0
    if kind == "wide spread":
        A = np.diag(np.sign(rng.normal(size=n)) * 10.0 ** rng.uniform(-3.0, 3.0, n))
    if kind == "on the axis":
        A = np.diag(rng.uniform(0.1, 10.0, n - 1), 1)
        A -= A.T
    if kind == "nearly singular":
        A += np.eye(n)
        D *= 1e-6
    names = {letter: [f"{letter}{k}" for k in range(count)] for letter, count in zip("wuzy", (nw, nu, nz, ny))}
    return StateSpace(A, B, C, D, inputs=names["w"] + names["u"], outputs=names["z"] + names["y"])


def judge(seed: int) -> bool:
    """Whether there is a controller; a refused problem says why."""
    system = plant(seed)
    outputs, inputs = ([name for name in names if name[0] == letter]
                       for names, letter in ((system.outputs, "y"), (system.inputs, "u")))  # fmt: skip
    try:
        design = hinf(system, outputs=outputs, inputs=inputs)
    except ConvergenceError as error:
        assert error.finding.code == "no-convergence"
        return False
    low, high = design.bounds
    poles = np.linalg.eigvals(design.closed_loop().A)
    assert design.is_stable and poles.real.max() < 0.0
    assert low <= high and low <= design.achieved * (1.0 + 1e-6)
    # 1e-4: a peak of double precision between two computations; 1e-9: the loop from w to z may be rounding alone
    assert design.grid_peak <= design.achieved * (1.0 + 1e-4) + 1e-9
    assert design.achieved <= (1.0 + design.back_off) * high * (1.0 + 1e-6) + 1e-9 or design.regularized
    return True


@pytest.mark.spec("001-C54")
def test_every_synthesis_ends_with_a_controller_that_its_loop_confirms():
    assert sum(judge(seed) for seed in range(28)) >= 27


@pytest.mark.slow
@pytest.mark.spec("001-C54")
def test_300_plants_well_and_ill_posed_end_and_none_is_unverified():
    assert sum(judge(seed) for seed in range(28, 328)) >= 295
