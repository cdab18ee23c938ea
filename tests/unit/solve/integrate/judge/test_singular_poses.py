"""Poses at which the joints of a run lose rank: counted, located, named; and no false alarm."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.solve import rank_report
from dalembert.solve.integrate.judge.singular_poses import may_lose_rank
from tests.helpers.bricard import machine as bricard
from tests.helpers.findings import warns
from tests.helpers.n_four_bar import machine as four_bars


def dead_points(count: int, end: float) -> list[float]:
    """Times at which the cranks of `count` square four-bars lie along the ground; see the reference test of them."""
    inertia, moment = (count + 1) / 3 + count, (count + 1) / 2 + count

    def level(t: float, y: Any) -> float:
        return float(np.sin(y[0]))

    found = solve_ivp(
        lambda t, y: (y[1], -moment / inertia * 9.81 * np.cos(y[0])), (0, end), (np.pi / 2, -1),
        method="DOP853", rtol=1e-12, atol=1e-12, events=level,
    )  # fmt: skip
    return [float(t) for t in found.t_events[0]]


@pytest.mark.parametrize("count, method", [(1, None), (2, da.RK4(1e-2)), (1, da.GeneralizedAlpha(2e-3))])
def test_a_run_through_dead_points_reports_each_of_them(count: int, method: Any) -> None:
    eqs, start = four_bars(count)
    with warns(da.errors.SimulationWarning, "singular-pose", "4") as caught:
        run = da.simulate(eqs, 3.5, start=start, every=0.5, method=method)
    assert caught[0].filename == __file__
    found = run.statistics["singular poses"]
    # alpha at 2 ms is off by 1e-5 s, RK4 at 10 ms by 1e-6 s
    assert [one["time"] for one in found] == pytest.approx(dead_points(count, 3.5), abs=1e-4)
    for one in found:
        assert sorted(one["joints"]) == sorted(joint.name for joint in eqs.joints)
        assert one["singular value"] < 1e-6
        assert abs(one["energy lost"]) < 2e-3  # of 20 J


def test_energy_lost_at_a_dead_point_is_that_of_the_balance() -> None:
    """A large step of the wrong method leaves an error there; nothing else acts, so the balance over it is the loss."""
    eqs, start = four_bars(2)
    t = dead_points(2, 1.0)[0]
    with pytest.warns(da.errors.SimulationWarning):
        run = da.simulate(eqs, 1.0, start=start, method=da.RK4(0.02))
    one = run.statistics["singular poses"][0]
    near = run["energy.balance"][np.abs(run.time - t) < 0.05]
    earlier, later = np.triu_indices(len(near), 1)  # any two steps there
    assert np.abs(near[earlier] - near[later] - one["energy lost"]).min() < 1e-12
    assert abs(one["energy lost"]) > 1e-6


def square(base: float) -> da.Mechanism:
    m = da.Mechanism("square", planar=True)
    a = m.add_body("a", mass=1.0, inertia=da.rod(1.0), position=(0, 0.5), angle=np.pi / 2)
    b = m.add_body("b", mass=1.0, inertia=da.rod(1.0), position=(base, 0.5), angle=np.pi / 2)
    c = m.add_body("c", mass=1.0, inertia=da.rod(1.0), position=(0.5, 1.0))
    m.add_revolute("A", m.ground.at(0, 0), a.at(-0.5, 0))
    m.add_revolute("B", a.at(0.5, 0), c.at(-0.5, 0))
    m.add_revolute("C", b.at(0.5, 0), c.at(0.5, 0))
    m.add_revolute("D", m.ground.at(base, 0), b.at(-0.5, 0))
    return m


def test_joints_outside_the_loop_and_outside_work_are_not_counted() -> None:
    """A motor works on the way through the dead point, and a pendulum beside it keeps its rank."""
    m = square(1.0)
    m.add_actuator("motor", joint="A", effort=-20.0)
    weight = m.add_body("weight", mass=1.0, inertia=0.01, position=(3, 0))
    m.add_revolute("P", m.ground.at(3, 1), weight.at(0, 1))
    eqs = da.equations(m)
    with warns(da.errors.SimulationWarning, "singular-pose", "1"):
        run = da.simulate(eqs, 0.6, start=da.assemble(eqs, velocity={"A": -1.0}), every=0.1)
    (one,) = run.statistics["singular poses"]
    assert sorted(one["joints"]) == ["A", "B", "C", "D"]
    assert abs(one["energy lost"]) < 1e-6


@lru_cache(maxsize=1)
def almost_square() -> Any:
    """Lengths 1 percent apart: it comes near the line and never lies on it."""
    eqs = da.equations(square(1.01))
    return eqs, da.assemble(eqs, {"A": 1.5}, velocity={"A": -3.0})


@pytest.mark.parametrize("name", ["slider-crank", "five-bar"])
def test_machines_of_the_library_that_keep_their_rank_raise_no_alarm(name: str) -> None:
    m = da.read_model(name)
    eqs = da.equations(m)
    run = da.simulate(eqs, 0.5, start=da.assemble(eqs, **m.start), every=0.1)
    assert "singular poses" not in run.statistics


def test_a_near_miss_raises_no_alarm() -> None:
    eqs, start = almost_square()
    run = da.simulate(eqs, 2.0, start=start, every=0.01)
    smallest = rank_report(eqs, run)["smallest"]
    assert smallest.min() < 0.1 * smallest.max()
    assert "singular poses" not in run.statistics


def test_with_redundant_rows_the_poses_that_lose_more_are_reported_and_no_other() -> None:
    """Three parallel cranks on one bar: the count says nothing moves, and twice per turn a further rank is lost."""
    m = da.Mechanism("three cranks", planar=True)
    bar = m.add_body("bar", mass=1.0, inertia=da.rod(2.0), position=(1, 1))
    for k in range(3):
        crank = m.add_body(f"c{k}", mass=1.0, inertia=da.rod(1.0), position=(k, 0.5), angle=np.pi / 2)
        m.add_revolute(f"A{k}", m.ground.at(k, 0), crank.at(-0.5, 0))
        m.add_revolute(f"B{k}", crank.at(0.5, 0), bar.at(k - 1, 0))
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"A0": -1.0})
    assert da.mobility(eqs, start).redundant
    quiet = da.simulate(eqs, 0.5, start=start, every=0.1)
    assert "singular poses" not in quiet.statistics
    with warns(da.errors.SimulationWarning, "singular-pose", "1"):
        run = da.simulate(eqs, 1.0, start=start, every=0.1)
    (one,) = run.statistics["singular poses"]
    assert one["time"] > 0.5 and len(one["joints"]) == 6


@pytest.mark.slow
def test_bricard_is_redundant_everywhere_and_raises_no_alarm() -> None:
    assert "singular poses" not in da.simulate(bricard(), 10.0, every=1.0).statistics


def test_a_tree_is_not_watched_and_a_loop_or_a_driver_is() -> None:
    m = da.Mechanism("arm", planar=True)
    a, b = (m.add_body(name, mass=1.0, inertia=0.1) for name in "ab")
    m.add_revolute("A", m.ground.at(0, 0), a.at(-0.5, 0))
    m.add_revolute("B", a.at(0.5, 0), b.at(-0.5, 0))
    assert not may_lose_rank(da.equations(m))
    m.add_revolute("C", m.ground.at(1, 1), b.at(0.5, 0))
    assert may_lose_rank(da.equations(m))


def test_the_command_and_the_report_report_singular_poses() -> None:
    from dalembert.app.commands.simulate import trust
    from dalembert.view.reports.run_words import singular_table

    eqs, start = four_bars(1)
    with pytest.warns(da.errors.SimulationWarning):
        run = da.simulate(eqs, 1.0, start=start, every=0.1)
    assert "singular poses passed: 1" in trust(run, 0.1)
    table = singular_table(run)
    assert table is not None and "A0, A1, B0, C0" in str(table)
