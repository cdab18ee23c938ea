"""Exact Coulomb friction in runs: every coordinate sticks (ṡ = 0) or slides one way, and changes at events.

    slides, σ = ±1:  effort = -σ limit(λ) ,            until σ ṡ falls to zero
    sticks, σ = 0:   ṡ = 0 is a row, effort = its λ ,  until |λ| reaches the limit at rest

σ is a parameter of the equations `EquationsOfMotion.stick_slip`, so a change compiles nothing. At an event, and at the
start of a run, the coordinates with zero rate are decided together: all stick; the one farthest beyond its limit is
released against its effort; one that was released and does not move off that way is taken back; until all agree. Where
several coordinates hold one freedom, those released first keep their limit while the others hold the machine: Coulomb's
law allows any effort up to the limit at rest. If this does not end, all combinations are tried.
(Pfeiffer and Glocker 1996, ch. 5, as a search over modes.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import (
    ARGUMENTS,
    HOLONOMIC,
    Channels,
    DryFriction,
    EquationsOfMotion,
    Row,
    State,
    Symbols,
)
from dalembert.expressions import Array, Kernel
from dalembert.solve.constrained.solve import LARGE, forward_function
from dalembert.solve.integrate.events import Event, EventView, Switch, speeds_after


def exact(eqs: EquationsOfMotion) -> EquationsOfMotion:
    """The equations a run uses: those of stick and slip where there are any, with the same parameter values."""
    full = eqs.stick_slip
    if full is None:
        return eqs
    values = dict(zip(full.parameters.names, full.parameter_values, strict=True))
    values |= dict(zip(eqs.parameters.names, eqs.parameter_values, strict=True))
    copy = replace(full, parameter_values=tuple(values.values()))
    object.__setattr__(copy, "_kernels", full._kernels)
    return copy


def convert(state: State, to: EquationsOfMotion) -> State:
    """A state of a machine as one of its other equations: internal states by name, multipliers that both have."""
    if state.eqs is to:
        return state
    have = dict(zip(state.eqs.internal.names, state.z, strict=True))
    z = [have.get(name, 0.0) for name in to.internal.names]
    lam = np.zeros(len(to.rows))
    count = min(len(lam), len(state.lam))
    lam[:count] = state.lam[:count]
    return to.state(state.q, state.v, z, state.t, lam=lam)


@dataclass(frozen=True, eq=False)
class FrictionModes:
    """Modes that agree with the laws of friction, and the names of the coordinates at rest."""

    sliding: Array
    lam: Array
    share: Array  # of the limit, where it sticks
    still: tuple[str, ...]

    def switch(self, exact: Sequence[DryFriction]) -> Switch:
        values = {d.sliding: float(mode) for d, mode in zip(exact, self.sliding, strict=True)}
        return Switch(parameters=values, velocity=dict.fromkeys(self.still, 0.0))


class StickSlip:
    """Which coordinates stick and which slide, in one run."""

    def __init__(self, eqs: EquationsOfMotion) -> None:
        self.dry = [d for d in eqs.dry if d.row >= 0]
        inside = [d for d in eqs.dry if d.measure >= 0]
        self.places = [inside.index(d) for d in self.dry]  # in the outputs of the function of friction
        self.rows = [d.row for d in self.dry]
        self.measures = [d.measure for d in self.dry]
        self.changes: list[dict[str, Any]] = []  # for the statistics of the run
        self.now = np.full(len(self.dry), np.nan)
        self.last, self.repeats = -np.inf, 0

    def __bool__(self) -> bool:
        return bool(self.dry)

    # -- events ------------------------------------------------------------------------------------------------------
    def events(self) -> tuple[Event, ...]:
        """One per coordinate: positive while its mode may stay."""
        return tuple(
            Event(f"{d.sliding} changes", partial(self._margin, k), -1, "note") for k, d in enumerate(self.dry)
        )

    def _margin(self, which: int, view: EventView, backward_speed: float = 1e-12) -> Any:
        # backward_speed: speed backwards of a sliding coordinate before it counts: some thousand roundings.
        q, v, _, lam, _, _, p, t = view.arguments
        eqs = view._eqs
        rate, static, _ = eqs.functions["friction"](q, v, p, t, lam)
        d, k = self.dry[which], self.places[which]
        sliding = p[eqs.parameters.index[d.sliding]]
        slack = backward_speed * (1 + ca.norm_inf(v))
        return ca.if_else(sliding == 0, static[k] - ca.fabs(lam[d.row]), sliding * rate[k] + slack)

    # -- decisions ---------------------------------------------------------------------------------------------------
    def start(self, eqs: EquationsOfMotion, state: State, u: Array) -> tuple[EquationsOfMotion, State]:
        """Equations and state of the start of a run, with modes that agree with it."""
        found = self.decide(eqs, state, u)
        self._note(state.t, found)
        switch = found.switch(self.dry)
        eqs = self._with(eqs, found.sliding)
        v = speeds_after(eqs, state, switch.velocity, "the start")
        return eqs, eqs.state(state.q, v, state.z, state.t, lam=found.lam)

    def change(
        self, eqs: EquationsOfMotion, state: State, u: Array, fired: Sequence[int] = (), endless: int = 60
    ) -> Switch:
        """What changes at an event, `fired` the coordinates it is about.

        endless : changes at one instant: ten of each coordinate tried together.
        """
        self.repeats = self.repeats + 1 if state.t <= self.last else 0
        self.last = state.t
        if self.repeats > endless:
            names = ", ".join(sorted({repr(self.dry[k].name) for k in fired})) or "of the joints"
            raise ConvergenceError(
                "stick-slip-cycle",
                f"friction {names} changes between sticking and sliding without end at t = {state.t:.9g} s.",
                Advice("Use the regularised law there with {}.", Argument("speed")),
                Advice("Make static and coulomb equal."),
                where={"time": float(state.t)},
            )
        found = self.decide(eqs, state, u, fired)
        self._note(state.t, found)
        return found.switch(self.dry)

    def release(self, switch: Switch) -> Switch:
        """A user's switch without sticking coordinates: those that stick after it are found again."""
        free = {d.sliding: 1.0 for d in self.dry}
        return replace(switch, parameters={**switch.parameters, **free}) if free else switch

    def _note(self, t: float, found: FrictionModes) -> None:
        words = {0.0: "sticks", 1.0: "slides forward", -1.0: "slides backward"}
        for d, old, new in zip(self.dry, self.now, found.sliding, strict=True):
            if old != new:
                self.changes.append({"coordinate": d.coordinate, "time": t, "now": words[float(new)]})
        self.now = found.sliding

    def _read_sliding(self, eqs: EquationsOfMotion) -> Array:
        return np.array([eqs.parameter_values[eqs.parameters.index[d.sliding]] for d in self.dry])

    def _with(self, eqs: EquationsOfMotion, sliding: Array) -> EquationsOfMotion:
        return eqs.replace(**{d.sliding: float(mode) for d, mode in zip(self.dry, sliding, strict=True)})

    def decide(
        self,
        eqs: EquationsOfMotion,
        state: State,
        u: Array,
        fired: Sequence[int] = (),
        zero_speed: float = 1e-10,
        largest_stop: float = 1e-7,
    ) -> FrictionModes:
        """Modes with which friction, rates and accelerations agree.

        zero_speed : speed at an event or a start that counts as zero: 100 times the slack.
        largest_stop : change of speeds that stops a coordinate; a larger one would be an impact.
        """
        old = self._read_sliding(eqs)
        slow = 1 + float(np.abs(state.v).max(initial=0.0))
        rate = eqs.kernel("friction")(state.q, state.v, eqs.p, state.t, state.lam)[0][self.places]
        late = float(np.abs(rate[list(fired)]).max(initial=0.0)) if len(fired) else 0.0
        still = np.abs(rate) <= zero_speed * slow + 10 * min(late, largest_stop)
        still[list(fired)] = True
        modes = np.where(rate >= 0, 1.0, -1.0)
        passing = np.zeros(len(modes), dtype=bool)
        for k in np.flatnonzero(still):  # a slider at its dead centre continues: only an impact would stop it
            only = modes.copy()
            only[k] = 0.0
            try:
                stopped = speeds_after(self._with(eqs, only), state, {}, "friction")
                passing[k] = np.abs(stopped - state.v).max() > largest_stop * slow
            except ModelError:  # no impact of the joints stops it
                passing[k] = True
        for i in fired:
            if passing[i] and old[i]:
                modes[i] = -old[i]
        free = [int(k) for k in np.flatnonzero(still & ~passing)]
        modes[free] = 0.0
        names = tuple(dict.fromkeys(self.dry[k].coordinate for k in free))
        if free:
            v = speeds_after(self._with(eqs, modes), state, {}, "friction")
            state = eqs.state(state.q, v, state.z, state.t, lam=state.lam)
        judge = _Judge(self, eqs, state, u, free, {k for k in fired if old[k] == 0})
        return judge.search(modes, names)


