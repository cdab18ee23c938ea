"""Effort of an actuator through its model, from its input: a function registered under the name of the model.

def effort(builder, actuator, measured, u):
    current = builder.state(f"{actuator.name}.current")
    builder.state_rates[f"{actuator.name}.current"] = ...
    return torque_constant * current

ACTUATOR_EFFORTS.register("my motor", effort)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dalembert.core.registry import Registry
from dalembert.mechanics.rows import Measured
from dalembert.model.forces.actuator import Actuator

if TYPE_CHECKING:
    from dalembert.mechanics.forces.force_equations import ForceBuilder


class Effort(Protocol):
    """Effort along the coordinate `measured` [N or N m] for the input `u`; rates of its states go into the builder."""

    def __call__(self, builder: ForceBuilder, actuator: Actuator, measured: Measured, u: object) -> Any: ...


ACTUATOR_EFFORTS: Registry[Effort] = Registry(
    "effort of an actuator model", package="dalembert.mechanics.actuators", group="dalembert.actuators"
)
