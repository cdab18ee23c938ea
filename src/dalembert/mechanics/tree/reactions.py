"""Reactions of the joints of a tree: the balance of all bodies beyond the joint.

    force = Σ (m a - applied force) ,       moment about the world's origin = Σ (moments of the same)

A joint of the tree has no rows and no multipliers. Inertia, forces and the rows of all other joints are those of the
same machine in absolute coordinates, whose efforts belong to bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.reactions import reaction_of_rows
from dalembert.mechanics.tree.flexible_link import FlexibleLink
from dalembert.mechanics.tree.link_body import LinkBody
from dalembert.mechanics.tree.links import accelerate_links

if TYPE_CHECKING:
    from dalembert.mechanics.tree.producer import GearedRotor, JointCoordinates

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


def reaction_in_absolute_coordinates(host: JointCoordinates, name: str) -> tuple[Expr, Expr, Expr]:
    """Force, torque and axes of a joint whose rows are written for the machine as a whole, not for two bodies."""
    plain = host.plain
    assert host.balance_of_bodies  # collects the rows
    q, _, _, lam = _absolute_motion(host)
    function = ca.Function("reaction", [plain.q, plain.lam, plain.p, plain.t], list(reaction_of_rows(plain, name)))
    force, torque, axes = function(q, lam, host.p, host.t)
    return force, torque, axes


def _efforts(host: JointCoordinates) -> Expr:
    """M v̇ - f - Aᵀ λ in absolute coordinates, without the joints of the tree."""
    balance = host.balance_of_bodies
    q, v, a, lam = _absolute_motion(host)
    return balance(q, v, a, lam, host.z, host.u, host.p, host.t)


def _absolute_motion(host: JointCoordinates) -> tuple[Expr, Expr, Expr, Expr]:
    """q, v, v̇ and λ of the same machine in absolute coordinates, whose rows have been collected."""
    plain = host.plain
    rotors = {one.rotor.name: one for one in host.geared}
    behind = [_read_elastic(host, name, rotors) for name in (*host.modes, *(extra[0] for extra in plain.extra))]
    q = [*(_pose(host, body) for body in host.bodies), *(one[0] for one in behind)]
    v = [*(ca.vertcat(body.twist.v, body.twist.w) for body in host.bodies), *(one[1] for one in behind)]
    a = [*_accelerations(host), *(one[2] for one in behind)]
    counters = plain.nq - sum(x.shape[0] for x in q)
    place = {(row.owner, row.number): k for k, row in enumerate(host.rows.tags)}
    ties = {
        one.owner: one.inertia * one.ratio * ca.sum1(host.a[one.speeds]) for one in host.geared
    }  # torque on the rotor
    known = [place.get((row.owner, row.number)) for row in plain.rows.tags]
    carried = [
        ties.get(row.owner, SX(0)) if k is None else host.lam[k] for k, row in zip(known, plain.rows.tags, strict=True)
    ]
    lam = ca.vertcat(*carried) if carried else SX(0, 1)
    return ca.vertcat(*q, *[SX(0)] * counters), ca.vertcat(*v), ca.vertcat(*a), lam


def _read_elastic(host: JointCoordinates, name: str, rotors: Mapping[str, GearedRotor]) -> tuple[Expr, Expr, Expr]:
    """An elastic coordinate or another one behind those of the bodies: its value, speed and acceleration."""
    if name in rotors:
        one = rotors[name]
        turned = (host.q[one.coordinates], host.v[one.speeds], host.a[one.speeds])
        return tuple(one.ratio * ca.sum1(x) for x in turned)
    k = host.speeds.index[f"{name}.rate"]
    return host.q[host.coordinates.index[name]], host.v[k], host.a[k]


def _pose(host: JointCoordinates, own: LinkBody | FlexibleLink) -> Expr:
    return ca.vertcat(own.pose.r, own.pose.angle if host.space.planar else host.euler_parameters(own.body))


def _accelerations(host: JointCoordinates) -> list[Expr]:
    """Derivatives of the twists of all bodies."""
    motions = accelerate_links(host.links, host.a)
    return [body.accelerate(motions[id(body.link)]) for body in host.bodies]
