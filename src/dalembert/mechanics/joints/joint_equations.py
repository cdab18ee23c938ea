"""The mathematics of a joint kind, registered by its file in this folder, and its kernel.

With frames a and b of a joint: d = (point b) - (point a) in world axes, e_k and g_k the world axes of the frames. Rows
are written with dot products of these (the 'dot-1' and coincidence constraints of Haug 1989). Rolling kinds add
velocity rows: the material point of the body at the contact does not move along the plane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.core.registry import Registry
from dalembert.expressions import Array, Expr
from dalembert.mechanics.joints.motion import JointMotion
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.model import BodyFrame
from dalembert.model.joints import Joint

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX = ca.SX


@dataclass(frozen=True)
class Sides:
    """Symbols of a joint kernel: poses and twists of its bodies, its places and axes on them, its numbers."""

    space: Space
    a: Pose
    b: Pose
    twist_a: Twist
    twist_b: Twist
    place_a: Expr
    place_b: Expr
    axes_a: Expr
    axes_b: Expr
    numbers: Expr

    @property
    def planar(self) -> bool:
        return self.space.planar

    @cached_property
    def d(self) -> Expr:
        """From the first point to the second, world axes."""
        return self.b.r + self.b.R @ self.place_b - self.a.r - self.a.R @ self.place_a

    @cached_property
    def E(self) -> Expr:
        """World axes of the first frame."""
        return self.a.R @ self.axes_a

    @cached_property
    def G(self) -> Expr:
        """World axes of the second frame."""
        return self.b.R @ self.axes_b

    def square(self) -> list[Expr]:
        """e₁·g₃ = e₂·g₃ = 0: the z axes are parallel."""
        return [ca.dot(self.E[:, 0], self.G[:, 2]), ca.dot(self.E[:, 1], self.G[:, 2])]

    def across(self) -> list[Expr]:
        """e₁·d = e₂·d = 0: the second point is on the z axis of the first frame."""
        return [ca.dot(self.E[:, 0], self.d), ca.dot(self.E[:, 1], self.d)]

    def along(self) -> Expr:
        """Displacement along the axis: x of a planar frame, z of a spatial one."""
        return ca.dot(self.E[:, 0 if self.planar else 2], self.d)

    def angle(self) -> Expr:
        """Angle of the second frame from the first, about its z axis."""
        if self.planar:
            # axes contain the frames' own angles up to whole turns; the difference of body angles counts the turns
            own = ca.atan2(self.axes_b[1, 0], self.axes_b[0, 0]) - ca.atan2(self.axes_a[1, 0], self.axes_a[0, 0])
            return self.b.angle - self.a.angle + own
        E, G = self.E, self.G
        return ca.atan2(ca.dot(E[:, 1], G[:, 0]), ca.dot(E[:, 0], G[:, 0]))

    def slip(self, contact: Expr) -> Expr:
        """Velocity of the material point of the second body at a place relative to that of the first."""

        def material(pose: Pose, twist: Twist) -> Expr:
            local = pose.R.T @ (contact - pose.r)
            return twist.v + self.space.turn_velocity(pose, twist.w, local)

        return material(self.b, self.twist_b) - material(self.a, self.twist_a)


def nearest_turn(angle: Expr) -> Expr:
    """An angle without its whole turns: a weld or slide is as closed at 2π as at zero. Its derivative is one."""
    return angle - 2 * ca.pi * ca.floor(angle / (2 * ca.pi) + 0.5)


def transform(planar: bool, *, angle: float = 0.0, shift: Sequence[float] = ()) -> Array:
    """Homogeneous transform: a turn about z and a displacement."""
    n = 2 if planar else 3
    T = np.eye(n + 1)
    c, s = math.cos(angle), math.sin(angle)
    T[:2, :2] = [[c, -s], [s, c]]
    T[: len(shift), n] = shift
    return T


def coincide(values: Sequence[float], planar: bool) -> Array:
    """The frames coincide, whatever the coordinates."""
    return transform(planar)


def slide(values: Sequence[float], planar: bool) -> Array:
    """The second frame is displaced along the axis by the only coordinate."""
    return transform(planar, shift=(values[0],) if planar else (0.0, 0.0, values[0]))


def own_frames(joint: Joint) -> tuple[BodyFrame, BodyFrame]:
    return joint.a, joint.b


@dataclass(frozen=True)
class JointEquations:
    """The mathematics of one kind of joint.

    rows : residuals φ of position level, zero when the joint is closed.  slip : residuals of velocity level.
    coordinates : values of the joint's coordinates, in the order of its declaration.
    relative : pose of the second frame in the first at these values of the coordinates (homogeneous transform), for the
        first guess of an assembly; None where the coordinates do not decide it.
    hinge : whether the first guess may turn the joint towards other joints of its body.
    axial : whether every angle of it turns about z of the first frame, so that its rate is e₃·(ω_b - ω_a).
    frames : both frames with the zero of their coordinates.
    balls : sides (0, 1) whose body turns freely about the joint's point.  rigid : whether it leaves no rotation at all.
    residual : φ, world axes and point of a joint with unknowns of its own, in terms of the whole machine; takes the
        place of `rows`.
    motion : the motion it allows, by its coordinates; None where it cannot be part of a tree in joint coordinates.
    """

    rows: Callable[[Sides], list[Expr]] | None = None
    slip: Callable[[Sides], list[Expr]] | None = None
    coordinates: Callable[[Sides], list[Expr]] | None = None
    relative: Callable[[Sequence[float], bool], Array] | None = None
    hinge: bool = False
    axial: bool = False
    frames: Callable[[Joint], tuple[BodyFrame, BodyFrame]] = own_frames
    balls: tuple[int, ...] = ()
    rigid: bool = False
    residual: Callable[[Absolute, Joint], tuple[Expr, Expr, Expr]] | None = None
    motion: JointMotion | None = None


JOINT_EQUATIONS: Registry[JointEquations] = Registry(
    "joint kind with equations", package="dalembert.mechanics.joints", group="dalembert.joints"
)


def joint_frames(joint: Joint) -> tuple[BodyFrame, BodyFrame]:
    """Both frames of a joint, with the zero of its coordinates."""
    return JOINT_EQUATIONS[joint.kind].frames(joint)


@lru_cache(maxsize=64)
def joint_kernel(planar: bool, own: JointEquations, count: int) -> ca.Function:
    """Rows, their gradients and bias, and the coordinates of a joint kind with this many numbers.

    Inputs: r_a, R_a, angle_a, v_a, w_a, the same of b, l_a, J_a, l_b, J_b, numbers.
    Outputs: phi, rates (velocity of phi, then slip rows), A_a, A_b, bias (d/dt(A v) at v̇ = 0), s, ṡ, S_a, S_b, s bias.
    """
    space = Space(planar)
    a, b = space.pose_symbols("a"), space.pose_symbols("b")
    ta, tb = space.twist_symbols("a"), space.twist_symbols("b")
    dim = space.dim
    la, lb = SX.sym("la", dim), SX.sym("lb", dim)
    Ja, Jb = SX.sym("Ja", dim, dim), SX.sym("Jb", dim, dim)
    numbers = SX.sym("numbers", count)

    def column(make: Callable[[Sides], list[Expr]] | None) -> Expr:
        if make is None:
            return SX.zeros(0, 1)
        return ca.vertcat(SX(0, 1), *make(Sides(space, a, b, ta, tb, la, lb, Ja, Jb, numbers)))

    moving = [(a, ta), (b, tb)]
    phi, slip, value = column(own.rows), column(own.slip), column(own.coordinates)

    def by_speeds(expression: Expr, twist: Twist) -> Expr:
        return ca.jacobian(expression, ca.vertcat(twist.v, twist.w))

    gradient = [ca.vertcat(space.gradient(phi, p), by_speeds(slip, t)) for p, t in moving]
    rates = ca.vertcat(space.along(phi, moving), slip)
    bias = space.along(rates, moving)
    s_gradient = [space.gradient(value, p) for p, _ in moving]
    s_rate = space.along(value, moving)
    s_bias = space.along(s_rate, moving)
    inputs = [a.r, a.R, a.angle, ta.v, ta.w, b.r, b.R, b.angle, tb.v, tb.w, la, Ja, lb, Jb, numbers]
    outputs = [phi, rates, *gradient, bias, value, s_rate, *s_gradient, s_bias]
    return ca.Function("joint", inputs, outputs)
