"""Inertia forces from scalar functions (Orsino 2016, appendix A), with Q = ∂q̇/∂v, P = ∂v/∂q̇ of velocities v:

    Gibbs-Appell:            f = -∂S/∂v̇
    T(t, q, q̇):              f = -Qᵀ (d/dt ∂T/∂q̇ - ∂T/∂q)
    T(t, q, v):              f = Qᵀ ∂T/∂q + ((∂v/∂q - Ṗ) Q)ᵀ ∂T/∂v - (P Q)ᵀ d/dt ∂T/∂v
    of order ρ = 1, 2:       f = (Q + Q P Q/ρ)ᵀ ∂T/∂q + ((∂v/∂q - Ṗ) Q)ᵀ ∂T/∂v - (P Q)ᵀ/ρ ∂T⟨ρ⟩/∂v⟨ρ-1⟩

The last line is Nielsen's form for ρ = 1 and Tzenoff's for ρ = 2; T⟨ρ⟩ is the ρ-th time derivative. There may be more
coordinates than velocities, or fewer.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.symbolic.modular.algebra.elimination import eliminate
from dalembert.symbolic.modular.declarations import Energy, ModularForce
from dalembert.symbolic.modular.motion import InvariantEntry, ModularMotion
from dalembert.symbolic.modular.parts import ModularPart

SX = ca.SX
ORDERS = {"nielsen": 1, "tzenoff": 2}


def energy_forces(motion: ModularMotion, part: ModularPart, path: str) -> list[ModularForce]:
    """The forces of all energies of a part."""
    forces: list[ModularForce] = []
    for energy in part.own.energies:
        motion.check_symbols(energy.expression, f"the energy of part {part.name!r}")
        if energy.kind == "potential":
            forces += _potential(motion, energy)
        elif energy.kind == "gibbs-appell":
            S = motion.resolve(energy.expression)
            _require_order(motion, S, 2, "a Gibbs-Appell function", path)
            forces += [
                ModularForce(entry.symbol, -ca.gradient(S, motion.rate_of(entry.symbol)))
                for entry in motion.variables(1)
                if ca.depends_on(S, motion.rate_of(entry.symbol))
            ]
        else:
            forces += _kinetic(motion, energy, path)
    return forces


def _potential(motion: ModularMotion, energy: Energy) -> list[ModularForce]:
    V = motion.resolve(energy.expression)
    _require_order(motion, V, 0, "a potential", "")
    return [
        ModularForce(entry.symbol, -ca.gradient(V, entry.symbol))
        for entry in motion.variables(0)
        if ca.depends_on(V, entry.symbol)
    ]


def _require_order(motion: ModularMotion, value: Any, order: int, what: str, path: str) -> None:
    if motion.order_of(value) > order:
        high = [s.name() for s in ca.symvar(value) if motion._orders.get(s.element_hash(), -1) > order]
        raise ModelError(
            "wrong-level", f"{what} of part {path!r} depends on {high[0]!r}, which has a higher order than {order}.",
            where={"symbol": high[0]},
        )  # fmt: skip


def _kinetic(motion: ModularMotion, energy: Energy, path: str) -> list[ModularForce]:
    T = motion.resolve(energy.expression)
    _require_order(motion, T, 1, "a kinetic energy", path)
    held = [entry for entry in motion.variables(0) if entry.label.startswith(path)]
    rates = {entry.label: motion.rate_of(entry.symbol) for entry in held}
    speeds = [
        entry for entry in motion.variables(1)
        if entry.label.startswith(path)
        and (ca.depends_on(T, entry.symbol) or any(ca.depends_on(rate, entry.symbol) for rate in rates.values()))
    ]  # fmt: skip
    q = ca.vertcat(SX(0, 1), *(entry.symbol for entry in held))
    v = ca.vertcat(SX(0, 1), *(entry.symbol for entry in speeds))
    raw = ca.vertcat(SX(0, 1), *(SX.sym(entry.label) for entry in held))  # q̇, before v
    g = ca.vertcat(SX(0, 1), *(rates[entry.label] for entry in held))
    Q = ca.jacobian(g, v)
    p = _velocities_of_rates(motion, speeds, held, Q, g, raw, v)

    def back(expression: Any) -> Any:
        return ca.substitute(expression, raw, ca.densify(g))

    P = back(ca.jacobian(p, raw))
    partial = back(ca.jacobian(p, q))
    P_rate = ca.reshape(motion.differentiate(ca.vec(P)), P.shape) if P.numel() else P
    T_q, T_v = ca.gradient(T, q), ca.gradient(T, v)
    middle = ((partial - P_rate) @ Q).T @ T_v
    if energy.kind == "lagrange":
        total = Q.T @ T_q + middle - (P @ Q).T @ motion.differentiate(T_v)
    else:
        rho = ORDERS[energy.kind]
        high = motion.differentiate(T, rho)
        top = v
        for _ in range(rho - 1):
            top = ca.vertcat(*(motion.rate_of(s) for s in ca.vertsplit(top)))
        total = (Q + Q @ P @ Q / rho).T @ T_q + middle - (P @ Q).T @ ca.gradient(high, top) / rho
    return [ModularForce(entry.symbol, total[k]) for k, entry in enumerate(speeds)]


def _velocities_of_rates(
    motion: ModularMotion, speeds: list[InvariantEntry], held: list[InvariantEntry], Q: Any, g: Any, raw: Any, v: Any
) -> Any:
    """v as expressions of q and q̇: by their definitions, or the inverse of the rates."""
    velocities: list[Any] = []
    for entry in speeds:
        matching = [k for k, value in enumerate(held) if ca.is_equal(g[k], entry.symbol)]
        velocities.append(raw[matching[0]] if matching else _definition(motion, entry, held, raw))
    if all(value is not None for value in velocities):
        return ca.vertcat(*velocities)
    n0, n1 = Q.shape
    if n1 > n0 or ca.depends_on(Q, v):
        lost = next(entry.label for entry, value in zip(speeds, velocities, strict=True) if value is None)
        raise ModelError(
            "missing-argument", f"velocity {lost!r} has no definition in rates of coordinates, so that no inertia "
            "forces follow from a kinetic energy.",
            Advice("Give its definition, or use {}.", Call("leaf.add_gibbs_appell"), Call("leaf.add_force")),
            where={"velocity": lost},
        )  # fmt: skip
    n = ca.substitute(g, v, ca.DM.zeros(n1))
    matrix, right = (Q, raw - n) if n0 == n1 else (Q.T @ Q, Q.T @ (raw - n))
    done = eliminate(matrix, motion._at_random(matrix), right=right)
    solved: dict[int, Any] = dict(zip(done.columns, done.right, strict=True))
    return ca.vertcat(*(solved[k] for k in range(n1)))


def _definition(motion: ModularMotion, entry: InvariantEntry, held: list[InvariantEntry], raw: Any) -> Any:
    for subsystem, path in motion.paths.items():
        for relation in subsystem.own.relations:
            if path + relation.name == f"{entry.label} definition":
                symbols = [subsystem.rate(name.symbol) for name in subsystem.own.variables.values() if name.order == 0]
                labels = [path + name.name for name in subsystem.own.variables.values() if name.order == 0]
                places = [
                    next((k for k, coordinate in enumerate(held) if coordinate.label == label), None)
                    for label in labels
                ]
                expression = entry.symbol - relation.expression
                old = [s for s, k in zip(symbols, places, strict=True) if k is not None]
                new = [raw[k] for k in places if k is not None]
                return ca.substitute(expression, ca.vertcat(*old), ca.vertcat(*new)) if old else expression
    return None
