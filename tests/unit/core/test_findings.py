"""Findings, advice and the errors that carry them."""

import pickle

import pytest

from dalembert.core import errors
from dalembert.core.arguments import one_of
from dalembert.core.codes import CODES
from dalembert.core.errors import DalembertWarning, DataError, FileFormatError, SimulationWarning
from dalembert.core.findings import Advice, Argument, Call, Finding
from tests.helpers.findings import raises

STEP = Advice("Use {}.", Argument("step", 1e-3), Argument("method", Call("da.Rosenbrock")))


def test_an_error_carries_code_place_evidence_and_advice() -> None:
    error = DataError("not-finite", "channel 'a' holds NaN.", STEP, where={"channel": "a"}, evidence={"samples": 3})
    assert (error.code, error.where, error.finding.evidence) == ("not-finite", {"channel": "a"}, {"samples": 3})
    assert str(error) == "channel 'a' holds NaN. Use step=0.001 or method=da.Rosenbrock(...)."


def test_advice_in_a_language_without_its_parts_is_left_out() -> None:
    assert STEP.text(lambda part: None) == ""
    assert STEP.text(lambda part: "--step" if isinstance(part, Argument) and part.name == "step" else None) == (
        "Use --step."
    )
    assert Advice("Wait.").text(lambda part: None) == "Wait."


@pytest.mark.parametrize(
    "error",
    [
        DataError("not-finite", "channel 'a' holds NaN.", STEP, where={"channel": "a"}),
        FileFormatError("damaged", "cut off.", path="a.csv", line=3),
        errors.Interrupted("interrupted", "stopped at t = 1 s."),
        errors.MissingExtraError("missing-extra", "x is not installed."),
    ],
)
def test_an_error_survives_another_process(error: errors.DalembertError) -> None:
    error.record = {"kept": 1}
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert (str(again), again.finding, again.record) == (str(error), error.finding, error.record)


def test_a_file_error_says_where_it_stands() -> None:
    error = FileFormatError("damaged", "cut off.", path="a.csv", line=3)
    assert (str(error), error.path, error.line, error.code) == ("a.csv:3: cut off.", "a.csv", 3, "damaged")


def test_an_error_of_a_file_inside_that_of_another_keeps_its_place_and_its_cause() -> None:
    cause = ValueError("no number")
    with raises(FileFormatError, "damaged", "b.csv:2") as caught, FileFormatError.of_file("a.csv"):
        raise FileFormatError("damaged", "cut off.", path="b.csv", line=2) from cause
    assert caught.value.__cause__ is cause
    with raises(FileFormatError, "empty", "a.csv: ") as caught, FileFormatError.of_file("a.csv"):
        raise DataError("empty", "nothing.")
    assert isinstance(caught.value.__cause__, DataError)


def test_a_warning_has_a_code_too() -> None:
    warning = SimulationWarning("diverged", "the run leaves its range.")
    assert (warning.code, str(warning)) == ("diverged", "the run leaves its range.")


def test_codes_are_short_names_with_a_meaning() -> None:
    import re

    from dalembert.core.findings import CODE

    assert all(re.fullmatch(CODE, code) and meaning for code, meaning in CODES.items())


def test_an_error_or_a_warning_is_made_of_a_finding() -> None:
    found = Finding("empty", "no record was given.", {"argument": "record"}, {"records": 0}, (Advice("Give one."),))
    for kind in (DataError, DalembertWarning):
        assert kind.of(found).finding == found
        assert str(kind.of(found)) == found.text()


def test_a_choice_is_checked_by_name() -> None:
    assert one_of("noise", "output", ("output", "innovations")) == "output"
    with raises(DataError, "unknown-choice", "'output' or 'innovations'", "'white'"):
        one_of("noise", "white", ("output", "innovations"))
