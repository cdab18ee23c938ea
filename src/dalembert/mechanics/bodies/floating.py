"""A flexible body in its floating frame: q = (r, orientation, η), v = (ṙ, ω, η̇), ω in the axes of the frame.

A point stands at u = u₀ + S η in the frame. With the invariants of `FlexibleBodyData` (Shabana 2005, ch. 5; Wallrapp
1994), d_ab = moments_ab + ηᵀ products_ab (1, m) for axes a, b gives everything that depends on η:

    m c = first_moment + translation η               second moments P_ab = ∫u_a u_b dm , J = tr(P) 1 - P
    G_t = translation (3, m)                          G_r = rotation + terms of products: rows d_yz - d_zy, ...

    | m 1      -(m c)~   G_t | | Rᵀ r̈ |   | -ω × (ω × m c) - 2 ω × G_t η̇                                  |
    | (m c)~    J        G_r | | ω̇    | = | -ω × J ω - J̇ ω - ω × G_r η̇                                    |
    | G_tᵀ      G_rᵀ     M_e | | η̈    |   | Σ_ab (ω² δ_ab - ω_a ω_b) d_abᵀ - 2 F η̇ - K η - D η̇            |

    F = ω_x (products_zy - products_yz) + ω_y (products_xz - products_zx) + ω_z (products_yx - products_xy)

Rows and columns of r̈ are turned into world axes. Geometric stiffening is a displacement of second order in η: a node
moves by -½ ηᵀ K_F η, the first moment by ½ ηᵀ K_a η and the inertia by -ηᵀ K_ab η (K: stiffness per unit of the node's
force, of the frame's acceleration, of ω_a ω_b). Then T and the work of all forces stay exact functions of η, and the
stiffness under any load, also of joints, follows from them: the equations above hold with these m c, J and G_t, the
first rows get -η̇ᵀ K_a η̇, the last ones -Σ ω_a ω_b K_ab η.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.core.findings import Advice, Argument, Finding
from dalembert.expressions import Expr
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.poses import Pose, Twist
from dalembert.mechanics.rotations import exponential, multiply, skew, turn_matrix, turn_rate
from dalembert.model import Body
from dalembert.model.bodies import Place
from dalembert.model.flexible import CENTRIFUGAL, FlexibleBodyData

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute
    from dalembert.mechanics.forces.force_equations import ForceBuilder

SX = ca.SX
AXES = "xyz"


@dataclass(frozen=True)
class LinearRange:
    """How far a body with linear deformations is trusted."""

    # Of the size of the body. A tip load F moves the tip of a cantilever by α/3 - 4α³/105 + ... of its length, with
    # α = F L²/EI (the elastica): the linear term alone is 1 % too large where it is a tenth.
    deflection: float = 0.1
    # Square of the angular velocity over that of the lowest frequency: the share of the stiffness that the centrifugal
    # force takes away in the plane of rotation, where geometric stiffness would more than make up for it.
    turning: float = 0.05


RANGE = LinearRange()
ROUNDING = 1e-14  # of the largest moment: a rotary inertia below it is the difference of equal sums


def constant(values: Any) -> Expr:
    """A sparse matrix of numbers: zeros need no operations."""
    return ca.sparsify(SX(ca.DM(np.atleast_2d(values))))


class FloatingTerms:
    """Inertia and velocity forces of a flexible body in the axes of its frame, at η, η̇ and ω (3,)."""

    def __init__(self, data: FlexibleBodyData, eta: Expr, rate: Expr, w: Expr) -> None:
        self.data, self.eta, self.rate, self.w = data, eta, rate, w
        m = data.modes
        products = [[constant(data.products[a, b]) for b in range(3)] for a in range(3)]
        # rows d_ab (1, m)
        self._d = [[constant(data.moments[a, b]) + eta.T @ products[a][b] for b in range(3)] for a in range(3)]
        self._products = products
        stiffening = data.stiffening
        self._by_acceleration: list[Expr] = []
        self.second_order = SX.zeros(3)  # η̇ᵀ K_a η̇
        self.translation = constant(data.translation) if m else SX(3, 0)
        self.first_moment = SX(ca.DM(data.first_moment)) + self.translation @ eta
        if stiffening is not None and stiffening.acceleration is not None:
            self._by_acceleration = [constant(K) for K in stiffening.acceleration]
            bent = ca.vertcat(*(eta.T @ K for K in self._by_acceleration))
            self.first_moment = self.first_moment + 0.5 * (bent @ eta)
            self.translation = self.translation + bent
            self.second_order = ca.vertcat(*(rate.T @ K @ rate for K in self._by_acceleration))
        self.centrifugal: dict[str, Expr] = {}
        if stiffening is not None and stiffening.centrifugal is not None:
            self.centrifugal = {
                name: constant(K) for name, K in zip(CENTRIFUGAL, stiffening.centrifugal, strict=True) if K.any()
            }
        self.inertia, self.inertia_rate = self._inertia()
        d = self._d
        rotary = data.rotation - data.moments[[1, 2, 0], [2, 0, 1]] + data.moments[[2, 0, 1], [1, 2, 0]]
        about = constant(np.where(np.abs(rotary) > ROUNDING * np.abs(data.moments).max(initial=0.0), rotary, 0.0))
        self.rotation = about + ca.vertcat(d[1][2] - d[2][1], d[2][0] - d[0][2], d[0][1] - d[1][0])  # (3, m)

    def _inertia(self) -> tuple[Expr, Expr]:
        """J and J̇: the rigid part, then what η adds to the second moments."""
        data, d, eta, rate = self.data, self._d, self.eta, self.rate
        P, Pd = SX(3, 3), SX(3, 3)
        for a in range(3):
            for b in range(a, 3):
                P[a, b] = P[b, a] = constant(data.moments[b, a]) @ eta + d[a][b] @ eta
                Pd[a, b] = Pd[b, a] = (d[a][b] + d[b][a]) @ rate
        J = SX(ca.DM(data.inertia)) + ca.trace(P) * SX.eye(3) - P
        Jd = ca.trace(Pd) * SX.eye(3) - Pd
        for name, K in self.centrifugal.items():
            a, b = AXES.index(name[0]), AXES.index(name[1])
            half = 1.0 if a == b else 0.5
            for i, j in {(a, b), (b, a)}:
                J[i, j] = J[i, j] - half * (eta.T @ K @ eta)
                Jd[i, j] = Jd[i, j] - 2 * half * (eta.T @ K @ rate)
        return J, Jd

    def mass_block(self, R: Expr) -> Expr:
        """(6 + m, 6 + m), the first three in world axes."""
        lever = R @ skew(self.first_moment).T
        shift = ca.sparsify(R @ self.translation)
        return ca.sparsify(
            ca.blockcat(
                [
                    [self.data.mass * SX.eye(3), lever, shift],
                    [lever.T, self.inertia, self.rotation],
                    [shift.T, self.rotation.T, constant(self.data.modal_mass) if self.data.modes else SX(0, 0)],
                ]
            )
        )

    def velocity_forces(self, R: Expr) -> Expr:
        """(6 + m,): what the motion itself asks for, the first three in world axes."""
        w, rate, d = self.w, self.rate, self._d
        moving = ca.cross(w, ca.cross(w, self.first_moment)) + 2 * ca.cross(w, self.translation @ rate)
        turning = ca.cross(w, self.inertia @ w + self.rotation @ rate) + self.inertia_rate @ w
        elastic = ca.dot(w, w) * (d[0][0] + d[1][1] + d[2][2]).T
        for b in range(3):
            elastic = elastic - w[b] * sum((w[a] * d[a][b].T for a in range(3)), SX.zeros(self.data.modes))
        for axis, (a, b) in enumerate(((2, 1), (0, 2), (1, 0))):
            elastic = elastic - 2 * w[axis] * (ca.sparsify(self._products[a][b] - self._products[b][a]) @ rate)
        for name, K in self.centrifugal.items():
            elastic = elastic - w[AXES.index(name[0])] * w[AXES.index(name[1])] * (K @ self.eta)
        return ca.vertcat(-(R @ (moving + self.second_order)), -turning, elastic)


class FloatingBody:
    """What a flexible body brings.  columns : its speeds, those of its frame first."""

    def __init__(
        self, host: Absolute, body: Body, pose: Pose, twist: Twist, eta: Expr, rate: Expr, modes: range
    ) -> None:
        assert body.flexible is not None
        self.host, self.body, self.pose, self.twist = host, body, pose, twist
        self.data, self.eta, self.rate = body.flexible, eta, rate
        self.columns: list[int] = [*host.rigid_columns(body), *modes]
        planar = host.space.planar
        self._R = ca.diagcat(pose.R, SX(1)) if planar else pose.R
        self._kept = [0, 1, 5, *range(6, 6 + self.data.modes)] if planar else list(range(6 + self.data.modes))
        self.terms = FloatingTerms(self.data, eta, rate, ca.vertcat(SX.zeros(2), twist.w) if planar else twist.w)
        self._attached: dict[str, Attachment] = {}

    def mass_block(self) -> Expr:
        """Of `columns`."""
        return self.terms.mass_block(self._R)[self._kept, self._kept]

    def add_weight(self, forces: ForceBuilder, gravity: Expr) -> None:
        terms, planar = self.terms, self.host.space.planar
        g = self._R.T @ (ca.vertcat(gravity, 0) if planar else gravity)
        weight = ca.vertcat(
            self._R @ (self.data.mass * g), ca.cross(terms.first_moment, g), ca.densify(terms.translation.T @ g)
        )
        forces.add(self.columns, weight[self._kept], has_potential=True)
        fallen = self.data.mass * ca.dot(gravity, self.pose.r) + ca.dot(g, terms.first_moment)
        forces.potential = forces.potential - fallen

    def add_own_forces(self, forces: ForceBuilder) -> None:
        """Forces of its motion, which do no work with the change of its inertia; elasticity and damping."""
        forces.add(self.columns, self.terms.velocity_forces(self._R)[self._kept], has_potential=True)
        if not self.data.modes:
            return
        modes, K, D = self.tangent()
        elastic = K @ self.eta
        forces.add(modes, -elastic, has_potential=True)
        forces.potential = forces.potential + 0.5 * ca.dot(self.eta, elastic)
        forces.add(modes, -(D @ self.rate), has_potential=False)

    def tangent(self) -> tuple[list[int], Expr, Expr]:
        """Its elastic coordinates, and their stiffness and damping."""
        number, modes = self.host.number, self.columns[self.host.space.nv :]
        K, D = constant(self.data.stiffness), constant(self.data.damping)
        return modes, number(self.body.stiffness) * K, number(self.body.damping) * D

    def assumptions(self) -> list[tuple[Finding, Expr]]:
        """Conditions of linear deformations; a value above one breaks them."""
        data, name = self.data, self.body.name
        if not data.modes:
            return []
        where, cut = {"body": name}, Advice("Cut the body into pieces, each with a frame of its own.")
        size = max(float(np.linalg.norm(node.place)) for node in data.nodes) or 1.0
        moved = [self.displacement(node.name) for node in data.nodes]
        largest = ca.mmax(ca.vertcat(*(ca.dot(d, d) for d in moved))) / (RANGE.deflection * size) ** 2
        problem = f"nodes of the flexible body {name!r} move by more than {RANGE.deflection:.0%} of its size"
        found = [(Finding("large-deformation", problem, where, advice=(cut,)), ca.sqrt(largest))]
        if data.stiffening is None or data.stiffening.centrifugal is None:
            lowest = 2 * np.pi * float(data.frequencies()[0])
            turning = ca.dot(self.twist.w, self.twist.w) / (RANGE.turning * lowest**2)
            problem = (
                f"the flexible body {name!r} turns fast beside its lowest frequency ({lowest / (2 * np.pi):.3g} Hz) "
                "without geometric stiffness: its deflections are too large"
            )
            advice = Advice("Make the data with {}, or cut the body into pieces.", Argument("stiffening", True))
            found.append((Finding("no-stiffening", problem, where, advice=(advice,)), turning))
        return found

    def attach(self, place: Place) -> Attachment:
        """A node, or the frame itself where the body is given instead of a place."""
        name = "" if isinstance(place, Body) else self.body.node_at(place.coordinates)
        if name not in self._attached:
            self._attached[name] = self._attach(name)
        return self._attached[name]

    def displacement(self, name: str) -> Expr:
        """Of a node from its place in the undeformed body, in the axes of the frame."""
        return self._displacement(name)[0]

    def _displacement(self, name: str) -> tuple[Expr, Expr, Expr]:
        """Displacement d(η) of a node, its gradient by η, and the part of second order η̇ᵀ d'' η̇ of its acceleration."""
        dim, eta, rate = self.host.space.dim, self.eta, self.rate
        S = constant(self.data.node(name).translation[:dim])
        stiffening = self.data.stiffening
        if stiffening is None or name not in stiffening.forces:
            return S @ eta, S, SX.zeros(dim)
        along = [constant(K) for K in stiffening.forces[name][:dim]]
        bent = ca.vertcat(*(eta.T @ K for K in along))
        curved = -ca.vertcat(*(rate.T @ K @ rate for K in along))
        return S @ eta - 0.5 * (bent @ eta), S - bent, curved

    def gauge(self, name: str) -> Expr:
        """The value of a strain gauge."""
        row = next(one.row for one in self.data.gauges if one.name == name)
        return constant(row) @ self.eta

    def _attach(self, name: str) -> Attachment:
        host, space, pose, twist = self.host, self.host.space, self.pose, self.twist
        dim, nothing = space.dim, SX.zeros(space.dim)
        p = host.euler_parameters(self.body)
        if not name:
            return Attachment(space, pose, twist, nothing, self.columns[: space.nv], p)
        node, eta, rate = self.data.node(name), self.eta, self.rate
        moved, S, curved = self._displacement(name)
        own = SX(ca.DM(node.place[:dim])) + moved
        shift = pose.R @ (S @ rate)
        v = twist.v + space.turn_velocity(pose, twist.w, own) + shift
        turning = space.spin(pose.R, twist.w)
        bias_v = space.spin(turning, twist.w) @ own + 2 * (turning @ (S @ rate)) + pose.R @ curved
        by_turn = ca.horzcat(*(space.spin(pose.R, e) @ own for e in _units(space.turns)))
        if space.planar:
            H = constant(node.rotation[2:3])
            theta = H @ eta
            c, s = ca.cos(theta), ca.sin(theta)
            R = pose.R @ ca.blockcat([[c, -s], [s, c]])
            angle, w = pose.angle + theta, twist.w + H @ rate
            bottom = ca.horzcat(SX(1, 2), SX(1), H)
            bias_w = SX.zeros(1)
        else:
            H = constant(node.rotation)
            theta, theta_rate = H @ eta, H @ rate
            if H.nnz():
                E, T = turn_matrix(theta), turn_rate(theta)
                R, w = pose.R @ E, E.T @ twist.w + T @ theta_rate
                bias_w = ca.jtimes(w, eta, rate)
                p = multiply(p, exponential(theta))
                bottom = ca.horzcat(SX(3, 3), E.T, T @ H)
            else:
                R, w, bias_w = pose.R, twist.w, SX.zeros(3)
                bottom = ca.horzcat(SX(3, 3), SX.eye(3), H)
            angle = SX(0)
        B = ca.sparsify(ca.vertcat(ca.horzcat(SX.eye(dim), by_turn, pose.R @ S), bottom))
        carrier = Pose(pose.r + pose.R @ own, R, angle)
        return Attachment(space, carrier, Twist(v, w), nothing, self.columns, p, B, ca.vertcat(bias_v, bias_w))


def _units(count: int) -> list[Expr]:
    return [SX(1)] if count == 1 else [SX(ca.DM([1.0 if i == k else 0.0 for i in range(3)])) for k in range(3)]
