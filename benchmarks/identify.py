"""Group ``identify``: subspace identification of a frame and of a chain of masses, beside other packages.

Every process makes the same noisy record by itself (`records`), with NumPy and SciPy only, so that the peers'
interpreter needs nothing of ours. Figures: CPU seconds of the call, megabytes it needs above the data, and the root
mean square over modes and records of the relative error of the damping ratios [%]. Times are those of the first record;
errors are taken over `RECORDS` of them, the same for all, since on one record a method may be lucky.
"""

from __future__ import annotations

import ctypes
import gc
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Emit, Row, ask, cpu_time, peer_python, repeats
from benchmarks.structures import figure

SAMPLES = (10_000, 100_000, 1_000_000)
NOISE = 0.05  # of each output's root mean square
SEEDS = {"frame": 100, "chain": 20}  # records: 600 and 800 intervals of frequencies and damping ratios
RECORDS = {10_000: 10, 100_000: 10, 1_000_000: 1}
PATIENCE = 10.0
"""CPU seconds after which no further record is begun."""
PEER_LIMIT = 45.0
"""Elapsed time given to a peer for one problem [s]: the slow ones give no figure of a million samples."""
MEMORY_GOAL = 300.0
SMALL = 0.03
"""CPU seconds below which a call is fast enough, whatever a peer needs."""
OVERSAMPLED = 70_000
SLOW = 600.0
SAME_MODE = 0.2  # relative distance within which a found mode is that of the problem
PEERS = ("pyOMA2", "nfoursid", "SIPPY", "python-control", "SLICOT")
ACCURACY = 100_000
"""Samples of the records whose errors are compared with the Cramér-Rao bound."""
LEVEL, OFF = 95.0, 2.0
"""Level of the intervals [%], and how far their coverage may be off: 2.2 and 2.6 standard deviations of 600 and 800
independent ones."""


@dataclass(frozen=True)
class Problem:
    """A mechanical system sampled with a zero-order hold: accelerations of some masses for forces on some."""

    M: Any
    C: Any
    K: Any
    forced: tuple[int, ...]
    seen: tuple[int, ...]
    dt: float

    @property
    def order(self) -> int:
        return 2 * len(self.M)

    def continuous(self) -> tuple[Any, Any, Any, Any]:
        n = len(self.M)
        inverse = np.linalg.inv(self.M)
        lower = np.hstack([-inverse @ self.K, -inverse @ self.C])
        force = inverse[:, list(self.forced)]
        A = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower])
        seen = list(self.seen)
        return A, np.vstack([np.zeros_like(force), force]), lower[seen], force[seen]

    def modes(self) -> tuple[Any, Any]:
        """Frequencies [Hz], ascending, and damping ratios."""
        values = np.linalg.eigvals(self.continuous()[0])
        values = values[values.imag > 0.0]
        values = values[np.argsort(np.abs(values))]
        return np.abs(values) / (2.0 * np.pi), -values.real / np.abs(values)


def problem(name: str) -> Problem:
    """``frame``: three storeys of S. J. Dyke's laboratory building; ``chain``: twenty masses between two walls;
    ``oversampled``: four masses between two walls, whose force has the band of the modes only."""
    if name == "frame":
        C = np.array([[175.0, -50.0, 0.0], [-50.0, 100.0, -50.0], [0.0, -50.0, 50.0]])
        K = 1e5 * np.array([[12.0, -6.84, 0.0], [-6.84, 13.7, -6.84], [0.0, -6.84, 6.84]])
        return Problem(98.3 * np.eye(3), C, K, (0,), (0, 1, 2), 0.01)
    if name == "oversampled":  # four modes from 4.6 to 14.2 Hz, 0.5 to 1.5 % damping, 400 Hz
        K = 2187.0 * (2.0 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1))
        return Problem(np.eye(4), 3.4e-4 * K, K, (0,), (0, 1, 3), 1.0 / 400.0)
    n = 20
    K = 1000.0 * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    return Problem(np.eye(n), 0.1 * np.eye(n) + 2e-4 * K, K, (0, 5, 10, 15), tuple(range(0, n, 2)), 0.02)


