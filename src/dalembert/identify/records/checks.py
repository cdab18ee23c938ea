"""Records and channels that identification is asked to use: one sample time, one unit and enough samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import list_names
from dalembert.record import Record


def find_name(kind: str, name: str, known: Iterable[str], where: str, **place: object) -> int:
    """Place of a name among those known; another one is refused. place : where the error is, such as ``channel``."""
    names = list(known)
    require_name(kind, name, names, where, where=place)
    return names.index(name)


def list_records(record: object) -> tuple[Record, ...]:
    """One record or several, as a tuple; nothing else."""
    runs = (record,) if isinstance(record, Record) else record
    if isinstance(runs, (str, Mapping)) or hasattr(runs, "columns") or not isinstance(runs, Iterable):
        raise DataError(
            "wrong-type", f"identification needs a Record or a sequence of Records, got {type(record).__name__}.",
            *([Advice("Use {}.", Call("da.Record.from_pandas"))] if hasattr(runs, "columns") else []),
        )  # fmt: skip
    runs = tuple(runs)
    if not runs:
        raise DataError("empty", "identification needs at least one Record; the sequence is empty.")
    for k, run in enumerate(runs):
        if not isinstance(run, Record):
            raise DataError(
                "wrong-type", f"identification needs Records; element {k} of the sequence is a {type(run).__name__}."
            )
        if any(run is earlier for earlier in runs[:k]):
            raise DataError(
                "duplicate", f"{name_record(runs, k)} is given twice; repeated tests must be different records."
            )
    return runs


def require_samples(
    count: float, needed: float, problem: str, *advice: Advice, noun: str = "samples",
    where: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Refuse fewer samples, or blocks, than are needed; the evidence has both."""
    if count < needed:
        evidence = {noun: count, "needed": needed}
        raise DataError("too-few-samples", problem, *advice, where=where, evidence=evidence)


def require_finite(values: Any, problem: str, *advice: Advice, where: Mapping[str, Any] | None = None) -> None:
    """Refuse values that are not finite."""
    if not np.isfinite(values).all():
        raise DataError("not-finite", problem, *advice, where=where)


def name_record(runs: Sequence[Record], k: int) -> str:
    """``"record 2 'hammer'"``; ``"the record"`` where there is one without a name."""
    name = f" {runs[k].name!r}" if runs[k].name else ""
    return f"record {k + 1}{name}" if len(runs) > 1 else f"record{name}" if name else "the record"


def read_channels(
    runs: Sequence[Record], inputs: str | Iterable[str], outputs: str | Iterable[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the inputs and outputs, stems spelled out; the same in all records."""
    names_in = _expand(runs, inputs if inputs is not None else (), "inputs")
    if outputs is None:
        names_out = tuple(name for name in runs[0].names if name not in names_in)
    else:
        names_out = _expand(runs, outputs, "outputs")
    if not names_out:
        raise DataError(
            "empty",
            f"there is no output channel: all of {list_names(runs[0].names, {})} are inputs, or none was named.",
        )
    both = sorted(set(names_in) & set(names_out))
    if both:
        raise DataError("conflicting-arguments", f"{list_names(both, {})} cannot be input and output at once.")
    for k, run in enumerate(runs):
        for name in (*names_in, *names_out):
            require_name("channel", name, run.names, name_record(runs, k), where={"record": k + 1, "channel": name})
    return names_in, names_out


def _expand(runs: Sequence[Record], wanted: object, what: str) -> tuple[str, ...]:
    words = (wanted,) if isinstance(wanted, str) else wanted
    if not isinstance(words, Iterable):
        raise DataError("wrong-type", f"{what} must be channel names, got {wanted!r}.")
    names: list[str] = []
    for name in words:
        if not isinstance(name, str):
            raise DataError(
                "wrong-type", f"{what} must be channel names, got {name!r}. Known: {list_names(runs[0].names, {})}."
            )
        names += runs[0].expand(name)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError("duplicate", f"{list_names(twice, {})} named twice in {what}.")
    return tuple(names)


def common_sample_time(runs: Sequence[Record], same_step: float = 1e-4) -> float:
    """Sample time [s] of all records; uneven time and different rates are refused.

    same_step : relative difference of sample times of repeated tests: loggers write times with five digits
    """
    steps = []
    for k, run in enumerate(runs):
        try:
            steps.append(run.sample_time)
        except DataError as error:
            place = f"{name_record(runs, k)}: " if len(runs) > 1 else ""
            finding = error.finding
            raise DataError(
                finding.code or "uneven-sampling",
                f"{place}{finding.problem} Identification needs samples at equal distances in time.",
                *finding.advice, where={**finding.where, "record": k + 1}, evidence=finding.evidence,
            ) from error  # fmt: skip
    for k, step in enumerate(steps):
        if abs(step - steps[0]) > same_step * steps[0]:
            raise DataError(
                "sample-time-mismatch",
                f"{name_record(runs, k)} is sampled every {step:.6g} s, record 1 every {steps[0]:.6g} s.",
                Advice(
                    "Bring them to one rate first: {}.",
                    Call("Record.resample", Argument("every", float(f"{max(steps):.6g}"))),
                    Call("da.identify.decimate"),
                ),
                where={"record": k + 1},
            )
    return float(np.mean(steps))


def common_units(runs: Sequence[Record], names: Sequence[str]) -> dict[str, str]:
    """Units by name; one channel in two units is refused."""
    units: dict[str, str] = {}
    for k, run in enumerate(runs):
        units_here = run.units
        for name in names:
            unit = units_here[name]
            if units.setdefault(name, unit) != unit:
                raise DataError(
                    "unit-mismatch",
                    f"{name!r} is in [{unit}] in {name_record(runs, k)} and in [{units[name]}] in record 1.",
                    where={"record": k + 1, "channel": name},
                )
    return units


def check_lengths(runs: Sequence[Record], count: int, fewest: int = 8) -> None:
    """Refuse fewer samples than any model with this number of channels needs.

    fewest : samples of the shortest record: no model of one state and one input is determined by fewer
    """
    needed = max(fewest, 2 * count)
    for k, run in enumerate(runs):
        problem = (
            f"{name_record(runs, k)} has {len(run)} samples, too few for {count} channels: at least {needed} are "
            "needed, and some hundred for a trustworthy model."
        )
        require_samples(len(run), needed, problem, where={"record": k + 1})


def check_order(wanted: int, nu: int, ny: int, samples: int) -> list[Finding]:
    """Refuse an impossible model order; a finding where it has fewer states than its outputs need."""
    whole_number("the order", wanted, 1)
    unknowns = wanted * (nu + ny) + nu * ny  # of a canonical form with that order
    if samples * ny < unknowns + ny:
        raise DataError(
            "too-few-samples",
            f"a model of order {wanted} has {unknowns} unknowns, more than {samples} samples of {ny} outputs can "
            "determine. Lower the order or measure longer.",
        )
    if ny <= wanted + nu:
        return []
    return [
        Finding(
            "more-outputs-than-order",
            f"{ny} outputs are more than order {wanted} allows: with {nu} inputs only {wanted + nu} of them can be "
            "independent. Raise the order, or leave outputs out.",
            evidence={"outputs": ny, "independent": wanted + nu},
        )
    ]
