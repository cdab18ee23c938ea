"""Channels among the variables of a MAT-file, the variable of time, or the sampling rate where there is none.

MATLAB has no fixed names for these: a vector called time or t is time; a single number called fs or dt gives the rate
of a file without one; every real vector or matrix as long as time is a channel or several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.files.records.bounds import check_size
from dalembert.files.records.tables.clock import find_time

# Names of a single number, without underscores and in lower case: sampling rates [Hz] and sample times [s].
RATES = ("fs", "samplerate", "samplingrate", "samplefrequency", "samplingfrequency", "rate", "freq", "sr")
STEPS = ("dt", "ts", "sampletime", "samplingtime", "deltat", "tsample")

Shape = tuple[int, ...]


@dataclass(frozen=True)
class MatPlan:
    """Channels of a MAT-file.

    clock : variable that holds time, "" for none; dt : sample time [s] then.
    chosen : (variable, its first channel, number of channels).
    """

    samples: int
    clock: str
    dt: float
    names: list[str]
    chosen: list[tuple[str, int, int]]
    notes: dict[str, Any] = field(default_factory=dict)


def plan_channels(
    shapes: Mapping[str, Shape], time: str | None, dt: float | None, number: Callable[[str], float], max_bytes: int
) -> MatPlan:
    """The channels among real matrices; ``number`` reads a matrix of one number."""
    vectors = [name for name, shape in shapes.items() if 1 in shape and max(shape) > 1]
    clock = _clock(vectors, time, dt)
    notes: dict[str, Any] = {}
    step = dt if dt is not None else 0.0
    if not clock and dt is None:
        step, source = _find_step({name for name, shape in shapes.items() if max(shape) == 1}, number)
        if not step:
            raise FileFormatError(
                "no-time", unknown_name("vector", time or "time", sorted(vectors), "the file"),
                Advice("Give {}.", Argument("time"), Argument("dt")), where={"name": time or "time"},
            )  # fmt: skip
        notes["sampling"] = f"sample time {step:.9g} s from variable {source!r}"
    samples = max(shapes[clock]) if clock else max((max(shape) for shape in shapes.values()), default=0)
    names: list[str] = []
    chosen: list[tuple[str, int, int]] = []
    for name, shape in shapes.items():
        wide = 0 if name == clock or samples < 2 else _count_channels(shape, samples)
        if wide:
            check_size(samples, len(names) + wide, max_bytes)
            chosen.append((name, len(names), wide))
            names += [name] if 1 in shape else [f"{name}{k + 1}" for k in range(wide)]
    if not names:
        raise FileFormatError("empty", "no variable is as long as time.")
    return MatPlan(samples, clock, step, names, chosen, notes)


def _clock(vectors: list[str], time: str | None, dt: float | None) -> str:
    found = find_time(vectors, time)
    if dt is not None and found is not None:
        problem = f"dt is for files without time, but there is a variable {vectors[found]!r}."
        raise FileFormatError("conflicting-arguments", problem)
    return "" if found is None or dt is not None else vectors[found]


def _find_step(scalars: set[str], number: Callable[[str], float]) -> tuple[float, str]:
    """Sample time [s] and the variable that gives it; 0 for none."""
    plain = {name.lower().replace("_", ""): name for name in sorted(scalars)}
    for word in (*RATES, *STEPS):
        if word in plain:
            value = number(plain[word])
            if value > 0:
                return (1.0 / value if word in RATES else value), plain[word]
    return 0.0, ""


def _count_channels(shape: Shape, samples: int) -> int:
    """Number of channels of a variable: 0 where it is not as long as time."""
    if 1 in shape:
        return int(max(shape) == samples)
    return max(shape) * min(shape) // samples if samples in shape else 0
