"""Plants of a sampled loop: their readings, their noise, and their motion from one sampling instant to the next.

A plant has one column x with the time first. Inputs are a function u(t, c) of time and of constants c that are
held over an interval: commands, given constants, noise. `MachinePlant` steps equations of motion by any one-step
method; `LinearPlant` is the exact map of a `StateSpace` under held inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import Channels, EquationsOfMotion
from dalembert.expressions import Array
from dalembert.linear import StateSpace
from dalembert.linear.recursions import compute_exact_step
from dalembert.loop.names import machine_name, rate_names
from dalembert.numerics.sample_times import count_multiple, slack
from dalembert.solve.constrained.constraint_factor import ConstraintFactor
from dalembert.solve.constrained.solve import LARGE, Evaluation, close_joints, normalise, steer_speeds
from dalembert.solve.constrained.structure import massless_directions
from dalembert.solve.integrate.events import EventView
from dalembert.solve.integrate.inputs import Inputs, read_inputs
from dalembert.solve.integrate.method import OneStep, check_method

MX = ca.MX
SX = ca.SX


class MachinePlant:
    """Equations of motion under held inputs."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        method: Any,
        given: Mapping[str, Any] | Any,
        driven: Sequence[str],
        events: ca.Function | None,
        events_key: Any = None,
    ) -> None:
        if not isinstance(check_method(method), OneStep):
            raise DataError(
                "not-supported",
                f"{type(method).__name__} is a multistep method, which would start again at every sample of "
                "a loop.",
                Advice("Use {}.", Call("da.DormandPrince"), Call("da.RK4"), Call("da.Rosenbrock"),
                       Call("da.GeneralizedAlpha")),
                where={"argument": "method"},
            )  # fmt: skip
        self.eqs, self.method, self.name = eqs, method, eqs.name
        self.inputs = eqs.inputs
        self.base = read_inputs(eqs, given)
        self.acting = held_inputs(eqs, self.base, driven)
        self.gates = [i for i, name in enumerate(eqs.inputs.names) if name in driven and self.base.key[i] != "constant"]
        self.key = (
            "machine",
            type(method).__qualname__,
            method.structure(),
            self.acting.key,
            tuple(self.gates),
            events_key,
        )
        self.stepper = method.stepper(eqs, self.acting, events)
        self.layout = self.stepper.layout
        self.size = self.layout.size
        self.p, self.numbers = eqs.p, method.numbers()
        self.span = self.base.span
        self.step = method.step
        self._step: ca.Function | None = None
        self._start: ca.Function | None = None

    def vary(self, eqs: EquationsOfMotion) -> MachinePlant:
        """The same with other parameter values."""
        other = copy(self)
        other.eqs, other.p = eqs, eqs.p
        return other

    @property
    def content_hash(self) -> str:
        return self.eqs.content_hash

    # -- names -----------------------------------------------------------------------------------------------------
    @property
    def sensors(self) -> tuple[str, ...]:
        return self.eqs.outputs.names

    def readable(self) -> dict[str, str]:
        """Everything that can be read, with units."""
        eqs = self.eqs
        groups = (eqs.outputs, eqs.measures, eqs.measure_rates, eqs.coordinates, eqs.speeds, eqs.internal, eqs.inputs)
        found: dict[str, str] = {}
        for channels in groups:
            for name, unit in zip(channels.names, channels.units, strict=True):
                found.setdefault(name, unit)
        return found

    def full_name(self, name: str) -> str:
        return machine_name(self.eqs, name)

    @property
    def disturbable(self) -> tuple[str, ...]:
        """States and inputs that process noise may be added to."""
        eqs = self.eqs
        groups = (eqs.coordinates, eqs.speeds, eqs.internal, eqs.inputs, eqs.measures, eqs.measure_rates)
        return tuple(name for group in groups for name in group.names)

    def given_inputs(self, times: Array) -> Array:
        """(N, nu) constants of the inputs; functions of time are in the equations themselves."""
        return np.tile(self.base.constants, (len(times), 1))

    # -- expressions -------------------------------------------------------------------------------------------------
    def u(self, t: Any, c: Any) -> Any:
        return self.acting.function(t, c)

    def readings(self, names: Sequence[str]) -> ca.Function:
        """(x, c, p) -> the named values at the column x while the constants c act."""
        eqs = self.eqs
        view = EventView(eqs)
        values = [view[name] for name in names]
        inner = ca.Function("reading", view.arguments, [ca.densify(ca.vertcat(*values))], {"cse": True})
        x, c, p = MX.sym("x", self.size), MX.sym("c", self.acting.function.size1_in(1)), MX.sym("p", len(self.p))
        s = self.layout.split(x)
        return ca.Function(
            "readings", [x, c, p],
            [inner(s["q"], s["v"], s["a"], s["lam"], s["z"], self.u(s["t"], c), p, s["t"])],
        )  # fmt: skip

    def start_function(self) -> ca.Function:
        if self._start is None:
            self._start = self.stepper.start()
        return self._start

    def restart(self, x: Any, c: Any, p: Any) -> Any:
        """x with accelerations and multipliers under the constants c."""
        s = self.layout.split(x)
        started = self.start_function()(s["t"], s["h"], s["q"], s["v"], s["z"], s["work"], s["lam"], p, c)
        counters = {name: s[name] for name in ("size", "accepted", "rejected", "change")}
        return self.layout.join(**{**self.layout.split(started), **counters})

    def disturbance(self, names: Sequence[str]) -> ca.Function:
        """(q, v, z, p, t, w) -> q, v, z with the samples w added to the named states, on the joints."""
        eqs = self.eqs
        s = eqs.symbols()
        w = SX.sym("w", len(names))
        q, v, z = SX(s.q), SX(s.v), SX(s.z)
        moves: list[tuple[int, int]] = []  # measure, sample
        jumps: list[tuple[int, int]] = []
        for k, name in enumerate(names):
            full = machine_name(eqs, name)
            if full in eqs.coordinates.index:
                q[eqs.coordinates.index[full]] += w[k]
            elif full in eqs.speeds.index:
                v[eqs.speeds.index[full]] += w[k]
            elif full in eqs.internal.index:
                z[eqs.internal.index[full]] += w[k]
            elif full in eqs.measures.index:
                moves.append((eqs.measures.index[full], k))
            else:
                jumps.append((eqs.measure_rates.index[full], k))
        at = replace(s, q=q, v=v, z=z)
        rate = eqs.functions["measures"](q, v, s.p, s.t)[1]
        if moves:
            at = self._displace(at, w, moves)
        for _ in range(2):
            at = replace(at, q=close_joints(eqs, at, None, 2))
        q = at.q
        if jumps:
            at = self._change_rates(at, [(i, rate[i] + w[k]) for i, k in jumps])
        resting = Evaluation(eqs, replace(at, z=SX.zeros(eqs.nz), u=SX.zeros(eqs.nu)))
        v = steer_speeds(eqs, resting, steer_speeds(eqs, resting, at.v))
        outputs = [ca.densify(e) for e in (q, v, z)]
        return ca.Function("disturb", [s.q, s.v, s.z, s.p, s.t, w], outputs, {"cse": eqs.nv < LARGE})

    def _smallest(self, s: Any, measures: list[int], gaps: Any, wanted: Any) -> Any:
        """The smallest change of speeds in the mass metric that closes the joints and changes the measures."""
        eqs = self.eqs
        F = eqs.functions
        A, _ = F["rows"](s.q, s.v, SX.zeros(eqs.nz), SX.zeros(eqs.nu), s.p, s.t)
        S = F["measures"](s.q, s.v, s.p, s.t)[2]
        J = ca.sparsify(ca.vertcat(A, S[measures, :]))
        factor = ConstraintFactor(F["inertia"](s.q, s.p, s.t), J, massless=massless_directions(eqs))
        return factor.correction(ca.vertcat(gaps, -wanted), 3)

    def _displace(self, s: Any, w: Any, moves: list[tuple[int, int]]) -> Any:
        """q with measures moved by samples of w, by Newton's iteration on measures and joints together."""
        eqs = self.eqs
        F = eqs.functions
        places = [i for i, _ in moves]
        target = F["measures"](s.q, s.v, s.p, s.t)[0][places] + ca.vertcat(*[w[k] for _, k in moves])
        for _ in range(3):
            gaps = SX.zeros(len(eqs.rows))
            gaps[eqs.holonomic_rows] = F["position"](s.q, s.p, s.t)
            missing = target - F["measures"](s.q, s.v, s.p, s.t)[0][places]
            N, _ = F["kinematics"](s.q, s.p, s.t)
            s = replace(s, q=normalise(eqs, s.q + N @ self._smallest(s, places, gaps, missing)))
        return s

    def _change_rates(self, s: Any, wanted: list[tuple[int, Any]]) -> Any:
        """v with measures at the wanted rates."""
        eqs = self.eqs
        places = [i for i, _ in wanted]
        gaps = SX.zeros(len(eqs.rows))
        gaps[eqs.rate_rows] = eqs.functions["rates"](s.q, s.v, s.p, s.t)
        missing = ca.vertcat(*[rate for _, rate in wanted]) - eqs.functions["measures"](s.q, s.v, s.p, s.t)[1][places]
        return replace(s, v=s.v + self._smallest(s, places, gaps, missing))

    def disturb(self, disturb: ca.Function, x: Any, w: Any, p: Any) -> Any:
        s = self.layout.split(x)
        q, v, z = disturb(s["q"], s["v"], s["z"], p, s["t"], w)
        energy = self.eqs.functions["energy"]
        gained = sum(energy(q, v, z, p, s["t"])) - sum(energy(s["q"], s["v"], s["z"], p, s["t"]))
        return self.layout.join(**{**s, "q": q, "v": v, "z": z, "work": s["work"] + gained})

    def steps_in(self, length: float, attempts: int) -> int:
        """Columns of an interval: steps of a fixed-step method, else attempts."""
        if self.step is None:
            return attempts
        return max(int(np.ceil(length / self.step * (1 - slack(1.0)) - slack(1.0))), 1)

    def advance(self, x: Any, c: Any, p: Any, numbers: Any, end: Any, length: float, attempts: int) -> list[Any]:
        """Columns after each step on the way to `end`."""
        if self._step is None:
            self._step = self.stepper.step()
        step, count = self._step, self.steps_in(length, attempts)
        columns: list[Any] = []
        if self.step is not None:  # equal steps, at most of the given length
            s = self.layout.split(x)
            x = self.layout.join(**{**s, "h": (end - s["t"]) / count})
        else:
            attempt = guard(step)
        for k in range(count):
            if self.step is not None or k == 0:
                x = step(x, p, c, end, numbers)
            else:
                x = attempt(x[0] < end, x, p, c, end, numbers)
            columns.append(x)
        return columns


