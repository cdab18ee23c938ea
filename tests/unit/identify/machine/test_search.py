"""The search for the parameters of a machine, at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.machine import search as search_module
from dalembert.identify.machine.search import Search


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
