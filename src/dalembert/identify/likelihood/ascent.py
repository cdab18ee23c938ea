"""Ascent of the likelihood of a modal model: Levenberg-Marquardt on (b, z₀, ln λ), C and D eliminated.

V = N/2 ln det R,   R = Σ e eᵀ/N  (diagonal where the sensors are independent): the likelihood with R at its best.
step   (S + μ diag S) δ = Jᵀ R⁻¹ e.  δᵀ S δ is the squared length of the step in standard deviations of the estimate:
       the ascent ends where that is small, which no scale of the data can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood.block_moments import Moments
from dalembert.identify.likelihood.modal_likelihood import BoolArray, ModalModel, Products, Score
from dalembert.identify.likelihood.moment_products import clean, decaying, quick_products
from dalembert.identify.likelihood.parametrisation import LEAST_DECAY, MOST_DECAY, normalised

Segments = tuple[FloatArray, ...]
# Squared length of the last step, in standard deviations of the estimate.
CLOSE = 1e-5
# The same, of a last step that needs no look at where it leads if the one before kept what it promised: what is left
# to go is smaller still by the convergence of the method, some 1e-4 of this. It may change a mode by a share only.
LAST, HARDLY = 1e-2, 1e-2
# Squared length of the step from rest to the best start, below which the first step of the ascent finds it as well.
AT_REST = 100.0
# Noise below this, relative to the rms of an output, is rounding of the data.
NOISE_FLOOR = 1e-13
# So many steps in a row that gain less than this share of what they promise end the ascent.
IDLE, MOST_IDLE = 0.02, 5
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-4, 1e-12, 1e8


@dataclass(frozen=True)
class Point:
    """A model with C and D at their best, and what the data say there."""

    model: ModalModel
    score: Score
    noise: FloatArray
    value: float


@dataclass(frozen=True)
class Summit:
    """Where the ascent ended."""

    point: Point
    free: BoolArray
    iterations: int
    converged: bool
    history: tuple[float, ...]


class Ascent:
    """The data, and how their noise is modelled: ``full`` covariance or independent outputs; ``start`` estimated."""

    def __init__(self, u: Segments, y: Segments, *, full: bool, start: bool) -> None:
        self.u, self.y, self.full, self.start = u, y, full, start
        power = np.zeros(y[0].shape[1])
        for part in y:
            power += np.einsum("ta,ta->a", part, part)
        self.samples = sum(map(len, y))
        self.floor = NOISE_FLOOR**2 * power / self.samples + np.finfo(float).tiny
        self._moments: list[Moments] | None = [Moments(*pair) for pair in zip(u, y, strict=True)]

    def products(self, model: ModalModel) -> Products:
        """By moments of the records; sample by sample where they would lose too many digits."""
        if self._moments is not None and decaying(model, self._moments):
            sums = quick_products(model, self._moments)
            if not clean(sums, self._moments):
                return sums
            self._moments = None
        return likelihood.products(model, self.u, self.y)

    def look(self, model: ModalModel) -> Point:
        """One pass over the data; C and D are moved to their best."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._point(model, self.products(model))

    def _point(self, model: ModalModel, sums: Products) -> Point:
        with np.errstate(over="ignore", invalid="ignore"):
            score = likelihood.project(model, sums)
        C, D = model.with_linear(model.linear() + score.change)
        noise = self.covariance(score.residual)
        return Point(replace(model, C=C, D=D), score, noise, self.value(score.residual))

    def covariance(self, total: FloatArray) -> FloatArray:
        """R of Σ e eᵀ (ny, ny), not below the rounding of the data."""
        noise = total / self.samples if self.full else np.diag(np.diag(total) / self.samples)
        return np.asarray(noise + np.diag(np.maximum(self.floor - np.diag(noise), 0.0)))

    def value(self, total: FloatArray) -> float:
        """V of Σ e eᵀ; infinite where it is no number."""
        sign, log = np.linalg.slogdet(self.covariance(total))
        return float(0.5 * self.samples * log) if sign > 0 and np.isfinite(log) else np.inf

    def begin(self, model: ModalModel) -> Point:
        """The first point, its starts z₀ the least-squares fit for the given C; from rest where that is near."""
        model = normalised(model)
        if not self.start or not len(model.poles):
            return self.look(model)
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
        driven = np.abs(model.weights[:, :nu]).max(axis=1, initial=0.0) > 0.0  # else the start is all that moves a mode
        if g @ step[here] < AT_REST and driven.all() and not self.full:
            return self._point(model, sums)
        return self.look(_moved(model, step)[0])

    def climb(self, here: Point, iterations: int, report: Callable[[float], None] | None = None) -> Summit:
        """From a point to the nearest summit; ``report`` takes the fraction of the iterations done."""
        history, damping, idle, kept = [here.value], FIRST_DAMPING, 0, 0.0
        free, S, g = self.slope(here)
        for iteration in range(1, iterations + 1):
            if report is not None:
                report((iteration - 1) / iterations)
            while True:
                step = _solve(S, g, damping)
                length = float(step @ S @ step)
                if length < CLOSE or damping > MOST_DAMPING:
                    return Summit(here, free, iteration - 1, length < CLOSE or _flat(history), tuple(history))
                trial = self.trial(here, free, step)
                if length < LAST and abs(kept - 1.0) < 0.1 and not self.full and _hardly_moved(here.model, trial):
                    return Summit(replace(here, model=trial), free, iteration, True, tuple(history))
                there = self.look(trial)
                if there.value < here.value:
                    break
                # a step that gains nothing within rounding of V is the summit as well
                if 0.5 * length < 1e-11 * self.samples and np.isfinite(there.value):
                    return Summit(here, free, iteration - 1, True, tuple(history))
                damping = max(10.0 * damping, 1e-6)
            # a pole at the edge of its kind makes steps that promise and do not keep
            kept = (here.value - there.value) / max(float(step @ g) - 0.5 * length, 1e-300)
            idle = idle + 1 if kept < IDLE else 0
            damping = max(damping * (0.1 if kept > 0.75 else 1.0 if kept > 0.25 else 4.0), LEAST_DAMPING)
            here = there
            history.append(here.value)
            free, S, g = self.slope(here)
            if idle >= MOST_IDLE:
                return Summit(here, free, iteration, False, tuple(history))
        return Summit(here, free, iterations, float(_solve(S, g, 0.0) @ g) < CLOSE, tuple(history))

    def slope(self, point: Point) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Free parameters (J, P, 2), their information and the gradient."""
        free = likelihood.free_parameters(point.model, point.score, len(self.y), start=self.start)
        precision = likelihood.symmetric_inverse(point.noise)
        g = likelihood.gradient(point.model.C, precision, point.score.cross)
        # a pole at the border of the ring that would leave it stays
        decay, push = point.model.poles.real, g[:, -1, 0]
        free[:, -1, 0] &= ~((decay <= -MOST_DECAY) & (push < 0.0) | (decay >= -LEAST_DECAY) & (push > 0.0))
        S = likelihood.information(point.model.C, precision, point.score.projected)[free][:, free]
        return free, S, g[free]

    def trial(self, point: Point, free: BoolArray, step: FloatArray) -> ModalModel:
        """The model after a step, C and D following to first order."""
        whole = np.zeros(free.shape)
        whole[free] = step
        moved, applied = _moved(point.model, whole)
        through = np.einsum("ajgc,jpc->ajpg", likelihood.output_map(point.model.C), applied)
        follow = np.einsum("ljpg,ajpg->la", point.score.follow, through)
        C, D = moved.with_linear(point.model.linear() - follow)
        return replace(moved, C=C, D=D)


def _hardly_moved(old: ModalModel, new: ModalModel) -> bool:
    """Whether all that was summed up for the one model holds for the other."""
    poles = np.abs(new.poles - old.poles) <= HARDLY * np.abs(old.poles.real)
    size = np.abs(old.weights).max(axis=1, initial=0.0)
    return bool(poles.all() and (np.abs(new.weights - old.weights).max(axis=1, initial=0.0) <= HARDLY * size).all())


def _flat(history: list[float]) -> bool:
    return len(history) > 1 and abs(history[-1] - history[-2]) <= 1e-10 * max(1.0, abs(history[-1]))


def _moved(model: ModalModel, step: FloatArray) -> tuple[ModalModel, FloatArray]:
    """Parameters after a step (J, P, 2), and the step that was taken: poles stay inside the unit circle."""
    applied = step.copy()
    decay = model.poles.real + step[:, -1, 0]
    decay = np.where(decay > 0.1 * model.poles.real, 0.1 * model.poles.real, decay)
    decay = np.clip(decay, -MOST_DECAY, -LEAST_DECAY)
    applied[:, -1, 0] = decay - model.poles.real
    wave = model.poles.imag + step[:, -1, 1]
    inside = np.where(model.real, model.poles.imag, np.clip(wave, 0.1 * model.poles.imag, None))
    inside = np.where(model.real, inside, np.minimum(inside, np.pi - 0.1 * (np.pi - model.poles.imag)))
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
