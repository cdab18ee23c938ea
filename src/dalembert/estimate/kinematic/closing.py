"""Joints closed around given independent coordinates, with few operations: the inner loop of kinematics-based models.

    r = [φ(q,t); s(q,t) - z] ,   J = [A; S_z] ,     q ← q - N J⁺ r  (Newton) ;
    v = J⁺ [-φ_t; ż - s_t] ,     v̇ = J⁺ [b; z̈ - bias] ;      ∂q/∂z = N J⁺ [0; 1]   (implicit)

J is sparse and has many entries that are plain numbers (a body's place appears with ±1). Rows are eliminated with such
entries first, which never fails and fills in little; the remaining one to three rows per body of a loop are solved by
orthogonal columns, which takes redundant rows as least squares. Where none is redundant it is put into block triangular
form first: an open chain is solved joint by joint. J has full column rank wherever z fixes the pose.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Expr, Kernel
from dalembert.solve.constrained.solve import normalise
from dalembert.solve.position.prescribed_motion import Targets, target_function

SX = ca.SX
CORRECTIONS = 3  # of Newton's method from one sample to the next: 0.1 rad -> 5e-3 -> 1e-5 -> 1e-10


class SparseRows:
    """J x = r, J with at least as many rows as columns (SX)."""

    def __init__(self, J: Expr) -> None:
        J = ca.sparsify(J)
        sparsity = J.sparsity()
        self.shape = J.shape
        rows: list[dict[int, Any]] = [{} for _ in range(J.shape[0])]
        for i, j, value in zip(sparsity.row(), sparsity.get_col(), J.nonzeros(), strict=True):
            rows[i][j] = value
        self.pivots: list[tuple[int, int, float, dict[int, Any], list[tuple[int, Any]]]] = []
        remaining = set(range(J.shape[0]))
        while (entry := _constant_pivot(rows, remaining)) is not None:
            i, j, pivot = entry
            remaining.remove(i)
            row = {k: value for k, value in rows[i].items() if k != j}
            below = []
            for m in remaining:
                if j not in rows[m]:
                    continue
                factor = rows[m].pop(j) / pivot
                below.append((m, factor))
                for k, value in row.items():
                    total = rows[m].get(k, SX(0)) - factor * value
                    if total.is_zero():
                        rows[m].pop(k, None)
                    else:
                        rows[m][k] = total
            self.pivots.append((i, j, pivot, row, below))
        gone = {pivot[1] for pivot in self.pivots}
        self.rows = sorted(remaining)
        self.columns = [j for j in range(J.shape[1]) if j not in gone]
        self.rest = SX(len(self.rows), len(self.columns))
        place = {j: k for k, j in enumerate(self.columns)}
        for k, i in enumerate(self.rows):
            for j, value in rows[i].items():
                self.rest[k, place[j]] = value
        self.orthogonal = _Blocks(self.rest) if self.columns else None

    def solve(self, right: Expr) -> Expr:
        """x for a column or for several side by side."""
        y: list[Any] = [right[i, :] for i in range(self.shape[0])]
        for i, _, _, _, below in self.pivots:
            for m, factor in below:
                y[m] = y[m] - factor * y[i]
        x: list[Any] = [None] * self.shape[1]
        if self.orthogonal is not None:
            solution = self.orthogonal.solve(ca.vertcat(*[y[i] for i in self.rows]))
            for k, j in enumerate(self.columns):
                x[j] = solution[k, :]
        for i, j, pivot, row, _ in reversed(self.pivots):
            total = y[i]
            for k, value in row.items():
                total = total - value * x[k]
            x[j] = total / pivot
        return ca.vertcat(*x)


class _Blocks:
    """A x = r: one block after another where A can be ordered block triangular, else all at once."""

    def __init__(self, matrix: Expr) -> None:
        self.columns = matrix.shape[1]
        count, rows, columns = 1, list(range(matrix.shape[0])), list(range(self.columns))
        row_ends, column_ends = [0, matrix.shape[0]], [0, self.columns]
        if matrix.shape[0] == matrix.shape[1] and ca.sprank(matrix) == self.columns:
            count, rows, columns, row_ends, column_ends = matrix.sparsity().btf()[:5]
        self.parts: list[tuple[list[int], list[int], list[int], Any, _Orthogonal]] = []
        for k in range(count):  # lower block triangular: from the first block down
            mine = list(rows[row_ends[k] : row_ends[k + 1]])
            unknowns, solved = list(columns[column_ends[k] : column_ends[k + 1]]), list(columns[: column_ends[k]])
            beside = matrix[mine, solved] if solved else None
            self.parts.append((mine, unknowns, solved, beside, _Orthogonal(matrix[mine, unknowns])))

    def solve(self, right: Expr) -> Expr:
        x: list[Any] = [None] * self.columns
        for rows, unknowns, solved, beside, block in self.parts:
            r = right[rows, :]
            if beside is not None:
                r = r - beside @ ca.vertcat(*[x[j] for j in solved])
            solution = block.solve(r)
            for k, j in enumerate(unknowns):
                x[j] = solution[k, :]
        return ca.vertcat(*x)


class _Orthogonal:
    """Least squares by modified Gram-Schmidt, on the right-hand side too; columns in an order that fills in little."""

    def __init__(self, matrix: Expr) -> None:
        ones = ca.DM(matrix.sparsity(), 1.0)
        self.order = (ones.T @ ones).sparsity().amd()
        dense = ca.densify(matrix)
        columns = [dense[:, j] for j in self.order]
        self.Q: list[Any] = []
        self.R: dict[tuple[int, int], Any] = {}
        for j, column in enumerate(columns):
            size = ca.sqrt(ca.sumsqr(column))
            q = column / size
            self.Q.append(q)
            self.R[j, j] = size
            for k in range(j + 1, len(columns)):
                self.R[j, k] = ca.dot(q, columns[k])
                columns[k] = columns[k] - q * self.R[j, k]

    def solve(self, right: Expr) -> Expr:
        y = []
        for q in self.Q:
            y.append(q.T @ right)
            right = right - q @ y[-1]
        n = len(self.Q)
        x: list[Any] = [None] * n
        for j in reversed(range(n)):
            total = y[j]
            for k in range(j + 1, n):
                total = total - self.R[j, k] * x[k]
            x[j] = total / self.R[j, j]
        place = {column: k for k, column in enumerate(self.order)}
        return ca.vertcat(*[x[place[k]] for k in range(n)])


def least_squares(matrix: Expr, right: Expr) -> Expr:
    """x that brings matrix @ x nearest to ``right`` (SX)."""
    return _Orthogonal(matrix).solve(right)


def _constant_pivot(
    rows: list[dict[int, Any]],
    remaining: set[int],
    share: float = 0.1,  # of the largest number of its row: errors grow by ten at most in a step
    least: float = 1e-9,  # rows are those of lengths of order one: a smaller entry is a difference of such numbers
) -> tuple[int, int, float] | None:
    """A plain number in a remaining row, not small beside the row's other numbers; the one with the least fill."""
    counts: dict[int, int] = {}
    for i in remaining:
        for j in rows[i]:
            counts[j] = counts.get(j, 0) + 1
    best: tuple[int, int, int] | None = None
    for i in sorted(remaining):
        numbers = {j: abs(float(value)) for j, value in rows[i].items() if value.is_constant()}
        largest = max(numbers.values(), default=0.0)
        for j, size in numbers.items():
            work = (len(rows[i]) - 1) * (counts[j] - 1)
            if size > max(share * largest, least) and (best is None or work < best[0]):
                best = (work, i, j)
    if best is None:
        return None
    _, i, j = best
    return i, j, float(rows[i][j])


