"""Source and documents cite books and papers that a reader can get, no internal numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    + [path for ending in ("py", "toml", "md", "js") for path in (ROOT / "src").rglob(f"*.{ending}")]
)
INTERNAL = re.compile(
    r"\b[Ss]pecs? 00\d|\b[Tt]he spec\b|\b[Tt]raps? (?:T-)?\d|\b00[0-4]-[A-Z]?\d|\bAT-\d|\b[CT]-\d\d|\([CT]\d{1,2}[,;)]"
    r"|\b(?:of|rules) C\d+\b|\(items? \d"
)
# The last word before a year, as in "Craig and Bampton 1968" or "Varga's (1981)"; a plain number has no capital word.
CITED = re.compile(r"\b([A-Z][a-zà-ÿ]+)(?:'s)?,? \(?(1[89]\d\d|20[0-2]\d)\b(?![.,]?\d)")
BIBLIOGRAPHY = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "(spec 003, C-57)",
        "Spec 000, item 21",
        "trap T-12",
        "(trap 9: so)",
        "AT-4",
        "of 002-G7",
        "(C26)",
        "rules of C15",
    ],
)
def test_an_internal_number_is_recognised(line: str) -> None:
    assert INTERNAL.search(line)


def test_no_line_cites_an_internal_number() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if INTERNAL.search(line)
    ]
    assert not found, "\n".join(found)


def test_every_author_and_year_is_in_the_bibliography() -> None:
    cited = {
        match.groups(): path.relative_to(ROOT)
        for path in TEXTS
        if path.suffix == ".py"
        for match in CITED.finditer(re.sub(r"\s+", " ", path.read_text(encoding="utf-8")))
    }
    assert ("Bampton", "1968") in cited
    assert ("Kalaba", "1992") in cited
    missing = [
        f"{path}: {author} {year}"
        for (author, year), path in cited.items()
        if not any(author in line and year in line for line in BIBLIOGRAPHY)
    ]
    assert not missing, "\n".join(missing)
