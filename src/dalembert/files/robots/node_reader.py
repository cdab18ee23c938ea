"""Values of XML nodes; problems of a file, raised all at once; and elements that the mechanism leaves out.

A misspelt element or attribute is a problem; one that belongs to another program is listed.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError, ModelWarning
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.files.models.text.sources import PICTURES, REPAIR, Problems, TooMany
from dalembert.files.robots import mesh_files
from dalembert.files.robots.mesh_files import MeshFiles
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model import Mechanism

LIKENESS = 0.8  # least similarity of a name and its misspelling: "lowr" has 0.89, "gear_velocity" and "velocity" 0.76


FAR = 100.0  # [m]: robots are smaller than this, robots in millimetres are larger


def free_name(name: str, taken: set[str], suffix: str) -> str:
    """The name, with a suffix where it is already used; the result is then marked as used."""
    while name in taken:
        name += suffix
    taken.add(name)
    return name


@dataclass
class NodeReader:
    """One robot file. Its problems are collected and raised once; elements left out are listed once per kind."""

    shown: str
    meshes: MeshFiles
    repair: bool = False  # replace inertias that no body can have
    problems: Problems = field(default_factory=Problems)
    notes: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    quiet: set[str] = field(default_factory=set)  # notes that do not change the motion, listed without a warning
    drawing: bool = False  # problems of pictures leave them out
    odd: list[str] = field(default_factory=list)  # such problems, in words
    materials: dict[str, int] = field(default_factory=dict)  # colours 0xRRGGBB by the name of their material
    impossible: list[tuple[XmlNode, str]] = field(default_factory=list)  # inertias no body can have, taken as they are
    strict: ClassVar[bool] = True  # whether such an inertia is refused, as MuJoCo does
    foreign: ClassVar[bool] = True  # whether the format lets other programs add names of their own

    def problem(self, node: XmlNode, code: str, text: str, *advice: Advice) -> None:
        if self.drawing:
            self.odd.append(f"line {node.line}: {text}")
            return
        try:
            self.problems.add(node.path or self.shown, node.line, Finding(code, text, advice=advice))
        except TooMany:
            self.problems.raise_if_any()

    def note(self, node: XmlNode, what: str, *, quiet: bool = False) -> None:
        """Note a part of the file that is not in the mechanism."""
        self.notes.setdefault(what, []).append((node.path or self.shown, node.line))
        if quiet:
            self.quiet.add(what)

    def report(self, m: Mechanism) -> None:
        """List the elements left out in the mechanism, and warn of those that may change the motion."""
        for what, places in self.notes.items():
            path, line = places[0]
            times = f" {len(places)} times, first" if len(places) > 1 else ""
            text = f"{what} is left out{times} in line {line}."
            m.left_out.append(Finding("not-supported", text, {"path": path, "line": line}, {"count": len(places)}))
        heard = [f"{what} ({len(places)})" for what, places in self.notes.items() if what not in self.quiet]
        if heard:
            text = f"{self.shown}: left out: {', '.join(heard)}."
            ModelWarning.report([Finding("not-supported", text, {"path": self.shown})], stacklevel=2)
        if self.odd:
            text = f"{self.shown}: {len(self.odd)} pictures of bodies are left out, first in {self.odd[0]}"
            ways = Advice("Name folders of meshes in {}.", Argument("folders")), Advice("Read none with {}.", PICTURES)
            evidence = {"count": len(self.odd), "all": tuple(self.odd)}
            finding = Finding("no-picture", text, {"path": self.shown}, evidence, ways)
            m.left_out.append(finding)
            ModelWarning.report([finding], stacklevel=2)
        if self.impossible:
            node, what = self.impossible[0]
            text = f"{self.shown}: {len(self.impossible)} inertias are not possible for a body and taken as they are"
            advice = Advice("The nearest inertia of a body is taken with {}.", REPAIR)
            where, evidence = {"path": self.shown, "line": node.line}, {"count": len(self.impossible)}
            finding = Finding("not-physical", f"{text}, first in line {node.line}: {what}", where, evidence, (advice,))
            m.left_out.append(finding)
            ModelWarning.report([finding], stacklevel=2)

    # -- values -----------------------------------------------------------------------------------------------------
    def number(self, node: XmlNode, key: str, default: float | None = None) -> float:
        if key not in node.attributes and default is not None:
            return default
        return float(self.numbers(node, key, 1)[0])

    def positive(self, node: XmlNode, key: str) -> float:
        """A positive length of a shape; 1 after a problem."""
        number = self.number(node, key)
        if key in node.attributes and not number > 0:
            self.problem(node, "not-positive", f"{key} of <{node.tag}> must be positive, got {number:g}.")
        return number if number > 0 else 1.0

    def not_negative(self, node: XmlNode, key: str, what: str) -> float:
        """Zero where the attribute is left out."""
        number = self.number(node, key, 0.0)
        if number < 0:
            self.problem(node, "negative", f"{key} of {what} is negative ({number:g}).")
        return max(number, 0.0)

    def numbers(self, node: XmlNode, key: str, count: int, default: Sequence[float] | None = None) -> FloatArray:
        """A given number of finite numbers; zeros after a problem."""
        text = node.attributes.get(key)
        if text is None:
            if default is None:
                self.problem(node, "missing-argument", f"<{node.tag}> has no attribute {key!r}.")
            return np.array([0.0] * count if default is None else default, dtype=float)
        values = self.values(node, key)
        if values is not None and values.shape != (count,):
            wanted = "a finite number" if count == 1 else f"{count} finite numbers"
            self.problem(node, "not-a-number", f"{key} of <{node.tag}> must be {wanted}, got {text!r:.80}.")
            values = None
        return np.zeros(count) if values is None else values

    def values(self, node: XmlNode, key: str) -> FloatArray | None:
        """Any number of finite numbers; None after a problem."""
        text = node.attributes.get(key, "")
        try:
            array = np.array([float(x) for x in text.split()])
        except ValueError:
            array = np.array([math.nan])
        if not np.isfinite(array).all():
            self.problem(node, "not-a-number", f"{key} of <{node.tag}> must be finite numbers, got {text!r:.80}.")
            return None
        return array

    def place(self, node: XmlNode, key: str) -> FloatArray:
        """An offset; the origin where it is left out."""
        array = self.numbers(node, key, 3, (0, 0, 0))
        self.check_length(node, float(np.abs(array).max()))
        return array

    def check_length(self, node: XmlNode, length: float) -> None:
        if length > FAR:
            problem = f"an offset of {length:g} m: lengths are metres; the file may be in millimetres."
            self.problem(node, "out-of-range", problem)

    # -- physics ----------------------------------------------------------------------------------------------------
    def check_inertia(self, node: XmlNode, what: str, mass: float, J: FloatArray, rounding: float = 1e-6) -> FloatArray:
        """The inertia; where rounding has broken the triangle inequality (or on request), the nearest one with it.

        The second moments Σ = ½ tr(J) 1 - J of a body are not negative in any direction.
        rounding : of the largest principal inertia, files have six digits; and of a point its radius of gyration [m].
        """
        if mass < 0:
            self.problem(node, "negative", f"mass of {what} is negative ({mass:g} kg).")
        principal = np.linalg.eigvalsh(J)
        moments, axes = np.linalg.eigh(np.trace(J) / 2 * np.eye(3) - J)
        if moments[0] >= 0:
            return J
        repaired = axes @ np.diag(np.maximum(moments, 0.0)) @ axes.T
        nearest: FloatArray = np.trace(repaired) * np.eye(3) - (repaired + repaired.T) / 2
        slack = rounding * float(np.abs(principal).max()) + abs(mass) * rounding**2
        if -2 * moments[0] > slack:  # the excess of the largest principal value over the sum of the others
            if self.repair:
                self.note(node, f"inertia of {what}, which is not possible for a body,")
                return nearest
            listed = ", ".join(f"{x:g}" for x in principal)
            problem = f"inertia of {what} has the principal values {listed} kg m²: none may be negative, and none may"
            if not self.strict:
                self.impossible.append((node, f"{problem} exceed the sum of the others."))
                return J
            advice = Advice("The nearest inertia of a body is taken with {}.", REPAIR)
            self.problem(node, "not-physical", f"{problem} exceed the sum of the others.", advice)
        return nearest

    def mesh(self, node: XmlNode, name: str, scale: FloatArray, *, needed: bool = False) -> FloatArray | None:
        """Triangles of a file beneath the folders; None where there are none.  needed : also without pictures."""
        if not self.meshes.wanted and not needed:
            return None
        if Path(name).suffix.lower() not in self.meshes.suffixes:
            self.note(node, f"mesh *{Path(name).suffix.lower()}")
            return None
        try:
            triangles = self.meshes.read(name) * scale
        except FileFormatError as error:
            self.problem(node, error.code, f"mesh {name!r:.120}: {error.finding.problem}", *error.advice)
            return None
        return np.asarray(triangles) if needed else self.check_size(node, name, triangles)

    def check_size(self, node: XmlNode, name: str, found: FloatArray) -> FloatArray:
        size = float(np.abs(found).max())
        if size > FAR:
            problem = f"mesh {name!r:.120} reaches {size:g} m: lengths are metres; the file may be in millimetres."
            self.problem(node, "out-of-range", problem, Advice("Give {}.", Argument("scale", "0.001 0.001 0.001")))
        return np.asarray(found)

    def draw(self, node: XmlNode, shapes: Iterable[tuple[FloatArray | None, int | None]]) -> dict[str, Any]:
        """``mesh`` (n, 3, 3) and ``colors`` of a body, from the triangles and colours 0xRRGGBB of its shapes; the mesh
        is None where pictures are not wanted, or without a shape."""
        parts: list[FloatArray] = []
        colors: list[tuple[int, int, int]] = []
        self.drawing, first = True, 0
        for triangles, color in shapes if self.meshes.wanted else ():
            if triangles is None:
                continue
            if self.meshes.drawn + len(triangles) > mesh_files.TRIANGLES:
                problem = f"the pictures of the bodies have more than {mesh_files.TRIANGLES} triangles."
                self.problem(node, "too-large", problem)
                break
            self.meshes.drawn += len(triangles)
            parts.append(triangles)
            if color is not None:
                same = bool(colors) and colors[-1][2] == color and sum(colors[-1][:2]) == first
                begin = colors.pop()[0] if same else first
                colors.append((begin, first + len(triangles) - begin, color))
            first += len(triangles)
        self.drawing = False
        return {"mesh": np.concatenate(parts) if parts else None, "colors": tuple(colors)}

    def color(self, node: XmlNode) -> tuple[int | None, float]:
        """Colour 0xRRGGBB and opacity by the attribute rgba, whose numbers are cut off at 0 and 1; None without it."""
        if "rgba" not in node.attributes:
            return None, 1.0
        count = len(self.odd)
        red, green, blue, alpha = np.clip(self.numbers(node, "rgba", 4), 0.0, 1.0).tolist()
        if len(self.odd) > count:
            return None, 1.0
        red, green, blue = (round(255 * channel) for channel in (red, green, blue))
        return red << 16 | green << 8 | blue, alpha

    # -- names ------------------------------------------------------------------------------------------------------
    def check_names(
        self, node: XmlNode, elements: Collection[str], attributes: Collection[str], *, others: Iterable[str] = ()
    ) -> None:
        """Misspelt elements and attributes are problems; `others`, and names that resemble no known one, are listed."""
        expected = set(others)
        for child in node.children:
            if child.tag not in elements:
                self._judge(child, f"<{child.tag}> in <{node.tag}>", child.tag, elements, expected, "element")
        for key in node.attributes:
            if key not in attributes:
                self._judge(node, f"{key!r} of <{node.tag}>", key, attributes, expected, "attribute")

    def _judge(
        self, node: XmlNode, what: str, name: str, known: Collection[str], expected: Collection[str], kind: str
    ) -> None:
        near = "" if len(name) >= 80 or name in expected else _nearest(name.lower(), tuple(known))
        if near:
            self.problem(node, "unknown-name", f"no {kind} {what}. Did you mean {near!r}?")
        else:
            shown = what if len(what) < 120 else f"{what[:117]}..."
            self.note(node, shown, quiet=self.foreign or name in expected)


@cache
def _nearest(name: str, known: tuple[str, ...]) -> str:
    """The known name of which this is a misspelling; empty where there is none."""
    swapped = [name_ for name_ in known if sorted(name_) == sorted(name)]  # two letters exchanged
    return next(iter([*swapped, *difflib.get_close_matches(name, known, n=1, cutoff=LIKENESS)]), "")
