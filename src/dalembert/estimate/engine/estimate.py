"""Estimate: the result of a filter over a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import frozen
from dalembert.core.errors import require_name
from dalembert.core.tables import align_columns
from dalembert.estimate.algebra.matrices import unpack_numbers
from dalembert.estimate.engine.consistency import Consistency, consistency
from dalembert.estimate.engine.metrics import Comparison, compare
from dalembert.estimate.engine.recursion import result_columns
from dalembert.estimate.engine.rows import read_rows
from dalembert.expressions import Array
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter


@frozen
class Estimate:
    """Estimates of a filter at every sample of a record; frozen.

    Attributes
    ----------
    record : estimates by name.  deviations : their standard deviations, under the same names.
    states : (N, nx) the state x.
    innovations : (N, ny) y - ŷ before the sample was taken in, NaN where there was none.
    spreads : (N, ny) their standard deviations.
    nis : (N,) eᵀ S⁻¹ e over the rows that were measured; `measured` (N,) how many those are, less those that inputs of
        which nothing is assumed explain by themselves (`JointInputKalman`).
    log_likelihood : of all samples, given those before.
    data : the record that was filtered.  filter : by what.  seconds : of processor time.
    smoothed : whether every estimate uses the samples after it (`smooth`).
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
    smoothed: bool
    _filter_states: Array | None  # (N, state_size), where that is not too much to keep
    _packed: Array | None  # (N, ne(ne+1)/2) covariances of a smoothed estimate

    @classmethod
    def _of(cls, filter_: Filter, data: Record, results: Array, m: Array, seconds: float, status: str) -> Estimate:
        """From the results of a run."""
        where, reported = filter_.native.columns, filter_.native.reported
        N, lean = len(results), results.shape[1] < where.size
        if lean:
            where = result_columns(filter_.process.nx, len(reported), filter_.process.ny)
        model = filter_.process
        measured = np.isfinite(np.asarray(data[list(model.outputs.names)], dtype=float)[:N])
        count = measured.sum(axis=1)
        likelihood = -0.5 * (
            results[:, where.nis].sum() + results[:, where.logdet].sum() + count.sum() * np.log(2 * np.pi)
        )
        about: dict[str, Any] = {"name": f"{type(filter_).__name__} of {data.name or 'a record'}", "status": status}
        time = data.time[:N]
        return cls(
            record=Record(time, results[:, where.report].copy(), reported.names, reported.units, **about),
            deviations=Record(
                time, np.sqrt(np.maximum(results[:, where.variance], 0.0)), reported.names, reported.units, **about
            ),
            states=results[:, : model.nx], smoothed=False, _packed=None,
            _filter_states=None if lean else results[:, where.filter_state],
            innovations=np.where(measured, results[:, where.innovation], np.nan),
            spreads=np.where(measured, results[:, where.spread], np.nan),
            nis=results[:, where.nis], measured=np.maximum(count - filter_.explained, 0),
            log_likelihood=float(likelihood), data=data, filter=filter_, start=m, seconds=float(seconds), status=status,
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
        require_name("output", name, names, "the filter")
        return self.innovations[:, names.index(name)]

    def _replace(self, **changes: Any) -> Estimate:
        return Estimate(**{**self.__dict__, **changes})

    def filter_states(self) -> Array:
        """(N, state_size) filter state after every sample: x, then the covariance in the form of the filter."""
        if self._filter_states is not None:
            return self._filter_states
        native, rows = self.filter.native, read_rows(self.filter, self.data)[: len(self)]
        results: Array = native.samples(self.start, rows, self.filter.model.numbers)
        return results[:, native.columns.filter_state]

    def covariances(self) -> Array:
        """(N, ne, ne) covariance of the state's error at every sample."""
        n = self.filter.process.ne
        if self._packed is not None:
            return unpack_numbers(self._packed, n)
        return self.filter.covariances(self.filter_states())  # type: ignore[no-any-return]

    def consistency(self, *, settle: float = 0.0, level: float = 0.95) -> Consistency:
        """Whether the innovations are as large and as white as the filter expects."""
        return consistency(self, settle=settle, level=level)

    def compare(self, truth: Record, *, settle: float = 0.0, channels: str | Sequence[str] | None = None) -> Comparison:
        """Errors against a record of the truth: RMS after `settle` seconds, spectra, NEES (`metrics`)."""
        return compare(self, truth, settle=settle, channels=channels)

    def to_record(self) -> Record:
        """Everything in one record, to be written to a file: estimates, "<name>.deviation", "<output>.innovation", NIS.

        Examples
        --------
        ``da.write_record(estimate.to_record(), "estimate.csv")``
        """
        outputs = self.filter.process.outputs
        names = [
            *self.record.names, *(f"{n}.deviation" for n in self.record.names),
            *(f"{n}.innovation" for n in outputs.names), *(f"{n}.innovation.deviation" for n in outputs.names), "NIS",
        ]  # fmt: skip
        units = [*self.record.units.values(), *self.record.units.values(), *outputs.units, *outputs.units, ""]
        data = np.column_stack([self.record.data, self.deviations.data, self.innovations, self.spreads, self.nis])
        return Record(self.time, data, names, units, name=self.record.name, status=self.status)

    def table(self) -> str:
        """Last estimates with their deviations."""
        rows = [
            [name, f"{self.record.data[-1, k]:.6g}", f"{self.deviations.data[-1, k]:.3g}", self.record.units[name]]
            for k, name in enumerate(self.record.names[:20])
        ]
        return align_columns(["estimate", "at the end", "deviation", "unit"], rows)

    def __repr__(self) -> str:
        used = self.measured.sum()
        per = self.nis.sum() / used if used else np.nan
        span = f"{self.time[0]:.6g} to {self.time[-1]:.6g} s"
        return (
            f"Estimate by {type(self.filter).__name__}{', smoothed' if self.smoothed else ''}: {len(self)} samples, "
            f"{span}, {self.status}, NIS {per:.3g} per sample and output (1 is consistent), log-likelihood "
            f"{self.log_likelihood:.6g}\n{self.table()}"
        )
