"""Pictures of flexible bodies move as their nodes do."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.model.flexible import BodyPicture, FlexibleBodyData
from dalembert.structures import Beam, Frame, Section, Solid, assemble_structure, box_mesh, flexible_body


def frame() -> Frame:
    made = Frame("link")
    made.add_points(["root", "tip"], [[0, 0, 0], [0.6, 0.3, 0.0]])
    made.add_beam("link", "root", "tip", section=Section.circle(0.02), material="steel", elements=3)
    return made


def picture_of(data: FlexibleBodyData) -> BodyPicture:
    assert data.picture is not None
    return data.picture


def at(picture: BodyPicture, place: object) -> np.ndarray:
    return np.array(picture.modes[int(np.argmin(np.linalg.norm(picture.points - np.asarray(place), axis=1)))])


def test_lines_of_beams_are_bent_and_end_at_their_nodes() -> None:
    data = flexible_body(frame(), fixed="root", modes=3)
    picture = picture_of(data)
    assert len(picture.lines) >= 16
    assert not len(picture.triangles)
    np.testing.assert_allclose(at(picture, data.node("tip").place), data.node("tip").translation, rtol=0, atol=1e-12)
    np.testing.assert_allclose(at(picture, (0, 0, 0)), 0.0, rtol=0, atol=1e-12)


def test_surface_of_a_solid_moves_with_its_points() -> None:
    solid = Solid("bar", box_mesh((1, 0.1, 0.05), (8, 2, 2)), "steel")
    solid.add_interface("root", "x=0")
    data = flexible_body(solid, fixed="root", modes=2, nodes={"root": "root", "corner": "p8"})
    picture = picture_of(data)
    assert len(picture.triangles) == 2 * 2 * (8 * 2 + 8 * 2 + 2 * 2)
    np.testing.assert_allclose(
        at(picture, data.node("corner").place), data.node("corner").translation, rtol=0, atol=1e-12
    )


@pytest.mark.slow
def test_large_surfaces_are_simplified() -> None:
    solid = Solid("block", box_mesh((1, 1, 0.5), (24, 24, 12)), "steel")
    solid.add_interface("root", "x=0")
    from dalembert.structures.flexible_body.picture import TRIANGLES, _surface

    points, triangles = _surface(assemble_structure(solid).groups[0])  # type: ignore[arg-type]
    assert 500 < len(triangles) <= TRIANGLES
    assert triangles.max() == len(points) - 1
    reach = np.ptp(solid.mesh.points[points], axis=0)
    assert reach == pytest.approx([1, 1, 0.5], rel=0.1)


def test_matrices_are_drawn_by_what_they_join() -> None:
    s = assemble_structure(frame())
    data = flexible_body((s.M, s.K), positions=s.positions, nodes={"a": "p0"}, basis="free", modes=2)
    assert len(picture_of(data).lines) == 3


def test_beams_and_bodies_can_be_drawn_and_reported(tmp_path: object) -> None:
    for data in (flexible_body(frame(), fixed="root", modes=3), flexible_body(Beam(1.0, EI=1.0, rhoA=1.0), modes=2)):
        figure = da.plot(data)
        assert len(figure.axes) == data.modes
        with pytest.raises(da.errors.DataError):
            da.plot(data, mode=9)
        path = tmp_path / f"{data.name}.html"  # type: ignore[operator]
        da.report(data, path)
        text = path.read_text("utf-8")
        assert f"Flexible body &#x27;{data.name}&#x27;" in text
        assert "All comparisons are within their limits." in text
