"""Continuous laws and observers put into the equations of motion.

    u = k(reads, x, references, t) ,   x' = m(…)                      ẑ' = o(ẑ, u, y, t)

The result is equations of motion again: driven inputs become outputs, states of laws and observers are internal states,
references are inputs. All functions that take equations also take a closed loop.

A law may read a value that depends directly on its own input (an accelerometer): u = k(y(v̇(u), u)). Where k is affine
in u,

    u = (1 - ∂k/∂u)⁻¹ k(u = 0) ,

else the loop is refused with the names of its parts.

A continuous state-space model becomes equations with internal states only, ż = A z + B u, y = C z + D u, so that a
linear plant can have continuous laws, events and any method of integration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, require_name, unknown_name
from dalembert.equations import (
    ARGUMENTS,
    Channels,
    EquationsOfMotion,
    State,
    Symbols,
    equations_from_expressions,
    require_equations,
)
from dalembert.expressions import Array
from dalembert.linear import StateSpace
from dalembert.linear.responses.excitation import initial_state
from dalembert.loop.actuators import ActuatorLimits, clip, quantise
from dalembert.loop.interfaces import Law, ObserverStep
from dalembert.loop.names import machine_name, rate_names, reference_channel
from dalembert.loop.wiring import (
    LoopProblems,
    SwitchOn,
    as_laws,
    as_observer_step,
    read_actuators,
    within_limits,
)
from dalembert.solve.constrained.solve import LARGE, forward_expressions
from dalembert.solve.integrate.stick_slip import exact

SX = ca.SX
ON = "control.on"


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """A machine with its continuous laws and observer inside, and the conversion of states between both."""

    eqs: EquationsOfMotion
    machine: EquationsOfMotion
    start: tuple[float, ...]  # of laws and observer
    before: tuple[str, ...]  # driven inputs with an input of their own until the laws are switched on

    def state(self, state: State) -> State:
        """A state of the machine as one of the loop, laws and observer at their initial states."""
        z = np.concatenate((state.z, self.start))
        return self.eqs.state(state.q, state.v, z, state.t, lam=state.lam)


def close_loop(
    eqs: EquationsOfMotion,
    laws: object,
    observer: object = None,
    *,
    actuators: Mapping[str, ActuatorLimits] | None = None,
) -> EquationsOfMotion:
    """The machine with its controller inside: equations of motion of the closed loop.

    Parameters
    ----------
    eqs : equations of the machine.
    laws : a controller (``.law()``), a `Law`, or a list of them; all continuous (``dt`` None).
    observer : continuous, between sensors and laws.
    actuators : driven input -> `ActuatorLimits` with limits or resolution (rates and delays need a sampled law).

    Returns
    -------
    EquationsOfMotion; driven inputs are outputs of the same name, references are inputs ``"reference.<name>"`` (or
    ``"<name>.reference"`` where the law calls them so), with the values of the law's operating point by default,
    estimates are outputs ``"estimate.<name>"``, states of laws ``"<law>.<name>"``. Laws and observers that
    read a driven input get it as it acts, behind its actuator.
    """
    limits = read_actuators(actuators)
    read = as_laws(within_limits(laws, limits))
    return close_equations(require_equations(eqs), read, as_observer_step(observer, None), limits, SwitchOn(), ()).eqs


def close_equations(
    eqs: EquationsOfMotion,
    laws: Sequence[Law],
    observer_step: ObserverStep | None,
    actuators: Mapping[str, ActuatorLimits],
    switch: SwitchOn,
    before: Sequence[str],
    waits: Sequence[bool] | None = None,
) -> ClosedLoop:
    """`close_loop` with everything read; `before` names driven inputs with another source until switching on."""
    given = (eqs, tuple(laws), observer_step, dict(actuators), switch, tuple(before), waits)
    return eqs.cache_family("closed", _key(*given), lambda: _Closing(*given).loop())  # type: ignore[no-any-return]


def _key(eqs: EquationsOfMotion, laws: tuple[Law, ...], observer_step: ObserverStep | None, *rest: Any) -> str:
    """Equal keys mean equal loops."""
    digest = hashlib.sha256()
    for law in laws:
        text = (law.name, law.reads, law.drives, law.dt, law.state.names, law.start, law.references.names)
        digest.update(
            repr((text, law.direct, law.parameters, law.resting)).encode() + law.function.serialize().encode()
        )
    if observer_step is not None:
        w = observer_step
        names = (w.name, w.reads, w.known, w.gives.names, w.dt, w.state.names, w.start)
        digest.update(repr((names, w.parameters)).encode() + w.function.serialize().encode())
    actuators, switch, before, waits = rest
    digest.update(repr((eqs.parameter_values, actuators, switch.at_once, before, waits)).encode())
    return digest.hexdigest()


class _Closing:
    def __init__(
        self,
        eqs: EquationsOfMotion,
        laws: tuple[Law, ...],
        observer_step: ObserverStep | None,
        actuators: dict[str, ActuatorLimits],
        switch: SwitchOn,
        before: tuple[str, ...],
        waits: Sequence[bool] | None,
    ) -> None:
        self.eqs, self.laws, self.observer, self.actuators = eqs, laws, observer_step, actuators
        self.switched, self.before = not switch.at_once, before
        self.driven = [name for law in laws for name in law.drives]
        self.waits = [bool(law.direct and not set(law.drives) & set(law.reads)) for law in laws]
        if waits is not None:
            self.waits = list(waits)
        self._check()

    def _check(self) -> None:
        eqs = self.eqs
        problems = LoopProblems()
        for k, law in enumerate(self.laws):
            if law.dt is not None:
                sampled = f"law {law.name!r} is sampled every {law.dt:g} s"
                problems.add("sample-time-mismatch", f"{sampled}; a loop in the equations is continuous.")
            for name in law.drives:
                if name not in eqs.inputs.index:
                    where = f"{eqs.name!r}, driven by law {law.name!r}"
                    problems.add_unknown("input", name, eqs.inputs.names, where)
                elif name in [n for other in self.laws[:k] for n in other.drives]:
                    problems.add("duplicate", f"input {name!r} is driven by two laws.")
        if self.observer is not None and self.observer.dt is not None:
            problems.add(
                "sample-time-mismatch",
                f"observer {self.observer.name!r} is sampled every {self.observer.dt:g} s, but a law is continuous"
                "; give the law a sampling interval too.",
            )
        for name, actuator in self.actuators.items():
            if name not in self.driven:
                problems.add_unknown("driven input", name, self.driven, "the actuators")
            elif actuator.delay or np.isfinite(actuator.rate):
                problem = f"actuator of {name!r}: delays and rates need a sampled law (law.dt)."
                problems.add("not-supported", problem)
        problems.check_names(self.laws)
        problems.raise_all()

    # -- names -----------------------------------------------------------------------------------------------------
    def _channels(self) -> dict[str, Channels]:
        eqs, w = self.eqs, self.observer
        unit = dict(zip(eqs.inputs.names, eqs.inputs.units, strict=True))
        free = [(name, unit[name]) for name in eqs.inputs.names if name not in self.driven]
        self.references = [
            pair for law in self.laws for pair in zip(law.references.names, law.references.units, strict=True)
        ]
        wanted = dict.fromkeys((reference_channel(name), u) for name, u in self.references)
        inputs = [*free, *wanted, *[(f"{name}.before", unit[name]) for name in self.before]]
        internal = list(zip(eqs.internal.names, eqs.internal.units, strict=True))
        for law in self.laws:
            internal += [(f"{law.name}.{name}", u) for name, u in zip(law.state.names, law.state.units, strict=True)]
        outputs = [
            *zip(eqs.outputs.names, eqs.outputs.units, strict=True),
            *[(name, unit[name]) for name in self.driven],
        ]
        if w is not None:
            internal += [(f"{w.name}.{name}", u) for name, u in zip(w.state.names, w.state.units, strict=True)]
            outputs += [(f"estimate.{name}", u) for name, u in zip(w.gives.names, w.gives.units, strict=True)]
        parameters = list(zip(eqs.parameters.names, eqs.parameters.units, strict=True))
        if self.switched:
            parameters.append((ON, ""))
        pairs = {"inputs": inputs, "internal": internal, "outputs": outputs, "parameters": parameters}
        for kind, entries in pairs.items():
            names = [name for name, _ in entries]
            twice = [name for k, name in enumerate(names) if name in names[:k]]
            if twice:
                raise ModelError(
                    "taken-name", f"closing the loop gives two {kind} named {twice[0]!r}; rename the law or its state."
                )
        return {kind: Channels([n for n, _ in e], [u for _, u in e]) for kind, e in pairs.items()}

    # -- expressions -------------------------------------------------------------------------------------------------
    def loop(self) -> ClosedLoop:
        eqs = self.eqs
        channels: Any = self._channels()
        sizes = [len(law.state) for law in self.laws]
        cuts = np.cumsum([0, eqs.nz, *sizes, 0 if self.observer is None else len(self.observer.state)]).tolist()
        self.full = Symbols(
            SX.sym("q", eqs.nq), SX.sym("v", eqs.nv), SX.sym("z", cuts[-1]), SX.sym("u", len(channels["inputs"])),
            SX.sym("p", len(channels["parameters"])), SX.sym("t"), SX.sym("lam", len(eqs.rows)), SX.sym("a", eqs.nv),
        )  # fmt: skip
        self.inputs = channels["inputs"]
        z0, *self.states, self.observed = ca.vertsplit(self.full.z, cuts)
        self.base = replace(self.full, z=z0, p=self.full.p[: len(eqs.parameters)])
        try:
            return self._assemble(channels)
        except RuntimeError as error:
            raise ModelError(
                "not-supported",
                "a law or observer contains an operation that cannot be written as scalar expressions, so it cannot "
                f"act continuously; give it a sampling interval ({str(error).splitlines()[-1]}).",
            ) from None

    def _assemble(self, channels: Any) -> ClosedLoop:
        eqs, s = self.eqs, self.full
        acting = self._solve_inputs()
        at = replace(self.base, u=self._u(acting))
        # rates of states of laws may read accelerations: those under the acting inputs
        inner = self._inside(at)
        estimate = [] if self.observer is None else [self._watch(at)[1]]
        outputs = ca.vertcat(self._call("outputs", at), acting, *estimate)
        made: dict[str, list[Any]] = {}
        loads = SX.sym("reactions", len(eqs.reaction_channels))

        def arguments(name: str, symbols: Symbols) -> list[Any]:
            return [loads if part == "reactions" else getattr(symbols, part) for part in ARGUMENTS[name].split()]

        for name, function in eqs.functions.items():
            made[name] = function.call(arguments(name, at))
        made["internal"] = [ca.vertcat(made["internal"][0], *inner)]
        made["outputs"] = [outputs]
        functions = {
            name: ca.Function(
                name, arguments(name, s), values, ARGUMENTS[name].split(),
                [f"o{k}" for k in range(len(values))], {"cse": eqs.nv < LARGE},
            )
            for name, values in made.items()
        }  # fmt: skip
        start = [value for law in self.laws for value in law.start]
        start += [] if self.observer is None else list(self.observer.start)
        resting = {
            reference_channel(name): float(value)
            for law in self.laws for name, value in zip(law.references.names, law.resting, strict=False) if value
        }  # fmt: skip
        twin = eqs.stick_slip
        if twin is not None:
            given = (self.laws, self.observer, self.actuators, SwitchOn(0.0) if self.switched else SwitchOn())
            twin = _Closing(exact(eqs), *given, self.before, self.waits).loop().eqs
        kept = {name: value for name, value in eqs.resting_inputs.items() if name not in self.driven}
        loop = replace(
            eqs, functions=functions, **channels, placement=eqs.placement_with((*eqs.state().z, *start)),
            resting_inputs=kept | resting, stick_slip=twin,
            parameter_values=(*eqs.parameter_values, *([0.0] if self.switched else [])),
        )  # fmt: skip
        return ClosedLoop(loop, eqs, tuple(float(x) for x in start), self.before)

    def _call(self, name: str, at: Symbols) -> Any:
        return self.eqs.functions[name](*[getattr(at, part) for part in ARGUMENTS[name].split()])

    def _u(self, driven: Any) -> Any:
        """All inputs of the machine."""
        entries = [
            driven[self.driven.index(name)] if name in self.driven else self.full.u[self.inputs.index[name]]
            for name in self.eqs.inputs.names
        ]
        return ca.vertcat(*entries) if entries else SX(0, 1)

    def _value(self, name: str, at: Symbols, estimate: Any) -> Any:
        eqs, w = self.eqs, self.observer
        full = machine_name(eqs, name)
        if w is not None and estimate is not None:
            given = {machine_name(eqs, known): k for known, k in w.gives.index.items()} | w.gives.index
            for candidate in (name, full):
                if candidate in given:
                    return estimate[given[candidate]]
        if full in eqs.inputs.index:
            return at.u[eqs.inputs.index[full]]
        if full in eqs.outputs.index:
            return self._call("outputs", at)[eqs.outputs.index[full]]
        if w is not None and estimate is not None:
            known = (*w.gives.names, *eqs.outputs.names, *eqs.inputs.names)
            raise ModelError("unknown-name", f"a law reads {name!r}, which observer {w.name!r} does not give: "
                             + unknown_name("estimate", name, known, "the loop"))  # fmt: skip
        for channels, values in ((eqs.coordinates, at.q), (eqs.speeds, at.v), (eqs.internal, at.z)):
            if full in channels.index:
                return values[channels.index[full]]
        measures = self._call_many("measures", at)
        for channels, values in ((eqs.measures, measures[0]), (eqs.measure_rates, measures[1])):
            if full in channels.index:
                return values[channels.index[full]]
        known = (*eqs.outputs.names, *eqs.measures.names, *eqs.measure_rates.names, *eqs.coordinates.names,
                 *eqs.speeds.names, *eqs.internal.names, *eqs.inputs.names)  # fmt: skip
        raise ModelError("unknown-name", unknown_name("sensor", name, known, f"{eqs.name!r}, read by its controller"))

    def _call_many(self, name: str, at: Symbols) -> list[Any]:
        return self.eqs.functions[name].call([getattr(at, part) for part in ARGUMENTS[name].split()])  # type: ignore[no-any-return]

    def _column(self, names: Sequence[str], at: Symbols, estimate: object) -> Any:
        return ca.vertcat(*[self._value(name, at, estimate) for name in names]) if names else SX(0, 1)

    def _watch(self, at: Symbols) -> tuple[Any, Any]:
        """(rate of the observer's state, estimate)."""
        w = self.observer
        assert w is not None
        for name in w.known:
            require_name("input", name, self.eqs.inputs.names, f"the inputs of observer {w.name!r}", error=ModelError)
        known = self._column(w.known, at, None)
        y = self._column(w.reads, at, None)
        return w.function(self.observed, known, y, SX(np.array(w.parameters, dtype=float)), at.t)  # type: ignore[no-any-return]

    def _laws(self, at: Symbols) -> list[tuple[Any, Any]]:
        """(u, rate of the state) of every law."""
        estimate = None if self.observer is None else self._watch(at)[1]
        laws = []
        for law, state in zip(self.laws, self.states, strict=True):
            wanted = [self._reference(name) for name in law.references.names]
            references = ca.vertcat(*wanted) if wanted else SX(0, 1)
            numbers = SX(np.array(law.parameters, dtype=float))
            laws.append(law.function(self._column(law.reads, at, estimate), state, references, numbers, at.t))
        return laws

    def _reference(self, name: str) -> Any:
        return self.full.u[self.inputs.index[reference_channel(name)]]

    def _commands(self, at: Symbols) -> Any:
        commands = ca.vertcat(*[u for u, _ in self._laws(at)]) if self.laws else SX(0, 1)
        entries = []
        for k, name in enumerate(self.driven):
            actuator = self.actuators.get(name, ActuatorLimits())
            entries.append(quantise(clip(commands[k], actuator.limits), actuator.resolution))
        return ca.vertcat(*entries) if entries else SX(0, 1)

    def _solve_inputs(self) -> Any:
        """Driven inputs as they act, with algebraic loops solved and the switch on or off."""
        unknown = SX.sym("driven", len(self.driven))
        at = replace(self.base, u=self._u(unknown))
        asked = self._commands(at)
        asked = self._insert_motion(asked, at)
        if self.driven and ca.depends_on(asked, unknown):
            slope = ca.jacobian(asked, unknown)
            if ca.depends_on(slope, unknown):
                raise ModelError("algebraic-loop", self._named_loop())
            gap = SX.eye(len(self.driven)) - slope
            self._regular(gap)
            asked = ca.solve(gap, ca.substitute(asked, unknown, SX.zeros(len(self.driven))))
        if not self.switched:
            return asked
        on = self.full.p[-1]
        until = [
            self.full.u[self.inputs.index[f"{name}.before"]] if name in self.before else SX(0) for name in self.driven
        ]
        return ca.if_else(on > 0.5, asked, ca.vertcat(*until)) if until else asked

    def _inside(self, at: Symbols) -> list[Any]:
        """Rates of the states of laws and observer."""
        rates = [rate for _, rate in self._laws(at)]
        if self.switched:
            on = self.full.p[-1]
            rates = [ca.if_else(on > 0.5, r, 0) if w else r for r, w in zip(rates, self.waits, strict=True)]
        if self.observer is not None:
            rates.append(self._watch(at)[0])
        return [ca.densify(self._insert_motion(ca.vertcat(*rates) if rates else SX(0, 1), at))]

    def _insert_motion(self, value: Any, at: Symbols) -> Any:
        """Accelerations and multipliers in an expression replaced by those that the equations give."""
        moving = ca.vertcat(at.a, at.lam)
        if not moving.shape[0] or not ca.depends_on(value, moving):
            return value
        a, lam, _, _, _ = forward_expressions(self.eqs, replace(at, lam=SX.zeros(len(self.eqs.rows))))
        return ca.substitute(value, moving, ca.vertcat(a, lam))

    def _named_loop(self) -> str:
        reads = [name for law in self.laws for name in law.reads]
        fast = [name for name in reads if machine_name(self.eqs, name) in self.eqs.outputs.index] or reads
        return (
            f"algebraic loop: {', '.join(self.driven)} moves what is read at once ({', '.join(fast)}), and the law is "
            "not linear in it (or friction makes the machine so), so there may be no or many solutions. Read something "
            "that does not jump with the input, put a lag between, or sample the law (dt)."
        )

    def _regular(self, gap: object, singular: float = 1e-10) -> None:
        # singular: of 1 - ∂k/∂u at the drawing's pose.
        eqs = self.eqs
        f = ca.Function("gap", [self.full.q, self.full.v, self.full.z, self.full.u, self.full.p, self.full.t], [gap])
        numbers: list[Array] = [eqs.state().q, np.zeros(eqs.nv), np.zeros(self.full.z.shape[0]),
                                np.zeros(self.full.u.shape[0]), np.zeros(self.full.p.shape[0])]  # fmt: skip
        numbers[4][: len(eqs.p)] = eqs.p
        values = np.array(f(*numbers, 0.0))
        smallest = float(np.linalg.svd(values, compute_uv=False).min()) if np.isfinite(values).all() else 1.0
        if smallest < singular:
            raise ModelError(
                "algebraic-loop",
                f"algebraic loop: {', '.join(self.driven)} cancels itself through what the law reads (1 - ∂law/∂u is "
                "singular), so no input fulfils the law. Change its gain on what jumps with the input.",
            )


def linear_equations(model: StateSpace) -> EquationsOfMotion:
    """The model without coordinates and speeds; its states are internal ones."""
    if model.dt is not None:
        raise ModelError(
            "not-supported",
            "a discrete StateSpace has no equations of motion: laws and observers around it are sampled, give them dt "
            "[s]; and there are no events between its samples.",
        )
    z, u = ca.vertcat(SX(0, 1), *map(SX.sym, model.states)), ca.vertcat(SX(0, 1), *map(SX.sym, model.inputs))
    A, B, C, D = (ca.sparsify(ca.DM(matrix)) for matrix in (model.A, model.B, model.C, model.D))
    outputs = ca.densify(C @ z + D @ u)
    return equations_from_expressions(
        "linear model", z=z, u=u, g=A @ z + B @ u,
        outputs={name: outputs[k] for k, name in enumerate(model.outputs)}, units=model.units,
        shorthands={name: own for name, own in rate_names(model).items() if own in model.states},
    )  # fmt: skip


def read_linear_state(eqs: EquationsOfMotion, start: Any) -> State:
    """An initial state of the model (mapping of states, array, or None for zero) as a state of its equations."""
    if isinstance(start, State):
        return start
    return eqs.state(z=np.asarray(initial_state(start, eqs.internal.names, "the start")))
