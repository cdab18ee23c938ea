"""Closed form of the equations of a tree with flexible links: global matrices instead of recursions (Scaglioni 2016).

Twists V = (ω, v) of the frames of all bodies and wrenches F = (n, f), in world axes, one block for each body, parents
first. Body i with parent λ, whose frames are p apart:

    V̇_i = P V̇_λ + B_t θ̈ + B_q η̈_λ + V'_i ,        P = [1, 0; -p~, 1]         PPᵀ V̇ = BBt θ̈ + BBq η̈ + VVp
    w' = ω × W ẇ + Ẇ ẇ ,   v' = ω × (ω × p + 2 ṗ) + p̈ at rest of the speeds      (axes of λ, ω of λ; the ground: -g)

    IIvv V̇ + IIvq η̈ - CCv = PP F ,       IIvqᵀ V̇ + MMe η̈ + D η̇ + K η - CCf = -BBqᵀ F ,       τ = BBtᵀ F .

PP has the blocks -Pᵀ at (λ, i). Products of P along a path depend on the places of its ends only, so that the block
(i, j) of PP⁻¹ is that of p_j - p_i where j is i or beyond it, and nothing has to be inverted. With

    M1 = PP⁻¹ IIvv PP⁻ᵀ ,   M6 = IIvqᵀ PP⁻ᵀ ,   Mtt = BBtᵀ M1 BBt ,   Mtqᵀ = (M6 + BBqᵀ M1) BBt ,
    Mqq = MMe + BBqᵀ M1 BBq + M6 BBq + (M6 BBq)ᵀ ,
    Ct = BBtᵀ (M1 VVp - PP⁻¹ CCv) ,   Cq = (M6 + BBqᵀ M1) VVp - BBqᵀ PP⁻¹ CCv - CCf

    Mtt θ̈ + Mtq η̈ + Ct = τ ,     Mtqᵀ θ̈ + Mqq η̈ + D η̇ + K η + Cq = 0 .

θ are all speeds of joints. Nodes turn by the exponential of their rotation vector, or, as in the source, by 1 + ϑ~,
which is no rotation: then axes are orthogonal to first order only. Eq. (3.6) of the source lacks the factor 2 above, in
(3.36) the velocities stand for VVp; without them energy is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.expressions import Expr
from dalembert.mechanics.bodies.floating import constant
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.mechanics.tree.link_inertia import BodyInertia, FloatingInertia
from dalembert.mechanics.tree.link_tree import PAYLOAD, LinkTree, tree_function
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import cross_matrix, spin, spin_matrix
from dalembert.model.bodies import BodyFrame, Point

SX = ca.SX
EXPONENTIAL, LINEAR = ROTATIONS = ("exponential", "linear")
CORIOLIS = 2.0  # of v' above


@dataclass(frozen=True)
class ClosedFormBody:
    """A body in the closed form.

    parent : its number, None on the ground.  link : its frame.  inertia : in the axes of the frame.
    pose, velocity : in the world; velocity in the axes of the frame.  centre : centre of mass in the frame.
    columns, B : speeds of joints and modes that move it on its parent, and their twists, world axes.  bias : V'.
    """

    space: Space
    parent: int | None
    link: Link
    inertia: BodyInertia
    pose: Pose
    turning: Expr
    velocity: Twist
    centre: Expr
    columns: Sequence[int]
    B: Expr
    bias: Expr


@dataclass(frozen=True)
class CarriedFrame:
    """A frame on a body: its place and axes in the frame of the body, and its columns (ω, v) there."""

    columns: list[int]
    place: Expr
    axes: Expr
    turns: Expr
    slides: Expr


def reach(space: Space, path: Sequence[tuple[Link, Expr, Expr]]) -> CarriedFrame:
    """Along links, each with its axes on the one before it and its columns of ω in axes of that one."""
    R, d = SX.eye(space.dim), SX(space.dim, 1)
    columns: list[int] = []
    parts = []
    for link, axes, turns in path:
        d = d + R @ link.d
        slides = R @ link.E @ link.motion.P
        parts.append((turns if space.planar else R @ turns, slides, d))
        R = ca.sparsify(R @ axes)
        columns += list(link.columns)
    moved = [V + cross_matrix(space, d - at).T @ W for W, V, at in parts]
    none = (SX(space.turns, 0), SX(space.dim, 0))
    W, V = (ca.horzcat(*x) if parts else y for x, y in zip(([W for W, *_ in parts], moved), none, strict=True))
    unique = list(dict.fromkeys(columns))
    add = SX.zeros(len(columns), len(unique))
    for k, column in enumerate(columns):
        add[k, unique.index(column)] = 1
    add = ca.sparsify(add)
    return CarriedFrame(unique, d, R, ca.sparsify(W @ add), ca.sparsify(V @ add))


def turned_axes(tree: LinkTree, link: Link, rotations: str) -> tuple[Expr, Expr]:
    """Axes of a link on the one before it, and its columns of ω in the axes of that one."""
    body, _, node = link.name.rpartition(".")
    if rotations == LINEAR and link.name not in tree.points and body in tree.flexible:
        inertia = tree.inertias[tree.index[body]]
        assert isinstance(inertia, FloatingInertia)
        H = constant(inertia.data.node(node).rotation[[2] if tree.space.planar else [0, 1, 2]])
        return SX.eye(tree.space.dim) + spin_matrix(tree.space, H @ inertia.eta), H
    return link.R, link.S if tree.space.planar else link.R @ link.S


def elements(tree: LinkTree, rotations: str = EXPONENTIAL) -> list[ClosedFormBody]:
    """Bodies of a tree, parents first."""
    refuse_moving_roots(tree)
    space = tree.space
    bodies: list[ClosedFormBody] = []
    numbers: dict[int, int] = {}
    for link, inertia in zip(tree.links, tree.inertias, strict=True):
        if not _is_body(tree, link):
            continue
        path = [link]
        while path[0].parent is not None and id(path[0].parent) not in numbers:
            path.insert(0, path[0].parent)
        parent = numbers.get(id(path[0].parent))
        way = reach(space, [(step, *turned_axes(tree, step, rotations)) for step in path])
        above = bodies[parent] if parent is not None else None
        R = SX.eye(space.dim) if above is None else above.pose.R
        w = SX(space.turns, 1) if above is None else above.turning
        speeds = tree.v[way.columns] if way.columns else SX(0, 1)
        turn, slide = way.turns @ speeds, way.slides @ speeds
        bent, curved = tree.rate(way.turns) @ speeds, tree.rate(way.slides) @ speeds
        p, moved, turned = R @ way.place, R @ slide, turn if space.planar else R @ turn
        bias_v = spin(space, w, spin(space, w, p) + CORIOLIS * moved) + R @ curved
        bias_w = bent if space.planar else ca.cross(w, turned) + R @ bent
        if above is None:
            bias_v = bias_v - tree.gravity
        axes, origin = R @ way.axes, p if above is None else above.pose.r + p
        turning = w + turned
        velocity = Twist(SX(space.dim, 1), turning if space.planar else axes.T @ turning)
        B = ca.sparsify(ca.vertcat(way.turns if space.planar else R @ way.turns, R @ way.slides))
        numbers[id(link)] = len(bodies)
        bodies.append(ClosedFormBody(
            space, parent, link, inertia, Pose(origin, axes, SX(0)), turning, velocity, link.centre, way.columns, B,
            ca.vertcat(bias_w, bias_v),
        ))  # fmt: skip
    return bodies


def _is_body(tree: LinkTree, link: Link) -> bool:
    """Whether a link is that of a body or a payload, not of a joint or a node alone."""
    return link.name in tree.points or link.name == PAYLOAD


def refuse_moving_roots(tree: LinkTree) -> None:
    for link, inertia in zip(tree.links, tree.inertias, strict=True):
        if inertia.columns and set(link.columns) & set(inertia.columns):
            raise ModelError(
                "not-supported", f"modes of the flexible body {link.name!r} move the node that carries it; the closed "
                "form has the frame of a link at its joint.",
                Advice("Make its data with the frame at that node, named in {}.", Argument("reference")),
                Advice("Use the recursion: {}.", Argument("form", "recursive")), where={"body": link.name},
            )  # fmt: skip


@dataclass(frozen=True)
class ClosedMatrices:
    """Matrices of the closed form (see above); t: speeds of joints, q: of modes.  inverse : PP⁻¹."""

    PP: Expr
    inverse: Expr
    IIvv: Expr
    IIvq: Expr
    MMe: Expr
    BBt: Expr
    BBq: Expr
    VVp: Expr
    CCv: Expr
    CCf: Expr

    @property
    def M1(self) -> Expr:
        return ca.sparsify(self.inverse @ self.IIvv @ self.inverse.T)

    def assemble(self) -> tuple[Expr, Expr, Expr, Expr, Expr, Expr]:
        """M1, Mtt, Mtq, Mqq, Ct and Cq."""
        M1, M6 = self.M1, self.IIvq.T @ self.inverse.T
        M2, M7 = M1 @ self.BBt, M6 @ self.BBq
        Mtq = (M6 @ self.BBt + self.BBq.T @ M2).T
        Mqq = self.MMe + self.BBq.T @ M1 @ self.BBq + M7 + M7.T
        pushed, carried = M1 @ self.VVp, self.inverse @ self.CCv
        Ct = self.BBt.T @ (pushed - carried)
        Cq = M6 @ self.VVp + self.BBq.T @ (pushed - carried) - self.CCf
        return M1, self.BBt.T @ M2, Mtq, Mqq, Ct, Cq


def split_speeds(tree: LinkTree) -> tuple[list[int], list[int]]:
    """Speeds of joints, and of modes and elastic gears, in their order."""
    modes = {k for inertia in tree.inertias for k in inertia.columns} | {gear.speed for gear in tree.gears}
    return sorted({k for link in tree.links for k in link.columns} - modes), sorted(modes)


def closed_matrices(tree: LinkTree, bodies: Sequence[ClosedFormBody]) -> ClosedMatrices:
    space = tree.space
    joints, modes = split_speeds(tree)
    size, turns = space.nv * len(bodies), space.turns
    PP, inverse, IIvv = SX.eye(size), SX.eye(size), SX(size, size)
    BB, IIvq, MMe = SX(size, tree.nv), SX(size, tree.nv), SX(tree.nv, tree.nv)
    VVp, CCv, CCf = [], [], SX(tree.nv, 1)
    still = Twist(SX(space.dim, 1), SX(turns, 1))

    def part(k: int) -> slice:
        return slice(space.nv * k, space.nv * (k + 1))

    for i, body in enumerate(bodies):
        A = body.pose.R
        turn = SX(1) if space.planar else A
        rigid = body.inertia.spatial
        J, X = turn @ rigid.inertia @ turn.T, turn @ cross_matrix(space, rigid.moment) @ A.T
        IIvv[part(i), part(i)] = ca.blockcat([[J, X], [X.T, rigid.mass * SX.eye(space.dim)]])
        BB[part(i), body.columns] = body.B
        above = body.parent
        if above is not None:
            PP[part(above), part(i)] = -shift(space, body.pose.r - bodies[above].pose.r).T
        while above is not None:
            inverse[part(above), part(i)] = shift(space, body.pose.r - bodies[above].pose.r).T
            above = bodies[above].parent
        wrench, efforts = body.inertia.force(body, still, None)
        VVp.append(body.bias)
        CCv.append(-ca.vertcat(turn @ wrench.n, A @ wrench.f))
        if columns := list(body.inertia.columns):
            coupling = body.inertia.coupling
            IIvq[part(i), columns] = ca.vertcat(turn @ coupling.n, A @ coupling.f)
            MMe[columns, columns] = body.inertia.own
            CCf[columns] = -efforts
    blocks = (PP, inverse, IIvv, IIvq[:, modes], MMe[modes, modes], BB[:, joints], BB[:, modes])
    biases = (ca.vertcat(*VVp), ca.vertcat(*CCv), CCf[modes, 0])
    return ClosedMatrices(*map(ca.sparsify, (*blocks, *biases)))


def shift(space: Space, p: Expr) -> Expr:
    """P of a distance: the twist of a body at a place p away."""
    return ca.blockcat([[SX.eye(space.turns), SX(space.turns, space.dim)],
                        [cross_matrix(space, p).T, SX.eye(space.dim)]])  # fmt: skip


def closed_dynamics(tree: LinkTree, rotations: str = EXPONENTIAL) -> tuple[Expr, Expr]:
    """M of all speeds, and Ct and Cq on them."""
    _, Mtt, Mtq, Mqq, Ct, Cq = closed_matrices(tree, elements(tree, rotations)).assemble()
    joints, modes = split_speeds(tree)
    M, h, order = SX(tree.nv, tree.nv), SX(tree.nv, 1), [*joints, *modes]
    M[order, order] = ca.blockcat([[Mtt, Mtq], [Mtq.T, Mqq]])
    h[order] = ca.vertcat(Ct, Cq)
    return ca.sparsify(M), h


@tree_function("closed_form", "q v p t", matrix=True)
def build_closed_form(tree: LinkTree, rotations: str, tip: str | Point | BodyFrame) -> list[Expr]:
    """Matrices of `ClosedMatrices`, those of `assemble`, stiffness, damping, Pt and Btq of a frame at the tip."""
    bodies, space = elements(tree, rotations), tree.space
    matrices, (joints, modes) = closed_matrices(tree, bodies), split_speeds(tree)
    numbers = {id(body.link): k for k, body in enumerate(bodies)}
    frame = tree.frame(tip)
    path: list[Link] = []
    link = frame.link
    while link is not None and id(link) not in numbers:
        path.insert(0, link)
        link = link.parent
    Pt, Btq = SX(space.nv * len(bodies), space.nv), SX(space.nv, tree.nv)
    if link is not None:
        body = bodies[numbers[id(link)]]
        way = reach(space, [(step, *turned_axes(tree, step, rotations)) for step in path])
        arm = way.axes @ frame.place
        first, R = space.nv * numbers[id(link)], body.pose.R
        Pt[first : first + space.nv, :] = shift(space, R @ (way.place + arm)).T
        slides = way.slides + cross_matrix(space, arm).T @ way.turns
        Btq[:, way.columns] = ca.vertcat(way.turns if space.planar else R @ way.turns, R @ slides)
    K, D = (SX(tree.nv, tree.nv) for _ in range(2))
    for inertia in tree.inertias:
        if isinstance(inertia, FloatingInertia):
            at = list(inertia.columns)
            K[at, at] = inertia.stiffness * constant(inertia.data.stiffness)
            D[at, at] = inertia.damping * constant(inertia.data.damping)
    G = SX(tree.nv, tree.nv)
    for gear in tree.gears:
        rows, columns, block = gear.block
        G[rows, columns] += block
        K[gear.speed, gear.speed], D[gear.speed, gear.speed] = gear.stiffness, gear.damping
    matrices = replace(matrices, MMe=matrices.MMe + G[modes, modes])
    M1, Mtt, Mtq, *rest = matrices.assemble()
    geared = G[joints, joints] + ca.diag(
        ca.vertcat(*(tree.rotors.get(k, SX(0)) for k in joints)) if joints else SX(0, 1)
    )
    elastic = [K[modes, modes], D[modes, modes], Pt, Btq[:, modes]]
    return [*matrices.__dict__.values(), M1, Mtt + geared, Mtq + G[joints, modes], *rest, *elastic]
