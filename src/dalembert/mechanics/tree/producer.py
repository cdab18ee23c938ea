"""Equations of a Mechanism in joint coordinates.

Coordinates are those of the joints of a spanning tree; free bodies and flexible ones keep coordinates of their own.
Every joint outside the tree brings its rows, written as in absolute coordinates, since a link answers the same
questions as a body (`bodies.attachment`). Mass matrix and forces of the motion come from the recursions.

Reactions of joints of the tree have no multipliers. They follow from the balance of all bodies beyond the joint:

    force  = Σ (m a - applied force) ,      torque about the joint = Σ (moments of the same)

with the forces, rows and inertia of the same machine in absolute coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion, Follower, Placement, QuaternionBlock
from dalembert.expressions import Array
from dalembert.mechanics.absolute.idle import massless_spins
from dalembert.mechanics.absolute.placement import SpanningTree, place_mechanism
from dalembert.mechanics.absolute.producer import Absolute, without_rounding
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.forces import FORCE_EQUATIONS, ForceBuilder
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, joint_frames
from dalembert.mechanics.joints.motion import Motion, free, reverse
from dalembert.mechanics.joints.reactions import reaction_of_rows
from dalembert.mechanics.poses import Twist
from dalembert.mechanics.rows import Form, Measured
from dalembert.mechanics.tree.inverse_dynamics import inverse_dynamics
from dalembert.mechanics.tree.links import Link, LinkBody
from dalembert.mechanics.tree.mass import link_inertia, mass_blocks
from dalembert.mechanics.tree.spanning import Branch, span
from dalembert.model import Body, BodyFrame, Mechanism
from dalembert.model.joints import Joint
from dalembert.model.orientation import quaternion_from_matrix

SX = ca.SX
EULER = (("e0", ""), ("e1", ""), ("e2", ""), ("e3", ""))
TURNING = (("wx", "rad/s"), ("wy", "rad/s"), ("wz", "rad/s"))


@dataclass(frozen=True)
class Part:
    """Coordinates and speeds of one branch: first places and counts."""

    first_q: int
    nq: int
    first_v: int
    nv: int

    @property
    def q(self) -> slice:
        return slice(self.first_q, self.first_q + self.nq)

    @property
    def columns(self) -> range:
        return range(self.first_v, self.first_v + self.nv)


class JointCoordinates(Absolute):
    """Collects the expressions of one mechanism in joint coordinates."""

    def __init__(
        self, m: Mechanism, *, absolute: Iterable[str] = (), cut: Iterable[str] = (), sticking: bool = False
    ) -> None:
        m.check()
        bearing = {name for force in m.forces for name in FORCE_EQUATIONS[force.kind].reactions(force)}
        self.branches = span(m, absolute=absolute, cut=cut, rows=bearing)
        self.carriers = {branch.joint.name for branch in self.branches if branch.joint is not None}
        super().__init__(m, sticking=sticking)
        self.spins = []

    def has_rows(self, joint: Joint) -> bool:
        return joint.name not in self.carriers

    # -- coordinates --------------------------------------------------------------------------------------------------
    def rigid_channels(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        coordinates: list[tuple[str, str]] = []
        speeds: list[tuple[str, str]] = []
        self.parts: dict[int, Part] = {}
        for branch in self.branches:
            q, v = self._channels_of(branch)
            self.parts[id(branch.body)] = Part(len(coordinates), len(q), len(speeds), len(v))
            coordinates += q
            speeds += v
        return coordinates, speeds

    def _channels_of(self, branch: Branch) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        joint, space = branch.joint, self.space
        if joint is None:
            own = [(f"{branch.body.name}.{c}", unit) for c, unit in space.coordinates]
            return own, [(f"{branch.body.name}.{c}", unit) for c, unit in space.speeds]
        motion = JOINT_EQUATIONS[joint.kind].motion
        assert motion is not None
        if motion.ball:
            return [(f"{joint.name}.{c}", u) for c, u in EULER], [(f"{joint.name}.{c}", u) for c, u in TURNING]
        chosen = range(len(joint.coordinates)) if motion.own is None else motion.own
        own = [(f"{joint.name}.{joint.coordinates[k].name}", joint.coordinates[k].unit) for k in chosen]
        rates = [(f"{joint.name}.{joint.coordinates[k].rate}", f"{joint.coordinates[k].unit}/s") for k in chosen]
        return own, rates

    def rigid_columns(self, body: Body) -> range:
        """Speeds of a free body's frame."""
        return self.parts[id(body)].columns

    def euler_parameters(self, body: Body) -> Any:
        own = self.bodies[self.body_index[id(body)]] if self.bodies else None
        if isinstance(own, LinkBody):
            return own.euler_parameters
        return SX(0, 1) if self.space.planar else self.q[self.parts[id(body)].q][3:7]

    def move_bodies(self) -> list[Any]:
        space = self.space
        massless = {id(body): SX(ca.DM(axis)) for body, axis in massless_spins(self.m, self.spins)}
        links: dict[int, Link] = {}
        made: dict[int, Any] = {}
        blocks: list[Any] = []
        first_q, first_v = self.first_mode
        elastic: dict[int, tuple[int, int]] = {}
        for body in self.m.bodies:
            if body.flexible is not None:
                elastic[id(body)] = (first_q, first_v)
                first_q, first_v = first_q + body.flexible.modes, first_v + body.flexible.modes
        for branch in self.branches:
            part = self.parts[id(branch.body)]
            s, w = self.q[part.q], self.v[list(part.columns)]
            motion = self._motion(branch, s, w)
            blocks.append(motion.N)
            if branch.body.flexible is not None:
                i, j = elastic[id(branch.body)]
                count = branch.body.flexible.modes
                made[id(branch.body)] = FloatingBody(
                    self, branch.body, space.pose(s), space.twist(w), self.q[i : i + count], self.v[j : j + count],
                    range(j, j + count),
                )  # fmt: skip
                continue
            parent = None if branch.parent is None or branch.parent.is_ground else links[id(branch.parent)]
            links[id(branch.body)] = link = self._link(branch, parent, part, w, motion)
            made[id(branch.body)] = LinkBody(self, link, massless.get(id(branch.body)))
        self.links = list(links.values())
        self.bodies = [made[id(body)] for body in self.m.bodies]
        self.inertias = [link_inertia(made[id(link.body)]) for link in self.links]
        return blocks

    def _motion(self, branch: Branch, s: Any, w: Any) -> Motion:
        joint = branch.joint
        if joint is None:
            return free(self.space, s, w)
        own = JOINT_EQUATIONS[joint.kind].motion
        assert own is not None
        numbers = [joint.options[name] for name in joint.declaration.numbers]
        motion = own.make(self.space, s, w, self.vector(numbers) if numbers else SX.zeros(0))
        return reverse(self.space, motion, s, w) if branch.reversed else motion

    def _link(self, branch: Branch, parent: Link | None, part: Part, w: Any, motion: Motion) -> Link:
        space = self.space
        if branch.joint is None:
            none = SX(space.dim, 1)
            return Link(space, branch.body, None, part.columns, w, motion, SX.eye(space.dim), none, SX.eye(space.dim), none)
        near, far = joint_frames(branch.joint)
        if branch.reversed:
            near, far = far, near
        axes, place = self.frame_axes(near), self.place(near)
        if parent is not None:
            axes, place = parent.far.T @ axes, parent.far.T @ (place - parent.place)
        angles = [self.number(frame.angle) if space.planar else 0.0 for frame in (near, far)]
        return Link(
            space, branch.body, parent, part.columns, w, motion, tidy(axes), tidy(place), self.frame_axes(far),
            ca.sparsify(self.place(far)), *angles,
        )  # fmt: skip

    # -- joints and measures ------------------------------------------------------------------------------------------
    def add_joint(self, joint: Joint) -> None:
        if self.has_rows(joint):
            super().add_joint(joint)
            return
        *_, s, s_rate, S_a, S_b, s_bias = self._joint_parts[joint.name]
        a, b = self.attach(joint.a), self.attach(joint.b)
        axes = a.pose.R @ self.frame_axes(joint_frames(joint)[0])
        self.joints[joint.name] = (joint, (), {"blocks": None, "axes": axes, "point": b.position})
        for k, (coordinate, rate, unit) in enumerate(joint.coordinates):
            name, rate_name = f"{joint.name}.{coordinate}", f"{joint.name}.{rate}"
            if name in self.coordinates.index:
                i, j = self.coordinates.index[name], self.speeds.index[rate_name]
                form = Form([0], [j], [SX(1)], 1)
                self.measured[name] = Measured(self.q[i], self.v[j], form, SX(0), unit, rate_name)
                continue
            form = Form.of_blocks((a.by_speeds(S_a[k, :]), b.by_speeds(S_b[k, :])))
            bias = s_bias[k] + a.drift(S_a[k, :]) + b.drift(S_b[k, :])
            self.measured[name] = Measured(s[k], s_rate[k], form, bias, unit, rate_name)

    def measure_bodies(self) -> None:
        space = self.space
        for own, body in zip(self.bodies, self.m.bodies, strict=True):
            if not isinstance(own, LinkBody):
                part = self.parts[id(body)]
                for i in range(space.dim + space.planar):
                    form = Form([0], [part.first_v + i], [SX(1)], 1)
                    self._measure_pose(body, i, self.q[part.first_q + i], self.v[part.first_v + i], form, SX(0))
                continue
            values = [own.pose.r[k] for k in range(space.dim)] + [own.pose.angle] * space.planar
            rates = ca.vertcat(own.twist.v, own.twist.w)
            for i, value in enumerate(values):
                form = Form.of_blocks([(own.columns, own.B[i, :])])
                self._measure_pose(body, i, value, rates[i], form, own.bias[i])
            if not space.planar and own.link.parent is not None or self._is_carried(own):
                self._measure_orientation(own)

    def _is_carried(self, own: LinkBody) -> bool:
        """Whether the body's Euler parameters are no coordinates."""
        return not self.space.planar and f"{own.body.name}.e0" not in self.coordinates.index

    def _measure_pose(self, body: Body, i: int, value: Any, rate: Any, form: Form, bias: Any) -> None:
        name, unit = self.space.coordinates[i]
        rate_name = f"{body.name}.{self.space.speeds[i][0]}"
        self.measured[f"{body.name}.{name}"] = Measured(value, rate, form, bias, unit, rate_name)

    def _measure_orientation(self, own: LinkBody) -> None:
        """Euler parameters: ṗ = N ω, p̈ = N ω̇ - ¼ |ω|² p."""
        p, w = own.euler_parameters, own.twist.w
        N = self.space.rate_matrix(ca.vertcat(SX.zeros(3), p))[3:, 3:]
        rates, turn = N @ w, ca.sparsify(N @ own.B[3:, :])
        bias = N @ own.bias[3:] - 0.25 * ca.dot(w, w) * p
        for k, (name, unit) in enumerate(EULER):
            form = Form.of_blocks([(own.columns, turn[k, :])])
            full = f"{own.body.name}.{name}"
            self.measured[full] = Measured(p[k], rates[k], form, bias[k], unit, f"{full}.rate")

    def is_recorded(self, name: str) -> bool:
        return name not in self.coordinates.index

    def lookup(self, name: str) -> Any | None:
        found = super().lookup(name)
        if found is None:  # speeds of a carried body
            for own in self.bodies:
                if isinstance(own, LinkBody):
                    for k, (speed, _) in enumerate(self.space.speeds):
                        if name == f"{own.body.name}.{speed}":
                            return ca.vertcat(own.twist.v, own.twist.w)[k]
        return found

    # -- dynamics -----------------------------------------------------------------------------------------------------
    def mass_matrix(self) -> Any:
        rows: list[int] = []
        columns: list[int] = []
        values: list[Any] = []
        blocks = mass_blocks(self.links, self.inertias)
        blocks += [(own.columns, own.columns, own.mass_block()) for own in self.bodies if isinstance(own, FloatingBody)]
        first = self.first_extra[1]
        blocks += [([first + k], [first + k], SX(self.number(e[2]))) for k, e in enumerate(self.extra)]
        for where, across, block in blocks:
            block = ca.sparsify(SX(block))
            i, j = block.sparsity().get_triplet()
            rows += [where[k] for k in i]
            columns += [across[k] for k in j]
            values += block.nonzeros()
        return SX.triplet(rows, columns, ca.vertcat(*values) if values else SX(0, 1), self.nv, self.nv)

    def add_body_forces(self, forces: ForceBuilder, gravity: Any) -> None:
        for own in self.bodies:
            if isinstance(own, LinkBody):
                own.add_potential(forces, gravity)
            else:
                own.add_weight(forces, gravity)
                own.add_own_forces(forces)
        efforts = inverse_dynamics(self.links, self.inertias, gravity)
        forces.add(list(efforts), [-x for x in efforts.values()], has_potential=True)

    # -- reactions of the joints of the tree ----------------------------------------------------------------------------
    def reaction(self, name: str) -> tuple[Any, Any, Any]:
        joint, rows, place = self.joints[name]
        if rows or self.has_rows(joint):
            return reaction_of_rows(self, name)
        branch = next(b for b in self.branches if b.joint is joint)
        force, moment = self._carried[id(branch.body)]
        torque = moment - self.space.turn_about(place["point"], force)
        sign = -1 if branch.reversed else 1
        return sign * force, sign * torque, place["axes"]

    @cached_property
    def _carried(self) -> dict[int, tuple[Any, Any]]:
        """Force and moment about the world's origin that the joint of every link carries, world axes."""
        space, plain = self.space, self.absolute_functions
        poses = [ca.vertcat(own.pose.r, own.pose.angle) if space.planar else self._pose_column(own) for own in self.bodies]
        elastic_q = self.q[self.first_mode[0] : self.first_extra[0] + len(self.extra)]
        elastic_v = self.v[self.first_mode[1] : self.nv]
        elastic_a = self.a[self.first_mode[1] : self.nv]
        counted = plain.nq - sum(x.shape[0] for x in poses) - elastic_q.shape[0]
        q = ca.vertcat(*poses, elastic_q, SX.zeros(counted))
        v = ca.vertcat(*(ca.vertcat(own.twist.v, own.twist.w) for own in self.bodies), elastic_v)
        change = [self._body_acceleration(own) for own in self.bodies]
        a = ca.vertcat(*change, elastic_a)
        places = {(row.owner, row.number): k for k, row in enumerate(self.rows.tags)}
        lam = ca.vertcat(
            *(self.lam[places[r.owner, r.number]] if (r.owner, r.number) in places else SX(0) for r in plain.rows)
        )
        F = plain.functions
        A, _ = F["rows"](q, v, self.z, self.u, self.p, self.t)
        lam = lam if plain.rows else SX.zeros(0, 1)
        efforts = F["inertia"](q, self.p, self.t) @ a - F["forces"](q, v, self.z, self.u, self.p, self.t, lam) - A.T @ lam
        found: dict[int, tuple[Any, Any]] = {}
        for k, own in enumerate(self.bodies):
            part = efforts[space.nv * k : space.nv * (k + 1)]
            force, turn = part[: space.dim], part[space.dim :]
            moment = (turn if space.planar else own.pose.R @ turn) + space.turn_about(own.pose.r, force)
            found[id(own.body)] = (force, moment)
        for branch in reversed(self.branches):
            above = branch.parent
            if above is not None and not above.is_ground:
                mine, theirs = found[id(branch.body)], found[id(above)]
                found[id(above)] = (theirs[0] + mine[0], theirs[1] + mine[1])
        return found

    @cached_property
    def absolute_functions(self) -> EquationsOfMotion:
        """The same machine in absolute coordinates."""
        return Absolute(self.m, sticking=bool(self.exact)).build()

    def _pose_column(self, own: Any) -> Any:
        return ca.vertcat(own.pose.r, self.euler_parameters(own.body))

    def _body_acceleration(self, own: Any) -> Any:
        if isinstance(own, LinkBody):
            return own.B @ self.a[own.columns] + own.bias
        return self.a[list(self.rigid_columns(own.body))]

    # -- placement ----------------------------------------------------------------------------------------------------
    def quaternion_blocks(self) -> list[QuaternionBlock]:
        if self.space.planar:
            return []
        found = []
        for branch in self.branches:
            part = self.parts[id(branch.body)]
            if branch.joint is None:
                found.append(QuaternionBlock(branch.body.name, part.first_q + 3, part.first_v + 3))
            elif part.nq == 4:
                found.append(QuaternionBlock(branch.joint.name, part.first_q, part.first_v))
        return found

    def place_bodies(self) -> Placement:
        plain = self.absolute_functions.placement
        assert isinstance(plain.first_guess, SpanningTree)
        guess = JointGuess(
            plain.first_guess, self.space.planar, tuple(self._readings()), self.coordinates.names, self._rest_of_drawing()
        )
        names = list(self.measured)
        followers = tuple(
            Follower(
                self.coordinates.index[rotor.name],
                names.index(self.names.get(rotor.coordinate, rotor.coordinate)),
                float(rotor.ratio),
            )
            for force in self.m.forces
            for rotor in force.rotors()
        )
        return Placement(tuple(guess({})), plain.z, guess, followers, plain.held)

    def _rest_of_drawing(self) -> tuple[float, ...]:
        return (*(0.0 for _ in self.modes), *(float(e[1]) for e in self.extra), *(0.0 for _ in self.turning))

    def _readings(self) -> list[Reading]:
        found = []
        for branch in self.branches:
            joint, index = branch.joint, self.body_index[id(branch.body)]
            if joint is None:
                found.append(Reading(index))
                continue
            a, b = joint_frames(joint)
            own = JOINT_EQUATIONS[joint.kind].motion
            assert own is not None
            chosen = tuple(range(len(joint.coordinates)) if own.own is None else own.own)
            sides = tuple(-1 if f.body.is_ground else self.body_index[id(f.body)] for f in (a, b))
            names = tuple(f"{joint.name}.{c.name}" for c in joint.coordinates)
            value = None if own.ball else self._reading_function(joint)
            found.append(Reading(index, sides, value, chosen, names, tuple(_axes(f, self.space.planar) for f in (a, b))))
        return found

    def _reading_function(self, joint: Joint) -> ca.Function:
        """Coordinates of a joint from the poses of its bodies (columns of q in absolute coordinates)."""
        space, symbols = self.space, [SX.sym("a", self.space.nq), SX.sym("b", self.space.nq)]
        poses = [space.pose(x) if not f.body.is_ground else space.ground_pose() for x, f in zip(symbols, (joint.a, joint.b), strict=True)]
        frames = joint_frames(joint)
        arguments: list[Any] = []
        for pose in poses:
            arguments += [pose.r, pose.R, pose.angle, SX.zeros(space.dim), SX.zeros(space.turns)]
        for frame in frames:
            arguments += [self.place(frame), self.frame_axes(frame)]
        numbers = [joint.options[name] for name in joint.declaration.numbers]
        from dalembert.mechanics.joints.joint_equations import joint_kernel

        kernel = joint_kernel(space.planar, JOINT_EQUATIONS[joint.kind], len(joint.declaration.numbers))
        found = kernel.call([*arguments, self.vector(numbers) if numbers else SX.zeros(0)])[5]
        if space.planar and found.shape[0] and joint.coordinates[0].unit == "rad":
            found = found + self._whole_turns(joint)
        values = [self.p, *symbols]
        nominal = ca.substitute(found, self.p, ca.DM(list(map(float, self.m.parameters.values())) + [0.0] * len(self.exact)))
        return ca.Function("reading", values[1:], [nominal])


