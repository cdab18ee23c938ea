"""Reasons for doubt about an identified model: stability, fit, modes, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.findings import Advice, Call, Finding
from dalembert.core.rules import judge, rule
from dalembert.core.text import count_noun
from dalembert.identify.auto.result import CLASSES, ModeJudgement, OrderTrial
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit, Residuals
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.linear.modes import Modes

Measured = tuple[float, dict[str, Any]]


def fit_lost(training: float, held_out: float) -> Measured:
    """Percent of fit lost from training to held-out data.

    7 at most in 12 records of a frame whose order was found (600 and 2000 samples, 5 to 100 % noise), 13 to 21 where a
    mode was missing.
    """
    return training - held_out, {"training": training, "held_out": held_out}


def fit_reached(percent: float) -> Measured:
    """Percent of fit; 20 % explain 36 % of the power of the outputs."""
    value = percent if np.isfinite(percent) else -np.inf
    return value, {"percent": percent, "shown": max(percent, 0.0)}


def share_of_nyquist(hertz: FloatArray, dt: float, duration: float) -> Measured:
    """Fastest mode over half the sample rate: the transition band of usual anti-alias filters begins at 0.8."""
    return 2.0 * dt * float(hertz.max()), {"hertz": float(hertz.max()), "nyquist": 0.5 / dt}


def samples_per_period(hertz: FloatArray, dt: float, duration: float) -> Measured:
    """Samples per period of the fastest mode.

    With 100 its poles are within 2π/100 of z = 1, and 30 block rows of a subspace method span a third of its period.
    """
    count = 1.0 / dt / float(hertz.max())
    return count, {"samples_per_period": count, "hertz": float(hertz.max())}


def periods_of_slowest(hertz: FloatArray, dt: float, duration: float) -> Measured:
    """Periods of the slowest mode in the record: a damping ratio of 1 % decays by 1/e in 16 periods."""
    return float(hertz.min()) * duration, {"periods": float(hertz.min()) * duration, "hertz": float(hertz.min())}


OVERFIT = rule(
    "overfit", fit_lost, above=15.0, edge=(14.9, 15.1),
    problem="the fit falls from {training:.1f} % on the training data to {held_out:.1f} % on the data held out: the "
    "structure or its excitation changed (amplitude, time), or the order is too large.",
)  # fmt: skip
POOR_FIT = rule(
    "poor-fit", fit_reached, below=20.0, edge=(20.1, 19.9),
    problem="the model explains only {shown:.1f} % of the training data: the outputs are not driven by these inputs, "
    "noise hides the motion, or the motion is not linear. Do not trust its modes.",
)  # fmt: skip
SAMPLING_OF_MODES = [
    rule(
        "near-nyquist", share_of_nyquist, above=0.8, edge=(0.79, 0.81),
        problem="the mode at {hertz:.5g} Hz is close to half the sample rate ({nyquist:.5g} Hz): without an analogue "
        "filter before sampling it may be the alias of a faster one.",
    ),
    rule(
        "oversampled", samples_per_period, above=100.0, edge=(99.0, 101.0),
        problem="the fastest mode, {hertz:.4g} Hz, is sampled {value:.0f} times per period.",
        advice=[Advice("Reduce the rate first with {}: this improves slow modes.", Call("da.identify.decimate"))],
    ),
    rule(
        "few-periods", periods_of_slowest, below=20.0, edge=(20.1, 19.9),
        problem="the record has only {value:.1f} periods of the mode at {hertz:.4g} Hz.",
    ),
]  # fmt: skip


def find_doubts(
    model: Identified, kept: Sequence[int], drawn: Stabilization, fit_in: Fit, fit_out: Fit | None,
    residuals: Residuals, duration: float, exact_fit: float = 100.0 - 1e-5,
) -> list[Finding]:  # fmt: skip
    """Doubts about a model, the most serious first; kept : modes, from 0, that are not of the fit only."""
    findings: list[Finding] = []
    if not model.system.is_stable:
        problem = "the model is unstable: a measured structure at rest is stable, so the order or the data are wrong."
        findings.append(Finding("unstable-model", problem))
    findings += judge([OVERFIT], fit_in.mean, fit_out.mean) if fit_out is not None else []
    findings += _examine_modes(model, list(kept), drawn, duration)
    # residuals of noise-free data are rounding
    return findings if fit_in.mean > exact_fit else findings + _examine_residuals(model, residuals)


def find_duplicates(
    model: Identified | Modes, duplicate_frequency: float = 0.03, duplicate_outputs: int = 3,
    duplicate_mac: float = 0.98,
) -> list[tuple[int, int]]:  # fmt: skip
    """Pairs of modes, from 0, with one shape and nearly one frequency.

    duplicate_frequency, duplicate_outputs, duplicate_mac : two modes within this difference of frequency and above this
    MAC, at this number of outputs or more, are one: two shapes of two numbers have a MAC above 0.98 by chance in one
    case of eleven, of three numbers in one of a hundred
    """
    modes = model if isinstance(model, Modes) else model.underdamped_modes()
    if len(modes.coordinates) < duplicate_outputs:
        return []
    f, mac = modes.frequencies_hz, modes.mac()
    pairs = ((i, j) for j in range(len(f)) for i in range(j))
    near = duplicate_frequency
    return [(i, j) for i, j in pairs if f[j] - f[i] < near * f[j] and mac[i, j] > duplicate_mac]


def order_without_duplicates(model: Identified, trials: Sequence[OrderTrial], as_good: float = 1.0) -> int | None:
    """An order with two states less per duplicate mode, where a trial shows that it fits as well.

    as_good : largest loss of fit of a model with fewer states, in percent
    """
    count = len({j for _, j in find_duplicates(model)})
    percent = {trial.order: trial.percent for trial in trials if trial.stable}
    fewer = model.order - 2 * count
    if not count or fewer not in percent or percent[fewer] < percent.get(model.order, np.inf) - as_good:
        return None
    return fewer


def find_poor_fit(fit: Fit) -> list[Finding]:
    """A finding on a model that explains next to nothing of the data it was found from."""
    return judge([POOR_FIT], fit.mean)


def find_no_sound_mode(judgements: Sequence[ModeJudgement]) -> list[Finding]:
    """A finding where no mode is sound."""
    if any(judged.grade == CLASSES[0] for judged in judgements):
        return []
    count = sum(judged.grade == CLASSES[1] for judged in judgements)
    uncertain = f"{count_noun(count, 'uncertain mode')} may be correct. " if count else ""
    problem = (
        "no mode is sound: none appears at most orders, by both methods and in both halves of the record with small "
        f"deviations. {uncertain}Measure longer, excite more, or measure the forces that act."
    )
    return [Finding("no-sound-mode", problem, evidence={"uncertain": count})]


def _examine_modes(
    model: Identified, kept: list[int], drawn: Stabilization, duration: float, uncertain_damping: float = 0.3,
    same_mode: float = 0.02,
) -> list[Finding]:  # fmt: skip
    # uncertain_damping: relative standard deviation of a damping ratio: its 95 % interval reaches from 0.4 to 1.6 times
    # the value
    # same_mode: relative difference in frequency to a stable column of the stabilization diagram
    f, zeta = model.frequencies_hz[kept], model.damping_ratios[kept]
    if not len(f):
        return []
    findings = judge(SAMPLING_OF_MODES, f, model.dt, duration)
    if len(drawn.modes):
        apart = np.min(np.abs(f[:, None] - drawn.frequency_means[None, :]), axis=1) / f
        if (apart > same_mode).any():
            names = _join(f[apart > same_mode])
            problem = f"not stable over the orders, so they may not be modes of the structure: {names} Hz."
            findings.append(Finding("unstable-poles", problem, evidence={"hertz": f[apart > same_mode].tolist()}))
    hertz = model.frequencies_hz
    for i, j in find_duplicates(model):
        pair = f"{hertz[i]:.5g} and {hertz[j]:.5g} Hz"
        problem = f"the modes at {pair} have the same shape: they may be one mode that changes with the level."
        findings.append(Finding("duplicate-modes", problem, evidence={"hertz": [float(hertz[i]), float(hertz[j])]}))
    if model.damping_deviations is not None:
        loose = model.damping_deviations[kept] > uncertain_damping * np.abs(zeta)
        if loose.any():
            problem = f"the data hardly determine the damping of the modes at {_join(f[loose])} Hz."
            findings.append(Finding("uncertain-damping", problem, evidence={"hertz": f[loose].tolist()}))
    if (zeta < 0.0).any():
        problem = f"negative damping at {_join(f[zeta < 0.0])} Hz."
        findings.append(Finding("negative-damping", problem, evidence={"hertz": f[zeta < 0.0].tolist()}))
    return findings


def _examine_residuals(model: Identified, residuals: Residuals) -> list[Finding]:
    findings = []
    if residuals.inputs and not residuals.is_independent():
        problem = (
            "the residuals depend on the inputs: the model misses dynamics (a larger order), or the structure is not "
            "linear."
        )
        findings.append(Finding("dependent-residuals", problem))
    if model.deviation_method == "fisher" and not residuals.is_white() and model.frequency_deviations_hz is not None:
        problem = "the residuals are not white, so the true standard deviations are larger."
        findings.append(Finding("coloured-residuals", problem, evidence={"probability": residuals.whiteness_all}))
    return findings


def _join(values: FloatArray) -> str:
    return ", ".join(f"{value:.5g}" for value in values)
