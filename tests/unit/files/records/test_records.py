"""Records in files: round trips, broken files, and writes that fail."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dalembert.core.atomic_files import replace_file, write_text
from dalembert.core.errors import DataError, FileFormatError, MissingExtraError
from dalembert.files import read_record, write_record
from dalembert.files.records.format import RECORD_FORMATS
from dalembert.record import Record
from tests.helpers.findings import raises

# any printable text without blanks at its ends is a channel name
texts = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "), max_size=12).map(
    lambda text: " ".join(text.split())
)
names = st.lists(
    st.one_of(texts, st.sampled_from(['a,b;c"d', "#x", ";;;", "a\\b", "1.5", "A/B", "Größe", "角度", "it's"])).filter(
        lambda name: name not in ("", "time")
    ),
    min_size=1,
    max_size=5,
    unique=True,
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    labels = draw(names)
    steps = draw(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8))
    time = np.cumsum(steps) - draw(st.floats(0.0, 10.0))
    time = np.unique(time)
    data = draw(hnp.arrays(np.float64, (time.size, len(labels)), elements=st.floats(width=64)))
    units = draw(st.lists(texts, min_size=len(labels), max_size=len(labels)))
    return Record(time, data, labels, units, name=draw(texts), status=draw(texts.filter(bool)))


def assert_same(got: Record, expected: Record) -> None:
    assert np.array_equal(got.time, expected.time)
    assert np.array_equal(got.data, expected.data, equal_nan=True)
    assert got.names == expected.names
    assert got.units == expected.units
    assert got.name == expected.name
    assert got.status == expected.status


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
@given(record=records())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_text_files_give_back_every_bit_whatever_the_names(tmp_path: Path, suffix: str, record: Record) -> None:
    write_record(record, tmp_path / f"r.{suffix}")
    assert_same(read_record(tmp_path / f"r.{suffix}"), record)


@given(record=records())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
def test_netcdf_gives_back_every_bit_whatever_the_names(tmp_path: Path, record: Record) -> None:
    write_record(record, tmp_path / "r.nc")
    assert_same(read_record(tmp_path / "r.nc"), record)


def test_netcdf_keeps_statistics_provenance_and_scene(tmp_path: Path) -> None:
    record = Record(
        [0.0, 0.1],
        [[1.0], [2.0]],
        ["a"],
        statistics={"steps": np.int64(3), "errors": np.array([1.0, 2.0])},
        provenance={"method": "RK4", "nested": {"a": [1, None, True]}},
        scene={"planar": True, "bodies": [{"name": "</script>", "points": [[0, 0, 0]]}]},
    )
    write_record(record, tmp_path / "r.nc")
    got = read_record(tmp_path / "r.nc")
    assert got.statistics == {"steps": 3, "errors": [1.0, 2.0]}
    assert got.provenance == record.provenance
    assert got.scene == record.scene


def test_netcdf_of_another_program_is_read(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    t = np.linspace(0, 1, 5)
    dataset = xarray.Dataset({"f": ("time", t**2, {"units": "N"}), "grid": (("a", "b"), np.eye(2))}, {"time": t})
    dataset.to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    got = read_record(tmp_path / "other.nc")
    assert got.names == ("f",)
    assert got.units == {"f": "N"}
    assert np.array_equal(got["f"], t**2)


def test_netcdf_that_is_none_says_so(tmp_path: Path) -> None:
    for content, code in ((b"hello", "damaged"), (b"CDF\x01....", "bad-version")):
        (tmp_path / "r.nc").write_bytes(content)
        with raises(FileFormatError, code):
            read_record(tmp_path / "r.nc")
    (tmp_path / "r.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)
    with raises(FileFormatError, "damaged"):
        read_record(tmp_path / "r.nc")


def test_netcdf_that_would_unpack_to_more_than_allowed_is_refused(tmp_path: Path) -> None:
    h5netcdf = pytest.importorskip("h5netcdf")
    with h5netcdf.File(tmp_path / "bomb.nc", "w") as file:
        file.dimensions = {"time": 1_000_000}
        for name in ("time", "a"):
            file.create_variable(name, ("time",), float, compression="gzip")
    with raises(FileFormatError, "too-large"):
        read_record(tmp_path / "bomb.nc", max_bytes=1_000_000)


def test_a_missing_netcdf_package_names_its_extra_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "h5netcdf", None)
    with raises(MissingExtraError, "missing-extra"):
        write_record(Record([0.0], [[1.0]], ["a"]), tmp_path / "r.nc")
    assert list(tmp_path.iterdir()) == []


def read_text(folder: Path, text: str | bytes, **how: object) -> Record:
    path = folder / "r.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_record(path, **how)  # type: ignore[arg-type]


def test_a_plain_table_needs_no_units_and_no_remarks(tmp_path: Path) -> None:
    got = read_text(tmp_path, "time,a,b\n0,1,2\n1,3,4\n", units={"a": "N"})
    assert got.names == ("a", "b")
    assert got.units == {"a": "N", "b": ""}
    assert np.array_equal(got.data, [[1, 2], [3, 4]])


def test_remarks_blank_lines_quotes_spaces_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    text = '\ufeff# name: hammer  test\r\n#status: stopped\r\n\r\ntime , "x ""1""" ,b\r\n[s],m,1\r\n'
    text += '0, "1", 2\r\n# between\r\n\r\n1,3,4 # after\r\n'
    got = read_text(tmp_path, text)
    assert (got.name, got.status) == ("hammer test", "stopped")
    assert got.units == {'x "1"': "m", "b": "1"}
    assert np.array_equal(got.data, [[1, 2], [3, 4]])


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_the_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str) -> None:
    got = read_text(tmp_path, "time,a\n0,1\n1,2\n".replace(",", delimiter))
    assert np.array_equal(got["a"], [1, 2])


