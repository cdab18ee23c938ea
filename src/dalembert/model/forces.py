"""Forces as data, and the methods that add them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.expressions.quantities import atan2
from dalembert.model.actuators import DCMotor, FirstOrderLag
from dalembert.model.bodies import Body, Frame, Point, axes_from, is_number, name_of, not_negative, number, vector


@dataclass(frozen=True)
class Spring:
    """Tension between two points: preload + stiffness (l - l₀) + damping l̇, or law(l - l₀, l̇)."""

    name: str
    a: Point
    b: Point
    stiffness: Any
    damping: Any
    free_length: Any
    preload: Any
    law: Any


@dataclass(frozen=True)
class JointSpring:
    """Effort along a joint coordinate: -(preload + stiffness (s - s₀) + damping ṡ), or -law(s - s₀, ṡ)."""

    name: str
    coordinate: str
    stiffness: Any
    damping: Any
    free: Any
    preload: Any
    law: Any


@dataclass(frozen=True)
class Bushing:
    """Six springs and dampers between two frames (three in the plane), acting at the second frame's origin."""

    name: str
    a: Frame
    b: Frame
    stiffness: tuple[Any, ...]
    damping: tuple[Any, ...]
    rotational_stiffness: tuple[Any, ...]
    rotational_damping: tuple[Any, ...]


@dataclass(frozen=True)
class PointForce:
    """A force on a point: constant, function of the state, or an input times a direction."""

    name: str
    point: Point
    force: Any
    axes: str
    input: str | None


@dataclass(frozen=True)
class Torque:
    """A torque on a body: constant, function of the state, or an input times a direction."""

    name: str
    body: Body
    torque: Any
    axes: str
    input: str | None


@dataclass(frozen=True)
class Friction:
    """Friction in a joint: viscous, and Coulomb in proportion to the joint's own reaction.

    speed : of the regularised law; None is exact stick and slip.  static : coefficient at rest; None is `coulomb`.
    """

    name: str
    joint: str
    viscous: Any
    coulomb: Any
    radius: Any
    speed: Any
    preload: Any
    static: Any = None

    def coordinates(self, joint: Any) -> list[tuple[str, str]]:
        """(name, unit) of the coordinates of its joint with Coulomb friction: an angle needs a radius."""
        pairs = [(f"{joint.name}.{name}", unit) for name, _, unit in joint.coordinates]
        return [(n, u) for n, u in pairs if float(self.coulomb) > 0 and (u != "rad" or self.radius is not None)]


@dataclass(frozen=True)
class Stop:
    """Compliant limits of a joint coordinate."""

    name: str
    coordinate: str
    lower: Any
    upper: Any
    stiffness: Any
    damping: Any


@dataclass(frozen=True)
class Contact:
    """One-sided compliant contact of a point or sphere with a plane."""

    name: str
    plane: Frame
    point: Point
    radius: Any
    stiffness: Any
    damping: Any
    exponent: Any
    friction: Any
    speed: Any


@dataclass(frozen=True)
class Actuator:
    """An effort along a joint coordinate: constant, function of the state, times an input, or through a model."""

    name: str
    coordinate: str
    input: str | None
    effort: Any = 1.0
    model: FirstOrderLag | DCMotor | None = None


def _not_negative(what: str, **values: Any) -> None:
    for key, value in values.items():
        not_negative(value, f"{what}: {key}")


def _numbers(what: str, **values: Any) -> None:
    for key, value in values.items():
        number(value, f"{what}: {key}")


def _channel(what: str, channel: Any) -> str | None:
    """Checked name of an input channel."""
    if channel is not None and not isinstance(channel, str):
        raise ModelError(f"{what}: input must be the name of a channel, got {channel!r}.")
    return channel


