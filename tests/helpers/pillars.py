"""A column that buckles."""

from __future__ import annotations

import numpy as np

from dalembert.structures import Frame, Section


def pillar(*, elements: int = 4, planar: bool = True, **beam: object) -> Frame:
    """Column of 1 m, 20 mm square, fixed at its foot, 1 N down on its head."""
    frame = Frame("pillar", planar=planar, gravity=0)
    up = (0, 1) if planar else (0, 0, 1)
    frame.add_points(["foot", "head"], [[0.0] * len(up), up])
    frame.add_beam("pillar", "foot", "head", section=Section.square(0.02), material="steel", elements=elements, **beam)
    frame.add_support("foot", "fixed")
    frame.add_force("down", "head", tuple(-np.array(up)))
    return frame
