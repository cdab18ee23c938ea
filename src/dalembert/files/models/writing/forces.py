"""Forces and sensors of a mechanism as tables of a model file."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dalembert.expressions import Quantity, cos, sin
from dalembert.expressions.quantities import PiecewiseLinear
from dalembert.files.models.values.laws import SpringLaw, StateLaw
from dalembert.model import Frame, Point
from dalembert.model import forces as f
from dalembert.model.actuators import DCMotor, FirstOrderLag

if TYPE_CHECKING:
    from dalembert.files.models.writing.document import Document

_MODELS = {FirstOrderLag: "first-order lag", DCMotor: "dc motor"}
_COORDINATE = {
    ("coordinate", "rad"): "angle",
    ("coordinate", "m"): "displacement",
    ("coordinate rate", "rad/s"): "rate",
    ("coordinate rate", "m/s"): "speed",
    ("coordinate acceleration", ""): "joint acceleration",
}


def force_table(document: Document, force: Any) -> dict[str, Any]:
    what = f"force {force.name!r}"
    writer = {f.Spring: _spring, f.JointSpring: _spring, f.Bushing: _bushing, f.PointForce: _force, f.Torque: _torque,
              f.Contact: _contact, f.Actuator: _actuator, f.Friction: _joint_force, f.Stop: _joint_force}  # fmt: skip
    return writer[type(force)](document, force, what)


def _numbers(document: Document, force: Any, what: str, *keys: str) -> dict[str, Any]:
    """Those of the numbers that are given."""
    found = ((key, getattr(force, key)) for key in keys)
    return {key: document.number(value, what) for key, value in found if value is not None}


def _spring(document: Document, force: Any, what: str) -> dict[str, Any]:
    table: dict[str, Any] = {"type": "spring"}
    if isinstance(force, f.JointSpring):
        table["joint"] = force.coordinate
        free = "free"
    else:
        table |= {"a": document.place(force.a, what), "b": document.place(force.b, what)}
        free = "free_length"
    table |= _numbers(document, force, what, "stiffness", "damping", free, "preload")
    if isinstance(force.law, PiecewiseLinear):
        table["law"] = {"table": [list(pair) for pair in zip(force.law.x, force.law.y, strict=True)]}
    elif force.law is not None:
        table["law"] = document.law(force.law, SpringLaw, f"the law of spring {force.name!r}")[0]
    return table


def _bushing(document: Document, force: Any, what: str) -> dict[str, Any]:
    keys = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
    ends = {side: document.place(getattr(force, side), what) for side in ("a", "b")}
    return {"type": "bushing", **ends, **{key: document.values(getattr(force, key), what) for key in keys}}


def _input(force: Any) -> dict[str, Any]:
    found = {} if force.input is None else {"input": force.input}
    return {**found, "axes": force.axes} if force.axes != "world" else found


def _force(document: Document, force: Any, what: str) -> dict[str, Any]:
    amount: Any = document.law(force.force, StateLaw, what) if callable(force.force) else None
    if amount is None:
        amount = document.values(force.force, what)
    return {"type": "force", "point": document.place(force.point, what), "force": amount, **_input(force)}


def _torque(document: Document, force: Any, what: str) -> dict[str, Any]:
    if callable(force.torque):
        amount: Any = document.law(force.torque, StateLaw, what)
        amount = amount[0] if len(amount) == 1 else amount
    elif isinstance(force.torque, (tuple, list)):
        amount = document.values(force.torque, what)
    else:
        amount = document.number(force.torque, what)
    return {"type": "torque", "body": force.body.name, "torque": amount, **_input(force)}


def _joint_force(document: Document, force: Any, what: str) -> dict[str, Any]:
    if isinstance(force, f.Friction):
        numbers = _numbers(document, force, what, "viscous", "coulomb", "static", "radius", "speed", "preload")
        return {"type": "friction", "joint": force.joint, **numbers}
    numbers = _numbers(document, force, what, "lower", "upper", "stiffness", "damping")
    return {"type": "stop", "joint": force.coordinate, **numbers}


def _contact(document: Document, force: Any, what: str) -> dict[str, Any]:
    table: dict[str, Any] = {"type": "contact"}
    if document.m.planar:  # the frame's y is the normal
        angle = force.plane.angle
        table["plane"] = document.place(Point(force.plane.body, force.plane.coordinates), what)
        table["normal"] = document.values(_normal(angle), what)
    else:
        table["plane"] = document.place(force.plane, what)
    table["point"] = document.place(force.point, what)
    keys = ("radius", "stiffness", "damping", "exponent", "friction", "speed")
    return {**table, **_numbers(document, force, what, *keys)}


def _normal(angle: Any) -> list[Any]:
    """The normal of a planar frame; where it was made from a normal with parameters, that one."""
    if isinstance(angle, Quantity) and angle.operation == "-":
        turned, quarter = angle.arguments
        if isinstance(turned, Quantity) and turned.operation == "atan2" and quarter == math.pi / 2:
            return [turned.arguments[1], turned.arguments[0]]
    return [-sin(angle), cos(angle)]


def _actuator(document: Document, force: Any, what: str) -> dict[str, Any]:
    model = force.model
    table = {"type": "actuator", "joint": force.coordinate, **({} if force.input is None else {"input": force.input})}
    if callable(force.effort):
        return {**table, "effort": document.law(force.effort, StateLaw, what)[0]}
    if model is None:
        return {**table, "effort": document.number(force.effort, what)}
    numbers = _numbers(document, model, what, *(field.name for field in fields(model)))
    return {**table, "model": {"type": _MODELS[type(model)], **numbers}}


def sensor_table(document: Document, sensor: Any) -> dict[str, Any]:
    measure, what = sensor.measure, f"sensor {sensor.name!r}"
    kind = measure.kind
    if kind.startswith("coordinate"):
        name = _COORDINATE.get((kind, measure.unit))
        if name is None:
            document.refused.append(f"{what}: a measure of {kind!r} in {measure.unit!r} has no name in files.")
        return {"type": name, "joint": measure.target}
    if kind == "orientation":
        return {"type": kind, "body": document.place(measure.target, what, own_axes=isinstance(measure.target, Frame)),
                "form": measure.axes}  # fmt: skip
    if kind == "distance":
        return {"type": kind, "a": document.place(measure.target, what), "b": document.place(measure.to, what)}
    if kind == "reaction":
        return {"type": kind, "joint": measure.target, "axes": measure.axes}
    if kind == "spring force":
        return {"type": kind, "spring": measure.target}
    if kind == "energy":
        return {"type": kind}
    if kind == "expression":
        expressions = document.law(measure.function, StateLaw, what)
        return {"type": kind, "expression": expressions[0], "unit": measure.unit}
    return {"type": kind, "point": document.place(measure.target, what)}
