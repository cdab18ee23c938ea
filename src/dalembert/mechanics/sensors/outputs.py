"""Output expressions of sensors: y = h(q, v, v̇, λ, z, u, t)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.expressions import call_user
from dalembert.mechanics.joints.reactions import reaction_of
from dalembert.mechanics.poses import Twist
from dalembert.mechanics.user_view import as_column
from dalembert.model import Body, Frame, Point
from dalembert.model.measures import FORMS
from dalembert.model.orientation import angles, logarithm, product, quaternion_from_matrix

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute
    from dalembert.mechanics.forces.laws import ForceBuilder

SX = ca.SX
_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Outputs:
    names: list[str]
    units: list[str]
    value: Any


def build_outputs(host: Absolute, forces: ForceBuilder, kinetic: Any, A: Any) -> Outputs:
    names: list[str] = []
    units: list[str] = []
    values: list[Any] = []

    def add(name: str, value: Any, unit: str | list[str], labels: list[str] | None = None) -> None:
        value = SX(value)
        count = value.shape[0]
        values.append(value)
        if count == 1 and labels is None:
            names.append(name)
        else:
            names.extend(f"{name}.{label}" for label in (labels or list(_AXES[:count])))
        units.extend([unit] * count if isinstance(unit, str) else unit)

    space = host.space
    for sensor in host.m.sensors:
        measure = sensor.measure
        kind, target = measure.kind, measure.target
        if kind.startswith("coordinate"):
            measured = host.measure(target)
            if kind == "coordinate":
                add(sensor.name, measured.value, measured.unit)
            elif kind == "coordinate rate":
                add(sensor.name, measured.rate, f"{measured.unit}/s")
            else:
                acceleration = ca.dot(measured.form.transposed_times(SX.ones(1), host.nv), host.a) + measured.bias
                add(sensor.name, acceleration, f"{measured.unit}/s^2")
        elif kind in ("position", "velocity", "acceleration", "accelerometer"):
            add(sensor.name, _point_quantity(host, kind, target), measure.unit)
        elif kind == "gyroscope":
            body = target if isinstance(target, Body) else target.body
            _, twist = host.body_state(body)
            w = twist.w
            if isinstance(target, Frame) and not space.planar:
                w = host.frame_axes(target).T @ w
            add(sensor.name, w, measure.unit)
        elif kind == "orientation":
            p = host.euler_parameters(target if isinstance(target, Body) else target.body)
            if isinstance(target, Frame):
                p = product(p, quaternion_from_matrix(target.axes))
            forms: dict[str, Any] = {"rotation vector": logarithm, "tait-bryan": angles, "quaternion": list}
            value = ca.vertcat(*forms[measure.axes]([p[k] for k in range(4)]))
            add(sensor.name, value, measure.unit, list(FORMS[measure.axes]))
        elif kind == "distance":
            d = _position(host, measure.to) - _position(host, target)
            add(sensor.name, ca.sqrt(ca.dot(d, d)), measure.unit)
        elif kind == "reaction":
            force, torque, axes = reaction_of(host, target)
            if measure.axes == "joint":
                force = axes.T @ force
                torque = torque if space.planar else axes.T @ torque
            turn = ["torque.z"] if space.planar else [f"torque.{k}" for k in _AXES]
            labels = [f"force.{k}" for k in _AXES[: space.dim]] + turn
            add(sensor.name, ca.vertcat(force, torque), ["N"] * space.dim + ["N m"] * space.turns, labels)
        elif kind == "spring force":
            tension, unit = forces.tensions[target]
            add(sensor.name, tension, unit)
        elif kind == "energy":
            add(sensor.name, kinetic + forces.potential, measure.unit)
        else:
            what = f"sensor {sensor.name!r}"
            assert measure.function is not None
            value = as_column(call_user(measure.function, what, host.view()), what, host.p_symbols)
            add(sensor.name, value, measure.unit)
    return Outputs(names, units, ca.vertcat(*values) if values else SX.zeros(0, 1))


def _position(host: Absolute, place: Point | Frame | Body) -> Any:
    pose, _ = host.body_state(place if isinstance(place, Body) else place.body)
    return pose.r if isinstance(place, Body) else pose.r + pose.R @ host.place(place)


def _point_quantity(host: Absolute, kind: str, place: Any) -> Any:
    space = host.space
    body = place if isinstance(place, Body) else place.body
    local = SX.zeros(space.dim) if isinstance(place, Body) else host.place(place)
    pose, twist = host.body_state(body)
    if kind == "position":
        return pose.r + pose.R @ local
    turning = space.spin(pose.R, twist.w)
    if kind == "velocity":
        return twist.v + turning @ local
    columns = host.body_columns(body)
    if columns is None:
        linear = Twist(SX.zeros(space.dim), SX.zeros(space.turns))
    else:
        own = host.a[columns.start : columns.stop]
        linear = Twist(own[0 : space.dim], own[space.dim : space.nv])
    # r̈ + R (α × l + ω × (ω × l))
    acceleration = linear.v + space.spin(pose.R, linear.w) @ local + space.spin(turning, twist.w) @ local
    if kind == "acceleration":
        return acceleration
    proper = pose.R.T @ (acceleration - host.vector(host.m.gravity))
    return host.frame_axes(place).T @ proper if isinstance(place, Frame) else proper
