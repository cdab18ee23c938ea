"""Linear models from linearized leaves, without the non-linear model of the system (Orsino 2016, section 4.5).

Every matrix of the recursion has a value and first derivatives at a reference motion:

    B = A R ,   C = complement of B ,   S = R C ,   f̄ = Cᵀ f          (products of value and derivatives, truncated)
    q⟨1⟩ = S z + e ,   q⟨2⟩ = S ż + h       e, h: one more column in A, R and C, for the terms without a variable

C is the least-squares complement, whose derivative is exact (`complement`). Where more constraints hold than there are
dependent variables and they contradict each other off the reference, it is a compromise of least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, ModelWarning, require_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.expressions import Array
from dalembert.linear.state_space import StateSpace
from dalembert.symbolic.modular.algebra.complement import choose_independent, linear_complement
from dalembert.symbolic.modular.algebra.elimination import is_rounding, is_zero, solve_determined
from dalembert.symbolic.modular.model import ModularModel, affine_parts, modular_model
from dalembert.symbolic.modular.motion import ModularMotion
from dalembert.symbolic.modular.parts import ModularPart


@dataclass(frozen=True)
class LinearModel:
    """Small motions about a reference, in independent velocities z and coordinates q, and in all variables.

        M δż + D δz + K δq = E δu ,   δq̇ = Nq δq + Nz δz                    (independent variables)
        δẋ = G δx + H δu ,   x = all coordinates and velocities             (all variables: drift modes of constraints)

    residual : largest constraint violation of the linear complement, above rounding only in overconstrained models.
    Constraints of acceleration level leave more velocities free than accelerations: such models have G and H alone.
    """

    name: str
    velocities: tuple[str, ...]
    coordinates: tuple[str, ...]
    inputs: tuple[str, ...]
    M: Array
    D: Array
    K: Array
    E: Array
    Nq: Array
    Nz: Array
    variables: tuple[str, ...]
    G: Array
    H: Array
    residual: float

    def part(self, velocities: Sequence[str], coordinates: Sequence[str]) -> LinearModel:
        """Some of the equations alone, with a check that the others do not act on them."""
        i = [_place(name, self.velocities, "velocity") for name in velocities]
        j = [_place(name, self.coordinates, "coordinate") for name in coordinates]
        inv = np.linalg.inv(self.M)
        outside = [k for k in range(len(self.velocities)) if k not in i]
        beyond = [k for k in range(len(self.coordinates)) if k not in j]
        scale = max(1.0, float(np.abs(inv @ self.K).max(initial=0.0)), float(np.abs(inv @ self.D).max(initial=0.0)))
        for matrix, columns, names in ((self.D, outside, self.velocities), (self.K, beyond, self.coordinates)):
            for k in columns:
                size = float(np.abs((inv @ matrix)[i, k]).max(initial=0.0))
                if not is_zero(np.array(size), scale):
                    problem = f"{names[k]!r} acts on {', '.join(velocities)} (acceleration {size:.3g} per unit), "
                    where, evidence = {"variable": names[k]}, {"acceleration": size}
                    ModelWarning.report([
                        Finding("dependent-coordinates", f"{problem}and is left out.", where, evidence)
                    ])  # fmt: skip
        # where other velocities accelerate with these, the mass of the part is its Schur complement only if they are
        # free; decoupled equations have no such mass
        return LinearModel(
            self.name, tuple(velocities), tuple(coordinates), self.inputs, self.M[np.ix_(i, i)], self.D[np.ix_(i, i)],
            self.K[np.ix_(i, j)], self.E[i], self.Nq[np.ix_(j, j)], self.Nz[np.ix_(j, i)], self.variables, self.G,
            self.H, self.residual,
        )  # fmt: skip

    @property
    def A(self) -> Array:
        """State matrix of (q, z)."""
        inv = np.linalg.inv(self.M)
        return np.block([[self.Nq, self.Nz], [-inv @ self.K, -inv @ self.D]])

    @property
    def B(self) -> Array:
        return np.vstack([np.zeros((len(self.coordinates), len(self.inputs))), np.linalg.solve(self.M, self.E)])

    def eigenvalues(self) -> Any:
        """Eigenvalues of the state matrix, sorted by real part."""
        values = np.linalg.eigvals(self.A)
        return values[np.argsort(values.real, kind="stable")]

    def state_space(self) -> StateSpace:
        """The linear model in (q, z) with all states as outputs."""
        names = (*self.coordinates, *self.velocities)
        n, nu = len(names), len(self.inputs)
        return StateSpace(
            self.A, self.B, np.eye(n), np.zeros((n, nu)), states=names, inputs=self.inputs, outputs=names,
        )  # fmt: skip

    def drift_modes(self) -> Any:
        """Eigenvalues of the model in all variables that the independent ones do not have: drift of constraints."""
        drifting = list(np.linalg.eigvals(self.G))
        for value in np.linalg.eigvals(self.A):
            drifting.pop(int(np.argmin([abs(eigenvalue - value) for eigenvalue in drifting])))
        return np.array(drifting)


@dataclass
class _Linear:
    """Value and derivatives of a node: S and its columns e, h; f̄ and its derivatives in x, accelerations, inputs."""

    columns: tuple[str, ...]
    S: Array
    S_x: Array
    e: Array
    e_x: Array
    h: Array
    h_x: Array
    f: Array
    f_x: Array
    f_a: Array
    f_u: Array
    gaps: list[tuple[Array, Array]]  # B C and its derivatives, of this node and those below


def linearize_parts(
    part: ModularPart | ModularModel,
    reference: Mapping[str, float],
    *,
    coordinates: Sequence[str] | None = None,
    frozen: bool = False,
) -> LinearModel:
    """Linear model of small motions about a reference motion, leaf by leaf.

    Parameters
    ----------
    part : a leaf, an assembly or its model
    reference : values of coordinates, velocities, accelerations and inputs, by label; accelerations that are left out
        follow from the equations
    coordinates : independent coordinates; chosen when left out
    frozen : accept a reference that is not a solution of the equations of motion: the tangent at one state
    """
    model = part if isinstance(part, ModularModel) else modular_model(part)
    motion = model.motion
    if motion.base_order > 1 or motion.working_order > 2:
        raise ModelError("not-supported", f"{model.root.name!r} has variables or constraints above accelerations.")
    point = motion.point(reference, 2, 0.0)
    _complete_accelerations(model, reference, point, 0.0)
    work = _Worker(model, point)
    nodes: dict[str, _Linear] = {}
    for subsystem, path in motion.paths.items():
        nodes[path] = work.node(subsystem, path, nodes)
    root = nodes[""]
    work.check_reference(root, frozen)
    return work.finish(root, coordinates)


def _complete_accelerations(model: ModularModel, reference: Mapping[str, float], point: list[Array], t: float) -> None:
    labels = model.motion.labels(2)
    if any(label in reference for label in labels) or (not np.any(point[1]) and not labels):
        return
    accelerations = model.accelerations(reference, t=t)
    point[2] = np.array([accelerations[label] for label in labels])


class _Worker:
    def __init__(self, model: ModularModel, point: list[Array]) -> None:
        self.model, self.point = model, point
        motion: ModularMotion = model.motion
        self.motion = motion
        self.labels = motion.labels(1)
        self.place = {label: k for k, label in enumerate(self.labels)}
        self.x = ca.vertcat(motion.symbols(0), motion.symbols(1))
        self.a = motion.symbols(2)
        self.u = motion.arguments(2)[3]
        self.nx, self.n = self.x.numel(), len(self.labels)

    def numbers(self, key: object, make: Callable[[], Sequence[Any]]) -> list[Array]:
        """Values of expressions at the reference; their function is made once per model."""
        functions = self.model.functions
        if key not in functions:
            expressions = [ca.SX(expression) for expression in make()]
            functions[key] = self.motion.function(expressions, 2), [expression.shape for expression in expressions]
        function, shapes = functions[key]
        results = function(*self.point)
        results = results if isinstance(results, (tuple, list)) else [results]
        return [np.array(expression).reshape(shape) for expression, shape in zip(results, shapes, strict=True)]

    def rows(self, path: str) -> list[Array]:
        """A, b of first and of second order of the constraints of one node, each with its derivatives in x."""
        values_and_slopes = self.numbers(("rows", path), lambda: self._row_expressions(path))
        values = []
        for value, slope in zip(values_and_slopes[::2], values_and_slopes[1::2], strict=True):
            m, n = value.shape
            values += [value, slope.reshape(n, m, self.nx).transpose(1, 0, 2)]
        return values

    def _row_expressions(self, path: str) -> list[Any]:
        motion = self.motion
        second = ca.vertcat(ca.SX(0, 1), *(row.expression for row in motion.invariants_of(2, path)))
        minus, b2 = affine_parts(second, self.a, "the constraints", self.model.root.name)
        low = [row for row in motion.invariants if row.owner == path]
        v = motion.symbols(1)
        first = []
        for row in low:
            rate = motion.differentiate(row.expression, 1 - row.order) if row.order < 2 else ca.SX(0)
            A1 = ca.jacobian(rate, v)
            first.append(rate - A1 @ v if not ca.depends_on(A1, v) else ca.SX(0))
        b1 = ca.vertcat(ca.SX(0, 1), *first)
        return [row for e in (-minus, b1, b2) for row in (e, ca.jacobian(ca.vec(e), self.x))]

    def node(self, part: ModularPart, path: str, nodes: Mapping[str, _Linear]) -> _Linear:
        inner = [nodes[f"{path}{child.name}."] for child in part.parts]
        labels = self.motion.own_labels(path)
        columns = labels + tuple(label for child in inner for label in child.columns)
        width, n, nx = len(columns), self.n, self.nx
        R, R_x = np.zeros((n, width)), np.zeros((n, width, nx))
        e, e_x, h, h_x = np.zeros(n), np.zeros((n, nx)), np.zeros(n), np.zeros((n, nx))
        f, f_x = np.zeros(width), np.zeros((width, nx))
        f_a, f_u = np.zeros((width, n)), np.zeros((width, self.u.numel()))
        for k, label in enumerate(labels):
            R[self.place[label], k] = 1.0
        at = len(labels)
        for child in inner:
            part_of = slice(at, at + len(child.columns))
            R[:, part_of], R_x[:, part_of] = child.S, child.S_x
            e, e_x, h, h_x = e + child.e, e_x + child.e_x, h + child.h, h_x + child.h_x
            f[part_of], f_x[part_of], f_a[part_of], f_u[part_of] = child.f, child.f_x, child.f_a, child.f_u
            at += len(child.columns)
        F, F_x, F_a, F_u = self.forces(path)
        f = f + R.T @ F
        f_x = f_x + R.T @ F_x + np.einsum("rcx,r->cx", R_x, F)
        f_a, f_u = f_a + R.T @ F_a, f_u + R.T @ F_u
        A, A_x, b1, b1_x, b2, b2_x = self.rows(path)
        B = A @ R
        B_x = np.einsum("irx,rc->icx", A_x, R) + np.einsum("ir,rcx->icx", A, R_x)
        keep = [i for i in range(len(B)) if not (is_rounding(B[i]).all() and is_rounding(B_x[i]).all())]
        r1, r1_x = _right(A, A_x, b1, b1_x, e, e_x)
        r2, r2_x = _right(A, A_x, b2, b2_x, h, h_x)
        independent = self.independent(part, path, columns, B[keep])
        wide = np.column_stack([B, r1, r2])[keep]
        wide_x = np.concatenate([B_x, r1_x[:, None], r2_x[:, None]], axis=1)[keep]
        extra = ("e", "h")
        C, C_x = linear_complement(wide, wide_x, (*columns, *extra), (*independent, *extra))
        d1, d1_x, d2, d2_x = C[:width, -2], C_x[:width, -2], C[:width, -1], C_x[:width, -1]
        C, C_x = C[:width, :-2], C_x[:width, :-2]
        gap = (B[keep] @ C, np.einsum("icx,cz->izx", B_x[keep], C) + np.einsum("ic,czx->izx", B[keep], C_x))
        return _Linear(
            tuple(independent), R @ C, np.einsum("rcx,cz->rzx", R_x, C) + np.einsum("rc,czx->rzx", R, C_x),
            R @ d1 + e, np.einsum("rcx,c->rx", R_x, d1) + R @ d1_x + e_x,
            R @ d2 + h, np.einsum("rcx,c->rx", R_x, d2) + R @ d2_x + h_x,
            C.T @ f, C.T @ f_x + np.einsum("czx,c->zx", C_x, f), C.T @ f_a, C.T @ f_u,
            [gap, *(gap_below for child in inner for gap_below in child.gaps)],
        )  # fmt: skip

    def forces(self, path: str) -> tuple[Array, Array, Array, Array]:
        def make() -> list[Any]:
            f = self.model.forces(path, self.labels).entries
            return [f, *(ca.jacobian(f, variables) for variables in (self.x, self.a, self.u))]

        value, x, a, u = self.numbers(("forces", path), make)
        return value.ravel(), x, a, u

    def independent(self, part: ModularPart, path: str, columns: tuple[str, ...], B: Array) -> tuple[str, ...]:
        if part.own.independent is not None:
            return tuple(path + label for label in part.own.independent)
        return choose_independent(B, columns, self.motion.own_labels(path))

    def check_reference(
        self,
        root: _Linear,
        frozen: bool,
        at_reference: float = 1e-8,  # residual of equations of motion, relative to the largest force there
        closed: float = 1e-6,  # residual of constraints [m, rad] without a warning
    ) -> None:
        size = max(1.0, *(float(np.abs(self.forces(path)[0]).max(initial=0.0)) for path in self.motion.paths.values()))
        wrong = np.abs(root.f)
        if wrong.max(initial=0.0) > at_reference * size and not frozen:
            k = int(np.argmax(wrong))
            raise ModelError(
                "not-at-rest", f"the reference is no solution of the equations of motion: force {root.f[k]:.3g} along "
                f"{root.columns[k]!r}.",
                Advice("Give accelerations and inputs of the reference, or {} for the tangent at one state.",
                       Argument("frozen", True)),
                where={"velocity": root.columns[k]}, evidence={"force": float(root.f[k])},
            )  # fmt: skip
        for order in (0, 1, 2):
            rows = [invariant for invariant in self.motion.invariants if invariant.order <= order]
            if not rows:
                continue
            (values,) = self.numbers(("residual", order), lambda k=order: [self._stack(k)])  # type: ignore[misc]
            k = int(np.argmax(np.abs(values)))
            if abs(values[k, 0]) > closed:
                row, residual = rows[k].name, float(values[k, 0])
                problem = f"constraint {row!r} is violated by {residual:.3g} at the reference (order {order})."
                where, evidence = {"row": row, "order": order}, {"residual": residual}
                ModelWarning.report([Finding("joint-open", problem, where, evidence)], stacklevel=3)

    def _stack(self, order: int) -> Any:
        return ca.vertcat(ca.SX(0, 1), *(row.expression for row in self.motion.invariants_of(order)))

    def _kinematics(self) -> list[Any]:
        motion = self.motion
        low = [row.expression for row in motion.invariants if row.order == 0]
        rates = ca.vertcat(ca.SX(0, 1), *(motion.rate_of(entry.symbol) for entry in motion.variables(0)))
        q, v = motion.symbols(0), motion.symbols(1)
        Phi = ca.vertcat(ca.SX(0, 1), *low)
        return [ca.jacobian(Phi, q), ca.jacobian(rates, q), ca.jacobian(rates, v)]

    def finish(self, root: _Linear, chosen: Sequence[str] | None) -> LinearModel:
        motion, n0 = self.motion, len(self.motion.labels(0))
        low = [row for row in motion.invariants if row.order == 0]
        Phi_q, rate_q, rate_v = self.numbers("kinematics", self._kinematics)
        names = motion.labels(0)
        if chosen is None:
            tops = [name for name in names if "." not in name] + [name for name in names if name.count(".") == 1]
            chosen = choose_independent(Phi_q, names, tops) if low else names
        for name in chosen:
            _place(name, names, "coordinate")
        keep = [i for i in range(len(Phi_q)) if not is_rounding(Phi_q[i]).all()]
        Z, _ = linear_complement(Phi_q[keep], np.zeros((len(keep), n0, 0)), names, chosen)
        if any(row.order == 2 for row in motion.invariants):
            return self._without_independent(root, rate_q, rate_v)
        z0 = np.array([self.point[1][self.place[label]] for label in root.columns])
        a0 = np.array([self.point[2][self.place[label]] for label in root.columns])
        if motion.constraint_order <= 1:
            along = np.einsum("rzx,z->rx", root.S_x, z0) + root.e_x  # δq⟨1⟩ = S δz + along δx, x = (q, -)
            v_q = along[:, :n0] @ Z
        else:
            v_q = self._second_route(root, Z)
        X_q, X_z = np.vstack([Z, v_q]), np.vstack([np.zeros((n0, len(root.columns))), root.S])
        high = np.einsum("rzx,z->rx", root.S_x, a0) + root.h_x  # δq⟨2⟩ = S δż + high δx
        M = -root.f_a @ root.S
        total = root.f_x + root.f_a @ high
        D, K = -total @ X_z, -total @ X_q
        places = [names.index(name) for name in chosen]
        Nq = (rate_q @ Z + rate_v @ v_q)[places]
        Nz = (rate_v @ root.S)[places]
        G, H = self._all_variables(root, rate_q, rate_v)
        gap = max(
            max(np.abs(value).max(initial=0.0), np.abs(slope @ np.hstack([X_q, X_z])).max(initial=0.0))
            for value, slope in root.gaps
        )
        return LinearModel(
            self.model.root.name, root.columns, tuple(chosen), tuple(motion.inputs), M, D, K, root.f_u, Nq, Nz,
            (*names, *self.labels), G, H, float(gap),
        )  # fmt: skip

    def _without_independent(self, root: _Linear, rate_q: Array, rate_v: Array) -> LinearModel:
        G, H = self._all_variables(root, rate_q, rate_v)
        none, nu = np.zeros((0, 0)), H.shape[1]
        names = (*self.motion.labels(0), *self.labels)
        inputs, name = tuple(self.motion.inputs), self.model.root.name
        return LinearModel(name, (), (), inputs, none, none, none, np.zeros((0, nu)), none, none, names, G, H, 0.0)

    def _second_route(self, root: _Linear, Z: Array) -> Array:
        """δq⟨1⟩ along δq where constraints are not linear in the velocities."""
        motion = self.motion
        J_q, J_v = self.numbers("first order", lambda: [ca.jacobian(self._stack(1), motion.symbols(k)) for k in (0, 1)])
        wide = np.column_stack([J_v, J_q @ Z])
        extra = tuple(f"q{k}" for k in range(Z.shape[1]))
        C, _ = linear_complement(wide, np.zeros((*wide.shape, 0)), (*self.labels, *extra), (*root.columns, *extra))
        return np.asarray(C[: self.n, len(root.columns) :])

    def _all_variables(self, root: _Linear, rate_q: Array, rate_v: Array) -> tuple[Array, Array]:
        """δẋ = G δx + H δu of all coordinates and velocities, from f̄ = 0 and the constraints of second order."""
        motion = self.motion
        A, r_x = self.numbers(
            "second order", lambda: [ca.jacobian(self._stack(2), variables) for variables in (self.a, self.x)]
        )
        sizes = np.linalg.norm(root.f_a, axis=1, keepdims=True)
        sizes[sizes == 0] = 1.0
        stack = np.vstack([root.f_a / sizes, A])
        right_x = np.vstack([root.f_x / sizes, r_x])
        right_u = np.vstack([root.f_u / sizes, np.zeros((len(A), root.f_u.shape[1]))])
        solved = solve_determined(stack, -np.hstack([right_x, right_u]))
        if solved is None:
            raise ModelError("singular-matrix", f"the accelerations of {self.model.root.name!r} are not determined.")
        n0 = len(motion.labels(0))
        G = np.vstack([np.hstack([rate_q, rate_v]), solved[:, : self.nx]])
        H = np.vstack([np.zeros((n0, right_u.shape[1])), solved[:, self.nx :]])
        return G, H


def _right(A: Array, A_x: Array, b: Array, b_x: Array, e: Array, e_x: Array) -> tuple[Array, Array]:
    """b + A e with its derivatives."""
    return b.ravel() + A @ e, b_x[:, 0] + np.einsum("irx,r->ix", A_x, e) + A @ e_x


def _place(name: str, names: Sequence[str], kind: str) -> int:
    require_name(kind, name, names, "the linear model")
    return list(names).index(name)
