"""Stores of sweeps: they survive a kill, and refuse damaged files."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, FileFormatError
from dalembert.sweeps.store import read_lines
from tests.helpers import sweep_trials as trials
from tests.helpers.findings import raises

LINE = da.sweeps.Grid({"x": [0.5, 1.0, 2.0]})


def test_a_finished_sweep_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_NOTES", str(tmp_path / "notes"))
    first = da.sweep(trials.noted, LINE, workers=0, store=tmp_path / "s")
    again = da.sweep(trials.noted, LINE, workers=0, store=tmp_path / "s")
    assert np.array_equal(first["square"], again["square"])
    assert len((tmp_path / "notes").read_text().split()) == 3


@pytest.mark.slow
def test_a_killed_sweep_goes_on_and_gives_the_same_to_the_bit(tmp_path: Path) -> None:
    code = (
        "import dalembert as da\nfrom tests.helpers import sweep_trials\n"
        "design = da.sweeps.Sobol({'x': (0.0, 1.0)}, 64, 9)\n"
        f"da.sweep(sweep_trials.noted, design, workers=0, store={str(tmp_path / 's')!r})\n"
    )
    environment = {**os.environ, "SWEEP_NOTES": str(tmp_path / "notes"), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    lines = tmp_path / "s" / "results.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (lines.exists() and lines.read_bytes().count(b"\n") >= 10):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = lines.read_bytes().count(b"\n")
    assert 10 <= done < 64
    with lines.open("ab") as file:
        file.write(b'{"index": 63, "resul')  # cut off while writing
    assert da.sweeps.read_sweep(tmp_path / "s").status.count("done") == done
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    resumed = da.sweeps.read_sweep(tmp_path / "s")
    whole = da.sweep(trials.square, da.sweeps.Sobol({"x": (0.0, 1.0)}, 64, 9), workers=0)
    assert resumed.complete
    for name in ("square", "drawn"):
        assert np.array_equal(resumed[name], whole[name])
    counts = np.bincount([int(n) for n in (tmp_path / "notes").read_text().split()], minlength=64)
    assert counts.max() <= 2 and (counts > 1).sum() <= 1  # the one that was under way when the process died


def test_another_sweep_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    da.sweep(trials.square, LINE, workers=0, store=tmp_path)
    with raises(DataError, "other-sweep"):
        da.sweep(trials.square, da.sweeps.Grid({"x": [0.5, 1.0, 3.0]}), workers=0, store=tmp_path)
    with raises(DataError, "other-sweep"):
        da.sweep(trials.slow, LINE, workers=0, store=tmp_path)


def test_broken_stores_are_reported_with_file_and_line(tmp_path: Path) -> None:
    with raises(DataError, "no-such-file"):
        da.sweeps.read_sweep(tmp_path)
    da.sweep(trials.square, LINE, workers=0, store=tmp_path)
    (tmp_path / "results.jsonl").write_text('{"index": 0, "results": {}}\nnonsense\n')
    with raises(FileFormatError, "damaged", "2"):
        da.sweeps.read_sweep(tmp_path)
    (tmp_path / "sweep.json").write_text("{}")
    with raises(FileFormatError, "bad-version"):
        da.sweeps.read_sweep(tmp_path)


BAD_LINES = {
    "index beyond the points": '{"index": 99, "results": {}}',
    "index before the points": '{"index": -1, "results": {}}',
    "index of truth": '{"index": true, "results": {}}',
    "index that is no number": '{"index": NaN, "results": {}}',
    "no table": "[1, 2]",
    "results that are no table": '{"index": 0, "results": [1]}',
    "a text as result": '{"index": 0, "results": {"square": "1"}}',
    "shape of truths": '{"index": 0, "results": {"square": {"shape": [true], "data": "AAAAAAAAAAA="}}}',
    "shape that is none": '{"index": 0, "results": {"square": {"shape": [-1], "data": ""}}}',
    "shape that does not fit": '{"index": 0, "results": {"square": {"shape": [9999999], "data": "AAAA"}}}',
    "data that are none": '{"index": 0, "results": {"square": {"shape": [1], "data": "%%%"}}}',
    "nesting": "[" * 100_000,
    "truth as result": '{"index": 0, "results": {"square": true}}',
    "more digits than a number holds": '{"index": 0, "results": {"square": 1' + "0" * 400 + "}}",
    "an empty array that is too large": '{"index": 0, "results": {"square": {"shape": [0, 999999999], "data": ""}}}',
    "control characters in a name": '{"index": 0, "results": {"\\u001b[31m": 1.0}}',
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_hostile_line_of_a_store_is_a_data_error_with_its_place(line: str, tmp_path: Path) -> None:
    da.sweep(trials.square, LINE, workers=0, store=tmp_path)
    (tmp_path / "results.jsonl").write_text(line + "\n")
    with raises(DataError, "damaged", "1"):
        da.sweeps.read_sweep(tmp_path)
    with raises(DataError, "damaged", "1"):
        da.sweep(trials.square, LINE, workers=0, store=tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("names", 3),
        ("names", [1]),
        ("seed", "x"),
        ("points", {"shape": [2], "data": ""}),
        ("points", 1.0),
        ("count", 9),
        ("count", 3.0),
        ("names", []),
        ("names", ["\x1b[31m"]),
        ("points", {"shape": [3, 1], "data": [1]}),
        ("points", {"shape": [10**12, 0], "data": ""}),
    ],
)
def test_a_hostile_head_of_a_store_is_a_data_error(key: str, value: object, tmp_path: Path) -> None:
    da.sweep(trials.square, LINE, workers=0, store=tmp_path)
    head = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps({**head, key: value}))
    with raises(DataError, "damaged"):
        da.sweeps.read_sweep(tmp_path)


def test_a_sweep_of_one_name_twice_is_refused(tmp_path: Path) -> None:
    da.sweep(trials.square, da.sweeps.Grid({"x": [1.0, 2.0], "y": [3.0]}), workers=0, store=tmp_path)
    head = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps({**head, "names": ["x", "x"]}))
    with raises(DataError, "damaged"):
        da.sweeps.read_sweep(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc")
@pytest.mark.slow
def test_memory_of_a_hostile_store_stays_below_twice_max_bytes(tmp_path: Path) -> None:
    """A thousand points, of which one says that every point has many results; and objects of three bytes each."""
    most = 20_000_000
    da.sweep(trials.square, da.sweeps.Grid({"x": np.arange(1000.0)}), workers=0, store=tmp_path)
    program = (
        "import sys, dalembert as da\n"
        "def peak():\n"
        "    return next(1024 * int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM'))\n"
        "da.sweeps.read_sweep(sys.argv[1]); before = peak()\n"
        "try: da.sweeps.read_sweep(sys.argv[2], max_bytes=int(sys.argv[3])); said = 'read'\n"
        "except da.errors.DalembertError as error: said = str(error)\n"
        "print(peak() - before, said)"
    )
    array = {"shape": [4000], "data": base64.b64encode(bytes(32_000)).decode()}
    lines = {
        "max_bytes": json.dumps({"index": 0, "results": {"square": array}}),
        "max_bytes ": json.dumps({"index": 0, "results": {f"r{k}": 0.0 for k in range(10_000)}}),
        "too long": '{"index": 0, "results": {}, "more": [' + "{}," * 500_000 + "{}]}",
    }
    for why, line in lines.items():
        other = tmp_path / "other"
        other.mkdir(exist_ok=True)
        (other / "sweep.json").write_text((tmp_path / "sweep.json").read_text())
        (other / "results.jsonl").write_text(line + "\n")
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path), str(other), str(most)], capture_output=True, text=True
        )
        grown, _, said = done.stdout.partition(" ")
        assert int(grown) < 2 * most and why.strip() in said, (why, done)


# ---- edges of thresholds


@pytest.mark.parametrize(("points", "refused"), [(1024**3 - 1000, False), (1024**3, True)])
def test_results_of_a_sweep_take_8_gib_at_most(tmp_path: Path, points: int, refused: bool) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps({"index": 0, "results": {"square": 1.0}}) + "\n", encoding="utf-8")
    with raises(FileFormatError, "too-large") if refused else nullcontext():
        assert len(read_lines(path, points)) == 1  # 8 bytes of each point, and a kilobyte of the line
