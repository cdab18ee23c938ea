"""Processes with limits, the search for the fastest setting, rows, and the results file."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MEMORY_LIMIT = 8 * 2**30
"""Address space of one process [bytes]."""
TIME_LIMIT = 120.0
"""Elapsed time of one process [s]."""
SEARCH_TIME = 60.0
QUICK = 0.5  # seconds; a faster run is also tried with coarser settings
"""Elapsed time after which a search tries no finer setting [s], so that the repetitions fit the limit."""
REPEATS, LONG_RUN = 5, 4.0
ROOT = Path(__file__).resolve().parent.parent

Emit = Callable[[dict[str, Any]], None]


# --- one figure, in a process of its own -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What one process reported: its lines, and how it ended."""

    lines: list[dict[str, Any]]
    status: str
    reason: str = ""


def ask(
    module: str, function: str, task: Mapping[str, Any], *, python: str | None = None, limit: float = TIME_LIMIT
) -> Answer:
    """Run ``module.function(task, emit)`` in a new process with limits and collect what it emits.

    Without `python` it is a process of ours: nothing is on its path, in particular no C compiler.
    """
    with tempfile.TemporaryDirectory(prefix="dalembert-bench-") as folder:
        out, errors = Path(folder) / "lines", Path(folder) / "errors"
        command = [python or sys.executable, "-m", "benchmarks.worker", module, function, str(out), str(MEMORY_LIMIT)]
        environment = os.environ | {
            "EXUDYN_MODULE": "fast",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            **{name + "_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")},
        }
        if python is None:
            environment |= {"PATH": folder, "CC": ""}
        with errors.open("w") as stderr:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                text=True,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
            try:
                process.communicate(json.dumps(task), timeout=limit)
                late = False
            except subprocess.TimeoutExpired:
                late = True
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        lines = [json.loads(line) for line in out.read_text().splitlines() if line] if out.exists() else []
        if late:
            return Answer(lines, "time limit", f"stopped after {limit:g} s")
        said = [line for line in errors.read_text(errors="replace").splitlines() if line.strip()]
        return Answer(lines, *_ending(process.returncode, said))


def _ending(code: int, said: Sequence[str]) -> tuple[str, str]:
    last = said[-1].strip() if said else ""
    if code == 0:
        return "ok", ""
    if any(word in line for line in said[-20:] for word in ("MemoryError", "bad_alloc", "annot allocate memory")):
        return "memory limit", f"needs more than {MEMORY_LIMIT / 2**30:g} GB"
    if last.startswith("ModuleNotFoundError"):
        return "missing", last
    return "failed", last or (f"ended by signal {-code}" if code < 0 else f"exit code {code}")


def peer_python() -> str:
    """Interpreter that has the peers installed."""
    return os.environ.get("DALEMBERT_BENCH_PYTHON") or sys.executable


# --- CPU time, and the fastest setting that meets an error -----------------------------------------------------------


