"""Joint angles in space over many turns: springs, gears, rotors, sensors and events see them all."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def wheel(m: da.Mechanism, name: str, x: float = 0.0) -> None:
    """A wheel of inertia 1 kg m² on a hinge along z."""
    body = m.add_body(f"{name} wheel", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(x, 0.0, 0.0))
    m.add_revolute(name, m.ground.at(x, 0, 0), body.at(0, 0, 0))


def torsion_pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("torsion pendulum", gravity=0)
    wheel(m, "A")
    m.add_spring("k", joint="A", stiffness=1.0)
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def test_a_torsion_spring_winds_up_over_many_turns() -> None:
    """θ = 12 sin t for stiffness and inertia of one: amplitude 12 rad, nearly two turns."""
    eqs = torsion_pendulum()
    run = da.simulate(eqs, 6.28, start=da.assemble(eqs, velocity={"A.angle": 12.0}))
    assert run["A.angle"] == pytest.approx(12 * np.sin(run.time), abs=1e-6)  # 1e-9 per step, a few hundred steps
    assert run["encoder"].tolist() == run["A.angle"].tolist()
    assert np.abs(run["energy.balance"]).max() < 1e-8 * 72


def test_an_event_sees_an_angle_beyond_half_a_turn() -> None:
    eqs = torsion_pendulum()
    start = da.assemble(eqs, velocity={"A.angle": 12.0})
    run = da.simulate(eqs, 3.0, start=start, events=da.Event("far", lambda s: s["A.angle"] - 3.5))
    assert run.time[-1] == pytest.approx(np.arcsin(3.5 / 12), abs=1e-9)


def test_assembly_takes_an_angle_of_several_turns_as_given() -> None:
    eqs = torsion_pendulum()
    state = da.assemble(eqs, {"A.angle": 10.0})
    assert state["A.angle"] == pytest.approx(10.0, abs=1e-12)
    again = da.simulate(eqs, 0.01, start=state)
    assert again["energy"][0] == pytest.approx(50.0, rel=1e-12)


def test_assembly_takes_the_angular_velocity_of_a_body() -> None:
    eqs = torsion_pendulum()
    assert da.assemble(eqs, velocity={"A wheel.wz": 3.0})["A.rate"] == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize("every", [1.0, 0.1, 0.02])
def test_a_gear_of_any_ratio_holds_over_many_turns_whatever_the_sampling(every: float) -> None:
    m = da.Mechanism("gear", gravity=0)
    wheel(m, "A")
    wheel(m, "B", 1.0)
    m.add_gear("G", "A", "B", ratio=-3.3)
    m.add_driver("turn", "A", lambda t: 50 * t)
    eqs = da.equations(m)
    run = da.kinematics(eqs, np.arange(0.0, 2.0 + every / 2, every))
    assert run["B.angle"] == pytest.approx(-3.3 * 50 * run.time, abs=1e-9)


def test_the_effort_of_a_driver_is_recorded() -> None:
    """A wheel of 1 kg m² driven as t² needs 2 N m."""
    m = da.Mechanism("driven", gravity=0)
    wheel(m, "A")
    m.add_driver("turn", "A", lambda t: t * t)
    run = da.simulate(da.equations(m), 1.0)
    assert run["turn.effort"] == pytest.approx(2.0, abs=1e-9)
    assert run.units["turn.effort"] == "N m"


def test_the_rotor_of_a_motor_follows_its_joint_and_keeps_the_machine_holonomic() -> None:
    m = da.Mechanism("motor", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=0.1)
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(0, 1))
    motor = da.DCMotor(torque_constant=0.1, resistance=1.0, gear_ratio=10, rotor_inertia=1e-3)
    m.add_actuator("drive", "hinge", input="voltage", model=motor)
    eqs = da.equations(m)
    assert eqs.is_holonomic
    assert da.assemble(eqs, {"hinge.angle": 0.5})["drive.rotor"] == pytest.approx(5.0, abs=1e-10)
    lin = da.linearize(eqs)
    assert isinstance(lin, da.SecondOrder)
    assert lin.M[0, 0] == pytest.approx(1.0 + 0.1 + 100 * 1e-3, rel=1e-9)
    assert lin.C[0, 0] == pytest.approx((10 * 0.1) ** 2, rel=1e-9)  # back-emf: (n k)²/R
    assert eqs.inputs.units == ("V",)
