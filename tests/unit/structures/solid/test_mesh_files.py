"""Mesh files that are broken, empty, mixed or too large are refused by name, and nothing is printed."""

import random
import re
import sys
import warnings
from pathlib import Path

import pytest

from dalembert.core import isolation
from dalembert.core.errors import DataError, FileFormatError
from dalembert.structures import read_mesh
from tests.helpers.findings import raises, warns

pytest.importorskip("skfem")
pytest.importorskip("meshlane")

DATA = Path(__file__).parents[3] / "data" / "meshes"


def changed(tmp_path, file, old, new, ending=None):
    """A copy of a good file with one thing wrong."""
    text = (DATA / file).read_text()
    assert old in text
    copy = tmp_path / ("broken" + (ending or Path(file).suffix))
    copy.write_text(text.replace(old, new, 1))
    return copy


BROKEN = {
    "cut off": ("two_cubes_22.msh", "$EndElements\n", "", "damaged", "$EndElements"),
    "no such version": ("two_cubes_22.msh", "2.2 0 8", "9.9 0 8", "not-readable", "gmsh"),
    "too many announced": ("two_cubes_22.msh", "$Nodes\n12", "$Nodes\n99999999999", "damaged", "99999999999"),
    "fewer than announced": ("two_cubes_22.msh", "$Nodes\n12", "$Nodes\n13", "not-readable", "gmsh"),
    "text for a number": ("two_cubes.inp", "20, 1, 0, 0", "20, 1, zero, 0", "not-readable", "inp:5:", "abaqus"),
    "a point that is not there": ("two_cubes.inp", "1, 10, 20", "1, 10, 25", "not-readable", "abaqus"),
    "another file": ("two_cubes.inp", "*MATERIAL, NAME=STEEL",
                     "*INCLUDE, INPUT=x.inp", "not-supported", "inp:26:", "INCLUDE"),
    "local axes": ("brick20.bdf", "GRID           3        ", "GRID           3       4",
                   "not-supported", "bdf:7:", "system 4"),
    "another bulk file": ("brick20.bdf", "PSOLID         7       1", "INCLUDE 'x.bdf'", "not-supported", "INCLUDE"),
    "no number": ("brick20.bdf", "  3.0000  0.0000", "  3.x000  0.0000", "not-readable", "nastran"),
    "flat cell": ("two_cubes_22.msh", "2 1 0 0\n", "2 0 0 0\n", "bad-mesh", "cell"),
    "wrong middle": ("brick20.inp", "9, 1, -0.01, 0", "9, 9, -0.01, 0", "bad-mesh", "cell"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_refused_with_its_reason(what, tmp_path, capfd):
    file, old, new, *found = BROKEN[what]
    path = changed(tmp_path, file, old, new)
    with raises(FileFormatError, *found) as error:
        read_mesh(path)
    assert str(path) in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with raises(FileFormatError, "no-such-file", "none.msh"):
        read_mesh(tmp_path / "none.msh")


@pytest.mark.parametrize("ending", [".msh", ".inp", ".bdf"])
def test_an_empty_file_is_refused(ending, tmp_path):
    file = tmp_path / f"empty{ending}"
    file.write_text("")
    with raises(FileFormatError, "empty"):
        read_mesh(file)


@pytest.mark.parametrize("ending", [".msh", ".inp", ".bdf"])
@pytest.mark.parametrize(
    "content", [b"\x00\xff" * 500, b"hello\n", b"$MeshFormat\n", b"*NODE\n1,2\n", b"GRID,1\n", b"$\n"]
)
def test_nonsense_is_refused(ending, content, tmp_path, capfd):
    file = tmp_path / f"nonsense{ending}"
    file.write_bytes(content)
    with pytest.raises(FileFormatError):
        read_mesh(file)
    assert capfd.readouterr() == ("", "")


def test_an_unknown_ending_asks_for_the_format(tmp_path):
    file = tmp_path / "mesh.xyz"
    file.write_text((DATA / "two_cubes.inp").read_text())
    with raises(FileFormatError, "unknown-format", "'.xyz'"):
        read_mesh(file)
    assert len(read_mesh(file, format="abaqus").cells) == 2
    with raises(DataError, "unknown-choice"):
        read_mesh(file, format="vtk")


def test_too_many_points_are_refused():
    with raises(FileFormatError, "too-large", "12", "2", "10"):
        read_mesh(DATA / "two_cubes.inp", limit=10)
    with raises(FileFormatError, "too-large", "0"):
        read_mesh(DATA / "two_cubes.inp", limit=0)


def test_mixed_cells_are_refused_unless_one_kind_is_chosen(tmp_path):
    extra = "*ELEMENT, TYPE=C3D4\n9, 10, 20, 40, 70\n*MATERIAL, NAME=STEEL"
    file = changed(tmp_path, "two_cubes.inp", "*MATERIAL, NAME=STEEL", extra)
    with raises(FileFormatError, "not-unique", "2", "1"):
        read_mesh(file)
    mesh = read_mesh(file, kind="tet4")
    assert (len(mesh.cells), len(mesh.points), mesh.dropped) == (1, 4, 8)
    with raises(FileFormatError, "unknown-name", "'hex20'", "2", "1"):
        read_mesh(file, kind="hex20")


def test_wedges_alone_and_shells_alone_are_refused(tmp_path):
    file = tmp_path / "wedge.inp"
    nodes = "*NODE\n1,0,0,0\n2,1,0,0\n3,0,1,0\n4,0,0,1\n5,1,0,1\n6,0,1,1\n"
    file.write_text(nodes + "*ELEMENT, TYPE=C3D6\n1, 1, 2, 3, 4, 5, 6\n")
    with raises(FileFormatError, "not-supported", "'wedge'"):
        read_mesh(file)
    file.write_text(nodes + "*ELEMENT, TYPE=S3\n1, 1, 2, 3\n")
    with raises(FileFormatError, "empty"):
        read_mesh(file)


def test_what_the_reader_skips_is_a_warning_and_not_a_print(tmp_path, capfd):
    extra = "*ELEMENT, TYPE=XYZ8\n9, 10, 20\n*MATERIAL, NAME=STEEL"
    file = changed(tmp_path, "two_cubes.inp", "*MATERIAL, NAME=STEEL", extra)
    with warns(UserWarning, "reader-remark"):
        assert len(read_mesh(file).cells) == 2
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("file", sorted(path.name for path in DATA.iterdir()))
def test_a_damaged_file_gives_a_mesh_or_a_format_error_and_nothing_else(file, tmp_path, capfd):
    luck = random.Random(file)
    words = [b"9999999999", b"\n", b"-1", b"*", b"$", b",", b"nan", b" 1e400 "]
    path = tmp_path / ("damaged" + Path(file).suffix)
    for _ in range(40):
        content = bytearray((DATA / file).read_bytes())
        for _ in range(luck.randint(1, 3)):
            place = luck.randrange(len(content))
            content[place : place + luck.choice([0, 0, 1, 30])] = luck.choice(words)
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cards that were skipped
            try:
                read_mesh(path)
            except FileFormatError as error:
                assert str(path) in str(error)
    assert capfd.readouterr() == ("", "")


def generated_range(text: str) -> str:
    return text + "*NSET, NSET=B, GENERATE\n1, 1000000000, 1\n"


def sets_of_blocks(text: str) -> str:
    """Every set has an array for every block: the product of both is made of their sum."""
    a, b = re.findall(r"(?m)^\s*(\d+),", text)[:2]
    blocks = "".join(f"*ELEMENT, TYPE=T3D2\n{k}, {a}, {b}\n" for k in range(100, 1900))
    return text + blocks + "".join(f"*ELSET, ELSET=S{k}\n100\n" for k in range(1800))


def sets_of_sets(text: str) -> str:
    """Each is the one before it ten times."""
    doubled = "".join(f"*ELSET, ELSET=D{k + 1}\n" + f"D{k}," * 10 + "\n" for k in range(1, 12))
    return text + "*ELSET, ELSET=D1\n1, 2\n" + doubled


def number_of_a_point(text: str) -> str:
    return re.sub(r"(?m)^12 ", "900000000 ", text, count=1)


HOSTILE = [
    ("two_cubes.inp", generated_range),
    ("two_cubes.inp", sets_of_blocks),
    ("two_cubes.inp", sets_of_sets),
    ("two_cubes_22.msh", number_of_a_point),
]


@pytest.mark.skipif(sys.platform != "linux", reason="the bound on memory is Linux's")
def test_hostile_meshes_are_refused_within_twice_the_memory_that_is_allowed(tmp_path):
    most = 80_000_000
    isolation.stop()  # begin with an untouched one
    read_mesh(DATA / "two_cubes.inp")
    helper = isolation._helper
    before = peak(helper.pid)
    for name, hostile in HOSTILE:
        text = (DATA / name).read_text()
        (tmp_path / name).write_text(hostile(text))
        with raises(FileFormatError, "too-large"):
            read_mesh(tmp_path / name, max_bytes=most)
        assert isolation._helper is helper
        assert peak(helper.pid) - before < 2 * most, hostile


def peak(process):
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status).group(1))
