"""One sample of a closed loop as one expression, and native functions of many samples of it.

At the instant t_k, with the plant at x and the inputs of the last interval acting:

    1. process noise is added to the state; inputs that no law drives take their new values;
    2. laws that are not direct set their inputs: u = law(state);
    3. the sensors are read: value → delay → noise → limits → resolution;
    4. the observer predicts from its last sample under its known inputs and corrects with the readings;
    5. direct laws read and set their inputs: u = law(readings or estimate, state);
    6. commands pass their actuators: rate → limits → resolution → delay; the states of the laws are updated;
    7. the plant moves to t_{k+1} under held inputs (in pieces where an actuator or a sensor acts between samples).

A law that reads its own inputs gets their values at the reading: those of the last interval if it is direct, its new
ones if it is not. An observer gets inputs as they act, without noise, sampled at t_k where they are functions of
time (their mean where they change inside an interval).

The column of a loop is (x, memory); noise, references and flags enter as data, one column per sample.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from dalembert.expressions import Array, Kernel
from dalembert.loop.actuators import in_samples, limit_command, read_value
from dalembert.loop.singularity import is_monitored
from dalembert.loop.wiring import ESTIMATE, INPUT, Loop, Source
from dalembert.numerics.sample_times import is_same_time, slack

MX = ca.MX
_BUILT: dict[Any, Any] = {}  # of linear plants, which have no cache of their own


class Fields:
    """Named pieces of a column, in order."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.starts: dict[str, tuple[int, int]] = {}
        first = 0
        for name, size in sizes.items():
            self.starts[name] = (first, first + size)
            first += size
        self.size = first

    def split(self, column: object) -> dict[str, Any]:
        cuts = [a for a, _ in self.starts.values()] + [self.size]
        return dict(zip(self.starts, ca.vertsplit(column, cuts), strict=True))

    def join(self, parts: dict[str, Any]) -> Any:
        return column(*[parts[name] for name in self.starts])


def column(*parts: Any) -> Any:
    """A dense column; an empty one where nothing is given."""
    parts = tuple(part for part in map(MX, parts) if part.numel())
    return ca.densify(ca.vertcat(*parts)) if parts else MX(0, 1)


def optional(function: ca.Function, sizes: list[int]) -> ca.Function:
    """(condition, arguments, fallbacks) -> outputs of the function where the condition holds, else the fallbacks.

    Only one of the two is evaluated: an observer slower than the loop costs nothing between its samples.
    """
    arguments = [MX.sym(f"a{i}", function.size1_in(i)) for i in range(function.n_in())]
    fallbacks = [MX.sym(f"b{i}", size) for i, size in enumerate(sizes)]
    everything = [*arguments, *fallbacks]
    do = ca.Function("do", everything, [ca.densify(e) for e in function.call(arguments)])
    leave = ca.Function("leave", everything, [ca.densify(e) for e in fallbacks])
    return ca.Function.if_else("perhaps", do, leave)


