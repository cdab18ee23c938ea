"""Parts of a sampled run that depend on its plant: events, the rest of an interval, states between samples, the record.

A linear model has no events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.core.errors import ConvergenceError, DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, Kernel
from dalembert.linear import StateSpace
from dalembert.linear.recursions import compute_exact_steps
from dalembert.loop.sampled.plants import LinearPlant, MachinePlant
from dalembert.loop.wiring import SwitchOn
from dalembert.numerics.sample_times import is_reached, just_after, just_before, slack
from dalembert.record import Record
from dalembert.solve.constrained.solve import depends_on_reactions
from dalembert.solve.integrate.channels import Samples, to_record
from dalembert.solve.integrate.events import Event, EventMonitor, Switch, event_function, speeds_after
from dalembert.solve.integrate.judge.singular_poses import open_reactions
from dalembert.solve.integrate.method import OneStep
from dalembert.solve.integrate.native_steps import NativeSteps
from dalembert.solve.integrate.run import FRICTION_SETTLED, NEWTON_SETTLED, SMALLEST_STEP, largest_gap
from dalembert.solve.integrate.stick_slip import StickSlip, convert, exact
from dalembert.solve.position.assemble import check_start


@dataclass
class Happening:
    """Events in a chunk: the sample in whose interval they lie, the column there, which ones."""

    sample: int
    x: Array
    which: list[int]
    row: Array


class HeldSteps:
    """Steps of the plant with the constants of each time."""

    def __init__(self, steps: NativeSteps, times: Array, constants: Array) -> None:
        self.steps, self.layout = steps, steps.layout
        self.times, self.constants = times, constants  # where each set of constants begins, and the sets

    def at(self, t: float) -> Array:
        return np.asarray(self.constants[max(int(np.searchsorted(self.times, t, side="right")) - 1, 0)])

    def reach(self, x: Array, t: float) -> Array:
        return self.steps.reach(x, t, self.at(0.5 * (float(x[0]) + t)))


class MachineHost:
    """Equations of motion in a sampled run."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        method: OneStep,
        given: Mapping[str, Any],
        driven: Sequence[str],
        events: tuple[Event, ...],
        switch: SwitchOn,
    ) -> None:
        self.open = eqs  # without the rows of stick and slip
        self.eqs, self.method, self.given, self.driven = exact(eqs), method, dict(given), tuple(driven)
        eqs = self.eqs
        self.stick_slip = StickSlip(eqs)
        events = events if switch.event is None else (*events, switch.event)
        self.switch_event = len(events) - 1 if switch.event is not None else -1
        self.events, self.own = (*events, *self.stick_slip.events()), len(events)
        self.event_function = event_function(eqs, self.events)
        self.event_key = None if self.event_function is None else self.event_function.serialize()
        self.friction = depends_on_reactions(eqs)
        self.parameters: list[tuple[float, Array]] = [(-np.inf, eqs.p)]  # from which time on
        self._bind()

    def vary(self, eqs: EquationsOfMotion) -> MachineHost:
        """The same for another run, of the machine with other parameter values."""
        other = copy(self)
        other.open, other.eqs, other.given = eqs, exact(eqs), dict(self.given)
        other.stick_slip = StickSlip(other.eqs)
        other.plant = self.plant.vary(other.eqs)
        other.p, other.parameters = other.eqs.p, [(-np.inf, other.eqs.p)]
        other.__dict__.pop("steps", None)
        return other

    def _bind(self) -> None:
        self.plant = MachinePlant(self.eqs, self.method, self.given, self.driven, self.event_function, self.event_key)
        self.p, self.numbers = self.plant.p, self.plant.numbers
        self.__dict__.pop("steps", None)
        self.where = self.plant.layout.starts

    @cached_property
    def steps(self) -> NativeSteps:
        return self.method.steps(self.eqs, self.plant.acting, self.event_function, self.event_key)

    def column(self, begin: State, span: float) -> Array:
        """The initial column of a run."""
        start = self.eqs.cache(("loop start", self.plant.key), lambda: Kernel(self.plant.start_function()))
        h = self.method.initial_step(span)
        constants = self.plant.acting.constants
        begin = convert(begin, self.eqs)
        self.gap = largest_gap(begin)
        if self.stick_slip:
            u = self.inputs_at(np.array([begin.t]), constants[None, :])[0]
            self.eqs, begin = self.stick_slip.start(self.eqs, begin, u)
            self._set_parameters(-np.inf)
        return np.asarray(start(begin.t, h, begin.q, begin.v, begin.z, 0.0, begin.lam, self.p, constants)[0])

    def needs_detail(self, samples: Array, wanted: Array) -> bool:
        if self.events:
            return True
        near = np.abs(samples[np.clip(np.searchsorted(samples, wanted), 0, len(samples) - 1)] - wanted)
        left = np.abs(samples[np.clip(np.searchsorted(samples, wanted) - 1, 0, len(samples) - 1)] - wanted)
        gap = float(samples[1] - samples[0]) if len(samples) > 1 else 1.0
        return bool((np.minimum(near, left) > slack(gap)).any())

    def take_motion(self, columns: Array) -> Array:
        """Coordinates, speeds and internal states."""
        return columns[:, self.where["q"][0] : self.where["z"][1]]

    def _set_parameters(self, t: float) -> None:
        """Parameters of the equations as they are from time t on: directions of sliding, which compile nothing."""
        self.p = self.plant.p = self.steps.p = self.eqs.p
        self.parameters.append((t, self.p))

    def state(self, x: Array) -> State:
        state = self._full_state(x)
        return convert(state, self.open) if self.stick_slip else state

    def _full_state(self, x: Array) -> State:
        part = {name: x[a:b] for name, (a, b) in self.where.items()}
        return self.eqs.state(part["q"], part["v"], part["z"], float(x[0]), lam=part["lam"])

    # -- events ------------------------------------------------------------------------------------------------------
    def arm(self, run: object, x: Array) -> None:
        self.monitor = EventMonitor(self.events, self.plant.layout, self.own)
        self.before = x.copy()
        if self.events:
            self.monitor.arm(self.steps, x)

    def look(self, run: Any, rows: Array) -> Happening | None:
        """The first event of a chunk with an action; events without one are only noted."""
        if not self.events:
            return None
        steps = run.steps(rows)
        block = np.concatenate((run._part(rows, "x")[:, None, :], steps), axis=1)
        width = block.shape[1]
        block = block.reshape(-1, self.plant.size)
        held = self._held_steps(run, rows)
        offset = 0
        while True:
            crossing = self.monitor.find(held, self.before, block[offset:])
            if crossing is None:
                self.before = block[-1].copy()
                return None
            row = offset + crossing.step
            which = self._drop_switch(crossing.which)
            if which:
                crossing.which = which
                self.monitor.note(crossing)
            doing = [i for i in which if self.events[i].action != "note" or i in (self.switch_event, *self._friction)]
            if doing:
                return Happening(row // width, crossing.x, doing, rows[row // width])
            self.before, offset = block[row].copy(), row + 1
            self.monitor.side[: self.own] = np.sign(self.before[self.monitor.first : self.monitor.first + self.own])
            if offset >= len(block):
                return None

    def _drop_switch(self, which: list[int]) -> list[int]:
        """The events, without that of switching on after it has happened."""
        return [i for i in which if i != self.switch_event or not self.switched]

    switched = False

    @property
    def _friction(self) -> range:
        """Events about sticking and sliding."""
        return range(self.own, len(self.events))

    def _held_steps(self, run: Any, rows: Array) -> HeldSteps:
        starts = np.array([a for a, _ in run.graph.pieces])
        times = (run.t[run.k : run.k + len(rows)][:, None] + starts).reshape(-1)
        return HeldSteps(self.steps, times, run._part(rows, "c").reshape(len(times), -1))

    def happen(self, run: Any, happening: Happening) -> None:
        """The actions of events; the run has already reached the end of their interval."""
        x, changed = happening.x, False
        for i in (i for i in happening.which if i < self.own):
            event = self.events[i]
            if i == self.switch_event:
                self.switched = True
                self.monitor.after[i] = np.inf  # it acts once only
                run.data[run.k :, run.graph.data.starts["on"][0]] = 1.0
                continue
            action = event.action
            if callable(action) and not isinstance(action, Switch):
                action = action(self.state(x))
            if action == "stop":
                run.stop(x, happening.row, f"stopped by event {event.name!r} at t = {x[0]:.9g} s")
                return
            if isinstance(action, Switch):
                x, changed = self._switch(event, self.stick_slip.release(action), x), True
            elif action not in (None, "note"):
                raise ModelError(
                    "wrong-type",
                    f"action of event {event.name!r} must return None, 'stop', 'note' or a Switch, got {action!r}.",
                )
        row = happening.row.copy()
        if changed:
            a, _ = run.row["c"]
            c = run.constants(row).copy()
            free = [i for i, name in enumerate(self.eqs.inputs.names) if name not in self.driven]
            c[:, free] += self.plant.base.constants[free] - run.data[run.k - 1, run.locate_given(free)]
            row[a : a + c.size] = c.reshape(-1)
            run.data[run.k :, run.locate_given(range(self.eqs.nu))] = self.plant.base.constants
            run.rebind()
            x = self._restart(x, c[self._piece(run, x)])
        fired = [i - self.own for i in happening.which if i in self._friction and not changed]
        if self.stick_slip and (fired or changed):
            x = self._stick_or_slide(x, run.constants(row)[self._piece(run, x)], fired)
        self.monitor.arm(HeldSteps(self.steps, np.array([-np.inf]), run.constants(row)[-1:]), x, happening.which)
        self.finish(run, x, row)

    @staticmethod
    def _piece(run: Any, x: Array) -> int:
        """The part of the interval that x lies in."""
        return [k for k, (begin, _) in enumerate(run.graph.pieces) if run.t[run.k - 1] + begin <= x[0]][-1]

    def _stick_or_slide(self, x: Array, c: Array, fired: list[int]) -> Array:
        state = self._full_state(x)
        change = self.stick_slip.change(self.eqs, state, self.inputs_at(x[:1], c[None, :])[0], fired)
        before = self._energy(state)
        self.eqs = self.eqs.replace(**change.parameters)
        self._set_parameters(state.t)
        v = speeds_after(self.eqs, state, change.velocity or {}, "friction")
        state = self.eqs.state(state.q, v, state.z, state.t, lam=state.lam)
        after = x.copy()
        after[slice(*self.where["v"])] = v
        after[slice(*self.where["work"])] += self._energy(state) - before
        return self._restart(after, c)

    def _switch(self, event: Event, switch: Switch, x: Array) -> Array:
        state = self._full_state(x)
        for name in switch.inputs:
            if name in self.driven:
                raise ModelError(
                    "conflicting-arguments", f"event {event.name!r} switches input {name!r}, which a law drives."
                )
        before = self._energy(state)
        if switch.parameters:
            self.eqs = self.eqs.replace(**switch.parameters)
            self.parameters.append((state.t, self.eqs.p))
        self.given |= switch.inputs
        v = state.v
        if switch.velocity is not None or switch.parameters:
            v = speeds_after(self.eqs, state, switch.velocity or {}, f"event {event.name!r}")
        state = self.eqs.state(state.q, v, state.z, state.t, lam=state.lam)
        check_start(self.eqs, state)
        if switch.parameters or switch.inputs:
            self._bind()
        work = float(x[self.where["work"][0]]) + self._energy(state) - before
        after = x.copy()
        for name, value in (("q", state.q), ("v", state.v), ("work", work)):
            after[slice(*self.where[name])] = value
        return after

    def _energy(self, state: State) -> float:
        kinetic, potential = self.eqs.kernel("energy")(state.q, state.v, state.z, self.eqs.p, state.t)
        return float(kinetic[0] + potential[0])

    def _restart(self, x: Array, c: Array) -> Array:
        part = {name: x[a:b] for name, (a, b) in self.where.items()}
        state = [part[name] for name in ("t", "h", "q", "v", "z", "work", "lam")]
        started = np.array(self.steps.starting(*state, self.p, c)[0])
        for name in ("size", "accepted", "rejected", "change"):
            started[slice(*self.where[name])] = part[name]
        return started

    def finish(self, run: Any, x: Array, row: Array) -> None:
        """From x to the end of the interval, step by step: after an event, or after too few attempts."""
        i = run.k - 1
        last = float(run.data[i, run.graph.data.starts["next"][0]])
        pieces, constants = run.graph.pieces, run.constants(row)
        for k, (begin, end) in enumerate(pieces):
            stop = last if k == len(pieces) - 1 else min(float(run.t[i] + end), last)
            if x[0] >= stop:
                continue
            c = constants[k]
            if k and x[0] <= run.t[i] + begin + slack(run.loop.dt):
                x = self._restart(x, c)
            rows = self._walk(x, stop, c)
            if self.events:
                crossing = self.monitor.find(HeldSteps(self.steps, np.array([-np.inf]), c[None, :]), x, rows)
                which = [] if crossing is None else self._drop_switch(crossing.which)
                if crossing is not None and which:
                    crossing.which = which
                    self.monitor.note(crossing)
                    run.take_inside(x, np.vstack((rows[: crossing.step], crossing.x)), c, row)
                    run.put(crossing.x)
                    self.happen(run, Happening(0, crossing.x, which, row))
                    return
            run.take_inside(x, rows, c, row)
            x = rows[-1]
            run.capture(x, c, run.t[i] + end)
        run.put(x)
        self.before = x.copy()

    def _walk(self, x: Array, stop: float, c: Array, most_steps: int = 2000) -> Array:
        # most_steps: of error control in one interval: a stable loop needs a few.
        rows: list[Array] = []
        most = most_steps if self.plant.step is None else 10**9
        while len(rows) < most:
            x = self.steps.block(x, 1, stop, c)[0].copy()
            rows.append(x)
            if is_reached(x[0], stop):
                return np.array(rows)
            if not np.isfinite(x).all() or x[1] < SMALLEST_STEP * max(1.0, abs(x[0])):
                break
        raise ConvergenceError(
            "no-convergence",
            f"the machine could not be brought to the sample at t = {stop:.6g} s in {len(rows)} steps: the step "
            f"fell to {x[1]:.1e} s at t = {x[0]:.6g} s. The loop diverges, a driver or joint is beyond its reach, "
            "or the machine is too stiff.",
            Advice("Check the gains and their signs, or try {}.", Argument("method", Call("da.Rosenbrock"))),
        )

    # -- checks ------------------------------------------------------------------------------------------------------
    def check(self, rows: Array) -> tuple[int, ConvergenceError] | None:
        """The first sample whose joints are open or whose steps did not converge, and its error."""
        x = rows[:, : self.plant.size]
        change = x[:, self.where["change"][0]]
        alpha = self.method.iterates
        limit = NEWTON_SETTLED if alpha else FRICTION_SETTLED if self.friction else np.inf
        gaps = np.zeros((len(x), 1))
        if self.eqs.holonomic_rows and self.method.stabilise is None:
            (gaps,) = self.eqs.kernel("position").many(x[:, slice(*self.where["q"])], self.p, x[:, :1])
            gaps = np.abs(gaps.reshape(len(x), -1))
        bad = (change > limit) | ~(gaps.max(axis=1) <= self.gap)
        if not bad.any():
            return None
        k = int(np.argmax(bad))
        t = float(x[k, 0])
        if change[k] > limit and alpha:
            return k, ConvergenceError(
                "no-convergence",
                f"a step before t = {t:.6g} s did not converge (last change {change[k]:.1e} of the speeds). Use a "
                f"smaller step (now {self.method.step:g} s).",
            )
        if change[k] > limit:
            return k, ConvergenceError(
                "friction-unsettled",
                f"friction and reactions did not settle near t = {t:.6g} s (last change {change[k]:.1e} of the "
                "reactions). The joint may be jamming: lower the friction coefficient.",
            )
        owner = self.eqs.rows[self.eqs.holonomic_rows[int(np.argmax(gaps[k]))]].owner
        return k, ConvergenceError(
            "joint-open",
            f"joint {owner!r} is open by {gaps[k].max():.1e} m at t = {t:.6g} s. Use a smaller step or tolerance, "
            "unless a driver or joint is beyond its reach there.",
        )

    # -- the record --------------------------------------------------------------------------------------------------
    def states_inside(self, run: Any, rows: Array, index: Array, wanted: Array) -> tuple[Array, Array]:
        """Columns and constants at times between samples: one shorter step from the previous step."""
        block = np.concatenate((run._part(rows, "x")[:, None, :], run.steps(rows)), axis=1)
        starts = np.array([a for a, _ in run.graph.pieces])
        left = np.empty((len(wanted), self.plant.size))
        constants = np.empty((len(wanted), len(self.plant.acting.constants)))
        for k, (i, t) in enumerate(zip(index, wanted, strict=True)):
            times = block[i, :, 0]
            left[k] = block[i, int(np.searchsorted(times, just_before(t), side="right")) - 1]
            piece = int(np.searchsorted(starts, just_after(t - run.t[run.k + i]), side="right")) - 1
            constants[k] = run.constants(rows[i])[piece]
        return self.steps.to(left, wanted, constants), constants

    def inputs_at(self, times: Array, c: Array) -> Array:
        kernel = self.eqs.cache(
            ("held inputs kernel", self.plant.acting.key),
            lambda: Kernel(self.plant.acting.function),
        )
        if not self.eqs.nu:
            return np.empty((len(times), 0))
        return np.asarray(kernel.many(times.reshape(-1, 1), c)[0])

    def record(
        self, columns: Array, inputs: Array, names: list[str], units: list[str], data: Array, **details: Any
    ) -> Record:
        part = {k: columns[:, a:b] for k, (a, b) in self.where.items()}
        states = Samples(part["t"][:, 0], part["q"], part["v"], part["z"], part["work"][:, 0], part["a"], part["lam"])
        parameters = None
        if len(self.parameters) > 1:
            since = np.array([t for t, _ in self.parameters])
            parameters = np.array([p for _, p in self.parameters])[np.searchsorted(since, columns[:, 0]) - 1]
        statistics = dict(details.pop("statistics"))
        statistics["steps"] = int(columns[-1, self.where["accepted"][0]])
        statistics["rejected"] = int(columns[-1, self.where["rejected"][0]])
        if self.stick_slip:
            statistics["friction"] = self.stick_slip.changes
        ends = (self.eqs.state(states.q[k], states.v[k], states.z[k], float(states.t[k])) for k in (0, -1))
        statistics |= open_reactions(*ends)
        if self.own:
            statistics["events"] = [{"name": name, "time": t} for name, t in self.monitor.happened]
        run = to_record(self.eqs, states, inputs, parameters, statistics=statistics, **details)
        about: Any = {part: getattr(run, part) for part in ("name", "status", "statistics", "provenance")}
        return Record(
            run.time, np.hstack((run.data, data)), (*run.names, *names), (*run.units.values(), *units),
            scene=run.scene, **about,
        )  # fmt: skip


class LinearHost:
    """A state-space model in a sampled run."""

    def __init__(self, model: StateSpace, given: object) -> None:
        self.plant = LinearPlant(model, given)
        self.p, self.numbers = self.plant.p, self.plant.numbers

    def needs_detail(self, samples: Array, wanted: Array) -> bool:
        return False

    def take_motion(self, columns: Array) -> Array:
        return columns[:, 1:]

    def arm(self, run: object, x: Array) -> None:
        pass

    def check(self, rows: Array) -> None:
        return None

    def look(self, run: object, rows: Array) -> None:
        return None

    def inputs_at(self, times: Array, c: Array) -> Array:
        return c

    def states_inside(self, run: Any, rows: Array, index: Array, wanted: Array) -> tuple[Array, Array]:
        """States between samples, exact."""
        model = self.plant.model
        if model.dt is not None or len(run.graph.pieces) > 1:
            raise DataError(
                "not-supported",
                "a record of this linear plant has samples of the loop only.",
                Advice(f"Leave out {{}}, or give multiples of {run.loop.dt:g} s.", Argument("every")),
            )
        c = run._part(rows, "c")[index]
        x = run._part(rows, "x")[index]
        Phi, Gamma, _ = compute_exact_steps(model.A, model.B, wanted - x[:, 0])
        states = np.einsum("kij,kj->ki", Phi, x[:, 1:]) + np.einsum("kij,kj->ki", Gamma, c)
        return np.column_stack((wanted, states)), c

    def record(
        self, columns: Array, inputs: Array, names: list[str], units: list[str], data: Array, **details: Any
    ) -> Record:
        model = self.plant.model
        y = columns[:, 1:] @ model.C.T + inputs @ model.D.T
        every = (*model.states, *model.inputs, *model.outputs)
        keep = [k for k, name in enumerate(every) if name not in every[:k]]
        own = np.hstack((columns[:, 1:], inputs, y))[:, keep]
        all_names = (*(every[k] for k in keep), *names)
        all_units = (*(model.units.get(every[k], "") for k in keep), *units)
        return Record(columns[:, 0], np.hstack((own, data)), all_names, all_units, name=self.plant.name, **details)
