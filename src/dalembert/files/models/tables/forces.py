"""Forces and sensors of a model file."""

from __future__ import annotations

from dalembert.files.models.tables.options import read_options
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model.forces import FORCES
from dalembert.model.sensors import SENSORS


def add_forces(scope: Scope) -> None:
    for name, table in scope.model.forces.items():
        where: Where = ("forces", name)
        with scope.part(where, scope.full(name), table):
            kind = FORCES[table.type]
            scope.m.forces.append(kind(scope.full(name), **read_options(scope, kind.options(), table, where)))


def add_sensors(scope: Scope) -> None:
    for name, table in scope.model.sensors.items():
        where: Where = ("sensors", name)
        with scope.part(where, scope.full(name), table):
            kind = SENSORS[table.type]
            scope.m.add_sensor(scope.full(name), kind(**read_options(scope, kind.options(), table, where)))
