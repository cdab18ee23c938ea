"""Derivatives of inverse dynamics of a tree in closed form (Singh, Russell and Wensing 2022).

World axes, world origin, columns (angular, linear). S_j is the column of a speed w_j, V and A are twist and spatial
acceleration of links, λ is the link above. Seen from the link that moves along, a small motion of joint j changes twist
and acceleration (with V × δV added) of everything beyond it by

    ψ̇_j = V_λ × S_j + E_j ,     ψ̈_j = A_λ × S_j + V_λ × ψ̇_j + V × E_j + D_j ẇ + ∂b/∂ξ_j ,

and a small speed by S_j and 2 ψ̇_j (and more for joints with several freedoms). E, D and b (of S itself, which changes
with the joint's own coordinates ξ: E_j = ∂(S w)/∂ξ_j, D_j = ∂S/∂ξ_j, b = Ṡ w) vanish for hinges and slides. With the
inertia I, the momenta and the force F of all links beyond

    ∂τ_i/∂ξ_j = S_iᵀ (C ψ̇_j + I ψ̈_j)               i beyond j ,      ∂τ_j/∂ξ_i = S_jᵀ (C ψ̇_i + I ψ̈_i + S_i ×* F) ,
    ∂τ_i/∂w_j = S_iᵀ (C S_j + I (V_λ + V) × S_j) ,                   ∂τ_j/∂w_i likewise,          M_ij = S_iᵀ I S_j .

C, which the paper writes as a 6 x 6 matrix 2 B, has twelve numbers: for particles m at r with velocity ṙ a change δω
causes the forces 2 m δω × ṙ, so that with K = Σ m ṙ rᵀ and P = Σ m ṙ

    C (δω, δv) = 2 (tr K δω - K δω ,  δω × P) ,      K = v hᵀ + ω × Σ of a rigid body with second moments Σ = Σ m r rᵀ .

All this is written on vectors over the links and over the speeds. For few speeds they become scalar code without
loops; for many they stay vectors, and the processor computes several numbers at once (`SHORTEST_VECTOR`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import casadi as ca

from dalembert.core.findings import Advice, Call
from dalembert.expressions import Expr
from dalembert.mechanics.tree.derivatives.columns import (
    Columns,
    SymmetricMatrices,
    Triple,
    cross,
    inner,
    plus,
    stage,
    times,
    twist_cross,
)
from dalembert.mechanics.tree.derivatives.moving_links import MovingTree, gather_moving_links
from dalembert.mechanics.tree.derivatives.pair_products import join_products, order_speeds
from dalembert.mechanics.tree.derivatives.world_motion import (
    Symbols,
    WorldInertia,
    WorldMotion,
    add_up,
    carry_accelerations,
    rotors_at,
    turn_inertias,
    world_at,
)
from dalembert.mechanics.tree.link_tree import PAYLOAD, LinkTree, tree_function

# Fewest speeds for which vectors take less time than scalar code. Chains of 7 and 12 hinges, µs on an AMD EPYC:
# derivatives of inverse dynamics 1.01 and 2.39 scalar, 1.00 and 1.68 on vectors; of forward
# dynamics 1.74 and 5.69, 1.91 and 4.95.
SHORTEST_VECTOR = 10
Parts: TypeAlias = "tuple[Expr, Sequence[tuple[int, Expr]]]"


LINEAR_MODELS = Advice("Linear models of any machine come from {}.", Call("da.linearize"))


@tree_function("inverse_dynamics_derivatives", "q v a p t", matrix=True, instead=LINEAR_MODELS)
def build_inverse_dynamics_derivatives(tree: LinkTree) -> list[Expr] | ca.Function:
    """∂τ/∂ξ with dq = N dξ, ∂τ/∂v and ∂τ/∂v̇ = M, (nv, nv) each."""
    return scalars_or_vectors(tree, "q v a p t", derivatives_at)


def scalars_or_vectors(
    tree: LinkTree, names: str, build: Callable[[LinkTree, MovingTree, Symbols], list[Expr]]
) -> list[Expr] | ca.Function:
    """Results of `build` at the symbols of the tree, or as a function on vectors where they are long."""
    moving = gather_moving_links(*tree.moving)
    own = {name: tree.symbols[name] for name in (*names.split(), PAYLOAD) if name in tree.symbols}
    if len(moving.speeds) < SHORTEST_VECTOR:
        return build(tree, moving, own)
    vectors = {name: ca.MX.sym(name, x.sparsity()) for name, x in own.items()}
    return ca.Function("derivatives", list(vectors.values()), build(tree, moving, vectors))


def derivatives_at(tree: LinkTree, moving: MovingTree, at: Symbols) -> list[Expr]:
    world = world_at(tree, moving, at)
    links = turn_inertias(world)
    found = differentiate(moving, world, links, compose(moving, world, links), at["a"][moving.speeds])
    rotors = rotors_at(tree, moving, at)
    mass = found.mass() if rotors is None else found.mass() + ca.diag(rotors)
    parts: list[Parts] = [
        (found.differentiate_by_position(), ()),
        (found.differentiate_by_speed(), ()),
        (mass, tree.others),
    ]
    return [order_speeds(moving, tree.nv, *part) for part in parts]


@dataclass(frozen=True)
class CompositeInertia:
    """All links beyond a joint as one body: inertia about the world's origin."""

    mass: Expr
    first: Triple
    inertia: SymmetricMatrices

    def momentum(self, U: Columns) -> Columns:
        """I U."""
        h = self.first
        return Columns(plus(self.inertia @ U.w, cross(h, U.v)), plus(times(self.mass, U.v), cross(U.w, h)))


