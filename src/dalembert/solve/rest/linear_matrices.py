"""Matrices of the linear model at one instant, in given independent coordinates (`linearize` has the equations)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import eigh

from dalembert.core.arguments import take_names
from dalembert.core.errors import ModelError, ModelWarning, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.second_order import OperatingPoint
from dalembert.solve.position.chart import Chart, solve_rows
from dalembert.solve.position.tangent import Instant, Saddle, Terms

ROUNDING = 1e-12  # of a sum, relative to the sum of its terms' sizes
IGNORABLE = 1e-9  # influence of a coordinate, relative to the largest entry


@dataclass(frozen=True)
class StateMatrices:
    """ẋ = A x + B u, y = C x + D u with x = (s, w, z); acc and lam: δa and δλ by (x, u)."""

    A: Array
    B: Array
    C: Array
    D: Array
    acc: Array
    lam: Array
    outputs: tuple[str, ...]
    units: dict[str, str]


def find_first_order(
    eqs: EquationsOfMotion, x: Instant, chart: Chart, wanted: list[tuple[str, int]], saddle: Saddle | None = None
) -> StateMatrices:
    """The linear model as rates of (s, w, z).  saddle : that of the instant, where it is known."""
    T = chart.T
    ns, nw, nz, nu = len(chart.positions), len(chart.speeds), eqs.nz, eqs.nu
    count = ns + nw + nz + nu
    dx, dv = np.zeros((eqs.nv, count)), np.zeros((eqs.nv, count))
    dz, du = np.zeros((nz, count)), np.zeros((nu, count))
    dx[:, :ns] = chart.X
    dv[:, :ns], dv[:, ns : ns + nw] = chart.V, chart.W
    dz[:, ns + nw : ns + nw + nz] = np.eye(nz)
    du[:, ns + nw + nz :] = np.eye(nu)
    r1 = T.R1_x @ dx + T.R1_v @ dv + T.R1_z @ dz + T.R1_u @ du
    r2 = T.R2_x @ dx + T.R2_v @ dv + T.R2_z @ dz + T.R2_u @ du
    da, dlam = (Saddle(T.M, T.A, T.f_lam) if saddle is None else saddle).solve(-r1, -r2)
    s_rate = chart.rows(chart.positions, 1) @ dx + chart.rows(chart.positions, 0) @ dv
    w_rate = chart.rows(chart.speeds, 2) @ dx + chart.rows(chart.speeds, 3) @ dv + chart.rows(chart.speeds, 0) @ da
    z_rate = T.g_x @ dx + T.g_v @ dv + T.g_z @ dz + T.g_u @ du + T.g_lam @ dlam
    rates = np.vstack((s_rate, w_rate, z_rate))
    names, units, dy = _output_rows(eqs, x, wanted, T, (dx, dv, da, dlam, dz, du))
    nx = ns + nw + nz
    return StateMatrices(rates[:, :nx], rates[:, nx:], dy[:, :nx], dy[:, nx:], da, dlam, names, units)


def read_outputs(eqs: EquationsOfMotion, outputs: str | Iterable[str] | None) -> list[tuple[str, int]]:
    """(kind, index) of every output: "sensor", "measure", "rate"."""
    if outputs is None:
        return [("sensor", k) for k in range(eqs.ny)]
    wanted: list[tuple[str, int]] = []
    for given in take_names("output", outputs):
        name = eqs.full_name(given)
        axes = [k for k, n in enumerate(eqs.outputs.names) if n == given or n.startswith(f"{given}.")]
        if axes:
            wanted += [("sensor", k) for k in axes]
        elif name in eqs.measures.index:
            wanted.append(("measure", eqs.measures.index[name]))
        elif name in eqs.measure_rates.index:
            wanted.append(("rate", eqs.measure_rates.index[name]))
        else:
            known = (*eqs.outputs.names, *eqs.measures.names, *eqs.measure_rates.names)
            raise ModelError(
                "unknown-name",
                f"outputs: {unknown_name('sensor or coordinate', given, known, f'equations {eqs.name!r}')}",
            )
    return list(dict.fromkeys(wanted))


def _output_rows(
    eqs: EquationsOfMotion, x: Instant, wanted: list[tuple[str, int]], T: Terms, change: tuple[Array, ...]
) -> tuple[tuple[str, ...], dict[str, str], Array]:
    dx, dv, da, dlam, dz, du = change
    names: list[str] = []
    units: dict[str, str] = {}
    rows: list[Array] = []
    sensors = np.zeros((0, dx.shape[1]))
    if any(kind == "sensor" for kind, _ in wanted):
        kernel = eqs.cache("output derivatives", lambda: _output_kernel(eqs))
        parts = kernel(x.q, x.v, x.a, x.lam, x.z, x.u, eqs.p, x.t)
        sizes = (eqs.nv, eqs.nv, eqs.nv, len(eqs.rows), eqs.nz, eqs.nu)
        sensors = sum(
            (
                part.reshape(eqs.ny, size) @ d
                for part, size, d in zip(parts, sizes, (dx, dv, da, dlam, dz, du), strict=True)
            ),
            np.zeros((eqs.ny, dx.shape[1])),
        )
    for kind, k in wanted:
        if kind == "sensor":
            name, unit, row = eqs.outputs.names[k], eqs.outputs.units[k], sensors[k]
        elif kind == "measure":
            name, unit, row = eqs.measures.names[k], eqs.measures.units[k], T.S[k] @ dx
        else:
            name, unit = eqs.measure_rates.names[k], eqs.measure_rates.units[k]
            row = T.s_rate_x[k] @ dx + T.S[k] @ dv
        if not np.all(np.isfinite(row)):
            raise ModelError(
                "not-finite",
                f"output {name!r} has no derivative at this state.",
                Advice("Leave it out with {}.", Argument("outputs")),
            )
        names.append(name)
        units[name] = unit
        rows.append(row)
    return tuple(names), units, np.array(rows, dtype=float).reshape(len(rows), dx.shape[1])


def _output_kernel(eqs: EquationsOfMotion) -> Kernel:
    s = eqs.symbols()
    y = eqs.functions["outputs"](s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t)
    N, _ = eqs.functions["kinematics"](s.q, s.p, s.t)
    parts = [ca.jacobian(y, s.q) @ N] + [ca.jacobian(y, w) for w in (s.v, s.a, s.lam, s.z, s.u)]
    function = ca.Function("output_derivatives", [s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t], parts)
    return Kernel(function)


def make_model(
    eqs: EquationsOfMotion, chart: Chart, first: StateMatrices, about: OperatingPoint, provenance: dict[str, Any]
) -> SecondOrder | StateSpace:
    units = {name: unit for name, unit in first.units.items() if unit}
    ns, nw = len(chart.positions), len(chart.speeds)
    if chart.second_order:
        M, C, K, B = _find_second_order(eqs, chart, first)
        outputs: dict[str, Any] = {}
        if first.outputs:
            outputs = {
                "Y_position": first.C[:, :ns], "Y_velocity": first.C[:, ns:], "D": first.D, "outputs": first.outputs
            }  # fmt: skip
        units = {**{c.name: c.unit for c in chart.positions if c.unit}, **units}
        return SecondOrder.from_full(
            M, C, K, B=B, coordinates=[c.name for c in chart.positions], inputs=eqs.inputs.names,
            units=units, about=about, provenance=provenance, **outputs,
        )  # fmt: skip
    A = _without_cyclic(eqs, chart, first.A)
    keep = list(range(ns + nw + eqs.nz))
    dropped = [k for k, c in enumerate(chart.positions) if c not in chart.kept]
    keep = [k for k in keep if k not in dropped]
    size = float(np.abs(first.A).max(initial=0.0)) + float(np.abs(first.C).max(initial=0.0))
    for k in dropped:
        influence = np.concatenate((first.A[keep, k], first.C[:, k]))
        if float(np.abs(influence).max(initial=0.0)) > IGNORABLE * size:
            raise ModelError(
                "dependent-coordinates",
                f"coordinates: {chart.positions[k].name!r} is an independent coordinate of {eqs.name!r} too, and the "
                "motion depends on it. Add it to coordinates.",
            )
    states = [*[c.name for c in chart.positions], *[c.rate_name for c in chart.speeds], *eqs.internal.names]
    state_units = [*[c.unit for c in chart.positions], *[c.rate_unit for c in chart.speeds], *eqs.internal.units]
    units = {**{states[k]: state_units[k] for k in keep if state_units[k]}, **units}
    return StateSpace(
        A[np.ix_(keep, keep)], first.B[keep], first.C[:, keep] if first.outputs else None,
        first.D if first.outputs else None, states=[states[k] for k in keep], inputs=eqs.inputs.names,
        outputs=first.outputs or None, units=units, provenance=provenance,
    )  # fmt: skip


def _without_cyclic(eqs: EquationsOfMotion, chart: Chart, A: Array) -> Array:
    """A with the columns of coordinates that no rate depends on, but for rounding, exactly zero."""
    ns, nw = len(chart.positions), len(chart.speeds)
    spin = _fastest_turning(eqs, chart)
    if spin == 0.0:
        return A
    A = A.copy()
    of_s, of_w = (np.sqrt(np.einsum("ik,ij,jk->k", D, chart.T.M, D)) for D in (chart.X, chart.W))
    limit = np.zeros((len(A), ns))
    with np.errstate(divide="ignore", invalid="ignore"):
        limit[ns : ns + nw] = np.nan_to_num(of_s / of_w[:, None] * spin**2)
    limit[:ns] = spin
    for k in range(ns):
        if np.all(np.abs(A[:, k]) <= ROUNDING * limit[:, k]):
            A[:, k] = 0.0
    return A


def _find_second_order(eqs: EquationsOfMotion, chart: Chart, first: StateMatrices) -> tuple[Array, Array, Array, Array]:
    """M̄, C̄, K̄, B̄ by projection; where forces depend on reactions, from the first-order form."""
    T, W, ns = chart.T, chart.W, len(chart.positions)
    M = _product(W.T, (T.M, W))
    M = 0.5 * (M + M.T)
    spin, heavy = _fastest_turning(eqs, chart), np.sqrt(np.outer(np.diag(M), np.diag(M)))
    if T.f_lam.any():
        return M, -M @ first.A[ns:, ns:], -M @ first.A[ns:, :ns], M @ first.B[ns:]
    S_x, S_v = chart.rows(chart.speeds, 2), chart.rows(chart.speeds, 3)
    S = chart.rows(chart.speeds, 0)
    X, V = chart.X, chart.V
    P = solve_rows(T.A, S, -(T.R2_x @ X + T.R2_v @ V), -(S_x @ X + S_v @ V))
    P_w = solve_rows(T.A, S, -T.R2_v @ W, -S_v @ W)
    K = _product(W.T, (T.R1_x, X), (T.R1_v, V), (T.M, P), size=heavy * spin**2)
    C = _product(W.T, (T.R1_v, W), (T.M, P_w), size=heavy * spin)
    if float(np.abs(C + C.T).max()) <= ROUNDING * float(np.abs(C).max()):
        C = 0.5 * (C - C.T)  # nothing dissipates
    if spin == 0.0:  # else gyroscopic terms decide too
        _report_lost_digits(eqs, chart, M, K)
    return M, C, K, _product(W.T, (-T.R1_u, np.eye(eqs.nu)))


def _report_lost_digits(eqs: EquationsOfMotion, chart: Chart, M: Array, K: Array, lost: float = 1e-6) -> None:
    """Warn where coordinates that nearly depend on each other leave few digits of a frequency.

    Rounding ε of the terms of K̄ and M̄ moves ω² of a mode x with xᵀM̄x = 1 by ε |x|ᵀ |W|ᵀ (|K| |X| + ω² |M| |W|) |x|.
    A mode at zero is compared with the lowest frequency that rounding leaves.

    lost : estimated relative error of the square of a frequency that is reported.
    """
    size = np.sqrt(M.diagonal())
    try:
        squares, modes = eigh(0.5 * (K + K.T) / np.outer(size, size), M / np.outer(size, size))
    except np.linalg.LinAlgError:  # the mass of some combination is rounding
        error = 1.0
    else:
        x, squares = np.abs(modes / size[:, None]), np.abs(squares)
        along, place = np.abs(chart.W) @ x, np.abs(chart.X) @ x
        stiff = (along * (np.abs(chart.T.R1_x) @ place)).sum(axis=0)
        heavy = (along * (np.abs(chart.T.M) @ along)).sum(axis=0)
        noise = np.finfo(float).eps * (stiff + squares * heavy)
        zero = np.finfo(float).eps * squares.max(initial=0.0)  # what the eigenvalues of a rigid motion may be
        lowest = squares[squares > np.maximum(noise, zero)].min(initial=np.inf)
        error = float((noise / np.maximum(squares, lowest)).max(initial=0.0))
    if error > lost:
        problem = (
            f"the coordinates of the linear model of {eqs.name!r} nearly depend on each other: rounding moves its "
            f"lowest frequencies by about {0.5 * error:.1g} of their values or more."
        )
        advice = Advice("Leave out {}, or choose others.", Argument("coordinates"))
        warnings.warn(ModelWarning("ill-conditioned", problem, advice, evidence={"error": 0.5 * error}), stacklevel=6)


def _fastest_turning(eqs: EquationsOfMotion, chart: Chart) -> float:
    """Largest angular velocity ω of the reference motion [rad/s].

    Terms of size M ω² cancel inside the derivatives where a coordinate is cyclic, and leave their rounding.
    """
    turning = [k for k, unit in enumerate(eqs.speeds.units) if unit == "rad/s"]
    return float(np.abs(chart.x.v[turning]).max(initial=0.0))


def _product(left: Array, *pairs: tuple[Array, Array], size: Array | float = 0.0) -> Array:
    """left (Σ a b), with entries that are nothing but rounding of their terms (or of `size`) set to zero."""
    total = left @ sum(a @ b for a, b in pairs)
    terms_ = np.abs(left) @ sum(np.abs(a) @ np.abs(b) for a, b in pairs) + size
    return np.asarray(np.where(np.abs(total) <= ROUNDING * terms_, 0.0, total))
