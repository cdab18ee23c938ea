"""Units in the header of a table: read, converted to SI and reported; what is no unit stays in the name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.findings import raises


def read(folder: Path, header: str, *rows: str, **how: Any) -> da.Record:
    path = folder / "r.csv"
    path.write_text("\n".join([header, *(rows or ("0,1,2", "1,3,4", "2,5,6"))]) + "\n", encoding="utf-8")
    return da.read_record(path, **how)


def test_time_in_milliseconds_and_acceleration_in_g_become_si(tmp_path: Path) -> None:
    record = read(tmp_path, "Time (ms),Force [N],Acc 1 [g]", "0,1,2", "10,3,4", "30,5,6", time="Time (ms)")
    assert np.array_equal(record.time, [0.0, 0.01, 0.03])
    assert record.names == ("Force", "Acc 1") and record.units == {"Force": "N", "Acc 1": "m/s^2"}
    assert np.array_equal(record["Acc 1"], 9.80665 * np.array([2.0, 4.0, 6.0]))
    assert np.array_equal(record["Force"], [1.0, 3.0, 5.0])
    said = record.provenance["units"]
    assert any("'Time (ms)': converted from ms to s" in note for note in said)
    assert any("'Acc 1 [g]': converted from g to m/s^2 (times 9.80665)" in note for note in said)
    assert not any("Force" in note for note in said)  # nothing was done to it


@pytest.mark.parametrize("name", ["Time (ms)", "Time"])
def test_the_column_of_time_is_found_with_and_without_its_unit(tmp_path: Path, name: str) -> None:
    record = read(tmp_path, "Time (ms),a,b", time=name)
    assert np.array_equal(record.time, [0.0, 0.001, 0.002]) and record.names == ("a", "b")


@pytest.mark.parametrize(
    ("cell", "name", "unit", "factor"),
    [
        ("Force [N]", "Force", "N", 1.0),
        ("Force [kN]", "Force", "N", 1000.0),
        ("a_x in m/s^2", "a_x", "m/s^2", 1.0),
        ("a_x in mm/s²", "a_x", "m/s²", 1e-3),
        ("angle (deg)", "angle", "rad", math.pi / 180),
        ("angle_deg", "angle", "rad", math.pi / 180),
        ("speed [rpm]", "speed", "rad/s", math.tau / 60),
        ("rate (°/s)", "rate", "rad/s", math.pi / 180),
        ("tip_mm", "tip", "m", 1e-3),
        ("torque (N*m)", "torque", "N m", 1.0),
        ("stiffness [N/mm]", "stiffness", "N/m", 1000.0),
        ("pressure [bar]", "pressure", "Pa", 1e5),
        ("Mass [g]", "Mass", "kg", 1e-3),
        ("acc z [mg]", "acc z", "m/s^2", 9.80665e-3),
        ("gap [in]", "gap", "m", 0.0254),
        ("ratio [-]", "ratio", "", 1.0),
        ("damping [%]", "damping", "", 0.01),
    ],
)
def test_units_of_channels_are_converted(tmp_path: Path, cell: str, name: str, unit: str, factor: float) -> None:
    record = read(tmp_path, f"time,{cell},other")
    assert record.names[0] == name and record.units[name] == unit
    assert record[name] == pytest.approx(factor * np.array([1.0, 3.0, 5.0]), rel=4e-16)
    assert np.array_equal(record[cell], record[name])  # the whole header is accepted too
    assert record.expand(cell) == (name,) and cell in record


@pytest.mark.parametrize(
    "cell", ["x (left)", "flow (in)", "Force (min)", "force_min", "x_cm", "v_rad", "a_x", "T [°C]", "f [Hz]", "x (h)",
             "acc_g", "clip in progress", "(m)", "[N]", "rate [rad/s"],
)  # fmt: skip
def test_what_is_no_unit_stays_in_the_name_and_leaves_the_numbers(tmp_path: Path, cell: str) -> None:
    record = read(tmp_path, f"time,{cell},other")
    assert record.names == (cell, "other") and record.units[cell] == ""
    assert np.array_equal(record[cell], [1.0, 3.0, 5.0])


def test_brackets_that_are_not_understood_are_reported(tmp_path: Path) -> None:
    record = read(tmp_path, "time,T [°C],other")
    assert record.provenance["units"] == ["'T [°C]': '°C' is not a known unit; name and numbers are kept unchanged"]


@pytest.mark.parametrize(
    "cell", ["Time (ticks)", "time [samples]", "t (Hz)", "time (min:sec)", "time in microseconds", "time [m]"]
)
def test_a_unit_of_time_that_is_not_understood_is_an_error_that_names_it(tmp_path: Path, cell: str) -> None:
    unit = cell.partition(" ")[2].strip("()[]").removeprefix("in ")
    with raises(FileFormatError, "unit-mismatch", repr(unit), "ms"):
        read(tmp_path, f"{cell},a,b", time=cell)


@pytest.mark.parametrize(
    ("cell", "factor"),
    [("time_ms", 1e-3), ("t/ms", 1e-3), ("Zeit / ms", 1e-3), ("Time{ms}", 1e-3), ("time ms", 1e-3),
     ("log/time", 1.0), ("time_s", 1.0), ("t_us", 1e-6), ("time [µs]", 1e-6), ("Time in ns", 1e-9), ("t (min)", 60.0),
     ("time (h)", 3600.0), ("time_rel", 1.0), ("time", 1.0)],
)  # fmt: skip
def test_units_of_time_become_seconds(tmp_path: Path, cell: str, factor: float) -> None:
    record = read(tmp_path, f"{cell},a,b", time=cell)
    assert record.time == pytest.approx(factor * np.arange(3.0), rel=2e-16)


def test_the_usual_name_of_time_is_found_with_a_unit_behind_it(tmp_path: Path) -> None:
    assert read(tmp_path, "time_ms,a,b").time[-1] == 0.002
    replaced = read(tmp_path, "time_ms,a,b", dt=0.1)
    assert replaced.time == pytest.approx([0.0, 0.1, 0.2]) and replaced.names == ("a", "b")


def test_a_row_of_units_leaves_names_alone_and_must_agree_on_time(tmp_path: Path) -> None:
    record = read(tmp_path, "time,Force [N],x_mm", "s,kN,", "0,1,2", "1,3,4")
    assert record.names == ("Force [N]", "x_mm") and record.units == {"Force [N]": "N", "x_mm": ""}
    assert np.array_equal(record.data, [[1000, 2], [3000, 4]])
    assert "kN" in record.provenance["units"][0]
    with raises(FileFormatError, "unit-mismatch"):
        read(tmp_path, "Time (ms),a,b", "s,N,N", "0,1,2", "1,3,4", time="Time (ms)")
    # the cell of time is empty in the row: the header counts
    assert read(tmp_path, "Time (ms),a,b", ",N,N", "0,1,2", "1,3,4", time="Time (ms)").time[1] == 0.001


def test_channels_that_differ_by_their_unit_alone_keep_it_in_their_names(tmp_path: Path) -> None:
    record = read(tmp_path, "time,acc [g],acc [m/s^2]")
    assert record.names == ("acc [g]", "acc [m/s^2]") and set(record.units.values()) == {"m/s^2"}
    assert record["acc [g]"][0] == 9.80665


def test_a_unit_given_by_the_caller_counts_more_than_the_header(tmp_path: Path) -> None:
    for name in ("Acc", "Acc [g]"):
        record = read(tmp_path, "time,Acc [g],b", units={name: "mm/s^2"})
        assert record.units["Acc"] == "mm/s^2" and np.array_equal(record["Acc"], [1.0, 3.0, 5.0])
        assert "units" not in record.provenance


names = st.sampled_from(
    ["Time (ms)", "Force [N]", "Acc 1 [g]", "x_mm", "time_ms", "a_x in m/s^2", "x (left)", "=1+1", "+x", "-x",
     "@SUM(A1)", "'=x", "''+y", "-", "'", "＝1", "time [s]", "t"],
)  # fmt: skip


@given(st.lists(names, min_size=1, max_size=6, unique=True), st.lists(names, min_size=6, max_size=6), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_records_with_such_names_and_units_come_back_exactly(
    tmp_path: Path, labels: list[str], units: list[str], data: st.DataObject
) -> None:
    record = da.Record(
        [0.0, 0.1], np.arange(2.0 * len(labels)).reshape(2, -1), labels, units[: len(labels)],
        status=data.draw(st.sampled_from(["", "complete", "stopped: 5 s"])),
    )  # fmt: skip
    da.write_record(record, tmp_path / "r.csv")
    back = da.read_record(tmp_path / "r.csv")
    assert (back.names, back.units, back.status) == (record.names, record.units, record.status)
    assert np.array_equal(back.data, record.data) and np.array_equal(back.time, record.time)


def test_no_name_is_written_so_that_a_spreadsheet_computes_it(tmp_path: Path) -> None:
    labels = ["=cmd|'/c calc'!A0", "+1", "-x", "@SUM(A1)", "a"]
    da.write_record(da.Record([0.0], np.zeros((1, 5)), labels, ["=1", "", "-", "+2", "m"]), tmp_path / "r.csv")
    lines = (tmp_path / "r.csv").read_text().splitlines()
    cells = [cell.strip('"') for line in lines if not line.startswith("#") for cell in line.split(",")]
    assert not [cell for cell in cells if cell[0:1] in tuple("=+@") or (cell[0:1] == "-" and len(cell) > 1)]
    assert da.read_record(tmp_path / "r.csv").names == tuple(labels)


def test_an_empty_status_stays_empty(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# status:\ntime,x\n0,1\n1,2\n")
    first = da.read_record(tmp_path / "a.csv")
    da.write_record(first, tmp_path / "b.csv")
    assert first.status == da.read_record(tmp_path / "b.csv").status == ""


@pytest.mark.parametrize("last", ["1e308", "1.7e308"])
def test_a_last_time_that_is_nonsense_is_reported_and_stops_nothing(tmp_path: Path, last: str) -> None:
    rows = [f"{0.1 * k!r},{k}" for k in range(12)]
    record = read(tmp_path, "time,a", *rows, f"{last},1")
    assert "longest after t = 1.1 s" in repr(record)
    assert len(record.gaps()) == 1 and len(record.parts()) == 2
    with raises(da.errors.DataError, "too-large"):
        record.resample(every=0.1)
    with raises(FileFormatError, "out-of-range"):
        read(tmp_path, "time,a", "-1.7e308,0", *rows, f"{last},1")


@pytest.mark.parametrize(
    "text",
    ["time,a\x1b[31m\n0,x\n", "ti\x07me,a\n0,1\n", "time,a\nfort\x1bnight,m\n0,1\n", "time,\x1b]0;evil\x07\n0,1,2\n"],
)
def test_control_characters_in_messages_are_written_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(da.errors.DalembertError) as caught:
        da.read_record(tmp_path / "r.csv")
    assert str(caught.value).replace("\n", "").isprintable(), str(caught.value)
