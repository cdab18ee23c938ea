"""Kinds by name: lookup, order, built-in files, entry points."""

from __future__ import annotations

import importlib
import sys

import pytest

from dalembert.core.errors import DataError, ModelError, ModelWarning
from dalembert.core.registry import Registry
from tests.helpers.findings import raises, warns


def package(folder, name: str, **files: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("from dalembert.core.registry import Registry\n")
    for file, source in files.items():
        (folder / name / f"{file}.py").write_text(source)


def entry_point(folder, name: str, group: str, source: str) -> None:
    (folder / f"{name}.py").write_text(source)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\nguest = {name}\n")


@pytest.fixture
def shapes(tmp_path, monkeypatch):
    """A registry with two built-in shapes, whose package can also be found by entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))
    register = "from shapes_of_test import SHAPES\nSHAPES.register({name!r}, {value})\n"
    built_in = {name: register.format(name=name, value=value) for name, value in (("ball", 3), ("disc", 2))}
    package(tmp_path, "shapes_of_test", **built_in)
    home = tmp_path / "shapes_of_test" / "__init__.py"
    home.write_text(
        home.read_text() + "SHAPES = Registry('shape', package='shapes_of_test', group='shapes_of_test.kinds')\n"
    )
    import shapes_of_test

    yield tmp_path, register, shapes_of_test.SHAPES
    for name in [name for name in sys.modules if name.endswith("_of_test") or name.startswith("shapes_of_test.")]:
        del sys.modules[name]


def test_files_of_the_package_are_imported_at_the_first_lookup(shapes):
    _, _, registry = shapes
    assert "shapes_of_test.ball" not in sys.modules
    assert registry["disc"] == 2
    assert list(registry.items()) == [("ball", 3), ("disc", 2)] and len(registry) == 2


def test_the_order_does_not_depend_on_the_file_imported_first(shapes):
    _, _, registry = shapes
    importlib.import_module("shapes_of_test.ball")
    registry.register("apple", 7)
    assert list(registry) == ["ball", "disc", "apple"]


def test_kinds_of_entry_points_stand_after_the_built_in_ones(shapes):
    folder, register, registry = shapes
    entry_point(folder, "guest_of_test", "shapes_of_test.kinds", register.format(name="apple", value=7))
    assert list(registry) == ["ball", "disc", "apple"] and registry["apple"] == 7


def test_an_entry_point_that_does_not_load_is_a_warning_and_the_others_work(shapes):
    folder, _, registry = shapes
    entry_point(folder, "broken_of_test", "shapes_of_test.kinds", "import no_such_module_anywhere\n")
    with warns(ModelWarning, "kind-not-loaded", "guest", "broken_of_test", "no_such_module_anywhere"):
        assert registry["ball"] == 3


def test_another_module_cannot_take_a_name_and_the_same_one_can_change_it(shapes):
    _, _, registry = shapes
    with raises(ModelError, "taken-name", "shapes_of_test.ball", "'ball'"):
        registry.register("ball", 8)
    registry.register("own", 1)
    registry.register("own", 2)
    assert registry["own"] == 2
    registry.unregister("own")
    assert "own" not in registry and registry.get("own", 5) == 5


def test_an_unknown_name_raises_the_error_of_the_registry_with_the_nearest_name():
    registry: Registry[int] = Registry("filter", error=DataError)
    registry.register("kalman", 1)
    with raises(DataError, "unknown-name", "filter", "'kalmann'", "kalman"):
        registry["kalmann"]


def test_an_order_sorts_the_kinds():
    registry: Registry[int] = Registry("number", order=lambda kind: -kind)
    for value in (1, 3, 2):
        registry.register(str(value), value)
    assert list(registry) == ["3", "2", "1"] and list(registry.values()) == [3, 2, 1]
