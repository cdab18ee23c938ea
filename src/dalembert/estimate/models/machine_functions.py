"""Functions of the process of a machine, as expressions: x = (q, v, z) on the joints, its step and outputs.

    x_{k+1} = Π(x_k + Δt Σ bᵢ kᵢ) ,   kᵢ = ẋ(x_k + Δt Σ aᵢⱼ kⱼ, u_k)

Π closes the joints and steers the speeds, as `da.simulate` does after every step; the input is held. Where forces
depend on reactions, x also holds λ, the initial guess of the next step; unknown inputs d stand at its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.estimate.models.machine_rates import landing_function, projecting_function, rates_function
from dalembert.estimate.models.machine_slopes import step_slopes
from dalembert.estimate.models.manifold import Independent, Manifold, update_turn_counters
from dalembert.expressions import FLAT_LIMIT, Array, Expr
from dalembert.numerics.runge_kutta import Tableau, combine
from dalembert.solve.constrained.solve import build_function, depends_on_reactions

SX, MX = ca.SX, ca.MX


@dataclass(frozen=True, eq=False)
class MachineFunctions:
    """Builds the functions of one process."""

    eqs: EquationsOfMotion
    manifold: Manifold
    places: tuple[tuple[str, int], ...]
    known: tuple[int, ...]
    unknown: tuple[int, ...]
    tableau: Tableau
    steps: int
    more: tuple[str, ...] = ()

    @property
    def nl(self) -> int:
        return len(self.eqs.rows) if depends_on_reactions(self.eqs) else 0

    @property
    def ends(self) -> list[int]:
        eqs = self.eqs
        return [int(k) for k in np.cumsum([eqs.nq, eqs.nv, eqs.nz, self.nl, len(self.unknown)])]

    @property
    def nx(self) -> int:
        return self.ends[-1]

    @property
    def ne(self) -> int:
        return len(self.manifold.positions) + len(self.manifold.speeds) + self.eqs.nz + len(self.unknown)

    def split(self, x: Expr) -> tuple[Expr, Expr, Expr, Expr, Expr]:
        """q, v, z, λ to start from, unknown inputs."""
        a, b, c, d, e = self.ends
        lam = x[c:d] if self.nl else type(x).zeros(len(self.eqs.rows))
        return x[:a], x[a:b], x[b:c], lam, x[d:e]

    def join(self, q: Expr, v: Expr, z: Expr, lam: Expr, d: Expr) -> Expr:
        return ca.densify(ca.vertcat(q, v, z, *([lam] if self.nl else []), d))

    def drive(self, u: Expr, d: Expr) -> Expr:
        """All inputs of the machine: known and estimated ones, zero for the rest."""
        full = [type(u)(0)] * self.eqs.nu
        for k, place in enumerate(self.known):
            full[place] = u[k]
        for k, place in enumerate(self.unknown):
            full[place] = d[k]
        return ca.vertcat(*full) if full else type(u).zeros(0, 1)

    def symbols(self, kind: Any = SX) -> tuple[Any, ...]:
        sym, eqs = kind.sym, self.eqs
        return sym("x", self.nx), sym("u", len(self.known)), sym("p", len(eqs.parameters)), sym("t"), sym("dt")

    # -- functions ---------------------------------------------------------------------------------------------------
    def functions(self) -> dict[str, ca.Function]:
        x, u, p, t, _ = self.symbols()
        e, x0 = SX.sym("e", self.ne), SX.sym("x0", self.nx)

        def function(name: str, inputs: list[Any], value: Expr) -> ca.Function:
            return build_function(name, inputs, [value])

        functions = {
            "step": self.step(),
            "outputs": function("outputs", [x, u, p, t], self.outputs(x, u, p, t)),
            "difference": function("difference", [x, x0, p, t], self.difference(x, x0, p, t)),
            "report": function("report", [x, u, p, t], self.report(x, u, p, t)),
        }
        if self.flat or not isinstance(self.manifold, Independent):
            functions["rate"] = function("rate", [x, u, p, t], self.rate(x, u, p, t))
            functions["retract"] = function("retract", [x, e, p, t], self.retract(x, e, p, t))
            return functions
        X, U, P, T, _ = self.symbols(MX)
        functions["rate"] = ca.Function("rate", [X, U, P, T], [self.rate(X, U, P, T)])
        functions["retract"] = self.retract_in_parts(self.manifold)
        functions["slope"] = function("slope", [x, x0, p, t], self.slope(self.manifold, x, x0, p, t))
        if self.lands:
            functions["step_slopes"] = step_slopes(self)
        return functions

    @property
    def flat(self) -> bool:
        """Whether a step is small enough for one flat expression."""
        calls = self.steps * (len(self.tableau.nodes) + 2)
        return bool(calls * rates_function(self.eqs).n_instructions() <= FLAT_LIMIT)

    @property
    def lands(self) -> bool:
        """Whether the factor of the last stage of a step closes the joints."""
        nodes, weights = self.tableau.nodes, self.tableau.weights
        return len(nodes) > 1 and nodes[-1] == 1 and weights[-1] != 0 and not self.nl

    def step(self) -> ca.Function:
        flat = self.flat
        symbols = self.symbols(SX if flat else MX)
        x, u, p, t, h = symbols
        q, v, z, lam, d = self.split(x)
        force = self.drive(u, d)
        short = h / self.steps
        for k in range(self.steps):
            q, v, z, lam = self.substep(q, v, z, lam, force, p, t + k * short, short)
        after = self.join(update_turn_counters(self.eqs, q, p, t + h) if flat else q, v, z, lam, d)
        return ca.Function("step", list(symbols), [after], {"cse": True} if flat else {})

    def substep(
        self, q: Expr, v: Expr, z: Expr, lam: Expr, u: Expr, p: Expr, t: Expr, h: Expr
    ) -> tuple[Expr, Expr, Expr, Expr]:
        eqs, nodes, weights = self.eqs, self.tableau.nodes, self.tableau.weights
        rows = [row[:k].tolist() for k, row in enumerate(self.tableau.matrix)]
        F = rates_function(eqs)
        stages: list[Any] = []
        close = self.lands
        for node, row in zip(nodes[:-1] if close else nodes, rows, strict=False):
            y = [base + h * combine(row, stages, i) for i, base in enumerate((q, v, z))]
            stages.append(F(*y, u, p, t + node * h, stages[-1][3] if stages else lam))
        if close:  # the factor of the last stage closes the joints
            last = [base + h * combine(rows[-1], stages, i) for i, base in enumerate((q, v, z))]
            base = [y + h * combine(weights[:-1], stages, i) for i, y in enumerate((q, v, z))]
            q, v, z = landing_function(eqs)(*last, stages[-1][3], *base, h * weights[-1], u, p, t + h)
            return q, v, z, lam
        new = [y + h * combine(weights, stages, i) for i, y in enumerate((q, v, z))]
        q, v = projecting_function(eqs)(new[0], new[1], p, t + h)
        lam = F(q, v, new[2], u, p, t + h, stages[-1][3])[3] if self.nl else lam
        return q, v, new[2], lam

    def rate(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        """ẋ; unknown inputs stay, and so does the λ to start from."""
        q, v, z, lam, d = self.split(x)
        qdot, vdot, zdot, _ = rates_function(self.eqs)(q, v, z, self.drive(u, d), p, t, lam)
        return self.join(qdot, vdot, zdot, lam * 0, d * 0)

    def instant(self, x: Expr, u: Expr, p: Expr, t: Expr) -> dict[str, Any]:
        """All quantities at one state."""
        eqs, F = self.eqs, self.eqs.functions
        q, v, z, lam, d = self.split(x)
        u = self.drive(u, d)
        _, a, _, lam = rates_function(eqs)(q, v, z, u, p, t, lam)
        value, rate, _, _ = F["measures"](q, v, p, t)
        kinetic, potential = F["energy"](q, v, z, p, t)
        return {
            "sensor": F["outputs"](q, v, a, lam, z, u, p, t), "measure": value, "rate": rate, "q": q, "v": v, "z": z,
            "d": d, "reaction": F["reactions"](q, v, a, lam, z, u, p, t), "energy": ca.vertcat(kinetic, potential),
        }  # fmt: skip

    def outputs(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        table = self.instant(x, u, p, t)
        return ca.vertcat(*[table[kind][k] for kind, k in self.places])

    def retract(self, x: Expr, e: Expr, p: Expr, t: Expr) -> Expr:
        q, v, z, lam, d = self.split(x)
        e_s, e_w, e_z, e_d = self.split_error(e)
        q, v = self.manifold.retract(q, v, e_s, e_w, p, t)
        return self.join(q, v, z + e_z, lam, d + e_d)

    def retract_in_parts(self, manifold: Independent) -> ca.Function:
        """x ⊞ e in calls of its steps."""
        x, _, p, t, _ = self.symbols(MX)
        e = MX.sym("e", self.ne)
        q, v, z, lam, d = self.split(x)
        e_s, e_w, e_z, e_d = self.split_error(e)
        parts = {"q": q, "v": v, "q0": q, "v0": v, "e_s": e_s, "e_w": e_w, "p": p, "t": t}
        q, v = manifold.retract_in_parts(parts)
        return ca.Function("retract", [x, e, p, t], [self.join(q, v, z + e_z, lam, d + e_d)])

    def slope(self, manifold: Independent, x: Expr, x0: Expr, p: Expr, t: Expr) -> Expr:
        """∂(x₀ ⊞ e)/∂e where that is x."""
        q, v, *_ = self.split(x)
        moved = ca.vertcat(*manifold.slopes(q, v, self.split(x0)[0], p, t))
        others = SX.eye(self.eqs.nz + len(self.unknown))
        plain = ca.vertcat(others[: self.eqs.nz, :], SX(self.nl, others.shape[1]), others[self.eqs.nz :, :])
        return ca.diagcat(moved, plain)

    def split_error(self, e: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        ns, nw = len(self.manifold.positions), len(self.manifold.speeds)
        return e[:ns], e[ns : ns + nw], e[ns + nw : ns + nw + self.eqs.nz], e[ns + nw + self.eqs.nz :]

    def difference(self, x: Expr, x0: Expr, p: Expr, t: Expr) -> Expr:
        q, v, z, _, d = self.split(x)
        q0, v0, z0, _, d0 = self.split(x0)
        return ca.vertcat(*self.manifold.difference(q, v, q0, v0, p, t), z - z0, d - d0)

    # -- channels of the estimate -------------------------------------------------------------------------------------
    def report_channels(self) -> list[tuple[str, int, str, str]]:
        """(kind, index, name, unit) of every channel, none twice; counters of turns are bookkeeping."""
        eqs, recorded = self.eqs, (*self.eqs.recorded_measures, *self.eqs.carried_measures)
        walking = Channels([eqs.inputs.names[k] for k in self.unknown], [eqs.inputs.units[k] for k in self.unknown])
        tables = {"q": eqs.coordinates, "v": eqs.speeds, "z": eqs.internal, "d": walking, "measure": eqs.measures,
                  "rate": eqs.measure_rates, "sensor": eqs.outputs}  # fmt: skip
        outputs: dict[str, tuple[str, int, str, str]] = {}
        for kind, channels in tables.items():
            for k in recorded if kind in ("measure", "rate") else range(len(channels)):
                name, unit = channels.names[k], channels.units[k]
                if name not in eqs.unrecorded and (kind != "sensor" or self._is_reported(k)):
                    outputs.setdefault(name, (kind, k, name, unit))
        for kind, channels in further_channels(eqs).items():
            for k, (name, unit) in enumerate(zip(channels.names, channels.units, strict=True)):
                if name in self.more:
                    outputs.setdefault(name, (kind, k, name, unit))
        return list(outputs.values())

    def _is_reported(self, sensor: int) -> bool:
        """Whether a sensor is reported: one that needs accelerations or reactions only where it is measured."""
        F = self.eqs.functions["outputs"]
        needs = any(sensor in F.jac_sparsity(0, k).row() for k in (2, 3))
        return not needs or ("sensor", sensor) in self.places or self.eqs.outputs.names[sensor] in self.more

    def report(self, x: Expr, u: Expr, p: Expr, t: Expr) -> Expr:
        table = self.instant(x, u, p, t)
        return ca.vertcat(*[table[kind][k] for kind, k, *_ in self.report_channels()])

    # -- names and numbers -------------------------------------------------------------------------------------------
    def state_channels(self) -> Channels:
        eqs = self.eqs
        rows = [f"{row.owner}.multiplier{row.number}" for row in eqs.rows] if self.nl else []
        walking = [eqs.inputs.names[k] for k in self.unknown]
        return Channels(
            (*eqs.coordinates.names, *eqs.speeds.names, *eqs.internal.names, *rows, *walking),
            (*eqs.coordinates.units, *eqs.speeds.units, *eqs.internal.units, *[""] * len(rows),
             *[eqs.inputs.units[k] for k in self.unknown]),
        )  # fmt: skip

    def errors(self) -> Channels:
        eqs, m = self.eqs, self.manifold
        walking = [eqs.inputs.names[k] for k in self.unknown]
        names = (*m.positions.names, *m.speeds.names, *eqs.internal.names, *walking)
        units = [eqs.inputs.units[k] for k in self.unknown]
        return Channels(names, (*m.positions.units, *m.speeds.units, *eqs.internal.units, *units))

    def column(self, state: State) -> Array:
        """x of a state; unknown inputs at zero."""
        lam = [state.lam] if self.nl else []
        return np.concatenate((state.q, state.v, state.z, *lam, np.zeros(len(self.unknown))))


def further_channels(eqs: EquationsOfMotion) -> dict[str, Channels]:
    """Channels of an estimate on request."""
    energy = Channels(["energy.kinetic", "energy.potential"], ["J", "J"])
    return {"sensor": eqs.outputs, "reaction": eqs.reaction_channels, "energy": energy}
