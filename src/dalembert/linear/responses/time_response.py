"""Time responses of linear systems as records.

z(t) = e^{A t} z(0) + ∫₀ᵗ e^{A (t-τ)} B u(τ) dτ,   y = C z + D u

Forced: the integral is exact between samples for inputs held constant (zero-order hold) or linear (first-order hold),
by the exponential of an augmented matrix that needs no inverse of A. Free: Σ cᵢ ψᵢ e^{λᵢ t} where the eigenvectors
are well conditioned; where they are not (critical damping, rigid-body motion, flutter boundary: there
are then too few eigenvectors) by steps of the matrix exponential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.linear import storage
from dalembert.linear.channels import AnySystem, InputName, input_units, is_second_order, is_state_space
from dalembert.linear.modes import Modes
from dalembert.linear.recursions import march, march_held, require_finite
from dalembert.linear.responses.excitation import Hold, initial_state, sample_inputs
from dalembert.linear.responses.superposition import Basis, modal_basis, static_residual
from dalembert.numerics.balancing import balance_matrix
from dalembert.numerics.sample_times import written
from dalembert.record import Record
from dalembert.record.checks import check_time

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder
    from dalembert.linear.state_space import StateSpace

    System: TypeAlias = SecondOrder | StateSpace

At = Annotated[float, number, "time of the initial state [s], at most the first of the times"]
HOLD_NAMES = {"zero": "zero-order hold", "first": "first-order hold"}

Start = Mapping[str, float] | ArrayLike | None


@checked
def response(
    system: AnySystem,
    inputs: Record | Mapping[str, Any] | None = None,
    *,
    times: ArrayLike | None = None,
    start: Start = None,
    hold: Hold = "zero",
    states: bool = False,
    with_inputs: bool = False,
    modes: Modes | int | None = None,
    static_correction: bool = True,
) -> Record:
    """Response to sampled inputs from an initial state.

    Parameters
    ----------
    system : SecondOrder or StateSpace
        A discrete StateSpace takes inputs at its own sample time.
    inputs : Record, or mapping of input names, optional
        Channels named like the inputs; in a mapping constants, arrays, functions of time or records.
        An input left out is zero. Any sampling; unequal steps are followed exactly.
    times : (N,) [s]
        Needed with a mapping; ``start`` holds at the first.
    start : mapping of state names (``{"left": 1.0, "left.rate": 0.0}``, the rest zero), array in their order, or None
    hold : "zero" (inputs constant from each sample to the next) or "first" (linear in between)
    states : bool
        Add the states as channels.
    with_inputs : bool
        Add the inputs as channels.
    modes : Modes or number of modes, optional
        Superpose these instead of solving for all coordinates; large sparse systems need it.
    static_correction : bool
        With ``modes``: add the static response of the omitted modes. It follows the inputs without delay, is
        accurate for loads that are slow against those modes, and jumps where an input jumps.

    Returns
    -------
    Record with the outputs of the system, exact at the samples for such inputs.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")
    >>> response(cart, {"push": 2.0}, times=[0.0, 1.0, 2.0])["position"]
    array([0., 1., 4.])
    """
    plan = _plan(system, modes, static_correction)
    t, u = sample_inputs(inputs, system.inputs, times, dt=plan.system.dt, units=input_units(system), where=plan.where)
    x0 = plan.initial(start)
    first = plan.system
    if first.dt is not None:
        if hold != "zero":
            raise DataError(
                "not-supported",
                "a discrete StateSpace contains its hold.",
                Advice("{} is for continuous systems.", Argument("Hold", "first")),
            )
        _refuse_other_sampling(first.dt, t)
        path, how = require_finite(march(first.A, u[:-1] @ first.B.T, x0), t), "recursion"
    else:
        path, how = march_held(first.A, first.B, u, t, x0, hold), HOLD_NAMES[hold]
    return plan.record(t, path, u, how, states=states, with_inputs=with_inputs)


@checked
def free_response(system: AnySystem, start: Start, times: ArrayLike, *, at: At = 0.0, states: bool = False) -> Record:
    """Motion from an initial state without inputs, in closed form.

    Parameters
    ----------
    system : SecondOrder or StateSpace
    start : as in :func:`response`; the state at the time ``at``
    times : (N,) increasing [s]
    at : [s], at most the first of the times (a discrete system counts its samples from here)
    states : as in :func:`response`

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> mass = SecondOrder(1.0, np.pi**2, coordinates="x")
    >>> free_response(mass, {"x": 1.0}, [0.5, 1.0])["x"].round(12) + 0.0
    array([ 0., -1.])
    """
    plan = _plan(system, None, False)
    t = np.array(check_time(times))
    if t[0] < at:
        raise DataError(
            "out-of-range",
            f"times start at {t[0]:.6g} s, before the initial state at {at!r} s.",
            Advice("Set {}.", Argument("at")),
        )
    path, how = _free(plan.system, plan.initial(start), t - at)
    return plan.record(t, path, np.zeros((len(t), system.nu)), how, states=states, with_inputs=False)


@checked
def step_response(system: AnySystem, times: ArrayLike, *, input: InputName = None) -> Record:
    """Response from rest to one input switched on, to 1, at the first of the times.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> lag = StateSpace(-1.0, 1.0)
    >>> step_response(lag, [0.0, np.log(2.0)])["x1"].round(12)
    array([0. , 0.5])
    """
    assert input is not None
    return response(system, {input: 1.0}, times=times, modes=None)


@checked
def impulse_response(system: AnySystem, times: ArrayLike, *, input: InputName = None) -> Record:
    """Response from rest to a unit impulse of one input at t = 0, at times not before.

    Continuous: an impulse of 1 [input unit x s]; a direct term D would repeat the impulse itself in the outputs, which
    no sample shows, and is left out. Discrete: one sample of 1 at t = 0.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> mass = SecondOrder(2.0, 0.0, B=[1.0], coordinates="x", inputs="impact")
    >>> impulse_response(mass, [0.0, 3.0])["x"]
    array([0. , 1.5])
    """
    assert input is not None
    plan = _plan(system, None, False)
    t = np.array(check_time(times))
    if t[0] < 0.0:
        raise DataError(
            "out-of-range", f"the impulse is at t = 0; times must not start before it (they start at {t[0]:.6g} s)."
        )
    first = plan.system
    j = system.inputs.index(input)
    push = first.B[:, j]
    if first.dt is None:
        path, how = _free(first, push, t)
        return plan.record(t, path, np.zeros((len(t), system.nu)), f"impulse, {how}", states=False, with_inputs=False)
    u = np.zeros((len(t), system.nu))
    u[0, j] = float(t[0] == 0.0)
    samples = _samples(first.dt, t)
    path = (
        _powers(first.A, push, samples - 1)
        if samples[0]
        else np.vstack([0 * push, _powers(first.A, push, samples[1:] - 1)])
    )
    return plan.record(t, require_finite(path, t), u, "impulse, recursion", states=False, with_inputs=False)


# ---- inside


@dataclass(frozen=True)
class _Plan:
    """First-order form to integrate, and the names of its results."""

    source: System
    system: StateSpace
    basis: Basis | None
    modes: int

    @property
    def where(self) -> str:
        return f"this {type(self.source).__name__}"

    def initial(self, start: Start) -> FloatArray:
        """Initial state of ``system`` from that of the source."""
        if self.basis is None:
            return initial_state(start, self.system.states, self.where)
        assert is_second_order(self.source)
        names = self.source.coordinates
        z = initial_state(start, [*names, *(f"{name}.rate" for name in names)], self.where)
        # M-weighted projection
        momentum = self.basis.V.T @ (self.source.M @ z.reshape(2, -1).T)
        result: FloatArray = np.linalg.solve(self.basis.mass, momentum).T.ravel()
        return result

    def record(self, t: FloatArray, path: FloatArray, u: FloatArray, how: str, *, states: bool, with_inputs: bool
               ) -> Record:  # fmt: skip
        """Outputs, and states and inputs on request, with units and provenance."""
        first = self.system
        names, data = list(first.outputs), [path @ first.C.T + u @ first.D.T]
        extra = [(first.states, path, states), (first.inputs, u, with_inputs)]
        for more, values, wanted in extra:
            # a state of the name of an output is that output; an input is not
            columns = [i for i, name in enumerate(more) if wanted and (more is first.inputs or name not in names)]
            names += [f"{more[i]} (input)" if more[i] in names else more[i] for i in columns]
            data.append(values[:, columns])
        if not names:
            raise DataError(
                "empty",
                f"{self.where} has no outputs.",
                Advice("Give it some, or choose {}.", Argument("states", True)),
            )
        units = {name: first.units[name] for name in names if name in first.units}
        about = {"method": how, **({"modes": self.modes} if self.basis is not None else {})}
        return Record(t, np.hstack(data), names, units, provenance={**self.source.provenance, **about})


def _plan(system: System, modes: Modes | int | None, static_correction: bool, sparse: int = 500) -> _Plan:
    """``sparse`` : coordinates beyond which modes are needed, as the exponential is dense and of twice the size."""
    if is_state_space(system):
        if modes is not None:
            raise DataError(
                "not-supported",
                "modes belong to a SecondOrder.",
                Advice("Reduce a StateSpace with {}.", Call("StateSpace.balanced_truncation")),
            )
        return _Plan(system, system, None, 0)
    if storage.nonzero(system.K_loss):
        raise DataError(
            "not-supported",
            "hysteretic damping (K_loss) has no time response: it is defined for harmonic motion only. Use "
            "frequency_response or periodic_response, or put an equivalent viscous damping C in its place.",
        )
    if modes is None:
        if system.is_sparse and system.nq > sparse:
            raise DataError(
                "too-large",
                f"this sparse SecondOrder has {system.nq} coordinates: a time response needs a basis.",
                Advice("Take some modes, {}, or reduce it first.", Argument("modes", 40)),
                Advice("{} keeps all coordinates.", Call("SecondOrder.dense")),
            )
        return _Plan(system, system.state_space(), None, 0)
    chosen = modes if isinstance(modes, Modes) else system.modes(whole_number("modes", modes, 1))
    basis = modal_basis(system, chosen)
    reduced = basis.reduced
    if static_correction and system.nu and storage.nonzero(system.B):
        residual = static_residual(system, basis, storage.dense(system.B))
        reduced = reduced.replace(D=reduced.D + system.Y_position @ residual)
    return _Plan(system, reduced.state_space(), basis, len(chosen))


def _free(system: StateSpace, start: FloatArray, since: FloatArray, condition: float = 1e4) -> tuple[FloatArray, str]:
    """States (N, nx) after the times ``since`` (N,) ≥ 0.

    ``condition`` : of the eigenvectors, up to which the modal sum loses no more than four digits of sixteen.
    """
    if system.dt is not None:
        return require_finite(_powers(system.A, start, _samples(system.dt, since)), since), "recursion"
    A, scaling = balance_matrix(system.A)
    values, shapes = np.linalg.eig(A)
    if np.linalg.cond(shapes) <= condition if len(A) else True:
        amplitudes = np.linalg.solve(shapes, (start / scaling).astype(np.complex128))
        with np.errstate(over="ignore", invalid="ignore"):
            motion = np.exp(np.multiply.outer(since, values)) @ (shapes * amplitudes).T
        return require_finite(motion.real * scaling, since), "sum of modes"
    unforced = np.zeros((len(A), 0))
    if since[0] > 0.0:
        start = scipy.linalg.expm(system.A * since[0]) @ start
    return march_held(system.A, unforced, np.zeros((len(since), 0)), since, start, "zero"), "matrix exponential"


def _samples(dt: float, since: FloatArray) -> Any:
    """(N,) whole numbers of samples."""
    count = since / dt
    apart = np.abs(count - np.round(count))
    if apart.max() > written(max(1.0, written(float(np.abs(count).max())))):
        off = since[int(apart.argmax())]
        raise DataError(
            "sample-time-mismatch", f"t = {off:.9g} s is no multiple of the sample time {dt:.9g} s of this StateSpace."
        )
    return np.round(count).astype(np.int64)


def _powers(A: FloatArray, start: FloatArray, samples: Any) -> FloatArray:
    """(N, nx): A^k start for ascending k."""
    if len(samples) == 0:
        return np.empty((0, len(A)))
    first = np.linalg.matrix_power(A, int(samples[0])) @ start
    path = march(A, np.zeros((int(samples[-1] - samples[0]), len(A))), first)
    result: FloatArray = path[samples - samples[0]]
    return result


def _refuse_other_sampling(dt: float, t: FloatArray, jitter: float = 1e-3) -> None:
    """``jitter`` of a clock in measured times, of the sample time; a sampled model has no shorter one."""
    if len(t) < 2:
        return
    steps = np.diff(t)
    if np.abs(steps - dt).max() > jitter * dt:
        worst = float(steps[int(np.abs(steps - dt).argmax())])
        raise DataError(
            "sample-time-mismatch",
            f"this StateSpace is sampled every {dt:.9g} s, but the inputs have a step of {worst:.9g} s.",
            Advice(
                "Use {}.", Call("Record.resample", Argument("every", float(f"{dt:.9g}"))), Call("StateSpace.resample")
            ),
        )
