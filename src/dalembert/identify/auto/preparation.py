"""Preparation of records for automatic identification: levels, copies, impacts, and the data held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.text import count_noun, list_names
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit
from dalembert.identify.physical.sensor_places import kind_of_unit
from dalembert.identify.records.data import Data, Detrend, read_data
from dalembert.identify.records.gaps import describe_gaps
from dalembert.identify.subspace.hankel_factor import choose_rows, compress_hankel
from dalembert.identify.subspace.projections import Projection, project
from dalembert.identify.subspace.subspace import find_model
from dalembert.record import Record


@dataclass(frozen=True)
class Setting:
    """Choices for all steps.

    ``rows`` : block rows as given; ``spanning`` : those that span the slowest period, where more than usual.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    detrend: Detrend
    impacts: bool
    rows: int | None = None
    spanning: int | None = None
    period: float | None = None  # [s], of the inputs

    @property
    def method(self) -> str:
        """The subspace method."""
        return "moesp" if self.inputs else "ssi_data"

    @property
    def other_method(self) -> str:
        """Another subspace method, with other weights, for comparison."""
        return "cva" if self.inputs else "ssi_cov"

    @property
    def kind(self) -> str:
        """Kind of comparison of a model with data."""
        return "simulation" if self.inputs else "prediction"

    def read(self, record: Sequence[Record]) -> Data:
        """Parts of the records as arrays; the findings on the whole records apply to them."""
        data = read_data.quiet(record, self.inputs, self.outputs, detrend=self.detrend, offset_matters=False)
        return data.replace(findings=())

    def project(self, data: Data) -> Projection:
        """The data compressed and projected, once for models of all orders."""
        return project(compress_hankel(data, self.choose_rows(data)), self.method)

    def choose_rows(self, data: Data, columns: int = 6) -> int:
        """Block rows as given, or from the slowest period and the number of samples.

        columns : fewest samples per unknown of a column of the data, where the rows follow from the time scale
        """
        usual = choose_rows(data, None, self.rows)
        if self.rows is not None or self.spanning is None:
            return usual
        q = data.nu + data.ny
        most = min(data.samples // (columns * q), min(data.lengths) // 4)
        return max(usual, min(self.spanning, most))

    def identify(self, data: Data, projection: Projection, order: int) -> Identified:
        """A model of some order by the subspace method."""
        return find_model(data, projection, order)[0]

    def fit(self, model: Identified, records: Sequence[Record]) -> Fit:
        """Agreement of a model with records."""
        kind = self.kind if self.inputs or model.gain is not None else "simulation"
        with np.errstate(over="ignore", invalid="ignore"):
            return model.fit(records, kind)


def prepare(data: Data, rows: int | None) -> tuple[Setting, list[str]]:
    """Whether means are subtracted, which outputs are copies, and the first decisions."""
    impacts = bool(data.nu) and all(_is_impact(u[:, j]) for u in data.u for j in range(data.nu))
    shifted = [] if impacts else _find_offsets(data)
    ways = f"{data.nu} in, {data.ny} out" if data.nu else f"{count_noun(data.ny, 'output')} without inputs"
    text = (
        f"read {data.samples} samples in {count_noun(data.segments, 'record')} at {1.0 / data.dt:.6g} Hz "
        f"({data.duration:.4g} s), {ways}; {describe_gaps(data.provenance)}, even time, no dead channel"
    )
    if impacts:
        why = "kept the levels of all channels: the inputs are impacts from rest, whose means are no offsets"
    elif shifted:
        why = f"subtracted the mean of every channel: {list_names(shifted, {})} have offsets that are no motion"
    else:
        why = "kept the levels of all channels: their means are no larger than by chance"
    used, left_out = _leave_out_copies(data)
    return Setting(data.inputs, used, "mean" if shifted else "none", impacts, rows), [text, *left_out, why]


def _leave_out_copies(
    data: Data, samples_compared: int = 10_000, copy: float = 1e-7
) -> tuple[tuple[str, ...], list[str]]:
    """Outputs that are no copies of others, scaled or shifted, nor their integrals, and decisions on those left out.

    A copy has no noise of its own: a model that explains it needs a far too large order. The first samples of the
    longest record decide.

    samples_compared : samples of two outputs that are compared
    copy : relative difference below which an output is a copy of another one: single precision of a logger
    """
    y = data.y[int(np.argmax(data.lengths))][:samples_compared]
    integrals = _find_integrals(data, y)
    y = y - y.mean(axis=0)
    y = y / np.maximum(np.sqrt(np.einsum("ij,ij->j", y, y)), 1e-300)
    used: list[int] = []
    texts = []
    for j, name in enumerate(data.outputs):
        gaps = [(np.linalg.norm(y[:, j] - (y[:, i] @ y[:, j]) * y[:, i]), i) for i in used if y[:, i].any()]
        same = [i for gap, i in gaps if gap < copy and y[:, j].any()]
        if same:
            texts.append(f"left out {name}: it is a copy of {data.outputs[same[0]]}")
        elif j in integrals:
            texts.append(f"left out {name}: it is the integral of {data.outputs[integrals[j]]}")
        else:
            used.append(j)
    return tuple(data.outputs[j] for j in used), texts


def _find_integrals(data: Data, y: FloatArray, integral: float = 0.05) -> dict[int, int]:
    """Outputs y (N, ny) that are the integral of another one: by unit, and by their differences between samples.

    integral : difference of the steps of a channel, relative, below which it is an integral of another: strong-motion
    files have integrals beside each acceleration. At most 0.006 in those of a bridge, at least 0.22 between two places
    on it
    """
    kinds = [kind_of_unit(data.units.get(name, "")) for name in data.outputs]
    rates = np.diff(y, axis=0) - np.diff(y, axis=0).mean(axis=0)
    means = 0.5 * (y[1:] + y[:-1])
    means = means - means.mean(axis=0)
    integrals = {}
    for j, kind in enumerate(kinds):
        for i in (i for i, level in enumerate(kinds) if kind is not None and level == kind + 1):
            both = float(rates[:, j] @ means[:, i])
            size = max(float((rates[:, j] @ rates[:, j]) * (means[:, i] @ means[:, i])), 1e-300)
            if both > 0.0 and 1.0 - both**2 / size < integral**2:
                integrals[j] = i
    return integrals


def _is_impact(u: FloatArray, quiet_time: float = 0.9, quiet_level: float = 0.02) -> bool:
    """Whether an input is quiet most of the time.

    quiet_time, quiet_level : an input below this share of its peak for this share of the time is a series of impacts: a
    random input is below 2 % of its peak (4 standard deviations) for 6 % of the time, a sine for 1 %
    """
    size = np.abs(u)
    return bool(np.mean(size < quiet_level * size.max()) > quiet_time)


def _find_offsets(data: Data, offset: float = 5.0, count: int = 10) -> list[str]:
    """Channels whose mean differs from zero by more than chance; its error is that of the means of parts.

    offset, count : a mean above this number of its standard errors is an offset: by the t distribution of ten parts,
    chance exceeds this in 7 of 10 000 channels
    """
    offsets = []
    for names, blocks in ((data.inputs, data.u), (data.outputs, data.y)):
        parts = [piece for block in blocks for piece in np.array_split(block, count) if len(piece)]
        means = np.array([piece.mean(axis=0) for piece in parts])
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        large = np.abs(means.mean(axis=0)) > offset * error
        offsets += [name for name, is_large in zip(names, large, strict=True) if is_large]
    return offsets


def split(
    runs: tuple[Record, ...], share: float, *, each: bool = False, inputs: Sequence[str] = (),
    fewest_to_split: int = 200,
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:  # fmt: skip
    """Training records and records held out: the last of several, or the end of ``each`` or where there are only two.

    A record with the only motion of an input stays in the training.

    fewest_to_split : fewest samples of a record of which a part is held out: a third of 200 just exceeds the 60 that 30
    block rows of past and future need
    """
    if share == 0.0 or sum(map(len, runs)) < fewest_to_split:
        return runs, ()
    if len(runs) > 2 and not each:
        count = max(1, int(share * len(runs)))
        held: list[int] = []
        for k in range(len(runs) - 1, -1, -1):
            first_part = [run for i, run in enumerate(runs) if i != k and i not in held]
            if len(held) < count and all(any(np.ptp(run[name]) > 0.0 for run in first_part) for name in inputs):
                held.append(k)
        training = tuple(run for k, run in enumerate(runs) if k not in held)
        return training, tuple(runs[k] for k in sorted(held))
    parts = [cut(run, 1.0 - share) for run in runs]
    return tuple(first for first, _ in parts), tuple(last for _, last in parts)


def cut(run: Record, share: float) -> tuple[Record, Record]:
    """The first part of a record, and the rest."""
    k = round(share * len(run))
    return run.between(None, float(run.time[k - 1])), run.between(float(run.time[k]), None)


def split_within_periods(
    runs: tuple[Record, ...], share: float, period: float, fewest_to_split: int = 200
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Training records and records held out under a periodic input: the last part of every period is held out.

    The training data then contain no input that is held out. Nothing is held out where a period is too short to be cut.
    """
    dt = runs[0].sample_time
    if share == 0.0 or period * (1.0 - share) / dt < fewest_to_split:
        return runs, ()
    training: list[Record] = []
    held: list[Record] = []
    for run in runs:
        first = float(run.time[0])
        for k in range(int(np.ceil((float(run.time[-1]) - first) / period))):
            begin, middle, end = first + np.array([k, k + 1.0 - share, k + 1.0]) * period - 0.25 * dt
            for parts, low, high in ((training, begin, middle), (held, middle, end)):
                inside = (run.time >= low) & (run.time < high)
                if np.count_nonzero(inside) > fewest_to_split // 4:
                    places = np.flatnonzero(inside)
                    parts.append(run.between(float(run.time[places[0]]), float(run.time[places[-1]])))
    return tuple(training), tuple(held)


def describe_split(training: Sequence[Record], held: Sequence[Record], dt: float, period: float | None = None) -> str:
    """The decision in words."""
    if period is not None and not held:
        return "held no data out: the input repeats, and the training data contain every part of it"
    if period is not None:
        seconds = [dt * sum(map(len, runs)) for runs in (training, held)]
        return (
            f"found the model from {seconds[0]:.4g} s and held out the last part of every period, {seconds[1]:.4g} s, "
            "whose input is not in the training data"
        )
    if not held:
        return "held no data out: the fit below is that of the training data"
    seconds = [dt * sum(map(len, runs)) for runs in (training, held)]
    what = "the end" if len(training) + len(held) <= 4 and len(training) == len(held) else "the last of the records"
    return f"found the model from {seconds[0]:.4g} s and held out {what}, {seconds[1]:.4g} s, to validate it"
