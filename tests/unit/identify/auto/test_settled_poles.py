"""Poles that are dropped, at the edges of their thresholds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from dalembert.identify import auto
from dalembert.identify.auto.settled_poles import drop_modes, find_endless, is_determined
from tests.helpers.decision_records import find_record


@pytest.mark.parametrize(("off", "dropped"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_mode_is_dropped_where_its_frequency_agrees_to_a_billionth(off: float, dropped: bool) -> None:
    # real poles e⁻¹ and e⁻² of a sample: 1/2π and 2/2π of its rate; where one is dropped a system of one state follows
    made: list[Any] = []
    system = SimpleNamespace(
        A=np.diag(np.exp([-1.0, -2.0])), B=np.ones((2, 1)), C=np.ones((1, 2)), D=np.zeros((1, 1)),
        replace=lambda **parts: made.append(parts["A"]) or SimpleNamespace(**parts),
    )  # fmt: skip
    model: Any = SimpleNamespace(system=system, dt=1.0, gain=None, findings=(), replace=lambda **parts: model)
    drop_modes(model, np.array([(1.0 + off) / (2.0 * np.pi)]))
    assert [A.shape for A in made] == [(1, 1)] * dropped


@pytest.mark.parametrize(("decay", "endless"), [(0.099, True), (0.101, False)])
def test_a_tone_that_loses_a_tenth_of_a_neper_in_the_record_does_not_decay(decay: float, endless: bool) -> None:
    modes = SimpleNamespace(eigenvalues=np.array([-decay / 100.0 + 1j]), frequencies_hz=np.array([1.0]))
    model: Any = SimpleNamespace(underdamped_modes=lambda: modes, dt=0.1)
    assert bool(len(find_endless(model, 1000))) is endless


@pytest.mark.parametrize(("condition", "determined"), [(0.9e6, True), (1.1e6, False), (np.inf, False)])
def test_a_model_is_determined_below_a_condition_of_a_million(condition: float, determined: bool) -> None:
    assert is_determined(cast("Any", SimpleNamespace(provenance={"condition": condition}))) is determined


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dalembert.identify.IdentificationWarning")
def test_an_order_that_a_slow_sweep_does_not_determine_is_said_to_be_so() -> None:
    """The order of the data's own choice is determined, without a sound mode: the sweep passed one band only."""
    test = find_record("hysteresis, sweep")
    asked, chosen = (auto(test.record, test.inputs, test.outputs, order=order) for order in (20, None))
    assert "undetermined-model" in [finding.code for finding in asked.findings]
    assert asked.identified.frequency_deviations_hz is None
    assert "undetermined-model" not in [finding.code for finding in chosen.findings]
    assert chosen.identified.frequency_deviations_hz is not None
    assert "no-sound-mode" in [finding.code for finding in chosen.findings]
