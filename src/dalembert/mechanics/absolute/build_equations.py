"""Equations of motion from the expressions of a mechanism: functions, names and structure in one object.

M, f, A and b come from a producer (absolute or joint coordinates); nothing here depends on its coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.equations import Channels, EquationsOfMotion, JointInfo, LazyFunctions, TurnCounter
from dalembert.mechanics.absolute.idle import spin_directions
from dalembert.mechanics.absolute.scene import describe_scene
from dalembert.mechanics.bodies.floating import FloatingBody, node_forces
from dalembert.mechanics.forces import FORCE_EQUATIONS
from dalembert.mechanics.joints.reactions import all_reactions, joint_axes
from dalembert.mechanics.rows import Form
from dalembert.mechanics.sensors.output import build_outputs

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX = ca.SX

# orientation measures that are not channels, neither of a carried body nor of one with its own coordinates
UNRECORDED_TURNS = ("rx", "ry", "rz", *(f"e{k}.{rate}" for k in range(4) for rate in ("rate", "acceleration")))


def share(name: str, inputs: list[Any], outputs: list[Any]) -> ca.Function:
    """A function whose common expressions are evaluated once.

    Only entries that are not zero are searched: CasADi's own option makes sparse matrices full.
    """
    entries = ca.vertcat(*(SX(x.nnz(), 1) if not x.nnz() else ca.vertcat(*x.nonzeros()) for x in outputs))
    parts = ca.vertsplit(ca.cse(ca.densify(entries)), [0, *accumulate(x.nnz() for x in outputs)])
    return ca.Function(name, inputs, [SX(x.sparsity(), part) for x, part in zip(outputs, parts, strict=True)])


def scatter_blocks(blocks: Sequence[tuple[Sequence[int], Any]], size: int) -> Any:
    """The square matrix with these blocks on the given rows and columns."""
    rows: list[int] = []
    columns: list[int] = []
    values: list[Any] = []
    for index, block in blocks:
        block = ca.sparsify(SX(block))
        i, j = block.sparsity().get_triplet()
        rows += [index[k] for k in i]
        columns += [index[k] for k in j]
        values += block.nonzeros()
    return SX.triplet(rows, columns, ca.vertcat(*values) if values else SX(0, 1), size, size)


def build_equations(producer: Absolute) -> EquationsOfMotion:
    """Functions, names and structure of a mechanism, from the expressions that its producer collects."""
    m = producer.m
    forces = producer.collect()
    A, b = producer.rows.matrix(), producer.rows.right_hand_side()
    M = producer.mass_matrix()
    internal_rates = [*forces.internal_rates, *(producer.lam[row] for row, _ in producer.sticking.values())]
    f = forces.potential_part + forces.other_part
    T = producer.kinetic_energy(M)
    power = ca.dot(producer.v, forces.other_part)
    still = {j.name for j in m.joints} | {c.name for c in m.couplers}  # ideal: their reactions do no work
    sticking = {row for row, _ in producer.sticking.values()}
    moving = [k for k, row in enumerate(producer.rows.tags) if row.owner not in still and k not in sticking]
    if moving:
        power = power + ca.dot(A[moving, :] @ producer.v, producer.lam[moving])
    outputs = build_outputs(producer, forces, T)
    reactions = all_reactions(producer, forces.efforts)
    q, v, z, u, p, t = producer.q, producer.v, producer.z, producer.u, producer.p, producer.t
    lam, a = producer.lam, producer.a
    names = list(producer.measured)
    measures = [producer.measured[n] for n in names]

    def column(xs: list[Any]) -> Any:
        return ca.vertcat(*xs) if xs else SX.zeros(0, 1)

    def F(name: str, inputs: list[Any], outputs: list[Any]) -> ca.Function:
        if producer.calls is None:
            plain = name in ("kinematics", "inertia")  # of separate bodies: no common expressions
            return ca.Function(name, inputs, outputs) if plain else share(name, inputs, outputs)
        return producer.calls.function(share, name, inputs, outputs)

    def all_measures() -> ca.Function:
        value, rate, bias = (column([getattr(x, key) for x in measures]) for key in ("value", "rate", "bias"))
        return F("measures", [q, v, p, t], [value, rate, Form.stack([x.form for x in measures], producer.nv), bias])

    functions = {
        "kinematics": F("kinematics", [q, p, t], [producer.N, SX.zeros(producer.nq)]),
        "inertia": F("inertia", [q, p, t], [M]),
        "forces": F("forces", [q, v, z, u, p, t, lam], [f]),
        "position": F("position", [q, p, t], [producer.rows.positions()]),
        "rates": F("rates", [q, v, p, t], [producer.rows.velocities()]),
        "rows": F("rows", [q, v, z, u, p, t], [A, b]),
        "internal": F("internal", [q, v, z, u, p, t, lam], [column(internal_rates)]),
        "outputs": F("outputs", [q, v, a, lam, z, u, p, t], [outputs.value]),
        "energy": F("energy", [q, v, z, p, t], [T, forces.potential]),
        "power": F("power", [q, v, z, u, p, t, lam], [power]),
        "joint_axes": F("joint_axes", [q, p, t], [joint_axes(producer)]),
    }
    if producer.calls is not None:  # together, so that common expressions are evaluated once
        sums = [M @ a - f - A.T @ lam, producer.rows.positions(), producer.rows.velocities(), A @ a - b]
        functions["balance"] = F("balance", [q, v, a, lam, z, u, p, t], sums)
        functions["matrices"] = F("matrices", [q, v, z, u, p, t], [M, A])
    if forces.limits:
        limits = [column(list(each)) for each in zip(*forces.limits, strict=True)]
        functions["friction"] = F("friction", [q, v, p, t, lam], limits)
    elastic = [own.tangent() for own in producer.bodies if isinstance(own, FloatingBody) and own.data.modes]
    if elastic or producer.gears:
        K = scatter_blocks([(modes, K) for modes, K, _ in elastic], producer.nv)
        D = scatter_blocks([(modes, D) for modes, _, D in elastic], producer.nv)
        applied = producer.flat(forces.applied)
        K = K - ca.jacobian(applied, q) @ producer.flat(producer.N)
        D = D - ca.jacobian(applied, v)
        K, D = ca.substitute([K, D], [lam], [SX.zeros(lam.shape)])  # friction without its load
        functions["tangent"] = F("tangent", [q, v, z, u, p, t], [ca.sparsify(K), ca.sparsify(D)])
    assumptions = [one for own in producer.bodies if isinstance(own, FloatingBody) for one in own.assumptions()]
    if assumptions:
        functions["assumptions"] = F("assumptions", [q, v, p, t], [column([x for _, x in assumptions])])
    joint_loads = SX.sym("reactions", len(reactions.names))
    loads = node_forces(producer, forces, dict(zip(producer.joints, reactions.first, strict=True)), joint_loads)
    floating = [own for own in producer.bodies if isinstance(own, FloatingBody)]
    about_loads = [one for own in floating for one in own.load_assumptions(loads.get(id(own.body), {}))]
    if about_loads:
        values = [column([x for _, x in about_loads])]
        functions["load_assumptions"] = F("load_assumptions", [q, v, joint_loads, z, u, p, t], values)
    later = producer.own_functions()
    later["reactions"] = lambda: F("reactions", [q, v, a, lam, z, u, p, t], [reactions.value()])
    later["measures"] = all_measures  # of all bodies of a tree by all joints: long, and no function of a tree's
    if producer.tree is None:
        functions |= {name: later.pop(name)() for name in ("measures", "reactions")}
    if producer.spins:
        functions["spins"] = F("spins", [q, p, t], list(spin_directions(producer, producer.spins)))
    carried = producer.carried_orientations()
    counted = [f"{joint.name}.{joint.coordinates[k][0]}" for joint, k in producer.turning]
    infos = [
        JointInfo(j.name, j.kind, rows, (j.a.body.name, j.b.body.name), first)
        for (j, rows, _), first in zip(producer.joints.values(), reactions.first, strict=True)
    ]
    return EquationsOfMotion(
        name=m.name,
        coordinates=producer.coordinates,
        speeds=producer.speeds,
        internal=producer.internal,
        inputs=producer.inputs,
        parameters=producer.parameters,
        parameter_values=(*m.parameters.values(), *(0.0 for _ in producer.exact)),
        measures=Channels(names, [x.unit for x in measures]),
        measure_rates=Channels([x.rate_name for x in measures], [f"{x.unit or 1}/s" for x in measures]),
        outputs=Channels(outputs.names, outputs.units),
        rows=tuple(producer.rows.tags),
        joints=tuple(infos),
        functions=LazyFunctions(functions, later),
        placement=producer.place_bodies(),
        quaternions=tuple(producer.quaternion_blocks()),
        counters=tuple(
            TurnCounter(producer.nq - len(producer.turning) + k, names.index(name)) for k, name in enumerate(counted)
        ),
        carried_orientations=carried,
        elastic=(*producer.modes, *(gear.deflection for gear in producer.gears.values())),
        motor_sides={name: gear.name for name, gear in producer.gears.items()},
        unrecorded=frozenset(
            (
                *(f"{name}.turned" for name in counted),
                *(f"{d.sliding}.holding" for d in producer.exact),
                *(f"{one.owner}.{part}" for one in carried for part in UNRECORDED_TURNS),
            )
        ),
        shorthands={short: full for short, full in producer.names.items() if short != full},
        reaction_channels=Channels(reactions.names, reactions.units),
        recorded_measures=tuple(k for k, n in enumerate(names) if n.rpartition(".")[0] in producer.joints),
        carried_measures=tuple(k for k, name in enumerate(names) if producer.is_carried(name)),
        friction_joints=tuple(j for f in m.forces for j in FORCE_EQUATIONS[f.kind].reactions(f)),
        dry=tuple(
            replace(
                d,
                measure=names.index(d.coordinate) if d.coordinate else -1,
                row=producer.sticking[d.name, d.coordinate][0] if d in producer.exact else -1,
            )
            for d in producer.dry
        ),
        drivers=tuple(d.name for d in m.drivers),
        limits=m.limits(),
        findings=tuple(producer.remarks),
        scene=describe_scene(m, producer.inputs.names),
        spins=tuple(str(spin) for spin in producer.spins),
        assumptions=tuple(finding for finding, _ in assumptions),
        load_assumptions=tuple(finding for finding, _ in about_loads),
        tree=producer.tree,
    )
