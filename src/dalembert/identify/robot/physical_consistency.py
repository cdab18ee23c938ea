"""Parameters that a distribution of mass can have: the pseudo-inertia of every body is positive definite.

    P = | m   hᵀ |       Σ = ½ tr(J) 1 - J
        | h   Σ  |

P > 0 holds exactly where some density has the parameters (Wensing, Kim and Slotine 2018). P is linear in them. In the
plane m > 0 and m J > |h|², which is P > 0 with Σ = J 1. Friction and motor inertia are positive numbers x, offsets are
free. With R the square root of the information on the base parameters and x̂ their estimate,

    minimise ‖R (K π - x̂)‖² + γ Σ d(P, P⁰) ,      d(P, P⁰) = tr(P P⁰⁻¹) - ln det(P P⁰⁻¹) - n

The first term is the squared distance in standard deviations. The second, a distance from the drawing that no change of
units or frame changes (Lee, Wensing and Park 2020), keeps parameters that the data do not determine near the drawing,
and all bodies possible. The sum is convex: there is one minimum, which Newton's method finds from anywhere. With the
Cholesky factor P = L Lᵀ the step is that of linear least squares, d having the slope Jᵀ s and the curvature Jᵀ J of

    J_k = L⁻¹ ∂P/∂π_k L⁻ᵀ ,      s = Lᵀ P⁰⁻¹ L - 1

γ falls in stages, each of which begins at the result of the previous one; the last γ is too small to change determined
parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.expressions import Array
from dalembert.numerics.least_squares import DampedStep, Damping, minimise

DAMPING = Damping(first=0.0, growth=10.0, restart=1e-12, dropped=1e-9, most=1e12)


def pseudo_inertia(parameters: Array) -> FloatArray:
    """P of one body from its parameters (m, h, J): 10 in space, 4 in the plane, where Σ stands for J 1."""
    if len(parameters) == 4:
        m, hx, hy, J = parameters
        return np.array([[m, hx, hy], [hx, J, 0.0], [hy, 0.0, J]])
    m, hx, hy, hz, Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = parameters
    J = np.array([[Jxx, Jxy, Jxz], [Jxy, Jyy, Jyz], [Jxz, Jyz, Jzz]])
    P = np.empty((4, 4))
    P[0, 0], P[0, 1:], P[1:, 0] = m, (hx, hy, hz), (hx, hy, hz)
    P[1:, 1:] = 0.5 * np.trace(J) * np.eye(3) - J
    return P


def smallest_eigenvalue(parameters: Array) -> float:
    """Smallest eigenvalue of a body's pseudo-inertia in units of its mass and size; positive for possible bodies."""
    P = pseudo_inertia(parameters)
    size = np.sqrt(np.abs(np.diag(P)))
    size[1:] = size[1:].max()
    size = np.where(size > 0, size, 1.0)
    return float(np.linalg.eigvalsh(P / np.outer(size, size))[0])


def thicken(drawn: Array, length: float, mass: float, massless: float = 1e-4, thin: float = 1e-3) -> FloatArray:
    """Parameters of a drawn body, with a thickness where it has none, and a mass.

    length, mass : of the machine, for bodies that are drawn without them.
    massless : mass of a drawn body without mass, over the mean of the others.
    thin : least second moment of a drawn body over its largest: a rod gets a thickness of 3 % of its length.
    """
    m = max(float(drawn[0]), massless * mass)
    if len(drawn) == 4:
        h, moment = drawn[1:3], float(drawn[3]) / m
        about = moment - float(h @ h) / m**2
        about = max(about, thin * max(moment, massless * length**2))
        return np.array([m, *h, m * about + float(h @ h) / m])
    P = pseudo_inertia(np.concatenate([[m], drawn[1:]]))
    c = P[0, 1:] / m
    values, axes = np.linalg.eigh(P[1:, 1:] - m * np.outer(c, c))
    largest = max(float(values[-1]), massless * m * length**2)
    S = (axes * np.maximum(values, thin * largest)) @ axes.T + m * np.outer(c, c)
    J = np.trace(S) * np.eye(3) - S
    return np.array([m, *drawn[1:4], J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])


