"""Files as loggers, spreadsheets and scripts write them; the same record in each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.commands import document, run
from tests.helpers.findings import raises

N, RATE = 400, 200.0
T = np.arange(N) / RATE
F, A = np.cos(7 * T), 1000.0 * np.sin(9 * T)
LVM = """LabVIEW Measurement\t
Writer_Version\t2
Separator\tTab
Decimal_Separator\t.
Multi_Headings\tYes
X_Columns\t{columns}
Date\t2026/03/01
Time\t12:00:00.5
***End_of_Header***\t
\t
Channels\t2\t\t
Samples\t400\t400\t
Date\t2026/03/01\t2026/03/01\t
Time\t12:00:00.5\t12:00:00.5\t
Y_Unit_Label\tN\tg\t
X_Dimension\tTime\tTime\t
X0\t0.0000000000000000E+0\t0.0000000000000000E+0\t
Delta_X\t5.000000E-3\t5.000000E-3\t
***End_of_Header***\t\t\t
X_Value\tF\ta\tComment
"""


def rows(cell: Callable[[int], str], mark: str = ",", head: str = "F,a", form: str = "{}{m}{f:.6f}{m}{a:.6f}") -> str:
    body = [form.format(cell(k), f=F[k], a=A[k], m=mark) for k in range(N)]
    return "\n".join([*([head] if head else []), *body, ""])


def clock(k: int, form: str = "%H:%M:%S.%f") -> str:
    import datetime

    return (datetime.datetime(2026, 3, 1, 23, 59, 59) + datetime.timedelta(seconds=float(T[k]))).strftime(form)


FILES: dict[str, tuple[str, str]] = {
    "names of numpy.savetxt": ("r.csv", rows(lambda k: f"{T[k]:.6f}", head="# t, F, a")),
    "names of numpy.savetxt, blanks": ("r.txt", rows(lambda k: f"{T[k]:.6f}", " ", head="# t F a")),
    "names of numpy.savetxt, commas over blanks": ("r.txt", rows(lambda k: f"{T[k]:.6f}", " ", head="# t, F, a")),
    "date and time": ("r.csv", rows(lambda k: clock(k, "%Y/%m/%d,%H:%M:%S.%f"), head="Date,Time,F,a")),
    "half days": ("r.csv", rows(lambda k: clock(k, "%I:%M:%S.%f %p"), head="Time,F,a")),
    "date and half days": ("r.csv", rows(lambda k: clock(k, "%m/%d/%Y %I:%M:%S.%f %p"), head="Time,F,a")),
    "American dates": ("r.csv", rows(lambda k: clock(k, "%m/%d/%Y %H:%M:%S.%f"), head="Time,F,a")),
    "German dates": ("r.csv", rows(lambda k: clock(k, "%d.%m.%Y %H:%M:%S.%f"), ";", head="Zeit;F;a")),
    "date of two digits and half days": (
        "r.csv", rows(lambda k: clock(k, "%m/%d/%y,%I:%M:%S.%f%p"), head="Date,Time,F,a"),
    ),
    "date with the name of a month": (
        "r.csv", rows(lambda k: clock(k, "%d-%b-%Y,%I:%M:%S.%f %p"), head="Date,Time,F,a"),
    ),
    "German date and time, decimal commas": (
        "r.csv", rows(lambda k: clock(k, "%d.%m.%Y;%H:%M:%S,%f"), ";", head="Datum;Uhrzeit;F;a").replace(".", ",")
        .replace("01,03,2026", "01.03.2026").replace("02,03,2026", "02.03.2026"),
    ),
    "thousands, apostrophes": (
        "r.csv", rows(lambda k: f"{T[k]:.6f}", ";", head="t;F;a", form="{}{m}{f:.6f}{m}{a:,.6f}").replace(",", "'"),
    ),
    "thousands, blanks": (
        "r.csv",
        rows(lambda k: f"{T[k]:.6f}", ";", head="t;F;a", form="{}{m}{f:.6f}{m}{a:,.6f}").replace(",", "\u202f"),
    ),
    "milliseconds since 1970, no unit": (
        "r.csv", rows(lambda k: f"{1772366400000 + 5 * k}", head="timestamp,F,a"),
    ),
    "thousands": ("r.csv", rows(lambda k: f"{T[k]:.6f}", head="t,F,a", form='{}{m}{f:.6f}{m}"{a:,.6f}"')),
    "cut off": ("r.csv", rows(lambda k: f"{T[k]:.6f}", head="t,F,a") + "2.000000,0.1"),
    "cut within a number": ("r.csv", rows(lambda k: f"{T[k]:.6f}", head="t,F,a") + "2.000000,0.1,-"[:-1] + "1e"),
    "a rate in a column": (
        "r.csv", rows(lambda k: "200" if k == 0 else "", head="Fs,F,a"),
    ),
    "lvm": ("r.lvm", LVM.format(columns="One") + rows(lambda k: f"{T[k]:.6f}", "\t", head="") ),
    "lvm with a time for every channel": (
        "r.lvm",
        LVM.format(columns="Multi").replace("\tN\tg\t", "\tN\t\tg\t").replace("\tF\ta\t", "\tF\tX_Value\ta\t")
        + rows(lambda k: f"{T[k]:.6f}", "\t", head="", form="{0}{m}{f:.6f}{m}{0}{m}{a:.6f}"),
    ),
    "lvm with decimal commas": (
        "r.lvm", LVM.format(columns="One") + rows(lambda k: f"{T[k]:.6f}", "\t", head="").replace(".", ","),
    ),
    "lvm without time": ("r.lvm", LVM.format(columns="No") + rows(lambda k: "", "\t", head="")),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_the_same_record_is_read_from_every_file(tmp_path: Path, kind: str) -> None:
    name, text = FILES[kind]
    (tmp_path / name).write_text(text)
    record = da.read_record(tmp_path / name)
    assert record.names == ("F", "a") and len(record) == N
    assert record.sample_time == pytest.approx(1 / RATE, rel=1e-9)
    gravity = 9.80665 if name.endswith("lvm") else 1.0
    np.testing.assert_allclose(record.data, np.column_stack([F, gravity * A]), atol=1e-5)
    if "date" in kind.lower():
        assert record.provenance["start"].startswith("2026-03-01T23:59:59")


def test_a_word_in_a_cell_is_a_gap_and_is_reported(tmp_path: Path) -> None:
    lines = rows(lambda k: f"{T[k]:.6f}", head="t,F,a").splitlines()
    for k in (50, 51, 90):
        lines[k] = lines[k].rpartition(",")[0] + (",OVERLOAD" if k < 60 else ",#DIV/0!")
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    record = da.read_record(tmp_path / "r.csv")
    assert np.flatnonzero(np.isnan(record["a"])).tolist() == [49, 50, 89] and not np.isnan(record["F"]).any()
    shown = run("look", tmp_path / "r.csv").output
    assert "OVERLOAD" in shown and "#DIV/0!" in shown
    for k, word in ((20, "-OL-"), (30, "1.#INF"), (40, "****"), (60, "-OVER")):
        lines[k] = lines[k].rpartition(",")[0] + "," + word
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    assert np.isnan(da.read_record(tmp_path / "r.csv")["a"]).sum() == 7
    (tmp_path / "r.csv").write_text("t,F\n0,1\n1,1O.5\n")
    with raises(FileFormatError, "not-a-number", "'1O.5'"):
        da.read_record(tmp_path / "r.csv")


def test_a_file_without_header_needs_a_rate_only(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(rows(lambda k: "1.5", head=""))
    refused = run("look", tmp_path / "r.csv")
    assert refused.exit_code == 2 and "--rate" in refused.output
    (one,) = document("look", tmp_path / "r.csv", "--rate", RATE)["records"]
    assert [c["name"] for c in one["channels"]] == ["channel1", "channel2", "channel3"] and one["samples"] == N
    np.savetxt(tmp_path / "t.txt", np.column_stack([T, F, A]))
    np.save(tmp_path / "t.npy", np.column_stack([T, F, A]))
    for file in ("t.txt", "t.npy"):  # the first column is time
        assert "--time" in run("look", tmp_path / file).output
        (one,) = document("look", tmp_path / file, "--time", "channel1")["records"]
        assert [c["name"] for c in one["channels"]] == ["channel2", "channel3"] and one["rate"] == pytest.approx(RATE)


def test_fields_of_structures_and_arrays_of_numpy_are_channels(tmp_path: Path) -> None:
    import scipy.io

    data = {"t": T, "F": F, "info": {"name": "rig", "mass": 3.0}, "acc": np.column_stack([A, -A]), "empty": []}
    for packed in (False, True):
        scipy.io.savemat(tmp_path / "r.mat", {"data": data, "note": "x"}, do_compression=packed)
        record = da.read_record(tmp_path / "r.mat")
        assert record.names == ("F", "acc1", "acc2") and np.array_equal(record["acc2"], -A)
    np.savez(tmp_path / "r.npz", F=F, fs=RATE, note=np.array([{}], dtype=object))
    assert da.read_record(tmp_path / "r.npz").sample_time == pytest.approx(1 / RATE)
    np.save(tmp_path / "r.npy", np.array([*zip(T, F, strict=True)], dtype=[("t", "f8"), ("F", "f8")]))
    assert np.array_equal(da.read_record(tmp_path / "r.npy")["F"], F)
    np.save(tmp_path / "s.npy", np.column_stack([F, A]))
    assert da.read_record(tmp_path / "s.npy", rate=RATE).names == ("channel1", "channel2")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object))
    with raises(FileFormatError, "damaged"):
        da.read_record(tmp_path / "o.npy")


def test_structures_of_version_73_are_channels_too(tmp_path: Path) -> None:
    with pytest.importorskip("h5py").File(tmp_path / "r.mat", "w") as file:
        group = file.create_group("data")
        group["t"], group["F"] = T[None, :], F[None, :]
        file.create_group("#refs#")["a"] = T[None, :]
    record = da.read_record(tmp_path / "r.mat")
    assert record.names == ("F",) and np.array_equal(record["F"], F)


@pytest.mark.parametrize("kind", ["date and time", "times of day", "dates", "texts", "epoch_ms"])
def test_times_of_a_worksheet_are_dates_times_of_day_or_texts(tmp_path: Path, kind: str) -> None:
    import datetime

    sheet = (book := pytest.importorskip("openpyxl").Workbook()).active
    start = datetime.datetime(2026, 3, 1, 23, 59, 59)
    moments = [start + datetime.timedelta(seconds=float(t)) for t in T]
    head, cells = {
        "date and time": (["Date", "Time"], lambda at, k: [at.date(), at.time()]),
        "times of day": (["Time"], lambda at, k: [at.time()]),
        "dates": (["Time"], lambda at, k: [at]),
        "texts": (["Datum", "Zeit"], lambda at, k: [f"{at:%d.%m.%Y}", f"{at:%H:%M:%S.%f}"]),
        "epoch_ms": (["epoch_ms"], lambda at, k: [1772409599000 + 5 * k]),
    }[kind]
    sheet.append([*head, "F", "a"])
    for k, at in enumerate(moments):
        sheet.append([*cells(at, k), F[k], A[k]])
    book.save(tmp_path / "r.xlsx")
    record = da.read_record(tmp_path / "r.xlsx")
    assert record.names == ("F", "a") and record.is_even
    assert record.sample_time == pytest.approx(1 / RATE, rel=1e-9)
    np.testing.assert_allclose(record.data, np.column_stack([F, A]), rtol=1e-12)
    whole = "23:59:59" if kind == "times of day" else "2026-03-01T23:59:59"
    assert record.provenance["start"].startswith(whole)
