"""State feedback on the estimate of an observer; of `lqr` on `kalman_gain` it is an LQG regulator (Athans 1971).

predictor    u(k) = -K x̂(k) ,       x̂(k+1) = A x̂ + B u + B_e u_e + L (y - C x̂ - D u - D_e u_e)
current      u(k) = -K x̂(k|k) ,     x̂(k|k) = x̂(k) + M (y - ŷ),  x̂(k+1) = A x̂(k|k) + B u + B_e u_e
continuous   u = -K x̂ ,             x̂′ = A x̂ + B u + B_e u_e + L (y - ŷ)

u are the driven inputs; u_e known ones, measured but not driven (the force of a shaker). With the predictor u(k) does
not depend on y(k), so y may contain D u(k); in the current form y(k) is read while u(k-1) still acts.
The law reads its own inputs as they act, not its commands: its observer then accounts for limits, delays and steps of
an actuator, and for the time before the law is switched on. Integrals stop while an input is at its limit
(`state_feedback.prevent_windup`); in ``da.simulate`` the law also observes the limits of the actuators.

Separation: in (x, x - x̂) the closed loop is block triangular, [[A - B K, B K], [0, A - L C]]: its poles are those of
the regulator and of the observer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.control.plant import reference_values
from dalembert.control.state_feedback.observer import LinearObserver, first_estimate
from dalembert.control.state_feedback.state_feedback import (
    StateFeedback,
    SwitchTime,
    apply_limits,
    compute_command,
    prevent_windup,
    reference_names,
    units_of,
)
from dalembert.core.arrays import FloatArray, assign
from dalembert.core.declare import checked, one_of
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.results import derived, result
from dalembert.core.tables import display_latex, matrix_latex
from dalembert.equations import Channels
from dalembert.estimate.models.process import machine_names
from dalembert.linear import Roots, StateSpace
from dalembert.loop.interfaces import Law
from dalembert.numerics.sample_times import slack


@result
class OutputFeedback:
    """State feedback on the estimate of an observer; fits ``da.simulate(eqs, controller=...)`` by itself.

    Attributes
    ----------
    feedback : StateFeedback
        u = -K x̂, integral action and references included.
    observer : LinearObserver
        L, M, the outputs and the inputs it reads.
    poles : Roots
        Of the closed loop: those of the regulator and of the observer.
    form : "predictor", "current" or "continuous"

    Examples
    --------
    >>> from dalembert.control import kalman_gain, lqr
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], [[1, 0]], inputs="push", outputs="position")
    >>> design = OutputFeedback(lqr(cart, Q=1.0, R=1.0), kalman_gain(cart, Q={"push": 1.0}, R=1.0))
    >>> design.name, design.L.round(6).ravel().tolist(), design.closed_loop().is_stable
    ('LQG', [1.414214, 1.0], True)
    """

    feedback: StateFeedback
    observer: LinearObserver
    form: str = derived()
    poles: Roots = derived()

    def __post_init__(self) -> None:
        feedback, observer = self.feedback, self.observer
        if feedback.system.states != observer.system.states or feedback.dt != observer.dt:
            raise DataError(
                "wrong-owner", "feedback and observer must be designed on the same model, with the same dt."
            )
        for name in feedback.drives:
            if name not in observer.inputs:
                raise DataError(
                    "missing-input",
                    f"the observer must read the driven input {name!r}.",
                    Advice("Name it in {}.", Argument("inputs")),
                )
        for name in feedback.integral:
            if name not in observer.outputs:
                raise DataError(
                    "missing-output", f"integral action on {name!r} needs it among the outputs that are read."
                )
        poles = np.concatenate([feedback.poles.values, observer.poles.values])
        assign(self, form=observer.form, poles=Roots(poles, feedback.dt, "pole"))

    @property
    def name(self) -> str:
        """``"LQG"`` where feedback and observer are optimal; names the law and its estimate in a record."""
        optimal = self.feedback.method.startswith("LQR") and self.observer.covariance is not None
        return "LQG" if optimal else "output feedback"

    @property
    def K(self) -> FloatArray:
        """(nu, nx), u = -K x̂."""
        return self.feedback.K

    @property
    def L(self) -> FloatArray:
        """(nx, ny), gain of the predictor (sampled) or of the observer (continuous)."""
        return self.observer.L

    @property
    def system(self) -> StateSpace:
        """The model it was designed on."""
        return self.feedback.system

    @property
    def dt(self) -> float | None:
        """Sample time [s]; None where continuous."""
        return self.feedback.dt

    @property
    def drives(self) -> tuple[str, ...]:
        """Inputs the law sets."""
        return self.feedback.drives

    @property
    def known(self) -> tuple[str, ...]:
        """Inputs that are measured, not driven."""
        return tuple(name for name in self.observer.inputs if name not in self.drives)

    @property
    def residual(self) -> float | None:
        """The larger of the two Riccati residuals."""
        both = [value for value in (self.feedback.residual, self.observer.residual) if value is not None]
        return max(both) if both else None

    def controller(self) -> StateSpace:
        """The controller alone: from the outputs read (and known inputs) to the driven inputs."""
        return _build_controller(self)

    def closed_loop(self) -> StateSpace:
        """Model and controller as one system; inputs of the model add to the command of the law."""
        return _close_loop(self)

    @checked
    def loop(self, at: Annotated[str, one_of("inputs", "outputs")] = "inputs") -> StateSpace:
        """The loop opened at the driven inputs, or at the outputs read: once around the loop, sign changed."""
        system = _as_read(self).select(inputs=self.drives)
        controller = self.controller().select(inputs=self.observer.outputs)
        names = [f"{name} fed back" for name in (self.drives if at == "inputs" else self.observer.outputs)]
        loop = system.series(controller) if at == "inputs" else controller.series(system)
        return (-loop).replace(outputs=names)

    @checked
    def law(self, *, at: object = None, start: object = None, switched_on: SwitchTime | None = None) -> Law:
        """The law as ``da.simulate`` takes it.

        at : {name: value} or a `State`: the operating point, where the model has none.
        start : {state: value} or (nx,): first estimate; the operating point where left out.
        """
        return _law(self, at, start, switched_on)

    def within(self, limits: Mapping[str, tuple[float, float]]) -> OutputFeedback:
        """The same law within these limits of its inputs as well, as of :meth:`StateFeedback.within`."""
        return OutputFeedback(self.feedback.within(limits), self.observer)

    def in_deviations(self) -> OutputFeedback:
        """The same design for the linear model itself, which describes deviations from the operating point only."""
        parts = self.feedback.in_deviations(), self.observer.in_deviations()
        return OutputFeedback(*parts)

    def table(self) -> str:
        """Both gains and the poles of the closed loop."""
        parts = [f"{self.name}, {self.form} form; reads {', '.join(self.observer.outputs)}"]
        if self.known:
            parts[0] += f" and {', '.join(self.known)}"
        return "\n".join([*parts, self.feedback.table(), self.observer.table()])

    def _repr_latex_(self) -> str:
        return display_latex(["u = -K \\hat{x}", matrix_latex("K", self.K), matrix_latex("L", self.L)])

    def __repr__(self) -> str:
        return f"OutputFeedback: {self.table()}"


def _build_controller(design: OutputFeedback) -> StateSpace:
    A, B, Be, C, D, De = _split_inputs(design)
    fb = design.feedback
    K, Ki, n, ni = fb.K, fb.K_integral, len(A), len(fb.integral)
    reads = (*design.observer.outputs, *design.known)
    pick = np.eye(len(design.observer.outputs))[[design.observer.outputs.index(name) for name in fb.integral]]
    step, kept = (1.0, 0.0) if design.dt is None else (design.dt, 1.0)
    states = [f"{name}.estimate" for name in design.system.states] + [f"integral({name})" for name in fb.integral]
    zero = np.zeros((ni, n))
    integrals = np.hstack([step * pick, np.zeros((ni, len(design.known)))])
    if design.form != "current":
        L = design.L
        # x̂⁺ = (A - L C) x̂ + (B - L D) u + L y + (B_e - L D_e) u_e
        F = B - L @ D
        A_ = np.block([[A - L @ C - F @ K, -F @ Ki], [zero, kept * np.eye(ni)]])
        B_ = np.vstack([np.hstack([L, Be - L @ De]), integrals])
        C_, D_ = -np.hstack([K, Ki]), np.zeros((len(K), len(reads)))
        return StateSpace(A_, B_, C_, D_, design.dt, states=states, inputs=reads, outputs=design.drives)
    M = design.observer.M
    assert M is not None  # a current observer always has one
    # y(k) was read while u(k-1) acted: with D ≠ 0 the last u is a state too
    m = len(K)
    seen = np.eye(n) - M @ C
    late = -M @ D  # of u(k-1)
    from_reads = np.hstack([M, -M @ De])
    X = np.hstack([seen, np.zeros((n, ni)), late])  # x̂(k|k) by (x̂, ξ, u before), and by the reads
    U = -K @ X - np.hstack([np.zeros((m, n)), Ki, np.zeros((m, m))])
    Uy = -K @ from_reads
    A_ = np.vstack([A @ X + B @ U, np.hstack([zero, np.eye(ni), np.zeros((ni, m))]), U])
    B_ = np.vstack([A @ from_reads + B @ Uy + np.hstack([np.zeros((n, len(M[0]))), Be]), integrals, Uy])
    whole = StateSpace(A_, B_, U, Uy, design.dt, states=[*states, *(f"{name} before" for name in design.drives)],
                       inputs=reads, outputs=design.drives)  # fmt: skip
    if D.any():
        return whole
    keep = n + ni
    return whole.replace(A=A_[:keep, :keep], B=B_[:keep], C=U[:, :keep], states=states)


def _as_read(design: OutputFeedback) -> StateSpace:
    """The model with its outputs as the controller reads them, all inputs.

    The current form reads while the driven inputs of the interval before act: then those are states too.
    """
    system = design.system
    rows = [system.outputs.index(name) for name in design.observer.outputs]
    driven = [system.inputs.index(name) for name in design.drives]
    C, D = system.C[rows], system.D[rows]
    if design.form != "current" or not D[:, driven].any():
        return system.replace(C=C, D=D, outputs=design.observer.outputs)
    m = len(driven)
    direct = D.copy()
    direct[:, driven] = 0.0
    return system.replace(
        A=scipy.linalg.block_diag(system.A, np.zeros((m, m))), B=np.vstack([system.B, np.eye(system.nu)[driven]]),
        C=np.hstack([C, D[:, driven]]), D=direct, outputs=design.observer.outputs,
        states=[*system.states, *(f"{name} acting" for name in design.drives)],
    )  # fmt: skip


def _close_loop(design: OutputFeedback) -> StateSpace:
    """u = C_c x_c + D_c y + D_e u_e around the model; for D_c or D_e ≠ 0 the readings do not contain the present u."""
    system, controller, plant_ = design.system, design.controller(), _as_read(design)
    driven = [system.inputs.index(name) for name in design.drives]
    ny = len(design.observer.outputs)
    Bc, Be, Dc, De = controller.B[:, :ny], controller.B[:, ny:], controller.D[:, :ny], controller.D[:, ny:]
    pick = np.eye(system.nu)[[system.inputs.index(name) for name in design.known]]
    B_u, D_u, D_all = plant_.B[:, driven], plant_.D[:, driven], system.D[:, driven]
    U_x, U_c, U_in = Dc @ plant_.C, controller.C, Dc @ plant_.D + De @ pick
    C = np.hstack([system.C, np.zeros((system.ny, plant_.nx - system.nx))])
    return system.replace(
        A=np.block([[plant_.A + B_u @ U_x, B_u @ U_c], [Bc @ plant_.C, controller.A + Bc @ D_u @ U_c]]),
        B=np.vstack([plant_.B + B_u @ U_in, Bc @ plant_.D + Be @ pick]),
        C=np.hstack([C + D_all @ U_x, D_all @ U_c]), D=system.D + D_all @ U_in,
        states=[*plant_.states, *controller.states],
        provenance={**system.provenance, "closed by": design.feedback.method},
    )  # fmt: skip


def _split_inputs(
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


def _law(design: OutputFeedback, at: object, start: object, switched_on: float | None) -> Law:
    system, fb, drives, dt = design.system, design.feedback, design.drives, design.dt
    outputs, known = design.observer.outputs, design.known
    A, B, Be, C, D, De = (ca.DM(value) for value in _split_inputs(design))
    s = _Symbols(design, at)
    since = s.t - (switched_on or 0.0)
    on = 1.0 if switched_on is None else ca.if_else(since >= -slack(dt or 1.0), 1.0, 0.0)
    fixed = design.observer.M if s.current else design.L
    gain = ca.DM(fixed) if design.observer.schedule is None else design.observer.schedule.at(s.t)
    x = s.x
    if s.current:
        x = ca.if_else(s.begun > 0.5, A @ x + B @ s.acting + Be @ s.ue_last, x)
        x = x + gain @ (s.y - C @ x - D @ s.acting - De @ s.ue)
    references = {name: s.wanted[name] - s.r0[name] for name in s.followed}
    command = on * compute_command(fb, x, s.xi, references, since) + s.u0
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
