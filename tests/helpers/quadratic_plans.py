"""The optimal input of a finite horizon by one least-squares problem."""

from __future__ import annotations

import numpy as np

from dalembert.linear import StateSpace


def with_cross_term() -> tuple[StateSpace, dict]:
    """Three states, two inputs, weights whose N is as large as Q and R allow within a factor of two; a full Q_T."""
    rng = np.random.default_rng(11)
    system = StateSpace(rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), states=["a", "b", "c"], inputs=["u", "w"])
    root, end = rng.normal(size=(5, 5)), rng.normal(size=(3, 3))
    whole = root @ root.T
    return system, {"Q": whole[:3, :3], "N": whole[:3, 3:], "R": whole[3:, 3:], "Q_T": end @ end.T}


def least_squares_plan(system: StateSpace, given: dict, x0: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """Inputs (count, nu) and cost of the sampled problem as one minimisation over all inputs at once."""
    n, m = system.B.shape
    through = np.zeros((n, count * m))  # x_k = free + through @ u
    free, whole, slope, rest = x0, np.zeros((count * m, count * m)), np.zeros(count * m), 0.0
    for k in range(count):
        pick = np.eye(count * m)[k * m : k * m + m]
        whole += through.T @ given["Q"] @ through + pick.T @ given["R"] @ pick
        whole += through.T @ given["N"] @ pick + pick.T @ given["N"].T @ through
        slope += through.T @ given["Q"] @ free + pick.T @ given["N"].T @ free
        rest += free @ given["Q"] @ free
        free, through = system.A @ free, system.A @ through + system.B @ pick
    whole += through.T @ given["Q_T"] @ through
    slope += through.T @ given["Q_T"] @ free
    rest += free @ given["Q_T"] @ free
    u = -np.linalg.solve(whole, slope)
    return u.reshape(count, m), float(rest + slope @ u)
