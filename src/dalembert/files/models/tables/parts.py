"""Joints, couplers, drivers, constraints, variables, forces and sensors of a model file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.files.models.tables.options import read_options
from dalembert.files.models.values.laws import TIME, StateLaw, TimeLaw
from dalembert.files.models.values.places import body_or_place, place
from dalembert.files.models.values.remaining_checks import checked_part
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model.couplings import COUPLERS
from dalembert.model.forces import FORCES
from dalembert.model.joints import JOINTS
from dalembert.model.sensors import SENSORS


def add_parts(scope: Scope) -> None:
    """All parts but bodies, each section after those it needs."""
    for section, add in _SECTIONS.items():
        for name, table in getattr(scope.model, section).items():
            where: Where = (section, name)
            with checked_part(scope, where, scope.full(name), table):
                add(scope, scope.full(name), table, where)


def _add_joint(scope: Scope, name: str, table: Any, where: Where) -> None:
    drawn = getattr(table, "at", None) is not None
    side = body_or_place if drawn else place
    a = side(scope, table.a, (*where, "a"))
    b = side(scope, table.b, (*where, "b"))
    options = {one.name: one for one in JOINTS[table.type].options}
    scope.m.add_joint(table.type, name, a, b, **read_options(scope, options, table, where))


def _add_coupler(scope: Scope, name: str, table: Any, where: Where) -> None:
    kind = COUPLERS[table.type]
    first, second = (scope.full(getattr(table, key)) for key, _ in (kind.first, kind.second))
    ratio, offset = (scope.get(table, key, where) for key, _, _ in (kind.ratio, kind.offset))
    scope.m.add_coupler(table.type, name, first, second, ratio, offset)


def _add_driver(scope: Scope, name: str, table: Any, where: Where) -> None:
    motion = law_of_time(scope, table.motion, (*where, "motion"))
    scope.m.add_driver(name, scope.full(table.coordinate), motion)


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
    if not raws:
        raise scope.refuse((*where, "residual"), "empty", "expected at least one expression.")
    law = scope.law(StateLaw, raws, (*where, "residual"), (TIME,), state=True)
    scope.m.add_constraint(name, law, level=table.level)


def _add_force(scope: Scope, name: str, table: Any, where: Where) -> None:
    kind = FORCES[table.type]
    scope.m.forces.append(kind(name, **read_options(scope, kind.options(), table, where)))


def _add_sensor(scope: Scope, name: str, table: Any, where: Where) -> None:
    kind = SENSORS[table.type]
    scope.m.add_sensor(name, kind(**read_options(scope, kind.options(), table, where)))


_SECTIONS: dict[str, Callable[[Scope, str, Any, Where], None]] = {
    "joints": _add_joint,
    "couplers": _add_coupler,
    "drivers": _add_driver,
    "variables": _add_variable,
    "constraints": _add_constraint,
    "forces": _add_force,
    "sensors": _add_sensor,
}