class SampleGraph:
    """Builds the function of one sample: (column, data, p, numbers, θ) -> row."""

    def __init__(self, plant: Any, loop: Loop, *, attempts: int, detail: bool) -> None:
        self.plant, self.loop, self.attempts, self.detail = plant, loop, attempts, detail
        self.nu, self.ng = len(plant.inputs), len(plant.gates)
        self.delays = [in_samples(a.delay, loop.dt) for a in loop.actuators]
        self.lags = [in_samples(f.delay, loop.dt) for f in loop.faults]
        acting = {plant.inputs.names[i]: each for i, each in zip(loop.driven, loop.actuators, strict=True)}
        self.monitored = [j for j, law in enumerate(loop.laws) if is_monitored(law, acting)]
        self._plan()
        self.data = Fields(self._data_sizes())
        self.memory = Fields(self._memory_sizes())
        self.log = Fields(self._log_sizes())
        steps = sum(plant.steps_in(b - a, attempts) for a, b in self.pieces) if detail else 1
        self.row = Fields({
            "x": plant.size, "steps": plant.size * steps, "memory": self.memory.size, "log": self.log.size,
            "c": (self.nu + self.ng) * len(self.pieces),
        })  # fmt: skip
        self.readings = plant.readings(loop.sensors) if loop.sensors else None
        self.disturb = plant.disturbance(loop.shaken) if loop.shaken else None

    # -- layout of a column ------------------------------------------------------------------------------------------
    def _plan(self) -> None:
        """Pieces of an interval: it is cut where an input changes or a sensor reads between samples."""
        dt = self.loop.dt
        changes = {rest for _, rest in self.delays if rest}
        reads = {dt - rest for _, rest in self.lags if rest}
        cuts: list[float] = []
        for cut in sorted(changes | reads):
            if not cuts or not is_same_time(cut, cuts[-1], dt):
                cuts.append(cut)
        bounds = [0.0, *cuts, dt]
        self.pieces = list(pairwise(bounds))

    def _data_sizes(self) -> dict[str, int]:
        loop = self.loop
        count = len(loop.sensors)
        return {
            "t": 1, "next": 1, "on": 1, "first": 1, "laws": len(loop.laws), "watch": 1, "measured": count,
            "errors": count, "shake": len(loop.shaken), "jitter": self.nu, "given": self.nu,
            "references": len(loop.references),
        }  # fmt: skip

    def _memory_sizes(self) -> dict[str, int]:
        loop = self.loop
        w = loop.observer
        sizes = {f"register{i}": whole + 1 + (rest > 0) for i, (whole, rest) in enumerate(self.delays)}
        sizes |= {f"gate{i}": whole + 1 + (rest > 0) for i, (whole, rest) in enumerate(self.delays)} if self.ng else {}
        sizes |= {f"line{s}": whole for s, (whole, _) in enumerate(self.lags)}
        sizes |= {f"law{j}": len(law.state) for j, law in enumerate(loop.laws)}
        count = len(loop.sensors)
        return sizes | {
            "captured": count, "read": count, "known": 0 if w is None else len(w.known),
            "watch": 0 if w is None else len(w.state), "estimate": 0 if w is None else len(w.gives),
        }  # fmt: skip

    def _log_sizes(self) -> dict[str, int]:
        loop = self.loop
        w = loop.observer
        return {
            "measured": len(loop.sensors), "estimate": 0 if w is None else len(w.gives), "command": len(loop.driven),
            "laws": sum(len(law.state) for law in loop.laws),
            **{f"margin{j}": 2 + len(loop.laws[j].reads) for j in self.monitored},
        }  # fmt: skip

    def parameters(self) -> Any:
        """θ: parameters of the laws and of the observer."""
        loop = self.loop
        parts = [np.array(law.parameters, dtype=float) for law in loop.laws]
        if loop.observer is not None:
            parts.append(np.array(loop.observer.parameters, dtype=float))
        return np.concatenate(parts) if parts else np.empty(0)

    def first_memory(self, given: Any) -> Any:
        """The memory before the first sample; `given` are the inputs there (nu)."""
        loop = self.loop
        parts: dict[str, Any] = {name: np.zeros(b - a) for name, (a, b) in self.memory.starts.items()}
        for i, place in enumerate(loop.driven):
            parts[f"register{i}"][:] = given[place]
        for j, law in enumerate(loop.laws):
            parts[f"law{j}"][:] = law.start
        if loop.observer is not None:
            parts["watch"][:] = loop.observer.start
            parts["known"][:] = [given[self.plant.inputs.index[name]] for name in loop.observer.known]
        return np.concatenate([parts[name] for name in self.memory.starts]) if parts else np.empty(0)

    # -- the sample --------------------------------------------------------------------------------------------------
    def function(self) -> ca.Function:
        plant = self.plant
        state = MX.sym("state", plant.size + self.memory.size)
        data, p = MX.sym("data", self.data.size), MX.sym("p", len(plant.p))
        numbers, theta = MX.sym("numbers", 4), MX.sym("theta", len(self.parameters()))
        row = self._sample(state[: plant.size], state[plant.size :], data, p, numbers, theta)
        return ca.Function("sample", [state, data, p, numbers, theta], [row])

    def _sample(self, x: Any, memory: Any, data: Any, p: Any, numbers: Any, theta: Any) -> Any:
        loop, plant = self.loop, self.plant
        self.p, self.d, self.m, self.theta = p, self.data.split(data), self.memory.split(memory), self._theta(theta)
        d, m = self.d, self.m
        if self.disturb is not None:
            x = plant.disturb(self.disturb, x, d["shake"], p)
        new = dict(m)
        late = [j for j, law in enumerate(loop.laws) if not law.direct]
        prompt = [j for j, law in enumerate(loop.laws) if law.direct]
        commands: dict[int, Any] = {}
        for j in late:
            law = loop.laws[j]
            u, _ = law.function(MX.zeros(len(law.reads)), m[f"law{j}"], self._references(j), self.theta[j], d["t"])
            commands |= self._commands(j, u)
        moved = self._shift_registers(commands)
        c = self._constants(m | moved, 0)  # inputs during the reading of sensors
        if late or self.disturb is not None or loop.jittered:
            x = plant.restart(x, c, p)
        y, new_lines = self._read(x, c)
        new |= new_lines
        u_read = self._clean(self._constants(m | moved, 0, clean=True))
        estimate = self._watch(y, u_read, new)
        margins: dict[str, Any] = {}
        for j in prompt + late:
            law = loop.laws[j]
            reads = column(*[self._value(source, y, estimate, u_read) for source in loop.reads[j]])
            arguments = (reads, m[f"law{j}"], self._references(j), self.theta[j], d["t"])
            if j in self.monitored and law.monitor is not None:
                u, after, *margin = law.monitor.function(*arguments)
                margins[f"margin{j}"] = column(*margin, reads)
            else:
                u, after = law.function(*arguments)
            if law.direct:
                commands |= self._commands(j, u)
            new[f"law{j}"] = self._next_state(j, after)
        new |= self._shift_registers(commands)
        if prompt:
            x = plant.restart(x, self._constants(new, 0), p)
        steps, constants = self._travel(x, new, p, numbers)
        log = self.log.join({
            "measured": y, "estimate": estimate, "command": column(*[new[f"register{i}"][0] for i in
            range(len(loop.driven))]), "laws": column(*[new[f"law{j}"] for j in range(len(loop.laws))]), **margins,
        })  # fmt: skip
        return self.row.join({
            "x": x, "steps": column(*steps) if self.detail else steps[-1], "memory": self.memory.join(new), "log": log,
            "c": column(*constants),
        })  # fmt: skip

    def _theta(self, theta: object) -> list[Any]:
        sizes = [len(law.parameters) for law in self.loop.laws]
        if self.loop.observer is not None:
            sizes.append(len(self.loop.observer.parameters))
        bounds = np.cumsum([0, *sizes]).tolist()
        return list(ca.vertsplit(theta, bounds)) if sizes else []

    def _references(self, j: int) -> Any:
        first = sum(len(law.references) for law in self.loop.laws[:j])
        return self.d["references"][first : first + len(self.loop.laws[j].references)]

    def _value(self, source: Source, y: Any, estimate: Any, u: Any) -> Any:
        return (estimate if source.kind == ESTIMATE else u if source.kind == INPUT else y)[source.place]

    def _next_state(self, j: int, after: object) -> Any:
        """State of a law after its sample. Switched off, a law that is not informed keeps its initial state."""
        law, before = self.loop.laws[j], self.m[f"law{j}"]
        if not len(law.state):
            return before
        if self.loop.every[j] > 1:
            after = ca.if_else(self.d["laws"][j], after, before)
        waits = self.loop.waits[j] and not self.loop.switch.at_once
        return ca.if_else(self.d["on"], after, before) if waits else after

    # -- actuators ---------------------------------------------------------------------------------------------------
    def _commands(self, j: int, u: Any) -> dict[int, Any]:
        """Driven input -> value that is sent to it."""
        loop, d = self.loop, self.d
        law = loop.laws[j]
        commands: dict[int, Any] = {}
        for k, name in enumerate(law.drives):
            place = self.plant.inputs.index[name]
            i = loop.driven.index(place)
            before = self.m[f"register{i}"][0]
            value = limit_command(loop.actuators[i], u[k], before, loop.dt * loop.every[j])
            if loop.every[j] > 1:
                value = ca.if_else(d["laws"][j], value, before)
            if not loop.switch.at_once:
                value = ca.if_else(d["on"], value, 0 if place in self.plant.gates else d["given"][place])
            commands[i] = value
        return commands

    def _shift_registers(self, commands: dict[int, Any]) -> dict[str, Any]:
        """Registers with the new commands in front."""
        moved: dict[str, Any] = {}
        for i, value in commands.items():
            for name, entry in ((f"register{i}", value), (f"gate{i}", self.d["on"])):
                if name in self.m:
                    old = self.m[name]
                    moved[name] = column(entry, old[: old.shape[0] - 1])
        return moved

    def _constants(self, memory: dict[str, Any], piece: int, *, clean: bool = False) -> Any:
        """c of a piece of the interval: given values, commands as they arrive, noise, gates."""
        d, loop = self.d, self.loop
        values = [d["given"][i] for i in range(self.nu)]
        gates: list[Any] = [None] * self.ng
        begin = self.pieces[piece][0]
        for i, place in enumerate(loop.driven):
            whole, rest = self.delays[i]
            index = whole + (1 if rest and begin < rest - slack(loop.dt) else 0)
            values[place] = memory[f"register{i}"][index]
            if place in self.plant.gates:
                gates[list(self.plant.gates).index(place)] = memory[f"gate{i}"][index]
        if not clean:
            for place in loop.jittered:
                values[place] = values[place] + d["jitter"][place]
        return column(*values, *gates)

    def _clean(self, c: Any) -> Any:
        """Inputs without noise, at the sampling instant."""
        return self.plant.u(self.d["t"], c)

    # -- sensors and observer ----------------------------------------------------------------------------------------
    def _read(self, x: object, c: object) -> tuple[Any, dict[str, Any]]:
        """Readings, and the states of the sensors."""
        loop, d, m = self.loop, self.d, self.m
        if self.readings is None:
            return MX(0, 1), {}
        raw = self.readings(x, c, self.p)
        values: list[Any] = []
        kept: dict[str, Any] = {}
        for s, fault in enumerate(loop.faults):
            whole, rest = self.lags[s]
            value = raw[s]
            if rest:
                value = ca.if_else(d["first"], raw[s], m["captured"][s])
            if whole:
                line = ca.if_else(d["first"], ca.repmat(raw[s], whole, 1), m[f"line{s}"])
                kept[f"line{s}"] = column(value, line[: whole - 1])
                value = line[whole - 1]
            value = read_value(fault, value, d["errors"][s] if fault.deviation else 0)
            values.append(value if loop.sensor_every[s] == 1 else ca.if_else(d["measured"][s], value, m["read"][s]))
        kept["read"] = column(*values)
        return kept["read"], kept

    def _watch(self, y: Any, u_now: Any, new: dict[str, Any]) -> Any:
        """The estimate at this sample; the state of the observer is updated."""
        loop, d, m = self.loop, self.d, self.m
        w = loop.observer
        if w is None:
            return MX(0, 1)
        places = [loop.sensors.index(self.plant.full_name(name)) for name in w.reads]
        known = [self.plant.inputs.index[name] for name in w.known]
        interval = (1 - d["first"]) * (loop.dt * loop.watch_every)
        arguments = [
            m["watch"], m["known"], column(*[u_now[i] for i in known]), column(*[y[s] for s in places]),
            column(*[d["measured"][s] for s in places]), self.theta[-1], d["t"], interval,
        ]  # fmt: skip
        if loop.watch_every > 1:
            perhaps = optional(w.function, [len(w.state), len(w.gives)])
            after, estimate = perhaps(d["watch"], *arguments, m["watch"], m["estimate"])
        else:
            after, estimate = w.function(*arguments)
        new["watch"], new["estimate"] = after, estimate
        return estimate

    # -- to the next sample ------------------------------------------------------------------------------------------
    def _travel(self, x: Any, new: dict[str, Any], p: Any, numbers: Any) -> tuple[list[Any], list[Any]]:
        """Columns after every step, and the constants of every piece."""
        loop, d, plant = self.loop, self.d, self.plant
        steps: list[Any] = []
        constants: list[Any] = []
        mean = MX.zeros(new["known"].shape[0])
        known = [] if loop.observer is None else [plant.inputs.index[name] for name in loop.observer.known]
        captured = [new["captured"][s] for s in range(len(loop.sensors))]
        before: Any = d["t"]
        for k, (begin, end) in enumerate(self.pieces):
            c = self._constants(new, k)
            if k and any(is_same_time(rest, begin, loop.dt) for _, rest in self.delays):
                x = plant.restart(x, c, p)
            stop = d["next"] if k == len(self.pieces) - 1 else ca.fmin(d["t"] + end, d["next"])
            if k and plant.step is None:  # no motion where error control did not reach this piece
                stop = ca.if_else(x[0] >= before, stop, x[0])
            before = stop
            steps += plant.advance(x, c, p, numbers, stop, end - begin, self.attempts)
            x = steps[-1]
            constants.append(c)
            if known:
                u = self._clean(self._constants(new, k, clean=True))
                mean = mean + (end - begin) / (loop.dt * loop.watch_every) * column(*[u[i] for i in known])
            for s, (_, rest) in enumerate(self.lags):
                if rest and is_same_time(loop.dt - rest, end, loop.dt):
                    assert self.readings is not None
                    captured[s] = self.readings(x, c, p)[s]
        new["captured"] = column(*captured)
        if loop.watch_every > 1:
            mean = mean + ca.if_else(d["watch"], 0 * self.m["known"], self.m["known"])
        new["known"] = mean
        return steps, constants


