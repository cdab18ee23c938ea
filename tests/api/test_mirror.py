"""Unit tests stand where the module stands that they test."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "dalembert"


def test_every_file_of_unit_tests_has_the_path_of_a_module_or_folder() -> None:
    lost = []
    for file in (TESTS / "unit").rglob("test_*.py"):
        place = SOURCE / file.parent.relative_to(TESTS / "unit") / file.stem.removeprefix("test_")
        if not (place.is_dir() or place.with_suffix(".py").exists()):
            lost.append(str(file.relative_to(TESTS)))
    assert lost == []
