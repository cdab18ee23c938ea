"""Wrong uses of frames and structures in passing: an error of our own, in words, not one of a library below."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DalembertError
from dalembert.structures import (
    Frame,
    Material,
    ModalDamping,
    Rayleigh,
    Section,
    assemble,
    centrifugal_load,
    find_buckling,
    geometric_stiffness,
    prestress,
    solve_static,
    spin,
    spin_rotor,
)
from tests.helpers.findings import raises

BEAM = {"section": Section.rectangle(0.2, 0.1), "material": "steel"}


def frame():
    f = Frame("roof", planar=True)
    f.add_points(["A", "B", "C"], [[0, 0], [2, 0], [2, 1]])
    f.add_beams(["rafter", "post"], ["A", "B"], ["B", "C"], **BEAM)
    f.add_support("A")
    f.add_force("snow", "C", (0, -1e3))
    return f


@pytest.mark.parametrize(("call", "words"), [
    (lambda f: f.add_points("P", [["1", "a"]]), "positions of points 'P...' must be numbers"),
    (lambda f: f.add_points("P", [[1, 2], [3]]), "positions of points 'P...' must be numbers"),
    (lambda f: f.add_beam("x", "A", ["C"], **BEAM), r"beam 'x': the name of a point must be a text, got \['C'\]"),
    (lambda f: f.add_beam("x", None, "C", **BEAM), "beam 'x': the name of a point must be a text, got None"),
    (lambda f: f.add_beams("x", "AB", "BC", **BEAM), "beam 'x...': starts and ends must be lists of names"),
    (lambda f: f.add_beam("x", "A", "C", **BEAM, up=(0, 0, 0)), "up of beam 'x' has no length"),
    (lambda f: f.add_support(5, "x"), "support: the name of a point must be a text, got 5"),
    (lambda f: f.add_support(["A", 5], "x"), "support: the name of a point must be a text, got 5"),
    (lambda f: f.add_rigid("r", "A", 5), "rigid link 'r': the name of a point must be a text, got 5"),
    (lambda f: f.add_rigid("r", ["A"], "B"), r"rigid link 'r': the name of a point must be a text, got \['A'\]"),
    (lambda f: f.add_mass("m", ["A"], 1.0), r"mass 'm': the name of a point must be a text, got \['A'\]"),
    (lambda f: f.add_mass("m", "A", 1.0, inertia="x"), "inertia of mass 'm' must be a number, three numbers"),
    (lambda f: f.add_spring("s", ["A"], None, 1.0), "spring 's': the name of a point must be a text"),
    (lambda f: f.add_spring("s", "A", 1e3, direction="x"), "spring 's': the name of a point must be a text, got 1000"),
    (lambda f: f.add_spring("s", "A", None, ["a", "b", "c"]), "stiffness of spring 's' must be a number, a mapping"),
    (lambda f: f.add_force("snow", ["A"], (0, 1)), "the name of a point must be a text"),
    (lambda f: f.add_line_load("snow", ["rafter"], (0, 1)), "the name of a beam must be a text"),
    (lambda f: f.add_line_load("snow", "rafter"), "line load on 'rafter' has neither force nor moment"),
    (lambda f: f.add_beam_force("snow", "rafter", 1.0), "force on beam 'rafter' has neither force nor moment"),
    (lambda f: f.add_strain("hot", "rafter"), "strain of beam 'rafter' has neither strain nor curvature"),
    (lambda f: f.set_damping(alpha="1"), "alpha must be a finite number, got '1'"),
    (lambda f: f.set_damping(ratios="2%"), "damping ratios must be finite and not negative, got '2%'"),
    (lambda f: f.set_damping(ratios=[0.1, "b"]), "damping ratios must be finite and not negative"),
    (lambda f: f.add_section("IPE", 5), "section 'IPE' must be a Section, got int"),
    (lambda f: f.add_material("steel"), "a material must be a Material, got str; those of the library need no adding"),
])  # fmt: skip
def test_a_wrong_description_is_told_where_it_is_given(call, words):
    with pytest.raises(DalembertError, match=words):
        call(frame())


def test_a_name_for_two_sections_or_materials_is_refused():
    f = frame()
    f.add_section("IPE", BEAM["section"])
    f.add_section("IPE", Section.rectangle(0.2, 0.1))  # the same one again is no contradiction
    with pytest.raises(DalembertError, match="section 'IPE' is there already, with other numbers"):
        f.add_section("IPE", Section.rectangle(0.3, 0.1))
    f.add_material(Material("oak", E=12e9, density=700.0))
    with pytest.raises(DalembertError, match="material 'oak' is there already, with other numbers"):
        f.add_material(Material("oak", E=11e9, density=700.0))


@pytest.mark.parametrize("function", [
    lambda f: solve_static(f, "snow"), lambda f: find_buckling(f, "snow"), lambda f: prestress(f, "snow"),
    lambda f: geometric_stiffness(f, "snow"), lambda f: spin_rotor(f, "x", 1.0), lambda f: spin(f, "x", 1.0),
    lambda f: centrifugal_load(f, "x", 1.0),
])  # fmt: skip
def test_a_frame_where_a_structure_is_needed_is_told_the_way(function):
    with raises(DalembertError, "wrong-type", "Frame", "da.structures.assemble"):
        function(frame())


@pytest.mark.parametrize(("call", "words"), [
    (lambda s: solve_static(s, ["snow"]), "a load on structure 'roof' must be the name of a case"),
    (lambda s: solve_static(s, 5), "a load on structure 'roof' must be the name of a case"),
    (lambda s: solve_static(s, {"C.yy": 1}), "no coordinate named 'C.yy' in structure 'roof'. Did you mean 'C.y'"),
    (lambda s: solve_static(s, {("C", "y"): 1}), "no load case named"),
    (lambda s: s.modes("3"), "count must be .*, got '3'"),
    (lambda s: s.system(inputs=5), "inputs must be coordinate names or a mapping of names to them, got 5"),
    (lambda s: s.system(outputs=[5]), "no coordinate named 5"),
    (lambda s: s.system(outputs="C.x.veloc"), "no kind of output named 'veloc'.*Did you mean 'velocity'"),
    (lambda s: s.system(inputs={"F": 5}), "no coordinate named 5"),
    (lambda s: s.system(inputs=["C.x", "C.y", "C.x"]), "inputs of structure 'roof': 'C.x' is given twice"),
    (lambda s: s.system(base=5), "base must be directions"),
    (lambda s: s.expand([1, 2]), r"structure 'roof' has 6 free coordinates, got shape \(2,\)"),
    (lambda s: s.rigid_motions("A"), "a place must be three finite numbers, got 'A'"),
    (lambda s: solve_static(s, "snow").beam("rafter", [0, 5]), "beam 'rafter' is 2 m long, there is no place 5 m"),
    (lambda s: solve_static(s, "snow").beam("rafter", [-1]), "beam 'rafter' is 2 m long, there is no place -1 m"),
    (lambda s: solve_static(s, "snow").beam("rafter", [0, np.nan]), "there is no place nan m"),
    (lambda s: solve_static(s, "snow").beam("rafter", "3"), "stations must be a whole number or places"),
    (lambda s: solve_static(s, "snow").beam("rafter", 2.5), "stations must be a whole number or places"),
    (lambda s: solve_static(s, "snow").beam(["rafter"]), "no beam or bar named"),
    (lambda s: solve_static(s, "snow").displacement["D"], "no point or coordinate named 'D'.*Known: A, A.rz"),
    (lambda s: solve_static(s, "snow").largest_stresses(0), "stations must be a whole number, 1 or more, got 0"),
    (lambda s: prestress(s, tension=5), r"tension must be a mapping such as \{'guy': 2e4\}, got 5"),
    (lambda s: spin(s, "z", 1.0, centre=(1, 2)), r"centre must be three finite numbers, got \(1, 2\)"),
    (lambda s: spin(s, ["a", "b", "c"], 1.0), "the axis must be 'x', 'y', 'z' or a vector"),
    (lambda s: Rayleigh("a"), "Rayleigh damping needs finite numbers, got 'a'"),
    (lambda s: Rayleigh.from_ratios("a", 0.02, 5, 0.02), "two different positive frequencies"),
    (lambda s: Rayleigh.from_ratios(1.0, 0.02, 5, "b"), "damping ratios must be finite numbers"),
    (lambda s: ModalDamping("a"), "damping ratios must be finite and not negative, got 'a'"),
])  # fmt: skip
def test_a_wrong_question_is_answered_in_words(call, words):
    with pytest.raises(DalembertError, match=words):
        call(assemble(frame()))


def test_a_mechanism_is_told_to_look_at_releases_and_bars():
    f = Frame("square", planar=True)
    f.add_points(["A", "B", "C", "D"], [[0, 0], [0, 1], [1, 1], [1, 0]])
    f.add_bars("b", ["A", "B", "C"], ["B", "C", "D"], **BEAM)
    f.add_support(["A", "D"], "pinned")
    f.add_force("wind", "B", (1, 0))
    with pytest.raises(DalembertError, match=r"a mechanism that moves B\.x, C\.x\. Brace it, or release less"):
        solve_static(assemble(f), "wind")
