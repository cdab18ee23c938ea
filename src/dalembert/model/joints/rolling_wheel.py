"""A wheel on a plane."""

from dalembert.model.bodies import positive
from dalembert.model.joints.joint import JOINTS, Glyph, JointKind, Option, Z

JOINTS.register(
    "rolling wheel",
    JointKind(
        "A thin disc (the second body) rolls without slip on a plane of the first; in the plane, on a line.",
        rows=(3, 2),
        options=(
            Option("radius", "length", "of the wheel", check=positive),
            Option("axis", "direction", "axle in the wheel's axes, y by default", None),
            Option("normal", "direction", "of the plane, in the first body's axes; z by default, y in the plane", None),
        ),
        glyph=Glyph("wheel", "rolls without slip", radius="radius"),
        directions=(("normal", Z), ("axis", (0.0, 1.0, 0.0))),
        numbers=("radius",),
    ),
)
