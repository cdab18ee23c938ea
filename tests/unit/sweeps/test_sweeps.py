"""Sweeps: designs, trials, stores that survive being killed, other executors, mistakes."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, FileFormatError, Interrupted, ModelError
from tests.helpers import sweep_trials as trials
from tests.helpers.findings import raises

LINE = da.sweeps.Grid({"x": [0.5, 1.0, 2.0]})


def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    length = m.parameter("length", 1.0)
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("A", m.ground.at(0, 0), bob.at(0, length))
    return da.equations(m)


def test_a_guess_chooses_at_every_point_which_way_the_loops_close() -> None:
    eqs = da.equations(da.read_model("four-bar"))
    ends = []
    for angle in (1.9, -1.9):
        trial = da.sweeps.simulated(eqs, 0.01, {"y": ("rocker.y", "first")}, guess={"D.angle": angle})
        ends.append(da.sweep(trial, da.sweeps.Grid({"start A.angle": [1.2, 1.6]}), workers=0)["y"])
    assert (ends[0] > 0.2).all() and (ends[1] < 0).all()


# ---- designs


def test_a_grid_visits_every_combination_the_last_axis_fastest() -> None:
    design = da.sweeps.Grid({"a": [1, 2], "b": [10, 20, 30]})
    assert design.points.tolist() == [[1, 10], [1, 20], [1, 30], [2, 10], [2, 20], [2, 30]]


def test_a_latin_hypercube_has_one_point_in_every_slice() -> None:
    design = da.sweeps.LatinHypercube({"a": (0.0, 8.0), "b": (-1.0, 1.0)}, samples=8, seed=4)
    for column, (low, high) in zip(design.points.T, ((0.0, 8.0), (-1.0, 1.0)), strict=True):
        assert sorted(np.floor((column - low) / (high - low) * 8).astype(int)) == list(range(8))
    assert np.array_equal(design.points, da.sweeps.LatinHypercube({"a": (0.0, 8.0), "b": (-1.0, 1.0)}, 8, 4).points)


def test_sobol_fills_evenly_and_a_normal_axis_has_its_moments() -> None:
    design = da.sweeps.Sobol({"a": (0.0, 1.0), "b": da.sweeps.Normal(3.0, 0.5)}, samples=1024, seed=1)
    assert np.histogram(design.points[:, 0], 16, (0, 1))[0].tolist() == [64] * 16
    assert design.points[:, 1].mean() == pytest.approx(3.0, abs=0.01)
    assert design.points[:, 1].std() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("make", "finding"),
    [
        (lambda: da.sweeps.Grid({}), ("wrong-type",)),
        (lambda: da.sweeps.Grid({"a": []}), ("not-finite", "'a'")),
        (lambda: da.sweeps.Grid({"a": ["x"]}), ("not-a-number", "'a'", "'x'")),
        (
            lambda: da.sweeps.Grid({str(k): range(100) for k in range(5)}),
            ("too-large", "10000000000", "da.sweeps.LatinHypercube"),
        ),
        (lambda: da.sweeps.Points({"a": [1, 2], "b": [1]}), ("wrong-shape", "'b'")),
        (lambda: da.sweeps.LatinHypercube({"a": (2.0, 1.0)}, 4), ("out-of-range", "'a'")),
        (lambda: da.sweeps.LatinHypercube({"a": 3.0}, 4), ("wrong-type", "(low, high)")),
        (lambda: da.sweeps.Sobol({"a": (0, 1)}, 0), ("not-a-count", "samples")),
        (lambda: da.sweeps.Sobol({"a": (0, 1)}, 4, -1), ("not-a-count", "seed")),
        (lambda: da.sweeps.Normal(0.0, -1.0), ("out-of-range", "-1.0")),
    ],
)
def test_designs_that_make_no_sense_are_refused(make: object, finding: tuple[str, ...]) -> None:
    with raises(DataError, *finding):
        make()


# ---- trials


def test_parameters_and_starts_of_a_machine_are_swept() -> None:
    """Small swings of a pendulum: the angle after a time is θ₀ cos(√(g/L) t), but for some θ₀³."""
    trial = da.sweeps.simulated(pendulum(), 0.5, {"angle": "A.angle", "largest": ("A.angle", "peak")}, every=0.1)
    found = da.sweep(trial, da.sweeps.Grid({"length": [0.5, 1.0], "start A.angle": [1e-3, 2e-3]}), workers=0)
    wanted = found["start A.angle"] * np.cos(np.sqrt(9.81 / found["length"]) * 0.5)
    assert found["angle"] == pytest.approx(wanted, abs=2e-3**3)
    assert found["largest"] == pytest.approx(found["start A.angle"], rel=1e-9)
    assert found.complete and "4 done" in repr(found)


def test_an_axis_that_the_machine_does_not_have_is_named() -> None:
    trial = da.sweeps.simulated(pendulum(), 0.5, {"angle": "A.angle"})
    with raises(ModelError, "unknown-name", "'length'"):
        da.sweep(trial, da.sweeps.Grid({"lenght": [1.0]}), workers=0)
    with raises(DataError, "unknown-name"):
        da.sweeps.simulated(pendulum(), 0.5, {"angle": ("A.angle", "median")})


def test_a_trial_that_fails_is_noted_and_the_others_go_on() -> None:
    found = da.sweep(trials.failing, LINE, workers=0)
    assert found.status == ("done", "done", "failed")
    assert "too much" in found.errors[2] and np.isnan(found["square"][2])
    assert found.failed.tolist() == [[2.0]]
    with raises(DataError, "trial-failed", "2"):
        da.sweep(trials.failing, LINE, workers=0, stop_on_error=True)


def test_results_must_keep_their_shape() -> None:
    with raises(DataError, "wrong-shape"):
        da.sweep(trials.changing, da.sweeps.Grid({"x": [2.0, 3.0]}), workers=0)


def test_a_closure_cannot_be_sent_and_is_told_so() -> None:
    with raises(DataError, "not-picklable"):
        da.sweep(lambda point: {"x": 1.0}, LINE)
    assert da.sweep(lambda point: {"x": 1.0}, LINE, workers=0)["x"].tolist() == [1.0] * 3


# ---- executors


def test_any_executor_gives_the_same_to_the_bit() -> None:
    design = da.sweeps.Sobol({"x": (0.0, 1.0)}, samples=32, seed=5)
    alone = da.sweep(trials.square, design, workers=0)
    with ThreadPoolExecutor(2) as pool:
        threads = da.sweep(trials.square, design, executor=pool)
    processes = da.sweep(trials.square, design, workers=2)
    for name in ("square", "drawn"):
        assert np.array_equal(alone[name], threads[name])
        assert np.array_equal(alone[name], processes[name])


def test_a_worker_that_dies_is_told_and_what_was_done_is_kept(tmp_path: Path) -> None:
    with raises(DataError, "worker-died"):
        da.sweep(trials.dying, LINE, workers=1, store=tmp_path)
    assert da.sweeps.read_sweep(tmp_path).status[0] == "done"


# ---- stores


def test_a_finished_sweep_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_NOTES", str(tmp_path / "notes"))
    first = da.sweep(trials.noted, LINE, workers=0, store=tmp_path / "s")
    again = da.sweep(trials.noted, LINE, workers=0, store=tmp_path / "s")
    assert np.array_equal(first["square"], again["square"])
    assert len((tmp_path / "notes").read_text().split()) == 3


def test_a_killed_sweep_goes_on_and_gives_the_same_to_the_bit(tmp_path: Path) -> None:
    code = (
        "import dalembert as da\nfrom tests.helpers import sweep_trials\n"
        "design = da.sweeps.Sobol({'x': (0.0, 1.0)}, 64, 9)\n"
        f"da.sweep(sweep_trials.noted, design, workers=0, store={str(tmp_path / 's')!r})\n"
    )
    environment = {**os.environ, "SWEEP_NOTES": str(tmp_path / "notes"), "PYTHONPATH": os.getcwd()}
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


def test_broken_stores_are_told_with_file_and_line(tmp_path: Path) -> None:
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


def test_stopping_keeps_what_there_is() -> None:
    def stop(fraction: float) -> None:
        if fraction > 0.4:
            raise KeyboardInterrupt

    with raises(Interrupted, "interrupted", "2", "3") as stopped:
        da.sweep(trials.square, LINE, workers=0, progress=stop)
    assert stopped.value.record.status == ("done", "done", "missing")


def test_a_sweep_becomes_a_dataset() -> None:
    pytest.importorskip("xarray")
    data = da.sweep(trials.square, LINE, workers=0).to_xarray()
    assert data["square"].dims == ("point",) and data["x"].values.tolist() == [0.5, 1.0, 2.0]
