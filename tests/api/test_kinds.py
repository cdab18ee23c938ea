"""Pages that list kinds, against the registries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dalembert import kinds
from dalembert.core.registry import Registry
from dalembert.errors import ModelError
from dalembert.files.records.format import suffixes
from dalembert.model.joints.joint import GLYPH_SHAPES, Glyph
from tests.helpers.commands import run
from tests.helpers.findings import raises
from tests.helpers.packages import install

ROOT = Path(__file__).parents[2]


def group_sources() -> set[str]:
    """Groups of entry points that the sources name as such."""
    files = (ROOT / "src").rglob("*.py")
    return {group for file in files for group in re.findall(r'group="([\w.]+)"', file.read_text(encoding="utf-8"))}


def test_every_group_of_entry_points_has_its_registries_in_one_list() -> None:
    assert set(kinds.GROUPS) == group_sources()
    for group, names in kinds.GROUPS.items():
        assert {getattr(kinds, name).group for name in names} == {group}
    listed = [name for names in kinds.GROUPS.values() for name in names]
    registries = [name for name in kinds.__all__ if isinstance(getattr(kinds, name), Registry)]
    assert sorted(listed) == sorted(registries)


def test_the_page_of_own_kinds_lists_every_group_with_its_registries() -> None:
    rows = re.findall(r"^\| `(dalembert\.\w+)` \| (.*?) \|", page("how-to/own-kinds.md"), flags=re.MULTILINE)
    assert {group: tuple(re.findall(r"`(\w+)`", names)) for group, names in rows} == kinds.GROUPS


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_page_of_records_lists_the_suffixes_of_every_format() -> None:
    opening = page("how-to/records.md").split("\n## ")[0]
    assert set(re.findall(r"`(\.\w+)`", opening)) == set(suffixes())


def test_the_page_draws_every_glyph_that_a_joint_may_declare() -> None:
    source = (ROOT / "src" / "dalembert" / "app" / "page" / "joints.js").read_text(encoding="utf-8")
    table = source.split("const GLYPHS = {")[1].split("\n};")[0]
    assert set(re.findall(r"(\w+): {", table)) == set(GLYPH_SHAPES)


def test_a_glyph_that_the_page_does_not_have_is_refused() -> None:
    with raises(ModelError, "unknown-name", "'hnge'", "hinge"):
        Glyph("hnge")


def test_a_package_that_declares_nothing_is_listed_without_a_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "gear" in kinds.COUPLERS  # entry points are loaded once, before this package is there
    install(tmp_path, "guest_nothing", "", "dalembert.couplers")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert ("dalembert.couplers", "", "guest_nothing", "1.0") in kinds.list_added()
    assert "guest_nothing" in run("doctor").stdout
