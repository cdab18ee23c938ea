"""Goals of a controller of fixed structure: each is a kind, in a file of ``goals/`` or of another package.

A goal gives a ratio r for every model, at most one where it holds, with its gradient; and its value in its own unit
from the exact methods of the linear rooms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dalembert.control.structured.loops import Family, FamilyLoops
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, require_name
from dalembert.core.registry import Registry
from dalembert.linear import StateSpace

GOALS: Registry[type[DesignGoal]] = Registry(
    "goal", package="dalembert.control.structured.goals", group="dalembert.goals", error=DataError
)

Penalty = Callable[[FloatArray], tuple[float, FloatArray]]
"""Ratios r -> their share of the objective, and its derivatives."""


class DesignGoal(ABC):
    """A property of the loop with a limit; frozen, made by its class in `da.control`."""

    kind: ClassVar[str]
    needs_stability: ClassVar[bool] = True

    @abstractmethod
    def prepare(self, family: Family) -> Any:
        """What does not change during the search: channels of the models, the limit in their scale."""

    @abstractmethod
    def evaluate(self, prepared: Any, loops: FamilyLoops, penalty: Penalty) -> float:
        """The penalty of the ratios of this goal on all models; its gradient is added to that of the loops."""

    @abstractmethod
    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        """The value on one model, exactly."""

    @property
    @abstractmethod
    def limit(self) -> float:
        """The number that the value is compared with."""

    least: ClassVar[bool] = False
    """Whether the value must be at least the limit, not at most."""

    def holds(self, value: float) -> bool:
        """Whether the goal holds at a value."""
        return bool(value >= self.limit if self.least else value <= self.limit)

    unit: ClassVar[str] = ""

    def name(self) -> str:
        """Kind and limit."""
        return f"{self.kind} {'>=' if self.least else '<='} {self.limit:.6g} {self.unit}".rstrip()


def require_channels(family: Family, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
    """Refuse names that a model does not have."""
    for model in family.models:
        for name in inputs:
            require_name("input", name, model.inputs, "the models", argument="goal")
        for name in outputs:
            require_name("output", name, model.outputs, "the models", argument="goal")


def as_names(names: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """One name or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def open_at_inputs(model: StateSpace, controller: StateSpace) -> StateSpace:
    """The loop of negative feedback opened at the driven inputs."""
    u = [model.inputs.index(name) for name in controller.outputs]
    y = [model.outputs.index(name) for name in controller.inputs]
    plant = StateSpace(model.A, model.B[:, u], model.C[y], np.zeros((len(y), len(u))))
    loop = -plant.series(StateSpace(controller.A, controller.B, controller.C, controller.D))
    return loop.replace(inputs=controller.outputs, outputs=[f"{name} fed back" for name in controller.outputs])
