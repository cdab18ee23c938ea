"""The scene: one description of its fields, plain data and back, and refusal of everything else."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.equations import scene as module
from dalembert.equations.scene import VERSION, Scene, SceneBody, SceneShape
from tests.helpers.findings import raises

DOCS = Path(__file__).parents[3] / "docs" / "scene.md"
PARTS = [
    kind for kind in vars(module).values() if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
]


def machine() -> da.EquationsOfMotion:
    m = da.Mechanism("all", planar=True)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(1.0))
    block = m.add_body("block", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.5, 0))
    m.add_prismatic("P", m.ground.at(1, 0), block.at(0, 0))
    m.add_spring("k", crank.at(0.5, 0), block.at(0, 0), stiffness=10.0, damping=1.0)
    m.add_spring("t", joint="A", stiffness=3.0)
    m.add_force("push", block.at(0, 0), (1, 0), input="push")
    m.add_actuator("motor", joint="A", input="torque")
    m.add_torque("twist", crank, 2.0)
    return da.equations(m)


def flexible(**changes: Any) -> dict[str, Any]:
    """A scene with a flexible body of two points and two elastic coordinates."""
    zeros = [[0, 0, 0], [0, 0, 0]]
    own = {"coordinates": ["b.mode1", "b.mode2"], "points": [[0, 0, 0], [1, 0, 0]], "modes": [[0.0] * 6] * 2}
    own |= {"lines": [[0, 1]], "nodes": [{"name": "tip", "translation": zeros, "rotation": zeros}]}
    return {"bodies": [{"name": "b", "flexible": own | changes}]}


def test_a_flexible_body_survives_json_and_names_its_elastic_coordinates() -> None:
    scene = Scene.from_json(flexible())
    assert scene.bodies[0].elastic == ("b.mode1", "b.mode2")
    assert Scene.from_json(json.loads(json.dumps(scene.to_json()))) == scene
    assert SceneBody("rigid").elastic == ()


def test_scenes_of_the_first_version_without_flexible_bodies_are_read() -> None:
    given = {**machine().scene.to_json(), "version": 1}  # type: ignore[union-attr]
    assert Scene.from_json(given) == machine().scene


def test_a_scene_survives_json() -> None:
    scene = machine().scene
    assert scene is not None and scene.springs and scene.forces and scene.torques and scene.joint_springs
    assert Scene.from_json(json.loads(json.dumps(scene.to_json()))) == scene
    assert scene.to_json()["version"] == VERSION
    assert Scene.from_json(None) == Scene()


def test_the_page_on_scenes_lists_every_field() -> None:
    rows = {
        row[0]: set(re.findall(r"`(\w+)`", row[1])) for row in re.findall(r"\| `(\w+)` \| (.*) \|", DOCS.read_text())
    }
    for kind in PARTS:
        names = {one.name for one in dataclasses.fields(kind)}
        assert names <= rows[kind.__name__], kind.__name__
    assert set(rows) == {kind.__name__ for kind in PARTS}


@pytest.mark.parametrize(
    ("given", "code", "shown"),
    [
        ({"version": 99}, "bad-version", "99"),
        ({"bodies": 3}, "damaged", "scene.bodies"),
        ({"bodies": [{"points": []}]}, "damaged", "name"),
        ({"bodies": [{"name": "b", "points": [[0, "x"]]}]}, "damaged", "scene.bodies[0].points[0][1]"),
        ({"bodies": [{"name": "b", "points": [[0, float("nan")]]}]}, "damaged", "finite"),
        ({"bodies": [{"name": "b", "pose": ["x"]}]}, "damaged", "'b'"),
        ({"bodies": [{"name": "b", "shape": {"kind": "mesh", "triangles": [[1, 2]]}}]}, "damaged", "(n, 3, 3)"),
        ({"joints": [{"name": "A", "other": 4}]}, "damaged", "scene.joints[0].other"),
        ({"springs": [{"a": ["b"]}]}, "damaged", "scene.springs[0].a"),
        ({"gravity": "down"}, "damaged", "scene.gravity"),
        ({"joints": [{"name": "A"}] * 100_001}, "damaged", "100000"),
        ([1, 2], "damaged", "scene"),
        ({"bodies": [{"name": "b", "lines": [[0]]}]}, "damaged", "2 numbers of points"),
        (flexible(modes=[[0.0] * 6]), "damaged", "1 modes and 2 elastic coordinates"),
        (flexible(modes=[[0.0] * 5] * 2), "damaged", "expected 6"),
        (flexible(modes=[[0.0] * 6, [0.0] * 5]), "damaged", "modes[1]"),
        (flexible(modes=[["x"] * 6] * 2), "damaged", "flexible.modes"),
        (flexible(modes=[[float("inf")] * 6] * 2), "damaged", "finite"),
        (flexible(modes=[[0.0] * (1_000_000 // 2 + 1)] * 2), "damaged", "1000000"),
        (flexible(lines=[[0, 2]]), "damaged", "point 2"),
        (flexible(lines=[[0, -1]]), "damaged", "lines[0]"),
        (flexible(triangles=[[0, 1]]), "damaged", "3 numbers of points"),
        (flexible(triangles=[[0, 1, 0.5]]), "damaged", "triangles[0]"),
        (flexible(nodes=[{"name": "tip", "translation": [[0, 0, 0]]}]), "damaged", "'tip'"),
    ],
)
def test_a_damaged_scene_is_refused_with_the_place_of_the_damage(given: Any, code: str, shown: str) -> None:
    with raises(DataError, code, shown):
        Scene.from_json(given)


def test_a_body_has_the_channels_of_its_name_unless_it_says_others() -> None:
    assert SceneBody("b").channels(True) == ("b.x", "b.y", "b.angle") and len(SceneBody("b").channels(False)) == 7
    assert SceneBody("b", pose=("u", "v", "w")).channels(True) == ("u", "v", "w")
    assert Scene(bodies=(SceneBody("b", shape=SceneShape("box", (1.0, 2.0))),)).to_json()["bodies"] == [
        {"name": "b", "shape": {"kind": "box", "size": [1.0, 2.0]}}
    ]
