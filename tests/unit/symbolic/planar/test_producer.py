"""Equations of planar models in everything that takes equations."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.planar_four_bar import four_bar

SAME = 1e-10


BARS = {"crank": ((0, 0), (0, 0.2), 0.2), "coupler": ((0, 0.2), (0.55, 0.45), 0.6),
        "rocker": ((0.7, 0), (0.55, 0.45), 0.5)}  # fmt: skip


def mechanism() -> da.Mechanism:
    """The four-bar as bodies with joints, uniform rods."""
    m = da.Mechanism("four-bar", planar=True)
    ends = {}
    for name, (first, second, mass) in BARS.items():
        along = np.subtract(second, first)
        half = float(np.hypot(*along)) / 2
        body = m.add_body(name, mass=mass, inertia=mass * half**2 / 3, position=np.add(first, second) / 2,
                          angle=float(np.arctan2(along[1], along[0])))  # fmt: skip
        ends[name] = body.at(-half, 0), body.at(half, 0)
    m.add_revolute("A", m.ground.at(0, 0), ends["crank"][0])
    m.add_revolute("B", ends["crank"][1], ends["coupler"][0])
    m.add_revolute("C", ends["coupler"][1], ends["rocker"][1])
    m.add_revolute("D", m.ground.at(0.7, 0), ends["rocker"][0])
    m.add_actuator("motor", joint="A", input="torque")
    return m


@pytest.fixture(scope="module")
def eqs() -> Any:
    return da.equations(four_bar())


@pytest.fixture(scope="module")
def twin() -> Any:
    return da.equations(mechanism())


def test_a_free_run_is_that_of_the_same_mechanism(eqs: Any, twin: Any) -> None:
    method = da.DormandPrince(rtol=1e-11, atol=1e-13)
    runs = []
    for one in (eqs, twin):
        start = da.assemble(one, {"A.angle": np.pi / 2}, velocity={"A.angle": 5.0})
        push = {"torque": lambda t: 0.2 * da.sin(3 * t)}
        runs.append(da.simulate(one, 2.0, start=start, inputs=push, method=method, every=0.05))
    for name in ("A.angle", "C.angle", "rocker.x", "coupler.rate"):
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-7  # error tolerances of 1e-11, grown over three turns
    assert np.abs(runs[0]["energy"] - runs[1]["energy"]).max() < 1e-8
    assert np.abs(runs[0]["energy.balance"]).max() < 1e-9 and runs[0]["residual.position"].max() < 1e-10


def test_inverse_dynamics_gives_the_torque_of_a_run_back(eqs: Any) -> None:
    start = da.assemble(eqs, velocity={"A.angle": 5.0})
    run = da.simulate(eqs, 0.5, start=start, inputs={"torque": 0.3}, every=0.01)
    assert da.inverse_dynamics(eqs, run)["torque"] == pytest.approx(np.full(51, 0.3), abs=1e-9)


def test_a_joint_with_reaction_has_the_force_of_the_same_mechanism(twin: Any) -> None:
    m = four_bar()
    for name in "BC":  # the same joints, with nodes of their own
        joint = m.joints.pop(name)
        for channel in ("angle", "rate"):
            del m._named[f"{name}.{channel}"]
        a, b = (f"{body}.{k}" for body, k in (joint.a, joint.b))
        m.add_revolute(f"{a}-{b}", name=name, reaction=True)
    eqs = da.equations(m)
    assert eqs.nv == 8 + 4 and da.mobility(eqs).dof == 1
    found, expected = (
        da.forward_dynamics(one, da.assemble(one, velocity={"A.angle": 4.0}), inputs={"torque": 0.5})
        for one in (eqs, twin)
    )
    for name in ("B.force.x", "B.force.y", "C.force.x", "C.force.y", "crank.rate"):
        assert found[name] == pytest.approx(expected[name], rel=SAME, abs=SAME)


def test_forces_and_torques_of_expressions_act_as_those_of_the_same_mechanism() -> None:
    m = four_bar()
    pull = m.add_input("pull", "N")
    m.add_force("spring", "coupler.2", (-40 * (m["coupler.2.x"] - 0.9) + pull, 10.0))
    m.add_torque("friction", "rocker", -0.05 * m["rocker.rate"])
    own = da.equations(m)
    other = mechanism()
    tip = other.bodies[1].at(float(np.hypot(0.55, 0.25)) / 2, 0)
    other.add_force("spring", tip, lambda s: (-40 * (s.position(tip)[0] - 0.9), 10.0))
    other.add_force("pull", tip, (1, 0), input="pull")
    other.add_damper("friction", joint="D", damping=0.05)
    found, expected = (
        da.forward_dynamics(one, da.assemble(one, velocity={"A.angle": 4.0}), inputs={"torque": 0.5, "pull": 2.0})
        for one in (own, da.equations(other))
    )
    assert found["crank.rate"] == pytest.approx(expected["crank.rate"], rel=SAME)


def test_a_force_on_a_body_acts_at_its_centre_and_a_torque_against_another_body() -> None:
    powers = []
    for add in (
        lambda m: (m.add_force("F", "coupler", (3.0, -2.0)), m.add_torque("T", "rocker", 0.7, against="coupler")),
        lambda m: (m.add_force("F", "coupler.1", (1.5, -1.0)), m.add_force("G", "coupler.2", (1.5, -1.0)),
                   m.add_torque("T", "rocker", 0.7), m.add_torque("U", "coupler", -0.7)),
    ):  # fmt: skip
        m = four_bar()
        add(m)
        eqs = da.equations(m)
        powers.append(da.forward_dynamics(eqs, da.assemble(eqs, velocity={"A.angle": 2.0}))["A.rate"])
    assert powers[0] == pytest.approx(powers[1], rel=1e-11)


def test_small_motions_have_the_modes_of_the_same_mechanism(eqs: Any, twin: Any) -> None:
    found, expected = (da.linearize(one, at=da.equilibrium(one)).modes().eigenvalues for one in (eqs, twin))
    assert found == pytest.approx(expected, rel=1e-8)


def test_a_filter_follows_the_linkage(eqs: Any) -> None:
    start = da.assemble(eqs, velocity={"A.angle": 5.0})
    run = da.simulate(eqs, 0.5, start=start, inputs={"torque": 0.0}, every=0.005)
    ekf = da.estimate.ExtendedKalman(eqs, outputs=["A.angle"], dt=0.005, Q=1e-8, R=1e-6, start=start)
    found = ekf.run(da.Record.from_channels(run.time, {"A.angle": run["A.angle"], "torque": run["torque"]}))
    assert np.abs(found.record["A.rate"] - run["A.rate"]).max() < 0.05


def test_equations_are_pickled_swept_reduced_and_exported(eqs: Any, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(eqs))  # noqa: S301
    assert again.content_hash == eqs.content_hash
    small = da.equations(eqs, coordinates=["A.angle"])
    assert small.nv == 1 and not small.rows
    rates = [
        da.forward_dynamics(one, da.assemble(one, velocity={"A.angle": 4.0}), inputs={"torque": 0.5})["A.rate"]
        for one in (eqs, small)
    ]
    assert rates[0] == pytest.approx(rates[1], rel=SAME)
    m = four_bar()
    m.gravity = m.parameter("g", 9.81)
    trial = da.sweeps.Simulation(da.equations(m), 0.2, {"rate": ("A.rate", "peak")}, every=0.01)
    found = da.sweep(trial, da.sweeps.Grid({"g": [0.0, 9.81]}), workers=0)
    assert found["rate"][0] == pytest.approx(0.0, abs=1e-12) and abs(found["rate"][1]) > 0.1
    ekf = da.estimate.ExtendedKalman(eqs, outputs=["A.angle"], dt=0.005, Q=1e-8, R=1e-6)
    assert da.export_c(ekf, tmp_path / "filter").files


def test_the_picture_shows_bodies_joints_and_inputs(eqs: Any, tmp_path: Path) -> None:
    scene = eqs.scene
    assert [body.name for body in scene.bodies] == ["crank", "coupler", "rocker"]
    assert {joint.name: joint.type for joint in scene.joints} == dict.fromkeys("ABCD", "revolute")
    assert scene.torques[0].input == "torque"
    run = da.simulate(eqs, 0.2, inputs={"torque": 0.0}, every=0.01)
    da.animate(run, tmp_path / "run.html", trail="coupler.2")
    assert (tmp_path / "run.html").stat().st_size > 10_000
    assert da.plot(run, "A.angle") is not None


def test_a_driver_prescribes_a_motion_and_records_its_effort(eqs: Any) -> None:
    m = four_bar()
    m.add_driver("turn", "crank.angle", lambda t: np.pi / 2 + 3 * t)
    driven = da.equations(m)
    run = da.simulate(driven, 0.5, start=da.assemble(driven), inputs={"torque": 0.0}, every=0.05)
    motion = {"crank.angle": lambda t: np.pi / 2 + 3 * t}
    exact = da.inverse_dynamics(eqs, motion, times=run.time)
    assert run["turn.effort"] == pytest.approx(exact["torque"], abs=1e-7)
    assert driven.reaction_channels.units[-1] == "N m"
