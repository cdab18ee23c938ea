"""A derivation: equations of motion of a system by one formalism, with its steps in order and its results.

    q̇ = N v + n ,   M v̇ = f + Aᵀ λ ,   A v̇ = b

The expressions are those of the graph, which computes them. Text (LaTeX, Markdown, Python) is made from them on
request. Every formalism also keeps its own solution for v̇ and λ, so that formalisms can be compared:
`Derivation.solve`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.arrays import AnyArray as Array
from dalembert.core.declare import mapping, number
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.core.progress import Setting
from dalembert.equations import (
    ACCELERATION,
    HOLONOMIC,
    VELOCITY,
    QuaternionBlock,
    Row,
    equations_from_expressions,
)
from dalembert.equations.equations_of_motion import EquationsOfMotion, equations
from dalembert.expressions import Kernel
from dalembert.numerics.gauss_newton import close_rows
from dalembert.record import Record
from dalembert.symbolic.block_solve import solve_mass
from dalembert.symbolic.motion import SystemMotion, in_rates, rank_at, vanishes
from dalembert.symbolic.system import System
from dalembert.symbolic.text.printing import (
    count_operations,
    equations_in_latex,
    free_stem,
    latex_name,
    python_function,
)

SX = ca.SX
Values = Mapping[str, Array]
Method = Callable[[Values], tuple[Array, Array]]


@dataclass(frozen=True)
class Step:
    """One step of a derivation: a title, a sentence, a formula in LaTeX, and expressions with their left-hand sides."""

    title: str
    sentence: str
    formula: str = ""
    terms: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Conserved:
    """A quantity that keeps its value on every motion, and why."""

    name: str
    expression: Any
    reason: str


@dataclass(frozen=True)
class SolvedMotion:
    """Accelerations of a state by one formalism.

    acceleration : q̈ in the order of the coordinates.  speed_rates : v̇.  multipliers : λ, of minimum norm.
    reactions : by body, where the formalism has force balances: force in world axes and, for a rigid body, torque about
        the mass centre in body axes, that coordinates and rows exert on the body.
    """

    acceleration: Array
    speed_rates: Array
    multipliers: Array
    reactions: Mapping[str, Array] = field(default_factory=dict)


def least_squares(matrix: Array, right: Array, rank: float = 1e-13) -> Array:
    """The smallest solution; ``rank`` : singular value over the largest that is zero.

    Of 500 random systems of 3 to 20 speeds with rows that repeat others, those of zero were below 1.1e-16 and the
    others above 4.8e-6. Rows at an angle δ have δ in the rows alone and δ² in the matrix of masses and rows, where they
    count as one below 6e-7.
    """
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=rank)[0])


def pseudo_inverse(matrix: Array, rank: float = 1e-13) -> Array:
    """The inverse of `least_squares`."""
    return np.asarray(np.linalg.pinv(matrix, rank))


def count_independent(matrix: Array, rank: float = 1e-13) -> int:
    """Singular values that are not zero, as in `least_squares`."""
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int((sizes > rank * max(sizes, default=0.0)).sum())


def solve_with_multipliers(values: Values) -> tuple[Array, Array]:
    """v̇ and λ of M v̇ - Aᵀ λ = f, A v̇ = b; redundant rows share their multiplier."""
    M, f, A, b = values["M"], values["f"], values["A"], values["b"]
    n, m = len(f), len(b)
    if not m:
        return np.linalg.solve(M, f), np.zeros(0)
    scale = max(float(np.abs(M).max()), 1e-300) / max(float(np.abs(A).max()), 1e-300)
    K = np.block([[M, -scale * A.T], [scale * A, np.zeros((m, m))]])
    right = np.concatenate([f, scale * b])
    x = least_squares(K, right)
    x += least_squares(K, right - K @ x)  # one refinement
    return x[:n], scale * x[n:]


@dataclass(frozen=True, eq=False)
class Derivation:
    """Equations of motion of a system by one formalism. Frozen; made by the functions of `da.symbolic`.

    formalism : its name.  motion : the system in the speeds of this derivation.  M, f : of M v̇ = f + Aᵀ λ.
    steps : in order.  extra : further matrices of the formalism, for its own solution.
    method : that solution, from numbers of M, f, A, b and ``extra`` to v̇ and λ.
    shown, left : expressions to show that `simplify` found, and those that it left as they are.
    """

    formalism: str
    motion: SystemMotion
    M: Any
    f: Any
    steps: tuple[Step, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    method: Method = solve_with_multipliers
    shown: Mapping[str, Any] = field(default_factory=dict)
    left: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_derivation(self)

    def __repr__(self) -> str:
        return (
            f"Derivation({self.system.name!r} by {self.formalism}: {len(self.names)} speeds, {len(self.rows)} "
            f"constraint rows, {self.operations['all']} operations)"
        )

    # -- contents ------------------------------------------------------------------------------------------------------
    @property
    def system(self) -> System:
        return self.motion.system

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the speeds."""
        return self.motion.names

    @property
    def rows(self) -> tuple[Row, ...]:
        """The constraint rows that were not eliminated, in the order of λ."""
        return self.motion.rows

    @property
    def q(self) -> Any:
        return self.system.q

    @property
    def v(self) -> Any:
        return self.motion.v

    @property
    def A(self) -> Any:
        """Rows of A v̇ = b; A' λ acts on the system."""
        return self.motion.A

    @property
    def b(self) -> Any:
        return self.motion.b

    @cached_property
    def multipliers(self) -> Any:
        """Symbols of λ, a column."""
        return ca.vertcat(SX(0, 1), *(SX.sym(f"lambda_{k + 1}") for k in range(len(self.rows))))

    @cached_property
    def explicit(self) -> Any:
        """v̇ as an expression of (q, v, inputs, t), with the constraint rows solved; the rows must be independent."""
        if not self.rows:
            return solve_mass(self.M, self.f)
        A = ca.densify(self.A)
        free, turned = solve_mass(self.M, self.f), solve_mass(self.M, A.T)
        lam = solve_mass(A @ turned, self.b - A @ free)
        return free + turned @ lam

    @cached_property
    def state_equations(self) -> Any:
        """(v̇, q̇) as one column of expressions."""
        return ca.vertcat(self.explicit, self.motion.qdot)

    @cached_property
    def operations(self) -> dict[str, int]:
        """Number of operations to evaluate M, f, A, b, and all of them together, common subexpressions counted once."""
        parts = {"M": self.M, "f": self.f, "A": self.A, "b": self.b}
        return {name: count_operations([expression]) for name, expression in parts.items()} | {
            "all": count_operations(list(parts.values()))
        }

    @cached_property
    def conserved(self) -> tuple[Conserved, ...]:
        """Conserved quantities: momenta of cyclic coordinates, and the energy where nothing changes it.

        Values at random points decide whether a derivative vanishes.
        """
        return _find_invariants(in_rates(self.system))

    # -- numbers -------------------------------------------------------------------------------------------------------
    @cached_property
    def kernel(self) -> Kernel:
        """(q, v, u, p, t) -> M, f, A, b on arrays, in the order of coordinates, speeds, inputs and parameters."""
        s = self.system
        parts = [SX(matrix) for matrix in (self.M, self.f, self.A, self.b)]
        return Kernel(ca.Function("derived", [s.q, self.v, s.u, s.p, s.t], parts, {"cse": True}))

    def solve(
        self,
        coordinates: Mapping[str, float],
        rates: Mapping[str, float] | None = None,
        *,
        inputs: Mapping[str, float] | None = None,
        t: float = 0.0,
    ) -> SolvedMotion:
        """Accelerations and multipliers at a state, solved in the way of the formalism.

        coordinates, rates : by the names of the coordinates; zero where left out. The rates must fulfil the rows.
        """
        s = self.system
        q = _column(s.coordinate_names, coordinates, "coordinate")
        qdot = _column(s.coordinate_names, rates or {}, "coordinate")
        u = _column(s.input_names, inputs or {}, "input")
        p = np.array(list(s.values().values()), dtype=float)
        results = [np.array(entry) for entry in self._function.call([q, qdot, u, p, real_number("t", t)])]
        for name, value in zip(self._parts, results, strict=False):
            if not np.isfinite(value).all():
                raise ModelError(
                    "not-finite", f"{name} of {self!r} is not finite at this state: something is divided by zero.",
                    where={"part": name},
                )  # fmt: skip
        values = {name: entry if entry.shape[1] != 1 or name in _MATRICES else entry[:, 0] for name, entry in
                  zip(self._parts, results, strict=False)}  # fmt: skip
        vdot, lam = self.method(values)
        return SolvedMotion(values["N"] @ vdot + values["bias"], vdot, lam, self._reactions(values, vdot))

    def conserved_along(self, record: Record, quantities: Sequence[Conserved] = ()) -> Record:
        """Conserved quantities along a run of these equations, as channels of a record.

        record : with the coordinates and speeds of the derivation, as ``da.simulate`` of its equations gives.
        quantities : those of `noether`, for example; ``conserved`` of the derivation where left out.
        """
        s, motion = self.system, self.motion
        values = s.values()
        rates = ca.Function("rates", [s.q, motion.v, s.p, s.t], [motion.qdot])
        rate_symbols = SX.sym("rates", s.q.shape[0])
        column = ca.vertcat(SX(0, 1), *(quantity.expression for quantity in quantities or self.conserved))
        column = ca.substitute(column, in_rates(s).v, rate_symbols)
        f = ca.Function("conserved", [s.q, rate_symbols, s.u, s.p, s.t], [column])
        p, count = ca.DM(list(values.values())), len(record)
        q, v = (ca.DM(np.array([record[name] for name in names])) for names in (s.coordinate_names, self.names))
        u = ca.DM(
            np.array([record[name] if name in record else np.zeros(count) for name in s.input_names]).reshape(-1, count)
        )
        t = ca.DM(record.time).T
        found = np.array(f(q, rates(q, v, p, t), u, p, t))
        return Record(
            record.time,
            found.T,
            [quantity.name for quantity in quantities or self.conserved],
            name=f"conserved quantities of {s.name}",
        )

    def _reactions(self, values: Values, vdot: Array) -> dict[str, Array]:
        """m r̈ - F and I ω̇ + ω × I ω - τ of every body, where the formalism keeps its balances."""
        if "applied" not in values:
            return {}
        forces = values["mass"] @ (values["J"] @ vdot + values["gamma"]) - values["applied"]
        reactions = {}
        for name, body in self.system.bodies.items():
            size = 3 if body.rotation is None else 6
            reactions[name], forces = forces[:size], forces[size:]
        return reactions

    @cached_property
    def _parts(self) -> list[str]:
        return ["M", "f", "A", "b", "N", "bias", *self.extra]

    @cached_property
    def _function(self) -> ca.Function:
        """(q, q̇, inputs, p, t) -> M, f, A, b, N, the rest of q̈, and the matrices of the formalism."""
        s, motion = self.system, self.motion
        parts = [self.M, self.f, self.A, self.b, motion.N, motion.rate(motion.qdot), *self.extra.values()]
        columns = [ca.densify(SX(entry)) for entry in parts]
        inner = ca.Function("parts", [s.q, motion.v, s.u, s.p, s.t], columns)
        if motion.of_rates is motion.v:
            return inner
        speeds = ca.Function("speeds", [s.q, s.rates, s.p, s.t], [motion.of_rates])
        q, qdot, u, p, t = (SX.sym(name, size) for name, size in
                            zip("qvupt", (s.q.shape[0], s.q.shape[0], s.u.shape[0], s.p.shape[0], 1)))  # fmt: skip
        return ca.Function("solved", [q, qdot, u, p, t], inner.call([q, speeds(q, qdot, p, t), u, p, t]))

    # -- text ----------------------------------------------------------------------------------------------------------
    @property
    def final(self) -> Step:
        """The equations of motion themselves."""
        accelerations = [latex_name(f"{name}.rate") if not name.endswith(".rate") else latex_name(_acceleration(name))
                for name in self.names]  # fmt: skip
        column = "\\begin{bmatrix}" + " \\\\ ".join(accelerations) + "\\end{bmatrix}"
        terms = [("M", self.M), ("f", self.f)]
        formula = f"M\\,{column} = f"
        if self.rows:
            terms += [("A", self.A), ("b", self.b)]
            formula += f" + A^{{T}} \\lambda, \\qquad A\\,{column} = b"
        return Step("Equations of motion", "Mass matrix and forces.", formula, tuple(terms))

    @cached_property
    def stem(self) -> str:
        """The letter of names for common parts of formulas."""
        return free_stem(self.system.symbols)

    def lines_of(self, step: Step) -> list[str]:
        """Formula and terms of a step in LaTeX; a matrix whose letter is also that of a symbol is bold."""
        symbols = {latex_name(name) for name in self.system.symbols}
        letters = "".join(lhs for lhs, _ in step.terms if lhs in symbols)
        lines = [step.formula] if step.formula else []
        if letters:
            lines = [re.sub(rf"(?<![\\A-Za-z{{])[{letters}](?![A-Za-z}}])", r"\\mathbf{\g<0>}", one) for one in lines]
        for line in equations_in_latex(step.terms, self.readable, self.stem):
            lhs, equals, right = line.partition(" = ")
            bold = lhs[0] in letters and lhs[1:2] in ("", "_") and lhs in dict(step.terms)
            lines.append(f"\\mathbf{{{lhs[0]}}}{lhs[1:]}{equals}{right}" if bold else line)
        return lines

    def latex(self) -> str:
        """The equations of motion in LaTeX, lines of an ``aligned`` environment."""
        lines = self.lines_of(self.final)
        aligned = " \\\\\n".join(line.replace(" = ", " &= ", 1) for line in lines)
        return "\\begin{aligned}\n" + aligned + "\n\\end{aligned}"

    def markdown(self) -> str:
        """All steps as Markdown with LaTeX formulas."""
        lines = [f"# {self.system.name}: {self.formalism}", ""]
        for step in (*self.steps, self.final):
            lines += [f"## {step.title}", "", step.sentence, ""]
            for line in self.lines_of(step):
                lines += ["$$", line, "$$", ""]
        if self.conserved:
            lines += ["## Conserved quantities", ""]
            for quantity in self.conserved:
                shown = equations_in_latex([(latex_name(quantity.name), quantity.expression)], self.readable, self.stem)
                lines += [f"{quantity.reason}.", "", *(text for line in shown for text in ("$$", line, "$$", ""))]
        if self.left:
            lines += [f"Not simplified, because of the bounds: {', '.join(self.left)}.", ""]
        return "\n".join(lines)

    def python(self) -> str:
        """A Python module with functions of (q, v, u, p, t) for M, f, the rows and q̇; it needs ``math`` alone."""
        s = self.system
        arguments = {name: ca.vertsplit(column) if column.shape[0] else [] for name, column in
                     (("q", s.q), ("v", self.v), ("u", s.u), ("p", s.p), ("t", s.t))}  # fmt: skip
        values = [f"{name} = {value!r}" for name, value in s.parameter_values.items()]
        head = [
            f'"""Equations of motion of {s.name}, by {self.formalism}.', "",
            "q' = N v + n,  M v' = f + A' lam,  A v' = b", "",
            f"q: {', '.join(s.coordinate_names)}", f"v: {', '.join(self.names)}",
            f"u: {', '.join(s.input_names) or '(none)'}", f"p: {', '.join(values) or '(none)'}", '"""', "",
            "import math", "", "", "",
        ]  # fmt: skip
        qdot = {"qdot": self.motion.qdot}
        body = [
            python_function("mass_matrix", arguments, {"M": self.M}, "M, a list of rows."),
            python_function("forces", arguments, {"f": self.f}, "f, a list."),
            python_function("kinematics", arguments, qdot, "Rates of the coordinates, a list."),
        ]
        if self.rows:
            rows = {"A": ca.densify(self.A), "b": self.b}
            body.append(python_function("constraint_rows", arguments, rows, "A, a list of rows, and b, a list."))
        return "\n".join(head) + "\n\n".join(body)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def simplify(self, *, operations: int = 200_000, progress: Setting = None) -> Derivation:
        """The same derivation with simplified expressions to show; computations use the original ones.

        Text is in a short normal form anyway, where this takes about a second at most; here with a larger bound, and
        short entries also by SymPy's general search.

        operations : products of terms for one expression; those that need more are not simplified.
        ``left`` names the expressions that were not simplified.
        """
        from dalembert.symbolic.text.simplify import simplify_terms

        shown, unsimplified = simplify_terms(self._terms, operations, progress)
        return replace(self, shown=shown, left=unsimplified)

    @property
    def _terms(self) -> list[tuple[str, Any]]:
        terms = [term for step in (*self.steps, self.final) for term in step.terms]
        return terms + [(latex_name(quantity.name), quantity.expression) for quantity in self.conserved]

    @cached_property
    def readable(self) -> Mapping[str, Any]:
        """Expressions to show in place of those of the graph: simplified ones, or normal forms found quickly."""
        if self.shown or self.left:
            return self.shown
        from dalembert.symbolic.text.simplify import simplify_terms

        # products of terms for the text of one expression without a request: some tenths of a second
        return simplify_terms(self._terms, 20_000, search=False)[0]


