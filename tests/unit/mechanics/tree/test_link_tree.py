"""Functions of a tree: built once at their first use, and added by one declaration."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.expressions import Expr
from dalembert.mechanics.tree.link_tree import TREE_FUNCTIONS, LinkTree, tree_function
from dalembert.tree.evaluation import evaluate
from tests.helpers.arms import arm, arm_states
from tests.helpers.findings import raises


def test_a_function_is_built_once() -> None:
    tree = arm().tree
    assert tree.function("mass_matrix") is tree.function("mass_matrix")
    assert tree.function("jacobian", "hand", "local") is not tree.function("jacobian", "hand", "world")


def test_a_declaration_adds_a_function() -> None:
    @tree_function("height", "q p t")
    def build_height(tree: LinkTree, body: str) -> list[Expr]:
        return [tree.link(body).pose.r[2]]

    try:
        eqs, states = arm(), arm_states(2)
        heights = evaluate(eqs, states, "height", "upper")[0]
        np.testing.assert_allclose(heights, [[0.3], [0.3]], atol=1e-15)  # its hinge is upright
        with raises(da.errors.ModelError, "unknown-name", "uper", "upper"):
            evaluate(eqs, states, "height", "uper")
    finally:
        TREE_FUNCTIONS.unregister("height")


def test_a_loaded_tree_takes_its_payload_last() -> None:
    function = arm().tree.load("hand.tip").function("gravity")
    assert [function.size1_in(k) for k in range(function.n_in())] == [3, 1, 1, 10]
    plain, none = arm().tree.function("gravity"), np.zeros(10)
    q = arm_states(1)[0].q
    assert np.array(ca.DM(function(q, arm().p, 0.0, none))) == pytest.approx(
        np.array(plain(q, arm().p, 0.0)), abs=1e-15
    )
