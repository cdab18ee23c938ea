"""Every reference mechanism in joint coordinates: the other tests of this folder, with joint coordinates by default."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WORDS = ("Mechanism(", "read_model(", "machine")
BOTH = ("test_both_coordinates.py", "test_joint_coordinates.py", "test_library_verbs.py")  # compare the two themselves
ABSOLUTE = (
    "test_four_bar_observer.py",
)  # its benchmark reads coordinates of bodies by their place in a filter's state
FILES = [
    path.name
    for path in sorted(HERE.glob("test_*.py"))
    if path.name not in (*BOTH, *ABSOLUTE) and any(word in path.read_text("utf-8") for word in WORDS)
]
# tests that speak of absolute coordinates themselves
OTHERWISE = {
    "test_crank_rocker.py::test_p9_runge_kutta_reaches_the_errors_of_the_benchmark[0.005-0.001]":
        "the error of steps of 5 ms is 1.3 mm in joint coordinates, 0.7 mm in absolute ones",
    "test_filters_on_rotations.py::test_filters_of_a_body_on_a_ball_joint_are_error_state_filters_of_rotations":
        "states as arrays of the coordinates of the body",
    "test_filters_on_rotations.py::test_errors_of_a_projection_are_counted_in_the_freedoms_of_the_joints":
        "states as arrays of the coordinates of the body",
    "test_kinematic_observers.py::test_filters_neither_drift_nor_break_over_thirty_seconds":
        "gaps of a loop are roundings of one pose; here of a chain of them, 1.7e-14 instead of 1e-14",
    "test_rssr.py::test_a_torque_along_a_spin_without_inertia_is_still_refused":
        "the message names the speed of the body, here that of the joint",
    "test_spin_up.py::test_pieces_stiffen_the_beam_and_tend_to_the_stiffened_one":
        "speeds of pieces without those of their frames: 9 and 17",
    "test_tops.py::test_p7_heavy_top_is_where_the_published_solution_has_it[True]": "speeds as an array",
    "test_tops.py::test_symmetric_top_precesses_steadily_at_the_rate_of_the_closed_form": "speeds as an array",
    "test_tops.py::test_sleeping_top_stays_up_only_above_its_critical_spin": "speeds as an array",
    "test_two_stage_forces.py::test_both_filters_agree_within_three_percent_in_one_stage_too":
        "the study reads an acceleration by the number of a body's speed",
}  # fmt: skip


def test_the_tests_left_out_exist() -> None:
    for name in OTHERWISE:
        file, _, test = name.partition("::")
        assert f"def {test.partition('[')[0]}(" in (HERE / file).read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_a_reference_holds_in_joint_coordinates(file: str) -> None:
    left_out = [f"--deselect=tests/reference/{name}" for name in OTHERWISE if name.startswith(file)]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.helpers.joint_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "not slow", f"tests/reference/{file}", *left_out],
        cwd=HERE.parents[1], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 5), done.stdout[-4000:]  # 5: every test of the file is slow or left out
