"""Classes of modes at the edges of their thresholds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify import read_data, ssi_data
from dalembert.identify.auto import mode_classes
from dalembert.identify.auto.settled_poles import drop_modes
from tests.helpers.ambient_chain import ambient
from tests.helpers.identified_model import model


def test_a_model_without_one_of_its_modes_keeps_the_others() -> None:
    left = drop_modes(model(5.0, 9.0, 14.0), np.array([9.0]))
    assert left is not None
    assert np.allclose(left.frequencies_hz, [5.0, 14.0]) and np.allclose(left.damping_ratios, 0.01)
    assert drop_modes(model(5.0), np.array([5.0])) is None


def test_a_steady_sine_is_of_the_fit_only_without_inputs() -> None:
    data = read_data.quiet(ambient(19_200, sines={13.4: 5.0}))
    found = ssi_data.quiet(data, order=24)
    reasons = mode_classes._find_hard_reasons(found, found.underdamped_modes(), data, None)
    sine = int(np.argmin(np.abs(found.frequencies_hz - 13.4)))
    assert "machine" in reasons[sine]
    assert sum("machine" in own for own in reasons) == 1


def test_a_pole_speaks_for_one_mode_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two modes at nearly one frequency, of which models of other orders hold one."""
    given = model(5.0, 5.02, ratio=0.01)
    modes = given.underdamped_modes()
    poles = SimpleNamespace(
        order=np.array([4, 6]), s=np.repeat(modes.eigenvalues[1], 2), shapes=np.repeat(modes.shapes[:, 1:].T, 2, axis=0)
    )
    poles.shapes = poles.shapes / np.linalg.norm(poles.shapes, axis=1)[:, None]
    monkeypatch.setattr(mode_classes, "find_poles", lambda *_: poles)
    hankel = SimpleNamespace(rows=30, ny=len(modes.shapes), nu=0, scales=np.ones(len(modes.shapes)), columns=1000)
    projection: Any = SimpleNamespace(hankel=hankel, values=np.ones(6))
    assert mode_classes.find_shares(given, modes, projection).tolist() == [0.0, 1.0]