def cpu_time(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it returned."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def repeats(seconds: float) -> int:
    """How often a run of this length is measured."""
    return REPEATS if seconds <= LONG_RUN else max(1, int(REPEATS * LONG_RUN / seconds))


@dataclass(frozen=True)
class Method:
    """One way to solve the problem; ``run(fineness)`` returns CPU seconds and error, ``setting`` says what it used."""

    label: str
    run: Callable[[int], tuple[float, float]]
    setting: Callable[[int], dict[str, float]]
    coarsest: int = 4
    order: int = 4


def search(methods: Sequence[Method], tolerances: Sequence[float], emit: Emit) -> None:
    """Refine every method until it meets the tightest error, then measure the fastest settings five times.

    Each method gets finer by a factor that shrinks as its error comes near the next tolerance. A method that became
    slower than another one that already meets the tightest error is left.
    """
    begin = time.monotonic()
    tightest = min(tolerances)
    found: list[tuple[float, float, Method, int]] = []
    for method in methods:
        fineness = method.coarsest
        while time.monotonic() - begin < SEARCH_TIME:
            try:
                cpu, error = method.run(fineness)
            except (ArithmeticError, RuntimeError, ValueError) as problem:
                emit({"method": method.label, "problem": f"{type(problem).__name__}: {problem}"[:300]})
                cpu, error = 0.0, math.inf
            if not math.isfinite(error):
                growth = 1.5
            else:
                found.append((cpu, error, method, fineness))
                emit(_line(method, fineness, cpu, error, 1))
                next_goal = max((t for t in tolerances if t < error), default=error)
                growth = max(1.1, (error / next_goal) ** (1 / (method.order + 1)))
            best = min((f[0] for f in found if f[1] <= tightest), default=math.inf)
            if error <= tightest or cpu > best or fineness > 100_000:
                break
            fineness = math.ceil(fineness * growth)
        found += _coarser(method, found, tolerances, emit, begin)
    for cpu, error, method, fineness in sorted(_contenders(found, tolerances), key=lambda f: f[0]):
        count = repeats(cpu)
        fastest = min(method.run(fineness)[0] for _ in range(count))
        emit(_line(method, fineness, min(cpu, fastest), error, count))


def _coarser(
    method: Method,
    found: Sequence[tuple[float, float, Method, int]],
    tolerances: Sequence[float],
    emit: Emit,
    begin: float,
) -> list[tuple[float, float, Method, int]]:
    """Settings between the last that failed and the first that met an error: the coarsest that meets it counts."""
    more: list[tuple[float, float, Method, int]] = []
    for tolerance in tolerances:
        mine = {f[3]: f for f in (*found, *more) if f[2] is method}
        meeting = [k for k, f in mine.items() if f[1] <= tolerance]
        if not meeting or mine[min(meeting)][0] > QUICK:
            continue
        fineness = min(meeting) - 1
        while fineness >= 1 and fineness not in mine and time.monotonic() - begin < SEARCH_TIME:
            cpu, error = method.run(fineness)
            emit(_line(method, fineness, cpu, error, 1))
            more.append((cpu, error, method, fineness))
            if not error <= tolerance:
                break
            fineness -= 1
    return more


def _contenders(found: Sequence[tuple[float, float, Method, int]], tolerances: Sequence[float]) -> list[Any]:
    """Of those that meet each error, the fastest ones: single runs are noisy, so a few of them."""
    chosen: dict[tuple[str, int], Any] = {}
    for tolerance in tolerances:
        meeting = sorted((f for f in found if f[1] <= tolerance), key=lambda f: f[0])
        for f in meeting[:3]:
            if f[0] <= 1.5 * meeting[0][0]:
                chosen[f[2].label, f[3]] = f
    return list(chosen.values())


def _line(method: Method, fineness: int, cpu: float, error: float, count: int) -> dict[str, Any]:
    return {"method": method.label, **method.setting(fineness), "cpu": cpu, "error": error, "repeats": count}


# --- rows and the file -----------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One line of the table; ``ours`` and the peers are None where there is no figure."""

    name: str
    unit: str
    ours: float | None
    peers: dict[str, float | None]
    goal: float | None = None
    ratio: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        measured = [value for value in self.peers.values() if value is not None]
        if self.ours is not None and measured:
            self.ratio = self.ours / min(measured)

    def as_dict(self) -> dict[str, Any]:
        row = asdict(self)
        return {key: value for key, value in row.items() if key != "extra"} | row["extra"]


def merge(path: Path, rows: Sequence[Row]) -> None:
    """Put the rows into the file; rows of the same name are replaced, the others kept. Atomic."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        kept = []
    new = {row.name: row.as_dict() for row in rows}
    merged = [new.pop(old["name"], old) for old in kept] + list(new.values())
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(merged, stream, indent=1, allow_nan=False)
            stream.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The rows as lines of text."""
    peers = list(dict.fromkeys(name for row in rows for name in row.peers))
    head = ["name", "unit", "ours", *peers, "ratio", "goal", "build s", "first call s", "error", "setting"]
    body = []
    for row in rows:
        own = row.extra.get("details", {}).get("ours", {})
        setting = " ".join(f"{key} {own[key]:.3g}" for key in ("step", "tolerance") if key in own)
        numbers = [row.ours, *(row.peers.get(name) for name in peers), row.ratio, row.goal]
        numbers += [row.extra.get(key) for key in ("build_s", "first_call_s", "error")]
        body.append([row.name, row.unit, *map(_number, numbers), f"{own.get('method', '')} {setting}".strip()])
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    for line in (head, ["-" * width for width in widths], *body):
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    for row in rows:
        for name, detail in row.extra.get("details", {}).items():
            if detail.get("status", "ok") != "ok":
                yield f"{row.name}: {name}: {detail['status']}" + (f" ({detail['reason']})" if detail["reason"] else "")
        if row.extra.get("note"):
            yield f"{row.name}: {row.extra['note']}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
