"""Servo-constraints: inputs that make a machine keep virtual constraints (Udwadia 2003).

The inputs must satisfy J u = r (`virtual_constraints`). The law takes the solution with the least (G u)ᵀ M (G u),
Gauss's measure of the accelerations caused by the control force:

    u = W⁻¹ Jᵀ (J W⁻¹ Jᵀ)⁻¹ r ,     J = A₁ G ,   W = Gᵀ M G .

Pappalardo 2011 appends the unactuated equations of motion as further rows, A = [A₁; M_U], b = [b₁; Q_U], and takes
Q_c = Aᵀ (A M⁻¹ Aᵀ)⁺ (b - A M⁻¹ Q): the same law (:func:`control_forces`), which needs independent coordinates and an
actuator on each of the others. Where J is square both are u = J⁻¹ r.

At a singular pose J has no inverse and the required inputs grow without bound. A run monitors it
(`SingularityMonitor`) and ends there with the reason, unless every driven input has limits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import casadi as ca
import numpy as np

from dalembert.control.servo.realizability import (
    Realizability,
    compute_input_gains,
    compute_singularity_margins,
)
from dalembert.control.servo.virtual_constraints import (
    Damping,
    Frequency,
    VirtualConstraint,
    compute_demand,
    compute_signed_gain,
    constraint_terms,
    read_constraints,
    share_effort,
    solve_inputs,
)
from dalembert.core.arguments import take_names
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.declare import (
    checked,
    indices,
    instance,
    mapping,
    matrix,
    number,
    positive,
    refused_as,
    symmetric,
    vector,
)
from dalembert.core.errors import DataError, ModelError, SimulationWarning, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array, Kernel
from dalembert.loop.interfaces import Law, SingularityMonitor
from dalembert.record import Record

SX = ca.SX


MachineState = Annotated[State, instance(State, advice=[Advice("Make one with {}.", Call("da.assemble"))])]
LawInterval = Annotated[float, refused_as("not-positive", positive), "sample time [s]; None: it acts continuously"]


@checked
def udwadia_kalaba(
    eqs: EquationsOfMotion,
    constraints: Mapping[str, Any],
    *,
    actuated: str | Iterable[str] | None = None,
    frequency: Frequency = 0.0,
    damping: Damping = 1.0,
    dt: LawInterval | None = None,
) -> ServoConstraints:
    """A law with which the actuators of a machine keep virtual constraints.

    Parameters
    ----------
    constraints : name -> function of the state (``lambda s: s["floor3.x"]``), a name of a coordinate (kept at zero), or
        a :class:`VirtualConstraint`.
    actuated : names of the inputs the law drives; None: all. The law reads the others (a measured force).
    frequency, damping : ω [rad/s] and ζ of the decay of deviations. With ω = 0 only accelerations are controlled, and
        a residual speed at switch-on makes the constraint drift.

    Returns
    -------
    ServoConstraints
        A controller for ``da.simulate``.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("cart with pendulum", planar=True)
    >>> cart, bob = m.add_body("cart", mass=1.0, inertia=0.1), m.add_body("bob", mass=0.2, inertia=1e-3)
    >>> rail = m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0), axis=(1, 0))
    >>> hinge = m.add_revolute("hinge", cart.at(0, 0), bob.at(0, 0.5))
    >>> push = m.add_actuator("motor", joint="rail", input="push")
    >>> eqs = da.equations(m)
    >>> law = da.control.udwadia_kalaba(eqs, {"cart at rest": "rail.displacement"}, frequency=5.0)
    >>> start = da.assemble(eqs, {"hinge.angle": 0.5}, velocity={"rail.displacement": 0.0})
    >>> law.inputs_at(start).round(4).tolist()
    [-0.8093]
    """
    return ServoConstraints(require_equations(eqs), read_constraints(constraints, frequency, damping), actuated, dt)


@frozen(init=False)
class ServoConstraints:
    """The law of :func:`udwadia_kalaba`; a controller for ``da.simulate``.

    Attributes
    ----------
    constraints : names, in order.  actuated : inputs it drives.  known : other inputs it reads.
    relations : the `VirtualConstraint` of each, with its frequency and damping.
    """

    eqs: EquationsOfMotion
    constraints: tuple[str, ...]
    actuated: tuple[str, ...]
    known: tuple[str, ...]
    dt: float | None
    relations: tuple[VirtualConstraint, ...]

    def __init__(
        self, eqs: EquationsOfMotion, constraints: Mapping[str, VirtualConstraint], actuated: object, dt: float | None
    ) -> None:
        names = _choose_inputs(eqs, actuated)
        others = [name for name in eqs.inputs.names if name not in names]
        terms, realizable = constraint_terms(eqs, constraints, names)
        used = _find_known_inputs(eqs, terms, others)
        assign(
            self, eqs=eqs, constraints=tuple(constraints), actuated=tuple(names), known=tuple(used), dt=dt,
            relations=tuple(constraints.values()), _terms=terms,
        )  # fmt: skip
        if len(names) < len(constraints):
            raise ModelError(
                "too-few-inputs",
                f"{len(constraints)} virtual constraints cannot be kept by {len(names)} input"
                f"{'s' if len(names) > 1 else ''} ({', '.join(names)}): give at most as many constraints as inputs.",
            )
        if not realizable.all():
            name = tuple(constraints)[int(np.flatnonzero(~realizable)[0])]
            raise ModelError(
                "not-realizable",
                f"virtual constraint {name!r} is not realizable: none of the inputs {', '.join(names)} acts on its "
                "acceleration. Use another actuator, or a constraint between coordinates that the inputs move.",
            )
        if not self._independent():
            raise ModelError(
                "not-realizable",
                f"{', '.join(names)} cannot keep {', '.join(constraints)} at any pose: the constraints depend on each "
                "other, or the inputs act along fewer directions than there are constraints. Leave one out.",
            )

    def _independent(self, never: float = 1e-7) -> bool:
        """Whether the inputs can keep the constraints at some pose near the drawing of the model.

        never : margin that at least one of eight random poses exceeds, unless no pose does.
        """
        eqs, random = self.eqs, np.random.default_rng(0)
        drawn = eqs.state()
        q, v, z = (x + 0.3 * random.normal(size=(8, len(x))) for x in (drawn.q, drawn.v, drawn.z))
        J, W, _, _, Y, _ = self._evaluate(q, v, z, np.zeros((8, eqs.nu)), np.linspace(0.0, 1.0, 8))
        return bool(compute_singularity_margins(J, W, Y)[:, -1].max() > never)

    @property
    def reads(self) -> tuple[str, ...]:
        eqs = self.eqs
        return (*eqs.coordinates.names, *eqs.speeds.names, *eqs.internal.names, *self.known)

    def law(self) -> Law:
        """The law as `da.simulate` takes it: reads the whole state and the other inputs."""
        eqs = self.eqs
        x = SX.sym("x", len(self.reads))
        memory, references, p, t = SX.sym("m", 0), SX.sym("r", 0), SX.sym("p", len(eqs.parameters)), SX.sym("t")
        q, v, z, w = ca.vertsplit(x, [0, *np.cumsum([eqs.nq, eqs.nv, eqs.nz, len(self.known)]).tolist()])
        u = ca.vertcat(*[w[self.known.index(n)] if n in self.known else SX(0) for n in eqs.inputs.names])
        J, W, r, _, _, size = self._terms(q, v, z, u, p, t)  # type: ignore[attr-defined]
        arguments = [x, memory, references, p, t]
        outputs = [solve_inputs(J, W, r), memory, compute_signed_gain(J, W), compute_demand(r, size)]
        function = ca.Function("servo", arguments, outputs[:2], {"cse": True})
        monitored = ca.Function("monitored", arguments, outputs, {"cse": True})
        return Law(
            "servo-constraints", self.reads, self.actuated, function, dt=self.dt,
            parameters=tuple(float(value) for value in eqs.p),
            monitor=SingularityMonitor(monitored, self._explain_singularity),
        )  # fmt: skip

    def _explain_singularity(self, reads: Array, t: float, along: float = 0.05) -> str:
        """The message of a run that reaches a singular pose.

        along : margin there above which the constraints are singular, not the inputs.
        """
        eqs = self.eqs
        q, v, z, w = np.split(np.asarray(reads, dtype=float), np.cumsum([eqs.nq, eqs.nv, eqs.nz]))
        J, W, r, _, Y, _ = self._evaluate(q, v, z, self._read_inputs(dict(zip(self.known, w, strict=True))), t)
        required = _solve_numerically(J[0], W[0], r[0])
        needed = ", ".join(f"{name} = {u:.3g} {eqs.inputs.units[eqs.inputs.index[name]]}".strip()
                           for name, u in zip(self.actuated, required, strict=True))  # fmt: skip
        pose = repr(eqs.state(q, v, z, t)).partition(", t=")[2].partition(", ")[2].rstrip(")")
        cosine = float(compute_singularity_margins(J, W, Y)[0, -1])
        task = f"{', '.join(self.actuated)} cannot keep {', '.join(map(repr, self.constraints))}"
        gain = float(compute_input_gains(J, W)[0, -1])
        why = (
            f"smallest singular value {gain:.2g} of the law's matrix A₁G, inputs scaled by the "
            f"inertia they move, where a force along the constraints has {gain / max(cosine, 1e-300):.2g}"
        )
        if cosine > along:
            why = f"∂φ/∂q almost vanishes there, smallest singular value {gain:.2g} of the law's matrix"
        return f"{task} at a pose like this ({pose}): {why}; required: {needed}"

    # -- properties ------------------------------------------------------------------------------------------------
    @checked
    def inputs_at(self, state: MachineState, inputs: Mapping[str, float] | None = None) -> FloatArray:
        """Inputs of the law at a state, for given values of the other inputs (zero where left out)."""
        u = self._read_inputs(inputs)
        J, W, r, _, Y, _ = self._evaluate(state.q, state.v, state.z, u, state.t)
        if _has_no_digit(compute_singularity_margins(J, W, Y)):
            raise ModelError(
                "singular-pose",
                f"{', '.join(self.actuated)} cannot keep {', '.join(self.constraints)} at this state: they act along "
                "fewer directions there than there are constraints (a singular pose). Start or stay away from it.",
            )
        return _solve_numerically(J[0], W[0], r[0])

    def examine(self, record: Record) -> Realizability:
        """Singularity margin along a run, the required inputs, and the residuals of the constraints.

        Warns where the required inputs are out of proportion.
        """
        eqs = self.eqs
        if not isinstance(record, Record):
            raise DataError("wrong-type", f"examine needs the Record of a run, got {type(record).__name__}.")
        q, v, z, u = (
            record[list(names)].reshape(len(record.time), len(names))
            for names in (eqs.coordinates.names, eqs.speeds.names, eqs.internal.names, eqs.inputs.names)
        )
        J, W, r, _, Y, _ = self._evaluate(q, v, z, u, record.time)
        places = [eqs.inputs.index[name] for name in self.actuated]
        left = np.einsum("kij,kj->ki", J, u[:, places]) - r
        needed = np.array([_solve_numerically(*each) for each in zip(J, W, r, strict=True)])
        square = len(self.constraints) == len(self.actuated)
        sign = np.linalg.slogdet(J)[0] if square else np.ones(len(J))
        report = Realizability(
            constraints=self.constraints, actuated=self.actuated, units=tuple(eqs.inputs.units[k] for k in places),
            time=record.time, singularity_margin=compute_singularity_margins(J, W, Y)[:, -1],
            input_gains=compute_input_gains(J, W), sign=sign, inputs=needed,
            effort=np.sqrt(np.maximum(np.einsum("ki,kij,kj->k", needed, W, needed), 0.0)), residual=np.abs(left),
        )  # fmt: skip
        if report.singular_at is not None or report.out_of_proportion:
            code = "singular-pose" if report.singular_at is not None else "out-of-range"
            verdict = f"servo-constraints on {eqs.name!r}: {report.verdict()}."
            warnings.warn(SimulationWarning(code, verdict), stacklevel=2)
        return report

    def _read_inputs(self, inputs: Mapping[str, float] | None) -> FloatArray:
        u = np.zeros(self.eqs.nu)
        for name, value in mapping("input", number)("inputs", inputs).items():
            require_name("input", name, self.eqs.inputs.names, f"equations {self.eqs.name!r}", error=ModelError)
            u[self.eqs.inputs.index[name]] = value
        return u

    def _evaluate(self, q: object, v: object, z: object, u: object, t: object) -> tuple[Array, ...]:
        """J (k, m, n), W (k, n, n), r (k, m) without the driven inputs, φ (k, m), Y (k, m, m), |r|' (k, m)."""
        eqs = self.eqs
        free = np.array(u, dtype=float).reshape(-1, eqs.nu)
        free[:, [eqs.inputs.index[name] for name in self.actuated]] = 0.0
        kernel = eqs.cache(("servo", self._terms.serialize()), lambda: Kernel(self._terms))  # type: ignore[attr-defined]
        times = np.asarray(t, dtype=float).reshape(-1, 1)
        k, m, n = len(times), len(self.constraints), len(self.actuated)
        q, v, z = (np.asarray(x, dtype=float).reshape(k, size) for x, size in ((q, eqs.nq), (v, eqs.nv), (z, eqs.nz)))
        J, W, r, phi, Y, size = kernel.many(q, v, z, free, eqs.p, times)
        shapes = ((m, n), (n, n), (m,), (m,), (m, m), (m,))
        return tuple(part.reshape(k, *shape) for part, shape in zip((J, W, r, phi, Y, size), shapes, strict=True))

    def table(self) -> str:
        lines = [f"keeps {', '.join(self.constraints)} by {', '.join(self.actuated)}"]
        if self.known:
            lines.append(f"reads {', '.join(self.known)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ServoConstraints of {self.eqs.name!r}: {self.table()}"


def _has_no_digit(margins: FloatArray, rounding: float = 1e-10) -> bool:
    """Whether a single pose is singular to ``rounding``, so that its inputs have no digit left."""
    return not margins[0, -1] > rounding


def _choose_inputs(eqs: EquationsOfMotion, actuated: Any) -> list[str]:
    names = list(eqs.inputs.names if actuated is None else take_names("input", actuated))
    if not names:
        raise ModelError(
            "no-actuator",
            f"equations {eqs.name!r} have no input to drive.",
            Advice("Add_actuator or add_force with {}...", Argument("input")),
        )
    for name in names:
        require_name("input", name, eqs.inputs.names, f"equations {eqs.name!r}", error=ModelError)
    if len(set(names)) < len(names):
        raise ModelError("duplicate", f"an input is named twice: {', '.join(names)}.")
    return names


def _find_known_inputs(eqs: EquationsOfMotion, terms: ca.Function, others: list[str]) -> list[str]:
    """Inputs besides its own that the law must read."""
    columns = set(terms.jac_sparsity(2, 3).get_col())
    return [name for name in others if eqs.inputs.index[name] in columns]


def _solve_numerically(J: FloatArray, W: FloatArray, r: FloatArray) -> FloatArray:
    """u of `virtual_constraints.solve_inputs`; infinite where there is none."""
    try:
        if J.shape[0] == J.shape[1]:
            return np.asarray(np.linalg.solve(J, r))
        back = np.linalg.solve(share_effort(W, np.diag(np.diag(W))), J.T)
        return np.asarray(back @ np.linalg.solve(J @ back, r))
    except np.linalg.LinAlgError:
        return np.full(J.shape[1], np.inf)


@checked
def control_forces(
    M: Annotated[FloatArray, symmetric("n", definite=True), "inertia of independent coordinates"],
    Q: Annotated[FloatArray, vector("n"), "forces"],
    A: Annotated[FloatArray, matrix("m", "n", vector="row"), "virtual constraints A q̈ = b"],
    b: Annotated[FloatArray, vector("m")],
    unactuated: Annotated[Iterable[int], indices("n"), "coordinates without a control force"] = (),
) -> tuple[FloatArray, FloatArray]:
    """Q_c and a_c = M⁻¹ Q_c of the extended Udwadia-Kalaba method in independent coordinates.

    Rows of ``unactuated`` coordinates are appended, so that no control force acts there: the general formula with the
    Moore-Penrose inverse, for any number of rows.
    """
    free = list(unactuated)
    rows, right = np.vstack([A, M[free]]), np.concatenate([b, Q[free]])
    root = np.linalg.cholesky(M)
    scaled = np.linalg.solve(root, rows.T).T  # A M^(-1/2)
    inverse = np.linalg.pinv(scaled, rcond=1e-10)  # a singular value that is singular to rounding
    part = inverse @ (right - rows @ np.linalg.solve(M, Q))
    return root @ part, np.linalg.solve(root.T, part)
