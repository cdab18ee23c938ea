"""Results of a sweep as one dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.tables import align_columns


@frozen(init=False)
class Swept:
    """Points of a sweep and the results of the trial at each; frozen.

    Attributes
    ----------
    names : axes.  points : (n, k).  results : label -> (n, ...), NaN where a point failed or is missing.
    status : per point "done", "failed" or "missing".  errors : index -> message.  seed : of the design.
    """

    names: tuple[str, ...]
    points: FloatArray
    results: Mapping[str, FloatArray]
    status: tuple[str, ...]
    errors: Mapping[int, str]
    seed: int

    def __init__(
        self, names: tuple[str, ...], points: object, results: Mapping[str, Any], status: tuple[str, ...],
        errors: Mapping[int, str], seed: int,
    ) -> None:  # fmt: skip
        assign(
            self, names=names, points=points, results=dict(results), status=status, errors=dict(errors), seed=int(seed)
        )

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, name: str) -> FloatArray:
        """(n,) values of an axis, or (n, ...) of a result."""
        if name in self.results:
            return self.results[name]
        if name in self.names:
            return self.points[:, self.names.index(name)]
        raise DataError(
            "unknown-name", unknown_name("axis or result", name, (*self.results, *self.names), "this sweep")
        )

    @property
    def complete(self) -> bool:
        return all(status == "done" for status in self.status)

    @property
    def failed(self) -> FloatArray:
        """(f, k) points at which the trial failed; ``errors`` gives the reasons."""
        return np.asarray(self.points[sorted(self.errors)])

    def to_xarray(self) -> Any:
        """The sweep as an ``xarray.Dataset`` along ``point`` (needs the extra ``data``)."""
        from dalembert.core.errors import require_extra

        xarray = require_extra("xarray", "data")
        coordinates = {name: ("point", self.points[:, k]) for k, name in enumerate(self.names)}
        variables: dict[str, Any] = {}
        for label, array in self.results.items():
            inner = [f"{label}.{i}" for i in range(array.ndim - 1)]
            variables[label] = (("point", *inner), array)
        variables["status"] = ("point", np.array(self.status))
        return xarray.Dataset(variables, coordinates, attrs={"seed": self.seed})

    def table(self) -> str:
        """Smallest, mean and largest of every axis and result."""
        rows = []
        scalars = {name: self[name] for name in (*self.names, *self.results)}
        for name, values in scalars.items():
            good = values[np.isfinite(values)] if values.ndim == 1 else np.asarray(values)[np.isfinite(values)]
            if len(good):
                rows.append([name, *(f"{f(good):.5g}" for f in (np.min, np.mean, np.std, np.max))])
        return align_columns(["", "smallest", "mean", "deviation", "largest"], rows)

    def __repr__(self) -> str:
        counts = {kind: self.status.count(kind) for kind in ("done", "failed", "missing")}
        counted = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
        return f"Swept: {len(self)} points over {', '.join(self.names)} ({counted})\n{self.table()}"
