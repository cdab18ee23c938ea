"""Routh's reduction: cyclic coordinates leave the equations, their momenta become parameters (Goldstein 2002).

T = ½ q̇ᵀ M q̇ + a · q̇ + T₀ ,   β = M_cc q̇_c + M_cs q̇_s + a_c   solved for q̇_c ,   R = T - V - β · q̇_c

R is the Lagrangian of the other coordinates; -R at q̇_s = 0 is the effective potential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.symbolic.block_solve import solve_mass
from dalembert.symbolic.derivation import derive, quadratic_mass
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.system import System

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
    gone, remaining = (
        [names.index(name) for name in momenta],
        [k for k, name in enumerate(names) if name not in momenta],
    )
    reduced = System(f"{system.name}, reduced", check_units=False)
    new = [reduced.coordinate(names[k], system.units[names[k]], drawn=system.drawn[names[k]]) for k in remaining]
    values = {name: reduced.parameter(name, value, system.units.get(name, ""))
              for name, value in system.parameter_values.items()}  # fmt: skip
    beta = [reduced.parameter(f"{name}.momentum", value) for name, value in momenta.items()]
    inputs = [reduced.input(name, system.units[name]) for name in system.input_names]
    T, v = motion.kinetic, motion.v
    M = quadratic_mass(motion, "Routh's reduction")
    offset = ca.substitute(ca.gradient(T, v), v, SX.zeros(v.shape[0]))
    rates = SX.zeros(v.shape[0])
    for k, entry in zip(remaining, new, strict=True):
        rates[k] = reduced.rate(entry)
    rates[gone] = solve_mass(M[gone, gone], ca.vertcat(*beta) - M[gone, remaining] @ rates[remaining] - offset[gone])
    old = ca.vertcat(system.q, system.p, system.u, system.t)
    coordinates = SX.zeros(len(names))  # energies do not depend on the cyclic ones
    for k, entry in zip(remaining, new, strict=True):
        coordinates[k] = entry
    there = ca.vertcat(coordinates, ca.vertcat(SX(0, 1), *values.values()), ca.vertcat(SX(0, 1), *inputs), reduced.t)
    rates = ca.substitute(rates, old, there)
    routhian = ca.substitute(ca.substitute(T - motion.potential, old, there), v, rates)
    routhian -= ca.dot(ca.vertcat(*beta), rates[gone])
    speeds = ca.vertcat(*map(reduced.rate, new)) if new else SX(0, 1)
    still = SX.zeros(speeds.shape[0])
    effective = ca.simplify(-ca.substitute(routhian, speeds, still))
    reduced.add_kinetic(routhian + effective)
    reduced.add_potential(effective)
    for k, entry in zip(
        remaining, ca.vertsplit(ca.substitute(motion.applied, old, there)[remaining]) if remaining else [], strict=True
    ):
        if not SX(entry).is_zero():
            reduced.add_generalized_force(
                f"along {names[k]}", reduced.q[remaining.index(k)], ca.substitute(entry, v, rates)
            )
    return RouthReduction(reduced, effective, routhian, {names[k]: rates[k] for k in gone})