_MATRICES = frozenset({"M", "A", "N", "J", "W", "C", "mass"})


# -- whether a derivation determines the accelerations: ranks at random points and in the pose as drawn ----------------


def check_derivation(d: Derivation) -> None:
    """Check at random points that masses and rows determine the accelerations."""
    motion = d.motion
    if d.M.shape != (motion.nv, motion.nv) or d.f.shape != (motion.nv, 1):
        raise ModelError("wrong-shape", f"M and f have the shapes {d.M.shape} and {d.f.shape}.")
    points = motion.sample([d.M, d.A], 2)
    good = [(M, A) for M, A in points if np.isfinite(M).all() and np.isfinite(A).all()]
    if not good:
        raise ModelError("not-finite", f"M or A of system {d.system.name!r} is not finite at random points.")
    stacks = [np.vstack([_scale_rows(M), _scale_rows(A)]) for M, A in good]
    if max(map(rank_at, stacks)) < motion.nv:
        name = motion.names[int(np.abs(np.linalg.svd(stacks[0])[2][-1]).argmax())]
        raise ModelError(
            "massless-body", f"nothing determines the acceleration of {name!r} in system {d.system.name!r}: the mass "
            "matrix is singular and no constraint row acts on it (checked at random points).",
            where={"speed": name},
        )  # fmt: skip
    if len(d.rows) > max(rank_at(_scale_rows(A)) for _, A in good):
        _refuse_contradiction(d)


