"""One page on an identified model, by any method."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.core.errors import DataError
from dalembert.identify.model.identified import Identified
from dalembert.identify.records.gaps import describe_gaps
from dalembert.record import Record
from dalembert.view.plots.figures import drawn
from dalembert.view.plots.identification import plot_playback
from dalembert.view.plots.plot import plot
from dalembert.view.reports import origin
from dalembert.view.reports.identification_report import animate_shapes, describe_modes
from dalembert.view.reports.identified_tables import identified_summary, modes_table
from dalembert.view.reports.machine_tables import list_names
from dalembert.view.reports.pages import Heading, Listing, Picture, Piece, Table, Text, write_page


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
    playback, table, poles = _played_back(result, found)
    pieces: list[Piece] = [Text(_found(result, found)), *(animate_shapes(result, places) or [playback])]
    pieces += [modes_table(result), identified_summary(result), Heading("Played back"), table]
    pieces += [*([] if playback in pieces else [playback]), poles]
    if result.findings:
        pieces += [Heading("Warnings"), Listing(tuple(one.text() for one in result.findings))]
    if result.notes:
        pieces += [Heading("What was done"), Listing(tuple(result.notes))]
    origins = origin.of_identified(result, found, {**(provenance or {}), **result.provenance})
    write_page(path, title, pieces, origins)


def _fit(model: Any, records: Sequence[Record]) -> Any:
    predicted = not model.inputs and model.gain is not None
    return model.fit(list(records), "prediction" if predicted else "simulation")


def _found(model: Any, records: Sequence[Record]) -> str:
    fit = _fit(model, records)
    gaps = describe_gaps(model.provenance, "")
    return (
        f"A model with {model.order} states, {len(model.underdamped_modes())} of its modes oscillating, was "
        f"found from {list_names(model.inputs) or 'no inputs'} to {list_names(model.outputs)} by {model.method}. "
        f"{describe_modes(model)}It reproduces {fit.mean:.1f} % of the data it was found from ({fit.kind}); no "
        f"data were held out to judge it.{f' The data were {gaps}.' if gaps else ''}"
    )


def _played_back(model: Any, records: Sequence[Record]) -> tuple[Piece, Piece, Piece]:
    fit = _fit(model, records)
    made = model.simulate(records[0]) if fit.kind == "simulation" else model.predict(records[0])
    rows = tuple((name, f"{fit[name]:.2f}") for name in fit.outputs)
    picture = drawn(lambda: plot_playback(records[0], made, title=""), None)
    return (
        Picture("playback", picture, "Measured outputs and outputs of the model."),
        Table(("output", "fit [%]"), rows, f"Fit by {fit.kind}"),
        Picture("poles", plot(model.system, title="Poles"), "Poles of the model."),
    )
