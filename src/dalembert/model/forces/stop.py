"""Compliant limits."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dalembert.core.findings import Advice, Argument
from dalembert.model.bodies import Scalar, not_negative
from dalembert.model.forces.force import Force, Limits, force
from dalembert.model.options import option


@force("stop")
class Stop(Force):
    """Compliant limits of a joint coordinate: stiffness times depth, with damping while closing."""

    joint: str = option("coordinate", "a joint coordinate")
    _: KW_ONLY
    lower: Scalar | None = option("length", "limit: m, or rad of an angle", default=None, about="angle")
    upper: Scalar | None = option("length", "limit: m, or rad of an angle", default=None, about="angle")
    stiffness: Scalar = option(
        "stiffness",
        "beyond a limit: N/m, or N m/rad of an angle",
        about="rotational stiffness",
        check=not_negative,
    )
    damping: Scalar = option(
        "damping",
        "while closing: N s/m, or N m s/rad of an angle",
        default=0.0,
        about="rotational damping",
        check=not_negative,
    )
    measured = True

    def check(self) -> None:
        advice = Advice("Give {} or both.", Argument("lower"), Argument("upper"))
        limits = self.limits()
        self.require(limits[1:] != (None, None), "missing-argument", " has no limit.", advice)
        if limits.lower is not None and limits.upper is not None:
            problem = f": lower ({limits.lower:g}) is not below upper ({limits.upper:g})."
            evidence = {"lower": limits.lower, "upper": limits.upper}
            self.require(limits.lower < limits.upper, "not-increasing", problem, **evidence)

    def limits(self) -> Limits:
        lower, upper = (None if limit is None else float(limit) for limit in (self.lower, self.upper))
        return Limits(self.joint, lower, upper)