class _Judge:
    """Whether modes agree with friction at one instant."""

    def __init__(
        self,
        run: StickSlip,
        eqs: EquationsOfMotion,
        state: State,
        u: Array,
        free: list[int],
        reached: set[int],
        massless: float = 1e-12,
    ) -> None:
        # massless: singular value of M, of the largest, that is none: nothing accelerates there by itself.
        self.run, self.eqs, self.state, self.u, self.free, self.reached = run, eqs, state, u, free, reached
        self.forward: Kernel = eqs.cache("friction at an instant", lambda: Kernel(forward_function(eqs)))
        _, _, S, self.bias = eqs.kernel("measures")(state.q, state.v, eqs.p, state.t)
        self.S = S.reshape(len(eqs.measures), eqs.nv)[run.measures]
        self.bias = self.bias[run.measures]
        (M,) = eqs.kernel("inertia")(state.q, eqs.p, state.t)
        weight = np.linalg.lstsq(M.reshape(eqs.nv, eqs.nv), self.S.T, rcond=massless)[0]
        self.ease = np.einsum("ij,ji->i", self.S, weight)  # acceleration by unit effort, without the joints' help

    def evaluate(
        self, modes: Array, passes: int = 20, settled_change: float = 1e-10, unsettled: float = 1e-7
    ) -> tuple[Array, Array, Array, bool]:
        """λ, share of the limit (sticking), acceleration along the mode over that by the limit; converged.

        passes : of friction and reactions, eight in each.
        settled_change : last change of the reactions.
        unsettled : last change from which on modes are no solution: that of `reached`, which they decide.
        """
        run, s = self.run, self.state
        p = run._with(self.eqs, modes).p
        lam = np.array(s.lam)
        for _ in range(passes):
            _, a, _, _, lam, change = self.forward(s.q, s.v, s.z, self.u, p, s.t, lam)
            if not float(change[0]) > settled_change:
                break
        settled = bool(float(change[0]) <= unsettled)
        _, static, kinetic = (x[run.places] for x in self.eqs.kernel("friction")(s.q, s.v, p, s.t, lam))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(modes == 0, np.abs(lam[run.rows]) / static, 0.0)
            ahead = modes * (self.S @ a + self.bias) / (kinetic * self.ease)
        return lam, np.nan_to_num(share, nan=0.0, posinf=1e300), np.nan_to_num(ahead, nan=0.0), settled

    def verdict(
        self, modes: Array, reached: float = 1e-7, beyond: float = 1e-9, backwards: float = 1e-7
    ) -> tuple[Array, Array, int, int, bool]:
        """(λ, shares, the coordinate to release, the one to take back (-1: none), whether reactions settled).

        reached : distance of a coordinate from its limit at its event, as a share of the limit.
        beyond : share of the limit that counts as beyond it: above `settled`, below `reached`.
        backwards : acceleration against the sliding that contradicts it, over that which the limit gives.
        """
        lam, share, ahead, settled = self.evaluate(modes)
        limit = np.where([k in self.reached for k in range(len(modes))], 1 - reached, 1 + beyond)
        over = np.where(modes == 0, share / limit, 0.0)
        release = int(np.argmax(over)) if over.max(initial=0.0) > 1 else -1
        moving = [k for k in self.free if modes[k] != 0 and ahead[k] < -backwards]
        back = min(moving, key=lambda k: ahead[k]) if moving else -1
        return lam, share, release, back, settled

    def search(self, modes: Array, names: tuple[str, ...], together: int = 6) -> FrictionModes:
        # together: coordinates of which all combinations are tried: 3⁶ = 729.
        seen: set[tuple[float, ...]] = set()
        while tuple(modes) not in seen:
            seen.add(tuple(modes))
            lam, share, release, back, settled = self.verdict(modes)
            modes = modes.copy()
            if release >= 0:
                modes[release] = -np.sign(lam[self.run.rows[release]]) or 1.0
            elif back >= 0:
                modes[back] = 0.0
                self.reached.discard(back)
            elif settled or not self.free:  # all slide: the run reports modes that do not converge
                return FrictionModes(modes, lam, share, names)
        if len(self.free) <= together:
            self.reached.clear()
            for some in product((0.0, 1.0, -1.0), repeat=len(self.free)):
                modes[self.free] = some
                lam, share, release, back, settled = self.verdict(modes)
                if release < 0 and back < 0 and settled:
                    return FrictionModes(modes, lam, share, names)
        own = ", ".join(repr(self.run.dry[k].name) for k in self.free)
        raise ConvergenceError(
            "no-solution",
            f"friction {own} has no consistent sticking or sliding at t = {self.state.t:.9g} s: the joint may be "
            "jamming.",
            Advice("Lower the coefficients."),
            Advice("Use the regularised law with {}.", Argument("speed")),
            where={"time": float(self.state.t)},
        )


