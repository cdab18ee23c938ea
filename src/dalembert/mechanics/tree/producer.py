"""Equations of a Mechanism in joint coordinates.

Coordinates are those of the joints of a spanning tree and of the modes of flexible bodies; free bodies have their own.
Every joint outside the tree adds its rows, written as in absolute coordinates, since a link has the same interface
as a body (`bodies.attachment`). Mass matrix and forces of the motion come from the recursions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelWarning
from dalembert.equations import CarriedOrientation, EquationsOfMotion, Placement, QuaternionBlock
from dalembert.expressions import Expr
from dalembert.mechanics.absolute.build_equations import share
from dalembert.mechanics.absolute.idle import Spin, massless_spins
from dalembert.mechanics.absolute.producer import Absolute, without_rounding
from dalembert.mechanics.forces import FORCE_EQUATIONS, ForceBuilder
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, joint_frames
from dalembert.mechanics.joints.motion import RelativeMotion, free, reverse
from dalembert.mechanics.joints.reactions import reaction_of_rows
from dalembert.mechanics.poses import Pose
from dalembert.mechanics.rotations import skew
from dalembert.mechanics.rows import Form, Measured
from dalembert.mechanics.tree.algorithms.closed_form import EXPONENTIAL, closed_dynamics
from dalembert.mechanics.tree.algorithms.energy import tree_energy
from dalembert.mechanics.tree.algorithms.forward_dynamics import SHORTER_THAN_FACTOR, solve_mass
from dalembert.mechanics.tree.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.mechanics.tree.algorithms.mass_matrix import mass_blocks, scatter
from dalembert.mechanics.tree.fixed_links import merge_fixed_links
from dalembert.mechanics.tree.flexible_link import FlexibleLink
from dalembert.mechanics.tree.link_body import LinkBody
from dalembert.mechanics.tree.link_inertia import without_mass
from dalembert.mechanics.tree.link_tree import ORIGIN, ElasticGear, LinkTree, make_symbols
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.placement import place_in_joint_coordinates
from dalembert.mechanics.tree.reactions import carried_forces, reaction_in_absolute_coordinates
from dalembert.mechanics.tree.spanning import Branch, describe_tree, span
from dalembert.model import Body, BodyFrame, Mechanism
from dalembert.model.forces import Rotor
from dalembert.model.joints import Joint
from dalembert.model.orientation import logarithm

SX = ca.SX
RECURSIVE, CLOSED = FORMS = ("recursive", "closed")
EULER = (("e0", ""), ("e1", ""), ("e2", ""), ("e3", ""))
TURNING = (("wx", "rad/s"), ("wy", "rad/s"), ("wz", "rad/s"))


@dataclass(frozen=True)
class GearedRotor:
    """A rotor that turns with a coordinate of the tree, and with the deflection of its elastic gear where it has one.

    owner : name of its force.  coordinates, speeds : numbers of those that turn it, one or two.
    """

    owner: str
    rotor: Rotor
    coordinates: list[int]
    speeds: list[int]
    ratio: Expr
    inertia: Expr

    @property
    def at_joint(self) -> Expr:
        """Its inertia reflected to the joint."""
        return self.ratio**2 * self.inertia


@dataclass(frozen=True)
class BranchCoordinates:
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
        self, m: Mechanism, *, absolute: Sequence[str] = (), cut: Sequence[str] = (), sticking: bool = False,
        form: str = RECURSIVE, rotations: str = EXPONENTIAL,
    ) -> None:  # fmt: skip
        m.validate()
        self.form, self.rotations = form, rotations
        bearing = {name: force.name for force in m.forces for name in FORCE_EQUATIONS[force.kind].reactions(force)}
        self.branches = span(m, absolute=absolute, cut=cut, rows=bearing)
        self.remarks = describe_tree(m, self.branches, bearing, absolute)
        if not sticking:
            ModelWarning.report([remark for remark in self.remarks if remark.code == "slow-coordinates"], stacklevel=4)
        self.carriers = {branch.joint.name for branch in self.branches if branch.joint is not None}
        super().__init__(m, sticking=sticking, kernels=False)

    def has_rows(self, joint: Joint) -> bool:
        return joint.name not in self.carriers

    def turns_apart(self, rotor: Rotor) -> bool:
        return self._tree_coordinate(rotor) is None

    def _tree_coordinate(self, rotor: Rotor) -> tuple[str, str] | None:
        """Names of the coordinate of the tree that a rotor is geared to, and of its rate; None where it is none."""
        full = self.names.get(rotor.coordinate, rotor.coordinate)
        for joint in self.m.joints:
            if joint.name in self.carriers and full.startswith(f"{joint.name}."):
                for k in self.tree_coordinates(joint):
                    if full == f"{joint.name}.{joint.coordinates[k].name}":
                        return full, f"{joint.name}.{joint.coordinates[k].rate}"
        return None

    @cached_property
    def geared(self) -> list[GearedRotor]:
        """Rotors that turn with coordinates of the tree: inertia of the joint's own speed, without rows."""
        found = []
        for owner, rotor in ((force.name, rotor) for force in self.m.forces for rotor in force.rotors()):
            names = self._tree_coordinate(rotor)
            if names is not None:
                behind = [self.gears[names[0]].deflection] if names[0] in self.gears else []
                turned = [self.coordinates.index[name] for name in (names[0], *behind)]
                turning = [self.speeds.index[name] for name in (names[1], *(f"{name}.rate" for name in behind))]
                ratio, inertia = SX(self.number(rotor.ratio)), SX(self.number(rotor.inertia))
                found.append(GearedRotor(owner, rotor, turned, turning, ratio, inertia))
        return found

    @property
    def joint_inertia(self) -> dict[int, Expr]:
        """Inertia of rotors behind stiff gears, by the speed that turns them."""
        found: dict[int, Expr] = {}
        for one in self.geared:
            if len(one.speeds) == 1:
                found[one.speeds[0]] = found.get(one.speeds[0], SX(0)) + one.at_joint
        return found

    @property
    def elastic_gears(self) -> list[ElasticGear]:
        """With the inertia of all their rotors."""
        found: dict[int, ElasticGear] = {}
        for one in (one for one in self.geared if len(one.speeds) > 1):
            joint, own = one.speeds
            gear = self.gears[self.coordinates.names[one.coordinates[0]]]
            inertia = one.at_joint + (found[own].inertia if own in found else SX(0))
            numbers = (SX(self.number(x)) for x in (gear.stiffness, gear.damping))
            found[own] = ElasticGear(joint, own, self.q[one.coordinates[1]], inertia, *numbers)
        return list(found.values())

    def needs_kernel(self, joint: Joint) -> bool:
        return self.has_rows(joint) or len(self.tree_coordinates(joint)) < len(joint.coordinates)

    # -- coordinates --------------------------------------------------------------------------------------------------
    def rigid_channels(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        coordinates: list[tuple[str, str]] = []
        speeds: list[tuple[str, str]] = []
        self.parts: dict[int, BranchCoordinates] = {}
        for branch in self.branches:
            q, v = self._channels_of(branch)
            self.parts[id(branch.body)] = BranchCoordinates(len(coordinates), len(q), len(speeds), len(v))
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
        chosen = [joint.coordinates[k] for k in self.tree_coordinates(joint)]
        turned, turning = (EULER, TURNING) if motion.ball else ((), ())
        own = [*((c.name, c.unit) for c in chosen), *turned]
        rates = [*((c.rate, f"{c.unit}/s") for c in chosen), *turning]
        return [(f"{joint.name}.{c}", u) for c, u in own], [(f"{joint.name}.{c}", u) for c, u in rates]

    @staticmethod
    def tree_coordinates(joint: Joint) -> tuple[int, ...]:
        """Which of the joint's coordinates are coordinates of the tree."""
        motion = JOINT_EQUATIONS[joint.kind].motion
        assert motion is not None
        return tuple(range(len(joint.coordinates)) if motion.own is None else motion.own)

    def rigid_columns(self, body: Body) -> range:
        """Speeds of a free body's frame."""
        return self.parts[id(body)].columns

    def euler_parameters(self, body: Body) -> Any:
        return self.bodies[self.body_index[id(body)]].euler_parameters

    def move_bodies(self) -> list[Any]:
        massless = {id(body): SX(ca.DM(axis)) for body, axis in massless_spins(self.m, self.spins)}
        made: dict[int, Any] = {}
        blocks: list[Any] = []
        first_q, first_v = self.first_mode
        elastic: dict[int, tuple[int, int]] = {}
        for body in self.m.bodies:
            if body.flexible is not None:
                elastic[id(body)] = (first_q, first_v)
                first_q, first_v = first_q + body.flexible.modes, first_v + body.flexible.modes
        links: dict[int, Link] = {}
        for branch in self.branches:
            part, body = self.parts[id(branch.body)], branch.body
            s = self.q[part.q] if part.nq else SX(0, 1)  # a slice of nothing of one coordinate is a row
            w = self.v[list(part.columns)] if part.nv else SX(0, 1)
            motion = self._motion(branch, s, w)
            blocks.append(motion.N)
            above = None if branch.parent is None or branch.parent.is_ground else made[id(branch.parent)]
            link = self._link(branch, above, part, w, motion)
            if body.flexible is None:
                own: Any = LinkBody(self, link, body, massless.get(id(body)))
            else:
                (i, j), count = elastic[id(body)], body.flexible.modes
                modes = (self.q[i : i + count], self.v[j : j + count]) if count else (SX(0, 1), SX(0, 1))
                own = FlexibleLink(self, body, link, self._far_frame(branch), *modes, range(j, j + count))
            made[id(body)] = own
            links |= {id(one): one for one in own.link.path}
        self.links = list(links.values())
        self.bodies = [made[id(body)] for body in self.m.bodies]
        inertias = {id(own.link): own.inertia() for own in made.values()}
        self.inertias = [inertias.get(id(link), without_mass(self.space)) for link in self.links]
        self.moving = merge_fixed_links(self.links, self.inertias)
        return blocks

    @staticmethod
    def _far_frame(branch: Branch) -> BodyFrame | None:
        """The frame of its joint on a body; None of a free body."""
        if branch.joint is None:
            return None
        return joint_frames(branch.joint)[0 if branch.reversed else 1]

    def _motion(self, branch: Branch, s: Expr, w: Expr) -> RelativeMotion:
        joint = branch.joint
        if joint is None:
            return free(self.space, s, w)
        own = JOINT_EQUATIONS[joint.kind].motion
        assert own is not None
        numbers = [joint.options[name] for name in joint.declaration.numbers]
        motion = own.make(self.space, s, w, self.vector(numbers) if numbers else SX.zeros(0))
        return reverse(self.space, motion, s, w) if branch.reversed else motion

    def _link(
        self,
        branch: Branch,
        above: LinkBody | FlexibleLink | None,
        part: BranchCoordinates,
        w: Expr,
        motion: RelativeMotion,
    ) -> Link:
        space = self.space
        if branch.joint is None:
            none = SX(space.dim, 1)
            return Link(
                space, branch.body.name, None, part.columns, w, motion, SX.eye(space.dim), none, SX.eye(space.dim), none
            )
        near, far = joint_frames(branch.joint)
        if branch.reversed:
            near, far = far, near
        ground = (None, self.frame_axes(near), self.place(near))
        parent, axes, place = ground if above is None else above.carry(near)
        angles = [self.number(frame.angle) if space.planar else 0.0 for frame in (near, far)]
        name, on_body = branch.body.name, (self.frame_axes(far), ca.sparsify(self.place(far)))
        if branch.body.flexible is not None:  # a link of the joint alone, which carries that of the body
            name, on_body = joint_link_name(branch), (SX.eye(space.dim), SX(space.dim, 1))
        return Link(space, name, parent, part.columns, w, motion, tidy(axes), tidy(place), *on_body, *angles)

    # -- joints and measures ------------------------------------------------------------------------------------------
    def add_joint(self, joint: Joint) -> None:
        if self.has_rows(joint):
            super().add_joint(joint)
            return
        near, (far, place) = self._pose_of(joint.a)[0], self._pose_of(joint.b)
        axes, point = near.R @ self.frame_axes(joint_frames(joint)[0]), far.r + far.R @ place
        self.joints[joint.name] = (joint, (), {"blocks": None, "axes": axes, "point": point})
        for k, (coordinate, rate, unit) in enumerate(joint.coordinates):
            name, rate_name = f"{joint.name}.{coordinate}", f"{joint.name}.{rate}"
            if name in self.coordinates.index:
                i, j = self.coordinates.index[name], self.speeds.index[rate_name]
                form = Form([0], [j], [SX(1)], 1)
                self.measured[name] = Measured(self.q[i], self.v[j], form, SX(0), unit, rate_name)
                continue
            *_, s, s_rate, S_a, S_b, s_bias = self._joint_parts[joint.name]
            a, b = self.attach(joint.a), self.attach(joint.b)
            form = Form.of_blocks((a.by_speeds(S_a[k, :]), b.by_speeds(S_b[k, :])))
            bias = s_bias[k] + a.drift(S_a[k, :]) + b.drift(S_b[k, :])
            self.measured[name] = Measured(s[k], s_rate[k], form, bias, unit, rate_name)

    def _pose_of(self, frame: BodyFrame) -> tuple[Pose, Expr]:
        """Pose of the body of a frame, or of the node of a flexible one, and the place of the frame on it."""
        if frame.body.is_ground:
            return self.space.ground_pose(), self.place(frame)
        if frame.body.flexible is not None:
            side = self.attach(frame)
            return side.pose, side.place
        return self.bodies[self.body_index[id(frame.body)]].pose, self.place(frame)

    def measure_bodies(self) -> None:
        space = self.space
        for one in self.geared:
            form = Form([0] * len(one.speeds), one.speeds, [one.ratio] * len(one.speeds), 1)
            value, rate = (one.ratio * ca.sum1(x) for x in (self.q[one.coordinates], self.v[one.speeds]))
            self.measured[one.rotor.name] = Measured(value, rate, form, SX(0), "rad", f"{one.rotor.name}.rate")
        for own, body in zip(self.bodies, self.m.bodies, strict=True):
            values = [own.pose.r[k] for k in range(space.dim)] + [own.pose.angle] * space.planar
            rates, moved = ca.vertcat(own.twist.v, own.twist.w), own.link.move_point(own.pose.r)
            for i, value in enumerate(values):
                form = Form.of_blocks([(own.link.all_columns, moved[i, :] if i < space.dim else own.link.world_turns)])
                self._measure_pose(body, i, value, rates[i], form, own.bias[i])
            if not space.planar and f"{body.name}.e0" not in self.coordinates.index:
                self._measure_orientation(own)

    def _measure_pose(self, body: Body, i: int, value: Expr, rate: Expr, form: Form, bias: Expr) -> None:
        name, unit = self.space.coordinates[i]
        rate_name = f"{body.name}.{self.space.speeds[i][0]}"
        self.measured[f"{body.name}.{name}"] = Measured(value, rate, form, bias, unit, rate_name)

    def _measure_orientation(self, own: LinkBody | FlexibleLink) -> None:
        """Euler parameters: ṗ = N ω, p̈ = N ω̇ - ¼ |ω|² p, in body axes; S in world axes, ṗ = ½ (0, ω) p."""
        p, w = own.euler_parameters, own.twist.w
        N = self.space.rate_matrix(ca.vertcat(SX.zeros(3), p))[3:, 3:]
        by_turns = 0.5 * ca.vertcat(-p[1:].T, p[0] * SX.eye(3) - skew(p[1:]))
        rates, turn = N @ w, ca.sparsify(by_turns @ own.link.world_turns)
        bias = N @ own.bias[3:] - 0.25 * ca.dot(w, w) * p
        for k, (name, unit) in enumerate(EULER):
            form = Form.of_blocks([(own.link.all_columns, turn[k, :])])
            full = f"{own.body.name}.{name}"
            self.measured[full] = Measured(p[k], rates[k], form, bias[k], unit, f"{full}.rate")
        vector, turns = logarithm([p[k] for k in range(4)]), ca.sparsify(own.pose.R.T @ own.link.world_turns)
        for k, axis in enumerate("xyz"):
            form, name = Form.of_blocks([(own.link.all_columns, turns[k, :])]), f"{own.body.name}.r{axis}"
            self.measured[name] = Measured(vector[k], w[k], form, own.bias[3 + k], "rad", f"{own.body.name}.w{axis}")

    def carried_orientations(self) -> tuple[CarriedOrientation, ...]:
        places = {name: k for k, name in enumerate(self.measured)}
        bodies = [b.name for b in self.m.bodies if f"{b.name}.rx" in places]
        return tuple(CarriedOrientation(b, places[f"{b}.e0"], places[f"{b}.rx"]) for b in bodies)

    def spin_speeds(self, spin: Spin, e: Expr, place: Expr) -> tuple[Expr, Expr]:
        """Rotate the ball joints between spinning bodies and others; bodies beyond them keep their pose."""
        spinning = {id(body) for body in spin.bodies}
        Z, E = SX(self.nv, 1), SX(1, self.nv)
        for branch in self.branches:
            own, above = self.bodies[self.body_index[id(branch.body)]], branch.parent
            inside = id(branch.body) in spinning
            if inside == (above is not None and id(above) in spinning):
                continue
            if above is None:
                Z[list(own.joint_link.columns)] = ca.vertcat(ca.cross(e, own.pose.r - place), own.pose.R.T @ e)
            else:
                joint = own.joint_link
                Z[list(joint.columns)] = (1 if inside else -1) * joint.S.T @ (joint.pose.R.T @ e)
        first = self.bodies[self.body_index[id(spin.bodies[0])]]
        E[list(first.columns)] = e.T @ first.link.world_turns
        return E, Z

    def is_carried(self, name: str) -> bool:
        return name not in self.coordinates.index and name.rpartition(".")[0] not in self.joints

    # -- dynamics -----------------------------------------------------------------------------------------------------
    @cached_property
    def _closed(self) -> tuple[Expr, Expr]:
        return closed_dynamics(self.tree, self.rotations)

    def mass_matrix(self) -> Any:
        everything = list(range(self.nv))
        blocks = [(everything, everything, self._closed[0])] if self.form == CLOSED else mass_blocks(*self.moving)
        first = self.first_extra[1]
        blocks += [([first + k], [first + k], SX(self.number(e[2]))) for k, e in enumerate(self.extra)]
        blocks += [([k], [k], inertia) for k, inertia in self.joint_inertia.items()]
        blocks += [gear.block for gear in self.elastic_gears]
        return scatter(blocks, self.nv)

    def kinetic_energy(self, M: Expr) -> Expr:
        """Of the links from their twists, in as many operations as there are links; of all else by M."""
        parts = (*self.links, *self.inertias)
        gears = self.elastic_gears
        rest = sorted(set(range(self.nv)) - {k for part in parts for k in part.columns} - {g.speed for g in gears})
        own = tree_energy(*self.moving) + sum((gear.kinetic_energy(self.v) for gear in gears), SX(0))
        own = own + sum((0.5 * x * self.v[k] ** 2 for k, x in self.joint_inertia.items()), SX(0))
        return own + 0.5 * ca.bilin(M[rest, rest], self.v[rest], self.v[rest]) if rest else own

    def add_body_forces(self, forces: ForceBuilder, gravity: Expr) -> None:
        for body in self.bodies:
            body.add_potential(forces, gravity)
            if isinstance(body, FlexibleLink):
                body.add_elasticity(forces)
        if self.form == CLOSED:
            forces.add(range(self.nv), -self._closed[1], has_potential=True)
            return
        self._static_forces = forces.potential_part + forces.other_part
        efforts = inverse_dynamics(*self.moving, gravity)
        forces.add(list(efforts), [-x for x in efforts.values()], has_potential=True)

    def own_functions(self) -> dict[str, Callable[[], ca.Function]]:
        """M⁻¹ x by articulated bodies, where the links are all that moves and no row couples them; with flexible bodies
        the balance of implicit steps by the recursion, in half the operations of M a - f."""
        if self.form == RECURSIVE and any(inertia.columns for inertia in self.inertias):
            return {"balance": self._balance}
        few = self.nv < SHORTER_THAN_FACTOR or self.nv != sum(len(link.columns) for link in self.links)
        if len(self.rows) or few or any(inertia.columns for inertia in self.inertias):
            return {}

        def solve() -> ca.Function:
            found = solve_mass(*self.moving, self.a, self.joint_inertia)
            rates = ca.vertcat(*(found[k] for k in range(self.nv)))
            return share("mass_solve", [self.q, self.p, self.t, self.a], [rates])

        return {"mass_solve": solve}

    def _balance(self) -> ca.Function:
        efforts, first = inverse_dynamics(*self.moving, self.vector(self.m.gravity), self.a), self.first_extra[1]
        alone = {first + k: SX(self.number(e[2])) for k, e in enumerate(self.extra)}
        for k, inertia in (*alone.items(), *self.joint_inertia.items()):
            efforts[k] = efforts.get(k, SX(0)) + inertia * self.a[k]
        rows = self.rows
        A, b = rows.matrix(), rows.right_hand_side()
        moved = ca.vertcat(*(efforts[k] for k in range(self.nv)))
        sums = [moved - self._static_forces - A.T @ self.lam, rows.positions(), rows.velocities(), A @ self.a - b]
        return share("balance", [self.q, self.v, self.a, self.lam, self.z, self.u, self.p, self.t], sums)

    @cached_property
    def tree(self) -> LinkTree:  # type: ignore[override]
        """The links, for functions that are built at their first use."""
        m, first = self.m, self.first_extra[1]
        points = {}
        for body in (m.ground, *m.bodies):
            named = {name: body.at(name) for name in body.points}
            origin = {} if body.flexible else {ORIGIN: body.at(*[0.0] * self.space.dim)}
            points[body.name] = {name: SX(self.place(at)) for name, at in (origin | named).items()}
        carriers = {
            branch.joint.name: branch.body.name if branch.body.flexible is None else joint_link_name(branch)
            for branch in self.branches
            if branch.joint is not None
        }
        links = {id(link): link for link in self.links}
        for own in self.bodies:
            if isinstance(own, FlexibleLink):
                nodes = [own.node_link(node.name) for node in own.data.nodes]
                links |= {id(link): link for link in nodes}
        ends = len(links) - len(self.links)
        return LinkTree(
            self.space, make_symbols(self.q, self.v, self.a, self.p, self.t), self.N, self.vector(m.gravity),
            list(links.values()), [*self.inertias, *[without_mass(self.space)] * ends], self.parameters.names, carriers,
            points,
            [(first + k, SX(self.number(e[2]))) for k, e in enumerate(self.extra)], self.joint_inertia,
            [body.name for body in m.bodies if body.flexible is not None], self.elastic_gears,
        )  # fmt: skip

    # -- reactions and placement --------------------------------------------------------------------------------------
    @cached_property
    def plain(self) -> Absolute:
        """The same machine in absolute coordinates."""
        return Absolute(self.m, sticking=bool(self.exact), kernels=False)

    @cached_property
    def balance_of_bodies(self) -> ca.Function:
        """Forces on all bodies in absolute coordinates, M v̇ - f - Aᵀ λ."""
        return self.plain.balance()

    @cached_property
    def _carried(self) -> dict[int, tuple[Any, Any]]:
        return carried_forces(self)

    def reaction(self, name: str) -> tuple[Any, Any, Any]:
        joint, _, place = self.joints[name]
        if self.has_rows(joint):
            whole = JOINT_EQUATIONS[joint.kind].residual is not None
            return (reaction_in_absolute_coordinates if whole else reaction_of_rows)(self, name)
        branch = next(b for b in self.branches if b.joint is joint)
        force, moment = self._carried[id(branch.body)]
        torque = moment - self.space.turn_about(place["point"], force)
        sign = -1 if branch.reversed else 1
        return sign * force, sign * torque, place["axes"]

    def quaternion_blocks(self) -> list[QuaternionBlock]:
        if self.space.planar:
            return []
        quaternion_blocks = []
        for branch in self.branches:
            part, joint = self.parts[id(branch.body)], branch.joint
            motion = None if joint is None else JOINT_EQUATIONS[joint.kind].motion
            if motion is None or motion.ball:
                owner = branch.body.name if joint is None else joint.name
                quaternion_blocks.append(QuaternionBlock(owner, part.first_q + part.nq - 4, part.first_v + part.nv - 3))
        return quaternion_blocks

    def place_bodies(self) -> Placement:
        return place_in_joint_coordinates(self)


def joint_link_name(branch: Branch) -> str:
    """Of the link between a joint and the flexible body that it carries."""
    assert branch.joint is not None
    return f"{branch.body.name}:{branch.joint.name}"


def tidy(values: Expr) -> Expr:
    """Remove rounding errors from the zeros of constants."""
    if not values.is_constant():
        return ca.sparsify(values)
    rows = np.array(ca.DM(ca.densify(values)))
    return ca.sparsify(SX(ca.DM([without_rounding([float(x) for x in row]) for row in rows])))


def joint_equations(m: Mechanism, **options: Any) -> EquationsOfMotion:
    """Equations of a mechanism in joint coordinates; options as for `JointCoordinates`."""
    eqs = JointCoordinates(m, **options).build()
    if all(d.speed is not None for d in eqs.dry):
        return eqs
    return replace(eqs, stick_slip=JointCoordinates(m, sticking=True, **options).build())