def guard(step: ca.Function) -> ca.Function:
    """(condition, arguments of a step) -> the step where the condition holds, else the unchanged column, at no cost."""
    arguments = [MX.sym(step.name_in(i), step.size1_in(i)) for i in range(step.n_in())]
    same = ca.Function("same", arguments, [ca.densify(arguments[0])])
    return ca.Function.if_else("attempt", step, same)


def held_inputs(eqs: EquationsOfMotion, base: Inputs, driven: Sequence[str]) -> Inputs:
    """u(t, c): c has one value per input, added to its function of time; then a gate per driven function of time.

    A gate of 1 switches the function of time off: from then on only the law drives the input.
    """
    functions = [i for i, kind in enumerate(base.key) if kind != "constant"]
    gated = [i for i in functions if eqs.inputs.names[i] in driven]
    key = ("held", base.key, tuple(gated))

    def make() -> ca.Function:
        t, c = MX.sym("t"), MX.sym("c", eqs.nu + len(gated))
        entries = list(ca.vertsplit(c[: eqs.nu])) if eqs.nu else []
        if functions:
            values = base.function(t, MX.zeros(eqs.nu))
            for i in functions:
                gate = 1 - c[eqs.nu + gated.index(i)] if i in gated else 1
                entries[i] = entries[i] + gate * values[i]
        return ca.Function("inputs", [t, c], [ca.densify(ca.vertcat(*entries)) if entries else MX(0, 1)])

    function = eqs.cache(("held inputs", key), make)
    constants = np.concatenate((base.constants, np.zeros(len(gated))))
    return Inputs(key, constants, function, base.span, base.given)


