"""What every linear noun checks about its numbers and names, and how it is frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dalembert.errors import DataError, unknown_name

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
# A stored matrix: FloatArray, or scipy.sparse.csc_array in a sparse system (SciPy has no types of its own).
Matrix = Any


class Frozen:
    """Attributes set once by :meth:`_freeze`; arrays read-only, also after unpickling."""

    def _freeze(self, **fields: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            elif scipy.sparse.issparse(value):
                for array in (value.data, value.indices, value.indptr):
                    array.setflags(write=False)
            elif isinstance(value, Mapping):
                value = MappingProxyType(dict(value))
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}; make a new one instead.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name!r}.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._freeze(**state)


def matrix(symbol: str, value: Any, rows: int | None, columns: int | None, why: str, *, vector: str = "") -> FloatArray:
    """Own, finite, real 2-D copy of ``value``, shaped as asked.

    ``None`` for ``rows`` or ``columns`` leaves that size free. A scalar is 1 x 1; a 1-D array is
    a ``vector="column"`` or ``"row"``, and refused without it. ``why`` ends the message.
    """
    if hasattr(value, "toarray"):
        value = value.toarray()
    try:
        raw = np.asarray(value)
        if np.iscomplexobj(raw):
            raise DataError(f"{symbol} must be real, got complex numbers.")
        if raw.dtype.kind in "USO" and any(entry is None or isinstance(entry, str) for entry in raw.flat):
            raise DataError(f"{symbol} must be a matrix of numbers, got text or None among them.")
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{symbol} must be a matrix of numbers, got {type(value).__name__}: {error}") from error
    if array.ndim == 0:
        array = array.reshape(1, 1)
    elif array.ndim == 1 and vector:
        array = array.reshape((-1, 1) if vector == "column" else (1, -1))
    fit(symbol, array.shape, rows, columns, why)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        i, j = bad[0]
        raise DataError(f"{symbol}[{i}, {j}] is {array[i, j]}; every entry must be finite ({len(bad)} are not).")
    return array


def fit(symbol: str, shape: tuple[int, ...], rows: int | None, columns: int | None, why: str) -> None:
    """Refuse a shape other than ``(rows, columns)``; ``None`` leaves that size free."""
    if len(shape) == 2 and rows in (None, shape[0]) and columns in (None, shape[1]):
        return
    expected = f"({'any' if rows is None else rows}, {'any' if columns is None else columns})"
    raise DataError(f"{symbol} has shape {shape}, expected {expected}: {why}.")


def square(symbol: str, value: Any) -> FloatArray:
    """As :func:`matrix`, for the matrix that sets the size of all others; at least 1 x 1."""
    array = matrix(symbol, value, None, None, "it must be square")
    if array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise DataError(f"{symbol} has shape {array.shape}; it must be square and not empty.")
    return array


def unique_names(kind: str, given: str | Iterable[str] | None, default: Sequence[str], where: str) -> tuple[str, ...]:
    """Names as a tuple of distinct, non-empty strings, as many as in ``default``."""
    if given is None:
        return tuple(default)
    try:
        names = (given,) if isinstance(given, str) else tuple(given)
    except TypeError as error:
        raise DataError(f"{kind} names must be strings, one per {kind}, got {given!r} in {where}.") from error
    for name in names:
        if not isinstance(name, str) or not name:
            raise DataError(f"{kind} names must be non-empty strings, got {name!r} in {where}.")
    if len(names) != len(default):
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise DataError(f"{where} has {len(default)} {kind}s but {len(names)} {kind} names were given: {shown}.")
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{kind} names must differ; given twice in {where}: {listed(twice, {})}.")
    return names


def names_or_numbered(
    kind: str, given: str | Iterable[str] | None, letter: str, count: int, where: str
) -> tuple[str, ...]:
    """The given names, checked, or ``letter`` with a number each; no numbers are made in vain."""
    if given is None:
        return numbered(letter, count)
    return unique_names(kind, given, ("",) * count, where)


def numbered(letter: str, count: int) -> tuple[str, ...]:
    """``("u1", "u2", ...)``."""
    return tuple(f"{letter}{i + 1}" for i in range(count))


def known_units(units: Mapping[str, str] | None, known: Iterable[str], where: str) -> dict[str, str]:
    """Units by name, every name known."""
    if not units:
        return {}
    if not isinstance(units, Mapping):
        raise DataError(f"units of {where} must be a mapping of names to units, such as {{'x1': 'm'}}, got {units!r}.")
    names = set(known)
    for name, unit in units.items():
        if name not in names:
            raise DataError(unknown_name("coordinate, state, input or output", name, names, where))
        if not isinstance(unit, str):
            raise DataError(f"the unit of {name!r} in {where} must be a string, got {unit!r}.")
    return dict(units)


def counted(number: int, word: str) -> str:
    """``"1 input"``, ``"2 inputs"``, ``"no inputs"``."""
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], units: Mapping[str, str], *, most: int = 12) -> str:
    """``"angle [rad], torque [N m], ..."``."""
    shown = [f"{name} [{units[name]}]" if units.get(name) else name for name in names[:most]]
    return ", ".join(shown) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def labelled(symbol: str, array: Matrix, rows: Sequence[str], *, most: int = 8) -> list[str]:
    """Lines that show a matrix with the names of its rows; only its size where it is large."""
    if max(array.shape) > most:
        count = array.count_nonzero() if scipy.sparse.issparse(array) else np.count_nonzero(array)
        return [f"  {symbol}: {array.shape[0]} x {array.shape[1]}, {count} non-zero"]
    if scipy.sparse.issparse(array):
        array = array.toarray()
    # what is left of a difference is shown as the 0 it is; small entries of a matrix of small entries stay
    floor = min(1e-12, 2e-15 * float(np.abs(array).max(initial=0.0)))
    cells = [[f"{0.0 if abs(value) < floor else value:.6g}" for value in row] for row in array]
    widths = [max(len(row[j]) for row in cells) for j in range(array.shape[1])]
    name_width = max(len(name) for name in rows)
    lines = []
    for i, (name, row) in enumerate(zip(rows, cells, strict=True)):
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(f"  {(symbol if i == 0 else '').ljust(10)}  {name.ljust(name_width)}  {numbers}")
    return lines


def matching(wanted: str | Iterable[str], names: Sequence[str], where: str) -> list[int]:
    """Places of the named coordinates; a text with a leading dot stands for all names that end so.

    Examples
    --------
    >>> matching(".x", ["A.x", "A.rx", "B.x"], "this frame")
    [0, 2]
    """
    places: list[int] = []
    exact: dict[str, int] | None = None
    for name in (wanted,) if isinstance(wanted, str) else wanted:
        found = [i for i, known in enumerate(names) if known.endswith(name)] if name.startswith(".") else []
        if not found:
            exact = exact if exact is not None else {known: i for i, known in enumerate(names)}
            if name not in exact:
                raise DataError(unknown_name("coordinate", name, names, where))
            found = [exact[name]]
        places += found
    return places


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of a table; every column but the last is right-justified."""
    table = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(row[j]) for row in table) for j in range(len(head) - 1)]
    return "\n".join(
        "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True)), row[-1]])
        for row in table
    )


def complex_text(s: complex, digits: int = 5) -> str:
    """``"-1.5"``, ``"0+3.1416i"``."""
    return f"{s.real + 0.0:.{digits}g}" if s.imag == 0.0 else f"{s.real + 0.0:.{digits}g}{s.imag:+.{digits}g}i"
