"""Records for fitting a machine: their channels assigned to its sensors, coordinates and inputs.

Unlike the black-box methods a machine needs neither even sampling nor complete outputs: a gap (NaN) in an output is a
sample without weight. Inputs must be complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.errors import DataError, ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.records.checks import list_records, name_record, require_finite, require_samples
from dalembert.record import Record

Names = str | Iterable[str] | Mapping[str, str] | None
FEWEST = 8  # samples of a record: as for the other methods of identification


@dataclass(frozen=True)
class MeasuredRun:
    """One test: t (N,), u (N, nu) of all inputs of the machine, y (N, ny) of the outputs to match, NaN for gaps."""

    t: Array
    u: Array
    y: Array


@dataclass(frozen=True)
class MeasuredTests:
    """All tests, and the meaning of their columns.

    ``outputs`` : kind and index of each matched quantity in the equations; ``channels`` : its name in the records.
    """

    runs: tuple[MeasuredRun, ...]
    outputs: tuple[tuple[str, int], ...]
    channels: tuple[str, ...]
    units: Mapping[str, str]
    inputs: Mapping[str, str]


def read_tests(
    eqs: EquationsOfMotion, record: Record | Sequence[Record], outputs: Names, inputs: Names, hold: str
) -> MeasuredTests:
    """Check records against the machine."""
    one_of("hold", hold, ("linear", "zero"))
    tests = list_records(record)
    shared = set.intersection(*(set(run.names) for run in tests))
    driven = _inputs(eqs, tests[0], shared, inputs)
    matched = _outputs(eqs, tests[0], shared, outputs, set(driven.values()))
    channels = tuple(channel for _, channel in matched)
    runs = []
    for k, test in enumerate(tests):
        name = name_record(tests, k)
        require_samples(
            len(test), FEWEST,
            f"{name} has {len(test)} samples; fitting a machine needs at least {FEWEST}.",
            where={"record": k + 1},
        )  # fmt: skip
        u = np.zeros((len(test), eqs.nu))
        for driver, channel in driven.items():
            column = test[channel]
            require_finite(
                column,
                f"{name}: input {channel!r} has gaps.",
                Advice("Fill them first with {}.", Call("da.identify.repair")),
                where={"record": k + 1, "channel": channel},
            )
            u[:, eqs.inputs.index[driver]] = column
        y = np.array(test[list(channels)])
        for i, channel in enumerate(channels):
            require_samples(
                int(np.count_nonzero(np.isfinite(y[:, i]))), 2,
                f"{name}: output {channel!r} holds fewer than 2 measured samples.",
                where={"record": k + 1, "channel": channel},
            )  # fmt: skip
        runs.append(MeasuredRun(np.array(test.time), u, y))
    units = {channel: tests[0].units[channel] for channel in (*channels, *driven.values())}
    return MeasuredTests(tuple(runs), tuple(place for place, _ in matched), channels, units, driven)


def pair_names(given: Names, what: str) -> dict[str, str] | None:
    """Name in the machine -> channel of the record."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {str(name): str(channel) for name, channel in given.items()}
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise DataError(
            "wrong-type", f"{what} must be names, or a mapping of names of the machine to channels; got {given!r}."
        )
    return {name: name for name in names}


def _inputs(eqs: EquationsOfMotion, record: Record, known: set[str], given: Names) -> dict[str, str]:
    pairs = pair_names(given, "inputs")
    if pairs is None:
        return {name: name for name in eqs.inputs.names if name in known}
    for name, channel in pairs.items():
        require_name("input", name, eqs.inputs.names, f"equations {eqs.name!r}", error=ModelError, argument="inputs")
        require_name("channel", channel, known, record.name or "the record", argument="inputs")
    return pairs


def find_quantity(eqs: EquationsOfMotion, name: str) -> tuple[str, int] | None:
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
    pairs = pair_names(given, "outputs")
    where = record.name or "the record"
    if pairs is None:
        names = [n for n in eqs.outputs.names if n in known and n not in taken]
        names = names or [n for k in eqs.recorded_measures if (n := eqs.measures.names[k]) in known and n not in taken]
        if not names:
            example = {
                (eqs.outputs.names or eqs.measures.names or ("encoder",))[0]: next(iter(sorted(known)), "channel")
            }
            raise DataError(
                "missing-argument",
                f"{where} has no channel named like a sensor or joint coordinate of {eqs.name!r}.",
                Advice("Assign them, such as {}.", Argument("outputs", example)),
                where={"argument": "outputs"},
            )
        pairs = {name: name for name in names}
    result: list[tuple[tuple[str, int], str]] = []
    for name, channel in pairs.items():
        axes = [n for n in eqs.outputs.names if n.startswith(f"{name}.")]
        for full in axes if axes and find_quantity(eqs, name) is None else [name]:
            place = find_quantity(eqs, full)
            if place is None:
                every = (*eqs.outputs.names, *eqs.measures.names, *eqs.measure_rates.names)
                raise ModelError(
                    "unknown-name",
                    f"outputs: {unknown_name('sensor or coordinate', name, every, f'equations {eqs.name!r}')}",
                )
            column = channel if full == name else f"{channel}{full.removeprefix(name)}"
            require_name("channel", column, known, where, argument="outputs")
            if column in taken:
                raise DataError("conflicting-arguments", f"channel {column!r} is listed as an input and as an output.")
            result.append((place, column))
    if not result:
        raise DataError("empty", "no output was named: a fit needs at least one channel to match.")
    return result