class Chunks:
    """Native functions of a loop's samples."""

    def __init__(self, plant: Any, loop: Loop, attempts: int, detail: bool, largest_block: int = 1_000_000) -> None:
        # largest_block: numbers in a block of samples: 8 MB.
        self.graph = SampleGraph(plant, loop, attempts=attempts, detail=detail)
        self.size = plant.size + self.graph.memory.size
        counts = tuple(plant.steps_in(b - a, attempts) for a, b in self.graph.pieces)
        key = ("samples", plant.key, loop_key(loop), counts, detail)

        def make() -> Kernel:
            sample = self.graph.function()
            given = [MX.sym(sample.name_in(i), sample.size1_in(i)) for i in range(sample.n_in())]
            row = sample(*given)
            return Kernel(ca.Function("sample", given, [self._tail(row), row]))

        eqs = getattr(plant, "eqs", None)
        self.kernel: Kernel = _remember(key, make) if eqs is None else eqs.cache_family("samples", key, make)
        self.largest_block = max(largest_block // (self.size + self.graph.row.size), 1)
        self.theta = self.graph.parameters()

    def _tail(self, row: Any) -> Any:
        _, b = self.graph.row.starts["steps"]
        c, d = self.graph.row.starts["memory"]
        return ca.vertcat(row[b - self.graph.plant.size : b], row[c:d])

    def run(self, state: Array, data: Array, p: Array, numbers: Array) -> Array:
        """Rows of len(data) samples."""
        return self.kernel.run(len(data), state, data, p, numbers, self.theta)[:, self.size :]


def _remember(key: object, make: Callable[[], Any], most_built: int = 16) -> Any:
    key = (threading.get_ident(), key)
    if key not in _BUILT:
        if len(_BUILT) >= most_built:
            _BUILT.pop(next(iter(_BUILT)))
        _BUILT[key] = make()
    return _BUILT[key]


def loop_key(loop: Loop) -> str:
    """Equal keys mean equal native code."""
    digest = hashlib.sha256()

    def note(*things: Any) -> None:
        digest.update(repr(things).encode())

    for law, reads, every in zip(loop.laws, loop.reads, loop.every, strict=True):
        note(law.function.serialize(), reads, every, law.drives, law.direct, len(law.references), len(law.state))
        note(None if law.monitor is None else law.monitor.function.serialize())
    if loop.observer is not None:
        w = loop.observer
        note(w.function.serialize(), w.reads, w.known, loop.watch_every)
    note(loop.dt, loop.driven, loop.actuators, loop.sensors, loop.faults, loop.sensor_every)
    note(loop.shaken, loop.jittered, loop.switch.at_once, loop.waits)
    return digest.hexdigest()
