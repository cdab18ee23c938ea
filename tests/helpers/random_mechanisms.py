"""Machines drawn at random: chains and trees in the plane and in space, closed by extra joints, with forces on.

A `Plan` is plain data: bodies where the drawing shows them, joints at world points with world axes. Joints drawn that
way close exactly in the drawing, so loops of any kind can be added. `build(plan, frame)` makes the mechanism as seen
from another world frame. Masses are 0.2 to 5 kg, bodies 0.1 to 0.6 m, arms up to 0.5 m.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.equations import State

PLANAR_JOINTS = ("revolute", "prismatic")
PLANAR_LOOPS = ("rod", "point_on_line", "revolute")
SPATIAL_JOINTS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "screw")
SPATIAL_LOOPS = ("rod", "point_on_line", "point_on_plane", "spherical", "universal")
ROWS = (
    {"revolute": 2, "rod": 1, "point_on_line": 1},
    {
        "rod": 1,
        "point_on_line": 2,
        "point_on_plane": 1,
        "spherical": 3,
        "universal": 4,
    },
)
FREEDOMS = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "universal": 2, "spherical": 3, "planar": 3, "screw": 1}


@dataclass(frozen=True)
class Link:
    """A joint of `kind` between bodies a and b (-1: ground), at a world point; `other` is a rod's second end."""

    kind: str
    a: int
    b: int
    point: Any
    other: Any
    axis: Any
    second: Any


@dataclass(frozen=True)
class Plan:
    planar: bool
    seed: int
    bodies: tuple[Any, ...]  # mass, size, position, rotation (angle or matrix)
    links: tuple[Link, ...]
    springs: tuple[Any, ...] = ()  # body, point on it, point on ground, stiffness, damping, free length
    forces: tuple[Any, ...] = ()  # body, point on it, world vector
    gravity: Any = field(default=None)

    @property
    def dof(self) -> int:
        """Freedoms left when all rows are independent."""
        tree = sum(FREEDOMS[link.kind] for link in self.links if link.kind in FREEDOMS and link.other is None)
        loops = sum(ROWS[0 if self.planar else 1][link.kind] for link in self.links if link.other is not None)
        return tree - loops

    def __repr__(self) -> str:
        links = ", ".join(f"{k.kind}({k.a},{k.b})" for k in self.links)
        return f"Plan({'planar' if self.planar else 'spatial'}, seed={self.seed}, {len(self.bodies)} bodies, {links})"


def make_plan(planar: bool, seed: int, count: int, kinds: list[str], loops: list[str], *, forces: bool = True) -> Plan:
    random = np.random.default_rng(seed)
    size = 2 if planar else 3
    turn: Any
    bodies = []
    for _ in range(count):
        turn = (
            random.uniform(-3, 3) if planar else Rotation.random(random_state=int(random.integers(2**31))).as_matrix()
        )
        edges = random.uniform(0.1, 0.6, size=3)
        bodies.append((random.uniform(0.2, 5.0), edges, random.uniform(-1, 1, size=size), turn))
    position = [body[2] for body in bodies]
    links = []

    def near(k: int, spread: float = 0.3) -> Any:
        return position[k] + random.uniform(-spread, spread, size=size)

    def direction() -> Any:
        axis = random.normal(size=size)
        return axis / np.linalg.norm(axis)

    for k, kind in enumerate(kinds):
        parent = -1 if k == 0 else int(random.integers(-1, k)) if random.random() < 0.3 else k - 1
        axis = direction()
        links.append(Link(kind, parent, k, near(k), None, axis, _square_to(axis, random, planar)))
    for kind in loops:
        b = count - 1
        a = -1 if count == 1 or random.random() < 0.5 else int(random.integers(0, count - 1))
        axis = direction()
        point = near(b)
        other = point + random.uniform(0.2, 0.6) * direction()
        links.append(Link(kind, a, b, point, other, axis, _square_to(axis, random, planar)))
    springs: list[Any] = []
    pushes: list[Any] = []
    if forces:
        body = int(random.integers(count))
        springs.append(
            (body, near(body), random.uniform(-1, 1, size=size), random.uniform(5, 50), random.uniform(0, 2), 0.3)
        )
        body = int(random.integers(count))
        pushes.append((body, near(body), random.normal(size=size) * 3))
    gravity = random.normal(size=size) * 6
    return Plan(planar, seed, tuple(bodies), tuple(links), tuple(springs), tuple(pushes), gravity)


def random_rotation(random: Any) -> Any:
    four = random.normal(size=4)
    return Rotation.from_quat(four / np.linalg.norm(four)).as_matrix()


