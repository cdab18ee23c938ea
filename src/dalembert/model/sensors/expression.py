"""Any expression of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@measure("expression")
class ExpressionMeasure(Measure):
    """Any expression of the state."""

    expression: Callable[[Any], Any] = option("function", "an expression of coordinates by name, parameters and t")
    unit: str = option("text", "of its value", default="")


def expression(function: Callable[[Any], Any], unit: str = "") -> ExpressionMeasure:
    """Any expression of the state: ``da.expression(lambda s: s["A.angle"] ** 2, "rad^2")``."""
    return ExpressionMeasure(function, unit)
