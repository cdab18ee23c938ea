"""Checks of arguments."""

import pytest

from dalembert.core.arguments import positive_number
from dalembert.core.errors import DataError
from tests.helpers.findings import raises


def test_a_positive_number_passes_as_a_float() -> None:
    assert positive_number("step", 2) == 2.0


@pytest.mark.parametrize(
    ("value", "code"),
    [(0.0, "not-positive"), (-1, "not-positive"), (float("nan"), "not-finite"), (float("inf"), "not-finite"),
     ("1", "not-a-number"), (None, "not-a-number"), (True, "not-a-number")],
)  # fmt: skip
def test_what_is_no_positive_number_is_refused_with_its_code(value: object, code: str) -> None:
    with raises(DataError, code, "step"):
        positive_number("step", value)
