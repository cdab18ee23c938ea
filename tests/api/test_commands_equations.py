"""The command `equations`: text on standard output or in a file, a page, and each mistake a user can make."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from tests.helpers.commands import document, error_text, run


def test_markdown_is_the_default_and_goes_to_standard_output() -> None:
    result = run("equations", "pendulum")
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip("\n") == da.symbolic.from_mechanism(da.read_model("pendulum")).markdown().rstrip("\n")


def test_latex_by_a_formalism_in_joint_coordinates() -> None:
    result = run("equations", "cart-pendulum", "--as", "latex", "--formalism", "kane")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("\\begin{aligned}") and "\\ddot{\\theta}_{\\mathrm{hinge}}" in result.stdout


def test_formulas_are_simplified_where_asked_for() -> None:
    result = run("equations", "pendulum", "--as", "latex", "--formalism", "lagrange", "--simplify")
    assert result.exit_code == 0, result.output
    assert "\\frac{\\mathrm{length}^{2} \\mathrm{mass}}{3}" in result.stdout  # without sin² + cos²


def test_python_is_a_module_that_runs(tmp_path: Path) -> None:
    file = tmp_path / "bar.py"
    assert run("equations", "four-bar", "--as", "python", "--out", file).exit_code == 0
    module = runpy.run_path(str(file))
    eqs = da.equations(da.read_model("four-bar"))
    np.testing.assert_allclose(
        module["inertia"](eqs.placement.q), eqs.kernel("inertia")(eqs.placement.q, eqs.p, 0.0)[0]
    )


def test_a_page_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("equations", "pendulum", "--as", "html")
    assert result.exit_code == 0, result.output
    assert "<math" in (tmp_path / "pendulum-equations.html").read_text("utf-8")
    assert "wrote pendulum-equations.html" in result.stderr and result.stdout == ""


def test_json_holds_names_operations_and_the_text() -> None:
    found = document("equations", "four-bar", "--formalism", "lagrange-multipliers")
    assert found["coordinates"] == ["A.angle", "B.angle", "C.angle"] and found["rows"] == ["D", "D"]
    assert found["operations"]["all"] > 0 and found["text"].startswith("# four-bar") and found["files"] == []


def test_a_model_file_of_ones_own_has_equations(tmp_path: Path) -> None:
    file = tmp_path / "weight.toml"
    file.write_text('name = "weight"\nplanar = true\n[bodies.block]\nmass = "2 kg"\ninertia = 0.1\n', "utf-8")
    result = run("equations", file, "--as", "latex")
    assert result.exit_code == 0, result.output
    assert "-19.62" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["four-bar", "--formalism", "kan"], 1, "kane"),
        (["four-bar", "--formalism", "lagrange"], 1, "redundant"),
        (["five-bar", "--formalism", "kane"], 1, "left.motor.current"),
        (["four-barr"], 2, "four-bar"),
        (["four-bar", "--as", "word"], 2, "latex"),
        (["four-bar", "--as", "latex", "--out", "no-such-folder/x.tex"], 2, "no-such-folder"),
        (["four-bar", "--as", "latex", "--out", "x.html"], 2, ".tex"),
    ],
)
def test_a_mistake_is_named(arguments: list[str], code: int, shown: str) -> None:
    result = run("equations", *arguments)
    assert result.exit_code == code, result.output
    assert shown in error_text(result)
