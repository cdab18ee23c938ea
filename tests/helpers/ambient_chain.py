"""A fixed-free chain of eight equal masses under white forces: accelerations of output-only records, with the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from dalembert.linear import Modes, SecondOrder, StateSpace
from dalembert.linear.recursions import march
from dalembert.record import Record

MASSES = tuple(f"m{k + 1}" for k in range(8))
DT = 1.0 / 64.0


@cache
def chain(damping: float = 0.01, factor: float = 1.0) -> SecondOrder:
    """Natural frequencies 20 sin((2j - 1)π/34) Hz, 1.845 to 19.66 Hz, all with one damping ratio.

    factor : of the stiffness
    """
    stiffness = (20.0 * np.pi) ** 2 * factor * (2.0 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1))
    stiffness[-1, -1] /= 2.0
    plain = SecondOrder(np.eye(8), stiffness)
    modes = plain.modes()
    momenta = modes.momenta
    C = momenta @ np.diag(2.0 * damping * modes.frequencies) @ momenta.T
    return SecondOrder(
        np.eye(8), stiffness, C=C, B=np.eye(8), Y_acceleration=np.eye(8), coordinates=MASSES, outputs=list(MASSES),
        inputs=[f"f{k + 1}" for k in range(8)],
    )  # fmt: skip


@cache
def sampled(damping: float = 0.01) -> StateSpace:
    return chain(damping).state_space().to_discrete(DT)


def truth(damping: float = 0.01) -> Modes:
    return chain(damping).modes()


def ambient(
    samples: int = 76_800, seed: int = 0, *, level: float = 1.0, damping: float = 0.01, noise: float = 0.02,
    sines: Mapping[float, float] | None = None, forces: Sequence[int] = range(8), name: str = "",
) -> Record:  # fmt: skip
    """Accelerations of all masses under white forces on some, with sensor noise, and a machine on mass 3.

    level : of the forces; noise : of the sensors, relative to the outputs
    sines : frequency [Hz] -> amplitude of the machine's force, in standard deviations of the other forces
    """
    plant, rng = sampled(damping), np.random.default_rng(seed)
    force = np.zeros((samples, 8))
    force[:, list(forces)] = rng.normal(size=(samples, len(forces)))
    t = DT * np.arange(samples)
    for f, size in (sines or {}).items():
        force[:, 2] += size * np.sin(2.0 * np.pi * f * t + 1.0)
    x = march(plant.A, (force @ plant.B.T)[:-1], np.zeros(len(plant.A)))
    y = level * (x @ plant.C.T + force @ plant.D.T)
    y += noise * y.std(axis=0) * rng.normal(size=y.shape)
    return Record(t, y, MASSES, dict.fromkeys(MASSES, "m/s²"), name=name)
