"""A servo: effort = n clip(gain clip(u) + offset - stiffness n s - damping n ṡ)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import casadi as ca

from dalembert.mechanics.actuators.effort import ACTUATOR_EFFORTS
from dalembert.mechanics.rows import Measured
from dalembert.model.actuators.servo import Servo
from dalembert.model.forces.actuator import Actuator

if TYPE_CHECKING:
    from dalembert.mechanics.forces.force_equations import ForceBuilder


def effort(builder: ForceBuilder, actuator: Actuator, measured: Measured, u: object) -> Any:
    servo, number = cast("Servo", actuator.model), builder.host.number

    def clip(value: Any, lower: Any, upper: Any) -> Any:
        value = value if lower is None else ca.fmax(value, number(lower))
        return value if upper is None else ca.fmin(value, number(upper))

    n = number(servo.gear_ratio)
    own = number(servo.stiffness) * n * measured.value + number(servo.damping) * n * measured.rate
    force = number(servo.gain) * clip(u, servo.input_lower, servo.input_upper) + number(servo.offset) - own
    return n * clip(force, servo.lower, servo.upper)


ACTUATOR_EFFORTS.register("servo", effort)
