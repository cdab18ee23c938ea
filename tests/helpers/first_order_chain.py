"""A chain of thin bending links by the recursion of Scaglioni (2016), chapter 3: independent of the package.

    l = A (u0 + S q) ,  p+ = p + l ,  A+ = A (1 + φ~) Rot(z, θ+) ,  φ = S' q
    ω+ = ω + A S' q̇ + A (1 + φ~) z θ̇+ ,  v̇+ = v̇ + ω̇ × l + A S q̈ + ω × (ω × l + 2 A S q̇)

The end of a link turns the next one by 1 + φ~, the published form, or by the rotation of φ (Rodrigues). Velocities and
accelerations are those of rotations in both cases: 1 + φ~ stretches the next link by φ²/2. Inertia is integrated over
the links by Gauss points, the equations are projected on the joints' and elastic speeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

Array = NDArray[np.float64]
POINTS = 16


def rotation(x: Any) -> Any:
    """Rodrigues' rotation by the vector x."""
    size = ca.sqrt(ca.sumsqr(x) + 1e-24)
    return ca.SX.eye(3) + ca.sin(size) / size * ca.skew(x) + (1 - ca.cos(size)) / size**2 * ca.skew(x) @ ca.skew(x)


@dataclass(frozen=True)
class Link:
    """A round link along x with shapes across it: values and slopes are functions of places (k,) -> (k, n).

    ``planes`` : 1 bends in the plane, 2 also across it; ``EI`` [N m²], ``density`` [kg/m]; ``joint`` : it turns
    about z against the end of the one before.
    """

    length: float
    EI: float
    density: float
    shapes: Callable[[Array], tuple[Array, Array, Array]]
    planes: int = 1
    joint: bool = True

    def at(self, x: float) -> tuple[Array, Array]:
        """Shapes of translation and of rotation at x, (3, n) each."""
        value, slope, _ = self.shapes(np.array([x]))
        n = value.shape[1]
        S, turn = np.zeros((3, self.planes * n)), np.zeros((3, self.planes * n))
        S[1, :n], turn[2, :n] = value[0], slope[0]
        if self.planes == 2:
            S[2, n:], turn[1, n:] = value[0], -slope[0]
        return S, turn

    def inertia(self, A: Any, omega: Any, acc: Any, alpha: Any, x: Any, dx: Any, ddx: Any) -> Any:
        """Inertia and elastic forces on the frame (force, moment in world axes) and on the shapes, (6 + n,)."""
        n, nodes, weights = x.numel(), *np.polynomial.legendre.leggauss(POINTS)
        w, places = A.T @ omega, 0.5 * self.length * (1 + nodes)
        curvatures = self.shapes(places)[2]
        K = 0.5 * self.length * self.EI * curvatures.T @ (weights[:, None] * curvatures)
        m, c, J, Gt, Gr, M = 0.0, ca.SX(3, 1), ca.SX(3, 3), np.zeros((3, n)), ca.SX(3, n), np.zeros((n, n))
        moment, elastic = ca.SX(3, 1), -(ca.DM(np.kron(np.eye(self.planes), K)) @ x)
        for place, weight in zip(places, 0.5 * self.length * self.density * weights, strict=True):
            N = self.at(place)[0]
            r, coriolis = ca.vertcat(place, 0, 0) + N @ x, 2 * ca.cross(w, N @ dx)
            m, c, J = m + weight, c + weight * r, J + weight * ca.skew(r).T @ ca.skew(r)
            Gt, Gr, M = Gt + weight * N, Gr + weight * ca.skew(r) @ N, M + weight * N.T @ N
            elastic = elastic - weight * N.T @ (ca.cross(w, ca.cross(w, r)) + coriolis)
            moment = moment - weight * ca.cross(r, coriolis)
        force = -ca.cross(w, ca.cross(w, c)) - 2 * ca.cross(w, Gt @ dx)
        moment = moment - ca.cross(w, J @ w)
        C = A @ ca.skew(c) @ A.T
        return ca.vertcat(
            A @ (force - Gt @ ddx) - m * acc + C @ alpha,
            A @ (moment - Gr @ ddx) - C @ acc - A @ J @ A.T @ alpha,
            elastic - Gt.T @ (A.T @ acc) - Gr.T @ (A.T @ alpha) - M @ ddx,
        )


def clamped_modes(length: float, count: int) -> Any:
    """Bending modes of a clamped, free beam: values, slopes, curvatures."""
    centres = (np.arange(count) + 0.5) * np.pi
    roots = np.array([brentq(lambda b: np.cos(b) + 1 / np.cosh(b), b - 0.5, b + 0.5) for b in centres])
    ratio = (np.sinh(roots) - np.sin(roots)) / (np.cosh(roots) + np.cos(roots))

    def shapes(x: Array) -> tuple[Array, Array, Array]:
        z, k = np.outer(x, roots / length), roots / length
        return (
            np.cosh(z) - np.cos(z) - ratio * (np.sinh(z) - np.sin(z)),
            k * (np.sinh(z) + np.sin(z) - ratio * (np.cosh(z) - np.cos(z))),
            k**2 * (np.cosh(z) + np.cos(z) - ratio * (np.sinh(z) + np.sin(z))),
        )

    return shapes


