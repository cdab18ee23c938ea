"""Identification that decides by itself and says why.

1. read       checked at the border; means taken off where they are offsets, not where the inputs are blows
2. hold out   the last third of a record, or the last of several records, is not used until the end
3. order      three judges (``order.py``), then models of neighbouring orders found on two thirds of the training data
              and tried on the rest; another order is taken only where it does clearly better there, or where it
              does as well with a mode less that had a twin
4. model      MOESP with inputs, SSI-data without; then maximum likelihood with standard deviations
5. judged     on what was held out: simulation (prediction without inputs), residuals
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, DataError
from dalembert.core.text import counted, listed
from dalembert.identify.auto.judge import judged, useless, without_twins
from dalembert.identify.auto.result import AutoIdentified, Trial
from dalembert.identify.likelihood.refine import refine
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit
from dalembert.identify.records.checks import LOOKED_AT, record_list
from dalembert.identify.records.data import Data, IdentificationWarning, read_data
from dalembert.identify.records.gaps import cut_at_gaps, filled_told, gaps_told
from dalembert.identify.spectral.frf import FrfEstimate, frf
from dalembert.identify.subspace.hankel_factor import compress_hankel
from dalembert.identify.subspace.misfit import doubtful
from dalembert.identify.subspace.order import ROUNDING, OrderChoice, choose_order
from dalembert.identify.subspace.projections import Projection, project
from dalembert.identify.subspace.ssi import ssi_data
from dalembert.identify.subspace.stabilization import Stabilization, Tolerances, diagram
from dalembert.identify.subspace.subspace import block_rows, identify_by, model_of
from dalembert.record import Record

Names = str | Iterable[str]
# Fewer samples than this: all are needed to find a model, none can be held out.
FEWEST_TO_SPLIT = 200
# A trial must do better by so many percent of fit to overrule the three judges.
CLEARLY_BETTER = 5.0
# Inputs below this part of their peak for most of the time are blows of a hammer.
QUIET, MOSTLY = 0.02, 0.9
# A mean this many of its standard errors away from zero, over so many parts of the record, is an offset.
MORE_THAN_CHANCE, PARTS = 5.0, 10
LARGEST_ORDER_DRAWN = 60
# What may be left, relative, of an output that is another one over again.
COPY = 1e-7
# A record gives at least so many blocks to a measured frequency response (twice as many with their overlap).
FEWEST_BLOCKS = 4


@dataclass(frozen=True)
class _Setting:
    """What stays the same from step to step."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    detrend: Any
    rows: int | None
    blows: bool

    @property
    def method(self) -> str:
        return "moesp" if self.inputs else "ssi_data"

    @property
    def kind(self) -> str:
        return "simulation" if self.inputs else "prediction"

    def read(self, records: Sequence[Record]) -> Data:
        """Parts of the records as arrays; the whole was looked at before, so nothing is told twice."""
        return read_data(records, self.inputs, self.outputs, detrend=self.detrend, warned=False)

    def found(self, data: Data, order: int, rows: int | None) -> Identified:
        """A model of some order by the subspace method; what is doubtful about it is told at the end."""
        if self.inputs:
            return identify_by("moesp", data, (), None, order, rows, True, None, "none", told=False)
        return ssi_data(data, order=order, rows=rows)


