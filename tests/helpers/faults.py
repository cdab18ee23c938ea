"""Faults of measured records, each with the finding (or error) that names it; None where it does no harm to the modes.

The record is the three-storey frame under a random force, 3000 samples at 32 Hz, 1 % noise. "No harm" means all three
modes within 1 % in frequency and 20 % in damping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.record import Record
from tests.helpers.storey_frame import DT, FLOORS, played, sampled_frame, storey_frame, white

N = 3000
GOOD = played(sampled_frame(), white(N, seed=3), noise=0.01, seed=3)
TRUE = storey_frame().modes()
TIME = GOOD.time
F, A1, A2, A3 = (GOOD[name] for name in ("force", *FLOORS))
HALF = np.arange(N) < N // 2


def noise(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=N)


def changed(units: dict[str, str] | None = None, **columns: Any) -> Record:
    channels = {name: np.broadcast_to(columns.get(name, GOOD[name]), (N,)) for name in GOOD.names}
    return Record.from_channels(TIME, channels, GOOD.units | (units or {}))


def part(name: str, rows: Any, value: float) -> Record:
    column = GOOD[name].copy()
    column[rows] = value
    return changed(**{name: column})


def moved(name: str, late: int) -> Record:
    """A channel late by some samples (early where negative), the ends cut."""
    rows = np.arange(abs(late), N - abs(late))
    data = GOOD.data[rows].copy()
    data[:, GOOD.names.index(name)] = GOOD[name][rows - late]
    return Record(TIME[rows], data, GOOD.names, GOOD.units)


def beside(column: np.ndarray) -> Record:
    return Record(TIME, np.column_stack([GOOD.data, column]), [*GOOD.names, "a4"], [*GOOD.units.values(), "m/s²"])


def hum(column: np.ndarray, phase: float = 0.0) -> np.ndarray:
    return column + 2.0 * column.std() * np.sin(2.0 * np.pi * 12.5 * TIME + phase)


def loose() -> np.ndarray:
    """A connector that opens for a tenth of a second, at random times."""
    open_ = np.convolve(np.random.default_rng(1).uniform(size=N) < 0.02, np.ones(3), "same") > 0
    return np.where(open_, 0.0, A1)


def modes_right(found: Any) -> bool:
    """Whether the three modes are among those found."""
    f, zeta = found.frequencies_hz, found.damping_ratios
    if len(f) < 3:
        return False
    near = [int(np.abs(f - one).argmin()) for one in TRUE.frequencies_hz]
    frequency = np.abs(f[near] / TRUE.frequencies_hz - 1.0).max()
    return bool(frequency < 0.01 and np.abs(zeta[near] / TRUE.damping_ratios - 1.0).max() < 0.2)


FAULTS: dict[str, tuple[Callable[[], Record], str | None]] = {
    "two outputs swapped": (lambda: changed(a1=A2, a2=A1), None),
    "an output reversed": (lambda: changed(a2=-A2), None),
    "the force reversed": (lambda: changed(force=-F), None),
    "clipped": (lambda: changed(a2=np.clip(A2, -A2.std(), A2.std())), "saturated-channel"),
    "clipped force": (lambda: changed(force=np.clip(F, -1.0, 1.0)), "saturated-channel"),
    "late by two samples": (lambda: moved("a1", 2), None),
    "early by three samples": (lambda: moved("a1", -3), "not-synchronous"),
    "force late by two samples": (lambda: moved("force", 2), "not-synchronous"),
    "dead": (lambda: changed(a2=0.0), "constant-channel"),
    "dead, but its noise": (lambda: changed(a2=1e-3 * noise()), "unexplained-output"),
    "dead force": (lambda: changed(force=2.5), "constant-channel"),
    "loose connector": (lambda: changed(a1=loose()), None),
    "aliased tone": (lambda: changed(a1=A1 + A1.std() * np.sin(2 * np.pi * 41.0 * TIME)), "undriven-motion"),
    "mains hum": (lambda: changed(a1=hum(A1)), "undriven-motion"),
    "mains hum everywhere": (lambda: changed(a1=hum(A1), a2=hum(A2, 1.0), a3=hum(A3, 2.0)), "undriven-motion"),
    "drift": (lambda: changed(a1=A1 + 20.0 * A1.std() * TIME / TIME[-1]), "drift"),
    "drifting level": (lambda: changed(a1=A1 + 4.0 * A1.std() * np.cumsum(noise()) / np.sqrt(N)), "drift"),
    "offset": (lambda: changed(a1=A1 + 3.0 * A1.std()), None),
    "wrong unit, factor a million": (lambda: changed(a2=1e7 * A2), "suspect-units"),
    "g for m/s²": (lambda: changed(a2=A2 / 9.81), None),
    "every sample twice": (
        lambda: Record(DT / 2 * np.arange(2 * N), np.repeat(GOOD.data, 2, axis=0), GOOD.names, GOOD.units),
        "repeated-samples",
    ),
    "truncated channel": (lambda: part("a3", slice(2000, N), 0.0), "truncated-channel"),
    "channel that starts late": (lambda: part("a3", slice(0, 900), 0.0), "truncated-channel"),
    "missing samples": (lambda: part("a1", slice(300, 330), np.nan), "not-finite"),
    "infinite sample": (lambda: part("a1", 5, np.inf), "not-finite"),
    "one overflow": (lambda: part("a1", 70, 32767.0), "unexplained-output"),
    "twenty spikes": (
        lambda: part("a2", np.random.default_rng(7).choice(N, 20, replace=False), 30.0 * A2.std()),
        "unexplained-output",
    ),
    "wrapped round": (lambda: changed(a1=(A1 + 1.5 * A1.std()) % (3.0 * A1.std()) - 1.5 * A1.std()), None),
    "a channel twice": (lambda: beside(A2), "dependent-channels"),
    "a channel twice, scaled": (lambda: beside(2.0 * A2 + 1.0), "dependent-channels"),
    "three levels only": (lambda: changed(a1=np.round(A1 / A1.std())), "coarse-resolution"),
    "input of another test": (lambda: changed(force=white(N, seed=55)[:, 0]), "poor-fit"),
    "rectified": (lambda: changed(a1=np.abs(A1)), None),
    "gain that jumps": (lambda: changed(a1=np.where(HALF, 1.0, 3.0) * A1), "unexplained-output"),
    "sign that jumps": (lambda: changed(a1=np.where(HALF, 1.0, -1.0) * A1), "unexplained-output"),
    "another clock": (lambda: changed(a1=np.interp(TIME * (1.0 + 5e-4), TIME, A1)), None),
    "uneven time": (lambda: Record(TIME + 0.1 * DT * np.tanh(noise()), GOOD.data, GOOD.names), "uneven-sampling"),
    "time stamps repeated": (lambda: Record(np.repeat(TIME[::2], 2), GOOD.data, GOOD.names), "not-increasing"),
    "samples lost": (
        lambda: Record(TIME[: N - 30], np.delete(GOOD.data, slice(900, 930), axis=0), GOOD.names), "disturbed-stretch",
    ),
    "too short": (lambda: GOOD.between(0.0, 11.5 * DT), "too-few-samples"),
    "very noisy sensor": (lambda: changed(a1=A1 + 3.0 * A1.std() * noise()), None),
}  # fmt: skip
