"""Virtual constraints of a machine and the effect of its inputs on them, as expressions.

A machine M v̇ = f + B u + Aᵀλ, A v̇ = b, has the accelerations v̇ = a + G u, where a is the acceleration without the
inputs (joints included). Virtual constraints φ(q,t) = 0 or c(q,v,t) = 0 are imposed at acceleration level, with
feedback on their residual,

    φ̈ = A₁ v̇ + β = -2 ζ ω φ̇ - ω² φ ,      ċ = A₁ v̇ + β = -ω c        so        (A₁ G) u = r = b₁ - β - A₁ a .

The distance to a singular pose, independent of units, compares J = A₁ G with W = Gᵀ M G, the inertia the inputs move,
and with Y = A₁ M⁺ A₁ᵀ, the acceleration per unit force along the constraints (M⁺: within the joints). The singular
values of

    Y^(-1/2) J W^(-1/2)

are the cosines of the angles between the required accelerations and those the inputs cause: 1 where the inputs act
along the constraints, 0 at a singular pose. (The constraint itself is singular where ∂φ/∂q vanishes: then Y goes to
zero with J.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import casadi as ca
import numpy as np

from dalembert.core.declare import function, not_negative, one_of, refused_as
from dalembert.core.errors import ModelError
from dalembert.core.results import result
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import call_user, one_value
from dalembert.expressions.quantities import is_real
from dalembert.solve.constrained.constraint_factor import ConstraintFactor
from dalembert.solve.constrained.solve import forward_function
from dalembert.solve.constrained.structure import massless_directions
from dalembert.solve.integrate.events import EventView

SX = ca.SX


_RATE = refused_as("negative", not_negative)
Frequency = Annotated[float, _RATE, "ω [rad/s]; 0: only accelerations are controlled", ModelError]
Damping = Annotated[float, _RATE, "ζ of the decay of deviations", ModelError]


@result
class VirtualConstraint:
    """A relation that the inputs keep.

    function : of the state ``s`` (``s["floor3.x"]``, ``s.t``, ...), called once with symbols; zero where it is kept.
    level : "position" (φ) or "velocity" (c).
    frequency, damping : ω [rad/s] and ζ of the decay of its residual; ω = 0: only its acceleration is controlled.
    """

    function: Annotated[Callable[[Any], Any], function, ModelError]
    level: Annotated[str, one_of("position", "velocity"), ModelError] = "position"
    frequency: Frequency = 0.0
    damping: Damping = 1.0


def prescribe(name: str, value: Any) -> Callable[[Any], Any]:
    """The coordinate minus its prescribed value: a number, or a function of time."""
    if not callable(value) and not (is_real(value) and np.isfinite(float(value))):
        raise ModelError(
            "not-finite", f"motion of {name!r} must be a finite number or a function of time, got {value!r}."
        )
    return lambda s: s[name] - (call_user(value, f"motion of {name!r}", s.t) if callable(value) else value)


def read_constraints(relations: Mapping[str, Any], frequency: float, damping: float) -> dict[str, VirtualConstraint]:
    """Constraints by name, from functions, names of coordinates (kept at zero) or ready ones."""
    if not isinstance(relations, Mapping) or not relations:
        raise ModelError("empty", "constraints must name at least one: {'top at rest': lambda s: s['floor3.x']}.")
    constraints = {}
    for name, relation in relations.items():
        if isinstance(relation, str):
            relation = prescribe(relation, 0.0)
        if not isinstance(relation, VirtualConstraint):
            relation = VirtualConstraint(relation, frequency=frequency, damping=damping)
        constraints[str(name)] = relation
    return constraints


def constraint_terms(
    eqs: EquationsOfMotion, constraints: Mapping[str, VirtualConstraint], actuated: list[str]
) -> tuple[ca.Function, np.ndarray]:
    """(q, v, z, u, p, t) -> J, W, r, φ, Y, |r|'; and per constraint whether any input acts on it.

    |r|' (m,) is the sum of the magnitudes of the terms of r: r is small against it where its terms cancel.
    """
    view = EventView(eqs)
    q, v, a, lam, z, u, p, t = view.arguments
    N, n = eqs.functions["kinematics"](q, p, t)
    rate = N @ v + n
    places = [eqs.inputs.index[name] for name in actuated]
    _, motion, *_ = forward_function(eqs)(q, v, z, u, p, t, SX.zeros(len(eqs.rows)))
    G = ca.jacobian(motion, u)[:, places]
    if any(ca.depends_on(G, u[k]) for k in places):
        raise ModelError(
            "not-linear", "servo-constraints need inputs that act linearly; one of the driven inputs does not."
        )
    rest = ca.substitute(motion, u, ca.vertcat(*[SX(0) if k in places else u[k] for k in range(u.shape[0])]))
    rows, right, sizes, values = [], [], [], []
    for name, constraint in constraints.items():
        value = _expression(name, constraint, view, (a, lam, u, *(() if constraint.level == "velocity" else (v,))))
        omega = constraint.frequency
        if constraint.level == "velocity":
            row, first, back = ca.jacobian(value, v), value, omega * value
        else:
            first = ca.jacobian(value, q) @ rate + ca.jacobian(value, t)
            row, back = ca.jacobian(value, q) @ N, 2 * constraint.damping * omega * first + omega**2 * value
        parts = (-(ca.jacobian(first, q) @ rate), -ca.jacobian(first, t), -back, -(row @ rest))
        rows.append(row)
        right.append(sum(parts, SX(0)))
        sizes.append(sum((ca.fabs(part) for part in parts), SX(0)))
        values.append(value)
    M = eqs.functions["inertia"](q, p, t)
    A1 = ca.vertcat(*rows)
    J = A1 @ G
    Y = A1 @ _solve_for_forces(eqs, A1, M, view.arguments)
    expressions = (J, G.T @ (M @ G), ca.vertcat(*right), ca.vertcat(*values), Y, ca.vertcat(*sizes))
    terms = ca.Function("servo_terms", [q, v, z, u, p, t], [ca.densify(x) for x in expressions], {"cse": True})
    realizable = np.array([ca.sparsify(J[k, :]).nnz() > 0 for k in range(len(constraints))])
    return terms, realizable


def _solve_for_forces(eqs: EquationsOfMotion, rows: Any, M: Any, arguments: list[Any]) -> Any:
    """M⁺ A₁ᵀ (nv, m): accelerations that forces along the constraints cause, within the joints."""
    q, v, _, _, z, u, p, t = arguments
    A, _ = eqs.functions["rows"](q, v, z, u, p, t)
    factor = ConstraintFactor(M, A, massless=massless_directions(eqs))
    still = SX.zeros(len(eqs.rows))
    columns = [factor.accelerations(ca.densify(rows[k, :].T), still)[0] for k in range(rows.shape[0])]
    return ca.horzcat(*columns)


def _expression(name: str, constraint: VirtualConstraint, view: EventView, foreign: tuple[Any, ...]) -> Any:
    what, fast = f"virtual constraint {name!r}", constraint.level == "velocity"
    value = one_value(constraint.function, what, view)
    if any(x.shape[0] and ca.depends_on(value, x) for x in foreign):
        raise ModelError(
            "not-supported",
            f"{what} at {constraint.level} level may depend on positions{' and speeds' * fast} and time only, not on "
            f"{'accelerations' if fast else 'speeds'}, reactions or inputs.",
        )
    return value


def share_effort(W: Any, diagonal: Any, share: float = 1e-8) -> Any:
    """W with a ``share`` of its diagonal added, so that inputs with the same effect share the effort."""
    return W + share * diagonal


def solve_inputs(J: Any, W: Any, r: Any) -> Any:
    """u with J u = r and the least uᵀ W u, as an expression."""
    m, n = J.shape
    if m == n:
        return ca.solve(J, r)
    back = ca.solve(share_effort(W, ca.diag(ca.diag(W))), J.T)
    return back @ ca.solve(J @ back, r)


def compute_signed_gain(J: Any, W: Any, most: int = 5, tiny: float = 1e-200) -> Any:
    """√det(J W⁻¹ Jᵀ), the inputs scaled by the inertia they move; signed for as many inputs as constraints.

    most : constraints up to which a determinant is written out.  tiny : keeps it finite without any effect.
    """
    m, n = J.shape
    if m == n and m <= most:
        return ca.det(J) / ca.sqrt(ca.fmax(ca.det(W), tiny))
    back = ca.solve(share_effort(W, ca.diag(ca.diag(W))), J.T)
    roots = ca.diag(ca.chol(J @ back + tiny * SX.eye(m)))
    gain = SX(1)
    for k in range(m):
        gain *= roots[k]
    return gain


def compute_demand(r: Any, size: Any, tiny: float = 1e-200) -> Any:
    """Largest share of the required acceleration that does not cancel, 0 to 1: the inputs must supply it."""
    return ca.mmax(ca.fabs(r) / (size + tiny))
