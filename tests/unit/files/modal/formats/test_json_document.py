"""Modal data as JSON: documents of the commands, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises

MODE: dict[str, Any] = {"frequency_hz": 2.0, "damping_ratio": 0.03, "shape": [1.0, 0.5]}


def write(folder: Path, document: Any) -> Path:
    path = folder / "m.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def test_a_document_of_identify_is_read_with_classes_and_deviations(tmp_path: Path) -> None:
    mode = MODE | {"frequency_deviation_hz": 0.01, "damping_deviation": None, "class": "sound", "reasons": [],
                   "shape": [{"real": 1.0, "imag": 0.1}, 0.5]}  # fmt: skip
    document = {"method": "n4sid", "outputs": ["a1", "a2"], "modes": [mode], "matrices": {}}
    found = da.read_modes(write(tmp_path, document))
    assert found.coordinates == ("a1", "a2") and found.provenance["classes"] == ["sound"]
    np.testing.assert_array_equal(found.shapes, [[1 + 0.1j], [0.5]])
    np.testing.assert_array_equal(found.frequency_deviations_hz, [0.01])
    assert found.damping_deviations is None


BROKEN: dict[str, tuple[Any, str]] = {
    "no JSON": ('{"modes": [\n1,\n', "bad-syntax"),
    "deep": ("[" * 100_000, "bad-syntax"),
    "another document": ({"bodies": {}}, "not-modes"),
    "no modes": ({"coordinates": ["a"], "modes": []}, "not-modes"),
    "no names": ({"modes": [MODE]}, "missing-argument"),
    "names that are numbers": ({"coordinates": [1, 2], "modes": [MODE]}, "missing-argument"),
    "names twice": ({"coordinates": ["a", "a"], "modes": [MODE]}, "taken-name"),
    "a short shape": ({"coordinates": ["a", "b", "c"], "modes": [MODE]}, "wrong-shape"),
    "an unknown key": ({"coordinates": ["a", "b"], "modes": [MODE | {"frequency": 3}]}, "unknown-argument"),
    "a mode that is a number": ({"coordinates": ["a", "b"], "modes": [MODE, 3]}, "wrong-type"),
    "a text as number": ({"coordinates": ["a", "b"], "modes": [MODE | {"shape": ["up", 1]}]}, "not-a-number"),
    "a huge number": ({"coordinates": ["a", "b"], "modes": [MODE | {"frequency_hz": 10**400}]}, "not-finite"),
    "an infinite number": ('{"coordinates": ["a"], "modes": [{"frequency_hz": 1, "shape": [Infinity]}]}', "not-finite"),
    "damping beyond 1": ({"coordinates": ["a", "b"], "modes": [MODE | {"damping_ratio": 3.0}]}, "out-of-range"),
    "damping of some": ({"coordinates": ["a", "b"], "modes": [MODE, MODE | {"damping_ratio": None}]}, "not-finite"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_documents_are_refused_with_their_code(tmp_path: Path, kind: str) -> None:
    document, code = BROKEN[kind]
    with raises(da.errors.FileFormatError, code, "m.json") as caught:
        da.read_modes(write(tmp_path, document))
    if kind == "no JSON":
        assert caught.value.line == 3
