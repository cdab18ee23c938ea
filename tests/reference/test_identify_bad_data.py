"""Forty faults of measured records: each is found and named, or shown to do no harm to the modes."""

from __future__ import annotations

import warnings

import pytest

from dalembert.core.errors import DalembertError
from dalembert.identify import IdentificationWarning, auto
from tests.helpers.faults import FAULTS, GOOD, modes_right

QUICK = ("early by three samples", "dead", "mains hum", "drift", "every sample twice", "missing samples")


def find_codes(name: str) -> tuple[set[str], bool]:
    """Codes of the findings or of the error, and whether the modes are right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        try:
            found = auto(FAULTS[name][0](), "force")
        except DalembertError as error:
            return {error.code}, False
    return {one.code for one in found.findings}, modes_right(found)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FAULTS]
)
def test_every_fault_is_named_or_does_no_harm(name: str) -> None:
    expected = FAULTS[name][1]
    codes, right = find_codes(name)
    assert right if expected is None else expected in codes


def test_there_are_thirty_faults_at_least() -> None:
    assert len(FAULTS) >= 30


def test_the_record_without_fault_gives_no_finding() -> None:
    assert auto(GOOD, "force").findings == ()
