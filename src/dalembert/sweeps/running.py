"""Runs a sweep on an executor; all computed points are kept.

Identity of a trial: a digest of everything that changes its results, by the name of its argument.

A value counts by its contents: numbers and arrays bit by bit, records by their channels, equations and laws by their
expressions, other objects by their fields. A function counts by its code, defaults, the values that it encloses and the
global values that it names; functions and classes of installed packages count by their names and enclosed values.
Digests do not depend on process, addresses or the order of sets. They hold for one version of Python and of CasADi.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import pickle
import signal
import sys
import sysconfig
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import fields, is_dataclass
from enum import Enum
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, Interrupted
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress
from dalembert.expressions import cores
from dalembert.record import Record
from dalembert.sweeps.designs import Design
from dalembert.sweeps.store import Store, gather_swept, pack
from dalembert.sweeps.swept import Swept
from dalembert.sweeps.trials import SweepPoint

PLAIN = (type(None), bool, int, str, bytes, complex, type(...), range, slice)
CODE = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
        "co_posonlyargcount", "co_kwonlyargcount", "co_flags")  # fmt: skip
MADE_LATER = {"_made", "_kernels", "_shared"}  # attributes of this package that hold expressions and code once made
INSTALLED = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))


def identify_trial(trial: object) -> dict[str, str]:
    """Digests of a trial by the names of its parts: arguments of a `Simulation`, fields, enclosed and global values."""
    walk = _Walk()
    if isinstance(trial, FunctionType):
        name = f"{trial.__module__}.{trial.__qualname__}"
        parts: dict[str, Any] = {"the function": (name, trial.__code__), **_values_of(trial, walk)}
    elif is_dataclass(trial):
        parts = {"the function": type(trial), **{field.name: getattr(trial, field.name) for field in fields(trial)}}
        parts |= parts.pop("options", None) or {}  # of a simulation, each by its own name
    else:
        parts = {"the function": trial}
    texts = {}
    for name, value in parts.items():
        try:
            texts[name] = walk.digest(value).hex()[:32]
        except (TypeError, AttributeError, ValueError, RuntimeError, RecursionError) as error:
            raise DataError(
                "not-supported", f"a store needs to know the trial again, but {name} cannot be compared: {error}.",
                Advice("Give values, records, or functions at the top of a module; or leave out the store."),
                where={"argument": name},
            ) from error  # fmt: skip
    return texts


class _Walk:
    """Digests of nested values; objects that contain themselves count by the distance to where they were met."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, bytes]] = {}  # with the value, so that no other takes its address
        self.open: list[int] = []

    def digest(self, value: Any) -> bytes:
        key = id(value)
        if key in self.done:
            return self.done[key][1]
        if key in self.open:
            return b"itself %d" % (len(self.open) - self.open.index(key))
        self.open.append(key)
        try:
            kind, items = self.contents(value)
            text = hashlib.sha256(kind.encode() + b"".join(b"|" + self.digest(item) for item in items))
        finally:
            self.open.pop()
        self.done[key] = (value, text.digest())
        return text.digest()

    def contents(self, value: Any) -> tuple[str, Sequence[Any]]:
        """The kind of a value, with its own text where it is a simple one, and its parts."""
        if isinstance(value, Enum) or type(value) in PLAIN:
            return f"{type(value).__name__} {value!r}", ()
        if isinstance(value, float):
            return f"float {float(value).hex()}", ()
        if isinstance(value, np.ndarray | np.generic | ca.DM) and np.asarray(value).dtype.kind != "O":
            array = np.asarray(value)
            return f"array {array.dtype.str} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}", ()
        if isinstance(value, Record):
            return "record", (value.time, value.data, value.names, value.units)
        if isinstance(value, ca.Function):
            return f"expression {value.serialize()}", ()
        if isinstance(getattr(value, "content_hash", None), str):
            return f"equations {value.content_hash}", ()
        if isinstance(value, Mapping) and not is_dataclass(value):
            return "mapping", [x for k in sorted(value, key=self.digest) for x in (k, value[k])]
        if isinstance(value, Set):
            return "set", sorted(value, key=self.digest)
        if isinstance(value, list | tuple | np.ndarray):
            return "sequence", list(value)
        if isinstance(value, CodeType):
            return "code", [getattr(value, name) for name in CODE]
        if isinstance(value, FunctionType | type | ModuleType) or hasattr(value, "__wrapped__"):
            return self.definition(value)
        if isinstance(value, MethodType):
            return "method", (value.__func__, value.__self__)
        if isinstance(value, property | functools.cached_property | classmethod | staticmethod):
            return type(value).__name__, [getattr(value, n, None) for n in ("fget", "func", "__func__")]
        if is_dataclass(value):
            return "object", (type(value), [getattr(value, field.name) for field in fields(value)])
        return self.reduced(value)

    def definition(self, value: Any) -> tuple[str, Sequence[Any]]:
        """A function, class or module: by its name, and by its code unless it is installed."""
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
        if isinstance(value, FunctionType):
            return f"function {name}", (_code_of(value), _values_of(value, self))
        if hasattr(value, "__wrapped__"):
            return f"function {name}", (value.__wrapped__,)
        if isinstance(value, ModuleType) or _is_installed(value.__module__):
            return name, ()
        kinds = (FunctionType, property, functools.cached_property, classmethod, staticmethod, float, *PLAIN[1:6])
        state = {k: x for k, x in vars(value).items() if isinstance(x, kinds) and k not in ("__module__", "__doc__")}
        return f"class {name}", (value.__bases__, state)

    def reduced(self, value: Any) -> tuple[str, Sequence[Any]]:
        """Any other object: as it would be sent to another process, without values that it only keeps for later."""
        parts = value.__reduce_ex__(4)
        if isinstance(parts, str):
            return f"global {type(value).__module__} {parts}", ()
        make, arguments, state, entries, pairs = (*parts, None, None, None)[:5]
        if isinstance(state, Mapping):
            members = [pair for base in type(value).__mro__ for pair in vars(base).items()]
            later = {name for name, member in members if isinstance(member, functools.cached_property)}
            later |= MADE_LATER if type(value).__module__.startswith("dalembert.") else set()
            state = {name: item for name, item in state.items() if name not in later}
        return "object", (make, arguments, state, list(entries or ()), list(pairs or ()))


