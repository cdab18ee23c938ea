"""Slow and fast models of a machine with stiff coordinates: singular perturbation and integral manifold.

    ε = 1 / ω_min ,   z₁ = K q_f ,   z₂ = ε K q̇_f ,   K̄ = ε² K

with ω_min the lowest frequency of the stiffness against the modal masses of flexible bodies, and against the diagonal
of M_ff in the pose as drawn for other coordinates. ε is in s/rad; only ε² K̄⁻¹ = K⁻¹ enters the equations.
`manifold` has the expansion, `slow_equations` the models made of it. Kokotović, Khalil and O'Reilly 1999; Spong,
Khorasani and Kokotovic 1987; Scaglioni 2016, ch. 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.core.arguments import take_names
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import ModelError, ModelWarning, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array, Kernel
from dalembert.linear import StateSpace
from dalembert.mechanics.tree.link_inertia import FloatingInertia
from dalembert.mechanics.tree.link_tree import LinkTree
from dalembert.solve.motion.minimum_coordinates import equations
from dalembert.solve.scales.manifold import Expansion, Split
from dalembert.solve.scales.slow_equations import FAST, input_channels, slow_equations

if TYPE_CHECKING:
    from dalembert.record import Record

SX = ca.SX
APART = 3.0  # least ratio of a fast to a slow frequency: below it neither model holds for a period of the other
OWN_SPEED = 1e-9  # of the kinematics of a fast coordinate: rounding of poses that Newton's method closes
SOFT = 1e-9  # share of the largest stiffness that counts as none: rounding of derivatives is 1e-13 of it
GROWING = 1e-9  # real part, of the largest eigenvalue, that is growth: rounding of eigenvalues is 1e-13
UNREACHED = 1e-9  # smallest singular value of [A - λ 1, B] of a mode that no input reaches, in fast time


@frozen
class ManifoldPoint:
    """The manifold at a state, by powers of ε: z₁ = Σ εᵏ h1[k], z₂ = Σ εᵏ h2[k].

    deflections, rates, accelerations : of the fast coordinates, summed.
    """

    h1: Mapping[int, FloatArray]
    h2: Mapping[int, FloatArray]
    deflections: FloatArray
    rates: FloatArray
    accelerations: FloatArray


@dataclass(frozen=True, eq=False)
class TwoTimeScale:
    """Slow and fast models of one machine; made by `da.separate_scales`, frozen.

    eqs : of the whole machine.  fast_coordinates : their names.  order : 0 or 2.  epsilon : 1/ω_min [s/rad].
    """

    eqs: EquationsOfMotion
    fast_coordinates: tuple[str, ...]
    order: int
    epsilon: float
    split: Split

    @property
    def slow(self) -> EquationsOfMotion:
        """The motion on the manifold; at order 2 derivatives of the inputs, ``torque.rate`` and ``torque.rate.rate``,
        are inputs too, zero where they are not given. Deflections and sensors are outputs."""
        return self._made("slow", lambda: slow_equations(self.expansion, self.order))  # type: ignore[no-any-return]

    @property
    def rigid(self) -> EquationsOfMotion:
        """The slow motion at order 0: the machine with its fast coordinates at rest, for a law such as
        `da.control.computed_torque`."""
        return TwoTimeScale(self.eqs, self.fast_coordinates, 0, self.epsilon, self.split).slow

    @property
    def expansion(self) -> Expansion:
        return self._made("expansion", lambda: Expansion(self.split))  # type: ignore[no-any-return]

    def _made(self, key: Any, make: Any) -> Any:
        return self.eqs.cache(("scales", self.fast_coordinates, self.split.pattern, self.order, key), make)

    def __repr__(self) -> str:
        names = ", ".join(self.fast_coordinates[:6]) + (", ..." if len(self.fast_coordinates) > 6 else "")
        return f"TwoTimeScale({self.eqs.name!r}, order {self.order}, epsilon {self.epsilon:.4g} s/rad, fast: {names})"

    # -- fast model ----------------------------------------------------------------------------------------------------
    def fast(self, at: State | Sequence[State] | None = None, *, scaled: bool = False) -> Any:
        """The linear fast model at rest in the slow pose of a state: deviations of the fast coordinates.

        Joints are free: the inputs are deviations of the torques, and a constant torque does not hold a joint. At order
        2 with the terms of ε², of the deflection under the load that the torques carry at rest.

        Parameters
        ----------
        at : a state of the machine or of `slow`, or a list of them; the pose as drawn when left out.
        scaled : states z₁, z₂ in fast time t/ε instead of coordinates and rates in real time.

        Returns
        -------
        StateSpace, or as many in a tuple.
        """
        if isinstance(at, (list, tuple)):
            return tuple(self.fast(state, scaled=scaled) for state in at)
        q, _, z, t = self._slow_state(at)  # type: ignore[arg-type]
        A21, A22, B2 = self._fast_matrices(q, z, t)
        eps, m = self.epsilon, len(A21)
        K = self.split.matrices(self.eqs.p)[0]
        states = [*self.fast_coordinates, *(self.eqs.speeds.names[k] for k in self.split.fast_v)]
        inputs = [name + FAST for name in self.eqs.inputs.names]
        about = {"made by": "separate_scales", "order": self.order, "epsilon": eps, "time": "t/eps" if scaled else "t"}
        T = np.linalg.inv(K)
        A = np.block([[np.zeros((m, m)), np.eye(m)], [eps**2 * K @ A21 @ T, eps * K @ A22 @ T]])
        B = np.vstack([np.zeros_like(B2), eps**2 * K @ B2])
        ModelWarning.report(judge_reach(A, B, self.fast_coordinates, eps), stacklevel=2)
        if scaled:
            names = [f"{kind}.{name}" for kind in ("z1", "z2") for name in self.fast_coordinates]
            return StateSpace(A, B, states=names, inputs=inputs, provenance=about)
        A = np.block([[np.zeros((m, m)), np.eye(m)], [A21, A22]])
        return StateSpace(A, np.vstack([np.zeros_like(B2), B2]), states=states, inputs=inputs, provenance=about)

    def _fast_matrices(self, q: Array, z: Array, t: float) -> tuple[Array, Array, Array]:
        """∂η̈/∂η, ∂η̈/∂η̇ and ∂η̈/∂u_f at rest."""
        K, D = self.split.matrices(self.eqs.p)
        s, f, m = list(self.split.slow_v), list(self.split.fast_v), len(K)
        F, M, J, _ = self._rest(q, np.zeros(m), z, self._resting_inputs, t)
        gain = J[:, 2 * m :]
        if self.order == 0:
            J = np.zeros_like(J)
            J[f, : 2 * m], J[:, 2 * m :] = -np.hstack([K, D]), gain
        else:
            u = self._resting_inputs - np.linalg.pinv(gain[s]) @ F[s]  # torques that hold the pose
            x = np.linalg.solve(K, self._rest(q, np.zeros(m), z, u, t)[0][f])
            shake = -np.linalg.solve(M[np.ix_(s, s)], M[np.ix_(s, f)])
            _, M, J, slow = self._rest(q, x, z, u, t)
            J[:, : 2 * m] += np.hstack([part @ shake for part in np.hsplit(slow, 2)])
        A = np.linalg.solve(M, J)[f]
        return A[:, :m], A[:, m : 2 * m], A[:, 2 * m :]

    @property
    def _resting_inputs(self) -> Array:
        return np.array([self.eqs.resting_inputs.get(name, 0.0) for name in self.eqs.inputs.names])

    def _rest(self, *arguments: Any) -> Any:
        """(q_s, x, z, u, t) -> F, M, ∂F/∂(x, ẋ, u), ∂F/∂(s, v_s) at rest."""

        def make() -> Kernel:
            e = self.expansion
            slow = ca.horzcat(ca.jacobian(e.F_near, e.q) @ e.slow_kinematics[0], ca.jacobian(e.F_near, e.v))
            parts = [e.F_near, e.M_near, ca.jacobian(e.F_near, ca.vertcat(e.x, e.y, e.u)), slow]
            still = [SX.zeros(*part.shape) for part in (e.y, e.v)]
            parts = [ca.densify(part) for part in ca.substitute(parts, [e.y, e.v], still)]
            return Kernel(ca.Function("rest", [e.q, e.x, e.z, e.u, e.p, e.t], parts, {"cse": True}), (1, 2, 3))

        kernel = self._made("rest", make)
        return kernel(*arguments[:4], self.eqs.p, arguments[4])

    # -- manifold ------------------------------------------------------------------------------------------------------
    def manifold(self, at: State | None = None, inputs: Mapping[str, float] | None = None) -> ManifoldPoint:
        """The manifold at a slow state under inputs, with their derivatives (``torque.rate``), zero when left out."""
        h0, h1, h2, dh0, ddh0, *sums = self._values("manifold", at, inputs)
        eps = self.epsilon
        D = self.split.matrices(self.eqs.p)[1] @ np.linalg.inv(self.split.matrices(self.eqs.p)[0])
        by_order = {0: h0} if self.order == 0 else {0: h0, 1: h1 / eps, 2: h2 / eps**2}
        rates = {0: 0.0 * h0} if self.order == 0 else {0: 0.0 * h0, 1: dh0, 2: -D @ ddh0 / eps}
        return ManifoldPoint(h1=by_order, h2=rates, deflections=sums[0], rates=sums[1], accelerations=sums[2])

    def residual(self, at: State | None = None, inputs: Mapping[str, float] | None = None) -> FloatArray:
        """φ̈ - a_f: how far the manifold q_f = φ is from invariant, as accelerations of the fast coordinates.

        φ̈ is the exact second derivative along the slow motion of this order, a_f the acceleration of the whole machine
        on the manifold. It falls with ε² at order 0 and with ε⁴ at order 2; with constant damping ratios in the end
        with ε and ε³. Inputs have no third derivatives.
        """
        return self._values("residual", at, inputs)[0]

    def _values(self, name: str, at: State | None, inputs: Mapping[str, float] | None) -> list[Array]:
        """An expression of the expansion at a slow state."""
        q, v, z, t = self._slow_state(at)
        names = input_channels(self.eqs, 2)
        u = np.concatenate([self._resting_inputs, np.zeros(2 * self.eqs.nu)])
        for channel, value in (inputs or {}).items():
            if channel not in names.index:
                raise ModelError("unknown-name", unknown_name("input", channel, names.names, f"{self.eqs.name!r}"))
            u[names.index[channel]] = value
        return self.kernel(name)(q, v, z, *np.split(u, 3), self.eqs.p, t)

    def kernel(self, name: str, stiffer: float = 1.0) -> Kernel:
        """``manifold`` or ``residual`` as a function of (q_s, v_s, z, u, u̇, ü, p, t)."""

        def make() -> Kernel:
            e = self.expansion if stiffer == 1.0 else Expansion(self.split, stiffer)
            if name == "residual":
                return e.kernel(name, [*e.residual(self.order)])
            derived = [e.h1, e.h2, e.dh0, e.ddh0] if self.order else [0 * e.h0] * 4
            return e.kernel(name, [e.h0, *derived, *e.manifold(self.order)])

        return self._made((name, stiffer), make)  # type: ignore[no-any-return]

    def _slow_state(self, at: State | None) -> tuple[Array, Array, Array, float]:
        at = self.eqs.state() if at is None else at
        if not isinstance(at, State):
            raise ModelError("wrong-type", f"at must be a State, got {type(at).__name__}.",
                             Advice("Make one with {}.", Call("da.assemble")))  # fmt: skip
        places = []
        for kind, slow in (("coordinates", self.split.slow_q), ("speeds", self.split.slow_v)):
            channels, owned = getattr(self.eqs, kind), getattr(at.eqs, kind)
            missing = [channels.names[k] for k in slow if channels.names[k] not in owned.index]
            if missing:
                raise ModelError("wrong-owner", f"at belongs to {at.eqs.name!r} without coordinate {missing[0]!r}.")
            places.append([owned.index[channels.names[k]] for k in slow])
        return at.q[places[0]], at.v[places[1]], at.z, at.t

    # -- judgement and practice ----------------------------------------------------------------------------------------
    def validity(self, run: Record) -> tuple[Finding, ...]:
        """Whether slow and fast motion were apart in a run: findings, none where they were.

        Reported with their numbers: terms of order 2 above a tenth of those of order 0; a slow motion less than three
        times slower than the lowest fast frequency on the way; errors of order 0 above a thousandth that links twice as
        fast would not divide by nearly four, as they must where ε is small.
        """
        from dalembert.solve.scales.judge_run import judge_run

        return judge_run(self, run)

    def input_rates(self, record: Record, cutoff_hz: float = 30.0) -> Record:
        """A record of measured inputs with their derivatives by Butterworth filters, for `slow` at order 2."""
        from dalembert.solve.scales.judge_run import add_input_rates

        return add_input_rates(self.eqs, record, cutoff_hz)

    def feed_forward(self, motion: Any, *, times: Any = None) -> Record:
        """Inputs, deflections and sensors of a smooth motion of the slow coordinates, without integration.

        Parameters
        ----------
        motion : slow coordinate -> function of time, with `times`; or a Record of all slow coordinates.
        times : times [s] of the result.

        Returns
        -------
        Record with the inputs to order 2 (of the rigid machine at order 0), all coordinates and sensors.
        """
        from dalembert.solve.scales.feed_forward import feed_forward

        return feed_forward(self, motion, times)


@equations.register(TwoTimeScale)
def _together(two: TwoTimeScale) -> EquationsOfMotion:
    """Slow motion and deviations from the manifold together; a torque acts on these by its input ``torque.fast``."""
    return two._made("together", lambda: slow_equations(two.expansion, two.order, together=True))  # type: ignore[no-any-return]


def separate_scales(eqs: EquationsOfMotion, fast: str | Iterable[str] | None = None, order: int = 2) -> TwoTimeScale:
    """Slow and fast models of a machine whose fast coordinates are stiff: links that bend, elastic gears.

    Parameters
    ----------
    eqs : equations without constraint rows.
    fast : names of the fast coordinates; all elastic ones when left out.
    order : 0 (the rigid machine, with the deflections its motion causes) or 2 (with the terms of ε²).

    Returns
    -------
    TwoTimeScale. ``da.equations(two)`` has slow and fast motion together.

    Examples
    --------
    >>> import dalembert as da
    >>> eqs = da.equations(da.read_model("tudor"), coordinates="joint")
    >>> round(da.separate_scales(eqs).epsilon, 4)
    0.0336
    """
    require_equations(eqs)
    if order not in (0, 2):
        raise ModelError("unknown-choice", f"order must be 0 or 2, got {order!r}.", where={"argument": "order"})
    names = list(eqs.elastic) if fast is None else list(take_names("coordinate", fast))
    _refuse(eqs, names)
    split = _split(eqs, names)
    K, _ = split.matrices(eqs.p)
    _require_stiffness(K, names)
    lowest = scipy.linalg.eigh(K, _modal_masses(eqs, names, split), eigvals_only=True)[0]
    two = TwoTimeScale(eqs, tuple(names), order, float(1 / np.sqrt(lowest)), split)
    _require_separation(two)
    return two


def _modal_masses(eqs: EquationsOfMotion, names: list[str], split: Split) -> Array:
    """Of modes those of their bodies (one without a tree), of other coordinates the diagonal of M as drawn."""
    M = eqs.kernel("inertia")(eqs.state().q, eqs.p, 0.0)[0]
    units = dict(zip(eqs.coordinates.names, eqs.coordinates.units, strict=True))
    modal = {name for name in eqs.elastic if not units[name]}  # the angle of an elastic gear is none
    masses = np.diag([1.0 if name in modal else M[k, k] for name, k in zip(names, split.fast_v, strict=True)])
    place = {speed: k for k, speed in enumerate(split.fast_v)}
    for inertia in eqs.tree.inertias if isinstance(eqs.tree, LinkTree) else ():
        if isinstance(inertia, FloatingInertia):
            modes = [(place[column], k) for k, column in enumerate(inertia.columns) if column in place]
            at, own = (list(part) for part in zip(*modes, strict=True)) if modes else ([], [])
            masses[np.ix_(at, at)] = np.asarray(inertia.data.modal_mass)[np.ix_(own, own)]
    return masses


def _refuse(eqs: EquationsOfMotion, names: list[str]) -> None:
    if eqs.rows:
        chosen = Argument("coordinates")
        raise ModelError(
            "dependent-coordinates", f"{eqs.name!r} has {len(eqs.rows)} constraint rows, slow and fast coordinates "
            "must be independent.", Advice("Eliminate the rows with {}.", Call("da.equations", chosen)),
            evidence={"rows": len(eqs.rows)},
        )  # fmt: skip
    if any(joint.speed is None for joint in eqs.dry):
        raise ModelError("not-supported", f"{eqs.name!r} has friction that sticks and slips: it has no derivatives.")
    if not names:
        raise ModelError("no-modes", f"{eqs.name!r} has no elastic coordinates.",
                         Advice("Name the fast coordinates with {}.", Argument("fast")))  # fmt: skip
    for name in names:
        if name not in eqs.coordinates.index:
            raise ModelError(
                "unknown-name", unknown_name("coordinate", name, eqs.coordinates.names, f"equations {eqs.name!r}")
            )


def _split(eqs: EquationsOfMotion, names: list[str]) -> Split:
    """Places of slow and fast coordinates; a fast one has a speed of its own that moves nothing else."""
    fast_q = [eqs.coordinates.index[name] for name in names]
    seeds = {eqs.coordinates.index[name] for name in eqs.unrecorded if name in eqs.coordinates.index}
    q = eqs.state().q
    moved = q.copy()
    moved[fast_q] += 1e-3 / max(1, len(names))
    pairs = (eqs.kernel("kinematics")(at, eqs.p, 0.0) for at in (q, moved))
    kinematics = [np.hstack([N, np.reshape(n, (-1, 1))]) for N, n in pairs]
    fast_v = [int(np.argmax(np.abs(kinematics[0][k]))) for k in fast_q]
    expected = kinematics[0].copy()
    expected[fast_q], expected[:, fast_v] = 0.0, 0.0
    expected[fast_q, fast_v] = 1.0
    true = [k for k in range(eqs.nq) if k not in seeds]
    if max(np.abs((kinematic - expected)[true]).max() for kinematic in kinematics) > OWN_SPEED:
        raise ModelError(
            "dependent-coordinates", f"fast coordinates of {eqs.name!r} must have speeds of their own, which move no "
            "other coordinate.", where={"coordinates": names},
        )  # fmt: skip
    slow_q, slow_v = ([k for k in range(n) if k not in some] for n, some in ((eqs.nq, fast_q), (eqs.nv, fast_v)))
    return Split(eqs, tuple(slow_q), tuple(slow_v), tuple(fast_q), tuple(fast_v))


def _require_stiffness(K: Array, names: list[str]) -> None:
    values, shapes = np.linalg.eigh(K)
    if values[0] <= SOFT * values[-1]:
        name = names[int(np.argmax(np.abs(shapes[:, 0])))]
        raise ModelError(
            "not-held", f"fast coordinate {name!r} has no stiffness: nothing brings it back.",
            Advice("Leave it out of {}.", Argument("fast")),
            where={"coordinate": name}, evidence={"stiffness": float(values[0])},
        )  # fmt: skip


def _require_separation(two: TwoTimeScale) -> None:
    """The boundary layer in the pose as drawn decays or vibrates, and does so faster than the slow motion."""
    eqs = two.eqs
    q, _, z, t = two._slow_state(None)
    A21, A22, _ = TwoTimeScale(eqs, two.fast_coordinates, 0, two.epsilon, two.split)._fast_matrices(q, z, t)
    m, n = len(A21), len(two.split.slow_v)
    poles = np.linalg.eigvals(np.block([[np.zeros((m, m)), np.eye(m)], [A21, A22]]))
    if poles.real.max() > GROWING * np.abs(poles).max():
        growth = float(poles.real.max())
        raise ModelError(
            "unstable", f"the fast motion of {eqs.name!r} grows by exp({growth:.3g} t): it leaves the manifold.",
            Advice("Check the damping of the fast coordinates."), evidence={"growth": growth},
        )  # fmt: skip
    _, M, _, slow = two._rest(q, np.zeros(m), z, two._resting_inputs, t)
    s = list(two.split.slow_v)
    J = np.linalg.solve(M[np.ix_(s, s)], slow[s])
    slow_poles = np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [J[:, :n], J[:, n:]]]))
    highest, lowest = float(np.abs(slow_poles).max(initial=0.0)), float(np.abs(poles).min())
    if lowest < APART * highest:
        raise ModelError(
            "out-of-range", f"slow and fast motion of {eqs.name!r} overlap: up to {highest / (2 * np.pi):.4g} Hz and "
            f"from {lowest / (2 * np.pi):.4g} Hz on; a ratio of {APART:g} is needed.",
            Advice("Choose other fast coordinates with {}.", Argument("fast")),
            evidence={"slow": highest, "fast": lowest, "ratio": lowest / highest},
        )  # fmt: skip


def judge_reach(A: Array, B: Array, names: Sequence[str], eps: float) -> list[Finding]:
    """Modes that no input reaches: rank [A - λ 1, B] < n (Popov, Belevitch, Hautus)."""
    findings = []
    poles, shapes = np.linalg.eig(A)
    size = np.linalg.norm(B, axis=0).max(initial=0.0) or 1.0
    for pole, shape in zip(poles, shapes.T, strict=True):
        value = float(np.linalg.svd(np.hstack([A - pole * np.eye(len(A)), B / size]), compute_uv=False)[-1])
        if pole.imag >= 0 and value < UNREACHED:
            name = names[int(np.argmax(np.abs(shape[: len(names)])))]
            hertz = abs(pole) / eps / (2 * np.pi)
            findings.append(Finding(
                "not-reachable", f"no input reaches the fast mode of {name!r} at {hertz:.4g} Hz (PBH {value:.1e}): "
                "feedback cannot damp it.", {"coordinate": name}, {"value": value, "frequency_hz": hertz},
                (Advice("Leave it out of the design, or damp it by itself."),),
            ))  # fmt: skip
    return findings
