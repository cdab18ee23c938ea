"""Mass and stiffness matrices of a finite-element program, named by a small TOML or JSON file.

    format = "flexible body matrices"
    version = 1
    name = "link"
    points = "points.txt"       # a row "name x y z" or "x y z" per point [m], an array (n, 3), or a table of names
    M = "mass.mtx"              # text, MatrixMarket or NumPy; rows x y z or x y z rx ry rz of point after point, SI
    K = "stiffness.mtx"
    D = "damping.mtx"           # may be left out
    modes = 10                  # number of modes, their numbers from 1, or a file of shapes (N, k)
    nodes = ["root", "tip"]     # and further arguments of da.structures.flexible_body: basis, up_to, interfaces, fixed,
                                # static, reference, mass, damping (a ratio, or one each)

Matrices that are reduced already (Craig-Bampton) have coordinates of their own. Then the file also has

    shapes = "modal.npy"        # (6 n, r): x y z rx ry rz of point after point, by the r reduced coordinates
    masses = "masses.txt"       # (n,): masses at the points [kg]; they share the mass of the body

and modes, nodes, reference and damping mean the same; an interface point whose coordinates were kept has rows of ones
and zeros. All files lie in the folder of this one, or below it.

Texts of other programs name the rows of a matrix by node and direction; then points are named by the numbers of nodes,
their order is free, and coordinates without a row do not move by themselves:

    Nastran   points, M, K    a punch file with GRID and DMIG (``nastran_text``); points may be other bulk data
    Abaqus    points = ".inp"; M, K = ".mtx" of *MATRIX GENERATE (``abaqus_text``)
    Ansys     points = text; M, K = ".matrix" of HBMAT, each with its file ".mapping" beside it (``harwell_boeing``)
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.files.bodies import abaqus_text, harwell_boeing, nastran_text
from dalembert.files.bodies.format import BODY_FORMATS, BodyFormat, BodyReading
from dalembert.files.bodies.matrix_files import SUFFIXES, TEXT, read_matrix, real_number, split_rows, text_lines
from dalembert.files.bodies.node_matrices import NodeMatrix, full_structure, has_modes, reduced_model
from dalembert.model.flexible import FlexibleBodyData

POINTS = (*SUFFIXES, *nastran_text.SUFFIXES, *abaqus_text.SUFFIXES)
MATRICES = (*SUFFIXES, ".pch", *harwell_boeing.SUFFIXES)
FORMAT, VERSION = "flexible body matrices", 1
OF_REDUCED = ("modes", "nodes", "reference", "damping")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


Test = Callable[[Any], bool]


def _list_of(test: Test, size: int = 0) -> Test:
    return lambda value: isinstance(value, list) and (not size or len(value) == size) and all(map(test, value))


def _table_of(*tests: Test, least: int = 0) -> Test:
    def check(value: Any) -> bool:
        return isinstance(value, dict) and len(value) >= least and all(map(_any_of(*tests), value.values()))

    return check


def _any_of(*tests: Test) -> Test:
    return lambda value: any(test(value) for test in tests)


_is_texts, _is_place = _list_of(_is_text), _list_of(_is_number, 3)
_is_names = _any_of(_is_text, _is_texts)
ARGUMENTS: dict[str, tuple[Test, str]] = {
    "basis": (_is_text, "a text"),
    "modes": (
        _any_of(_is_text, _is_count, _list_of(_is_count)), "a whole number, a list of them, or the name of a file",
    ),
    "up_to": (_is_number, "a number"),
    "nodes": (
        _any_of(_is_texts, _table_of(_is_text, _is_texts, _is_place)),
        "names of points, or a table of names to points or places",
    ),
    "interfaces": (_is_texts, "a list of names"),
    **dict.fromkeys(("fixed", "static"), (_is_names, "a name or a list of names")),
    "reference": (_is_text, "a name"),
    "mass": (_is_text, "a text"),
    "damping": (_any_of(_is_number, _list_of(_is_number)), "a number or a list of numbers"),
}  # fmt: skip
POINT_TABLE = "the name of a file, or a table of names to x, y, z"
KEYS: dict[str, tuple[Test, str]] = {
    "format": (_is_text, "a text"), "version": (lambda value: isinstance(value, int), "a whole number"),
    "name": (_is_text, "a text"), "points": (_any_of(_is_text, _table_of(_is_place, least=1)), POINT_TABLE),
    **dict.fromkeys(("M", "K", "D", "shapes", "masses"), (_is_text, "the name of a file")), **ARGUMENTS,
}  # fmt: skip


def read(path: Path, how: BodyReading) -> FlexibleBodyData:
    """The body that the matrices of a file make."""
    return _Descriptor(path, how.max_bytes).data()


class _Descriptor:
    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path, self.max_bytes = path, max_bytes
        self.text = ""
        self.bulks: dict[Path, nastran_text.Bulk] = {}
        self.table = self.parse()
        problem = f"expected the key format = {FORMAT!r}."
        self.fail_if(self.table.get("format") != FORMAT, "format", "unknown-format", problem)
        version = self.table.get("version")
        problem = f"the file has version {version!r}; version {VERSION} is read here."
        self.fail_if(version != VERSION, "version", "bad-version", problem)
        for key, value in self.table.items():
            if key not in KEYS:
                raise self.fail(key, "unknown-argument", unknown_name("key", key, KEYS))
            right, wanted = KEYS[key]
            self.fail_if(not right(value), key, "wrong-type", f"{key} is {wanted}, got {value!r:.60}.")
        for key in ("points", "M", "K"):
            self.fail_if(key not in self.table, "", "missing-argument", f"the key {key!r} is missing.")

    def parse(self, most: int = 1 << 20) -> dict[str, Any]:
        """The keys of the file, none of which is deep; ``most`` bytes hold points too."""
        self.fail_if(self.path.stat().st_size > most, "", "too-large", f"the file has more than {most} bytes.")
        try:
            self.text = self.path.read_text(encoding="utf-8-sig")
            document = json.loads(self.text) if self.path.suffix.lower() == ".json" else tomllib.loads(self.text)
        except UnicodeDecodeError:
            raise self.fail("", "not-readable", "the file is not UTF-8 text.") from None
        except (ValueError, RecursionError) as error:
            raise self.fail("", "bad-syntax", f"cannot be read: {error!s:.200}.") from None
        self.fail_if(not isinstance(document, dict), "", "wrong-type", "expected a table of keys.")
        return document

    def fail_if(self, wrong: object, key: str, code: str, problem: str) -> None:
        if wrong:
            raise self.fail(key, code, problem)

    def fail(self, key: str, code: str, problem: str) -> FileFormatError:
        """An error at the line of a key."""
        at = re.search(rf"""(?m)^[\s{{,]*["']?{re.escape(key)}["']?\s*[=:]""", self.text) if key else None
        line = None if at is None else self.text[: at.end()].count("\n") + 1
        return FileFormatError(code, problem, path=str(self.path), line=line)

    def data(self) -> FlexibleBodyData:
        points, places = self.points()
        name = self.table.get("name", self.path.stem)
        arguments = {key: self.table[key] for key in ARGUMENTS if key in self.table}
        M, K = self.matrix("M"), self.matrix("K")
        D = self.matrix("D") if "D" in self.table else None
        there = {key: matrix for key, matrix in (("M", M), ("K", K), ("D", D)) if matrix is not None}
        if any(isinstance(matrix, NodeMatrix) for matrix in there.values()):
            return self.of_nodes(name, points, places, there, arguments)
        for key, matrix in there.items():
            problem = f"{key} is {matrix.shape[0]} x {matrix.shape[1]}; M has {M.shape[0]} rows."
            self.fail_if(matrix.shape != (M.shape[0], M.shape[0]), key, "wrong-shape", problem)
        if "shapes" in self.table:
            return self.read_reduced(name, points, places, M, K, D, arguments)
        problem = "masses go with the shapes of reduced matrices."
        self.fail_if("masses" in self.table, "masses", "ineffective-argument", problem)
        return self.full(name, points, places, M, K, D, arguments)

    def of_nodes(
        self, name: str, points: list[str], places: Any, matrices: dict[str, Any], given: Mapping[str, Any]
    ) -> FlexibleBodyData:
        """Matrices with rows by node and direction; with coordinates that have no place they are reduced."""
        from dalembert.files.bodies.reduced_matrices import reduced_body

        for key in ("shapes", "masses"):
            problem = f"{key} does not go with rows by node and direction."
            self.fail_if(key in self.table, key, "ineffective-argument", problem)
        for key, matrix in matrices.items():
            problem = f"{key} has no numbers of nodes, and another matrix has: write both by the same program."
            self.fail_if(not isinstance(matrix, NodeMatrix), key, "conflicting-arguments", problem)
        place_of = {int(point): place for point, place in zip(points, places.tolist()) if point.isdecimal()}
        try:
            if has_modes(matrices):
                modes = self.check_reduced(given)
                model = reduced_model(name, place_of, matrices, self.max_bytes)
                return reduced_body(model, **{**given, "modes": modes})
            structure = full_structure(name, place_of, matrices, str(self.path))
        except FileFormatError as error:
            raise error if error.path else self.fail("points", error.code, error.finding.problem) from error
        return self.make_modes(structure, name, given)

    def full(
        self, name: str, points: list[str], places: Any, M: Any, K: Any, D: Any, given: Mapping[str, Any]
    ) -> FlexibleBodyData:
        from scipy.sparse import csc_array

        from dalembert.structures import Structure
        from dalembert.structures.assembly.structure import DIRECTIONS

        each = len(M) // len(points) if isinstance(M, np.ndarray) else M.shape[0] // len(points)
        problem = f"M has {M.shape[0]} rows for {len(points)} points; a point has 3 rows or 6."
        self.fail_if(each not in (3, 6) or each * len(points) != M.shape[0], "M", "wrong-shape", problem)
        matrices = [None if matrix is None else csc_array(matrix) for matrix in (M, K, D)]
        structure = Structure(
            name, points, places, DIRECTIONS[:each], matrices[0], matrices[1], C=matrices[2],
            provenance={"source": str(self.path)},
        )  # fmt: skip
        return self.make_modes(structure, name, given)

    def make_modes(self, structure: Any, name: str, given: Mapping[str, Any]) -> FlexibleBodyData:
        from dalembert.structures import flexible_body

        arguments = dict(given)
        if isinstance(arguments.get("modes"), str):
            arguments["modes"] = self.matrix("modes")
        return flexible_body(structure, name=name, **arguments)

    def read_reduced(
        self, name: str, points: list[str], places: Any, M: Any, K: Any, D: Any, given: Mapping[str, Any]
    ) -> FlexibleBodyData:
        from dalembert.files.bodies.reduced_matrices import ReducedModel, reduced_body

        modes = self.check_reduced(given)
        problem = "reduced matrices need the masses at the points."
        self.fail_if("masses" not in self.table, "", "missing-argument", problem)
        shapes, masses = self.matrix("shapes"), self.matrix("masses")
        M, K, D, shapes, masses = (_whole(array) for array in (M, K, D, shapes, masses))
        problem = f"shapes are {' x '.join(map(str, shapes.shape))}, expected {6 * len(points)} x {len(M)}."
        self.fail_if(shapes.shape != (6 * len(points), len(M)), "shapes", "wrong-shape", problem)
        problem = f"expected a mass, zero or more, of each of {len(points)} points, got {masses.size} numbers."
        self.fail_if(masses.size != len(points), "masses", "wrong-shape", problem)
        self.fail_if(masses.min() < 0.0, "masses", "negative", problem)
        self.check_symmetric(M=M, K=K)
        model = ReducedModel(
            name, points, places, 0.5 * (M + M.T), 0.5 * (K + K.T), D, shapes, np.asarray(masses).ravel()
        )
        return reduced_body(
            model, modes=modes, reference=given.get("reference"), nodes=given.get("nodes"),
            damping=given.get("damping"),
        )  # fmt: skip

    def check_symmetric(self, tolerance: float = 1e-6, **matrices: Any) -> None:
        """Refuse a difference M - Mᵀ above ``tolerance`` of the largest entry: files carry some 7 digits."""
        for key, matrix in matrices.items():
            off = float(np.abs(matrix - matrix.T).max() / max(float(np.abs(matrix).max()), 1e-300))
            self.fail_if(off > tolerance, key, "not-symmetric", f"{key} is not symmetric, by {off:.1e} of it.")

    def check_reduced(self, given: Mapping[str, Any]) -> int | None:
        """The number of modes of reduced matrices, None for all."""
        for key in given:
            problem = f"{key} does not go with reduced matrices."
            self.fail_if(key not in OF_REDUCED, key, "ineffective-argument", problem)
        modes = given.get("modes")
        problem = f"modes of reduced matrices are their number, got {modes!r:.60}."
        self.fail_if(modes is not None and (not isinstance(modes, int) or modes < 1), "modes", "wrong-type", problem)
        return modes

    # -- files -------------------------------------------------------------------------------------------------------
    def file(self, key: str) -> tuple[Path, str]:
        name = self.table[key]
        endings = {"points": POINTS, "shapes": SUFFIXES, "masses": SUFFIXES, "modes": SUFFIXES}.get(key, MATRICES)
        problem = f"{name!r:.60}: expected the name of a file that ends in {', '.join(endings)}."
        self.fail_if("\0" in name or not name.lower().endswith(endings), key, "unknown-suffix", problem)
        folder = Path(os.path.realpath(self.path)).parent
        path = Path(os.path.realpath(folder / name))
        problem = f"{name!r:.60} lies outside the folder of this file."
        self.fail_if(not path.is_relative_to(folder), key, "outside-folder", problem)
        self.fail_if(not path.is_file(), key, "no-such-file", f"there is no file {name!r:.60}.")
        return path, os.path.normpath(os.path.join(os.path.dirname(self.path), name))

    def matrix(self, key: str) -> Any:
        path, shown = self.file(key)
        suffix = path.suffix.lower()
        if suffix == ".pch":
            matrix = self.bulk(path, shown).matrix(key)
            problem = f"there is no matrix {key}: a DMIG whose name begins with {nastran_text.LETTERS[key]}."
            FileFormatError.when(matrix is None, "missing-argument", problem, path=shown)
            return matrix
        if suffix in harwell_boeing.SUFFIXES:
            return harwell_boeing.read_harwell_boeing(path, shown, self.max_bytes)
        if suffix == ".mtx" and key in ("M", "K", "D") and abaqus_text.is_matrix(path):
            return abaqus_text.read_matrix_input(path, shown, self.max_bytes)
        matrix = read_matrix(path, shown, self.max_bytes)
        problem = f"{key} has the shape {matrix.shape}, expected rows and columns."
        self.fail_if(key != "masses" and matrix.ndim != 2, key, "wrong-shape", problem)
        return matrix

    def bulk(self, path: Path, shown: str) -> nastran_text.Bulk:
        """Bulk data of Nastran, read once for points and matrices."""
        if path not in self.bulks:
            self.bulks[path] = nastran_text.read_bulk(path, shown, self.max_bytes)
        return self.bulks[path]

    def points(self) -> tuple[list[str], Any]:
        source = self.table["points"]
        if isinstance(source, dict):
            return list(source), np.array(list(source.values()), dtype=np.float64)
        path, shown = self.file("points")
        suffix = path.suffix.lower()
        if suffix in (*nastran_text.SUFFIXES, *abaqus_text.SUFFIXES):
            is_bulk = suffix in nastran_text.SUFFIXES
            nodes = self.bulk(path, shown).places if is_bulk else abaqus_text.read_nodes(path, shown, self.max_bytes)
            problem = "the file has no points (GRID of Nastran, *NODE of Abaqus)."
            FileFormatError.when(not nodes, "empty", problem, path=shown)
            return [str(node) for node in nodes], np.array(list(nodes.values()))
        if suffix in TEXT:
            names, places = read_points(path, shown, self.max_bytes)
        else:
            places = _whole(read_matrix(path, shown, self.max_bytes))
            names = [f"p{k}" for k in range(places.size // 3)]
        problem = f"points have the shape {places.shape}, expected rows of x, y, z."
        self.fail_if(places.ndim != 2 or places.shape[1] != 3 or not len(places), "points", "wrong-shape", problem)
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        for name in twice:
            raise FileFormatError("duplicate", f"the point {name!r} is there twice.", path=shown)
        return names, places


def read_points(path: Path, shown: str, max_bytes: int, memory: int = 80) -> tuple[list[str], Any]:
    """Names and places (n, 3) of a text; lines "0 0 0" take 53 to 64 bytes of ``memory`` per byte, as measured."""
    size = path.stat().st_size
    problem = f"the points take {size} bytes of text; max_bytes = {max_bytes}."
    FileFormatError.when(memory * size > max_bytes, "too-large", problem, path=shown)
    names, rows = [], list[list[float]]()
    with text_lines(path, shown) as lines:
        for cells in split_rows(lines):
            problem = f"expected a name and x, y, z, got {len(cells)} cells."
            FileFormatError.when(len(cells) not in (3, 4), "ragged-row", problem)
            names.append(cells[0] if len(cells) == 4 else f"p{len(rows)}")
            rows.append([real_number(cell) for cell in cells[-3:]])
    return names, np.array(rows).reshape(-1, 3)


def _whole(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


BODY_FORMATS.register("matrices", BodyFormat((".toml", ".json"), read))
