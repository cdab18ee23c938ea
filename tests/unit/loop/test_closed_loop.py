"""What a hurried user does to a loop: odd references, actuators, switches, weights; and loops that diverge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.control import close_loop, custom_law, lqr
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.linear import StateSpace
from tests.helpers.control_systems import lqg
from tests.helpers.findings import raises
from tests.helpers.loops import cart_pendulum, gain_law

DT = 0.05


def slider() -> StateSpace:
    return StateSpace([[0.0, 1.0], [0.0, -1.0]], [0, 1], [[1, 0]], states=["x", "v"], inputs="push", outputs="place")


def ramp(name: str = "place", end: float = 1.0) -> da.Record:
    return da.Record.from_channels([0.0, 0.3, end], {name: [0.0, 0.3, end]})


@pytest.mark.parametrize("dt", [None, DT], ids=["continuous", "sampled"])
@pytest.mark.parametrize("whole", [False, True], ids=["by name", "whole"])
@pytest.mark.parametrize("name", ["place", "place.reference"])
def test_a_record_with_times_of_its_own_is_followed(dt: float | None, whole: bool, name: str) -> None:
    """It runs straight between its samples, as a function of time would."""
    design = lqr(slider(), Q=1.0, R=1.0, dt=dt, tracking="place")
    given: Any = ramp(name) if whole else {"place": ramp(name)}
    run = da.simulate(slider(), 1.0, controller=design, references=given, every=DT)
    same = da.simulate(slider(), 1.0, controller=design, references={"place": lambda t: t}, every=DT)
    np.testing.assert_allclose(run["place.reference"], run.time, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run["x"], same["x"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("dt", [None, DT], ids=["continuous", "sampled"])
def test_a_record_that_ends_before_the_run_is_refused(dt: float | None) -> None:
    design = lqr(slider(), Q=1.0, R=1.0, dt=dt, tracking="place")
    with raises(DataError, "record-too-short", "1 s", "2 s"):
        da.simulate(slider(), 2.0, controller=design, references={"place": ramp()})


def test_a_record_without_any_reference_is_refused() -> None:
    """Before, it was left aside without a word."""
    design = lqr(slider(), Q=1.0, R=1.0, dt=DT, tracking="place")
    with raises(DataError, "missing-channel", "place.reference"):
        da.simulate(slider(), 1.0, controller=design, references=ramp("other"))


def test_a_continuous_law_on_a_linear_model_is_switched_on_between_samples() -> None:
    run = da.simulate(slider(), 0.5, controller=lqr(slider(), Q=1.0, R=1.0), start={"x": 1.0}, switch_on=0.13, every=DT)
    assert (run["push"][:3] == 0.0).all() and (run["push"][3:] < -0.5).all()
    assert run.statistics["events"][0]["time"] == pytest.approx(0.13, abs=1e-9)


def test_a_sampled_law_takes_over_at_the_first_sample_after_its_time() -> None:
    run = da.simulate(
        slider(), 0.5, controller=lqr(slider(), Q=1.0, R=1.0, dt=DT), start={"x": 1.0}, switch_on=0.13
    )  # fmt: skip
    assert (run["push"][:3] == 0.0).all() and (run["push"][3:] < -0.5).all()


@pytest.mark.parametrize("dt", [None, DT], ids=["continuous", "sampled"])
@pytest.mark.parametrize(
    ("actuators", "shown"),
    [({"push": 3.0}, "float"), ([3.0], "[3.0]"), (5.0, "5.0")],
)
def test_actuators_of_the_wrong_kind_are_refused(dt: float | None, actuators: Any, shown: str) -> None:
    with raises(DataError, "wrong-type", shown):
        da.simulate(slider(), 1.0, controller=lqr(slider(), Q=1.0, R=1.0, dt=dt), actuators=actuators)
    if dt is None:
        with raises(DataError, "wrong-type", shown):
            close_loop(cart_pendulum(), gain_law([1.0], ["encoder"], ["force"]), actuators=actuators)


def test_limits_that_are_no_numbers_are_refused() -> None:
    with raises(DataError, "wrong-shape"):
        da.ActuatorLimits(limits=np.nan)


@pytest.mark.parametrize("method", [None, da.RK4(step=0.01)], ids=["error control", "fixed step"])
def test_a_continuous_loop_that_diverges_is_reported_and_its_record_kept(method: Any) -> None:
    law = gain_law([-50.0, -50.0], ["x", "v"], ["push"])
    with raises(ConvergenceError, "diverged", "'v'") as caught:
        da.simulate(slider(), 100.0, controller=law, start={"x": 1.0}, method=method)
    record = caught.value.record
    assert 13.0 < record.time[-1] < 15.0 and np.isfinite(record.data).all()


def test_after_its_horizon_a_law_keeps_its_last_gain() -> None:
    design = lqr(slider(), Q=1.0, R=1.0, dt=0.1, horizon=1.0, Q_T=10.0)
    run = da.simulate(slider(), 2.0, controller=design, start={"x": 1.0})
    states = np.column_stack([run["x"], run["v"]])[11:20]
    np.testing.assert_allclose(run["push"][11:20], -(states @ design.schedule.gains[-1].T)[:, 0], rtol=0, atol=1e-12)


def test_delays_quanta_and_limits_together_are_known_to_the_observer() -> None:
    """The error of a predictor on its exact model is the observer's own, whatever stands between."""
    design = lqg(slider(), Q=10.0, R=0.1, Qn=1.0, Rn=0.1, dt=DT)
    between = da.ActuatorLimits(limits=0.7, rate=5.0, resolution=0.1, delay=0.1)
    law = design.law(start={"x": 1.0})
    run = da.simulate(slider(), 3.0, controller=law, start={"x": 1.0}, actuators={"push": between})
    after = np.column_stack([run[f"LQG.{name}.estimate"] for name in ("x", "v")])[:-1]  # of the next sample
    np.testing.assert_allclose(after, np.column_stack([run["x"], run["v"]])[1:], rtol=0, atol=1e-12)
    assert len(np.unique(run["push"].round(6))) > 5


