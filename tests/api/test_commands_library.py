"""Every machine of the library with every command on machines: it does what makes sense, or says why it cannot."""

from __future__ import annotations

import json

import pytest

from dalembert.files import list_models
from tests.helpers.commands import run

# what cannot be, and how it is said
REFUSED = {
    ("equilibrium", "whitworth"): "nothing else in it is free to move",
    ("modes", "whitworth"): "nothing else in it is free to move",
    ("linearize", "whitworth"): "nothing else in it is free to move",
}
QUICK = ("three-rrr", "whitworth")
MACHINES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in list_models()]


@pytest.mark.parametrize("command", ["equilibrium", "modes", "linearize"])
@pytest.mark.parametrize("name", MACHINES)
def test_small_motions_of_every_machine_are_found_or_it_is_said_why_not(name, command):
    result = run(command, name, "--json")
    if (command, name) in REFUSED:
        assert result.exit_code == 1 and REFUSED[command, name] in result.stderr
        return
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["coordinates" if "coordinates" in found else "states"]


@pytest.mark.slow
@pytest.mark.parametrize("name", list_models())
def test_every_machine_is_simulated_and_shown(name, tmp_path):
    result = run("simulate", name, "--until", 0.05, "--out", tmp_path / "run.nc", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["status"] == "complete"
    result = run("animate", tmp_path / "run.nc", "--out", tmp_path / "run.html")
    assert result.exit_code == 0, result.output
