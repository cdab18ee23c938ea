"""Universal files: time responses and frequency responses, there and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from dalembert.files import read_frequency_response, write_frequency_response
from dalembert.linear import FrequencyResponse
from tests.helpers.findings import raises

RNG = np.random.default_rng(5)


def test_time_responses_come_back_with_thirteen_digits(tmp_path: Path) -> None:
    record = da.Record(0.002 * np.arange(50), RNG.normal(size=(50, 2)), ["force", "tip"], ["N", "m/s^2"])
    da.write_record(record, tmp_path / "r.uff")
    back = da.read_record(tmp_path / "r.uff")
    assert back.names == record.names and back.units == record.units
    np.testing.assert_allclose(back.data, record.data, rtol=1e-12, atol=0)  # E20.12
    np.testing.assert_allclose(back.time, record.time, rtol=1e-5, atol=0)  # step in E13.5


def test_frequency_responses_come_back(tmp_path: Path) -> None:
    values = RNG.normal(size=(8, 2, 1)) + 1j * RNG.normal(size=(8, 2, 1))
    units = {"a": "m", "b": "m"}
    made = FrequencyResponse(2 * np.pi * np.arange(1, 9), values, ["f"], ["a", "b"], output_units=units,
                             input_units={"f": "N"})  # fmt: skip
    write_frequency_response(made, tmp_path / "r.unv")
    back = read_frequency_response(tmp_path / "r.unv")
    assert (back.inputs, back.outputs, back.kind) == (("f",), ("a", "b"), "receptance")
    np.testing.assert_allclose(back.values, values, rtol=1e-12, atol=0)
    with raises(FileFormatError, "not-supported", "read_frequency_response"):
        da.read_record(tmp_path / "r.unv")


def data_set(kind: int, numbers: int, body: bytes, *, first: str = "") -> bytes:
    head = f"    -1\n    58{first}\nsome title\nNONE\nNONE\nNONE\nNONE\n"
    head += f"{kind:5d}{0:10d}{0:5d}{0:10d} {'part':10s}{12:10d}{-3:4d} {'NONE':10s}{3:10d}{1:4d}\n"
    head += f"{numbers:10d}{4:10d}{1:10d}{0.0:13.5E}{0.5:13.5E}{0.0:13.5E}\n"
    for quantity, unit in ((17, "s"), (12, "g"), (13, "N"), (0, "")):
        head += f"{quantity:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {unit:20s}\n"
    return head.encode() + body + b"    -1\n"


def test_binary_sets_and_touching_numbers_are_read_in_si(tmp_path: Path) -> None:
    values = np.array([1.0, -2.0, 3.0, 4.0])
    path = tmp_path / "r.uff"
    first = "b     2     2          11          32     0     0           0           0"  # big-endian, IEEE 754
    path.write_bytes(data_set(1, 4, values.astype(">f8").tobytes() + b"\n", first=first))
    np.testing.assert_allclose(da.read_record(path).data[:, 0], 9.80665 * values, rtol=1e-15)
    text = "".join(f"{x:13.5E}" for x in (1.0, -2.5, 3.0, -4.0)) + "\n"
    path.write_bytes(data_set(4, 5, (text + text).encode()))
    found = read_frequency_response(path)
    assert found.outputs == ("part.12-Z",) and found.inputs == ("3+X",) and found.kind == "accelerance"
    np.testing.assert_allclose(found.values[:, 0, 0] / 9.80665, [1 - 2.5j, 3 - 4j] * 2, rtol=1e-14)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ((b"         4         4", b"      four         4"), "bad-syntax"),
        ((b"         4         4", b"         4    999999"), "damaged"),
        ((b"         4         4", b"         9         4"), "not-supported"),
        ((b"2.000000000000E+00", b"two ..............."), "not-a-number"),
        ((b"    58\n", b"    15\n"), "not-supported"),
    ],
)
def test_damaged_universal_files_are_refused(tmp_path: Path, change: tuple[bytes, bytes], code: str) -> None:
    record = da.Record([0.0, 0.5, 1.0, 1.5], [[1.0], [2.0], [3.0], [4.0]], ["a"])
    da.write_record(record, tmp_path / "r.uff")
    content = (tmp_path / "r.uff").read_bytes()
    assert change[0] in content
    (tmp_path / "r.uff").write_bytes(content.replace(*change))
    with raises(FileFormatError, code):
        da.read_record(tmp_path / "r.uff")


def test_a_file_without_functions_names_its_data_sets(tmp_path: Path) -> None:
    mesh = f"{-1:6d}\n{2411:6d}\n{1:10d}{0:10d}{0:10d}{11:10d}\n{0.0:25.16E}{0.0:25.16E}{0.0:25.16E}\n{-1:6d}\n"
    trace = f"{-1:6d}\n{82:6d}\n{1:10d}{1:10d}{1:10d}\nNONE\n{1:10d}\n{-1:6d}\n"
    (tmp_path / "mesh.unv").write_text(mesh + trace, encoding="ascii")
    with raises(FileFormatError, "not-supported", "nodes (set 2411), trace lines (set 82)"):
        da.read_record(tmp_path / "mesh.unv")
    (tmp_path / "empty.uff").write_text("nothing\n", encoding="ascii")
    with raises(FileFormatError, "not-supported", "no data set"):
        da.read_record(tmp_path / "empty.uff")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_units_are_read_in_either_encoding(tmp_path: Path, encoding: str) -> None:
    record = da.Record(0.002 * np.arange(50), RNG.normal(size=(50, 1)), ["tip"], ["m/s^2"])
    da.write_record(record, tmp_path / "r.uff")
    text = (tmp_path / "r.uff").read_text(encoding="ascii").replace("m/s^2 ", "m/s²  ").replace("tip", "Flügel")
    (tmp_path / "r.uff").write_text(text, encoding=encoding)
    back = da.read_record(tmp_path / "r.uff")
    assert back.units == {"Flügel": "m/s²"}
