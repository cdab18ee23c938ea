"""Derivatives of dynamics through the public functions: states, batches, payloads and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from tests.helpers.findings import raises
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.repetitions import few

KINDS = ["revolute", "spherical", "revolute"]
EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(random_tree(KINDS, [False] * 3, 0), coordinates="joint")


def test_a_batch_has_the_results_of_its_states(eqs: da.EquationsOfMotion) -> None:
    states = [random_state(eqs, k) for k in range(3)]
    rows = np.random.default_rng(0).normal(size=(3, eqs.nv))
    inverse = da.tree.inverse_dynamics_derivatives(eqs, states, rows)
    forward = da.tree.forward_dynamics_derivatives(eqs, states, rows)
    assert {x.shape for x in (*inverse, *forward)} == {(3, eqs.nv, eqs.nv)}
    for k, state in enumerate(states):
        for all_of_it, one in zip(inverse, da.tree.inverse_dynamics_derivatives(eqs, state, rows[k]), strict=True):
            np.testing.assert_allclose(all_of_it[k], one, **EXACT)
        for all_of_it, one in zip(forward, da.tree.forward_dynamics_derivatives(eqs, state, rows[k]), strict=True):
            np.testing.assert_allclose(all_of_it[k], one, **EXACT)


def test_accelerations_and_efforts_are_given_by_name_or_left_out(eqs: da.EquationsOfMotion) -> None:
    state = random_state(eqs, 1)
    by_name = da.tree.inverse_dynamics_derivatives(eqs, state, {"j0.angle": 2.0}).dtau_dq
    row = np.zeros(eqs.nv)
    row[eqs.speeds.index["j0.rate"]] = 2.0
    np.testing.assert_allclose(by_name, da.tree.inverse_dynamics_derivatives(eqs, state, row).dtau_dq, **EXACT)
    none = da.tree.inverse_dynamics_derivatives(eqs, state).dtau_dq
    np.testing.assert_allclose(none, da.tree.inverse_dynamics_derivatives(eqs, state, np.zeros(eqs.nv))[0], **EXACT)
    free = da.tree.forward_dynamics_derivatives(eqs, state).da_dq
    np.testing.assert_allclose(free, da.tree.forward_dynamics_derivatives(eqs, state, np.zeros(eqs.nv))[0], **EXACT)
    with raises(DataError, "wrong-shape"):
        da.tree.forward_dynamics_derivatives(eqs, state, [1.0])


def test_one_joint_gives_matrices_of_one_entry() -> None:
    """A rod on a hinge: τ = J α - m g l/2 cos θ about y, so that ∂τ/∂θ = m g l/2 sin θ."""
    m = da.Mechanism("arm")
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0), axis=(0, 1, 0))
    eqs = da.equations(m, coordinates="joint")
    found = da.tree.inverse_dynamics_derivatives(eqs, ([0.3], [2.0]), [1.0])
    np.testing.assert_allclose(found.dtau_dq, [[9.81 * np.sin(0.3)]], rtol=1e-12)
    np.testing.assert_allclose(found.dtau_dv, [[0.0]], atol=1e-12)
    np.testing.assert_allclose(found.dtau_da, [[2.0 / 3]], rtol=1e-12)


@pytest.mark.parametrize("count", few([2, 12]))
def test_a_payload_moves_with_its_body(count: int) -> None:
    """Twelve joints are beyond the shortest vectors, two are not."""
    m = random_tree(["revolute"] * count, [False] * count, 2)
    hand = f"b{count - 1}"
    eqs = da.equations(m, coordinates="joint")
    state, a = random_state(eqs, 2), np.linspace(0, 1, eqs.nv)
    payload = da.tree.Payload(hand, 1.5, center=(0.1, 0.2, 0.0), inertia=0.01)
    load = m.add_body("load", mass=1.5, inertia=0.01)
    m.add_fixed("grip", m[hand].at(0.1, 0.2, 0.0), load.at(0, 0, 0))
    other = da.equations(m, coordinates="joint")
    for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        function = getattr(da.tree, name)
        for ours, theirs in zip(function(eqs, state, a, payload=payload), function(other, (state.q, state.v), a),
                                strict=True):  # fmt: skip
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * max(1.0, np.abs(theirs).max()))


def test_loops_and_absolute_coordinates_are_refused() -> None:
    m = da.read_model("four-bar")
    closed = da.equations(m, coordinates="joint")
    assert da.tree.inverse_dynamics_derivatives(closed, closed.state()).dtau_da.shape == (closed.nv, closed.nv)
    with raises(ModelError, "not-supported"):
        da.tree.forward_dynamics_derivatives(closed, closed.state())
    absolute = da.equations(m)
    with raises(ModelError, "wrong-type"):
        da.tree.inverse_dynamics_derivatives(absolute, absolute.state())
