"""The search for the parameters of a machine, at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.machine import search as search_module
from dalembert.identify.machine.search import Search, _Stage
from dalembert.numerics.least_squares import DampedStep


def bare(**parts: Any) -> Any:
    """A search with the given parts only."""
    one = object.__new__(Search)
    one.__dict__.update(parts)
    return one


def place(value: float) -> Any:
    return SimpleNamespace(at=SimpleNamespace(merit=lambda price: value))


@pytest.mark.parametrize(("change", "rounds"), [(0.99e-2, 1), (1.01e-2, 2)])
def test_noise_that_changes_by_a_hundredth_is_estimated_again(change: float, rounds: int) -> None:
    here = SimpleNamespace(chain=True)
    found = []

    def estimate_noise(here: Any) -> Any:
        found.append(here)
        if len(found) == 1:
            one.sigma = one.sigma * (1.0 + change)
        return here

    one = bare(
        shooter=SimpleNamespace(segments=SimpleNamespace(linked=np.array([False]))), x=None, p=None, sigma=np.ones(1),
        evaluate=lambda x, p: here, stage=lambda here, *rest, tolerance: (here, True), estimate_noise=estimate_noise,
        refine_steps=lambda here: (here, False),
    )  # fmt: skip
    assert one.run(SimpleNamespace(update=lambda done: None)) == "converged" and len(found) == rounds


def halve(monkeypatch: pytest.MonkeyPatch, R: FloatArray, rho: list[float]) -> tuple[bool, float]:
    """Whether the steps are halved, and their error, where halved steps move the estimate by R⁻¹ ρ."""
    m = len(rho)
    y = np.zeros((1, 2, 1))
    finer = SimpleNamespace(shoot=lambda x, p: (None, y))
    monkeypatch.setattr(search_module, "Shooter", lambda steps, segments: finer)
    monkeypatch.setattr(search_module, "replace", lambda chain, **parts: chain)
    monkeypatch.setattr(search_module, "reduce", lambda *parts: SimpleNamespace(R=R, rho=np.array(rho)))
    steps = SimpleNamespace(substeps=1, with_substeps=lambda count: None)
    one = bare(
        shooter=SimpleNamespace(steps=steps, segments=SimpleNamespace(linked=np.array([False]))), m=m, x=None, p=None,
        mask=np.ones((1, 2, 1), dtype=bool), sigma=np.ones(1), per_segment=1.0,
        damping_scales=lambda chain: (None, None), evaluate=lambda x, p: None,
    )  # fmt: skip
    shot = SimpleNamespace(slopes=np.zeros((1, 2, 1, m)), y=y, links=np.zeros((1, 0, m + 1)))
    return one.refine_steps(SimpleNamespace(chain=True, shot=shot))[1], one.step_error


@pytest.mark.parametrize(("move", "finer"), [(0.199, False), (0.201, True)])
def test_steps_that_move_the_estimate_by_a_fifth_of_its_deviation_are_halved(
    move: float, finer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert halve(monkeypatch, np.eye(1), [move]) == (finer, pytest.approx(move))


@pytest.mark.parametrize(("move", "finer"), [(0.99e-6, False), (1.01e-6, True)])
def test_steps_that_move_parameters_by_less_than_a_millionth_stay(
    move: float, finer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert halve(monkeypatch, np.array([[1e6]]), [1e6 * move]) == (finer, pytest.approx(1e6 * move * finer))


@pytest.mark.parametrize(("value", "counts"), [(0.9e-7, False), (1.1e-7, True)])
def test_directions_with_less_than_1e_7_of_the_largest_information_do_not_move(
    value: float, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = halve(monkeypatch, np.diag([1.0, value]), [0.0, value])[1]
    assert error == pytest.approx(counts * value / np.sqrt(2.0))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_parameter_changes_by_six_tenths_of_itself_in_one_iteration(sign: float) -> None:
    one = bare(
        p=np.array([sign * 2.0]), columns=[0], relative=np.array([True]), unit=np.array([2.0]),
        low=np.array([-np.inf]), high=np.array([np.inf]),
    )  # fmt: skip
    assert [side[0] for side in one.limit_step()] == pytest.approx([-0.6, 0.6])


@pytest.mark.parametrize(("error", "noise"), [(0.9e-9, 1e-9), (1.1e-9, 1.1e-9)])
def test_the_least_noise_of_an_output_is_a_billionth_of_its_spread(error: float, noise: float) -> None:
    one = bare(
        m=1, n=0, spread=np.ones(1), mask=np.ones((1, 10, 1), dtype=bool), target=np.zeros((1, 10, 1)),
        shooter=SimpleNamespace(segments=SimpleNamespace(linked=np.array([False]))), weigh=lambda shot: None,
    )  # fmt: skip
    one.estimate_noise(SimpleNamespace(shot=SimpleNamespace(y=np.full((1, 10, 1), error * np.sqrt(0.9)))))
    assert one.sigma[0] == pytest.approx(noise)


@pytest.mark.parametrize(("ratio", "settled"), [(0.099, False), (0.101, True)])
def test_a_last_step_gains_a_tenth_of_what_it_predicted(ratio: float, settled: bool) -> None:
    stage = _Stage(bare(), 1.0, 1e-3)
    step = DampedStep(None, 2.0**-20 / ratio)
    assert stage.is_settled(place(1.0 + 2.0**-20), place(1.0), step) == settled


@pytest.mark.parametrize(("part", "rounding"), [(0.99, True), (1.01, False)])
def test_a_gain_of_a_billionth_of_the_value_or_of_an_exact_one_is_rounding(part: float, rounding: bool) -> None:
    stage = _Stage(bare(), 1.0, 1e-3)
    assert stage.is_rounding(place(1e3), None, DampedStep(None, part * 1e-6)) == rounding
    assert stage.is_rounding(place(0.0), None, DampedStep(None, part * 1e-12)) == rounding
