"""One page on a simulated run: what moved and how, the machine, the moving picture, how far to trust it."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.errors import DalembertError, FileFormatError
from dalembert.files.atomic import write_text
from dalembert.model import Mechanism
from dalembert.record import Record
from dalembert.view.animation import animate
from dalembert.view.door import plot
from dalembert.view.pages import Heading, Picture, Piece, Table, Text, html_page

MOVING = "The machine moving"
MOST_ROWS = 40
STILL = 1e-9  # of the largest motion of its unit: what does not move
ROUND = 2 * math.pi


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
    run : from ``da.simulate(eqs, ...)``.  mechanism, eqs : what was simulated
    names : channels to draw; joint coordinates and energy when left out
    provenance : versions, model hash, seeds, to stand at the end beside what the run tells of itself
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileFormatError("a report is an HTML page; give a name ending in .html.", str(path))
    told = f"{mechanism.name}: {run.time[-1] - run.time[0]:g} s of motion" if title is None else title
    page = html_page(told, _pieces(run, mechanism, eqs, names), {**(provenance or {}), **run.provenance})
    write_text(path, page.replace(f"<h2>{MOVING}</h2>", f"<h2>{MOVING}</h2>\n{moving_picture(run)}", 1))


def _pieces(run: Record, m: Mechanism, eqs: EquationsOfMotion, names: Sequence[str]) -> list[Piece]:
    pieces: list[Piece] = [Text(in_words(run, m, eqs)), Heading(MOVING), Heading("Motion")]
    caption = "Channels asked for." if names else "Joint coordinates and energy over time."
    pieces.append(Picture("motion", plot(run, *names, title=""), caption))
    pieces.append(_extremes(run, names or _first_asked(run, eqs)))
    rates = [name for name in _rates(run, eqs) if _span(run, name) > 0][:6]
    if rates and not names:
        pieces.append(Picture("rates", plot(run, *rates, title=""), "Rates of the joints."))
    events = events_table(run)
    if events is not None:
        pieces += [Heading("Events"), events]
    forces = _reactions(run, eqs)
    if forces is not None:
        pieces += [Heading("Forces in the joints"), forces]
    pieces += [Heading("The machine"), *machine_tables(m, eqs)]
    pieces += [Heading("How far to trust it"), Text(_trust(run)), *_checks(run)]
    return pieces


# ---- in words --------------------------------------------------------------------------------------------------------


def in_words(run: Record, m: Mechanism, eqs: EquationsOfMotion) -> str:
    """What was found, for a reader who has not seen the machine."""
    text = (
        f"The machine “{m.name}” has {_count(len(m.bodies), 'moving body', 'moving bodies')} and "
        f"{_count(len(m.joints), 'joint', 'joints')}. It was simulated from {run.time[0]:g} to {run.time[-1]:g} s"
    )
    text += "." if run.status == "complete" else f"; the run ended early: {run.status}."
    moved = [name for name in _coordinates(run, eqs) if _span(run, name) > 0]
    sentences = [_moved(run, name) for name in moved[:3]]
    if len(moved) > 3:
        others = _count(len(moved) - 3, "more coordinate", "more coordinates")
        sentences.append(f"{others[0].upper()}{others[1:]} moved; the table below has them")
    if not moved:
        sentences.append("No joint moved")
    carried = _carried(run, eqs)
    if carried:
        name, force, _ = max(carried, key=lambda one: one[1])
        sentences.append(f"Joint {name} carried the most, up to {_amount(force, 'N')}")
    if "energy.kinetic" in run.names:
        k = int(np.argmax(run["energy.kinetic"]))
        most = _amount(float(run["energy.kinetic"][k]), "J")
        sentences.append(f"Its kinetic energy was largest at {run.time[k]:.4g} s, {most}")
    happened = events_told(run)
    if happened:
        sentences.append(happened)
    return text + " " + " ".join(f"{sentence}." for sentence in sentences)


def _amount(value: float, unit: str) -> str:
    """A number with a prefix that keeps it readable: 95.98 kN."""
    for factor, prefix in ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m")):
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def _moved(run: Record, name: str) -> str:
    x, unit = run[name], run.units[name]
    net = float(x[-1] - x[0])
    if unit == "rad" and abs(net) > ROUND:
        return f"{name} went round {abs(net) / ROUND:.3g} times"
    if unit == "rad":
        low, high = (math.degrees(v) for v in (x.min(), x.max()))
        return f"{name} stayed between {low:.4g}° and {high:.4g}°"
    return f"{name} stayed between {x.min():.4g} and {x.max():.4g} {unit}"


def _trust(run: Record) -> str:
    parts = []
    if "energy.balance" in run.names and "energy.kinetic" in run.names:
        off, size = float(np.abs(run["energy.balance"]).max()), float(np.abs(run["energy.kinetic"]).max())
        share = "" if size == 0 else f", {off / size:.1e} of the largest kinetic energy"
        verdict = "the integration is accurate" if off <= 1e-4 * size else "take smaller steps or a tighter tolerance"
        parts.append(
            f"Energy put in, taken out and stored balance within {off:.1e} J{share}: {verdict}"
            if size > 0
            else f"Energy balances within {off:.1e} J"
        )
    if "residual.position" in run.names:
        gap = float(np.abs(run["residual.position"]).max())
        parts.append(f"The joints stayed closed to {gap:.1e} (metres or radians)")
    return ". ".join(parts) + "." if parts else "The run tells nothing of its own errors."


def events_told(run: Record) -> str:
    """What happened in a sentence, or "" where nothing did."""
    events = _events(run)
    if not events:
        return ""
    names = sorted({name for name, _ in events})
    said = (
        f"{_count(len(events), 'event', 'events')} happened ({', '.join(names[:4])}), the first at {events[0][1]:.4g} s"
    )
    return said[0].upper() + said[1:]


def events_table(run: Record) -> Table | None:
    """Events with their times."""
    events = _events(run)
    rows = tuple((name, f"{t:.6g}") for name, t in events[:MOST_ROWS])
    return Table(("event", "time [s]"), rows, _more(events, "Events")) if events else None


def _events(run: Record) -> list[tuple[str, float]]:
    told = run.statistics.get("events", [])
    return [(str(one["name"]), float(one["time"])) for one in told if isinstance(one, Mapping)]


def _checks(run: Record) -> list[Piece]:
    told = {str(key): value for key, value in run.statistics.items() if isinstance(value, int | float | str)}
    rows = [(key, f"{value:.4g}" if isinstance(value, float) else str(value)) for key, value in told.items()]
    return [Table(("of the run", ""), tuple(rows))] if rows else []


# ---- tables ----------------------------------------------------------------------------------------------------------


def machine_tables(m: Mechanism, eqs: EquationsOfMotion) -> list[Piece]:
    """Bodies, joints, forces, sensors and parameters."""
    dimension = "planar" if m.planar else "spatial"
    gravity = ", ".join(f"{float(g):g}" for g in m.gravity)
    pieces: list[Piece] = [
        Text(
            f"A {dimension} machine with {eqs.nq} coordinates, {eqs.nv} speeds and "
            f"{_count(len(eqs.rows), 'constraint row', 'constraint rows')}; gravity ({gravity}) m/s²."
        )
    ]
    bodies = tuple((body.name, *_inertia(eqs, body.name, m.planar), _shape(body)) for body in m.bodies[:MOST_ROWS])
    if bodies:
        pieces.append(Table(("body", "mass [kg]", "inertia [kg m²]", "shape"), bodies, _more(m.bodies, "Bodies")))
    joints = tuple((j.name, j.kind, f"{j.a.body.name} – {j.b.body.name}") for j in m.joints[:MOST_ROWS])
    if joints:
        pieces.append(Table(("joint", "kind", "between"), joints, _more(m.joints, "Joints")))
    forces = tuple(
        (force.name, type(force).__name__.lower(), str(getattr(force, "input", None) or "–")) for force in m.forces
    )
    if forces:
        pieces.append(Table(("force", "kind", "input"), forces[:MOST_ROWS], _more(m.forces, "Forces")))
    sensors = tuple((s.name, s.measure.kind, _target(s.measure.target), s.measure.unit or "–") for s in m.sensors)
    if sensors:
        pieces.append(Table(("sensor", "measures", "of", "unit"), sensors[:MOST_ROWS], _more(m.sensors, "Sensors")))
    values = tuple((name, f"{v:.6g}") for name, v in zip(eqs.parameters.names, eqs.parameter_values, strict=True))
    if values:
        pieces.append(Table(("parameter", "value (SI)"), values[:MOST_ROWS], _more(values, "Parameters")))
    return pieces


def _inertia(eqs: EquationsOfMotion, body: str, planar: bool) -> tuple[str, str]:
    """Mass and inertia as the equations have them, with the values of the parameters."""
    M = np.asarray(eqs.kernel("inertia")(np.array(eqs.guess[0]), eqs.p, 0.0)[0]).reshape(eqs.nv, eqs.nv)

    def entry(name: str) -> float:
        k = eqs.speeds.index.get(name)
        return math.nan if k is None else float(M[k, k])

    turning = ("rate",) if planar else ("wx", "wy", "wz")
    shown = ", ".join(f"{entry(f'{body}.{axis}'):.4g}" for axis in turning)
    return f"{entry(f'{body}.vx'):.5g}", shown


def _shape(body: Any) -> str:
    shape = getattr(body, "shape", None)
    return "–" if shape is None else str(getattr(shape, "kind", "–"))


def _target(target: Any) -> str:
    return target if isinstance(target, str) else str(getattr(getattr(target, "body", None), "name", "–"))


def _extremes(run: Record, names: Iterable[str]) -> Table:
    rows = []
    for name in [one for stem in names for one in _expanded(run, stem)][:MOST_ROWS]:
        x = run[name]
        good = x[np.isfinite(x)]
        if len(good):
            numbers = (x[0], x[-1], good.min(), good.max())
            rows.append((name, run.units[name] or "–", *(f"{float(v):.5g}" for v in numbers)))
    return Table(("channel", "unit", "at the start", "at the end", "smallest", "largest"), tuple(rows))


def _expanded(run: Record, name: str) -> list[str]:
    return [name] if name in run.names else list(run.expand(name))


def _carried(run: Record, eqs: EquationsOfMotion) -> list[tuple[str, float, float]]:
    """Per joint: its name, the largest force [N] and the largest torque [N m] it carried."""
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
    carried = _carried(run, eqs)[:MOST_ROWS]
    if not carried:
        return None
    least = STILL * max(max(force, torque) for _, force, torque in carried)  # below: rounding
    rows = [(name, *(f"{size:.4g}" if size > least else "0" for size in sizes)) for name, *sizes in carried]
    return Table(("joint", "largest force [N]", "largest torque [N m]"), tuple(rows))


# ---- what to show ----------------------------------------------------------------------------------------------------


def _coordinates(run: Record, eqs: EquationsOfMotion) -> list[str]:
    names = [eqs.measures.names[k] for k in eqs.recorded_measures]
    return [name for name in names if name in run.names]


def _rates(run: Record, eqs: EquationsOfMotion) -> list[str]:
    names = [eqs.measure_rates.names[k] for k in eqs.recorded_measures]
    return [name for name in names if name in run.names]


def _first_asked(run: Record, eqs: EquationsOfMotion) -> list[str]:
    wanted = [*_coordinates(run, eqs), *_rates(run, eqs), *eqs.outputs.names, *eqs.inputs.names, "energy"]
    return [name for name in dict.fromkeys(wanted) if name in run.names] or list(run.names)


def _span(run: Record, name: str) -> float:
    """How far a channel moves; 0 where that is rounding."""
    x = run[name]
    if not np.isfinite(x).all():
        return 0.0
    span = float(x.max() - x.min())
    return span if span > STILL * max(1.0, float(np.abs(x).max())) else 0.0


def _more(parts: Sequence[Any], what: str) -> str:
    return what if len(parts) <= MOST_ROWS else f"{what}: the first {MOST_ROWS} of {len(parts)}"


def _count(n: int, one: str, many: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return f"{words[n] if n < len(words) else n} {one if n == 1 else many}"


# ---- the moving picture ----------------------------------------------------------------------------------------------


def moving_picture(run: Record) -> str:
    """The animation as a page inside the page, or a sentence that says why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "animation.html"
        try:
            animate(run, page)
        except DalembertError as error:
            return f"<p>{escape(str(error).splitlines()[0])}</p>"
        text = page.read_text(encoding="utf-8")
    # scripts only: nothing in the picture can reach the page around it
    return (
        f"<iframe title='the machine moving' sandbox='allow-scripts' loading='eager' "
        f"style='width:100%; height:42rem; border:1px solid #e3e6ea; border-radius:6px' srcdoc='{_escaped(text)}'>"
        "</iframe>"
    )


def _escaped(text: str) -> str:
    """Text inside an attribute between single quotes."""
    return text.replace("&", "&amp;").replace("'", "&#39;")
