"""Compliant limits."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dalembert.core.errors import ModelError
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
        if self.lower is None and self.upper is None:
            advice = Advice("Give {} or both.", Argument("lower"), Argument("upper"))
            raise ModelError("missing-argument", f"{self.what} has no limit.", advice, where={"force": self.name})
        if self.lower is not None and self.upper is not None and float(self.lower) >= float(self.upper):
            problem = f"{self.what}: lower ({float(self.lower):g}) is not below upper ({float(self.upper):g})."
            evidence = {"lower": float(self.lower), "upper": float(self.upper)}
            raise ModelError("not-increasing", problem, where={"force": self.name}, evidence=evidence)

    def limits(self) -> Limits:
        lower, upper = (None if one is None else float(one) for one in (self.lower, self.upper))
        return Limits(self.joint, lower, upper)
