"""Line loads on a part of a beam: what they add up to, and what happens inside the beam."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Material, Section, assemble_structure, solve_static
from tests.helpers.findings import raises

STEEL = Material("steel", E=210e9, density=7850.0)
PLANK = Section.rectangle(0.2, 0.1)
L = 4.0


def beam(n=1, **options):
    f = Frame("beam", planar=True)
    f.add_points(["A", "B"], [[0, 0], [L, 0]])
    f.add_beam("beam", "A", "B", **{"section": PLANK, "material": STEEL, "elements": n, **options})
    f.add_support("A", "pinned")
    f.add_support("B", "y")
    return f


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_a_block_load_gives_the_moments_of_the_handbook(n):
    a, b, w = 0.9, 2.5, 1200.0
    f = beam(n, theory="euler-bernoulli")
    f.add_line_load("block", "beam", (0, -w), start=a, end=b)
    solution = solve_static(assemble_structure(f), "block")
    R = w * (b - a) * (L - (a + b) / 2) / L
    assert solution.reaction["A.y"] == pytest.approx(R, rel=1e-11)
    x = np.linspace(0, L, 41)
    found = solution.beam("beam", x)
    s, t = np.clip(x - a, 0, None), np.clip(x - b, 0, None)
    np.testing.assert_allclose(found.M_z, R * x - w * (s**2 - t**2) / 2, rtol=0, atol=1e-9 * w)
    np.testing.assert_allclose(found.V_y, -R + w * (s - t), rtol=0, atol=1e-9 * w)
    # E I v″ = M integrated twice, v(0) = v(L) = 0
    v = R * x**3 / 6 - w * (s**4 - t**4) / 24
    v = (v - v[-1] * x / L) / (STEEL.E * PLANK.I_z)
    np.testing.assert_allclose(found.deflection[:, 1], v, rtol=0, atol=1e-9 * np.abs(v).max())


@pytest.mark.parametrize("options", [{}, {"end_section": Section.rectangle(0.1, 0.05)}, {"releases": {"end": "rz"}}])
def test_a_trapeze_on_a_part_is_that_of_a_beam_cut_there(options):
    force, last = (30.0, -500.0), (-20.0, -1500.0)
    f = beam(**options)
    f.add_support("B", "rz")
    f.add_line_load("part", "beam", force, end_force=last, moment=40.0, end_moment=-10.0, start=1.0, end=2.5)
    whole = solve_static(assemble_structure(f), "part")
    g = beam(8, **options)
    g.add_support("B", "rz")
    g.add_line_load("part", "beam", force, end_force=last, moment=40.0, end_moment=-10.0, start=1.0, end=2.5)
    cut = solve_static(assemble_structure(g), "part")
    x = np.linspace(0.0, L, 13)
    ours, theirs = whole.beam("beam", x), cut.beam("beam", x)
    for name in ("N", "V_y", "M_z", "deflection"):
        one, other = getattr(ours, name), getattr(theirs, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7 * np.abs(other).max())
    total = np.sum([whole.reaction["A"], whole.reaction["B"]], axis=0)
    np.testing.assert_allclose(total[:2], [-1.5 * 5.0, 1.5 * 1000.0], rtol=1e-10)


def test_parts_add_up_to_the_whole():
    f = beam(3)
    f.add_line_load("whole", "beam", (0, -100.0), end_force=(0, -500.0))
    f.add_line_load("parts", "beam", (0, -100.0), end_force=(0, -240.0), end=1.4)
    f.add_line_load("parts", "beam", (0, -240.0), end_force=(0, -500.0), start=1.4)
    s = assemble_structure(f)
    np.testing.assert_allclose(s.loads["parts"], s.loads["whole"], rtol=0, atol=1e-11)
    whole, parts = (solve_static(s, case).beam("beam", np.linspace(0, L, 17)) for case in ("whole", "parts"))
    np.testing.assert_allclose(parts.M_z, whole.M_z, rtol=0, atol=1e-10)
    np.testing.assert_allclose(parts.deflection, whole.deflection, rtol=0, atol=1e-15)


def test_wrong_places_of_a_line_load_are_refused():
    f = beam()
    for wrong in ({"start": 2.0, "end": 1.0}, {"start": 1.0, "end": 1.0}):
        with raises(ModelError, "out-of-range", "'beam'"):
            f.add_line_load("w", "beam", (0, -1), **wrong)
    with raises(ModelError, "negative"):
        f.add_line_load("w", "beam", (0, -1), start=-0.5)
    f.add_line_load("w", "beam", (0, -1), start=1.0, end=5.0)
    with raises(ModelError, "out-of-range", "'beam'", "5 m", "4 m"):
        assemble_structure(f)
    g = beam()
    g.add_line_load("w", "beam", (0, -1), start=4.5)
    with raises(ModelError, "out-of-range", "4.5 m"):
        assemble_structure(g)
