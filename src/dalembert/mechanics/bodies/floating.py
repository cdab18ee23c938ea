"""A flexible body in its floating frame: q = (r, orientation, η), v = (ṙ, ω, η̇), ω in the axes of the frame.

A point of the body is at u = u₀ + S η in the frame. With the invariants of `FlexibleBodyData` (Shabana 2005, ch. 5;
Wallrapp 1994), d_ab = moments_ab + ηᵀ products_ab (1, m) for axes a, b gives everything that depends on η:

    m c = first_moment + translation η               second moments P_ab = ∫u_a u_b dm , J = tr(P) 1 - P
    G_t = translation (3, m)                          G_r = rotation + terms of products: rows d_yz - d_zy, ...

    | m 1      -(m c)~   G_t | | Rᵀ r̈ |   | -ω × (ω × m c) - 2 ω × G_t η̇                                  |
    | (m c)~    J        G_r | | ω̇    | = | -ω × J ω - J̇ ω - ω × G_r η̇                                    |
    | G_tᵀ      G_rᵀ     M_e | | η̈    |   | Σ_ab (ω² δ_ab - ω_a ω_b) d_abᵀ - 2 F η̇ - K η - D η̇            |

    F = ω_x (products_zy - products_yz) + ω_y (products_xz - products_zx) + ω_z (products_yx - products_xy)

Rows and columns of r̈ are turned into world axes.

Geometric stiffening is a displacement of second order in η: a node moves by -½ ηᵀ K_F η, its rotation vector by
-½ ηᵀ K_M η, the first moment by ½ ηᵀ K_a η (K: stiffness per unit of the node's force, of its moment, of the frame's
acceleration). Work of forces, moments and weight are exact functions of it, so the stiffness under any load, also of
joints, follows: with coordinates u of the model that are displacements and rotation vectors, and the energy
½ uᵀK u + ½ uᵀK_g(u) u / 3 to third order, statics gives u = Φ η + u₂, K u₂ = -½ K_g(Φ η) Φ η, and a load f does the
work fᵀ u₂ = -½ ηᵀΦᵀ K_g(K⁻¹ f) Φ η on it. The inertia contains only the terms
linear in η, since no others are known, in a form whose M is a sum of squares and which conserves energy exactly:

- accelerations: the kinetic energy is that of speeds v* = v + Y η̇ of the frame, Y (6, m) linear in η and such that
  r̈ and η̈ are coupled by ηᵀK_a: Z Y = (ηᵀK_a, 0) with the inertia Z of the undeformed body. With X = (1 Y; 0 1) then
  M = Xᵀ M(η) X, positive as M(η) is, and the forces of the motion are Xᵀ(h* - M(η) b*): h* those of ω* = ω + φ,
  φ = Y_r η̇, with φ × (ω* × m c + G_t η̇) besides, since the axes turn with ω; b* = (ω × Y_t η̇ + Ẏ_t η̇, Ẏ_r η̇).
- rotation: -Σ ω_a ω_b K_ab η acts on η and, so that both do no work together, Σ_b ω_b ηᵀ K_ab η̇ (half of it where
  a ≠ b) about axis a. The terms -ηᵀK_abη of the inertia that an exact displacement of second order would have are left
  out: beside modes that nearly contain the rotation of the frame they alone, without their counterparts in M_e, which
  are fourth moments of the modes, would make M indefinite. The part of the inertia of ω that Y contains is subtracted
  from K_ab.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.expressions import Expr
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.poses import Pose, Twist
from dalembert.mechanics.rotations import exponential, multiply, skew, turn_matrix, turn_rate
from dalembert.model import Body
from dalembert.model.bodies import Place
from dalembert.model.flexible import CENTRIFUGAL, FlexibleBodyData, FlexibleNode, Stiffening

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute
    from dalembert.mechanics.forces.force_equations import ForceBuilder

SX = ca.SX
AXES = "xyz"


@dataclass(frozen=True)
class LinearRange:
    """Range of validity of linear deformations."""

    # Of the size of the body. A tip load F moves the tip of a cantilever by α/3 - 4α³/105 + ... of its length, with
    # α = F L²/EI (the elastica): the linear term alone is 1 % too large where it is a tenth.
    deflection: float = 0.1
    # Square of the angular velocity over that of the lowest frequency: the share of the stiffness that the centrifugal
    # force takes away in the plane of rotation; geometric stiffness would more than compensate it.
    turning: float = 0.05
    # Axial load over the load at which a beam of the body's mass, length and lowest frequency buckles: the share of its
    # bending stiffness that the load changes. A rod of a slider-crank under 5 % was off by 10 % of its bending.
    axial: float = 0.02


@dataclass(frozen=True)
class FullModes:
    """Limits above which products of the modes are matrix products, not single operations."""

    # At 16 modes the products are 6 400 of the 7 900 operations of the inertia. With 20 modes as matrices the first run
    # takes 0.8 s instead of 2.0 s and a step 35 µs instead of 25 µs; with 50 modes 2.8 s instead of 11.3 s and the same
    # time per step.
    modes: int = 16
    # Of products that are not zero: a round beam has one ninth of them, a solid nearly all, and a matrix multiplies
    # zeros too.
    share: float = 0.5


@dataclass(frozen=True)
class ZeroInertia:
    """Limits below which parts of an inertia are rounding errors."""

    # Eigenvalue, or response to a force, relative to the largest: some thousand rounding errors of 2e-16.
    flat: float = 1e-12
    # Rotary inertia relative to the largest moment: the difference of two equal sums.
    rotary: float = 1e-14


FULL = FullModes()
RANGE = LinearRange()
ZERO = ZeroInertia()


def cross_matrix(v: FloatArray) -> FloatArray:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def constant(values: Any) -> Expr:
    """A sparse matrix of numbers: zeros need no operations."""
    return ca.sparsify(SX(ca.DM(np.atleast_2d(values))))


def is_full(data: FlexibleBodyData) -> bool:
    """Whether products of the modes are taken as matrices: many modes, most of whose products are not zero."""
    return data.modes > FULL.modes and bool(np.count_nonzero(data.products) > FULL.share * data.products.size)


def multiply_products(data: FlexibleBodyData, x: Expr) -> list[list[Expr]]:
    """Rows xᵀ products_ab (1, m) for all a, b.

    For many full modes they are one call of a product with a constant matrix: written out, it would be most of the
    code.
    """
    if not is_full(data):
        return [[x.T @ constant(data.products[a, b]) for b in range(3)] for a in range(3)]
    m = data.modes
    column = ca.MX.sym("x", m)
    stacked = ca.DM(np.swapaxes(data.products, 2, 3).reshape(9 * m, m))
    function = ca.Function("products", [column], [stacked @ column], {"never_inline": True})
    rows = ca.reshape(function(x), m, 9).T
    return [[rows[3 * a + b, :] for b in range(3)] for a in range(3)]


class FloatingTerms:
    """Inertia and velocity forces of a flexible body in the axes of its frame, at η, η̇ and ω (3,)."""

    def __init__(self, data: FlexibleBodyData, eta: Expr, rate: Expr, w: Expr) -> None:
        self.data, self.eta, self.rate, self.w = data, eta, rate, w
        own_w = w
        m = data.modes
        # rows d_ab (1, m)
        turned = multiply_products(data, eta)
        self._d = [[constant(data.moments[a, b]) + turned[a][b] for b in range(3)] for a in range(3)]
        self.translation = constant(data.translation) if m else SX(3, 0)
        self.first_moment = SX(ca.DM(data.first_moment)) + self.translation @ eta
        stiffening, kinds = data.stiffening, np.zeros((6, m, m))
        self.following: Following | None = None
        if stiffening is not None:
            kinds = kinds if stiffening.centrifugal is None else np.asarray(stiffening.centrifugal)
            if stiffening.acceleration is not None and stiffening.acceleration.any():
                self.following = Following(data, stiffening.acceleration, eta, rate)
                kinds = kinds - self.following.centrifugal
                w = self.w = w + self.following.Y[3:, :] @ rate
        self.own_w, self.centrifugal = (
            own_w,
            {name: constant(K) for name, K in zip(CENTRIFUGAL, kinds, strict=True) if K.any()},
        )
        self.inertia, self.inertia_rate = self._inertia()
        d = self._d
        rotary = data.rotation - data.moments[[1, 2, 0], [2, 0, 1]] + data.moments[[2, 0, 1], [1, 2, 0]]
        about = constant(np.where(np.abs(rotary) > ZERO.rotary * np.abs(data.moments).max(initial=0.0), rotary, 0.0))
        self.rotation = about + ca.vertcat(d[1][2] - d[2][1], d[2][0] - d[0][2], d[0][1] - d[1][0])  # (3, m)

    def turning(self, w: Expr) -> FloatingTerms:
        """The same terms at another angular velocity."""
        found = copy(self)
        found.own_w = found.w = w
        if self.following is not None:
            found.w = w + self.following.Y[3:, :] @ self.rate
        return found

    def _inertia(self) -> tuple[Expr, Expr]:
        """J and J̇: the rigid part, then the second moments of η."""
        data, d, eta, rate = self.data, self._d, self.eta, self.rate
        P, Pd = SX(3, 3), SX(3, 3)
        for a in range(3):
            for b in range(a, 3):
                P[a, b] = P[b, a] = constant(data.moments[b, a]) @ eta + d[a][b] @ eta
                Pd[a, b] = Pd[b, a] = (d[a][b] + d[b][a]) @ rate
        J = SX(ca.DM(data.inertia)) + ca.trace(P) * SX.eye(3) - P
        Jd = ca.trace(Pd) * SX.eye(3) - Pd
        return J, Jd

    def _gyroscopic(self) -> list[Expr]:
        """(products_ab - products_ba) η̇ for the three axes; products_ba is the transpose of products_ab."""
        pairs, products = ((2, 1), (0, 2), (1, 0)), self.data.products
        if is_full(self.data):
            turned = multiply_products(self.data, self.rate)
            return [(turned[b][a] - turned[a][b]).T for a, b in pairs]
        return [constant(products[a, b] - products[b, a]) @ self.rate for a, b in pairs]

    def mass_block(self, R: Expr) -> Expr:
        """(6 + m, 6 + m), the first three in world axes."""
        lever = R @ skew(self.first_moment).T
        shift = ca.sparsify(R @ self.translation)
        plain = ca.blockcat(
            [
                [self.data.mass * SX.eye(3), lever, shift],
                [lever.T, self.inertia, self.rotation],
                [shift.T, self.rotation.T, constant(self.data.modal_mass) if self.data.modes else SX(0, 0)],
            ]
        )
        if self.following is not None:
            X = self._follow(R)
            plain = X.T @ plain @ X
        return ca.sparsify(plain)

    def _follow(self, R: Expr) -> Expr:
        """X (6 + m, 6 + m): the first three rows in world axes."""
        assert self.following is not None
        X, Y = SX.eye(6 + self.data.modes), self.following.Y
        X[:3, 6:], X[3:6, 6:] = R @ Y[:3, :], Y[3:, :]
        return X

    def velocity_forces(self, R: Expr) -> Expr:
        """(6 + m,): forces of the motion itself, the first three in world axes."""
        w, rate, d = self.w, self.rate, self._d
        moving = ca.cross(w, ca.cross(w, self.first_moment)) + 2 * ca.cross(w, self.translation @ rate)
        turning = ca.cross(w, self.inertia @ w + self.rotation @ rate) + self.inertia_rate @ w
        elastic = ca.dot(w, w) * (d[0][0] + d[1][1] + d[2][2]).T
        for b in range(3):
            elastic = elastic - w[b] * sum((w[a] * d[a][b].T for a in range(3)), SX.zeros(self.data.modes))
        for axis, spread in enumerate(self._gyroscopic()):
            elastic = elastic - 2 * w[axis] * spread
        forces = ca.vertcat(-(R @ moving), -turning, elastic)
        if self.following is not None:
            forces = self._follow_forces(R, forces)
        own = self.own_w
        for name, K in self.centrifugal.items():
            a, b = AXES.index(name[0]), AXES.index(name[1])
            forces[6:] = forces[6:] - own[a] * own[b] * (K @ self.eta)
            work = 0.5 * (self.eta.T @ K @ rate)
            forces[3 + a] = forces[3 + a] + work * own[b]
            forces[3 + b] = forces[3 + b] + work * own[a]
        return forces

    def _follow_forces(self, R: Expr, forces: Expr) -> Expr:
        """Xᵀ(h* - M(η) b*)."""
        assert self.following is not None
        c, G, rate = self.first_moment, self.translation, self.rate
        moved, turned = ca.vertsplit(self.following.Y @ rate, [0, 3, 6])
        change_t, change_r = ca.vertsplit(self.following.change, [0, 3, 6])
        change_t = change_t + ca.cross(self.own_w, moved)
        forces = ca.densify(forces)
        own = ca.cross(turned, ca.cross(self.w, c) + G @ rate)
        forces[:3] = forces[:3] + R @ (own - self.data.mass * change_t + ca.cross(c, change_r))
        forces[3:6] = forces[3:6] - ca.cross(c, change_t) - self.inertia @ change_r
        forces[6:] = forces[6:] - G.T @ change_t - self.rotation.T @ change_r
        return self._follow(R).T @ forces

    def weight(self, g: Expr) -> tuple[Expr, Expr]:
        """First moment of the deformed body with its displacement of second order, and its weight on η; g (3,)."""
        moment, along = self.first_moment, self.translation
        if self.following is not None:
            moment, along = moment + 0.5 * (self.following.bent @ self.eta), along + self.following.bent
        return moment, ca.densify(along.T @ g)


class Following:
    """The rigid motion Y η̇ that goes with a deformation under acceleration.

    bent : ηᵀK_a (3, m).  Y : (6, m).  change : Ẏ η̇.  centrifugal : (6, m, m), terms of Y in ω_a ω_b at η = 0.
    """

    def __init__(self, data: FlexibleBodyData, acceleration: FloatArray, eta: Expr, rate: Expr) -> None:
        K = [constant(one) for one in acceleration]
        self.bent = ca.vertcat(*(eta.T @ one for one in K))
        c = cross_matrix(data.first_moment)
        Z = np.block([[data.mass * np.eye(3), -c], [c, data.inertia]])
        by_force = np.linalg.pinv(Z, rcond=ZERO.flat, hermitian=True)[:, :3]
        by_force = np.where(np.abs(by_force) > ZERO.flat * np.abs(by_force).max(), by_force, 0.0)
        self.Y = constant(by_force) @ self.bent
        self.change = constant(by_force) @ ca.vertcat(*(rate.T @ one @ rate for one in K))
        self.centrifugal = np.zeros((6, *acceleration.shape[1:]))
        for k, name in enumerate(CENTRIFUGAL):
            i, j = (np.eye(3)[AXES.index(axis)] for axis in name)
            pairs = ((i, j),) if name[0] == name[1] else ((i, j), (j, i))
            force = sum(np.cross(x, np.cross(y, data.first_moment)) for x, y in pairs)
            torque = sum(np.cross(x, data.inertia @ y) for x, y in pairs)
            self.centrifugal[k] = np.einsum("a,amn->mn", by_force.T @ np.concatenate([force, torque]), acceleration)


def is_still(node: FlexibleNode) -> bool:
    """Whether no mode moves a node: the frame is attached to it."""
    return not (node.translation.any() or node.rotation.any())


def estimate_buckling(data: FlexibleBodyData) -> tuple[FloatArray, FloatArray, float]:
    """Axis of a body (3,), places of its nodes along it (n,), and the load [N] at which it buckles.

    The load follows from the flexibility C of its ends' rotation from their chord, C = θ K⁻¹ θᵀ per unit moment: of a
    cantilever C = l/3EI at its root and the load π²EI/4l², else c = l/EI for opposite moments at both ends and π²EI/l².
    Without rotations it follows from mass and lowest frequency, as that of a uniform beam: c m l ω², clamped and free
    at its tip c = (π/2)²/3.516², free in its mean axis and on hinges c = π²/4.730⁴.
    """
    places = np.array([node.place for node in data.nodes])
    middle = data.center if len(places) == 1 else places.mean(axis=0)
    axis = np.linalg.svd(places - middle)[2][0]
    along = (places - middle) @ axis
    length = float(np.ptp(along)) or float(np.abs(along).max())
    first, last = (data.nodes[int(k)] for k in (np.argmin(along), np.argmax(along)))
    turned = [one for one in (first, last) if one.rotation.any() or is_still(one)]
    if len(turned) == 2 and first is not last:
        across = np.linalg.svd(axis[None, :])[2][1:]  # (2, 3), square to the axis
        about = np.cross(axis, across)
        chord = across @ (last.translation - first.translation) / length
        ends = np.array([about @ one.rotation - chord for one in (first, last)])  # (2, 2, m)
        C = np.einsum(
            "iam,jbm->ijab", ends, np.linalg.solve(data.stiffness, ends.reshape(4, -1).T).T.reshape(ends.shape)
        )
        still = [k for k, one in enumerate((first, last)) if is_still(one)]
        both = C[0, 0] + C[1, 1] - C[0, 1] - C[1, 0] if not still else 12.0 * C[still[0], still[0]]
        softest = float(np.linalg.eigvalsh(0.5 * (both + both.T))[-1])
        return axis, along, np.pi**2 / (softest * length) if softest > 0.0 else 0.0
    lowest = float(data.frequencies[0])
    shape = np.pi**2 / 4.730**4 if data.reference == "mean axis" else (np.pi / 2) ** 2 / 3.516**2
    return axis, along, shape * data.mass * length * lowest**2


class FloatingBody:
    """A flexible body in the equations.  columns : its speeds, those of its frame first."""

    def __init__(
        self, host: Absolute, body: Body, pose: Pose, twist: Twist, eta: Expr, rate: Expr, modes: range
    ) -> None:
        assert body.flexible is not None
        self.host, self.body, self.pose, self.twist = host, body, pose, twist
        self.data, self.eta, self.rate = body.flexible, eta, rate
        self.modes = modes
        self.columns: list[int] = [*host.rigid_columns(body), *modes]
        planar = host.space.planar
        self._R = ca.diagcat(pose.R, SX(1)) if planar else pose.R
        self._kept = [0, 1, 5, *range(6, 6 + self.data.modes)] if planar else list(range(6 + self.data.modes))
        self.attached: dict[str, Attachment] = {}

    @cached_property
    def terms(self) -> FloatingTerms:
        w = ca.vertcat(SX.zeros(2), self.twist.w) if self.host.space.planar else self.twist.w
        return FloatingTerms(self.data, self.eta, self.rate, w)

    def mass_block(self) -> Expr:
        """Of `columns`."""
        return self.terms.mass_block(self._R)[self._kept, self._kept]

    def velocity_forces(self) -> Expr:
        """On `columns`."""
        return self.terms.velocity_forces(self._R)[self._kept]

    def add_weight(self, forces: ForceBuilder, gravity: Expr) -> None:
        terms, planar = self.terms, self.host.space.planar
        g = self._R.T @ (ca.vertcat(gravity, 0) if planar else gravity)
        moment, elastic = terms.weight(g)
        weight = ca.vertcat(self._R @ (self.data.mass * g), ca.cross(moment, g), elastic)
        forces.add(self.columns, weight[self._kept], has_potential=True)
        fallen = self.data.mass * ca.dot(gravity, self.pose.r) + ca.dot(g, moment)
        forces.potential = forces.potential - fallen

    def add_own_forces(self, forces: ForceBuilder) -> None:
        """Forces of its motion, which do no work with the change of its inertia, and elastic ones."""
        forces.add(self.columns, self.velocity_forces(), has_potential=True)
        self.add_elasticity(forces)

    def add_elasticity(self, forces: ForceBuilder) -> None:
        """Elasticity and damping."""
        if not self.data.modes:
            return
        modes, K, D = self.tangent()
        elastic = K @ self.eta
        forces.add(modes, -elastic, has_potential=True)
        forces.potential = forces.potential + 0.5 * ca.dot(self.eta, elastic)
        forces.add(modes, -(D @ self.rate), has_potential=False)

    def tangent(self) -> tuple[list[int], Expr, Expr]:
        """Its elastic coordinates, and their stiffness and damping."""
        number, modes = self.host.number, list(self.modes)
        K, D = constant(self.data.stiffness), constant(self.data.damping)
        return modes, number(self.body.stiffness) * K, number(self.body.damping) * D

    def assumptions(self) -> list[tuple[Finding, Expr]]:
        """Conditions of linear deformations; a value above one breaks them."""
        data, name = self.data, self.body.name
        if not data.modes:
            return []
        where = {"body": name}
        cut = Advice("Cut it into pieces with a frame each: {}.", Call("da.structures.flexible_pieces"))
        size, moved = self._deflections()
        largest = ca.mmax(ca.vertcat(*(ca.dot(d, d) for d in moved))) / (RANGE.deflection * size) ** 2
        problem = f"nodes of the flexible body {name!r} move by more than {RANGE.deflection:.0%} of its size"
        assumptions = [(Finding("large-deformation", problem, where, advice=(cut,)), ca.sqrt(largest))]
        if data.stiffening is None or data.stiffening.centrifugal is None:
            lowest = float(data.frequencies[0])
            turning = ca.dot(self.twist.w, self.twist.w) / (RANGE.turning * lowest**2)
            problem = (
                f"the flexible body {name!r} turns fast beside its lowest frequency ({lowest / (2 * np.pi):.3g} Hz) "
                "without geometric stiffness: its deflections are too large"
            )
            advice = Advice("Make the data with {}, or cut the body into pieces.", Argument("stiffening", True))
            assumptions.append((Finding("no-stiffening", problem, where, advice=(advice,)), turning))
        return assumptions

    def _deflections(self) -> tuple[float, list[Expr]]:
        """Size of the body from its first node, and displacements of its nodes from the tangent there.

        Those from a mean axis are a third of them in a cantilever; which frame the data have makes no difference.
        """
        dim, (first, *others) = self.host.space.dim, self.data.nodes
        still, turn = self.displacement(first.name), self._rotation(first.name)[0]
        moved = [still - still]
        for node in others:
            arm = (node.place - first.place)[:dim]
            carried = turn * ca.vertcat(-arm[1], arm[0]) if dim == 2 else ca.cross(turn, SX(ca.DM(arm)))
            moved.append(self.displacement(node.name) - still - carried)
        return max(float(np.linalg.norm(node.place - first.place)) for node in self.data.nodes) or 1.0, moved

    def load_assumptions(self, forces: Mapping[str, Expr]) -> list[tuple[Finding, Expr]]:
        """As `assumptions`, of forces on its nodes (world axes): the axial load that nothing stiffens.

        Centrifugal stiffness accounts for the tension of the body's own rotation about the origin of its frame, that
        of forces for loads on other nodes; what is left of the reaction at the node of the frame is acceleration.
        """
        data, name, dim = self.data, self.body.name, self.host.space.dim
        stiffening = Stiffening() if data.stiffening is None else data.stiffening
        if not data.modes or not forces:
            return []
        axis, along, buckling = estimate_buckling(data)
        if not buckling > 0.0:
            return []
        accelerated = SX(0)  # load at the node of the frame that has its own stiffness
        if stiffening.centrifugal is not None:
            w = ca.vertcat(SX.zeros(2), self.twist.w) if dim == 2 else self.twist.w
            accelerated = (ca.dot(w, w) - ca.dot(SX(ca.DM(axis)), w) ** 2) * float(data.first_moment @ axis)
        pulled = {
            node.name: ca.dot(SX(ca.DM(axis[:dim])), self.pose.R.T @ forces[node.name])
            for node in data.nodes
            if node.name in forces
        }
        accelerated += sum(load for name, load in pulled.items() if name in stiffening.forces)
        loads = []
        for k, node in enumerate(data.nodes):
            if node.name in pulled and along[k] and node.name not in stiffening.forces:
                if not is_still(node):
                    loads.append(ca.fabs(pulled[node.name]))
                elif stiffening.acceleration is None:
                    loads.append(ca.fabs(pulled[node.name] + accelerated))
        if not loads:
            return []
        problem = (
            f"the flexible body {name!r} is loaded along its axis by more than {RANGE.axial:.0%} of its buckling load "
            f"(about {buckling:.3g} N) without geometric stiffness for such loads: its bending is wrong"
        )
        advice = Advice("Make the data with {}, or cut the body into pieces.", Argument("stiffening", True))
        finding = Finding("axial-load", problem, {"body": name}, {"buckling": buckling}, (advice,))
        return [(finding, ca.mmax(ca.vertcat(*loads)) / (RANGE.axial * buckling))]

    def attach(self, place: Place) -> Attachment:
        """A node, or the frame itself where the body is given instead of a place."""
        name = "" if isinstance(place, Body) else self.body.node_at(place.coordinates)
        if name not in self.attached:
            self.attached[name] = self.attach_node(name) if name else self._attach_frame()
        return self.attached[name]

    def displacement(self, name: str) -> Expr:
        """Of a node from its place in the undeformed body, in the axes of the frame."""
        return self._displacement(name)[0]

    def _displacement(self, name: str) -> tuple[Expr, Expr, Expr]:
        """Displacement d(η) of a node, its gradient by η, and the part of second order η̇ᵀ d'' η̇ of its acceleration."""
        dim, stiffening = self.host.space.dim, self.data.stiffening
        forces = None if stiffening is None else stiffening.forces.get(name)
        return self._second_order(self.data.node(name).translation[:dim], None if forces is None else forces[:dim])

    def _rotation(self, name: str) -> tuple[Expr, Expr, Expr]:
        """As `_displacement`: the rotation vector of a node in the axes of the frame, in the plane its angle."""
        kept = [2] if self.host.space.planar else [0, 1, 2]
        moments = None if self.data.stiffening is None else self.data.stiffening.moments.get(name)
        return self._second_order(self.data.node(name).rotation[kept], None if moments is None else moments[kept])

    def _second_order(self, rows: FloatArray, stiffness: FloatArray | None) -> tuple[Expr, Expr, Expr]:
        S, eta, rate = constant(rows), self.eta, self.rate
        if stiffness is None:
            return S @ eta, S, SX.zeros(len(rows))
        along = [constant(K) for K in stiffness]
        bent = ca.vertcat(*(eta.T @ K for K in along))
        curved = -ca.vertcat(*(rate.T @ K @ rate for K in along))
        return S @ eta - 0.5 * (bent @ eta), S - bent, curved

    def gauge(self, name: str) -> Expr:
        """The value of a strain gauge."""
        row = next(gauge.row for gauge in self.data.gauges if gauge.name == name)
        return constant(row) @ self.eta

    def _attach_frame(self) -> Attachment:
        space, p = self.host.space, self.host.euler_parameters(self.body)
        return Attachment(space, self.pose, self.twist, SX.zeros(space.dim), self.columns[: space.nv], p)

    def attach_node(self, name: str) -> Attachment:
        """A node as carrier."""
        host, space, pose, twist = self.host, self.host.space, self.pose, self.twist
        dim, nothing = space.dim, SX.zeros(space.dim)
        p = host.euler_parameters(self.body)
        node, eta, rate = self.data.node(name), self.eta, self.rate
        moved, S, curved = self._displacement(name)
        theta, H, turned = self._rotation(name)
        own = SX(ca.DM(node.place[:dim])) + moved
        shift = pose.R @ (S @ rate)
        v = twist.v + space.turn_velocity(pose, twist.w, own) + shift
        turning = space.spin(pose.R, twist.w)
        bias_v = space.spin(turning, twist.w) @ own + 2 * (turning @ (S @ rate)) + pose.R @ curved
        by_turn = ca.horzcat(*(space.spin(pose.R, e) @ own for e in _units(space.turns)))
        if space.planar:
            c, s = ca.cos(theta), ca.sin(theta)
            R = pose.R @ ca.blockcat([[c, -s], [s, c]])
            angle, w = pose.angle + theta, twist.w + H @ rate
            bottom = ca.horzcat(SX(1, 2), SX(1), H)
            bias_w = turned
        else:
            if H.nnz():
                E, T = turn_matrix(theta), turn_rate(theta)
                R, w = pose.R @ E, E.T @ twist.w + T @ (H @ rate)
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


def node_forces(
    host: Absolute, applied: ForceBuilder, first: Mapping[str, int], reactions: Expr
) -> dict[int, dict[str, Expr]]:
    """Forces on the nodes of flexible bodies (world axes), by id of the body and name: of joints and force elements.

    reactions : of all joints, on their second body; first : index of the first one of each joint.
    """
    dim = host.space.dim
    forces: dict[int, dict[str, Expr]] = {}

    def add(body: Body, node: str, force: Expr) -> None:
        nodes = forces.setdefault(id(body), {})
        nodes[node] = nodes[node] + force if node in nodes else force

    for name, (joint, _, _) in host.joints.items():
        for place, sign in ((joint.a, -1), (joint.b, 1)):
            if place.body.flexible is not None:
                node = place.body.node_at(place.coordinates)
                add(place.body, node, sign * reactions[first[name] : first[name] + dim])
    nodes_of = {id(side): (body.body, node) for body in host.bodies if isinstance(body, FloatingBody)
           for node, side in body.attached.items() if node}  # fmt: skip
    for side, force in applied.pushes:
        if id(side) in nodes_of:
            add(*nodes_of[id(side)], force)
    return forces


def _units(count: int) -> list[Expr]:
    return [SX(1)] if count == 1 else [SX(ca.DM([1.0 if i == k else 0.0 for i in range(3)])) for k in range(3)]
