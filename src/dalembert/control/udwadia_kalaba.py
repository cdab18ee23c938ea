"""Servo-constraints: inputs that make a machine keep virtual constraints (spec 000, 75; Udwadia and Kalaba).

A machine M v̇ = f + B u + Aᵀλ, A v̇ = b, answers its inputs by v̇ = a + G u, with a its motion without them (joints
included). Virtual constraints φ(q,t) = 0 or c(q,v,t) = 0 are wanted at acceleration level, with feedback on what is
left of them,

    φ̈ = A₁ v̇ + β = -2 ζ ω φ̇ - ω² φ ,      ċ = A₁ v̇ + β = -ω c        so        (A₁ G) u = r = b₁ - β - A₁ a ,

and of all inputs that do it those with the least (G u)ᵀ M (G u), Gauss's measure of what the control force changes:

    u = W⁻¹ Jᵀ (J W⁻¹ Jᵀ)⁻¹ r ,     J = A₁ G ,   W = Gᵀ M G .

The source appends the unactuated equations of motion as further rows, A = [A₁; M_U], b = [b₁; Q_U], and takes
Q_c = Aᵀ (A M⁻¹ Aᵀ)⁺ (b - A M⁻¹ Q): the same law (:func:`control_forces`), which needs independent coordinates and an
actuator on each of the others. Where J is square both are u = J⁻¹ r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion, Law, State, require_equations
from dalembert.errors import ModelError, unknown_name
from dalembert.expressions import Array, Kernel, call_user, one_value
from dalembert.linear.checks import FloatArray, Frozen
from dalembert.linear.tables import aligned
from dalembert.record import Record
from dalembert.solve.constrained import forward_function
from dalembert.solve.events import EventView

SX = ca.SX
POOR = 1e8  # condition of J with rows and columns of like size: above it the inputs cannot do what is asked
RANK = 1e-10
ALIKE = 1e-8  # of W: what is added to its diagonal, so that inputs with the same effect share the work


@dataclass(frozen=True)
class VirtualConstraint:
    """A relation the inputs shall keep.

    function : of the state ``s`` (``s["floor3.x"]``, ``s.t``, ...), called once with symbols; zero where it is kept.
    level : "position" (φ) or "velocity" (c).
    frequency, damping : ω [rad/s] and ζ of how what is left of it dies out; ω = 0: only its acceleration is held.
    """

    function: Callable[[Any], Any]
    level: str = "position"
    frequency: float = 0.0
    damping: float = 1.0

    def __post_init__(self) -> None:
        if self.level not in ("position", "velocity"):
            raise ModelError(f"level of a virtual constraint is 'position' or 'velocity', not {self.level!r}.")
        if not callable(self.function):
            raise ModelError(f"a virtual constraint needs a function of the state, got {self.function!r}.")
        if not (self.frequency >= 0.0 and self.damping >= 0.0):
            raise ModelError("frequency and damping of a virtual constraint must not be negative.")


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
        and a speed that is left at switch-on makes the constraint drift (trap T-23).
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
    >>> push = m.add_torque("motor", joint="rail", input="push")
    >>> eqs = da.equations(m)
    >>> law = da.control.udwadia_kalaba(eqs, {"cart stands": "rail.displacement"}, frequency=5.0)
    >>> start = da.assemble(eqs, {"hinge.angle": 0.5}, velocity={"rail.displacement": 0.0})
    >>> law.inputs_at(start).round(4).tolist()
    [-0.8093]
    """
    return ServoConstraints(eqs, _read(require_equations(eqs), constraints, frequency, damping), actuated, dt)


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
    if frequency <= 0.0:
        raise ModelError(f"frequency must be positive [rad/s], got {frequency!r}.")
    wanted: dict[str, Any] = {}
    for name, value in motion.items():
        wanted[name] = VirtualConstraint(_follows(name, value), frequency=frequency, damping=damping)
    return ServoConstraints(eqs, _read(eqs, wanted, frequency, damping), actuated, dt)


def _follows(name: str, value: Any) -> Callable[[Any], Any]:
    return lambda s: s[name] - (call_user(value, f"motion of {name!r}", s.t) if callable(value) else value)


