"""A servo with limits of its input and of its force."""

from __future__ import annotations

from dalembert.core.errors import ModelError
from dalembert.model.actuators.actuator_model import ActuatorModel, actuator
from dalembert.model.bodies import Scalar
from dalembert.model.options import option

UNITS = {"effort": ("N", "N m"), "position": ("m", "rad"), "speed": ("m/s", "rad/s")}  # along a slide, about a hinge


@actuator("servo")
class Servo(ActuatorModel):
    """A servo behind a gear, without internal states; its input and its force are cut off at their limits.

    effort = n clip(gain clip(u) + offset - stiffness n s - damping n ṡ), with s the joint coordinate and n the gear
    ratio. A position servo has a gain equal to its stiffness, a speed servo one equal to its damping.
    """

    gain: Scalar = option("", "force per input, before the gear", default=1.0)
    offset: Scalar = option("", "force without an input", default=0.0)
    stiffness: Scalar = option("", "force per displacement", default=0.0)
    damping: Scalar = option("", "force per speed", default=0.0)
    gear_ratio: Scalar = option("", "travel of the servo per travel of the joint", default=1.0)
    lower: Scalar | None = option("", "least force, before the gear", default=None)
    upper: Scalar | None = option("", "largest force, before the gear", default=None)
    input_lower: Scalar | None = option("", "least input that acts", default=None)
    input_upper: Scalar | None = option("", "largest input that acts", default=None)
    reference: str = option("choice", "quantity of the input", default="effort", choices=tuple(UNITS))

    def settle(self, what: str) -> None:
        super().settle(what)
        for low, high in (("lower", "upper"), ("input_lower", "input_upper")):
            below, above = getattr(self, low), getattr(self, high)
            if below is not None and above is not None and not float(below) < float(above):
                problem = f"{what}: {low} ({float(below):g}) must be below {high} ({float(above):g})."
                raise ModelError("conflicting-arguments", problem, where={"argument": low})

    def unit_of_input(self, turns: bool | None) -> str:
        return UNITS[self.reference][bool(turns)]

    def input_range(self) -> tuple[float, float]:
        low, high = self.input_lower, self.input_upper
        return (-float("inf") if low is None else float(low), float("inf") if high is None else float(high))
