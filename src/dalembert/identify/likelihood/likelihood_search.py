"""Maximum of the likelihood of a modal model: Levenberg-Marquardt on (b, z₀, ln λ), C and D eliminated.

V = N/2 ln det R,   R = Σ e eᵀ/N  (diagonal where the sensors are independent): the negative log-likelihood, best R
step   (S + μ diag S) δ = Jᵀ R⁻¹ e.  δᵀ S δ is the squared length of the step in standard deviations of the estimate:
       the search ends where that is small, in any units of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from dalembert.core.arrays import BoolArray, FloatArray
from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood.filter_sums import Moments
from dalembert.identify.likelihood.modal_likelihood import (
    ModalModel,
    Products,
    Score,
    modes_decay,
    products_from_moments,
    products_from_samples,
    residuals_vanish,
)
from dalembert.identify.likelihood.parametrisation import normalise
from dalembert.numerics.least_squares import DampedStep, Damping, Reason, minimise

Segments = tuple[FloatArray, ...]


DAMPING = Damping(first=1e-4, fair=1.0, poor=4.0, restart=1e-6, most=1e8)


@dataclass(frozen=True)
class LikelihoodPoint:
    """A model with its best C and D, and the derivatives of its likelihood."""

    model: ModalModel
    score: Score
    noise: FloatArray
    value: float


@dataclass(frozen=True)
class Maximum:
    """The end of a search."""

    point: LikelihoodPoint
    free: BoolArray
    iterations: int
    converged: bool


class LikelihoodSearch:
    """Data and their noise model: ``full`` covariance or independent outputs; ``start`` : initial states estimated."""

    def __init__(self, u: Segments, y: Segments, *, full: bool, start: bool, noise_floor: float = 1e-13) -> None:
        # noise_floor: Noise relative to the rms of an output that is rounding of the data: some 500 ε.
        self.u, self.y, self.full, self.start = u, y, full, start
        power = sum(np.einsum("ta,ta->a", block, block) for block in y)
        self.samples = sum(map(len, y))
        self.floor = noise_floor**2 * np.asarray(power) / self.samples + np.finfo(float).tiny
        self._moments: list[Moments] | None = [Moments(*pair) for pair in zip(u, y, strict=True)]

    def products(self, model: ModalModel) -> Products:
        """By moments of the records; sample by sample where they would lose too many digits."""
        if self._moments is not None and modes_decay(model, self._moments):
            sums = products_from_moments(model, self._moments)
            if not residuals_vanish(sums, self._moments):
                return sums
            self._moments = None
        return products_from_samples(model, self.u, self.y)

    def evaluate(self, model: ModalModel, sums: Products | None = None) -> LikelihoodPoint:
        """One pass over the data, where their products are not known, with the best C and D."""
        with np.errstate(over="ignore", invalid="ignore"):
            score = likelihood.project(model, self.products(model) if sums is None else sums)
        C, D = model.with_linear(model.linear() + score.change)
        noise = self.covariance(score.residual)
        return LikelihoodPoint(replace(model, C=C, D=D), score, noise, self.value(score.residual))

    def covariance(self, total: FloatArray) -> FloatArray:
        """R of Σ e eᵀ (ny, ny), not below the rounding of the data."""
        noise = total / self.samples if self.full else np.diag(np.diag(total) / self.samples)
        return np.asarray(noise + np.diag(np.maximum(self.floor - np.diag(noise), 0.0)))

    def value(self, total: FloatArray) -> float:
        """V of Σ e eᵀ; infinite where it is no number."""
        sign, log = np.linalg.slogdet(self.covariance(total))
        return float(0.5 * self.samples * log) if sign > 0 and np.isfinite(log) else np.inf

    def evaluate_start(self, model: ModalModel, at_rest: float = 100.0) -> LikelihoodPoint:
        """The first point, with initial states z₀ by least squares for the given C; at rest where that is near.

        at_rest : squared length of the step from rest to the best initial states, below which the first step of the
        search finds them as well: ten standard deviations, still inside the quadratic range.
        """
        model = normalise(model)
        if not self.start or not len(model.poles):
            return self.evaluate(model)
        sums = self.products(model)
        precision = np.diag(1.0 / (np.diag(sums.ee) / self.samples + self.floor))
        nu, S = model.nu, len(self.y)
        here = np.zeros(sums.zz.shape[:3], dtype=bool)
        here[:, nu : nu + S] = True
        here[model.real, :, 1] = False
        H = likelihood.information(model.C, precision, sums.zz)[here][:, here]
        g = likelihood.gradient(model.C, precision, sums.ze)[here]
        step = np.zeros(here.shape)
        step[here] = likelihood.symmetric_inverse(H) @ g
        driven = np.abs(model.weights[:, :nu]).max(axis=1, initial=0.0) > 0.0  # else only initial states move a mode
        if g @ step[here] < at_rest and driven.all() and not self.full:
            return self.evaluate(model, sums)
        return self.evaluate(_move(model, step)[0])

    def maximise(
        self, here: LikelihoodPoint, iterations: int, report: Callable[[float], None] | None = None,
        settled: float = 1e-5, idle: float = 0.02, most_idle: int = 5,
    ) -> Maximum:  # fmt: skip
        """From a point to the nearest maximum; ``report`` takes the fraction of the iterations done.

        settled : squared length of the last step in standard deviations of the estimate: 0.3 % of one.
        idle, most_idle : stop after 5 consecutive steps whose actual reduction is below 2 % of the predicted one: a
        pole between real and oscillating makes such steps.
        """
        problem = _LikelihoodProblem(self)
        minimum = minimise(
            problem, here, DAMPING, iterations, count_rejected=False, close=settled,
            idle=(idle, most_idle), finish=problem.finish, report=report,
        )  # fmt: skip
        if minimum.reason is Reason.IDLE or not hasattr(problem, "free"):  # it ended before or after its last step
            problem.derivatives(minimum.point)
        converged = minimum.converged or (minimum.reason is Reason.DAMPING and _flat(minimum.values))
        return Maximum(minimum.point, problem.free, minimum.iterations, converged)

    def find_derivatives(
        self, point: LikelihoodPoint, most_decay: float = 3.0, least_decay: float = 1e-9
    ) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Free parameters (J, P, 2), their information and the gradient."""
        free = likelihood.free_parameters(point.model, point.score, len(self.y), start=self.start)
        precision = likelihood.symmetric_inverse(point.noise)
        g = likelihood.gradient(point.model.C, precision, point.score.cross)
        # a pole at the border of the allowed ring is fixed if the step would leave it
        decay, push = point.model.poles.real, g[:, -1, 0]
        free[:, -1, 0] &= ~((decay <= -most_decay) & (push < 0.0) | (decay >= -least_decay) & (push > 0.0))
        S = likelihood.information(point.model.C, precision, point.score.projected)[free][:, free]
        return free, S, g[free]

    def take_step(self, point: LikelihoodPoint, free: BoolArray, step: FloatArray) -> ModalModel:
        """The model after a step, C and D following to first order."""
        full = np.zeros(free.shape)
        full[free] = step
        moved, applied = _move(point.model, full)
        through = np.einsum("ajgc,jpc->ajpg", likelihood.output_map(point.model.C), applied)
        follow = np.einsum("ljpg,ajpg->la", point.score.follow, through)
        C, D = moved.with_linear(point.model.linear() - follow)
        return replace(moved, C=C, D=D)


