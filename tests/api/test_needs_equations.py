"""Every verb of equations refuses anything else with one code."""

from __future__ import annotations

from typing import Any

import pytest

import dalembert as da
from tests.helpers.findings import raises

VERBS = {
    "assemble": lambda thing: da.assemble(thing),
    "kinematics": lambda thing: da.kinematics(thing, [0.0, 1.0]),
    "forward dynamics": lambda thing: da.forward_dynamics(thing, None),
    "inverse dynamics": lambda thing: da.inverse_dynamics(thing, {}),
    "mobility": lambda thing: da.mobility(thing),
    "equilibrium": lambda thing: da.equilibrium(thing),
    "linearize": lambda thing: da.linearize(thing),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "thing", [da.Mechanism("arm"), None, "arm.toml", da.StateSpace(1.0)], ids=lambda t: type(t).__name__
)
def test_a_verb_needs_equations(verb: str, thing: Any) -> None:
    with raises(da.errors.ModelError, "wrong-type"):
        VERBS[verb](thing)
