"""Commands ended from outside: SIGTERM keeps what there is, SIGKILL tears nothing; no process stays behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.atomic_files import replace_file, write_text
from tests.helpers.commands import entry

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

UNFINISHED = re.compile(r"^\..*dalembert-")
OLD = "time,x\n0,1\n1,2\n"  # a whole file that was there before
SWEEP = ("sweep", "pendulum", "--over", "length=0.5:2", "--output", "peak=hinge.rate:peak", "--samples", "4000",
         "--until", "30", "--workers", "2", "--store", "store", "--out", "out.csv")  # fmt: skip
# a long run with few samples: what it has computed is written within a second
SIMULATE = ("simulate", "pendulum", "--until", "1e6", "--every", "1", "--max-steps", "100000000", "--out", "out.csv")
COMMANDS = {
    "simulate": SIMULATE,
    "identify": ("identify", "long.csv", "--inputs", "force", "--report", "out.html", "--out", "out.json"),
    "estimate": (
        "estimate",
        "pendulum",
        "long.csv",
        "--outputs",
        "encoder",
        "--Q",
        "1e-6",
        "--R",
        "1e-4",
        "--out",
        "out.csv",
    ),
    "sweep": SWEEP,
    # a sixteenth of it is kept at a time: a second of work
    "sundials": ("simulate", "pendulum", "--until", "3e4", "--every", "1", "--method", "sundials", "--out", "out.csv"),
}


def long_record(folder: Path, name: str) -> None:
    """A record that takes long enough to be interrupted in."""
    rng = np.random.default_rng(1)
    n = 400_000 if name == "estimate" else 60_000
    t = np.arange(n) * 0.01
    if name == "estimate":
        channels = {"encoder": 0.3 * np.sin(3 * t)}
    else:
        force = rng.standard_normal(n)
        channels = {"force": force} | {f"a{k}": np.convolve(force, rng.standard_normal(50))[:n] for k in range(6)}
    da.write_record(da.Record(t, np.column_stack(list(channels.values())), list(channels)), folder / "long.csv")


def session(leader: int) -> list[int]:
    """Processes of a session that still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def spent(process: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _listen() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background process inherits that it is ignored


def end_in_the_middle(name: str, how: signal.Signals, folder: Path) -> tuple[int, str]:
    """Exit code and what was said of a command that was ended while it worked; nothing of it may be left."""
    if name in ("identify", "estimate"):
        long_record(folder, name)
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [*entry(), *COMMANDS[name]], cwd=folder, stderr=said, start_new_session=True, preexec_fn=_listen
        )
        lines = folder / "store" / "results.jsonl"
        deadline = time.monotonic() + 90
        while process.poll() is None and time.monotonic() < deadline:
            if (lines.exists() and lines.stat().st_size) if name == "sweep" else spent(process.pid) > 4.0:
                break
            time.sleep(0.05)
        assert process.poll() is None, "it was through before it could be ended"
        process.send_signal(how)
        code = process.wait(30)
    deadline = time.monotonic() + 20
    while session(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = session(process.pid)
    for one in left:
        os.kill(one, signal.SIGKILL)
    assert not left, "processes are left behind"
    return code, (folder / "said").read_text()


def unfinished(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if UNFINISHED.match(file.name)]


def slow(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize(("how", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("name", ["simulate", "sundials", "identify", "estimate", "sweep"])
@pytest.mark.slow
def test_a_terminated_command_ends_as_from_the_keyboard(
    name: str, how: signal.Signals, status: int, tmp_path: Path
) -> None:
    code, said = end_in_the_middle(name, how, tmp_path)
    assert code == status
    assert "interrupted" in said and "Traceback" not in said and "defect" not in said
    assert not unfinished(tmp_path)
    out = tmp_path / "out.csv"
    if name in ("simulate", "sundials"):
        record = da.read_record(out)
        assert record.status.startswith("interrupted") and record.time[-1] > 0.0
    else:
        assert not out.exists()
    if name == "sweep":
        kept = da.sweeps.read_sweep(tmp_path / "store")
        assert 0 < kept.status.count("done") < len(kept)


@pytest.mark.parametrize("name", ["sweep", slow("simulate"), slow("identify"), slow("estimate")])
def test_a_killed_command_leaves_whole_files_and_no_process(name: str, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text(OLD)
    code, _ = end_in_the_middle(name, signal.SIGKILL, tmp_path)
    assert code == -signal.SIGKILL
    assert (tmp_path / "out.csv").read_text() == OLD
    assert len(unfinished(tmp_path)) <= 1
    if name == "sweep":
        kept = da.sweeps.read_sweep(tmp_path / "store")
        assert 0 < kept.status.count("done") < len(kept)


def test_what_a_killed_writer_left_is_removed_by_the_next_run_into_the_folder(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nfrom dalembert.core.atomic_files import replace_file\n"
        "with replace_file(sys.argv[1]) as new:\n    new.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.csv")], check=False)
    (left,) = unfinished(tmp_path)
    assert left.read_text() == "half" and not (tmp_path / "run.csv").exists()
    with replace_file(tmp_path / "slow.csv") as new:  # by another writer, alive
        assert not left.exists()
        write_text(tmp_path / "other.csv", "x")
        new.write_text("whole")
    assert (tmp_path / "slow.csv").read_text() == "whole"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other.csv", "slow.csv"]
