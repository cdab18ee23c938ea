"""Matrices of a planar model, for inspection: constraint Jacobian, orthogonal complement, inertia, forces, equations.

    A v̇ = b ,   A C = 0 ,   Cᵀ (f - M v̇) = 0

With independent speeds i and dependent speeds d the complement is C_i = 1, C_d = -A_d⁻¹ A_i (Orsino 2016, theorem 2.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import qr

from dalembert.core import arguments
from dalembert.core.arguments import take_names
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.expressions import Array, Expr
from dalembert.symbolic.modular.algebra.elimination import eliminate
from dalembert.symbolic.motion import rank_at
from dalembert.symbolic.planar.model import PlanarModel
from dalembert.symbolic.planar.producer import PlanarEquations, column
from dalembert.symbolic.text.printing import equations_in_latex

SX = ca.SX
# Random points, beside the drawn pose, at which entries of an elimination are compared with zero: an entry that is not
# zero vanishes at one of them by chance with probability zero, and the others cost little.
POINTS = 3


@dataclass(frozen=True, eq=False)
class PlanarDerivation:
    """Equations of a planar model as expressions of (q, v, v̇, u, p, t).

    coordinates, speeds, inputs, parameters : names, in the order of q, v, u, p.
    independent : the speed of each column of C.  rows : owners of the rows of A.
    A, b, M, f, C : with M v̇ = f + Aᵀ λ, A v̇ = b and A C = 0.  equations : Cᵀ (f - M v̇).
    """

    name: str
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    independent: tuple[str, ...]
    rows: tuple[str, ...]
    q: Any
    v: Any
    a: Any
    u: Any
    p: Any
    t: Any
    A: Any
    b: Any
    M: Any
    f: Any
    C: Any
    parameter_values: tuple[float, ...]
    drawn: tuple[float, ...]

    def __repr__(self) -> str:
        return (
            f"PlanarDerivation({self.name!r}: {len(self.speeds)} speeds, {len(self.rows)} constraint rows, "
            f"independent: {', '.join(self.independent)})"
        )

    @property
    def degrees_of_freedom(self) -> int:
        return len(self.independent)

    @property
    def equations(self) -> Any:
        """(degrees of freedom, 1) expressions that are zero in motion."""
        return self.C.T @ (self.f - self.M @ self.a)

    def latex(self) -> str:
        """A, C, M and f in LaTeX, lines of an ``aligned`` environment; long ones with their common parts named."""
        lines = equations_in_latex([("A", self.A), ("C", self.C), ("M", self.M), ("f", self.f)])
        aligned = " \\\\\n".join(line.replace(" = ", " &= ", 1) for line in lines)
        return "\\begin{aligned}\n" + aligned + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def evaluate(
        self, q: object = None, v: object = None, *, accelerations: object = None, inputs: object = None
    ) -> dict[str, Array]:
        """A, b, M, f, C and equations as numbers; as drawn, at rest and without inputs where left out."""
        inputs_given = (
            ("q", self.drawn if q is None else q, self.coordinates), ("v", v, self.speeds),
            ("accelerations", accelerations, self.speeds), ("inputs", inputs, self.inputs),
        )  # fmt: skip
        values = []
        for what, value, names in inputs_given:
            array = np.zeros(len(names)) if value is None else value
            values.append(arguments.matrix(what, array, len(names), 1, self.name, vector="column"))
        results = {"A": self.A, "b": self.b, "M": self.M, "f": self.f, "C": self.C, "equations": self.equations}
        symbols = [self.q, self.v, self.a, self.u, self.p, self.t]
        function = ca.Function("matrices", symbols, [ca.densify(x) for x in results.values()], {"cse": True})
        matrices = function(*values, self.parameter_values, 0.0)
        return {key: np.array(value, dtype=float) for key, value in zip(results, matrices, strict=True)}


def derive_linkage(model: PlanarModel, *, independent: Sequence[str] = ()) -> PlanarDerivation:
    """Matrices of a planar model in the names of its variables.

    independent : speeds to express the motion by, as many as degrees of freedom; chosen at the drawn pose when left
        out. They must be independent there; elsewhere they may lose this property, and C its value.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.symbolic.PlanarModel("pendulum")
    >>> m.add_ground((0, 0))
    >>> m.add_bar(1, (0, 0), (0.5, 0), mass=2.0)
    >>> m.add_revolute("0.1-1.1")
    >>> found = da.symbolic.derive_linkage(m, independent=["1.rate"])
    >>> found.C
    SX(@1=0.5, [(-(@1*sin(1.angle))), (@1*cos(1.angle)), 1])
    """
    e = PlanarEquations(model)
    values = tuple(value for _, value in model.parameters.values())
    at = ca.Function("rows", [e.q, e.v, e.p, model.time], [ca.densify(e.A)])
    points = [at(e.q_drawn, np.zeros(len(e.speeds)), values, 0.0)]
    random = np.random.default_rng(0)
    for _ in range(POINTS):
        q, v = e.q_drawn + random.normal(size=e.q_drawn.size), random.normal(size=len(e.speeds))
        points.append(at(q, v, np.array(values) * random.uniform(0.8, 1.2, len(values)), random.uniform()))
    numbers = np.array(points, dtype=float).reshape(len(points), -1, len(e.speeds))
    A = numbers[0]
    if A.size and rank_at(A) < len(A):
        problem = f"the {len(A)} rows of {model.name!r} are not independent at the drawn pose (rank {rank_at(A)})."
        advice = Advice("Leave out a joint or constraint that others imply, or draw another pose.")
        raise ModelError("rank-deficient", problem, advice)
    chosen = _choose(A, list(e.speeds.names), list(take_names("speed", independent)), model.name)
    dependent = [k for k in range(len(e.speeds)) if k not in chosen]
    C = _complement(e.A, numbers, chosen, dependent)
    return PlanarDerivation(
        model.name, e.coordinates.names, e.speeds.names, tuple(model.inputs), tuple(model.parameters),
        tuple(e.speeds.names[k] for k in chosen), tuple(row.owner for row in e.row_tags), e.q, e.v, e.a, e.u,
        column([symbol for symbol, _ in model.parameters.values()]), model.time, e.A, e.b, e.M, e.f, C, values,
        tuple(e.q_drawn.tolist()),
    )  # fmt: skip


def _complement(A: Expr, numbers: Array, chosen: list[int], dependent: list[int]) -> Any:
    """C with A C = 0: rows of A are solved for the dependent speeds.

    numbers : (points, m, n) values of A, the first as drawn.
    """
    done = eliminate(A, numbers, dependent)
    C = SX(A.shape[1], len(chosen))
    for place, k in enumerate(chosen):
        C[k, place] = 1
    for k, row in zip(done.columns, done.table, strict=True):
        for j, x in row.items():
            C[k, chosen.index(j)] = -x
    return C


def _choose(A: Array, names: list[str], wanted: list[str], model: str) -> list[int]:
    """Places of independent speeds: those wanted, checked, or those that leave the best conditioned rest."""
    free = A.shape[1] - A.shape[0]
    if not wanted:
        pivots = qr(A, mode="r", pivoting=True)[1] if A.size else np.arange(A.shape[1])
        return sorted(int(k) for k in pivots[A.shape[0] :])
    for name in wanted:
        place, where = f"model {model!r}", {"speed": name}
        require_name("speed", name, names, place, argument="independent", error=ModelError, where=where)
    chosen = [names.index(name) for name in dict.fromkeys(wanted)]
    dependent = [k for k in range(len(names)) if k not in chosen]
    if len(chosen) != free or (dependent and rank_at(A[:, dependent]) < len(dependent)):
        fault = "are not independent" if len(chosen) == free else f"are {len(chosen)}"
        raise ModelError(
            "dependent-coordinates", f"{model!r} has {free} degrees of freedom at the drawn pose; the independent "
            f"speeds {', '.join(wanted)} {fault}.", Advice("Choose others by {}.", Argument("independent")),
        )  # fmt: skip
    return chosen
