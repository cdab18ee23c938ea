"""Runs of one machine with many sets of parameters and initial states: several at once in lanes, on all cores.

A lane takes the steps of a run alone, bit for bit. A lane whose run has come to its end takes the next run. The only
judgement is whether a run is sound: one that is not finite, stalls or does not converge is left out. The
caller repeats it as a single run, with all reports of `Run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, LaneLoop, cores, run_together, spread_over_cores
from dalembert.numerics.sample_times import is_begun, slack
from dalembert.solve.integrate.channels import Sampler, Samples
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.method import OneStep
from dalembert.solve.integrate.native_steps import NativeSteps
from dalembert.solve.integrate.run import FRICTION_SETTLED, NEWTON_SETTLED, SMALLEST_STEP, STRETCHES

BLOCK = 256  # attempts between two checks of runs with error control
LARGEST = 2_000_000  # numbers in a block of all lanes: 16 MB
IN_CACHE = 262_144  # numbers in a block of runs in step: 2 MB, a second cache


@dataclass(frozen=True)
class Starts:
    """Initial states and parameters of runs, one per row."""

    t: float
    q: Array
    v: Array
    z: Array
    p: Array

    def __len__(self) -> int:
        return len(self.p)


def runs_together(
    eqs: EquationsOfMotion, method: OneStep, inputs: Inputs, starts: Starts, end: float, times: Array
) -> list[Samples | None]:
    """Samples of every run at the times; None for a run that has to be made alone.

    eqs : without stick and slip, which act between steps.
    """
    steps = method.steps(eqs, inputs)
    code = steps.kernel.together()
    if code is None or not len(starts):
        return [None] * len(starts)
    columns = begin(steps, method, starts, end)
    groups = max(1, min(cores(), len(starts) // (2 * code.lanes)))
    parts = np.array_split(np.arange(len(starts)), groups)
    found: list[Samples | None] = [None] * len(starts)

    def work(k: int) -> None:
        runs = (_Lanes if method.step is None else _InStep)(steps, method, code, starts, end, times, columns, parts[k])
        for number, samples in runs.go():
            found[number] = samples

    spread_over_cores(work, groups)
    return found


def begin(steps: NativeSteps, method: OneStep, starts: Starts, end: float) -> Array:
    """The columns that runs begin with."""
    n, h = len(starts), method.initial_step(end - starts.t)
    lam = np.zeros(steps.layout.nl)
    kernel = steps.starting
    columns = kernel.many(starts.t, h, starts.q, starts.v, starts.z, 0.0, lam, starts.p, steps.constants)[0]
    return np.asarray(columns if len(columns) == n else np.repeat(columns, n, axis=0))


class _Lanes:
    """Runs in the lanes of one thread."""

    def __init__(
        self,
        steps: NativeSteps,
        method: OneStep,
        code: Any,
        starts: Starts,
        end: float,
        times: Array,
        columns: Array,
        numbers: Any,
    ) -> None:
        self.steps, self.method, self.code, self.starts = steps, method, code, starts
        self.end, self.times, self.columns = end, times, columns
        self.waiting = list(numbers[::-1])
        self.where = steps.layout.starts
        self.numbers = method.numbers()
        self.stretch = (end - starts.t) / STRETCHES

    def go(self) -> list[tuple[int, Samples]]:
        done: list[tuple[int, Samples]] = []
        lanes = self.code.lanes
        runs = [self._next() for _ in range(lanes)]
        while any(run is not None for run in runs):
            sure = next(run for run in runs if run is not None)
            there = [sure if run is None else run for run in runs]  # an idle lane repeats another
            x = np.stack([run.x for run in there])
            p = np.stack([self.starts.p[run.number] for run in there])
            rows = run_together(
                self.code, self._attempts(x), x, p, self.steps.constants, np.array(self.end), self.numbers
            )
            for lane, run in enumerate(runs):
                if run is None:
                    continue
                block = rows[:, :, lane]
                if not self._sound(run, block):
                    runs[lane] = self._next()
                    continue
                run.sampler.take(run.x, block, partial(self.steps.to, p=self.starts.p[run.number]))
                run.x = block[-1].copy()
                if run.x[0] >= self.end:
                    done.append((run.number, run.sampler.samples()))
                    runs[lane] = self._next()
        return done

    def _may_go_on(self, x: Array) -> Any:
        """Whether iterations and step sizes of columns, one per row, allow to continue."""
        limit = NEWTON_SETTLED if self.method.iterates else FRICTION_SETTLED
        smallest = SMALLEST_STEP * np.maximum(1.0, np.abs(x[:, 0]))
        return ~((x[:, self.where["change"][0]] > limit) | ((x[:, 0] < self.end) & (x[:, 1] < smallest)))

    def _next(self) -> _LaneRun | None:
        """The next run that waits and whose first state is sound."""
        while self.waiting:
            number = int(self.waiting.pop())
            x = self.columns[number]
            if np.isfinite(x).all():
                return _LaneRun(number, x.copy(), self._sampler(x), 0)
        return None

    def _sampler(self, x: Array) -> Sampler:
        sampler = Sampler(self.steps.layout, self.times)
        t = float(np.ravel(x[0])[0])
        if is_begun(self.times[0], t):
            sampler.blocks.append(x[None].copy())
            sampler.next = 1
        return sampler

    def _attempts(self, x: Array) -> int:
        """Attempts in the next block: those that the lane with the most to do needs, within limits."""
        steps = np.maximum(np.minimum(x[:, 1], self.end - x[:, 0]), 1e-300)
        left = np.maximum(np.ceil((self.end - x[:, 0]) / steps - slack(1.0)), 1).max()
        most = LARGEST // (self.steps.layout.size * self.code.lanes)
        if self.method.step is None:
            most = min(most, BLOCK)
        return int(max(min(left, most), 1))

    def _sound(self, run: _LaneRun, block: Array) -> bool:
        """Whether a run may continue in its lane: finite, converged, advancing."""
        x = block[-1]
        if not np.isfinite(x).all():
            return False
        if not self._may_go_on(x[None, :])[0]:
            return False
        run.tried = 0 if x[0] - run.x[0] > self.stretch else run.tried + len(block)
        budget = self.method.attempts
        return budget is None or run.tried < budget


class _InStep(_Lanes):
    """Runs of a fixed step in the lanes of one thread: all are at the same time, so samples are taken at once."""

    def go(self) -> list[tuple[int, Samples]]:
        sound = [int(k) for k in self.waiting[::-1] if np.isfinite(self.columns[k]).all()]
        lanes = self.code.lanes
        return [one for k in range(0, len(sound), lanes) for one in self._team(sound[k : k + lanes])]

    def _team(self, numbers: list[int]) -> list[tuple[int, Samples]]:
        """Runs from their first state to the end."""
        there = [*numbers, *numbers[:1] * (self.code.lanes - len(numbers))]  # an idle lane repeats another
        x, p = self.columns[there], self.starts.p[there]
        most = max(IN_CACHE // x.size, 1)
        loop = LaneLoop(self.code, most, x, p, self.steps.constants, np.array(self.end), self.numbers)
        sampler = self._sampler(x.T)
        sound = np.ones(len(there), dtype=bool)
        while x[0, 0] < self.end and sound.any():
            rows = loop.run(min(self._attempts(x[:1]), most))
            x = rows[-1].T.copy()
            sound &= np.isfinite(x).all(axis=1) & (x[:, 0] == x[0, 0]) & self._may_go_on(x)
            sampler.take(rows[0], rows[1:], partial(self._step_to, p))
        return [(number, sampler.samples(lane)) for lane, number in enumerate(numbers) if sound[lane]]

    def _step_to(self, p: Array, states: Array, times: Array) -> Array:
        """One step of every lane to each of the times.  states : (times, width, lanes)."""
        count, width, lanes = states.shape
        columns = states.transpose(2, 0, 1).reshape(-1, width)
        found = self.steps.to(columns, np.tile(times, lanes), p=np.repeat(p, count, axis=0))
        return found.reshape(lanes, count, width).transpose(1, 2, 0)


@dataclass
class _LaneRun:
    """A run under way.  tried : attempts since it last advanced."""

    number: int
    x: Array
    sampler: Sampler
    tried: int
