"""Force and torque of a joint on its second body: Aᵀ λ brought to the joint's point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from dalembert.expressions import Expr

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX = ca.SX


@dataclass(frozen=True)
class Reactions:
    """All joints' forces and torques, with names and units; `first` is the index of the first entry of each joint.

    value : makes the expression of all of them.
    """

    names: list[str]
    units: list[str]
    value: Callable[[], Expr]
    first: list[int]


def reaction_of_rows(host: Absolute, name: str) -> tuple[Expr, Expr, Expr]:
    """(force, torque) of a joint that rows close, on its second body at its point, world axes; and its axes."""
    joint, rows, place = host.joints[name]
    lam = host.lam[list(rows)]
    side = 1 if not joint.b.body.is_ground else 0
    frame = (joint.a, joint.b)[side]
    if place["blocks"] is not None:
        effort, pose = place["blocks"][side].T @ lam, host.attach(frame).pose
    else:
        columns = list(host.rigid_columns(frame.body))
        effort, pose = (host.rows.matrix()[list(rows), columns]).T @ lam, host.attach(frame.body).pose
    force = effort[0 : host.space.dim]
    turn = effort[host.space.dim : host.space.nv]
    if not host.space.planar:
        turn = pose.R @ turn
    torque = turn - host.space.turn_about(place["point"] - pose.r, force)
    sign = 1 if side == 1 else -1
    return sign * force, sign * torque, place["axes"]


def all_reactions(host: Absolute, friction: dict[tuple[str, str], tuple[Expr, str]]) -> Reactions:
    names: list[str] = []
    units: list[str] = []
    rest: list[Expr] = []
    firsts: list[int] = []
    axes = ("x", "y", "z")
    for name in host.joints:
        firsts.append(len(names))
        names += [f"{name}.force.{axes[k]}" for k in range(host.space.dim)]
        units += ["N"] * host.space.dim
        turns = ["z"] if host.space.planar else list(axes)
        names += [f"{name}.torque.{k}" for k in turns]
        units += ["N m"] * len(turns)
    owners = [row.owner for row in host.rows.tags]
    sticking = {row for row, _ in host.sticking.values()}
    for k, row in enumerate(host.rows.tags):  # drivers, gears, rotors and user constraints: the effort along each row
        if row.owner not in host.joints and k not in sticking:
            names.append(f"{row.owner}.effort" + (f".{row.number}" if owners.count(row.owner) > 1 else ""))
            units.append(host.row_units.get(row.owner, ""))
            rest.append(host.lam[k])
    for d in host.exact:  # friction, sliding or sticking, and which of the two
        effort, unit = friction[d.name, d.coordinate]
        names += [d.sliding.removesuffix("sliding") + "effort", d.sliding]
        units += [unit, ""]
        rest += [effort, host.sticking[d.name, d.coordinate][1]]

    def value() -> Expr:
        values = [x for name in host.joints for x in host.reaction(name)[:2]] + rest
        return ca.vertcat(*values) if values else SX.zeros(0, 1)

    return Reactions(names, units, value, firsts)


def joint_axes(host: Absolute) -> Expr:
    """World axes of the first frame of every joint, side by side (dim x dim·joints)."""
    axes = [place["axes"] for _, _, place in host.joints.values()]
    return ca.densify(ca.horzcat(*axes)) if axes else SX.zeros(host.space.dim, 0)
