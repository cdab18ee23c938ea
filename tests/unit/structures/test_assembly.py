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
    assemble_structure,
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
    (lambda f: f.add_points("P", [["1", "a"]]), ("not-a-number", "'P...'")),
    (lambda f: f.add_points("P", [[1, 2], [3]]), ("not-a-number", "'P...'")),
    (lambda f: f.add_beam("x", "A", ["C"], **BEAM), ("bad-name", "'x'", "'C'")),
    (lambda f: f.add_beam("x", None, "C", **BEAM), ("bad-name", "'x'")),
    (lambda f: f.add_beams("x", "AB", "BC", **BEAM), ("wrong-type", "'x...'")),
    (lambda f: f.add_beam("x", "A", "C", **BEAM, up=(0, 0, 0)), ("zero-length", "'x'")),
    (lambda f: f.add_support(5, "x"), ("bad-name", "5")),
    (lambda f: f.add_support(["A", 5], "x"), ("bad-name", "5")),
    (lambda f: f.add_rigid("r", "A", 5), ("bad-name", "'r'", "5")),
    (lambda f: f.add_rigid("r", ["A"], "B"), ("bad-name", "'r'", "'A'")),
    (lambda f: f.add_mass("m", ["A"], 1.0), ("bad-name", "'m'", "'A'")),
    (lambda f: f.add_mass("m", "A", 1.0, inertia="x"), ("not-a-number", "'m'")),
    (lambda f: f.add_spring("s", ["A"], None, 1.0), ("bad-name", "'s'")),
    (lambda f: f.add_spring("s", "A", 1e3, direction="x"), ("bad-name", "'s'", "1000")),
    (lambda f: f.add_spring("s", "A", None, ["a", "b", "c"]), ("not-a-number", "'s'")),
    (lambda f: f.add_force("snow", ["A"], (0, 1)), ("bad-name",)),
    (lambda f: f.add_line_load("snow", ["rafter"], (0, 1)), ("bad-name",)),
    (lambda f: f.add_line_load("snow", "rafter"), ("empty", "'rafter'")),
    (lambda f: f.add_beam_force("snow", "rafter", 1.0), ("empty", "'rafter'")),
    (lambda f: f.add_strain("hot", "rafter"), ("empty", "'rafter'")),
    (lambda f: f.set_damping(alpha="1"), ("not-a-number", "'1'")),
    (lambda f: f.set_damping(ratios="2%"), ("negative", "'2%'")),
    (lambda f: f.set_damping(ratios=[0.1, "b"]), ("negative",)),
    (lambda f: f.add_section("IPE", 5), ("wrong-type", "'IPE'")),
    (lambda f: f.add_material("steel"), ("wrong-type",)),
])  # fmt: skip
def test_a_wrong_description_is_reported_where_it_is_given(call, words):
    with raises(DalembertError, *words):
        call(frame())


def test_a_name_for_two_sections_or_materials_is_refused():
    f = frame()
    f.add_section("IPE", BEAM["section"])
    f.add_section("IPE", Section.rectangle(0.2, 0.1))  # the same one again is no contradiction
    with raises(DalembertError, "taken-name", "'IPE'"):
        f.add_section("IPE", Section.rectangle(0.3, 0.1))
    f.add_material(Material("oak", E=12e9, density=700.0))
    with raises(DalembertError, "taken-name", "'oak'"):
        f.add_material(Material("oak", E=11e9, density=700.0))


@pytest.mark.parametrize("function", [
    lambda f: solve_static(f, "snow"), lambda f: find_buckling(f, "snow"), lambda f: prestress(f, "snow"),
    lambda f: geometric_stiffness(f, "snow"), lambda f: spin_rotor(f, "x", 1.0), lambda f: spin(f, "x", 1.0),
    lambda f: centrifugal_load(f, "x", 1.0),
])  # fmt: skip
def test_a_frame_where_a_structure_is_needed_gets_the_advice(function):
    with raises(DalembertError, "wrong-type", "Frame", "da.structures.assemble_structure"):
        function(frame())


@pytest.mark.parametrize(("call", "words"), [
    (lambda s: solve_static(s, ["snow"]), ("wrong-shape", "'roof'")),
    (lambda s: solve_static(s, 5), ("wrong-shape", "'roof'")),
    (lambda s: solve_static(s, {"C.yy": 1}), ("unknown-name", "'C.yy'", "'roof'", "'C.y'")),
    (lambda s: solve_static(s, {("C", "y"): 1}), ("unknown-name",)),
    (lambda s: s.modes("3"), ("not-a-count", "'3'")),
    (lambda s: s.system(inputs=5), ("wrong-type", "5")),
    (lambda s: s.system(outputs=[5]), ("unknown-name", "5")),
    (lambda s: s.system(outputs="C.x.veloc"), ("unknown-name", "'veloc'", "'velocity'")),
    (lambda s: s.system(inputs={"F": 5}), ("unknown-name", "5")),
    (lambda s: s.system(inputs=["C.x", "C.y", "C.x"]), ("duplicate", "'roof'", "'C.x'")),
    (lambda s: s.system(base=5), ("wrong-type",)),
    (lambda s: s.expand([1, 2]), ("wrong-shape", "'roof'", "6", "(2,)")),
    (lambda s: s.rigid_motions("A"), ("wrong-shape", "'A'")),
    (lambda s: solve_static(s, "snow").beam("rafter", [0, 5]), ("out-of-range", "'rafter'", "2 m", "5 m")),
    (lambda s: solve_static(s, "snow").beam("rafter", [-1]), ("out-of-range", "'rafter'", "2 m", "-1 m")),
    (lambda s: solve_static(s, "snow").beam("rafter", [0, np.nan]), ("out-of-range",)),
    (lambda s: solve_static(s, "snow").beam("rafter", "3"), ("wrong-type",)),
    (lambda s: solve_static(s, "snow").beam("rafter", 2.5), ("wrong-type",)),
    (lambda s: solve_static(s, "snow").beam(["rafter"]), ("unknown-name",)),
    (lambda s: solve_static(s, "snow").displacement["D"], ("unknown-name", "'D'")),
    (lambda s: solve_static(s, "snow").largest_stresses(0), ("not-a-count", "1", "0")),
    (lambda s: prestress(s, tension=5), ("wrong-type", "'guy'", "5")),
    (lambda s: spin(s, "z", 1.0, centre=(1, 2)), ("wrong-shape", "(1, 2)")),
    (lambda s: spin(s, ["a", "b", "c"], 1.0), ("wrong-shape", "'x'", "'y'", "'z'")),
    (lambda s: Rayleigh("a"), ("not-a-number", "'a'")),
    (lambda s: Rayleigh.from_ratios("a", 0.02, 5, 0.02), ("not-increasing",)),
    (lambda s: Rayleigh.from_ratios(1.0, 0.02, 5, "b"), ("not-a-number",)),
    (lambda s: ModalDamping("a"), ("negative", "'a'")),
])  # fmt: skip
def test_a_wrong_question_is_answered_in_words(call, words):
    with raises(DalembertError, *words):
        call(assemble_structure(frame()))


def test_a_mechanism_gets_the_advice_to_look_at_releases_and_bars():
    f = Frame("square", planar=True)
    f.add_points(["A", "B", "C", "D"], [[0, 0], [0, 1], [1, 1], [1, 0]])
    f.add_bars("b", ["A", "B", "C"], ["B", "C", "D"], **BEAM)
    f.add_support(["A", "D"], "pinned")
    f.add_force("wind", "B", (1, 0))
    with raises(DalembertError, "not-held"):
        solve_static(assemble_structure(f), "wind")
