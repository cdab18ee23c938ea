"""Constant poses of frames in each other, as robot files give them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dalembert.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Origin:
    """A pose: place [m] and axes as columns, in a frame that is called its parent."""

    place: FloatArray = field(default_factory=lambda: np.zeros(3))
    axes: FloatArray = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, inner: Origin) -> Origin:
        """Pose in the parent of this frame, given the pose `inner` in this frame."""
        return Origin(self.place + self.axes @ inner.place, self.axes @ inner.axes)

    @property
    def inverse(self) -> Origin:
        """Pose of the parent in this frame."""
        return Origin(-self.axes.T @ self.place, self.axes.T)
