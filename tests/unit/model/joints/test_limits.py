"""Limits of joint coordinates: read with the joint, kept in files, checked, and made into stops on request."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dalembert as da
from dalembert.core.errors import ModelWarning, SimulationWarning


def arm(limits: Any = None, **options: Any) -> da.Mechanism:
    m = da.Mechanism("arm", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0), limits=limits, **options)
    m.add_actuator("motor", joint="A", input="torque")
    return m


def test_limits_of_the_only_coordinate_need_no_name() -> None:
    given = {"lower": -1.0, "upper": 2, "speed": 3.0, "effort": 4.0}
    own = arm(given).limits()["A.angle"]
    assert (own.lower, own.upper, own.speed, own.effort) == (-1.0, 2.0, 3.0, 4.0)
    assert arm({"angle": given}).limits() == arm(own).limits() == arm(given).limits()
    assert arm({"speed": 1.0}).limits()["A.angle"].range == (-math.inf, math.inf)
    assert arm().limits() == {}


def test_limits_of_several_coordinates_have_their_names() -> None:
    m = da.Mechanism("cardan")
    body = m.add_body("b", mass=1.0, inertia=1.0)
    m.add_universal("U", m.ground.at(0, 0, 0), body.at(0, 0, 0), limits={"angle2": {"upper": 0.5}})
    assert {name: own.range for name, own in m.limits().items()} == {"U.angle2": (-math.inf, 0.5)}


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"upper": 1.0, "lower": 2.0}, "not-increasing"),
        ({"speed": -1.0}, "negative"),
        ({"effort": -1.0}, "negative"),
        ({"uper": 1.0}, "unknown-argument"),
        ({"upper": math.inf}, "not-a-number"),
        ({"upper": "1"}, "not-a-number"),
        ((-1.0, 1.0), "wrong-type"),
    ],
)
def test_wrong_limits_are_refused(limits: Any, code: str) -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        arm(limits)
    assert caught.value.code == code and caught.value.where == {"argument": "limits"}


def test_limits_of_a_coordinate_that_does_not_exist_are_refused() -> None:
    m = da.Mechanism("cardan")
    body = m.add_body("b", mass=1.0, inertia=1.0)
    for limits, code in (({"upper": 1.0}, "unknown-name"), (1.0, "wrong-type")):
        with pytest.raises(da.errors.ModelError) as caught:
            m.add_universal("U", m.ground.at(0, 0, 0), body.at(0, 0, 0), limits=limits)
        assert caught.value.code == code
    with pytest.raises(da.errors.ModelError) as caught:
        m.add_spherical("S", m.ground.at(0, 0, 0), body.at(0, 0, 0), limits={"upper": 1.0})  # type: ignore[call-arg]
    assert caught.value.code == "unknown-argument"


def test_the_largest_effort_limits_the_inputs_of_actuators() -> None:
    m = arm({"effort": 6.0})
    m.add_actuator("geared", joint="A.angle", input="current", effort=-3.0)
    m.add_actuator("spring", joint="A", effort=lambda s: -s["A.angle"])
    assert {name: own.range for name, own in m.limits().items() if name != "A.angle"} == {
        "torque": (-6.0, 6.0), "current": (-2.0, 2.0)}  # fmt: skip


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_states_and_runs_beyond_limits_are_reported(coordinates: str) -> None:
    m = arm({"lower": -0.5, "upper": 0.5, "speed": 1.0, "effort": 2.0})
    eqs = da.equations(m, coordinates=coordinates)
    assert eqs.limits == m.limits()
    with pytest.warns(ModelWarning) as caught:
        start = da.assemble(eqs, {"A": 0.6})
    assert [one.message.where["channel"] for one in caught] == ["A.angle"]  # type: ignore[union-attr]
    with pytest.warns(SimulationWarning) as caught:
        run = da.simulate(eqs, 1.0, start=start, inputs={"torque": 3.0}, every=0.01)
    found = {(one.message.where["channel"], one.message.finding.evidence["limit"]): one.message for one in caught}  # type: ignore[union-attr]
    assert {*found} == {("A.angle", -0.5), ("A.angle", 0.5), ("A.rate", 1.0), ("torque", 2.0)}
    worst = found["A.angle", -0.5]
    assert worst.code == "out-of-range" and worst.where["time"] == run.time[run["A.angle"].argmin()]  # type: ignore[union-attr]


def test_a_sampled_loop_beyond_limits_is_reported() -> None:
    m = arm({"effort": 1.0})
    eqs = da.equations(m)
    law = da.control.lqr(da.linearize(eqs, at=da.assemble(eqs, {"A": -math.pi / 2})), Q=1.0, R=1e-4, dt=0.01)
    with pytest.warns(SimulationWarning) as caught:
        da.simulate(eqs, 0.2, start=da.assemble(eqs, {"A": -1.4}), controller=law)
    assert {one.message.where["channel"] for one in caught} == {"torque"}  # type: ignore[union-attr]


def test_a_check_of_the_machine_looks_at_its_drawing() -> None:
    m = arm({"lower": 0.5})
    (found,) = da.check(m).warnings
    assert found.code == "out-of-range" and "lower limit" in found.text()
    assert not da.check(arm({"lower": 0.0})).warnings


def test_stops_are_made_of_limits_on_request() -> None:
    m = arm({"lower": -0.2, "effort": 100.0})
    (stop,) = m.add_stops(stiffness=2e3, damping=20.0)
    assert (stop.name, stop.limits()) == ("A.angle.stop", ("A.angle", -0.2, None))
    assert m.limits()["A.angle"].stopped
    run = da.simulate(da.equations(m), 3.0, every=0.01)
    # weight 4.9 N m on 2000 N m/rad at rest; the blow of a fall by 0.2 rad dies out
    assert abs(run["A.angle"][-1] + 0.2 + 0.5 * 9.81 * math.cos(0.2) / 2e3) < 1e-4
    with pytest.raises(da.errors.ModelError) as caught:
        m.add_stops(stiffness=1.0, joints=["B"])
    assert caught.value.code == "no-limits" and caught.value.where == {"joint": "B"}


def test_limits_survive_a_model_file(tmp_path: Any) -> None:
    m = da.Mechanism("both")
    a, b = (m.add_body(name, mass=1.0, inertia=1.0) for name in "ab")
    m.add_prismatic("P", m.ground.at(0, 0, 0), a.at(0, 0, 0), limits={"lower": 0.0, "upper": 0.5, "speed": 2.0})
    m.add_universal("U", a.at(0, 0, 0), b.at(0, 0, 0), limits={"angle1": {"effort": 3.0}, "angle2": {"upper": 1.0}})
    da.write_model(m, tmp_path / "both.toml")
    again = da.read_model(tmp_path / "both.toml")
    assert again.limits() == m.limits()
    da.write_model(again, tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "both.toml").read_text()


FILE = """
name = "arm"
planar = true
[bodies.rod]
mass = 1.0
inertia = {rod = 1.0}
[joints.A]
type = "revolute"
a = "ground(0, 0)"
b = "rod(-0.5, 0)"
limits = LIMITS
"""


def test_limits_of_a_file_have_units(tmp_path: Any) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(FILE.replace("LIMITS", '{lower = "-90 deg", speed = "60 rpm", effort = "2 kN m"}'))
    own = da.read_model(path).limits()["A.angle"]
    assert (own.lower, own.speed, own.effort) == (-math.pi / 2, pytest.approx(math.tau, rel=1e-15), 2000.0)
    for limits, code, line in (
        ('{lower = "20 mm"}', "unit-mismatch", 11),
        ("{lower = 2, upper = 1}", "not-increasing", 7),
        ("{most = 1}", "unknown-argument", 11),
    ):
        path.write_text(FILE.replace("LIMITS", limits))
        with pytest.raises(da.errors.FileFormatError) as caught:
            da.read_model(path)
        assert caught.value.code == code and caught.value.where["line"] == line