class LinearPlant:
    """A state-space model under inputs held between samples: x₁ = Φ x + Γ u, exact."""

    method = "zero-order hold"
    step = 1.0  # one map per interval
    gates: tuple[int, ...] = ()
    span = (-np.inf, np.inf)

    def __init__(self, model: StateSpace, given: Any) -> None:
        self.model, self.name = model, "linear model"
        self.inputs = Channels(model.inputs, [model.units.get(name, "") for name in model.inputs])
        self.size = 1 + model.nx
        self.p, self.numbers = np.empty(0), np.zeros(4)
        self.source = given
        digest = tuple(np.ascontiguousarray(a).tobytes() for a in (model.A, model.B, model.C, model.D))
        self.key = ("linear", model.dt, model.states, model.inputs, model.outputs, digest)

    @property
    def content_hash(self) -> str:
        return hashlib.sha256(repr(self.key).encode()).hexdigest()

    @property
    def sensors(self) -> tuple[str, ...]:
        return self.model.outputs

    def readable(self) -> dict[str, str]:
        model = self.model
        names = (*model.outputs, *model.states, *model.inputs)
        return {name: model.units.get(name, "") for name in names}

    def full_name(self, name: str) -> str:
        return rate_names(self.model).get(name, name)

    @property
    def disturbable(self) -> tuple[str, ...]:
        return (*self.model.states, *self.model.inputs)

    def given_inputs(self, times: Array) -> Array:
        """(N, nu) inputs at the samples, where they are held until the next."""
        from dalembert.linear.responses.excitation import sample_inputs

        model = self.model
        if len(times) == 1:
            times = np.array([times[0], times[0] + 1.0])
            return sample_inputs(self.source, model.inputs, times, where=self.name)[1][:1]
        return np.asarray(sample_inputs(self.source, model.inputs, times, where=self.name)[1])

    def u(self, t: Any, c: Any) -> Any:
        return c

    def readings(self, names: Sequence[str]) -> ca.Function:
        model = self.model
        rows, through = [], []
        for name in names:
            if name in model.outputs:
                k = model.outputs.index(name)
                rows.append(model.C[k])
                through.append(model.D[k])
            elif name in model.states:
                rows.append(np.eye(model.nx)[model.states.index(name)])
                through.append(np.zeros(model.nu))
            else:
                rows.append(np.zeros(model.nx))
                through.append(np.eye(model.nu)[model.inputs.index(name)])
        C, D = _matrix(rows, model.nx), _matrix(through, model.nu)
        x, c, p = SX.sym("x", self.size), SX.sym("c", model.nu), SX.sym("p", 0)
        return ca.Function("readings", [x, c, p], [ca.densify(C @ x[1:] + D @ c)])

    def restart(self, x: Any, c: Any, p: Any) -> Any:
        return x

    def disturbance(self, names: Sequence[str]) -> ca.Function:
        where = [1 + self.model.states.index(name) for name in names]
        x, w = SX.sym("x", self.size), SX.sym("w", len(names))
        moved = SX(x)
        for k, i in enumerate(where):
            moved[i] += w[k]
        return ca.Function("disturb", [x, w], [ca.densify(moved)])

    def disturb(self, disturb: ca.Function, x: Any, w: Any, p: Any) -> Any:
        return disturb(x, w)

    def steps_in(self, length: float, attempts: int) -> int:
        return 1

    def maps(self, length: float) -> tuple[Array, Array]:
        model = self.model
        if model.dt is None:
            return compute_exact_step(model.A, model.B, length)[:2]
        count = count_multiple(length, model.dt)
        if count is None:
            raise ModelError(
                "sample-time-mismatch",
                f"the plant is sampled every {model.dt:g} s, but the loop (with its delays) has intervals of "
                f"{length:g} s, not a multiple of that.",
            )
        A = np.linalg.matrix_power(model.A, count)
        B = sum((np.linalg.matrix_power(model.A, k) @ model.B for k in range(count)), np.zeros_like(model.B))
        return A, B

    def advance(self, x: Any, c: Any, p: Any, numbers: Any, end: Any, length: float, attempts: int) -> list[Any]:
        A, B = self.maps(length)
        s, u = SX.sym("x", len(A)), SX.sym("u", B.shape[1])
        step = ca.Function("hold", [s, u], [ca.densify(ca.sparsify(ca.DM(A)) @ s + ca.sparsify(ca.DM(B)) @ u)])
        return [ca.vertcat(end, step(x[1:], c))]


def _matrix(rows: list[Array], width: int) -> Any:
    return ca.sparsify(ca.DM(np.array(rows).reshape(len(rows), width)))
