"""The text of standard input data (SID): objects of the classes part, modal, refmod, node and taylor.

    3   1    :No. nodes, No. modes: remark
     part
      new modal  = name
       refmod                              mass, nelastq, ielastq(k)
       frame
        new node = number                  rframe, origin, phi, psi, AP
       mdCM, J, Ct, Cr, Me, Gr, Ge, Oe, ksigma, Ke, De

Each matrix is an object of the class taylor, M(q) = M0 + Σ_k M1_k q_k: order, nrow, ncol, nq, nqn, structure (0 zero,
1 diagonal, 2 symmetric, 3 any, 4 unit), then its entries, ``m0(row, column)`` and ``m1(row, k, column)``; those that
are left out are zero. Numbers may have the exponent D of Fortran. (Wallrapp 1994; the layout is that of FEMBS.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.core.findings import Advice
from dalembert.files.bodies.bounds import FileLines, check_modes

MATRICES = ("mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De")
OF_NODE = ("origin", "phi", "psi", "AP", "sigma")
NEEDED = ("mdCM", "J", "Ct", "Cr", "Me", "Ke")
COUNTS = ("order", "nrow", "ncol", "nq", "nqn", "structure")
NAME = 1000  # characters that are kept of a name
_ENTRY = re.compile(r"(m[01n])\s*\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\)")
_MODE = re.compile(r"ielastq\s*\(\s*(\d{1,9})\s*\)")
_HEAD = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})\b\s*(.*)")


@dataclass
class Taylor:
    """M0 (nrow, ncol) and M1 (nrow, nq, ncol), None for order 0; structure as in the file."""

    M0: FloatArray
    M1: FloatArray | None = None
    structure: int = 3


@dataclass
class SidNode:
    """A node: its number, a name behind it, and its matrices."""

    number: str
    name: str = ""
    matrices: dict[str, Taylor] = field(default_factory=dict)


@dataclass
class SidModal:
    """Everything of a file: remark of the first line, name, mass, names of the modes, nodes and matrices."""

    remark: str = ""
    name: str = ""
    mass: float = math.nan
    modes: list[str] = field(default_factory=list)
    nodes: list[SidNode] = field(default_factory=list)
    matrices: dict[str, Taylor] = field(default_factory=dict)


# -- reading -----------------------------------------------------------------------------------------------------------
def read_modal(path: Path, max_bytes: int) -> SidModal:
    """The object of class modal in a file."""
    with FileLines(path, None) as lines:  # its caller knows how the path is shown
        return _Parser(lines, max_bytes).modal()


class _Parser:
    """Reads line by line; m : number of modes, once it is known."""

    def __init__(self, file: FileLines, max_bytes: int) -> None:
        self.file, self.max_bytes, self.m = file, max_bytes, 0
        self.lines = (text.strip() for text in file if text.strip())
        self.found = SidModal()

    def next(self, inside: str) -> tuple[str, str]:
        """Next line as the texts before and after its first "="."""
        text = next(self.lines, None)
        if text is None:
            problem = f"the file is cut short: 'end {inside}' is missing."
            raise FileFormatError("damaged", problem, line=self.file.total, where={"object": inside})
        key, _, value = text.partition("=")
        return " ".join(key.split()), value.strip()

    def members(self, name: str, *keys: str, of: str = "") -> Iterator[tuple[str, str]]:
        """Keys and values of an object up to its end; only these keys, and entries, may be there."""
        while True:
            key, value = self.next(name)
            if key == f"end {name}":
                return
            is_entry = (name == "refmod" and _MODE.fullmatch(key)) or (of and _ENTRY.fullmatch(key))
            if not is_entry and key not in keys:
                entries = ("m0", "m1") if of else ()
                member, *known = (each.removeprefix("new ")[:40] for each in (key, *keys, *entries))
                problem = unknown_name("SID object", member, known, f"class {of or name!r}")
                raise FileFormatError("unknown-class", problem, where={"object": member})
            yield key, value

    def fail_if(self, wrong: object, code: str, problem: str, *advice: Advice, **where: str) -> None:
        FileFormatError.when(wrong, code, problem, *advice, where=where)

    def modal(self) -> SidModal:
        key, value = self.next("part")
        head = _HEAD.fullmatch(f"{key} = {value}" if value else key)
        if head is not None:
            self.found.remark = head[3].lstrip(": ").strip()
            check_modes(int(head[2]), int(head[1]), self.max_bytes)
            key, value = self.next("part")
        self.fail_if(key != "part", "unknown-class", f"expected the class 'part', got {key!r:.40}.")
        for _, value in self.members("part", "new modal"):
            problem = "the file has a second object of class 'modal'; one body is read."
            self.fail_if(self.found.matrices, "not-supported", problem)
            self.found.name = value[:NAME]
            for key, _ in self.members("modal", "refmod", "frame", "new frame", *MATRICES):
                if key == "refmod":
                    self.refmod()
                elif key in ("frame", "new frame"):
                    self.frame()
                else:
                    there = key in self.found.matrices
                    self.fail_if(there, "duplicate", f"the object {key!r} is there twice.", object=key)
                    self.found.matrices[key] = self.taylor(key)
        for name in NEEDED:
            self.fail_if(name not in self.found.matrices, "damaged", f"the object {name!r} is missing.", object=name)
        self.fail_if(not self.m, "damaged", "the object 'refmod' is missing.", object="refmod")
        self.fail_if(math.isnan(self.found.mass), "damaged", "the mass is missing.", object="refmod")
        return self.found

    def refmod(self) -> None:
        count = 0
        for key, value in self.members("refmod", "mass", "nelastq", "ielastq"):
            if key == "mass":
                self.found.mass = self.number(value, "mass")
            elif key == "nelastq":
                count = self.count(value, "nelastq")
                check_modes(count, 0, self.max_bytes)
                self.found.modes = [""] * count
            else:
                match = _MODE.fullmatch(key)
                k = int(match[1]) if match else 0
                self.fail_if(not 1 <= k <= count, "out-of-range", f"{key} of {count} modes.", object="refmod")
                self.found.modes[k - 1] = value[:NAME]
        self.m = count
        self.fail_if(not count, "no-modes", "the body has no modes.", Advice("Use a rigid body."), object="refmod")

    def frame(self) -> None:
        self.fail_if(not self.m, "damaged", "the object 'refmod' is missing before 'frame'.", object="refmod")
        for _, value in self.members("frame", "new node"):
            number, _, name = value.partition(" ")
            node = SidNode(number or str(len(self.found.nodes) + 1), name.strip()[:NAME])
            self.found.nodes.append(node)
            check_modes(self.m, len(self.found.nodes), self.max_bytes)
            self.node(node)

    def node(self, node: SidNode) -> None:
        what = f"node {node.number}"
        for key, value in self.members("node", "rframe", *OF_NODE):
            if key == "rframe":
                other = value.replace(" ", "").lower() not in ("bodyref", "")
                problem = f"{what}: its frame of reference is {value!r:.40}; 'body ref' is read."
                self.fail_if(other, "not-supported", problem, object=what)
            else:
                node.matrices[key] = self.taylor(key, what)
        for name in ("origin", "phi", "psi"):
            self.fail_if(name not in node.matrices, "damaged", f"{what} has no {name!r}.", object=what)

    # -- matrices ----------------------------------------------------------------------------------------------------
    def shapes(self, name: str) -> tuple[tuple[int, int], ...]:
        m = self.m
        return {
            "origin": ((3, 1),), "phi": ((3, m),), "psi": ((3, m),), "AP": ((3, 3),), "sigma": ((6, 1),),
            "mdCM": ((3, 1),), "J": ((6, 1), (3, 3)), "Ct": ((m, 3),), "Cr": ((m, 3),), "Me": ((m, m),),
            "Gr": ((3, 3 * m),), "Ge": ((m, 3 * m),), "Oe": ((m, 6),), "ksigma": ((m, 1),), "Ke": ((m, m),),
            "De": ((m, m),),
        }[name]  # fmt: skip

    def taylor(self, name: str, owner: str = "") -> Taylor:
        what = f"{name} of {owner}" if owner else name
        counts: dict[str, int] = {}
        matrix: Taylor | None = None
        for key, value in self.members(name, *COUNTS, of=f"taylor ({what})"):
            entry = _ENTRY.fullmatch(key)
            if entry is not None:
                matrix = self.start(name, what, counts) if matrix is None else matrix
                self.enter(matrix, entry, value, what)
            else:
                self.fail_if(matrix is not None, "bad-syntax", f"{what}: {key} comes after its entries.", object=what)
                counts[key] = self.count(value, f"{what}: {key}")
        return self.finish(self.start(name, what, counts) if matrix is None else matrix, what)

    def start(self, name: str, what: str, counts: dict[str, int]) -> Taylor:
        """Room for the entries, once their number is known to be that of a body with these modes."""
        self.fail_if(not self.m, "damaged", f"the object 'refmod' is missing before {what}.", object="refmod")
        for key in COUNTS:
            self.fail_if(key not in counts and key != "nqn", "damaged", f"{what} has no {key!r}.", object=what)
        rows, columns, order = counts["nrow"], counts["ncol"], counts["order"]
        shapes = " or ".join(f"{first} x {second}" for first, second in self.shapes(name))
        problem = f"{what} is {rows} x {columns}; a body of {self.m} modes has {shapes}."
        self.fail_if((rows, columns) not in self.shapes(name), "wrong-shape", problem, object=what)
        problem = f"{what} is expanded to order {order}; order 1 is read."
        self.fail_if(order > 1, "not-supported", problem, object=what)
        problem = f"{what}: structure = {counts['structure']}; it is 0 to 4."
        self.fail_if(counts["structure"] > 4, "out-of-range", problem, object=what)
        problem = f"{what} is expanded in {counts['nq']} coordinates; the body has {self.m} modes."
        self.fail_if(order and counts["nq"] != self.m, "wrong-shape", problem, object=what)
        first = np.full((rows, self.m, columns), np.nan) if order else None
        return Taylor(np.full((rows, columns), np.nan), first, counts["structure"])

    def enter(self, taylor: Taylor, entry: re.Match[str], value: str, what: str) -> None:
        target = {"m0": taylor.M0, "m1": taylor.M1}.get(entry[1])
        at = tuple(int(text) - 1 for text in entry.groups()[1:] if text is not None)
        shape = () if target is None else target.shape
        if target is None or len(at) != len(shape) or not all(0 <= i < n for i, n in zip(at, shape)):
            problem = f"{what}: there is no entry {entry[0]}; {entry[1]} is {' x '.join(map(str, shape)) or 'none'}."
            raise FileFormatError("out-of-range", problem, where={"object": what})
        label = f"{what}: {entry[0]}"
        if not math.isnan(target[at]):
            raise FileFormatError("duplicate", f"{label} is there twice.", where={"object": what})
        target[at] = self.number(value, label)

    def finish(self, taylor: Taylor, what: str) -> Taylor:
        """Entries that were left out, by the structure of the matrix."""
        M0, M1 = taylor.M0, taylor.M1
        square = M0.shape[0] == M0.shape[1]
        if taylor.structure == 2 and square:
            M0 = np.where(np.isnan(M0), M0.T, M0)
            M1 = None if M1 is None else np.where(np.isnan(M1), M1.transpose(2, 1, 0), M1)
        M0 = np.nan_to_num(M0, nan=0.0)
        M1 = None if M1 is None else np.nan_to_num(M1, nan=0.0)
        off = M0 if taylor.structure in (0, 4) else M0 - np.diag(np.diagonal(M0)) if square else np.zeros(1)
        kind = {0: "zero", 1: "diagonal", 4: "the unit matrix"}.get(taylor.structure, "")
        problem = f"{what} is {kind} by its structure, but has other entries."
        self.fail_if(kind and np.any(off), "damaged", problem, object=what)
        if taylor.structure == 4:
            M0 = np.eye(*M0.shape)
        return Taylor(M0, M1, taylor.structure)

    # -- numbers -----------------------------------------------------------------------------------------------------
    def number(self, text: str, what: str) -> float:
        try:
            value = float(text.translate(_FORTRAN))
        except ValueError:
            problem = f"{what} is {text!r:.40}, not a number."
            raise FileFormatError("not-a-number", problem, where={"object": what}) from None
        if not math.isfinite(value):  # of thousands: no message without an error
            raise FileFormatError("not-finite", f"{what} is {text!r:.40}.", where={"object": what})
        return value

    def count(self, text: str, what: str) -> int:
        problem = f"{what} is {text!r:.40}, not a whole number."
        self.fail_if(not text.isascii() or not text.isdigit() or len(text) > 9, "not-a-count", problem, object=what)
        return int(text)


_FORTRAN = str.maketrans("Dd", "Ee")


# -- writing -----------------------------------------------------------------------------------------------------------
def write_modal(modal: SidModal, path: Path) -> None:
    """Write a file that `read_modal` reads as the same object."""
    with path.open("w", encoding="latin-1", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _text(modal))


def _text(modal: SidModal) -> Iterator[str]:
    yield f"{len(modal.nodes):5d} {len(modal.modes):3d}    :No. nodes, No. modes: {modal.remark}"
    yield " part"
    yield _row(6, "new modal", modal.name)
    yield "           refmod"
    yield _row(16, "mass", _number(modal.mass))
    yield _row(16, "nelastq", f"{len(modal.modes):5d}")
    for k, name in enumerate(modal.modes):
        yield _row(16, f"ielastq ({k + 1:4d})", name)
    yield "           end refmod"
    yield "           frame"
    for node in modal.nodes:
        yield _row(16, "new node", f"{node.number} {node.name}".rstrip())
        yield _row(21, "rframe", "body ref")
        for name, taylor in node.matrices.items():
            yield from _matrix(21, name, taylor, len(modal.modes))
        yield "                end node"
    yield "           end frame"
    for name, taylor in modal.matrices.items():
        yield from _matrix(11, name, taylor, len(modal.modes))
    yield "      end modal"
    yield " end part"


def _row(indent: int, key: str, value: str) -> str:
    return f"{' ' * indent}{key:<{48 - indent}}= {value}"


def _number(value: float) -> str:
    return f"{value:.16E}".replace("E", "D")  # 17 digits: the same number is read again


def _matrix(indent: int, name: str, taylor: Taylor, modes: int) -> Iterator[str]:
    order = 0 if taylor.M1 is None else 1
    counts = (order, *taylor.M0.shape, modes, 0, taylor.structure)
    yield " " * indent + name
    for key, count in zip(COUNTS, counts, strict=True):
        yield _row(26, key, f"{count:4d}")
    if taylor.structure not in (0, 4):
        for i, j in np.argwhere(taylor.M0):
            yield _row(26, f"m0({i + 1:3d},{j + 1:3d})", _number(taylor.M0[i, j]))
    if taylor.M1 is not None:
        for i, k, j in np.argwhere(taylor.M1):
            yield _row(26, f"m1({i + 1:3d},{k + 1:3d},{j + 1:3d})", _number(taylor.M1[i, k, j]))
    yield f"{' ' * indent}end {name}"
