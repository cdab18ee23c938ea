"""One page on a record: a simulated run, with its machine where that is given, or a measurement."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DalembertError, DataError
from dalembert.equations import EquationsOfMotion
from dalembert.equations.scene import Scene, SceneBody
from dalembert.model import Mechanism
from dalembert.record import Record
from dalembert.view.animation.animate import animate
from dalembert.view.plots.plot import plot
from dalembert.view.plots.record_channels import (
    default_channels,
    default_names,
    exceeds_rounding,
    moving_channels,
    rate_of,
)
from dalembert.view.reports import origin
from dalembert.view.reports.machine_tables import machine_tables, model_summary
from dalembert.view.reports.pages import Heading, Moving, Picture, Piece, Table, Text, write_page
from dalembert.view.reports.run_words import (
    MOST_ROWS,
    amount,
    checks,
    count,
    describe_events,
    describe_range,
    events_table,
    expand_name,
    extremes,
    singular_table,
    trust,
)

MOST_DESCRIBED = 3


def record_report(
    run: Record,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] = (),
    mechanism: Any = None,
    equations: Any = None,
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page on a run or a measurement.

    Parameters
    ----------
    names : channels to draw; measured and moving ones when left out
    mechanism, equations : the simulated machine; with both, the page has the machine in full and its hash
    provenance : further entries at the end
    """
    if (mechanism is None) != (equations is None):
        raise DataError(
            "missing-argument", "a report on a machine needs both a mechanism and its equations, or neither."
        )
    origins = {**(provenance or {}), **origin.versions()}
    heading = f"{run.name or 'Record'}: {run.time[-1] - run.time[0]:g} s"
    if mechanism is None:
        origins["data hash (SHA-256)"] = origin.data_hash(run)
        pieces = _record_pieces(run, names)
    else:
        origins = {origin.HASH: origin.model_hash(equations), **origins}
        pieces = _machine_pieces(run, mechanism, equations, names)
        heading = f"{mechanism.name}: {run.time[-1] - run.time[0]:g} s of motion"
    about = {**origins, **origin.readable(run.provenance)}
    write_page(path, heading if title is None else title, pieces, about)


# ---- a record alone --------------------------------------------------------------------------------------------------


def _record_pieces(run: Record, names: Sequence[str]) -> list[Piece]:
    shown = [label for name in (names or default_names(run)) for label in expand_name(run, name)]
    pieces: list[Piece] = [Text(_summarize_record(run, shown))]
    if run.scene is not None:
        pieces += [Heading("The machine moving"), _animate(run, names)]
    pieces += [Heading("Over time"), Picture("motion", plot(run, *names, title=""), "Channels over time.")]
    pieces.append(extremes(run, shown))
    pairs = [label for label in moving_channels(run, shown) if rate_of(run, label)][:4]
    if pairs:
        pieces.append(Picture("phase", plot(run, *pairs, view="phase", title=""), "Coordinates against their rates."))
    else:
        pieces += _spectrum(run, shown)
    pieces += _events(run)
    singular = singular_table(run)
    if singular is not None:
        words = "At these poses the joints do not determine the further motion; see the errors of the run."
        pieces += [Heading("Singular poses"), Text(words), singular]
    gaps = run.gaps()
    if len(gaps):
        rows = [(gap.channel, f"{gap.start:.6g}", f"{gap.stop:.6g}", str(gap.samples)) for gap in gaps]
        words = f"The first {MOST_ROWS} of {len(rows)} gaps" if len(rows) > MOST_ROWS else ""
        head = ("channel", "from [s]", "to [s]", "samples")
        pieces += [Heading("Missing samples"), Table(head, tuple(rows[:MOST_ROWS]), words)]
    if run.scene is not None:
        pieces += [Heading("The machine"), *_machine(run)]
    if "energy.balance" in run.names or run.statistics:
        pieces += [Heading("How far to trust it"), Text(trust(run)), *checks(run)]
    return pieces


def _summarize_record(run: Record, shown: Sequence[str]) -> str:
    """Contents of the record, for a reader who has not seen it."""
    what = run.name or "This record"
    text = f"{what} has {count(len(run.names), 'channel', 'channels')} with {len(run)} samples, from {run.time[0]:g} "
    text += f"to {run.time[-1]:g} s"
    if run.scene is not None:
        scene = Scene.from_json(run.scene)
        bodies, joints = len(scene.bodies), len(scene.joints)
        text += f"; the machine has {count(bodies, 'body', 'bodies')} and {count(joints, 'joint', 'joints')}"
    text += "." if run.status == "complete" else f". It ended early: {run.status}."
    moved = [label for label in moving_channels(run, shown) if not label.startswith("energy")]
    sentences = [describe_range(run, label) for label in moved[:MOST_DESCRIBED]]
    if len(moved) > MOST_DESCRIBED:
        others = count(len(moved) - MOST_DESCRIBED, "more channel", "more channels")
        sentences.append(f"{others[0].upper()}{others[1:]} changed; see the table")
    if "energy.kinetic" in run.names:
        k = int(np.nanargmax(run["energy.kinetic"]))
        sentences.append(f"Its kinetic energy was largest at {run.time[k]:.4g} s, {run['energy.kinetic'][k]:.4g} J")
    if not run.is_even:
        sentences.append("The samples are not evenly spaced")
    gaps = run.gaps()
    if len(gaps):
        sentences.append(f"{sum(gap.samples for gap in gaps)} samples are missing")
    if filled := run.provenance.get("filled"):
        sentences.append(f"{'; '.join(filled)}: filled by interpolation")
    happened = describe_events(run)
    return text + "".join(f" {sentence}." for sentence in [*sentences, *([happened] if happened else [])])


