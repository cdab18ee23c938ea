"""Five-bar with DC motors (spec 002-T6, corrected as in trap 16)."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State

UPPER, LOWER = 0.3, 0.5
LEFT, RIGHT = np.deg2rad(120), np.deg2rad(60)
PHI = {"L": np.deg2rad(45.572996), "R": np.deg2rad(134.427004)}
ACCELERATION = (27.53525, -23.79436)


def five_bar(*, motors: bool = True) -> da.Mechanism:
    m = da.Mechanism("five-bar", planar=True)
    tips = {}
    for side, x, theta in (("L", -0.2, LEFT), ("R", 0.2, RIGHT)):
        e, g = (np.array([np.cos(a), np.sin(a)]) for a in (theta, PHI[side]))
        base = np.array([x, 0.0])
        upper = m.add_body(f"U{side}", mass=0.4, inertia=0.003, position=base + UPPER / 2 * e, angle=theta)
        place = base + UPPER * e + LOWER / 2 * g
        lower = m.add_body(f"B{side}", mass=0.6, inertia=0.0125, position=place, angle=PHI[side])
        m.add_revolute(f"th{side}", m.ground.at(*base), upper.at(-UPPER / 2, 0))
        m.add_revolute(f"elbow{side}", upper.at(UPPER / 2, 0), lower.at(-LOWER / 2, 0))
        m.add_friction(f"drag{side}", f"th{side}", viscous=0.05)
        if motors:
            motor = da.DCMotor(
                torque_constant=0.1,
                resistance=1.0,
                inductance=0.01,
                gear_ratio=20.0,
                rotor_inertia=1e-4,
                rotor_damping=1e-4,
            )
            m.add_actuator(f"motor{side}", f"th{side}", input=f"voltage{side}", model=motor)
        else:
            m.add_actuator(f"motor{side}", f"th{side}", input=f"torque{side}")
        tips[side] = lower.at(LOWER / 2, 0)
    m.add_revolute("tip", tips["L"], tips["R"])
    payload = m.add_body("payload", mass=1.0, inertia=0.0, position=(0, 0.6169))
    m.add_fixed("grip", tips["L"], payload.at(0, 0))
    return m


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(five_bar())


def state(eqs: da.EquationsOfMotion) -> State:
    return da.assemble(
        eqs,
        {"thL": LEFT, "thR": RIGHT},
        velocity={"thL": 0.5, "thR": -0.3},
        internal={"motorL.current": 0.8, "motorR.current": -0.4},
    )


@pytest.mark.spec("002-T6")
def test_the_payload_is_where_the_chains_meet(eqs):
    s = state(eqs)
    assert (s["payload.x"], s["payload.y"]) == pytest.approx((0, 0.616879043), abs=5e-10)
    assert np.rad2deg((s["BL.angle"], s["BR.angle"])) == pytest.approx((45.572996, 134.427004), abs=5e-7)


@pytest.mark.spec("002-T6")
def test_rates_of_bars_and_payload_per_unit_of_shaft_speed(eqs):
    expected = {  # columns (thL', thR'), printed to 8 digits
        "BL.rate": (-0.14951772, 0.57808915),
        "BR.rate": (0.57808915, -0.14951772),
        "payload.vx": (-0.20641912, -0.20641912),
        "payload.vy": (-0.2023312, 0.2023312),
    }
    for column, motion in enumerate(
        ({"thL": lambda t: LEFT + t, "thR": RIGHT}, {"thL": LEFT, "thR": lambda t: RIGHT + t})
    ):
        run = da.kinematics(eqs, [0.0], motion=motion)
        for name, values in expected.items():
            assert run[name][0] == pytest.approx(values[column], abs=5.1e-9)
        opening = (0.72760688, -0.72760688)[column]
        assert run["BR.rate"][0] - run["BL.rate"][0] == pytest.approx(opening, abs=1.01e-8)


@pytest.mark.spec("002-T6", "002-G1")
def test_voltages_accelerate_shafts_and_currents(eqs):
    found = da.forward_dynamics(eqs, state(eqs), inputs={"voltageL": 3.0, "voltageR": -2.0})
    assert (found["UL.rate"], found["UR.rate"]) == pytest.approx(ACCELERATION, abs=5e-6)
    assert found.zdot == pytest.approx([120, -100], abs=1e-10)


@pytest.mark.spec("002-T6", "002-G4")
def test_the_motion_determines_the_currents_and_the_voltages(eqs):
    sol = da.forward_dynamics(eqs, state(eqs), inputs={"voltageL": 3.0, "voltageR": -2.0}, method="kkt")
    left, right = sol["UL.rate"], sol["UR.rate"]
    motion = {
        "thL": lambda t: LEFT + 0.5 * t + left * t**2 / 2,
        "thR": lambda t: RIGHT - 0.3 * t + right * t**2 / 2,
    }
    run = da.inverse_dynamics(eqs, motion, times=np.linspace(0, 0.02, 81))
    assert run.statistics["determination"] == "determined"
    # the gear multiplies: 1e-9 of the acceleration is 1e-9 of the current's torque
    assert (run["motorL.current"][0], run["motorR.current"][0]) == pytest.approx((0.8, -0.4), abs=1e-9)
    # L i' = u - R i - k n θ' at every sample, with i' by splines
    current_rate = np.gradient(run["motorL.current"], run.time, edge_order=2)
    expected = 0.01 * current_rate + run["motorL.current"] + 2.0 * run["thL.rate"]
    assert run["voltageL"][5:-5] == pytest.approx(expected[5:-5], abs=1e-4)


@pytest.mark.spec("002-T6")
def test_holding_torques_are_the_gravity_forces():
    run = da.inverse_dynamics(da.equations(five_bar(motors=False)), {"thL": LEFT, "thR": RIGHT}, times=[0.0])
    gravity = (3.9115406, -3.9115406)  # generalized forces on (thL, thR)
    assert (run["torqueL"][0], run["torqueR"][0]) == pytest.approx([-g for g in gravity], abs=5.1e-8)
