"""Explicit steps as expressions: Runge-Kutta 4 and Dormand-Prince 5(4), each followed by projection.

State of a run, one column: t, h, the next step to try; q, v, z; the work done by everything without a potential;
derivatives at the state (v̇, ż, power), the multipliers λ; counters. The derivative is carried along, so the last
stage of a step is the first of the next. The pairs of orders 5(4) and 8: Hairer, Nørsett and Wanner 1993.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.solve.constrained.solve import closing_function, forward_function
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.methods import RK4, DormandPrince

MX = ca.MX
SAFETY = 0.8
FINITE = 1e300
INLINE_LIMIT = 25_000  # instructions of a step


@lru_cache(maxsize=3)
def tableau(order: int) -> tuple[list[float], list[list[float]], list[float], list[list[float]]]:
    """Nodes, stages, weights and weights of the error: classic order 4, Dormand-Prince 5 and 8 as SciPy keeps them."""
    if order == 4:
        return [0, 0.5, 0.5, 1], [[], [0.5], [0, 0.5], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], []
    from scipy.integrate import DOP853, RK45

    pair: Any = DOP853 if order == 8 else RK45
    errors = [pair.E5, pair.E3] if order == 8 else [pair.E]
    count = len(pair.B)
    stages = [[float(w) for w in pair.A[k][:k]] for k in range(count)]
    return (
        [float(c) for c in pair.C[:count]],
        stages,
        [float(w) for w in pair.B],
        [[float(w) for w in e] for e in errors],
    )


def combine(weights: list[float], stages: list[Any], index: int) -> Any:
    """Σ wᵢ kᵢ over the stages with a weight."""
    return sum(w * k[index] for w, k in zip(weights, stages, strict=True) if w)


@dataclass(frozen=True)
class Layout:
    """Where everything stands in the column of a run."""

    nq: int
    nv: int
    nz: int
    nl: int
    ne: int = 0

    @cached_property
    def starts(self) -> dict[str, tuple[int, int]]:
        sizes = {
            "t": 1,
            "h": 1,
            "q": self.nq,
            "v": self.nv,
            "z": self.nz,
            "work": 1,
            "a": self.nv,
            "zdot": self.nz,
            "power": 1,
            "lam": self.nl,
            "size": 1,
            "accepted": 1,
            "rejected": 1,
            "change": 1,
            "events": self.ne,
        }
        result = {}
        first = 0
        for name, size in sizes.items():
            result[name] = (first, first + size)
            first += size
        return result

    @property
    def size(self) -> int:
        return self.starts["events"][1]

    def split(self, x: Any) -> dict[str, Any]:
        return {name: x[first:last] for name, (first, last) in self.starts.items()}

    def join(self, **parts: Any) -> Any:
        return ca.vertcat(*[parts[name] for name in self.starts])


def layout_of(eqs: EquationsOfMotion, events: int = 0) -> Layout:
    return Layout(eqs.nq, eqs.nv, eqs.nz, len(eqs.rows), events)


class Stepper:
    """Builds the step of one method for one set of inputs."""

    def __init__(
        self, eqs: EquationsOfMotion, method: RK4 | DormandPrince, inputs: Inputs, events: ca.Function | None
    ) -> None:
        self.eqs = eqs
        self.method = method
        self.inputs = inputs
        self.events = events
        self.layout = layout_of(eqs, 0 if events is None else events.size1_out(0))
        self.F = forward_function(eqs, method.stabilise)
        self.order = 4 if isinstance(method, RK4) else method.order
        self.tableau = tableau(self.order)
        self.p, self.c = MX.sym("p", len(eqs.parameters)), MX.sym("constants", inputs.function.size1_in(1))
        self.end = MX.sym("end")
        self.numbers = MX.sym("numbers", 4)  # of the method: rtol, atol, max step

    def derivative(self, t: Any, y: list[Any], lam: Any) -> Any:
        return self.F(*y, self.inputs.function(t, self.c), self.p, t, lam)

    def event_values(self, t: Any, q: Any, v: Any, z: Any, a: Any, lam: Any) -> Any:
        if self.events is None:
            return MX(0, 1)
        return self.events(q, v, a, lam, z, self.inputs.function(t, self.c), self.p, t)

    def close(self, t: Any, stage: list[Any], lam: Any, base: list[Any], weight: Any) -> tuple[Any, ...]:
        """Derivative of the last stage; q, v, z, work of the step, on the joints; v̇, ż, power, λ, change there."""
        u = self.inputs.function(t, self.c)
        if self.method.stabilise is None:
            return closing_function(self.eqs)(*stage, lam, *base, weight, u, self.p, t)  # type: ignore[no-any-return]
        last = self.F(*stage, u, self.p, t, lam)
        new = [y + weight * k for y, k in zip(base, last[:4], strict=True)]
        _, a, zdot, power, lam, change = self.F(*new[:3], u, self.p, t, last[4])
        return (*last[:4], *new, a, zdot, power, lam, change)

    def step(self) -> ca.Function:
        """(x, p, constants, end, numbers) -> x after one attempt."""
        x = MX.sym("x", self.layout.size)
        after = self.controlled(x) if self.method.step is None else self.fixed(x)
        step = ca.Function("step", [x, self.p, self.c, self.end, self.numbers], [after])
        return inlined(step, len(self.tableau[0]) + 2, self.F)

    def start(self) -> ca.Function:
        """(t, h, q, v, z, work, λ, p, constants) -> x, with the derivative at the state."""
        s = {
            n: MX.sym(n, k) for n, k in (("t", 1), ("h", 1), ("q", self.eqs.nq), ("v", self.eqs.nv), ("z", self.eqs.nz))
        }
        work, lam = MX.sym("work"), MX.sym("lam", len(self.eqs.rows))
        _, a, zdot, power, lam1, change = self.derivative(s["t"], [s["q"], s["v"], s["z"]], lam)
        values = self.event_values(s["t"], s["q"], s["v"], s["z"], a, lam1)
        x = self.layout.join(
            **s,
            work=work,
            a=a,
            zdot=zdot,
            power=power,
            lam=lam1,
            size=MX(1e-2),
            accepted=MX(0),
            rejected=MX(0),
            change=change,
            events=values,
        )
        return ca.Function("start", [s["t"], s["h"], s["q"], s["v"], s["z"], work, lam, self.p, self.c], [x])

    def advance(self, s: dict[str, Any], h: Any) -> tuple[dict[str, Any], list[Any]]:
        """One step of length h: the parts of the new state, and the derivatives at all stages and at its end."""
        t, q, v, z = s["t"], s["q"], s["v"], s["z"]
        nodes, rows, weights, _ = self.tableau
        N, n = self.eqs.functions["kinematics"](q, self.p, t)
        stages: list[Any] = [(N @ v + n, s["a"], s["zdot"], s["power"], s["lam"])]
        for node, row in zip(nodes[1:-1], rows[1:-1], strict=True):
            y = [base + h * combine(row, stages, i) for i, base in enumerate((q, v, z))]
            stages.append(self.derivative(t + node * h, y, stages[-1][4]))
        t1 = t + h  # also the time of the last stage
        last = [base + h * combine(rows[-1], stages, i) for i, base in enumerate((q, v, z))]
        base = [y + h * combine(weights[:-1], stages, i) for i, y in enumerate((q, v, z, s["work"]))]
        *rates, q1, v1, z1, work, a, zdot, power, lam, change = self.close(
            t1, last, stages[-1][4], base, h * weights[-1]
        )
        N, n = self.eqs.functions["kinematics"](q1, self.p, t1)
        stages += [tuple(rates), (N @ v1 + n, a, zdot, power)]
        new = {"t": t1, "q": q1, "v": v1, "z": z1, "work": work, "a": a, "zdot": zdot, "power": power, "lam": lam}
        new["change"] = ca.fmax(s["change"], change)
        new["events"] = self.event_values(t1, q1, v1, z1, a, lam)
        return {**s, **new}, stages

    def fixed(self, x: Any) -> Any:
        """A step of the length in the state, shortened at the end."""
        s = self.layout.split(x)
        room = ca.fmax(self.end - s["t"], 0)
        h = ca.if_else(s["h"] * (1 + 1e-6) >= room, room, s["h"])  # no sliver before the end
        new, _ = self.advance(s, h)
        return self.layout.join(**{**new, "accepted": s["accepted"] + (h > 0)})

    def controlled(self, x: Any) -> Any:
        """An attempt with error control: accepted, or kept with a shorter step to try."""
        s = self.layout.split(x)
        room = ca.fmax(self.end - s["t"], 0)
        planned = ca.fmin(s["h"], self.numbers[2])
        # a step that would leave a sliver before the end is stretched to it
        h = ca.if_else(planned * (1 + 1e-9) >= room, room, planned)
        new, stages = self.advance(s, h)
        size = self.error(s, new, stages, h)
        good = ca.logic_and(size <= 1, h > 0)
        # proportional-integral control; after a rejection, or where a stage left the domain of a force law, shrink
        k = 1 / self.order
        smooth = SAFETY * (size + 1e-10) ** (-0.7 * k) * s["size"] ** (0.4 * k)
        shrink = ca.if_else(size <= 1e10, ca.fmax(0.2, SAFETY * (size + 1e-10) ** -k), 0.2)
        grown = h * ca.fmax(0.3, ca.fmin(5.0, smooth))
        grown = ca.fmax(grown, ca.if_else(h < planned, planned, 0))  # a step cut short says nothing of the next
        following = ca.if_else(h > 0, ca.if_else(good, grown, h * shrink), s["h"])
        taken = {**new, "h": following, "size": ca.fmax(size, 1e-4), "accepted": s["accepted"] + 1}
        kept = {**s, "h": following, "rejected": s["rejected"] + (h > 0)}
        return ca.if_else(good, self.layout.join(**taken), self.layout.join(**kept))

    def error(self, s: dict[str, Any], new: dict[str, Any], stages: list[Any], h: Any) -> Any:
        """Largest local error in units of its tolerance; infinite where a stage left finite numbers.

        The work of the forces without a potential counts with the states, in proportion to the energies: where it
        changes form while the motion does not feel it (a stop that lets go before its spring is slack), only this
        keeps the energy balance. A maximum overlooks what is not a number, a sum does not.
        """
        rtol, atol = self.numbers[0], self.numbers[1]
        names = ["q", "v", "z"]
        kinetic = MX(0)
        if does_work(self.eqs):
            names.append("work")
            kinetic = 0.5 * ca.dot(new["v"], self.eqs.functions["inertia"](new["q"], self.p, new["t"]) @ new["v"])
        sizes, total = [], MX(0)
        for row in self.tableau[3]:
            size = MX(0)
            for i, name in enumerate(names):
                if s[name].shape[0]:
                    largest = ca.fmax(ca.fabs(s[name]), ca.fabs(new[name]))
                    weight = atol + rtol * (largest + kinetic if name == "work" else largest)
                    local = ca.fabs(h * combine(row, stages, i) / weight)
                    size = ca.fmax(size, ca.norm_inf(local))
                    total += ca.sum1(local) + ca.sum1(ca.fabs(new[name]))
            sizes.append(size)
        worst = sizes[0]
        if len(sizes) == 2:  # order 8: the estimate of order 5, damped by that of order 3; no square may overflow
            damped = worst**2 / ca.sqrt(worst**2 + 0.01 * sizes[1] ** 2 + 1e-300)
            worst = ca.if_else(ca.fmax(worst, sizes[1]) <= 1e100, damped, np.inf)
        return ca.if_else(total <= FINITE, worst, np.inf)


def does_work(eqs: EquationsOfMotion) -> bool:
    """Whether any force has no potential."""
    return bool(eqs.functions["power"].jac_sparsity(0, 1).nnz() > 0)


def inlined(step: ca.Function, calls: int, kernel: ca.Function) -> ca.Function:
    """The step as one flat expression where that is small enough: the virtual machine runs it twice as fast."""
    if calls * kernel.n_instructions() > INLINE_LIMIT:
        return step
    try:
        flat = step.expand()
    except RuntimeError:  # a table of a record does not expand
        return step
    symbols = flat.sx_in()
    return ca.Function("step", symbols, [ca.densify(flat(*symbols))], {"cse": True})


def chunk_function(step: ca.Function, count: int) -> ca.Function:
    """`count` attempts in one call, by sixteens; all states after each attempt, one per column."""
    if count == 1:
        return step
    inner = chunk_function(step, count // 16)
    x = MX.sym("x", step.size1_in(0))
    rest = [MX.sym(step.name_in(i), step.size1_in(i)) for i in range(1, step.n_in())]
    columns = []
    last = x
    for _ in range(16):
        block = inner(last, *rest)
        columns.append(block)
        last = block[:, -1]
    return ca.Function(f"chunk{count}", [x, *rest], [ca.horzcat(*columns)])
