"""Relations given as formulas h = Φ(z), instead of a machine with joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, unknown_name
from dalembert.equations import Channels, State
from dalembert.estimate.kinematic.quantities import Measurable, name_list, per_second
from dalembert.expressions import Array, Expr, call_user

SX = ca.SX


class FormulaRelations:
    """Relations given as formulas h = Φ(z), differentiated exactly."""

    def __init__(
        self, function: Callable[[Any], Any], independent: Sequence[str], units: Mapping[str, str] | None = None
    ) -> None:
        units = dict(units or {})
        self.name = getattr(function, "__name__", "formula").replace("<lambda>", "formula")
        each = [units.get(name, "") for name in independent]
        self.coordinates = Channels(independent, each)
        self.rates = Channels([_dot(n, 1) for n in independent], [per_second(u, 1) for u in each])
        self.accelerations = Channels([_dot(n, 2) for n in independent], [per_second(u, 2) for u in each])
        self.pose = self.parameters = Channels((), ())
        self.parameter_values: tuple[float, ...] = ()
        z, zd, zdd, t = (SX.sym(name, size) for name, size in (("z", len(each)), ("zd", len(each)),
                                                               ("zdd", len(each)), ("t", 1)))  # fmt: skip
        given = call_user(function, f"kinematic formula {self.name!r}", _FormulaView(self.coordinates, z, t))
        if not isinstance(given, Mapping) or not given:
            problem = f"formula {self.name!r} must return a mapping of names to expressions, got {given!r}."
            raise ModelError("wrong-type", problem)
        known = {n: Measurable(u, k) for k, c in enumerate((self.coordinates, self.rates, self.accelerations))
                 for n, u in zip(c.names, c.units, strict=True)}  # fmt: skip
        expressions = {n: x[k] for c, x in ((self.coordinates, z), (self.rates, zd), (self.accelerations, zdd))
                       for k, n in enumerate(c.names)}  # fmt: skip
        for name, value in given.items():
            h = SX(value)
            if name in known or h.shape != (1, 1):
                problem = f"kinematic formula: {name!r} must be one new quantity, got shape {h.shape}."
                raise ModelError("taken-name" if name in known else "wrong-shape", problem)
            hd = ca.jacobian(h, z) @ zd + ca.jacobian(h, t)
            hdd = ca.jacobian(h, z) @ zdd + ca.jacobian(hd, z) @ zd + ca.jacobian(hd, t)
            for level, one in enumerate((h, hd, hdd)):
                label = _dot(name, level)
                known[label], expressions[label] = Measurable(per_second(units.get(name, ""), level), level), one
        self.known: Mapping[str, Measurable] = known
        self.further = tuple(
            name for name in known if name not in independent and not name.startswith(tuple(independent))
        )
        self._function = ca.Function(
            "formula", [z, zd, zdd, t], [ca.densify(ca.vertcat(*expressions.values()))], {"cse": True}
        )
        self._place = {name: k for k, name in enumerate(expressions)}

    def names(self, given: object, what: str) -> list[str]:
        found = name_list(given, what)
        for name in found:
            if name not in self.known:
                raise ModelError(
                    "unknown-name", f"{what}: {unknown_name('quantity', name, self.known, repr(self.name))}"
                )
        return found

    def close(self, pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        return pose

    def gap(self, pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        return SX(0)

    def values(self, names: Sequence[str], pose: Expr, z: Expr, zd: Expr, zdd: Expr, p: Expr, t: Expr) -> Expr:
        return self._function(z, zd, zdd, t)[[self._place[name] for name in names]]

    def slopes(self, names: Sequence[str], pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        n = len(self.coordinates)
        return ca.densify(ca.jacobian(self.values(names, pose, z, SX.zeros(n), SX.zeros(n), p, t), z))

    def follow(self, z: Array, times: Array, begin: Array | None = None) -> tuple[Array, Array]:
        return np.zeros((len(z), 0)), np.zeros(len(z))

    def read(self, state: State) -> dict[str, float]:
        raise ModelError("wrong-type", "formulas have no state of a machine: the initial state is a mapping of names.")

    def start(self, values: Mapping[str, float], begin: Array | None = None) -> tuple[Array, Array]:
        return np.array([float(values.get(n, 0.0)) for n in self.coordinates.names]), np.zeros(0)


class _FormulaView:
    """The argument ``s`` of a formula: ``s["crank"]``, ``s.t``."""

    def __init__(self, coordinates: Channels, z: Expr, t: Expr) -> None:
        self._coordinates, self._z, self.t = coordinates, z, t

    def __getitem__(self, name: str) -> Any:
        if name not in self._coordinates.index:
            raise ModelError(
                "unknown-name", unknown_name("coordinate", name, self._coordinates.names, "a kinematic formula")
            )
        return self._z[self._coordinates.index[name]]


def _dot(name: str, level: int) -> str:
    if not level:
        return name
    last = name.rpartition(".")
    stem = last[0] if last[2] in ("angle", "displacement") else name
    return f"{stem}.{('', 'rate', 'acceleration')[level]}"
