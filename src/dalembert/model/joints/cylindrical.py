"""A slide that also turns."""

from dalembert.model.joints.joint import ANGLE, AT, AXIS, AXIS_B, DISPLACEMENT, JOINTS, Glyph, JointKind

JOINTS.register(
    "cylindrical",
    JointKind(
        "Slides along and turns about `axis`; spatial. Coordinates `name.displacement` and `name.angle`.",
        rows=(4, None),
        coordinates=(DISPLACEMENT, ANGLE),
        options=(AT, AXIS, AXIS_B),
        glyph=Glyph("slide", "slide and its rail"),
        bearing=True,
        replacement="a prismatic and a revolute joint with a body without mass between them",
    ),
)
