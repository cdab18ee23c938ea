"""Gains that change with time, as expressions.

A sampled gain is held over each sample: a table. A continuous one is a cubic between nodes with the exact values and
slopes; as a sum of pieces that each rise from zero to their share and stay there,

    K(t) = K₀ + Σ_i Δ_i(τ_i) ,    τ_i = (t - t_i)/h_i held within 0 to 1 ,

it needs no branches, so that any expression can contain it.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.results import result
from dalembert.numerics.sample_times import written


@result
class Schedule:
    """Gains ``gains[k]`` (m, n) at ``times[k]`` [s], from the moment the law is switched on; the ends are held.

    slopes : (k, m, n) rates of the gains [1/s], of a continuous law; None where every gain is held until the next time.
    """

    times: FloatArray
    gains: FloatArray
    slopes: FloatArray | None = None

    def reverse(self) -> Schedule:
        """The schedule in reversed time, gains transposed, for the dual problem of a filter."""
        gains = np.ascontiguousarray(self.gains[::-1].transpose(0, 2, 1))
        if self.slopes is None:
            return Schedule(self.times, gains)
        return Schedule(self.times[-1] - self.times[::-1], gains, -self.slopes[::-1].transpose(0, 2, 1))

    def at(self, t: object) -> Any:
        """Gain (m, n) at the time t, as a CasADi expression."""
        return self._hold(t) if self.slopes is None else self._smooth(t)

    def _hold(self, t: object) -> Any:
        count, m, n = self.gains.shape
        values = self.gains.transpose(0, 2, 1).reshape(count, -1)  # columns after each other, as CasADi reshapes
        if count == 1:  # a table needs two entries
            values, last, step = np.repeat(values, 2, axis=0), 1.0, 1.0
        else:
            last, step = float(self.times[-1]), float(self.times[-1]) / (count - 1)
        place = ca.floor(ca.fmin(ca.fmax(t, 0.0), last) / step + written(1.0))
        grid = [list(range(len(values)))]
        table = ca.interpolant("gains", "linear", grid, values.ravel(), {"lookup_mode": ["exact"]})
        return ca.reshape(table(place), m, n)

    def _smooth(self, t: object) -> Any:
        assert self.slopes is not None
        count, m, n = self.gains.shape
        h = np.diff(self.times)
        x = ca.fmin(ca.fmax((t - ca.DM(self.times[:-1])) / ca.DM(h), 0.0), 1.0)
        shapes = ca.vertcat(x * x * (3.0 - 2.0 * x), x * (1.0 - x) * (1.0 - x), -x * x * (1.0 - x))
        gains, slopes = (part.transpose(0, 2, 1).reshape(count, -1) for part in (self.gains, self.slopes))
        weights = np.vstack([np.diff(gains, axis=0), h[:, None] * slopes[:-1], h[:, None] * slopes[1:]])
        return ca.reshape(ca.DM(gains[0]) + ca.DM(weights.T) @ shapes, m, n)