def _scale_rows(rows: Array) -> Array:
    lengths = np.abs(rows).max(axis=1, keepdims=True) if rows.size else np.ones((len(rows), 1))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _refuse_contradiction(
    d: Derivation,
    gap: float = 1e-6,  # residual that stays open: Newton's method ends near 1e-15 where there is a solution
    starts: int = 4,  # poses from which it is tried: a closed chain has few ways to close
) -> None:
    """Refuse dependent holonomic rows without a common pose; a Gauss-Newton search from a few poses decides."""
    rows = [row for row in d.motion.ordered if row.level == HOLONOMIC]
    if not rows:
        return
    s = d.system
    phi = ca.vertcat(*(row.expression for row in rows))
    f = ca.Function("phi", [s.q, s.p, s.t], [phi, ca.jacobian(phi, s.q)])
    random = np.random.default_rng(3)
    p = [1.0 if x is None else x for x in s.parameter_values.values()]
    best = np.full(len(rows), np.inf)

    def at(q: Array) -> tuple[Array, Array]:
        value, J = map(np.array, f(q, p, 0.0))
        return value[:, 0], J

    for _ in range(starts):
        q = np.array([s.drawn[name] for name in s.coordinate_names]) + random.normal(size=s.q.shape[0])
        q, _ = close_rows(at, q, rank=1e-9, settled=1e-12, most=50)
        value = np.array(f(q, p, 0.0)[0])[:, 0]
        if np.isfinite(value).all() and np.abs(value).max() < np.abs(best).max():
            best = value
    if np.abs(best).max() > gap:
        bad = [rows[k].name for k in np.flatnonzero(np.abs(best) > gap)]
        raise ModelError(
            "conflicting-arguments", f"constraints {', '.join(map(repr, bad))} of system {s.name!r} contradict each "
            "other: no pose fulfils them.", where={"rows": bad}, evidence={"residual": float(np.abs(best).max())},
        )  # fmt: skip


