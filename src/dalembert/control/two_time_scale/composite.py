"""Composite control: a slow law on the manifold of stiff coordinates, and a fast law on deviations from it.

    u = u₀ + u₂ + u_f(η, η̇) ,     η = q_f - φ ,   η̇ = v_f - φ̇
    B u₀ = M_ss a - F_s|₀ ,       a = r̈ + 2 ζ ω (ṙ - v_s) + ω² (r - q_s)          computed torque of the rigid machine
    B u₂ = δM_ss a + M_sf K⁻¹ ḧ₀ - δF_s                                            cancels the terms of ε²

φ is the manifold under u₀ + u₂; the term u₁ of order 1 is zero. The acceleration a of the slow motion, its jerk and
snap follow from r and the law itself, since the slow motion obeys s̈ = a. u₂ cancels with the whole M_ss: with the
inverse of a block of M⁻¹ it would leave a part of the disturbance. At order 0 there is no u₂, and φ = K⁻¹ h₀.

The fast law is designed on a model with free joints that stand still. The slow law holds the joints, which brings the
modes of locked joints: the linear loop of the whole machine judges both together, over the workspace (Scaglioni 2016,
ch. 5; Spong, Khorasani and Kokotovic 1987).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.control.servo.udwadia_kalaba import ServoConstraints
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked, instance, one_of
from dalembert.core.errors import ModelError, ModelWarning, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.results import column, result
from dalembert.core.rules import judge, rule
from dalembert.equations import Channels, EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.loop.interfaces import Law
from dalembert.loop.wiring import as_laws
from dalembert.solve.scales.feed_forward import feed_forward_function, prescribed_coordinates
from dalembert.solve.scales.slow_equations import FAST
from dalembert.solve.scales.two_time_scale import TwoTimeScale

SX = ca.SX
DERIVATIVES = 4  # of the references: the second time derivative of h₀ contains the snap


def smallest_damping(poles: Any) -> float:
    """The least damping ratio -Re λ / |λ|."""
    return float(np.min(-poles.real / np.maximum(np.abs(poles), 1e-300)))


UNSTABLE = rule(
    "unstable", smallest_damping, below=1e-9, edge=(1.1e-9, 0.9e-9),
    problem="the linear loop of the whole machine is not stable in every pose of the workspace: least damping ratio "
    "{value:.3g}.",
    advice=[Advice("Lower {} of the slow law.", Argument("frequency")),
            Advice("Design the fast law with models of the whole loop: {}.", Call("CompositeLaw.plant")),
            Advice("At order 2, take {}.", Argument("correction", "motion"))],
)  # fmt: skip


@result
class WorkspaceLoop:
    """Poles of the linear loop of the whole machine, slow and fast law together, at rest in poses of the workspace.

    coordinates : slow coordinates.  poses : (k, n).  poles : (k, states), continuous ones also of sampled laws.
    damping : (k,) least damping ratio.  decay : (k,) least -Re λ [rad/s].
    """

    coordinates: tuple[str, ...]
    poses: FloatArray = column("pose", "", lambda pose: ", ".join(f"{value:.3f}" for value in pose))
    poles: ComplexArray
    damping: FloatArray = column("damping ratio", "-", ".4f")
    decay: FloatArray = column("decay", "rad/s", ".4g")

    @property
    def stable(self) -> bool:
        """Whether every pole of every pose decays."""
        return bool((self.decay > 0.0).all())

    @property
    def worst(self) -> dict[str, float]:
        """The pose with the least damping ratio."""
        return dict(zip(self.coordinates, map(float, self.poses[int(np.argmin(self.damping))]), strict=True))


@result
class CompositeLaw:
    """A slow and a fast law together; fits ``da.simulate(eqs, controller=...)``.

    Attributes
    ----------
    two : slow and fast models.  slow : computed torque of the rigid machine.  fast : law on η, η̇, or None.
    drives : inputs.  dt : sample time [s] or None.  correction : where u₂ is evaluated.
    core : the law as an expression, with its parts.
    workspace : the linear loop of the whole machine at rest in poses of the workspace.
    """

    two: TwoTimeScale
    slow: ServoConstraints
    fast: Law | None
    drives: tuple[str, ...]
    dt: float | None
    correction: str
    core: ca.Function
    workspace: WorkspaceLoop = column("workspace", "", lambda loop: f"least damping ratio {loop.damping.min():.4f}")

    def law(self) -> Law:
        """The law as ``da.simulate`` takes it. It reads coordinates and speeds, slow and fast: of the machine, or
        behind ``observer=`` those of a filter on encoders and strain gauges."""
        reads, fast = _reads(self.two), self.fast
        x, p, t = SX.sym("reads", len(reads)), SX.sym("p", len(self.two.eqs.parameters)), SX.sym("t")
        state, references = SX.sym("state", len(fast.state) if fast else 0), SX.sym("r", 0)
        u, after, *_ = self.core(x, state, _references(self.two, self.slow, t), p, t)
        function = ca.Function("composite", [x, state, references, p, t], [u, after], {"cse": True})
        return Law(
            "composite", reads, self.drives, function, self.dt, parameters=tuple(map(float, self.two.eqs.p)),
            state=fast.state if fast else Channels((), ()), start=fast.start if fast else (),
        )  # fmt: skip

    def terms(self, state: Mapping[str, float], t: float = 0.0) -> dict[str, FloatArray]:
        """Parts of the inputs at values of coordinates and speeds: ``u0``, ``u2``, ``fast``; and ``eta``, ``rate``."""
        reads = [float(state[name]) for name in _reads(self.two)]
        start = self.fast.start if self.fast else ()
        time = SX.sym("t")
        references = ca.Function("references", [time], [_references(self.two, self.slow, time)])(t)
        u, _, u0, u2, eta, rate = (
            np.array(part).ravel() for part in self.core(reads, list(start), references, self.two.eqs.p, t)
        )
        return {"u0": u0, "u2": u2, "fast": u - u0 - u2, "eta": eta, "rate": rate}

    def plant(self, pose: Mapping[str, float]) -> Any:
        """The linear model at rest in a pose, for a design of the fast law on the whole machine."""
        from dalembert.linear import StateSpace

        two = self.two
        q = _pose(two, [pose])
        A, B = (part[0] for part in _machine(two, *_rest(two, q)))
        core = _core(two, self.slow, None, self.correction)
        law = CompositeLaw(two, self.slow, None, self.drives, None, self.correction, core, self.workspace)
        gain, eta = _gains(law, q, _rest(two, q)[0])
        A = A + B @ gain[0][: len(self.drives)]
        T = np.eye(len(A))
        rows = [*_rows(two, "fast", 0), *_rows(two, "fast", 1)]
        T[rows] = eta[0]
        A, B = T @ A @ np.linalg.inv(T), T @ B
        names = _reads(two)
        return StateSpace(A, B, states=names, inputs=[name + FAST for name in self.drives],
                          provenance={"made by": "composite"})  # fmt: skip


@checked
def composite(
    two: Annotated[TwoTimeScale, instance(TwoTimeScale), ModelError],
    slow: Annotated[ServoConstraints, instance(ServoConstraints), ModelError],
    fast: object = None,
    *,
    workspace: Mapping[str, Sequence[float] | FloatArray] | None = None,
    correction: Annotated[str, one_of("state", "motion"), ModelError] = "state",
) -> CompositeLaw:
    """Composite control of a machine with stiff coordinates.

    Parameters
    ----------
    two : of `da.separate_scales`; order 2 adds the correction u₂, for which motions need a snap.
    slow : ``da.control.computed_torque(two.rigid, motion, frequency=..., damping=...)`` of all slow coordinates.
    fast : law on deviations from the manifold, designed on ``two.fast(at)``: a `StateFeedback`, a `Synthesis`, a `Law`.
        It may also read slow coordinates. None: the slow law alone.
    workspace : slow coordinate -> values, for the linear loop of the whole machine over their grid; left out: six
        values of every angle (and within the limits of others).
    correction : where the terms of order 2 are evaluated: at the measured state, which cancels them and feeds two more
        derivatives of the errors back, or along the motion, which leaves the poles as they are.

    Examples
    --------
    >>> import dalembert as da
    >>> two = da.separate_scales(da.equations(da.read_model("tudor"), coordinates="joint"))
    >>> motion = {"shoulder.angle": 0.0, "elbow.angle": 0.0}
    >>> slow = da.control.computed_torque(two.rigid, motion, frequency=8.0)
    >>> law = da.control.composite(two, slow, workspace={"elbow.angle": [0.0, 1.0]})
    >>> law.workspace.stable
    True
    """
    laws = as_laws(fast)
    ModelError.when(len(laws) > 1, "wrong-shape", "fast must be one law.")
    law = laws[0] if laws else None
    dt = slow.dt if law is None or law.dt is None else law.dt
    ModelError.when(
        law is not None and slow.dt != law.dt, "sample-time-mismatch",
        f"slow and fast law must have one sample time; these have {slow.dt} and {law and law.dt}.",
    )  # fmt: skip
    core = _core(two, slow, law, correction)
    names = _slow_names(two)
    grid = _grid(two, workspace)
    drives = two.eqs.inputs.names
    empty = WorkspaceLoop(names, grid, np.zeros((0, 0), complex), np.zeros(0), np.zeros(0))
    bare = CompositeLaw(two, slow, law, drives, dt, correction, core, empty)
    poles = _poles(bare, grid)
    damping = np.array([smallest_damping(each) for each in poles])
    ModelWarning.report(judge([UNSTABLE], poles.ravel()), stacklevel=3)
    loop = WorkspaceLoop(names, grid, poles, damping, -poles.real.max(axis=1))
    return CompositeLaw(two, slow, law, drives, dt, correction, core, loop)


# -- expressions -------------------------------------------------------------------------------------------------------


def _slow_names(two: TwoTimeScale) -> tuple[str, ...]:
    return tuple(prescribed_coordinates(two))


def _reads(two: TwoTimeScale) -> tuple[str, ...]:
    """Slow and fast coordinates, then their speeds."""
    speeds, split = two.eqs.speeds.names, two.split
    rates = [speeds[k] for k in (*split.slow_v, *split.fast_v)]
    return (*_slow_names(two), *two.fast_coordinates, *rates)


def _rows(two: TwoTimeScale, kind: str, derivative: int) -> list[int]:
    """Places of slow or fast coordinates, or of their speeds, in what the law reads."""
    n, m = len(two.split.slow_v), len(two.split.fast_v)
    first = derivative * (n + m) + (n if kind == "fast" else 0)
    return list(range(first, first + (m if kind == "fast" else n)))


class _Time:
    """The state of a constraint with its coordinate at zero: what remains is less the motion."""

    def __init__(self, t: Any) -> None:
        self.t = t

    def __getitem__(self, name: str) -> float:
        return 0.0


def _references(two: TwoTimeScale, slow: ServoConstraints, t: Any) -> Any:
    """r, ṙ, r̈, jerk and snap, one after the other."""
    by_name = {slow.eqs.full_name(name): each for name, each in zip(slow.constraints, slow.relations, strict=True)}
    values = ca.vertcat(*(-SX(by_name[name].function(_Time(t))) for name in _slow_names(two)))
    columns = [values]
    for _ in range(DERIVATIVES):
        columns.append(ca.jacobian(columns[-1], t))
    return ca.densify(ca.vertcat(*columns))


def _core(two: TwoTimeScale, slow: ServoConstraints, fast: Law | None, correction: str) -> ca.Function:
    """(reads, state of the fast law, references, p, t) -> u, its next state, u₀, u₂, η, η̇."""
    eqs, names = two.eqs, _slow_names(two)
    by_name = {slow.eqs.full_name(name): each for name, each in zip(slow.constraints, slow.relations, strict=True)}
    wrong = sorted(set(by_name) ^ set(names))
    ModelError.when(
        bool(wrong), "wrong-owner",
        f"the slow law must have one constraint for each of {', '.join(names)}; {(wrong or [''])[0]!r} differs.",
        Advice("Make it with {}.", Call("da.control.computed_torque")),
    )  # fmt: skip
    n, reads = len(names), _reads(two)
    x, p, t = SX.sym("reads", len(reads)), SX.sym("p", len(eqs.parameters)), SX.sym("t")
    state, r = SX.sym("state", len(fast.state) if fast else 0), SX.sym("r", n * (1 + DERIVATIVES))
    q, v = x[_rows(two, "slow", 0)], x[_rows(two, "slow", 1)]
    omega = np.array([by_name[name].frequency for name in names])
    k_p, k_d = ca.DM(omega**2), ca.DM(2 * omega * np.array([by_name[name].damping for name in names]))
    r0, r1, r2, r3, r4 = ca.vertsplit(r, n)
    a = r2 + k_d * (r1 - v) + k_p * (r0 - q)
    jerk = r3 + k_d * (r2 - a) + k_p * (r1 - v)
    snap = r4 + k_d * (r3 - jerk) + k_p * (r2 - a)
    u0, phi, rate, _ = feed_forward_function(two.expansion, 0)(q, v, a, jerk, snap, p, t)
    u2 = SX.zeros(eqs.nu)
    if two.order:
        along = (q, v, a, jerk, snap) if correction == "state" else (r0, r1, r2, r3, r4)
        second, first = (feed_forward_function(two.expansion, order)(*along, p, t) for order in (two.order, 0))
        u2, more, faster, _ = (later - earlier for later, earlier in zip(second, first, strict=True))
        phi, rate = phi + more, rate + faster
    reference = ca.DM(eqs.state().q[list(two.split.fast_q)])
    eta, eta_rate = x[_rows(two, "fast", 0)] - reference - phi, x[_rows(two, "fast", 1)] - rate
    u_f, after = SX.zeros(eqs.nu), state
    if fast is not None:
        u_f, after = _fast(two, fast, ca.vertcat(q, eta, v, eta_rate), state, t)
    outputs = [u0 + u2 + u_f, after, u0, u2, eta, eta_rate]
    return ca.Function("composite", [x, state, r, p, t], [ca.densify(part) for part in outputs], {"cse": True})


def _fast(two: TwoTimeScale, fast: Law, values: Any, state: Any, t: Any) -> tuple[Any, Any]:
    """Inputs of the fast law, in the order of the machine, and its next state."""
    eqs, reads = two.eqs, _reads(two)
    for name in fast.reads:
        require_name("coordinate or speed", name, reads, "the fast model", error=ModelError, argument="fast")
    read = ca.vertcat(*(values[reads.index(name)] for name in fast.reads))
    command, after = fast.function(read, state, SX.zeros(len(fast.references)), ca.DM(list(fast.parameters)), t)
    u = SX.zeros(eqs.nu)
    for k, name in enumerate(fast.drives):
        channel = name.removesuffix(FAST)
        require_name("input", channel, eqs.inputs.names, f"equations {eqs.name!r}", error=ModelError, argument="fast")
        u[eqs.inputs.index[channel]] += command[k]
    return u, after


# -- linear loop of the whole machine ----------------------------------------------------------------------------------


def _grid(two: TwoTimeScale, workspace: Mapping[str, Any] | None, count: int = 6, most: int = 216) -> Array:
    """(k, n) poses of the slow coordinates.

    count : values of a coordinate that is not named.  most : poses; more coordinates than three get points of a Halton
    sequence, of which this many take a second.
    """
    eqs, names = two.eqs, _slow_names(two)
    drawn = dict(zip(eqs.coordinates.names, eqs.state().q, strict=True))
    if workspace is not None:
        values = {eqs.full_name(name): np.atleast_1d(np.asarray(each, dtype=float)) for name, each in workspace.items()}
        for name in values:
            require_name("slow coordinate", name, names, f"{eqs.name!r}", error=ModelError, argument="workspace")
        ModelError.when(not all(len(each) for each in values.values()), "empty", "the workspace has no pose.")
        return np.array(list(itertools.product(*(values.get(name, [drawn[name]]) for name in names))), dtype=float)
    ranges = [_range(eqs, name, drawn[name]) for name in names]
    shares = np.arange(count) / count
    if count ** len(names) <= most:
        return np.array(list(itertools.product(*(low + (high - low) * shares for low, high in ranges))))
    from scipy.stats import qmc

    low, high = np.array(ranges).T
    return np.asarray(low + (high - low) * qmc.Halton(len(names), scramble=False).random(most))


def _range(eqs: EquationsOfMotion, name: str, drawn: float) -> tuple[float, float]:
    if name in eqs.limits:
        low, high = eqs.limits[name].range
        return float(low), float(high)
    return (-np.pi, np.pi) if eqs.coordinates.units[eqs.coordinates.index[name]] == "rad" else (drawn, drawn)


def _pose(two: TwoTimeScale, poses: Sequence[Mapping[str, float]]) -> Array:
    names = _slow_names(two)
    drawn = dict(zip(two.eqs.coordinates.names, two.eqs.state().q, strict=True))
    full = [{two.eqs.full_name(key): value for key, value in pose.items()} for pose in poses]
    return np.array([[pose.get(name, drawn[name]) for name in names] for pose in full], dtype=float)


def _rest(two: TwoTimeScale, poses: Array, rounds: int = 12) -> tuple[Array, list[Any]]:
    """Deflections at rest in poses, and M, ∂F/∂(x, ẋ, u), ∂F/∂(s, v_s) there.

    rounds : of x ← x + K⁻¹ F_f; the load changes with the deflection by some per cent: this many reach rounding.
    """
    m, s, f = len(two.split.fast_v), list(two.split.slow_v), list(two.split.fast_v)
    slow_q = list(two.split.slow_q)
    drawn = two.eqs.state()
    K = two.split.matrices(two.eqs.p)[0]
    places = [slow_q.index(two.eqs.coordinates.index[name]) for name in _slow_names(two)]
    deflections, parts = [], []
    for pose in poses:
        q, x, u = drawn.q[slow_q].copy(), np.zeros(m), two._resting_inputs.copy()
        q[places] = pose
        for _ in range(rounds):
            F, _, J, _ = two._rest(q, x, drawn.z, u, 0.0)
            u = u - np.linalg.solve(J[s, 2 * m :], F[s])
            x = x + np.linalg.solve(K, two._rest(q, x, drawn.z, u, 0.0)[0][f])
        deflections.append(x)
        parts.append([np.array(part) for part in two._rest(q, x, drawn.z, u, 0.0)[1:]])
    return np.array(deflections).reshape(len(poses), m), parts


def _machine(two: TwoTimeScale, deflections: Array, parts: list[Any]) -> tuple[Array, Array]:
    """A and B of the whole machine at rest, states as the law reads them."""
    n, m = len(two.split.slow_v), len(two.split.fast_v)
    order = [*two.split.slow_v, *two.split.fast_v]
    A, B = [], []
    for M, J, slow in parts:
        J_all = np.hstack([slow[:, :n], J[:, :m], slow[:, n:], J[:, m : 2 * m], J[:, 2 * m :]])
        solved = np.linalg.solve(M, J_all)[order]
        size = n + m
        A.append(np.block([[np.zeros((size, size)), np.eye(size)], [solved[:, : 2 * size]]]))
        B.append(np.vstack([np.zeros((size, two.eqs.nu)), solved[:, 2 * size :]]))
    return np.array(A), np.array(B)


def _gains(law: CompositeLaw, poses: Array, deflections: Array) -> tuple[Array, Array]:
    """∂(u, next state)/∂(reads, state) at rest in poses (k, ...), and ∂(η, η̇)/∂reads."""
    two, core = law.two, law.core
    kernel = law.two.eqs.cache(("composite", core.serialize()), lambda: _gain_kernel(core))
    n, m = len(two.split.slow_v), len(two.split.fast_v)
    k, size = len(poses), core.size1_in(1)
    reference = two.eqs.state().q[list(two.split.fast_q)]
    reads = np.hstack([poses, deflections + reference, np.zeros((k, n + m))])
    references = np.hstack([poses, np.zeros((k, DERIVATIVES * n))])
    start = np.tile(np.array(law.fast.start if law.fast else (), dtype=float), (k, 1)).reshape(k, size)
    gains, eta = kernel.many(reads, start, references, two.eqs.p, np.zeros((k, 1)))
    width = reads.shape[1]
    return gains.reshape(k, two.eqs.nu + size, width + size), eta.reshape(k, 2 * m, width)


def _gain_kernel(core: ca.Function) -> Kernel:
    arguments = [SX.sym(core.name_in(k), core.size1_in(k)) for k in range(core.n_in())]
    u, after, _, _, eta, rate = core(*arguments)
    gains = ca.jacobian(ca.vertcat(u, after), ca.vertcat(*arguments[:2]))
    deviations = ca.jacobian(ca.vertcat(eta, rate), arguments[0])
    return Kernel(ca.Function("gains", arguments, [ca.densify(gains), ca.densify(deviations)], {"cse": True}), (0, 1))


def _poles(law: CompositeLaw, poses: Array) -> ComplexArray:
    """Poles (k, states) of the loop of the whole machine; of sampled laws as continuous ones, ln z / dt."""
    two, nu = law.two, law.two.eqs.nu
    deflections, parts = _rest(two, poses)
    A, B = _machine(two, deflections, parts)
    gains, _ = _gains(law, poses, deflections)
    poles = []
    for A_k, B_k, gain in zip(A, B, gains, strict=True):
        width = len(A_k)
        if law.dt is not None:
            whole = scipy.linalg.expm(law.dt * np.block([[A_k, B_k], [np.zeros((nu, width + nu))]]))
            A_k, B_k = whole[:width, :width], whole[:width, width:]
        loop = np.block([[A_k + B_k @ gain[:nu, :width], B_k @ gain[:nu, width:]], [gain[nu:]]])
        values = np.linalg.eigvals(loop)
        poles.append(values if law.dt is None else np.log(values.astype(complex)) / law.dt)
    return np.array(poles, dtype=complex)
