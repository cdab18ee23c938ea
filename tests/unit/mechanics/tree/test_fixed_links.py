"""Bodies on fixed joints as parts of others: the same mass matrix, forces and energy with fewer links.

Sums of a few dozen numbers of order one: 1e-13 is their rounding.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.tree.algorithms.energy import tree_energy
from dalembert.mechanics.tree.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.mechanics.tree.algorithms.mass_matrix import mass_blocks, scatter
from dalembert.mechanics.tree.fixed_links import merge_fixed_links
from dalembert.mechanics.tree.link_tree import LinkTree
from tests.helpers.joint_coordinates import random_state, random_tree

KINDS = ["fixed", "revolute", "fixed", "spherical", "fixed", "fixed", "free", "fixed", "revolute"]


def results(eqs: da.EquationsOfMotion, merged: bool, seed: int = 0) -> list[np.ndarray]:
    tree = eqs.tree
    assert isinstance(tree, LinkTree)
    links, inertias = merge_fixed_links(tree.links, tree.inertias) if merged else (tree.links, tree.inertias)
    efforts = tree.spread(inverse_dynamics(links, inertias, tree.gravity, tree.a))
    values = [scatter(mass_blocks(links, inertias), tree.nv), efforts, tree_energy(links, inertias)]
    function = ca.Function("f", [tree.q, tree.v, tree.a, tree.p, tree.t], [ca.densify(ca.SX(x)) for x in values])
    state = random_state(eqs, seed)
    found = function.call([state.q, state.v, np.linspace(-1, 1, eqs.nv), eqs.p, 0.0])
    return [np.array(x) for x in found]


@pytest.mark.parametrize("seed", range(4))
def test_the_dynamics_stay_the_same(seed: int) -> None:
    eqs = da.equations(random_tree(KINDS, [bool(k % 2) for k in range(len(KINDS))], seed), coordinates="joint")
    for ours, theirs in zip(results(eqs, True, seed), results(eqs, False, seed), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * max(1.0, np.abs(theirs).max()))
    tree = eqs.tree
    assert isinstance(tree, LinkTree)
    assert all(link.columns for link in tree.moving[0])


def test_planar_bodies_and_bodies_without_mass_are_merged() -> None:
    m = da.Mechanism("planar", planar=True)
    a, b = m.add_body("a", mass=1.0, inertia=0.1), m.add_body("b", mass=0.6, inertia=0.05)
    tool, frame = m.add_body("tool", mass=0.2, inertia=0.01), m.add_body("frame", mass=0.0, inertia=0.0)
    m.add_revolute("A", m.ground.at(0.1, 0), a.at(-0.4, 0.1))
    m.add_revolute("B", a.at(0.4, 0), b.at(-0.2, 0))
    m.add_fixed("C", tool.at(0.1, 0.2), b.at(0.2, 0))
    m.add_fixed("D", tool.at(0.3, 0), frame.at(0, 0))
    eqs = da.equations(m, coordinates="joint")
    for ours, theirs in zip(results(eqs, True), results(eqs, False), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_a_body_whose_mass_is_a_parameter_stays_a_link() -> None:
    m = da.Mechanism("arm")
    arm, tool = m.add_body("arm", mass=1.0, inertia=0.1), m.add_body("tool", mass=m.parameter("m", 0.5), inertia=0.01)
    bolt = m.add_body("bolt", mass=0.1, inertia=0.001)
    m.add_revolute("A", m.ground.at(0, 0, 0), arm.at(-0.4, 0, 0), axis=(0, 1, 0))
    m.add_fixed("B", arm.at(0.4, 0, 0), tool.at(0, 0.1, 0))
    m.add_fixed("C", tool.at(0.1, 0, 0), bolt.at(0, 0, 0.1))
    eqs = da.equations(m, coordinates="joint")
    tree = eqs.tree
    assert isinstance(tree, LinkTree)
    assert [link.name for link in tree.moving[0]] == ["arm", "tool", "bolt"]
    for ours, theirs in zip(results(eqs, True), results(eqs, False), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_a_tree_without_fixed_joints_keeps_its_links() -> None:
    tree = da.equations(random_tree(["revolute"] * 3, [False] * 3, 0), coordinates="joint").tree
    assert isinstance(tree, LinkTree)
    assert all(a is b for a, b in zip(tree.moving[0], tree.links, strict=True))
    other = replace(tree.links[0], columns=())
    assert merge_fixed_links([other], tree.inertias[:1]) == ([], [])
