"""Plane on plane."""

from dalembert.model.joints.joint import ANGLE, AT, AXIS, AXIS_B, JOINTS, Coordinate, JointKind

JOINTS.register(
    "planar",
    JointKind(
        "Plane on plane, square to `axis`; in a planar machine it holds nothing and names the motion. Coordinates "
        "`name.x`, `name.y` and `name.angle`.",
        rows=(3, 0),
        coordinates=(Coordinate("x", "vx", "m"), Coordinate("y", "vy", "m"), ANGLE),
        options=(AT, AXIS, AXIS_B),
        urdf="planar",
    ),
)
