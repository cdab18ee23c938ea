"""A DC motor behind a gear: L i' = u - R i - k_e n ṡ, effort n k_t i - n² b ṡ. Its rotor turns with the joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dalembert.mechanics.actuators.effort import ACTUATOR_EFFORTS
from dalembert.mechanics.rows import Measured
from dalembert.model.actuators.dc_motor import DCMotor
from dalembert.model.forces.actuator import Actuator

if TYPE_CHECKING:
    from dalembert.mechanics.forces.force_equations import ForceBuilder


def effort(builder: ForceBuilder, actuator: Actuator, measured: Measured, u: object) -> Any:
    host, motor, name = builder.host, cast("DCMotor", actuator.model), f"{actuator.name}.current"
    k_t, R, n = (host.number(x) for x in (motor.torque_constant, motor.resistance, motor.gear_ratio))
    k_e = k_t if motor.back_emf is None else host.number(motor.back_emf)
    voltage = u - k_e * n * measured.rate
    if motor.states():
        current = builder.state(name)
        builder.state_rates[name] = (voltage - R * current) / host.number(motor.inductance)
    else:
        current = voltage / R
    return n * k_t * current - host.number(motor.rotor_damping) * n * n * measured.rate


ACTUATOR_EFFORTS.register("dc motor", effort)
