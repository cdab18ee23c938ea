"""Eight systems by nine formalisms: equal accelerations, and those of the same machine as a mechanism."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dalembert.studies import runner
from dalembert.studies.symbolic import nine_ways

# Accelerations are solutions of linear systems whose condition numbers stay below 1e3 at the states drawn; an ulp each
# in a few hundred operations leaves some 1e-13 of the largest acceleration.
AMONG = 1e-12
# Runs regularise rows by 1e-8 and refine three times: 1e-32 for regular rows; rounding remains.
MACHINE = 1e-10


@pytest.mark.spec("002-T21", "000-01", "000-02", "000-03", "000-04", "000-06", "000-07", "002-B1", "002-C4")
@pytest.mark.spec("002-C5", "002-C6", "002-D1", "002-D2", "002-D3", "002-D4", "002-D5", "002-E3")
@pytest.mark.parametrize("name", nine_ways.CASES)
def test_nine_formalisms_give_the_same_accelerations_and_those_of_the_machine(name: str) -> None:
    case = nine_ways.CASES[name]()
    found, machine = nine_ways.compare(case, 3, seed=7)
    holonomic = case.minimal is not None
    expected = set(nine_ways.FORMALISMS) - (set() if holonomic else {"lagrange", "hamilton"})
    assert set(found) == expected
    worst = {
        (formalism, kind): one.largest_difference for formalism, kinds in found.items() for kind, one in kinds.items()
    }
    assert max(worst.values()) < AMONG, worst
    assert machine < MACHINE


@pytest.mark.slow
def test_the_study_writes_operations_seconds_and_differences(tmp_path: Path) -> None:
    written = runner.run("nine-ways", tmp_path, progress=False)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} >= {"report.html", "results.json", "operations.png"}
    assert set(found["systems"]) == set(nine_ways.CASES)
    for system in found["systems"].values():
        assert len(system["formalisms"]) >= 7
        for one in system["formalisms"].values():
            assert one["operations"] > 0 and one["seconds"] > 0 and one["largest_difference"] < AMONG
    assert found["largest_difference"] < AMONG and found["machine_difference"] < MACHINE
