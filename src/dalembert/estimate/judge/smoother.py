"""Smoothing: the estimate of every sample from the whole record (Rauch, Tung and Striebel 1965).

    G_k = C_k (P⁻_{k+1})⁻¹ ,   x̂ₖ = x_k ⊞ G_k (x̂_{k+1} ⊟ x⁻_{k+1}) ,   P̂_k = P_k + G_k (P̂_{k+1} - P⁻_{k+1}) G_kᵀ

C_k is the covariance of the errors before and after a step (P Aᵀ in a linear filter, P Fᵀ in an extended one, from the
points in a sigma-point one): each filter supplies it, so one smoother serves them all.
"""

from __future__ import annotations

import time as clock
from typing import Annotated, Any

import casadi as ca
import numpy as np

from dalembert.core.declare import checked, instance
from dalembert.core.errors import DataError, Interrupted, ModelError
from dalembert.core.findings import Advice, Call
from dalembert.core.progress import Progress
from dalembert.estimate.algebra.covariance_factors import factor, solve_positive
from dalembert.estimate.algebra.matrices import pack, triangle, unpack
from dalembert.estimate.engine import recursion as engine
from dalembert.estimate.engine.estimate import Estimate
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.rows import read_rows
from dalembert.expressions import Array, Kernel
from dalembert.record import Record

MX = ca.MX


EstimateOfFilter = Annotated[
    Estimate, instance(Estimate, advice=[Advice("Give the result of {}.", Call("filter.run"))]), "result of a filter"
]


@checked
def smooth(estimate: EstimateOfFilter, *, progress: object = None) -> Estimate:
    """Estimate of every sample from the samples before and after it.

    Parameters
    ----------
    estimate : the estimate of a filter (``filter.run(record)``).

    Returns
    -------
    Estimate with smoothed states and deviations; innovations and likelihood are those of the filter.
    """
    if estimate.status != "complete" or estimate.smoothed:
        raise DataError("not-supported", "the estimate must be complete and not smoothed already.")
    began = clock.process_time()
    filter_: Filter = estimate.filter
    kernel = filter_.cache("smoother", lambda: _kernel(filter_))
    results = _back(filter_, kernel, estimate, progress)
    m, nr = filter_.process, len(filter_.native.reported)
    report, variance, states, packed = np.split(results, np.cumsum([nr, nr, m.nx]), axis=1)
    about: dict[str, Any] = {"name": estimate.record.name, "status": "complete"}
    names, units = filter_.native.reported.names, filter_.native.reported.units
    return estimate._replace(
        record=Record(estimate.time, report, names, units, **about),
        deviations=Record(estimate.time, np.sqrt(np.maximum(variance, 0.0)), names, units, **about),
        states=states.copy(), _packed=packed.copy(), smoothed=True,
        seconds=estimate.seconds + clock.process_time() - began,
    )  # fmt: skip


def _back(filter_: Filter, kernel: Any, estimate: Estimate, progress: Any) -> Array:
    """(N, report, variance, x, packed P), from the last sample to the first."""
    filter_states = estimate.filter_states()
    rows = read_rows(filter_, estimate.data)
    m, p = filter_.process, filter_.model.numbers
    N = len(filter_states)
    u = np.vstack([rows[1:, : m.nu], rows[-1:, m.nu : 2 * m.nu]])  # what acts until the next sample
    following = np.append(rows[1:, -1], 0.0)
    data = np.column_stack([filter_states, u, rows[:, -2], following])[::-1]
    results = np.empty((N, kernel.width))
    after = np.zeros(m.nx + triangle(m.ne))
    kernel.expect(N)
    done = 0
    with Progress(progress, f"smoothing {m.name}") as bar:
        try:
            for samples in engine.blocks(N):
                block = data[samples]
                count = len(block)
                result = kernel.run(count, after, block, p)
                results[done : done + count] = result
                after = result[-1, : len(after)]
                done += count
                bar.update(done / N)
        except KeyboardInterrupt:
            raise Interrupted(
                "interrupted", "smoothing was interrupted; the estimate of the filter is whole."
            ) from None
    if not np.isfinite(results).all():
        square_root = Advice("Run the filter in a square-root form.")
        raise DataError("diverged", "smoothing gave values that are not finite.", square_root)
    # (x̂, P̂) come first in a row: the next sample begins with them
    return np.hstack([results[::-1, len(after) :], results[::-1, : len(after)]])


def _kernel(filter_: Filter) -> Kernel:
    """(x̂ and P̂ of the next sample, data of this one, p) -> x̂ and P̂, report, variance."""
    step = engine.flatten(_step(filter_))
    sizes = [step.size1_in(i) for i in range(1, 5)]
    after, p, d = MX.sym("after", step.size1_in(0)), MX.sym("p", step.size1_in(5)), MX.sym("d", sum(sizes))
    parts = ca.vertsplit(d, np.cumsum([0, *sizes]).tolist())
    return Kernel(ca.Function("back", [after, d, p], step.call([after, *parts, p])))


def _step(filter_: Filter) -> ca.Function:
    """(x̂ and P̂ of the next sample, filter state of this one, u, t, Δt to the next, p) -> x̂ and P̂, report, variance.

    Δt = 0 marks the last sample, where the filter's own estimate is the smoothed one.
    """
    model, m = filter_.model, filter_.process
    after, M, u = MX.sym("after", m.nx + triangle(m.ne)), MX.sym("m", filter_.state_size), MX.sym("u", m.nu)
    t, dt, p = MX.sym("t"), MX.sym("dt"), MX.sym("p", len(model.numbers))
    try:
        cross = filter_.cross(M, u, p, t, dt)
    except NotImplementedError as error:
        raise ModelError("not-supported", f"{type(filter_).__name__} has no smoother.") from error
    x, P = M[: m.nx], filter_.covariance(M)
    before = filter_.predict(M, u, p, t, dt)
    x1, P1 = before[: m.nx], filter_.covariance_before(before)
    G = solve_positive(factor(P1), cross.T).T
    gap = model.difference(after[: m.nx], x1, p, t + dt)
    x_smooth = model.retract(x, G @ gap, p, t)
    P_smooth = P + G @ (unpack(after[m.nx :], m.ne) - P1) @ G.T
    inside = dt > 0
    x, P = ca.if_else(inside, x_smooth, x), ca.if_else(inside, P_smooth, P)
    slope = model.report_slope(x, u, p, t)
    variance = ca.diag(P) if slope is None else ca.sum2((slope @ P) * slope)
    outputs = [ca.vertcat(x, pack(P)), model.report(x, u, p, t), variance]
    return ca.Function("smooth", [after, M, u, t, dt, p], [ca.densify(ca.vec(v)) for v in outputs])
