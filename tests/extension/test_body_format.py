"""A format of flexible-body data of another package: an installed package adds it, and the command knows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dalembert as da
from tests.helpers.body_files import bent_link
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

GUEST = """
from dalembert.files.bodies.bodies import read_flexible_body, write_flexible_body
from dalembert.files.bodies.format import BODY_FORMATS, BodyFormat


def read(path, how):
    inner = path.with_name("inner.npz")
    inner.write_bytes(path.read_bytes()[::-1])
    return read_flexible_body(inner, max_bytes=how.max_bytes)


def write(data, path):
    inner = path.with_name("inner.npz")
    write_flexible_body(data, inner)
    path.write_bytes(inner.read_bytes()[::-1])


BODY_FORMATS.register("backwards", BodyFormat((".back",), read, write))
"""


@pytest.mark.slow
def test_the_installed_command_writes_and_reads_a_new_format(tmp_path: Path):
    install(tmp_path, "guest_backwards", GUEST, "dalembert.body_formats")
    link = bent_link()
    da.write_flexible_body(link, tmp_path / "link.npz")
    made = dalembert(tmp_path, "body", tmp_path / "link.npz", "--out", tmp_path / "link.back")
    assert made.returncode == 0, made.stderr
    again = dalembert(tmp_path, "body", tmp_path / "link.back", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["mass"] == link.mass
    wrong = dalembert(tmp_path, "body", tmp_path / "link.npz", "--out", tmp_path / "link.doc")
    assert wrong.returncode == 2 and ".back" in wrong.stderr
