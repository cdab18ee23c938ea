"""Validity of a linear model: regions of its configuration space (Genta 2012, app. A).

A measure is a linear form of the coordinates, e = a·x: the elongation of a spring, a rotation, a clearance.
Around the equilibrium x = 0 every measure has a range in which the model is linear, inside a range in which the machine
still exists; the configuration space falls into three regions:

linear      every measure inside its linear range
nonlinear   some measure beyond its linear range, none beyond its failure range
failed      some measure beyond its failure range: no admissible configuration
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.core.arguments import known_units, real_number, unique_names
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.core.text import count_noun, list_names
from dalembert.linear.channels import places
from dalembert.record import Record
from dalembert.record.checks import numbers

REGIONS = ("linear", "nonlinear", "failed")

Limit = float | tuple[float | None, float | None] | None


@frozen(init=False)
class Validity:
    """Measures of the coordinates with their linear and failure limits; frozen.

    Parameters
    ----------
    coordinates : names
    measures : mapping of a measure's name to its row, as a mapping of coordinates to coefficients or (n,) numbers
    linear : mapping of measure names to limits
        A number is ± that; a pair (low, high) with low ≤ 0 ≤ high; ``None``, or a missing one, is no limit.
    failure : mapping of measure names to limits, optional
        Not inside the linear ones.
    units : mapping of measure names to units, optional

    Examples
    --------
    >>> springs = Validity(["x1", "x2"], {"first": {"x1": 1}, "second": {"x1": -1, "x2": 1}},
    ...                    linear={"first": 0.1, "second": 0.1}, failure={"first": 0.3, "second": (None, 0.3)})
    >>> springs.classify({"x1": 0.05, "x2": 0.25}).regions[0]
    'nonlinear'
    >>> springs.classify({"x1": 0.05, "x2": 0.25}).guilty[0]
    'second'
    """

    coordinates: tuple[str, ...]
    names: tuple[str, ...]
    rows: FloatArray
    linear: FloatArray
    failure: FloatArray
    units: Mapping[str, str]

    def __init__(
        self,
        coordinates: str | Iterable[str],
        measures: Mapping[str, Mapping[str, float] | ArrayLike],
        *,
        linear: Mapping[str, Limit],
        failure: Mapping[str, Limit] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        where = "this Validity"
        axes = (coordinates,) if isinstance(coordinates, str) else tuple(coordinates)
        axes = unique_names("coordinate", axes, ("",) * len(axes), where)
        if not measures:
            raise DataError(
                "empty", "a region of validity needs at least one measure, such as {'spring': {'x1': 1.0}}."
            )
        names = unique_names("measure", tuple(measures), ("",) * len(measures), where)
        for limits in (linear, failure or {}):
            places("measure", [*limits], names, where)
        rows = np.array([_row(name, measures[name], axes) for name in names])
        inner = np.array([_limit(name, linear.get(name), "linear") for name in names])
        outer = np.array([_limit(name, (failure or {}).get(name), "failure") for name in names])
        for name, (low, high), (least, most) in zip(names, inner, outer, strict=True):
            if (least > low and np.isfinite(low)) or (most < high and np.isfinite(high)):
                raise DataError(
                    "out-of-range",
                    f"measure {name!r} fails ({least:g} to {most:g}) before it leaves its linear range "
                    f"({low:g} to {high:g}); the failure range must contain the linear one.",
                )
        # where only failure is limited, the linear range ends there too
        inner = np.column_stack([np.maximum(inner[:, 0], outer[:, 0]), np.minimum(inner[:, 1], outer[:, 1])])
        assign(
            self, coordinates=axes, names=names, rows=rows, linear=inner, failure=outer,
            units=known_units(units, names, where),
        )  # fmt: skip

    def measure(self, points: Record | Mapping[str, ArrayLike] | ArrayLike) -> FloatArray:
        """(N, measures) of the given configurations."""
        at = self._points(points)
        if not np.isfinite(at).all():
            row, column = np.argwhere(~np.isfinite(at))[0]
            raise DataError(
                "not-finite",
                f"coordinate {self.coordinates[column]!r} is not finite at point {row + 1}; fill the gaps.",
            )
        result: FloatArray = at @ self.rows.T
        return result

    def classify(self, points: Record | Mapping[str, ArrayLike] | ArrayLike) -> Regions:
        """Region of every configuration, and the measure that decides it.

        Parameters
        ----------
        points : Record with the coordinates as channels, mapping of coordinates to numbers or arrays (left-out ones
            are 0), or (n,) or (N, n) numbers in the order of ``coordinates``
        """
        values = self.measure(points)
        times = points.time if isinstance(points, Record) else None
        # value over its limit: 1 at the linear limit, 1 at the failure limit
        use = [_use(values, limits) for limits in (self.linear, self.failure)]
        region = np.where((use[1] > 1.0).any(axis=1), 2, np.where((use[0] > 1.0).any(axis=1), 1, 0))
        worst = np.where(region == 2, use[1].argmax(axis=1), use[0].argmax(axis=1))
        return Regions(names=self.names, values=values, region=np.asarray(region), worst=np.asarray(worst), times=times)

    def scale_to_linear(self, shape: Mapping[str, ArrayLike] | ArrayLike) -> float:
        """Largest factor by which a configuration (a mode shape, a static response) may be scaled and stay linear."""
        use = _use(self.measure(shape), self.linear).max(initial=0.0)
        return float(np.inf) if use == 0.0 else float(1.0 / use)

    def table(self) -> str:
        """Measures with their ranges."""
        rows = []
        for i, name in enumerate(self.names):
            unit = self.units.get(name, "")
            spans = [f"{low:g} to {high:g}" for low, high in (self.linear[i], self.failure[i])]
            rows.append([name, unit, *spans])
        return align_columns(["measure", "unit", "linear", "failure"], rows)

    def __repr__(self) -> str:
        size = count_noun(len(self.names), "measure")
        return f"Validity: {size} of {list_names(self.coordinates, {})}\n{self.table()}"

    def _points(self, points: Any) -> FloatArray:
        if isinstance(points, Record):
            places("channel", self.coordinates, points.names, "the record")
            return np.asarray(points[list(self.coordinates)])
        if isinstance(points, Mapping):
            places("coordinate", [*points], self.coordinates, "this Validity")
            columns = [numbers(points.get(name, 0.0), f"coordinate {name!r}") for name in self.coordinates]
            try:
                return np.column_stack([np.atleast_1d(x) for x in np.broadcast_arrays(*columns)])
            except ValueError as error:
                raise DataError(
                    "wrong-shape", f"the coordinates of the points have different lengths ({error})."
                ) from error
        array = np.atleast_2d(numbers(points, "points"))
        if array.ndim != 2 or array.shape[1] != len(self.coordinates):
            raise DataError(
                "wrong-shape",
                f"points have shape {array.shape}; expected (N, {len(self.coordinates)}), a row per point.",
            )
        return array


@result
class Regions:
    """Result of :meth:`Validity.classify`: one region per configuration; frozen.

    ``values`` (N, measures); ``region`` (N,) 0 linear, 1 nonlinear, 2 failed; ``worst`` (N,) number of the measure
    furthest along its range; ``times`` (N,) [s] where the configurations came from a record, else None.
    """

    names: tuple[str, ...]
    values: FloatArray
    region: NDArray[np.intp]
    worst: NDArray[np.intp]
    times: FloatArray | None

    def __len__(self) -> int:
        return len(self.region)

    @property
    def regions(self) -> tuple[str, ...]:
        """ "linear", "nonlinear" or "failed", one per configuration."""
        return tuple(REGIONS[k] for k in self.region)

    @property
    def guilty(self) -> tuple[str, ...]:
        """The measure beyond its limit by the largest factor, one per configuration; empty where linear."""
        return tuple(self.names[w] if r else "" for r, w in zip(self.region, self.worst, strict=True))

    @property
    def worst_region(self) -> str:
        """The worst of all configurations."""
        return REGIONS[int(self.region.max(initial=0))]

    def table(self) -> str:
        """Number of configurations in each region, and the first outside the linear one."""
        rows = []
        for k, name in enumerate(REGIONS):
            here = np.flatnonzero(self.region == k)
            first = ""
            if k and len(here):
                i = int(here[0])
                moment = f"t = {self.times[i]:.6g} s" if self.times is not None else f"point {i + 1}"
                first = f"{moment}, {self.names[self.worst[i]]} = {self.values[i, self.worst[i]]:.6g}"
            rows.append([name, str(len(here)), first])
        return align_columns(["region", "points", "first"], rows)

    def __repr__(self) -> str:
        return f"Regions: {count_noun(len(self), 'configuration')}, worst {self.worst_region}\n{self.table()}"


def _use(values: FloatArray, limits: FloatArray) -> FloatArray:
    """(N, measures): value over the limit on its side; above 1 is beyond. A zero limit allows zero alone."""
    side = np.where(values >= 0.0, limits[:, 1], limits[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        use = np.where(values == 0.0, 0.0, np.abs(values / side))
    return np.asarray(use, dtype=np.float64)


def _row(name: str, given: Any, axes: tuple[str, ...]) -> FloatArray:
    if isinstance(given, Mapping):
        row = np.zeros(len(axes))
        at = places("coordinate", [*given], axes, f"measure {name!r}")
        row[at] = [real_number(f"the coefficient of {axis!r} in measure {name!r}", x) for axis, x in given.items()]
    else:
        row = np.array(numbers(given, f"measure {name!r}"))
        if row.shape != (len(axes),):
            raise DataError(
                "wrong-shape", f"measure {name!r} has shape {row.shape}; expected ({len(axes)},), one per coordinate."
            )
    if not np.isfinite(row).all() or not row.any():
        raise DataError("not-finite", f"measure {name!r} must be finite and not all zero.")
    return row


def _limit(name: str, given: Limit, what: str) -> tuple[float, float]:
    if given is None:
        return -np.inf, np.inf
    try:
        pair = (-abs(given), abs(given)) if isinstance(given, (int, float, np.number)) else tuple(given)
        low, high = (float(end if at is None else at) for at, end in zip(pair, (-np.inf, np.inf), strict=True))
    except (TypeError, ValueError) as error:
        raise DataError(
            "wrong-type", f"the {what} limit of {name!r} must be a number or a pair (low, high), got {given!r}."
        ) from error
    if not low <= 0.0 <= high:  # also NaN
        raise DataError(
            "out-of-range", f"the {what} limit of {name!r} must hold 0, the equilibrium; got {low:g} to {high:g}."
        )
    return low, high
