"""Native functions of kinematics: joint rows together with prescribed quantities, and steps of their analysis.

Every solve is a least change in the plain metric, through the regularised factor of `constrained`.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Kernel
from dalembert.numerics.runge_kutta import CLASSIC, combine
from dalembert.solve.constrained.constraint_factor import ConstraintFactor
from dalembert.solve.constrained.solve import build_function, normalise
from dalembert.solve.position.prescribed_motion import Targets, target_function, target_gap

SX, MX = ca.SX, ca.MX
ITERATIONS = 3  # of two corrections each: order three in the gap


class Analysis:
    """Native functions of the position, velocity and acceleration rows with some quantities prescribed."""

    def __init__(self, eqs: EquationsOfMotion, targets: Targets, held: tuple[int, ...] = ()) -> None:
        self.eqs, self.targets, self.held = eqs, targets, held
        self.prescribed = target_function(eqs, targets)
        known = set(eqs.known_rows)
        if any(k not in known and row.owner not in eqs.drivers for k, row in enumerate(eqs.rows)):
            raise ModelError(
                "not-supported", "kinematics: an acceleration-level constraint depends on inputs or internal states."
            )
        q, v, p, t = SX.sym("q", eqs.nq), SX.sym("v", eqs.nv), SX.sym("p", len(eqs.parameters)), SX.sym("t")
        k = len(targets.names)
        s, ds, dds = SX.sym("s", k), SX.sym("ds", k), SX.sym("dds", k)
        self.newton = build_function("newton", [q, p, t, s], self._newton(q, p, t, s))
        residual = self._residual(q, p, t, s)
        self.gap = ca.Function("gap", [q, p, t, s], [ca.norm_inf(residual) if residual.shape[0] else SX(0)])
        self.speeds = build_function("speeds", [q, v, p, t, ds], [self._speeds(q, v, p, t, ds)[0]])
        self.rates = build_function("rates", [q, v, p, t, ds, dds], self._rates(q, v, p, t, ds, dds))
        N, n = eqs.functions["kinematics"](q, p, t)
        move = normalise(eqs, q + N @ v)
        self.move = ca.Function("move", [q, v, p, t], [ca.densify(move)])
        drift = ca.Function("drift", [q, v, p, t], [ca.densify(N @ v + n)])
        self.step, self.newton_kernel, self.rates_kernel = map(Kernel, (self._step(drift), self.newton, self.rates))

    def _spins(self, q: object, p: object, t: object) -> Any:
        """Rows of the idle spins that are held at rest."""
        if not self.held:
            return SX(0, self.eqs.nv)
        return self.eqs.functions["spins"](q, p, t)[0][list(self.held), :]

    def _newton(self, q: object, p: object, t: object, s: object) -> list[Any]:
        """Two corrections of the pose with one factor, the size of the first, and the gap before it."""
        eqs, F = self.eqs, self.eqs.functions
        still = SX.zeros(eqs.nv)
        A, _ = F["rows"](q, still, SX.zeros(eqs.nz), SX.zeros(eqs.nu), p, t)
        _, _, H, _ = self.prescribed(q, still, p, t)
        J = ca.sparsify(ca.vertcat(A[eqs.holonomic_rows, :], H, self._spins(q, p, t)))
        residual = self._residual(q, p, t, s)
        if J.shape[0] == 0:
            return [q, SX(0), SX(0)]
        factor = ConstraintFactor(SX.eye(eqs.nv), J)
        change = factor.correction(residual, 2)
        N, _ = F["kinematics"](q, p, t)
        near = normalise(eqs, q + N @ change)
        second = factor.correction(self._residual(near, p, t, s), 1)
        N, _ = F["kinematics"](near, p, t)
        return [ca.densify(normalise(eqs, near + N @ second)), ca.norm_inf(change), ca.norm_inf(residual)]

    def _residual(self, q: object, p: object, t: object, s: object) -> Any:
        h, _, _, _ = self.prescribed(q, SX.zeros(self.eqs.nv), p, t)
        gaps = target_gap(self.targets, h, q, s)
        return ca.vertcat(self.eqs.functions["position"](q, p, t), gaps, SX.zeros(len(self.held)))

    def _speeds(self, q: object, v: object, p: object, t: object, ds: object) -> tuple[Any, Any, Any]:
        """Speeds, the residual of the rows, and the factor."""
        eqs, F = self.eqs, self.eqs.functions
        zero_z, zero_u = SX.zeros(eqs.nz), SX.zeros(eqs.nu)
        rows = F["rows"]
        nonlinear = bool(eqs.rate_rows) and rows.jac_sparsity(0, 1).nnz() > 0
        E = self._spins(q, p, t)
        factor = None
        residual = SX.zeros(1)
        for _ in range(4 if nonlinear else 2):
            _, rate, H, _ = self.prescribed(q, v, p, t)
            if factor is None or nonlinear:
                A, _ = rows(q, v, zero_z, zero_u, p, t)
                J = ca.sparsify(ca.vertcat(A[eqs.rate_rows, :], H, E))
                if J.shape[0] == 0:
                    return v, SX(0), None
                factor = ConstraintFactor(SX.eye(eqs.nv), J)
            residual = ca.vertcat(F["rates"](q, v, p, t), rate - ds, E @ v)
            v = v + factor.correction(residual, 2)
        _, rate, _, _ = self.prescribed(q, v, p, t)
        missed = ca.norm_inf(ca.vertcat(F["rates"](q, v, p, t), rate - ds))
        return ca.densify(v), missed, factor

    def _rates(self, q: object, v: object, p: object, t: object, ds: object, dds: object) -> list[Any]:
        eqs, F = self.eqs, self.eqs.functions
        v, missed, factor = self._speeds(q, v, p, t, ds)
        A, b = F["rows"](q, v, SX.zeros(eqs.nz), SX.zeros(eqs.nu), p, t)
        _, _, H, bias = self.prescribed(q, v, p, t)
        E = self._spins(q, p, t)
        N, n = F["kinematics"](q, p, t)
        w = SX.sym("w", eqs.nv)
        spin_bias = ca.substitute(ca.jtimes(E @ w, q, N @ v + n), w, v) if self.held else SX.zeros(0, 1)
        known = eqs.known_rows  # an acceleration that follows from an input is prescribed by the motion instead
        J, right = ca.sparsify(ca.vertcat(A[known, :], H, E)), ca.vertcat(b[known, :], dds - bias, -spin_bias)
        a = SX.zeros(eqs.nv)
        if J.shape[0]:
            if factor is None or eqs.rate_rows != known:
                factor = ConstraintFactor(SX.eye(eqs.nv), J)
            for _ in range(2):
                a = a + factor.correction(J @ a - right, 2)
        return [v, ca.densify(a), missed]

    def _step(self, drift: ca.Function) -> ca.Function:
        """(q v a t; t₁ s ṡ s̈ ṡ at mid-time; p) -> the same at t₁, with [gap, rate gap, first change, way]."""
        eqs, k = self.eqs, len(self.targets.names)
        nq, nv = eqs.nq, eqs.nv
        x, w, p = MX.sym("x", nq + 2 * nv + 1), MX.sym("w", 1 + 4 * k), MX.sym("p", len(eqs.parameters))
        q0, v0, a0, t0 = x[:nq], x[nq : nq + nv], x[nq + nv : nq + 2 * nv], x[-1]
        t, s, ds, dds, mid = w[0], w[1 : 1 + k], w[1 + k : 1 + 2 * k], w[1 + 2 * k : 1 + 3 * k], w[1 + 3 * k :]
        dt = t - t0
        if eqs.is_holonomic and not self.held:
            q = self.move(q0, v0 * dt + a0 * dt**2 / 2, p, t)
            guess = v0 + a0 * dt
        else:  # Runge-Kutta 4 with speeds that follow from pose and time
            guess, prescribed = v0, {0.5: mid, 1.0: ds}
            stages: list[tuple[Any]] = []
            for node, row in zip(CLASSIC.nodes, CLASSIC.rows, strict=True):
                near, then = q0 + dt * combine(row, stages, 0), t0 + node * dt
                if node:
                    guess = self.speeds(near, v0, p, then, prescribed[node])
                stages.append((drift(near, guess, p, then),))
            q = self.move(q0 + dt * combine(CLASSIC.weights, stages, 0), MX.zeros(nv), p, t)
        way = ca.norm_inf(q - q0)
        first = None
        for _ in range(ITERATIONS):
            q, change, _ = self.newton(q, p, t, s)
            first = change if first is None else first
        gap = self.gap(q, p, t, s)
        v, a, missed = self.rates(q, guess, p, t, ds, dds)
        return ca.Function("kinematic_step", [x, w, p], [ca.vertcat(q, v, a, t), ca.vertcat(gap, missed, first, way)])


def analysis(eqs: EquationsOfMotion, targets: Targets, held: tuple[int, ...] = ()) -> Analysis:
    return eqs.cache(("kinematics", targets, held), lambda: Analysis(eqs, targets, held))  # type: ignore[no-any-return]


def stack_rows(eqs: EquationsOfMotion, targets: Targets) -> Kernel:
    """(q,p,t,s) -> gradient of the velocity rows and of the prescribed quantities; these; their differences from s."""

    def make() -> Kernel:
        x, s, still = eqs.symbols(), SX.sym("s", len(targets.names)), SX.zeros(eqs.nv)
        A, _ = eqs.functions["rows"](x.q, still, SX.zeros(eqs.nz), SX.zeros(eqs.nu), x.p, x.t)
        h, _, H, _ = target_function(eqs, targets)(x.q, still, x.p, x.t)
        J = ca.sparsify(ca.vertcat(A[eqs.rate_rows, :], H))
        outputs = [J, h, target_gap(targets, h, x.q, s)]
        return Kernel(ca.Function("stack", [x.q, x.p, x.t, s], outputs), matrices=(0,))

    return eqs.cache(("kinematic stack", targets), make)  # type: ignore[no-any-return]
