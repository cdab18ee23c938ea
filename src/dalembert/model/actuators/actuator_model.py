"""Models between the input of an actuator and its effort: the base of all models, and their registry.

A model is a class in a file of its own, declared by ``@actuator("dc motor")``; its fields are options, as those of
forces. `mechanics/actuators/` has the effort of the same name. A package adds models through entry points of the
group ``dalembert.actuators``: modules that declare both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

from dalembert.core.registry import Registry
from dalembert.model.options import Declared, Kind, declare, option


@dataclass(frozen=True)
class ActuatorModel(Declared):
    """A model of an actuator.

    input_unit : unit of the input, where it is not that of the effort.
    """

    input_unit: ClassVar[str] = ""

    def unit_of_input(self, turns: bool | None) -> str:
        """Unit of the input along a slide or about a hinge; empty where it is that of the effort."""
        return self.input_unit

    def input_range(self) -> tuple[float, float]:
        """Least and largest input that acts."""
        return -math.inf, math.inf

    def states(self) -> list[tuple[str, str]]:
        """Names and units of its internal states; the name of the actuator goes before them."""
        return []

    def rotor(self) -> tuple[Any, Any] | None:
        """Gear ratio and inertia of a rotor that turns with the joint."""
        return None


ACTUATORS: Registry[type[ActuatorModel]] = Registry(
    "model of an actuator", package="dalembert.model.actuators", group="dalembert.actuators"
)


@dataclass_transform(frozen_default=True, field_specifiers=(option,))
def actuator(kind: str) -> Callable[[type[Kind]], type[Kind]]:
    """Declare a class as a model of an actuator: a frozen dataclass, and a type of ``model`` in model files."""
    return declare(ACTUATORS, kind)
