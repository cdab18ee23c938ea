"""Parts of a structure that nothing joins."""

from __future__ import annotations

import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Section, assemble, solve_static

BEAM = {"section": Section.rectangle(0.2, 0.1), "material": "steel"}


def frame():
    f = Frame("roof", planar=True)
    f.add_points(["A", "B", "C"], [[0, 0], [2, 0], [2, 1]])
    f.add_beams(["rafter", "post"], ["A", "B"], ["B", "C"], **BEAM, elements=2)
    f.add_support("A")
    f.add_force("snow", "C", (0, -1e3))
    return f


def test_parts_that_nothing_joins_are_told_with_the_points_at_one_place():
    f = frame()
    f.add_points(["B2", "D"], [[2, 0], [3, 0]])
    f.add_beam("eaves", "B2", "D", **BEAM)
    with pytest.raises(ModelError) as error:
        solve_static(assemble(f), "snow")
    text = str(error.value)
    assert "It falls into 2 parts that nothing joins: A, B, C, rafter[1], post[1] | B2, D." in text
    assert "B and B2 are at one place, but two points." in text


def test_a_part_joined_by_a_rigid_link_is_not_told_as_apart():
    f = frame()
    f.add_points(["D", "E"], [[3, 0], [4, 0]])
    f.add_bar("tie", "D", "E", **BEAM)
    f.add_rigid("link", "B", "D")
    with pytest.raises(ModelError) as error:
        solve_static(assemble(f), "snow")
    assert "a mechanism that moves E.y" in str(error.value)
    assert "parts that nothing joins" not in str(error.value)
