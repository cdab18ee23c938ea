"""The damped least-squares loop on problems with known minima, and each reason to stop."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from dalembert.numerics.least_squares import DampedStep, Damping, Minimum, Reason, minimise


@dataclass
class Valley:
    """Rosenbrock's function: r = (10 (y - x²), 1 - x), with its minimum at (1, 1)."""

    settle: float = 0.0
    rounding: float = 0.0
    beyond: float = np.inf  # no point exists with |x| above
    tries: int = field(default=0)

    def residual(self, x: np.ndarray) -> np.ndarray:
        return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])

    def value(self, x: np.ndarray) -> float:
        r = self.residual(x)
        return float(r @ r)

    def step(self, x: np.ndarray, damping: float) -> DampedStep:
        r, J = self.residual(x), np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])
        H = J.T @ J
        change = -np.linalg.solve(H + damping * np.diag(np.diag(H)), J.T @ r)
        left = r + J @ change
        return DampedStep(change, float(r @ r - left @ left), float(change @ H @ change))

    def evaluate(self, x: np.ndarray, step: DampedStep) -> np.ndarray | None:
        self.tries += 1
        there = x + step.change
        return None if np.abs(there).max() > self.beyond else there

    def is_settled(self, before: np.ndarray, after: np.ndarray, step: DampedStep) -> bool:
        return self.value(before) - self.value(after) <= self.settle

    def is_rounding(self, x: np.ndarray, trial: np.ndarray | None, step: DampedStep) -> bool:
        return step.predicted <= self.rounding


START = np.array([-1.2, 1.0])


def run(problem: Valley, most: int = 200, **options: object) -> Minimum[np.ndarray]:
    return minimise(problem, START, options.pop("damping", Damping()), most, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("damping, after", [(0.9e-8, 0.0), (1.1e-8, 1.1e-9)])
def test_a_damping_below_the_least_worth_keeping_is_dropped_after_an_accepted_step(damping, after) -> None:
    assert Damping(dropped=1e-8).accept(damping, 1.0) == pytest.approx(after)


def test_the_valley_is_followed_to_its_minimum() -> None:
    found = run(Valley(), close=1e-20)
    assert found.converged and found.reason is Reason.CLOSE
    assert found.point == pytest.approx([1.0, 1.0], abs=1e-9)
    assert all(b < a for a, b in zip(found.values, found.values[1:], strict=False))


def test_a_small_reduction_ends_the_loop() -> None:
    assert run(Valley(settle=1e-3)).reason is Reason.SETTLED


def test_a_rejected_step_that_promises_rounding_only_ends_the_loop() -> None:
    found = run(Valley(rounding=1e-24), most=1000)
    assert found.reason is Reason.ROUNDING and found.point == pytest.approx([1.0, 1.0], abs=1e-6)


def test_iterations_are_trials_or_accepted_steps() -> None:
    trials, steps = Valley(), Valley()
    assert run(trials, most=5).iterations == 5 == trials.tries
    found = run(steps, most=5, count_rejected=False)
    assert found.reason is Reason.ITERATIONS and len(found.values) == 6 and steps.tries > 5


def test_points_that_do_not_exist_are_rejected_and_the_damping_ends_the_loop() -> None:
    found = run(Valley(beyond=0.0), damping=Damping(most=1e8))
    assert found.reason is Reason.DAMPING and not found.converged
    assert np.array_equal(found.point, START)


def test_growth_accelerates_from_rejection_to_rejection() -> None:
    slow, fast = Valley(beyond=0.0), Valley(beyond=0.0)
    run(slow, damping=Damping(growth=4.0, most=1e8))
    run(fast, damping=Damping(growth=4.0, acceleration=2.0, most=1e8))
    assert fast.tries < slow.tries


def test_steps_that_keep_little_of_their_prediction_end_the_loop() -> None:
    assert run(Valley(), idle=(1e9, 3)).iterations >= 3
    assert run(Valley(), idle=(1e9, 3)).reason is Reason.IDLE


def test_a_share_of_the_prediction_may_be_required() -> None:
    strict = run(Valley(), share=0.9, close=1e-20, damping=Damping(most=1e8))
    ratios = -np.diff(strict.values)
    assert strict.converged and (ratios > 0).all()


def test_the_last_step_may_need_no_evaluation() -> None:
    problem = Valley()
    found = run(problem, finish=lambda x, step, ratio: x + step.change if step.length < 1e-6 else None)
    assert found.reason is Reason.CLOSE and found.point == pytest.approx([1.0, 1.0], abs=1e-5)


def test_a_first_point_without_a_value_is_reported() -> None:
    bad = minimise(Valley(), np.array([np.nan, 0.0]), Damping(), 5)
    assert bad.reason is Reason.DIVERGED and bad.iterations == 0


def test_progress_is_reported_and_an_interrupt_reaches_the_caller() -> None:
    seen: list[float] = []

    def report(fraction: float) -> None:
        seen.append(fraction)
        if len(seen) == 20:
            raise KeyboardInterrupt

    kept: list[np.ndarray] = []
    with pytest.raises(KeyboardInterrupt):
        run(Valley(), most=100, report=report, keep=kept.append)
    assert 1 <= len(kept) < 20 and Valley().value(kept[-1]) < Valley().value(START)
    assert seen[0] == 0.0 and seen[-1] < 1.0


@pytest.mark.parametrize(("ratio", "factor"), [(0.751, 0.1), (0.749, 1.0), (0.251, 1.0), (0.249, 4.0)])
def test_the_damping_follows_the_ratio_at_its_edges(ratio: float, factor: float) -> None:
    assert Damping(good=0.1, fair=1.0, poor=4.0).accept(1e-3, ratio) == pytest.approx(1e-3 * factor)


@pytest.mark.parametrize(("ratio", "factor"), [(0.76, 0.1), (0.74, 0.5), (0.26, 0.5), (0.24, 2.0)])
def test_damping_changes_with_the_ratio_of_actual_to_predicted_reduction(ratio: float, factor: float) -> None:
    assert Damping(good=0.1, fair=0.5, poor=2.0).accept(1.0, ratio) == factor
