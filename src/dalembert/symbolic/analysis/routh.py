"""Routh's reduction: cyclic coordinates leave the equations, their momenta become parameters (Goldstein 2002).

T = ½ q̇ᵀ M q̇ + a · q̇ + T₀ ,   β = M_cc q̇_c + M_cs q̇_s + a_c   solved for q̇_c ,   R = T - V - β · q̇_c

R is the Lagrangian of the other coordinates. With r = M_cc⁻¹ (β - a_c) it is R = T_s - V_eff,

T_s = ½ q̇_sᵀ M_ss q̇_s + a_s · q̇_s + (M_cs q̇_s) · (r - ½ M_cc⁻¹ M_cs q̇_s) ,   V_eff = V - T₀ + ½ (β - a_c) · r
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.core.declare import instance
from dalembert.core.errors import ModelError
from dalembert.symbolic.block_solve import solve_mass
from dalembert.symbolic.derivation import derive, quadratic_mass
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.system import System
from dalembert.symbolic.text.printing import latex_name
from dalembert.symbolic.text.simplify import align_terms

SX = ca.SX


@dataclass(frozen=True, eq=False)
class RouthReduction:
    """A system without its cyclic coordinates.

    system : of the other coordinates, for any formalism; momenta are its parameters, ``"phi.momentum"``.
    effective_potential, routhian : expressions of its symbols.  rates : of the cyclic coordinates, by name.
    """

    system: System
    effective_potential: Any
    routhian: Any
    rates: Mapping[str, Any]

    def latex(self) -> str:
        """Effective potential and rates of the cyclic coordinates, lines of an ``aligned`` environment."""
        rates = [(latex_name(f"{name}.rate"), rate) for name, rate in self.rates.items()]
        return align_terms([("V_{\\mathrm{eff}}", self.effective_potential), *rates])

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        return f"RouthReduction without {', '.join(self.rates)}: {self.system!r}"


def routh(system: System, momenta: Mapping[str, float]) -> RouthReduction:
    """The system without cyclic coordinates.

    Parameters
    ----------
    system : without constraint rows and speeds of its own.
    momenta : cyclic coordinate to leave out -> value of its momentum, a parameter of the reduced system.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.symbolic.System("Kepler")
    >>> r, phi = s.coordinates("r phi")
    >>> s.add_kinetic((s.rate(r) ** 2 + r**2 * s.rate(phi) ** 2) / 2)
    >>> s.add_potential(-1 / r)
    >>> reduced = routh(s, {"phi": 1.0})
    >>> reduced.system.coordinate_names, da.symbolic.lagrange(reduced.system).solve({"r": 1.0}).acceleration.tolist()
    (['r'], [0.0])
    """
    instance(Mapping)("momenta", momenta)
    if system.constraints or not momenta:
        problem = f"Routh's reduction of system {system.name!r} needs independent coordinates and a cyclic one."
        raise ModelError("not-supported", problem)
    cyclic = [entry.name.removesuffix(".momentum") for entry in derive(system).conserved if ".momentum" in entry.name]
    for name in momenta:
        system.table.require_name("coordinate", name, system.coordinate_names)
        if name not in cyclic:
            problem = (
                f"coordinate {name!r} of system {system.name!r} is not cyclic. Cyclic: {', '.join(cyclic) or 'none'}."
            )
            raise ModelError("not-supported", problem, where={"coordinate": name})
    motion = in_rates(system)
    names = system.coordinate_names
    remaining = [k for k, name in enumerate(names) if name not in momenta]
    reduced = System(f"{system.name}, reduced", check_units=False)
    new = [reduced.coordinate(names[k], system.units[names[k]], drawn=system.drawn[names[k]]) for k in remaining]
    values = {name: reduced.parameter(name, value, system.units.get(name, ""))
              for name, value in system.parameter_values.items()}  # fmt: skip
    beta = {name: reduced.parameter(f"{name}.momentum", value) for name, value in momenta.items()}
    inputs = [reduced.input(name, system.units[name]) for name in system.input_names]
    old = ca.vertcat(system.q, system.p, system.u, system.t)
    coordinates = SX.zeros(len(names))  # energies do not depend on the cyclic ones
    coordinates[remaining] = ca.vertcat(SX(0, 1), *new)
    there = ca.vertcat(coordinates, ca.vertcat(SX(0, 1), *values.values()), ca.vertcat(SX(0, 1), *inputs), reduced.t)
    T, v = motion.kinetic, motion.v
    still = SX.zeros(v.shape[0])
    parts = [quadratic_mass(motion, "Routh's reduction"), ca.substitute(ca.gradient(T, v), v, still),
             ca.substitute(motion.potential - T, v, still)]  # fmt: skip
    M, offset, potential = (ca.substitute(SX(term), old, there) for term in parts)
    # shortest pivots first, which leaves short quotients
    gone = sorted((names.index(name) for name in momenta), key=lambda k: ca.n_nodes(M[k, k]))
    speeds = ca.vertcat(SX(0, 1), *map(reduced.rate, new))
    free = ca.vertcat(*(beta[names[k]] for k in gone)) - offset[gone]
    tied = M[gone, remaining] @ speeds
    at_rest, change = solve_mass(M[gone, gone], free), solve_mass(M[gone, gone], tied)
    effective = potential + ca.dot(free, at_rest) / 2
    kinetic = ca.dot(speeds, M[remaining, remaining] @ speeds) / 2 + ca.dot(offset[remaining], speeds)
    kinetic += ca.dot(tied, at_rest - change / 2)
    rates = SX.zeros(len(names))
    rates[remaining], rates[gone] = speeds, at_rest - change
    reduced.add_kinetic(kinetic)
    reduced.add_potential(effective)
    applied = ca.vertsplit(ca.substitute(motion.applied, old, there)[remaining]) if remaining else []
    for k, place, force in zip(remaining, ca.vertsplit(reduced.q) if remaining else [], applied, strict=True):
        if not SX(force).is_zero():
            reduced.add_generalized_force(f"along {names[k]}", place, ca.substitute(force, v, rates))
    return RouthReduction(reduced, effective, kinetic - effective, {name: rates[names.index(name)] for name in momenta})
