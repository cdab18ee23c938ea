"""Group ``flexible-observer``: a filter of a bending linkage in 13 coordinates, and rankings of 8000 coordinates.

The manipulator of five slender links (30 coordinates) is reduced to three angles, six displacements and four interior
modes that turn with their links. An extended Kalman filter with Runge-Kutta steps of 0.1 ms takes three angles and
three curvatures, 300 samples. Beside it the same model in NumPy with filterpy's filter and central differences, from
the same matrices of the links; all estimates must agree. The other row ranks the interior modes of a solid sonotrode
by every method, beside SciPy's solution of all interior modes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Emit, Row, ask, cpu_time, peer_python

SAMPLES, DT = 300, 1e-4
TORQUES = {"T1": (1.4, 8.0), "T2": (7.0, 10.0), "T3": (0.1, 11.0)}  # amplitude [N m], frequency [Hz]
NOISE = {"encoder1": 2.7e-5, "encoder2": 2.7e-5, "encoder3": 1.5e-3,
         "gauge1": 1e-6, "gauge2": 1e-6, "gauge4": 1e-6}  # fmt: skip
ERRORS = {"A1.angle": 0.01, "A2.angle": -0.01, "EF.angle": 0.02}  # of the first angles [rad]
Q_POSITION, Q_SPEED, P_ELASTIC, P_ANGLE, P_SPEED = 1e-14, 1e-8, 1e-6, 1e-3, 1e-3
LONG = 3000  # samples beside real time, after which the code of a filter is native
SAME = 1e-5  # central differences with steps of 1e-5 leave some 1e-8 in F
FASTER, SHARE = 1 / 20, 1 / 5
REPEATS, LIMIT = 3, 1800.0


def rows() -> list[Row]:
    return [*_filter_rows(), _ranking_row()]


def figures(answer: Answer) -> dict[str, Any]:
    """All that a process gave, with how it ended."""
    return {key: value for line in answer.lines for key, value in line.items()} | {
        "status": answer.status, "reason": answer.reason
    }  # fmt: skip


def _filter_rows() -> list[Row]:
    mine = figures(ask("benchmarks.flexible_observer", "ours", {}, limit=LIMIT))
    data = mine.pop("data", None)
    peer = {"status": "failed", "reason": "our process gave no model"}
    if data is not None:
        answer = ask("benchmarks.peers.flexible_observer", "filterpy", data, python=peer_python(), limit=LIMIT)
        peer = figures(answer)
    times = {"filterpy": peer.get("us")}
    estimates = peer.pop("estimates", None)
    result = []
    for kind, goal in (("frozen", FASTER), ("exact", None)):
        found = mine.get(kind, {})
        us, own = found.get("us"), found.pop("estimates", None)
        note = ""
        if own is not None and estimates is not None:
            gap = float(np.abs(np.subtract(own, estimates)).max() / np.abs(estimates).max())
            note = f"largest difference of estimates {gap:.1e}" + ("" if gap <= SAME else ": NOT the same")
        extra = {**found, "note": note, "details": {"ours": mine, "filterpy": peer}}
        result.append(Row(f"flexible-observer/EKF 13 {kind}", "us", us, times, goal=goal, extra=extra))
    long = mine.get("long", {}).get("us")
    result.append(Row("flexible-observer/EKF 13 real time", "us", long, {"real time": 1e6 * DT}, goal=1.0))
    return result


def _ranking_row() -> Row:
    mine = figures(ask("benchmarks.flexible_observer", "rankings", {}, limit=LIMIT))
    peer = figures(ask("benchmarks.flexible_observer", "interior_modes", {}, limit=LIMIT))
    note = "; ".join(f"{name} {cpu:.2f} s" for name, cpu in mine.get("methods", {}).items())
    extra = {"note": note, "details": {"ours": mine, "SciPy": peer}}
    return Row("flexible-observer/rankings 8000", "s", mine.get("cpu"), {"SciPy": peer.get("cpu")}, SHARE, extra=extra)


# --- the filter ------------------------------------------------------------------------------------------------------


def torque(name: str, time: Any) -> Any:
    amplitude, hertz = TORQUES[name]
    return amplitude * np.sin(2 * np.pi * hertz * time)


def ours(task: dict[str, Any], emit: Emit) -> None:
    import dalembert as da
    from dalembert.linkages import reduce_links
    from dalembert.studies.manipulator.manipulator_model import MASTERS, POSE, damping_for, manipulator

    erls = manipulator(beta=damping_for(0.01, 14.2))
    reduced = reduce_links(erls, MASTERS, modes=[1, 2, 4, 7])
    small = da.equations(reduced)
    inputs = {name: lambda t, a=a, f=f: a * da.sin(2 * np.pi * f * t) for name, (a, f) in TORQUES.items()}
    run = da.simulate(small, (SAMPLES - 1) * DT, inputs=inputs, method=da.RK4(step=DT), every=DT)
    random = np.random.default_rng(1)
    readings = {name: run[name] + size * random.normal(size=len(run)) for name, size in NOISE.items()}
    start = {name: POSE[name] + error for name, error in ERRORS.items()}
    n = small.nv
    Q = np.diag([*[Q_POSITION] * n, *[Q_SPEED] * n])
    P0 = np.diag([*[P_ELASTIC] * (n - 3), *[P_ANGLE] * 3, *[P_SPEED] * n])
    record = da.Record.from_channels(run.time, readings | {name: torque(name, run.time) for name in TORQUES})
    emit({"data": _numbers(reduced, readings, start, Q, P0)})
    for kind in ("exact", "frozen"):  # the last one is that of real time
        ekf = da.estimate.ExtendedKalman(
            small, outputs=list(NOISE), inputs=list(TORQUES), R={name: s**2 for name, s in NOISE.items()}, Q=Q, P0=P0,
            start=start, dt=DT, jacobian=kind,
        )  # fmt: skip
        first, estimate = cpu_time(lambda: ekf.run(record))  # noqa: B023
        cpu = min(cpu_time(lambda: ekf.run(record))[0] for _ in range(REPEATS))  # noqa: B023
        emit({kind: {"us": 1e6 * cpu / SAMPLES, "first_call_s": first, "estimates": pick(estimate.states)}})
    times = DT * np.arange(LONG)
    again = {name: np.resize(values, LONG) for name, values in readings.items()}
    forces = {name: torque(name, times % (SAMPLES * DT)) for name in TORQUES}
    longer = da.Record.from_channels(times, again | forces)
    ekf.run(longer)
    cpu = min(cpu_time(lambda: ekf.run(longer))[0] for _ in range(REPEATS))
    emit({"long": {"us": 1e6 * cpu / LONG}})


def pick(states: Any) -> Any:
    """Every tenth estimate; positions alone, speeds are a thousand times as large."""
    return np.asarray(states)[::10, :13].tolist()


def _numbers(reduced: Any, readings: dict[str, Any], start: dict[str, float], Q: Any, P0: Any) -> dict[str, Any]:
    """Matrices of the links and how they hang together, for a model in NumPy."""
    linkage, basis, matrices = reduced.erls.linkage, reduced.bases[0], reduced.matrices
    links = {name: [getattr(link, name).tolist() for link in linkage.links] for name in "MKCG"}
    first = dict(zip((link.name for link in linkage.links), np.cumsum([0, *(len(x.M) for x in linkage.links)])))
    gauges = np.zeros((3, sum(len(link.M) for link in linkage.links)))
    for row, (link, curvature) in zip(gauges, reduced.erls.gauge_rows.values()):
        row[first[link.name] : first[link.name] + len(curvature)] = curvature
    return {
        **links, "places": [link.places[:, 0].tolist() for link in linkage.links], "gauges": gauges.tolist(),
        "columns": list(linkage.elastic.columns), "free": list(linkage.free), "masters": matrices.masters,
        "slaves": matrices.slaves, "pairs": matrices.pairs, "owners": matrices.owners, "Phi": basis.Phi.tolist(),
        "angles": basis.angles.tolist(), "Q": Q.tolist(), "P0": P0.tolist(), "R": [s**2 for s in NOISE.values()],
        "start": list(start.values()), "readings": np.array(list(readings.values())).T.tolist(),
    }  # fmt: skip


# --- rankings --------------------------------------------------------------------------------------------------------


def rankings(task: dict[str, Any], emit: Emit) -> None:
    """CPU seconds of all rankings, the first with the interior modes that all share."""
    from dalembert.structures import EnergyBasedRanking, assemble_structure, rank_modes
    from dalembert.studies.flexible.bar_horn import comparisons, sonotrode

    solid, masters = sonotrode()
    system = assemble_structure(solid).system()
    cpu, modes = cpu_time(lambda: system.modes(20))
    elastic = modes.frequencies > 1e-3 * modes.frequencies[-1]
    number = int(np.flatnonzero(elastic)[0]) + 1
    omega = 1.001 * float(modes.frequencies[number - 1])
    emit({"coordinates": system.nq, "modes_s": cpu})
    method = EnergyBasedRanking({f"{name}.x": 1.0 for name in masters}, omega)
    seconds = {}
    seconds["EBR"], ranking = cpu_time(lambda: rank_modes(system, masters, method, count=400))
    for name, other in comparisons((number,)).items():  # of the same interior modes
        seconds[name], _ = cpu_time(lambda: ranking.by(other))  # noqa: B023
    emit({"methods": seconds, "cpu": sum(seconds.values())})


def interior_modes(task: dict[str, Any], emit: Emit) -> None:
    """CPU seconds of all interior modes by SciPy."""
    import scipy.linalg

    from dalembert.structures import assemble_structure
    from dalembert.studies.flexible.bar_horn import sonotrode

    solid, masters = sonotrode()
    system = assemble_structure(solid).system()
    held = [name.rpartition(".")[0] in masters for name in system.coordinates]
    slaves = np.flatnonzero(~np.array(held))
    M, K = (np.asarray(matrix.tocsr()[slaves][:, slaves].toarray()) for matrix in (system.M, system.K))
    cpu, values = cpu_time(lambda: scipy.linalg.eigh(K, M, overwrite_a=True, overwrite_b=True, check_finite=False)[0])
    emit({"cpu": cpu, "highest_hz": math.sqrt(float(values[-1])) / 2 / np.pi, "modes": len(values)})
