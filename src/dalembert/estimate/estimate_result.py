"""Estimate: what a filter made of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DataError, unknown_name
from dalembert.expressions import Array
from dalembert.linear.checks import Frozen
from dalembert.linear.tables import aligned
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.estimate.filtering import Filter


class Estimate(Frozen):
    """What a filter tells of every sample of a record; frozen.

    Attributes
    ----------
    record : estimates by name.  deviations : their standard deviations, under the same names.
    states : (N, nx) the state as the filter carries it.
    innovations : (N, ny) y - ŷ before the sample was taken in, NaN where there was none.
    spreads : (N, ny) their standard deviations.
    nis : (N,) eᵀ S⁻¹ e over the rows that were measured; `measured` (N,) how many those are.
    log_likelihood : of all samples, given those before.
    data : the record that was filtered.  filter : by what.  seconds : of processor time.
    """

    record: Record
    deviations: Record
    states: Array
    innovations: Array
    spreads: Array
    nis: Array
    measured: Array
    log_likelihood: float
    data: Record
    filter: Any
    start: Array
    seconds: float
    status: str

    def __init__(self, **fields: Any) -> None:
        self._freeze(**fields)

    @classmethod
    def _of(cls, filter_: Filter, data: Record, told: Array, m: Array, seconds: float, status: str) -> Estimate:
        """From the rows a run tells."""
        where, reported = filter_.native.told, filter_.native.reported
        N = len(told)
        model = filter_.process
        fresh = np.isfinite(np.asarray(data[list(model.outputs.names)], dtype=float)[:N])
        count = fresh.sum(axis=1)
        likelihood = -0.5 * (told[:, where.nis].sum() + told[:, where.logdet].sum() + count.sum() * np.log(2 * np.pi))
        about: dict[str, Any] = {"name": f"{type(filter_).__name__} of {data.name or 'a record'}", "status": status}
        time = data.time[:N]
        return cls(
            record=Record(time, told[:, where.report].copy(), reported.names, reported.units, **about),
            deviations=Record(
                time, np.sqrt(np.maximum(told[:, where.variance], 0.0)), reported.names, reported.units, **about
            ),
            states=told[:, where.memory][:, : model.nx].copy(),
            innovations=np.where(fresh, told[:, where.innovation], np.nan),
            spreads=np.where(fresh, told[:, where.spread], np.nan),
            nis=told[:, where.nis].copy(), measured=count, log_likelihood=float(likelihood),
            data=data, filter=filter_, start=m, seconds=float(seconds), status=status,
        )  # fmt: skip

    @property
    def time(self) -> Array:
        return self.record.time

    def __getitem__(self, name: str) -> Array:
        """(N,) estimate by name."""
        return self.record[name]

    def __len__(self) -> int:
        return len(self.record)

    def deviation(self, name: str) -> Array:
        """(N,) standard deviation of an estimate, by name."""
        return self.deviations[name]

    def innovation(self, name: str) -> Array:
        """(N,) innovation of an output, by name."""
        names = self.filter.process.outputs.names
        if name not in names:
            raise DataError(unknown_name("output", name, names, "the filter"))
        return self.innovations[:, names.index(name)]

    def table(self) -> str:
        """Last estimates with their deviations."""
        rows = [
            [name, f"{self.record.data[-1, k]:.6g}", f"{self.deviations.data[-1, k]:.3g}", self.record.units[name]]
            for k, name in enumerate(self.record.names[:20])
        ]
        return aligned(["estimate", "at the end", "deviation", "unit"], rows)

    def __repr__(self) -> str:
        used = self.measured.sum()
        per = self.nis.sum() / used if used else np.nan
        return (
            f"Estimate by {type(self.filter).__name__}: {len(self)} samples, {self.time[0]:.6g} to {self.time[-1]:.6g} s, "
            f"{self.status}, NIS {per:.3g} per sample and output (1 is consistent), log-likelihood "
            f"{self.log_likelihood:.6g}\n{self.table()}"
        )
