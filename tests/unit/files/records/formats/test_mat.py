"""MAT-files read by the package's own reader: the same numbers as SciPy's, and no trust in what a file declares."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat

import dalembert as da
from dalembert.core.errors import FileFormatError
from dalembert.files.records.formats.mat import read_into, variables
from tests.helpers.findings import raises
from tests.helpers.mat_files import CODES, version_5

TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?"]
SLICOT = Path(__file__).parents[4] / "data" / "slicot"


def arrays_of(path: Path) -> dict[str, Any]:
    found = {}
    for variable in variables(path, 10**8):
        target = np.empty(variable.shape[::-1])
        read_into(path, variable, target)
        found[variable.name] = target.T
    return found


def assert_as_scipy(path: Path) -> None:
    expected = loadmat(path, spmatrix=False)
    found = arrays_of(path)
    for fields in [v for v in expected.values() if isinstance(v, np.ndarray) and v.dtype.names and v.size == 1]:
        expected = {**expected, **{name: fields[name].item() for name in fields.dtype.names}}
    numeric = [n for n, v in expected.items() if isinstance(v, np.ndarray) and v.dtype.kind in "fiubc" and v.size]
    assert sorted(found) == sorted(numeric)
    for name, value in found.items():
        assert np.array_equal(value, expected[name].real.astype(float)), name


def mixed() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    made: dict[str, Any] = {f"{kind.replace('?', 'bool')}_m": (100 * rng.random((4, 3))).astype(kind) for kind in TYPES}
    made |= {
        "one": 1.5,
        "small": np.array([[1, 2, 3]], dtype="i1"),
        "z": np.ones((2, 2)) + 2j,
        "none": np.empty((0, 3)),
    }
    made |= {"text": "hello", "cell": np.array([1, "a"], dtype=object), "deep": {"a": 1.0, "b": np.ones(3)}}
    return made | {"cube": rng.random((2, 3, 4)), "last": rng.random((5, 1))}


@pytest.mark.parametrize("compressed", [False, True])
def test_version_5_files_give_the_same_numbers_as_scipy(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "m.mat"
    savemat(path, mixed(), do_compression=compressed)
    assert_as_scipy(path)


def test_version_4_files_give_the_same_numbers_as_scipy(tmp_path: Path) -> None:
    path = tmp_path / "m.mat"
    made = {name: value for name, value in mixed().items() if np.ndim(value) == 2 and name != "none"}
    savemat(path, {**made, "text": "hello"}, format="4")
    assert_as_scipy(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", list(CODES))
def test_both_byte_orders_and_all_types_are_read(tmp_path: Path, order: str, packed: bool, kind: str) -> None:
    path = tmp_path / "m.mat"
    long = np.arange(12).reshape(4, 3).astype(kind)
    path.write_bytes(version_5(order, {"x": long, "tiny": long[:1, 1:2]}, packed=packed))
    found = arrays_of(path)
    assert np.array_equal(found["x"], long) and np.array_equal(found["tiny"], [[1]])
    if np.dtype(kind).itemsize > 1 or order == "<":
        assert_as_scipy(path)


def test_version_4_of_another_byte_order_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.mat"
    values = np.arange(6.0).reshape(2, 3)
    path.write_bytes(struct.pack(">5i", 1000, 2, 3, 0, 2) + b"x\0" + values.astype(">f8").tobytes(order="F"))
    assert np.array_equal(arrays_of(path)["x"], values)
    assert_as_scipy(path)


@pytest.mark.parametrize("name", ["build", "CDplayer"])
def test_files_of_matlab_give_the_same_numbers_as_scipy(name: str) -> None:
    path = SLICOT / f"{name}.mat"
    expected = {k: v for k, v in loadmat(path, spmatrix=False).items() if isinstance(v, np.ndarray)}
    assert all(np.array_equal(value, expected[k]) for k, value in arrays_of(path).items())


def test_a_complex_channel_is_left_out_and_said(tmp_path: Path) -> None:
    t = np.arange(4.0)
    savemat(tmp_path / "m.mat", {"time": t, "x": t, "z": t + 1j})
    record = da.read_record(tmp_path / "m.mat")
    assert record.names == ("x",) and record.provenance["left out"] == ["'z' is complex"]


def test_matrices_either_way_become_channels(tmp_path: Path) -> None:
    t = np.arange(7.0)
    tall = np.random.default_rng(2).random((7, 3))
    savemat(tmp_path / "m.mat", {"time": t, "tall": tall, "wide": tall.T})
    record = da.read_record(tmp_path / "m.mat")
    assert record.names == ("tall1", "tall2", "tall3", "wide1", "wide2", "wide3")
    assert np.array_equal(record.data[:, :3], tall) and np.array_equal(record.data[:, 3:], tall)


def test_a_changed_byte_gives_a_record_or_a_format_error(tmp_path: Path) -> None:
    """Byte 145 set to 255 ended the process when SciPy read the file."""
    path = tmp_path / "k.mat"
    t = np.arange(10.0)
    savemat(path, {"time": t, "x": t})
    whole = path.read_bytes()
    for place in (*range(120, 220), 232, 240, 300):
        for value in (0x00, 0x0F, 0x80, 0xFF):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                assert len(da.read_record(path)) == 10
            except FileFormatError as error:
                assert str(error)


@pytest.mark.parametrize("format", ["4", "5"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_cut_off_anywhere_is_refused_or_lacks_its_last_variables(
    tmp_path: Path, format: str, compressed: bool
) -> None:
    path = tmp_path / "k.mat"
    buffer = io.BytesIO()
    savemat(buffer, {"time": np.arange(5.0), "x": np.ones(5)}, format=format, do_compression=compressed)
    whole = buffer.getvalue()
    for end in range(1, len(whole), 3):
        path.write_bytes(whole[:end])
        with pytest.raises(FileFormatError):
            da.read_record(path)


@pytest.mark.parametrize(
    ("wrong", "finding"),
    [
        (lambda b: b[:132] + struct.pack("<I", 0x7FFFFFFF) + b[136:], ("damaged",)),
        (lambda b: b[:160] + struct.pack("<i", -5) + b[164:], ("damaged",)),
        (lambda b: b[:160] + struct.pack("<i", 2**30) + b[164:], ("damaged",)),
        (lambda b: b + b[128:], ("taken-name", "'time'")),
        (lambda b: b[:124] + b"\x00\x02" + b[126:], ("damaged",)),
    ],
)
def test_lengths_and_names_that_cannot_be_are_refused(tmp_path: Path, wrong: Any, finding: tuple[str, ...]) -> None:
    path = tmp_path / "k.mat"
    path.write_bytes(wrong(version_5("<", {"time": np.arange(5.0)[:, None], "x": np.ones((5, 1))})))
    with raises(FileFormatError, *finding):
        da.read_record(path)


def test_vectors_and_matrices_of_a_mat_file_become_channels(tmp_path: Path) -> None:
    path = tmp_path / "test.mat"
    t = np.arange(5) * 0.01
    savemat(path, {"time": t, "force": t**2, "y": np.column_stack([t, -t]), "fs": 100.0, "label": "run 3"})
    found = da.read_record(path)
    assert found.names == ("force", "y1", "y2")
    assert np.array_equal(found["y2"], -t) and np.array_equal(found.time, t)
    replaced = da.read_record(path, dt=0.02)
    assert replaced.names == found.names and replaced.sample_time == pytest.approx(0.02)
    savemat(path, {"force": t**2})
    assert da.read_record(path, dt=0.01)["force"].tolist() == (t**2).tolist()


def test_mat_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    path = tmp_path / "test.mat"
    savemat(path, {"force": np.arange(4.0)})
    with raises(FileFormatError, "no-time"):
        da.read_record(path)
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(200))
    with raises(FileFormatError, "damaged"):
        da.read_record(path)
    path.write_bytes(bytes(range(256)) * 4)
    with raises(FileFormatError, "damaged"):
        da.read_record(path)
    with raises(FileFormatError, "not-supported"):
        da.write_record(da.Record([0.0, 1.0], [[1.0], [2.0]], ["x"]), path)
