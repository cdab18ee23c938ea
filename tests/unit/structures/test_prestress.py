"""Geometric stiffness of the beam element, prestressed structures, buckling: kernels and borders."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import (
    Frame,
    Material,
    Section,
    Solid,
    Structure,
    assemble,
    box_mesh,
    find_buckling,
    geometric_stiffness,
    material,
    prestress,
    solve_static,
)
from dalembert.structures.beams import geometric_stiffness as geometric
from dalembert.structures.beams.elements import BeamNumbers
from tests.helpers.findings import raises


def element(length=1.3, phi_y=0.0, phi_z=0.0, EI_y=2.0, EI_z=5.0, EA=100.0, GJ=3.0) -> BeamNumbers:
    one = np.ones(1)
    return BeamNumbers(length * one, EA * one, EI_y * one, EI_z * one, GJ * one, phi_y * one, phi_z * one,
                       one, 0 * one, 0 * one, one)  # fmt: skip


def inside(N=0.0, T=0.0, M_y=0.0, M_z=0.0):
    return np.array([[N, 0.0, 0.0, T, M_y, M_z]])


class TestTheKernel:
    def test_constant_tension_without_shear_gives_the_classical_matrix(self) -> None:
        L, N = 1.3, 7.0
        K = geometric.geometric_stiffness(element(L), inside(N), inside(N))[0]
        half = np.array([[36, 3 * L, -36, 3 * L], [3 * L, 4 * L**2, -3 * L, -(L**2)]])
        classical = N / (30 * L) * np.vstack([half, [-36, -3 * L, 36, -3 * L], [3 * L, -(L**2), -3 * L, 4 * L**2]])
        signs = np.diag([1.0, -1.0, 1.0, -1.0])
        assert np.allclose(K[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], classical, rtol=0, atol=1e-13)
        assert np.allclose(K[np.ix_([2, 4, 8, 10], [2, 4, 8, 10])], signs @ classical @ signs, rtol=0, atol=1e-13)
        wagner = N * (7.0 / 100.0) / L * np.array([[1, -1], [-1, 1]])
        assert np.allclose(K[np.ix_([3, 9], [3, 9])], wagner, rtol=0, atol=1e-13)
        assert not K[[0, 6]].any()

    def test_with_shear_it_is_the_closed_form_of_the_timoshenko_element(self) -> None:
        """N/(30 l (1+Φ)²) [[36+60Φ+30Φ², 3l, ...], [3l, l²(4+5Φ+2.5Φ²), ..., -l²(1+5Φ+2.5Φ²)]]."""
        L, p, N = 0.8, 0.6, -2.0
        K = geometric.geometric_stiffness(element(L, p, 0.1), inside(N), inside(N))[0]
        a, b = 36 + 60 * p + 30 * p**2, 3 * L
        c, d = L**2 * (4 + 5 * p + 2.5 * p**2), -(L**2) * (1 + 5 * p + 2.5 * p**2)
        closed = np.array([[a, b, -a, b], [b, c, -b, d], [-a, -b, a, -b], [b, d, -b, c]]) * N / (30 * L * (1 + p) ** 2)
        assert np.allclose(K[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], closed, rtol=0, atol=1e-13)

    def test_a_parabolic_tension_is_integrated_exactly(self) -> None:
        b = element(1.0, 0.3, 0.2)
        fine = 4000  # midpoint rule: error of order fine⁻²
        x = (np.arange(fine) + 0.5) / fine
        tension = 2 + 3 * x + 5 * 4 * x * (1 - x)
        K = geometric.geometric_stiffness(b, inside(2.0), inside(5.0), np.array([5.0]))[0]
        p = 0.3
        slope = np.stack([-p - 6 * x + 6 * x**2, 1 + p * (0.5 - x) - 4 * x + 3 * x**2,
                          p + 6 * x - 6 * x**2, -p * (0.5 - x) - 2 * x + 3 * x**2]) / (1 + p)  # fmt: skip
        reference = (slope * tension) @ slope.T / fine
        assert np.allclose(K[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], reference, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("phi", [0.0, 0.7])
    def test_a_rigid_rotation_turns_the_end_forces_with_the_element(self, phi: float) -> None:
        """Forces F become F + θ×F; moments, measured by their work on rotation vectors, M + ½ θ×M."""
        L, N, T, M_y, M_z, M_y2, M_z2 = 1.3, 4.0, 1.5, 2.0, -3.0, 0.7, 5.0
        V_y, V_z = -(M_z2 - M_z) / L, (M_y2 - M_y) / L
        K = geometric.geometric_stiffness(element(L, phi, 0.4 * phi), inside(N, T, M_y, M_z), inside(N, T, M_y2, M_z2))
        theta = np.array([0.3, -0.2, 0.5])
        motion = np.concatenate([np.zeros(3), theta, np.cross(theta, [L, 0, 0]), theta])
        force, first, second = np.array([N, V_y, V_z]), np.array([T, M_y, M_z]), np.array([T, M_y2, M_z2])
        expected = np.concatenate([-np.cross(theta, force), -0.5 * np.cross(theta, first),
                                   np.cross(theta, force), 0.5 * np.cross(theta, second)])  # fmt: skip
        assert np.allclose(K[0] @ motion, expected, rtol=0, atol=1e-13)

    def test_a_bar_is_a_string_across_its_axis(self) -> None:
        K = geometric.bar_geometric_stiffness(np.array([2.0]), np.array([10.0]))[0]
        assert np.allclose(K[np.ix_([1, 7], [1, 7])], [[5, -5], [-5, 5]])
        assert np.allclose(K[np.ix_([2, 8], [2, 8])], [[5, -5], [-5, 5]])
        assert np.count_nonzero(K) == 8


def pillar(*, elements: int = 4, planar: bool = True, **beam: object) -> Frame:
    """Column of 1 m, 20 mm square, fixed at its foot, 1 N down on its head."""
    frame = Frame("pillar", planar=planar, gravity=0)
    up = (0, 1) if planar else (0, 0, 1)
    frame.add_points(["foot", "head"], [[0.0] * len(up), up])
    frame.add_beam("pillar", "foot", "head", section=Section.square(0.02), material="steel", elements=elements, **beam)
    frame.add_support("foot", "fixed")
    frame.add_force("down", "head", tuple(-np.array(up)))
    return frame


def sway(model: Structure) -> float:
    return solve_static(model, {"head.x": 1.0}).displacement["head.x"]


EULER = np.pi**2 / 4 * material("steel").E * 0.02**4 / 12


class TestPrestressed:
    def test_the_matrix_is_symmetric_and_linear_in_the_load(self) -> None:
        model = assemble(pillar(planar=False))
        K_g = geometric_stiffness(model, "down")
        assert abs(K_g - K_g.T).max() < 1e-12 * abs(K_g).max()
        assert abs(geometric_stiffness(model, {"down": -3.0}) + 3 * K_g).max() < 1e-12 * abs(K_g).max()
        assert abs(prestress(model, "down").K - model.K - K_g).max() < 1e-12 * abs(model.K).max()

    def test_it_keeps_everything_but_the_stiffness(self) -> None:
        model = assemble(pillar())
        tight = prestress(model, "down")
        assert tight.free == model.free
        assert tight.M is model.M
        assert tight.provenance["stiffness"] == "K + geometric stiffness"
        assert sway(tight) > sway(model)

    def test_a_load_and_a_tension_add_up(self) -> None:
        model = assemble(pillar())
        both = prestress(model, "down", tension={"pillar": 1.0})
        assert abs(both.K - model.K).max() < 1e-12 * abs(model.K).max()  # 1 N of pressure and 1 N of tension

    def test_the_transverse_load_of_a_pressed_column_grows_by_the_known_factor(self) -> None:
        """Tip deflection under H and P: 3 (tan k - k)/k³ times that under H, k² = P/EI."""
        model = assemble(pillar(elements=16, theory="euler-bernoulli"))
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
        model = assemble(frame)
        by_support = prestress(model, {})
        by_tension = prestress(model, tension={"wire": steel.E * section.area * 1e-3 / 2})
        assert abs(by_support.K - by_tension.K).max() < 1e-9 * abs(by_tension.K - model.K).max()

    def test_nothing_said_is_refused(self) -> None:
        with raises(DataError, "missing-argument"):
            prestress(assemble(pillar()))

    def test_an_unknown_beam_is_named(self) -> None:
        with raises(DataError, "unknown-name", "'piller'", "'pillar'"):
            prestress(assemble(pillar()), tension={"piller": 1.0})

    @pytest.mark.parametrize("value", [np.nan, "1", None, True, 1j])
    def test_a_tension_that_is_no_number_is_refused(self, value: object) -> None:
        with raises(DataError, "not-finite" if value is np.nan else "not-a-number", "'pillar'"):
            prestress(assemble(pillar()), tension={"pillar": value})

    def test_a_structure_of_bare_matrices_is_refused(self) -> None:
        spring = Structure("spring", ["A"], [[0, 0, 0]], ["x"], M=[[1.0]], K=[[1.0]])
        with raises(DataError, "not-supported"):
            prestress(spring, {"A.x": 1.0})


class TestBuckling:
    def test_lanczos_and_the_dense_solver_agree(self) -> None:
        """A column of 134 elements in space has 804 coordinates and double loads."""
        few, many = (find_buckling(assemble(pillar(elements=n, planar=False)), "down", count=4) for n in (60, 134))
        assert len(few.coordinates) < 400 < len(many.coordinates)
        assert many.factors == pytest.approx(few.factors, rel=1e-4)
        assert many.factors[:2] == pytest.approx([EULER, EULER], rel=1e-3)
        model = many.structure
        K_g = model.reduce(geometric_stiffness(model, "down"))
        K = model.reduce(model.K)
        for k, factor in enumerate(many.factors):
            left, right = K @ many.shapes[:, k], factor * (K_g @ many.shapes[:, k])
            assert np.abs(left + right).max() < 1e-5 * np.abs(left).max()

    def test_a_tapered_column_lies_between_its_two_ends(self) -> None:
        """I from I₀ to I₀/16 with a square section that halves: between the two, and converged."""
        found = [
            find_buckling(assemble(pillar(elements=n, end_section=Section.square(0.01))), "down", count=1).critical
            for n in (8, 16, 32)
        ]
        assert EULER / 16 < found[-1] < EULER
        assert abs(found[2] - found[1]) < 0.3 * abs(found[1] - found[0])
        assert found[2] == pytest.approx(found[1], rel=2e-3)

    def test_a_released_end_is_a_hinge(self) -> None:
        """Fixed foot, head held in x by a hinge and against turning otherwise: 20.19 EI/L²."""
        frame = Frame("hinged", planar=True, gravity=0)
        frame.add_points("p", np.column_stack([np.zeros(13), np.linspace(0, 1, 13)]))
        names = [f"p{k}" for k in range(1, 14)]
        options = {"section": Section.square(0.02), "material": "steel", "theory": "euler-bernoulli"}
        frame.add_beams("b", names[:-2], names[1:-1], **options)
        frame.add_beam("last", names[-2], names[-1], releases={"end": "rz"}, **options)
        frame.add_support("p1", "fixed")
        frame.add_support("p13", "x rz")
        frame.add_force("down", "p13", (0, -1))
        assert find_buckling(assemble(frame), "down", count=1).critical == pytest.approx(4 * EULER * 2.04575, rel=1e-3)

    def test_the_table_names_what_moves(self) -> None:
        found = find_buckling(assemble(pillar()), "down", count=2)
        assert "Buckling of 'pillar' under 'down'" in found.table()
        assert repr(found) == found.table()
        assert found.critical == found.factors[0]
        assert np.abs(found.shapes).max(axis=0) == pytest.approx([1.0, 1.0])
        assert set(found.shape(1)) == set(found.structure.coordinates)
        with raises(DataError, "out-of-range", "1", "2"):
            found.shape(3)

    def test_it_is_frozen_and_can_be_pickled(self) -> None:
        found = find_buckling(assemble(pillar()), "down", count=1)
        with pytest.raises(AttributeError):
            found.factors = np.zeros(1)
        with pytest.raises(ValueError, match="read-only"):
            found.factors[0] = 1.0
        assert copy.deepcopy(found).critical == found.critical

    def test_what_has_buckled_already_is_refused(self) -> None:
        with raises(DataError, "not-stable"):
            find_buckling(prestress(assemble(pillar()), {"down": 1.5 * EULER}), "down")

    def test_half_loaded_it_bears_the_other_half(self) -> None:
        model = assemble(pillar())
        whole = find_buckling(model, "down", count=1).critical
        assert find_buckling(prestress(model, {"down": 0.5 * whole}), "down", count=1).critical == pytest.approx(
            0.5 * whole, rel=1e-6
        )

    def test_a_pulled_column_is_refused(self) -> None:
        with raises(DataError, "no-buckling", "'-1 down'"):
            find_buckling(assemble(pillar()), {"down": -1.0})

    def test_a_load_without_internal_forces_is_refused(self) -> None:
        with raises(DataError, "no-internal-forces"):
            find_buckling(assemble(pillar()), {"down": 0.0})

    def test_an_unsupported_structure_is_refused_by_its_free_motions(self) -> None:
        frame = pillar()
        frame.supports.clear()
        with raises(ModelError, "not-held"):
            find_buckling(assemble(frame), "down")

    @pytest.mark.parametrize("count", [0, -1, 1.5, True])
    def test_a_count_that_is_no_count_is_refused(self, count: object) -> None:
        with raises(DataError, "not-a-count"):
            find_buckling(assemble(pillar()), "down", count=count)

    def test_a_solid_column_buckles_as_a_beam(self) -> None:
        """2 % for a root whose section cannot shrink."""
        pytest.importorskip("skfem")
        bar = Solid("bar", box_mesh((1.0, 0.05, 0.05), (20, 2, 2)), Material("m", E=210e9, density=7800.0, poisson=0.3))
        bar.add_support("x=0", "xyz")
        bar.add_interface("tip", "x=1")
        bar.add_force("push", "tip", (-1, 0, 0))
        found = find_buckling(assemble(bar), "push", count=2).factors
        assert found == pytest.approx([np.pi**2 / 4 * 210e9 * 0.05**4 / 12] * 2, rel=0.02)
