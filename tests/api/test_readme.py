"""The README's own code runs, from top to bottom, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.helpers.snippets import snippets

README = Path(__file__).parents[2] / "README.md"


def test_the_python_in_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = snippets(README.read_text(encoding="utf-8"))
    assert blocks
    names: dict[str, object] = {"__name__": "readme"}
    for line, block in blocks:
        exec(compile("\n" * line + block, str(README), "exec"), names)


def test_the_pictures_in_the_readme_exist():
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not (README.parent / path).is_file()] == []