class DrawnMatrix:
    """A matrix that is positive definite, linear in some parameters (P of a body, or one number of a joint), and the
    distance from its drawn value."""

    def __init__(self, part: slice, parts: Array, drawn: Array, *, joint: bool = False) -> None:
        """part : of all parameters;  parts : (k, n, n) derivatives of the matrix;  drawn : (k,) parameters."""
        self.part, self.parts, self.joint = part, parts, joint
        self.inverse = np.linalg.inv(np.tensordot(drawn, parts, 1))

    def distance(self, values: Array) -> tuple[float, FloatArray, FloatArray] | None:
        """d, s (n²,) and J (n², k) at some parameters; None where the matrix is not positive definite."""
        try:
            L = np.linalg.cholesky(np.tensordot(values[self.part], self.parts, 1))
        except np.linalg.LinAlgError:
            return None
        near = L.T @ self.inverse @ L
        solved = scipy.linalg.solve_triangular(L, self.parts.transpose(1, 0, 2).reshape(len(L), -1), lower=True)
        sides = solved.reshape(len(L), -1, len(L)).transpose(2, 1, 0).reshape(len(L), -1)
        slopes = scipy.linalg.solve_triangular(L, sides, lower=True).reshape(len(L), -1, len(L))
        size = float(np.trace(near) - len(L)) - float(np.linalg.slogdet(near)[1])
        return size, (near - np.eye(len(L))).ravel(), slopes.transpose(0, 2, 1).reshape(len(L) ** 2, -1)


@dataclass(frozen=True)
class ConsistentParameters:
    """values : of all parameters.  distance : squared, from the estimate, in standard deviations.  converged."""

    values: FloatArray
    distance: float
    converged: bool


@dataclass(frozen=True, eq=False)
class _Bodies:
    """Parameters, the value there, and residuals whose squares have its slope and curvature. limits : per matrix, its
    place among the parameters and J."""

    values: Array
    value: float
    residual: Array
    slopes: Array
    limits: Sequence[tuple[slice, Array]]


class _DistanceProblem:
    """The distance to the estimate and to the drawing, as a problem of damped least squares."""

    def __init__(
        self, matrices: Sequence[DrawnMatrix], offsets: Array, drawn: Array, R: Array, x: Array,
        weights: tuple[float, ...] = (1.0, 0.1, 0.01),
    ) -> None:  # fmt: skip
        """R : (n, parameters) information times grouping.  x : (n,) R times the estimate.  offsets : (parameters,)
        1 / usual size of numbers of any sign, zero elsewhere, with their values in ``drawn``.

        weights : weights γ of the drawing, from strict to weak. With the last weight, a parameter with a deviation of 1
        % moves by 1e-2 · (1e-2)² = 1e-6 of its distance from the drawing.
        """
        self.matrices, self.offsets, self.drawn, self.R, self.x = matrices, offsets, drawn, R, x
        self.weight = weights[0]
        used = np.zeros(len(drawn), dtype=bool)
        for matrix in matrices:
            used[matrix.part] = True
        self.free = used | (offsets > 0.0)

    def at(self, values: Array, joint_weight: float = 1e-6) -> _Bodies | None:
        # joint_weight: The same for friction and motor inertia: a drawing often has none.
        residuals, slopes = [self.R @ values - self.x], [self.R]
        total, limits = float(residuals[0] @ residuals[0]), []
        for matrix in self.matrices:
            distance = matrix.distance(values)
            if distance is None:
                return None
            size, s, J = distance
            weight = joint_weight if matrix.joint else self.weight
            rows = np.zeros((len(s), len(values)))
            rows[:, matrix.part] = J
            total += weight * size
            residuals.append(np.sqrt(0.5 * weight) * s)
            slopes.append(np.sqrt(0.5 * weight) * rows)
            limits.append((matrix.part, J))
        free = np.sqrt(joint_weight) * self.offsets
        residuals.append(free * (values - self.drawn))
        slopes.append(np.diag(free))
        total += float(residuals[-1] @ residuals[-1])
        return _Bodies(values, total, np.concatenate(residuals), np.vstack(slopes), limits)

    def value(self, point: _Bodies) -> float:
        return point.value

    def step(self, point: _Bodies, damping: float, nearest: float = 0.9) -> DampedStep:
        # nearest: Part of the way to the next impossible body that a step goes at most.
        J, r = point.slopes[:, self.free], point.residual
        scale = np.linalg.norm(J, axis=0)
        rows = np.vstack([J / scale, np.sqrt(damping) * np.eye(len(scale))])
        Q, triangle = np.linalg.qr(rows)
        change = np.zeros(len(point.values))
        change[self.free] = -scipy.linalg.solve_triangular(triangle, Q[: len(r)].T @ r) / scale
        least = -1.0  # of the eigenvalues of L⁻¹ δP L⁻ᵀ: at -1 a body becomes impossible
        for limit, slopes in point.limits:
            n = int(np.sqrt(len(slopes)))
            least = min(least, float(np.linalg.eigvalsh((slopes @ change[limit]).reshape(n, n))[0]) / nearest)
        change = change / -least
        after = r + point.slopes @ change
        return DampedStep(change, float(r @ r - after @ after))

    def evaluate(self, point: _Bodies, step: DampedStep) -> _Bodies | None:
        return self.at(point.values + step.change)

    def is_settled(self, before: _Bodies, after: _Bodies, step: DampedStep, settled: float = 1e-8) -> bool:
        # settled: Decrease of the value that ends a stage, relative and in squared deviations: near the minimum the
        # next step of Newton's method gains its square.
        return before.value - after.value <= settled * (1.0 + after.value)

    def is_rounding(self, point: _Bodies, trial: _Bodies | None, step: DampedStep, rounding: float = 1e-12) -> bool:
        # rounding: Predicted decrease that is lost in the rounding of the value: a sum of 1e4 squares.
        return step.predicted <= rounding * (1.0 + point.value)


