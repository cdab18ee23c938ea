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
    r"\b[Ss]pecs?\s00\d|\b[Tt]he\sspec\b|\b[Tt]raps?\s(?:T-)?\d|\b00[0-4]-[A-Z]?\d|\bAT-\d|\b[CT]-\d\d|\([CT]\d{1,2}[,;)]"
    r"|\b(?:of|rules)\sC\d+\b|\(items?\s\d"
)
# The last word before a year, as in "Craig and Bampton 1968" or "Varga's (1981)"; a plain number has no capital word.
CITED = re.compile(r"\b([A-Z][a-zà-ÿ]+)(?:'s)?,? \(?(1[89]\d\d|20[0-2]\d)\b(?![.,]?\d)")
BIBLIOGRAPHY = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8").splitlines()


EXAMPLES = ["(spec 003, C-57)", "Spec\n000, item 21", "trap T-12", "(trap 9: so)", "AT-4", "of 002-G7", "rules of C15"]


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_internal_number_is_recognised(text: str) -> None:
    assert INTERNAL.search(text)


def test_nothing_cites_an_internal_number() -> None:
    found = []
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        for match in INTERNAL.finditer(text):
            found.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}")
    assert not found, "\n".join(found)


def test_every_author_and_year_is_in_the_bibliography() -> None:
    cited = {
        match.groups(): path.relative_to(ROOT)
        for path in TEXTS
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


def test_every_line_of_the_bibliography_is_cited() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in TEXTS if path.name != "bibliography.md")
    entries = [line for line in BIBLIOGRAPHY if line.startswith("- ")]
    assert entries
    for entry in entries:
        author, year = entry[2:].split(",")[0], re.search(r"\((\d{4})\)", entry)
        assert year, entry
        assert re.search(rf"{author}\b[^.;:)]{{0,90}}?\(?{year[1]}", texts), entry
