"""A weld."""

from dalembert.model.joints.joint import AT, JOINTS, Glyph, JointKind

JOINTS.register(
    "fixed",
    JointKind("Two frames welded together.", rows=(6, 3), options=(AT,), glyph=Glyph(""), urdf="fixed"),
)
