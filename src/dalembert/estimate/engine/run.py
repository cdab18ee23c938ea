"""A filter over a record: blocks of samples in native loops; Python acts between them only."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import ConvergenceError, DataError, Interrupted
from dalembert.core.findings import Advice, Finding
from dalembert.core.progress import Progress
from dalembert.estimate.engine.divergence import DivergenceMonitor
from dalembert.estimate.engine.estimate import Estimate
from dalembert.estimate.engine.recursion import blocks
from dalembert.estimate.engine.rows import read_rows, warn_of_uneven_steps
from dalembert.estimate.models.process import InitialState, Variances
from dalembert.expressions import Array
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter


def run(
    filter_: Filter, record: Record, *, start: InitialState = None, P0: Variances = None, progress: object = None
) -> Estimate:
    """Estimate along a record; see `Filter.run`."""
    began = clock.process_time()
    if not isinstance(record, Record):
        raise DataError("wrong-type", f"a filter runs over a record, got {type(record).__name__}.")
    data = read_rows(filter_, record)
    warn_of_uneven_steps(filter_, data[1:, -1])
    dt = filter_.process.dt if filter_.process.dt is not None else filter_.dt
    if dt is None and len(record) > 1:
        dt = float(np.median(np.diff(record.time)))
    nu = filter_.process.nu
    m = filter_.initial_filter_state(start, P0, dt, data[0, :nu], float(record.time[0]))
    rows = np.empty((len(record) + 1, kept_columns(filter_, len(record)).size))
    done = march(filter_, m, data, rows, record.time, progress)
    results = rows[1:]
    seconds = clock.process_time() - began
    if isinstance(done, int):
        return Estimate._of(filter_, record, results, m, seconds, "complete")
    count, error = done
    if count:
        partial = Estimate._of(filter_, record, results[:count], m, seconds, error.finding.problem)
        error.record, error.estimate = partial.record, partial  # type: ignore[union-attr]
    raise error from None


def kept_columns(filter_: Filter, count: int, most: int = 20_000_000) -> Any:
    """Columns of the results that are kept: all, or all but the covariances where those are too many numbers."""
    where, nx = filter_.native.columns, filter_.process.nx
    if count * filter_.state_size <= most:
        return np.arange(where.size)
    return np.concatenate([np.arange(nx), np.arange(filter_.state_size, where.size)])


def march(
    filter_: Filter, m: Array, data: Array, results: Array, time: Array, progress: Any
) -> int | tuple[int, ConvergenceError | Interrupted]:
    """Fill all rows of `results` but the first. Returns the number of samples, or that of usable ones and the error."""
    native, p, N = filter_.native, filter_.model.numbers, len(data)
    monitor = DivergenceMonitor(filter_)
    converged = filter_.converged_filter()
    columns = kept_columns(filter_, N)
    native.sample.expect(N)
    done = 0
    with Progress(progress, f"filtering {filter_.process.name}") as bar:
        try:
            for samples in blocks(N):
                rows = data[samples]
                constant = converged is not None and converged.ready(rows)
                last = done + len(rows)
                place = results[done : last + 1] if len(columns) == native.columns.size else None
                block = converged.samples(m, rows) if converged and constant else native.samples(m, rows, p, place)
                if place is None or constant:
                    results[done + 1 : last + 1] = block[:, columns]
                wrong = monitor.find(block, rows, m, last == N)
                if wrong is not None:
                    at, why = wrong
                    hints = advice(filter_, np.vstack([m, block[:at, native.columns.filter_state]]))
                    # diverged from the first sample on: the finite results are kept
                    finite = done + at or int(np.isfinite(block).all(axis=1).cumprod().sum())
                    return finite, failure(why, float(time[done + at]), *hints)
                if converged is not None and not constant:
                    converged.look_at(block, rows)
                m = block[-1, native.columns.filter_state].copy()
                done = last
                bar.update(done / N)
        except KeyboardInterrupt:
            now = float(time[max(done - 1, 0)])
            problem = f"interrupted at t = {now:.6g} s; the error has the record until then."
            return done, Interrupted("interrupted", problem, where={"time": now})
    return done


def failure(why: Finding, time: float, *advice: Advice) -> ConvergenceError:
    """The error of a filter that diverged at a time."""
    problem = f"at t = {time:.6g} s {why.problem}"
    where = {**why.where, "time": time}
    return ConvergenceError(why.code, problem, *why.advice, *advice, where=where, evidence=why.evidence)


def advice(filter_: Filter, filter_states: Array, last: int = 20) -> tuple[Advice, ...]:
    """Advice of the model about the last states before a filter diverged."""
    advise = filter_.process.advise
    return () if advise is None else advise(filter_states[-last:, : filter_.process.nx])
