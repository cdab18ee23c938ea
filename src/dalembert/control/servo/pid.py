"""Proportional, integral and derivative action on the error of one output, with a filter of the derivative.

continuous    C(s) = k_p + k_i / s + k_d s / (1 + T s)
sampled       I(k+1) = I(k) + k_i dt e(k) ,   d(k) = (T d(k-1) + k_d (e(k) - e(k-1))) / (T + dt) ,   u = k_p e + I + d

The filter is stepped backwards, so that T = 0 is allowed where sampled (Åström 2006). The integral stops while the
command is beyond its limits and the error would bring it further.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.control.plant import replace_fields
from dalembert.control.state_feedback.state_feedback import FADING, apply_limits, intersect_limits, read_limits
from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import Channels
from dalembert.linear import StateSpace
from dalembert.loop.interfaces import Law

FILTER_SHARE = 0.1  # of the derivative time k_d / k_p: the customary filter, gain at high frequencies 11 k_p


@frozen(init=False)
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

    def __init__(
        self, kp: float, ki: float, kd: float, filter: float, dt: float | None, reads: str, driven: str, limits: object
    ) -> None:
        assign(
            self, kp=kp, ki=ki, kd=kd, filter=filter, dt=dt, reads=reads, driven=driven,
            limits=read_limits(limits, (driven,)),
        )  # fmt: skip

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


def pid(
    kp: float,
    ki: float = 0.0,
    kd: float = 0.0,
    *,
    reads: str = "y1",
    drives: str = "u1",
    filter: float | None = None,
    dt: float | None = None,
    limits: object = None,
) -> PID:
    """A PID controller u = k_p e + k_i ∫ e dt + k_d e′ of the error e = reference - output.

    Parameters
    ----------
    kp, ki, kd : gains; a negative sign of all where a larger input lowers the output.
    reads : output (sensor, coordinate or speed) that follows its reference; ``references={reads: ...}`` of
        ``da.simulate`` gives it.
    drives : input that it drives.
    filter : time constant T of the derivative [s]; k_d / (10 k_p) where left out.
    dt : sample time [s]; None acts continuously.
    limits : number or (low, high) of the input; the integral stops there. Limits of ``da.simulate(actuators=)`` add.

    Examples
    --------
    >>> from dalembert.control import margins, tf
    >>> plant = tf([1.0], [1.0, 1.0, 0.0])
    >>> found = margins(pid(1.0, kd=0.5), plant).channels[0]
    >>> round(found.phase, 3)
    1.263
    """
    gains = [real_number(name, value) for name, value in (("kp", kp), ("ki", ki), ("kd", kd))]
    if dt is not None and real_number("dt", dt) <= 0.0:
        raise DataError("not-positive", f"dt is the sample time in seconds, above 0; got {dt:g}.")
    if filter is None:
        if gains[2] and not gains[0]:
            raise DataError(
                "missing-argument",
                "a derivative without a proportional part has no customary filter.",
                Advice("Give its time constant with {}.", Argument("filter")),
            )
        filter = FILTER_SHARE * abs(gains[2] / gains[0]) if gains[2] else 0.0
    filter = real_number("filter", filter)
    if filter < 0.0 or (gains[2] and dt is None and not filter):
        raise DataError("not-positive", f"filter is the time constant of the derivative [s], above 0; got {filter:g}.")
    pair = None if limits is None else {drives: limits}
    return PID(gains[0], gains[1], gains[2], filter, None if dt is None else float(dt), reads, drives, pair)


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


def _law(c: PID) -> Law:
    A, B, C, D, states = _matrices(c)
    y, x, r = ca.MX.sym("reads", 1), ca.MX.sym("state", len(states)), ca.MX.sym("references", 1)
    p, t = ca.MX.sym("p", 0), ca.MX.sym("t")
    error: Any = r - y
    command = ca.DM(C) @ x + ca.DM(D) @ error if states else ca.DM(D) @ error
    held = apply_limits(command, c.drives, c.limits)
    after: Any = ca.DM(A) @ x + ca.DM(B) @ error if states else ca.MX(0, 1)
    if c.limits and c.ki:
        beyond = command - held
        wait: Any = ca.if_else(beyond * c.ki * error > 0, 1.0, 0.0)
        if c.dt is None:  # faded in over a hundredth of the range: no step size can resolve a jump
            low, high = c.limits[c.driven]
            wait *= ca.fmin(ca.fabs(beyond) / (FADING * (high - low if np.isfinite(high - low) else 1.0)), 1.0)
        after[0] -= wait * float(B[0, 0]) * error
    function = ca.Function("pid", [y, x, r, p, t], [ca.densify(held), ca.densify(after)])
    return Law(
        "PID", (c.reads,), c.drives, function, c.dt, state=Channels(states, [""] * len(states)),
        start=(0.0,) * len(states), references=Channels([c.reads], [""]), direct=True,
    )  # fmt: skip
