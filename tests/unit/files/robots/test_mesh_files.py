"""Meshes of robots: where they are looked for, what an OBJ file may hold, and bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import FileFormatError
from dalembert.files.robots import mesh_files
from dalembert.files.robots.mesh_files import MeshFiles, find_file, read_obj
from tests.helpers.findings import raises

SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"


def test_a_polygon_is_a_fan_of_triangles(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(SQUARE)
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(read_obj(tmp_path / "a.obj"), corners[[[0, 1, 2], [0, 2, 3]]])


@pytest.mark.parametrize(
    ("name", "code"),
    [("a.obj", None), ("package://robot/a.obj", None), ("package://a.obj", None), ("file://a.obj", None),
     ("../b.obj", "outside-folder"), ("package://robot/../../b.obj", "outside-folder"), ("link.obj", "outside-folder"),
     ("c.obj", "no-such-file"), ("a\0.obj", "no-such-file"), ("a" * 5000, "no-such-file"), ("", "no-such-file")],
)  # fmt: skip
def test_files_are_found_beneath_their_folders_alone(tmp_path: Path, name: str, code: str | None) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    for file in (folder / "a.obj", tmp_path / "b.obj"):
        file.write_text(SQUARE)
    (folder / "link.obj").symlink_to(tmp_path / "b.obj")
    if code is None:
        assert find_file(name, [folder]) == (folder / "a.obj").resolve()
    else:
        with raises(FileFormatError, code):
            find_file(name, [folder])


@pytest.mark.parametrize(
    ("bound", "value", "refused"),
    [("text_bytes", len(SQUARE), False), ("text_bytes", len(SQUARE) - 1, True), ("corners", 4, False),
     ("corners", 3, True), ("triangles", 2, False), ("triangles", 1, True),
     ("points", 4, False), ("points", 3, True)],
)  # fmt: skip
def test_sizes_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, refused: bool
) -> None:
    (tmp_path / "a.obj").write_text(SQUARE)
    monkeypatch.setattr(mesh_files, bound.upper(), value)
    meshes = MeshFiles([tmp_path])
    if refused:
        with pytest.raises(FileFormatError) as caught:
            meshes.read("a.obj")
        assert caught.value.code in ("too-large", "bad-syntax")
    else:
        assert len(meshes.read("a.obj")) == 2
