"""A sphere on a plane."""

from dalembert.model.bodies import positive
from dalembert.model.joints.joint import JOINTS, Glyph, JointKind, Option, Z

JOINTS.register(
    "rolling sphere",
    JointKind(
        "A sphere (the second body) rolls without slip on a plane of the first; spatial.",
        rows=(3, None),
        options=(
            Option("radius", "length", "of the sphere", check=positive),
            Option("normal", "direction", "of the plane, in the first body's axes; z by default", None),
        ),
        glyph=Glyph("sphere", "rolls without slip", radius="radius"),
        directions=(("normal", Z), ("", Z)),
        numbers=("radius",),
    ),
)