def check_drawn(eqs: EquationsOfMotion, rank: float = 1e-9) -> None:
    """M, f and the rows must be finite in the pose as drawn, and M and the rows must determine the accelerations."""
    q, v = eqs.state().q, np.zeros(eqs.nv)
    (M,) = eqs.kernel("inertia")(q, eqs.p, 0.0)
    (f,) = eqs.kernel("forces")(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0, np.zeros(len(eqs.rows)))
    A, b = eqs.kernel("rows")(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0)
    rows = np.column_stack([A.reshape(-1, eqs.nv), b])
    draw = Advice("Draw another pose: {}.", Call("s.coordinate"))
    owners = tuple(row.owner for row in eqs.rows)
    for what, word, names, value in (
        ("the mass matrix of", "speed", eqs.speeds.names, M), ("the force of", "speed", eqs.speeds.names, f),
        ("row", "row", owners, rows),
    ):  # fmt: skip
        bad = np.argwhere(~np.isfinite(value))
        if len(bad):
            name = names[int(bad[0][0])]
            problem = f"{what} {name!r} is not finite in the pose as drawn: something is divided by zero."
            raise ModelError("not-finite", problem, draw, where={word: name})
    _, sizes, V = np.linalg.svd(np.vstack([_scale_rows(M.reshape(eqs.nv, eqs.nv)), _scale_rows(rows[:, :-1])]))
    if sizes[-1] <= rank * sizes[0]:
        name = eqs.speeds.names[int(np.abs(V[-1]).argmax())]
        problem = f"nothing determines the acceleration of {name!r} in the pose as drawn: mass matrix and rows lose "
        raise ModelError("singular-matrix", f"{problem}rank there.", draw, where={"speed": name})


