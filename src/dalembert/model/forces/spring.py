"""A spring with damping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from dalembert.core.findings import Advice, Argument
from dalembert.model.bodies import Place, Scalar, not_negative
from dalembert.model.forces.force import Force, force
from dalembert.model.options import option


@force("spring")
class SpringDamper(Force):
    """A spring with damping between two points, or along a joint coordinate.

    Tension between two points: preload + stiffness (l - free_length) + damping l̇. Effort along the coordinate s of a
    joint (``joint="A"``): -(preload + stiffness (s - free) + damping ṡ). `law(extension, speed)` (or
    ``da.math.table(x, force)``) replaces stiffness and damping; its value at zero speed counts as elastic, its integral
    over the extension as potential energy.
    """

    a: Place | None = option("point", "first point", default=None)
    b: Place | None = option("point", "second point", default=None)
    _: KW_ONLY
    joint: str | None = option("coordinate", "a joint coordinate, instead of two points", default=None)
    stiffness: Scalar = option("stiffness", "N/m, or N m/rad along an angle", default=0.0, about="rotational stiffness")
    damping: Scalar = option(
        "damping", "N s/m, or N m s/rad along an angle", default=0.0, about="rotational damping", check=not_negative
    )
    free_length: Scalar | None = option(
        "length", "distance of the points without load, 0 when left out", default=None, check=not_negative
    )
    free: Scalar | None = option(
        "length", "coordinate of the joint without load, 0 when left out", default=None, about="angle"
    )
    preload: Scalar = option("force", "tension at the free length", default=0.0, about="torque")
    law: Callable[..., Any] | None = option(
        "law of extension", "force as an expression of extension and speed", default=None
    )
    measured = True
    central = True

    def __post_init__(self) -> None:
        along = self.joint is not None
        advice = Advice("Give {} (its coordinate without load).", Argument("free"))
        problem = " acts along a joint and has no free length."
        self.require(not along or self.free_length is None, "ineffective-argument", problem, advice)
        advice = Advice("Give {} (their distance without load).", Argument("free_length"))
        problem = " acts between points, not along a joint coordinate."
        self.require(along or self.free is None, "ineffective-argument", problem, advice)
        super().__post_init__()

    def check(self) -> None:
        check_ends(self, self.a, self.b, self.joint)
        key = "free" if self.free_length is None and self.joint is not None else "free_length"
        if getattr(self, key) is None:
            object.__setattr__(self, key, 0.0)


def check_ends(force: Force, a: Place | None, b: Place | None, joint: str | None) -> None:
    """Either two points, or a joint."""
    both = joint is not None and (a is not None or b is not None)
    force.require(not both, "conflicting-arguments", ": give either two points or a joint, not both.")
    complete = joint is not None or (a is not None and b is not None)
    force.require(complete, "missing-argument", f": give two points (a and b) or a joint; a is {a!r}, b is {b!r}.")