def compose(moving: MovingTree, world: WorldMotion, links: WorldInertia) -> CompositeInertia:
    def total_inertia(rows: Expr) -> list[Expr]:
        return [add_up(moving, rows)]

    (sums,) = stage(total_inertia, ca.horzcat(*links.first, *links.inertia.entries))
    x = ca.horzsplit(sums)
    return CompositeInertia(world.total_mass, (x[0], x[1], x[2]), SymmetricMatrices(x[3:]))


@dataclass(frozen=True)
class CompositeMotion:
    """K and P (see above) of all links beyond a joint, and the force that moves them."""

    K: tuple[Triple, Triple, Triple]
    P: Triple
    force: Columns

    def coriolis(self, turn: Triple) -> Columns:
        """½ C of a twist with this angular part."""
        trace = self.K[0][0] + self.K[1][1] + self.K[2][2]
        x, y, z = (trace * turn[i] - inner(self.K[i], turn) for i in range(3))
        return Columns((x, y, z), cross(turn, self.P))

    def multiply_coriolis_transposed(self, U: Columns) -> Triple:
        """The angular part of ½ Cᵀ U; the linear part is zero."""
        trace = self.K[0][0] + self.K[1][1] + self.K[2][2]
        x, y, z = (trace * U.w[i] - inner([self.K[j][i] for j in range(3)], U.w) for i in range(3))
        return plus((x, y, z), cross(self.P, U.v))


def compose_motion(moving: MovingTree, V: Columns, links: WorldInertia, A: Columns) -> CompositeMotion:
    def total_motion(rows: Expr) -> list[Expr]:
        return [add_up(moving, rows)]

    (sums,) = stage(total_motion, move_links(V, links, A))
    x = ca.horzsplit(sums)
    K = ((x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8]))
    return CompositeMotion(K, (x[9], x[10], x[11]), Columns((x[12], x[13], x[14]), (x[15], x[16], x[17])))


def move_links(V: Columns, links: WorldInertia, a: Columns) -> Expr:
    """Of every link in a row: K by rows, P, torque and force."""
    m, h, J = links.mass, links.first, links.inertia
    turned = [cross(V.w, column) for column in links.second.rows]  # columns of ω × Σ
    K = [[V.v[i] * h[j] + turned[j][i] for j in range(3)] for i in range(3)]
    P = plus(times(m, V.v), cross(V.w, h))
    L = (K[2][1] - K[1][2], K[0][2] - K[2][0], K[1][0] - K[0][1])
    torque = plus(J @ a.w, cross(h, a.v), cross(V.w, L), cross(V.v, P))
    force = plus(times(m, a.v), cross(a.w, h), cross(V.w, P))
    for i, row in enumerate(links.idle.rows):  # - Δ (ω × δω) as a part of C
        K[i] = [x - 0.5 * y for x, y in zip(K[i], cross(V.w, row), strict=True)]
    return ca.horzcat(*K[0], *K[1], *K[2], *P, *torque, *force)


