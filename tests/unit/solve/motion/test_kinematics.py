"""Position, velocity and acceleration analysis under prescribed motion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import dalembert as da
from tests.helpers.crank_rocker import four_bar
from tests.helpers.findings import raises


def pendulum(*, planar: bool = True) -> da.Mechanism:
    m = da.Mechanism("pendulum", planar=planar)
    size = (0.0,) * (1 if planar else 2)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0), position=(0.5, *size))
    m.add_revolute("hinge", m.ground.at(0, 0, *size[1:]), rod.at(-0.5, *size))
    m.add_sensor("tip", da.position(rod.at(0.5, *size)))
    return m


def test_a_driver_and_a_given_motion_are_the_same():
    def law(t):
        return 0.3 + 2 * t

    driven = da.kinematics(da.equations(four_bar(law)), 1.0, every=0.1)
    given = da.kinematics(da.equations(four_bar()), 1.0, motion={"A": law}, every=0.1)
    for name in ("D.angle", "D.rate", "D.acceleration", "coupler.ax"):
        assert driven[name] == pytest.approx(given[name], abs=1e-12)


def test_rates_and_accelerations_are_derivatives_of_the_positions():
    run = da.kinematics(da.equations(four_bar()), 1.0, motion={"A": lambda t: 3 * t + da.sin(5 * t)}, every=1e-4)
    h = 1e-4
    for value, slope in (("D.angle", "D.rate"), ("D.rate", "D.acceleration"), ("coupler.vx", "coupler.ax")):
        difference = (run[value][2:] - run[value][:-2]) / (2 * h)
        curvature = np.abs(np.diff(run[slope], 2)).max()  # h² times the third derivative, of which a sixth is the error
        assert run[slope][1:-1] == pytest.approx(difference, abs=curvature / 4)


def test_many_turns_in_coarse_steps_stay_on_the_branch():
    """Thirteen samples a turn; the coupler never flips over."""
    run = da.kinematics(da.equations(four_bar()), 10.0, motion={"A": lambda t: 5 * t}, every=0.1)
    fine = da.kinematics(da.equations(four_bar()), 10.0, motion={"A": lambda t: 5 * t}, every=0.005)
    assert run["D.angle"] == pytest.approx(fine["D.angle"][::20], abs=1e-11)


def test_very_coarse_steps_are_divided():
    run = da.kinematics(da.equations(four_bar()), 10.0, motion={"A": lambda t: 5 * t}, every=0.5)
    fine = da.kinematics(da.equations(four_bar()), 10.0, motion={"A": lambda t: 5 * t}, every=0.005)
    assert run["D.angle"] == pytest.approx(fine["D.angle"][::100], abs=1e-11)


@pytest.mark.parametrize("planar", [True, False])
def test_a_body_turns_more_than_once_around(planar):
    run = da.kinematics(da.equations(pendulum(planar=planar)), 10.0, motion={"hinge": lambda t: 2 * t}, every=0.05)
    assert run["hinge.angle"] == pytest.approx(2 * run.time, abs=1e-11)
    assert run["tip.x"] == pytest.approx(np.cos(2 * run.time), abs=1e-11)
    assert run["hinge.rate"] == pytest.approx(2.0) and np.abs(run["hinge.acceleration"]).max() < 1e-11


def test_the_end_effector_can_be_prescribed():
    m = da.Mechanism("arm", planar=True)
    one = m.add_body("one", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0))
    two = m.add_body("two", mass=1.0, inertia=da.rod(1.0), position=(1, 0.5), angle=np.pi / 2)
    m.add_revolute("shoulder", m.ground.at(0, 0), one.at(-0.5, 0))
    m.add_revolute("elbow", one.at(0.5, 0), two.at(-0.5, 0))
    m.add_sensor("hand", da.position(two.at(0.5, 0)))

    def circle(t):
        return [1 + 0.3 * da.cos(t), 0.5 + 0.3 * da.sin(t)]

    run = da.kinematics(da.equations(m), 6.0, motion={"hand": circle}, every=0.1)
    assert run["hand.x"] == pytest.approx(1 + 0.3 * np.cos(run.time), abs=1e-12)
    assert run["elbow.angle"].min() > 0  # the elbow stays on its side
    reach = np.hypot(run["hand.x"], run["hand.y"])
    assert np.cos(run["elbow.angle"]) == pytest.approx(reach**2 / 2 - 1, abs=1e-12)
    again = da.kinematics(da.equations(m), motion=run.select("hand.x", "hand.y"))
    assert again["shoulder.angle"] == pytest.approx(run["shoulder.angle"], abs=1e-12)


def test_coordinates_held_by_velocity_rows_are_integrated():
    """A disc that rolls along a line: its place follows from its turns."""
    m = da.Mechanism("disc", planar=True)
    m.add_body("disc", mass=1.0, inertia=0.5, position=(0, 1))
    m.add_constraint("no slip", lambda s: [s["disc.vx"] + s["disc.rate"], s["disc.vy"]], level="velocity")
    run = da.kinematics(da.equations(m), 3.0, motion={"disc.angle": lambda t: da.sin(t)}, every=0.5)
    # Runge-Kutta 4 in at least 1000 steps of 3 ms: error below (3e-3)⁴
    assert run["disc.x"] == pytest.approx(-np.sin(run.time), abs=1e-10)
    assert run["disc.y"] == pytest.approx(1.0, abs=1e-14)


def test_redundant_rows_do_no_harm():
    """A planar loop modelled in space."""
    m = da.Mechanism("loop")
    bars = [(0, 0, 0), (0, 1, 0), (2, 1, 0), (2, 0, 0)]
    bodies = []
    for k, (a, b) in enumerate(pairwise(bars)):
        a, b = np.array(a), np.array(b)
        bodies.append(m.add_body(f"bar{k}", mass=1.0, inertia=0.1, position=(a + b) / 2))
    chain = [m.ground, *bodies, m.ground]
    for k, place in enumerate(bars):
        m.add_revolute(f"J{k}", chain[k], chain[k + 1], at=place)
    run = da.kinematics(da.equations(m), 0.5, motion={"J0": lambda t: t}, every=0.05)
    assert run["J3.rate"] == pytest.approx(-run["J0.rate"], abs=1e-9)  # a parallelogram
    assert run["residual.position"].max() < 1e-12


@pytest.mark.parametrize("every", [0.1, np.pi / 100])
def test_a_parallelogram_passes_its_dead_points_on_its_branch(every):
    """With every = π/100 samples fall on the dead points, where the rows lose rank."""
    m = da.Mechanism("parallelogram", planar=True)
    left = m.add_body("left", mass=1.0, inertia=0.1, position=(0, 0.5), angle=np.pi / 2)
    top = m.add_body("top", mass=1.0, inertia=0.1, position=(1, 1))
    right = m.add_body("right", mass=1.0, inertia=0.1, position=(2, 0.5), angle=np.pi / 2)
    m.add_revolute("A", m.ground.at(0, 0), left.at(-0.5, 0))
    m.add_revolute("B", left.at(0.5, 0), top.at(-1, 0))
    m.add_revolute("C", top.at(1, 0), right.at(0.5, 0))
    m.add_revolute("D", m.ground.at(2, 0), right.at(-0.5, 0))
    run = da.kinematics(da.equations(m), 20.0, motion={"A": lambda t: np.pi / 2 + t}, every=every)
    # at a dead point the gap determines the pose to √ε = 1e-8, and the rates follow from the pose before
    assert run["D.angle"] == pytest.approx(run["A.angle"], abs=1e-7)
    assert run["D.rate"] == pytest.approx(1.0, abs=1e-4)


def test_forces_are_left_out_of_the_record():
    m = pendulum()
    m.add_actuator("motor", "hinge", input="torque")
    m.add_sensor("load", da.reaction("hinge"))
    run = da.kinematics(da.equations(m), [0.0, 1.0], motion={"hinge": 0.5})
    assert "torque" not in run and "hinge.force.x" not in run and "load.force.x" not in run and "tip.x" in run


def test_a_free_coordinate_is_named():
    with raises(da.errors.ModelError, "free-to-move", "'four-bar'", "1", "A.angle"):
        da.kinematics(da.equations(four_bar()), 1.0)


def test_too_many_motions_that_disagree_are_refused():
    with raises(da.errors.ModelError, "joint-open", "2", "1"):
        da.kinematics(da.equations(four_bar()), 1.0, motion={"A": 0.0, "D": 1.0})


def test_rates_that_disagree_are_refused():
    eqs = da.equations(four_bar())
    rest = da.kinematics(eqs, [0.0], motion={"A": 0.0})
    angle = float(rest["D.angle"][0])
    with raises(da.errors.ModelError, "inconsistent-motion", "1"):
        da.kinematics(eqs, 1.0, motion={"A": lambda t: t, "D": lambda t: angle + 5 * t})


def test_too_many_motions_that_agree_are_fine():
    eqs = da.equations(four_bar())
    run = da.kinematics(eqs, 1.0, motion={"A": lambda t: t}, every=0.01)
    both = da.kinematics(
        eqs, motion=run.select("A.angle", "A.rate", "A.acceleration", "D.angle", "D.rate", "D.acceleration")
    )
    assert both["coupler.angle"] == pytest.approx(run["coupler.angle"], abs=1e-12)


def test_a_joint_that_cannot_close_is_named_with_its_time():
    eqs = da.equations(four_bar())
    start = da.assemble(eqs, {"A": 0.0})
    first = start["D.angle"]
    with raises(da.errors.ConvergenceError, "joint-open") as caught:
        da.kinematics(eqs, 4.0, motion={"D": lambda t: first - t}, start=start)
    record = caught.value.record
    assert record.status.startswith("failed at t =") and len(record) > 2
    assert record["residual.position"].max() < 1e-9


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        ({"times": 1.0, "motion": {"hinge": lambda t: "x"}}, ("wrong-type", "hinge")),
        ({"times": 1.0, "motion": {"hinge": "fast"}}, ("wrong-type", "fast")),
        ({"times": 1.0, "motion": {"hing": 1.0}}, ("unknown-name", "hing", "hinge")),
        ({"times": 1.0, "motion": {"hinge": lambda t: [t, t]}}, ("wrong-shape", "hinge", "2")),
        ({"times": 1.0, "motion": {"hinge": lambda t: 1.0 if t > 1 else 0.0}}, ("branch-on-symbol", "da.where")),
        ({"times": 1.0, "motion": {"hinge": 1.0, "hinge.angle": 1.0}}, ("duplicate", "hinge.angle")),
        ({"times": 1.0, "motion": [1.0]}, ("wrong-type", "list")),
        ({"times": 1.0, "motion": {"hinge": lambda t: da.math.sqrt(t - 0.5)}}, ("not-finite", "hinge.angle")),
        ({"times": -1.0, "motion": {"hinge": 1.0}}, ("out-of-range", "-1.0")),
        ({"times": [0.0, 0.0], "motion": {"hinge": 1.0}}, ("not-increasing",)),
        ({"times": None, "motion": {"hinge": 1.0}}, ("missing-argument",)),
        ({"times": "soon", "motion": {"hinge": 1.0}}, ("wrong-type", "soon")),
    ],
)
def test_mistakes_are_named(arguments, finding):
    with raises(da.errors.DalembertError, *finding):
        da.kinematics(da.equations(pendulum()), arguments.pop("times"), **arguments)


def test_a_record_without_coordinates_is_refused():
    with raises(da.errors.DataError, "missing-channel", "'pendulum'", "hinge.angle"):
        da.kinematics(da.equations(pendulum()), motion=da.Record([0.0, 1.0], [[0.0], [1.0]], ["force"]))


def test_gaps_in_a_motion_are_refused():
    record = da.Record.from_channels([0.0, 1.0, 2.0, 3.0], {"hinge.angle": [0.0, np.nan, 1.0, 2.0]})
    with raises(da.errors.DataError, "gap-in-record", "'hinge.angle'"):
        da.kinematics(da.equations(pendulum()), motion=record)


def test_a_quantity_that_depends_on_time_may_be_prescribed():
    """A mark that falls as t²: the height of the tip above it is held at zero, so sin φ = -t²."""
    m = pendulum()
    m.add_sensor("above", da.expression(lambda s: da.sin(s["hinge.angle"]) + s.t**2))
    run = da.kinematics(da.equations(m), np.linspace(0, 0.8, 9), motion={"above": lambda t: 0.0})
    t, phi = run.time, np.arcsin(-(run.time**2))
    rate = -2 * t / np.cos(phi)
    assert run["hinge.angle"] == pytest.approx(phi, abs=1e-12)
    assert run["hinge.rate"] == pytest.approx(rate, abs=1e-12)
    assert run["hinge.acceleration"] == pytest.approx((rate**2 * np.sin(phi) - 2) / np.cos(phi), abs=1e-11)


def test_a_trailer_follows_the_tractrix():
    """Its hitch goes along x at unit speed and its wheel does not slip sideways: tan(φ/2) = tan(φ₀/2) exp(-t/l).

    Runge-Kutta 4 in steps of the analysis's own, short enough for 1e-12.
    """
    length = 0.8
    m = da.Mechanism("trailer", planar=True, gravity=0)
    m.add_body("trailer", mass=1.0, inertia=0.1)

    def sideways(s):
        angle = s["trailer.angle"]
        return da.cos(angle) * s["trailer.vy"] - da.sin(angle) * s["trailer.vx"] - length * s["trailer.rate"]

    m.add_constraint("wheel", sideways, level="velocity")
    eqs = da.equations(m)
    start = da.assemble(eqs, {"trailer.angle": 2.0})
    hitch = {"trailer.x": lambda t: t, "trailer.y": lambda t: 0.0}
    run = da.kinematics(eqs, np.linspace(0, 3, 31), motion=hitch, start=start)
    expected = 2 * np.arctan(np.tan(1.0) * np.exp(-run.time / length))
    assert np.abs(run["trailer.angle"] - expected).max() < 1e-11
