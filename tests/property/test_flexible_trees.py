"""Random trees of flexible bodies in joint coordinates against the same trees in absolute coordinates.

Bodies of point masses, hung by any node, on joints of every kind and in branches; stiffening of every kind. Two
formulations are asked to agree to 1e-9; trees of three bodies differed by at most 1e-11 of the largest acceleration.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from tests.helpers.joint_coordinates import (
    FREEDOMS,
    agree,
    agree_linearly,
    close_loop,
    random_state,
    random_tree,
)
from tests.helpers.repetitions import few

bodies = st.lists(
    st.tuples(st.sampled_from([*FREEDOMS, "floating"]), st.booleans(), st.integers(0, 3)), min_size=2, max_size=3
).filter(lambda found: any(modes for _, _, modes in found))


def make(found: list[tuple[str, bool, int]], seed: int, stiffening: bool, *, chain: bool = False) -> da.Mechanism:
    kinds, flips, modes = (list(column) for column in zip(*found, strict=True))
    return random_tree(kinds, flips, seed, modes=modes, stiffening=stiffening, chain=chain)


@pytest.mark.spec("001-C13", "001-C18", "001-C26", "001-C29")
@given(bodies, st.booleans(), st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 4)
def test_flexible_trees_move_alike_in_joint_and_in_absolute_coordinates(
    found: list[tuple[str, bool, int]], stiffening: bool, seed: int
) -> None:
    m = make(found, seed, stiffening)
    joint, plain = da.equations(m, coordinates="joint"), da.equations(m)
    assert not joint.rows and set(joint.elastic) == set(plain.elastic)
    agree(joint, random_state(joint, seed), plain)


@pytest.mark.spec("001-C18", "001-C24", "001-C26", "001-C29")
@given(bodies, st.booleans(), st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 8)
def test_the_closed_form_is_the_recursion_and_absolute_coordinates(
    found: list[tuple[str, bool, int]], stiffening: bool, seed: int
) -> None:
    """Of trees where no mode moves the node that carries its body: floating bodies carry the others."""
    kinds, flips, modes = (list(column) for column in zip(*found, strict=True))
    flips = [flip and kind != "floating" for kind, flip in zip(kinds, flips, strict=True)]
    m = random_tree(kinds, flips, seed, modes=modes, stiffening=stiffening, clamped=True)
    closed, recursive = da.equations(m, coordinates="joint", form="closed"), da.equations(m, coordinates="joint")
    state = random_state(closed, seed)
    agree(closed, state, da.equations(m))
    ours, theirs = da.forward_dynamics(closed, state), da.forward_dynamics(recursive, state)
    values = np.array([[ours[n], theirs[n]] for n in closed.speeds.names])
    assert np.abs(np.diff(values)).max() < 1e-9 * (1 + np.abs(values).max())


@pytest.mark.parametrize(("modes", "stiffening", "seed"), few([((2, 1, 0), False, 1), ((0, 2, 0), True, 2)]))
def test_loops_of_flexible_bodies_are_closed_by_rows_in_every_form(
    modes: tuple[int, ...], stiffening: bool, seed: int
) -> None:
    kinds = ["revolute", "spherical", "universal"]
    m = random_tree(kinds, [False] * 3, seed, chain=True, modes=modes, stiffening=stiffening, clamped=True)
    _, pose = close_loop(m, "spherical", seed)
    plain = da.equations(m)
    for form in ("recursive", "closed"):
        joint = da.equations(m, coordinates="joint", cut=["loop"], form=form)
        assert len(joint.rows) == 3
        state = da.assemble(joint, start=pose)
        assert np.abs(state.v).max() > 0.1
        agree(joint, state, plain)


@pytest.mark.slow
@given(bodies, st.booleans(), st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 4)
def test_flexible_trees_have_the_same_linear_models(
    found: list[tuple[str, bool, int]], stiffening: bool, seed: int
) -> None:
    m = make(found, seed, stiffening)
    joint, plain = da.equations(m, coordinates="joint"), da.equations(m)
    state = random_state(joint, seed)
    agree_linearly(joint, state, plain, agree(joint, state, plain))


@pytest.mark.slow
@given(bodies, st.booleans(), st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 4)
def test_eliminated_rows_leave_the_equations_of_the_tree(
    found: list[tuple[str, bool, int]], stiffening: bool, seed: int
) -> None:
    """The second judge: absolute coordinates whose rows are eliminated for joints and modes, at a bent pose."""
    hinged = [("revolute", flip, modes) for _, flip, modes in found]
    m = make(hinged, seed, stiffening, chain=True)
    joint = da.equations(m, coordinates="joint")
    reduced = da.equations(da.equations(m), coordinates=list(joint.coordinates.names))
    state = random_state(joint, seed)
    rng = np.random.default_rng(seed)
    start = da.assemble(reduced, dict(zip(joint.coordinates.names, 0.1 * rng.normal(size=joint.nq), strict=True)))
    state = joint.state([start[name] for name in joint.coordinates.names], rng.normal(size=joint.nv))
    other = reduced.state(start.q, [state[name] for name in reduced.speeds.names])
    one, two = da.forward_dynamics(joint, state), da.forward_dynamics(reduced, other)
    names = [n for n in joint.measures.names if n in reduced.measures.index]
    values = np.array([[one[n], two[n]] for n in names])
    assert np.abs(np.diff(values)).max() < 1e-9 * (1 + np.abs(values).max())