# --- equations with the modes of one state ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FixedModes:
    """A machine near one state: sliding coordinates have their effort, sticking ones a holonomic row."""

    eqs: EquationsOfMotion
    state: State
    sliding: dict[str, float]  # by coordinate: +1, -1, 0 where it sticks
    share: dict[str, float]  # of the limit at rest, of what sticks


def fix_modes(eqs: EquationsOfMotion, state: State, u: Array, *, without: bool = False) -> FixedModes:
    """The equations that hold near a state, without events; the same ones where no friction is exact.

    without : leave exact Coulomb friction out.
    """
    if eqs.stick_slip is None:
        return FixedModes(eqs, state, {}, {})
    full = exact(eqs)
    run = StickSlip(full)
    if without:
        made = full.cache(("modes fixed", ()), lambda: _with_fixed_modes(full, eqs, run, ()))
        free = replace(made, parameter_values=full.parameter_values)  # no direction of sliding, and no row
        object.__setattr__(free, "_kernels", made._kernels)
        return FixedModes(free, free.state(state.q, state.v, state.z, state.t, lam=state.lam), {}, {})
    here = convert(state, full)
    found = run.decide(full, here, u)
    sticking = tuple(k for k, mode in enumerate(found.sliding) if mode == 0)
    made = full.cache(("modes fixed", sticking), lambda: _with_fixed_modes(full, eqs, run, sticking))
    s = full.kernel("measures")(state.q, state.v, full.p, state.t)[0]
    held = [float(s[run.dry[k].measure]) for k in sticking]
    copy = replace(made, parameter_values=(*run._with(full, found.sliding).parameter_values, *held))
    object.__setattr__(copy, "_kernels", made._kernels)
    lam = np.concatenate((found.lam[: len(eqs.rows)], found.lam[[run.rows[k] for k in sticking]]))
    here = copy.state(state.q, state.v, state.z, state.t, lam=lam)
    sliding = {d.coordinate: float(mode) for d, mode in zip(run.dry, found.sliding, strict=True)}
    return FixedModes(copy, here, sliding, {run.dry[k].coordinate: float(found.share[k]) for k in sticking})


