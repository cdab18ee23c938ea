"""One page on a synthesis: what it reaches, what was added to the problem, goals, poles, pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.control.robust.dk import RobustSynthesis
from dalembert.control.robust.pole_region import PoleRegion
from dalembert.control.robust.synthesis import GoalValue, Synthesis
from dalembert.control.structured.structured import ScheduledSynthesis
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
    pieces: list[Piece] = [Text(summarize(design))]
    if design.regularized:
        pieces += [Heading("What was added to the problem"), Listing(design.regularized)]
    pieces += _goals(design.goals)
    pieces += _pictures(design, models, region)
    origins = {**(provenance or {}), "method": design.method, **origin.versions()}
    write_page(path, f"{design.method}: report on the synthesis" if title is None else title, pieces, origins)


def robust_report(
    design: RobustSynthesis,
    path: str | os.PathLike[str],
    *,
    models: Sequence[StateSpace] | None = None,
    region: PoleRegion | None = None,
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page on a controller from D-K iteration: μ, its steps, and the nominal loop.

    Parameters
    ----------
    models : a family with the channels of the plant, drawn beside it
    region : of poles, drawn in their map
    provenance : further entries at the end
    """
    judged = design.judged
    text = (
        f"{summarize(design.synthesis)} With its uncertainty the structured singular value is at most {judged.peak:.4g}"
        f", at {judged.peak_frequency:.4g} rad/s: "
        + ("the performance holds for every member." if judged.is_robust else "it does not hold for every member, but "
           f"for ranges and demands {judged.margin:.3g} times as large.")
    )  # fmt: skip
    pieces: list[Piece] = [
        Text(text),
        Heading("Robustness"),
        Picture("mu", plot(design, view="mu", title=""), "Structured singular value, with its bounds."),
        Verbatim(f"{judged.table()}\n\n{design.table()}"),
        *_pictures(design.synthesis, models, region),
    ]
    origins = {**(provenance or {}), "method": "D-K", **origin.versions()}
    write_page(path, "D-K: report on the synthesis" if title is None else title, pieces, origins)


def scheduled_report(
    design: ScheduledSynthesis,
    path: str | os.PathLike[str],
    *,
    region: PoleRegion | None = None,
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page on a scheduled controller: goals on every model, poles, gains.

    Parameters
    ----------
    region : of poles, drawn in their map
    provenance : further entries at the end
    """
    text = (
        f"The controller reads {', '.join(design.reads)} and {design.coordinate}, and drives "
        f"{', '.join(design.drives)}; it has {design.order} states. Its gains are series of {len(design.series)} "
        f"functions of {design.coordinate}, for {len(design.models)} models.{_failed(design.goals)}"
    )
    pieces: list[Piece] = [
        Text(text),
        *_goals(design.goals),
        Heading("Poles"),
        Picture("poles", plot(design, view="poles", region=region, title=""), "Poles of the closed loops."),
        Heading("Gains"),
        Picture("gains", plot(design, view="gains", title=""), f"Direct gains over {design.coordinate}."),
        Heading("Every goal on every model"),
        Verbatim(design.table()),
    ]
    origins = {**(provenance or {}), "method": "structured, scheduled", **origin.versions()}
    write_page(path, "Report on the scheduled controller" if title is None else title, pieces, origins)


def _goals(goals: tuple[GoalValue, ...]) -> list[Piece]:
    """Of every goal the model on which it is farthest from holding; the page ends with all."""
    lines = []
    for name in dict.fromkeys(goal.goal for goal in goals):
        same = [goal for goal in goals if goal.goal == name]
        above = next(((goal.value > goal.limit) == goal.holds for goal in same if goal.value != goal.limit), False)
        worst = (min if above else max)(same, key=lambda goal: goal.value)
        kept = f"{sum(goal.holds for goal in same)} of {len(same)}"
        lines.append((name, "hard" if worst.hard else "soft", f"{worst.value:.5g}", worst.model, kept))
    table = Table(("goal", "", "worst value", "on model", "holds on"), tuple(lines))
    return [Heading("Goals"), table] if goals else []


def _failed(goals: tuple[GoalValue, ...]) -> str:
    failed = [goal for goal in goals if not goal.holds]
    return f" {len(failed)} of {len(goals)} goals do not hold." if failed else ""


def _pictures(design: Synthesis, models: Sequence[StateSpace] | None, region: PoleRegion | None) -> list[Piece]:
    options: dict[str, Any] = {} if models is None else {"models": models}
    return [
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
    return text + _failed(design.goals)
