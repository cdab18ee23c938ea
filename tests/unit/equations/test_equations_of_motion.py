"""User mistakes in using equations: assembly, runs, parameters, states; the right error and the culprit's name."""

# ruff: noqa: E501 (one mistake, one line)
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import Channels, State
from dalembert.record.units import per_second
from tests.helpers.findings import raises

NAN = math.nan
ASSEMBLE: list[tuple[str, Callable[[Any], Any], type[Exception], tuple[str, ...]]]


@cache
def arm() -> da.EquationsOfMotion:
    """A driven pendulum with a spring: input 'u', parameters 'length' and 'idle', internal state 'motor.effort'."""
    m = da.Mechanism("arm", planar=True)
    length = m.parameter("length", 1.0)
    m.parameter("idle", 1.0)
    mass = m.parameter("rod.mass", 1.0)
    rod = m.add_body("rod", mass=mass, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-length / 2, 0))
    m.add_actuator("motor", "hinge", input="u", model=da.FirstOrderLag(0.1))
    return da.equations(m)


@cache
def four_bar(rocker: float = 0.4) -> da.EquationsOfMotion:
    m = da.Mechanism("four-bar", planar=True)
    crank, coupler, lever = (
        m.add_body(n, mass=1.0, inertia=da.rod(x)) for n, x in (("crank", 0.1), ("coupler", 0.4), ("lever", rocker))
    )
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.05, 0))
    m.add_revolute("B", crank.at(0.05, 0), coupler.at(-0.2, 0))
    m.add_revolute("C", coupler.at(0.2, 0), lever.at(rocker / 2, 0))
    m.add_revolute("D", m.ground.at(0.5, 0), lever.at(-rocker / 2, 0))
    return da.equations(m)


@cache
def tied() -> da.EquationsOfMotion:
    """A rod 'stay' whose length is the parameter 'reach'."""
    m = da.Mechanism("tied", planar=True)
    body = m.add_body("bob", mass=1.0, inertia=1.0)
    m.add_massless_rod("stay", m.ground.at(0, 0), body.at(0, 0), length=m.parameter("reach", 1.0))
    return da.equations(m)


def record(stop: float, value: float = 1.0, name: str = "u") -> da.Record:
    time = np.linspace(0.0, stop, 11)
    return da.Record(time, np.full((11, 1), value), (name,))


def other_start() -> State:
    return da.assemble(four_bar(), {"A": 1.0})


def open_start(eqs: da.EquationsOfMotion) -> State:
    return eqs.state(q=[3.0, 0.0, 0.0])


