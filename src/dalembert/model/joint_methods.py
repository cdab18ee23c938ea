"""The methods of a mechanism that add joints.

`add_joint` adds a joint of any registered kind. The others name the built-in kinds for completion and type checkers; a
kind of another package has a method ``add_<kind>`` as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.expressions.quantities import atan2
from dalembert.model.bodies import (
    IDENTITY,
    THRESHOLDS,
    Body,
    Frame,
    Place,
    Point,
    Scalar,
    Vector,
    axes_from,
    matmul,
    transpose,
    vector,
)
from dalembert.model.joints import JOINTS, Joint, JointKind
from dalembert.model.joints.joint import PLACEMENT
from dalembert.model.options import REQUIRED


class JointMethods:
    """The `add_*` methods of joints; part of `Mechanism`.

    Here as in all joints, `axis` is in the axes of each body where they are given by points; in world axes, of the
    drawing, where they are given by `at`.
    """

    planar: bool
    joints: list[Joint]

    def add_joint(self, kind: str, name: str, a: Place, b: Place, **options: Any) -> Joint:
        """A joint of a registered kind between a place of the first body and one of the second.

        kind : "revolute", "screw", ...; `dalembert.model.joints.JOINTS` lists them.
        options : those of the kind; see the method of its name or `docs/model-files-reference.md`.
        """
        declared = JOINTS[kind]
        what, where = f"{kind} joint {name!r}", {"joint": name}
        if declared.rows[1 if self.planar else 0] is None:
            use = Advice("Use {}.", Call(f"m.add_{declared.instead.replace(' ', '_')}"))
            problem = f"{what} does not exist in a {'planar' if self.planar else 'spatial'} mechanism."
            raise ModelError("not-supported", problem, *([use] if declared.instead else ()), where=where)
        given = self._complete(declared, what, options)
        joint = Joint(
            name,
            kind,
            *self._frames(declared, what, a, b, given),
            {one.name: given[one.name] for one in declared.options if one.form not in PLACEMENT},
        )
        if declared.check is not None:
            declared.check(joint, given)
        self.joints.append(joint)
        return joint

    def _complete(self, kind: JointKind, what: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a kind: given, or their defaults; checked."""
        known = [one.name for one in kind.options]
        for key in options:
            if key not in known:
                problem = unknown_name("argument", key, known, what)
                raise ModelError("unknown-argument", problem, where={"argument": key})
        found: dict[str, Any] = {}
        for one in kind.options:
            value = options.get(one.name, one.default)
            if value is REQUIRED:
                problem = f"{what} needs {one.name}: {one.doc}."
                raise ModelError("missing-argument", problem, where={"argument": one.name})
            if self.planar and one.spatial and value is not None:
                problem = f"{what}: in the plane every angle is about z."
                advice = Advice("Leave out {}.", Argument(one.name))
                raise ModelError("ineffective-argument", problem, advice, where={"argument": one.name})
            found[one.name] = value if one.check is None else one.check(value, f"{one.name} of {what}")
        return found

    def _frames(self, kind: JointKind, what: str, a: Place, b: Place, given: Mapping[str, Any]) -> tuple[Frame, Frame]:
        at, axis = given.get("at"), given.get("axis")
        if self.planar:
            angle = None if axis is None else _angle(axis, what)
            first, second = (self._planar_frame(kind, what, side, at, angle) for side in (a, b))
            return first, second
        (first_key, first_default), (second_key, second_default) = kind.directions
        z, x = given.get(first_key), given.get("x")
        z = first_default if z is None else z
        own = given.get(second_key)
        if own is None and second_default is None:
            return self._spatial_frame(kind, what, a, at, z, x), self._spatial_frame(kind, what, b, at, z, x)
        own = second_default if own is None else own
        return self._spatial_frame(kind, what, a, at, z, x), self._spatial_frame(kind, what, b, at, own, None)

    def _planar_frame(self, kind: JointKind, what: str, side: Place, at: Vector | None, angle: Any) -> Frame:
        if isinstance(side, Frame):
            return side
        turned = 0.0 if angle is None else angle
        if isinstance(side, Body) and at is not None:
            return Frame(side, side.local(at, f"place of {what}"), IDENTITY, turned - side.angle)
        point = _point(kind, what, side)
        return Frame(point.body, point.coordinates, IDENTITY, turned)

    def _spatial_frame(self, kind: JointKind, what: str, side: Place, at: Vector | None, z: object, x: object) -> Frame:
        if isinstance(side, Frame):
            return side
        if isinstance(side, Body) and at is not None:
            local, world = side.local(at, f"place of {what}"), axes_from(z, x, f"axis of {what}")
            return Frame(side, local, matmul(transpose(side.rotation), world))
        point = _point(kind, what, side)
        return Frame(point.body, point.coordinates, axes_from(z, x, f"axis of {what}"))

    def add_fixed(self, name: str, a: Place, b: Place, *, at: Vector | None = None) -> Joint:
        """Weld two frames together."""
        return self.add_joint("fixed", name, a, b, at=at)

    def add_revolute(
        self,
        name: str,
        a: Place,
        b: Place,
        *,
        at: Vector | None = None,
        axis: Vector | None = None,
        axis_b: Vector | None = None,
        x: Vector | None = None,
    ) -> Joint:
        """Hinge about `axis` (z by default). Coordinate ``name.angle``.

        Here as in all joints, `axis` is in the axes of each body where they are given by points; in world axes, of the
        drawing, where they are given by `at`.
        """
        return self.add_joint("revolute", name, a, b, at=at, axis=axis, axis_b=axis_b, x=x)

    def add_prismatic(
        self,
        name: str,
        a: Place,
        b: Place,
        *,
        at: Vector | None = None,
        axis: Vector | None = None,
        axis_b: Vector | None = None,
    ) -> Joint:
        """Slide along `axis` (spatial default z, planar default x) of the first body. ``name.displacement``."""
        return self.add_joint("prismatic", name, a, b, at=at, axis=axis, axis_b=axis_b)

    def add_cylindrical(
        self,
        name: str,
        a: Place,
        b: Place,
        *,
        at: Vector | None = None,
        axis: Vector | None = None,
        axis_b: Vector | None = None,
    ) -> Joint:
        """Slide along and turn about `axis`. Coordinates ``name.displacement`` and ``name.angle``."""
        return self.add_joint("cylindrical", name, a, b, at=at, axis=axis, axis_b=axis_b)

    def add_universal(
        self,
        name: str,
        a: Place,
        b: Place,
        *,
        at: Vector | None = None,
        axis: Vector | None = None,
        second_axis: Vector | None = None,
    ) -> Joint:
        """Cardan joint: `axis` on the first body (z) stays square to `second_axis` on the second (x).

        Coordinates ``name.angle1`` and ``name.angle2``.
        """
        return self.add_joint("universal", name, a, b, at=at, axis=axis, second_axis=second_axis)

    def add_spherical(self, name: str, a: Place, b: Place, *, at: Vector | None = None) -> Joint:
        """Ball joint: the two points coincide."""
        return self.add_joint("spherical", name, a, b, at=at)

    def add_planar(
        self,
        name: str,
        a: Place,
        b: Place,
        *,
        at: Vector | None = None,
        axis: Vector | None = None,
        axis_b: Vector | None = None,
    ) -> Joint:
        """Plane on plane, square to `axis`. Coordinates ``name.x``, ``name.y``, ``name.angle``."""
        return self.add_joint("planar", name, a, b, at=at, axis=axis, axis_b=axis_b)

    def add_screw(
        self, name: str, a: Place, b: Place, *, lead: Scalar, at: Vector | None = None, axis: Vector | None = None
    ) -> Joint:
        """Screw along `axis`: displacement = lead * angle / 2π, lead in metres per turn."""
        return self.add_joint("screw", name, a, b, at=at, axis=axis, lead=lead)

    def add_massless_rod(self, name: str, a: Place, b: Place, *, length: Scalar) -> Joint:
        """Rigid rod without mass: the distance of two points stays `length`."""
        return self.add_joint("massless rod", name, a, b, length=length)

    def add_point_on_line(
        self, name: str, a: Place, b: Place, *, at: Vector | None = None, axis: Vector | None = None
    ) -> Joint:
        """A point of the second body stays on a line of the first (along `axis`). ``name.displacement``."""
        return self.add_joint("point on line", name, a, b, at=at, axis=axis)

    def add_pin_in_slot(
        self, name: str, a: Place, b: Place, *, at: Vector | None = None, axis: Vector | None = None
    ) -> Joint:
        """A pin of the second body slides in a straight slot of the first (planar; along `axis`, x by default)."""
        return self.add_joint("pin in slot", name, a, b, at=at, axis=axis)

    def add_point_on_plane(
        self, name: str, a: Place, b: Place, *, at: Vector | None = None, axis: Vector | None = None
    ) -> Joint:
        """A point of the second body stays on a plane of the first, square to `axis`."""
        return self.add_joint("point on plane", name, a, b, at=at, axis=axis)

    def add_point_on_curve(
        self, name: str, a: Place, b: Place, *, curve: Callable[[Any], Any], start: float = 0.0
    ) -> Joint:
        """A point of the second body stays on a curve of the first, ``curve(s) -> (x, y[, z])`` in its frame.

        The curve parameter becomes the coordinate ``name.parameter``; `start` is its guess.
        """
        return self.add_joint("point on curve", name, a, b, curve=curve, start=start)

    def add_rolling_wheel(
        self,
        name: str,
        a: Place,
        b: Place,
        *,
        radius: Scalar,
        axis: Vector | None = None,
        normal: Vector | None = None,
    ) -> Joint:
        """A thin disc, the second body, rolls without slip on a plane of the first (on a line, in the plane).

        `normal` is the plane's normal in the first body's axes (default z, planar y), `axis` the wheel's axle in
        the second body's axes (default y).
        """
        return self.add_joint("rolling wheel", name, a, b, radius=radius, axis=axis, normal=normal)

    def add_rolling_sphere(
        self, name: str, a: Place, b: Place, *, radius: Scalar, normal: Vector | None = None
    ) -> Joint:
        """A sphere, the second body, rolls without slip on a plane of the first (normal z by default)."""
        return self.add_joint("rolling sphere", name, a, b, radius=radius, normal=normal)

    def add_rolling_discs(
        self, name: str, a: Place, b: Place, *, radius: Scalar, second_radius: Scalar, inside: bool = False
    ) -> Joint:
        """A planar disc rolls without slip on another; `inside`: the second rolls inside the ring of the first."""
        options = {"radius": radius, "second_radius": second_radius, "inside": inside}
        return self.add_joint("rolling discs", name, a, b, **options)


def _point(kind: JointKind, what: str, side: Place) -> Point:
    """A point, or the origin of a body where the kind has no place in the drawing."""
    if isinstance(side, Point):
        return side
    if not isinstance(side, Body):
        problem = f"{what}: expected a point, a frame or a body, got {side!r}."
        raise ModelError("wrong-type", problem, Advice("Points are made by {}.", Call("body.at")))
    if any(one.name == "at" for one in kind.options):
        raise ModelError(
            "missing-argument",
            f"{what} joins bodies, and its place is not given.",
            Advice("Give points or the place in the drawing: {}.", Call("body.at"), Argument("at")),
            where={"body": side.name},
        )
    return side.at(*(0.0,) * side.dimension)


def _angle(axis: Vector, what: str) -> Any:
    """Angle of a direction in the plane."""
    x, y = vector(axis, 2, f"axis of {what}")
    if math.hypot(float(x), float(y)) < THRESHOLDS.length:
        raise ModelError("zero-length", f"axis of {what} has zero length.")
    return atan2(y, x)
