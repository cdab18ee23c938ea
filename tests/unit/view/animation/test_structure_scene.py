"""Scenes of structures: modes, buckling and responses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.record import Record
from dalembert.view.animation.structure_scene import structure_data
from tests.helpers.findings import raises


def turning(**more: Any) -> Record:
    t = np.linspace(0.0, 1.0, 31)
    channels = {"b.x": np.cos(t), "b.y": np.sin(t), "b.angle": t, "push": 2.0 * t}
    scene = {"planar": True, "bodies": [{"name": "b", "points": [[0, 0, 0], [1, 0, 0]], "lines": [[0, 1]]}], **more}
    return Record.from_channels(t, channels, name="turning", scene=scene)


def cantilever(planar: bool = True) -> da.structures.Frame:
    frame = da.structures.Frame("cantilever", planar=planar)
    frame.add_point("A", (0, 0) if planar else (0, 0, 0))
    frame.add_point("B", (1, 0) if planar else (1, 0, 0))
    frame.add_beam("beam", "A", "B", section=da.structures.Section.rectangle(0.02, 0.01), material="steel", elements=4)
    frame.add_support("A", "fixed")
    return frame


def test_shapes_of_modes_reach_one_at_their_largest() -> None:
    found = structure_data(cantilever(), None, 3, 30, 1.0)
    assert len(found["modes"]) == 3
    assert np.linalg.norm(found["shapes"], axis=2).max(axis=1) == pytest.approx([1.0] * 3, rel=1e-6)
    assert found["clock"] == "phase"
    assert found["planar"]


def test_modes_buckling_and_responses_are_drawn_on_their_structure() -> None:
    structure = da.structures.assemble_structure(cantilever())
    modes = structure.modes(2)
    for made in (da.animate(modes, structure=structure), da.animate(structure, modes=modes)):
        assert len(made._data["modes"]) == 2
    found = da.structures.find_buckling(structure, {"B.x": -1.0}, count=2)
    assert made._data["shapes"].shape == da.animate(found)._data["shapes"].shape
    assert da.animate(found)._data["modes"][0]["title"].startswith("load ×")


def test_a_response_is_a_sum_of_few_shapes_and_loses_nothing() -> None:
    structure = da.structures.assemble_structure(cantilever())
    modes = structure.modes(2)
    t = np.linspace(0.0, 1.0, 31)
    u = (np.real(modes.shapes) @ np.stack([np.sin(5 * t), np.cos(9 * t)])).T
    found = structure_data(Record(t, u, structure.free), structure, None, 30, 1.0)
    assert found["shapes"].shape[0] == 2
    drawn = np.tensordot(found["weights"].T, found["shapes"], 1)
    tip = structure.points.index("B")
    assert drawn[:, tip, 1] == pytest.approx(u[:, structure.free.index("B.y")], rel=1e-5, abs=1e-6 * np.abs(u).max())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: da.animate(da.structures.assemble_structure(cantilever()).modes(2)), "no-scene"),
        (
            lambda: da.animate(cantilever(False), modes=da.structures.assemble_structure(cantilever()).modes(2)),
            "wrong-owner",
        ),
        (lambda: da.animate(cantilever(), modes=0), "wrong-type"),
        (lambda: da.animate(cantilever(), trail="A"), "ineffective-argument"),
        (lambda: da.animate(turning(), modes=3), "ineffective-argument"),
        (lambda: da.animate(turning(), structure=cantilever()), "missing-channel"),
        (lambda: da.animate(3), "wrong-type"),
    ],
)
def test_what_does_not_belong_together_is_refused(call: Any, message: str) -> None:
    with raises(DataError, message):
        call()
