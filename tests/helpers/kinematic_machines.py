"""Machines for tests of kinematics-based models."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.estimate import KinematicModel, model_kinematics, process

DT = 1e-3


def slider_crank(L1: float = 0.3, L2: float = 0.6) -> da.Mechanism:
    """Guide on the y axis through the crank's axis; angles from the x axis (spec 004, C19)."""
    m = da.Mechanism("slider-crank", planar=True)
    rise = np.arccos(-L1 / L2)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(L1), position=(L1 / 2, 0))
    place = (L1 + L2 / 2 * np.cos(rise), L2 / 2 * np.sin(rise))
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(L2), position=place, angle=rise)
    slider = m.add_body("slider", mass=1.0, inertia=0.0, position=(0, L2 * np.sin(rise)))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-L1 / 2, 0))
    m.add_revolute("B", crank.at(L1 / 2, 0), rod.at(-L2 / 2, 0))
    m.add_revolute("C", rod.at(L2 / 2, 0), slider.at(0, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), slider.at(0, 0), axis=(0, 1))
    m.add_sensor("slider acceleration", da.joint_acceleration("guide"))
    m.add_sensor("slider speed", da.speed("guide"))
    m.add_sensor("encoder", da.angle("A"))
    m.add_sensor("pin force", da.reaction("C"))
    m.add_sensor("squared", da.expression(lambda s: s["A.rate"] ** 2, "rad^2/s^2"))
    return m


def two_link(L1=0.4, d1=0.3, d2=0.25, gravity=(0, 0)) -> da.Mechanism:
    m = da.Mechanism("two-link", planar=True, gravity=gravity)
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(L1), position=(L1 / 2, 0))
    lower = m.add_body("lower", mass=1.0, inertia=da.rod(0.4), position=(L1 + 0.2, 0))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-L1 / 2, 0))
    m.add_revolute("B", upper.at(L1 / 2, 0), lower.at(-0.2, 0))
    m.add_sensor("acc1", da.accelerometer(upper.at(d1 - L1 / 2, 0)))
    m.add_sensor("acc2", da.accelerometer(lower.at(d2 - 0.2, 0)))
    return m


def spatial_loop() -> da.Mechanism:
    """A planar four-bar modelled in space: three of its rows are redundant."""
    m = da.Mechanism("loop", gravity=(0, 0, 0))
    joint = np.array([0.2, 0, 0])
    d, rocker_length, coupler_length = 0.6, 0.5, 0.55
    # from joint B at (0.2, 0) to D at (0.6, 0): the triangle over BD
    base = d - 0.2
    alpha = np.arccos((coupler_length**2 + base**2 - rocker_length**2) / (2 * coupler_length * base))
    top = joint + coupler_length * np.array([np.cos(alpha), np.sin(alpha), 0])

    def bar(name, a, b):
        middle, along = (a + b) / 2, b - a
        turn = np.arctan2(along[1], along[0])
        half = np.linalg.norm(along) / 2
        body = m.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=tuple(middle),
                          rotation=(np.cos(turn / 2), 0, 0, np.sin(turn / 2)))  # fmt: skip
        return body, half

    crank, c = bar("crank", np.zeros(3), joint)
    coupler, k = bar("coupler", joint, top)
    rocker, r = bar("rocker", np.array([d, 0, 0]), top)
    m.add_revolute("A", m.ground.at(0, 0, 0), crank.at(-c, 0, 0), axis=(0, 0, 1))
    m.add_revolute("B", crank.at(c, 0, 0), coupler.at(-k, 0, 0), axis=(0, 0, 1))
    m.add_revolute("C", coupler.at(k, 0, 0), rocker.at(r, 0, 0), axis=(0, 0, 1))
    m.add_revolute("D", m.ground.at(d, 0, 0), rocker.at(-r, 0, 0), axis=(0, 0, 1))
    m.add_sensor("imu", da.accelerometer(coupler.at(0.1, 0.05, 0.0)))
    m.add_sensor("gyro", da.gyroscope(rocker))
    return m


def observer(eqs, **options) -> KinematicModel:
    return model_kinematics(
        eqs, **{"independent": "A.angle", "inputs": "slider acceleration", "outputs": "encoder", **options}
    )


def stepped(model: KinematicModel, x, u, dt: float = DT) -> np.ndarray:
    p = process(model)
    return np.array(p.functions["step"](x, u, p.p, 0.0, dt)).ravel()[: p.ne]
