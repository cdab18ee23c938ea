"""Derivatives of forward dynamics are those of articulated bodies, and belong to those of inverse dynamics.

Mass matrices of these trees have condition numbers below 1e4: 1e-11 of the largest entry is the rounding of a solution.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import EquationsOfMotion, State
from dalembert.mechanics.tree.algorithms import inverse_dynamics_derivatives
from dalembert.mechanics.tree.link_tree import LinkTree
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.native_code import assert_native_equals_interpreter, random_rows
from tests.helpers.tree_derivatives import differentiate_expressions

KINDS = ["revolute", "spherical", "universal", "free", "fixed"]
ROUNDING = 1e-11
FORMS = {"scalars": 1000, "vectors": 1}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(inverse_dynamics_derivatives, "SHORTEST_VECTOR", FORMS[request.param])
    return str(request.param)


def assert_derivatives(eqs: EquationsOfMotion, state: State) -> None:
    effort = np.random.default_rng(1).normal(size=eqs.nv)
    found = da.tree.forward_dynamics_derivatives(eqs, state, effort)
    expected = differentiate_expressions(eqs, "forward_dynamics", state, effort)
    for name, ours, theirs in zip(found._fields, found, expected, strict=True):
        size = np.abs(theirs).max(initial=1.0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDING * size, err_msg=name)


@pytest.mark.parametrize("reverse", [False, True])
def test_trees_have_the_derivatives_of_articulated_bodies(reverse: bool, form: str) -> None:
    eqs = da.equations(random_tree(KINDS[1:], [reverse] * 4, 2), coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 2))


def test_planar_trees_have_the_derivatives_of_articulated_bodies(form: str) -> None:
    m = da.Mechanism("planar", planar=True)
    previous = m.ground.at(0, 0)
    for k in range(4):
        body = m.add_body(f"b{k}", mass=1.0 + k, inertia=0.1)
        (m.add_prismatic if k == 2 else m.add_revolute)(f"j{k}", previous, body.at(-0.3, 0.1 * k))
        previous = body.at(0.3, 0)
    eqs = da.equations(m, coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 2))


def test_the_derivatives_belong_to_those_of_inverse_dynamics(form: str) -> None:
    eqs = da.equations(random_tree(KINDS, [False] * 5, 4), coordinates="joint")
    state, effort = random_state(eqs, 4), np.linspace(-1, 1, eqs.nv)
    a = da.tree.forward_dynamics(eqs, state, effort)
    forward = da.tree.forward_dynamics_derivatives(eqs, state, effort)
    inverse = da.tree.inverse_dynamics_derivatives(eqs, state, a)
    for ours, theirs in ((forward.da_dq, -inverse.dtau_dq), (forward.da_dv, -inverse.dtau_dv)):
        np.testing.assert_allclose(inverse.dtau_da @ ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())
    np.testing.assert_allclose(inverse.dtau_da @ forward.da_dtau, np.eye(eqs.nv), rtol=0, atol=1e-11)


def test_native_code_of_vectors_has_the_bits_of_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverse_dynamics_derivatives, "SHORTEST_VECTOR", 1)
    tree = da.equations(random_tree(["revolute"] * 9, [False] * 9, 0), coordinates="joint").tree
    assert isinstance(tree, LinkTree)
    function = tree.function("forward_dynamics_derivatives")
    assert_native_equals_interpreter(function, random_rows(function, 3))
