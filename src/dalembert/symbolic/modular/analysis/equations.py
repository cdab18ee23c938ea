"""Equations of motion of a leaf or an assembly, for every solver, filter and view.

    M = -∂f/∂v̇ ,   forces = f at v̇ = 0 ,   rows: constraints at the order of their variables

in all coordinates of the model and in the velocities of their rates. Velocities that occur in no rate of a coordinate
and that a constraint determines (the angular velocity of a wheel from the rates of its angles) are eliminated by a
complement v = S w + e: M becomes Sᵀ M S, forces Sᵀ (f - M d/dt(S w + e) at ẇ = 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice
from dalembert.equations.channels import ACCELERATION, HOLONOMIC, VELOCITY, Channels, QuaternionBlock, Row
from dalembert.equations.equations_of_motion import EquationsOfMotion
from dalembert.equations.placement import Placement
from dalembert.symbolic.modular.algebra.elimination import eliminate, is_rounding, is_zero, rank_of
from dalembert.symbolic.modular.model import ModularModel, affine_parts, modular_model
from dalembert.symbolic.modular.motion import Invariant, InvariantEntry, ModularMotion
from dalembert.symbolic.modular.parts import ModularPart

SX = ca.SX
LEVELS = (HOLONOMIC, VELOCITY, ACCELERATION)


def modular_equations(part: ModularPart, **options: Any) -> EquationsOfMotion:
    """`da.equations` of a part."""
    if options:
        raise ModelError("unknown-argument", f"equations of a part take no option {next(iter(options))!r}.")
    model = modular_model(part)
    motion = model.motion
    if motion.base_order > 1 or motion.working_order > 2:
        high = max(motion.base_order, motion.working_order)
        raise ModelError(
            "not-supported", f"{part.name!r} has variables or constraints of order {high}; equations of motion have "
            "coordinates, velocities and accelerations.",
            Advice("Its own accelerations(...) solves any order at one state."),
        )  # fmt: skip
    q, v, a = motion.symbols(0), motion.symbols(1), motion.symbols(2)
    u, p, t = motion.arguments(0)[1:]
    determined = _given_velocities(model)
    free = [k for k in range(v.numel()) if k not in determined.values]
    w = v[free]

    def back(expression: Any) -> Any:
        """Replace the eliminated velocities and their rates."""
        expression = ca.substitute(expression, a, ca.densify(accelerations))
        return ca.substitute(expression, v, ca.densify(velocities))

    velocities = ca.vertcat(SX(0, 1), *(determined.values.get(k, v[k]) for k in range(v.numel())))
    accelerations = ca.vertcat(SX(0, 1), *(
        motion.differentiate(determined.values[k]) if k in determined.values else a[k] for k in range(v.numel())
    ))  # fmt: skip
    S = ca.jacobian(velocities, w)
    rows = [row for row in motion.invariants if row.name not in determined.rows and not _is_degenerate(model, row)]
    z, lam = SX(0, 1), SX.sym("lam", len(rows))
    M, f = affine_parts(S.T @ back(model.unconstrained.entries), a[free], "the effective forces", part.name)
    _check_mass(model, M, [motion.labels(1)[k] for k in free])
    rates = ca.vertcat(SX(0, 1), *(motion.rate_of(entry.symbol) for entry in motion.variables(0)))
    minus_N, n = affine_parts(back(rates), w, "the rates of coordinates", part.name)
    first = [back(motion.differentiate(row.expression, 1 - row.order)) for row in rows if row.order < 2]
    expressions: dict[str, list[Any]] = {
        "kinematics": [-minus_N, n],
        "inertia": [M],
        "forces": [f],
        "position": [_column(row.expression for row in rows if row.order == 0)],
        "rates": [_column(first)],
    }
    if any(row.order == 2 for row in rows):
        stack = _column(back(motion.differentiate(row.expression, 2 - row.order)) for row in rows)
        minus_A, bias = affine_parts(stack, a[free], "the constraints", part.name)
        expressions["rows"] = [-minus_A, -bias]
    potentials = [e.expression for row in motion.paths for e in row.own.energies if e.kind == "potential"]
    if potentials:
        expressions["energy"] = [0.5 * ca.dot(w, M @ w), motion.resolve(sum(potentials, SX(0)))]
    entries = motion.variables(1)
    outputs = {
        path + name: (unit, back(motion.resolve(value)))
        for row, path in motion.paths.items()
        for name, (unit, value) in row.own.outputs.items()
    }
    if outputs:
        expressions["outputs"] = [_column(value for _, value in outputs.values())]
    symbols = {"q": q, "v": w, "a": a[free], "z": z, "u": u, "p": p, "t": t, "lam": lam}
    return EquationsOfMotion(
        name=part.name, functions=_functions(expressions, symbols, part.name),
        coordinates=_channels(motion.variables(0)), speeds=_channels([entries[k] for k in free]),
        inputs=Channels(motion.inputs, [motion.input_units[name] for name in motion.inputs]),
        parameters=Channels(motion.parameters, [row.unit for row in motion.parameters.values()]),
        parameter_values=tuple(motion.parameter_values().tolist()),
        outputs=Channels(outputs, [unit for unit, _ in outputs.values()]),
        rows=tuple(Row(row.name, LEVELS[row.order]) for row in rows),
        quaternions=_quaternions(motion, [entries[k].label for k in free]),
        placement=_placement(model),
    )  # fmt: skip


def _column(items: Any) -> Any:
    return ca.vertcat(SX(0, 1), *items)


@dataclass(frozen=True)
class _Given:
    """Velocities, by number, that constraints of velocity level determine, and the names of these constraints."""

    values: dict[int, Any]
    rows: frozenset[str]


def _given_velocities(model: ModularModel) -> _Given:
    motion = model.motion
    v = motion.symbols(1)
    rates = ca.vertcat(SX(0, 1), *(motion.rate_of(entry.symbol) for entry in motion.variables(0)))
    used = {int(j) for j in ca.jacobian(rates, v).sparsity().get_col()}
    idle = [k for k in range(v.numel()) if k not in used]
    rows = []
    for row in motion.invariants:
        if row.order == 1 and not ca.depends_on(ca.jacobian(row.expression, v), v):
            rows.append(row)
    if not rows or not idle:
        return _Given({}, frozenset())
    stack = _column(row.expression for row in rows)
    J = ca.jacobian(stack, v)
    right = -ca.substitute(stack, v, ca.DM.zeros(v.numel()))
    done = eliminate(J, model.points.evaluate(J, 0), idle, right)
    values = {}
    for column, table, value in zip(done.columns, done.table, done.right, strict=True):
        values[column] = value - sum((entry * v[k] for k, entry in table.items()), SX(0))
    return _Given(values, frozenset(rows[i].name for i in done.rows))


def _channels(entries: list[InvariantEntry]) -> Channels:
    return Channels([entry.label for entry in entries], [entry.unit for entry in entries])


def _functions(expressions: dict[str, list[Any]], symbols: dict[str, Any], name: str) -> dict[str, ca.Function]:
    from dalembert.equations.functions import ARGUMENTS

    functions = {}
    for key, results in expressions.items():
        arguments = [symbols[word] for word in ARGUMENTS[key].split()]
        foreign = [s for result in results for s in ca.symvar(result) if not ca.depends_on(ca.vertcat(*arguments), s)]
        if foreign:
            raise ModelError(
                "foreign-symbol", f"the {key} of {name!r} depend on {foreign[0].name()!r}, which they cannot: they are "
                f"functions of ({ARGUMENTS[key]}).", where={"symbol": foreign[0].name()},
            )  # fmt: skip
        functions[key] = ca.Function(key, arguments, results, {"cse": True})
    return functions


def _is_degenerate(model: ModularModel, one: Invariant) -> bool:
    """A constraint of coordinates whose rate vanishes by the definition of velocities: the norm of a quaternion."""
    if one.order > 0:
        return False
    J = ca.jacobian(model.motion.differentiate(one.expression), model.motion.symbols(1))
    return bool(is_rounding(model.points.evaluate(J, 1)).all())


def _check_mass(model: ModularModel, M: Any, labels: list[str]) -> None:
    values = model.points.evaluate(M, 1)
    gap = np.abs(values - values.transpose(0, 2, 1)).max(axis=0) if values.size else np.zeros((1, 1))
    if not is_zero(gap, max(1.0, float(np.abs(values).max(initial=0.0)))).all():
        i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
        raise ModelError(
            "not-symmetric", f"the inertia of {model.root.name!r} is not symmetric in {labels[i]!r} and {labels[j]!r}.",
            Advice("Write inertia forces along the motions that they are dual to."),
            where={"variables": (labels[i], labels[j])},
        )  # fmt: skip


def _quaternions(motion: ModularMotion, speeds: list[str]) -> tuple[QuaternionBlock, ...]:
    coordinates = motion.labels(0)
    return tuple(
        QuaternionBlock(
            path.removesuffix(".") or subsystem.name, coordinates.index(path + first), speeds.index(path + spin)
        )
        for subsystem, path in motion.paths.items()
        for first, spin in subsystem.own.quaternions
    )


def _placement(model: ModularModel) -> Placement:
    """The pose given, zero where none is given; a random one where the constraints or the mass are singular there."""
    motion = model.motion
    first = {path + first for subsystem, path in motion.paths.items() for first, _ in subsystem.own.quaternions}
    labels = motion.labels(0)
    start = np.array([motion.placement.get(label, 1.0 if label in first else 0.0) for label in labels])
    if set(labels) <= set(motion.placement):
        return Placement(q=tuple(start.tolist()))
    mass = -ca.jacobian(model.unconstrained.entries, motion.symbols(2))
    function = motion.function([mass, model.jacobian().entries], 1)
    for q in (model.points.close(start), model.points.all[0].columns[0]):
        if q is None:
            continue
        point = [q, np.zeros(len(motion.labels(1))), *model.points.all[0].columns[-3:]]
        inertia, A = (np.array(matrix) for matrix in function(*point))
        rows = np.vstack([inertia, A])
        if not np.isfinite(rows).all():
            continue
        if rank_of(A) == model.regular_rank and rank_of(rows) == len(motion.labels(1)):
            break
    return Placement(q=tuple(np.asarray(q).tolist()))
