"""The three-storey frame of spec 000 without its pendulum, and records of it (3.1; 3.2 item 9)."""

from __future__ import annotations

import numpy as np

from dalembert.linear import SecondOrder, StateSpace
from dalembert.record import Record

DT = 1.0 / 32.0
SAMPLES = 2048
FLOORS = ["a1", "a2", "a3"]
ALPHA, BETA = 0.9751, -2.8815e-4
# Recomputed in the spec: 2.00111, 5.80499, 8.85206 Hz; 0.03697, 0.00811, 0.00075.


def storey_frame(**changes: object) -> SecondOrder:
    """M, C = α M + β K, K; a force on floor 1, accelerations of the floors."""
    EJ = 207e9 * 0.035 * 1e-3**3 / 12.0
    k1, k2, k3 = (24.0 * EJ / L**3 for L in (0.23, 0.28, 0.23))
    M = np.diag([1.281, 0.814, 1.380])
    K = np.array([[k1 + k2, -k2, 0.0], [-k2, k2 + k3, -k3], [0.0, -k3, k3]])
    options: dict[str, object] = {
        "C": ALPHA * M + BETA * K, "B": [1.0, 0.0, 0.0], "Y_acceleration": np.eye(3), "inputs": "force",
        "outputs": FLOORS, "units": {"force": "N"} | dict.fromkeys(FLOORS, "m/s²"),
    }  # fmt: skip
    return SecondOrder(M, K, **(options | changes))


def sampled_frame() -> StateSpace:
    return storey_frame().state_space().to_discrete(DT)


def white(samples: int = SAMPLES, nu: int = 1, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((samples, nu))


def pulse(samples: int = SAMPLES, at: int = 0) -> np.ndarray:
    return np.eye(samples, 1, -at)


def played(
    system: StateSpace, u: np.ndarray, *, noise: float = 0.0, seed: int = 0, start: np.ndarray | None = None
) -> Record:
    """Record of inputs u (N, nu) and outputs; noise is white, relative to the rms of each output."""
    x = np.zeros(system.nx) if start is None else start
    y = np.empty((len(u), system.ny))
    for k in range(len(u)):
        y[k] = system.C @ x + system.D @ u[k]
        x = system.A @ x + system.B @ u[k]
    if noise:
        size = noise * np.sqrt(np.mean(y**2, axis=0))
        y = y + size * np.random.default_rng(1000 + seed).standard_normal(y.shape)
    time = (system.dt or 1.0) * np.arange(len(u))
    names = (*system.inputs, *system.outputs)
    return Record(time, np.hstack([u, y]), names, {n: system.units.get(n, "") for n in names})


def relative(found: np.ndarray, true: np.ndarray) -> float:
    """Frobenius norm of the error, relative."""
    return float(np.linalg.norm(np.asarray(found) - true) / np.linalg.norm(true))
