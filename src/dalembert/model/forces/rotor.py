"""Inertia geared to a joint, by a stiff or an elastic gear."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.model.bodies import Scalar, not_negative, positive
from dalembert.model.forces.force import Force, Rotor, force
from dalembert.model.options import option


@force("rotor")
class RotorInertia(Force):
    """Inertia of a motor and its gear, which turns `ratio` times as fast as the joint: at the joint it is ratio² times.

    It resists the acceleration of the joint's own coordinate only: gyroscopic torques of a fast rotor on the bodies are
    left out. Of a joint with several coordinates name one: ``joint="C.angle"``. A slide has `ratio` in rad/m.

    With `stiffness` the gear is elastic: its deflection ``gear.deflection`` is a coordinate, ``gear.angle`` the angle
    of the rotor, and actuators of the joint turn the rotor, not the joint.
    """

    joint: str = option("coordinate", "a joint, or one of its coordinates")
    _: KW_ONLY
    inertia: Scalar = option("inertia", "of what turns", check=not_negative)
    ratio: Scalar = option("", "turns of the rotor per turn of the joint", default=1.0)
    stiffness: Scalar | None = option(
        "stiffness", "of the gear at the joint: N/m, or N m/rad of an angle", default=None,
        about="rotational stiffness", check=positive,
    )  # fmt: skip
    damping: Scalar = option(
        "damping", "of the gear at the joint: N s/m, or N m s/rad of an angle", default=0.0,
        about="rotational damping", check=not_negative,
    )  # fmt: skip

    def check(self) -> None:
        if self.stiffness is None and float(self.damping) != 0.0:
            advice = Advice("Give {} too.", Argument("stiffness"))
            raise ModelError("ineffective-argument", f"{self.what}: a stiff gear has no damping.", advice)
        if self.stiffness is not None and float(self.inertia) * float(self.ratio) == 0.0:
            problem = f"{self.what}: behind an elastic gear it needs inertia, and a ratio that is not zero."
            advice = Advice("Give another {}.", Argument("inertia"), Argument("ratio"))
            raise ModelError("massless-body", problem, advice)

    def rotors(self) -> list[Rotor]:
        elastic = () if self.stiffness is None else (f"{self.name}.deflection", self.stiffness, self.damping)
        return [Rotor(f"{self.name}.angle", self.joint, self.ratio, self.inertia, *elastic)]
