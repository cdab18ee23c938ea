"""Joints, couplers, drivers, constraints, variables, forces and sensors of a model file, with their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dalembert.expressions import table as piecewise
from dalembert.files.models.values.laws import CURVE, SPRING, TIME, Curve, SpringLaw, StateLaw, TimeLaw
from dalembert.files.models.values.places import body_or_place, place, plain
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model.actuators import ACTUATORS
from dalembert.model.couplings import COUPLERS
from dalembert.model.forces import FORCES
from dalembert.model.joints import JOINTS, JointKind, unit_along
from dalembert.model.options import Option
from dalembert.model.sensors import SENSORS


def add_parts(scope: Scope) -> None:
    """All parts but bodies, each section after those it needs."""
    from dalembert.files.models.values.remaining_checks import check_part  # loads pydantic

    for section, add in _SECTIONS.items():
        for name, table in getattr(scope.model, section).items():
            where: Where = (section, name)
            with check_part(scope, where, scope.full(name), table):
                add(scope, scope.full(name), table, where)


def _add_joint(scope: Scope, name: str, table: Any, where: Where) -> None:
    drawn = getattr(table, "at", None) is not None
    side = body_or_place if drawn else place
    a = side(scope, table.a, (*where, "a"))
    b = side(scope, table.b, (*where, "b"))
    kind = JOINTS[table.type]
    options = _read_options(
        scope, {option.name: option for option in kind.options if option.form != "limits"}, table, where
    )
    if kind.coordinates and table.limits is not None:
        options["limits"] = _read_limits(scope, kind, table.limits, (*where, "limits"))
    scope.m.add_joint(table.type, name, a, b, **options)


_LIMITS = {  # kinds of numbers of the limits of a coordinate, by its unit
    "m": {"lower": "length", "upper": "length", "speed": "speed", "effort": "force"},
    "rad": {"lower": "angle", "upper": "angle", "speed": "rate", "effort": "torque"},
}


def _read_limits(scope: Scope, kind: JointKind, table: Any, where: Where) -> dict[str, Any]:
    """Limits of each coordinate; the table of a joint with one coordinate names none."""
    first = kind.coordinates[0].name
    units = {c.name: c.unit for c in kind.coordinates}
    limits: dict[str, Any] = {}
    for name, table_ in ({first: table} if len(units) == 1 else table).items():
        here: Where = where if len(units) == 1 else (*where, name)
        for key, value in _LIMITS.get(units.get(name, ""), dict.fromkeys(_LIMITS["m"], "")).items():
            raw = getattr(table_, key)
            if raw is not None:
                limits.setdefault(name, {})[key] = plain(scope.number(raw, value, (*here, key)), scope, here)
    return limits


def _add_coupler(scope: Scope, name: str, table: Any, where: Where) -> None:
    kind = COUPLERS[table.type]
    first, second = (scope.full(getattr(table, key)) for key, _ in (kind.first, kind.second))
    ratio, offset = (scope.get(table, key, where) for key, _, _ in (kind.ratio, kind.offset))
    scope.m.add_coupler(table.type, name, first, second, ratio, offset)


def _add_driver(scope: Scope, name: str, table: Any, where: Where) -> None:
    motion = None if table.motion is None else law_of_time(scope, table.motion, (*where, "motion"))
    channel = scope.full(table.input) if table.input else ""
    scope.m.add_driver(name, scope.full(table.coordinate), motion, input=channel)


def law_of_time(scope: Scope, raw: object, where: Where, kind: type = TimeLaw) -> Any:
    """A number, a parameter expression, or a law of time; of a list of them a law, or numbers."""
    raws = raw if isinstance(raw, list) else [raw]
    if scope.depends(raws, where):
        return scope.law(kind, raws, where, (TIME,))
    numbers = [scope.number(x, "", where) for x in raws]
    return tuple(map(float, numbers)) if isinstance(raw, list) else numbers[0]


def _add_variable(scope: Scope, name: str, table: Any, where: Where) -> None:
    scope.m.add_variable(name, float(scope.get(table, "start", where)))


def _add_constraint(scope: Scope, name: str, table: Any, where: Where) -> None:
    raws = table.residual if isinstance(table.residual, list) else [table.residual]
    scope.refuse_if(not raws, (*where, "residual"), "empty", "expected at least one expression.")
    law = scope.law(StateLaw, raws, (*where, "residual"), (TIME,), state=True)
    scope.m.add_constraint(name, law, level=table.level)


def _add_force(scope: Scope, name: str, table: Any, where: Where) -> None:
    kind = FORCES[table.type]
    scope.m.forces.append(kind(name, **_read_options(scope, kind.options(), table, where)))


def _add_sensor(scope: Scope, name: str, table: Any, where: Where) -> None:
    kind = SENSORS[table.type]
    scope.m.add_sensor(name, kind(**_read_options(scope, kind.options(), table, where)))


_SECTIONS: dict[str, Callable[[Scope, str, Any, Where], None]] = {
    "joints": _add_joint, "couplers": _add_coupler, "drivers": _add_driver, "variables": _add_variable,
    "constraints": _add_constraint, "forces": _add_force, "sensors": _add_sensor,
}  # fmt: skip


# ---- options of a kind, read by their forms
def _read_options(scope: Scope, options: Mapping[str, Option], table: Any, where: Where) -> dict[str, Any]:
    """Those options of a kind that the table gives."""
    joint = next(
        (getattr(table, key) for key, option in options.items() if option.form in ("coordinate", "joint")), None
    )
    unit = "m" if joint is None else unit_along(scope.full(joint), scope.m.joints, scope.m.bodies)
    values = {}
    for key, option in options.items():
        raw = getattr(table, key)
        if raw is None or key not in table.model_fields_set:
            continue
        here: Where = (*where, key)
        if option.form in _READERS:
            values[key] = _READERS[option.form](scope, raw, here)
        else:
            values[key] = scope.numbers(raw, _dimension(option, table, unit), here)
    return values


def _dimension(one: Option, table: Any, unit: str) -> str:
    """Kind of a number, "" where any is right: it may depend on the coordinate, or on other values of the table."""
    if one.refine is not None:
        return one.refine(dict(table))
    return one.kind_along(unit)


def _read_laws(scope: Scope, raws: Any, where: Where) -> Any:
    """Numbers and parameter expressions, or a law of the state where more than parameters are used."""
    if scope.depends(raws, where):
        return scope.law(StateLaw, raws, where, (TIME,), state=True)
    return [scope.number(raw, "", where) for raw in raws]


def _read_law(scope: Scope, raw: object, where: Where) -> Any:
    if isinstance(raw, list):
        return _read_laws(scope, raw, where)
    laws = _read_laws(scope, [raw], where)
    return laws[0] if isinstance(laws, list) else laws


def _read_law_of_extension(scope: Scope, given: Any, where: Where) -> Any:
    if isinstance(given, (str, float, int)):
        return scope.law(SpringLaw, [given], where, SPRING)
    rows = [[float(x) for x in scope.numbers(row, "", (*where, "table", k))] for k, row in enumerate(given.table)]
    return piecewise(*zip(*rows, strict=True))


def _read_model(scope: Scope, table: Any, where: Where) -> Any:
    kind = ACTUATORS[table.type]
    return kind(**_read_options(scope, kind.options(), table, where))


_READERS: dict[str, Callable[[Scope, Any, Where], Any]] = {  # other forms are kinds of numbers
    "position": lambda scope, raw, where: scope.numbers(raw, "length", where),
    **dict.fromkeys(("direction", "axis"), lambda scope, raw, where: scope.numbers(raw, "", where)),
    **dict.fromkeys(("point", "frame", "place"), place),
    "body": lambda scope, raw, where: scope.body(raw, where),
    **dict.fromkeys(("coordinate", "joint", "named force", "input"), lambda scope, raw, where: scope.full(raw)),
    **dict.fromkeys(("choice", "text", "flag"), lambda scope, raw, where: raw),
    "coordinates": lambda scope, raw, where: {
        scope.full(key): scope.number(value, "", (*where, key)) for key, value in raw.items()
    },
    "law": _read_law,
    "laws": _read_laws,
    "law or laws": _read_law,
    "function": lambda scope, raw, where: scope.law(StateLaw, [raw], where, (TIME,), state=True),
    "law of extension": _read_law_of_extension,
    "curve": lambda scope, raws, where: scope.law(Curve, raws, where, (CURVE,)),
    "model": _read_model,
}
