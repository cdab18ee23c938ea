"""SUNDIALS through CasADi: CVODES or IDAS over many samples in one call, all of them projected onto the joints.

Both integrate the index-1 form with the drift of the joints fed back (Baumgarte), in scaled time τ from 0 to 1 so that
one integrator serves every piece of a run with as many samples:

    CVODES:  q̇ = N v + n ,  v̇ and ż from the constrained solve ;   t = t₀ + Δ τ
    IDAS:    q̇ = N v + n ,  v̇ = a ,  ż = g ;   0 = M a - f - Aᵀλ ,  0 = A a - b   (rows scaled by 1/|A row|,
             a and λ outside the error test) ;   t = t₀ + Δ τ² , so that every derivative by τ is zero at the start,
             which is consistent without IDAS' own search for it

The solver starts anew from a projected state some sixteen times in a run, however many samples there are.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal

import casadi as ca
import numpy as np

from dalembert.core.arguments import one_of, positive_number, whole_number
from dalembert.core.errors import ConvergenceError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel, raise_signals
from dalembert.numerics.sample_times import lateness
from dalembert.solve.constrained.solve import (
    LARGE,
    TINY,
    Baumgarte,
    forward_function,
    projection_function,
    stabilisation,
)
from dalembert.solve.integrate.column import Column, Layout
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.method import Method, integrator, option
from dalembert.solve.position.assemble import row_units

MX = ca.MX
SX = ca.SX
FEEDBACK = Baumgarte(b1=1.0, b2=10.0, b3=10.0)  # 1/s: slow beside the motion, fast beside the drift


# Scale of λ in IDAS: the share of redundant rows, known to 1e-7, must not stop it. 1e-9 to 1e-2 give the same Bricard
# linkage; with 1 IDAS gives up.
MULTIPLIER_SCALE = 1e-6
EVEN = 1e-9  # relative difference of sample intervals that counts as none


@integrator
@dataclass(frozen=True)
class Sundials(Method):
    """SUNDIALS' multistep solvers: CVODES (default) or IDAS.

    CVODES integrates the index-1 form with feedback on the drift of the joints, IDAS the same form with accelerations
    and multipliers as unknowns outside the error test. Both start anew from a projected state some sixteen times in a
    run; rtol and atol are of the run, a single step gets a fiftieth.

    max_steps : steps for a sixteenth of the run, after which it ends with a `ConvergenceError`.
    """

    step = None

    rtol: float = field(default=1e-8, metadata=option("relative tolerance"))
    atol: float = field(default=1e-8, metadata=option("absolute tolerance"))
    solver: Literal["cvodes", "idas"] = field(default="cvodes", metadata=option("solver of SUNDIALS"))
    max_steps: int = field(default=100_000, metadata=option("most steps for a sixteenth of the run"))

    def __post_init__(self) -> None:
        positive_number("rtol", self.rtol)
        positive_number("atol", self.atol)
        whole_number("max_steps", self.max_steps, 1)
        one_of("solver", self.solver, ("cvodes", "idas"))

    def initial_step(self, span: float) -> float:
        return span / 100  # the solver chooses its own; events are searched over this interval

    def steps(
        self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None, events_key: Hashable
    ) -> SundialsSteps:
        return SundialsSteps(eqs, self, inputs, events, events_key)


class SundialsSteps:
    """The interface of `NativeSteps`; a block is a piece of the run, its rows are the samples there."""

    largest_block: int = 1
    pace: float = 0.0

    def __init__(
        self, eqs: EquationsOfMotion, method: Sundials, inputs: Inputs, events: ca.Function | None, events_key: object
    ) -> None:
        self.eqs, self.method, self.inputs = eqs, method, inputs
        self.p, self.constants = eqs.p, inputs.constants
        self.key = ("sundials", method, inputs.key)
        self.times: Array = np.empty(0)  # of the samples, see `plan`
        self.longest = np.inf

        def make() -> tuple[Layout, Kernel, Kernel, dict[str, Any]]:
            column = Column(eqs, inputs, events)
            build = _cvodes if method.solver == "cvodes" else _idas
            project = Kernel(projection_function(eqs, 2))
            return column.layout, Kernel(column.start()), project, build(eqs, inputs)

        self.layout: Layout
        self.layout, self._begin, self._project, self._problem = eqs.cache((*self.key, events_key), make)
        self.where = self.layout.starts

    def plan(self, times: Array, span: float, pieces: int = 16, samples: int = 4096, looks: int = 512) -> None:
        """Plan the next samples: their number per piece, and the interval of the search for events.

        pieces : of a run; each is one call of the solver, of which up to a half is lost where it fails.
        samples : most of a piece: 33 MB of states of a machine of 300 speeds.
        looks : an event is looked for at least this often in a run: one that lasts 1/500 of it is found.
        """
        self.times = times
        self.count = min(max(-(-len(times) // pieces), 1), samples)
        if self.layout.ne:
            self.longest = span / looks

    def begin(self, t: float, h: float, q: Array, v: Array, z: Array, work: float, lam: Array) -> Array:
        return np.asarray(self._begin(t, h, q, v, z, work, lam, self.p, self.constants)[0])

    def expect(self, attempts: int) -> None:
        """Sundials evaluates its functions itself."""

    def block(self, x: Array, attempts: int, end: float) -> Array:
        """States at the next samples, at most to `end`."""
        t = float(x[0])
        first = int(np.searchsorted(self.times, t + lateness(max(1.0, abs(t))), side="right"))
        times = self.times[first : first + self.count]
        if not len(times):
            times = np.array([end])
        gaps = np.diff(times, prepend=t)
        if not _is_even(gaps) and _is_even(gaps[1:]):  # after an event, or after a first sample later than the start
            times, gaps = times[:1], gaps[:1]
        elif not _is_even(gaps) and _is_even(gaps[:-1]):  # before an end that is no multiple of the interval
            times, gaps = times[:-1], gaps[:-1]
        between = int(np.ceil(gaps.max() / self.longest * (1 - EVEN))) if np.isfinite(self.longest) else 1
        if between > 1:
            before = np.arange(between - 1, -1, -1) / between  # the last of each is the sample itself
            times = (times[:, None] - gaps[:, None] * before).reshape(-1)
        try:
            return self._states(x, times)
        except ConvergenceError:
            if self.count == 1:
                raise
            self.count = max(min(self.count, len(times)) // 2, 1)  # to keep the valid part before the failure
            return self.block(x, attempts, end)

    def to(self, states: Array, times: Array) -> Array:
        return np.vstack([self.reach(x, float(t)) for x, t in zip(states, times, strict=True)])

    def reach(self, x: Array, t: float) -> Array:
        """The state at time t, from the state x."""
        if t <= x[0]:
            return x.copy()
        return np.asarray(self._states(x, np.array([t]))[0])

    def _states(self, x: Array, times: Array) -> Array:
        """One call of the solver; then the states on the joints, with everything a run carries along."""
        eqs, count = self.eqs, len(times)
        part = {name: x[a:b] for name, (a, b) in self.where.items()}
        t0, end = float(x[0]), float(times[-1])
        integrate = self._integrator(times, t0)
        y = np.concatenate((part["q"], part["v"], part["z"], part["work"]))
        data = np.concatenate((self.p, self.constants, [t0, end - t0], part["lam"]))
        start = (
            {}
            if self.method.solver == "cvodes"
            else {"z0": np.concatenate((part["a"], MULTIPLIER_SCALE * part["lam"]))}
        )
        try:
            with raise_signals():
                y = np.asarray(integrate(x0=y, p=data, **start)["xf"]).T
        except RuntimeError as error:
            raise ConvergenceError(
                "no-convergence",
                f"SUNDIALS ({self.method.solver}) gave up between t = {t0:.6g} and {end:.6g} s: {_reason(str(error))}",
                Advice("Try a shorter run, a looser tolerance, or {}.", Argument("method", Call("da.Rosenbrock"))),
                where={"time": t0},
            ) from None
        nq, nv, nz = eqs.nq, eqs.nv, eqs.nz
        at = times[:, None]
        q, v = self._project.many(y[:, :nq], y[:, nq : nq + nv], self.p, at)
        sound = self._count_sound(part["q"], q, times, t0)
        z, work = y[:, nq + nv : nq + nv + nz], y[:, -1:]
        rows = np.asarray(self._begin.many(at, x[1], q, v, z, work, part["lam"], self.p, self.constants)[0])
        accepted, rejected = self.where["accepted"][0], self.where["rejected"][0]
        steps = int(integrate.stats().get("nsteps", count))
        rows[:, accepted] = x[accepted] + np.ceil(steps * np.arange(1, count + 1) / count)
        rows[:, rejected] = x[rejected]
        return rows[:sound]

    def _count_sound(self, start: Array, q: Array, times: Array, t0: float, open: float = 1e-5) -> int:
        """How many states from the first on have their joints closed, in units of the machine at the start.

        open : of a joint after the projection, in units of the machine (1 m and 1 rad of one of ordinary size): the
        motion has left it.
        """
        eqs = self.eqs
        if not eqs.holonomic_rows:
            return len(times)
        gaps = np.abs(eqs.kernel("position").many(q, self.p, times[:, None])[0]).reshape(len(times), -1)
        shares = gaps / row_units(eqs, start, t0)
        bad = np.flatnonzero(~(shares.max(axis=1) <= open))
        if len(bad) and bad[0] == 0:
            owner = eqs.rows[eqs.holonomic_rows[int(np.argmax(shares[0]))]].owner
            raise ConvergenceError(
                "joint-open",
                f"{owner!r} is open by {gaps[0].max():.1e} m at t = {times[0]:.6g} s. A driver or joint may be beyond "
                f"its reach after t = {t0:.6g} s.",
                Advice("If not, sample more often or use a tighter tolerance."),
                where={"joint": owner, "time": float(times[0])},
                evidence={"gap": float(gaps[0].max())},
            )
        return int(bad[0]) if len(bad) else len(times)

    def _integrator(self, times: Array, t0: float) -> ca.Function:
        """The solver with outputs at these times; kept for further pieces where they are evenly spaced."""
        method, count = self.method, len(times)
        power = 1.0 if method.solver == "cvodes" else 0.5
        if not _is_even(np.diff(times, prepend=t0)):
            return _integrator(self._problem, method, ((times - t0) / (times[-1] - t0)) ** power)

        def make() -> ca.Function:
            return _integrator(self._problem, method, (np.arange(1, count + 1) / count) ** power)

        return self.eqs.cache((*self.key, "even", count), make)


def _is_even(gaps: Array) -> bool:
    return bool(len(gaps)) and bool(np.ptp(gaps) <= EVEN * gaps.max())


def _reason(text: str) -> str:
    lines = [line for line in text.splitlines() if "CV_" in line or "IDA_" in line]
    return (lines[0].strip().rstrip(".") + ".") if lines else "it reported no reason."


def _symbols(eqs: EquationsOfMotion) -> tuple[Any, dict[str, Any]]:
    sizes = {"p": len(eqs.parameters), "c": eqs.nu, "t0": 1, "span": 1, "lam": len(eqs.rows)}
    data = MX.sym("data", sum(sizes.values()))
    parts = ca.vertsplit(data, np.cumsum([0, *sizes.values()]).tolist())
    return data, dict(zip(sizes, parts, strict=True))


def _integrator(
    problem: dict[str, Any],
    method: Sundials,
    grid: Array,
    share: float = 0.02,
    tightest: float = 1e-12,
    shortest: float = 1e-13,
) -> ca.Function:
    # share: of the tolerance for one step: errors of a swinging pendulum add up to a hundred times that.
    # tightest: smallest tolerance for SUNDIALS, unless the user gives a smaller one.
    # shortest: step of CVODES, of a piece.
    local = {name: max(share * x, min(x, tightest)) for name, x in (("reltol", method.rtol), ("abstol", method.atol))}
    options = {**local, "max_num_steps": int(method.max_steps), "show_eval_warnings": False}
    if method.solver == "cvodes":
        options["min_step_size"] = shortest  # else it takes all its steps without moving where the motion ends
    if method.solver == "idas":
        options |= {"suppress_algebraic": True, "calc_ic": False}
    return ca.integrator("sundials", method.solver, problem, 0.0, grid.tolist(), options)


def _cvodes(eqs: EquationsOfMotion, inputs: Inputs) -> dict[str, Any]:
    data, d = _symbols(eqs)
    y, tau = MX.sym("y", eqs.nq + eqs.nv + eqs.nz + 1), MX.sym("tau")
    q, v, z, _ = ca.vertsplit(y, np.cumsum([0, eqs.nq, eqs.nv, eqs.nz, 1]).tolist())
    t = d["t0"] + d["span"] * tau
    F = forward_function(eqs, FEEDBACK)
    qdot, a, zdot, power, _, _ = F(q, v, z, inputs.function(t, d["c"]), d["p"], t, d["lam"])
    return {"x": y, "p": data, "t": tau, "ode": d["span"] * ca.vertcat(qdot, a, zdot, power)}


def _idas(eqs: EquationsOfMotion, inputs: Inputs) -> dict[str, Any]:
    data, d = _symbols(eqs)
    y, tau = MX.sym("y", eqs.nq + eqs.nv + eqs.nz + 1), MX.sym("tau")
    w = MX.sym("w", eqs.nv + len(eqs.rows))
    q, v, z, _ = ca.vertsplit(y, np.cumsum([0, eqs.nq, eqs.nv, eqs.nz, 1]).tolist())
    a, lam = w[: eqs.nv, :], w[eqs.nv :, :] / MULTIPLIER_SCALE
    t = d["t0"] + d["span"] * tau**2
    slopes, rows = eqs.cache("idas functions", lambda: _residuals(eqs))
    at = (q, v, z, inputs.function(t, d["c"]), d["p"], t)
    ode = (2 * d["span"] * tau) * slopes(*at, lam, a)
    return {"x": y, "z": w, "p": data, "t": tau, "ode": ode, "alg": rows(*at, lam, a, d["lam"])}


def _residuals(eqs: EquationsOfMotion, epsilon: float = 1e-9) -> tuple[ca.Function, ca.Function]:
    """(ẏ, algebraic rows) of the index-1 form; redundant rows get ε of their own diagonal.

    epsilon : of the joints' mobility, times the change of λ: keeps redundant rows solvable in IDAS, and changes
    accelerations by less than the tolerance. A second of the Bricard linkage is good to 1e-7 with 1e-11 to 1e-5; with 0
    IDAS gives up.
    """
    s = eqs.symbols()
    F = eqs.functions
    arguments = [s.q, s.v, s.z, s.u, s.p, s.t]
    A, b = F["rows"](*arguments)
    M = F["inertia"](s.q, s.p, s.t)
    N, n = F["kinematics"](s.q, s.p, s.t)
    if len(eqs.rows):
        b = b + stabilisation(eqs, s, FEEDBACK)
    before = SX.sym("before", len(eqs.rows))
    length = ca.densify(ca.sum2(A * A))
    length = ca.if_else(length > 0, length, 1)  # the row of a coordinate that slides: its λ stays as it is, zero
    scale = 1 / ca.sqrt(length + TINY)
    mobility = length / (ca.mmax(M) + TINY)
    dynamics = M @ s.a - F["forces"](*arguments, s.lam) - A.T @ s.lam
    joints = scale * (A @ s.a - b + epsilon * mobility * (s.lam - before))
    slopes = ca.vertcat(N @ s.v + n, s.a, F["internal"](*arguments, s.lam), F["power"](*arguments, s.lam))
    inputs = [*arguments, s.lam, s.a]
    cse = {"cse": eqs.nv < LARGE}
    return (
        ca.Function("slopes", inputs, [ca.densify(slopes)], cse),
        ca.Function("rows", [*inputs, before], [ca.densify(ca.vertcat(dynamics, joints))], cse),
    )
