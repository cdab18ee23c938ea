"""What sensors read, against derivatives of the record and against statics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.model.sensors.coordinate import joint_acceleration
from dalembert.model.sensors.distance import distance
from tests.helpers.checks import free_body

RUN = 1e-8


def derivative(values: Any, step: float) -> Any:
    """Central difference of order 6 at the inner samples: error (10 rad/s · 1 ms)⁶/140 of the value, plus rounding."""
    c = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    n = len(values)
    return sum(c[k] * values[k : n - 6 + k] for k in range(7)) / step


@pytest.mark.parametrize("planar", [True, False])
def test_velocity_and_acceleration_are_derivatives_of_the_position(planar: bool) -> None:
    m = da.Mechanism("double", planar=planar, gravity=(0, -9.81) if planar else (1.0, -9.0, 2.0))
    zero = () if planar else (0.0,)
    a = m.add_body("a", mass=1.0, inertia=da.rod(1.0) if planar else da.box(1.0, 0.2, 0.1))
    b = m.add_body("b", mass=0.5, inertia=da.rod(1.0) if planar else da.box(1.0, 0.3, 0.1))
    m.add_revolute("A", m.ground.at(0, 0, *zero), a.at(-0.5, 0, *zero))
    if planar:
        m.add_revolute("B", a.at(0.5, 0), b.at(-0.5, 0))
    else:
        m.add_revolute("B", a.at(0.5, 0, 0), b.at(-0.5, 0, 0), axis=(0, 1, 0))
    tip = b.at(0.4, 0.1, *zero)
    m.add_sensor("r", da.position(tip))
    m.add_sensor("v", da.velocity(tip))
    m.add_sensor("a_", da.acceleration(tip))
    m.add_sensor("angle", da.angle("B"))
    m.add_sensor("rate", da.rate("B"))
    m.add_sensor("bend", joint_acceleration("B"))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"A": 0.3, "B": -0.2}, velocity={"A": 2.0, "B": -1.0})
    method = da.DormandPrince(rtol=1e-12, atol=1e-13)
    run = da.simulate(eqs, 0.5, start=start, every=1e-3, method=method)
    for value, rate in (("r", "v"), ("v", "a_"), ("angle", "rate"), ("rate", "bend")):
        assert np.abs(derivative(run[value], 1e-3) - run[rate][3:-3]).max() < 1e-8, value


def test_accelerometer_at_rest_reads_gravity_upwards() -> None:
    """In the axes of the sensor, whatever the tilt."""
    m = da.Mechanism("tilted")
    turn = (np.cos(0.3), np.sin(0.3), 0, 0)  # 0.6 rad about x
    b = m.add_body("b", mass=1.0, inertia=0.1, position=(0, 0, 0), rotation=turn)
    m.add_fixed("weld", m.ground, b, at=(0, 0, 0))
    m.add_sensor("body", da.accelerometer(b.at(0.1, 0.2, 0.3)))
    m.add_sensor("level", da.accelerometer(b.frame(0, 0, 0, axis=(0, np.sin(0.6), np.cos(0.6)))))
    run = da.simulate(da.equations(m), 0.1)
    assert run["body"][-1] == pytest.approx([0, 9.81 * np.sin(0.6), 9.81 * np.cos(0.6)], abs=RUN)
    assert run["level.z"][-1] == pytest.approx(9.81, abs=RUN)


def test_accelerometer_in_free_fall_reads_the_centripetal_part_only() -> None:
    m = da.Mechanism("falling", planar=True)
    b = m.add_body("b", mass=1.0, inertia=0.1, position=(0, 0))
    m.add_sensor("acc", da.accelerometer(b.at(0.5, 0)))
    eqs = da.equations(m)
    run = da.simulate(eqs, 1.0, start=eqs.state(v=[1.0, 2.0, 3.0]))
    assert np.abs(run["acc"] - [-0.5 * 9.0, 0.0]).max() < RUN


def test_gyroscope_reads_the_rate_in_its_own_axes() -> None:
    m = da.Mechanism("spinning", gravity=0)
    b = free_body(m, "b", position=(0, 0, 0))
    m.add_sensor("gyro", da.gyroscope(b))
    m.add_sensor("turned", da.gyroscope(b.frame(0, 0, 0, axis=(1, 0, 0), x=(0, 1, 0))))
    eqs = da.equations(m)
    run = da.simulate(eqs, 1.0, start=eqs.state(v=[0, 0, 0, 0.5, -1.0, 2.0]))
    w = np.column_stack([run[f"b.w{k}"] for k in "xyz"])
    assert np.abs(run["gyro"] - w).max() < 1e-15
    assert np.abs(run["turned"] - w[:, [1, 2, 0]]).max() < 1e-12


@pytest.mark.parametrize("flipped", [False, True])
def test_reaction_of_a_cantilever_is_its_weight_and_moment(flipped: bool) -> None:
    """Force m g up and moment m g L/2 on the beam at the wall; signs follow the order of the bodies."""
    m = da.Mechanism("cantilever")
    beam = m.add_body("beam", mass=2.0, inertia=da.box(1.0, 0.1, 0.1), position=(0.5, 0, 0))
    sides = (beam, m.ground) if flipped else (m.ground, beam)
    m.add_fixed("wall", *sides, at=(0, 0, 0))
    m.add_sensor("world", da.reaction("wall"))
    run = da.simulate(da.equations(m), 0.1)
    sign = -1 if flipped else 1
    force = [run[f"wall.force.{k}"][-1] for k in "xyz"]
    torque = [run[f"wall.torque.{k}"][-1] for k in "xyz"]
    assert force == pytest.approx([0, 0, sign * 19.62], abs=RUN)
    assert torque == pytest.approx([0, -sign * 9.81, 0], abs=RUN)  # up at the wall, weight at x = 0.5: about -y
    assert [run[f"world.force.{k}"][-1] for k in "xyz"] == pytest.approx(force, abs=1e-12)


def test_reaction_in_joint_axes_turns_with_the_first_body() -> None:
    """Plumb load on a hinge whose axes are turned by 0.5 rad about y."""
    m = da.Mechanism("hanging")
    b = m.add_body("b", mass=1.5, inertia=0.1, position=(0, 0, 0))
    axes = {"axis": (np.sin(0.5), 0, np.cos(0.5)), "x": (np.cos(0.5), 0, -np.sin(0.5))}
    m.add_revolute("A", m.ground.frame(0, 0, 0, **axes), b.frame(0, 0, 0, **axes))
    m.add_sensor("own", da.reaction("A", axes="joint"))
    run = da.simulate(da.equations(m), 0.1)
    weight = 1.5 * 9.81
    own = [run[f"own.force.{k}"][-1] for k in "xyz"]
    assert own == pytest.approx([-weight * np.sin(0.5), 0, weight * np.cos(0.5)], abs=RUN)


def test_reaction_of_a_planar_beam_on_two_supports_is_half_its_weight_each() -> None:
    m = da.Mechanism("beam", planar=True)
    beam = m.add_body("beam", mass=4.0, inertia=da.rod(2.0), position=(0, 0))
    m.add_revolute("left", m.ground, beam, at=(-1, 0))
    m.add_pin_in_slot("right", m.ground, beam, at=(1, 0), axis=(1, 0))
    run = da.simulate(da.equations(m), 0.1)
    assert run["left.force.y"][-1] == pytest.approx(2 * 9.81, abs=RUN)
    assert run["right.force.y"][-1] == pytest.approx(2 * 9.81, abs=RUN)
    assert run["right.force.x"][-1] == pytest.approx(0.0, abs=RUN)


def test_pendulum_reaction_is_weight_plus_centripetal_force() -> None:
    m = da.Mechanism("pendulum", planar=True)
    b = m.add_body("b", mass=2.0, inertia=0.0)
    m.add_revolute("A", m.ground.at(0, 0), b.at(0, 1.5))
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, {"A": 1.0}))
    th, w = run["A.angle"], run["A.rate"]
    pull = 2.0 * (1.5 * w**2 + 9.81 * np.cos(th))
    assert np.abs(np.hypot(run["A.force.x"], run["A.force.y"]) - np.abs(pull)).max() < 10 * RUN  # forces reach 40 N


def test_distance_energy_expression_and_joint_channels() -> None:
    m = da.Mechanism("slider", planar=True)
    block = m.add_body("block", mass=2.0, inertia=0.1)
    m.add_prismatic("P", m.ground.at(0, 0), block.at(0, 0), axis=(0, 1))
    m.add_spring("K", joint="P", stiffness=30.0)
    m.add_sensor("gap", distance(m.ground.at(0.3, 0), block.at(0, 0)))
    m.add_sensor("E", da.energy())
    m.add_sensor("way", da.displacement("P"))
    m.add_sensor("pace", da.speed("P"))
    m.add_sensor("two", da.expression(lambda s: (s["P"] * 2, s.t), "m"))
    m.add_sensor("K force", da.spring_force("K"))
    run = da.simulate(da.equations(m), 1.0)
    s = run["P.displacement"]
    assert np.abs(run["gap"] - np.hypot(0.3, s)).max() < 1e-12
    assert np.abs(run["E"] - run["energy"]).max() < 1e-12
    assert np.abs(run["way"] - s).max() < 1e-15
    assert np.abs(run["pace"] - run["P.speed"]).max() < 1e-15
    assert np.abs(run["two.x"] - 2 * s).max() < 1e-15
    assert np.abs(run["two.y"] - run.time).max() < 1e-15
    assert np.abs(run["K force"] - 30.0 * s).max() < 1e-12
    assert run.units["gap"] == "m"
    assert run.units["K force"] == "N"
