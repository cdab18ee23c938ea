"""Noether's theorem: a symmetry of the Lagrangian has a conserved quantity (Goldstein 2002).

q → q + ε ξ(q, t) ,   ξ · ∂L/∂q + ξ̇ · ∂L/∂q̇ = dF/dt ,   Q · ξ = 0 ,   A ξ = 0        ∂L/∂q̇ · ξ - F = const

F(q, t) is zero for most symmetries; of a change to a moving frame it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.symbolic.derivation import Conserved
from dalembert.symbolic.motion import in_rates, vanishes
from dalembert.symbolic.system import System
from dalembert.symbolic.text.read import read_scalar

SX = ca.SX


def noether(system: System, symmetry: Mapping[str, Any], *, name: str = "I", gauge: Any = 0) -> Conserved:
    """The conserved quantity of a symmetry; an error where the Lagrangian does not have it.

    Parameters
    ----------
    symmetry : coordinate -> change ξ, an expression of coordinates, parameters and time; zero where left out. A
        rotation in the plane is ``{"x": -y, "y": x}``.
    name : of the quantity.
    gauge : F, where the Lagrangian changes by a total derivative dF/dt.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.symbolic.System("Kepler")
    >>> x, y = s.coordinates("x y")
    >>> s.add_kinetic((s.rate(x) ** 2 + s.rate(y) ** 2) / 2)
    >>> s.add_potential(-1 / da.math.sqrt(x**2 + y**2))
    >>> da.symbolic.to_sympy(noether(s, {"x": -y, "y": x}).expression)
    x*y.rate - x.rate*y
    """
    for coordinate in symmetry:
        system.table.require_name("coordinate", coordinate, system.coordinate_names)
    gauge = read_scalar(gauge, "the gauge")
    motion = in_rates(system)
    T, V = motion.kinetic, motion.potential
    xi = ca.vertcat(*(SX(symmetry.get(one, 0.0)) for one in system.coordinate_names))
    if ca.depends_on(ca.vertcat(xi, gauge), motion.v):
        raise ModelError("not-supported", "a symmetry and its gauge are expressions of coordinates and time alone.")
    momenta = ca.gradient(T, motion.v)
    terms = [ca.gradient(T - V, system.q) * xi, momenta * motion.rate(xi)]
    change = ca.sum1(terms[0]) + ca.sum1(terms[1]) - motion.rate(gauge)
    size = ca.sum1(ca.fabs(terms[0])) + ca.sum1(ca.fabs(terms[1])) + ca.fabs(T) + ca.fabs(V)
    along = motion.A @ xi if len(motion.rows) else SX(1, 1)
    points = motion.sample([change, size, ca.dot(motion.applied, xi), along])
    points = [point for point in points if all(np.isfinite(x).all() for x in point)]
    for problem, k in (("the Lagrangian changes", 0), ("a force acts along it", 2), ("a constraint row moves", 3)):
        changes = [np.abs(point[k]).max(initial=0.0) / max(float(point[1].max()), 1e-300) for point in points]
        if not points or not vanishes(np.array(changes)):
            problem = f"system {system.name!r} does not have this symmetry: {problem}."
            raise ModelError("not-supported", problem, evidence={"relative change": float(max(changes, default=0.0))})
    shown = ", ".join(symmetry)
    return Conserved(
        name, ca.simplify(ca.dot(momenta, xi) - gauge), f"The Lagrangian has the given symmetry in {shown}"
    )
