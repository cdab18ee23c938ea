"""The picture of planar models."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import Scene
from dalembert.studies.symbolic.quick_return import linkage
from dalembert.symbolic.planar.drawing import outline
from tests.helpers.planar_models import ring_and_disc


@pytest.mark.parametrize(
    ("points", "lines"),
    [
        ([(0, 0)], 0), ([(0, 0), (1, 1)], 1), ([(0, 0), (1, 0), (2, 0), (0.5, 0)], 3),
        ([(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 0.5)], 4),
    ],
)  # fmt: skip
def test_the_outline_of_a_body_encloses_its_nodes(points: list[tuple[float, float]], lines: int) -> None:
    found = outline(np.array(points, dtype=float))
    assert len(found) == lines
    corners = {k for line in found for k in line}
    assert 4 not in corners or len(points) < 5


def test_sliders_have_their_rails_and_nodes_their_places() -> None:
    eqs = da.equations(linkage())
    scene = eqs.scene
    assert Scene.from_json(scene.to_json()) == scene
    joints = {joint.name: joint for joint in scene.joints}
    assert joints["guide"].type == "prismatic" and joints["guide"].other.axis == pytest.approx((1, 0, 0))
    assert joints["slot"].other.body == "rocker" and joints["slot"].other.axis == pytest.approx((1, 0, 0))
    start = da.assemble(eqs)
    bodies = {body.name: body for body in scene.bodies}
    for joint in scene.joints:  # both sides of a revolute joint are drawn at one place
        if joint.type == "revolute":
            places = []
            for body, point in ((joint.body, joint.point), (joint.other.body, joint.other.point)):
                x, y, angle = (0, 0, 0) if body is None else (start[f"{body}.{c}"] for c in ("x", "y", "angle"))
                c, s = np.cos(angle), np.sin(angle)
                places.append((x + c * point[0] - s * point[1], y + s * point[0] + c * point[1]))
            assert places[0] == pytest.approx(places[1], abs=1e-12)
    assert set(bodies["rocker"].named) == {"1", "2"}


def test_a_body_with_a_radius_is_drawn_as_a_disc() -> None:
    scene = da.equations(ring_and_disc()).scene
    assert [body.shape.kind for body in scene.bodies] == ["cylinder", "cylinder"]
    assert scene.gravity == pytest.approx((9.8 * 0.8, -9.8 * 0.6, 0))
