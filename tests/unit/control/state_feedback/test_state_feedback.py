"""Limits of inputs: which ones an observer knows, and what becomes of integrals meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.control import StateFeedback, close_loop, lqr
from dalembert.linear import StateSpace
from tests.helpers.control_systems import lqg
from tests.helpers.repetitions import few


def slider() -> StateSpace:
    """1 kg with a damper of 1 N s/m, its place read."""
    return StateSpace(
        [[0.0, 1.0], [0.0, -1.0]], [0, 1], [[1, 0]], states=["x", "v"], inputs="push", outputs="place"
    )  # fmt: skip


@pytest.mark.spec("000-72")
def test_an_observer_knows_what_an_actuator_does_not_what_was_asked_of_it() -> None:
    """Its error then is that of the observer alone, e^{(A - L C) t} e₀, whatever the limit."""
    design = lqg(slider(), Q=100.0, R=0.01, Qn=1.0, Rn=0.1)
    run = da.simulate(
        slider(), 2.0, controller=design, start={"x": 1.0}, every=0.1, actuators={"push": da.ActuatorLimits(limits=0.5)}
    )
    assert np.abs(run["push"]).max() == pytest.approx(0.5)
    error = np.column_stack([run[name] - run[f"LQG.{name}.estimate"] for name in ("x", "v")])
    assert error[0] == pytest.approx([1.0, 0.0])
    step = scipy.linalg.expm(0.1 * (design.system.A - design.L @ design.system.C))
    np.testing.assert_allclose(error[1:], error[:-1] @ step.T, rtol=0, atol=1e-7)


@pytest.mark.parametrize("dt", few([None, 0.01]), ids=["continuous", "sampled"])
@pytest.mark.parametrize("output", [False, True], ids=["state", "output"])
def test_limits_of_an_actuator_wind_no_integral_up(dt: float | None, output: bool) -> None:
    """The run with limits in the design and the run with them in the actuator are the same, and overshoot little."""
    options: dict[str, Any] = {"Q": 1.0, "R": 1.0, "dt": dt, "integral": {"place": 20.0}}
    make = (lambda **more: lqg(slider(), Qn=1.0, Rn=0.1, **options, **more)) if output else (
        lambda **more: lqr(slider(), **options, **more))  # fmt: skip
    wanted = {"place": 10.0}
    runs = [
        da.simulate(slider(), 60.0, controller=make(limits={"push": 1.0}), references=wanted, every=0.1),
        da.simulate(
            slider(), 60.0, controller=make(), references=wanted, every=0.1,
            actuators={"push": da.ActuatorLimits(limits=1.0)},
        ),
    ]  # fmt: skip
    np.testing.assert_allclose(runs[0]["place"], runs[1]["place"], rtol=0, atol=1e-6)
    for run in runs:
        assert np.abs(run["push"]).max() <= 1.0
        assert run["place"].max() < 12.0 and run["place"][-1] == pytest.approx(10.0, abs=0.01)


def test_an_input_does_not_stay_at_its_limit_for_good() -> None:
    """A leak drives a pure integral to its limit; when it ends, the integral comes back, though it is beyond it."""
    tank = StateSpace(-0.1, [[1.0, 1.0]], 1.0, dt=None, states=["h"], inputs=["pump", "leak"], outputs="level")
    sampled = tank.to_discrete(0.1)
    design = StateFeedback(
        np.zeros((1, 1)), sampled, ("pump",), method="integral", K_integral=np.array([[0.002]]), integral=("level",),
        limits={"pump": 1.0},
    )  # fmt: skip
    assert design.closed_loop().is_stable
    leak = np.where(np.arange(10001) < 1000, -3.0, 0.0)
    run = da.simulate(tank, 1000.0, controller=design, inputs={"leak": leak})
    assert run["pump"][999] == pytest.approx(1.0)
    assert abs(run["level"][-1]) < 0.01


def test_a_closed_loop_rests_where_its_law_was_designed() -> None:
    """References that nobody gives stand at the operating point, in equilibrium, linearize and simulate alike."""
    m = da.Mechanism("hoist", planar=True)
    load = m.add_body("load", mass=2.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), load.at(0, 0), axis=(0, 1))
    m.add_spring("rope", m.ground.at(0, 3), load.at(0, 0), stiffness=100.0, free_length=1.0)
    m.add_actuator("lift", joint="rail", input="force")
    m.add_sensor("height", da.displacement("rail"))
    eqs = da.equations(m)
    point = da.equilibrium(eqs, inputs={"force": 5.0})
    model = da.linearize(eqs, point, inputs={"force": 5.0}, outputs=["height"])
    design = lqr(model, Q=10.0, R=0.1, tracking="height")
    loop = close_loop(eqs, design)
    height = point["rail.displacement"]
    assert abs(height) > 0.1
    assert loop.resting_inputs == {"height.reference": pytest.approx(height)}
    assert da.equilibrium(loop)["rail.displacement"] == pytest.approx(height, abs=1e-9)
    run = da.simulate(loop, 3.0, start=loop.state(point.q, None, None), every=0.1)
    assert np.abs(run["rail.displacement"] - height).max() < 1e-9
    moved = da.simulate(loop, 8.0, inputs={"height.reference": height + 0.1}, every=0.1)
    assert moved["height"][-1] == pytest.approx(height + 0.1, abs=1e-3)
