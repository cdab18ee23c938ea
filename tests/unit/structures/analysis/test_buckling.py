"""Buckling: two solvers, load factors, tables, refusals."""

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
    assemble_structure,
    box_mesh,
    find_buckling,
    geometric_stiffness,
    material,
    prestress,
)
from dalembert.structures.assembly import stiffness_factor
from tests.helpers.findings import assert_read_only, raises
from tests.helpers.pillars import pillar

EULER = np.pi**2 / 4 * material("steel").E * 0.02**4 / 12


class TestBuckling:
    def test_lanczos_and_the_dense_solver_agree(self) -> None:
        """A column of 134 elements in space has 804 coordinates and double loads."""
        few, many = (
            find_buckling(assemble_structure(pillar(elements=n, planar=False)), "down", count=4) for n in (60, 134)
        )
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
            find_buckling(
                assemble_structure(pillar(elements=n, end_section=Section.square(0.01))), "down", count=1
            ).critical
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
        assert find_buckling(assemble_structure(frame), "down", count=1).critical == pytest.approx(
            4 * EULER * 2.04575, rel=1e-3
        )

    def test_the_table_names_what_moves(self) -> None:
        found = find_buckling(assemble_structure(pillar()), "down", count=2)
        assert "Buckling of 'pillar' under 'down'" in found.table()
        assert repr(found) == found.table()
        assert found.critical == found.factors[0]
        assert np.abs(found.shapes).max(axis=0) == pytest.approx([1.0, 1.0])
        assert set(found.shape(1)) == set(found.structure.coordinates)
        with raises(DataError, "out-of-range", "1", "2"):
            found.shape(3)

    def test_it_is_frozen_and_can_be_pickled(self) -> None:
        found = find_buckling(assemble_structure(pillar()), "down", count=1)
        with pytest.raises(AttributeError):
            found.factors = np.zeros(1)
        assert_read_only(found.factors)
        assert copy.deepcopy(found).critical == found.critical

    def test_what_has_buckled_already_is_refused(self) -> None:
        with raises(DataError, "not-stable"):
            find_buckling(prestress(assemble_structure(pillar()), {"down": 1.5 * EULER}), "down")

    def test_half_loaded_it_bears_the_other_half(self) -> None:
        model = assemble_structure(pillar())
        whole = find_buckling(model, "down", count=1).critical
        assert find_buckling(prestress(model, {"down": 0.5 * whole}), "down", count=1).critical == pytest.approx(
            0.5 * whole, rel=1e-6
        )

    def test_a_pulled_column_is_refused(self) -> None:
        with raises(DataError, "no-buckling", "'-1 down'"):
            find_buckling(assemble_structure(pillar()), {"down": -1.0})

    def test_a_load_without_internal_forces_is_refused(self) -> None:
        with raises(DataError, "no-internal-forces"):
            find_buckling(assemble_structure(pillar()), {"down": 0.0})

    def test_an_unsupported_structure_is_refused_by_its_free_motions(self) -> None:
        frame = pillar()
        frame.supports.clear()
        with raises(ModelError, "not-held"):
            find_buckling(assemble_structure(frame), "down")

    @pytest.mark.parametrize("count", [0, -1, 1.5, True])
    def test_a_count_that_is_no_count_is_refused(self, count: object) -> None:
        with raises(DataError, "not-a-count"):
            find_buckling(assemble_structure(pillar()), "down", count=count)

    def test_a_solid_column_buckles_as_a_beam(self) -> None:
        """2 % for a root whose section cannot shrink."""
        pytest.importorskip("skfem")
        bar = Solid("bar", box_mesh((1.0, 0.05, 0.05), (20, 2, 2)), Material("m", E=210e9, density=7800.0, poisson=0.3))
        bar.add_support("x=0", "xyz")
        bar.add_interface("tip", "x=1")
        bar.add_force("push", "tip", (-1, 0, 0))
        found = find_buckling(assemble_structure(bar), "push", count=2).factors
        assert found == pytest.approx([np.pi**2 / 4 * 210e9 * 0.05**4 / 12] * 2, rel=0.02)


STEEL = Material("steel", E=210e9, density=7850.0)


def column(P=1.0):
    f = Frame("column", planar=True)
    f.add_points(["a", "b"], [[0, 0], [0, 3]])
    f.add_beam("c", "a", "b", section=Section.square(0.05), material=STEEL, elements=8)
    f.add_support("a")
    f.add_force("P", "b", (0, -P))
    return assemble_structure(f)


def test_a_column_that_is_pulled_does_not_buckle(monkeypatch):
    with raises(DataError, "no-buckling", "'-1 P'"):
        find_buckling(column(), {"P": -1.0})
    assert "under '2 P'" in repr(find_buckling(column(), {"P": 2.0}))
    monkeypatch.setattr(stiffness_factor, "DENSE_EIGEN", 50)  # by Lanczos' method, as for a large structure
    f = Frame("large")
    f.add_points(["a", "b"], [[0, 0, 0], [0, 0, 3]])
    f.add_beam("c", "a", "b", section=Section.square(0.05), material=STEEL, elements=20)
    f.add_support("a")
    with raises(DataError, "no-buckling"):
        find_buckling(assemble_structure(f), {"b.z": 1.0})