def end_shapes(length: float) -> Any:
    """Deflection and slope of the end by cubics, and a fixed shape s² (1 - s)²: values, slopes, curvatures."""
    polynomials = [np.polynomial.Polynomial(c) for c in ([0, 0, 3, -2], [0, 0, -length, length], [0, 0, 1, -2, 1])]

    def shapes(x: Array) -> Any:
        return tuple(
            np.stack([p.deriv(k)(x / length) / length**k if k else p(x / length) for p in polynomials], axis=1)
            for k in range(3)
        )

    return shapes


class Chain:
    """Functions of positions q (joints and shapes, link by link), speeds u, the torque of the first joint and time.

    ``acceleration`` (n,); ``imbalance`` : forces (n,) at rest without accelerations, and their gradient; ``ends``
    (3, links) of positions and time. Where ``law`` prescribes the first joint, its angle is not among q and u.
    ``closing`` : spring [N/m] and damper [N s/m] that hold the end of the chain at y = 0.
    """

    def __init__(
        self, links: Sequence[Link], *, exact: bool, gravity: float = 0.0, law: Callable[[Any], Any] | None = None,
        closing: tuple[float, float] = (0.0, 0.0),
    ) -> None:  # fmt: skip
        t, torque = ca.SX.sym("t"), ca.SX.sym("torque")
        counts = [link.planes * link.shapes(np.zeros(1))[0].shape[1] for link in links]
        q, u, a = (ca.SX.sym(name, sum(counts) + sum(link.joint for link in links)) for name in "qua")
        z, one, none = ca.DM([0, 0, 1]), ca.SX.eye(3), ca.SX.zeros(3)
        A, p, v, omega, alpha, forces, k = one, none, none, none, none, ca.SX.zeros(q.numel()), 0
        acc = ca.vertcat(0, 0, gravity)  # the frame falls upwards
        turn, spin, change = one, none, none  # of the end of the link before: rotation, its rate and second derivative
        ends = []
        for link, n in zip(links, counts, strict=True):
            alpha = alpha + A @ change + ca.cross(omega, A @ spin)
            if link.joint:
                axis = A @ turn @ z * u[k]
                alpha = alpha + A @ turn @ z * a[k] + ca.cross(omega, axis) + A @ ca.cross(spin, z) * u[k]
                omega, A, k = omega + A @ spin + axis, A @ turn @ rotation(z * q[k]), k + 1
            else:
                omega, A = omega + A @ spin, A @ turn
            x, dx, ddx = (vector[k : k + n] for vector in (q, u, a))
            wrench = link.inertia(A, omega, acc, alpha, x, dx, ddx)
            forces = forces + ca.jacobian(ca.vertcat(v, omega, dx), u).T @ wrench
            S, slope = link.at(link.length)
            arm, slide = A @ (ca.vertcat(link.length, 0, 0) + S @ x), A @ (S @ dx)
            acc = acc + ca.cross(alpha, arm) + A @ (S @ ddx) + ca.cross(omega, ca.cross(omega, arm) + 2 * slide)
            v, p, k = v + ca.cross(omega, arm) + slide, p + arm, k + n
            turn = rotation(slope @ x) if exact else one + ca.skew(slope @ x)
            spin, change = slope @ dx, slope @ ddx
            ends.append(p)
        spring, damper = closing
        forces = forces - ca.jacobian(v[1], u).T * (spring * p[1] + damper * v[1])
        places, free = ca.horzcat(*ends), list(range(q.numel()))
        if law is None:
            forces[0] += torque
        else:
            free, angle = free[1:], law(t)
            rate = ca.gradient(angle, t)
            known = [angle, rate, ca.gradient(rate, t)]
            forces, places = (ca.substitute([e], [q[0], u[0], a[0]], known)[0] for e in (forces, places))
        M = -ca.jacobian(forces[free], a[free])
        right = ca.substitute(forces[free], a[free], ca.SX.zeros(len(free)))
        at, options = [q[free], u[free], torque, t], {"cse": True}
        self.size = len(free)
        self.acceleration = ca.Function("acceleration", at, [ca.ldl_solve(right, *ca.ldl(M))], options)
        self.imbalance = ca.Function("imbalance", at, [right, ca.jacobian(right, q[free])], options)
        self.ends = ca.Function("ends", [q[free], t], [places], options)

    def rest(self, tolerance: float = 1e-12) -> Array:
        """Positions of static rest at time zero, by Newton steps from the straight chain."""
        q = np.zeros(self.size)
        for _ in range(20):
            force, gradient = (x.full() for x in self.imbalance(q, np.zeros(self.size), 0.0, 0.0))
            step = np.linalg.solve(gradient, force).ravel()
            q = q - step
            if np.abs(step).max() < tolerance:
                return q
        raise AssertionError("no rest")

    def run(self, q: Array, times: Array, *parts: tuple[float, Callable[[float], float]]) -> Array:
        """Positions (times, n) from rest at q; each part ends at a time and has its torque.

        To 1e-6 of themselves, finer than the digits that are compared.
        """
        n, y, rows, first = self.size, np.concatenate((q, np.zeros(self.size))), [q[None]], times[0]
        for last, torque in parts:

            def slope(t: float, y: Array, torque: Callable[[float], float] = torque) -> Array:
                a = self.acceleration(y[:n], y[n:], torque(t), t).full().ravel()
                return np.concatenate((y[n:], a))

            inside = times[(times > first) & (times <= last)]
            part = solve_ivp(slope, (first, inside[-1]), y, "LSODA", inside, rtol=1e-6, atol=1e-8)
            rows.append(part.y[:n].T)
            first, y = inside[-1], part.y[:, -1]
        return np.vstack(rows)
