"""Assumptions of a model that a run has left: reported once, with the time and the size of the excess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.core.errors import SimulationWarning
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.record import Record


def report_assumptions(eqs: EquationsOfMotion, run: Record, stacklevel: int = 1) -> None:
    """Warn of every assumption that does not hold at some sample of the run."""
    if not eqs.assumptions:
        return

    recorded = set(run.names)

    def columns(names: tuple[str, ...]) -> Array:
        return np.column_stack([run[name] if name in recorded else np.zeros(len(run.time)) for name in names])

    states = columns(eqs.coordinates.names), columns(eqs.speeds.names)
    values = eqs.kernel("assumptions").many(*states, eqs.p, np.asarray(run.time)[:, None])[0]
    excess = np.reshape(values, (len(run.time), -1))
    found = []
    for k, finding in enumerate(eqs.assumptions):
        worst = int(np.argmax(excess[:, k]))
        if excess[worst, k] > 1:
            time = float(run.time[worst])
            problem = f"{finding.problem} (at most at t = {time:.4g} s)."
            evidence = {**finding.evidence, "excess": float(excess[worst, k])}
            found.append(replace(finding, problem=problem, where={**finding.where, "time": time}, evidence=evidence))
    SimulationWarning.report(found, stacklevel + 1)
