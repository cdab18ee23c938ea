"""Pages on modes from outputs alone: frequency domain decomposition, and set-ups merged by reference sensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dalembert.core.findings import Speaker, in_python
from dalembert.core.tables import mode_cells
from dalembert.core.text import count_noun
from dalembert.identify.model.collinearity import modal_phase_collinearity
from dalembert.identify.output_only.frequency_domain_modes import FrequencyDomainModes
from dalembert.identify.setups.merged_modes import MergedModes
from dalembert.view.animation.shape_scene import read_places, shape_animation
from dalembert.view.plots.figures import list_names
from dalembert.view.plots.plot import plot
from dalembert.view.reports import origin
from dalembert.view.reports.pages import (
    Heading,
    Listing,
    Moving,
    Picture,
    Piece,
    Table,
    Text,
    list_warnings,
    write_page,
)

METHODS = {
    "fdd": "frequency domain decomposition", "efdd": "enhanced frequency domain decomposition",
    "poser": "PoSER: set-ups identified one by one, shapes scaled at the references",
    "preger": "PreGER: set-ups brought to one excitation and identified at once",
}  # fmt: skip


def output_only_report(
    result: FrequencyDomainModes | MergedModes,
    path: str | os.PathLike[str],
    *,
    places: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    speak: Speaker = in_python,
    title: str = "Modes from outputs alone",
) -> None:
    """Write a self-contained HTML page on modes from outputs alone.

    Parameters
    ----------
    places : where channels measure, and which way: ``{"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}`` [m]; with them the
        page plays the mode shapes
    provenance : further entries at the end.  speak : writes arguments and functions in the advice of warnings
    """
    modes = result.structural_modes
    pieces: list[Piece] = [Text(_summary(result))]
    if places and len(modes):
        words = "Mode shapes at the sensors; lines between them are straight, places without a sensor do not move."
        scene = shape_animation(modes, read_places(places, result.outputs), name="identified modes")
        pieces.append(Moving("modes", scene, words))
    if isinstance(result, FrequencyDomainModes):
        words = "Singular values of the spectral matrix; shaded lines belong to the mode at their peak."
        pieces.append(Picture("singular-values", plot(result), words))
    pieces.append(_modes_table(result))
    if len(modes) and len(result.outputs) > 1:
        words = "Mode shapes, largest component 1" + ("; steady sines left out." if result.machines else ".")
        shown = list(range(1, min(len(modes), 12) + 1))
        pieces.append(Picture("shapes", plot(modes, mode=shown, title="Mode shapes at the sensors"), words))
    if isinstance(result, MergedModes):
        pieces += _setups(result)
    pieces += list_warnings(result.findings, speak)
    pieces += [Heading("What was done"), Listing(result.notes)]
    entries = {key: value for key, value in result.provenance.items() if isinstance(value, str | int | float)}
    write_page(path, title, pieces, {**(provenance or {}), **entries, **origin.versions()})


def _summary(result: FrequencyDomainModes | MergedModes) -> str:
    count = len(result.structural_modes)
    sines = f" and {count_noun(len(result.machines), 'steady sine')}, as of machines," if result.machines else ""
    hertz = result.structural_modes.frequencies_hz
    swings = f" Their frequencies are {list_names(f'{f:.4g}' for f in hertz)} Hz." if len(hertz) else ""
    return (
        f"{count_noun(count, 'mode')}{sines} were found at {count_noun(len(result.outputs), 'sensor')} without "
        f"measured forces, by {METHODS[result.method]}.{swings}"
    )


def _modes_table(result: FrequencyDomainModes | MergedModes) -> Table:
    sd_f, sd_z = result.frequency_deviations_hz, result.damping_deviations
    mpc = modal_phase_collinearity(result.shapes) if len(result.modes) else ()
    cells = mode_cells(result.frequencies_hz, result.damping_ratios, sd_f, sd_z)
    rows = [(str(k + 1), *cells[k], f"{mpc[k]:.3f}", _class(result, k)) for k in range(len(result.modes))]
    about = "Modes" + (" (± one standard deviation)" if sd_f is not None else "")
    return Table(("", "frequency [Hz]", "damping ratio [%]", "phase collinearity", "class"), tuple(rows), about)


def _class(result: FrequencyDomainModes | MergedModes, k: int) -> str:
    if isinstance(result, MergedModes):
        return ": ".join(filter(None, (result.class_of(k), result.judgements[k].text())))
    return "harmonic of a machine" if k in result.machines else "mode"


def _setups(result: MergedModes) -> list[Piece]:
    """Sensors of the set-ups, and the frequencies of each where they were identified one by one."""
    rows = [("references", list_names(result.references))]
    rows += [(f"set-up {k + 1}", list_names(setup)) for k, setup in enumerate(result.setups)]
    pieces: list[Piece] = [Table(("", "sensors"), tuple(rows), "Set-ups")]
    if result.setup_frequencies_hz is not None and result.setup_damping_ratios is not None:
        head = ("mode", *(f"set-up {k + 1}: [Hz], [%]" for k in range(len(result.setups))))
        each = [
            (str(k + 1), *(f"{f:.5g}, {100.0 * z:.3g}" for f, z in zip(hertz, zeta)))
            for k, (hertz, zeta) in enumerate(zip(result.setup_frequencies_hz.T, result.setup_damping_ratios.T))
        ]
        pieces.append(Table(head, tuple(each), "Frequency and damping ratio in each set-up"))
    elif result.stabilization is not None and len(result.stabilization.frequencies_hz):
        words = "Poles of models of growing order; poles of the structure stay at one frequency."
        pieces.append(Picture("stabilization", plot(result.stabilization), words))
    return pieces
