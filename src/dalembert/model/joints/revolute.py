"""A hinge."""

from dataclasses import replace

from dalembert.model.joints.joint import ANGLE, AT, AXIS, AXIS_B, JOINTS, Glyph, JointKind, Option

JOINTS.register(
    "revolute",
    JointKind(
        "A hinge about `axis` (z by default). Coordinate `name.angle`.",
        rows=(5, 2),
        coordinates=(ANGLE,),
        options=(
            AT,
            replace(AXIS, spatial=True),
            replace(AXIS_B, spatial=True),
            Option("x", "axis", "spatial: where the angle is zero", None, spatial=True),
        ),
        glyph=Glyph("hinge", "hinge"),
        bearing=True,
        urdf="continuous",
    ),
)
