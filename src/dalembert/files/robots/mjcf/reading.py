"""MJCF, the models of MuJoCo: bodies, joints, equalities and actuators as a `Mechanism`.

A body has the coordinates of its frame in the file (``body.at``); coordinates of joints are those of MuJoCo.

Inertia of bodies in MJCF: given, or that of their geoms, within the bounds of the compiler.

Keyframes of MJCF: named initial states with values of the inputs.

Hinges and slides have their coordinates; a body with a ball or a free joint has its orientation in the world, which
follows from the joints before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, FileFormatError
from dalembert.files.models.text.sources import ModelFileError
from dalembert.files.robots.mesh_files import MeshFiles
from dalembert.files.robots.mjcf.actuators import ActuatorReader, MjcfActuator, ReflectedMass
from dalembert.files.robots.mjcf.assets import read_assets
from dalembert.files.robots.mjcf.bodies import WORLD, BodyTree, MjcfBody, read_bodies
from dalembert.files.robots.mjcf.document import CompilerSettings, MjcfDocument, MjcfReader, read_document
from dalembert.files.robots.mjcf.equality import Equalities
from dalembert.files.robots.mjcf.frames import POSE, read_origin
from dalembert.files.robots.mjcf.geoms import COLLIDING, FITTED, SHOWN, Geom, SolidMass, add_masses
from dalembert.files.robots.mjcf.joints import MjcfJoint, MjcfTendon, frame_of, join, read_joint, read_tendons
from dalembert.files.robots.node_reader import free_name
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode, read_xml
from dalembert.model import Body, Mechanism
from dalembert.model.bodies import CollisionShape
from dalembert.model.mechanism import NamedStart
from dalembert.model.orientation import rotation

COUNTS = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
SPEEDS = {"hinge": ("rate",), "slide": ("speed",), "ball": ("wx", "wy", "wz"),
          "free": ("vx", "vy", "vz", "wx", "wy", "wz")}  # fmt: skip
KNOWN = ("name", "time", "qpos", "qvel", "act", "mpos", "mquat", "ctrl")


def read_keyframes(
    document: MjcfDocument, world: MjcfBody, joints: Mapping[str, list[MjcfJoint]], inputs: Sequence[str]
) -> dict[str, NamedStart]:
    """inputs : names of the actuators, in the order of the file; empty for those that are not read."""
    reader, frames = document.reader, {}
    every = [joint for body in world.walk() for joint in joints.get(body.name, ())]
    speeds = [f"{joint.name}.{c}" for joint in every for c in SPEEDS[joint.kind]]

    def values(node: XmlNode, key: str, count: int) -> FloatArray:
        entries = reader.values(node, key) if key in node.attributes else None
        if entries is not None and len(entries) != count:
            reader.problem(node, "wrong-shape", f"{key} of <key> has {len(entries)} numbers, the model {count}.")
        return np.zeros(0) if entries is None or len(entries) != count else entries

    for number, node in enumerate(document.parts("keyframe"), 1):
        reader.check_names(node, (), KNOWN)
        name = node.attributes.get("name") or f"key{number}"
        qpos = values(node, "qpos", sum(COUNTS[joint.kind] for joint in every))
        position = _positions(world, joints, qpos) if len(qpos) else {}
        rates = {key: float(x) for key, x in zip(speeds, values(node, "qvel", len(speeds)), strict=False) if x}
        drives = zip(inputs, values(node, "ctrl", len(inputs)), strict=False)
        frames[name] = NamedStart(position, rates, {key: float(x) for key, x in drives if key})
    return frames


def _positions(world: MjcfBody, joints: Mapping[str, list[MjcfJoint]], qpos: FloatArray) -> dict[str, Any]:
    pose: dict[str, Any] = {}
    axes, k = {world.name: np.eye(3)}, 0
    for body in list(world.walk())[1:]:
        assert body.parent is not None
        turned = axes[body.parent.name] @ body.origin.axes
        for joint in joints[body.name]:
            numbers, k = qpos[k : k + COUNTS[joint.kind]], k + COUNTS[joint.kind]
            if joint.kind in ("hinge", "slide"):
                pose[joint.coordinate] = float(numbers[0])
                if joint.kind == "hinge":
                    step = (numbers[0] - joint.ref) * joint.axis / np.linalg.norm(joint.axis)
                    turned = turned @ np.array(rotation(vector=tuple(step)).matrix)
                continue
            own_turn = numbers[-4:] if np.any(numbers[-4:]) else np.array([1.0, 0.0, 0.0, 0.0])
            turn = Origin(axes=np.array(rotation(quaternion=tuple(own_turn)).matrix))
            turned = turn.axes if joint.kind == "free" else turned @ turn.axes
            if joint.kind == "free":
                pose |= {f"{joint.name}.{c}": float(x) for c, x in zip("xyz", numbers, strict=False)}
        if any(joint.kind in ("ball", "free") for joint in joints[body.name]):
            pose[f"{body.name}.rotation"] = rotation(matrix=turned.tolist())
        axes[body.name] = turned
    return pose


def inertia_of(
    reader: MjcfReader, name: str, inertial: tuple[XmlNode, Origin] | None, geoms: Sequence[Geom]
) -> SolidMass:
    """Mass, centre of mass and inertia of a body, in its frame."""
    settings = reader.settings
    if inertial is not None and settings.from_geoms != "true":
        solid = _read_inertial(reader, name, *inertial)
    elif settings.from_geoms == "false":
        solid = SolidMass(0.0, np.zeros(3), np.zeros((3, 3)))
    else:
        low, high = settings.groups
        solid = add_masses([geom.solid(reader) for geom in geoms if low <= geom.group <= high])
    return bound_masses(solid, settings)


def _read_inertial(reader: MjcfReader, name: str, node: XmlNode, outer: Origin) -> SolidMass:
    reader.check_names(node, (), ("mass", "diaginertia", "fullinertia", *POSE))
    if "pos" not in node.attributes:
        reader.problem(node, "missing-argument", f"<inertial> of body {name!r} has no attribute 'pos'.")
    mass, what = reader.number(node, "mass"), f"body {name!r}"
    origin = outer @ read_origin(reader, node)
    if "fullinertia" in node.attributes:
        if len(node.attributes.keys() & {"diaginertia", *POSE[1:]}):
            problem = f"<inertial> of {what}: fullinertia excludes diaginertia and an orientation."
            reader.problem(node, "conflicting-arguments", problem)
        xx, yy, zz, xy, xz, yz = reader.numbers(node, "fullinertia", 6)
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        J = np.diag(reader.numbers(node, "diaginertia", 3, (0, 0, 0)))
    if not reader.settings.balance or mass < 0 or np.linalg.eigvalsh(J)[0] < 0:
        J = reader.check_inertia(node, what, mass, J)
    return SolidMass(mass, np.zeros(3), J).place_at(origin)


def bound_masses(given: SolidMass, settings: CompilerSettings) -> SolidMass:
    """Least mass and principal inertias; principal inertias that break the triangle inequality become equal."""
    mass, J = max(given.mass, settings.bound_mass), given.inertia
    if settings.bound_inertia > 0 or settings.balance:
        values, axes = np.linalg.eigh(J)
        values = np.maximum(values, settings.bound_inertia)
        if settings.balance and values[0] + values[1] < values[2]:
            values = np.full(3, values.mean())
        J = axes @ np.diag(values) @ axes.T
    return SolidMass(mass, given.center, J)


def scale_masses(masses: dict[str, SolidMass], total: float) -> dict[str, SolidMass]:
    """Multiply masses and inertias of all bodies by one factor, so that the machine has a given mass."""
    sum_of_all = sum(mass_.mass for mass_ in masses.values())
    factor = total / sum_of_all if total > 0 and sum_of_all > 0 else 1.0
    return {
        name: SolidMass(factor * mass_.mass, mass_.center, factor * mass_.inertia) for name, mass_ in masses.items()
    }


def symmetric(J: FloatArray) -> list[list[float]]:
    rows: list[list[float]] = ((J + J.T) / 2).tolist()
    return rows


LEAST = 1e-15  # [kg] least mass that a joint moves: MuJoCo refuses less
OPTION = (
    "timestep", "impratio", "tolerance", "ls_tolerance", "noslip_tolerance", "ccd_tolerance", "mpr_tolerance",
    "gravity", "wind", "magnetic", "density", "viscosity", "o_margin", "o_solref", "o_solimp", "o_friction",
    "integrator", "cone", "jacobian", "solver", "iterations", "ls_iterations", "noslip_iterations", "ccd_iterations",
    "mpr_iterations", "sdf_iterations", "sdf_initpoints", "actuatorgroupdisable", "apirate", "collision",
    "sleep_tolerance",
)  # fmt: skip


def read_mjcf(
    path: str | os.PathLike[str],
    *,
    folders: Iterable[str | os.PathLike[str]] = (),
    pictures: bool = True,
    repair: bool = False,
) -> Mechanism:
    """Read a machine from a model file of MuJoCo (MJCF): its kinematics and dynamics without contacts.

    Parameters
    ----------
    path : the file, ``.xml``. Nothing in it is executed; document types, entities and other hosts are refused.
    folders : folders of included files and meshes (STL, OBJ), besides the folder of the file.
    pictures : show the geoms of the bodies; False where the meshes are not available.
    repair : replace an inertia that no body can have by the nearest one, instead of an error.

    Returns
    -------
    Mechanism. A body with several joints has bodies without mass between them. Ranges are limits of joints, armature
    is a rotor, springs and damping of joints are forces; connect and weld close loops by rows, a joint equality is a
    gear; joint coordinates cut loops there. Actuators are inputs of their names, cut off at their ranges; sites are
    points of bodies, fixed tendons forces along joints, keyframes initial states (``m.starts["home"]``).
    ``left_out`` lists the parts of the file that were not read; a warning names those that may change the motion.

    Raises
    ------
    FileFormatError : with the line; nothing is imported.

    Examples
    --------
    >>> m = read_mjcf("humanoid.xml")  # doctest: +SKIP
    >>> eqs = da.equations(m, coordinates="joint")  # doctest: +SKIP
    """
    try:
        file = Path(os.fsdecode(path))
    except TypeError:
        raise FileFormatError("wrong-type", f"expected the path of an MJCF file, got {path!r}.") from None
    root = read_xml(file)
    places = [file.parent, *(Path(os.fspath(folder)) for folder in folders)]
    document = read_document(root, file, MeshFiles(places, pictures))
    document.reader.repair = repair
    model = MjcfModel(document, read_bodies(document, read_assets(document)))
    model.read()
    document.reader.problems.raise_if_any()
    m = Mechanism(root.attributes.get("model", "").strip() or file.stem.strip() or "model", gravity=model.gravity)
    try:
        model.build(m)
        document.reader.problems.raise_if_any()
        m.validate()
    except ModelFileError:
        raise
    except DalembertError as error:
        raise FileFormatError(error.code, error.finding.problem, path=str(file), line=root.line) from error
    document.reader.report(m)
    return m


@dataclass
class MjcfModel:
    """Everything of a file as values, before the mechanism is made."""

    document: MjcfDocument
    tree: BodyTree
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    joints: dict[str, list[MjcfJoint]] = field(default_factory=dict)  # by body
    named: dict[str, MjcfJoint] = field(default_factory=dict)
    masses: dict[str, SolidMass] = field(default_factory=dict)
    tendons: dict[str, MjcfTendon] = field(default_factory=dict)
    actuators: list[MjcfActuator] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    touches: bool = True  # whether geoms collide

    @property
    def reader(self) -> MjcfReader:
        return self.document.reader

    def read(self) -> None:
        self._read_options()
        self.taken = {*self.tree.bodies, "ground"}
        for body in list(self.tree.world.walk())[1:]:
            self.joints[body.name] = self._read_joints(body)
            self.masses[body.name] = inertia_of(self.reader, body.name, body.inertial, self._find_weighing(body))
        self.masses = scale_masses(self.masses, self.reader.settings.total_mass)
        self._check_masses(self.tree.world)
        self.tendons = read_tendons(self.document, self.named, self.taken)
        reader = ActuatorReader(self.document, self.tree, self.named, self.tendons, self._reflect)
        self.actuators = list(reader.read(self.taken))
        self._note_contact()

    def _reflect(self, along: Iterable[tuple[MjcfJoint, float]]) -> float:
        return ReflectedMass(self.tree.world, self.joints, self.masses)(along)

    def _read_options(self) -> None:
        for node in self.document.sections.get("option", ()):
            self.reader.check_names(node, ("flag",), OPTION)
            self.gravity = tuple(self.reader.numbers(node, "gravity", 3, self.gravity).tolist())
            for key in ("density", "viscosity"):
                if self.reader.number(node, key, 0.0) != 0:
                    self.reader.note(node, "forces of a fluid (density and viscosity of <option>)")
            for flag in node.all("flag"):
                if flag.attributes.get("gravity") == "disable":
                    self.gravity = (0.0, 0.0, 0.0)
                self.touches = self.touches and flag.attributes.get("contact") != "disable"
                off = [key for key, value in flag.attributes.items() if value == "disable"]
                for key in {*off} & {"passive", "spring", "damper", "equality", "frictionloss", "actuation", "limit"}:
                    self.reader.note(flag, f"{key}=disable of <flag>")

    def _read_joints(self, body: MjcfBody) -> list[MjcfJoint]:
        joints_: list[MjcfJoint] = []
        for number, (node, outer) in enumerate(body.joints, 1):
            label = node.attributes.get("name", "").strip()
            if label and label in self.named:
                self.reader.problem(node, "duplicate", f"joint {label!r} is given twice.")
            name = free_name(label or f"{body.name}.joint{number}", self.taken, "_joint")
            if label and name != label:
                self.reader.note(node, f"name {label!r} of a joint and of a body, now {name!r},", quiet=True)
            joint = read_joint(self.reader, body, node, outer, name)
            self.named[label or name] = joint
            joints_.append(joint)
        kinds = [joint.kind for joint in joints_]
        if "free" in kinds:
            top = body.parent is not None and body.parent.name == WORLD
            if len(kinds) > 1 or not top:
                problem = f"body {body.name!r}: a free joint is the only joint of a body of the world."
                self.reader.problem(joints_[kinds.index("free")].node, "conflicting-arguments", problem)
        elif kinds.count("ball") > 1:
            problem = f"body {body.name!r} has {kinds.count('ball')} ball joints."
            self.reader.problem(body.node, "conflicting-arguments", problem)
        return joints_

    def _find_weighing(self, body: MjcfBody) -> list[Geom]:
        """Geoms that give a body its mass; none for a body that does not move: its mesh files may be missing."""
        at: MjcfBody | None = body
        while at is not None and at.parent is not None and not self.joints[at.name]:
            at = at.parent
        still = at is None or at.parent is None
        return [geom for geom in body.geoms if not (still and geom.kind in ("mesh", FITTED))]

    def _check_masses(self, world: MjcfBody) -> None:
        """Refuse a body that moves without mass, its own or of bodies fixed to it."""
        welded: dict[str, float] = {}
        for body in reversed(list(world.walk())[1:]):
            mass = self.masses[body.name].mass
            carried = sum(welded[child.name] for child in body.children if not self.joints[child.name])
            welded[body.name] = mass + carried
            if self.joints[body.name] and not mass + carried > LEAST:
                problem = f"body {body.name!r} moves and has no mass."
                self.reader.problem(body.node, "massless-body", f"{problem} Give it an <inertial>, or a geom.")

    def _note_contact(self) -> None:
        geoms = [(body, geom) for body in self.tree.world.walk() for geom in body.geoms if geom.collides]
        if len({body.name for body, _ in geoms}) > 1 and self.touches:
            self.reader.note(geoms[0][1].node, "contact between geoms")

    # -- the mechanism ------------------------------------------------------------------------------------------------
    def build(self, m: Mechanism) -> None:
        world, poses = self.tree.world, {WORLD: Origin()}
        m.ground = replace(m.ground, **self._picture(world), points=self._sites(world), shapes=self._shapes(world))
        bodies: dict[str, Body] = {WORLD: m.ground}
        efforts = self._efforts()
        for body in list(world.walk())[1:]:
            assert body.parent is not None
            poses[body.name] = pose = poses[body.parent.name] @ body.origin
            solid = self.masses[body.name]
            near, parent = body.origin, bodies[body.parent.name]
            for joint in self.joints[body.name][:-1]:
                between = m.add_body(
                    free_name(f"{body.name}.{joint.name}", self.taken, "_body"), mass=0.0, inertia=0.0,
                    position=pose.place.tolist(), rotation=pose.axes.tolist(),
                )  # fmt: skip
                join(m, add_effort_limit(joint, efforts), parent, near, between)
                near, parent = Origin(), between
            picture = self._picture(body)
            body_ = bodies[body.name] = m.add_body(
                body.name if body.name != "ground" else free_name("ground", self.taken, "_body"), mass=solid.mass,
                inertia=symmetric(solid.inertia), center=solid.center.tolist(), mesh=picture["mesh"],
                position=(pose.place + pose.axes @ solid.center).tolist(), rotation=pose.axes.tolist(),
                points=self._sites(body),
            )  # fmt: skip
            body_ = bodies[body.name] = m.bodies[-1] = replace(
                body_, shapes=self._shapes(body), colors=picture["colors"]
            )
            if body.carried and any(self.gravity):
                lift = [-body.carried * solid.mass * g for g in self.gravity]
                m.add_force(f"{body.name}.gravcomp", body_.at(*solid.center.tolist()), force=lift)
            if self.joints[body.name]:
                join(m, add_effort_limit(self.joints[body.name][-1], efforts), parent, near, body_)
            else:
                m.add_fixed(free_name(f"{body.name}.weld", self.taken, "_joint"), frame_of(parent, near),
                            frame_of(body_, Origin()))  # fmt: skip
        tree = len(m.joints)
        Equalities(self.document, self.tree, self.named, poses).add(m, bodies, self.taken)
        m.loops = [joint.name for joint in m.joints[tree:]]
        for tendon in self.tendons.values():
            tendon.add(m)
        for actuator in self.actuators:
            actuator.add(m, bodies, self._forces(actuator))
        inputs = {actuator.number: actuator.name for actuator in self.actuators}
        count = len(list(self.document.parts("actuator")))
        m.starts = read_keyframes(self.document, world, self.joints, [inputs.get(k + 1, "") for k in range(count)])

    def _shapes(self, body: MjcfBody) -> tuple[CollisionShape, ...]:
        return tuple(geom.shape() for geom in body.geoms if geom.collides and geom.kind in COLLIDING)

    def _sites(self, body: MjcfBody) -> dict[str, tuple[float, ...]]:
        return {name: tuple(place.place.tolist()) for name, (owner, place) in self.tree.sites.items() if owner is body}

    def _forces(self, actuator: MjcfActuator) -> tuple[float, float]:
        """Range of the force of an actuator, by its own and by that of its joint."""
        joint = actuator.target
        if not isinstance(joint, MjcfJoint) or joint.actuator_range is None:
            return actuator.forces
        if sum(actuator.target is joint for actuator in self.actuators) > 1:
            self.reader.note(joint.node, "actuatorfrcrange of a joint with several actuators")
            return actuator.forces
        return actuator.limit_on_joint(joint.actuator_range)

    def _efforts(self) -> dict[str, float]:
        """Largest efforts of actuators, by joint; only where every actuator of the joint has one."""
        gains: dict[str, float] = {}
        for actuator in self.actuators:
            if isinstance(actuator.target, MjcfJoint):
                gain = gains.get(actuator.target.name, 0.0)
                gains[actuator.target.name] = gain + actuator.effort if actuator.effort > 0 and gain >= 0 else -1.0
        return {name: value for name, value in gains.items() if value > 0}

    def _picture(self, body: MjcfBody) -> dict[str, Any]:
        shown = [geom for geom in body.geoms if geom.group <= SHOWN] or body.geoms
        shown = [geom for geom in shown if not geom.collides] or shown  # shapes of contact hide the visual ones
        shown = [geom for geom in shown if geom.color(self.reader)[1] > 0.0] or shown
        return self.reader.draw(body.node, ((geom.triangles(), geom.color(self.reader)[0]) for geom in shown))


def add_effort_limit(joint: MjcfJoint, efforts: dict[str, float]) -> MjcfJoint:
    """The joint with the largest effort of its actuators, where it has none of its own."""
    if joint.name not in efforts or joint.kind not in ("hinge", "slide"):
        return joint
    return replace(joint, limits={"effort": efforts[joint.name], **joint.limits})
