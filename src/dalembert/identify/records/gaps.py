"""Records with gaps of time: cut into parts there.

A line through a gap is no measurement: it looks like motion without force, and shifts damping. The parts of one record
are treated as repeated tests, each with an unknown initial state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import count_noun
from dalembert.identify.records.checks import list_records
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.record import Record


def cut_at_gaps(record: Record | Sequence[Record]) -> tuple[Record, ...]:
    """Records cut where time jumps by more than three steps, with a warning; parts too short for a model are left out.

    Examples
    --------
    >>> t = np.delete(0.01 * np.arange(1000), slice(400, 450))
    >>> parts, findings = find_parts(Record(t, np.sin(t)[:, None], ["x"], name="hammer"))
    >>> [len(part) for part in parts]
    [400, 550]
    >>> print(findings[0].text())
    record 'hammer' was cut into 2 parts: 0.5 s without samples from t = 3.99 s.
    """
    parts, findings = find_parts(record)
    IdentificationWarning.report(findings)
    return parts


def find_parts(
    record: Record | Sequence[Record], fewest_in_part: int = 100
) -> tuple[tuple[Record, ...], list[Finding]]:
    """The parts between gaps of time, and findings on the cuts.

    fewest_in_part : samples of the shortest part that is kept: 30 block rows of past and future take 60, and leave 40
    columns.
    """
    pieces: list[Record] = []
    findings: list[Finding] = []
    for run in list_records(record):
        parts = run.parts()
        if len(parts) == 1:
            pieces.append(run)
            continue
        long = [piece for piece in parts if len(piece) >= fewest_in_part]
        label = f"record {run.name!r}" if run.name else "the record"
        if not long:
            raise DataError(
                "time-gaps",
                f"{label} has {len(parts) - 1} gaps of time, and no part of {fewest_in_part} samples or more between "
                "them.",
                Advice(
                    "Measure without gaps, or fill them: {}.",
                    Call("Record.resample", Argument("every", float(f"{_step(parts):.6g}"))),
                ),
            )
        lost = len(run) - sum(map(len, long))
        problem = f"{label} was cut into {count_noun(len(long), 'part')}: {'; '.join(parts[0].provenance['parted'])}."
        if lost:
            problem += f" {lost} samples in parts shorter than {fewest_in_part} were left out."
        where = {"record": run.name} if run.name else {}
        findings.append(Finding("time-gaps", problem, where, {"parts": len(long), "left_out": lost}))
        pieces += long
    return tuple(pieces), findings


def _step(parts: Sequence[Record]) -> float:
    return float(np.median(np.concatenate([np.diff(piece.time) for piece in parts])))


def describe_gaps(provenance: Mapping[str, Any], none: str = "no gaps") -> str:
    """How gaps of time were treated; ``none`` where there were none."""
    ways = (("parted", "cut where time jumps"), ("filled", "filled by interpolation where time jumps"))
    done = [f"{words} ({'; '.join(provenance[key])})" for key, words in ways if provenance.get(key)]
    return ", ".join(done) or none


def find_filled_gaps(provenance: Mapping[str, Any]) -> list[Finding]:
    """A finding where values were interpolated over gaps of time."""
    filled = "; ".join(provenance.get("filled", ()))
    if not filled:
        return []
    advice = Advice("Cut the record with {} instead.", Call("Record.parts"))
    return [Finding("filled-gaps", f"{filled}: filled by interpolation, which shifts damping.", advice=(advice,))]
