"""The same tree in Pinocchio: a model made of a Mechanism, or read from the URDF file itself.

Pinocchio has quaternions scalar last and gives a free body its velocity in its own axes at the origin of its link. With
speeds v of ours those of Pinocchio are v_p = T(q) v, so that

    M = Tᵀ M_p T ,   v̇_p = T v̇ + Ṫ v ,   τ = Tᵀ τ_p ,   J = J_p T .

Joints that Pinocchio lacks are composed of those it has, with bodies without mass between them; joints are added depth
first, as its recursions need.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.equations import EquationsOfMotion, State
from dalembert.mechanics.joints.joint_equations import joint_frames
from dalembert.mechanics.tree.spanning import Branch, span

pin: Any = pytest.importorskip("pinocchio")

SQUARE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # of a Cardan joint at the angles zero
REFERENCES = {
    "local": pin.ReferenceFrame.LOCAL,
    "world": pin.ReferenceFrame.WORLD,
    "local_world_aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
}

ROBOTS = [
    pytest.param("panda_description/urdf/panda.urdf", False, marks=pytest.mark.slow),
    ("go2_description/urdf/go2.urdf", True),
    pytest.param("talos_data/robots/talos_reduced.urdf", True, marks=pytest.mark.slow),
]  # an arm, a quadruped, a humanoid
AGREEMENT = 1e-9


def agree(ours: Any, theirs: Any, what: str) -> None:
    size = np.abs(theirs).max(initial=1.0)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * size, err_msg=what)


def full(M: Any) -> Any:
    return np.triu(M) + np.triu(M, 1).T


def robot_file(name: str) -> Path:
    """A URDF file of example-robot-data, such as "panda_description/urdf/panda.urdf"."""
    prefix = Path(pin.__file__).parents[4]
    return prefix / "share" / "example-robot-data" / "robots" / name


def read_robot(name: str, *, free: bool = False) -> da.Mechanism:
    """The mechanism of such a file, its meshes found beside it."""
    return da.read_urdf(robot_file(name), base="free" if free else "fixed", folders=[robot_file("").parents[1]])


def rotation_of(p: FloatArray) -> FloatArray:
    """Of Euler parameters, scalar first."""
    w, x, y, z = p
    return np.array(pin.Quaternion(w, x, y, z).toRotationMatrix())


@dataclass
class Part:
    """Where one joint's coordinates are.  names : of our coordinates; "" of Euler parameters' part of a ball."""

    joint: int
    kind: str  # "one", "turn" (cosine and sine), "ball", "ball reversed", "free", "free reversed"
    coordinates: list[str]
    speeds: list[str]
    ratio: float = 1.0
    offset: float = 0.0
    centre: FloatArray = field(default_factory=lambda: np.zeros(3))  # of a free body, in its link


@dataclass
class Twin:
    """A Pinocchio model of the same tree, with its states for ours.  frames : body -> frame at its centre of mass."""

    model: Any
    parts: list[Part]
    frames: dict[str, int]

    def __post_init__(self) -> None:
        self.data = self.model.createData()

    def q(self, state: State) -> FloatArray:
        names = state.eqs.coordinates.index
        q = np.array(pin.neutral(self.model))
        for part in self.parts:
            joint = self.model.joints[part.joint]
            own = np.array([state.q[names[name]] for name in part.coordinates])
            first = joint.idx_q
            if part.kind in ("one", "turn"):
                x = part.ratio * own[0] + part.offset
                q[first : first + joint.nq] = [x] if part.kind == "one" else [np.cos(x), np.sin(x)]
                continue
            w, x, y, z = own[-4:] * ([1, -1, -1, -1] if part.kind.endswith("reversed") else [1, 1, 1, 1])
            q[first + joint.nq - 4 : first + joint.nq] = [x, y, z, w]
            if part.kind == "free":
                q[first : first + 3] = own[:3] - rotation_of(own[3:]) @ part.centre
            if part.kind == "free reversed":
                q[first : first + 3] = -rotation_of(own[3:]).T @ own[:3]
        return q

    def T(self, state: State) -> FloatArray:
        names, columns = state.eqs.coordinates.index, state.eqs.speeds.index
        T = np.zeros((self.model.nv, state.eqs.nv))
        for part in self.parts:
            first = self.model.joints[part.joint].idx_v
            own = [columns[name] for name in part.speeds]
            if part.kind in ("one", "turn"):
                T[first, own[0]] = part.ratio
                continue
            R = rotation_of(state.q[[names[name] for name in part.coordinates[-4:]]])
            if part.kind.startswith("ball"):
                T[first : first + 3, own] = np.eye(3) if part.kind == "ball" else -R
                continue
            if part.kind == "free reversed":  # R ω × r - ṙ and -R ω, in axes of the first frame
                place = pin.skew(state.q[[names[name] for name in part.coordinates[:3]]])
                T[first : first + 3, own[:3]] = -np.eye(3)
                T[first : first + 6, own[3:]] = np.vstack([-place @ R, -R])
                continue
            T[first : first + 3, own[:3]] = R.T
            T[first : first + 3, own[3:]] = pin.skew(part.centre)
            T[first + 3 : first + 6, own[3:]] = np.eye(3)
        return T

    def T_rate(self, state: State) -> FloatArray:
        """Ṫ: Ṙ = R skew(ω) of a ball on its first side, d/dt(Rᵀ) = -skew(ω) Rᵀ of a free body."""
        names, columns = state.eqs.coordinates.index, state.eqs.speeds.index
        found = np.zeros((self.model.nv, state.eqs.nv))
        for part in self.parts:
            if part.kind in ("free", "ball reversed", "free reversed"):
                first, own = self.model.joints[part.joint].idx_v, [columns[name] for name in part.speeds]
                R = rotation_of(state.q[[names[name] for name in part.coordinates[-4:]]])
                spin = pin.skew(state.v[own[-3:]])
                if part.kind == "free reversed":
                    place = pin.skew(state.q[[names[name] for name in part.coordinates[:3]]])
                    rate = pin.skew(state.v[own[:3]])
                    found[first : first + 6, own[3:]] = np.vstack([-rate @ R - place @ R @ spin, -R @ spin])
                    continue
                found[first : first + 3, own[:3]] = -spin @ R.T if part.kind == "free" else -R @ spin
        return found

    def drift(self, state: State) -> FloatArray:
        return np.array(self.T_rate(state) @ state.v)

    def v(self, state: State) -> FloatArray:
        return np.array(self.T(state) @ state.v)

    def a(self, state: State, a: FloatArray) -> FloatArray:
        return np.array(self.T(state) @ a + self.drift(state))

    def tau(self, state: State, tau_p: FloatArray) -> FloatArray:
        return np.array(self.T(state).T @ tau_p)


def se3(frame: Any) -> Any:
    return pin.SE3(np.array(frame.axes, dtype=float), np.array([float(x) for x in frame.coordinates]))


def twin_of(m: da.Mechanism) -> Twin:
    """A Pinocchio model of the spanning tree of a spatial mechanism."""
    model = pin.Model()
    model.gravity.linear = np.array([float(x) for x in m.gravity])
    branches = span(m)
    at: dict[str, tuple[int, Any]] = {"ground": (0, pin.SE3.Identity())}  # joint, and centre of mass in its frame
    parts: list[Part] = []
    frames: dict[str, int] = {}

    def add(parent: int, placement: Any, model_of_joint: Any, name: str) -> int:
        return int(model.addJoint(parent, model_of_joint, placement, name))

    def follow(branch: Branch) -> None:
        joint, body = branch.joint, branch.body
        if joint is None:
            last = compose_free(add, body.name, 0, pin.SE3.Identity(), parts)
            centre = pin.SE3.Identity()
        else:
            near, far = joint_frames(joint)
            if branch.reversed:
                near, far = far, near
            above, pose = at[near.body.name]
            last, turned = compose(add, joint, branch.reversed, above, pose * se3(near), parts)
            centre = turned * se3(far).inverse()
        at[body.name] = (last, centre)
        inertia = pin.Inertia(float(body.mass), np.zeros(3), np.array(body.inertia, dtype=float))
        model.appendBodyToJoint(last, inertia, centre)
        frames[body.name] = int(model.addFrame(pin.Frame(body.name, last, centre, pin.FrameType.OP_FRAME)))
        for one in branches:
            if one.parent is body:
                follow(one)

    for branch in branches:
        if branch.joint is None or (branch.parent is not None and branch.parent.is_ground):
            follow(branch)
    return Twin(model, parts, frames)


FREE = [*"xyz", "e0", "e1", "e2", "e3"], ["vx", "vy", "vz", "wx", "wy", "wz"]


def compose_free(add: Any, name: str, parent: int, placement: Any, parts: list[Part]) -> int:
    names, speeds = ([f"{name}.{c}" for c in letters] for letters in FREE)
    for k, slide in enumerate((pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ())):
        parent = add(parent, placement, slide, names[k])
        parts.append(Part(parent, "one", [names[k]], [speeds[k]]))
        placement = pin.SE3.Identity()
    last = add(parent, placement, pin.JointModelSpherical(), f"{name}.ball")
    parts.append(Part(last, "ball", names[3:], speeds[3:]))
    return int(last)


def compose(add: Any, joint: Any, backwards: bool, parent: int, placement: Any, parts: list[Part]) -> tuple[int, Any]:
    """Joints of Pinocchio for one of ours; returns the last of them and the second frame in its axes."""
    sign = -1.0 if backwards else 1.0
    z, none = np.array([0.0, 0.0, sign]), pin.SE3.Identity()
    n, kind = joint.name, joint.kind
    if kind == "fixed":
        return parent, placement
    if kind == "spherical":
        last = add(parent, placement, pin.JointModelSpherical(), n)
        which = "ball reversed" if backwards else "ball"
        parts.append(Part(last, which, [f"{n}.e{k}" for k in range(4)], [f"{n}.w{c}" for c in "xyz"]))
        return last, none
    if kind == "free":
        if not backwards:
            return compose_free(add, n, parent, placement, parts), none
        last = add(parent, placement, pin.JointModelFreeFlyer(), n)
        parts.append(Part(last, "free reversed", *([f"{n}.{c}" for c in letters] for letters in FREE)))
        return last, none
    turn, slide = pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned
    if kind == "screw":
        steps = [(pin.JointModelHelicalUnaligned(z, float(joint.options["lead"]) / (2 * np.pi)), "angle", "rate", none)]
    elif kind == "revolute":
        steps = [(turn(z), "angle", "rate", none)]
    elif kind == "prismatic":
        steps = [(slide(z), "displacement", "speed", none)]
    elif kind == "cylindrical":
        steps = [(slide(z), "displacement", "speed", none), (turn(z), "angle", "rate", none)]
    elif kind == "planar":
        x, y = np.array([sign, 0.0, 0.0]), np.array([0.0, sign, 0.0])
        steps = [(slide(x), "x", "vx", none), (slide(y), "y", "vy", none), (turn(z), "angle", "rate", none)]
        steps = steps[::-1] if backwards else steps
    elif kind == "universal":
        square = pin.SE3(SQUARE.T if backwards else SQUARE, np.zeros(3))
        own = [("angle1", "rate1"), ("angle2", "rate2")]
        own = own[::-1] if backwards else own
        steps = [(turn(z), *own[0], none), (turn(z), *own[1], square)]
    else:
        raise NotImplementedError(kind)
    last, pose = parent, placement
    for model_of_joint, coordinate, speed, before in steps:
        last = add(last, pose * before, model_of_joint, f"{n}.{coordinate}")
        parts.append(Part(last, "one", [f"{n}.{coordinate}"], [f"{n}.{speed}"]))
        pose = none
    return last, none


def twin_of_file(path: Path, m: da.Mechanism, eqs: EquationsOfMotion, *, free: bool = False) -> Twin:
    """The model that Pinocchio reads from a URDF file, for equations of the mechanism that we read from it."""
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if free else pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    kinds = {joint.name: joint for joint in m.joints}
    geared = {c.second.rpartition(".")[0]: c for c in m.couplers}
    parts, frames = [], {}
    for number in range(1, model.njoints):
        name, joint = model.names[number], model.joints[number]
        if name == "root_joint":
            base = model.frames[model.getFrameId("root_joint") + 1].name
            body = m[base]
            names = [f"{base}.{c}" for c in ("x", "y", "z", "e0", "e1", "e2", "e3")]
            speeds = [f"{base}.{c}" for c in ("vx", "vy", "vz", "wx", "wy", "wz")]
            centre = np.array([float(c) for c in body.center or (0, 0, 0)])
            parts.append(Part(number, "free", names, speeds, centre=centre))
            continue
        own = kinds.get(name) or kinds[f"{name}_joint"]
        coordinate, rate = own.coordinates[0].name, own.coordinates[0].rate
        full, ratio, offset = f"{own.name}.{coordinate}", 1.0, 0.0
        speed = f"{own.name}.{rate}"
        if full not in eqs.coordinates.index:  # it follows another joint
            coupler = geared[own.name]
            full, ratio, offset = coupler.first, float(coupler.ratio), float(coupler.offset)
            speed = eqs.measure_rates.names[eqs.measures.index[full]]
        parts.append(Part(number, "turn" if joint.nq == 2 else "one", [full], [speed], ratio, offset))
    for body in m.bodies:
        k = model.getFrameId(body.name)
        frame = model.frames[k]
        centre = pin.SE3(np.eye(3), np.array([float(c) for c in body.center or (0, 0, 0)]))
        parent = frame.parentJoint
        frames[body.name] = int(model.addFrame(pin.Frame(f"{body.name}:centre", parent, frame.placement * centre,
                                                         pin.FrameType.OP_FRAME)))  # fmt: skip
    return Twin(model, parts, frames)