def auto(
    record: Record | Sequence[Record],
    inputs: Names = (),
    outputs: Names | None = None,
    *,
    order: int | None = None,
    hold_out: float = 1.0 / 3.0,
    rows: int | None = None,
    refined: bool = True,
) -> AutoIdentified:
    """A model of what stands between inputs and outputs, with its modes, from records alone.

    Parameters
    ----------
    record : Record, or several of repeated tests
    inputs, outputs : channel names
        No inputs: the record is taken as ambient vibration or free decay. Outputs are all other channels when left out.
    order : number of states, optional
        Two per mode; chosen from the data when left out.
    hold_out : part of the data kept for the final judgement, 0 to 0.5
        The end of a single record; the last of several records, or the end of each where there are only two.
    rows : block rows of the subspace method, optional
    refined : bool
        Whether the model is refined by maximum likelihood, which also gives standard deviations.

    Returns
    -------
    AutoIdentified
        ``explain()`` tells in words what was done and why.

    Examples
    --------
    >>> from dalembert.linear.state_space import StateSpace
    >>> rng = np.random.default_rng(4)
    >>> true = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.1, inputs="force", outputs="sway")
    >>> force = rng.normal(size=1500)
    >>> sway = true.response(Record.from_channels(0.1 * np.arange(1500), {"force": force}))["sway"]
    >>> noisy = sway + 0.1 * rng.normal(size=1500)
    >>> test = Record.from_channels(0.1 * np.arange(1500), {"force": force, "sway": noisy})
    >>> found = auto(test, "force", "sway")
    >>> error = found.frequencies_hz - true.modes().frequencies_hz
    >>> found.order, bool(abs(error[0]) < 4 * found.identified.frequency_deviations[0]), bool(found.fit.mean > 90.0)
    (2, True, True)
    """
    share = _share(hold_out)
    with _collected() as said:
        record = cut_at_gaps(record)
        data = _read(record, inputs, outputs)
        setting, decisions = _prepared(data, rows)
        training, held = _split(record_list(record), share)
        decisions.append(_split_text(training, held, data.dt))
        part = setting.read(training)
        projection = project(compress_hankel(part, block_rows(part, None, setting.rows)), setting.method)
        choice, trials = _order(projection, training, setting, order, decisions)
        drawn = _diagram(projection, part, setting, choice)
        found = setting.found(part, choice, projection.hankel.rows)
    doubt = doubtful(part, found.system, model_of(), unexplained=0.0) if setting.inputs else ""
    said += [doubt] if doubt else []
    with _collected() as doubts:
        model = _refined(found, training, setting, refined, decisions)
        fewer = None if order is not None else without_twins(model, trials)
        if fewer is not None:
            decisions.append(
                f"went back to order {fewer}: two modes had one shape and nearly one frequency, which is one mode that "
                "changes with the level of motion, and fewer states fit the part kept aside as well"
            )
            trials = tuple(replace(trial, chosen=trial.order == fewer) for trial in trials)
            again = setting.found(part, fewer, projection.hankel.rows)
            model = _refined(again, training, setting, refined, decisions)
    said += [text for text in doubts if text not in said]
    fit_in, fit_out = _fit(model, training, setting), _fit(model, held, setting) if held else None
    said += [text for text in [useless(fit_in), filled_told(data.provenance)] if text]
    residuals = model.residuals(held or training, setting.kind if model.gain is not None else "simulation")
    result = AutoIdentified(
        identified=model, stabilization=drawn, trials=trials, fit=fit_out, training_fit=fit_in, residuals=residuals,
        frf=_measured(part, setting, model), training=training, held_out=held, decisions=tuple(decisions),
        warnings=(*said, *judged(model, drawn, fit_in, fit_out, residuals, data.duration)),
        provenance=dict(data.provenance),
    )  # fmt: skip
    for text in said:
        warnings.warn(text, IdentificationWarning, stacklevel=2)
    return result


# ---- steps


