"""A viscous damper."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dalembert.model.bodies import Place, Scalar, not_negative
from dalembert.model.forces.force import Force, JointDynamics, force
from dalembert.model.forces.spring import check_ends
from dalembert.model.options import option


@force("damper")
class Damper(Force):
    """A viscous damper between two points, or along a joint coordinate."""

    a: Place | None = option("point", "first point", default=None)
    b: Place | None = option("point", "second point", default=None)
    _: KW_ONLY
    joint: str | None = option("coordinate", "a joint coordinate, instead of two points", default=None)
    damping: Scalar = option(
        "damping", "N s/m, or N m s/rad along an angle", about="rotational damping", check=not_negative
    )
    measured = True
    central = True

    def check(self) -> None:
        check_ends(self, self.a, self.b, self.joint)

    def joint_dynamics(self) -> JointDynamics | None:
        return None if self.joint is None else JointDynamics(self.joint, damping=float(self.damping))
