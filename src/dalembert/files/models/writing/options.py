"""Options of a kind as a table of a model file, written by their forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalembert.expressions.quantities import PiecewiseLinear
from dalembert.files.models.values.laws import Curve, SpringLaw, StateLaw
from dalembert.model import Frame
from dalembert.model.options import Declared, Option

if TYPE_CHECKING:
    from dalembert.files.models.writing.document import Document


def options_table(document: Document, part: Declared, what: str) -> dict[str, Any]:
    """The type of a part and its options, without those at their defaults."""
    table: dict[str, Any] = {"type": part.kind}
    for key, one in part.options().items():
        value = getattr(part, key)
        if value is None or (isinstance(value, (bool, float, int, str)) and value == one.default):
            continue
        table[key] = write_option(document, one, value, what)
    return table


def write_option(document: Document, one: Option, value: Any, what: str) -> Any:
    """One value as it stands in a file."""
    return _WRITERS.get(one.form, _write_numbers)(document, value, what)


def _write_numbers(document: Document, value: Any, what: str) -> Any:
    return document.values(value, what) if isinstance(value, (tuple, list)) else document.number(value, what)


def _write_place(document: Document, value: Any, what: str) -> Any:
    return document.place(value, what)


def _write_own_place(document: Document, value: Any, what: str) -> Any:
    """A frame stays one, also where its axes are those of its body."""
    return document.place(value, what, own_axes=isinstance(value, Frame))


def _write_body(document: Document, value: Any, what: str) -> Any:
    return value.name


def _write_text(document: Document, value: Any, what: str) -> Any:
    return value


def _write_laws(document: Document, value: Any, what: str) -> Any:
    return document.law(value, StateLaw, what) if callable(value) else _write_numbers(document, value, what)


def _write_law(document: Document, value: Any, what: str) -> Any:
    found = _write_laws(document, value, what)
    return found[0] if callable(value) and len(found) == 1 else found


def _write_law_of_extension(document: Document, value: Any, what: str) -> Any:
    if isinstance(value, PiecewiseLinear):
        return {"table": [list(pair) for pair in zip(value.x, value.y, strict=True)]}
    return document.law(value, SpringLaw, f"the law of {what}")[0]


def _write_curve(document: Document, value: Any, what: str) -> Any:
    return document.law(value, Curve, f"the curve of {what}")


_WRITERS: dict[str, Callable[[Document, Any, str], Any]] = {  # other forms are kinds of numbers
    "point": _write_place,
    "frame": _write_place,
    "place": _write_own_place,
    "body": _write_body,
    "coordinate": _write_text,
    "joint": _write_text,
    "named force": _write_text,
    "input": _write_text,
    "choice": _write_text,
    "text": _write_text,
    "law": _write_law,
    "laws": _write_laws,
    "law or laws": _write_law,
    "function": _write_law,
    "law of extension": _write_law_of_extension,
    "curve": _write_curve,
    "flag": _write_text,
    "model": options_table,
}
