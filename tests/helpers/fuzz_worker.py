"""Mutated files of every format the package reads, read in a process of its own.

An input is made from its format and its seed alone, so that the two are enough to have it again:

    python -m tests.helpers.fuzz_worker FORMAT SEED [FILE]     # reads that input (and keeps it as FILE)

Without arguments the process takes jobs, "FORMAT FIRST COUNT" a line, from standard input. It says every seed before it
reads that input, and after it how it ended: a process that dies has named what killed it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import re
import resource
import shutil
import struct
import sys
import tempfile
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da

MESHES = Path(__file__).parents[1] / "data" / "meshes"
ROBOTS = Path(__file__).parents[1] / "data" / "robots"
MAX_BYTES = 32_000_000  # what records may unpack to
MEMORY = 1_500_000_000  # bytes of address space above those of the start: taking more is an unexpected end
LONGEST = 4000  # characters of a message: several problems with their places
READ, REFUSED = "read", "refused"


# ---- what is mutated


def table_text(separator: str) -> bytes:
    head = "# name: hammer test\n# status: complete\ntime,force,tip.x,'=1+1\nms,N,mm,\n"
    rows = "".join(f"{k},{k * 1.5},{'' if k == 3 else k / 7},{-k}e-3\n" for k in range(8))
    return (head + rows).replace(",", separator).encode()


def header_text() -> bytes:
    head = 'Time (ms);Force [N];Acc 1 [g];"a_x in m/s^2";angle_deg;x (left)\n'
    return (head + "".join(f"{k};{k};{2 * k};3;4;5\n" for k in range(6))).encode()


def arrays() -> dict[str, Any]:
    t = np.arange(10.0)
    return {"time": t, "x": t**2, "y": np.ones((10, 2), dtype="i2"), "z": t + 1j, "flag": t > 3, "fs": 100.0}


def mat(format: str, *, packed: bool = False, more: bool = False) -> bytes:
    from scipy.io import savemat
    from scipy.sparse import eye_array

    buffer = io.BytesIO()
    extra = {"text": "hello", "cell": np.array([1, "a"], dtype=object), "deep": {"a": 1.0, "b": [1, 2]}}
    given = {**(extra | {"s": eye_array(3, format="csc")} if more else {}), **arrays()}
    if format == "4":
        given.pop("flag")
    savemat(buffer, given, format=format, do_compression=packed)
    return buffer.getvalue()


def record() -> da.Record:
    t = 0.1 * np.arange(12)
    return da.Record.from_channels(
        t, {"force": np.sin(t), "tip": np.column_stack([t, -t])}, {"force": "N", "tip": "m"}, name="run",
        provenance={"method": "RK4"}, scene={"planar": True, "bodies": [{"name": "rod"}]},
    )  # fmt: skip


def written(suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"r{suffix}"
        da.write_record(record(), path)
        return path.read_bytes()


def other_netcdf() -> bytes:
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        clock = file.create_dataset("time", data=np.arange(20.0), chunks=(8,), compression="gzip", shuffle=True)
        clock.make_scale("time")
        for name, how in (("x", {"chunks": (20,), "fletcher32": True}), ("y", {})):
            made = file.create_dataset(name, data=np.arange(20, dtype="i2"), **how)
            made.dims[0].attach_scale(clock)
            made.attrs["units"] = "N"
        file.create_group("inner")["z"] = np.eye(3)
    return buffer.getvalue()


def other_parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    table = pyarrow.table({"time": np.arange(40.0), "x": np.arange(40) % 3, "f": np.ones(40, dtype="f4")})
    parquet.write_table(table, buffer, compression="gzip", row_group_size=16, data_page_version="2.0")
    return buffer.getvalue()


def logger_texts() -> list[bytes]:
    rows = "".join(f"{k},{k * 8333},{k * 0.5},{9.8 + k}\n" for k in range(8))
    preamble = "sep=,\nDeviceTag:,bottom\nStartTime: ,2025-04-11_11:49:50\n\n"
    dated = "Zeit;Weg [mm]\n" + "".join(f"2026-03-01T12:00:0{k},5;{k},25\n" for k in range(8))
    return [(preamble + "PacketCounter,SampleTimeFine,Acc_X,Acc_Z\n" + rows).encode(), dated.encode("cp1252")]


def strong_motion() -> bytes:
    numbers = [f"{0.1 * k:10.6f}" for k in range(20)]
    lines = "\n".join("".join(numbers[k : k + 8]) for k in range(0, 20, 8))
    head = "Corrected accelerogram\nChan  5:  Tran    (Sta Chn:  7)     Location: Bent 3\n"
    blocks = [f"    20 points of {what} data equally spaced at  .005 sec, in {unit}. (8f10.6)\n{lines}\n"
              for what, unit in (("accel", "cm/sec2"), ("veloc", "cm/sec"))]  # fmt: skip
    return (head + "".join(blocks) + "/&  ---- End of data\n").encode()


def labview_text() -> bytes:
    head = "LabVIEW Measurement\t\nSeparator\tTab\nX_Columns\tOne\n***End_of_Header***\t\t\n\t\n"
    channels = "Channels\t2\t\t\nY_Unit_Label\tN\tm/s^2\t\nDelta_X\t0.01\t0.01\t\n***End_of_Header***\t\t\t\n"
    rows = "".join(f"{0.01 * k:.6f}\t{k}\t{0.5 * k}\t\n" for k in range(8))
    return (head + channels + "X_Value\tF\ta\tComment\n" + rows).encode()


def array_file(packed: bool) -> bytes:
    buffer = io.BytesIO()
    save = np.savez_compressed if packed else np.savez
    save(buffer, time=0.01 * np.arange(20.0), F=np.ones(20), a=np.ones((20, 2), dtype="f4"))
    return buffer.getvalue()


def sound() -> list[bytes]:
    from scipy.io import wavfile

    found = []
    for kind in ("<i2", "<f4", "u1"):
        buffer = io.BytesIO()
        wavfile.write(buffer, 1000, (50 * np.ones((16, 2))).astype(kind))
        found.append(buffer.getvalue())
    return found


def worksheet() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["rig 4"], ["Time (ms)", "Force [N]"], *([k, 0.5 * k] for k in range(8))):
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def labview() -> bytes:
    from nptdms import ChannelObject, TdmsWriter

    buffer = io.BytesIO()
    with TdmsWriter(buffer) as writer:
        about = {"wf_increment": 0.01, "unit_string": "g"}
        writer.write_segment([ChannelObject("rig", name, np.arange(12.0), properties=about) for name in ("a1", "a2")])
    return buffer.getvalue()


def mat73() -> bytes:
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, values in (("t", np.arange(40.0)[None]), ("y", np.ones((2, 40))), ("fs", np.array([[100.0]]))):
            made = file.create_dataset(name, data=values, chunks=values.shape, compression="gzip")
            made.attrs["MATLAB_class"] = np.bytes_("double")
    return buffer.getvalue()


def binary_mesh(name: str, version: str) -> bytes:
    import meshlane

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "m.msh"
        mesh = meshlane.gmsh.read(str(MESHES / name))
        meshlane.gmsh.write(str(path), mesh, version, binary=True)
        return path.read_bytes()


def models(is_json: bool) -> list[bytes]:
    import tomllib

    from dalembert.files.models import library_path, list_models

    texts = [library_path(name).read_bytes() for name in list_models()]
    texts = sorted((text for text in texts if b"[include" not in text), key=len)[:10]
    return [json.dumps(tomllib.loads(text.decode()), indent=1).encode() if is_json else text for text in texts]


def surface(binary: bool) -> bytes:
    from dalembert.files.models.values.mesh_mass import binary_stl

    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    faces = corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    if binary:
        return binary_stl(faces)
    words = ["facet normal 0 0 0\n outer loop\n" + "".join(f"  vertex {x} {y} {z}\n" for x, y, z in face)
             + " endloop\nendfacet\n" for face in faces]  # fmt: skip
    return ("solid tetrahedron\n" + "".join(words) + "endsolid tetrahedron\n").encode()


def sweep_store() -> list[bytes]:
    """Head and lines of a sweep in one text; a line of dashes parts them."""
    from dalembert.sweeps import store

    points = np.arange(6.0).reshape(3, 2)
    head = {"names": ["mass", "length"], "count": 3, "points": store.pack(points), "seed": 1, "trial": "t"}
    lines = [{"index": k, "results": {"f": 1.5 * k, "shape": store.pack(points[k])}} for k in range(2)]
    lines.append({"index": 2, "error": "did not close"})
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    return [(json.dumps({"format": store.FORMAT, **head}, indent=1) + "\n-----\n" + text).encode()]


def modal_files(suffix: str) -> list[bytes]:
    """Modes as they are written, real and complex, and as others write them."""
    from dalembert.files.modal.geometry import Geometry
    from dalembert.linear import Modes

    shapes = np.array([[1.0, -0.5], [0.6, 1.0]])
    places = Geometry({"base": (0.0, 0.0, 0.0), "1+X": (0.0, 0.0, 0.2, "x"), "2+X": (0.0, 0.0, 0.5, "x")},
                      (("base", "1+X"),))  # fmt: skip
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"m{suffix}"
        for turn in (1.0, 0.6 + 0.8j):
            modes = Modes([-0.1 + 12j, -0.3 + 36j], turn * shapes, ["1+X", "2+X"], frequency_deviations_hz=[0.1, 0.2])
            da.write_modes(modes, path, geometry=places if suffix == ".uff" else None)
            found.append(path.read_bytes())
    if suffix == ".csv":
        found.append(b";Mode 1;Mode 2\nf [Hz];2,0;5,8\nzeta [%];3,7;0,8\na1 [mm];0,34;-0,9\nRe(b);1;0\nIm(b);0;1\n")
        found.append(b"mode,f [Hz],damped frequency,zeta,a1 abs,a1 phase [deg]\n1,2.0,2,0.04,1,30\n2,6,5,0.01,1,-20\n")
    return found


def geometries() -> list[bytes]:
    return [
        b"name,x [mm],y [mm],z [mm],direction,to\nground,0,0,0,,a1\na1,0,0,230,x,a2 ground\na2,0,0,510,-x,\n",
        b"name x y z direction\na1 0 0,5 1 x\n",
    ]


def places_toml() -> bytes:
    return b'lines = [["ground", "a1", "a2"]]\n[places]\nground = [0, 0, 0]\na1 = [0, 0.5, 1, "x"]\na2 = [1, 2e-1]\n'


def choices() -> bytes:
    pole = {"order": 4, "frequency_hz": 2.0, "damping_ratio": 0.01}
    files = [{"name": "input.csv", "sha256": "00"}]
    known = {"schema": "dalembert-choice", "version": 1, "inputs": [], "outputs": ["a1"], "sample_time": 0.01}
    diagram = {"method": "subspace", "rows": 20}
    return json.dumps({**known, "poles": [pole], "diagram": diagram, "files": files}, indent=1).encode()


def responses() -> bytes:
    from dalembert.files.records.responses import write_frequency_response

    H = np.linspace(1.0, 2.0, 6)[:, None, None] * np.array([[[1.0, 1j]]])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.uff"
        write_frequency_response(da.linear.FrequencyResponse(np.arange(1.0, 7.0), H, ["1+X", "2+X"], ["3+X"]), path)
        return path.read_bytes()


def strip() -> Any:
    """A strip of two beam elements."""
    from dalembert.structures import Frame, Section

    frame = Frame("strip")
    frame.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0.1, 0.2]])
    frame.add_beam("strip", "root", "tip", section=Section.rectangle(0.004, 0.03), material="steel", elements=2)
    return frame


def bodies(suffix: str) -> bytes:
    how = {"basis": "clamped", "fixed": "root", "modes": 2, "damping": 0.01, "stiffening": True}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"b{suffix}"
        da.write_flexible_body(da.structures.flexible_body(strip(), **how), path)
        return path.read_bytes()


def punch() -> bytes:
    """A superelement of Nastran: two points with all directions each, between commas."""
    structure = da.structures.assemble_structure(strip())
    system = da.structures.craig_bampton(structure.system(), ["root", "tip"], modes=0).system
    order = {way: k + 1 for k, way in enumerate(structure.directions)}
    cells = [name.rpartition(".") for name in system.coordinates]
    rows = [f"{1 if point == 'root' else 2},{order[way]}" for point, _, way in cells]
    places = dict(zip(structure.points, structure.positions, strict=True))
    text = [f"GRID,{k},,{','.join(f'{x:.6g}' for x in places[name])}" for k, name in ((1, "root"), (2, "tip"))]
    for name, matrix in (("KAAX", system.K), ("MAAX", system.M)):
        text.append(f"DMIG,{name},0,6,2,0")
        for j in range(len(rows)):
            for i in range(j, len(rows)):
                text.append(f"DMIG,{name},{rows[j]},,{rows[i]},{matrix[i, j]:.6e}")
    return "\n".join([*text, ""]).encode()


MATRICES = """format = "flexible body matrices"
version = 1
name = "strip"
points = "points.txt"
M = "M.mtx"
K = "K.txt"
nodes = ["root", "tip"]
"""
FULL = 'basis = "clamped"\nfixed = "root"\nmodes = 2\n'
REDUCED = 'shapes = "shapes.csv"\nmasses = "masses.txt"\n'


def matrices() -> list[bytes]:
    """Descriptor, points and matrices in one text, in full and reduced; lines of dashes part them."""
    from scipy.io import mmwrite
    from scipy.sparse import csc_array

    structure = da.structures.assemble_structure(strip())
    reduction = da.structures.craig_bampton(structure.system(), ["root", "tip"], modes=2)
    order = [structure.coordinates.index(name) for name in reduction.full.coordinates]
    shapes = np.zeros((len(structure.coordinates), reduction.T.shape[1]))
    shapes[order] = reduction.T
    masses = structure.mass() * np.array([0.25, 0.25, 0.5])
    points = "\n".join(f"{name}, {x}, {y}, {z}" for name, (x, y, z) in zip(structure.points, structure.positions))

    def bundle(kind: str, M: Any, K: Any, *others: Any) -> bytes:
        buffer = io.BytesIO()
        mmwrite(buffer, csc_array(M), symmetry="symmetric", precision=15)
        texts = [MATRICES + kind, points, buffer.getvalue().decode()]
        for values in (K, *others):
            texts.append("\n".join(" ".join(f"{x:.15g}" for x in row) for row in np.atleast_2d(values)))
        return BREAK.join(texts).encode()

    return [bundle(FULL, structure.M.toarray(), structure.K.toarray()),
            bundle(REDUCED, reduction.system.M, reduction.system.K, shapes, masses[:, None])]  # fmt: skip


BREAK = "\n-----\n"


# ---- how each is read


def read_modal(path: Path) -> None:
    """Modes; and that they are no record where they are read."""
    found = da.read_modes(path)
    repr(found), found.mac()
    da.write_modes(found, path.with_name(f"again{path.suffix}"))


def read_places(path: Path) -> None:
    from dalembert.files.modal.geometry import read_geometry

    read_geometry(path).match(["a1", "2+X"])


def read_table(path: Path) -> None:
    found = da.read_record(path, max_bytes=MAX_BYTES)
    repr(found), found.gaps(), found.parts()


def read_model(path: Path) -> None:
    from dalembert.files.models import parse_model

    parse_model(path.read_bytes(), is_json=path.suffix == ".json")


def read_body(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the file does not hold
        repr(da.read_flexible_body(path, max_bytes=MAX_BYTES))


def read_matrices(path: Path) -> None:
    parts = path.read_bytes().split(BREAK.encode())
    for name, part in zip((path.name, "points.txt", "M.mtx", "K.txt", "shapes.csv", "masses.txt"), parts, strict=False):
        (path.parent / name).write_bytes(part)
    read_body(path)


def read_choices(path: Path) -> None:
    """The file of ``--choice``."""
    from dalembert.app.commands.identify import read_choice_file

    repr(read_choice_file(path, []))


def read_responses(path: Path) -> None:
    from dalembert.files.records.responses import read_frequency_response

    repr(read_frequency_response(path, max_bytes=MAX_BYTES))


def read_surface(path: Path) -> None:
    from dalembert.files.models.values.mesh_mass import mesh_mass

    mesh_mass(path, path.name, 1e-3)


def read_sweep(path: Path) -> None:
    from dalembert.sweeps import store

    head, _, lines = path.read_bytes().partition(b"\n-----\n")
    folder = path.parent / "sweep"
    folder.mkdir(exist_ok=True)
    (folder / store.HEAD).write_bytes(head)
    (folder / store.LINES).write_bytes(lines)
    repr(store.read_sweep(folder))


def read_mesh(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cards that were skipped
        da.structures.read_mesh(path, max_bytes=400_000_000)


def read_robot(path: Path) -> None:
    """A robot, with a mesh beside it that is as it should be."""
    (path.parent / "part.stl").write_bytes(surface(True))
    da.read_model(path)


def read_obj(path: Path) -> None:
    from dalembert.files.robots.mesh_files import read_obj as read

    read(path)


def robots(suffix: str) -> list[bytes]:
    texts = [path.read_bytes() for path in sorted(ROBOTS.glob(f"*{suffix}"))]
    if suffix == ".urdf":
        return [text.replace(b'<sphere radius="0.03"/>', b'<mesh filename="part.stl"/>') for text in texts]
    asset = b'<asset><mesh name="part" file="part.stl"/></asset>'
    more = b'<equality><weld body1="arm" body2="hand"/></equality><actuator><position joint="knee" kp="3"/></actuator>'
    with_mesh = [text.replace(b'<geom size=".05"/>', b'<geom type="mesh" mesh="part"/>') for text in texts]
    return [text.replace(b"</mujoco>", asset + more + b"</mujoco>") for text in with_mesh]


def obj_text() -> bytes:
    corners = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvn 0 0 1\n"
    return corners + b"f 1 3 2\nf 1//1 2//1 4//1\nf -4 -1 -2\nf 2/1 3/1 4\n"


def mesh_texts(*names: str) -> list[bytes]:
    return [(MESHES / name).read_bytes() for name in names]


# suffix, sound files, reader
FORMATS: dict[str, tuple[str, Callable[[], list[bytes]], Callable[[Path], None]]] = {
    "toml": (".toml", lambda: models(False), read_model),
    "json": (".json", lambda: models(True), read_model),
    "csv": (".csv", lambda: [table_text(","), table_text(";"), header_text()], read_table),
    "tsv": (".tsv", lambda: [table_text("\t")], read_table),
    "mat4": (".mat", lambda: [mat("4")], read_table),
    "mat5": (".mat", lambda: [mat("5"), mat("5", more=True)], read_table),
    "mat7": (".mat", lambda: [mat("5", packed=True), mat("5", packed=True, more=True)], read_table),
    "parquet": (".parquet", lambda: [written(".parquet"), other_parquet()], read_table),
    "netcdf": (".nc", lambda: [written(".nc"), other_netcdf()], read_table),
    "logger": (".csv", logger_texts, read_table),
    "mat73": (".mat", lambda: [mat73()], read_table),
    "uff": (".uff", lambda: [written(".uff")], read_table),
    "strong motion": (".v2", lambda: [strong_motion()], read_table),
    "wav": (".wav", sound, read_table),
    "xlsx": (".xlsx", lambda: [worksheet()], read_table),
    "tdms": (".tdms", lambda: [labview()], read_table),
    "lvm": (".lvm", lambda: [labview_text()], read_table),
    "npz": (".npz", lambda: [array_file(False), array_file(True)], read_table),
    "gmsh": (".msh", lambda: [*mesh_texts("brick20.msh", "tet10.msh", "two_cubes_22.msh", "two_cubes_41.msh"),
                              binary_mesh("two_cubes_22.msh", "2.2"), binary_mesh("brick20.msh", "4.0"),
                              binary_mesh("two_cubes_41.msh", "4.1")], read_mesh),
    "abaqus": (".inp", lambda: mesh_texts("brick20.inp", "two_cubes.inp"), read_mesh),
    "nastran": (".bdf", lambda: mesh_texts("brick20.bdf", "left_handed.bdf", "tet10.nas"), read_mesh),
    "stl": (".stl", lambda: [surface(True), surface(False)], read_surface),
    "sweep": (".txt", sweep_store, read_sweep),
    "urdf": (".urdf", lambda: robots(".urdf"), read_robot),
    "mjcf": (".xml", lambda: robots(".xml"), read_robot),
    "obj": (".obj", lambda: [obj_text()], read_obj),
    "modal table": (".csv", lambda: modal_files(".csv"), read_modal),
    "modal json": (".json", lambda: modal_files(".json"), read_modal),
    "modal uff": (".uff", lambda: modal_files(".uff"), read_modal),
    "geometry": (".csv", geometries, read_places),
    "universal geometry": (".uff", lambda: modal_files(".uff"), read_places),
    "geometry toml": (".toml", lambda: [places_toml()], read_places),
    "choice": (".json", lambda: [choices()], read_choices),
    "deep strong motion": (".v2", lambda: [strong_motion()], read_table),
    "frequency responses": (".uff", lambda: [responses()], read_responses),
    "npz body": (".npz", lambda: [bodies(".npz")], read_body),
    "sid body": (".sid_fem", lambda: [bodies(".sid_fem")], read_body),
    "punch body": (".pch", lambda: [punch()], read_body),
    "matrices": (".toml", matrices, read_matrices),
}  # fmt: skip


# ---- mutations

WORDS = [
    b"", b"0", b"-1", b"1e308", b"-1e308", b"1e400", b"nan", b"inf", b"99999999999", b"4294967295", b"2147483647",
    b"1e-320", b"0x10", b"1_000", b",", b";", b"\t", b'"', b"'", b"#", b"*", b"$", b"\n", b"\r", b"\x00", b"\xff",
    b"\x1b[31m",
    b"[]", b"{}", b"null", b"true", b"=1+1", b"[ms]", b"(g)", "µ²".encode(), b"GENERATE", b"\xef\xbb\xbf",
]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
# texts with few numbers: mutations of bytes alone seldom pass the parser
NUMERIC = ("geometry toml", "choice", "frequency responses", "sid body", "matrices", "deep strong motion")
NUMBERS = [0.0, -1.0, 1e308, -1e308, 1e-320, float("nan"), float("inf"), -2147483649.0]
LONG_NUMBERS = [b"9" * 401, b"1" * 5001, b"0.1.2.3", b"7", b"%d" % 2**70]
SIZES = [0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


def mutated(content: bytes, luck: random.Random, is_text: bool) -> bytes:
    out = bytearray(content)
    for _ in range(luck.choice((1, 1, 1, 2, 3, 6))):
        if not out:
            break
        kind = luck.choice((0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9))
        a = luck.randrange(len(out))
        b = min(len(out), a + luck.choice((1, 2, 4, 8, 30)))
        if kind == 0:
            out[a] ^= 1 << luck.randrange(8)
        elif kind == 1:
            out[a] = luck.choice((0, 1, 0x7F, 0x80, 0xFF, luck.randrange(256)))
        elif kind == 2:
            order, size = luck.choice("<>"), luck.choice("IQ")
            number = luck.choice(SIZES) if luck.random() < 0.8 else luck.getrandbits(32)
            out[a : a + struct.calcsize(size)] = struct.pack(order + size, number)
        elif kind == 3:
            del out[a:b]
        elif kind == 4:
            out[b:b] = out[a:b] * luck.choice((1, 1, 5))
        elif kind == 5:
            c = luck.randrange(len(out))
            out[a:b] = out[c : c + luck.choice((1, 4, 16, 40))]
        elif kind == 6:
            del out[a:]
        elif kind == 7 or not is_text:
            out[a:b] = luck.choice(WORDS)
        else:
            numbers = list(NUMBER.finditer(out))
            if numbers:
                place = luck.choice(numbers)
                out[place.start() : place.end()] = luck.choice(WORDS)
    return bytes(out)


@cache
def corpus(name: str) -> list[bytes]:
    return FORMATS[name][1]()


def made(name: str, seed: int) -> bytes:
    """The input of a seed; one below zero has a word of 70 000 letters."""
    luck = random.Random(f"{name} {seed}")
    content = luck.choice(corpus(name))
    if seed < 0:
        place = luck.choice([*re.finditer(rb"[\w.+-]+|$", content)])
        return content[: place.start()] + b"x" * 70_000 + content[place.end() :]
    if name == "mat7" and luck.random() < 0.7:
        return repacked(content, luck)
    if content.startswith(b"PK") and luck.random() < 0.8:
        return rezipped(content, luck)
    if name in NUMERIC and luck.random() < 0.7:
        return renumbered(content, luck)
    return mutated(content, luck, is_text=b"\x00" not in content)


def repacked(content: bytes, luck: random.Random) -> bytes:
    """A MAT-file with one variable mutated inside its packed body, which stays a sound zlib stream."""
    out, start = [content[:128]], 128
    parts = []
    while start < len(content):
        length = struct.unpack("<I", content[start + 4 : start + 8])[0]
        parts.append(zlib.decompress(content[start + 8 : start + 8 + length]))
        start += 8 + length
    chosen = luck.randrange(len(parts))
    for k, part in enumerate(parts):
        packed = zlib.compress(mutated(part, luck, is_text=False) if k == chosen else part)
        out.append(struct.pack("<II", 15, len(packed)) + packed)
    return b"".join(out)


def renumbered(content: bytes, luck: random.Random) -> bytes:
    """A text with one or two of its numbers replaced by others."""
    for _ in range(luck.choice((1, 1, 2))):
        place = luck.choice(list(NUMBER.finditer(content)))
        number = luck.choice((*(b"%.17g" % x for x in NUMBERS), *LONG_NUMBERS))
        content = content[: place.start()] + number + content[place.end() :]
    return content


def rezipped(content: bytes, luck: random.Random) -> bytes:
    """A ZIP file with one entry mutated (text, bytes, or a number of an array), packed again without a fault."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = luck.choice(names)
        for entry in names:
            part = old.read(entry)
            if entry == chosen:
                is_array = part.startswith(b"\x93NUMPY") and len(part) > 128
                if is_array and luck.random() < 0.7:
                    place = 128 + 8 * luck.randrange((len(part) - 128) // 8)
                    part = part[:place] + struct.pack("<d", luck.choice(NUMBERS)) + part[place + 8 :]
                else:
                    part = mutated(part, luck, is_text=not is_array)
            new.writestr(entry, part)
    return buffer.getvalue()


def ending(name: str, seed: int, folder: Path) -> str:
    """How reading the input of a seed ended: "read", "refused", or what went wrong."""
    path = folder / f"input{FORMATS[name][0]}"
    path.write_bytes(made(name, seed))
    try:
        FORMATS[name][2](path)
    except da.errors.DalembertError as error:
        text = str(error)
        if not text or not text.replace("\n", "").replace("\t", "").isprintable():
            return f"a message that is not printable: {text!r:.300}"
        if len(text) > LONGEST:
            return f"a message of {len(text)} characters: {text:.300}"
        return REFUSED
    except BaseException as error:  # whatever comes is what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error!s:.200} ({Path(place.filename).name}:{place.lineno})"
    return READ


def main() -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if len(sys.argv) > 2:
        if len(sys.argv) > 3:
            Path(sys.argv[3]).write_bytes(made(sys.argv[1], int(sys.argv[2])))
        with tempfile.TemporaryDirectory() as scratch:
            print(ending(sys.argv[1], int(sys.argv[2]), Path(scratch)))
        return
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a reader prints is no answer
    folder = Path(tempfile.mkdtemp())
    try:
        for line in sys.stdin:
            name, first, count = line.rsplit(maxsplit=2)
            limit(None)
            corpus(name)
            limit(MEMORY)
            for seed in range(int(first), int(first) + int(count)):
                print(seed, file=answers, flush=True)
                print(ending(name, seed, folder).replace("\n", " "), file=answers, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def limit(memory: int | None) -> None:
    """Bound the address space by what is used now and so much more, or not at all."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (hard if memory is None else used + memory, hard))


if __name__ == "__main__":
    main()
