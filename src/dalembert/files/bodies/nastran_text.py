"""Points and matrices of Nastran bulk data: GRID and DMIG, in punch files (``.pch``) and others.

    DMIG    name    0       form    type                            head of a matrix
    DMIG    name    GJ      CJ              G1      C1      A1      a column: the entry A1 of row G1, C1
            G2      C2      A2              G3      C3      A3      and further ones
    DMIG*   name            GJ              CJ                      the same in fields of 16 characters
    *       G1              C1              A1

Fields have 8 or 16 characters, or stand between commas. Form 6 is symmetric (each entry once), 1 square; types 1 and 2
are real in single and double precision. Numbers may have the exponent D, or none of its letters (``2.5-3``). K is the
matrix whose name begins with K, M that with M, D that with B. Positions and directions are those of the basic system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.bodies.bounds import FileLines
from dalembert.files.bodies.matrix_files import real_number
from dalembert.files.bodies.node_matrices import Entries, NodeMatrix, Places, add_place, make_row, whole_number

SUFFIXES = (".pch", ".bdf", ".nas", ".fem")
LETTERS = {"M": "M", "K": "K", "D": "B"}
FORMS, REAL = {"6": True, "1": False}, ("1", "2")
_EXPONENT = re.compile(r"(?<=[\d.])[dD]?(?=[+-]\d)")


@dataclass(frozen=True)
class Bulk:
    """Points by number, and matrices by name."""

    shown: str
    places: Places
    matrices: dict[str, NodeMatrix]

    def matrix(self, key: str) -> NodeMatrix | None:
        """M, K or D by the first letter of its name; K4 is structural damping."""
        names = [name for name in self.matrices if name.startswith(LETTERS[key]) and not name.startswith("K4")]
        problem = f"several matrices could be {key}: {', '.join(names)}."
        FileFormatError.when(
            len(names) > 1, "not-unique", problem, Advice("Keep one of them in the file."), path=self.shown
        )
        return self.matrices[names[0]] if names else None


def read_bulk(path: Path, shown: str, max_bytes: int) -> Bulk:
    """Points and matrices of a file; other entries are skipped."""
    places: dict[int, tuple[float, float, float]] = {}
    heads: dict[str, bool] = {}
    entries: dict[str, Entries] = {}
    with FileLines(path, shown) as lines:
        for name, words in _cards(lines):
            if name == "GRID":
                _refuse_systems(words)
                place = [_real(word) if word.strip() else 0.0 for word in words[2:5]]
                add_place(places, whole_number(words[0]), place, max_bytes)
            elif name == "GRDSET":
                _refuse_systems(words)
            elif name == "DMIG":
                label = words[0].strip().upper()
                if words[1].strip() == "0":
                    heads[label], entries[label] = _symmetric(words), Entries(max_bytes)
                    continue
                problem = f"a column of matrix {label!r:.20}, which has no head (DMIG, name, 0, form, type)."
                FileFormatError.when(label not in heads, "bad-syntax", problem)
                _column(entries[label], words)
        filled = {label: entry.matrix(heads[label]) for label, entry in entries.items() if len(entry.values)}
    return Bulk(shown, places, filled)


def _cards(lines: FileLines) -> Iterator[tuple[str, list[str]]]:
    """Names of entries and their fields, 8 at least; an error inside is at the first line of the entry."""
    start, name, words = 0, "", list[str]()
    for text in lines:
        text = text.partition("$")[0].expandtabs(8).rstrip()
        if not text:
            continue
        first, fields = _split(text)
        if first and first[0] not in "+*":
            number = lines.place or 0
            if name:
                lines.place = start
                yield name, words + [""] * (8 - len(words))
            start, name, words = number, first.rstrip("*").strip().upper(), fields
        elif name in ("GRID", "GRDSET", "DMIG"):
            words += fields
    if name:
        lines.place = start
        yield name, words + [""] * (8 - len(words))
    lines.place = None


def _split(text: str) -> tuple[str, list[str]]:
    """First field, and the 8 or 4 others."""
    if "," in text:
        first, *others = text.split(",")
        count = 4 if "*" in first else 8
        return first.strip(), (others + [""] * count)[:count]
    first = text[:8].strip()
    width = 16 if "*" in first else 8
    return first, [text[k : k + width] for k in range(8, 72, width)]


def _real(text: str) -> float:
    return real_number(_EXPONENT.sub("e", text.strip(), count=1))


def _refuse_systems(words: list[str]) -> None:
    for word in (words[1].strip(), words[5].strip()):
        problem = f"a point in coordinate system {word:.10}; the basic system is supported."
        FileFormatError.when(word not in ("", "0"), "not-supported", problem)


def _symmetric(words: list[str]) -> bool:
    name, form, kind = words[0].strip(), words[2].strip(), words[3].strip()
    problem = f"matrix {name!r:.20} has form {form!r:.8} and type {kind!r:.8}; form 6 or 1, type 1 or 2."
    FileFormatError.when(form not in FORMS or kind not in REAL, "not-supported", problem)
    return FORMS[form]


def _column(entries: Entries, words: list[str]) -> None:
    column = _row(words[1], words[2])
    for k in range(4, len(words), 4):
        if words[k].strip():
            entries.add(_row(words[k], words[k + 1]), column, _real(words[k + 2]))


def _row(node: str, component: str) -> int:
    return make_row(whole_number(node), whole_number(component.strip() or "0"))
