"""Tables as loggers write them: lines before the header, decimal commas, dates, device clocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from dalembert.files.tables import body
from tests.helpers.findings import raises


def read(folder: Path, text: str | bytes, **how: object) -> da.Record:
    path = folder / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return da.read_record(path, **how)  # type: ignore[arg-type]


def test_lines_before_the_header_are_found_and_their_pairs_kept(tmp_path: Path) -> None:
    text = (
        "sep=,\nDeviceTag:,bottom\nFirmwareVersion:,2.2.1\nStartTime: ,2025-04-11_11:49:50_000 PDT\n© maker 2005\n\n"
        "PacketCounter,SampleTimeFine,Acc_X\n0,848402848,0.5\n1,848411181,0.25\n"
    )
    got = read(tmp_path, text)
    assert got.names == ("PacketCounter", "Acc_X")
    assert got.provenance["preamble"]["DeviceTag"] == "bottom"
    np.testing.assert_allclose(got.time, [848.402848, 848.411181], rtol=1e-15)  # microseconds, by the device


def test_lines_to_skip_may_be_given(tmp_path: Path) -> None:
    got = read(tmp_path, "1,2\n3,4\ntime,a\n0,1\n1,2\n", skip=2)
    assert got.names == ("a",) and got["a"].tolist() == [1.0, 2.0]


def test_decimal_commas_are_read_where_semicolons_separate(tmp_path: Path) -> None:
    got = read(tmp_path, "Zeit [ms];Weg [mm]\n0;1,5\n0,5;-2,25e1\n")
    np.testing.assert_allclose(got.time, [0.0, 0.0005], rtol=1e-15)
    np.testing.assert_allclose(got["Weg"], [0.0015, -0.0225], rtol=1e-15)


@pytest.mark.parametrize("header", ["time", "Zeit", "t", "Temps (s)", "TIME", "x_value", "时间", "Elapsed Time"])
def test_names_of_time_in_several_languages_are_known(tmp_path: Path, header: str) -> None:
    assert read(tmp_path, f"{header},a\n0,1\n1,2\n").names == ("a",)


def test_delimiters_at_the_ends_of_lines_make_no_column(tmp_path: Path) -> None:
    for text in ('"V1","V2",\n1,2,\n3,4,\n', "V1,V2\n1,2,\n3,4,\n"):
        got = read(tmp_path, text, dt=0.5)
        assert got.names == ("V1", "V2") and got.data.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_dates_become_seconds_after_the_first_one(tmp_path: Path) -> None:
    text = "timestamp,a\n2026-03-01T23:59:59.500Z,1\n2026-03-02 00:00:01+00:00,2\n"
    got = read(tmp_path, text)
    assert got.time.tolist() == [0.0, 1.5]
    assert got.provenance["start"].startswith("2026-03-01T23:59:59.5")
    assert read(tmp_path, "time,a\n23:59:59,1\n00:00:01.5,2\n").time.tolist() == [0.0, 2.5]
    with raises(FileFormatError, "not-a-number", "'noon'") as caught:
        read(tmp_path, "time,a\n2026-03-01T00:00:00,1\nnoon,2\n")
    assert caught.value.line == 3


def test_a_row_of_units_is_converted_to_si_unless_this_package_wrote_it(tmp_path: Path) -> None:
    got = read(tmp_path, "time,a\nms,g\n0,1\n500,2\n")
    np.testing.assert_allclose(got["a"], [9.80665, 19.6133], rtol=1e-15)
    assert got.units == {"a": "m/s^2"} and got.time[1] == 0.5
    record = da.Record([0.0, 1.0], [[1.0], [2.0]], ["a"], ["mm"])
    da.write_record(record, tmp_path / "own.csv")
    back = da.read_record(tmp_path / "own.csv")
    assert back.units == {"a": "mm"} and back["a"].tolist() == [1.0, 2.0]


def test_other_encodings_are_read_and_reported(tmp_path: Path) -> None:
    text = "time,Kraft für Lager\n0,1\n1,2\n"
    assert read(tmp_path, text.encode("utf-16")).names == ("Kraft für Lager",)
    got = read(tmp_path, text.encode("cp1252"))
    assert got.names == ("Kraft für Lager",) and "1252" in got.provenance["encoding"]


def test_words_for_missing_numbers_are_gaps(tmp_path: Path) -> None:
    got = read(tmp_path, "time,a\n0,NaN\n1,n/a\n2,--\n3,5\n")
    assert np.isnan(got["a"][:3]).all() and got["a"][3] == 5.0


def test_cells_between_blanks_are_a_table(tmp_path: Path) -> None:
    assert read(tmp_path, "time   a    b\n0  1  2\n1  3  4\n")["b"].tolist() == [2.0, 4.0]


def test_arrow_numpy_and_lines_give_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    rows = "".join(f"{k},{x!r},{y:.17g}\n" for k, (x, y) in enumerate(rng.normal(size=(200, 2)).tolist()))
    text = "time,a,b\n" + rows
    from dalembert.files.tables import body

    first = read(tmp_path, text)
    monkeypatch.setattr(body, "_by_arrow", lambda *_: None)
    second = read(tmp_path, text)
    monkeypatch.setattr(body, "_by_numpy", lambda *_: None)
    third = read(tmp_path, text)
    assert np.array_equal(first.data, second.data) and np.array_equal(first.data, third.data)


def test_progress_of_a_long_file_is_reported(tmp_path: Path) -> None:
    seen: list[float] = []
    read(tmp_path, "time,a\n" + "".join(f"{k},{k}\n" for k in range(60_000)), progress=seen.append)
    assert seen and seen == sorted(seen) and seen[-1] <= 1.0


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("size", [7, 64, 1 << 18])
def test_lines_are_whole_however_a_text_is_cut_into_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, encoding: str, size: int
) -> None:
    monkeypatch.setattr(body, "BLOCK", size)
    path = tmp_path / "r.csv"
    rows = [f"{k / 8},{k * k},{-k}" for k in range(200)]
    first = "° of a device" if encoding == "cp1252" else "a device"
    path.write_bytes(end.join([first, "time,a,b", *rows]).encode(encoding))
    read = da.read_record(path)
    np.testing.assert_array_equal(read.time, np.arange(200) / 8)
    np.testing.assert_array_equal(read["a"], np.arange(200.0) ** 2)
    np.testing.assert_array_equal(read["b"], -np.arange(200.0))
