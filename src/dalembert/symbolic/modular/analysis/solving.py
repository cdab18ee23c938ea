"""Forward and inverse dynamics of modular models: conditions, laws, constraint forces (Orsino 2016, 4.3 and 4.4).

    forward:   [Sᵀ M; A] q̈ = [Sᵀ g; -b] has one solution where A has full rank and Sᵀ M S is positive definite
    inverse:   f̄ = H u + f̄*  gives u = -H⁻¹ f̄*; more inputs than freedoms: the smallest u, weighted
    forces:    without the constraint its residual rate w is a freedom with A_rest D = 0, A_w D = 1;
               the force of the constraint is λ = -Dᵀ f
    friction:  F = -μ sign(slip) |N|, N = N₀ + N₁ F: a quadratic equation in F

Conditions are sufficient ones (theorems 4.1 and 4.3); a massless part may have a solution without fulfilling them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.core.errors import ConvergenceError, DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Finding
from dalembert.expressions import Array
from dalembert.symbolic.modular.algebra.elimination import LIMITS, eliminate, rank_of, scale_rows
from dalembert.symbolic.modular.model import ModularModel, affine_parts

CONSISTENT = 1e-8
"""Largest residual of constraints in an initial state [m, m/s]."""


@dataclass(frozen=True)
class Solvability:
    """Conditions for one solution of dynamics that fail at a state; none where there is one solution."""

    findings: tuple[Finding, ...]
    condition: float

    @property
    def is_solvable(self) -> bool:
        return not self.findings

    def __repr__(self) -> str:
        words = "; ".join(one.problem for one in self.findings) or "one solution"
        return f"Solvability({words}; condition number {self.condition:.3g})"


@dataclass(frozen=True)
class ModelResiduals:
    """Largest residuals over a run: constraints by order, their rates, equations of motion, norms of quaternions."""

    constraints: tuple[float, ...]
    equations: float
    combined: float
    quaternions: float


def check_forward(model: ModularModel, state: Mapping[str, float], *, t: float = 0.0) -> Solvability:
    """Conditions for one solution of forward dynamics from a state."""
    motion, order = model.motion, model.acceleration_order
    findings = []
    for k in range(order):
        rows = [one for one in motion.invariants if one.order <= k]
        if rows:
            values = _stack_at(model, k, motion.point(state, order, t))
            worst = int(np.argmax(np.abs(values)))
            if abs(values[worst]) > CONSISTENT:
                findings.append(Finding(
                    "joint-open", f"the state violates constraint {rows[worst].name!r} by {values[worst]:.3g} "
                    f"(order {k}).", {"row": rows[worst].name, "order": k}, {"residual": float(values[worst])},
                ))  # fmt: skip
    M, g, A, _ = (np.array(one) for one in model._solver(*motion.point(state, order - 1, t)))
    if not all(np.isfinite(one).all() for one in (M, g, A)):
        findings.append(Finding("not-finite", "the equations divide by zero at this state.", {"state": dict(state)}))
        return Solvability(tuple(findings), np.inf)
    rank = rank_of(A)
    if rank < model.regular_rank:
        findings.append(Finding(
            "singular-pose", f"the constraints have rank {rank} here, elsewhere {model.regular_rank}.",
            {"state": dict(state)}, {"rank": rank, "regular": model.regular_rank},
        ))  # fmt: skip
    S = scipy.linalg.null_space(scale_rows(A), rcond=LIMITS.rank) if A.size else np.eye(len(M))
    inner = S.T @ M @ S
    values = np.linalg.eigvalsh((inner + inner.T) / 2) if inner.size else np.ones(1)
    if values[0] <= LIMITS.determined * max(values[-1], 0.0):
        findings.append(Finding(
            "not-positive-definite", f"the inertia of the {len(inner)} freedoms is not positive definite (smallest "
            f"eigenvalue {values[0]:.3g}).", {"state": dict(state)}, {"eigenvalue": float(values[0])},
        ))  # fmt: skip
    return Solvability(tuple(findings), float(values[-1] / values[0]) if values[0] > 0 else np.inf)


def check_inverse(
    model: ModularModel, inputs: Sequence[str], state: Mapping[str, float], *, t: float = 0.0
) -> Solvability:
    """Conditions for one set of inputs that makes a motion through a state: as many as freedoms, independent."""
    findings = []
    for name in inputs:
        _require_input(model, name)
        if name not in model.motion.input_motions:
            findings.append(Finding(
                "no-actuator", f"input {name!r} has no velocity that it acts along.", {"input": name}
            ))  # fmt: skip
    H = _input_matrix(model, inputs, state, t)
    freedoms = H.shape[0]
    if len(inputs) != freedoms:
        word = "fewer" if len(inputs) < freedoms else "more"
        findings.append(Finding(
            "too-few-inputs" if len(inputs) < freedoms else "not-unique",
            f"{len(inputs)} inputs are {word} than the {freedoms} freedoms.", {}, {"freedoms": freedoms},
        ))  # fmt: skip
    rank = rank_of(H)
    if rank < min(freedoms, len(inputs)):
        findings.append(Finding(
            "singular-pose", f"the motions of the inputs {', '.join(inputs)} depend on each other here (rank {rank}).",
            {"state": dict(state)}, {"rank": rank},
        ))  # fmt: skip
    values = np.linalg.svd(H, compute_uv=False) if H.size else np.ones(1)
    return Solvability(tuple(findings), float(values[0] / values[-1]) if values[-1] > 0 else np.inf)


def inverse_law(model: ModularModel, inputs: Sequence[str]) -> dict[str, Any]:
    """Inputs as expressions of coordinates, velocities and accelerations: an open-loop law, valid on any motion."""
    symbols = [_require_input(model, name) for name in inputs]
    fbar = model.tree.constrained.entries
    u = ca.vertcat(*symbols)
    minus_H, rest = affine_parts(fbar, u, "the forces of inputs", model.root.name)
    if minus_H.shape[0] != len(inputs):
        raise ModelError(
            "too-few-inputs", f"{len(inputs)} inputs for {minus_H.shape[0]} freedoms: a law needs as many.",
            Advice("More inputs than freedoms have a smallest solution at each instant: inverse_dynamics."),
        )  # fmt: skip
    order = model.acceleration_order
    done = eliminate(minus_H, model.points.evaluate(minus_H, order), right=rest)
    if len(done.columns) < len(inputs):
        lost = [inputs[k] for k in range(len(inputs)) if k not in done.columns]
        raise ModelError("rank-deficient", f"the inputs {', '.join(lost)} act on no freedom of their own.")
    solved = dict(zip(done.columns, done.right, strict=True))
    return {name: solved[k] for k, name in enumerate(inputs)}


def inverse_dynamics(
    model: ModularModel, inputs: Sequence[str], motion: Mapping[str, float], *, t: float = 0.0,
    weights: Mapping[str, float] | None = None,
) -> dict[str, float]:  # fmt: skip
    """Inputs that make a motion, given by coordinates, velocities and accelerations at one instant.

    With more inputs than freedoms the smallest ones, in the norm of ``weights``. Fewer are an error.
    """
    H = _input_matrix(model, inputs, motion, t)
    names = set(inputs)
    still = {name: 0.0 if name in names else value for name, value in motion.items()}
    rest = _project(model, still, t)[0]
    if rank_of(H) < H.shape[0]:
        raise ModelError(
            "too-few-inputs", f"the inputs {', '.join(inputs)} reach {rank_of(H)} of the {H.shape[0]} freedoms here.",
            where={"inputs": tuple(inputs)}, evidence={"rank": rank_of(H), "freedoms": H.shape[0]},
        )  # fmt: skip
    w = np.array([1.0 if weights is None else weights.get(name, 1.0) for name in inputs])
    if (w <= 0).any():
        raise DataError("not-positive", "weights of inputs must be above zero.")
    scaled = np.linalg.lstsq(H / w, -rest, rcond=None)[0]
    return dict(zip(inputs, (scaled / w).tolist(), strict=True))


def constraint_forces(
    model: ModularModel, rows: Sequence[str], motion: Mapping[str, float], *, t: float = 0.0
) -> dict[str, float]:
    """Forces that keep constraints, by the names of the constraints: dual to the rate of their residuals.

    motion : coordinates, velocities, accelerations and inputs at one instant.
    """
    N0 = _forces_of_rows(model, rows, motion, t)
    return dict(zip(rows, N0.tolist(), strict=True))


def dry_friction(
    model: ModularModel, effort: str, normals: Sequence[str], slip: str, mu: float, motion: Mapping[str, float],
    *, inputs: Sequence[str] = (), t: float = 0.0,
) -> dict[str, float]:  # fmt: skip
    """Inputs, friction and normal forces of a motion with Coulomb friction: F = -μ sign(slip) √(Σ N²).

    Parameters
    ----------
    effort : the input that is the friction force
    normals : constraints whose forces press the surfaces together
    slip : velocity whose sign the friction opposes
    inputs : inputs to solve for, as many as freedoms
    """
    if effort in inputs:
        raise DataError("conflicting-arguments", f"{effort!r} cannot be friction and an input to solve for.")
    if mu < 0:
        raise DataError("negative", f"mu must not be negative, got {mu:g}.")
    speed = motion.get(slip)
    if speed is None:
        raise DataError("missing-argument", f"the motion has no value of {slip!r}.", where={"velocity": slip})

    def at(force: float) -> tuple[dict[str, float], Array]:
        values = {**motion, effort: force}
        solved = inverse_dynamics(model, inputs, values, t=t) if inputs else {}
        return solved, _forces_of_rows(model, normals, {**values, **solved}, t)

    (u0, N0), (u1, N1) = at(0.0), at(1.0)
    slope = N1 - N0
    sign = -float(np.sign(speed))
    force = _friction_root(N0, slope, mu, sign)
    found = {name: u0[name] + force * (u1[name] - u0[name]) for name in u0}
    return {**found, effort: force, **dict(zip(normals, (N0 + force * slope).tolist(), strict=True))}


def _friction_root(N0: Array, N1: Array, mu: float, sign: float) -> float:
    """F = sign μ |N₀ + N₁ F|: of the roots with the right sign the smaller, which tends to zero with μ."""
    if sign == 0.0 or mu == 0.0:
        return 0.0
    roots = np.roots([mu**2 * float(N1 @ N1) - 1.0, 2 * mu**2 * float(N0 @ N1), mu**2 * float(N0 @ N0)])
    real = [float(root.real) for root in roots if abs(root.imag) < LIMITS.difference * max(1.0, abs(root))]
    fitting = sorted((root for root in real if root * sign >= 0), key=abs)
    if not fitting:
        raise ConvergenceError(
            "friction-unsettled", f"no friction force fits its own normal force: the surfaces jam at mu = {mu:g}.",
            evidence={"mu": mu},
        )  # fmt: skip
    return fitting[0]


def measure_residuals(
    model: ModularModel, states: Sequence[Mapping[str, float]], times: Sequence[float]
) -> ModelResiduals:
    """Largest residuals over states of a run: coordinates, velocities and inputs; accelerations are solved for."""
    motion, order = model.motion, model.acceleration_order
    worst = np.zeros(order + 1)
    equations = combined = norms = 0.0
    blocks = [
        [path + f"q{k}" for k in "txyz"] for part, path in motion.paths.items()
        if any(one.name == "unit quaternion" for one in part.own.constraints)
    ]  # fmt: skip
    for state, t in zip(states, times, strict=True):
        values = {**state, **model.accelerations(state, t=t)}
        point = motion.point(values, order, t)
        for k in range(order + 1):
            worst[k] = max(worst[k], np.abs(_stack_at(model, k, point)).max(initial=0.0))
        f = float(np.linalg.norm(_project(model, values, t)[0]))
        equations = max(equations, f)
        combined = max(combined, float(np.hypot(f, np.linalg.norm(_stack_at(model, order, point)))))
        for block in blocks:
            norms = max(norms, abs(float(np.sqrt(sum(values[name] ** 2 for name in block))) - 1.0))
    return ModelResiduals(tuple(worst.tolist()), equations, combined, norms)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _require_input(model: ModularModel, name: str) -> Any:
    if name not in model.motion.inputs:
        raise ModelError("unknown-name", unknown_name("input", name, model.motion.inputs, model.root.name))
    return model.motion.inputs[name]


def _cache(model: ModularModel, key: object, make: Any) -> ca.Function:
    if key not in model.functions:
        model.functions[key] = model.motion.function(make(), model.acceleration_order)
    return model.functions[key]


def _stack_at(model: ModularModel, order: int, point: list[Array]) -> Array:
    def make() -> list[Any]:
        return [ca.vertcat(ca.SX(0, 1), *(one.expression for one in model.motion.invariants_of(order)))]

    return np.array(_cache(model, ("invariants", order), make)(*point)).ravel()


def _matrices(model: ModularModel, motion: Mapping[str, float], t: float) -> tuple[Array, Array, Array]:
    """f, ∂f/∂u and A at one point."""

    def make() -> list[Any]:
        f = model.unconstrained.entries
        u = ca.vertcat(ca.SX(0, 1), *model.motion.inputs.values())
        stack = ca.vertcat(
            ca.SX(0, 1), *(one.expression for one in model.motion.invariants_of(model.acceleration_order))
        )
        return [f, ca.jacobian(f, u), ca.jacobian(stack, model.motion.symbols(model.acceleration_order))]

    values = _cache(model, "forces and rows", make)(*model.motion.point(motion, model.acceleration_order, t))
    f, H, A = (np.array(one) for one in values)
    return f.ravel(), H.reshape(len(f), -1), A.reshape(-1, len(f))


def _project(model: ModularModel, motion: Mapping[str, float], t: float) -> tuple[Array, Array]:
    """f̄ and S at one point, by singular values: any complement gives the same conditions."""
    f, _, A = _matrices(model, motion, t)
    S = scipy.linalg.null_space(scale_rows(A), rcond=LIMITS.rank) if A.size else np.eye(f.size)
    return S.T @ f, S


def _input_matrix(model: ModularModel, inputs: Sequence[str], motion: Mapping[str, float], t: float) -> Array:
    for name in inputs:
        _require_input(model, name)
    _, H, _ = _matrices(model, motion, t)
    _, S = _project(model, motion, t)
    names = list(model.motion.inputs)
    return np.asarray(S.T @ H[:, [names.index(name) for name in inputs]])


def _forces_of_rows(model: ModularModel, rows: Sequence[str], motion: Mapping[str, float], t: float) -> Array:
    names = [one.name for one in model.motion.invariants_of(model.acceleration_order)]
    for row in rows:
        if row not in names:
            raise ModelError(
                "unknown-name", unknown_name("constraint", row, names, model.root.name), where={"row": row}
            )
    f, _h, A = _matrices(model, motion, t)
    chosen = [names.index(row) for row in rows]
    rest = [i for i in range(len(names)) if i not in chosen]
    others, own = A[rest], A[chosen]
    if rank_of(A) < rank_of(others) + len(rows):
        shared = [row for row, i in zip(rows, chosen, strict=True) if rank_of(np.delete(A, i, axis=0)) == rank_of(A)]
        raise ModelError(
            "not-unique", f"the force of constraint {', '.join(shared) or ', '.join(rows)} is not unique: other "
            "constraints prevent the same motion.", where={"rows": tuple(shared)},
        )  # fmt: skip
    free = scipy.linalg.null_space(scale_rows(others), rcond=LIMITS.rank) if others.size else np.eye(f.size)
    # D in the freedoms without these rows: A_w D = 1 and no other condition, as f̄ = 0 along the others
    D = free @ np.linalg.pinv(own @ free)
    return np.asarray(-D.T @ f)
