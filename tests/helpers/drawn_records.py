"""Records with a scene, made by hand."""

from __future__ import annotations

import numpy as np

from dalembert.record import Record


def pendulum(samples: int = 61, name: str = "pendulum") -> Record:
    """A rod turning about the origin, its centre at 0.5 m."""
    t = np.linspace(0.0, 2.0, samples)
    angle = 3.0 * t
    channels = {
        "rod.x": 0.5 * np.cos(angle),
        "rod.y": 0.5 * np.sin(angle),
        "rod.angle": angle,
        "A.angle": angle,
        "A.rate": np.full_like(t, 3.0),
        "tip.x": np.cos(angle),
        "tip.y": np.sin(angle),
        "energy": 0.5 + 0 * t,
    }
    units = {"rod.x": "m", "rod.y": "m", "rod.angle": "rad", "A.angle": "rad", "A.rate": "rad/s"}
    units |= {"tip.x": "m", "tip.y": "m", "energy": "J"}
    scene = {
        "planar": True,
        "bodies": [{"name": "rod", "points": [[-0.5, 0, 0], [0.5, 0, 0]], "lines": [[0, 1]]}],
        "ground": [[0, 0, 0]],
        "joints": [{"name": "A", "type": "revolute", "body": "rod", "point": [-0.5, 0, 0]}],
        "springs": [{"name": "k", "a": ["rod", [0, 0, 0]], "b": [None, [1.0, 1.0, 0]]}],
    }
    return Record.from_channels(t, channels, units, name=name, scene=scene)
