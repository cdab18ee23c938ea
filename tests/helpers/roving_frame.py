"""A steel frame of five floors measured in set-ups: two sensors stay at the top, two move from corner to corner.

Modes are superposed exactly: each is an oscillator under white noise, sampled with its force held (``lfilter``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy.signal

from dalembert.linear import Modes
from dalembert.record import Record

HERTZ = np.array([2.100, 4.016, 4.773, 6.679, 7.619, 9.665, 12.162, 12.598])
DAMPING = np.full(8, 0.002)
# direction of each mode (x, y, turn about z) and its number along the height
KINDS = ((0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (0, 3), (2, 2), (1, 3))
FLOORS, WIDTH, DEPTH, HEIGHT = 5, 4.0, 3.0, 3.0
CORNERS = ((0.0, 0.0), (WIDTH, 0.0), (WIDTH, DEPTH), (0.0, DEPTH))
UNITS = {0: "m", 1: "m/s", 2: "m/s²"}


def directions(turn: float = 0.0) -> dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]]:
    """Place and direction of every sensor, references first; the moved ones turned about z by an angle [rad]."""
    c, s = np.cos(turn), np.sin(turn)
    top = (*CORNERS[0], FLOORS * HEIGHT)
    found = {"ref_x": (top, (1.0, 0.0, 0.0)), "ref_y": (top, (0.0, 1.0, 0.0))}
    for floor in range(1, FLOORS + 1):
        for corner in (1, 2, 3):
            at = (*CORNERS[corner], floor * HEIGHT)
            found |= {f"f{floor}c{corner}_x": (at, (c, s, 0.0)), f"f{floor}c{corner}_y": (at, (-s, c, 0.0))}
    return found


@cache
def motion() -> np.ndarray:
    """(floors, 3, modes) motion of the centre of each floor and its turn, of modes of unit size."""
    k = np.arange(1, FLOORS + 1)
    found = np.zeros((FLOORS, 3, len(HERTZ)))
    for j, (way, number) in enumerate(KINDS):
        found[:, way, j] = np.sin((2 * number - 1) * np.pi * k / (2 * FLOORS + 1)) / (1.0, 1.0, 0.4 * WIDTH)[way]
    return found


def truth(names: Sequence[str], turn: float = 0.0, hertz: np.ndarray = HERTZ) -> Modes:
    """The modes at some sensors, as displacements."""
    rows = [_row(*directions(turn)[name]) for name in names]
    omega = 2.0 * np.pi * hertz
    poles = omega * (-DAMPING + 1j * np.sqrt(1.0 - DAMPING**2))
    return Modes(poles, np.array(rows), tuple(names))


def _row(at: tuple[float, float, float], way: tuple[float, float, float]) -> np.ndarray:
    x, y = at[0] - WIDTH / 2.0, at[1] - DEPTH / 2.0
    floor = motion()[round(at[2] / HEIGHT) - 1]
    return np.asarray(way[0] * (floor[0] - y * floor[2]) + way[1] * (floor[1] + x * floor[2]))


def names_of(setup: int) -> tuple[str, ...]:
    """Sensors of one of the 15 set-ups."""
    floor, corner = setup // 3 + 1, setup % 3 + 1
    return "ref_x", "ref_y", f"f{floor}c{corner}_x", f"f{floor}c{corner}_y"


def measure(
    setups: Sequence[int] = range(15), *, rate: float = 256.0, duration: float = 600.0, noise: float = 0.05,
    kinds: tuple[int, int] = (2, 2), turn: float = 0.0, seed: int = 0, drift: float = 0.0,
    hertz: np.ndarray = HERTZ,
) -> list[Record]:  # fmt: skip
    """Records of set-ups under white forces whose level differs.

    kinds : 0, 1 or 2 for displacements, velocities, accelerations, of references and of moved sensors
    noise : of the sensors, relative to their size; drift : standard deviation of the frequencies between set-ups
    """
    records = []
    for j in setups:
        rng = np.random.default_rng([seed, j])
        level, names = 10.0 ** rng.uniform(-0.5, 0.5), names_of(j)
        samples = round(duration * rate)
        forces = rng.normal(size=(samples, 3 * FLOORS)) * level
        modal = forces @ motion().reshape(3 * FLOORS, -1)
        factor = 1.0 + drift * rng.normal()
        parts = [_respond(modal[:, k], factor * f, z, 1.0 / rate) for k, (f, z) in enumerate(zip(hertz, DAMPING))]
        shapes = truth(names, turn).shapes
        which = [kinds[0]] * 2 + [kinds[1]] * 2
        y = np.column_stack(
            [sum(part[kind] * phi for part, phi in zip(parts, row)) for kind, row in zip(which, shapes)]
        )
        y += noise * y.std(axis=0) * rng.normal(size=y.shape)
        t = np.arange(samples) / rate
        records.append(
            Record(t, y, names, {name: UNITS[kind] for name, kind in zip(names, which)}, name=f"setup{j + 1}")
        )
    return records


def _respond(force: np.ndarray, f: float, zeta: float, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Displacement, velocity and acceleration of an oscillator of unit mass under a force held over each step."""
    w = 2.0 * np.pi * f
    row = np.array([[-(w**2), -2.0 * zeta * w]])
    A, D = np.vstack([[[0.0, 1.0]], row]), np.array([[0.0], [0.0], [1.0]])
    system = scipy.signal.cont2discrete((A, D[1:], np.vstack([np.eye(2), row]), D), dt)
    numerators, denominator = scipy.signal.ss2tf(*system[:4])
    return tuple(scipy.signal.lfilter(b, denominator, force) for b in numerators)  # type: ignore[return-value]
