"""Group ``robust``: H-infinity synthesis of spring chains by Riccati equations and by matrix inequalities.

Unit masses between unit springs with free ends, C = 0.02 K, the control force on the first mass; disturbance force,
position sensor with noise 0.05 and controlled position on the last, penalty 0.3 of the force. Peers: python-control
(SLICOT's SB10AD) and dkpy (matrix inequalities). Everybody's controller is judged by the same loop: its poles, and its
largest gain on a dense grid of frequencies. Time counts only where the loop is stable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Emit, Row, ask, cpu_time, peer_python, repeats
from benchmarks.structures import figure

SIZES = {20: 10, 40: 20}  # states: masses
GOALS = {"python-control": 0.25, "dkpy": 0.05}
LMI_MASSES = 3


def rows() -> list[Row]:
    """Seconds of one synthesis; the gain that its loop has is in the note."""
    result = [_row(f"hinf/{states}", "hinf", masses, GOALS) for states, masses in SIZES.items()]
    return [*result, _row(f"lmi/{2 * LMI_MASSES}", "lmi", LMI_MASSES, {"dkpy": 1.0})]


def _row(name: str, ours: str, masses: int, goals: dict[str, float]) -> Row:
    task = {"masses": masses}
    mine = figure(ask("benchmarks.robust", ours, task))
    functions = {"python-control": "python_control", "dkpy": "dkpy"}
    peers = {peer: figure(ask("benchmarks.robust", functions[peer], task, python=peer_python())) for peer in goals}
    seconds = {peer: found.get("cpu") if found.get("stable") else None for peer, found in peers.items()}
    words = []
    for who, found in (("ours", mine), *peers.items()):
        if "gain" in found:
            loop = f"gain {found['gain']:.5g}" if found["stable"] else "unstable"
            words.append(f"{who} {loop}, fastest pole {found['fastest']:.2g} rad/s")
    for peer, goal in goals.items():
        if mine.get("cpu") and peers[peer].get("cpu"):
            words.append(f"{mine['cpu'] / peers[peer]['cpu']:.4f} of {peer} (goal {goal:g})")
    extra = {"details": {"ours": mine, **peers}, "note": "; ".join(words), "error": mine.get("gain")}
    return Row(f"robust/{name}", "s", mine.get("cpu") if mine.get("stable") else None, seconds, extra=extra)


def chain(masses: int) -> tuple[Any, Any, Any, Any]:
    """A, B, C, D with inputs force, noise, push and outputs place, effort, reading."""
    K = np.diag([1.0, *[2.0] * (masses - 2), 1.0]) - np.eye(masses, k=1) - np.eye(masses, k=-1)
    A = np.block([[np.zeros((masses, masses)), np.eye(masses)], [-K, -0.02 * K]])
    B, C, D = np.zeros((2 * masses, 3)), np.zeros((3, 2 * masses)), np.zeros((3, 3))
    B[-1, 0] = B[masses, 2] = C[0, masses - 1] = C[2, masses - 1] = 1.0
    D[1, 2], D[2, 1] = 0.3, 0.05
    return A, B, C, D


def judge(masses: int, controller: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    """Stability, fastest pole and largest gain on 4000 frequencies of the loop with u = K y."""
    A, B, C, D = chain(masses)
    Ak, Bk, Ck, Dk = (np.atleast_2d(np.asarray(each, dtype=float)) for each in controller)
    A_ = np.block([[A + B[:, 2:] @ Dk @ C[2:], B[:, 2:] @ Ck], [Bk @ C[2:], Ak]])
    B_ = np.vstack([B[:, :2] + B[:, 2:] @ Dk @ D[2:, :2], Bk @ D[2:, :2]])
    C_ = np.hstack([C[:2] + D[:2, 2:] @ Dk @ C[2:], D[:2, 2:] @ Ck])
    D_ = D[:2, :2] + D[:2, 2:] @ Dk @ D[2:, :2]
    values, V = np.linalg.eig(A_)
    left, right = C_ @ V, np.linalg.solve(V, B_)
    s = 1j * np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 4000)])
    G = np.einsum("zi,fi,iw->fzw", left, 1.0 / (s[:, None] - values), right) + D_
    gain = float(np.linalg.svd(G, compute_uv=False).max())
    return {"stable": bool(values.real.max() < 0.0), "fastest": float(np.abs(values).max()), "gain": gain}


def _measure(task: dict[str, Any], emit: Emit, solve: Any) -> None:
    masses = int(task["masses"])
    cpu, controller = cpu_time(lambda: solve(masses))
    emit({"cpu": cpu, **judge(masses, controller)})
    count = repeats(cpu) if cpu < 2.0 else 1
    cpu = min([cpu, *(cpu_time(lambda: solve(masses))[0] for _ in range(count - 1))])
    emit({"cpu": cpu, **judge(masses, controller)})


def _ours(task: dict[str, Any], emit: Emit, synthesize: Any) -> None:
    from dalembert.linear import StateSpace

    def solve(masses: int) -> Any:
        plant = StateSpace(*chain(masses), inputs=["force", "noise", "push"], outputs=["place", "effort", "reading"])
        K = synthesize(plant).controller
        return K.A, K.B, K.C, K.D

    _measure(task, emit, solve)


def hinf(task: dict[str, Any], emit: Emit) -> None:
    from dalembert.control import hinf

    _ours(task, emit, lambda plant: hinf(plant, outputs="reading", inputs="push"))


def lmi(task: dict[str, Any], emit: Emit) -> None:
    from dalembert.control import lmi_output_feedback

    names = {"outputs": "reading", "inputs": "push"}
    _ours(task, emit, lambda plant: lmi_output_feedback(plant, minimum="H-infinity", **names))


def python_control(task: dict[str, Any], emit: Emit) -> None:
    import control

    def solve(masses: int) -> Any:
        K, *_ = control.hinfsyn(control.ss(*chain(masses)), 1, 1)
        return K.A, K.B, K.C, K.D

    _measure(task, emit, solve)


def dkpy(task: dict[str, Any], emit: Emit) -> None:
    import control
    import dkpy

    def solve(masses: int) -> Any:
        K, *_ = dkpy.HinfSynLmi().synthesize(control.ss(*chain(masses)), 1, 1)
        return K.A, K.B, K.C, K.D

    _measure(task, emit, solve)
