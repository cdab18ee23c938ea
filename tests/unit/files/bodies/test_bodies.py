"""Which file is read and written how."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da
from dalembert.core.errors import DataError, FileFormatError
from dalembert.files.bodies.format import BODY_FORMATS, BodyFormat, find_format, suffixes
from tests.helpers.body_files import assert_same, bent_link
from tests.helpers.findings import raises


def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path):
    with raises(FileFormatError, "unknown-suffix", ".mnf", ".npz", ".sid_fem"):
        da.read_flexible_body(tmp_path / "rod.mnf")


def test_what_is_no_data_is_not_written(tmp_path: Path):
    with raises(DataError, "wrong-type", "str"):
        da.write_flexible_body("rod", tmp_path / "rod.npz")  # type: ignore[arg-type]


def test_a_folder_is_not_read(tmp_path: Path):
    (tmp_path / "rod.npz").mkdir()
    with raises(FileFormatError, "not-readable", "rod.npz"):
        da.read_flexible_body(tmp_path / "rod.npz")


def test_a_suffix_in_capitals_means_the_same(tmp_path: Path):
    assert find_format(tmp_path / "rod.SID_FEM") is BODY_FORMATS["sid"]
    assert ".npz" in suffixes(written=True) and ".toml" in suffixes() and ".toml" not in suffixes(written=True)


def test_descriptors_of_matrices_are_not_written(tmp_path: Path):
    with raises(FileFormatError, "not-supported", ".npz"):
        da.write_flexible_body(bent_link(), tmp_path / "rod.toml")
    assert not (tmp_path / "rod.toml").exists()


@pytest.fixture
def guest():
    """A format of another package: files that hold the name of an own file."""

    def read(path, how):
        return da.read_flexible_body(path.with_name(path.read_text()), max_bytes=how.max_bytes)

    BODY_FORMATS.register("pointer", BodyFormat((".pointer",), read))
    yield
    BODY_FORMATS.unregister("pointer")


def test_a_format_of_another_package_is_read(tmp_path: Path, guest):
    link = bent_link()
    da.write_flexible_body(link, tmp_path / "link.npz")
    (tmp_path / "link.pointer").write_text("link.npz")
    assert_same(link, da.read_flexible_body(tmp_path / "link.pointer"))
    (tmp_path / "link.pointer").write_text("lost.npz")
    with raises(FileFormatError, "no-such-file", "lost.npz"):  # the file that is wrong, not the one that names it
        da.read_flexible_body(tmp_path / "link.pointer")
