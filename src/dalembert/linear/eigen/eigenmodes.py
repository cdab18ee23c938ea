"""Modes of a second-order system: selection, choice of the solver, order.

Dense systems are solved whole (:mod:`quadratic`) and the wanted modes selected; sparse ones are searched around a
frequency (:mod:`undamped_modes`, :mod:`arnoldi`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arguments import real_number, whole_number
from dalembert.core.arrays import ComplexArray
from dalembert.core.errors import DataError
from dalembert.linear.eigen import arnoldi, quadratic
from dalembert.linear.modes import Modes
from dalembert.numerics import ties

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder

# Sparse systems up to this size, and searches for more than half of all modes, are quicker and safer when dense.
SMALL = 300
DEFAULT_COUNT = 20
# A frequency at the end of a band is in it.
BAND_ROUNDING = 1e-9


def find(system: SecondOrder, count: int | None, near: float, band: tuple[float, float] | None) -> Modes:
    """The selected modes, ascending in frequency; see :meth:`SecondOrder.modes`."""
    count, near, band = _check(system, count, near, band)
    dense = system.dense() if _better_dense(system, count) else system
    if dense.is_sparse:
        values, shapes = arnoldi.solve(dense, count or DEFAULT_COUNT, near, band)
        count = count or (None if band else DEFAULT_COUNT)
    else:
        values, shapes = quadratic.solve(dense.M, dense.C, dense.G, dense.K, dense.H, dense.K_loss, dense.coordinates)
    chosen = _choose(values, count, near, band)
    values = values[chosen]
    shapes = quadratic.normalise(shapes[:, chosen], system.M)
    return Modes(
        values, shapes, system.coordinates, momenta=system.M @ shapes, restoring=system.K @ shapes,
        provenance=system.provenance,
    )  # fmt: skip


def _choose(values: ComplexArray, count: int | None, near: float, band: tuple[float, float] | None) -> Any:
    """Indices of the wanted eigenvalues, ascending in modulus; of equal ones growth before decay."""
    size = np.abs(values)
    order = ties.by_modulus(values)
    if band is not None:
        low, high = band
        inside = (size >= low * (1.0 - BAND_ROUNDING)) & (size <= high * (1.0 + BAND_ROUNDING))
        order = order[inside[order]]
        near = low
    if count is not None and count < len(order):
        nearest = np.argsort(ties.ranks(np.abs(size[order] - near), float(size.max())), kind="stable")[:count]
        order = order[np.sort(nearest)]
    return order


def _better_dense(system: SecondOrder, count: int | None) -> bool:
    n = system.nq
    return system.is_sparse and (n <= SMALL or (count is not None and count > n // 2) or n <= 2 * DEFAULT_COUNT)


def _check(
    system: SecondOrder, count: int | None, near: float, band: tuple[float, float] | None
) -> tuple[int | None, float, tuple[float, float] | None]:
    if count is not None:
        count = whole_number("count", count, 1)
    near = real_number("near", near)
    if near < 0.0:
        raise DataError("negative", f"near must be a frequency ≥ 0 in rad/s, got {near!r}.")
    if band is None:
        return count, near, None
    if near:
        raise DataError("conflicting-arguments", "give near or band, not both.")
    try:
        low, high = (float(end) for end in band)
    except (TypeError, ValueError) as error:
        raise DataError("out-of-range", f"band must be (low, high) in rad/s, got {band!r}.") from error
    if not (0.0 <= low < high < np.inf):
        raise DataError("out-of-range", f"band must be (low, high) with 0 ≤ low < high in rad/s, got {band!r}.")
    return count, 0.0, (low, high)
