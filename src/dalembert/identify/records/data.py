"""Records at the border of identification: checked once, then plain arrays of inputs and outputs.

Every method takes records through :func:`read_data`; repeated tests stay separate segments, so the end of one is never
taken for the past of the next. Records that no method can use are refused: gaps, uneven time, dead channels, too few
samples. Doubtful ones (clipping, offsets, units, dependent channels) give findings, kept in :attr:`Data.findings` and
reported as warnings (:class:`IdentificationWarning`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import count_noun, list_names
from dalembert.identify.records import checks as check
from dalembert.identify.records.channel_values import examine_values
from dalembert.identify.records.reporting import report_findings
from dalembert.record import Record

Detrend = Literal["none", "mean", "linear"]
DETRENDS = ("none", "mean", "linear")


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Inputs and outputs of one or several tests, uniformly sampled; frozen.

    ``u``, ``y`` : tuples of read-only arrays (N_k, nu) and (N_k, ny), one per test; ``dt`` : sample time [s];
    ``inputs``, ``outputs`` : names; ``units`` : by name; ``means`` : tuple of (nu + ny,) arrays that were subtracted,
    inputs first, or None; ``provenance`` : plain values; ``findings`` : doubts about the records.
    """

    u: tuple[FloatArray, ...]
    y: tuple[FloatArray, ...]
    dt: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    means: tuple[FloatArray, ...] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        for name in ("units", "provenance"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for name in ("u", "y"):
            object.__setattr__(self, name, tuple(_read_only(block) for block in getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        plain = dict(self.units), self.means, dict(self.provenance), self.findings
        return Data, (self.u, self.y, self.dt, self.inputs, self.outputs, *plain)

    @property
    def nu(self) -> int:
        """How many inputs."""
        return len(self.inputs)

    @property
    def ny(self) -> int:
        """How many outputs."""
        return len(self.outputs)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Samples of every segment."""
        return tuple(len(y) for y in self.y)

    @property
    def samples(self) -> int:
        """Samples of all segments together."""
        return sum(self.lengths)

    @property
    def segments(self) -> int:
        """How many tests."""
        return len(self.y)

    @property
    def duration(self) -> float:
        """Time of all segments together [s]."""
        return self.samples * self.dt

    def require(self, samples: int, purpose: str, *, each: bool = False) -> None:
        """Refuse data of fewer samples than a method needs, in all or in ``each`` segment.

        Examples
        --------
        >>> data = read_data(Record(np.arange(9.0), np.arange(9.0)[:, None] ** 2, ["y"]))
        >>> data.require(8, "a model of order 2")
        >>> data.require(100, "a model of order 6")
        Traceback (most recent call last):
            ...
        dalembert.core.errors.DataError: a model of order 6 needs at least 100 samples; there are 9. Measure longer, \
add records of repeated tests, or ask for less.
        """
        have = min(self.lengths) if each else self.samples
        place = "; the shortest record has" if each and self.segments > 1 else "; there are"
        remedy = "Measure longer, add records of repeated tests, or ask for less."
        check.require_samples(have, samples, f"{purpose} needs at least {samples} samples{place} {have}. {remedy}")

    def require_inputs(self, purpose: str) -> None:
        """Refuse data without inputs."""
        if not self.nu:
            raise DataError(
                "missing-argument",
                f"{purpose} needs at least one input channel.",
                Advice("Name it with {}.", Argument("inputs")),
                Advice(
                    "For records of outputs only use {}.", Call("da.identify.ssi_data"), Call("da.identify.next_era")
                ),
            )

    def check_order(self, order: int) -> list[Finding]:
        """Refuse an order below 1 or with more unknowns than samples; a finding where outputs outnumber its states."""
        return check.check_order(order, self.nu, self.ny, self.samples)

    def mean_levels(self) -> dict[str, float]:
        """Levels that were subtracted, by channel, averaged over all samples; empty where none were."""
        if self.means is None:
            return {}
        levels = np.average(np.array(self.means), axis=0, weights=self.lengths).tolist()
        return dict(zip((*self.inputs, *self.outputs), levels, strict=True))

    def replace(self, **changes: Any) -> Data:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def table(self) -> str:
        """Names, units and rms of every channel."""
        rows = []
        for kind, names, parts in (("input", self.inputs, self.u), ("output", self.outputs, self.y)):
            for i, name in enumerate(names):
                size = np.sqrt(sum(float(block[:, i] @ block[:, i]) for block in parts) / self.samples)
                rows.append(f"  {kind:<6}  {list_names([name], self.units)}  rms {size:.5g}")
        return "\n".join(rows)

    def __repr__(self) -> str:
        return (
            f"Data: {self.samples} samples in {count_noun(self.segments, 'segment')}, every {self.dt:.6g} s "
            f"({1.0 / self.dt:.6g} Hz)\n{self.table()}"
        )


@report_findings
def read_data(
    record: Record | Sequence[Record] | Data, inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None, *, detrend: Detrend = "none", offset_matters: bool = True,
    offset_takes_states: bool = False, drift_matters: bool = False,
) -> Data:  # fmt: skip
    """Inputs and outputs of records, checked, as arrays.

    Parameters
    ----------
    record : Record, or a sequence of them (repeated tests, same channels and sample time)
        A :class:`Data` that was read before is returned unchanged.
    inputs : names of the channels that drive; none for output-only methods
    outputs : names of the channels that respond; all that are no inputs when left out
    detrend : "none", "mean" or "linear", subtracted from every channel of every record
        "none" suits tests that start at rest about zero (hammer, simulation), "mean" steady random excitation.
    offset_matters : warn of outputs whose mean hides their motion; False for methods that take means off themselves
    offset_takes_states : warn of smaller offsets too if no input explains them; for methods of a fixed number of states
    drift_matters : warn of outputs whose level drifts over the record with no input as its cause

    Returns
    -------
    Data
        With its ``findings``, each of which is also a warning.

    Raises
    ------
    DataError
        Gaps, uneven time, other channels, sample times or units among records, constant channels, too few samples.

    Examples
    --------
    >>> t = 0.1 * np.arange(50)
    >>> test = Record.from_channels(t, {"force": np.sin(t**2), "x": np.cos(3 * t)}, {"force": "N", "x": "m"})
    >>> read_data(test, "force")
    Data: 50 samples in 1 segment, every 0.1 s (10 Hz)
      input   force [N]  rms 0.67557
      output  x [m]  rms 0.69876
    """
    if isinstance(record, Data):
        return _check_request(record, inputs, outputs, detrend)
    one_of("detrend", detrend, DETRENDS)
    runs = check.list_records(record)
    names_in, names_out = check.read_channels(runs, inputs, outputs)
    dt = check.common_sample_time(runs)
    units = check.common_units(runs, (*names_in, *names_out))
    check.check_lengths(runs, len(names_in) + len(names_out))
    findings = examine_values(
        runs, names_in, names_out, units, offsets=offset_matters and detrend == "none", strict=offset_takes_states,
        drifts=detrend if drift_matters else "",
    )  # fmt: skip
    u, y = (tuple(_block(run, names) for run in runs) for names in (names_in, names_out))
    means = None
    if detrend != "none":
        means = tuple(_read_only(np.concatenate([b.mean(axis=0) for b in pair])) for pair in zip(u, y, strict=True))
        u, y = (tuple(_detrend(block, detrend) for block in blocks) for blocks in (u, y))
    return Data(u, y, dt, names_in, names_out, units, means, _provenance(runs, detrend), tuple(findings))


def _check_request(data: Data, inputs: str | Iterable[str], outputs: str | Iterable[str] | None, detrend: str) -> Data:
    """Refuse other channels or another detrending for data that were read before."""
    wanted_in = (inputs,) if isinstance(inputs, str) else tuple(inputs or ())
    wanted_out = (outputs,) if isinstance(outputs, str) else tuple(outputs or ())
    if (wanted_in and wanted_in != data.inputs) or (wanted_out and wanted_out != data.outputs) or detrend != "none":
        raise DataError(
            "conflicting-arguments",
            "these Data were read already, with other channels or another detrending.",
            Advice("Choose channels and detrending in {}.", Call("da.identify.read_data")),
        )
    return data


def _block(run: Record, names: tuple[str, ...]) -> FloatArray:
    """(N, k) of some channels; a view where they are neighbours, since a campaign may fill the memory."""
    places = [run.names.index(name) for name in names]
    if places and places == list(range(places[0], places[0] + len(places))):
        return run.data[:, places[0] : places[0] + len(places)]
    return np.ascontiguousarray(run.data[:, places])


def _detrend(block: FloatArray, kind: str) -> FloatArray:
    result: FloatArray = block - block.mean(axis=0)
    if kind == "linear" and block.shape[1]:
        ramp = np.arange(len(block)) - 0.5 * (len(block) - 1)
        result -= np.outer(ramp, (ramp @ result) / (ramp @ ramp))
    return result


def _read_only(array: FloatArray) -> FloatArray:
    view = array.view()
    view.flags.writeable = False
    return view


def _provenance(runs: Sequence[Record], detrend: str) -> dict[str, Any]:
    steps = [step for run in runs for step in run.provenance.get("preparation", [])]
    gaps = {
        key: list(dict.fromkeys(text for run in runs for text in run.provenance.get(key, [])))
        for key in ("filled", "parted")
    }
    return {
        "records": [run.name for run in runs],
        **{key: texts for key, texts in gaps.items() if texts},
        "preparation": list(dict.fromkeys(steps)) + ([f"{detrend} taken off"] if detrend != "none" else []),
    }
