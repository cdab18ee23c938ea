"""Flexible bodies in model files: from data files and as beams, written and read again, and mistakes by their line."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models import ModelFileError, parse_model
from dalembert.structures import Beam, Frame, Material, Section, flexible_body
from tests.helpers.body_files import assert_same, bent_link, full_link
from tests.helpers.findings import raises
from tests.helpers.same_equations import difference

PENDULUM = """planar = true

[bodies.rod]
angle = "-30 deg"
[bodies.rod.beam]
length = "0.4 m"
radius = "4 mm"
material = "steel"
modes = 2
ends = ["clamped", "free"]

[joints.hinge]
type = "revolute"
a = "ground"
b = "rod.start"

[sensors.tip]
type = "deflection"
point = "rod.end"
"""
LINK = """[bodies.link]
flexible = "link.npz"
position = [0, 0, 1]
damping = "wear"

[parameters]
wear = 2

[joints.foot]
type = "revolute"
a = "ground"
b = { body = "link", point = "root", axis = [0, 1, 0] }

[forces.push]
type = "force"
point = "link.tip"
force = [1, 0, 0]

[sensors.foot-strain]
type = "strain"
body = "link"
gauge = "foot"

[start]
velocity = { "link.mode1.rate" = 0.1 }
guess = { "link.mode2" = 1e-3 }
"""
SPATIAL_BEAM = """[bodies.rod.beam]
length = 0.5
height = "4 mm"
width = "30 mm"
E = "70 GPa"
density = 2700
modes = 3
elements = 10
nodes = { middle = "20 cm" }
gauges = { root = { x = 0.25, y = "2 mm" }, bend = { x = 0.1, quantity = "curvature" } }
damping = 0.01
stiffening = true