class _LikelihoodProblem:
    """The likelihood as a problem of damped least squares; a point is a `LikelihoodPoint`."""

    free: BoolArray

    def __init__(self, search: LikelihoodSearch) -> None:
        self.search = search
        self._at: tuple[LikelihoodPoint, FloatArray, FloatArray] | None = None

    def derivatives(self, point: LikelihoodPoint) -> tuple[FloatArray, FloatArray]:
        """Information and gradient, once per point."""
        if self._at is None or self._at[0] is not point:
            self.free, S, g = self.search.find_derivatives(point)
            self._at = (point, S, g)
        return self._at[1:]

    def value(self, point: LikelihoodPoint) -> float:
        return point.value

    def step(self, point: LikelihoodPoint, damping: float) -> DampedStep:
        S, g = self.derivatives(point)
        change = _solve(S, g, damping)
        length = float(change @ S @ change)
        return DampedStep(change, float(change @ g) - 0.5 * length, length)

    def finish(
        self, point: LikelihoodPoint, step: DampedStep, ratio: float, as_predicted: float = 0.1, last: float = 1e-2
    ) -> LikelihoodPoint | None:
        """A last step that needs no evaluation.

        as_predicted, last : a step of this squared length is the last without another evaluation, if the actual
        reduction of the step before was within 10 % of the predicted one: the rest is smaller by the convergence of the
        method, some 1e-4 of this.
        """
        if not step.length < last or abs(ratio - 1.0) >= as_predicted or self.search.full:
            return None
        trial = self.search.take_step(point, self.free, step.change)
        return replace(point, model=trial) if _is_near(point.model, trial) else None

    def evaluate(self, point: LikelihoodPoint, step: DampedStep) -> LikelihoodPoint:
        return self.search.evaluate(self.search.take_step(point, self.free, step.change))

    def is_settled(self, before: LikelihoodPoint, after: LikelihoodPoint, step: DampedStep) -> bool:
        return False

    def is_rounding(
        self, point: LikelihoodPoint, trial: LikelihoodPoint | None, step: DampedStep, rounding: float = 1e-11
    ) -> bool:
        """Whether a rejected step gains nothing within the rounding of V: the point is the maximum then.

        rounding : half the squared length of a step, per sample, that is lost in the rounding of V: a sum of N terms of
        order one.
        """
        return (
            trial is not None and 0.5 * step.length < rounding * self.search.samples and bool(np.isfinite(trial.value))
        )


