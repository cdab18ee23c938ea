"""The scene of flexible bodies: their picture, lines through nodes where they bring none, bounded sizes."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.equations.scene import SceneFlexible
from dalembert.mechanics.absolute.scene import (
    MOST_NUMBERS,
    MOST_TRIANGLES,
    describe_scene,
    merge_points,
    simplify_picture,
)
from dalembert.model.flexible import BodyPicture
from tests.helpers import flexible_parts
from tests.helpers.flexible_parts import LENGTH


def drawn(picture: BodyPicture | None, spatial: bool) -> SceneFlexible:
    body = describe_scene(flexible_parts.pendulum(picture, spatial=spatial)).bodies[0]
    assert body.flexible is not None
    return body.flexible


@pytest.mark.parametrize("spatial", [False, True])
def test_a_flexible_body_is_drawn_by_its_picture_and_not_by_its_inertia(spatial: bool) -> None:
    picture = flexible_parts.surface(spatial)
    body = describe_scene(flexible_parts.pendulum(picture, spatial=spatial)).bodies[0]
    assert body.gyration is None and body.shape is None
    assert body.elastic == ("rod.mode1", "rod.mode2", "rod.mode3")[: 3 if spatial else 2]
    assert body.flexible is not None
    assert len(body.flexible.triangles) == len(picture.triangles)
    modes = np.reshape(body.flexible.modes, (len(body.elastic), -1, 3))
    assert modes == pytest.approx(np.moveaxis(picture.modes, 2, 0), abs=1e-7)  # seven digits are kept
    assert body.named == {"root": (0, 0, 0), "middle": (LENGTH / 2, 0, 0), "tip": (LENGTH, 0, 0)}


def test_a_body_without_a_picture_is_a_line_through_its_nodes_bent_as_they_turn() -> None:
    found = drawn(None, True)
    points = np.array(found.points)
    modes = np.reshape(found.modes, (3, -1, 3))
    # between nodes a cubic with the slopes of the nodes: the quadratic and cubic modes of the beam are met exactly
    exact = np.moveaxis(flexible_parts.motion(points[:, 0], True)[0], 2, 0)
    assert modes == pytest.approx(exact, abs=2e-7)
    assert found.lines == tuple((k, k + 1) for k in range(len(points) - 1))
    assert points[[0, -1], 0] == pytest.approx([0.0, LENGTH])


def test_between_nodes_that_do_not_turn_the_line_is_straight() -> None:
    from dataclasses import replace

    import dalembert as da

    data = flexible_parts.cantilever()
    nodes = tuple(replace(node, rotation=np.zeros((3, data.modes))) for node in data.nodes)
    m = da.Mechanism("m", planar=True)
    m.add_flexible_body("rod", replace(data, nodes=nodes))
    found = describe_scene(m).bodies[0].flexible
    assert found is not None
    deflection = np.reshape(found.modes, (2, -1, 3))[0, :, 1]
    assert deflection[4] == pytest.approx(0.5 * deflection[8])  # half way to the node in the middle
    assert deflection[8] == pytest.approx(0.25)


def test_elements_that_follow_each_other_share_their_ends() -> None:
    whole = flexible_parts.lines(True, count=5)
    ends = whole.lines.ravel()  # every line with two points of its own
    pairs = np.arange(8, dtype=np.intp).reshape(-1, 2)
    apart = BodyPicture(points=whole.points[ends], modes=whole.modes[ends], lines=pairs, triangles=whole.triangles)
    found = merge_points(apart)
    assert (found.points == whole.points).all() and (found.modes == whole.modes).all()
    assert found.lines.tolist() == whole.lines.tolist()
    hinged = apart.modes.copy()
    hinged[2] += 0.1  # what moves otherwise at one place stays apart
    kept = merge_points(BodyPicture(points=apart.points, modes=hinged, lines=pairs, triangles=whole.triangles))
    assert len(kept.points) == len(whole.points) + 1


def test_a_large_picture_is_simplified_and_keeps_the_modes_of_its_points() -> None:
    large = flexible_parts.surface(True, count=5001)
    assert len(large.triangles) > MOST_TRIANGLES
    found = simplify_picture(large)
    assert len(found.triangles) <= MOST_TRIANGLES and found.modes.size <= MOST_NUMBERS
    assert found.triangles.max() < len(found.points)
    assert np.ptp(found.points, axis=0) == pytest.approx(np.ptp(large.points, axis=0), abs=LENGTH / 20)
    _, exact = np.unique(large.points, axis=0, return_index=True)
    rows = {tuple(large.points[k]): large.modes[k] for k in exact}
    assert all((rows[tuple(point)] == modes).all() for point, modes in zip(found.points, found.modes, strict=True))
