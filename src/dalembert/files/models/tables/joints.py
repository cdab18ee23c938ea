"""Joints, couplers, drivers, constraints and variables of a model file."""

from __future__ import annotations

from typing import Any

from dalembert.files.models.tables.options import read_options
from dalembert.files.models.values.laws import TIME, StateLaw, TimeLaw
from dalembert.files.models.values.places import body_or_place, place
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model.couplings import COUPLERS
from dalembert.model.joints import JOINTS


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
    options = {one.name: one for one in JOINTS[table.type].options}
    scope.m.add_joint(table.type, name, a, b, **read_options(scope, options, table, where))


def add_couplers(scope: Scope) -> None:
    for name, table in scope.model.couplers.items():
        where: Where = ("couplers", name)
        with scope.part(where, scope.full(name), table):
            kind = COUPLERS[table.type]
            first, second = (scope.full(getattr(table, key)) for key, _ in (kind.first, kind.second))
            ratio, offset = (scope.get(table, key, where) for key, _, _ in (kind.ratio, kind.offset))
            scope.m.add_coupler(table.type, scope.full(name), first, second, ratio, offset)


def add_drivers(scope: Scope) -> None:
    for name, table in scope.model.drivers.items():
        where: Where = ("drivers", name)
        with scope.part(where, scope.full(name), table):
            motion = law_of_time(scope, table.motion, (*where, "motion"))
            scope.m.add_driver(scope.full(name), scope.full(table.coordinate), motion)


def law_of_time(scope: Scope, raw: object, where: Where, kind: type = TimeLaw) -> Any:
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
                raise scope.refuse((*where, "residual"), "empty", "expected at least one expression.")
            law = scope.law(StateLaw, raws, (*where, "residual"), (TIME,), state=True)
            scope.m.add_constraint(scope.full(name), law, level=table.level)
