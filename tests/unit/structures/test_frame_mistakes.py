"""Wrong descriptions of frames: every mistake is told, with names, and all at once."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Material, Section, assemble

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


def test_all_problems_are_told_at_once():
    f = frame()
    f.add_beam("rafter", "A", "D", section="IPE", material="steal")
    f.add_mass("lump", "E", 1.0)
    f.add_support("F", "fixed")
    f.add_force("snow", "G", (0, 1))
    f.add_line_load("snow", "rafer", (0, 1))
    with pytest.raises(ModelError) as error:
        assemble(f)
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
    (duplicate_point, "name 'A' is used more than once for a point"),
    (point_like_an_inner_one, r"name 'tie\[1\]' is used more than once for a point"),
    (zero_length, "beam 'nothing' has no length: 'A' and 'A2' are at one place"),
    (same_ends, "beam 'loop' has no length"),
    (lonely_point, "points not connected to anything in frame 'roof': moon"),
    (blank_name, "without outer blanks, got ' P'"),
    (base_point, "may not be called 'base'"),
    (flat_section, "beam 'flat': its section has I_z = 0"),
    (no_section, "beam 'odd': section must be a Section, got float"),
    (unknown_material, "beam 'odd': .*Did you mean 'steel'"),
    (no_material, "beam 'odd': a material is a Material or the name of one"),
    (slave_twice, "point 'C' is a slave of 'one' and of 'two' in x"),
    (own_master, "'A' is both master and slave"),
    (no_slaves, "rigid link 'one' has no slaves"),
    (circle, "rigid links run in a circle through point"),
    (held_slave, "support of 'C' holds y, but the point follows rigid link 'one'"),
    (two_values, "support of 'A' in y is given two different values"),
    (both_axial_releases, "beam 'loose' releases x at both ends"),
    (three_releases, "beam 'loose' releases too much of y and rz"),
    (two_shear_releases, "beam 'loose' releases too much of y and rz"),
    (spring_without_line, "spring 's' joins points at one place"),
    (moment_on_bars, "a moment acts on point 'D', which has no rotation"),
])  # fmt: skip
def test_a_mistake_is_told_by_name(mistake, words):
    f = frame()
    mistake(f)
    with pytest.raises(ModelError, match=words):
        assemble(f)


def test_a_beam_in_space_needs_both_bending_stiffnesses_and_torsion():
    f = frame(planar=False)
    f.add_beam("flat", "A", "C", section=Section(area=1.0, I_y=0.0, I_z=1.0, J=0.0), material="steel")
    with pytest.raises(ModelError, match=r"I_y = 0(.|\n)*J = 0"):
        assemble(f)


def test_up_must_not_point_along_the_beam():
    f = frame(planar=False)
    f.add_beam("odd", "A", "C", **BEAM, up=(2, 1, 0))
    with pytest.raises(ModelError, match="beam 'odd': up= points along the beam"):
        assemble(f)


def test_an_empty_frame_is_refused():
    with pytest.raises(ModelError, match="has no points"):
        assemble(Frame("nothing"))
    f = Frame("points")
    f.add_point("A", 0, 0, 0)
    with pytest.raises(ModelError, match="has no beams"):
        assemble(f)


def test_a_load_beyond_the_end_of_a_beam_is_refused():
    f = frame()
    f.add_beam_force("p", "rafter", 2.5, (0, 1))
    with pytest.raises(ModelError, match=r"at 2.5 m is beyond its end \(2 m\)"):
        assemble(f)


@pytest.mark.parametrize(("call", "words"), [
    (lambda f: f.add_point("P", 1), "must be 2 numbers"),
    (lambda f: f.add_point("P", 1, float("nan")), "finite number"),
    (lambda f: f.add_points("P", [[1, 2], [3, np.inf]]), "finite, of shape"),
    (lambda f: f.add_points("P", [[1, 2, 3]]), "planar: z of every point must be 0"),
    (lambda f: f.add_points(["P"], [[1, 2], [3, 4]]), "1 names for 2 points"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, elements=0), "whole number, 1 or more"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, elements=2.5), "whole number, 1 or more"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, theory="shell"), "theory must be one of timoshenko"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, mass="none"), "'consistent' or 'lumped'"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, loss_factor=-1), "must not be negative"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, offsets=((0, 1),)), "must be two vectors"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, releases={"middle": "rz"}), "expected 'start' and 'end'"),
    (lambda f: f.add_beam("b", "A", "B", **BEAM, releases={"end": "ry"}), "'ry' is no direction"),
    (lambda f: f.add_beams("b", ["A"], ["B", "C"], **BEAM), "1 starts but 2 ends"),
    (lambda f: f.add_support("A", "q"), "'q' is no direction; expected some of x y rz, fixed or pinned"),
    (lambda f: f.add_support("A", ""), "needs at least one direction"),
    (lambda f: f.add_support("A", 5), "5 is no direction"),
    (lambda f: f.add_support("A", "x", values={"y": 1.0}), "a value is given for 'y', which is not held"),
    (lambda f: f.add_support("A", "x", values="much"), "finite number"),
    (lambda f: f.add_mass("m", "A", -1.0), "must not be negative"),
    (lambda f: f.add_mass("m", "A", (1, 2)), "one number or three"),
    (lambda f: f.add_mass("m", "A", 1.0, inertia=[[1, 2], [3, 4]]), "symmetric 3 x 3"),
    (lambda f: f.add_mass("m", "A", 1.0, inertia=(1, -1, 1)), "negative eigenvalues"),
    (lambda f: f.add_spring("s", "A", None, 5.0), "say direction="),
    (lambda f: f.add_spring("s", "A", "B", -5.0), "must not be negative"),
    (lambda f: f.add_spring("s", "A"), "neither stiffness nor damping"),
    (lambda f: f.add_spring("s", "A", "B"), "neither stiffness nor damping"),
    (lambda f: f.add_spring("s", "A", None, 5.0, direction="xy"), "one direction goes with one number"),
    (lambda f: f.add_spring("s", "A", None, 5.0, direction=(0, 0)), "has no length"),
    (lambda f: f.add_spring("s", "A", None, [1.0, 2.0]), "3 numbers or a 3 x 3 matrix"),
    (lambda f: f.add_spring("s", "A", None, [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "must be symmetric"),
    (lambda f: f.add_spring("s", "A", None, np.diag([1, -1, 1])), "negative eigenvalues"),
    (lambda f: f.add_force("", "A", (0, 1)), "non-empty text"),
    (lambda f: f.add_force("gravity", "A", (0, 1)), "made by the frame itself"),
    (lambda f: f.add_force("p", "A", 5.0), "must be 2 numbers"),
    (lambda f: f.add_force("p", "A", (0, 1, 2)), "must be 2 numbers"),
    (lambda f: f.add_moment("p", "A", (1, 2, 3)), "finite number"),
    (lambda f: f.add_line_load("p", "rafter", (0, 1), axes="own"), "'global' or 'local'"),
    (lambda f: f.add_beam_force("p", "rafter", -1.0, (0, 1)), "must not be negative"),
    (lambda f: Frame(5), "must be a text"),
    (lambda f: Frame("f", planar="yes"), "True or False"),
    (lambda f: Frame("f", gravity=(1, 2)), "must be 3 numbers"),
])  # fmt: skip
def test_a_wrong_argument_is_refused_where_it_is_given(call, words):
    with pytest.raises(ModelError, match=words):
        call(frame())


def test_own_sections_and_materials_go_by_name():
    f = frame()
    f.add_section("plank", PLANK)
    f.add_material(Material("oak", E=12e9, density=700.0))
    f.add_beam("sill", "A", "C", section="plank", material="oak")
    assert f.problems() == []
    assert assemble(f).groups[0].materials[1].name == "oak"
