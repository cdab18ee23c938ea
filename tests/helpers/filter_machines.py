"""Machines for filters: closed loops, rotations in space, internal states, rolling, friction, a moving joint."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.equations import State


def four_bar(gravity: float = 9.81, motor: bool = False) -> da.EquationsOfMotion:
    """The field's planar benchmark: ground points (0, 0), (10, 0), bars 2, 8, 5 m and kg."""
    m = da.Mechanism("four-bar", planar=True, gravity=(0, -gravity))
    crank = m.add_body("crank", mass=2.0, inertia=2.0 * 2.0**2 / 12)
    coupler = m.add_body("coupler", mass=8.0, inertia=8.0 * 8.0**2 / 12)
    rocker = m.add_body("rocker", mass=5.0, inertia=5.0 * 5.0**2 / 12)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-1, 0))
    m.add_revolute("B", crank.at(1, 0), coupler.at(-4, 0))
    m.add_revolute("C", coupler.at(4, 0), rocker.at(2.5, 0))
    m.add_revolute("D", m.ground.at(10, 0), rocker.at(-2.5, 0))
    if motor:
        m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    m.add_sensor("gyroscope", da.gyroscope(coupler))
    m.add_sensor("accelerometer", da.accelerometer(coupler.at(0, 0)))
    m.add_sensor("acceleration", da.acceleration(coupler.at(0, 0)))
    return da.equations(m)


def slider_crank() -> da.EquationsOfMotion:
    m = da.Mechanism("slider-crank", planar=True)
    crank = m.add_body("crank", mass=0.5, inertia=da.rod(0.2))
    rod = m.add_body("rod", mass=0.8, inertia=da.rod(0.6))
    slider = m.add_body("slider", mass=1.2, inertia=0.01)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), rod.at(-0.3, 0))
    m.add_revolute("C", rod.at(0.3, 0), slider.at(0, 0))
    m.add_prismatic("S", m.ground.at(0, 0), slider.at(0, 0))
    m.add_force("push", slider.at(0, 0), (1, 0), input="push")
    m.add_sensor("place", da.displacement("S"))
    m.add_sensor("acceleration", da.joint_acceleration("S"))
    return da.equations(m)


def motor_arm() -> da.EquationsOfMotion:
    """One internal state, the current."""
    m = da.Mechanism("motor arm", planar=True)
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(0.5))
    m.add_revolute("J", m.ground.at(0, 0), arm.at(-0.25, 0))
    motor = da.DCMotor(torque_constant=0.3, resistance=1.5, inductance=0.05, rotor_inertia=1e-4, gear_ratio=4.0)
    m.add_actuator("motor", "J", input="voltage", model=motor)
    m.add_sensor("encoder", da.angle("J"))
    return da.equations(m)


def free_top() -> da.EquationsOfMotion:
    """A free body in space: no rows at all."""
    m = da.Mechanism("free body", planar=False)
    body = m.add_body("body", mass=2.0, inertia=(0.1, 0.2, 0.25))
    m.add_sensor("gyroscope", da.gyroscope(body))
    m.add_sensor("mark", da.position(body.at(0.1, 0.2, 0.0)))
    return da.equations(m)


def ball_pendulum() -> da.EquationsOfMotion:
    """A ball joint and a hinge in space: turns of a body and an angle that counts its turns."""
    m = da.Mechanism("ball pendulum", planar=False)
    upper = m.add_body("upper", mass=1.0, inertia=(0.02, 0.03, 0.01), position=(0, 0, -0.3))
    lower = m.add_body("lower", mass=0.7, inertia=(0.01, 0.015, 0.01), position=(0, 0, -0.8))
    m.add_spherical("S", m.ground, upper, at=(0, 0, 0))
    m.add_revolute("H", upper, lower, at=(0, 0, -0.6), axis=(0, 1, 0))
    m.add_sensor("imu", da.accelerometer(lower.at(0, 0, -0.1)))
    m.add_sensor("hinge", da.angle("H"))
    return da.equations(m)


