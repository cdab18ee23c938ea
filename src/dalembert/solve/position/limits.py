"""Joint coordinates, speeds and efforts beyond the limits of their joints; motions beyond the range of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.core.findings import Advice, Call, Finding
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.position.tangent import Instant

# A limit counts as kept up to rounding: share of the limit, and [m, rad, N, ...] where the limit is zero.
ROUNDING = 1e-9
WORDS = {"lower": "below its lower limit", "upper": "above its upper limit", "speed": "beyond its largest speed"}


def find_exceeded(eqs: EquationsOfMotion, motion: State | Record) -> list[Finding]:
    """One finding for each limit that a state or a run exceeds, at the place of its largest excess."""
    exceeded = []
    known = set(motion.names) if isinstance(motion, Record) else {*eqs.measures.names, *eqs.measure_rates.names}
    for name, limits in eqs.limits.items():
        rate = eqs.measure_rates.names[eqs.measures.index[name]] if name in eqs.measures.index else ""
        for key, channel, limit in (
            ("lower", name, limits.lower), ("upper", name, limits.upper), ("speed", rate, limits.speed),
        ):  # fmt: skip
            if limit is None or channel not in known or (limits.stopped and key != "speed"):
                continue
            values = np.atleast_1d(np.asarray(motion[channel], dtype=float))
            excess = limit - values if key == "lower" else (np.abs(values) if key == "speed" else values) - limit
            worst = int(np.argmax(excess))
            if excess[worst] > ROUNDING * (1 + abs(limit)):
                exceeded.append(_describe_excess(channel, key, limit, float(values[worst]), motion, worst))
    return exceeded


def _describe_excess(channel: str, key: str, limit: float, value: float, motion: State | Record, worst: int) -> Finding:
    where: dict[str, Any] = {"channel": channel}
    at = ""
    if isinstance(motion, Record):
        where["time"] = float(motion.time[worst])
        at = f" (at most at t = {where['time']:.4g} s)"
    problem = f"{channel!r} is {value:.6g}, {WORDS[key]} of {limit:.6g}{at}."
    advice = (Advice("Limits are data; stops are made by {}.", Call("m.add_stops")),)
    return Finding("out-of-range", problem, where, {"limit": limit, "value": value}, advice)


def find_broken(eqs: EquationsOfMotion, motion: Instant | Record) -> list[Finding]:
    """One finding for each assumption of the model that does not hold at an instant or in a run, where it holds
    least."""
    if not eqs.assumptions:
        return []  # equations with assumptions about loads have others too
    findings = eqs.assumptions
    if isinstance(motion, Record):
        times, recorded = np.asarray(motion.time), set(motion.names)
        still = np.zeros(len(times))

        def columns(names: tuple[str, ...]) -> Array:
            values = [motion[name] if name in recorded else still for name in names]
            return np.column_stack(values) if values else np.zeros((len(times), 0))

        states = [columns(part.names) for part in (eqs.coordinates, eqs.speeds)]
        others = [columns(group.names) for group in (eqs.reaction_channels, eqs.internal, eqs.inputs)]
    else:
        x = motion
        loads = eqs.kernel("reactions")(x.q, x.v, x.a, x.lam, x.z, x.u, eqs.p, x.t)[0]
        times, states = np.array([x.t]), [x.q[None], x.v[None]]
        others = [np.reshape(values, (1, -1)) for values in (loads, x.z, x.u)]
    numbers = eqs.p, times[:, None]
    excess = np.reshape(eqs.kernel("assumptions").many(*states, *numbers)[0], (len(times), -1))
    if eqs.load_assumptions:
        values = eqs.kernel("load_assumptions").many(*states, *others, *numbers)[0]
        findings, excess = (*findings, *eqs.load_assumptions), np.hstack([excess, np.reshape(values, (len(times), -1))])
    broken = []
    for k, finding in enumerate(findings):
        worst = int(np.argmax(excess[:, k]))
        if excess[worst, k] > 1:
            time = {"time": float(times[worst])} if isinstance(motion, Record) else {}
            at = f" (at most at t = {time['time']:.4g} s)" if time else ""
            evidence = {**finding.evidence, "excess": float(excess[worst, k])}
            problem = f"{finding.problem}{at}."
            broken.append(replace(finding, problem=problem, where={**finding.where, **time}, evidence=evidence))
    return broken
