"""Group ``four-bar``: the crank-rocker's first 10 s to a given error of the crank pin."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks import reference
from benchmarks.harness import Answer, Emit, Method, Row, ask, cpu_time, peer_python, search

TOLERANCES = {"1e-3": 1e-3, "1e-6": 1e-6}
PEERS = ("exudyn", "pinocchio", "mujoco")
GOALS = {"compiled": 0.1, "interpreted": 1.0}


def rows() -> list[Row]:
    """Measure everybody and return the four rows."""
    task = {"reference": reference.crank_pin().tolist(), "tolerances": list(TOLERANCES.values())}
    answers = {name: ask(f"benchmarks.peers.{name}", "four_bar", task, python=peer_python()) for name in PEERS}
    result = []
    own = {mode: ask("benchmarks.four_bar", "ours", task | {"mode": mode}) for mode in GOALS}
    for label, tolerance in TOLERANCES.items():
        peers = {name: best(answer, tolerance) for name, answer in answers.items()}
        for mode, goal in GOALS.items():
            mine = best(own[mode], tolerance)
            once = next((line for line in own[mode].lines if "build_s" in line), {})
            extra = {**once, **{key: mine[key] for key in ("error", "step", "tolerance") if key in mine}}
            extra["details"] = {"ours": mine, **peers}
            figures = {name: peer.get("cpu") for name, peer in peers.items()}
            result.append(Row(f"four-bar/{label}/{mode}", "s", mine.get("cpu"), figures, goal, extra=extra))
    return result


def best(answer: Answer, tolerance: float) -> dict[str, Any]:
    """The fastest line that meets the error, with its status; a status alone where there is none."""
    lines = [line for line in answer.lines if line.get("error", np.inf) <= tolerance]
    if lines:
        status = "ok" if answer.status == "ok" else f"measured, then {answer.status}"
        fastest = min(lines, key=lambda line: (line["cpu"], -line["repeats"]))
        return fastest | {"status": status, "reason": answer.reason}
    problems = [line["problem"] for line in answer.lines if "problem" in line]
    status = "error not met" if answer.status == "ok" else answer.status
    return {"status": status, "reason": answer.reason or (problems[-1] if problems else "")}


def pin_error(points: Any, task: dict[str, Any]) -> float:
    """Largest distance of the crank pin from the reference [m]; points has shape (100, 2)."""
    return float(np.max(np.hypot(*(np.asarray(points) - np.asarray(task["reference"])).T)))


# --- ours ------------------------------------------------------------------------------------------------------------


def mechanism() -> Any:
    """The crank-rocker, drawn near the pose it starts from."""
    import dalembert as da

    m = da.Mechanism("crank-rocker", planar=True)
    crank = m.add_body("crank", mass=0.2, inertia=da.rod(0.2))
    coupler = m.add_body("coupler", mass=0.6, inertia=da.rod(0.6), position=(0.3, 0.3))
    rocker = m.add_body("rocker", mass=0.5, inertia=da.rod(0.5), position=(0.65, 0.25), angle=1.7)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.25, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-0.25, 0))
    return m


def ours(task: dict[str, Any], emit: Emit) -> None:
    """Error and CPU time of the public call, with the step or the tolerance varied."""
    import dalembert as da

    begin = time.perf_counter()
    eqs = da.equations(mechanism())
    start = da.assemble(eqs, {"A.angle": reference.START_ANGLE}, velocity={"A.angle": reference.START_RATE})

    def simulate(method: Any) -> tuple[float, float]:
        cpu, run = cpu_time(
            lambda: da.simulate(eqs, until=reference.DURATION, start=start, method=method, every=reference.SAMPLE)
        )
        angle = run["crank.angle"][1:]
        half = reference.CRANK / 2 * np.column_stack((np.cos(angle), np.sin(angle)))
        return cpu, pin_error(run[["crank.x", "crank.y"]][1:] + half, task)

    once = {"build_s": time.perf_counter() - begin}
    begin = time.perf_counter()
    if task["mode"] == "compiled":
        eqs = eqs.compiled()
    for first in (da.RK4(step=0.005), da.DormandPrince(step=0.02), da.DormandPrince()):
        simulate(first)  # builds the native code of each method
    once["compile_s" if task["mode"] == "compiled" else "first_call_s"] = time.perf_counter() - begin
    emit(once)

    def step(fineness: int) -> float:
        return reference.SAMPLE / fineness

    def tolerance(fineness: int) -> float:
        return 1e3 * fineness**-5.0

    def adaptive(fineness: int) -> tuple[float, float]:
        return simulate(da.DormandPrince(rtol=tolerance(fineness), atol=tolerance(fineness)))

    methods = [
        Method("RK4", lambda k: simulate(da.RK4(step=step(k))), lambda k: {"step": step(k)}, 10),
        Method("DormandPrince 8, adaptive", adaptive, lambda k: {"tolerance": tolerance(k)}, 10, 7),
        Method(
            "DormandPrince 8", lambda k: simulate(da.DormandPrince(step=step(k))), lambda k: {"step": step(k)}, 5, 7
        ),
    ]
    search(methods, task["tolerances"], emit)
