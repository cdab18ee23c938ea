"""Numerical checks of equations of motion: finite differences, degrees of freedom, states drawn at random.

Central differences with h = 1e-5 leave h² times a third derivative of order one, and 1e-16/h of rounding: about 1e-10.
DIFFERENCE is a hundred times that, since third derivatives of the tested expressions reach a few tens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.equations import State

Array = NDArray[np.float64]
STEP = 1e-5
DIFFERENCE = 1e-8


def kkt_condition(M: Array, A: Array) -> float:
    """Condition number of the KKT matrix as it stands (1e8 is where methods may begin to differ)."""
    m = A.shape[0]
    return float(np.linalg.cond(np.block([[M, -A.T], [A, np.zeros((m, m))]])))


def matched(found: Any, expected: Any) -> NDArray[np.complex128]:
    """Poles in the order of the expected ones, each the nearest: sorting would let the last bit order a pair."""
    from scipy.optimize import linear_sum_assignment

    found, expected = np.array(found, dtype=complex), np.array(expected, dtype=complex)
    assert found.shape == expected.shape
    return found[linear_sum_assignment(np.abs(expected[:, None] - found))[1]]


def moved(eqs: da.EquationsOfMotion, q: Array, change: Array) -> Array:
    """q moved along a change of pose in the tangent space, Euler parameters of unit length."""
    N, _ = eqs.kernel("kinematics")(q, eqs.p, 0.0)
    result = q + N.reshape(eqs.nq, eqs.nv) @ change
    for start in (block.coordinate for block in eqs.quaternions):
        result[start : start + 4] /= np.linalg.norm(result[start : start + 4])
    return result


def rows(eqs: da.EquationsOfMotion, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    A, b = eqs.kernel("rows")(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, t)
    return A.reshape(len(eqs.rows), eqs.nv), b


def random_state(eqs: da.EquationsOfMotion, seed: int = 1, spread: float = 0.4, t: float = 0.3) -> State:
    """A state with every joint closed, away from the drawing, with speeds of order one."""
    random = np.random.default_rng(seed)
    first = da.assemble(eqs, t=t)
    q = moved(eqs, np.array(first.q), spread * random.normal(size=eqs.nv))
    return da.assemble(eqs, start=eqs.state(q, random.normal(size=eqs.nv), t=t), t=t)


def freedoms(eqs: da.EquationsOfMotion, state: State) -> int:
    """Number of independent speeds: nv minus the rank of A."""
    A, _ = rows(eqs, state.q, state.v, state.t)
    return eqs.nv - int(np.linalg.matrix_rank(A, tol=1e-9)) if len(A) else eqs.nv


def row_error(eqs: da.EquationsOfMotion, state: State) -> float:
    """Largest difference of A, of the rates and of b from central differences of φ and of the rates."""
    q, v, t, h = np.array(state.q), np.array(state.v), state.t, STEP
    A, b = rows(eqs, q, v, t)
    holonomic, rated = eqs.holonomic_rows, eqs.rate_rows
    upper = [rated.index(k) for k in holonomic]

    def phi(q: Array, t: float = t) -> Array:
        return eqs.kernel("position")(q, eqs.p, t)[0]

    def rate(q: Array, v: Array, t: float = t) -> Array:
        return eqs.kernel("rates")(q, v, eqs.p, t)[0]

    errors = [0.0]
    for k in range(eqs.nv):
        e = h * np.eye(eqs.nv)[k]
        if holonomic:
            slope = (phi(moved(eqs, q, e)) - phi(moved(eqs, q, -e))) / (2 * h)
            errors.append(float(np.abs(slope - A[holonomic, k]).max()))
        if rated:
            slope = (rate(q, v + e) - rate(q, v - e)) / (2 * h)
            errors.append(float(np.abs(slope - A[rated, k]).max()))
    forward, back = moved(eqs, q, h * v), moved(eqs, q, -h * v)
    if holonomic:
        slope = (phi(forward, t + h) - phi(back, t - h)) / (2 * h)
        errors.append(float(np.abs(slope - rate(q, v)[upper]).max()))
    if rated:
        slope = (rate(forward, v, t + h) - rate(back, v, t - h)) / (2 * h)
        errors.append(float(np.abs(slope + b[rated]).max()))
    return max(errors)


def measure_error(eqs: da.EquationsOfMotion, state: State) -> float:
    """Largest difference of ṡ, S and the bias of all named coordinates from central differences."""
    q, v, t, h = np.array(state.q), np.array(state.v), state.t, STEP

    def both(q: Array, v: Array, t: float = t) -> list[Array]:
        return eqs.kernel("measures")(q, v, eqs.p, t)

    def step(plus: Array, minus: Array) -> Array:
        return (plus - minus) / (2 * h)

    _, rate, S, bias = both(q, v)
    S = S.reshape(len(eqs.measures), eqs.nv)
    errors = [0.0]
    for k in range(eqs.nv):
        e = h * np.eye(eqs.nv)[k]
        slope = step(both(moved(eqs, q, e), v)[0], both(moved(eqs, q, -e), v)[0])
        errors.append(float(np.abs(slope - S[:, k]).max()))
    forward, back = both(moved(eqs, q, h * v), v, t + h), both(moved(eqs, q, -h * v), v, t - h)
    errors.append(float(np.abs(step(forward[0], back[0]) - rate).max()))
    errors.append(float(np.abs((forward[1] - back[1]) / (2 * h) - bias).max()))
    return max(errors)


def balance(run: da.Record) -> float:
    """Largest |energy balance|, relative to the largest energy that moves in the run (at least 1 J)."""
    scale = max(1.0, float(np.ptp(run["energy.kinetic"])), float(np.ptp(run["energy.potential"])))
    return float(np.abs(run["energy.balance"]).max()) / scale


def free_body(m: da.Mechanism, name: str, **details: Any) -> Any:
    """A body with three different principal inertias and turned axes, so that nothing holds by symmetry."""
    inertia = ((0.3, 0.02, -0.01), (0.02, 0.4, 0.03), (-0.01, 0.03, 0.5))
    return m.add_body(name, mass=details.pop("mass", 1.3), inertia=details.pop("inertia", inertia), **details)