ASSEMBLE = [
    ("assembling a mechanism", lambda e: da.assemble(da.Mechanism("arm")), da.errors.ModelError, ("Mechanism", "da.equations")),
    ("an unknown coordinate", lambda e: da.assemble(e, {"hing": 1.0}), da.errors.ModelError, ("position", "'hing'", "'hinge")),
    ("an unknown speed", lambda e: da.assemble(e, velocity={"hinge.rat": 1.0}), da.errors.ModelError, ("velocity", "'hinge.rat'", "'hinge.rate'")),
    ("an unknown guess", lambda e: da.assemble(e, guess={"rod.z": 1.0}), da.errors.ModelError, ("guess", "'rod.z'")),
    ("an unknown internal state", lambda e: da.assemble(e, internal={"motor.current": 1.0}), da.errors.ModelError, ("'motor.current'", "motor.effort")),
    ("an internal state of text", lambda e: da.assemble(e, internal={"motor.effort": "a"}), da.errors.ModelError, ("'motor.effort'", "'a'")),
    ("a coordinate of NaN", lambda e: da.assemble(e, {"hinge": NAN}), da.errors.ModelError, ("position", "'hinge'", "nan")),
    ("a coordinate of text", lambda e: da.assemble(e, {"hinge": "up"}), da.errors.ModelError, ("position", "'hinge'", "'up'")),
    ("a coordinate of None", lambda e: da.assemble(e, {"hinge": None}), da.errors.ModelError, ("position", "'hinge'", "None")),
    ("a position that is a number", lambda e: da.assemble(e, 1.0), da.errors.ModelError, ("position", "1.0")),
    ("a velocity that is a list", lambda e: da.assemble(e, velocity=[1.0]), da.errors.ModelError, ("velocity", "[1.0]")),
    ("a name that is a number", lambda e: da.assemble(e, {3: 1.0}), da.errors.ModelError, ("position", "3")),
    ("a time of text", lambda e: da.assemble(e, t="now"), da.errors.DataError, ("t", "'now'")),
    ("a time of NaN", lambda e: da.assemble(e, t=NAN), da.errors.DataError, ("t", "nan")),
    ("a start of another machine", lambda e: da.assemble(e, start=other_start()), da.errors.ModelError, ("start", "'four-bar'", "'arm'")),
    ("a start that is a dict", lambda e: da.assemble(e, start={"hinge": 1.0}), da.errors.ModelError, ("start", "dict")),
    ("a coordinate out of reach", lambda e: da.assemble(e, {"rod.x": 3.0}), da.errors.AssemblyError, ("'arm'", "stays open")),
    ("two coordinates that disagree", lambda e: da.assemble(e, {"hinge": 0.0, "rod.y": 0.4}), da.errors.AssemblyError, ("stays open",)),
    ("a loop that cannot close", lambda e: da.assemble(four_bar(1.5)), da.errors.AssemblyError, ("'four-bar'", "joint '", "stays open", "guess")),
    ("speeds that disagree", lambda e: da.assemble(e, {"hinge": 0.0}, velocity={"hinge": 1.0, "rod.y": 2.0}), da.errors.AssemblyError, ("missed by", "'hinge.rate', 'rod.vy'")),
    ("a rod of zero length by parameter", lambda e: da.assemble(tied().replace(reach=0.0)), da.errors.AssemblyError, ("'stay'", "not a finite number")),
]  # fmt: skip

USE = [
    ("an unknown parameter", lambda e: e.replace(lenght=2.0), da.errors.ModelError, ("'lenght'", "Did you mean 'length'", "m.parameter")),
    ("a parameter of NaN", lambda e: e.replace(length=NAN), da.errors.DataError, ("'length'", "nan")),
    ("a parameter of text", lambda e: e.replace(length="2"), da.errors.DataError, ("'length'", "'2'")),
    ("a parameter without effect", lambda e: e.replace(idle=2.0), da.errors.ModelError, ("'idle'", "no effect", "da.sin")),
    ("a negative mass by parameter", lambda e: e.replace(rod__mass=-1.0), da.errors.ModelError, ("rod__mass=-1", "'rod.vx'", "negative")),
    ("an unknown name of a state", lambda e: e.state()["hinge.angel"], da.errors.DataError, ("'hinge.angel'", "'hinge.angle'")),
    ("a state read by number", lambda e: e.state()[0], da.errors.DataError, ("'0'", "'arm'")),
    ("a state of the wrong size", lambda e: e.state(q=[1.0, 2.0]), da.errors.DataError, ("q", "2 entries", "3")),
    ("a state of text", lambda e: e.state(v="fast"), da.errors.DataError, ("v", "'fast'")),
    ("a state of NaN", lambda e: e.state(q=[NAN, 0, 0]), da.errors.DataError, ("q", "finite")),
    ("an unknown function", lambda e: e.kernel("force"), da.errors.DataError, ("'force'", "'forces'")),
    ("a function of too few arguments", lambda e: e.kernel("inertia")(1.0), da.errors.DataError, ("'inertia'",)),
    ("a function of too many numbers", lambda e: e.kernel("inertia")(np.ones(7), e.p, 0.0), da.errors.DataError, ("'inertia'", "7")),
    ("a batch that does not fit", lambda e: e.kernel("inertia").many(np.ones((4, 7)), e.p, 0.0), da.errors.DataError, ("'inertia'", "28")),
    ("an unknown channel", lambda e: da.simulate(e, 0.1)["hinge.angel"], da.errors.DataError, ("'hinge.angel'", "'hinge.angle'")),
    ("an unknown public name", lambda e: da.Mechanisms, AttributeError, ("'Mechanisms'", "'Mechanism'")),
]  # fmt: skip

