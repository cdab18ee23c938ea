"""Records from strangers: nothing is read but the file itself, and no more memory is taken than the caller allows."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

import dalembert as da
from dalembert.core import isolation
from dalembert.core.errors import FileFormatError
from dalembert.files.tables.bounds import check_size
from tests.helpers.findings import raises
from tests.helpers.mat_files import version_5

h5py = pytest.importorskip("h5py")
pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
LIMIT = 12_000_000
PACKED = zlib.compress(bytes(30_000_000), 1)


# ---- other files


def with_clock(path: Path) -> Any:
    file = h5py.File(path, "w")
    file.create_dataset("time", data=np.arange(4.0)).make_scale("time")
    return file


def external_storage(folder: Path) -> None:
    with with_clock(folder / "r.nc") as file:
        x = file.create_dataset("x", (4,), "f8", external=[(str(folder / "secret"), 0, 32)])
        x.dims[0].attach_scale(file["time"])


def virtual_dataset(folder: Path) -> None:
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = np.arange(4.0)
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "x", (4,))
    with with_clock(folder / "r.nc") as file:
        file.create_virtual_dataset("x", layout).dims[0].attach_scale(file["time"])


def external_link(folder: Path) -> None:
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = np.arange(4.0)
    with with_clock(folder / "r.nc") as file:
        file["x"] = h5py.ExternalLink(str(folder / "other.h5"), "/x")


def soft_link(folder: Path) -> None:
    with with_clock(folder / "r.nc") as file:
        file.create_group("g")["x"] = np.arange(4.0)
        file["x"] = h5py.SoftLink("/g/x")


@pytest.mark.parametrize("make", [external_storage, virtual_dataset, external_link, soft_link])
def test_a_netcdf_file_that_names_another_place_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "secret").write_bytes(b"root:x:0:0:root:/root:/bin/bash\n")
    make(tmp_path)
    with raises(FileFormatError, "outside-reference", "'x'"):
        da.read_record(tmp_path / "r.nc")


@pytest.mark.parametrize(
    "how",
    [{}, {"chunks": (3,)}, {"chunks": (4,), "compression": "gzip"}, {"chunks": (4,), "fletcher32": True},
     {"chunks": (7,), "compression": "gzip", "shuffle": True, "fletcher32": True}],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["<f8", ">f4", "<i2", "u1", ">i8"])
def test_numbers_of_a_netcdf_file_are_read_however_they_are_packed(
    tmp_path: Path, how: dict[str, Any], kind: str
) -> None:
    values = np.arange(10).astype(kind)
    with h5py.File(tmp_path / "r.nc", "w") as file:
        clock = file.create_dataset("time", data=np.arange(10.0), **how)
        clock.make_scale("time")
        for name in ("x", "part"):
            made = file.create_dataset(name, (10,), kind, fillvalue=5, **how)
            made[: 10 if name == "x" else 3] = values[: 10 if name == "x" else 3]
            made.dims[0].attach_scale(clock)
        expected = {name: file[name][...] for name in ("x", "part")}
    found = da.read_record(tmp_path / "r.nc")
    assert found.names == ("part", "x") and np.array_equal(found.time, np.arange(10.0))
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_a_filter_that_is_not_of_netcdf_is_refused_by_name(tmp_path: Path) -> None:
    with with_clock(tmp_path / "r.nc") as file:
        x = file.create_dataset("x", data=np.arange(4.0), chunks=(4,), compression="lzf")
        x.dims[0].attach_scale(file["time"])
    with raises(FileFormatError, "not-supported", "'x'"):
        da.read_record(tmp_path / "r.nc")


# ---- memory


def parquet_text(path: Path) -> None:
    text = "x" * 200_000
    table = pyarrow.table({"time": np.arange(400.0), "word": pyarrow.DictionaryArray.from_arrays([0] * 400, [text])})
    parquet.write_table(table, path)


def parquet_page(path: Path) -> None:
    """Few rows, but one page of them is more than its share."""
    rows = 440_000
    table = pyarrow.table({"time": np.zeros(rows), "x": np.zeros(rows)})
    limit = "max_rows_per_page"  # without this argument a version has no such limit
    limited = {limit: rows} if limit in inspect.signature(parquet.write_table).parameters else {}
    parquet.write_table(table, path, compression="gzip", use_dictionary=False, data_page_size=1 << 30,
                        write_batch_size=rows, **limited)  # fmt: skip


def parquet_rows(path: Path) -> None:
    table = pyarrow.table({"time": np.zeros(2_000_000)})
    parquet.write_table(table, path)


def parquet_footer(path: Path) -> None:
    """A million parts of four bytes each in the footer (a schema of empty elements)."""
    footer = bytes([0x15, 0x02, 0x19, 0xFC, *varint(1_000_000)]) + bytes([0x48, 0x01, 0x61, 0x00]) * 1_000_000
    footer += bytes([0x16, 0x00, 0x19, 0x0C, 0x00])
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def parquet_most(path: Path) -> None:
    rows = 450_000
    parquet.write_table(pyarrow.table({"time": np.arange(float(rows)), "x": np.zeros(rows)}), path)


def mat_hidden(path: Path) -> None:
    """Ten numbers declared, 30 MB in the packed body."""
    whole = version_5("<", {"time": np.arange(10.0)[:, None], "x": np.ones((10, 1))}, packed=True)
    first = 128 + 8 + int.from_bytes(whole[132:136], "little")
    body = zlib.decompress(whole[first + 8 :]) + bytes(30_000_000)
    packed = zlib.compress(body, 1)
    path.write_bytes(whole[:first] + (15).to_bytes(4, "little") + len(packed).to_bytes(4, "little") + packed)


def mat_declared(path: Path) -> None:
    long = np.zeros((2_000_000, 1))
    path.write_bytes(version_5("<", {"time": long, "x": long}, packed=True))


def mat_channels(path: Path) -> None:
    """Two samples of many channels: the names would take more than the numbers."""
    savemat(path, {"time": np.arange(2.0), "x": np.zeros((2, 400_000), dtype="i1")}, do_compression=True)


def mat_variables(path: Path) -> None:
    one = version_5("<", {"x": np.ones((1, 1), dtype="i1")})
    path.write_bytes(one[:128] + one[128:] * 60_000)


def netcdf_fill(path: Path) -> None:
    with h5py.File(path, "w") as file:
        clock = file.create_dataset("time", (10**12,), "f8", chunks=(1000,), fillvalue=1.0, compression="gzip")
        clock.make_scale("time")
        file.create_dataset("x", (10**12,), "f8", chunks=(1000,)).dims[0].attach_scale(clock)


def netcdf_chunk(path: Path) -> None:
    """A chunk of a thousand numbers that unpacks to 30 MB."""
    with h5py.File(path, "w") as file:
        clock = file.create_dataset("time", (1000,), "f8", chunks=(1000,), compression="gzip")
        clock.make_scale("time")
        clock.id.write_direct_chunk((0,), PACKED)
        file.create_dataset("x", data=np.zeros(1000)).dims[0].attach_scale(clock)


def netcdf_wide_chunk(path: Path) -> None:
    with h5py.File(path, "w") as file:
        clock = file.create_dataset("time", (4,), "f8", chunks=(5_000_000,), maxshape=(None,), compression="gzip")
        clock.make_scale("time")
        clock[:] = np.arange(4.0)
        file.create_dataset("x", data=np.zeros(4)).dims[0].attach_scale(clock)


def netcdf_attribute(path: Path) -> None:
    """A text nearly as long as the file may be: the library copies it several times."""
    with with_clock(path) as file:
        file.create_dataset("x", data=np.zeros(4)).dims[0].attach_scale(file["time"])
        file.attrs["provenance"] = '{"a": "' + "a" * 11_900_000 + '"}'


def netcdf_lists(path: Path) -> None:
    """Three bytes for every empty list, which takes 64 in memory."""
    with with_clock(path) as file:
        file.create_dataset("x", data=np.zeros(4)).dims[0].attach_scale(file["time"])
        file.attrs["provenance"] = '{"a": [' + "[]," * 1_500_000 + "[]]}"


def netcdf_names(path: Path) -> None:
    """One variable by many names, each with the same long unit."""
    with with_clock(path) as file:
        x = file.create_dataset("x", data=np.zeros(4))
        x.dims[0].attach_scale(file["time"])
        x.attrs["units"] = "m" * 60_000
        for k in range(2000):
            file[f"x{k}"] = x


def netcdf_packed_chunk(path: Path) -> None:
    """As much as is allowed, in the largest chunks, which do not shrink when packed."""
    with h5py.File(path, "w") as file:
        clock = file.create_dataset("time", data=np.arange(700_000.0), chunks=(93_750,), compression="gzip")
        clock.make_scale("time")
        noise = np.frombuffer(np.random.default_rng(1).bytes(8 * 600_000), dtype="f8")
        x = file.create_dataset("x", (700_000,), "f8", chunks=(93_750,), compression="gzip", shuffle=True)
        x[:600_000] = noise
        x.dims[0].attach_scale(clock)


def netcdf_most(path: Path) -> None:
    """As much as is allowed."""
    with h5py.File(path, "w") as file:
        clock = file.create_dataset("time", data=np.arange(700_000.0))
        clock.make_scale("time")
        file.create_dataset("x", (700_000,), "i1", fillvalue=3).dims[0].attach_scale(clock)


def csv_short(path: Path) -> None:
    """Two characters a number: eight bytes each in memory."""
    path.write_text("time," + ",".join(f"a{k}" for k in range(99)) + "\n" + ("0," * 99 + "0\n") * 29_000)


def csv_gaps(path: Path) -> None:
    path.write_text("time," + ",".join(f"a{k}" for k in range(99)) + "\n" + ("," * 99 + "\n") * 58_000)


def csv_header(path: Path) -> None:
    """A header of a million and a half columns."""
    path.write_text("time" + ",aa" * 1_300_000 + "\n1" + ",1" * 1_300_000 + "\n")


def csv_late_time(path: Path) -> None:
    """As much as is allowed, with time in the last column."""
    rows = "".join(f"1,2,3,4,5,6,7,8,9,{k}\n" for k in range(140_000))
    path.write_text("a,b,c,d,e,f,g,h,i,time\n" + rows)


def csv_two_columns(path: Path) -> None:
    """As much as is allowed: the checks of time, which is half of it, count most."""
    path.write_text("time,x\n" + "".join(f"{k}.5,\n" if k % 9 else f"{k},1\n" for k in range(700_000)))


def parquet_lists(path: Path) -> None:
    about = ('{"provenance": {"a": [' + "[]," * 100_000 + "[]]}}").encode()
    table = pyarrow.table({"time": np.arange(4.0), "x": np.zeros(4)}).replace_schema_metadata({b"dalembert": about})
    parquet.write_table(table, path)


def parquet_text_of_footer(path: Path) -> None:
    table = pyarrow.table({"time": np.arange(4.0), "x": np.zeros(4)})
    parquet.write_table(table.replace_schema_metadata({b"x": b"x" * 4_500_000}), path)


HOSTILE = {
    ".parquet": [parquet_text, parquet_page, parquet_rows, parquet_footer, parquet_most,
                 parquet_lists, parquet_text_of_footer],
    ".mat": [mat_hidden, mat_declared, mat_channels, mat_variables],
    ".nc": [netcdf_fill, netcdf_chunk, netcdf_wide_chunk, netcdf_attribute, netcdf_lists, netcdf_names,
            netcdf_packed_chunk, netcdf_most],
    ".csv": [csv_short, csv_gaps, csv_header, csv_late_time, csv_two_columns],
}  # fmt: skip
ACCEPTED = {"mat_hidden", "csv_late_time", "csv_two_columns", "netcdf_packed_chunk", "netcdf_most", "parquet_most"}
CHILD = """
import json, sys
import dalembert as da

