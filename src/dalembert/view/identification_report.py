"""One page on an automatic identification: what was done, modes, shapes, diagram, responses, cross-validation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from dalembert.errors import DataError
from dalembert.identify.auto_result import AutoIdentified, verdict
from dalembert.identify.collinearity import modal_phase_collinearity
from dalembert.view.identification import plot_auto
from dalembert.view.pages import Heading, Listing, Picture, Piece, Table, Text, write_page

if TYPE_CHECKING:
    from dalembert.identify.identified import Identified


def identification_report(
    result: AutoIdentified, path: str | os.PathLike[str], *, title: str = "Identification report"
) -> None:
    """Write a self-contained HTML page on ``result`` of :func:`dalembert.identify.auto`."""
    if not isinstance(result, AutoIdentified):
        raise DataError(f"a report is made of what identify.auto returns, not of a {type(result).__name__}.")
    provenance = {key: value for key, value in result.provenance.items() if value}
    write_page(path, title, identification_pieces(result), provenance)


def identification_pieces(result: AutoIdentified, prefix: str = "") -> list[Piece]:
    """What stands on the page; ``prefix`` goes before the names of the pictures."""
    model = result.identified
    pieces: list[Piece] = [Text(_summary(result)), modes_table(model)]
    if result.warnings:
        pieces += [Heading("Beware"), Listing(result.warnings)]
    pieces += [Heading("What was done, and why"), Listing(result.decisions)]
    if len(result.trials) > 1:
        rows = tuple(
            (f"{t.order}{' (chosen)' if t.chosen else ''}", f"{t.percent:.2f}", "yes" if t.stable else "no")
            for t in result.trials
        )
        pieces.append(Table(("order", "fit [%]", "stable"), rows, "Orders tried on a part of the training data"))
    pieces += [Heading("Cross-validation"), fit_table(result), Text(f"Residuals: {verdict(result.residuals)}.")]
    for view, caption in _VIEWS.items():
        if (view == "frf" and result.frf is None) or (
            view == "shapes" and not (len(result.modes) and len(model.outputs) > 1)
        ):
            continue
        with mpl.rc_context(_style()):
            pieces.append(Picture(f"{prefix}{view}", plot_auto(result, view=view), caption))
    return pieces


_VIEWS = {
    "stabilization": "Poles of models of growing order; those of the structure stay where they are.",
    "shapes": "Mode shapes at the outputs, largest component 1.",
    "frf": "Measured frequency response (band: two standard deviations) and that of the model; coherence below.",
    "playback": "Outputs as measured and as the model says, on data it was not found from where some were held out.",
    "residuals": "What the model leaves over should be uncorrelated: bars inside the band.",
}


def modes_table(model: Identified) -> Table:
    """Frequencies and damping ratios with standard deviations, and how nearly real each shape is."""
    modes = model.underdamped()
    mpc = modal_phase_collinearity(modes.shapes)
    sd_f, sd_z = model.frequency_deviations, model.damping_deviations
    rows = []
    for k in range(len(modes)):
        frequency, damping = f"{modes.frequencies_hz[k]:.5g}", f"{100.0 * modes.damping_ratios[k]:.4g}"
        if sd_f is not None and sd_z is not None:
            frequency, damping = f"{frequency} ± {sd_f[k]:.2g}", f"{damping} ± {100.0 * sd_z[k]:.2g}"
        rows.append((str(k + 1), frequency, damping, f"{mpc[k]:.3f}"))
    about = "Modes" + (" (± one standard deviation)" if sd_f is not None else "")
    return Table(("mode", "frequency [Hz]", "damping ratio [%]", "phase collinearity"), tuple(rows), about)


def fit_table(result: AutoIdentified) -> Table:
    """Fit per output, on training and held-out data."""
    columns: list[Any] = [("training", result.training_fit)]
    if result.fit is not None:
        columns.append(("held out", result.fit))
    head = ("output", *(f"{name}, fit [%]" for name, _ in columns))
    names = result.training_fit.outputs
    rows = [(name, *(f"{fit[name]:.2f}" for _, fit in columns)) for name in names]
    rows.append(("mean", *(f"{fit.mean:.2f}" for _, fit in columns)))
    words = "Simulation from the inputs alone" if result.training_fit.kind == "simulation" else "One-step prediction"
    return Table(head, tuple(rows), words)


def _summary(result: AutoIdentified) -> str:
    model = result.identified
    count = len(result.modes)
    text = (
        f"A model with {model.order} states and {count} mode{'' if count == 1 else 's'} was found from "
        f"{', '.join(model.inputs) or 'no inputs'} to {', '.join(model.outputs)} by {model.method}. "
    )
    if result.fit is None:
        return text + f"It reproduces {result.training_fit.mean:.1f} % of the data it was found from."
    return text + f"It reproduces {result.fit.mean:.1f} % of data it never saw ({result.fit.kind})."


def _style() -> Any:
    from dalembert.view.figures import STYLE

    return STYLE
