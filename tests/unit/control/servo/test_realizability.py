"""Servo-constraints near singular poses: the singularity margin, and the end of a run at a singular pose."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import Realizability, VirtualConstraint, udwadia_kalaba
from dalembert.core.errors import ConvergenceError
from tests.helpers.findings import raises, warns


def crank(*, brake: bool = False) -> da.EquationsOfMotion:
    """A wheel on a motor; its rim goes round."""
    m = da.Mechanism("wheel", planar=True, gravity=0.0)
    wheel = m.add_body("wheel", mass=1.0, inertia=0.5)
    m.add_revolute("hub", m.ground.at(0, 0), wheel.at(0, 0))
    m.add_actuator("motor", joint="hub", input="torque")
    if brake:
        m.add_actuator("brake", joint="hub", input="brake")
    return da.equations(m)


def rim(rise: float) -> VirtualConstraint:
    """The height of the rim grows by ``rise`` metres a second: beyond 1 m it cannot."""
    return VirtualConstraint(lambda s: da.sin(s["hub.angle"]) - rise * s.t)


def lifted(**options: object) -> da.Record:
    eqs = crank()
    law = udwadia_kalaba(eqs, {"rim": rim(1.0)}, dt=options.pop("dt", None))
    start = da.assemble(eqs, {"hub.angle": 0.0}, velocity={"hub.angle": 1.0})
    return da.simulate(eqs, 2.0, start=start, controller=law, every=0.01, **options)


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [({}, 2e-6), ({"method": da.RK4(step=1e-3)}, 1e-3), ({"dt": 1e-3, "method": da.RK4(step=1e-3)}, 5e-3)],
    ids=["error control", "fixed step", "sampled"],
)
def test_a_run_ends_where_the_inputs_become_singular(options: dict, tolerance: float) -> None:
    """sin φ = t has no solution after 1 s, where the rim is at its top: J = cos φ / I is zero there."""
    shown = (
        "'servo-constraints'",
        "torque cannot keep 'rim'",
        "hub.angle=1.5",
        "∂φ/∂q",
        "N m",
    )
    with raises(ConvergenceError, "singular-law", *shown) as caught:
        lifted(**options)
    assert abs(caught.value.where["time"] - 1.0) < tolerance
    record = caught.value.record
    assert record.time[-1] == pytest.approx(1.0, abs=0.02)
    assert np.abs(np.sin(record["hub.angle"]) - record.time).max() < 2e-3


@pytest.mark.parametrize("method", [da.Sundials(), da.GeneralizedAlpha(step=1e-3)], ids=["sundials", "alpha"])
def test_a_method_that_gives_up_before_reports_the_cause_too(method: object) -> None:
    """SUNDIALS soon: it does not try steps that no longer move it."""
    with raises(ConvergenceError, "singular-law", "torque", "'rim'") as caught:
        lifted(method=method)
    assert caught.value.record.time[-1] == pytest.approx(1.0, abs=0.02)


def test_a_limited_input_is_driven_through_a_singular_pose() -> None:
    run = lifted(actuators={"torque": da.ActuatorLimits(limits=5.0)})
    assert run.status == "complete" and run["hub.angle"].max() > np.pi / 2


@pytest.mark.parametrize("dt", [None, 0.01], ids=["continuous", "sampled"])
def test_a_singular_pose_where_nothing_is_to_be_done_is_passed(dt: float | None) -> None:
    """A jet on a spinning disc holds its cart, which stands: it points across twice a turn, and is not needed."""
    m = da.Mechanism("jet", planar=True, gravity=0.0)
    cart, disc = m.add_body("cart", mass=1.0, inertia=1.0), m.add_body("disc", mass=1.0, inertia=0.5)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0), axis=(1, 0))
    m.add_revolute("hub", cart.at(0, 0), disc.at(0, 0))
    m.add_force("jet", disc.at(0, 0), (1, 0), input="jet", axes="body")
    eqs = da.equations(m)
    law = udwadia_kalaba(eqs, {"cart": "rail.displacement"}, dt=dt)
    start = da.assemble(eqs, {"hub.angle": 0.1}, velocity={"hub.angle": 1.0, "rail.displacement": 0.0})
    run = da.simulate(eqs, 6.0, start=start, controller=law, every=0.1, method=da.RK4(step=0.01))
    assert run.status == "complete" and np.abs(run["rail.displacement"]).max() < 1e-9


@pytest.mark.parametrize("dt", [None, 1e-3], ids=["continuous", "sampled"])
def test_an_event_before_the_failure_stops_the_run(dt: float | None) -> None:
    """It lies in the same block of native steps as what comes after it."""
    high = da.Event("high", lambda s: s["hub.angle"] - 1.4)
    run = lifted(dt=dt, method=da.RK4(step=1e-3), events=high)
    assert "stopped by event 'high'" in run.status
    assert run.time[-1] == pytest.approx(np.sin(1.4), abs=2e-3)


def test_grip_is_the_cosine_between_what_is_wanted_and_what_the_inputs_give() -> None:
    """Two equal masses, one pushed: the pushed one straight, the other not at all, their sum at 45 degrees."""
    m = da.Mechanism("two carts", planar=True)
    carts = [m.add_body(f"cart{k}", mass=2.0, inertia=1.0) for k in range(2)]
    for k, cart in enumerate(carts):
        m.add_prismatic(f"rail{k}", m.ground.at(0, k), cart.at(0, 0), axis=(1, 0))
    m.add_actuator("push", joint="rail0", input="force")
    eqs = da.equations(m)
    still = da.simulate(eqs, 0.1, every=0.1, controller=None)
    wanted = {"own": lambda s: 3.0 * s["rail0.displacement"],
              "sum": lambda s: s["rail0.displacement"] + s["rail1.displacement"]}  # fmt: skip
    for name, cosine in (("own", 1.0), ("sum", np.sqrt(0.5))):
        report = udwadia_kalaba(eqs, {name: wanted[name]}).examine(still)
        assert report.singularity_margin == pytest.approx(np.full(2, cosine), abs=1e-9)
        assert report.condition == pytest.approx(np.ones(2), rel=1e-9)


def test_a_machine_with_as_many_inputs_as_freedoms_has_full_grip_at_every_pose() -> None:
    """Whatever the constraints, as long as they are independent: here two of a closed and an open chain."""
    m = da.Mechanism("arm", planar=True)
    upper, lower = m.add_body("upper", mass=2.0, inertia=0.2), m.add_body("lower", mass=1.0, inertia=0.1)
    m.add_revolute("S", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("E", upper.at(0.5, 0), lower.at(-0.5, 0))
    m.add_actuator("shoulder", joint="S", input="ts")
    m.add_actuator("elbow", joint="E", input="te")
    eqs = da.equations(m)
    run = da.simulate(eqs, 0.5, start=da.assemble(eqs, {"E.angle": 1.0}), every=0.1)
    for wanted in ({"a": "S.angle", "b": "E.angle"}, {"tip": lambda s: da.sin(s["S.angle"] + s["E.angle"])}):
        assert udwadia_kalaba(eqs, wanted).examine(run).singularity_margin == pytest.approx(np.ones(6), abs=1e-6)


def test_examine_reports_required_inputs_and_warns() -> None:
    eqs = crank()
    law = udwadia_kalaba(eqs, {"rim": rim(1.0)})
    run = lifted(events=da.Event("high", lambda s: s["hub.angle"] - 1.55))
    with warns(UserWarning, "out-of-range") as caught:
        report = law.examine(run)
    assert "% of its largest value" in str(caught[0].message)
    assert report.peaks[0] == pytest.approx(np.abs(run["torque"]).max(), rel=1e-9)
    # φ̈ = sin φ φ̇² / cos φ with φ̇ = 1 / cos φ, times I = 0.5
    assert report.peaks[0] == pytest.approx(0.5 * np.sin(1.55) / np.cos(1.55) ** 3, rel=1e-3)
    assert "required peak" in report.table() and "N m" in report.table()


def test_examine_reports_the_time_of_a_singular_pose() -> None:
    law = udwadia_kalaba(crank(), {"rim": rim(1.0)})
    run = lifted(actuators={"torque": da.ActuatorLimits(limits=5.0)})
    passed = float(run.time[np.argmax(run["hub.angle"] > np.pi / 2)])
    with warns(UserWarning, "singular-pose"):
        assert law.examine(run).singular_at == pytest.approx(passed, abs=1e-12)


def test_more_inputs_than_constraints_become_singular_together() -> None:
    eqs = crank(brake=True)
    law = udwadia_kalaba(eqs, {"rim": rim(1.0)})
    start = da.assemble(eqs, {"hub.angle": 0.0}, velocity={"hub.angle": 1.0})
    with raises(ConvergenceError, "singular-law", "torque, brake", "'rim'") as caught:
        da.simulate(eqs, 2.0, start=start, controller=law, every=0.01)
    assert 0.99 <= caught.value.where["time"] <= 1.0


def report(*, margin: float = 1.0, gain: float = 1.0, effort: float = 1.0) -> Realizability:
    """Ten samples of one constraint and one input; the last one has these values, the others 1."""
    ones = np.ones(10)
    last = np.eye(10)[-1]
    return Realizability(
        constraints=("c",), actuated=("u",), units=("N",), time=np.arange(10.0), sign=ones,
        singularity_margin=ones + (margin - 1.0) * last, input_gains=(ones + (gain - 1.0) * last)[:, None],
        inputs=ones[:, None], effort=ones + (effort - 1.0) * last, residual=np.zeros((10, 1)),
    )  # fmt: skip
