"""Random trees of parts: the recursive complement annihilates all constraints; recursion and flat system move alike.

Domain: leaves of two to three unit-scale masses with coupled inertia, one constraint in each leaf and one in each
assembly, coefficients between 0.3 and 2 in size, two levels. Condition numbers stay below 1e6, so that 1e-9 is left.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.symbolic.modular import Assembly, Leaf, modular_model


def row(rng: Any, symbols: list[Any], place: Any) -> Any:
    weights = rng.uniform(0.3, 2.0, len(symbols)) * rng.choice([-1, 1], len(symbols))
    return sum(w * (1 + 0.2 * ca.sin(place)) * s if k == 0 else w * s for k, (w, s) in enumerate(zip(weights, symbols,
               strict=True)))  # fmt: skip


def make_leaf(rng: Any, name: str) -> Leaf:
    leaf = Leaf(name)
    n = int(rng.integers(2, 4))
    q = [leaf.add_coordinate(f"q{k}") for k in range(n)]
    v = [leaf.rate(one) for one in q]
    root = rng.normal(size=(n, n))
    M = root @ root.T + np.eye(n)
    leaf.add_kinetic_energy(ca.bilin(ca.DM(M), ca.vertcat(*v), ca.vertcat(*v)) / 2)
    leaf.add_potential(ca.sumsqr(ca.vertcat(*q)))
    leaf.constrain(row(rng, v, q[0]), "own")
    return leaf


def make_tree(seed: int) -> Assembly:
    rng = np.random.default_rng(seed)
    branches = []
    for k in range(2):
        leaves = [make_leaf(rng, f"l{j}") for j in range(int(rng.integers(1, 3)))]
        branch = Assembly(f"b{k}", leaves)
        extra = branch.add_coordinate("e")
        rates = [branch.rate(f"{leaf.name}.q0") for leaf in leaves]
        branch.constrain(row(rng, [branch.rate("e"), *rates], extra), "link")
        branches.append(branch)
    root = Assembly("tree", branches)
    root.constrain(row(rng, [root.rate("b0.e"), root.rate("b1.e"), root.rate("b1.l0.q1")], root["b0.e"]), "tie")
    return root


@pytest.mark.spec("002-A14", "002-F3", "002-E1")
@given(st.integers(0, 10_000))
def test_recursion_and_flat_system_agree(seed: int) -> None:
    model = modular_model(make_tree(seed))
    product = model.jacobian() @ model.S
    assert np.abs(model.points.evaluate(product.entries, 0)).max() < 1e-9
    point = model.points.all[0]
    labels = [*model.motion.labels(0), *model.motion.labels(1)]
    values = dict(zip(labels, np.concatenate(point.columns[:2]), strict=True))
    flat = model.accelerations(values, t=float(point.columns[-1][0]))
    explicit = model.explicit()
    found = np.array(model.motion.function([ca.vertcat(*explicit.values())], 1)(*point.arguments(1, 2))).ravel()
    np.testing.assert_allclose(found, [flat[name] for name in explicit], rtol=1e-9, atol=1e-9)
    forces = model.at(model.tree.constrained, values | flat)  # f̄ = 0 on the motion
    assert np.abs(forces.entries).max() < 1e-9
