"""Order of a model by trial: models found on two thirds of the training data and tried on the rest.

The three criteria of ``stabilization.py`` propose an order; neighbours, the orders of the single criteria, and where
these disagree a series of orders are tried. Among the stable models

    lower     an order with a better fit of the unseen part replaces that of the criteria
    larger    an order is taken where every further mode leaves a clearly smaller residual of the unseen part; larger
              orders are tried as long as this is so
    column    an order is taken where it has a stable column of the diagram, that the model lacks, as a sound mode, and
              leaves less of the unseen part
    equal     of two models that fit as well, the smaller is taken unless it lacks a sound mode; a finding has both
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.auto.preparation import Setting, split
from dalembert.identify.auto.result import OrderTrial
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Fit
from dalembert.identify.records.data import Data
from dalembert.identify.subspace.projections import Projection
from dalembert.identify.subspace.stabilization import OrderChoice, choose_order
from dalembert.record import Record


class _Trials:
    """Models of the first part of the training data, tried on the rest; each order once."""

    def __init__(self, training: Sequence[Record], setting: Setting) -> None:
        self.setting, self.found = setting, dict[int, OrderTrial]()
        first, self.last = split(tuple(training), 1.0 / 3.0, each=setting.period is not None, inputs=setting.inputs)
        self.projection = None
        if not self.last:
            return
        try:
            self.data = setting.read(first)
            self.projection = setting.project(self.data)
        except DalembertError:
            pass  # a channel is constant in this part, or it is too short

    @property
    def room(self) -> int:
        return 0 if self.projection is None else self.projection.room

    def run(self, order: int) -> OrderTrial | None:
        """The trial of an order, None where it cannot be made."""
        if order in self.found or not 1 <= order <= self.room or self.projection is None:
            return self.found.get(order)
        try:
            model = self.setting.identify(self.data, self.projection, order)
            fit = self.setting.fit(model, self.last)
        except (DalembertError, np.linalg.LinAlgError):
            return None
        if np.isfinite(fit.mean):
            self.found[order] = OrderTrial(order, fit.mean, bool(model.system.is_stable), left=_measure_left(fit))
        return self.found.get(order)


def choose_tried_order(
    projection: Projection, training: Sequence[Record], setting: Setting, decisions: list[str], climbs: int = 6,
    noise_free: float = 1e-8, disagree: float = 1.5, ladder: tuple[int, ...] = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40),
) -> tuple[int, OrderChoice, tuple[OrderTrial, ...]]:  # fmt: skip
    """The order, that of the criteria, and the trials.

    climbs : largest number of further steps of two states.
    disagree, ladder : ratio of the largest to the smallest order of the criteria, above which a series of orders is
    tried.
    """
    choice = choose_order(projection)
    decisions.append(choice.explanation.rstrip("."))
    values = choice.singular_values
    rounding = values[min(choice.order, len(values) - 1)] <= noise_free * values[0]
    if rounding and choice.order == choice.gap:
        return choice.order, choice, ()  # free of noise
    trials = _Trials(training, setting)
    n = choice.order
    asked = sorted(max(1, order) for order in (choice.gap, choice.information, choice.stability))
    most = 2 * max(choice.gap, choice.stability) + 10
    wanted = {n - 2, n, n + 2, n + 4, choice.gap, choice.stability, min(choice.information, most)}
    if asked[-1] > disagree * asked[0]:
        wanted |= {order for order in ladder if order <= max(most, n)}
    for order in sorted(wanted):
        trials.run(order)
    order = _choose(trials, n)
    for _ in range(climbs):
        if order + 2 in trials.found and order + 4 in trials.found:
            break
        trials.run(order + 2), trials.run(order + 4)
        order = _choose(trials, order)
    tried = tuple(trials.found[k] for k in sorted(trials.found))
    _describe(decisions, tried, n, order)
    return order, choice, tuple(replace(trial, chosen=trial.order == order) for trial in tried)


def try_larger_orders(
    taken: int, first: int, training: Sequence[Record], setting: Setting, steps: int = 3, as_good: float = 1.02
) -> tuple[int | None, tuple[OrderTrial, ...]]:
    """The best order from one at which a column of the diagram begins, and its trials; None where none is better.

    steps : number of orders tried, two states apart
    as_good : largest ratio of two residuals of unseen data that counts as equally good. Every further mode need not
    leave clearly less, as in the first choice: the column is the reason.
    """
    trials, begin = _Trials(training, setting), max(first, taken + 2)
    tried = [trials.run(order) for order in (taken, *range(begin, begin + 2 * steps, 2))]
    stable = {trial.order: trial for trial in tried if trial is not None and trial.stable}
    if taken not in stable or len(stable) == 1:
        return None, ()
    least = min(trial.left for trial in stable.values())
    order = min(k for k, trial in stable.items() if trial.left <= as_good * least)
    return None if order == taken else order, tuple(stable.values())


def identify_stable(
    data: Data, projection: Projection, setting: Setting, order: int, trials: tuple[OrderTrial, ...],
    decisions: list[str],
) -> tuple[Identified, tuple[OrderTrial, ...]]:  # fmt: skip
    """The model of the order that was chosen; where it is unstable, that of the next best order which is not."""
    others = sorted((each for each in trials if each.order != order), key=lambda each: -each.percent)
    first: Identified | None = None
    for trial in (order, *(each.order for each in others if each.stable)):
        try:
            model = setting.identify(data, projection, trial)
        except (DataError, np.linalg.LinAlgError):
            continue
        if model.system.is_stable:
            if trial != order:
                decisions.append(f"took order {trial}: the model of order {order} from all training data is unstable")
            return model, tuple(replace(each, chosen=each.order == trial) for each in trials)
        first = first or model
    return first or setting.identify(data, projection, order), trials


def find_equal_orders(taken: int, proposed: int, trials: Sequence[OrderTrial], as_good: float = 1.02) -> list[int]:
    """Other orders, up to that of the criteria, whose models fit unseen data as well as the one taken; ascending.

    as_good : largest ratio of the residual of an order to the smallest one, for a fit that counts as equally good.
    """
    unexplained = {trial.order: trial.left for trial in trials if trial.stable and trial.order <= proposed}
    ratios = {k: unexplained[k] / unexplained[taken] for k in unexplained if taken in unexplained and k != taken}
    return sorted(k for k, ratio in ratios.items() if 1.0 / as_good <= ratio <= as_good)


def fits_as_well(
    lower: Identified, model: Identified, records: Sequence[Record], setting: Setting, as_good: float = 1.02
) -> bool:
    """Whether a smaller model of the same kind leaves as little of the records it was found from as a larger one."""
    if lower.order >= model.order or lower.noise_model != model.noise_model:
        return False
    unexplained = [_measure_left(setting.fit(each, records)) for each in (lower, model)]
    return unexplained[0] <= as_good * unexplained[1]


def is_among(hertz: float, others: Sequence[float] | FloatArray, same_mode: float = 0.02) -> bool:
    """Whether a frequency is one of others.

    same_mode : largest relative difference of the frequencies of one mode in two models
    """
    return bool(np.isclose(hertz, others, rtol=same_mode, atol=0.0).any())


def find_further_modes(model: Identified, other: Identified) -> list[int]:
    """Modes of a model whose frequencies another one lacks."""
    return [k for k, f in enumerate(model.frequencies_hz) if not is_among(f, other.frequencies_hz)]


def describe_equal_orders(model: Identified, other: Identified, trials: Sequence[OrderTrial]) -> Finding:
    """The finding that two orders are as good, the first of which was taken."""
    percent = {trial.order: trial.percent for trial in trials}
    pairs = ((model, other), (other, model))
    hertz = {here.order: here.frequencies_hz[find_further_modes(here, there)].tolist() for here, there in pairs}
    names = {order: ", ".join(f"{x:.4g}" for x in values) for order, values in hertz.items() if values}
    differ = " ".join(f"Only order {order} has modes at {values} Hz." for order, values in names.items())
    taken, second = hertz
    problem = (
        f"models of order {taken} (fit {percent[taken]:.2f} %) and {second} (fit {percent[second]:.2f} %) are as good "
        f"on a part of the training data kept aside; {taken} was taken. {differ or 'Their modes are the same.'}"
    )
    evidence = {"orders": [taken, second], "hertz": list(hertz.values())}
    return Finding("equal-orders", problem, {}, evidence, (Advice("Compare with {}.", Argument("order", second)),))


def _measure_left(fit: Fit, least: float = 1e-6) -> float:
    """Residual in percent of the outputs: their geometric mean, as in a likelihood, so that an output that no model
    explains does not dominate the others.

    least : a residual below this percentage of an output counts as zero: rounding of its measurement
    """
    return float(np.exp(np.mean(np.log(np.maximum(100.0 - fit.percent, least)))))


def _choose(
    trials: _Trials, proposed: int, as_good: float = 1.02, tie: float = 1e-6, clearly_better: float = 0.95
) -> int:
    """The best tried order near the one proposed.

    tie : relative difference of residuals that is no difference: the smaller model is taken
    clearly_better : residual of a larger order over that of the order it replaces, for every further mode: in 31
    records of a frame (600 and 2000 samples, 5 to 100 % noise) it is 0.97 at least for orders above the true one. Where
    a spring hardens under a periodic force, 16 more states give 0.85 and fit the distortion; a missing mode reduces it
    far more.
    """
    unexplained = {trial.order: trial.left for trial in trials.found.values() if trial.stable}
    if not unexplained:
        return min(trials.found, key=lambda order: trials.found[order].left, default=proposed)
    lower = {order: unexplained[order] for order in unexplained if order <= proposed} or unexplained
    best = min(order for order in lower if lower[order] <= (1.0 + tie) * min(lower.values()))
    better = [
        k
        for k in unexplained
        if k > best and unexplained[k] < clearly_better ** max(1.0, 0.5 * (k - best)) * unexplained[best]
    ]
    if not better:
        return best
    least = min(unexplained[order] for order in better)
    return min(order for order in better if unexplained[order] <= as_good * least)


def _describe(
    decisions: list[str], trials: Sequence[OrderTrial], proposed: int, order: int, clearly_better: float = 0.95
) -> None:
    before_trial = next((trial for trial in trials if trial.order == proposed), None)
    now = next((trial for trial in trials if trial.order == order), None)
    if now is None:
        return
    if order != proposed:
        before = "could not be found" if before_trial is None else f"fits {_percent(before_trial)}"
        before = "is unstable" if before_trial is not None and not before_trial.stable else before
        decisions.append(
            f"changed the order to {order}: on a part of the training data kept aside it fits {_percent(now)}, where "
            f"order {proposed} {before}"
        )
    elif len(trials) > 1:
        others = ", ".join(f"{trial.order}: {_percent(trial)}" for trial in trials if trial is not now)
        decisions.append(
            f"kept order {order}: on a part of the training data kept aside it fits {_percent(now)}; no lower order "
            f"fits better, and no larger one leaves {100 * (1 - clearly_better):.0f} % less per mode "
            f"({others})"
        )


def _percent(trial: OrderTrial, least: float = -100.0) -> str:
    return f"{trial.percent:.1f} %" if trial.percent > least else "nothing"
