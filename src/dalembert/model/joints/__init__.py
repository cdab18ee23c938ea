"""Kinds of joints as data, one file each; their mathematics is in `mechanics/joints/` under the same names."""

from dalembert.model.joints.joint import JOINTS, Coordinate, Glyph, Joint, JointKind, Option, unit_along

__all__ = ["JOINTS", "Coordinate", "Glyph", "Joint", "JointKind", "Option", "unit_along"]
