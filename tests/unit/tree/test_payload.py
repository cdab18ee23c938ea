"""A payload as added inertia against the same mass welded to the mechanism, and against the wrench of its weight."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from tests.helpers.arms import arm, arm_states, make_arm
from tests.helpers.findings import raises

INERTIA = [[0.02, 0.001, 0.002], [0.001, 0.03, -0.001], [0.002, -0.001, 0.025]]
CENTER = (0.05, 0.01, -0.02)


def welded() -> da.EquationsOfMotion:
    m = make_arm()
    load = m.add_body("load", mass=1.5, inertia=INERTIA)
    m.add_fixed("grip", m["hand"].at("tip"), load.at(*(-x for x in CENTER)))
    return da.equations(m, coordinates="joint")


@pytest.mark.parametrize(
    "name", ["mass_matrix", "inverse_dynamics", "forward_dynamics", "coriolis_matrix", "gravity", "center_of_mass",
             "center_of_mass_jacobian", "centroidal_momentum", "centroidal_momentum_matrix_rate", "energies"]
)  # fmt: skip
def test_a_payload_acts_as_a_body_welded_there(name: str) -> None:
    states, function = arm_states(3), getattr(da.tree, name)
    payload = da.tree.Payload("hand.tip", 1.5, center=CENTER, inertia=INERTIA)
    eqs = welded()
    found = function(arm(), states, payload=payload)
    expected = function(eqs, [eqs.state(q=one.q, v=one.v) for one in states])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    assert da.tree.total_mass(arm(), payload=payload) == pytest.approx(da.tree.total_mass(eqs), abs=1e-14)


def test_the_weight_of_a_payload_is_a_wrench_at_its_place() -> None:
    eqs, (state,) = arm(), arm_states(1)
    still = eqs.state(q=state.q)
    loaded = da.tree.inverse_dynamics(eqs, still, payload=da.tree.Payload("hand.tip", 2.0))
    weight = da.tree.inverse_dynamics(eqs, still, wrenches={"hand.tip": (0, 0, -2.0 * 9.81, 0, 0, 0)})
    np.testing.assert_allclose(loaded, weight, rtol=0, atol=1e-12)


def test_numbers_of_a_payload_are_checked() -> None:
    eqs, (state,) = arm(), arm_states(1)
    with raises(da.errors.ModelError, "not-positive", "payload"):
        da.tree.mass_matrix(eqs, state, payload=da.tree.Payload("hand", 0.0))
    for inertia in ((0.1, -0.1, 0.1), [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]):
        with raises(da.errors.ModelError, "negative", "payload", "centre of mass"):
            da.tree.mass_matrix(eqs, state, payload=da.tree.Payload("hand", 1.0, inertia=inertia))
    with raises(da.errors.ModelError, "wrong-shape", "center"):
        da.tree.mass_matrix(eqs, state, payload=da.tree.Payload("hand", 1.0, center=(1, 2)))
    with raises(da.errors.ModelError, "not-supported", "ground"):
        da.tree.mass_matrix(eqs, state, payload=da.tree.Payload("ground", 1.0))
    with raises(da.errors.ModelError, "wrong-type", "payload"):
        da.tree.mass_matrix(eqs, state, payload=2.0)  # type: ignore[arg-type]
