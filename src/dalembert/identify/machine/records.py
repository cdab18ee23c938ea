"""Records at the border of fitting a machine: which channel is which sensor, coordinate or input, on one grid of time.

Unlike the black-box methods a machine needs neither even sampling nor complete outputs: a gap (NaN) in an output is a
sample that counts for nothing. Inputs must be complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.records.checks import label, record_list
from dalembert.record import Record

Names = str | Iterable[str] | Mapping[str, str] | None
FEWEST = 8  # samples of a record


@dataclass(frozen=True)
class Run:
    """One test: t (N,), u (N, nu) of all inputs of the machine, y (N, ny) of the outputs to match, NaN for gaps."""

    t: Array
    u: Array
    y: Array


@dataclass(frozen=True)
class Campaign:
    """Every test, and what its columns are.

    ``outputs`` : kind and index of each matched quantity in the equations; ``channels`` : its name in the records.
    """

    runs: tuple[Run, ...]
    outputs: tuple[tuple[str, int], ...]
    channels: tuple[str, ...]
    units: Mapping[str, str]
    inputs: Mapping[str, str]


def read_tests(
    eqs: EquationsOfMotion, records: Record | Sequence[Record], outputs: Names, inputs: Names, hold: str
) -> Campaign:
    """Check records against the machine."""
    if hold not in ("linear", "zero"):
        raise DataError(f"hold must be 'linear' or 'zero', not {hold!r}.")
    tests = record_list(records)
    known = set.intersection(*(set(run.names) for run in tests))
    driven = _inputs(eqs, tests[0], known, inputs)
    matched = _outputs(eqs, tests[0], known, outputs, set(driven.values()))
    channels = tuple(channel for _, channel in matched)
    runs = []
    for k, record in enumerate(tests):
        where = label(tests, k)
        if len(record) < FEWEST:
            raise DataError(f"{where} has {len(record)} samples; fitting a machine needs at least {FEWEST}.")
        u = np.zeros((len(record), eqs.nu))
        for name, channel in driven.items():
            column = record[channel]
            if not np.isfinite(column).all():
                raise DataError(f"{where}: input {channel!r} has gaps. Fill them first (da.identify.repair).")
            u[:, eqs.inputs.index[name]] = column
        y = np.array(record[list(channels)])
        for i, channel in enumerate(channels):
            if np.count_nonzero(np.isfinite(y[:, i])) < 2:
                raise DataError(f"{where}: output {channel!r} holds fewer than 2 measured samples.")
        runs.append(Run(np.array(record.time), u, y))
    units = {channel: tests[0].units[channel] for channel in (*channels, *driven.values())}
    return Campaign(tuple(runs), tuple(place for place, _ in matched), channels, units, driven)


def _pairs(given: Names, what: str) -> dict[str, str] | None:
    """Name in the machine -> channel of the record."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {str(name): str(channel) for name, channel in given.items()}
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise DataError(f"{what} must be names, or a mapping of names of the machine to channels; got {given!r}.")
    return {name: name for name in names}


def _inputs(eqs: EquationsOfMotion, record: Record, known: set[str], given: Names) -> dict[str, str]:
    pairs = _pairs(given, "inputs")
    if pairs is None:
        return {name: name for name in eqs.inputs.names if name in known}
    for name, channel in pairs.items():
        if name not in eqs.inputs.index:
            raise ModelError(f"inputs: {unknown_name('input', name, eqs.inputs.names, f'equations {eqs.name!r}')}")
        if channel not in known:
            raise DataError(f"inputs: {unknown_name('channel', channel, known, record.name or 'the record')}")
    return pairs


def place_of(eqs: EquationsOfMotion, name: str) -> tuple[str, int] | None:
    """(kind, index) of a sensor, coordinate, rate or state of the machine; None where it has none of that name."""
    full = eqs.full_name(name)
    for kind, channels in (
        ("sensor", eqs.outputs), ("measure", eqs.measures), ("rate", eqs.measure_rates),
        ("q", eqs.coordinates), ("v", eqs.speeds), ("z", eqs.internal),
    ):  # fmt: skip
        for candidate in (name, full):
            if candidate in channels.index:
                return kind, channels.index[candidate]
    return None


def _outputs(
    eqs: EquationsOfMotion, record: Record, known: set[str], given: Names, taken: set[str]
) -> list[tuple[tuple[str, int], str]]:
    pairs = _pairs(given, "outputs")
    where = record.name or "the record"
    if pairs is None:
        names = [n for n in eqs.outputs.names if n in known and n not in taken]
        names = names or [n for k in eqs.recorded_measures if (n := eqs.measures.names[k]) in known and n not in taken]
        if not names:
            raise DataError(
                f"{where} has no channel named like a sensor or joint coordinate of {eqs.name!r}. Say which is which: "
                f"outputs={{{(eqs.outputs.names or eqs.measures.names or ('encoder',))[0]!r}: "
                f"{next(iter(sorted(known)), 'channel')!r}}}."
            )
        pairs = {name: name for name in names}
    result: list[tuple[tuple[str, int], str]] = []
    for name, channel in pairs.items():
        axes = [n for n in eqs.outputs.names if n.startswith(f"{name}.")]
        for full in axes if axes and place_of(eqs, name) is None else [name]:
            place = place_of(eqs, full)
            if place is None:
                every = (*eqs.outputs.names, *eqs.measures.names, *eqs.measure_rates.names)
                raise ModelError(
                    f"outputs: {unknown_name('sensor or coordinate', name, every, f'equations {eqs.name!r}')}"
                )
            column = channel if full == name else f"{channel}{full.removeprefix(name)}"
            if column not in known:
                raise DataError(f"outputs: {unknown_name('channel', column, known, where)}")
            if column in taken:
                raise DataError(f"channel {column!r} is listed both as an input and as an output.")
            result.append((place, column))
    if not result:
        raise DataError("outputs is empty: a fit needs at least one channel to match.")
    return result
