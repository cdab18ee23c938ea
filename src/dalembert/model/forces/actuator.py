"""The drive of a joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from dalembert.core.errors import ModelError
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
        given: Any = self.model
        if given is not None and not isinstance(given, ActuatorModel):
            advice = Advice("Use {}.", Call("da.FirstOrderLag"), Call("da.DCMotor"))
            problem = f"{self.what}: expected a model of an actuator, got {given!r}."
            raise ModelError("wrong-type", problem, advice, where={"force": self.name})
        if self.input is None and (self.effort is None or self.model is not None):
            problem = f"{self.what}: input must be the name of a channel, got None."
            raise ModelError("missing-argument", problem, where={"force": self.name})
        if self.model is not None and self.effort is not None:
            problem = f"{self.what}: give an effort or a model, not both."
            raise ModelError("conflicting-arguments", problem, where={"force": self.name})
        if self.model is not None:
            self.model.settle(self.what)

    def input_unit(self, turns: bool | None) -> str:
        own = "" if self.model is None else self.model.unit_of_input(turns)
        return own or super().input_unit(turns)

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
