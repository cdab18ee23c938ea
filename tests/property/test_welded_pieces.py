"""Linear models of beams cut into welded pieces: Ritz's method, so no frequency lies below the exact one."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da
from dalembert.core.errors import ModelWarning
from tests.helpers.findings import warns
from tests.helpers.flexible_parts import welded_pieces

LENGTH = 1.0
SECTIONS = {"square": (0.01, 0.01, "steel"), "flat": (0.1, 0.004, "aluminium")}
"""Width, height [m], material."""
ROUNDING = 1e-7  # of a frequency: 1e-16 of modal stiffnesses of 1e11 /s² beside 4e2 /s², in sums of a hundred terms


def exact_frequencies(section: str, count: int) -> list[float]:
    """Bending of a cantilever about both axes with rotary inertia and no shear, ascending [rad/s].

    EI w'''' + ρI ω² w'' = ρA ω² w ; at the free end w'' = 0 and EI w''' + ρI ω² w' = 0.
    """
    width, height, name = SECTIONS[section]
    material = da.structures.material(name)
    found = []
    for depth in (width, height):
        unit = math.sqrt(material.E * depth**2 / 12 / material.density) / LENGTH**2

        def determinant(frequency: float, unit: float = unit, r: float = depth**2 / 12 / LENGTH**2) -> float:
            p = (frequency / unit) ** 2
            root = math.sqrt(p * p * r * r + 4 * p)
            a, b = math.sqrt((root - p * r) / 2), math.sqrt((root + p * r) / 2)
            # w = cosh ax - cos bx , w = sinh ax / a - sin bx / b
            M = [[a * a * math.cosh(a) + b * b * math.cos(b), a * math.sinh(a) + b * math.sin(b)],
                 [(a**3 + p * r * a) * math.sinh(a) + (p * r * b - b**3) * math.sin(b),
                  (a * a + p * r) * math.cosh(a) + (b * b - p * r) * math.cos(b)]]  # fmt: skip
            return M[0][0] * M[1][1] - M[0][1] * M[1][0]

        edges = unit * np.array([1.0, 10.0, 40.0, 90.0, 160.0])  # one root between each: 3.5, 22, 62, 121
        found += [brentq(determinant, low, high, xtol=1e-12 * high) for low, high in pairwise(edges)]
    return sorted(found)[:count]


def pieces_of(section: str, count: int, modes: int, force: object = None, **options: object) -> da.EquationsOfMotion:
    width, height, material = SECTIONS[section]
    options = {"modes": modes, "material": material, "planar": False, **options}
    return da.equations(welded_pieces(count, LENGTH, width, height, force=force, **options))


def check(section: str, count: int, modes: int, loaded: bool) -> None:
    """A load of 1 N at the tip bends the beam by 1 % of its length at most: frequencies change with its square."""
    exact = np.array(exact_frequencies(section, 2))
    eqs = pieces_of(section, count, modes, (0.0, 0.0, -1.0) if loaded else None)
    lowest = da.linearize(eqs).modes().frequencies[:2]
    assert lowest == pytest.approx(exact, rel=3e-3)  # two pieces with one mode each miss 1.4e-3
    assert loaded or np.all(lowest >= exact * (1 - ROUNDING))


@pytest.mark.parametrize(("section", "count", "modes", "loaded"), [("square", 2, 1, False), ("flat", 3, 1, True)])
def test_welded_pieces_have_no_frequency_below_the_exact_one(
    section: str, count: int, modes: int, loaded: bool
) -> None:
    check(section, count, modes, loaded)


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("modes", [1, 2])
@pytest.mark.parametrize("count", range(2, 17))
def test_any_number_of_welded_pieces_has_no_frequency_below_the_exact_one(
    section: str, count: int, modes: int, loaded: bool
) -> None:
    check(section, count, modes, loaded)


def test_named_coordinates_that_leave_no_digits_are_kept_and_reported() -> None:
    """Places and turns of the pieces instead of their deformations: they differ by the deformation of one piece."""
    eqs = pieces_of("square", 6, 1, stiffening=False, reference="a")
    assert all("mode" in name for name in da.linearize(eqs).coordinates)
    first, last = (f"p0.mode{k}" for k in (1, 2, 3, 6)), (f"p5.mode{k}" for k in (4, 5, 7))
    others = (f"p{k}.{part}" for k in range(1, 6) for part in ("y", "z", "rx", "mode1", "mode2", "mode3", "mode6"))
    wanted = [*first, *others, *last]
    with warns(ModelWarning, "ill-conditioned", "coordinates="):
        model = da.linearize(eqs, coordinates=wanted)
    assert sorted(model.coordinates) == sorted(wanted)
