"""Declared results: one declaration gives table, repr, HTML, plain data and freezing."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray, assign
from dalembert.core.results import column, derived, result, rows
from tests.helpers.findings import assert_read_only


@result
class Peak:
    name: str = column("channel", left=True)
    height: float = column("height", "{unit}", ".3g")
    unit: str = "m"


@result
class Peaks:
    peaks: tuple[Peak, ...] = rows()


@result
class Response:
    time: FloatArray = column("time", "s")
    value: FloatArray = column("value", "m", ".1f")
    largest: float = derived()

    def __post_init__(self) -> None:
        assign(self, largest=float(self.value.max()))


def test_scalars_are_a_line_each_arrays_a_line_per_entry_and_rows_a_line_per_result() -> None:
    assert Peak("tip", float("nan")).table() == "channel  tip\nheight     -  m"
    assert Response(np.array([0.0, 0.5]), np.array([1.0, 2.0])).table().split("\n") == [
        "time [s]  value [m]", "       0        1.0", "     0.5        2.0",
    ]  # fmt: skip
    both = Peaks((Peak("tip", 1.0), Peak("base", 0.25)))
    assert repr(both) == "Peaks\nchannel  height [m]\ntip               1\nbase           0.25"
    assert "<td>base</td><td>0.25</td>" in both._repr_html_()


def test_fields_are_frozen_also_after_pickling_and_plain_data_are_json() -> None:
    made = Response(np.array([0.0, 0.5]), np.array([1.0, np.inf]))
    for each in (made, pickle.loads(pickle.dumps(made))):  # noqa: S301
        assert_read_only(each.value)
        with pytest.raises(AttributeError):
            each.largest = 0.0
    assert json.loads(json.dumps(made.to_dict())) == {"time": [0.0, 0.5], "value": [1.0, None], "largest": None}
    assert Peaks((Peak("tip", 1.0),)).to_dict() == {"peaks": [{"name": "tip", "height": 1.0, "unit": "m"}]}
