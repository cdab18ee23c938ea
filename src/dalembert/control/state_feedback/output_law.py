"""Output feedback as the law that ``da.simulate`` takes.

The law reads its own inputs as they act, not its commands: its observer then accounts for limits, delays and steps of
an actuator, and for the time before the law is switched on. Integrals stop while an input is at its limit
(`state_feedback.prevent_windup`); in ``da.simulate`` the law also observes the limits of the actuators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.control.plant import reference_values
from dalembert.control.state_feedback.observer import first_estimate
from dalembert.control.state_feedback.state_feedback import apply_limits, prevent_windup, reference_names, units_of
from dalembert.core.arrays import FloatArray
from dalembert.equations import Channels
from dalembert.estimate.models.process import machine_names
from dalembert.loop.interfaces import Law

if TYPE_CHECKING:
    from dalembert.control.state_feedback.output_feedback import OutputFeedback


def split_inputs(
    design: OutputFeedback,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """A, B, B_e, C, D, D_e: driven inputs separated from known ones."""
    A, B, C, D = design.observer.matrices
    driven = [design.observer.inputs.index(name) for name in design.drives]
    rest = [design.observer.inputs.index(name) for name in design.known]
    return A, B[:, driven], B[:, rest], C, D[:, driven], D[:, rest]


class _Symbols:
    """Symbols of the signals and the memory of the law, as deviations from the operating point."""

    def __init__(self, design: OutputFeedback, at: object) -> None:
        system, fb = design.system, design.feedback
        self.sampled, self.current = design.dt is not None, design.form == "current"
        outputs, known, drives = design.observer.outputs, design.known, design.drives
        self.followed = tuple(dict.fromkeys((*fb.tracking, *fb.integral)))
        self.x0, self.u0 = reference_values(system, system.states, at), reference_values(system, drives, at)
        self.y0, self.e0 = reference_values(system, outputs, at), reference_values(system, known, at)
        self.r0 = dict(zip(self.followed, reference_values(system, self.followed, at), strict=True))
        n, ni, m, ny, ne = system.nx, len(fb.integral), len(drives), len(outputs), len(known)
        sym = ca.MX.sym
        self.read = sym("reads", ny + ne + m)
        self.memory = sym("memory", n + ni + (ne + 1 if self.current else 0))
        self.r, self.p, self.t = sym("references", len(self.followed)), sym("p", 0), sym("t")
        y, ue, acting = ca.vertsplit(self.read, [0, ny, ny + ne, self.read.numel()])
        self.y, self.ue = y - self.y0, ue - self.e0
        self.acting = acting - self.u0
        kept = ne if self.current else 0  # known inputs of the last sample, and whether there was one
        x, self.xi, last, self.begun = ca.vertsplit(self.memory, [0, n, n + ni, n + ni + kept, self.memory.numel()])
        self.x, self.ue_last = x - self.x0, last - self.e0 if self.current else None
        self.wanted = dict(zip(self.followed, ca.vertsplit(self.r), strict=True))


def output_law(design: OutputFeedback, at: object, start: object, switched_on: float | None) -> Law:
    """See :meth:`OutputFeedback.law`."""
    system, fb, drives, dt = design.system, design.feedback, design.drives, design.dt
    outputs, known = design.observer.outputs, design.known
    A, B, Be, C, D, De = (ca.DM(value) for value in split_inputs(design))
    s = _Symbols(design, at)
    since = s.t - (switched_on or 0.0)
    on = 1.0 if switched_on is None else ca.if_else(since >= -1e-9, 1.0, 0.0)
    fixed = design.observer.M if s.current else design.L
    gain = ca.DM(fixed) if design.observer.schedule is None else design.observer.schedule.at(s.t)
    x = s.x
    if s.current:
        x = ca.if_else(s.begun > 0.5, A @ x + B @ s.acting + Be @ s.ue_last, x)
        x = x + gain @ (s.y - C @ x - D @ s.acting - De @ s.ue)
    command = on * _command(design, s, x, since) + s.u0
    held = apply_limits(command, drives, fb.limits)
    error = ca.vertcat(ca.MX(0, 1), *(s.y[outputs.index(name)] + s.r0[name] - s.wanted[name] for name in fb.integral))
    if fb.integral:
        error = on * (prevent_windup(error, command, held, fb) if fb.limits else error)
    if s.current:
        after = ca.vertcat(x + s.x0, s.xi + dt * error, s.ue + s.e0, 1.0)
    else:
        moved = A @ x + B @ s.acting + Be @ s.ue + gain @ (s.y - C @ x - D @ s.acting - De @ s.ue)
        after = ca.vertcat(moved + s.x0, s.xi + dt * error) if s.sampled else ca.vertcat(moved, error)
    function = ca.Function(
        "output_feedback", [s.read, s.memory, s.r, s.p, s.t], [ca.densify(held), ca.densify(after)],
        ["reads", "memory", "references", "p", "t"], ["u", "after"],
    )  # fmt: skip
    memory = [f"{name}.estimate" for name in machine_names(system)] + [f"integral({name})" for name in fb.integral]
    units = [*units_of(system, system.states), *[""] * len(fb.integral)]
    begin = [*first_estimate(system, start, s.x0), *[0.0] * len(fb.integral)]
    if s.current:
        memory, units = [*memory, *(f"{name}.last" for name in known), "begun"], [*units, *units_of(system, known), ""]
        begin = [*begin, *s.e0, 0.0]
    return Law(
        design.name, (*outputs, *known, *drives), drives, function, dt,
        state=Channels(memory, units), start=tuple(map(float, begin)),
        references=Channels(reference_names(s.followed), units_of(system, s.followed)), direct=s.current,
        resting=tuple(float(s.r0[name]) for name in s.followed),
    )  # fmt: skip


def _command(design: OutputFeedback, s: _Symbols, x: object, since: object) -> Any:
    """-K x̂ - K_i ξ + F (r - r₀)."""
    fb = design.feedback
    u = -(ca.DM(fb.K) if fb.schedule is None else fb.schedule.at(since)) @ x
    if fb.integral:
        u -= ca.DM(fb.K_integral) @ s.xi
    if fb.tracking:
        u += ca.DM(fb.F) @ ca.vertcat(*(s.wanted[name] - s.r0[name] for name in fb.tracking))
    return u
