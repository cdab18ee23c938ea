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

from dalembert.core.errors import ModelError
from dalembert.core.text import count_noun
from dalembert.linear import SecondOrder
from dalembert.symbolic.formalisms.lagrange import lagrange_forces
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.quadratic import require_equilibrium, require_free_coordinates
from dalembert.symbolic.system import System
from dalembert.symbolic.text.simplify import align_terms

SX = ca.SX


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
        f = ca.Function("linear", [s.p], [ca.densify(matrix) for matrix in (self.M, self.C, self.K, self.B)])
        M, C, K, B = (np.array(matrix) for matrix in f.call([list(s.values(parameters).values())]))
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
    require_free_coordinates(system, "linear equations in symbols", {**(at or {}), **(rates or {})})
    motion = in_rates(system)
    M, f = lagrange_forces(motion, "a linear system in symbols")
    q, v, u = system.q, motion.v, system.u
    pose = ca.vertcat(*(SX((at or {}).get(name, system.drawn[name])) for name in system.coordinate_names))
    speed = ca.vertcat(*(SX((rates or {}).get(name, 0.0)) for name in system.coordinate_names))
    symbols, values = ca.vertcat(q, v, u), ca.vertcat(pose, speed, SX.zeros(u.shape[0]))
    parts = [M, -ca.jacobian(f, v), -ca.jacobian(f, q), ca.jacobian(f, u), f]
    M, C, K, B, force = (ca.substitute(ca.densify(SX(matrix)), symbols, values) for matrix in parts)
    _check_steady(system, (M, C, K, force), rates or {})
    return SymbolicLinear(system, *(ca.simplify(matrix) for matrix in (M, C, K, B)))


def _check_steady(system: System, parts: tuple[Any, ...], rates: Mapping[str, Any], at_rest: float = 1e-9) -> None:
    """Refuse a motion on which forces act, and rates of coordinates that are not cyclic; at the parameters' values.

    at_rest : force over the largest entry of K, C and M: numbers of nine digits.
    """
    f = ca.Function("steady", [system.p, system.t], list(parts))
    numbers = [[np.array(value) for value in f.call([list(system.values().values()), t])] for t in (0.0, 0.37, 1.9)]
    M, C, K, force = numbers[0]
    size = max(float(np.abs(matrix).max()) for matrix in (M, C, K))
    moved = max(float(np.abs(a - b).max()) for later in numbers[1:] for a, b in zip(later, numbers[0]))
    if moved > at_rest * size:
        problem = f"the equations of system {system.name!r} change with time on this motion; a linear system in "
        raise ModelError("not-supported", f"{problem}symbols has constant coefficients.")
    require_equilibrium(system, force[:, 0], size, at_rest)
    for moving in rates:
        if np.abs(K[:, system.coordinate_names.index(moving)]).max() > at_rest * size:
            problem = f"coordinate {moving!r} has a rate and is not cyclic: the motion is not steady."
            raise ModelError("not-supported", problem, where={"coordinate": moving})
