"""A cable over several joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY

from dalembert.model.actuators import ActuatorModel
from dalembert.model.bodies import Scalar, not_negative
from dalembert.model.forces.force import Force, force
from dalembert.model.options import option


@force("tendon")
class Tendon(Force):
    """A cable over joints: its length is the sum of coefficients times joint coordinates, L = Σ cᵢ sᵢ.

    Its force F acts as the effort cᵢ F along each coordinate: F = u of the input, or that of a `model` (a servo)
    along L, less stiffness times the extension beyond `upper` (or below `lower`) and damping times L'.
    """

    coordinates: Mapping[str, Scalar] = option("coordinates", "coefficients by joint or coordinate")
    _: KW_ONLY
    stiffness: Scalar = option("stiffness", "of the cable", default=0.0, check=not_negative)
    damping: Scalar = option("damping", "of the cable", default=0.0, check=not_negative)
    lower: Scalar = option("length", "shortest length without a force", default=0.0)
    upper: Scalar = option("length", "largest length without a force", default=0.0)
    input: str | None = option("input", "name of an input channel: the force, or what drives the model", default=None)
    model: ActuatorModel | None = option("model", "between input and force", default=None)

    def check(self) -> None:
        lower, upper = float(self.lower), float(self.upper)
        self.require(lower <= upper, "conflicting-arguments", f": lower ({lower:g}) is above upper ({upper:g}).")
        if self.model is not None:
            self.require(not self.model.states(), "not-supported", ": its model has internal states.")
            self.require(self.input is not None, "missing-argument", ": its model needs an input.")
            self.model.settle(self.what)

    def input_unit(self, turns: bool | None) -> str:
        unit = "" if self.model is None else self.model.unit_of_input(turns)
        return unit or super().input_unit(turns)

    def input_range(self) -> tuple[float, float]:
        return super().input_range() if self.model is None else self.model.input_range()
