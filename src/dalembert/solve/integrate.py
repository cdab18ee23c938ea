"""Simulation: from a start to a time, with or without a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Never

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.errors import DataError, ModelError, unknown_name
from dalembert.expressions import Array
from dalembert.linear import SecondOrder, StateSpace
from dalembert.record import Record
from dalembert.solve.actuators import Actuator
from dalembert.solve.assemble import state_or_rest
from dalembert.solve.events import Event, as_events
from dalembert.solve.inputs import read_inputs
from dalembert.solve.methods import DormandPrince, Method
from dalembert.solve.noise import Noise
from dalembert.solve.running import Run

MOST_SAMPLES = 1e8  # of a record; more would not fit into memory
LOOP = ("controller", "observer", "noise", "references", "actuators", "switch_on")
METHOD_OPTIONS = ("step", "rtol", "atol", "rho", "order", "max_step", "max_steps", "first_step", "index", "solver")


def simulate(
    eqs: EquationsOfMotion | StateSpace | SecondOrder,
    until: float,
    *,
    start: Any = None,
    inputs: Mapping[str, Any] | Record | None = None,
    method: Method | None = None,
    every: float | Sequence[float] | Array | None = None,
    events: Event | Sequence[Event] = (),
    progress: bool | Callable[[float], None] | None = None,
    controller: Any = None,
    observer: Any = None,
    noise: Noise | None = None,
    references: Mapping[str, Any] | Record | None = None,
    actuators: Mapping[str, Actuator] | None = None,
    switch_on: Any = None,
    **unknown: Never,
) -> Record:
    """Motion of a machine from a start to a time, left to itself or driven by a controller.

    Parameters
    ----------
    eqs : equations of motion; with a controller, observer or noise also a `StateSpace` or `SecondOrder` (its start a
        mapping or array of states; sampled loops step it exactly under held inputs, whole intervals only).
    until : end time [s].
    start : from `da.assemble`; None starts at rest from the drawing.
    inputs : channel -> number, function of time, or Record; what is left out is zero.
    method : `da.DormandPrince()` by default; `da.RK4(step)`; for stiff machines `da.Rosenbrock()`,
        `da.GeneralizedAlpha(step)`, `da.Sundials()`.
    every : sampling interval of the record, or the sample times; None: every step of a fixed-step method, else 1000
        intervals.
    events : `da.Event`s that stop the run or switch something at a zero crossing.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.
    controller : whatever has a method ``law()``, or a list of such that drive different inputs. A law with an interval
        acts every ``dt`` seconds and its inputs are held; one without acts continuously, inside the equations.
    observer : a filter between sensors and controller; what it gives the controller reads instead of the machine.
        Behind a sampled one a continuous law without a memory acts at its samples. A filter without an interval of its
        own takes that of the laws, or ``noise.every``.
    noise : `da.Noise` of process and sensors, with its seed.
    references : what laws follow: name -> number, function of time, or Record; what is left out is where the law
        was designed (an operating point), or zero.
    actuators : driven input -> `da.Actuator` (limits, rate, resolution, delay). Designs of `da.control` are told the
        limits, so that their integrals wait there; their observers are told what acts, not what was asked for. A law
        made by hand may read its own input.
    switch_on : time [s] from which laws drive; a `da.Event` for its first crossing (with a sampled law: from the next
        sample on), or (time, event) for the first after that time. Before it their inputs are what `inputs` says. A
        law without a way to know that it is off (by reading its own input) keeps its memory at its start.

    Returns
    -------
    Record of all coordinates, joints, reactions, inputs and sensors, with energy balance, joint residuals and step
    statistics (``run.statistics["events"]`` lists names and times of events, ``["singular poses"]`` the passes through
    a pose where constraint rows lose rank, with time, joints and energy lost; a `SimulationWarning` says so). A run
    that fails raises with what it had in ``error.record``. A sampled loop has one sample of the record per sample of
    the loop (unless `every` says otherwise) and adds ``measured.<sensor>``, ``estimate.<name>``, ``command.<input>``,
    ``reference.<name>`` and ``<law>.<memory>``; inputs are as they act from that sample on.
    """
    if unknown:
        raise _unknown_keyword(next(iter(unknown)))
    loop = {"controller": controller, "observer": observer, "noise": noise, "references": references,
            "actuators": actuators, "switch_on": switch_on}  # fmt: skip
    if isinstance(eqs, SecondOrder):
        eqs = eqs.state_space()
    if isinstance(eqs, StateSpace) or (
        isinstance(eqs, EquationsOfMotion) and any(part is not None for part in loop.values())
    ):
        from dalembert.solve.closed_loop import simulate_closed

        return simulate_closed(
            eqs, until, _end_time, simulate, start=start, inputs=inputs, method=method, every=every, events=events,
            progress=progress, **loop,
        )  # fmt: skip
    if not isinstance(eqs, EquationsOfMotion):
        raise ModelError(f"simulate needs equations of motion, got {type(eqs).__name__}: call da.equations(...) first.")
    method = DormandPrince() if method is None else method
    begin = state_or_rest(eqs, start)
    end = _end_time(until, begin.t)
    run = Run(eqs, method, read_inputs(eqs, inputs), as_events(events), end, progress)
    return run.go(begin, sample_times(begin.t, end, every, method))


def _unknown_keyword(name: str) -> TypeError:
    if name in METHOD_OPTIONS:
        return TypeError(f"simulate has no keyword {name!r}; it belongs to the method: method=da.RK4(step=1e-3), ...")
    known = ("start", "inputs", "method", "every", "events", "progress", "until", *LOOP)
    return TypeError(f"simulate: {unknown_name('keyword', name, known)}")


def _end_time(until: Any, begin: float) -> float:
    try:
        end = float(until)
    except (TypeError, ValueError):
        raise DataError(f"until must be a number of seconds, got {until!r}.") from None
    if not np.isfinite(end) or end <= begin:
        raise DataError(f"until must be a finite time after the start ({begin:g} s), got {until!r}.")
    return end


def sample_times(begin: float, end: float, every: Any, method: Any) -> Array:
    if every is None:
        step = getattr(method, "step", None)
        every = (end - begin) / 1000 if step is None else step
    if np.ndim(every) == 1:
        times = np.asarray(every, dtype=float)
        if not (np.all(np.isfinite(times)) and np.all(np.diff(times) > 0)):
            raise DataError("sample times must be finite and strictly increasing.")
        if len(times) == 0 or times[0] < begin or times[-1] > end * (1 + 1e-12):
            raise DataError(f"sample times must lie between {begin:g} and {end:g} s.")
        return times
    try:
        interval = float(every)
    except (TypeError, ValueError):
        raise DataError(f"every must be a sampling interval or a list of times, got {every!r}.") from None
    if not (np.isfinite(interval) and interval > 0):
        raise DataError(f"every must be a positive interval, got {every!r}.")
    if (end - begin) / interval > MOST_SAMPLES:
        raise DataError(f"every = {interval:g} s means more than {MOST_SAMPLES:g} samples from {begin:g} to {end:g} s.")
    count = int(np.floor((end - begin) / interval * (1 + 1e-12) + 1e-9))
    times = np.asarray(begin + interval * np.arange(count + 1), dtype=float)
    if end - times[-1] > 1e-9 * interval:
        times = np.append(times, end)
    else:
        times[-1] = end
    return times