def derive(system: System) -> Derivation:
    """The equations of a system by the formalism that fits its description: Lagrange, or Kane where it has speeds."""
    from dalembert.symbolic.formalisms.boltzmann_hamel import boltzmann_hamel
    from dalembert.symbolic.formalisms.kane import kane
    from dalembert.symbolic.formalisms.lagrange import lagrange, lagrange_multipliers

    if not system.definitions:
        return lagrange_multipliers(system) if system.constraints else lagrange(system)
    return boltzmann_hamel(system) if system.kinetic else kane(system)


def quadratic_mass(motion: SystemMotion, formalism: str) -> Any:
    """M = ∂²T/∂v², which must not depend on the speeds."""
    M = ca.hessian(motion.kinetic, motion.v)[0]
    if ca.depends_on(M, motion.v):
        index = next(k for k in range(motion.nv) if ca.depends_on(M, motion.v[k]))
        raise ModelError(
            "not-supported", f"the kinetic energy of system {motion.system.name!r} is not quadratic in "
            f"{motion.names[index]!r}; {formalism} needs a quadratic one.", where={"speed": motion.names[index]},
        )  # fmt: skip
    return M


def _find_invariants(motion: SystemMotion) -> tuple[Conserved, ...]:
    s = motion.system
    T, V = motion.kinetic, motion.potential
    momenta = ca.gradient(T, motion.v)
    slope = ca.gradient(T - V, s.q)
    applied, A = motion.applied, motion.A
    others = [motion.applied, motion.rate(T - V), ca.gradient(T - V, s.t), motion.rates_of_rows - A @ motion.v
              if len(motion.rows) else SX(0, 1)]  # fmt: skip
    points = motion.sample([slope, applied, A, ca.gradient(T - V, s.t), others[3], ca.fabs(T) + ca.fabs(V)])
    points = [point for point in points if all(np.isfinite(x).all() for x in point)]
    if not points:
        return ()
    size = max(float(point[5].max()) for point in points) or 1.0
    conserved = []
    for k, name in enumerate(s.coordinate_names):
        cyclic = all(vanishes(slope[k, 0], size) and force[k, 0] == 0 for slope, force, *_ in points)
        if cyclic and all(not rows[:, k].any() for _, _, rows, *_ in points):
            reason = f"Coordinate {name} is cyclic: energies do not depend on it, and no force or row acts along it"
            conserved.append(Conserved(f"{name}.momentum", momenta[k], reason))
    steady = all(vanishes(point[3][0, 0], size) for point in points)
    workless = all(not point[1].any() and vanishes(point[4]) for point in points)
    if steady and workless and all(row.level != ACCELERATION for row in motion.rows):
        natural = ca.dot(momenta, motion.v) - 2 * T  # T quadratic in the rates
        reason = "Energies do not depend on time, and no force or row does work"
        if all(vanishes(point[0][0, 0], size) for point in motion.sample([natural])):
            conserved.append(Conserved("E", T + V, reason))
        else:
            jacobi = ca.dot(momenta, motion.v) - T + V
            conserved.append(Conserved("h", jacobi, f"{reason}: Jacobi's integral, which is not the energy T + V"))
    return tuple(conserved)


