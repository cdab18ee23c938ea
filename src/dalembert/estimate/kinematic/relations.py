"""Relations of measured quantities to the independent coordinates z of a machine, from its joints or from formulas.

    h = Φ(z) ,     ḣ = S ż + … ,     ḧ = S z̈ + Ṡ ż + … ,     S = ∂Φ/∂z

No mass and no force appears. For a closed chain Φ has no formula: the pose q is part of the state and is closed by
Newton's method from the pose before, which keeps the way the loops are assembled,

    φ(q,t) = 0 ,  s(q,t) = z ;      [A; S_z] v = [… ; ż] ;      [A; S_z] v̇ = [b; z̈ - bias] ,

and S follows from these rows by implicit differentiation, exactly. Moving joints (drivers) may depend on time: the dots
above stand for what they add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import AssemblyError, ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.estimate.kinematic.closing import Closing
from dalembert.estimate.kinematic.quantities import Measurable, Relations, name_list
from dalembert.expressions import Array, Expr, Kernel, call_user
from dalembert.numerics import ties
from dalembert.record.units import per_second
from dalembert.solve.constrained.solve import projection_function
from dalembert.solve.motion.kinematics import null_space, rank
from dalembert.solve.position.assemble import assemble
from dalembert.solve.position.prescribed_motion import (
    Targets,
    acceleration_name,
    positional_outputs,
    target_function,
    targets_of,
)

SX = ca.SX


class MachineRelations:
    """Relations of a mechanism through its own joints.

    at : a state whose way of closing the loops is kept; None: that of the drawing.
    """

    def __init__(self, eqs: EquationsOfMotion, independent: Sequence[str], at: State | None = None) -> None:
        self.eqs, self.name = eqs, eqs.name
        self.begin: Array = np.array((assemble(eqs) if at is None else _require_own(eqs, at)).q)
        if not eqs.is_holonomic:
            raise ModelError(
                "not-supported",
                f"a kinematics-based observer needs constraints on positions; {eqs.name!r} has constraints on "
                "velocities or accelerations (rolling).",
                Advice("Use a filter on the equations of motion."),
            )
        self.targets = self._targets(independent)
        self.closing: Closing = eqs.cache(("closing", self.targets), lambda: Closing(eqs, self.targets))
        self._stack, self._lead = eqs.cache(("closing numbers", self.targets), self.closing.numbers)
        rates, units = [], []
        for name, k in zip(self.targets.names, self.targets.measures, strict=True):
            rates.append(f"{name}.rate" if k < 0 else eqs.measure_rates.names[k])
            units.append(eqs.outputs.units[eqs.outputs.index[name]] if k < 0 else eqs.measures.units[k])
        self.coordinates = Channels(self.targets.names, units)
        self.rates = Channels(rates, [per_second(u, 1) for u in units])
        seconds = [
            f"{name}.acceleration" if k < 0 else acceleration_name(rate, eqs.measure_rates.index)
            for name, rate, k in zip(self.targets.names, rates, self.targets.measures, strict=True)
        ]
        self.accelerations = Channels(seconds, [per_second(u, 2) for u in units])
        self.pose = Channels([f"pose.{n}" for n in eqs.coordinates.names], eqs.coordinates.units)
        self.parameters, self.parameter_values = eqs.parameters, eqs.parameter_values
        self.known: Mapping[str, Measurable]
        self._forced, self.known = self._catalogue()
        self._check_freedom()
        independent_names = {*self.coordinates.names, *self.rates.names, *self.accelerations.names}
        joints = [
            name
            for k in eqs.recorded_measures
            for name in (eqs.measures.names[k], eqs.measure_rates.names[k], self._second(k))
        ]
        sensors = [name for name in eqs.outputs.names if name in self.known]
        self.further = tuple(name for name in dict.fromkeys([*joints, *sensors]) if name not in independent_names)

    def _targets(self, independent: Sequence[str]) -> Targets:
        eqs = self.eqs
        positions = [*eqs.measures.names, *positional_outputs(eqs)]
        full = [eqs.full_name(name) for name in independent]
        for name, word in zip(full, independent, strict=True):
            if name not in positions:
                higher = name in eqs.measure_rates.index or name in eqs.outputs.index
                why = " Independent coordinates are positions." if higher else ""
                raise ModelError(
                    "unknown-name", f"independent: {unknown_name('coordinate', word, positions, repr(eqs.name))}{why}"
                )
            if full.count(name) > 1:
                raise ModelError("duplicate", f"the independent coordinates name {name!r} twice.")
        return targets_of(eqs, full)

    def _second(self, k: int) -> str:
        return acceleration_name(self.eqs.measure_rates.names[k], self.eqs.measure_rates.index)

    def _catalogue(self) -> tuple[set[str], dict[str, Measurable]]:
        """Outputs that need forces, and every quantity that needs motion only."""
        eqs, h = self.eqs, self.eqs.functions["outputs"]
        forced = {eqs.outputs.names[i] for k in (3, 4, 5) for i in h.jac_sparsity(0, k).row()}
        catalogue: dict[str, Measurable] = {}
        moving = {i for k in (0, 1, 2) for i in h.jac_sparsity(0, k).row()}
        self._still = {name for k, name in enumerate(eqs.outputs.names) if k not in moving} - forced
        for k, (name, unit) in enumerate(zip(eqs.measures.names, eqs.measures.units, strict=True)):
            catalogue[name] = Measurable(unit, 0)
            catalogue[eqs.measure_rates.names[k]] = Measurable(eqs.measure_rates.units[k], 1)
            catalogue[self._second(k)] = Measurable(per_second(unit, 2), 2)
        order = np.zeros(eqs.ny, dtype=int)
        for level, argument in ((1, 1), (2, 2)):
            order[list(set(h.jac_sparsity(0, argument).row()))] = level
        for name, unit, level in zip(eqs.outputs.names, eqs.outputs.units, order, strict=True):
            if name not in forced and name not in self._still:
                catalogue[name] = Measurable(unit, int(level))
        for names, level in ((self.coordinates, 0), (self.rates, 1), (self.accelerations, 2)):
            for name, unit in zip(names.names, names.units, strict=True):
                catalogue.setdefault(name, Measurable(unit, level))
        return forced, catalogue

    def _check_freedom(self) -> None:
        """As many coordinates as degrees of freedom, independent at some pose near the drawing."""
        eqs, n = self.eqs, len(self.targets.names)
        random = np.random.default_rng(0)
        project = eqs.cache("projection kernel", lambda: Kernel(projection_function(eqs, 4)))
        still, q = np.zeros(eqs.nv), self.begin
        determined, freedom = 0, eqs.nv
        for _ in range(3):  # it may be a dead point: look beside it too
            J = self._stack(q, eqs.p, 0.0)[0]
            A = J[: len(eqs.rows)]
            determined, freedom = max(determined, rank(J)), min(freedom, eqs.nv - rank(A))
            Z = null_space(A)
            change = Z @ (0.05 * random.normal(size=Z.shape[1]))
            q = project(q + eqs.kernel("kinematics")(q, eqs.p, 0.0)[0] @ change, still, eqs.p, 0.0)[0]
        if n < freedom:
            raise ModelError(
                "dependent-coordinates",
                f"{eqs.name!r} has {freedom} degrees of freedom, but {n} independent coordinate{'s' * (n != 1)} "
                f"({', '.join(self.targets.names)}) are named.",
                Advice(f"Name {freedom}."),
            )
        if n > freedom or determined < eqs.nv:
            raise ModelError(
                "dependent-coordinates",
                f"the coordinates {', '.join(self.targets.names)} are not independent in {eqs.name!r}, which has "
                f"{freedom} degree{'s' * (freedom != 1)} of freedom.",
                Advice("Name as many that do not follow from one another."),
            )

    def names(self, given: object, what: str) -> list[str]:
        sensors: list[str] = []
        for name in name_list(given, what):
            full = self.eqs.full_name(name)
            parts = [f"{full}.{axis}" for axis in "xyz" if f"{full}.{axis}" in self.known]
            if full in self._forced or full in self.eqs.inputs.index:
                how = "depends on forces" if full in self._forced else "is a force put on the machine"
                raise ModelError(
                    "needs-forces",
                    f"{what}: {full!r} {how}, which a kinematics-based observer has not.",
                    Advice("Name sensors of position, velocity or acceleration."),
                    where={"name": full},
                )
            if full in self._still:
                raise ModelError("unobservable", f"{what}: {full!r} does not depend on the motion of {self.name!r}.")
            if full not in self.known and not parts:
                raise ModelError(
                    "unknown-name", f"{what}: {unknown_name('sensor or coordinate', full, self.known, repr(self.name))}"
                )
            sensors += [full] if full in self.known else parts
        return sensors

    def close(self, pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        return self.closing.close(pose, z, p, t)

    def gap(self, pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        return self.closing.gap(pose, z, p, t)

    def values(self, names: Sequence[str], pose: Expr, z: Expr, zd: Expr, zdd: Expr, p: Expr, t: Expr) -> Expr:
        eqs = self.eqs
        v, a = self.closing.motion(pose, zd, zdd, p, t)
        s, rate, S, bias = eqs.functions["measures"](pose, v, p, t)
        y = eqs.functions["outputs"](pose, v, a, *[SX.zeros(k) for k in (len(eqs.rows), eqs.nz, eqs.nu)], p, t)
        second = S @ a + bias
        entries = []
        direct = {name: SX(x[k]) for channels, x in ((self.coordinates, z), (self.rates, zd), (self.accelerations, zdd))
               for k, name in enumerate(channels.names)}  # fmt: skip
        seconds = {self._second(k): k for k in range(len(eqs.measures))}
        for name in names:
            if name in direct:
                entries.append(direct[name])
            elif name in eqs.outputs.index:
                entries.append(y[eqs.outputs.index[name]])
            elif name in eqs.measures.index:
                entries.append(s[eqs.measures.index[name]])
            elif name in eqs.measure_rates.index:
                entries.append(rate[eqs.measure_rates.index[name]])
            else:
                entries.append(second[seconds[name]])
        return ca.densify(ca.vertcat(*entries)) if entries else SX.zeros(0, 1)

    def slopes(self, names: Sequence[str], pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        n = len(self.coordinates)
        zd = SX.sym("zd", n)
        v, _ = self.closing.motion(pose, zd, SX.zeros(n), p, t)
        N, _ = self.eqs.functions["kinematics"](pose, p, t)
        h = self.values(names, pose, z, SX.zeros(n), SX.zeros(n), p, t)
        direct = ca.jacobian(h, z)  # rows that are z itself
        return ca.densify(direct + ca.jacobian(h, pose) @ (N @ ca.jacobian(v, zd)))

    def read(self, state: State) -> dict[str, float]:
        eqs = self.eqs
        _require_own(eqs, state)
        kernel = eqs.cache(("reading", self.targets), lambda: Kernel(target_function(eqs, self.targets)))
        z, zd = kernel(state.q, state.v, eqs.p, state.t)[:2]
        return {n: float(x) for c, values in ((self.coordinates, z), (self.rates, zd))
                for n, x in zip(c.names, values.ravel(), strict=True)}  # fmt: skip

    def start(
        self,
        values: Mapping[str, float],
        begin: Array | None = None,
        lead: float = 0.05,  # longest step of a coordinate on the way from the drawing to a start [rad or m]
        most: float = 1e4,  # of these steps: 500 rad
        closed: float = 1e-10,  # gap of a pose, times (1 + largest coordinate)
    ) -> tuple[Array, Array]:
        """Step by step from where the loops are closed as they should be, so that they stay closed that way."""
        eqs = self.eqs
        q = np.array(self.begin if begin is None else begin)
        at = self._stack(q, eqs.p, 0.0)[1]
        wanted = np.array([values.get(n, x) for n, x in zip(self.coordinates.names, at, strict=True)])
        steps = int(min(most, np.ceil(np.abs(wanted - at).max(initial=0.0) / lead)))
        gap = np.zeros(1)
        for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
            q, gap = self._lead(q, at + share * (wanted - at), eqs.p, 0.0)
        if not gap[0] <= closed * (1 + np.abs(q).max()):
            measures = {n: float(x) for n, x in values.items() if n in eqs.measures.index}
            try:  # the straight way is barred: any other
                q = np.array(assemble(eqs, measures).q)
            except AssemblyError as failure:
                raise ModelError(failure.code, f"start: {failure.finding.problem}", *failure.advice) from failure
        self._check_regular(q, wanted)
        return wanted, q

    def follow(self, z: Array, times: Array, begin: Array | None = None, passes: int = 2) -> tuple[Array, Array]:
        """Poses (K, nq) at coordinates z (K, n) one after another, each led to from the last, and their gaps.

        passes : calls of Newton's method from pose to pose of a record, whose steps may be long.
        """
        eqs = self.eqs
        q = self.begin if begin is None else begin
        poses, gaps = np.empty((len(z), eqs.nq)), np.empty(len(z))
        for k, row in enumerate(z):
            for _ in range(passes):
                q, gap = self._lead(q, row, eqs.p, times[k])
            poses[k], gaps[k] = q, gap[0]
        return poses, gaps

    def _check_regular(self, q: Array, z: Array, dead: float = 1e-6, good: float = 1e-4) -> None:
        """Whether the independent coordinates fix the pose at q: how far each free motion moves them.

        dead : of a coordinate's own gradient: less motion than this leaves the pose open.
        good : of the same; other coordinates are advised where they are 100 times better.
        """
        eqs, nr = self.eqs, len(self.eqs.rows)
        J = self._stack(q, eqs.p, 0.0)[0]
        free = null_space(J[:nr])
        if _least(J[nr:] @ free, J[nr:]) > dead:
            return
        s = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, 0.0)[2].reshape(-1, eqs.nv)
        joints = [k for k in eqs.recorded_measures if np.linalg.norm(s[k]) > 0]
        moved = s[joints] @ free / np.linalg.norm(s[joints], axis=1)[:, None]
        better = [joints[k] for k in ties.pivot_columns(moved.T)[1][: free.shape[1]]] if joints else []
        hint = ""
        if len(better) == free.shape[1] and _least(s[better] @ free, s[better]) > good:
            hint = f", such as {', '.join(eqs.measures.names[k] for k in sorted(better))}"
        here = ", ".join(f"{n} = {x:.4g}" for n, x in zip(self.coordinates.names, z, strict=True))
        raise ModelError(
            "dead-point",
            f"at the initial pose ({here}) the independent coordinates are at a dead point: {eqs.name!r} can move "
            "while they are constant.",
            Advice(f"Name others{hint}."),
            Advice("Or choose another initial pose with {}.", Argument("start")),
        )


def _require_own(eqs: EquationsOfMotion, at: State) -> State:
    if at.eqs.coordinates.names != eqs.coordinates.names:
        raise ModelError("wrong-owner", f"start belongs to equations {at.eqs.name!r}, not to {eqs.name!r}.")
    return at


def _least(moved: Array, rows: Array) -> float:
    """Smallest singular value of what free motions make of coordinates, each row over the size of its gradient."""
    return float(np.linalg.svd(moved / np.linalg.norm(rows, axis=1)[:, None], compute_uv=False)[-1])


def find_relations(
    model: object, independent: object, units: Mapping[str, str] | None = None, at: State | None = None
) -> Relations:
    """Relations of equations of motion, of a mechanism, or of a function that returns formulas."""
    from dalembert.mechanics import equations
    from dalembert.model import Mechanism

    names = name_list(independent, "independent")
    if not names:
        raise ModelError("empty", "no independent coordinate is named.")
    if isinstance(model, Mechanism):
        model = equations(model)
    if isinstance(model, EquationsOfMotion):
        return MachineRelations(model, names, at)
    if callable(model):
        return FormulaRelations(model, names, units)
    problem = "a kinematic model is made from a mechanism, equations of motion, or a function of formulas; got "
    raise ModelError("wrong-type", f"{problem}{type(model).__name__}.")


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
        formulas = call_user(function, f"kinematic formula {self.name!r}", _FormulaView(self.coordinates, z, t))
        if not isinstance(formulas, Mapping) or not formulas:
            problem = f"formula {self.name!r} must return a mapping of names to expressions, got {formulas!r}."
            raise ModelError("wrong-type", problem)
        catalogue = {n: Measurable(u, k) for k, c in enumerate((self.coordinates, self.rates, self.accelerations))
                 for n, u in zip(c.names, c.units, strict=True)}  # fmt: skip
        expressions = {n: x[k] for c, x in ((self.coordinates, z), (self.rates, zd), (self.accelerations, zdd))
                       for k, n in enumerate(c.names)}  # fmt: skip
        for name, value in formulas.items():
            h = SX(value)
            if name in catalogue or h.shape != (1, 1):
                problem = f"kinematic formula: {name!r} must be one new quantity, got shape {h.shape}."
                raise ModelError("taken-name" if name in catalogue else "wrong-shape", problem)
            hd = ca.jacobian(h, z) @ zd + ca.jacobian(h, t)
            hdd = ca.jacobian(h, z) @ zdd + ca.jacobian(hd, z) @ zd + ca.jacobian(hd, t)
            for level, expression in enumerate((h, hd, hdd)):
                label = _dot(name, level)
                catalogue[label] = Measurable(per_second(units.get(name, ""), level), level)
                expressions[label] = expression
        self.known: Mapping[str, Measurable] = catalogue
        self.further = tuple(
            name for name in catalogue if name not in independent and not name.startswith(tuple(independent))
        )
        self._function = ca.Function(
            "formula", [z, zd, zdd, t], [ca.densify(ca.vertcat(*expressions.values()))], {"cse": True}
        )
        self._place = {name: k for k, name in enumerate(expressions)}

    def names(self, given: object, what: str) -> list[str]:
        quantities = name_list(given, what)
        for name in quantities:
            require_name("quantity", name, self.known, repr(self.name), error=ModelError, argument=what)
        return quantities

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
        require_name("coordinate", name, self._coordinates.names, "a kinematic formula", error=ModelError)
        return self._z[self._coordinates.index[name]]


def _dot(name: str, level: int) -> str:
    if not level:
        return name
    last = name.rpartition(".")
    stem = last[0] if last[2] in ("angle", "displacement") else name
    return f"{stem}.{('', 'rate', 'acceleration')[level]}"