def _read(
    eqs: EquationsOfMotion, given: Mapping[str, Any], frequency: float, damping: float
) -> dict[str, VirtualConstraint]:
    if not isinstance(given, Mapping) or not given:
        raise ModelError("constraints must name at least one: {'top stands still': lambda s: s['floor3.x']}.")
    found = {}
    for name, what in given.items():
        if isinstance(what, str):
            what = _follows(what, 0.0)
        if not isinstance(what, VirtualConstraint):
            what = VirtualConstraint(what, frequency=frequency, damping=damping)
        found[str(name)] = what
    return found


class ServoConstraints(Frozen):
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
        names = _inputs(eqs, actuated)
        others = [name for name in eqs.inputs.names if name not in names]
        terms, realizable = _terms(eqs, constraints, names)
        used = _inputs_felt(eqs, terms, others)
        self._freeze(
            eqs=eqs, constraints=tuple(constraints), actuated=tuple(names), known=tuple(used), dt=dt, _terms=terms
        )
        if len(names) < len(constraints):
            raise ModelError(
                f"{len(constraints)} virtual constraints cannot be kept by {len(names)} input"
                f"{'s' if len(names) > 1 else ''} ({', '.join(names)}): give at most as many constraints as inputs."
            )
        if not realizable.all():
            name = tuple(constraints)[int(np.flatnonzero(~realizable)[0])]
            raise ModelError(
                f"virtual constraint {name!r} is not realizable: none of the inputs {', '.join(names)} acts on its "
                "acceleration. Use another actuator, or a constraint between what the inputs move."
            )

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
        J, W, r, _ = self._terms(q, v, z, u, p, t)  # type: ignore[attr-defined]
        function = ca.Function("servo", [x, memory, references, p, t], [_solved(J, W, r), memory], {"cse": True})
        return Law(
            "servo-constraints", self.reads, self.actuated, function, dt=self.dt,
            parameters=tuple(float(value) for value in eqs.p),
        )  # fmt: skip

    # -- questions -------------------------------------------------------------------------------------------------
    def inputs_at(self, state: State, inputs: Mapping[str, float] | None = None) -> FloatArray:
        """What the law asks of its inputs at a state, the others being given (zero where left out)."""
        u = self._others(inputs)
        J, W, r, _ = self._values(state.q, state.v, state.z, u, state.t)
        if not _conditions(J, W)[0] < 1.0 / RANK:
            raise ModelError(
                f"{', '.join(self.actuated)} cannot keep {', '.join(self.constraints)} at this state: they push along "
                "fewer directions there than there are constraints (a singular pose). Start or stay away from it."
            )
        return _numeric(J[0], W[0], r[0])

    def examine(self, run: Record) -> Realizability:
        """How well the inputs can do it along a run, and what was left of the constraints."""
        eqs = self.eqs
        q, v, z, u = (
            run[list(names)].reshape(len(run.time), len(names))
            for names in (eqs.coordinates.names, eqs.speeds.names, eqs.internal.names, eqs.inputs.names)
        )
        J, W, r, _ = self._values(q, v, z, u, run.time)
        acting = u[:, [eqs.inputs.index[name] for name in self.actuated]]
        left = np.einsum("kij,kj->ki", J, acting) - r
        return Realizability(self.constraints, run.time, _conditions(J, W), np.abs(left))

    def _others(self, inputs: Mapping[str, float] | None) -> FloatArray:
        u = np.zeros(self.eqs.nu)
        for name, value in (inputs or {}).items():
            if name not in self.eqs.inputs.index:
                raise ModelError(unknown_name("input", name, self.eqs.inputs.names, f"equations {self.eqs.name!r}"))
            u[self.eqs.inputs.index[name]] = value
        return u

    def _values(self, q: Any, v: Any, z: Any, u: Any, t: Any) -> tuple[Array, Array, Array, Array]:
        """J (k, m, n), W (k, n, n), r (k, m) without the driven inputs, φ (k, m) at some instants."""
        eqs = self.eqs
        free = np.array(u, dtype=float).reshape(-1, eqs.nu)
        free[:, [eqs.inputs.index[name] for name in self.actuated]] = 0.0
        kernel = eqs.cached(("servo", self._terms.serialize()), lambda: Kernel(self._terms, native=self._terms))  # type: ignore[attr-defined]
        times = np.asarray(t, dtype=float).reshape(-1, 1)
        k, m, n = len(times), len(self.constraints), len(self.actuated)
        q, v, z = (np.asarray(x, dtype=float).reshape(k, size) for x, size in ((q, eqs.nq), (v, eqs.nv), (z, eqs.nz)))
        J, W, r, phi = kernel.many(q, v, z, free, eqs.p, times)
        return J.reshape(k, m, n), W.reshape(k, n, n), r.reshape(k, m), phi.reshape(k, m)

    def table(self) -> str:
        lines = [f"keeps {', '.join(self.constraints)} by {', '.join(self.actuated)}"]
        if self.known:
            lines.append(f"needs to know {', '.join(self.known)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ServoConstraints of {self.eqs.name!r}: {self.table()}"


class Realizability(Frozen):
    """Whether inputs could keep virtual constraints along a run.

    time : (N,) [s].  condition : (N,) of the map from inputs to constraint accelerations, inf where it is singular.
    residual : (N, m), |A₁ v̇ - b₁| at every sample.
    """

    constraints: tuple[str, ...]
    time: FloatArray
    condition: FloatArray
    residual: FloatArray

    def __init__(self, constraints: tuple[str, ...], time: Any, condition: Any, residual: Any) -> None:
        self._freeze(constraints=constraints, time=time, condition=condition, residual=residual)

    @property
    def singular_at(self) -> float | None:
        """The first time at which the inputs cannot do what is asked; None where there is none."""
        bad = np.flatnonzero(self.condition > POOR)
        return float(self.time[bad[0]]) if len(bad) else None

    def table(self) -> str:
        rows = [[name, f"{self.residual[:, k].max():.3g}"] for k, name in enumerate(self.constraints)]
        where = self.singular_at
        told = "the inputs can do it everywhere" if where is None else f"singular from t = {where:.4g} s"
        worst = f"largest condition number {self.condition.max():.3g}"
        return f"{aligned(['constraint', 'largest residual'], rows)}\n{told}; {worst}"

    def __repr__(self) -> str:
        return f"Realizability\n{self.table()}"


# -- the law as an expression ----------------------------------------------------------------------------------------


def _inputs(eqs: EquationsOfMotion, actuated: Any) -> list[str]:
    if actuated is None:
        names = list(eqs.inputs.names)
    else:
        names = [actuated] if isinstance(actuated, str) else list(actuated)
    if not names:
        raise ModelError(f"equations {eqs.name!r} have no input to drive: add_force or add_torque with input=...")
    for name in names:
        if name not in eqs.inputs.index:
            raise ModelError(unknown_name("input", name, eqs.inputs.names, f"equations {eqs.name!r}"))
    if len(set(names)) < len(names):
        raise ModelError(f"an input is named twice: {', '.join(names)}.")
    return names


def _terms(
    eqs: EquationsOfMotion, constraints: Mapping[str, VirtualConstraint], actuated: list[str]
) -> tuple[ca.Function, np.ndarray]:
    """(q, v, z, u, p, t) -> J, W, r, φ; and per constraint whether any input acts on it at all."""
    view = EventView(eqs)
    q, v, a, lam, z, u, p, t = view.arguments
    N, n = eqs.functions["kinematics"](q, p, t)
    rate = N @ v + n
    places = [eqs.inputs.index[name] for name in actuated]
    _, motion, *_ = forward_function(eqs)(q, v, z, u, p, t, SX.zeros(len(eqs.rows)))
    G = ca.jacobian(motion, u)[:, places]
    if any(ca.depends_on(G, u[k]) for k in places):
        raise ModelError("servo-constraints need inputs that act linearly; one of the driven inputs does not.")
    rest = ca.substitute(motion, u, _without(u, places))
    rows, right, values = [], [], []
    for name, one in constraints.items():
        value = _expression(name, one, view, (a, lam, u, *(() if one.level == "velocity" else (v,))))
        if one.level == "velocity":
            row, bias = ca.jacobian(value, v), ca.jacobian(value, q) @ rate + ca.jacobian(value, t)
            back = one.frequency * value
        else:
            first = ca.jacobian(value, q) @ rate + ca.jacobian(value, t)
            row, bias = ca.jacobian(value, q) @ N, ca.jacobian(first, q) @ rate + ca.jacobian(first, t)
            back = 2 * one.damping * one.frequency * first + one.frequency**2 * value
        rows.append(row)
        right.append(-bias - back - row @ rest)
        values.append(value)
    M = eqs.functions["inertia"](q, p, t)
    J = ca.vertcat(*rows) @ G
    outputs = [ca.densify(x) for x in (J, G.T @ (M @ G), ca.vertcat(*right), ca.vertcat(*values))]
    function = ca.Function("servo_terms", [q, v, z, u, p, t], outputs, {"cse": True})
    felt = np.array([ca.sparsify(J[k, :]).nnz() > 0 for k in range(len(constraints))])
    return function, felt


def _without(u: Any, places: list[int]) -> Any:
    return ca.vertcat(*[SX(0) if k in places else u[k] for k in range(u.shape[0])])


def _expression(name: str, one: VirtualConstraint, view: EventView, foreign: tuple[Any, ...]) -> Any:
    what = f"virtual constraint {name!r}"
    value = one_value(one.function, what, view)
    if any(x.shape[0] and ca.depends_on(value, x) for x in foreign):
        raise ModelError(
            f"{what} at {one.level} level may depend on positions{' and speeds' if one.level == 'velocity' else ''} "
            "and time only, not on "
            + ("accelerations, reactions or inputs." if one.level == "velocity" else "speeds, reactions or inputs.")
        )
    return value


def _inputs_felt(eqs: EquationsOfMotion, terms: ca.Function, others: list[str]) -> list[str]:
    """Inputs besides its own that the law must know."""
    columns = set(terms.jac_sparsity(2, 3).get_col())
    return [name for name in others if eqs.inputs.index[name] in columns]


def _solved(J: Any, W: Any, r: Any) -> Any:
    m, n = J.shape
    if m == n:
        return ca.solve(J, r)
    back = ca.solve(W + ALIKE * ca.diag(ca.diag(W)), J.T)
    return back @ ca.solve(J @ back, r)


def _numeric(J: FloatArray, W: FloatArray, r: FloatArray) -> FloatArray:
    if J.shape[0] == J.shape[1]:
        return np.asarray(np.linalg.solve(J, r))
    back = np.linalg.solve(W + ALIKE * np.diag(np.diag(W)), J.T)
    return np.asarray(back @ np.linalg.solve(J @ back, r))


def _conditions(J: Array, W: Array) -> FloatArray:
    """Of J for inputs of unit kinetic effect, rows of unit length at their largest over the run."""
    size = np.sqrt(np.maximum(np.einsum("kii->ki", W).max(axis=0), np.finfo(float).tiny))
    scaled = J / size
    rows = np.sqrt(np.einsum("kij,kij->ki", scaled, scaled)).max(axis=0)
    s = np.linalg.svd(scaled / np.where(rows > 0.0, rows, 1.0)[:, None], compute_uv=False)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(s[:, -1] > 0.0, s[:, 0].max() / s[:, -1], np.inf))


