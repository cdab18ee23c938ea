"""A pin in a straight slot."""

from dalembert.model.joints.joint import AT, AXIS, DISPLACEMENT, JOINTS, Glyph, JointKind

JOINTS.register(
    "pin in slot",
    JointKind(
        "A pin of the second body slides in a straight slot of the first along `axis` (x by default); planar.",
        rows=(None, 1),
        coordinates=(DISPLACEMENT,),
        options=(AT, AXIS),
        glyph=Glyph("slot", "slide and its rail"),
        instead="point on line",
    ),
)
