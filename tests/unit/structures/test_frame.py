"""Messages and tables of frames: names that mean two things, loads without effect, sections without size."""

from __future__ import annotations

import re

import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import Frame, Section, assemble_structure, prestress, solve_static
from tests.helpers.findings import raises

BEAM = {"section": Section.rectangle(0.2, 0.1), "material": "steel"}


def frame():
    f = Frame("roof", planar=True)
    f.add_points(["A", "B", "C"], [[0, 0], [2, 0], [2, 1]])
    f.add_beams(["rafter", "post"], ["A", "B"], ["B", "C"], **BEAM, elements=2)
    f.add_support("A")
    f.add_force("snow", "C", (0, -1e3))
    return f


@pytest.mark.parametrize(("change", "words"), [
    (lambda f: (f.add_point("C.x", 3, 3), f.add_beam("q", "C", "C.x", **BEAM)),
     ("taken-name", "'C.x'", "'C'")),
    (lambda f: f.add_force("C.y", "B", (0, 1)), ("taken-name", "'C.y'", "'C'")),
    (lambda f: (f.add_point("a\nb", 3, 3), f.add_beam("q", "C", "a\nb", **BEAM)), ("bad-name",)),
])  # fmt: skip
def test_names_that_mean_two_things_are_refused(change, words):
    f = frame()
    change(f)
    with raises(ModelError, *words):
        assemble_structure(f)


def test_tables_stay_in_line_and_report_all_that_acts():
    f = frame()
    f.add_point("a point with a rather long name", 3, 1)
    f.add_beam("q", "C", "a point with a rather long name", **BEAM)
    s = assemble_structure(f)
    text = solve_static(s, {"gravity": 1.35, "C.x": 10.0}).table()
    assert "under 1.35 gravity + given forces" in text
    exponents = [re.search(r"e[+-]\d\d ", line) for line in text.splitlines()[1:]]
    assert len({found.start() for found in exponents if found}) == 1
    assert "under 1 snow;" in solve_static(s, "snow").table()
    assert "under given forces;" in solve_static(s, {"C.x": 1.0}).table()


def test_a_section_without_size_leaves_out_the_stresses_and_says_why():
    f = frame()
    f.add_beam("q", "A", "C", section=Section(area=0.01, I_y=1e-5, I_z=1e-5, J=1e-5), material="steel")
    solution = solve_static(assemble_structure(f), "snow")
    text = solution.beam("q").table()
    assert "no stresses: its section has no height and width" in text
    assert "nan" not in text and "σ" not in text
    assert "σ_v [Pa]" in solution.beam("rafter").table()


def test_a_curvature_of_a_bar_is_refused():
    f = frame()
    f.add_bar("tie", "A", "C", **BEAM)
    f.add_strain("hot", "tie", 1e-4, curvature_z=0.1)
    with raises(ModelError, "ineffective-load", "'tie'"):
        assemble_structure(f)


def test_a_prestressed_structure_says_so():
    assert "K + geometric stiffness" in repr(prestress(assemble_structure(frame()), "snow"))


def test_a_moment_on_a_released_end_is_refused_in_words():
    f = frame()
    f.add_point("D", 3, 1)
    f.add_beam("q", "C", "D", **BEAM, releases={"end": "rz"})
    f.add_support("D", "y")
    f.add_moment("twist", "D", 5.0)
    with raises(DataError, "ineffective-load"):
        solve_static(assemble_structure(f), "twist")
