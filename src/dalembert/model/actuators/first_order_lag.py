"""A first-order lag."""

from __future__ import annotations

from dalembert.model.actuators.actuator_model import ActuatorModel, actuator
from dalembert.model.bodies import Scalar, positive
from dalembert.model.options import option


@actuator("first-order lag")
class FirstOrderLag(ActuatorModel):
    """The effort follows the input with a lag, T F' + F = gain u.

    One internal state, the effort [N or N m].
    """

    time_constant: Scalar = option("time", "T of the lag", check=positive)
    gain: Scalar = option("", "effort per input", default=1.0)

    def states(self) -> list[tuple[str, str]]:
        return [("effort", "")]
