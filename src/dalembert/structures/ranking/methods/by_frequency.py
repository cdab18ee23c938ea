"""Interior modes by frequency, the usual choice: the lowest first (Craig and Bampton 1968). It has no bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.structures.ranking.method import RANKINGS, HeldMasters, RankingMethod, Weigh, Weights


@dataclass(frozen=True)
class ByFrequency(RankingMethod):
    """Rank by frequency; the coefficient is the flexibility 1/ω², and says nothing about what is left out."""

    def prepare(self, held: HeldMasters) -> Weigh:
        def weigh(squares: FloatArray, Phi: FloatArray) -> Weights:
            return Weights(1.0 / squares, np.zeros(len(squares)), np.nan)

        return weigh


RANKINGS.register("by-frequency", ByFrequency)
