"""The damped loop of Levenberg and Marquardt, for any problem that can solve its own linear step.

    step   (H + μ D) δ = -g      by the problem: dense, factored by blocks, bounded, along determined directions, ...
    ratio  actual over predicted reduction of the value; the damping μ follows it (Marquardt 1963; Nielsen 1999)

The loop owns the damping, acceptance, counting and the reasons to stop. The problem owns its points: a point holds all
that was evaluated there, so a rejected trial costs nothing further.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf, isfinite
from typing import Any, Generic, Protocol, TypeVar

Point = TypeVar("Point")
GOOD, FAIR = 0.75, 0.25  # ratios that divide good from fair steps, and fair from poor ones


@dataclass(frozen=True)
class DampedStep:
    """A step from a point.

    predicted : reduction of the value by the linear model.  length : squared length in standard deviations of the
        estimate, which no scale of the data changes; infinite where the problem has no such measure.
    """

    change: Any
    predicted: float
    length: float = inf


@dataclass(frozen=True)
class Damping:
    """How the damping changes: by the factor `good`, `fair` or `poor` after an accepted step, by `growth` after a
    rejected one, which itself grows by `acceleration` while rejections follow each other."""

    first: float = 1e-4
    good: float = 0.1
    fair: float = 0.1
    poor: float = 0.1
    growth: float = 10.0
    acceleration: float = 1.0
    restart: float = 0.0  # least damping after a rejected step
    least: float = 1e-12
    dropped: float = 0.0  # one up to this is zero after an accepted step
    most: float = inf  # beyond it the loop ends

    def accept(self, damping: float, ratio: float) -> float:
        if 0.0 < damping <= self.dropped:
            return 0.0
        factor = self.good if ratio > GOOD else self.fair if ratio > FAIR else self.poor
        return max(damping * factor, self.least)


class Reason(Enum):
    """Why a loop ended."""

    CLOSE = "the next step is shorter than its tolerance"
    SETTLED = "the last step reduced the value by less than its tolerance"
    ROUNDING = "the predicted reduction is rounding"
    DAMPING = "no step reduces the value, however damped"
    IDLE = "several steps in a row kept little of their prediction"
    ITERATIONS = "the iterations are used up"
    DIVERGED = "the value at the first point is not finite"


class Problem(Protocol[Point]):
    """A function to minimise, with the linear step at each of its points."""

    def value(self, point: Point) -> float: ...

    def step(self, point: Point, damping: float) -> DampedStep: ...

    def evaluate(self, point: Point, step: DampedStep) -> Point | None:
        """The point after the step; None where there is none."""

    def is_settled(self, before: Point, after: Point, step: DampedStep) -> bool:
        """Whether an accepted step changed so little that it was the last."""

    def is_rounding(self, point: Point, trial: Point | None, step: DampedStep) -> bool:
        """Whether a rejected step could have reduced the value by rounding only."""


@dataclass(frozen=True)
class Minimum(Generic[Point]):
    """The end of a loop. iterations : as counted.  values : at the first point and after every accepted step."""

    point: Point
    reason: Reason
    iterations: int
    values: tuple[float, ...]

    @property
    def converged(self) -> bool:
        return self.reason in (Reason.CLOSE, Reason.SETTLED, Reason.ROUNDING)


def minimise(
    problem: Problem[Point],
    point: Point,
    damping: Damping,
    most: int,
    *,
    count_rejected: bool = True,
    close: float = 0.0,
    share: float = 0.0,
    idle: tuple[float, int] | None = None,
    finish: Callable[[Point, DampedStep, float], Point | None] | None = None,
    keep: Callable[[Point], None] | None = None,
    report: Callable[[float], None] | None = None,
) -> Minimum[Point]:
    """From a point to the nearest minimum.

    Parameters
    ----------
    most : iterations; with ``count_rejected`` every trial is one, else every accepted step.
    close : squared length of a step, in standard deviations, below which the point is the minimum.
    share : of the predicted reduction that a step must exceed to be accepted.
    idle : (share, count): ends after count consecutive accepted steps with less than this share of their prediction.
    finish : takes the point, the step and the ratio of the previous step; returns the last point where the step needs
        no evaluation, else None.
    keep : takes every accepted point, for a caller that continues with it after an interrupt.
    report : takes the fraction of the iterations done. A KeyboardInterrupt goes through to the caller.
    """
    mu, growth, ratio, poor, done = damping.first, damping.growth, 0.0, 0, 0
    values = [problem.value(point)]

    def end(at: Point, reason: Reason, iterations: int) -> Minimum[Point]:
        return Minimum(at, reason, iterations, tuple(values))

    if not isfinite(values[0]):
        return end(point, Reason.DIVERGED, 0)
    while done < most:
        if report is not None:
            report(done / most)
        if mu > damping.most and not close:
            return end(point, Reason.DAMPING, done)
        step = problem.step(point, mu)
        if step.length < close:
            return end(point, Reason.CLOSE, done)
        if mu > damping.most:
            return end(point, Reason.DAMPING, done)
        if finish is not None and (last := finish(point, step, ratio)) is not None:
            return end(last, Reason.CLOSE, done + 1)
        trial = problem.evaluate(point, step)
        after = inf if trial is None else problem.value(trial)
        reduction = problem.value(point) - after
        accepted = trial is not None and reduction > 0.0 and reduction > share * step.predicted
        done += count_rejected or accepted
        if trial is None or not accepted:
            if problem.is_rounding(point, trial, step):
                return end(point, Reason.ROUNDING, done)
            mu, growth = max(mu * growth, damping.restart), growth * damping.acceleration
            continue
        ratio = reduction / max(step.predicted, 1e-300)
        mu, growth = damping.accept(mu, ratio), damping.growth
        before, point = point, trial
        values.append(after)
        if keep is not None:
            keep(point)
        if problem.is_settled(before, point, step):
            return end(point, Reason.SETTLED, done)
        poor = poor + 1 if idle is not None and ratio < idle[0] else 0
        if idle is not None and poor >= idle[1]:
            return end(point, Reason.IDLE, done)
    near = close > 0.0 and problem.step(point, 0.0).length < close
    return end(point, Reason.CLOSE if near else Reason.ITERATIONS, done)
