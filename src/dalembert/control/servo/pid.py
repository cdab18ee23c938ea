"""Proportional, integral and derivative action on the error of one output, with a filter of the derivative.

continuous    C(s) = k_p + k_i / s + k_d s / (1 + T s)
sampled       I(k+1) = I(k) + k_i dt e(k) ,   d(k) = (T d(k-1) + k_d (e(k) - e(k-1))) / (T + dt) ,   u = k_p e + I + d

The filter is stepped backwards, so that T = 0 is allowed where sampled (Åström 2006). The integral stops while the
command is beyond its limits and the error would bring it further.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import casadi as ca
import numpy as np

from dalembert.control.plant import replace_fields
from dalembert.control.state_feedback.state_feedback import RANGE, apply_limits, fade_in, intersect_limits
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, not_negative, number, positive, text
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.results import result
from dalembert.equations import Channels
from dalembert.linear import StateSpace
from dalembert.loop.interfaces import Law

Gain = Annotated[float, number, "gain; all negative where a larger input lowers the output"]
Filter = Annotated[float, not_negative, "time constant T of the derivative [s]; k_d / (10 k_p) where left out"]
InputRange = Annotated[Any, RANGE, "limits of the input; the integral stops there, and at those of its actuator"]


@result
class PID:
    """A PID controller; fits ``da.simulate(..., controller=...)``, ``da.control.margins(pid, plant)`` and ``bode``.

    Attributes
    ----------
    kp, ki, kd : gains.  filter : time constant T of the derivative [s].  dt : sample time [s] or None.
    reads : output that follows the reference of the same name.  drives : input.
    limits : {input: (low, high)}.
    """

    kp: float
    ki: float
    kd: float
    filter: float
    dt: float | None
    reads: str
    driven: str
    limits: Mapping[str, tuple[float, float]]

    @property
    def drives(self) -> tuple[str, ...]:
        """The input it drives."""
        return (self.driven,)

    def controller(self) -> StateSpace:
        """From the error (reference less output) to the input; ``plant.series(pid.controller())`` is the loop."""
        A, B, C, D, states = _matrices(self)
        return StateSpace(A, B, C, D, self.dt, states=states, inputs=f"{self.reads} error", outputs=self.driven)

    def law(self) -> Law:
        """The law as ``da.simulate`` takes it; its reference has the name of the output."""
        return _law(self)

    def within(self, limits: Mapping[str, tuple[float, float]]) -> PID:
        """The same law within these limits of its input as well: its integral stops there."""
        return replace_fields(self, limits=intersect_limits(self.limits, limits))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        time = "continuous" if self.dt is None else f"every {self.dt:g} s"
        terms = [f"{self.kp:g}", *[f"{self.ki:g}/s"] * bool(self.ki)]
        terms += [f"{self.kd:g} s/(1 + {self.filter:g} s)"] * bool(self.kd)
        limits = "".join(f"; within {low:g} to {high:g}" for low, high in self.limits.values())
        return f"PID: {self.driven} = ({' + '.join(terms)}) error of {self.reads}; {time}{limits}"


@checked
def pid(
    kp: Gain,
    ki: Gain = 0.0,
    kd: Gain = 0.0,
    *,
    reads: Annotated[str, text] = "y1",
    drives: Annotated[str, text] = "u1",
    filter: Annotated[float, not_negative, "time constant T of the derivative [s]; k_d / (10 k_p) customarily"]
    | None = None,
    dt: Annotated[float, positive, "sample time [s]; None acts continuously"] | None = None,
    limits: Annotated[Any, RANGE, "of the input; the integral stops there, and at limits of its actuator"]
    | None = None,
) -> PID:
    """A PID controller u = k_p e + k_i ∫ e dt + k_d e′ of the error e = reference - output.

    Parameters
    ----------
    reads : output (sensor, coordinate or speed) that follows its reference; ``references={reads: ...}`` of
        ``da.simulate`` gives it.
    drives : input that it drives.

    Examples
    --------
    >>> from dalembert.control import margins, tf
    >>> plant = tf([1.0], [1.0, 1.0, 0.0])
    >>> found = margins(pid(1.0, kd=0.5), plant).channels[0]
    >>> round(found.phase, 3)
    1.263
    """
    if filter is None:
        if kd and not kp:
            raise DataError(
                "missing-argument",
                "a derivative without a proportional part has no customary filter.",
                Advice("Give its time constant with {}.", Argument("filter")),
            )
        filter = 0.1 * abs(kd / kp) if kd else 0.0  # the customary one: gain at high frequencies 11 k_p
    if kd and dt is None and not filter:
        raise DataError("not-positive", "the filter of a continuous derivative must have a time constant above zero.")
    return PID(kp, ki, kd, filter, dt, reads, drives, {} if limits is None else {drives: limits})


def _matrices(c: PID) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, list[str]]:
    """A, B, C, D of the controller and its states: the integral, and the filter of the derivative."""
    T, h = c.filter, c.dt
    rows: list[tuple[float, float, float]] = []  # of each state: a, b, c; states do not act on each other
    states = []
    D = c.kp
    if c.ki:
        rows.append((0.0, c.ki, 1.0) if h is None else (1.0, c.ki * h, 1.0))
        states.append("integral")
    if c.kd and h is None:
        rows.append((-1.0 / T, 1.0 / T, -c.kd / T))
        D += c.kd / T
        states.append("derivative")
    elif c.kd and h is not None:
        # the state is T d - k_d e of the sample before
        rows.append((T / (T + h), T * c.kd / (T + h) - c.kd, 1.0 / (T + h)))
        D += c.kd / (T + h)
        states.append("derivative")
    a, b, out = (np.array([row[k] for row in rows]) for k in range(3))
    return np.diag(a), b[:, None], out[None, :], np.array([[D]]), states


def act(c: PID, error: Any, x: Any, feed_forward: Any = 0.0) -> tuple[Any, Any]:
    """The input within its limits, and the next state (continuous: its rate), as expressions."""
    A, B, C, D, states = _matrices(c)
    command = (ca.DM(C) @ x if states else 0.0) + ca.DM(D) @ error + feed_forward
    held = apply_limits(command, c.drives, c.limits)
    after: Any = ca.DM(A) @ x + ca.DM(B) @ error if states else ca.MX(0, 1)
    if c.limits and c.ki:
        beyond = command - held
        wait: Any = ca.if_else(beyond * c.ki * error > 0, 1.0, 0.0)
        if c.dt is None:
            low, high = c.limits[c.driven]
            wait *= fade_in(beyond, np.array([high - low if np.isfinite(high - low) else 1.0]))
        after[0] -= wait * float(B[0, 0]) * error
    return held, after


def state_names(c: PID) -> list[str]:
    """The states of a controller: of the integral and of the filter, where it has them."""
    return _matrices(c)[-1]


def _law(c: PID) -> Law:
    states = state_names(c)
    y, x, r = ca.MX.sym("reads", 1), ca.MX.sym("state", len(states)), ca.MX.sym("references", 1)
    p, t = ca.MX.sym("p", 0), ca.MX.sym("t")
    held, after = act(c, r - y, x)
    function = ca.Function("pid", [y, x, r, p, t], [ca.densify(held), ca.densify(after)])
    return Law(
        "PID", (c.reads,), c.drives, function, c.dt, state=Channels(states, [""] * len(states)),
        start=(0.0,) * len(states), references=Channels([c.reads], [""]), direct=True,
    )  # fmt: skip
