"""Interior modes of a system with its masters held, ranked by a method.

Of large systems only the lowest modes are computed, as many as a method needs to leave little in the others; twice as
many in each pass, so that all passes together cost as much as twice the last.
"""

from __future__ import annotations

from typing import Annotated

from dalembert.core.declare import checked, instance, positive
from dalembert.core.declare import count as a_count
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.ranking.method import HeldMasters, RankingMethod
from dalembert.structures.ranking.ranking import Ranking, sort_modes
from dalembert.structures.reduction.partition import Names, Partition


@checked
def rank_modes(
    system: SecondOrder,
    masters: Names,
    method: Annotated[RankingMethod, instance(RankingMethod), "how modes are ranked"],
    *,
    count: Annotated[int, a_count(1), "lowest interior modes that are computed and ranked"] | None = None,
    rest: Annotated[float, positive, "share that modes not computed may hold where count is left out"] = 1e-3,
    first: Annotated[int, a_count(1), "modes of the first pass, where there are too many for a dense solver"] = 100,
) -> Ranking:
    """Rank the modes of a system with its masters held: those to keep first come first.

    Parameters
    ----------
    system : SecondOrder, dense or sparse; ``assemble_structure(part).system()`` of a frame or a solid
    masters : coordinates, points or patterns: interfaces, loads, sensors
    method : `InteriorModeRanking`, `EnergyBasedRanking`, `ByFrequency`, `EffectiveInterfaceMass`,
        `OptimalModalReduction` or `MomentMatching`

    Returns
    -------
    Ranking
        ``first(k)`` is the argument ``modes`` of `craig_bampton` and of `flexible_body`.

    Examples
    --------
    >>> import numpy as np
    >>> from dalembert.structures import InteriorModeRanking
    >>> chain = SecondOrder(np.diag([1, 1, 1, 1, 0.5]), np.diag([2, 2, 2, 2, 1]) - np.eye(5, k=1) - np.eye(5, k=-1))
    >>> ranking = rank_modes(chain, "x3", InteriorModeRanking(modes=[1, 2]))
    >>> ranking.first(ranking.size(0.02))
    (1, 2)
    """
    held = HeldMasters.of(Partition(system, masters))
    weigh = method.prepare(held)
    s = len(held.split.second)
    wanted = count or (s if s <= factors.DENSE_EIGEN else min(first, s))
    while True:
        squares, Phi = factors.lowest(held.M22, held.K22, wanted, held.factor)
        every = wanted >= s or len(squares) < wanted
        weights = weigh(squares, Phi)
        more = min(2 * wanted, s if s <= factors.DENSE_ALL else s - 1)
        if every or count or not weights.rest > rest or more == wanted:
            break
        wanted = more
    return sort_modes(held, method, squares, Phi, weights, every=every)
