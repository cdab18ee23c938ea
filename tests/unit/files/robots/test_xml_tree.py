"""XML of robots: lines, bounds, and what a file may not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalembert.errors import FileFormatError
from dalembert.files.robots import xml_tree
from dalembert.files.robots.xml_tree import parse_xml, read_xml, root_tag
from tests.helpers.findings import raises


def test_nodes_have_their_lines_attributes_and_children() -> None:
    root = parse_xml(b'<robot name="r">\n <link/>\n <joint type="fixed">\n  <axis/></joint></robot>', "r.urdf")
    assert [(one.tag, one.line) for one in root.children] == [("link", 2), ("joint", 3)]
    joint = root.first("joint")
    assert joint is not None and joint.attributes == {"type": "fixed"} and joint.children[0].line == 4


@pytest.mark.parametrize(("depth", "refused"), [(64, False), (65, True)])
def test_depth_is_bounded(depth: int, refused: bool) -> None:
    text = b"<a>" * depth + b"</a>" * depth
    if refused:
        with raises(FileFormatError, "too-large"):
            parse_xml(text, "a.urdf")
    else:
        parse_xml(text, "a.urdf")


def test_size_is_bounded_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.urdf"
    path.write_bytes(b"<robot/>")
    for most, refused in ((8, False), (7, True)):
        monkeypatch.setattr(xml_tree, "FILE_BYTES", most)
        if refused:
            with raises(FileFormatError, "too-large"):
                read_xml(path)
        else:
            assert read_xml(path).tag == "robot"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("<?xml version='1.0'?><!-- arm --><robot>", "robot"), ("<mujoco/>", "mujoco"), ("", ""), ("no xml", ""),
        ("<!DOCTYPE robot><robot/>", ""),
    ],
)  # fmt: skip
def test_the_root_element_is_found_without_the_rest(tmp_path: Path, text: str, tag: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(text)
    assert root_tag(path) == tag


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"<?xml version='1.0' encoding='klingon'?><a/>", b"<a>\x00</a>"])
def test_bytes_that_are_no_text_are_refused(content: bytes) -> None:
    with raises(FileFormatError, "bad-syntax"):
        parse_xml(content, "a.urdf")
