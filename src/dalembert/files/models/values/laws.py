"""Laws that a file can hold: expressions as objects that are called like a user's function, and can be written back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.expressions import Quantity
from dalembert.files.models.text.arithmetic import ExpressionTree, evaluate, render

TIME = "t"
SPRING = ("extension", "speed")
CURVE = "s"


@dataclass(frozen=True)
class _Law:
    """Trees in full names of the mechanism, and the values of the parameters they use."""

    trees: tuple[ExpressionTree, ...]
    parameters: Mapping[str, float] = field(default_factory=dict)

    def texts(self) -> list[str]:
        return [render(tree) for tree in self.trees]

    def _values(self, given: Mapping[str, Any]) -> list[Any]:
        def look(name: str) -> Any:
            return given[name] if name in given else Quantity.parameter(name, self.parameters[name])

        return [evaluate(tree, look) for tree in self.trees]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(self.texts())})"


class TimeLaw(_Law):
    """An expression of time: the motion of a driver."""

    def __call__(self, t: object) -> Any:
        values = self._values({TIME: t})
        return values[0] if len(values) == 1 else values


class InputLaw(_Law):
    """An input of a simulation as an expression of time, with the parameters at their values in the file."""

    def __call__(self, t: object) -> Any:
        return evaluate(self.trees[0], lambda name: t if name == TIME else self.parameters[name])


class SpringLaw(_Law):
    """Force of a spring as an expression of extension and speed."""

    def __call__(self, extension: object, speed: object) -> Any:
        return self._values(dict(zip(SPRING, (extension, speed), strict=True)))[0]


class Curve(_Law):
    """Coordinates of a curve as expressions of its parameter s."""

    def __call__(self, s: object) -> Any:
        return self._values({CURVE: s})


class StateLaw(_Law):
    """Expressions of the state: force laws, constraints, sensors."""

    def __call__(self, s: Any) -> Any:
        def look(name: str) -> Any:
            return s.t if name == TIME else s[name]

        values = [evaluate(tree, look, s.acceleration_of) for tree in self.trees]
        return values[0] if len(values) == 1 else values