def _code_of(function: FunctionType) -> object:
    return None if _is_installed(function.__module__) else function.__code__


def _values_of(function: FunctionType, walk: _Walk) -> dict[str, Any]:
    """Defaults of a function, the values that it encloses, and global ones that it names."""
    values: dict[str, Any] = {"its defaults": (function.__defaults__, function.__kwdefaults__)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not yet assigned
            values[f"value {name}"] = cell.cell_contents
    if _is_installed(function.__module__):
        return values
    names = sorted(set(_names_in(function.__code__)))
    used = [function.__globals__.get(name) for name in names]
    modules = [x for x in used if isinstance(x, ModuleType) and not _is_installed(x.__name__)]
    spaces = [function.__globals__, *map(vars, modules)]
    for name, value in ((n, space[n]) for space in spaces for n in names if n in space):
        try:
            walk.digest(value)
            values.setdefault(f"value {name}", value)
        except (TypeError, AttributeError, ValueError, RuntimeError):  # a lock, a file: no number depends on it
            values.setdefault(f"value {name}", type(value))
    return values


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def _is_installed(module: str | None) -> bool:
    """Whether a module belongs to Python, to this package or to an installed one."""
    root = str(module).partition(".")[0]
    if root == "dalembert" or root in sys.stdlib_module_names:
        return True
    return (getattr(sys.modules.get(root), "__file__", None) or "").startswith(INSTALLED)


AHEAD = 3  # batches per worker that wait in the executor's own queue
_trials: dict[str, Any] = {}


def sweep(
    trial: Callable[[SweepPoint], Any],
    design: Design,
    *,
    store: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    stop_on_error: bool = False,
    progress: Any = None,
) -> Swept:
    """Run a trial at every point of a design.

    Parameters
    ----------
    trial : function of a `SweepPoint` (values by name, ``point.index``, ``point.seed``) that returns numbers or arrays
        by name, such as a :class:`Simulation`. It must be importable by other processes.
    design : `Grid`, `LatinHypercube`, `Sobol`, `Points`.
    store : folder that keeps every finished point; a sweep that was stopped or killed continues there, nothing is
        computed twice, and the result is the same to the bit. A trial or design that differs in anything that changes
        a number (an argument, the body of a function, a value it names, the seed) is refused.
    executor : any ``concurrent.futures.Executor``, such as ``client.get_executor()`` of a Dask cluster; None: this
        machine.
    workers : number of processes where no executor is given; 0: in this process; None: in threads of this process where
        the runs go together in lanes (`Simulation`), else one process per core.
    stop_on_error : raise at the first trial that fails; else it is noted and the sweep continues.

    Returns
    -------
    Swept

    Examples
    --------
    >>> import dalembert as da
    >>> found = sweep(_example, da.sweeps.Grid({"x": [1.0, 2.0, 3.0]}), workers=0)
    >>> found["square"].tolist()
    [1.0, 4.0, 9.0]
    """
    if not callable(trial):
        raise DataError("wrong-type", f"a trial must be a function of a point, got {trial!r}.")
    if not isinstance(design, Design):
        raise DataError("wrong-type", f"a design is needed: Grid, LatinHypercube, Sobol or Points; got {design!r}.")
    if hasattr(trial, "check"):
        trial.check(design.names)
    task = _Task(trial, uuid.uuid4().hex, design.names)
    if executor is not None or (workers != 0 and not (workers is None and task.in_lanes)):
        _require_sendable(trial)
    points = design.points
    head = {"names": list(design.names), "count": len(points), "points": pack(points), "seed": int(design.seed),
            "trial": None if store is None else identify_trial(trial)}  # fmt: skip
    saved = None if store is None else Store(store, head)
    lines: dict[int, dict[str, Any]] = {} if saved is None else saved.done
    todo = [k for k in range(len(points)) if k not in lines]
    try:
        with Progress(progress, "sweeping") as bar:
            for finished in _runs(task, points, todo, design.seed, executor, workers):
                if saved is not None:
                    saved.add(finished)
                else:
                    lines.update({line["index"]: line for line in finished})
                bar.update(len(lines) / len(points))
                if stop_on_error:
                    _raise_first(finished)
    except KeyboardInterrupt:
        where = "" if store is None else f" {store} has them; run the same sweep again to continue."
        error = Interrupted("interrupted", f"interrupted after {len(lines)} of {len(points)} points.{where}")
        error.record = gather_swept(design.names, points, lines, design.seed)
        raise error from None
    finally:
        if saved is not None:
            saved.close()
    return gather_swept(design.names, points, lines, design.seed)


def _example(point: SweepPoint) -> dict[str, float]:
    return {"square": point["x"] ** 2}


def _raise_first(finished: list[dict[str, Any]]) -> None:
    for line in finished:
        if line.get("error") is not None:
            raise DataError("trial-failed", f"the trial at point {line['index']} failed: {line['error']}")


def _require_sendable(trial: object) -> None:
    try:
        pickle.dumps(trial)
    except Exception as error:  # pickle raises different errors for closures
        raise DataError(
            "not-picklable",
            f"the trial cannot be sent to another process ({error}).",
            Advice("Define it at the top of a module."),
            Advice("Use {}.", Argument("workers", 0)),
        ) from error


class _Task:
    """A trial; a process keeps the first copy it is sent, with the native code made for it."""

    def __init__(self, trial: object, key: str, names: tuple[str, ...]) -> None:
        self.trial, self.key, self.names = trial, key, names

    @property
    def in_lanes(self) -> bool:
        """Whether the runs share native code in lanes."""
        together = getattr(self.trial, "goes_together", None)
        return together is not None and bool(together(self.names))

    def __call__(self, batch: list[tuple[int, list[float], int]]) -> list[dict[str, Any]]:
        if self.key not in _trials:
            _trials.clear()
            _trials[self.key] = self.trial
        trial = _trials[self.key]
        lines = []
        points = [SweepPoint(dict(zip(self.names, values, strict=True)), index, seed) for index, values, seed in batch]
        for point, result in zip(points, _results(trial, points), strict=True):
            if isinstance(result, Exception):
                lines.append({"index": point.index, "error": f"{type(result).__name__}: {result}"})
            else:
                results = {str(label): pack(value) for label, value in dict(result).items()}
                lines.append({"index": point.index, "results": results})
        return lines


def _results(trial: Any, points: list[SweepPoint]) -> list[Any]:
    """What a trial gives at many points, or why it gives nothing there."""
    if hasattr(trial, "batch"):
        return list(trial.batch(points))
    results: list[Any] = []
    for point in points:
        try:
            results.append(trial(point))
        except Exception as error:  # a trial may fail in any way: its error is reported, the others continue
            results.append(error)
    return results


def _batches(
    points: Any, todo: list[int], seed: int, workers: int, together: bool = False, lane: int = 64, most: int = 16,
    per_worker: int = 16,
) -> Iterator[list[tuple[int, list[float], int]]]:  # fmt: skip
    """Points of one call: ``lane`` for each core where runs go ``together``, which take a fraction of a second."""
    size = lane * cores() if together else max(1, min(most, len(todo) // (per_worker * max(workers, 1))))
    for first in range(0, len(todo), size):
        yield [
            (k, points[k].tolist(), int(np.random.SeedSequence([seed, k]).generate_state(1)[0]))
            for k in todo[first : first + size]
        ]


def _runs(
    task: _Task, points: object, todo: list[int], seed: int, executor: Executor | None, workers: int | None
) -> Iterator[list[dict[str, Any]]]:
    if not todo:
        return
    if executor is None and (workers == 0 or (workers is None and task.in_lanes)):
        for batch in _batches(points, todo, seed, 1, task.in_lanes):
            yield task(batch)
        return
    count = workers if workers is not None else os.cpu_count() or 1
    if executor is not None:
        yield from _submit(task, executor, _batches(points, todo, seed, count), count)
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        count, mp_context=multiprocessing.get_context("spawn"), initializer=_depend_on_parent
    )  # fmt: skip
    try:
        yield from _submit(task, pool, _batches(points, todo, seed, count), count)
    except BrokenProcessPool as error:
        raise DataError(
            "worker-died",
            "a worker process died (killed, or out of memory).",
            Advice("With {} the finished points are kept: run the same sweep again.", Argument("store")),
        ) from error
    except (KeyboardInterrupt, GeneratorExit):  # a trial under way may take long
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _depend_on_parent() -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def wait_for_end() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_end, daemon=True).start()


def _submit(task: _Task, executor: Executor, batches: Iterator[Any], workers: int) -> Iterator[list[dict[str, Any]]]:
    """Results as they come; only a few batches wait in the executor, so that stopping loses little."""
    waiting: set[Future[Any]] = set()
    more = True
    while more or waiting:
        while more and len(waiting) < AHEAD * max(workers, 1):
            batch = next(batches, None)
            if batch is None:
                more = False
                break
            waiting.add(executor.submit(task, batch))
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()
