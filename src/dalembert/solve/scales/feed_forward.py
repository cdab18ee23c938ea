"""Torques, deflections and sensors of a smooth motion on the manifold, without integration.

With the slow motion s(t) prescribed the expansion of `manifold` reads, B = ∂F_s/∂u,

    B u₀ = M_ss s̈ - F_s|₀ ,   h₀ = g - M_fs s̈ ,   B u₂ = δM_ss s̈ + M_sf K⁻¹ ḧ₀ - δF_s ,
    h₁ = -D K⁻¹ ḣ₀ ,   h₂ = δg + ∂g/∂u u₂ - δM_fs s̈ - M_ff K⁻¹ ḧ₀ + D K⁻¹ D K⁻¹ ḧ₀ .

ḣ₀ needs the jerk of the motion, ḧ₀ its snap: where the jerk jumps (a quintic that starts from rest), torques of order 2
would be impulses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel, one_value
from dalembert.record import Record
from dalembert.solve.integrate.channels import Samples, to_record
from dalembert.solve.position.prescribed_motion import RecordMotion, differentiate
from dalembert.solve.scales.manifold import Expansion

if TYPE_CHECKING:
    from dalembert.solve.scales.two_time_scale import TwoTimeScale

SX = ca.SX
JUMP = 0.05  # share of the largest jerk: a change between two samples that the snap does not explain
EXPLAINED = 3.0  # times the snap over an interval: a smooth motion changes its jerk by at most about once this
NOTHING = 1e-6  # share of the largest speed or acceleration that counts as rest
DOUBTFUL = 0.2  # estimated error of a splined snap, of the largest one, above which samples do not show it


def feed_forward(two: TwoTimeScale, motion: Any, times: Any) -> Record:
    """See `TwoTimeScale.feed_forward`."""
    eqs, split = two.eqs, two.split
    names = prescribed_coordinates(two)
    time, derivatives = _derivatives(eqs, names, motion, times, two.order)
    if two.order:
        _refuse_jumps(time, derivatives, names)
    rows = len(time)
    drawn = eqs.state().q
    q = np.tile(drawn[list(split.slow_q)], (rows, 1))
    q[:, [k for k, place in enumerate(split.slow_q) if eqs.coordinates.names[place] in names]] = derivatives[0]
    kernel = two._made("feed forward", lambda: Kernel(feed_forward_function(two.expansion, two.order)))
    u, x, y, w = kernel.many(q, *derivatives[1:], eqs.p, time.reshape(-1, 1))
    if not np.isfinite(u).all():
        raise ModelError("no-solution", f"no inputs make this motion of {eqs.name!r} at t = "
                         f"{time[np.argmax(~np.isfinite(u).all(axis=1))]:.6g} s.")  # fmt: skip
    full = np.empty((rows, eqs.nq)), np.empty((rows, eqs.nv)), np.empty((rows, eqs.nv))
    full[0][:, split.slow_q], full[0][:, split.fast_q] = q, x + drawn[list(split.fast_q)]
    full[1][:, split.slow_v], full[1][:, split.fast_v] = derivatives[1], y
    full[2][:, split.slow_v], full[2][:, split.fast_v] = derivatives[2], w
    samples = Samples(time, full[0], full[1], np.zeros((rows, 0)), np.zeros(rows), full[2], np.zeros((rows, 0)))
    about = {"method": "feed_forward", "mechanism": eqs.name, "order": two.order, "epsilon": two.epsilon}
    record = to_record(eqs, samples, u, provenance=about)
    return record.select(*(name for name in record.names if name != "energy.balance"))  # no work is integrated


def prescribed_coordinates(two: TwoTimeScale) -> list[str]:
    """Names of the slow coordinates, one for each slow speed, in the order of the speeds."""
    eqs, split = two.eqs, two.split
    if eqs.nz:
        raise ModelError("not-supported", f"{eqs.name!r} has internal states: actuators must be torques or forces.")
    places = [k for k in split.slow_q if eqs.coordinates.names[k] not in eqs.unrecorded]
    N = eqs.kernel("kinematics")(eqs.state().q, eqs.p, 0.0)[0]
    if not np.allclose(N[np.ix_(places, list(split.slow_v))], np.eye(len(places), len(split.slow_v)), atol=1e-9):
        raise ModelError("not-supported", f"slow coordinates of {eqs.name!r} must have their derivatives as speeds.")
    gain = two._rest(*(two._slow_state(None)[k] for k in (0,)), np.zeros(len(split.fast_q)), np.zeros(0),
                     two._resting_inputs, 0.0)[2][list(split.slow_v), 2 * len(split.fast_q) :]  # fmt: skip
    if gain.shape[0] != gain.shape[1] or np.linalg.matrix_rank(gain) < len(gain):
        raise ModelError(
            "too-few-inputs", f"{eqs.name!r} has {len(split.slow_v)} slow coordinates; as many independent inputs are "
            f"needed, it has {eqs.nu}.", evidence={"inputs": eqs.nu, "coordinates": len(split.slow_v)},
        )  # fmt: skip
    return [eqs.coordinates.names[k] for k in places]


def _derivatives(
    eqs: EquationsOfMotion, names: list[str], motion: Any, times: Any, order: int
) -> tuple[Array, list[Array]]:
    """Times, and values of the coordinates with four derivatives, each (times, coordinates)."""
    if isinstance(motion, Record):
        source = RecordMotion(eqs, motion)
        missing = [name for name in names if name not in source.targets.names]
        if missing:
            raise DataError("missing-channel", f"the motion has no channel {missing[0]!r}.")
        time = motion.time if times is None else np.asarray(times, dtype=float)
        chosen = [source.targets.names.index(name) for name in names]
        s, rate, acceleration = (part[:, chosen] for part in source.at(time))
        jerk, snap = np.zeros_like(s), np.zeros_like(s)
        if order:
            jerk = differentiate(time, acceleration, 1)[0]
            snap, error = differentiate(time, acceleration, 2)
            if np.abs(error).max() > DOUBTFUL * np.abs(snap).max():
                k = int(np.argmax(np.abs(error).max(axis=0)))
                raise _jump(names[k], float(time[np.argmax(np.abs(error[:, k]))]))
        return time, [s, rate, acceleration, jerk, snap]
    if not isinstance(motion, Mapping):
        raise DataError("wrong-type", f"motion must be a Record or functions by coordinate, got {motion!r:.60}.")
    if times is None:
        raise DataError("missing-argument", "a motion of functions needs times.", Advice("Give {}.", Argument("times")))
    given = {eqs.full_name(name): value for name, value in motion.items()}
    if set(given) != set(names):
        wrong = sorted(set(given) ^ set(names))[0]
        raise ModelError("free-to-move" if wrong in names else "unknown-name",
                         f"the motion must have the coordinates {', '.join(names)}; {wrong!r} differs.")  # fmt: skip
    t = SX.sym("t")
    columns = [ca.vertcat(*(one_value(given[name], f"motion of {name!r}", t) for name in names))]
    for _ in range(4):
        columns.append(ca.densify(ca.jacobian(columns[-1], t)))
    time = np.asarray(times, dtype=float)
    return time, Kernel(ca.Function("motion", [t], columns)).many(time.reshape(-1, 1))


def _refuse_jumps(time: Array, derivatives: list[Array], names: list[str]) -> None:
    _, rate, acceleration, jerk, snap = derivatives
    size = np.abs(jerk).max(axis=0)
    change = np.abs(np.diff(jerk, axis=0))
    smooth = EXPLAINED * np.maximum(np.abs(snap[1:]), np.abs(snap[:-1])) * np.diff(time)[:, None]
    jumps = (change > JUMP * size) & (change > smooth)
    still = (np.abs(rate) <= NOTHING * np.abs(rate).max(axis=0)) & (
        np.abs(acceleration) <= NOTHING * np.abs(acceleration).max(axis=0))  # fmt: skip
    for end, k in ((0, 0), (-1, len(time) - 2)):  # at rest before the beginning and after the end
        jumps[k] |= still[end] & (np.abs(jerk[end]) > JUMP * size)
    if jumps.any():
        row, column = np.argwhere(jumps)[0]
        raise _jump(names[column], float(time[row]))


def _jump(name: str, time: float) -> ModelError:
    return ModelError(
        "needs-derivative", f"the jerk of {name!r} jumps near t = {time:.6g} s: torques of order 2 would be impulses "
        "there.", Advice("Use a motion with continuous snap (polynomials of degree nine)."),
        Advice("Or separate the scales with {}.", Argument("order", 0)), where={"coordinate": name, "time": time},
    )  # fmt: skip


def feed_forward_function(e: Expansion, order: int) -> ca.Function:
    """(q_s, ṡ, s̈, jerk, snap, p, t) -> inputs, deflections, their rates and accelerations."""
    a, jerk, snap = (SX.sym(name, len(e.split.slow_v)) for name in ("a", "jerk", "snap"))
    B = ca.jacobian(e.at_zero(e.F_s), e.u)
    bias = ca.substitute(e.at_zero(e.F_s), e.u, SX.zeros(e.eqs.nu))
    B = ca.substitute(B, e.u, SX.zeros(e.eqs.nu))
    u = ca.solve(B, e.Mss @ a - bias)
    h0 = ca.substitute(e.at_zero(e.g), e.u, u) - e.Mfs @ a
    N, n = e.slow_kinematics

    def rate(expression: Any) -> Any:
        along = [(e.q, N @ e.v + n), (e.v, a), (a, jerk), (jerk, snap), (e.t, SX(1))]
        return ca.jtimes(expression, *(ca.vertcat(*column) for column in zip(*along, strict=True)))

    x = e.soften(h0)
    y = w = e.at_zero(e.x)
    if order:
        dh0 = rate(h0)
        ddh0 = rate(dh0)
        y, w = e.soften(dh0), e.soften(ddh0)
        u2 = ca.solve(B, e.Mfs.T @ w - ca.substitute(e.along(e.F_s - e.M_s @ a, x, y), e.u, u))
        near = e.along(e.g - e.M_f @ a, x, y) + ca.jtimes(e.at_zero(e.g), e.u, u2)
        h = h0 + ca.substitute(near, e.u, u) - e.Mff @ w + e.D @ e.soften(e.D @ w) - e.D @ y
        x, y, u = e.soften(h), e.soften(dh0 - e.D @ w), u + u2
    arguments = [e.q, e.v, a, jerk, snap, e.p, e.t]
    return ca.Function("feed_forward", arguments, [ca.densify(part) for part in (u, x, y, w)], {"cse": True})
