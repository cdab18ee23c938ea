"""Steady sines, as of a rotating machine or of mains, removed from records before a model of outputs alone is found.

A sine has poles on the unit circle. A model of random motion represents them badly: neighbouring modes become wrong, or
the model is unstable. The frequency of every sine from `find_machine_harmonics` is the one that maximises
|Σ w x e^{-iωt}|², with a Hann window w, in each record; all sines are fitted to the channels by least squares at once.
Where a mode is mistaken for a sine, it loses a single line of width 1/T of its motion. Lines of a rotor whose speed
varies are removed first, by its angle (``spectral/rotor_lines.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.fft
import scipy.optimize

from dalembert.core.arrays import FloatArray
from dalembert.core.findings import Finding
from dalembert.core.text import count_noun
from dalembert.identify.output_only.decomposition import decompose
from dalembert.identify.output_only.fdd import choose_peaks
from dalembert.identify.records.checks import list_records
from dalembert.identify.records.data import Data
from dalembert.identify.records.preparation_step import add_note, describe_channels
from dalembert.identify.spectral.machine_harmonics import (
    MachineHarmonic,
    describe_machine_harmonics,
    find_machine_harmonics,
    find_rotor,
)
from dalembert.identify.spectral.rotor_lines import RotorLines, remove_lines
from dalembert.linear.modes import Modes
from dalembert.record import Record


@dataclass(frozen=True, eq=False)
class WithoutSines:
    """Records without sines of machines, findings on the sines, decisions in words, and the lines of a rotor whose
    speed varies, where there are any."""

    records: tuple[Record, ...]
    findings: tuple[Finding, ...]
    decisions: tuple[str, ...]
    rotor: RotorLines | None = None


def remove_machine_sines(record: Record | Sequence[Record], data: Data) -> WithoutSines:
    """The records without sines of machines in the outputs of ``data``, which were read from these records."""
    runs, findings, decisions = list_records(record), [], []
    peaks = _find_peaks(data)
    rotor = None if peaks is None else find_rotor(*peaks)
    if rotor is not None:
        runs = tuple(_remove_lines(run, data.outputs, rotor, k) for k, run in enumerate(runs))
        words = f"times {rotor.base_hz:.4g} Hz, of a rotor whose speed varies by {100.0 * rotor.variation:.2g} %"
        decisions.append(f"removed the lines at {', '.join(map(str, rotor.multiples))} {words}")
        findings.append(rotor.describe())
        columns = [[run.names.index(name) for name in data.outputs] for run in runs]
        steady = tuple(run.data[:, places] for run, places in zip(runs, columns, strict=True))
        peaks = _find_peaks(data.replace(y=steady))
    sines = {} if peaks is None else find_machine_harmonics(*peaks)
    if sines:
        runs = tuple(_subtract(run, data.outputs, list(sines.values())) for run in runs)
        words = ", ".join(f"{sine.frequency_hz:.4g}" for sine in sines.values())
        decisions.append(
            f"removed {count_noun(len(sines), 'steady sine')}, as of a rotating machine or of mains: {words} Hz"
        )
        findings += describe_machine_harmonics(sines)
    return WithoutSines(runs, tuple(findings), tuple(decisions), rotor)


def _find_peaks(data: Data, shortest_block: int = 64, block_count: int = 24) -> tuple[Data, Modes] | None:
    """Data without means and the peaks of their singular values; None where they are too short for a spectrum."""
    blocks = max(block_count, 2 * data.ny) + data.segments
    if min(2 * data.samples // blocks, min(data.lengths)) < shortest_block:
        return None
    level = data.replace(y=tuple(y - y.mean(axis=0) for y in data.y))
    spectra = decompose(level, None)
    peaks, _ = choose_peaks(level, spectra, None)
    hertz = np.array([spectra.hertz[peak.line] for peak in peaks])
    shapes = np.array([spectra.vectors[peak.line, :, peak.rank] for peak in peaks]).reshape(len(peaks), data.ny)
    return level, Modes(2j * np.pi * hertz, shapes.T * spectra.scales[:, None], data.outputs)


def _remove_lines(run: Record, outputs: Sequence[str], rotor: RotorLines, number: int) -> Record:
    """The record without the lines of a rotor in its outputs."""
    places = [run.names.index(name) for name in outputs]
    values = np.array(run.data)
    values[:, places] = remove_lines(values[:, places], rotor.angles[number], rotor.multiples, rotor.width)
    return add_note(run, values, f"lines of a rotor at {rotor.base_hz:.4g} Hz removed{describe_channels(run, places)}")


def _subtract(run: Record, outputs: Sequence[str], sines: Sequence[MachineHarmonic]) -> Record:
    """The record without the sines in its outputs."""
    places = [run.names.index(name) for name in outputs]
    t = run.time - run.time[0]
    values = np.array(run.data)
    y = values[:, places] - values[:, places].mean(axis=0)
    scaled = y / np.maximum(y.std(axis=0), 1e-300)
    columns = [np.ones(len(t))]
    for sine in sines:
        phase = 2.0 * np.pi * _refine_frequency(scaled, t, sine.frequency_hz) * t
        columns += [np.cos(phase), np.sin(phase)]
    basis = np.column_stack(columns)
    amplitudes = np.linalg.lstsq(basis, y, rcond=None)[0]
    values[:, places] -= basis[:, 1:] @ amplitudes[1:]
    words = ", ".join(f"{sine.frequency_hz:.4g}" for sine in sines)
    return add_note(run, values, f"sines at {words} Hz removed{describe_channels(run, places)}")


def _refine_frequency(y: FloatArray, t: FloatArray, f: float, given: int = 3) -> float:
    """Frequency [Hz] near f at which the Fourier transform of windowed channels is largest."""
    n, dt = len(t), float(t[-1]) / (len(t) - 1)
    windowed = y * np.hanning(n)[:, None]
    power = (np.abs(scipy.fft.rfft(windowed, axis=0)) ** 2).sum(axis=1)
    reach = max(2, round(given * n * dt * 0.002 * f))
    middle = round(f * n * dt)
    first = max(1, middle - reach)
    line = first + int(np.argmax(power[first : middle + reach + 1]))

    def negate_power(hertz: float) -> float:
        return -float((np.abs(np.exp(-2j * np.pi * hertz * t) @ windowed) ** 2).sum())

    width = 1.0 / (n * dt)
    ends = ((line - 1) * width, (line + 1) * width)
    return float(scipy.optimize.minimize_scalar(negate_power, bounds=ends, options={"xatol": 1e-4 * width}).x)
