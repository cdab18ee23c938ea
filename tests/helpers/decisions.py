"""What functions of identification decide on a record, in a form that can be compared between runs.

``python -m tests.helpers.decisions`` prints decisions as JSON for a process with other kernels or threads: first the
names of functions, then of records, joined by "|".
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.identify import IdentificationWarning, auto, stabilization, suggest_order
from tests.helpers.decision_records import TestRecord, find_record

# `make test` runs the tests of decisions twice, under two kernels: each moves the samples in its own way.
QUICK_DRAWS = (2,) if "OPENBLAS_CORETYPE" in os.environ else (1,)
# Relative deviation of a frequency where a result has none: noise-free data.
UNKNOWN = 1e-4
# Least relative spread over the orders of a diagram: that of noise-free data is rounding.
LEAST = 1e-4


@dataclass(frozen=True)
class Decision:
    """Orders, classes and counts, which must be equal, and numbers that may move by a hundredth of their deviations."""

    choices: list[object]
    values: list[float]
    deviations: list[float]

    def differences(self, other: Decision) -> list[str]:
        """Texts on what differs."""
        if self.choices != other.choices or len(self.values) != len(other.values):
            return [f"{self.choices} with {self.values} became {other.choices} with {other.values}"]
        pairs = zip(self.values, other.values, self.deviations, strict=True)
        return [f"{a} became {b}, of deviation {s:.2g}" for a, b, s in pairs if not abs(a - b) < 0.01 * s]


def _decision(choices: list[object], hertz: np.ndarray, deviations: np.ndarray | None) -> Decision:
    sizes = UNKNOWN * hertz if deviations is None else deviations
    return Decision(choices, [float(f) for f in hertz], [float(s) for s in sizes])


def _auto(test: TestRecord) -> Decision:
    found = auto(test.record, test.inputs, test.outputs, **test.options)
    grades, codes = [judged.grade for judged in found.judgements], sorted(one.code for one in found.findings)
    choices = [found.order, found.identified.noise_model, grades, codes]
    return _decision(choices, found.frequencies_hz, found.identified.frequency_deviations_hz)


def _stabilization(test: TestRecord) -> Decision:
    found = stabilization(test.record, test.inputs, test.outputs)
    spreads = np.maximum(found.frequency_spreads, LEAST * found.frequency_means)  # over the orders
    hertz = np.append(found.frequency_means, found.modes.frequencies_hz)
    return _decision([len(found.modes), found.counts.tolist()], hertz, np.append(spreads, spreads))


def _suggest_order(test: TestRecord) -> Decision:
    found = suggest_order(test.record, test.inputs, test.outputs)
    return Decision([found.order, found.gap, found.information, found.stability], [], [])


DECISIONS: dict[str, Callable[[TestRecord], Decision]] = {
    "auto": _auto,
    "stabilization": _stabilization,
    "suggest_order": _suggest_order,
}


def decide(function: str, record: str, draw: int = 0) -> Decision:
    """The decision of a function on a record whose samples are moved by 1e-9 of their channel's size.

    The codes of its findings and of its warnings are choices too.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IdentificationWarning)
        found = DECISIONS[function](find_record(record).moved(draw))
    codes = sorted(one.message.code for one in caught if isinstance(one.message, IdentificationWarning))
    return Decision([*found.choices, codes], found.values, found.deviations)


if __name__ == "__main__":
    functions, records = (word.split("|") for word in sys.argv[1:3])
    table = {name: {record: vars(decide(name, record)) for record in records} for name in functions}
    json.dump(table, sys.stdout)
