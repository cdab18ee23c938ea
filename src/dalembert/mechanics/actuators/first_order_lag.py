"""A first-order lag, T F' + F = gain u."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dalembert.mechanics.actuators.effort import ACTUATOR_EFFORTS
from dalembert.mechanics.rows import Measured
from dalembert.model.actuators.first_order_lag import FirstOrderLag
from dalembert.model.forces.actuator import Actuator

if TYPE_CHECKING:
    from dalembert.mechanics.forces.force_equations import ForceBuilder


def effort(builder: ForceBuilder, actuator: Actuator, measured: Measured, u: object) -> Any:
    host, lag, name = builder.host, cast("FirstOrderLag", actuator.model), f"{actuator.name}.effort"
    builder.state_rates[name] = (host.number(lag.gain) * u - builder.state(name)) / host.number(lag.time_constant)
    return builder.state(name)


ACTUATOR_EFFORTS.register("first-order lag", effort)
