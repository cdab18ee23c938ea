"""Designs: the points of a sweep. All of them are drawn beforehand from one seed, so a point does not depend on the
process or the time of its computation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.declare import checked, count, number, positive, refused_as
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.expressions import Array


@checked
@dataclass(frozen=True)
class Normal:
    """A normal distribution of an axis: mean and standard deviation."""

    mean: Annotated[float, refused_as("out-of-range", number)]
    deviation: Annotated[float, refused_as("out-of-range", positive), "standard deviation"]


class Design:
    """Points of a sweep: ``names`` of the axes, ``points`` (n, k)."""

    axes: Mapping[str, Any]
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.axes)

    @property
    def points(self) -> Array:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Grid(Design):
    """Every combination of the values of the axes; the last axis changes fastest.

    Examples
    --------
    >>> Grid({"mass": [1.0, 2.0], "angle": [0.0, 0.5, 1.0]}).points.shape
    (6, 2)
    """

    axes: Mapping[str, Iterable[float]]
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)
        values = _values(self.axes)
        object.__setattr__(self, "axes", values)
        _check_count(math.prod(map(len, values.values())))

    @cached_property
    def points(self) -> Array:
        mesh = np.meshgrid(*[np.asarray(v) for v in self.axes.values()], indexing="ij")
        return np.column_stack([m.ravel() for m in mesh])


@dataclass(frozen=True)
class Points(Design):
    """Points of one's own: axis -> values, all of the same length."""

    axes: Mapping[str, Iterable[float]]
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)
        values = _values(self.axes)
        object.__setattr__(self, "axes", values)
        counts = {name: len(levels) for name, levels in values.items()}
        DataError.when(len(set(counts.values())) > 1, "wrong-shape", f"every axis needs as many values, got {counts}.")

    @cached_property
    def points(self) -> Array:
        return np.column_stack([np.asarray(v) for v in self.axes.values()])


@checked
@dataclass(frozen=True)
class _Random(Design):
    """A design whose points are drawn; an axis is (low, high) or a `Normal`."""

    axes: Mapping[str, Any]
    samples: Annotated[int, refused_as("not-a-count", count(1, 10_000_000)), "points that are drawn"]
    seed: Annotated[int, count(), "of the random numbers"] = 0

    def __post_init__(self) -> None:
        _check_random(self.axes)


class LatinHypercube(_Random):
    """``samples`` points, one in each of as many slices of every axis; an axis is (low, high) or a `Normal`."""

    @cached_property
    def points(self) -> Array:
        from scipy.stats import qmc

        unit = qmc.LatinHypercube(len(self.axes), rng=np.random.default_rng(self.seed)).random(self.samples)
        return _spread(self.axes, unit)


class Sobol(_Random):
    """``samples`` points of Sobol's scrambled sequence (a power of two is best); axes as for `LatinHypercube`."""

    @cached_property
    def points(self) -> Array:
        from scipy.stats import qmc

        sequence = qmc.Sobol(len(self.axes), scramble=True, rng=np.random.default_rng(self.seed))
        power = int(np.ceil(np.log2(self.samples)))
        return _spread(self.axes, sequence.random_base2(power)[: self.samples])


def _check_count(points: int, most: int = 10_000_000) -> None:
    """Refuse a grid of more than ``most`` points: their table would take gigabytes."""
    advice = Advice("Use {}.", Call("da.sweeps.LatinHypercube"), Call("da.sweeps.Sobol"))
    DataError.when(points > most, "too-large", f"a grid of {points} points is more than {most}.", advice)


def _axes(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not given:
        raise DataError("wrong-type", "a design needs axes by name: a mapping of names to values.")
    for name in given:
        if not isinstance(name, str) or not name:
            raise DataError("bad-name", f"the name of an axis must be text, got {name!r}.")
    return given


def _values(axes: object) -> dict[str, tuple[float, ...]]:
    """Axes that list their values, checked."""
    table = {}
    for name, axis in _axes(axes).items():
        try:
            values = np.atleast_1d(np.asarray(axis, dtype=float))
        except (TypeError, ValueError):
            raise DataError("not-a-number", f"axis {name!r} must be numbers, got {axis!r}.") from None
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise DataError("not-finite", f"axis {name!r} must be a list of finite numbers, got {axis!r}.")
        table[name] = tuple(values.tolist())
    return table


def _check_random(axes: object) -> None:
    for name, axis in _axes(axes).items():
        if isinstance(axis, Normal):
            continue
        try:
            low, high = (float(x) for x in axis)
        except (TypeError, ValueError):
            raise DataError(
                "wrong-type", f"axis {name!r} must be (low, high) or Normal(mean, deviation), got {axis!r}."
            ) from None
        problem = f"axis {name!r}: low must lie below high, got ({low:g}, {high:g})."
        DataError.when(not (np.isfinite([low, high]).all() and low < high), "out-of-range", problem)


def _spread(axes: Mapping[str, Any], unit: Array) -> Array:
    """Points of the unit cube on the axes."""
    from scipy.stats import norm

    columns = []
    for k, axis in enumerate(axes.values()):
        if isinstance(axis, Normal):
            columns.append(axis.mean + axis.deviation * norm.ppf(np.clip(unit[:, k], 1e-16, 1 - 1e-16)))
        else:
            low, high = (float(x) for x in axis)
            columns.append(low + (high - low) * unit[:, k])
    return np.column_stack(columns)