def _is_near(old: ModalModel, new: ModalModel, unchanged: float = 1e-2) -> bool:
    """Whether the sums for one model hold for the other.

    unchanged : largest relative change of poles and weights for which the sums of the last evaluation still hold.
    """
    poles = np.abs(new.poles - old.poles) <= unchanged * np.abs(old.poles.real)
    change, size = (np.abs(array).max(axis=1, initial=0.0) for array in (new.weights - old.weights, old.weights))
    return bool(poles.all() and (change <= unchanged * size).all())


def _flat(history: Sequence[float], flat: float = 1e-10) -> bool:
    # flat: Change of V from one stage to the next, relative, from which on another stage changes nothing.
    return len(history) > 1 and abs(history[-1] - history[-2]) <= flat * max(1.0, abs(history[-1]))


def _move(
    model: ModalModel, step: FloatArray, kept: float = 0.1, most_decay: float = 3.0, least_decay: float = 1e-9
) -> tuple[ModalModel, FloatArray]:
    """Parameters after a step (J, P, 2), and the step that was taken: poles stay inside the unit circle.

    kept : a pole keeps this part of its decay, and of its distances in frequency from 0 and from the Nyquist frequency.
    """
    applied = step.copy()
    decay = model.poles.real + step[:, -1, 0]
    decay = np.minimum(decay, kept * model.poles.real)
    decay = np.clip(decay, -most_decay, -least_decay)
    applied[:, -1, 0] = decay - model.poles.real
    wave = model.poles.imag + step[:, -1, 1]
    inside = np.where(model.real, model.poles.imag, np.clip(wave, kept * model.poles.imag, None))
    inside = np.where(model.real, inside, np.minimum(inside, np.pi - kept * (np.pi - model.poles.imag)))
    applied[:, -1, 1] = inside - model.poles.imag
    weights = model.weights + (step[:, :-1, 0] + 1j * step[:, :-1, 1])
    return replace(model, poles=decay + 1j * inside, weights=weights), applied


def _solve(S: FloatArray, g: FloatArray, damping: float) -> FloatArray:
    """Damped step; parameters that the data do not move stay."""
    if not len(g):
        return g
    scale = np.sqrt(np.maximum(np.diag(S), 0.0))
    back = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    matrix = S * back[:, None] * back
    matrix[np.diag_indices_from(matrix)] += damping + np.where(scale > 0.0, 0.0, 1.0)
    try:
        step = scipy.linalg.solve(matrix, g * back, assume_a="pos")
    except (np.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
        step = likelihood.symmetric_inverse(matrix) @ (g * back)
    return np.asarray(step * back)
