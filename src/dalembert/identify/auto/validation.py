"""Reasons for doubt about an identified model: stability, fit, modes, residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.findings import Advice, Call, Finding
from dalembert.core.text import count_noun
from dalembert.identify.auto.result import CLASSES, ModeJudgement, OrderTrial
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit, Residuals
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.linear.modes import Modes


def find_doubts(
    model: Identified, kept: Sequence[int], drawn: Stabilization, fit_in: Fit, fit_out: Fit | None,
    residuals: Residuals, duration: float, exact_fit: float = 100.0 - 1e-5, worse: float = 15.0,
) -> list[Finding]:  # fmt: skip
    """Doubts about a model, the most serious first; kept : modes, from 0, that are not of the fit only.

    worse : percent of fit lost from training to held-out data: 7 at most in 12 records of a frame whose order was found
    (600 and 2000 samples, 5 to 100 % noise), 13 to 21 where a mode was missing
    """
    findings: list[Finding] = []
    if not model.system.is_stable:
        problem = "the model is unstable: a measured structure at rest is stable, so the order or the data are wrong."
        findings.append(Finding("unstable-model", problem))
    if fit_out is not None and fit_out.mean < fit_in.mean - worse:
        problem = (
            f"the fit falls from {fit_in.mean:.1f} % on the training data to {fit_out.mean:.1f} % on the data held "
            "out: the structure or its excitation changed (amplitude, time), or the order is too large."
        )
        findings.append(Finding("overfit", problem, evidence={"training": fit_in.mean, "held_out": fit_out.mean}))
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


def find_poor_fit(fit: Fit, poor_fit: float = 20.0) -> list[Finding]:
    """A finding on a model that explains next to nothing of the data it was found from.

    poor_fit : percent of fit below which a model explains next to nothing: 36 % of the power of the outputs
    """
    if fit.mean >= poor_fit:
        return []
    problem = (
        f"the model explains only {max(fit.mean, 0.0):.1f} % of the training data: the outputs are not driven by these "
        "inputs, noise hides the motion, or the motion is not linear. Do not trust its modes."
    )
    return [Finding("poor-fit", problem, evidence={"percent": fit.mean})]


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
    model: Identified, kept: list[int], drawn: Stabilization, duration: float, few_periods: float = 20.0,
    near_nyquist: float = 0.8, oversampled: float = 100.0, uncertain_damping: float = 0.3, same_mode: float = 0.02,
) -> list[Finding]:  # fmt: skip
    # few_periods: periods of the slowest mode: a damping ratio of 1 % decays by 1/e in 16 periods
    # near_nyquist: a mode above this share of half the sample rate is doubtful: the transition band of usual anti-alias
    # filters begins there
    # oversampled: samples per period of the fastest mode: its poles are then within 2π/100 of z = 1, and the 30 block
    # rows of a subspace method span a third of its period
    # uncertain_damping: relative standard deviation of a damping ratio: its 95 % interval reaches from 0.4 to 1.6 times
    # the value
    # same_mode: relative difference in frequency to a stable column of the stabilization diagram
    f, zeta, nyquist = model.frequencies_hz[kept], model.damping_ratios[kept], 0.5 / model.dt
    if not len(f):
        return []
    findings = []
    slowest, fastest = float(f.min()), float(f.max())
    if fastest > near_nyquist * nyquist:
        problem = (
            f"the mode at {fastest:.5g} Hz is close to half the sample rate ({nyquist:.5g} Hz): without an analogue "
            "filter before sampling it may be the alias of a faster one."
        )
        findings.append(Finding("near-nyquist", problem, evidence={"hertz": fastest, "nyquist": nyquist}))
    if fastest * oversampled < 2.0 * nyquist:
        per_period = 2.0 * nyquist / fastest
        problem = f"the fastest mode, {fastest:.4g} Hz, is sampled {per_period:.0f} times per period."
        advice = Advice("Reduce the rate first with {}: this improves slow modes.", Call("da.identify.decimate"))
        findings.append(Finding("oversampled", problem, {}, {"samples_per_period": per_period}, (advice,)))
    if slowest * duration < few_periods:
        problem = f"the record has only {slowest * duration:.1f} periods of the mode at {slowest:.4g} Hz."
        findings.append(Finding("few-periods", problem, evidence={"periods": slowest * duration, "hertz": slowest}))
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
