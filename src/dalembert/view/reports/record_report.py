"""One page on a record alone: a simulated run without its model, or a measurement."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.errors import DalembertError, DataError
from dalembert.equations.scene import Scene
from dalembert.record import Record
from dalembert.view.plots.plot import plot
from dalembert.view.plots.records import default_names, rate_of
from dalembert.view.reports import origin
from dalembert.view.reports.pages import Heading, Picture, Piece, Table, Text, write_page
from dalembert.view.reports.run_report import animate_run, run_report
from dalembert.view.reports.run_words import (
    MOST_ROWS,
    checks,
    count,
    describe_events,
    describe_range,
    events_table,
    expand_name,
    extremes,
    singular_table,
    span,
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
    if mechanism is not None:
        run_report(path, run, mechanism, equations, names=names, provenance=origins, title=title)
        return
    origins["data hash (SHA-256)"] = origin.data_hash(run)
    if title is None:
        title = f"{run.name or 'Record'}: {run.time[-1] - run.time[0]:g} s"
    write_page(path, title, _pieces(run, names), {**origins, **origin.readable(run.provenance)})


def _pieces(run: Record, names: Sequence[str]) -> list[Piece]:
    shown = [label for name in (names or default_names(run)) for label in expand_name(run, name)]
    pieces: list[Piece] = [Text(summarize(run, shown))]
    if run.scene is not None:
        pieces += [Heading("The machine moving"), animate_run(run, names)]
    pieces += [Heading("Over time"), Picture("motion", plot(run, *names, title=""), "Channels over time.")]
    pieces.append(extremes(run, shown))
    pairs = [label for label in shown if rate_of(run, label) and span(run, label) > 0.0][:4]
    if pairs:
        pieces.append(Picture("phase", plot(run, *pairs, view="phase", title=""), "Coordinates against their rates."))
    else:
        pieces += _spectrum(run, shown)
    events = events_table(run)
    if events is not None:
        pieces += [Heading("Events"), events]
    singular = singular_table(run)
    if singular is not None:
        words = "At these poses the joints do not decide how the machine moves on; see how far the run can be trusted."
        pieces += [Heading("Singular poses"), Text(words), singular]
    gaps = run.gaps()
    if len(gaps):
        rows = [(gap.channel, f"{gap.start:.6g}", f"{gap.stop:.6g}", str(gap.samples)) for gap in gaps]
        words = f"The first {MOST_ROWS} of {len(rows)} gaps" if len(rows) > MOST_ROWS else ""
        head = ("channel", "from [s]", "to [s]", "samples")
        pieces += [Heading("What is missing"), Table(head, tuple(rows[:MOST_ROWS]), words)]
    if run.scene is not None:
        pieces += [Heading("The machine"), *_machine(run)]
    if "energy.balance" in run.names or run.statistics:
        pieces += [Heading("How far to trust it"), Text(trust(run)), *checks(run)]
    return pieces


def summarize(run: Record, shown: Sequence[str]) -> str:
    """Contents of the record, for a reader who has not seen it."""
    what = run.name or "This record"
    text = f"{what} has {count(len(run.names), 'channel', 'channels')} with {len(run)} samples, from {run.time[0]:g} "
    text += f"to {run.time[-1]:g} s"
    if run.scene is not None:
        scene = Scene.from_json(run.scene)
        bodies, joints = len(scene.bodies), len(scene.joints)
        text += f"; the machine has {count(bodies, 'body', 'bodies')} and {count(joints, 'joint', 'joints')}"
    text += "." if run.status == "complete" else f". It ended early: {run.status}."
    moved = [label for label in shown if not label.startswith("energy") and _changes(run, label)]
    sentences = [_describe(run, label) for label in moved[:MOST_DESCRIBED]]
    if len(moved) > MOST_DESCRIBED:
        others = count(len(moved) - MOST_DESCRIBED, "more channel", "more channels")
        sentences.append(f"{others[0].upper()}{others[1:]} changed; see the table")
    if "energy.kinetic" in run.names:
        k = int(np.nanargmax(run["energy.kinetic"]))
        sentences.append(f"It moved fastest at {run.time[k]:.4g} s, with {run['energy.kinetic'][k]:.4g} J of motion")
    if not run.is_even:
        sentences.append("The samples are not evenly spaced")
    gaps = run.gaps()
    if len(gaps):
        sentences.append(f"{sum(gap.samples for gap in gaps)} samples are missing")
    if filled := run.provenance.get("filled"):
        sentences.append(f"{'; '.join(filled)}: filled by interpolation")
    happened = describe_events(run)
    return text + "".join(f" {one}." for one in [*sentences, *([happened] if happened else [])])


def _changes(run: Record, label: str) -> bool:
    good = run[label][np.isfinite(run[label])]
    return bool(len(good)) and float(np.ptp(good)) > 1e-9 * max(1e-12, float(np.abs(good).max()))


def _describe(run: Record, label: str) -> str:
    """Range of a channel, with or without gaps."""
    x = run[label]
    if np.isfinite(x).all():
        return describe_range(run, label)
    return f"{label} stayed between {np.nanmin(x):.4g} and {np.nanmax(x):.4g} {run.units[label]}".rstrip()


def _spectrum(run: Record, shown: Sequence[str]) -> list[Piece]:
    """Spectra where the samples allow them; a page needs none."""
    try:
        figure = plot(run, *shown[:8], view="spectrum", title="")
    except DalembertError:
        return []
    return [Picture("spectrum", figure, "Power spectral densities.")]


def _machine(run: Record) -> list[Piece]:
    scene = Scene.from_json(run.scene)
    bodies = tuple((body.name, body.shape.kind if body.shape else "–") for body in scene.bodies)
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
