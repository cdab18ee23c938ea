"""Small arms for identification: drawings, motions by Fourier series, and records with known parameters and noise."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.equations import EquationsOfMotion
from dalembert.solve.position.prescribed_motion import acceleration_name

TERMS = ("viscous", "coulomb", "rotor")


def planar_arm(links: int = 2, *, gravity: bool = True) -> da.Mechanism:
    """Rods in a vertical plane, hinges A, B, ..., a torque in each."""
    m = da.Mechanism("arm", planar=True, gravity=None if gravity else 0)
    before = m.ground.at(0, 0)
    for k in range(links):
        rod = m.add_body(f"rod{k + 1}", mass=2.0 - 0.5 * k, inertia=da.box(0.5, 0.1))
        name = "ABCDEF"[k]
        m.add_revolute(name, before, rod.at(-0.25, 0))
        m.add_actuator(f"motor{name}", name, input=f"u{name}")
        before = rod.at(0.25, 0)
    return m


def fourier_motion(eqs: EquationsOfMotion, t: FloatArray, seed: int = 0, size: float = 1.0) -> tuple[Any, Any, Any]:
    """q, v, a (N, nv) of joints with one coordinate each: three harmonics with random coefficients."""
    rng = np.random.default_rng(seed)
    w = 2 * np.pi / 4.0
    found = np.zeros((3, len(t), eqs.nv))
    for j in range(eqs.nv):
        for k in (1, 2, 3):
            a, b = size * rng.normal(size=2) / np.sqrt(k)
            s, c = np.sin(k * w * t), np.cos(k * w * t)
            found[0, :, j] += a * s + b * c
            found[1, :, j] += k * w * (a * c - b * s)
            found[2, :, j] -= (k * w) ** 2 * (a * s + b * c)
    return found[0], found[1], found[2]


def measured_record(
    eqs: EquationsOfMotion, motion: tuple[Any, Any, Any], t: FloatArray, *, noise: Any = 0.0, seed: int = 0,
    viscous: Any = 0.0, coulomb: Any = 0.0, rotor: Any = 0.0, derivatives: bool = True, encoder: float = 0.0,
) -> da.Record:  # fmt: skip
    """Positions (with rates and accelerations) and noisy torques of a tree whose joints have friction and motors."""
    q, v, a = motion
    rng = np.random.default_rng(seed)
    torque = da.tree.inverse_dynamics(eqs, (q, v), a)
    torque = torque + viscous * v + coulomb * np.sign(v) + rotor * a + noise * rng.normal(size=q.shape)
    channels = {name: q[:, k] + encoder * rng.normal(size=len(t)) for k, name in enumerate(eqs.coordinates.names)}
    units = dict.fromkeys(channels, "rad")
    if derivatives:
        for k, name in enumerate(eqs.speeds.names):
            channels[name] = v[:, k]
            channels[acceleration_name(name, eqs.speeds.index)] = a[:, k]
    channels |= {name: torque[:, k] for k, name in enumerate(eqs.inputs.names)}
    units |= dict.fromkeys(eqs.inputs.names, "N m")
    return da.Record.from_channels(t, channels, units, name="test")
