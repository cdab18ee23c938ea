"""Native functions of many samples of a loop, built once for every loop."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import casadi as ca

from dalembert.expressions import Array, Kernel
from dalembert.loop.sampled.sample_graph import SampleGraph
from dalembert.loop.wiring import Loop

MX = ca.MX
LARGEST_BLOCK = 1_000_000  # numbers in a block of samples: 8 MB
_BUILT: dict[Any, Any] = {}  # of linear plants, which have no cache of their own
_MOST_BUILT = 16


class Chunks:
    """Native functions of a loop's samples."""

    def __init__(self, plant: Any, loop: Loop, attempts: int, detail: bool) -> None:
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
        self.kernel: Kernel = _remembered(key, make) if eqs is None else eqs.cached_family("samples", key, make)
        self.largest_block = max(LARGEST_BLOCK // (self.size + self.graph.row.size), 1)
        self.theta = self.graph.parameters()

    def _tail(self, row: Any) -> Any:
        _, b = self.graph.row.starts["steps"]
        c, d = self.graph.row.starts["memory"]
        return ca.vertcat(row[b - self.graph.plant.size : b], row[c:d])

    def run(self, state: Array, data: Array, p: Array, numbers: Array) -> Array:
        """Rows of len(data) samples."""
        return self.kernel.run(len(data), state, data, p, numbers, self.theta)[:, self.size :]


def _remembered(key: object, make: Callable[[], Any]) -> Any:
    key = (threading.get_ident(), key)
    if key not in _BUILT:
        if len(_BUILT) >= _MOST_BUILT:
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
