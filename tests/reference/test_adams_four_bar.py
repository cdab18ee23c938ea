"""Torque of a driven four-bar as MSC Adams computes it (tests/data/adams)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da

# Adams prints 8 digits of 66 N m, but its integrator was run at its default tolerance: an exact solution of the same
# machine differs from its column by 0.0067 N m at most, with gravity at its standard value.
TOLERANCE = 0.007


@pytest.fixture(scope="module")
def adams() -> np.ndarray:
    path = Path(__file__).parents[1] / "data" / "adams" / "four_bar_inverse_dynamics.tab"
    return np.loadtxt(path, comments="%")


def four_bar(*, driven: bool) -> da.Mechanism:
    m = da.Mechanism("Adams four-bar", planar=True, gravity=(0, -9.80665))
    length = np.hypot(3, 2)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0))
    coupler = m.add_body("coupler", mass=2.0, inertia=da.rod(2.0), position=(1, 1), angle=np.pi / 2)
    rocker = m.add_body("rocker", mass=4.0, inertia=da.rod(length), position=(2.5, 1), angle=np.arctan2(-2, 3))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.5, 0))
    m.add_revolute("B", crank.at(0.5, 0), coupler.at(-1, 0))
    m.add_revolute("C", coupler.at(1, 0), rocker.at(-length / 2, 0))
    m.add_revolute("D", rocker.at(length / 2, 0), m.ground.at(4, 0))
    if driven:
        m.add_driver("drive", "A", crank_angle)
    else:
        m.add_actuator("motor", "A", input="torque")
    return m


def crank_angle(t):
    return 1.2 * (1 - da.cos(2 * t))


@pytest.mark.spec("002-G4")
def test_torque_of_the_four_bar_agrees_with_adams(adams):
    run = da.inverse_dynamics(da.equations(four_bar(driven=False)), {"A": crank_angle}, times=adams[:, 0])
    assert np.abs(run["torque"] + adams[:, 1]).max() < TOLERANCE
    assert run["residual.force"].max() < 1e-10
    assert np.abs(np.rad2deg(run["A.angle"]) - adams[:, 2]).max() < 1e-4  # its column has seven digits of 137 degrees


@pytest.mark.spec("002-G4")
def test_effort_of_a_driver_agrees_with_adams(adams):
    run = da.inverse_dynamics(da.equations(four_bar(driven=True)), None, times=adams[:, 0])
    assert np.abs(run["drive.effort"] + adams[:, 1]).max() < TOLERANCE


def test_torque_from_the_sampled_angle_agrees_with_adams(adams):
    samples = da.Record.from_channels(adams[:, 0], {"A.angle": crank_angle(adams[:, 0])})
    run = da.inverse_dynamics(da.equations(four_bar(driven=False)), samples)
    # splines of degree five: error of the acceleration ~ (ω h)⁴ = (2 · 0.025)⁴ of it, larger at the ends
    assert np.abs(run["torque"] + adams[:, 1])[5:-5].max() < TOLERANCE + 1e-3
    assert "splines" in run.provenance["motion"]
