"""Producers written by hand: equations of a Lagrangian, without bodies, joints or a Mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.equations import Channels, EquationsOfMotion, Row, Scene
from dalembert.equations.functions import ARGUMENTS
from dalembert.equations.scene import SceneBody, SceneJoint

SX = ca.SX
GRAVITY = 9.81
ARM = {"inertia": 0.05, "mass": 0.4, "length": 0.8, "stiffness": 60.0, "damping": 0.05}
BOB = {"mass": 1.2, "length": 0.7, "friction": 0.02}


class Lagrangian:
    """M = T_vv and f = T_q - (T_v)_q v - V_q + Q from T(q, v), V(q) and Q(q, v, u), in the names given."""

    def __init__(
        self, coordinates: Mapping[str, str], inputs: Mapping[str, str], parameters: Mapping[str, float]
    ) -> None:
        self.coordinates, self.inputs = Channels(coordinates), Channels(inputs)
        self.speeds = Channels([f"{n}.rate" for n in coordinates], [f"{u}/s" for u in coordinates.values()])
        self.parameters = parameters
        sizes = {"q": len(coordinates), "v": len(coordinates), "a": len(coordinates), "z": 0, "u": len(inputs)}
        sizes |= {"p": len(parameters), "t": 1, "lam": 0}
        self.symbols = {name: SX.sym(name, size) for name, size in sizes.items()}
        self.q, self.v, self.u = (self.symbols[name] for name in "qvu")
        self.p = {name: self.symbols["p"][k] for k, name in enumerate(parameters)}

    def function(self, name: str, *values: Any) -> ca.Function:
        return ca.Function(name, [self.symbols[part] for part in ARGUMENTS[name].split()], list(values))

    def equations(
        self, name: str, T: Any, V: Any, Q: Any, more: Mapping[str, ca.Function] | None = None, **details: Any
    ) -> EquationsOfMotion:
        momentum = ca.gradient(T, self.v)
        f = ca.gradient(T - V, self.q) - ca.jacobian(momentum, self.q) @ self.v + Q
        functions = {"inertia": self.function("inertia", ca.jacobian(momentum, self.v)), **(more or {})}
        functions["forces"] = self.function("forces", f)
        return EquationsOfMotion(
            name=name, coordinates=self.coordinates, speeds=self.speeds, inputs=self.inputs, functions=functions,
            parameters=Channels(self.parameters), parameter_values=tuple(self.parameters.values()), **details,
        )  # fmt: skip


def pendulum() -> EquationsOfMotion:
    """A bob on a massless rod in its one angle from the vertical; its place is a measure, for the picture."""
    made = Lagrangian({"angle": "rad"}, {"torque": "N m"}, BOB)
    m, length, friction = made.p.values()
    angle, rate = made.q[0], made.v[0]
    V = -m * GRAVITY * length * ca.cos(angle)
    T = 0.5 * m * length**2 * rate**2
    place = ca.vertcat(angle, length * ca.sin(angle), -length * ca.cos(angle))
    more = {
        "outputs": made.function("outputs", angle), "measures": made.function("measures", place),
        "energy": made.function("energy", T, V),
    }  # fmt: skip
    rod = SceneBody("bob", ((0.0, 0.0, 0.0), (0.0, BOB["length"], 0.0)), ((0, 1),), pose=("bob.x", "bob.y", "angle"))
    scene = Scene(planar=True, bodies=(rod,), ground=((0.0, 0.0, 0.0),), gravity=(0.0, -GRAVITY, 0.0),
                  joints=(SceneJoint("pivot", "revolute", "bob", (0.0, BOB["length"], 0.0)),))  # fmt: skip
    return made.equations(
        "pendulum", T, V, made.u[0] - friction * rate, more, outputs=Channels({"encoder": "rad"}),
        measures=Channels({"angle": "rad", "bob.x": "m", "bob.y": "m"}),
        measure_rates=Channels({"angle.rate": "rad/s", "bob.vx": "m/s", "bob.vy": "m/s"}), recorded_measures=(0, 1, 2),
        scene=scene,
    )  # fmt: skip


def elastic_arm(gravity: float = GRAVITY) -> EquationsOfMotion:
    """A hub that turns an elastic arm with a mass at its tip: one modal coordinate, the deflection across the arm.

    The tip is at (L, w) in axes of the hub, so the mass matrix depends on w and couples both coordinates:
    T = ½ J θ̇² + ½ m ((L θ̇ + ẇ)² + w² θ̇²).
    """
    made = Lagrangian({"hub": "rad", "deflection": "m"}, {"torque": "N m"}, ARM)
    inertia, m, length, stiffness, damping = made.p.values()
    (hub, w), (hub_rate, w_rate) = ca.vertsplit(made.q), ca.vertsplit(made.v)
    T = 0.5 * inertia * hub_rate**2 + 0.5 * m * ((length * hub_rate + w_rate) ** 2 + w**2 * hub_rate**2)
    height = length * ca.sin(hub) + w * ca.cos(hub)
    V = 0.5 * stiffness * w**2 + m * gravity * height
    tip = ca.vertcat(length * ca.cos(hub) - w * ca.sin(hub), height, hub + 1.5 * w / length)
    more = {
        "outputs": made.function("outputs", ca.vertcat(hub, w)), "energy": made.function("energy", T, V),
        "measures": made.function("measures", ca.vertcat(hub, w, 0, 0, tip)),
    }  # fmt: skip
    bodies = (
        SceneBody("arm", ((0, 0, 0), (ARM["length"], 0, 0)), ((0, 1),), pose=("axle.x", "axle.y", "hub")),
        SceneBody("tip", ((0, -0.05, 0), (0, 0.05, 0)), ((0, 1),), pose=("tip.x", "tip.y", "tip.angle")),
    )
    names = {"hub": "rad", "deflection": "m", "axle.x": "m", "axle.y": "m"}
    return made.equations(
        "elastic arm", T, V, ca.vertcat(made.u[0], -damping * w_rate), more,
        outputs=Channels({"encoder": "rad", "gauge": "m"}), scene=Scene(planar=True, bodies=bodies),
        measures=Channels({**names, "tip.x": "m", "tip.y": "m", "tip.angle": "rad"}),
    )  # fmt: skip


def bead_on_a_ring(radius: float = 0.7) -> EquationsOfMotion:
    """A mass in x and y, held on a ring by one holonomic row that is given by its position function alone."""
    sizes = {"q": 2, "v": 2, "z": 0, "u": 0, "p": 0, "t": 1, "lam": 1}
    names = {name: SX.sym(name, size) for name, size in sizes.items()}
    x, y = ca.vertsplit(names["q"])

    def function(name: str, value: Any) -> ca.Function:
        return ca.Function(name, [names[part] for part in ARGUMENTS[name].split()], [value])

    functions = {
        "inertia": function("inertia", SX.eye(2) * 1.2), "forces": function("forces", ca.vertcat(0, -1.2 * GRAVITY)),
        "position": function("position", (x**2 + y**2 - radius**2) / (2 * radius)),
    }  # fmt: skip
    return EquationsOfMotion(
        name="bead", coordinates=Channels({"x": "m", "y": "m"}), speeds=Channels({"vx": "m/s", "vy": "m/s"}),
        functions=functions, rows=(Row("ring"),),
    )  # fmt: skip
