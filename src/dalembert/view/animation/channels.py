"""The channels of a record as the plots of a page want them: few enough numbers, peaks kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.record import Array, Record
from dalembert.view.plots.record_channels import default_names, is_flat

MOST_SAMPLES, LEAST_SAMPLES = 4000, 1000  # of one channel: more than a screen has columns; fewer where there are many
MOST_NUMBERS = 800_000  # of all channels, about 1 MB


def channels_of(run: Record, requested: Sequence[str] = ()) -> dict[str, Any]:
    """Time, names, units and values (k, n) in single precision; ``shown``: the channels first plotted."""
    wanted = [label for name in requested for label in run.expand(name)]
    chosen = wanted or ([name for name in default_names(run) if name in run.names] if run.names else [])
    names = list(dict.fromkeys([*chosen, *run.names]))
    most = min(max(MOST_NUMBERS // max(len(names), 1), LEAST_SAMPLES), MOST_SAMPLES)
    samples = min(len(run), most)
    names = names[: max(len(chosen), MOST_NUMBERS // max(samples, 1))]
    names.sort(key=run.names.index)
    values = np.stack([run[name] for name in names]) if names else np.zeros((0, len(run)))
    time = run.time
    if len(run) > most:
        time, values = _peaks(time, values, most // 2)
    units = run.units
    return {
        "time": time,
        "names": names,
        "units": [units[name] for name in names],
        "values": values if np.isfinite(values).all() else values.astype(np.float32),
        "shown": wanted or _opening([name for name in chosen if not is_flat(run[name])] or chosen, units),
    }


def _opening(chosen: list[str], units: dict[str, str]) -> list[str]:
    """Two quantities to begin with, at most four channels of them: a page is not a report."""
    first = [name for name in chosen if name != "energy"] or chosen
    kinds = list(dict.fromkeys(units[name] for name in first))[:2]
    return [name for name in first if units[name] in kinds][:4]


def _peaks(time: Array, values: Array, buckets: int) -> tuple[Array, Array]:
    """Smallest and largest value of every bucket in the order they come, at two times in it; all-NaN stays NaN."""
    edges = np.linspace(0, len(time), buckets + 1).astype(np.int64)[:-1]
    ends = np.append(edges[1:], len(time)) - 1
    # a gap inside a bucket does not hide the samples beside it
    low = np.fmin.reduceat(values, edges, axis=1)
    high = np.fmax.reduceat(values, edges, axis=1)
    rising = values[:, ends] >= values[:, edges]
    first, second = np.where(rising, low, high), np.where(rising, high, low)
    first[:, 0], second[:, -1] = values[:, 0], values[:, -1]
    return np.stack([time[edges], time[ends]], axis=1).ravel(), np.stack([first, second], axis=2).reshape(
        len(values), -1
    )
