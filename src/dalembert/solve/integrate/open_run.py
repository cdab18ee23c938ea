"""The open run: a machine left to itself or driven by given inputs, from an initial state to a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, SimulationWarning
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.numerics.sample_times import count_intervals, is_same_time, lateness
from dalembert.record import Record
from dalembert.record.units import in_si
from dalembert.solve.integrate.events import Event, as_events
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.method import Method, check_method
from dalembert.solve.integrate.methods.dormand_prince import DormandPrince
from dalembert.solve.integrate.run import Run
from dalembert.solve.position.assemble import state_or_rest
from dalembert.solve.position.limits import find_broken, find_exceeded

MOST_SAMPLES = 1e8  # of a record; more would not fit into memory


def open_run(
    eqs: EquationsOfMotion,
    until: float,
    *,
    start: object = None,
    inputs: Mapping[str, Any] | Record | None = None,
    method: Method | None = None,
    every: float | Sequence[float] | Array | None = None,
    events: Event | Sequence[Event] = (),
    progress: bool | Callable[[float], None] | None = None,
) -> Record:
    """Motion without a controller; the arguments are those of `da.simulate`."""
    method = DormandPrince() if method is None else check_method(method)
    begin = state_or_rest(eqs, start)
    end = end_time(until, begin.t)
    run = Run(eqs, method, read_inputs(eqs, inputs), as_events(events), end, progress)
    record = run.go(begin, sample_times(begin.t, end, every, method.step))
    report_assumptions(eqs, record, stacklevel=2)
    return record


def end_time(until: Any, begin: float) -> float:
    try:
        end = float(in_si(until, "time", what="until"))
    except (TypeError, ValueError):
        raise DataError("not-a-number", f"until must be a number of seconds, got {until!r}.") from None
    if not np.isfinite(end) or end <= begin:
        raise DataError("out-of-range", f"until must be a finite time after the start ({begin:g} s), got {until!r}.")
    return end


def sample_times(begin: float, end: float, every: Any, step: float | None) -> Array:
    if every is None:
        every = (end - begin) / 1000 if step is None else step
    every = in_si(every, "time", what="every")
    if np.ndim(every) == 1:
        times = np.asarray(every, dtype=float)
        if not (np.all(np.isfinite(times)) and np.all(np.diff(times) > 0)):
            raise DataError("not-increasing", "sample times must be finite and strictly increasing.")
        if len(times) == 0 or times[0] < begin or times[-1] > end + lateness(end):
            raise DataError("out-of-range", f"sample times must lie between {begin:g} and {end:g} s.")
        return times
    try:
        interval = float(every)
    except (TypeError, ValueError):
        raise DataError("wrong-type", f"every must be a sampling interval or a list of times, got {every!r}.") from None
    if not (np.isfinite(interval) and interval > 0):
        raise DataError("not-positive", f"every must be a positive interval, got {every!r}.")
    if (end - begin) / interval > MOST_SAMPLES:
        raise DataError(
            "too-large", f"every = {interval:g} s are more than {MOST_SAMPLES:g} samples from {begin:g} to {end:g} s."
        )
    count = count_intervals(end - begin, interval)
    times = np.asarray(begin + interval * np.arange(count + 1), dtype=float)
    if is_same_time(end, times[-1], interval):
        times[-1] = end
    else:
        times = np.append(times, end)
    return times


def report_assumptions(eqs: EquationsOfMotion, run: Record, stacklevel: int = 1) -> None:
    """Warn of every assumption that does not hold, and every limit that is exceeded, at some sample of the run."""
    if eqs.limits:
        SimulationWarning.report(find_exceeded(eqs, run), stacklevel + 1)
    SimulationWarning.report(find_broken(eqs, run), stacklevel + 1)