def differentiate(
    moving: MovingTree, world: WorldMotion, links: WorldInertia, body: CompositeInertia, rates: Expr
) -> Derivatives:
    """At derivatives of the speeds, in the order of the tree."""
    S, V = Columns.of(world.S), Columns.of(world.V_above)
    turn = twist_cross(V, S)
    psi = turn + Columns.of(world.E)

    def accelerations(own_rates: Expr, own_turn: Expr, *parts: Expr) -> tuple[Expr, Expr, Expr]:
        return carry_accelerations(moving, world.at(parts), own_turn, own_rates)

    A, A_above, own = stage(accelerations, rates, ca.horzcat(*turn.parts), *world.parts)
    moved = compose_motion(moving, Columns.of(world.V), links, Columns.of(A))
    twice = Columns(times(2, psi.w), times(2, psi.v))
    second = twist_cross(Columns.of(A_above), S) + twist_cross(V, psi) + Columns.of(own)
    change = twice + Columns.of(world.change)
    r1, r2 = times(2, moved.multiply_coriolis_transposed(S)), body.momentum(S)
    F = moved.force
    follow = Columns(plus(cross(S.w, F.w), cross(S.v, F.v)), cross(S.w, F.v))  # S ×* F
    return Derivatives(
        moving, S.parts, r2.parts, (*r1, *r2.parts), (*psi.w, *second.parts),
        (moved.coriolis(twice.w) + body.momentum(second) + follow).parts, (*S.w, *change.parts),
        (moved.coriolis(times(2, S.w)) + body.momentum(change)).parts, own_forces(moving, world, F),
    )  # fmt: skip


def own_forces(moving: MovingTree, world: WorldMotion, F: Columns) -> dict[tuple[int, int], Expr]:
    """∂S_iᵀ/∂ξ_j F of the speeds i, j of joints whose columns change with their own coordinates."""
    changes = ca.horzsplit(world.own_S) if world.own_S.shape[1] else []
    found: dict[tuple[int, int], Expr] = {}
    for k in world.changing:
        first, stop = moving.first_speed[k : k + 2]
        for i, j in product(range(first, stop), repeat=2):
            own = changes[6 * (j - first) : 6 * (j - first) + 6]
            terms = [x[i] * y[i] for x, y in zip(own, F.parts, strict=True) if x.nnz() and y.nnz()]
            if terms:
                found[i, j] = sum(terms[1:], terms[0])
    return found


@dataclass(frozen=True)
class Derivatives:
    """Vectors over the speeds whose products, pair by pair, are the entries of the derivatives.

    S, momentum : M_ij = S_i·momentum_j.  outer : ∂τ_i/∂ξ_j = outer_i·position_j and ∂τ_i/∂w_j = outer_i·speed_j for a
    speed i of the same link as j or beyond it; for j beyond i they are S_i·on_position_j and S_i·on_speed_j.
    own : added to ∂τ_i/∂ξ_j inside a joint.
    """

    moving: MovingTree
    S: Sequence[Expr]
    momentum: Sequence[Expr]
    outer: Sequence[Expr]
    position: Sequence[Expr]
    on_position: Sequence[Expr]
    speed: Sequence[Expr]
    on_speed: Sequence[Expr]
    own: Mapping[tuple[int, int], Expr]

    def differentiate_by_position(self) -> Expr:
        """∂τ/∂ξ."""
        own = {(j, i): x for (i, j), x in self.own.items()}
        return join_products(self.moving, (self.position, self.outer), (self.on_position, self.S), own)

    def differentiate_by_speed(self) -> Expr:
        """∂τ/∂w."""
        return join_products(self.moving, (self.speed, self.outer), (self.on_speed, self.S))

    def mass(self) -> Expr:
        found = join_products(self.moving, (self.S, self.momentum), (self.momentum, self.S))
        return found if isinstance(found, ca.MX) else ca.tril2symm(ca.tril(found))