def processes():
    # this one and the one that reads for it
    helper = sys.modules["dalembert.core.isolation"]._helper
    return ("self", *([str(helper.pid)] if helper else []))

def begin():
    for process in processes():
        with open(f"/proc/{process}/clear_refs", "w") as file:
            file.write("5")
    return peak()

def peak():
    found = 0
    for process in processes():
        with open(f"/proc/{process}/status") as file:
            found += next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    return found

first, limit, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
da.read_record(first)
for file in files:
    before = begin()
    try:
        said = f"read: {len(da.read_record(file, max_bytes=limit))}"
    except da.errors.DalembertError as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps([file, peak() - before, said]), flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("suffix", HOSTILE)
def test_memory_of_a_hostile_file_stays_below_twice_max_bytes(tmp_path: Path, suffix: str) -> None:
    """Peak resident memory of a process of its own, above what it had after a small file of that format."""
    t = np.arange(10.0)
    small = tmp_path / f"small{suffix}"
    if suffix == ".mat":
        savemat(small, {"time": t, "x": t})
    else:
        da.write_record(da.Record.from_channels(t, {"x": t}), small)
    files = []
    for make in HOSTILE[suffix]:
        files.append(tmp_path / f"{make.__name__}{suffix}")
        make(files[-1])
        assert files[-1].stat().st_size <= LIMIT, make.__name__
    # memory that is freed goes back to the system: a peak is of one file, not of those before it
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "100000"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(small), str(LIMIT), *map(str, files)], capture_output=True, text=True,
        env=environment,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(files), done.stderr
    for file, grown, said in lines:
        assert grown < 2 * LIMIT, (file, grown, said)
        assert said.startswith("read: " if Path(file).stem in ACCEPTED else "FileFormatError: "), said
        assert "page" in said if "parquet_page" in file else True, said


