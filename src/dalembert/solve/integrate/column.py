"""The column of a run: one vector with the state and all other values that pass from one step to the next.

t, h, the next step to try; q, v, z; the work done by all forces without a potential; derivatives at the state (v̇, ż,
power), the multipliers λ; counters; values of the events; states of the method itself. The derivative is part of the
column, so the last stage of a step is the first of the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Expr
from dalembert.solve.constrained.solve import Baumgarte, forward_function
from dalembert.solve.integrate.inputs import Inputs

MX = ca.MX
# The error that stands for the one before the first step, in units of the tolerance: a first step is mostly too short.
FIRST_ERROR = 1e-2


@dataclass(frozen=True)
class Layout:
    """First and last place of every part of the column.

    ne : number of events.  own : number of states that the method itself needs.
    """

    nq: int
    nv: int
    nz: int
    nl: int
    ne: int = 0
    own: int = 0

    @cached_property
    def starts(self) -> dict[str, tuple[int, int]]:
        sizes = {
            "t": 1, "h": 1, "q": self.nq, "v": self.nv, "z": self.nz, "work": 1, "a": self.nv, "zdot": self.nz,
            "power": 1, "lam": self.nl, "size": 1, "accepted": 1, "rejected": 1, "change": 1, "events": self.ne,
            "own": self.own,
        }  # fmt: skip
        result = {}
        first = 0
        for name, size in sizes.items():
            result[name] = (first, first + size)
            first += size
        return result

    @property
    def size(self) -> int:
        return self.starts["own"][1]

    def split(self, x: Any) -> dict[str, Any]:
        return {name: x[first:last] for name, (first, last) in self.starts.items()}

    def join(self, **parts: Any) -> Expr:
        return ca.vertcat(*[parts[name] for name in self.starts])


class Column:
    """Symbols and expressions that the steps of all methods share.

    A step is a function of `arguments(x)`: the column, the parameters, the constants of the inputs, the time where the
    steps end, and four numbers of the method.
    """

    def __init__(
        self,
        eqs: EquationsOfMotion,
        inputs: Inputs,
        events: ca.Function | None = None,
        *,
        stabilise: Baumgarte | None = None,
        own: int = 0,
    ) -> None:
        self.eqs, self.inputs, self.events = eqs, inputs, events
        self.layout = Layout(
            eqs.nq, eqs.nv, eqs.nz, len(eqs.rows), 0 if events is None else events.size1_out(0), own
        )  # fmt: skip
        self.F = forward_function(eqs, stabilise)
        self.p, self.c = MX.sym("p", len(eqs.parameters)), MX.sym("constants", inputs.function.size1_in(1))
        self.end, self.numbers = MX.sym("end"), MX.sym("numbers", 4)

    def arguments(self, x: Expr) -> list[Expr]:
        return [x, self.p, self.c, self.end, self.numbers]

    def inputs_at(self, t: Expr) -> Expr:
        return self.inputs.function(t, self.c)

    def derivative(self, t: Expr, y: list[Expr], lam: Expr) -> Any:
        """q̇, v̇, ż, power, λ and the last change of λ at y = [q, v, z]; iterations for λ start from `lam`."""
        return self.F(*y, self.inputs_at(t), self.p, t, lam)

    def event_values(self, t: Expr, q: Expr, v: Expr, z: Expr, a: Expr, lam: Expr) -> Expr:
        if self.events is None:
            return MX(0, 1)
        return self.events(q, v, a, lam, z, self.inputs_at(t), self.p, t)

    def start(self, own: Callable[[Expr, Expr], Expr] = lambda a, zdot: MX(0, 1)) -> ca.Function:
        """(t, h, q, v, z, work, λ, p, constants) -> x, with the derivative at the state.

        own : the method's own states from v̇ and ż.
        """
        eqs = self.eqs
        s = {n: MX.sym(n, k) for n, k in (("t", 1), ("h", 1), ("q", eqs.nq), ("v", eqs.nv), ("z", eqs.nz))}
        work, lam = MX.sym("work"), MX.sym("lam", len(eqs.rows))
        _, a, zdot, power, lam1, change = self.derivative(s["t"], [s["q"], s["v"], s["z"]], lam)
        x = self.layout.join(
            **s, work=work, a=a, zdot=zdot, power=power, lam=lam1, size=MX(FIRST_ERROR), accepted=MX(0), rejected=MX(0),
            change=change, events=self.event_values(s["t"], s["q"], s["v"], s["z"], a, lam1), own=own(a, zdot),
        )  # fmt: skip
        return ca.Function("start", [*s.values(), work, lam, self.p, self.c], [x])


def does_work(eqs: EquationsOfMotion) -> bool:
    """Whether any force has no potential."""
    return bool(eqs.functions["power"].jac_sparsity(0, 1).nnz() > 0)
