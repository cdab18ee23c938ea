"""A machine drawn in other units, or in another place, takes the same pose: only numbers with a length change."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import AssemblyError
from tests.helpers.findings import raises

SIZES = [1e-6, 1e-3, 1e3, 1e6, 1e9]
LENGTHS = (0.2, 0.6, 0.5, 0.7)  # crank, coupler, rocker, ground [units]


def four_bar(size: float, place: tuple[float, float] = (0.0, 0.0), coupler: float = 0.6) -> da.Mechanism:
    """The crank-rocker in a unit of length, with gravity in the same unit."""
    m = da.Mechanism("four-bar", planar=True, gravity=(0.0, -9.81 * size))
    a, b, c, d = (size * x for x in (LENGTHS[0], coupler, *LENGTHS[2:]))
    x, y = place
    bars = [m.add_body(n, mass=1.0, inertia=L**2 / 12) for n, L in (("crank", a), ("coupler", b), ("rocker", c))]
    m.add_revolute("A", m.ground.at(x, y), bars[0].at(-a / 2, 0))
    m.add_revolute("B", bars[0].at(a / 2, 0), bars[1].at(-b / 2, 0))
    m.add_revolute("C", bars[1].at(b / 2, 0), bars[2].at(c / 2, 0))
    m.add_revolute("D", m.ground.at(x + d, y), bars[2].at(-c / 2, 0))
    return m


def spatial_crank(size: float, place: tuple[float, float] = (0.0, 0.0)) -> da.Mechanism:
    """Crank, rod between two balls, slider that does not turn: rows of directions beside rows of lengths."""
    m = da.Mechanism("spatial crank", gravity=(0.0, 0.0, -9.81 * size))
    x, y = place
    crank = m.add_body("crank", mass=1.0, inertia=np.eye(3) * 0.01 * size**2)
    rod = m.add_body("rod", mass=1.0, inertia=np.eye(3) * 0.1 * size**2)
    slider = m.add_body("slider", mass=1.0, inertia=np.eye(3) * 0.01 * size**2)
    m.add_revolute("A", m.ground.at(x, y, 0), crank.at(0, 0, 0), axis=(0.6, 0.8, 0))
    m.add_spherical("B", crank.at(0, 0.3 * size, 0), rod.at(-0.6 * size, 0, 0))
    m.add_universal("C", rod.at(0.6 * size, 0, 0), slider.at(0, 0, 0), axis=(0, 1, 0), second_axis=(0, 0, 1))
    m.add_prismatic("D", m.ground.at(x + size, y, 0), slider.at(0, 0, 0), axis=(1, 0, 0))
    return m


def closed(m: da.Mechanism, coordinates: str, size: float) -> list[float]:
    """The last joint and its rate in units of the machine, with the first at a given angle and rate."""
    eqs = da.equations(m, coordinates=coordinates)
    state = da.assemble(eqs, {"A.angle": 1.2}, velocity={"A.angle": 1.0})
    name, rate, unit = LAST[m.name]
    return [state[name] / size**unit, state[rate] / size**unit]


LAST = {"four-bar": ("D.angle", "D.rate", 0), "spatial crank": ("D.displacement", "D.speed", 1)}


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [four_bar, spatial_crank])
def test_a_machine_of_any_size_takes_the_same_pose(make: Any, size: float, coordinates: str) -> None:
    """Closed to 1e-12 of its length, so to 1e-11 rad at bars of a fifth of it and a lever of two."""
    expected = closed(make(1.0), coordinates, 1.0)
    assert closed(make(size), coordinates, size) == pytest.approx(expected, rel=0, abs=1e-10)


@pytest.mark.parametrize("make", [four_bar, spatial_crank])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_machine_in_another_place_takes_the_same_pose(make: Any, size: float) -> None:
    """A thousand times its length away coordinates have three digits less."""
    away = closed(make(size, (700.0 * size, -300.0 * size)), "absolute", size)
    assert away == pytest.approx(closed(make(size), "absolute", size), rel=0, abs=1e-8)


@pytest.mark.parametrize("size", SIZES)
def test_a_machine_that_does_not_close_is_refused_at_any_size(size: float) -> None:
    """The coupler is too short by 2 % of the ground."""
    with raises(AssemblyError, "joint-open"):
        da.assemble(da.equations(four_bar(size, coupler=0.28)), {"A.angle": np.pi}, restarts=2)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_a_run_begins_at_the_assembled_state_and_is_similar(size: float) -> None:
    angles = []
    for unit in (1.0, size):
        eqs = da.equations(four_bar(unit))
        run = da.simulate(eqs, 0.2, start=da.assemble(eqs, {"A.angle": 1.2}), method=da.RK4(step=1e-3), every=0.2)
        angles.append(run["D.angle"][-1])
    assert angles[0] == pytest.approx(angles[1], rel=0, abs=1e-10)


def test_a_start_is_open_by_a_share_of_the_machine() -> None:
    """A ten-thousandth of a machine of 1 µm is 1e-10 m, a hundred-millionth of one of 1000 km is 1 cm."""
    for size, share, is_open in ((1e-6, 1e-4, True), (1e6, 1e-4, True), (1e6, 1e-8, False)):
        eqs = da.equations(four_bar(size))
        state = da.assemble(eqs, {"A.angle": 1.2})
        q = np.array(state.q)
        q[eqs.coordinates.index["rocker.x"]] += share * size
        with raises(AssemblyError, "joint-open") if is_open else nullcontext():
            da.forward_dynamics(eqs, eqs.state(q, state.v, state.z, 0.0))