def _spectrum(run: Record, shown: Sequence[str]) -> list[Piece]:
    """Spectra where the samples allow them; else none."""
    try:
        figure = plot(run, *shown[:8], view="spectrum", title="")
    except DalembertError:
        return []
    return [Picture("spectrum", figure, "Power spectral densities.")]


def _shape(body: SceneBody) -> str:
    if body.flexible is not None:
        return f"flexible, {count(len(body.elastic), 'mode', 'modes')}"
    return body.shape.kind if body.shape else "–"


def _machine(run: Record) -> list[Piece]:
    scene = Scene.from_json(run.scene)
    bodies = tuple((body.name, _shape(body)) for body in scene.bodies)
    joints = tuple(
        (joint.name, joint.type or "–", f"{(joint.other and joint.other.body) or 'ground'} – {joint.body or 'ground'}")
        for joint in scene.joints
    )
    pieces: list[Piece] = []
    if bodies:
        pieces.append(Table(("body", "shape"), bodies[:MOST_ROWS], "Bodies"))
    if joints:
        pieces.append(Table(("joint", "kind", "between"), joints[:MOST_ROWS], "Joints"))
    return pieces


# ---- a run of a machine ----------------------------------------------------------------------------------------------


def _machine_pieces(run: Record, m: Mechanism, eqs: EquationsOfMotion, names: Sequence[str]) -> list[Piece]:
    pieces: list[Piece] = [Text(summarize_run(run, m, eqs)), Heading("The machine moving"), _animate(run, names)]
    pieces += [model_summary(m, eqs), Heading("Motion")]
    caption = "Chosen channels." if names else "Sensors, inputs and coordinates over time."
    pieces.append(Picture("motion", plot(run, *names, title=""), caption))
    pieces.append(extremes(run, names or _choose_names(run, eqs)))
    drawn = {label for name, equal in default_channels(run).items() for label in (name, *equal)}
    rates = [name for name in moving_channels(run, _rates(run, eqs)) if name not in drawn][:6]
    if rates and not names:
        pieces.append(Picture("rates", plot(run, *rates, title=""), "Rates of the joints."))
    pieces += _events(run)
    forces = _find_reactions(run, eqs)
    if forces:
        pieces += [Heading("Forces in the joints"), _reactions_table(forces[:MOST_ROWS])]
    pieces += [Heading("The machine"), *machine_tables(m, eqs)]
    pieces += [Heading("How far to trust it"), Text(trust(run)), *checks(run)]
    return pieces


def summarize_run(run: Record, m: Mechanism, eqs: EquationsOfMotion) -> str:
    """Findings for a reader who has not seen the machine."""
    text = (
        f"The machine “{m.name}” has {count(len(m.bodies), 'moving body', 'moving bodies')} and "
        f"{count(len(m.joints), 'joint', 'joints')}. It was simulated from {run.time[0]:g} to {run.time[-1]:g} s"
    )
    text += "." if run.status == "complete" else f"; the run ended early: {run.status}."
    moved = moving_channels(run, _coordinates(run, eqs))
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


def _find_reactions(run: Record, eqs: EquationsOfMotion) -> list[tuple[str, float, float]]:
    """Per joint: its name, the largest force [N] and the largest torque [N m] of its reaction."""
    reactions = []
    for joint in eqs.joints:
        sizes = []
        for kind in ("force", "torque"):
            parts = [run[f"{joint.name}.{kind}.{axis}"] for axis in "xyz" if f"{joint.name}.{kind}.{axis}" in run.names]
            size = np.sqrt(sum(np.square(component) for component in parts)) if parts else np.array([0.0])
            sizes.append(float(np.nanmax(size)) if np.isfinite(size).any() else 0.0)
        if max(sizes) > 0.0:
            reactions.append((joint.name, sizes[0], sizes[1]))
    return reactions


def _reactions_table(reactions: Sequence[tuple[str, float, float]]) -> Table:
    largest = max(max(force, torque) for _, force, torque in reactions)
    rows = [
        (name, *(f"{size:.4g}" if exceeds_rounding(size, largest) else "0" for size in sizes))
        for name, *sizes in reactions
    ]
    return Table(("joint", "largest force [N]", "largest torque [N m]"), tuple(rows))


def _coordinates(run: Record, eqs: EquationsOfMotion) -> list[str]:
    names = [eqs.measures.names[k] for k in eqs.recorded_measures]
    return [name for name in names if name in run.names]


def _rates(run: Record, eqs: EquationsOfMotion) -> list[str]:
    names = [eqs.measure_rates.names[k] for k in eqs.recorded_measures]
    return [name for name in names if name in run.names]


def _choose_names(run: Record, eqs: EquationsOfMotion) -> list[str]:
    wanted = [*_coordinates(run, eqs), *_rates(run, eqs), *eqs.outputs.names, *eqs.inputs.names, "energy"]
    return [name for name in dict.fromkeys(wanted) if name in run.names] or list(run.names)


def _animate(run: Record, names: Sequence[str] = ()) -> Piece:
    """The animation of a run with plots of the channels named, or a sentence with the reason why there is none."""
    try:
        return Moving("animation", animate(run, channels=names))
    except DalembertError as error:
        return Text(str(error).splitlines()[0])


def _events(run: Record) -> list[Piece]:
    events = events_table(run)
    return [] if events is None else [Heading("Events"), events]
