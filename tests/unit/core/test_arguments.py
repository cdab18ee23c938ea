"""Checks of arguments."""

import pytest

from dalembert.core.arguments import positive_number, whole_number
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


def test_a_whole_number_beyond_the_largest_float_is_one() -> None:
    assert whole_number("seed", 10**400) == 10**400
    with raises(DataError, "out-of-range", "samples"):
        whole_number("samples", 10**400, most=10)
