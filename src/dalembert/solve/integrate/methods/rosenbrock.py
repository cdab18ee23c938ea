"""A linearly implicit step for stiff machines: Rodas5P (Steinebach 2023), order 5.

The equations in index-1 form, with the accelerations a and the multipliers as unknowns of their own:

    q̇ = N v + n ,   ż = g ,   v̇ = a ,   0 = r = f + Aᵀλ - M a ,   0 = s = b - A a

Every stage solves the same linear system with the exact Jacobian at the start of the step (c = 1/(hγ), a eliminated):

    | c - N'v       -N                  | | U_q |   | q̇ᵢ + ...                    |
    |      c - g_z  -g_v      -g_λ      | | U_z | = | żᵢ + ...                    |
    | -r_q  -r_z    c M - r_v  -r_λ     | | U_v |   | rᵢ + M Rᵢ + h dᵢ ∂r/∂t      |
    | -s_q  -s_z    c A - s_v           | | U_λ |   | sᵢ + A Rᵢ + h dᵢ ∂s/∂t      |     Rᵢ = aᵢ + Σ Cᵢⱼ U_v,ⱼ / h

so there is no iteration, and friction that depends on λ is part of the system. Stiffly accurate and L-stable: forces
much faster than the step die out. Joints are closed by the projection after each step; the last stage is the error.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.solve.constrained.elimination import Elimination, joint_row_weight
from dalembert.solve.constrained.solve import LARGE, projection_function
from dalembert.solve.integrate.column import Column, does_work
from dalembert.solve.integrate.explicit_step import CONTROL, propose_steps
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.method import MAX_STEPS, ErrorControlled, integrator, option

MX = ca.MX
SX = ca.SX
ORDER = 5
REFINEMENTS = 1
GAMMA = 0.21193756319429014
NODES = (0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0)
SLOPES = (0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069)
STAGES: tuple[tuple[float, ...], ...] = (
    (),
    (3.0,),
    (2.849394379747939, 0.45842242204463923),
    (-6.954028509809101, 2.489845061869568, -10.358996098473584),
    (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
    (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946),
)
COUPLINGS: tuple[tuple[float, ...], ...] = (
    (),
    (-14.155112264123755,),
    (-17.97296035885952, -2.859693295451294),
    (147.12150275711716, -1.41221402718213, 71.68940251302358),
    (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
    (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
    (
        30.91273214028599,
        -3.1208243349937974,
        77.79954646070892,
        34.28646028294783,
        -19.097331116725623,
        -28.087943162872662,
    ),
    (
        37.80277123390563,
        -3.2571969029072276,
        112.26918849496327,
        66.9347231244047,
        -40.06618937091002,
        -54.66780262877968,
        -9.48861652309627,
    ),
)


@integrator
@dataclass(frozen=True)
class Rosenbrock(ErrorControlled):
    """Linearly implicit method of order 5 for stiff machines (Rodas5P), then projection onto the joints.

    It needs no iteration: every step solves linear systems with the exact Jacobian. It is L-stable: springs and dampers
    much faster than the step do not shorten it.

    step : fixed step [s]; None chooses steps by `rtol` and `atol`, as `DormandPrince` does.
    max_steps : attempts for a thousandth of the run, after which it ends with a `ConvergenceError`.
    """

    step: float | None = field(default=None, metadata=option("fixed step", "s"))
    rtol: float = field(default=1e-8, metadata=option("relative tolerance"))
    atol: float = field(default=1e-8, metadata=option("absolute tolerance"))
    first_step: float = field(default=1e-5, metadata=option("first guess of the step", "s"))
    max_step: float = field(default=float("inf"), metadata=option("longest step", "s"))
    max_steps: int = field(default=MAX_STEPS, metadata=option("most steps for a thousandth of the run"))

    def structure(self) -> Hashable:
        return None

    def stepper(self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None = None) -> RosenbrockStepper:
        return RosenbrockStepper(eqs, inputs, events)


class RosenbrockStepper:
    """Builds the step."""

    def __init__(self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None) -> None:
        self.eqs = eqs
        self.column = Column(eqs, inputs, events)
        self.layout, self.start = self.column.layout, self.column.start
        self.slopes, self.factor, self.solve, self.drift = eqs.cache("rosenbrock functions", self._functions)

    def _functions(self) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
        """Slopes, factors of the stage matrix, solution with them, and partial derivatives by time."""
        eqs = self.eqs
        s = eqs.symbols()
        F = eqs.functions
        arguments = [s.q, s.v, s.z, s.u, s.p, s.t]
        A, b = F["rows"](*arguments)
        M = F["inertia"](s.q, s.p, s.t)
        N, n = F["kinematics"](s.q, s.p, s.t)
        r = F["forces"](*arguments, s.lam) + A.T @ s.lam - M @ s.a
        g = F["internal"](*arguments, s.lam)
        right = b - A @ s.a
        weight = joint_row_weight(eqs, M, A)
        r, M = r + weight @ right, M + weight @ A
        everything = [*arguments, s.a, s.lam]
        power = F["power"](*arguments, s.lam)  # its integral, the work, is one more internal state
        slopes = ca.vertcat(N @ s.v + n, g, power, r, right)
        c, rate = SX.sym("c"), SX.sym("rate", eqs.nu)
        unknown = ca.vertcat(s.q, s.z, SX.sym("work"), s.v, s.lam)
        leading = eqs.nq + eqs.nz + 1
        heads = SX.zeros(leading, eqs.nv)
        to_a = ca.sparsify(ca.vertcat(heads, M, A))  # minus the derivative of the slopes by a
        K = -ca.jacobian(slopes, unknown)
        K = K + ca.diagcat(c * SX.eye(leading), SX(eqs.nv + len(eqs.rows), eqs.nv + len(eqs.rows)))
        speeds = ca.horzcat(SX(K.shape[0], leading), c * to_a, SX(K.shape[0], len(eqs.rows)))
        elimination = Elimination(K + speeds, leading + eqs.nv, REFINEMENTS)
        by_time = ca.jacobian(slopes, s.t) + ca.jtimes(slopes, s.u, rate)
        cse = {"cse": eqs.nv < LARGE}
        return (
            ca.Function("slopes", everything, [ca.densify(slopes)], cse),
            ca.Function("factor", [*everything, c], [elimination.values(), to_a], cse),
            elimination.solver(),
            ca.Function("drift", [*everything, rate], [ca.densify(by_time)], cse),
        )

    def step(self) -> ca.Function:
        x = MX.sym("x", self.layout.size)
        return ca.Function("step", self.column.arguments(x), [self._attempt(x)])

    def _stages(self, x: dict[str, Any], h: Any) -> tuple[dict[str, Any], Any]:
        """State after the stages, and the last stage."""
        eqs, column = self.eqs, self.column
        t = x["t"]
        u, rate = self._input(t)
        base = (x["q"], x["v"], x["z"], u, column.p, t, x["a"], x["lam"])
        c = 1 / (h * GAMMA)
        factors, to_a = self.factor(*base, c)
        drift = self.drift(*base, rate)
        names = ("q", "z", "work", "v", "lam")
        starts = np.cumsum([0, *(x[name].shape[0] for name in names)]).tolist()
        where = dict(zip(names, pairwise(starts), strict=True))
        first, last = where["v"]
        y = ca.vertcat(*[x[name] for name in names])
        a = x["a"]
        stages: list[Any] = []
        stages_a: list[Any] = []
        now, now_a = y, a
        for k, node in enumerate(NODES):
            if k < len(STAGES):
                now, now_a = y, a
                for weight, stage, stage_a in zip(STAGES[k], stages, stages_a, strict=True):
                    now, now_a = now + weight * stage, now_a + weight * stage_a
            else:
                now, now_a = now + stages[-1], now_a + stages_a[-1]
            before = MX.zeros(y.shape[0])
            for weight, stage in zip(COUPLINGS[k], stages, strict=True):
                before = before + (weight / h) * stage
            q, z, _, v, lam = (now[i:j] for i, j in where.values())
            ti = t + node * h
            ui = u if k == 0 else column.inputs_at(ti)
            R = now_a + before[first:last]
            right = self.slopes(q, v, z, ui, column.p, ti, now_a, lam) + to_a @ R
            right = right + ca.vertcat(before[:first], MX.zeros(eqs.nv + len(eqs.rows)))
            if k < len(SLOPES):
                right = right + (h * SLOPES[k]) * drift
            stage = self.solve(factors, right)
            stages.append(stage)
            stages_a.append(c * stage[first:last] - R)
        now = now + stages[-1]
        return {name: now[i:j] for name, (i, j) in where.items()}, ca.vertsplit(stages[-1], starts)

    def _input(self, t: object) -> tuple[Any, Any]:
        """u and its time derivative."""
        function = self.column.inputs.function
        time = MX.sym("time")
        constants = MX.sym("constants", function.size1_in(1))
        value = function(time, constants)
        both = ca.Function("both", [time, constants], [value, ca.densify(ca.jacobian(value, time))])
        u, rate = both(t, self.column.c)
        return u, rate

    def _attempt(self, x0: object) -> Any:
        column = self.column
        x = self.layout.split(x0)
        t = x["t"]
        rtol, atol, largest, fixed = ca.vertsplit(column.numbers)
        room = ca.fmax(column.end - t, 0)
        planned = ca.fmin(x["h"], largest)
        h = ca.if_else(planned * (1 + CONTROL.stretch) >= room, room, planned)
        moving = h > 0
        h = ca.if_else(moving, h, 1.0)  # a finite number where nothing moves any more
        new, last = self._stages(x, h)
        t1 = t + h
        q1, v1 = projection_function(self.eqs)(new["q"], new["v"], column.p, t1)
        _, a, zdot, power, lam, change = column.derivative(t1, [q1, v1, new["z"]], new["lam"])
        size = MX(0)
        for i, before, after in ((0, x["q"], q1), (1, x["z"], new["z"]), (3, x["v"], v1)):
            if before.shape[0]:
                weight = atol + rtol * ca.fmax(ca.fabs(before), ca.fabs(after))
                size = ca.fmax(size, ca.norm_inf(last[i] / weight))
        if does_work(self.eqs):  # see the explicit methods
            kinetic = 0.5 * ca.dot(v1, self.eqs.functions["inertia"](q1, column.p, t1) @ v1)
            energy = ca.fmax(ca.fabs(x["work"]), ca.fabs(new["work"])) + kinetic
            size = ca.fmax(size, ca.norm_inf(last[2] / (atol + rtol * energy)))
        size = ca.if_else(fixed, 0, size)
        good = ca.logic_and(moving, size <= 1)
        longer, shrunk = propose_steps(size, x["size"], h, ORDER)
        longer = ca.fmax(longer, ca.if_else(h < planned, planned, 0))
        controlled = ca.if_else(moving, ca.if_else(good, longer, shrunk), x["h"])
        grown = ca.if_else(fixed, x["h"], controlled)
        changed = self.layout.join(
            t=t1,
            h=grown,
            q=q1,
            v=v1,
            z=new["z"],
            work=new["work"],
            a=a,
            zdot=zdot,
            power=power,
            lam=lam,
            size=ca.fmax(size, CONTROL.remembered),
            accepted=x["accepted"] + 1,
            rejected=x["rejected"],
            change=ca.fmax(x["change"], change),
            events=column.event_values(t1, q1, v1, new["z"], a, lam),
            own=x["own"],
        )
        kept = dict(x)
        kept["h"] = grown
        kept["rejected"] = x["rejected"] + moving
        return ca.if_else(good, changed, self.layout.join(**kept))
