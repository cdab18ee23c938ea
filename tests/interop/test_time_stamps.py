"""Time stamps of files: dates as numbers, rounded and repeated stamps, and a rate in place of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.commands import document, run
from tests.helpers.findings import raises

K = np.arange(4000)


def write(path: Path, stamps: list[str], header: str = "t,a") -> Path:
    lines = [f"{stamp},{np.sin(0.1 * k):.6g}" for k, stamp in enumerate(stamps)]
    path.write_text("\n".join([header, *lines, ""]))
    return path


@pytest.mark.parametrize(
    ("header", "stamps", "rate"),
    [
        ("t,a", [f"{1772366400 + k // 10000}.{k % 10000:04d}00" for k in K], 10_000.0),
        ("epoch_ms,a", [f"{1772366400000 + k // 20}.{k % 20 * 5:02d}" for k in K], 20_000.0),
        ("timestamp [ns],a", [f"{1772366400000000000 + 39062 * k + k // 2}" for k in K], None),
    ],
)
def test_seconds_since_1970_keep_all_their_digits(
    tmp_path: Path, header: str, stamps: list[str], rate: float | None
) -> None:
    record = da.read_record(write(tmp_path / "r.csv", stamps, header))
    assert record.is_even and record.time[0] == 0.0
    # half a nanosecond in 0.16 s is 3e-9; doubles of the stamps themselves are 2.4e-7 s apart: 2.4e-3 of a step
    assert 1.0 / record.sample_time == pytest.approx(rate or 1e9 / 39062.5, rel=5e-9)
    assert record.provenance["start"].startswith("2026-03-01T12:00:00")


def test_dates_without_arrow_keep_their_digits_too(tmp_path: Path) -> None:
    file = write(tmp_path / "r.dat", [f"1772366400.{k:06d}" for k in K])
    file.write_text(file.read_text().replace(",", " "))
    assert 1.0 / da.read_record(file).sample_time == pytest.approx(1e6, rel=1e-9)


@pytest.mark.parametrize(
    ("stamps", "rate"),
    [
        ([f"{k / 256:.4f}" for k in K], 256.0),
        ([f"{k / 256 + 99:.7g}" for k in K], 256.0),
        ([f"{k / 200:.2f}" for k in K], 200.0),
        ([f"{np.floor(k / 2) / 100:.2f}" for k in K], 200.0),
        ([f"{k / 610.35:.4f}" for k in K], 610.35),
        ([f"{k * 0.003:.2f}" for k in K], 1000 / 3),
    ],
)
def test_rounded_stamps_of_one_rate_are_an_even_grid(tmp_path: Path, stamps: list[str], rate: float) -> None:
    record = da.read_record(write(tmp_path / "r.csv", stamps))
    assert record.is_even and len(record) == K.size
    assert 1.0 / record.sample_time == pytest.approx(rate, rel=1e-6)
    assert "rounded" in record.provenance["sampling"]


def test_a_hole_in_rounded_stamps_stays_a_hole(tmp_path: Path) -> None:
    kept = np.r_[0:2000, 2777:4000]
    record = da.read_record(write(tmp_path / "r.csv", [f"{k / 256:.4f}" for k in kept]))
    first, second = record.parts()
    assert first.sample_time == pytest.approx(1 / 256, rel=1e-9) == second.sample_time
    assert second.time[0] == pytest.approx(2777 / 256, abs=1e-9)


@pytest.mark.parametrize("jitter", [0.0, 2e-4])
def test_a_row_written_twice_and_a_jittering_clock_are_no_grid(tmp_path: Path, jitter: float) -> None:
    rng = np.random.default_rng(0)
    times = K / 256 + jitter * rng.uniform(-1, 1, K.size)
    if jitter:
        assert not da.read_record(write(tmp_path / "r.csv", [f"{t:.6f}" for t in times])).is_even
    else:
        with raises(FileFormatError, "not-increasing"):
            da.read_record(write(tmp_path / "r.csv", [f"{t:.6f}" for t in np.sort(np.r_[times, times[7]])]))


def test_a_rate_replaces_the_column_of_time_in_every_format(tmp_path: Path) -> None:
    import scipy.io

    table = write(tmp_path / "r.csv", [f"{k // 300}" for k in K])  # ten seconds in whole ones: no rate follows
    with raises(FileFormatError, "not-increasing"):
        da.read_record(table)
    assert "--rate" in run("look", table).output
    scipy.io.savemat(tmp_path / "r.mat", {"t": K // 300, "a": np.sin(K)})
    for file in (table, tmp_path / "r.mat"):
        (one,) = document("look", file, "--rate", 300)["records"]
        assert one["rate"] == pytest.approx(300.0) and [c["name"] for c in one["channels"]] == ["a"]
    assert da.read_record(table, rate=300.0).sample_time == pytest.approx(1 / 300)
    with raises(FileFormatError, "conflicting-arguments"):
        da.read_record(table, rate=300.0, dt=0.1)


def test_advice_on_uneven_times_is_an_option_and_ends(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    far = 1772366400 + np.cumsum(rng.uniform(0.5e-4, 1.5e-4, K.size))
    record = da.Record(far, np.sin(K)[:, None], ["a"])
    assert record.resample(every=1e-4).is_even  # times of a double this large are not even to a thousandth
    file = write(tmp_path / "r.csv", [f"{t - far[0]:.7f}" for t in far])
    shown = run("look", file).output
    assert "uneven" in shown and "record." not in shown
