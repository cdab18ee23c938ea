"""Equations of the slow motion on the manifold, and of slow and fast motion together.

    slow      M_ss v̇_s = F_s                                             (order 0)
              M_ss v̇_s = F_s + δF_s - δM_ss a₀ - M_sf K⁻¹ ḧ₀             (order 2)
    fast      q_f = K⁻¹ h + η ,   s + δs ,   δs = -M_ss⁻¹ M_sf η ,   η̈ = [M⁻¹ (δF - δM a)]_f   along (δs, η, δṡ, η̇, u_f)

The fast motion shakes the slow coordinates by δs, as momentum is kept. At order 0 only -K η - D η̇ and the input gain
are left, at q_f = 0; at order 2 the fast model is exact to ε² without speed, under any load, and to ε in motion. Fast
motion does not act back on the slow one. Deflections, sensors and poses of the machine, shaken, are outputs: on the
manifold they depend on the inputs, with u̇ and ü as inputs of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca

from dalembert.equations import ARGUMENTS, Channels, EquationsOfMotion, Placement
from dalembert.record.units import per_second
from dalembert.solve.constrained.mass_factor import MassFactor
from dalembert.solve.scales.manifold import Expansion

SX = ca.SX
FAST = ".fast"  # added to the names of deviations from the manifold and of their inputs


def slow_equations(expansion: Expansion, order: int, *, together: bool = False) -> EquationsOfMotion:
    """Equations in the slow coordinates; with the deviations η of the fast ones, if they are to be together."""
    e, split = expansion, expansion.split
    eqs = e.eqs
    m, a = len(split.fast_q), SX.sym("a", len(split.slow_v))
    q, v, u, acceleration = e.q, e.v, [e.u, e.du, e.ddu] if order else [e.u], a
    mass, force, drive = e.Mss, e.slow_force(order), e.u
    x, y, w = e.manifold(order)
    pose, speed, moved = e.q, e.v, a
    N, shift = e.slow_kinematics
    if together:
        eta, rate, extra, w_eta = SX.sym("eta", m), SX.sym("rate", m), SX.sym("extra", eqs.nu), SX.sym("w", m)
        force = ca.vertcat(force, deviation_acceleration(e, order, eta, rate, extra))
        mass = ca.diagcat(mass, SX.eye(m))
        q, v, u, acceleration = ca.vertcat(q, eta), ca.vertcat(v, rate), [*u, extra], ca.vertcat(a, w_eta)
        pose, speed, moved = e.q + N @ e.shake(eta), e.v + e.shake(rate), a + e.shake(w_eta)
        x, y, w, drive = x + eta, y + rate, w + w_eta, e.u + extra
    full = split.q(pose, x), split.v(speed, y)
    still = e.at_zero(e.x)
    F = eqs.functions
    made: dict[str, list[Any]] = {
        "kinematics": [ca.diagcat(N, SX.eye(m)), ca.vertcat(shift, still)] if together else [N, shift],
        "inertia": [mass],
        "forces": [force],
        "energy": list(F["energy"](split.q(e.q, still), split.v(e.v, still), e.z, e.p, e.t)),  # of the slow motion
    }
    if together:
        energy = sum(made["energy"])
        along = [(e.q, N @ e.v + shift), (e.v, e.mass.solve(e.slow_force(order))), (e.z, e.z_rate), (e.t, SX(1))]
        made["power"] = [ca.jtimes(energy, *(ca.vertcat(*column) for column in zip(*along, strict=True)))]
    if eqs.nz:
        x0, y0 = (e.soften(e.h0), e.soften(e.dh0)) if order else (still, still)
        bent = split.q(e.q, x0), split.v(e.v, y0)
        made["internal"] = [F["internal"](*bent, e.z, e.u, e.p, e.t, SX(0, 1))]
    values = [F["outputs"](*full, split.v(moved, w), SX(0, 1), e.z, drive, e.p, e.t)]
    measured = F["measures"](*full, e.p, e.t)
    known = {*eqs.outputs.names, *(eqs.coordinates.names[k] for k in split.slow_q)}
    shown = [k for k in (*eqs.recorded_measures, *eqs.carried_measures) if eqs.measures.names[k] not in known]
    values += [measured[0][shown]]
    names = [*eqs.outputs.names, *(eqs.measures.names[k] for k in shown)]
    units = [*eqs.outputs.units, *(eqs.measures.units[k] for k in shown)]
    taken = {*names, *(eqs.speeds.names[k] for k in split.slow_v)}
    for channels, places, column in ((eqs.coordinates, split.fast_q, full[0]), (eqs.speeds, split.fast_v, full[1])):
        missing = [k for k in places if channels.names[k] not in taken]
        values.append(column[missing])
        names += [channels.names[k] for k in missing]
        units += [channels.units[k] for k in missing]
    made["outputs"] = [ca.densify(ca.vertcat(*values))]
    symbols = {"q": q, "v": v, "a": acceleration, "z": e.z, "u": ca.vertcat(*u), "p": e.p, "t": e.t, "lam": SX(0, 1)}
    functions = {
        name: ca.Function(name, [symbols[part] for part in ARGUMENTS[name].split()], parts, {"cse": True})
        for name, parts in made.items()
    }
    coordinates, speeds = _part(eqs.coordinates, split.slow_q), _part(eqs.speeds, split.slow_v)
    if together:
        coordinates = _add(coordinates, _part(eqs.coordinates, split.fast_q, FAST))
        speeds = _add(speeds, _part(eqs.speeds, split.fast_v, FAST))
    drawn = eqs.state()
    start = [*drawn.q[list(split.slow_q)], *[0.0] * (m * together)]
    return EquationsOfMotion(
        name=eqs.name, functions=functions, coordinates=coordinates, speeds=speeds, internal=eqs.internal,
        inputs=input_channels(eqs, order, together=together), parameters=eqs.parameters,
        parameter_values=eqs.parameter_values, outputs=Channels(names, units), shorthands=eqs.shorthands,
        resting_inputs=eqs.resting_inputs, unrecorded=eqs.unrecorded, scene=eqs.scene,
        quaternions=tuple(
            replace(block, coordinate=split.slow_q.index(block.coordinate), speed=split.slow_v.index(block.speed))
            for block in eqs.quaternions
        ),
        limits={name: limit for name, limit in eqs.limits.items() if name in coordinates.index},
        placement=Placement(tuple(map(float, start)), tuple(map(float, drawn.z))),
    )  # fmt: skip


def deviation_acceleration(e: Expansion, order: int, eta: Any, rate: Any, extra: Any) -> Any:
    """η̈ of deviations from the manifold and inputs beside those of the slow motion."""
    split = e.split
    s, f = list(split.slow_v), list(split.fast_v)
    gain = ca.jtimes(e.F_near, e.u, extra) if e.eqs.nu else SX.zeros(len(s) + len(f))
    if order == 0:
        force = e.at_zero(gain) + split.v(SX.zeros(len(s)), -e.K @ eta - e.D @ rate)
        return MassFactor(e.at_zero(e.M_near)).solve(force)[f]
    x, y, w = e.soften(e.h0), e.soften(e.dh0), e.soften(e.ddh0)
    a = SX.sym("a", len(s) + len(f))
    around = ca.vertcat(e.q, e.v, e.x, e.y)
    along = ca.vertcat(e.slow_kinematics[0] @ e.shake(eta), e.shake(rate), eta, rate)
    force = ca.jtimes(e.F_near - e.M_near @ a, around, along) + gain
    M, force = ca.substitute([e.M_near, force], [e.x, e.y, a], [x, y, split.v(e.a0, w)])
    return MassFactor(M).solve(force)[f]


def input_channels(eqs: EquationsOfMotion, order: int, *, together: bool = False) -> Channels:
    """Inputs of the slow equations: those of the machine, at order 2 with two derivatives, then those of η."""
    channels = eqs.inputs
    for count in range(1, 3 if order else 1):
        added = [f"{name}{'.rate' * count}" for name in eqs.inputs.names]
        channels = _add(channels, Channels(added, [per_second(unit or "1", count) for unit in eqs.inputs.units]))
    return _add(channels, _part(eqs.inputs, range(eqs.nu), FAST)) if together else channels


def _part(channels: Channels, places: Any, added: str = "") -> Channels:
    return Channels([channels.names[k] + added for k in places], [channels.units[k] for k in places],
                    [channels.owners[k] for k in places])  # fmt: skip


def _add(first: Channels, second: Channels) -> Channels:
    return Channels((*first.names, *second.names), (*first.units, *second.units), (*first.owners, *second.owners))
