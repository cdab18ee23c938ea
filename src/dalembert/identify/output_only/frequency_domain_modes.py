"""Result of a frequency domain decomposition: modes, and the singular values they were found in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray, frozen
from dalembert.core.findings import Finding
from dalembert.core.tables import align_columns, spread
from dalembert.core.text import count_noun
from dalembert.identify.spectral.machine_harmonics import MachineHarmonic
from dalembert.linear.modes import Modes


@frozen
class FrequencyDomainModes:
    """Modes found in the singular values of a spectral matrix (FDD, EFDD); frozen.

    Attributes
    ----------
    modes : Modes
        Ascending in frequency, with shapes at the outputs, largest component 1. FDD finds no damping: its eigenvalues
        have no real part.
    method : "fdd" or "efdd"
    damping_ratios : (k,) or None
        By EFDD.
    frequency_deviations_hz, damping_deviations : (k,) or None
        Standard deviations [Hz] and of the damping ratios, by leaving out parts of the record in turn; by EFDD, where
        the record has enough blocks.
    frequencies : (nf,) [rad/s]
        Lines of the spectrum.
    singular_values : (nf, ny)
        At every line, descending.
    lines : (k,)
        Line of the peak of every mode; ``ranks`` (k,): 0 for the first singular value, 1 for the second.
    domains : (k, 2)
        First and last line of the modal domain (the bell) of every mode.
    machines : mapping of the number of a mode, from 0, to a MachineHarmonic
        Peaks that are steady sines, as of a rotating machine, and not modes.
    unit : str
        Of the singular values, per Hz; empty where outputs have several.
    blocks, averages : number of blocks, and the equivalent number of independent averages
    """

    modes: Modes
    method: str
    damping_ratios: FloatArray | None
    frequency_deviations_hz: FloatArray | None
    damping_deviations: FloatArray | None
    frequencies: FloatArray
    singular_values: FloatArray
    lines: IntArray
    ranks: IntArray
    domains: IntArray
    machines: Mapping[int, MachineHarmonic]
    outputs: tuple[str, ...]
    units: Mapping[str, str]
    unit: str
    blocks: int
    averages: float
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    @property
    def frequencies_hz(self) -> FloatArray:
        """Natural frequencies of the modes [Hz]."""
        return self.modes.frequencies_hz

    @property
    def shapes(self) -> Any:
        """(ny, k) shapes at the outputs."""
        return self.modes.shapes

    @property
    def structural_modes(self) -> Modes:
        """The modes without the harmonics of machines."""
        return self.modes.select([k + 1 for k in range(len(self.modes)) if k not in self.machines])

    def table(self) -> str:
        """Frequency, damping ratio (EFDD) and kind, one line per mode."""
        rows = []
        for k, f in enumerate(self.frequencies_hz):
            row = [str(k + 1), spread(f, _pick(self.frequency_deviations_hz, k))]
            if self.damping_ratios is not None:
                row.append(spread(100.0 * self.damping_ratios[k], _pick(self.damping_deviations, k, 100.0)))
            rows.append([*row, "harmonic of a machine" if k in self.machines else "mode"])
        head = ["mode", "frequency [Hz]", *([] if self.damping_ratios is None else ["damping ratio [%]"]), "kind"]
        return align_columns(head, rows) if rows else "no modes"

    def __repr__(self) -> str:
        width = float(self.frequencies[1]) / (2.0 * np.pi)
        return (
            f"FrequencyDomainModes by {self.method}: {count_noun(len(self.modes), 'peak')} of "
            f"{count_noun(len(self.outputs), 'output')}, lines every {width:.4g} Hz, {self.blocks} blocks\n"
            f"{self.table()}"
        )


def _pick(values: FloatArray | None, k: int, factor: float = 1.0) -> float | None:
    return None if values is None else factor * float(values[k])
