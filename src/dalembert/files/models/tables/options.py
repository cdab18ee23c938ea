"""Options of a kind in a table of a model file, read by their forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dalembert.expressions import table as piecewise
from dalembert.files.models.values.laws import CURVE, SPRING, TIME, Curve, SpringLaw, StateLaw
from dalembert.files.models.values.places import place
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model.actuators import ACTUATORS
from dalembert.model.options import Option


def read_options(scope: Scope, options: Mapping[str, Option], table: Any, where: Where) -> dict[str, Any]:
    """Those options of a kind that the table gives."""
    joint = next((getattr(table, key) for key, one in options.items() if one.form in ("coordinate", "joint")), None)
    unit = "m" if joint is None else _unit(scope, joint)
    found = {}
    for key, one in options.items():
        raw = getattr(table, key)
        if raw is None or key not in table.model_fields_set:
            continue
        here: Where = (*where, key)
        if one.form in _READERS:
            found[key] = _READERS[one.form](scope, raw, here)
        else:
            found[key] = scope.numbers(raw, _dimension(one, table, unit), here)
    return found


def _dimension(one: Option, table: Any, unit: str) -> str:
    """Kind of a number, "" where any is right: it may depend on the coordinate, or on other values of the table."""
    if one.refine is not None:
        return one.refine(dict(table))
    if not one.about:
        return one.form
    return {"m": one.form, "rad": one.about}.get(unit, "")


def _unit(scope: Scope, joint: str) -> str:
    """Unit of a coordinate, or of the first one of a joint; nothing where it is unknown."""
    full = scope.full(joint)
    owner, _, part = full.rpartition(".")
    for found in scope.m.joints:
        if found.name in (full, owner):
            units = [unit for name, _, unit in found.coordinates if part == name or found.name == full]
            return units[0] if units else ""
    if any(body.name == owner for body in scope.m.bodies):
        return "rad" if part == "angle" else "m"
    return ""


def _read_laws(scope: Scope, raws: Any, where: Where) -> Any:
    """Numbers and parameter expressions, or a law of the state where more than parameters are used."""
    if scope.depends(raws, where):
        return scope.law(StateLaw, raws, where, (TIME,), state=True)
    return [scope.number(raw, "", where) for raw in raws]


def _read_law(scope: Scope, raw: object, where: Where) -> Any:
    if isinstance(raw, list):
        return _read_laws(scope, raw, where)
    found = _read_laws(scope, [raw], where)
    return found[0] if isinstance(found, list) else found


def _read_law_of_extension(scope: Scope, given: Any, where: Where) -> Any:
    if isinstance(given, (str, float, int)):
        return scope.law(SpringLaw, [given], where, SPRING)
    rows = [[float(x) for x in scope.numbers(row, "", (*where, "table", k))] for k, row in enumerate(given.table)]
    return piecewise(*zip(*rows, strict=True))


def _read_model(scope: Scope, table: Any, where: Where) -> Any:
    kind = ACTUATORS[table.type]
    return kind(**read_options(scope, kind.options(), table, where))


_READERS: dict[str, Callable[[Scope, Any, Where], Any]] = {  # other forms are kinds of numbers
    "position": lambda scope, raw, where: scope.numbers(raw, "length", where),
    **dict.fromkeys(("direction", "axis"), lambda scope, raw, where: scope.numbers(raw, "", where)),
    **dict.fromkeys(("point", "frame", "place"), place),
    "body": lambda scope, raw, where: scope.body(raw, where),
    **dict.fromkeys(("coordinate", "joint", "named force", "input"), lambda scope, raw, where: scope.full(raw)),
    **dict.fromkeys(("choice", "text", "flag"), lambda scope, raw, where: raw),
    "law": _read_law,
    "laws": _read_laws,
    "law or laws": _read_law,
    "function": lambda scope, raw, where: scope.law(StateLaw, [raw], where, (TIME,), state=True),
    "law of extension": _read_law_of_extension,
    "curve": lambda scope, raws, where: scope.law(Curve, raws, where, (CURVE,)),
    "model": _read_model,
}
