"""Common steps of formalisms in independent speeds: the other speeds from the rows, and the forces of the rows.

With all speeds w = W v + w₀ and their equations M_w ẇ = f_w + Aᵀ λ before the rows are used, the multipliers of the
eliminated rows are λ = (A Aᵀ)⁻¹ A (M_w ẇ - f_w).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.symbolic.derivation import Derivation, Step, Values
from dalembert.symbolic.motion import SystemMotion, in_rates

SX = ca.SX


def elimination_step(motion: SystemMotion) -> list[Step]:
    """The choice of speeds."""
    if not motion.eliminated:
        names = ", ".join(motion.names)
        return [Step("Speeds", f"The speeds are {names}.", "\\dot{q} = N v + n", (("N", motion.N), ("n", motion.n)))]
    rows = ", ".join(dict.fromkeys(row.name for row in motion.eliminated))
    sentence = (
        f"Independent speeds are {', '.join(motion.independent)}; rows {rows} give the others. This is checked "
        "at random points."
    )
    return [Step("Independent speeds", sentence, "\\dot{q} = N v + n", (("N", motion.N), ("n", motion.n)))]


def with_reactions(derived: Derivation) -> Derivation:
    """The same derivation, whose solution has the multipliers of the eliminated rows too."""
    from dalembert.symbolic.formalisms.lagrange import lagrange_forces

    motion = derived.motion
    if not motion.eliminated:
        return derived
    rates = in_rates(motion.system)
    M, f = lagrange_forces(rates, derived.formalism)
    qdot = motion.qdot
    at = [ca.substitute(SX(entry), rates.v, qdot) for entry in (f, rates.A)]
    extra: dict[str, Any] = {"mass": M, "force": at[0], "C": at[1], "W": motion.N, "w": motion.rate(qdot)}
    return replace(derived, extra={**derived.extra, **extra}, method=solve_independent)


def solve_independent(values: Values) -> tuple[Array, Array]:
    """v̇ of the independent speeds, and λ of the eliminated rows."""
    vdot = np.linalg.solve(values["M"], values["f"])
    return vdot, reactions(values, vdot)


def reactions(values: Values, vdot: Array) -> Array:
    """λ of the eliminated rows, in the rates of the coordinates."""
    lacking = values["mass"] @ (values["W"] @ vdot + values["w"]) - values["force"]
    return np.asarray(np.linalg.lstsq(values["C"].T, lacking, rcond=None)[0])