SIMULATE = [
    ("running a mechanism without bodies", lambda e: da.simulate(da.Mechanism("arm"), 1.0), da.errors.ModelError, ("mechanism 'arm'", "no bodies")),
    ("running a name", lambda e: da.simulate("arm", 1.0), da.errors.ModelError, ("str", "da.equations")),
    ("an end in the past", lambda e: da.simulate(e, -1.0), da.errors.DataError, ("until", "-1")),
    ("an end at the start", lambda e: da.simulate(e, 0.0), da.errors.DataError, ("until", "0")),
    ("an end of text", lambda e: da.simulate(e, "soon"), da.errors.DataError, ("until", "'soon'")),
    ("an end of NaN", lambda e: da.simulate(e, NAN), da.errors.DataError, ("until", "nan")),
    ("an end of None", lambda e: da.simulate(e, None), da.errors.DataError, ("until", "None")),
    ("an interval of zero", lambda e: da.simulate(e, 0.1, every=0), da.errors.DataError, ("every", "0")),
    ("a negative interval", lambda e: da.simulate(e, 0.1, every=-0.1), da.errors.DataError, ("every", "-0.1")),
    ("an interval of text", lambda e: da.simulate(e, 0.1, every="a"), da.errors.DataError, ("every", "'a'")),
    ("samples out of order", lambda e: da.simulate(e, 0.1, every=[0.0, 0.1, 0.05]), da.errors.DataError, ("sample times", "increasing")),
    ("samples after the end", lambda e: da.simulate(e, 0.1, every=[0.0, 0.2]), da.errors.DataError, ("sample times", "0.1")),
    ("samples that are NaN", lambda e: da.simulate(e, 0.1, every=[0.0, NAN]), da.errors.DataError, ("sample times", "finite")),
    ("a start of another model", lambda e: da.simulate(e, 0.1, start=other_start()), da.errors.ModelError, ("'four-bar'", "'arm'")),
    ("a start that is a list", lambda e: da.simulate(e, 0.1, start=[1.0]), da.errors.ModelError, ("start", "list", "da.assemble")),
    ("a start with an unknown name", lambda e: da.simulate(e, 0.1, start={"hing": 1.0}), da.errors.ModelError, ("'hing'", "'hinge")),
    ("a start that is open", lambda e: da.simulate(e, 0.1, start=open_start(e)), da.errors.AssemblyError, ("'hinge'", "da.assemble")),
    ("an unknown input", lambda e: da.simulate(e, 0.1, inputs={"U": 1.0}), da.errors.ModelError, ("'U'", "u")),
    ("an input of NaN", lambda e: da.simulate(e, 0.1, inputs={"u": NAN}), da.errors.DataError, ("'u'", "finite")),
    ("an input of text", lambda e: da.simulate(e, 0.1, inputs={"u": "full"}), da.errors.DataError, ("'u'", "'full'")),
    ("an input of None", lambda e: da.simulate(e, 0.1, inputs={"u": None}), da.errors.DataError, ("'u'", "None")),
    ("an input of an array", lambda e: da.simulate(e, 0.1, inputs={"u": np.ones(5)}), da.errors.DataError, ("'u'",)),
    ("an input record too short", lambda e: da.simulate(e, 2.0, inputs={"u": record(1.0)}), da.errors.DataError, ("record", "1", "2")),
    ("an input record with gaps", lambda e: da.simulate(e, 1.0, inputs={"u": record(1.0, NAN)}), da.errors.DataError, ("'u'",)),
    ("an input record of other channels", lambda e: da.simulate(e, 1.0, inputs={"u": record(1.0, name="w")}), da.errors.DataError, ("'u'", "w")),
    ("an input function with math", lambda e: da.simulate(e, 0.1, inputs={"u": lambda t: math.sin(t)}), da.errors.ModelError, ("'u'", "da.sin")),
    ("an input function with an if", lambda e: da.simulate(e, 0.1, inputs={"u": lambda t: 1 if t < 0.5 else 0}), da.errors.ModelError, ("'u'", "da.where")),
    ("an input function of two values", lambda e: da.simulate(e, 0.1, inputs={"u": lambda t: [t, t]}), da.errors.ModelError, ("'u'", "one value")),
    ("an input function of text", lambda e: da.simulate(e, 0.1, inputs={"u": lambda t: "x"}), da.errors.ModelError, ("'u'",)),
    ("an input function of NaN", lambda e: da.simulate(e, 0.1, inputs={"u": lambda t: t * NAN}), da.errors.ModelError, ("'u'", "NaN")),
    ("an input function of None", lambda e: da.simulate(e, 0.1, inputs={"u": lambda t: None}), da.errors.ModelError, ("'u'",)),
    ("an input that becomes infinite", lambda e: da.simulate(e, 2.0, inputs={"u": lambda t: 1 / (0.1 - t)}, method=da.RK4(0.02)), da.errors.ConvergenceError, ("finite numbers", "smaller step")),
    ("inputs that are a number", lambda e: da.simulate(e, 0.1, inputs=3.0), da.errors.DalembertError, ("input",)),
    ("a negative step", lambda e: da.simulate(e, 0.1, method=da.RK4(-1e-3)), da.errors.DataError, ("step", "-0.001")),
    ("a step of text", lambda e: da.simulate(e, 0.1, method=da.RK4("1e-3")), da.errors.DataError, ("step", "'1e-3'")),
    ("a step of NaN", lambda e: da.simulate(e, 0.1, method=da.RK4(NAN)), da.errors.DataError, ("step", "nan")),
    ("an unknown order", lambda e: da.simulate(e, 0.1, method=da.DormandPrince(order=4)), da.errors.DataError, ("order", "4")),
    ("a tolerance of zero", lambda e: da.simulate(e, 0.1, method=da.DormandPrince(rtol=0.0)), da.errors.DataError, ("rtol", "0")),
    ("a method by its name", lambda e: da.simulate(e, 0.1, method="rk4"), da.errors.DalembertError, ("method", "rk4")),
    ("a method as a class", lambda e: da.simulate(e, 0.1, method=da.RK4), da.errors.DalembertError, ("method", "RK4")),
    ("more samples than memory", lambda e: da.simulate(e, 1.0, every=1e-12), da.errors.DataError, ("every", "1e-12")),
]  # fmt: skip

