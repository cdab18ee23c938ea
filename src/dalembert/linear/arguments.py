"""Names and plain numbers handed to the functions of this folder, checked at the border."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.errors import DataError


def names_asked(kind: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several as a tuple; what they name is checked by the caller.

    Examples
    --------
    >>> names_asked("input", "force")
    ('force',)
    """
    if isinstance(given, str):
        return (given,)
    try:
        names = tuple(given)
    except TypeError:
        names = (given,)  # type: ignore[assignment]
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{kind}s are given by name, such as {kind}s=[{kind[0] + '1'!r}]; got {name!r}.")
    return names


def real_number(what: str, value: Any) -> float:
    """A finite real number; ``what`` opens the message."""
    if isinstance(value, (bool, str)) or np.iscomplexobj(value) or np.ndim(value):
        raise DataError(f"{what} must be a number, got {value!r}.")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be a number, got {value!r}.") from error
    if not np.isfinite(number):
        raise DataError(f"{what} must be finite, got {value!r}.")
    return number


def whole_number(what: str, value: Any, least: int = 0) -> int:
    """A whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise DataError(f"{what} must be a whole number from {least}, got {value!r}.")
    return int(value)


def input_units(system: Any) -> dict[str, str]:
    """Units of the inputs by name, but of those named like a coordinate, state or output, whose unit it is."""
    others = {*getattr(system, "coordinates", ()), *getattr(system, "states", ()), *system.outputs}
    return {name: system.units[name] for name in system.inputs if name in system.units and name not in others}
