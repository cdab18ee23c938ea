"""A modal table is never read as a record, and a record never as a modal table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.modal.recognition import holds_modes, looks_modal
from tests.helpers.findings import raises
from tests.helpers.modal_tables import TABLES
from tests.helpers.universal_files import ROTATIONS


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("how", [{}, {"dt": 0.01}, {"time": "frequency_hz"}])
def test_no_modal_table_is_read_as_a_record(tmp_path: Path, kind: str, how: dict[str, float]) -> None:
    path = tmp_path / "m.csv"
    path.write_text(TABLES[kind], "utf-8")
    with raises(da.errors.FileFormatError, "modal-table", "da.read_modes", "correlate") as caught:
        da.read_record(path, **how)  # type: ignore[arg-type]
    assert caught.value.line is not None and holds_modes(path)


def test_json_and_universal_files_of_modes_are_no_records(tmp_path: Path) -> None:
    modes = da.linear.Modes([1j], [[1.0]], ["a"])
    da.write_modes(modes, tmp_path / "m.json")
    (tmp_path / "m.uff").write_text(ROTATIONS)
    for name in ("m.json", "m.uff"):
        with raises(da.errors.FileFormatError, "modal-table"):
            da.read_record(tmp_path / name)


def test_a_worksheet_of_modes_is_no_record(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["mode", "Frequency [Hz]", "Damping [%]", "a1"], [1, 2.0, 3.7, 1.0], [2, 5.8, 0.8, -0.9]):
        book.active.append(row)
    book.save(tmp_path / "m.xlsx")
    with raises(da.errors.FileFormatError, "modal-table"):
        da.read_record(tmp_path / "m.xlsx", dt=0.01)


RECORDS = {
    "with time": ("time,mode,frequency,damping\n", True),
    "a spectrum": ("frequency_hz,psd\n", False),
    "forces called f": ("f,a1,a2\n", False),
    "a log of a machine": ("mode,frequency,damping,a1\n", False),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_records_stay_records(tmp_path: Path, kind: str) -> None:
    head, has_time = RECORDS[kind]
    width = head.count(",") + 1
    table = np.column_stack([np.arange(300.0), *(np.ones(300) for _ in range(width - 1))])
    path = tmp_path / "r.csv"
    np.savetxt(path, table, delimiter=",", header=head.strip(), comments="")
    assert len(da.read_record(path, dt=None if has_time else 0.01)) == 300
    assert not holds_modes(path)


def test_the_number_of_rows_decides_between_modes_and_a_log() -> None:
    assert looks_modal(["mode", "frequency_hz", "a1"], 200) and not looks_modal(["mode", "frequency_hz", "a1"], 201)
    assert looks_modal(["frequency_hz", "a1"], 50) and not looks_modal(["frequency_hz", "a1"], 51)
    assert not looks_modal(["f", "a1"], 5) and not looks_modal(["time", "mode", "frequency"], 5)


def test_a_damaged_file_is_left_to_its_reader(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{")
    assert not holds_modes(tmp_path / "m.json") and not holds_modes(tmp_path / "absent.csv")