def records(name: str, samples: int, seed: int = 1) -> tuple[Any, Any]:
    """Inputs (N, r), white or of a small band, and outputs (N, m) with noise."""
    from scipy.linalg import expm
    from scipy.signal import lfilter

    p = problem(name)
    A, B, C, D = p.continuous()
    n, r = B.shape
    held = expm(p.dt * np.vstack([np.hstack([A, B]), np.zeros((r, n + r))]))
    values, V = np.linalg.eig(held[:n, :n])
    driven, seen = np.linalg.solve(V, held[:n, n:].astype(complex)), C @ V
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((samples, r))
    if name == "oversampled":
        hertz = np.fft.rfftfreq(samples, p.dt)[:, None]
        u = np.fft.irfft(np.where((hertz > 3.0) & (hertz < 16.0), np.fft.rfft(u, axis=0), 0.0), samples, axis=0)
        u /= u.std(axis=0)
    y = u @ D.T
    for j in np.flatnonzero(values.imag > 0.0):  # x[k+1] = λ x[k] + b u[k], mode by mode
        x = lfilter([0.0, 1.0], [1.0, -values[j]], u @ driven[j])
        for i in range(y.shape[1]):
            y[:, i] += 2.0 * (seen[i, j] * x).real
    for i in range(y.shape[1]):
        y[:, i] += NOISE * y[:, i].std() * rng.standard_normal(samples)
    return u, y


def damping_error(name: str, hertz: Any, zeta: Any) -> float | None:
    """Root mean square over the modes of the relative error of the damping ratios [%]; None where a mode is missing."""
    f, z = (np.asarray(values, dtype=float) for values in (hertz, zeta))
    wanted = problem(name).modes()
    wrong = []
    for frequency, ratio in zip(*wanted, strict=True):
        near = np.flatnonzero(np.abs(f - frequency) < SAME_MODE * frequency)
        if not len(near):
            return None
        best = near[np.argmin(np.abs(f[near] / frequency - 1.0) + np.abs(z[near] - ratio))]
        wrong.append(z[best] / ratio - 1.0)
    return float(100.0 * np.sqrt(np.mean(np.square(wrong))))


def modes_of(A: Any, dt: float) -> tuple[list[float], list[float]]:
    """Frequencies [Hz] and damping ratios of a sampled system."""
    values = np.linalg.eigvals(np.asarray(A))
    s = np.log(values[values.imag > 0.0]) / dt
    return (np.abs(s) / (2.0 * np.pi)).tolist(), (-s.real / np.abs(s)).tolist()


def measured(
    task: Mapping[str, Any], prepare: Callable[[Any, Any], Any], run: Callable[[Any], Any],
    found: Callable[[Any], tuple[Any, Any]], emit: Emit,
) -> None:  # fmt: skip
    """Time and memory of ``run(prepare(u, y))`` on the first record, preparation apart; the modes of every record."""
    data = prepare(*records(task["problem"], task["samples"]))
    gc.collect()
    before = _resident(reset=True)
    cpu, result = cpu_time(lambda: run(data))
    peak = _resident()
    modes = [_plain(found(result))]
    line = {"cpu": cpu, "repeats": 1, "megabytes": None if peak is None else max(0.0, peak - before)}
    del result
    emit(line | {"modes": modes})
    count = repeats(cpu)
    if count > 1:
        line |= {"cpu": min([cpu, *(cpu_time(lambda: run(data))[0] for _ in range(count - 1))]), "repeats": count}
    data = None
    for seed in range(2, RECORDS.get(task["samples"], 1) + 1):
        if seed * cpu > PATIENCE:
            break
        modes.append(_plain(found(run(prepare(*records(task["problem"], task["samples"], seed))))))
        emit(line | {"modes": modes})
    emit(line | {"modes": modes})


