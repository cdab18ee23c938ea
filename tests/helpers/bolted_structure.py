"""A structure with a bolted joint under a multisine: a ground vibration test whose modes are not all easy to find."""

from __future__ import annotations

import numpy as np

from dalembert.record import Record

HERTZ = np.array([3.1, 5.19, 7.32, 9.17, 11.4, 12.35, 13.6, 17.0])
DAMPING = np.array([0.02, 0.01, 0.009, 0.012, 0.03, 0.011, 0.04, 0.02])
RATE, PERIOD = 400.0, 8192  # samples of a period, 20.48 s


def bolted_structure(seed: int = 3, level: float = 30.0, periods: int = 4) -> tuple[Record, np.ndarray]:
    """Force and three accelerations with 1 % noise, and the frequencies of the linear structure.

    The joint, across a combination of the modes, has a cubic spring and dry friction. Period after period of a random
    multisine of odd lines from 2 to 15 Hz by steps of Runge and Kutta; the first is left out.
    """
    rng = np.random.default_rng(seed)
    f = np.fft.rfftfreq(PERIOD, 1.0 / RATE)
    lines = np.zeros(len(f), dtype=complex)
    excited = (f >= 2.0) & (f <= 15.0) & (np.arange(len(f)) % 2 == 1)
    lines[excited] = np.exp(2j * np.pi * rng.random(excited.sum()))
    force = np.fft.irfft(lines, PERIOD)
    force = np.tile(level * force / force.std(), periods + 1)
    omega, n = 2.0 * np.pi * HERTZ, len(HERTZ)
    shapes, drive = rng.normal(size=(3, n)), rng.normal(size=n)
    drive[5], drive[[4, 6]] = 0.3, 0.2 * drive[[4, 6]]
    joint = rng.normal(size=n) * np.array([0.2, 0.3, 1.0, 0.3, 0.5, 0.5, 0.5, 0.3])

    def accelerate(q: np.ndarray, v: np.ndarray, u: float) -> np.ndarray:
        effort = 3e6 * (joint @ q) ** 3 + 0.15 * np.tanh((joint @ v) / 2e-3)
        return -(omega**2) * q - 2.0 * DAMPING * omega * v + drive * u - joint * effort

    h, q, v = 1.0 / RATE, np.zeros(n), np.zeros(n)
    accelerations = np.empty((len(force), n))
    for k, u in enumerate(force):
        a1 = accelerations[k] = accelerate(q, v, u)
        a2 = accelerate(q + h / 2 * v, v + h / 2 * a1, u)
        a3 = accelerate(q + h / 2 * (v + h / 2 * a1), v + h / 2 * a2, u)
        a4 = accelerate(q + h * (v + h / 2 * a2), v + h * a3, u)
        q, v = q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    y = accelerations[PERIOD:] @ shapes.T
    y = y + 0.01 * y.std(axis=0) * rng.normal(size=y.shape)
    names = ("force", "a1", "a2", "a3")
    return Record(np.arange(len(y)) * h, np.column_stack([force[PERIOD:], y]), names), HERTZ