def _acceleration(name: str) -> str:
    return name.removesuffix(".rate") + ".acceleration"


def _column(names: Sequence[str], given: Mapping[str, float], kind: str) -> Array:
    values = mapping(kind, number)(f"values of {kind}s", given)
    for name in values:
        require_name(kind, name, names, error=ModelError)
    return np.array([values.get(name, 0.0) for name in names])


@equations.register
def equations_of_derivation(derivation: Derivation) -> EquationsOfMotion:
    """Equations of motion of a derivation, in its speeds.

    Where holonomic rows were eliminated the equations have all rows instead, so that an assembly and a run can close
    them.
    """
    motion, s = derivation.motion, derivation.system
    if any(row.level == HOLONOMIC and row.unit_norm is None for row in motion.eliminated):
        from dalembert.symbolic.formalisms.lagrange import lagrange_multipliers
        from dalembert.symbolic.formalisms.virtual_work import virtual_work

        return equations(lagrange_multipliers(s) if s.kinetic else virtual_work(s))
    values = s.values()
    groups: dict[str, dict[str, Any]] = {HOLONOMIC: {}, VELOCITY: {}, ACCELERATION: {}}
    for one in motion.ordered:
        convert = {HOLONOMIC: SX, VELOCITY: motion.velocity, ACCELERATION: motion.acceleration}[one.level]
        group = groups[one.level]
        group[one.name] = ca.vertcat(group.get(one.name, SX(0, 1)), convert(one.expression))
    identity = bool(motion.N.is_eye() and motion.n.is_zero())
    blocks = [QuaternionBlock(one.name.removesuffix(".norm"), one.unit_norm[0], motion.names.index(
        list(s.definitions)[one.unit_norm[1]])) for one in motion.eliminated if one.unit_norm is not None]  # fmt: skip
    units = {**s.units, **{name: s.units.get(name, "") for name in derivation.names}}
    eqs = equations_from_expressions(
        s.name, q=s.q, v=motion.v, a=motion.vdot, u=s.u, p=s.p, t=s.t, M=derivation.M, f=derivation.f,
        N=None if identity else motion.N, n=None if identity else motion.n, phi=groups[HOLONOMIC], c=groups[VELOCITY],
        h=groups[ACCELERATION], lam=derivation.multipliers, kinetic=motion.kinetic, potential=_without_inputs(motion),
        power=_power(derivation),
        outputs={name: motion.acceleration(one) for name, one in s.outputs.items()},
        points={name: ca.vertsplit(one) for name, one in s.points.items()}, lines=s.lines, parameter_values=values,
        units=units, drawn=s.drawn, quaternions=tuple(blocks),
    )  # fmt: skip
    check_drawn(eqs)
    return eqs


