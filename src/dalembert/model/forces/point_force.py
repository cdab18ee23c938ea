"""A force on a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from dalembert.model.bodies import Place, Vector
from dalembert.model.forces.force import Force, force
from dalembert.model.options import option


@force("force")
class PointForce(Force):
    """A force on a point: given, an expression, or an input channel along a direction.

    `force` is a vector or a function of the state; with `input` it is the direction, and the force per input.
    """

    point: Place = option("point", "where it acts")
    force: Vector | Callable[[Any], Any] | None = option(
        "laws", "the force, or with an input its direction", default=None
    )
    _: KW_ONLY
    input: str | None = option("input", "name of an input channel that scales it", default=None)
    axes: str = option("choice", "axes of the force", default="world", choices=("world", "body"))
    central = True

    def check(self) -> None:
        problem = ": give the force as a vector or a function, or with an input its direction."
        self.require(self.force is not None, "missing-argument", problem)
