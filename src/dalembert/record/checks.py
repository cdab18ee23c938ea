"""What a record refuses: time that does not increase, data of another shape, names given twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import DataError, require_name


def freeze(array: Array) -> Array:
    """The same numbers, read-only."""
    view = array.view()
    view.flags.writeable = False
    return view


def numbers(values: npt.ArrayLike, what: str) -> Array:
    """Real numbers as an array, not copied where it can be helped."""
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "fiub":
            raise TypeError(f"dtype {raw.dtype}")
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("not-a-number", f"{what} must be an array of real numbers ({error}).") from error


def check_time(time: npt.ArrayLike) -> Array:
    t = numbers(time, "time")
    DataError.when(t.ndim != 1, "wrong-shape", f"time has shape {t.shape}; expected one dimension.")
    DataError.when(t.size == 0, "empty", "a record needs at least one sample; time is empty.")
    # an increasing sequence can be infinite at its ends only, and NaN is never greater
    if not (np.isfinite(t[0]) and np.isfinite(t[-1]) and bool((t[1:] > t[:-1]).all())):
        bad = ~np.isfinite(t)
        if bad.any():
            i = int(np.argmax(bad))
            raise DataError("not-finite", f"time must be finite; sample {i} is {t[i]}.")
        i = int(np.argmax(t[1:] <= t[:-1]))
        raise DataError(
            "not-increasing", f"time must increase strictly; sample {i + 1} is {t[i + 1]:.9g} s after {t[i]:.9g} s."
        )
    problem = f"time runs from {t[0]:.6g} to {t[-1]:.6g} s, which is too long for a number."
    DataError.when(not np.isfinite(float(t[-1]) - float(t[0])), "out-of-range", problem)
    return freeze(t)


def check_data(data: npt.ArrayLike, samples: int, columns: Mapping[str, int]) -> Array:
    values = numbers(data, "data")
    problem = f"data has shape {values.shape}; expected ({samples}, {len(columns)}): a row per time, a column per name."
    DataError.when(values.shape != (samples, len(columns)), "wrong-shape", problem)
    return freeze(values)


@lru_cache(maxsize=64)  # runs of one machine share their names
def check_names(names: tuple[str, ...] | str) -> Mapping[str, int]:
    problem = f"names must be a list of channel names, not the text {names!r}."
    DataError.when(isinstance(names, str), "wrong-type", problem)
    columns: dict[str, int] = {}
    for i, label in enumerate(names):
        problem = f"channel {i} is named {label!r}; a name must not be empty, and 'time' is the time axis."
        DataError.when(not check_line(label, "a channel name") or label == "time", "bad-name", problem)
        first = columns.setdefault(label, i)
        DataError.when(first != i, "taken-name", f"two channels are named {label!r} (columns {first} and {i}).")
    DataError.when(not columns, "empty", "a record needs at least one channel; names is empty.")
    return columns


def check_units(units: Sequence[str] | Mapping[str, str] | None, columns: Mapping[str, int]) -> tuple[str, ...]:
    if units is None:
        return ("",) * len(columns)
    if isinstance(units, Mapping):
        for label in units:
            require_name("channel", label, columns, "units")
        return tuple(check_line(units.get(label, ""), f"the unit of {label!r}") for label in columns)
    if isinstance(units, str) or not isinstance(units, Sized) or len(units) != len(columns):
        problem = f"units must be a list of {len(columns)}, one per channel, or a mapping; got {units!r}."
        raise DataError("wrong-type", problem)
    return _check_unit_list(tuple(units))


@lru_cache(maxsize=64)
def _check_unit_list(units: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(check_line(unit, "a unit") for unit in units)


def check_mapping(given: Mapping[str, Any], what: str) -> dict[str, Any]:
    problem = f"{what} of a record must be a mapping, got {given!r:.80}."
    DataError.when(not isinstance(given, Mapping), "wrong-type", problem)
    return dict(given)


def check_line(text: str, what: str) -> str:
    """One printable line without blanks at its ends, so that any file format can hold it."""
    problem = f"{what} must be one line of printable text without blanks at its ends, not {text!r:.80}."
    DataError.when(not isinstance(text, str) or not text.isprintable() or text != text.strip(), "bad-name", problem)
    return text
