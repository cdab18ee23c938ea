"""One page on a simulated run: motion, animation, machine, accuracy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import DalembertError, FileFormatError
from dalembert.equations import EquationsOfMotion
from dalembert.model import Mechanism
from dalembert.record import Record
from dalembert.view.animation.animate import animate
from dalembert.view.plots.plot import plot
from dalembert.view.plots.records import default_channels
from dalembert.view.reports import origin
from dalembert.view.reports.machine_tables import machine_tables, model_summary
from dalembert.view.reports.pages import Heading, Moving, Picture, Piece, Table, Text, write_page
from dalembert.view.reports.run_words import (
    MOST_ROWS,
    STILL,
    amount,
    checks,
    count,
    describe_events,
    describe_range,
    events_table,
    extremes,
    span,
    trust,
)


def run_report(
    path: str | os.PathLike[str],
    run: Record,
    mechanism: Mechanism,
    eqs: EquationsOfMotion,
    *,
    names: Sequence[str] = (),
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page on a run of a mechanism.

    Parameters
    ----------
    path : the file, ending in .html; it appears whole or not at all
    run : from ``da.simulate(eqs, ...)``.  mechanism, eqs : the simulated machine
    names : channels to draw, also under the animation; measured and moving ones when left out
    provenance : versions, model hash, seeds, shown at the end beside those of the run
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileFormatError("bad-name", "a report is an HTML page; give a name ending in .html.", path=str(path))
    heading = f"{mechanism.name}: {run.time[-1] - run.time[0]:g} s of motion" if title is None else title
    about = {origin.HASH: origin.model_hash(eqs), **(provenance or {}), **origin.readable(run.provenance)}
    write_page(path, heading, _pieces(run, mechanism, eqs, names), about)


def _pieces(run: Record, m: Mechanism, eqs: EquationsOfMotion, names: Sequence[str]) -> list[Piece]:
    pieces: list[Piece] = [Text(summarize(run, m, eqs)), Heading("The machine moving"), animate_run(run, names)]
    pieces += [model_summary(m, eqs), Heading("Motion")]
    caption = "Chosen channels." if names else "Sensors, inputs and coordinates over time."
    pieces.append(Picture("motion", plot(run, *names, title=""), caption))
    pieces.append(extremes(run, names or _choose_names(run, eqs)))
    drawn = {one for name, equal in default_channels(run).items() for one in (name, *equal)}
    rates = [name for name in _rates(run, eqs) if span(run, name) > 0 and name not in drawn][:6]
    if rates and not names:
        pieces.append(Picture("rates", plot(run, *rates, title=""), "Rates of the joints."))
    events = events_table(run)
    if events is not None:
        pieces += [Heading("Events"), events]
    forces = _reactions(run, eqs)
    if forces is not None:
        pieces += [Heading("Forces in the joints"), forces]
    pieces += [Heading("The machine"), *machine_tables(m, eqs)]
    pieces += [Heading("How far to trust it"), Text(trust(run)), *checks(run)]
    return pieces


# ---- in words --------------------------------------------------------------------------------------------------------


def summarize(run: Record, m: Mechanism, eqs: EquationsOfMotion) -> str:
    """Findings for a reader who has not seen the machine."""
    text = (
        f"The machine “{m.name}” has {count(len(m.bodies), 'moving body', 'moving bodies')} and "
        f"{count(len(m.joints), 'joint', 'joints')}. It was simulated from {run.time[0]:g} to {run.time[-1]:g} s"
    )
    text += "." if run.status == "complete" else f"; the run ended early: {run.status}."
    moved = [name for name in _coordinates(run, eqs) if span(run, name) > 0]
    sentences = [describe_range(run, name) for name in moved[:3]]
    if len(moved) > 3:
        others = count(len(moved) - 3, "more coordinate", "more coordinates")
        sentences.append(f"{others[0].upper()}{others[1:]} moved; the table below has them")
    if not moved:
        sentences.append("No joint moved")
    reactions = _find_reactions(run, eqs)
    if reactions:
        name, force, _ = max(reactions, key=lambda one: one[1])
        sentences.append(f"Joint {name} had the largest reaction, up to {amount(force, 'N')}")
    if "energy.kinetic" in run.names:
        k = int(np.argmax(run["energy.kinetic"]))
        most = amount(float(run["energy.kinetic"][k]), "J")
        sentences.append(f"Its kinetic energy was largest at {run.time[k]:.4g} s, {most}")
    happened = describe_events(run)
    if happened:
        sentences.append(happened)
    return text + " " + " ".join(f"{sentence}." for sentence in sentences)


# ---- tables ----------------------------------------------------------------------------------------------------------


def _find_reactions(run: Record, eqs: EquationsOfMotion) -> list[tuple[str, float, float]]:
    """Per joint: its name, the largest force [N] and the largest torque [N m] of its reaction."""
    found = []
    for joint in eqs.joints:
        sizes = []
        for kind in ("force", "torque"):
            parts = [run[f"{joint.name}.{kind}.{axis}"] for axis in "xyz" if f"{joint.name}.{kind}.{axis}" in run.names]
            size = np.sqrt(sum(np.square(part) for part in parts)) if parts else np.array([0.0])
            sizes.append(float(np.nanmax(size)) if np.isfinite(size).any() else 0.0)
        if max(sizes) > 0.0:
            found.append((joint.name, sizes[0], sizes[1]))
    return found


def _reactions(run: Record, eqs: EquationsOfMotion) -> Table | None:
    reactions = _find_reactions(run, eqs)[:MOST_ROWS]
    if not reactions:
        return None
    least = STILL * max(max(force, torque) for _, force, torque in reactions)  # below: rounding
    rows = [(name, *(f"{size:.4g}" if size > least else "0" for size in sizes)) for name, *sizes in reactions]
    return Table(("joint", "largest force [N]", "largest torque [N m]"), tuple(rows))


# ---- what to show ----------------------------------------------------------------------------------------------------


def _coordinates(run: Record, eqs: EquationsOfMotion) -> list[str]:
    names = [eqs.measures.names[k] for k in eqs.recorded_measures]
    return [name for name in names if name in run.names]


def _rates(run: Record, eqs: EquationsOfMotion) -> list[str]:
    names = [eqs.measure_rates.names[k] for k in eqs.recorded_measures]
    return [name for name in names if name in run.names]


def _choose_names(run: Record, eqs: EquationsOfMotion) -> list[str]:
    wanted = [*_coordinates(run, eqs), *_rates(run, eqs), *eqs.outputs.names, *eqs.inputs.names, "energy"]
    return [name for name in dict.fromkeys(wanted) if name in run.names] or list(run.names)


def animate_run(run: Record, names: Sequence[str] = ()) -> Piece:
    """The animation of a run with plots of the channels named, or a sentence with the reason why there is none."""
    try:
        return Moving("animation", animate(run, channels=names))
    except DalembertError as error:
        return Text(str(error).splitlines()[0])
