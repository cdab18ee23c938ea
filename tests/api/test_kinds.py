"""Pages that list kinds, against the registries."""

from __future__ import annotations

import re
from pathlib import Path

from dalembert.files.records.format import suffixes

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_page_of_records_lists_the_suffixes_of_every_format() -> None:
    opening = page("how-to/records.md").split("\n## ")[0]
    assert set(re.findall(r"`(\.\w+)`", opening)) == set(suffixes())
