"""Records on which decisions are made: all measured ones of the tests and studies, and twenty simulated ones.

Every simulated structure is a sum of modes with random shapes under a force that is held over a sample, so that its
motion is exact. They differ in what makes a decision hard: close modes, light and heavy damping, noise, short, long and
oversampled records, periodic forces, impacts, harmonics, ambient vibration, free decay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from scipy.signal import lfilter

from dalembert.record import Record
from dalembert.studies.identification import robot_arm, shake_table

DATA = Path(__file__).parents[1] / "data" / "measured"


@dataclass(frozen=True)
class TestRecord:
    """A record with its channels, and the options of its study."""

    __test__ = False
    record: Record
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def moved(self, draw: int, size: float = 1e-9) -> TestRecord:
        """Every sample moved by a random amount of this share of its channel's size; draw 0 moves none."""
        if not draw:
            return self
        run = self.record
        noise = np.random.default_rng(draw).normal(size=run.data.shape)
        moved = Record(run.time, run.data + size * run.data.std(axis=0) * noise, run.names, run.units, name=run.name)
        return TestRecord(moved, self.inputs, self.outputs, self.options)


def measured(file: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> TestRecord:
    """Channels of a file of ``tests/data/measured``."""
    with np.load(DATA / f"{file}.npz") as stored:
        names, values, dt = list(stored["names"]), stored["values"].astype(float), float(stored["dt"])
    places = [names.index(name) for name in inputs + outputs]
    run = Record(dt * np.arange(len(values)), values[:, places], inputs + outputs, name=file)
    return TestRecord(run, inputs, outputs)


def simulated(
    seed: int, hertz: tuple[float, ...], ratios: float | tuple[float, ...] = 0.01, *, samples: int = 3000,
    rate: float = 50.0, nu: int = 1, ny: int = 2, noise: float = 0.02, force: str = "white", hidden: float = 0.0,
    sine: tuple[float, float] | None = None, cubic: float = 0.0, offset: float = 0.0,
) -> TestRecord:  # fmt: skip
    """Accelerations of a sum of modes.

    nu : inputs, 0 for ambient vibration; noise : of the sensors; force : "white", "periodic", "impacts", "slow" or
    "decay"; hidden : of forces that are not measured; sine : [Hz] and size of a machine; cubic : distortion.
    """
    rng, m = np.random.default_rng(seed), len(hertz)
    w, zeta = 2.0 * np.pi * np.array(hertz), np.broadcast_to(ratios, m)
    ways = max(nu, 1)
    drive, shapes = rng.normal(size=(ways, m)), rng.normal(size=(ny, m))
    u = rng.normal(size=(samples, ways))
    if force == "periodic":
        u = np.tile(u[: samples // 5], (6, 1))[:samples]
    elif force == "impacts":
        u = np.zeros((samples, ways))
        u[20 :: samples // 4] = 30.0 * rng.uniform(0.5, 1.0, size=(len(u[20 :: samples // 4]), ways))
    elif force == "slow":
        u = lfilter([0.1], [1.0, -0.9], lfilter([0.1], [1.0, -0.9], u, axis=0), axis=0)
        u = 3.0 * u / u.std(axis=0)
    elif force == "decay":
        u[40:] = 0.0
    moving = u + hidden * rng.normal(size=u.shape)
    if sine is not None:
        moving = moving + sine[1] * np.sin(2.0 * np.pi * sine[0] * np.arange(samples)[:, None] / rate)
    y = np.zeros((samples, ny))
    for j in range(m):
        A = np.array([[0.0, 1.0], [-(w[j] ** 2), -2.0 * zeta[j] * w[j]]])
        B = np.vstack([np.zeros(ways), drive[:, j]])
        step = scipy.linalg.expm(np.block([[A, B], [np.zeros((ways, 2 + ways))]]) / rate)
        z, vectors = np.linalg.eig(step[:2, :2])
        b = np.linalg.solve(vectors, step[:2, 2:].astype(complex))
        x = np.stack([lfilter([0.0, 1.0], [1.0, -z[k]], moving @ b[k]) for k in (0, 1)], axis=1) @ vectors.T
        y += np.outer(x.real @ A[1] + moving @ B[1], shapes[:, j])
    y += cubic * y**3 / y.std(axis=0) ** 2
    y += noise * y.std(axis=0) * rng.normal(size=y.shape) + offset * y.std(axis=0)
    inputs, outputs = tuple(f"u{k + 1}" for k in range(nu)), tuple(f"y{k + 1}" for k in range(ny))
    run = Record(np.arange(samples) / rate, np.hstack([u[:, :nu], y]), inputs + outputs)
    return TestRecord(run, inputs, outputs)


def _robot_arm() -> TestRecord:
    return TestRecord(robot_arm.record(), ("torque",), ("acceleration",), {"hold_out": 0.5})


def _shake_table(inputs: tuple[str, ...] = ("ground",)) -> TestRecord:
    run = shake_table.record()
    return TestRecord(run.select(*inputs, *shake_table.FLOORS), inputs, shake_table.FLOORS)


FLOORS = ("unit1", "unit2", "unit3")
MEASURED: dict[str, Callable[[], TestRecord]] = {
    "robot arm": _robot_arm,
    "shake table": _shake_table,
    "shake table, floors alone": lambda: _shake_table(()),
    "ball and beam": lambda: measured("ball_and_beam", ("angle",), ("position",)),
    "building": lambda: measured("building", ("ground",), FLOORS),
    "building, floors alone": lambda: measured("building", (), FLOORS),
    "bridge, one input": lambda: measured("bridge", ("chan3",), ("chan12",)),
    "bridge": lambda: measured(
        "bridge", ("chan25", "chan2", "chan7", "chan18"), ("chan23", "chan13", "chan15", "chan20")
    ),
    "silverbox": lambda: measured("silverbox", ("v1",), ("v2",)),
    "hysteresis, multisine": lambda: measured("hysteresis_multisine", ("force",), ("displacement",)),
    "hysteresis, sweep": lambda: measured("hysteresis_sinesweep", ("force",), ("displacement",)),
}  # fmt: skip
SIMULATED: dict[str, Callable[[], TestRecord]] = {
    "two modes": lambda: simulated(1, (3.0, 8.0)),
    "one output": lambda: simulated(2, (2.0, 7.0, 15.0), ny=1),
    "strong noise": lambda: simulated(3, (3.0, 8.0, 14.0), noise=0.5),
    "noise and motion alike": lambda: simulated(4, (4.0, 9.0), noise=1.0, samples=2000),
    "no noise": lambda: simulated(5, (3.0, 8.0, 14.0), noise=0.0),
    "close modes": lambda: simulated(6, (5.0, 5.1, 12.0), 0.01, ny=3, samples=4000),
    "close modes, one output": lambda: simulated(7, (5.0, 5.15), 0.01, ny=1),
    "light damping": lambda: simulated(8, (3.0, 8.0), 0.0005, ny=3),
    "heavy damping": lambda: simulated(9, (3.0, 9.0), (0.2, 0.1), ny=3),
    "short": lambda: simulated(10, (3.0, 8.0), 0.02, samples=250),
    "oversampled": lambda: simulated(11, (1.0, 2.5), 0.02, rate=100.0, samples=8000, force="slow"),
    "many modes": lambda: simulated(12, (2.0, 3.5, 6.0, 8.5, 11.0, 14.0, 17.0, 21.0), ny=4, nu=2, samples=4000),
    "weak mode": lambda: simulated(13, (4.0, 11.0), (0.01, 0.05), noise=0.3, ny=1, samples=1500),
    "hidden forces": lambda: simulated(14, (3.0, 8.0), hidden=0.5, ny=3),
    "periodic force": lambda: simulated(15, (3.0, 8.0), force="periodic", samples=5000),
    "impacts": lambda: simulated(16, (3.0, 8.0), 0.02, force="impacts"),
    "distortion": lambda: simulated(17, (3.0, 8.0), 0.02, cubic=0.05),
    "ambient": lambda: simulated(18, (3.0, 8.0, 13.0), nu=0, ny=4, samples=6000),
    "ambient with a machine": lambda: simulated(19, (3.0, 8.0), 0.02, nu=0, ny=3, samples=6000, sine=(6.0, 1.0)),
    "free decay, offsets": lambda: simulated(20, (3.0, 8.0), nu=0, ny=2, force="decay", samples=1500, offset=0.2),
}  # fmt: skip


@cache
def find_record(name: str) -> TestRecord:
    """A record by its name."""
    return {**MEASURED, **SIMULATED}[name]()
