"""A `Mechanism` as a URDF file.

The frame of a link lies at the joint that carries it, with the axes of the body: with o and L its place and axes in the
coordinates of the body, frames (p_a, A) and (p_b, B) of the joint on parent and child, the joint has in the file

    origin = L_pᵀ (p_a - o_p) ,   rpy of  L_pᵀ A Bᵀ L_c ,   axis = L_cᵀ B e_z   (the opposite where it carries its a) .
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from dalembert.core.arguments import take_path
from dalembert.core.arrays import FloatArray
from dalembert.core.atomic_files import replace_file, write_text
from dalembert.core.declare import instance
from dalembert.core.errors import FileFormatError, ModelError, ModelWarning
from dalembert.core.findings import Advice, Finding
from dalembert.files.models.values.mesh_mass import binary_stl
from dalembert.files.robots.urdf import UNLIMITED
from dalembert.model import Body, Mechanism
from dalembert.model.bodies import BodyFrame, axes_from
from dalembert.model.joints import Joint
from dalembert.model.orientation import rotation

NO_AXIS = ("fixed", "floating")  # types of joints of URDF
ONE_COORDINATE = ("continuous", "prismatic")
SEVERAL_COORDINATES = ("planar", "floating")
SAME = 1e-12  # of two rotations: rounding of their products is some 1e-16


@dataclass
class UrdfLink:
    """A body as a link; `place` and `axes` are its frame in the coordinates of the body, `shown` its name."""

    body: Body
    place: FloatArray
    axes: FloatArray
    joint: Joint | None = None
    backwards: bool = False

    @property
    def center(self) -> FloatArray:
        """Centre of mass in the coordinates of the body."""
        return np.array([float(x) for x in self.body.center or (0.0, 0.0, 0.0)])

    def frame(self, frame: BodyFrame) -> tuple[FloatArray, FloatArray]:
        """Place and axes of a frame of the body, in the link."""
        place = np.array([float(x) for x in frame.coordinates]) + self.center - self.place
        return self.axes.T @ place, self.axes.T @ np.array(frame.axes, dtype=float)


@dataclass
class UrdfWriter:
    """One robot. Parts that URDF cannot represent are collected, then raised once or listed."""

    m: Mechanism
    problems: list[Finding] = field(default_factory=list)
    losses: list[Finding] = field(default_factory=list)
    complete: set[str] = field(default_factory=set)  # forces of which everything is written
    links: dict[str, UrdfLink] = field(default_factory=dict)

    def refuse(self, joint: str, problem: str, remedy: str) -> None:
        self.problems.append(Finding("not-supported", problem, {"joint": joint}, advice=(Advice(remedy),)))

    def lose(self, what: str, name: str, problem: str, remedy: str = "") -> None:
        advice = (Advice(remedy),) if remedy else ()
        self.losses.append(Finding("not-supported", problem, {what: name}, advice=advice))

    # -- the tree ---------------------------------------------------------------------------------------------------
    def span(self) -> None:
        """Links, parents first, and the joints that close loops."""
        of_body: dict[int, list[Joint]] = {}
        for joint in self.m.joints:
            for frame in (joint.a, joint.b):
                of_body.setdefault(id(frame.body), []).append(joint)
        grounded = id(self.m.ground) in of_body
        roots = [self.m.ground] if grounded or self.m.ground.mesh is not None else []
        used: set[str] = set()
        second = {id(joint.b.body) for joint in self.m.joints}  # a root of its own is on the first sides only
        for root in [*roots, *sorted(self.m.bodies, key=lambda body: id(body) in second)]:
            if root.name in self.links:
                continue
            self.links[root.name] = UrdfLink(root, np.zeros(3), np.eye(3))
            front = [root]
            while front:
                body = front.pop(0)
                for joint in of_body.get(id(body), ()):
                    if joint.name in used:
                        continue
                    used.add(joint.name)
                    self._follow(joint, body, front)
        free = [link for link in self.links.values() if link.joint is None]
        if len(free) > 1 and not free[0].body.is_ground:
            listed = ", ".join(repr(link.body.name) for link in free[:4])
            problem = f"bodies {listed} are free, and a robot has one root."
            self.refuse("", problem, "Join them, or write each machine to a file of its own.")

    def _follow(self, joint: Joint, body: Body, front: list[Body]) -> None:
        backwards = joint.b.body is body
        far, name = joint.a if backwards else joint.b, joint.name
        if far.body.name in self.links:
            problem = f"joint {name!r} closes a loop, and a URDF file is a tree."
            self.refuse(name, problem, "Leave the joint out, or write a model file.")
            return
        declared = joint.declaration
        if not declared.urdf:
            remedy = f"Replace it by {declared.replacement}." if declared.replacement else "Write a model file."
            self.refuse(name, f"URDF has no {joint.kind} joint, and {name!r} is one.", remedy)
        if declared.urdf in SEVERAL_COORDINATES and backwards:
            problem = f"{joint.kind} joint {name!r} carries its first body, in whose axes its coordinates are."
            self.refuse(name, problem, "Exchange its sides.")
        axes = np.array(far.axes, dtype=float)
        standard: FloatArray = np.array(axes_from(axes[:, 2].tolist()))
        turn = axes if declared.urdf == "planar" and np.abs(standard - axes).max() > SAME else np.eye(3)
        center = np.array([float(x) for x in far.body.center or (0.0, 0.0, 0.0)])
        place = np.array([float(x) for x in far.coordinates]) + center
        self.links[far.body.name] = UrdfLink(far.body, place, turn, joint, backwards)
        front.append(far.body)

    # -- text -------------------------------------------------------------------------------------------------------
    def link(self, one: UrdfLink, mesh: str | None) -> list[str]:
        body = one.body
        if body.flexible is not None:
            remedy = "Use a rigid body."
            self.problems.append(
                Finding("not-supported", f"body {body.name!r} is flexible.", {"body": body.name}, {}, (Advice(remedy),))
            )
        if body.points:
            self.lose("body", body.name, f"named points of body {body.name!r}")
        inside: list[str] = []
        if not body.is_ground and (float(body.mass) > 0 or np.any(np.array(body.inertia, dtype=float))):
            J = one.axes.T @ np.array(body.inertia, dtype=float) @ one.axes
            entries = {f"i{'xyz'[i]}{'xyz'[j]}": J[i, j] for i in range(3) for j in range(i, 3)}
            inside.append("    <inertial>")
            inside += [f"      {origin(one.axes.T @ (one.center - one.place), np.eye(3))}"]
            inside += [f'      <mass value="{number(body.mass)}"/>', f"      <inertia{attributes(entries)}/>"]
            inside.append("    </inertial>")
        inside += self._visual(one, mesh)
        name = f"  <link name={quoteattr(body.name)}"
        return [f"{name}>", *inside, "  </link>"] if inside else [f"{name}/>"]

    def _visual(self, one: UrdfLink, mesh: str | None) -> list[str]:
        shape, axes = one.body.shape, one.axes.T
        if mesh is not None:
            place, drawn = axes @ -one.place, f"<mesh filename={quoteattr(mesh)}/>"
        elif shape is not None and shape.kind in ("box", "cylinder", "sphere") and min(map(float, shape.size)) > 0:
            place, size = axes @ (one.center - one.place), [number(x) for x in shape.size]
            if shape.kind == "box":
                drawn = f'<box size="{" ".join(size)}"/>'
            elif shape.kind == "sphere":
                drawn = f'<sphere radius="{size[0]}"/>'
            else:
                axes = axes @ {"x": TO_X, "y": TO_Y, "z": np.eye(3)}[shape.axis]
                drawn = f'<cylinder radius="{size[0]}" length="{size[1]}"/>'
        else:
            return []
        return [
            "    <visual>", f"      {origin(place, axes)}", f"      <geometry>{drawn}</geometry>", "    </visual>",
        ]  # fmt: skip

    def joint(self, one: UrdfLink) -> list[str]:
        joint = one.joint
        if joint is None:  # free, beside the ground
            name, parent, kind = f"{one.body.name}_free", self.m.ground.name, "floating"
            place = np.array([*map(float, one.body.position)] or [0.0] * 3)
            turn: FloatArray = np.array(one.body.rotation)
            inside = [origin(place - turn @ one.center, turn)]
        else:
            name, kind = joint.name, joint.declaration.urdf or "fixed"
            near, far = (joint.b, joint.a) if one.backwards else (joint.a, joint.b)
            above = self.links[near.body.name]
            parent = near.body.name
            (place, A), (_, B) = above.frame(near), one.frame(far)
            inside = [origin(place, A @ B.T)]
            if kind not in NO_AXIS:
                axis = (-1.0 if one.backwards else 1.0) * B[:, 2]
                inside.append(f"<axis{attributes({'xyz': axis})}/>")
            if kind in ONE_COORDINATE:
                kind, more = self._along(joint, kind)
                inside += more
        ends = [f"<parent link={quoteattr(parent)}/>", f"<child link={quoteattr(one.body.name)}/>"]
        lines = [*ends, *inside]
        return [f'  <joint name={quoteattr(name)} type="{kind}">', *(f"    {line}" for line in lines), "  </joint>"]

    def _along(self, joint: Joint, kind: str) -> tuple[str, list[str]]:
        """Limits, damping, friction and coupling of a joint with one coordinate."""
        name, lines = joint.name, []
        limits = joint.limits.get(joint.coordinates[0].name)
        lower, upper = limits.range if limits is not None else (-np.inf, np.inf)
        if kind == "prismatic" or np.isfinite([lower, upper]).any() or limits is not None:
            bounds: dict[str, Any] = {"lower": max(lower, -UNLIMITED), "upper": min(upper, UNLIMITED)}
            if kind == "continuous" and not np.isfinite([lower, upper]).any():
                bounds = {}
            else:
                kind = "revolute" if kind == "continuous" else kind
            speed, effort = (None, None) if limits is None else (limits.speed, limits.effort)
            bounds |= {"effort": effort or UNLIMITED, "velocity": speed or UNLIMITED}
            lines.append(f"<limit{attributes(bounds)}/>")
        names = (name, f"{name}.{joint.coordinates[0].name}")
        stated = {
            force.name: dynamics
            for force in self.m.forces
            if (dynamics := force.joint_dynamics()) and dynamics.joint in names
        }
        self.complete |= {force for force, item in stated.items() if item.complete}
        damping, friction = (
            sum(force.damping for force in stated.values()),
            sum(force.friction for force in stated.values()),
        )
        if damping or friction:
            lines.append(f"<dynamics{attributes({'damping': damping, 'friction': friction})}/>")
        couplers = [coupler for coupler in self.m.couplers if coupler.second in names]
        for coupler in couplers[1:]:
            problem = f"joint {name!r} follows two joints, by {couplers[0].name!r} and {coupler.name!r}."
            self.refuse(name, problem, "Couple the two joints that it follows.")
        for coupler in couplers[:1]:
            numbers = {"multiplier": float(coupler.ratio), "offset": float(coupler.offset)}
            first = coupler.first.rpartition(".")[0] if self._has_coordinate(coupler.first) else coupler.first
            lines.append(f"<mimic joint={quoteattr(first)}{attributes(numbers)}/>")
        return kind, lines

    def _has_coordinate(self, name: str) -> bool:
        joint, _, coordinate = name.rpartition(".")
        return any(
            joint_.name == joint and any(c.name == coordinate for c in joint_.coordinates) for joint_ in self.m.joints
        )

    # -- parts that URDF cannot represent ------------------------------------------------------------------------------
    def list_losses(self) -> None:
        m = self.m
        if tuple(map(float, m.gravity)) != (0.0, 0.0, -9.81):
            self.lose("mechanism", m.name, "gravity", "Give it to the program that reads the file.")
        for force in m.forces:
            if force.name not in self.complete and force.effort_per_input() != 1.0:  # an input that is the effort
                self.lose("force", force.name, f"{force.kind} {force.name!r}")
        groups = (("sensor", m.sensors), ("driver", m.drivers), ("constraint", m.constraints))
        for word, parts in (*groups, ("variable", m.variables)):
            for segment in parts:
                self.lose(word, segment.name, f"{word} {segment.name!r}")
        if m.parameters:
            self.lose("mechanism", m.name, f"names of parameters ({', '.join(list(m.parameters)[:6])})")


TO_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # z of a cylinder along x, y
TO_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def number(x: Any) -> str:
    """A number that reads back as it is, up to a unit in the last place where that gives a short text."""
    value = float(x) + 0.0  # no minus before zero
    short = f"{value:.15g}"
    return short if abs(float(short) - value) <= math.ulp(value) else repr(value)


def attributes(values: dict[str, Any]) -> str:
    def text(value: Any) -> str:
        return number(value) if np.ndim(value) == 0 else " ".join(map(number, value))

    return "".join(f' {key}="{text(value)}"' for key, value in values.items())


def origin(place: FloatArray, axes: FloatArray) -> str:
    """An element <origin>; angles are left out where nothing is turned."""
    values: dict[str, Any] = {"xyz": place}
    if np.abs(axes - np.eye(3)).max() > SAME:
        values["rpy"] = rotation(matrix=axes.tolist()).tait_bryan
    return f"<origin{attributes(values)}/>"


def write_urdf(mechanism: Mechanism, path: str | os.PathLike[str]) -> Path:
    """Write a tree of rigid bodies as a URDF file, whole or not at all.

    Parameters
    ----------
    mechanism : in space, without loops, of revolute, prismatic, planar and fixed joints and free bodies.
    path : the file, ``NAME.urdf``. Meshes of bodies go into binary STL files beside it.

    Returns
    -------
    The path. Masses, inertias, limits, damping, load-independent friction and gears are written; parts that URDF does
    not have (springs, sensors, gravity, ...) are left out, and a warning lists them.

    Raises
    ------
    ModelError : for a joint that a URDF file cannot represent, with its name and a remedy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dalembert as da
    >>> m = da.Mechanism("arm")
    >>> rod = m.add_body("rod", mass=1.0, inertia=0.1)
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0, 1), rod.at(0, 0, -0.5), axis=(0, 1, 0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     da.read_urdf(da.write_urdf(m, Path(folder) / "arm.urdf")).joints
    [Joint('hinge', revolute, ground–rod)]
    """
    instance(Mechanism)("mechanism", mechanism)
    file = take_path("path", path)
    FileFormatError.when(file.suffix.lower() != ".urdf", "unknown-suffix", "a URDF file ends in .urdf.", path=str(path))
    problem = f"mechanism {mechanism.name!r} is planar, and URDF is spatial."
    ModelError.when(mechanism.planar, "not-supported", problem, Advice("Describe it in space."))
    mechanism.validate()
    writer = UrdfWriter(mechanism)
    writer.span()
    shown = [link.body for link in writer.links.values() if link.body.mesh is not None]
    meshes = {body.name: f"{file.stem}-{k + 1}.stl" for k, body in enumerate(shown)}
    text = urdf_text(writer, meshes)
    ModelError.refuse(writer.problems, f"parts of mechanism {mechanism.name!r} cannot be written to a URDF file")
    for body in shown:
        center = np.array([float(x) for x in body.center or (0.0, 0.0, 0.0)])
        with replace_file(file.with_name(meshes[body.name])) as temporary:
            temporary.write_bytes(binary_stl(body.mesh + center))
    write_text(file, text)
    if writer.losses:
        listed = ", ".join(loss.problem for loss in writer.losses)
        problem, evidence = f"{file}: left out: {listed}.", {"left_out": writer.losses}
        ModelWarning.report([Finding("not-supported", problem, {"path": str(file)}, evidence)])
    return file


def urdf_text(writer: UrdfWriter, meshes: dict[str, str]) -> str:
    """Links and joints in the order of the mechanism, the ground first."""
    m, links = writer.m, writer.links
    root = next(iter(links.values()), None)
    carried = {link.joint.name: link for link in links.values() if link.joint is not None}
    order = [links[body.name] for body in (m.ground, *m.bodies) if body.name in links]
    joints = [carried[joint.name] for joint in m.joints if joint.name in carried]
    joints += [link for link in order if link.joint is None and link is not root]
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(m.name)}>"]
    lines += [line for link in order for line in writer.link(link, meshes.get(link.body.name))]
    lines += [line for joint_ in joints for line in writer.joint(joint_)]
    writer.list_losses()
    text = "\n".join([*lines, "</robot>", ""])
    problem = f"a name in mechanism {writer.m.name!r} has a character that XML does not have."
    ModelError.when(re.search(r"[^\t\n\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]", text), "bad-name", problem)
    return text
