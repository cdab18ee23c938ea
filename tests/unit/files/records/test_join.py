"""Several files as one record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers.findings import raises


def logger(path: Path, tag: str, first: int, count: int, zero: int, lost: tuple[int, ...] = ()) -> Path:
    rows = [f"{k},{zero + 10_000 * k},{np.sin(0.3 * k):.9f}" for k in range(first, first + count) if k not in lost]
    path.write_text(f"DeviceTag:,{tag}\n\nPacketCounter,SampleTimeFine,Acc_X\n" + "\n".join(rows) + "\n")
    return path


def test_packet_numbers_join_loggers_whose_clocks_are_unrelated(tmp_path: Path) -> None:
    files = [
        logger(tmp_path / "a.csv", "ground", 0, 40, 848_000_000),
        logger(tmp_path / "b.csv", "roof", 5, 60, 1_045_000_000, lost=(17,)),
    ]
    got = da.read_record(files)
    assert got.names == ("ground.Acc_X", "roof.Acc_X") and len(got) == 35
    assert got.provenance["joined"]["by"] == "packet number"
    assert got.provenance["joined"]["notes"] == ["roof: 1 samples are missing"]
    both = np.isfinite(got["roof.Acc_X"])
    assert both.sum() == 34 and np.array_equal(got["ground.Acc_X"][both], got["roof.Acc_X"][both])


def test_start_times_join_files_that_begin_later(tmp_path: Path) -> None:
    for name, start in (("a", 0), ("b", 2)):
        rows = "".join(f"2026-03-01T12:00:{start + k:02d},{start + k}\n" for k in range(8))
        (tmp_path / f"{name}.csv").write_text(f"time,{name}\n{rows}")
    got = da.read_record([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert got.provenance["joined"]["by"] == "start time"
    assert got["a"].tolist() == got["b"].tolist() == [2, 3, 4, 5, 6, 7]


def test_other_rates_are_interpolated_to_the_clock_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,a\n" + "".join(f"{0.1 * k},{k}\n" for k in range(21)))
    (tmp_path / "b.csv").write_text("time,b\n" + "".join(f"{0.25 * k},{2.5 * k}\n" for k in range(9)))
    got = da.read_record([tmp_path / "a.csv", tmp_path / "b.csv"])
    np.testing.assert_allclose(got["a"], got["b"], rtol=0, atol=1e-12)
    assert "interpolated" in got.provenance["joined"]["notes"][0]


def test_a_delay_that_is_left_is_reported_not_removed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = np.convolve(rng.normal(size=500), np.ones(5), "same")
    for name, shift in (("a", 0), ("b", 7)):
        rows = "".join(f"{0.01 * k:.2f},{noise[k + 20 - shift]}\n" for k in range(400))
        (tmp_path / f"{name}.csv").write_text(f"time,x\n{rows}")
    got = da.read_record([tmp_path / "a.csv", tmp_path / "b.csv"])
    (note,) = got.provenance["delays"]
    assert note.startswith("b is 0.07 s behind a by x")
    assert not np.array_equal(got["a.x"], got["b.x"])


def test_files_without_a_common_time_are_refused(tmp_path: Path) -> None:
    for name, start in (("a", 0), ("b", 100)):
        (tmp_path / f"{name}.csv").write_text("time,x\n" + "".join(f"{start + k},{k}\n" for k in range(8)))
    with raises(DataError, "no-common-clock"):
        da.read_record([tmp_path / "a.csv", tmp_path / "b.csv"])


@pytest.mark.parametrize(("share", "joined"), [(0.55, True), (0.45, False)])
def test_half_of_the_shortest_file_must_be_common(tmp_path: Path, share: float, joined: bool) -> None:
    start = 100 - round(100 * share)
    for name, first in (("a", 0), ("b", start)):
        (tmp_path / f"{name}.csv").write_text("time,x\n" + "".join(f"{first + k},{k}\n" for k in range(101)))
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    if joined:
        assert len(da.read_record(files)) == 101 - start
    else:
        with raises(DataError, "no-common-clock"):
            da.read_record(files)
