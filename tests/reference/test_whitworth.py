"""Whitworth quick-return, inverse dynamics (spec 002-T17); base node 4 as in the published code (trap 23)."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from tests.helpers.whitworth import SPEED, whitworth

HALF = 5e-6  # half a unit of the last printed digit of most [C] values


@pytest.fixture(scope="module")
def run() -> da.Record:
    times = np.linspace(0, 4, 4001)
    return da.inverse_dynamics(da.equations(whitworth()), {"K": lambda t: np.pi / 4 + SPEED * t}, times=times)


@pytest.mark.spec("002-T17", "002-G3", "002-G4")
def test_the_torque_has_the_published_extremes(run):
    # at an extreme of a smooth curve sampled every 1 ms the sample misses the peak by less than 1e-5
    t, u = run.time, run["u1"]
    assert u.max() == pytest.approx(0.95237, abs=HALF + 1e-5)
    assert u.min() == pytest.approx(-1.00406, abs=HALF + 1e-5)
    assert t[u.argmax()] == pytest.approx(2.297, abs=1.5e-3)
    assert t[u.argmin()] == pytest.approx(2.655, abs=1.5e-3)
    assert u[0] == pytest.approx(0.03654, abs=HALF)
    early, late = t < 2, t > 3
    assert u[early].min() == pytest.approx(-0.06092, abs=HALF + 1e-5)
    assert t[early][u[early].argmin()] == pytest.approx(1.538, abs=1.5e-3)
    assert u[late].max() == pytest.approx(0.04219, abs=HALF + 1e-5)
    assert t[late][u[late].argmax()] == pytest.approx(3.706, abs=1.5e-3)
    # read from the published plots, to their accuracy of about 1 %
    assert u.max() == pytest.approx(0.955, rel=0.01) and u.min() == pytest.approx(-1.005, rel=0.01)


@pytest.mark.spec("002-T17")
def test_slider_and_rocker_move_as_published(run):
    t, v, w, x = run.time, run["slider.vx"], run["rocker.rate"], run["slider.x"]
    assert (v.max(), v.min(), v[0]) == pytest.approx((0.87072, -0.31477, -0.25588), abs=HALF + 2e-6)
    assert (t[v.argmax()], t[v.argmin()]) == pytest.approx((2.474, 0.662), abs=1.5e-3)
    assert (w.max(), w.min(), w[0]) == pytest.approx((0.50325, -1.40085, 0.46200), abs=HALF)
    assert (t[w.argmax()], t[w.argmin()]) == pytest.approx((0.5, 2.5), abs=1.5e-3)
    assert (x.min(), x.max()) == pytest.approx((0.339085, 0.922180), abs=1e-6)
    assert np.ptp(x) == pytest.approx(0.583095, abs=1e-6)


@pytest.mark.spec("002-T17")
def test_the_return_stroke_is_quick(run):
    t, v = run.time, run["slider.vx"]
    k = np.flatnonzero(np.diff(np.sign(v)))
    reversals = t[k] - v[k] * np.diff(t)[k] / np.diff(v)[k]
    assert reversals == pytest.approx([1.812, 3.187], abs=1e-3)
    assert np.diff(reversals)[0] == pytest.approx(1.375, abs=1e-3)
    assert 4 - np.diff(reversals)[0] == pytest.approx(2.625, abs=1e-3)


@pytest.mark.spec("002-G2")
def test_joints_stay_closed_and_forces_balance_along_the_motion(run):
    assert run["residual.position"].max() < 1e-14 and run["residual.velocity"].max() < 1e-13
    assert run["residual.force"].max() < 1e-12


@pytest.mark.spec("002-G6")
def test_baumgarte_feedback_keeps_the_driven_machine_closed_as_published():
    """Published residual of the differentiated constraints: below 8e-6, with b = (1, 1), over 16 s."""
    from dalembert.solve.constrained.solve import Baumgarte

    eqs = da.equations(whitworth(driven=True))
    start = da.assemble(eqs)
    run = da.simulate(eqs, 16.0, start=start, method=da.RK4(2e-3, stabilise=Baumgarte(1, 1, 1)), every=0.02)
    exact = da.kinematics(eqs, run.time, start=start)
    assert run["residual.velocity"].max() < 8e-6
    assert np.abs(run["slider.x"] - exact["slider.x"]).max() < 1e-5
