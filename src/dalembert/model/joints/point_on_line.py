"""A point on a line."""

from dalembert.model.joints.joint import AT, AXIS, DISPLACEMENT, JOINTS, Glyph, JointKind

JOINTS.register(
    "point on line",
    JointKind(
        "A point of the second body stays on a line of the first along `axis`. Coordinate `name.displacement`.",
        rows=(2, 1),
        coordinates=(DISPLACEMENT,),
        options=(AT, AXIS),
        glyph=Glyph("slot", "slide and its rail"),
    ),
)
