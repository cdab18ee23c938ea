"""Pages on identified models: of an automatic identification with its decisions, and of any other method."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.core.errors import DataError
from dalembert.core.tables import spread
from dalembert.identify.auto.result import AutoIdentified
from dalembert.identify.model.collinearity import modal_phase_collinearity
from dalembert.identify.model.identified import Identified
from dalembert.identify.records.gaps import describe_gaps
from dalembert.record import Record
from dalembert.view.animation.shape_scene import read_places, shape_animation
from dalembert.view.plots.figures import draw_figure, list_names, with_unit
from dalembert.view.plots.identification import plot_playback
from dalembert.view.plots.plot import plot
from dalembert.view.reports import origin
from dalembert.view.reports.pages import Heading, Listing, Moving, Picture, Piece, Table, Text, write_page


def identification_report(
    result: AutoIdentified,
    path: str | os.PathLike[str],
    *,
    places: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    title: str = "Identification report",
) -> None:
    """Write a self-contained HTML page on ``result`` of :func:`dalembert.identify.auto`.

    Parameters
    ----------
    places : where channels measure, and which way: ``{"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}`` [m]; with them the
        page plays the mode shapes
    provenance : further entries at the end
    """
    if not isinstance(result, AutoIdentified):
        raise DataError("wrong-type", f"a report is made of an AutoIdentified, not of a {type(result).__name__}.")
    records = (*result.training, *result.held_out)
    origins = origin.identified_origin(result.identified, records, {**(provenance or {}), **result.provenance})
    write_page(path, title, identification_pieces(result, places=places), origins)


def identification_pieces(
    result: AutoIdentified, prefix: str = "", *, places: Mapping[str, Any] | None = None, summary: bool = True
) -> list[Piece]:
    """Contents of the page; ``prefix`` goes before the names of the pictures."""
    model = result.identified
    pictures = _pictures(result, prefix)
    first = animate_shapes(model, places) or [pictures.pop("frf" if "frf" in pictures else "stabilization")]
    pieces: list[Piece] = [Text(_summary(result)), *first, modes_table(model)]
    if summary:
        pieces.append(identified_summary(model))
    pieces += _warnings(result)
    pieces += [Heading("What was done, and why"), Listing(result.decisions)]
    if len(result.trials) > 1:
        rows = tuple(
            (f"{t.order}{' (chosen)' if t.chosen else ''}", f"{t.percent:.2f}", "yes" if t.stable else "no")
            for t in result.trials
        )
        pieces.append(Table(("order", "fit [%]", "stable"), rows, "Orders tried on a part of the training data"))
    pieces += [
        Heading("Cross-validation"),
        fit_table(result),
        Text(f"Residuals: {result.residuals.verdict()}."),
    ]
    return [*pieces, *pictures.values()]


def _pictures(result: AutoIdentified, prefix: str) -> dict[str, Piece]:
    """Figures of a result, by view."""
    found: dict[str, Piece] = {}
    several = len(result.modes) > 0 and len(result.identified.outputs) > 1
    for view, caption in _VIEWS.items():
        if (view == "frf" and result.frf is None) or (view == "shapes" and not several):
            continue
        found[view] = Picture(f"{prefix}{view}", plot(result, view=view), caption)
        if view == "shapes" and len(result.modes) > 1:
            found["mac"] = Picture(f"{prefix}mac", plot(result.modes, view="mac", title=""), _MAC)
    return found


def animate_shapes(model: Identified, places: Mapping[str, Any] | None) -> list[Piece]:
    """The mode shapes as an animation, where the places of the channels are known."""
    if not places:
        return []
    spots = read_places(places, model.outputs)
    modes = model.underdamped_modes()
    if not len(modes):
        return []
    words = "Mode shapes at the sensors; lines between them are straight, places without a sensor do not move."
    return [Moving("modes", shape_animation(modes, spots, name="identified modes"), words)]


_MAC = "How alike the shapes are at the outputs (modal assurance criterion): 1 is the same shape, near 0 another one."
_VIEWS = {
    "stabilization": "Poles of models of growing order; those of the structure stay where they are.",
    "shapes": "Mode shapes at the outputs, largest component 1.",
    "frf": "Measured frequency response (band: two standard deviations) and that of the model; coherence below.",
    "playback": "Measured outputs and outputs of the model, on held-out data where there are any.",
    "residuals": "What the model leaves over should be uncorrelated: bars inside the band.",
}


def _warnings(result: AutoIdentified | Identified) -> list[Piece]:
    texts = tuple(one.text() for one in result.findings)
    return [Heading("Warnings"), Listing(texts)] if texts else []


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
        f"{list_names(model.inputs) or 'no inputs'} to {list_names(model.outputs)} by {model.method}. "
        f"{describe_modes(model)}"
    )
    if result.fit is None:
        return text + f"It reproduces {result.training_fit.mean:.1f} % of the data it was found from."
    return text + f"It reproduces {result.fit.mean:.1f} % of data it never saw ({result.fit.kind})."


def describe_modes(model: Identified, most: int = 3) -> str:
    """The first modes in a sentence, or "" where none oscillates."""
    modes = model.underdamped_modes()
    if not len(modes):
        return ""
    each = [
        f"{f:.4g} Hz with {100.0 * z:.2g} % of critical damping"
        for f, z in zip(modes.frequencies_hz[:most], modes.damping_ratios, strict=False)
    ]
    listing = each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
    return f"It swings at {listing}{'; the table has the rest' if len(modes) > most else ''}. "


# ---- any other method ------------------------------------------------------------------------------------------------


def identified_report(
    result: object,
    path: str | os.PathLike[str],
    *,
    records: Record | Sequence[Record],
    places: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    title: str = "Identification report",
) -> None:
    """Write a self-contained HTML page on an identified model.

    Parameters
    ----------
    result : an ``Identified`` by any method.  records : data it was found from
    places : where channels measure, and which way: ``{"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}`` [m]; with them the
        page plays the mode shapes
    provenance : further entries at the end
    """
    if not isinstance(result, Identified):
        raise DataError("wrong-type", f"a report is made of an Identified, not of a {type(result).__name__}.")
    found = [records] if isinstance(records, Record) else list(records)
    if not found:
        raise DataError("empty", "records must hold at least one record that the model was found from.")
    predicted = not result.inputs and result.gain is not None
    fit = result.fit(found, "prediction" if predicted else "simulation")
    made = result.predict(found[0]) if predicted else result.simulate(found[0])
    figure = draw_figure(lambda: plot_playback(found[0], made, title=""), None)
    playback = Picture("playback", figure, "Measured outputs and outputs of the model.")
    moving = animate_shapes(result, places)
    pieces: list[Piece] = [Text(_describe(result, fit)), *(moving or [playback])]
    rows = tuple((name, f"{fit[name]:.2f}") for name in fit.outputs)
    table = Table(("output", "fit [%]"), rows, f"Fit by {fit.kind}")
    pieces += [modes_table(result), identified_summary(result), Heading("Played back"), table]
    poles = Picture("poles", plot(result.system, title="Poles"), "Poles of the model.")
    pieces += [*([playback] if moving else []), poles]
    pieces += _warnings(result)
    if result.notes:
        pieces += [Heading("What was done"), Listing(tuple(result.notes))]
    origins = origin.identified_origin(result, found, {**(provenance or {}), **result.provenance})
    write_page(path, title, pieces, origins)


def _describe(model: Identified, fit: Any) -> str:
    gaps = describe_gaps(model.provenance, "")
    return (
        f"A model with {model.order} states, {len(model.underdamped_modes())} of its modes oscillating, was "
        f"found from {list_names(model.inputs) or 'no inputs'} to {list_names(model.outputs)} by {model.method}. "
        f"{describe_modes(model)}It reproduces {fit.mean:.1f} % of the data it was found from ({fit.kind}); no "
        f"data were held out to judge it.{f' The data were {gaps}.' if gaps else ''}"
    )


# ---- tables ----------------------------------------------------------------------------------------------------------


def identified_summary(model: Identified, caption: str = "The identified model") -> Table:
    """Order, channels, sample time and frequencies."""
    units = model.system.units

    def channels(names: tuple[str, ...]) -> str:
        return list_names(with_unit(name, units.get(name, "")) for name in names)

    hertz = model.frequencies_hz
    noise = "gain of the innovation form" if model.gain is not None else "none"
    rows = [
        ("method", "", model.method),
        ("states", str(model.order), ""),
        ("sample time [s]", f"{model.dt:.6g}", ""),
        ("inputs", str(len(model.inputs)), channels(model.inputs) or "none: ambient vibration"),
        ("outputs", str(len(model.outputs)), channels(model.outputs)),
        ("modes that oscillate", str(len(hertz)), list_names(f"{f:.4g}" for f in hertz) + " Hz" * bool(len(hertz))),
        ("model of the noise", "", noise),
    ]
    if model.delays:
        delays = list_names(f"{name} by {count} samples" for name, count in model.delays.items())
        rows.append(("delays", str(len(model.delays)), delays))
    return Table(("", "number", "which"), tuple(rows), caption)


def modes_table(model: Identified) -> Table:
    """Frequencies and damping ratios with standard deviations, and how nearly real each shape is."""
    modes = model.underdamped_modes()
    mpc = modal_phase_collinearity(modes.shapes)
    sd_f, sd_z = model.frequency_deviations, model.damping_deviations
    rows = []
    for k in range(len(modes)):
        frequency, damping = f"{modes.frequencies_hz[k]:.5g}", f"{100.0 * modes.damping_ratios[k]:.4g}"
        if sd_f is not None and sd_z is not None:
            frequency = spread(modes.frequencies_hz[k], sd_f[k])
            damping = spread(100.0 * modes.damping_ratios[k], 100.0 * sd_z[k])
        rows.append((str(k + 1), frequency, damping, f"{mpc[k]:.3f}"))
    about = "Modes" + (" (± one standard deviation)" if sd_f is not None else "")
    return Table(("mode", "frequency [Hz]", "damping ratio [%]", "phase collinearity"), tuple(rows), about)
