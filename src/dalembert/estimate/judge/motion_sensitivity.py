"""Derivatives of a process along a motion, on which observability is judged.

With F_k = ∂(x_{k+1})/∂e and H_k = ∂y_k/∂e along a motion, in a window of n samples

    O = [H₀; H₁ F₀; H₂ F₁F₀; …] ,     W = Oᵀ R⁻¹ O

and, without any slope, from motions that start ε_i to both sides of the reference (empirical gramian)

    W_ij = Σ_k (y_k^{+i} - y_k^{-i})ᵀ R⁻¹ (y_k^{+j} - y_k^{-j}) / (4 ε_i ε_j) .
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.estimate.models.process import Process, find_places
from dalembert.expressions import Array, Kernel
from dalembert.record import Record

SX, MX = ca.SX, ca.MX


class MotionSamples:
    """States along a motion: t (N,), x (N, nx), u (N, nu), Δt (N,) to the next sample (the last repeated)."""

    def __init__(self, t: Array, x: Array, u: Array) -> None:
        self.t, self.x, self.u = t, x, u
        steps = np.diff(t)
        self.dt = np.concatenate((steps, steps[-1:])) if len(steps) else np.zeros(len(t))


def state_of_record(eqs: EquationsOfMotion, record: Record) -> State:
    """The machine at the first sample of a record."""
    q = [_column(record, eqs.counted_angles.get(name, name))[0] for name in eqs.coordinates.names]
    v, z = ([_column(record, name)[0] for name in names] for names in (eqs.speeds.names, eqs.internal.names))
    return eqs.state(q, v, z, float(record.time[0]))


def motion_of_record(model: Process, record: Record) -> MotionSamples:
    """Channels of a record by the names of states and inputs; inputs it does not have are zero."""
    x = np.zeros((len(record), model.nx))
    angles = model.source.counted_angles if isinstance(model.source, EquationsOfMotion) else {}
    for k, name in enumerate(model.carried.names):
        if ".multiplier" in name or (name not in record and name in input_names(model)):
            continue
        x[:, k] = _column(record, angles.get(name, name))
    u = np.zeros((len(record), model.nu))
    for k, name in enumerate(model.inputs.names):
        if name in record:
            u[:, k] = record[name]
    bad = np.flatnonzero(~(np.isfinite(x).all(axis=1) & np.isfinite(u).all(axis=1)))
    if len(bad):
        problem = f"the motion has a gap (NaN) at t = {record.time[bad[0]]:g} s."
        raise DataError("gap-in-record", problem, where={"time": float(record.time[bad[0]])})
    return MotionSamples(np.array(record.time), x, u)


def input_names(model: Process) -> tuple[str, ...]:
    """All inputs of the machine behind a process."""
    return model.source.inputs.names if isinstance(model.source, EquationsOfMotion) else ()


def _column(record: Record, channel: str) -> Array:
    if channel not in record:
        raise DataError(
            "missing-channel",
            f"the motion must hold every state: {unknown_name('channel', channel, record.names, 'the record')}",
            Advice("Use a run of {} or the estimate of a filter.", Call("da.simulate")),
            where={"channel": channel},
        )
    return np.asarray(record[channel])


def add_candidates(model: Process, candidates: Any) -> tuple[Process, tuple[str, ...]]:
    """The process with all other quantities that it can give as further outputs."""
    readable = model.reported if "report" in model.functions else model.carried
    skip = {*model.outputs.names, *_euler_parameters(model)}
    names = [name for name in _order(model, readable.names) if name not in skip]
    if candidates is not None:
        wanted = take_names("candidate", candidates)
        find_places(wanted, readable.names, "candidate")
        names = [name for name in wanted if name not in model.outputs.names]
    places = [readable.index[name] for name in names]
    x, u = SX.sym("x", model.nx), SX.sym("u", model.nu)
    p, t = SX.sym("p", len(model.parameters)), SX.sym("t")
    if not model.functions["outputs"].is_a("SXFunction"):
        x, u, p, t = (MX.sym(s.name(), s.shape[0]) for s in (x[0], u, p, t))
    more = model.functions["report"](x, u, p, t) if "report" in model.functions else x
    y = ca.vertcat(model.functions["outputs"](x, u, p, t), *[more[k] for k in places])
    functions = {**model.functions, "outputs": ca.Function("outputs", [x, u, p, t], [y])}
    units = [*model.outputs.units, *[readable.units[k] for k in places]]
    channels = Channels([*model.outputs.names, *names], units)
    extended = replace(model, outputs=channels, functions=functions, wrapped=(False,) * len(channels))
    return extended, model.outputs.names


def _euler_parameters(model: Process) -> set[str]:
    if not isinstance(model.source, EquationsOfMotion):
        return set()
    return {name for block in model.source.quaternions for name in model.source.coordinates.names[block.part]}


def _order(model: Process, names: tuple[str, ...]) -> list[str]:
    """Sensors that are there already first, then coordinates of joints, of bodies, internal states; rates last."""
    eqs = model.source
    if not isinstance(eqs, EquationsOfMotion):
        return list(names)
    joints = [eqs.measures.names[k] for k in eqs.recorded_measures]
    groups = (eqs.outputs.names, joints, eqs.measures.names, eqs.coordinates.names, eqs.internal.names,
              eqs.measure_rates.names, eqs.speeds.names)  # fmt: skip
    place = {name: k for k, group in reversed(list(enumerate(groups))) for name in group}
    return sorted(names, key=lambda name: place.get(name, len(groups)))


def motion_from(model: Process, x0: Array, t0: float, dt: float, samples: int) -> MotionSamples:
    """The motion from a state, inputs at zero."""
    step = Kernel(model.functions["step"])
    x, u = np.empty((samples, model.nx)), np.zeros(model.nu)
    x[0] = x0
    t: Array = np.asarray(t0 + dt * np.arange(samples), dtype=float)
    for k in range(1, samples):
        x[k] = step.raw(x[k - 1], u, model.p, t[k - 1], dt)[0]
    if not np.isfinite(x).all():
        problem = f"the motion of {model.name!r} from this state grows beyond every number."
        raise ModelError("diverged", problem, Advice("Use fewer {}.", Argument("samples")))
    return MotionSamples(t, x, np.zeros((samples, model.nu)))


def slopes(model: Process, motion: MotionSamples) -> tuple[Array, Array]:
    """F (N, ne, ne), H (N, ny, ne) along a motion: exact."""
    F, H = slope_kernel(model).many(motion.x, motion.u, model.p, motion.t[:, None], motion.dt[:, None])
    count = len(motion.t)
    return F.reshape(count, model.ne, model.ne), H.reshape(count, model.ny, model.ne)


def slope_kernel(model: Process) -> Kernel:
    """(x, u, p, t, Δt) -> F, H."""
    f = model.functions
    kind = SX if all(function.is_a("SXFunction") for function in f.values()) else MX
    x, e, u = kind.sym("x", model.nx), kind.sym("e", model.ne), kind.sym("u", model.nu)
    p, t, dt = kind.sym("p", len(model.parameters)), kind.sym("t"), kind.sym("dt")
    after, y = f["step"](x, u, p, t, dt), f["outputs"](x, u, p, t)
    if model.flat:
        F, H = ca.jacobian(after, x), ca.jacobian(y, x)
    else:
        moved = f["retract"](x, e, p, t)
        F = ca.jacobian(f["difference"](f["step"](moved, u, p, t, dt), after, p, t + dt), e)
        H = ca.jacobian(f["outputs"](moved, u, p, t), e)
        F, H = ca.substitute([F, H], [e], [kind.zeros(model.ne)])
    function = ca.Function("slopes", [x, u, p, t, dt], [ca.densify(F), ca.densify(H)])
    return Kernel(function)


def windows(F: Array, H: Array, length: int) -> tuple[Array, Array, Array]:
    """Starts of windows, their stacked slopes O (windows, length, ny, ne), and the flow Φ from the start likewise."""
    count = max(1, len(H) // length)
    length = min(length, len(H))
    starts = np.linspace(0, len(H) - length, count).round().astype(int)
    ne = H.shape[2]
    flow = np.empty((count, length, ne, ne))
    flow[:, 0] = np.eye(ne)
    for k in range(1, length):
        flow[:, k] = F[starts + k - 1] @ flow[:, k - 1]
    places = starts[:, None] + np.arange(length)
    return starts, H[places] @ flow, flow


def spread(model: Process, motion: MotionSamples, amplitudes: Array) -> Array:
    """(samples, ny, ne): half the difference of the outputs of motions that start to both sides, per amplitude.

    motion : the inputs of the window; its first state is the reference.
    """
    f, p = model.functions, model.p
    kind = SX if f["step"].is_a("SXFunction") and f["outputs"].is_a("SXFunction") else MX
    x, u, t, dt = kind.sym("x", model.nx), kind.sym("u", model.nu), kind.sym("t"), kind.sym("dt")
    q = kind.sym("p", len(model.parameters))
    tick = ca.Function("tick", [x, u, q, t, dt], [f["step"](x, u, q, t, dt), f["outputs"](x, u, q, t)])
    n, ne = len(motion.t), model.ne
    run = Kernel(tick.mapaccum("run", n, 1))
    starts = []
    for sign in (1, -1):
        for k in range(ne):
            e = np.zeros(ne)
            e[k] = sign * amplitudes[k]
            starts.append(np.array(model.retract(ca.DM(motion.x[0]), ca.DM(e), ca.DM(p), motion.t[0])).ravel())
    time = np.concatenate((motion.t, motion.dt))
    many = run.many(
        np.array(starts), np.ravel(motion.u), np.tile(p, n), time[:n], time[n:]
    )[1].transpose(0, 2, 1).reshape(2, ne, n, model.ny)  # fmt: skip
    change = (many[0] - many[1]) / (2 * amplitudes[:, None, None])
    return np.asarray(change.transpose(1, 2, 0))
