"""SUNDIALS through CasADi: CVODES or IDAS from one sample to the next, then projection onto the joints.

Both integrate the index-1 form with the drift of the joints fed back (Baumgarte), in scaled time τ = (t - t₀)/Δ so that
one integrator serves every interval:

    CVODES:  q̇ = N v + n ,  v̇ and ż from the constrained solve
    IDAS:    q̇ = N v + n ,  v̇ = a ,  ż = g ;   0 = M a - f - Aᵀλ ,  0 = A a - b   (rows scaled by 1/|A row|,
             a and λ outside the error test), for the departures from y₀ + ẏ₀ Δ τ and from a₀, λ₀: their values and
             derivatives at the start are zero, so the start is consistent without IDAS' own search for it

Not a native chunk: one call of the integrator per sample.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.errors import ConvergenceError
from dalembert.expressions import Array, Kernel
from dalembert.solve.constrained import TINY, Baumgarte, forward_function, projection_function, stabilisation
from dalembert.solve.explicit import Layout, Stepper
from dalembert.solve.inputs import Inputs
from dalembert.solve.methods import RK4, Sundials

MX = ca.MX
SX = ca.SX
IDAS_EPSILON = 1e-9  # of the joints' mobility, times the change of λ: keeps redundant rows solvable
FEEDBACK = Baumgarte(b1=1.0, b2=10.0, b3=10.0)  # 1/s: slow beside the motion, fast beside the drift


class SundialsSteps:
    """The interface of `stepping.NativeSteps`, one integrator call per step."""

    sizes = (1,)

    def __init__(
        self, eqs: EquationsOfMotion, method: Sundials, inputs: Inputs, events: ca.Function | None, events_key: Any
    ) -> None:
        self.eqs, self.method = eqs, method
        self.p, self.constants = eqs.p, inputs.constants
        key = ("sundials", method, inputs.key, events_key)

        def make() -> tuple[Layout, Kernel, ca.Function, Kernel]:
            common = Stepper(eqs, RK4(1.0), inputs, events)
            build = _cvodes if method.solver == "cvodes" else _idas
            project = Kernel(projection_function(eqs, 2), compiled=eqs.use_c)
            return common.layout, Kernel(common.start(), compiled=eqs.use_c), build(eqs, method, inputs), project

        self.layout: Layout
        self.layout, self._begin, self._integrate, self._project = eqs.cached(key, make)
        self.where = self.layout.starts
        self.engine = self._begin.engine

    def begin(self, t: float, h: float, q: Array, v: Array, z: Array, work: float, lam: Array) -> Array:
        return np.asarray(self._begin(t, h, q, v, z, work, lam, self.p, self.constants)[0])

    def block(self, x: Array, size: int, end: float) -> Array:
        return self.reach(x, end)[None, :]

    def to(self, states: Array, times: Array) -> Array:
        return np.vstack([self.reach(x, float(t)) for x, t in zip(states, times, strict=True)])

    def reach(self, x: Array, t: float) -> Array:
        """The state at time t, from the state x."""
        eqs = self.eqs
        part = {name: x[a:b] for name, (a, b) in self.where.items()}
        span = t - float(x[0])
        if span <= 0:
            return x.copy()
        y = np.concatenate((part["q"], part["v"], part["z"], part["work"]))
        try:
            data = np.concatenate((self.p, self.constants, [float(x[0]), span], part["lam"]))
            if self.method.solver == "cvodes":
                y = np.asarray(self._integrate(x0=y, p=data)["xf"]).reshape(-1)
            else:
                N, n = eqs.kernel("kinematics")(part["q"], self.p, x[0])
                rate = N.reshape(eqs.nq, eqs.nv) @ part["v"] + n
                slopes = span * np.concatenate((rate, part["a"], part["zdot"], part["power"]))
                base = np.concatenate((y, slopes, part["a"]))
                y = y + slopes + np.asarray(self._integrate(p=np.concatenate((data, base)))["xf"]).reshape(-1)
        except RuntimeError as error:
            raise ConvergenceError(
                f"SUNDIALS ({self.method.solver}) gave up between t = {x[0]:.6g} and {t:.6g} s: "
                f"{_reason(str(error))} Try a looser tolerance, or method=da.Rosenbrock()."
            ) from None
        nq, nv, nz = eqs.nq, eqs.nv, eqs.nz
        q, v = self._project(y[:nq], y[nq : nq + nv], self.p, t)
        row = self.begin(t, float(x[1]), q, v, y[nq + nv : nq + nv + nz], float(y[-1]), part["lam"])
        accepted, rejected = self.where["accepted"][0], self.where["rejected"][0]
        row[accepted] = x[accepted] + self._steps()
        row[rejected] = x[rejected]
        return row

    def _steps(self) -> int:
        return int(self._integrate.stats().get("nsteps", 1))


def _reason(text: str) -> str:
    lines = [line for line in text.splitlines() if "CV_" in line or "IDA_" in line]
    return (lines[0].strip().rstrip(".") + ".") if lines else "it reported no reason."


def _symbols(eqs: EquationsOfMotion, **more: int) -> tuple[Any, dict[str, Any]]:
    sizes = {"p": len(eqs.parameters), "c": eqs.nu, "t0": 1, "span": 1, "lam": len(eqs.rows), **more}
    data = MX.sym("data", sum(sizes.values()))
    parts = ca.vertsplit(data, np.cumsum([0, *sizes.values()]).tolist())
    return data, dict(zip(sizes, parts, strict=True))


def _options(method: Sundials) -> dict[str, Any]:
    return {
        "reltol": method.rtol,
        "abstol": method.atol,
        "max_num_steps": int(method.max_steps),
        "show_eval_warnings": False,
    }


def _cvodes(eqs: EquationsOfMotion, method: Sundials, inputs: Inputs) -> ca.Function:
    data, d = _symbols(eqs)
    y, tau = MX.sym("y", eqs.nq + eqs.nv + eqs.nz + 1), MX.sym("tau")
    q, v, z, _ = ca.vertsplit(y, np.cumsum([0, eqs.nq, eqs.nv, eqs.nz, 1]).tolist())
    t = d["t0"] + d["span"] * tau
    F = forward_function(eqs, FEEDBACK)
    qdot, a, zdot, power, _, _ = F(q, v, z, inputs.function(t, d["c"]), d["p"], t, d["lam"])
    dae = {"x": y, "p": data, "t": tau, "ode": d["span"] * ca.vertcat(qdot, a, zdot, power)}
    return ca.integrator("cvodes_run", "cvodes", dae, 0.0, 1.0, _options(method))


def _idas(eqs: EquationsOfMotion, method: Sundials, inputs: Inputs) -> ca.Function:
    size = eqs.nq + eqs.nv + eqs.nz + 1
    data, d = _symbols(eqs, y=size, slopes=size, a=eqs.nv)
    y, tau = MX.sym("y", size), MX.sym("tau")
    w = MX.sym("w", eqs.nv + len(eqs.rows))
    full = d["y"] + tau * d["slopes"] + y
    q, v, z, _ = ca.vertsplit(full, np.cumsum([0, eqs.nq, eqs.nv, eqs.nz, 1]).tolist())
    a, lam = d["a"] + w[: eqs.nv], d["lam"] + w[eqs.nv :]
    t = d["t0"] + d["span"] * tau
    slopes, rows = eqs.cached("idas functions", lambda: _residuals(eqs))
    at = (q, v, z, inputs.function(t, d["c"]), d["p"], t)
    ode = d["span"] * slopes(*at, lam, a) - d["slopes"]
    dae = {"x": y, "z": w, "p": data, "t": tau, "ode": ode, "alg": rows(*at, lam, a, d["lam"])}
    options = {**_options(method), "suppress_algebraic": True, "calc_ic": False}
    return ca.integrator("idas_run", "idas", dae, 0.0, 1.0, options)


def _residuals(eqs: EquationsOfMotion) -> tuple[ca.Function, ca.Function]:
    """(ẏ, algebraic rows) of the index-1 form; redundant rows get ε of their own diagonal."""
    s = eqs.symbols()
    F = eqs.functions
    arguments = [s.q, s.v, s.z, s.u, s.p, s.t]
    A, b = F["rows"](*arguments)
    M = F["inertia"](s.q, s.p, s.t)
    N, n = F["kinematics"](s.q, s.p, s.t)
    if len(eqs.rows):
        b = b + stabilisation(eqs, s, FEEDBACK)
    before = SX.sym("before", len(eqs.rows))
    scale = 1 / ca.sqrt(ca.sum2(A * A) + TINY)
    mobility = ca.densify(ca.sum2(A * A)) / (ca.mmax(M) + TINY)
    dynamics = M @ s.a - F["forces"](*arguments, s.lam) - A.T @ s.lam
    joints = scale * (A @ s.a - b + IDAS_EPSILON * mobility * (s.lam - before))
    slopes = ca.vertcat(N @ s.v + n, s.a, F["internal"](*arguments, s.lam), F["power"](*arguments, s.lam))
    inputs = [*arguments, s.lam, s.a]
    cse = {"cse": eqs.nv < 600}
    return (
        ca.Function("slopes", inputs, [ca.densify(slopes)], cse),
        ca.Function("rows", [*inputs, before], [ca.densify(ca.vertcat(dynamics, joints))], cse),
    )
