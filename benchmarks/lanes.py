"""Group ``lanes``: many machines at once: a thousand crank-rockers of different lengths, ten thousand accelerations."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from benchmarks import reference
from benchmarks.chain import figure
from benchmarks.harness import REPEATS, Emit, Row, ask, cpu_time, peer_python

MACHINES, ALONE = 1000, 20
STEP = reference.SAMPLE / 14  # the crank pin of the machine with the nominal lengths is right to 1e-3 m
STATES, LINKS = 10_000, 7
GOALS = {"alone": 1 / 50, "mujoco": 1 / 10, "threads": 0.9, "pinocchio": 0.6}
LIMIT = 600.0


def rows() -> list[Row]:
    sweep = figure(ask("benchmarks.lanes", "crank_rockers", {}, limit=LIMIT))
    peer = figure(ask("benchmarks.peers.mujoco", "rollout", {}, python=peer_python(), limit=LIMIT))
    chain = figure(ask("benchmarks.lanes", "accelerations", {}, limit=LIMIT))
    aba = figure(ask("benchmarks.peers.pinocchio", "accelerations", {"states": STATES}, python=peer_python()))
    gains = sweep.get("threads_gain"), sweep.get("processes_gain")
    share = None if None in gains else gains[0] / gains[1]  # type: ignore[operator]
    note = "" if share is None else (
        f"two threads gain {gains[0]:.2f}, two processes {gains[1]:.2f}: a share of {share:.2f} (goal 0.9); "
        f"error of the nominal machine {sweep['error']:.1e} m"
    )  # fmt: skip
    return [
        Row("lanes/crank-rockers", "us/machine/step", sweep.get("us"), {"mujoco": peer.get("us")}, GOALS["mujoco"],
            extra={"details": {"ours": sweep, "mujoco": peer}, "note": note}),
        Row("lanes/crank-rockers, beside one by one, interpreted", "us/machine/step", sweep.get("us"),
            {"one by one": sweep.get("alone_us")}, GOALS["alone"]),
        Row("lanes/forward dynamics, 7 links", "us/state", chain.get("us"), {"pinocchio": aba.get("us")},
            GOALS["pinocchio"], extra={"details": {"ours": chain, "pinocchio": aba}}),
    ]  # fmt: skip


# --- ours ------------------------------------------------------------------------------------------------------------


def mechanism() -> Any:
    """The crank-rocker with its lengths as parameters; the bars are uniform with 1 kg/m."""
    import dalembert as da

    m = da.Mechanism("crank-rocker", planar=True)
    lengths = {name: m.parameter(name, getattr(reference, name.upper())) for name in ("crank", "coupler", "rocker")}
    bars = {
        name: m.add_body(name, mass=length, inertia=length**3 / 12, position=place, angle=angle)
        for (name, length), place, angle in zip(
            lengths.items(), ((0.0, 0.1), (0.3, 0.3), (0.65, 0.25)), (np.pi / 2, 0.3, 1.7), strict=True
        )
    }
    half = {name: length / 2 for name, length in lengths.items()}
    m.add_revolute("A", m.ground.at(0, 0), bars["crank"].at(-half["crank"], 0))
    m.add_revolute("B", bars["crank"].at(half["crank"], 0), bars["coupler"].at(-half["coupler"], 0))
    m.add_revolute("C", bars["coupler"].at(half["coupler"], 0), bars["rocker"].at(half["rocker"], 0))
    m.add_revolute("D", m.ground.at(reference.GROUND, 0), bars["rocker"].at(-half["rocker"], 0))
    return m


def trial() -> Any:
    import dalembert as da

    outputs = {"angle": "A.angle", "reach": ("rocker.x", "max"), "energy": "energy"}
    start = {"A.angle": reference.START_ANGLE}
    return da.sweeps.Simulation(
        da.equations(mechanism()), reference.DURATION, outputs, start=start, velocity={"A.angle": reference.START_RATE},
        method=da.RK4(step=STEP), every=reference.SAMPLE,
    )  # fmt: skip


def design(count: int) -> Any:
    import dalembert as da

    axes = {name: (0.95 * length, 1.05 * length) for name, length in
            (("crank", reference.CRANK), ("coupler", reference.COUPLER), ("rocker", reference.ROCKER))}  # fmt: skip
    return da.sweeps.LatinHypercube(axes, count)


def crank_rockers(task: dict[str, Any], emit: Emit) -> None:
    """CPU time per machine and step on one core; elapsed on one core, two threads, two processes; one by one."""
    import dalembert as da
    from dalembert.expressions import work as engine
    from dalembert.sweeps.trials import SweepPoint

    steps = reference.DURATION / STEP
    work, points = trial(), design(MACHINES)
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    da.sweep(work, points)
    cpu = min(cpu_time(lambda: da.sweep(work, points))[0] for _ in range(REPEATS))
    one = min(elapsed(lambda: da.sweep(work, points)) for _ in range(REPEATS))
    os.sched_setaffinity(0, set(sorted(every)[:2]))
    two = min(elapsed(lambda: da.sweep(work, points)) for _ in range(REPEATS))
    apart = run_in_two_processes(sorted(every)[:2], half_of_the_machines) if len(every) > 1 else float("nan")
    nominal = work(SweepPoint({}, 0, 0))
    error = reference.CRANK * abs(nominal["angle"] - reference.FINAL_ANGLE)
    engine.COSTS = engine.EngineCosts(begin=float("inf"))  # nothing pays
    alone_trial, values = trial(), points.points[: ALONE + 1]
    alone = [SweepPoint(dict(zip(points.names, row, strict=True)), k, 0) for k, row in enumerate(values)]
    alone_trial._run_alone(alone[0])
    slow = min(cpu_time(lambda: [alone_trial._run_alone(point) for point in alone[1:]])[0] for _ in range(3)) / ALONE
    emit({"us": 1e6 * cpu / MACHINES / steps, "ms_per_machine": 1e3 * cpu / MACHINES, "alone_us": 1e6 * slow / steps,
          "threads_gain": one / two, "processes_gain": one / apart, "error": error, "step": STEP})  # fmt: skip


def elapsed(run: Any) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def run_in_two_processes(places: list[int], make: Any) -> float:
    """Elapsed seconds of two processes, each with a call that make() has made before."""
    from multiprocessing import get_context

    context = get_context("spawn")
    go, lines = context.Barrier(len(places)), [context.Pipe(duplex=False) for _ in places]
    tasks = [(place, go, end, make) for place, (_, end) in zip(places, lines, strict=True)]
    workers = [context.Process(target=_work, args=task) for task in tasks]
    for worker in workers:
        worker.start()
    stamps = [line[0].recv() for line in lines]
    for worker in workers:
        worker.join()
    # the clock is one for all processes; one that watched them would need a core of its own to see them begin
    return min(max(b for _, b in both) - min(a for a, _ in both) for both in zip(*stamps, strict=True))


def _work(place: int, go: Any, line: Any, make: Any) -> None:
    os.sched_setaffinity(0, {place})
    run = make()
    stamps = []
    for _ in range(10 * REPEATS):
        go.wait()
        begin = time.perf_counter()
        run()
        stamps.append((begin, time.perf_counter()))
    line.send(stamps)


def half_of_the_machines() -> Any:
    import dalembert as da

    work, points = trial(), design(MACHINES // 2)
    da.sweep(work, points)
    return lambda: da.sweep(work, points)


def accelerations(task: dict[str, Any], emit: Emit) -> None:
    """Accelerations of a spatial chain of hinged rods in absolute coordinates, all states in one call, one core."""
    import dalembert as da

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    m = da.Mechanism("chain")
    previous = m.ground.at(0, 0, 0)
    axes = np.eye(3).tolist()
    for i in range(LINKS):
        rod = m.add_body(f"rod{i}", mass=1.0, inertia=(0.01, 0.085, 0.085), position=(i + 0.5, 0, 0))
        m.add_revolute(f"hinge{i}", previous, rod.at(-0.5, 0, 0), axis=axes[i % 3])
        previous = rod.at(0.5, 0, 0)
    eqs = da.equations(m)
    rng = np.random.default_rng(0)
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, velocity={f"hinge{i}": rng.normal() for i in range(LINKS)}))
    states = da.Record(
        2.0 * np.arange(STATES) / STATES, np.tile(run.data, (STATES // len(run) + 1, 1))[:STATES], run.names
    )
    da.forward_dynamics(eqs, states)
    da.forward_dynamics(eqs, states)
    da.forward_dynamics(eqs, states)  # in lanes by now
    cpu = min(cpu_time(lambda: da.forward_dynamics(eqs, states))[0] for _ in range(REPEATS))
    emit({"us": 1e6 * cpu / len(states), "states": len(states)})
