"""Servo-constraints: inputs that make a machine keep virtual constraints (Udwadia 2003).

What is wanted is J u = r (`virtual_constraints`). Of all inputs that do it those with the least (G u)ᵀ M (G u) are
taken, Gauss's measure of what the control force changes:

    u = W⁻¹ Jᵀ (J W⁻¹ Jᵀ)⁻¹ r ,     J = A₁ G ,   W = Gᵀ M G .

Pappalardo 2011 appends the unactuated equations of motion as further rows, A = [A₁; M_U], b = [b₁; Q_U], and takes
Q_c = Aᵀ (A M⁻¹ Aᵀ)⁺ (b - A M⁻¹ Q): the same law (:func:`control_forces`), which needs independent coordinates and an
actuator on each of the others. Where J is square both are u = J⁻¹ r.

At a singular pose J has no inverse and what is asked for grows without bound. A run monitors it (`SingularityMonitor`)
and ends there with the reason, unless every driven input has limits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.control.servo.realizability import Realizability, grips, levers
from dalembert.control.servo.virtual_constraints import (
    ALIKE,
    VirtualConstraint,
    constraint_terms,
    demand,
    follows,
    hold,
    read_constraints,
    solved,
)
from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array, Kernel
from dalembert.expressions.quantities import is_real
from dalembert.loop.interfaces import Law, SingularityMonitor
from dalembert.record import Record

SX = ca.SX
NEVER = 1e-7  # grip that eight poses at random exceed, unless no pose does
RANK = 1e-10  # grip below which a pose is singular to rounding
ALONG = 0.05  # grip above which it is not the inputs but the constraints that fail


def udwadia_kalaba(
    eqs: EquationsOfMotion,
    constraints: Mapping[str, Any],
    *,
    actuated: str | Iterable[str] | None = None,
    frequency: float = 0.0,
    damping: float = 1.0,
    dt: float | None = None,
) -> ServoConstraints:
    """A law that makes a machine keep virtual constraints with the actuators it has.

    Parameters
    ----------
    constraints : name -> function of the state (``lambda s: s["floor3.x"]``), a name of a coordinate (kept at zero), or
        a :class:`VirtualConstraint`.
    actuated : names of the inputs the law drives; None: all. What the others do is read (a measured force).
    frequency, damping : ω [rad/s] and ζ with which deviations die out. Without (ω = 0) accelerations alone are held,
        and a speed that is left at switch-on makes the constraint drift.
    dt : sample time [s] of the law; None: it acts continuously.

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
    >>> law = da.control.udwadia_kalaba(eqs, {"cart stands": "rail.displacement"}, frequency=5.0)
    >>> start = da.assemble(eqs, {"hinge.angle": 0.5}, velocity={"rail.displacement": 0.0})
    >>> law.inputs_at(start).round(4).tolist()
    [-0.8093]
    """
    return ServoConstraints(require_equations(eqs), read_constraints(constraints, frequency, damping), actuated, dt)


def computed_torque(
    eqs: EquationsOfMotion,
    motion: Mapping[str, Any],
    *,
    actuated: str | Iterable[str] | None = None,
    frequency: float,
    damping: float = 1.0,
    dt: float | None = None,
) -> ServoConstraints:
    """Inverse-dynamics control: coordinates follow given functions of time, errors die out with ω and ζ.

    motion : coordinate -> function of time or number.  frequency, damping : of ë + 2 ζ ω ė + ω² e = 0.
    Other arguments as for :func:`udwadia_kalaba`, which this is with one constraint per coordinate.
    """
    require_equations(eqs)
    if not (is_real(frequency) and frequency > 0.0):
        raise ModelError("not-positive", f"frequency must be positive [rad/s], got {frequency!r}.")
    if not isinstance(motion, Mapping):
        raise ModelError("wrong-type", f"motion must be a mapping of coordinates to functions of time; got {motion!r}.")
    wanted: dict[str, Any] = {}
    for name, value in motion.items():
        wanted[name] = VirtualConstraint(follows(name, value), frequency=frequency, damping=damping)
    return ServoConstraints(eqs, read_constraints(wanted, frequency, damping), actuated, dt)


@frozen(init=False)
class ServoConstraints:
    """The law of :func:`udwadia_kalaba`; a controller for ``da.simulate``.

    Attributes
    ----------
    constraints : names, in order.  actuated : inputs it drives.  known : inputs it must be told.
    """

    eqs: EquationsOfMotion
    constraints: tuple[str, ...]
    actuated: tuple[str, ...]
    known: tuple[str, ...]
    dt: float | None

    def __init__(
        self, eqs: EquationsOfMotion, constraints: Mapping[str, VirtualConstraint], actuated: Any, dt: float | None
    ) -> None:
        if dt is not None and not (is_real(dt) and 0 < dt < np.inf):
            raise DataError(
                "not-positive", f"dt is the sample time of the law in seconds, above 0, or None; got {dt!r}."
            )
        names = _inputs(eqs, actuated)
        others = [name for name in eqs.inputs.names if name not in names]
        terms, realizable = constraint_terms(eqs, constraints, names)
        used = _inputs_felt(eqs, terms, others)
        assign(
            self, eqs=eqs, constraints=tuple(constraints), actuated=tuple(names), known=tuple(used), dt=dt, _terms=terms
        )
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
                "acceleration. Use another actuator, or a constraint between what the inputs move.",
            )
        if not self._independent():
            raise ModelError(
                "not-realizable",
                f"{', '.join(names)} cannot keep {', '.join(constraints)} at any pose: the constraints depend on each "
                "other, or the inputs push along fewer directions than there are constraints. Leave one out.",
            )

    def _independent(self) -> bool:
        """Whether the inputs can keep the constraints at some pose near the drawing's."""
        eqs, random = self.eqs, np.random.default_rng(0)
        q, v, z = (
            np.asarray(x) + 0.3 * random.normal(size=(8, len(x)))
            for x in (eqs.placement.q, np.zeros(eqs.nv), eqs.placement.z)
        )
        J, W, _, _, Y, _ = self._values(q, v, z, np.zeros((8, eqs.nu)), np.linspace(0.0, 1.0, 8))
        return bool(grips(J, W, Y)[:, -1].max() > NEVER)

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
        outputs = [solved(J, W, r), memory, hold(J, W), demand(r, size)]
        function = ca.Function("servo", arguments, outputs[:2], {"cse": True})
        monitored = ca.Function("monitored", arguments, outputs, {"cse": True})
        return Law(
            "servo-constraints", self.reads, self.actuated, function, dt=self.dt,
            parameters=tuple(float(value) for value in eqs.p),
            monitor=SingularityMonitor(monitored, self._explain_singularity),
        )  # fmt: skip

    def _explain_singularity(self, reads: Array, t: float) -> str:
        """What a run says of the pose at which the inputs lost their grip."""
        eqs = self.eqs
        q, v, z, w = np.split(np.asarray(reads, dtype=float), np.cumsum([eqs.nq, eqs.nv, eqs.nz]))
        J, W, r, _, Y, _ = self._values(q, v, z, self._others(dict(zip(self.known, w, strict=True))), t)
        asked = _numeric(J[0], W[0], r[0])
        needed = ", ".join(f"{name} = {u:.3g} {eqs.inputs.units[eqs.inputs.index[name]]}".strip()
                           for name, u in zip(self.actuated, asked, strict=True))  # fmt: skip
        pose = repr(eqs.state(q, v, z, t)).partition(", t=")[2].partition(", ")[2].rstrip(")")
        cosine, kept = float(grips(J, W, Y)[0, -1]), ", ".join(map(repr, self.constraints))
        why = (
            f"smallest singular value {levers(J, W)[0, -1]:.2g} of the law's matrix A₁G, inputs in units of what they "
            f"move, where a push straight along the constraints has {levers(J, W)[0, -1] / max(cosine, 1e-300):.2g}"
        )
        if cosine > ALONG:
            why = f"∂φ/∂q all but vanishes there, smallest singular value {levers(J, W)[0, -1]:.2g} of the law's matrix"
        return (
            f"{', '.join(self.actuated)} cannot keep {kept} at a pose like this ({pose}): {why}; {needed} is asked for"
        )

    # -- questions -------------------------------------------------------------------------------------------------
    def inputs_at(self, state: State, inputs: Mapping[str, float] | None = None) -> FloatArray:
        """What the law asks of its inputs at a state, the others being given (zero where left out)."""
        if not isinstance(state, State):
            raise DataError(
                "wrong-type",
                f"a state of {self.eqs.name!r} is needed, got {type(state).__name__}.",
                Advice("Make one with {}.", Call("da.assemble")),
            )
        u = self._others(inputs)
        J, W, r, _, Y, _ = self._values(state.q, state.v, state.z, u, state.t)
        if not grips(J, W, Y)[0, -1] > RANK:
            raise ModelError(
                "singular-pose",
                f"{', '.join(self.actuated)} cannot keep {', '.join(self.constraints)} at this state: they push along "
                "fewer directions there than there are constraints (a singular pose). Start or stay away from it.",
            )
        return _numeric(J[0], W[0], r[0])

    def examine(self, run: Record) -> Realizability:
        """How well the inputs can do it along a run, what they need, and what was left of the constraints.

        Warns where what is needed is out of proportion.
        """
        eqs = self.eqs
        if not isinstance(run, Record):
            raise DataError("wrong-type", f"examine looks at the Record of a run, got {type(run).__name__}.")
        q, v, z, u = (
            run[list(names)].reshape(len(run.time), len(names))
            for names in (eqs.coordinates.names, eqs.speeds.names, eqs.internal.names, eqs.inputs.names)
        )
        J, W, r, _, Y, _ = self._values(q, v, z, u, run.time)
        places = [eqs.inputs.index[name] for name in self.actuated]
        left = np.einsum("kij,kj->ki", J, u[:, places]) - r
        needed = np.array([_numeric(*each) for each in zip(J, W, r, strict=True)])
        square = len(self.constraints) == len(self.actuated)
        sign = np.linalg.slogdet(J)[0] if square else np.ones(len(J))
        report = Realizability(
            constraints=self.constraints, actuated=self.actuated, units=tuple(eqs.inputs.units[k] for k in places),
            time=run.time, grip=grips(J, W, Y)[:, -1], levers=levers(J, W), sign=sign, inputs=needed,
            effort=np.sqrt(np.maximum(np.einsum("ki,kij,kj->k", needed, W, needed), 0.0)), residual=np.abs(left),
        )  # fmt: skip
        if report.singular_at is not None or report.out_of_proportion:
            warnings.warn(f"servo-constraints on {eqs.name!r}: {report.verdict()}.", stacklevel=2)
        return report

    def _others(self, inputs: Mapping[str, float] | None) -> FloatArray:
        u = np.zeros(self.eqs.nu)
        for name, value in (inputs or {}).items():
            if name not in self.eqs.inputs.index:
                raise ModelError(
                    "unknown-name", unknown_name("input", name, self.eqs.inputs.names, f"equations {self.eqs.name!r}")
                )
            u[self.eqs.inputs.index[name]] = real_number(f"input {name!r}", value)
        return u

    def _values(self, q: Any, v: Any, z: Any, u: Any, t: Any) -> tuple[Array, ...]:
        """J (k, m, n), W (k, n, n), r (k, m) without the driven inputs, φ (k, m), Y (k, m, m), |r|' (k, m)."""
        eqs = self.eqs
        free = np.array(u, dtype=float).reshape(-1, eqs.nu)
        free[:, [eqs.inputs.index[name] for name in self.actuated]] = 0.0
        kernel = eqs.cached(("servo", self._terms.serialize()), lambda: Kernel(self._terms, native=self._terms))  # type: ignore[attr-defined]
        times = np.asarray(t, dtype=float).reshape(-1, 1)
        k, m, n = len(times), len(self.constraints), len(self.actuated)
        q, v, z = (np.asarray(x, dtype=float).reshape(k, size) for x, size in ((q, eqs.nq), (v, eqs.nv), (z, eqs.nz)))
        J, W, r, phi, Y, size = kernel.many(q, v, z, free, eqs.p, times)
        shapes = ((m, n), (n, n), (m,), (m,), (m, m), (m,))
        return tuple(part.reshape(k, *shape) for part, shape in zip((J, W, r, phi, Y, size), shapes, strict=True))

    def table(self) -> str:
        lines = [f"keeps {', '.join(self.constraints)} by {', '.join(self.actuated)}"]
        if self.known:
            lines.append(f"needs to know {', '.join(self.known)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ServoConstraints of {self.eqs.name!r}: {self.table()}"


def _inputs(eqs: EquationsOfMotion, actuated: Any) -> list[str]:
    if actuated is None:
        names = list(eqs.inputs.names)
    else:
        names = [actuated] if isinstance(actuated, str) else list(actuated)
    if not names:
        raise ModelError(
            "no-actuator",
            f"equations {eqs.name!r} have no input to drive.",
            Advice("Add_actuator or add_force with {}...", Argument("input")),
        )
    for name in names:
        if name not in eqs.inputs.index:
            raise ModelError("unknown-name", unknown_name("input", name, eqs.inputs.names, f"equations {eqs.name!r}"))
    if len(set(names)) < len(names):
        raise ModelError("duplicate", f"an input is named twice: {', '.join(names)}.")
    return names


def _inputs_felt(eqs: EquationsOfMotion, terms: ca.Function, others: list[str]) -> list[str]:
    """Inputs besides its own that the law must know."""
    columns = set(terms.jac_sparsity(2, 3).get_col())
    return [name for name in others if eqs.inputs.index[name] in columns]


def _numeric(J: FloatArray, W: FloatArray, r: FloatArray) -> FloatArray:
    """u of `virtual_constraints.solved`; infinite where there is none."""
    try:
        if J.shape[0] == J.shape[1]:
            return np.asarray(np.linalg.solve(J, r))
        back = np.linalg.solve(W + ALIKE * np.diag(np.diag(W)), J.T)
        return np.asarray(back @ np.linalg.solve(J @ back, r))
    except np.linalg.LinAlgError:
        return np.full(J.shape[1], np.inf)
