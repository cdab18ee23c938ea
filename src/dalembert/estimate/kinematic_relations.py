"""What the joints say about measured quantities, in the independent coordinates z of a machine (spec 004, C12).

    h = Φ(z) ,     ḣ = S ż + … ,     ḧ = S z̈ + Ṡ ż + … ,     S = ∂Φ/∂z

No mass and no force appears. For a closed chain Φ has no formula: the pose q is carried along with z and closed by
Newton's method from where it was, which keeps the way the loops are put together,

    φ(q,t) = 0 ,  s(q,t) = z ;      [A; S_z] v = [… ; ż] ;      [A; S_z] v̇ = [b; z̈ - bias] ,

and S follows from these rows by implicit differentiation, exactly. Moving joints (drivers) may depend on time: the dots
above stand for what they add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dalembert.equations import Channels, EquationsOfMotion
from dalembert.errors import AssemblyError, ModelError, unknown_name
from dalembert.estimate.kinematic_closing import Closing
from dalembert.expressions import Array, Kernel, call_user
from dalembert.solve.assemble import assemble
from dalembert.solve.constrained import projection_function
from dalembert.solve.kinematics import null_space, rank
from dalembert.solve.motion import acceleration_name, targets_of

SX = ca.SX
LEAD = 0.05  # longest step of a coordinate on the way from the drawing to a start [rad or m]
OPEN = 1e-10  # gap of a pose that passes for closed, times (1 + largest coordinate)
LEVEL = ("position", "velocity", "acceleration")


@dataclass(frozen=True)
class Quantity:
    """Something that may be measured: its unit and the highest derivative of z it depends on (0, 1 or 2)."""

    unit: str
    order: int


class Relations(Protocol):
    """Quantities of a machine as functions of its independent coordinates and their derivatives."""

    name: str
    coordinates: Channels  # z
    rates: Channels
    accelerations: Channels
    pose: Channels  # what is carried beside z; empty where Φ is a formula
    parameters: Channels
    parameter_values: tuple[float, ...]
    known: Mapping[str, Quantity]
    told: tuple[str, ...]  # what an estimate tells besides z and its derivatives

    def names(self, given: Any, what: str) -> list[str]:
        """Full names of quantities, in order; refuses unknown ones."""

    def close(self, pose: Any, z: Any, p: Any, t: Any) -> Any:
        """The pose at z, from one nearby (expressions)."""

    def gap(self, pose: Any, z: Any, p: Any, t: Any) -> Any:
        """How far the pose is from closed [m or rad]."""

    def values(self, names: Sequence[str], pose: Any, z: Any, zd: Any, zdd: Any, p: Any, t: Any) -> Any:
        """The named quantities (SX column)."""

    def slopes(self, names: Sequence[str], pose: Any, z: Any, p: Any, t: Any) -> Any:
        """∂h/∂z of quantities of position level (SX matrix)."""

    def start(self, values: Mapping[str, float]) -> tuple[Array, Array]:
        """z and pose to begin with, the given coordinates as asked."""


class MachineRelations:
    """Relations of a mechanism through its own joints."""

    def __init__(self, eqs: EquationsOfMotion, independent: Sequence[str]) -> None:
        self.eqs, self.name = eqs, eqs.name
        if not eqs.is_holonomic:
            raise ModelError(
                f"a kinematics-based observer needs joints that hold positions; {eqs.name!r} has constraints of "
                "velocity or acceleration level (rolling). Use a filter on the equations of motion."
            )
        self.targets = targets_of(eqs, independent)
        self.closing: Closing = eqs.cached(("closing", self.targets), lambda: Closing(eqs, self.targets))
        self._stack, self._lead = eqs.cached(("closing numbers", self.targets), self.closing.numbers)
        rates, units = [], []
        for name, k in zip(self.targets.names, self.targets.measures, strict=True):
            rates.append(f"{name}.rate" if k < 0 else eqs.measure_rates.names[k])
            units.append(eqs.outputs.units[eqs.outputs.index[name]] if k < 0 else eqs.measures.units[k])
        self.coordinates = Channels(self.targets.names, units)
        self.rates = Channels(rates, [_per(u, 1) for u in units])
        seconds = [
            f"{name}.acceleration" if k < 0 else acceleration_name(rate, eqs.measure_rates.index)
            for name, rate, k in zip(self.targets.names, rates, self.targets.measures, strict=True)
        ]
        self.accelerations = Channels(seconds, [_per(u, 2) for u in units])
        self.pose = Channels([f"pose.{n}" for n in eqs.coordinates.names], eqs.coordinates.units)
        self.parameters, self.parameter_values = eqs.parameters, eqs.parameter_values
        self.known: Mapping[str, Quantity]
        self._forced, self.known = self._catalogue()
        self._check_freedom()
        own = {*self.coordinates.names, *self.rates.names, *self.accelerations.names}
        joints = [
            name
            for k in eqs.recorded_measures
            for name in (eqs.measures.names[k], eqs.measure_rates.names[k], self._second(k))
        ]
        sensors = [name for name in eqs.outputs.names if name in self.known]
        self.told = tuple(name for name in dict.fromkeys([*joints, *sensors]) if name not in own)

    def _second(self, k: int) -> str:
        return acceleration_name(self.eqs.measure_rates.names[k], self.eqs.measure_rates.index)

    def _catalogue(self) -> tuple[set[str], dict[str, Quantity]]:
        """Outputs that need forces, and every quantity that needs motion only."""
        eqs, h = self.eqs, self.eqs.functions["outputs"]
        forced = {eqs.outputs.names[i] for k in (3, 4, 5) for i in h.jac_sparsity(0, k).row()}
        known: dict[str, Quantity] = {}
        for k, (name, unit) in enumerate(zip(eqs.measures.names, eqs.measures.units, strict=True)):
            known[name] = Quantity(unit, 0)
            known[eqs.measure_rates.names[k]] = Quantity(eqs.measure_rates.units[k], 1)
            known[self._second(k)] = Quantity(_per(unit, 2), 2)
        order = np.zeros(eqs.ny, dtype=int)
        for level, argument in ((1, 1), (2, 2)):
            order[list(set(h.jac_sparsity(0, argument).row()))] = level
        for name, unit, level in zip(eqs.outputs.names, eqs.outputs.units, order, strict=True):
            if name not in forced:
                known[name] = Quantity(unit, int(level))
        for names, level in ((self.coordinates, 0), (self.rates, 1), (self.accelerations, 2)):
            for name, unit in zip(names.names, names.units, strict=True):
                known.setdefault(name, Quantity(unit, level))
        return forced, known

    def _check_freedom(self) -> None:
        """As many coordinates as degrees of freedom, independent at some pose near the drawing."""
        eqs, n = self.eqs, len(self.targets.names)
        random = np.random.default_rng(0)
        project = eqs.cached("projection kernel", lambda: Kernel(projection_function(eqs, 4)))
        still, q = np.zeros(eqs.nv), np.array(assemble(eqs).q)
        found, freedom = 0, eqs.nv
        for _ in range(3):  # the drawing may be a dead point: look beside it too
            J = self._stack(q, eqs.p, 0.0)[0]
            A = J[: len(eqs.rows)]
            found, freedom = max(found, rank(J)), min(freedom, eqs.nv - rank(A))
            Z = null_space(A)
            change = Z @ (0.05 * random.normal(size=Z.shape[1]))
            q = project(q + eqs.kernel("kinematics")(q, eqs.p, 0.0)[0] @ change, still, eqs.p, 0.0)[0]
        if n < freedom:
            raise ModelError(
                f"{eqs.name!r} has {freedom} degrees of freedom, but {n} independent coordinate{'s' * (n != 1)} "
                f"({', '.join(self.targets.names)}) are named. Name {freedom}."
            )
        if n > freedom or found < eqs.nv:
            raise ModelError(
                f"the coordinates {', '.join(self.targets.names)} are not independent in {eqs.name!r}, which has "
                f"{freedom} degree{'s' * (freedom != 1)} of freedom. Name as many that do not follow from one another."
            )

    def names(self, given: Any, what: str) -> list[str]:
        found: list[str] = []
        for name in [given] if isinstance(given, str) else list(given):
            full = self.eqs.full_name(name) if isinstance(name, str) else repr(name)
            parts = [f"{full}.{axis}" for axis in "xyz" if f"{full}.{axis}" in self.known]
            if full in self._forced:
                raise ModelError(
                    f"{what}: {full!r} depends on forces, which a kinematics-based observer does not know. "
                    "Name sensors of position, velocity or acceleration."
                )
            if full not in self.known and not parts:
                raise ModelError(f"{what}: {unknown_name('sensor or coordinate', full, self.known, repr(self.name))}")
            found += [full] if full in self.known else parts
        return found

    def close(self, pose: Any, z: Any, p: Any, t: Any) -> Any:
        return self.closing.close(pose, z, p, t)

    def gap(self, pose: Any, z: Any, p: Any, t: Any) -> Any:
        return self.closing.gap(pose, z, p, t)

    def values(self, names: Sequence[str], pose: Any, z: Any, zd: Any, zdd: Any, p: Any, t: Any) -> Any:
        eqs = self.eqs
        v, a = self.closing.motion(pose, zd, zdd, p, t)
        s, rate, S, bias = eqs.functions["measures"](pose, v, p, t)
        y = eqs.functions["outputs"](pose, v, a, *[SX.zeros(k) for k in (len(eqs.rows), eqs.nz, eqs.nu)], p, t)
        second = S @ a + bias
        entries = []
        own = {name: SX(x[k]) for channels, x in ((self.coordinates, z), (self.rates, zd), (self.accelerations, zdd))
               for k, name in enumerate(channels.names)}  # fmt: skip
        seconds = {self._second(k): k for k in range(len(eqs.measures))}
        for name in names:
            if name in own:
                entries.append(own[name])
            elif name in eqs.outputs.index:
                entries.append(y[eqs.outputs.index[name]])
            elif name in eqs.measures.index:
                entries.append(s[eqs.measures.index[name]])
            elif name in eqs.measure_rates.index:
                entries.append(rate[eqs.measure_rates.index[name]])
            else:
                entries.append(second[seconds[name]])
        return ca.densify(ca.vertcat(*entries)) if entries else SX.zeros(0, 1)

    def slopes(self, names: Sequence[str], pose: Any, z: Any, p: Any, t: Any) -> Any:
        n = len(self.coordinates)
        zd = SX.sym("zd", n)
        v, _ = self.closing.motion(pose, zd, SX.zeros(n), p, t)
        N, _ = self.eqs.functions["kinematics"](pose, p, t)
        h = self.values(names, pose, z, SX.zeros(n), SX.zeros(n), p, t)
        direct = ca.jacobian(h, z)  # rows that are z itself
        return ca.densify(direct + ca.jacobian(h, pose) @ (N @ ca.jacobian(v, zd)))

    def start(self, values: Mapping[str, float]) -> tuple[Array, Array]:
        """From the drawing step by step, so that loops stay closed the way they were drawn."""
        eqs = self.eqs
        q = np.array(assemble(eqs).q)
        at = self._stack(q, eqs.p, 0.0)[1]
        wanted = np.array([values.get(n, x) for n, x in zip(self.coordinates.names, at, strict=True)])
        steps = int(min(1e4, np.ceil(np.abs(wanted - at).max(initial=0.0) / LEAD)))
        gap = np.zeros(1)
        for part in np.linspace(0.0, 1.0, steps + 1)[1:]:
            q, gap = self._lead(q, at + part * (wanted - at), eqs.p, 0.0)
        if gap[0] <= OPEN * (1 + np.abs(q).max()):
            return wanted, q
        measures = {n: float(x) for n, x in values.items() if n in eqs.measures.index}
        try:  # the way from the drawing is barred: any other
            return wanted, np.array(assemble(eqs, measures).q)
        except AssemblyError as failure:
            raise ModelError(f"start: {failure}") from failure


class FormulaRelations:
    """Relations given as formulas h = Φ(z), differentiated exactly."""

    def __init__(
        self, function: Callable[[Any], Any], independent: Sequence[str], units: Mapping[str, str] | None = None
    ) -> None:
        units = dict(units or {})
        self.name = getattr(function, "__name__", "formula").replace("<lambda>", "formula")
        each = [units.get(name, "") for name in independent]
        self.coordinates = Channels(independent, each)
        self.rates = Channels([_dot(n, 1) for n in independent], [_per(u, 1) for u in each])
        self.accelerations = Channels([_dot(n, 2) for n in independent], [_per(u, 2) for u in each])
        self.pose = self.parameters = Channels((), ())
        self.parameter_values: tuple[float, ...] = ()
        z, zd, zdd, t = (SX.sym(name, size) for name, size in (("z", len(each)), ("zd", len(each)),
                                                               ("zdd", len(each)), ("t", 1)))  # fmt: skip
        given = call_user(function, f"kinematic formula {self.name!r}", _View(self.coordinates, z, t))
        if not isinstance(given, Mapping) or not given:
            raise ModelError(
                f"kinematic formula {self.name!r} must return a mapping from names to expressions, such as "
                f"{{'slider': 0.3 * da.sin(s['crank'])}}; got {given!r}."
            )
        known = {n: Quantity(u, k) for k, c in enumerate((self.coordinates, self.rates, self.accelerations))
                 for n, u in zip(c.names, c.units, strict=True)}  # fmt: skip
        expressions = {n: x[k] for c, x in ((self.coordinates, z), (self.rates, zd), (self.accelerations, zdd))
                       for k, n in enumerate(c.names)}  # fmt: skip
        for name, value in given.items():
            h = SX(value)
            if name in known or h.shape != (1, 1):
                raise ModelError(f"kinematic formula: {name!r} must be one new quantity (got shape {h.shape}).")
            hd = ca.jacobian(h, z) @ zd + ca.jacobian(h, t)
            hdd = ca.jacobian(h, z) @ zdd + ca.jacobian(hd, z) @ zd + ca.jacobian(hd, t)
            for level, one in enumerate((h, hd, hdd)):
                label = _dot(name, level)
                known[label], expressions[label] = Quantity(_per(units.get(name, ""), level), level), one
        self.known: Mapping[str, Quantity] = known
        self.told = tuple(name for name in known if name not in independent and not name.startswith(tuple(independent)))
        self._function = ca.Function(
            "formula", [z, zd, zdd, t], [ca.densify(ca.vertcat(*expressions.values()))], {"cse": True}
        )
        self._place = {name: k for k, name in enumerate(expressions)}

    def names(self, given: Any, what: str) -> list[str]:
        found = [given] if isinstance(given, str) else list(given)
        for name in found:
            if name not in self.known:
                raise ModelError(f"{what}: {unknown_name('quantity', name, self.known, repr(self.name))}")
        return found

    def close(self, pose: Any, z: Any, p: Any, t: Any) -> Any:
        return pose

    def gap(self, pose: Any, z: Any, p: Any, t: Any) -> Any:
        return SX(0)

    def values(self, names: Sequence[str], pose: Any, z: Any, zd: Any, zdd: Any, p: Any, t: Any) -> Any:
        return self._function(z, zd, zdd, t)[[self._place[name] for name in names]]

    def slopes(self, names: Sequence[str], pose: Any, z: Any, p: Any, t: Any) -> Any:
        n = len(self.coordinates)
        return ca.densify(ca.jacobian(self.values(names, pose, z, SX.zeros(n), SX.zeros(n), p, t), z))

    def start(self, values: Mapping[str, float]) -> tuple[Array, Array]:
        return np.array([float(values.get(n, 0.0)) for n in self.coordinates.names]), np.zeros(0)


class _View:
    """The argument ``s`` of a formula: ``s["crank"]``, ``s.t``."""

    def __init__(self, coordinates: Channels, z: Any, t: Any) -> None:
        self._coordinates, self._z, self.t = coordinates, z, t

    def __getitem__(self, name: str) -> Any:
        if name not in self._coordinates.index:
            raise ModelError(unknown_name("coordinate", name, self._coordinates.names, "a kinematic formula"))
        return self._z[self._coordinates.index[name]]


def _dot(name: str, level: int) -> str:
    if not level:
        return name
    last = name.rpartition(".")
    stem = last[0] if last[2] in ("angle", "displacement") else name
    return f"{stem}.{('', 'rate', 'acceleration')[level]}"


def _per(unit: str, level: int) -> str:
    return unit if not unit or not level else f"{unit}/s" if level == 1 else f"{unit}/s^2"


def relations_of(model: Any, independent: Any, units: Mapping[str, str] | None = None) -> Relations:
    """Relations of equations of motion, of a mechanism, or of a function that returns formulas."""
    from dalembert.equations import equations
    from dalembert.model import Mechanism

    names = [independent] if isinstance(independent, str) else list(independent)
    if not names:
        raise ModelError("independent= names no coordinate, such as independent=['A.angle'].")
    if isinstance(model, Mechanism):
        model = equations(model)
    if isinstance(model, EquationsOfMotion):
        return MachineRelations(model, names)
    if callable(model):
        return FormulaRelations(model, names, units)
    raise ModelError(
        f"a kinematic model is made from a da.Mechanism, equations of motion, or a function that returns formulas; "
        f"got {type(model).__name__}."
    )
