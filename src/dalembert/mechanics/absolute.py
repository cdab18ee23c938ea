"""Equations of a Mechanism in absolute coordinates.

Every body brings its own coordinates and a constant mass block; every joint brings rows that touch two bodies
(spec 000-31; its block-diagonal A of eq. 2.245 holds only for body-to-ground joints, trap T-08).
Gyroscopic torque of a spatial body in its own axes: -ω × I ω (spec 002-B1).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import (
    ACCELERATION,
    HOLONOMIC,
    VELOCITY,
    Channels,
    EquationsOfMotion,
    JointInfo,
    equations,
)
from dalembert.errors import ModelError
from dalembert.expressions import Quantity, call_user
from dalembert.mechanics.assembly_rows import Form, Measured, RowSet
from dalembert.mechanics.forces import ForceBuilder
from dalembert.mechanics.joint_kernels import NUMBERS, joint_kernel
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.mechanics.rotations import quaternion_from_matrix
from dalembert.mechanics.scene import scene_of
from dalembert.mechanics.sensors import build_outputs
from dalembert.mechanics.view import StateView, as_column
from dalembert.model import Body, Frame, Mechanism, Point
from dalembert.model.actuators import DCMotor, FirstOrderLag
from dalembert.model.bodies import axes_from
from dalembert.model.check import coordinate_names
from dalembert.model.forces import Actuator, Friction
from dalembert.model.joints import Joint

SX = ca.SX


class Absolute:
    """Collects the expressions of one mechanism; `build` turns them into equations."""

    def __init__(self, m: Mechanism) -> None:
        m.check()
        self.m = m
        self.space = Space(m.planar)
        self.body_index = {id(body): k for k, body in enumerate(m.bodies)}
        self.names = coordinate_names(m)
        self.measured: dict[str, Measured] = {}
        self._layout()
        self.rows = RowSet(self.nv)
        self.joints: dict[str, tuple[Joint, tuple[int, ...], dict[str, Any]]] = {}

    # -- layout -----------------------------------------------------------------------------------------------------
    def _layout(self) -> None:
        m, space = self.m, self.space
        self.nb = len(m.bodies)
        self.extra = [(v.name, v.start, 0.0) for v in m.variables]  # name, start, mass
        for joint in m.joints:
            if joint.kind == "point on curve":
                self.extra.append((f"{joint.name}.parameter", joint.options["start"], 0.0))
        internal: list[tuple[str, str]] = []
        for force in m.forces:
            if isinstance(force, Actuator):
                if isinstance(force.model, FirstOrderLag):
                    internal.append((f"{force.name}.effort", ""))
                if isinstance(force.model, DCMotor):
                    if float(force.model.inductance) > 0:
                        internal.append((f"{force.name}.current", "A"))
                    if float(force.model.rotor_inertia) > 0:
                        self.extra.append((f"{force.name}.rotor", 0.0, force.model.rotor_inertia))
        self.nq = space.nq * self.nb + len(self.extra)
        self.nv = space.nv * self.nb + len(self.extra)
        self.internal = Channels([n for n, _ in internal], [u for _, u in internal])
        self.inputs = Channels(m.inputs(), [""] * len(m.inputs()))
        self.parameters = Channels(m.parameters, [""] * len(m.parameters))
        self.coordinates = Channels(
            [f"{b.name}.{c}" for b in m.bodies for c, _ in space.coordinates] + [e[0] for e in self.extra],
            [u for _ in m.bodies for _, u in space.coordinates] + [""] * len(self.extra),
        )
        self.speeds = Channels(
            [f"{b.name}.{c}" for b in m.bodies for c, _ in space.speeds] + [f"{e[0]}.rate" for e in self.extra],
            [u for _ in m.bodies for _, u in space.speeds] + [""] * len(self.extra),
        )
        sym = SX.sym
        self.q, self.v, self.a = sym("q", self.nq), sym("v", self.nv), sym("a", self.nv)
        self.z, self.u = sym("z", len(self.internal)), sym("u", len(self.inputs))
        self.p, self.t = sym("p", len(self.parameters)), sym("t")
        self.p_symbols = {name: self.p[k] for k, name in enumerate(self.parameters.names)}
        nq, nv = space.nq, space.nv
        self.poses: list[Pose] = []
        self.twists: list[Twist] = []
        blocks = []
        for k in range(self.nb):
            own = self.q[nq * k : nq * (k + 1)]
            self.poses.append(space.pose(own))
            self.twists.append(space.twist(self.v[nv * k : nv * (k + 1)]))
            blocks.append(space.rate_matrix(own))
        self.N = ca.diagcat(*blocks, SX.eye(len(self.extra))) if blocks else SX.eye(len(self.extra))
        self.N = ca.sparsify(self.N)
        self.qdot = self.N @ self.v

    def body_state(self, body: Body) -> tuple[Pose, Twist]:
        if body.is_ground:
            return self.space.ground_pose(), self.space.ground_twist()
        k = self.body_index[id(body)]
        return self.poses[k], self.twists[k]

    def body_columns(self, body: Body) -> range | None:
        if body.is_ground:
            return None
        k = self.body_index[id(body)]
        return range(self.space.nv * k, self.space.nv * (k + 1))

    def number(self, x: Any) -> Any:
        """A model's number as a float or an expression of the parameters."""
        return x.evaluate(self.p_symbols) if isinstance(x, Quantity) else float(x)

    def vector(self, values: Any) -> Any:
        return SX(ca.vertcat(*[self.number(x) for x in values]))

    def place(self, place: Point | Frame) -> Any:
        return self.vector(place.coordinates)

    def joint_frames(self, joint: Joint) -> tuple[Frame, Frame]:
        """Both frames; those of a universal joint turned about their axes so that its angles are zero in the drawing."""
        if joint.kind != "universal":
            return joint.a, joint.b
        drawn = [np.array(f.body.rotation) @ np.array(f.axes)[:, 2] for f in (joint.a, joint.b)]
        across = np.cross(drawn[0], drawn[1])
        if np.linalg.norm(across) < 1e-6:
            return joint.a, joint.b
        # x of the first frame along the second axis, y of the second frame along the first
        xs = [np.array(f.body.rotation).T @ x for f, x in zip((joint.a, joint.b), (drawn[1], across), strict=True)]
        first, second = (
            replace(f, axes=axes_from([row[2] for row in f.axes], x)) for f, x in zip((joint.a, joint.b), xs, strict=True)
        )
        return first, second

    def frame_axes(self, frame: Frame) -> Any:
        if self.space.planar:
            angle = self.number(frame.angle)
            c, s = ca.cos(angle), ca.sin(angle)
            return SX(ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c)))
        return SX(ca.DM([list(row) for row in frame.axes]))

    # -- joints -----------------------------------------------------------------------------------------------------
    def add_joint(self, joint: Joint) -> None:
        if joint.kind == "point on curve":
            self._point_on_curve(joint)
            return
        pa, ta = self.body_state(joint.a.body)
        pb, tb = self.body_state(joint.b.body)
        options = joint.options
        if joint.kind == "disc on disc":
            numbers = [options["radius"], options["second_radius"], options["sign"]]
        else:
            numbers = [options[k] for k in ("length", "lead", "radius") if k in options]
        numbers_sx = self.vector(numbers) if numbers else SX.zeros(NUMBERS.get(joint.kind, 0))
        la, lb = self.place(joint.a), self.place(joint.b)
        Ja, Jb = (self.frame_axes(frame) for frame in self.joint_frames(joint))
        kernel = joint_kernel(self.space.planar, joint.kind)
        phi, rates, A_a, A_b, bias, s, s_rate, S_a, S_b, s_bias = kernel(
            pa.r, pa.R, pa.angle, ta.v, ta.w, pb.r, pb.R, pb.angle, tb.v, tb.w, la, Ja, lb, Jb, numbers_sx
        )
        columns = (self.body_columns(joint.a.body), self.body_columns(joint.b.body))
        form = Form.of_blocks(zip(columns, (A_a, A_b), strict=True))
        levels = [HOLONOMIC] * phi.shape[0] + [VELOCITY] * (rates.shape[0] - phi.shape[0])
        rows = self.rows.add(joint.name, levels, form, -bias, phi, rates)
        place = {"blocks": (A_a, A_b), "axes": pa.R @ Ja, "point": pb.r + pb.R @ lb}
        self.joints[joint.name] = (joint, rows, place)
        for k, (coordinate, rate, unit) in enumerate(joint.coordinates):
            blocks = zip(columns, (S_a[k, :], S_b[k, :]), strict=True)
            wraps = unit == "rad" and not self.space.planar
            self.measured[f"{joint.name}.{coordinate}"] = Measured(
                s[k], s_rate[k], Form.of_blocks(blocks), s_bias[k], unit, f"{joint.name}.{rate}", wraps
            )

    def _point_on_curve(self, joint: Joint) -> None:
        """Rows R_aᵀ d - J c(s) = 0 with the curve's parameter s as an extra coordinate without mass."""
        k = [e[0] for e in self.extra].index(f"{joint.name}.parameter")
        s = self.q[self.space.nq * self.nb + k]
        what = f"curve of joint {joint.name!r}"
        curve = as_column(call_user(joint.options["curve"], what, s), what)
        if curve.shape[0] != self.space.dim:
            raise ModelError(f"{what} must return {self.space.dim} values, got {curve.shape[0]}.")
        pa, _ = self.body_state(joint.a.body)
        pb, _ = self.body_state(joint.b.body)
        Ja = self.frame_axes(joint.a)
        d = pb.r + pb.R @ self.place(joint.b) - pa.r - pa.R @ self.place(joint.a)
        rows = self._add_general(joint.name, HOLONOMIC, d - pa.R @ (Ja @ curve))
        point = pb.r + pb.R @ self.place(joint.b)
        self.joints[joint.name] = (joint, rows, {"blocks": None, "axes": pa.R @ Ja, "point": point})

    def _add_general(self, owner: str, level: str, expression: Any) -> tuple[int, ...]:
        """Rows of any expression: phi(q,t), or c(q,v,t)."""
        rate = expression
        if level == HOLONOMIC:
            A = ca.jacobian(expression, self.q) @ self.N
            rate = A @ self.v + ca.jacobian(expression, self.t)
        else:
            A = ca.jacobian(expression, self.v)
        bias = ca.jtimes(rate, self.q, self.qdot) + ca.jacobian(rate, self.t)
        phi = expression if level == HOLONOMIC else SX.zeros(0, 1)
        return self.rows.add(owner, [level] * expression.shape[0], Form.of_matrix(A), -bias, phi, rate)

    def add_constraints(self) -> None:
        m = self.m
        self._variables_as_measures()
        for coupler in m.couplers:
            self._couple(coupler.name, coupler)
        for driver in m.drivers:
            measured = self.measure(driver.coordinate)
            target = driver.motion
            if callable(target):
                target = as_column(call_user(target, f"motion of driver {driver.name!r}", self.t), "a motion")
                if target.shape != (1, 1):
                    raise ModelError(f"motion of driver {driver.name!r} must return one value.")
            else:
                target = SX(self.number(target))
            speed = ca.jacobian(target, self.t)
            acceleration = ca.jacobian(speed, self.t)
            gap = measured.value - target
            if measured.wraps:
                gap = ca.atan2(ca.sin(gap), ca.cos(gap))
            self.rows.add(
                driver.name,
                [HOLONOMIC],
                measured.form,
                acceleration - measured.bias,
                gap,
                measured.rate - speed,
            )
        for constraint in m.constraints:
            self._user_constraint(constraint)

    def _couple(self, name: str, coupler: Any) -> None:
        first, second = self.measure(coupler.first), self.measure(coupler.second)
        ratio, offset = self.number(coupler.ratio), self.number(coupler.offset)
        form = second.form + first.form.scaled(-ratio)
        rate = second.rate - ratio * first.rate
        bias = second.bias - ratio * first.bias
        gap = second.value - ratio * first.value - offset
        if not (first.wraps or second.wraps):
            self.rows.add(name, [HOLONOMIC], form, -bias, gap, rate)
            return
        # spatial angles are known up to a turn only: exact over many turns when the gap is a sum of whole multiples
        wrapped = self._wrapped_gap(first, second, coupler, gap)
        if wrapped is None:
            self.rows.add(name, [VELOCITY], form, -bias, SX.zeros(0, 1), rate)
        else:
            self.rows.add(name, [HOLONOMIC], form, -bias, wrapped, rate)

    def _wrapped_gap(self, first: Measured, second: Measured, coupler: Any, gap: Any) -> Any | None:
        if first.wraps and second.wraps:
            if isinstance(coupler.ratio, Quantity):
                return None
            ratio = Fraction(float(coupler.ratio)).limit_denominator(1000)
            if abs(float(ratio) - float(coupler.ratio)) > 1e-12 * abs(float(coupler.ratio)):
                return None
            scale = float(ratio.denominator)
        else:
            turning, sliding = (first, second) if first.wraps else (second, first)
            _ = turning, sliding
            scale = 1.0 / self.number(coupler.ratio) if first.wraps else 1.0
        whole = scale * gap
        return ca.atan2(ca.sin(whole), ca.cos(whole)) / scale

    def _variables_as_measures(self) -> None:
        space, nq, nv = self.space, self.space.nq, self.space.nv
        for k, body in enumerate(self.m.bodies):
            count = 3 if space.planar else space.dim
            for i in range(count):
                name, unit = space.coordinates[i]
                form = Form.of_blocks([(range(nv * k + i, nv * k + i + 1), SX(1))])
                self.measured[f"{body.name}.{name}"] = Measured(
                    self.q[nq * k + i],
                    self.v[nv * k + i],
                    form,
                    SX(0),
                    unit,
                    f"{body.name}.{space.speeds[i][0]}",
                    False,
                )
        for k, (name, _, _) in enumerate(self.extra):
            i, j = nq * self.nb + k, nv * self.nb + k
            form = Form.of_blocks([(range(j, j + 1), SX(1))])
            self.measured[name] = Measured(self.q[i], self.v[j], form, SX(0), "", f"{name}.rate", False)

    def measure(self, name: str) -> Measured:
        return self.measured[self.names.get(name, name)]

    def _user_constraint(self, constraint: Any) -> None:
        what = f"constraint {constraint.name!r}"
        accelerations = None
        if constraint.level == "acceleration":
            accelerations = {name: self.a[k] for k, name in enumerate(self.speeds.names)}
        residual = as_column(call_user(constraint.function, what, self.view(accelerations)), what)
        if residual.shape[0] == 0:
            raise ModelError(f"{what} returns nothing.")
        depends = ca.vertcat(self.z, self.u)
        if depends.shape[0] and constraint.level != "acceleration" and ca.depends_on(residual, depends):
            raise ModelError(f"{what}: a {constraint.level}-level constraint may not depend on inputs or internal states.")
        if constraint.level == "position":
            if ca.depends_on(residual, self.v):
                raise ModelError(f"{what} uses velocities: say level='velocity'.")
            self._add_general(constraint.name, HOLONOMIC, residual)
        elif constraint.level == "velocity":
            A = ca.jacobian(residual, self.v)
            if A.nnz() == 0:
                raise ModelError(f"{what} does not depend on any velocity: say level='position'.")
            self._add_general(constraint.name, VELOCITY, residual)
        else:
            D = ca.jacobian(residual, self.a)
            if D.nnz() == 0:
                raise ModelError(f"{what} does not depend on any acceleration; use s.acceleration_of(...).")
            if ca.depends_on(D, self.a):
                raise ModelError(f"{what} must be affine in the accelerations.")
            d = -ca.substitute(residual, self.a, SX.zeros(self.nv))
            levels = [ACCELERATION] * residual.shape[0]
            self.rows.add(constraint.name, levels, Form.of_matrix(D), d, SX.zeros(0, 1), SX.zeros(0, 1))

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
        return StateView(
            self.space, self.t, self.lookup, self.known_names, self.body_state, self.place, accelerations
        )

    # -- everything together ----------------------------------------------------------------------------------------
    def mass_matrix(self) -> Any:
        blocks: list[Any] = []
        for body in self.m.bodies:
            mass = self.number(body.mass)
            blocks.append(mass * SX.eye(self.space.dim))
            if self.space.planar:
                blocks.append(SX(self.number(body.inertia)))
            else:
                rows = [ca.horzcat(*[self.number(c) for c in row]) for row in body.inertia]
                blocks.append(SX(ca.vertcat(*rows)))
        blocks.extend(SX(self.number(e[2])) for e in self.extra)
        return ca.sparsify(ca.diagcat(*blocks))

    def build(self) -> EquationsOfMotion:
        m, space = self.m, self.space
        for joint in m.joints:
            self.add_joint(joint)
        self.add_constraints()
        for force in m.forces:  # a rotor is tied to its joint: rotor speed = gear ratio times joint speed
            if isinstance(force, Actuator) and f"{force.name}.rotor" in [e[0] for e in self.extra]:
                rotor = self.measured[f"{force.name}.rotor"]
                joint_side = self.measure(force.coordinate)
                ratio = self.number(force.model.gear_ratio)  # type: ignore[union-attr]
                form = rotor.form + joint_side.form.scaled(-ratio)
                rate = rotor.rate - ratio * joint_side.rate
                self.rows.add(force.name, [VELOCITY], form, ratio * joint_side.bias, SX.zeros(0, 1), rate)
        self.lam = SX.sym("lam", len(self.rows))
        A, b = self.rows.matrix(), self.rows.right_hand_side()
        M = self.mass_matrix()
        forces = ForceBuilder(self)
        forces.build()
        f = forces.potential_part + forces.other_part
        T = 0.5 * ca.dot(self.v, M @ self.v)
        power = ca.dot(self.v, forces.other_part)
        still = {j.name for j in m.joints} | {c.name for c in m.couplers}  # ideal: their reactions do no work
        moving = [k for k, row in enumerate(self.rows.tags) if row.owner not in still]
        if moving:
            power = power + ca.dot(A[moving, :] @ self.v, self.lam[moving])
        outputs = build_outputs(self, forces, T, A)
        reaction_names, reaction_units, reactions, firsts = self.reactions()
        q, v, z, u, p, t, lam, a = self.q, self.v, self.z, self.u, self.p, self.t, self.lam, self.a
        names = list(self.measured)
        measures = [self.measured[n] for n in names]
        S = Form.stack([x.form for x in measures], self.nv)
        column = lambda xs: ca.vertcat(*xs) if xs else SX.zeros(0, 1)  # noqa: E731
        options = {"cse": True}
        F = ca.Function
        functions = {
            "kinematics": F("kinematics", [q, p, t], [self.N, SX.zeros(self.nq)]),
            "inertia": F("inertia", [q, p, t], [M]),
            "forces": F("forces", [q, v, z, u, p, t, lam], [f], options),
            "position": F("position", [q, p, t], [self.rows.positions()], options),
            "rates": F("rates", [q, v, p, t], [self.rows.velocities()], options),
            "rows": F("rows", [q, v, z, u, p, t], [A, b], options),
            "internal": F("internal", [q, v, z, u, p, t, lam], [column(forces.internal_rates)], options),
            "outputs": F("outputs", [q, v, a, lam, z, u, p, t], [outputs.value], options),
            "energy": F("energy", [q, v, z, p, t], [T, forces.potential], options),
            "power": F("power", [q, v, z, u, p, t, lam], [power], options),
            "measures": F(
                "measures",
                [q, v, p, t],
                [column([x.value for x in measures]), column([x.rate for x in measures]), S, column([x.bias for x in measures])],
                options,
            ),
            "reactions": F("reactions", [q, v, lam, p, t], [reactions], options),
            "joint_axes": F("joint_axes", [q, p, t], [self.joint_axes()], options),
        }
        q0 = []
        for body in m.bodies:
            turn = [body.angle] if space.planar else list(quaternion_from_matrix(np.array(body.rotation)))
            q0 += [*(body.position or (0.0,) * space.dim), *turn]
        q0 += [float(e[1]) for e in self.extra]
        joint_coordinates = [k for k, n in enumerate(names) if n.rpartition(".")[0] in self.joints]
        infos = [
            JointInfo(j.name, j.kind, rows, (j.a.body.name, j.b.body.name), first)
            for (j, rows, _), first in zip(self.joints.values(), firsts, strict=True)
        ]
        return EquationsOfMotion(
            name=m.name,
            coordinates=self.coordinates,
            speeds=self.speeds,
            internal=self.internal,
            inputs=self.inputs,
            parameters=self.parameters,
            parameter_values=tuple(m.parameters.values()),
            measures=Channels(names, [x.unit for x in measures]),
            measure_rates=Channels([x.rate_name for x in measures], [f"{x.unit}/s" if x.unit else "1/s" for x in measures]),
            outputs=Channels(outputs.names, outputs.units),
            rows=tuple(self.rows.tags),
            joints=tuple(infos),
            functions=functions,
            guess=(tuple(q0), (0.0,) * len(self.internal)),
            rotations=() if space.planar else tuple(space.nq * k + 3 for k in range(self.nb)),
            shorthands={short: full for short, full in self.names.items() if short != full},
            reaction_channels=Channels(reaction_names, reaction_units),
            recorded_measures=tuple(joint_coordinates),
            angles=tuple(k for k, x in enumerate(measures) if x.wraps),
            friction_joints=tuple(f.joint for f in m.forces if isinstance(f, Friction) and float(f.coulomb) > 0),
            drivers=tuple(d.name for d in m.drivers),
            placements=self.placements(),
            placed=tuple(bool(b.position) for b in m.bodies),
            scene=scene_of(m),
        )

    def reaction_of(self, name: str) -> tuple[Any, Any, Any]:
        """(force, torque) of a joint on its second body at the joint's point, world axes; and the joint's axes."""
        joint, rows, place = self.joints[name]
        lam = self.lam[list(rows)]
        side = 1 if not joint.b.body.is_ground else 0
        body = (joint.a.body, joint.b.body)[side]
        columns = self.body_columns(body)
        assert columns is not None
        if place["blocks"] is not None:
            effort = place["blocks"][side].T @ lam
        else:
            effort = (self.rows.matrix()[list(rows), list(columns)]).T @ lam
        pose, _ = self.body_state(body)
        force = effort[0 : self.space.dim]
        turn = effort[self.space.dim : self.space.nv]
        if not self.space.planar:
            turn = pose.R @ turn
        torque = turn - self.space.turn_about(place["point"] - pose.r, force)
        sign = 1 if side == 1 else -1
        return sign * force, sign * torque, place["axes"]

    def reactions(self) -> tuple[list[str], list[str], Any, list[int]]:
        names: list[str] = []
        units: list[str] = []
        values: list[Any] = []
        firsts: list[int] = []
        axes = ("x", "y", "z")
        for name in self.joints:
            firsts.append(len(names))
            force, torque, _ = self.reaction_of(name)
            names += [f"{name}.force.{axes[k]}" for k in range(self.space.dim)]
            units += ["N"] * self.space.dim
            turns = ["z"] if self.space.planar else list(axes)
            names += [f"{name}.torque.{k}" for k in turns]
            units += ["N m"] * len(turns)
            values += [force, torque]
        return names, units, ca.vertcat(*values) if values else SX.zeros(0, 1), firsts

    def joint_axes(self) -> Any:
        """World axes of every joint's first frame, side by side."""
        axes = [ca.densify(place["axes"]) for _, _, place in self.joints.values()]
        return ca.horzcat(*axes) if axes else SX.zeros(self.space.dim, 0)

    def placements(self) -> tuple[Any, ...]:
        """Numbers for a first guess of the assembly: per joint its kind, bodies, places and axes at nominal parameters."""
        result = []
        for joint in self.m.joints:
            sides = []
            for frame in self.joint_frames(joint):
                index = -1 if frame.body.is_ground else self.body_index[id(frame.body)]
                local = tuple(float(c) for c in frame.coordinates)
                axes = float(frame.angle) if self.space.planar else frame.axes
                sides.append((index, local, axes))
            coordinates = tuple(f"{joint.name}.{c[0]}" for c in joint.coordinates)
            result.append((joint.kind, sides[0], sides[1], coordinates))
        return tuple(result)


@equations.register
def equations_of_mechanism(m: Mechanism) -> EquationsOfMotion:
    """Equations of a mechanism in absolute coordinates."""
    return Absolute(m).build()
