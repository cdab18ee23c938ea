"""A controller from a synthesis, with what it reaches around its plant: every number here is computed from the loop.

    u = u₀ + K (y - r) ,    r = y₀ where no reference is set

The largest gain from w to z is evaluated twice: the exact peak (Bruinsma and Steinbuch 1990) and the largest value on a
dense grid of frequencies, which may not exceed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Annotated

import casadi as ca
import numpy as np

from dalembert.control.plant import reference_values, remove_reference, replace_fields, sample
from dalembert.control.robust.generalized_plant import close_loop
from dalembert.control.state_feedback.state_feedback import (
    Ranges,
    SwitchTime,
    apply_limits,
    intersect_limits,
    reference_names,
    units_of,
)
from dalembert.core.arrays import FloatArray, assign
from dalembert.core.declare import checked, known_as, one_of, positive
from dalembert.core.results import cells, column, derived, result, rows
from dalembert.core.tables import align_columns
from dalembert.equations import Channels
from dalembert.linear import Roots, StateSpace
from dalembert.linear.transforms.norms import PeakGain, TransferGain
from dalembert.loop.interfaces import Law
from dalembert.numerics.sample_times import slack

SampleTime = Annotated[float, positive, "sample time [s]"]


@result
class GoalValue:
    """One goal on one model: what is reached, and whether it holds."""

    goal: str = column("goal", left=True)
    model: str = column("model", left=True)
    value: float = column("value")
    limit: float = column("limit")
    hard: bool = column("hard")
    holds: bool = column("holds")


@result
class GoalTable:
    """Goals on models, a line each."""

    values: tuple[GoalValue, ...] = rows()


@result
class Synthesis:
    """A controller u = K y of a plant and the properties of its loop; fits ``da.simulate(eqs, controller=...)``.

    Attributes
    ----------
    controller : StateSpace
        K, from the outputs it reads to the inputs it drives (a negative feedback has a negative gain).
    system : StateSpace
        Plant with all its channels.
    disturbances, performance : names of w and z.
    bounds : (lower, upper)
        Of the smallest norm that any controller reaches.
    achieved : float
        Norm from w to z with this controller, of ``norm``: "H-infinity" or "H2".
    peak : PeakGain
        Largest gain from w to z, exact.
    poles : Roots
        Of the closed loop.
    back_off : float
        Excess over the smallest norm that the controller was designed for.
    regularized : texts
        What was added to the problem to make it regular; empty where nothing was.
    judged : StateSpace, optional
        Closed loop whose norm is judged, where it is not that from w to z: of the shaped plant in loop shaping.
    goals : tuple of GoalValue
        Every goal on every model, for controllers of fixed structure.
    """

    controller: StateSpace
    system: Annotated[StateSpace, known_as("system", "a StateSpace")]
    disturbances: tuple[str, ...]
    performance: tuple[str, ...]
    _: KW_ONLY
    method: str
    norm: str = "H-infinity"
    bounds: tuple[float, float] = (0.0, np.inf)
    back_off: float = 0.0
    regularized: tuple[str, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    judged: StateSpace | None = None
    poles: Roots = derived()
    peak: PeakGain = derived()
    achieved: float = derived()

    def __post_init__(self) -> None:
        closed = self.channel()
        peak = closed.hinf_norm()
        assign(
            self, poles=Roots(np.linalg.eigvals(closed.A), self.dt, "pole", {"made by": self.method}), peak=peak,
            achieved=closed.h2_norm() if self.norm == "H2" else peak.gain,
        )  # fmt: skip

    @property
    def dt(self) -> float | None:
        """Sample time [s]; None where the controller acts continuously."""
        return self.system.dt

    @property
    def drives(self) -> tuple[str, ...]:
        """Inputs the law sets."""
        return self.controller.outputs

    @property
    def reads(self) -> tuple[str, ...]:
        """Outputs the law reads."""
        return self.controller.inputs

    @property
    def is_stable(self) -> bool:
        """Whether the closed loop is asymptotically stable."""
        return bool(np.isfinite(self.peak.gain))

    @property
    def grid_peak(self) -> float:
        """Largest gain from w to z on a dense grid of frequencies: never above the exact peak."""
        return max_on_grid(self.channel()) if self.is_stable else np.inf

    @property
    def fastest(self) -> float:
        """Largest modulus of the poles of the loop [rad/s]."""
        return float(self.poles.frequencies.max(initial=0.0))

    def closed_loop(self) -> StateSpace:
        """The plant with the controller: inputs and outputs as before, inputs add to the command."""
        return close_loop(self.system, self.controller)

    def channel(self) -> StateSpace:
        """The closed loop whose norm is judged: from w to z, or that of the shaped plant in loop shaping."""
        if self.judged is not None:
            return self.judged
        return self.closed_loop().select(inputs=self.disturbances, outputs=self.performance)

    @checked
    def loop(self, at: Annotated[str, one_of("inputs", "outputs")] = "inputs") -> StateSpace:
        """The loop opened at the driven inputs, or at the outputs read: once around the loop, sign changed."""
        plant = self.system.select(inputs=self.drives, outputs=self.reads)
        names = [f"{name} fed back" for name in (self.drives if at == "inputs" else self.reads)]
        loop = plant.series(self.controller) if at == "inputs" else self.controller.series(plant)
        return (-loop).replace(outputs=names)

    @checked
    def sampled(self, dt: SampleTime) -> Synthesis:
        """The controller every ``dt`` seconds (Tustin), judged with the plant behind a zero-order hold."""
        return Synthesis(
            self.controller.to_discrete(dt, "tustin"), sample(self.system, dt), self.disturbances, self.performance,
            method=f"{self.method}, sampled", norm=self.norm, bounds=self.bounds, back_off=self.back_off,
            regularized=self.regularized, limits=self.limits,
        )  # fmt: skip

    @checked
    def law(self, *, at: object = None, switched_on: SwitchTime | None = None) -> Law:
        """The law as ``da.simulate`` takes it: u = u₀ + K (y - r), r = y₀ where no reference is set.

        at : {name: value} or a `State`: the operating point, where the model has none.
        """
        return _law(self, at, switched_on)

    def within(self, limits: Ranges) -> Synthesis:
        """The same law with these further limits of its inputs."""
        return replace_fields(self, limits=intersect_limits(self.limits, limits))  # type: ignore[no-any-return]

    def in_deviations(self) -> Synthesis:
        """The same design for the linear model itself, which describes deviations from the operating point only."""
        return replace_fields(self, system=remove_reference(self.system))  # type: ignore[no-any-return]

    def table(self) -> str:
        """What is reached, the bounds, what was regularised, goals and poles."""
        time = "continuous" if self.dt is None else f"every {self.dt:g} s"
        low, high = self.bounds
        size = f"{', '.join(self.drives)} from {', '.join(self.reads)}; {self.controller.nx} states; {time}"
        lines = [["method", self.method], ["controller", size], [f"{self.norm} norm", f"{self.achieved:.6g}"]]
        if high < np.inf:
            lines.append(["smallest norm", f"between {low:.6g} and {high:.6g}; back-off {100 * self.back_off:.3g} %"])
        lines.append(["largest gain", f"{self.peak.gain:.6g} at {self.peak.frequency:.5g} rad/s; "
                                      f"on a grid {self.grid_peak:.6g}"])  # fmt: skip
        lines += [["regularised", text] for text in self.regularized]
        text = align_columns([], lines, left=(0, 1))
        if self.goals:
            text += "\n" + align_columns(*cells(GoalTable(self.goals)), left=(0, 1))
        return f"{text}\nclosed loop\n{self.poles.table()}"

    def __repr__(self) -> str:
        return f"Synthesis: {self.table()}"


def max_on_grid(system: StateSpace, count: int = 400, beyond: float = 100.0) -> float:
    """Largest gain at ``count`` frequencies, evenly spaced in their logarithm, and at the poles, from 0 to infinity.

    beyond : factor by which the grid exceeds the poles on both sides.
    """
    A, B, C, D = system.A, system.B, system.C, system.D
    poles = Roots(np.linalg.eigvals(A), system.dt)
    size = poles.frequencies[(poles.frequencies > 0.0) & np.isfinite(poles.frequencies)]
    if not len(size):
        return float(np.linalg.norm(D, 2)) if D.size else 0.0
    lines = [np.geomspace(size.min() / beyond, size.max() * beyond, count), size, np.abs(poles.continuous.imag)]
    omega = np.concatenate([[0.0], *lines])
    if system.dt is None:
        gain = TransferGain(A, B, C, D)
        return max(float(np.linalg.norm(D, 2)), *(gain(float(w)) for w in omega))
    omega = np.append(omega[omega < np.pi / system.dt], np.pi / system.dt)
    z = np.exp(1j * omega * system.dt)
    return max(float(np.linalg.norm(C @ np.linalg.solve(each * np.eye(len(A)) - A, B) + D, 2)) for each in z)


def _law(design: Synthesis, at: object, switched_on: float | None) -> Law:
    """A sampled controller with direct term reads while its last command acts: D₂₂ u is taken out of its reading."""
    system, K, m, n = design.system, design.controller, len(design.drives), len(design.reads)
    D22 = system.select(inputs=design.drives, outputs=design.reads).D
    acting = K.dt is not None and bool(K.D.any() and D22.any())
    Ak, Bk, Ck, Dk = (np.asarray(each, dtype=float) for each in (K.A, K.B, K.C, K.D))
    if acting:  # u = C x + D (y + D₂₂ u), y the reading without the present command
        both = np.linalg.solve(np.eye(m) - K.D @ D22, np.hstack([K.C, K.D]))
        Ck, Dk = both[:, : K.nx], both[:, K.nx :]
        Ak, Bk = K.A + K.B @ D22 @ Ck, K.B + K.B @ D22 @ Dk
    u0, y0 = reference_values(system, design.drives, at), reference_values(system, design.reads, at)
    read, x, r = ca.MX.sym("reads", n + m * acting), ca.MX.sym("state", K.nx), ca.MX.sym("references", n)
    p, t = ca.MX.sym("p", 0), ca.MX.sym("t")
    y = read[:n] - r
    if acting:
        y -= ca.DM(D22) @ (read[n:] - ca.DM(u0))
    on = 1.0 if switched_on is None else ca.if_else(t - switched_on >= -slack(K.dt or 1.0), 1.0, 0.0)
    state = ca.DM(Ck) @ x if K.nx else ca.MX(m, 1)
    u = apply_limits(on * (state + ca.DM(Dk) @ y) + u0, design.drives, design.limits)
    after = on * (ca.DM(Ak) @ x + ca.DM(Bk) @ y) if K.nx else ca.MX(0, 1)
    function = ca.Function("synthesis", [read, x, r, p, t], [ca.densify(u), ca.densify(after)],
                           ["reads", "state", "references", "p", "t"], ["u", "after"])  # fmt: skip
    rates = {f"{name}.rate": rate for name, rate in system.provenance.get("rates", {}).items()}
    reads = tuple(rates.get(name, name) for name in design.reads)  # as the machine calls them
    references = Channels(reference_names(reads), units_of(system, design.reads))
    return Law(
        design.method, (*reads, *(design.drives if acting else ())), design.drives, function, K.dt,
        state=Channels(K.states, [""] * K.nx), start=(0.0,) * K.nx, references=references,
        direct=bool(K.D.any()), resting=tuple(map(float, y0)),
    )  # fmt: skip


def as_controller(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, outputs: tuple[str, ...], inputs: tuple[str, ...],
    dt: float | None = None,
) -> StateSpace:  # fmt: skip
    """A controller by the names of what it reads and drives."""
    states = [f"controller.{k + 1}" for k in range(len(A))]
    return StateSpace(A, B, C, D, dt, states=states, inputs=outputs, outputs=inputs)
