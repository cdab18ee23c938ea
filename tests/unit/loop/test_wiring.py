"""What closed loops say when they are put together wrongly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.interfaces import Law
from dalembert.loop.noise import Noise
from tests.helpers.findings import raises
from tests.helpers.loops import CART_GAINS, CART_READS, cart_pendulum, gain_law, integral_law, luenberger

PLANT = da.StateSpace([[0, 1], [0, 0]], [[0], [1]], states=["x", "v"], inputs=["u"], outputs=["x", "v"])
GAIN = gain_law([[1.0, 1.0]], ["x", "v"], ["u"], 0.1)
WATCH = luenberger(np.eye(2), np.zeros((2, 1)), np.eye(2), np.zeros((2, 1)), 0.1 * np.eye(2), 0.1, (0, 0),
                   (["u"], ["x", "v"], ["x", "v"]))  # fmt: skip


@pytest.fixture(scope="module")
def cart() -> da.EquationsOfMotion:
    return cart_pendulum()


def refuse(code: str, *shown: str, kind: Any = da.errors.ModelError, plant: Any = PLANT, **options: Any) -> None:
    options.setdefault("controller", GAIN)
    with raises(kind, code, *shown):
        da.simulate(plant, 1.0, **options)


def test_unknown_names_get_a_suggestion(cart: Any) -> None:
    refuse("unknown-name", "'xx'", "'x'", controller=gain_law([[1.0]], ["xx"], ["u"], 0.1))
    refuse("unknown-name", "'uu'", "'gain'", controller=gain_law([[1.0]], ["x"], ["uu"], 0.1))
    refuse("unknown-name", "'encodr'", plant=cart, controller=gain_law([[1.0]], ["encodr"], ["force"], 0.1))
    refuse("unknown-name", "'encodr'", plant=cart, controller=gain_law([[1.0]], ["encodr"], ["force"]))
    refuse("unknown-name", "'forc'", plant=cart, controller=gain_law([[1.0]], ["encoder"], ["forc"]))
    refuse("unknown-name", "'y'", noise=Noise(process={"y": 1.0}))
    refuse("unknown-name", "'y'", noise=Noise(sensors={"y": 1.0}))
    refuse("unknown-name", "'x'", references={"x": 1.0})
    refuse("unknown-name", "'w'", actuators={"w": ActuatorLimits()})
    with raises(TypeError, None, "'controller'"):
        da.simulate(cart, 1.0, controler=GAIN)  # type: ignore[arg-type]


def test_all_problems_are_reported_at_once() -> None:
    wrong = [gain_law([[1.0]], ["xx"], ["uu"], 0.1, name="a"), gain_law([[1.0]], ["yy"], ["u"], 0.1, name="b")]
    with pytest.raises(da.errors.ModelError) as caught:
        da.simulate(PLANT, 1.0, controller=wrong)
    assert all(name in str(caught.value) for name in ("'xx'", "'uu'", "'yy'"))


def test_an_input_has_one_driver() -> None:
    refuse("duplicate", "'gain'", "'other'", controller=[GAIN, replace(GAIN, name="other")])
    refuse("several-problems", "same name", controller=[GAIN, GAIN])
    refuse("conflicting-arguments", "'gain'", inputs={"u": 1.0})


def test_an_input_both_given_and_driven_continuously_is_refused(cart: Any) -> None:
    law = gain_law(CART_GAINS, CART_READS, ["force"])
    refuse("conflicting-arguments", "'force'", plant=cart, controller=law, inputs={"force": 1.0})


def test_a_law_reads_only_what_its_observer_gives(cart: Any) -> None:
    blind = replace(WATCH, gives=type(WATCH.gives)(["x", "w"], ["", ""]), reads=("x", "v"))
    plant = da.StateSpace([[0, 1], [0, 0]], [[0], [1]], np.eye(2), states=["x", "v"], inputs=["u"], outputs=["p", "q"])
    refuse("unknown-name", "'v'", "'luenberger'", observer=replace(blind, reads=("p", "q")), plant=plant)


def test_intervals_must_be_multiples() -> None:
    refuse("sample-time-mismatch", "0.15 s", "0.1 s",
           controller=replace(GAIN, dt=0.15), observer=WATCH)  # fmt: skip
    refuse("sample-time-mismatch", plant=PLANT.to_discrete(0.03))


def test_functions_that_do_not_fit_their_names_are_refused() -> None:
    x = ca.SX.sym("x", 3)
    empty = [ca.SX.sym("e", 0) for _ in range(3)]
    misfit = ca.Function("law", [x, *empty, ca.SX.sym("t")], [x[0], empty[0]])
    refuse("wrong-shape", "2", "3", controller=replace(GAIN, function=misfit))
    refuse("wrong-signature", controller=replace(GAIN, function=ca.Function("f", [x], [x])))
    refuse("conflicting-arguments", controller=replace(GAIN, direct=False))
    refuse("several-problems", "'luenberger'", "1", observer=replace(WATCH, reads=("x",)))


def test_things_of_the_wrong_kind_are_refused(cart: Any) -> None:
    refuse("wrong-type", "float", "Law", controller=3.0)
    refuse("wrong-type", "float", "ObserverStep", observer=3.0)
    refuse("wrong-type", "Noise", "0.1", kind=DataError, noise=0.1)
    refuse("wrong-type", kind=DataError, actuators={"u": 3.0})
    refuse("wrong-type", kind=DataError, actuators=3.0)
    refuse("wrong-type", kind=DataError, references=3.0)
    refuse("wrong-type", kind=DataError, switch_on="later")
    refuse("ineffective-argument", kind=DataError, controller=None, switch_on=1.0, noise=Noise(every=0.1))
    refuse("ineffective-argument", kind=DataError, controller=None, references={"x": 1}, noise=Noise(every=0.1))
    refuse("missing-argument", kind=DataError, controller=None, noise=Noise(process={"x": 1.0}))
    refuse("not-supported", kind=DataError, plant=cart, controller=gain_law([[1.0]], ["encoder"], ["force"], 0.1),
           method=da.Sundials())  # fmt: skip
    refuse("not-supported", controller=replace(GAIN, dt=None), plant=PLANT.to_discrete(0.1))


def test_sensor_noise_of_a_continuous_loop_is_refused(cart: Any) -> None:
    law = gain_law(CART_GAINS, CART_READS, ["force"])
    refuse("missing-argument", plant=cart, controller=law, noise=Noise(sensors={"encoder": 0.1}, every=0.1))


def test_a_sampled_observer_cannot_feed_a_continuous_law_with_a_memory() -> None:
    mass = da.equations(_mass())
    law = da.control.custom_law(
        "pi", lambda s: (-s["place"] - s["sum"], {"sum": s["place"]}), "push", memory={"sum": 0.0}
    )
    observer_step = luenberger(np.eye(1), np.zeros((1, 1)), np.eye(1), np.zeros((1, 1)), np.eye(1), 0.1, (0,),
                          (["push"], ["place"], ["place"]))  # fmt: skip
    refuse("sample-time-mismatch", "0.1 s", plant=mass, controller=law, observer=observer_step)


def _mass() -> da.Mechanism:
    m = da.Mechanism("mass", planar=True)
    body = m.add_body("block", mass=1.0, inertia=1.0)
    m.add_prismatic("rail", m.ground, body, at=(0, 0), axis=(1, 0))
    m.add_force("push", body.at(0, 0), (1, 0), input="push")
    m.add_sensor("place", da.displacement("rail"))
    return m


def test_wrong_numbers_of_noise_and_actuators_are_refused() -> None:
    for wrong in ({"process": {"x": -1.0}}, {"sensors": {"x": "loud"}}, {"seed": 1.5}, {"seed": -1}, {"every": 0.0},
                  {"process": 3}, {"sensors": {"x": float("nan")}}):  # fmt: skip
        with pytest.raises(da.errors.DataError):
            Noise(**wrong)  # type: ignore[arg-type]
    for wrong in ({"limits": (1, -1)}, {"limits": "no"}, {"rate": 0.0}, {"delay": -1.0}, {"resolution": float("inf")}):
        with pytest.raises(da.errors.DataError):
            ActuatorLimits(**wrong)  # type: ignore[arg-type]


def test_a_controller_knows_when_it_is_switched_on() -> None:
    calls: list[float] = []

    class Controller:
        def law(self, *, switched_on: float = 0.0) -> Law:
            calls.append(switched_on)
            return integral_law(0.1)

    plant = da.StateSpace(-1.0, 1.0, states=["y"], inputs=["u"])
    run = da.simulate(plant, 1.0, controller=Controller(), switch_on=0.5, references={"y": 1.0})
    assert calls == [0.5]
    assert run["pi.integral"][3] > 0  # knowing it, it may run along
    assert run["u"][3] == 0.0


def test_an_observer_that_diverges_is_named() -> None:
    wild = luenberger(np.eye(2), np.zeros((2, 1)), np.eye(2), np.zeros((2, 1)), 1e30 * np.eye(2), 0.1, (0, 0),
                      (["u"], ["x", "v"], ["x", "v"]))  # fmt: skip
    with raises(da.errors.ConvergenceError, "diverged", "'luenberger'") as caught:
        da.simulate(PLANT, 10.0, start=[1.0, 0.0], observer=wild)
    assert 5 < len(caught.value.record) < 20


def test_a_law_that_diverges_leaves_the_record_of_a_machine(cart: Any) -> None:
    law = gain_law(-50 * CART_GAINS, CART_READS, ["force"], 0.02)
    with pytest.raises(da.errors.ConvergenceError) as caught:
        da.simulate(cart, 100.0, start=da.assemble(cart, {"hinge.angle": 0.1}), controller=law)
    assert caught.value.record is not None and len(caught.value.record) > 5
    assert np.isfinite(caught.value.record.data).all()