class Closing:
    """Pose, speeds and accelerations of a machine from z, ż, z̈ (expressions, and the pose as a function)."""

    def __init__(self, eqs: EquationsOfMotion, targets: Targets) -> None:
        self.eqs, self.n = eqs, len(targets.names)
        if any(eqs.functions["rows"].jac_sparsity(1, k).nnz() for k in (2, 3)):
            problem = f"a constraint of {eqs.name!r} depends on inputs or internal states."
            raise ModelError("not-supported", problem)
        self.prescribed = target_function(eqs, targets)
        q, z, p, t = SX.sym("q", eqs.nq), SX.sym("z", self.n), SX.sym("p", len(eqs.parameters)), SX.sym("t")
        pose = q
        for _ in range(CORRECTIONS):
            N = eqs.functions["kinematics"](pose, p, t)[0]
            change = self.rows(pose, p, t).solve(self.residual(pose, z, p, t))
            pose = ca.densify(normalise(eqs, pose - N @ change))
        closed = SX.sym("closed", eqs.nq)
        rows, N = self.rows(closed, p, t), eqs.functions["kinematics"](closed, p, t)[0]
        gap = self.residual(closed, z, p, t)
        slopes = [-(N @ rows.solve(ca.densify(ca.jacobian(gap, by)))) for by in (z, p, t)]
        jacobian = ca.Function(
            "jac_close", [q, z, p, t, closed], [SX(eqs.nq, eqs.nq), *(ca.densify(slope) for slope in slopes)],
            ["q", "z", "p", "t", "out_closed"], ["jac_closed_q", "jac_closed_z", "jac_closed_p", "jac_closed_t"],
            {"cse": True},
        )  # fmt: skip
        options = {"cse": True, "custom_jacobian": jacobian, "jac_penalty": 0.0, "never_inline": True,
                   "enable_forward": False, "enable_reverse": False}  # fmt: skip
        self.close = ca.Function("close", [q, z, p, t], [pose], ["q", "z", "p", "t"], ["closed"], options)

    def residual(self, q: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        h = self.prescribed(q, SX.zeros(self.eqs.nv), p, t)[0]
        return ca.vertcat(self.eqs.functions["position"](q, p, t), h - z)

    def gap(self, q: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        return ca.norm_inf(self.residual(q, z, p, t))

    def gradient(self, q: Expr, p: Expr, t: Expr) -> Expr:
        """J (SX, sparse); rows of holonomic joints do not depend on speeds."""
        eqs = self.eqs
        still = SX.zeros(eqs.nv)
        A, _ = eqs.functions["rows"](q, still, SX.zeros(eqs.nz), SX.zeros(eqs.nu), p, t)
        return ca.sparsify(ca.vertcat(A, self.prescribed(q, still, p, t)[2]))

    def rows(self, q: Expr, p: Expr, t: Expr) -> SparseRows:
        return SparseRows(self.gradient(q, p, t))

    def numbers(self) -> tuple[Kernel, Kernel]:
        """(q, p, t) -> J and the places of the independent coordinates; (q, z, p, t) -> closed pose and its gap."""
        eqs = self.eqs
        q, z, p, t = SX.sym("q", eqs.nq), SX.sym("z", self.n), SX.sym("p", len(eqs.parameters)), SX.sym("t")
        h = self.prescribed(q, SX.zeros(eqs.nv), p, t)[0]
        stack = ca.Function("stack", [q, p, t], [self.gradient(q, p, t), ca.densify(h)])
        pose = self.close(q, z, p, t)
        return Kernel(stack), Kernel(ca.Function("lead", [q, z, p, t], [pose, self.gap(pose, z, p, t)]))

    def motion(self, q: Expr, zd: Expr, zdd: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        """v and v̇ (SX)."""
        eqs = self.eqs
        still = SX.zeros(eqs.nv)
        J = self.rows(q, p, t)
        _, rate, _, _ = self.prescribed(q, still, p, t)
        v = J.solve(ca.vertcat(-eqs.functions["rates"](q, still, p, t), zd - rate))
        _, b = eqs.functions["rows"](q, v, SX.zeros(eqs.nz), SX.zeros(eqs.nu), p, t)
        bias = self.prescribed(q, v, p, t)[3]
        return ca.densify(v), ca.densify(J.solve(ca.vertcat(b, zdd - bias)))
