"""Checks of arguments that a user gives: matrices, names, units, plain numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, DataError, require_name
from dalembert.core.text import list_names


def matrix(
    symbol: str, value: object, rows: int | None, columns: int | None, why: str, *, vector: str = ""
) -> FloatArray:
    """Own, finite, real 2-D copy of ``value``, of the wanted shape.

    ``None`` for ``rows`` or ``columns`` leaves that size free. A scalar is 1 x 1; a 1-D array is
    a ``vector="column"`` or ``"row"``, and refused without it. ``why`` ends the message.
    """
    if hasattr(value, "toarray"):
        value = value.toarray()
    try:
        raw = np.asarray(value)
        DataError.when(np.iscomplexobj(raw), "wrong-type", f"{symbol} must be real, got complex numbers.")
        if raw.dtype.kind in "USO" and any(entry is None or isinstance(entry, str) for entry in raw.flat):
            raise DataError("not-a-number", f"{symbol} must be a matrix of numbers, got text or None among them.")
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            "not-a-number", f"{symbol} must be a matrix of numbers, got {type(value).__name__}: {error}"
        ) from error
    if array.ndim == 0:
        array = array.reshape(1, 1)
    elif array.ndim == 1 and vector:
        array = array.reshape((-1, 1) if vector == "column" else (1, -1))
    fit(symbol, array.shape, rows, columns, why)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        i, j = bad[0]
        raise DataError(
            "not-finite", f"{symbol}[{i}, {j}] is {array[i, j]}; every entry must be finite ({len(bad)} are not)."
        )
    return array


def fit(symbol: str, shape: tuple[int, ...], rows: int | None, columns: int | None, why: str) -> None:
    """Refuse a shape other than ``(rows, columns)``; ``None`` leaves that size free."""
    if len(shape) == 2 and rows in (None, shape[0]) and columns in (None, shape[1]):
        return
    expected = f"({'any' if rows is None else rows}, {'any' if columns is None else columns})"
    raise DataError("wrong-shape", f"{symbol} has shape {shape}, expected {expected}: {why}.")


def square(symbol: str, value: object) -> FloatArray:
    """As :func:`matrix`, for the matrix that sets the size of all others; at least 1 x 1."""
    array = matrix(symbol, value, None, None, "it must be square")
    problem = f"{symbol} has shape {array.shape}; it must be square and not empty."
    DataError.when(array.shape[0] != array.shape[1] or array.shape[0] == 0, "wrong-shape", problem)
    return array


def unique_names(kind: str, given: str | Iterable[str] | None, default: Sequence[str], where: str) -> tuple[str, ...]:
    """Names as a tuple of distinct, non-empty strings, as many as in ``default``."""
    if given is None:
        return tuple(default)
    try:
        names = (given,) if isinstance(given, str) else tuple(given)
    except TypeError as error:
        raise DataError(
            "bad-name", f"{kind} names must be strings, one per {kind}, got {given!r} in {where}."
        ) from error
    for name in names:
        problem = f"{kind} names must be non-empty strings, got {name!r} in {where}."
        DataError.when(not isinstance(name, str) or not name, "bad-name", problem)
    if len(names) != len(default):
        shown = list_names(names, {})
        raise DataError(
            "wrong-shape", f"{where} has {len(default)} {kind}s but {len(names)} {kind} names were given: {shown}."
        )
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise DataError("taken-name", f"{kind} names must differ; given twice in {where}: {list_names(twice, {})}.")
    return names


def name_or_number(
    kind: str, given: str | Iterable[str] | None, letter: str, count: int, where: str
) -> tuple[str, ...]:
    """The given names, checked, or ``letter`` with a number each; numbered names are made only if needed."""
    if given is None:
        return number_names(letter, count)
    return unique_names(kind, given, ("",) * count, where)


def number_names(letter: str, count: int) -> tuple[str, ...]:
    """``("u1", "u2", ...)``."""
    return tuple(f"{letter}{i + 1}" for i in range(count))


def known_units(units: Mapping[str, str] | None, known: Iterable[str], where: str) -> dict[str, str]:
    """Units by name, every name known."""
    if not units:
        return {}
    problem = f"units of {where} must be a mapping of names to units, such as {{'x1': 'm'}}, got {units!r}."
    DataError.when(not isinstance(units, Mapping), "wrong-type", problem)
    names = set(known)
    for name, unit in units.items():
        require_name("coordinate, state, input or output", name, names, where)
        problem = f"the unit of {name!r} in {where} must be a string, got {unit!r}."
        DataError.when(not isinstance(unit, str), "wrong-type", problem)
    return dict(units)


def find_matching(wanted: str | Iterable[str], names: Sequence[str], where: str) -> list[int]:
    """Places of the named coordinates; a text with a leading dot means all names with this end.

    Examples
    --------
    >>> find_matching(".x", ["A.x", "A.rx", "B.x"], "this frame")
    [0, 2]
    """
    places: list[int] = []
    exact: dict[str, int] | None = None
    for name in (wanted,) if isinstance(wanted, str) else wanted:
        places_ = [i for i, name_ in enumerate(names) if name_.endswith(name)] if name.startswith(".") else []
        if not places_:
            exact = exact if exact is not None else {name_: i for i, name_ in enumerate(names)}
            require_name("coordinate", name, exact, where, where={"name": name})
            places_ = [exact[name]]
        places += places_
    return places


def take_names(kind: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several as a tuple; what they name is checked by the caller.

    Examples
    --------
    >>> take_names("input", "force")
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
            raise DataError("bad-name", f"{kind}s are given by name, such as {kind[0] + '1'!r}; got {name!r}.")
    return names


def take_path(name: str, given: str | os.PathLike[str]) -> Path:
    """The path of a file or folder."""
    problem = f"{name} must be a path, got {given!r:.80}."
    DataError.when(not isinstance(given, (str, os.PathLike)), "wrong-type", problem, where={"argument": name})
    return Path(given)


def real_number(what: str, value: Any, error: type[DalembertError] = DataError, *, finite: bool = True) -> float:
    """A finite real number; ``what`` opens the message.  finite : False also takes an infinite one."""
    where = {"argument": what}
    if isinstance(value, (bool, str)) or np.iscomplexobj(value) or np.ndim(value):
        raise error("not-a-number", f"{what} must be a number, got {value!r}.", where=where)
    try:
        number = float(value)
    except (TypeError, ValueError) as reason:
        raise error("not-a-number", f"{what} must be a number, got {value!r}.", where=where) from reason
    except OverflowError:
        raise error("out-of-range", f"{what} must be a number below 1.8e308.", where=where) from None
    if not np.isfinite(number) and (finite or np.isnan(number)):
        raise error("not-finite", f"{what} must be finite, got {value!r}.", where=where)
    return number


def positive_number(what: str, value: object, error: type[DalembertError] = DataError) -> float:
    """A finite number above zero."""
    number = real_number(what, value, error)
    if not number > 0:
        raise error("not-positive", f"{what} must be a positive number, got {value!r}.", where={"argument": what})
    return number


def whole_number(
    what: str, value: object, least: int = 0, most: int | None = None, error: type[DalembertError] = DataError
) -> int:
    """A whole number from ``least`` on, up to ``most`` where more would take time or memory without end."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise error("not-a-count", f"{what} must be a whole number from {least}, got {value!r}.")
    if most is not None and value > most:  # a whole number may be beyond the largest float
        raise error("out-of-range", f"{what} must be at most {most}, got {value!r:.40}.")
    return int(value)


def one_of(what: str, value: object, choices: Sequence[str], error: type[DalembertError] = DataError) -> str:
    """One of the choices; ``what`` opens the message."""
    if not isinstance(value, str) or value not in choices:
        shown = " or ".join(filter(None, [", ".join(map(repr, choices[:-1])), repr(choices[-1])]))
        raise error("unknown-choice", f"{what} must be {shown}, not {value!r}.", where={"argument": what})
    return value
