"""The project's own file of a flexible body: everything survives, and bad files are refused by name."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from dalembert.model.flexible import (
    BodyPicture,
    FiniteElementValues,
    FlexibleBodyData,
    FlexibleNode,
    Stiffening,
    StrainGauge,
)
from dalembert.structures import Beam, flexible_body
from tests.helpers.body_files import assert_same, bent_link, full_link
from tests.helpers.findings import raises


@pytest.fixture(scope="module")
def link():
    return full_link()


@pytest.fixture
def file(tmp_path: Path, link) -> Path:
    da.write_flexible_body(link, tmp_path / "link.npz")
    return tmp_path / "link.npz"


def change(file: Path, **arrays: Any) -> None:
    """Write the file again with other arrays; None removes one."""
    with np.load(file) as given:
        kept = {name: given[name] for name in given.files}
    for name, value in arrays.items():
        key = name.replace("__", ".")
        kept.pop(key, None) if value is None else kept.update({key: value})
    np.savez(file, **kept)


def about(file: Path, **entries: Any) -> None:
    with np.load(file) as given:
        change(file, about=np.array(json.dumps(json.loads(str(given["about"])) | entries)))


@pytest.mark.spec("001-C11")
def test_every_field_survives_to_the_last_bit(file: Path, link):
    assert link.gauges and link.stiffening.forces and link.picture.lines.size and link.finite_elements is not None
    assert_same(link, da.read_flexible_body(file))


@pytest.mark.parametrize(
    "kind", (FlexibleBodyData, FlexibleNode, StrainGauge, Stiffening, BodyPicture, FiniteElementValues)
)
def test_the_link_of_these_tests_fills_every_field(link, kind: type):
    """So that a field that is added to the data and not to the file makes the comparison above fail."""
    parts = {
        FlexibleBodyData: link, FlexibleNode: link.nodes[1], StrainGauge: link.gauges[0],
        Stiffening: link.stiffening, BodyPicture: link.picture, FiniteElementValues: link.finite_elements,
    }  # fmt: skip
    usual = {one.name: one.default for one in fields(kind) if one.default is not MISSING}
    values = {name: getattr(parts[kind], name) for name in usual}
    assert [name for name, value in values.items() if not isinstance(value, np.ndarray) and value == usual[name]] == []


def test_data_without_optional_parts_survives(tmp_path: Path):
    plain = bent_link()
    bare = type(plain)(**{
        one.name: getattr(plain, one.name) for one in fields(plain) if one.name not in ("picture", "finite_elements")
    })  # fmt: skip
    da.write_flexible_body(bare, tmp_path / "bare.npz")
    assert_same(bare, da.read_flexible_body(tmp_path / "bare.npz"))


def test_a_continuous_beam_survives(tmp_path: Path):
    beam = Beam(length=1.0, EI=80.0, rhoA=2.0, left="clamped", right="free")
    data = flexible_body(beam, name="Stäbchen 1", modes=3)
    da.write_flexible_body(data, tmp_path / "b.npz")
    assert_same(data, da.read_flexible_body(tmp_path / "b.npz"))


def test_equal_data_give_equal_files(tmp_path: Path, link):
    for name in ("a.npz", "b.npz"):
        da.write_flexible_body(link, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_numpy_opens_the_file_without_pickle(file: Path, link):
    with np.load(file, allow_pickle=False) as found:
        assert np.array_equal(found["stiffness"], link.stiffness)
        assert json.loads(str(found["about"]))["nodes"] == ["root", "bend", "tip"]


def test_a_file_that_numpy_wrote_again_is_read(file: Path, link):
    change(file)
    assert_same(link, da.read_flexible_body(file))


@pytest.mark.parametrize("part", (0.1, 0.5, 0.99))
def test_a_file_cut_short_is_refused(file: Path, part: float):
    content = file.read_bytes()
    file.write_bytes(content[: int(part * len(content))])
    with raises(FileFormatError, "damaged", "link.npz"):
        da.read_flexible_body(file)


def test_a_changed_byte_is_refused(file: Path):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(bytes(content))
    with raises(FileFormatError, "damaged"):
        da.read_flexible_body(file)


def test_an_empty_file_and_a_missing_one_are_refused(file: Path):
    file.write_bytes(b"")
    with raises(FileFormatError, "empty", "link.npz"):
        da.read_flexible_body(file)
    with raises(FileFormatError, "no-such-file", "link.npz"):
        da.read_flexible_body(file.with_name("lnk.npz"))


def test_data_of_another_version_is_refused(file: Path):
    about(file, version=2)
    with raises(FileFormatError, "bad-version", "2", "link.npz") as caught:
        da.read_flexible_body(file)
    assert caught.value.finding.evidence["version"] == 2


def test_arrays_of_another_program_are_refused(tmp_path: Path):
    np.savez(tmp_path / "other.npz", stiffness=np.eye(2))
    with raises(FileFormatError, "unknown-format", "other.npz"):
        da.read_flexible_body(tmp_path / "other.npz")


def test_a_file_too_large_is_refused_by_its_size_and_by_what_it_unpacks_to(file: Path):
    with raises(FileFormatError, "too-large", "max_bytes"):
        da.read_flexible_body(file, max_bytes=100)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(20_000_000))  # packs to 20 kB
    assert file.stat().st_size < 100_000
    with raises(FileFormatError, "too-large", "max_bytes = 1000000") as caught:
        da.read_flexible_body(file, max_bytes=1_000_000)
    assert caught.value.finding.evidence["bytes"] > 20_000_000


def test_a_shape_that_the_bytes_do_not_fill_is_refused_before_it_is_allocated(file: Path):
    head = io.BytesIO()
    shape = (10**6, 10**6)
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["stiffness.npy"] = head.getvalue() + bytes(64)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with raises(FileFormatError, "damaged", "stiffness", "1000000"):
        da.read_flexible_body(file)


def test_a_pickled_object_is_not_unpickled(file: Path):
    change(file, stiffness=np.array([object.__new__(type("Guest", (), {}))], dtype=object)[:0])
    with raises(FileFormatError, "wrong-type", "stiffness"):
        da.read_flexible_body(file)


@pytest.mark.parametrize(
    ("changed", "code", "shown"),
    (
        ({"products": None}, "damaged", "products"),
        ({"nodes__place": None}, "damaged", "nodes.place"),
        ({"colour": np.zeros(3)}, "unknown-name", "colour"),
        ({"inertia": np.zeros((3, 2))}, "wrong-shape", "inertia"),
        ({"nodes__translation": np.zeros((2, 3, 4))}, "wrong-shape", "nodes.translation"),
        ({"picture__lines": np.array([[0, 10**6]])}, "out-of-range", "picture.lines"),
        ({"picture__points": np.zeros((5, 2))}, "wrong-shape", "picture.points"),
        ({"damping": np.zeros((4, 4), dtype=np.float32)}, "wrong-type", "damping"),
        ({"stiffness": np.full((4, 4), np.nan)}, "not-finite", "stiffness"),
        ({"modal_mass": np.eye(4) + np.diag([0.1, 0.0, 0.0], 1)}, "not-symmetric", "modal_mass"),
        ({"modal_mass": -np.eye(4)}, "not-positive-definite", "mode 1"),
        ({"stiffness": -np.eye(4)}, "negative-eigenvalue", "-1"),
    ),
)
def test_bad_arrays_are_named(file: Path, changed, code: str, shown: str):
    change(file, **changed)
    with raises(FileFormatError, code, "link.npz", shown):
        da.read_flexible_body(file)


def both(names: list[str]) -> dict[str, list[str]]:
    return {"forces": names, "moments": names}


@pytest.mark.parametrize(
    ("entries", "code", "shown"),
    (
        ({"mass": "heavy"}, "not-a-number", "mass"),
        ({"name": 3}, "wrong-type", "name"),
        ({"nodes": ["root", "root", "tip"], "stiffening": both(["root", "tip"])}, "duplicate", "root"),
        ({"nodes": "root"}, "wrong-type", "nodes"),
        ({"gauges": [1, 2]}, "wrong-type", "gauges"),
        ({"stiffening": both(["bend", "elbow"])}, "unknown-name", "elbow"),
        ({"finite_elements": 5}, "wrong-type", "finite_elements"),
        ({"finite_elements": {"free": 1}}, "wrong-type", "free"),
        ({"mass": -1.0}, "not-positive", "-1"),
    ),
)
def test_a_bad_description_is_named(file: Path, entries, code: str, shown: str):
    about(file, **entries)
    with raises(FileFormatError, code, "link.npz", shown):
        da.read_flexible_body(file)


def test_a_write_that_fails_leaves_the_old_file(file: Path, link, monkeypatch: pytest.MonkeyPatch):
    before, full = file.read_bytes(), OSError("disk full")

    def fail(*_: Any, **__: Any) -> None:
        raise full

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError) as caught:
        da.write_flexible_body(link, file)
    assert caught.value is full
    assert file.read_bytes() == before and [one.name for one in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_bytes_are_changed_the_error_is_one_of_files(file: Path, seed: int):
    """Bytes of the whole file, and of the head of one array inside a sound ZIP."""
    rng = np.random.default_rng(seed)
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(10):
        content = bytearray(whole)
        content[int(rng.integers(len(content)))] = int(rng.integers(256))
        file.write_bytes(bytes(content[: int(rng.integers(len(content) // 2, 2 * len(content)))]))
        with contextlib.suppress(FileFormatError):
            da.read_flexible_body(file)
        name = list(entries)[int(rng.integers(len(entries)))]
        head = bytearray(entries[name])
        head[int(rng.integers(min(len(head), 120)))] = int(rng.integers(256))
        with zipfile.ZipFile(file, "w") as archive:
            for key, stored in entries.items():
                archive.writestr(key, bytes(head) if key == name else stored)
        with contextlib.suppress(FileFormatError):
            da.read_flexible_body(file)