def _with_fixed_modes(
    full: EquationsOfMotion, eqs: EquationsOfMotion, run: StickSlip, sticking: tuple[int, ...]
) -> EquationsOfMotion:
    """Rows of what slides dropped, those of what sticks as s = s₀ with s₀ a parameter, internal states as in `eqs`."""
    dry = [run.dry[k] for k in sticking]
    kept = [*range(len(eqs.rows)), *(d.row for d in dry)]
    names = [*full.parameters.names, *(f"{d.sliding}.held at" for d in dry)]
    sym = ca.SX.sym
    s = Symbols(
        sym("q", eqs.nq), sym("v", eqs.nv), sym("z", eqs.nz), sym("u", eqs.nu), sym("p", len(names)), sym("t"),
        sym("lam", len(kept)), sym("a", eqs.nv),
    )  # fmt: skip
    z, lam = ca.SX.zeros(full.nz), ca.SX.zeros(len(full.rows))
    inner = [full.internal.index[name] for name in eqs.internal.names]
    if inner:
        z[inner] = s.z
    lam[kept] = s.lam
    at = replace(s, z=z, lam=lam, p=s.p[: len(full.parameters)])
    made = {
        name: full.functions[name].call([getattr(at, part) for part in ARGUMENTS[name].split()])
        for name in full.functions
        if name not in ("balance", "matrices", "load_assumptions")  # of all rows; of runs
    }
    place = made["measures"][0]
    held = s.p[len(full.parameters) :]
    made["position"] = [ca.vertcat(made["position"][0], *(place[d.measure] - held[k] for k, d in enumerate(dry)))]
    made["rates"] = [made["rates"][0][[full.rate_rows.index(row) for row in kept if row in full.rate_rows]]]
    made["rows"] = [made["rows"][0][kept, :], made["rows"][1][kept]]
    made["internal"] = [made["internal"][0][inner] if inner else ca.SX.zeros(0, 1)]
    functions = {
        name: ca.Function(name, [getattr(s, part) for part in ARGUMENTS[name].split()], values, {"cse": eqs.nv < LARGE})
        for name, values in made.items()
    }
    return replace(
        full, functions=functions, rows=(*eqs.rows, *(Row(d.name, HOLONOMIC, 0) for d in dry)), internal=eqs.internal,
        parameters=Channels(names, [""] * len(names)), parameter_values=(0.0,) * len(names), dry=(),
        load_assumptions=(), placement=eqs.placement_with(eqs.state().z),
    )  # fmt: skip
