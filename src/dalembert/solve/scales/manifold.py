"""Expansion of the integral manifold of a machine with stiff coordinates, in powers of ε.

Slow coordinates s and fast ones f of  M v̇ = F(q, v, z, u, p, t),  with F_f = -K q_f - D v_f + g:

    M_ss a_s + M_sf a_f = F_s ,     M_fs a_s + M_ff a_f = -K q_f - D v_f + g .

K grows as 1/ε², D as 1/ε (constant damping ratios). On the manifold K q_f = h(s, v_s, z, u, u̇, ü, t):

    order 0   a₀ = M_ss⁻¹ F_s ,   h₀ = g - M_fs a₀                                   at q_f = v_f = 0: the rigid machine
    order 1   h₁ = -D K⁻¹ ḣ₀
    order 2   a₂ = M_ss⁻¹ (δF_s - δM_ss a₀ - M_sf K⁻¹ ḧ₀) ,
              h₂ = δg - δM_fs a₀ - M_fs a₂ - M_ff K⁻¹ ḧ₀ + D K⁻¹ D K⁻¹ ḧ₀

with δ the derivative along q_f = K⁻¹ h₀, v_f = K⁻¹ ḣ₀, and time derivatives along the slow motion of order 0. Each is
one directional derivative: the Jacobian of M is never formed. With H = M⁻¹ the same is the expansion of Spong,
Khorasani and Kokotovic (1987) and of Scaglioni (2016, ch. 4), without the inverse of the whole matrix and its
derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.solve.constrained.mass_factor import MassFactor

SX = ca.SX
ZERO = 1e-12  # share of √(k_ii k_jj) below which an entry of the stiffness is rounding


@dataclass(frozen=True, eq=False)
class Split:
    """Places of slow and fast coordinates in q and of their speeds in v, and the reference pose."""

    eqs: EquationsOfMotion
    slow_q: tuple[int, ...]
    slow_v: tuple[int, ...]
    fast_q: tuple[int, ...]
    fast_v: tuple[int, ...]

    def q(self, slow: Any, deflection: Any) -> Any:
        """All coordinates; deflections count from the reference pose."""
        column = SX.zeros(len(self.slow_q) + len(self.fast_q))
        column[list(self.slow_q)] = slow
        column[list(self.fast_q)] = ca.DM(self.eqs.state().q[list(self.fast_q)]) + deflection
        return column

    def v(self, slow: Any, fast: Any) -> Any:
        """All speeds, or accelerations."""
        column = SX.zeros(len(self.slow_v) + len(self.fast_v))
        column[list(self.slow_v)], column[list(self.fast_v)] = slow, fast
        return column

    @cached_property
    def stiffness_function(self) -> ca.Function:
        """p -> K, D: the symmetric parts of -∂F_f/∂q_f and -∂F_f/∂v_f at rest in the reference pose."""
        eqs = self.eqs
        x, y, p = SX.sym("x", len(self.fast_q)), SX.sym("y", len(self.fast_q)), SX.sym("p", len(eqs.parameters))
        drawn = eqs.state()
        q, v = self.q(ca.DM(drawn.q[list(self.slow_q)]), x), self.v(SX.zeros(len(self.slow_v)), y)
        u = ca.DM([eqs.resting_inputs.get(name, 0.0) for name in eqs.inputs.names])
        F = eqs.functions["forces"](q, v, ca.DM(drawn.z), u, p, 0.0, SX(0, 1))[list(self.fast_v)]
        rest = SX.zeros(len(self.fast_q))
        pair = ca.substitute([-ca.jacobian(F, x), -ca.jacobian(F, y)], [x, y], [rest, rest])
        return ca.Function("stiffness", [p], [ca.densify(0.5 * (m + m.T)) for m in pair], {"cse": True})

    def matrices(self, p: Array) -> tuple[Array, Array]:
        K, D = self.stiffness_function(p)
        return np.array(K), np.array(D)

    @cached_property
    def pattern(self) -> tuple[bytes, bytes]:
        """Entries of K and D that are more than rounding, at the values of the parameters."""
        K, D = self.matrices(self.eqs.p)
        scale = np.sqrt(np.abs(np.outer(np.diag(K), np.diag(K))))
        return (np.abs(K) > ZERO * scale).tobytes(), (np.abs(D) > ZERO * np.sqrt(scale)).tobytes()

    def expressions(self, p: Any) -> list[Any]:
        """K and D as expressions of the parameters, without entries that are rounding."""
        shape = (len(self.fast_q),) * 2
        masks = [np.frombuffer(part, dtype=bool).reshape(shape).astype(float) for part in self.pattern]
        pairs = zip(self.stiffness_function(p), masks, strict=True)
        return [ca.sparsify(matrix * SX(ca.sparsify(ca.DM(mask)))) for matrix, mask in pairs]


class Expansion:
    """Expressions of one machine: manifold, slow accelerations, time derivatives along the slow motion.

    Symbols: q, v of the slow coordinates, z, inputs u with their derivatives ``du``, ``ddu``, parameters p, time t.
    stiffer : factor of K: how the same machine would do at another ε. D stays: it brings errors of ε² then, as M does.
    """

    def __init__(self, split: Split, stiffer: float = 1.0) -> None:
        eqs = self.eqs = split.eqs
        self.split = split
        sym = SX.sym
        self.q, self.v, self.z = sym("q", len(split.slow_q)), sym("v", len(split.slow_v)), sym("z", eqs.nz)
        self.u, self.du, self.ddu = sym("u", eqs.nu), sym("du", eqs.nu), sym("ddu", eqs.nu)
        self.p, self.t = sym("p", len(eqs.parameters)), sym("t")
        K, D = split.expressions(self.p)
        self.K, self.D = stiffer * K, D
        self._factor = MassFactor(self.K)
        # everything near the manifold, as expressions of fast coordinates x and speeds y
        self.x, self.y = sym("x", len(split.fast_q)), sym("y", len(split.fast_q))
        self._still = [SX.zeros(len(split.fast_q)), SX.zeros(len(split.fast_q))]
        full = split.q(self.q, self.x), split.v(self.v, self.y)
        M = eqs.functions["inertia"](full[0], self.p, self.t)
        F = eqs.functions["forces"](*full, self.z, self.u, self.p, self.t, SX(0, 1))
        s, f = list(split.slow_v), list(split.fast_v)
        F -= split.v(SX.zeros(len(s)), (self.K - K) @ self.x)
        self.M_near, self.F_near = M, F
        self.F_s, self.g = F[s], F[f] + self.K @ self.x + self.D @ self.y
        self.M_s, self.M_f = M[s, s], M[f, s]
        self.Mss, self.Mfs, self.Mff = (self.at_zero(part) for part in (M[s, s], M[f, s], M[f, f]))

    def at_zero(self, expression: Any) -> Any:
        """The value without deflection."""
        return ca.substitute(expression, ca.vertcat(self.x, self.y), ca.vertcat(*self._still))

    def along(self, expression: Any, x: Any, y: Any) -> Any:
        """δ: the derivative along a deflection and its rate, without deflection."""
        return self.at_zero(ca.jtimes(expression, ca.vertcat(self.x, self.y), ca.vertcat(x, y)))

    def soften(self, load: Any) -> Any:
        """K⁻¹ load."""
        return self._factor.solve(load)

    def rate(self, expression: Any, a: Any) -> Any:
        """Time derivative along the slow motion with accelerations a; inputs by their derivatives."""
        N, n = self.slow_kinematics
        symbols = [self.q, self.v, self.z, self.u, self.du, self.t]
        steps = [N @ self.v + n, a, self.z_rate, self.du, self.ddu, SX(1)]
        return ca.jtimes(expression, ca.vertcat(*symbols), ca.vertcat(*steps))

    @cached_property
    def slow_kinematics(self) -> tuple[Any, Any]:
        """N, n of  q̇_s = N v_s + n."""
        N, n = self.eqs.functions["kinematics"](self.split.q(self.q, self._still[0]), self.p, self.t)
        return N[list(self.split.slow_q), :][:, list(self.split.slow_v)], n[list(self.split.slow_q)]

    def shake(self, deviation: Any) -> Any:
        """-M_ss⁻¹ M_sf η: how fast motion moves the slow coordinates, as momentum is kept."""
        return -self.mass.solve(self.Mfs.T @ deviation)

    @cached_property
    def z_rate(self) -> Any:
        full = self.split.q(self.q, self._still[0]), self.split.v(self.v, self._still[1])
        return self.eqs.functions["internal"](*full, self.z, self.u, self.p, self.t, SX(0, 1))

    # -- order 0 -------------------------------------------------------------------------------------------------------
    @cached_property
    def mass(self) -> MassFactor:
        return MassFactor(self.Mss)

    @cached_property
    def a0(self) -> Any:
        return self.mass.solve(self.at_zero(self.F_s))

    @cached_property
    def h0(self) -> Any:
        return self.at_zero(self.g) - self.Mfs @ self.a0

    # -- orders 1 and 2 ------------------------------------------------------------------------------------------------
    @cached_property
    def dh0(self) -> Any:
        return self.rate(self.h0, self.a0)

    @cached_property
    def ddh0(self) -> Any:
        return self.rate(self.dh0, self.a0)

    @cached_property
    def h1(self) -> Any:
        return -self.D @ self.soften(self.dh0)

    @cached_property
    def slow_force2(self) -> Any:
        """M_ss a₂."""
        x, y, w = self.soften(self.h0), self.soften(self.dh0), self.soften(self.ddh0)
        return self.along(self.F_s - self.M_s @ self.a0, x, y) - self.Mfs.T @ w

    @cached_property
    def h2(self) -> Any:
        x, y, w = self.soften(self.h0), self.soften(self.dh0), self.soften(self.ddh0)
        near = self.along(self.g - self.M_f @ self.a0, x, y)
        damped = self.D @ self.soften(self.D @ w)
        return near - self.Mfs @ self.mass.solve(self.slow_force2) - self.Mff @ w + damped

    def manifold(self, order: int) -> tuple[Any, Any, Any]:
        """Deflections, their rates and accelerations, to this order."""
        if order == 0:
            return self.soften(self.h0), *self._still
        deflection = self.soften(self.h0 + self.h1 + self.h2)
        w = self.soften(self.ddh0)
        return deflection, self.soften(self.dh0 - self.D @ w), w

    def slow_force(self, order: int) -> Any:
        """M_ss times the slow accelerations."""
        force = self.at_zero(self.F_s)
        return force if order == 0 else force + self.slow_force2

    def residual(self, order: int) -> tuple[Any, Any]:
        """φ̈ - a_f with the exact derivatives of the manifold q_f = φ along the slow motion of this order; and the
        deflection of free joints under it, K⁻¹ (M_ff - M_fs M_ss⁻¹ M_sf) (φ̈ - a_f)."""
        a = self.mass.solve(self.slow_force(order))
        x = self.manifold(order)[0]
        y = self.rate(x, a)
        M, F = ca.substitute([self.M_near, self.F_near], [self.x, self.y], [x, y])
        residual = self.rate(y, a) - MassFactor(M).solve(F)[list(self.split.fast_v)]
        return residual, self.soften(self.Mff @ residual - self.Mfs @ self.mass.solve(self.Mfs.T @ residual))

    def kernel(self, name: str, parts: list[Any]) -> Kernel:
        """Expressions as a function of (q_s, v_s, z, u, u̇, ü, p, t)."""
        arguments = [self.q, self.v, self.z, self.u, self.du, self.ddu, self.p, self.t]
        return Kernel(ca.Function(name, arguments, [ca.densify(part) for part in parts], {"cse": True}))
