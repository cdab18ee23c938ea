"""Every command on a model takes `--coordinates joint` and gives the results of absolute coordinates."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert.cli import app
from tests.helpers.commands import document, run

FILTER = ("--filter", "ekf", "--outputs", "encoder", "--Q", "1e-6", "--R", "1e-4", "--P0", "0.01")
# arguments, and the part of the document that must be the same
CASES: dict[str, tuple[tuple[Any, ...], str]] = {
    "simulate": (("simulate", "four-bar", "--until", 0.5, "--input", "torque=0.1*t"), "channels"),
    "animate": (("animate", "four-bar", "--until", 0.1), ""),
    "equilibrium": (("equilibrium", "cart-pendulum", "--hold", "rail.displacement=0.1"), "coordinates"),
    "modes": (("modes", "cart-pendulum"), "modes"),
    "linearize": (("linearize", "cart-pendulum"), "matrices"),
    "sweep": (("sweep", "four-bar", "--over", "crank=0.15,0.2", "--until", 0.3, "--output", "end=A.angle"), "results"),
    "export": (("export", "pendulum", *FILTER, "--dt", 0.01), ""),
    "estimate": (("estimate", "pendulum"), "last"),
}


def numbers(found: Any) -> list[float]:
    if isinstance(found, dict):
        return [x for key in sorted(found) for x in numbers(found[key])]
    if isinstance(found, list):
        return [x for value in found for x in numbers(value)]
    return [float(found)] if isinstance(found, (int, float)) else []


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_a_command_works_in_joint_coordinates(name: str, tmp_path: Path) -> None:
    arguments, part = CASES[name]
    more: tuple[Any, ...] = ()
    if name == "estimate":
        run("simulate", "pendulum", "--until", 0.2, "--every", 0.01, "--out", tmp_path / "run.csv")
        more = (tmp_path / "run.csv", "--outputs", "encoder", "--Q", "1e-8", "--R", "1e-6", "--P0", "1e-4")
    found = []
    for kind in ("absolute", "joint"):
        out = {"animate": f"{kind}.html", "export": kind}.get(name)
        files = () if out is None else ("--out", tmp_path / out)
        found.append(document(*arguments, *more, *files, "--coordinates", kind))
    assert not part or numbers(found[0][part])
    if part:  # runs of 0.5 s at a relative tolerance of 1e-9 per step; 1e-6 is a thousand steps
        np.testing.assert_allclose(numbers(found[1][part]), numbers(found[0][part]), rtol=1e-6, atol=1e-6)


def test_every_command_on_a_model_takes_the_option() -> None:
    for command in app.registered_commands:
        first = next(iter(inspect.signature(command.callback).parameters), "")  # type: ignore[arg-type]
        if first in ("model", "source"):
            assert "coordinates" in inspect.signature(command.callback).parameters, command.name  # type: ignore[arg-type]
    refused = run("modes", "pendulum", "--coordinates", "polar")
    assert refused.exit_code == 2 and "absolute" in refused.stderr


@pytest.mark.slow
def test_a_report_shows_the_option(tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    result = run("simulate", "pendulum", "--until", 0.1, "--coordinates", "joint", "--report", page, "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["status"] == "complete"
    assert "--coordinates joint" in page.read_text(encoding="utf-8")
