"""Inertia geared to a joint."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dalembert.model.bodies import Scalar, not_negative
from dalembert.model.forces.force import Force, Rotor, force
from dalembert.model.options import option


@force("rotor")
class RotorInertia(Force):
    """Inertia of a motor and its gear, which turns `ratio` times as fast as the joint: at the joint it is ratio² times.

    It resists the acceleration of the joint's own coordinate only: gyroscopic torques of a fast rotor on the bodies are
    left out. Of a joint with several coordinates name one: ``joint="C.angle"``. A slide has `ratio` in rad/m.
    """

    joint: str = option("coordinate", "a joint, or one of its coordinates")
    _: KW_ONLY
    inertia: Scalar = option("inertia", "of what turns", check=not_negative)
    ratio: Scalar = option("", "turns of the rotor per turn of the joint", default=1.0)

    def rotors(self) -> list[Rotor]:
        return [Rotor(f"{self.name}.angle", self.joint, self.ratio, self.inertia)]