def _plain(modes: tuple[Any, Any]) -> list[list[float]]:
    return [np.asarray(values, dtype=float).tolist() for values in modes]


def _resident(*, reset: bool = False) -> Any:
    """Highest resident memory since the last reset [MB]; None where the system does not report it."""
    try:
        if reset:
            # memory freed while the records were made goes back first, or the call would use it unseen
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except (OSError, AttributeError):
        return None
    return int(status.split("VmHWM:")[1].split()[0]) / 1024.0


# --- ours ------------------------------------------------------------------------------------------------------------


def as_record(name: str, u: Any, y: Any) -> tuple[Any, list[str], list[str]]:
    """The data as a Record; one copy of them, counted as data."""
    import dalembert as da

    inputs, outputs = [f"u{j}" for j in range(u.shape[1])], [f"y{i}" for i in range(y.shape[1])]
    time = problem(name).dt * np.arange(len(u))
    return da.Record(time, np.hstack([u, y]), [*inputs, *outputs]), inputs, outputs


def ours(task: dict[str, Any], emit: Emit) -> None:
    """One of our methods, with or without refinement."""
    from dalembert import identify

    p = problem(task["problem"])
    method = getattr(identify, task["method"])

    def run(data: Any) -> Any:
        record, inputs, outputs = data
        found = method(record, inputs, outputs, order=p.order)
        return identify.refine(found, record) if task["refined"] else found

    def modes(found: Any) -> tuple[Any, Any]:
        return found.frequencies_hz, found.damping_ratios

    def prepare(u: Any, y: Any) -> Any:
        return as_record(task["problem"], u, y)

    run(prepare(*records(task["problem"], 2000, seed=2)))  # what is imported on first use is not counted
    measured(task, prepare, run, modes, emit)


def ours_alone(task: dict[str, Any], emit: Emit) -> None:
    """``auto`` as a whole: nothing given but the names of the channels; its sound modes."""
    from dalembert import identify

    def run(data: Any) -> Any:
        record, inputs, outputs = data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return identify.auto(record, inputs, outputs)

    def modes(found: Any) -> tuple[Any, Any]:
        return found.sound_modes.frequencies_hz, found.sound_modes.damping_ratios

    def prepare(u: Any, y: Any) -> Any:
        return as_record(task["problem"], u, y)

    run(prepare(*records(task["problem"], 4000, seed=2)))  # what is imported on first use is not counted
    measured(task, prepare, run, modes, emit)


def our_accuracy(task: dict[str, Any], emit: Emit) -> None:
    """Damping error of refined models over many records, beside the Cramér-Rao bound [%], and how many of their 95 %
    intervals of frequencies and damping ratios hold the truth [%]."""
    from dalembert import identify
    from dalembert.linear import StateSpace

    name = task["problem"]
    p = problem(name)
    A, B, C, D = p.continuous()
    truth = StateSpace(A, B, C, D).to_discrete(p.dt)
    errors, bounds, held = [], [], []
    spent = 0.0
    for seed in range(1, task["seeds"] + 1):
        u, y = records(name, task["samples"], seed)
        record, inputs, outputs = as_record(name, u, y)
        cpu, found = cpu_time(
            lambda record=record, inputs=inputs, outputs=outputs: identify.refine(
                identify.moesp(record, inputs, outputs, order=p.order), record
            )
        )
        spent += cpu
        wrong = damping_error(name, found.frequencies_hz, found.damping_ratios)
        errors.append(np.inf if wrong is None else wrong)
        # of this very record: the information about slow modes changes from record to record
        clean = np.sqrt(np.mean(y**2, axis=0) / (1.0 + NOISE**2))
        least = identify.cramer_rao(truth, u, NOISE * clean, dt=p.dt)
        bounds.append(100.0 * np.sqrt(np.mean((least.damping_deviations / least.damping_ratios) ** 2)))
        error, bound = (float(np.sqrt(np.mean(np.square(values)))) for values in (errors, bounds))
        held += _covers(found, p)
        line = {"error": error, "bound": bound, "seeds": seed, "coverage": 100.0 * float(np.mean(held))}
        if np.isfinite(error):
            emit({"cpu": spent} | line)


