"""Feed-forward of a smooth motion: it satisfies the equations of the whole machine to its order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises
from tests.helpers.stiff_machines import elastic_joint, flexible_arm

BENDS = ["bend0", "bend1", "bend2", "bend3"]
TIMES = np.linspace(0.0, 1.0, 41)


def smooth(t: Any) -> Any:
    """From 0 to 1 with four derivatives zero at both ends."""
    return t**5 * (126 - 420 * t + 540 * t**2 - 315 * t**3 + 70 * t**4)


def quintic(t: Any) -> Any:
    return t**3 * (10 - 15 * t + 6 * t**2)


MOTION = {"first.angle": smooth, "second.angle": lambda t: -0.8 * smooth(t)}


@pytest.fixture(scope="module")
def arm() -> da.EquationsOfMotion:
    return flexible_arm()


def imbalance(eqs: da.EquationsOfMotion, record: da.Record) -> float:
    """Largest M v̇ - F of the whole machine along a record."""
    q, v = (np.column_stack([record[name] for name in group.names]) for group in (eqs.coordinates, eqs.speeds))
    a = np.column_stack([record[name.replace(".rate", ".acceleration")] for name in eqs.speeds.names])
    u = np.column_stack([record[name] for name in eqs.inputs.names])
    time = record.time.reshape(-1, 1)
    (M,) = eqs.kernel("inertia").many(q, eqs.p, time)
    (F,) = eqs.kernel("forces").many(q, v, np.zeros((len(q), 0)), u, eqs.p, time, np.zeros((len(q), 0)))
    return float(np.abs(np.einsum("nij,nj->ni", M, a) - F).max())


@pytest.mark.parametrize(("order", "power"), [(0, 2), (2, 4)])
def test_the_whole_machine_is_out_of_balance_by_the_next_order_only(
    arm: da.EquationsOfMotion, order: int, power: int
) -> None:
    errors = []
    for factor in (100.0, 400.0, 1600.0):
        two = da.separate_scales(arm.replace(stiffness=factor), BENDS, order=order)
        errors.append(imbalance(two.eqs, two.feed_forward(MOTION, times=TIMES)))
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0**power, rtol=0.1)


def test_a_record_of_the_motion_gives_what_its_functions_give(arm: da.EquationsOfMotion) -> None:
    """Splines of degree five through 401 samples: derivatives of order 2 of exact accelerations, to 1e-5."""
    two = da.separate_scales(arm.replace(stiffness=100.0), BENDS)
    times = np.linspace(0, 1, 401)
    exact = two.feed_forward(MOTION, times=times)
    names = [n for j in ("first", "second") for n in (f"{j}.angle", f"{j}.angle.rate", f"{j}.angle.acceleration")]
    again = two.feed_forward(exact.select(*names))
    for name in ("torque1", "torque2", "bend0"):
        np.testing.assert_allclose(again[name], exact[name], atol=1e-5 * np.abs(exact[name]).max())


def test_an_elastic_joint_is_driven_exactly_to_its_order() -> None:
    """u = J θ̈ + J_l δ̈ with δ = -J_l/k (θ̈ + δ̈): by order -J_l/k θ̈ and (J_l/k)² θ⁗, of θ = sin 2t."""
    two = da.separate_scales(elastic_joint(), "twist")
    record = two.feed_forward({"angle": lambda t: da.sin(2 * t)}, times=TIMES)
    a = -4 * np.sin(2 * TIMES)
    np.testing.assert_allclose(record["twist"], -0.5 / 400 * a + (0.5 / 400) ** 2 * (-4 * a), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(record["torque"], 1.5 * a + 0.5 * (-0.5 / 400 * -4 * a), rtol=1e-10, atol=1e-13)


def test_a_motion_whose_jerk_jumps_is_refused_where_it_is_needed(arm: da.EquationsOfMotion) -> None:
    motion = {"first.angle": quintic, "second.angle": lambda t: 0.0 * t}
    two = da.separate_scales(arm, BENDS)
    with raises(da.errors.ModelError, "needs-derivative") as refused:
        two.feed_forward(motion, times=TIMES)
    assert refused.value.where == {"coordinate": "first.angle", "time": 0.0}
    later = {"first.angle": lambda t: da.where(t < 0.5, 0.0, quintic(t - 0.5)), "second.angle": lambda t: 0.0 * t}
    with raises(da.errors.ModelError, "needs-derivative") as inside:
        two.feed_forward(later, times=TIMES)
    assert inside.value.where["time"] == pytest.approx(0.5, abs=0.03)
    da.separate_scales(arm, BENDS, order=0).feed_forward(motion, times=TIMES)


def test_wrong_motions_are_refused_by_name(arm: da.EquationsOfMotion) -> None:
    two = da.separate_scales(arm, BENDS)
    with raises(da.errors.ModelError, "free-to-move"):
        two.feed_forward({"first.angle": smooth}, times=TIMES)
    with raises(da.errors.DataError, "missing-argument"):
        two.feed_forward(MOTION)
    with raises(da.errors.ModelError, "unknown-name"):
        two.feed_forward({**MOTION, "third": smooth}, times=TIMES)
