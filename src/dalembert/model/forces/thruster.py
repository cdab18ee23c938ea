"""A force and a torque in fixed directions of a body."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dalembert.model.actuators import ActuatorModel
from dalembert.model.bodies import Place, Vector
from dalembert.model.forces.force import Force, force
from dalembert.model.options import option


@force("thruster")
class Thruster(Force):
    """A force and a torque in fixed directions of a frame, both proportional to one input: a propeller, a nozzle.

    `force` and `torque` are those of a unit of the input, or of the force of a `model` (a servo).
    """

    place: Place = option("frame", "frame in which the directions are given")
    _: KW_ONLY
    input: str = option("input", "name of an input channel")
    force: Vector = option("direction", "force per input", default=(0.0, 0.0, 0.0))
    torque: Vector = option("direction", "torque per input", default=(0.0, 0.0, 0.0))
    model: ActuatorModel | None = option("model", "between input and force", default=None)

    def check(self) -> None:
        plain = self.dimension == 3 and not (self.model is not None and self.model.states())
        self.require(plain, "not-supported", " needs a machine in space, and a model without internal states.")
        if self.model is not None:
            self.model.settle(self.what)

    def input_range(self) -> tuple[float, float]:
        return super().input_range() if self.model is None else self.model.input_range()
