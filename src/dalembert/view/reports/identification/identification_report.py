"""Pages on identified models: of an automatic identification with its decisions, and of any other method."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Speaker, in_python
from dalembert.core.tables import mode_cells
from dalembert.core.text import count_noun
from dalembert.identify.auto.result import CLASSES, AutoIdentified
from dalembert.identify.model.collinearity import modal_phase_collinearity
from dalembert.identify.model.identified import Identified
from dalembert.identify.polyreference.result import PolyreferenceModes
from dalembert.identify.records.gaps import describe_gaps
from dalembert.identify.spectral.frf import FrfEstimate
from dalembert.identify.spectral.spectra import Spectra
from dalembert.linear.modes import Modes
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.record import Record
from dalembert.view.animation.shape_scene import read_places, shape_animation
from dalembert.view.plots.figures import draw_figure, list_names, with_unit
from dalembert.view.plots.identification import plot_output_spectra, plot_playback
from dalembert.view.plots.plot import plot
from dalembert.view.reports import origin
from dalembert.view.reports.identification.workbench import (
    ModalEvidence,
    evidence_of_auto,
    evidence_of_model,
    workbench_data,
)
from dalembert.view.reports.pages import (
    Heading,
    Listing,
    Moving,
    Picture,
    Piece,
    Table,
    Text,
    Workbench,
    list_warnings,
    write_page,
)


def identification_report(
    result: AutoIdentified,
    path: str | os.PathLike[str],
    *,
    places: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    speak: Speaker = in_python,
    title: str = "Identification report",
) -> None:
    """Write a self-contained HTML page on ``result`` of :func:`dalembert.identify.auto`.

    Parameters
    ----------
    places : where channels measure, and which way: ``{"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}`` [m]; with them the
        page plays the mode shapes
    provenance : further entries at the end.  speak : writes arguments and functions in the advice of warnings
    """
    if not isinstance(result, AutoIdentified):
        raise DataError("wrong-type", f"a report is made of an AutoIdentified, not of a {type(result).__name__}.")
    records = (*result.training, *result.held_out)
    origins = origin.identified_origin(result.identified, records, {**(provenance or {}), **result.provenance})
    files = origin.find_files(provenance or {})
    pieces = identification_pieces(result, places=places, speak=speak)
    write_page(path, title, add_workbench(pieces, evidence_of_auto(result), places, files), origins)


def identification_pieces(
    result: AutoIdentified, prefix: str = "", *, places: Mapping[str, Any] | None = None, summary: bool = True,
    speak: Speaker = in_python,
) -> list[Piece]:  # fmt: skip
    """Contents of the page; ``prefix`` goes before the names of the pictures."""
    model = result.identified
    pictures = _pictures(result, prefix)
    pieces: list[Piece] = [Text(_summary(result))]
    pieces += [pictures.pop(view) for view in ("frf", "spectra", "stabilization") if view in pictures]
    pieces += [Heading("Modes"), *class_tables(result)]
    pieces += animate_shapes(model, places, [k for k in result.by_class() if result.judgements[k].grade != CLASSES[2]])
    pieces += [pictures.pop(view) for view in ("shapes", "mac") if view in pictures]
    pieces += list_warnings(result.findings, speak)
    pieces += [Heading("Steps and reasons"), Listing(result.decisions)]
    if len(result.trials) > 1:
        rows = tuple(
            (f"{t.order}{' (chosen)' if t.chosen else ''}", f"{t.percent:.2f}", "yes" if t.stable else "no")
            for t in result.trials
        )
        pieces.append(Table(("order", "fit [%]", "stable"), rows, "Orders tried on a part of the training data"))
    if summary:
        pieces.append(identified_summary(model))
    pieces += [
        Heading("Cross-validation"),
        fit_table(result),
        Text(f"Residuals: {result.residuals.verdict()}. The structure: {result.nonlinearity.text()}."),
    ]
    return [*pieces, *pictures.values()]


def add_workbench(
    pieces: Sequence[Piece], evidence: ModalEvidence, places: Mapping[str, Any] | None, files: Mapping[str, str] | None
) -> list[Piece]:
    """The pieces with the figures of response and diagram inside a workbench; files : None where nothing is chosen."""
    spots = read_places(places, evidence.model.outputs) if places else None
    data = workbench_data(evidence, spots=spots, files=files)
    first = [
        piece for piece in pieces if isinstance(piece, Picture) and piece.name in ("frf", "spectra", "stabilization")
    ]
    if data is None or not first:
        return list(pieces)
    at = pieces.index(first[0])
    remaining = [piece for piece in pieces if piece not in first]
    data["captions"] = {piece.name: piece.caption for piece in first}
    return [*remaining[:at], Workbench(data, tuple(first)), *remaining[at:]]


def _pictures(result: AutoIdentified, prefix: str) -> dict[str, Piece]:
    """Figures of a result, by view."""
    pictures: dict[str, Piece] = {}
    several = len(result.modes) > 0 and len(result.identified.outputs) > 1
    words = _judge_pictures(result)
    for view, caption in _VIEWS.items():
        absent = {
            "frf": result.frf is None, "spectra": bool(result.identified.inputs), "shapes": not several,
            "stabilization": not len(result.stabilization.orders),
        }  # fmt: skip
        if absent.get(view):
            continue
        pictures[view] = Picture(
            f"{prefix}{view}", plot(result, view=view, title=""), f"{caption} {words[view]}".strip()
        )
        physical = [k + 1 for k in result.by_class() if result.judgements[k].grade != CLASSES[2]]
        if view == "shapes" and len(physical) > 1:
            figure = plot(result.modes, view="mac", mode=sorted(physical), title="")
            pictures["mac"] = Picture(f"{prefix}mac", figure, f"{_MAC} {words['mac']}".strip())
    return pictures


def _judge_pictures(result: AutoIdentified) -> defaultdict[str, str]:
    """Judgements in words beside the pictures, by view."""
    words: defaultdict[str, str] = defaultdict(str)
    if result.frf is not None:
        f = result.frf.frequencies_hz
        band = (f >= result.time_scale.low) & (f <= result.time_scale.high)
        share = float(np.mean(result.frf.coherence.multiple[band] > COHERENT)) if band.any() else 0.0
        elsewhere = "" if share > 0.5 else " Elsewhere noise, other forces or a structure that is not linear hide it."
        words["frf"] = (
            f"The inputs explain the outputs at {100.0 * share:.0f} % of the lines of the band (coherence above "
            f"{COHERENT:g}).{elsewhere}"
        )
    counts = {grade: len(result.places(grade)) for grade in (CLASSES[3], *CLASSES[:3])}
    listed = [f"{count} {grade}" for grade, count in counts.items() if count]
    words["stabilization"] = f"Modes of the model: {list_names(listed)}." if listed else ""
    physical = [k for k in result.by_class() if result.judgements[k].grade != CLASSES[2]]
    mpc = modal_phase_collinearity(result.modes.shapes)
    turned = [str(k + 1) for k in sorted(physical) if mpc[k] < IN_PHASE]
    if physical and len(result.identified.outputs) > 1:
        words["shapes"] = (
            f"Far from real (phase collinearity below {IN_PHASE:g}): mode {list_names(turned)}. Channels that are not "
            "synchronous, close modes or noise are possible reasons."
            if turned
            else f"All are nearly real (phase collinearity above {IN_PHASE:g}), as of a lightly damped structure."
        )
    if len(physical) > 1 and len(result.identified.outputs) > 1:
        mac = result.modes.select([k + 1 for k in sorted(physical)]).mac()
        np.fill_diagonal(mac, 0.0)
        i, j = np.unravel_index(int(np.argmax(mac)), mac.shape)
        pair = f"modes {sorted(physical)[min(i, j)] + 1} and {sorted(physical)[max(i, j)] + 1} ({mac[i, j]:.2f})"
        tail = "the sensors distinguish all shapes." if mac[i, j] < ALIKE else "these sensors hardly distinguish them."
        words["mac"] = f"Most alike are {pair}: {tail}"
    return words


def animate_shapes(
    model: Identified | PolyreferenceModes, places: Mapping[str, Any] | None, which: Sequence[int] | None = None
) -> list[Piece]:
    """The mode shapes as an animation, where the places of the channels are known; which : modes from 0, or all."""
    if not places:
        return []
    spots = read_places(places, model.outputs)
    modes = model.underdamped_modes()
    if which:
        modes = modes.select([k + 1 for k in sorted(which)])
    if not len(modes):
        return []
    words = "Mode shapes at the sensors; lines between them are straight, places without a sensor do not move."
    return [Moving("modes", shape_animation(modes, spots, name="identified modes"), words)]


COHERENT = 0.9  # multiple coherence of a line that the inputs explain, as test engineers require
IN_PHASE = 0.8  # least phase collinearity of a shape with one phase: phases scatter by some 13 degrees
ALIKE = 0.9  # MAC of two shapes that the sensors hardly distinguish: an angle of 18 degrees
_MAC = "How alike the shapes are at the outputs (modal assurance criterion): 1 is the same shape, near 0 another one."
_VIEWS = {
    "frf": "Measured frequency response (band: two standard deviations) and that of the model; coherence below.",
    "spectra": "Spectral densities of the outputs, and the singular values of all of them (scaled to unit power), "
    "measured and of the model.",
    "stabilization": "Poles of models of growing order; poles of the structure stay at one frequency.",
    "shapes": "Mode shapes at the outputs, largest component 1.",
    "playback": "Measured outputs and outputs of the model, on held-out data where there are any.",
    "residuals": "The residuals of the model should be uncorrelated: bars inside the band.",
}


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
        f"{_describe_sound(result)}"
    )
    if result.fit is None:
        return text + f"It reproduces {result.training_fit.mean:.1f} % of the data it was found from."
    return text + f"It reproduces {result.fit.mean:.1f} % of the data held out ({result.fit.kind})."


def _describe_sound(result: AutoIdentified) -> str:
    """The sound or chosen modes in a sentence."""
    for grade, words in (("chosen", "chosen"), ("sound", "sound")):
        count = len(result.places(grade))
        if count:
            modes = result.modes.select(result.places(grade) + 1)
            return f"{count_noun(count, 'mode')} {'is' if count == 1 else 'are'} {words}. {describe_modes(modes)}"
    return f"No mode is sound. {describe_modes(result.modes)}"


def describe_modes(modes: Modes, most: int = 3) -> str:
    """The first modes in a sentence, or "" where none oscillates."""
    if not len(modes):
        return ""
    each = [
        f"{f:.4g} Hz with {100.0 * z:.2g} % of critical damping"
        for f, z in zip(modes.frequencies_hz[:most], modes.damping_ratios, strict=False)
    ]
    listing = each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
    return f"It vibrates at {listing}{'; the table has the rest' if len(modes) > most else ''}. "


# ---- any other method ------------------------------------------------------------------------------------------------


def identified_report(
    result: object,
    path: str | os.PathLike[str],
    *,
    records: Record | Sequence[Record],
    places: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    speak: Speaker = in_python,
    title: str = "Identification report",
) -> None:
    """Write a self-contained HTML page on an identified model.

    Parameters
    ----------
    result : an ``Identified`` by any method.  records : data it was found from
    places : where channels measure, and which way: ``{"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}`` [m]; with them the
        page plays the mode shapes
    provenance : further entries at the end.  speak : writes arguments and functions in the advice of warnings
    """
    if not isinstance(result, Identified):
        raise DataError("wrong-type", f"a report is made of an Identified, not of a {type(result).__name__}.")
    measured = [records] if isinstance(records, Record) else list(records)
    if not measured:
        raise DataError("empty", "records must hold at least one record that the model was found from.")
    predicted = not result.inputs and result.gain is not None
    fit = result.fit(measured, "prediction" if predicted else "simulation")
    computed = result.predict(measured[0]) if predicted else result.simulate(measured[0])
    figure = draw_figure(lambda: plot_playback(measured[0], computed, title=""), None)
    evidence = evidence_of_model(result, measured)
    pieces: list[Piece] = [Text(_describe(result, fit)), *_evidence_pictures(evidence)]
    pieces += [Heading("Modes"), modes_table(result), *animate_shapes(result, places)]
    modes = result.underdamped_modes()
    if len(modes) > 1 and len(result.outputs) > 1:
        pieces.append(Picture("mac", plot(modes, view="mac", title=""), _MAC))
    rows = tuple((name, f"{fit[name]:.2f}") for name in fit.outputs)
    table = Table(("output", "fit [%]"), rows, f"Fit by {fit.kind}")
    pieces += [identified_summary(result), Heading("Played back"), table]
    pieces += [
        Picture("playback", figure, "Measured outputs and outputs of the model."),
        Picture("poles", plot(result.system, title="Poles"), "Poles of the model."),
    ]
    pieces += list_warnings(result.findings, speak)
    if result.notes:
        pieces += [Heading("What was done"), Listing(tuple(result.notes))]
    origins = origin.identified_origin(result, measured, {**(provenance or {}), **result.provenance})
    write_page(path, title, add_workbench(pieces, evidence, places, None), origins)


def polyreference_report(
    result: PolyreferenceModes, path: str | os.PathLike[str], *, places: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None, speak: Speaker = in_python, title: str = "Identification report",
) -> None:  # fmt: skip
    """Write a self-contained HTML page on modes from frequency responses; arguments as of `identified_report`."""
    lines, measured = measured_lines(result)
    fitted = result.response(lines)
    top = float(fitted.frequencies_hz[-1])
    figure = plot(measured, fitted, highest=top) if isinstance(measured, FrfEstimate) else plot(fitted)
    hertz = fitted.frequencies_hz
    evidence = ModalEvidence(
        result, measured, result.stabilization if len(result.stabilization.orders) else None, (float(hertz[0]), top),
        ("",) * len(result.modes), ("",) * len(result.modes),
    )  # fmt: skip
    pieces: list[Piece] = [Text(
        f"{count_noun(len(result.modes), 'mode')} of {list_names(result.outputs)} under {list_names(result.inputs)}, "
        f"from responses at {len(lines)} frequencies by the poly-reference method. {describe_modes(result.modes)}"
    ), Picture("frf", figure, _VIEWS["frf"])]  # fmt: skip
    if evidence.drawn is not None:
        drawn = plot(evidence.drawn, modes=result.modes, lowest=float(hertz[0]), highest=top)
        pieces.append(Picture("stabilization", drawn, _VIEWS["stabilization"]))
    pieces += [Heading("Modes"), modes_table(result), *animate_shapes(result, places)]
    if len(result.modes) > 1 and len(result.outputs) > 1:
        pieces.append(Picture("mac", plot(result.modes, view="mac", title=""), _MAC))
    pieces += [*list_warnings(result.findings, speak), Heading("What was done"), Listing(result.notes)]
    entries = {key: value for key, value in result.provenance.items() if isinstance(value, str | int | float)}
    entries = {**(provenance or {}), **entries, **origin.versions()}
    write_page(path, title, add_workbench(pieces, evidence, places, None), entries)


def measured_lines(result: PolyreferenceModes) -> tuple[Any, FrfEstimate | FrequencyResponse]:
    """Frequencies [rad/s] of the lines that the modes were found from, and the measured response at them."""
    lines, measured = np.array(result.lines), result.measured
    return measured.frequencies[lines], measured.select(lines) if isinstance(measured, FrfEstimate) else measured


def _evidence_pictures(evidence: ModalEvidence) -> list[Piece]:
    """Measured response with the model, and the diagram, as far as there are any."""
    model, measured = evidence.model, evidence.measured
    assert isinstance(model, Identified)
    low, high = evidence.axis
    pictures: list[Piece] = []
    if isinstance(measured, FrfEstimate):
        top = min(high, float(measured.frequencies_hz[-1]))
        figure = plot(measured, model.system.frequency_response(measured.frequencies[1:]), lowest=low, highest=top)
        pictures.append(Picture("frf", figure, _VIEWS["frf"]))
    elif isinstance(measured, Spectra):
        draw = partial(plot_output_spectra, measured, model, lowest=low, highest=high, title="")
        pictures.append(Picture("spectra", draw_figure(draw, None), _VIEWS["spectra"]))
    if evidence.drawn is not None:
        figure = plot(evidence.drawn, modes=model.underdamped_modes(), lowest=low, highest=high)
        pictures.append(Picture("stabilization", figure, _VIEWS["stabilization"]))
    return pictures


def _describe(model: Identified, fit: Any) -> str:
    gaps = describe_gaps(model.provenance, "")
    return (
        f"A model with {model.order} states, {len(model.underdamped_modes())} of its modes oscillating, was "
        f"found from {list_names(model.inputs) or 'no inputs'} to {list_names(model.outputs)} by {model.method}. "
        f"{describe_modes(model.underdamped_modes())}It reproduces {fit.mean:.1f} % of the data it was found from "
        f"({fit.kind}); no data were held out to judge it.{f' The data were {gaps}.' if gaps else ''}"
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


def class_tables(result: AutoIdentified) -> list[Piece]:
    """Modes by class, the sound ones first, those of the fit only folded away: deviations, evidence, reasons."""
    tables: list[Piece] = []
    for grade in (CLASSES[3], *CLASSES[:3]):
        places = result.places(grade).tolist()
        if not places:
            continue
        head, rows = _class_rows(result, places)
        words = f"{grade.capitalize()} modes" if grade != CLASSES[2] else "Modes of the fit only"
        has_deviations = result.identified.frequency_deviations_hz is not None
        about = f"{words}{' (± one standard deviation)' if has_deviations else ''}{_ABOUT.get(grade, '')}"
        folded = f"{words}: {len(places)}" if grade == CLASSES[2] else ""
        tables.append(Table(head, rows, about, folded))
    return tables or [Text("The model has no mode that oscillates.")]


_ABOUT = {
    "sound": ": they appear over the orders, by another method and in both halves of the record",
    "uncertain": ": some evidence is missing",
    "of the fit only": ": they improve the fit of the model, but are not modes of the structure",
    "chosen": ": taken by hand from the diagram",
}
_SHARES = {"orders": "in orders [%]", "methods": "by method 2 [%]", "parts": "in halves [%]"}


def _class_rows(result: AutoIdentified, places: Sequence[int]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Head and rows of the table of some modes."""
    model, modes = result.identified, result.modes
    mpc = modal_phase_collinearity(modes.shapes)
    several = len(model.outputs) > 1
    mac = modes.mac() if several else np.eye(len(modes))
    others = [k for k in range(len(modes)) if result.judgements[k].grade != CLASSES[2]]
    shares = [name for name in _SHARES if any(name in result.judgements[k].shares for k in places)]
    because = any(result.judgements[k].reasons for k in places)
    uncertainty = [result.frequency_uncertainty(k) for k in range(len(modes))]
    sd_f = None if None in uncertainty else uncertainty
    cells = mode_cells(modes.frequencies_hz, modes.damping_ratios, sd_f, model.damping_deviations)
    rows = []
    for k in places:
        judged = result.judgements[k]
        row = [str(k + 1), *cells[k], f"{mpc[k]:.3f}"]
        if several:
            near = max((other for other in others if other != k), key=lambda other: mac[k, other], default=None)
            row.append("–" if near is None else f"{mac[k, near]:.2f} ({near + 1})")
        row += [f"{100.0 * judged.shares[name]:.0f}" if name in judged.shares else "–" for name in shares]
        rows.append((*row, *([judged.text() or "–"] if because else [])))
    head: tuple[str, ...] = ("mode", "frequency [Hz]", "damping ratio [%]", "phase collinearity")
    head += (("MAC, nearest (mode)",) if several else ()) + tuple(_SHARES[name] for name in shares)
    return (*head, *(["against it"] if because else [])), tuple(rows)


def modes_table(model: Identified | PolyreferenceModes) -> Table:
    """Frequencies and damping ratios with standard deviations, and how nearly real each shape is."""
    modes = model.underdamped_modes()
    mpc = modal_phase_collinearity(modes.shapes)
    sd_f, sd_z = model.frequency_deviations_hz, model.damping_deviations
    cells = mode_cells(modes.frequencies_hz, modes.damping_ratios, sd_f, sd_z)
    rows = [(str(k + 1), *cells[k], f"{mpc[k]:.3f}") for k in range(len(modes))]
    about = "Modes" + (" (± one standard deviation)" if sd_f is not None else "")
    return Table(("mode", "frequency [Hz]", "damping ratio [%]", "phase collinearity"), tuple(rows), about)
