"""Time scale and classes of modes of several set-ups, by the limits that :func:`dalembert.identify.auto` has for one.

One rate serves all set-ups: that of the widest band that moves in any of them. Evidence on a mode: orders, methods, and
the set-ups, which are independent records, in place of the halves of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.identify.auto.mode_classes import weigh_evidence
from dalembert.identify.auto.result import ModeJudgement
from dalembert.identify.auto.time_scale import TimeScale, find_time_scale
from dalembert.identify.auto.validation import find_duplicates
from dalembert.identify.records.data import Data
from dalembert.identify.spectral.machine_harmonics import MachineHarmonic
from dalembert.linear.modes import Modes


@dataclass(frozen=True, eq=False)
class ColumnModes:
    """Modes of the stable columns of a diagram, as the evidence on them needs it: two states per mode, sample time [s],
    standard deviations where known."""

    order: int
    dt: float
    frequency_deviations_hz: FloatArray | None = None
    damping_deviations: FloatArray | None = None


def find_common_scale(parts: Sequence[Data]) -> TimeScale:
    """The band of all set-ups, and the rate and rows that suit it."""
    scales = [find_time_scale(setup) for setup in parts]
    factor = min(scale.factor for scale in scales)
    rows = max(-(-(scale.rows or 0) * scale.factor // factor) for scale in scales)
    low, high = min(scale.low for scale in scales), max(scale.high for scale in scales)
    return TimeScale(low, high, scales[0].nyquist, factor, rows or None, False)


def find_common_sines(setups: Sequence[Mapping[int, MachineHarmonic]]) -> dict[int, MachineHarmonic]:
    """Steady sines, by mode, of at least half of the set-ups: in one of many, a mode looks like a sine by chance."""
    counts = Counter(k for sines in setups for k in sines)
    return {
        k: next(sines[k] for sines in setups if k in sines) for k in sorted(counts) if 2 * counts[k] >= len(setups)
    }  # fmt: skip


def judge_setups(
    model: ColumnModes, modes: Modes, evidence: Mapping[str, FloatArray], machines: Collection[int],
    scale: TimeScale | None, duration: float, resolution: float = 0.1, heavy: float = 0.3,
) -> tuple[ModeJudgement, ...]:  # fmt: skip
    """Class and reasons of every mode; duration : of the longest record [s]."""
    f, zeta = modes.frequencies_hz, modes.damping_ratios
    excited = np.ones(len(f), dtype=bool) if scale is None else scale.excites(f)
    reasons: list[list[str]] = [[] for _ in f]
    for k in range(len(f)):
        tests = {
            "not-excited": not excited[k], "no-decay": -modes.eigenvalues[k].real * duration < resolution,
            "heavily-damped": zeta[k] > heavy, "machine": k in machines,
        }  # fmt: skip
        reasons[k] += [name for name, is_so in tests.items() if is_so]
    for i, j in find_duplicates(modes):
        shares = [sum(values[k] for values in evidence.values()) for k in (i, j)]
        reasons[i if shares[0] < shares[1] or (shares[0] == shares[1] and zeta[i] > zeta[j]) else j].append("duplicate")
    return weigh_evidence(model, modes, reasons, evidence)
