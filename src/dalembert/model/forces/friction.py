"""Friction of a joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY

from dalembert.core.findings import Advice, Argument, Finding
from dalembert.model.bodies import Scalar, not_negative, positive
from dalembert.model.forces.force import Force, JointDynamics, force
from dalembert.model.joints import JOINTS, Joint
from dalembert.model.options import option


@force("friction")
class Friction(Force):
    """Friction of a revolute, prismatic or cylindrical joint: exact stick and slip, or regularised by `speed`.

    Coulomb: the limit is the coefficient times (reaction square to the motion + `preload`), times `radius` for a hinge.
    A coordinate slides against a friction of this limit, or sticks while the effort needed for rest is below the limit;
    `static` is the coefficient at rest where it differs from `coulomb`, that of sliding. A run finds every change
    between the two as an event. `effort` adds a part that does not depend on the reaction: the dry friction of seals
    and gears, as in robot files.

    With `speed` the law is regularised instead, limit times ṡ / sqrt(ṡ² + speed²): nothing sticks, a loaded joint
    creeps, and a small `speed` makes the equations stiff. Filters, fits and everything else that needs smooth equations
    use this law with 1e-3 m/s (rad/s) where `speed` is left out.
    """

    joint: str = option("joint", "name of the joint")
    _: KW_ONLY
    viscous: Scalar = option(
        "damping",
        "effort per speed: N s/m, or N m s/rad of a hinge",
        default=0.0,
        about="rotational damping",
        check=not_negative,
    )
    coulomb: Scalar = option(
        "number", "coefficient of the reaction square to the motion", default=0.0, check=not_negative
    )
    effort: Scalar = option(
        "force",
        "dry friction that no reaction changes: N, or N m of a hinge",
        default=0.0,
        about="torque",
        check=not_negative,
    )
    radius: Scalar | None = option(
        "length", "of the pin of a hinge, times which the reaction acts", default=None, check=not_negative
    )
    static: Scalar | None = option(
        "number", "coefficient at rest, where it differs from coulomb", default=None, check=not_negative
    )
    speed: Scalar | None = option(
        "speed",
        "regularises the law as ṡ / √(ṡ² + speed²); nothing sticks then",
        default=None,
        about="rate",
        check=positive,
    )
    preload: Scalar = option("force", "force added to the reaction", default=0.0, check=not_negative)
    measured = True

    def check(self) -> None:
        if self.static is None:
            return
        static, coulomb = float(self.static), float(self.coulomb)
        problem = f": static ({static:g}) must not be below coulomb ({coulomb:g})."
        self.require(static >= coulomb, "out-of-range", problem, static=static, coulomb=coulomb)
        advice = Advice("Leave out {}.", Argument("speed"))
        problem = ": a static coefficient needs exact stick and slip."
        self.require(self.speed is None, "conflicting-arguments", problem, advice)

    def problems(self, joints: Mapping[str, Joint]) -> list[Finding]:
        joint = joints.get(self.joint)
        if joint is None:
            return []
        where = {"part": self.name, "joint": self.joint}
        if not joint.declaration.bearing:
            kinds_with_bearing = [kind for kind, declared in JOINTS.items() if declared.bearing]
            kinds = f"{', '.join(kinds_with_bearing[:-1])} or {kinds_with_bearing[-1]}"
            problem = f"{self.what}: friction needs a {kinds} joint, not {self.joint!r}."
            return [Finding("not-supported", problem, where)]
        if all(unit == "rad" for _, _, unit in joint.coordinates) and float(self.coulomb) > 0 and self.radius is None:
            problem = f"{self.what}: Coulomb friction in hinge {self.joint!r} needs the bearing's radius."
            return [Finding("missing-argument", problem, where)]
        return []

    def joint_dynamics(self) -> JointDynamics:
        dry = float(self.coulomb)
        return JointDynamics(self.joint, float(self.viscous), float(self.effort), complete=dry == 0.0)

    def dry_coordinates(self, joint: Joint) -> list[tuple[str, str]]:
        """(name, unit) of the coordinates of its joint with dry friction: a reaction acts on an angle by a radius."""
        pairs = [(f"{joint.name}.{name}", unit) for name, _, unit in joint.coordinates]
        if float(self.effort) > 0:
            return pairs
        return [(n, u) for n, u in pairs if float(self.coulomb) > 0 and (u != "rad" or self.radius is not None)]
