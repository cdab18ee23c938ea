"""Group ``chain``: microseconds per body and step of a planar chain of hinged rods, falling from the horizontal."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.harness import Answer, Emit, Row, ask, cpu_time, peer_python, repeats

SIZES = (10, 100, 1000)
PEERS = ("exudyn", "pinocchio", "mujoco")
GOALS = {10: 0.45, 100: 0.3, 1000: 0.1}  # of the best peer's time
STEP, STEPS, SAMPLE = 1e-3, 500, 0.1
FIRST_STEPS = 4000  # of our first call: enough to make machine code worth its while
GRAVITY = 9.81
AFFORDABLE = 4.0
"""A peer takes as many of the steps as fit into so many CPU seconds."""


def rows() -> list[Row]:
    """Measure everybody at each size; the last row shows how far the cost is from linear growth."""
    result = []
    for bodies in SIZES:
        task = {"bodies": bodies, "steps": STEPS}
        mine = figure(ask("benchmarks.chain", "ours", task))
        peers = {name: figure(ask(f"benchmarks.peers.{name}", "chain", task, python=peer_python())) for name in PEERS}
        extra = {key: mine[key] for key in ("build_s", "first_call_s") if key in mine}
        extra |= {"step": STEP, "details": {"ours": mine, **peers}}
        figures = {name: peer.get("us") for name, peer in peers.items()}
        result.append(Row(f"chain/{bodies}", "us/body/step", mine.get("us"), figures, GOALS[bodies], extra=extra))
    measured = [row.ours for row in result if row.ours is not None]
    if len(measured) == len(SIZES):
        spread = max(measured) / min(measured)
        result[-1].extra["spread"] = spread
        result[-1].extra["note"] = (
            f"largest / smallest cost per body and step over the sizes: {spread:.2f} (goal 2); "
            f"built in {result[-1].extra['build_s']:.2f} s (goal 10)"
        )
    return result


def figure(answer: Answer) -> dict[str, Any]:
    """The last figure a process gave, with its status."""
    lines = [line for line in answer.lines if "us" in line]
    if lines:
        return lines[-1] | {"status": "ok", "reason": ""}
    return {"status": "failed" if answer.status == "ok" else answer.status, "reason": answer.reason}


def affordable(label: str, simulate: Callable[[int], Any], task: dict[str, Any], emit: Emit, **extra: float) -> None:
    """Measure as many steps as the time allows and emit the cost per body and step."""
    steps, cpu = 0, 0.0
    while cpu < 0.05 * AFFORDABLE and steps < task["steps"]:
        steps = max(1, 4 * steps)
        cpu = cpu_time(partial(simulate, steps))[0]
    steps = max(1, min(task["steps"], int(steps * AFFORDABLE / max(cpu, 1e-6))))
    first = cpu_time(partial(simulate, steps))[0]
    count = repeats(first)
    fastest = min([first, *(cpu_time(partial(simulate, steps))[0] for _ in range(count - 1))])
    us = 1e6 * fastest / steps / task["bodies"]
    emit({"method": label, "us": us, "steps": steps, "repeats": count, **extra})


# --- ours ------------------------------------------------------------------------------------------------------------


def mechanism(bodies: int) -> Any:
    """Rods of 1 m and 1 kg in a horizontal row, the first one hinged to the ground."""
    import dalembert as da

    m = da.Mechanism("chain", planar=True)
    previous = m.ground.at(0, 0)
    for i in range(bodies):
        rod = m.add_body(f"rod{i}", mass=1.0, inertia=da.rod(1.0), position=(i + 0.5, 0))
        m.add_revolute(f"hinge{i}", previous, rod.at(-0.5, 0))
        previous = rod.at(0.5, 0)
    return m


def ours(task: dict[str, Any], emit: Emit) -> None:
    """The public call; building includes model, equations and assembly."""
    import dalembert as da

    begin = time.perf_counter()
    eqs = da.equations(mechanism(task["bodies"]))
    start = da.assemble(eqs)
    once = {"build_s": time.perf_counter() - begin}

    def simulate(steps: int = task["steps"]) -> Any:
        return da.simulate(eqs, until=STEP * steps, start=start, method=da.RK4(step=STEP), every=SAMPLE)

    begin = time.perf_counter()
    simulate(FIRST_STEPS)
    once["first_call_s"] = time.perf_counter() - begin
    cpu = cpu_time(simulate)[0]
    count = repeats(cpu)
    fastest = min([cpu, *(cpu_time(simulate)[0] for _ in range(count - 1))])
    us = 1e6 * fastest / task["steps"] / task["bodies"]
    emit({"method": "RK4", "us": us, "steps": task["steps"], "repeats": count, **once})
