"""Dry friction that no reaction changes: the limit of a robot's joint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da

COORDINATES = ("absolute", "joint")


def hinged_rod(**friction: float) -> da.Mechanism:
    m = da.Mechanism("rod", planar=True)
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_friction("dry", joint="A", **friction)
    return m


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_rod_sticks_where_its_weight_stays_below_the_effort(coordinates: str) -> None:
    # at 1.2 rad the weight turns with 2 · 9.81 · 0.5 · cos 1.2 = 3.55 N m
    for effort, moves in ((3.6, False), (3.5, True)):
        eqs = da.equations(hinged_rod(effort=effort), coordinates=coordinates)
        run = da.simulate(eqs, 0.5, start=da.assemble(eqs, {"A": 1.2}))
        assert (abs(run["A.angle"][-1] - 1.2) > 1e-3) == moves


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_sliding_joint_loses_the_effort_times_its_way(coordinates: str) -> None:
    m = hinged_rod(effort=0.5)
    eqs = da.equations(m, coordinates=coordinates)
    run = da.simulate(eqs, 0.3, start=da.assemble(eqs, {"A": 0.5}))
    energy = run["energy.kinetic"] + run["energy.potential"]
    # the run keeps the energy balance to 1e-9 of its energies of some joules
    assert energy[0] - energy[-1] == pytest.approx(0.5 * (0.5 - run["A.angle"][-1]), abs=1e-8)


def test_a_joint_with_effort_alone_stays_in_the_tree() -> None:
    assert not da.equations(hinged_rod(effort=1.0), coordinates="joint").rows


def test_effort_and_coulomb_friction_add_up() -> None:
    eqs = da.equations(hinged_rod(effort=0.5, coulomb=0.2, radius=0.1, preload=10.0))
    at = da.assemble(eqs, {"A": 0.5})
    load = da.equations(hinged_rod(coulomb=0.2, radius=0.1, preload=10.0))
    both, one = (e.kernel("friction")(at.q, at.v, e.p, 0.0, np.zeros(len(e.rows)))[2] for e in (eqs, load))
    assert both - one == pytest.approx(0.5)


def test_it_goes_through_a_model_file(tmp_path: Path) -> None:
    path = tmp_path / "rod.toml"
    da.write_model(hinged_rod(effort=0.5, viscous=0.1), path)
    assert da.read_model(path).forces[0] == hinged_rod(effort=0.5, viscous=0.1).forces[0]
