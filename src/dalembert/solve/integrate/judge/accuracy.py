"""How far a run can be trusted: its energy balance, and the stability of its steps.

`energy.balance` is zero in an exact run. Energy that is off by ε of the energy that moves (kinetic, the range of the
potential one, or the work done) makes speeds wrong by ε/2: positions are off by about ε/2 of the path so far. Paths are
measured in sizes x of the coordinates, ∫ √(2 T / max M_kk x_k²) dt: a run of some milliseconds from rest moves next to
nothing.

Explicit steps h are stable where h |λ| is at most a number of the method, for every eigenvalue λ of the derivative

    ∂(q̇, v̇, ż)/∂(q, v, z)        of the accelerations under the joints, by differences.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.equations import State
from dalembert.expressions import Array, Kernel
from dalembert.numerics import ties
from dalembert.record import Record
from dalembert.solve.constrained.solve import forward_function
from dalembert.solve.integrate.method import Method
from dalembert.solve.position.balance import sizes

ENERGIES = ("energy.balance", "energy.kinetic", "energy.potential")
FIXED = 1e-3  # of the energy that moves: after a path of 1 m places are off by half a millimetre
CONTROLLED = (1e2, 1e-6)  # times rtol, and at least: of 500 runs of the tests, hard stops among them, none has 5e-7
ROUNDING = 1e-13  # of the potential energy: 450 roundings
NEGLIGIBLE = 1e-6  # of its size, by which a machine is off: a micrometre of 1 m
REST = 1e-9  # m/s or rad/s, the absolute tolerance of the methods: slower machines are at rest
DIFFERENCE = 1e-6  # of a coordinate: half of the digits
LARGEST = 600  # coordinates, speeds and internal states; dense eigenvalues of more take seconds


def judge_energy(run: Record, method: Method, start: State) -> list[Finding]:
    """The finding of a run from a state whose energy is further off than its method promises."""
    if len(run) < 2 or not set(ENERGIES) <= set(run.names):
        return []
    balance, kinetic, potential = (np.asarray(run[name]) for name in ENERGIES)
    with np.errstate(all="ignore"):  # a motion of 1e200 m has no energy in numbers
        size = float(max(kinetic.max(), np.ptp(potential), np.ptp(kinetic + potential - balance)))
    worst = int(np.argmax(np.abs(balance)))
    off = float(abs(balance[worst])) - ROUNDING * float(np.abs(potential).max())
    rtol = getattr(method, "rtol", None) if method.step is None else None
    limit = FIXED if rtol is None else max(CONTROLLED[0] * rtol, CONTROLLED[1])
    if off <= limit * size:
        return []
    mass = np.diag(np.atleast_2d(start.eqs.kernel("inertia")(start.q, start.eqs.p, start.t)[0]))
    if kinetic.max() <= 0.5 * REST**2 * mass.sum():
        return []
    share, time = off / size, float(run.time[worst])
    inertia = float((mass * sizes(start.eqs, start.q, start.t, mass) ** 2).max())
    path = float(np.diff(run.time) @ np.sqrt(2.0 * np.abs(kinetic[1:]) / inertia))
    if 0.5 * share * path <= NEGLIGIBLE:
        return []
    problem = (
        f"the energy of the run of {run.name!r} is off by {off:.2g} J at t = {time:.4g} s, {share:.1e} of the energy "
        f"that moves, more than the {limit:.0e} of an accurate run: positions may be off by half that share of their "
        "path."
    )
    advice = [Advice("Use {}, which controls its error.", Argument("method", Call("da.DormandPrince")))]
    if method.step is not None:
        advice.insert(0, Advice("Use a smaller {} (now " + f"{method.step:g} s).", Argument("step")))
    elif rtol is not None:
        advice = [Advice("Use a smaller {} (now " + f"{rtol:g}).", Argument("rtol"))]
    return [Finding("energy-drift", problem, {"time": time}, {"share": share, "limit": limit}, tuple(advice))]


def judge_step(method: Method, states: Iterable[tuple[State, Array]]) -> Finding | None:
    """The finding of explicit steps that are unstable at one of the states; each with its inputs.

    A machine that runs away as fast as its fastest motion dies out has no such step: it leaves finite numbers itself.
    """
    if method.step is None or not method.stable:
        return None
    for state, u in states:
        rate, owner, growth = find_fastest_motion(state, u)
        if method.step * rate > method.stable and growth < 0.5 * rate:
            longest, name = method.stable / rate, type(method).__name__
            problem = (
                f"steps of {method.step:g} s are unstable: at t = {state.t:.6g} s the fastest motion of "
                f"{state.eqs.name!r}, {owner}, has a rate of {rate:.3g} 1/s, for which {name} needs steps below "
                f"{longest:.2g} s."
            )
            advice = (
                Advice("Use a smaller {} (now " + f"{method.step:g} s).", Argument("step")),
                Advice(
                    "Or use {}.", *(Argument("method", Call(f"da.{one}")) for one in ("Rosenbrock", "DormandPrince"))
                ),
            )
            evidence = {"step": method.step, "rate": rate, "longest": longest}
            return Finding("unstable-step", problem, {"time": state.t, "motion": owner}, evidence, advice)
    return None


def find_fastest_rate(state: State, u: Array) -> float:
    """Largest |λ| [1/s] of the machine at a state; 0 where it is too large to look, or not finite."""
    return find_fastest_motion(state, u)[0]


def find_fastest_motion(state: State, u: Array) -> tuple[float, str, float]:
    """Largest |λ| [1/s], the (flexible) body or speed that moves most with it, and the largest real part of λ."""
    eqs = state.eqs
    x = np.concatenate((state.q, state.v, state.z))
    n = len(x)
    if not 0 < n <= LARGEST:
        return 0.0, "", 0.0
    kernel = eqs.cache("forward kernel", lambda: Kernel(forward_function(eqs)))
    change = DIFFERENCE * np.maximum(1.0, np.abs(x))
    rows = np.concatenate((x + np.diag(change), x - np.diag(change)))
    q, v, z = np.split(rows, [eqs.nq, eqs.nq + eqs.nv], axis=1)
    slopes = np.hstack(kernel.many(q, v, z, u, eqs.p, state.t, state.lam)[:3])
    with np.errstate(all="ignore"):
        J = (slopes[:n] - slopes[n:]) / (2.0 * change[:, None])
    if not np.isfinite(J).all():
        return 0.0, "", 0.0
    values, vectors = np.linalg.eig(J)
    fastest = int(ties.first_largest(values))
    moved = np.abs(vectors[eqs.nq : eqs.nq + eqs.nv, fastest])
    elastic = eqs.elastic_speeds
    if elastic:
        name = list(elastic)[int(ties.first_largest(moved[list(elastic.values())]))]
        owner = f"of body {eqs.measures.owners[eqs.measures.index[name]]!r}"
    elif not len(moved) or not moved.any():
        owner = "of its internal states"
    else:
        owner = f"of {eqs.speeds.names[int(ties.first_largest(moved))]!r}"
    return float(np.abs(values[fastest])), owner, float(values.real.max())
