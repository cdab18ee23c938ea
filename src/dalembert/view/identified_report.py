"""One page on an identified model, by whatever method it was found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dalembert.errors import FileFormatError
from dalembert.files.atomic import write_text
from dalembert.record import Record
from dalembert.view.door import plot
from dalembert.view.figures import drawn
from dalembert.view.identification import plot_playback
from dalembert.view.identification_report import identification_pieces, modes_table
from dalembert.view.pages import Heading, Listing, Picture, Piece, Table, Text, html_page


def identified_report(
    path: str | os.PathLike[str], result: Any, records: Sequence[Record], *, provenance: Mapping[str, Any] | None = None
) -> None:
    """Write a self-contained HTML page on an identified model.

    Parameters
    ----------
    result : of ``identify.auto``, or an ``Identified`` by any method.  records : what it was found from
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileFormatError("a report is an HTML page; give a name ending in .html.", str(path))
    if hasattr(result, "identified"):
        pieces = identification_pieces(result)
    else:
        pieces = [Text(_found(result, records)), modes_table(result), *_played_back(result, records)]
        if result.notes:
            pieces += [Heading("What was done"), Listing(tuple(result.notes))]
    own = {key: value for key, value in result.provenance.items() if value and value != [""]}
    write_text(path, html_page("Identification report", pieces, {**(provenance or {}), **own}))


def _fit(model: Any, records: Sequence[Record]) -> Any:
    predicted = not model.inputs and model.gain is not None
    return model.fit(list(records), "prediction" if predicted else "simulation")


def _found(model: Any, records: Sequence[Record]) -> str:
    fit = _fit(model, records)
    return (
        f"A model with {model.order} states, {len(model.underdamped())} of its modes oscillating, was "
        f"found from {', '.join(model.inputs) or 'no inputs'} to {', '.join(model.outputs)} by {model.method}. It "
        f"reproduces {fit.mean:.1f} % of the data it was found from ({fit.kind}); no data were held out to judge it."
    )


def _played_back(model: Any, records: Sequence[Record]) -> list[Piece]:
    fit = _fit(model, records)
    made = model.simulate(records[0]) if fit.kind == "simulation" else model.predict(records[0])
    rows = tuple((name, f"{fit[name]:.2f}") for name in fit.outputs)
    picture = drawn(lambda: plot_playback(records[0], made, title=""), None)
    return [
        Table(("output", "fit [%]"), rows, f"Fit by {fit.kind}"),
        Picture("playback", picture, "Outputs as measured and as the model says."),
        Picture("poles", plot(model.system, title="Poles"), "Poles of the model."),
    ]
