"""Linear-quadratic Gaussian regulators: an optimal gain on the estimate of a Kalman filter (spec 000, 72, 73, 74).

predictor    u(k) = -K x̂(k) ,       x̂(k+1) = A x̂ + B u + B_e u_e + L (y - C x̂ - D u - D_e u_e)
current      u(k) = -K x̂(k|k) ,     x̂(k|k) = x̂(k) + M (y - ŷ),  x̂(k+1) = A x̂(k|k) + B u + B_e u_e
continuous   u = -K x̂ ,             x̂′ = A x̂ + B u + B_e u_e + L (y - ŷ)

u are the driven inputs; u_e known ones, measured but not driven (the force of a shaker). With the predictor u(k) does
not depend on y(k), so y may contain D u(k); in the current form y(k) is read while u(k-1) still acts.
Separation: in (x, x - x̂) the closed loop is block triangular, [[A - B K, B K], [0, A - L C]]: its poles are those of
the regulator and of the filter.
Over a finite horizon K(k) runs backwards from Q_T and L(k) forwards from the covariance P0 of the first estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.control.lqr import finite_horizon, lqr
from dalembert.control.observer import (
    LinearObserver,
    first_estimate,
    kalman_gain,
    noise_covariance,
    sampled_noise,
)
from dalembert.control.plant import (
    Weight,
    chosen_inputs,
    chosen_outputs,
    cross_weight,
    machine_names,
    plant,
    reference_values,
    weight,
)
from dalembert.control.state_feedback import Schedule, StateFeedback, limited, reference_names, units_of
from dalembert.equations import Channels, Law
from dalembert.errors import DataError
from dalembert.linear import Roots, StateSpace, checks
from dalembert.linear.checks import FloatArray


class OutputFeedback(checks.Frozen):
    """State feedback on the estimate of an observer; fits ``da.simulate(eqs, controller=...)`` by itself.

    Attributes
    ----------
    feedback : StateFeedback
        u = -K x̂, integral action and references included.
    observer : LinearObserver
        L, M, what it reads and the inputs it is told.
    poles : Roots
        Of the closed loop: those of the regulator and of the observer.
    form : "predictor", "current" or "continuous"
    filter_schedule : Schedule, optional
        L (predictor, continuous) or M (current) over a finite horizon.
    """

    feedback: StateFeedback
    observer: LinearObserver
    form: str
    poles: Roots
    filter_schedule: Schedule | None

    def __init__(
        self, feedback: StateFeedback, observer: LinearObserver, *, filter_schedule: Schedule | None = None
    ) -> None:
        if feedback.system.states != observer.system.states or feedback.dt != observer.dt:
            raise DataError("feedback and observer must be designed on the same model, with the same dt.")
        for name in feedback.drives:
            if name not in observer.inputs:
                raise DataError(f"the observer must be told the driven input {name!r}; name it in inputs=.")
        for name in feedback.integral:
            if name not in observer.outputs:
                raise DataError(f"integral action on {name!r} needs it among the outputs that are read.")
        self._freeze(
            feedback=feedback, observer=observer, form=observer.form, filter_schedule=filter_schedule,
            poles=Roots(np.concatenate([feedback.poles.values, observer.poles.values]), feedback.dt, "pole"),
        )  # fmt: skip

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
        return _controller(self)

    def closed_loop(self) -> StateSpace:
        """Model and controller as one system: inputs as of the model (added to what the law sets), outputs as well."""
        return _closed(self)

    def loop(self) -> StateSpace:
        """The loop opened at the driven inputs: from there through model and controller back (sign changed)."""
        system = _as_read(self).select(inputs=self.drives)
        controller = self.controller().select(inputs=self.observer.outputs)
        names = [f"{name} fed back" for name in self.drives]
        return (-system.series(controller)).replace(outputs=names)

    def law(self, *, at: Any = None, start: Any = None, switched_on: float | None = None) -> Law:
        """The law as ``da.simulate`` takes it.

        at : {name: value} or a `State`: the operating point, where the model does not say.
        start : {state: value} or (nx,): first estimate; the operating point where left out.
        switched_on : time [s] before which the inputs rest while the observer already runs.
        """
        return _law(self, at, start, switched_on)

    def table(self) -> str:
        """Both gains and the poles of the closed loop."""
        parts = [f"output feedback, {self.form} form; reads {', '.join(self.observer.outputs)}"]
        if self.known:
            parts[0] += f"; is told {', '.join(self.known)}"
        return "\n".join([*parts, self.feedback.table(), self.observer.table()])

    def __repr__(self) -> str:
        return f"OutputFeedback: {self.table()}"


def lqg(
    system: Any,
    *,
    Q: Weight | None = None,
    R: Weight = 1.0,
    N: Any = None,
    Qy: Weight | None = None,
    Qn: Weight,
    Rn: Weight,
    Nn: Any = None,
    inputs: str | Iterable[str] | None = None,
    known: str | Iterable[str] | None = None,
    outputs: str | Iterable[str] | None = None,
    dt: float | None = None,
    cost: str = "sum",
    noise: str = "sample",
    form: str = "predictor",
    horizon: float | None = None,
    Q_T: Weight | None = None,
    P0: Weight | None = None,
    degree: float = 0.0,
    integral: str | Iterable[str] | Mapping[str, float] | None = None,
    tracking: str | Iterable[str] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> OutputFeedback:
    """Output feedback by an optimal regulator on the estimate of a Kalman filter.

    Parameters
    ----------
    Q, R, N, Qy, dt, cost, degree, integral, tracking, limits : as of :func:`lqr`
    Qn, Rn, Nn, outputs, noise : as of :func:`kalman_gain`
    inputs : inputs the law drives; all that are not known when left out.
    known : inputs that are measured and told to the filter, but not driven.
    form : "predictor" or "current"
        Of a sampled law: u(k) from the samples up to k - 1, or up to k.
    horizon, Q_T, P0 : finite horizon [s], weight of its end, covariance of the first estimate
        Without P0 the filter is steady.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], [[1, 0]], inputs="push", outputs="position")
    >>> design = lqg(cart, Q=1.0, R=1.0, Qn={"push": 1.0}, Rn=1.0)
    >>> design.L.round(6).ravel().tolist()
    [1.414214, 1.0]
    >>> design.closed_loop().is_stable
    True
    """
    model = plant(system, what="lqg")
    told = () if known is None else chosen_inputs(model, known)
    drives = chosen_inputs(model, inputs if inputs is not None else [n for n in model.inputs if n not in told])
    both = [name for name in drives if name in told]
    if both:
        raise DataError(f"{', '.join(both)} cannot be both driven and known.")
    feedback = lqr(
        model, Q=Q, R=R, N=N, Qy=Qy, inputs=drives, dt=dt, cost=cost, horizon=horizon, Q_T=Q_T, degree=degree,
        integral=integral, tracking=tracking, limits=limits,
    )  # fmt: skip
    observer = kalman_gain(model, Qn=Qn, Rn=Rn, Nn=Nn, outputs=outputs, inputs=(*drives, *told), dt=dt, noise=noise,
                           form=form)  # fmt: skip
    if P0 is None:
        return OutputFeedback(feedback, observer)
    if horizon is None:
        raise DataError("P0 starts a filter that changes with time: give horizon= as well, or leave it out.")
    start = weight("P0", P0, model.states, "state")
    schedule = _filter_schedule(model, observer, start, Qn, Rn, Nn, dt, noise, horizon)
    return OutputFeedback(feedback, observer, filter_schedule=schedule)


def _filter_schedule(
    model: StateSpace, observer: LinearObserver, P0: FloatArray, Qn: Weight, Rn: Weight, Nn: Any, dt: float | None,
    noise: str, horizon: float,
) -> Schedule:  # fmt: skip
    """L(k) (or M(k)) forwards from P0: the dual of a finite-horizon regulator, read the other way round."""
    read = chosen_outputs(model, observer.outputs)
    N = cross_weight("Nn", Nn, model.nx, len(read), "one row per state, one column per output")
    R = weight("Rn", Rn, read, "output", positive=True, complete=True)
    sampled, Q, R, N = sampled_noise(model, noise_covariance(model, Qn), R, N, dt, noise)
    C = sampled.C[[sampled.outputs.index(name) for name in read]]
    times, covariances, gains = finite_horizon(sampled.A.T, C.T, Q, R, N, P0, horizon, sampled.dt)
    gains = gains[::-1].transpose(0, 2, 1)
    if observer.form == "current":
        P = covariances[:0:-1]
        gains = np.array([scipy.linalg.solve(R + C @ each @ C.T, C @ each, assume_a="pos").T for each in P])
    return Schedule(times, np.ascontiguousarray(gains), held=sampled.dt is not None)


def _columns(design: OutputFeedback) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """A, B, B_e, C, D, D_e: driven inputs apart from known ones."""
    A, B, C, D = design.observer.matrices
    driven = [design.observer.inputs.index(name) for name in design.drives]
    rest = [design.observer.inputs.index(name) for name in design.known]
    return A, B[:, driven], B[:, rest], C, D[:, driven], D[:, rest]


def _controller(design: OutputFeedback) -> StateSpace:
    A, B, Be, C, D, De = _columns(design)
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
    fresh = np.hstack([M, -M @ De])
    X = np.hstack([seen, np.zeros((n, ni)), late])  # x̂(k|k) by (x̂, ξ, u before), and by the reads
    U = -K @ X - np.hstack([np.zeros((m, n)), Ki, np.zeros((m, m))])
    Uy = -K @ fresh
    A_ = np.vstack([A @ X + B @ U, np.hstack([zero, np.eye(ni), np.zeros((ni, m))]), U])
    B_ = np.vstack([A @ fresh + B @ Uy + np.hstack([np.zeros((n, len(M[0]))), Be]), integrals, Uy])
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


def _closed(design: OutputFeedback) -> StateSpace:
    """u = C_c x_c + D_c y + D_e u_e around the model; where D_c ≠ 0 the readings hold no u of now."""
    system, controller, plant_ = design.system, design.controller(), _as_read(design)
    driven = [system.inputs.index(name) for name in design.drives]
    ny = len(design.observer.outputs)
    Bc, Be, Dc, De = controller.B[:, :ny], controller.B[:, ny:], controller.D[:, :ny], controller.D[:, ny:]
    pick = np.eye(system.nu)[[system.inputs.index(name) for name in design.known]]
    B_u, D_u, D_all = plant_.B[:, driven], plant_.D[:, driven], system.D[:, driven]
    U_x, U_c, U_in = Dc @ plant_.C, controller.C, Dc @ plant_.D + De @ pick
    C = np.hstack([system.C, np.zeros((system.ny, plant_.nx - system.nx))])
    return system.replace(
        A=np.block([[plant_.A + B_u @ U_x, B_u @ U_c], [Bc @ (plant_.C + D_u @ U_x), controller.A + Bc @ D_u @ U_c]]),
        B=np.vstack([plant_.B + B_u @ U_in, Bc @ (plant_.D + D_u @ U_in) + Be @ pick]),
        C=np.hstack([C + D_all @ U_x, D_all @ U_c]), D=system.D + D_all @ U_in,
        states=[*plant_.states, *controller.states],
        provenance={**system.provenance, "closed by": design.feedback.method},
    )  # fmt: skip


def _law(design: OutputFeedback, at: Any, start: Any, switched_on: float | None) -> Law:
    system, fb, drives, known = design.system, design.feedback, design.drives, design.known
    outputs, dt = design.observer.outputs, design.dt
    A, B, Be, C, D, De = (ca.DM(value) for value in _columns(design))
    x0, u0 = reference_values(system, system.states, at), reference_values(system, drives, at)
    y0, e0 = reference_values(system, outputs, at), reference_values(system, known, at)
    n, ni, m = system.nx, len(fb.integral), len(drives)
    followed = tuple(dict.fromkeys((*fb.tracking, *fb.integral)))
    r0 = dict(zip(followed, reference_values(system, followed, at), strict=True))
    sym = ca.MX.sym
    current = design.form == "current"
    read = sym("reads", len(outputs) + len(known))
    memory = sym("memory", n + ni + (m if current else 0))
    r, p, t = sym("references", len(followed)), sym("p", 0), sym("t")
    y, ue = read[: len(outputs)] - y0, read[len(outputs) :] - e0
    x, xi, last = memory[:n] - x0, memory[n : n + ni], memory[n + ni :] - u0 if current else None
    since = t - (switched_on or 0.0)
    wanted = dict(zip(followed, ca.vertsplit(r), strict=True))
    K = ca.DM(fb.K) if fb.schedule is None else fb.schedule.at(since)
    gain = ca.DM(design.observer.M if current else design.L) if design.filter_schedule is None else (
        design.filter_schedule.at(t))  # fmt: skip
    if current:
        x = x + gain @ (y - C @ x - D @ last - De @ ue)
    asked = -K @ x
    if ni:
        asked -= ca.DM(fb.K_integral) @ xi
    if fb.tracking:
        asked += ca.DM(fb.F) @ ca.vertcat(*(wanted[name] - r0[name] for name in fb.tracking))
    on = 1.0 if switched_on is None else ca.if_else(since >= -1e-9, 1.0, 0.0)
    asked = on * asked + u0
    held = limited(asked, drives, fb.limits)
    u = held - u0
    step = A @ x + B @ u + Be @ ue
    if not current:
        step += gain @ (y - C @ x - D @ u - De @ ue)
    error = ca.vertcat(ca.MX(0, 1), *(y[outputs.index(name)] + r0[name] - wanted[name] for name in fb.integral))
    if ni:
        waits = ca.if_else(ca.sumsqr(held - asked) > 0, 0.0, 1.0) if fb.limits else 1.0
        error *= waits * on
    after = (
        ca.vertcat(step, error) if dt is None else ca.vertcat(step + x0, xi + dt * error, *([held] if current else []))
    )
    function = ca.Function("output_feedback", [read, memory, r, p, t], [ca.densify(held), ca.densify(after)],
                           ["reads", "memory", "references", "p", "t"], ["u", "after"])  # fmt: skip
    names = [f"{name}.estimate" for name in machine_names(system)] + [f"integral({name})" for name in fb.integral]
    units = [*units_of(system, system.states), *[""] * ni]
    begin = [*first_estimate(system, start, x0), *[0.0] * ni]
    if current:
        names += [f"{name}.last" for name in drives]
        units += units_of(system, drives)
        begin += list(u0)
    return Law(
        "output feedback", (*outputs, *known), drives, function, dt, memory=Channels(names, units), start=tuple(begin),
        references=Channels(reference_names(followed), units_of(system, followed)), direct=current,
    )  # fmt: skip
