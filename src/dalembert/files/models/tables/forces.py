"""Forces and sensors of a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dalembert.expressions import table as piecewise
from dalembert.files.models.values.laws import SPRING, TIME, SpringLaw, StateLaw
from dalembert.files.models.values.places import place
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model import measures
from dalembert.model.actuators import DCMotor, FirstOrderLag

ALONG: Mapping[str, str] = {
    "stiffness": "stiffness", "damping": "damping", "viscous": "damping", "preload": "force", "free": "length",
    "lower": "length", "upper": "length", "speed": "speed",
}  # fmt: skip
ABOUT: Mapping[str, str] = {
    "stiffness": "rotational stiffness", "damping": "rotational damping", "viscous": "rotational damping",
    "preload": "torque", "free": "angle", "lower": "angle", "upper": "angle", "speed": "rate",
}  # fmt: skip


def add_forces(scope: Scope) -> None:
    for name, table in scope.model.forces.items():
        where: Where = ("forces", name)
        with scope.part(where, scope.full(name), table):
            _FORCES[table.type](scope, scope.full(name), table, where)


def _options(
    scope: Scope, table: Any, where: Where, *keys: str, kinds: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Those of the keys that are given, as numbers; of the given kinds, else of those they were declared with."""
    found = {}
    for key in keys:
        kind, raw = (kinds or {}).get(key), getattr(table, key)
        if kind is None or raw is None:
            found[key] = scope.get(table, key, where)
        else:
            found[key] = scope.numbers(raw, kind, (*where, key))
    return {key: value for key, value in found.items() if value is not None}


def _kinds(scope: Scope, joint: str | None) -> Mapping[str, str]:
    """Kinds of the numbers of a force between two points, or along or about a coordinate; none where it is unknown."""
    if joint is None:
        return ALONG
    full = scope.full(joint)
    owner, _, part = full.rpartition(".")
    for found in scope.m.joints:
        if found.name in (full, owner):
            units = [unit for name, _, unit in found.coordinates if part == name or found.name == full]
            return {"m": ALONG, "rad": ABOUT}.get(units[0] if units else "", {})
    if any(body.name == owner for body in scope.m.bodies):
        return ABOUT if part == "angle" else ALONG
    return {}


def _ends(scope: Scope, table: Any, where: Where) -> dict[str, Any]:
    """Two points, or a joint coordinate."""
    if table.joint is not None:
        if table.a is not None or table.b is not None:
            raise scope.wrong(where, "give either two points (a and b) or a joint, not both.")
        return {"joint": scope.full(table.joint)}
    if table.a is None or table.b is None:
        raise scope.wrong(where, "give two points (a and b), or a joint.")
    return {"a": place(scope, table.a, (*where, "a")), "b": place(scope, table.b, (*where, "b"))}


def _spring(scope: Scope, name: str, table: Any, where: Where) -> None:
    keys = ("stiffness", "damping", "free_length", "free", "preload")
    options = _options(scope, table, where, *keys, kinds=_kinds(scope, table.joint))
    if table.law is not None:
        options["law"] = _spring_law(scope, table.law, (*where, "law"))
    scope.m.add_spring(name, **_ends(scope, table, where), **options)


def _spring_law(scope: Scope, given: Any, where: Where) -> Any:
    if isinstance(given, (str, float, int)):
        return scope.law(SpringLaw, [given], where, SPRING)
    rows = [[float(x) for x in scope.numbers(row, "", (*where, "table", k))] for k, row in enumerate(given.table)]
    return piecewise(*zip(*rows, strict=True))


def _damper(scope: Scope, name: str, table: Any, where: Where) -> None:
    options = _options(scope, table, where, "damping", kinds=_kinds(scope, table.joint))
    scope.m.add_damper(name, **_ends(scope, table, where), **options)


def _bushing(scope: Scope, name: str, table: Any, where: Where) -> None:
    a, b = (place(scope, getattr(table, side), (*where, side)) for side in ("a", "b"))
    keys = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
    scope.m.add_bushing(name, a, b, **_options(scope, table, where, *keys))


def _amount(scope: Scope, raws: list[Any], where: Where) -> Any:
    """Numbers and parameter expressions, or a law of the state where more than parameters are used."""
    if scope.depends(raws, where):
        return scope.law(StateLaw, raws, where, (TIME,), state=True)
    return [scope.number(raw, "", where) for raw in raws]


def _force(scope: Scope, name: str, table: Any, where: Where) -> None:
    point = place(scope, table.point, (*where, "point"))
    amount = _amount(scope, table.force, (*where, "force"))
    scope.m.add_force(name, point, amount, input=_input(scope, table), axes=table.axes)


