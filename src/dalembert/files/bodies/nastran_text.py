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

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.bodies.bounds import bounded_lines
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
    for line, name, words in _cards(path, shown):
        if name == "GRID":
            _refuse_systems(words, (1, 5), shown, line)
            place = [_real(word, shown, line) if word.strip() else 0.0 for word in words[2:5]]
            add_place(places, whole_number(words[0], shown, line), place, max_bytes, shown, line)
        elif name == "GRDSET":
            _refuse_systems(words, (1, 5), shown, line)
        elif name == "DMIG":
            label = words[0].strip().upper()
            if words[1].strip() == "0":
                heads[label] = _symmetric(words, shown, line)
                entries[label] = Entries(shown, max_bytes)
            elif label not in heads:
                problem = f"a column of matrix {label!r:.20}, which has no head (DMIG, name, 0, form, type)."
                raise FileFormatError("bad-syntax", problem, path=shown, line=line)
            else:
                _column(entries[label], words, shown, line)
    filled = {label: entry.matrix(heads[label]) for label, entry in entries.items() if len(entry.values)}
    return Bulk(shown, places, filled)


def _cards(path: Path, shown: str) -> Iterator[tuple[int, str, list[str]]]:
    """Entries with the numbers of their lines, their names, and their fields, 8 at least."""
    start, name, words = 0, "", list[str]()
    for line, text in bounded_lines(path, shown):
        text = text.partition("$")[0].expandtabs(8).rstrip()
        if not text:
            continue
        first, fields = _split(text)
        if first and first[0] not in "+*":
            if name:
                yield start, name, words + [""] * (8 - len(words))
            start, name, words = line, first.rstrip("*").strip().upper(), fields
        elif name in ("GRID", "GRDSET", "DMIG"):
            words += fields
    if name:
        yield start, name, words + [""] * (8 - len(words))


def _split(text: str) -> tuple[str, list[str]]:
    """First field, and the 8 or 4 others."""
    if "," in text:
        first, *others = text.split(",")
        count = 4 if "*" in first else 8
        return first.strip(), (others + [""] * count)[:count]
    first = text[:8].strip()
    width = 16 if "*" in first else 8
    return first, [text[k : k + width] for k in range(8, 72, width)]


def _real(text: str, shown: str, line: int) -> float:
    try:
        value = float(_EXPONENT.sub("e", text.strip(), count=1))
    except ValueError:
        raise FileFormatError("not-a-number", f"{text.strip()!r:.40} is not a number.", path=shown, line=line) from None
    problem = f"{text.strip()!r:.40} is not finite."
    FileFormatError.when(not math.isfinite(value), "not-finite", problem, path=shown, line=line)
    return value


def _refuse_systems(words: list[str], fields: tuple[int, ...], shown: str, line: int) -> None:
    for k in fields:
        problem = f"a point in coordinate system {words[k].strip():.10}; the basic system is supported."
        FileFormatError.when(words[k].strip() not in ("", "0"), "not-supported", problem, path=shown, line=line)


def _symmetric(words: list[str], shown: str, line: int) -> bool:
    form, kind = words[2].strip(), words[3].strip()
    if form not in FORMS or kind not in REAL:
        problem = (
            f"matrix {words[0].strip()!r:.20} has form {form!r:.8} and type {kind!r:.8}; form 6 or 1, type 1 or 2."
        )
        raise FileFormatError("not-supported", problem, path=shown, line=line)
    return FORMS[form]


def _column(entries: Entries, words: list[str], shown: str, line: int) -> None:
    column = _row(words[1], words[2], shown, line)
    for k in range(4, len(words), 4):
        if words[k].strip():
            row = _row(words[k], words[k + 1], shown, line)
            entries.add(row, column, _real(words[k + 2], shown, line), line)


def _row(node: str, component: str, shown: str, line: int) -> int:
    return make_row(whole_number(node, shown, line), whole_number(component.strip() or "0", shown, line), shown, line)
