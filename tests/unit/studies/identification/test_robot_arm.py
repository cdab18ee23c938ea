"""The study of a measured robot arm."""

from __future__ import annotations

from dalembert.studies.identification import robot_arm


def test_the_arm_has_two_light_resonances_and_is_reproduced_on_its_second_half():
    results = robot_arm.study().results
    assert len(results["frequencies_cycles_per_sample"]) == 2
    assert results["fit_percent"] > 95.0
