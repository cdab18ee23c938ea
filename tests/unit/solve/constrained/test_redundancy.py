"""Reactions that redundant joints leave open: marked in runs as at single states."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.app.commands.simulate import trust
from dalembert.solve.constrained.redundancy import find_open_reactions
from dalembert.view.reports.run_words import trust as words


def cranks(count: int) -> da.Mechanism:
    """A bar on parallel cranks, one of them too many where there are three, and a pendulum below it."""
    m = da.Mechanism("cranks", planar=True)
    bar = m.add_body("bar", mass=1.0, inertia=0.2, position=(0.5, 0.3))
    for k, x in enumerate(np.linspace(0.0, 1.0, count)):
        crank = m.add_body(f"crank{k}", mass=0.3, inertia=0.01, position=(x, 0.15), angle=np.pi / 2)
        m.add_revolute(f"O{k}", m.ground, crank, at=(x, 0))
        m.add_revolute(f"P{k}", crank, bar, at=(x, 0.3))
    pendulum = m.add_body("pendulum", mass=0.5, inertia=0.01, position=(0.5, 0.1))
    m.add_revolute("pin", bar, pendulum, at=(0.5, 0.3))
    m.add_actuator("motor", joint="O0", input="torque")
    return m


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_run_marks_the_reactions_that_a_single_state_calls_not_unique(coordinates: str) -> None:
    eqs = da.equations(cranks(3), coordinates=coordinates)
    start = da.assemble(eqs, {"O0.angle": 0.7, "pin.angle": 0.2})
    single = da.forward_dynamics(eqs, start)
    expected = {name for name, unique in single.unique.items() if not unique}
    assert "pin" not in expected and len(expected) >= 4
    run = da.simulate(eqs, 0.1, start=start, every=0.05)
    marked = run.statistics["reactions not unique"]
    assert set(marked) == expected
    assert all(name in trust(run, 0.1) and name in words(run) for name in marked)
    law = da.control.custom_law("push", lambda s: 0.1 * s["O0.angle"], "torque", dt=0.05)
    looped = da.simulate(eqs, 0.1, start=start, controller=law)
    assert looped.statistics["reactions not unique"] == marked


def test_a_machine_without_redundant_joints_has_no_mark() -> None:
    run = da.simulate(da.equations(cranks(2)), 0.1, every=0.05)
    assert "reactions not unique" not in run.statistics


def test_a_singular_pose_at_one_end_of_a_run_marks_nothing() -> None:
    """A parallelogram along its ground loses rank: there no reaction is unique, elsewhere each is."""
    m = da.Mechanism("parallelogram", planar=True)
    a, b = (m.add_body(name, mass=1.0, inertia=0.1, position=(x + 0.15, 0)) for name, x in (("a", 0.0), ("b", 1.0)))
    c = m.add_body("c", mass=1.0, inertia=0.1, position=(0.8, 0))
    for name, one, other, x in (("A", m.ground, a, 0.0), ("B", m.ground, b, 1.0), ("C", a, c, 0.3), ("D", b, c, 1.3)):
        m.add_revolute(name, one, other, at=(x, 0))
    eqs = da.equations(m)
    flat, upright = da.assemble(eqs), da.assemble(eqs, {"A.angle": np.pi / 2})
    assert len(find_open_reactions(flat)) == 4
    assert find_open_reactions(flat, upright) == find_open_reactions(upright, flat) == []
