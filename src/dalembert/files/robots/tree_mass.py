"""The mass matrix of a tree in one pose, M = Σ m Jₚᵀ Jₚ + Jᵣᵀ I Jᵣ + armature, as the sum over its bodies."""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray


class TreeMass:
    """Bodies are added parents first. Motions of joints are screws: rows of angular velocity and of the velocity of
    the point at the origin of the world, in world axes."""

    def __init__(self) -> None:
        self.M: FloatArray = np.zeros((0, 0))
        self._screws: dict[str, FloatArray] = {}
        self._columns: dict[str, list[int]] = {}

    def add(
        self, name: str, parent: str, screws: FloatArray, mass: float, center: FloatArray, inertia: FloatArray,
        armature: float = 0.0,
    ) -> int:  # fmt: skip
        """A body with the motions of its joint, its centre and its inertia in world axes; returns its first column."""
        first, count = len(self.M), len(screws)
        M = np.zeros((first + count, first + count))
        M[:first, :first] = self.M
        M[range(first, first + count), range(first, first + count)] = armature
        J = np.vstack([self._screws.get(parent, np.zeros((0, 6))), screws])
        columns = [*self._columns.get(parent, ()), *range(first, first + count)]
        Jr, Jp = J[:, :3], J[:, 3:] + np.cross(J[:, :3], center)
        M[np.ix_(columns, columns)] += mass * Jp @ Jp.T + Jr @ inertia @ Jr.T
        self.M, self._screws[name], self._columns[name] = M, J, columns
        return first

    def least(self) -> float:
        """Least eigenvalue of M with a diagonal of ones, of its largest entry, zero within rounding."""
        if not len(self.M):
            return 0.0
        size = np.sqrt(np.maximum(np.abs(np.diag(self.M)), np.finfo(float).tiny))
        scaled = self.M / size / size[:, None]
        if not np.isfinite(scaled).all():  # an overflow
            return -np.inf
        value = float(np.linalg.eigvalsh(scaled / np.abs(scaled).max(initial=1.0))[0])
        return 0.0 if abs(value) < len(self.M) * 1e-13 else value
