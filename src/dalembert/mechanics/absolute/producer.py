"""Equations of a Mechanism in absolute coordinates.

Every body adds its own coordinates and a mass block; every joint adds rows for two bodies
(the block-diagonal A of eq. 2.245 in Pappalardo 2011 is valid only for joints between a body and the ground).
q and v contain the rigid motion of all bodies, then the elastic coordinates of flexible ones, then all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from dalembert.core.findings import Finding
from dalembert.equations import (
    HOLONOMIC,
    VELOCITY,
    CarriedOrientation,
    Channels,
    DryFriction,
    EquationsOfMotion,
    FunctionSource,
    Placement,
    QuaternionBlock,
)
from dalembert.expressions import Expr, Quantity
from dalembert.mechanics.absolute.build_equations import build_equations, scatter_blocks
from dalembert.mechanics.absolute.constraints import (
    add_coupler,
    add_driver,
    add_rotor,
    add_user_constraint,
    general_rows,
)
from dalembert.mechanics.absolute.idle import Spin, find_spins, massless_spins
from dalembert.mechanics.absolute.placement import place_mechanism
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.bodies.body_kernels import CallList, SharedBody, repeats_bodies
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.bodies.rigid import Ground, RigidBody
from dalembert.mechanics.forces import FORCE_EQUATIONS, ForceBuilder
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, joint_frames, joint_kernel
from dalembert.mechanics.joints.reactions import reaction_of_rows
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.mechanics.rows import Form, Measured, RowSet
from dalembert.mechanics.user_view import StateView
from dalembert.model import Body, BodyFrame, Mechanism, Point
from dalembert.model.bodies import Place
from dalembert.model.check import coordinate_names, input_unit, mode_names
from dalembert.model.forces import Rotor
from dalembert.model.joints import Joint

SX = ca.SX

ROUNDING = 4e-15  # components below this share of the largest are zeros that a few rotations have rounded


def without_rounding(values: Sequence[Any]) -> list[Any]:
    """Components of a vector, with zero for those that are rounding errors: a zero needs no operations."""
    largest = max((abs(x) for x in values if isinstance(x, float)), default=0.0)
    return [0.0 if isinstance(x, float) and abs(x) <= ROUNDING * largest else x for x in values]


def dry_friction(m: Mechanism) -> list[DryFriction]:
    """Every coordinate with Coulomb friction, and every contact."""
    joints = {joint.name: joint for joint in m.joints}
    return [one for force in m.forces for one in FORCE_EQUATIONS[force.kind].dry(force, joints)]


class Absolute:
    """Collects the expressions of one mechanism; `build` turns them into equations."""

    remarks: Sequence[Finding] = ()  # about the choice of coordinates

    tree: FunctionSource | None = None

    def __init__(self, m: Mechanism, *, sticking: bool = False, kernels: bool | None = None) -> None:
        m.validate()
        self.m = m
        self.calls: CallList | None = None
        self._kernels = repeats_bodies(m.bodies, m.planar) if kernels is None else kernels
        self.dry = dry_friction(m)
        self.exact = [d for d in self.dry if d.speed is None] if sticking else []
        self.sticking: dict[tuple[str, str], tuple[int, Any]] = {}  # row and direction of sliding
        self.space = Space(m.planar)
        self.body_index = {id(body): k for k, body in enumerate(m.bodies)}
        self.names = coordinate_names(m)
        self.spins = find_spins(m)
        self.measured: dict[str, Measured] = {}
        self.row_units: dict[str, str] = {}
        self._layout()
        self.rows = RowSet(self.nv)
        self.joints: dict[str, tuple[Joint, tuple[int, ...], dict[str, Any]]] = {}

    # -- layout -----------------------------------------------------------------------------------------------------
    def _name_states(self) -> None:
        """Names of everything that does not depend on the choice of coordinates of rigid motions."""
        m = self.m
        self.elastic = {id(b): mode_names(b) for b in m.bodies if b.flexible is not None}
        self.modes = [name for names in self.elastic.values() for name in names]
        self.extra = [(v.name, v.start, 0.0, "") for v in m.variables]  # name, start, mass, unit
        for joint in m.joints:
            units = {c.name: c.unit for c in joint.coordinates}
            for own, start in joint.declaration.variables:
                self.extra.append((f"{joint.name}.{own}", joint.options[start], 0.0, units[own]))
        internal = [state for force in m.forces for state in force.states()]
        rotors = [(force.name, rotor) for force in m.forces for rotor in force.rotors()]
        self.rotors = [one for one in rotors if self.turns_apart(one[1])]
        self.extra += [(rotor.name, 0.0, rotor.inertia, "rad") for _, rotor in self.rotors]
        self.gears = {self.names[rotor.coordinate]: rotor for _, rotor in rotors if rotor.deflection}
        units = {f"{joint.name}.{c.name}": c.unit for joint in m.joints for c in joint.coordinates}
        units |= {f"{body.name}.angle": "rad" for body in m.bodies}
        self.extra += [(gear.deflection, 0.0, 0.0, units.get(name, "m")) for name, gear in self.gears.items()]
        # joint angles in space come from atan2; an extra coordinate per joint counts its turns
        self.turning = [
            (joint, k)
            for joint in m.joints
            for k, c in enumerate(joint.coordinates)
            if c.unit == "rad" and not m.planar and c.name not in dict(joint.declaration.variables)
            if self.has_rows(joint)
        ]
        # nothing moves while a coordinate sticks: error control follows the load by the impulse of its friction
        internal += [(f"{d.sliding}.holding", f"{d.unit} s") for d in self.exact]
        self.internal = Channels([n for n, _ in internal], [u for _, u in internal])
        self.inputs = Channels(m.inputs(), [input_unit(m, name) for name in m.inputs()])
        parameters = [*m.parameters, *(d.sliding for d in self.exact)]
        self.parameters = Channels(parameters, [""] * len(parameters))

    def has_rows(self, joint: Joint) -> bool:
        """Whether constraint rows close the joint."""
        return True

    def turns_apart(self, rotor: Rotor) -> bool:
        """Whether a rotor has a coordinate of its own, which a row couples to its joint."""
        return True

    def needs_kernel(self, joint: Joint) -> bool:
        """Whether rows or coordinates of the joint come from the poses of its bodies."""
        return True

    def _layout(self) -> None:
        self._name_states()
        elastic = self.modes
        coordinates, speeds = self.rigid_channels()
        self.first_mode = (len(coordinates), len(speeds))  # places of elastic coordinates and rates
        self.first_extra = (self.first_mode[0] + len(elastic), self.first_mode[1] + len(elastic))
        self.nq = self.first_extra[0] + len(self.extra) + len(self.turning)
        self.nv = self.first_extra[1] + len(self.extra)
        self.coordinates = Channels(
            [name for name, _ in coordinates]
            + elastic
            + [e[0] for e in self.extra]
            + [f"{joint.name}.{joint.coordinates[k][0]}.turned" for joint, k in self.turning],
            [unit for _, unit in coordinates]
            + [""] * len(elastic)
            + [e[3] for e in self.extra]
            + ["rad"] * len(self.turning),
        )
        self.speeds = Channels(
            [name for name, _ in speeds] + [f"{name}.rate" for name in (*elastic, *(e[0] for e in self.extra))],
            [unit for _, unit in speeds] + ["1/s"] * len(elastic) + [f"{e[3] or 1}/s" for e in self.extra],
        )
        sym = SX.sym
        self.q, self.v, self.a = sym("q", self.nq), sym("v", self.nv), sym("a", self.nv)
        self.z, self.u = sym("z", len(self.internal)), sym("u", len(self.inputs))
        self.p, self.t = sym("p", len(self.parameters)), sym("t")
        if self._kernels:
            self.calls = CallList(self.q, self.v)
        self.p_symbols = {name: self.p[k] for k, name in enumerate(self.parameters.names)}
        self.ground = Ground(self)
        self.bodies: list[Any] = []
        blocks = self.move_bodies()
        self._joint_parts = self._evaluate_joints()
        turned = [self._turning_rate(joint, k) for joint, k in self.turning]
        others = SX.eye(self.nv - self.first_mode[1])
        self.N = ca.sparsify(ca.vertcat(ca.diagcat(*blocks, others), Form.stack(turned, self.nv)))
        self.qdot = self.N @ self.v

    # -- parts that depend on the choice of coordinates; joint coordinates replace them ------------------------------
    def rigid_channels(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Names and units of the coordinates and of the speeds of all rigid motions."""
        bodies, space = self.m.bodies, self.space
        coordinates = [(f"{b.name}.{c}", unit) for b in bodies for c, unit in space.coordinates]
        return coordinates, [(f"{b.name}.{c}", unit) for b in bodies for c, unit in space.speeds]

    def move_bodies(self) -> list[Any]:
        """Make the bodies from the coordinates; returns the blocks of N of their rigid motions."""
        space, count = self.space, len(self.m.bodies)
        parts = [self.q[space.nq * k : space.nq * (k + 1)] for k in range(count)]
        poses = self._make_poses(parts)
        twists = [space.twist(self.v[space.nv * k : space.nv * (k + 1)]) for k in range(count)]
        self.bodies = self._make_bodies(poses, twists)
        return [space.rate_matrix(x) for x in parts]

    def _make_poses(self, parts: list[Any]) -> list[Pose]:
        return self.space.poses_of(parts)

    def _make_bodies(self, poses: list[Pose], twists: list[Twist]) -> list[RigidBody | FloatingBody]:
        """The part of each body in the equations."""
        massless = {id(body): SX(ca.DM(axis)) for body, axis in massless_spins(self.m, self.spins)}
        bodies: list[RigidBody | FloatingBody] = []
        i, j = self.first_mode
        for body, pose, twist in zip(self.m.bodies, poses, twists, strict=True):
            if body.flexible is None:
                bodies.append(RigidBody(self, body, pose, twist, massless.get(id(body))))
                continue
            count = body.flexible.modes
            eta, rate = self.q[i : i + count], self.v[j : j + count]
            own = (self, body, pose, twist, eta, rate, range(j, j + count))
            bodies.append(FloatingBody(*own) if self.calls is None else SharedBody(*own, i))
            i, j = i + count, j + count
        return bodies

    def _turning_rate(self, joint: Joint, k: int) -> Form:
        """Rate of a joint angle in space: e₃·(ω_b - ω_a) where it turns about e₃, else from the joint's kernel."""
        sides = [self.attach(f) for f in (joint.a, joint.b)]
        if not JOINT_EQUATIONS[joint.kind].axial:
            rows = [block[k, :] for block in self._joint_parts[joint.name][7:9]]
        else:
            axis = sides[0].pose.R @ self.frame_axes(joint.a)[:, 2]
            rows = [
                ca.horzcat(SX(1, 3), sign * (axis.T @ side.pose.R)) for sign, side in zip((-1, 1), sides, strict=True)
            ]
        return Form.of_blocks(side.by_speeds(row) for side, row in zip(sides, rows, strict=True))

    def attach(self, place: Place) -> Attachment:
        """The frame on a body for a joint, force or sensor."""
        body = place if isinstance(place, Body) else place.body
        return self.ground.attach(place) if body.is_ground else self.bodies[self.body_index[id(body)]].attach(place)

    def euler_parameters(self, body: Body) -> Any:
        """Of a spatial body; empty in the plane."""
        first = self.space.nq * self.body_index[id(body)] + self.space.dim
        return SX(0, 1) if self.space.planar else self.q[first : first + 4]

    def rigid_columns(self, body: Body) -> range:
        """Speeds of the body's frame."""
        k = self.body_index[id(body)]
        return range(self.space.nv * k, self.space.nv * (k + 1))

    def number(self, x: Any) -> Any:
        """A model's number as a float or an expression of the parameters."""
        return x.evaluate(self.p_symbols) if isinstance(x, Quantity) else float(x)

    def vector(self, values: Any) -> Any:
        if all(isinstance(x, float) for x in values):
            return SX(ca.DM(values))
        return SX(ca.vertcat(*[self.number(x) for x in values]))

    def place(self, place: Point | BodyFrame) -> Any:
        return self.vector(without_rounding(place.coordinates))

    def frame_axes(self, frame: BodyFrame) -> Any:
        if self.space.planar:
            angle = self.number(frame.angle)
            if isinstance(angle, float):
                c, s = math.cos(angle), math.sin(angle)
                return SX(ca.DM([[c, -s], [s, c]]))
            c, s = ca.cos(angle), ca.sin(angle)
            return SX(ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c)))
        return ca.sparsify(SX(ca.DM([without_rounding(row) for row in frame.axes])))

    # -- joints -----------------------------------------------------------------------------------------------------
    def add_joint(self, joint: Joint) -> None:
        residual = JOINT_EQUATIONS[joint.kind].residual
        if residual is not None:
            phi, axes, point = residual(self, joint)
            rows = general_rows(self, joint.name, HOLONOMIC, phi)
            self.joints[joint.name] = (joint, rows, {"blocks": None, "axes": axes, "point": point})
            return
        phi, rates, A_a, A_b, bias, s, s_rate, S_a, S_b, s_bias = self._joint_parts[joint.name]
        a, b = self.attach(joint.a), self.attach(joint.b)
        form = Form.of_blocks((a.by_speeds(A_a), b.by_speeds(A_b)))
        levels = [HOLONOMIC] * phi.shape[0] + [VELOCITY] * (rates.shape[0] - phi.shape[0])
        rows = self.rows.add(joint.name, levels, form, -(bias + a.drift(A_a) + b.drift(A_b)), phi, rates)
        axes = a.pose.R @ self.frame_axes(joint_frames(joint)[0])
        self.joints[joint.name] = (joint, rows, {"blocks": (A_a, A_b), "axes": axes, "point": b.position})
        for k, (coordinate, rate, unit) in enumerate(joint.coordinates):
            row_a, row_b = S_a[k, :], S_b[k, :]
            value = s[k] + self._turns(joint, k, s[k]) if unit == "rad" else s[k]
            self.measured[f"{joint.name}.{coordinate}"] = Measured(
                value,
                s_rate[k],
                Form.of_blocks((a.by_speeds(row_a), b.by_speeds(row_b))),
                s_bias[k] + a.drift(row_a) + b.drift(row_b),
                unit,
                f"{joint.name}.{rate}",
            )

    def _add_sticking(self) -> None:
        """A row ṡ = 0 for every coordinate with exact friction, all zero while it slides."""
        for d in self.exact:
            measured, sliding = self.measured[d.coordinate], self.p_symbols[d.sliding]
            at_work = ca.if_else(sliding == 0, 1.0, 0.0)
            (row,) = self.rows.add(
                d.name, [VELOCITY], measured.form.scale(at_work), -at_work * measured.bias, SX.zeros(0, 1),
                at_work * measured.rate,
            )  # fmt: skip
            self.sticking[d.name, d.coordinate] = (row, sliding)

    def _evaluate_joints(self) -> dict[str, tuple[Any, ...]]:
        """Rows and coordinates of all joints at the poses and twists of their bodies; one call for every kind."""
        kinds: dict[ca.Function, list[tuple[str, list[Any]]]] = {}
        for joint in self.m.joints:
            own = JOINT_EQUATIONS[joint.kind]
            if own.residual is None and self.needs_kernel(joint):
                kernel = joint_kernel(self.space.planar, own, len(joint.declaration.numbers))
                kinds.setdefault(kernel, []).append((joint.name, self._joint_arguments(joint)))
        evaluations: dict[str, tuple[Any, ...]] = {}
        for kernel, group in kinds.items():
            columns = zip(*(arguments for _, arguments in group), strict=True)
            results = kernel.map(len(group)).call([ca.horzcat(*x) for x in columns])
            widths = [kernel.size2_out(k) for k in range(kernel.n_out())]
            parts = [ca.horzsplit(x, width) for x, width in zip(results, widths, strict=True)]
            evaluations |= {name: own for (name, _), own in zip(group, zip(*parts, strict=True), strict=True)}
        return evaluations

    def _joint_arguments(self, joint: Joint) -> list[Any]:
        arguments: list[Any] = []
        sides = [self.attach(frame) for frame in (joint.a, joint.b)]
        for side in sides:
            arguments += [side.pose.r, side.pose.R, side.pose.angle, side.twist.v, side.twist.w]
        for side, axes in zip(sides, joint_frames(joint), strict=True):
            arguments += [side.place, self.frame_axes(axes)]
        numbers = [joint.options[name] for name in joint.declaration.numbers]
        return [*arguments, self.vector(numbers) if numbers else SX.zeros(0)]

    def _turns(self, joint: Joint, k: int, angle: object) -> Any:
        """Whole turns to add to an angle that the kernel gives up to a turn."""
        if self.space.planar:
            return self.whole_turns(joint)
        turned = self.q[self.coordinates.index[f"{joint.name}.{joint.coordinates[k][0]}.turned"]]
        return math.tau * ca.floor((turned - angle) / math.tau + 0.5)

    @staticmethod
    def whole_turns(joint: Joint) -> float:
        """Turns that the kernel loses from the angles of the joint's frames, since it takes their axes only."""
        given = float(joint.b.angle) - float(joint.a.angle)
        kept = math.remainder(float(joint.b.angle), math.tau) - math.remainder(float(joint.a.angle), math.tau)
        return math.tau * round((given - kept) / math.tau)

    def _variables_as_measures(self) -> None:
        one, zero = SX(1), SX(0)
        self.measure_bodies()
        elastic = [(name, "") for names in self.elastic.values() for name in names]
        for k, (name, unit) in enumerate([*elastic, *((e[0], e[3]) for e in self.extra)]):
            i, j = (first + k for first in self.first_mode)
            form = Form([0], [j], [one], 1)
            self.measured[name] = Measured(self.q[i], self.v[j], form, zero, unit, f"{name}.rate")

    def measure_bodies(self) -> None:
        """Coordinates of the bodies as measures."""
        space, nq, nv = self.space, self.space.nq, self.space.nv
        one, zero = SX(1), SX(0)
        for k, body in enumerate(self.m.bodies):
            count = 3 if space.planar else space.dim
            for i in range(count):
                name, unit = space.coordinates[i]
                form = Form([0], [nv * k + i], [one], 1)
                self.measured[f"{body.name}.{name}"] = Measured(
                    self.q[nq * k + i],
                    self.v[nv * k + i],
                    form,
                    zero,
                    unit,
                    f"{body.name}.{space.speeds[i][0]}",
                )

    def measure(self, name: str) -> Measured:
        return self.measured[self.names.get(name, name)]

    def motor_side(self, name: str) -> Measured:
        """The coordinate of a joint with the deflection of its elastic gear, where it has one."""
        joint, gear = self.measure(name), self.gears.get(self.names.get(name, name))
        if gear is None:
            return joint
        stretch = self.measured[gear.deflection]
        value, rate, bias = joint.value + stretch.value, joint.rate + stretch.rate, joint.bias + stretch.bias
        return Measured(value, rate, joint.form + stretch.form, bias, joint.unit, joint.rate_name)

    # -- names for user expressions ---------------------------------------------------------------------------------
    def lookup(self, name: str) -> Any | None:
        full = self.names.get(name, name)
        if full in self.measured:
            return self.measured[full].value
        for channels, values in (
            (self.coordinates, self.q),
            (self.speeds, self.v),
            (self.inputs, self.u),
            (self.internal, self.z),
            (self.parameters, self.p),
        ):
            if name in channels.index:
                return values[channels.index[name]]
        for measured in self.measured.values():
            if measured.rate_name == name:
                return measured.rate
        return None

    def known_names(self) -> list[str]:
        rates = [m.rate_name for m in self.measured.values()]
        return [*self.measured, *rates, *self.inputs.names, *self.internal.names, *self.parameters.names]

    def view(self, accelerations: dict[str, Any] | None = None) -> StateView:
        return StateView(self.t, self.lookup, self.known_names, self.attach, accelerations)

    # -- more parts that depend on the coordinates --------------------------------------------------------------------
    def add_body_forces(self, forces: ForceBuilder, gravity: Expr) -> None:
        """Weight, elasticity and the forces of the bodies' own motion."""
        for body in self.bodies:
            body.add_weight(forces, gravity)
        for body in self.bodies:
            body.add_own_forces(forces)

    def reaction(self, name: str) -> tuple[Any, Any, Any]:
        """(force, torque) of a joint on its second body at the joint's point, world axes; and the joint's axes."""
        return reaction_of_rows(self, name)

    def quaternion_blocks(self) -> list[QuaternionBlock]:
        space = self.space
        return [
            QuaternionBlock(body.name, space.nq * k + space.dim, space.nv * k + space.dim)
            for k, body in enumerate(self.m.bodies)
            if not space.planar
        ]

    def place_bodies(self) -> Placement:
        return place_mechanism(self)

    def own_functions(self) -> dict[str, Callable[[], ca.Function]]:
        """Functions that only these coordinates have, built when they are first read."""
        return {}

    def is_carried(self, name: str) -> bool:
        """Whether a measure is part of the pose of a body that has no coordinates of its own."""
        return False

    def spin_speeds(self, spin: Spin, e: Expr, place: Expr) -> tuple[Expr, Expr]:
        """E with E v the speed of a spin about the axis e through a place, and the speeds Z of a unit spin."""
        Z, E = SX(self.nv, 1), SX(1, self.nv)
        for body in spin.bodies:
            where, pose = self.rigid_columns(body), self.attach(body).pose
            Z[where.start : where.start + 3] = ca.cross(e, pose.r - place)
            Z[where.start + 3 : where.stop] = pose.R.T @ e
            if body is spin.bodies[0]:
                E[where.start + 3 : where.stop] = (pose.R.T @ e).T
        return E, Z

    def carried_orientations(self) -> tuple[CarriedOrientation, ...]:
        """Orientations of bodies that have no coordinates of their own."""
        return ()

    # -- functions of bodies ----------------------------------------------------------------------------------------
    def flat(self, expression: Expr) -> Expr:
        """An expression of coordinates and speeds alone, for derivatives by them."""
        return expression if self.calls is None else self.calls.flat(expression)

    # -- everything together ----------------------------------------------------------------------------------------
    def mass_matrix(self) -> Any:
        blocks = [(body.columns, body.mass_block()) for body in self.bodies]
        first = self.first_extra[1]
        blocks += [([first + k], SX(self.number(e[2]))) for k, e in enumerate(self.extra)]
        return scatter_blocks(blocks, self.nv)

    def kinetic_energy(self, M: Expr) -> Expr:
        return 0.5 * ca.dot(self.v, M @ self.v)

    def collect(self) -> ForceBuilder:
        """Rows of everything that constrains, in `rows`, and the forces."""
        m = self.m
        for joint in m.joints:
            self.add_joint(joint)
        self._variables_as_measures()
        for coupler in m.couplers:
            add_coupler(self, coupler)
        for driver in m.drivers:
            add_driver(self, driver)
        for constraint in m.constraints:
            add_user_constraint(self, constraint)
        for owner, rotor in self.rotors:
            add_rotor(self, owner, rotor)
        self._add_sticking()
        self.lam = SX.sym("lam", len(self.rows))
        forces = ForceBuilder(self)
        forces.build()
        return forces

    def balance(self) -> ca.Function:
        """M v̇ - f - Aᵀ λ, of (q, v, v̇, λ, z, u, p, t)."""
        forces = self.collect()
        rest = self.mass_matrix() @ self.a - forces.potential_part - forces.other_part
        rest = rest - self.rows.matrix().T @ self.lam
        return ca.Function(
            "balance", [self.q, self.v, self.a, self.lam, self.z, self.u, self.p, self.t], [self.flat(rest)]
        )

    def build(self) -> EquationsOfMotion:
        return build_equations(self)


def absolute_equations(m: Mechanism) -> EquationsOfMotion:
    """Equations of a mechanism in absolute coordinates."""
    eqs = Absolute(m).build()
    if all(d.speed is not None for d in eqs.dry):
        return eqs
    return replace(eqs, stick_slip=Absolute(m, sticking=True).build())
