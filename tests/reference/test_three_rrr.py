"""3-RRR parallel robot, inverse dynamics (spec 002-T18), rotation with the fourth power (trap 22)."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from tests.helpers.three_rrr import robot

MOTION = {
    "platform.x": lambda t: -da.sin(np.pi * t / 2),
    "platform.y": lambda t: da.sin(np.pi * t / 4),
    "platform.angle": lambda t: np.pi / 6 * da.sin(np.pi * t / 4) ** 4,
}


@pytest.fixture(scope="module")
def run() -> da.Record:
    return da.inverse_dynamics(da.equations(robot()), MOTION, times=np.linspace(0, 8, 1601))


# largest and smallest torque with their times, computed independently; then as read from the published plots
EXTREMES = {
    "u1": (7.7611, 2.60, -7.5083, 5.16, 7.75, -7.5),
    "u2": (11.0594, 5.51, -10.9740, 7.02, 11.1, -11.0),
    "u3": (9.7484, 5.70, -5.1835, 0.88, 9.75, -5.2),
}


@pytest.mark.spec("002-T18", "002-G4")
@pytest.mark.parametrize("name", EXTREMES)
def test_torques_have_the_published_extremes(run, name):
    high, t_high, low, t_low, read_high, read_low = EXTREMES[name]
    t, u = run.time, run[name]
    # printed to 1e-4 from samples every 10 ms; curvature at the peaks is below 100 N m/s², so either sampling misses
    # the peak by less than 100 · 0.005² / 2
    assert (u.max(), u.min()) == pytest.approx((high, low), abs=1.5e-3)
    assert (t[u.argmax()], t[u.argmin()]) == pytest.approx((t_high, t_low), abs=0.0151)
    assert (u.max(), u.min()) == pytest.approx((read_high, read_low), rel=0.01)


@pytest.mark.spec("002-T18")
@pytest.mark.parametrize(
    ("time", "torques"),
    [
        (0, (1.25633, -0.70375, 1.22812)),
        (1, (-4.1092, 4.7966, -5.0250)),
        (4, (-0.6628, 0.9412, 1.5023)),
        (6, (4.1224, 1.4210, 6.4334)),
    ],
)
def test_torques_at_whole_seconds(run, time, torques):
    k = round(time * 200)
    assert [run[f"u{i}"][k] for i in (1, 2, 3)] == pytest.approx(torques, abs=5e-5)


@pytest.mark.spec("002-T18")
def test_crank_and_platform_move_as_published(run):
    t, w, node = run.time, run["A3.rate"], run["node2"]
    assert (w[0], w.max(), w.min()) == pytest.approx((0.8461, 0.8919, -1.5779), abs=1e-4)
    assert (t[w.argmax()], t[w.argmin()]) == pytest.approx((0.16, 5.34), abs=0.0151)
    # a sample next to the extreme: accelerations below 5 m/s², times (2.5 ms)² / 2
    assert node.min(axis=0) == pytest.approx((-0.009207, -0.587486), abs=2e-5)
    assert node.max(axis=0) == pytest.approx((1.991975, 1.5), abs=2e-5)
    assert run["platform.angle"].max() == pytest.approx(np.pi / 6, abs=1e-12)


@pytest.mark.spec("002-G2", "002-G3")
def test_the_record_says_that_the_torques_are_determined(run):
    assert run.statistics["determination"] == "determined"
    assert (run.statistics["degrees of freedom"], run.statistics["rank"], run.statistics["inputs"]) == (3, 3, 3)
    assert run["residual.position"].max() < 1e-13 and run["residual.force"].max() < 1e-12


@pytest.mark.spec("002-G4")
def test_the_platform_may_be_prescribed_by_a_point_of_it(run):
    short = run.between(0, 1)
    motion = {"node2": lambda t: _node(t), "platform.angle": MOTION["platform.angle"]}
    again = da.inverse_dynamics(da.equations(robot()), motion, times=short.time)
    for name in ("u1", "u2", "u3"):
        assert again[name] == pytest.approx(short[name], abs=1e-10)


def _node(t):
    angle = MOTION["platform.angle"](t)
    return [MOTION["platform.x"](t) + da.cos(angle), MOTION["platform.y"](t) + da.sin(angle)]
