"""Set-ups that can and cannot be merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.record import Record
from tests.helpers.ambient_chain import ambient, truth
from tests.helpers.findings import raises

WHOLE = ambient(6400)
FIRST, SECOND = WHOLE.select("m3", "m8", "m1"), WHOLE.select("m3", "m8", "m2")


def merge(*setups: object, **options: object) -> da.identify.MergedModes:
    return da.identify.merge_setups(list(setups), **options)  # type: ignore[arg-type]


def test_moved_sensors_of_one_name_are_refused() -> None:
    with raises(DataError, "duplicate", "m8"):
        merge(FIRST, SECOND, references="m3")
    with raises(DataError, "duplicate"):
        merge(FIRST, ambient(6400, seed=2).select("m3", "m8", "m1"))


def test_references_in_other_units_are_refused() -> None:
    other = Record(SECOND.time, SECOND.data, SECOND.names, dict.fromkeys(SECOND.names, "g"))
    with raises(DataError, "unit-mismatch"):
        merge(FIRST, other)


def test_unknown_methods_and_models_for_preger_are_refused() -> None:
    with raises(DataError, "unknown-choice"):
        merge(FIRST, SECOND, method="posers")
    with raises(DataError, "wrong-type"):
        merge(da.identify.ssi_data(FIRST, order=16), SECOND, method="preger")


def test_models_are_merged_and_their_deviations_weigh() -> None:
    models = []
    for k, own in enumerate((("m1", "m2", "m4"), ("m5", "m6", "m7"))):
        record = ambient(12_800, seed=k).select("m3", "m8", *own)
        model = da.identify.ssi_data(record, order=16)
        count = len(model.frequencies_hz)
        models.append(
            model.replace(frequency_deviations_hz=np.full(count, 0.01), damping_deviations=np.full(count, 0.001))
        )
    merged = da.identify.merge_setups(models)
    assert merged.outputs == ("m3", "m8", "m1", "m2", "m4", "m5", "m6", "m7")
    assert len(merged.modes) >= 6
    assert (merged.frequency_deviations_hz >= 0.01 / np.sqrt(2.0) - 1e-12).all()
    assert "weighted" in merged.notes[0]


def test_repeated_tests_of_one_set_up_are_taken_together() -> None:
    parts = [[ambient(6400, seed=2 * k + j).select("m3", "m8", *own) for j in range(2)]
             for k, own in enumerate((("m1", "m2"), ("m5", "m6")))]  # fmt: skip
    for method in ("poser", "preger"):
        merged = da.identify.merge_setups(parts, method=method)
        assert merged.frequencies_hz[0] == pytest.approx(1.845, rel=0.01)
        assert "by " + method in repr(merged)


@pytest.mark.slow
def test_results_of_auto_are_merged_by_their_sound_modes() -> None:
    """Three of the lowest modes at least are sound in ten minutes; frequencies to 5 √(ζf/2πT), twice the bound."""
    whole = ambient(38_400)
    setups = [da.identify.auto(whole.select("m3", "m8", *own)) for own in (("m1", "m4"), ("m2", "m6"))]
    found = merge(*setups)
    wanted = truth().frequencies_hz
    assert len(found.frequencies_hz) >= 3 and set(found.modes.coordinates) == {"m1", "m2", "m3", "m4", "m6", "m8"}
    for f in found.frequencies_hz:
        assert np.abs(wanted - f).min() < 5.0 * np.sqrt(0.01 * f / (2.0 * np.pi * 600.0))


REFUSED: dict[str, tuple[Any, ...]] = {
    "set ups without a common channel":
        (lambda: merge(WHOLE.select("m1", "m2"), WHOLE.select("m3", "m4")), "missing-channel"),
    "a reference that a set up lacks is refused by name":
        (lambda: merge(FIRST, SECOND, references=["m3", "m1"]), "missing-channel", "m1", "set-up 2"),
    "one set up alone": (lambda: merge(FIRST), "empty"),
    "an order that the rows of the references cannot hold":
        (lambda: merge(FIRST, SECOND, method="preger", most=40, rows=12), "order-too-high"),
    "a record too short for its covariances":
        (lambda: merge(FIRST.between(None, 5.0), SECOND.between(None, 5.0), method="preger"), "too-few-samples"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_refused(case: str) -> None:
    call, code, *shown = REFUSED[case]
    with raises(DataError, code, *shown):
        call()