def _covers(found: Any, p: Problem) -> list[bool]:
    """Whether the intervals of a model hold the frequency and the damping ratio of each true mode."""
    from dalembert import identify

    bands = identify.intervals(found, LEVEL / 100.0)
    result = []
    for wanted in zip(*p.modes(), strict=True):
        near = int(np.argmin(np.abs(found.frequencies_hz - wanted[0])))
        result += [bool(band[near, 0] <= value <= band[near, 1]) for band, value in zip(bands, wanted, strict=True)]
    return result


# --- rows ------------------------------------------------------------------------------------------------------------


def rows(samples: tuple[int, ...] = SAMPLES) -> list[Row]:
    """Time, memory and damping error for every problem and length; then accuracy over many records."""
    made = []
    for name in ("frame", "chain"):
        for count in samples:
            made += _rows(name, count)
        made += _accuracy(name, SEEDS[name])
    made.append(_oversampled())
    return made


def _oversampled() -> Row:
    """``auto`` as a whole beside one order at 150 block rows."""
    task = {"problem": "oversampled", "samples": OVERSAMPLED, "rows": 150}
    own = figure(ask("benchmarks.identify", "ours_alone", task, limit=SLOW))
    peers = {peer: figure(_ask_peer(peer, task, SLOW)) for peer in ("pyOMA2", "SLICOT")}
    errors = {who: _error("oversampled", found, 1) for who, found in ({"ours": own} | peers).items()}
    extra = {
        "details": {"ours": own, **peers},
        "note": _note(errors, {"ours": own} | peers, 1),
        "error": errors["ours"],
    }
    cpu = {who: peer.get("cpu") for who, peer in peers.items()}
    return Row(f"identify/oversampled/{OVERSAMPLED}/auto", "s", own.get("cpu"), cpu, goal=1.0, extra=extra)


def _ask_peer(peer: str, task: Mapping[str, Any], limit: float = PEER_LIMIT) -> Any:
    function = peer.lower().replace("-", "_")
    return ask("benchmarks.peers.subspace", function, task, python=peer_python(), limit=limit)


def _rows(name: str, count: int) -> list[Row]:
    task = {"problem": name, "samples": count}
    mine = {
        label: figure(ask("benchmarks.identify", "ours", {**task, "method": method, "refined": refined}, limit=SLOW))
        for label, method, refined in (
            ("moesp", "moesp", False), ("n4sid", "n4sid", False), ("moesp, refined", "moesp", True),
        )
    }  # fmt: skip
    peers = {peer: figure(_ask_peer(peer, task)) for peer in PEERS}
    common = min(len(found["modes"]) for found in (mine | peers).values() if "modes" in found)
    errors = {who: _error(name, found, common) for who, found in (mine | peers).items()}
    made = []
    for label, own in mine.items():
        cpu = {who: peer.get("cpu") for who, peer in peers.items()}
        extra: dict[str, Any] = {"error": errors[label], "details": {"ours": own}}
        if label == "moesp":  # the peers are the same in all three rows
            extra |= {"details": {"ours": own, **peers}, "note": _note(errors, mine | peers, common)}
        goal = _time_goal(peers) if label == "moesp" else None
        made.append(Row(f"identify/{name}/{count}/{label}", "s", own.get("cpu"), cpu, goal=goal, extra=extra))
    memory = {who: peer.get("megabytes") for who, peer in peers.items()}
    note = f"above the data; goal {MEMORY_GOAL:g} MB" if count == max(SAMPLES) else "above the data"
    made.append(
        Row(f"identify/{name}/{count}/memory", "MB", mine["moesp"].get("megabytes"), memory, extra={"note": note})
    )
    wrong = {who: errors[who] for who in peers}
    made.append(Row(f"identify/{name}/{count}/damping error", "%", errors["moesp"], wrong, goal=1.0))
    made.append(Row(f"identify/{name}/{count}/damping error, refined", "%", errors["moesp, refined"], wrong, goal=1.0))
    made.append(_equally_exact(f"identify/{name}/{count}/at equal accuracy", mine, peers, errors))
    return made


