"""The three-storey rig controlled: LQG through its pendulum, servo-constraints, and these on an estimate.

Spec 000, items 78 to 82, AT-6 to AT-9; what is printed and what the spec recomputed are kept apart.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.studies.three_storey import control, rig
from dalembert.studies.three_storey import euk as servo

F_PRINTED = [-3.0331, -0.4309, 7.4299, 0.0584, -0.2140, -0.4318, 1.3853, -0.0068]
F_SPEC = [-3.0366, -0.4252, 7.4262, 0.0584, -0.2140, -0.4318, 1.3853, -0.0068]
K_PRINTED = [
    [-0.0008, -0.0008, -0.0014, 0.0023], [-0.0013, -0.0019, -0.0038, 0.0069],
    [-0.0013, -0.0022, -0.0043, 0.0084], [-0.0000, -0.0003, -0.0037, 0.6372],
    [0.0246, 0.0018, -0.0001, 0.0444], [0.0029, 0.0210, 0.0057, 0.1229],
    [-0.0001, 0.0033, 0.0257, 0.1433], [-0.0019, -0.0312, -0.2077, -0.6372],
]  # fmt: skip


@pytest.fixture(scope="module")
def plant() -> da.StateSpace:
    return control.model(control.printed_structure(), control.hinge_reading())


@pytest.mark.spec("000-T6", "000-81")
def test_the_gains_of_the_study_are_those_of_the_source(plant: da.StateSpace) -> None:
    """L within 1e-4 of the print, K within half a unit of the spec's digits and 0.01 of the print."""
    made = control.design(plant)
    assert np.abs(made.L - K_PRINTED).max() < 1e-4
    assert np.abs(-made.K[0] - F_SPEC).max() < 5.5e-5
    assert np.abs(-made.K[0] - F_PRINTED).max() < 0.01


@pytest.mark.spec("000-81")
def test_the_open_loop_and_the_feedthrough_are_those_of_the_spec(plant: da.StateSpace) -> None:
    """1.367, 1.972, 5.679, 8.808 Hz; 0.131, 0.074, 0.0093, 0.0014; D of both inputs (half a unit of the last digit)."""
    modes = plant.modes()
    assert np.abs(modes.frequencies_hz - [1.367, 1.972, 5.679, 8.808]).max() < 5e-4
    assert np.abs(modes.damping_ratios - [0.131, 0.074, 0.0093, 0.0014]).max() < 5e-4
    assert np.abs(plant.D[:, 0] - [2.5895, 0.1548, 0.0053, 0.0]).max() < 5.1e-5
    assert np.abs(plant.D[:, 1] - [-0.0436, -2.5277, -20.490, 0.0]).max() < 5.1e-4


@pytest.mark.spec("000-T7", "000-82", "000-73")
def test_over_thirty_seeds_the_reductions_are_those_of_the_spec() -> None:
    """Means 65.6 65.6 55.0 71.5 76.1 65.2 of 60 seeds, deviation about 8: two means of 30 and 60 differ by less than
    three times 10 √(1/30 + 1/60) = 7; the printed run lies within 15 points."""
    found = control.loop(control.printed_structure(), control.hinge_reading(), 30)
    assert np.abs(found.mean - control.RECOMPUTED_REDUCTION).max() < 7.0
    assert np.abs(found.mean - control.PRINTED_REDUCTION).max() < 15.0
    assert found.deviation.min() > 5.0 and found.deviation.max() < 13.0
    assert np.abs(found.quiet - 90.0).max() < 3.0  # about 90 % for all six without noise


@pytest.mark.spec("000-82")
def test_before_the_switch_nothing_is_driven_and_the_filter_already_runs(plant: da.StateSpace) -> None:
    run = control.run(plant, control.design(plant), 0)
    assert not run.between(0.0, 24.9)["torque"].any()
    assert run.between(25.0, 50.0)["torque"].any()


@pytest.mark.spec("000-T8", "000-75", "000-78")
def test_with_a_torque_on_the_pendulum_the_top_floor_is_frozen() -> None:
    """On at 0.5009 s; -0.742 rad, -8.63 rad/s and 0.207 N m at 0.7 s (the spec's run drifts by 7e-7 m at 1e-4 s)."""
    held = servo.hold_floor("torque")
    assert abs(held.on - 0.5009) < 5e-5
    assert abs(held.run["hinge.angle"][-1] + 0.742) < 1e-3
    assert abs(held.run["hinge.rate"][-1] + 8.63) < 1e-2
    assert abs(abs(held.run["torque"][-1]) - 0.207) < 1e-3
    frozen = held.run.between(held.on + 1e-9, None)
    assert np.ptp(frozen["floor3.x"]) < 1e-10
    assert held.residual < 1e-12
    assert held.report.singular_at is None


@pytest.mark.spec("000-T8", "000-75")
def test_with_a_force_on_the_top_floor_it_stands_and_the_others_calm_down() -> None:
    """Noise-free exact start: about 70-72, 66-69, 91-96; 71-73, 63-66, 100; force peak 1.5 to 2.5 N. The windows of
    the spec are not given to the sample, so half a point and more for x3, which is frozen where it rested."""
    held = servo.hold_floor("push")
    found = control.reduction(held.run, servo.MEASURED)
    assert np.all(found > [69.0, 65.0, 89.0, 70.0, 62.0, 99.9])
    assert np.all(found < [73.0, 70.0, 97.0, 74.0, 68.5, 100.1])
    assert 1.5 < np.abs(held.run["push"]).max() < 2.5
    assert held.residual < 1e-12


@pytest.mark.slow
@pytest.mark.spec("000-T9", "000-77", "000-76")
def test_on_an_estimate_the_trend_is_that_of_the_source() -> None:
    """Acceptance of AT-9: x3' > 98 %, x1', x2' 60 to 75 %, x3 > 85 %, estimates better than 1e-3 after a second."""
    found = servo.hold_on_estimate()
    x1, x2, x3, v1, v2, v3 = found.reductions
    assert v3 > 98.0 and x3 > 85.0
    assert 60.0 < v1 < 75.0 and 60.0 < v2 < 75.0
    assert x1 > 60.0 and x2 > 50.0
    assert found.errors[:3].max() < 1e-3


@pytest.mark.spec("000-79", "000-T1", "000-78")
def test_the_lumped_machine_has_the_printed_modes() -> None:
    """1.09961, 1.98459, 5.79019, 8.82485 Hz; without the pendulum 2.00111, 5.80499, 8.85206 Hz."""
    with_it = rig.linearize_rig(pendulum=rig.Pendulum(damping=0.0)).modes().frequencies_hz
    assert np.abs(with_it - [1.09961, 1.98459, 5.79019, 8.82485]).max() < 6e-6
    assert np.abs(rig.linearize_rig().modes().frequencies_hz - [2.00111, 5.80499, 8.85206]).max() < 6e-6


@pytest.mark.spec("000-80", "000-T2")
@pytest.mark.parametrize(
    ("lengths", "expected"),
    [(rig.STATED, [1.0995, 1.9115, 5.5743, 8.4802]), (rig.FITTED, [1.0997, 1.9441, 5.7268, 8.6784])],
)
def test_the_frame_of_the_study_is_that_of_the_spec(lengths: tuple, expected: list) -> None:
    system = rig.frame(lengths, 40).system()
    found = rig.with_pendulum(system, rig.Pendulum(damping=0.0), "floor3.x").modes().frequencies_hz[:4]
    assert np.abs(found - expected).max() < 6e-5
