"""A point on a plane."""

from dalembert.model.joints.joint import AT, AXIS, JOINTS, JointKind

JOINTS.register(
    "point on plane",
    JointKind(
        "A point of the second body stays on a plane of the first, square to `axis`; spatial.",
        rows=(1, None),
        options=(AT, AXIS),
    ),
)
