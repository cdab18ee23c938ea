"""Automatic identification: a model and its modes from records alone, with the reasons for every choice.

1. read        records are checked; means are subtracted where they are offsets, not where the inputs are impacts;
               sines, as of a rotating machine, are removed where there are no inputs
2. time scale  the band that is excited decides the rate of the model and the rows of the data (``time_scale.py``)
3. hold out    the last third of a record, or the last of several records, is not used until the end
4. order       three criteria (``stabilization.py``), then trials on a part of the training data (``order_trials.py``)
5. model       MOESP with inputs, SSI-data without; then maximum likelihood with standard deviations, no pole on the
               unit circle (``settled_poles.py``)
6. modes       three classes: sound, uncertain, of the fit only (``mode_classes.py``)
7. validate    on the data held out: simulation (prediction without inputs), residuals
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from dalembert.core.declare import between, checked, count, refused_as
from dalembert.core.errors import DataError
from dalembert.core.findings import Finding
from dalembert.identify.auto.mode_classes import find_missing_columns, judge_modes, measure_strength
from dalembert.identify.auto.nonlinearity import decide_nonlinearity, describe_nonlinearity
from dalembert.identify.auto.order_trials import (
    choose_tried_order,
    describe_equal_orders,
    find_equal_orders,
    find_further_modes,
    fits_as_well,
    identify_stable,
    is_among,
    try_larger_orders,
)
from dalembert.identify.auto.preparation import (
    Setting,
    describe_split,
    prepare,
    split,
    split_within_periods,
)
from dalembert.identify.auto.result import CLASSES, AutoIdentified, OrderTrial
from dalembert.identify.auto.settled_poles import drop_modes, is_settled, refine_inside, refine_once
from dalembert.identify.auto.time_scale import TimeScale, find_time_scale, reduce_rate
from dalembert.identify.auto.validation import (
    find_doubts,
    find_duplicates,
    find_no_sound_mode,
    find_poor_fit,
    order_without_duplicates,
)
from dalembert.identify.model.identified import Identified
from dalembert.identify.output_only.machine_sines import remove_machine_sines
from dalembert.identify.records.checks import list_records
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.gaps import find_filled_gaps, find_parts
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.identify.spectral.frf import FrfEstimate, frf
from dalembert.identify.spectral.periodic import PeriodicLines, find_period, separate_lines
from dalembert.identify.spectral.rotor_lines import RotorLines
from dalembert.identify.subspace.projections import Projection
from dalembert.identify.subspace.residuals import examine_residuals
from dalembert.identify.subspace.stabilization import Stabilization, Tolerances, make_diagram
from dalembert.identify.subspace.subspace import moesp_finder
from dalembert.record import Record

Names = str | Iterable[str]

Share = Annotated[
    float, refused_as("out-of-range", between(0.0, 0.5)),
    "share of the data kept for validation: the end of a single record, the last of several, or the end of both of two",
]  # fmt: skip
Order = Annotated[int, count(1), "number of states, two per mode; chosen from the data when left out"]


@checked
def auto(
    record: Record | Sequence[Record], inputs: Names = (), outputs: Names | None = None, *, order: Order | None = None,
    hold_out: Share = 1.0 / 3.0, rows: int | None = None, refined: bool = True,
) -> AutoIdentified:  # fmt: skip
    """A model from inputs to outputs, with its modes, from records alone.

    Parameters
    ----------
    record : Record, or several of repeated tests
    inputs, outputs : channel names
        Without inputs the record is taken as ambient vibration or free decay. Outputs are all other channels when left
        out.
    rows : block rows of the subspace method, optional
    refined : bool
        Whether the model is refined by maximum likelihood, which also gives standard deviations.

    Returns
    -------
    AutoIdentified
        ``explain()`` lists the steps and their reasons, ``findings`` the doubts about the model.

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
    >>> found.order, bool(abs(error[0]) < 4 * found.identified.frequency_deviations_hz[0]), bool(found.fit.mean > 90.0)
    (2, True, True)
    """
    parts, cuts = find_parts(record)
    data = read_data.quiet(parts, inputs, outputs, drift_matters=True)
    findings = cuts + [finding for finding in data.findings if finding.code != "offset"]  # means are subtracted
    setting, decisions = prepare(data, rows)
    rotor = None
    if not setting.inputs:
        sines = remove_machine_sines(parts, data)
        rotor = sines.rotor
        parts, findings, decisions = sines.records, [*findings, *sines.findings], [*decisions, *sines.decisions]
    scale = find_time_scale(setting.read(parts), impacts=setting.impacts)
    decisions.append(scale.describe())
    period = None if setting.impacts else find_period(data.u)
    lines = None if period is None else separate_lines(setting.read(parts), period)
    setting = replace(setting, spanning=scale.rows, period=None if lines is None else lines.seconds)
    runs = reduce_rate(list_records(parts), scale.factor)
    if lines is None:
        training, held = split(runs, hold_out, inputs=setting.inputs)
    else:
        decisions.append(
            f"found a periodic input: {lines.periods} periods of {lines.seconds:.4g} s averaged, noise and distortion "
            "separated line by line"
        )
        training, held = split_within_periods(runs, hold_out, lines.seconds)
        findings += [] if held or hold_out == 0.0 else [_describe_repetition(lines)]
    decisions.append(describe_split(training, held, data.dt * scale.factor, setting.period))
    training_data = setting.read(training)
    projection = setting.project(training_data)
    trials: tuple[OrderTrial, ...] = ()
    if order is None:
        chosen, choice, trials = choose_tried_order(projection, training, setting, decisions)
        orders = [choice.order, choice.stability]
    else:
        chosen, orders = order, []
        decisions.append(f"took order {order} as given")
    model_found, trials = identify_stable(training_data, projection, setting, chosen, trials, decisions)
    findings += model_found.findings
    if setting.inputs:
        findings += examine_residuals(training_data, model_found.system, moesp_finder(), unexplained=0.0)
    model, more = _settle(
        model_found, training, training_data, projection, setting, orders if refined else None, decisions
    )
    if order is None:
        model, trials = _part_with_duplicates(
            model, trials, training, training_data, projection, setting, refined, decisions
        )
        model, trials, equal = _take_smaller(
            model, choice.order, trials, training, training_data, projection, setting, refined, scale, rotor, decisions
        )
        findings += equal
    drawn = _diagram(projection, training_data, setting, model.order)
    if order is None:
        model, trials = _take_columns(
            model, drawn, trials, training, training_data, projection, setting, refined, scale, rotor, decisions
        )
    findings += [finding for finding in (*model.findings, *more) if finding not in findings]
    judgements = judge_modes(model, projection, training, training_data, setting, scale, rotor)
    findings += find_no_sound_mode(judgements)
    fit_in, fit_out = setting.fit(model, training), setting.fit(model, held) if held else None
    findings += find_poor_fit(fit_in) + find_filled_gaps(data.provenance)
    residuals = model.residuals(held or training, setting.kind if model.gain is not None else "simulation")
    # the classes of the modes also judge the refinement, and modes that only one of two orders has: findings are kept
    silent = ("no-convergence", "unmeasured-forces", "equal-orders")
    IdentificationWarning.report([finding for finding in findings if finding.code not in silent])
    sound = [k for k, judged in enumerate(judgements) if judged.grade != CLASSES[2]]
    all_data = setting.read(runs)
    bent = decide_nonlinearity(model, [k for k in sound if judgements[k].grade == CLASSES[0]], all_data, lines)
    decisions.append(f"judged the structure: {bent.text()}")
    findings += scale.findings() + describe_nonlinearity(bent)
    findings += find_doubts(model, sound, drawn, fit_in, fit_out, residuals, data.duration)
    findings += find_missing_columns(model, drawn, scale, rotor)
    return AutoIdentified(
        identified=model, stabilization=drawn, trials=trials, fit=fit_out, training_fit=fit_in, residuals=residuals,
        frf=_measure_frf(training_data, setting, model, lines, list_records(parts)), training=training, held_out=held,
        decisions=tuple(decisions), findings=tuple(findings), judgements=judgements, time_scale=scale, periodic=lines,
        nonlinearity=bent, provenance=dict(data.provenance), rotor=rotor,
    )  # fmt: skip


# ---- steps


def _diagram(
    projection: Projection, data: Data, setting: Setting, order: int, largest_order_drawn: int = 60
) -> Stabilization:
    # largest_order_drawn: largest order of a stabilization diagram: thirty modes
    room = min(projection.room, largest_order_drawn)
    orders = list(range(2, max(room, 2) + 1, 2)) or [order]
    return make_diagram(projection, orders, data, setting.method, Tolerances())


def _settle(
    found: Identified, training: Sequence[Record], data: Data, projection: Projection, setting: Setting,
    orders: Sequence[int] | None, decisions: list[str],
) -> tuple[Identified, list[Finding]]:  # fmt: skip
    """The model after maximum likelihood, or unchanged where refinement is switched off."""
    name = {"moesp": "MOESP", "ssi_data": "SSI-data"}[setting.method]
    decisions.append(
        f"found a model of order {found.order} by {name}, a subspace method: no initial values, no iterations"
    )
    if orders is None:
        return found, []
    return refine_inside(found, training, data, projection, setting, orders, decisions)


def _part_with_duplicates(
    model: Identified, trials: tuple[OrderTrial, ...], training: Sequence[Record], data: Data, projection: Projection,
    setting: Setting, refined: bool, decisions: list[str],
) -> tuple[Identified, tuple[OrderTrial, ...]]:  # fmt: skip
    """The model with each mode once: of a lower order that fits as well, or without the weaker of two equal modes."""
    twice = find_duplicates(model)
    if not twice:
        return model, trials
    why = "two modes had the same shape and nearly the same frequency: one mode that changes with the level of motion"
    fewer = order_without_duplicates(model, trials)
    if fewer is not None:
        decisions.append(f"returned to order {fewer}: {why}, and fewer states fit the part kept aside as well")
        trials = tuple(replace(trial, chosen=trial.order == fewer) for trial in trials)
        lower, _ = _settle(
            setting.identify(data, projection, fewer), training, data, projection, setting, () if refined else None,
            decisions,
        )  # fmt: skip
        return lower, trials
    strength = measure_strength(model, data)
    weak = np.unique([min(pair, key=lambda k: strength[k]) for pair in twice])
    smaller = drop_modes(model, model.frequencies_hz[weak])
    if smaller is None or not refined:
        return model, trials
    decisions.append(f"removed the weaker of each pair: {why}")
    noise = model.noise_model or "output"
    again = refine_once(smaller, training, noise, decisions)
    accepted = is_settled(again, max(data.lengths)) and len(find_duplicates(again)) < len(twice)
    return (again if accepted else model), trials


def _take_smaller(
    model: Identified, proposed: int, trials: tuple[OrderTrial, ...], training: Sequence[Record], data: Data,
    projection: Projection, setting: Setting, refined: bool, scale: TimeScale, rotor: RotorLines | None,
    decisions: list[str],
) -> tuple[Identified, tuple[OrderTrial, ...], list[Finding]]:  # fmt: skip
    """The smallest of the models that fit as well, unless it lacks a sound mode; and a finding with both."""
    orders = find_equal_orders(model.order, proposed, trials)
    above = [order for order in orders if order > model.order]
    second = setting.identify(data, projection, above[0]) if above else None
    sound: set[int] | None = None
    for order in (order for order in orders if order < model.order):
        notes: list[str] = []
        begin = setting.identify(data, projection, order)
        lower, _ = _settle(begin, training, data, projection, setting, () if refined else None, notes)
        if not fits_as_well(lower, model, training, setting):
            continue
        if sound is None:
            judged = judge_modes(model, projection, training, data, setting, scale, rotor)
            sound = {k for k, mode in enumerate(judged) if mode.grade == CLASSES[0]}
        if sound.intersection(find_further_modes(model, lower)):
            second = lower if second is None else second
            continue
        decisions += [
            f"took order {lower.order}, the smaller of two that fit as well with the same sound modes",
            *notes,
        ]
        marked = tuple(replace(trial, chosen=trial.order == lower.order) for trial in trials)
        return lower, marked, [describe_equal_orders(lower, model, trials)]
    return model, trials, [] if second is None else [describe_equal_orders(model, second, trials)]


def _take_columns(
    model: Identified, drawn: Stabilization, trials: tuple[OrderTrial, ...], training: Sequence[Record], data: Data,
    projection: Projection, setting: Setting, refined: bool, scale: TimeScale, rotor: RotorLines | None,
    decisions: list[str],
) -> tuple[Identified, tuple[OrderTrial, ...]]:  # fmt: skip
    """A larger model with stable columns that this one lacks: it fits unseen data better, and its modes are sound."""
    missing = find_missing_columns(model, drawn, scale, rotor)
    if not missing:
        return model, trials
    hertz, first = np.array(missing[0].evidence["hertz"]), max(missing[0].evidence["orders"])
    larger, tried = try_larger_orders(model.order, first, training, setting)
    if larger is None:
        return model, trials
    notes: list[str] = []
    begin = setting.identify(data, projection, larger)
    other, _ = _settle(begin, training, data, projection, setting, () if refined else None, notes)
    if not other.system.is_stable or find_duplicates(other):  # copies of a mode describe a spring that is not linear
        return model, trials
    before, after = (
        [
            each.frequencies_hz[k]
            for k, mode in enumerate(judge_modes(each, projection, training, data, setting, scale, rotor))
            if mode.grade == CLASSES[0]
        ]
        for each in (model, other)
    )
    new = [f for f in hertz if is_among(f, after)]
    if not new or not all(is_among(f, after) for f in before):
        return model, trials
    names = ", ".join(f"{f:.5g}" for f in new)
    decisions += [
        f"took order {larger}: it has the stable columns of the diagram at {names} Hz, which order {model.order} "
        "lacks, as sound modes, and fits the part kept aside better",
        *notes,
    ]
    known = {trial.order: trial for trial in (*tried, *trials)}
    return other, tuple(replace(known[k], chosen=k == larger) for k in sorted(known))


def _describe_repetition(lines: PeriodicLines) -> Finding:
    problem = (
        f"the input repeats every {lines.seconds:.4g} s, and its period is too short to be cut: no data can be held "
        "out whose input the training does not hold. The fit is that of the training data."
    )
    return Finding("no-held-out-data", problem, evidence={"seconds": lines.seconds})


def _measure_frf(
    data: Data, setting: Setting, model: Identified, lines: PeriodicLines | None, records: Sequence[Record],
    fewest_blocks: int = 4,
) -> FrfEstimate | None:  # fmt: skip
    """Measured frequency response: over periods, or over blocks, longer ones where modes are sharper than its lines.

    fewest_blocks : blocks at least (twice as many with their overlap)
    """
    if not setting.inputs:
        return None
    try:
        if lines is not None and lines.periods > 2 * len(setting.inputs):
            over_periods = frf(setting.read(records), window="boxcar", segment=lines.period, overlap=0.0)
            inside = (lines.excited[1:] > 0.0) & (over_periods.frequencies_hz < 0.5 / model.dt)
            return over_periods.select(np.flatnonzero(inside)) if inside.sum() > 1 else None
        if setting.impacts:
            return frf(data, window="boxcar", segment="record", detrend="none")
        usual = frf(data)
        rates = -model.underdamped_modes().eigenvalues.real  # half of the half-power widths
        width = float(np.min(rates, initial=np.inf))
        longest = min(data.lengths) // fewest_blocks
        if usual.frequencies[1] - usual.frequencies[0] < width or longest <= 2 * len(usual.frequencies):
            return usual
        return frf(data, segment=longest)
    except DataError:
        return None
