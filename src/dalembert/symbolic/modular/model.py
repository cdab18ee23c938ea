"""The recursive modular method: from leaves to root (Orsino 2016, theorem 2.10, section 4.2).

    leaf:      R = 1                         B = A        C = complement of B    S = C      f̄ = Cᵀ f
    assembly:  R = (1 of its own variables,  B = A R      C = complement of B    S = R C    f̄ = Cᵀ (Rᵀ f + f̄ of parts)
                    S of its parts)

A are the constraints of the node itself only. Then A S = 0 for all constraints of the tree, and f̄ = 0 with q̄ = 0 are
the equations of motion. f are effective forces (active and inertia forces) dual to the velocities, f = Vᵀ f' of forces
f' along any motion v, V = ∂v/∂q⟨σ⟩.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import DataError, ModelError, require_name
from dalembert.core.findings import Advice
from dalembert.expressions import Array
from dalembert.symbolic.modular.algebra.complement import choose_independent, orthogonal_complement
from dalembert.symbolic.modular.algebra.elimination import (
    eliminate,
    is_rounding,
    null_space_of,
    rank_of,
    scale_rows,
    solve_determined,
)
from dalembert.symbolic.modular.algebra.labelled import (
    LabelledMatrix,
    identity,
    label_sum,
    labelled_jacobian,
    require_label,
    zeros,
)
from dalembert.symbolic.modular.declarations import ModularForce
from dalembert.symbolic.modular.energies import energy_forces
from dalembert.symbolic.modular.motion import ModularMotion
from dalembert.symbolic.modular.parts import ModularPart
from dalembert.symbolic.modular.points import ModularPoints
from dalembert.symbolic.text.convert import to_sympy
from dalembert.symbolic.text.printing import latex
from dalembert.symbolic.text.read import require_affine

SX = ca.SX


@dataclass(frozen=True)
class ModelNode:
    """Everything that the method derives for one part; labels are those of the whole model."""

    path: str
    name: str
    A: LabelledMatrix  # constraints of this node, all variables below it
    R: LabelledMatrix
    B: LabelledMatrix
    C: LabelledMatrix
    S: LabelledMatrix
    f: LabelledMatrix
    constrained: LabelledMatrix  # f̄
    redundant: tuple[str, ...]

    @property
    def freedoms(self) -> int:
        return len(self.C.columns)

    @property
    def independent(self) -> tuple[str, ...]:
        return self.C.columns


@dataclass(frozen=True)
class RankReport:
    """Rank of the constraints at one pose.

    smallest : smallest singular value of independent rows, scaled to length one: the distance to a singular pose.
    """

    rank: int
    regular: int
    smallest: float

    @property
    def is_singular(self) -> bool:
        return self.rank < self.regular


class ModularModel:
    """A leaf or an assembly with everything that follows from it, node by node; made by `modular_model`."""

    def __init__(self, root: ModularPart) -> None:
        self.root = root
        self.motion = ModularMotion(root)
        self._forces = {path: _forces(self.motion, subsystem, path) for subsystem, path in self.motion.paths.items()}
        self.functions: dict[Any, Any] = {}  # compiled functions, each made once
        self.points = ModularPoints(self.motion, max(2, self.motion.working_order))

    def __repr__(self) -> str:
        motion = self.motion
        return (
            f"ModularModel({self.root.name!r}: {len(motion.labels(0))} coordinates, {len(motion.labels())} velocities, "
            f"{len(motion.invariants)} constraints of order {motion.constraint_order}, {self.freedoms} freedoms; "
            f"ranks {self.points.words})"
        )

    # -- recursion -------------------------------------------------------------------------------------------------
    @cached_property
    def nodes(self) -> dict[str, ModelNode]:
        """Every part by its path (``"left.crank"``, the root ``""``), leaves first."""
        nodes: dict[str, ModelNode] = {}
        for subsystem, path in self.motion.paths.items():
            nodes[path.removesuffix(".")] = self._derive(subsystem, path, nodes)
        return nodes

    def _derive(self, part: ModularPart, path: str, nodes: Mapping[str, ModelNode]) -> ModelNode:
        motion = self.motion
        inner = [nodes[f"{path}{child.name}"] for child in part.parts]
        R = label_sum(identity(motion.own_labels(path)), *(node.S for node in inner))
        A = self.jacobian(path, R.rows)
        B = A @ R
        numbers = self.points.evaluate(B.entries, motion.working_order - 1)
        numbers, B, A = _without_zero_rows(numbers, B, A)
        chosen = part.own.independent
        try:
            complement = orthogonal_complement(
                B, numbers, None if chosen is None else [path + label for label in chosen], motion.own_labels(path)
            )
        except ModelError as error:
            raise type(error)(
                error.code, f"part {part.name!r}: {error.finding.problem}", *error.advice,
                where={**error.where, "part": part.name}, evidence=error.finding.evidence,
            ) from None  # fmt: skip
        C = complement.matrix
        own_forces = self.forces(path, R.rows)
        f = label_sum(R.T.multiply(own_forces), *(node.constrained for node in inner))
        f = f.part(rows=R.columns)
        return ModelNode(path, part.name, A, R, B, C, R @ C, f, C.T @ f, complement.redundant)

    def jacobian(self, path: str | None = None, columns: tuple[str, ...] | None = None) -> LabelledMatrix:
        """A of the constraints of one part (of all when left out), rows by the names of the constraints."""
        motion = self.motion
        order = motion.working_order
        rows = motion.invariants_of(order, path)
        stack = ca.vertcat(SX(0, 1), *(row.expression for row in rows))
        A = labelled_jacobian(stack, [row.name for row in rows], motion.symbols(order), motion.labels())
        return A if columns is None else A.part(columns=columns)

    @cached_property
    def remainder(self) -> LabelledMatrix:
        """b of all constraints at the working order: A q⟨σ⟩ + b = 0."""
        motion = self.motion
        order = motion.working_order
        rows = motion.invariants_of(order)
        stack = ca.vertcat(SX(0, 1), *(row.expression for row in rows))
        q = motion.symbols(order)
        b = ca.substitute(stack, q, ca.DM.zeros(q.numel())) if rows else SX(0, 1)
        return LabelledMatrix(b, [row.name for row in rows])

    def lifting(self, along: Any) -> Any:
        """V of one motion: how it varies with the variables of the base order, at fixed lower ones (1 x n)."""
        motion = self.motion
        expression = motion.resolve(along)
        rho = motion.order_of(expression)
        if rho < 0:
            raise ModelError("no-motion", "a force acts along an expression without variables.")
        order = max(rho, motion.base_order)
        return ca.jacobian(motion.differentiate(expression, order - rho), motion.symbols(order))

    def vary_constraints(
        self, values: Mapping[str, float], variation: Mapping[str, float], *, t: float = 0.0
    ) -> dict[str, float]:
        """First variation δq̄⟨σ⟩ of every constraint at the working order: a variation is compatible where all vanish.

        variation : changes of variables of any order up to σ, by label; others do not change, so that variations of
            the highest order alone give A δq⟨σ⟩.
        """
        motion, order = self.motion, self.motion.working_order
        rows = motion.invariants_of(order)
        entries = [entry for k in range(order + 1) for entry in motion.variables(k)]
        for name in variation:
            require_label(name, [entry.label for entry in entries], "variable", repr(self.root.name))
        q = ca.vertcat(SX(0, 1), *(entry.symbol for entry in entries))
        change = ca.DM([real_number(entry.label, variation.get(entry.label, 0.0)) for entry in entries])
        stack = ca.vertcat(SX(0, 1), *(row.expression for row in rows))
        variations = motion.function([ca.jtimes(stack, q, change)], order)(*motion.point(values, order, t))
        return dict(zip([row.name for row in rows], np.array(variations).ravel().tolist(), strict=True))

    def forces(self, path: str, rows: tuple[str, ...]) -> LabelledMatrix:
        """f = Vᵀ f' of the part's own forces."""
        total = SX(len(self.motion.labels()), 1)
        for force in self._forces[path]:
            total += self.lifting(force.along).T @ self.motion.resolve(force.value)
        return LabelledMatrix(total, self.motion.labels()).part(rows=rows)

    # -- whole model -----------------------------------------------------------------------------------------------
    @property
    def tree(self) -> ModelNode:
        """The node of the root."""
        return self.nodes[""]

    @property
    def S(self) -> LabelledMatrix:
        return self.tree.S

    @property
    def freedoms(self) -> int:
        """Degrees of freedom at a regular pose."""
        return len(self.motion.labels()) - self.regular_rank

    @cached_property
    def regular_rank(self) -> int:
        """Rank of all constraints at the points of this model."""
        A = self.jacobian()
        if not A.rows:
            return 0
        return max(rank_of(matrix) for matrix in self.points.evaluate(A.entries, self.motion.working_order - 1))

    @cached_property
    def unconstrained(self) -> LabelledMatrix:
        """f of all parts, dual to all velocities."""
        labels = self.motion.labels()
        return label_sum(zeros(labels), *(self.forces(path, labels) for path in self._forces))

    @property
    def acceleration_order(self) -> int:
        return max(2, self.motion.working_order)

    def trace(self) -> str:
        """The matrices of every node, from leaves to root, as text."""
        lines = []
        for path, node in self.nodes.items():
            lines.append(f"{path or node.name}: freedoms: {node.freedoms} ({', '.join(node.independent)})")
            for name, matrix in (("B", node.B), ("C", node.C), ("f̄", node.constrained)):
                shown = LabelledMatrix(self.name_symbols(matrix.entries), matrix.rows, matrix.columns)
                lines += [f"  {name}", *("    " + line for line in shown.text(28).splitlines())]
        return "\n".join([*lines, f"ranks: {self.points.words}"])

    def name_symbols(self, expression: Any) -> Any:
        """The same expressions with symbols that have their label in the whole model as their name."""
        old = ca.symvar(expression)
        new = [SX.sym(self.motion.name_of(symbol)) for symbol in old]
        return ca.substitute(expression, ca.vertcat(*old), ca.vertcat(*new)) if old else expression

    def to_sympy(self, expression: Any) -> Any:
        """An expression or a labelled matrix of this model as SymPy shows it; needs the extra ``symbolic``."""
        entries = expression.entries if isinstance(expression, LabelledMatrix) else expression
        return to_sympy(self.name_symbols(SX(entries)))

    def latex(self) -> str:
        """The equations of motion as LaTeX: one line per freedom, then one per constraint."""
        fbar = self.tree.constrained
        lines = [f"{latex(self.to_sympy(fbar[label, '']))} &= 0" for label in fbar.rows]
        lines += [f"{latex(self.to_sympy(row.expression))} &= 0" for row in self.motion.invariants]
        body = " \\\\\n".join(lines)
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"

    # -- at one pose -----------------------------------------------------------------------------------------------
    def at(self, matrix: LabelledMatrix, values: Mapping[str, float], *, t: float = 0.0) -> LabelledMatrix:
        """The numbers of a matrix at one point: values by label (see `Motion.point`)."""
        order = self.acceleration_order
        function = self.motion.function([matrix.entries], order)
        numbers = np.array(function(*self.motion.point(values, order, t))).reshape(matrix.shape)
        return LabelledMatrix(numbers, matrix.rows, matrix.columns)

    def check_rank(self, values: Mapping[str, float], *, t: float = 0.0, limit: float = 1e-9) -> RankReport:
        """Rank of the constraints at a pose, and its distance from a singular one."""
        A = self.at(self.jacobian(), values, t=t).entries
        needed = self.regular_rank
        if not A.size or not needed:
            return RankReport(0, needed, np.inf)
        sizes = np.linalg.svd(scale_rows(A), compute_uv=False)
        rank = int((sizes > limit * sizes[0]).sum())
        return RankReport(rank, needed, float(sizes[needed - 1]) if needed <= len(sizes) else 0.0)

    def independent_at(self, values: Mapping[str, float], *, t: float = 0.0) -> tuple[str, ...]:
        """Independent velocities with a well conditioned complement at a pose."""
        return choose_independent(self.at(self.jacobian(), values, t=t).entries, self.motion.labels())

    def complement_at(self, values: Mapping[str, float], *, t: float = 0.0, largest: float = 1e-6) -> LabelledMatrix:
        """S at a pose; where it loses rank there or has no value, an error gives the pose.

        largest : entry of A S, which S makes zero; condition numbers up to 1e6 are allowed.
        """
        S = self.at(self.S, values, t=t)
        A = self.at(self.jacobian(), values, t=t)
        report = self.check_rank(values, t=t)
        wrong = not np.isfinite(S.entries).all()
        if wrong or report.is_singular or np.abs((A @ S).entries).max(initial=0.0) > largest:
            shown = ", ".join(f"{name} = {value:.6g}" for name, value in values.items())
            independent = self.independent_at(values, t=t)
            advice = Advice(f"At this pose {', '.join(independent)} are independent.")
            raise ModelError(
                "singular-pose", f"the complement of {self.root.name!r} in {', '.join(self.S.columns)} loses rank at "
                f"{shown} (constraints of rank {report.rank}, elsewhere {report.regular}).",
                *([] if report.is_singular else [advice]),
                where={"pose": dict(values)}, evidence={"rank": report.rank, "regular": report.regular},
            )  # fmt: skip
        return S

    # -- explicit equations ------------------------------------------------------------------------------------------
    @cached_property
    def dynamics(self) -> tuple[Any, Any]:
        """M̂ and ĝ of f̄ = -M̂ q⟨σ⟩ + ĝ: the equations of motion of the root (freedoms x all variables)."""
        order = self.acceleration_order
        q = self.motion.symbols(order)
        fbar = self.tree.constrained.entries
        return affine_parts(fbar, q, "the effective forces", self.root.name)

    def explicit(self) -> dict[str, Any]:
        """The accelerations as expressions: the variables of the highest order by label, solved on request."""
        order = self.acceleration_order
        labels = self.motion.labels(order)
        M, g = self.dynamics
        rows = self.motion.invariants_of(order)
        q = self.motion.symbols(order)
        stack = ca.vertcat(SX(0, 1), *(row.expression for row in rows))
        matrix = ca.vertcat(ca.jacobian(stack, q), M)
        right = ca.vertcat(-ca.substitute(stack, q, ca.DM.zeros(q.numel())), g)
        done = eliminate(matrix, self.points.evaluate(matrix, order - 1), right=right)
        if len(done.columns) < len(labels):
            lost = [labels[k] for k in range(len(labels)) if k not in done.columns]
            problem = f"the equations of {self.root.name!r} do not determine {', '.join(lost)}"
            problem += f": no mass and no constraint acts on it ({self.points.words})."
            raise ModelError("singular-matrix", problem, where={"variables": tuple(lost)})
        solved = dict(zip(done.columns, done.right, strict=True))
        return {label: solved[k] for k, label in enumerate(labels)}

    def inverse_law(self, inputs: Sequence[str]) -> dict[str, Any]:
        """Inputs as expressions of coordinates, velocities and accelerations: an open-loop law, valid on any motion.

        As many inputs as freedoms, which they must all move; `da.inverse_dynamics` distributes more of them.
        """
        for name in inputs:
            require_name("input", name, self.motion.inputs, self.root.name, error=ModelError)
        u = ca.vertcat(*(self.motion.inputs[name] for name in inputs))
        minus_H, free = affine_parts(self.tree.constrained.entries, u, "the forces of inputs", self.root.name)
        solved = eliminate(minus_H, self.points.evaluate(minus_H, self.acceleration_order), right=free)
        if not len(inputs) == minus_H.shape[0] == len(solved.columns):
            raise ModelError(
                "too-few-inputs", f"the inputs {', '.join(inputs)} move {len(solved.columns)} of the "
                f"{minus_H.shape[0]} freedoms: a law needs one input for each.", where={"inputs": tuple(inputs)},
            )  # fmt: skip
        law = dict(zip(solved.columns, solved.right, strict=True))
        return {name: law[k] for k, name in enumerate(inputs)}

    def accelerations(self, values: Mapping[str, float], *, t: float = 0.0) -> dict[str, float]:
        """The accelerations at one state, solved from numbers: [Sᵀ M; A] q⟨σ⟩ = [Sᵀ g; -b]."""
        order = self.acceleration_order
        M, g, A, b = map(np.array, self._solver(*self.motion.point(values, order - 1, t)))
        S = null_space_of(A) if A.size else np.eye(len(M))
        solution = solve_determined(np.vstack([S.T @ M, A]), np.vstack([S.T @ g, -b]))
        if solution is None:
            raise DataError("singular-matrix", f"the accelerations of {self.root.name!r} are not determined here.")
        return dict(zip(self.motion.labels(order), solution.ravel().tolist(), strict=True))

    @cached_property
    def _solver(self) -> ca.Function:
        order = self.acceleration_order
        q = self.motion.symbols(order)
        M, g = affine_parts(self.unconstrained.entries, q, "the effective forces", self.root.name)
        stack = ca.vertcat(SX(0, 1), *(row.expression for row in self.motion.invariants_of(order)))
        b = ca.substitute(stack, q, ca.DM.zeros(q.numel())) if stack.numel() else SX(0, 1)
        return self.motion.function([M, g, ca.jacobian(stack, q), b], order - 1)

    def state_values(self, columns: list[Array]) -> dict[str, float]:
        """Labels and numbers of the columns of `Motion.point`."""
        values: dict[str, float] = {}
        for k in range(len(columns) - 3):
            values |= dict(zip(self.motion.labels(k), columns[k].tolist(), strict=True))
        return values

    def node(self, path: str) -> ModelNode:
        """A node by its path; the root is ``""``."""
        require_name("part", path, self.nodes, self.root.name, error=ModelError)
        return self.nodes[path]


def modular_model(part: ModularPart) -> ModularModel:
    """Derive everything that a leaf or an assembly implies: see `ModularModel`."""
    return ModularModel(part)


def affine_parts(expression: Any, q: Any, what: str, name: str) -> tuple[Any, Any]:
    """M and g of expression = -M q + g; an error where it is not affine."""
    M = -require_affine(expression, q, f"{what} of {name!r}", "the variables of the highest order")
    return M, ca.substitute(expression, q, ca.DM.zeros(q.numel()))


def _forces(motion: ModularMotion, part: ModularPart, path: str) -> list[ModularForce]:
    for force in part.own.forces:
        motion.check_symbols(force.value, f"a force of part {part.name!r}")
        motion.check_symbols(force.along, f"a force of part {part.name!r}")
    return [*part.own.forces, *energy_forces(motion, part, path)]


def _without_zero_rows(
    numbers: Array, B: LabelledMatrix, A: LabelledMatrix
) -> tuple[Array, LabelledMatrix, LabelledMatrix]:
    """Leave out constraints whose derivative vanishes (the norm of a quaternion)."""
    size = max(1.0, float(np.abs(numbers).max(initial=0.0)))
    keep = [i for i in range(len(B.rows)) if not is_rounding(numbers[:, i], size).all()]
    rows = [B.rows[i] for i in keep]
    return numbers[:, keep], B.part(rows=rows), A.part(rows=rows)
