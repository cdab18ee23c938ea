"""Planar linkages by their nodes (Orsino 2016, section 5.3), against published numbers and the same Mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.solve import Baumgarte
from dalembert.studies.symbolic.quick_return import linkage as whitworth_linkage
from dalembert.studies.symbolic.three_rrr import MOTION
from dalembert.studies.symbolic.three_rrr import linkage as robot_linkage
from tests.helpers.planar_models import pendulum, ring_and_disc
from tests.helpers.three_rrr import robot
from tests.helpers.whitworth import whitworth

HALF = 5e-6  # half a unit of the fifth decimal
SAME = 1e-10  # of the same machine by two producers; torques of some 10 N m leave rounding of 1e-14
TIGHT = da.DormandPrince(rtol=1e-11, atol=1e-13)


def vertex(t: np.ndarray, y: np.ndarray, k: int) -> tuple[float, float, float]:
    """Time, value and curvature of the parabola through three samples around the extreme sample k."""
    a, b, c = np.polyfit(t[k - 1 : k + 2] - t[k], y[k - 1 : k + 2], 2)
    return float(t[k] - b / (2 * a)), float(c - b**2 / (4 * a)), float(2 * a)


def is_printed(value: float, extreme: float, curvature: float, digit: float, every: float) -> bool:
    """Whether a printed extreme is this one: half its last digit, and the peak that samples ``every`` seconds miss."""
    return abs(extreme - value) < digit + abs(curvature) * (every / 2) ** 2 / 2


# --- Whitworth's quick return -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quick_return() -> Any:
    return da.equations(whitworth_linkage())


@pytest.fixture(scope="module")
def stroke(quick_return: Any) -> da.Record:
    return da.inverse_dynamics(quick_return, {"turned": lambda t: np.pi / 2 * t}, times=np.linspace(0, 4, 4001))


@pytest.mark.spec("002-I3", "002-T17")
def test_variables_and_rows_are_counted_as_published(quick_return: Any) -> None:
    # 12 quasi-velocities, 11 rows, one degree of freedom; beside the 9 published coordinates every one of the three
    # spins and the active joint has its angle, so that the rows hold at position level
    assert (quick_return.nv, len(quick_return.rows), quick_return.nq) == (12, 11, 9 + 3 + 1)
    assert da.mobility(quick_return).dof == 1
    start = da.assemble(quick_return)
    lengths = [np.hypot(*(start[f"{a}.{c}"] - start[f"{b}.{c}"] for c in "xy")) for a, b in [("slider.1", "coupler.2")]]
    assert lengths == pytest.approx([0.680074], abs=5e-7)
    assert np.hypot(start["rocker.2.x"], start["rocker.2.y"]) == pytest.approx(0.618466, abs=5e-7)
    assert np.hypot(start["crank.2.x"], start["crank.2.y"] - 0.3) == pytest.approx(0.141421, abs=5e-7)


@pytest.mark.spec("002-I3", "002-T17")
def test_the_torque_of_the_quick_return_has_the_published_extremes(stroke: da.Record) -> None:
    # printed with five decimals from samples every 1 ms
    t, u = stroke.time, stroke["torque"]
    early, late = int(np.argmin(np.where(t < 2, u, 9))), int(np.argmax(np.where(t > 3, u, -9)))
    for k, value, time in (
        (int(u.argmax()), 0.95237, 2.297), (int(u.argmin()), -1.00406, 2.655), (early, -0.06092, 1.538),
        (late, 0.04219, 3.706),
    ):  # fmt: skip
        at, extreme, curvature = vertex(t, u, k)
        assert is_printed(value, extreme, curvature, HALF, 1e-3)
        assert at == pytest.approx(time, abs=1e-3)  # half a digit, and half a sample
    assert u[0] == pytest.approx(0.03654, abs=HALF)


@pytest.mark.spec("002-I3", "002-T17")
def test_slider_and_rocker_of_the_quick_return_move_as_published(stroke: da.Record) -> None:
    t, v, w, x = stroke.time, stroke["guide.speed"], stroke["rocker.rate"], stroke["slider.1.x"]
    for y, k, value, time in (
        (v, int(v.argmax()), 0.87072, 2.474), (v, int(v.argmin()), -0.31477, 0.662),
        (w, int(w.argmax()), 0.50325, 0.5), (w, int(w.argmin()), -1.40085, 2.5),
    ):  # fmt: skip
        at, extreme, curvature = vertex(t, y, k)
        assert is_printed(value, extreme, curvature, HALF, 1e-3) and at == pytest.approx(time, abs=1e-3)
    assert (v[0], w[0]) == pytest.approx((-0.25588, 0.46200), abs=HALF)
    ends = [vertex(t, x, int(k))[1] for k in (x.argmin(), x.argmax())]
    assert ends == pytest.approx([0.339085, 0.922180], abs=5e-7) and np.ptp(ends) == pytest.approx(0.583095, abs=5e-7)


@pytest.mark.spec("002-I3", "002-T17")
def test_the_linkage_needs_the_torque_of_the_same_mechanism(stroke: da.Record) -> None:
    motion = {"K": lambda t: np.pi / 4 + np.pi / 2 * t}
    other = da.inverse_dynamics(da.equations(whitworth()), motion, times=stroke.time)
    assert np.abs(stroke["torque"] - other["u1"]).max() < SAME
    assert np.abs(stroke["slider.1.x"] - other["slider.x"]).max() < SAME
    assert np.abs(stroke["rocker.rate"] - other["rocker.rate"]).max() < SAME


@pytest.mark.spec("002-I3")
def test_the_linkage_accelerates_as_the_same_mechanism(quick_return: Any) -> None:
    twin = da.equations(whitworth())
    for angle, rate, torque in np.random.default_rng(3).uniform((-0.4, -3, -1), (0.4, 3, 1), (5, 3)):
        here = da.assemble(quick_return, {"K.angle": np.pi / 4 + angle}, velocity={"crank.angle": rate})
        there = da.assemble(twin, {"K": np.pi / 4 + angle}, velocity={"K": rate})
        for method in ("udwadia_kalaba", "graph"):
            mine = da.forward_dynamics(quick_return, here, inputs={"torque": torque}, method=method)
            other = da.forward_dynamics(twin, there, inputs={"u1": torque}, method=method)
            pairs = (("crank.rate", "crank.rate"), ("slider.1.vx", "slider.vx"), ("coupler.rate", "coupler.rate"))
            for own, its in pairs:
                assert mine[own] == pytest.approx(other[its], rel=SAME, abs=SAME)


@pytest.mark.spec("002-I3", "002-T17", "002-G6")
def test_projection_and_baumgarte_keep_the_driven_linkage_closed() -> None:
    """Published residual of the differentiated constraints: below 8e-6 with b = (1, 1), over 16 s."""
    m = whitworth_linkage()
    m.add_driver("turn", "turned", lambda t: np.pi / 2 * t)
    eqs = da.equations(m)
    start = da.assemble(eqs)
    exact = da.inverse_dynamics(eqs, None, times=np.linspace(0, 16, 501), inputs=["torque"])
    assert exact["residual.position"].max() < 1e-12 and exact["residual.velocity"].max() < 1e-12
    held = da.simulate(eqs, 16.0, start=start, method=da.RK4(2e-3, stabilise=Baumgarte(1, 1, 1)), every=0.032)
    assert held["residual.velocity"].max() < 8e-6
    run = da.simulate(eqs, 16.0, start=start, every=0.032)
    assert run["residual.position"].max() < 1e-9
    # without an input the driver carries the motion: its effort is the torque
    assert np.abs(run["turn.effort"] - exact["torque"]).max() < 1e-6


# --- three legs -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def legs() -> da.Record:
    return da.inverse_dynamics(da.equations(robot_linkage()), MOTION, times=np.linspace(0, 8, 1601))


@pytest.mark.spec("002-I3", "002-T18")
def test_the_robot_has_the_published_counts() -> None:
    eqs = da.equations(robot_linkage())
    assert (eqs.nv, len(eqs.rows), eqs.nq) == (24, 21, 15 + 7 + 3)  # with the angles of 7 spins and 3 active joints
    assert da.mobility(eqs).dof == 3


@pytest.mark.spec("002-I3", "002-T18")
@pytest.mark.parametrize(
    ("name", "high", "t_high", "low", "t_low"),
    [
        ("torque1", 7.7611, 2.60, -7.5083, 5.16),
        ("torque2", 11.0594, 5.51, -10.9740, 7.02),
        ("torque3", 9.7484, 5.70, -5.1835, 0.88),
    ],
)
def test_torques_of_the_robot_have_the_published_extremes(
    legs: da.Record, name: str, high: float, t_high: float, low: float, t_low: float
) -> None:
    t, u = legs.time, legs[name]
    for k, value, time in ((int(u.argmax()), high, t_high), (int(u.argmin()), low, t_low)):
        at, extreme, curvature = vertex(t, u, k)
        assert is_printed(value, extreme, curvature, 5e-5, 0.01)  # four decimals, samples every 10 ms
        assert at == pytest.approx(time, abs=0.0101)


@pytest.mark.spec("002-I3", "002-T18")
@pytest.mark.parametrize(
    ("time", "torques", "digit"),
    [
        (0, (1.25633, -0.70375, 1.22812), 5e-6),
        (1, (-4.1092, 4.7966, -5.0250), 5e-5),
        (4, (-0.6628, 0.9412, 1.5023), 5e-5),
        (6, (4.1224, 1.4210, 6.4334), 5e-5),
    ],
)
def test_torques_of_the_robot_at_whole_seconds(legs: da.Record, time: int, torques: Any, digit: float) -> None:
    assert [legs[f"torque{k}"][200 * time] for k in (1, 2, 3)] == pytest.approx(torques, abs=digit)


@pytest.mark.spec("002-I3", "002-T18")
def test_crank_and_platform_of_the_robot_move_as_published(legs: da.Record) -> None:
    t, w, x, y = legs.time, legs["A3.rate"], legs["platform.2.x"], legs["platform.2.y"]
    assert w[0] == pytest.approx(0.8461, abs=5e-5)
    for k, value, time in ((int(w.argmax()), 0.8919, 0.16), (int(w.argmin()), -1.5779, 5.34)):
        at, extreme, curvature = vertex(t, w, k)
        assert is_printed(value, extreme, curvature, 5e-5, 0.01) and at == pytest.approx(time, abs=0.0101)
    found = [vertex(t, a, int(k))[1] for a, k in ((x, x.argmin()), (x, x.argmax()), (y, y.argmin()))]
    assert found == pytest.approx([-0.009207, 1.991975, -0.587486], abs=1e-6)
    assert y.max() == pytest.approx(1.5, abs=5e-5)
    assert np.ptp(legs["turned"]) == pytest.approx(np.pi / 6, abs=1e-12)


@pytest.mark.spec("002-I3", "002-T18")
def test_the_robot_needs_the_torques_of_the_same_mechanism(legs: da.Record) -> None:
    motion = {
        "platform.x": MOTION["platform.1.x"],
        "platform.y": MOTION["platform.1.y"],
        "platform.angle": MOTION["turned"],
    }
    other = da.inverse_dynamics(da.equations(robot()), motion, times=legs.time)
    for k in (1, 2, 3):
        assert np.abs(legs[f"torque{k}"] - other[f"u{k}"]).max() < SAME


# --- ring and disc ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("002-I3", "002-T19", "002-T9")
def test_the_complement_of_ring_and_disc_is_that_of_the_book() -> None:
    d = da.symbolic.derive_linkage(ring_and_disc(), independent=["theta.rate", "2.rate"])
    r1, r2, slope = 1.0, 0.3, np.arcsin(0.8)
    order = ["1.1.vx", "1.1.vy", "1.rate", "2.1.vx", "2.1.vy", "2.rate", "theta.rate"]
    assert d.degrees_of_freedom == 2
    for theta in (-0.7, 0.3, 1.9):
        q = np.zeros(len(d.coordinates))
        q[d.coordinates.index("theta")] = theta
        found = d.evaluate(q)
        c, s = np.cos(slope - theta), np.sin(slope - theta)
        book = [(r1 - r2, -r2), (0, 0), (r2 / r1 - 1, r2 / r1), ((1 - c) * (r1 - r2), -r2), (-s * (r1 - r2), 0),
                (0, 1), (1, 0)]  # fmt: skip
        assert found["C"][[d.speeds.index(name) for name in order]] == pytest.approx(np.array(book), abs=1e-14)
        assert np.abs(found["A"] @ found["C"]).max() < 1e-14


@pytest.mark.spec("002-I3", "002-T19", "002-T9")
def test_ring_and_disc_roll_steadily_at_the_angle_of_the_book() -> None:
    eqs = da.equations(ring_and_disc(start=float(np.arcsin(0.6))))
    sol = da.forward_dynamics(eqs, da.assemble(eqs))
    assert sol["theta.rate"] == pytest.approx(0, abs=1e-12)
    assert (sol["1.1.vx"], sol["2.1.vx"]) == pytest.approx((294 / 73, 294 / 73), rel=1e-12)
    assert (sol["1.rate"], sol["2.rate"]) == pytest.approx((-294 / 73, -294 / 73 / 0.3), rel=1e-12)


@pytest.mark.spec("002-I3", "002-T19", "002-T10")
@pytest.mark.parametrize("method", [TIGHT, da.RK4(1e-3, stabilise=Baumgarte(1, 1, 1))])
def test_ring_and_disc_swing_as_published(method: Any) -> None:
    first = float(np.arcsin(0.6) + np.pi / 6)
    eqs = da.equations(ring_and_disc(start=first))
    run = da.simulate(eqs, 5.0, start=da.assemble(eqs), method=method, every=0.005)
    t, theta = run.time, run["theta"]
    for time, value in ((0.5, 0.810008), (1, 0.228206), (2, 0.883813), (3, 0.732121), (5, 1.143761)):
        assert theta[round(200 * time)] == pytest.approx(value, abs=6e-7)  # half a digit; the run is exact to 1e-8
    assert vertex(t, theta, int(np.argmin(theta)))[1] == pytest.approx(0.146796, abs=6e-7)
    assert theta.max() == pytest.approx(1.167099, abs=1e-6)
    # the first return: its neighbouring samples are 5 ms away, so the vertex is good to 1e-6 s
    again = np.flatnonzero((t > 1.5) & (t < 3.5))
    assert vertex(t, theta, int(again[np.argmax(theta[again])]))[0] == pytest.approx(2.439356, abs=2e-6)
    # printed with five decimals from samples every 10 ms
    steady = 294 / 73 * t
    for y, value in ((run["theta.rate"], 1.32639), (run["1.rate"] + steady, 0.07462),
                     (run["2.rate"] + steady / 0.3, 2.84738)):  # fmt: skip
        _, extreme, curvature = vertex(t, np.abs(y), int(np.argmax(np.abs(y))))
        assert is_printed(value, extreme, curvature, HALF, 0.01)
    assert run["residual.velocity"].max() < 1e-10


# --- pendulum ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("002-I3", "002-T20")
def test_a_torque_acts_on_the_second_body_of_its_joint() -> None:
    eqs = da.equations(pendulum())
    motion = {"1.angle": lambda t: np.arcsin(0.6) - np.pi * da.sin(np.pi * t)}
    run = da.inverse_dynamics(eqs, motion, times=np.linspace(0, 4, 401))
    assert run["u"][0] == pytest.approx(-7.84, abs=1e-12)
    assert run["u"][50] == pytest.approx(-23.166, abs=5e-4)
    angle = np.arcsin(0.6) - np.pi * np.sin(np.pi * run.time)
    assert run["u"] == pytest.approx(-(np.pi**3) * np.sin(np.pi * run.time) - 9.8 * np.cos(angle), abs=1e-11)


@pytest.mark.spec("002-I3", "002-T20")
def test_the_pendulum_swings_freely_as_the_same_mechanism() -> None:
    eqs = da.equations(pendulum())
    start = da.assemble(eqs, {"1.angle": -np.arcsin(0.6)})
    assert (start["1.2.x"], start["1.2.y"]) == pytest.approx((0.8, -0.6), abs=1e-12)
    run = da.simulate(eqs, 10.0, start=start, inputs={"u": 0.0}, method=TIGHT, every=0.05)
    m = da.Mechanism("pendulum", planar=True, gravity=(0, -9.8))
    bob = m.add_body("bob", mass=1.0, inertia=0.0, position=(0.8, -0.6), angle=-np.arcsin(0.6))
    m.add_revolute("pivot", m.ground.at(0, 0), bob.at(-1, 0))
    twin = da.equations(m)
    other = da.simulate(twin, 10.0, start=da.assemble(twin), method=TIGHT, every=0.05)
    assert np.abs(run["1.2.x"] - other["bob.x"]).max() < 1e-8  # relative tolerances of 1e-11 over four periods
    assert np.abs(run["energy.balance"]).max() < 1e-9
