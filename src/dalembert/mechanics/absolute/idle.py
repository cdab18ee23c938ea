"""Idle freedoms: the spin of a link, or of a group of links, about the line of its ball joints.

Bodies connected by anything but ball joints turn as one group. A group that is connected by ball joints at two points
p₁, p₂ only (a tie rod, the coupler of an RSSR linkage, a leg of a platform) spins about the line e = p₂ - p₁ without
moving any other body and without changing any joint coordinate:

    ω_b = e ,   v_b = e × (r_b - p₁)     for every body b of the group

A single body on one ball joint spins likewise about the line through its centre of mass. Where the bodies of a group
have no inertia about that line (thin rods), no equation determines the spin: it keeps its speed. An
inertia of any size has this effect, since no joint and no force acts along the spin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS
from dalembert.model import Body, Mechanism
from dalembert.model.joints import Joint

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX = ca.SX


@dataclass(frozen=True)
class Spin:
    """Bodies that turn together about the line through two places, each a body and its coordinates."""

    bodies: tuple[Body, ...]
    places: tuple[tuple[Body, tuple[Any, ...]], tuple[Body, tuple[Any, ...]]]
    line: str

    def __str__(self) -> str:
        names = " and ".join(body.name for body in self.bodies)
        return f"{names} turn{'s' * (len(self.bodies) == 1)} about {self.line}"


def find_spins(m: Mechanism) -> list[Spin]:
    """Spins that joints leave free; gears, drivers and constraints of a user may still prevent them."""
    if m.planar:
        return []
    group = {id(b): b for b in (m.ground, *m.bodies)}
    leader = {key: key for key in group}

    def lead(body: Body) -> int:
        key = id(body)
        while leader[key] != key:
            key = leader[key]
        return key

    balls: list[tuple[Joint, int]] = []
    bound = [m.ground]  # a body with the line or plane of a joint cannot turn freely
    for joint in (joint for joint in m.joints if joint.holds):
        sides = JOINT_EQUATIONS[joint.kind].balls
        if not sides:
            leader[lead(joint.a.body)] = lead(joint.b.body)
        balls += [(joint, side) for side in sides]
        if sides == (1,):
            bound.append(joint.a.body)
    held = {lead(body) for body in bound}
    spins = []
    for key in dict.fromkeys(lead(b) for b in m.bodies):
        if key in held:
            continue
        bodies = tuple(b for b in m.bodies if lead(b) == key)
        if any(body.flexible is not None for body in bodies):
            continue  # its line moves on it: no direction of a rigid motion
        mine = [((j.a, j.b)[side], j.name) for j, side in balls if lead((j.a, j.b)[side].body) == key]
        spin = _spin(bodies, [(f.body, f.coordinates, name) for f, name in mine])
        if spin is not None:
            spins.append(spin)
    return spins


def _spin(bodies: tuple[Body, ...], points: list[tuple[Body, tuple[Any, ...], str]]) -> Spin | None:
    distinct: list[tuple[Body, tuple[Any, ...], str]] = []
    for body, place, name in points:
        if all(body is not other or not _coincide(place, there) for other, there, _ in distinct):
            distinct.append((body, place, name))
    if len(distinct) == 1 and len(bodies) == 1 and not _coincide(distinct[0][1], (0.0, 0.0, 0.0)):
        body, place, name = distinct[0]
        line = f"the line through {name!r} and its centre of mass"
        return Spin(bodies, ((body, place), (body, (0.0, 0.0, 0.0))), line)
    if len(distinct) < 2:
        return None
    first, second, *rest = distinct
    for body, place, _ in rest:
        if not (body is first[0] is second[0] and _on_line(place, first[1], second[1])):
            return None
    line = f"the line of its ball joints {first[2]!r} and {second[2]!r}"
    return Spin(bodies, (first[:2], second[:2]), line.replace("its", "their") if len(bodies) > 1 else line)


def _numbers(place: tuple[Any, ...]) -> Any:
    return np.array([float(c) for c in place])


def _is_zero(distance: Any, size: Any = 1.0, zero: float = 1e-9) -> bool:
    """Whether a distance vanishes beside the length of a body: nine digits."""
    return bool(distance <= zero * size)


def _coincide(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return _is_zero(np.linalg.norm(_numbers(a) - _numbers(b)))


def _on_line(place: Any, a: Any, b: Any) -> bool:
    along, offset = _numbers(b) - _numbers(a), _numbers(place) - _numbers(a)
    return _is_zero(np.linalg.norm(np.cross(along, offset)), along @ along)


def spin_directions(host: Absolute, spins: list[Spin]) -> tuple[Any, Any]:
    """E (spins x nv) with E v the speed of every spin, and Z (nv x spins), the speeds of a unit spin each."""
    rows, columns = [], []
    for spin in spins:
        p1, p2 = (
            pose.r + pose.R @ host.vector(place)
            for pose, place in ((host.attach(body).pose, place) for body, place in spin.places)
        )
        e = (p2 - p1) / ca.sqrt(ca.sumsqr(p2 - p1))
        E, Z = host.spin_speeds(spin, e, p1)
        rows.append(E)
        columns.append(Z)
    return ca.vertcat(*rows), ca.horzcat(*columns)


def massless_spins(m: Mechanism, spins: list[Spin]) -> Iterator[tuple[Body, Any]]:
    """Bodies whose spin has no inertia and on which no force acts, with its axis in body axes."""
    for spin in spins:
        axes = [_massless_axis(m, body) for body in spin.bodies]
        if all(axis is not None for axis in axes):
            yield from zip(spin.bodies, axes, strict=True)


def _massless_axis(m: Mechanism, body: Body, zero_inertia: float = 1e-14) -> Any | None:
    """Unit axis through the centre of mass without inertia about it, through all points of action on the body.

    zero_inertia : A principal inertia below this share of the largest is zero: eigenvalues of a thin rod have rounding
    errors of 1e-16.
    """
    inertia = np.array([[float(c) for c in row] for row in body.inertia])
    values, vectors = np.linalg.eigh(inertia)
    if values[0] > zero_inertia * max(values[2], 1e-300):
        return None
    joints = [(j, frame) for j in m.joints if j.holds for frame in (j.a, j.b) if frame.body is body]
    places = [_numbers(frame.coordinates) for _, frame in joints]
    axis = vectors[:, 0]
    if values[1] <= zero_inertia * max(values[2], 1e-300):  # no inertia at all: the line of its joints
        axis = max(places, key=np.linalg.norm, default=axis)
        axis = axis / max(float(np.linalg.norm(axis)), 1e-300)
    if m.constraints or any(d.coordinate.rpartition(".")[0] == body.name for d in m.drivers):
        return None
    for force in m.forces:
        if any(one is body for one in force.bodies()):
            if not force.central:
                return None
            places += [_numbers(place.coordinates) for place in force.places() if place.body is body]
    size = max((float(np.linalg.norm(p)) for p in places), default=0.0)
    kinds = [JOINT_EQUATIONS[joint.kind] for joint, _ in joints]
    if any(not kind.balls and not kind.rigid for kind in kinds):
        return None
    along: list[Any] = [np.array(f.axes)[:, 2] for (_, f), kind in zip(joints, kinds, strict=True) if kind.rigid]
    across = [not _is_zero(np.linalg.norm(np.cross(axis, p)), size) for p in places]
    across += [not _is_zero(np.linalg.norm(np.cross(axis, z))) for z in along]
    return None if any(across) or size == 0.0 else axis
