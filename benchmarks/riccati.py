"""Group ``riccati``: continuous algebraic Riccati equations of 10 to 400 states, beside SciPy and SLICOT.

Three machines: ``random`` (unstable, a tenth as many inputs as states), ``chain`` (masses and springs with some
damping, a force at both ends), ``undamped`` (the same without any damping). Every process makes its matrices by itself;
everybody's solution is judged by the same residual,

    ‖Aᵀ X + X A - X B Bᵀ X + Q‖ / (2 ‖Aᵀ X‖ + ‖X B Bᵀ X‖ + ‖Q‖) .

Ours is the whole public call: gain, poles and residual of its own included.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Emit, Row, ask, cpu_time, peer_python, repeats
from benchmarks.structures import figure

SIZES = (10, 50, 100, 200, 400)
MACHINES = ("random", "chain", "undamped")
PEERS = ("SciPy", "SLICOT")
GOAL = 1.0 / 3.0  # of SciPy's time, at 400 states
RESIDUAL = 1e-10


def rows() -> list[Row]:
    """Seconds of one solution; the residuals are in the note."""
    found = []
    for machine in MACHINES:
        for n in SIZES if machine == "random" else SIZES[-1:]:
            task = {"machine": machine, "n": n}
            mine = figure(ask("benchmarks.riccati", "ours", task))
            peers = {
                name: figure(ask("benchmarks.riccati", name.lower(), task, python=peer_python())) for name in PEERS
            }
            seconds = {name: peer.get("cpu") for name, peer in peers.items()}
            said = [f"{name} {f['residual']:.0e}" for name, f in (("ours", mine), *peers.items()) if "residual" in f]
            ratio = ""
            if mine.get("cpu") and seconds["SciPy"]:
                ratio = f"; of SciPy's time {mine['cpu'] / seconds['SciPy']:.2f}"
                ratio += f" (goal {GOAL:.2f})" if n == SIZES[-1] else ""
            note = f"residuals: {', '.join(said)} (goal {RESIDUAL:.0e}){ratio}"
            extra = {"details": {"ours": mine, **peers}, "note": note, "error": mine.get("residual")}
            found.append(Row(f"riccati/{machine}/{n}", "s", mine.get("cpu"), seconds, extra=extra))
    return found


def matrices(task: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """A, B, Q, R of the task."""
    n = int(task["n"])
    if task["machine"] == "random":
        rng = np.random.default_rng(n)
        A, B = rng.normal(size=(n, n)), rng.normal(size=(n, max(1, n // 10)))
        return A, B, np.eye(n), np.eye(B.shape[1])
    half = n // 2
    K = 1e3 * (2.0 * np.eye(half) - np.eye(half, k=1) - np.eye(half, k=-1))
    C = 1e-3 * K + 0.02 * np.eye(half) if task["machine"] == "chain" else np.zeros((half, half))
    A = np.block([[np.zeros((half, half)), np.eye(half)], [-K, -C]])
    B = np.zeros((n, 2))
    B[half, 0] = B[-1, 1] = 1.0
    return A, B, np.eye(n), np.eye(2)


def _measure(task: dict[str, Any], emit: Emit, solve: Any) -> None:
    A, B, Q, R = matrices(task)
    cpu, X = cpu_time(lambda: solve(A, B, Q, R))
    count = repeats(cpu)
    cpu = min([cpu, *(cpu_time(lambda: solve(A, B, Q, R))[0] for _ in range(count - 1))])
    AX, XGX = A.T @ X, X @ (B @ np.linalg.solve(R, B.T)) @ X
    size = 2.0 * np.linalg.norm(AX) + np.linalg.norm(XGX) + np.linalg.norm(Q)
    emit({"cpu": cpu, "residual": float(np.linalg.norm(AX + AX.T - XGX + Q) / size), "repeats": count})


def ours(task: dict[str, Any], emit: Emit) -> None:
    from dalembert.linear.transforms.riccati import care

    _measure(task, emit, lambda A, B, Q, R: care(A, B, Q, R).X)


def scipy(task: dict[str, Any], emit: Emit) -> None:
    from scipy.linalg import solve_continuous_are

    _measure(task, emit, solve_continuous_are)


def slicot(task: dict[str, Any], emit: Emit) -> None:
    """SB02MD, Laub's Schur method, with scaling."""
    import ctrlsys

    def solve(A: Any, B: Any, Q: Any, R: Any) -> Any:
        G = B @ np.linalg.solve(R, B.T)
        a, g, q = (np.asfortranarray(value) for value in (A, 0.5 * (G + G.T), Q))
        X, *_, info = ctrlsys.sb02md("C", "D", "U", "G", "S", len(A), a, g, q)
        if info:
            raise RuntimeError(f"SB02MD ended with info = {info}")
        return X

    _measure(task, emit, solve)
