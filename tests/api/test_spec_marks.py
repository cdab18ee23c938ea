"""Requirement marks: an unknown id stops the collection, and the report counts by collecting."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.conftest import pytest_collection_modifyitems
from tests.coverage import known_ids, report


def collect(*marks: pytest.MarkDecorator) -> None:
    """The check of a collection with one test that has these marks."""
    item = SimpleNamespace(nodeid="test_one", iter_markers=lambda name: [one.mark for one in marks])
    pytest_collection_modifyitems([item])


def test_an_unknown_or_missing_id_stops_the_collection():
    collect(pytest.mark.spec("000-12", "002-G3"))
    for wrong in (pytest.mark.spec("000-12", "009-99"), pytest.mark.spec()):
        with pytest.raises(pytest.UsageError, match="test_one"):
            collect(wrong)


def test_the_report_counts_each_source_and_lists_what_lacks_a_test():
    text = report(["000-12", "000-13", "002-G3"], verbose=True)
    rows = {line.split()[0]: line.split()[1:3] for line in text.splitlines()[1:7]}
    total = len(known_ids())
    assert rows["000"][1] == "2" and rows["001"][1] == "0" and rows["002"][1] == "1"
    assert rows["total"] == [str(total), "3"]
    assert "002-G4" in text and "002-G3 " not in text