def test_a_small_file_is_read_within_a_small_bound(tmp_path: Path) -> None:
    """Also by a helper that has yet to load the library."""
    t = np.arange(10.0)
    for suffix in (".nc", ".parquet", ".csv"):
        da.write_record(da.Record.from_channels(t, {"x": t}, name="run"), tmp_path / f"r{suffix}")
        isolation.stop()
        assert da.read_record(tmp_path / f"r{suffix}", max_bytes=200_000).name == "run"


def test_a_negative_number_of_rows_is_refused(tmp_path: Path) -> None:
    """The number of rows of a Parquet file is a signed varint of its footer: 7 is written as 14, -7 as 13."""
    path = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.table({"time": np.arange(7.0), "x": np.zeros(7)}), path)
    whole = path.read_bytes()
    length = int.from_bytes(whole[-8:-4], "little")
    footer = whole[-8 - length : -8]
    assert b"\x16\x0e" in footer
    for place in [k for k in range(length - 1) if footer[k : k + 2] == b"\x16\x0e"]:
        path.write_bytes(whole[: -8 - length] + footer[:place] + b"\x16\x0d" + footer[place + 2 :] + whole[-8:])
        with contextlib.suppress(FileFormatError):
            da.read_record(path)
    with raises(FileFormatError, "damaged", "-7"):
        check_size(-7, 1, 10**6)


