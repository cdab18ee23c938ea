"""Records in which time jumps: cut into parts at both sides, and told in words.

A line through a gap is no measurement: it looks like motion without force, and shifts damping. Parts of one record are
taken as repeated tests, each with an unknown state at its start.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.text import counted
from dalembert.identify.records.checks import IdentificationWarning, record_list
from dalembert.record import Record

# A part between two gaps with fewer samples tells nothing: block rows before and after take as many.
FEWEST_IN_PART = 100


def cut_at_gaps(records: Record | Sequence[Record]) -> tuple[Record, ...]:
    """Records cut where time jumps by more than three steps; parts too short to tell anything are left out.

    Examples
    --------
    >>> t = np.delete(0.01 * np.arange(1000), slice(400, 450))
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     parts = cut_at_gaps(Record(t, np.sin(t)[:, None], ["x"], name="hammer"))
    >>> [len(part) for part in parts]
    [400, 550]
    >>> print(told[0].message)
    record 'hammer' was cut into 2 parts: 0.5 s without samples from t = 3.99 s.
    """
    found: list[Record] = []
    for run in record_list(records):
        parts = run.parts()
        if len(parts) == 1:
            found.append(run)
            continue
        long = [part for part in parts if len(part) >= FEWEST_IN_PART]
        label = f"record {run.name!r}" if run.name else "the record"
        if not long:
            raise DataError(
                f"{label} has {len(parts) - 1} gaps of time, and no part of {FEWEST_IN_PART} samples or more between "
                f"them. Measure without gaps, or fill them: record.resample(every={_step(parts):.6g})."
            )
        left = len(run) - sum(map(len, long))
        warnings.warn(
            f"{label} was cut into {counted(len(long), 'part')}: {'; '.join(parts[0].provenance['parted'])}."
            + (f" {left} samples in parts shorter than {FEWEST_IN_PART} were left out." if left else ""),
            IdentificationWarning,
            stacklevel=3,
        )
        found += long
    return tuple(found)


def _step(parts: Sequence[Record]) -> float:
    return float(np.median(np.concatenate([np.diff(part.time) for part in parts])))


def gaps_told(provenance: Mapping[str, Any], none: str = "no gaps") -> str:
    """What became of gaps, for the list of what was done; ``none`` where there were none."""
    ways = (("parted", "cut where time jumps"), ("filled", "filled by interpolation where time jumps"))
    told = [f"{words} ({'; '.join(provenance[key])})" for key, words in ways if provenance.get(key)]
    return ", ".join(told) or none


def filled_told(provenance: Mapping[str, Any]) -> str:
    """What speaks against trusting a model found from made-up values, or ""."""
    filled = "; ".join(provenance.get("filled", ()))
    if not filled:
        return ""
    return f"{filled}: filled by interpolation, which shifts damping. Cut the record with record.parts() instead."
