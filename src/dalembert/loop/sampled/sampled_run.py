"""A run of a sampled loop: chunks of samples in native code, with Python between them only.

A chunk is one native call over many samples. Python checks the results: whether they are finite, whether error control
reached the end of every interval, whether an event happened; it keeps the samples of the record and continues.
"""

from __future__ import annotations

import time as clock
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.core.errors import ConvergenceError, DalembertError, Interrupted
from dalembert.core.progress import Progress
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.loop.names import reference_channel
from dalembert.loop.noise import Noise
from dalembert.loop.sampled.sample_graph import Chunks
from dalembert.loop.singularity import UNTIL_THEN, is_unbounded, least_margin, singularity_error
from dalembert.loop.wiring import Loop
from dalembert.numerics.sample_times import count_intervals, is_late, is_same_time, just_after, just_before, slack
from dalembert.record import Record

ATTEMPTS = (6, 24, 96, 384)  # of error control in one interval; the next number where this was too small


def samples_in_a_call(pace: float, seconds: float = 0.2, first: int = 64) -> float:
    """Samples of one call, by the time of a sample [s]; the first call measures it.

    seconds : of a call, the longest delay of Ctrl-C.
    """
    return seconds / pace if pace > 0 else first


class SampledRun:
    """One run of a loop around a plant; `host` turns columns into states, events and records."""

    def __init__(
        self, host: Any, loop: Loop, references: Array, times: Array, begin: float, end: float, progress: Any
    ) -> None:
        self.host, self.loop, self.end, self.wanted = host, loop, end, times
        count = max(count_intervals(end - begin, loop.dt), 0)
        self.t = begin + loop.dt * np.arange(count + 1)
        if is_same_time(self.t[-1], end, loop.dt):
            self.t[-1] = end
        self.references = references
        self.detail = host.needs_detail(self.t, times)
        self.level = 0
        self.short = 0  # intervals that needed more attempts than allowed
        self.reports = callable(progress)  # to a function, which may end the run
        self.progress = Progress(progress, f"simulating {host.plant.name}")
        self.taken: list[tuple[Array, Array, Array, Any]] = []  # columns, inputs, logs, samples
        self.next = 0  # wanted time
        self._bind()

    def _bind(self) -> None:
        self.chunks = Chunks(self.host.plant, self.loop, ATTEMPTS[self.level], self.detail)
        self.graph = self.chunks.graph
        self.row = self.graph.row.starts

    # -- data --------------------------------------------------------------------------------------------------------
    @cached_property
    def quiet(self) -> Array:
        """One row of data per sample, without noise."""
        loop, fields = self.loop, self.graph.data
        n = len(self.t)
        data = np.zeros((n, fields.size))
        part = {name: data[:, a:b] for name, (a, b) in fields.starts.items()}
        k = np.arange(n)
        part["t"][:, 0] = self.t
        part["next"][:, 0] = np.append(self.t[1:], self.end)
        part["on"][:, 0] = self.t >= loop.switch.time - slack(loop.dt) if loop.switch.event is None else 0.0
        part["first"][0] = 1.0
        for j, every in enumerate(loop.every):
            part["laws"][:, j] = k % every == 0
        part["watch"][:, 0] = k % loop.watch_every == 0
        part["given"][:] = self.host.plant.given_inputs(self.t)
        part["references"][:] = self.references
        for s, every in enumerate(loop.sensor_every):
            part["measured"][:, s] = k % every == 0
        return data

    def prepare(self) -> Array:
        """One row of data per sample."""
        loop, plant = self.loop, self.host.plant
        data, n, noise = self.quiet.copy(), len(self.t), loop.noise
        if noise is None:
            return data
        part = {name: data[:, a:b] for name, (a, b) in self.graph.data.starts.items()}
        for name in noise.sensors:
            s = loop.sensors.index(plant.full_name(name))
            if loop.faults[s].deviation:
                part["errors"][:, s] = noise.sensor_draws(name, n)
        for i, name in enumerate(loop.shaken):
            part["shake"][1:, i] = noise.process_draws(name, n - 1)  # no noise on the initial state
        for name in noise.process:
            if name not in loop.shaken:
                part["jitter"][:, plant.inputs.index[plant.full_name(name)]] = noise.process_draws(name, n)
        return data

    # -- the run -----------------------------------------------------------------------------------------------------
    def vary(self, eqs: EquationsOfMotion, noise: Noise | None) -> SampledRun:
        """A run of the same loop, not begun: around the machine with other parameter values, with another noise."""
        other = copy(self)
        other.host, other.loop = self.host.vary(eqs), replace(self.loop, noise=noise)
        other.taken = []
        return other

    def go(self, x: Array) -> Record:
        """The whole run from the column x on."""
        self.begin(x)
        try:
            while not self.done:
                data = self.data[self.k : self.k + self._size()]
                self.accept(self.chunks.run(self.state, data, self.host.p, self.host.numbers))
        except KeyboardInterrupt:
            error: Any = Interrupted("interrupted", f"interrupted at t = {self.state[0]:.6g} s.", UNTIL_THEN)
            error.record = self._record(f"interrupted at t = {self.state[0]:.6g} s")
            raise error from None
        finally:
            self.progress.close()
        return self.finish()

    def begin(self, x: Array) -> None:
        self.began = clock.process_time()
        self.data = self.prepare()
        self.state = np.concatenate((x, self.graph.first_memory(self.data[0, slice(*self.graph.data.starts["given"])])))
        self.largest = max(1.0, float(np.abs(self.host.take_motion(x[None, :])).max(initial=0.0)))
        self.k, self.stopped = 0, ""
        self.margins = dict.fromkeys(self.graph.monitored, (0.0, 0.0))  # the last while on, and the largest
        self.host.arm(self, x)

    @property
    def done(self) -> bool:
        return self.k >= len(self.t) or bool(self.stopped)

    def accept(self, rows: Array) -> None:
        """Continue with the rows of a chunk of samples."""
        try:
            self._accept(rows)
        except DalembertError as failure:
            failure.record = self._record(f"failed at t = {self.state[0]:.6g} s")
            raise
        self.progress.update((self.t[min(self.k, len(self.t) - 1)] - self.t[0]) / max(self.end - self.t[0], 1e-300))

    def finish(self) -> Record:
        """The record of a finished run."""
        record = self._record(self.stopped or "complete")
        assert record is not None
        return record

    def _size(self, reported_block: int = 256) -> int:
        # reported_block: samples between two calls of a progress function.
        left, pace = len(self.t) - self.k, self.chunks.kernel.pace
        self.chunks.kernel.expect(left)
        most = samples_in_a_call(pace)
        if self.reports:
            most = min(most, reported_block)
        return int(max(min(left, most, self.chunks.largest_block), 1))

    def _accept(self, rows: Array) -> None:
        """Keep the valid part of a chunk; continue after it, or after the interval of an event or failure."""
        short = self._first_late(rows)
        reached = rows if short is None else rows[: short + 1]
        failures = [
            each for each in (self._failure(reached), self._find_singular(reached), self.host.check(reached)) if each
        ]
        sound = reached[: min((bad for bad, _ in failures), default=len(reached))]
        happened = self.host.look(self, sound) if len(sound) else None
        if failures and happened is None:
            if len(sound):
                self._take(sound)
                self._go_on(sound[-1], len(sound))
            raise min(failures, key=lambda each: each[0])[1]
        if happened is None and short is None:
            self._take(rows)
            self._go_on(rows[-1], len(rows))
        elif happened is not None and (short is None or happened.sample <= short):
            self._take(rows[: happened.sample + 1], until=happened.x[0])
            self._go_on(rows[happened.sample], happened.sample + 1)
            self.put(happened.x)
            self.host.happen(self, happened)
        else:
            assert short is not None
            self._take(rows[: short + 1], until=self.t[self.k + short])
            self._go_on(rows[short], short + 1)
            self.host.finish(self, self._part(rows[short], "x"), rows[short])
            self._more_attempts()

    def _go_on(self, row: Array, count: int) -> None:
        """The column after a sample and its interval."""
        self.k += count
        _, b = self.row["steps"]
        self.state = np.concatenate((row[b - self.host.plant.size : b], self._part(row, "memory")))

    def _part(self, row: Array, name: str) -> Array:
        a, b = self.row[name]
        return row[..., a:b]

    def steps(self, rows: Array) -> Array:
        """(samples, steps, column) of a detailed chunk."""
        return self._part(rows, "steps").reshape(len(rows), -1, self.host.plant.size)

    def constants(self, row: Array) -> Array:
        """(pieces, nc) of one sample."""
        return self._part(row, "c").reshape(len(self.graph.pieces), -1)

    def _first_late(self, rows: Array) -> int | None:
        """The first interval whose end error control did not reach."""
        if self.host.plant.step is not None:
            return None
        _, b = self.row["steps"]
        reached = rows[:, b - self.host.plant.size]
        wanted = self.data[self.k : self.k + len(rows), self.graph.data.starts["next"][0]]
        late = np.flatnonzero(is_late(reached, wanted))
        return int(late[0]) if len(late) else None

    def _more_attempts(self) -> None:
        self.short += 1
        if self.short >= 8 and self.level + 1 < len(ATTEMPTS):
            self.short = 0
            self.level += 1
            self._bind()

    def _failure(self, rows: Array, runaway: float = 1e9) -> tuple[int, DalembertError] | None:
        """The first sample that is not finite or has diverged, and its error.

        runaway : largest growth of a state over its initial value (or over 1) in a stable loop.
        """
        moving = self.host.take_motion(self._part(rows, "x"))
        bad = ~np.isfinite(rows).all(axis=1)
        bad |= ~(np.abs(moving) <= runaway * self.largest).all(axis=1)
        if not bad.any():
            return None
        k = int(np.argmax(bad))
        t = float(self.t[self.k + k])
        who = self._first_to_go(rows[k])
        if who:
            return k, ConvergenceError(
                "diverged",
                f"{who.format(t=f't = {t:.6g} s')}, while the plant's state still is finite.",
                UNTIL_THEN,
                where={"time": t},
            )
        last = float(np.abs(moving[k - 1]).max(initial=0.0)) if k else self.largest
        return k, ConvergenceError(
            "diverged",
            f"the closed loop diverges: at t = {t:.6g} s its state leaves what numbers can hold (largest entry "
            f"{last:.1e} one sample before). Check the gains and their signs, the sampling interval "
            f"({self.loop.dt:g} s) and delays.",
            UNTIL_THEN,
            where={"time": t},
        )

    def _find_singular(self, rows: Array) -> tuple[int, DalembertError] | None:
        """The first sample at which a law that drives is at a singularity (`loop.singularity`)."""
        found: list[tuple[int, DalembertError]] = []
        for j, (before, best) in self.margins.items():
            acts, margin, residual, reads = self._margin(j, rows)
            size = np.nan_to_num(np.abs(margin))
            largest = np.maximum.accumulate(np.append(best, size))[:-1]
            bad = (margin * np.append(before, margin)[:-1] < 0) | ~(size > least_margin(largest))
            bad &= is_unbounded(margin, residual, largest)
            if bad.any():
                k = int(np.argmax(bad))
                t = float(self.t[self.k + acts[k]])
                found.append((int(acts[k]), singularity_error(self.loop.laws[j], reads[k], t)))
        return min(found, key=lambda each: each[0]) if found else None

    def _margin(self, j: int, rows: Array) -> tuple[Any, Array, Array, Array]:
        """Samples at which law j drives; its margin and residual there, and what it reads."""
        a, b = self.graph.log.starts[f"margin{j}"]
        on = self.data[self.k : self.k + len(rows), self.graph.data.starts["on"][0]] > 0.5
        acts = np.flatnonzero(on & ((self.k + np.arange(len(rows))) % self.loop.every[j] == 0))
        log = self._part(rows, "log")[acts, a:b]
        return acts, log[:, 0], log[:, 1], log[:, 2:]

    def _first_to_go(self, row: Array) -> str:
        """A sentence that names the part whose numbers are not finite while the plant's state is; else empty."""
        if not np.isfinite(self.host.take_motion(self._part(row, "x")[None, :])).all():
            return ""
        loop, memory, log = self.loop, self._part(row, "memory"), self._part(row, "log")
        bad = {name for name, (a, b) in self.graph.memory.starts.items() if not np.isfinite(memory[a:b]).all()}
        if bad & {"watch", "estimate"} and loop.observer is not None:
            return (
                f"observer {loop.observer.name!r} diverges: at {{t}} its state is no longer finite (check its model, "
                "its noise and its initial state)"
            )
        commands = log[slice(*self.graph.log.starts["command"])]
        for i in np.flatnonzero(~np.isfinite(commands)):
            name = self.host.plant.inputs.names[loop.driven[i]]
            law = next(law for law in loop.laws if name in law.drives)
            return (
                f"law {law.name!r} is not defined for its readings at {{t}}: it gives {name} = {commands[i]:g} "
                "(a division by zero, a root of a negative number, a singular matrix?)"
            )
        for j, law in enumerate(loop.laws):
            if f"law{j}" in bad:
                return f"law {law.name!r} diverges: at {{t}} its state is no longer finite (check its rates)"
        return ""

    # -- the record --------------------------------------------------------------------------------------------------
    def _take(self, rows: Array, until: float = np.inf) -> None:
        """Samples of the record inside these samples' intervals, up to a time."""
        for j, (_, best) in self.margins.items():
            margin = self._margin(j, rows)[1]
            if len(margin):
                self.margins[j] = (float(margin[-1]), max(best, float(np.abs(margin).max())))
        first, last = self.k, self.k + len(rows)
        stop = self.t[last] if last < len(self.t) else self.end + 1.0
        rounding = slack(self.loop.dt)
        a = self.next
        b = int(
            np.searchsorted(
                self.wanted, min(stop - rounding, just_after(until)), side="left" if until == np.inf else "right"
            )
        )
        if b <= a:
            return
        self.next = b
        wanted = self.wanted[a:b]
        index = np.clip(np.searchsorted(self.t[first:last], wanted + rounding, side="right") - 1, 0, len(rows) - 1)
        columns = self._part(rows, "x")[index].copy()
        c = self._part(rows, "c")[:, : self.graph.nu + self.graph.ng][index].copy()
        between = np.flatnonzero(wanted - self.t[first:last][index] > rounding)
        if len(between):
            columns[between], c[between] = self.host.states_inside(self, rows, index[between], wanted[between])
        columns[:, 0] = wanted
        log = self._part(rows, "log")[index].copy()
        self.taken.append((columns, self.host.inputs_at(columns[:, 0], c), log, first + index))

    def _record(self, status: str) -> Record | None:
        if not self.taken:
            return None
        columns, inputs, logs, samples = (np.concatenate(parts) for parts in zip(*self.taken, strict=True))
        names, units, data = self._channels(logs, samples)
        loop = self.loop
        statistics = {
            "samples": self.k, "sampling_interval": loop.dt, "end": float(self.state[0]),
            "cpu_seconds": clock.process_time() - self.began,
        }  # fmt: skip
        plant = self.host.plant
        provenance: dict[str, Any] = {
            "method": repr(plant.method), "mechanism": plant.name, "model_hash": plant.content_hash
        }  # fmt: skip
        if loop.laws:
            provenance["controller"] = ", ".join(law.name for law in loop.laws)
        if loop.observer is not None:
            provenance["observer"] = loop.observer.name
        if loop.noise is not None:
            provenance["seed"] = loop.noise.seed
            provenance["noise"] = repr(loop.noise)
        return self.host.record(  # type: ignore[no-any-return]
            columns, inputs, names, units, data, status=status, statistics=statistics, provenance=provenance
        )

    def _channels(self, logs: Array, samples: Array) -> tuple[list[str], list[str], Array]:
        """Channels that the loop adds to a record: readings, estimates, commands, states of laws, references."""
        loop, plant = self.loop, self.host.plant
        readable = plant.readable()
        names = [f"measured.{name}" for name in loop.sensors]
        units = [readable[name] for name in loop.sensors]
        if loop.observer is not None:
            names += [f"estimate.{name}" for name in loop.observer.gives.names]
            units += loop.observer.gives.units
        names += [f"command.{plant.inputs.names[i]}" for i in loop.driven]
        units += [plant.inputs.units[i] for i in loop.driven]
        for law in loop.laws:
            names += [f"{law.name}.{name}" for name in law.state.names]
            units += law.state.units
        wanted = loop.references
        once = [k for k, pair in enumerate(wanted) if pair not in wanted[:k]]  # two laws may follow the same one
        names += [reference_channel(wanted[k][0]) for k in once]
        units += [wanted[k][1] for k in once]
        last = min((a for name, (a, _) in self.graph.log.starts.items() if name.startswith("margin")), default=None)
        return names, units, np.hstack((logs[:, :last], self.references[samples][:, once]))

    # -- for the host, inside an interval ------------------------------------------------------------------------------
    def put(self, x: Array) -> None:
        """The plant's column, in place of the one it has."""
        self.state = np.concatenate((x, self.state[self.host.plant.size :]))

    def rebind(self) -> None:
        self._bind()

    def locate_given(self, inputs: Any) -> list[int]:
        first, _ = self.graph.data.starts["given"]
        return [first + i for i in inputs]

    def capture(self, x: Array, c: Array, t: float) -> None:
        """Sensors that read between samples, in an interval that was computed step by step."""
        places = [
            s for s, (_, rest) in enumerate(self.graph.lags)
            if rest and is_same_time(self.t[self.k - 1] + self.loop.dt - rest, t, self.loop.dt)
        ]  # fmt: skip
        if places:
            assert self.graph.readings is not None
            values = np.asarray(self.graph.readings(x, c, self.host.p)).reshape(-1)
            first = self.host.plant.size + self.graph.memory.starts["captured"][0]
            self.state[[first + s for s in places]] = values[places]

    def take_inside(self, before: Array, rows: Array, c: Array, row: Array) -> None:
        """Samples of the record in (t of `before`, t of the last row]; but not at the next sampling instant."""
        last = float(rows[-1, 0])
        stop = self.t[self.k] if self.k < len(self.t) else self.end + 1.0
        rounding = slack(self.loop.dt)
        b = int(np.searchsorted(self.wanted, min(just_after(last), stop - rounding), side="right"))
        if b <= self.next:
            return
        wanted, self.next = self.wanted[self.next : b], b
        full = np.vstack((before, rows))
        left = np.clip(np.searchsorted(full[:, 0], just_before(wanted), side="right") - 1, 0, len(full) - 1)
        constants = np.tile(c, (len(wanted), 1))
        columns = self.host.steps.to(full[left], wanted, constants)
        columns[:, 0] = wanted
        self._keep(columns, constants, row)

    def _keep(self, columns: Array, constants: Array, row: Array) -> None:
        count = len(columns)
        log = np.tile(self._part(row, "log"), (count, 1))
        samples = np.full(count, self.k - 1)
        self.taken.append((columns, self.host.inputs_at(columns[:, 0], constants), log, samples))

    def stop(self, x: Array, row: Array, status: str) -> None:
        """The run ends at x, which is the last sample of the record."""
        self.stopped = status
        self.put(x)
        if not self.taken or self.taken[-1][0][-1, 0] < x[0]:
            starts = self.t[self.k - 1] + np.array([a for a, _ in self.graph.pieces])
            piece = max(int(np.searchsorted(starts, x[0], side="right")) - 1, 0)
            self._keep(x[None, :].copy(), self.constants(row)[piece][None, :], row)
