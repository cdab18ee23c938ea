"""Accelerations by articulated bodies against the mass matrix by composite bodies: two recursions of their own."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.tree import producer
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.repetitions import few
from tests.helpers.tree_chains import chain

KINDS = ("revolute", "universal", "spherical", "planar", "screw", "fixed", "cylindrical", "prismatic")


@pytest.mark.spec("002-B3")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reverse", [False, True])
def test_the_mass_matrix_times_the_solution_is_what_was_given(
    seed: int, reverse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer, "SHORTER_THAN_FACTOR", 1)
    kinds = list(np.random.default_rng(seed).permutation(KINDS))
    eqs = da.equations(random_tree(kinds, [reverse] * len(kinds), seed), coordinates="joint")
    state, x = random_state(eqs, seed), np.arange(1.0, eqs.nv + 1.0)
    (M,), (y,) = eqs.kernel("inertia")(state.q, eqs.p, 0.0), eqs.kernel("mass_solve")(state.q, eqs.p, 0.0, x)
    # the condition number of these mass matrices is below 40, and sums have some ten terms: 1e-16 becomes 4e-14
    np.testing.assert_allclose(np.reshape(M, (eqs.nv, eqs.nv)) @ np.ravel(y), x, rtol=0, atol=1e-13 * x.max())


@pytest.mark.parametrize("count", few([producer.SHORTER_THAN_FACTOR, producer.SHORTER_THAN_FACTOR - 1]))
def test_long_chains_take_articulated_bodies_and_move_as_in_absolute_coordinates(count: int) -> None:
    m = chain(count)
    by_joints, plain = da.equations(m, coordinates="joint"), da.equations(m)
    assert ("mass_solve" in by_joints.functions) == (count >= producer.SHORTER_THAN_FACTOR)
    runs = [da.simulate(eqs, 0.2) for eqs in (by_joints, plain)]
    # both runs keep a relative error of 1e-9 in each of about a hundred steps
    np.testing.assert_allclose(
        runs[0][f"hinge{count - 1}.angle"], runs[1][f"hinge{count - 1}.angle"], rtol=0, atol=1e-7
    )


def test_operations_grow_in_proportion_to_the_number_of_joints() -> None:
    counts = [
        da.equations(chain(count), coordinates="joint").functions["mass_solve"].n_instructions()
        for count in (12, 18, 24)
    ]
    # axes repeat after three joints, so that six more joints always add the same operations
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.02)
