"""A slide."""

from dalembert.model.joints.joint import AT, AXIS, AXIS_B, DISPLACEMENT, JOINTS, Glyph, JointKind

JOINTS.register(
    "prismatic",
    JointKind(
        "A slide along `axis` (x by default in the plane, z in space). Coordinate `name.displacement`.",
        rows=(5, 2),
        coordinates=(DISPLACEMENT,),
        options=(AT, AXIS, AXIS_B),
        glyph=Glyph("slide", "slide and its rail"),
        bearing=True,
        urdf="prismatic",
    ),
)