class ForceMethods:
    """The `add_*` methods of forces; part of `Mechanism`."""

    planar: bool
    forces: list[Any]

    def _point(self, what: str, place: Any) -> Point:
        if isinstance(place, Body):
            return place.at(*(0.0,) * place.dimension)
        if isinstance(place, Frame):
            return Point(place.body, place.coordinates)
        if not isinstance(place, Point):
            raise ModelError(f"{what}: expected a point (body.at(...)), got {place!r}.")
        return place

    def _frame(self, what: str, place: Any, axis: Any = None) -> Frame:
        if isinstance(place, Frame):
            return place
        return self._point(what, place).frame(axis=axis)

    def add_spring(
        self,
        name: str,
        a: Any = None,
        b: Any = None,
        *,
        joint: str | None = None,
        stiffness: Any = 0.0,
        damping: Any = 0.0,
        free_length: Any = None,
        free: Any = None,
        preload: Any = 0.0,
        law: Any = None,
    ) -> Spring | JointSpring:
        """Spring-damper between two points, or along a joint coordinate (``joint="A"``).

        Without load, two points are `free_length` apart [m] and a joint stands at `free` [rad or m]; both zero if left
        out. `law(extension, speed)` (or ``da.math.table(x, force)``) replaces stiffness and damping; its
        value at zero speed counts as elastic, its integral over the extension as potential energy.
        """
        what = f"spring {name!r}"
        if joint is not None and free_length is not None:
            raise ModelError(f"{what} acts along a joint: give free= (its coordinate without load), not free_length=.")
        if joint is None and free is not None:
            raise ModelError(f"{what} is between points: give free_length= (their distance without load), not free=.")
        free_length, free = 0.0 if free_length is None else free_length, 0.0 if free is None else free
        _numbers(what, stiffness=stiffness, free_length=free_length, free=free, preload=preload)
        _not_negative(what, damping=damping, free_length=free_length)
        if law is not None and not callable(law):
            raise ModelError(f"{what}: law must be a function of extension and speed, got {law!r}.")
        spring: Spring | JointSpring
        if joint is not None:
            if a is not None or b is not None:
                raise ModelError(f"{what}: give either two points or a joint, not both.")
            spring = JointSpring(name, name_of(joint, f"{what}: joint"), stiffness, damping, free, preload, law)
        else:
            spring = Spring(
                name, self._point(what, a), self._point(what, b), stiffness, damping, free_length, preload, law
            )
        self.forces.append(spring)
        return spring

    def add_damper(
        self, name: str, a: Any = None, b: Any = None, *, joint: str | None = None, damping: Any
    ) -> Spring | JointSpring:
        """Viscous damper between two points, or along a joint coordinate."""
        return self.add_spring(name, a, b, joint=joint, damping=damping)

    def add_bushing(
        self,
        name: str,
        a: Any,
        b: Any,
        *,
        stiffness: Any = 0.0,
        damping: Any = 0.0,
        rotational_stiffness: Any = 0.0,
        rotational_damping: Any = 0.0,
    ) -> Bushing:
        """Elastic joint: springs and dampers along and about the axes of the first frame, at the second's origin.

        The angles are the rotation vector θ from the first frame to the second: V = ½ Σ kᵢ θᵢ², the torque its
        derivative, for turns below half a turn (beyond it θ takes the shorter way round and the torque changes sign).
        """
        what = f"bushing {name!r}"
        turns = 1 if self.planar else 3
        size = 2 if self.planar else 3

        def spread(key: str, value: Any, count: int) -> tuple[Any, ...]:
            values = (value,) * count if is_number(value) else vector(value, count, f"{what}: {key}")
            return tuple(not_negative(x, f"{what}: {key}") for x in values)

        bushing = Bushing(
            name,
            self._frame(what, a),
            self._frame(what, b),
            spread("stiffness", stiffness, size),
            spread("damping", damping, size),
            spread("rotational_stiffness", rotational_stiffness, turns),
            spread("rotational_damping", rotational_damping, turns),
        )
        self.forces.append(bushing)
        return bushing

    def add_force(
        self, name: str, point: Any, force: Any = None, *, input: str | None = None, axes: str = "world"
    ) -> PointForce:
        """Force on a point: a vector, a function of the state, or an input along the direction `force`."""
        what = f"force {name!r}"
        if axes not in ("world", "body"):
            raise ModelError(f"{what}: axes must be 'world' or 'body', not {axes!r}.")
        if force is None:
            raise ModelError(f"{what}: give the force as a vector or a function (with input=, its direction).")
        if not callable(force):
            force = vector(force, 2 if self.planar else 3, what)
        result = PointForce(name, self._point(what, point), force, axes, _channel(what, input))
        self.forces.append(result)
        return result

    def add_torque(
        self, name: str, body: Any = None, torque: Any = None, *, input: str | None = None, axes: str = "world"
    ) -> Torque:
        """Torque on a body: a vector (a number in the plane), a function of the state, or an input along `torque`."""
        what = f"torque {name!r}"
        if not isinstance(body, Body):
            advice = [Advice("For a joint use {}.", Call("m.add_actuator", Argument("joint", body)))]
            problem = f"{what}: expected a body, got {body!r}."
            raise ModelError("wrong-type", problem, *(advice if isinstance(body, str) else []), where={"force": name})
        if axes not in ("world", "body"):
            raise ModelError(f"{what}: axes must be 'world' or 'body', not {axes!r}.")
        if torque is None:
            if input is None:
                raise ModelError(f"{what}: give torque=, or input= with the name of an input channel.")
            if not self.planar:
                raise ModelError(f"{what}: with input=, give the direction as torque=(x, y, z).")
            torque = 1.0
        if not callable(torque):
            if self.planar:
                _numbers(what, torque=torque)
            else:
                torque = vector(torque, 3, what)
        result = Torque(name, body, torque, axes, _channel(what, input))
        self.forces.append(result)
        return result

    def add_friction(
        self,
        name: str,
        joint: str,
        *,
        viscous: Any = 0.0,
        coulomb: Any = 0.0,
        radius: Any = None,
        speed: Any = None,
        preload: Any = 0.0,
        static: Any = None,
    ) -> Friction:
        """Friction in a revolute, prismatic or cylindrical joint.

        Coulomb: the limit is the coefficient times (reaction square to the motion + `preload`), times `radius` for a
        hinge. A coordinate slides with the limit against it, or sticks while the effort that holds it stays below the
        limit; `static` is the coefficient of that limit where it differs from `coulomb`, the one of sliding. A run
        finds every change between the two as an event.

        With `speed` the law is regularised instead, limit times ṡ / sqrt(ṡ² + speed²): nothing sticks, what is loaded
        creeps, and a small `speed` is stiff. Filters, fits and whatever else needs smooth equations use this law with
        1e-3 m/s (rad/s) where `speed` is left out.
        """
        what = f"friction {name!r}"
        _not_negative(what, viscous=viscous, coulomb=coulomb, preload=preload)
        if speed is not None and (not is_number(speed) or float(speed) <= 0):
            raise ModelError(f"{what}: the regularisation speed must be positive, got {speed!r}.")
        if static is not None:
            _not_negative(what, static=static)
            if float(static) < float(coulomb):
                raise ModelError(f"{what}: static ({float(static):g}) must not be below coulomb ({float(coulomb):g}).")
            if speed is not None:
                raise ModelError(f"{what}: static needs exact stick and slip; leave speed= out.")
        if radius is not None:
            _not_negative(what, radius=radius)
        friction = Friction(name, name_of(joint, f"{what}: joint"), viscous, coulomb, radius, speed, preload, static)
        self.forces.append(friction)
        return friction

    def add_stop(
        self, name: str, joint: str, *, lower: Any = None, upper: Any = None, stiffness: Any, damping: Any = 0.0
    ) -> Stop:
        """Compliant stops of a joint coordinate: beyond a limit, stiffness times depth, with damping while closing."""
        what = f"stop {name!r}"
        if lower is None and upper is None:
            raise ModelError(f"{what}: give lower=, upper= or both.")
        _not_negative(what, stiffness=stiffness, damping=damping)
        for key, value in (("lower", lower), ("upper", upper)):
            if value is not None:
                _numbers(what, **{key: value})
        if lower is not None and upper is not None and float(lower) >= float(upper):
            raise ModelError(f"{what}: lower ({float(lower):g}) is not below upper ({float(upper):g}).")
        stop = Stop(name, name_of(joint, f"{what}: joint"), lower, upper, stiffness, damping)
        self.forces.append(stop)
        return stop

    def add_contact(
        self,
        name: str,
        plane: Any,
        point: Any,
        *,
        normal: Any = None,
        radius: Any = 0.0,
        stiffness: Any,
        damping: Any = 0.0,
        exponent: Any = 1.0,
        friction: Any = 0.0,
        speed: Any = 1e-3,
    ) -> Contact:
        """One-sided contact of a point (or sphere of `radius`) with a plane: stiffness depth^exponent (1 + damping ḋ).

        `normal` is in the axes of the plane's body (spatial default z, planar default y). Never pulls.
        """
        what = f"contact {name!r}"
        _not_negative(what, stiffness=stiffness, damping=damping, radius=radius, friction=friction)
        for key, value in (("exponent", exponent), ("speed", speed)):
            if float(number(value, f"{what}: {key}")) <= 0:
                raise ModelError(f"{what}: {key} must be positive, got {float(value):g}.")
        if self.planar:
            nx, ny = (0.0, 1.0) if normal is None else vector(normal, 2, f"normal of {what}")
            if math.hypot(float(nx), float(ny)) < 1e-12:
                raise ModelError(f"normal of {what} has zero length.")
            base = self._point(what, plane)
            frame = Frame(base.body, base.coordinates, angle=atan2(ny, nx) - math.pi / 2)
        elif isinstance(plane, Frame):
            frame = plane
        else:
            base = self._point(what, plane)
            axes = axes_from((0, 0, 1) if normal is None else normal, what=f"normal of {what}")
            frame = Frame(base.body, base.coordinates, axes)
        contact = Contact(name, frame, self._point(what, point), radius, stiffness, damping, exponent, friction, speed)
        self.forces.append(contact)
        return contact

    def add_actuator(
        self,
        name: str,
        joint: str,
        *,
        input: str | None = None,
        effort: Any = None,
        model: FirstOrderLag | DCMotor | None = None,
    ) -> Actuator:
        """Drive a joint: a torque about a hinge, a force along a slide, on the second body and opposite on the first.

        The effort is the value of the channel `input`, times `effort` (a number or a function of the state) where that
        is given; without an input it is `effort` itself. With a `model` (`da.FirstOrderLag`, `da.DCMotor`) the input
        drives that model. Of a joint with several coordinates name one: ``joint="C.angle"``.
        """
        what = f"actuator {name!r}"
        channel = _channel(what, input)
        if channel is None and (effort is None or model is not None):
            raise ModelError(f"{what}: input must be the name of a channel, got None.")
        if model is not None and effort is not None:
            raise ModelError(f"{what}: give effort= or model=, not both.")
        effort = 1.0 if effort is None else effort
        if not callable(effort):
            _numbers(what, effort=effort)
        if model is not None:
            _check_model(what, model)
        actuator = Actuator(name, name_of(joint, f"{what}: joint"), channel, effort, model)
        self.forces.append(actuator)
        return actuator


def _check_model(what: str, model: Any) -> None:
    if not isinstance(model, (FirstOrderLag, DCMotor)):
        raise ModelError(f"{what}: model must be da.FirstOrderLag(...) or da.DCMotor(...), got {model!r}.")
    for field in fields(model):
        if getattr(model, field.name) is not None:
            _numbers(what, **{field.name: getattr(model, field.name)})
    if isinstance(model, FirstOrderLag) and not float(model.time_constant) > 0:
        raise ModelError(f"{what}: time_constant must be positive, got {model.time_constant!r}.")
    if isinstance(model, DCMotor):
        _not_negative(
            what, inductance=model.inductance, rotor_inertia=model.rotor_inertia, rotor_damping=model.rotor_damping
        )
        if not float(model.resistance) > 0:
            raise ModelError(f"{what}: resistance must be positive, got {model.resistance!r}.")
