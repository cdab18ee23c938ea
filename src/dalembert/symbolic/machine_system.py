"""A Mechanism as a `System`, from which the formalisms derive equations.

In joint coordinates the joints form a tree from the ground. With frames J_a, J_b at places l_a, l_b of a
joint and the motion R(s), p(s), ω = S ṡ, ṗ = P ṡ that its kind declares (`mechanics/joints/motion.py`),

    R_b = R_a J_a R J_bᵀ ,   ω_b = R_bᵀ R_a ω_a + J_b S ṡ ,   r_b = r_a + R_a (l_a + J_a p) - R_b l_b .

Joints that close loops, and joints of kinds without a motion, stay as constraint rows. Those with few freedoms carry
first. A body that no joint carries is free: r, and an angle, in space three (yaw about z, then pitch about y, then roll
about x; singular at a pitch of 90°); a ball joint has the same three. In absolute coordinates every body has r, and an
angle or Euler parameters e with eᵀ e = 1.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import HOLONOMIC
from dalembert.mechanics.absolute.producer import Absolute
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.bodies.rigid import RigidBody
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, joint_frames
from dalembert.mechanics.joints.motion import RelativeMotion, reverse
from dalembert.mechanics.poses import Pose
from dalembert.mechanics.rotations import conjugate, multiply, rate_matrix, rotation
from dalembert.mechanics.tree.spanning import freedoms
from dalembert.model import Body, Mechanism
from dalembert.model.joints import Joint
from dalembert.model.orientation import quaternion_from_matrix
from dalembert.symbolic.system import System

SX = ca.SX
COORDINATES = ("absolute", "joint")


def system_of_mechanism(m: Mechanism, coordinates: str = "joint") -> System:
    """The machine as a system in symbols.

    coordinates : "joint", those of the joints of a tree, with rows for the joints that close loops; "absolute", those
        of every body, with rows for every joint.
    """
    require_name("choice of coordinates", coordinates, COORDINATES, error=ModelError)
    return _Converter(m, coordinates == "joint").convert()


class _Host(Absolute):
    """Forces and rows of the machine in symbols of rotations, which rotations of the tree replace.

    joint_symbols : coordinates of joints of the tree with their rates; forces use them, not angles computed from poses.
    """

    joint_symbols: Mapping[str, tuple[Any, Any]] = {}

    def add_joint(self, joint: Joint) -> None:
        super().add_joint(joint)
        for name in (f"{joint.name}.{coordinate.name}" for coordinate in joint.coordinates):
            if name in self.joint_symbols:
                value, rate = self.joint_symbols[name]
                self.measured[name] = replace(self.measured[name], value=value, rate=rate)

    def _make_poses(self, parts: list[Any]) -> list[Pose]:
        if self.space.planar:
            return super()._make_poses(parts)
        self.rotations = [SX.sym("R", 3, 3) for _ in parts]
        return [Pose(pose[:3], R, SX(0)) for pose, R in zip(parts, self.rotations, strict=True)]


@dataclass
class _Place:
    """Where a body is and how it moves: r, R (in the plane the angle), v in world axes, ω in body axes, e."""

    r: Any
    R: Any
    v: Any
    w: Any
    angle: Any = None
    e: Any = None


class _Converter:
    def __init__(self, m: Mechanism, tree: bool) -> None:
        self.m, self.tree = m, tree
        self.flexible = any(body.flexible is not None for body in m.bodies)
        self.planar = m.planar
        falling = m
        if not self.flexible:  # the system has the weight of its bodies; that of a flexible one is in its energy
            falling = copy.copy(m)
            falling.gravity = (0.0,) * len(m.gravity)
        self.host = _Host(falling, kernels=False)
        self.system = System(m.name, check_units=False)  # numbers of a machine have no units
        self.closed: set[str] = set()  # joints of the tree
        self.places: dict[int, _Place] = {}
        self.turned: dict[str, Any] = {}  # coordinates of joints of the tree

    def convert(self) -> System:
        host, s = self.host, self.system
        self._refuse()
        values = zip(host.parameters.names, self.m.parameters.values(), strict=True)
        symbols = [s.parameter(name, value) for name, value in values]
        self.p = ca.vertcat(SX(0, 1), *symbols)
        if not self.flexible:
            s.set_gravity(self._in_parameters(host.vector(self.m.gravity)))
        self.u = ca.vertcat(SX(0, 1), *(self._unit(s.input(name), name, unit) for name, unit in _pairs(host.inputs)))
        self._place_bodies()
        elastic = _pairs(host.coordinates)[host.first_mode[0] : host.first_mode[0] + len(self._elastic)]
        extra = [self._coordinate(name, unit) for name, unit in elastic]
        extra += [self._coordinate(name, unit, float(start)) for name, start, _, unit in host.extra]
        self.extra = ca.vertcat(SX(0, 1), *extra)
        self.extra_rates = ca.vertcat(SX(0, 1), *(s.rate(coordinate) for coordinate in extra))
        host.joint_symbols = {name: (symbol, s.rate(symbol)) for name, symbol in self.turned.items()}
        forces = host.collect()
        self._add_bodies()
        if ca.depends_on(forces.other_part, host.lam):
            raise ModelError(
                "not-supported", f"machine {self.m.name!r} has friction that depends on reactions; a formalism takes "
                "forces of the state.", Advice("Leave out {}.", Argument("formalism")),
            )  # fmt: skip
        self._add_forces(*self._substitute([forces.other_part, forces.potential]))
        self._add_rows()
        return s

    # -- parts that no system represents -----------------------------------------------------------------------------
    def _refuse(self) -> None:
        if len(self.host.internal):
            names = ", ".join(self.host.internal.names)
            raise ModelError(
                "not-supported", f"machine {self.m.name!r} has internal states ({names}), which formalisms of "
                "mechanics do not have.", Advice("Leave out {}.", Argument("formalism")), where={"states": names},
            )  # fmt: skip

    @property
    def _elastic(self) -> list[str]:
        return [name for names in self.host.elastic.values() for name in names]

    # -- coordinates -------------------------------------------------------------------------------------------------
    def _unit(self, symbol: Any, name: str, unit: str) -> Any:
        """The unit is shown, and not checked."""
        self.system.units[name] = unit
        return symbol

    def _coordinate(self, name: str, unit: str, drawn: float = 0.0) -> Any:
        start = {**self.m.start.get("guess", {}), **self.m.start.get("position", {})}  # as the model begins
        start_value = start.get(name, start.get(name.removesuffix(".angle").removesuffix(".displacement"), drawn))
        symbol = self.system.coordinate(name, drawn=float(start_value))
        rate = f"{unit or 1}/s"
        self.system.units.update({name: unit, f"{name}.rate": rate, f"{name}.acceleration": f"{rate}²"})
        return symbol

    def _place_bodies(self) -> None:
        m = self.m
        ground = _Place(SX.zeros(2 if self.planar else 3), None, SX.zeros(2 if self.planar else 3), SX.zeros(1), SX(0))
        if not self.planar:
            ground = _Place(SX.zeros(3), SX.eye(3), SX.zeros(3), SX.zeros(3), None, SX([1.0, 0.0, 0.0, 0.0]))
        while len(self.places) < len(m.bodies):
            if not (self.tree and self._follow_one(ground)):
                self._place_free(next(k for k, body in enumerate(m.bodies) if id(body) not in self.places))

    def _follow_one(self, ground: _Place) -> bool:
        """Place one more body by a joint of the tree: the first with fewest freedoms that reaches one."""
        for joint in sorted(self.m.joints, key=freedoms):
            a, b = joint.a.body, joint.b.body
            reached = [body.is_ground or id(body) in self.places for body in (a, b)]
            flexible = a.flexible is not None or b.flexible is not None
            if JOINT_EQUATIONS[joint.kind].motion is None or sum(reached) != 1 or flexible:
                continue
            near, far = (a, b) if reached[0] else (b, a)
            base = ground if near.is_ground else self.places[id(near)]
            self.places[id(far)] = self._follow(joint, base, forward=reached[0])
            self.closed.add(joint.name)
            return True
        return False

    def _place_free(self, k: int) -> None:
        self.places[id(self.m.bodies[k])] = self._free(k)

    def _free(self, k: int) -> _Place:
        """A body with its absolute coordinates."""
        s, space, body = self.system, self.host.space, self.m.bodies[k]
        turn = [body.angle] if self.planar else list(quaternion_from_matrix(np.array(body.rotation)))
        drawn = [*(body.position or (0.0,) * space.dim), *turn]
        names = [f"{body.name}.{name}" for name, _ in space.coordinates]
        listed = list(zip(names, space.coordinates, drawn, strict=True))
        symbols = [
            self._coordinate(name, unit, float(value))
            for name, (_, unit), value in (listed if self.planar or not self.tree else listed[:3])
        ]
        r = ca.vertcat(*symbols[: space.dim])
        rates = ca.vertcat(*(s.rate(symbol) for symbol in symbols))
        if self.planar:
            return _Place(r, None, rates[:2], rates[2], symbols[2])
        if self.tree:
            return self._place_by_angles(r, rates[:3], body)
        e = ca.vertcat(*symbols[3:])
        s.constrain(ca.dot(e, e) - 1, f"{body.name}.e")
        return _Place(r, rotation(e), rates[:3], 4 * rate_matrix(e).T @ rates[3:], None, e)

    def _place_by_angles(self, r: Any, v: Any, body: Body) -> _Place:
        """A free body in joint coordinates."""
        R, omega, e = self._turn_freely(body.name, np.array(body.rotation, dtype=float))
        return _Place(r, R, v, omega, None, e)

    def _turn_freely(self, owner: str, drawn: Any) -> tuple[Any, Any, Any]:
        """R, ω and e of a turn by yaw about z, pitch about y, roll about x, one after the other."""
        values = {
            "yaw": math.atan2(drawn[1, 0], drawn[0, 0]), "pitch": math.asin(min(1.0, max(-1.0, -drawn[2, 0]))),
            "roll": math.atan2(drawn[2, 1], drawn[2, 2]),
        }  # fmt: skip
        angles = [self._coordinate(f"{owner}.{name}", "rad", value) for name, value in values.items()]
        turned = self.system.rotation("zyx", angles)
        e = SX([1.0, 0.0, 0.0, 0.0])
        for axis, angle in zip((3, 2, 1), angles, strict=True):
            half = [ca.cos(angle / 2), 0, 0, 0]
            half[axis] = ca.sin(angle / 2)
            e = multiply(e, ca.vertcat(*half))
        return turned.matrix, turned.omega, e

    def _move(self, joint: Joint, *, forward: bool) -> tuple[RelativeMotion, Any]:
        """The motion of a joint of the tree, from the near side to the far one, and its speeds."""
        s, host = self.system, self.host
        law = JOINT_EQUATIONS[joint.kind].motion
        assert law is not None
        values, speeds = [SX(0, 1)], [SX(0, 1)]
        drawn = self._drawn(joint)
        for k in range(len(joint.coordinates)) if law.own is None else law.own:
            name, _, unit = joint.coordinates[k]
            full = f"{joint.name}.{name}"
            values.append(self._coordinate(full, unit, drawn[k]))
            speeds.append(s.rate(values[-1]))
            self.turned[full] = values[-1]
        turn = None
        if law.ball:
            A, B = (np.array(f.body.rotation) @ np.array(f.axes, dtype=float) for f in joint_frames(joint))
            turn, omega, e = self._turn_freely(joint.name, A.T @ B)
            values.append(e)
            speeds.append(omega)
        numbers = [joint.options[name] for name in joint.declaration.numbers]
        parameters = self._in_parameters(host.vector(numbers)) if numbers else SX.zeros(0)
        q, w = ca.vertcat(*values), ca.vertcat(*speeds)
        motion = law.make(host.space, q, w, parameters)
        if turn is not None:  # shorter than the same matrix from Euler parameters
            motion = replace(motion, R=turn)
        if not forward:
            motion = reverse(host.space, motion, SX.sym("s", q.shape[0]), w)  # its biases are not used
        return motion, w

    def _drawn(self, joint: Joint) -> list[float]:
        """Coordinates of a joint that holds nothing, as the drawing shows its bodies; those of others are zero."""
        if joint.holds:
            return [0.0] * len(joint.coordinates)
        host, m = self.host, self.m
        q = ca.DM.zeros(host.nq)
        for k, body in enumerate(m.bodies):
            turn = [body.angle] if self.planar else list(quaternion_from_matrix(np.array(body.rotation)))
            columns = host.space.nq * k
            q[columns : columns + host.space.nq] = [*(body.position or (0.0,) * host.space.dim), *turn]
        rotations = [] if self.planar else host.rotations
        values = ca.Function("s", [host.q, host.p, *rotations], [host._joint_parts[joint.name][5]])
        turns = [] if self.planar else [np.array(body.rotation, dtype=float) for body in m.bodies]
        return [float(x) for x in np.array(values(q, [float(p) for p in m.parameters.values()], *turns)).ravel()]

    def _follow(self, joint: Joint, base: _Place, *, forward: bool) -> _Place:
        """The body behind a joint of the tree."""
        host = self.host
        motion, speeds = self._move(joint, forward=forward)
        near, far = joint_frames(joint)[:: 1 if forward else -1]
        l_near, l_far = self._in_parameters(host.place(near)), self._in_parameters(host.place(far))
        turning, moving = motion.S @ speeds, motion.P @ speeds
        if self.planar:
            angle_near, angle_far = (self._in_parameters(host.number(frame.angle)) for frame in (near, far))
            angle = base.angle + motion.angle + (angle_near - angle_far)
            w = base.w + turning
            E, R, J = _turn(base.angle), _turn(angle), _turn(angle_near)
            arm = E @ (l_near + J @ motion.p)
            r = base.r + arm - R @ l_far
            v = base.v + base.w * _turn_left(arm) + E @ (J @ moving)
            return _Place(r, None, v - w * _turn_left(R @ l_far), w, angle)
        J_near, J_far = host.frame_axes(near), host.frame_axes(far)
        R = base.R @ J_near @ motion.R @ J_far.T
        w = (base.R.T @ R).T @ base.w + J_far @ turning
        arm = l_near + J_near @ motion.p
        r = base.r + base.R @ arm - R @ l_far
        v = base.v + base.R @ (ca.cross(base.w, arm) + J_near @ moving)
        e = multiply(multiply(base.e, _quaternion(J_near)), multiply(motion.quaternion, conjugate(_quaternion(J_far))))
        return _Place(ca.simplify(r), R, v - R @ ca.cross(w, l_far), w, None, e)

    def _in_parameters(self, value: Any) -> Any:
        """A number of the model, with the parameters of the system."""
        return SX(value) if not ca.depends_on(SX(value), self.host.p) else ca.substitute(value, self.host.p, self.p)

    # -- the machine in these coordinates ------------------------------------------------------------------------------
    def _substitute(self, values: list[Any]) -> list[Any]:
        host = self.host
        places = [self.places[id(body)] for body in self.m.bodies]
        q = [ca.vertcat(place.r, place.angle if self.planar else place.e) for place in places]
        v = [ca.vertcat(place.v, place.w) for place in places]
        turned = []
        for joint, k in host.turning:
            name = f"{joint.name}.{joint.coordinates[k][0]}"
            turned.append(self.turned.get(name, host._joint_parts[joint.name][5][k]))
        counters = host.q[host.nq - len(turned) :]
        if turned:
            values = ca.substitute(values, [counters], [ca.vertcat(*turned)])
        symbols = [host.q[: host.nq - len(turned)], host.v, host.u, host.p, host.t]
        new = [
            ca.vertcat(SX(0, 1), *q, self.extra), ca.vertcat(SX(0, 1), *v, self.extra_rates), self.u, self.p,
            self.system.t,
        ]  # fmt: skip
        if not self.planar:
            symbols += [ca.vec(R) for R in host.rotations]
            new += [ca.vec(ca.densify(place.R)) for place in places]
        self.v = new[1]
        return list(ca.substitute(values, symbols, [ca.densify(place) for place in new]))

    def _add_bodies(self) -> None:
        s, host = self.system, self.host
        rigid = [member for member in host.bodies if isinstance(member, RigidBody)]
        for member in rigid:
            body, place = member.body, self.places[id(member.body)]
            mass = self._in_parameters(host.number(body.mass))
            if self.planar:
                inertia = self._in_parameters(host.number(body.inertia))
                s.add_body(
                    body.name, mass, inertia, place.r, angle=place.angle, velocity=place.v,
                    angular_velocity=ca.vertcat(0, 0, place.w),
                )  # fmt: skip
            else:
                inertia = self._in_parameters(member.mass_block()[3:, 3:])
                s.add_body(
                    body.name, mass, inertia, place.r, rotation=place.R, velocity=place.v, angular_velocity=place.w
                )
        for k, (name, _, mass, _) in enumerate(host.extra):
            if not isinstance(mass, float) or mass:
                own_mass = self._in_parameters(host.number(mass))
                s.add_kinetic(
                    0.5 * own_mass * self.extra_rates[len(self._elastic) + k] ** 2, f"kinetic energy of {name}"
                )
        if len(rigid) < len(host.bodies):
            flexible = [member for member in host.bodies if isinstance(member, FloatingBody)]
            blocks = self._substitute([member.mass_block() for member in flexible])
            for floating, M in zip(flexible, blocks, strict=True):
                v = self.v[list(floating.columns)]
                s.add_kinetic(0.5 * ca.dot(v, M @ v), f"kinetic energy of {floating.body.name}")

    def _add_forces(self, other: Any, potential: Any) -> None:
        """Forces and torques on rigid bodies; along the coordinates of everything else."""
        s, host = self.system, self.host
        if not SX(potential).is_zero():
            s.add_potential(potential, "potential energy")
        effort = SX(ca.sparsify(other))
        for member in host.bodies:
            if not isinstance(member, RigidBody):
                continue
            dim = host.space.dim
            force, torque = (ca.densify(effort[columns, 0]) for columns in (member.columns[:dim], member.columns[dim:]))
            if not force.is_zero():
                s.add_force(f"force on {member.body.name}", force, member.body.name)
            if not torque.is_zero():
                s.add_torque(f"torque on {member.body.name}", torque, member.body.name)
            effort[member.columns, 0] = 0
        forces = ca.sparsify(ca.jacobian(self.v, s.rates).T @ effort)
        for k, name in enumerate(s.coordinate_names):
            if forces[k, 0].nnz():
                s.add_generalized_force(f"force along {name}", name, forces[k, 0])

    def _add_rows(self) -> None:
        s, host = self.system, self.host
        positions, velocities = self._substitute([host.rows.positions(), host.rows.velocities()])
        at_position = at_velocity = 0
        owners: dict[str, list[Any]] = {}
        for tag in host.rows.tags:
            if tag.level == HOLONOMIC:
                row = positions[at_position]
                at_position += 1
            else:
                row = velocities[at_velocity]
            at_velocity += tag.level != "acceleration"
            if tag.level == "acceleration":
                raise ModelError(
                    "not-supported", f"constraint {tag.owner!r} is at acceleration level, which a system of a machine "
                    "does not take.", Advice("Leave out {}.", Argument("formalism")), where={"row": tag.owner},
                )  # fmt: skip
            if tag.owner not in self.closed:
                owners.setdefault(tag.owner, []).append(row)
        for owner, rows in owners.items():
            s.constrain(rows, owner)


def _pairs(channels: Any) -> list[tuple[str, str]]:
    return list(zip(channels.names, channels.units, strict=True))


def _turn(angle: Any) -> Any:
    angle = SX(angle)
    if angle.is_zero():
        return SX.eye(2)
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))


def _turn_left(vector: Any) -> Any:
    """A vector of the plane, turned by a quarter: ż = ω e₃ × z."""
    return ca.vertcat(-vector[1], vector[0])


def _quaternion(axes: Any) -> Any:
    return SX(ca.DM(quaternion_from_matrix(np.array(ca.DM(ca.densify(axes))))))
