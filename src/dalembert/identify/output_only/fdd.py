"""Frequency domain decomposition: modes at the peaks of the singular values of the spectral matrix of the outputs.

The frequency is that of the line, the shape the singular vector there (Brincker, Zhang and Andersen 2001); no damping.
The excitation is assumed to be broad: a peak of the excitation is taken for a mode, but steady sines of machines are
distinguished from modes (``spectral/machine_harmonics.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Finding
from dalembert.identify.output_only.decomposition import (
    Decomposition,
    SpectralPeak,
    decompose,
    find_given_peaks,
    find_peaks,
)
from dalembert.identify.output_only.frequency_domain_modes import FrequencyDomainModes
from dalembert.identify.records.checks import require_finite
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.spectral.machine_harmonics import describe_machine_harmonics, find_machine_harmonics
from dalembert.linear.modes import Modes
from dalembert.numerics import ties
from dalembert.record import Record


@report_findings
def fdd(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *,
    frequencies_hz: ArrayLike | None = None, segment: int | None = None,
) -> FrequencyDomainModes:  # fmt: skip
    """Frequencies and shapes from outputs under unknown broad-band excitation, by frequency domain decomposition.

    Parameters
    ----------
    record : Record, or several (repeated tests)
    outputs : channel names; all when left out
    frequencies_hz : (k,), optional
        Where modes are, to within three lines; found from the peaks when left out.
    segment : samples per block, optional
        The lines of the spectrum are 1/(segment · dt) apart, which must be less than the width 2 ζ f of a peak. When
        left out, 24 half-overlapping blocks, or two per output where these are more.

    Returns
    -------
    FrequencyDomainModes

    Examples
    --------
    >>> from dalembert.linear.recursions import march
    >>> rng = np.random.default_rng(3)
    >>> A = 0.995 * np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    >>> x = march(A, rng.normal(size=(19_999, 2)), np.zeros(2))[:, :1]
    >>> floors = x * [1.0, 2.0] + 0.1 * rng.normal(size=(20_000, 2))
    >>> found = fdd(Record(0.1 * np.arange(20_000), floors, ["first", "second"]))
    >>> found.frequencies_hz.round(1).tolist(), found.shapes.real.round(1).tolist()     # 0.6 / (2 π 0.1 s) = 0.955
    ([1.0], [[0.5], [1.0]])
    """
    data = read_outputs(record, outputs)
    spectra = decompose(data, segment)
    peaks, findings = choose_peaks(data, spectra, frequencies_hz)
    order = np.array([spectra.hertz[peak.line] for peak in peaks])
    shapes = [spectra.vectors[peak.line, :, peak.rank] for peak in peaks]
    return make_result("fdd", data, spectra, peaks, 2j * np.pi * order, shapes, findings)


def read_outputs(record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None) -> Data:
    """The outputs without their means."""
    if isinstance(record, Data):
        if record.nu:
            raise DataError("conflicting-arguments", "these Data have inputs; this method takes outputs only.")
        return read_data.quiet(record, (), outputs)
    return read_data.quiet(record, (), outputs, detrend="mean")


def choose_peaks(
    data: Data, found: Decomposition, given: ArrayLike | None
) -> tuple[list[SpectralPeak], list[Finding]]:  # fmt: skip
    """Peaks near given frequencies, or the prominent ones."""
    if given is None:
        peaks = _drop_sidebands(data, found, find_peaks(found))
        if peaks:
            return peaks, []
        problem = (
            "no peak of the singular values is above their scatter: nothing excites a mode, noise hides it, or "
            "the record is too short."
        )
        return [], [Finding("no-peak", problem, {}, {"averages": found.averages})]
    hertz = np.unique(np.atleast_1d(np.asarray(given, dtype=np.float64)))
    require_finite(hertz, f"frequencies_hz must be finite numbers, got {given!r:.80}.")
    return find_given_peaks(found, hertz)


def _drop_sidebands(
    data: Data, found: Decomposition, peaks: list[SpectralPeak], lines: int = 4, leakage: float = 1e-3
) -> list[SpectralPeak]:
    """Peaks without those of the second singular value that are the foot of a strong sine in the first.

    leakage : of the first singular value: power that leakage leaves in the second, below a side lobe (-31 dB)
    """
    # two modes of one frequency are about as strong; window and leakage leave a bell below the peak of the only one
    strongest = found.values.max(axis=1)
    peaks = [
        low for low in peaks
        if low.rank == 0 or found.values[low.line, low.rank] >= leakage * strongest[low.line]
        or not any(high.rank == 0 and abs(low.line - high.line) <= lines for high in peaks)
    ]  # fmt: skip
    foot = {
        k: j for k, low in enumerate(peaks) for j, high in enumerate(peaks)
        if low.rank == 1 and high.rank == 0 and abs(low.line - high.line) <= lines
    }  # fmt: skip
    if not foot:
        return peaks
    shapes = np.array([found.vectors[peak.line, :, peak.rank] for peak in peaks]).T * found.scales[:, None]
    hertz = np.array([found.hertz[peak.line] for peak in peaks])
    sines = find_machine_harmonics(data, Modes(2j * np.pi * hertz, shapes, data.outputs))
    return [peak for k, peak in enumerate(peaks) if not (k in foot and foot[k] in sines)]


def make_result(
    method: str, data: Data, found: Decomposition, peaks: Sequence[SpectralPeak], eigenvalues: ComplexArray,
    shapes: Sequence[ComplexArray], findings: Sequence[Finding], doubts: Mapping[int, Finding] | None = None,
    **damping: FloatArray | None,
) -> FrequencyDomainModes:  # fmt: skip
    """The result in the units of the channels, with harmonics of machines named; doubts : by mode, not on harmonics."""
    columns = np.array(shapes, dtype=np.complex128).reshape(len(peaks), data.ny).T * found.scales[:, None]
    if len(peaks):
        columns = columns / columns[ties.first_largest(columns), np.arange(len(peaks))]
    modes = Modes(eigenvalues, columns, data.outputs, provenance=data.provenance)
    machines = find_machine_harmonics(data, modes)
    doubted = [peak for k, peak in (doubts or {}).items() if k not in machines]
    units = {data.units.get(name, "") for name in data.outputs}
    numbers: dict[str, Any] = {"damping_ratios": None, "frequency_deviations_hz": None, "damping_deviations": None}
    notes = [f"{found.plan.text()}: {found.blocks} blocks, equivalent to {found.averages:.3g} averages"]
    if data.ny == 1:
        notes.append("one output: peaks of its density; modes nearer than their widths appear as one")
    if len(units) > 1:
        notes.append("outputs in several units, each divided by the root mean square of the outputs of its unit")
    return FrequencyDomainModes(
        modes=modes, method=method, frequencies=2.0 * np.pi * found.hertz, singular_values=found.values,
        lines=np.array([peak.line for peak in peaks], dtype=np.intp),
        ranks=np.array([peak.rank for peak in peaks], dtype=np.intp),
        domains=np.array([(peak.first, peak.last) for peak in peaks], dtype=np.intp).reshape(-1, 2), machines=machines,
        outputs=data.outputs, units=dict(data.units), unit=units.pop() if len(units) == 1 else "",
        blocks=found.blocks, averages=found.averages, notes=tuple(notes),
        findings=(*data.findings, *findings, *doubted, *describe_machine_harmonics(machines)),
        provenance={**data.provenance, "method": method, "spectra": found.plan.text()}, **(numbers | damping),
    )  # fmt: skip
