"""Group ``filters``: extended and sigma-point Kalman filters of a chain of Duffing oscillators, beside other packages.

    q̈_i = k (q_{i-1} - 2 q_i + q_{i+1}) - c q̇_i - α q_i³ + random force ,    walls at both ends

of 3, 5 and 10 masses (6, 10 and 20 states); Runge-Kutta 4, one step per sample; three positions are measured. Every
process makes the same record by itself with NumPy only, and gives back its estimates of some samples: all must agree to
1e-9 of the largest (lengths in millimetres: dynamax adds 1e-9 to the diagonal of S, which must be far below R). Sigma
points: scaled with α = 1, β = 2, κ = 0, drawn again after the noise of the process was added; pykalman has α = 1,
β = 0, κ = 3 - n fixed and is compared with ours of that kind.

Figures: microseconds of CPU time per sample, everything included that a run over a record does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Emit, Row, ask, cpu_time, peer_python, repeats

STATES = (6, 10, 20)
SAMPLES, PEER_SAMPLES = 100_000, 2_000
STIFFNESS, DAMPING, CUBIC, DT = 100.0, 0.2, 50e-6, 0.01  # 1/s², 1/s, 1/(mm² s²), s
FORCE, NOISE = 50.0, 10.0  # standard deviations: of the speeds' random change per step [mm/s], of a measured position
Q_POSITION, Q_SPEED, R, P0 = 1e-2, FORCE**2, NOISE**2, 1e3
COMPARED = 40  # samples whose estimates are compared
SAME = 1e-9
PEERS = {"ukf": ("filterpy", "pykalman", "stonesoup", "dynamax"), "ekf": ("filterpy", "stonesoup", "dynamax")}
GOALS = {"ukf": {"filterpy": 1 / 50, "dynamax": 1 / 2}, "ekf": {"filterpy": 1 / 20, "dynamax": 1 / 2}}
LIMIT = 600.0


@dataclass(frozen=True)
class Chain:
    """The problem for one number of states, in NumPy."""

    states: int

    @property
    def masses(self) -> int:
        return self.states // 2

    @property
    def seen(self) -> list[int]:
        return [0, self.masses // 2, self.masses - 1]

    @property
    def Q(self) -> Any:
        return np.diag([Q_POSITION] * self.masses + [Q_SPEED] * self.masses)

    @property
    def H(self) -> Any:
        return np.eye(self.states)[self.seen]

    def rate(self, x: Any) -> Any:
        """Of one state (states,) or of many (states, N)."""
        q, v = x[: self.masses], x[self.masses :]
        bend = -2.0 * q
        bend[1:] += q[:-1]
        bend[:-1] += q[1:]
        return np.concatenate([v, STIFFNESS * bend - DAMPING * v - CUBIC * q**3])

    def step(self, x: Any) -> Any:
        k1 = self.rate(x)
        k2 = self.rate(x + DT / 2 * k1)
        k3 = self.rate(x + DT / 2 * k2)
        k4 = self.rate(x + DT * k3)
        return x + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def slope(self, x: Any) -> Any:
        """∂rate/∂x."""
        n = self.masses
        A = np.zeros((2 * n, 2 * n))
        A[:n, n:] = np.eye(n)
        A[n:, :n] = STIFFNESS * (np.eye(n, k=1) + np.eye(n, k=-1) - 2.0 * np.eye(n))
        A[n:, :n] -= np.diag(3.0 * CUBIC * x[:n] ** 2)
        A[n:, n:] = -DAMPING * np.eye(n)
        return A

    def step_slope(self, x: Any) -> Any:
        """∂step/∂x, exact."""
        one = np.eye(self.states)
        k1 = self.rate(x)
        K1 = self.slope(x)
        x2 = x + DT / 2 * k1
        k2, K2 = self.rate(x2), self.slope(x2) @ (one + DT / 2 * K1)
        x3 = x + DT / 2 * k2
        k3, K3 = self.rate(x3), self.slope(x3) @ (one + DT / 2 * K2)
        K4 = self.slope(x + DT * k3) @ (one + DT * K3)
        return one + DT / 6 * (K1 + 2 * K2 + 2 * K3 + K4)

    def record(self, samples: int, seed: int = 1) -> Any:
        """(samples, 3) measured positions; the first ones of a longer record are those of a shorter."""
        rng = np.random.default_rng(seed)
        x = np.zeros(self.states)
        y = np.empty((samples, 3))
        seen = self.seen
        for k in range(samples):
            draw = rng.standard_normal(self.masses + 3)
            y[k] = x[seen] + NOISE * draw[self.masses :]
            x = self.step(x)
            x[self.masses :] += FORCE * draw[: self.masses]
        return y


def pick_samples(estimates: Any, samples: int = PEER_SAMPLES) -> list[list[float]]:
    """Some of the estimates (samples, states), for comparison."""
    return np.asarray(estimates)[np.linspace(0, samples - 1, COMPARED).astype(int)].tolist()


# --- ours ------------------------------------------------------------------------------------------------------------


def ours(task: dict[str, Any], emit: Emit) -> None:
    """One filter; and that with the rule of pykalman, for its estimates only."""
    import dalembert as da

    chain = Chain(task["states"])
    model = _model(chain)
    outputs = ["a", "b", "c"]
    y = chain.record(SAMPLES)

    def part(samples: int) -> Any:
        return da.Record(DT * np.arange(samples), y[:samples], outputs)

    record, short = part(SAMPLES), part(PEER_SAMPLES)
    noise = {"Q": chain.Q, "R": R, "P0": P0, "dt": DT}

    def made(**rule: Any) -> Any:
        if task["kind"] == "ekf":
            return da.estimate.ExtendedKalman(model, **noise)
        points = da.estimate.Scaled(**(rule or {"alpha": 1.0, "beta": 2.0, "kappa": 0.0}))
        return da.estimate.SigmaPointKalman(model, points=points, **noise)

    if task["kind"] == "ukf":
        own = made(alpha=1.0, beta=0.0, kappa=3.0 - chain.states).run(short)
        emit({"rule": "pykalman's", "estimates": pick_samples(own.states)})
    begin = time.perf_counter()
    used = made()
    assert used.native is not None  # made on first use
    line: dict[str, Any] = {"rule": "ours", "build_s": time.perf_counter() - begin}
    begin = time.perf_counter()
    line |= {"estimates": pick_samples(used.run(short).states), "first_call_s": time.perf_counter() - begin}
    used.run(record)
    cpu, _ = cpu_time(lambda: used.run(record))
    times = [cpu, *(cpu_time(lambda: used.run(record))[0] for _ in range(repeats(cpu) - 1))]
    emit(line | {"us": 1e6 * min(times) / len(record), "repeats": len(times)})


def _model(chain: Chain) -> Any:
    """The same chain for us, as a user writes it."""
    import dalembert as da

    n = chain.masses

    def f(x: Any, u: Any) -> list[Any]:
        q, v = [x[i] for i in range(n)], [x[n + i] for i in range(n)]
        padded = [0.0, *q, 0.0]
        bend = [padded[i] - 2.0 * q[i] + padded[i + 2] for i in range(n)]
        return [*v, *(STIFFNESS * bend[i] - DAMPING * v[i] - CUBIC * q[i] ** 3 for i in range(n))]

    states = [*(f"q{i}" for i in range(n)), *(f"v{i}" for i in range(n))]
    return da.estimate.UserModel(f, lambda x: [x[i] for i in chain.seen], states=states, outputs=["a", "b", "c"])


# --- rows ------------------------------------------------------------------------------------------------------------


def rows(states: tuple[int, ...] = STATES) -> list[Row]:
    made = []
    for kind in ("ekf", "ukf"):
        for count in states:
            made += _rows(kind, count)
    return made


def _rows(kind: str, states: int) -> list[Row]:
    task = {"kind": kind, "states": states}
    answer = ask("benchmarks.filters", "ours", task, limit=LIMIT)
    mine = {line["rule"]: line for line in answer.lines}
    peers = {
        peer: figure(ask("benchmarks.peers.filters", f"{peer}_{kind}", task, python=peer_python(), limit=LIMIT))
        for peer in PEERS[kind]
    }
    times = {peer: found.get("us") for peer, found in peers.items()}
    own = {key: value for key, value in mine.get("ours", {}).items() if key != "estimates"}
    own |= {"status": answer.status, "reason": answer.reason}
    apart = _apart(mine, peers)
    note = "largest difference of estimates from ours: " + ", ".join(f"{k} {v:.1e}" for k, v in apart.items())
    wrong = [peer for peer, value in apart.items() if not value <= SAME]
    if wrong:
        note += f"; NOT the same: {', '.join(wrong)}"
    name = f"filters/{kind}/{states}"
    details = {who: {k: v for k, v in found.items() if k != "estimates"} for who, found in peers.items()}
    extra = {key: own.get(key) for key in ("build_s", "first_call_s")} | {"details": {"ours": own, **details}}
    beside = [
        Row(f"{name}, beside {peer}", "us", own.get("us"), {peer: times.get(peer)}, goal=goal)
        for peer, goal in GOALS[kind].items()
    ]
    return [Row(name, "us", own.get("us"), times, goal=1.0, extra=extra | {"note": note}), *beside]


def figure(answer: Answer) -> dict[str, Any]:
    """Last line of a process, with how it ended."""
    line = answer.lines[-1] if answer.lines else {}
    return {**line, "status": answer.status, "reason": answer.reason}


def _apart(mine: Mapping[str, Any], peers: Mapping[str, Any]) -> dict[str, float]:
    """Largest difference of each peer's estimates from ours, relative to the largest estimate."""
    apart = {}
    for who, line in peers.items():
        values = line.get("estimates")
        against = mine.get("pykalman's" if who == "pykalman" else "ours", {}).get("estimates")
        if values is not None and against is not None:
            apart[who] = float(np.abs(np.subtract(values, against)).max() / np.abs(against).max())
    return apart
