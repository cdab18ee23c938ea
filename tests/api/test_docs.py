"""The code of the tutorial, the conventions and the how-tos runs, page by page, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from tests.helpers.snippets import snippets

DOCS = Path(__file__).parents[2] / "docs"
ROOT = DOCS.parent
SOURCE = ROOT / "src" / "dalembert"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md")])
LONG = {
    "flexible", "flexible-linkages", "flexible-robots", "ground", "identify", "pictures", "robots", "servo-constraints",
}  # fmt: skip
GUIDES = [DOCS / "architecture.md", ROOT / "CONTRIBUTING.md"]


def when_run(page: Path) -> Any:
    """Pages that take some seconds run with the slow tests."""
    return pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG else [])


@pytest.mark.parametrize("page", [when_run(page) for page in PAGES])
def test_the_python_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for line, block in snippets(page.read_text(encoding="utf-8")):
        exec(compile("\n" * line + block, str(page), "exec", dont_inherit=True), names)


def test_every_link_of_the_docs_leads_somewhere() -> None:
    for page in [*PAGES, *GUIDES, ROOT / "README.md", *DOCS.glob("decisions/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_every_file_that_a_guide_names_exists(page: Path) -> None:
    named = set(re.findall(r"`([\w./-]+\.(?:py|js|json|toml|md))`", page.read_text(encoding="utf-8")))
    assert named
    found = [ROOT / name for name in named if (ROOT / name).exists()]
    found += [file for home in (SOURCE, ROOT / "tests") for name in named for file in home.rglob(name)]
    assert not [name for name in named if not any(file.as_posix().endswith(f"/{name}") for file in found)]


def test_the_map_shows_every_folder_of_the_source() -> None:
    shown = GUIDES[0].read_text(encoding="utf-8")
    folders = {file.parent.name for file in SOURCE.rglob("*/__init__.py")} - {SOURCE.name}
    assert not [folder for folder in sorted(folders) if f"`{folder}/`" not in shown]


def test_the_model_files_of_the_docs_are_sound(tmp_path: Path) -> None:
    blocks = [
        block for page in PAGES for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    ]
    assert blocks
    for k, block in enumerate(blocks):
        path = tmp_path / f"{k}.toml"
        path.write_text(block, encoding="utf-8")
        da.read_model(path).validate()
