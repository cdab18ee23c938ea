"""Poles that are dropped, at the edges of their thresholds."""

from __future__ import annotations

import pytest

from dalembert.identify import auto
from tests.helpers.decision_records import find_record


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
