"""Result of automatic identification: the model, the reasons for its choice, and its fit to data held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.findings import Finding
from dalembert.core.tables import aligned
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit, Residuals
from dalembert.identify.spectral.frf import FrfEstimate
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.linear.modes import Modes
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.record import Record

LINES = 2000
"""Frequencies at which the response of a model is drawn over the measured one."""


@dataclass(frozen=True)
class OrderTrial:
    """A model of some order, found on the first part of the training data and tried on the rest of it."""

    order: int
    percent: float
    """Fit [%], mean of the outputs."""
    stable: bool
    chosen: bool = False


@frozen
class AutoIdentified:
    """A model found from the channels alone, with the reasons for every choice.

    Attributes
    ----------
    identified : Identified
        The model, refined, with standard deviations where they could be had.
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
    provenance: Mapping[str, Any]

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

    def model_response(self) -> FrequencyResponse | None:
        """Frequency response of the model over the range of :attr:`frf`, on a finer grid: its peaks are narrow."""
        if self.frf is None:
            return None
        w = self.frf.frequencies
        grid = np.linspace(w[0], w[-1], max(LINES, len(w)))
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
        return aligned(("order", "fit of unseen part [%]", "stable", ""), rows)

    def explain(self) -> str:
        """Steps and their reasons, modes, fit, and reasons for doubt."""
        lines = ["Steps"]
        lines += [f"  {k + 1}. {text}" for k, text in enumerate(self.decisions)]
        if len(self.trials) > 1:
            lines += ["", "Orders tried", *_indent(self.trial_table())]
        lines += ["", "Modes", *_indent(self.identified.modal_table()), "", "Fit"]
        for fit, where in ((self.training_fit, "training data"), (self.fit, "data held out")):
            if fit is not None:
                lines += [f"  {fit.kind} of the {where}: {fit.mean:.2f} % on average", *_indent(fit.table())]
        lines += [f"  residuals: {self.residuals.verdict()}"]
        if self.findings:
            lines += ["", "Warnings", *(f"  - {one.text()}" for one in self.findings)]
        return "\n".join(lines)

    def table(self) -> str:
        """Modes with standard deviations."""
        return self.identified.modal_table()

    def __repr__(self) -> str:
        held = "" if self.fit is None else f", {self.fit.mean:.1f} % {self.fit.kind} fit on data held out"
        text = f"AutoIdentified: order {self.order} by {self.identified.method}{held}"
        return f"{text}\n{self.table()}\n(.explain() gives the reasons)"


def _indent(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]
