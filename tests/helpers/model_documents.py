"""A model file that is sound."""

from __future__ import annotations

# a sound file to append to: 13 lines
GOOD = """\
name = "arm"
planar = true

[parameters]
length = "0.5 m"

[bodies.rod]
mass = 1.0
inertia = { rod = "length" }

[joints.A]
type = "revolute"
a = "ground"
b = "rod(-length/2, 0)"
"""
