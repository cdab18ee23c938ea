"""The step of a large machine and its change along given directions.

A derivative of the whole step, taken by CasADi, has as many copies of the equations as there are directions: millions
of operations for a Stewart platform. Here the change of a stage is one function of a few directions, called for all of
them, and the state that it belongs to is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.estimate.models.machine_rates import landing_function, rates_function
from dalembert.numerics.runge_kutta import combine

if TYPE_CHECKING:
    from dalembert.estimate.models.machine_functions import MachineFunctions

MX = ca.MX


def step_slopes(machine: MachineFunctions) -> ca.Function:
    """(x, ∂x (nx, ne), u, p, t, Δt) -> x after the step, its change (nx, ne)."""
    x, u, p, t, dt = machine.symbols(MX)
    dx = MX.sym("dx", machine.nx, machine.ne)
    q, v, z, lam, d = machine.split(x)
    a, b, c, _, _ = machine.ends
    y, dy = [q, v, z], [dx[:a, :], dx[a:b, :], dx[b:c, :]]
    force, dforce = machine.drive(u, d), _drive(machine, dx[c:, :])
    h = dt / machine.steps
    for k in range(machine.steps):
        y, dy = _substep(machine, y, dy, lam, force, dforce, p, t + k * h, h)
    after, change = machine.join(y[0], y[1], y[2], lam, d), ca.vertcat(*dy, dx[c:, :])
    return ca.Function("step_slopes", [x, dx, u, p, t, dt], [after, ca.densify(change)])


def _drive(machine: MachineFunctions, dd: Any) -> Any:
    """Change of all inputs with the estimated ones."""
    rows = [MX.zeros(1, machine.ne)] * machine.eqs.nu
    for k, place in enumerate(machine.unknown):
        rows[place] = dd[k, :]
    return ca.vertcat(*rows) if rows else MX.zeros(0, machine.ne)


def _substep(
    machine: MachineFunctions, y: list[Any], dy: list[Any], lam: Any, u: Any, du: Any, p: Any, t: Any, h: Any
) -> tuple[list[Any], list[Any]]:
    """`MachineFunctions.substep` with its changes; the factor of the last stage closes the joints."""
    nodes, weights = machine.tableau.nodes, machine.tableau.weights
    rows = [row[:k].tolist() for k, row in enumerate(machine.tableau.matrix)]
    F, landing = rates_function(machine.eqs), landing_function(machine.eqs)
    stages: list[Any] = []
    changes: list[Any] = []

    def at(row: Sequence[float]) -> tuple[list[Any], list[Any]]:
        ends = ((y, stages), (dy, changes))
        return tuple([base + h * combine(row, of, i) for i, base in enumerate(start)] for start, of in ends)  # type: ignore[return-value]

    none = MX.zeros(lam.shape[0], machine.ne), MX.zeros(p.shape[0], machine.ne), MX.zeros(1, machine.ne)
    for node, row in zip(nodes[:-1], rows, strict=False):
        stage, change = at(row)
        arguments = [*stage, u, p, t + node * h, stages[-1][3] if stages else lam]
        value, slope = along(F, arguments, [*change, du, none[1], none[2], none[0]])
        stages.append(value)
        changes.append(slope)
    (last, dlast), (base, dbase) = at(rows[-1]), at(weights[:-1])
    arguments = [*last, stages[-1][3], *base, h * weights[-1], u, p, t + h]
    return along(landing, arguments, [*dlast, none[0], *dbase, none[2], du, none[1], none[2]])


def along(function: ca.Function, given: list[Any], changes: list[Any]) -> tuple[list[Any], list[Any]]:
    """Values of a function, and their changes for those of the arguments, one direction per column."""
    count = changes[0].shape[1]
    several = next(k for k in (3, 2, 1) if count % k == 0)  # directions that share the state of a call
    values = function.call(given)
    slopes = function.forward(several).map(count // several)
    repeated = [ca.repmat(x, 1, count // several) for x in (*given, *values)]
    return values, slopes.call([*repeated, *changes])
