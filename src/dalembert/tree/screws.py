"""Twists and wrenches as screws, and their change of frame, on numbers.

A twist is (v, ω), a wrench (f, n): six numbers, in the order of a Jacobian's rows and of `wrench_efforts`. A twist with
ω ≠ 0 turns about an axis and slides along it: v_h = η ω at points h of the axis, with the pitch η. Without ω it only
slides, and its pitch is infinite. A wrench has the axis of its force, where n_h = η f; without force it is a couple
(Featherstone 2008, ch. 2). The matrices are those of the recursions (`mechanics.tree.spatial`) on unit twists and
wrenches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.mechanics.poses import Space, Twist
from dalembert.mechanics.tree.spatial import FrameChange, SpatialInertia, Wrench, cross_wrench, parallel
from dalembert.model import BodyFrame, Point
from dalembert.tree.evaluation import States, evaluate


@dataclass(frozen=True)
class Screw:
    """A line with a pitch.

    direction : unit vector (3,).  point : of the axis nearest to the origin (3,) [m].
    pitch : displacement per radian [m], or moment per force; infinite of a translation or a couple.
    magnitude : |ω| or |f|; of an infinite pitch |v| or |n|.
    """

    direction: Array
    point: Array
    pitch: float
    magnitude: float


def screw_of_twist(twist: Any) -> Screw:
    """Axis and pitch of a twist (v, ω)."""
    v, w = _halves(twist, "a twist")
    return _screw(w, v)


def screw_of_wrench(wrench: Any) -> Screw:
    """Axis and pitch of a wrench (f, n)."""
    f, n = _halves(wrench, "a wrench")
    return _screw(f, n)


def _screw(along: Array, moment: Array, axis: float = 1e-14) -> Screw:
    # axis: [1/m] of |ω|/|v| or |f|/|n|: rounding errors of products of numbers of order one.
    size, rest = float(np.linalg.norm(along)), float(np.linalg.norm(moment))
    if size <= axis * rest:
        if not rest:
            raise DataError("zero-length", "a twist or wrench of zeros has no axis.")
        return Screw(moment / rest, np.zeros(3), math.inf, rest)
    return Screw(along / size, np.cross(along, moment) / size**2, float(along @ moment) / size**2, size)


def _halves(given: Any, what: str) -> tuple[Array, Array]:
    array = np.asarray(given, dtype=float)
    if array.shape != (6,) or not np.isfinite(array).all():
        raise DataError("wrong-shape", f"{what} must be 6 finite numbers, got {given!r}.")
    return array[:3], array[3:]


def twist(
    eqs: EquationsOfMotion, state: States, place: str | Point | BodyFrame, *, reference: str = "local_world_aligned"
) -> Array:
    """Velocity and angular velocity of a frame on a body, (6,) or (states, 6); in the plane 3.

    place, reference : as for `jacobian`; a screw in world coordinates needs "world".
    """
    return evaluate(eqs, state, "twist", place, reference)[0]


def twist_transform(R: Any, d: Any) -> Array:
    """X with twist = X twist', where the frame of twist' has axes R (3, 3) and origin d (3,) in that of twist.

    In the plane R is (2, 2), d is (2,).
    """
    change, units, space = _change(R, d)
    found = change.twist_out(Twist(units[: space.dim, :], units[space.dim :, :]))
    return np.array(ca.DM(ca.densify(ca.vertcat(found.v, found.w))))


def wrench_transform(R: Any, d: Any) -> Array:
    """X* with wrench = X* wrench' of the same frames; X*ᵀ X = 1, so that both have the same power."""
    change, units, space = _change(R, d)
    found = change.wrench_out(Wrench(units[: space.dim, :], units[space.dim :, :]))
    return np.array(ca.DM(ca.densify(ca.vertcat(found.f, found.n))))


def wrench_cross(twist: Any) -> Array:
    """v×* of a body with this twist (v, ω): I a + v×* I twist = wrench, with a the rate of the twist in body axes."""
    v, w = _halves(twist, "a twist")
    units = ca.SX.eye(6)
    found = cross_wrench(Space(planar=False), Twist(ca.SX(v), ca.SX(w)), Wrench(units[:3, :], units[3:, :]))
    return np.array(ca.DM(ca.densify(ca.vertcat(found.f, found.n))))


def spatial_inertia(mass: float, center: Any, inertia: Any) -> Array:
    """6x6 inertia about the origin of a frame: momentum (f, n) = I (v, ω).

    center : of mass, in the frame [m].  inertia : about the centre of mass (3, 3), in its axes [kg m²].
    """
    space, c, units = Space(planar=False), ca.SX(np.asarray(center, dtype=float)), ca.SX.eye(6)
    about = ca.SX(np.asarray(inertia, dtype=float)) + mass * parallel(space, c, c)
    found = SpatialInertia(ca.SX(mass), mass * c, about).momentum(space, Twist(units[:3, :], units[3:, :]))
    return np.array(ca.DM(ca.densify(ca.vertcat(found.f, found.n))))


def _change(R: Any, d: Any) -> tuple[FrameChange, ca.SX, Space]:
    axes, place = np.asarray(R, dtype=float), np.asarray(d, dtype=float)
    if axes.shape not in ((2, 2), (3, 3)) or place.shape != axes.shape[:1]:
        raise DataError("wrong-shape", f"axes and origin have the shapes {axes.shape} and {place.shape}.")
    space = Space(planar=len(place) == 2)
    return FrameChange(space, ca.SX(axes), ca.SX(place)), ca.SX.eye(space.nv), space