def test_empty_cells_are_gaps(tmp_path: Path) -> None:
    got = read_text(tmp_path, "time,a,b\n0,,2\n1,3,\n2,nan,4\n")
    assert np.array_equal(got["a"], [np.nan, 3, np.nan], equal_nan=True)
    assert np.array_equal(got["b"], [2, np.nan, 4], equal_nan=True)


def test_the_time_column_may_have_another_name_place_and_unit(tmp_path: Path) -> None:
    got = read_text(tmp_path, "f,t\nN,ms\n1,0\n2,500\n", time="t")
    assert got.names == ("f",)
    assert np.array_equal(got.time, [0.0, 0.5])


@pytest.mark.parametrize(
    ("text", "line", "finding"),
    [
        ("time,a\n0,1\n1\n", 3, ("ragged-row", "1", "2")),
        ("# x\ntime,a\ns,m\n0,1\n1,2,3\n", 5, ("ragged-row", "3", "2")),
        ("time,a\ns,m,m\n0,1\n", 2, ("ragged-row", "3")),
        ("time,a\n0,1\n\n1,x1\n", 4, ("not-a-number", "'x1'", "'a'")),
        ("time,a\n0,1_0\n", 2, ("not-a-number", "'1_0'", "'a'")),
        ("time;a\n0;1\n1;0,5,5\n", 3, ("not-a-number",)),
        ("p,a\n0,1\n", 1, ("no-time", "'time'")),
        ("tme,a\n0,1\n", 1, ("no-time", "'tme'")),
        ("time,a,a\n0,1,2\n", 1, ("taken-name", "'a'")),
        ("time,a,\n0,1,2\n", 1, ("bad-name", "3")),
        ("0,1\n1,2\n", 1, ("no-header",)),
        ("time\n0\n", 1, ("bad-syntax",)),
        ("time,a\n", 1, ("empty",)),
        ("time,a\ns,m\n# end\n", 2, ("empty",)),
        ("# only\n\n", None, ("no-header",)),
        ("", None, ("empty",)),
        ("time,a\n0,1\n0,2\n", 3, ("not-increasing", "0 s")),
        ("# rig\ntime,a\nms,m\n\n0,1\n1,2\n# knock\n0.5,3\n", 8, ("not-increasing", "0.001", "0.0005 s")),
        ("time,a\n0,1\n,2\n", 3, ("not-finite", "'time'")),
        ("time,a\nfortnight,m\n0,1\n", None, ("unit-mismatch", "'fortnight'")),
        (b"time,a\n0,1\n1,\xff5\n", 3, ("not-a-number", "'a'")),
        (b"time,\x81\n0,1\n", None, ("not-readable", "8")),
    ],
)
def test_a_broken_table_is_refused_with_file_and_line(
    tmp_path: Path, text: str | bytes, line: int | None, finding: tuple[str, ...]
) -> None:
    with raises(FileFormatError, *finding) as caught:
        read_text(tmp_path, text)
    assert caught.value.path == str(tmp_path / "r.csv")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{caught.value.path}:")


