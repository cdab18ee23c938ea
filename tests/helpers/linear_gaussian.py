"""Random linear-Gaussian problems and a Kalman filter written out in plain NumPy, for the tests of filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.linear import StateSpace
from dalembert.record import Record

DT = 0.1


@dataclass(frozen=True)
class Problem:
    """x' = A x + B u + w, y = C x + D u + v, with a start."""

    system: StateSpace
    Q: Any
    R: Any
    x0: Any
    P0: Any

    def simulate(self, rng: Any, count: int, gaps: float = 0.0) -> Record:
        """Inputs, outputs (with gaps) and true states."""
        s = self.system
        nx, ny, nu = len(s.states), len(s.outputs), len(s.inputs)
        u = rng.standard_normal((count, nu))
        x, y = np.empty((count, nx)), np.empty((count, ny))
        x[0] = self.x0 + np.linalg.cholesky(self.P0) @ rng.standard_normal(nx)
        w = rng.standard_normal((count, nx)) @ np.linalg.cholesky(self.Q).T
        v = rng.standard_normal((count, ny)) @ np.linalg.cholesky(self.R).T
        for k in range(count):
            if k:
                x[k] = s.A @ x[k - 1] + s.B @ u[k - 1] + w[k]
            y[k] = s.C @ x[k] + s.D @ u[k] + v[k]
        y[rng.random((count, ny)) < gaps] = np.nan
        return Record(DT * np.arange(count), np.hstack([u, y, x]), [*s.inputs, *s.outputs, *s.states])

    def filtered(self, record: Record) -> tuple[Any, Any, float]:
        """Means (N, nx), covariances (N, nx, nx), log-likelihood; rows that were not measured are dropped.

        P stays symmetric by Joseph's form. In P - K S Kᵀ an odd part E of rounding becomes A (I + K C) E (...)ᵀ, with
        the wrong sign, and grows without end.
        """
        s = self.system
        u, y = record[list(s.inputs)], record[list(s.outputs)]
        x, P = np.array(self.x0), np.array(self.P0)
        means, covariances, total = [], [], 0.0
        for k in range(len(record)):
            if k:
                x, P = s.A @ x + s.B @ u[k - 1], s.A @ P @ s.A.T + self.Q
            rows = np.isfinite(y[k])
            if rows.any():
                C, R = s.C[rows], self.R[np.ix_(rows, rows)]
                S = C @ P @ C.T + R
                e = (y[k] - s.D @ u[k])[rows] - C @ x
                K = np.linalg.solve(S, C @ P).T
                left = np.eye(len(x)) - K @ C
                x, P = x + K @ e, left @ P @ left.T + K @ R @ K.T
                P = 0.5 * (P + P.T)
                total -= 0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(2 * np.pi * S)[1])
            means.append(x)
            covariances.append(P)
        return np.array(means), np.array(covariances), total

    def batch(self, record: Record) -> tuple[Any, Any]:
        """Least squares over the whole trajectory at once: means (N, nx), covariances (N, nx, nx)."""
        s = self.system
        u, y, n, count = record[list(s.inputs)], record[list(s.outputs)], len(s.states), len(record)
        rows, right = [], []

        def add(blocks: dict[int, Any], value: Any, weight: Any) -> None:
            L = np.linalg.inv(np.linalg.cholesky(weight))
            row = np.zeros((len(value), n * count))
            for k, block in blocks.items():
                row[:, k * n : (k + 1) * n] = L @ block
            rows.append(row)
            right.append(L @ value)

        add({0: np.eye(n)}, self.x0, self.P0)
        for k in range(count):
            if k:
                add({k: np.eye(n), k - 1: -s.A}, s.B @ u[k - 1], self.Q)
            there = np.isfinite(y[k])
            if there.any():
                add({k: s.C[there]}, (y[k] - s.D @ u[k])[there], self.R[np.ix_(there, there)])
        J = np.vstack(rows)
        mean = np.linalg.lstsq(J, np.concatenate(right), rcond=None)[0].reshape(count, n)
        P = np.linalg.inv(J.T @ J)
        return mean, np.array([P[k * n : (k + 1) * n, k * n : (k + 1) * n] for k in range(count)])


def random_problem(seed: int, nx: int, ny: int, nu: int = 1) -> Problem:
    """Spectral radius below 1.05, covariances with condition numbers below about 1e4."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((nx, nx))
    A *= rng.uniform(0.5, 1.05) / np.abs(np.linalg.eigvals(A)).max()
    system = StateSpace(
        A, rng.standard_normal((nx, nu)), rng.standard_normal((ny, nx)), rng.standard_normal((ny, nu)), dt=DT
    )
    return Problem(system, spread(rng, nx), spread(rng, ny), rng.standard_normal(nx), spread(rng, nx))


def spread(rng: Any, n: int) -> Any:
    """A covariance with eigenvalues from 0.01 to 10."""
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    P = Q * 10.0 ** rng.uniform(-2, 1, n) @ Q.T
    return (P + P.T) / 2
