"""Nodes of flexible bodies: points, places, sets of points."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import Frame, Section, Solid, assemble_structure, box_mesh, flexible_body
from dalembert.structures.assembly.structure import rigid_motions
from dalembert.structures.flexible_body.nodes import find_nodes


def bar() -> Solid:
    solid = Solid("bar", box_mesh((1, 0.1, 0.05), (10, 2, 2)), "steel")
    solid.add_interface("L", "x=0")
    return solid


def frame() -> Frame:
    made = Frame("frame")
    made.add_points(["A", "B", "C"], [[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    made.add_beam("one", "A", "B", section=Section.circle(0.02), material="steel", elements=4)
    made.add_beam("two", "B", "C", section=Section.circle(0.02), material="steel", elements=4)
    return made


def test_interfaces_of_a_solid_and_named_points_of_a_frame_are_nodes() -> None:
    assert [node.name for node in find_nodes(assemble_structure(bar()), None)] == ["L"]
    assert [node.name for node in find_nodes(assemble_structure(frame()), None)] == ["A", "B", "C"]
    assert [node.name for node in find_nodes(assemble_structure(frame()), ["one[2]", "C"])] == ["one[2]", "C"]


@pytest.mark.parametrize(
    "what",
    ["L", "p5", "x=0.5", (1.0, 0.1, 0.05), ["p3", "p40", "p77"], np.array([4, 9, 33, 60])],
    ids=["interface", "point", "condition", "place", "names", "numbers"],
)
def test_every_node_of_a_solid_follows_a_rigid_motion(what: object) -> None:
    """A rigid rotation θ about the origin moves a node at p by θ × p and turns it by θ."""
    structure = assemble_structure(bar())
    (node,) = find_nodes(structure, {"node": what})
    motions = np.zeros((len(structure.coordinates), 6))
    motions[:] = rigid_motions(structure.positions, structure.directions)
    expected = rigid_motions(node.place[None], ("x", "y", "z", "rx", "ry", "rz"))
    np.testing.assert_allclose(node.rows @ motions, expected, rtol=0, atol=1e-12)


def test_nodes_of_planar_frames_turn_about_z() -> None:
    plane = Frame("plane", planar=True)
    plane.add_points(["A", "B"], [[0, 0], [1, 0]])
    plane.add_beam("b", "A", "B", section=Section.circle(0.02), material="steel", elements=2)
    (node,) = find_nodes(assemble_structure(plane), "B")
    assert [row for row in range(6) if node.rows[[row]].nnz] == [0, 1, 5]


def test_a_truss_turns_with_its_neighbours_or_not_at_all() -> None:
    truss = Frame("truss")
    places = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    truss.add_points(["A", "B", "C", "D"], places)
    names = [f"b{k}" for k in range(6)]
    starts, ends = ["A", "A", "A", "B", "C", "D"], ["B", "C", "D", "C", "D", "B"]
    for name, start, end in zip(names, starts, ends):
        truss.add_bar(name, start, end, section=Section.circle(0.01), material="steel")
    structure = assemble_structure(truss)
    (node,) = find_nodes(structure, "A")
    motions = rigid_motions(structure.positions, structure.directions)
    expected = rigid_motions(np.array([places[0]], dtype=float), ("x", "y", "z", "rx", "ry", "rz"))
    np.testing.assert_allclose((node.rows @ motions)[:3], expected[:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose((node.rows @ motions)[3:, 3:], np.eye(3), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["L", "L"], "duplicate"),
        ({"a": (0.31, 0.05, 0.025)}, "off-mesh"),
        ({"a": ["p0", "p1"]}, "missing-rotations"),
        ({"a": "x=7"}, "nothing-selected"),
        (5, "wrong-type"),
    ],
)
def test_bad_nodes_are_named(given: object, code: str) -> None:
    with pytest.raises(da.errors.DalembertError) as caught:
        find_nodes(assemble_structure(bar()), given)
    assert caught.value.code == code


def test_the_nearest_point_is_named_where_a_node_is_off_the_mesh() -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        find_nodes(assemble_structure(frame()), {"tip": (1.0, 0.99, 0.0)})
    assert caught.value.finding.evidence["nearest"] == "C"
    assert caught.value.finding.evidence["distance"] == pytest.approx(0.01)


def test_a_mean_of_points_cannot_be_held_but_can_carry_the_frame() -> None:
    solid = bar()
    nodes = {"L": "L", "end": "x=1"}
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body(solid, nodes=nodes, fixed="end", modes=2)
    assert caught.value.code == "not-supported"
    data = flexible_body(solid, nodes=nodes, basis="free", reference="end", modes=3)
    assert data.reference == "attached"
    assert not data.node("end").translation.any() and not data.node("end").rotation.any()
    assert data.check().sound


def test_a_solid_without_interfaces_needs_nodes() -> None:
    solid = Solid("bar", box_mesh((1, 0.1, 0.05), (4, 1, 1)), "steel")
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body(solid, basis="free")
    assert caught.value.code == "missing-argument"


# ---- edges of thresholds
