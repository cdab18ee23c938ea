"""A run under way: blocks of steps in native code; Python acts between blocks only."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dalembert.core.errors import (
    ConvergenceError,
    DalembertError,
    DataError,
    Interrupted,
    ModelError,
    SimulationWarning,
)
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.progress import Progress
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.numerics.sample_times import is_begun, slack
from dalembert.record import Record
from dalembert.solve.constrained.solve import depends_on_reactions
from dalembert.solve.integrate.channels import Sampler, to_record
from dalembert.solve.integrate.events import Crossing, Event, EventMonitor, Switch, event_function, speeds_after
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.judge.accuracy import judge_energy, judge_step
from dalembert.solve.integrate.judge.singular_poses import SingularPoses, find_dead_point, open_reactions
from dalembert.solve.integrate.judge.step_advice import StepAdvice
from dalembert.solve.integrate.method import Method
from dalembert.solve.integrate.newton import TOLERANCE
from dalembert.solve.integrate.stick_slip import StickSlip, convert, exact
from dalembert.solve.position.assemble import Units, check_start

CHUNK_SECONDS = 0.2  # between updates of the progress bar; Ctrl-C acts this soon
REPORTED_BLOCK = 256  # attempts between two calls of a progress function
FIRST_BLOCK = 64  # attempts, from which the time of one is known
JUDGED_ATTEMPTS = 64  # attempts between two judgements of their progress
STRETCHES = 1000  # of a run; each has the method's budget of attempts


# Relative change of the reactions in the last pass: friction forces are known to six digits then.
FRICTION_SETTLED = 1e-6
NEWTON_SETTLED = TOLERANCE.accepted  # Relative change of the speeds in the last Newton iteration.
OPEN_GAP = 1e-5  # Gap of a joint [m or rad]: runs of the test machines stay below 1e-9 with every method.
SMALLEST_STEP = 1e-14  # Step relative to the time: 45 times the rounding of t, so that t + h still differs from t.


def largest_gap(state: State) -> float:
    """Gap of a joint [m or rad] from which the machine of a run is open."""
    return OPEN_GAP * Units(state.eqs, state.q, state.t).length


class Run:
    """One simulation under way. A switch at an event begins a new segment with its own parameters and inputs."""

    gap = OPEN_GAP  # of machines of ordinary size

    def __init__(
        self,
        eqs: EquationsOfMotion,
        method: Method,
        inputs: Inputs,
        events: tuple[Event, ...],
        end: float,
        progress: bool | Callable[[float], None] | None,
    ) -> None:
        self.given = eqs  # without what stick and slip adds
        self.eqs, self.method, self.inputs, self.end = exact(eqs), method, inputs, end
        self.stick_slip = StickSlip(self.eqs)
        self.events, self.own = (*events, *self.stick_slip.events()), len(events)
        self.event_function = event_function(self.eqs, self.events)
        self.event_key = None if self.event_function is None else self.event_function.serialize()
        self._bind()
        self.progress = Progress(progress, f"simulating {eqs.name}")
        self.reports = callable(progress)  # to a function, which may want to end the run
        self.friction = depends_on_reactions(eqs)
        self.advice = StepAdvice(method, end)
        self.segments: list[tuple[int, EquationsOfMotion, Inputs]] = []  # first sample, and what holds from there on

    def _bind(self) -> None:
        """Native steps for the present parameters and inputs (from the cache where the code is the same)."""
        self.steps = self.method.steps(self.eqs, self.inputs, self.event_function, self.event_key)
        self.where = self.steps.layout.starts

    def _check_inputs(self, t: float) -> None:
        first, last = self.inputs.span
        if first > t or last < self.end:
            raise DataError(
                "record-too-short",
                f"a record given as input covers {first:g} to {last:g} s, the run needs {t:g} to {self.end:g} s.",
            )

    def go(self, begin: State, times: Array) -> Record:
        began = clock.process_time()
        self._check_inputs(begin.t)
        begin = convert(begin, self.eqs)
        self.gap = largest_gap(begin)
        if self.stick_slip:
            u = self.inputs.values(self.eqs, np.array([begin.t]))[0]
            self.eqs, begin = self.stick_slip.start(self.eqs, begin, u)
            self._bind()
        h = self.method.initial_step(self.end - begin.t)
        x: Array = self.steps.begin(begin.t, h, begin.q, begin.v, begin.z, 0.0, begin.lam)
        self.sampler = Sampler(self.steps.layout, times)
        self.span = self.end - begin.t
        self.steps.plan(times, self.span)
        self.monitor = EventMonitor(self.events, self.steps.layout, self.own)
        self.segments.append((0, self.eqs, self.inputs))
        self.singular = SingularPoses(self.eqs)
        self._finite(x[None, :], x)
        if is_begun(times[0], begin.t):
            self.sampler.blocks.append(x[None, :].copy())
            self.sampler.next = 1
        self.first = x.copy()  # what loads are usual, should a run get stuck
        if self.eqs.elastic:  # every motion of a flexible machine has all its vibrations: such a run cannot succeed
            unstable = judge_step(self.method, [(begin, self.inputs.values(self.eqs, np.array([begin.t]))[0])])
            if unstable is not None:
                raise ConvergenceError.of(unstable)
        self.slow = self.stretch = (begin.t, 0.0)  # first time of slow progress, of a stretch; attempts before it
        stopped = ""
        try:
            if self.events:
                self.monitor.arm(self.steps, x)
            while x[0] < self.end and not stopped:
                size = self._block_size(x)
                block = self.steps.block(x, size, self.end)
                block, broken = self._finite(block, x)
                crossing = None
                if self.events:
                    crossing = self.monitor.find(self.steps, x, block)
                    if crossing is not None:
                        block = np.vstack((block[: crossing.step], crossing.x))
                last, halt = self._judge_progress(x, block)
                if halt is not None:
                    block, crossing, broken = block[: last + 1], None, None
                self._take(x, block)
                self.singular.look(self.steps, x, block)
                if broken is not None and crossing is None:
                    x = block[-1].copy()
                    raise broken
                self.advice.look(self.eqs, self.where, x, block)
                x = block[-1].copy()
                if halt is not None:
                    raise halt(x)
                if crossing is not None:
                    x, stopped = self._happen(crossing, x)
                self.progress.update((x[0] - begin.t) / (self.end - begin.t))
        except KeyboardInterrupt:
            error: Any = Interrupted(
                "interrupted",
                f"interrupted at t = {x[0]:.6g} s.",
                Advice("The run so far is in {}.", Call("error.record")),
                where={"time": float(x[0])},
            )
            error.record = self._record(x, began, f"interrupted at t = {x[0]:.6g} s")
            raise error from None
        except DalembertError as failure:
            record = self._record(x, began, f"failed at t = {x[0]:.6g} s")
            cause = self._name_cause(failure, x)
            cause.record = None if record is None else self._sound(record)[0]
            if cause is failure:
                raise
            raise cause from failure
        finally:
            self.progress.close()
        record = self._record(x, began, stopped or "complete")
        assert record is not None  # a complete run has its samples
        kept, opened = self._sound(record)
        if opened is not None:  # opened and closed again between two looks
            late = self._name_cause(self._report_gap(opened), x)
            late.record = kept
            raise late
        self.singular.warn()
        SimulationWarning.report(judge_energy(record, self.method, self._full_state(self.first)), stacklevel=3)
        return record

    def _name_cause(self, failure: DalembertError, x: Array) -> DalembertError:
        """The error of a dead point, or of steps unstable at the first or last sound state x, if that is the cause."""
        if failure.code in ("diverged", "step-too-small", "too-many-steps"):
            dead = find_dead_point(self._full_state(x))
            if dead is not None:
                return ConvergenceError.of(dead)
        if failure.code not in ("joint-open", "diverged"):
            return failure
        states = ((self._full_state(at), self.inputs.values(self.eqs, at[:1])[0]) for at in (self.first, x))
        cause = judge_step(self.method, states)
        return failure if cause is None else ConvergenceError.of(replace(cause, where=failure.where))

    def _sound(self, record: Record) -> tuple[Record | None, float | None]:
        """The samples before the joints first open, and the time of this (None: never)."""
        if self.method.stabilise is not None:
            return record, None
        opened = record["residual.position"] > self.gap
        if not opened.any():
            return record, None
        first = int(np.argmax(opened))
        t = float(record.time[first])
        return (record.between(record.time[0], record.time[first - 1]) if first else None), t

    def _report_gap(self, t: float, detail: str = "") -> ConvergenceError:
        step = self.method.step
        now = () if step is None else (Advice("Use a smaller {} (now " + f"{step:g} s).", Argument("step")),)
        return ConvergenceError(
            "joint-open",
            f"step at t = {t:.6g} s did not close the machine{detail}, or a driver or joint is beyond its reach there.",
            *now,
            *(() if step is not None else (Advice("Use a smaller {}.", Argument("rtol")),)),
            where={"time": t},
        )

    def _block_size(self, x: Array) -> int:
        """Attempts in the next block: all remaining ones, but at most a fifth of a second.

        The first block of a kernel is short: the time of an attempt is not known yet.
        """
        pace, first = self.steps.pace, x[self.where["accepted"][0]] + x[self.where["rejected"][0]] == 0
        step = max(min(x[1], self.end - x[0]), 1e-300)
        left = max(np.ceil((self.end - x[0]) / step - slack(1.0)), 1)
        if not first or self.method.step is not None:
            self.steps.expect(int(min(left, 1e9)))
        most = FIRST_BLOCK if pace == 0 or (first and self.method.step is None) else CHUNK_SECONDS / pace
        if self.reports:
            most = min(most, REPORTED_BLOCK)
        return int(max(min(left, most, self.steps.largest_block), 1))

    # -- events ------------------------------------------------------------------------------------------------------
    def _happen(self, crossing: Crossing, x: Array) -> tuple[Array, str]:
        """The actions of the events: the state to continue from, and the status if they stop the run."""
        self.monitor.note(crossing)
        switched = False
        for i in (i for i in crossing.which if i < self.own):
            event = self.events[i]
            action = event.action
            if callable(action) and not isinstance(action, Switch):
                action = action(self._state(x))
            if action == "stop":
                if self.sampler.next == 0 or self.sampler.blocks[-1][-1, 0] < x[0]:
                    self.sampler.blocks.append(x[None, :].copy())
                    self.sampler.next += 1
                return x, f"stopped by event {event.name!r} at t = {x[0]:.9g} s"
            if isinstance(action, Switch):
                x, switched = self._switch(f"event {event.name!r}", self.stick_slip.release(action), x), True
            elif action not in (None, "note"):
                raise ModelError(
                    "wrong-type",
                    f"action of event {event.name!r} must return None, 'stop', 'note' or a Switch, got {action!r}.",
                    where={"event": event.name},
                )
        fired = [i - self.own for i in crossing.which if i >= self.own and not switched]
        if self.stick_slip and (fired or switched):
            u = self.inputs.values(self.eqs, x[:1])[0]
            change = self.stick_slip.change(self.eqs, self._full_state(x), u, fired)
            x = self._switch("friction", change, x)
        self.monitor.arm(self.steps, x, crossing.which)
        return x, ""

    def _state(self, x: Array) -> State:
        state = self._full_state(x)
        return convert(state, self.given) if self.stick_slip else state

    def _full_state(self, x: Array) -> State:
        part = {name: x[a:b] for name, (a, b) in self.where.items()}
        return self.eqs.state(part["q"], part["v"], part["z"], float(x[0]), lam=part["lam"])

    def _switch(self, what: str, switch: Switch, x: Array) -> Array:
        state = self._full_state(x)
        before = self._energy(state)
        if switch.parameters:
            self.eqs = self.eqs.replace(**switch.parameters)
        if switch.inputs:
            self.inputs = self.inputs.replace(self.eqs, switch.inputs)
            self._check_inputs(state.t)
        v = state.v
        if switch.velocity is not None or switch.parameters:  # other dimensions, other speeds, by impulses
            v = speeds_after(self.eqs, state, switch.velocity or {}, what)
        state = self.eqs.state(state.q, v, state.z, state.t, lam=state.lam)
        check_start(self.eqs, state)
        if switch.parameters or switch.inputs:
            self._bind()
            self.steps.plan(self.sampler.times, self.span)
            self.segments.append((self.sampler.next, self.eqs, self.inputs))
            self.singular.restart(self.eqs)
        # energy that the switch adds or removes counts as work, so that the energy balance stays valid
        work = float(x[self.where["work"][0]]) + self._energy(state) - before
        begin: Array = self.steps.begin(state.t, x[1], state.q, state.v, state.z, work, state.lam)
        for counter in ("accepted", "rejected"):
            begin[self.where[counter][0]] = x[self.where[counter][0]]
        return begin

    def _energy(self, state: State) -> float:
        kinetic, potential = self.eqs.kernel("energy")(state.q, state.v, state.z, self.eqs.p, state.t)
        return float(kinetic[0] + potential[0])

    # -- checks ------------------------------------------------------------------------------------------------------
    def _finite(self, block: Array, before: Array) -> tuple[Array, ConvergenceError | None]:
        """The finite states of a block, and the error to raise after them where others follow."""
        if np.isfinite(block[-1]).all():
            return block, None
        bad = int(np.argmin(np.isfinite(block).all(axis=1)))
        good = before if bad == 0 else block[bad - 1]
        step = self.method.step
        hint = () if step is None else (Advice("Use a smaller {} (now " + f"{step:g} s).", Argument("step")),)
        error = ConvergenceError(
            "diverged",
            f"the motion leaves finite numbers after t = {good[0]:.6g} s.",
            *hint,
            where={"time": float(good[0])},
        )
        if bad == 0:
            raise error
        return block[:bad].copy(), error

    def _take(self, before: Array, block: Array) -> None:
        """Samples of a block whose end is sound; of one that is not, those before the first unsound state."""
        try:
            self._check(block[-1])
        except ConvergenceError:
            for k, row in enumerate(block):
                try:
                    self._check(row)
                except ConvergenceError:
                    if k:
                        self.sampler.take(before, block[:k].copy(), self.steps.to)
                    raise
            raise
        self.sampler.take(before, block, self.steps.to)

    def _check(self, x: Array) -> None:
        change = float(x[self.where["change"][0]])
        if self.method.iterates:
            if change > NEWTON_SETTLED:
                raise ConvergenceError(
                    "no-convergence",
                    f"step before t = {x[0]:.6g} s did not converge (last change {change:.1e} of the speeds; "
                    f"{self._widest(x)}).",
                    Advice("Use a smaller {} (now " + f"{self.method.step:g} s).", Argument("step")),
                    where={"time": float(x[0])},
                    evidence={"change": change},
                )
        elif self.friction and change > FRICTION_SETTLED:
            raise ConvergenceError(
                "friction-unsettled",
                f"friction and reactions did not settle near t = {x[0]:.6g} s (last change "
                f"{change:.1e} of the reactions). The joint may be jamming.",
                Advice("Lower the friction coefficient."),
                where={"time": float(x[0])},
                evidence={"change": change},
            )
        if x[0] < self.end and x[1] < SMALLEST_STEP * max(1.0, abs(x[0])):
            raise self._report_stuck(x)
        if self.eqs.holonomic_rows and self.method.stabilise is None:
            gap = float(np.abs(self._gaps(x)).max())
            if not gap <= self.gap:
                raise self._report_gap(float(x[0]), f" ({self._widest(x)})")

    def _judge_progress(
        self, before: Array, block: Array, attempts: int = 400, slowest: float = 1e-9, farthest: float = 1e6
    ) -> tuple[int, Callable[[Array], ConvergenceError] | None]:
        """Row at which to give up, and why: the step fell to nothing, or the budget of a stretch is spent.

        Judged at every 64th attempt, or more often if the budget is less: how many a block has depends on the speed of
        the machine.

        attempts : 400 attempts in a row must cover more than this share of the time left, or the run has come to a
        stop.
        farthest : the time left counts up to this multiple of the run so far: an end far away does not count as
        slowness.
        """
        budget = self.method.attempts
        if budget is None:
            return -1, None
        accepted, rejected = (self.where[name][0] for name in ("accepted", "rejected"))
        made = np.append(before[accepted] + before[rejected], block[:, accepted] + block[:, rejected])
        for k in np.flatnonzero(np.diff(made // min(JUDGED_ATTEMPTS, budget)) > 0):
            t, count = float(block[k, 0]), float(made[k + 1])
            if t >= self.end:
                break
            if t - self.stretch[0] > self.span / STRETCHES:
                self.stretch = (t, count)
            elif count - self.stretch[1] >= budget:
                return int(k), partial(self._report_spent, budget=budget)
            since, tried = self.slow
            left = min(self.end - since, farthest * (since - self.first[0]))
            if t - since > slowest * left:
                self.slow = (t, count)
            elif count - tried >= attempts:
                return int(k), self._report_stuck
        return -1, None

    def _report_spent(self, x: Array, budget: int) -> ConvergenceError:
        """The last state is valid and goes into the record, also between two samples."""
        if self.sampler.next == 0 or self.sampler.blocks[-1][-1, 0] < x[0]:
            self.sampler.blocks.append(x[None, :].copy())
        since = self.stretch[0]
        more = (self.end - x[0]) / max(x[0] - since, 1e-300) * budget
        v = x[slice(*self.where["v"])]
        k = int(np.argmax(np.abs(v))) if len(v) else -1
        speeds = self.eqs.speeds
        fastest = f", largest speed {speeds.names[k]} = {v[k]:.1e} {speeds.units[k]}" if len(v) else ""
        return ConvergenceError(
            "too-many-steps",
            f"{budget} steps brought the run from t = {since:.6g} s to t = {x[0]:.6g} s (step "
            f"{x[1]:.1e} s{fastest}); to the end at {self.end:g} s it would take about {more:.0e}.",
            Advice(
                "Correct parts that are much faster than the motion of interest (a stiff or unstable spring, a growing "
                "input), or use {}.",
                Argument("method", Call("da.Rosenbrock")),
            ),
            Advice("Raise {} of the method if the run is meant to be this long.", Argument("max_steps")),
            where={"time": float(x[0])},
            evidence={"steps": budget, "step": float(x[1])},
        )

    def _report_stuck(self, x: Array) -> ConvergenceError:
        text = f"the step size fell to {x[1]:.1e} s at t = {x[0]:.6g} s. "
        owner, load, forces = self._find_largest_load(x)
        if load > forces + 10 * self._find_largest_load(self.first)[1]:
            kind = "driver" if owner in self.eqs.drivers else "joint"
            text += (
                f"The load on {kind} {owner!r} grows without bound there ({load:.1e} N or N m): a driver or joint may "
                "be beyond its reach, or the machine in a dead point."
            )
        else:
            text += "The equations are too stiff or singular there, or a driver or joint is beyond its reach."
        return ConvergenceError(
            "step-too-small",
            text,
            Advice(
                "If the equations are stiff, try {}.",
                Argument("method", Call("da.Rosenbrock")),
                Argument("method", Call("da.GeneralizedAlpha", Argument("step"))),
                Argument("rtol"),
            ),
            where={"time": float(x[0])},
            evidence={"step": float(x[1])},
        )

    def _find_largest_load(self, x: Array, driver: float = 0.01) -> tuple[str, float, float]:
        """Owner of the row with the largest load |λ| |A row| (drivers first), the load, the largest applied force.

        driver : load of a driver, relative to the largest, from which it is named first: it is the cause more often
        than a joint.
        """
        eqs = self.eqs
        if not eqs.rows:
            return "", 0.0, 0.0
        part = {name: x[a:b] for name, (a, b) in self.where.items()}
        u = self.inputs.values(eqs, x[:1])[0]
        at = (part["q"], part["v"], part["z"], u, eqs.p, float(x[0]))
        A = eqs.kernel("rows").sparse(0, *at)
        loads = np.abs(part["lam"]) * np.asarray(abs(A).max(axis=1).todense()).reshape(-1)
        forces = float(np.abs(eqs.kernel("forces")(*at, 0 * part["lam"])[0]).max(initial=0.0))
        k = int(np.argmax(loads))
        driven = [i for i, row in enumerate(eqs.rows) if row.owner in eqs.drivers and loads[i] > driver * loads[k]]
        owner = eqs.rows[max(driven, key=lambda i: loads[i], default=k)].owner
        return owner, float(loads[k]), forces

    def _gaps(self, x: Array) -> Array:
        a, b = self.where["q"]
        return self.eqs.kernel("position")(x[a:b], self.eqs.p, x[0])[0]

    def _widest(self, x: Array) -> str:
        if not self.eqs.holonomic_rows:
            return "no joints"
        gaps = np.abs(self._gaps(x))
        k = int(np.argmax(gaps))
        return f"joint {self.eqs.rows[self.eqs.holonomic_rows[k]].owner!r} is open by {gaps[k]:.1e} m"

    # -- the record ---------------------------------------------------------------------------------------------------
    def _record(self, x: Array, began: float, status: str) -> Record | None:
        if not self.sampler.blocks:
            return None
        samples = self.sampler.samples()
        statistics: dict[str, Any] = {
            "steps": int(x[self.where["accepted"][0]]),
            "rejected": int(x[self.where["rejected"][0]]),
            "end": float(x[0]),
        }
        if self.advice.text:
            statistics["advice"] = self.advice.text
        if self.stick_slip:
            statistics["friction"] = self.stick_slip.changes
        if self.singular.found:
            statistics["singular poses"] = self.singular.found
        statistics |= open_reactions(self._full_state(self.first), self._full_state(x))
        if self.own:
            statistics["events"] = [{"name": name, "time": t} for name, t in self.monitor.happened]
        bounds = [*(first for first, _, _ in self.segments), len(samples.t)]
        inputs = np.concatenate(
            [
                inputs.values(eqs, samples.t[a:b])
                for (_, eqs, inputs), a, b in zip(self.segments, bounds[:-1], bounds[1:], strict=True)
                if b > a
            ]
        )
        counts = np.diff(bounds)
        return to_record(
            self.eqs,
            samples,
            inputs,
            None if len(counts) == 1 else np.repeat([eqs.p for _, eqs, _ in self.segments], counts, axis=0),
            status=status,
            statistics={**statistics, "cpu_seconds": clock.process_time() - began},
            provenance={
                "method": repr(self.method),
                "mechanism": self.eqs.name,
                "model_hash": self.given.content_hash,
            },
        )
