"""Group ``robust``: H-infinity synthesis of spring chains, D-K iteration and μ of a distillation column.

Unit masses between unit springs with free ends, C = 0.02 K, the control force on the first mass; disturbance force,
position sensor with noise 0.05 and controlled position on the last, penalty 0.3 of the force. Peers: python-control
(SLICOT's SB10AD) and dkpy (matrix inequalities). Everybody's controller is judged by the same loop: its poles, and its
largest gain on a dense grid of frequencies. Time counts only where the loop is stable.

The column is example 8.12 of Skogestad and Postlethwaite (2005). Everybody's controller is judged by its largest μ on
400 frequencies, by the same minimisation over the scalings of its two valves; time counts where ours is not the larger
one. μ is that of the inverse-based controller of the book: upper bounds on 60 frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Emit, Row, ask, cpu_time, peer_python, repeats
from benchmarks.structures import figure

SIZES = {20: 10, 40: 20}  # states: masses
GOALS = {"python-control": 0.25, "dkpy": 0.05}
LMI_MASSES = 3
GAINS = [[87.8, -86.4], [108.2, -109.6]]
FREQUENCIES = 60
AS_LARGE = 1e-3  # relative excess of a largest μ that its tolerance explains


def rows() -> list[Row]:
    """Seconds of one synthesis; the gain that its loop has is in the note."""
    result = [_row(f"hinf/{states}", "hinf", masses, GOALS) for states, masses in SIZES.items()]
    result.append(_row(f"lmi/{2 * LMI_MASSES}", "lmi", LMI_MASSES, {"dkpy": 1.0}))
    return [*result, _column_row("dk", 0.3), _column_row("mu", 0.05)]


def _column_row(name: str, goal: float) -> Row:
    mine = figure(ask("benchmarks.robust", name, {}))
    peer = figure(ask("benchmarks.robust", f"dkpy_{name}", {}, python=peer_python()))
    both = mine.get("cpu") and peer.get("cpu")
    verified = both and mine["mu"] <= (1.0 + AS_LARGE) * peer["mu"]
    words = [f"{who} {found['mu']:.5g}" for who, found in (("largest μ ours", mine), ("dkpy", peer)) if "mu" in found]
    words += [f"order {mine['order']} and {peer['order']}"] if both and "order" in mine else []
    words += [f"{mine['cpu'] / peer['cpu']:.4f} of dkpy (goal {goal:g})"] if both else []
    words += [f"{mine['whole']:.2g} s with worst machine and proof"] if "whole" in mine else []
    extra = {"details": {"ours": mine, "dkpy": peer}, "note": "; ".join(words), "error": mine.get("mu")}
    return Row(f"robust/{name}", "s", mine.get("cpu") if verified or not both else None, {"dkpy": peer.get("cpu")},
               goal, extra=extra)  # fmt: skip


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


# -- the distillation column -------------------------------------------------------------------------------------------


def column() -> Any:
    """The column with uncertain valves and weights; our plant."""
    from dalembert.control import tf
    from dalembert.linear import StateSpace, append, connect, dynamic_block

    G = StateSpace(-np.eye(2) / 75, np.eye(2) / 75, GAINS, inputs=["v1", "v2"], outputs=["g1", "g2"])
    valve = tf([1.0, 0.2], [0.5, 1.0])
    valves = [dynamic_block(f"valve{k}", inputs=f"u{k}", outputs=f"a{k}", weight=valve) for k in (1, 2)]
    weight = append([tf([5.0, 0.5], [10.0, 1e-5])] * 2).replace(inputs=["e1", "e2"], outputs=["z1", "z2"])
    pair = [[1, 0, 1, 0], [0, 1, 0, 1]]
    driven = StateSpace.gain(pair, inputs=["u1", "u2", "a1", "a2"], outputs=["v1", "v2"])
    error = StateSpace.gain(pair, inputs=["g1", "g2", "w1", "w2"], outputs=["e1", "e2"])
    read = StateSpace.gain(-np.eye(2), inputs=["e1", "e2"], outputs=["y1", "y2"])
    parts = [G, *valves, weight, driven, error, read]
    return connect(parts, inputs=["w1", "w2", "u1", "u2"], outputs=["z1", "z2", "y1", "y2"])


def inverse_based() -> tuple[Any, Any, Any, Any]:
    """0.7 (75 s + 1)/s G(0)⁻¹."""
    gain = 0.7 * np.linalg.inv(GAINS)
    return np.zeros((2, 2)), np.eye(2), gain, 75.0 * gain


def largest_mu(controller: tuple[Any, Any, Any, Any], count: int = 400) -> float:
    """Largest upper bound of μ, minimised over the scalings of both valves, from 1e-4 to 1e3 rad/s."""
    import scipy.optimize

    A, B, C, D = (np.atleast_2d(np.asarray(each, dtype=float)) for each in controller)
    best, x = 0.0, np.zeros(2)
    for s in 1j * np.geomspace(1e-4, 1e3, count):
        K = C @ np.linalg.solve(s * np.eye(len(A)) - A, B) + D
        G = np.array(GAINS) / (75.0 * s + 1.0)
        w_i, w_p = (s + 0.2) / (0.5 * s + 1.0), 0.5 * (10.0 * s + 1.0) / (10.0 * s + 1e-5)
        S = np.linalg.inv(np.eye(2) + G @ K)  # of e = G v + w, u = -K e
        M = np.block([[-w_i * K @ S @ G, -w_i * K @ S], [w_p * S @ G, w_p * S]])

        def gain(x: Any, M: Any = M) -> float:
            d = np.exp(np.array([*x, 0.0, 0.0]))
            return float(np.linalg.norm(d[:, None] * M / d, 2))

        guesses = [scipy.optimize.minimize(gain, start, method="Nelder-Mead") for start in (x, np.zeros(2))]
        found = min(guesses, key=lambda each: each.fun)
        best, x = max(best, float(found.fun)), found.x
    return best


def _measure_column(emit: Emit, solve: Any) -> None:
    cpu, controller = cpu_time(solve)
    emit({"cpu": cpu, "mu": largest_mu(controller), "order": len(controller[0])})


def dk(task: dict[str, Any], emit: Emit) -> None:
    """Two controllers reach the peer's μ; the order stays, as the peer's does.

    The number of rounds was chosen with the peer's μ known; by default the iteration goes on to 1.011.
    """
    from dalembert.control import dk

    def solve() -> Any:
        K = dk(column(), outputs=["y1", "y2"], inputs=["u1", "u2"], rounds=2, excess=0.0).controller
        return K.A, K.B, K.C, K.D

    _measure_column(emit, solve)


def dkpy_dk(task: dict[str, Any], emit: Emit) -> None:
    """As its own example of this column: three iterations with scalings up to order 4."""
    import dkpy

    example = dkpy.example_skogestad2006_p325()
    search = dkpy.DkIterAutoOrder(
        controller_synthesis=dkpy.HinfSynSlicot(), structured_singular_value=dkpy.SsvLmiBisection(n_jobs=1),
        d_scale_fit=dkpy.DScaleFitSlicot(), max_mu=1, max_mu_fit_error=1e-2, max_iterations=3, max_fit_order=4,
    )  # fmt: skip

    def solve() -> Any:
        K, *_ = search.synthesize(example["P"], example["n_y"], example["n_u"], np.logspace(-3, 3, 61), _blocks())
        return K.A, K.B, K.C, K.D

    _measure_column(emit, solve)


def _blocks() -> list[Any]:
    import dkpy

    return [dkpy.ComplexFullBlock(1, 1), dkpy.ComplexFullBlock(1, 1), dkpy.ComplexFullBlock(2, 2)]


def mu(task: dict[str, Any], emit: Emit) -> None:
    """The upper bounds alone, as the peer's; ``whole`` : the public call, with worst valves and proof."""
    from dalembert.control import mu
    from dalembert.control.uncertainty.mu import Cover, closed_blocks
    from dalembert.control.uncertainty.structured_bound import BlockStructure
    from dalembert.linear import StateSpace, connect

    law = StateSpace(*inverse_based(), inputs=["y1", "y2"], outputs=["u1", "u2"])
    w, z, omega = ("w1", "w2"), ("z1", "z2"), np.logspace(-3, 3, FREQUENCIES)
    loop = connect([column(), law], inputs=w, outputs=z)
    system, blocks = closed_blocks(loop, w, z)

    def bounds() -> Any:
        cover = Cover((system.A, system.B, system.C, system.D), BlockStructure(blocks), 2e-3)
        return max(cover.at(float(f)).bound for f in omega)

    cpu, bound = min((cpu_time(bounds) for _ in range(5)), key=lambda each: each[0])
    whole, judged = cpu_time(lambda: mu(loop, inputs=w, outputs=z, frequencies=omega))
    emit({"cpu": cpu, "mu": float(bound), "whole": whole, "proved": judged.proved})


def dkpy_mu(task: dict[str, Any], emit: Emit) -> None:
    import control
    import dkpy

    example = dkpy.example_skogestad2006_p325()
    loop = example["P"].lft(control.ss(*inverse_based()))
    response = loop(1j * np.logspace(-3, 3, FREQUENCIES))
    cpu, (bound, *_) = cpu_time(lambda: dkpy.SsvLmiBisection(n_jobs=1).compute_ssv(response, block_structure=_blocks()))
    emit({"cpu": cpu, "mu": float(np.max(bound))})
