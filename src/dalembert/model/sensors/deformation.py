"""Deformation of a flexible body: deflection of a node, strain and curvature at a gauge."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.model.bodies import Body, BodyPieces, Place
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@measure("deflection")
class DeflectionMeasure(Measure):
    """Displacement of a node by the deformation, from the frame or a chord, in the axes of its body's frame [m]."""

    point: Place = option("place", "node of a flexible body")
    start: Place | None = option("place", "first end of a chord from which it is measured", default=None)
    end: Place | None = option("place", "second end of the chord", default=None)
    unit = "m"

    def check(self, what: str) -> None:
        if (self.start is None) != (self.end is None):
            problem = f"{what}: a chord has two ends, only one of them is given."
            raise ModelError("missing-argument", problem, Advice("Give {}.", Argument("start"), Argument("end")))
        body = self.bodies()[0]
        require_flexible(body, what)
        for place in self.values_of("place"):
            if isinstance(place, Body):
                raise ModelError("wrong-type", f"{what}: expected a node of body {place.name!r}, got the body itself.")
            if place.body is not body:
                problem = f"{what}: the ends of the chord are nodes of {body.name!r}, not of {place.body.name!r}."
                raise ModelError("wrong-owner", problem, where={"body": place.body.name})


@dataclass(frozen=True)
class _AtGauge(Measure):
    body: Body = option("body", "flexible body")  # noqa: RUF009 (a field)
    gauge: str = option("text", "name of a gauge of its data")

    def __post_init__(self) -> None:
        if isinstance(self.body, BodyPieces):
            object.__setattr__(self, "body", self.body.piece(self.gauge))

    def check(self, what: str) -> None:
        data = require_flexible(self.body, what).flexible
        gauges = [gauge.name for gauge in data.gauges if gauge.quantity == self.kind] if data is not None else []
        place, where = f"body {self.body.name!r}", {"body": self.body.name}
        require_name(f"{self.kind} gauge", self.gauge, gauges, place, argument=what, error=ModelError, where=where)


@measure("strain")
class StrainMeasure(_AtGauge):
    """Strain at a gauge of a flexible body [-]."""


@measure("curvature")
class CurvatureMeasure(_AtGauge):
    """Curvature of a beam at a gauge of a flexible body [1/m]."""

    unit = "1/m"


def require_flexible(body: Body, what: str) -> Body:
    """The body, refused where it is rigid."""
    if body.flexible is None:
        raise ModelError("wrong-type", f"{what}: body {body.name!r} is rigid and has no deformation.")
    return body


def deflection(point: Place, *, start: Place | None = None, end: Place | None = None) -> DeflectionMeasure:
    """Displacement of a node by the deformation, in the axes of its body's frame [m].

    start, end : nodes at the ends of a chord from which it is measured; from the frame when left out.
    """
    return DeflectionMeasure(point, start, end)


def strain(body: Body | BodyPieces, gauge: str) -> StrainMeasure:
    """Strain at a gauge of a flexible body [-]."""
    return StrainMeasure(body, gauge)  # type: ignore[arg-type]


def curvature(body: Body | BodyPieces, gauge: str) -> CurvatureMeasure:
    """Curvature of a beam at a gauge of a flexible body [1/m]."""
    return CurvatureMeasure(body, gauge)  # type: ignore[arg-type]
