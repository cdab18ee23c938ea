"""Parts of a structure that nothing joins."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Section, assemble_structure, solve_static
from dalembert.structures.assembly.free_motions import _axis, _echelon, rigid_freedom
from dalembert.structures.assembly.structure import Structure

BEAM = {"section": Section.rectangle(0.2, 0.1), "material": "steel"}


def frame():
    f = Frame("roof", planar=True)
    f.add_points(["A", "B", "C"], [[0, 0], [2, 0], [2, 1]])
    f.add_beams(["rafter", "post"], ["A", "B"], ["B", "C"], **BEAM, elements=2)
    f.add_support("A")
    f.add_force("snow", "C", (0, -1e3))
    return f


def test_parts_that_nothing_joins_are_reported_with_the_points_at_one_place():
    f = frame()
    f.add_points(["B2", "D"], [[2, 0], [3, 0]])
    f.add_beam("eaves", "B2", "D", **BEAM)
    with pytest.raises(ModelError) as error:
        solve_static(assemble_structure(f), "snow")
    text = str(error.value)
    assert "It falls into 2 parts that nothing joins: A, B, C, rafter[1], post[1] | B2, D." in text
    assert "B and B2 are at one place, but two points." in text


def test_a_part_joined_by_a_rigid_link_is_not_reported_as_apart():
    f = frame()
    f.add_points(["D", "E"], [[3, 0], [4, 0]])
    f.add_bar("tie", "D", "E", **BEAM)
    f.add_rigid("link", "B", "D")
    with pytest.raises(ModelError) as error:
        solve_static(assemble_structure(f), "snow")
    assert "a mechanism that moves E.y" in str(error.value)
    assert "parts that nothing joins" not in str(error.value)


@pytest.mark.parametrize(("angle", "name"), [(2e-5, "x"), (1e-4, "(1, 0.0001, 0)")])
def test_an_axis_is_named_where_four_digits_do_not_show_its_tilt(angle: float, name: str) -> None:
    """1 - cos = angle²/2: 2e-10 and 5e-9."""
    assert _axis(np.array([np.cos(angle), np.sin(angle), 0.0])) == name


@pytest.mark.parametrize(("size", "pivot"), [(0.5e-7, 1), (2e-7, 0)])
def test_a_pivot_of_unit_motions_is_more_than_their_error(size: float, pivot: int) -> None:
    assert _echelon(np.array([[size, 1.0]]))[0, pivot] == 1.0


@pytest.mark.parametrize(("stiffness", "free"), [(1e-13, 1), (6e-13, 0)])
def test_a_weak_spring_to_the_ground_holds_a_motion(stiffness: float, free: int) -> None:
    """Two points joined by a spring of 1: the force of their common motion over the sum of its terms is half of k."""
    K = np.array([[1.0 + stiffness, -1.0], [-1.0, 1.0]])
    s = Structure("pair", ["A", "B"], [[0, 0, 0], [1, 0, 0]], ["x"], M=np.eye(2), K=K)
    assert rigid_freedom(s, s.reduce(s.K)).shape[1] == free


@pytest.mark.parametrize(("arm", "free"), [(5e-10, 1), (1e-8, 0)])
def test_a_support_near_the_axis_holds_a_rotation(arm: float, free: int) -> None:
    """A is held in both directions, C beside it across: the rotation moves C by its arm, in parts of the size."""
    K = np.zeros((6, 6))
    K[np.ix_([0, 2], [0, 2])] = [[1.0, -1.0], [-1.0, 1.0]]  # a bar from A to B along x
    held = [True, True, False, False, False, True]
    s = Structure("bar", ["A", "B", "C"], [[0, 0, 0], [1, 0, 0], [arm, 0, 0]], ["x", "y"], M=np.eye(6), K=K, held=held)
    assert rigid_freedom(s, s.reduce(s.K)).shape[1] == free
