"""Parameters that a distribution of mass can have: the pseudo-inertia of every body is positive definite.

    P = | m   hᵀ |       Σ = ½ tr(J) 1 - J ,        P = L Lᵀ ,  L lower triangular
        | h   Σ  |

P > 0 holds exactly where some density has the parameters (Wensing, Kim and Slotine 2018). Logarithms of the diagonal of
L and its other entries are free numbers ϑ (log-Cholesky, Rucker and Wensing 2022), which need no inequality. In the
plane m > 0 and J > |h|²/m: the entries √m, h/√m and √(J - |h|²/m) take the place of L. Friction and motor inertia are
exponentials, offsets are free.

    minimise ‖R (K (π(ϑ) - π⁰) - x)‖² + γ ‖ϑ - ϑ⁰‖²

R is the square root of the information on the base parameters, x their estimate: the first term is the squared distance
in standard deviations. The second keeps parameters that the data do not determine near the drawing. γ falls in stages,
each of which begins at the result of the previous one; the last γ is too small to change determined parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.expressions import Array
from dalembert.numerics.least_squares import DampedStep, Damping, minimise


@dataclass(frozen=True)
class ConsistencyThresholds:
    """Weights of the drawing, and the thickness of thin bodies."""

    # Weights γ of the drawing, from strict to weak. A change of ϑ by 1 is a factor e. With the last weight, a parameter
    # with a deviation of 1 % moves by 1e-2 · (1e-2)² = 1e-6 of its distance from the drawing.
    weights: tuple[float, ...] = (1.0, 1e-2)
    # The same for friction and motor inertia: a drawing often has none.
    joint_weight: float = 1e-6
    # Largest number of steps of a stage: of 30 stages on records of an arm 29 end within 90, and one, with a given
    # noise that contradicts the residuals, after 287.
    iterations: int = 300
    # Decrease of the value that ends a stage, relative and in squared deviations: a hundredth of a deviation.
    settled: float = 1e-4
    # Predicted decrease that is lost in the rounding of the value: a sum of 1e4 squares.
    rounding: float = 1e-12
    # Least second moment of a drawn body over its largest: a rod gets a thickness of 3 % of its length.
    thin: float = 1e-3
    # Mass of a drawn body without mass, over the mean of the others.
    massless: float = 1e-4
    # Initial guess of friction and motor inertia that are drawn as zero, over their usual size.
    begin: float = 0.1
    # Effect of friction or motor inertia of usual size, in deviations, below which the data do not show it.
    shown: float = 1e-3


THRESHOLDS = ConsistencyThresholds()
DAMPING = Damping(first=1e-3, good=0.2, fair=0.5, poor=1.0, growth=4.0, acceleration=2.0, most=1e12)


def pseudo_inertia(parameters: Array) -> FloatArray:
    """P of one body from its parameters (m, h, J): 10 in space, 4 in the plane.

    In the plane only m and J - |h|²/m matter: P is then [[m, hx, hy], [hx, J/2, 0], [hy, 0, J/2]] up to the
    undetermined part of Σ, and this function returns [[m, |h|], [|h|, J]], which is positive definite where the body is
    possible.
    """
    if len(parameters) == 4:
        m, hx, hy, J = parameters
        h = float(np.hypot(hx, hy))
        return np.array([[m, h], [h, J]])
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


def _from_pseudo_inertia(P: Array) -> FloatArray:
    S = P[1:, 1:]
    J = np.trace(S) * np.eye(3) - S
    return np.array([P[0, 0], *P[0, 1:], J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])


class BodyCoordinates:
    """ϑ of one body, about a drawn pseudo-inertia: 10 numbers in space, 4 in the plane, dimensionless."""

    def __init__(self, drawn: Array, length: float, mass: float) -> None:
        """length, mass : of the machine, for bodies that are drawn without them."""
        self.planar = len(drawn) == 4
        own = max(float(drawn[0]), THRESHOLDS.massless * mass)
        if self.planar:
            about = float(drawn[3]) - float(drawn[1] ** 2 + drawn[2] ** 2) / own
            spread = max(about / own, THRESHOLDS.thin * max(float(drawn[3]) / own, THRESHOLDS.massless * length**2))
            self.scale = np.array([np.sqrt(own), *[np.sqrt(own * max(float(drawn[3]) / own, spread))] * 3])
            entries = np.array([np.sqrt(own), *(drawn[1:3] / np.sqrt(own)), np.sqrt(own * spread)]) / self.scale
            self.start = np.array([np.log(entries[0]), *entries[1:3], np.log(entries[3])])
            return
        P = pseudo_inertia(np.concatenate([[own], drawn[1:]]))
        c = P[0, 1:] / own
        central = P[1:, 1:] - own * np.outer(c, c)
        values, axes = np.linalg.eigh(central)
        largest = max(float(values[-1]), THRESHOLDS.massless * own * length**2)
        central = (axes * np.maximum(values, THRESHOLDS.thin * largest)) @ axes.T
        P[1:, 1:] = central + own * np.outer(c, c)
        reach = np.sqrt(max(largest, float(np.trace(P[1:, 1:])) / 3.0) / own)
        self.scale = np.sqrt(own) * np.array([1.0, reach, reach, reach])
        L = np.linalg.cholesky(P / np.outer(self.scale, self.scale))
        self.lower = np.tril_indices(4)
        self.diagonal = self.lower[0] == self.lower[1]
        self.start = np.where(self.diagonal, np.log(np.where(self.diagonal, L[self.lower], 1.0)), L[self.lower])

    def evaluate(self, theta: Array) -> tuple[FloatArray, FloatArray]:
        """Parameters (m, h, J) and their derivatives by ϑ."""
        if self.planar:
            u, du = self._entries(theta, np.array([True, False, False, True]))
            m, hx, hy, J = u[0] ** 2, u[0] * u[1], u[0] * u[2], u[1] ** 2 + u[2] ** 2 + u[3] ** 2
            slopes = np.array([
                [2 * u[0], 0, 0, 0], [u[1], u[0], 0, 0], [u[2], 0, u[0], 0], [0, 2 * u[1], 2 * u[2], 2 * u[3]],
            ])  # fmt: skip
            return np.array([m, hx, hy, J]), slopes * du
        L = np.zeros((4, 4))
        values = np.where(self.diagonal, np.exp(np.where(self.diagonal, theta, 0.0)), theta)
        L[self.lower] = values
        L = self.scale[:, None] * L
        slopes = np.empty((10, 10))
        for k, (i, j) in enumerate(zip(*self.lower, strict=True)):
            own = self.scale[i] * (values[k] if i == j else 1.0)
            change = np.zeros((4, 4))
            change[i] = own * L[:, j]
            slopes[:, k] = _from_pseudo_inertia(change + change.T)
        return _from_pseudo_inertia(L @ L.T), slopes

    def _entries(self, theta: Array, logarithms: Array) -> tuple[Array, Array]:
        values = np.where(logarithms, np.exp(np.where(logarithms, theta, 0.0)), theta)
        return self.scale * values, self.scale * np.where(logarithms, values, 1.0)


@dataclass(frozen=True)
class JointCoordinate:
    """ϑ of one parameter of a joint: scale · exp ϑ, or scale · ϑ where it may have any sign.

    centre : ϑ of the drawing.  start : initial guess.  fixed : without effect on the data, so it keeps its value.
    """

    scale: float
    centre: float
    start: float
    signed: bool
    fixed: float | None = None

    def evaluate(self, theta: float) -> tuple[float, float]:
        if self.fixed is not None:
            return self.fixed, 0.0
        if self.signed:
            return self.scale * theta, self.scale
        value = self.scale * float(np.exp(theta))
        return value, value


@dataclass(frozen=True)
class ConsistentParameters:
    """values : of all parameters.  distance : squared, from the estimate, in standard deviations.  converged."""

    values: FloatArray
    distance: float
    converged: bool


@dataclass(frozen=True, eq=False)
class _ThetaPoint:
    theta: Array
    residual: Array
    slopes: Array


class _DistanceProblem:
    """The distance to the estimate and to the drawing, as a problem of damped least squares."""

    def __init__(
        self, bodies: Sequence[BodyCoordinates], joints: Sequence[JointCoordinate], R: Array, x: Array
    ) -> None:
        """R : (n, parameters) information times grouping.  x : (n,) R times the value of the estimate."""
        self.bodies, self.joints, self.R, self.x = bodies, joints, R, x
        self.start = np.concatenate([*(b.start for b in bodies), [j.start for j in joints]])
        self.centre = np.concatenate([*(b.start for b in bodies), [j.centre for j in joints]])
        self.weight = THRESHOLDS.weights[0]
        self.of_joints = np.arange(len(self.start)) >= len(self.start) - len(joints)

    def parameters(self, theta: Array) -> tuple[FloatArray, FloatArray]:
        values, slopes, first = np.empty(len(theta)), np.zeros((len(theta), len(theta))), 0
        for body in self.bodies:
            own = slice(first, first + len(body.start))
            values[own], slopes[own, own] = body.evaluate(theta[own])
            first = own.stop
        for k, joint in enumerate(self.joints, first):
            values[k], slopes[k, k] = joint.evaluate(float(theta[k]))
        return values, slopes

    def at(self, theta: Array) -> _ThetaPoint:
        values, slopes = self.parameters(theta)
        prior = np.sqrt(np.where(self.of_joints, THRESHOLDS.joint_weight, self.weight))
        residual = np.concatenate([self.R @ values - self.x, prior * (theta - self.centre)])
        return _ThetaPoint(theta, residual, np.vstack([self.R @ slopes, np.diag(prior)]))

    def value(self, point: _ThetaPoint) -> float:
        return float(point.residual @ point.residual)

    def step(self, point: _ThetaPoint, damping: float) -> DampedStep:
        J, r = point.slopes, point.residual
        scale = np.maximum(np.linalg.norm(J, axis=0), 1e-12)
        rows = np.vstack([J / scale, np.sqrt(damping) * np.eye(len(scale))])
        change = np.linalg.lstsq(rows, np.concatenate([-r, np.zeros(len(scale))]), rcond=None)[0] / scale
        change = change / max(1.0, float(np.abs(change).max()))  # a factor e at most in one step
        after = r + J @ change
        return DampedStep(change, float(r @ r - after @ after))

    def evaluate(self, point: _ThetaPoint, step: DampedStep) -> _ThetaPoint | None:
        found = self.at(point.theta + step.change)
        return found if np.isfinite(found.residual).all() else None

    def is_settled(self, before: _ThetaPoint, after: _ThetaPoint, step: DampedStep) -> bool:
        return self.value(before) - self.value(after) <= THRESHOLDS.settled * (1.0 + self.value(after))

    def is_rounding(self, point: _ThetaPoint, trial: _ThetaPoint | None, step: DampedStep) -> bool:
        return step.predicted <= THRESHOLDS.rounding * (1.0 + self.value(point))


def find_consistent(
    drawn: Array, per_body: int, bodies: int, signed: Sequence[bool], sizes: Array, grouping: Array,
    information: Array, base: Array,
) -> ConsistentParameters:  # fmt: skip
    """Parameters of possible bodies nearest to the estimate of the base parameters.

    drawn : of all parameters, those of joints last.  signed : of those of joints, whether they may be negative.
    sizes : usual values of those of joints.  grouping : K.  information : R.  base : estimate of K π.
    """
    blocks = drawn[: per_body * bodies].reshape(bodies, per_body)
    mass = float(blocks[:, 0][blocks[:, 0] > 0].mean()) if (blocks[:, 0] > 0).any() else 1.0
    moments = blocks[:, 3] if per_body == 4 else blocks[:, 4] + blocks[:, 6] + blocks[:, 9]
    length = float(np.sqrt(max(float(np.max(moments)) / mass, 1e-6)))
    coordinates = [BodyCoordinates(own, length, mass) for own in blocks]
    R = information @ grouping
    joints = [
        _joint_coordinate(float(drawn[k]), float(size), any_sign, float(np.linalg.norm(R[:, k])))
        for k, (any_sign, size) in enumerate(zip(signed, sizes, strict=True), per_body * bodies)
    ]
    problem = _DistanceProblem(coordinates, joints, R, information @ base)
    theta, converged = problem.start, False
    for weight in THRESHOLDS.weights:
        problem.weight = weight
        end = minimise(problem, problem.at(theta), DAMPING, THRESHOLDS.iterations)
        theta, converged = end.point.theta, end.converged
    values, _ = problem.parameters(theta)
    missed = problem.R @ values - problem.x
    return ConsistentParameters(values, float(missed @ missed), converged)


def _joint_coordinate(drawn: float, size: float, signed: bool, effect: float) -> JointCoordinate:
    """effect : of a unit of it on the base parameters, in deviations."""
    scale = max(abs(drawn), size, 1e-9)
    if effect * scale < THRESHOLDS.shown:
        return JointCoordinate(scale, 0.0, 0.0, signed, drawn)
    if signed:
        return JointCoordinate(scale, drawn / scale, drawn / scale, signed)
    centre = float(np.log(max(drawn / scale, THRESHOLDS.thin)))
    return JointCoordinate(scale, centre, max(centre, float(np.log(THRESHOLDS.begin))), signed)
