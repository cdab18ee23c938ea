"""Linear systems from energies: expand T, V and D to second order, then differentiate (Genta 2012, appendix A).

    T ≈ ½ ẋᵀ M ẋ + ẋᵀ (M₁ x + f₁) + ½ xᵀ M_g x + xᵀ f₂ ,   V ≈ ½ xᵀ K_V x + xᵀ f₀ ,   D ≈ ½ ẋᵀ C ẋ + ẋᵀ (C₁ x + f₃)
    M ẍ + (C + G) ẋ + (K + H) x = B u + f ,   G = M₁ - M₁ᵀ ,   K = K_V - M_g + sym C₁ ,   H = skew C₁

Generalized forces without a potential add -∂Q/∂ẋ and -∂Q/∂x, with their symmetric parts in C and K and their skew parts
in G and H. The full nonlinear equations are never formed; they give the same matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.expressions import Array
from dalembert.linear import SecondOrder
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.system import System

SX = ca.SX


def linearize_energies(system: System, at: Mapping[str, float] | None = None) -> SecondOrder:
    """The linear system about a rest pose, from the quadratic part of the energies.

    at : coordinates of the pose; as drawn where left out. It must be an equilibrium without inputs.
    """
    require_free_coordinates(system, "quadratic energies", at or {})
    motion = in_rates(system)
    q, v, u = system.q, motion.v, system.u
    T, V, Q = motion.kinetic, motion.potential, motion.applied
    second = {
        "M": ca.hessian(T, v)[0], "M1": ca.jacobian(ca.gradient(T, v), q), "Mg": ca.hessian(T, q)[0],
        "K": ca.hessian(V, q)[0], "Qv": ca.jacobian(Q, v), "Qx": ca.jacobian(Q, q),
        "B": ca.jacobian(Q - ca.gradient(V, q), u),
        "rest": Q - ca.gradient(V, q) + ca.gradient(T, q) - motion.rate(ca.gradient(T, v)),
    }  # fmt: skip
    f = ca.Function("quadratic", [q, v, u, system.p, system.t], [ca.densify(SX(form)) for form in second.values()])
    pose = [float((at or {}).get(name, system.drawn[name])) for name in system.coordinate_names]
    count = len(pose)
    numbers = f.call([pose, np.zeros(count), np.zeros(u.shape[0]), list(system.values().values()), 0.0])
    matrices = {name: np.array(value) for name, value in zip(second, numbers, strict=True)}
    require_equilibrium(system, matrices["rest"][:, 0], max(float(np.abs(matrices["K"]).max()), 1e-300))
    damping, stiffness = -matrices["Qv"], matrices["K"] - matrices["Mg"] - matrices["Qx"]
    gyroscopic = matrices["M1"] - matrices["M1"].T + (damping - damping.T) / 2
    return SecondOrder(
        M=matrices["M"], C=(damping + damping.T) / 2, G=gyroscopic, K=(stiffness + stiffness.T) / 2,
        H=(stiffness - stiffness.T) / 2, B=matrices["B"] if u.shape[0] else None,
        coordinates=system.coordinate_names, inputs=system.input_names or None,
        units={name: system.units[name] for name in (*system.coordinate_names, *system.input_names)
               if system.units[name]},
    )  # fmt: skip


def require_free_coordinates(system: System, what: str, names: Iterable[str] = ()) -> None:
    """Refuse rows that tie the coordinates, and names that are no coordinates."""
    if system.constraints:
        row = system.constraints[0].name
        problem = f"row {row!r} of system {system.name!r} ties the coordinates; {what} need independent ones."
        raise ModelError("not-supported", problem, Advice("Use {}.", Call("da.linearize")), where={"row": row})
    for name in names:
        system.table.require_name("coordinate", name, system.coordinate_names)


def require_equilibrium(system: System, force: Array, size: float, at_rest: float = 1e-9) -> None:
    """Refuse a pose where a force acts; at_rest : of the size of the matrices, as poses of a file have nine digits."""
    k = int(np.abs(force).argmax()) if len(force) else 0
    if np.abs(force).max(initial=0.0) > at_rest * size:
        name = system.coordinate_names[k]
        problem = f"this is no equilibrium and no steady motion: a force of {force[k]:g} acts along {name!r}."
        raise ModelError("not-supported", problem, where={"coordinate": name}, evidence={"force": float(force[k])})


def quadratic_forms(system: System) -> dict[str, Any]:
    """M, M₁, M_g, K, C and C₁ of energies as expressions of the parameters, about the pose as drawn."""
    motion = in_rates(system)
    q, v = system.q, motion.v
    D = sum(map(motion.velocity, system.dissipation.values()), SX(0))
    T, V = motion.kinetic, motion.potential
    forms = {
        "M": ca.hessian(T, v)[0], "M1": ca.jacobian(ca.gradient(T, v), q), "Mg": ca.hessian(T, q)[0],
        "K": ca.hessian(V, q)[0], "C": ca.hessian(D, v)[0], "C1": ca.jacobian(ca.gradient(D, v), q),
    }  # fmt: skip
    pose = SX([system.drawn[name] for name in system.coordinate_names])
    at = (ca.vertcat(q, v), ca.vertcat(pose, SX.zeros(v.shape[0])))
    return {name: ca.simplify(ca.substitute(SX(form), *at)) for name, form in forms.items()}
