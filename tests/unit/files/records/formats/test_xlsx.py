"""Worksheets."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.findings import raises

openpyxl = pytest.importorskip("openpyxl")


def write(path: Path, *rows: list[Any]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_table_below_other_lines_is_read_in_si(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlsx", ["rig", "4"], [], ["Time (ms)", "Force [kN]", "a"], [0, 1.5, 2], [500, None, 3])
    got = da.read_record(path)
    assert got.units == {"Force": "N", "a": ""} and got.time.tolist() == [0.0, 0.5]
    assert np.array_equal(got["Force"], [1500.0, np.nan], equal_nan=True)


def test_dates_are_times(tmp_path: Path) -> None:
    start = datetime.datetime(2026, 3, 1, 12)
    rows = [[start + datetime.timedelta(seconds=k), k] for k in range(3)]
    got = da.read_record(write(tmp_path / "a.xlsx", ["time", "a"], *rows))
    assert got.time.tolist() == [0.0, 1.0, 2.0] and got.provenance["start"].startswith("2026-03-01T12")


@pytest.mark.parametrize("stored", ["A1", "A1:B51", "A1:XFD1048576"])
def test_a_stale_size_of_the_sheet_loses_no_sample(tmp_path: Path, stored: str) -> None:
    written = write(tmp_path / "a.xlsx", ["time", "a", "b"], *([k, 2 * k, 3 * k] for k in range(100)))
    stale = tmp_path / "stale.xlsx"
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(stale, "w") as target:
        for member in source.infolist():
            text = source.read(member)
            assert ("sheet1" not in member.filename) or b'<dimension ref="A1:C101"' in text
            target.writestr(member, text.replace(b'ref="A1:C101"', f'ref="{stored}"'.encode()))
    got = da.read_record(stale)
    assert np.array_equal(got.time, np.arange(100.0)) and np.array_equal(got["b"], 3 * got.time)


def test_a_sheet_of_5000_rows_is_read(tmp_path: Path) -> None:
    """A measurement has thousands of rows; the time that the reader may take grows with the size of the file."""
    path = write(tmp_path / "a.xlsx", ["time", "a", "b"], *([k / 100, k, -k] for k in range(5000)))
    got = da.read_record(path)
    assert np.array_equal(got["a"], np.arange(5000.0)) and np.array_equal(got["b"], -got["a"])


def test_wrong_cells_are_named_with_their_line(tmp_path: Path) -> None:
    with raises(FileFormatError, "not-a-number", "'1O.5'") as caught:
        da.read_record(write(tmp_path / "a.xlsx", ["time", "a"], [0, 1], [1, 2], [2, "1O.5"]))
    assert caught.value.line == 4
    with raises(FileFormatError, "no-time"):
        da.read_record(write(tmp_path / "a.xlsx", ["p", "a"], [0, 1], [1, 2]))
    (tmp_path / "a.xlsx").write_bytes(b"PK nothing")
    with raises(FileFormatError, "damaged"):
        da.read_record(tmp_path / "a.xlsx")
    write(tmp_path / "big.xlsx", ["time", "a"], *([k, k] for k in range(2000)))
    with raises(FileFormatError, "too-large"):
        da.read_record(tmp_path / "big.xlsx", max_bytes=20_000)
