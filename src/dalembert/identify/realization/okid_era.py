"""OKID, then ERA or ERA/DC: a model with its noise from records of inputs and outputs.

The observer order that the noise requires may be too long for a hammer test: the response to a single impact is fitted
sample by sample as far as the observer reaches, noise included. A playback of the inputs shows this. Shorter observers
are tried then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dalembert.core.errors import DataError
from dalembert.identify.model import playback
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.arx_regression import Triangle
from dalembert.identify.realization.era import realize_era
from dalembert.identify.realization.era_dc import DEFAULT_LAGS, realize_era_dc
from dalembert.identify.realization.okid import ObserverMarkov, Start, find_observer
from dalembert.identify.realization.realize import HankelWindow, realize
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.subspace.residuals import examine_residuals
from dalembert.identify.subspace.subspace import moesp_finder
from dalembert.record import Record

Trial = tuple[Identified, ObserverMarkov]


@report_findings
def okid_era(
    record: Record | Sequence[Record] | Data, inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None, *, order: int | None = None, observer_order: int | None = None,
    correlations: bool = False, combined: bool = False, rows: int | None = None, columns: int | None = None,
    start: Start = "unknown",
) -> Identified:  # fmt: skip
    """Model, noise included, from records of inputs and outputs: OKID, then ERA or ERA/DC.

    Parameters
    ----------
    record, inputs, outputs, observer_order, start
        See :func:`okid`.
    order, rows, columns
        See :func:`era`.
    correlations : bool
        ERA/DC instead of ERA, with the lags of :func:`era_dc`. Weakly excited modes are
        worse, because correlations square the ratio of strong to weak.
    combined : bool
        Realize the model and the observer gain at once. Biased where the observer is longer than necessary, so a
        warning is given for ``observer_order * outputs > order``.

    Returns
    -------
    Identified
        With the gain and the covariance of the innovation of the observer.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> swing = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1, 0], [1, 0], dt=0.1, inputs="push", outputs="angle")
    >>> push = np.random.default_rng(0).standard_normal(200)
    >>> t = 0.1 * np.arange(200)
    >>> angle = swing.response(Record(t, push[:, None], ["push"]))["angle"]
    >>> found = okid_era(Record(t, np.column_stack([push, angle]), ["push", "angle"]), "push", order=2)
    >>> bool(abs(found.frequencies_hz[0] - swing.modes().frequencies_hz[0]) < 1e-9)
    True
    """
    data = read_data.quiet(record, inputs, outputs, drift_matters=True)
    findings_of_data = [*data.findings, *([] if order is None else data.check_order(order))]
    window = HankelWindow(order, rows, columns, DEFAULT_LAGS if correlations else None)

    factors: dict[int, Triangle] = {}

    def attempt(p: int | None) -> Trial:
        observer, findings = find_observer(data, p, order, start, known=factors)
        name, method = ("ERA/DC", realize_era_dc) if correlations else ("ERA", realize_era)
        model = realize(observer, window, name, method, combined=combined)
        return model.replace(findings=(*findings, *model.findings)), observer

    model, _ = attempt(observer_order) if observer_order is not None else _shorten(data, order, attempt)
    findings = examine_residuals(data, model.system, moesp_finder(), rough=True)
    every = (*findings_of_data, *model.findings, *findings)
    return model.replace(findings=every, offsets=data.mean_levels())


def _shorten(
    data: Data, order: int | None, attempt: Callable[[int | None], Trial], exact_share: float = 1e-9,
    too_long: float = 4.0, better: float = 0.7,
) -> Trial:  # fmt: skip
    """The trial with the automatic observer order, or a shorter one that plays back better.

    too_long : residual of the playback over that of the observer: 0.9 to 1.0 where the observer suits, 45 and more
    where it loses the impact (three-storey frame, hammer and white tests of 500 to 4000 samples, 1 to 10 % noise).
    better : residual over that of the longer observer: below 0.32 where that one loses the impact, above 0.99
    elsewhere.
    """
    best = attempt(None)
    model, observer = best
    unexplained = measure_unexplained(model, data)
    if unexplained <= too_long * float(np.mean(observer.relative_residual**2)) + exact_share:
        return best
    p = observer.order // 2
    while p >= max(1, -(-(order or model.order) // data.ny)):
        try:
            trial, tried = attempt(p)
        except (DataError, np.linalg.LinAlgError):  # its Markov parameters grow beyond all numbers
            p //= 2
            continue
        share = measure_unexplained(trial, data)
        if share < better * unexplained:
            note = f"the observer of order {observer.order} that the noise requires fits worse than this one of {p}"
            best, unexplained = (trial.add_notes(note), tried), share
        p //= 2
    return best


def measure_unexplained(model: Identified, data: Data, growth: float = 1e-6, samples: int = 20_000) -> float:
    """Mean over the outputs of the share of their energy that a playback of the model leaves.

    growth : |z| - 1 of a model that is played: it grows by 2 % over the samples.
    samples : samples of each record: shares are known to 1 % and the playback takes some milliseconds.
    """
    s = model.system
    if float(np.abs(np.linalg.eigvals(s.A)).max(initial=0.0)) > 1.0 + growth:
        return np.inf
    unexplained = power = np.zeros(data.ny)
    for u, y in zip(data.u, data.y, strict=True):
        u, y = u[:samples], y[:samples]
        simulated = playback.play_back(s.A, s.B, s.C, s.D, u, y)
        unexplained = unexplained + np.einsum("ij,ij->j", y - simulated, y - simulated)
        power = power + np.einsum("ij,ij->j", y, y)
    return float(np.mean(unexplained / np.maximum(power, np.finfo(float).tiny)))