def _equally_exact(
    title: str, mine: Mapping[str, Any], peers: Mapping[str, Any], errors: Mapping[str, float | None]
) -> Row:
    """Our fastest way that is no less exact than a Python peer, beside the peer that it beats least."""
    worst = Row(title, "s", None, {}, goal=1.0)
    for who, peer in peers.items():
        if who == "SLICOT" or "cpu" not in peer:
            continue
        limit = errors[who]
        ours = {
            label: own["cpu"] for label, own in mine.items()
            if "cpu" in own and (limit is None or (errors[label] or np.inf) <= limit)
        }  # fmt: skip
        label = min(ours, key=lambda key: ours[key], default=None)
        if label is None:
            return Row(title, "s", None, {who: peer["cpu"]}, goal=1.0, extra={"note": f"{who} is more exact than ours"})
        row = Row(title, "s", ours[label], {who: peer["cpu"]}, goal=1.0, extra={"note": f"{label} beside {who}"})
        worst = row if worst.ratio is None or (row.ratio or 0.0) > worst.ratio else worst
    return worst


def _time_goal(peers: Mapping[str, Any]) -> float:
    """Of the best peer's time: not slower than any, or below 30 ms."""
    times = [peer["cpu"] for peer in peers.values() if peer.get("cpu")]
    return max(1.0, SMALL / min(times)) if times else 1.0


def _error(name: str, found: Mapping[str, Any], count: int) -> float | None:
    """Root mean square of the damping error over the first ``count`` records; None where a mode is missing in one."""
    wrong = [damping_error(name, *modes) for modes in found.get("modes", [])[:count]]
    known = [value for value in wrong if value is not None]
    return float(np.sqrt(np.mean(np.square(known)))) if known and len(known) == len(wrong) else None


def _note(errors: Mapping[str, float | None], found: Mapping[str, Any], count: int) -> str:
    parts = []
    for who, error in errors.items():
        if "cpu" in found[who]:
            wrong = "a mode missing" if error is None else f"{error:.3g} %"
            memory = found[who].get("megabytes")
            parts.append(f"{who} {wrong}" + ("" if memory is None else f", {memory:.0f} MB"))
    return f"damping error over {count} records, memory: " + "; ".join(parts)


def _accuracy(name: str, seeds: int) -> list[Row]:
    task = {"problem": name, "samples": ACCURACY, "seeds": seeds}
    own = figure(ask("benchmarks.identify", "our_accuracy", task, limit=SLOW))
    count, covered = own.get("seeds", 0), own.get("coverage")
    note = f"root mean square over {count} records; the peer is the least any method can have"
    inside = "" if covered is None else f"{covered:.1f} % of the {LEVEL:g} % intervals over {count} records"
    return [
        Row(
            f"identify/{name}/{ACCURACY}/bound", "%", own.get("error"), {"Cramer-Rao": own.get("bound")}, goal=1.05,
            extra={"details": {"ours": own}, "note": note},
        ),
        Row(
            f"identify/{name}/{ACCURACY}/coverage off {LEVEL:g} %", "%",
            None if covered is None else abs(covered - LEVEL), {"allowed": OFF}, goal=1.0, extra={"note": inside},
        ),
    ]  # fmt: skip
