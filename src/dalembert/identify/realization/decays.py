"""Free decays, and their modes by ERA.

    y(k) = C Aᵏ x₀, one column of initial states per test: a Markov sequence, so ERA applies (Juang and Pappa 1985)

Correlations of outputs under white excitation are such decays as well (``next_era.py``). Without a measured force the
masses remain unknown: shapes, frequencies and damping only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.arguments import number_names, real_number, whole_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import count_noun
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.era import realize_era
from dalembert.identify.realization.hankel import decompose, find_order, hankel, unstable_model
from dalembert.identify.records.checks import require_samples
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import IdentificationWarning, report_findings
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record


@frozen
class Decays:
    """Free decays, or correlations that decay in the same way; frozen.

    values : (count, ny, nw), one column per test or reference; dt [s]; outputs, columns : names; kind : text.
    """

    values: FloatArray
    dt: float
    outputs: tuple[str, ...]
    columns: tuple[str, ...]
    kind: str
    units: Mapping[str, str]
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def times(self) -> FloatArray:
        """(count,) [s] from the first value."""
        return self.dt * np.arange(len(self.values), dtype=np.float64)

    def record(self) -> Record:
        """The decays as a Record with channels ``"output, column"``."""
        names = [f"{output}, {column}" for output in self.outputs for column in self.columns]
        return Record(self.times, self.values.reshape(len(self.values), -1), names, name=self.kind)

    def __repr__(self) -> str:
        sizes = f"{count_noun(len(self.outputs), 'output')}, {count_noun(len(self.columns), 'column')}"
        return f"Decays ({self.kind}): {len(self.values)} samples, {sizes}, dt = {self.dt:g} s"


def free_decays(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *, start: float = 0.0
) -> Decays:
    """Free decays from records without other motion, one column per record.

    Parameters
    ----------
    record, outputs : see :func:`read_data`
    start : float
        Time [s] after the beginning of every record from which the motion is free.
    """
    decays, findings = _read_decays(record, outputs, start)
    IdentificationWarning.report(findings)
    return decays


@report_findings
def decay_era(
    decays: Decays | Record | Sequence[Record], *, order: int | None = None, outputs: str | Iterable[str] | None = None,
    rows: int | None = None, columns: int | None = None,
) -> Identified:  # fmt: skip
    """Modes from free decays or correlations by ERA.

    Parameters
    ----------
    decays : Decays, or records of free decays
    order, rows, columns : see :func:`era`
    outputs : names, for records

    Returns
    -------
    Identified
        Without inputs.

    Examples
    --------
    >>> t = 0.05 * np.arange(200)
    >>> bell = Record(t, (np.exp(-0.2 * t) * np.cos(6.0 * t))[:, None], ["strain"])
    >>> decay_era(bell, order=2).modes().damped_frequencies.round(6).tolist()
    [6.0]
    """
    source, findings = decays_of(decays, outputs)
    a, b = choose_window(source, rows, columns)
    svd = decompose(hankel(source.values, a, b))
    n, why, more = choose_order(svd[1], order)
    realized = realize_era(source.values, a, b, n, svd)
    window = f"singular values of the Hankel matrix of {a} x {b} blocks"
    return name_modes(
        source, realized.A, realized.C, realized.singular_values, "ERA", [why, window], [*findings, *more]
    )


# ---- shared by the methods that take decays


def decays_of(
    decays: Decays | Record | Sequence[Record], outputs: str | Iterable[str] | None
) -> tuple[Decays, list[Finding]]:
    """Decays as given, or read from records, and findings to warn of."""
    return (decays, []) if isinstance(decays, Decays) else _read_decays(decays, outputs, 0.0)


def _read_decays(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None, start: float, fewest: int = 8
) -> tuple[Decays, list[Finding]]:
    # fewest: Fewest samples of a decay: two more than a model of order 2 and two columns need.
    data = read_data(record, (), outputs)
    skip = round(real_number("start", start) / data.dt)
    count = min(data.lengths) - skip
    if start < 0.0:
        raise DataError("negative", f"the start of free motion, {start!r} s, lies before the record.")
    require_samples(
        count, fewest,
        f"a start at {start!r} s leaves {max(count, 0)} samples of the shortest record, not {fewest}.",
        Advice("Use a smaller {}.", Argument("start")),
    )  # fmt: skip
    values = np.stack([y[skip : skip + count] for y in data.y], axis=2)
    decays = Decays(
        values=values, dt=data.dt, outputs=data.outputs, columns=number_names("test", data.segments),
        kind="free decays", units=dict(data.units), notes=(), provenance=dict(data.provenance),
    )  # fmt: skip
    return decays, _find_forcing(values)


def _find_forcing(values: FloatArray, energy: float = 0.9) -> list[Finding]:
    """A finding where the second half of the motion is as large as the first: it is not free.

    energy : energy of the second half over that of the first, beyond which it is no decay: a record of steady motion
    has 1, with a scatter below 0.1 from 200 independent samples on.
    """
    half = len(values) // 2
    total, late, early = (np.einsum("kij,kij->i", v, v) for v in (values, values[-half:], values[:half]))
    alive = total > 0.0
    ratio = float((late[alive] / total[alive]).sum() / max((early[alive] / total[alive]).sum(), np.finfo(float).tiny))
    if ratio <= energy:
        return []
    problem = "the record does not decay: its second half is as large as its first, so this is hardly a free decay."
    ambient = [Call(f"da.identify.{name}") for name in ("ssi_data", "ssi_cov", "next_era")]
    advice = Advice("Use {} for ambient records, a method with inputs for forced ones.", *ambient)
    return [Finding("no-free-decay", problem, {}, {"ratio": ratio}, (advice,))]


def choose_window(source: Decays, rows: int | None, columns: int | None, largest_side: int = 900) -> tuple[int, int]:
    """Block rows and columns of the Hankel matrix of decays."""
    count, ny, nw = source.values.shape
    a = max(1, min(count // 2, largest_side // ny)) if rows is None else whole_number("rows", rows, 1)
    b = max(1, min(count - a, max(2 * largest_side // nw, 1)))
    b = b if columns is None else whole_number("columns", columns, 1)
    require_samples(
        count, a + b,
        f"{a} rows and {b} columns need {a + b} samples of the decays; there are {count}.",
        Advice("Use a smaller {}.", Argument("rows"), Argument("columns")),
    )  # fmt: skip
    return a, b


def choose_order(values: FloatArray, order: int | None) -> tuple[int, str, list[Finding]]:
    """The order as given, or from the gaps of the singular values; a note; findings to warn of."""
    if order is None:
        return find_order(values)
    if whole_number("order", order, 1) > len(values):
        raise DataError(
            "order-too-high",
            f"the Hankel matrix holds models up to order {len(values)}, not {order}.",
            Advice("Use a larger {}, or a lower order.", Argument("rows"), Argument("columns")),
        )
    return int(order), f"order {order} as given", []


def name_modes(
    source: Decays, A: FloatArray, C: FloatArray, values: FloatArray, method: str, notes: list[str],
    findings: list[Finding],
) -> Identified:  # fmt: skip
    """The model of decays, with names and findings."""
    findings = [*findings, *unstable_model(A)]
    units = {name: unit for name, unit in source.units.items() if name in source.outputs}
    system = StateSpace(A, C=C, dt=source.dt, outputs=source.outputs, units=units)
    notes = [*source.notes, *notes]
    method = f"NExT and {method}" if source.kind == "correlations" else f"{method} of free decays"
    return Identified(
        system, method=method, singular_values=values, notes=notes, findings=findings, provenance=source.provenance
    )
