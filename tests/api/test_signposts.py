"""The README leads to six places by file name."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("estimate/filters/kalman.py", "def correct("),
        ("mechanics/joints/revolute.py", "def rows("),
        ("structures/reduction/methods/craig_bampton.py", "def craig_bampton("),
        ("solve/integrate/methods/dormand_prince.py", "class DormandPrince("),
        ("loop/closed_loop.py", "def run_linear("),
        ("app/commands/modes.py", "def modes("),
    ],
)
def test_the_readme_leads_to_a_file_by_its_name(path: str, content: str) -> None:
    assert f"`{path}`" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert content in (ROOT / "src" / "dalembert" / path).read_text(encoding="utf-8")
