"""Trials: what is computed at a point. A trial is a function of a `SweepPoint` that returns numbers by name.

It must be at the top of a module (or a dataclass such as `Simulation`), so that other processes can be sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.loop.simulate import simulate
from dalembert.record import Record
from dalembert.solve.position.assemble import assemble

REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "last": lambda x: x[-1],
    "first": lambda x: x[0],
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(axis=0),
    "peak": lambda x: np.abs(x).max(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "rms": lambda x: np.sqrt(np.mean(np.square(x), axis=0)),
    "all": lambda x: x,
}


@dataclass(frozen=True)
class SweepPoint(Mapping[str, float]):
    """One point of a design: values by name, its number, and a seed of its own."""

    values_by_name: Mapping[str, float]
    index: int
    seed: int

    def __getitem__(self, name: str) -> float:
        if name not in self.values_by_name:
            raise DataError("unknown-name", unknown_name("axis", name, tuple(self.values_by_name), "the design"))
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)


@dataclass(frozen=True, init=False)
class Simulation:
    """A trial that runs a machine.

    Parameters
    ----------
    outputs : label -> channel (its last value), or (channel, how), how being "last", "first", "max", "min", "peak",
        "mean", "rms" or "all".
    start, velocity : coordinates and speeds to assemble from. Axes named ``"start A.angle"`` or ``"velocity A.angle"``
        change them, axes named as a parameter change that.
    guess : coordinates about where they are; they decide which way the loops of the machine close, at every point.
    options : of `da.simulate`: method, every, inputs, ...
    """

    eqs: EquationsOfMotion
    until: float
    outputs: Mapping[str, tuple[str, str]]
    start: Mapping[str, float]
    velocity: Mapping[str, float]
    guess: Mapping[str, float]
    options: Mapping[str, Any]

    def __init__(
        self,
        eqs: EquationsOfMotion,
        until: float,
        outputs: Mapping[str, Any],
        *,
        start: Mapping[str, float] | None = None,
        velocity: Mapping[str, float] | None = None,
        guess: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        read: dict[str, tuple[str, str]] = {}
        if not isinstance(outputs, Mapping) or not outputs:
            raise DataError("empty", "outputs must name at least one result: a label with a channel and a reduction.")
        for label, given in outputs.items():
            channel, how = (given, "last") if isinstance(given, str) else tuple(given)
            if how not in REDUCTIONS:
                problem = unknown_name("reduction", str(how), tuple(REDUCTIONS), f"output {label!r}")
                raise DataError("unknown-name", problem)
            read[str(label)] = (str(channel), how)
        vars(self).update(
            eqs=require_equations(eqs), until=float(until), outputs=read, start=dict(start or {}),
            velocity=dict(velocity or {}), guess=dict(guess or {}), options=options,
        )  # fmt: skip

    def __call__(self, point: SweepPoint) -> dict[str, Any]:
        parameters, place, speed = {}, dict(self.start), dict(self.velocity)
        for name, value in point.items():
            if name in self.eqs.parameters.index:
                parameters[name] = value
            elif name.startswith("start "):
                place[name.removeprefix("start ")] = value
            else:
                speed[name.removeprefix("velocity ")] = value
        eqs = self.eqs.replace(**parameters) if parameters else self.eqs
        state = assemble(eqs, place, velocity=speed, guess=self.guess) if place or speed or self.guess else None
        run: Record = simulate(eqs, self.until, start=state, progress=False, **self.options)
        return {label: REDUCTIONS[how](np.asarray(run[channel])) for label, (channel, how) in self.outputs.items()}

    def check(self, names: tuple[str, ...]) -> None:
        """Whether every axis is a parameter, a start or a speed."""
        for name in names:
            if name in self.eqs.parameters.index or name.startswith(("start ", "velocity ")):
                continue
            known = (*self.eqs.parameters.names, *(f"start {n}" for n in self.eqs.measures.names[:6]))
            raise ModelError(
                "unknown-name",
                unknown_name("axis", name, known, f"equations {self.eqs.name!r}"),
                Advice("An axis is a parameter, 'start <coordinate>' or 'velocity <coordinate>'."),
                where={"name": name},
            )
