"""State feedback as a law for a machine.

    u = u₀ - K (x - x₀) - K_i ξ + F (r - r₀) ,      ξ′ = y_i - r_i    (sampled: ξ⁺ = ξ + dt (y_i - r_i))

K may change with time (finite horizon).
The feedforward F follows from the static map: in equilibrium with the outputs at r,

    [A  B; C  D] [N_x; N_u] = [0; I] ,      F = N_u + K N_x      (sampled: A - I in place of A).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Annotated, Any

import casadi as ca
import numpy as np

from dalembert.control.plant import reference_values, remove_reference, replace_fields
from dalembert.control.state_feedback.schedule import Schedule
from dalembert.core.arrays import FloatArray, assign
from dalembert.core.declare import ArgumentKind, Scope, checked, known_as, mapping, number
from dalembert.core.errors import DataError
from dalembert.core.results import derived, result
from dalembert.core.tables import align_columns, display_latex, matrix_latex
from dalembert.equations import Channels
from dalembert.estimate.models.process import machine_names
from dalembert.linear import Roots, StateSpace
from dalembert.loop.interfaces import Law
from dalembert.loop.names import reference_name
from dalembert.numerics.sample_times import slack

SwitchTime = Annotated[float, number, "time [s] before which inputs and integrals rest; a horizon starts at it"]


def _read_range(name: str, value: Any, scope: Scope) -> tuple[float, float]:
    """(low, high); a number is ± that number."""
    try:
        low, high = (-abs(float(value)), abs(float(value))) if np.ndim(value) == 0 else map(float, value)
    except (TypeError, ValueError):
        low = high = 0.0
    if not low < high:
        raise DataError("wrong-type", f"{name} must be a number or (low, high), got {value!r}.")
    return low, high


RANGE = ArgumentKind("a number or (low, high)", _read_range)
Limits = Annotated[
    Mapping[str, Any] | None,
    mapping("input", RANGE, "drives"),
    "limits within which the law stays, without integrating beyond them; those of its actuators apply too",
]
Ranges = Annotated[Mapping[str, tuple[float, float]], mapping("input", RANGE, "drives")]


@result
class StateFeedback:
    """A gain and the properties of its closed loop; fits ``da.simulate(eqs, controller=...)``.

    Attributes
    ----------
    K : (nu, nx)
        u = -K x; with a finite horizon the first gain of ``schedule``.
    drives : names of the inputs the law sets.
    system : the model it was designed on.
    poles : Roots
        Of the closed loop, integrators included.
    cost : (nx, nx), optional
        Solution of the Riccati equation: the cost from x is xᵀ X x (integrators after the states).
    residual : float, optional
        Relative residual of that equation.
    integral : outputs whose error is integrated; ``K_integral`` (nu, ni) their gains.
    tracking : outputs that follow a reference; ``F`` (nu, nr) their feedforward.
    """

    K: FloatArray
    system: StateSpace
    drives: Annotated[tuple[str, ...], known_as("drives", "inputs")]
    _: KW_ONLY
    method: str
    cost: FloatArray | None = None
    residual: float | None = None
    K_integral: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    integral: tuple[str, ...] = ()
    tracking: tuple[str, ...] = ()
    schedule: Schedule | None = None
    limits: Ranges = field(default_factory=dict)
    poles: Roots = derived()
    F: FloatArray = derived()

    def __post_init__(self) -> None:
        assign(self, K=np.array(self.K), K_integral=self.K_integral.reshape(len(self.drives), -1))
        A, B = with_integrals(self.system, self.drives, self.integral)
        poles = np.linalg.eigvals(A - B @ self.gains)
        assign(
            self, F=feedforward(self.system, self.drives, self.tracking, self.K),
            poles=Roots(poles, self.dt, "pole", {"made by": self.method}),
        )  # fmt: skip

    @property
    def gains(self) -> FloatArray:
        """(nu, nx + ni): K, and the gains of the integrals after it."""
        return np.hstack([self.K, self.K_integral])

    @property
    def dt(self) -> float | None:
        """Sample time [s]; None where the law acts continuously."""
        return self.system.dt

    def closed_loop(self) -> StateSpace:
        """The design model with the loop closed: inputs as before (added to the command of the law), outputs as before.

        Integrators are states ``integral(<output>)``; their references are zero.
        """
        system = self.system
        A, B = with_integrals(system, self.drives, self.integral)
        gain = self.gains
        columns = [system.inputs.index(name) for name in self.drives]
        ni = len(self.integral)
        rows = [system.outputs.index(name) for name in self.integral]
        step = 1.0 if system.dt is None else system.dt
        B_all = np.vstack([system.B, step * system.D[rows]])
        C = np.hstack([system.C, np.zeros((system.ny, ni))]) - system.D[:, columns] @ gain
        return system.replace(
            A=A - B @ gain, B=B_all, C=C,
            states=[*system.states, *(f"integral({name})" for name in self.integral)],
            provenance={**system.provenance, "closed by": self.method},
        )  # fmt: skip

    def loop(self) -> StateSpace:
        """The loop opened at the inputs, K (s I - A)⁻¹ B (with integrators), for ``margins``."""
        A, B = with_integrals(self.system, self.drives, self.integral)
        names = [f"{name} fed back" for name in self.drives]
        return StateSpace(A, B, self.gains, dt=self.dt, inputs=self.drives, outputs=names)

    @checked
    def law(self, *, at: object = None, switched_on: SwitchTime | None = None) -> Law:
        """The law as ``da.simulate`` takes it: u = u₀ - K (x - x₀).

        at : {name: value} or a `State`: the operating point, where the model has none.
        """
        return _law(self, at, switched_on)

    def within(self, limits: Mapping[str, tuple[float, float]]) -> StateFeedback:
        """The same law with these further limits of its inputs, so that no integral winds up at an actuator limit."""
        return replace_fields(self, limits=intersect_limits(self.limits, limits))  # type: ignore[no-any-return]

    def in_deviations(self) -> StateFeedback:
        """The same design for the linear model itself, which describes deviations from the operating point only."""
        return replace_fields(self, system=remove_reference(self.system))  # type: ignore[no-any-return]

    def table(self) -> str:
        """Gains by name, residual and closed-loop poles."""
        columns = [*self.system.states, *(f"integral({name})" for name in self.integral)]
        lines = [f"u = -K x by {self.method}; " + ("continuous" if self.dt is None else f"every {self.dt:g} s")]
        if self.schedule is not None:
            lines[0] += f"; gains at the start of a horizon of {self.schedule.times[-1]:g} s"
        if self.residual is not None:
            lines[0] += f"; relative residual {self.residual:.1e}"
        rows = [[name, *(f"{value:.6g}" for value in self.gains[:, j])] for j, name in enumerate(columns)]
        lines.append(align_columns(["K", *self.drives], rows))
        if self.schedule is None:
            lines += ["closed loop", self.poles.table()]
        return "\n".join(line.rstrip() for text in lines for line in text.split("\n"))

    def _repr_latex_(self) -> str:
        lines = ["u = -K x" + (" - K_i \\xi" if self.integral else ""), matrix_latex("K", self.K)]
        return display_latex(lines + [matrix_latex("K_i", self.K_integral)] * bool(self.integral))

    def __repr__(self) -> str:
        return f"StateFeedback: {self.table()}"


def with_integrals(
    system: StateSpace, drives: tuple[str, ...], integral: tuple[str, ...]
) -> tuple[FloatArray, FloatArray]:
    """A and B of the model with the integrals of some outputs after its states."""
    B = system.B[:, [system.inputs.index(name) for name in drives]]
    if not integral:
        return system.A, B
    rows = [system.outputs.index(name) for name in integral]
    D = system.D[np.ix_(rows, [system.inputs.index(name) for name in drives])]
    step, kept = (1.0, 0.0) if system.dt is None else (system.dt, 1.0)
    n, ni = system.nx, len(rows)
    A_ = np.block([[system.A, np.zeros((n, ni))], [step * system.C[rows], kept * np.eye(ni)]])
    return A_, np.vstack([B, step * D])


def feedforward(system: StateSpace, drives: tuple[str, ...], tracking: tuple[str, ...], K: FloatArray) -> FloatArray:
    """F = N_u + K N_x (nu, nr): in equilibrium the outputs equal their references."""
    if not tracking:
        return np.zeros((len(drives), 0))
    N_x, N_u = solve_equilibrium(system, drives, tracking)
    F: FloatArray = N_u + K @ N_x
    return F


def solve_equilibrium(
    system: StateSpace, drives: tuple[str, ...], tracking: tuple[str, ...], held: float = 1e-6
) -> tuple[FloatArray, FloatArray]:
    """N_x (nx, nr) and N_u (nu, nr): states and inputs of the equilibrium with the outputs at r.

    held : largest residual with an output at 1: a system of condition 1e9 leaves 1e-7 of rounding.
    """
    rows = [system.outputs.index(name) for name in tracking]
    columns = [system.inputs.index(name) for name in drives]
    A = system.A if system.dt is None else system.A - np.eye(system.nx)
    whole = np.block([[A, system.B[:, columns]], [system.C[rows], system.D[np.ix_(rows, columns)]]])
    right = np.vstack([np.zeros((system.nx, len(rows))), np.eye(len(rows))])
    # rows of unlike units: scaled to length one
    scale = np.linalg.norm(whole, axis=1)
    scale[scale == 0.0] = 1.0
    solution, *_ = np.linalg.lstsq(whole / scale[:, None], right / scale[:, None], rcond=None)
    missed = np.abs(whole @ solution - right).max(axis=0)
    bad = [name for name, miss in zip(tracking, missed, strict=True) if miss > held]
    if bad:
        raise DataError(
            "not-reachable",
            f"{', '.join(bad)} cannot be kept at a value by {', '.join(drives)} alone: the inputs have no steady "
            "effect there (a zero at 0), or there are fewer inputs than outputs.",
        )
    return solution[: system.nx], solution[system.nx :]


def intersect_limits(
    limits: Mapping[str, tuple[float, float]], others: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Intersection of two sets of limits."""
    both = dict(limits)
    for name, (low, high) in mapping("input", RANGE)("limits", others).items():
        least, most = both.get(name, (-np.inf, np.inf))
        both[name] = (max(low, least), min(high, most))
    return both


