"""A linear filter whose covariance has converged: from then on only x changes.

    x_k = A x_{k-1} + B u_{k-1} + K e_k ,    e_k = y_k - C (A x_{k-1} + B u_{k-1}) - D u_k ,    NIS = eᵀ W e ,  W = S⁻¹

K and W come from the filter's own native code (its responses to unit innovations), so they are as exact as its form.
A run uses it when the covariance has not changed by more than rounding over a whole block, and back as soon
as a sample is missing. Its estimates are those of the full recursion to rounding; it takes a fraction of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.estimate.algebra.matrices import unpack_numbers
from dalembert.estimate.engine import recursion as engine
from dalembert.expressions import Array, Kernel

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter

SX = ca.SX


class ConvergedFilter:
    """Runs blocks of a linear filter with the covariance it had; made anew by every run."""

    def __init__(self, filter_: Filter) -> None:
        self.filter, self.process = filter_, filter_.process
        self.kernel: Kernel = filter_.cache("converged", lambda: _kernel(filter_))
        self.measured = engine.measured_columns(filter_)
        self.row: Array | None = None  # results of a sample, but for x, e and NIS
        self.numbers: Array = np.empty(0)
        self.W: Array = np.empty((0, 0))

    def look_at(self, block: Array, data: Array, unchanged: float = 1e-14) -> None:
        """Whether the covariance was constant over a block of the full recursion, up to rounding."""
        nx, where = self.process.nx, self.filter.native.columns
        self.row = None
        if not data[:, self.measured].all():
            return
        first, last = block[0, where.filter_state][nx:], block[-1, where.filter_state][nx:]
        now, change = unpack_numbers(last, nx), np.abs(unpack_numbers(last - first, nx))
        if getattr(self.filter, "factored", False):  # rows of a lower factor, in units of their length
            size = np.linalg.norm(np.tril(now), axis=1)[:, None]
            change = np.tril(change)
        else:
            deviations = np.sqrt(np.maximum(now.diagonal(), 0.0))
            size = np.outer(deviations, deviations)
        if (change > unchanged * size).any():
            return
        self._read(block[-1])

    def ready(self, data: Array) -> bool:
        return self.row is not None and bool(data[:, self.measured].all())

    def _read(self, row: Array) -> None:
        """K and W from the responses of a sample to unit innovations, at x = 0 and u = 0."""
        m, tick, p = self.process, self.filter.native.tick, self.filter.model.numbers
        state = row[self.filter.native.columns.filter_state].copy()
        state[: m.nx] = 0.0
        u, all_measured = np.zeros(m.nu), np.ones(m.ny)

        def answer(e: Array) -> tuple[Array, float]:
            results = tick.raw(state, u, u, e, all_measured, p, 0.0, m.dt)
            return results[0][: m.nx].copy(), float(results[5][0])

        unit = np.eye(m.ny)
        answers = [answer(e) for e in unit]
        K = np.column_stack([x for x, _ in answers])
        W = np.diag([nis for _, nis in answers])
        for i in range(m.ny):
            for j in range(i):
                W[i, j] = W[j, i] = (answer(unit[i] + unit[j])[1] - W[i, i] - W[j, j]) / 2
        self.row, self.numbers, self.W = row.copy(), np.asarray(K.ravel(order="F"), dtype=float), W

    def samples(self, m: Array, data: Array) -> Array:
        """Results of these samples, one per row, in the layout of the full recursion."""
        assert self.row is not None
        process, where = self.process, self.filter.native.columns
        count = len(data)
        signals = data[:, : 2 * process.nu + process.ny]
        found = self.kernel.run(count, m[: process.nx], signals, self.numbers)
        x, e = found[:, : process.nx], found[:, process.nx :]
        results = np.empty((count, where.size))
        results[:] = self.row
        results[:, : process.nx] = x
        results[:, where.report] = x
        results[:, where.innovation] = e
        results[:, where.nis] = np.einsum("ki,ki->k", e @ self.W, e)
        return results


def can_converge(filter_: Any) -> bool:
    """Whether x alone can continue: constant noise, a plain linear process, state x and a packed matrix."""
    process, noise = filter_.process, filter_.noise
    constant = all(c is None or c.function is None for c in (noise.Q, noise.R, noise.inputs))
    plain = process.flat and "report" not in process.functions and not any(process.wrapped)
    return constant and plain and process.matrices is not None and process.about is None and process.dt is not None


def _kernel(filter_: Filter) -> Kernel:
    process = filter_.process
    assert process.matrices is not None
    A, B, C, D = (ca.sparsify(v) for v in process.matrices)
    nx, nu, ny = process.nx, process.nu, process.ny
    x, d, k = SX.sym("x", nx), SX.sym("d", 2 * nu + ny), SX.sym("K", nx * ny)
    u0, u1, y = ca.vertsplit(d, [0, nu, 2 * nu, 2 * nu + ny])
    before = A @ x + B @ u0
    e = y - C @ before - D @ u1
    return Kernel(ca.Function("converged", [x, d, k], [ca.densify(before + ca.reshape(k, nx, ny) @ e), ca.densify(e)]))
