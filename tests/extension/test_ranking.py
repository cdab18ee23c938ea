"""A ranking of interior modes that is written here and not in the package: by the static work of a load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from dalembert.linear import SecondOrder
from dalembert.structures import RANKINGS, RankingMethod, rank_modes
from dalembert.structures.ranking.method import HeldMasters, Weigh, Weights, share_of


@dataclass(frozen=True)
class ByWork(RankingMethod):
    """φᵀf/ω for a load f on the slaves."""

    load: dict[str, float]

    def prepare(self, held: HeldMasters) -> Weigh:
        f = np.array([self.load.get(name, 0.0) for name in held.split.slaves])
        total = float(f @ held.factor.solve(f))

        def weigh(squares: np.ndarray, Phi: np.ndarray) -> Weights:
            return share_of((f @ Phi) ** 2 / squares, total)

        return weigh


@pytest.fixture(autouse=True)
def by_work() -> Iterator[None]:
    RANKINGS.register("by-work", ByWork)
    yield
    RANKINGS.unregister("by-work")


def test_it_ranks_and_bounds_as_the_others_do() -> None:
    chain = SecondOrder(np.eye(6), 2 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1))
    ranking = rank_modes(chain, "x1", RANKINGS["by-work"]({"x6": 1.0}))  # type: ignore[call-arg]
    assert ranking.bound(0) == pytest.approx(1.0, abs=1e-14) and ranking.order[0] == 1
    part = rank_modes(chain, "x1", ByWork({"x6": 1.0}), count=2)
    assert part.rest == pytest.approx(ranking.bound(2), abs=1e-14)
