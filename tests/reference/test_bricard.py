"""P4 of peers.md: Bricard's mechanism, five rods and six hinges, one freedom although the count says zero."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from tests.helpers.bricard import machine
from tests.helpers.checks import freedoms

ASKED = 1e-6
STEPS = (1e-3, 2.5e-4, 1e-4)
AT_1 = (+0.510501461, -1.649167599, +0.140123115)
AT_10 = (+0.999999964, -1.000269013, +0.999730951)


def test_bricard_has_one_freedom_where_the_count_says_none() -> None:
    eqs = machine()
    state = da.assemble(eqs)
    assert eqs.nv - len(eqs.rows) == 0
    assert freedoms(eqs, state) == 1


def check(run: da.Record) -> None:
    assert run["P"][1] == pytest.approx(AT_1, abs=ASKED)
    assert run["P"][-1] == pytest.approx(AT_10, abs=ASKED)
    assert np.abs(run["energy.balance"]).max() < ASKED  # forces are of order 10 N: 1e-6 m shows as 1e-5 J
    assert run["residual.position"].max() < 1e-12


def test_p4_bricard_after_1_s_and_10_s() -> None:
    check(da.simulate(machine(), 10.0, method=da.RK4(1e-3), every=1.0))


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_p4_bricard_with_adaptive_steps(coordinates: str) -> None:
    """In joint coordinates five rows of a cut hinge, four of them independent, close the loop of five speeds."""
    check(da.simulate(machine(coordinates), 10.0, every=1.0))


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_p4_bricard_after_1_s_and_10_s_at_every_step_size(step: float) -> None:
    check(da.simulate(machine(), 10.0, method=da.RK4(step), every=1.0))
