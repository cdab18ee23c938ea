"""The process of a machine for a filter: x = (q, v, z) on the joints, its step and outputs as expressions.

    x_{k+1} = Π(x_k + Δt Σ bᵢ kᵢ) ,   kᵢ = ẋ(x_k + Δt Σ aᵢⱼ kⱼ, u_k)

Π closes the joints and steers the speeds, as `da.simulate` does after every step; the input is held. The
errors of the state are defined in `manifold`. Inputs named ``unknown`` are states too, random walks: d_{k+1} = d_k plus
noise. Where forces depend on reactions, x also contains λ, the initial guess of the next step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import one_of, positive_number, whole_number
from dalembert.core.errors import ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.estimate.models.machine_rates import landing_function, projecting_function, rates_function
from dalembert.estimate.models.machine_slopes import step_slopes
from dalembert.estimate.models.manifold import Independent, Manifold, Tangent, independent, update_turn_counters
from dalembert.estimate.models.process import Names, Process, find_places, process
from dalembert.expressions import FLAT_LIMIT, Array, Expr
from dalembert.numerics.runge_kutta import Tableau, combine, find_tableau
from dalembert.solve.constrained.solve import build_function, depends_on_reactions
from dalembert.solve.position.assemble import assemble, check_start, check_weightless

NEWTON_STEPS = 2  # from a state to one an error away, after the first along the tangent


@process.register
def machine_process(
    eqs: EquationsOfMotion,
    *,
    outputs: str | Iterable[str] | None = None,
    inputs: str | Iterable[str] | None = None,
    dt: float | None = None,
    coordinates: str | Iterable[str] | None = None,
    closing: str = "independent",
    method: str | Tableau = "rk4",
    steps: int = 1,
    unknown: str | Iterable[str] | None = None,
    wrapped: str | Iterable[str] | None = None,
    report: str | Iterable[str] | None = None,
    at: State | None = None,
    newton_steps: int = NEWTON_STEPS,
) -> Process:
    """The process of a machine, for a filter.

    Parameters
    ----------
    outputs : sensors (``"imu"`` means all its axes), coordinates or rates of joints and bodies, speeds or internal
        states that are measured; all sensors when left out.
    inputs : known inputs; all that are not `unknown` when left out. The others are zero.
    dt : interval of the filter [s]; a machine takes any, so it may be left out.
    coordinates : independent coordinates whose errors have the covariance, such as ``["A.angle"]``. They must stay
        independent at every pose: the crank's angle of a slider-crank, not the slider's place. Chosen when left out.
    closing : "independent", or "projection": covariances of all tangent coordinates, projected onto the joints.
    method, steps : "rk4", "heun", "midpoint", "euler" or an explicit `Tableau`; number of its steps per interval.
    unknown : inputs that are estimated, as random walks.
    wrapped : outputs whose residual is taken in (-π, π]; those in radians when left out, so that an encoder may read
        many turns or one.
    report : further channels of the estimate, by name, or "all": reactions of joints, energies, sensors that need
        accelerations or reactions and are not measured. All coordinates, speeds, internal states, joint coordinates
        with their rates and other sensors are always channels of the estimate.
    at : the initial state of the machine; that of `da.assemble` when left out.
    newton_steps : Newton steps that bring a corrected state onto the joints, after a move along their tangent.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.estimate import process
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> sensor = m.add_sensor("encoder", da.angle("hinge"))
    >>> process(da.equations(m), dt=0.01)
    Process('pendulum': nonlinear, 6 states on a manifold of 2 dimensions, 0 inputs, outputs encoder)
    """
    drawn = at is None
    at = _start(eqs, at)
    free, estimated = _drives(eqs, inputs, unknown)
    places, names, units = _read_outputs(eqs, outputs)
    table = _tableau(method)
    one_of("closing", closing, ("independent", "projection"))
    for label, count in (("steps", steps), ("newton_steps", newton_steps)):
        whole_number(label, count, least=1)
    if dt is not None:
        positive_number("dt", dt)
    named = None if coordinates is None else [coordinates] if isinstance(coordinates, str) else list(coordinates)
    manifold: Manifold
    if closing == "projection" or (not eqs.rows and named is None):
        if named is not None:
            unused = Advice("Leave {} out.", Argument("coordinates"))
            raise ModelError("ineffective-argument", "a projection needs no independent coordinates.", unused)
        manifold = Tangent(eqs, newton_steps)
    else:
        manifold = independent(eqs, at, named, newton_steps)
    machine = MachineFunctions(eqs, manifold, tuple(places), tuple(free), tuple(estimated), table, int(steps),
                      _read_report(eqs, report))  # fmt: skip
    key = ("process", manifold.positions.names, manifold.speeds.names, closing, tuple(places), tuple(free),
           tuple(estimated), table, steps, newton_steps, machine.more)  # fmt: skip
    if machine.ne == 0:
        problem = f"the joints and drivers of {eqs.name!r} leave no freedom: there is nothing to estimate."
        raise ModelError("no-freedom", problem)
    channels = machine.report_channels()
    return Process(
        eqs.name, machine.errors(), machine.state_channels(),
        Channels([eqs.inputs.names[k] for k in free], [eqs.inputs.units[k] for k in free]), Channels(names, units),
        eqs.cache(key, machine.functions), machine.column(at), eqs.parameters, eqs.parameter_values,
        Channels([c[2] for c in channels], [c[3] for c in channels]), _find_angles(wrapped, names, units),
        source=eqs, placed=partial(place, machine, None if drawn else at),
    )  # fmt: skip


def place(machine: MachineFunctions, at: State | None, given: Mapping[str, float] | State) -> Array:
    """x of a state, or of named values: the joints are closed around those, from `at` or from the drawing."""
    eqs = machine.eqs
    if isinstance(given, State):
        return machine.column(_start(eqs, given))
    tables = {"unknown": [eqs.inputs.names[k] for k in machine.unknown], "internal": eqs.internal.names,
              "velocity": (*eqs.measure_rates.names, *eqs.speeds.names), "position": eqs.measures.names,
              "guess": eqs.coordinates.names}  # fmt: skip
    parts: dict[str, dict[str, float]] = {kind: {} for kind in tables}
    for name, value in given.items():
        kind = next((kind for kind, known in tables.items() if eqs.full_name(name) in known), None)
        if kind is None:
            known = dict.fromkeys(known for table in tables.values() for known in table)
            where = f"equations {eqs.name!r}"
            raise ModelError(
                "unknown-name", f"start: {unknown_name('coordinate, rate or internal state', name, known, where)}"
            )
        parts[kind][name] = value
    walking = parts.pop("unknown")
    if all(name in given for name in (*eqs.coordinates.names, *eqs.speeds.names)):  # such as an earlier estimate
        q, v = ([float(given[name]) for name in kind.names] for kind in (eqs.coordinates, eqs.speeds))
        x = machine.column(assemble(eqs, internal=parts["internal"], start=eqs.state(q, v)))
    else:
        t = 0.0 if at is None else at.t
        x = machine.column(
            assemble(eqs, parts["position"], velocity=parts["velocity"], guess=parts["guess"],
                     internal=parts["internal"], start=at, t=t)
        )  # fmt: skip
    for name, value in walking.items():
        x[machine.state_channels().index[name]] = value
    return x


def _start(eqs: EquationsOfMotion, at: State | None) -> State:
    if at is None:
        at = assemble(eqs)
    elif not isinstance(at, State):
        raise ModelError(
            "wrong-type",
            f"the initial state must be a State, got {type(at).__name__}.",
            Advice("Make one with {}.", Call("da.assemble")),
        )
    elif at.eqs.coordinates.names != eqs.coordinates.names:
        problem = f"the initial state belongs to equations {at.eqs.name!r}, not to {eqs.name!r}."
        raise ModelError("wrong-owner", problem)
    check_start(eqs, at)
    check_weightless(eqs, at)
    return at


def _drives(eqs: EquationsOfMotion, inputs: Names, unknown: Any) -> tuple[list[int], list[int]]:
    estimated = [] if unknown is None else find_places(unknown, eqs.inputs.names, "input")
    if inputs is None:
        return [k for k in range(eqs.nu) if k not in estimated], estimated
    free = find_places(inputs, eqs.inputs.names, "input")
    both = [eqs.inputs.names[k] for k in free if k in estimated]
    if both:
        problem = f"{', '.join(map(repr, both))}: an input is either known or estimated."
        name_once = Advice("Name it in one of {}.", Argument("inputs"), Argument("unknown"))
        raise ModelError("conflicting-arguments", problem, name_once)
    return free, estimated


def _read_outputs(eqs: EquationsOfMotion, outputs: Names) -> tuple[list[tuple[str, int]], list[str], list[str]]:
    """Where every output is found, its name and unit."""
    if outputs is None:
        outputs = eqs.outputs.names
        if not outputs:
            raise ModelError(
                "empty",
                f"{eqs.name!r} has no sensors.",
                Advice("Add one with {}.", Call("m.add_sensor")),
                Advice("Or name the measured coordinates in {}.", Argument("outputs")),
            )
    tables = {"sensor": eqs.outputs, "measure": eqs.measures, "rate": eqs.measure_rates,
              "q": eqs.coordinates, "v": eqs.speeds, "z": eqs.internal}  # fmt: skip
    places: list[tuple[str, int]] = []
    names: list[str] = []
    for given in [outputs] if isinstance(outputs, str) else outputs:
        if not isinstance(given, str):
            raise ModelError("bad-name", f"outputs must be names of sensors or coordinates, got {given!r}.")
        place = _place(tables, given, eqs.full_name(given))
        axes = [name for name in eqs.outputs.names if name.startswith(f"{given}.")]
        if place is not None:
            places.append(place)
            names.append(given)
        elif axes:
            places += [("sensor", eqs.outputs.index[name]) for name in axes]
            names += axes
        else:
            known = (*eqs.outputs.names, *eqs.measures.names, *eqs.measure_rates.names, *eqs.internal.names)
            raise ModelError(
                "unknown-name",
                f"outputs: {unknown_name('sensor or coordinate', given, known, f'equations {eqs.name!r}')}",
            )
    if not names:
        raise ModelError("empty", "no outputs are named: a filter needs something measured.")
    if len(set(names)) < len(names):
        raise ModelError("duplicate", f"an output is named twice: {', '.join(names)}.")
    return places, names, [tables[kind].units[k] for kind, k in places]


def _place(tables: Mapping[str, Channels], *names: str) -> tuple[str, int] | None:
    for kind, channels in tables.items():
        for name in names:
            if name in channels.index:
                return kind, channels.index[name]
    return None


def _tableau(method: object) -> Tableau:
    table = find_tableau(method)
    if not table.explicit:
        raise ModelError(
            "not-supported",
            f"the filter of a machine takes explicit steps (rk4, heun, midpoint, euler), not {method!r}.",
            Advice("For a stiff machine use more {}.", Argument("steps")),
        )
    return table


def _find_angles(given: Any, names: list[str], units: list[str]) -> tuple[bool, ...]:
    if given is None:
        return tuple(unit == "rad" for unit in units)
    places = find_places(given, tuple(names), "output")
    return tuple(k in places for k in range(len(names)))


def _read_report(eqs: EquationsOfMotion, report: Any) -> tuple[str, ...]:
    known = [name for channels in further_channels(eqs).values() for name in channels.names]
    if report is None:
        return ()
    if report == "all":
        return tuple(known)
    names = [report] if isinstance(report, str) else list(report)
    for name in names:
        require_name(
            "sensor, reaction or energy", name, known, f"equations {eqs.name!r}", error=ModelError, argument="report"
        )
    return tuple(names)


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

        found = {
            "step": self.step(),
            "outputs": function("outputs", [x, u, p, t], self.outputs(x, u, p, t)),
            "difference": function("difference", [x, x0, p, t], self.difference(x, x0, p, t)),
            "report": function("report", [x, u, p, t], self.report(x, u, p, t)),
        }
        if self.flat or not isinstance(self.manifold, Independent):
            found["rate"] = function("rate", [x, u, p, t], self.rate(x, u, p, t))
            found["retract"] = function("retract", [x, e, p, t], self.retract(x, e, p, t))
            return found
        X, U, P, T, _ = self.symbols(MX)
        found["rate"] = ca.Function("rate", [X, U, P, T], [self.rate(X, U, P, T)])
        found["retract"] = self.retract_in_parts(self.manifold)
        found["slope"] = function("slope", [x, x0, p, t], self.slope(self.manifold, x, x0, p, t))
        if self.lands:
            found["step_slopes"] = step_slopes(self)
        return found

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
        found: dict[str, tuple[str, int, str, str]] = {}
        for kind, channels in tables.items():
            for k in recorded if kind in ("measure", "rate") else range(len(channels)):
                name, unit = channels.names[k], channels.units[k]
                if name not in eqs.unrecorded and (kind != "sensor" or self._cheap(k)):
                    found.setdefault(name, (kind, k, name, unit))
        for kind, channels in further_channels(eqs).items():
            for k, (name, unit) in enumerate(zip(channels.names, channels.units, strict=True)):
                if name in self.more:
                    found.setdefault(name, (kind, k, name, unit))
        return list(found.values())

    def _cheap(self, sensor: int) -> bool:
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
