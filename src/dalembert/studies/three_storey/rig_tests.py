"""Simulated tests of the three-storey rig, and what identification finds in them.

The structure alone, without the pendulum: a hammer and a shaker on floor 1, accelerations of the floors at 32 Hz,
2048 samples each, 40 dB signal to noise. Forces are held from sample to sample.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.identify import (
    IdentificationWarning,
    Identified,
    ProportionalDamping,
    n4sid,
    okid_era,
    physical,
    proportional_damping,
    refine,
)
from dalembert.linear.recursions import march
from dalembert.studies.three_storey.rig import ACCELERATIONS, SAMPLING, linearize_rig

SAMPLES, TESTS = 2048, 4
"""Of one test; tests of each kind."""
NOISE = 0.01
"""Of each accelerometer, relative to the root mean square of its signal."""
ORDER, OBSERVER_ORDER = 6, 20
SEED = 2026


@dataclass(frozen=True)
class Campaign:
    """The true structure, and its records."""

    truth: da.SecondOrder
    hammer: tuple[da.Record, ...]
    shaker: tuple[da.Record, ...]

    @property
    def records(self) -> list[da.Record]:
        return [*self.hammer, *self.shaker]


@dataclass(frozen=True)
class IdentifiedModels:
    """Models identified from the records."""

    era_dc: Identified
    n4sid: Identified
    refined: Identified
    matrices: da.SecondOrder
    """M, K and R (as C) of the refined model."""
    damping: ProportionalDamping
    """α and β nearest to the modes of the refined model; β is negative, as it is in Pappalardo 2011."""


def campaign() -> Campaign:
    """The records: all noise is drawn from one seed."""
    truth = linearize_rig(damped=True)
    rng = np.random.default_rng(SEED)
    hammer = []
    for _ in range(TESTS):
        impact = np.zeros(SAMPLES)
        impact[32] = 40.0 * (1.0 + 0.2 * rng.standard_normal())
        hammer.append(_simulate_test(truth, impact, rng))
    shaker = [_simulate_test(truth, rng.standard_normal(SAMPLES), rng) for _ in range(TESTS)]
    return Campaign(truth, tuple(hammer), tuple(shaker))


def _simulate_test(truth: da.SecondOrder, force: FloatArray, rng: np.random.Generator) -> da.Record:
    system = truth.state_space().to_discrete(SAMPLING)
    u = force[:, None]
    x = march(system.A, (u @ system.B.T)[:-1], np.zeros(system.nx))
    y = x @ system.C.T + u @ system.D.T
    y = y + NOISE * np.sqrt(np.mean(y**2, axis=0)) * rng.standard_normal(y.shape)
    time = SAMPLING * np.arange(len(force))
    return da.Record(time, np.hstack([u, y]), ["force", *ACCELERATIONS], ["N", *["m/s²"] * 3], name="test")


def identify(tests: Campaign) -> IdentifiedModels:
    """OKID with ERA/DC, N4SID, refinement by maximum likelihood, and the matrices that follow."""
    records, outputs = tests.records, list(ACCELERATIONS)
    first = okid_era(records, "force", outputs, order=ORDER, observer_order=OBSERVER_ORDER, correlations=True)
    second = n4sid(records, "force", outputs, order=ORDER)
    refined = refine(second, records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # kept in its findings
        damping = proportional_damping(refined)
    return IdentifiedModels(first, second, refined, physical(refined), damping)


def relative_error(found: FloatArray, true: FloatArray) -> float:
    """Frobenius norm of the difference, relative to that of the truth."""
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))


def results(tests: Campaign, found: IdentifiedModels) -> dict[str, Any]:
    """The parts ``identified`` and ``mkr`` of results.json."""

    def modal(model: Identified) -> dict[str, Any]:
        return {"frequencies_hz": model.frequencies_hz, "damping": model.damping_ratios}

    refined = modal(found.refined) | {
        "frequency_deviations_hz": found.refined.frequency_deviations_hz,
        "damping_deviations": found.refined.damping_deviations,
    }
    truth, M = tests.truth, found.matrices
    modes = truth.modes()
    return {
        "structure": {"frequencies_hz": modes.frequencies_hz, "damping": modes.damping_ratios},
        "identified": {"era_dc": modal(found.era_dc), "n4sid": modal(found.n4sid), "refined": refined},
        "mkr": {
            "relative_error": {
                "M": relative_error(M.M, truth.M), "K": relative_error(M.K, truth.K), "R": relative_error(M.C, truth.C)
            },
            "M": M.M, "K": M.K, "R": M.C,
            "proportional": {
                "alpha": found.damping.alpha, "beta": found.damping.beta,
                "warnings": [one.text() for one in found.damping.findings],
                "relative_error_of_R": relative_error(found.damping.alpha * M.M + found.damping.beta * M.K, truth.C),
            },
        },
    }  # fmt: skip
