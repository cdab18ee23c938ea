"""The code of the tutorial, the conventions and the how-tos runs, page by page, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dalembert as da
from tests.api.test_readme import snippets

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for line, block in snippets(page.read_text(encoding="utf-8")):
        exec(compile("\n" * line + block, str(page), "exec"), names)


def test_every_link_of_the_docs_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_model_files_of_the_docs_are_sound(tmp_path: Path) -> None:
    blocks = [
        block for page in PAGES for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    ]
    assert blocks
    for k, block in enumerate(blocks):
        path = tmp_path / f"{k}.toml"
        path.write_text(block, encoding="utf-8")
        da.read_model(path).check()
