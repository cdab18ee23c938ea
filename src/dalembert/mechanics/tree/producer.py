"""Equations of a Mechanism in joint coordinates.

Coordinates are those of the joints of a spanning tree; free bodies and flexible ones keep coordinates of their own.
Every joint outside the tree brings its rows, written as in absolute coordinates, since a link answers the same
questions as a body (`bodies.attachment`). Mass matrix and forces of the motion come from the recursions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion, Placement, QuaternionBlock
from dalembert.expressions import Expr
from dalembert.mechanics.absolute.idle import massless_spins
from dalembert.mechanics.absolute.producer import Absolute, share, without_rounding
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.forces import FORCE_EQUATIONS, ForceBuilder
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, joint_frames
from dalembert.mechanics.joints.motion import RelativeMotion, free, reverse
from dalembert.mechanics.joints.reactions import reaction_of_rows
from dalembert.mechanics.rows import Form, Measured
from dalembert.mechanics.tree.articulated import solve_mass
from dalembert.mechanics.tree.inverse_dynamics import inverse_dynamics
from dalembert.mechanics.tree.links import Link, LinkBody
from dalembert.mechanics.tree.mass import link_inertia, mass_blocks
from dalembert.mechanics.tree.placement import place_in_joint_coordinates
from dalembert.mechanics.tree.reactions import carried_forces
from dalembert.mechanics.tree.spanning import Branch, span
from dalembert.model import Body, Mechanism
from dalembert.model.joints import Joint

SX = ca.SX
EULER = (("e0", ""), ("e1", ""), ("e2", ""), ("e3", ""))
# Fewest speeds for which articulated bodies take less than composite bodies and a factor of M: chains of 9, 10 and 12
# hinges in space take 1156, 1354, 1736 operations beside 1050, 1425, 2039.
SHORTER_THAN_FACTOR = 10
TURNING = (("wx", "rad/s"), ("wy", "rad/s"), ("wz", "rad/s"))


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
        self, m: Mechanism, *, absolute: Iterable[str] = (), cut: Iterable[str] = (), sticking: bool = False
    ) -> None:
        m.check()
        bearing = {name for force in m.forces for name in FORCE_EQUATIONS[force.kind].reactions(force)}
        self.branches = span(m, absolute=absolute, cut=cut, rows=bearing)
        self.carriers = {branch.joint.name for branch in self.branches if branch.joint is not None}
        super().__init__(m, sticking=sticking, kernels=False)
        self.spins = []

    def has_rows(self, joint: Joint) -> bool:
        return joint.name not in self.carriers

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
        if motion.ball:
            return [(f"{joint.name}.{c}", u) for c, u in EULER], [(f"{joint.name}.{c}", u) for c, u in TURNING]
        chosen = [joint.coordinates[k] for k in self.tree_coordinates(joint)]
        own = [(f"{joint.name}.{c.name}", c.unit) for c in chosen]
        return own, [(f"{joint.name}.{c.rate}", f"{c.unit}/s") for c in chosen]

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
        self, branch: Branch, parent: Link | None, part: BranchCoordinates, w: Expr, motion: RelativeMotion
    ) -> Link:
        space = self.space
        if branch.joint is None:
            none = SX(space.dim, 1)
            return Link(
                space, branch.body, None, part.columns, w, motion, SX.eye(space.dim), none, SX.eye(space.dim), none
            )
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
            if not space.planar and f"{body.name}.e0" not in self.coordinates.index:
                self._measure_orientation(own)

    def _measure_pose(self, body: Body, i: int, value: Expr, rate: Expr, form: Form, bias: Expr) -> None:
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

    def is_carried(self, name: str) -> bool:
        return name not in self.coordinates.index and name.rpartition(".")[0] not in self.joints

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

    def add_body_forces(self, forces: ForceBuilder, gravity: Expr) -> None:
        for own in self.bodies:
            if isinstance(own, LinkBody):
                own.add_potential(forces, gravity)
            else:
                own.add_weight(forces, gravity)
                own.add_own_forces(forces)
        efforts = inverse_dynamics(self.links, self.inertias, gravity)
        forces.add(list(efforts), [-x for x in efforts.values()], has_potential=True)

    def own_functions(self) -> dict[str, ca.Function]:
        """M⁻¹ x by articulated bodies, where the links are all that moves and no row couples them."""
        if len(self.rows) or self.nv < SHORTER_THAN_FACTOR or self.nv != sum(len(link.columns) for link in self.links):
            return {}
        found = solve_mass(self.links, self.inertias, self.a)
        rates = ca.vertcat(*(found[k] for k in range(self.nv)))
        return {"mass_solve": share("mass_solve", [self.q, self.p, self.t, self.a], [rates])}

    # -- reactions and placement --------------------------------------------------------------------------------------
    @cached_property
    def plain(self) -> EquationsOfMotion:
        """The same machine in absolute coordinates."""
        return Absolute(self.m, sticking=bool(self.exact)).build()

    @cached_property
    def _carried(self) -> dict[int, tuple[Any, Any]]:
        return carried_forces(self)

    def reaction(self, name: str) -> tuple[Any, Any, Any]:
        joint, _, place = self.joints[name]
        if self.has_rows(joint):
            return reaction_of_rows(self, name)
        branch = next(b for b in self.branches if b.joint is joint)
        force, moment = self._carried[id(branch.body)]
        torque = moment - self.space.turn_about(place["point"], force)
        sign = -1 if branch.reversed else 1
        return sign * force, sign * torque, place["axes"]

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
        return place_in_joint_coordinates(self)


def tidy(values: Expr) -> Expr:
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
