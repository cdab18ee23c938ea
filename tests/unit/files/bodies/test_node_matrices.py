"""Matrices as Nastran, Abaqus and Ansys write them: the same body as from the model, bad files refused by line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files.bodies.abaqus_text import read_matrix_input, read_nodes
from dalembert.files.bodies.node_matrices import ENTRY, NODE
from dalembert.structures import Frame, Section, Solid, assemble_structure, box_mesh, craig_bampton, flexible_body
from tests.helpers.findings import raises

HEAD = 'format = "flexible body matrices"\nversion = 1\nname = "link"\n'
CLAMPED = 'basis = "clamped"\nmodes = 6\n'


def frame(elements: int = 6) -> Frame:
    f = Frame("link")
    f.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0.1, 0.2]])
    f.add_beam("link", "root", "tip", section=Section.rectangle(0.004, 0.03), material="steel", elements=elements)
    return f


def rows_of(structure: Any, first: int = 101, step: int = 7) -> list[tuple[int, int]]:
    """Node and direction of every coordinate; nodes have numbers with gaps."""
    each = len(structure.directions)
    return [(first + step * k, d + 1) for k in range(len(structure.points)) for d in range(each)]


def triangle(matrix: Any, shape: str = "lower") -> list[tuple[int, int, float]]:
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    keep = {"lower": np.tril, "upper": np.triu, "both": np.asarray}[shape](dense)
    return [(int(i), int(j), float(keep[i, j])) for i, j in np.argwhere(keep)]


# -- Nastran ---------------------------------------------------------------------------------------------------------
def large(name: str, matrix: Any, rows: list[tuple[int, int]], shape: str = "lower", letter: str = "D") -> str:
    """DMIG in fields of 16 characters, one entry per continuation line."""
    text = [f"DMIG*   {name:<16}{0:16d}{6:16d}{2:16d}", f"*       {0:16d}"]
    last = None
    for i, j, value in sorted(triangle(matrix, shape), key=lambda one: one[1]):
        if j != last:
            text.append(f"DMIG*   {name:<16}{rows[j][0]:16d}{rows[j][1]:16d}")
            last = j
        text.append(f"*       {rows[i][0]:16d}{rows[i][1]:16d}{f'{value:.9E}'.replace('E', letter):>16}")
    return "\n".join(text) + "\n"


def small(name: str, matrix: Any, rows: list[tuple[int, int]], comma: bool = False) -> str:
    """DMIG in fields of 8 characters or between commas, with two entries per continuation line, single precision."""
    columns: dict[int, list[str]] = {}
    for i, j, value in triangle(matrix):
        mantissa, _, exponent = f"{value:.2E}".partition("E")
        short = f"{mantissa}{int(exponent):+d}"  # 2.51+10: no letter
        columns.setdefault(j, []).extend([str(rows[i][0]), str(rows[i][1]), short, ""])
    lines = [["DMIG", name, "0", "6", "1", "0"]]
    for j, cells in columns.items():
        lines.append(["DMIG", name, str(rows[j][0]), str(rows[j][1]), "", *cells[:4]])
        lines += [["+", *cells[k : k + 8]] for k in range(4, len(cells), 8)]
    return "\n".join(",".join(one) if comma else "".join(f"{c:<8}" for c in one) for one in lines) + "\n"


def grids(numbers: list[int], places: np.ndarray, wide: bool = True) -> str:
    text = []
    for number, (x, y, z) in zip(numbers, places, strict=True):
        if wide:
            text += [f"GRID*   {number:16d}{'':16}{x:16.9e}{y:16.9e}", f"*       {z:16.9e}{0:16d}"]
        else:
            text.append(f"GRID,{number},,{x:.9g},{y:.9g},{z:.9g}")
    return "\n".join(text) + "\n"


@pytest.fixture(scope="module")
def structure() -> Any:
    return assemble_structure(frame())


def expected(**how: Any) -> Any:
    return flexible_body(frame(), basis="clamped", fixed="root", modes=6, **how)


def same_body(read: Any, other: Any, digits: float) -> None:
    assert np.allclose(read.frequencies_hz, other.frequencies_hz, rtol=digits)
    assert read.mass == pytest.approx(other.mass, rel=digits)
    assert np.allclose(read.inertia, other.inertia, atol=digits * np.abs(other.inertia).max())
    assert [node.name for node in read.nodes] == ["101", "108"]
    assert np.allclose(read.nodes[1].place, other.node("tip").place)


@pytest.mark.parametrize("shape", ["lower", "upper"])
def test_full_matrices_of_nastran_in_large_fields_make_the_body_of_their_model(tmp_path: Path, structure, shape):
    rows = rows_of(structure)
    numbers = [rows[6 * k][0] for k in range(len(structure.points))]
    text = "$TITLE = link\n" + grids(numbers, structure.positions)
    text += large("KAAX", structure.K, rows, shape) + large("MAAX", structure.M, rows, shape, letter="E")
    (tmp_path / "link.pch").write_text(text + "ENDDATA\n")
    names = 'points = "link.pch"\nM = "link.pch"\nK = "link.pch"\nfixed = "101"\nnodes = ["101", "108"]\n'
    (tmp_path / "link.toml").write_text(HEAD + names + CLAMPED)
    # ten digits of axial stiffness, which is 4 n (L/h)² = 5e5 times that of bending
    same_body(da.read_flexible_body(tmp_path / "link.toml"), expected(), 1e-5)


@pytest.mark.parametrize("comma", [False, True])
def test_small_fields_continuation_lines_and_exponents_without_letter_are_read(tmp_path: Path, comma: bool):
    K = np.array([[2.5e10, -1.25e9, 0.0, 3.0], [-1.25e9, 4e-3, 7.0, 0.0], [0.0, 7.0, 1.0, -2.5], [3.0, 0.0, -2.5, 9.0]])
    rows = [(1, 1), (1, 2), (2, 1), (5, 0)]  # the last one is a scalar point
    (tmp_path / "k.pch").write_text(small("KAA", K, rows, comma) + "GRID    1               1.5\n")
    from dalembert.files.bodies.nastran_text import read_bulk

    bulk = read_bulk(tmp_path / "k.pch", "k.pch", 10**6)
    found = bulk.matrix("K")
    assert found is not None and bulk.places[1] == (1.5, 0.0, 0.0)
    assert [divmod(int(row), 8) for row in found.rows] == rows
    assert np.allclose(found.matrix.toarray(), K, rtol=1e-12)


def test_a_punch_file_of_a_superelement_is_a_body_with_its_boundary_points_as_nodes(tmp_path: Path, structure):
    """Craig-Bampton coordinates: twelve of the ends, four modes as scalar points; free frequencies of the reduction."""
    reduction = craig_bampton(structure.system(), ["root", "tip"], modes=4)
    numbers = {"root": 7, "tip": 900}
    order = {way: k + 1 for k, way in enumerate(structure.directions)}
    rows = []
    for k, name in enumerate(reduction.system.coordinates):
        point, _, way = name.rpartition(".")
        rows.append((numbers[point], order[way]) if point in numbers else (5000 + k, 0))
    assert sum(way == 0 for _, way in rows) == 4
    text = grids([7, 900], structure.positions[:2], wide=False) + "SPOINT  5012    5013    5014    5015\n"
    text += large("KAAX", reduction.system.K, rows) + large("MAAX", reduction.system.M, rows)
    (tmp_path / "link.pch").write_text(text)
    body = da.read_flexible_body(tmp_path / "link.pch")
    assert [node.name for node in body.nodes] == ["7", "900"] and body.modes == 10
    free = np.sort(reduction.system.modes(16).frequencies)[6:]
    (tmp_path / "link.toml").write_text(
        HEAD + "".join(f'{key} = "link.pch"\n' for key in ("points", "M", "K")) + 'reference = "mean axis"\n'
    )
    mean = da.read_flexible_body(tmp_path / "link.toml")
    assert np.allclose(np.sort(mean.frequencies)[:4], free[:4], rtol=1e-6)
    assert body.mass == pytest.approx(structure.mass(), rel=1e-8)
    assert body.finite_elements is not None and "2 points" in body.finite_elements.source
    with raises(da.errors.FileFormatError, "ineffective-argument"):
        (tmp_path / "link.toml").write_text((tmp_path / "link.toml").read_text() + 'basis = "free"\n')
        da.read_flexible_body(tmp_path / "link.toml")


# -- Abaqus ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", ["lower", "both"])
def test_matrices_of_abaqus_make_the_body_of_their_solid(tmp_path: Path, shape: str):
    solid = Solid("bar", box_mesh((0.2, 0.02, 0.01), (5, 1, 1)), "steel")
    structure = assemble_structure(solid)
    rows = rows_of(structure, first=1, step=2)
    for key, matrix in (("STIF", structure.K), ("MASS", structure.M)):
        lines = [
            f"{rows[i][0]},{rows[i][1]}, {rows[j][0]},{rows[j][1]},  {v:.15e}" for i, j, v in triangle(matrix, shape)
        ]
        (tmp_path / f"job_{key}2.mtx").write_text("** Assembled matrix\n" + "\n".join(lines) + "\n")
    nodes = "\n".join(f"{1 + 2 * k}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(structure.positions.tolist()))
    (tmp_path / "job.inp").write_text(f"*HEADING\n bar\n*NODE, NSET=all\n{nodes}\n*ELEMENT, TYPE=C3D8\n1, 1, 3\n")
    names = 'points = "job.inp"\nM = "job_MASS2.mtx"\nK = "job_STIF2.mtx"\nbasis = "free"\nmodes = 6\nnodes = ["1"]\n'
    (tmp_path / "bar.toml").write_text(HEAD + names)
    body = da.read_flexible_body(tmp_path / "bar.toml")
    model = flexible_body(solid, basis="free", modes=6, nodes={"corner": (0.0, 0.0, 0.0)})
    assert np.allclose(body.frequencies_hz, model.frequencies_hz, rtol=1e-7)
    assert body.mass == pytest.approx(model.mass, rel=1e-10)


# -- Ansys -----------------------------------------------------------------------------------------------------------
def harwell(matrix: Any, kind: str, each: int, form: str) -> str:
    """One triangle (RSA) or the whole matrix (RUA); three formats of numbers."""
    entries = sorted(triangle(matrix, "lower" if kind == "RSA" else "both"), key=lambda one: (one[1], one[0]))
    size = matrix.shape[0]
    starts = [1 + sum(j < column for _, j, _ in entries) for column in range(size + 1)]

    def block(cells: list[str], count: int) -> list[str]:
        return ["".join(cells[k : k + count]) for k in range(0, len(cells), count)]

    values = [f"{v:25.15E}".replace("E", "D" if "D" in form else "E") for _, _, v in entries]
    parts = [block([f"{s:14d}" for s in starts], 1), block([f"{i + 1:14d}" for i, _, _ in entries], 1),
             block(values, each)]  # fmt: skip
    lines = [f"{'Stiffness matrix':<72}{'STIFF':<8}",
             "".join(f"{n:14d}" for n in (sum(map(len, parts)), *map(len, parts), 0)),
             f"{kind:<14}" + "".join(f"{n:14d}" for n in (size, size, len(entries), 0)),
             f"{'(1I14)':<16}{'(1I14)':<16}{form:<20}"]  # fmt: skip
    return "\n".join([*lines, *parts[0], *parts[1], *parts[2]]) + "\n"


@pytest.mark.parametrize(("kind", "each", "form"), [("RSA", 1, "(1D25.15)"), ("RUA", 3, "(1P,3E25.15)")])
def test_matrices_of_ansys_with_their_mapping_make_the_body_of_their_model(tmp_path: Path, structure, kind, each, form):
    rows = rows_of(structure)
    order = np.random.default_rng(3).permutation(len(rows))  # equations in an order of the program's own
    labels = ("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ")
    mapping = "   Matrix Eqn      Node      DOF\n" + "\n".join(
        f"{k + 1:10d}{rows[i][0]:10d}      {labels[rows[i][1] - 1]}" for k, i in enumerate(order)
    )
    for name, matrix in (("stiff", structure.K), ("mass", structure.M)):
        (tmp_path / f"{name}.matrix").write_text(harwell(matrix.toarray()[np.ix_(order, order)], kind, each, form))
        (tmp_path / f"{name}.mapping").write_text(mapping)
    places = "\n".join(f"{101 + 7 * k} {x} {y} {z}" for k, (x, y, z) in enumerate(structure.positions.tolist()))
    (tmp_path / "nodes.txt").write_text(places)
    names = 'points = "nodes.txt"\nM = "mass.matrix"\nK = "stiff.matrix"\nfixed = "101"\nnodes = ["101", "108"]\n'
    (tmp_path / "link.toml").write_text(HEAD + names + CLAMPED)
    same_body(da.read_flexible_body(tmp_path / "link.toml"), expected(), 1e-8)
    (tmp_path / "mass.mapping").unlink()
    with raises(da.errors.FileFormatError, "no-such-file", "mass.mapping"):
        da.read_flexible_body(tmp_path / "link.toml")


# -- bad files -------------------------------------------------------------------------------------------------------
GRID = "GRID    1               0.      0.      0.\n"
KEY = "DMIG    KAA     0       6       2       0\n"
COLUMN = "DMIG    KAA     1       1               1       1       {}\n"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (GRID + COLUMN.format("1.0"), "bad-syntax", 2),
        (GRID + KEY + COLUMN.format("1.x"), "not-a-number", 3),
        (GRID + KEY + COLUMN.format("1.+999"), "not-finite", 3),
        (GRID + KEY.replace("6", "9", 1), "not-supported", 2),
        (GRID + KEY.replace(" 2 ", " 3 ", 1), "not-supported", 2),
        (GRID + KEY + COLUMN.format("1.0").replace("       1       1.0", "       9       1.0"), "out-of-range", 3),
        (GRID + KEY + COLUMN.format("1.0").replace("    1       1  ", "    x       1  ", 1), "not-a-count", 3),
        (GRID.replace("1       ", "1       7", 1), "not-supported", 1),
        (GRID + KEY + 2 * COLUMN.format("1.0"), "duplicate", None),
        (GRID + KEY + COLUMN.format("1.0"), "missing-argument", None),  # no M
        (GRID + KEY + COLUMN.format("1.0") + "x" * 20_000, "too-large", 4),
    ],
)  # fmt: skip
def test_a_bad_punch_file_is_named_with_its_line(tmp_path: Path, text: str, code: str, line: int | None):
    file = tmp_path / "bad.pch"
    file.write_text(text)
    with raises(da.errors.FileFormatError, code) as caught:
        da.read_flexible_body(file)
    assert caught.value.path == str(file) and caught.value.line == line


def read_abaqus(tmp_path: Path, text: str, nodes: str = "*NODE\n1, 0, 0, 0\n") -> None:
    (tmp_path / "k.mtx").write_text(text)
    (tmp_path / "job.inp").write_text(nodes)
    (tmp_path / "bad.toml").write_text(HEAD + 'points = "job.inp"\nM = "k.mtx"\nK = "k.mtx"\nmodes = 1\n')
    da.read_flexible_body(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("1,1,1,1,1.0\n1,2,1,2,1e36\n", "not-supported", 2),  # a boundary condition
        ("-1,1,-1,1,1.0\n", "not-supported", 1),
        ("1 1 3.5\n", "bad-syntax", 1),  # FORMAT=COORDINATE
        ("1,1,1,1,1.0\n1,1,1,1,1.0\n", "duplicate", None),
        ("1,1,1,1,1.0\n2,1,2,1,1.0\n", "missing-argument", 4),  # a node without a place
        ("1,7,1,7,1.0\n", "out-of-range", 1),
        ("1,1,1,1,nan\n", "not-finite", 1),
        ("\n", "empty", None),
    ],
)
def test_a_bad_matrix_of_abaqus_is_named_with_its_line(tmp_path: Path, text: str, code: str, line: int | None):
    with raises(da.errors.FileFormatError, code) as caught:
        read_abaqus(tmp_path, text)
    assert caught.value.line == line


def test_nodes_of_assemblies_are_refused(tmp_path: Path):
    with raises(da.errors.FileFormatError, "not-supported", "INSTANCE"):
        read_abaqus(tmp_path, "1,1,1,1,1.0\n", "*PART, NAME=a\n*NODE\n1,0,0,0\n*INSTANCE, NAME=b, PART=a\n")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("RSA", "CSA", "not-supported"), ("(1D25.15)", "(list)", "bad-syntax"), ("STIFF", "STIFF\n\n", "bad-syntax"),
     ("UX", "TEMP", "not-supported"), ("         1         7", "         9         7", "out-of-range"),
     (f"{1:14d}\n{2:14d}\n{3:14d}\n", f"{1:14d}\n{9:14d}\n{3:14d}\n", "damaged")],
)  # fmt: skip
def test_a_bad_matrix_of_ansys_is_named(tmp_path: Path, old: str, new: str, code: str):
    texts = {"k.matrix": harwell(np.eye(2), "RSA", 1, "(1D25.15)"),
             "k.mapping": "Matrix Eqn Node DOF\n         1         7 UX\n         2         7 UY\n",
             "nodes.txt": "7 0 0 0\n"}  # fmt: skip
    assert any(old in text for text in texts.values())
    for name, text in texts.items():
        (tmp_path / name).write_text(text.replace(old, new, 1))
    (tmp_path / "bad.toml").write_text(HEAD + 'points = "nodes.txt"\nM = "k.matrix"\nK = "k.matrix"\nmodes = 1\n')
    with raises(da.errors.FileFormatError, code):
        da.read_flexible_body(tmp_path / "bad.toml")


@pytest.mark.parametrize("name", ["k.pch", "k.mtx", "k.matrix"])
def test_more_entries_than_the_bound_allows_are_refused(tmp_path: Path, name: str):
    count = 50
    rows = [(1 + k, 1) for k in range(count)]
    text = {"k.pch": large("KAA", np.eye(count), rows), "k.matrix": harwell(np.eye(count), "RSA", 1, "(1D25.15)"),
            "k.mtx": "\n".join(f"{k},1,{k},1,1.0" for k in range(1, count + 1))}[name]  # fmt: skip
    (tmp_path / name).write_text(text)
    (tmp_path / "nodes.txt").write_text("1 0 0 0\n")
    (tmp_path / "k.toml").write_text(HEAD + f'points = "nodes.txt"\nM = "{name}"\nK = "{name}"\n')
    with raises(da.errors.FileFormatError, "too-large"):
        da.read_flexible_body(tmp_path / "k.toml", max_bytes=ENTRY * (count - 1))


@pytest.mark.parametrize("name", ["k.pch", "k.mtx", "k.matrix", "k.mapping", "job.inp"])
def test_whatever_bytes_are_changed_the_error_is_one_of_files(tmp_path: Path, name: str):
    rng = np.random.default_rng(5)
    rows = [(7, 1), (7, 2), (8, 1)]
    texts = {"k.pch": grids([7, 8], np.eye(3)[:2]) + large("KAA", np.eye(3), rows) + large("MAA", np.eye(3), rows),
             "k.mtx": "7,1,7,1,1.0\n7,2,7,2,1.0\n8,1,8,1,2.0\n", "k.matrix": harwell(np.eye(3), "RSA", 1, "(1D25.15)"),
             "k.mapping": "Matrix Eqn Node DOF\n1 7 UX\n2 7 UY\n3 8 UX\n",
             "job.inp": "*NODE\n7, 0, 0, 0\n8, 1, 0, 0\n"}  # fmt: skip
    for key, text in texts.items():
        (tmp_path / key).write_text(text)
    matrix = {"k.mapping": "k.matrix", "job.inp": "k.mtx"}.get(name, name)
    table = HEAD + f'points = "job.inp"\nM = "{matrix}"\nK = "{matrix}"\nmodes = 1\n'
    (tmp_path / "k.toml").write_text(table)
    whole = bytearray(texts[name].encode())
    for _ in range(60):
        changed = bytearray(whole)
        for at in rng.integers(0, len(whole), 1 + rng.integers(4)):
            changed[at] = rng.integers(256)
        (tmp_path / name).write_bytes(changed)
        with pytest.raises(da.errors.FileFormatError):  # no body: three coordinates of two points cannot move rigidly
            da.read_flexible_body(tmp_path / "k.toml")


def test_entries_and_nodes_take_no_more_memory_than_is_counted(tmp_path: Path):
    count = 20_000
    (tmp_path / "k.mtx").write_text("\n".join(f"{k},1,{k + 1},1,1.0" for k in range(1, count)))
    (tmp_path / "job.inp").write_text("*NODE\n" + "\n".join(f"{k},0,0,0" for k in range(1, count)))
    for read, name, each in ((read_matrix_input, "k.mtx", ENTRY), (read_nodes, "job.inp", NODE)):
        tracemalloc.start()
        read(tmp_path / name, name, 10**9)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < each * count
        with raises(da.errors.FileFormatError, "too-large"):
            read(tmp_path / name, name, each * (count // 2))