def test_a_unit_for_an_unknown_channel_is_refused(tmp_path: Path) -> None:
    with raises(FileFormatError, "unknown-name", "'force'"):
        read_text(tmp_path, "time,force\n0,1\n", units={"forse": "N"})


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with raises(FileFormatError, "too-large", "10"):
        read_text(tmp_path, "time,a\n0,1\n1,2\n", max_bytes=10)


def test_a_file_that_is_not_there_is_answered_with_its_neighbour(tmp_path: Path) -> None:
    read_text(tmp_path, "time,a\n0,1\n")
    with raises(FileFormatError, "no-such-file", "'r.csv'"):
        read_record(tmp_path / "rr.csv")


@pytest.mark.parametrize("name", ["r.docx", "r", "r.csv.gz"])
def test_a_wrong_suffix_is_refused_for_reading_and_for_writing(tmp_path: Path, name: str) -> None:
    with raises(FileFormatError, "unknown-suffix"):
        read_record(tmp_path / name)
    with raises(FileFormatError, "unknown-suffix"):
        write_record(Record([0.0], [[1.0]], ["a"]), tmp_path / name)


def test_writing_into_a_missing_folder_says_so(tmp_path: Path) -> None:
    with raises(FileFormatError, "no-such-file"):
        write_record(Record([0.0], [[1.0]], ["a"]), tmp_path / "none" / "r.csv")


def test_write_record_takes_the_record_first(tmp_path: Path) -> None:
    with raises(DataError, "wrong-type"):
        write_record(tmp_path / "r.csv", Record([0.0], [[1.0]], ["a"]))  # type: ignore[arg-type]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.csv"
    write_record(Record([0.0], [[1.0]], ["a"]), path)
    before, full = path.read_bytes(), OSError("disk full")

    def half(record: Record, new: Path, delimiter: str) -> None:
        new.write_text("time,a\n0")
        raise full

    monkeypatch.setitem(RECORD_FORMATS._kinds, "csv", replace(RECORD_FORMATS["csv"], write=half))
    with pytest.raises(OSError) as caught:
        write_record(Record([0.0], [[2.0]], ["a"]), path)
    assert caught.value is full
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["r.csv"]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), replace_file(tmp_path / "r.csv"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes and links")
def test_a_rewritten_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    (tmp_path / "a.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "a.txt").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_a_table_without_time_is_read_with_its_sample_time(tmp_path):
    file = tmp_path / "arm.csv"
    file.write_text("u,y\n1,2\n3,4\n5,6\n")
    record = read_record(file, dt=0.5)
    assert record.time.tolist() == [0.0, 0.5, 1.0]
    assert record["y"].tolist() == [2.0, 4.0, 6.0]
    refused = {0.0: "not-positive", -1.0: "not-positive", "fast": "not-a-number", True: "not-a-number"}
    for wrong, code in refused.items():
        with raises(FileFormatError, code, repr(wrong)):
            read_record(file, dt=wrong)
    with raises(FileFormatError, "no-time", "dt="):
        read_record(file)
    file.write_text("time,y\n1,2\n3,4\n")
    replaced = read_record(file, dt=0.5)
    assert replaced.names == ("y",) and replaced.time.tolist() == [0.0, 0.5]


def test_uneven_times_are_reported_with_the_line_of_the_longest_step(tmp_path: Path) -> None:
    file = tmp_path / "uneven.csv"
    file.write_text("time,x\ns,m\n0,1\n0.1,2\n# the logger slept\n0.9,3\n1.0,4\n", encoding="utf-8")
    record = read_record(file)
    assert "line 6" in record.provenance["sampling"]
    assert "longest after t = 0.1 s" in record.provenance["sampling"]
    assert not record.is_even
    file.write_text("time,x\n0,1\n0.1,2\n0.2,3\n", encoding="utf-8")
    assert read_record(file).provenance == {}
