"""Result of automatic identification: the model, the reasons for its choice, and its fit to data held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arguments import one_of
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.findings import Finding
from dalembert.core.tables import align_columns, spread
from dalembert.identify.auto.time_scale import TimeScale
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit, Residuals
from dalembert.identify.spectral.frf import FrfEstimate
from dalembert.identify.spectral.periodic import PeriodicLines
from dalembert.identify.spectral.rotor_lines import RotorLines
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.linear.modes import Modes
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.record import Record

"""Frequencies at which the response of a model is drawn over the measured one."""


@dataclass(frozen=True)
class OrderTrial:
    """A model of some order, found on the first part of the training data and tried on the rest of it."""

    order: int
    percent: float
    """Fit [%], mean of the outputs."""
    stable: bool
    chosen: bool = False
    left: float = 0.0
    """Root mean square of the residual [%], geometric mean of the outputs: the measure for the comparison of orders."""


CLASSES = ("sound", "uncertain", "of the fit only", "chosen")
"""Classes of modes, the best first; chosen ones were taken by hand (:func:`dalembert.identify.choose`)."""
REASONS = {
    "not-excited": "nothing excites its frequency",
    "no-decay": "it does not decay within the record",
    "heavily-damped": "it decays at once",
    "machine": "it is a sine, as of a rotating machine or of mains",
    "duplicate": "it repeats another mode of the same shape",
    "orders": "models of other orders do not have it",
    "methods": "another method does not find it",
    "parts": "it does not appear in both halves of the record",
    "set-ups": "it does not appear in both halves of the set-ups",
    "harmonic": "it is a multiple of a stronger mode, as of a spring that is not linear",
    "rotor": "it lies on a line of a rotor whose speed varies",
    "deviations": "its standard deviations are large",
}


@dataclass(frozen=True)
class ModeJudgement:
    """Class of a mode, the reasons against it (keys of ``REASONS``), and shares of the models in which it appears."""

    grade: str
    reasons: tuple[str, ...]
    shares: Mapping[str, float]

    def text(self) -> str:
        """Reasons in words."""
        return "; ".join(REASONS[reason] for reason in self.reasons)


@dataclass(frozen=True, eq=False)
class Backbone:
    """Frequency and damping ratio of a mode in parts of the record, by ascending level of motion.

    ``mode`` : its number from 0; ``level`` : (k,) root mean square of the outputs of a part; ``frequencies_hz``,
    ``frequency_deviations_hz``, ``damping_ratios``, ``damping_deviations`` : (k,); ``change`` : relative change of the
    frequency from the smallest to the largest level; ``significant`` : whether that exceeds chance.
    """

    mode: int
    frequency_hz: float
    level: FloatArray
    frequencies_hz: FloatArray
    frequency_deviations_hz: FloatArray
    damping_ratios: FloatArray
    damping_deviations: FloatArray
    change: float
    significant: bool


@dataclass(frozen=True)
class Nonlinearity:
    """Decision whether the structure is linear.

    ``decided`` : True where it is not linear; ``reasons`` : of "residuals", "lines", "backbone"; ``level`` : root mean
        square of the distortion that was found, relative to the outputs; ``over_chance`` : share of the residuals that
        forces of nonlinear springs explain, over the share by chance; ``backbones`` : of the sound modes, where the
        level varies;
    ``tested`` : whether inputs were measured, without which residuals decide nothing.
    """

    decided: bool
    reasons: tuple[str, ...]
    level: float
    over_chance: float
    backbones: tuple[Backbone, ...]
    tested: bool

    def text(self) -> str:
        """The decision in words."""
        if self.decided:
            return f"not linear: distortion of {100 * self.level:.2g} % of the outputs (by {', '.join(self.reasons)})"
        if not self.tested and not self.backbones:
            return "not decided: this needs measured inputs or motion at several levels"
        return "linear within the noise"


@frozen
class AutoIdentified:
    """A model found from the channels alone, with the reasons for every choice.

    Attributes
    ----------
    identified : Identified
        The model, refined, with standard deviations where they could be computed.
    stabilization : Stabilization
        Poles over growing orders, on the training data.
    trials : tuple of OrderTrial
        Orders that were tried.
    fit : Fit
        On the records held out: simulation with inputs, one-step prediction without. None where nothing was held out.
    training_fit : Fit
    residuals : Residuals
        Of the records held out (of the training records where none were).
    frf : FrfEstimate or None
        Measured frequency response of the training data, for comparison; None without inputs or with too few samples.
    training, held_out : tuples of Record
    decisions : texts
        Steps and their reasons, in order.
    findings : tuple of Finding
        Reasons to doubt the data or the model; each has a ``code`` and a ``text()``.
    judgements : tuple of ModeJudgement
        Class of every mode, in the order of :attr:`modes`: sound, uncertain, or of the fit only; with the reasons.
    time_scale : TimeScale
        Band that is excited, and the factor by which the rate of the records was reduced for the model.
    periodic : PeriodicLines or None
        Period of the inputs, and noise and distortion of the outputs line by line; None where inputs do not repeat.
    nonlinearity : Nonlinearity
        Whether the structure is linear, the level of distortion, and modes against the level of motion.
    rotor : RotorLines or None
        Lines of a rotor whose speed varies, which were removed from the records.
    """

    identified: Identified
    stabilization: Stabilization
    trials: tuple[OrderTrial, ...]
    fit: Fit | None
    training_fit: Fit
    residuals: Residuals
    frf: FrfEstimate | None
    training: tuple[Record, ...]
    held_out: tuple[Record, ...]
    decisions: tuple[str, ...]
    findings: tuple[Finding, ...]
    judgements: tuple[ModeJudgement, ...]
    time_scale: TimeScale
    periodic: PeriodicLines | None
    nonlinearity: Nonlinearity
    provenance: Mapping[str, Any]
    rotor: RotorLines | None = None

    # ---- the model

    @property
    def order(self) -> int:
        """Number of states."""
        return self.identified.order

    @property
    def modes(self) -> Modes:
        """The modes that oscillate, ascending, shapes at the outputs."""
        return self.identified.underdamped_modes()

    @property
    def frequencies_hz(self) -> FloatArray:
        """Natural frequencies of the modes that oscillate, ascending [Hz]."""
        return self.identified.frequencies_hz

    @property
    def damping_ratios(self) -> FloatArray:
        """Their damping ratios."""
        return self.identified.damping_ratios

    def places(self, grade: str = "sound") -> NDArray[np.intp]:
        """Numbers of the modes of a class, from 0 in the order of :attr:`modes`."""
        one_of("grade", grade, CLASSES)
        return np.flatnonzero([judged.grade == grade for judged in self.judgements])

    def by_class(self) -> list[int]:
        """Numbers of all modes from 0, by class: sound ones first."""
        return [int(k) for grade in CLASSES for k in self.places(grade)]

    @property
    def sound_modes(self) -> Modes:
        """The modes that appear over orders, methods and parts of the record, with small deviations."""
        return self.modes.select(self.places() + 1)

    def frequency_uncertainty(self, k: int) -> float | None:
        """Standard deviation of a frequency [Hz], or half its change over the level of motion where that is larger."""
        deviations = self.identified.frequency_deviations_hz
        bent = [
            0.5 * abs(curve.change) * curve.frequency_hz
            for curve in self.nonlinearity.backbones
            if curve.mode == k and curve.significant
        ]
        return max([*([] if deviations is None else [float(deviations[k])]), *bent], default=None)

    def model_response(self) -> FrequencyResponse | None:
        """Frequency response of the model over the range of :attr:`frf`, on a finer grid: its peaks are narrow."""
        if self.frf is None:
            return None
        w = self.frf.frequencies
        grid = np.linspace(w[0], w[-1], max(2000, len(w)))
        tops = self.modes.eigenvalues.imag
        grid = np.concatenate([grid, tops[(tops > w[0]) & (tops < w[-1])]])
        return self.identified.system.frequency_response(np.unique(grid))

    # ---- in words

    def trial_table(self) -> str:
        """Orders that were tried."""
        rows = [
            (str(t.order), f"{t.percent:.2f}", "yes" if t.stable else "no", "chosen" if t.chosen else "")
            for t in self.trials
        ]
        return align_columns(("order", "fit of unseen part [%]", "stable", ""), rows)

    def explain(self) -> str:
        """Steps and their reasons, modes, fit, and reasons for doubt."""
        lines = ["Steps"]
        lines += [f"  {k + 1}. {text}" for k, text in enumerate(self.decisions)]
        if len(self.trials) > 1:
            lines += ["", "Orders tried", *_indent(self.trial_table())]
        lines += ["", "Modes", *_indent(self.table()), "", "Fit"]
        for fit, where in ((self.training_fit, "training data"), (self.fit, "data held out")):
            if fit is not None:
                lines += [f"  {fit.kind} of the {where}: {fit.mean:.2f} % on average", *_indent(fit.table())]
        lines += [f"  residuals: {self.residuals.verdict()}", f"  structure: {self.nonlinearity.text()}"]
        if self.periodic is not None:
            lines += ["", "Periodic input", *_indent(repr(self.periodic))]
        if self.findings:
            lines += ["", "Warnings", *(f"  - {finding.text()}" for finding in self.findings)]
        return "\n".join(lines)

    def table(self) -> str:
        """Modes by class, sound ones first, with as many digits as the standard deviations allow."""
        modes, model = self.modes, self.identified
        lines = []
        for grade in CLASSES:
            places = self.places(grade)
            if not len(places):
                lines += ["no sound modes"] if grade == CLASSES[0] and not len(self.places(CLASSES[3])) else []
                continue
            rows = [
                (
                    str(k + 1), spread(modes.frequencies_hz[k], self.frequency_uncertainty(int(k))),
                    spread(100.0 * modes.damping_ratios[k], _pick(model.damping_deviations, k, 100.0)),
                    self.judgements[k].text(),
                )
                for k in places
            ]  # fmt: skip
            why = {CLASSES[0]: "", CLASSES[3]: "against it"}.get(grade, "because")
            head = ("mode", "frequency [Hz]", "damping ratio [%]", why)
            lines += [f"{grade}:", align_columns(head, rows)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        held = "" if self.fit is None else f", {self.fit.mean:.1f} % {self.fit.kind} fit on data held out"
        text = f"AutoIdentified: order {self.order} by {self.identified.method}{held}"
        return f"{text}\n{self.table()}\n(.explain() gives the reasons)"


def _pick(values: FloatArray | None, k: int, factor: float = 1.0) -> float | None:
    return None if values is None else factor * float(values[k])


def _indent(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]