# ---- a library that dies


def test_a_library_that_dies_refuses_the_file_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = np.arange(5.0)
    da.write_record(da.Record.from_channels(t, {"x": t}), tmp_path / "r.nc")
    isolation.stop()
    with monkeypatch.context() as patch:
        dies = "import os, sys; os.write(1, b'R' + bytes(8)); sys.stdin.readline(); os.abort()"
        patch.setattr(isolation, "_CHILD", dies)
        with raises(FileFormatError, "damaged", "0"):
            da.read_record(tmp_path / "r.nc")
    assert np.array_equal(da.read_record(tmp_path / "r.nc")["x"], t)


def test_without_other_processes_files_are_read_in_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    t = np.arange(5.0)
    da.write_record(da.Record.from_channels(t, {"x": t}), tmp_path / "r.parquet")
    isolation.stop()
    monkeypatch.setattr(sys, "executable", "/opt/drawing/program")
    assert np.array_equal(da.read_record(tmp_path / "r.parquet")["x"], t)
    assert isolation._helper is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_helper_ends_with_its_parent_though_a_forked_child_lives(tmp_path: Path) -> None:
    t = np.arange(5.0)
    da.write_record(da.Record.from_channels(t, {"x": t}), tmp_path / "r.nc")
    program = (
        "import os, sys, time, dalembert as da; from dalembert.core import isolation\n"
        "da.read_record(sys.argv[1])\n"
        "child = os.fork()\n"
        "if child == 0: time.sleep(60); os._exit(0)\n"
        "print(isolation._helper.pid, child, flush=True); os._exit(0)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "r.nc")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        helper, child = process.stdout.readline().split()
    try:
        ended = (time.sleep(0.05) or not Path(f"/proc/{helper.decode()}").exists() for _ in range(200))
        assert any(ended), f"process {helper.decode()} outlived its parent by 10 s"
    finally:
        os.kill(int(child), signal.SIGKILL)


def test_the_helper_is_used_again_and_ends_with_its_parent(tmp_path: Path) -> None:
    t = np.arange(5.0)
    da.write_record(da.Record.from_channels(t, {"x": t}), tmp_path / "r.nc")
    program = (
        "import sys, dalembert as da; from dalembert.core import isolation\n"
        "for k in range(3): da.read_record(sys.argv[1]); print(isolation._helper.pid, flush=True)\n"
        "import os; os._exit(0)"  # no clean end
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "r.nc")], capture_output=True, text=True, check=True, timeout=60
    )
    (helper,) = set(done.stdout.split())
    for _ in range(100):
        if not Path(f"/proc/{helper}").exists():
            return
        time.sleep(0.05)
    pytest.fail(f"process {helper} outlived its parent by 5 s")
