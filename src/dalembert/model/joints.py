"""Joints, couplers, drivers and user constraints as data, and the methods that add them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.expressions.quantities import atan2
from dalembert.model.bodies import (
    IDENTITY,
    Body,
    Frame,
    Point,
    axes_from,
    is_number,
    matmul,
    name_of,
    number,
    transpose,
    vector,
)
from dalembert.record import Record

# kind -> (rows in space, rows in the plane); rolling kinds count their velocity rows too
ROWS = {
    "fixed": (6, 3),
    "revolute": (5, 2),
    "prismatic": (5, 2),
    "cylindrical": (4, None),
    "universal": (4, None),
    "spherical": (3, None),
    "planar": (3, None),
    "screw": (5, None),
    "massless rod": (1, 1),
    "point on line": (2, 1),
    "point on plane": (1, None),
    "point on curve": (2, 1),
    "wheel on plane": (3, 2),
    "sphere on plane": (3, None),
    "disc on disc": (None, 2),
}
COORDINATES = {  # kind -> ((coordinate, rate, unit), ...)
    "revolute": (("angle", "rate", "rad"),),
    "prismatic": (("displacement", "speed", "m"),),
    "cylindrical": (("displacement", "speed", "m"), ("angle", "rate", "rad")),
    "screw": (("angle", "rate", "rad"), ("displacement", "speed", "m")),
    "universal": (("angle1", "rate1", "rad"), ("angle2", "rate2", "rad")),
    "planar": (("x", "vx", "m"), ("y", "vy", "m"), ("angle", "rate", "rad")),
    "point on line": (("displacement", "speed", "m"),),
    "point on curve": (("parameter", "parameter_rate", ""),),
}


@dataclass(frozen=True, repr=False)
class Joint:
    """A joint between frame `a` and frame `b`; its axis is z of frame `a` (x of a planar slot)."""

    name: str
    kind: str
    a: Frame
    b: Frame
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Joint({self.name!r}, {self.kind}, {self.a.body.name}–{self.b.body.name})"

    @property
    def coordinates(self) -> tuple[tuple[str, str, str], ...]:
        return COORDINATES.get(self.kind, ())


@dataclass(frozen=True)
class Coupler:
    """second = ratio * first + offset, between two joint coordinates."""

    name: str
    first: str
    second: str
    ratio: Any
    offset: Any = 0.0
    kind: str = "gear"


@dataclass(frozen=True)
class Driver:
    """Prescribed motion of a coordinate: coordinate = motion(t)."""

    name: str
    coordinate: str
    motion: Any


@dataclass(frozen=True)
class UserConstraint:
    """phi(s) = 0, c(s) = 0 or D v̇ = d, given by a function of the state."""

    name: str
    level: str
    function: Callable[[Any], Any]


@dataclass(frozen=True)
class Variable:
    """An extra coordinate without mass, for user constraints."""

    name: str
    start: float


ROTATION_VECTOR = (".rx", ".ry", ".rz")  # ends of the names of its components


class JointMethods:
    """The `add_*` methods of joints; part of `Mechanism`."""

    name: str
    planar: bool
    ground: Body
    joints: list[Joint]
    couplers: list[Coupler]
    drivers: list[Driver]
    constraints: list[UserConstraint]
    variables: list[Variable]

    def _place(self, what: str, side: Any, at: Any, axis: Any, x: Any, angle: Any) -> Frame:
        """Frame of one side of a joint, from a Body (with `at`), a Point or a Frame."""
        if isinstance(side, Frame):
            return side
        if isinstance(side, Body):
            if at is None:
                raise ModelError(f"{what}: give points (body.at(...)) or say where it is with at=(...).")
            local = side.local(at, f"at= of {what}")
            if self.planar:
                return Frame(side, local, IDENTITY, (0.0 if angle is None else angle) - side.angle)
            world = axes_from((0, 0, 1) if axis is None else axis, x, f"axis of {what}")
            return Frame(side, local, matmul(transpose(side.rotation), world))
        if isinstance(side, Point):
            if self.planar:
                return Frame(side.body, side.coordinates, IDENTITY, 0.0 if angle is None else angle)
            return Frame(
                side.body, side.coordinates, axes_from((0, 0, 1) if axis is None else axis, x, f"axis of {what}")
            )
        raise ModelError(f"{what}: expected a point (body.at(...)), a frame or a body, got {side!r}.")

    def _join(
        self,
        kind: str,
        name: str,
        a: Any,
        b: Any,
        *,
        at: Any = None,
        axis: Any = None,
        axis_b: Any = None,
        x: Any = None,
        angle: Any = None,
        **options: Any,
    ) -> Joint:
        what = f"{kind} joint {name!r}"
        rows = ROWS[kind][1 if self.planar else 0]
        if rows is None:
            raise ModelError(f"{what} does not exist in a {'planar' if self.planar else 'spatial'} mechanism.")
        if self.planar and axis is not None:
            along = vector(axis, 2, f"axis of {what}")
            if math.hypot(*(float(c) for c in along)) < 1e-12:
                raise ModelError(f"axis of {what} has zero length.")
            angle = atan2(along[1], along[0])
        same = axis if axis_b is None else axis_b
        joint = Joint(
            name,
            kind,
            self._place(what, a, at, axis, x, angle),
            self._place(what, b, at, same, x if axis_b is None else None, angle),
            {"rows": rows, **options},
        )
        self.joints.append(joint)
        return joint

    def add_fixed(self, name: str, a: Any, b: Any, *, at: Any = None) -> Joint:
        """Weld two frames together."""
        return self._join("fixed", name, a, b, at=at)

    def add_revolute(
        self, name: str, a: Any, b: Any, *, at: Any = None, axis: Any = None, axis_b: Any = None, x: Any = None
    ) -> Joint:
        """Hinge about `axis` (z by default). Coordinate ``name.angle``.

        Here as in all joints, `axis` is in the axes of each body where they are given by points; in world axes, of the
        drawing, where they are given by `at`.
        """
        if self.planar and axis is not None:
            raise ModelError(f"revolute joint {name!r}: a planar hinge turns about z; leave the axis out.")
        return self._join("revolute", name, a, b, at=at, axis=axis, axis_b=axis_b, x=x)

    def add_prismatic(
        self, name: str, a: Any, b: Any, *, at: Any = None, axis: Any = None, axis_b: Any = None
    ) -> Joint:
        """Slide along `axis` (spatial default z, planar default x) of the first body. ``name.displacement``."""
        return self._join("prismatic", name, a, b, at=at, axis=axis, axis_b=axis_b)

    def add_cylindrical(
        self, name: str, a: Any, b: Any, *, at: Any = None, axis: Any = None, axis_b: Any = None
    ) -> Joint:
        """Slide along and turn about `axis`. Coordinates ``name.displacement`` and ``name.angle``."""
        return self._join("cylindrical", name, a, b, at=at, axis=axis, axis_b=axis_b)

    def add_universal(
        self, name: str, a: Any, b: Any, *, at: Any = None, axis: Any = (0, 0, 1), second_axis: Any = (1, 0, 0)
    ) -> Joint:
        """Cardan joint: `axis` on the first body stays square to `second_axis` on the second."""
        what = f"universal joint {name!r}"
        if self.planar:
            raise ModelError(f"{what} does not exist in a planar mechanism.")
        first = self._place(what, a, at, axis, None, None)
        second = self._place(what, b, at, second_axis, None, None)
        zs = [[row[2] for row in first.axes], [row[2] for row in second.axes]]
        if at is not None:
            raise_to_world = [apply_rotation(f.body, z) for f, z in zip((first, second), zs, strict=True)]
            if abs(sum(p * q for p, q in zip(*raise_to_world, strict=True))) > 1e-9:
                raise ModelError(f"{what}: axis and second_axis must be square to each other.")
        joint = Joint(name, "universal", first, second, {"rows": 4})
        self.joints.append(joint)
        return joint

    def add_spherical(self, name: str, a: Any, b: Any, *, at: Any = None) -> Joint:
        """Ball joint: the two points coincide."""
        return self._join("spherical", name, a, b, at=at)

    def add_planar(self, name: str, a: Any, b: Any, *, at: Any = None, axis: Any = None, axis_b: Any = None) -> Joint:
        """Plane on plane, square to `axis`. Coordinates ``name.x``, ``name.y``, ``name.angle``."""
        return self._join("planar", name, a, b, at=at, axis=axis, axis_b=axis_b)

    def add_screw(self, name: str, a: Any, b: Any, *, lead: Any, at: Any = None, axis: Any = None) -> Joint:
        """Screw along `axis`: displacement = lead * angle / 2π, lead in metres per turn."""
        if not is_number(lead) or float(lead) == 0:
            raise ModelError(f"screw joint {name!r}: lead must be a non-zero number of metres per turn, got {lead!r}.")
        return self._join("screw", name, a, b, at=at, axis=axis, lead=lead)

    def add_massless_rod(self, name: str, a: Any, b: Any, *, length: Any) -> Joint:
        """Rigid massless rod: the distance of two points stays `length`."""
        if not is_number(length) or float(length) <= 0:
            raise ModelError(
                f"massless rod {name!r}: length must be positive, got {length!r}; "
                "use a revolute or spherical joint for length 0."
            )
        return self._join("massless rod", name, a, b, length=length)

    def add_point_on_line(self, name: str, line: Any, point: Any, *, at: Any = None, axis: Any = None) -> Joint:
        """A point of the second body stays on a line of the first (along `axis`)."""
        return self._join("point on line", name, line, point, at=at, axis=axis)

    def add_pin_in_slot(self, name: str, slot: Any, pin: Any, *, at: Any = None, axis: Any = None) -> Joint:
        """A pin of the second body slides in a straight slot of the first (planar; along `axis`, x by default)."""
        if not self.planar:
            raise ModelError(f"pin in slot {name!r} is a planar joint; use add_point_on_line in space.")
        return self._join("point on line", name, slot, pin, at=at, axis=axis)

    def add_point_on_plane(self, name: str, plane: Any, point: Any, *, at: Any = None, axis: Any = None) -> Joint:
        """A point of the second body stays on a plane of the first, square to `axis`."""
        return self._join("point on plane", name, plane, point, at=at, axis=axis)

    def add_point_on_curve(
        self, name: str, body: Any, point: Any, *, curve: Callable[[Any], Any], start: float = 0.0
    ) -> Joint:
        """A point of the second body stays on a curve of the first, ``curve(s) -> (x, y[, z])`` in its frame.

        The curve parameter becomes the coordinate ``name.parameter``; `start` is its guess.
        """
        if not callable(curve):
            raise ModelError(f"point on curve {name!r}: curve must be a function of its parameter, got {curve!r}.")
        if isinstance(body, Body):
            body = body.at(*(0.0,) * body.dimension)
        return self._join(
            "point on curve",
            name,
            body,
            point,
            curve=curve,
            start=float(number(start, f"start of point on curve {name!r}")),
        )

    def add_rolling_wheel(
        self, name: str, plane: Any, wheel: Any, *, radius: Any, axis: Any = None, normal: Any = None
    ) -> Joint:
        """A thin disc rolls without slip on a plane of the first body (on a line, in the plane).

        `normal` is the plane's normal in the first body's axes (default z, planar y), `axis` the wheel's axle in
        the second body's axes (default y).
        """
        if not is_number(radius) or float(radius) <= 0:
            raise ModelError(f"rolling wheel {name!r}: radius must be positive, got {radius!r}.")
        if isinstance(plane, Body):
            plane = plane.at(*(0.0,) * plane.dimension)
        if isinstance(wheel, Body):
            wheel = wheel.at(*(0.0,) * wheel.dimension)
        if self.planar:
            return self._join("wheel on plane", name, plane, wheel, axis=axis, radius=radius)
        a = self._place(f"rolling wheel {name!r}", plane, None, (0, 0, 1) if normal is None else normal, None, None)
        b = self._place(f"rolling wheel {name!r}", wheel, None, (0, 1, 0) if axis is None else axis, None, None)
        return self._join("wheel on plane", name, a, b, radius=radius)

    def add_rolling_sphere(self, name: str, plane: Any, sphere: Any, *, radius: Any, normal: Any = None) -> Joint:
        """A sphere rolls without slip on a plane of the first body (normal z by default)."""
        if not is_number(radius) or float(radius) <= 0:
            raise ModelError(f"rolling sphere {name!r}: radius must be positive, got {radius!r}.")
        if isinstance(plane, Body):
            plane = plane.at(*(0.0,) * plane.dimension)
        if isinstance(sphere, Body):
            sphere = sphere.at(*(0.0,) * sphere.dimension)
        return self._join("sphere on plane", name, plane, sphere, axis=normal, axis_b=(0, 0, 1), radius=radius)

    def add_rolling_discs(
        self, name: str, first: Any, second: Any, *, radius: Any, second_radius: Any, inside: bool = False
    ) -> Joint:
        """A planar disc rolls without slip on another; `inside`: the second rolls inside the ring of the first."""
        for value in (radius, second_radius):
            if not is_number(value) or float(value) <= 0:
                raise ModelError(f"rolling discs {name!r}: radii must be positive, got {value!r}.")
        if not self.planar:
            raise ModelError(f"rolling discs {name!r} do not exist in a spatial mechanism; use add_rolling_wheel.")
        if inside and float(radius) == float(second_radius):
            raise ModelError(f"rolling discs {name!r}: a disc of the ring's own radius cannot roll inside it.")
        sides = [s.at(0.0, 0.0) if isinstance(s, Body) else s for s in (first, second)]
        sign = -1.0 if inside else 1.0
        return self._join("disc on disc", name, *sides, radius=radius, second_radius=second_radius, sign=sign)

    def add_gear(self, name: str, first: str, second: str, *, ratio: Any, offset: Any = 0.0) -> Coupler:
        """Couple two joint coordinates: second = ratio * first + offset."""
        if not is_number(ratio) or float(ratio) == 0:
            raise ModelError(f"gear {name!r}: ratio must be a non-zero number, got {ratio!r}.")
        what = f"gear {name!r}"
        number(offset, f"offset of {what}")
        coupler = Coupler(name, name_of(first, f"{what}: first"), name_of(second, f"{what}: second"), ratio, offset)
        self.couplers.append(coupler)
        return coupler

    def add_rack_and_pinion(self, name: str, pinion: str, rack: str, *, radius: Any, offset: Any = 0.0) -> Coupler:
        """Couple a turning and a sliding joint: displacement = radius * angle + offset."""
        if not is_number(radius) or float(radius) == 0:
            raise ModelError(f"rack and pinion {name!r}: radius must be a non-zero number, got {radius!r}.")
        what = f"rack and pinion {name!r}"
        number(offset, f"offset of {what}")
        pinion, rack = name_of(pinion, f"{what}: pinion"), name_of(rack, f"{what}: rack")
        coupler = Coupler(name, pinion, rack, radius, offset, "rack and pinion")
        self.couplers.append(coupler)
        return coupler

    def add_driver(self, name: str, coordinate: str, motion: Any) -> Driver:
        """Prescribe a coordinate (``"A.angle"``, ``"crank.x"``): a number, a function of time or a Record.

        ``"plate.rotation"`` prescribes the orientation of a body in space: a `da.rotation`, a rotation vector or a
        quaternion, or a function of time that gives one; ``"plate.pose"`` its x, y, z followed by one of these. Three
        drivers of ``"plate.rx"``, ``"plate.ry"`` and ``"plate.rz"`` do the same, with an effort each. A Record of up to
        1000 samples prescribes them by splines of degree five; before and after its times the coordinate is held.
        """
        coordinate = name_of(coordinate, f"driver {name!r}: coordinate")
        what = f"motion of driver {name!r}"
        if isinstance(motion, Record):
            from dalembert.model.recorded import recorded_driver

            motion = recorded_driver(motion, coordinate, what)
        if not callable(motion) and coordinate.endswith((".rotation", ".pose")):
            from dalembert.model.orientation import as_rotation, split_pose

            (as_rotation if coordinate.endswith(".rotation") else split_pose)(motion, what)
        elif not callable(motion) and not is_number(motion):
            raise ModelError(f"driver {name!r}: motion must be a number or a function of time, got {motion!r}.")
        driver = Driver(name, coordinate, motion)
        self.drivers.append(driver)
        return driver

    def add_constraint(self, name: str, function: Callable[[Any], Any], *, level: str = "position") -> UserConstraint:
        """Any constraint as a function of the state ``s``.

        level "position": returns phi(s), zero; "velocity": returns c(s), zero, may use velocities (also
        nonlinearly); "acceleration": returns the residual D(s) v̇ - d(s), with ``s.acceleration_of(name)``
        for the entries of v̇, and must be affine in them.
        """
        if level not in ("position", "velocity", "acceleration"):
            raise ModelError(
                f"constraint {name!r}: level must be 'position', 'velocity' or 'acceleration', not {level!r}."
            )
        if not callable(function):
            raise ModelError(f"constraint {name!r}: expected a function of the state, got {function!r}.")
        constraint = UserConstraint(name, level, function)
        self.constraints.append(constraint)
        return constraint

    def add_variable(self, name: str, start: float = 0.0) -> Variable:
        """An extra coordinate without mass, to be used in constraints as ``s[name]``."""
        if not is_number(start):
            raise ModelError(f"variable {name!r}: start must be a finite number, got {start!r}.")
        variable = Variable(name, float(start))
        self.variables.append(variable)
        return variable


def apply_rotation(body: Body, direction: Any) -> list[float]:
    """World direction of a body direction in the drawing's pose."""
    return [sum(body.rotation[i][k] * direction[k] for k in range(3)) for i in range(3)]
