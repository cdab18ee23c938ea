"""The reduced manipulator of ``benchmarks.flexible_observer`` in NumPy, filtered by filterpy with central differences.

The equations are those of equivalent rigid links with u = Y(q) y: matrices of the links are turned into one frame at
every evaluation, K_ss is solved for the static shapes, modes turn with their links.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from benchmarks.flexible_observer import DT, TORQUES, pick, torque
from benchmarks.harness import Emit, cpu_time

RIGID = 3
# places of the origins of AB, AD, BC, CE, EF by e(q1), e(q2), e(q3); the angle that each has, and the sign along it
ORIGINS = ((0, 0, 0), (0, 0, 0), (0.5, 0, 0), (0.5, 0.85, 0), (-0.7, 0.85, 0))
TURNS = (0, 1, 1, 0, 2)
SIGNS = (1, 1, 1, -1, 1)
STEP = 1e-5  # of central differences, of the deviations of the first estimate


class Manipulator:
    """Rates and outputs of x = (masters, modes, angles, and their rates)."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.M, self.K, self.C = (scipy.linalg.block_diag(*map(np.array, data[name])) for name in "MKC")
        self.G = [np.array(block) for block in data["G"]]
        self.gauges, self.Phi, self.reference = (np.array(data[name]) for name in ("gauges", "Phi", "angles"))
        self.masters, self.slaves, self.pairs, self.owners = (data[k] for k in ("masters", "slaves", "pairs", "owners"))
        columns = np.array(data["columns"])
        place = {column: k for k, column in enumerate(data["free"])}
        self.P = np.zeros((len(columns), len(place)))
        for k, column in enumerate(columns):
            if column in place:
                self.P[k, place[column]] = 1.0
        self.link = [k for k, places in enumerate(data["places"]) for _ in places]
        self.along = np.array([
            [ORIGINS[k][i] + (SIGNS[k] * x if TURNS[k] == i else 0.0) for i in range(RIGID)]
            for k, places in enumerate(data["places"]) for x in places
        ])  # fmt: skip
        self.n = len(self.masters) + self.Phi.shape[1] + RIGID
        self.turned_nodes = [self.link.index(0), self.link.index(1), self.link.index(4)]
        self.carrier = max(k for k, link in enumerate(self.link) if link == 3)

    def pose(self, q: Any) -> Any:
        """Displacements of all nodes in the axes of their links by y, S and the drift's directions there."""
        c, s = np.cos(q), np.sin(q)
        angles = q[list(TURNS)] + np.pi * (np.array(SIGNS) < 0)
        count = len(self.link)
        e, normal = np.column_stack([c, s]), np.column_stack([-s, c])
        R = np.zeros((3 * count, 3 * count))
        S, D = np.zeros((3 * count, RIGID)), np.zeros((3 * count, RIGID))
        for node, link in enumerate(self.link):
            ca, sa = np.cos(angles[link]), np.sin(angles[link])
            R[3 * node : 3 * node + 3, 3 * node : 3 * node + 3] = [[ca, sa, 0], [-sa, ca, 0], [0, 0, 1]]
            S[3 * node : 3 * node + 2] = (self.along[node][:, None] * normal).T
            S[3 * node + 2, TURNS[link]] = 1.0
            D[3 * node : 3 * node + 2] = -(self.along[node][:, None] * e).T
        P = R @ self.P
        K = P.T @ self.K @ P
        Y = np.zeros((P.shape[1], self.n - RIGID))
        m = len(self.masters)
        Y[self.masters, range(m)] = 1.0
        right = K[np.ix_(self.slaves, self.masters)]
        Y[self.slaves, :m] = -np.linalg.solve(K[np.ix_(self.slaves, self.slaves)], right)
        modes = np.zeros((P.shape[1], self.Phi.shape[1]))
        modes[self.slaves] = self.Phi
        for (x, y), owner in zip(self.pairs, self.owners):
            turn = angles[owner] - self.reference[owner]
            cd, sd = np.cos(turn), np.sin(turn)
            modes[[x, y]] = np.array([[cd, -sd], [sd, cd]]) @ modes[[x, y]]
        Y[self.slaves, m:] = modes[self.slaves]
        return P @ Y, R @ S, R @ D

    def rate(self, x: Any, u: Any) -> Any:
        n, k = self.n, self.n - RIGID
        q, v = x[k:n], x[n:]
        G, S, D = self.pose(q)
        T = np.hstack([G, S])
        moved = G @ v[:k]
        rates = v[k:][list(TURNS)]
        convective = scipy.linalg.block_diag(*(rate * block for rate, block in zip(rates, self.G)))
        push = -self.M @ (D @ v[k:] ** 2) - self.C @ moved - 2.0 * convective @ moved
        for node, value in zip(self.turned_nodes, u):
            push[3 * node + 2] += value
        push[3 * self.carrier + 2] -= u[2]
        force = T.T @ push
        force[:k] -= G.T @ (self.K @ (G @ x[:k]))
        return np.concatenate([v, np.linalg.solve(T.T @ self.M @ T, force)])

    def step(self, x: Any, u: Any) -> Any:
        k1 = self.rate(x, u)
        k2 = self.rate(x + DT / 2 * k1, u)
        k3 = self.rate(x + DT / 2 * k2, u)
        k4 = self.rate(x + DT * k3, u)
        return x + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def outputs(self, x: Any) -> Any:
        k = self.n - RIGID
        G, _, _ = self.pose(x[k : self.n])
        return np.concatenate([x[k : self.n], self.gauges @ (G @ x[:k])])


def slopes(function: Any, x: Any, steps: Any) -> Any:
    """Central differences."""
    columns = []
    for k, h in enumerate(steps):
        shift = np.zeros(len(x))
        shift[k] = h
        columns.append((function(x + shift) - function(x - shift)) / (2 * h))
    return np.column_stack(columns)


def filterpy(task: dict[str, Any], emit: Emit) -> None:
    from filterpy.kalman import ExtendedKalmanFilter

    model = Manipulator(task)
    readings, nx = np.array(task["readings"]), 2 * model.n
    steps = STEP * np.sqrt(np.diag(task["P0"]))
    forces = np.column_stack([torque(name, DT * np.arange(len(readings))) for name in TORQUES])

    class Filter(ExtendedKalmanFilter):  # type: ignore[misc]
        def predict_x(self, u: Any = 0) -> None:
            self.F = slopes(lambda x: model.step(x, u), self.x, steps)
            self.x = model.step(self.x, u)

    def run() -> Any:
        f = Filter(nx, readings.shape[1])
        f.x = np.zeros(nx)
        f.x[model.n - RIGID : model.n] = task["start"]
        f.P, f.Q, f.R = (np.array(task[name]) for name in ("P0", "Q", "R"))
        f.R = np.diag(f.R)
        estimates = np.empty((len(readings), nx))
        for k, sample in enumerate(readings):
            if k:
                f.predict(forces[k - 1])
            f.update(sample, lambda x: slopes(model.outputs, x, steps), model.outputs)
            estimates[k] = f.x
        return estimates

    cpu, estimates = cpu_time(run)
    emit({"us": 1e6 * cpu / len(readings), "estimates": pick(estimates)})
