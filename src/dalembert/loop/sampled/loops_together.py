"""Sampled loops of one machine with many sets of parameters, initial states and seeds: several at once in lanes.

A lane computes the same samples as a single run, bit for bit. Native code runs in threads, a few teams of lanes at a
time; the work of Python between chunks of samples (checks, events, records) is that of a single run, in the calling
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from dalembert.equations import State
from dalembert.expressions import Array, Kernel, cores, run_together, start_task
from dalembert.loop.sampled.sampled_run import SampledRun, samples_in_a_call
from dalembert.record import Record
from dalembert.solve.position.assemble import state_or_rest


@dataclass(frozen=True)
class LoopStart:
    """Initial condition of a run: its state, whose equations have its parameters, and the seed of its noise."""

    state: State
    seed: int | None


@dataclass
class _Entry:
    """A run under way."""

    number: int
    run: SampledRun


def run_loops_together(
    model: SampledRun, starts: Iterable[LoopStart], count: int
) -> Iterator[tuple[int, Record | Exception]]:
    """Numbers and records of the runs as they end; for a run that fails, its error in place of the record.

    model : a run that was not begun.  starts : of `count` runs, all at the time at which the model begins.
    """
    return _Teams(model, starts, count).go()


class _Teams:
    """Runs in teams, each of one native function."""

    def __init__(self, model: SampledRun, starts: Iterable[LoopStart], count: int) -> None:
        self.model, self.waiting = model, enumerate(starts)
        self.ready: list[_Entry] = []
        self.failed: list[tuple[int, Exception]] = []
        self.pace: dict[Kernel, float] = {}  # seconds per sample of a team
        if model.chunks.kernel.together_for(count * len(model.t)) is None:
            model.chunks.kernel.expect(count * len(model.t))

    def go(self) -> Iterator[tuple[int, Record | Exception]]:
        busy: dict[Future[list[Array]], list[_Entry]] = {}
        while True:
            while len(busy) <= cores() and (team := self._team()):  # one more than cores, so that no core waits
                busy[start_task(self._chunk([entry.run for entry in team]))] = team
            yield from self.failed
            self.failed.clear()
            if not busy:
                return
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                for entry, rows in zip(busy.pop(future), future.result(), strict=True):
                    yield from self._accept(entry, rows)

    def _accept(self, entry: _Entry, rows: Array) -> Iterator[tuple[int, Record | Exception]]:
        try:
            entry.run.accept(rows)
            record = entry.run.finish() if entry.run.done else None
        except Exception as error:  # a run may fail in any way: its error is reported, the others continue
            yield entry.number, error
            return
        if record is None:
            self.ready.append(entry)
        else:
            yield entry.number, record

    def _team(self) -> list[_Entry]:
        """Runs that continue together: those with the most common function, and new runs with this function."""
        groups: dict[Kernel, list[_Entry]] = {}
        for entry in self.ready:
            groups.setdefault(entry.run.chunks.kernel, []).append(entry)
        first = self.model.chunks.kernel
        kernel = max(groups, key=lambda one: len(groups[one]), default=first)
        code = kernel.together_for(0)
        lanes = 1 if code is None else code.lanes
        team = groups.get(kernel, [])[:lanes]
        self.ready = [entry for entry in self.ready if entry not in team]
        while len(team) < lanes and kernel is first and (new := self._next()) is not None:
            team.append(new)
        return team

    def _next(self) -> _Entry | None:
        """The next run, begun."""
        for number, start in self.waiting:
            noise = self.model.loop.noise
            try:
                if noise is not None and start.seed is not None:
                    noise = replace(noise, seed=start.seed)
                state = state_or_rest(start.state.eqs, start.state)
                run = self.model.vary(state.eqs, noise)
                run.begin(run.host.column(state, run.end - state.t))
                return _Entry(number, run)
            except Exception as error:
                self.failed.append((number, error))
        return None

    def _chunk(self, runs: list[SampledRun], largest: int = 2_000_000) -> Callable[[], list[Array]]:
        """A task that computes the next samples of every run of a team.

        largest : numbers in a chunk of all lanes: 16 MB.
        """
        chunks = runs[0].chunks
        kernel = chunks.kernel
        code = kernel.together_for(0)
        lanes = 1 if code is None else code.lanes
        most = samples_in_a_call(self.pace.get(kernel, 0.0))
        left = min(len(run.t) - run.k for run in runs)
        size = int(max(min(left, most, largest // (kernel.width * lanes)), 1))
        kernel.together_for(size * len(runs))  # counts them
        there = [*runs, *[runs[0]] * (lanes - len(runs))]  # an idle lane repeats another
        states, p = np.stack([run.state for run in there]), np.stack([run.host.p for run in there])
        data = np.stack([run.data[run.k : run.k + size] for run in there])
        numbers = runs[0].host.numbers

        def work() -> list[Array]:
            began = perf_counter()
            if code is None:
                found = [chunks.run(states[0], data[0], p[0], numbers)]
            else:
                rows = run_together(code, size, states, data, p, numbers, chunks.theta)
                found = [np.ascontiguousarray(rows[:, chunks.size :, lane]) for lane in range(len(runs))]
            self.pace[kernel] = (perf_counter() - began) / size
            return found

        return work
