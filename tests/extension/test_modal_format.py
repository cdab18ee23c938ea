"""A format of modal data of another package: a frequency and a shape a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.modal.format import MODAL_FORMATS
from tests.helpers.commands import document
from tests.helpers.findings import raises
from tests.helpers.packages import install

LINES = """
import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.modal.format import MODAL_FORMATS, ModalFormat
from dalembert.linear import Modes


def read(path, max_bytes):
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            rows.append([float(cell) for cell in line.split()])
        except ValueError:
            raise FileFormatError("not-a-number", f"{line!r} are no numbers.", line=number) from None
    table = np.array(rows)
    return Modes(2j * np.pi * table[:, 0], table[:, 1:].T)


def write(modes, path, geometry):
    rows = np.column_stack([modes.frequencies_hz, modes.shapes.T])
    path.write_text("".join(" ".join(map(repr, row)) + "\\n" for row in rows.tolist()), encoding="utf-8")


MODAL_FORMATS.register("lines", ModalFormat((".lines",), read, write))
"""


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "site").mkdir()
    install(tmp_path / "site", "guest_modes", LINES, "dalembert.modal_formats")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    __import__("guest_modes")
    yield tmp_path
    MODAL_FORMATS.unregister("lines")
    del sys.modules["guest_modes"]


def test_a_modal_format_of_another_package_is_read_and_written(guest: Path) -> None:
    modes = da.linear.Modes([2j, 5j], [[1.0, 1.0], [0.5, -2.0]])
    da.write_modes(modes, guest / "m.lines")
    found = da.read_modes(guest / "m.lines")
    np.testing.assert_array_equal(found.shapes, modes.shapes)
    (guest / "m.lines").write_text("2 1\nup\n")
    with raises(da.errors.FileFormatError, "not-a-number", "m.lines:2"):
        da.read_modes(guest / "m.lines")
    (guest / "m.lines").write_text("2 1 0.5\n5 1 -2\n")
    assert [one["frequency_hz"] for one in document("modes", guest / "m.lines")["modes"]] == [2.0, 5.0]
