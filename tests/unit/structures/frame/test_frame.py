"""Wrong descriptions of frames: every mistake is reported, with names, and all at once."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Material, Section, assemble_structure
from tests.helpers.findings import raises

PLANK = Section.rectangle(0.2, 0.1)
BEAM = {"section": PLANK, "material": "steel"}


def frame(planar=True):
    f = Frame("roof", planar=planar)
    f.add_points(["A", "B", "C"], np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0]])[:, : 2 if planar else 3])
    f.add_beam("rafter", "A", "B", **BEAM)
    f.add_beam("post", "B", "C", **BEAM)
    return f


def test_a_sound_frame_has_no_problems():
    assert frame().problems() == []


def test_all_problems_are_reported_at_once():
    f = frame()
    f.add_beam("rafter", "A", "D", section="IPE", material="steal")
    f.add_mass("lump", "E", 1.0)
    f.add_support("F", "fixed")
    f.add_force("snow", "G", (0, 1))
    f.add_line_load("snow", "rafer", (0, 1))
    with pytest.raises(ModelError) as error:
        assemble_structure(f)
    text = str(error.value)
    assert "problems in frame 'roof'" in text
    for words in ("'rafter' is used more than once", "no point named 'D'", "no section named 'IPE'", "steal",
                  "mass 'lump': no point named 'E'", "support: no point named 'F'", "no point named 'G'",
                  "no beam or bar named 'rafer' in frame 'roof'. Did you mean 'rafter'?"):  # fmt: skip
        assert words in text, words


def duplicate_point(f):
    f.add_point("A", 5, 5)


def point_like_an_inner_one(f):
    f.add_beam("tie", "A", "C", **BEAM, elements=3)
    f.add_point("tie[1]", 9, 9)


def zero_length(f):
    f.add_point("A2", 0, 0)
    f.add_beam("nothing", "A", "A2", **BEAM)


def same_ends(f):
    f.add_beam("loop", "A", "A", **BEAM)


def lonely_point(f):
    f.add_point("moon", 9, 9)


def blank_name(f):
    f.add_point(" P", 1, 1)
    f.add_spring("s", " P", "A", 1.0)


def base_point(f):
    f.add_point("base", 1, 1)
    f.add_spring("s", "base", "A", 1.0)


def flat_section(f):
    f.add_beam("flat", "A", "C", section=Section(area=1.0, I_y=1.0, I_z=0.0, J=1.0), material="steel")


def no_section(f):
    f.add_beam("odd", "A", "C", section=3.0, material="steel")


def unknown_material(f):
    f.add_beam("odd", "A", "C", section=PLANK, material="stel")


def no_material(f):
    f.add_beam("odd", "A", "C", section=PLANK, material=7)


def slave_twice(f):
    f.add_rigid("one", "A", "C")
    f.add_rigid("two", "B", "C")


def own_master(f):
    f.add_rigid("one", "A", ["A"])


def no_slaves(f):
    f.add_rigid("one", "A", [])


def circle(f):
    f.add_rigid("one", "A", "B")
    f.add_rigid("two", "B", "A")


def held_slave(f):
    f.add_rigid("one", "A", "C")
    f.add_support("C", "y")


def two_values(f):
    f.add_support("A", "y", values=0.1)
    f.add_support("A", "y", values=0.2)


def both_axial_releases(f):
    f.add_beam("loose", "A", "C", **BEAM, releases={"start": "x", "end": "x"})


def three_releases(f):
    f.add_beam("loose", "A", "C", **BEAM, releases={"start": "y rz", "end": "rz"})


def two_shear_releases(f):
    f.add_beam("loose", "A", "C", **BEAM, releases={"start": "y", "end": "y"})


def spring_without_line(f):
    f.add_point("A2", 0, 0)
    f.add_spring("s", "A", "A2", 1.0)


def moment_on_bars(f):
    f.add_point("D", 4, 4)
    f.add_bar("bar1", "A", "D", **BEAM)
    f.add_bar("bar2", "C", "D", **BEAM)
    f.add_moment("turn", "D", 5.0)


@pytest.mark.parametrize(("mistake", "words"), [
    (duplicate_point, ("taken-name", "'A'")),
    (point_like_an_inner_one, ("taken-name", "'tie[1]'")),
    (zero_length, ("zero-length", "'nothing'", "'A'", "'A2'")),
    (same_ends, ("zero-length", "'loop'")),
    (lonely_point, ("not-connected", "'roof'")),
    (blank_name, ("bad-name", "' P'")),
    (base_point, ("taken-name", "'base'")),
    (flat_section, ("not-positive", "'flat'", "0")),
    (no_section, ("wrong-type", "'odd'")),
    (unknown_material, ("unknown-name", "'odd'", "'steel'")),
    (no_material, ("wrong-type", "'odd'")),
    (slave_twice, ("conflicting-links", "'C'", "'one'", "'two'")),
    (own_master, ("conflicting-links", "'A'")),
    (no_slaves, ("empty", "'one'")),
    (circle, ("conflicting-links",)),
    (held_slave, ("conflicting-links", "'C'", "'one'")),
    (two_values, ("conflicting-arguments", "'A'")),
    (both_axial_releases, ("not-held", "'loose'")),
    (three_releases, ("not-held", "'loose'")),
    (two_shear_releases, ("not-held", "'loose'")),
    (spring_without_line, ("zero-length", "'s'")),
    (moment_on_bars, ("ineffective-load", "'D'")),
])  # fmt: skip
def test_a_mistake_is_reported_by_name(mistake, words):
    f = frame()
    mistake(f)
    with raises(ModelError, *words):
        assemble_structure(f)


def test_a_beam_in_space_needs_both_bending_stiffnesses_and_torsion():
    f = frame(planar=False)
    f.add_beam("flat", "A", "C", section=Section(area=1.0, I_y=0.0, I_z=1.0, J=0.0), material="steel")
    with raises(ModelError, "several-problems", "I_y = 0", "J = 0"):
        assemble_structure(f)


def test_up_must_not_point_along_the_beam():
    f = frame(planar=False)
    f.add_beam("odd", "A", "C", **BEAM, up=(2, 1, 0))
    with raises(ModelError, "parallel", "'odd'"):
        assemble_structure(f)


def test_an_empty_frame_is_refused():
    with raises(ModelError, "several-problems", "'nothing'") as caught:
        assemble_structure(Frame("nothing"))
    assert {one.code for one in caught.value.finding.evidence["problems"]} == {"empty"}
    f = Frame("points")
    f.add_point("A", 0, 0, 0)
    with raises(ModelError, "empty"):
        assemble_structure(f)


@pytest.mark.parametrize(("call", "words"), [
    (lambda f: f.add_point("P", 1), ("wrong-shape", "2")),
    (lambda f: f.add_point("P", 1, float("nan")), ("not-finite",)),
    (lambda f: f.add_points("P", [[1, 2], [3, np.inf]]), ("wrong-shape",)),
    (lambda f: f.add_points("P", [[1, 2, 3]]), ("not-planar", "0")),
    (lambda f: f.add_points(["P"], [[1, 2], [3, 4]]), ("wrong-shape", "1", "2")),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, elements=0), ("not-a-count", "1")),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, elements=2.5), ("not-a-count", "1")),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, theory="shell"), ("unknown-choice",)),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, mass="none"), ("unknown-choice", "'consistent'", "'lumped'")),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, loss_factor=-1), ("negative",)),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, offsets=((0, 1),)), ("wrong-shape",)),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, releases={"middle": "rz"}), ("unknown-choice", "'start'", "'end'")),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, releases={"end": "ry"}), ("unknown-choice", "'ry'")),
    (lambda f: f.add_beams("b", ["A"], ["B", "C"], **BEAM), ("wrong-shape", "1", "2")),
    (lambda f: f.add_support("A", "q"), ("unknown-choice", "'q'")),
    (lambda f: f.add_support("A", ""), ("empty",)),
    (lambda f: f.add_support("A", 5), ("unknown-choice", "5")),
    (lambda f: f.add_support("A", "x", values={"y": 1.0}), ("not-held", "'y'")),
    (lambda f: f.add_support("A", "x", values="much"), ("not-a-number",)),
    (lambda f: f.add_mass("m", "A", -1.0), ("negative",)),
    (lambda f: f.add_mass("m", "A", (1, 2)), ("wrong-shape",)),
    (lambda f: f.add_mass("m", "A", 1.0, inertia=[[1, 2], [3, 4]]), ("wrong-shape", "3")),
    (lambda f: f.add_mass("m", "A", 1.0, inertia=(1, -1, 1)), ("not-positive-definite",)),
    (lambda f: f.add_spring("s", "A", None, 5.0), ("missing-argument",)),
    (lambda f: f.add_spring("s", "A", "B", -5.0), ("negative",)),
    (lambda f: f.add_spring("s", "A"), ("empty",)),
    (lambda f: f.add_spring("s", "A", "B"), ("empty",)),
    (lambda f: f.add_spring("s", "A", None, 5.0, direction="xy"), ("wrong-shape",)),
    (lambda f: f.add_spring("s", "A", None, 5.0, direction=(0, 0)), ("zero-length",)),
    (lambda f: f.add_spring("s", "A", None, [1.0, 2.0]), ("wrong-shape", "3")),
    (lambda f: f.add_spring("s", "A", None, [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), ("not-symmetric",)),
    (lambda f: f.add_spring("s", "A", None, np.diag([1, -1, 1])), ("not-positive-definite",)),
    (lambda f: f.add_force("", "A", (0, 1)), ("bad-name",)),
    (lambda f: f.add_force("gravity", "A", (0, 1)), ("taken-name",)),
    (lambda f: f.add_force("p", "A", 5.0), ("wrong-shape", "2")),
    (lambda f: f.add_force("p", "A", (0, 1, 2)), ("wrong-shape", "2")),
    (lambda f: f.add_moment("p", "A", (1, 2, 3)), ("not-a-number",)),
    (lambda f: f.add_line_load("p", "rafter", (0, 1), axes="own"), ("unknown-choice", "'global'", "'local'")),
    (lambda f: f.add_beam_force("p", "rafter", -1.0, (0, 1)), ("negative",)),
    (lambda f: Frame(5), ("bad-name",)),
    (lambda f: Frame("f", planar="yes"), ("wrong-type",)),
    (lambda f: Frame("f", gravity=(1, 2)), ("wrong-shape", "3")),
])  # fmt: skip
def test_a_wrong_argument_is_refused_where_it_is_given(call, words):
    with raises(ModelError, *words):
        call(frame())


def test_own_sections_and_materials_go_by_name():
    f = frame()
    f.add_section("plank", PLANK)
    f.add_material(Material("oak", E=12e9, density=700.0))
    f.add_beam("sill", "A", "C", section="plank", material="oak")
    assert f.problems() == []
    assert assemble_structure(f).groups[0].materials[1].name == "oak"
