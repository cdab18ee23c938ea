"""The argument of a user's function of the state: names, points and directions as expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError, unknown_name
from dalembert.expressions import Quantity
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.model.bodies import Place, Point


class StateView:
    """The argument ``s`` of user expressions.

    ``s.t``; ``s["A.angle"]``, ``s["crank.vx"]``, an input, a parameter or a variable by name; ``s.position(point)``,
    ``s.velocity(point)``, ``s.rotation(body)``, ``s.angular_velocity(body)`` in world axes.
    ``s.acceleration_of("crank.vx")`` is the derivative of a speed, for acceleration-level constraints.
    """

    def __init__(
        self,
        t: object,
        lookup: Callable[[str], Any],
        known: Callable[[], list[str]],
        attach: Callable[[Place], Attachment],
        accelerations: dict[str, Any] | None = None,
    ) -> None:
        self.t = t
        self._lookup = lookup
        self._known = known
        self._attach = attach
        self._accelerations = accelerations

    def __getitem__(self, name: str) -> Any:
        found = self._lookup(name)
        if found is None:
            problem = unknown_name("quantity", name, self._known(), "a user expression")
            raise ModelError("unknown-name", problem, where={"name": name})
        return found

    def position(self, point: Point) -> Any:
        return self._attach(point).position

    def velocity(self, point: Point) -> Any:
        return self._attach(point).velocity

    def rotation(self, body: Place) -> Any:
        return self._attach(body).pose.R

    def angular_velocity(self, body: Place) -> Any:
        """World axes in space; a scalar in the plane."""
        return self._attach(body).angular_velocity()

    def acceleration_of(self, speed: str) -> Any:
        if self._accelerations is None:
            problem = f"the derivative of {speed!r} is known in constraints of acceleration level only."
            raise ModelError("wrong-level", problem, where={"name": speed})
        if speed not in self._accelerations:
            problem = unknown_name("speed", speed, self._accelerations, "a user expression")
            raise ModelError("unknown-name", problem, where={"name": speed})
        return self._accelerations[speed]


def as_column(value: object, what: str, parameters: Mapping[str, Any]) -> Any:
    """A user's result (scalar, list, expression, with parameters in it) as an SX column."""
    if isinstance(value, (list, tuple)):
        value = ca.vertcat(*[as_column(v, what, parameters) for v in value])
    if isinstance(value, Quantity):
        value = value.evaluate(parameters)
    try:
        column = ca.SX(value)
    except Exception as error:
        problem = f"{what} must return expressions or numbers, got {type(value).__name__}."
        raise ModelError("wrong-type", problem) from error
    if column.shape[1] != 1:
        column = ca.vec(column)
    for number in column.nonzeros():
        if number.is_constant() and not abs(float(number)) < float("inf"):
            raise ModelError("not-finite", f"{what} returns a value that is not finite.")
    return column
