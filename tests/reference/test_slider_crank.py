"""Slider-crank with its guide through the crank axis, closed form against the model (spec 004-C19)."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises
from tests.helpers.kinematic_machines import slider_crank

L1, L2 = 0.3, 0.6


def crank_angle(t):
    """Speed 12.56 + 1.256 cos(2π 2t) rad/s from zero (spec 004, section 3.1)."""
    return 12.56 * t + 1.256 / (4 * np.pi) * da.sin(4 * np.pi * t)


def closed_form(th1, th1d, th1dd):
    th2 = np.arccos(-L1 / L2 * np.cos(th1))
    y = L1 * np.sin(th1) + L2 * np.sin(th2)
    K = -L1 * np.sin(th1) / (L2 * np.sin(th2))
    S = L1 * np.sin(th2 - th1) / np.sin(th2)
    a = (L1 * np.sin(th2 - th1) * th1dd - (L2 * K**2 + L1 * np.cos(th2 - th1)) * th1d**2) / np.sin(th2)
    return th2, y, K, S, a


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(slider_crank(L1, L2))


@pytest.fixture(scope="module")
def run(eqs) -> da.Record:
    return da.kinematics(eqs, 3.0, motion={"A": crank_angle}, every=1e-3)


@pytest.mark.spec("004-C19")
def test_positions_speeds_and_accelerations_are_those_of_the_closed_form(run):
    th1, th1d, th1dd = run["A.angle"], run["A.rate"], run["A.acceleration"]
    th2, y, K, S, a = closed_form(th1, th1d, th1dd)
    # rounding: joints close to 1e-15 m; rates are 14 rad/s, accelerations up to 1e2 m/s²
    assert run["rod.angle"] == pytest.approx(th2, abs=1e-13)
    assert run["guide.displacement"] == pytest.approx(y, abs=1e-13)
    assert run["rod.rate"] == pytest.approx(K * th1d, abs=1e-12)
    assert run["guide.speed"] == pytest.approx(S * th1d, abs=1e-12)
    assert run["guide.acceleration"] == pytest.approx(a, abs=1e-10)


@pytest.mark.spec("004-C19")
def test_crank_and_rod_align_at_the_published_times(run):
    """Singular poses of a machine driven by its slider: sin(θ2 - θ1) = 0 (test T3.1a)."""
    late = run.between(2.5, 3.0)
    reach = np.sin(late["rod.angle"] - late["A.angle"])
    k = np.flatnonzero(np.diff(np.sign(reach)))
    crossings = late.time[k] - reach[k] * 1e-3 / np.diff(reach)[k]
    assert crossings == pytest.approx([2.6184, 2.8844], abs=1e-3)
    assert crossings == pytest.approx([2.6184, 2.8844], abs=6e-5)  # recomputed values have four decimals


@pytest.mark.spec("004-C19")
def test_the_slider_gives_the_crank_back_away_from_singular_poses(eqs, run):
    """Forward and inverse round trip (test T3.1b): the slider's motion drives, the crank's must come out."""
    part = run.between(2.66, 2.84)
    start = da.assemble(eqs, guess={"A.angle": part["A.angle"][0]}, position={"A.angle": part["A.angle"][0]}, t=2.66)
    back = da.kinematics(
        eqs, motion=part.select("guide.displacement", "guide.speed", "guide.acceleration"), start=start
    )
    # |S| is at least 0.29 L1 in this window, so that rounding grows by less than ten
    assert back["A.angle"] == pytest.approx(part["A.angle"], rel=1e-12)
    assert back["A.rate"] == pytest.approx(part["A.rate"], rel=1e-12)
    assert back["A.acceleration"] == pytest.approx(part["A.acceleration"], rel=1e-12, abs=1e-12 * 12.56**2 * 10)


@pytest.mark.spec("004-C19")
def test_the_slider_cannot_be_driven_beyond_its_reach(eqs):
    with raises(da.errors.ConvergenceError, "joint-open") as caught:
        da.kinematics(eqs, 1.0, motion={"guide": lambda t: 0.6 + t}, start=da.assemble(eqs, {"A": 0.3}))
    assert caught.value.record["guide.displacement"].max() == pytest.approx(L1 + L2, abs=2e-3)
    assert caught.value.record.status.startswith("failed at t = 0.3")