def spatial_loop() -> da.EquationsOfMotion:
    """A planar four-bar drawn in space: its rows are redundant."""
    m = da.Mechanism("loop in space", planar=False)
    tilt = (0.0, 1.0, 0.0)
    points = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.2), (0.5, 0.0, 0.4), (0.6, 0.0, 0.0)]
    bodies = []
    for k in range(3):
        middle = tuple(0.5 * (a + b) for a, b in zip(points[k], points[k + 1], strict=True))
        bodies.append(m.add_body(f"bar{k}", mass=0.5 + k, inertia=(0.01, 0.02, 0.015), position=middle))
    bars = [m.ground, *bodies, m.ground]
    for k in range(4):
        m.add_revolute("ABCD"[k], bars[k], bars[k + 1], at=points[k], axis=tilt)
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def rolling_disc() -> da.EquationsOfMotion:
    """Fewer speeds than coordinates."""
    m = da.Mechanism("disc", planar=False)
    disc = m.add_body("disc", mass=1.0, inertia=da.cylinder(0.3, axis="y"), position=(0, 0, 0.3))
    m.add_rolling_wheel("W", m.ground, disc, radius=0.3)
    m.add_sensor("gyroscope", da.gyroscope(disc))
    m.add_sensor("centre", da.position(disc.at(0, 0, 0)))
    return da.equations(m)


def sliding_block() -> da.EquationsOfMotion:
    """Friction that depends on the reactions of its joint."""
    m = da.Mechanism("block", planar=True)
    block = m.add_body("block", mass=2.0, inertia=0.1)
    m.add_prismatic("S", m.ground.at(0, 0), block.at(0, 0))
    m.add_force("push", block.at(0, 0), (1, -0.5), input="push")
    m.add_friction("rub", "S", coulomb=0.3, speed=0.05)
    m.add_sensor("place", da.displacement("S"))
    return da.equations(m)


def massless_coupler() -> da.EquationsOfMotion:
    """A singular mass matrix."""
    m = da.Mechanism("massless coupler", planar=True)
    crank = m.add_body("crank", mass=2.0, inertia=0.6)
    coupler = m.add_body("coupler", mass=0.0, inertia=0.0)
    rocker = m.add_body("rocker", mass=5.0, inertia=10.0)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-1, 0))
    m.add_revolute("B", crank.at(1, 0), coupler.at(-4, 0))
    m.add_revolute("C", coupler.at(4, 0), rocker.at(2.5, 0))
    m.add_revolute("D", m.ground.at(10, 0), rocker.at(-2.5, 0))
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def driven_pendulum() -> da.EquationsOfMotion:
    """A joint that moves with time."""
    m = da.Mechanism("driven pendulum", planar=True)
    cart = m.add_body("cart", mass=1.0, inertia=0.1)
    rod = m.add_body("rod", mass=0.5, inertia=da.rod(0.6))
    m.add_prismatic("S", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("H", cart.at(0, 0), rod.at(-0.3, 0))
    m.add_driver("drive", "S", lambda t: 0.2 * da.sin(4 * t))
    m.add_sensor("angle", da.angle("H"))
    return da.equations(m)


def state_of(eqs: da.EquationsOfMotion, seed: int = 0, spread: float = 0.3, t: float = 0.0) -> State:
    """A state on the joints, moved and moving at random."""
    random = np.random.default_rng(seed)
    start = da.assemble(eqs, t=t)
    q = start.q + spread * random.normal(size=eqs.nq)
    for first in (block.coordinate for block in eqs.quaternions):
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    hints = {name: float(q[k]) for k, name in enumerate(eqs.coordinates.names) if name not in eqs.unrecorded}
    return _moving(eqs, da.assemble(eqs, guess=hints, t=t), random)


def _moving(eqs: da.EquationsOfMotion, pose: State, random: np.random.Generator) -> State:
    still = eqs.state(pose.q, random.normal(size=eqs.nv), random.normal(size=eqs.nz), pose.t)
    return da.assemble(eqs, start=still, t=pose.t)


MACHINES = {
    "four-bar": lambda: four_bar(motor=True),
    "slider-crank": slider_crank,
    "motor arm": motor_arm,
    "free body": free_top,
    "ball pendulum": ball_pendulum,
    "loop in space": spatial_loop,
    "rolling disc": rolling_disc,
    "sliding block": sliding_block,
    "driven pendulum": driven_pendulum,
    "massless coupler": massless_coupler,
}
