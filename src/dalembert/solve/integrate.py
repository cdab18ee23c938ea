"""Simulation: a run is a sequence of chunk calls; Python acts between chunks only."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.equations import EquationsOfMotion, State
from dalembert.errors import ConvergenceError, DataError, Interrupted
from dalembert.expressions import Array, Kernel, kernel_family
from dalembert.record import Record
from dalembert.solve.assemble import state_or_rest
from dalembert.solve.constrained import depends_on_reactions
from dalembert.solve.explicit import Layout, Stepper, chunk_function, first_step, step_numbers
from dalembert.solve.inputs import Inputs, read_inputs
from dalembert.solve.methods import RK4, DormandPrince
from dalembert.solve.progress import Progress
from dalembert.solve.sampling import Sampler, to_record

SIZES = (256, 16, 1)
CHUNK_SECONDS = 0.2  # between looks at the keyboard and the progress bar
FRICTION_TOLERANCE = 1e-6  # relative change of the reactions in the last pass
GAP_TOLERANCE = 1e-5  # of a joint during a run; far above what a sound run shows
SMALLEST_STEP = 1e-14


def simulate(
    eqs: EquationsOfMotion,
    until: float,
    *,
    start: State | None = None,
    inputs: Mapping[str, Any] | Record | None = None,
    method: RK4 | DormandPrince | None = None,
    every: float | Sequence[float] | Array | None = None,
    events: Sequence[Any] = (),
    progress: bool | Callable[[float], None] | None = None,
) -> Record:
    """Motion of a machine from a start to a time.

    Parameters
    ----------
    until : end time [s].
    start : from `da.assemble`; None starts at rest from the drawing.
    inputs : channel -> number, function of time, or Record; what is left out is zero.
    method : `da.DormandPrince()` by default; `da.RK4(step)`, ...
    every : sampling interval of the record, or the sample times; None: every step of a fixed-step method, else 1000
        intervals.
    events : `da.Event`s that stop the run or switch something at a zero crossing.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.

    Returns
    -------
    Record of all coordinates, joints, reactions, inputs and sensors, with energy balance, joint residuals and step
    statistics. A run that fails raises with what it had in ``error.record``.
    """
    method = DormandPrince() if method is None else method
    begin = state_or_rest(eqs, start)
    end = _end_time(until, begin.t)
    bound = read_inputs(eqs, inputs)
    if bound.span[0] > begin.t or bound.span[1] < end:
        raise DataError(
            f"a record given as input covers {bound.span[0]:g} to {bound.span[1]:g} s, the run needs {begin.t:g} to {end:g} s."
        )
    times = sample_times(begin.t, end, every, method)
    run = Run(eqs, method, bound, times, end, progress)
    return run.go(begin)


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
        every = method.step if hasattr(method, "step") else (end - begin) / 1000
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
    count = int(np.floor((end - begin) / interval * (1 + 1e-12) + 1e-9))
    times = begin + interval * np.arange(count + 1)
    if end - times[-1] > 1e-9 * interval:
        times = np.append(times, end)
    else:
        times[-1] = end
    return times


class Run:
    """One simulation under way."""

    def __init__(self, eqs: EquationsOfMotion, method: Any, inputs: Inputs, times: Array, end: float, progress: Any) -> None:
        self.eqs, self.method, self.inputs, self.times, self.end = eqs, method, inputs, times, end
        self.progress = Progress(progress, f"simulating {eqs.name}")
        self.layout, self.begin_kernel, self.kernels = self._native()
        self.numbers = step_numbers(method)
        self.friction = depends_on_reactions(eqs)

    def _native(self) -> tuple[Layout, Kernel, dict[int, Kernel]]:
        """Step functions of this method and these inputs; step size, times and parameters are their arguments."""
        eqs, method = self.eqs, self.method
        key = ("stepper", type(method), getattr(method, "order", 4), method.stabilise, self.inputs.key)

        def make() -> tuple[Layout, Kernel, dict[int, Kernel]]:
            stepper = Stepper(eqs, method, self.inputs, None)
            step = stepper.step()
            sizes = SIZES if eqs.nv <= 600 else SIZES[1:]
            begin, *chunks = kernel_family([stepper.start(), *[chunk_function(step, n) for n in sizes]], compiled=eqs.use_c)
            return stepper.layout, begin, dict(zip(sizes, chunks, strict=True))

        return eqs.cached(key, make)  # type: ignore[no-any-return]

    def go(self, begin: State) -> Record:
        began = clock.process_time()
        eqs = self.eqs
        h = first_step(self.method, self.end - begin.t)
        x = self.begin_kernel(begin.t, h, begin.q, begin.v, begin.z, 0.0, begin.lam, eqs.p, self.inputs.constants)[0]
        self.sampler = Sampler(self.layout, self.times, self._step_to)
        self._finite(x[None, :], x)
        if self.times[0] <= begin.t + 1e-12 * max(1.0, abs(begin.t)):
            self.sampler.blocks.append(x[None, :].copy())
            self.sampler.next = 1
        pace = 0.0
        try:
            while x[0] < self.end:
                size = self._chunk_size(x, pace)
                tick = clock.perf_counter()
                raw = self.kernels[size].raw(x, eqs.p, self.inputs.constants, self.end, self.numbers)[0]
                block = raw.reshape(size, self.layout.size)
                pace = (clock.perf_counter() - tick) / size
                self._finite(block, x)
                self.sampler.take(x, block)
                after = block[-1].copy()
                self._check(x, after)
                x = after
                self.progress.update((x[0] - begin.t) / (self.end - begin.t))
        except KeyboardInterrupt:
            error: Any = Interrupted(f"interrupted at t = {x[0]:.6g} s; error.record holds the run so far.")
            error.record = self._record(x, began, f"interrupted at t = {x[0]:.6g} s")
            raise error from None
        except ConvergenceError as failure:
            failure.record = self._record(x, began, f"failed at t = {x[0]:.6g} s")
            raise
        finally:
            self.progress.close()
        return self._record(x, began, "complete")

    def _step_to(self, states: Array, times: Array) -> Array:
        """One step from each state to its own time."""
        return self.kernels[1].many(states, self.eqs.p, self.inputs.constants, times[:, None], self.numbers)[0]

    def _chunk_size(self, x: Array, pace: float) -> int:
        step = max(min(x[1], self.end - x[0]), 1e-300)
        remaining = max(np.ceil((self.end - x[0]) / step - 1e-9), 1)
        if pace > 0:
            remaining = min(remaining, max(CHUNK_SECONDS / pace, 1))
        elif remaining > 16:
            remaining = 16 if self.eqs.nv > 60 else remaining
        return next((n for n in self.kernels if n <= remaining), 1)

    def _finite(self, block: Array, before: Array) -> None:
        if np.isfinite(block[-1]).all():
            return
        bad = int(np.argmin(np.isfinite(block).all(axis=1)))
        good = before if bad == 0 else block[bad - 1]
        if bad > 0:
            self.sampler.take(before, block[:bad])
        step = f" Use a smaller step (now {self.method.step:g} s)." if isinstance(self.method, RK4) else ""
        raise ConvergenceError(f"the motion leaves finite numbers after t = {good[0]:.6g} s.{step}")

    def _check(self, before: Array, x: Array) -> None:
        where = self.layout.starts
        if self.friction and x[where["change"][0]] > FRICTION_TOLERANCE:
            raise ConvergenceError(
                f"friction and reactions did not settle near t = {x[0]:.6g} s (last change "
                f"{x[where['change'][0]]:.1e} of the reactions). The joint may be jamming: lower the friction coefficient."
            )
        if x[0] < self.end and x[1] < SMALLEST_STEP * max(1.0, abs(x[0])):
            raise ConvergenceError(
                f"the step size fell to {x[1]:.1e} s at t = {x[0]:.6g} s. The equations are too stiff or singular there: "
                "try method=da.GeneralizedAlpha(step=...) or a looser tolerance."
            )
        if self.eqs.holonomic_rows:
            a, b = where["q"]
            (phi,) = self.eqs.kernel("position")(x[a:b], self.eqs.p, x[0])
            k = int(np.argmax(np.abs(phi)))
            if not abs(phi[k]) <= GAP_TOLERANCE and getattr(self.method, "stabilise", None) is None:
                owner = self.eqs.rows[self.eqs.holonomic_rows[k]].owner
                raise ConvergenceError(
                    f"step at t = {x[0]:.6g} s did not close joint {owner!r} (gap {abs(phi[k]):.1e} m). "
                    f"Use a smaller step (now {x[1]:g} s)."
                )

    def _record(self, x: Array, began: float, status: str) -> Record:
        samples = self.sampler.samples()
        where = self.layout.starts
        statistics = {
            "steps": int(x[where["accepted"][0]]),
            "rejected": int(x[where["rejected"][0]]),
            "engine": self.kernels[1].engine,
            "end": float(x[0]),
        }
        record = to_record(
            self.eqs,
            samples,
            self.inputs.values(self.eqs, samples.t),
            status=status,
            statistics={**statistics, "cpu_seconds": clock.process_time() - began},
            provenance={"method": repr(self.method), "mechanism": self.eqs.name},
        )
        return record