def apply_limits(u: object, drives: tuple[str, ...], limits: Mapping[str, tuple[float, float]]) -> Any:
    """u within its limits, as a CasADi expression."""
    if not limits:
        return u
    low = ca.DM([limits.get(name, (-np.inf, np.inf))[0] for name in drives])
    high = ca.DM([limits.get(name, (-np.inf, np.inf))[1] for name in drives])
    return ca.fmin(ca.fmax(u, low), high)


def prevent_windup(error: Any, command: Any, held: Any, feedback: StateFeedback) -> Any:
    """The error to integrate: zero where it would drive inputs further beyond their limits, -K_i e · (u - sat u) > 0.

    An error that brings them back is integrated, so that no input stays at its limit. A continuous law fades it out.
    """
    beyond = command - held
    wait: Any = ca.if_else(ca.dot(beyond, -ca.DM(feedback.K_integral) @ error) > 0, 1.0, 0.0)
    if feedback.dt is None:
        ranges = [feedback.limits.get(name, (-1.0, 1.0)) for name in feedback.drives]
        widths = [high - low if np.isfinite(high - low) else max(abs(x) for x in (low, high, 1.0) if np.isfinite(x))
                  for low, high in ranges]  # fmt: skip
        wait *= fade_in(beyond, np.array(widths))
    return (1.0 - wait) * error


