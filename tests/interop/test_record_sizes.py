"""Records as long as measurements are: no bound of the process that reads a file turns a sound one away."""

from __future__ import annotations

import timeit
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

RATE = 1000.0


def columns(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Time, and a channel that packs to almost nothing: the bound of time counts bytes of the file."""
    return np.arange(samples) / RATE, np.where(np.arange(samples) % 1000 == 7, 0.5, 0.0)


def write(path: Path, samples: int) -> Path:
    time, values = columns(samples)
    if path.suffix == ".xlsx":
        book = pytest.importorskip("openpyxl").Workbook(write_only=True)
        book.create_sheet("cover").append(["Report on a test", None, 7])
        sheet = book.create_sheet("data")
        sheet.append(["time", "a"])
        for row in zip(time.tolist(), values.tolist(), strict=True):
            sheet.append(row)
        book.save(path)
    elif path.suffix == ".tdms":
        tdms = pytest.importorskip("nptdms")
        with tdms.TdmsWriter(str(path)) as writer:
            writer.write_segment([tdms.ChannelObject("rig", "a", values, properties={"wf_increment": 1 / RATE})])
    elif path.suffix == ".mat" and path.stem == "hdf5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            for name, column in (("time", time), ("a", values)):
                file.create_dataset(name, data=column[None, :], compression="gzip", chunks=(1, 10_000))
    elif path.suffix == ".mat":
        pytest.importorskip("scipy.io").savemat(path, {"time": time, "a": values}, do_compression=True)
    elif path.suffix == ".wav":
        pytest.importorskip("scipy.io.wavfile").write(path, int(RATE), values)
    elif path.suffix == ".npz":
        np.savez_compressed(path, time=time, a=values)
    elif path.suffix == ".npy":
        table = np.rec.fromarrays([time, values], names="time,a")
        np.save(path, table)
    elif path.suffix == ".lvm":
        head = "LabVIEW Measurement\t\nSeparator\tTab\nX_Columns\tOne\n***End_of_Header***\t\nX_Value\ta\tComment"
        np.savetxt(path, np.column_stack([time, values]), fmt="%.3f", delimiter="\t", header=head, comments="")
    elif path.suffix == ".v2":
        head = (
            f"Corrected accelerogram\n{samples} points of accel data equally spaced at  .001 sec, in m/sec2. (4f10.6)"
        )
        np.savetxt(path, values.reshape(-1, 4), fmt="%10.6f", delimiter="", header=head, comments="")
    else:
        da.write_record(da.Record(time, values[:, None], ["a"]), path)
    return path


QUICK = ("r.csv", "r.parquet", "r.nc", "r.mat", "hdf5.mat", "r.tdms", "r.wav", "r.uff",
         "r.npz", "r.npy", "r.lvm", "r.v2")  # fmt: skip
SLOW = [("r.xlsx", 100_000), *((name, 1_000_000) for name in (*QUICK, "r.xlsx"))]


@pytest.mark.parametrize(
    ("name", "samples"),
    [*((name, 100_000) for name in QUICK), ("r.xlsx", 16_000),
     *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)],
)  # fmt: skip
def test_a_long_record_is_read_from_every_format(tmp_path: Path, name: str, samples: int) -> None:
    record = da.read_record(write(tmp_path / name, samples))
    time, values = columns(samples)
    np.testing.assert_allclose(record.time, time, rtol=1e-12)
    np.testing.assert_array_equal(record.data[:, 0], values)


@pytest.mark.slow
def test_a_worksheet_takes_at_most_three_times_as_long_as_its_library(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    file = write(tmp_path / "r.xlsx", 16_000)

    def library() -> None:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        assert sum(1 for _ in book["data"].iter_rows(values_only=True)) == 16_001

    da.read_record(file)  # starts the process that reads
    fastest = {}
    for name, read in (("ours", lambda: da.read_record(file)), ("library", library)):
        fastest[name] = min(timeit.repeat(read, number=1, repeat=5))
    assert fastest["ours"] < 3 * fastest["library"]