@dataclass(frozen=True)
class Reading:
    """How to read the coordinates of one branch from the poses of all bodies: of a free body (no sides), a joint."""

    body: int
    sides: tuple[int, ...] = ()
    value: ca.Function | None = None
    chosen: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    axes: tuple[Any, ...] = ()


@dataclass(frozen=True)
class JointGuess:
    """From named coordinates to joint coordinates: bodies are placed as in absolute coordinates, joints read there."""

    placed: SpanningTree
    planar: bool
    readings: tuple[Reading, ...]
    names: tuple[str, ...]
    rest: tuple[float, ...]

    def __call__(self, values: Mapping[str, float]) -> Array:
        q = self.placed(values)
        size = self.placed.size
        found: list[float] = []
        for one in self.readings:
            if not one.sides:
                found += list(q[size * one.body : size * (one.body + 1)])
                continue
            poses = [q[size * k : size * (k + 1)] if k >= 0 else np.zeros(size) for k in one.sides]
            if one.value is None and one.axes and len(one.names) == 0 and self._is_ball(one):
                found += self._turn(poses, one)
                continue
            read = np.asarray(one.value(*poses)).ravel() if one.value is not None else np.zeros(0)
            found += [float(values.get(one.names[k], read[k])) for k in one.chosen]
        found += list(self.rest)
        return np.array([values.get(name, x) for name, x in zip(self.names, found, strict=True)])

    @staticmethod
    def _is_ball(one: Reading) -> bool:
        return one.value is None

    @staticmethod
    def _turn(poses: list[Array], one: Reading) -> list[float]:
        """Euler parameters of frame b in frame a."""
        from dalembert.mechanics.absolute.placement import _rotation

        turns = [
            (_rotation(pose[3:]) if k >= 0 else np.eye(3)) @ np.array(axes)
            for pose, k, axes in zip(poses, one.sides, one.axes, strict=True)
        ]
        return list(quaternion_from_matrix(turns[0].T @ turns[1]))


def _axes(frame: BodyFrame, planar: bool) -> Any:
    return () if planar else tuple(tuple(float(c) for c in row) for row in frame.axes)


def tidy(values: Any) -> Any:
    """Without zeros that rounding has left in constants."""
    if not values.is_constant():
        return ca.sparsify(values)
    rows = np.array(ca.DM(ca.densify(values)))
    return ca.sparsify(SX(ca.DM([without_rounding([float(x) for x in row]) for row in rows])))


def joint_equations(m: Mechanism, *, absolute: Iterable[str] = (), cut: Iterable[str] = ()) -> EquationsOfMotion:
    """Equations of a mechanism in joint coordinates."""
    absolute, cut = list(absolute), list(cut)
    eqs = JointCoordinates(m, absolute=absolute, cut=cut).build()
    if all(d.speed is not None for d in eqs.dry):
        return eqs
    return replace(eqs, stick_slip=JointCoordinates(m, absolute=absolute, cut=cut, sticking=True).build())


__all__ = ["JointCoordinates", "Twist", "joint_equations"]
