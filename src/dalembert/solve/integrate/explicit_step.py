"""Explicit Runge-Kutta steps as expressions, each followed by projection onto the joints.

The projection shares the factor of the last stage. Error control is that of the embedded pairs of Hairer, Nørsett and
Wanner 1993, sections II.4 and II.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError
from dalembert.equations import EquationsOfMotion
from dalembert.numerics.runge_kutta import Tableau, combine
from dalembert.solve.constrained.solve import Baumgarte, closing_function
from dalembert.solve.integrate.column import Column, does_work
from dalembert.solve.integrate.inputs import Inputs

MX = ca.MX


@dataclass(frozen=True)
class StepControl:
    """Proportional-integral control of steps (Hairer and Wanner 1996, section IV.2), and the last step of a run."""

    safety: float = 0.8  # of the step that the error estimate allows; usual are 0.8 to 0.9 (Hairer, section II.4)
    proportional: float = 0.7  # exponent of the error, times the order of the method
    integral: float = 0.4  # exponent of the error before
    longest: float = 5.0  # factor of an accepted step to the next (as in DOPRI5 and RODAS)
    shortest: float = 0.3  # likewise: a step that was accepted is nearly short enough
    rejected: float = 0.2  # smallest factor after a rejection
    nothing: float = 1e-10  # added to the error: with order 8 it still lets steps grow by 6, above `longest`
    remembered: float = 1e-4  # smallest error before that counts (as in DOPRI5): an easy step does not shorten the next
    # Order 8: weight of the square of the error estimate of order 3 beside that of order 5 (DOP853; Hairer, II.10), ...
    third: float = 0.01
    overflow: float = 1e100  # ... and estimates that count as infinite, so that no square overflows
    stretch: float = 1e-6  # a step of fixed length that would leave less than this share of itself goes to the end
    sliver: float = 1e-9  # likewise a controlled one, which may not grow past its error


CONTROL = StepControl()


def propose_steps(size: Any, before: Any, h: Any, order: int) -> tuple[Any, Any]:
    """The next step after an accepted one of length h with the error `size` (at most 1), and after a rejected one."""
    c, k = CONTROL, 1 / order
    smooth = c.safety * (size + c.nothing) ** (-c.proportional * k) * before ** (c.integral * k)
    shrink = ca.fmax(c.rejected, c.safety * (size + c.nothing) ** -k)
    return h * ca.fmax(c.shortest, ca.fmin(c.longest, smooth)), h * shrink


def damp_error(fifth: Any, third: Any) -> Any:
    """The error of order 8 from the estimates of order 5 and 3, in units of the tolerance."""
    damped = fifth**2 / ca.sqrt(fifth**2 + CONTROL.third * third**2 + 1e-300)
    return ca.if_else(ca.fmax(fifth, third) <= CONTROL.overflow, damped, np.inf)


FINITE = 1e300  # sum of magnitudes of a step without an infinite or undefined number


class ExplicitStepper:
    """Builds the step of one tableau, with error control or of fixed length.

    stabilise : None projects positions and speeds after every step; else the drift is fed back.
    """

    def __init__(
        self,
        eqs: EquationsOfMotion,
        tableau: Tableau,
        inputs: Inputs,
        events: ca.Function | None = None,
        *,
        controlled: bool = False,
        stabilise: Baumgarte | None = None,
    ) -> None:
        if len(tableau.nodes) < 2 or not tableau.explicit or tableau.nodes[0] != 0 or tableau.nodes[-1] != 1:
            raise DataError(
                "not-supported",
                "a step with projection needs an explicit tableau whose stages begin at the start of the step and end "
                f"at its end, got nodes {tableau.nodes}.",
            )
        self.eqs, self.tableau, self.controlled, self.stabilise = eqs, tableau, controlled, stabilise
        self.column = Column(eqs, inputs, events, stabilise=stabilise)
        self.layout, self.start = self.column.layout, self.column.start

    def close(self, t: object, stage: list[Any], lam: object, base: list[Any], weight: object) -> tuple[Any, ...]:
        """Derivative of the last stage; q, v, z, work of the step, on the joints; v̇, ż, power, λ, change there."""
        u = self.column.inputs_at(t)
        if self.stabilise is None:
            return closing_function(self.eqs)(*stage, lam, *base, weight, u, self.column.p, t)  # type: ignore[no-any-return]
        last = self.column.F(*stage, u, self.column.p, t, lam)
        new = [y + weight * k for y, k in zip(base, last[:4], strict=True)]
        _, a, zdot, power, lam, change = self.column.F(*new[:3], u, self.column.p, t, last[4])
        return (*last[:4], *new, a, zdot, power, lam, change)

    def step(self) -> ca.Function:
        """(column, p, constants, end, numbers) -> the column after one attempt."""
        x = MX.sym("x", self.layout.size)
        after = self.controlled_step(x) if self.controlled else self.fixed_step(x)
        return ca.Function("step", self.column.arguments(x), [after])

    def advance(self, s: dict[str, Any], h: Any) -> tuple[dict[str, Any], list[Any]]:
        """One step of length h: the parts of the new state, and the derivatives at all stages and at its end."""
        t, q, v, z = s["t"], s["q"], s["v"], s["z"]
        nodes, rows, weights = self.tableau.nodes, self.tableau.rows, self.tableau.weights
        N, n = self.eqs.functions["kinematics"](q, self.column.p, t)
        stages: list[Any] = [(N @ v + n, s["a"], s["zdot"], s["power"], s["lam"])]
        for node, row in zip(nodes[1:-1], rows[1:-1], strict=True):
            y = [base + h * combine(row, stages, i) for i, base in enumerate((q, v, z))]
            stages.append(self.column.derivative(t + node * h, y, stages[-1][4]))
        t1 = t + h  # also the time of the last stage
        last = [base + h * combine(rows[-1], stages, i) for i, base in enumerate((q, v, z))]
        base = [y + h * combine(weights[:-1], stages, i) for i, y in enumerate((q, v, z, s["work"]))]
        *rates, q1, v1, z1, work, a, zdot, power, lam, change = self.close(
            t1, last, stages[-1][4], base, h * weights[-1]
        )
        N, n = self.eqs.functions["kinematics"](q1, self.column.p, t1)
        stages += [tuple(rates), (N @ v1 + n, a, zdot, power)]
        new = {"t": t1, "q": q1, "v": v1, "z": z1, "work": work, "a": a, "zdot": zdot, "power": power, "lam": lam}
        new["change"] = ca.fmax(s["change"], change)
        new["events"] = self.column.event_values(t1, q1, v1, z1, a, lam)
        return {**s, **new}, stages

    def fixed_step(self, x: object) -> Any:
        """A step of the length in the state, shortened at the end."""
        s = self.layout.split(x)
        room = ca.fmax(self.column.end - s["t"], 0)
        h = ca.if_else(s["h"] * (1 + CONTROL.stretch) >= room, room, s["h"])  # no sliver before the end
        new, _ = self.advance(s, h)
        return self.layout.join(**{**new, "accepted": s["accepted"] + (h > 0)})

    def controlled_step(self, x: object) -> Any:
        """An attempt with error control: accepted, or kept with a shorter step to try."""
        s = self.layout.split(x)
        room = ca.fmax(self.column.end - s["t"], 0)
        planned = ca.fmin(s["h"], self.column.numbers[2])
        # a step that would leave a sliver before the end is stretched to it
        h = ca.if_else(planned * (1 + CONTROL.sliver) >= room, room, planned)
        new, stages = self.advance(s, h)
        size = self.error(s, new, stages, h)
        good = ca.logic_and(size <= 1, h > 0)
        # proportional-integral control; after a rejection, or where a stage left the domain of a force law, shrink
        grown, shrunk = propose_steps(size, s["size"], h, self.tableau.order)
        grown = ca.fmax(grown, ca.if_else(h < planned, planned, 0))  # a step cut at the end must not shorten the next
        following = ca.if_else(h > 0, ca.if_else(good, grown, shrunk), s["h"])
        taken = {**new, "h": following, "size": ca.fmax(size, CONTROL.remembered), "accepted": s["accepted"] + 1}
        kept = {**s, "h": following, "rejected": s["rejected"] + (h > 0)}
        return ca.if_else(good, self.layout.join(**taken), self.layout.join(**kept))

    def error(self, s: dict[str, Any], new: dict[str, Any], stages: list[Any], h: object) -> Any:
        """Largest local error in units of its tolerance; infinite where a stage left finite numbers.

        The work of the forces without a potential counts with the states, in proportion to the energies: where that
        work changes while the motion does not (a stop whose damper releases before its spring), only this term keeps
        the energy balance. A maximum ignores NaN, a sum does not.
        """
        rtol, atol = self.column.numbers[0], self.column.numbers[1]
        names = ["q", "v", "z"]
        kinetic = MX(0)
        if does_work(self.eqs):
            names.append("work")
            kinetic = 0.5 * ca.dot(
                new["v"], self.eqs.functions["inertia"](new["q"], self.column.p, new["t"]) @ new["v"]
            )
        sizes, total = [], MX(0)
        for row in self.tableau.errors:
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
        if len(sizes) == 2:
            worst = damp_error(*sizes)
        return ca.if_else(total <= FINITE, worst, np.inf)
