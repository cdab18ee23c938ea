"""Interior modes in the order of their importance, and how many of them are enough."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.declare import checked, count, instance, positive
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.results import column, result
from dalembert.core.tables import align_columns
from dalembert.linear.second_order import SecondOrder
from dalembert.numerics import ties
from dalembert.structures.ranking.method import HeldMasters, RankingMethod, Weights
from dalembert.structures.reduction.fidelity import group_repeats
from dalembert.structures.reduction.partition import Partition
from dalembert.structures.reduction.reduction import Interior


@result
class Ranking:
    """Order of the k interior modes that were computed, the most important first.

    ``order`` has their numbers from 1, by frequency; ``coefficients`` and ``shares`` (of a total of 1) are in this
    order. ``rest`` is the largest share of all modes that were not computed; modes of one frequency have equal
    coefficients, the mean of theirs. ``masters`` of ``full``; ``interior`` has the modes by number.
    """

    order: IntArray = column("interior mode", show="d")
    frequencies: FloatArray = column("frequency", "rad/s")
    coefficients: FloatArray = column("coefficient", show=".4g")
    shares: FloatArray = column("share", show=".3g")
    rest: float
    method: Any
    masters: tuple[str, ...]
    interior: Interior
    full: SecondOrder

    def __len__(self) -> int:
        return len(self.order)

    def bounds(self) -> FloatArray:
        """(k + 1,) share that the first 0, 1, ..., k modes leave out, at most."""
        return np.append(np.cumsum(self.shares[::-1])[::-1], 0.0) + self.rest

    @checked
    def bound(self, k: Annotated[int, count(), "modes kept"]) -> float:
        """Share that the first ``k`` modes leave out, at most; NaN where the method has no total."""
        self._known(k)
        return float(self.bounds()[k])

    @checked
    def size(self, tolerance: Annotated[float, positive, "largest share left out"]) -> int:
        """Smallest number of modes that leave out at most ``tolerance``."""
        if np.isnan(self.rest):
            problem = "this ranking has no total, and so no share that is left out."
            raise DataError("not-supported", problem, Advice("Rank by another method: {}.", Call("ranking.by")))
        enough = np.flatnonzero(self.bounds() <= tolerance)
        if not len(enough):
            problem = f"the {len(self)} interior modes computed leave out up to {self.bounds()[-1]:.3g}"
            raise DataError(
                "too-few-modes", f"{problem}, more than {tolerance:g}.",
                Advice("Compute more with {}.", Argument("rest", tolerance)),
            )  # fmt: skip
        return int(enough[0])

    @checked
    def first(self, k: Annotated[int, count(), "modes kept"]) -> tuple[int, ...]:
        """Numbers of the first ``k`` modes: ``modes`` of `craig_bampton` and of `flexible_body`."""
        self._known(k)
        return tuple(self.order[:k].tolist())

    @checked
    def by(self, method: Annotated[RankingMethod, instance(RankingMethod), "another ranking"]) -> Ranking:
        """The same interior modes ranked by another method."""
        held = HeldMasters.of(Partition(self.full, self.masters))
        squares, Phi = self.interior.omega**2, self.interior.Phi
        weights = method.prepare(held)(squares, Phi)
        return sort_modes(held, method, squares, Phi, weights, every=Phi.shape[1] == Phi.shape[0])

    def table(self, most: int = 20) -> str:
        """The first modes, and the share that each and those before it leave out."""
        head = ("interior mode", "frequency [Hz]", "coefficient", "left out")
        rows = zip(self.order, self.frequencies / (2.0 * np.pi), self.coefficients, self.bounds()[1:])
        lines = [(str(n), f"{f:.6g}", f"{c:.4g}", f"{left:.3g}") for n, f, c, left in rows]
        return align_columns(head, lines[:most]) + (f"\n... {len(lines)} modes" if len(lines) > most else "")

    def _known(self, k: int) -> None:
        if k > len(self):
            problem = f"{k} modes were requested, but only {len(self)} interior modes were computed."
            raise DataError("too-few-modes", problem, Advice("Compute more with {}.", Argument("count", k)))


def sort_modes(
    held: HeldMasters, method: RankingMethod, squares: FloatArray, Phi: FloatArray, weights: Weights, *, every: bool
) -> Ranking:
    """Modes by falling coefficient; those of one frequency share theirs, ties go to the lowest.

    every : whether all interior modes were computed, so that no others hold a share.
    """
    omega = np.sqrt(np.abs(squares))
    coefficients, shares = weights.coefficients.copy(), weights.shares.copy()
    for group in group_repeats(omega) if len(omega) else ():
        coefficients[group], shares[group] = coefficients[group].mean(), shares[group].mean()
    order = ties.largest_first(coefficients)
    kept = np.ones(len(omega), dtype=bool)
    rest = float(np.minimum(weights.rest, 0.0)) if every else weights.rest  # NaN stays: a method without a total
    interior = Interior(slaves=held.split.slaves, B=held.B, Phi=Phi, omega=omega, kept=kept)
    return Ranking(
        order=order + 1, frequencies=omega[order], coefficients=coefficients[order], shares=shares[order],
        rest=rest, method=method, masters=held.split.names, interior=interior, full=held.split.system,
    )  # fmt: skip
