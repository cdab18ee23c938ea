"""Matrices in files: what is read, and what is refused before memory is taken for it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from dalembert.core.errors import FileFormatError
from dalembert.files.bodies.matrix_files import read_matrix
from tests.helpers.findings import raises

LARGE = 2**30


def read(path: Path, max_bytes: int = LARGE):
    found = read_matrix(path, path.name, max_bytes)
    return found.toarray() if hasattr(found, "toarray") else found


def test_the_three_formats_give_the_same_numbers(tmp_path: Path):
    A = np.array([[1.5, -2e-3], [-2e-3, 4.0]])
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "f.npy", np.asfortranarray(A))
    (tmp_path / "a.txt").write_text("# by hand\n1.5 -2e-3\n\n-2e-3\t4.0  # last\n")
    (tmp_path / "a.csv").write_text("1.5,-2e-3\n-2e-3, 4.0\n")
    head = "%%MatrixMarket matrix {}\n% remark\n"
    (tmp_path / "s.mtx").write_text(head.format("coordinate real symmetric") + "2 2 3\n1 1 1.5\n2 1 -2e-3\n2 2 4\n")
    (tmp_path / "g.mtx").write_text(head.format("array real general") + "2 2\n1.5\n-2e-3\n-2e-3\n4\n")
    (tmp_path / "h.mtx").write_text(head.format("array real symmetric") + "2 2\n1.5\n-2e-3\n4\n")
    for name in ("a.npy", "f.npy", "a.txt", "a.csv", "s.mtx", "g.mtx", "h.mtx"):
        assert np.array_equal(read(tmp_path / name), A), name


@pytest.mark.parametrize(
    ("text", "code", "line"),
    (
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "not-supported", 1),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n", "not-supported", 1),
        ("1 1 1\n1 1 1\n", "bad-syntax", 1),
        ("%%MatrixMarket matrix coordinate real general\n% remark\n2 two 1\n", "bad-syntax", 3),
        ("%%MatrixMarket matrix coordinate real general\n2 2 999999999\n1 1 1\n", "too-large", 2),
        ("%%MatrixMarket matrix coordinate real general\n99999999999 2 1\n1 1 1\n", "too-large", 2),
        ("%%MatrixMarket matrix array real general\n999999 999999\n1\n", "too-large", 2),
        ("%%MatrixMarket matrix coordinate real general\n2 2 40\n1 1 1\n", "damaged", 2),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0000\n", "damaged", None),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n", "damaged", None),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n", "not-finite", None),
    ),
)
def test_a_bad_matrixmarket_file_is_named(tmp_path: Path, text: str, code: str, line: int | None):
    (tmp_path / "a.mtx").write_text(text)
    with raises(FileFormatError, code, "a.mtx") as caught:
        read(tmp_path / "a.mtx")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "code", "line"),
    (("1 2\n3\n", "ragged-row", 2), ("1 2\n3 x\n", "not-a-number", 2), ("1 nan\n", "not-finite", 1),
     ("# nothing\n", "empty", None)),
)  # fmt: skip
def test_a_bad_text_is_named(tmp_path: Path, text: str, code: str, line: int | None):
    (tmp_path / "a.txt").write_text(text)
    with raises(FileFormatError, code, "a.txt") as caught:
        read(tmp_path / "a.txt")
    assert caught.value.line == line


def test_files_beyond_the_bound_are_refused(tmp_path: Path):
    np.save(tmp_path / "a.npy", np.eye(20))
    np.savetxt(tmp_path / "a.txt", np.eye(20))
    for name in ("a.npy", "a.txt"):
        with raises(FileFormatError, "too-large", name):
            read(tmp_path / name, 1000)
    with raises(FileFormatError, "too-large", "a.txt"):  # 400 numbers of 8 bytes fit, but not those of any such text
        read(tmp_path / "a.txt", 15_000)


def test_bad_numpy_files_are_named(tmp_path: Path):
    np.save(tmp_path / "a.npy", np.eye(3))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:-8])
    with raises(FileFormatError, "damaged", "a.npy"):
        read(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array(["x"]))
    with raises(FileFormatError, "wrong-type", "a.npy"):
        read(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array([None]), allow_pickle=True)
    with raises(FileFormatError, "wrong-type", "a.npy"):
        read(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ("s.mtx", "g.mtx", "a.txt", "a.npy"))
def test_whatever_bytes_are_changed_the_error_is_one_of_files(tmp_path: Path, name: str):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6, 6))
    A = A + A.T
    scipy.io.mmwrite(tmp_path / "s.mtx", scipy.sparse.csc_array(A), symmetry="symmetric")
    scipy.io.mmwrite(tmp_path / "g.mtx", A)
    np.savetxt(tmp_path / "a.txt", A)
    np.save(tmp_path / "a.npy", A)
    assert np.allclose(read(tmp_path / name), A, rtol=1e-12)
    whole = (tmp_path / name).read_bytes()
    for _ in range(150):
        content = bytearray(whole)
        at = int(rng.integers(min(len(content), int(rng.choice([100, 10**6])))))
        new = rng.choice([b"", b"-1", b"99999", b"999999999999", b"\xff", b"nan", b"1 1"])
        content[at : at + int(rng.integers(0, 20))] = new
        (tmp_path / name).write_bytes(bytes(content))
        with contextlib.suppress(FileFormatError):
            read(tmp_path / name, 2**26)
