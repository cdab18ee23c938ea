"""Joints, couplers, drivers, constraints and variables of a model file."""

from __future__ import annotations

from typing import Any

from dalembert.files.models.values.laws import CURVE, TIME, Curve, StateLaw, TimeLaw
from dalembert.files.models.values.places import body_or_place, place
from dalembert.files.models.values.scopes import Scope, Where

# type in the file -> (method, keys that are numbers or directions)
_METHODS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fixed": ("add_fixed", ()),
    "revolute": ("add_revolute", ("axis", "axis_b", "x")),
    "prismatic": ("add_prismatic", ("axis", "axis_b")),
    "cylindrical": ("add_cylindrical", ("axis", "axis_b")),
    "universal": ("add_universal", ("axis", "second_axis")),
    "spherical": ("add_spherical", ()),
    "planar": ("add_planar", ("axis", "axis_b")),
    "screw": ("add_screw", ("axis", "lead")),
    "massless rod": ("add_massless_rod", ("length",)),
    "point on line": ("add_point_on_line", ("axis",)),
    "pin in slot": ("add_pin_in_slot", ("axis",)),
    "point on plane": ("add_point_on_plane", ("axis",)),
    "rolling wheel": ("add_rolling_wheel", ("radius", "axis", "normal")),
    "rolling sphere": ("add_rolling_sphere", ("radius", "normal")),
    "rolling discs": ("add_rolling_discs", ("radius", "second_radius")),
}


def add_joints(scope: Scope) -> None:
    for name, table in scope.model.joints.items():
        where: Where = ("joints", name)
        with scope.part(where, scope.full(name), table):
            _add_joint(scope, scope.full(name), table, where)


def _add_joint(scope: Scope, name: str, table: Any, where: Where) -> None:
    drawn = getattr(table, "at", None) is not None
    side = body_or_place if drawn else place
    a = side(scope, table.a, (*where, "a"))
    b = side(scope, table.b, (*where, "b"))
    if table.type == "point on curve":
        curve = scope.law(Curve, table.curve, (*where, "curve"), (CURVE,))
        start = float(scope.get(table, "start", where))
        scope.m.add_point_on_curve(name, a, b, curve=curve, start=start)
        return
    method, keys = _METHODS[table.type]
    options = {key: scope.get(table, key, where) for key in keys}
    if drawn:
        options["at"] = scope.get(table, "at", where)
    if table.type == "rolling discs":
        options["inside"] = table.inside
    add = getattr(scope.m, method)  # a name of the table above, never one of the file
    add(name, a, b, **{key: value for key, value in options.items() if value is not None})


def add_couplers(scope: Scope) -> None:
    for name, table in scope.model.couplers.items():
        where: Where = ("couplers", name)
        with scope.part(where, scope.full(name), table):
            offset = scope.get(table, "offset", where)
            if table.type == "gear":
                ratio = scope.get(table, "ratio", where)
                first, second = scope.full(table.first), scope.full(table.second)
                scope.m.add_gear(scope.full(name), first, second, ratio=ratio, offset=offset)
            else:
                radius = scope.get(table, "radius", where)
                pinion, rack = scope.full(table.pinion), scope.full(table.rack)
                scope.m.add_rack_and_pinion(scope.full(name), pinion, rack, radius=radius, offset=offset)


def add_drivers(scope: Scope) -> None:
    for name, table in scope.model.drivers.items():
        where: Where = ("drivers", name)
        with scope.part(where, scope.full(name), table):
            motion = law_of_time(scope, table.motion, (*where, "motion"))
            scope.m.add_driver(scope.full(name), scope.full(table.coordinate), motion)


def law_of_time(scope: Scope, raw: Any, where: Where, kind: type = TimeLaw) -> Any:
    """A number, a parameter expression, or a law of time; of a list of them a law, or numbers."""
    if isinstance(raw, list):
        if not scope.depends(raw, where):
            return tuple(float(scope.number(x, "", where)) for x in raw)
        return scope.law(kind, raw, where, (TIME,))
    if not scope.depends([raw], where):
        return scope.number(raw, "", where)
    return scope.law(kind, [raw], where, (TIME,))


def add_constraints(scope: Scope) -> None:
    for name, variable in scope.model.variables.items():
        where: Where = ("variables", name)
        with scope.part(where, scope.full(name), variable):
            scope.m.add_variable(scope.full(name), float(scope.get(variable, "start", where)))
    for name, table in scope.model.constraints.items():
        where = ("constraints", name)
        with scope.part(where, scope.full(name), table):
            raws = table.residual if isinstance(table.residual, list) else [table.residual]
            if not raws:
                raise scope.wrong((*where, "residual"), "expected at least one expression.")
            law = scope.law(StateLaw, raws, (*where, "residual"), (TIME,), state=True)
            scope.m.add_constraint(scope.full(name), law, level=table.level)
