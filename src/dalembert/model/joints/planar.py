"""Plane on plane."""

from dalembert.model.joints.joint import ANGLE, AT, AXIS, AXIS_B, JOINTS, Coordinate, JointKind

JOINTS.register(
    "planar",
    JointKind(
        "Plane on plane, square to `axis`; spatial. Coordinates `name.x`, `name.y` and `name.angle`.",
        rows=(3, None),
        coordinates=(Coordinate("x", "vx", "m"), Coordinate("y", "vy", "m"), ANGLE),
        options=(AT, AXIS, AXIS_B),
    ),
)
