"""Parquet files as records: back without loss, from other programs, damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.findings import raises


def record() -> da.Record:
    t = np.array([0.0, 0.1, 0.25, 0.3])
    data = np.column_stack([np.sin(t), [1.0, np.nan, 3.0, 1e-300]])
    return da.Record(
        t, data, ["A.angle", "Kraft [N]"], ["rad", "N"], name="test", status="complete",
        provenance={"seed": 3}, statistics={"steps": 4}, scene={"bodies": []},
    )  # fmt: skip


def test_a_record_survives_parquet(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    da.write_record(record(), path)
    back, first = da.read_record(path), record()
    assert np.array_equal(back.time, first.time) and np.array_equal(back.data, first.data, equal_nan=True)
    assert back.names == first.names and back.units == first.units
    assert (back.name, back.status, back.provenance, back.scene) == ("test", "complete", {"seed": 3}, {"bodies": []})


def test_parquet_of_other_programs_is_read(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "other.parquet"
    parquet.write_table(pyarrow.table({"t": [0.0, 0.5], "force": [1, 2]}), path)
    assert da.read_record(path, time="t", units={"force": "N"})["force"].tolist() == [1.0, 2.0]
    assert da.read_record(path).names == ("force",)  # t is a usual name of time
    with raises(FileFormatError, "no-time"):
        da.read_record(path, time="clock")
    assert da.read_record(path, time="x", dt=0.1).names == ("t", "force")
    parquet.write_table(pyarrow.table({"time": [0.0, 0.5], "word": ["a", "b"]}), path)
    with raises(FileFormatError, "not-a-number", "'word'"):
        da.read_record(path)
    path.write_bytes(b"PAR1 nonsense PAR1")
    with raises(FileFormatError, "damaged"):
        da.read_record(path)


def test_files_that_would_unpack_to_too_much_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    da.write_record(record(), path)
    with raises(FileFormatError, "too-large"):
        da.read_record(path, max_bytes=90)