[joints.foot]
type = "fixed"
a = "ground"
b = "rod.start"
"""


def test_a_beam_with_given_ends_is_the_continuous_beam():
    m = parse_model(PENDULUM)
    made = flexible_body(
        Beam(0.4, Section.circle(0.008).without_shear(), "steel", left="clamped", right="free"), name="rod", modes=2,
        nodes={"start": 0.0, "end": 0.4},
    )  # fmt: skip
    assert_same(m["rod"].flexible, made)
    assert m["rod"].angle == pytest.approx(-np.pi / 6) and m.problems() == []


@pytest.mark.parametrize("planar", [True, False])
def test_a_beam_without_ends_is_reduced_to_its_nodes(planar: bool):
    text = SPATIAL_BEAM if not planar else f"planar = true\n{SPATIAL_BEAM}"
    data = parse_model(text)["rod"].flexible
    frame = Frame("rod", planar=planar)
    frame.add_points(["start", "middle", "end"], [[x, 0.0] if planar else [x, 0.0, 0.0] for x in (0.0, 0.2, 0.5)])
    section = Section.rectangle(0.004, 0.03).without_shear()
    stuff = Material("beam", E=70e9, density=2700.0)
    frame.add_beam("one", "start", "middle", section=section, material=stuff, elements=4)
    frame.add_beam("two", "middle", "end", section=section, material=stuff, elements=6)
    made = flexible_body(frame, basis="craig-bampton", interfaces=["start", "end"], modes=3, damping=0.01)
    assert np.allclose(data.stiffness, made.stiffness, rtol=1e-9, atol=1e-9 * made.stiffness.max())
    assert np.allclose(data.damping, made.damping, rtol=1e-9, atol=1e-9 * made.damping.max())
    assert [node.name for node in data.nodes] == ["start", "end", "middle"]
    assert [(one.name, one.quantity) for one in data.gauges] == [("root", "strain"), ("bend", "curvature")]
    assert data.stiffening is not None and (not planar or data.out_of_plane_modes() == [])


def test_a_gauge_stands_where_its_distance_from_the_start_is():
    """Curvature of a beam under static shapes is linear between the ends: three gauges across a node are on a line."""
    beam = PENDULUM.replace('ends = ["clamped", "free"]', "nodes = { middle = 0.2 }\ngauges = { GAUGES }").replace(
        "modes = 2", "modes = 1"
    )
    gauges = ", ".join(f'g{k} = {{ x = {x}, quantity = "curvature" }}' for k, x in enumerate((0.05, 0.15, 0.25, 0.35)))
    data = parse_model(beam.replace("GAUGES", gauges))["rod"].flexible
    # bending modes of a beam held at both ends are smooth: no jump of curvature at the node between g1 and g2
    rows = np.array([gauge.row for gauge in data.gauges])
    steps = np.abs(np.diff(rows, axis=0))
    assert np.all(steps[1] <= 1.5 * np.maximum(steps[0], steps[2]) + 1e-9)


def test_the_pendulum_swings_and_its_tip_bends():
    m = parse_model(PENDULUM)
    eqs = da.equations(m)
    run = da.simulate(eqs, until=0.2, start=da.assemble(eqs, {"hinge.angle": 0.0}))
    assert 1e-6 < np.abs(run["tip.y"]).max() < 1e-2
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-6 * np.ptp(run["energy.kinetic"])


# -- data files ------------------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    da.write_flexible_body(full_link(), tmp_path / "link.npz")
    (tmp_path / "machine.toml").write_text(LINK)
    return tmp_path


def test_a_data_file_makes_a_body_with_its_nodes_as_points(folder: Path):
    m = da.read_model(folder / "machine.toml")
    link = m["link"]
    assert_same(link.flexible, full_link())
    assert list(link.points) == ["root", "bend", "tip"] and link.position == (0, 0, 1)
    assert float(link.damping) == 2.0 and "wear" in da.equations(m).parameters.names
    assert m.start["velocity"] == {"link.mode1.rate": 0.1}


def test_bodies_of_one_file_share_their_data(folder: Path):
    text = '[bodies.a]\nflexible = "link.npz"\n[bodies.b]\nflexible = "./link.npz"\n'
    joints = "".join(f'[joints.{k}]\ntype = "fixed"\na = "ground"\nb = "{k}.root"\n' for k in "ab")
    (folder / "two.toml").write_text(
        text + joints.replace("[joints.a]", "[joints.ja]").replace("[joints.b]", "[joints.jb]")
    )
    m = da.read_model(folder / "two.toml")
    assert m["a"].flexible is m["b"].flexible
    da.write_model(m, folder / "copy.toml")
    assert sorted(one.name for one in folder.glob("copy*")) == ["copy-1.npz", "copy.toml"]


def test_an_included_file_finds_its_data_beside_itself(folder: Path):
    (folder / "parts").mkdir()
    for name in ("machine.toml", "link.npz"):
        (folder / name).rename(folder / "parts" / name)
    (folder / "outer.toml").write_text('[include.left]\nfile = "parts/machine.toml"\n')
    assert da.read_model(folder / "outer.toml")["left.link"].flexible.name == "link"


def test_standard_input_data_and_matrices_serve_as_well(folder: Path):
    da.write_flexible_body(bent_link(), folder / "link.SID_FEM")
    text = LINK.replace("link.npz", "link.SID_FEM")
    (folder / "sid.toml").write_text(text[: text.index("[sensors")] + text[text.index("[start]") :])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert da.read_model(folder / "sid.toml")["link"].flexible.modes == 4


def test_an_error_of_standard_input_data_names_the_file_as_the_model_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "link.SID_FEM").write_text("parts\n")
    (folder / "sid.toml").write_text(LINK.replace("link.npz", "link.SID_FEM"))
    monkeypatch.chdir(folder)
    with raises(ModelFileError, "unknown-class", " link.SID_FEM:1: expected the class") as caught:
        da.read_model("sid.toml")
    assert str(folder) not in str(caught.value)


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_machine_with_flexible_bodies_goes_to_a_file_and_back(folder: Path, suffix: str):
    m = da.read_model(folder / "machine.toml")
    copies = folder / "copies"
    copies.mkdir()
    da.write_model(m, copies / f"copy{suffix}")
    again = da.read_model(copies / f"copy{suffix}")
    assert_same(again["link"].flexible, m["link"].flexible)
    assert difference(da.equations(m), da.equations(again), samples=2) == 0.0
    assert again.start == m.start
    first = {one.name: one.read_bytes() for one in copies.iterdir()}
    da.write_model(again, copies / f"copy{suffix}")
    assert {one.name: one.read_bytes() for one in copies.iterdir()} == first


# -- mistakes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new", "code", "line", "shown"),
    (
        ('flexible = "link.npz"', 'flexible = "lnk.npz"', "no-such-file", 1, "lnk.npz"),
        ('flexible = "link.npz"', 'flexible = "../link.npz"', "outside-folder", 2, "../link.npz"),
        ('flexible = "link.npz"', 'flexible = "link.mnf"', "unknown-suffix", 2, ".npz"),
        ("position = [0, 0, 1]", "mass = 3", "ineffective-argument", 3, "mass"),
        ("position = [0, 0, 1]", "points = { tip = [0, 0, 0] }", "ineffective-argument", 3, "points"),
        ("position = [0, 0, 1]", 'beam = { length = 1, radius = 0.1, material = "steel" }', "conflicting-arguments", 3,
         "beam"),
        ('damping = "wear"', "damping = -1", "negative", 1, "damping"),
        ('point = "link.tip"', 'point = "link.top"', "unknown-name", 16, "tip"),
        ('point = "link.tip"', 'point = "link(0, 0, 0.01)"', "no-node", 14, "root"),
        ('gauge = "foot"', 'gauge = "food"', "unknown-name", 19, "foot"),
        ('"link.mode1.rate"', '"link.mode9.rate"', "unknown-name", 25, "link.mode1.rate"),
    ),
)  # fmt: skip
def test_a_mistake_about_a_data_file_is_named(folder: Path, old: str, new: str, code: str, line: int, shown: str):
    (folder / "machine.toml").write_text(LINK.replace(old, new))
    with raises(ModelFileError, code, "machine.toml", shown) as caught:
        da.read_model(folder / "machine.toml")
    assert caught.value.line == line


def test_a_damaged_data_file_is_named_with_the_line_that_names_it(folder: Path):
    (folder / "link.npz").write_bytes((folder / "link.npz").read_bytes()[:1000])
    with raises(ModelFileError, "damaged", "machine.toml:1", "link.npz"):
        da.read_model(folder / "machine.toml")


def test_a_model_without_a_folder_reads_no_data_files():
    with raises(ModelFileError, "no-folder"):
        parse_model(LINK)


def test_modes_out_of_the_plane_are_refused_in_a_planar_machine(folder: Path):
    (folder / "flat.toml").write_text('planar = true\n[bodies.link]\nflexible = "link.npz"\n')
    with raises(ModelFileError, "out-of-plane", "link"):
        da.read_model(folder / "flat.toml")


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "shown"),
    (
        ('radius = "4 mm"', "", "missing-argument", 5, "radius"),
        ('radius = "4 mm"', 'radius = "4 mm"\nheight = 1', "conflicting-arguments", 5, "height"),
        ('radius = "4 mm"', 'radius = "4 kg"', "unit-mismatch", 7, "kg"),
        ('material = "steel"', 'material = "stell"', "unknown-name", 3, "steel"),
        ('material = "steel"', 'E = "200 GPa"', "missing-argument", 5, "density"),
        ('material = "steel"', 'material = "steel"\nE = 1e9', "conflicting-arguments", 9, "E"),
        ('length = "0.4 m"', 'length = "-0.4 m"', "not-positive", 6, "-0.4"),
        ('length = "0.4 m"', 'length = "size"', "not-supported", 6, "parameter"),
        ("modes = 2", "modes = 0", "wrong-type", 9, "1"),
        ("modes = 2", "elements = 7", "ineffective-argument", 9, "elements"),
        ("modes = 2", "nodes = { far = 0.5 }", "off-mesh", 9, "far"),
        ("modes = 2", "nodes = { start = 0.2 }", "taken-name", 9, "start"),
        ("modes = 2", "nodes = { a = 0.2, b = 0.2 }", "duplicate", 9, "b"),
        ('angle = "-30 deg"', "stiffness = -1", "negative", 3, "stiffness"),
        ('b = "rod.start"', 'b = "rod(0.1, 0)"', "no-node", 12, "start"),
    ),
)
def test_a_mistake_in_a_beam_is_named(old: str, new: str, code: str, line: int, shown: str):
    text = PENDULUM.replace(old, new) + "\n[parameters]\nsize = 0.4\n"
    with raises(ModelFileError, code, shown) as caught:
        parse_model(text)
    assert caught.value.line == line


def test_factors_are_for_flexible_bodies():
    with raises(ModelFileError, "ineffective-argument", "stiffness"):
        parse_model("[bodies.a]\nmass = 1\nstiffness = 2\n")


# -- the library -----------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_elastic_slider_crank_of_the_library_bends_as_the_benchmark_does():
    """Range of the midpoint and place of the slider by independent computations with clamped-free modes."""
    m = da.read_model("elastic-slider-crank")
    eqs = da.equations(m)
    run = da.simulate(eqs, start=da.assemble(eqs, **m.start), **m.simulation)
    bend = 1e3 * run["bend.y"]
    assert bend.min() == pytest.approx(-1.214, rel=0.05) and bend.max() == pytest.approx(1.237, rel=0.05)
    at_half = run["stroke"][int(np.searchsorted(run.time, 0.5 - 1e-9))]
    assert at_half == pytest.approx(0.39999, abs=2e-4)
