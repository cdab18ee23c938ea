"""What speaks against trusting an identified model, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.identify.auto.result import Trial
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit, Residuals
from dalembert.identify.subspace.stabilization import Stabilization

NEAR_NYQUIST = 0.8
# Sampled more than this many times per period of its fastest mode, a record tells slow modes badly.
OVERSAMPLED = 100.0
FEW_PERIODS = 20.0
UNCERTAIN = 0.3  # relative standard deviation of a damping ratio
SAME_MODE = 0.02
# Modes this near in frequency with shapes this alike, seen by so many outputs at least, are one.
TWIN_FREQUENCY, TWIN_MAC, TWIN_OUTPUTS = 0.03, 0.98, 3
AS_WELL = 1.0  # percent of fit that fewer states may lose
NEXT_TO_NOTHING = 20.0  # percent of fit
WORSE = 15.0  # percent of fit lost from training to held-out data


def judged(
    model: Identified, drawn: Stabilization, fit_in: Fit, fit_out: Fit | None, residuals: Residuals, duration: float
) -> tuple[str, ...]:
    """Doubts, the gravest first."""
    return (*_stability(model), *_fits(fit_in, fit_out), *_modes(model, drawn, duration), *_residuals(model, residuals))


def twins(model: Identified) -> list[tuple[int, int]]:
    """Pairs of modes, from 0, with one shape and nearly one frequency."""
    modes = model.underdamped()
    if len(model.outputs) < TWIN_OUTPUTS:
        return []
    f, mac = modes.frequencies_hz, modes.mac()
    pairs = ((i, j) for j in range(len(f)) for i in range(j))
    return [(i, j) for i, j in pairs if f[j] - f[i] < TWIN_FREQUENCY * f[j] and mac[i, j] > TWIN_MAC]


def without_twins(model: Identified, trials: Sequence[Trial]) -> int | None:
    """An order with two states less per twin, where a trial shows that it fits as well."""
    count = len({j for _, j in twins(model)})
    percent = {trial.order: trial.percent for trial in trials if trial.stable}
    fewer = model.order - 2 * count
    if not count or fewer not in percent or percent[fewer] < percent.get(model.order, np.inf) - AS_WELL:
        return None
    return fewer


def _stability(model: Identified) -> list[str]:
    if model.system.is_stable:
        return []
    return ["the model is unstable: a measured structure at rest is not, so order or data are wrong for it."]


def useless(fit: Fit) -> str:
    """What to say of a model that explains next to nothing; empty for any other."""
    if fit.mean >= NEXT_TO_NOTHING:
        return ""
    return (
        f"the model explains only {max(fit.mean, 0.0):.1f} % of the very data it was found from: the outputs are not "
        "driven by these inputs, noise hides everything, or it is not linear. Do not trust its modes."
    )


def _fits(fit_in: Fit, fit_out: Fit | None) -> list[str]:
    if fit_out is not None and fit_out.mean < fit_in.mean - WORSE:
        return [
            f"the fit falls from {fit_in.mean:.1f} % on the training data to {fit_out.mean:.1f} % on the data held "
            "out: what was measured changed (amplitude, time), or the order is too large."
        ]
    return []


def _modes(model: Identified, drawn: Stabilization, duration: float) -> list[str]:
    f, zeta, nyquist = model.frequencies_hz, model.damping_ratios, 0.5 / model.dt
    texts = []
    if len(f) and f.max() > NEAR_NYQUIST * nyquist:
        texts.append(
            f"the mode at {f.max():.5g} Hz is close to half the sample rate ({nyquist:.5g} Hz): without an analogue "
            "filter before sampling it may be the image of a faster one."
        )
    if len(f) and f.max() * OVERSAMPLED < 2.0 * nyquist:
        texts.append(
            f"the fastest mode, {f.max():.4g} Hz, is sampled {2.0 * nyquist / f.max():.0f} times per period: "
            "identify.decimate the record first, slow modes come out better."
        )
    if len(f) and f.min() * duration < FEW_PERIODS:
        texts.append(f"the record holds only {f.min() * duration:.1f} periods of the mode at {f.min():.4g} Hz.")
    if len(f) and len(drawn.modes):
        apart = np.min(np.abs(f[:, None] - drawn.frequency_means[None, :]), axis=1) / f
        doubtful = [f"{value:.5g}" for value in f[(apart > SAME_MODE)]]
        if doubtful:
            texts.append(f"not steady over the orders, so perhaps no modes of the structure: {', '.join(doubtful)} Hz.")
    for i, j in twins(model):
        texts.append(
            f"the modes at {f[i]:.5g} and {f[j]:.5g} Hz have one shape: perhaps one mode that changes with the level."
        )
    if model.damping_deviations is not None:
        loose = model.damping_deviations > UNCERTAIN * np.abs(zeta)
        if loose.any():
            texts.append(f"the data hardly tell the damping of the modes at {_listed(f[loose])} Hz.")
    if (zeta < 0.0).any():
        texts.append(f"negative damping at {_listed(f[zeta < 0.0])} Hz.")
    return texts


def _residuals(model: Identified, residuals: Residuals) -> list[str]:
    texts = []
    if residuals.inputs and not residuals.is_independent():
        texts.append(
            "the residuals still hold something of the inputs: the model misses dynamics (a larger order), or what was "
            "measured is not linear."
        )
    white = model.provenance.get("deviations", "") == "Fisher information"
    if white and not residuals.is_white() and model.frequency_deviations is not None:
        texts.append("the residuals are not white, so the standard deviations are smaller than the truth.")
    return texts


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:.5g}" for value in values)
