"""The command that shows and converts data of flexible bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da
from tests.helpers.body_files import assert_same, full_link
from tests.helpers.commands import document, error_text, run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    da.write_flexible_body(full_link(), tmp_path / "link.npz")
    return tmp_path / "link.npz"


def test_it_shows_nodes_modes_and_checks(file: Path):
    shown = run("body", file)
    assert shown.exit_code == 0
    assert all(word in shown.stdout for word in ("link", "root", "bend", "tip", "Hz", "mass [kg]", "yes"))


def test_the_document_has_the_numbers(file: Path):
    found, data = document("body", file), full_link()
    assert found["mass"] == data.mass and found["reference"] == "attached"
    assert found["nodes"]["tip"] == [0.5, 0.2, 0.3] and found["gauges"] == {"foot": "strain", "arm": "curvature"}
    assert [mode["frequency_hz"] for mode in found["modes"]] == pytest.approx(list(data.frequencies_hz), rel=1e-9)
    assert [mode["damping_ratio"] for mode in found["modes"]] == pytest.approx([0.01] * 4, rel=1e-9)
    assert {"what": "mass [kg]", "value": "0.65035", "expected": "0.65035", "sound": True} in found["checks"]


def test_it_converts_draws_and_reports(file: Path):
    starts = {"copy.npz": b"PK", "link.SID_FEM": b"    3", "modes.png": b"\x89PNG", "page.html": b"<"}
    for name, start in starts.items():
        out = file.with_name(name)
        assert document("body", file, "--out", out)["files"] == [str(out)]
        assert out.read_bytes().startswith(start)
    assert_same(da.read_flexible_body(file.with_name("copy.npz")), full_link())


def test_mistakes_end_with_a_code_and_words(file: Path):
    lost = run("body", file.with_name("lnk.npz"))
    assert lost.exit_code == 2 and "link.npz" in error_text(lost)
    wrong = run("body", file, "--out", file.with_name("link.mnf"))
    assert wrong.exit_code == 2 and ".npz" in error_text(wrong)
