"""Declared results: a field states its title, unit and format once; table, repr, HTML and plain data follow.

    @result
    class Buckling:
        factors: FloatArray = column("load factor", "-")

A result is a dataclass whose fields and arrays cannot be changed. Fields with a kind of `core.declare` are read by it;
``derived()`` fields are computed in ``__post_init__`` and set with `core.arrays.assign`. Where columns are arrays, the
table has a line per entry; where a field is ``rows()``, a line per result in it; else a line per column. A class that
has a method of its own keeps it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, dataclass_transform

import numpy as np

from dalembert.core.arrays import assign, plain_state
from dalembert.core.declare import checked, declarations
from dalembert.core.tables import align_columns, small_table

Show = str | Callable[[Any], str]  # a format such as ".4g", or a function


@dataclass(frozen=True)
class ResultColumn:
    """Title, unit and format of a field; a unit ``"{unit}"`` is that of another field."""

    title: str
    unit: str
    show: Show
    left: bool

    def cell(self, value: Any) -> str:
        if callable(self.show):
            return self.show(value)
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
            return "-"
        if isinstance(value, (tuple, list)):
            return ", ".join(map(self.cell, value))
        return value if isinstance(value, str) else format(value, self.show)


def column(title: str, unit: str = "", show: Show = ".5g", default: Any = MISSING, *, left: bool = False) -> Any:
    """A field that is shown in the table; ``left``: flush left, as texts are."""
    return dataclasses.field(default=default, metadata={"column": ResultColumn(title, unit, show, left)})


def rows() -> Any:
    """A field with a tuple of results, each a line of the table."""
    return dataclasses.field(metadata={"rows": True})


def derived(*, init: Literal[False] = False) -> Any:
    """A field that ``__post_init__`` computes from the others."""
    return dataclasses.field(init=init)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(column, rows, derived))
def result(cls: Any) -> Any:
    """A frozen result of declared fields.

    Examples
    --------
    >>> @result
    ... class Peak:
    ...     gain: float = column("gain", "m/N")
    ...     frequency: float = column("frequency", "rad/s", ".3g")
    >>> peak = Peak(2.0, 31.4159)
    >>> peak
    Peak
    gain          2  m/N
    frequency  31.4  rad/s
    >>> peak.to_dict()
    {'gain': 2.0, 'frequency': 31.4159}
    """
    after = cls.__dict__.get("__post_init__")

    def freeze(self: Any) -> None:
        if after is not None:
            after(self)
        assign(self, **vars(self))

    cls.__post_init__ = freeze
    wrapped = dataclass(frozen=True, eq=False, repr=False)(cls)
    for name, method in _METHODS.items():
        if name not in vars(cls):
            setattr(wrapped, name, method)
    return checked(wrapped) if declarations(wrapped) else wrapped


def _columns(kind: Any) -> dict[str, ResultColumn]:
    return {field.name: field.metadata["column"] for field in fields(kind) if "column" in field.metadata}


def _items(self: Any) -> tuple[Any, ...]:
    """Results that are a line of the table each."""
    values = [getattr(self, field.name) for field in fields(self) if "rows" in field.metadata]
    return values[0] if values else (self,)


def cells(self: Any) -> tuple[list[str], list[list[str]]]:
    """Head and lines of the table of a result; an empty head where each line is a title, a value and its unit."""
    items = _items(self)
    shown = _columns(items[0]) if items else {}
    units = {name: each.unit.format_map(vars(items[0])) for name, each in shown.items()}
    head = [f"{each.title} [{units[name]}]" if units[name] else each.title for name, each in shown.items()]
    if items != (self,):
        return head, [[each.cell(getattr(item, name)) for name, each in shown.items()] for item in items]
    values = {name: getattr(self, name) for name in shown}
    if any(isinstance(value, np.ndarray) and value.ndim for value in values.values()):
        lines = zip(*values.values(), strict=True)
        return head, [[each.cell(value) for each, value in zip(shown.values(), line, strict=True)] for line in lines]
    return [], [[each.title, each.cell(values[name]), units[name]] for name, each in shown.items()]


def table(self: Any) -> str:
    """The columns of the result as text; words are flush left."""
    head, lines = cells(self)
    texts = [k for item in _items(self)[:1] for k, each in enumerate(_columns(item).values()) if each.left]
    return align_columns(head, lines, left=texts if head else (0, 2))


def _repr(self: Any) -> str:
    return f"{type(self).__name__}\n{self.table()}"


def _repr_html(self: Any) -> str:
    head, lines = cells(self)
    return small_table(type(self).__name__, head, lines)


def to_dict(self: Any) -> dict[str, Any]:
    """Fields as plain data, for JSON."""
    return {field.name: plain(getattr(self, field.name)) for field in fields(self)}


def plain(value: Any) -> Any:
    """Nested plain values for JSON; a number that is not finite becomes None.

    Examples
    --------
    >>> plain({"a": (1, float("nan")), "s": 1 + 2j, "matrix": np.eye(2)})
    {'a': [1, None], 's': {'real': 1.0, 'imag': 2.0}, 'matrix': [[1.0, 0.0], [0.0, 1.0]]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, complex):
        return {"real": plain(value.real), "imag": plain(value.imag)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _set_state(self: Any, state: dict[str, Any]) -> None:
    assign(self, **state)


_METHODS: dict[str, Any] = {
    "table": table, "__repr__": _repr, "_repr_html_": _repr_html, "to_dict": to_dict,
    "__getstate__": plain_state, "__setstate__": _set_state,
}  # fmt: skip
