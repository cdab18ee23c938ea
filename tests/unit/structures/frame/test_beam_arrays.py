"""Frames: members that start or end inside other members, and a height direction of their own."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Material, Section, assemble_structure, solve_static
from dalembert.structures.frame.beam_arrays import _cut
from tests.helpers.findings import raises

STEEL = Material("steel", E=210e9, density=7850.0)
BEAM = {"section": Section.rectangle(0.2, 0.1), "material": STEEL}


def braced(inner):
    """A column with a brace to its middle: a point of its own there, or the one between its elements."""
    f = Frame("braced", planar=True)
    f.add_points(["foot", "top", "wall"], [[0, 0], [0, 4], [3, 0]])
    if inner:
        f.add_beam("column", "foot", "top", **BEAM, elements=4)
        f.add_beam("brace", "column[2]", "wall", **BEAM, elements=3)
        f.add_bar("tie", "brace[2]", "top", **BEAM)
    else:
        f.add_points(["middle", "third"], [[0, 2], [2, 2 - 4 / 3]])
        f.add_beams("column", ["foot", "middle"], ["middle", "top"], **BEAM, elements=2)
        f.add_beam("brace", "middle", "third", **BEAM, elements=2)
        f.add_beam("rest", "third", "wall", **BEAM)
        f.add_bar("tie", "third", "top", **BEAM)
    f.add_support(["foot", "wall"], "pinned")
    f.add_force("wind", "top", (1e3, 0))
    return assemble_structure(f)


def test_members_may_start_and_end_inside_others():
    ours, theirs = braced(True), braced(False)
    assert ours.points[:3] == ("foot", "top", "wall")
    found, expected = (solve_static(s, "wind").displacement["top"] for s in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    np.testing.assert_allclose(ours.modes(6).frequencies, theirs.modes(6).frequencies, rtol=1e-11)


def test_supports_masses_springs_and_loads_may_sit_inside_a_beam():
    f = Frame("line", planar=True)
    f.add_points(["A", "B"], [[0, 0], [2, 0]])
    f.add_beam("beam", "A", "B", **BEAM, elements=4)
    f.add_support(["A", "B", "beam[1]"], "y")
    f.add_support("A", "x")
    f.add_mass("m", "beam[1]", 2.0)
    f.add_spring("s", "beam[3]", None, 1e30, direction="y")
    f.add_force("f", "beam[1]", (0, -1.0))
    f.add_force("f", "beam[3]", (0, -5.0))
    solution = solve_static(assemble_structure(f), "f")
    assert solution.reaction["beam[1].y"] == pytest.approx(1.0, rel=1e-9)
    assert solution.displacement["beam[3].y"] == pytest.approx(-5e-30, rel=1e-9)


def test_members_may_be_given_before_those_they_end_in():
    f = Frame("tree")
    f.add_points(["A", "B", "C", "D"], [[0, 0, 0], [0, 0, 4], [4, 0, 2], [2, 2, 2]])
    f.add_beam("twig", "branch[1]", "D", **BEAM, elements=2)
    f.add_beam("branch", "stem[2]", "C", **BEAM, elements=2)
    f.add_beam("stem", "A", "B", **BEAM, elements=4)
    s = assemble_structure(f)
    places = dict(zip(s.points, s.positions.tolist()))
    assert places["stem[2]"] == [0, 0, 2] and places["branch[1]"] == [2, 0, 2] and places["twig[1]"] == [2, 1, 2]


def test_members_that_end_in_each_other_have_no_place():
    f = Frame("circle", planar=True)
    f.add_points(["A", "B"], [[0, 0], [1, 0]])
    f.add_beam("one", "A", "two[1]", **BEAM, elements=2)
    f.add_beam("two", "B", "one[1]", **BEAM, elements=2)
    f.add_beam("own", "A", "own[1]", **BEAM, elements=2)
    with raises(ModelError, "no-solution", "'one'", "'two'", "'own'"):
        assemble_structure(f)


def test_names_of_ends_may_come_from_a_generator():
    f = Frame("row", planar=True)
    f.add_points("p", [[0, 0], [1, 0], [2, 0]])
    f.add_beams("b", (f"p{k}" for k in (1, 2)), (f"p{k}" for k in (2, 3)), **BEAM)
    assert assemble_structure(f).groups[0].beams == ("b1", "b2")


def test_every_member_of_a_set_may_have_its_own_height_direction():
    f = Frame("posts")
    f.add_points("a", [[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    f.add_points("b", [[0, 0, 1], [1, 0, 1], [2, 0, 1]])
    ups = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0.5]])
    f.add_beams("post", ["a1", "a2", "a3"], ["b1", "b2", "b3"], **BEAM, up=ups, elements=2)
    y = assemble_structure(f).groups[0].R[::2, 1]
    np.testing.assert_allclose(y, [[1, 0, 0], [0, 1, 0], [np.sqrt(0.5), np.sqrt(0.5), 0]], rtol=0, atol=1e-15)
    with raises(ModelError, "wrong-shape", "'x...'", "3", "(3, 3)"):
        f.add_beams("x", ["a1", "a2", "a3"], ["b2", "b3", "b1"], **BEAM, up=ups[:2])
    f.add_beams(["x", "y"], ["a1", "a2"], ["a2", "a3"], **BEAM, up=[[0, 0, 1], [1, 0, 0]])
    with raises(ModelError, "parallel", "'y'"):
        assemble_structure(f)


@pytest.mark.parametrize(("factor", "jumps"), [(0.9, 0), (1.1, 1)])
def test_a_load_that_starts_at_the_end_of_an_element_makes_no_jump(factor: float, jumps: int) -> None:
    one = np.ones(6)
    found = _cut(1.0 - factor * 1e-9, 2.0, one, one, np.zeros((3, 2, 6)), 0.5)
    assert len({element for element, _, _ in found}) == jumps
