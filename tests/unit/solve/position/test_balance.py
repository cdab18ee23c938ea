"""Forces left along a coordinate, beside those at play along it: the numbers at the edges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.position.balance import forces_at_play, measure_scales, rounded_forces, sizes
from tests.helpers.flexible_parts import straight_bar

ONE = np.ones(1)


def share(left: float, force: float = 0.0, mass: float = 0.0, acceleration: float = 0.0, stiff: float = 0.0) -> float:
    scales = measure_scales(force * ONE, mass * ONE, stiff * ONE)
    return float(scales.shares(left * ONE, mass * np.eye(1), acceleration * ONE, 1e-9)[0])


def test_a_force_left_is_a_share_of_those_at_play() -> None:
    assert share(2e-9, force=2.0) == pytest.approx(1e-9)
    assert share(0.0, force=2.0, mass=0.5, acceleration=4e-9) == pytest.approx(1e-9)


def test_at_least_1_metre_per_second_squared_is_at_play_where_the_stiffness_could_give_it() -> None:
    assert share(3e-9, mass=3.0, stiff=1e3) == pytest.approx(1e-9, rel=1e-2)
    assert share(3e-9, mass=3.0, force=3e-6) == pytest.approx(1e-3)  # nothing here accelerates it by more than 1e-6


def test_accelerations_that_cancel_in_the_material_do_not_count() -> None:
    """M of an angle and a mode that is nearly that turn: 1e-9 along both, opposed, moves the mass by 1e-12."""
    M, alpha = np.array([[1.0, 1.0 - 1e-6], [1.0 - 1e-6, 1.0]]), 1e-9 * np.array([1.0, -1.0])
    scales = measure_scales(np.ones(2), np.ones(2), np.zeros(2))
    assert scales.shares(M @ alpha, M, alpha, 1e-9) == pytest.approx(1e-12, rel=1e-6)  # √(αᵀMα/2)
    assert scales.shares(M @ abs(alpha), M, abs(alpha), 1e-9) == pytest.approx(2e-9, rel=1e-6)


def test_a_stiff_coordinate_rounds_to_a_hundred_units_of_its_size() -> None:
    assert share(100 * np.finfo(float).eps * 1e12, stiff=1e12) == pytest.approx(1e-9)


def test_any_force_is_too_large_where_none_is_at_play() -> None:
    assert share(0.0) == 0.0
    assert share(1e-300) == np.inf


def test_the_components_of_a_vector_share_the_largest_and_modes_do_not() -> None:
    m = da.Mechanism("bar", planar=True)
    bar = m.add_flexible_body("bar", straight_bar(0.1, 0.01, 0.01, planar=True, modes=2), position=(3.0, 4.0))
    m.add_fixed("wall", m.ground.at(3, 4), bar.at("a"))
    eqs = da.equations(m)
    f = np.arange(1.0, eqs.nv + 1)
    F = forces_at_play(eqs, f, np.zeros((0, eqs.nv)), np.zeros(0))
    assert F.tolist() == [2.0, 2.0, *f[2:]]
    mass = np.array([2.0, 2.0, 0.1, *[0.5] * (eqs.nv - 3)])
    # lengths by the farthest place, 4 m; √(2 kg / 0.5) of a mode moves as much as 1 m of the body
    assert sizes(eqs, da.assemble(eqs).q, 0.0, mass).tolist() == pytest.approx([4.0, 4.0, 1.0, *[8.0] * (eqs.nv - 3)])


def test_a_reaction_rounds_by_the_larger_of_the_forces_on_its_two_sides() -> None:
    """A light body at a joint of a loaded one has the rounding of the load, one farther away has none of it."""
    m = da.Mechanism("chain", planar=True, gravity=0)
    bodies = [m.add_body(name, mass=1.0, inertia=1.0) for name in ("loaded", "light", "far")]
    for k, (first, second) in enumerate(pairwise(bodies)):
        m.add_revolute(f"pin{k}", first.at(1, 0), second.at(-1, 0))
    eqs = da.equations(m)
    A = np.array([[1.0, 1, 1, 1, 1, 1, 0, 0, 0], [0.0, 0, 0, 1, 1, 1, 1, 1, 1]])
    F = np.array([0.0, 0.0, 7.0, *np.zeros(6)])
    rounded = rounded_forces(eqs, np.zeros((9, 9)), A, F, np.ones(9), np.ones(9))
    assert rounded.tolist() == [7.0] * 6 + [0.0] * 3
