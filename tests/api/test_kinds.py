"""Pages that list kinds, against the registries."""

from __future__ import annotations

import re
from pathlib import Path

from dalembert.errors import ModelError
from dalembert.files.records.format import suffixes
from dalembert.model.joints.joint import GLYPH_SHAPES, Glyph
from tests.helpers.findings import raises

ROOT = Path(__file__).parents[2]


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