def _square_to(axis: Any, random: Any, planar: bool) -> Any:
    if planar:
        return None
    second = np.cross(axis, random.normal(size=3))
    return second / np.linalg.norm(second)


@st.composite
def plans(draw: Any, *, planar: bool | None = None, most: int = 4, moving: bool = True, forces: bool = True) -> Plan:
    """Plans of 1 to `most` bodies; with `moving`, loops leave at least one freedom."""
    flat = draw(st.booleans()) if planar is None else planar
    count = draw(st.integers(1, most))
    kinds = draw(st.lists(st.sampled_from(PLANAR_JOINTS if flat else SPATIAL_JOINTS), min_size=count, max_size=count))
    wanted = draw(st.lists(st.sampled_from(PLANAR_LOOPS if flat else SPATIAL_LOOPS), max_size=2))
    seed = draw(st.integers(0, 10**6))
    left = sum(FREEDOMS[kind] for kind in kinds) - (1 if moving else 0)
    loops = []
    for kind in wanted:
        rows = ROWS[0 if flat else 1][kind]
        if rows <= left:
            left -= rows
            loops.append(kind)
    return make_plan(flat, seed, count, kinds, loops, forces=forces)


@dataclass(frozen=True)
class WorldFrame:
    """How an observer sees a world point: R x + d."""

    R: Any
    d: Any

    def point(self, x: Any) -> tuple[float, ...]:
        return tuple(self.R @ x + self.d)

    def direction(self, x: Any) -> tuple[float, ...]:
        return tuple(self.R @ x)


def same_frame(planar: bool) -> WorldFrame:
    size = 2 if planar else 3
    return WorldFrame(np.eye(size), np.zeros(size))


def build(plan: Plan, frame: WorldFrame | None = None) -> da.Mechanism:
    """The mechanism of a plan; joints are called J0, J1, ..., bodies B0, B1, ..."""
    w = same_frame(plan.planar) if frame is None else frame
    m = da.Mechanism(f"plan {plan.seed}", planar=plan.planar, gravity=w.direction(plan.gravity))
    for k, (mass, edges, place, turn) in enumerate(plan.bodies):
        pose: dict[str, Any] = {"position": w.point(place)}
        if plan.planar:
            pose["angle"] = float(turn + np.arctan2(w.R[1, 0], w.R[0, 0]))
        else:
            pose["rotation"] = (w.R @ turn).tolist()
        m.add_body(f"B{k}", mass=mass, inertia=da.box(*edges), **pose)
    for k, link in enumerate(plan.links):
        _add_link(m, f"J{k}", link, w)
    for k, (body, point, fixed, stiffness, damping, free) in enumerate(plan.springs):
        on_body = _at(m.bodies[body], w.point(point))
        on_ground = _at(m.ground, w.point(fixed))
        m.add_spring(f"S{k}", on_ground, on_body, stiffness=stiffness, damping=damping, free_length=free)
    for k, (body, point, push) in enumerate(plan.forces):
        m.add_force(f"F{k}", _at(m.bodies[body], w.point(point)), w.direction(push))
    return m


def _at(body: Any, world: Any) -> Any:
    """The point of a body that the drawing shows at a world place."""
    return body.at(*body.local(world))


def _add_link(m: da.Mechanism, name: str, link: Link, w: WorldFrame) -> None:
    bodies = [m.ground if k < 0 else m.bodies[k] for k in (link.a, link.b)]
    point = w.point(link.point)
    if link.kind == "rod":
        other = w.point(link.other)
        length = float(np.linalg.norm(np.array(other) - np.array(point)))
        m.add_massless_rod(name, _at(bodies[0], other), _at(bodies[1], point), length=length)
        return
    options: dict[str, Any] = {"at": point}
    axis = w.direction(link.axis)
    if link.kind == "universal":
        options |= {"axis": axis, "second_axis": w.direction(link.second)}
    elif link.kind == "screw":
        options |= {"axis": axis, "lead": 0.2}
    elif link.kind not in ("spherical",) and not (m.planar and link.kind == "revolute"):
        options |= {"axis": axis}
    getattr(m, f"add_{link.kind}")(name, *bodies, **options)


def moving_state(eqs: da.EquationsOfMotion, seed: int, speed: float = 1.0) -> State:
    """The drawing's pose with consistent speeds of about `speed` m/s and rad/s."""
    v = speed * np.random.default_rng(seed).normal(size=eqs.nv)
    return da.assemble(eqs, start=eqs.state(v=v))