CASES = [*ASSEMBLE, *USE, *SIMULATE]


@pytest.mark.parametrize(("mistake", "make", "error", "texts"), CASES, ids=[case[0] for case in CASES])
def test_a_mistake_in_the_use_of_equations_is_reported_by_name(
    mistake: str, make: Callable[[Any], Any], error: type[Exception], texts: tuple[str, ...]
) -> None:
    with pytest.raises(error) as caught:
        make(arm())
    for text in texts:
        assert text in str(caught.value)


def test_a_run_that_fails_keeps_what_it_had() -> None:
    with pytest.raises(da.errors.ConvergenceError) as caught:
        da.simulate(arm(), 2.0, inputs={"u": lambda t: 1 / (0.1 - t)}, method=da.RK4(0.02))
    run = caught.value.record
    assert run.status.startswith("failed")
    assert np.isfinite(run.data).all()
    assert run.time[-1] < 0.1


def test_a_channel_has_an_owner_that_its_name_need_not_show() -> None:
    assert Channels(["rod.x", "left.arm.angle", "count"]).owners == ("rod", "left.arm", "")
    assert Channels(["q1", "q2"], ["m", "rad"], ["rod", "rod"]).owners == ("rod", "rod")
    with raises(da.errors.ModelError, "wrong-shape"):
        Channels(["q1", "q2"], owners=["rod"])


@pytest.mark.parametrize(
    ("unit", "first", "second"),
    [("rad", "rad/s", "rad/s^2"), ("m/s", "m/s^2", "m/s^3"), ("1/s", "1/s^2", "1/s^3"), ("N s", "N s/s", "N s/s^2"), ("", "", "")],
)  # fmt: skip
def test_the_unit_of_a_rate_counts_the_seconds(unit: str, first: str, second: str) -> None:
    assert (per_second(unit), per_second(unit, 2)) == (first, second)
