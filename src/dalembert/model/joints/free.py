"""No joint at all, but coordinates."""

from dalembert.model.joints.joint import AT, JOINTS, Coordinate, Glyph, JointKind

JOINTS.register(
    "free",
    JointKind(
        "Holds nothing: it names the motion of the second body against the first (a floating base); spatial. "
        "Coordinates `name.x`, `name.y`, `name.z`; in joint coordinates the orientation too, `name.e0` to `name.e3`.",
        rows=(0, None),
        coordinates=tuple(Coordinate(axis, f"v{axis}", "m") for axis in "xyz"),
        options=(AT,),
        glyph=Glyph(""),
        instead="planar",
        urdf="floating",
    ),
)
