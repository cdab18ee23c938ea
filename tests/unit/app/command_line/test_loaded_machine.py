"""A loop that closes in several ways: reported when bodies come out turned round although the drawing closes too."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalembert.app.command_line.loaded_machine import load
from dalembert.files import list_models
from tests.helpers.commands import run

SCISSOR = """planar = true
[bodies.p]
mass = 1
inertia = { rod = 1 }
[bodies.q]
mass = 1
inertia = { rod = 1 }
[bodies.slide]
mass = 1
inertia = 0.1
[bodies.table]
mass = 5
inertia = 1
[joints.A]
type = "revolute"
a = "ground"
b = "p(-0.5, 0)"
[joints.M]
type = "revolute"
a = "p"
b = "q"
[joints.B]
type = "prismatic"
a = "ground"
b = "slide"
[joints.C]
type = "revolute"
a = "slide"
b = "q(0.5, 0)"
[joints.D]
type = "revolute"
a = "table(0.4, 0)"
b = "q(-0.5, 0)"
[joints.E]
type = "pin in slot"
a = "table"
b = "p(0.5, 0)"
[start.position]
"A.angle" = 0.5
"""


def test_a_body_turned_round_without_need_is_reported_with_the_guess_that_helps(tmp_path: Path) -> None:
    (tmp_path / "lift.toml").write_text(SCISSOR)
    result = run("simulate", tmp_path / "lift.toml", "--until", 0.01, "--out", tmp_path / "run.csv")
    assert result.exit_code == 0, result.stderr
    assert "far from the drawing: table turned by 180 deg. Nearer to it with --guess table.angle=0deg" in result.stderr
    machine = load(str(tmp_path / "lift.toml"))
    assert abs(machine.start(None, ["table.angle=0deg"])["table.angle"]) < 1e-6


@pytest.mark.parametrize("name", list_models())
def test_no_machine_of_the_library_is_assembled_turned_round(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    load(name).start()
    assert "far from the drawing" not in capsys.readouterr().err


def test_a_crank_asked_to_be_turned_round_is_no_mistake(tmp_path: Path) -> None:
    result = run("simulate", "four-bar", "--until", 0.01, "--start", "A.angle=170deg", "--out", tmp_path / "run.csv")
    assert result.exit_code == 0, result.stderr
    assert "far from the drawing" not in result.stderr
