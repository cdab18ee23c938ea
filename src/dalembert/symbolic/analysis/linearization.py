"""Linear equations in symbols about an equilibrium or a steady motion (Meirovitch 1997).

M(q) q̈ = f(q, q̇, u, t) ,  q = q₀ + q̇₀ t + x        M x″ + C x′ + K x = B u ,   C = -∂f/∂q̇ ,  K = -∂f/∂q ,  B = ∂f/∂u

at (q₀, q̇₀), where f = 0. A coordinate with a rate q̇₀ must be cyclic: f does not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.core.text import count_noun
from dalembert.linear import SecondOrder
from dalembert.symbolic.formalisms.lagrange import lagrange_forces
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.system import System
from dalembert.symbolic.text.simplify import align_terms

SX = ca.SX
AT_REST = 1e-9  # force over the largest entry of K, C and M: numbers of nine digits


@dataclass(frozen=True, eq=False)
class SymbolicLinear:
    """M x″ + C x′ + K x = B u in symbols of the parameters; `numbers` makes a `SecondOrder` of it."""

    system: System
    M: Any
    C: Any
    K: Any
    B: Any

    def numbers(self, parameters: Mapping[str, float] | None = None) -> SecondOrder:
        """The linear system at values of the parameters."""
        s = self.system
        f = ca.Function("linear", [s.p], [ca.densify(one) for one in (self.M, self.C, self.K, self.B)])
        M, C, K, B = (np.array(one) for one in f.call([list(s.values(parameters).values())]))
        units = {name: s.units[name] for name in (*s.coordinate_names, *s.input_names) if s.units[name]}
        return SecondOrder(
            M=M, C=(C + C.T) / 2, G=(C - C.T) / 2, K=(K + K.T) / 2, H=(K - K.T) / 2, B=B if s.input_names else None,
            coordinates=s.coordinate_names, inputs=s.input_names or None, units=units,
        )  # fmt: skip

    def latex(self) -> str:
        """The equations and their matrices, lines of an ``aligned`` environment."""
        right = "B u" if self.system.input_names else "0"
        terms = [(name, getattr(self, name)) for name in ("M", "C", "K", *["B"] * bool(self.system.input_names))]
        return align_terms(terms, f"M \\ddot{{x}} + C \\dot{{x}} + K x = {right}")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        names, count = ", ".join(self.system.coordinate_names), len(self.system.input_names)
        return (
            f"SymbolicLinear of {names} with {count_noun(count, 'input')}; .latex() shows M, C, K, .numbers() computes"
        )


def linearize(
    system: System, at: Mapping[str, Any] | None = None, *, rates: Mapping[str, Any] | None = None
) -> SymbolicLinear:
    """The linear equations about an equilibrium or a steady motion, with the parameters as symbols.

    Parameters
    ----------
    system : with independent coordinates (no rows).
    at : coordinate -> value, a number or an expression of the parameters; as drawn where left out.
    rates : coordinate -> constant rate of a steady motion; zero where left out. Such coordinates are cyclic.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.symbolic.System("pendulum")
    >>> theta, m, l, g = s.coordinate("theta"), s.parameter("m", 1.0), s.parameter("l", 2.0), s.parameter("g", 9.81)
    >>> s.add_kinetic(m * l**2 * s.rate(theta) ** 2 / 2)
    >>> s.add_potential(-m * g * l * da.cos(theta))
    >>> found = linearize(s, {"theta": 0})
    >>> da.symbolic.to_sympy(found.K), round(float(found.numbers().modes().frequencies[0]) ** 2, 12)
    (g*l*m, 4.905)
    """
    if system.constraints:
        raise ModelError(
            "not-supported", f"row {system.constraints[0].name!r} of system {system.name!r} ties the coordinates; "
            "a linear system in symbols needs independent ones.", Advice("Use {}.", Call("da.linearize")),
            where={"row": system.constraints[0].name},
        )  # fmt: skip
    for name in {**(at or {}), **(rates or {})}:
        if name not in system.coordinate_names:
            raise ModelError("unknown-name", unknown_name("coordinate", name, system.coordinate_names, system.name))
    motion = in_rates(system)
    M, f = lagrange_forces(motion, "a linear system in symbols")
    q, v, u = system.q, motion.v, system.u
    pose = ca.vertcat(*(SX((at or {}).get(name, system.drawn[name])) for name in system.coordinate_names))
    speed = ca.vertcat(*(SX((rates or {}).get(name, 0.0)) for name in system.coordinate_names))
    symbols, values = ca.vertcat(q, v, u), ca.vertcat(pose, speed, SX.zeros(u.shape[0]))
    parts = [M, -ca.jacobian(f, v), -ca.jacobian(f, q), ca.jacobian(f, u), f]
    M, C, K, B, rest = (ca.substitute(ca.densify(SX(one)), symbols, values) for one in parts)
    _check_steady(system, (M, C, K, rest), rates or {})
    return SymbolicLinear(system, *(ca.simplify(one) for one in (M, C, K, B)))


def _check_steady(system: System, parts: tuple[Any, ...], rates: Mapping[str, Any]) -> None:
    """Refuse a motion on which forces act, and rates of coordinates that are not cyclic; at the parameters' values."""
    f = ca.Function("steady", [system.p, system.t], list(parts))
    numbers = [[np.array(one) for one in f.call([list(system.values().values()), t])] for t in (0.0, 0.37, 1.9)]
    M, C, K, rest = numbers[0]
    size = max(float(np.abs(one).max()) for one in (M, C, K))
    moved = max(float(np.abs(one - other).max()) for later in numbers[1:] for one, other in zip(later, numbers[0]))
    if moved > AT_REST * size:
        raise ModelError(
            "not-supported", f"the equations of system {system.name!r} change with time on this motion; a linear "
            "system in symbols has constant coefficients.",
        )  # fmt: skip
    k = int(np.abs(rest).argmax())
    name = system.coordinate_names[k]
    if abs(rest[k, 0]) > AT_REST * size:
        raise ModelError(
            "not-supported", f"this is no equilibrium and no steady motion: a force of {rest[k, 0]:g} acts along "
            f"{name!r} at the values of the parameters.", where={"coordinate": name},
            evidence={"force": float(rest[k, 0])},
        )  # fmt: skip
    for moving in rates:
        j = system.coordinate_names.index(moving)
        if np.abs(K[:, j]).max() > AT_REST * size:
            raise ModelError(
                "not-supported", f"coordinate {moving!r} has a rate and is not cyclic: the motion is not steady.",
                where={"coordinate": moving},
            )  # fmt: skip