# -- as the source writes it ----------------------------------------------------------------------------------------


def control_forces(
    M: FloatArray, Q: FloatArray, A: FloatArray, b: FloatArray, unactuated: Iterable[int] = ()
) -> tuple[FloatArray, FloatArray]:
    """Q_c and a_c = M⁻¹ Q_c of the extended Udwadia-Kalaba method in independent coordinates (spec 000, 75).

    M (n, n), Q (n,), virtual constraints A (m, n) q̈ = b (m,); rows of ``unactuated`` coordinates are appended, so that
    no control force acts there: the general formula with the Moore-Penrose inverse, whatever the number of rows.
    """
    M, Q = np.asarray(M, dtype=float), np.asarray(Q, dtype=float)
    free = list(unactuated)
    rows = np.vstack([np.atleast_2d(np.asarray(A, dtype=float)), M[free]])
    right = np.concatenate([np.atleast_1d(np.asarray(b, dtype=float)), Q[free]])
    if np.linalg.matrix_rank(np.vstack([M, rows])) < len(M):
        raise ModelError("the rows of M and A together do not determine the accelerations (rank below n).")
    root = np.linalg.cholesky(M)
    scaled = np.linalg.solve(root, rows.T).T  # A M^(-1/2)
    inverse = np.linalg.pinv(scaled, rcond=RANK)
    part = inverse @ (right - rows @ np.linalg.solve(M, Q))
    return root @ part, np.linalg.solve(root.T, part)
