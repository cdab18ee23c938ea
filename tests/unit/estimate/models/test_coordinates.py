"""Choice of independent coordinates at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.estimate.models import coordinates


def choose(monkeypatch, *shares: float) -> list[str]:
    """A joint j and a place p of a machine of one freedom: least over largest gradients along its motion."""
    monkeypatch.setattr(coordinates, "measure_candidate", lambda eqs, name: SimpleNamespace(name=name))
    monkeypatch.setattr(coordinates, "turn_candidates", lambda *parts, **more: [])
    monkeypatch.setattr(coordinates, "_poses", lambda *parts: [0, 1])
    views = [np.ones((len(shares), 1)), np.array(shares)[:, None]]
    monkeypatch.setattr(coordinates, "_gradients", lambda eqs, q, t, candidates: views[q])
    eqs = SimpleNamespace(positions=("p",)[: len(shares) - 1], recorded_measures=("j",))
    chart = SimpleNamespace(x=SimpleNamespace(t=0.0), positions=(SimpleNamespace(name="first"),))
    return coordinates.choose_coordinates(eqs, chart)


@pytest.mark.parametrize(("share", "chosen"), [(0.05, "p"), (0.2, "j")])
def test_a_joint_that_keeps_a_tenth_of_its_gradient_is_preferred(share, chosen, monkeypatch):
    assert choose(monkeypatch, share, 1.0) == [chosen]


@pytest.mark.parametrize(("share", "chosen"), [(3e-7, "first"), (3e-6, "j")])
def test_a_coordinate_that_keeps_a_millionth_is_independent(share, chosen, monkeypatch):
    assert choose(monkeypatch, share) == [chosen]
