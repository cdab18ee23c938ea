"""A new option is one annotation: check, error with its place, line of the docstring and its sentence follow."""

from __future__ import annotations

import inspect
from typing import Annotated

import dalembert as da
from dalembert.core.declare import between, checked, declarations
from tests.helpers.findings import raises

Share = Annotated[float, between(0.0, 0.5), "share of the data kept for validation"]


@checked
def split(samples: int, share: Share = 0.25) -> int:
    """Samples that are kept."""
    return round(samples * share)


def test_an_option_is_checked_and_documented_from_one_declaration() -> None:
    assert split(100) == 25 and split(100, 0.5) == 50
    with raises(da.errors.DataError, "out-of-range", "share", "0.5") as caught:
        split(100, 0.7)
    assert caught.value.where == {"argument": "share"}
    text = declarations(split)["share"].text()
    assert text == "share of the data kept for validation; a number from 0 to 0.5"
    assert text in (split.__doc__ or "")
    option = inspect.signature(split).parameters["share"]
    assert (option.default, split.__name__) == (0.25, "split")  # what editors and help() show
