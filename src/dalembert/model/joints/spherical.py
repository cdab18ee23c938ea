"""A ball joint."""

from dalembert.model.joints.joint import AT, JOINTS, Glyph, JointKind

JOINTS.register(
    "spherical",
    JointKind(
        "A ball joint: two points coincide; spatial.",
        rows=(3, None),
        options=(AT,),
        glyph=Glyph("ball", "ball or universal joint"),
        replacement="three revolute joints with two bodies without mass between them",
    ),
)
