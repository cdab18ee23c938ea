"""Strain energy of a static solution: what is stored, also by loads, strains and releases inside elements."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures import Frame, Material, Section, assemble_structure, solve_static

STEEL = Material("steel", E=210e9, density=7850.0)
PLANK = Section.rectangle(0.2, 0.1)
EA, EI, L = STEEL.E * PLANK.area, STEEL.E * PLANK.I_z, 2.0


def beam(n=1, theory="euler-bernoulli", **options):
    f = Frame("beam", planar=True)
    f.add_points(["A", "B"], [[0, 0], [L, 0]])
    f.add_beam("beam", "A", "B", section=PLANK, material=STEEL, elements=n, theory=theory, **options)
    return f


@pytest.mark.parametrize("n", [1, 3])
def test_a_clamped_beam_under_a_line_load_stores_energy_between_its_ends(n):
    f = beam(n)
    f.add_support(["A", "B"], "fixed")
    f.add_line_load("w", "beam", (0, -1e3))
    assert solve_static(assemble_structure(f), "w").strain_energy == pytest.approx(1e6 * L**5 / (1440 * EI), rel=1e-11)


@pytest.mark.parametrize("n", [1, 3])
def test_a_bar_heated_between_walls_stores_energy_and_a_free_one_none(n):
    f = beam(n)
    f.add_strain("hot", "beam", 1e-4, curvature_z=1e-3)
    f.add_support("A", "fixed")
    assert solve_static(assemble_structure(f), "hot").strain_energy == pytest.approx(0.0, abs=1e-10)
    f.add_support("B", "fixed")
    assert solve_static(assemble_structure(f), "hot").strain_energy == pytest.approx(
        0.5 * (EA * 1e-8 + EI * 1e-6) * L, rel=1e-11
    )


def test_energy_is_half_the_work_of_a_line_load():
    f = beam(2, "timoshenko")
    f.add_support("A", "xy")
    f.add_support("B", "y")
    f.add_line_load("q", "beam", (1.0, -5.0))
    bent = 25 * L**5 / (240 * EI) + 25 * L**3 * PLANK.shear_y / (24 * STEEL.G * PLANK.area)
    assert solve_static(assemble_structure(f), "q").strain_energy == pytest.approx(bent + L**3 / (6 * EA), rel=1e-10)


def test_energy_is_that_of_any_mesh():
    solutions = []
    for n in (1, 2, 8):
        f = beam(n, "timoshenko", end_section=Section.rectangle(0.1, 0.1), releases={"end": "rz"})
        f.add_support(["A", "B"], "fixed")
        f.add_spring("s", "B", None, 1e5, direction="x")
        f.add_beam_force("p", "beam", 0.7, (300.0, -1e3), moment=50.0)
        f.add_line_load("p", "beam", (0, -2e3), start=0.3, end=1.1)
        f.add_force("end", "B", (5.0, 0))
        solutions.append(solve_static(assemble_structure(f), {"p": 1.0, "gravity": 0.5}).strain_energy)
    np.testing.assert_allclose(solutions[:2], solutions[2], rtol=2e-6)  # gravity of a taper is linear per element


def test_energy_is_half_the_work_of_forces_on_points_springs_included():
    f = beam(2, "timoshenko")
    f.add_support("A", "pinned")
    f.add_spring("s", "B", None, 1e5, direction="y")
    solution = solve_static(assemble_structure(f), {"B.y": -1e3})
    assert solution.strain_energy == pytest.approx(-0.5e3 * solution.displacement["B.y"], rel=1e-11)
    f.add_beam_force("same", "beam", L, (0, -1e3))
    assert solve_static(assemble_structure(f), "same").strain_energy == pytest.approx(solution.strain_energy, rel=1e-11)