def _read(record: Record | Sequence[Record], inputs: Names, outputs: Names | None) -> Data:
    """The channels as they are; a large offset is no reason to warn, it will be taken off."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = read_data(record, inputs, outputs, drift_matters=True)
    for one in caught:
        if "offset" not in str(one.message):
            warnings.warn(one.message, one.category, stacklevel=2)
    return data


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 0.5:
        raise DataError(f"hold_out is the part of the data kept for judgement, 0 to 0.5, not {value!r}.")
    return float(value)


def _prepared(data: Data, rows: int | None) -> tuple[_Setting, list[str]]:
    """Whether means come off, and what was read, in words."""
    blows = bool(data.nu) and all(_is_blow(u[:, j]) for u in data.u for j in range(data.nu))
    shifted = [] if blows else _offset_channels(data)
    ways = f"{data.nu} in, {data.ny} out" if data.nu else f"{counted(data.ny, 'output')} without inputs"
    text = (
        f"read {data.samples} samples in {counted(data.segments, 'record')} at {1.0 / data.dt:.6g} Hz "
        f"({data.duration:.4g} s), {ways}; {gaps_told(data.provenance)}, even time, no dead channel"
    )
    if blows:
        why = "kept the levels of all channels: the inputs are blows from rest, whose means are no offsets"
    elif shifted:
        why = f"took the mean off every channel: {listed(shifted, {})} have offsets that are no motion"
    else:
        why = "kept the levels of all channels: their means are no larger than chance gives"
    kept, left_out = _without_copies(data)
    return _Setting(data.inputs, kept, "mean" if shifted else "none", rows, blows), [text, *left_out, why]


def _without_copies(data: Data) -> tuple[tuple[str, ...], list[str]]:
    """Outputs that are no other output over again, scaled or shifted, and words on those left out.

    A copy has no noise of its own: the order that explains it is far too large. The longest record's start decides.
    """
    y = data.y[int(np.argmax(data.lengths))][:LOOKED_AT]
    y = y - y.mean(axis=0)
    y = y / np.maximum(np.sqrt(np.einsum("ij,ij->j", y, y)), 1e-300)
    kept: list[int] = []
    texts = []
    for j, name in enumerate(data.outputs):
        gaps = [(np.linalg.norm(y[:, j] - (y[:, i] @ y[:, j]) * y[:, i]), i) for i in kept if y[:, i].any()]
        same = [i for gap, i in gaps if gap < COPY and y[:, j].any()]
        if same:
            texts.append(f"left out {name}: it is {data.outputs[same[0]]} over again")
        else:
            kept.append(j)
    return tuple(data.outputs[j] for j in kept), texts


def _is_blow(u: FloatArray) -> bool:
    """Whether an input is quiet most of the time."""
    size = np.abs(u)
    return bool(np.mean(size < QUIET * size.max()) > MOSTLY)


def _offset_channels(data: Data) -> list[str]:
    """Channels whose mean is more than chance: its error is told by the means of parts of the record."""
    found = []
    for names, blocks in ((data.inputs, data.u), (data.outputs, data.y)):
        parts = [part for block in blocks for part in np.array_split(block, PARTS) if len(part)]
        means = np.array([part.mean(axis=0) for part in parts])
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        large = np.abs(means.mean(axis=0)) > MORE_THAN_CHANCE * error
        found += [name for name, is_large in zip(names, large, strict=True) if is_large]
    return found


def _split(runs: tuple[Record, ...], share: float) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    if share == 0.0 or sum(map(len, runs)) < FEWEST_TO_SPLIT:
        return runs, ()
    if len(runs) > 2:
        count = max(1, int(share * len(runs)))
        return runs[:-count], runs[-count:]
    parts = [_parted(run, 1.0 - share) for run in runs]
    return tuple(first for first, _ in parts), tuple(last for _, last in parts)


def _parted(run: Record, share: float) -> tuple[Record, Record]:
    k = round(share * len(run))
    return run.between(None, float(run.time[k - 1])), run.between(float(run.time[k]), None)


def _split_text(training: Sequence[Record], held: Sequence[Record], dt: float) -> str:
    if not held:
        return "held nothing out: the fit below is on the data the model was found from"
    seconds = [dt * sum(map(len, runs)) for runs in (training, held)]
    what = "the end" if len(training) <= 2 else "the last of the records"
    return f"found the model from {seconds[0]:.4g} s and held out {what}, {seconds[1]:.4g} s, to judge it"


def _order(
    projection: Projection, training: Sequence[Record], setting: _Setting, asked: int | None, decisions: list[str]
) -> tuple[int, tuple[Trial, ...]]:
    """The order, and the trials that speak for it."""
    if asked is not None:
        decisions.append(f"took order {asked} as asked")
        return int(asked), ()
    choice = choose_order(projection)
    decisions.append(choice.explanation.rstrip("."))
    trials = _trials(choice, projection, training, setting)
    best = max(trials, key=lambda trial: trial.percent, default=None)
    own = next((trial for trial in trials if trial.order == choice.order), None)
    order = choice.order
    if best is not None and (own is None or best.percent > own.percent + CLEARLY_BETTER):
        order = min(trial.order for trial in trials if trial.percent > best.percent - 1.0)
        before = "could not be found" if own is None else f"fits {own.percent:.1f} %"
        now = next(trial.percent for trial in trials if trial.order == order)
        decisions.append(
            f"changed the order to {order}: on a part of the training data kept aside it fits {now:.1f} %, where order "
            f"{choice.order} {before}"
        )
    elif own is not None and len(trials) > 1:
        others = ", ".join(f"{trial.order}: {trial.percent:.1f} %" for trial in trials if trial is not own)
        decisions.append(
            f"kept order {order}: on a part of the training data kept aside it fits {own.percent:.1f} %, and no "
            f"neighbouring order does better by {CLEARLY_BETTER:g} % ({others})"
        )
    return order, tuple(replace(trial, chosen=trial.order == order) for trial in trials)


def _trials(
    choice: OrderChoice, projection: Projection, training: Sequence[Record], setting: _Setting
) -> tuple[Trial, ...]:
    first, last = _split(tuple(training), 1.0 / 3.0)
    values = choice.singular_values
    if not last or values[min(choice.order, len(values) - 1)] <= ROUNDING * values[0]:
        return ()  # too little to part, or free of noise: nothing to weigh
    hankel = projection.hankel
    room = min((hankel.rows - 1) * hankel.ny, len(projection.values) - 1)
    most = min(room, 2 * max(choice.gap, choice.stability) + 10)
    n = choice.order
    wanted = {n - 2, n, n + 2, n + 4, choice.gap, choice.stability, min(choice.information, most)}
    trials = []
    try:
        part = setting.read(first)
    except DalembertError:
        return ()  # a channel rests in this part
    for order in sorted(k for k in wanted if 1 <= k <= room):
        try:
            with _collected():  # of an order that may not be taken
                model = setting.found(part, order, hankel.rows)
            percent = _fit(model, last, setting).mean
        except (DalembertError, np.linalg.LinAlgError):
            continue
        if np.isfinite(percent):
            trials.append(Trial(order, percent, bool(model.system.is_stable)))
    return tuple(trials)


def _diagram(projection: Projection, data: Data, setting: _Setting, order: int) -> Stabilization:
    hankel = projection.hankel
    room = min((hankel.rows - 1) * hankel.ny, len(projection.values), LARGEST_ORDER_DRAWN)
    orders = list(range(2, max(room, 2) + 1, 2)) or [order]
    return diagram(projection, orders, data, setting.method, Tolerances())


def _refined(
    found: Identified, training: Sequence[Record], setting: _Setting, wanted: bool, decisions: list[str]
) -> Identified:
    """The model after maximum likelihood, or as it was."""
    name = {"moesp": "MOESP", "ssi_data": "SSI-data"}[setting.method]
    decisions.append(
        f"found a model of order {found.order} by {name}, a subspace method: no start values, no iterations"
    )
    if not wanted:
        return found
    if _fit(found, training, setting).mean > 100.0 - 1e-5:
        decisions.append("did not refine it: the data are noise-free, it plays them back exactly")
        return found
    noise = "output" if setting.inputs else "innovations"
    try:
        better = refine(found, training, noise=noise)
    except (DataError, np.linalg.LinAlgError) as error:
        decisions.append(f"could not refine it ({error}); it has no standard deviations")
        return found
    if "refined" not in better.provenance:
        decisions.append("kept it: refinement by maximum likelihood found nothing more likely")
        return better
    how = "output errors (simulation)" if setting.inputs else "prediction errors"
    white = better.provenance.get("deviations") == "Fisher information"
    spread = "the curvature at the top" if white else "the scatter of its residuals, which are far from white,"
    decisions.append(
        f"refined it by maximum likelihood of its {how}, {better.provenance['iterations']} iterations; {spread} gives "
        "the standard deviations"
    )
    return better


def _fit(model: Identified, records: Sequence[Record], setting: _Setting) -> Fit:
    kind = setting.kind if setting.inputs or model.gain is not None else "simulation"
    with np.errstate(over="ignore", invalid="ignore"):
        return model.fit(records, kind)


def _measured(data: Data, setting: _Setting, model: Identified) -> FrfEstimate | None:
    """Measured frequency response: blocks as usual, or longer ones where the modes are sharper than its lines."""
    if not setting.inputs:
        return None
    try:
        if setting.blows:
            return frf(data, window="boxcar", segment="record", detrend="none")
        usual = frf(data)
        width = float(np.min(-model.underdamped().eigenvalues.real, initial=np.inf))  # half of the half-power width
        longest = min(data.lengths) // FEWEST_BLOCKS
        if usual.frequencies[1] - usual.frequencies[0] < width or longest <= 2 * len(usual.frequencies):
            return usual
        return frf(data, segment=longest)
    except DataError:
        return None


@contextmanager
def _collected() -> Iterator[list[str]]:
    """Texts of identification warnings said inside; others go on their way."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for one in caught:
        if issubclass(one.category, IdentificationWarning):
            if str(one.message) not in texts:
                texts.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
