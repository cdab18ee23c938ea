"""The package's own filters and laws inside simulate: the contract between rooms, and C from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.files.export.c_export import export_c
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.noise import Noise
from tests.helpers.c_code import CC, sound
from tests.helpers.control_systems import lqg
from tests.helpers.loops import cart_pendulum

DT = 0.02
WEIGHTS: Any = {"Q": np.diag([4.0, 1.0, 1.0, 1.0]), "R": 1.0, "inputs": "force"}


@pytest.fixture(scope="module")
def cart() -> da.EquationsOfMotion:
    return cart_pendulum()


@pytest.fixture(scope="module")
def model(cart: da.EquationsOfMotion) -> da.StateSpace:
    """The cart linearised with the rod upright; it knows the force only."""
    lin = da.linearize(cart, at=da.assemble(cart, {"hinge.angle": 0.0})).state_space()
    return lin.replace(B=lin.B[:, :1], D=lin.D[:2, :1], C=lin.C[:2], inputs=["force"], outputs=["encoder", "slide"])


@pytest.fixture(scope="module")
def start(cart: da.EquationsOfMotion) -> State:
    return da.assemble(cart, {"hinge.angle": 0.1})


def test_a_regulator_holds_the_rod_upright_sampled_and_continuous(cart: Any, model: Any, start: Any) -> None:
    for law in (da.control.lqr(model, **WEIGHTS), da.control.lqr(model.to_discrete(DT), **WEIGHTS)):
        run = da.simulate(cart, 8.0, start=start, controller=law)
        assert np.abs(run["hinge.angle"][-1]) < 1e-3 and np.abs(run["rail.displacement"][-1]) < 1e-2


@pytest.mark.spec("000-74")
def test_regulator_and_filter_apart_make_the_same_run_as_lqg(model: Any) -> None:
    """The current form of LQG is a Kalman filter as observer and a regulator on its estimate."""
    plant = model.to_discrete(DT)
    noise = Noise(process=dict.fromkeys(plant.states, 1e-3), sensors=dict.fromkeys(plant.outputs, 1e-2), seed=1)
    options: Any = {"start": [0.0, 0.1, 0.0, 0.0], "noise": noise}
    design = lqg(plant, Q=WEIGHTS["Q"], R=1.0, Qn=1e-6, Rn=1e-4, form="current")
    together = da.simulate(plant, 4.0, controller=design, **options)
    kalman = da.estimate.Kalman(plant, Q=1e-6, R=1e-4, form="steady")
    law = da.control.lqr(plant, Q=WEIGHTS["Q"], R=1.0)
    apart = da.simulate(plant, 4.0, controller=law, observer=kalman, **options)
    assert np.abs(together["hinge.angle"] - apart["hinge.angle"]).max() < 1e-9
    assert np.abs(together["force"] - apart["force"]).max() < 1e-7


def test_an_extended_kalman_filter_serves_a_regulator(cart: Any, model: Any, start: Any) -> None:
    ekf = da.estimate.ExtendedKalman(cart, outputs=["encoder", "slide"], inputs=["force"], Q=1e-6, R=1e-4, start=None)
    noise = Noise(sensors={"encoder": da.estimate.Encoder(2000), "slide": 1e-3}, process={"gust": 0.02}, seed=1)
    law = da.control.lqr(model.to_discrete(DT), **WEIGHTS)
    run = da.simulate(
        cart,
        6.0,
        start=start,
        controller=law,
        observer=ekf,
        noise=noise,
        actuators={"force": ActuatorLimits(limits=6.0)},
    )
    late = run.time > 3.0
    error = run["estimate.hinge.angle"] - run["hinge.angle"]
    assert np.abs(run["hinge.angle"][late]).max() < 0.05
    assert error[late].std() < (run["measured.encoder"] - run["hinge.angle"])[late].std()
    assert np.abs(run["force"]).max() <= 6.0


@pytest.mark.spec("000-72")
def test_kalman_bucy_and_a_continuous_regulator_run_inside_the_equations(cart: Any, model: Any, start: Any) -> None:
    bucy = da.estimate.KalmanBucy(model, Q=1e-3, R=1e-4)
    run = da.simulate(cart, 6.0, start=start, controller=da.control.lqr(model, **WEIGHTS), observer=bucy)
    assert np.abs(run["hinge.angle"][-1]) < 5e-3
    assert np.abs(run["estimate.hinge.angle"][-1] - run["hinge.angle"][-1]) < 1e-3


def test_a_step_whose_stages_overflow_is_tried_again_shorter() -> None:
    # Ṗ = -P² / R from P0 = 1 leaves finite numbers within one first step: the estimate of order 3 was infinite, and
    # damped that of order 5 to zero
    plant = da.StateSpace([[0, 1], [-4, -0.1]], [0, 1], [[1, 0]], inputs="u", outputs="y", states=["x", "v"])
    law = da.control.lqr(plant, Q=1.0, R=1.0)
    loops = [
        da.simulate(plant, 5.0, start={"x": 1.0}, controller=law, observer=bucy, method=method, progress=False)
        for bucy in [da.estimate.KalmanBucy(plant, Q=1.0, R=1e-8, P0=1.0)]
        for method in (da.DormandPrince(), da.Rosenbrock())
    ]
    assert loops[0]["x"][-1] == pytest.approx(loops[1]["x"][-1], abs=1e-8)


def test_servo_constraints_hold_from_a_rest_on(cart: Any) -> None:
    """Trap T-23: the cart is held at acceleration level from a zero of its speed on, so it stays."""
    law = da.control.udwadia_kalaba(cart, {"cart": "rail.displacement"}, actuated="force")
    still = da.Event("cart at rest", lambda s: s["rail.speed"])
    start = da.assemble(cart, {"hinge.angle": 2.5})
    run = da.simulate(cart, 4.0, start=start, controller=law, switch_on=(1.0, still), every=0.01)
    (event,) = run.statistics["events"]
    after = run.time > event["time"]
    assert np.ptp(run["rail.displacement"][after]) < 1e-8 < np.ptp(run["rail.displacement"][~after])


@pytest.mark.slow
@pytest.mark.skipif(CC is None, reason="no C compiler on this machine")
def test_filters_and_laws_go_to_c(cart: Any, model: Any, tmp_path: Path) -> None:
    plant = model.to_discrete(DT)
    design = lqg(plant, Q=WEIGHTS["Q"], R=1.0, Qn=1e-6, Rn=1e-4)
    sound(export_c(design, tmp_path / "lqg"))
    sound(export_c(da.control.lqr(plant, **WEIGHTS), tmp_path / "lqr", real="float"))
    ekf = da.estimate.ExtendedKalman(cart, outputs=["encoder", "slide"], inputs=["force"], Q=1e-6, R=1e-4)
    law = da.control.lqr(plant, **WEIGHTS)
    begin = da.assemble(cart, {"hinge.angle": 0.1})
    run = da.simulate(cart, 1.0, start=begin, controller=law, observer=ekf)
    sound(export_c(ekf, tmp_path / "ekf", dt=DT, example=run))


def test_a_continuous_gain_behind_a_sampled_filter_acts_at_its_samples(cart: Any, model: Any, start: Any) -> None:
    law = da.control.lqr(model, Q=1.0, R=0.1)
    filter_ = da.estimate.ExtendedKalman(cart, Q=1e-6, R=1e-6, P0=1e-2)
    noise = Noise(sensors={cart.outputs.names[0]: 1e-4}, seed=1, every=0.01)
    run = da.simulate(cart, 1.0, start=start, controller=law, observer=filter_, noise=noise, progress=False)
    assert run.time[1] == pytest.approx(0.01)
    read = [f"estimate.{name}" for name in law.law().reads]
    held = -np.column_stack([run[name] for name in read]) @ law.K.T
    assert run[f"command.{law.drives[0]}"] == pytest.approx(held[:, 0], abs=1e-9)


def test_a_loop_records_how_sure_its_filter_is(cart: Any, model: Any, start: Any) -> None:
    """The same deviations as of the filter run over the record of the loop."""
    law = da.control.lqr(model, Q=1.0, R=0.1, dt=0.01)
    filter_ = da.estimate.ExtendedKalman(cart, outputs=["encoder", "slide"], Q=1e-6, R=1e-6, P0=1e-2, dt=0.01)
    run = da.simulate(cart, 1.0, start=start, controller=law, observer=filter_, progress=False)
    again = filter_.run(run)
    name = filter_.process.errors.names[1]
    assert run[f"estimate.{name}.deviation"] == pytest.approx(again.deviation(name), rel=1e-6)
    bucy = da.estimate.KalmanBucy(model, Q=1.0, R=1e-4, P0=1.0)
    run = da.simulate(model, 1.0, controller=da.control.lqr(model, Q=1.0, R=0.1), observer=bucy, progress=False)
    name = model.states[0]
    assert run[f"estimate.{name}.deviation"][-1] == pytest.approx(
        np.sqrt(bucy.covariances([0.0, 1.0])[-1][0, 0]), rel=1e-6
    )


@pytest.mark.parametrize("P0", [None, 1e-2])
def test_a_continuous_filter_behind_a_sensor_that_feels_its_input_keeps_its_estimate(P0: Any) -> None:
    """Started at the true state, without noise, nothing is left to correct; and P follows its own equation."""
    plant = da.StateSpace([[0, 1], [-25, -0.2]], [0, 1], [[-25, -0.2]], [[1.0]], inputs="push", outputs="a",
                          states=["x", "v"])  # fmt: skip
    bucy = da.estimate.KalmanBucy(plant, Q=1e-2, R=1e-3, start=[0.1, 0.0], **({} if P0 is None else {"P0": P0}))
    run = da.simulate(plant, 1.0, start=[0.1, 0.0], observer=bucy, inputs={"push": lambda t: 3 * da.sin(40 * t)})
    assert np.abs(run["estimate.x"] - run["x"]).max() < 1e-7
    wanted = bucy.steady.P if P0 is None else bucy.covariances([0.0, 1.0])[-1]
    found = [run[f"estimate.{name}.deviation"][-1] for name in ("x", "v")]
    assert found == pytest.approx(np.sqrt(np.diag(wanted)), rel=1e-5)
