"""Group ``sweep``: the Monte Carlo study on one process and on two, elapsed seconds."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.harness import Emit, Row, ask
from benchmarks.structures import figure

SAMPLES = 1600
GOAL = 1.0 / 1.8
LIMIT = 900.0


def rows() -> list[Row]:
    """Elapsed seconds on two processes beside those on one; the goal is 1.8 times as fast."""
    figures = {}
    for workers in (1, 2):
        figures[workers] = figure(ask("benchmarks.sweeps", "ours", {"workers": workers}, limit=LIMIT))
    one, two = (figures[workers].get("seconds") for workers in (1, 2))
    note = "" if not one or not two else f"{one / two:.2f} times as fast on two (goal 1.8); same results: "
    note += str(figures[1].get("digest") == figures[2].get("digest"))
    extra = {"details": {str(workers): one for workers, one in figures.items()}, "note": note}
    return [Row("sweep/monte-carlo", "s", two, {"one process": one}, GOAL, extra=extra)]


def ours(task: dict[str, Any], emit: Emit) -> None:
    import hashlib

    import dalembert as da
    from dalembert.studies.machines import monte_carlo

    began = time.perf_counter()
    found = da.sweep(monte_carlo.trial, monte_carlo.design(SAMPLES), workers=int(task["workers"]))
    seconds = time.perf_counter() - began
    digest = hashlib.sha256(b"".join(found[name].tobytes() for name in sorted(found.results))).hexdigest()
    emit({"seconds": seconds, "cpu": seconds, "digest": digest, "status": "ok"})