def fade_in(beyond: Any, width: Any, share: float = 0.01) -> Any:
    """0 to 1 over the first ``share`` of the range of an input beyond its limit: no step size can resolve a jump."""
    return ca.fmin(ca.mmax(ca.fabs(beyond) / ca.DM(share * width)), 1.0)


def units_of(system: StateSpace, names: tuple[str, ...]) -> list[str]:
    return [system.units.get(name, "") for name in names]


def reference_names(tracking: tuple[str, ...]) -> list[str]:
    """Names of the references: ``<output>.reference``."""
    return [reference_name(name) for name in tracking]


def compute_command(feedback: StateFeedback, x: Any, integrals: Any, references: Mapping[str, Any], since: Any) -> Any:
    """-K x - K_i ξ + F r of deviations from the operating point; ``since`` : time since the law was switched on."""
    u = -(ca.DM(feedback.K) if feedback.schedule is None else feedback.schedule.at(since)) @ x
    if feedback.integral:
        u -= ca.DM(feedback.K_integral) @ integrals
    if feedback.tracking:
        u += ca.DM(feedback.F) @ ca.vertcat(*(references[name] for name in feedback.tracking))
    return u


def _law(feedback: StateFeedback, at: object, switched_on: float | None) -> Law:
    system, drives = feedback.system, feedback.drives
    names = machine_names(system)
    extra = tuple(name for name in feedback.integral if name not in names)
    reads = (*names, *extra)
    followed = tuple(dict.fromkeys((*feedback.tracking, *feedback.integral)))
    x0, u0 = reference_values(system, system.states, at), reference_values(system, drives, at)
    y0 = dict(zip(followed, reference_values(system, followed, at), strict=True))
    read, memory = ca.MX.sym("reads", len(reads)), ca.MX.sym("memory", len(feedback.integral))
    r, p, t = ca.MX.sym("references", len(followed)), ca.MX.sym("p", 0), ca.MX.sym("t")
    value, wanted = dict(zip(reads, ca.vertsplit(read), strict=True)), dict(zip(followed, ca.vertsplit(r), strict=True))
    since = t - (switched_on or 0.0)
    on = 1.0 if switched_on is None else ca.if_else(since >= -slack(feedback.dt or 1.0), 1.0, 0.0)
    references = {name: wanted[name] - y0[name] for name in followed}
    u = on * compute_command(feedback, read[: len(names)] - ca.DM(x0), memory, references, since) + u0
    held = apply_limits(u, drives, feedback.limits)
    error = ca.vertcat(ca.MX(0, 1), *(value[name] - wanted[name] for name in feedback.integral))
    if feedback.integral and feedback.limits:
        error = prevent_windup(error, u, held, feedback)
    after = on * error if feedback.dt is None else memory + on * feedback.dt * error
    function = ca.Function("state_feedback", [read, memory, r, p, t], [ca.densify(held), ca.densify(after)],
                           ["reads", "memory", "references", "p", "t"], ["u", "after"])  # fmt: skip
    return Law(
        feedback.method, reads, drives, function, feedback.dt,
        state=Channels([f"integral({name})" for name in feedback.integral], [""] * len(feedback.integral)),
        start=(0.0,) * len(feedback.integral),
        references=Channels(reference_names(followed), units_of(system, followed)), direct=True,
        resting=tuple(float(y0[name]) for name in followed),
    )  # fmt: skip
