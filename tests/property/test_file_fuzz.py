"""Files of every format under fire, in a child process: a crash is counted with its seed, and costs no other test.

5 200 inputs in ``make test``, a hundred times as many in ``make test-all``. To see an input that failed again:
``python -m tests.helpers.fuzz_worker FORMAT SEED FILE``.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import dalembert as da
from tests.helpers import fuzz_worker
from tests.helpers.fuzz_worker import FORMATS, READ, REFUSED

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the bound on the worker's memory is Linux's")

# inputs per format, by what reading one costs
INPUTS = {
    "toml": 100, "json": 100, "csv": 300, "tsv": 100, "mat4": 200, "mat5": 250, "mat7": 200, "parquet": 150,
    "netcdf": 100, "logger": 150, "mat73": 60, "uff": 150, "strong motion": 150, "wav": 150, "xlsx": 60, "tdms": 100,
    "lvm": 100, "npz": 60,
    "gmsh": 200, "abaqus": 150, "nastran": 100, "stl": 100, "sweep": 100, "urdf": 150, "mjcf": 150, "obj": 100,
    "modal table": 200, "modal json": 150, "modal uff": 200, "geometry": 150, "universal geometry": 100,
    "geometry toml": 200, "choice": 200, "deep strong motion": 100, "frequency responses": 100,
    "npz body": 150, "sid body": 150, "punch body": 100, "matrices": 150,
}  # fmt: skip
TIMES = 100 if os.environ.get("DALEMBERT_TEST_PROFILE") == "wide" else 1
LONGEST = 180.0  # s for one input; the machine may be busy with other tests


class Worker:
    """The child process; started anew after it died."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.lines: queue.Queue[str | None] = queue.Queue()

    def start(self) -> subprocess.Popen[str]:
        root = Path(__file__).parents[2]
        here = os.pathsep.join([str(root), *sys.path])
        self.lines = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.fuzz_worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, cwd=root, env={**os.environ, "PYTHONPATH": here},
        )  # fmt: skip
        self.listener = threading.Thread(target=self._listen, args=(self.process, self.lines), daemon=True)
        self.listener.start()
        return self.process

    @staticmethod
    def _listen(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line.rstrip("\n"))
        lines.put(None)

    def endings(self, name: str, count: int, seed: int = 0) -> Iterator[tuple[int, str]]:
        """Every seed from the first one to below ``count`` with how its input ended."""
        while seed < count:
            process = self.process if self.process is not None else self.start()
            assert process.stdin is not None
            process.stdin.write(f"{name} {seed} {count - seed}\n")
            process.stdin.flush()
            while seed < count:
                try:
                    said = self.lines.get(timeout=120.0)  # it may have to import first
                    assert said == str(seed), "the worker could not make its inputs"
                    ended = self.lines.get(timeout=LONGEST)
                    if ended is None:
                        ended = f"the process died with {process.wait()}"
                except queue.Empty:
                    ended = f"no end in {LONGEST:g} s"
                    self.stop()
                yield seed, ended
                seed += 1
                if process.poll() is not None or self.process is None:
                    self.stop()
                    break

    def stop(self) -> None:
        if self.process is not None:
            with self.process:  # closes the pipes
                self.process.kill()
                self.listener.join()
            self.process = None


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


def test_every_registered_format_and_every_public_reader_is_mutated() -> None:
    """A format that is registered without sound files here, or a new reader, fails."""
    from dalembert.files.bodies.format import BODY_FORMATS
    from dalembert.files.modal.format import MODAL_FORMATS
    from dalembert.files.models.format import MODEL_FORMATS
    from dalembert.files.records.format import RECORD_FORMATS

    registries = {
        (fuzz_worker.read_table,): RECORD_FORMATS, (fuzz_worker.read_modal,): MODAL_FORMATS,
        (fuzz_worker.read_body, fuzz_worker.read_matrices): BODY_FORMATS,
        (fuzz_worker.read_model, fuzz_worker.read_robot): MODEL_FORMATS,
    }  # fmt: skip
    for readers, registry in registries.items():
        mutated = {suffix for suffix, _, reader in FORMATS.values() if reader in readers}
        missing = [name for name, kind in registry.items() if kind.read and not mutated & {*kind.suffixes}]
        assert not missing, f"{registry}: no sound files of {missing}"
    groups = [da, *(value for name in dir(da) if isinstance(value := getattr(da, name), ModuleType))]
    public = {name for group in groups for name in dir(group) if name.startswith("read_")}
    assert public == {
        "read_record", "read_modes", "read_flexible_body", "read_model", "read_urdf", "read_mjcf", "read_mesh",
        "read_sweep", "read_data",  # the last one takes records, not files
    }  # fmt: skip
    assert INPUTS.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_messages_stay_short_whatever_a_file_holds(worker: Worker, name: str) -> None:
    ends = Counter(ended for _, ended in worker.endings(name, 0, -8 * TIMES))
    assert set(ends) <= {READ, REFUSED}, ends


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("parquet", (471, 1262, 10810)),
        ("netcdf", (156, 4073)),
        pytest.param("netcdf", (4904, 7376), marks=pytest.mark.slow, id="netcdf, loops"),  # 3 s each, as 4073
        ("sweep", (91, 739, 776, 808)),
        ("urdf", (7660, 14958)),
        ("punch body", (320, 591, 4535)),
        ("matrices", (259,)),
    ],
)
def test_files_that_once_ended_otherwise_are_read_or_refused(worker: Worker, name: str, seeds: tuple[int, ...]) -> None:
    """An abort in pyarrow, memory corrupted and loops without end in libhdf5, errors of our own."""
    for seed in seeds:
        assert dict(worker.endings(name, seed + 1, seed))[seed] in (READ, REFUSED)


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_files_are_read_or_refused(worker: Worker, name: str) -> None:
    wanted = INPUTS[name] * TIMES if TIMES > 1 else INPUTS[name] // 2  # the same files in every quick run
    ends: Counter[str] = Counter()
    wrong: dict[str, list[int]] = {}
    for seed, ended in worker.endings(name, wanted):
        ends[ended] += 1
        if ended not in (READ, REFUSED):
            wrong.setdefault(ended, []).append(seed)
    summary = "\n".join(f"{len(seeds)} x {ended}: {name} {seeds[:8]}" for ended, seeds in wrong.items())
    assert not wrong, summary
    assert ends.total() == wanted
    assert ends[READ] and ends[REFUSED], ends  # mutations that all fail, or none, test little
