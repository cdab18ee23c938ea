"""Reactions of the joints of a tree: the balance of all bodies beyond the joint.

    force = Σ (m a - applied force) ,       moment about the world's origin = Σ (moments of the same)

A joint of the tree has no rows and no multipliers. Inertia, forces and the rows of all other joints are those of the
same machine in absolute coordinates, whose efforts belong to bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.tree.links import LinkBody

if TYPE_CHECKING:
    from dalembert.mechanics.tree.producer import JointCoordinates

SX = ca.SX


def carried_forces(host: JointCoordinates) -> dict[int, tuple[Expr, Expr]]:
    """Force and moment about the world's origin that the joint of every body (by id) carries, world axes."""
    space = host.space
    efforts = _efforts(host)
    found: dict[int, tuple[Expr, Expr]] = {}
    for k, own in enumerate(host.bodies):
        part = efforts[space.nv * k : space.nv * (k + 1)]
        force, turn = part[: space.dim], part[space.dim :]
        moment = (turn if space.planar else own.pose.R @ turn) + space.turn_about(own.pose.r, force)
        found[id(own.body)] = (force, moment)
    for branch in reversed(host.branches):
        above = branch.parent
        if above is not None and not above.is_ground:
            mine, theirs = found[id(branch.body)], found[id(above)]
            found[id(above)] = (theirs[0] + mine[0], theirs[1] + mine[1])
    return found


def _efforts(host: JointCoordinates) -> Expr:
    """M v̇ - f - Aᵀ λ in absolute coordinates, without the joints of the tree."""
    plain, z, u, p, t = host.plain, host.z, host.u, host.p, host.t
    behind = range(host.first_mode[1], host.nv)  # elastic coordinates and others, which both have
    q = [*(_pose(host, own) for own in host.bodies), *(host.q[host.first_mode[0] + k] for k in range(len(behind)))]
    v = [*(ca.vertcat(own.twist.v, own.twist.w) for own in host.bodies), *(host.v[k] for k in behind)]
    a = [*(_acceleration(host, own) for own in host.bodies), *(host.a[k] for k in behind)]
    counters = plain.nq - sum(x.shape[0] for x in q)
    place = {(row.owner, row.number): k for k, row in enumerate(host.rows.tags)}
    known = [place.get((row.owner, row.number)) for row in plain.rows]
    q, v, a = ca.vertcat(*q, *[SX(0)] * counters), ca.vertcat(*v), ca.vertcat(*a)
    lam = ca.vertcat(*(SX(0) if k is None else host.lam[k] for k in known)) if known else SX(0, 1)
    F = plain.functions
    A, _ = F["rows"](q, v, z, u, p, t)
    return F["inertia"](q, p, t) @ a - F["forces"](q, v, z, u, p, t, lam) - A.T @ lam


def _pose(host: JointCoordinates, own: LinkBody | FloatingBody) -> Expr:
    return ca.vertcat(own.pose.r, own.pose.angle if host.space.planar else host.euler_parameters(own.body))


def _acceleration(host: JointCoordinates, own: LinkBody | FloatingBody) -> Expr:
    if isinstance(own, LinkBody):
        return own.B @ host.a[own.columns] + own.bias if own.columns else own.bias
    return host.a[list(host.rigid_columns(own.body))]
