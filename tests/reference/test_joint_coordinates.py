"""Machines of the library in joint coordinates move as they do in absolute coordinates."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models import list_models
from tests.helpers.joint_coordinates import joint_state
from tests.helpers.repetitions import few
from tests.helpers.rssr import rssr

LIBRARY = Path(da.__file__).parent / "library"
TREES = {"pendulum": 1, "double-pendulum": 2, "cart-pendulum": 2, "scara": 4, "six-joint-arm": 6, "top": 3}
BARS = (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.5))
QUATERNION = (".e0", ".e1", ".e2", ".e3")  # p and -p are one orientation


def pair(name: str) -> tuple[da.EquationsOfMotion, da.EquationsOfMotion]:
    m = da.read_model(LIBRARY / f"{name}.toml")
    return da.equations(m), da.equations(m, coordinates="joint")


@pytest.mark.parametrize("name", TREES)
def test_a_tree_has_as_many_coordinates_as_freedoms_and_no_rows(name: str) -> None:
    _, joint = pair(name)
    assert (joint.nv, len(joint.rows)) == (TREES[name], 0)


# 10 s of each take a second; building the largest takes seconds more
QUICK = ("double-pendulum", "top", "four-bar")
ALL = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in list_models()]
UNSTIFFENED = pytest.mark.filterwarnings("ignore:.*buckling load")  # rods of tudor, as published
EXACT = da.DormandPrince(rtol=1e-13, atol=1e-13)
AGREEMENT = 1e-8  # of poses [m, rad] over 10 s; steps of 1e-13, some thousand of them
SAME, APART = 1e-13, 1e-9  # starts that are one, and runs that are still one: beyond, the machine is chaotic


def poses(eqs: da.EquationsOfMotion, run: da.Record) -> np.ndarray:
    """Coordinates of all bodies but Euler parameters, whose sign is free, and turns, which angles repeat."""
    names = [n for n in eqs.coordinates.names if not n.endswith((*QUATERNION, ".turned"))]
    return np.column_stack([run[n] for n in names])


@UNSTIFFENED
@pytest.mark.spec("002-B3")
@pytest.mark.parametrize("name", ALL)
def test_a_machine_of_the_library_moves_alike_for_ten_seconds(name: str) -> None:
    """A chaotic one as long as starts 1e-13 apart stay within 1e-9."""
    m = da.read_model(name)
    plain, joint = da.equations(m), da.equations(m, coordinates="joint")
    start = da.assemble(plain, **m.start)
    stiff = name in ("elastic-slider-crank", "tudor", "two-link-plates")
    method = m.simulation.get("method", EXACT) if stiff else EXACT
    options = {"method": method, "every": 0.1, "inputs": m.simulation.get("inputs", {})}
    until = start.t + (10.0 if method is EXACT else 0.1)
    first = poses(plain, da.simulate(plain, until, start=start, **options))
    same = poses(plain, da.simulate(joint, until, start=joint_state(plain, start, joint), **options))
    known = len(first)
    if np.abs(same - first).max() > AGREEMENT:
        near = plain.state(start.q * (1 + SAME), start.v * (1 + SAME), start.z, start.t)
        apart = np.abs(poses(plain, da.simulate(plain, until, start=near, **options)) - first).max(axis=1) > APART
        known = int(np.argmax(apart))
        assert apart.any() and known > 10  # chaotic after a second at least
    np.testing.assert_allclose(same[:known], first[:known], rtol=0, atol=AGREEMENT)


@pytest.mark.slow
def test_a_loop_of_ball_joints_moves_alike_for_ten_seconds() -> None:
    """RSSR linkage that swings freely; the coupler spins about its balls as it likes."""
    m = rssr()
    plain, joint = da.equations(m), da.equations(m, coordinates="joint")
    start = da.assemble(plain, velocity={"R1": 3.0, "coupler.wx": 2.0})
    states = ((plain, start), (joint, joint_state(plain, start, joint)))
    runs = [poses(plain, da.simulate(eqs, 10.0, start=s, method=EXACT, every=0.1)) for eqs, s in states]
    np.testing.assert_allclose(runs[1], runs[0], rtol=0, atol=AGREEMENT)


def four_bar(planar: bool) -> da.Mechanism:
    """All hinges along z: a planar loop, in the plane or in space."""
    m = da.Mechanism("four-bar", planar=planar, gravity=(0.0, -9.81) if planar else (0.0, -9.81, 0.0))
    rest = () if planar else (0,)
    crank, coupler, rocker = (m.add_body(n, mass=size, inertia=da.rod(size)) for n, size in BARS)
    m.add_revolute("A", m.ground.at(0, 0, *rest), crank.at(-0.1, 0, *rest))
    m.add_revolute("B", crank.at(0.1, 0, *rest), coupler.at(-0.3, 0, *rest))
    m.add_revolute("C", coupler.at(0.3, 0, *rest), rocker.at(0.25, 0, *rest))
    m.add_revolute("D", m.ground.at(0.7, 0, *rest), rocker.at(-0.25, 0, *rest))
    return m


@pytest.mark.parametrize("cut", few(["A", "C"]))
def test_five_rows_of_a_cut_hinge_close_a_planar_loop_in_space(cut: str) -> None:
    """Two rows are independent; the motion is that of the planar machine, reactions across the plane are open."""
    flat, space = da.equations(four_bar(True)), da.equations(four_bar(False), coordinates="joint", cut=[cut])
    assert (space.nv, len(space.rows)) == (3, 5)
    given = {"position": {"A": 1.57}, "velocity": {"A": 10.0}, "guess": {"D.angle": 1.6}}
    runs = [da.simulate(eqs, 2.0, start=da.assemble(eqs, **given), every=0.01) for eqs in (flat, space)]
    for name in ("A.angle", "D.angle", "rocker.x", "A.force.x"):
        # relative tolerance 1e-9 per step, some hundred steps
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=0, atol=1e-6)
    found = da.forward_dynamics(space, da.assemble(space, **given)).reactions
    assert not any(found[name].unique for name in "ABCD")
    plane = da.forward_dynamics(flat, da.assemble(flat, **given)).reactions
    for name in "ABCD":
        np.testing.assert_allclose(found[name].force[:2], plane[name].force, rtol=1e-9, atol=1e-9)


def test_records_have_the_channels_of_absolute_coordinates() -> None:
    plain, joint = pair("six-joint-arm")
    first, second = (da.simulate(eqs, 0.05, every=0.01) for eqs in (plain, joint))
    assert set(first.names) == set(second.names)
    assert {name: first.units[name] for name in first.names} == {name: second.units[name] for name in first.names}
    for name in first.names:
        if not name.endswith(QUATERNION):
            scale = 1 + np.abs(first[name]).max()
            np.testing.assert_allclose(second[name], first[name], rtol=0, atol=1e-7 * scale, err_msg=name)


def test_a_carried_body_is_posed_and_moved_as_in_absolute_coordinates() -> None:
    """Pose and speeds of the last body of an arm, and the torques of a motion of its pose."""
    plain, joint = pair("six-joint-arm")
    pose = {"tool.pose": (0.3, 0.2, 0.5, 0.1, 0.2, 0.3)}
    speeds = {"tool.wx": 1.0, "tool.wy": 0.0, "tool.wz": 0.0, "tool.vx": 0.0, "tool.vy": 0.2, "tool.vz": 0.0}
    state = da.assemble(joint, pose, velocity=speeds)
    assert [state[name] for name in ("tool.x", "tool.y", "tool.z")] == pytest.approx([0.3, 0.2, 0.5], abs=1e-11)
    assert [state[name] for name in speeds] == pytest.approx(list(speeds.values()), abs=1e-11)
    turn = da.rotation(quaternion=[state[f"tool.e{k}"] for k in range(4)]).matrix
    np.testing.assert_allclose(turn, da.rotation(vector=(0.1, 0.2, 0.3)).matrix, rtol=0, atol=1e-11)
    same = da.assemble(plain, {name: state[name] for name in joint.coordinates.names})
    motion = {"tool.pose": lambda t: (0.3 + 0.1 * t, 0.2, 0.5, 0.1, 0.2 + t, 0.3)}
    times = np.linspace(0.0, 0.2, 5)
    efforts = [da.inverse_dynamics(eqs, motion, times=times, start=s) for eqs, s in ((plain, same), (joint, state))]
    for name in plain.inputs.names:
        # torques of up to 500 N m from poses closed to 1e-12
        np.testing.assert_allclose(efforts[1][name], efforts[0][name], rtol=0, atol=1e-8)


def test_bodies_stay_visible_in_joint_coordinates(tmp_path: Path) -> None:
    _, joint = pair("six-joint-arm")
    run = da.simulate(joint, 0.1)
    assert {"turret.x", "turret.e0", "q1.angle", "q1.rate", "turret.vx", "turret.wz", "turret.alphaz"} <= set(run.names)
    p = np.stack([run[f"turret.e{k}"] for k in range(4)])
    np.testing.assert_allclose((p**2).sum(axis=0), 1.0, rtol=0, atol=1e-12)
    page = tmp_path / "arm.html"
    da.animate(run, page)
    assert page.stat().st_size > 100_000


def test_modes_are_the_same_in_both_coordinates() -> None:
    plain, joint = pair("building-pendulum")
    first, second = (da.linearize(eqs, at=da.equilibrium(eqs)).modes() for eqs in (plain, joint))
    np.testing.assert_allclose(first.frequencies, second.frequencies, rtol=1e-9)


def test_equations_in_joint_coordinates_pickle() -> None:
    _, joint = pair("four-bar")
    same = pickle.loads(pickle.dumps(joint))  # noqa: S301 - our own bytes
    state = da.assemble(joint)
    again = da.assemble(same)
    np.testing.assert_array_equal(state.q, again.q)
