"""Prestressed structures: what a load and a tension add to the stiffness."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import (
    Frame,
    Material,
    Section,
    Structure,
    assemble_structure,
    find_buckling,
    geometric_stiffness,
    material,
    prestress,
    solve_static,
)
from tests.helpers.findings import raises
from tests.helpers.pillars import pillar


def sway(model: Structure) -> float:
    return solve_static(model, {"head.x": 1.0}).displacement["head.x"]


EULER = np.pi**2 / 4 * material("steel").E * 0.02**4 / 12


class TestPrestressed:
    def test_the_matrix_is_symmetric_and_linear_in_the_load(self) -> None:
        model = assemble_structure(pillar(planar=False))
        K_g = geometric_stiffness(model, "down")
        assert abs(K_g - K_g.T).max() < 1e-12 * abs(K_g).max()
        assert abs(geometric_stiffness(model, {"down": -3.0}) + 3 * K_g).max() < 1e-12 * abs(K_g).max()
        assert abs(prestress(model, "down").K - model.K - K_g).max() < 1e-12 * abs(model.K).max()

    def test_it_keeps_everything_but_the_stiffness(self) -> None:
        model = assemble_structure(pillar())
        tight = prestress(model, "down")
        assert tight.free == model.free
        assert tight.M is model.M
        assert tight.provenance["stiffness"] == "K + geometric stiffness"
        assert sway(tight) > sway(model)

    def test_a_load_and_a_tension_add_up(self) -> None:
        model = assemble_structure(pillar())
        both = prestress(model, "down", tension={"pillar": 1.0})
        assert abs(both.K - model.K).max() < 1e-12 * abs(model.K).max()  # 1 N of pressure and 1 N of tension

    def test_the_transverse_load_of_a_pressed_column_grows_by_the_known_factor(self) -> None:
        """Tip deflection under H and P: 3 (tan k - k)/k³ times that under H, k² = P/EI."""
        model = assemble_structure(pillar(elements=16, theory="euler-bernoulli"))
        k = np.sqrt(0.6) * np.pi / 2
        ratio = sway(prestress(model, {"down": 0.6 * EULER})) / sway(model)
        assert ratio == pytest.approx(3 * (np.tan(k) - k) / k**3, rel=1e-5)

    def test_displaced_supports_stretch_a_wire(self) -> None:
        """Ends moved apart by δ: N = EA δ/L; an empty load leaves the prescribed displacements alone."""
        frame = Frame("wire", planar=True, gravity=0)
        frame.add_points(["A", "B"], [[0, 0], [2, 0]])
        section, steel = Section.circle(1e-3), material("steel")
        frame.add_beam("wire", "A", "B", section=section, material=steel, elements=8)
        frame.add_support("A", "pinned")
        frame.add_support("B", "pinned", values={"x": 1e-3})
        model = assemble_structure(frame)
        by_support = prestress(model, {})
        by_tension = prestress(model, tension={"wire": steel.E * section.area * 1e-3 / 2})
        assert abs(by_support.K - by_tension.K).max() < 1e-9 * abs(by_tension.K - model.K).max()

    def test_nothing_said_is_refused(self) -> None:
        with raises(DataError, "missing-argument"):
            prestress(assemble_structure(pillar()))

    def test_an_unknown_beam_is_named(self) -> None:
        with raises(DataError, "unknown-name", "'piller'", "'pillar'"):
            prestress(assemble_structure(pillar()), tension={"piller": 1.0})

    @pytest.mark.parametrize("value", [np.nan, "1", None, True, 1j])
    def test_a_tension_that_is_no_number_is_refused(self, value: object) -> None:
        with raises(DataError, "not-finite" if value is np.nan else "not-a-number", "'pillar'"):
            prestress(assemble_structure(pillar()), tension={"pillar": value})

    def test_a_structure_of_bare_matrices_is_refused(self) -> None:
        spring = Structure("spring", ["A"], [[0, 0, 0]], ["x"], M=[[1.0]], K=[[1.0]])
        with raises(DataError, "not-supported"):
            prestress(spring, {"A.x": 1.0})


STEEL = Material("steel", E=210e9, density=7850.0)


ROD = {"section": Section.circle(0.02), "material": STEEL}


def chain(n, length=10.0):
    f = Frame("chain", planar=True)
    y = -np.linspace(0, length, n + 1)
    f.add_points("p", np.column_stack([0 * y, y]))
    f.add_bars("b", [f"p{k}" for k in range(1, n + 1)], [f"p{k}" for k in range(2, n + 2)], **ROD)
    f.add_support("p1", "pinned")
    return assemble_structure(f)


def test_a_hanging_chain_swings_at_the_zeros_of_the_bessel_function():
    """ω = j₀ₖ/2 √(g/L), Daniel Bernoulli 1732."""
    exact = np.array([2.404825558, 5.520078110]) / 2 * np.sqrt(9.81 / 10.0)
    errors = [prestress(chain(n), "gravity").modes(2).frequencies / exact - 1 for n in (20, 40)]
    np.testing.assert_allclose(errors[1], 0, rtol=0, atol=5e-3)
    assert np.all(np.abs(errors[1]) < 0.3 * np.abs(errors[0]))


def test_a_load_that_moves_the_free_motions_is_still_refused():
    with raises(ModelError, "not-held"):
        prestress(chain(4), {"gravity": 1.0, "p3.x": 1.0})
    with raises(ModelError, "not-held"):
        solve_static(chain(4), "gravity")
    with raises(ModelError, "not-held"):
        find_buckling(chain(4), "gravity")


def column(P=1.0):
    f = Frame("column", planar=True)
    f.add_points(["a", "b"], [[0, 0], [0, 3]])
    f.add_beam("c", "a", "b", section=Section.square(0.05), material=STEEL, elements=8)
    f.add_support("a")
    f.add_force("P", "b", (0, -P))
    return assemble_structure(f)


def test_statics_beyond_the_buckling_load_is_refused():
    s = column()
    critical = find_buckling(s, "P").critical
    assert solve_static(prestress(s, {"P": 0.9 * critical}), {"b.x": 1.0}).displacement["b.x"] > 0
    with raises(ModelError, "not-stable", "'column'"):
        solve_static(prestress(s, {"P": 1.5 * critical}), {"b.x": 1.0})


def test_springs_and_lumps_alone_have_no_internal_forces_to_prestress():
    f = Frame("spring", planar=True)
    f.add_points(["a", "b"], [[0, 0], [1, 0]])
    f.add_spring("s", "a", "b", 1e3)
    f.add_mass("m", "b", 1.0)
    f.add_support("a")
    f.add_support("b", "y")
    with raises(DataError, "not-supported", "'spring'"):
        prestress(assemble_structure(f), "gravity")
