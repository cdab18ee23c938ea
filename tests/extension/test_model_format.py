"""A format of models of another package: pendulums, one length a line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dalembert as da
from dalembert.app.command_line.model_options import complete_model
from dalembert.files.models.format import MODEL_FORMATS, model_suffixes
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

PENDULUMS = """
from dalembert.core.errors import FileFormatError
from dalembert.files.models.format import MODEL_FORMATS, ModelFormat, ReadingOption


def read(path, shown, *, heavy=False):
    from dalembert.model import Mechanism

    m = Mechanism(path.stem, planar=True)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            length = float(line)
        except ValueError:
            raise FileFormatError("not-a-number", f"{line!r} is no length.", path=shown, line=number) from None
        body = m.add_body(f"bob{number}", mass=10.0 if heavy else 1.0, inertia=0.01)
        m.add_revolute(f"A{number}", m.ground.at(number, 0), body.at(0, length))
    return m


HEAVY = ReadingOption("heavy", "flag", "bobs of ten kilograms")
MODEL_FORMATS.register("pendulums", ModelFormat((".pendulums",), read, (HEAVY,)))
"""


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "site").mkdir()
    install(tmp_path / "site", "guest_pendulums", PENDULUMS, "dalembert.model_formats")
    (tmp_path / "pair.pendulums").write_text("0.5\n0.7\n")
    return tmp_path


@pytest.fixture
def loaded(guest: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(guest / "site"))
    __import__("guest_pendulums")
    yield guest
    MODEL_FORMATS.unregister("pendulums")
    del sys.modules["guest_pendulums"]


def test_a_model_of_another_format_is_read_with_its_options(loaded: Path) -> None:
    path = loaded / "pair.pendulums"
    assert [float(body.mass) for body in da.read_model(path, heavy="yes").bodies] == [10.0, 10.0]
    assert ".pendulums" in model_suffixes() and str(path) in complete_model(f"{loaded}/")
    with raises(da.errors.FileFormatError, "unknown-argument", "heavy"):
        da.read_model(path, base="free")
    with raises(da.errors.FileFormatError, "unknown-choice"):
        da.read_model(path, heavy="perhaps")


@pytest.mark.slow
def test_commands_take_it(guest: Path) -> None:
    found = dalembert(guest / "site", "modes", guest / "pair.pendulums", "--json")
    assert found.returncode == 0 and '"modes"' in found.stdout, found.stderr
    (guest / "pair.pendulums").write_text("0.5\nlong\n")
    found = dalembert(guest / "site", "modes", guest / "pair.pendulums")
    assert found.returncode != 0 and "pair.pendulums:2" in found.stderr
