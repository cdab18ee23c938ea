"""Result of several set-ups merged by their reference sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.findings import Finding
from dalembert.core.tables import align_columns, spread
from dalembert.core.text import count_noun, list_names
from dalembert.identify.auto.result import CLASSES, ModeJudgement
from dalembert.identify.auto.time_scale import TimeScale
from dalembert.identify.spectral.machine_harmonics import MachineHarmonic
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.linear.modes import Modes


@frozen
class MergedModes:
    """Modes with the sensors of all set-ups; frozen.

    Attributes
    ----------
    modes : Modes
        Ascending in frequency; shapes at the references and at the moved sensors of all set-ups, largest component 1.
    method : "poser" or "preger"
    references : names of the sensors that all set-ups share
    setups : names of the other sensors of each set-up
    frequency_deviations_hz, damping_deviations : (k,) or None
        Standard deviations [Hz]: of the means over the set-ups by PoSER, by leaving out parts of the data (jackknife)
        by PreGER, where these are long enough.
    setup_frequencies_hz, setup_damping_ratios : (set-ups, k) or None
        Those of each set-up by itself, by PoSER.
    reference_mac : (k,) or None
        Least MAC, at the references, of the shape of a set-up with the merged one, by PoSER.
    stabilization : Stabilization or None
        Of all set-ups as one, by PreGER.
    machines : mapping of the number of a mode, from 0, to a MachineHarmonic
        Those that are steady sines in some set-up, as of a rotating machine, and not modes.
    judgements : tuple of ModeJudgement
        Class of every mode, as of :func:`auto`: sound, uncertain, or of the fit only; with the reasons.
    time_scale : TimeScale or None
        Band that moves, and the factor by which the rate of all set-ups was reduced; None of models.
    unit : text
        Of the shapes at all sensors, that of the first reference.
    """

    modes: Modes
    method: str
    references: tuple[str, ...]
    setups: tuple[tuple[str, ...], ...]
    frequency_deviations_hz: FloatArray | None
    damping_deviations: FloatArray | None
    setup_frequencies_hz: FloatArray | None
    setup_damping_ratios: FloatArray | None
    reference_mac: FloatArray | None
    stabilization: Stabilization | None
    machines: Mapping[int, MachineHarmonic]
    judgements: tuple[ModeJudgement, ...]
    time_scale: TimeScale | None
    unit: str
    units: Mapping[str, str]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    @property
    def frequencies_hz(self) -> FloatArray:
        """Natural frequencies of the modes [Hz]."""
        return self.modes.frequencies_hz

    @property
    def damping_ratios(self) -> FloatArray:
        """Damping ratios of the modes."""
        return self.modes.damping_ratios

    @property
    def shapes(self) -> Any:
        """(outputs, k) shapes at all sensors."""
        return self.modes.shapes

    @property
    def outputs(self) -> tuple[str, ...]:
        """References, then the other sensors of each set-up."""
        return self.modes.coordinates

    @property
    def structural_modes(self) -> Modes:
        """The sound and uncertain modes, without those of the fit only and the harmonics of machines."""
        return self.modes.select([k + 1 for k, judged in enumerate(self.judgements) if judged.grade != CLASSES[2]])

    @property
    def sound_modes(self) -> Modes:
        """The modes that appear over orders, methods and set-ups, with small deviations."""
        return self.modes.select([k + 1 for k, judged in enumerate(self.judgements) if judged.grade == CLASSES[0]])

    def class_of(self, k: int) -> str:
        """Class of a mode, from 0."""
        return "harmonic of a machine" if k in self.machines else self.judgements[k].grade

    def table(self) -> str:
        """Frequency, damping ratio, agreement of the set-ups and class, one line per mode."""
        sd_f, sd_z, mac = self.frequency_deviations_hz, self.damping_deviations, self.reference_mac
        rows = [
            (
                str(k + 1), spread(self.frequencies_hz[k], None if sd_f is None else float(sd_f[k])),
                spread(100.0 * self.damping_ratios[k], None if sd_z is None else 100.0 * float(sd_z[k])),
                *([] if mac is None else [f"{mac[k]:.3f}"]),
                self.class_of(k), self.judgements[k].text(),
            )
            for k in range(len(self.modes))
        ]  # fmt: skip
        agreement = [] if mac is None else ["least MAC at references"]
        return (
            align_columns(("mode", "frequency [Hz]", "damping ratio [%]", *agreement, "class", "because"), rows)
            if rows
            else "no modes"
        )

    def __repr__(self) -> str:
        return (
            f"MergedModes by {self.method}: {count_noun(len(self.modes), 'mode')} of {len(self.setups)} set-ups, "
            f"{count_noun(len(self.outputs), 'sensor')}, references {list_names(self.references, {})}\n{self.table()}"
        )
