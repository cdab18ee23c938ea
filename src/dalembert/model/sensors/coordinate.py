"""Joint coordinates and their time derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dalembert.core.findings import Advice, Call, Finding
from dalembert.model.forces import Force
from dalembert.model.joints import Joint
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@dataclass(frozen=True)
class _OfCoordinate(Measure):
    joint: str | Joint = option("coordinate", "a joint, or one of its coordinates (`U.angle1`)")  # noqa: RUF009 (a field)

    def problems(self, coordinates: Mapping[str, tuple[str, str]], forces: Mapping[str, Force]) -> list[Finding]:
        """An angle of a slider, or a displacement of a hinge."""
        full, has = coordinates.get(str(self.joint), ("", ""))
        wants = self.unit.partition("/")[0]
        if not has or not wants or has == wants:
            return []
        angle = ("an angle", ("da.angle", "da.rate"))
        kind, use = angle if has == "rad" else ("a displacement", ("da.displacement", "da.speed"))
        advice = Advice("Use {}, or name another coordinate.", *map(Call, use))
        return [Finding("unit-mismatch", f"{full!r} is {kind} [{has}].", {"coordinate": full}, advice=(advice,))]


@measure("angle")
class AngleMeasure(_OfCoordinate):
    """Angle of a joint or of a planar body [rad]."""

    unit = "rad"


@measure("rate")
class RateMeasure(_OfCoordinate):
    """Time derivative of an angle [rad/s]."""

    unit = "rad/s"


@measure("displacement")
class DisplacementMeasure(_OfCoordinate):
    """Displacement of a sliding joint [m]."""

    unit = "m"


@measure("speed")
class SpeedMeasure(_OfCoordinate):
    """Time derivative of a displacement [m/s]."""

    unit = "m/s"


@measure("joint acceleration")
class JointAccelerationMeasure(_OfCoordinate):
    """Second time derivative of a joint coordinate [rad/s² or m/s²]."""


def angle(joint: str | Joint) -> AngleMeasure:
    """Angle of a joint (``"A"`` or ``"U.angle1"``) or of a planar body [rad]."""
    return AngleMeasure(joint)


def rate(joint: str | Joint) -> RateMeasure:
    """Time derivative of a joint's angle [rad/s]."""
    return RateMeasure(joint)


def displacement(joint: str | Joint) -> DisplacementMeasure:
    """Displacement of a sliding joint [m]."""
    return DisplacementMeasure(joint)


def speed(joint: str | Joint) -> SpeedMeasure:
    """Time derivative of a joint's displacement [m/s]."""
    return SpeedMeasure(joint)


def joint_acceleration(joint: str | Joint) -> JointAccelerationMeasure:
    """Second time derivative of a joint coordinate [rad/s² or m/s²]."""
    return JointAccelerationMeasure(joint)
