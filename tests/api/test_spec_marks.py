"""Requirement marks: an unknown id stops the collection, and the report counts by collecting."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.coverage import known_ids, report

CONFTEST = "from tests.conftest import pytest_collection_modifyitems\n"


def collect(tmp_path, text):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    spec(*ids): requirements\n")
    (tmp_path / "test_one.py").write_text(f"import pytest\n\n{text}\ndef test_one():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", str(tmp_path / "pytest.ini"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_known_id_is_accepted(tmp_path):
    assert collect(tmp_path, '@pytest.mark.spec("000-12", "002-G3")').returncode == 0


@pytest.mark.parametrize("mark", ['spec("000-12", "009-99")', "spec()", "spec"])
def test_an_unknown_or_missing_id_stops_the_collection(tmp_path, mark):
    result = collect(tmp_path, f"@pytest.mark.{mark}")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_one" in result.stderr + result.stdout


def test_the_report_counts_each_source_and_lists_what_lacks_a_test():
    text = report(["000-12", "000-13", "002-G3"], verbose=True)
    rows = {line.split()[0]: line.split()[1:3] for line in text.splitlines()[1:7]}
    total = len(known_ids())
    assert rows["000"][1] == "2" and rows["001"][1] == "0" and rows["002"][1] == "1"
    assert rows["total"] == [str(total), "3"]
    assert "002-G4" in text and "002-G3 " not in text
