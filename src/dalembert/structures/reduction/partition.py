"""Masters and slaves of a system, and the algebra that every reduction onto masters shares.

Matrices on masters that move nearly alike cancel in the sums of their modes, whatever computed them: rounding of K and
M to double precision alone moves ω² of the mode x (xᵀMx = 1) by up to ε (‖K‖ + ω² ‖M‖) ‖x‖², here with masters scaled
to unit diagonal of M. `judge_rounding` warns of it, or refuses the reduction.

Which reduction, or none? To know the lowest modes alone, ``system.modes(count)`` on the full sparse matrices
(shift-invert Lanczos) costs one factorization and is exact; a reduction costs the same factorization. Reduce where the
small model is used again: in time, in a control loop, as a part of other systems.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, Matrix
from dalembert.core.errors import DataError, ModelWarning
from dalembert.core.findings import Advice, Call
from dalembert.core.text import list_names
from dalembert.linear import storage
from dalembert.linear.eigen import massless
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.master_coordinates import Indices, check_system, find
from dalembert.structures.reduction.reduction import Reduction

Names = str | Iterable[str]
HOLD = Advice("Make one of them a master for each such motion, or hold it by a spring.")


class Partition:
    """Masters and slaves of a system, and the factors of K22: made once, used by every method."""

    def __init__(self, system: SecondOrder, masters: Names, *, shift: float = 0.0) -> None:
        self.system = system = check_system(system)
        self.first = find(system.coordinates, masters, "this system")
        if len(self.first) == 0:
            raise DataError("empty", "a reduction needs at least one master coordinate.")
        self.second = rest(system.nq, self.first)
        self.names = tuple(system.coordinates[i] for i in self.first)
        self.slaves = tuple(system.coordinates[i] for i in self.second)
        self.shift = shift

    def part(self, X: Matrix, rows: int, columns: int) -> Matrix:
        """X11, X12, X21 or X22."""
        at = {1: self.first, 2: self.second}
        return block(X, at[rows], at[columns])

    def factor(self) -> StiffnessFactor:
        """Factors of K22 - shift M22; an error names the slaves that move freely with the masters held."""
        K = self.part(self.system.K, 2, 2)
        if self.shift == 0.0:
            return factors.factor_regular(K, self.slaves, "the stiffness of the slaves with the masters held", HOLD)
        what = f"K22 - ω² M22 at ω = {np.sqrt(self.shift):.6g} rad/s"
        advice = Advice("The slaves resonate there with the masters held: condense at another frequency.")
        return factors.factor_regular(K - self.shift * self.part(self.system.M, 2, 2), self.slaves, what, advice)

    def constraint_modes(self, factor: StiffnessFactor) -> FloatArray:
        """-(K22 - shift M22)⁻¹ (K21 - shift M21), (s, m)."""
        right = self.part(self.system.K, 2, 1)
        if self.shift:
            right = right - self.shift * self.part(self.system.M, 2, 1)
        return -factor.solve(storage.dense(right))

    def basis(self, B: FloatArray, Phi: FloatArray | None = None) -> FloatArray:
        """T (n, m + k) in the order of the full coordinates, from the motion of the slaves."""
        m, k = len(self.first), 0 if Phi is None else Phi.shape[1]
        T = np.zeros((self.system.nq, m + k))
        T[self.first, np.arange(m)] = 1.0
        T[self.second, :m] = B
        if Phi is not None:
            T[self.second, m:] = Phi
        return T


def make_reduction(split: Partition, T: FloatArray, method: str, *, loads: Mapping[str, FloatArray] | None = None,
             residual: FloatArray | None = None, left: FloatArray | None = None,
             **matrices: Any) -> Reduction:  # fmt: skip
    full = split.system
    system = reduction.project(
        full, T, split.names, left=left, residual=residual, loads=loads, method=method, **matrices
    )
    return Reduction(system, T, method=method, masters=split.names, full=full, residual=residual)


def judge_rounding(split: Partition, method: str, M: FloatArray, K: FloatArray, squares: FloatArray,
                   shapes: FloatArray, rounded: float = 1e-6, lost: float = 1e-2,
                   least: float = 0.1) -> None:  # fmt: skip
    """Warn of frequencies that rounding of M and K (unit diagonal of M) changes, refuse where modes are lost.

    squares (k,) and shapes (r, k) at the scaled masters, xᵀMx = 1; none where M is not positive definite.
    rounded : relative error that warns; far above that of eigensolvers (1e-9), far below that of measurements.
    lost : relative error that is refused; two modes 1 % apart can no longer be distinguished.
    least : share of the largest part from which a master is named among those that move alike.
    """
    error = np.inf
    if len(squares):
        size = np.abs(squares) + np.where(np.abs(squares) > 0.0, 0.0, np.abs(squares).max(initial=0.0) or 1.0)
        change = np.linalg.norm(K, 2) + size * np.linalg.norm(M, 2)
        error = float((0.5 * factors.EPS * change * (shapes**2).sum(axis=0) / size).max())
    refused = error > lost or not massless.is_positive(M)  # as modes() of the small model will judge
    if error <= rounded and not refused:
        return
    U, values, _ = np.linalg.svd(shapes if shapes.size else np.eye(len(M)))
    shares = np.abs(U[:, -1])
    alike = [split.names[i] for i in np.flatnonzero(shares > least * shares.max())]
    condition = values[0] / values[-1] if values[-1] > 0.0 else np.inf
    words = (
        f"{method}: the masters do not distinguish the kept modes: {list_names(alike, {})} move nearly alike in them "
        f"(condition number {condition:.1e}), and rounding "
    )
    advice = Advice(
        "Choose masters further apart, where these modes differ, with {}.",
        Call("da.structures.choose_masters"), Call("da.structures.truncate_modal"),
    )  # fmt: skip
    if refused:
        raise DataError("ill-conditioned", f"{words}leaves no exact digit of a frequency.", advice)
    problem = f"{words}may change a frequency by {error:.0e} of its value."
    warnings.warn(ModelWarning("ill-conditioned", problem, advice, evidence={"error": error}), stacklevel=3)


def rest(n: int, chosen: Indices) -> Indices:
    """The other places, ascending."""
    left = np.ones(n, dtype=bool)
    left[chosen] = False
    return np.flatnonzero(left)


def block(matrix: Matrix, rows: Indices, columns: Indices) -> Matrix:
    """Sub-matrix in the storage of the matrix."""
    return matrix[rows][:, columns] if hasattr(matrix, "tocsc") else matrix[np.ix_(rows, columns)]