def _without_inputs(motion: SystemMotion) -> Any:
    """V, without terms of inputs, which are forces and not stored energy."""
    u = motion.system.u
    return ca.substitute(motion.potential, u, SX.zeros(u.shape[0])) if u.shape[0] else motion.potential


def _power(d: Derivation) -> Any:
    """Power of all forces that are not in V, where the kinetic energy has terms that are linear in the speeds.

    With x of M x = ∂T/∂v it is ∂E/∂q q̇ + ∂E/∂t + x · (f + Aᵀ λ), since ∂T/∂v · v̇ = x · M v̇. None where x = v, and where
    M is singular.
    """
    motion = d.motion
    momenta = ca.gradient(motion.kinetic, motion.v)
    points = [(M, p, excess) for M, p, excess in motion.sample([d.M, momenta, momenta - d.M @ motion.v], 2)
              if np.isfinite(M).all() and np.isfinite(p).all()]  # fmt: skip
    if all(vanishes(excess, np.abs(p).max(initial=0.0)) for _, p, excess in points):
        return None
    if any(rank_at(M) < motion.nv for M, _, _ in points):
        return None
    energy = motion.kinetic + _without_inputs(motion)
    return motion.rate(energy) + ca.dot(solve_mass(d.M, momenta), d.f + d.A.T @ d.multipliers)