def _input(scope: Scope, table: Any) -> str | None:
    return None if table.input is None else scope.full(table.input)


def _torque(scope: Scope, name: str, table: Any, where: Where) -> None:
    amount = None
    if table.torque is not None:
        single = not isinstance(table.torque, list)
        amount = _amount(scope, [table.torque] if single else table.torque, (*where, "torque"))
        amount = amount[0] if single and isinstance(amount, list) else amount
    options = {"input": _input(scope, table), "axes": table.axes}
    scope.m.add_torque(name, scope.body(table.body, (*where, "body")), amount, **options)


def _friction(scope: Scope, name: str, table: Any, where: Where) -> None:
    kinds = {key: kind for key, kind in _kinds(scope, table.joint).items() if key != "preload"}  # a force on the joint
    options = _options(scope, table, where, "viscous", "coulomb", "static", "radius", "speed", "preload", kinds=kinds)
    scope.m.add_friction(name, scope.full(table.joint), **options)


def _stop(scope: Scope, name: str, table: Any, where: Where) -> None:
    keys = ("lower", "upper", "stiffness", "damping")
    options = _options(scope, table, where, *keys, kinds=_kinds(scope, table.joint))
    scope.m.add_stop(name, scope.full(table.joint), **options)


def _contact(scope: Scope, name: str, table: Any, where: Where) -> None:
    plane, point = (place(scope, getattr(table, key), (*where, key)) for key in ("plane", "point"))
    keys = ("normal", "radius", "stiffness", "damping", "exponent", "friction", "speed")
    kinds = {"stiffness": "stiffness"} if table.exponent == 1.0 else None  # else N/m^exponent
    scope.m.add_contact(name, plane, point, **_options(scope, table, where, *keys, kinds=kinds))


def _actuator(scope: Scope, name: str, table: Any, where: Where) -> None:
    model = None
    if table.model is not None:
        keys = [key for key in type(table.model).model_fields if key != "type"]
        options = _options(scope, table.model, (*where, "model"), *keys)
        model = {"first-order lag": FirstOrderLag, "dc motor": DCMotor}[table.model.type](**options)
    effort = None
    if table.effort is not None:
        effort = _amount(scope, [table.effort], (*where, "effort"))
        effort = effort[0] if isinstance(effort, list) else effort
    joint, channel = scope.full(table.joint), _input(scope, table)
    scope.m.add_actuator(name, joint, input=channel, effort=effort, model=model)


_FORCES: dict[str, Callable[[Scope, str, Any, Where], None]] = {
    "spring": _spring,
    "damper": _damper,
    "bushing": _bushing,
    "force": _force,
    "torque": _torque,
    "friction": _friction,
    "stop": _stop,
    "contact": _contact,
    "actuator": _actuator,
}

COORDINATE_MEASURES = {
    "angle": measures.angle,
    "rate": measures.rate,
    "displacement": measures.displacement,
    "speed": measures.speed,
    "joint acceleration": measures.joint_acceleration,
}
POINT_MEASURES: dict[str, Callable[[Any], measures.Measure]] = {
    "position": measures.position,
    "velocity": measures.velocity,
    "acceleration": measures.acceleration,
    "accelerometer": measures.accelerometer,
    "gyroscope": measures.gyroscope,
}


def add_sensors(scope: Scope) -> None:
    for name, table in scope.model.sensors.items():
        where: Where = ("sensors", name)
        with scope.part(where, scope.full(name), table):
            scope.m.add_sensor(scope.full(name), _measure(scope, table, where))


def _measure(scope: Scope, table: Any, where: Where) -> measures.Measure:
    kind = table.type
    if kind in COORDINATE_MEASURES:
        return COORDINATE_MEASURES[kind](scope.full(table.joint))
    if kind in POINT_MEASURES:
        return POINT_MEASURES[kind](place(scope, table.point, (*where, "point")))
    if kind == "orientation":
        return measures.orientation(place(scope, table.body, (*where, "body")), table.form)  # type: ignore[arg-type]
    if kind == "distance":
        a, b = (place(scope, getattr(table, side), (*where, side)) for side in ("a", "b"))
        return measures.distance(a, b)  # type: ignore[arg-type]  # a frame measures like its point
    if kind == "reaction":
        return measures.reaction(scope.full(table.joint), axes=table.axes)
    if kind == "spring force":
        return measures.spring_force(scope.full(table.spring))
    if kind == "energy":
        return measures.energy()
    law = scope.law(StateLaw, [table.expression], (*where, "expression"), (TIME,), state=True)
    return measures.expression(law, table.unit)
