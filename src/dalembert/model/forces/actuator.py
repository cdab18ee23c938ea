"""The drive of a joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from dalembert.core.findings import Advice, Call
from dalembert.model.actuators import ActuatorModel
from dalembert.model.bodies import Scalar
from dalembert.model.forces.force import Force, Rotor, force
from dalembert.model.options import option


@force("actuator")
class Actuator(Force):
    """Drives a joint: torque about a hinge, force along a slide, on the second body and opposite on the first.

    The effort is the value of the channel `input`, times `effort` (a number or a function of the state) where that is
    given; without an input it is `effort` itself. With a `model` (`da.FirstOrderLag`, `da.DCMotor`) the input drives
    that model. Of a joint with several coordinates name one: ``joint="C.angle"``.
    """

    joint: str = option("coordinate", "a joint, or one of its coordinates")
    _: KW_ONLY
    input: str | None = option("input", "name of an input channel: the effort, or what drives the model", default=None)
    effort: Scalar | Callable[[Any], Any] | None = option(
        "law", "given, an expression, or with an input the effort per input", default=None
    )
    model: ActuatorModel | None = option("model", "between input and effort", default=None)

    def check(self) -> None:
        model: Any = self.model
        advice = Advice("Use {}.", Call("da.FirstOrderLag"), Call("da.DCMotor"))
        is_model = model is None or isinstance(model, ActuatorModel)
        self.require(is_model, "wrong-type", f": expected a model of an actuator, got {model!r}.", advice)
        is_driven = self.input is not None or (self.effort is not None and self.model is None)
        self.require(is_driven, "missing-argument", ": input must be the name of a channel, got None.")
        is_single = self.model is None or self.effort is None
        self.require(is_single, "conflicting-arguments", ": give an effort or a model, not both.")
        if self.model is not None:
            self.model.settle(self.what)

    def input_unit(self, turns: bool | None) -> str:
        unit = "" if self.model is None else self.model.unit_of_input(turns)
        return unit or super().input_unit(turns)

    def effort_per_input(self) -> float | None:
        if self.input is None or self.model is not None or callable(self.effort):
            return None
        return 1.0 if self.effort is None else float(self.effort)

    def input_range(self) -> tuple[float, float]:
        return super().input_range() if self.model is None else self.model.input_range()

    def states(self) -> list[tuple[str, str]]:
        return [] if self.model is None else [(f"{self.name}.{name}", unit) for name, unit in self.model.states()]

    def rotors(self) -> list[Rotor]:
        rotor = None if self.model is None else self.model.rotor()
        return [] if rotor is None else [Rotor(f"{self.name}.rotor", self.joint, *rotor)]
