"""One page on a synthesis: what it reaches, what was added to the problem, goals, poles, pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.control.robust.pole_region import PoleRegion
from dalembert.control.robust.synthesis import GoalTable, Synthesis
from dalembert.core.results import cells
from dalembert.linear.state_space import StateSpace
from dalembert.view.plots.plot import plot
from dalembert.view.reports import origin
from dalembert.view.reports.pages import Heading, Listing, Picture, Piece, Table, Text, Verbatim, write_page


def synthesis_report(
    design: Synthesis,
    path: str | os.PathLike[str],
    *,
    models: Sequence[StateSpace] | None = None,
    region: PoleRegion | None = None,
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page on a controller and its loops.

    Parameters
    ----------
    models : a family with the channels of the plant, drawn beside it
    region : of poles, drawn in their map
    provenance : further entries at the end
    """
    options: dict[str, Any] = {} if models is None else {"models": models}
    pieces: list[Piece] = [Text(summarize(design))]
    if design.regularized:
        pieces += [Heading("What was added to the problem"), Listing(design.regularized)]
    if design.goals:
        head, lines = cells(GoalTable(design.goals))
        pieces += [Heading("Goals"), Table(tuple(head), tuple(tuple(line) for line in lines))]
    pieces += [
        Heading("Largest gains"),
        Picture("gain", plot(design, view="gain", title="", **options), "From disturbances to performance outputs."),
        Heading("Poles"),
        Picture("poles", plot(design, view="poles", region=region, title="", **options), "Poles of the closed loops."),
        Verbatim(design.poles.table()),
        Heading("Response to an impulse"),
        Picture("impulse", plot(design, view="impulse", title="", **options), f"Impulse at {design.disturbances[0]}."),
        Heading("Loop"),
        Picture("bode", plot(design, view="bode", title="", **options), "Loop opened at the first driven input."),
        Picture("nyquist", plot(design, view="nyquist", title="", **options), "The same, with the point -1."),
        Heading("The controller"),
        Verbatim(design.table()),
    ]
    origins = {**(provenance or {}), "method": design.method, **origin.versions()}
    write_page(path, f"{design.method}: report on the synthesis" if title is None else title, pieces, origins)


def summarize(design: Synthesis) -> str:
    """Findings for a reader who does not know the method."""
    low, high = design.bounds
    text = (
        f"The controller reads {', '.join(design.reads)} and drives {', '.join(design.drives)}; it has "
        f"{design.controller.nx} states. "
    )
    if not design.is_stable:
        return text + "Its closed loop is NOT stable."
    text += f"Its closed loop is stable; the {design.norm} norm from {', '.join(design.disturbances)} to "
    text += f"{', '.join(design.performance)} is {design.achieved:.5g}"
    text += (
        f", the smallest one that is possible is between {low:.5g} and {high:.5g}. " if high < float("inf") else ". "
    )
    text += f"The fastest pole is at {design.fastest:.4g} rad/s."
    failed = [goal for goal in design.goals if not goal.holds]
    if failed:
        text += f" {len(failed)} of {len(design.goals)} goals do not hold."
    return text
