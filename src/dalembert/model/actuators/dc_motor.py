"""A DC motor behind a gear."""

from __future__ import annotations

from typing import Any

from dalembert.model.actuators.actuator_model import ActuatorModel, actuator
from dalembert.model.bodies import Scalar, not_negative, positive
from dalembert.model.options import option


@actuator("dc motor")
class DCMotor(ActuatorModel):
    """A DC motor behind a gear; the input is its voltage, the current an internal state.

    L i' = u - R i - k_e n ṡ,  effort = n k_t i - n² (b ṡ + J s̈), with s the joint coordinate and n the gear ratio. The
    state is the current [A]; there is none when the inductance is zero.
    """

    torque_constant: Scalar = option("torque constant", "torque per current")
    resistance: Scalar = option("resistance", "of the armature", check=positive)
    inductance: Scalar = option("inductance", "of the armature; 0: no internal state", default=0.0, check=not_negative)
    back_emf: Scalar | None = option(
        "torque constant", "voltage per speed; equal to the torque constant when left out", default=None
    )
    gear_ratio: Scalar = option("", "turns of the rotor per turn of the joint", default=1.0)
    rotor_inertia: Scalar = option("inertia", "before the gear", default=0.0, check=not_negative)
    rotor_damping: Scalar = option("rotational damping", "before the gear", default=0.0, check=not_negative)
    input_unit = "V"

    def states(self) -> list[tuple[str, str]]:
        return [("current", "A")] if float(self.inductance) > 0 else []

    def rotor(self) -> tuple[Any, Any] | None:
        return (self.gear_ratio, self.rotor_inertia) if float(self.rotor_inertia) > 0 else None
