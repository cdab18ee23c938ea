"""A screw: displacement = lead · angle / 2π."""

from dalembert.model.bodies import nonzero
from dalembert.model.joints.joint import ANGLE, AT, AXIS, DISPLACEMENT, JOINTS, Glyph, JointKind, Option

JOINTS.register(
    "screw",
    JointKind(
        "A screw along `axis`; spatial. Coordinates `name.angle` and `name.displacement`.",
        rows=(5, None),
        coordinates=(ANGLE, DISPLACEMENT),
        options=(
            AT,
            AXIS,
            Option("lead", "length", "metres per turn: displacement = lead · angle / 2π", check=nonzero),
        ),
        glyph=Glyph("screw", "slide and its rail"),
        numbers=("lead",),
        replacement="a prismatic and a revolute joint with a gear between them",
    ),
)
