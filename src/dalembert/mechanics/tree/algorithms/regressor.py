"""The regressor of a tree: efforts are linear in the inertial parameters (Atkeson, An and Hollerbach 1986).

    τ = Y(q, v, v̇) π ,      π of a link = (m, h = m c, J)   with c and J about the link's origin, in its axes

A link under test moves virtually with (v*, ω*) when one speed of a joint before it is 1. With the acceleration a of its
origin minus gravity, and ω, α of its motion, the virtual power of F = m a + α × h + ω × (ω × h) and
N = J α + ω × J ω + h × a is

    m (v*·a)  +  h·(v* × α + ω × (ω × v*) + a × ω*)  +  ω*·J α + (ω* × ω)·J ω

Each pair of a joint and a link beyond it needs one transformed screw and these products. Columns of joints follow:
friction and the inertia of a geared motor act only along their own speed.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.core.findings import Advice, Call
from dalembert.expressions import Expr
from dalembert.mechanics.poses import Twist
from dalembert.mechanics.tree.link_tree import LinkTree, tree_function
from dalembert.mechanics.tree.spatial import spin

SX = ca.SX
# of every link, with their units; in the plane there is one axis to turn about
INERTIAL = (
    ("mass", "kg"), ("hx", "kg m"), ("hy", "kg m"), ("hz", "kg m"),
    ("Jxx", "kg m^2"), ("Jxy", "kg m^2"), ("Jyy", "kg m^2"), ("Jxz", "kg m^2"), ("Jyz", "kg m^2"), ("Jzz", "kg m^2"),
)  # fmt: skip
PLANAR_INERTIAL = (("mass", "kg"), ("hx", "kg m"), ("hy", "kg m"), ("J", "kg m^2"))
PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # entries of J in this order
FRICTION_TERMS = ("viscous", "coulomb", "offset")
ROTOR = "rotor"


FIT = Advice("Fit masses and stiffnesses that are parameters of the mechanism with {}.", Call("da.identify.fit"))


@tree_function("inertial_parameters", "p t", instead=FIT)
def build_inertial_parameters(tree: LinkTree) -> list[Expr]:
    """π of all links, in their order."""
    found = []
    for own in (inertia.spatial for inertia in tree.inertias):
        J = own.inertia if tree.space.planar else [own.inertia[i, k] for i, k in PAIRS]
        found += [own.mass, own.moment, *([J] if tree.space.planar else J)]
    return [ca.densify(ca.vertcat(*found))]


@tree_function("link_frames", "p t", instead=FIT)
def build_link_frames(tree: LinkTree) -> list[Expr]:
    """[far, place] of every link: its axes in those of its body, and its origin from the centre of mass there."""
    return [ca.densify(ca.vertcat(*(ca.horzcat(link.far, link.place) for link in tree.links)))]


@tree_function("regressor", "q v a p t", instead=FIT)
def build_regressor(
    tree: LinkTree, joints: Sequence[int] = (), terms: Sequence[str] = (), speed: float = 0.0
) -> list[Expr]:
    """Y (nv, parameters).

    joints : speeds with columns of their own, one for each of `terms`.
    speed : of the smooth law v / √(v² + speed²) instead of the sign of v; 0 for the sign.
    """
    planar = tree.space.planar
    row, width = (_planar_row, 4) if planar else (_row, 10)
    Y = [SX(tree.nv, width * len(tree.links))]
    virtual = _virtual_motions(tree)
    for i, (link, motion) in enumerate(zip(tree.links, _accelerate(tree), strict=True)):
        for column, own in virtual[id(link)]:
            Y[0][column, width * i : width * (i + 1)] = row(own, motion, link.velocity.w)
    for k in joints:
        v = tree.v[k]
        direction = ca.sign(v) if speed == 0.0 else v / ca.sqrt(v * v + speed * speed)
        values = {"viscous": v, "coulomb": direction, "offset": SX(1), ROTOR: tree.a[k]}
        own = SX(tree.nv, len(terms))
        for j, term in enumerate(terms):
            own[k, j] = values[term]
        Y.append(own)
    return [ca.sparsify(ca.horzcat(*Y))]


def _accelerate(tree: LinkTree) -> list[Twist]:
    """a and α of every link; gravity is an acceleration of the ground upwards."""
    found: dict[int, Twist] = {}
    for link in tree.links:
        above = found[id(link.parent)] if link.parent else Twist(-tree.gravity, SX(tree.space.turns, 1))
        found[id(link)] = link.accelerate(above, tree.a[list(link.columns)] if link.columns else None)
    return list(found.values())


def _virtual_motions(tree: LinkTree) -> dict[int, list[tuple[int, Twist]]]:
    """Of every link (by id): its velocity at speed 1 of each joint from the root to it, in its axes."""
    space = tree.space
    virtual_motions: dict[int, list[tuple[int, Twist]]] = {}
    for link in tree.links:
        carried = [
            (k, Twist(link.R.T @ (x.v + spin(space, x.w, link.d)), x.w if space.planar else link.R.T @ x.w))
            for k, x in (virtual_motions[id(link.parent)] if link.parent else ())
        ]
        virtual_motions[id(link)] = carried + [
            (k, Twist(link.Q[:, j], link.S[:, j])) for j, k in enumerate(link.columns)
        ]
    return virtual_motions


def _row(virtual: Twist, motion: Twist, w: Expr) -> Expr:
    v, turn, a, alpha = virtual.v, virtual.w, motion.v, motion.w
    cross = ca.cross
    h = cross(v, alpha) + cross(w, cross(w, v)) + cross(a, turn)
    C = turn @ alpha.T + cross(turn, w) @ w.T
    J = [C[i, i] if i == k else C[i, k] + C[k, i] for i, k in PAIRS]
    return ca.horzcat(ca.dot(v, a), h.T, *J)


def _planar_row(virtual: Twist, motion: Twist, w: Expr) -> Expr:
    v, turn, a, alpha = virtual.v, virtual.w, motion.v, motion.w
    hx = alpha * v[1] - w * w * v[0] + turn * a[1]
    hy = -alpha * v[0] - w * w * v[1] - turn * a[0]
    return ca.horzcat(ca.dot(v, a), hx, hy, turn * alpha)