def find_consistent(
    drawn: Array, per_body: int, bodies: int, signed: Sequence[bool], sizes: Array, grouping: Array, information: Array,
    base: Array, weights: tuple[float, ...] = (1.0, 0.1, 0.01), shown: float = 1e-3, iterations: int = 300,
    begin: float = 0.1, thin: float = 1e-3,
) -> ConsistentParameters:  # fmt: skip
    """Parameters of possible bodies nearest to the estimate of the base parameters.

    drawn : of all parameters, those of joints last.  signed : of those of joints, whether they may be negative.
    sizes : usual values of those of joints.  grouping : K.  information : R.  base : estimate of K π.
    shown : effect of friction or motor inertia of usual size, in deviations, below which the data do not show it.
    iterations : largest number of steps of a stage: on records of arms of two and six joints all end within 40.
    begin : initial guess of friction and motor inertia that are drawn as zero, over their usual size.
    """
    blocks = drawn[: per_body * bodies].reshape(bodies, per_body)
    mass = float(blocks[:, 0][blocks[:, 0] > 0].mean()) if (blocks[:, 0] > 0).any() else 1.0
    moments = blocks[:, 3] if per_body == 4 else blocks[:, 4] + blocks[:, 6] + blocks[:, 9]
    length = float(np.sqrt(max(float(np.max(moments)) / mass, 1e-6)))
    R = information @ grouping
    values, offsets, matrices = np.array(drawn, dtype=float), np.zeros(len(drawn)), []
    parts = np.array([pseudo_inertia(unit) for unit in np.eye(per_body)])
    for b, block in enumerate(blocks):
        span = slice(per_body * b, per_body * (b + 1))
        values[span] = thicken(block, length, mass)
        matrices.append(DrawnMatrix(span, parts, values[span]))
    for k, (any_sign, size) in enumerate(zip(signed, sizes, strict=True), per_body * bodies):
        scale = max(abs(float(drawn[k])), float(size), 1e-9)
        if float(np.linalg.norm(R[:, k])) * scale < shown:
            continue  # without effect on the data: it keeps its value
        if any_sign:
            offsets[k] = 1.0 / scale
            continue
        near = np.array([max(float(drawn[k]), thin * scale)])
        matrices.append(DrawnMatrix(slice(k, k + 1), np.ones((1, 1, 1)), near, joint=True))
        values[k] = max(float(near[0]), begin * scale)
    problem, converged = _DistanceProblem(matrices, offsets, drawn, R, information @ base), False
    for weight in weights:
        problem.weight = weight
        start = problem.at(values)
        assert start is not None  # bodies as drawn, with a thickness
        end = minimise(problem, start, DAMPING, iterations)
        values, converged = end.point.values, end.converged
    missed = R @ values - problem.x
    return ConsistentParameters(values, float(missed @ missed), converged)
