"""Runs a sweep on an executor; all computed points are kept."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, Interrupted
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress
from dalembert.expressions import cores
from dalembert.sweeps.designs import Design
from dalembert.sweeps.identity import identify_trial
from dalembert.sweeps.store import Store, gather_swept, pack
from dalembert.sweeps.swept import Swept
from dalembert.sweeps.trials import SweepPoint

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
