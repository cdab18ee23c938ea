"""Group ``trees``: functions of chains of hinges and of a humanoid in joint coordinates, batches, and a moving arm."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.four_bar import best
from benchmarks.harness import REPEATS, Answer, Emit, Method, Row, ask, cpu_time, peer_python, search
from benchmarks.lanes import elapsed, run_in_two_processes

SIZES = (7, 20, 50)
FUNCTIONS = (
    "mass_matrix", "inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)  # fmt: skip
GOALS = {  # of Pinocchio's time
    "mass_matrix": (0.4, 0.4, 0.4),
    "inverse_dynamics": (0.4, 0.4, 0.4),
    "forward_dynamics": (0.4, 0.4, 0.4),
    "inverse_dynamics_derivatives": (0.5, 0.7, 2.0),
    "forward_dynamics_derivatives": (0.5, 1.0, 3.0),
}
OFFSET, MASS, CENTRE, INERTIA, GRAVITY = 0.3, 1.0, 0.15, (0.001, 0.0075, 0.0075), 9.81
AXES = {"z": (0.0, 0.0, 1.0), "y": (0.0, 1.0, 0.0), "x": (1.0, 0.0, 0.0)}
HUMANOID = "example-robot-data/robots/talos_data/robots/talos_reduced.urdf"  # 32 joints and a free base
CALLS = 1_000_000  # announced to our kernels: their best code is made
MAKING, EQUATIONS = 3.0, 2.0  # seconds allowed for the native code of a function and for equations of fifty joints
ARM, STATES = 7, 10_000
LANES, THREADS = 0.1, 0.9  # of MuJoCo's time per state; of the gain of two processes
POSE = (0.4, -0.3, 0.5, 0.2, -0.4, 0.3, 0.1)  # the arm at rest [rad]
DAMPING = 0.3  # of its joints [N m s/rad]: without it the arm amplifies a difference by 1e10 in 4 s
DURATION, SAMPLE, ERROR, MOVING = 10.0, 0.1, 1e-6, 0.2  # s, s, rad, of Pinocchio's time
LIMIT = 200.0
SAME = 1e-9  # relative difference of results


def axis_of(joint: int) -> str:
    return "zyx"[joint % 3]


def draw(size: int) -> tuple[Any, Any, Any]:
    """Coordinates, speeds, and accelerations or efforts."""
    rng = np.random.default_rng(0)
    q, v, x = (rng.uniform(-1, 1, size) for _ in range(3))
    return q, v, x


def draw_states(count: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    q, v, x = (rng.uniform(-1, 1, (count, ARM)) for _ in range(3))
    return q, v, x


def per_call(call: Callable[[], Any], seconds: float = 0.1) -> float:
    """CPU seconds of a call, best of five loops."""

    def loop(count: int) -> float:
        begin = time.process_time()
        for _ in range(count):
            call()
        return time.process_time() - begin

    count = 1
    while (spent := loop(count)) < seconds:
        count = max(2 * count, int(count * seconds / max(spent, 1e-6)))
    return min(loop(count) for _ in range(REPEATS)) / count


# --- rows ------------------------------------------------------------------------------------------------------------


def rows() -> list[Row]:
    result: list[Row] = []
    slowest: dict[str, float] = {}
    for place, joints in enumerate(SIZES):
        task = {"joints": joints}
        own = ask("benchmarks.trees", "functions", task, limit=LIMIT)
        peers = {
            name: ask("benchmarks.peers.trees", name, task, python=peer_python(), limit=LIMIT)
            for name in ("pinocchio", "mujoco", "drake")
        }
        for name in FUNCTIONS:
            result.append(function_row(f"trees/{joints}", name, own, peers, GOALS[name][place]))
        slowest |= {f"{name} of {joints}": s for name, s in making(own).items()}
        if joints == SIZES[-1]:
            made = next((line["equations_s"] for line in own.lines if "equations_s" in line), None)
            result.append(Row(f"trees/equations of {joints} joints", "s", made, {"allowed": EQUATIONS}, 1.0))
    result += humanoid_rows(slowest)
    worst = max(slowest, key=lambda key: slowest[key], default=None)
    note = "; ".join(f"{name} {seconds:.2f} s" for name, seconds in sorted(slowest.items(), key=lambda x: -x[1])[:6])
    figure = None if worst is None else slowest[worst]
    result.append(Row("trees/native code, slowest function", "s", figure, {"allowed": MAKING}, 1.0,
                      extra={"note": f"description to native code: {note}"}))  # fmt: skip
    return [*result, *batch_rows(), moving_row()]


def function_row(
    group: str, name: str, own: Answer, peers: dict[str, Answer], goal: float | None, *, same: bool = True
) -> Row:
    mine = line_of(own, name)
    found = {peer: line_of(answer, name) for peer, answer in peers.items()}
    figures = {peer: line.get("us") for peer, line in found.items()}
    row = Row(f"{group}/{name.replace('_', ' ')}", "us", mine.get("us"), figures, goal)
    judge = found["pinocchio"]
    if mine.get("us") and judge.get("us"):
        row.ratio = mine["us"] / judge["us"]
    lines = {"ours": mine, **found}
    details = {who: {key: x for key, x in line.items() if key != "result"} for who, line in lines.items()}
    row.extra = {"build_s": mine.get("build_s"), "details": details}
    if same:
        differences = [difference(mine, line) for line in found.values() if "result" in line and "result" in mine]
        row.extra["error"] = max(differences, default=None)
        if differences and max(differences) > SAME:
            row.extra["note"] = f"results differ by {max(differences):.1e}: not the same machine"
    return row


def line_of(answer: Answer, name: str) -> dict[str, Any]:
    """The figure of a function, or the status of a process that gave none."""
    for line in answer.lines:
        if line.get("function") == name:
            return line | {"status": "ok", "reason": ""}
    return {"status": "not offered" if answer.status == "ok" else answer.status, "reason": answer.reason}


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """Largest difference of results, by the largest entry."""
    pairs = [(np.array(a), np.array(b)) for a, b in zip(ours["result"], theirs["result"], strict=False)]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


def making(answer: Answer) -> dict[str, float]:
    return {line["function"]: line["build_s"] for line in answer.lines if "build_s" in line}


def humanoid_rows(slowest: dict[str, float]) -> list[Row]:
    task: dict[str, Any] = {"joints": None}
    judge = ask("benchmarks.peers.trees", "pinocchio", task, python=peer_python(), limit=LIMIT)
    found = next((line for line in judge.lines if "file" in line), None)
    if found is None:
        return [Row("trees/humanoid", "us", None, {"pinocchio": None},
                    extra={"details": {"pinocchio": {"status": judge.status, "reason": judge.reason}}})]  # fmt: skip
    task |= {key: found[key] for key in ("file", "folder")}
    own = ask("benchmarks.trees", "functions", task, limit=LIMIT)
    peers = {"pinocchio": judge}
    for name in ("mujoco", "drake"):
        peers[name] = ask("benchmarks.peers.trees", name, task, python=peer_python(), limit=LIMIT)
    slowest |= {f"{name} of the humanoid": s for name, s in making(own).items()}
    return [function_row("trees/humanoid", name, own, peers, None, same=False) for name in FUNCTIONS]


def batch_rows() -> list[Row]:
    own = ask("benchmarks.trees", "batch", {}, limit=LIMIT)
    mine = own.lines[-1] if own.lines else {}
    peer = ask("benchmarks.peers.trees", "rollout", {}, python=peer_python(), limit=LIMIT)
    theirs = peer.lines[-1].get("us") if peer.lines else None
    details = {"ours": {"status": own.status, "reason": own.reason} | mine,
               "mujoco": {"status": peer.status, "reason": peer.reason, "us": theirs}}  # fmt: skip
    name = f"trees/forward dynamics, {STATES} states in lanes"
    rows = [Row(name, "us/state", mine.get("us"), {"mujoco": theirs}, LANES, extra={"details": details})]
    gains = mine.get("threads_gain"), mine.get("processes_gain")
    if None not in gains:
        rows.append(Row("trees/gain of two processes over that of two threads", "", gains[1] / gains[0],  # type: ignore[operator]
                        {"allowed": 1 / THREADS}, 1.0,
                        extra={"note": f"two threads gain {gains[0]:.2f}, two processes {gains[1]:.2f}"}))  # fmt: skip
    return rows


def moving_row() -> Row:
    reference = ask("benchmarks.trees", "reference_motion", {}, limit=LIMIT)
    if not reference.lines:
        return Row("trees/arm, 10 s to 1e-6 rad", "s", None, {"pinocchio": None})
    task = {"reference": reference.lines[-1]["angles"], "tolerances": [ERROR]}
    mine = best(ask("benchmarks.trees", "simulate", task, limit=LIMIT), ERROR)
    theirs = best(ask("benchmarks.peers.trees", "simulate_pinocchio", task, python=peer_python(), limit=LIMIT), ERROR)
    extra = {"error": mine.get("error"), "details": {"ours": mine, "pinocchio": theirs}}
    return Row(
        "trees/arm, 10 s to 1e-6 rad", "s", mine.get("cpu"), {"pinocchio": theirs.get("cpu")}, MOVING, extra=extra
    )


# --- ours ------------------------------------------------------------------------------------------------------------


def mechanism(joints: int, damping: float = 0.0) -> Any:
    """A chain of hinges, its axes z, y, x in turn."""
    import dalembert as da

    m = da.Mechanism("chain")
    place = m.ground.at(0, 0, 0)
    for k in range(joints):
        body = m.add_body(f"body{k}", mass=MASS, inertia=INERTIA, position=(OFFSET * k + CENTRE, 0, 0))
        m.add_revolute(f"joint{k}", place, body.at(-CENTRE, 0, 0), axis=AXES[axis_of(k)])
        if damping:
            m.add_damper(f"oil{k}", joint=f"joint{k}", damping=damping)
        place = body.at(OFFSET - CENTRE, 0, 0)
    return m


def functions(task: dict[str, Any], emit: Emit) -> None:
    """Microseconds of a call of each kernel; seconds of building its function and its native code."""
    import warnings

    import dalembert as da
    from dalembert.expressions.machine_code.native import llvm

    llvm()  # is loaded once
    if task["joints"] is None:
        warnings.simplefilter("ignore")  # what a URDF file leaves out
        m = da.read_urdf(task["file"], base="free", folders=[task["folder"]])
    else:
        m = mechanism(task["joints"])
    cpu, eqs = cpu_time(lambda: da.equations(m, coordinates="joint"))
    emit({"equations_s": cpu})
    q, v, x = draw(eqs.nv)
    if task["joints"] is None:
        start = eqs.state()
        q = np.concatenate([start.q[:7], 0.3 * np.ones(eqs.nq - 7)])
    for name in FUNCTIONS:
        cpu, kernel = cpu_time(partial(da.tree.kernel, eqs, name, calls=CALLS))
        given = (q, eqs.p, 0.0) if name == "mass_matrix" else (q, v, x, eqs.p, 0.0)
        kernel.raw(*given)
        us = 1e6 * per_call(partial(kernel.raw, *given))
        emit({"function": name, "us": us, "build_s": cpu, "result": [y.tolist() for y in kernel(*given)]})


def batch(task: dict[str, Any], emit: Emit) -> None:
    """Accelerations of many states in one call: one core, two threads, two processes."""
    every = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {every[0]})
    run = batch_call(STATES)
    cpu = per_call(run)
    one = min(elapsed(run) for _ in range(10 * REPEATS))
    found = {"us": 1e6 * cpu / STATES}
    if len(every) > 1:
        os.sched_setaffinity(0, set(every[:2]))
        two = min(elapsed(run) for _ in range(10 * REPEATS))
        apart = run_in_two_processes(every[:2], half_a_batch)
        found |= {"threads_gain": one / two, "processes_gain": one / apart}
    emit(found)


def batch_call(count: int) -> Callable[[], Any]:
    """A call that is in lanes by now."""
    import dalembert as da

    eqs = da.equations(mechanism(ARM), coordinates="joint")
    q, v, x = draw_states(count)
    run = partial(da.tree.forward_dynamics, eqs, (q, v), x)
    for _ in range(4):
        run()
    return run


def half_a_batch() -> Callable[[], Any]:
    return batch_call(STATES // 2)


def arm() -> tuple[Any, Any]:
    import dalembert as da

    eqs = da.equations(mechanism(ARM, DAMPING), coordinates="joint")
    return eqs, eqs.state(list(POSE))


def angles_of(run: Any) -> Any:
    """Joint angles of the samples after the first."""
    return run[[f"joint{k}.angle" for k in range(ARM)]][1:]


def reference_motion(task: dict[str, Any], emit: Emit) -> None:
    import dalembert as da

    eqs, start = arm()
    tight = da.DormandPrince(rtol=1e-13, atol=1e-13)
    emit({"angles": angles_of(da.simulate(eqs, until=DURATION, start=start, method=tight, every=SAMPLE)).tolist()})


def simulate(task: dict[str, Any], emit: Emit) -> None:
    """The public call with its record, step or tolerance varied."""
    import dalembert as da

    eqs, start = arm()
    reference = np.array(task["reference"])

    def run(method: Any) -> tuple[float, float]:
        cpu, record = cpu_time(lambda: da.simulate(eqs, until=DURATION, start=start, method=method, every=SAMPLE))
        return cpu, float(np.abs(angles_of(record) - reference).max())

    for first in (da.RK4(step=1e-3), da.DormandPrince(step=1e-3), da.DormandPrince(rtol=1e-12, atol=1e-12)):
        run(first)  # steps enough for the native code of each method

    def step(fineness: int) -> float:
        return SAMPLE / fineness

    def tolerance(fineness: int) -> float:
        return 1e3 * fineness**-5.0

    methods = [
        Method("RK4", lambda k: run(da.RK4(step=step(k))), lambda k: {"step": step(k)}, 16),
        Method("DormandPrince 8", lambda k: run(da.DormandPrince(step=step(k))), lambda k: {"step": step(k)}, 8, 7),
        Method("DormandPrince 8, adaptive",
               lambda k: run(da.DormandPrince(rtol=tolerance(k), atol=tolerance(k))),
               lambda k: {"tolerance": tolerance(k)}, 60, 7),
    ]  # fmt: skip
    search(methods, task["tolerances"], emit)
