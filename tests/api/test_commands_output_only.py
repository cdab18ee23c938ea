"""``identify`` without inputs: frequency domain decomposition, set-ups merged by references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from tests.helpers.ambient_chain import ambient, truth
from tests.helpers.commands import document, run
from tests.helpers.commands import error_text as said

OWN = (("m1", "m2"), ("m5", "m6"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("ambient")
    da.write_record(ambient(19_200, sines={13.4: 5.0}), folder / "all.csv")
    for k, own in enumerate(OWN):
        da.write_record(ambient(12_800, seed=k).select("m3", "m8", *own), folder / f"deck-{k + 1}.csv")
    return folder


def test_identify_by_fdd_and_efdd_names_modes_and_harmonics(files: Path) -> None:
    for method in ("fdd", "efdd"):
        found = document("identify", files / "all.csv", "--method", method)
        assert found["method"] == method
        assert len(found["outputs"]) == 8
        modes = [one for one in found["modes"] if one["class"] == "mode"]
        assert modes[0]["frequency_hz"] == pytest.approx(truth().frequencies_hz[0], rel=0.02)
        assert [one["frequency_hz"] for one in found["modes"] if one["class"] != "mode"] == pytest.approx(
            [13.4], abs=0.05
        )
        assert (modes[0]["damping_ratio"] is None) is (method == "fdd")
        assert "machine-harmonic" in [one["code"] for one in found["findings"]]


@pytest.mark.parametrize("method", ["poser", "preger"])
def test_identify_merges_set_ups(files: Path, tmp_path: Path, method: str) -> None:
    decks, out = [files / f"deck-{k + 1}.csv" for k in range(2)], tmp_path / "modes.json"
    found = document("identify", *decks, "--setups", method, "--references", "m3,m8", "--out", out)
    assert found["outputs"] == ["m3", "m8", "m1", "m2", "m5", "m6"]
    assert found["modes"][0]["frequency_hz"] == pytest.approx(truth().frequencies_hz[0], rel=0.02)
    assert json.loads(out.read_text("utf-8"))["modes"] == found["modes"]


def test_identify_writes_a_page_on_set_ups(files: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("identify", files / "deck-1.csv", files / "deck-2.csv", "--setups", "poser", "--report", page)
    assert result.exit_code == 0
    assert "m3, m8" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--method", "fdd", "--order", "4"), "--order"),
        (("--method", "efdd", "--rows", "4"), "--rows"),
        (("--method", "efdd", "--out", "a.npz"), "--out"),
        (("--references", "m3"), "--references"),
        (("--setups", "poser", "--method", "fdd"), "--method"),
        (("--setups", "poser", "--inputs", "m1"), "--inputs"),
        (("--method", "fdd", "--inputs", "m1"), "--inputs"),
    ],
)
def test_options_that_do_not_go_together_are_refused(files: Path, options: tuple[str, ...], hint: str) -> None:
    result = run("identify", files / "all.csv", *options)
    assert result.exit_code == 2
    assert hint in said(result)


def test_set_ups_without_common_channels_are_refused(files: Path) -> None:
    result = run("identify", files / "deck-1.csv", files / "deck-2.csv", "--setups", "preger", "--references", "m9")
    assert result.exit_code == 1
    assert "m9" in said(result)
