"""Judgement of modes over set-ups."""

from __future__ import annotations

from dalembert.identify.setups.setup_classes import find_common_sines
from dalembert.identify.spectral.machine_harmonics import MachineHarmonic


def test_a_sine_of_half_the_set_ups_is_one_and_of_fewer_is_chance() -> None:
    weak, strong = MachineHarmonic(4.68, 2.06), MachineHarmonic(25.0, 1.5)
    assert find_common_sines([{2: weak, 5: strong}, {}, {5: strong}, {}]) == {5: strong}
    assert find_common_sines([]) == {}
