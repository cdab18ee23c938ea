"""Sentences and tables about one run, for all pages that show it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.record import Record
from dalembert.view.reports.pages import Piece, Table

MOST_ROWS = 40
ROUND = 2 * math.pi
# Largest error of the energy balance of an accurate run, over the largest kinetic energy: speeds then have errors of
# 5e-5, less than the width of a line in a figure.
ACCURATE = 1e-4


def amount(value: float, unit: str) -> str:
    """A number with a prefix that keeps it readable: 95.98 kN."""
    for factor, prefix in ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m")):
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def describe_range(run: Record, name: str) -> str:
    x, unit = run[name][np.isfinite(run[name])], run.units[name]
    net = float(x[-1] - x[0])
    if unit == "rad" and abs(net) > ROUND:
        return f"{name} made {abs(net) / ROUND:.3g} turns"
    if unit == "rad":
        low, high = (math.degrees(v) for v in (x.min(), x.max()))
        return f"{name} stayed between {low:.4g}° and {high:.4g}°"
    return f"{name} stayed between {x.min():.4g} and {x.max():.4g} {unit}".rstrip()


def trust(run: Record) -> str:
    parts = []
    if "energy.balance" in run.names and "energy.kinetic" in run.names:
        off, size = float(np.abs(run["energy.balance"]).max()), float(np.abs(run["energy.kinetic"]).max())
        share = "" if size == 0 else f", {off / size:.1e} of the largest kinetic energy"
        verdict = (
            "the integration is accurate" if off <= ACCURATE * size else "take smaller steps or a tighter tolerance"
        )
        parts.append(
            f"Energy supplied, dissipated and stored balance within {off:.1e} J{share}: {verdict}"
            if size > 0
            else f"Energy balances within {off:.1e} J"
        )
    if "residual.position" in run.names:
        gap = float(np.abs(run["residual.position"]).max())
        parts.append(f"The joints stayed closed to {gap:.1e} (metres or radians)")
    if joints := run.statistics.get("reactions not unique"):
        parts.append(f"Reactions of {', '.join(joints)} are not unique, since the joints are redundant")
    return ". ".join(parts) + "." if parts else "The run has no measure of its own errors."


def describe_events(run: Record) -> str:
    """Events in a sentence, or "" where there are none."""
    events = _events(run)
    if not events:
        return ""
    names = sorted({name for name, _ in events})
    words = (
        f"{count(len(events), 'event', 'events')} happened ({', '.join(names[:4])}), the first at {events[0][1]:.4g} s"
    )
    return words[0].upper() + words[1:]


def events_table(run: Record) -> Table | None:
    """Events with their times."""
    events = _events(run)
    rows = tuple((name, f"{t:.6g}") for name, t in events[:MOST_ROWS])
    return Table(("event", "time [s]"), rows, more(events, "Events")) if events else None


def singular_table(run: Record) -> Table | None:
    """Poses at which the rows of joints lost rank, with the energy lost."""
    poses = run.statistics.get("singular poses", [])
    rows = tuple(
        (f"{pose['time']:.6g}", ", ".join(pose["joints"][:8]) + (", ..." if len(pose["joints"]) > 8 else ""),
         f"{pose['energy lost']:.1e}")
        for pose in poses[:MOST_ROWS]
    )  # fmt: skip
    return Table(("time [s]", "joints", "energy lost [J]"), rows, more(poses, "Singular poses")) if poses else None


def _events(run: Record) -> list[tuple[str, float]]:
    events = run.statistics.get("events", [])
    return [(str(event["name"]), float(event["time"])) for event in events if isinstance(event, Mapping)]


def checks(run: Record) -> list[Piece]:
    figures = {str(key): value for key, value in run.statistics.items() if isinstance(value, int | float | str)}
    rows = [(key, f"{value:.4g}" if isinstance(value, float) else str(value)) for key, value in figures.items()]
    return [Table(("of the run", ""), tuple(rows))] if rows else []


def extremes(run: Record, names: Iterable[str]) -> Table:
    rows = []
    for name in [channel for stem in names for channel in expand_name(run, stem)][:MOST_ROWS]:
        x = run[name]
        good = x[np.isfinite(x)]
        if len(good):
            numbers = (x[0], x[-1], good.min(), good.max())
            rows.append((name, run.units[name] or "–", *(f"{float(v):.5g}" for v in numbers)))
    return Table(("channel", "unit", "at the start", "at the end", "smallest", "largest"), tuple(rows))


def expand_name(run: Record, name: str) -> list[str]:
    return [name] if name in run.names else list(run.expand(name))


def more(parts: Sequence[Any], what: str) -> str:
    return what if len(parts) <= MOST_ROWS else f"{what}: the first {MOST_ROWS} of {len(parts)}"


def count(n: int, one: str, many: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return f"{words[n] if n < len(words) else n} {one if n == 1 else many}"
