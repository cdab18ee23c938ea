"""Equations of motion of a planar model.

    q̇ = N v + n ,   M v̇ = f + Aᵀ λ      M constant: T = Σ ½ m ṙ² + ½ I ω² in velocities of nodes and spins

Rows, at position level where they can be: p_k - p_1 - R(θ) s_k of the nodes of a body, p_b - p_a - s e(θ) of a slider,
φ - (θ_b - θ_a) of an active revolute joint. Orsino 2016 (5.24 to 5.32) writes the same rows at velocity level, and
lengths between nodes at position level; with an angle beside every spin both are one, and runs project on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.declare import instance
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import (
    HOLONOMIC,
    VELOCITY,
    Channels,
    EquationsOfMotion,
    JointInfo,
    Row,
    equations,
    equations_from_expressions,
)
from dalembert.expressions import Expr
from dalembert.symbolic.planar.drawing import describe_scene
from dalembert.symbolic.planar.element import locate_center, rotate, turn
from dalembert.symbolic.planar.model import PRISMATIC, REVOLUTE
from dalembert.symbolic.planar.model import PlanarModel as PlanarModel  # with the equations that are registered here
from dalembert.symbolic.planar.node_names import GROUND, join_node
from dalembert.symbolic.planar.parts import PlanarBody
from dalembert.symbolic.planar.reduction import PlanarReduction, is_open
from dalembert.symbolic.text.read import require_affine, require_symbols

SX = ca.SX


def column(values: Sequence[Any]) -> Any:
    """(n, 1) of expressions, also of none."""
    return ca.vertcat(*values) if len(values) else SX.zeros(0, 1)


class PlanarEquations:
    """The expressions of one planar model in its variables."""

    def __init__(self, m: PlanarModel) -> None:
        instance(PlanarModel)("model", m)
        if len(m.bodies) < 2:
            advice = Advice("Add bodies by {}.", Call("m.add_bar"), Call("m.add_body"))
            raise ModelError("no-bodies", f"model {m.name!r} has no bodies.", advice)
        self.m, self.reduction = m, PlanarReduction(m)
        variables, user_coordinates = self.reduction.variables, m.own_coordinates
        self.coordinates = Channels(
            {**{x.name: x.unit for x in variables}, **{k: x.unit for k, x in user_coordinates.items()}}
        )
        rates = {x.rate_name: f"{x.unit}/s" for x in variables}
        self.speeds = Channels({**rates, **{name: x.unit for name, x in m.own_speeds.items()}})
        self.q = column([*(x.symbol for x in variables), *(x.symbol for x in user_coordinates.values())])
        self.v = column([*(x.rate for x in variables), *(x.symbol for x in m.own_speeds.values())])
        self.u = column([symbol for symbol, _ in m.inputs.values()])
        self.p = column([symbol for symbol, _ in m.parameters.values()])
        self.a = SX.sym("a", len(self.speeds))
        self._allowed = {x.element_hash() for symbols in (self.q, self.v, self.u, self.p, m.time)
                         for x in ca.symvar(symbols)}  # fmt: skip
        self._without_inputs = self._allowed - {x.element_hash() for x in ca.symvar(self.u)}
        self._kinematics()
        self.q_drawn = m.numbers(
            [*(x.start for x in variables), *(SX(x.start) for x in user_coordinates.values())], "the drawing"
        )
        self._inertia()
        self._rows()

    def reduce(self, value: Expr, what: str) -> Any:
        """An expression in the variables; a symbol without a variable is refused."""
        reduced = self.reduction(value)
        foreign = [x for x in ca.symvar(reduced) if x.element_hash() not in self._allowed]
        if foreign:
            name = str(foreign[0])
            problem = f"{what} depends on {name!r}: a body of one node without inertia is a particle without an angle."
            advice = Advice("Give the body an inertia, or a second node.")
            raise ModelError("massless-body", problem, advice, where={"symbol": name})
        return reduced

    def rate(self, value: Expr) -> Any:
        """Time derivative of an expression of q and t."""
        return ca.jtimes(value, self.q, self.qdot) + ca.jacobian(value, self.m.time)

    def _kinematics(self) -> None:
        rate_values = []
        for name, coordinate in self.m.own_coordinates.items():
            value = self.reduce(coordinate.rate, f"the rate of coordinate {name!r}")
            what = f"the rate of coordinate {name!r}"
            require_affine(value, self.v, what, "the speeds", "not-linear", coordinate=name)
            same = self.m.own_speeds.get(f"{name}.rate")
            if same is not None and not ca.is_equal(value, same.symbol):
                problem = f"the speed '{name}.rate' has the name of the rate of {name!r} and is another quantity."
                raise ModelError("taken-name", problem, where={"speed": f"{name}.rate"})
            require_symbols(value, what, self._without_inputs, "an input, which it must not")
            rate_values.append(value)
        count = len(self.reduction.variables)
        rates = column(rate_values)
        N = ca.vertcat(
            ca.horzcat(SX.eye(count), SX(count, len(self.m.own_speeds))), ca.sparsify(ca.jacobian(rates, self.v))
        )
        self.N = ca.sparsify(N)
        n = ca.substitute(rates, self.v, SX.zeros(self.v.shape))
        self.n = ca.vertcat(SX(count, 1), n)
        self.qdot = self.N @ self.v + self.n

    # -- inertia and forces ------------------------------------------------------------------------------------------
    def center(self, body: PlanarBody, *, velocity: bool = False) -> Any:
        """(2,) place or velocity of the centre of mass."""
        values = body.velocities if velocity else body.positions
        i, j = body.between
        return locate_center(values[i - 1], values[j - 1], *body.center)

    def _inertia(self) -> None:
        m = self.m
        kinetic, potential, f = SX(0), SX(0), SX(len(self.speeds), 1)
        for body in list(m.bodies.values())[1:]:
            what = f"body {body.name!r}"
            velocity = self.reduce(self.center(body, velocity=True), what)
            kinetic += 0.5 * body.mass * ca.dot(velocity, velocity)
            if not body.inertia.is_zero():
                kinetic += 0.5 * body.inertia * self.reduce(body.rate, what) ** 2
            potential -= body.mass * ca.dot(m.gravity, self.reduce(self.center(body), what))
            f += ca.jtimes(velocity, self.v, body.mass * m.gravity, True)
        self.weight = f
        for speed in m.own_speeds.values():
            kinetic += 0.5 * speed.inertia * speed.symbol**2
        efforts = [(effort.velocity, effort.value, effort.name) for effort in m.efforts]
        efforts += [(j.rate, m.inputs[j.input][0], j.name) for j in m.joints.values() if j.input]
        efforts += [(x.symbol, x.force, name) for name, x in m.own_speeds.items() if not x.force.is_zero()]
        for velocity, value, name in efforts:
            what = f"the force {name!r}"
            f = f + ca.jtimes(self.reduce(velocity, what), self.v, self.reduce(value, what), True)
        self.M = ca.sparsify(ca.jacobian(ca.gradient(kinetic, self.v), self.v))
        self.f, self.kinetic, self.potential = f, kinetic, potential

    # -- rows --------------------------------------------------------------------------------------------------------
    def _rows(self) -> None:
        m, reduction = self.m, self.reduction
        position: list[tuple[str, Any]] = []
        velocity: list[tuple[str, Any]] = []
        for body in list(m.bodies.values())[1:]:
            for k in range(1, len(body.places)):
                gap = body.positions[k] - body.positions[0] - rotate(body.angle, reduction.shapes[body.name][1][k])
                position.append((f"body {body.name}", gap))
        for joint in m.joints.values():
            a, b = m.bodies[joint.a[0]], m.bodies[joint.b[0]]
            apart = b.positions[joint.b[1] - 1] - a.positions[joint.a[1] - 1]
            if joint.kind != REVOLUTE:
                position.append((joint.name, apart - joint.coordinate * reduction.direction(joint)))
                continue
            if joint.apart:
                position.append((joint.name, apart))
            if joint.input:
                position.append((f"{joint.name}.angle", joint.coordinate - (b.angle - a.angle)))
        for name, value in m.constraints.items():
            reduced = self.reduce(value, f"constraint {name!r}")
            self._check_row(name, reduced)
            (velocity if ca.depends_on(reduced, self.v) else position).append((name, value))
        for name, (value, wanted) in m.drivers.items():
            if ca.depends_on(self.reduce(value, f"driver {name!r}"), self.v):
                problem = f"driver {name!r} prescribes a speed; a driver prescribes a coordinate."
                raise ModelError("wrong-level", problem, where={"driver": name})
            position.append((name, value - wanted))
        self.holonomic, self.nonholonomic = (self._by_owner(rows) for rows in (position, velocity))
        self.row_tags = [
            Row(owner, level, k)
            for level, rows in ((HOLONOMIC, self.holonomic), (VELOCITY, self.nonholonomic))
            for owner, value in rows.items()
            for k in range(value.shape[0])
        ]
        self.phi = column(list(self.holonomic.values()))
        rates = ca.vertcat(self.rate(self.phi), column(list(self.nonholonomic.values())))
        self.A = ca.sparsify(ca.jacobian(rates, self.v))
        self.b = -self.rate(rates)
        self._check_drawn()

    def _by_owner(self, rows: list[tuple[str, Any]]) -> dict[str, Any]:
        """Rows of every owner in one column, in the variables."""
        columns: dict[str, Any] = {}
        for owner, value in rows:
            columns[owner] = ca.vertcat(columns.get(owner, SX(0, 1)), self.reduce(value, owner))
        return columns

    def _check_row(self, name: str, value: Expr) -> None:
        require_symbols(value, f"constraint {name!r}", self._without_inputs, "an input, which it must not")
        if not ca.depends_on(value, ca.vertcat(self.q, self.v)):
            problem = f"constraint {name!r} constrains nothing: the joints make it a constant."
            raise ModelError("independent-constraint", problem, where={"constraint": name})

    def _check_drawn(self) -> None:
        """Joints are closed as drawn, unless the drawing is only a first guess."""
        m = self.m
        if any(body.length is not None for body in m.bodies.values()):
            return
        residuals = ca.Function("drawn", [self.q, self.p, m.time], [ca.densify(self.phi)])
        gaps = np.abs(np.array(residuals(self.q_drawn, [x for _, x in m.parameters.values()], 0.0)).ravel())
        joints = [k for k, row in enumerate(self.row_tags[: gaps.size]) if row.owner in m.joints]
        worst = max(joints, key=lambda k: gaps[k], default=None)
        if worst is not None and is_open(gaps[worst], 1 + float(np.abs(self.q_drawn).max())):
            name = self.row_tags[worst].owner
            raise ModelError(
                "joint-open", f"joint {name!r} is open in the drawing: node {join_node(m.joints[name].b)} is drawn "
                f"{gaps[worst]:.3g} m beside its guide.", Advice("Correct the places of its nodes."),
                where={"joint": name}, evidence={"gap": float(gaps[worst])},
            )  # fmt: skip

    # -- names for users -----------------------------------------------------------------------------------------------
    def measures(self) -> list[tuple[str, str, str, Any]]:
        """Name, name of the rate, unit and value of every quantity that a run records or a motion prescribes."""
        m, reduction = self.m, self.reduction
        quantities = [(name, f"{name}.rate", x.unit, x.symbol) for name, x in m.own_coordinates.items()]
        for joint in m.joints.values():
            turns = joint.kind == REVOLUTE
            if not turns or all(reduction.has_angle(node[0]) for node in (joint.a, joint.b)):
                kind, rate, unit = ("angle", "rate", "rad") if turns else ("displacement", "speed", "m")
                quantities.append((f"{joint.name}.{kind}", f"{joint.name}.{rate}", unit, joint.coordinate))
        for body in list(m.bodies.values())[1:]:
            turning = body.angle if reduction.has_angle(body.name) else SX(0)
            quantities.append((f"{body.name}.angle", f"{body.name}.rate", "rad", turning))
        for body in list(m.bodies.values())[1:]:
            place = self.center(body)
            quantities += [(f"{body.name}.{c}", f"{body.name}.v{c}", "m", place[k]) for k, c in enumerate("xy")]
        for x in reduction.variables:
            if x.unit == "m" and x.name.endswith((".x", ".y")):
                quantities.append((x.name, x.rate_name, x.unit, x.symbol))
        return [(name, rate, unit, self.reduce(value, name)) for name, rate, unit, value in quantities]


@equations.register
def equations_of_linkage(model: PlanarModel) -> EquationsOfMotion:
    """Equations of a planar model in coordinates of its nodes and angles of its bodies."""
    e, m = PlanarEquations(model), model
    owners: dict[str, list[int]] = {}
    for k, row in enumerate(e.row_tags):
        owners.setdefault(row.owner, []).append(k)
    lam = SX.sym("lam", len(e.row_tags))
    reactions: list[tuple[str, str, Any]] = []
    joints, axes = [], []
    for joint in m.joints.values():
        rows = owners.get(joint.name, [])
        is_complete = (
            bool(rows) and joint.kind != PRISMATIC
        )  # both bodies of a slider have one angle: no row has its torque
        bodies = (_shown_body(joint.a[0]), _shown_body(joint.b[0]))
        joints.append(JointInfo(joint.name, joint.kind, tuple(rows), bodies, len(reactions) if is_complete else -1))
        reactions += [(f"{joint.name}.force.{c}", "N", lam[k]) for c, k in zip("xy", rows, strict=False)]
        reactions += [(f"{joint.name}.torque.z", "N m", SX(0))] * is_complete
        way = SX([1, 0]) if joint.end is None else e.reduce(e.reduction.direction(joint), joint.name)
        axes.append(ca.horzcat(way, turn(way)))
    units = dict(zip(e.coordinates.names, e.coordinates.units, strict=True))
    for name, (driven, _) in m.drivers.items():
        unit = "N" if units.get(str(driven)) == "m" else "N m"
        reactions.append((f"{name}.effort", unit, lam[owners[name][0]]))
    shorthands = {
        f"{join_node(node)}.{c}": f"{join_node(root)}.{c}"
        for node, root in e.reduction.roots.items()
        if node != root and root[0] != GROUND
        for c in ("x", "y", "vx", "vy")
    }
    measures = e.measures()
    eqs = equations_from_expressions(
        m.name, q=e.q, v=e.v, u=e.u, p=e.p, t=m.time, lam=lam, M=e.M, f=e.f, N=e.N, n=e.n, phi=e.holonomic,
        c=e.nonholonomic, kinetic=e.kinetic, potential=e.potential,
        outputs={name: e.reduce(value, f"sensor {name!r}") for name, (value, _) in m.sensors.items()},
        measures={name: value for name, _, _, value in measures},
        parameter_values={name: value for name, (_, value) in m.parameters.items()},
        units={
            **units, **dict(zip(e.speeds.names, e.speeds.units, strict=True)),
            **{name: unit for named in (m.inputs, m.sensors) for name, (_, unit) in named.items()},
            **{name: unit for name, _, unit, _ in measures},
        },
        drawn=dict(zip(e.coordinates.names, e.q_drawn.tolist(), strict=True)),
        measure_rates=Channels([x[1] for x in measures], [f"{x[2] or 1}/s" for x in measures]),
        recorded_measures=tuple(range(len(measures))), joints=tuple(joints), drivers=tuple(m.drivers),
        shorthands=shorthands, scene=describe_scene(e),
    )  # fmt: skip
    if not reactions:
        return eqs
    z, a = SX.sym("z", 0), SX.sym("a", e.v.shape[0])
    arguments = [e.q, e.v, a, lam, z, e.u, e.p, m.time]
    forces = ca.Function("reactions", arguments, [column([value for *_, value in reactions])])
    directions = ca.Function("joint_axes", [e.q, e.p, m.time], [ca.densify(ca.horzcat(SX(2, 0), *axes))])
    return replace(
        eqs, functions={**eqs.functions, "reactions": forces, "joint_axes": directions},
        reaction_channels=Channels([x[0] for x in reactions], [x[1] for x in reactions]),
    )  # fmt: skip


def _shown_body(name: str) -> str:
    return "ground" if name == GROUND else name