def test_a_law_with_an_integral_of_its_own_winds_up_unless_it_reads_its_input() -> None:
    """What a custom law does behind limits is its own business; reading its input it can hold its memory."""

    def pi(s: Any) -> Any:
        error = s.reference("place") - s["place"]
        return 2.0 * error + s["sum"] - 2.0 * s["v"], {"sum": s["sum"] + DT * error}

    def wary(s: Any) -> Any:
        error = s.reference("place") - s["place"]
        full = da.where(abs(s["push"]) >= 1.0, 0.0, 1.0)
        return 2.0 * error + s["sum"] - 2.0 * s["v"], {"sum": s["sum"] + DT * error * full}

    tops = []
    for function in (pi, wary):
        law = custom_law("pi", function, "push", dt=DT, memory={"sum": 0.0})
        run = da.simulate(
            slider(),
            60.0,
            controller=law,
            references={"place": 10.0},
            actuators={"push": da.ActuatorLimits(limits=1.0)},
        )
        tops.append(run["place"].max())
    assert tops[0] > 15.0 > 11.0 > tops[1]


def test_a_law_that_is_not_defined_somewhere_is_named_with_its_input() -> None:
    law = custom_law("root", lambda s: -da.math.sqrt(s["x"]), "push", dt=DT)
    with raises(ConvergenceError, "diverged", "'root'", "push = nan") as caught:
        da.simulate(slider(), 20.0, controller=law, start={"x": 0.1})
    assert caught.value.record["x"][-1] > 0.0


def test_a_law_that_drives_nothing_is_refused() -> None:
    for drives in ([], ["push", "push"]):
        with raises(da.errors.ModelError, "empty"):
            custom_law("idle", lambda s: [0.0, 0.0], drives)


@pytest.mark.parametrize("method", [None, da.RK4(step=1e-3)], ids=["error control", "fixed step"])
def test_a_driver_beyond_its_reach_in_a_sampled_run_leaves_the_record_until_there(method: Any) -> None:
    """Two rods of 1 m, stretched by a driver: 2 m are reached after 0.5 s, in the middle of a block of samples."""
    m = da.Mechanism("toggle", planar=True)
    rods = [m.add_body(name, mass=1.0, inertia=0.1) for name in ("near", "far")]
    slide = m.add_body("slide", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), rods[0].at(-0.5, 0))
    m.add_revolute("B", rods[0].at(0.5, 0), rods[1].at(-0.5, 0))
    m.add_revolute("C", rods[1].at(0.5, 0), slide.at(0, 0))
    m.add_prismatic("rail", m.ground.at(0, 0), slide.at(0, 0), axis=(1, 0))
    m.add_driver("pull", "rail.displacement", lambda t: 1.5 + t)
    eqs = da.equations(m)
    noise = da.Noise(every=1e-3, seed=1)
    with pytest.raises(ConvergenceError) as caught:
        da.simulate(eqs, 1.0, start=da.assemble(eqs, guess={"A.angle": 0.7}), noise=noise, method=method)
    assert caught.value.code in ("joint-open", "no-convergence")  # with a fixed step, with error control
    record = caught.value.record
    assert record.time[-1] == pytest.approx(0.5, abs=2e-3) and record["residual.position"].max() < 1e-5
