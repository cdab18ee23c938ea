"""Automatic identification: a model and its modes from records alone, with the reasons for every choice.

1. read       records are checked; means are taken off where they are offsets, not where the inputs are impacts
2. hold out   the last third of a record, or the last of several records, is not used until the end
3. order      three criteria (``order.py``), then models of neighbouring orders found on two thirds of the training data
              and tried on the rest; another order is taken only where it does clearly better there, or where it
              does as well with a mode less that had a duplicate
4. model      MOESP with inputs, SSI-data without; then maximum likelihood with standard deviations
5. validate   on the data held out: simulation (prediction without inputs), residuals
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, DataError
from dalembert.core.text import counted, listed
from dalembert.identify.auto.result import AutoIdentified, OrderTrial
from dalembert.identify.auto.validation import find_doubts, find_poor_fit, order_without_duplicates
from dalembert.identify.likelihood.refine import refine
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit
from dalembert.identify.records.checks import list_records
from dalembert.identify.records.data import Data, Detrend, read_data
from dalembert.identify.records.gaps import describe_gaps, find_filled_gaps, find_parts
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.identify.spectral.frf import FrfEstimate, frf
from dalembert.identify.subspace.hankel_factor import choose_rows, compress_hankel
from dalembert.identify.subspace.projections import Projection, project
from dalembert.identify.subspace.residuals import examine_residuals
from dalembert.identify.subspace.ssi import realize_outputs
from dalembert.identify.subspace.stabilization import (
    GAPS,
    OrderChoice,
    Stabilization,
    Tolerances,
    choose_order,
    make_diagram,
)
from dalembert.identify.subspace.subspace import identify_subspace, moesp_finder
from dalembert.record import Record

Names = str | Iterable[str]
SAMPLES_COMPARED = 10_000  # samples of two outputs that are compared
LARGEST_ORDER_DRAWN = 60  # of a stabilization diagram: thirty modes


@dataclass(frozen=True)
class ChoiceThresholds:
    """Limits of the choices of automatic identification."""

    # samples below which none are held out: a third of 200 just exceeds the 60 that 30 block rows of past and future
    # take
    fewest_to_split: int = 200
    # percent of fit by which a trial must be better than the order of the three criteria: of 31 records of a frame (600
    # and 2000 samples, 5 to 100 % noise) larger orders than the true one are better by 0.6 at most
    clearly_better: float = 5.0
    # an input below this share of its peak for this share of the time is a series of impacts: a random input is below
    # 2 % of its peak (4 standard deviations) for 6 % of the time, a sine for 1 %
    quiet_level: float = 0.02
    quiet_time: float = 0.9
    # a mean this many of its standard errors from zero is an offset: the t distribution of ten parts gives that by
    # chance in 7 of 10 000 channels
    offset: float = 5.0
    parts: int = 10
    # relative difference below which an output is a copy of another one: single precision of a logger
    copy: float = 1e-7
    # percent of fit above which data are free of noise, and refinement has nothing to do
    exact_fit: float = 100.0 - 1e-5
    # blocks of a measured frequency response at least (twice as many with their overlap)
    fewest_blocks: int = 4


THRESHOLDS = ChoiceThresholds()


@dataclass(frozen=True)
class _Setting:
    """Choices that hold for all steps."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    detrend: Detrend
    rows: int | None
    impacts: bool

    @property
    def method(self) -> str:
        return "moesp" if self.inputs else "ssi_data"

    @property
    def kind(self) -> str:
        return "simulation" if self.inputs else "prediction"

    def read(self, record: Sequence[Record]) -> Data:
        """Parts of the records as arrays; the findings on the whole records hold for them."""
        data = read_data.quiet(record, self.inputs, self.outputs, detrend=self.detrend, offset_matters=False)
        return data.replace(findings=())

    def identify(self, data: Data, order: int, rows: int | None) -> Identified:
        """A model of some order by the subspace method."""
        if self.inputs:
            return identify_subspace("moesp", data, (), None, order, rows, True, None, "none", examined=False)
        return realize_outputs("ssi_data", data, None, order, rows, "none")


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
    """A model from inputs to outputs, with its modes, from records alone.

    Parameters
    ----------
    record : Record, or several of repeated tests
    inputs, outputs : channel names
        Without inputs the record is taken as ambient vibration or free decay. Outputs are all other channels when left
        out.
    order : number of states, optional
        Two per mode; chosen from the data when left out.
    hold_out : share of the data kept for the validation, 0 to 0.5
        The end of a single record; the last of several records, or the end of each where there are only two.
    rows : block rows of the subspace method, optional
    refined : bool
        Whether the model is refined by maximum likelihood, which also gives standard deviations.

    Returns
    -------
    AutoIdentified
        ``explain()`` lists the steps and their reasons, ``findings`` what makes the model doubtful.

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
    share = _check_share(hold_out)
    parts, cuts = find_parts(record)
    data = read_data.quiet(parts, inputs, outputs, drift_matters=True)
    findings = cuts + [one for one in data.findings if one.code != "offset"]  # means are taken off
    setting, decisions = _prepare(data, rows)
    training, held = _split(list_records(parts), share)
    decisions.append(_describe_split(training, held, data.dt))
    part = setting.read(training)
    projection = project(compress_hankel(part, choose_rows(part, None, setting.rows)), setting.method)
    choice, trials = _choose_order(projection, training, setting, order, decisions)
    drawn = _diagram(projection, part, setting, choice)
    found = setting.identify(part, choice, projection.hankel.rows)
    findings += found.findings
    if setting.inputs:
        findings += examine_residuals(part, found.system, moesp_finder(), unexplained=0.0)
    model = _refine(found, training, setting, refined, decisions)
    fewer = None if order is not None else order_without_duplicates(model, trials)
    if fewer is not None:
        decisions.append(
            f"went back to order {fewer}: two modes had one shape and nearly one frequency, which is one mode that "
            "changes with the level of motion, and fewer states fit the part kept aside as well"
        )
        trials = tuple(replace(trial, chosen=trial.order == fewer) for trial in trials)
        model = _refine(setting.identify(part, fewer, projection.hankel.rows), training, setting, refined, decisions)
    findings += [one for one in model.findings if one not in findings]
    fit_in, fit_out = _fit(model, training, setting), _fit(model, held, setting) if held else None
    findings += find_poor_fit(fit_in) + find_filled_gaps(data.provenance)
    residuals = model.residuals(held or training, setting.kind if model.gain is not None else "simulation")
    IdentificationWarning.report(findings)
    return AutoIdentified(
        identified=model, stabilization=drawn, trials=trials, fit=fit_out, training_fit=fit_in, residuals=residuals,
        frf=_measure_frf(part, setting, model), training=training, held_out=held, decisions=tuple(decisions),
        findings=(*findings, *find_doubts(model, drawn, fit_in, fit_out, residuals, data.duration)),
        provenance=dict(data.provenance),
    )  # fmt: skip


# ---- steps


def _check_share(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 0.5:
        raise DataError(
            "out-of-range", f"hold_out is the share of the data kept for validation, 0 to 0.5, not {value!r}.",
            where={"argument": "hold_out"},
        )  # fmt: skip
    return float(value)


def _prepare(data: Data, rows: int | None) -> tuple[_Setting, list[str]]:
    """Whether means are taken off, which outputs are copies, and the first decisions."""
    impacts = bool(data.nu) and all(_is_impact(u[:, j]) for u in data.u for j in range(data.nu))
    shifted = [] if impacts else _find_offsets(data)
    ways = f"{data.nu} in, {data.ny} out" if data.nu else f"{counted(data.ny, 'output')} without inputs"
    text = (
        f"read {data.samples} samples in {counted(data.segments, 'record')} at {1.0 / data.dt:.6g} Hz "
        f"({data.duration:.4g} s), {ways}; {describe_gaps(data.provenance)}, even time, no dead channel"
    )
    if impacts:
        why = "kept the levels of all channels: the inputs are impacts from rest, whose means are no offsets"
    elif shifted:
        why = f"took the mean off every channel: {listed(shifted, {})} have offsets that are no motion"
    else:
        why = "kept the levels of all channels: their means are no larger than chance gives"
    kept, left_out = _leave_out_copies(data)
    return _Setting(data.inputs, kept, "mean" if shifted else "none", rows, impacts), [text, *left_out, why]


def _leave_out_copies(data: Data) -> tuple[tuple[str, ...], list[str]]:
    """Outputs that are no copies of others, scaled or shifted, and decisions on those left out.

    A copy has no noise of its own: the order that explains it is far too large. The first samples of the longest
    record decide.
    """
    y = data.y[int(np.argmax(data.lengths))][:SAMPLES_COMPARED]
    y = y - y.mean(axis=0)
    y = y / np.maximum(np.sqrt(np.einsum("ij,ij->j", y, y)), 1e-300)
    kept: list[int] = []
    texts = []
    for j, name in enumerate(data.outputs):
        gaps = [(np.linalg.norm(y[:, j] - (y[:, i] @ y[:, j]) * y[:, i]), i) for i in kept if y[:, i].any()]
        same = [i for gap, i in gaps if gap < THRESHOLDS.copy and y[:, j].any()]
        if same:
            texts.append(f"left out {name}: it is a copy of {data.outputs[same[0]]}")
        else:
            kept.append(j)
    return tuple(data.outputs[j] for j in kept), texts


def _is_impact(u: FloatArray) -> bool:
    """Whether an input is quiet most of the time."""
    size = np.abs(u)
    return bool(np.mean(size < THRESHOLDS.quiet_level * size.max()) > THRESHOLDS.quiet_time)


def _find_offsets(data: Data) -> list[str]:
    """Channels whose mean differs from zero by more than chance; its error is that of the means of parts."""
    found = []
    for names, blocks in ((data.inputs, data.u), (data.outputs, data.y)):
        parts = [part for block in blocks for part in np.array_split(block, THRESHOLDS.parts) if len(part)]
        means = np.array([part.mean(axis=0) for part in parts])
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        large = np.abs(means.mean(axis=0)) > THRESHOLDS.offset * error
        found += [name for name, is_large in zip(names, large, strict=True) if is_large]
    return found


def _split(runs: tuple[Record, ...], share: float) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    if share == 0.0 or sum(map(len, runs)) < THRESHOLDS.fewest_to_split:
        return runs, ()
    if len(runs) > 2:
        count = max(1, int(share * len(runs)))
        return runs[:-count], runs[-count:]
    parts = [_cut(run, 1.0 - share) for run in runs]
    return tuple(first for first, _ in parts), tuple(last for _, last in parts)


def _cut(run: Record, share: float) -> tuple[Record, Record]:
    k = round(share * len(run))
    return run.between(None, float(run.time[k - 1])), run.between(float(run.time[k]), None)


def _describe_split(training: Sequence[Record], held: Sequence[Record], dt: float) -> str:
    if not held:
        return "held no data out: the fit below is that of the training data"
    seconds = [dt * sum(map(len, runs)) for runs in (training, held)]
    what = "the end" if len(training) <= 2 else "the last of the records"
    return f"found the model from {seconds[0]:.4g} s and held out {what}, {seconds[1]:.4g} s, to validate it"


def _choose_order(
    projection: Projection, training: Sequence[Record], setting: _Setting, asked: int | None, decisions: list[str]
) -> tuple[int, tuple[OrderTrial, ...]]:
    """The order, and the trials of its neighbours."""
    if asked is not None:
        decisions.append(f"took order {asked} as asked")
        return int(asked), ()
    choice = choose_order(projection)
    decisions.append(choice.explanation.rstrip("."))
    trials = _try_orders(choice, projection, training, setting)
    best = max(trials, key=lambda trial: trial.percent, default=None)
    own = next((trial for trial in trials if trial.order == choice.order), None)
    order = choice.order
    if best is not None and (own is None or best.percent > own.percent + THRESHOLDS.clearly_better):
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
            f"neighbouring order does better by {THRESHOLDS.clearly_better:g} % ({others})"
        )
    return order, tuple(replace(trial, chosen=trial.order == order) for trial in trials)


def _try_orders(
    choice: OrderChoice, projection: Projection, training: Sequence[Record], setting: _Setting
) -> tuple[OrderTrial, ...]:
    first, last = _split(tuple(training), 1.0 / 3.0)
    values = choice.singular_values
    if not last or values[min(choice.order, len(values) - 1)] <= GAPS.rounding * values[0]:
        return ()  # too few samples, or free of noise
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
            model = setting.identify(part, order, hankel.rows)
            percent = _fit(model, last, setting).mean
        except (DalembertError, np.linalg.LinAlgError):
            continue
        if np.isfinite(percent):
            trials.append(OrderTrial(order, percent, bool(model.system.is_stable)))
    return tuple(trials)


def _diagram(projection: Projection, data: Data, setting: _Setting, order: int) -> Stabilization:
    hankel = projection.hankel
    room = min((hankel.rows - 1) * hankel.ny, len(projection.values), LARGEST_ORDER_DRAWN)
    orders = list(range(2, max(room, 2) + 1, 2)) or [order]
    return make_diagram(projection, orders, data, setting.method, Tolerances())


def _refine(
    found: Identified, training: Sequence[Record], setting: _Setting, wanted: bool, decisions: list[str]
) -> Identified:
    """The model after maximum likelihood, or as it was."""
    name = {"moesp": "MOESP", "ssi_data": "SSI-data"}[setting.method]
    decisions.append(
        f"found a model of order {found.order} by {name}, a subspace method: no initial values, no iterations"
    )
    if not wanted:
        return found
    if _fit(found, training, setting).mean > THRESHOLDS.exact_fit:
        decisions.append("did not refine it: the data are noise-free, the model reproduces them exactly")
        return found
    noise = "output" if setting.inputs else "innovations"
    try:
        better = refine.quiet(found, training, noise=noise)
    except (DataError, np.linalg.LinAlgError) as error:
        decisions.append(f"could not refine it ({error}); it has no standard deviations")
        return found
    if better.system is found.system:
        decisions.append("kept it: refinement by maximum likelihood found nothing more likely")
        return better
    how = "output errors (simulation)" if setting.inputs else "prediction errors"
    white = better.deviation_method == "fisher"
    spread = "the curvature at its maximum" if white else "the scatter of its residuals, which are far from white,"
    decisions.append(
        f"refined it by maximum likelihood of its {how}, {better.provenance['iterations']} iterations; {spread} gives "
        "the standard deviations"
    )
    return better


def _fit(model: Identified, records: Sequence[Record], setting: _Setting) -> Fit:
    kind = setting.kind if setting.inputs or model.gain is not None else "simulation"
    with np.errstate(over="ignore", invalid="ignore"):
        return model.fit(records, kind)


def _measure_frf(data: Data, setting: _Setting, model: Identified) -> FrfEstimate | None:
    """Measured frequency response: blocks as usual, or longer ones where the modes are sharper than its lines."""
    if not setting.inputs:
        return None
    try:
        if setting.impacts:
            return frf(data, window="boxcar", segment="record", detrend="none")
        usual = frf(data)
        rates = -model.underdamped_modes().eigenvalues.real  # half of the half-power widths
        width = float(np.min(rates, initial=np.inf))
        longest = min(data.lengths) // THRESHOLDS.fewest_blocks
        if usual.frequencies[1] - usual.frequencies[0] < width or longest <= 2 * len(usual.frequencies):
            return usual
        return frf(data, segment=longest)
    except DataError:
        return None
